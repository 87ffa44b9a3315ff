"""Boost.MPI's tests, from Debian's source of Boost, on the numbers of ranks that Boost says."""
import concurrent.futures
import os
import re

from fetch import debian_source, unpack

IN_CI = False  # an archive of 70 MB, and a minute of compiling before the first test
PACKAGE = "boost1.81"
FLAGS = ["-std=c++17", "-O0", "-g0", "-w"]
USUAL = "1 2 3 4 7 8 13 17"  # where Boost's list says nothing
FEWEST = 30


def rename(path):
    header = re.fullmatch(r"libs/.*?include/(boost/.*)", path)
    if header:
        return "include/" + header[1]
    wanted = re.match(r"libs/(mpi/(src|test|example)|serialization/src)/", path)
    return path if wanted and "/python/" not in path and "xml" not in path else None


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
    archive = place.folder / "libboost.a"
    if archive.exists():
        return archive
    files = [*source.glob("libs/mpi/src/*.cpp"), *source.glob("libs/serialization/src/*.cpp")]
    objects = [(place.folder / (path.stem + ".o"), ["-c", path]) for path in files]
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
    source = place.folder / "source"
    unpack(debian_source(place, PACKAGE), source, rename)
    archive = library(place, source)
    tests = list(listed(source))
    if len(tests) < FEWEST:
        yield "boost", f"only {len(tests)} tests found; at least {FEWEST} are expected"
    make(place, source, [(place.folder / name, [path, archive]) for name, path, _ in tests])
    for name, _, counts in tests:
        for count in counts:
            yield f"boost.mpi {name} on {count} ranks", place.ranks(count, place.folder / name)
