#!/usr/bin/env python3
"""Folders, libraries and processors of ranks. Usage: place_test.py PRUN"""
import os
import sys
import tempfile

from checks import check, result, run

PRUN = os.path.abspath(sys.argv[1])


def folders():
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        os.mkdir(f"{folder}/real")
        os.symlink(f"{folder}/real", f"{folder}/link")
        done = run(PRUN, "-np", "1", "--wdir", f"{folder}/real", "printenv", "PWD")
        check("PWD is the rank's folder", done.stdout == f"{folder}/real\n", done)
        done = run("sh", "-c", f'cd {folder}/link && exec "$0" -np 1 printenv PWD', PRUN)
        check("by the name that the user knows it by", done.stdout == f"{folder}/link\n", done)
        done = run("sh", "-c", f'mkdir {folder}/gone && cd {folder}/gone && rmdir ../gone && exec "$0" -np 1 pwd', PRUN)
        check("where the folder is gone no rank starts in another", done.returncode == 2 and done.stdout == ""
              and done.stderr == "prun: the folder that prun was started in is gone; go to one that is there (cd)\n", done)


def without_path():
    """A program of the root folder or of the working folder is not taken for one that is not in PATH."""
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        with open(f"{folder}/true", "w", encoding="utf-8") as mine:
            mine.write("#!/bin/sh\necho mine\n")
        os.chmod(f"{folder}/true", 0o755)
        env = {name: value for name, value in os.environ.items() if name != "PATH"}
        done = run(PRUN, "-np", "1", "true", env=env, cwd=folder)
        check("without PATH programs of /usr/bin and /bin run", done.returncode == 0 and done.stdout == done.stderr == "", done)
        done = run(PRUN, "-np", "1", "true", env={**env, "PATH": ":/usr/bin:/bin"}, cwd=folder)
        check("an empty entry of PATH is the working folder", done.stdout == "mine\n" and done.stderr == "", done)


def libraries():
    done = run(PRUN, "-np", "1", "-x", "LD_LIBRARY_PATH", "printenv", "LD_LIBRARY_PATH",
               env=dict(os.environ, LD_LIBRARY_PATH="/theirs"))
    folders = done.stdout.strip().split(":")
    check("what the user gives by -x stands first, the library's folder behind it",
          folders[0] == "/theirs" and any(os.path.exists(f"{one}/libmpi_abi.so.1") for one in folders[1:]), done)


def one_machine():
    """Two names of this machine: its cores are there once."""
    cores = len(os.sched_getaffinity(0))
    done = run(PRUN, "-H", f"localhost:{cores},{os.uname().nodename}:{cores}", "--report-bindings", "-np",
               str(2 * cores), "sh", "-c", "taskset -p $$ 2>/dev/null; nproc")
    check("ranks under two names of one machine are not bound to the same cores",
          done.returncode == 0 and "one machine" in done.stderr, done)


def hostfile_once():
    """A hostfile may be a pipe."""
    done = run("bash", "-c", f"{PRUN} --hostfile <(echo localhost slots=2) -np 2 echo hi")
    check("a hostfile that can be read once only", done.returncode == 0 and done.stdout == "hi\nhi\n", done)


def few_descriptors():
    """A low limit of open files: enough, or a line before anything starts."""
    def limited(ranks):
        return run("bash", "-c", f"ulimit -n 64; {PRUN} --oversubscribe -np {ranks} echo hi")
    for _ in range(5):
        done = limited(7)
        check("seven ranks have enough with 64 open files", done.returncode == 0 and done.stdout == "hi\n" * 7, done)
    done = limited(30)
    check("for thirty the limit and what is needed are told, and none starts", done.returncode == 212 and done.stdout == ""
          and "(ulimit -Hn) is 64 there; at least 156 are needed for 30 ranks" in done.stderr, done)


folders()
without_path()
libraries()
one_machine()
hostfile_once()
few_descriptors()
result()
