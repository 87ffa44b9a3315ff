#!/usr/bin/env python3
"""More hosts than prun reaches by itself: daemons start daemons, and a lost one takes its own along.

Usage: tree_test.py PRUN. All hosts are names of one private ssh server on loopback.
"""
import os
import pwd
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import Job, Sshd, no_ssh_server, wait_until

HOSTS = 36


def finish(job, what, status, words=""):
    got = job.wait()
    job.survivors_gone()
    assert got == status, f"{what}: status {got}, not {status}\n{job.said()}"
    assert words in job.said(), f"{what}: '{words}' not in\n{job.said()}"
    print(f"ok {what}", flush=True)


def everybody_runs(prun, way, what):
    job = Job(prun, way, ["sh", "-c", "echo rank $RANK of $WORLD_SIZE on $GROUP_RANK"], ranks=HOSTS)
    finish(job, what, 0)
    lines = {line for line in job.said().splitlines() if line.startswith("rank")}
    expected = {f"rank {i} of {HOSTS} on {i}" for i in range(HOSTS)}
    assert lines == expected, f"{what}: {expected - lines} missing\n{job.said()}"


def relay_lost(prun, way):
    job = Job(prun, way, ["sh", "-c", "echo up; exec sleep 1000"], ranks=HOSTS)
    wait_until(lambda: job.said().count("up\n") >= HOSTS or job.prun.poll() is not None, "all ranks")
    # A relay is a daemon with ssh children: the parent of an ssh that is not prun's.
    relays = set()
    for pid in os.listdir("/proc"):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                is_ssh = file.read().startswith(b"ssh\0")
            with open(f"/proc/{pid}/stat") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{parent}/cmdline", "rb") as file:
                if is_ssh and b"prund" in file.read():
                    relays.add(parent)
        except (OSError, ValueError):
            continue
    assert relays, "no daemon started other daemons"
    job.kill(min(relays))
    finish(job, "a relay killed: its hosts go with it, the job ends", 206, "daemon was lost")


def nobody_reaches_all(prun, server, names):
    """What an ssh of a relay's ended with is told as it was."""
    some = server.path("ssh-to-some")
    with open(some, "w") as file:
        file.write(f'#!/bin/sh\nway=; case " $* " in *" {names[-1]} "*) way=no;; esac\n'
                   f'[ -n "$way$SSH_CONNECTION" ] && {{ echo no way >&2; exit 7; }}\nexec {server.agent} "$@"\n')
    os.chmod(some, 0o755)
    what = "hosts that nobody reaches"
    job = Job(prun, ["--launch-agent", some, "-H", ",".join(names)], ["true"], ranks=HOSTS)
    finish(job, what, 201, "exited 7 before a daemon answered (no way)")
    assert "exited 0" not in job.said(), f"{what}: an ssh is said to have ended well\n{job.said()}"


def main():
    if reason := no_ssh_server():
        print(f"skipped: {reason}")
        sys.exit(77)
    prun = os.path.abspath(sys.argv[1])
    names = ["a"] + [f"host{i}" for i in range(1, HOSTS)]
    server = Sshd(names)
    try:
        way = ["--launch-agent", server.agent, "-H", ",".join(names)]
        if not os.environ.get("TUTTI_TEST_QUICK"):
            everybody_runs(prun, way, f"{HOSTS} hosts by a tree")
        job = Job(prun, way, ["sh", "-c", f"test $RANK = {HOSTS - 1} && exit 9; exec sleep 1000"], ranks=HOSTS)
        finish(job, "a rank behind a relay fails", 9, f"rank {HOSTS - 1} on host host{HOSTS - 1}")
        relay_lost(prun, way)
        # An ssh that works from the head only: the head reaches every host itself then, as the same user.
        only_head, user = server.path("ssh-from-head"), pwd.getpwuid(os.geteuid()).pw_name
        with open(only_head, "w") as file:
            file.write(f'#!/bin/sh\n[ -n "$SSH_CONNECTION" ] && {{ echo no way >&2; exit 255; }}\n'
                       f'case " $* " in *" -l {user} "*) ;; *) echo "as another user" >&2; exit 255;; esac\n'
                       f'exec {server.agent} "$@"\n')
        os.chmod(only_head, 0o755)
        way = ["--launch-agent", only_head, "-H", ",".join(f"{user}@{name}" for name in names)]
        os.environ.pop("SSH_CONNECTION", None)
        everybody_runs(prun, way, "hosts that cannot reach each other")
        nobody_reaches_all(prun, server, names)
    finally:
        server.close()


main()
