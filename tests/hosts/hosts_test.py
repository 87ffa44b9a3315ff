#!/usr/bin/env python3
"""Jobs over several hosts: by real ssh servers in namespaces, and by --virtual.

Usage: hosts_test.py PRUN MPI_PROGRAM. The program takes no arguments and checks itself.
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../support")
from jobs import Job, leftovers, new_leftovers, wait_until  # noqa: E402
import lab as labs  # noqa: E402

# The line that tutorials teach.
TUTORIAL = ("-x MASTER_ADDR=a -x MASTER_PORT=1234 -x PATH -bind-to none -map-by slot -mca pml ob1 "
            "-mca btl ^openib").split()


class Suite:
    def __init__(self, prun, program):
        self.prun, self.program = prun, program
        self.failures = 0

    def job(self, what, way, program, *, status=0, words=(), **more):
        before = leftovers()
        job = Job(self.prun, way, program, **more)
        got = job.wait()
        took = job.survivors_gone()
        problems = [f"status {got}, not {status}"] if got != status else []
        problems += [f"'{word}' is not in its output" for word in words if word not in job.said()]
        problems += [f"left behind {extra}" for extra in new_leftovers(before)]
        self.failures += 1 if problems else 0
        print(f"{'FAILED' if problems else 'ok'} {what} (nothing left after {took:.2f} s) {'; '.join(problems)}")
        if problems:
            print(job.said())
        sys.stdout.flush()
        return job


def good_jobs(suite, name, way, hosts, **more):
    two = [*way, "-H", "a:2,b:2"]
    met = "met: 0 0 4 a; 1 1 4 a; 2 0 4 b; 3 1 4 b"
    suite.job(f"{name}: the tutorial line", [*two, *TUTORIAL], ["python3", f"{HERE}/main.py"], words=[met], **more)
    suite.job(f"{name}: an address and a port by themselves", two, ["python3", f"{HERE}/main.py"], words=[met], **more)
    suite.job(f"{name}: a hostfile", [*way, "--hostfile", f"{HERE}/../../hostfiles/two-hosts"],
              ["python3", f"{HERE}/main.py"], words=[met], **more)
    suite.job(f"{name}: an MPI program", two, [suite.program], **more)
    links = suite.job(f"{name}: links", [*two, "--report-links"], [suite.program], words=["shm", "tcp"], **more)
    rows = [line.split()[-4:] for line in links.said().splitlines() if line.split()[:1] in (["a"], ["b"])]
    expected = [["self", "shm", "tcp", "tcp"], ["shm", "self", "tcp", "tcp"],
                ["tcp", "tcp", "self", "shm"], ["tcp", "tcp", "shm", "self"]]
    if rows != expected:
        suite.failures += 1
        print(f"FAILED {name}: links are {rows}")
    suite.job(f"{name}: four hosts", [*way, "-H", ",".join(f"{host}:2" for host in hosts)],
              [suite.program], ranks=8, **more)
    with subprocess.Popen(["seq", "100000"], stdout=subprocess.PIPE) as numbers:
        suite.job(f"{name}: stdin to a rank elsewhere", [*two, "--stdin", "3"],
                  ["sh", "-c", "test $RANK != 3 || echo $(wc -l) lines"], stdin=numbers.stdout,
                  words=["100000 lines"], **more)
    suite.job(f"{name}: a rank elsewhere fails", two, ["sh", "-c", "test $RANK != 3 || exit 5; exec sleep 1000"],
              status=5, words=["prun: rank 3 on host b ended with status 5"], **more)
    suite.job(f"{name}: too many ranks", two, ["true"], ranks=5, status=204,
              words=["5 ranks", "4 slots", "--oversubscribe"], **more)


def by_ssh(suite):
    reason = labs.missing()
    if reason:
        print(f"skipped ssh hosts: {reason}")
        return False
    lab = labs.Lab("abcd", noisy="c", deaf=())
    try:
        way, inside = ["--launch-agent", lab.agent], lab.on("head")
        suite.job("ssh: prund is sent to a host that has none", [*way, "-H", "a"], ["true"], ranks=1, inside=inside)
        kept = subprocess.run(["find", lab.path("cache-a"), "-name", "prund", "-perm", "700"], capture_output=True)
        suite.failures += 0 if kept.stdout else 1
        print(f"{'ok' if kept.stdout else 'FAILED'} ssh: it is kept there, for its user only")
        good_jobs(suite, "ssh", way, "abcd", inside=inside)
        suite.job("ssh: prun on one of the hosts", [*way, "-H", "a:2,b:2"], ["python3", f"{HERE}/main.py"],
                  words=["met: 0 0 4 a; 1 1 4 a; 2 0 4 b; 3 1 4 b"], inside=lab.on("a"))
        suite.job("ssh: a host whose shell prints before each command", [*way, "-H", "c"], ["hostname"], ranks=1,
                  words=["c"], inside=inside)
        bad_hosts(suite, lab, way, inside)
        lost_host(suite, lab, way, inside)
    finally:
        lab.close()
    return True


def bad_hosts(suite, lab, way, inside):
    def refused(what, status, *words, hosts="a,b", program=("true",)):
        suite.job(f"ssh: {what}", [*way, "-H", hosts], program, ranks=2, status=status, words=words, inside=inside)

    refused("an unknown host", 202, "prun: host nowhere:", "resolve", hosts="a,nowhere")
    lab.let_in("other")
    refused("a refused key", 210, "prun: host a:", "Permission denied", "ssh a true")
    lab.let_in("user")
    lab.know("other")
    refused("a changed host key", 203, "prun: host a:", "ssh-keygen -R a")
    lab.know("host", but="b")
    refused("an unknown host key", 203, "prun: host b:", "ssh b")
    lab.know("host")
    refused("a missing program", 127, "no program", "/no/such/program", program=("/no/such/program",))
    lab.run_on("b", "mount", "-t", "tmpfs", "none", os.path.dirname(suite.program))
    refused("a program that only one host has", 127, "prun: host b: no program", program=(suite.program,))
    lab.run_on("b", "umount", os.path.dirname(suite.program))
    lab.run_on("b", "mkdir", "-p", lab.path("cache-b"))
    lab.run_on("b", "sh", "-c", f"rm -rf {lab.path('cache-b')}/* && mount -t tmpfs -o size=64k none {lab.path('cache-b')}")
    refused("a full disk where prund is to be kept", 212, "prun: host b:", "cannot keep the daemon")
    lab.run_on("b", "umount", lab.path("cache-b"))
    lab.stop_server("d")
    refused("a host without an ssh server", 201, "prun: host d:", "refused", hosts="a,d")
    lab.start_server("d", False, True)
    wait_until(lambda: subprocess.run([*inside, *lab.agent.split(), "d", "true"], capture_output=True).returncode == 0,
               "the server that runs no commands")
    refused("an account that runs no commands", 201, "prun: host d:", "This account is closed", hosts="a,d")


def lost_host(suite, lab, way, inside):
    """The cable is pulled: only the heartbeats can tell."""
    job = Job(suite.prun, [*way, "-H", "a,b"], ["sh", "-c", "echo up; exec sleep 1000"], ranks=2, inside=inside)
    wait_until(lambda: job.said().count("up\n") == 2, "both ranks")
    lab.run_on("b", "ip", "link", "set", "eth0", "down")
    status = job.wait()
    took = job.survivors_gone()  # b's daemon hears nothing either
    good = status == 206 and "prun: host b:" in job.said()
    suite.failures += 0 if good else 1
    print(f"{'ok' if good else 'FAILED'} ssh: a host whose cable is pulled (status {status}, "
          f"b alone for {took:.1f} s)\n{'' if good else job.said()}")


def by_namespaces(suite):
    tried = subprocess.run([suite.prun, "--virtual", "-H", "a,b", "-np", "2", "true"], capture_output=True, text=True)
    if tried.returncode == 208:
        print(f"skipped virtual hosts: {tried.stderr.strip()}")
        return False
    good_jobs(suite, "virtual", ["--virtual"], "abcd")
    suite.job("virtual: a link of set speed", ["--virtual", "--link-rate", "1gbit", "-H", "a:2,b:2"], [suite.program])
    slow = ["--virtual", "--link-delay", "1ms", "-H", "a:2,b:2"]
    tried = subprocess.run([suite.prun, *slow, "-np", "2", "true"], capture_output=True, text=True)
    if "sch_netem" in tried.stderr:
        print(f"skipped a link of set delay: {tried.stderr.strip()}")
    else:
        suite.job("virtual: a link of set delay", slow, [suite.program])
    suite.job("virtual: a rate that is none", ["--virtual", "--link-rate", "quick", "-H", "a,b"], ["true"],
              ranks=2, status=2, words=["needs a rate", "quick"])
    return True


def main():
    suite = Suite(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))
    ran = [by_namespaces(suite), by_ssh(suite)]
    if not any(ran):
        sys.exit(77)
    print(f"{suite.failures} failures")
    sys.exit(1 if suite.failures else 0)


main()
