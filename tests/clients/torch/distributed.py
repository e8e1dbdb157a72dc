#!/usr/bin/env python3
"""Training on two devices over Gloo, beside one process without them:

    HEDDLE_DEVICES=2 heddle run PYTHON tests/clients/torch/distributed.py [NAME...]

Each way of dividing a model trains it for three steps; its outputs are compared with those of the whole model on the
CPU. Exit status 1 when one differs."""
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

WORLD, STEPS, BATCH = 2, 3, 8


def plain():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))


def ddp(model, rank, _mesh):
    return nn.parallel.DistributedDataParallel(model, device_ids=[rank])


def fsdp1(model, rank, _mesh):
    from torch.distributed.fsdp import FullyShardedDataParallel
    return FullyShardedDataParallel(model, device_id=rank, use_orig_params=True)


def fsdp2(model, _rank, mesh):
    from torch.distributed.fsdp import fully_shard
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def tensor_parallel(model, _rank, mesh):
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    return parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})


WAYS = {f.__name__: f for f in (ddp, fsdp1, fsdp2, tensor_parallel)}


def train(rank, way, rendezvous):
    torch.cuda.set_device(rank)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=WORLD)
    whole, part = plain(), WAYS[way](plain().cuda(), rank, init_device_mesh("cuda", (WORLD,)))
    generator = torch.Generator().manual_seed(1)
    x, y = torch.randn(BATCH, 16, generator=generator), torch.randint(0, 4, (BATCH,), generator=generator)
    share = BATCH // WORLD
    mine = slice(0, BATCH) if way == "tensor_parallel" else slice(rank * share, (rank + 1) * share)
    optimizers = [torch.optim.AdamW(m.parameters(), 1e-2) for m in (whole, part)]
    for _ in range(STEPS):
        for model, optimizer, a, b in ((whole, optimizers[0], x, y), (part, optimizers[1], x[mine].cuda(), y[mine].cuda())):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(a), b).backward()
            optimizer.step()
    with torch.no_grad():
        torch.testing.assert_close(part(x.cuda()).cpu(), whole(x), rtol=1e-5, atol=1e-5)
    dist.destroy_process_group()


def main():
    wrong = 0
    for way in sys.argv[1:] or WAYS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                mp.spawn(train, (way, os.path.join(folder, "rendezvous")), nprocs=WORLD)
                print(f"ok - {way}", flush=True)
            except Exception as e:  # of a child: its traceback
                wrong += 1
                print(f"not ok - {way}\n{e}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
