#!/usr/bin/env python3
"""old_toolkits_test.py SOURCE -- a build says what of a toolkit is too old for it, and leaves that out.

A tree is configured, not built, beside toolkits of our own: a folder with a cuda.h, an nccl.h and an nvcc that say what
old ones would.
"""
import os
import pathlib
import sys
import tempfile

from configuring import check, configured, end

GOOD_NVCC = """while [ "$1" != -o ]; do shift; done; : >"$2\""""
NO_NVCC = "echo '#error -- unsupported GNU version!' >&2; exit 1"
NCCL = "#define NCCL_VERSION(x, y, z) ((x) * 10000 + (y) * 100 + (z))\n#define NCCL_VERSION_CODE "


def toolkit(folder, cuda=12000, nvcc=GOOD_NVCC, nccl=21400):
    for name in ("bin", "include"):
        (folder / name).mkdir(parents=True)
    (folder / "include" / "cuda.h").write_text(f"#define CUDA_VERSION {cuda}\n")
    (folder / "include" / "nccl.h").write_text(f"{NCCL}{nccl}\n")
    (folder / "bin" / "nvcc").write_text(f"#!/bin/sh\n{nvcc}\n")
    (folder / "bin" / "nvcc").chmod(0o755)
    return folder


def configured_beside(folder, *options):
    return configured(sys.argv[1], folder / f"build{len(options)}", *options,
                      env={**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"})


def main():
    with tempfile.TemporaryDirectory(prefix="toolkit-") as temporary:
        top = pathlib.Path(temporary)
        for name, option, folder, leaves, why in (
                ("cuda.h", "cuda", toolkit(top / "header", cuda=11080), "GPU memory is left out: ",
                 "include/cuda.h is older than CUDA 12.0"),
                ("nvcc", "cuda", toolkit(top / "nvcc", nvcc=NO_NVCC), "GPU memory is left out: ",
                 "bin/nvcc cannot compile kernels (-arch=compute_75)"),
                ("nccl.h", "nccl", toolkit(top / "nccl", nccl=21399), "NCCL is left out: ",
                 "include/nccl.h is older than NCCL 2.14")):
            status, said = configured_beside(folder)
            check(f"{name}: it is configured", status == 0, said)
            check(f"{name}: and says why", f"{leaves}{folder}/{why}" in said, said)
            check(f"{name}: with nvcc's words", name != "nvcc" or "unsupported GNU version!" in said, said)
            status, said = configured_beside(folder, f"-D{option}=enabled")
            check(f"-D{option}=enabled is an error that names it",
                  status != 0 and "ERROR: " in said and f"-D{option}=enabled: {folder}/{why}" in said, said)
        status, said = configured_beside(toolkit(top / "good"))
        check("what is new enough is taken",
              status == 0 and "GPU memory is left out" not in said and "NCCL is left out" not in said, said)
    end()


main()
