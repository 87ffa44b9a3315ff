#!/usr/bin/env python3
"""prun --gdb and --stacks reach a rank on another host by ssh, with a terminal: debug_test.py PRUN"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../support")
from jobs import LIMIT_S, Job, wait_until  # noqa: E402
import lab as labs  # noqa: E402


def check(condition, what, said=""):
    print(f"{'ok' if condition else 'FAILED'} {what}")
    if not condition:
        print(said)
        raise SystemExit(1)


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, command):
        self.said = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvp(command[0], command)

    def wait_for(self, words):
        begun = len(self.said)
        deadline = time.monotonic() + LIMIT_S
        while not re.search(words, self.said[begun:]) and time.monotonic() < deadline:
            if select.select([self.fd], [], [], 1)[0]:
                try:
                    self.said += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    break
        check(re.search(words, self.said[begun:]), f"the debugger says {words}", self.said)

    def write(self, line):
        os.write(self.fd, f"{line}\n".encode())

    def end(self):
        os.close(self.fd)
        return os.waitpid(self.pid, 0)[1]


def debug(prun, lab, job, inside):
    said = wait_until(lambda: (lambda text: text if f" {job.prun.pid} " in text else "")(
        subprocess.run([*inside, prun, "--ps"], capture_output=True, text=True).stdout), "the job in --ps")
    number = next(line.split()[0] for line in said.splitlines() if f" {job.prun.pid} " in line)
    terminal = Terminal([*inside, prun, "--launch-agent", lab.agent, "--gdb", f"1@{number}"])
    try:
        terminal.wait_for("rank 1 is process [0-9]+ on host b")
        terminal.wait_for(r"\(gdb\)")
        terminal.write("set pagination off")
        terminal.wait_for(r"\(gdb\)")
        pid = re.search("rank 1 is process ([0-9]+)", terminal.said).group(1)
        terminal.write("info inferiors")
        terminal.wait_for(f"process {pid}")
        terminal.write("shell test -t 0 && echo $((40 + 2)) on $(hostname)")
        terminal.wait_for(r"42 on b\r?\n")
        terminal.write("detach")
        terminal.write("quit")
        terminal.wait_for("closed")
    finally:
        terminal.end()
    check(job.prun.poll() is None, "the job goes on when the debugger has left", job.said())


def main():
    prun = os.path.abspath(sys.argv[1])
    reason = labs.missing() or ("" if shutil.which("gdb") else "gdb is not installed")
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    lab = labs.Lab("ab")
    try:
        inside = lab.on("head")
        job = Job(prun, ["--launch-agent", lab.agent, "-H", "a,b"], ["sh", "-c", "echo up; exec sleep 1000"], ranks=2, inside=inside)
        try:
            wait_until(lambda: "up\n" * 2 in job.said(), "both ranks")
            debug(prun, lab, job, inside)
        finally:
            job.prun.terminate()
            job.wait()
            job.survivors_gone()
    finally:
        lab.close()


main()
