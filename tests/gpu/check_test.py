#!/usr/bin/env python3
"""check_test.py SCRIPT [BUILD LIBCUDA LIBNCCL] -- what scripts/gpu_check does, without a GPU.

Alone: it says that there is none, in its file, too, and by its status. With the stand-ins: every part of it runs,
small, and its file has what it says.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def run(script, out, *words, **more):
    done = subprocess.run([sys.executable, script, out, *words], capture_output=True, text=True, timeout=550,
                          env=dict(os.environ, **more), check=False)
    print(done.stdout + done.stderr)
    return done, json.loads(out.read_text())


def without(script, out):
    # A machine with one hides it.
    done, said = run(script, out, CUDA_VISIBLE_DEVICES="-1")
    assert done.returncode == 77, done.returncode
    assert done.stdout.splitlines()[-1].startswith("gpu_check: there is no GPU here: "), done.stdout
    assert said["skipped"][0]["why"] in done.stdout


def with_standins(script, out, build, cuda, nccl):
    folders = ":".join(str(pathlib.Path(library).parent) for library in (cuda, nccl))
    done, said = run(script, out, build, GPU_CHECK_BRIEF="1", STANDIN_CUDA_DEVICES="1", LD_LIBRARY_PATH=folders)
    for check in said["checks"]:
        if not check["good"]:
            print(check["what"], check["said"], sep="\n")
    assert done.returncode == 0, done.returncode
    names = " ".join(check["what"] for check in said["checks"])
    for part in ("messages", "collectives", "layouts", "operations", "nccl, 2 ranks", "nccl_forms, 2 ranks",
                 "share a GPU", "figures", "allreduce, ours"):
        assert part in names, part
    assert any(row["what"] == "several GPUs" for row in said["skipped"]), said["skipped"]
    ways = {row.get("by") for row in said["figures"]}
    assert {"ours", "nccl", "nccl_bare", "chosen"} <= ways, ways
    assert said["nccl_through_us_to_bare"], said


def main():
    script, *standins = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        if standins:
            with_standins(script, out, *standins)
        else:
            without(script, out)


main()
