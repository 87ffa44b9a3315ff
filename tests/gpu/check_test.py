#!/usr/bin/env python3
"""check_test.py SCRIPT [BUILD LIBCUDA LIBNCCL] -- what scripts/gpu_check does, without a GPU.

Alone: it knows each program of tests/gpu, and says that there is no GPU, in its file, too, and by its status. With the
stand-ins: a tree is carried and every part runs there, small (of each some, with TUTTI_TEST_QUICK; all of it with
TUTTI_TEST_LONG, but for the sizes of figures); on one GPU, and on two what is another thing there. Libraries that are
real count nothing, so the stand-ins' counters are hidden. What hangs is named and the rest goes on; what there is no time
for is named, too; and what has ended is in the file by then.
"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import on_gpu

LONG = bool(os.environ.get("TUTTI_TEST_LONG"))
COUNTERS = [b"tutti_standin_count", b"tutti_standin_nccl_served", b"tutti_standin_nccl_failed"]
FIGURES = ["figures", "figures, staged", "figures of pointers", "figures of small copies", "GPU support no, bound to core",
           "allreduce, 2 ranks, ours"]
PARTS = ["messages", "collectives", "layouts", "operations", "nccl forced", "nccl_forms forced", "nccl shared", "unused",
         "failures freed", "one_fails unseen", "scratch direct", "captures helper", "held ours", "held nccl",
         "stream_failures killed", "ipc_faults killed 1", "nccl_kill", "nccl_streams killed", "contexts again", "moved p2p", "scratch staged",
         "messages between hosts", "threads eager"]
if os.environ.get("TUTTI_TEST_QUICK"):  # of each kind, since the tests of GPUs run the programs themselves
    PARTS = ["messages", "nccl forced", "nccl shared", "unused", "one_fails unseen", "stream_failures killed", "nccl_kill",
             "contexts again", "moved p2p", "messages between hosts", "threads eager"]
    ONLY = "|".join(f"^{part}" for part in PARTS + ["moved", "ipc direct", "figures", "allreduce"])
else:
    ONLY = ""
ON_TWO = "ipc direct|nccl forced|nccl levels|0,1,0|scratch"


def run(script, out, *words, **more):
    done = subprocess.run([sys.executable, script, out, *words], capture_output=True, text=True, timeout=1200,
                          env=dict(os.environ, **more), check=False)
    print(done.stdout + done.stderr, flush=True)
    return done, json.loads(out.read_text())


def names_of(rows):
    return {row["what"] for row in rows}


def is_listed():
    here = pathlib.Path(__file__).resolve().parent
    programs = {path.stem for path in here.glob("*.cc") if "int main(" in path.read_text()}
    lost = programs ^ {*on_gpu.PROGRAMS, *on_gpu.WITHOUT}
    assert not lost, f"{lost}: tests/gpu/on_gpu.py says how each program of tests/gpu runs on a real GPU, or WITHOUT"


def has(names, part):
    return any(part in name for name in names)


def without(script, out):
    # A machine with one hides it.
    done, said = run(script, out, CUDA_VISIBLE_DEVICES="-1")
    assert done.returncode == 77, done.returncode
    assert done.stdout.splitlines()[-1].startswith("gpu_check: there is no GPU here: "), done.stdout
    assert said["skipped"][0]["why"] in done.stdout


def hide_counters(library, folder):
    words = pathlib.Path(library).read_bytes()
    for name in COUNTERS:
        words = words.replace(b"\0" + name + b"\0", b"\0" + name.replace(b"tutti", b"quiet") + b"\0")
    assert b"quiet_standin" in words, library
    (folder / pathlib.Path(library).name).write_bytes(words)


def all_good(done, said):
    for check in said["checks"]:
        if not check["good"]:
            print(check["what"], check["said"], sep="\n")
    assert done.returncode == 0, done.returncode


def on_one_gpu(script, out, build, environment):
    done, said = run(script, out, build, GPU_CHECK_BRIEF="figures" if LONG else "1", GPU_CHECK_ONLY=ONLY, **environment)
    all_good(done, said)
    names, skipped = names_of(said["checks"]), {row["what"]: row["why"] for row in said["skipped"]}
    for part in PARTS + FIGURES:
        is_forbidden = has([what for what, why in skipped.items() if why == "no virtual hosts may be made here"], part)
        assert has(names, part) or is_forbidden, part
    order = [row["what"].split()[0] for row in said["checks"]]
    assert "threads" not in order[:order.index("moved")], f"what may stand still takes the time of others: {order}"
    assert "several GPUs" in skipped and not has(skipped.values(), "carried"), skipped
    ways = {row.get("by") for row in said["figures"]}
    assert {"ours", "nccl", "nccl_bare", "chosen"} <= ways, ways
    rows = names_of(said["figures"])
    assert {"pointer", "exchange", "unpack_nested_64", "pack_vector_1024"} <= rows, rows
    assert {row["way"] for row in said["figures"] if row["what"] == "exchange"} == {"any", "shm"}
    ends = {(row["copy"], row["end"]) for row in said["figures"] if row["what"] == "small_copy"}
    assert {("neighbour", "kernel"), ("to_host", "word"), ("within", "event"), ("to_device", "plain")} <= ends, ends
    hosts = {(row["gpu_support"], row["bound_to"]) for row in said["figures"] if row.get("way") == "host"}
    assert hosts == {("yes", "none"), ("yes", "core"), ("no", "none"), ("no", "core")}, hosts
    assert said["nccl_through_us_to_bare"], said
    assert any("who is quicker" in what and lines for what, lines in said["explained"].items()), said["explained"]
    assert any("cuda_ipc, same GPU" in line for line in said["links"]["ipc direct, 2 ranks"]), said["links"]
    assert said["moved_functions"] > 10, said["moved_functions"]


def on_two_gpus(script, out, build, environment):
    done, said = run(script, out, build, GPU_CHECK_BRIEF="figures" if LONG else "1", GPU_CHECK_ONLY="" if LONG else ON_TWO,
                     **environment | {"STANDIN_CUDA_DEVICES": "2"})
    all_good(done, said)
    names = names_of(said["checks"])
    for part in ("nccl levels", "nccl_levels 0,1,0 right", "GPU peers are told"):
        assert has(names, part), part
    assert any("GPU peers: all by peer access" in line for line in said["told"]), said["told"]
    assert any("cuda_ipc, another GPU" in line for line in said["links"]["ipc direct, 2 ranks"]), said["links"]


def with_a_hang(script, out, carried, environment):
    build = out.parent / "hangs"
    shutil.copytree(carried, build)
    (build / "tests/gpu/gpu_one_fails").write_text("#!/bin/sh\nexec sleep 1000\n")
    with concurrent.futures.ThreadPoolExecutor() as beside:
        whole = beside.submit(run, script, out, build, GPU_CHECK_ONLY="^failures freed$|^one_fails unseen|^captures own",
                              GPU_CHECK_LIMIT="40", **environment)
        while not whole.done():  # what has ended is there while another part stands still
            meanwhile = json.loads(out.read_text())["checks"] if out.exists() else []
            if names_of(meanwhile) == {"failures freed, 2 ranks"}:
                break
            time.sleep(0.05)
        assert not whole.done(), "the file was written at the end only"
        done, said = whole.result()
    assert done.returncode == 1, done.returncode
    assert {row["what"]: row["good"] for row in said["checks"]} == {
        "failures freed, 2 ranks": True, "one_fails unseen, 2 ranks": False, "captures own, 2 ranks": True}, said["checks"]
    assert "one_fails unseen, 2 ranks (status 207: it stands still)" in done.stdout, done.stdout
    assert {"what": "one_fails unseen, 3 ranks", "why": "it stood still with 2"} in said["skipped"], said["skipped"]
    (build / "tests/gpu/gpu_late").unlink()
    done, said = run(script, out, build, GPU_CHECK_ONLY="late|contexts", GPU_CHECK_SECONDS="15", **environment)
    why = {row["what"]: row["why"] for row in said["skipped"]}
    assert "was not carried" in why["late"] and why["contexts finalize, 2 ranks"] == "the time is over", why


def main():
    script, *standins = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        out = folder / "out.json"
        if not standins:
            is_listed()
            return without(script, out)
        build, cuda, nccl = standins
        carried, libraries = folder / "tree", folder / "libraries"
        libraries.mkdir()
        subprocess.run([sys.executable, script, "--carry", build, carried], check=True)
        for library in (cuda, nccl):
            hide_counters(library, libraries)
        # Streams that run far behind are what the programs' own tests are for.
        environment = {"STANDIN_CUDA_DEVICES": "1", "STANDIN_CUDA_DELAY_US": "10", "LD_LIBRARY_PATH": str(libraries)}
        with concurrent.futures.ThreadPoolExecutor() as beside:  # which mostly waits
            hang = beside.submit(with_a_hang, script, folder / "hang.json", carried, environment)
            on_one_gpu(script, out, carried, environment)
            on_two_gpus(script, out, carried, environment)
            hang.result()


main()
