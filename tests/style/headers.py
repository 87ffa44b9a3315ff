#!/usr/bin/env python3
"""Every header compiles alone. Usage: headers.py COMPILER [flags ...]"""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

import tree

ROOTS = ("lib", "launcher", "tests/support")


def pmix_flags():
    """Where PMIx's headers are; None where it is not installed (launcher/pmix is not built then)."""
    try:
        done = subprocess.run(["pkg-config", "--cflags", "pmix"], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.split() if done.returncode == 0 else None


def cuda_folder():
    """Where CUDA's headers are, beside nvcc; None where it is not installed (lib/device/cuda is not built then)."""
    nvcc = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if nvcc is None:
        return None
    folder = pathlib.Path(nvcc).parent.parent / "include"
    return folder if (folder / "cuda.h").exists() else None


def compile_alone(path, compiler):
    includes = [f"-I{tree.ROOT / root}" for root in ROOTS]
    command = [*compiler, "-std=c++20", "-D_GNU_SOURCE", "-fsyntax-only", "-x", "c++", *includes, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    first = [line for line in done.stderr.splitlines() if "error" in line][:1]
    return f"{tree.name(path)}: {first[0] if first else 'does not compile'}"


def main():
    compiler = sys.argv[1:] or ["c++"]
    paths = [path for path in tree.files(".h") if tree.name(path).startswith(ROOTS)]
    flags = pmix_flags()
    if flags is None:
        paths = [path for path in paths if not tree.name(path).startswith("launcher/pmix/")]
    cuda = cuda_folder()
    if cuda is None:
        paths = [path for path in paths if "/cuda/" not in tree.name(path)]
    compiler += [*(flags or []), *(["-isystem", str(cuda)] if cuda else [])]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda path: compile_alone(path, compiler), paths))
    tree.finish([line for line in found if line], len(paths))


main()
