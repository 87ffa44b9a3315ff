#!/usr/bin/env python3
"""Kills each actor at each stage of a job and looks for survivors and leftovers.

Usage: fault_test.py PRUN. Actors: prun, a daemon, its keeper, a rank. Stages: starting (as soon as prun has a
child), running, ending (ranks that refuse to end). Ways: this machine, virtual hosts, ssh hosts.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import (Job, Sshd, ancestors, leftovers, new_leftovers, no_ssh_server, parent_of, processes_with,
                  wait_until)

# A rank that is hard to end: it ignores SIGTERM and starts processes in other sessions.
STUBBORN = """
trap '' TERM INT HUP
setsid sleep 1000 &
(setsid sh -c 'sleep 1001 & exec sleep 1002' &)
echo up
while :; do sleep 1003; done
"""


class Suite:
    def __init__(self, prun):
        self.prun = prun
        self.before = leftovers()
        self.failures = []
        self.checked = 0

    def check(self, good, what, job=None):
        self.checked += 1
        if not good:
            self.failures.append(what)
            print(f"FAILED {what}\n{job.said() if job else ''}", flush=True)

    def clean_after(self, job, what):
        try:
            took = job.survivors_gone()
            print(f"ok {what} (nothing left after {took:.2f} s)", flush=True)
        except AssertionError as problem:
            self.check(False, f"{what}: {problem}", job)
            for pid in processes_with(job.mark):
                os.kill(pid, signal.SIGKILL)
        extra = new_leftovers(self.before)
        self.check(not extra, f"{what}: left behind {extra}", job)


def stubborn(suite, way, ranks=4):
    job = Job(suite.prun, way, ["sh", "-c", STUBBORN], ranks=ranks)
    wait_until(lambda: job.said().count("up\n") >= ranks or job.prun.poll() is not None, "all ranks")
    return job


def kill_running(suite, name, way):
    for actor in ("prun", "daemon", "told", "keeper", "rank"):
        job = stubborn(suite, way)
        what = f"{name}: {'daemon told to end' if actor == 'told' else actor + ' killed'} while running"
        if job.prun.poll() is not None:
            suite.check(False, f"{what}: prun ended early", job)
            continue
        victim = {"prun": lambda: job.prun.pid, "daemon": job.daemon, "told": job.daemon, "keeper": lambda: parent_of(job.daemon()),
                  "rank": lambda: job.ranks()[0]}[actor]()
        if actor == "told":
            os.kill(victim, signal.SIGTERM)
        else:
            job.kill(victim)
        status = job.wait()
        suite.clean_after(job, what)
        expected = {"prun": -9, "daemon": 206, "told": 206, "keeper": 206, "rank": 137}[actor]
        suite.check(status == expected, f"{what}: status {status}, not {expected}", job)
        if actor == "rank":
            suite.check("was killed by signal 9" in job.said(), f"{what}: says so", job)
        if actor == "told":
            words = r"host \S+: its daemon was lost \(connection [^)]*\): the daemon was told to end by SIGTERM; its ranks are gone"
            suite.check(re.search(words, job.said()), f"{what}: says so", job)
        if actor in ("daemon", "keeper"):
            how = {"daemon": "the daemon was killed", "keeper": "its keeper was killed"}[actor]
            if actor == "daemon" or "--launch-agent" not in way:
                how += r" by signal 9 \(SIGKILL\), perhaps by the out-of-memory killer"
            words = rf"host \S+: its daemon was lost \(connection [^)]*\): {how}; its ranks are gone"
            suite.check(re.search(words, job.said()), f"{what}: says so", job)


def kill_without_prun(suite, name, way):
    """A prun that is stopped cannot help; only it is left."""
    for actor in ("daemon", "keeper"):
        job = stubborn(suite, way)
        what = f"{name}: {actor} killed while prun is stopped"
        daemon = job.daemon()
        keeper = parent_of(daemon)
        host = {pid for pid in processes_with(job.mark) if keeper in [pid, *ancestors(pid)]}
        suite.check(len(host) > 6, f"{what}: only {host} were found before", job)
        os.kill(job.prun.pid, signal.SIGSTOP)
        job.kill(daemon if actor == "daemon" else keeper)
        # Of two hosts the other one goes on: nobody has told it anything.
        wait_until(lambda: not host & set(processes_with(job.mark)), f"{what}: the host's end")
        os.kill(job.prun.pid, signal.SIGCONT)
        status = job.wait()
        suite.clean_after(job, what)
        suite.check(status == 206, f"{what}: status {status}, not 206", job)
    for act in ("killed", "continued"):
        job = stubborn(suite, way)
        what = f"{name}: prun stopped, and {act} when a rank has failed"
        os.kill(job.prun.pid, signal.SIGSTOP)
        job.kill(job.ranks()[0])
        os.kill(job.prun.pid, signal.SIGKILL if act == "killed" else signal.SIGCONT)
        job.wait()
        suite.clean_after(job, what)


def kill_starting(suite, name, way):
    for pause_ms in (0, 5, 20, 60):
        job = Job(suite.prun, way, ["sh", "-c", STUBBORN])
        wait_until(lambda: len(processes_with(job.mark)) > 1 or job.prun.poll() is not None, "a child")
        subprocess.run(["sleep", str(pause_ms / 1000)], check=True)
        job.kill(job.prun.pid)
        job.wait()
        suite.clean_after(job, f"{name}: prun killed {pause_ms} ms after its first child")


def kill_ending(suite, name, way):
    """A rank has failed, the others refuse to end; then prun or a daemon is killed too."""
    for actor in ("prun", "daemon"):
        job = stubborn(suite, way)
        daemon = job.daemon()
        job.kill(job.ranks()[0])
        job.kill(job.prun.pid if actor == "prun" else daemon)
        job.wait()
        suite.clean_after(job, f"{name}: {actor} killed while ending")


def kill_leaving(suite, name, way):
    """All ranks have ended well, and what they started still writes: that is told, and no other round follows."""
    elastic = ["--nnodes=1:2", "--no-python", f"--nproc-per-node={2 if '-H' in way else 4}"]
    for options in ([], elastic):
        what = " ".join([f"{name}: a daemon killed while the job leaves", *options])
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            script = f"trap '' HUP; (for i in $(seq 40); do echo late; sleep 0.1; done) & echo up; until test -e {folder}/go; do sleep 0.05; done"
            job = Job(suite.prun, way, ["sh", "-c", script], options=["--verbose", *options])
            wait_until(lambda: job.said().count("up\n") >= 4 or job.prun.poll() is not None, "all ranks")
            daemon = job.daemon()
            open(f"{folder}/go", "w").close()
            wait_until(lambda: "cleaning up" in job.said(), "the ranks' ends")
            job.kill(daemon)
            status = job.wait()
            suite.clean_after(job, what)
        suite.check(status == 206 and job.said().count("cleaning up") == 1, f"{what}: status {status}, one round", job)
        words = r"host \S+: its daemon was lost \(.*; what its ranks wrote last may be missing\n"
        suite.check(len(re.findall(words, job.said())) == 1, f"{what}: says so", job)


def signals(suite, name, way):
    for number, kind in ((signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")):
        job = Job(suite.prun, way, ["sh", "-c", "echo up; exec sleep 1000"])
        wait_until(lambda: job.said().count("up\n") >= 4, "all ranks")
        job.prun.send_signal(number)
        status = job.wait()
        suite.clean_after(job, f"{name}: {kind}")
        suite.check(status == 128 + number, f"{name}: {kind}: status {status}", job)
    job = Job(suite.prun, way, ["sh", "-c", "trap '' TERM HUP; trap 'echo heard' INT; echo up; while :; do sleep 0.1; done"])
    wait_until(lambda: job.said().count("up\n") >= 4, "all ranks")
    job.prun.send_signal(signal.SIGINT)
    job.prun.send_signal(signal.SIGINT)
    wait_until(lambda: "heard\n" in job.said(), "the first one to be heard")
    time.sleep(0.5)  # two at once are one
    job.prun.send_signal(signal.SIGINT)
    status = job.wait()
    suite.clean_after(job, f"{name}: SIGINT twice against ranks that refuse to end")
    suite.check(status == 130, f"{name}: SIGINT twice: status {status}", job)
    suite.check("interrupted twice" in job.said(), f"{name}: SIGINT twice: it ended for another reason", job)


def one_line(suite, job, status, words, what):
    got = job.wait()
    suite.clean_after(job, what)
    suite.check(got == status, f"{what}: status {got}, not {status}", job)
    lines = [line for line in job.said().splitlines()
             if line.startswith("prun: ") and "they take turns" not in line
             and "the ranks are in:" not in line]  # the report at a time limit
    suite.check(len(lines) == 1 and re.search(words, lines[0]), f"{what}: one line with '{words}': {lines}", job)


def bad_input(suite, name, way):
    run = lambda *program, **more: Job(suite.prun, way, program, **more)
    one_line(suite, run("./no-such-program"), 127, "no program", f"{name}: missing program")
    one_line(suite, run("/etc/passwd"), 126, "not executable", f"{name}: not executable")
    one_line(suite, run("sh", "-c", "exit $RANK", ranks=2), 1, "rank 1", f"{name}: a rank exits 1")
    one_line(suite, run("sh", "-c", "sleep 1000", options=("--timeout", "1")), 207, "time limit",
             f"{name}: time limit")
    one_line(suite, run("true", options=("-wdir", "/no/such/folder")), 127, "no folder",
             f"{name}: missing working folder")
    all_hosts = r"host \S+: " if name == "this machine" else "hosts a, b: "
    one_line(suite, run("true", options=("--interfaces", "nosuch")), 0, all_hosts + "no interface here is one of nosuch",
             f"{name}: a network that no host has")
    with open("/dev/full", "w") as full:
        one_line(suite, run("sh", "-c", "echo text; sleep 1000", stdout=full), 212,
                 "No space left on device", f"{name}: a full disk")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        open(f"{folder}/file", "w").close()
        one_line(suite, run("true", options=("--output-filename", f"{folder}/file")), 212,
                 "cannot write", f"{name}: output into a file's folder")


def ways(suite):
    """Each way of starting that this machine permits."""
    yield "this machine", []
    hosts = ["-H", "a:2,b:2"]
    tried = subprocess.run([suite.prun, "--virtual", *hosts, "-np", "2", "true"], capture_output=True, text=True)
    if tried.returncode == 0:
        yield "virtual hosts", ["--virtual", *hosts]
    else:
        print(f"skipped virtual hosts: {tried.stderr.strip()}")
    if reason := no_ssh_server():
        print(f"skipped ssh hosts: {reason}")
        return
    try:
        server = Sshd(["a", "b"])
    except AssertionError as problem:
        print(f"skipped ssh hosts: {problem}")
        return
    try:
        suite.before = leftovers()
        yield "ssh hosts", ["--launch-agent", server.agent, *hosts]
    finally:
        server.close()


def stop_daemon(suite, name, way):
    """A job whose daemon does not answer any more; looked at again by stopped_daemons."""
    job = Job(suite.prun, way, ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 1000; done"])
    wait_until(lambda: job.said().count("up\n") >= 4 or job.prun.poll() is not None, "all ranks")
    os.kill(job.daemon(), signal.SIGSTOP)
    return name, job


def stopped_daemons(suite, stopped):
    """Only heartbeats can tell: the job ends with a reason, and what was stopped ends as well."""
    for name, job in stopped:
        what = f"{name}: a daemon that does not answer"
        status = job.wait()
        suite.clean_after(job, what)
        suite.check(status == 206 and "silent for" in job.said(), f"{what}: status {status}, not 206", job)


def hanging_ssh(suite):
    for what, text in (("an ssh that hangs", "exec sleep 1000"), ("a wrapper of an ssh that hangs", "sleep 1000; :"),
                       ("an ssh that does not hear", "trap '' TERM; sleep 1000; :")):
        with tempfile.TemporaryDirectory() as folder:
            agent = f"{folder}/hangs"
            with open(agent, "w") as file:
                file.write(f"#!/bin/sh\n{text}\n")
            os.chmod(agent, 0o755)
            way = ["--launch-agent", agent, "-H", "a,b", "--spawn-timeout", "1"]
            one_line(suite, Job(suite.prun, way, ["true"], ranks=2), 201, "no answer from a, b", what)


def no_room_for_agents(suite):
    """Of many agents some cannot be started, for want of descriptors: it is said of which program."""
    with tempfile.TemporaryDirectory() as folder:
        agent = f"{folder}/reaches"
        with open(agent, "w") as file:
            file.write("#!/bin/sh\nexec sleep 1000\n")
        os.chmod(agent, 0o755)
        hosts = ",".join(f"h{i}" for i in range(30))
        done = subprocess.run(["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", suite.prun, "--launch-agent", agent, "-H", hosts,
                               "-np", "30", "true"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        suite.check(done.returncode == 212 and f": cannot start {agent}: Too many open files" in done.stderr,
                    f"agents without descriptors: {done.returncode} {done.stderr}")


def one_of_many(suite, ranks=300 if os.environ.get("TUTTI_TEST_QUICK") else 1000):
    """One rank of very many fails while the others are still being started."""
    program = ["sh", "-c", "test $RANK != 77 || exit 7; exec sleep 1000"]
    job = Job(suite.prun, ["--oversubscribe"], program, ranks=ranks)
    one_line(suite, job, 7, "rank 77", f"one of {ranks} ranks fails at the start")


def main():
    suite = Suite(os.path.abspath(sys.argv[1]))
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    stopped = []
    hanging_ssh(suite)
    no_room_for_agents(suite)
    one_of_many(suite)
    for name, way in ways(suite):
        way = ["--oversubscribe", *way]
        stopped.append(stop_daemon(suite, name, way))
        for stage in (kill_running, kill_without_prun, kill_starting, kill_ending, kill_leaving, signals, bad_input):
            stage(suite, name, way)
        if name == "ssh hosts":  # its server is needed until then
            stopped_daemons(suite, [stopped.pop()])
    stopped_daemons(suite, stopped)
    print(f"{suite.checked} checks, {len(suite.failures)} failures")
    for failure in suite.failures:
        print(f"FAILED {failure}")
    sys.exit(1 if suite.failures else 0)


main()
