"""What the tests of this folder share: one line for each check, and an exit status."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../support")
from jobs import LIMIT_S  # noqa: E402

failures = 0


def check(what, good, said=""):
    global failures
    failures += 0 if good else 1
    print(f"{'ok' if good else 'FAILED'} {what}", flush=True)
    if not good:
        print(f"    {said}".replace("\n", "\n    "), flush=True)


def run(*command, **how):
    """A finished process; its output as text."""
    how.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, **how)


def result():
    print(f"{failures} failures")
    sys.exit(1 if failures else 0)
