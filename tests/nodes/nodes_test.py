#!/usr/bin/env python3
"""torchrun's lines on one node and on several that are started one by one; nodes that come and go;
prun --listen and --join. Usage: nodes_test.py PRUN"""
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../support")
from jobs import LIMIT_S, Started, free_port, processes_with, wait_until  # noqa: E402

WORKER = f"{HERE}/worker.py"


class Node(Started):
    def __init__(self, suite, tool, *words, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PET_")}
        environment.update(TUTTI_TEST_MARK=suite.mark, **variables)
        super().__init__([f"{suite.folder}/{tool}", *words], environment)
        suite.nodes.append(self)

    def workers(self):
        """What its workers printed, without the port."""
        return sorted(" ".join(line.split()[1:7] + line.split()[8:]) for line in self.said().splitlines()
                      if line.startswith("worker "))


class Suite:
    def __init__(self, prun):
        self.mark = f"nodes-{os.getpid()}"
        self.folder = tempfile.mkdtemp(prefix="nodes-test-")
        for name in ("prun", "torchrun", "torch.distributed.launch"):
            os.symlink(prun, f"{self.folder}/{name}")
        self.failures = 0
        self.nodes = []  # of the stage that runs

    def check(self, what, good, *nodes):
        self.failures += 0 if good else 1
        print(f"{'ok' if good else 'FAILED'} {what}")
        if not good:
            for node in nodes:
                print(node.said())
        sys.stdout.flush()

    def expect(self, what, nodes, statuses, workers):
        got = [node.wait() for node in nodes]
        ran = sorted(line for node in nodes for line in node.workers())
        self.check(f"{what} (statuses {got}, workers {ran})", got == statuses and ran == sorted(workers), *nodes)

    def until(self, condition, what, *nodes):
        try:
            wait_until(condition, what)
        except AssertionError:
            self.show(nodes)
            raise

    def show(self, nodes):
        for node in nodes:
            print(f"-- {' '.join(node.process.args[1:])}\n{node.said()}", flush=True)

    def clean(self):
        wait_until(lambda: not processes_with(self.mark), f"the end of {processes_with(self.mark)}")
        shutil.rmtree(self.folder)


def one_node(suite):
    torchrun = lambda *words, **variables: Node(suite, "torchrun", *words, **variables)
    suite.expect("--standalone", [torchrun("--standalone", "--nproc-per-node", "2", WORKER, "x")], [0],
                 ["0 0 2 2 0 0 x", "1 1 2 2 0 0 x"])
    suite.expect("one worker unless told", [torchrun(WORKER)], [0], ["0 0 1 1 0 0"])
    suite.expect("PET_NPROC_PER_NODE", [torchrun(WORKER, PET_NPROC_PER_NODE="2")], [0], ["0 0 2 2 0 0", "1 1 2 2 0 0"])
    suite.expect("--local-rank", [Node(suite, "torch.distributed.launch", "--nproc_per_node=2", WORKER)], [0],
                 ["0 0 2 2 0 0 --local-rank=0", "1 1 2 2 0 0 --local-rank=1"])
    node = torchrun("--nproc-per-node=2", "--max-restarts=2", WORKER, "fail-once")
    node.wait()
    suite.check("a worker that fails once restarts all",
                node.process.returncode == 0 and {"0 0 2 2 0 1 fail-once", "1 1 2 2 0 1 fail-once"} <= set(node.workers())
                and "restart 1 of 2" in node.said(), node)
    node = torchrun("--nproc-per-node=1", "--max-restarts=2", WORKER, "fail-always")
    suite.expect("restarts end, with the worker's status", [node], [4], [f"0 0 1 1 0 {i} fail-always" for i in range(3)])
    logs = f"{suite.folder}/logs"
    node = torchrun("--nproc-per-node=2", "--log-dir", logs, "--redirects", "0:1", "--tee", "1:1", WORKER)
    suite.expect("--redirects and --tee", [node], [0], ["1 1 2 2 0 0"])
    found = sorted(os.path.relpath(f"{root}/{name}", logs).split("/", 1)[1]
                   for root, _, files in os.walk(logs) for name in files)
    suite.check(f"their files: {found}", found == ["attempt_0/0/stdout.log", "attempt_0/1/stdout.log"], node)
    node = torchrun("--nproc-per-node=3", "--local-ranks-filter", "1", WORKER)
    suite.expect("--local-ranks-filter", [node], [0], ["1 1 3 3 0 0"])
    suite.expect("--no-python and -m", [torchrun("--no-python", sys.executable, WORKER)], [0], ["0 0 1 1 0 0"])


def several_nodes(suite):
    port = free_port()
    words = ["--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={port}"]
    nodes = [Node(suite, "torchrun", *words, f"--node-rank={rank}", f"--nproc-per-node={rank + 1}", WORKER)
             for rank in (1, 0)]
    suite.expect("static nodes, the first one later", nodes, [0, 0], ["0 0 3 1 0 0", "1 0 3 2 1 0", "2 1 3 2 1 0"])
    suite.check("MASTER_PORT is as given", all(line.split()[7] == str(port) for node in nodes
                                               for line in node.said().splitlines() if line.startswith("worker")), *nodes)
    words[-1] = f"--master-port={free_port()}"
    head, _ = [Node(suite, "prun", *words, f"--node-rank={rank}", "--nproc-per-node=1", *more, WORKER)
               for rank, more in ((0, ["--output-from", "5"]), (1, []))]
    suite.check(f"a rank that there is not is refused, also where nodes meet ({head.wait()})",
                head.process.returncode != 0 and "--output-from 5: the job has ranks 0 to 1" in head.said(), head)
    words = ["--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{free_port()}", "--rdzv-id=job7",
             "--max-restarts=1"]
    nodes = [Node(suite, "torchrun", *words, WORKER, "fail-always") for _ in range(2)]
    got = [node.wait() for node in nodes]
    suite.check(f"c10d: both end with the failed worker's status {got}", got == [4, 4], *nodes)
    endpoint = f"localhost:{free_port()}"
    right = Node(suite, "torchrun", *words[:2], f"--rdzv-endpoint={endpoint}", "--rdzv-id=right", WORKER)
    wait_until(lambda: "waiting for hosts" in right.said(), "the first node")
    wrong = Node(suite, "torchrun", *words[:2], f"--rdzv-endpoint={endpoint}", "--rdzv-id=wrong", WORKER)
    suite.check("another --rdzv-id is refused", wrong.wait() == 209 and "differ" in wrong.said(), wrong)
    right.process.send_signal(signal.SIGINT)
    right.wait()


def interrupted(suite):
    """While a node still waits for what its ranks left, to come again, its user may end it."""
    go = f"{suite.folder}/hush"
    words = ["--nnodes=2", "--master-addr=127.0.0.1", f"--master-port={free_port()}", "--max-restarts=3"]
    head, node = [Node(suite, "torchrun", "--verbose", *words, f"--node-rank={rank}", WORKER, "leave", go) for rank in range(2)]
    suite.until(lambda: "ended with status 3" in head.said() and "talk" in node.said(), "the worker to fail", head, node)
    suite.until(lambda: not any("python" in command and WORKER in command and "--nnodes" not in command
                                for command in processes_with(suite.mark).values()), "the workers to end", head, node)
    suite.until(lambda: "cleaning up" in head.said(), "the head to tell the node to leave", head, node)
    time.sleep(0.5)  # until it has heard; before that its end is no other
    os.killpg(node.process.pid, signal.SIGINT)
    suite.check(f"a node that is to come again ends when interrupted (status {node.wait()})",
                node.process.returncode == 1 and len(node.workers()) == 1, node)
    os.killpg(head.process.pid, signal.SIGINT)
    head.wait()


def elastic(suite):
    go = f"{suite.folder}/go"
    words = ["--nnodes=1:3", "--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{free_port()}",
             "--rdzv-conf=last_call_timeout=1", WORKER, "until", go]
    first = Node(suite, "torchrun", *words)
    suite.until(lambda: first.workers() == [f"0 0 1 1 0 0 until {go}"], "the first node to start alone", first)
    second = Node(suite, "torchrun", *words)
    suite.until(lambda: second.workers() == [f"1 0 2 1 1 0 until {go}"], "the second node to join", first, second)
    third = Node(suite, "torchrun", *words)
    suite.until(lambda: f"1 0 3 1 1 0 until {go}" in second.workers(), "three nodes, the second in its place",
                first, second, third)
    os.killpg(second.process.pid, signal.SIGKILL)
    suite.until(lambda: f"0 0 2 1 0 0 until {go}" in first.workers()
                and any(line.startswith("1 0 2 1 1") for line in third.workers()),
                "two nodes to go on without the second", first, third)
    open(go, "w").close()
    got = [first.wait(), third.wait()]
    suite.check(f"elastic: nodes come and go (statuses {got})", got == [0, 0], first, third)


def listening(suite):
    key = f"{suite.folder}/key"
    port = free_port()
    head = Node(suite, "prun", "--listen", str(port), "--key-file", key, "--nodes", "2", "-N", "1", "sh", "-c",
                "echo rank $RANK of $WORLD_SIZE")
    wait_until(lambda: os.path.exists(key), "the key file")
    suite.check("the key is for its user only", os.stat(key).st_mode & 0o077 == 0, head)
    with open(f"{suite.folder}/other", "w") as file:
        file.write("not the right key")
    stranger = Node(suite, "prun", "--join", f"localhost:{port}", "--key-file", f"{suite.folder}/other")
    suite.check("a stranger is refused", stranger.wait() == 209, stranger)
    hosts = [Node(suite, "prun", "--join", f"localhost:{port}", "--key-file", key) for _ in range(2)]
    got = [head.wait(), *[host.wait() for host in hosts]]
    suite.check(f"--listen and --join (statuses {got})",
                got == [0, 0, 0] and "rank 0 of 2\n" in head.said() and "rank 1 of 2\n" in head.said(), head, *hosts)
    alone = Node(suite, "prun", "--listen", str(free_port()), "--key-file", key, "--nodes", "1", "--spawn-timeout", "1", "true")
    suite.check("nobody comes in the time of --spawn-timeout",
                alone.wait() == 209 and "only 0 hosts came" in alone.said() and "within 1 s" in alone.said(), alone)
    alone = Node(suite, "prun", "--join", f"localhost:{free_port()}", "--key-file", key, "--spawn-timeout", "1")
    suite.check("no job is there in the time of --spawn-timeout", alone.wait() == 209, alone)
    suite.check("a connection that says nothing, or nonsense, does no harm", nonsense(suite), head)


def making_a_key(suite):
    key = f"{suite.folder}/full"
    done = subprocess.run([f"{suite.folder}/prun", "--listen", str(free_port()), "--key-file", key, "true"], text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT_S,
                          restore_signals=False,  # Python ignores SIGXFSZ
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    suite.check(f"a key that could not be written leaves no file ({done.stderr.strip()})",
                done.returncode != 0 and "cannot write a key" in done.stderr and
                not [name for name in os.listdir(suite.folder) if name.startswith("full")])
    key = f"{suite.folder}/one"
    heads = [Node(suite, "prun", "--listen", str(free_port()), "--key-file", key, "--nodes", "1", "--spawn-timeout", "1",
                  "true") for _ in range(8)]
    suite.check("several make one key at a time", all(head.wait() == 209 and "only 0 hosts came" in head.said()
                                                      for head in heads), *heads)


def nonsense(suite):
    port = free_port()
    head = Node(suite, "prun", "--listen", str(port), "--key-file", f"{suite.folder}/key", "--nodes", "1", "true")
    def connect():
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            return None
    visitors = [wait_until(connect, "the port") for _ in range(3)]
    visitors[0].sendall(b"GET / HTTP/1.0\r\n\r\n")
    visitors[1].sendall(b"TUTTI join 0 0 0 0 0 0 0\n")
    host = Node(suite, "prun", "--join", f"localhost:{port}", "--key-file", f"{suite.folder}/key")
    good = [head.wait(), host.wait()] == [0, 0]
    for visitor in visitors:
        visitor.close()
    return good


def main():
    suite = Suite(os.path.abspath(sys.argv[1]))
    try:
        for stage in (one_node, several_nodes, interrupted, elastic, listening, making_a_key):
            suite.nodes.clear()
            stage(suite)
    except BaseException:
        suite.show(suite.nodes)
        for pid in processes_with(suite.mark):
            os.kill(pid, signal.SIGKILL)
        raise
    suite.clean()
    print(f"{suite.failures} failures")
    sys.exit(1 if suite.failures else 0)


main()
