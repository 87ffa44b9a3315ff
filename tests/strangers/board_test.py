#!/usr/bin/env python3
"""Strangers where ranks meet by torchrun's variables, set by hand: they come first and say nothing, or garbage, or a
byte now and then; they claim to be rank 1, many times; they hold rank 0's name, and ports that they saw or guessed; they scan all. Between
two hosts with a key, on one host without, and what is said where the key is missing. board_test.py TALKER"""
import errno
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../support")
sys.path.insert(0, HERE)
from jobs import LIMIT_S, Started, wait_until  # noqa: E402
import two_hosts  # noqa: E402

TALKER = os.path.abspath(sys.argv[1])
KEY = "a key of more than sixteen bytes"
NOBODY = 65534
KNOCKS = 40  # of each kind


def fnv(text):
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 % (1 << 64)
    return value


def run_name(master_port):  # of two ranks
    return f"tutti  {master_port}  2"


def port_of(first):
    """Where rank 0 listens: what a stranger on its host can see, and nobody can know before."""
    sockets = set()
    for fd in os.listdir(f"/proc/{first.process.pid}/fd"):
        try:
            sockets.add(os.readlink(f"/proc/{first.process.pid}/fd/{fd}"))
        except OSError:
            pass  # it has just closed it
    for family in ("tcp6", "tcp"):
        with open(f"/proc/{first.process.pid}/net/{family}") as file:
            for line in list(file)[1:]:
                words = line.split()
                if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                    return int(words[1].rsplit(":", 1)[1], 16)
    assert first.process.poll() is None, first.said()
    return 0


def guessed_ports(master_port):
    """What who knows all of a job but its key may take for its ports."""
    return [10000 + fnv(run_name(master_port) + str(index)) % 50000 for index in range(16)]


def framed(text):
    return struct.pack("<I", len(text)) + text


class Job:
    """Ranks of one job, each started by hand."""

    def __init__(self, size, master_port):
        self.size, self.master_port = size, master_port
        self.folder = tempfile.mkdtemp(prefix="strangers-")
        os.chmod(self.folder, 0o755)

    def start(self, rank, where=(), local_size=1, master=two_hosts.A, **variables):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("TUTTI_", "PET_", "XDG_", "TORCHELASTIC_"))}
        environment.update(RANK=str(rank), WORLD_SIZE=str(self.size), LOCAL_WORLD_SIZE=str(local_size),
                           LOCAL_RANK=str(rank % local_size), MASTER_ADDR=master, MASTER_PORT=str(self.master_port),
                           HOME=self.folder, **variables)
        return Started([*where, TALKER, self.folder, "0", "100000", "20"], environment)

    def talk(self, *ranks):
        with open(f"{self.folder}/attacked", "w"):
            pass
        wait_until(lambda: None not in [rank.process.poll() for rank in ranks] or
                   any(rank.process.poll() for rank in ranks), "the ranks")
        got = [rank.process.poll() for rank in ranks]
        said = "".join(rank.said() for rank in ranks)
        assert got == [0] * len(ranks) and "all right" in said, f"{got}\n{said}"
        shutil.rmtree(self.folder)


def peak_kib(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def tell(address, words, kept, family=socket.AF_INET):
    one = socket.socket(family)
    one.settimeout(5)
    try:
        one.connect(address)
        one.sendall(words)
    except OSError:
        pass  # it was put out: that is its right
    kept.append(one)


def knock(addresses, name, family=socket.AF_INET):
    """Every kind of visitor; those who stay are kept."""
    kept = []
    zero, seven = b"0" * 64, b"7" * 64
    kinds = [b"", b"GET / HTTP/1.0\r\n\r\n", os.urandom(700), b"\xff\xff\xff\x7fmuch", b"\xff\xff\xff\x3f" + b"x" * (1 << 20),
             framed(b"1 - " + name), framed(b"1 " + seven + b" " + name),
             framed(b"1 " + seven + b" " + name) + framed(seven), framed(b"1 " + zero + b" " + name),
             framed(b"0 - " + name), framed(b"-1 - " + name), framed(b"99999999999999999999 - " + name), framed(b"")]
    for words in kinds:
        for _ in range(KNOCKS):
            tell(addresses[0], words, kept, family)
    for address in addresses[1:]:
        tell(address, b"", kept, family)
    return kept


def trickle(connections, over):
    while not over.wait(0.3):
        for one in connections:
            try:
                one.send(b"\x10", socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            except OSError:
                pass


def as_stranger():
    """This script on host B: `board_test.py TALKER visit MASTER_PORT PORT...`. Stands until its input ends."""
    master_port = sys.argv[3]
    kept = knock([(two_hosts.A, int(port)) for port in sys.argv[4:]], run_name(master_port).encode())
    for port in range(9990, 60010, 10):  # a scan
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex((two_hosts.A, port))
        one.close()
    over = threading.Event()
    threading.Thread(target=trickle, args=(kept[:KNOCKS], over), daemon=True).start()
    print("stands", flush=True)
    sys.stdin.read()
    over.set()


def squat(ports):
    """Somebody on rank 0's host has these ports, and says nonsense at one of them. Where connections of the run before
    have just ended nobody can listen, rank 0 neither."""
    holders = []
    for port in ports:
        try:
            holders.append(socket.create_server(("", port)))
        except OSError as taken:
            assert taken.errno == errno.EADDRINUSE, taken

    def lie():
        try:
            while True:
                holders[0].accept()[0].sendall(framed(b"7" * 64))
        except OSError:
            pass
    threading.Thread(target=lie, daemon=True).start()
    return holders


def between_hosts(hosts):
    """Two runs of one name: in the second one a stranger holds what he saw of the first one, too."""
    master_port = 29511
    held = guessed_ports(master_port)
    for run in (1, 2):
        holders = squat(held)
        job = Job(2, master_port)
        first = job.start(0, TUTTI_JOIN_KEY=KEY)
        port = wait_until(lambda: port_of(first), "rank 0")
        before = peak_kib(first.process.pid)
        crowd = subprocess.Popen([*hosts.b, sys.executable, *sys.argv, "visit", str(master_port), str(port), *map(str, held)],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert crowd.stdout.readline() == "stands\n"
        guess = job.start(1, where=hosts.b, TUTTI_JOIN_KEY="another key of enough bytes")
        second = job.start(1, where=hosts.b, TUTTI_JOIN_KEY=KEY)
        wait_until(lambda: peak_kib(first.process.pid) and first.process.poll() is None, "rank 0")
        grown = peak_kib(first.process.pid) - before
        job.talk(first, second)
        assert grown < 64 << 10, f"rank 0 took {grown} KiB for strangers"
        guess.process.kill()
        guess.wait()
        crowd.communicate(timeout=LIMIT_S)
        for one in holders:
            one.close()
        print(f"between two hosts with a key, {len(held)} ports held by others: right, and {grown} KiB more", flush=True)
        held.insert(0, port)


def twice(hosts):
    """A second rank 1 is told, and the job goes on."""
    job = Job(3, 29521)
    first = job.start(0, TUTTI_JOIN_KEY=KEY)
    second = job.start(1, where=hosts.b, TUTTI_JOIN_KEY=KEY)
    third = job.start(1, where=hosts.b, TUTTI_JOIN_KEY=KEY)
    wait_until(lambda: None not in (second.process.poll(), third.process.poll())
               or (second.process.poll() or third.process.poll()), "a word to one of two that are rank 1")
    loser, winner = (second, third) if second.process.poll() is not None else (third, second)
    said = loser.said()
    assert "two processes say that they are rank 1" in said and loser.wait() != 0, said
    last = job.start(2, where=hosts.b, TUTTI_JOIN_KEY=KEY)
    job.talk(first, winner, last)
    print("two that are rank 1: one is told, the job is right", flush=True)


def without_key(hosts):
    job = Job(2, 29522)
    both = [job.start(0), job.start(1, where=hosts.b)]
    for rank in both:
        status, said = rank.wait(), rank.said()
        lines = [line for line in said.splitlines() if "TUTTI_JOIN_KEY" in line]
        assert status != 0 and len(lines) == 1, f"{status}\n{said}"
    shutil.rmtree(job.folder)
    print("between two hosts without a key: refused at once, in one line that says what to set", flush=True)


def board_names(start):
    with open("/proc/net/unix") as file:
        return sorted({line.rsplit(" ", 1)[1].strip() for line in file if f" @{start}" in line})


def as_nobody():
    """Another user: `board_test.py TALKER nobody START NAME`. Holds names like rank 0's, and knocks at those that it finds."""
    start, name = sys.argv[3:5]
    holder = socket.socket(socket.AF_UNIX)
    holder.bind(f"\0{start}1")
    holder.listen(100)
    print("holds", flush=True)
    names = sys.stdin.readline().split()
    kept = []
    for one in set(names) - {f"@{start}1"}:
        kept += knock([f"\0{one[1:]}"], name.encode(), socket.AF_UNIX)
    heard = 0
    for one in kept:
        one.settimeout(5)
        try:
            heard += len(one.recv(100))
        except OSError:
            pass
    print(f"heard {heard}", flush=True)
    sys.stdin.read()


def on_one_host():
    """Where we are root the strangers are another user; else this one, who may do as he likes but not be rank 1."""
    other = os.geteuid() == 0 and shutil.which("setpriv")
    words = ["setpriv", f"--reuid={NOBODY}", "--clear-groups"] if other else []
    master_port = 29523
    start = f"tutti-board-{os.geteuid()}-{fnv(run_name(master_port))}-"
    stranger = subprocess.Popen([*words, sys.executable, *sys.argv, "nobody", start, run_name(master_port)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)
    assert stranger.stdout.readline() == "holds\n"
    job = Job(2, master_port)
    first = job.start(0, local_size=2, master="127.0.0.1")
    wait_until(lambda: len(board_names(start)) > 1 or first.process.poll() is not None, "rank 0's name")
    stranger.stdin.write(" ".join(board_names(start)) + "\n")
    stranger.stdin.flush()
    if other:
        assert stranger.stdout.readline() == "heard 0\n"
    second = job.start(1, local_size=2, master="127.0.0.1")
    job.talk(first, second)
    stranger.communicate(timeout=LIMIT_S)
    print(f"on one host without a key, {'another user' if other else 'this user'} in between: right", flush=True)


def main():
    if sys.argv[2:3] == ["visit"]:
        return as_stranger()
    if sys.argv[2:3] == ["nobody"]:
        return as_nobody()
    two_hosts.enter()
    with two_hosts.TwoHosts() as hosts:
        between_hosts(hosts)
        twice(hosts)
        without_key(hosts)
    on_one_host()
    return None


main()
