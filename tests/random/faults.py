#!/usr/bin/env python3
"""faults.py check          every fault of known_faults.py still fits the sources
faults.py find [WORD]   puts each back alone (those that WORD names), in a copy, and lets random programs find it

A random program that no longer finds one has lost its edge. `find` takes ten minutes of two cores
where the compiler's cache is warm, else half an hour; ./test.sh --long does it.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import known_faults

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIP = 77
SECONDS, SECONDS_WITHOUT = 240, 20  # for random programs to find one; most take a few
STANDS_STILL_S = 60                 # many faults let ranks wait for each other; jobs take four seconds


def replaced(text, changes):
    for old, new in changes:
        if text.count(old) != 1:
            return None
        text = text.replace(old, new)
    return text


def check():
    problems = [f"{fault.row} {fault.name}: its lines are not in {path} as they were; say how it is put back now"
                for fault in known_faults.FAULTS for path, changes in fault.changes.items()
                if replaced((ROOT / path).read_text(), changes) is None]
    print("\n".join(problems) or f"{len(known_faults.FAULTS)} faults can be put back")
    return 1 if problems else 0


def build(copy):
    targets = ["launcher/prun/prun", "launcher/prund/prund", "tests/random/random_program"]
    subprocess.run(["ninja", "-C", str(copy / "build"), "-j", str(os.cpu_count()), *targets], check=True,
                   stdout=subprocess.DEVNULL)


def set_up(folder):
    copy = pathlib.Path(folder) / "tree"
    # Of the checkout itself, not of its folders: there is a scripts/build.sh.
    left_out = {name for name in os.listdir(ROOT) if name.startswith(("build", ".git", "out"))}
    shutil.copytree(ROOT, copy, ignore=lambda folder, names: left_out if pathlib.Path(folder) == ROOT else set())
    command = ". scripts/build.sh && configure_tree build -Doptimization=2 -Ddebug=false -Dbenchmarks=disabled"
    subprocess.run(["bash", "-c", command], cwd=copy, check=True)
    build(copy)
    return copy


def random_programs(copy, fault, seconds):
    """What random programs say: empty while they find nothing."""
    options = {"--seconds": seconds, "--stands-still": STANDS_STILL_S, "--ranks": fault.ranks,
               "--begins": fault.begins, "--features": f"{known_faults.BASE},{fault.features}"}
    done = subprocess.run([sys.executable, str(copy / "tests/random/run.py"), str(copy / "build/launcher/prun/prun"),
                           str(copy / "build/tests/random/random_program"), fault.link,
                           *(str(word) for option in options.items() for word in option)],
                          capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    return done.stdout or f"status {done.returncode}"


def gist(said):
    """The line that says what went wrong."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and "take turns" not in line]
    for word in ("episode seed", "MPI_", "prun: "):
        for line in lines:
            if word in line and not line.startswith("status"):
                return line[:200]
    return lines[-1][:200]


def put_back(copy, fault):
    """Whether it was found."""
    before = {path: (copy / path).read_text() for path in fault.changes}
    for path, changes in fault.changes.items():
        (copy / path).write_text(replaced(before[path], changes))
    started = time.monotonic()
    build(copy)
    built = time.monotonic()
    said = random_programs(copy, fault, SECONDS)
    took = f"built in {built - started:.0f} s, run for {time.monotonic() - built:.0f} s"
    print(f"{fault.row} {fault.name} ({took}):\n  {gist(said) if said else 'NOT FOUND'}", flush=True)
    for path, text in before.items():
        (copy / path).write_text(text)
    return bool(said)


def find(word):
    chosen = [fault for fault in known_faults.FAULTS if word in f"{fault.row} {fault.name}"]
    with tempfile.TemporaryDirectory(prefix="random-faults-") as folder:
        copy = set_up(folder)
        # As it is, nothing is found; else all of them would be.
        if said := random_programs(copy, known_faults.Fault("", "", "all", {}), SECONDS_WITHOUT):
            print(f"without a fault: {gist(said)}")
            return 1
        missed = [fault for fault in chosen if not put_back(copy, fault)]
    print(f"{len(chosen) - len(missed)} of {len(chosen)} faults found")
    return 1 if missed else 0


def main():
    what, word = (sys.argv[1:] + ["", ""])[:2]
    if what == "check":
        sys.exit(check())
    if "TUTTI_TEST_LONG" not in os.environ:
        print("skipped: only with --long")
        sys.exit(SKIP)
    sys.exit(find(word))


if __name__ == "__main__":
    main()
