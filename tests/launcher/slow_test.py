#!/usr/bin/env python3
"""Slow file systems on hosts: programs that take longer to be found or to begin than heartbeats may be missing, and a
FIFO whose reader sleeps as long. Nobody takes that for a lost host. Usage: slow_test.py PRUN"""
import os
import subprocess
import sys
import tempfile

from checks import check, result
from jobs import LIMIT_S, Sshd, no_ssh_server
from slow_fs import SlowFs

PRUN = os.path.abspath(sys.argv[1])
DELAY_S = 40  # heartbeats may be missing for 30 s


def start(server, *words):
    return subprocess.Popen([PRUN, "--launch-agent", server.agent, "-H", "a:2", *words], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)


def main():
    if reason := no_ssh_server():
        print(f"skipped: {reason}")
        sys.exit(77)
    slow = None
    try:
        slow = SlowFs(DELAY_S)
    except OSError as problem:
        print(f"skipped slow file systems: {problem}")
    folder = tempfile.mkdtemp(prefix="launcher-")
    os.mkfifo(f"{folder}/fifo")
    reader = subprocess.Popen(["sh", "-c", f"exec < {folder}/fifo; sleep {DELAY_S}; exec wc -l"], stdout=subprocess.PIPE,
                              text=True)
    server = Sshd(["a"])
    try:
        jobs = {}
        if slow:
            jobs["found late"] = start(server, "-np", "2", f"{slow.folder}/slow-program"), 127, "no program"
            jobs["begins late"] = start(server, "-np", "2", f"{slow.folder}/program"), 0, "it runs\nit runs\n"
            jobs["a folder for output that is found late"] = (
                start(server, "-np", "2", "--output-directory", f"{slow.folder}/slow-folder", "true"), 212,
                "cannot write to")
            jobs["a file for output that is written late"] = (
                start(server, "-np", "1", "-outfile-pattern", f"{slow.folder}/written", "sh", "-c",
                      f"echo one; sleep {DELAY_S + 5}; echo two"), 0, "")
        flood = start(server, "-np", "2", "-outfile-pattern", f"{folder}/fifo", "seq", "100000")
        for what, (job, status, words) in jobs.items():
            out, err = job.communicate(timeout=LIMIT_S + 2 * DELAY_S)
            check(f"a program on a slow file system: {what}", job.returncode == status and words in out + err,
                  f"{job.returncode}\n{out}{err}")
        if slow:
            check("a file that is written late gets every line", slow.written == b"one\ntwo\n", f"{slow.written}")
        lines = reader.communicate(timeout=LIMIT_S + DELAY_S)[0]
        said = flood.communicate(timeout=LIMIT_S)[1]
        check("a FIFO whose reader sleeps gets every line", flood.returncode == 0 and lines.strip() == "200000",
              f"{flood.returncode}\n{lines}{said}")
    finally:
        server.close()
        if slow:
            slow.close()
    result()


main()
