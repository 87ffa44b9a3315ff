#!/usr/bin/env python3
"""prun --check: hosts in order, and hosts broken in many ways; every BAD line has its cure.

Usage: check_test.py PRUN
"""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../support")
from jobs import wait_until  # noqa: E402
import lab as labs  # noqa: E402

LIMIT_S = 120
PAIR = r"good  {} eth0 -> {} eth0 \({}[0-9.a-f:]*\): MTU 1500, [0-9.]+ MB/s"


class Suite:
    def __init__(self, prun):
        self.prun = prun
        self.failures = 0

    def check(self, what, options, *, status=0, words=(), without=(), inside=()):
        done = subprocess.run([*inside, self.prun, "--check", *options], capture_output=True, text=True,
                              timeout=LIMIT_S, stdin=subprocess.DEVNULL)
        said = done.stdout + done.stderr
        lines = said.splitlines()
        problems = [f"status {done.returncode}, not {status}"] if done.returncode != status else []
        problems += [f"'{word}' is not there" for word in words if not re.search(word, said)]
        problems += [f"'{word}' is there" for word in without if re.search(word, said)]
        for i, line in enumerate(lines):
            cured = i + 1 < len(lines) and lines[i + 1].strip().startswith("cure: ")
            if line.strip().startswith(("BAD", "note")) and not cured:
                problems.append(f"'{line.strip()}' has no cure")
        self.failures += 1 if problems else 0
        print(f"{'FAILED' if problems else 'ok'} {what} {'; '.join(problems)}")
        if problems:
            print(said)
        sys.stdout.flush()


def here(suite):
    lines = ["reached: on this machine", "clock:", "interfaces:", "ports:", "/dev/shm:", "memlock:", "open files:",
             "single copy:", "user namespaces:", "GPUs:", "versions: Linux", "names:", "1 host: jobs can run"]
    suite.check("this machine", [], words=lines)
    tried = subprocess.run([suite.prun, "--virtual", "-H", "a,b", "-np", "2", "true"], capture_output=True, text=True)
    if tried.returncode == 208:
        print(f"skipped virtual hosts: {tried.stderr.strip()}")
        return
    every = [PAIR.format(a, b, "10") for a in "abc" for b in "abc" if a != b]
    suite.check("three virtual hosts", ["--virtual", "-H", "a,b,c"], without=["BAD"],
                words=[*every, PAIR.format("a", "b", "fd"), "3 hosts: jobs can run"])
    suite.check("a slow link", ["--virtual", "--link-rate", "100mbit", "-H", "a,b"],
                words=[r"MTU 1500, (1[0-3]|[1-9]\.\d*) MB/s"])


def break_hosts(lab):
    """a: packets of its MTU are lost, no /dev/shm, does not know b; c: no way to b; e: no room for prund."""
    for name in "ab":
        lab.run_on(name, "ip", "link", "set", "eth0", "mtu", "9000")
    lab.run_on("c", "ip", "route", "add", "prohibit", lab.address("b"))
    lab.run_on("a", "mount", "-t", "tmpfs", "-o", "size=1m", "none", "/dev/shm")
    shutil.copy(lab.path("hosts"), lab.path("hosts-a"))
    with open(lab.path("hosts-a")) as file:
        lines = [line for line in file if not line.endswith(" b\n")]
    with open(lab.path("hosts-a"), "w") as file:
        file.writelines(lines)
    lab.run_on("a", "mount", "--bind", lab.path("hosts-a"), "/etc/hosts")
    cache = lab.path("cache-e")
    lab.run_on("e", "sh", "-c", f"rm -rf {cache} && mkdir {cache} && mount -t tmpfs -o size=64k none {cache}")
    lab.stop_server("f")


def equip(lab):
    """g: an RDMA device and little memory that may be locked, two GPUs, few open files."""
    gpus = " && ".join(f"mkdir -p /proc/driver/nvidia/gpus/0000:0{n}:00.0 && "
                       f"echo 'Model: NVIDIA H200' > /proc/driver/nvidia/gpus/0000:0{n}:00.0/information" for n in (1, 2))
    lab.run_on("g", "sh", "-c", "mount -t tmpfs none /sys/class && mkdir -p /sys/class/infiniband/mlx5_0 && "
               f"mount -t tmpfs none /proc/driver && {gpus} && "
               "echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19' "
               "> /proc/driver/nvidia/version")
    lab.stop_server("g")
    lab.start_server("g", False, False, ["prlimit", "--memlock=65536:65536", "--nofile=1024:1024"])
    wait_until(lambda: lab.answers("g"), "the server of few limits")


def by_ssh(suite):
    lab = labs.Lab("abcdefg")
    try:
        way, inside = ["--launch-agent", lab.agent], lab.on("head")
        suite.check("two hosts by ssh", [*way, "-H", "a,b"], inside=inside, without=["BAD", "note"],
                    words=["by ssh in [0-9]+ ms, without a password", PAIR.format("a", "b", "10.88"),
                           PAIR.format("b", "a", "10.88"), "2 hosts: jobs can run"])
        suite.check("no GPU and no RDMA device", [*way, "-H", "a"], inside=inside, words=["good  GPUs: none",
                                                                                         "good  memlock: "])
        if shutil.which("prlimit"):
            equip(lab)
            suite.check("GPUs, an RDMA device and low limits", [*way, "-H", "g"], inside=inside, status=212, words=[
                r"good  GPUs: 2 x NVIDIA H200; driver 535\.104\.05", r"BAD   memlock: 64 KiB at most, and there is an RDMA device\n.*cure: .*limits.conf",
                r"note  open files: 1024 at most\n.*cure: .*ulimit -Hn"])
        lab.know("host", but="b")
        suite.check("a host key nobody knows", [*way, "-H", "a,b,c"], inside=inside, status=203,
                    words=["BAD   reached: .*Host key verification failed", "ssh b", PAIR.format("a", "c", "10.88")])
        lab.know("host")
        lab.let_in("other")
        suite.check("a key that nobody lets in", [*way, "-H", "a"], inside=inside, status=210,
                    words=["BAD   reached: .*Permission denied", "cure: check that 'ssh a true' works"])
        lab.let_in("user")
        break_hosts(lab)
        lab.stop_server("d")
        lab.start_server("d", True, False)
        wait_until(lambda: lab.answers("d"), "the noisy server")
        suite.check("hosts broken in many ways", [*way, "-H", "a,b,c,d,e,f,nowhere"], inside=inside, status=212, words=[
            r"a eth0 -> b eth0 .*packets of MTU 9000 are lost, of 1500 arrive.*\n.*cure: .*mtu 1500",
            r"c -> b: cannot be reached \(eth0 -> eth0 .*\n.*cure: .*ip route",
            r"b -> c: cannot be reached",
            r"note  /dev/shm: 1 MiB free\n.*cure: .*--shm-size",
            r"note  names: b is not known\n.*cure: .*/etc/hosts",
            r"note  login shell: .*Welcome, user.*\n.*cure: ",
            r"host e\n    BAD   reached: .*cannot keep the daemon",
            r"host f\n    BAD   reached: .*refused.*\n.*cure: no ssh server answers",
            r"host nowhere\n    BAD   reached: .*resolve",
            PAIR.format("d", "c", "10.88"),
        ])
    finally:
        lab.close()


def main():
    suite = Suite(os.path.abspath(sys.argv[1]))
    here(suite)
    if reason := labs.missing():
        print(f"skipped ssh hosts: {reason}")
    else:
        by_ssh(suite)
    print(f"{suite.failures} failures")
    sys.exit(1 if suite.failures else 0)


main()
