#!/usr/bin/env python3
"""64 ranks write as fast as they can, in every form of output: no line is lost, torn or mixed. Then output that
finds no room: one clear line, and nothing left. outputs.py PRUN SPEAKS"""
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import Job  # noqa: E402

from checks import check

LIMIT_S = 300
RANKS = 64
LINES = 60 if os.environ.get("TUTTI_TEST_QUICK") else 200
NO_ROOM = 212


def sum_of(text):
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 & 0xffffffff
    return value


class Heard:
    """Which lines of which rank and stream have come, in order."""

    def __init__(self):
        self.next = {}
        self.wrong = []

    def take(self, line, rank=None, stream=None):
        text, _, given = line.rpartition(" ")
        words = text.split(" ", 3)
        if len(words) < 3 or f"{sum_of(text):08x}" != given:
            self.wrong.append(f"torn: {line[:100]}")
            return
        key = (int(words[0]), int(words[1]))
        if (rank is not None and key[0] != rank) or (stream is not None and key[1] != stream):
            self.wrong.append(f"said by rank {rank} on {stream}: {line[:100]}")
        expected = self.next.get(key, 0)
        if int(words[2]) != expected:
            self.wrong.append(f"rank {key[0]}, stream {key[1]}: {words[2]} instead of {expected}")
        self.next[key] = int(words[2]) + 1

    def judge(self, what):
        whole = {(rank, stream): LINES for rank in range(RANKS) for stream in (1, 2)}
        short = {key: count for key, count in self.next.items() if count != LINES}
        check(not self.wrong and self.next == whole, f"{what}: {sum(self.next.values())} lines, each whole and in order",
              "\n".join(self.wrong[:10]) + f"\n{len(self.next)} streams; not whole: {short}")


def run(prun, program, *options, slow=False):
    with tempfile.TemporaryFile() as errors:
        job = subprocess.Popen([prun, "--oversubscribe", "-np", str(RANKS), *options, program, str(LINES)],
                               stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL)
        if slow:  # the pipe is full long before anybody reads
            time.sleep(2)
        out = job.stdout.read().decode()
        status = job.wait(LIMIT_S)
        errors.seek(0)
        err = [line for line in errors.read().decode().splitlines() if not line.startswith("prun: ")]
    check(status == 0, f"{' '.join(options) or 'plain'}: status {status}", err[:5])
    return out.splitlines(), err


def plain(prun, program):
    for what, options, slow in (("plain", [], False), ("a slow reader", [], True),
                                ("two hosts", ["--virtual", "-H", "a:32,b:32"], False)):
        if what == "two hosts" and subprocess.run([prun, *options, "-np", "2", "true"],
                                                  capture_output=True).returncode == 208:
            print("skipped two hosts: no namespaces here")
            continue
        out, err = run(prun, program, *options, slow=slow)
        heard = Heard()
        for stream, lines in ((1, out), (2, err)):
            for line in lines:
                heard.take(line, stream=stream)
        heard.judge(what)


def marked(prun, program):
    forms = {"--tag-output": r"\[\d+,(\d+)\]<std\w+>: ?(.*)", "--label": r"\[(\d+)\] ?(.*)",
             "--fold-output": r"\[(\d+)\] (.*)"}
    for option, form in forms.items():
        out, err = run(prun, program, option)
        heard = Heard()
        for stream, lines in ((1, out), (2, err)):
            for line in lines:
                match = re.fullmatch(form, line)
                check(match, f"{option}: every line has its tag", line) if not match else None
                heard.take(match.group(2), int(match.group(1)), stream)
        heard.judge(option)
    out, err = run(prun, program, "--merge-stderr-to-stdout")
    heard = Heard()
    for line in out:
        heard.take(line)
    check(not err, "--merge-stderr-to-stdout: nothing on standard error", err[:3])
    heard.judge("--merge-stderr-to-stdout")
    out, err = run(prun, program, "--json-output")
    heard = Heard()
    for line in out + err:
        entry = json.loads(line)
        heard.take(entry["line"], entry["rank"], {"stdout": 1, "stderr": 2}[entry["stream"]])
    heard.judge("--json-output")


def files(prun, program):
    with tempfile.TemporaryDirectory() as folder:
        out, err = run(prun, program, "--output-directory", folder)
        check(not out and not err, "--output-directory: nothing is shown", (out + err)[:3])
        heard = Heard()
        for rank in range(RANKS):
            for stream, name in ((1, "stdout"), (2, "stderr")):
                with open(f"{folder}/1/rank.{rank}/{name}") as file:
                    for line in file:
                        heard.take(line.rstrip("\n"), rank, stream)
        heard.judge("--output-directory")


def no_room(prun, program):
    """A disk that fills up, and a limit of file sizes: the job ends with one line and leaves nothing."""
    with tempfile.TemporaryDirectory() as folder:
        endless = [program, "1000000000"]
        wanted = ["--oversubscribe", "--output-directory", folder]
        mount = ["unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size=300k none {folder} && exec "$@"', "sh"]
        if os.geteuid() != 0:
            mount.insert(1, "-r")
        ways = {"a full disk": ({"inside": mount}, f"to {folder}/1/rank.*No space left on device")}
        if subprocess.run([*mount, "true"], capture_output=True).returncode != 0:
            print("skipped a full disk: no mount namespaces here")
            ways = {}
        least = 256 << 10
        ways["a limit of file sizes"] = ({"preexec_fn": lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (least, least))}, "File too large.*ulimit -f")  # the job segment is a file, too
        for what, (how, words) in ways.items():
            job = Job(prun, wanted, endless, ranks=4, **how)
            status = job.wait()
            job.survivors_gone()
            lines = [line for line in job.said().splitlines() if line.startswith("prun: ") and "turns" not in line]
            check(status == NO_ROOM, f"{what}: status {status}", job.said()[-3000:])
            check(len(lines) == 1 and re.search(words, lines[0]), f"{what}: one line says which file, and why",
                  "\n".join(lines))
    full = open("/dev/full", "w")
    done = subprocess.run([prun, "--oversubscribe", "-np", "4", program, "1000"], stdout=full, stderr=subprocess.PIPE,
                          text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    lines = [line for line in done.stderr.splitlines() if line.startswith("prun: ") and "turns" not in line]
    check(done.returncode == NO_ROOM and len(lines) == 1 and "of standard output could not be written: No space" in lines[0],
          "prun's own output on a full disk: one line", "\n".join(lines))
    closed = subprocess.run(["sh", "-c", 'exec "$@" 0<&- >&-', "sh", prun, "-np", "2", "sh", "-c", "echo end >&2"],
                            stderr=subprocess.PIPE, text=True, timeout=LIMIT_S)
    check(closed.returncode == 0 and closed.stderr.split() == ["end", "end"],
          f"closed standard streams: status {closed.returncode}", closed.stderr)


def main():
    prun, program = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    shutil.which("unshare") or print("no unshare here")
    plain(prun, program)
    marked(prun, program)
    files(prun, program)
    no_room(prun, program)


main()
