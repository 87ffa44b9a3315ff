#!/usr/bin/env python3
"""Files that ranks of several hosts share, and a prun whose standard error nobody reads. Usage: files_test.py PRUN"""
import glob
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from checks import check, result, run
from jobs import LIMIT_S, wait_until

PRUN = os.path.abspath(sys.argv[1])
TWO = ("--virtual", "-H", "a,b", "-np", "2")


def lines_of(path):
    try:
        with open(path) as file:
            return sorted(file.read().split())
    except OSError as problem:
        return str(problem)


def fifos(folder):
    """A FIFO that hosts share: its reader may be missing, slow, or take nothing."""
    fifo = f"{folder}/fifo"
    os.mkfifo(fifo)
    done = run(PRUN, *TWO, "-outfile-pattern", fifo, "echo", "hi")
    check("a FIFO that nobody reads is told", done.returncode == 212 and "nobody reads that FIFO" in done.stderr, done)
    for what, act, status in (("--timeout", lambda job: None, 207), ("a signal", lambda job: job.send_signal(signal.SIGTERM), 143)):
        for limit_s in (2, 10, 50):  # a longer one where the ranks were not up by then
            options = ["--timeout", str(limit_s)] if status == 207 else []
            reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
            more = "yes | head -c 150000; echo up >&2; exec yes"  # than FIFO and pipes hold
            job = subprocess.Popen([PRUN, *options, *TWO, "-outfile-pattern", fifo, "sh", "-c", more],
                                   stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
            up = [job.stderr.readline() for _ in range(2)]
            act(job)
            try:
                said = job.communicate(timeout=LIMIT_S)[1]
            except subprocess.TimeoutExpired:
                job.kill()
                said = "prun did not end " + str(job.communicate())
            os.close(reader)
            if up == ["up\n"] * 2:
                break
        check(f"nobody takes what is in a FIFO: {what} ends the job, and what is dropped is told",
              job.returncode == status and f"bytes of output could not be written to {fifo}: its reader takes" in said,
              f"{job.returncode} {said}")
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    done = run(PRUN, "-np", "1", "-outfile-pattern", fifo, "head", "-c", "200000", "/dev/zero")
    os.close(reader)
    said = done.stderr.splitlines()
    check("a rank's FIFO is left full: one line says so", done.returncode == 212 and len(said) == 1
          and f"bytes of rank 0 could not be written to {fifo}: nobody takes it there" in said[0], done)
    reader = subprocess.Popen(["sh", "-c", f"exec < {fifo}; echo; sleep 2; exec wc -l"], stdout=subprocess.PIPE, text=True)
    held = os.open(fifo, os.O_WRONLY)  # returns when the reader is there
    reader.stdout.readline()
    job = subprocess.Popen([PRUN, *TWO, "-outfile-pattern", fifo, "seq", "100000"], stdin=subprocess.DEVNULL)
    os.close(held) if job.wait(LIMIT_S) == 0 else None
    count = reader.communicate(timeout=LIMIT_S)[0].strip()
    check("a FIFO whose reader sleeps gets every line", job.returncode == 0 and count == "200000", count)


def names(folder):
    """One file, whatever it is called."""
    os.symlink("same.txt", f"{folder}/link.txt")
    for other in ("./same.txt", "link.txt"):
        for way in (TWO, ("--oversubscribe", "-np", "2")):
            done = run(PRUN, *way, "-outfile-pattern", "same.txt", "-errfile-pattern", other, "sh", "-c",
                       "for i in $(seq 200); do echo out; echo err >&2; done", cwd=folder)
            got = lines_of(f"{folder}/same.txt")
            check(f"output and errors go to one file called same.txt and {other} {way}",
                  done.returncode == 0 and got == ["err"] * 400 + ["out"] * 400, f"{len(got)} {done}")
    done = run(PRUN, *TWO, "-outfile-pattern", "same.txt", "true", cwd=folder)
    check("a file is emptied though nobody writes", done.returncode == 0 and lines_of(f"{folder}/same.txt") == [], done)


def folders(folder):
    done = run(PRUN, *TWO, "-outfile-pattern", "new/deep/all.txt", "echo", "hi", cwd=folder)
    check("the folder of a shared file is made",
          done.returncode == 0 and lines_of(f"{folder}/new/deep/all.txt") == ["hi", "hi"], done)


def log_folders(folder):
    """Ranks of different hosts have the same local rank: each host's files lie below a node of their own."""
    os.symlink(PRUN, f"{folder}/torchrun")
    torchrun = [f"{folder}/torchrun", "--virtual", "-H", "a,b,c", "--no-python", "--nproc-per-node", "2", "--log-dir", "lg",
                "-r", "3", "sh", "-c"]
    done = run(*torchrun, "echo $RANK", cwd=folder)
    got = {
        os.path.relpath(path, folder).split("/", 2)[2]: lines_of(path)
        for path in glob.glob(f"{folder}/lg/*/**/stdout.log", recursive=True)}
    wanted = {f"node_{rank // 2}/attempt_0/{rank % 2}/stdout.log": [str(rank)] for rank in range(6)}
    check("log files of torchrun with a list of hosts", done.returncode == 0 and got == wanted, f"{got} {done}")
    done = run(*torchrun, "[ $RANK != 3 ] || exit 5", cwd=folder)
    check("the reason names the failed rank's folder",
          done.returncode == 5 and "/node_1/attempt_0/1" in done.stderr and "%" not in done.stderr, done)
    done = run(PRUN, "--oversubscribe", "-np", "2", "--max-restarts", "1", "--output-directory", "od", "sh", "-c",
               "[ $RANK != 1 ] || exit 5; sleep 1000", cwd=folder)
    check("that of each attempt, too", done.returncode == 5
          and [f"its output is in od/{attempt}/rank.1" in done.stderr for attempt in (1, 2, 3)] == [True, True, False], done)


def unwritable(folder):
    """A folder that cannot be written: the real reason, by what the kernel said."""
    words = [PRUN, "-np", "1", "--output-directory"]
    os.makedirs(f"{folder}/closed", mode=0o555)
    # Root may write everywhere, unless it goes without the capability to.
    plain = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    done = run(*plain, *words, f"{folder}/closed/logs", "true")
    check("a folder without permission", done.returncode == 212 and "Permission denied" in done.stderr, done)
    inside = f"mount --bind {folder}/closed {folder}/closed && mount -o remount,ro,bind {folder}/closed && exec \"$@\""
    if run("unshare", "-rm", "sh", "-c", inside, "sh", "true").returncode != 0:
        return print("skipped a read-only folder: no mount namespaces here")
    done = run("unshare", "-rm", "sh", "-c", inside, "sh", *words, f"{folder}/closed/logs", "true")
    check("a read-only folder", done.returncode == 212 and "Read-only file system" in done.stderr, done)
    # The build may lie in /tmp itself.
    mounts = "mount --rbind \"$1\" /mnt && mount -t tmpfs -o mode=0777 none /tmp && cd / && shift && exec \"$@\""
    done = run("unshare", "-rm", "sh", "-c", mounts, "sh", str(pathlib.Path(PRUN).resolve().parents[2]),
               "/mnt/launcher/prun/prun", "--no-python", "--nproc-per-node", "1", "--redirects", "3", "true")
    check("torchrun's logs go into no /tmp where others may rename them", done.returncode == 212
          and "others may rename what is made in /tmp; name a folder of yours by --log-dir" in done.stderr, done)
    done = run(*words, f"{folder}/same.txt/logs", "true")
    check("a file in the way", done.returncode == 212 and "Not a directory" in done.stderr, done)
    # A program that may turn out to be another MPI's needs a folder of prun's.
    done = run(PRUN, "--oversubscribe", "-np", "2", sys.executable, "-c", "import os; print(os.environ['TMPDIR'])",
               env={**os.environ, "TMPDIR": f"{folder}/not-there"})
    check("TMPDIR that is not there is /tmp for prun, and the ranks' as it was", done.returncode == 0
          and done.stdout == f"{folder}/not-there\n" * 2, done)


def full_files():
    """What a full file system does not take is shown, or counted."""
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        if run("mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", folder).returncode != 0:
            return print("skipped: a small file system cannot be mounted")

        def writes(count):
            """All of it is in the rank's pipe when the first of it is read: a full file ends the job."""
            return "dd", "if=/dev/zero", f"bs={count}", "count=1", "status=none"
        try:
            for way in (("-np", "1"), ("--virtual", "-H", "a", "-np", "1")):
                done = run(PRUN, *way, "-outfile-pattern", f"{folder}/own.%r", *writes(60000))
                kept = os.path.getsize(f"{folder}/own.0")
                check(f"a rank's file is full: the rest is shown {way}", done.returncode == 212 and kept > 0
                      and kept + len(done.stdout) == 60000 and "the rest is shown instead" in done.stderr,
                      f"{kept} {len(done.stdout)} {done.stderr}")
                os.unlink(f"{folder}/own.0")
            done = run(PRUN, *TWO, "-outfile-pattern", f"{folder}/all", *writes(20000))
            kept = os.path.getsize(f"{folder}/all")
            check("a shared file is full: what is lost is told", done.returncode == 212 and kept > 20000 and
                  f"{40000 - kept} bytes of output could not be written to {folder}/all: No space" in done.stderr,
                  f"{kept} {done}")
        finally:
            run("umount", folder)


def ends_unread(what, *words, act=lambda job: None, **streams):
    """A prun whose reader takes nothing ends."""
    read, write = os.pipe()
    streams = {name: write if where is None else where for name, where in streams.items()}
    job = subprocess.Popen([PRUN, *words], stdin=subprocess.DEVNULL, **streams)
    os.close(write)
    act(job)
    try:
        status = job.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        job.kill()
        status = f"it does not end, {job.wait()}"
    os.close(read)
    return status


def unread_errors(folder):
    """Nobody reads standard error: prun's own words do not hold it."""
    both, errors = {"stdout": None, "stderr": None}, {"stdout": subprocess.DEVNULL, "stderr": None}
    flood = ("sh", "-c", "exec yes >&2")
    for what, words, streams, status in (
            ("both streams, --timeout", ("--timeout", "1", "-np", "1", "yes"), both, 207),
            ("standard error, --timeout", ("--timeout", "1", "-np", "1", *flood), errors, 207),
            ("virtual hosts", ("--timeout", "1", *TWO, *flood), errors, 207),
            ("restarts", ("--max-restarts", "1", "-np", "1", "sh", "-c", "head -c 100000 /dev/zero >&2; exit 3"), errors, 3)):
        ended = ends_unread(what, *words, **streams)
        check(f"nobody reads {what}: prun ends", ended == status, ended)

    def signals(job):
        wait_until(lambda: os.path.exists(f"{folder}/up"), "the rank to run")
        for _ in range(3):
            job.send_signal(signal.SIGTERM)
    ended = ends_unread("signals", "-np", "1", "sh", "-c", f"touch {folder}/up; exec yes >&2", act=signals, **errors)
    check("nobody reads standard error: signals end prun", ended == 143, ended)


def own_descriptors(folder):
    """What names a descriptor of prun's is written by prun itself."""
    os.symlink("/dev/stdout", f"{folder}/link")
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "//dev/./fd/1", "/proc/thread-self/fd/1", "link"):
        for way in (("-np", "1"), ("--virtual", "-H", "a", "-np", "1")):
            done = run(PRUN, *way, "-outfile-pattern", name, "-errfile-pattern", "/dev/fd/2", "sh", "-c",
                       "echo out; echo err >&2", cwd=folder)
            check(f"{name} is prun's {way}",
                  done.returncode == 0 and done.stdout == "out\n" and done.stderr == "err\n", done)
    done = run("bash", "-c", f'exec "{PRUN}" -np 1 -outfile-pattern /proc/$$/fd/1 echo out')
    check("so is a name with prun's number", done.returncode == 0 and done.stdout == "out\n", done)
    for way in ("", "--virtual -H a,b"):
        wanted = ["got:err", "got:out"] if not way else ["got:err"] * 2 + ["got:out"] * 2
        script = (f"{PRUN} --oversubscribe {way} -np {1 if not way else 2} -outfile-pattern >(sed s/^/got:/ >>filtered) "
                  "-errfile-pattern >(sed s/^/got:/ >>filtered) sh -c 'echo out; echo err >&2'")
        done = run("bash", "-c", script, cwd=folder)
        wait_until(lambda: lines_of(f"{folder}/filtered") == wanted or done.returncode != 0, "the filters to write")
        check(f"filters of the shell get what ranks write {way}", done.returncode == 0, done)
        os.unlink(f"{folder}/filtered")
    done = run("bash", "-c", f"exec 7>seven; echo before >&7; {PRUN} -np 1 -outfile-pattern /dev/fd/7 echo out; echo after >&7",
               cwd=folder)
    check("a descriptor that the shell opened is gone on with",
          done.returncode == 0 and lines_of(f"{folder}/seven") == ["after", "before", "out"], done)
    done = run(PRUN, "-np", "1", "-outfile-pattern", "/dev/fd/77", "echo", "out")
    check("one that is not open is refused", done.returncode != 0 and "without a descriptor 77" in done.stderr, done)


def own_streams():
    """Output that nobody can get is told."""
    done = run("bash", "-c", f"{PRUN} -np 1 echo hi >&-")
    check("closed standard output is told",
          done.returncode == 212 and "3 bytes of standard output could not be written: it is closed" in done.stderr, done)
    for option in ("--dry-run", "--help", "--version", "--display-map"):
        done = run("bash", "-c", f"{PRUN} {option} -np 1 true >/dev/full")
        check(f"a full device is told by {option}",
              done.returncode == 212 and "standard output could not be written: No space left" in done.stderr, done)


with tempfile.TemporaryDirectory(prefix="launcher-") as place:
    own_streams()
    full_files()
    for part in (own_descriptors, fifos, names, folders, unwritable, log_folders, unread_errors):
        part(place)
result()
