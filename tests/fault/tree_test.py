#!/usr/bin/env python3
"""More hosts than prun reaches by itself: daemons start daemons, and a lost one takes its own along.

Usage: tree_test.py PRUN. All hosts are names of one private ssh server on loopback.
"""
import os
import pwd
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import Job, Sshd, most_kib, no_ssh_server, parent_of, processes_with, stat_of, wait_until

HOSTS = 36
MOST_KIB = 100 << 10


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


def relays(server):
    """A relay is a daemon with ssh children: the parent of an ssh to our server that is not prun's."""
    found = set()
    for pid in os.listdir("/proc"):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read()
                is_ssh = words.startswith(b"ssh\0") and server.path("config").encode() in words
            with open(f"/proc/{parent_of(pid)}/cmdline", "rb") as file:
                if is_ssh and b"prund" in file.read():
                    found.add(parent_of(pid))
        except (OSError, ValueError):
            continue
    assert found, "no daemon started other daemons"
    return found


def relay_lost(prun, server, way):
    job = Job(prun, way, ["sh", "-c", "echo up; exec sleep 1000"], ranks=HOSTS)
    wait_until(lambda: job.said().count("up\n") >= HOSTS or job.prun.poll() is not None, "all ranks")
    job.kill(min(relays(server)))
    finish(job, "a relay killed: its hosts go with it, the job ends", 206, "daemon was lost")


FLOODS = f"""
import os, socket, struct, time
if os.environ["RANK"] != "{HOSTS - 1}":
    time.sleep(1000)
daemon = socket.socket(fileno=int(os.environ["TUTTI_CONTROL_FD"]))
word = struct.pack("=IiI", 10, 0, 60000) + bytes(60000)
print("it speaks", flush=True)
while True:
    daemon.send(word)
"""


def relay_is_flooded(prun, server, way):
    """A rank behind a relay speaks without end while prun takes nothing: it waits itself at last, and nobody grows;
    then it goes on."""
    job = Job(prun, way, [sys.executable, "-c", FLOODS], ranks=HOSTS)
    wait_until(lambda: "it speaks" in job.said() or job.prun.poll() is not None, "the rank")
    between = relays(server)
    job.prun.send_signal(signal.SIGSTOP)
    try:
        speakers, seen = [pid for pid, words in processes_with(job.mark).items() if "it speaks" in words], []

        def stands():
            seen.append([stat_of(pid)[11:13] for pid in speakers])
            return len(seen) > 200 and seen[-200] == seen[-1] or grown()

        def grown():
            return [most for pid in between if (most := most_kib(pid)) > MOST_KIB]
        wait_until(stands, "the rank to wait")
        too_much = grown()
        still = seen[-1]
        job.prun.send_signal(signal.SIGCONT)
        wait_until(lambda: [stat_of(pid)[11:13] for pid in speakers] != still or grown(), "the rank to go on")
    finally:
        job.prun.send_signal(signal.SIGCONT)
        job.prun.send_signal(signal.SIGTERM)
    assert not too_much, f"a flooded relay: {too_much} KiB\n{job.said()}"
    finish(job, "a relay that prun does not listen to", 143)


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
        relay_lost(prun, server, way)
        relay_is_flooded(prun, server, way)
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
