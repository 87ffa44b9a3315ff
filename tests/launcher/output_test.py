#!/usr/bin/env python3
"""Output and input to the last byte. Usage: output_test.py PRUN"""
import os
import pty
import select
import socket
import subprocess
import sys
import tempfile
import time
import tty

from checks import check, result, run
from jobs import LIMIT_S, wait_until

PRUN = os.path.abspath(sys.argv[1])


def filters():
    """A rank's own filters write after it has ended."""
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        for way in ((), ("--virtual", "-H", "a,b")):
            for _ in range(5):
                done = run(PRUN, "--oversubscribe", *way, "-np", "2", "bash", "-c",
                           f"exec > >(sleep 0.3; tee {folder}/log) 2>&1; echo the-result")
                check(f"what a filter writes after the end of its rank {way}",
                      done.returncode == 0 and done.stdout.count("the-result") == 2, done)
    done = run(PRUN, "-np", "1", "bash", "-c", "exec 2> >(sleep 0.3; sed 's/^/filtered: /' >&2); echo why >&2; exit 3")
    check("a failing rank's error text through a filter",
          done.returncode == 3 and "filtered: why" in done.stderr, done)
    done = run(PRUN, "--oversubscribe", "-np", "2", "bash", "-c",
               "[ $RANK = 0 ] && { exec > >(sleep 0.3; cat); echo of-rank-0; exit 3; }; sleep 100")
    check("filters of the rank that failed are spared while others are ended",
          done.returncode == 3 and "of-rank-0" in done.stdout, done)
    done = run(PRUN, "-np", "1", "bash", "-c", "sleep 1000 & echo here")
    check("who holds the pipe and is silent is not waited for", done.returncode == 0 and done.stdout == "here\n", done)
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        job = subprocess.Popen([PRUN, "-np", "1", "bash", "-c", f"yes & until [ -e {folder}/go ]; do sleep 0.05; done"],
                               stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        first = job.stdout.read(2)
        open(f"{folder}/go", "w").close()
        while job.stdout.read(1 << 20):
            pass
        check("nor who writes for ever", job.wait(LIMIT_S) == 0 and first == b"y\n", f"{job.returncode} {first}")


def closed_input():
    """Nobody reads: nothing is read for them."""
    with open("/dev/zero", "rb") as zeros:
        job = subprocess.Popen([PRUN, "-np", "1", "sh", "-c", "exec <&-; echo closed; sleep 1000"], stdin=zeros,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        job.stdout.readline()

        def spent():
            with open(f"/proc/{job.pid}/stat") as file:
                return sum(int(word) for word in file.read().rsplit(")", 1)[1].split()[11:13])

        def is_quiet():
            before = spent()
            time.sleep(1)
            return spent() - before <= 5
        wait_until(is_quiet, "prun to stop reading what nobody takes")
        check("a rank that closed its input makes nobody spin", True)
        job.terminate()
        job.wait()
    done = run(PRUN, "-np", "1", "head", "-c", "1000000", stdin=open("/dev/zero", "rb"))
    check("a rank that reads some of an endless input", done.returncode == 0 and len(done.stdout) == 1000000, done.stderr)


def full_streams():
    """Every byte is written, or one line says what was lost."""
    for way in ((), ("--tag-output",)):
        for program in (("echo", "lost"), ("sh", "-c", "head -c 1000000 /dev/zero"), ("sh", "-c", "sleep 0.2; echo lost")):
            with open("/dev/full", "w") as full:
                done = subprocess.run([PRUN, *way, "-np", "1", *program], stdout=full, stderr=subprocess.PIPE, text=True,
                                      stdin=subprocess.DEVNULL, timeout=LIMIT_S)
            check(f"a full device is told {way} {program}", done.returncode == 212
                  and done.stderr.count("of standard output could not be written: No space left") == 1, done)
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        mounted = run("mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", folder)
        if mounted.returncode != 0:
            print("skipped: a small file system cannot be mounted")
            return
        try:
            for attempt in range(5):
                with open(f"{folder}/out", "w") as file:
                    # Of one piece: it is in the rank's pipe when the first of it is written, and the job ended.
                    done = subprocess.run([PRUN, "-np", "1", "dd", "if=/dev/zero", "bs=60000", "count=1", "status=none"], stdout=file,
                                          stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, timeout=LIMIT_S)
                kept = os.path.getsize(f"{folder}/out")
                check(f"a full file system is told ({kept} bytes fit)", done.returncode == 212
                      and f"{60000 - kept} bytes of standard output" in done.stderr, done)
        finally:
            run("umount", folder)


def slow_readers():
    """Readers that stop for a while, of every kind that standard output can be."""
    wanted = b"".join(b"%d\n" % i for i in range(1, 200001))
    program = [PRUN, "-np", "1", "seq", "200000"]
    ours, theirs = socket.socketpair()
    job = subprocess.Popen(program, stdout=theirs, stdin=subprocess.DEVNULL)
    theirs.close()
    time.sleep(0.5)
    got = b""
    while piece := ours.recv(65536):
        got += piece
    check("every byte through a socket", job.wait() == 0 and got == wanted, len(got))
    read, write = os.pipe()
    os.set_blocking(write, False)
    job = subprocess.Popen(program, stdout=write, stdin=subprocess.DEVNULL)
    os.close(write)
    time.sleep(0.5)
    with open(read, "rb") as pipe:
        got = pipe.read()
    check("every byte through a pipe that does not block", job.wait() == 0 and got == wanted, len(got))
    leader, follower = pty.openpty()
    tty.setraw(follower)
    job = subprocess.Popen(program, stdout=follower, stdin=subprocess.DEVNULL)
    os.close(follower)
    time.sleep(0.5)
    got = b""
    try:
        while piece := os.read(leader, 65536):
            got += piece
    except OSError:  # the other side is closed
        pass
    check("every byte through a terminal", job.wait() == 0 and got == wanted, len(got))


def shared_files():
    """A file that ranks of several hosts name, and files of several attempts."""
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        for _ in range(3):
            done = run(PRUN, "--virtual", "-H", "a:2,b:2", "-np", "4", "-outfile-pattern", "all.txt", "sh", "-c",
                       "seq -f rank$RANK-%g 2000", cwd=folder)
            with open(f"{folder}/all.txt") as file:
                lines = sorted(file.read().split())
            check("ranks of two hosts share a file", done.returncode == 0 and done.stdout == ""
                  and lines == sorted(f"rank{rank}-{i}" for rank in range(4) for i in range(1, 2001)),
                  f"{len(lines)} lines {done}")
        script = ("wait_for() { until [ -e $1 ]; do sleep 0.05; done; sleep 0.3; }; if [ $RANK = 0 ]; then printf half-; touch begun; "
                  "wait_for other; echo done; else wait_for begun; echo other; touch other; fi")
        for where in (("--virtual", "-H", "a,b"), ("--oversubscribe",)):
            for part in ("begun", "other"):
                if os.path.exists(f"{folder}/{part}"):
                    os.remove(f"{folder}/{part}")
            done = run(PRUN, *where, "-np", "2", "-outfile-pattern", "parts.txt", "sh", "-c", script, cwd=folder)
            with open(f"{folder}/parts.txt") as file:
                check(f"nobody writes into another one's line there {where}",
                      sorted(file.read().split()) == ["half-done", "other"], done)
        done = run(PRUN, "-np", "1", "-outfile-pattern", "/dev/stdout", "echo", "here")
        check("/dev/stdout is prun's", done.stdout == "here\n", done)
        asks = subprocess.Popen([PRUN, "-np", "1", "-outfile-pattern", "/dev/stdout", "sh", "-c",
                                 'printf "name? "; read name; echo $name'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        is_asked = select.select([asks.stdout], [], [], LIMIT_S)[0] != []
        said = asks.communicate(b"bob\n", timeout=LIMIT_S)[0]
        check("a question is shown there before its answer", is_asked and said == b"name? bob\n", said)
        done = run(PRUN, "-np", "1", "--max-restarts", "1", "--output-directory", f"{folder}/out", "sh", "-c",
                   "echo attempt $TORCHELASTIC_RESTART_COUNT; exit $((1 - TORCHELASTIC_RESTART_COUNT))")
        texts = []
        for number in (1, 2):
            with open(f"{folder}/out/{number}/rank.0/stdout") as file:
                texts.append(file.read())
        check("each attempt keeps its files", texts == ["attempt 0\n", "attempt 1\n"], f"{texts} {done}")
        with open(f"{folder}/input", "w") as file:
            file.write("first\nsecond\n")
        with open(f"{folder}/input") as file:
            done = subprocess.run([PRUN, "-np", "1", "--max-restarts", "1", "sh", "-c",
                                   "cat; exit $((1 - TORCHELASTIC_RESTART_COUNT))"], stdin=file, capture_output=True,
                                  text=True, timeout=LIMIT_S)
        check("each attempt reads a file from its beginning", done.stdout == "first\nsecond\n" * 2, done)


def long_lines():
    """Lines just below the longest that are kept whole, from two hosts and two ranks of each at once."""
    size, lines = 1000000, 8
    script = f"for i in $(seq {lines}); do head -c {size} /dev/zero | tr '\\0' $RANK; echo; done"
    for way in (("-H", "a:2,b:2"), ("-H", "a:4")):
        done = run(PRUN, "--virtual", *way, "--stdin", "none", "-np", "4", "sh", "-c", script)
        got = sorted(done.stdout.split("\n")[:-1])
        check(f"lines of {size} bytes stay whole: {way[1]}",
              got == [str(rank) * size for rank in range(4) for _ in range(lines)],
              [(len(line), sorted(set(line))) for line in got])


filters()
long_lines()
closed_input()
full_streams()
slow_readers()
shared_files()
result()
