"""A rank of stress_test.py: prints numbered lines in every way that a seed says, and leaves word of how many.

stress_rank.py SEED FOLDER FAILS. Its writers, itself and its children and filters, are named RANK.NUMBER; a line is
`NAME COUNTER PAYLOAD`, the payload follows from both. FOLDER/NAME says `STREAM LINES`."""
import os
import random
import signal
import subprocess
import sys
import time

from stress_lines import LONG, line_of

SEED, FOLDER, FAILS = int(sys.argv[1]), sys.argv[2], sys.argv[3] == "fails"
RANK = int(os.environ["RANK"])


class Writer:
    """So many lines into a descriptor; `told` when all are there."""

    def __init__(self, name, stream, fd):
        self.name, self.stream, self.fd, self.count = name, stream, fd, 0

    def write(self, lines):
        for _ in range(lines):
            text = f"{line_of(self.name, self.count)}\n".encode()
            self.count += 1
            while text:
                text = text[os.write(self.fd, text):]

    def tell(self):
        with open(f"{FOLDER}/{self.name}", "w") as file:
            file.write(f"{self.stream} {self.count}")


def child(name, stream, dice):
    """Prints beside its parent, from a session of its own or not."""
    lines, pause, leaves = dice.randrange(20), dice.random() * 0.1, dice.random() < 0.3
    if os.fork() != 0:
        return
    if leaves:
        os.setsid()
    writer = Writer(name, stream, stream)
    writer.write(lines // 2)
    time.sleep(pause)
    writer.write(lines - lines // 2)
    writer.tell()
    os._exit(0)


def filtered(name, stream, dice):
    """What a filter still writes when the rank may have ended."""
    out = os.dup(stream)
    one = subprocess.Popen(["sh", "-c", f"sleep 0.{dice.randrange(4)}; while IFS= read -r line; do echo \"$line\"; done"], stdin=subprocess.PIPE, stdout=out)
    os.close(out)
    writer = Writer(name, stream, one.stdin.fileno())
    writer.write(dice.randrange(4))
    one.stdin.close()
    writer.tell()
    return one


def stop_for_a_moment(dice):
    me, pause = os.getpid(), dice.random() * 0.2
    if os.fork() == 0:
        os.kill(me, signal.SIGSTOP)
        time.sleep(pause)
        os.kill(me, signal.SIGCONT)
        os._exit(0)


def main():
    dice = random.Random(f"{SEED} {RANK}")
    own = [None, Writer(f"{RANK}.1", 1, 1), Writer(f"{RANK}.2", 2, 2)]
    number, running = 3, []
    for writer in own[1:]:
        writer.write(LONG)
    for _ in range(dice.randrange(1, 12)):
        stream = dice.choice([1, 2])
        what = dice.choice(["print", "print", "print", "sleep", "child", "filter", "stop", "close"])
        if what == "sleep":
            time.sleep(dice.random() * 0.1)
        elif what == "stop":
            stop_for_a_moment(dice)
        elif own[stream] is None:
            pass
        elif what == "print":
            own[stream].write(dice.randrange(60))
        elif what == "close":
            own[stream].tell()
            own[stream] = None
            os.close(stream)
            os.open("/dev/null", os.O_WRONLY)
        elif what == "child":
            child(f"{RANK}.{number}", stream, dice)
        else:
            running.append(filtered(f"{RANK}.{number}", stream, dice))
        number += 1
    for writer in own[1:]:
        if writer:
            writer.tell()
    while dice.random() < 0.7:  # else children are left to themselves
        try:
            os.wait()
        except ChildProcessError:
            break
    os._exit(3 if FAILS and RANK == 0 else 0)


main()
