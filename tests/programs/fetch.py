"""What the programs of others share: their sources as Debian has them, a staged prefix with our
mpicc, and how they are run. What cannot be fetched or built here is skipped, in one line.
"""
import os
import pathlib
import subprocess
import sys
import tarfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "mpi4py"))
import prepare as mpi4py

SKIP = 77
FORBIDDEN = 208  # namespaces are; launcher/status/status.h


class Skipped(Exception):
    """Nothing to test here; the text says why."""


class Place:
    """Where everything lies: a folder below the build folder, its log, and the staged prefix."""

    def __init__(self, build, prun, what):
        self.build, self.prun = build, str(pathlib.Path(prun).resolve())
        self.folder = build / "programs" / what
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / "log"
        self.prefix = self.folder / "prefix"
        mpi4py.stage(build, self.prefix)

    def tool(self, name):
        return str(self.prefix / "bin" / name)

    def call(self, *command, folder=None, env=None):
        """True if it ended well; its output goes to the log."""
        with open(self.log, "a") as stream:
            print("+", *command, file=stream, flush=True)
            return subprocess.run([str(word) for word in command], cwd=folder or self.folder,
                                  env=dict(os.environ, **(env or {})), stdin=subprocess.DEVNULL,
                                  stdout=stream, stderr=subprocess.STDOUT, timeout=1500).returncode == 0

    def need(self, what, *command, **options):
        """A step of a build with our compiler wrappers: it must end well."""
        if not self.call(*command, **options):
            end = "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])
            sys.exit(f"{what} failed; the end of {self.log}:\n{end}")

    def ranks(self, count, *command, folder=None, env=None, words=None, hosts=None):
        """Runs under prun; None if it ended well, or what went wrong in a few lines."""
        virtual = ["--virtual", "-H", hosts] if hosts else []
        limit = os.environ.get("TUTTI_TEST_LIMIT", "300")  # seconds
        line = [self.prun, "--oversubscribe", "--timeout", limit, *virtual, "-np", str(count),
                *map(str, command)]
        done = subprocess.run(line, cwd=folder or self.folder, env=dict(os.environ, **(env or {})),
                              input=words or "", capture_output=True, text=True, errors="replace")
        if done.returncode == 0 or (hosts and done.returncode == FORBIDDEN):
            return None
        end = "\n    ".join((done.stdout + done.stderr).splitlines()[-12:])
        return f"{pathlib.Path(command[-1]).name} on {count} ranks: status {done.returncode}\n    {end}"


def private_apt(place):
    """Options that let apt-get see the sources of Debian's packages, without touching the system."""
    try:
        listed = subprocess.run(
            ["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)",
             "Created-By: Packages", "Origin: Debian"], capture_output=True, text=True).stdout
    except OSError:
        raise Skipped("there is no apt-get here") from None
    lines = sorted({f"deb-src {line}\n" for line in listed.splitlines()
                    if "-" not in line.split()[1]})
    if not lines:
        raise Skipped("apt knows no index of Debian here (apt-get update)")
    folder = place.folder / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text("".join(lines))
    return ["-o", f"Dir::Etc::sourcelist={folder}/sources.list", "-o", "Dir::Etc::sourceparts=-",
            "-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache"]


def debian_source(place, package):
    """The upstream source of a Debian package, as an archive; fetched once."""
    found = sorted(place.folder.glob(f"{package}_*.orig.tar.*"))
    if not found:
        options = private_apt(place)
        if not place.call("apt-get", *options, "update") \
                or not place.call("apt-get", *options, "source", "--tar-only", package):
            raise Skipped(f"the source of Debian's {package} cannot be fetched")
        found = sorted(place.folder.glob(f"{package}_*.orig.tar.*"))
    if not found:
        raise Skipped(f"Debian's source of {package} is not what was expected")
    return found[0]


def unpack(archive, folder, rename, only=""):
    """Unpacks the files for which rename(path within the archive) names a place in folder.

    only: nothing outside this folder is wanted, and its files lie together in the archive.
    """
    stamp = folder / "unpacked"
    if stamp.exists():
        return
    seen = False
    with tarfile.open(archive) as stream:
        for member in stream:
            path = member.name.split("/", 1)[-1]
            inside = path.startswith(only)
            if seen and not inside:
                break
            seen = inside
            target = rename(path) if inside and member.isfile() else None
            if target:
                member.name = target
                stream.extract(member, folder)
    stamp.touch()
