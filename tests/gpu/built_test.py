#!/usr/bin/env python3
"""built_test.py LIBRARY PROGRAM... -- nothing links what a GPU's vendor makes, and the library has its kernels
as PTX of one version, which every GPU from that on takes."""
import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = 77
VENDORS = re.compile(r"lib(cuda|cudart|nccl|nvidia|nvrtc|ucp|uct|ucs)")
KERNELS = ("tutti_rows", "tutti_runs", "tutti_fold_bfloat16", "tutti_fold_double_int")


def main():
    if shutil.which("readelf") is None:
        print("readelf is not there")
        return SKIPPED
    problems = []
    for path in sys.argv[1:]:
        said = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.+)\]", said)
        problems += [f"{path} links {name}" for name in needed if VENDORS.match(name)]
    library = pathlib.Path(sys.argv[1]).read_bytes()
    targets = set(re.findall(rb"^\.target (\S+)$", library, re.MULTILINE))
    if targets != {b"sm_75"}:
        problems.append(f"PTX is for {targets}")
    entries = re.findall(rb"\.entry (\w+)\(", library)
    problems += [f"no kernel {name}" for name in KERNELS if entries.count(name.encode()) != 1]
    print("\n".join(problems) or f"{len(entries)} kernels")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
