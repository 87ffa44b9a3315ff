"""Trains a small model by DistributedDataParallel over gloo; every rank must end with the same weights."""
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--local-rank", "--local_rank", type=int)
parser.add_argument("--fail-at", type=int, help="the step at which the last rank fails, the first time")
parser.add_argument("--until", help="a file: train until it is there")
options = parser.parse_args()
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
restart = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
print(f"began {rank} of {size}, restart {restart}", flush=True)
torch.manual_seed(rank)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def goes_on(step):
    """Rank 0 decides for all."""
    mine = torch.tensor([float(step < 20 if not options.until else not os.path.exists(options.until))])
    dist.broadcast(mine, 0)
    return bool(mine.item())


step = 0
while goes_on(step):
    if step == options.fail_at and restart == 0 and rank == size - 1:
        raise SystemExit(3)
    data = torch.randn(8, 16)
    loss = (model(data) - data.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
every = [torch.zeros_like(weights) for _ in range(size)]
dist.all_gather(every, weights)
assert all(torch.equal(other, weights) for other in every), "the weights differ"
print(f"trained {rank} of {size}, local {os.environ['LOCAL_RANK']}, told {options.local_rank}, restart {restart}",
      flush=True)
dist.destroy_process_group()
os._exit(0)  # threads of torch may still run, and would end the process by an abort
