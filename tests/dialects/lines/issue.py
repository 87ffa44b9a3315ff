"""Lines that users had trouble with here: name, line, effects."""
from effects import fails, holds, notes, places, prints, refuses, tells

ROWS = [
    ("mpirun", "--oversubscribe -np 4 sh -c 'echo $RANK'", prints("0", "1", "2", "3")),
    ("mpirun", "--mca btl_tcp_if_include lo -np 1 printenv TUTTI_INTERFACES", prints("lo")),
    ("mpirun", "--mca btl_tcp_if_include eth99 -np 1 true", tells("no interface here is one of eth99")),
    ("mpirun", "-np 999 --map-by ppr:1:package true", fails(204, "1 on each package of 1 host make", "allow more on each package")),
    # Lines of Intel MPI's under a name that is Open MPI's, too.
    ("mpirun", "-s all -n 2 cat", refuses("'all' is no program", "say --stdin all")),
    ("mpirun", "-tune -n 2 echo hi", refuses("-tune: '-n' is no parameter of Open MPI's")),
    ("mpiexec", "-tune machines -n 2 echo hi", refuses("machines:1: '", "is no parameter of Open MPI's")),
    ("mpirun", "--mca oob_tcp_if_include lo -np 1 printenv TUTTI_INTERFACES", prints("lo")),
    ("mpirun", "--mca btl_tcp_if_exclude docker0 -np 1 printenv TUTTI_INTERFACES", prints("^docker0")),
    ("mpirun", "NCCL_SOCKET_IFNAME=lo -np 1 printenv TUTTI_INTERFACES", prints("lo")),
    ("mpirun", "GLOO_SOCKET_IFNAME=lo -np 1 printenv TUTTI_INTERFACES", prints("lo")),
    ("mpirun", "-v --mca btl ^openib --mca pml ucx -np 1 echo hi", (prints("hi"), notes("btl", "pml"))),
    ("mpiexec", "-hosts aa,bb -genvall -n 2 ./a.out", places("aa bb")),
    ("srun", "-t5 -n1 echo hi", prints("hi")),
    ("srun", "-n4 -O --multi-prog programs", fails(2, "no program for rank 3 of 4")),
    ("mpirun", "--output TAG --leave-session-attached -np 1 echo hi", prints("[1,0]<stdout>: hi")),
    ("mpirun", "-debug-daemons-file -np 1 echo hi", prints("hi")),
    ("mpirun", "-v -use-regexp -novm -max-vm-size 4 -np 1 echo hi",
     (prints("hi"), notes("-use-regexp", "-novm", "-max-vm-size"))),
    ("mpirun", "-v -do-not-resolve -report-child-jobs-separately -np 1 echo hi",
     (prints("hi"), notes("-do-not-resolve", "-report-child-jobs-separately"))),
    ("mpirun", "-v -cf none -ompi-server file:none -np 1 echo hi", (prints("hi"), notes("-cf", "-ompi-server"))),
    ("mpirun", "-np 1 -d echo hi", holds("hi")),
    ("mpirun", "-display-diffable-map -np 1 true", holds("plan: 1 rank")),
    ("mpirun", "-display-devel-allocation -np 1 true", holds("allocation: 1 host")),
    ("mpirun", "-xml-file out.xml -np 1 ./a.out", refuses("-xml-file is not supported", "--xml")),
    ("mpirun", "-debugger gdb -np 1 ./a.out", refuses("-debugger is not supported", "prun --gdb")),
    ("mpirun", "-H aa:2,bb:2 --rank-by package:span --map-by package ./a.out", places("aa bb aa bb")),
]
