"""Boost.MPI's tests, from Debian's source of Boost, on the numbers of ranks that Boost says.

All of them, with the serialization library from the same source. With TUTTI_TEST_QUICK some,
each on one number of ranks, with Debian's own serialization library, whose Boost is older: so
only Boost.MPI itself is unpacked and compiled, in less than a minute.
"""
import concurrent.futures
import os
import re

from fetch import Skipped, debian_source, unpack

IN_QUICK = True
QUICK = bool(os.environ.get("TUTTI_TEST_QUICK"))
PACKAGE, SYSTEMS = "boost1.81", "boost1.74"
FLAGS = ["-std=c++17", "-O0", "-g0", "-w"]
USUAL = "1 2 3 4 7 8 13 17"  # where Boost's list says nothing
FEWEST = 30
CHOSEN = {"all_reduce_test": 11, "gather_test": 11, "nonblocking_test": 2, "ring_test": 7,
          "wait_any_test": 7, "skeleton_content_test": 3, "graph_topology_test": 7,
          "groups_test": 4, "non_blocking_any_source": 17}


def rename(path):
    header = re.fullmatch(r"libs/.*?include/(boost/.*)", path)
    if header:
        return "include/" + header[1]
    wanted = re.match(r"libs/(mpi/(src|test|example)|serialization/src)/", path)
    return path if wanted and "/python/" not in path and "xml" not in path else None


def fetched(place):
    """The folder with the source."""
    source = place.folder / ("quick" if QUICK else "source")
    if not QUICK:
        unpack(debian_source(place, PACKAGE), source, rename)
        return source
    probe = place.folder / "probe.cpp"
    probe.write_text("#include <boost/archive/text_oarchive.hpp>\nint main() {}\n")
    if not place.call("c++", probe, "-o", place.folder / "probe", "-lboost_serialization"):
        raise Skipped("there is no serialization library (Debian: libboost-serialization-dev)")
    unpack(debian_source(place, SYSTEMS), source, rename, only="libs/mpi/")
    return source


def make(place, source, jobs):
    """Compiles; jobs: (output, arguments). What is there already is kept."""
    def one(job):
        output, arguments = job
        if not output.exists():
            place.need(f"compiling {output.name}", place.tool("mpicxx"), *FLAGS, "-isystem",
                       source / "include", *arguments, "-o", output)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, jobs))


def library(place, source):
    archive = source / "libboost.a"
    if archive.exists():
        return archive
    files = [*source.glob("libs/mpi/src/*.cpp"), *source.glob("libs/serialization/src/*.cpp")]
    objects = [(source / (path.stem + ".o"), ["-c", path]) for path in files]
    make(place, source, objects)
    place.need("making a library", "ar", "rcs", archive, *[output for output, _ in objects])
    return archive


def listed(source):
    """(name, source file, numbers of ranks) of each test in Boost's own list."""
    text = (source / "libs/mpi/test/Jamfile.v2").read_text()
    for name, rest in re.findall(r"\[ mpi-test (\S+)(.*?)\]", text):
        fields = [field.strip() for field in rest.split(":")] + [""] * 4
        path = source / "libs/mpi/test" / (fields[1] or name + ".cpp")
        yield name, path, [int(word) for word in (fields[3] or USUAL).split()]


def test(place):
    source = fetched(place)
    tests = list(listed(source))
    if len(tests) < FEWEST:
        yield "boost", f"only {len(tests)} tests found; at least {FEWEST} are expected"
    libraries = [library(place, source)]
    if QUICK:
        tests = [(name, path, [CHOSEN[name]]) for name, path, _ in tests if name in CHOSEN]
        libraries.append("-lboost_serialization")
    make(place, source, [(source / name, [path, *libraries]) for name, path, _ in tests])
    for name, _, counts in tests:
        for count in counts:
            yield f"boost.mpi {name} on {count} ranks", place.ranks(count, source / name)
