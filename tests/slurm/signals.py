"""Signals that a job's steps get are the ranks': scancel -s, --full, #SBATCH --signal, and those that come
before a job is ended. By every way in which Slurm tracks the processes of a step."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKPOINT = f"{HERE}/checkpoint.py"
RANKS = range(4)


def lines(word):
    return [f"rank {rank} {word}\n" for rank in RANKS]


def all_said(word):
    return lambda said: all(line in said for line in lines(word))


def scancel(suite, job, *words):
    suite.cluster.run("scancel", *words, job.number)


def twice(said, word):
    """Ranks that heard more often than once."""
    return [line.strip() for line in lines(word) if said.count(line) > 1]


def job_scripts(suite, once):
    """`once`: a signal reaches each rank once (not where Slurm itself signals the ranks, too)."""
    line = f"{suite.prun} {sys.executable} {CHECKPOINT}; echo status $?"
    job = suite.submit("-N2 --ntasks-per-node=2 --time=1 --signal=USR2@55", line)
    suite.check("#SBATCH --signal", job.wait(), 0, *lines("ends by SIGUSR2"), "status 0")
    for name, words in {"scancel -s": [], "scancel --full": ["--full"]}.items():
        job = suite.submit("-N2 --ntasks-per-node=2", f"trap : USR1 ALRM\n{line}")
        job.until(all_said("runs"), "all ranks")
        for signal in ("USR1", "ALRM"):
            scancel(suite, job, *words, "-s", signal)
            job.until(all_said(f"heard SIG{signal}"), f"SIG{signal} at all ranks")
        scancel(suite, job, "-s", "USR2")
        done = job.wait()
        suite.check(f"{name} USR1, ALRM and USR2", done, 0, *lines("ends by SIGUSR2"),
                    without=["daemon was lost"] + (twice(done.said, "heard SIGUSR1") if once else []))
    job = suite.submit("-N2 --ntasks-per-node=2", line)
    job.until(all_said("runs"), "all ranks")
    scancel(suite, job, "-s", "TERM")
    suite.check("scancel -s TERM", job.wait(), 0, *lines("ends by SIGTERM"), "status 0")


def others(suite):
    job = suite.submit("-N2 --ntasks-per-node=2", f"{suite.prun} sh -c 'echo rank $RANK runs; sleep 100'; echo status $?")
    job.until(all_said("runs"), "all ranks")
    scancel(suite, job, "-s", "USR1")
    suite.check("a signal that ends ranks", job.wait(), 0, "was killed by signal 10", "status 138",
                without=["daemon was lost"])
    meet = ("head=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)\nsrun torchrun --nnodes 2 --nproc_per_node 2 "
            "--rdzv_id 7 --rdzv_backend c10d --rdzv_endpoint $head:29500")
    job = suite.submit("-N2 --ntasks-per-node=1", f"{meet} {CHECKPOINT}; echo status $?")
    job.until(all_said("runs"), "all workers")
    scancel(suite, job, "-s", "USR1")
    job.until(all_said("heard SIGUSR1"), "the signal at all workers")
    scancel(suite, job, "-s", "USR2")
    suite.check("srun torchrun and scancel -s", job.wait(), 0, *lines("ends by SIGUSR2"), "status 0")


def run(suite):
    job_scripts(suite, once=True)
    others(suite)


def by_descent(suite):
    job_scripts(suite, once=False)


def by_group(suite):
    job_scripts(suite, once=True)
