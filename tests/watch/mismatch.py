#!/usr/bin/env python3
"""TUTTI_MISMATCH: whether collectives are compared, when, and what follows: mismatch.py PRUN PROGRAM

The program's broadcasts name two roots and nobody waits for anybody, so it gets to its end (but
where said)."""
import os
import subprocess
import sys

LIMIT_S = 120
WORDS = ("ranks give a collective different arguments", "ranks call different collectives")


def run(prun, program, value, where, how):
    done = subprocess.run([prun, "--oversubscribe", "--timeout", "100", "-np", "3", program, "data", where, how],
                          capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL,
                          env=os.environ | {"TUTTI_MISMATCH": value})
    return done.returncode, done.stderr


def problem_of(value, status, said):
    lines = [line for line in said.splitlines() if any(words in line for words in WORDS)]
    if value in ("end", "every"):
        return "" if status == 214 and len(lines) == 1 else f"does not end with status 214 and one line: {status}"
    if status != 0:
        return f"ends with {status}"
    if value == "off":
        return "still says it" if lines else ""
    # The ranks that meet it and prun, each once.
    if not lines or not all("TUTTI_MISMATCH=warn: the job goes on" in line for line in lines):
        return "does not say that the job goes on"
    return "" if len(lines) <= 4 else f"{len(lines)} lines"


def main():
    prun, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    failed = 0
    for value in ("end", "warn", "off", "every"):
        for where in ("world", "part"):
            for how in ("blocking", "nonblocking"):
                if value in ("warn", "off") and (where, how) == ("world", "nonblocking"):
                    continue  # of three ranks one waits for a message that nobody sends
                status, said = run(prun, program, value, where, how)
                problem = problem_of(value, status, said)
                print(f"{'FAILED' if problem else 'good'}: {value}, {where}, {how}{': ' + problem if problem else ''}")
                if problem:
                    print(said)
                failed += bool(problem)
    status, said = run(prun, program, "sometimes", "world", "blocking")
    if status == 0 or "TUTTI_MISMATCH names 'sometimes'" not in said:
        failed += 1
        print(f"FAILED: a value that there is not: {status}\n{said}")
    return 1 if failed else 0


sys.exit(main())
