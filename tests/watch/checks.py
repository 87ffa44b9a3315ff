"""What the tests of this folder have in common."""
import sys


def check(condition, what, said=""):
    """Goes on where `condition` holds; else shows what was said, and ends the test."""
    if not condition:
        print(f"FAILED: {what}\n{said}")
        sys.exit(1)
    print(f"good: {what}", flush=True)
