#!/usr/bin/env python3
"""A real torch training script under prun, in torchrun's words and in tutorials': one node, two
virtual hosts, nodes that are started one by one, workers that fail and start again, a node that dies.

    torch_test.py PRUN BUILD_FOLDER

Skips where torch cannot be had. With TUTTI_TEST_QUICK only the two virtual hosts.
"""
import os
import pathlib
import shutil
import signal
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import prepare  # noqa: E402
from jobs import Started, free_port, processes_with, wait_until  # noqa: E402

SKIP = 77
FORBIDDEN = 208  # namespaces are; launcher/status/status.h
LIMIT_S = 400
TRAIN = str(HERE / "train.py")


class Node(Started):
    def __init__(self, suite, tool, *words):
        super().__init__([f"{suite.folder}/{tool}", *words], suite.environment)

    def workers(self):
        return sorted(line for line in self.said().splitlines() if line.startswith("trained "))


class Suite:
    def __init__(self, prun, variables):
        self.mark = f"torch-{os.getpid()}"
        self.folder = tempfile.mkdtemp(prefix="torch-test-")
        for name in ("prun", "torchrun", "torch.distributed.launch"):
            os.symlink(prun, f"{self.folder}/{name}")
        path = variables["PATH"] + os.pathsep + os.environ["PATH"]
        self.environment = dict(os.environ, **dict(variables, PATH=path), TUTTI_TEST_MARK=self.mark)
        self.environment.pop("MALLOC_PERTURB_", None)  # meson's, to find what our own memory is wrong about
        self.failures = 0

    def expect(self, what, nodes, *, size, local, told=False, restart=0):
        """All nodes end well, and `size` workers trained, `local` of them on each node."""
        statuses = [node.wait(LIMIT_S) for node in nodes]
        workers = sorted(line for node in nodes for line in node.workers())
        wanted = sorted(f"trained {rank} of {size}, local {rank % local}, told {rank % local if told else None}, "
                        f"restart {restart}" for rank in range(size))
        good = not any(statuses) and workers == wanted
        self.failures += 0 if good else 1
        print(f"{'ok' if good else 'FAILED'} {what}", flush=True)
        if not good:
            print(f"statuses {statuses}, wanted {wanted}", *[node.said() for node in nodes], sep="\n", flush=True)

    def clean(self):
        wait_until(lambda: not processes_with(self.mark), f"the end of {processes_with(self.mark)}")
        shutil.rmtree(self.folder)


def one_node(suite):
    node = Node(suite, "torchrun", "--standalone", "--nproc-per-node=2", "--max-restarts=1", TRAIN, "--fail-at=3")
    suite.expect("--standalone, a worker fails and all start again", [node], size=2, local=2, restart=1)


def two_hosts(suite):
    """The line that tutorials teach, but for the virtual hosts."""
    line = ("--virtual -np 4 -H a:2,b:2 -x MASTER_ADDR=a -x MASTER_PORT=1234 -x PATH -bind-to none -map-by slot "
            "-mca pml ob1 -mca btl ^openib python3")
    node = Node(suite, "prun", *line.split(), TRAIN)
    if node.wait(LIMIT_S) == FORBIDDEN:
        print("skipped: two hosts (no namespaces here)")
    else:
        suite.expect("two hosts", [node], size=4, local=2)


def meet(suite, nodes, *words):
    """The words of one of the torchruns that meet at a port."""
    return ["--nproc-per-node=1", f"--nnodes={nodes}", "--rdzv-backend=c10d", "--rdzv-id=7",
            f"--rdzv-endpoint=localhost:{free_port()}", *words, TRAIN]


def one_by_one(suite):
    words = meet(suite, "2")
    suite.expect("two nodes that meet", [Node(suite, "torchrun", *words) for _ in range(2)], size=2, local=1)


def local_rank(suite):
    node = Node(suite, "torch.distributed.launch", "--nproc_per_node=2", TRAIN)
    suite.expect("--local-rank", [node], size=2, local=2, told=True)


def node_dies(suite):
    """The second of one to two nodes is killed; the first starts again and trains to the end."""
    enough = f"{suite.folder}/enough"
    words = [*meet(suite, "1:2", "--rdzv-conf=last_call_timeout=2"), f"--until={enough}"]
    first = Node(suite, "torchrun", *words)
    wait_until(lambda: "waiting" in first.said() or "began" in first.said(), "the first node")
    second = Node(suite, "torchrun", *words)
    wait_until(lambda: "began 1 of 2" in second.said(), "both nodes' training")
    os.killpg(second.process.pid, signal.SIGKILL)
    second.wait()
    wait_until(lambda: "began 0 of 1, restart" in first.said().split("began 0 of 2")[-1], "training alone")
    open(enough, "w").close()
    restart = first.said().rsplit("restart ", 1)[1].split()[0]
    suite.expect("a node dies, the other goes on alone", [first], size=1, local=1, restart=restart)


def main():
    prun, build = os.path.abspath(sys.argv[1]), sys.argv[2]
    try:
        variables = prepare.prepare(build)
    except prepare.Unreachable as reason:
        print(f"skipped: {reason}")
        sys.exit(SKIP)
    suite = Suite(prun, variables)
    more = [] if os.environ.get("TUTTI_TEST_QUICK") else [one_node, one_by_one, local_rank, node_dies]
    for stage in [two_hosts, *more]:
        stage(suite)
    suite.clean()
    print(f"{suite.failures} failures")
    sys.exit(1 if suite.failures else 0)


main()
