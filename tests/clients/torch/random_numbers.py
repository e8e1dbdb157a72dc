#!/usr/bin/env python3
"""Random numbers of PyTorch's CUDA generator on Heddle, as a GPU gives them. TAP.

    heddle run python tests/clients/torch/random_numbers.py [--speed]

The layer is what `heddle run` loads, or the library that TORCH_LAYER names. --speed prints the time of the
CUDA device's operators beside those of the CPU instead of checking anything.
"""
import ctypes
import math
import os
import subprocess
import sys
import time

import torch

PUBLISHED = [
    # (what, seed, function, numbers, where they were published from a GPU)
    ("randn", 0, lambda: torch.randn(2, 8, device="cuda"),
     [-0.9247, -0.4253, -2.6438, 0.1452, -0.1209, -0.5797, -0.6229, -0.3284,
      -1.0745, -0.3631, -1.6711, 2.2655, 0.3117, -0.1842, 1.2866, 1.1820],
     "outputs of Triton's puzzles and courses"),
    ("rand", 0, lambda: torch.rand(5, 7, device="cuda"),
     [0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967, 0.4150, 0.8203, 0.2290, 0.9096, 0.1183, 0.0752, 0.4092, 0.9601,
      0.2093, 0.1940, 0.8909, 0.4387, 0.3570, 0.5454, 0.8299, 0.2099, 0.7684, 0.4290, 0.2117, 0.6606, 0.1654, 0.4250,
      0.9927, 0.6964, 0.2472, 0.7028, 0.7494, 0.9303, 0.0494],
     "mmdetection3d's tests; pytorch/pytorch#47347"),
    ("rand, the second time", 0, lambda: (torch.rand(9, device="cuda"), torch.rand(9, device="cuda"))[1],
     [0.9722, 0.7910, 0.4690, 0.3300, 0.3345, 0.3783, 0.7640, 0.6405, 0.1103], "storch's examples"),
    ("randn, seed 10", 10, lambda: torch.randn(3, device="cuda"), [-0.1029, 1.6810, -0.2708], "pytorch/pytorch#79496"),
    ("Linear(1, 1)", 42, lambda: torch.cat([p.flatten() for p in torch.nn.Linear(1, 1, device="cuda").parameters()]),
     [0.2259, 0.9754], "mrdbourke/pytorch-deep-learning#759"),
    ("randn with a generator",
     0, lambda: torch.randn(1, 64, 2048, device="cuda", generator=torch.Generator("cuda").manual_seed(42))[0, 0, :3],
     [0.1940, 2.1614, -0.1721], "pytorch/pytorch#158398"),
]
# Of 9,483,264 normal numbers of seed 1: the first and the last three (pytorch/pytorch#143086).
LARGE = {"a100": [-0.2963, 2.6764, -0.1408, 0.1549, -0.6797, -0.1656],
         "h100": [-0.2963, 2.6764, -0.1408, -0.6970, -0.7780, 0.3267]}

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
passed = failed = 0


def load():
    path = os.environ.get("TORCH_LAYER")
    if path:
        layer = ctypes.CDLL(path)
        layer.heddle_torch_start.restype = ctypes.c_char_p
        error = layer.heddle_torch_start()
        assert not error, error


def ok(condition, name, detail=""):
    global passed, failed
    passed, failed = passed + bool(condition), failed + (not condition)
    print(f"{'ok' if condition else 'not ok'} {passed + failed} - {name}{'' if condition else f': {detail}'}", flush=True)


def same(a, b):
    return a.dtype == b.dtype and torch.equal(a, b)


def seeded(function, seed=0):
    torch.manual_seed(seed)
    return function()


# ---- numbers that were published

def published():
    for name, seed, function, numbers, where in PUBLISHED:
        got = seeded(function, seed).detach().cpu().flatten().tolist()[:len(numbers)]
        ok(all(abs(g - n) < 6e-5 for g, n in zip(got, numbers)), f"published ({where}): {name}", got)


def large_of(machine):
    """Of the device as another machine: in a process of its own, for it is what it is from the start."""
    code = ("import sys; sys.path.insert(0, sys.argv[1]); import torch, random_numbers as r; r.load();"
            "x = torch.randn(49 * 12 * 112 * 144, device='cuda', generator=torch.Generator('cuda').manual_seed(1));"
            "y = torch.rand(4096, device='cuda', generator=torch.Generator('cuda').manual_seed(1));"
            "print(x[:3].tolist() + x[-3:].tolist()); print(y.double().sum().item())")
    out = subprocess.run([sys.executable, "-c", code, os.path.dirname(os.path.abspath(__file__))], text=True, check=True,
                         env=dict(os.environ, HEDDLE_MACHINE=machine), stdout=subprocess.PIPE).stdout.splitlines()
    return [float(x) for x in out[-2].strip("[]").split(",")], float(out[-1])


def machines():
    seen = {m: large_of(m) for m in LARGE}
    for machine, numbers in LARGE.items():
        got = seen[machine][0]
        ok(all(abs(g - n) < 6e-5 for g, n in zip(got, numbers)), f"published (pytorch/pytorch#143086): a large tensor of {machine}",
           got)
    ok(seen["a100"][1] == seen["h100"][1], "a small tensor is the same on both machines")


# ---- Philox in Python: a reference for how threads get numbers

def philox(seed, counter, thread):
    a, b, c, d = counter & 0xffffffff, counter >> 32, thread & 0xffffffff, thread >> 32
    k, l = seed & 0xffffffff, seed >> 32
    for _ in range(10):
        p, q = 0xd2511f53 * a, 0xcd9e8d57 * c
        a, b, c, d = (q >> 32) ^ b ^ k, q & 0xffffffff, (p >> 32) ^ d ^ l, p & 0xffffffff
        k, l = (k + 0x9e3779b9) & 0xffffffff, (l + 0xbb67ae85) & 0xffffffff
    return a, b, c, d


def threads_of(n):
    p = torch.cuda.get_device_properties(0)
    return 256 * min(p.multi_processor_count * (p.max_threads_per_multi_processor // 256), (n + 255) // 256)


def uniform(word):
    return torch.tensor(word, dtype=torch.float64).float().item() * 2.0**-32 + 2.0**-33


def reference():
    seed, n = 0x123456789abcdef0, 40961
    threads = threads_of(n)
    torch.manual_seed(seed)
    state = torch.cuda.get_rng_state()
    offset = int.from_bytes(state[8:].numpy().tobytes(), "little")
    ok(int.from_bytes(state[:8].numpy().tobytes(), "little") == seed and offset == 0, "the state is the seed and the offset")
    x = torch.rand(n, device="cuda").cpu()
    unroll = (n - 1) // (4 * threads) + 1
    moved = int.from_bytes(torch.cuda.get_rng_state()[8:].numpy().tobytes(), "little")
    ok(moved == 4 * unroll, "the offset moves by what the threads may draw", moved)
    bad = []
    for i in [0, 1, 255, 256, threads - 1, threads, 2 * threads + 3, 5 * threads + 1, n - 1]:
        if i < n:
            k, slot, thread = i // (4 * threads), i // threads % 4, i % threads
            want = torch.tensor(uniform(philox(seed, k, thread)[slot]), dtype=torch.float32).item()
            if x[i].item() != (0.0 if want == 1 else want):
                bad.append((i, x[i].item(), want))
    ok(not bad, "elements of a large tensor have their thread's words", bad)

    torch.manual_seed(7)
    y = torch.randint(0, 1 << 20, (300,), device="cuda").cpu()
    ok(all(y[i] == philox(7, 0, i)[0] % (1 << 20) for i in range(300)), "randint takes a word for an element")
    torch.manual_seed(7)
    y = torch.empty(300, dtype=torch.int64, device="cuda").random_().cpu()
    words = [philox(7, 0, i) for i in range(300)]
    ok(all(y[i].item() == ((w[0] << 32 | w[1]) % (1 << 63)) for i, w in enumerate(words)), "random_ of int64 takes two")
    torch.manual_seed(7)
    y = torch.rand(300, dtype=torch.float64, device="cuda").cpu()
    ok(all(y[i].item() == (w[0] ^ w[1] << 21) * 2.0**-53 + 2.0**-54 for i, w in enumerate(words)), "rand of float64")

    torch.manual_seed(7)
    p = torch.linspace(0, 1, 300)
    y = torch.bernoulli(p.cuda()).cpu()
    ok(all(y[i].item() == float(uniform(philox(7, 0, i // 4)[i % 4]) <= p[i].item()) for i in range(300)),
       "bernoulli by a tensor takes four neighbours from a thread")
    for dtype, width in ((torch.float32, 4), (torch.float16, 8), (torch.float64, 2)):
        torch.manual_seed(7)
        y, mask = torch.native_dropout(torch.ones(304, dtype=dtype, device="cuda"), 0.25, True)
        want = []
        for i in range(304):
            thread, at = divmod(i, width)
            want.append(uniform(philox(7, at // 4, thread)[at % 4]) < 0.75)
        ok(mask.cpu().tolist() == want, f"dropout of {dtype}: {width} neighbours from a thread")
        ok(torch.allclose(y.float().cpu(), torch.tensor(want) / 0.75, rtol=1e-3), "and the rest is scaled")
    torch.manual_seed(7)
    mask = torch.native_dropout(torch.ones(303, device="cuda"), 0.25, True)[1].cpu().tolist()
    ok(mask == [uniform(philox(7, 0, i)[0]) < 0.75 for i in range(303)], "dropout of an odd number: one of a thread")


# ---- distributions

def ks(x, cdf):
    """Kolmogorov and Smirnov's distance times the root of n: above 1.95 once in a thousand samples."""
    x = x.double().cpu().sort().values
    n = x.numel()
    f = cdf(x)
    i = torch.arange(n, dtype=torch.float64)
    return max((f - i / n).max().item(), ((i + 1) / n - f).max().item()) * math.sqrt(n)


def moments(name, x, mean, var, n=None):
    x = x.double().cpu()
    n = n or x.numel()
    off = abs(x.mean().item() - mean) / math.sqrt(var / n)
    ok(off < 5 and abs(x.var().item() / var - 1) < 0.1, f"{name}: mean and variance", (x.mean().item(), x.var().item()))


def distributions():
    n = 1 << 17
    normal = torch.distributions.Normal(torch.zeros((), dtype=torch.float64), 1)
    for dtype in FLOATS:
        e = lambda: torch.empty(n, dtype=dtype, device="cuda")
        exact = dtype in (torch.float32, torch.float64)
        torch.manual_seed(123)
        cases = [
            ("uniform_", e().uniform_(-2, 4), 1, 3, lambda x: (x + 2) / 6),
            ("normal_", e().normal_(1, 2), 1, 4, lambda x: normal.cdf((x - 1) / 2)),
            ("exponential_", e().exponential_(0.5), 2, 4, lambda x: 1 - (-0.5 * x).exp()),
            ("log_normal_", e().log_normal_(0, 0.25), math.exp(1 / 32), math.exp(1 / 16) * (math.exp(1 / 16) - 1),
             lambda x: normal.cdf(x.log() / 0.25)),
            ("cauchy_", e().cauchy_(1, 2), None, None, lambda x: ((x - 1) / 2).atan() / math.pi + 0.5),
            ("_standard_gamma", torch._standard_gamma(torch.full_like(e(), 3)), 3, 3, lambda x: torch.special.gammainc(x * 0 + 3, x)),
        ]
        for name, x, mean, var, cdf in cases:
            if mean is not None:
                moments(f"{name} of {dtype}", x, mean, var)
            if exact:
                d = ks(x, cdf)
                ok(d < 2.2, f"{name} of {dtype}: distribution", d)
        x = seeded(lambda: e().uniform_(3, 5))
        ok(x.min() >= 3 and x.max() < 5 or not exact, f"uniform_ of {dtype} is in [from, to)")
        moments(f"poisson of {dtype}", torch.poisson(torch.full_like(e(), 20)), 20, 20)
        moments(f"poisson of a large rate of {dtype}", torch.poisson(torch.full_like(e(), 100)), 100, 100)
        moments(f"binomial of {dtype}", torch.binomial(torch.full_like(e(), 50), torch.full_like(e(), 0.5)), 25, 12.5)
        moments(f"binomial of few of {dtype}", torch.binomial(torch.full_like(e(), 10), torch.full_like(e(), 0.125)), 1.25, 10 * 0.125 * 0.875)
        x = torch._sample_dirichlet(torch.ones(n // 4, 4, dtype=dtype, device="cuda")).double()
        moments(f"dirichlet of {dtype}", x[:, 0], 0.25, 0.0375)
        ok((x.sum(1) - 1).abs().max() < 0.02, "and its rows sum to 1")
        y = torch.nn.functional.dropout(torch.ones(n, dtype=dtype, device="cuda"), 0.3)
        moments(f"dropout of {dtype}", (y != 0).float(), 0.7, 0.21)
        x = torch.randn(n, dtype=dtype, device="cuda")
        y = torch.nn.functional.rrelu(x, 0.1, 0.3, training=True)
        ok(torch.equal(y[x > 0], x[x > 0]), f"rrelu of {dtype} keeps what is positive")
        moments("and scales the rest", (y / x)[x < -0.01], 0.2, 0.04 / 12)
    for dtype in FLOATS + INTEGERS + [torch.bool]:
        e = lambda: torch.empty(n, dtype=dtype, device="cuda")
        moments(f"bernoulli_ of {dtype}", e().bernoulli_(0.25), 0.25, 0.1875)
        moments(f"bernoulli_ by a tensor of {dtype}", e().bernoulli_(torch.full((n,), 0.25, device="cuda")), 0.25, 0.1875)
        if dtype == torch.bool:
            moments("random_ of bool", e().random_(), 0.5, 0.25)
            continue
        moments(f"geometric_ of {dtype}", e().geometric_(0.5), 2, 2)
        moments(f"random_ from 10 to 20 of {dtype}", e().random_(10, 20), 14.5, 99 / 12)
        top = {torch.uint8: 255, torch.int8: 127, torch.int16: 32767, torch.int32: 2**31 - 1, torch.int64: 2**63 - 1,
               torch.float16: 2048, torch.bfloat16: 256, torch.float32: 2**24, torch.float64: 2**53}[dtype]
        moments(f"random_ of {dtype}", e().random_(), top / 2, top * top / 12)
    x = torch.randint(-2**62, 2**62, (n,), device="cuda")
    moments("randint of a large range", x.double(), 0, 2.0**126 / 12 * 1.0)
    x = torch.empty(n, dtype=torch.int64, device="cuda").random_(-2**63, None)
    moments("random_ of all 64 bits", x.double(), 0, 2.0**128 / 12)
    z = torch.randn(n, dtype=torch.complex64, device="cuda")
    moments("randn of complex", z.real, 0, 0.5)


def permutations():
    for n in (0, 1, 2, 1000, 70000, 1 << 20):
        p = torch.randperm(n, device="cuda")
        ok(same(p.sort().values.cpu(), torch.arange(n)), f"randperm({n}) is a permutation")
    torch.manual_seed(3)
    keys = torch.empty(1000, dtype=torch.int32, device="cuda").random_(-2**31, 2**31 - 1)
    bits = math.ceil(math.log2(1000 - (6e6 + 1) / (12 * math.log(0.9))))
    order = (keys.long() & ((1 << bits) - 1)).cpu().sort(stable=True).indices
    ok(same(seeded(lambda: torch.randperm(1000, device="cuda"), 3).cpu(), order), "randperm sorts random keys")
    counts = torch.zeros(4, 4)
    for _ in range(400):
        counts[torch.arange(4), torch.randperm(4, device="cuda").cpu()] += 1
    ok((counts - 100).abs().max() < 45, "every place gets every number", counts)
    for dtype in (torch.int32, torch.float32, torch.float16, torch.uint8):
        p = torch.randperm(200, device="cuda", dtype=dtype)
        ok(p.dtype == dtype and p.long().sum() == 19900, f"randperm of {dtype}")
    out = torch.zeros(20, 2, dtype=torch.int64, device="cuda")[:, 0]
    ok(same(seeded(lambda: torch.randperm(20, out=out)), seeded(lambda: torch.randperm(20, device="cuda"))), "randperm into a column")


def multinomials():
    p = torch.tensor([[1.0, 2, 3, 4], [4, 0, 0, 4]], device="cuda")
    x = seeded(lambda: torch.multinomial(p, 40000, replacement=True))
    f = torch.stack([torch.bincount(r, minlength=4) for r in x]).cpu() / 40000
    ok((f - (p / p.sum(1, keepdim=True)).cpu()).abs().max() < 0.015, "multinomial with replacement: frequencies", f)
    x = torch.stack([torch.multinomial(p[0], 2) for _ in range(2000)])
    ok((x[:, 0] != x[:, 1]).all() and abs((x[:, 0] == 3).double().mean().item() - 0.4) < 0.05, "multinomial without replacement")
    cols, n = 5, 300
    u = seeded(lambda: torch.multinomial(torch.ones(cols, device="cuda"), n, replacement=True), 9).cpu()
    ok(all(u[i] == min(int(uniform(philox(9, 0, i)[0]) * cols), cols - 1) for i in range(n)), "multinomial takes a word for a sample")
    try:
        torch.multinomial(torch.tensor([-1.0, 2], device="cuda"), 1)
        ok(False, "multinomial refuses negative probabilities")
    except RuntimeError as e:
        ok("probability tensor" in str(e), "multinomial refuses negative probabilities", e)


# ---- state

OPERATORS = {
    "rand": lambda g, n: torch.rand(n, device="cuda", generator=g),
    "randn": lambda g, n: torch.randn(n, device="cuda", generator=g),
    "randint": lambda g, n: torch.randint(0, 1000, (n,), device="cuda", generator=g),
    "randperm": lambda g, n: torch.randperm(n, device="cuda", generator=g),
    "normal": lambda g, n: torch.normal(torch.zeros(n, device="cuda"), torch.ones(n, device="cuda"), generator=g),
    "bernoulli": lambda g, n: torch.bernoulli(torch.full((n,), 0.5, device="cuda"), generator=g),
    "bernoulli_": lambda g, n: torch.empty(n, device="cuda").bernoulli_(0.5, generator=g),
    "exponential_": lambda g, n: torch.empty(n, device="cuda").exponential_(generator=g),
    "geometric_": lambda g, n: torch.empty(n, device="cuda").geometric_(0.1, generator=g),
    "cauchy_": lambda g, n: torch.empty(n, device="cuda").cauchy_(generator=g),
    "log_normal_": lambda g, n: torch.empty(n, device="cuda").log_normal_(generator=g),
    "random_": lambda g, n: torch.empty(n, device="cuda").random_(generator=g),
    "poisson": lambda g, n: torch.poisson(torch.full((n,), 9.0, device="cuda"), generator=g),
    "binomial": lambda g, n: torch.binomial(torch.full((n,), 99.0, device="cuda"), torch.full((n,), 0.4, device="cuda"), generator=g),
    "_standard_gamma": lambda g, n: torch._standard_gamma(torch.full((n,), 2.0, device="cuda"), generator=g),
    "_sample_dirichlet": lambda g, n: torch._sample_dirichlet(torch.full((1, n), 2.0, device="cuda"), generator=g),
    "multinomial": lambda g, n: torch.multinomial(torch.ones(n, device="cuda"), n, generator=g),
    "multinomial with replacement": lambda g, n: torch.multinomial(torch.ones(n, device="cuda"), n, True, generator=g),
    "rrelu": lambda g, n: torch.ops.aten.rrelu_with_noise(-torch.ones(n, device="cuda"), torch.empty(n, device="cuda"), 0.1, 0.3, True, g),
    "_fused_dropout": lambda g, n: torch.ops.aten._fused_dropout(torch.ones(n, device="cuda"), 0.5, g)[0],
    "dropout": None,
    "feature dropout": None,
    "attention with dropout": None,
}


def attention():
    q = torch.ones(1, 1, 16, 8, device="cuda")
    return torch.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.5)


def with_default(name, n):
    """Operators that take no generator draw from the default one."""
    ones = torch.ones(1, n, 1, 1, device="cuda")
    return {"dropout": lambda: torch.nn.functional.dropout(ones, 0.5), "feature dropout": lambda: torch.nn.functional.dropout2d(ones, 0.5),
            "attention with dropout": attention}[name]()


def states():
    cpu = torch.get_rng_state()
    for name, f in OPERATORS.items():
        run = (lambda: f(None, 64)) if f else (lambda: with_default(name, 64))
        try:
            a, b, c = seeded(run), run(), seeded(run)
        except NotImplementedError as e:
            print(f"# {name}: {str(e)[:100]}")
            continue
        ok(same(a, c), f"{name} is reproducible")
        ok(not same(a, b), f"{name} moves on")
        state = torch.cuda.get_rng_state()
        d = run()
        torch.cuda.set_rng_state(state)
        ok(same(d, run()), f"{name}: set_rng_state goes back")
        if f:
            g = torch.Generator("cuda").manual_seed(0)
            ok(same(a, f(g, 64)), f"{name} of a generator")
    torch.set_rng_state(cpu)
    with torch.random.fork_rng():
        torch.manual_seed(5)
        x = torch.rand(3, device="cuda")
    torch.manual_seed(5)
    ok(same(x, torch.rand(3, device="cuda")), "fork_rng")
    cpu = torch.get_rng_state()
    for name, f in OPERATORS.items():
        try:
            f(None, 64) if f else with_default(name, 64)
        except NotImplementedError:
            pass
    ok(torch.equal(cpu, torch.get_rng_state()), "the CPU's generator stays as it is")
    try:
        torch.empty(3, device="cuda").uniform_(generator=torch.Generator())
        ok(False, "a generator of the CPU is refused")
    except RuntimeError as e:
        ok("Expected a 'cuda' device type for generator" in str(e), "a generator of the CPU is refused", e)
    before = torch.cuda.get_rng_state()
    try:
        torch.nn.functional.scaled_dot_product_attention(*[torch.ones(1, 1, 4, 8, device="cuda")] * 3)
    except NotImplementedError as e:
        print(f"# attention: {str(e)[:100]}")
    ok(torch.equal(before, torch.cuda.get_rng_state()), "attention without dropout draws nothing")


def checkpointing():
    from torch.utils.checkpoint import checkpoint
    x = torch.ones(100, device="cuda", requires_grad=True)
    y = checkpoint(lambda x: torch.nn.functional.dropout(x, 0.5), x, use_reentrant=False)
    y.sum().backward()
    ok(torch.equal(x.grad, y.detach()), "a checkpoint draws the same again")


# ---- shapes

def shapes():
    for n in (0, 1, 3, 256, 257):
        x = seeded(lambda: torch.rand(n, device="cuda"))
        ok(x.numel() == n and (x.cpu().tolist() == seeded(lambda: torch.rand(300, device="cuda"))[:n].tolist()), f"{n} elements")
    whole = seeded(lambda: torch.rand(1 << 21, device="cuda"))
    ok(abs(whole.double().mean().item() - 0.5) < 0.002 and whole.unique().numel() > (1 << 21) * 0.85, "2^21 elements")
    base = torch.zeros(6, 8, device="cuda")
    flat = seeded(lambda: torch.empty(48, device="cuda").normal_())
    ok(same(seeded(lambda: base.normal_()).flatten(), flat), "a matrix is filled row by row")
    ok(same(seeded(lambda: base.t().normal_()).t().flatten(), flat), "its transposition in the order of memory")
    base.zero_()
    part = seeded(lambda: base[:, ::2].normal_())
    ok(same(part.flatten(), flat[:24]) and (base[:, 1::2] == 0).all(), "every second column; the others stay")
    ok(seeded(lambda: torch.empty((), device="cuda").normal_()).item() == flat[0].item(), "a tensor without dimensions")
    x = torch.ones(2, 3, 4, 5, device="cuda").to(memory_format=torch.channels_last)
    y = seeded(lambda: torch.native_dropout(x, 0.5, True))[1]
    z = seeded(lambda: torch.native_dropout(torch.ones(120, device="cuda"), 0.5, True))[1]
    ok(same(y.permute(0, 2, 3, 1).flatten(), z), "dropout of channels_last is in the order of memory")
    x = torch.ones(9, 4, device="cuda")[:, :3]
    y, z = seeded(lambda: torch.native_dropout(x, 0.5, True))[1], seeded(lambda: torch.native_dropout(torch.ones(27, device="cuda"), 0.5, True))[1]
    ok(same(y.flatten(), z), "dropout of a part of a matrix is in the order of indices")
    p = torch.rand(4, 6, device="cuda").t()
    out = torch.empty(6, 4, device="cuda")
    ok((seeded(lambda: torch.bernoulli(p, out=out)).cpu() <= 1).all(), "bernoulli of a transposition")
    many = torch.full((3, 5), 2.0, device="cuda").t()
    ok(same(seeded(lambda: torch.poisson(many)).sort().values, seeded(lambda: torch.poisson(many)).sort().values), "poisson of a transposition")


# ---- graphs

def graphs():
    x = torch.ones(1000, device="cuda")

    def step():
        return (torch.rand(100, device="cuda"), torch.nn.functional.dropout(x, 0.5), torch.randperm(50, device="cuda"),
                torch.poisson(x), torch.bernoulli(x * 0.5), torch.multinomial(x, 20, True))
    step()
    graph = torch.cuda.CUDAGraph()
    torch.manual_seed(11)
    with torch.cuda.graph(graph):
        results = step()

    def replay():
        graph.replay()
        torch.cuda.synchronize()
        return [r.clone() for r in results]
    torch.manual_seed(11)
    first, second = replay(), replay()
    names = "rand", "dropout", "randperm", "poisson", "bernoulli", "multinomial"
    for name, a, b in zip(names, first, second):
        ok(not same(a, b), f"replays of {name} differ")
    torch.manual_seed(11)
    for name, a, b in zip(names, first, replay()):
        ok(same(a, b), f"a replay of {name} is reproducible")
    torch.manual_seed(11)
    eager = [step(), step()]
    for k, replayed in enumerate((first, second)):
        for name, a, b in zip(names, replayed, eager[k]):
            ok(same(a, b), f"replay {k} of {name} is what the operators give without a graph")
    torch.manual_seed(11)
    replay()
    after = torch.cuda.get_rng_state()
    torch.manual_seed(11)
    step()
    ok(torch.equal(after, torch.cuda.get_rng_state()), "a replay moves the state as the operators do")


def errors():
    for name, f, text in [
            ("uniform_", lambda: torch.empty(3, device="cuda").uniform_(2, 1), "expects to return a [from, to) range"),
            ("normal_", lambda: torch.empty(3, device="cuda").normal_(0, -1), "std >= 0"),
            ("random_", lambda: torch.empty(3, device="cuda").random_(5, 5), "to be less than"),
            ("bernoulli_", lambda: torch.empty(3, device="cuda").bernoulli_(2), "p to be in [0, 1]"),
            ("bernoulli", lambda: torch.bernoulli(torch.full((3,), 2.0, device="cuda")), "in [0, 1]"),
            ("poisson", lambda: torch.poisson(torch.full((3,), -2.0, device="cuda")), "non-negative"),
            ("exponential_", lambda: torch.empty(3, device="cuda").exponential_(-1), "lambda > 0"),
            ("randperm", lambda: torch.randperm(-1, device="cuda"), "negative"),
            ("cauchy_", lambda: torch.empty(3, dtype=torch.int64, device="cuda").cauchy_(), "floating")]:
        try:
            f()
            ok(False, f"{name} refuses", "it did not")
        except Exception as e:
            ok(text in str(e), f"{name} refuses", e)


# ---- speed

def speed():
    def measure(f, number):
        best = math.inf
        for _ in range(5):
            begin = time.thread_time() if torch.get_num_threads() == 1 else time.process_time()
            for _ in range(number):
                f()
            best = min(best, (time.thread_time() if torch.get_num_threads() == 1 else time.process_time()) - begin)
        return best / number
    torch.set_num_threads(1)
    print("one thread, CPU time of the calling thread, the best of five: microseconds on cuda and cpu, and their ratio")
    for n, number in ((10, 2000), (10_000, 200), (10_000_000, 1)):
        tensors = {d: torch.ones(n, device=d) for d in ("cuda", "cpu")}
        for name, f in (("uniform_", lambda t: t.uniform_()), ("normal_", lambda t: t.normal_()),
                        ("dropout", lambda t: torch.nn.functional.dropout(t, 0.5))):
            cuda, cpu = (measure(lambda: f(tensors[d]), number) * 1e6 for d in ("cuda", "cpu"))
            print(f"{name:10s} {n:10d} {cuda:12.2f} {cpu:12.2f} {cuda / cpu:6.2f}", flush=True)


def main():
    load()
    if "--speed" in sys.argv:
        speed()
        return 0
    for part in (published, reference, states, shapes, graphs, errors, permutations, multinomials, checkpointing, machines, distributions):
        print(f"# {part.__name__}")
        part()
    print(f"1..{passed + failed}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
