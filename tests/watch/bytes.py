#!/usr/bin/env python3
"""Random bytes through every form of output: untagged, each one comes out as it was written; under tags the text
of each line does; JSON and XML can be read back. And a gigabyte without a line end takes a few MiB of memory.
bytes.py PRUN [sanitized]"""
import json
import os
import pty
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import tty
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from jobs import Job, processes_with  # noqa: E402

from checks import check

LIMIT_S = 600
LONGEST = 256 << 10
QUICK = bool(os.environ.get("TUTTI_TEST_QUICK"))


def some_bytes(dice, most):
    """Bytes of every value, the ones that others trip over more often; with lines, or with no line end at all."""
    mean = [b"\0", b"\n", b"\r\n", b"\r", b"<b>&amp;", b"\xff\xfe", b"\xc3", b"\xf0\x9f\x98\x80", b"]]>", b"\x1b[2K", b"%s", b"\0" * 999]
    kind = dice.randrange(4)
    out = bytearray()
    size = dice.randrange(1, most)
    while len(out) < size:
        out += dice.randbytes(dice.randrange(1, 5000))
        out += dice.choice(mean)
    if kind == 0:
        out = out.replace(b"\n", b"\0").replace(b"\r", b"\0")
    if kind == 1:
        out += b"\n"
    if kind == 2:
        out += b"the end"
    return bytes(out)


def judge(got, wanted, what):
    if got == wanted:
        print(f"good: {what}: {len(wanted)} bytes", flush=True)
        return
    at = next((i for i, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
    check(False, f"{what}: the bytes differ at {at}", f"{len(got)} instead of {len(wanted)} bytes; "
          f"{got[max(0, at - 20):at + 40]!r} instead of {wanted[max(0, at - 20):at + 40]!r}")


class Case:
    def __init__(self, folder, dice, most):
        self.out, self.err = some_bytes(dice, most), some_bytes(dice, most)
        self.program = ["sh", "-c", 'cat "$0" & cat "$1" >&2; wait', f"{folder}/out", f"{folder}/err"]
        for name, text in (("out", self.out), ("err", self.err)):
            with open(f"{folder}/{name}", "wb") as file:
                file.write(text)


def run(prun, case, *options, **how):
    how.setdefault("stdin", subprocess.DEVNULL)
    how.setdefault("stdout", subprocess.PIPE)
    how.setdefault("stderr", subprocess.PIPE)
    done = subprocess.run([prun, "-np", "1", *options, *case.program], timeout=LIMIT_S, **how)
    check(done.returncode == 0, f"{' '.join(options) or 'plain'}: status {done.returncode}", done.stderr)
    return done


def terminal(prun, case):
    """Both streams are terminals that change nothing by themselves."""
    heard, readers, ends = {}, [], []
    for stream in (1, 2):
        ours, theirs = pty.openpty()
        tty.setraw(theirs)
        heard[stream] = bytearray()

        def read(fd=ours, into=heard[stream]):
            try:
                while part := os.read(fd, 65536):
                    into += part
            except OSError:  # the other end is closed
                pass
        readers.append(threading.Thread(target=read))
        readers[-1].start()
        ends.append((ours, theirs))
    run(prun, case, stdout=ends[0][1], stderr=ends[1][1])
    for (_, theirs) in ends:
        os.close(theirs)
    for reader in readers:
        reader.join()
    for (ours, _) in ends:
        os.close(ours)
    # What prun itself says while it starts is a line that it takes back.
    judge(bytes(heard[1]), case.out, "a terminal, standard output")
    own = re.compile(rb"^(\r\x1b\[Kprun: [^\r\n]*)*(\r\x1b\[K)?")
    judge(own.sub(b"", bytes(heard[2])) if heard[2].startswith(b"\r\x1b[Kprun") else bytes(heard[2]), case.err,
          "a terminal, standard error")


def plain(prun, case, folder):
    done = run(prun, case)
    judge(done.stdout, case.out, "a pipe, standard output")
    judge(done.stderr, case.err, "a pipe, standard error")
    with open(f"{folder}/a", "wb") as out, open(f"{folder}/b", "wb") as err:
        run(prun, case, stdout=out, stderr=err)
    for name, text in (("a", case.out), ("b", case.err)):
        with open(f"{folder}/{name}", "rb") as file:
            judge(file.read(), text, f"a file, stream {name}")
    terminal(prun, case)
    for options, names in ((["--output", f"file={folder}/one"], ("one.0.out", "one.0.err")),
                           (["--output-directory", f"{folder}/two"], ("two/1/rank.0/stdout", "two/1/rank.0/stderr")),
                           (["-outfile-pattern", f"{folder}/%r-o", "-errfile-pattern", f"{folder}/%r-e"], ("0-o", "0-e"))):
        done = run(prun, case, *options)
        check(not done.stdout and not done.stderr, f"{options[0]}: nothing is shown", (done.stdout[:99], done.stderr[:99]))
        for name, text in zip(names, (case.out, case.err)):
            with open(f"{folder}/{name}", "rb") as file:
                judge(file.read(), text, f"{options[0]}: {name}")
    asked = subprocess.Popen([prun, "-np", "1", *case.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)  # standard input stays open: pieces are shown as prompts
    judge(asked.stdout.read(), case.out, "with an open standard input")
    asked.stdin.close()
    check(asked.wait(LIMIT_S) == 0, "with an open standard input: status 0")


def prompts(prun):
    slow = Case.__new__(Case)
    slow.program = ["sh", "-c", "for i in 1 2 3; do printf 'a<b>&c\\0'; sleep 0.3; done"]
    job = subprocess.Popen([prun, "-np", "1", *slow.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    judge(job.stdout.read(), b"a<b>&c\0" * 3, "pieces of a line, shown early")
    job.stdin.close()
    job.wait(LIMIT_S)
    done = run(prun, slow, "--fold-output", stdin=subprocess.PIPE)
    judge(done.stdout, b"[0] " + b"a<b>&c\0" * 3 + b"\n", "--fold-output: a line that comes in pieces is one")


def untag(text, tag, what):
    """The text of tagged lines; lines that were too long are joined again."""
    out, line_ended = bytearray(), True
    check(text.endswith(b"\n") or not text, f"{what}: ends with a line end")
    for line in text[:-1].split(b"\n") if text else []:
        match = re.match(tag, line)
        check(match, f"{what}: a tag at each line's start", line[:200]) if not match else None
        body = line[match.end():]
        out += body
        line_ended = len(body) < LONGEST - 4
        if line_ended:
            out += b"\n"
    return bytes(out)


def tagged(prun, case):
    forms = {"--tag-output": rb"\[1,0\]<std(out|err)>: ", "--label": rb"\[0\] ", "--timestamp-output": rb"[-0-9T:.]{23} ",
             "--prepend-pattern=%r> ": rb"0> ", "--output=tag-detailed": rb"\[1,0\]\[[^\]]*\]<std(out|err)>: "}
    for option, tag in forms.items():
        done = run(prun, case, option)
        for got, wanted in ((done.stdout, case.out), (done.stderr, case.err)):
            whole = wanted if wanted.endswith(b"\n") or not wanted else wanted + b"\n"
            got = untag(got, tag, option)
            if not got.endswith(b"\n"):  # the last piece was as long as a piece may be
                got += b"\n"
            judge(got, whole, option)


def shown(text, drop):
    """What JSON and XML show of bytes: no UTF-8 becomes the replacement character, byte for byte."""
    out, at = [], 0
    while at < len(text):
        for length in (1, 2, 3, 4):
            try:
                char = text[at:at + length].decode()
            except UnicodeDecodeError:
                continue
            out.append("\ufffd" if drop(char) else char)
            at += length
            break
        else:
            out.append("\ufffd")
            at += 1
    return "".join(out)


def structured(prun, dice, folder):
    case = Case(folder, dice, 60_000)
    done = run(prun, case, "--json-output")
    for got, wanted in ((done.stdout, case.out), (done.stderr, case.err)):
        text = "\n".join(json.loads(line)["line"] for line in got.decode().split("\n")[:-1])
        check(text == shown(wanted.removesuffix(b"\n"), lambda c: False), f"--json-output: {len(wanted)} bytes read back")
    done = run(prun, case, "--xml")
    for name, got, wanted in (("stdout", done.stdout, case.out), ("stderr", done.stderr, case.err)):
        root = ElementTree.fromstring(b"<all>" + got + b"</all>")
        text = "\n".join(one.text or "" for one in root)
        check(text == shown(wanted.removesuffix(b"\n"), lambda c: ord(c) < 32 and c not in "\t\r\n" or c in "\ufffe\uffff"),
              f"--xml: {len(wanted)} bytes read back")
    done = run(prun, case, "--merge-stderr-to-stdout")
    check(not done.stderr and len(done.stdout) == len(case.out) + len(case.err) and
          sorted(done.stdout) == sorted(case.out + case.err), "--merge-stderr-to-stdout: every byte is there")


def most_memory(mark):
    """What prun's own processes ever held at most, in KiB, all together. The servers of ranks are not among them:
    each is larger than all of these, and sees no output."""
    most = 0
    for pid, command in processes_with(mark).items():
        if os.path.basename(command.split(" ")[0]) not in ("prun", "prund"):
            continue
        with open(f"/proc/{pid}/status") as file:
            most += int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1))
    check(most > 0, "prun's processes are found")
    return most


def endless_line(prun, way, size, folder):
    job = Job(prun, way, ["sh", "-c", f"head -c {size} /dev/zero; touch {folder}/done; "
                          f"while [ -e {folder}/done ]; do sleep 0.1; done"], ranks=1, stdout=subprocess.PIPE)
    came = []

    def read():
        count = 0
        while part := job.prun.stdout.read1(1 << 20):
            count += len(part)
        came.append(count)
    reader = threading.Thread(target=read)
    reader.start()
    deadline = time.monotonic() + LIMIT_S
    while not os.path.exists(f"{folder}/done") and job.prun.poll() is None:
        if time.monotonic() > deadline:
            check(False, f"{size} bytes arrive in {LIMIT_S} s", job.said())
        time.sleep(0.05)
    time.sleep(0.5)  # what is under way arrives
    most = most_memory(job.mark)
    os.remove(f"{folder}/done")
    status = job.wait()
    reader.join()
    check(status == 0 and came == [size], f"{size} bytes without a line end: status {status}, {came} came", job.said())
    job.survivors_gone()
    return most


def memory(prun, way, folder):
    least = endless_line(prun, way, 1000, folder)
    size = 1 << (28 if QUICK or way else 30)
    most = endless_line(prun, way, size, folder)
    # The first 1 MiB of a line waits for its end (launcher/daemon/output.cc). Then it leaves at once: it may stand in the
    # daemon, in its channel, in prun as parts and for the terminal, each with room that grew by doubling.
    check(most - least < 8192, f"{' '.join(way) or 'here'}: {size} bytes without a line end: {most - least} KiB more", f"{most} KiB, {least} with a short line")


def main():
    prun = os.path.abspath(sys.argv[1])
    seed = int(os.environ.get("TUTTI_TEST_SEED", "14"))
    dice = random.Random(seed)
    print(f"seed {seed} (TUTTI_TEST_SEED)")
    with tempfile.TemporaryDirectory() as folder:
        exact = Case(folder, dice, 10)
        exact.program = ["printf", "a<b>&c"]
        judge(run(prun, exact).stdout, b"a<b>&c", "printf 'a<b>&c'")
        exact.program = ["head", "-c", "70000", "/dev/zero"]
        judge(run(prun, exact).stdout, bytes(70000), "70000 zeros")
        for round_ in range(2 if QUICK else 6):
            plain(prun, Case(folder, dice, 2_000_000), folder)
            tagged(prun, Case(folder, dice, 2_000_000))
            structured(prun, dice, folder)
        prompts(prun)
        virtual = ["--virtual", "-H", "a"]
        if subprocess.run([prun, *virtual, "-np", "1", "true"], capture_output=True).returncode == 0:
            case = Case(folder, dice, 2_000_000)
            done = run(prun, case, *virtual)
            judge(done.stdout, case.out, "another host, standard output")
            judge(done.stderr, case.err, "another host, standard error")
        else:
            print("skipped another host: no namespaces here")
            virtual = []
        if "sanitized" not in sys.argv:
            for way in ([], virtual) if virtual else ([],):
                memory(prun, way, folder)


main()
