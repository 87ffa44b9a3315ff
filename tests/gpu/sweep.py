#!/usr/bin/env python3
"""sweep.py PRUN PROGRAM [nccl] -- each call of the driver's that we make fails in one rank, at its n-th time

PROGRAM does a bit of everything, by ordinary calls and by calls in a stream. It may be none the worse, or end with an
error that names rank, GPU (or says that CUDA could not tell) and the call of MPI's; it may not crash, give wrong data, or stand still. n: 1 with TUTTI_TEST_QUICK; every one up to 20, then ever fewer, with
TUTTI_TEST_LONG. Errors come once (out of memory) or stay and break the context (launch failed).

nccl: PROGRAM does what NCCL serves (the environment forces that), and those calls fail that our part of it makes: each n
until that part has said so once, four times, or 40 times.
"""
import os
import pathlib
import re
import subprocess
import sys

QUICK, LONG = (bool(os.environ.get("TUTTI_TEST_" + length)) for length in ("QUICK", "LONG"))
ERRORS = ["2:once", "719"]
DRIVER = pathlib.Path(__file__).resolve().parents[2] / "lib/device/cuda/driver.h"
STOOD_STILL = 207  # launcher/status/status.h
PROGRAMS_OWN = 3   # area.h
CALL = r"\bMPIX?_[A-Z][a-z]"
# What lib/delegate/nccl asks of the driver, but for what it gives back at the end.
NCCLS = ("cuDevicePrimaryCtxRetain", "cuCtxGetStreamPriorityRange", "cuStreamCreateWithPriority", "cuEventCreate",
         "cuEventRecord", "cuStreamWaitEvent", "cuEventQuery")
HITS = 40 if LONG else 1 if QUICK else 4
MOST = 200 if LONG else 30
# What answers only; no error comes of it.
HARMLESS = ("cuGetErrorName", "cuGetErrorString")


def numbers():
    n = 1
    while n <= (5000 if LONG else 1 if QUICK else 30):
        yield n
        n += 1 if LONG and n < 20 else max(1, n // 2) if LONG else 2 * n + 1


def problem(done):
    """What is wrong with how a job ended, in words, or nothing."""
    text = done.stdout + done.stderr
    if done.returncode == STOOD_STILL:
        return "it stands still"
    if done.returncode >= 128:
        return "it crashes"
    if "failures.cc:" in text:
        return "its data are wrong"
    if done.returncode != 0 and not re.search(r"rank 1\b", text):
        return "no rank is named"
    if done.returncode != 0 and not re.search("GPU|CUDA", text):
        return "no GPU is named"
    # (The program says itself what its own calls of CUDA give, once the GPU is lost.)
    if done.returncode not in (0, PROGRAMS_OWN) and not re.search(CALL, text):
        return "no call is named"
    # (Of work for a stream, which our thread does while the program is in no call, the last line names the call; unless
    # the program has seen the lost GPU first, when it waited for the stream itself.)
    waited_itself = done.returncode == PROGRAMS_OWN and "cuStreamSynchronize(stream) gives" in text
    if not waited_itself and "enqueued in stream" not in text and any(
            re.search(r"rank 1: GPU.*failed", line) and not re.search(CALL, line) for line in text.splitlines()):
        return "a line that names no call"
    return ""


def functions_of(driver):
    """Those that every driver has, and those that an old one may lack."""
    text = driver.read_text()
    every = [name for form in ("X", "TUTTI_CUDA_MEMBER") for name in re.findall(rf"\b{form}\((cu\w+)\)", text)]
    return [name for name in every if name not in HARMLESS]


class Sweep:
    def __init__(self, prun, program, word):
        self.prun, self.program, self.word = prun, program, word
        self.runs = self.ended = self.bad = 0

    def run(self, function, n, error):
        """Its status and what it said."""
        fault = [f"STANDIN_CUDA_FAIL={function}:{n}:{error}", "STANDIN_CUDA_FAIL_IN=libmpi", "STANDIN_CUDA_DELAY_US=10"]
        command = [self.prun, "--oversubscribe", "--timeout", "120", "-np", "1", self.program, self.word,
                   ":", "-np", "1", "env", *fault, self.program, self.word]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        self.runs, self.ended = self.runs + 1, self.ended + (done.returncode != 0)
        if wrong := problem(done):
            self.bad += 1
            print(f"{wrong}: status {done.returncode} of\n  {' '.join(command)}\n{done.stderr[-1500:]}")
        return done.returncode, done.stdout + done.stderr

    def everywhere(self, function, error):
        for n in numbers():
            if self.run(function, n, error)[0] == 0 and n > 1:
                break  # it is not called so often

    def in_nccl(self, function, error):
        hits = 0
        for n in range(1, MOST):
            status, said = self.run(function, n, error)
            if n > 1 and status == 0 and "as the stand-in was told" not in said:
                break  # it is not called so often
            hits += re.search(r"rank 1: NCCL .*GPU 1.*as the stand-in was told", said) is not None
            if hits == HITS:
                break
        if hits == 0:
            self.bad += 1
            print(f"{function} never failed beside NCCL")


def main():
    is_nccl = "nccl" in sys.argv[3:]
    sweep = Sweep(*sys.argv[1:3], "served" if is_nccl else "everything")
    functions = NCCLS if is_nccl else functions_of(DRIVER)
    for function in functions:
        for error in ERRORS:
            (sweep.in_nccl if is_nccl else sweep.everywhere)(function, error)
    print(f"{sweep.runs} runs of {len(functions)} functions; {sweep.ended} ended with an error")
    if sweep.bad or not sweep.ended:
        sys.exit(f"{sweep.bad} were wrong")


main()
