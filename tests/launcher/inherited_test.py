#!/usr/bin/env python3
"""prun ends what it started, all of it and nothing else. Usage: inherited_test.py PRUN

Who becomes prun by exec keeps its children: a monitor, a filter. A job leaves nothing behind, but
these, and whatever they started, live on.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from checks import check, result, run
from jobs import LIMIT_S, Job, Sshd, Started, free_port, no_ssh_server, processes_with, state_of, wait_until

PRUN = os.path.abspath(sys.argv[1])

# Starts an orphan of its own when the job runs, and others that end at once.
MONITOR = """echo $$ >monitor; until test -e go; do sleep 0.05; done
(setsid sleep 1000 & echo $! >orphan)
for i in 1 2 3 4 5; do (setsid true &); done
touch ready; exec sleep 1000"""
# A rank that leaves such children, too, and ends when the monitor has begun.
RANK = """(setsid sleep 1001 >/dev/null 2>&1 &); for i in 1 2 3 4 5; do (setsid true &); done
touch go; until test -e ready; do sleep 0.05; done; """
ON_AND_ON = "touch waits; until test -e end; do sleep 0.05; done"
SHELL = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL, "text": True}


def lives(pid):
    return state_of(pid) not in ("", "Z", "X")


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return []


def zombies_below(pid):
    below = children_of(pid)
    return [child for child in below if state_of(child) == "Z"] + [z for child in below for z in zombies_below(child)]


class Monitored:
    """A shell with a monitor that becomes prun."""

    def __init__(self, folder, *command):
        self.folder = folder
        self.job = subprocess.Popen(["sh", "-c", 'sh -c "$0" >/dev/null 2>&1 & until test -s monitor; do sleep 0.05; done; exec "$@"',
                                     MONITOR, *command], cwd=folder, **SHELL)

    def at(self, name):
        return f"{self.folder}/{name}"

    def number(self, name):
        with open(self.at(name)) as file:
            return int(file.read())

    def end(self, what, status):
        said = self.job.communicate(timeout=LIMIT_S)[0]
        check(f"{what}: status {status}", self.job.returncode == status, f"{self.job.returncode} {said}")
        names = [name for name in ("monitor", "orphan") if os.path.exists(self.at(name)) or name == "monitor"]
        for name in names:
            pid = self.number(name)
            check(f"{what}: the {name} lives", lives(pid), said)
            if lives(pid):
                os.kill(pid, signal.SIGKILL)


def monitors():
    for what, options, program, status in (
            ("a good end", [], RANK, 0), ("a rank fails", [], RANK + "exit 3", 3),
            ("no such program", [], None, 127), ("a wrong option", ["--no-such-option"], RANK, 2),
            ("a time limit", ["--timeout", "2"], RANK + "exec sleep 1000", 207),
            ("a host that nobody knows", ["-H", "no-such-host.invalid"], RANK, None),
            ("virtual hosts", ["--virtual", "-H", "a,b"], RANK, 0)):
        with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
            one = Monitored(folder, PRUN, *options, "-np", "1", *(["sh", "-c", program] if program else ["./no-such"]))
            if status is None:
                status = one.job.wait(LIMIT_S)
                check(f"{what}: is an error", status in range(201, 214), status)
            one.end(what, status)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
            one = Monitored(folder, PRUN, "-np", "2", "--oversubscribe", "sh", "-c", RANK + ON_AND_ON)
            wait_until(lambda: os.path.exists(one.at("waits")), "the ranks")
            wait_until(lambda: not zombies_below(one.job.pid), "the end of processes that nobody has reaped")
            one.job.send_signal(number)
            one.end(f"signal {number}", -number if number == signal.SIGKILL else 128 + number)


def filters():
    """bash becomes prun here, and its filter is prun's child."""
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        done = run("bash", "-c", f"{PRUN} -np 1 seq 1000 > >(sleep 1; cat >log; touch written)", cwd=folder)
        wait_until(lambda: os.path.exists(f"{folder}/written") or done.returncode != 0, "the filter's end")
        with open(f"{folder}/log") as file:
            check("a filter writes all of its log", file.read().split() == [str(i) for i in range(1, 1001)], done)


def nothing_left():
    """Looked for at the very moment that prun has ended."""
    program = "(setsid sleep 1000 >/dev/null 2>&1 &); setsid sh -c 'sleep 1001 & exec sleep 1002' >/dev/null 2>&1 &"
    for way in ([], ["--virtual", "-H", "a:2,b:2"]):
        for _ in range(10):
            job = Job(PRUN, ["--oversubscribe", *way], ["sh", "-c", program])
            status = job.wait()
            left = processes_with(job.mark)
            check(f"nothing is left when prun {' '.join(way)} ends", status == 0 and not left, f"{left} {job.said()}")
            job.survivors_gone()
        for pause_ms in range(0, 100, 10):
            job = Job(PRUN, ["--oversubscribe", *way], ["sh", "-c", program + " sleep 1000"])
            time.sleep(pause_ms / 1000)
            job.prun.send_signal(signal.SIGINT)
            # It may not have come to hearing signals: then what there is ends by itself, a moment later.
            killed = job.wait() == -signal.SIGINT
            left = {} if killed else processes_with(job.mark)
            check(f"nothing is left when prun {' '.join(way)} is interrupted as it starts", not left, f"{left} {job.said()}")
            job.survivors_gone()


def reaped():
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        job = subprocess.Popen([PRUN, "-np", "2", "--oversubscribe", "sh", "-c",
                                "for i in 1 2 3 4 5; do (setsid true &); sh -c 'sleep 0.1 &'; done; " + ON_AND_ON], cwd=folder, **SHELL)
        wait_until(lambda: os.path.exists(f"{folder}/waits"), "the ranks")
        wait_until(lambda: not zombies_below(job.pid), "the end of processes that nobody has reaped")
        check("what a rank's children leave is reaped while the job runs", job.poll() is None)
        open(f"{folder}/end", "w").close()
        said = job.communicate(timeout=LIMIT_S)[0]
        check("and the job ends well", job.returncode == 0, said)


def joined():
    """A node that comes by itself: a shell with a monitor becomes its keeper."""
    for act, status in (("a good end", 0), ("SIGTERM", 206)):
        with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
            port, key = free_port(), f"{folder}/key"
            with open(key, "w") as file:
                file.write("0123456789abcdef0123456789abcdef\n")
            os.chmod(key, 0o600)
            head = Started([PRUN, "--listen", str(port), "--key-file", key, "--nodes", "1", "-np", "1", "sh", "-c",
                            f"cd {folder}; {RANK}{ON_AND_ON}"], os.environ)
            node = Monitored(folder, PRUN, "--join", f"127.0.0.1:{port}", "--key-file", key)
            wait_until(lambda: os.path.exists(node.at("waits")) or head.process.poll() is not None, "the rank")
            if act == "SIGTERM":
                node.job.terminate()
            else:
                open(node.at("end"), "w").close()
            check(f"joined, {act}: the head's status", head.wait() == status, head.said())
            node.end(f"joined, {act}", 0 if status == 0 else 1)


def masters():
    """ssh may leave a master behind for later connections (ControlPersist), and its way there: they are not prun's."""
    if reason := no_ssh_server():
        print(f"skipped masters of ssh: {reason}")
        return
    server = Sshd(["a", "b"])
    try:
        shutil.copy(server.path("config"), server.path("plain"))
        with open(server.path("config"), "a") as file:
            file.write(f"  ControlMaster auto\n  ControlPersist 600\n  ControlPath {server.path('master')}-%n\n"
                       f"  ProxyCommand ssh -F {server.path('plain')} -W 127.0.0.1:%p a\n")
        way = ["--launch-agent", server.agent, "-H", "a,b"]
        for what, program, status in (("a good end", "exit 0", 0), ("a rank fails", "exit 4", 4)):
            job = Job(PRUN, way, ["sh", "-c", program], ranks=2)
            check(f"masters of ssh, {what}", job.wait() == status, job.said())
            for host in ("a", "b"):
                # Without its way there a master ends when it is used, and another takes its place.
                asked = [run(*server.agent.split(), *words) for words in (
                    ("-O", "check", host), (host, "true"), ("-O", "check", host))]
                check(f"{what}: the master to {host} lives, and is used", "Master running" in asked[0].stderr
                      and asked[0].stderr == asked[2].stderr, f"{asked} {job.said()}")
        for host in ("a", "b"):
            run(*server.agent.split(), "-O", "exit", host)
        job.survivors_gone()
    finally:
        server.close()


monitors()
filters()
nothing_left()
reaped()
joined()
masters()
result()
