#!/usr/bin/env python3
"""waiting_rooms_test.py PRUN TALKER -- crowds at the ports of ranks and of prun itself: those who belong
there get in, those who do not cost nothing."""
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import LIMIT_S, free_port, wait_until  # noqa: E402

PRUN, TALKER = sys.argv[1:]
VISITORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "visitors.py")
FORBIDDEN, SKIP = 208, 77


def attacked_job(kind, computes_s, *more):
    """Rank 1 is visited on its own host; it computes, then both ranks talk."""
    folder = tempfile.mkdtemp(prefix="strangers-")
    script = f'[ "$OMPI_COMM_WORLD_RANK" != 1 ] || {sys.executable} {VISITORS} {kind} {folder} & exec "$@"'
    try:
        done = subprocess.run([PRUN, "--virtual", "-H", "a:1,b:1", "-np", "2", "--oversubscribe", "sh", "-c", script,
                               "talk", TALKER, folder, str(computes_s), "100000", "20", *more],
                              capture_output=True, text=True, timeout=5 * LIMIT_S, check=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if done.returncode == FORBIDDEN:
        print("no namespaces here")
        sys.exit(SKIP)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "all right" in said, f"{kind}: {done.returncode}\n{said}"
    return said


def idle_crowd():
    """More than the kernel's queue holds, and a rank that computes longer than three times ten seconds."""
    attacked_job("idle", 35)


def loud_crowds():
    for kind in ("garbage", "trickle", "storm"):
        attacked_job(kind, 3)


def no_descriptors():
    attacked_job("idle", 6, "full")


def processor_s(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def meeting_is_full():
    """prun --listen with few descriptors and a crowd at its door: it does not spin, and who knows the key
    gets in."""
    port = free_port()
    folder = tempfile.mkdtemp(prefix="strangers-")
    key = f"{folder}/key"
    with open(key, "w") as file:
        file.write("a key of more than sixteen bytes")
    os.chmod(key, 0o600)
    environment = dict(os.environ, TUTTI_JOIN_KEY="a key of more than sixteen bytes")
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))  # noqa: E731
    listens = subprocess.Popen([PRUN, "--listen", f"127.0.0.1:{port}", "--nodes", "1", "-N", "1", "echo", "it ran"],
                               env=environment, preexec_fn=few, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, start_new_session=True)
    crowd, joins = [], None
    try:
        def stands():
            try:
                crowd.append(socket.create_connection(("127.0.0.1", port), 1))
                return True
            except OSError:
                assert listens.poll() is None, listens.stdout.read()
                return False
        wait_until(stands, "prun --listen")
        for _ in range(200):
            crowd.append(socket.create_connection(("127.0.0.1", port), 20))
        before = processor_s(listens.pid)
        time.sleep(2)
        spent = processor_s(listens.pid) - before
        assert spent < 0.2, f"a full door took {spent:.2f} s of the processor in 2 s"
        joins = subprocess.Popen([PRUN, "--join", f"127.0.0.1:{port}"], env=environment, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, start_new_session=True)
        said = listens.communicate(timeout=LIMIT_S)[0]
        assert listens.returncode == 0 and "it ran" in said, f"{listens.returncode}\n{said}"
        joins.communicate(timeout=LIMIT_S)
    finally:
        for process in (listens, joins):
            if process and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        for one in crowd:
            one.close()
        shutil.rmtree(folder, ignore_errors=True)


for test in (loud_crowds, no_descriptors, meeting_is_full, idle_crowd):
    test()
    print(f"{test.__name__}: ok", flush=True)
