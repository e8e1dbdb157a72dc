#!/usr/bin/env python3
"""PyTorch on Heddle compared with its own CPU: operators, what torch.compile() makes of functions, and training:

    heddle run PYTHON tests/clients/pytorch/run.py [NAME...]

PYTHON has torch and triton. Each function runs as operators, and compiled, as Triton's kernels. Tensors are made on the
CPU and copied. Prints a line of JSON per function and exits with 0 when all are right.
"""
import json
import os
import sys
import tempfile
import time
import traceback

start = time.time()
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # silences a warning of Triton 3.9


def functions():
    """Name, function, its tensors, tolerance."""
    import torch
    from torch.nn import functional as F
    torch.manual_seed(1)
    rand, randint = torch.randn, torch.randint
    return [
        ("copies", None, (rand(1000, 33),), 0),
        ("pointwise", lambda x, y: torch.sin(x) * y + F.gelu(x), (rand(300, 200), rand(300, 200)), 1e-5),
        ("half", lambda x: (x.half() * 2).relu().float(), (rand(100, 100),), 1e-2),
        ("reductions", lambda x: (x.sum(), x.amax(0), x.argmax(1), x.var(1)), (rand(100, 300),), 1e-3),
        ("softmax", lambda x: torch.softmax(x, -1), (rand(64, 1000),), 1e-6),
        ("layer_norm", lambda x, w, b: F.layer_norm(x, (256,), w, b), (rand(64, 256), rand(256), rand(256)), 1e-5),
        ("cumsum", lambda x: torch.cumsum(x, 1), (rand(16, 500),), 1e-3),
        ("sort", lambda x: torch.sort(x, 1)[0], (rand(8, 100),), 0),
        ("embedding", lambda w, i: F.embedding(i, w).sum(1), (rand(100, 64), randint(0, 100, (8, 12))), 1e-5),
        ("matmul", lambda x, y: x @ y, (rand(65, 130), rand(130, 33)), 1e-3),
        ("convolution", lambda x, w: F.conv2d(x, w, padding=1), (rand(2, 3, 20, 20), rand(8, 3, 3, 3)), 1e-3),
        ("attention", lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), (rand(2, 4, 32, 16),), 1e-4),
    ]


def model():
    from torch import nn
    return nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10))


def training(x, y):
    """The losses of some steps, on the tensors' device."""
    import torch
    torch.manual_seed(2)
    m = model().to(x.device)
    optimizer = torch.optim.AdamW(m.parameters(), 1e-2)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(m(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def captured(x):
    """A model in a graph that is made for other numbers; on the CPU, the model."""
    import torch
    torch.manual_seed(2)
    m = model().to(x.device).eval()
    with torch.no_grad():
        if not x.is_cuda:
            return m(x)
        given = torch.zeros_like(x)
        m(given)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = m(given)
        given.copy_(x)
        graph.replay()
        return result


def numbers(x):
    """Published for NVIDIA's GPUs."""
    import torch
    if not x.is_cuda:
        return torch.tensor([-0.9247, -0.4253, -2.6438, 0.1452, -0.1209])
    torch.manual_seed(0)
    return torch.randn(5, device="cuda")


def cases():
    """The functions as operators and compiled, then whole programs."""
    import torch
    found = []
    for name, function, tensors, tolerance in functions():
        found.append((name, function, tensors, tolerance))
        if function:
            found.append((f"{name}_compiled", torch.compile(function, dynamic=False), tensors, tolerance))
    images, labels = torch.randn(8, 1, 8, 8), torch.randint(0, 10, (8,))
    return found + [("training", training, (images, labels), 1e-4), ("graph", captured, (images,), 1e-4),
                    ("random_numbers", numbers, (images,), 1e-4)]


def on_device(function, tensors):
    import torch
    inputs = [t.cuda() for t in tensors]
    outputs = function(*inputs) if function else inputs
    torch.cuda.synchronize()
    return outputs


def as_tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def compare(name, function, tensors, tolerance):
    begin = time.time()
    line = {"kernel": name, "ok": False}
    try:
        got = as_tuple(on_device(function, tensors))
        plain = getattr(function, "_torchdynamo_orig_callable", function)
        want = as_tuple(plain(*tensors) if function else tensors)
        error = max((g.cpu().double() - w.double()).abs().max().item() for g, w in zip(got, want, strict=True))
        line.update(ok=error <= tolerance and all(g.is_cuda for g in got), error=error, tolerance=tolerance)
    except Exception as e:
        line["exception"] = f"{type(e).__name__}: {e}"[:2000]
        traceback.print_exc()
    line["seconds"] = round(time.time() - begin, 3)
    print(json.dumps(line), flush=True)
    return line["ok"]


def main(wanted):
    import torch
    known = cases()
    unknown = set(wanted) - {name for name, *_ in known}
    if unknown:
        sys.exit(f"no such functions: {', '.join(sorted(unknown))}")
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no device")
    good = True
    for number, case in enumerate(c for c in known if not wanted or c[0] in wanted):
        good = compare(*case) and good
        if number == 0:
            print(json.dumps({"first_result_seconds": round(time.time() - start, 3), "torch": torch.__version__}),
                  flush=True)
    return not good


with tempfile.TemporaryDirectory() as cache:
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", cache)  # every run compiles
    os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(cache, "triton"))
    code = main(sys.argv[1:])
sys.exit(code)
