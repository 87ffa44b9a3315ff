#!/usr/bin/env python3
"""A call that fails asks for its place, and ends the job also where that comes to no end: places.py PRUN PROGRAM"""
import os
import subprocess
import sys
import threading

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../launcher"))
from checks import check
from slow_fs import SlowFs

LIMIT_S = 120


def main():
    prun, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    try:
        slow = SlowFs(10 * LIMIT_S)
    except OSError as problem:
        print(f"skipped: {problem}")
        sys.exit(77)
    limit = threading.Timer(LIMIT_S, slow.hurry)
    limit.start()
    try:
        # Whoever looks for a program there is in the kernel (state D), and hears no signal.
        job = subprocess.Popen([prun, "--oversubscribe", "-np", "2", "-x", f"PATH={slow.folder}/slow-bin", program], text=True,
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said = ""
        for line in job.stderr:
            said += line
            if "MPI_ERR_RANK" in line:
                break
        check(limit.is_alive() and "MPI_ERR_RANK" in said, "a place that nobody tells holds no job up", said)
        check(slow.late and "called in" not in said, "it was asked for", said)
        slow.hurry()
        said += job.communicate(timeout=LIMIT_S)[1]
        check(job.returncode == 6, "the job has the status of the call", f"{job.returncode}\n{said}")
    finally:
        limit.cancel()
        slow.hurry()
        slow.close()


main()
