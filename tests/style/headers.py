#!/usr/bin/env python3
"""Every header compiles alone. Usage: headers.py COMPILER [flags ...]

Three headers that most others include are compiled once: whoever includes one of them gets it read beforehand, which
changes nothing but the time.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import tree

ROOTS = ("lib", "launcher", "tests/support")
READ_ONCE = ("control/messages.h", "transport/transport.h", "base/result.h")  # the longest first
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


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


def find(name):
    return next((tree.ROOT / root / name for root in ROOTS if (tree.ROOT / root / name).is_file()), None)


def included_by(path, found):
    """What a header of ours includes of ours, directly or not."""
    for name in INCLUDE.findall(path.read_text()):
        if name not in found and find(name):
            found.add(name)
            included_by(find(name), found)
    return found


def run(command, name):
    """None, or what is wrong."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    first = [line for line in done.stderr.splitlines() if "error" in line][:1]
    return f"{name}: {first[0] if first else 'does not compile'}"


def precompiled(folder, name):
    return folder / name.replace("/", "_")


def read_once(folder, name, compiler):
    precompiled(folder, name).write_text(f'#include "{name}"\n')
    made = str(precompiled(folder, name)) + ".gch"
    return run([*compiler, "-x", "c++-header", "-o", made, str(precompiled(folder, name))], name)


def compile_alone(folder, path, compiler):
    included = included_by(path, set())
    before = [word for name in READ_ONCE if name in included for word in ("-include", str(precompiled(folder, name)))]
    return run([*compiler, *before[:2], "-fsyntax-only", "-x", "c++", str(path)], tree.name(path))


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
    compiler += ["-std=c++20", "-D_GNU_SOURCE", *(f"-I{tree.ROOT / root}" for root in ROOTS)]
    with tempfile.TemporaryDirectory() as kept, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = pathlib.Path(kept)
        found = list(pool.map(lambda name: read_once(folder, name, compiler), READ_ONCE))
        found += pool.map(lambda path: compile_alone(folder, path, compiler), paths)
    tree.finish([line for line in found if line], len(paths))


main()
