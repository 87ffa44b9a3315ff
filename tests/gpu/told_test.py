#!/usr/bin/env python3
"""told_test.py PRUN INFO CUDA NCCL NVML -- what prun --check and tutti-info tell of GPUs, by the stand-ins

The kernel driver's files are invented, too, where a mount namespace may have a /proc/driver of its own.
"""
import ctypes
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import invented_gpus  # noqa: E402

PRUN, INFO, CUDA, NCCL, NVML = sys.argv[1:]
PLACES = {"cuda": CUDA, "nccl": NCCL, "nvml": NVML}
RING = {"STANDIN_CUDA_DEVICES": "4", "STANDIN_NVML_LINKS": "18"}
NO_CUDA, NO_NCCL = "none: libcuda.so.1 cannot be opened", "none: libnccl.so.2 cannot be opened"
# Environment, libraries that are there, and what is told: CUDA, peers (None: nothing), NCCL.
CASES = [
    ("a ring of four", RING, "cuda nccl nvml", "13.*, 4 devices",
     "0-2, 1-3 by peer access, no NVLink; 0-1, 0-3, 1-2, 2-3 by NVLink 9|0-1, 0-3, 1-2, 2-3 by NVLink 9; 0-2, 1-3 .*", r"\d+[.]\d+[.]\d+"),
    ("switches", RING | {"STANDIN_NVML_SWITCHES": "1"}, "cuda nccl nvml", "13.*, 4 devices", "all by NVLink 18", "2.*"),
    ("no peer access", {"STANDIN_CUDA_PEERS": "0"}, "cuda nccl nvml", "13.*, 2 devices", "all through host memory", "2.*"),
    ("one device", {"STANDIN_CUDA_DEVICES": "1"}, "cuda nccl nvml", "13.*, 1 device", None, "2.*"),
    ("no NVML", {}, "cuda nccl", "13.*, 2 devices", r"all by peer access [(]libnvidia-ml.so.1 cannot be opened[)]", "2.*"),
    ("an old NCCL", {"STANDIN_NCCL_VERSION": "2080"}, "cuda nccl", "13.*", ".*", "2.0.80"),
    ("a broken NCCL", {"STANDIN_NCCL_FAIL": "ncclGetVersion:1:1"}, "cuda nccl", "13.*", ".*",
     "none: ncclGetVersion says 1"),
    ("no GPU for CUDA", {"STANDIN_CUDA_DEVICES": "0"}, "cuda nccl", "none: libcuda.so.1 is there, but cuInit says 100",
     None, "2.*"),
    ("a library that crashes", {"STANDIN_NVML_FAIL": "abort"}, "cuda nccl nvml",
     "none: its library did not answer within ten seconds, or crashed", None, "not asked"),
    ("nothing", {}, "", NO_CUDA, None, NO_NCCL),
]
failures = 0


def has(library):
    try:
        return bool(ctypes.CDLL(library))
    except OSError:
        return False


def told(command, environment, libraries):
    folders = ":".join(str(pathlib.Path(PLACES[name]).resolve().parent) for name in libraries.split())
    done = subprocess.run(command, env=os.environ | {"LD_LIBRARY_PATH": folders} | environment, capture_output=True,
                          text=True, timeout=120, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def check(what, said, name, wanted):
    """A line about NAME that tells just what is wanted; None: there is no such line."""
    global failures
    lines = re.findall(rf"^\s*(?:good|note|BAD)?\s*{name}:? +(.*)$", said, re.M)
    good = not lines if wanted is None else len(lines) == 1 and re.fullmatch(wanted, lines[0].strip())
    if good:
        return
    failures += 1
    print(f"FAILED {what}: of {name} it tells {lines}, wanted {wanted!r}\n{said}")


def tell_of_rdma():
    """Whether a network card reaches GPU memory."""
    for what, modules, wanted, known in (("no module", "", "no: messages of GPUs between hosts pass host memory", "no .*"),
                                         ("nvidia_peermem", invented_gpus.PEERMEM, "by nvidia_peermem", "network cards .*"),
                                         ("open modules", invented_gpus.OPEN, "by the open kernel modules", "network cards .*")):
        for command, words in (([PRUN, "--check"], wanted), ([INFO], known)):
            status, said = told(invented_gpus.beside_rdma(command, modules), RING, "cuda nccl nvml")
            if status in (1, invented_gpus.FORBIDDEN) and "GPUDirect" not in said:
                print(f"RDMA: not tried, {said.strip()}")
                return
            check(what, said, "GPUDirect", words)
        print(f"RDMA, {what}")


def main():
    for what, environment, libraries, cuda, peers, nccl in CASES:
        if not libraries and (has("libcuda.so.1") or has("libnccl.so.2")):
            continue  # this machine's own
        for command in ([INFO], [PRUN, "--check"]):
            status, said = told(command, environment, libraries)
            check(what, said, "CUDA", cuda)
            check(what, said, "GPU peers", peers)
            check(what, said, "NCCL", nccl)
            if status != 0:
                sys.exit(f"{what}: {command} ends with {status}\n{said}")
        print(what)
    for command in ([INFO], [PRUN, "--check"]):
        status, said = told(invented_gpus.told(command), RING, "cuda nccl nvml")
        if status in (1, invented_gpus.FORBIDDEN) and "driver" not in said:
            print(f"the driver's files: not tried, {said.strip()}")
            break
        if command == [INFO]:
            check("files", said, "GPU driver", "570.86.15")
            check("files", said, "GPUDirect", "no .nvidia_peermem is not loaded.")
        else:
            check("files", said, "GPUs", "2 x NVIDIA H200; driver 570.86.15.*")
        check("files", said, "CUDA", "13.*, 4 devices")
    tell_of_rdma()
    sys.exit(1 if failures else 0)


main()
