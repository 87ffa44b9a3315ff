#!/usr/bin/env python3
"""share_test.py PRUN SHARE -- memory files shared while a job runs, by each way of starting ranks.

Under prun on one host and on virtual ones the daemon gives them away; ranks with torchrun's variables, and
those that a launcher of others starts (where it is here), do it themselves. Each rank says that all it tried
was as it must be.
"""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import jobs  # noqa: E402

PRUN, SHARE = sys.argv[1:]
# They meet by PMIx and by PMI-1, as under srun.
LAUNCHERS = (["mpirun.openmpi", "--oversubscribe"], ["mpiexec.hydra"])


def judge(what, said, ranks):
    missing = [rank for rank in ranks if f"rank {rank}: good" not in said]
    if missing:
        sys.exit(f"wrong: {what}: ranks {missing}\n{said}")
    print(f"good: {what}")


def by_launcher(what, command, ranks, words=()):
    done = subprocess.run([*command, SHARE, *words], env=dict(os.environ, **jobs.AS_ROOT), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200)
    judge(what, done.stdout, ranks)
    if done.returncode != 0 and not words:
        sys.exit(f"wrong: {what}: status {done.returncode}\n{done.stdout}")


def by_prun(what, options, ranks, words=()):
    by_launcher(what, [PRUN, *options], ranks, words)


def by_hand(what, size, ranks, words=()):
    port = jobs.free_port()
    started = []
    for rank in range(size):
        started.append(subprocess.Popen([SHARE, *words], env=jobs.by_hand(rank, size, port), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    judge(what, "".join(one.communicate(timeout=200)[0] for one in started), ranks)


def main():
    for size in (1, 2, 3, 4):
        by_prun(f"prun, {size} ranks", ["--oversubscribe", "-np", str(size)], range(size))
        by_hand(f"torchrun's variables, {size} ranks", size, range(size))
    for launcher in LAUNCHERS:
        if shutil.which(launcher[0]):
            by_launcher(f"{launcher[0]}, 3 ranks", [*launcher, "-n", "3"], range(3))
        else:
            print(f"no {launcher[0]} here: not tried")
    by_prun("a sharer that is killed, prun", ["--oversubscribe", "--continuous", "-np", "3"], (1, 2), ["killed"])
    by_hand("a sharer that is killed, torchrun's variables", 3, (1, 2), ["killed"])
    by_prun("MPI programs in turn", ["--oversubscribe", "-np", "2", "sh", "-c", f"{SHARE} && {SHARE}"], (0, 1))
    if subprocess.run(["unshare", "-Urn", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("no virtual hosts here: not tried")
        return
    by_prun("two virtual hosts", ["--virtual", "-np", "4", "-H", "a:2,b:2"], range(4))
    by_prun("three virtual hosts", ["--virtual", "-np", "4", "-H", "a:2,b:1,c:1"], range(4))


main()
