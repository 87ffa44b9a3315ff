"""The folder and the environment that the lines are typed in."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [f"{HERE}/../launcher", f"{HERE}/../support", HERE]

# What other launchers and batch systems leave in an environment, and what would change a line.
NOT_THEIRS = ("SLURM_", "GLOO_SOCKET_", "NCCL_SOCKET_", "FI_TCP_", "TUTTI_", "OMPI_", "PRTE_", "PMIX_", "HYDRA_", "I_MPI_",
              "PET_", "PBS_", "LSB_", "PE_HOSTFILE", "MPIEXEC_", "MALLOC_PERTURB_", "OMP_", "CUDA_VISIBLE_", "ROCR_VISIBLE_")
FIRST = str(min(os.sched_getaffinity(0)))
PROCESSORS = len(os.sched_getaffinity(0))

RANK = '#!/bin/sh\necho "rank $RANK of $WORLD_SIZE:${*:+ $*}"\n'
PROGRAMS = {name: RANK for name in ("a.out", "my_app", "myprog", "app", "hello", "prog1", "prog2", "server", "client")}
# As ssh does it: a command with an environment of its own, on "another host".
REACH = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
shift
exec env -i PATH="$PATH" HOME="$HOME" sh -c "$*"
"""
PROGRAMS |= {"reach": REACH, "slow": "#!/bin/sh\nexec sleep 100\n",
             "bare": "#!/bin/sh\necho bare\n", "sub/inner": "#!/bin/sh\necho inner\n",
             # prun quotes no more than the beginning of a line
             "agent": '#!/bin/sh\necho "agent $(echo "$*" | grep -o "/opt/[a-z]*" | head -n 1) $*" >&2\nexit 7\n'}
FILES = {
    "two-each": "aa slots=2\nbb slots=2\ncc slots=2\n",
    "four-each": "aa slots=4\nbb slots=4\ncc slots=4\n",
    "limited": "aa slots=4 max_slots=4\nbb max_slots=4\ncc slots=4\n",
    "here": "localhost slots=2\n",
    "alone": "rank 0=localhost slot=0\n",
    "here-and-bb": "localhost slots=4\nbb slots=4\n",
    "machines": "aa\nbb\ncc\n",
    "counted": "aa:2\nbb:2\n",
    "nodefile": "aa\naa\nbb\nbb\n",
    "pe": "aa 2 all.q@aa UNDEFINED\nbb 1 all.q@bb UNDEFINED\n",
    "ranks": "rank 0=aa\nrank 1=bb\nrank 2=cc\nrank 3=+n2\n",
    "appfile": "-np 1 ./a.out first\n-np 2 ./a.out second\n",
    "config": "-n 1 ./a.out first\n-n 2 ./a.out second\n",
    "programs": "1-2 ./a.out rest\n0 ./a.out first\n",
    "silly.conf": "4-6       hostname\n1,7       echo  task:%t\n0,2-3     echo  offset:%o\n",
    "tuned": "orte_tag_output = 1\n",
    "my_input": "input one\ninput two\n",
    "train.py": "import os, sys\nprint('rank', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'], *sys.argv[1:])\n",
    "old.py": "import argparse, os\nparser = argparse.ArgumentParser()\nparser.add_argument('--local_rank', type=int)\n"
              "print('local', parser.parse_args().local_rank)\n",
    "new.py": "import argparse, os\nparser = argparse.ArgumentParser()\nparser.add_argument('--local-rank', '--local_rank', type=int)\n"
              "print('local', parser.parse_args().local_rank)\n",
    "fails.py": "import os, sys\nsys.exit(int(os.environ['TORCHELASTIC_RESTART_COUNT'] == '0'))\n",
    "pkg/__init__.py": "",
    "pkg/train.py": "import sys\nprint('module', *sys.argv[1:])\n",
}
PROGRAM_NAMES = {*PROGRAMS, "cat", "echo", "env", "false", "hostname", "nproc", "printenv", "pwd", "python", "python3", "sh",
                 "sleep", "true", "train.py", "old.py", "new.py", "fails.py"} - {"agent", "reach", "slow"}
TOOLS = ("prun", "mpirun", "orterun", "mpiexec", "mpiexec.hydra", "srun", "torchrun", "torch.distributed.launch")


def fill(folder, prun):
    """Makes everything that lines name; links by launchers' names lie in FOLDER/bin."""
    for sub in ("bin", "sub", "pkg"):
        os.makedirs(f"{folder}/{sub}")
    for tool in TOOLS:
        os.symlink(prun, f"{folder}/bin/{tool}")
    for name, text in (FILES | PROGRAMS).items():
        with open(f"{folder}/{name}", "w") as file:
            file.write(text)
        if name in PROGRAMS:
            os.chmod(f"{folder}/{name}", 0o755)


def environment(folder):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_THEIRS)}
    return kept | {"PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
