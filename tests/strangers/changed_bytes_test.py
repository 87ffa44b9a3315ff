#!/usr/bin/env python3
"""changed_bytes_test.py PRUN TALKER CHANGER [all] -- a network that flips bits, loses and repeats what ranks
send each other by tcp: with --link-security every such thing ends the job and names the link, and ucx, which cannot
notice it, is not used."""
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import LIMIT_S  # noqa: E402

PRUN, TALKER, CHANGER = map(os.path.abspath, sys.argv[1:4])
LINK_CHANGED, FORBIDDEN = 215, 208  # launcher/status/status.h
HANDSHAKE = 400  # bytes: all of it is behind by then
BYTES, ROUNDS = 100000, 4  # so that heads, short and long pieces are hit


def job(security, order, bytes_a_message=BYTES):
    """How a job with this network ends, what it says, and whether anything was changed."""
    folder = tempfile.mkdtemp(prefix="strangers-")
    changed = f"{folder}/changed"
    with open(f"{folder}/attacked", "w"):
        pass
    try:
        done = subprocess.run([PRUN, "-np", "2", "--oversubscribe", "--link-security", security, "-x", "TUTTI_LINK=tcp",
                               "-x", f"LD_PRELOAD={CHANGER}", "-x", f"CHANGER={order}", "-x", f"CHANGED={changed}",
                               TALKER, folder, "0", str(bytes_a_message), str(ROUNDS)],
                              capture_output=True, text=True, timeout=2 * LIMIT_S, check=False)
        return done.returncode, done.stdout + done.stderr, os.path.exists(changed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def expect_noticed(security, order, bytes_a_message=BYTES):
    status, said, changed = job(security, order, bytes_a_message)
    assert changed, f"{security}, {order}: nothing was changed\n{said}"
    named = "rank 0 on host" in said and "tcp" in said and "not what was sent" in said
    assert status == LINK_CHANGED and named and "WRONG" not in said, f"{security}, {order}: {status}\n{said}"


def untouched():
    for security in ("none", "integrity", "encrypted"):
        status, said, _ = job(security, "none 0 0")
        assert status == 0 and "all right" in said, f"{security}: {status}\n{said}"


def flipped_bits():
    chance = random.Random(40)
    for number in range(40):
        security = "integrity" if number % 4 else "encrypted"
        # Every second one early, among heads and the rank's own short frames.
        where = HANDSHAKE + chance.randrange(300 if number % 2 else BYTES * (ROUNDS - 1))
        expect_noticed(security, f"flip {where} {chance.randrange(8)}")


def lost_and_repeated():
    for security in ("integrity", "encrypted"):
        for what in ("lose", "repeat"):
            # Short messages: whole records; long ones: parts of some.
            expect_noticed(security, f"{what} {HANDSHAKE} 0", 8)
            expect_noticed(security, f"{what} {HANDSHAKE + BYTES} 0")


def between_hosts(security, *words):
    folder = tempfile.mkdtemp(prefix="strangers-")
    with open(f"{folder}/attacked", "w"):
        pass
    try:
        done = subprocess.run([PRUN, "--virtual", "-H", "a:1,b:1", "-np", "2", "--oversubscribe", "--report-links",
                               "--link-security", security, *words, TALKER, folder, "0", "1000", "2"],
                              capture_output=True, text=True, timeout=2 * LIMIT_S, check=False)
        return done.returncode, done.stdout + done.stderr
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ucx_cannot_protect():
    """It is refused where it is forced, in a line, and left out where it is not."""
    for security in ("integrity", "encrypted"):
        for named in ("ucx", "ucx,tcp", "shm,ucx"):
            status, said = between_hosts(security, "-x", f"TUTTI_LINK={named}")
            if status == FORBIDDEN:
                return print("skipped: ucx between hosts (no namespaces here)")
            line = f"TUTTI_LINK names ucx, which cannot give TUTTI_LINK_SECURITY={security} between hosts"
            ranks = [one for one in said.splitlines() if line in one]
            assert status not in (0, LINK_CHANGED) and 1 <= len(ranks) <= 2, f"{named}: {status}\n{said}"
            assert "all right" not in said, said
        status, said = between_hosts(security)
        left_out = "not used: ucx: " in said and "tcp: connection authenticated, data " in said
        assert status == 0 and "all right" in said and left_out, f"{status}\n{said}"
    return None


for test in (untouched, ucx_cannot_protect, flipped_bits, lost_and_repeated):
    test()
    print(f"{test.__name__}: ok", flush=True)
