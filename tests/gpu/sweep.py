#!/usr/bin/env python3
"""sweep.py PRUN PROGRAM -- each call of the driver's that we make fails in one rank, at its n-th time

PROGRAM does a bit of everything, by ordinary calls and by calls in a stream. It may be none the worse, or end with an
error that names rank, GPU (or says that CUDA could not tell) and the call of MPI's; it may not crash, give wrong data, or stand still. n: 1 with TUTTI_TEST_QUICK; every one up to 20, then ever fewer, with
TUTTI_TEST_LONG. Errors come once (out of memory) or stay and break the context (launch failed).
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


def main():
    prun, program = sys.argv[1:]
    functions = functions_of(DRIVER)
    runs = ended = bad = 0
    for function in functions:
        for error in ERRORS:
            for n in numbers():
                fault = [f"STANDIN_CUDA_FAIL={function}:{n}:{error}", "STANDIN_CUDA_FAIL_IN=libmpi",
                         "STANDIN_CUDA_DELAY_US=10"]
                command = [prun, "--oversubscribe", "--timeout", "120", "-np", "1", program, "everything",
                           ":", "-np", "1", "env", *fault, program, "everything"]
                done = subprocess.run(command, capture_output=True, text=True, errors="replace")
                runs, ended = runs + 1, ended + (done.returncode != 0)
                if wrong := problem(done):
                    bad += 1
                    print(f"{wrong}: status {done.returncode} of\n  {' '.join(command)}\n{done.stderr[-1500:]}")
                if done.returncode == 0 and n > 1:
                    break  # it is not called so often
    print(f"{runs} runs of {len(functions)} functions; {ended} ended with an error")
    if bad or not ended:
        sys.exit(f"{bad} were wrong")


main()
