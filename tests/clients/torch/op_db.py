#!/usr/bin/env python3
"""PyTorch's own operator database (op_db of its wheel) on cuda, compared with its CPU:

    heddle run PYTHON op_db.py [--dtype float32] [--mode forward|out|inplace|backward] [--part 0/2] [--samples 12]
                               [--out FILE] [NAME...]

A line of JSON for each operator: samples that were right, that differ, that raised, and that PyTorch's CPU itself
refused, which do not count; the last line sums up. With --out, a run that was ended goes on where it was. Exits with 0
when at least 98 % of the samples are right.
"""
import argparse
import contextlib
import json
import os
import random
import signal
import sys
import time
import traceback
import warnings

import torch
import torch.utils._pytree as pytree
from torch.testing._internal.common_methods_invocations import op_db

# Their results depend on a generator or on memory that nobody has written: the shape is compared.
RANDOM = ("rand", "bernoulli", "multinomial", "normal", "dropout", "uniform", "exponential", "geometric", "cauchy",
          "empty", "rrelu", "svd_lowrank", "pca_lowrank", "log_normal", "fractional_max_pool", "new_empty", "randperm")
# Where to split is a tensor of the host, on a GPU as well.
HOST_ARGUMENTS = ("tensor_split",)
# Their statistics of 16-bit tensors are float32 on a GPU, and without training those that were given; the CPU has none.
STATISTICS = ("native_layer_norm", "native_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update")
# What one operator may take.
SECONDS = 60


class TooSlow(BaseException):
    pass


def on_alarm(*_):
    raise TooSlow


def moved(tree, device):
    """A copy of arguments, each tensor once, devices replaced as well."""
    def one(x):
        if isinstance(x, torch.Tensor):
            return x.detach().clone().to(device).requires_grad_(x.requires_grad)
        if isinstance(x, torch.device):
            return torch.device(device)
        return device if isinstance(x, str) and x == "cpu" else x
    return pytree.tree_map(one, tree)


def retyped(tree, was, to):
    """Tensors and arguments of one type in another."""
    def one(x):
        if isinstance(x, torch.Tensor):
            return x.detach().to(to).requires_grad_(x.requires_grad) if x.dtype == was else x
        return to if x is was else x
    return pytree.tree_map(one, tree)


def tensors(tree):
    return [t for t in pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]


def gradients(result, inputs):
    outputs = [t for t in tensors(result) if t.requires_grad]
    leaves = [t for t in tensors(inputs) if t.requires_grad]
    if not outputs or not leaves:
        return ()
    losses = [(t.abs() if t.is_complex() else t.float()).sum() for t in outputs]
    return torch.autograd.grad(losses, leaves, allow_unused=True)


def forward(op, arguments):
    first, args, kwargs = arguments
    return op(first, *args, **kwargs)


def out(op, arguments):
    """Into tensors of the right shape, and into an empty one, which is resized."""
    first, args, kwargs = arguments
    want = op(first, *args, **kwargs)
    into = torch.empty_like(want).fill_(7) if isinstance(want, torch.Tensor) else None
    if into is None:
        into = tuple(torch.empty_like(t) for t in want)
    given = op(first, *args, **kwargs, out=into)
    if isinstance(want, torch.Tensor):
        empty = torch.empty(0, dtype=want.dtype, device=want.device)
        op(first, *args, **kwargs, out=empty)
        return given, into, empty
    return given, into


def inplace(op, arguments):
    first, args, kwargs = arguments
    first = first.clone() if isinstance(first, torch.Tensor) else [t.clone() for t in first]
    result = op.inplace_variant(first, *args, **kwargs)
    return result, first


def backward(op, arguments):
    return gradients(forward(op, arguments), arguments)


MODES = {"forward": forward, "out": out, "inplace": inplace, "backward": backward}


def is_in_mode(op, mode):
    if mode == "out":
        return op.supports_out
    if mode == "inplace":
        return op.inplace_variant is not None
    return mode == "forward" or op.supports_autograd


def differs(op, got, want, dtype):
    """None, or what is different."""
    g, w = pytree.tree_leaves(got), pytree.tree_leaves(want)
    if len(g) != len(w):
        return f"{len(g)} results, wanted {len(w)}"
    exact = not (dtype.is_floating_point or dtype.is_complex)
    loose = {torch.float16: 1e-2, torch.bfloat16: 3e-2}.get(dtype, 1e-3)
    for a, b in zip(g, w):
        if not isinstance(b, torch.Tensor):
            continue
        if b.dtype in (torch.float16, torch.bfloat16) and op.name in STATISTICS:
            b = b.to(a.dtype)
        if op.name in STATISTICS and b.numel() == 0 and a.dtype == b.dtype:
            continue
        if a.shape != b.shape or a.dtype != b.dtype or a.layout != b.layout:
            return f"{a.dtype}{list(a.shape)} {a.layout}, wanted {b.dtype}{list(b.shape)} {b.layout}"
        if any(word in op.name for word in RANDOM):
            continue
        tolerance = 0 if exact and not b.dtype.is_floating_point else loose
        try:
            torch.testing.assert_close(a.detach().cpu(), b.detach(), rtol=tolerance, atol=tolerance, equal_nan=True,
                                       check_device=False, check_stride=False)
        except AssertionError as e:
            return str(e)
    return None


def is_random(op, sample):
    """Attention with dropout: its seed is set by op_db itself, and the generators differ."""
    probability = sample.kwargs.get("dropout_p", 0)
    if op.name == "nn.functional.multi_head_attention_forward" and len(sample.args) > 9:
        probability = sample.args[9]
    return probability != 0


def try_sample(op, sample, mode, dtype, row):
    run = MODES[mode]
    arguments = (sample.input, sample.args, sample.kwargs)
    host, device = moved(arguments, "cpu"), moved(arguments, "cuda")
    if op.name in HOST_ARGUMENTS:
        device = (device[0], host[1], host[2])
    try:
        torch.manual_seed(0)
        want = run(op, host)
    except Exception as e:
        row["refused by the CPU"] += 1
        return
    try:
        torch.manual_seed(0)
        got = run(op, device)
        torch.cuda.synchronize()
    except Exception as e:
        row["raised"] += 1
        row["why"] = f"{type(e).__name__}: {e}"[:600]
        return
    why = differs(op, got, want, dtype)
    if why and is_random(op, sample):
        why = None
    if why and dtype in (torch.float16, torch.bfloat16):
        # As a GPU does it: in float32, and rounded at the end.
        with contextlib.suppress(Exception):
            why = differs(op, got, retyped(run(op, retyped(host, dtype, torch.float32)), torch.float32, dtype), dtype)
    row["differ" if why else "right"] += 1
    if why:
        row["why"] = why[:600]


def try_operator(op, args, dtype):
    row = {"operator": op.full_name if hasattr(op, "full_name") else op.name, "right": 0, "differ": 0, "raised": 0,
           "refused by the CPU": 0}
    if op.variant_test_name:
        row["operator"] = f"{op.name}.{op.variant_test_name}"
    if not op.supports_dtype(dtype, "cpu") or not op.supports_dtype(dtype, "cuda") or not is_in_mode(op, args.mode):
        return None
    start = time.time()
    signal.alarm(SECONDS)
    try:
        torch.manual_seed(0)
        random.seed(0)
        grad = args.mode == "backward"
        for i, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=grad)):
            if i == args.samples:
                break
            if args.mode == "inplace" and sample.broadcasts_input:
                continue
            try_sample(op, sample, args.mode, dtype, row)
    except TooSlow:
        row["slow"] = True
    except Exception as e:  # op_db's own
        row["no sample"] = f"{type(e).__name__}: {e}"[:300]
    signal.alarm(0)
    row["seconds"] = round(time.time() - start, 2)
    return row


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--mode", default="forward", choices=MODES)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--out")
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def summary(rows):
    count = {key: sum(row[key] for row in rows) for key in ("right", "differ", "raised", "refused by the CPU")}
    tried = count["right"] + count["differ"] + count["raised"]
    count["operators"] = len(rows)
    count["share"] = round(count["right"] / tried, 4) if tried else 1.0
    return count


def main():
    args = arguments()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, on_alarm)
    dtype = getattr(torch, args.dtype)
    part, parts = map(int, args.part.split("/"))
    rows, done = [], set()
    if args.out and os.path.exists(args.out):
        rows = [json.loads(line) for line in open(args.out) if "operator" in line and '"operators"' not in line]
        done = {row["operator"] for row in rows}
    log = open(args.out, "a") if args.out else sys.stdout
    for op in [op for i, op in enumerate(op_db) if i % parts == part]:
        name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
        if name in done or (args.names and op.name not in args.names):
            continue
        print(name, file=sys.stderr, flush=True)
        row = try_operator(op, args, dtype)
        if row:
            rows.append(row)
            print(json.dumps(row), file=log, flush=True)
    total = summary(rows)
    print(json.dumps(total), flush=True)
    return 0 if total["share"] >= 0.98 else 1


if __name__ == "__main__":
    sys.exit(main())
