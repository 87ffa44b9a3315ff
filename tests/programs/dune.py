"""DUNE's C++ layer over MPI: the tests of dune-common's communication, from Debian's source.

Built without CMake: the layer is headers and two files; the configuration says that there is MPI.
"""
import concurrent.futures
import os
import re

from fetch import debian_source, unpack

IN_QUICK = True
PACKAGE = "dune-common"
TESTS = "dune/common/parallel/test"
FLAGS = ["-std=c++17", "-O0", "-g0", "-w"]
FEWEST = 10
CONFIG = '#define HAVE_MPI 1\n#define DUNE_COMMON_VERSION "2.9"\n'


def listed(source):
    """(name, numbers of ranks) of each test in its own list; where that says nothing, one rank."""
    text = (source / TESTS / "CMakeLists.txt").read_text()
    for name, rest in re.findall(r"dune_add_test\(SOURCES (\w+)\.cc(.*?)\)", text, re.S):
        counts = re.search(r"MPI_RANKS ([\d ]+)", rest)
        yield name, [int(word) for word in (counts[1] if counts else "1").split()]


def test(place):
    source = place.folder / "source"
    unpack(debian_source(place, PACKAGE), source,
           lambda path: path if path.startswith("dune/common/") else None)
    (source / "config.h").write_text(CONFIG)
    tests = list(listed(source))
    if len(tests) < FEWEST:
        yield "dune", f"only {len(tests)} tests found; at least {FEWEST} are expected"
    common = [source / "dune/common" / name for name in ("exceptions.cc", "stdstreams.cc")]

    def make(name):
        program = place.folder / name
        if not program.exists():
            place.need(f"compiling {name}", place.tool("mpicxx"), *FLAGS, "-I", source,
                       "-include", "config.h",
                       source / TESTS / f"{name}.cc", *common, "-o", program)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(make, [name for name, _ in tests]))
    for name, counts in tests:
        for count in counts:
            yield f"dune {name} on {count} ranks", place.ranks(count, place.folder / name)
        if max(counts) > 1:
            yield f"dune {name} on two virtual hosts", \
                place.ranks(max(counts), place.folder / name, hosts=f"a:{max(counts) - 1},b:1")
