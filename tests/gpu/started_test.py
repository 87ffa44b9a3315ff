#!/usr/bin/env python3
"""started_test.py PROGRAM WORD ... -- PROGRAM on two ranks that no daemon of ours is beside: started by launchers
of others, where they are installed, and by hand with torchrun's variables. Each is good, or the test fails."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import jobs  # noqa: E402

RANKS = 2
LAUNCHERS = (["mpirun.openmpi", "--oversubscribe"], ["mpiexec.hydra"])  # by PMIx, by PMI-1


def start(command, env):
    return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True)


def judge(what, started):
    for one in started:
        said = one.communicate(timeout=100)[0]
        if one.returncode != 0:
            sys.exit(f"wrong: {what}: status {one.returncode}\n{said}")
    print(f"good: {what}")


def main():
    program = sys.argv[1:]
    port = jobs.free_port()
    judge("torchrun's variables", [start(program, jobs.by_hand(rank, RANKS, port)) for rank in range(RANKS)])
    for launcher in LAUNCHERS:
        if shutil.which(launcher[0]):
            judge(launcher[0], [start([*launcher, "-n", str(RANKS), *program], dict(os.environ, **jobs.AS_ROOT))])
        else:
            print(f"no {launcher[0]} here: not tried")


main()
