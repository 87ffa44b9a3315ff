#!/usr/bin/env python3
"""Lines that users of other launchers type, and what they see of them. Usage: dialects_test.py PRUN"""
import os
import shutil
import sys
import tempfile

from checks import check, result, run

PRUN = os.path.abspath(sys.argv[1])
NOT_THEIRS = ("SLURM_", "GLOO_SOCKET_", "NCCL_SOCKET_", "FI_TCP_", "TUTTI_")
ENV = {name: value for name, value in os.environ.items() if not name.startswith(NOT_THEIRS)}


def called(folder, name):
    path = f"{folder}/{name}"
    if not os.path.exists(path):
        os.symlink(PRUN, path)
    return path


def lines(done):
    return sorted(done.stdout.splitlines())


def srun(folder):
    srun = called(folder, "srun")
    shown = "echo $SLURM_PROCID $SLURM_NTASKS $SLURM_LOCALID $SLURM_NODEID $SLURM_JOB_NUM_NODES $SLURM_TASKS_PER_NODE"
    done = run(srun, "-n3", "-O", "sh", "-c", shown, env=ENV)
    check("srun's variables are there", lines(done) == ["0 3 0 0 1 3", "1 3 1 0 1 3", "2 3 2 0 1 3"], done)
    done = run(PRUN, "-n", "1", "sh", "-c", "env | grep ^SLURM_", env=ENV)
    check("under other names they are not", done.stdout == "", done)
    done = run(srun, "-t5", "-pdebug", "-n2", "-O", "-oout.%2t.%n.%N", "-eerr.%t", "sh", "-c", "echo $SLURM_PROCID; echo e >&2",
               env=ENV, cwd=folder)
    host = os.uname().nodename
    check("glued short options; %t, %n and %N in names of files", done.returncode == 0
          and open(f"{folder}/out.01.0.{host}").read() == "1\n" and open(f"{folder}/err.0").read() == "e\n", done)
    with open(f"{folder}/programs", "w") as file:
        file.write("2 echo last %t %o\n0-1 echo first %t %o %n %N\n")
    done = run(srun, "-n3", "-O", "--multi-prog", "programs", env=ENV, cwd=folder)
    check("%t, %o, %n and %N in a file of programs, whose lines stand in any order",
          lines(done) == [f"first 0 0 0 {host}", f"first 1 1 0 {host}", "last 2 0"], done)
    done = run(srun, "-n4", "-O", "--multi-prog", "programs", env=ENV, cwd=folder)
    check("a file of programs that leaves ranks out is an error", done.returncode == 2 and done.stdout == ""
          and "no program for rank 3 of 4" in done.stderr, done)
    done = run(srun, "--jobid=12", "true", env=ENV)
    check("a job that this is not started in is refused", done.returncode == 2 and "Slurm job 12" in done.stderr, done)


def srun_in_a_job(folder):
    """A link to prun in PATH that is named srun is not the srun that starts a Slurm job's daemons."""
    called(folder, "srun")
    for name, text in (("slurm/srun", '#!/bin/sh\nwhile [ "$1" != /bin/sh ]; do shift; done\nexec "$@"\n'),
                       ("slurm/scontrol", "#!/bin/sh\n")):
        os.makedirs(f"{folder}/slurm", exist_ok=True)
        with open(f"{folder}/{name}", "w") as file:
            file.write(text)
        os.chmod(f"{folder}/{name}", 0o755)
    job = {"SLURM_JOB_ID": "1", "SLURM_JOB_NODELIST": os.uname().nodename, "SLURM_TASKS_PER_NODE": "2"}
    # One that starts itself again and again ends with the namespace of its process numbers.
    alone = ["unshare", "-rpf", "--kill-child", "--mount-proc", "timeout", "-s", "KILL", "50"]
    if run(*alone, "true").returncode != 0:
        return print("skipped prun named srun in PATH: no namespaces of process numbers here")
    done = run(*alone, "srun", "-n", "2", "/bin/echo", "hi", env={**ENV, **job, "PATH": f"{folder}:{folder}/slurm:{ENV['PATH']}"})
    check("srun in PATH that is prun starts no daemons", done.returncode == 0 and done.stdout == "hi\nhi\n", done)
    other = f"{folder}/other-prun"
    os.mkdir(other)
    for name in ("prun", "prund"):
        shutil.copy(f"{os.path.dirname(os.path.dirname(PRUN))}/{name}/{name}", other)
    os.symlink("prun", f"{other}/srun")
    done = run(*alone, "srun", "-n", "2", "/bin/echo", "hi",
               env={**ENV, **job, "PATH": f"{folder}:{other}:{folder}/slurm:{ENV['PATH']}"})
    check("nor does that of another installation", done.returncode == 0 and done.stdout == "hi\nhi\n", done)
    os.remove(f"{other}/srun")
    with open(f"{other}/srun", "w") as file:
        file.write(f'#!/bin/sh\nexec {PRUN} "$@"\n')
    os.chmod(f"{other}/srun", 0o755)
    done = run(*alone, PRUN, "-n", "2", "/bin/echo", "hi", env={**ENV, **job, "PATH": f"{other}:{folder}/slurm:{ENV['PATH']}"})
    check("a script that calls prun in srun's place is refused", done.returncode > 0 and done.stdout == ""
          and "in the place of the srun" in done.stderr, done)


def no_srun(folder):
    """A job that needs no srun runs without."""
    env = {**ENV, "I_MPI_HYDRA_BOOTSTRAP": "slurm", "PATH": f"{folder}/no-srun"}
    os.mkdir(env["PATH"])
    done = run(PRUN, "-O", "-np", "2", "/bin/echo", "hi", env=env)
    check("ranks of this machine need no srun", done.returncode == 0 and done.stdout == "hi\nhi\n", done)
    done = run(PRUN, "-H", "a:2", "-np", "2", "--dry-run", "true", env=env)
    check("nor does --dry-run", done.returncode == 0, done)
    done = run(PRUN, "-H", "a:2", "-np", "2", "/bin/true", env=env)
    check("daemons do, and what asked for it is named", done.returncode == 2 and
          "no srun of Slurm in PATH, by which I_MPI_HYDRA_BOOTSTRAP slurm starts daemons" in done.stderr, done)


def hydra(folder):
    done = run(called(folder, "mpiexec.hydra"), "-hosts", "localhost", "-n", "4", "sh", "-c", "echo $PMI_RANK", env=ENV)
    check("a host without a count takes all ranks under Hydra's name", lines(done) == ["0", "1", "2", "3"], done)
    done = run(PRUN, "-H", "localhost", "-n", "4", "true", env=ENV)
    check("under Open MPI's not", done.returncode == 204, done)


def notices():
    many = str(4 * len(os.sched_getaffinity(0)))
    for words in ([], ["--oversubscribe"], ["--map-by", "slot:OVERSUBSCRIBE"], ["--mca", "pml", "ob1"]):
        done = run(PRUN, *words, "-np", many, "true", env=ENV)
        check(f"standard error that is no terminal holds nothing of prun's {words}", done.returncode == 0 and done.stderr == "",
              done)
    for words in (["-np", many], ["--mca", "pml", "ob1", "-np", "1"]):
        done = run(PRUN, "-v", *words, "true", env=ENV)
        check("but where words are wanted", "they take turns" in done.stderr or "without effect here: pml" in done.stderr, done)
    done = run(PRUN, "-v", "--oversubscribe", "-np", many, "true", env=ENV)
    check("what was asked for is no news", "take turns" not in done.stderr, done)


def scripts(folder):
    with open(f"{folder}/x.py", "w") as file:
        file.write("import os\nprint('rank', os.environ['RANK'])\n")
    both = ["rank 0", "rank 1"]
    for words in (["--nproc-per-node", "2", "python3", "x.py"], ["--standalone", "--nproc_per_node=2", "python3", "x.py"],
                  ["--standalone", "--nproc_per_node=2", "x.py"], ["--oversubscribe", "-np", "2", "x.py"]):
        done = run(PRUN, *words, env=ENV, cwd=folder)
        check(f"prun {' '.join(words)}", done.returncode == 0 and lines(done) == both, done)
    done = run(PRUN, "--standalone", "--nproc_per_node=2", "true", env=ENV, cwd=folder)
    check("a program is run as it is", done.returncode == 0 and done.stderr == "", done)
    torchrun = called(folder, "torchrun")
    done = run(torchrun, "--nproc_per_node=2", "x.py", env=ENV, cwd=folder)
    check("torchrun runs scripts", done.returncode == 0 and lines(done) == both, done)
    done = run(torchrun, "--nproc_per_node=2", "true", env=ENV, cwd=folder)
    check("and names the word for programs", done.returncode == 2 and "--no-python" in done.stderr, done)


def refused(folder):
    """What is not possible, or not meant, is said before anything starts."""
    with open(f"{folder}/other", "wb") as file:
        machine = 40 if os.uname().machine != "armv7l" else 62
        file.write(b"\x7fELF\x01\x01\x01" + bytes(9) + b"\x02\x00" + bytes([machine, 0, 1, 0, 0, 0]) + bytes(28))
    os.chmod(f"{folder}/other", 0o755)
    done = run(PRUN, "-np", "1", "./other", env=ENV, cwd=folder)
    check("a program of another machine: both machines are named", done.returncode == 126 and "program for arm" in done.stderr
          and f"this machine is {os.uname().machine}" in done.stderr, done)
    with open(f"{folder}/plain", "w") as file:
        file.write("echo by the shell\n")
    os.chmod(f"{folder}/plain", 0o755)
    done = run(PRUN, "-np", "1", "./plain", env=ENV, cwd=folder)
    check("a script without a first line still goes to the shell", done.stdout == "by the shell\n", done)
    for words, said in ((["--nodes", "2"], "2 hosts are asked for"), (["--hostfile", "--np"], "--hostfile needs FILE"),
                        (["--rankfile", "--map-by"], "not --map-by"), (["-H", "localhost:*"], "no number of slots"),
                        (["-H", "a:2:b:2"], "a:2,b:2"), (["--help", "hostfil"], "did you mean --help=hostfile?"),
                        (["--help", "nosuch"], "no help on 'nosuch'")):
        done = run(PRUN, *words, "true", env=ENV)
        check(f"prun {' '.join(words)}", done.returncode != 0 and done.stdout == "" and said in done.stderr, done)
    done = run(PRUN, "-v", "-np", "1", "-x", "NOT_SET_HERE", "true", env=ENV)
    check("-x of what is not set is told", done.returncode == 0 and "do not get it: NOT_SET_HERE" in done.stderr, done)
    done = run(PRUN, "--nodes", "1", "-np", "1", "true", env=ENV)
    check("one host is there", done.returncode == 0, done)


with tempfile.TemporaryDirectory(prefix="launcher-") as place:
    srun(place)
    srun_in_a_job(place)
    no_srun(place)
    hydra(place)
    notices()
    scripts(place)
    refused(place)
result()
