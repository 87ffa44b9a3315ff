#!/usr/bin/env python3
"""A program that waits in the driver for a call in a stream is told what stands still: barred_test.py PRUN PROGRAM"""
import re
import subprocess
import sys
import threading

LIMIT_S = 150
LINE = re.compile(r"^tutti: rank 0: on host (\S+) the GPU's driver has not answered (cu\w+) for 10 s, and "
                  r"MPIX_Allreduce_enqueue in stream 0x[0-9a-f]+ of GPU 0 cannot end without: the program seems to be in "
                  r"cudaFree, .*cudaStreamSynchronize.*cudaFreeAsync", re.M)
ANSWER = re.compile(r"^tutti: rank 0: the GPU's driver has answered cu\w+ after \d+ s$", re.M)
REPORT = re.compile(r"^    rank 0 had no answer of the GPU's driver .*cudaFree, .*cudaStreamSynchronize", re.M)


class Job:
    """A job that is ended when it has said all that is awaited, or in the end."""

    def __init__(self, prun, program, how, *awaited):
        self.how, self.awaited, self.said = how, awaited, ""
        self.process = subprocess.Popen([prun, "--oversubscribe", "--hang-report", "2", "-np", "2", program, how],
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.end = threading.Timer(LIMIT_S, self.process.terminate)
        self.end.start()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.said += line
            if self.awaited and all(each.search(self.said) for each in self.awaited):
                self.let_go()
        self.end.cancel()

    def let_go(self):
        if self.how != "slow":
            self.process.terminate()
        elif not self.process.stdin.closed:
            self.process.stdin.close()  # what its program waits for

    def wait(self):
        self.reader.join()
        return self.process.wait()

    def must(self, condition, what):
        if not condition:
            print(self.said, file=sys.stderr)
            sys.exit(f"{self.how}: not so: {what}")


def main():
    prun, program = sys.argv[1:]
    jobs = [Job(prun, program, how, LINE, REPORT) for how in ("free", "copy", "thread")]
    late = Job(prun, program, "late")
    slow = Job(prun, program, "slow", LINE)
    for job in jobs:
        job.wait()
        job.must(LINE.search(job.said), "the line names rank, host, the driver's function, call and stream, and what to do")
        job.must(REPORT.search(job.said), "the report of a job that stands still says so, too")
        job.must(job.said.count("has not answered") == 1, "it is said once, and not by rank 1")
    slow.must(slow.wait() == 0, "a driver that is slow, and no more, goes on")
    slow.must(ANSWER.search(slow.said), "and it is said that it has answered")
    late.must(late.wait() == 0, "a stream that is late, and no more, goes on")
    late.must("answer" not in late.said, "and nobody says anything")


main()
