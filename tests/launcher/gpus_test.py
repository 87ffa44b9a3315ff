#!/usr/bin/env python3
"""A host's GPUs: as many ranks as it has, each with its own, drawn. Usage: gpus_test.py PRUN"""
import os
import re
import sys
import tempfile

from checks import check, result, run

import invented_gpus  # checks.py has said where it is

PRUN = os.path.abspath(sys.argv[1])
TELLS = 'none=${CUDA_VISIBLE_DEVICES+none}; echo "$RANK on $(hostname): ${CUDA_VISIBLE_DEVICES:-${none:-all}}"'
HOSTS = ["--virtual", "-H", "a:2,b:2"]
OWN = ["--gpus-per-rank", "1"]


def ranks_of(folder, *words, **environment):
    """The job where two GPUs are invented; "RANK on HOST: ITS GPUS" of each rank, in order."""
    environment = {"CUDA_VISIBLE_DEVICES": None, **environment}
    kept = {name: value for name, value in (os.environ | environment).items() if value is not None}
    done = run(*invented_gpus.opened([PRUN, "--oversubscribe", *words, "sh", "-c", TELLS], folder), env=kept)
    return done, sorted(done.stdout.splitlines())


def numbers(done):
    """What --report-bindings draws of the GPUs, rank by rank."""
    return re.findall(r"^rank (\d+) on \S+: .*?(?:, (GPUs? .*))?$", done.stderr, re.MULTILINE)


def one_host(folder):
    done, said = ranks_of(folder, "--nproc-per-node", "gpu")
    if done.returncode == invented_gpus.FORBIDDEN or (not said and "unshare" in done.stderr):
        print(f"not tried: a mount namespace is forbidden here: {done.stderr}")
        sys.exit(77)
    host = os.uname().nodename
    check("--nproc-per-node gpu starts a rank for each GPU", said == [f"{rank} on {host}: all" for rank in (0, 1)], done)
    done, said = ranks_of(folder, "--nproc-per-node", "gpu", CUDA_VISIBLE_DEVICES="1")
    check("... for each that CUDA would show", said == [f"0 on {host}: 1"], done)
    done, said = ranks_of(folder, "--nproc-per-node", "gpu", *OWN, "--report-bindings")
    check("--gpus-per-rank gives each rank its own", said == [f"{rank} on {host}: {rank}" for rank in (0, 1)], done)
    check("... and --report-bindings draws them", numbers(done) == [(str(rank), f"GPU {rank} (by local rank)")
                                                                    for rank in (0, 1)], done)
    done, said = ranks_of(folder, "-np", "2", *OWN, "--report-bindings", CUDA_VISIBLE_DEVICES="1,0")
    check("... by the names that CUDA_VISIBLE_DEVICES gives them", said == [f"0 on {host}: 1", f"1 on {host}: 0"] and
          numbers(done) == [("0", "GPU 1 (by local rank)"), ("1", "GPU 0 (by local rank)")], done)
    done, said = ranks_of(folder, "-np", "2", *OWN, "--report-bindings", CUDA_VISIBLE_DEVICES="")
    check("... and none where that is empty, which is told", said == [f"{rank} on {host}: none" for rank in (0, 1)] and
          done.stderr.count("CUDA_VISIBLE_DEVICES is empty, which hides") == 1 and
          done.stderr.count(", no GPU (CUDA_VISIBLE_DEVICES is empty)\n") == 2, done)
    done, said = ranks_of(folder, "-np", "2", *OWN, "--report-bindings", CUDA_VISIBLE_DEVICES="-1")
    check("... or names none", said == [f"{rank} on {host}: -1" for rank in (0, 1)] and
          done.stderr.count("CUDA_VISIBLE_DEVICES is -1, which hides all GPUs") == 1 and
          done.stderr.count(", no GPU (CUDA_VISIBLE_DEVICES is -1)\n") == 2, done)
    done, said = ranks_of(folder, "--nproc-per-node", "gpu", CUDA_VISIBLE_DEVICES="-1")
    check("... where no rank is started for a GPU", not said and "--nproc-per-node gpu: this machine has none" in done.stderr, done)
    done, said = ranks_of(folder, "-np", "2", *OWN, "-x", "CUDA_VISIBLE_DEVICES=7", "--report-bindings")
    check("-x has the last word", said == [f"{rank} on {host}: 7" for rank in (0, 1)], done)
    check("... and is drawn", done.stderr.count(", CUDA_VISIBLE_DEVICES=7 as given\n") == 2 and "GPU 0" not in done.stderr, done)


def beside_gpus(folder):
    """The kernel does not say where these are (the plans of suite plan have machines of which it does)."""
    done, said = ranks_of(folder, "-np", "2", "--map-by", "device=gpu", *OWN, "--report-bindings")
    host = os.uname().nodename
    check("--map-by device=gpu says where the kernel tells of no GPU's place", said == [f"{rank} on {host}: {rank}" for rank in (0, 1)] and
          done.stderr.count(f"prun: host {host} has no GPU that the kernel tells: its ranks alternate over the NUMA nodes\n") == 1 and
          numbers(done) == [(str(rank), f"GPU {rank} (by local rank)") for rank in (0, 1)], done)


def two_hosts(folder):
    done, said = ranks_of(folder, *HOSTS, "--nproc-per-node", "gpu", *OWN, "--report-bindings")
    check("on each of two hosts there is a rank for each GPU, with its own",
          said == ["0 on a: 0", "1 on a: 1", "2 on b: 0", "3 on b: 1"], done)
    check("... and they are drawn", numbers(done) == [(str(rank), f"GPU {rank % 2} (by local rank)")
                                                      for rank in range(4)], done)
    done, said = ranks_of(folder, *HOSTS, "--nproc-per-node", "gpu", *OWN, CUDA_VISIBLE_DEVICES="1")
    check("... of those that CUDA would show", said == ["0 on a: 1", "1 on b: 1"], done)


def main():
    with tempfile.TemporaryDirectory(prefix="gpus-") as folder:
        one_host(folder)
        beside_gpus(folder)
        two_hosts(folder)
    result()


main()
