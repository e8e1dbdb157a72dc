#!/usr/bin/env python3
"""bitsandbytes from PyPI on Heddle, compared with its own CPU kernels:  heddle run PYTHON tests/clients/bitsandbytes/run.py [NAME...]

PYTHON has torch and bitsandbytes. Prints a line of JSON per check (../harness.py)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

import bitsandbytes as bnb  # noqa: E402
import bitsandbytes.functional as F  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

torch.manual_seed(0)
X = torch.randn(64, 64)


def blockwise():
    """By what the numbers mean: at a bound between two codes host and device may choose either."""
    got, want = (F.dequantize_blockwise(*F.quantize_blockwise(X.to(device))).cpu() for device in ("cuda", "cpu"))
    return (got - X).abs().numpy(), (want - X).abs().numpy(), 1e-3


def four_bits(kind):
    def check():
        got, want = (F.dequantize_4bit(*F.quantize_4bit(X.to(device), quant_type=kind)).cpu().numpy() for device in ("cuda", "cpu"))
        return got, want, 1e-6
    return check


def linear_4bit(rows):
    def check():
        weight = torch.randn(32, 64)
        results = []
        for device in ("cuda", "cpu"):
            layer = bnb.nn.Linear4bit(64, 32, bias=False, compute_dtype=torch.float32, quant_type="nf4")
            layer.weight = bnb.nn.Params4bit(weight.clone(), requires_grad=False, quant_type="nf4")
            results.append(layer.to(device)(X[:rows].to(device)).detach().cpu().numpy())
        return *results, 1e-3
    return check


def linear_8bit():
    layer, weight = bnb.nn.Linear8bitLt(64, 32, bias=False, has_fp16_weights=False), torch.randn(32, 64)
    layer.weight = bnb.nn.Int8Params(weight.clone(), requires_grad=False, has_fp16_weights=False)
    got = layer.cuda()(X.half().cuda()).float().cpu().numpy()
    return got, (X @ weight.T).numpy(), 0.6  # two roundings to 127 steps, in sums of 64


def train(optimizer, rate, **options):
    """Against the same optimizer with 32 bits of PyTorch's: the last losses are near each other, and small."""
    classes = (X @ torch.randn(64, 4)).argmax(1).cuda()
    results = []
    for make in (optimizer, lambda p, lr, **more: torch.optim.SGD(p, lr=lr, momentum=0.9) if "momentum" in more else torch.optim.Adam(p, lr=lr)):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 4)).cuda()
        optimizer_of_model, losses = make(model.parameters(), lr=rate, **options), []
        for _ in range(20):
            optimizer_of_model.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(X.cuda()), classes)
            loss.backward()
            optimizer_of_model.step()
            losses.append(loss.item())
        results.append(np.array(losses))
    return *results, 0.05


def fine_tuning():
    """A frozen layer of four bits and small matrices beside it that learn, as QLoRA does."""
    goal, results = torch.randn(64, 32), []
    weight = torch.randn(32, 64)
    for device in ("cuda", "cpu"):
        torch.manual_seed(2)
        layer = bnb.nn.Linear4bit(64, 32, bias=False, compute_dtype=torch.float32, quant_type="nf4")
        layer.weight = bnb.nn.Params4bit(weight.clone(), requires_grad=False, quant_type="nf4")
        layer = layer.to(device)
        down, up = (torch.nn.Parameter(torch.randn(*shape).to(device) * 0.1) for shape in ((64, 4), (4, 32)))
        optimizer, losses = torch.optim.SGD([down, up], lr=1e-2), []
        for _ in range(10):
            loss = (layer(X.to(device)) + X.to(device) @ down @ up - goal.to(device)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        results.append(np.array(losses))
    return *results, 1e-3


CHECKS = [
    ("blockwise", blockwise),
    ("nf4", four_bits("nf4")),
    ("fp4", four_bits("fp4")),
    ("linear_4bit", linear_4bit(64)),
    ("linear_4bit_vector", linear_4bit(1)),
    ("linear_8bit", linear_8bit),
    ("adam_8bit", lambda: train(bnb.optim.Adam8bit, 1e-2)),
    ("adam_32bit", lambda: train(bnb.optim.Adam32bit, 1e-2)),
    ("paged_adam_8bit", lambda: train(bnb.optim.PagedAdam8bit, 1e-2)),
    ("sgd_8bit", lambda: train(bnb.optim.SGD8bit, 1e-1, momentum=0.9)),
    ("fine_tuning", fine_tuning),
]

sys.exit(harness.main(CHECKS))
