"""What the stages of this suite share: a cluster, ways to run jobs there, and what is counted."""
import os
import re
import signal
import sys

from jobs import Started, processes_with, wait_until

JOB_LIMIT_S = 240


class Done:
    """How a job ended: its status, and what it said."""

    def __init__(self, returncode, said):
        self.returncode, self.said = returncode, said


class Suite:
    def __init__(self, cluster, prun, program, ends, share):
        self.cluster, self.prun, self.program, self.ends, self.share = cluster, prun, program, ends, share
        self.mark = f"slurm-{os.getpid()}"
        self.cluster.environment["TUTTI_TEST_MARK"] = self.mark
        self.failures = self.jobs = 0
        for name in ("torchrun", "torch.distributed.launch"):
            os.symlink(prun, cluster.path(name))

    def check(self, what, done, status, *words, without=()):
        said = done.said if isinstance(done, Done) else done.stdout + done.stderr
        problems = [f"status {done.returncode}, not {status}"] if done.returncode != status else []
        problems += [f"'{word}' is not there" for word in words if word not in said]
        problems += [f"'{word}' is there" for word in without if word in said]
        self.judge(what, problems, said)

    def judge(self, what, problems, said=""):
        self.failures += 1 if problems else 0
        print(f"{'FAILED' if problems else 'ok'} {what} {'; '.join(problems)}")
        if problems:
            print(said)
        sys.stdout.flush()

    def salloc(self, options, *command, **variables):
        """A command on the head, with an allocation."""
        self.ended_jobs_are_gone()
        return self.cluster.run("salloc", "-Q", *options.split(), *command, **variables)

    def start_salloc(self, options, *command):
        """The same, while the test goes on."""
        self.ended_jobs_are_gone()
        return Started([*self.cluster.on("head"), "salloc", "-Q", *options.split(), *command], self.cluster.environment)

    def batch(self, options, script, **variables):
        """A job script, to its end."""
        job = self.submit(options, script, **variables)
        return job.wait()

    def submit(self, options, script, **variables):
        self.ended_jobs_are_gone()
        self.jobs += 1
        path = self.cluster.path(f"job{self.jobs}")
        with open(path, "w") as file:
            file.write(f"#!/bin/bash\nPATH={self.cluster.folder}:$PATH\n{script}\n")
        return BatchJob(self.cluster, path, options, variables)

    def ended_jobs_are_gone(self):
        """A node from which one is still being cleared away would not be given to the next: another one would."""
        wait_until(lambda: "comp" not in self.cluster.run("sinfo", "-h", "-o", "%t").stdout, "nodes without ended jobs")

    def kill_all(self):
        """After a stage that failed; else there is nothing."""
        for pid in processes_with(self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def nothing_is_left(self):
        wait_until(lambda: not processes_with(self.mark), f"the end of {processes_with(self.mark)}")
        wait_until(lambda: not self.cluster.run("squeue", "-h").stdout, "an empty queue")


class BatchJob:
    """A job that sbatch has queued, and its number."""

    def __init__(self, cluster, path, options, variables):
        self.cluster, self.output = cluster, f"{path}.out"
        open(self.output, "w").close()
        done = cluster.run("sbatch", "--parsable", "-o", self.output, *options.split(), path, **variables)
        if done.returncode != 0:
            raise AssertionError(f"sbatch {options}: {done.stderr}")
        self.number = done.stdout.strip()

    def said(self):
        with open(self.output) as file:
            return file.read()

    def until(self, condition, what):
        """The condition is one of what the job has said."""
        try:
            wait_until(lambda: condition(self.said()), what)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.said()}") from None

    def status(self):
        """Of its script, or nothing: it is not over."""
        shown = self.cluster.run("scontrol", "show", "job", self.number).stdout
        over = re.search(r"JobState=(COMPLETED|FAILED|TIMEOUT|CANCELLED|NODE_FAIL) ", shown)
        ended = re.search(r"ExitCode=(\d+):(\d+)", shown)
        return (int(ended[1]) or int(ended[2]) and 128 + int(ended[2])) if over and ended else None

    def wait(self):
        try:
            wait_until(lambda: self.status() is not None, f"the end of job {self.number}", JOB_LIMIT_S)
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.said()}") from None
        return Done(self.status(), self.said())
