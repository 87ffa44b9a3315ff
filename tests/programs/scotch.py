"""PT-Scotch: its own checks of parallel graphs and its partitioning and ordering programs, from Debian's source.

Built by its makefiles; checked by them too: they start 3 and 4 ranks by the name mpirun, and compare files. What
its programs say of a partition is looked at as well, on 1 to 5 ranks and two hosts.
"""
import re
import shutil

from fetch import Skipped, debian_source, unpack

IN_QUICK = True
PACKAGE = "scotch"
COUNTS = (1, 2, 5)
FLAGS = ("-O1 -w -DCOMMON_PTHREAD -DCOMMON_RANDOM_FIXED_SEED -DSCOTCH_MPI_ASYNC_COLL "
         "-DSCOTCH_PTHREAD -DSCOTCH_PTHREAD_MPI -DSCOTCH_RENAME -DIDXSIZE64 -Drestrict=__restrict")


def settings(place):
    """The makefiles' settings: their Linux ones, with our mpicc."""
    words = {"EXE": "", "LIB": ".a", "OBJ": ".o", "MAKE": "make", "AR": "ar", "ARFLAGS": "-rc", "CAT": "cat",
             "CCS": "cc", "CCP": place.tool("mpicc"), "CCD": place.tool("mpicc"), "CFLAGS": FLAGS, "CLIBFLAGS": "",
             "LDFLAGS": "-lm -lrt -pthread", "CP": "cp", "FLEX": "flex", "LN": "ln", "MKDIR": "mkdir -p",
             "MV": "mv", "RANLIB": "ranlib", "BISON": "bison"}
    return "".join(f"{name} = {word}\n" for name, word in words.items())


def build(place):
    missing = [name for name in ("flex", "bison") if not shutil.which(name)]
    if missing:
        raise Skipped("PT-Scotch's parsers are made by " + " and ".join(missing) + ", not installed here")
    tree = place.folder / "source"
    unpack(debian_source(place, PACKAGE), tree, lambda path: path)
    source = tree / "src"
    source.joinpath("Makefile.inc").write_text(settings(place))
    place.need("building PT-Scotch", "make", "-j2", "ptscotch", folder=source)
    return source


def partition(place, source, count, hosts):
    """Cuts a grid in four: every vertex gets a part, none twice as many as another."""
    grid, parts = source / "check/data/m16x16.grf", place.folder / f"parts.{count}"
    problem = place.ranks(count, source.parent / "bin/dgpart", "4", grid, parts, hosts=hosts)
    if problem or (hosts and not parts.exists()):  # without a result: two hosts are not to be had here
        return problem
    found = [int(word) for word in re.findall(r"^\d+\t(\d+)$", parts.read_text(), re.M)]
    sizes = [found.count(part) for part in range(4)]
    parts.unlink()
    return None if sum(sizes) == 256 and max(sizes) < 2 * min(sizes) else f"256 vertices are in parts of {sizes}"


def test(place):
    source = build(place)
    check = ["make", "ptcheck", f"EXECPPROG={place.prun}", "EXECPFLAGS=--oversubscribe",
             f"TMPDIR={place.folder}"]
    yield "PT-Scotch's own checks", None if place.call(*check, folder=source) else f"they fail: see {place.log}"
    for count in COUNTS:
        yield f"dgpart on {count} ranks", partition(place, source, count, None)
    yield "dgpart on two virtual hosts", partition(place, source, 4, "a:2,b:2")
