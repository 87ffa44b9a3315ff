"""mpi4py's demos that need no windows, files or spawning: the examples of the first MPI book,
reductions, threads, starting and ending, its speed tests, and extensions in C.
"""
import os
import sysconfig

import fetch

IN_QUICK = True
QUICK = ("osu_barrier.py", "osu_alltoall.py")  # the others take seconds each


def scripts(demo):
    """(folder, script, numbers of ranks, what it reads)"""
    for path in sorted((demo / "mpi-ref-v1").glob("ex-*.py")):
        yield path.parent, path.name, (4,) if os.environ.get("TUTTI_TEST_QUICK") else (2, 4), ""
    for path in sorted((demo / "init-fini").glob("test_*.py")):
        yield path.parent, path.name, (2,), ""
    for path in sorted(demo.glob("osu_*.py")):
        if path.name in QUICK or not os.environ.get("TUTTI_TEST_QUICK"):
            yield demo, path.name, (2,), ""
    yield demo, "helloworld.py", (5,), ""
    yield demo / "compute-pi", "cpi-cco.py", (1, 3), "100\n"
    yield demo / "reductions", "test_reductions.py", (1, 3, 5), ""
    yield demo / "sequential", "test_seq.py", (3,), ""
    yield demo / "threads", "sendrecv.py", (1,), ""


def extension(place, demo, include):
    folder = demo / "wrap-c"
    output = folder / ("helloworld" + sysconfig.get_config_var("EXT_SUFFIX"))
    place.need("building an extension in C", place.tool("mpicc"), "-shared", "-fPIC",
               "-I" + sysconfig.get_path("include"), "-I" + str(include), folder / "helloworld.c",
               "-o", output)
    return folder


def test(place):
    try:
        python, source = fetch.mpi4py.prepare(place.build)
    except fetch.mpi4py.Unreachable as problem:
        raise fetch.Skipped(str(problem)) from None
    package = next((source / "build").glob("lib*"))
    env, demo = {"PYTHONPATH": str(package)}, source / "demo"
    for folder, script, counts, words in scripts(demo):
        for count in counts:
            problem = place.ranks(count, python, script, folder=folder, env=env, words=words)
            yield f"{folder.name}/{script} on {count} ranks", problem
    program = place.folder / "helloworld"
    place.need("compiling helloworld.c", place.tool("mpicc"), demo / "helloworld.c", "-o", program)
    yield "helloworld.c on 4 ranks", place.ranks(4, program)
    folder = extension(place, demo, source / "src/mpi4py/include")
    yield "wrap-c on 3 ranks", place.ranks(3, python, "test.py", folder=folder, env=env)
