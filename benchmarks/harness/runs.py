"""What the drivers share: running a benchmark program, reading its report, drawing tables.

A benchmark run with `--json -` prints its table, then its report as one JSON object that begins
and ends on lines of its own; a launcher brings that home from whatever host rank 0 is on.
"""
import json
import math
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import threading
import time

WAIT_S = 600
ALIKE = 1.6  # times of a cache line that differ by less are of one state of the machine
TRIES = 4    # of a run within which the state changed
# An end from outside takes the run that is under way with it, see run().
signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


class Failed(Exception):
    """A run that ended badly; the text says which one and how, in words for the user."""


class TooSlow(Failed):
    """A run that was ended because it took longer than it was given."""


def prun_of(build):
    """Where a build folder has the launcher."""
    return pathlib.Path(build).resolve() / "launcher" / "prun" / "prun"


def build(folder, *targets):
    """Builds what a driver needs; a folder that ninja does not know (a copy) is taken as it is."""
    if not (pathlib.Path(folder) / "build.ninja").exists():
        return
    done = subprocess.run(["ninja", "-C", str(folder), *targets], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"ninja -C {folder} {' '.join(targets)}: {done.stdout[-2000:]}")


def run(command, environment=None, progress=None, wait_s=WAIT_S):
    """Runs to the end; returns (standard output, standard error). Raises Failed; TooSlow after wait_s seconds."""
    whole = dict(os.environ, **(environment or {}))
    process = subprocess.Popen(command, env=whole, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True)
    lines, errors = [], []
    reader = threading.Thread(target=lambda: errors.extend(process.stderr), daemon=True)
    reader.start()
    ended = []  # by us: the signals

    def end(number=signal.SIGTERM):  # a launcher that is asked ends its ranks; one that does not hear is killed
        if process.poll() is None:
            ended.append(number)
            os.killpg(process.pid, number)
    timers = [threading.Timer(wait_s, end), threading.Timer(wait_s + 10, end, [signal.SIGKILL])]
    for timer in timers:
        timer.start()
    try:
        for line in process.stdout:
            lines.append(line)
            if progress:
                progress(line)
        status = process.wait()
    finally:
        for timer in timers:
            timer.cancel()
        if process.poll() is None:  # we were interrupted: the launcher ends its job
            process.terminate()
            process.wait()
    reader.join(timeout=10)
    if ended:
        raise TooSlow(f"{' '.join(command)}: not at its end after {wait_s} s")
    if status != 0:
        said = "".join(errors).strip().splitlines() or "".join(lines).strip().splitlines()
        how = f"ended by signal {-status}" if status < 0 else f"status {status}"
        raise Failed(f"{' '.join(command)}: {how}\n  " + "\n  ".join(said[-12:]))
    return "".join(lines), "".join(errors)


def report_in(output):
    """The JSON object inside a benchmark's output."""
    lines = output.splitlines()
    try:
        first = lines.index("{")
        last = lines.index("}", first)
        return json.loads("\n".join(lines[first:last + 1]))
    except ValueError as error:
        raise Failed(f"no report in the output ({error}):\n{output[-2000:]}") from None


def measure(command, environment=None, progress=None, wait_s=WAIT_S):
    """A run with `--json -` added; returns its report. Raises Failed, also on wrong results."""
    output, _ = run([*command, "--json", "-"], environment, progress, wait_s)
    report = report_in(output)
    wrong = [point["bytes"] for point in report["results"] if not point["verified"]]
    if wrong:
        raise Failed(f"{' '.join(command)}: wrong results at {wrong} bytes")
    return report


class States:
    """What the machine is like, told by how long a cache line takes between two cores: those of a virtual machine
    share a cache now and lie apart a minute later. Only times of one state can be compared."""

    def __init__(self, cacheline):
        self.cacheline = cacheline
        self.times = []   # of each state: us of the line, as often as it was seen
        self.changes = 0  # within runs

    def now(self):
        us = measure([self.cacheline, "--min-time", "0.02"])["results"][0]["median_us"]
        away = [abs(math.log(us / median(times))) for times in self.times]
        state = min(range(len(away)), key=away.__getitem__, default=-1)
        if state < 0 or away[state] > math.log(ALIKE):
            state = len(self.times)
            self.times.append([])
        self.times[state].append(us)
        return state

    def line_us(self, state):
        return median(self.times[state])

    def within_one(self, work):
        """(state before and after, what work() gives); state None: it changed within each of several tries."""
        for _ in range(TRIES):
            before, given = self.now(), work()
            if self.now() == before:
                return before, given
            self.changes += 1
        return None, given


class Progress:
    """Shows that something moves: on one line, sizes as they are done, then the time it took."""

    def __init__(self, title):
        self.start = time.monotonic()
        print(f"  {title:24s}", end="", flush=True)

    def __call__(self, line):
        words = line.split()
        if line.startswith(" ") and words and words[0][0].isdigit():
            print(f" {words[0]}", end="", flush=True)

    def done(self, text=""):
        print(f"  {text}({time.monotonic() - self.start:.1f} s)", flush=True)


def size_text(size):
    for unit in ("", "K", "M", "G"):
        if size < 1024 or size % 1024:
            return f"{size}{unit}"
        size //= 1024
    return f"{size}T"


def row_name(row):
    """How a row of benchmarks/peers/rows is called in tables and pictures."""
    many = f" on {row['ranks']}" if row["ranks"] > 2 else ""
    return f"{row['program'].split()[-1]}{many}{' ' + size_text(row['bytes']) if row['bytes'] else ''}"


def time_text(us):
    if us >= 1e5:
        return f"{us / 1e3:.0f} ms"
    if us >= 1e3:
        return f"{us / 1e3:.2f} ms"
    return f"{us:.2f} us" if us < 100 else f"{us:.1f} us"


def table(head, rows):
    """Text columns, the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                       for i, (cell, width) in enumerate(zip(row, widths))) for row in [head, *rows]]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def command():
    """This command line for results: as anybody could give it, without where the checkout and its files lie."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    words = [os.path.relpath(os.path.abspath(sys.argv[0]), root)]
    for word in sys.argv[1:]:
        if word.startswith("/") and words[-1].startswith("--"):
            words.pop()
        elif not word.startswith("/") and "=/" not in word:
            words.append(word)
    return shlex.join(words)


def draw(script, json_path, picture_path):
    """By a script that needs matplotlib: Debian's python has it, another one first in the PATH perhaps not."""
    problem = "no python"
    for python in ("/usr/bin/python3", sys.executable):
        if not os.path.exists(python):
            continue
        done = subprocess.run([python, str(script), json_path, picture_path], text=True, capture_output=True)
        if done.returncode == 0:
            return True
        problem = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    print(f"no picture: {problem} (Debian's package is python3-matplotlib)", file=sys.stderr)
    return False


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")


def median(numbers):
    numbers = sorted(numbers)
    middle = len(numbers) // 2
    return numbers[middle] if len(numbers) % 2 else (numbers[middle - 1] + numbers[middle]) / 2


def stop(text):
    print(text, file=sys.stderr)
    sys.exit(1)
