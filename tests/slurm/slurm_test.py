#!/usr/bin/env python3
"""Jobs inside a real Slurm allocation: slurmctld and two slurmd on this machine, private to this
test; prun's daemons are started by srun, and our ranks by srun itself.

Usage: slurm_test.py PRUN MPI_PROGRAM (tests/interop/world.c)"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../support")
from jobs import free_port, processes_with, wait_until  # noqa: E402


class Slurm:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="slurm-test-")
        os.chmod(self.folder, 0o755)
        self.processes = []
        host = socket.gethostname()
        ports = [free_port() for _ in range(3)]
        for name in ("state", "n1", "n2", "munge"):
            os.mkdir(f"{self.folder}/{name}")
        with open(f"{self.folder}/munge/key", "wb") as file:
            file.write(os.urandom(128))
        subprocess.run(["chown", "-R", "munge:munge", f"{self.folder}/munge"], check=True)
        subprocess.run(["chmod", "0400", f"{self.folder}/munge/key"], check=True)
        socket_path = f"{self.folder}/munge/socket"
        nodes = "".join(f"NodeName=fzn{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[i]} CPUs=2 State=UNKNOWN\n"
                        for i in (1, 2))
        with open(f"{self.folder}/slurm.conf", "w") as file:
            file.write(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={socket_path}
CredType=cred/munge
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/%n
TmpFS={self.folder}/%n
SlurmctldPidFile={self.folder}/ctld.pid
SlurmdPidFile={self.folder}/%n.pid
SlurmctldLogFile={self.folder}/ctld.log
SlurmdLogFile={self.folder}/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
{nodes}PartitionName=all Nodes=fzn1,fzn2 Default=YES MaxTime=INFINITE State=UP
""")
        with open(f"{self.folder}/cgroup.conf", "w") as file:
            file.write("CgroupPlugin=cgroup/v1\n")
        self.environment = dict(os.environ, SLURM_CONF=f"{self.folder}/slurm.conf")
        self.start("runuser", "-u", "munge", "--", "/usr/sbin/munged", "-F", "--key-file", f"{self.folder}/munge/key",
                   "--socket", socket_path, "--pid-file", f"{self.folder}/munge/pid", "--log-file",
                   f"{self.folder}/munge/log", "--seed-file", f"{self.folder}/munge/seed", "--force")
        wait_until(lambda: os.path.exists(socket_path), "munged")
        self.start("/usr/sbin/slurmctld", "-D")
        for i in (1, 2):
            self.start("/usr/sbin/slurmd", "-D", "-N", f"fzn{i}")
        wait_until(lambda: self.run("sinfo", "-h", "-o", "%t").stdout.split() == ["idle"], "two idle nodes")

    def start(self, *command):
        log = open(f"{self.folder}/{len(self.processes)}.out", "w")
        self.processes.append(subprocess.Popen(command, env=self.environment, stdout=log, stderr=log))

    def run(self, *command, **more):
        return subprocess.run(command, env=dict(self.environment, **more), capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL)

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def missing():
    if os.geteuid() != 0:
        return "needs root"
    for tool in ("/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged", "salloc", "srun"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    return ""


def our_ranks_by_srun(slurm, check):
    """Every way srun has of starting MPI programs; and the one that cannot work says so."""
    program = os.path.abspath(sys.argv[2])
    offered = slurm.run("srun", "--mpi=list")
    for way in ("pmi2", "pmix"):
        if way not in (offered.stdout + offered.stderr).split():
            print(f"skipped srun --mpi={way}: this Slurm has no such plugin")
            continue
        check(f"our ranks under srun --mpi={way}", slurm.run("srun", "-N2", "-n4", f"--mpi={way}", program), 0,
              *[f"rank {rank} of 4, 2 here, sum 10, ring good" for rank in range(4)])
    check("our ranks under srun --mpi=none stop", slurm.run("srun", "-N2", "-n4", "--mpi=none", program), 16,
          "another launcher started this process", "--mpi=pmi2")
    check("one rank under srun --mpi=none is a world", slurm.run("srun", "-n1", "--mpi=none", program), 0,
          "rank 0 of 1,")
    check("a singleton inside salloc is a world", slurm.run("salloc", "-Q", "-N2", "-n4", program), 0, "rank 0 of 1,")


def main():
    if reason := missing():
        print(f"skipped: {reason}")
        sys.exit(77)
    prun = os.path.abspath(sys.argv[1])
    mark = f"slurm-{os.getpid()}"
    failures = 0

    def check(what, done, status, *words):
        nonlocal failures
        good = done.returncode == status and all(word in done.stdout + done.stderr for word in words)
        failures += 0 if good else 1
        print(f"{'ok' if good else 'FAILED'} {what} (status {done.returncode})")
        if not good:
            print(done.stdout + done.stderr)
        sys.stdout.flush()

    slurm = Slurm()
    try:
        inside = lambda *words: slurm.run("salloc", "-Q", "-N2", "-n4", prun, "-x", "TUTTI_TEST_MARK", *words,
                                          TUTTI_TEST_MARK=mark)
        check("hosts and slots are Slurm's", inside("--dry-run", "--display", "allocation", "true"), 0,
              "host fzn1: 2 slots, by Slurm job", "plan: 4 ranks on 2 hosts")
        check("srun starts the daemons", inside("sh", "-c", "echo rank $RANK of $WORLD_SIZE at ${SLURM_PROCID:-none}"), 0,
              *[f"rank {rank} of 4 at none\n" for rank in range(4)])
        check("-H picks from the allocation", inside("-H", "fzn2", "-np", "2", "sh", "-c", "echo on $GROUP_WORLD_SIZE"),
              0, "on 1\n")
        check("a rank's status comes back", inside("sh", "-c", "test $RANK != 3 || exit 5; sleep 100"), 5, "rank 3 on host fzn2")
        check("too many ranks", inside("-np", "5", "true"), 204, "4 slots", "Slurm job")
        start = time.monotonic()
        check("a time limit", inside("--timeout", "1", "sleep", "100"), 207, "time limit")
        print(f"   after {time.monotonic() - start:.1f} s")
        wait_until(lambda: not processes_with(mark), "the end of every process")
        our_ranks_by_srun(slurm, check)
        check("nothing is left in the queue", slurm.run("squeue", "-h"), 0)
    finally:
        slurm.close()
    print(f"{failures} failures")
    sys.exit(1 if failures else 0)


main()
