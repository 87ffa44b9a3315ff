#!/usr/bin/env python3
"""prun inside what others have allocated, on a lab's hosts: jobs of a real Grid Engine, and the
hostfile, variables and remote-shell agents with which the Kubernetes MPI Operator starts an mpirun.

    batch_test.py PRUN MPI_PROGRAM BUILD_FOLDER       the program checks itself
"""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "hosts")]
import grid_engine  # noqa: E402
import lab as labs  # noqa: E402
from jobs import Started, processes_with, wait_until  # noqa: E402

SKIP = 77
TELL = ["sh", "-c", "echo rank $RANK of $WORLD_SIZE on $(hostname)"]
RANKS = ["rank 0 of 4 on a\n", "rank 1 of 4 on a\n", "rank 2 of 4 on b\n", "rank 3 of 4 on b\n"]
WHEREVER = [*(f"rank {rank} of 4 on" for rank in range(4)), "on a\n", "on b\n"]  # either host may be the first


class Suite:
    def __init__(self, prun, program, build):
        self.prun, self.program, self.build = prun, program, build
        self.mark = f"batch-{os.getpid()}"
        self.failures = 0

    def check(self, what, status, text, *words, wanted=0):
        missing = [word for word in words if word not in text]
        good = status == wanted and not missing
        self.failures += 0 if good else 1
        print(f"{'ok' if good else 'FAILED'} {what} (status {status})", flush=True)
        if not good:
            print(f"missing {missing} in\n{text}", flush=True)

    def nothing_left(self):
        wait_until(lambda: not processes_with(self.mark), f"the end of {processes_with(self.mark)}")


def under_grid_engine(suite, lab):
    try:
        packages = grid_engine.unpacked(pathlib.Path(suite.build) / "batch")
    except grid_engine.Unreachable as reason:
        return print(f"skipped Grid Engine: {reason}")
    grid = grid_engine.GridEngine(lab, packages)
    grid.environment["TUTTI_TEST_MARK"] = suite.mark
    prun = [suite.prun, "--launch-agent", lab.agent]
    try:
        suite.check("Grid Engine: its hosts and slots", *grid.submit(*prun, "--dry-run", "--display", "allocation", "true"),
                    "host a: 2 slots", "host b: 2 slots", "plan: 4 ranks on 2 hosts")
        suite.check("Grid Engine: daemons by ssh", *grid.submit(*prun, *TELL), *WHEREVER)
        suite.check("Grid Engine: daemons by qrsh -inherit",
                    *grid.submit(suite.prun, "--launch-agent", "qrsh -inherit -V", *TELL), *WHEREVER)
        suite.check("Grid Engine: an MPI program", *grid.submit(*prun, suite.program))
        suite.check("Grid Engine: a rank's status", *grid.submit(*prun, "sh", "-c", "test $RANK != 3 || exit 5; sleep 100"),
                    "rank 3 on host", wanted=5)
        suite.check("Grid Engine: too many ranks", *grid.submit(*prun, "-np", "5", "true"), "4 slots", wanted=204)
        job = grid.submit(*prun, "-x", "TUTTI_TEST_MARK", "sleep", "1000", wait=False)
        wait_until(lambda: list(processes_with(suite.mark).values()).count("sleep 1000") == 4, "four ranks")
        grid.run("qdel", job)
        suite.nothing_left()
        suite.check("Grid Engine: nothing is left after qdel", 0, "")
    finally:
        grid.close()


class Operator:
    """What the MPI Operator gives to the launcher's pod."""

    def __init__(self, suite, lab):
        self.suite, self.lab = suite, lab
        self.folder = pathlib.Path(lab.folder)

    def hostfile(self, *lines):
        (self.folder / "hostfile").write_text("\n".join(lines) + "\n")

    def remote_shell(self, name, redirect=""):
        """As its first version's kubexec.sh: a pod's name, and words for a shell in it."""
        cases = " ".join(f"{host}) pid={self.lab.holders[host].pid};;" for host in self.lab.names)
        path = self.folder / name
        path.write_text(f"#!/bin/sh\nPOD=$1\nshift\ncase $POD in {cases} *) echo pods \"$POD\" not found >&2; exit 1;; esac\n"
                        f"exec nsenter -t $pid -n -m -u -- env -i PATH=\"$PATH\" /bin/sh -c \"$*\" {redirect}\n")
        path.chmod(0o755)
        return {"OMPI_MCA_plm_rsh_agent": str(path)}

    def start(self, variables, *words):
        environment = dict(os.environ, OMPI_MCA_orte_default_hostfile=f"{self.folder}/hostfile",
                           OMPI_MCA_orte_keep_fqdn_hostnames="true", KUBERNETES_SERVICE_HOST="10.0.0.1", TUTTI_TEST_MARK=self.suite.mark, **variables)
        return Started([*self.lab.on("head"), self.suite.prun, *words], environment)

    def check(self, what, variables, words, *texts, wanted=0):
        job = self.start(variables, *words)
        status = job.wait()
        self.suite.check(f"MPI Operator: {what}", status, job.said(), *texts, wanted=wanted)


def under_operator(suite, lab):
    operator = Operator(suite, lab)
    operator.hostfile("a slots=2", "b slots=2")
    by_ssh = {"OMPI_MCA_plm_rsh_args": f"-F {lab.path('config')} -o ConnectionAttempts=10"}
    operator.check("by ssh", by_ssh, ["-np", "4", *TELL], *RANKS)
    operator.check("an MPI program", by_ssh, ["-np", "4", suite.program])
    operator.check("by its remote shell", operator.remote_shell("kubexec.sh"), ["-np", "4", *TELL], *RANKS)
    operator.check("a remote shell without input", operator.remote_shell("deaf.sh", "</dev/null"), ["-np", "4", *TELL],
                   "gave its command no input", wanted=201)
    operator.hostfile("a slots=2", "nowhere slots=2")
    operator.check("a pod that is not there", operator.remote_shell("kubexec.sh"), ["-np", "4", *TELL],
                   "pods nowhere not found", wanted=201)
    operator.hostfile("a slots=2", "late slots=2")
    with open(lab.path("known"), "a") as known, open(lab.path("host.pub")) as key:
        known.write(f"late {key.read()}")
    job = operator.start(by_ssh, "-np", "4", *TELL)
    wait_until(lambda: "host late does not resolve yet" in job.said(), "the message")
    with open(lab.path("hosts"), "a") as hosts:
        hosts.write(f"{lab.address('b')} late\n")
    status = job.wait()
    suite.check("MPI Operator: a name that resolves later", status, job.said(), *RANKS)
    suite.nothing_left()


def main():
    if reason := labs.missing():
        print(f"skipped: {reason}")
        sys.exit(SKIP)
    suite = Suite(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3])
    lab = labs.Lab("ab")
    try:
        under_operator(suite, lab)
        under_grid_engine(suite, lab)
    finally:
        lab.close()
    print(f"{suite.failures} failures")
    sys.exit(1 if suite.failures else 0)


main()
