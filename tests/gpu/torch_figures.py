#!/usr/bin/env python3
"""torch_figures.py MOST [FEWER] -- allreduce by torch's NCCL, as tests/gpu/allreduce_figures.cc prints it.

Run under prun, which sets what torch.distributed reads. Ends with status 77 where torch or its GPU is missing.
"""
import datetime
import os
import sys
import time

try:
    import torch
    import torch.distributed as dist
except ImportError as why:
    print(f"no torch: {why}")
    sys.exit(77)

SIZES = [8, 64, 512, 4096, 32768, 65536, 1 << 18, 1 << 20, 2 << 20, 16 << 20, 128 << 20, 1 << 30]  # as there


def rounds(tensor, times):
    for _ in range(6):
        dist.barrier()
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(times):
            dist.all_reduce(tensor)
            torch.cuda.synchronize()
        yield (time.perf_counter() - began) / times * 1e6


def main():
    if not torch.cuda.is_available():
        print("torch sees no GPU")
        sys.exit(77)
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=60))
    most, fewer = int(sys.argv[1]), int((sys.argv[2:] or ["1"])[0])
    for count in [each // 4 for each in SIZES if each <= most]:
        times = (200 if count <= 16384 else 30 if count <= 4 << 20 else 4) // fewer + 1
        taken = sorted(list(rounds(torch.zeros(count, device="cuda"), times))[1:])
        if rank == 0:
            print(f'{{"what": "allreduce", "by": "torch_nccl", "ranks": {size}, "bytes": {count * 4}, '
                  f'"us": {taken[len(taken) // 2]:.3f}}}')
    dist.destroy_process_group()


main()
