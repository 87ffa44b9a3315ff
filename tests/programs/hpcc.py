"""HPC Challenge, from Debian's source: matrix transposition, random access, FFT, Linpack and more.

The source is as it was written. Two functions that MPI 3 removed get their successors' names on
the compiler's command line, as their arguments are the same.
"""
import re

from fetch import Skipped, debian_source, unpack

IN_QUICK = True
RENAMED = "-DMPI_Address=MPI_Get_address -DMPI_Type_struct=MPI_Type_create_struct"
COUNTS = (1, 2, 4)


def settings(place, text):
    values = {"LAdir": "", "LAlib": "-lblas", "MPdir": "", "MPinc": "", "MPlib": "",
              "HPL_OPTS": "-DHPL_CALL_CBLAS " + RENAMED, "CC": place.tool("mpicc"),
              "LINKER": place.tool("mpicc"), "CCFLAGS": "$(HPL_DEFS) -O1 -w"}
    for name, value in values.items():
        text = re.sub(rf"^{name} .*$", f"{name} = {value}", text, flags=re.M)
    return text


def build(place):
    source = place.folder / "source"
    if (source / "hpcc").exists():
        return source
    probe = place.folder / "probe.c"
    probe.write_text("#include <cblas.h>\nint main(void) { return cblas_idamax(0, 0, 1) != 0; }\n")
    if not place.call("cc", probe, "-o", place.folder / "probe", "-lblas"):
        raise Skipped("there is no BLAS with C's interface (Debian: libblas-dev)")
    unpack(debian_source(place, "hpcc"), source, lambda path: path)
    example = (source / "hpl/setup/Make.Linux_PII_CBLAS").read_text()
    (source / "hpl/Make.tutti").write_text(settings(place, example))
    place.need("building HPCC", "make", "-j2", "arch=tutti", folder=source)
    return source


def small(text, count):
    """Its example of an input, with a small matrix on a grid of so many ranks."""
    rows = 2 if count % 2 == 0 else 1
    for pattern, value in (("Ns", 200), ("NBs", 20), ("Ps", rows), ("Qs", count // rows)):
        text = re.sub(rf"^[\d ]+?( +{pattern}\s)", rf"{value}\1", text, count=1, flags=re.M)
    return text


def run(place, source, count, hosts):
    """None, or what is wrong with the program's status or with the results that it checks itself."""
    folder = place.folder / f"run{count}{'v' if hosts else ''}"
    folder.mkdir(exist_ok=True)
    (folder / "hpccinf.txt").write_text(small((source / "_hpccinf.txt").read_text(), count))
    result = folder / "hpccoutf.txt"
    result.write_text("")
    problem = place.ranks(count, source / "hpcc", folder=folder, hosts=hosts)
    text = result.read_text()
    if problem or (hosts and not text):  # without a result: two hosts are not to be had here
        return problem
    wrong = "Success=1" not in text or "FAILED" in text or re.search(r"Found [1-9]\d* errors", text)
    return f"its own checks fail; see {result}" if wrong else None


def test(place):
    source = build(place)
    for count in COUNTS:
        yield f"hpcc on {count} ranks", run(place, source, count, None)
    yield "hpcc on two virtual hosts", run(place, source, 4, "a:2,b:2")
