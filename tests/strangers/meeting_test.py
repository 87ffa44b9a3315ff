#!/usr/bin/env python3
"""Strangers at the meeting of hosts that join by themselves (--listen and --join, torchrun's nodes): relays
that look, flip bits or put keys of their own in; who guesses, says nothing or is another user; keys that
are too short or open to others. Usage: meeting_test.py PRUN"""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../support")
from jobs import Started, free_port, processes_with, wait_until  # noqa: E402

KEY = "a key of more than sixteen bytes"
NO_ALLOCATION = 209  # launcher/status/status.h
NOBODY = 65534


class Relay:
    """Between a joining host and a meeting. `change(down, at, data)` returns what is passed on; `at` counts
    the bytes of that direction."""

    def __init__(self, port, change=lambda down, at, data: data):
        self.target, self.change = port, change
        self.seen = [b"", b""]
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                near, _ = self.door.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            for down, (a, b) in enumerate([(near, far), (far, near)]):
                threading.Thread(target=self.pump, args=(a, b, down), daemon=True).start()

    def pump(self, a, b, down):
        at = 0
        try:
            while data := a.recv(65536):
                self.seen[down] += data
                b.sendall(self.change(bool(down), at, data))
                at += len(data)
        except OSError:
            pass
        for end in (a, b):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Suite:
    def __init__(self, prun):
        self.mark = f"strangers-{os.getpid()}"
        self.folder = tempfile.mkdtemp(prefix="strangers-")
        os.chmod(self.folder, 0o755)
        shutil.copy(prun, f"{self.folder}/prun")  # where another user can run it
        os.symlink("prun", f"{self.folder}/torchrun")
        os.mkdir(f"{self.folder}/home")
        self.failures = 0

    def start(self, tool, *words, user=None, **variables):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("PET_", "TUTTI_", "XDG_"))}
        environment.update(TUTTI_TEST_MARK=self.mark, HOME=f"{self.folder}/home", **variables)
        if user is not None:
            environment["HOME"] = "/nonexistent"
        before = ["setpriv", f"--reuid={user}", "--clear-groups"] if user is not None else []
        return Started([*before, f"{self.folder}/{tool}", *words], environment)

    def check(self, what, good, *nodes):
        self.failures += 0 if good else 1
        print(f"{'ok' if good else 'FAILED'} {what}", flush=True)
        if not good:
            for node in nodes:
                print(f"-- {node.process.args[1:]} -> {node.process.returncode}\n{node.said()}", flush=True)

    def listen(self, *program, ranks="1", **variables):
        port = free_port()
        variables.setdefault("TUTTI_JOIN_KEY", KEY)
        head = self.start("prun", "--listen", f"127.0.0.1:{port}", "--nodes", "1", "-np", ranks, *program, **variables)
        wait_until(lambda: "listening" in head.said() or head.process.poll() is not None, "the meeting")
        return head, port

    def join(self, port, **variables):
        variables.setdefault("TUTTI_JOIN_KEY", KEY)
        return self.start("prun", "--join", f"127.0.0.1:{port}", **variables)

    def clean(self):
        wait_until(lambda: not processes_with(self.mark), f"the end of {processes_with(self.mark)}")
        shutil.rmtree(self.folder)


def who_looks(suite):
    head, port = suite.listen("sh", "-c", "echo an-unlikely-word")
    relay = Relay(port)
    host = suite.join(relay.port)
    got = [head.wait(), host.wait()]
    suite.check(f"a relay that only looks changes nothing (statuses {got})",
                got == [0, 0] and "an-unlikely-word\n" in head.said(), head, host)
    suite.check("and reads nothing: no program, no output, no variable", len(relay.seen[1]) > 300
                and not any(word in both for both in relay.seen for word in (b"unlikely", b"PATH", b"sh\0", KEY.encode())),
                head)


def who_flips_bits(suite):
    """Single bits, everywhere in what the head says after the handshake, and in what the host says."""
    for down, where in [(True, at) for at in (200, 224, 230, 260, 500)] + [(False, at) for at in (270, 330)]:
        wrong = pathlib.Path(suite.folder, "wrong")

        def flip(is_down, at, data, down=down, where=where):
            if is_down != down or not at <= where < at + len(data):
                return data
            changed = bytearray(data)
            changed[where - at] ^= 1
            return bytes(changed)

        head, port = suite.listen("sh", "-c", f"echo ran; touch {wrong}")
        host = suite.join(Relay(port, flip).port)
        wait_until(lambda: host.process.poll() is not None or head.process.poll() is not None, "an end")
        host.process.terminate()
        head.process.terminate()
        got = [head.wait(), host.wait()]
        told = "not what was sent" in head.said() + host.said() or host.process.returncode == NO_ALLOCATION \
            or "lost" in head.said()
        suite.check(f"a bit flipped {'down' if down else 'up'} at {where}: the job ends, nobody takes it for a message "
                    f"(statuses {got})", 0 not in got and told and "mismatch" not in head.said(), head, host)


def who_puts_keys_in(suite):
    """A relay that shows public keys of its own to both sides."""
    def other_key(down, at, data):
        words = data.split(b" ")
        if at == 0 and words[:2] in ([b"TUTTI", b"join"], [b"TUTTI", b"meet"]):
            words[2] = os.urandom(32).hex().encode()
        return b" ".join(words)

    head, port = suite.listen("sh", "-c", "echo it ran")
    cheated = suite.join(Relay(port, other_key).port)
    suite.check("who came by it is told", cheated.wait() == NO_ALLOCATION and "differ" in cheated.said(), cheated)
    suite.check("and the head waits on", head.process.poll() is None and "it ran" not in head.said(), head)
    host = suite.join(port)
    suite.check("for the right one", [head.wait(), host.wait()] == [0, 0] and "it ran" in head.said(), head, host)


def who_guesses_or_idles(suite):
    head, port = suite.listen("true")
    idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(400)]
    guess = suite.join(port, TUTTI_JOIN_KEY="another key of enough bytes")
    suite.check("a wrong guess is refused", guess.wait() == NO_ALLOCATION and "differ" in guess.said(), guess)
    loud = socket.create_connection(("127.0.0.1", port))
    try:
        loud.sendall(b"x" * (1 << 20))
    except OSError:
        pass
    host = suite.join(port)
    suite.check("400 silent connections, a loud one and a guess keep nobody out",
                [head.wait(), host.wait()] == [0, 0], head, host)
    for one in idle:
        one.close()


def keys(suite):
    short = suite.start("prun", "--listen", "0", "true", TUTTI_JOIN_KEY="fifteen bytes..")
    suite.check("a short key is refused", short.wait() == NO_ALLOCATION and "too short" in short.said(), short)
    path = f"{suite.folder}/open-key"
    with open(path, "w") as file:
        file.write(KEY)
    os.chmod(path, 0o666)
    refused = suite.start("prun", "--listen", "0", "--key-file", path, "true")
    suite.check("a key file that others may write is refused",
                refused.wait() == NO_ALLOCATION and "others" in refused.said(), refused)
    for words in (["-genvall"], ["-x", "TUTTI_JOIN_KEY"], ["-x", f"TUTTI_JOIN_KEY={KEY}"], []):
        job = suite.start("prun", *words, "-np", "1", "env", TUTTI_JOIN_KEY=KEY)
        suite.check(f"no rank sees the key ({' '.join(words)})",
                    job.wait() == 0 and "JOIN_KEY=" not in job.said() and KEY not in job.said(), job)
        suite.check("... and who names it is told", ("kept by the launcher" in job.said()) == ("-x" in words) and
                    "not set here" not in job.said(), job)
    head, port = suite.listen("-genvall", "env")
    host = suite.join(port)
    suite.check("nor one on a host that joined", [head.wait(), host.wait()] == [0, 0] and KEY not in head.said()
                and "WORLD_SIZE" in head.said(), head, host)


def torch_words(port, rank, *program, address="127.0.0.1"):
    return ["--nnodes=2", f"--node-rank={rank}", f"--master-addr={address}", f"--master-port={port}", "--no-python",
            *program]


def own_command_lines(suite):
    """A node runs what its own user typed, with its own folders and files, whatever the leader's line is."""
    for variables in ({}, {"TUTTI_JOIN_KEY": KEY}):
        port = free_port()
        evil = f"{suite.folder}/evil"
        leader = suite.start("torchrun", *torch_words(port, 0, "sh", "-c", f"echo leads $RANK; [ $RANK = 0 ] || touch {evil}"),
                             **variables)
        logs = f"{suite.folder}/logs"
        node = suite.start("torchrun", f"--log-dir={logs}", "--tee=3",
                           *torch_words(port, 1, "sh", "-c", "echo joins $RANK of $WORLD_SIZE $MASTER_ADDR $EXTRA"),
                           EXTRA="own", **variables)
        got = [leader.wait(), node.wait()]
        suite.check(f"each node runs its own command line {'with' if variables else 'without'} a key (statuses {got})",
                    got == [0, 0] and "leads 0" in leader.said() and "leads" not in node.said()
                    and "joins 1 of 2 127.0.0.1 own" in node.said() and "joins" not in leader.said()
                    and not os.path.exists(evil) and os.path.isdir(logs), leader, node)
        shutil.rmtree(logs, ignore_errors=True)


def one_has_a_key(suite):
    for leads, joins in (({}, {"TUTTI_JOIN_KEY": KEY}), ({"TUTTI_JOIN_KEY": KEY}, {})):
        port = free_port()
        leader = suite.start("torchrun", *torch_words(port, 0, "true"), **leads)
        node = suite.start("torchrun", *torch_words(port, 1, "true"), **joins)
        suite.check(f"a key {'there' if leads else 'here'} and none {'here' if leads else 'there'} is refused",
                    node.wait() == NO_ALLOCATION and "key" in node.said(), leader, node)
        leader.process.terminate()
        leader.wait()


def another_user(suite):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return print("skipped: another user (needs root and setpriv)")
    port = free_port()
    leader = suite.start("torchrun", *torch_words(port, 0, "true"))
    wait_until(lambda: "waiting for hosts" in leader.said(), "the leader")
    stranger = suite.start("torchrun", *torch_words(port, 1, "true"), user=NOBODY)
    suite.check("another user of this machine gets no seat", stranger.wait() == NO_ALLOCATION
                and "user" in stranger.said() and leader.process.poll() is None, leader, stranger)
    leader.process.terminate()
    leader.wait()
    port = free_port()
    squatter = suite.start("torchrun", *torch_words(port, 0, "true"), user=NOBODY)
    wait_until(lambda: "waiting for hosts" in squatter.said(), "the squatter")
    node = suite.start("torchrun", *torch_words(port, 1, "touch", f"{suite.folder}/ran"))
    suite.check("and who holds the port first is not believed", node.wait() == NO_ALLOCATION and "user" in node.said()
                and not os.path.exists(f"{suite.folder}/ran"), squatter, node)
    squatter.process.terminate()
    squatter.wait()


def says_that_it_is_open(suite):
    shown = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
    address = next((word for word in shown if "." in word), None)
    if address is None:
        return print("skipped: a node that leads without a key (only loopback here)")
    port = free_port()
    nodes = [suite.start("torchrun", *torch_words(port, rank, "true", address=address)) for rank in (0, 1)]
    got = [node.wait() for node in nodes]
    suite.check(f"the node that leads without a key says so, in one line with the cure (statuses {got})",
                got == [0, 0] and nodes[0].said().count("no key") == 1 and "TUTTI_JOIN_KEY" in nodes[0].said(), *nodes)


def main():
    suite = Suite(os.path.abspath(sys.argv[1]))
    for stage in (who_looks, who_flips_bits, who_puts_keys_in, who_guesses_or_idles, keys, own_command_lines,
                  one_has_a_key, another_user, says_that_it_is_open):
        stage(suite)
    suite.clean()
    print(f"{suite.failures} failures")
    sys.exit(1 if suite.failures else 0)


main()
