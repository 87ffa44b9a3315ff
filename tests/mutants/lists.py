"""What is known about mutants: killers.txt (function: the test that fails without it), written by
run.py, and survivors.txt (function: the reason why no test can tell), written by hand.
"""
import pathlib

HERE = pathlib.Path(__file__).parent
# Lines of survivors.txt. This number may only get smaller.
MOST = 1
OPENING = """\
# Function: a test that fails when the function does nothing. Written by run.py; do not edit.
"""


def read(name):
    path = HERE / name
    lines = path.read_text().splitlines() if path.exists() else []
    pairs = [line.split(": ", 1) for line in lines if line and not line.startswith("#")]
    bad = [pair[0] for pair in pairs if len(pair) != 2 or not pair[1].strip()]
    if bad:
        raise SystemExit(f"{name}: nothing after {', '.join(bad)}")
    return dict(pairs)


def killers():
    return read("killers.txt")


def survivors():
    reasons = read("survivors.txt")
    if len(reasons) > MOST:
        raise SystemExit(f"survivors.txt: {len(reasons)} lines, at most {MOST}; it may only shrink")
    return reasons


def write_killers(found):
    lines = [f"{function}: {test}\n" for function, test in sorted(found.items()) if test]
    (HERE / "killers.txt").write_text(OPENING + "".join(lines))
