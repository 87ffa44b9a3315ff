#!/usr/bin/env python3
"""run.py BUILD PRUN LIBRARY WHAT MODE [K/N] -- unmodified programs, each call's buffers moved to GPU memory (mover.h)

WHAT: ranks (our own programs), threads (those of them with threads), random, mpich, mpi4py. MODE: ipc, refused (no
handle of another process can be opened), hosts (two virtual ones). With TUTTI_TEST_QUICK a sample; with
TUTTI_TEST_LONG all of them, on 1 to 7 ranks, by a seed of memory kinds that TUTTI_TEST_FUZZ_FIRST draws. K/N: the
K-th of N parts of that (not of mpi4py, which has TUTTI_TEST_MODULES). What fails prints the line that repeats it.
"""
import itertools
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
SKIP, NO_NAMESPACES = 77, 208  # launcher/status/status.h
QUICK, LONG = (bool(os.environ.get("TUTTI_TEST_" + length)) for length in ("QUICK", "LONG"))
MODES = {"ipc": {}, "refused": {"STANDIN_CUDA_IPC": "0"}, "hosts": {}}
HOSTS = ["--virtual", "-H", "a:4,b:4", "--map-by", "node"]
# Of tests/ranks; what a sample has first.
SAMPLE = ["p2p", "persistent", "nonblocking", "collectives", "topologies", "buffered", "inter"]
RANKS = SAMPLE + ["wildcards", "ordering", "errors", "datatypes", "operations", "halves", "comms", "groups",
                  "threads", "not_significant", "attributes", "callbacks", "leaders", "legal_beside", "aliases",
                  "large_counts", "own_part", "makers", "threads_everywhere", "overlapped", "levels",
                  *("farewell " + how for how in ("disconnect", "receiver", "finalize", "session"))]
THREADED = ["threads", "makers", "threads_everywhere"]
SLOW = ["itself", "overtaken", "long_ways", "long_blocks"]  # with --long
PAIRS = ["long_ways"]  # even numbers of ranks
WORDS = {"levels": ["-x", "TUTTI_RANKS_PER_CACHE=2"]}  # for prun
WITHOUT_RANKS = {
    "abort": "ends the job", "exits": "the same", "late_session": "the same", "closed_library": "the same", "fatal": "ends the job", "too_much": "ends the job", "few_files": "its own limit is one of files", "short_of_memory": "its own limit ends other ranks' calls, too", "no_memory": "the mover's own allocations would fail",
    "dead_member": "a script kills a rank, and counts",
    "late_taker": "a script opens its FIFO", "forked": "a driver's context is the parent's", "share": "no program of MPI's", "two_threads": "is told on purpose that it is wrong", "shared_cores": "has no buffers",
    "stale_handles": "frees a request twice: the mover keeps one that receives until its data are there",
    "told_at_once": "its two ranks share a page, and look at it while the mover calls MPI",
    "flood": "a million messages, each with a copy by the GPU", "flood_first": "70,000 of them, the same"}
# Of MPICH's programs: one asks once whether a receive has ended whose message was sent; one has eight ranks send for
# minutes; two expect that each send can be cancelled: a short one out of GPU memory is on its way to where it is kept.
WITHOUT = ["pt2pt/rqstatus", "pt2pt/sendflood", "pt2pt/scancel", "pt2pt/pscancel"]
LIMIT = "1500"  # seconds for one of them: threads/pt2pt/threads sends two million messages
# On two hosts these take the ranks that a reordered graph gives them for their old ones: with hosts named by node
# ranks are really reordered.
WITHOUT_ON_HOSTS = ["topo/distgraph1", "topo/dgraph_unwgt"]
# Of mpi4py's: they ask once whether requests have ended whose messages were matched; the last one then gives the
# buffer of such a receive back, whatever the answer was.
WITHOUT_MPI4PY = ["testWaitSomeRecv", "testTestSomeRecv", "testManyISendAndRecv", "*test_util_pkl5.*.testMProbe"]
# Functions whose buffers must have been moved, together: short of what is. One random program has 12 and more.
FEWEST = {"ranks": 90, "threads": 88, "random": 12, "mpich": 8, "mpi4py": 15}
FEWEST_OF_SAMPLE = 62


def fail(done, command, environment):
    print((done.stdout + done.stderr)[-4000:])
    words = " ".join(f"{name}={value}" for name, value in environment.items())
    sys.exit(f"status {done.returncode}: {words} {' '.join(map(str, command))}")


def moved_functions(counts):
    return {line.split()[0] for line in counts.read_text().splitlines()} if counts.exists() else set()


def all_are_named():
    named = {name.split()[0] for name in RANKS + SLOW} | set(WITHOUT_RANKS)
    if unnamed := {source.stem for source in (TESTS / "ranks").glob("*.cc")} - named:
        sys.exit(f"neither moved nor left out: {sorted(unnamed)}")


def ranks(build, environment, mode, programs, part, parts):
    all_are_named()
    sizes = (1, 2, 3, 4, 7) if LONG else (3,) if mode == "hosts" or QUICK else (2, 4)
    runs = [run for run in itertools.product(sizes, programs) if run[1] not in PAIRS or run[0] % 2 == 0][part - 1::parts]
    for size, name in runs:
        name, *words = name.split()
        command = [HERE / "prun.py", "--oversubscribe", "--timeout", "600", *(HOSTS if mode == "hosts" else []),
                   *WORDS.get(name, []), "-np", str(size), build / "tests/ranks" / f"ranks_{name}", *words]
        done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True,
                              errors="replace", stdin=subprocess.DEVNULL)
        if done.returncode == NO_NAMESPACES and mode == "hosts":
            print(done.stderr)
            sys.exit(SKIP)
        if done.returncode != 0:
            fail(done, command, environment)
    print(f"{len(runs)} runs")


def others(command, environment):
    """The runner of another suite, with our prun."""
    done = subprocess.run([sys.executable, *map(str, command)], env=os.environ | environment)
    if done.returncode != 0:
        sys.exit(done.returncode)


def main():
    build, prun, library, what, mode, *part = sys.argv[1:]
    part, parts = map(int, (part or ["1/1"])[0].split("/"))
    build = pathlib.Path(build).resolve()
    # Streams that run far behind are what suite gpu is for; here there are many calls.
    # A machine with GPUs has a driver's files: what members ask each other there they ask here. NCCL, which rounds
    # sums of two-byte floats in its own way, is never worth it.
    environment = {"STANDIN_CUDA_DELAY_US": "10", "TUTTI_GPU_SUPPORT": "yes", "TUTTI_COSTS": "nccl=1e6:1e-5", **MODES[mode],
                   "MOVER_PRUN": str(pathlib.Path(prun).resolve()),
                   "MOVER_LIBRARY": str(pathlib.Path(library).resolve())}
    if what == "mpich" and mode == "hosts":
        environment["MOVER_HOSTS"] = "--virtual -H a:8,b:8 --map-by node"
    seed = 1 + int(os.environ.get("TUTTI_TEST_FUZZ_FIRST", "0")) % 1000 if LONG else 1
    counts = build / "tests/mover" / f"counts.{what}.{mode}"
    counts.unlink(missing_ok=True)
    environment |= {"MOVER_SEED": str(seed), "MOVER_COUNTS": str(counts)}
    if what == "ranks":
        ranks(build, environment, mode, SAMPLE if QUICK else RANKS + (SLOW if LONG else []), part, parts)
    elif what == "threads":
        ranks(build, environment, mode, THREADED, part, parts)
    elif what == "random":
        seconds = str((900 if LONG else 5 if QUICK else 15) // parts)
        link = "hosts" if mode == "hosts" else "shm"
        others([TESTS / "random/run.py", HERE / "prun.py", build / "tests/random/random_program", link,
                "--seconds", seconds], environment)
    elif what == "mpich":
        without = WITHOUT + (WITHOUT_ON_HOSTS if mode == "hosts" else [])
        others([TESTS / "programs/run.py", build, HERE / "prun.py", "mpich"],
               environment | {"TUTTI_TEST_STEP": "1" if LONG else "40", "TUTTI_TEST_WITHOUT": " ".join(without),
                           "TUTTI_TEST_LIMIT": os.environ.get("TUTTI_TEST_LIMIT", LIMIT), "TUTTI_TEST_PART": f"{part}/{parts}"})
    else:
        where = ["--virtual", "-H", "a:1,b:1"] if mode == "hosts" else ["-np", "2"]
        modules = {} if LONG else {"TUTTI_TEST_MODULES": "test_p2p_buf" if QUICK else "test_(p2p_buf|cco_buf|cco_nb_vec)"}
        others([TESTS / "mpi4py/run.py", build, HERE / "prun.py", *where],
               environment | modules | {"TUTTI_TEST_WITHOUT": " ".join(WITHOUT_MPI4PY)})
    moved = moved_functions(counts)
    print(f"buffers of {len(moved)} functions were moved")
    fewest = FEWEST_OF_SAMPLE if what == "ranks" and QUICK else FEWEST[what]
    if len(moved) < fewest // parts:
        sys.exit(f"at least {fewest // parts} functions are expected")


main()
