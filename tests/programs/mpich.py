"""MPICH's test suite, from Debian's source: its programs for message passing, by its own lists.

Built without its configure script: a program is one file and some of utilities. All that
its lists run of the chapters that are there, with TUTTI_TEST_QUICK every tenth (TUTTI_TEST_STEP), with
TUTTI_TEST_PART=K/N the K-th of N parts. What is left out says why.
"""
import concurrent.futures
import os

from fetch import debian_source, unpack

IN_QUICK = True
STEP = int(os.environ.get("TUTTI_TEST_STEP", "10" if os.environ.get("TUTTI_TEST_QUICK") else "1"))
PART, PARTS = map(int, os.environ.get("TUTTI_TEST_PART", "1/1").split("/"))
WITHOUT = os.environ.get("TUTTI_TEST_WITHOUT", "").split()  # besides LEFT_OUT
PACKAGE = "mpich"
FEWEST = 300
FLAGS = ["-O0", "-g0", "-w", "-mpi1"]  # some use what MPI 3 removed
FOLDERS = ("pt2pt", "part", "coll", "datatype", "comm", "attr", "group", "topo", "errhan", "init",
           "info", "mpi_t", "threads/pt2pt", "threads/comm")
CONFIG = "".join(f"#define HAVE_{name} 1\n" for name in (
    "FLOAT__COMPLEX", "DOUBLE__COMPLEX", "LONG_DOUBLE__COMPLEX", "GETRUSAGE", "INTTYPES_H",
    "LONG_DOUBLE", "LONG_LONG", "MEMORY_H", "PTHREAD_H", "STDARG_H", "STDINT_H", "STDLIB_H",
    "STRDUP", "STRINGS_H", "STRING_H", "SYS_RESOURCE_H", "SYS_STAT_H", "SYS_TIME_H", "SYS_TYPES_H",
    "UNISTD_H", "USLEEP", "_BOOL", "LIMITS_H", "MEMSET", "MPI_INTEGER16"))
CONFIG += ("#define STDC_HEADERS 1\n#define POINTERINT_t long\n#define SIZEOF_INT 4\n"
           "#define SIZEOF_LONG 8\n#define SIZEOF_LONG_LONG 8\n#define SIZEOF_VOID_P 8\n"
           "#define SIZEOF_MPI_OFFSET 8\n#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX\n"
           "#define THREAD_PACKAGE_POSIX 1\n#define USE_STRICT_MPI 1\n")
LEFT_OUT = {
    "MPICH's own functions": ("errhan/adderr", "mpi_t/qmpi_test"),
    "makes a struct of a type that it freed": ("datatype/indexed_misc", "datatype/indexed_misc_oldapi"),
    "wants names of types that MPI 3 removed": ("datatype/typename_oldapi",),
    "takes handles for integers": ("coll/nonblocking2", "coll/nonblocking3", "datatype/pack_external"),
    "an error without communicator is MPI_COMM_SELF's since MPI 4": ("attr/attrerrtype",),
    "wants no communicator where MPI has one without dimensions": ("topo/cartsuball",),
    "meant to fail": ("errhan/errfatal", "init/exitst1", "init/exitst2", "init/exitst3", "init/timeout"),
    "writes what no control variable takes": ("mpi_t/cvarwrite",),
    "windows": ("attr/keyval_double_free_win",),
    "its threads wait outside MPI, spinning; minutes on few cores": ("threads/pt2pt/multisend4",),
}


def listed(source, folder):
    """(program, ranks, arguments, environment) of each line of its lists for strict MPI."""
    without = {name for names in LEFT_OUT.values() for name in names} | set(WITHOUT)
    for name in ("testlist", "testlist.in"):
        path = source / folder / name
        for line in path.read_text().splitlines() if path.exists() else ():
            words = line.split("#")[0].split()
            if len(words) < 2 or not words[1].isdigit() or "strict=false" in words:
                continue
            if f"{folder}/{words[0]}" in without or not (source / folder / f"{words[0]}.c").exists():
                continue
            yield (f"{folder}/{words[0]}", int(words[1]),
                   [word[4:] for word in words if word.startswith("arg=")],
                   dict(word[4:].split("=", 1) for word in words if word.startswith("env=")))


def includes(source):
    return ["-I", source / "include", "-I", source / "dtpools/include", "-I", source / "dtpools"]


def utilities(place, source):
    """The library of what its programs share."""
    for header in ("include/mpitestconf.h", "dtpools/include/dtpoolsconf.h", "dtpools/dtpoolsconf.h"):
        (source / header).write_text(CONFIG)
    objects = []
    for path in (*sorted(source.glob("dtpools/src/*.c")), *(source / "util" / name for name in (
            "mtest.c", "mtest_common.c", "dtypes.c", "mtest_thread.c"))):
        objects.append(place.folder / (path.stem + ".o"))
        if not objects[-1].exists():
            place.need(f"compiling {path.name}", place.tool("mpicc"), *FLAGS, *includes(source),
                       "-c", path, "-o", objects[-1])
    archive = place.folder / "libmtest.a"
    place.need("making a library", "ar", "rcs", archive, *objects)
    return archive


def test(place):
    tree = place.folder / "source"
    source = tree / "test/mpi"
    unpack(debian_source(place, PACKAGE), tree, lambda path: path if path.startswith("test/mpi/") else None,
           only="test/")
    runs = [run for folder in FOLDERS for run in listed(source, folder)]
    if len(runs) < FEWEST:
        yield "mpich", f"only {len(runs)} runs found; at least {FEWEST} are expected"
    runs = runs[::STEP][PART - 1::PARTS]
    archive = utilities(place, source)

    def make(name):
        program = place.folder / "bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        if not program.exists():
            place.need(f"compiling {name}", place.tool("mpicc"), *FLAGS, *includes(source),
                       source / f"{name}.c", archive, "-o", program, "-lpthread", "-lm")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(make, sorted({run[0] for run in runs})))
    for name, ranks, arguments, environment in runs:
        yield f"mpich {' '.join([name, *arguments])} on {ranks} ranks", place.ranks(
            ranks, place.folder / "bin" / name, *arguments, folder=(source / name).parent,
            env=environment)
