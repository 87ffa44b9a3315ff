"""A real torch to test with, in the build folder, made once.

torch's wheel without the CUDA wheels it names (539 MB instead of 2.8 GB; stubs.py makes it
importable without them). Without a package index there is nothing to test: `Unreachable` says so.
"""
import pathlib
import subprocess
import sys

import stubs

VERSION = "2.15.0"
BESIDE = ["typing_extensions", "filelock", "sympy", "mpmath", "networkx", "jinja2", "markupsafe",
          "fsspec", "numpy", "setuptools"]


class Unreachable(Exception):
    """torch cannot be had here; the text says why."""


def run(*command, log):
    with open(log, "a") as stream:
        print("+", *command, file=stream, flush=True)
        return subprocess.run([str(word) for word in command], stdout=stream, stderr=subprocess.STDOUT,
                              timeout=1200).returncode == 0


def prepare(build):
    """The environment's variables with which `python3` is one that can import torch."""
    place = pathlib.Path(build) / "torch"
    place.mkdir(exist_ok=True)
    log, stamp, folder = place / "log", place / "made", place / "env"
    if not stamp.exists() or stamp.read_text() != VERSION:
        if not run(sys.executable, "-m", "venv", folder, log=log):
            raise Unreachable("python's venv module does not work here")
        if not run(folder / "bin/pip", "install", "-q", "--no-deps", f"torch=={VERSION}", *BESIDE, log=log):
            raise Unreachable(f"no package index has torch {VERSION} for this Python and machine")
        stubs.make(next(folder.glob("lib/python3*/site-packages/torch/lib")), place / "stubs")
        stamp.write_text(VERSION)
    return {"PATH": f"{folder}/bin", "LD_LIBRARY_PATH": f"{place}/stubs", "OMP_NUM_THREADS": "1",
            "VIRTUAL_ENV": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
