#!/usr/bin/env python3
"""--pty: rank 0 on a terminal of its own, prun's given to it key by key. Usage: pty_test.py PRUN

The user is this test, at the other end of prun's own terminal."""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import tempfile
import termios
import time

from checks import check, result
from jobs import wait_until

PRUN = os.path.abspath(sys.argv[1])
LIMIT_S = 60
RANK = """
import fcntl, os, signal, struct, sys, termios
def size(): return struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8)))[:2]
def say(*words): print(*words, flush=True)
signal.signal(signal.SIGWINCH, lambda *_: os.write(1, b"now %d %d\\n" % size()))
signal.signal(signal.SIGINT, lambda *_: os.write(1, b"interrupted\\n"))
if os.environ["RANK"] != "0": say("rank 1", sys.stdin.read()); sys.exit(0)
say("rank", os.environ["RANK"], all(os.isatty(fd) for fd in (0, 1, 2)), *size())
print("prompt> ", end="", flush=True)
while True:
    line = sys.stdin.readline()
    if line in ("", "end\\n"): break
    say("heard", repr(line))
say("over", repr(line))
sys.exit(5 if line else 0)
"""


class User:
    """Somebody at a terminal in which prun runs."""

    def __init__(self, *command):
        self.seen = ""
        self.pid, self.keys = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
            os.execv(command[0], command)

    def until(self, text):
        end = time.monotonic() + LIMIT_S
        while text not in self.seen and time.monotonic() < end:
            if not select.select([self.keys], [], [], 1)[0]:
                continue
            try:
                got = os.read(self.keys, 4096)
            except OSError:
                break
            if not got:
                break
            self.seen += got.decode()
        check(f"sees {text!r}", text in self.seen, self.seen)

    def types(self, keys):
        os.write(self.keys, keys)

    def resize(self, rows, columns):
        fcntl.ioctl(self.keys, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def end(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def session(folder, *where):
    script = f"{folder}/rank.py"
    with open(script, "w") as file:
        file.write(RANK)
    # A shell around it, as a user has it: the terminal's modes are seen when prun has ended.
    user = User("/bin/sh", "-c", f"{PRUN} {' '.join(where)} --pty --oversubscribe -np 2 {sys.executable} {script}; "
                "echo status $?; stty -a | tr ' ;' '\\n' | grep -x -e icanon -e echo -e isig; read x")
    user.until("rank 0 True 33 77\r\n")
    user.until("prompt> ")
    user.types(b"one\n")
    user.until("heard 'one\\n'\r\n")
    user.types(b"\x03")
    user.until("interrupted")
    user.resize(40, 100)
    user.until("now 40 100")
    user.types(b"end\n")
    user.until("over 'end\\n'")
    user.until("status 5")
    for mode in ("isig", "icanon", "echo"):
        user.until(f"{mode}\r\n")
    check("its keys are shown once", user.seen.split("prun: ")[0].count("one") == 2, user.seen)
    check("of rank 1 nothing is shown", "rank 1" not in user.seen, user.seen)
    user.types(b"\n")
    check("the shell ends", user.end() == 0, user.seen)


def end_of_input(folder):
    user = User(PRUN, "--pty", "-np", "1", sys.executable, f"{folder}/rank.py")
    user.until("prompt> ")
    user.types(b"\x04")
    user.until("over ''")
    check("control-D ends it", user.end() == 0, user.seen)


def ended_from_outside(folder):
    # What sh puts into the background reads nothing unless told to.
    user = User("/bin/sh", "-c", f"{PRUN} --pty -np 1 {sys.executable} {folder}/rank.py </dev/tty & echo $! > {folder}/pid; wait $!; "
                "echo status $?; read x")
    user.until("rank 0 True")
    wait_until(lambda: os.path.exists(f"{folder}/pid") and os.path.getsize(f"{folder}/pid"), "the shell to say whom it started")
    with open(f"{folder}/pid") as file:
        os.kill(int(file.read()), signal.SIGTERM)
    user.until("status 143")
    user.types(b"\n")
    check("the shell ends", user.end() == 0, user.seen)


with tempfile.TemporaryDirectory(prefix="launcher-") as place:
    session(place)
    with open(f"{place}/reach", "w") as agent:
        agent.write('#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\nshift\nexec sh -c "$*"\n')
    os.chmod(f"{place}/reach", 0o755)
    session(place, "--launch-agent", f"{place}/reach", "-H", "aa,bb")
    end_of_input(place)
    ended_from_outside(place)
result()
