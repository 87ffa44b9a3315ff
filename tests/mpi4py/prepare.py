"""Builds mpi4py from its source package with our mpicc, in the build folder, once per mpi.h.

A virtual environment with Cython and NumPy, the source of one version, and the extension, which
finds our library by the path that mpicc gives it. Without a package index there is nothing to
test: `Unreachable` says so in one line.
"""
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

VERSION = "4.1.2"
TOOLS = ["cython>=3", "setuptools", "numpy"]


class Unreachable(Exception):
    """The package index cannot be reached; the text says what was tried."""


def run(*command, log, folder=None, env=None):
    with open(log, "a") as stream:
        print("+", *command, file=stream, flush=True)
        return subprocess.run([str(word) for word in command], cwd=folder, env=env, stdout=stream,
                              stderr=subprocess.STDOUT, timeout=1200).returncode == 0


def stage(build, prefix):
    """A prefix as an installation would be, of what the build folder has: mpicc, mpi.h, library."""
    mpi = build / "bindings/mpi"
    for folder in ("bin", "include", "lib"):
        (prefix / folder).mkdir(parents=True, exist_ok=True)
    for wrapper in ("mpicc", "mpicxx"):
        shutil.copy(mpi / "scripts" / wrapper, prefix / "bin" / wrapper)
        (prefix / "bin" / wrapper).chmod(0o755)
    links = {f"include/{header}": mpi / "include" / header for header in ("mpi.h", "mpi-ext.h")}
    for header in (pathlib.Path(__file__).parents[2] / "bindings/mpi/include").glob("*.h"):
        links["include/" + header.name] = header
    for name in ("libmpi_abi.so", "libmpi_abi.so.1"):
        links["lib/" + name] = mpi / name
    for name, target in links.items():
        link = prefix / name
        link.unlink(missing_ok=True)
        link.symlink_to(target.resolve())


def fetch(place, log):
    """The virtual environment and the unpacked source; tried once more after an interruption."""
    python = place / "env/bin/python"
    if not python.exists() and not run(sys.executable, "-m", "venv", place / "env", log=log):
        raise Unreachable("python's venv module does not work here")
    if not run(python, "-m", "pip", "install", "-q", *TOOLS, log=log):
        raise Unreachable("no package index has " + " and ".join(TOOLS))
    if not run(python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "mpi4py",
               "-d", place, "mpi4py==" + VERSION, log=log):
        raise Unreachable("no package index has mpi4py " + VERSION)
    with tarfile.open(place / f"mpi4py-{VERSION}.tar.gz") as archive:
        archive.extractall(place)


def prepare(build):
    """(python, source folder) of a built mpi4py."""
    place = build / "mpi4py"
    place.mkdir(exist_ok=True)
    source, log, stamp = place / f"mpi4py-{VERSION}", place / "prepare.log", place / "built"
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stage(build, place / "prefix")
        header = (build / "bindings/mpi/include/mpi.h").read_bytes()
        wanted = hashlib.sha256(header + VERSION.encode()).hexdigest()
        python = place / "env/bin/python"
        if stamp.exists() and stamp.read_text() == wanted:
            return python, source
        if not source.exists():
            fetch(place, log)
        shutil.rmtree(source / "build", ignore_errors=True)
        # Unoptimised: it is our library that is tested.
        env = dict(os.environ, CFLAGS="-O0 -g0", MPICC=str(place / "prefix/bin/mpicc"))
        if not run(python, "setup.py", "build", f"--mpicc={place}/prefix/bin/mpicc", log=log,
                   folder=source, env=env):
            sys.exit(f"mpi4py {VERSION} does not build with our mpicc; the end of {log}:\n"
                     + "\n".join(log.read_text().splitlines()[-20:]))
        stamp.write_text(wanted)
    return python, source
