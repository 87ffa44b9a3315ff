"""FFTW's transforms over MPI: its own checks, from Debian's source, against its serial transforms."""
from fetch import Skipped, debian_source, unpack

IN_QUICK = False
PACKAGE = "fftw3"
CHECKS = 10  # rounds of random transforms for each number of ranks
COUNTS = {1: None, 2: None, 3: None, 4: "a:2,b:2"}  # and the hosts to do it on once more


def build(place):
    source = place.folder / "source"
    unpack(debian_source(place, PACKAGE), source, lambda path: path)
    if not (source / "Makefile").exists():
        place.need("configuring FFTW", source / "configure", "--enable-mpi", "--disable-fortran", "--disable-doc",
                   f"MPICC={place.tool('mpicc')}", folder=source)
    place.need("building FFTW", "make", "-j2", folder=source)
    return source


def test(place):
    if not place.call("perl", "-e", "1"):
        raise Skipped("FFTW's checks are written in Perl, which is not here")
    source = build(place)
    for count, hosts in COUNTS.items():
        for words in [[], ["--virtual", "-H", hosts]] if hosts else [[]]:
            line = [place.prun, "--oversubscribe", *words, "-np", str(count), str(source / "mpi/mpi-bench")]
            well = place.call("perl", "-w", source / "tests/check.pl", "--verbose", "--random", "--maxsize=10000",
                              f"-c={CHECKS}", "--mpi", " ".join(line), folder=source / "mpi")
            where = "two virtual hosts" if words else f"{count} ranks"
            yield f"fftw on {where}", None if well else f"its own checks fail; see {place.log}"
