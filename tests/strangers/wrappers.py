#!/usr/bin/env python3
"""Wrappers between prun and the program close descriptors, change the user, the environment, the namespaces: the rank
gets what it should have inherited at its daemon's door. Who has no key gets nothing, one process at a time is a rank,
and nothing is left. wrappers.py PRUN COUNTED HOLDER"""
import glob
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import Job, wait_until  # noqa: E402

NOBODY = 65534
CLOSES = [sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"]
ASK = struct.Struct("=IIiI16s")
MAGIC, JOIN = 0x74645231, 1


def check(condition, what, said=""):
    if not condition:
        print(f"FAILED: {what}\n{said}")
        sys.exit(1)
    print(f"good: {what}", flush=True)


class Runs:
    def __init__(self, prun):
        self.prun = prun

    def __call__(self, program, *options, ranks=3, **how):
        done = subprocess.run([self.prun, "--oversubscribe", "-np", str(ranks), *options, *program], timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how)
        return done.returncode, done.stdout


def tool(name, package):
    """A program that a test may install where it runs as root."""
    if not shutil.which(name) and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-y", "-q", package], capture_output=True, timeout=300,
                       env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"))
    return shutil.which(name)


def goes(run, what, program, *options, **how):
    status, said = run(program, *options, **how)
    check(status == 0, f"{what}: status {status}", said)


def wrapped(run, counted):
    goes(run, "no wrapper", [counted])
    goes(run, "Python's subprocess", [*CLOSES, counted])
    goes(run, "one rank of three is wrapped", ["sh", "-c", f'[ "$OMPI_COMM_WORLD_RANK" != 1 ] && exec "$0"; '
                                               f'exec {sys.executable} -c "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1]))" "$0"', counted])
    kept = " ".join(f'{name}="${name}"' for name in ("TUTTI_LOCAL_RANK", "TUTTI_JOB_ID", "TUTTI_DOOR", "TUTTI_DOOR_KEY",
                                                     "LD_LIBRARY_PATH"))
    goes(run, "env -i with the variables kept", [*CLOSES, "sh", "-c", f'exec env -i {kept} "$0"', counted])
    status, said = run([*CLOSES, "env", "-u", "TUTTI_DOOR_KEY", counted], ranks=1)
    check(status != 0 and "TUTTI_DOOR_KEY is not set" in said, "a variable that is missing is named", said)
    status, said = run([*CLOSES, "sh", "-c", 'TUTTI_DOOR=/nowhere/else exec "$0"', counted], ranks=1)
    check(status != 0 and "bind /nowhere into the container" in said, "a path that is not visible is named", said)
    goes(run, "-x TUTTI_LOCAL_RANK=0", [counted], "-x", "TUTTI_LOCAL_RANK=0", ranks=2)
    status, said = run(["sh", "-c", 'TUTTI_LOCAL_RANK=0 exec "$0"', counted], ranks=2)
    check(status != 0 and "TUTTI_LOCAL_RANK=0 is taken by process" in said, "a local rank is taken once", said)


def cleared(run, counted, holder, folder):
    """Nothing is left of a rank's variables. Who was to be a rank says so; what a rank starts without them is alone."""
    bare = 'env -i LD_LIBRARY_PATH="$LD_LIBRARY_PATH"'
    status, said = run(["sh", "-c", f'exec {bare} "$0"', counted], ranks=2)
    check(status != 0 and "TUTTI_* are not set" in said, "a rank without its variables does not become a world of one", said)
    alone = "the child ended with 0"  # holder is content with a world of one
    status, said = run(["sh", "-c", f'{bare} "$0" child true; exit $?', holder], ranks=2)
    check(status == 0 and said.count(alone) == 2, "what a rank starts without them is a world of one", said)
    # The daemon adopts it, and is its parent then.
    orphan = 'echo $$ >"$1"; while read -r a b c up rest </proc/$$/stat; [ "$up" != "$2" ]; do :; done; '
    script = (f"""(sh -c '{orphan} exec {bare} "$0" child true' "$0" "$1" $PPID &); """
              'until [ -s "$1" ]; do :; done; while kill -0 $(cat "$1") 2>/dev/null; do :; done')
    status, said = run(["sh", "-c", script, holder, f"{folder}/orphan"], ranks=1)
    check(status == 0 and said.count(alone) == 1, "an orphan of a rank, too", said)
    os.remove(f"{folder}/orphan")


def one_at_a_time(run, counted, holder):
    status, said = run([holder, "child", counted], ranks=2)
    check(status == 0 and said.count("the child ended with 1") == 2 and said.count("is taken by process") == 2,
          "children of a rank that lives are refused, and it goes on", said)
    for way in ([], CLOSES):
        status, said = run([*way, "sh", "-c", '"$0" dies; exec "$1"', holder, counted])
        check(status == 16 and "ran an MPI program before this one, which ended without MPI_Finalize" in said,
              "nothing follows a process that ended in silence" + (", not even under a wrapper" if way else ""), said)
    status, said = run(["sh", "-c", '"$0" finalizes "$1"; exec "$1"', holder, counted], ranks=2)
    check(status == 0 and said.count("the child ended with 1") == 2, "not even a rank that has finalized, while it lives", said)


def sudo(run, counted):
    if os.geteuid() != 0 or not tool("sudo", "sudo"):
        print("skipped sudo: needs root, and the package sudo")
        return
    library = 'env LD_LIBRARY_PATH="$LD_LIBRARY_PATH"'
    for user in ("root", "nobody"):
        if subprocess.run(["sudo", "-u", user, "test", "-x", counted]).returncode != 0:
            print(f"skipped sudo -u {user}: it cannot execute {counted}")
            continue
        goes(run, f"sudo -E -u {user}", ["sh", "-c", f'exec sudo -E -u {user} {library} "$0"', counted])
    names = "TUTTI_LOCAL_RANK,TUTTI_JOB_ID,TUTTI_DOOR,TUTTI_DOOR_KEY"
    goes(run, "sudo --preserve-env=...", ["sh", "-c", f'exec sudo --preserve-env={names} {library} "$0"', counted])


def containers(run, counted):
    bwrap = tool("bwrap", "bubblewrap")
    box = [bwrap, "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    if not bwrap or subprocess.run([*box, "true"], capture_output=True).returncode != 0:
        print("skipped bwrap: it is not here, or may not make namespaces")
    else:
        goes(run, "bwrap --unshare-all", [*CLOSES, *box, counted])
        status, said = run([*CLOSES, *box, "--tmpfs", "/tmp", counted], ranks=1, env=dict(os.environ, TMPDIR="/tmp"))
        hidden = counted.startswith("/tmp/")
        check(status != 0 and (hidden or re.search("bind /tmp/tutti-own-[^ ]+ into the container", said)),
              "where the path is not visible one line says what to bind", said)
    podman = shutil.which("podman")
    box = [podman, "run", "--rm", "--rootfs", "/:O", "true"]
    if not podman or subprocess.run(box, capture_output=True, timeout=300).returncode != 0:
        print("skipped podman: it is not here, or does not run here")
        return
    inside = ('exec podman run --rm --env-host -v "${TUTTI_DOOR%/*}:${TUTTI_DOOR%/*}" -v ' +
              f'{os.path.dirname(counted)}:{os.path.dirname(counted)}:ro --rootfs /:O "$0"')
    goes(run, "podman run", [*CLOSES, "sh", "-c", inside, counted])


def knock(path, words, count=1, keep=None):
    """What COUNT visitors hear who say WORDS; silent ones are kept."""
    heard = b""
    for _ in range(count):
        one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one.settimeout(20)
        try:
            one.connect(path)
            if keep is not None:
                keep.append(one)
                continue
            one.send(words)
            heard += one.recv(4096)
        except OSError:
            pass
        if keep is None:
            one.close()
    return heard


def as_nobody(what):
    """Runs WHAT as another user and returns what it returns, as text."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            os.write(theirs, repr(what()).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    said = b""
    while part := os.read(ours, 65536):
        said += part
    os.waitpid(child, 0)
    return said.decode()


def strangers(prun, counted, folder):
    """While a job waits others knock; then its ranks come by the door."""
    waits = ["sh", "-c", f'while [ ! -e {folder}/go ]; do sleep 0.1; done; exec "$@"', "sh", *CLOSES, counted]
    environment = dict(os.environ, TMPDIR=folder)
    job = subprocess.Popen([prun, "--oversubscribe", "-np", "2", *waits], stdin=subprocess.DEVNULL, env=environment,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    path = wait_until(lambda: (glob.glob(f"{folder}/tutti-own-*/door") + [""])[0], "the door")
    mode = os.stat(os.path.dirname(path)).st_mode & 0o777
    check(mode == 0o711, f"others can pass its folder and do no more ({mode:o})")
    seen = as_nobody(lambda: path in open("/proc/net/unix").read())
    print(f"its path is no secret: {seen}")
    if os.geteuid() == 0:
        check("Error" in as_nobody(lambda: attempt(lambda: os.listdir(os.path.dirname(path)))), "another user cannot list it")
        check("Error" in as_nobody(lambda: attempt(lambda: os.unlink(path))), "another user cannot remove the socket")
    wrong = ASK.pack(MAGIC, JOIN, 0, 0, bytes(16))
    for what, words, count in (("a wrong key", wrong, 200), ("no words", b"", 20), ("half of the words", wrong[:9], 20),
                               ("too many words", wrong * 200, 20), ("a rank that is none", ASK.pack(MAGIC, JOIN, 99, 0, bytes(16)), 20),
                               ("a negative rank", ASK.pack(MAGIC, JOIN, -1, 0, bytes(16)), 20),
                               ("another wish", ASK.pack(MAGIC, 77, 0, 0, bytes(16)), 20), ("noise", os.urandom(999), 50)):
        check(as_nobody(lambda: knock(path, words, count)) == "b''", f"{what} hears nothing")
    daemon_fds = count_fds(job.pid)
    kept = []
    knock(path, b"", 300, kept)
    wait_until(lambda: count_fds(job.pid) <= daemon_fds + 66, "few visitors in the daemon")
    open(f"{folder}/go", "w").close()
    said = job.communicate(timeout=120)[0]
    check(job.returncode == 0, "300 silent visitors do not keep the ranks out", said)
    for one in kept:
        one.close()
    os.remove(f"{folder}/go")
    check(not os.listdir(folder), "nothing is left", os.listdir(folder))


def attempt(what):
    try:
        what()
    except OSError as error:
        return f"Error {error}"
    return "done"


def count_fds(prun):
    """Descriptors of prun's daemon: below its keeper, which is prun's child."""
    below = lambda pid: open(f"/proc/{pid}/task/{pid}/children").read().split()
    daemons = [pid for keeper in below(prun) for pid in below(keeper)]
    return max((len(os.listdir(f"/proc/{pid}/fd")) for pid in daemons), default=0)


def killed(prun):
    """A daemon that is killed removes nothing itself."""
    job = Job(prun, ["--oversubscribe"], ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"], ranks=2)
    wait_until(lambda: len(job.ranks()) == 2, "the ranks")
    check(glob.glob(f"{job.folder}/tutti-own-*/door"), "the job has a door")
    job.kill(job.daemon())
    job.wait()
    job.survivors_gone()
    print("good: a daemon that was killed leaves no folder")
    with tempfile.TemporaryDirectory() as folder:
        left = f"{folder}/tutti-own-abcdef"
        os.mkdir(left)
        os.mkdir(f"{folder}/tutti-own-another")  # not such a name
        subprocess.run([prun, "-np", "1", "true"], env=dict(os.environ, TMPDIR=folder), check=True)
        check(os.listdir(folder) == ["tutti-own-another"], "what prun and its daemon left, killed at once, goes with the next",
              os.listdir(folder))


def main():
    prun, counted, holder = (os.path.abspath(path) for path in sys.argv[1:4])
    run = Runs(prun)
    wrapped(run, counted)
    one_at_a_time(run, counted, holder)
    with tempfile.TemporaryDirectory() as folder:
        cleared(run, counted, holder, folder)
        os.chmod(folder, 0o755)
        strangers(prun, counted, folder)
    killed(prun)
    sudo(run, counted)
    containers(run, counted)


main()
