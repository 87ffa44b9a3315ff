"""bare_machine: what scripts/gpu_check brings to a machine with a GPU, and finds there.
"""
import ctypes
import json
import pathlib
import re
import shutil
import subprocess
import sys

import on_gpu

# Of a build tree; the daemon, the door for PMIx and tutti-info are found by prun where they lie beside it.
PROGRAMS = ["launcher/prun/prun", "launcher/prund/prund", "launcher/pmix/prun-pmix", "bindings/info/tutti-info",
            "bindings/mpi/libmpi_abi.so.1", "tests/mover/libmpi_mover.so",
            *(f"tests/gpu/gpu_{name}" for name in on_gpu.PROGRAMS),
            *(f"tests/ranks/ranks_{name}" for name in on_gpu.MOVED), "tests/random/random_program"]


def mpich_runs(build):
    """Of MPICH's suite what the build has of a sample of it: its programs, ranks and words. Without: where it never ran."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "programs"))
    import mpich  # pylint: disable=import-outside-toplevel

    source = build / "programs/mpich/source/test/mpi"
    runs = [run for folder in mpich.FOLDERS for run in mpich.listed(source, folder)] if source.exists() else []
    return [run for run in runs if run[0] not in on_gpu.MPICH_WITHOUT and (build / "programs/mpich/bin" / run[0]).exists()]


def carry(build, into):
    """A tree of all that the check needs, without what only debuggers read; and libraries a bare machine may lack."""
    runs = mpich_runs(build)
    runs = runs[::-(-len(runs) // on_gpu.MPICH_MOST) or 1]  # of all its chapters
    for name in PROGRAMS + sorted({f"programs/mpich/bin/{run[0]}" for run in runs}):
        if not (build / name).exists():
            print(f"{name} was not built: it is not carried")
            continue
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(build / name, into / name)
        subprocess.run(["strip", "--strip-debug", into / name], check=True)
    folder = into / "carried"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mpich.json").write_text(json.dumps(runs) + "\n")
    for name in ("bindings/mpi/libmpi_abi.so.1", "launcher/prun/prun", "bindings/info/tutti-info"):
        told = subprocess.run(["ldd", build / name], capture_output=True, text=True, check=False).stdout
        for library, path in re.findall(r"(lib(?:hwloc|sodium|udev|cap|ltdl|pciaccess|xml2)\S*) => (/\S+)", told):
            shutil.copy(path, folder / library)
    files = [path for path in into.rglob("*") if path.is_file()]
    print(f"carried {len(files)} files, {sum(path.stat().st_size for path in files) >> 20} MiB")


def driver():
    """The driver's words about its GPUs; or why there is none."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as why:
        return None, f"libcuda.so.1 cannot be opened ({why})"
    said = cuda.cuInit(0)
    if said != 0:
        return None, f"cuInit says {said}: there is a libcuda.so.1, but no GPU that it could use"
    count, version = ctypes.c_int(), ctypes.c_int()
    cuda.cuDeviceGetCount(ctypes.byref(count))
    cuda.cuDriverGetVersion(ctypes.byref(version))
    names = []
    for device in range(count.value):
        name = ctypes.create_string_buffer(256)
        cuda.cuDeviceGetName(name, 256, device)
        names.append(name.value.decode())
    if not names:
        return None, "the driver knows no GPU"
    return {"gpus": names, "cuda": f"{version.value // 1000}.{version.value % 1000 // 10}"}, ""


def folder_of(library):
    """Where the loader finds it, so that it comes before a stand-in of the same name."""
    maps = pathlib.Path("/proc/self/maps").read_text()
    found = re.search(rf"(/\S*/){re.escape(library)}", maps)
    return found[1] if found else ""


def folder_of_nccl():
    """Of the Python packages; empty: the system has one, or nobody."""
    try:
        ctypes.CDLL("libnccl.so.2")
        return ""
    except OSError:
        pass
    for folder in sys.path:
        found = pathlib.Path(folder) / "nvidia/nccl/lib/libnccl.so.2"
        if found.exists():
            return str(found.parent)
    return ""
