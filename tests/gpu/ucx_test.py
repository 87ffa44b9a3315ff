#!/usr/bin/env python3
"""A UCX that knows CUDA, over the stand-in driver: GPU memory by UCX itself.

ucx_test.py FOLDER STATUS LINE NVML PRUN...: gets libucx of the package index into FOLDER, unless it
lies there, and runs PRUN with it; it ends with STATUS (0 or "bad") and some line holds LINE. Skipped
where the package cannot be had."""
import fcntl
import os
import pathlib
import subprocess
import sys
import zipfile

PACKAGE = "libucx-cu13==1.22.0"
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def unpacked(folder):
    folder.mkdir(parents=True, exist_ok=True)
    libraries = folder / "libucx" / "lib"
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            got = subprocess.run([sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:",
                                  "--quiet", "--dest", str(folder), PACKAGE], capture_output=True, text=True)
            wheels = list(folder.glob("*.whl"))
            if got.returncode != 0 or not wheels:
                skip(f"{PACKAGE} cannot be had: {got.stderr.strip()[-300:]}")
            zipfile.ZipFile(wheels[0]).extractall(folder)
            (folder / "whole").touch()
    return libraries


def main():
    folder, status, line, nvml = sys.argv[1:5]
    libraries = unpacked(pathlib.Path(folder))
    if not (libraries / "libucp.so.0").exists():
        sys.exit(f"{libraries} has no libucp.so.0")
    environment = dict(os.environ, TUTTI_LINK="ucx", LD_LIBRARY_PATH=f"{libraries}:{nvml}")
    ran = subprocess.run(sys.argv[5:], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, errors="replace")
    is_right = ran.returncode == 0 if status == "0" else ran.returncode != 0
    if not is_right or line not in ran.stdout:
        print(ran.stdout[-8000:])
        sys.exit(f"ended with {ran.returncode}; wanted {status} and the line: {line}")


main()
