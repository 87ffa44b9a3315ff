"""How jobs end in Slurm: our ranks under srun by the status of the one that failed first; a job that was
suspended for longer than a silence is believed to be an accident; a node that is lost."""
import sys
import time

from jobs import wait_until
from signals import CHECKPOINT, all_said, lines
from suite import Done

LONGER_THAN_A_SILENCE_S = 41  # launcher/daemon/daemon.h: kSilence
LOST_LIMIT_S = 150


def statuses(suite):
    """A rank that has lost its peer leaves it to Slurm to say how the peer ended. Slurm kills the others,
    which is 137, where it ends the step by itself."""
    srun = lambda way, how: suite.cluster.run("srun", "-N2", "--ntasks-per-node=2", f"--mpi={way}", suite.ends, how)
    for how, statuses in {"crash": [139], "9": [9, 137], "abort": [7]}.items():
        done = srun("pmix", how)
        suite.judge(f"srun --mpi=pmix, {how}: {done.returncode}",
                    [] if done.returncode in statuses else [f"not {statuses}"], done.stdout + done.stderr)


def number_of(suite, job_name):
    return wait_until(lambda: suite.cluster.run("squeue", "-h", "-n", job_name, "-o", "%i").stdout.strip(), "the job")


def heard_usr1(suite, job, number):
    """Signalled again each time: a node that has not resumed its step yet drops a signal."""
    suite.cluster.run("scancel", "-s", "USR1", number)
    time.sleep(1)
    return all_said("heard SIGUSR1")(job.said()) or job.process.poll() is not None


def suspended(suite):
    job = suite.start_salloc("-N2 --ntasks-per-node=2 -J held", suite.prun, sys.executable, CHECKPOINT)
    wait_until(lambda: all_said("runs")(job.said()), "all ranks")
    number = number_of(suite, "held")
    slurm = suite.cluster.run
    slurm("scontrol", "suspend", number)
    wait_until(lambda: slurm("squeue", "-h", "-j", number, "-o", "%T").stdout.strip() == "SUSPENDED", "its suspension")
    time.sleep(LONGER_THAN_A_SILENCE_S)
    slurm("scontrol", "resume", number)
    wait_until(lambda: heard_usr1(suite, job, number), "the ranks that go on")
    slurm("scancel", "-s", "USR2", number)
    suite.check("a job that was suspended", Done(job.wait(), job.said()), 0, *lines("ends by SIGUSR2"),
                without=["was lost"])


def killed(suite):
    """Of a prun that is killed nothing is left: the steps that its daemons are end with it."""
    job = suite.submit("-N2 --ntasks-per-node=2", f"{suite.prun} sh -c 'echo rank $RANK runs; sleep 300' &\n"
                       f"until [ -e {suite.cluster.path('go')} ]; do sleep 0.1; done\nkill -9 $!\nwait $!\necho status $?")
    job.until(all_said("runs"), "all ranks")
    open(suite.cluster.path("go"), "w").close()
    suite.check("prun is killed", job.wait(), 0, "status 137")
    suite.nothing_is_left()


def lost_node(suite):
    """Without its network; the queue is empty only when Slurm, too, has given the node up or has it back."""
    lost = suite.cluster.names[1]
    job = suite.start_salloc("-N2 --ntasks-per-node=2", suite.prun, "sh", "-c", "echo rank $RANK runs; sleep 300")
    wait_until(lambda: all_said("runs")(job.said()), "all ranks")
    suite.cluster.run_on("head", "ip", "link", "set", f"to-{lost}", "down")
    done = Done(job.wait(LOST_LIMIT_S), job.said())
    suite.cluster.run_on("head", "ip", "link", "set", f"to-{lost}", "up")
    suite.check("a node that is lost", done, 206, f"host {lost}: its daemon was lost (connection silent for",
                without=["cpu binding", "srun: "])


def run(suite):
    statuses(suite)
    killed(suite)
    suspended(suite)
