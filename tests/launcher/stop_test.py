#!/usr/bin/env python3
"""Control-Z and its end: what stops, what goes on, and who decides. Usage: stop_test.py PRUN"""
import atexit
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time

from checks import check, result
from jobs import LIMIT_S, processes_with, state_of, wait_until

PRUN = os.path.abspath(sys.argv[1])
WAIT = "until test -e go; do sleep 0.05; done"
# With job control each job has a process group of its own; a shell that sees its job stop goes on with the next line.
JOB_CONTROL = f"""set -m
exec 2>/dev/null
setsid sh -c 'touch apart$RANK; {WAIT}' &
sh -c 'touch up$RANK; {WAIT}; touch finished$RANK'
test -e finished$RANK && echo right || echo wrong
wait"""


def has(folder, *names):
    return all(os.path.exists(f"{folder}/{name}") for name in names)


def make(folder, name):
    open(f"{folder}/{name}", "w").close()


class Job:
    """A prun that its parent, this process, could continue: its process group is not orphaned."""

    count = 0

    def __init__(self, folder, way, program):
        Job.count += 1
        self.mark = f"{os.getpid()}-stop-{Job.count}"
        self.prun = subprocess.Popen([PRUN, *way, "-np", "2", "--oversubscribe", "-wdir", folder, *program],
                                     env=dict(os.environ, TUTTI_TEST_MARK=self.mark), process_group=0, text=True,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.folder = folder
        atexit.register(self.kill)

    def kill(self):
        """What a check that failed has left stopped."""
        for pid in processes_with(self.mark):
            os.kill(pid, signal.SIGKILL)

    def states(self, of_ranks=True):
        """Of all below the ranks, or of the daemons, their keepers and servers."""
        mine = processes_with(self.mark)
        mine.pop(self.prun.pid, None)
        return {pid: state_of(pid) for pid in mine
                if of_ranks != mine[pid].startswith((PRUN, "prun-"))}

    def all_stopped(self):
        states = set(self.states().values())
        return states and states <= set("TZ") and state_of(self.prun.pid) == "T"

    def none_stopped(self):
        return "T" not in {*self.states().values(), state_of(self.prun.pid)}

    def end(self, what, wanted):
        make(self.folder, "go")
        said = self.prun.communicate(timeout=LIMIT_S)[0]
        check(f"{what}: the job ends well", self.prun.returncode == 0 and sorted(said.split()) == wanted,
              f"{self.prun.returncode} {said}")


def everybody_stops():
    for way in ([], ["--virtual", "-H", "a,b"]):
        what = " ".join(["control-Z", *way[:1]])
        with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
            os.chmod(folder, 0o755)
            job = Job(folder, way, ["bash", "-c", JOB_CONTROL])
            wait_until(lambda: has(folder, "up0", "up1", "apart0", "apart1") or job.prun.poll() is not None, "the ranks")
            for _ in range(3):
                job.prun.send_signal(signal.SIGTSTP)
                wait_until(job.all_stopped, "all to stop")
                helpers = job.states(of_ranks=False)
                check(f"{what}: what prun needs itself does not stop", "T" not in helpers.values(), helpers)
                job.prun.send_signal(signal.SIGCONT)
                wait_until(job.none_stopped, "all to go on")
            check(f"{what}: process groups and sessions of their own stop and go on", job.prun.poll() is None)
            job.end(what, ["right", "right"])


def nobody_could_continue_it():
    """The leader of a session, as in `ssh -t host prun` and `docker run -it`."""
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        program = f"trap 'touch went_on$RANK' CONT; touch up$RANK; {WAIT}"
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(PRUN, [PRUN, "-np", "2", "--oversubscribe", "-wdir", folder, "sh", "-c", program])
        wait_until(lambda: has(folder, "up0", "up1"), "the ranks")
        os.write(terminal, b"\x1a")
        wait_until(lambda: has(folder, "went_on0", "went_on1"), "the ranks to go on")
        check("control-Z where nobody could continue prun: it goes on", state_of(pid) in "RSD", state_of(pid))
        make(folder, "go")
        wait_until(lambda: state_of(pid) == "Z", "the end of the job")
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        check("and so does the job", status == 0, status)
        os.close(terminal)


def ignored():
    """Who starts prun with SIGTSTP ignored does not want it stopped."""
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        program = f"trap 'touch went_on$RANK' CONT; touch up$RANK; {WAIT}; echo through"
        signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        job = Job(folder, [], ["sh", "-c", program])
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        wait_until(lambda: has(folder, "up0", "up1"), "the ranks")
        job.prun.send_signal(signal.SIGTSTP)
        wait_until(lambda: has(folder, "went_on0", "went_on1") and job.none_stopped(), "the ranks to go on")
        job.end("SIGTSTP that was ignored", ["through", "through"])


def continued_at_once():
    """SIGCONT at every moment between SIGTSTP and the stop."""
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        job = Job(folder, [], ["sh", "-c", f"touch up$RANK; {WAIT}; echo through"])
        wait_until(lambda: has(folder, "up0", "up1"), "the ranks")
        for i in range(60):
            job.prun.send_signal(signal.SIGTSTP)
            time.sleep(i % 30 / 1000)
            job.prun.send_signal(signal.SIGCONT)
            wait_until(job.none_stopped, f"all to go on, SIGCONT {i % 30} ms after SIGTSTP")
        job.end("SIGCONT soon after SIGTSTP", ["through", "through"])


everybody_stops()
nobody_could_continue_it()
ignored()
continued_at_once()
result()
