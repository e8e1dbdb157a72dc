#!/usr/bin/env python3
"""numba-cuda on Heddle, compared with NumPy:  heddle run PYTHON tests/clients/numba/run.py [NAME...]

PYTHON has numba-cuda[cu13] or [cu12]. Prints a line of JSON per check (../harness.py)."""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

import numpy as np  # noqa: E402
from numba import cuda, float32, int32, vectorize  # noqa: E402
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32  # noqa: E402

rng = np.random.default_rng(3)
X = rng.standard_normal(1000).astype(np.float32)
Y = rng.standard_normal(1000).astype(np.float32)
LANES = np.arange(32)


def launch(kernel, threads, out, *arguments, blocks=1):
    device = cuda.to_device(out)
    kernel[blocks, threads](*arguments, device)
    return device.copy_to_host()


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@cuda.jit
def maths(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sin(x[i]) * math.exp(-x[i]) + math.sqrt(abs(x[i])) + math.erf(x[i])


@cuda.jit(fastmath=True)
def fast(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.cos(x[i]) / (1 + x[i] * x[i])


@cuda.jit
def block_sum(x, out):
    part = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    part[t] = x[t]
    cuda.syncthreads()
    n = 64
    while n > 0:
        if t < n:
            part[t] += part[t + n]
        cuda.syncthreads()
        n //= 2
    if t == 0:
        out[0] = part[0]


@cuda.jit
def atomics(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, 0, 1.0)
        cuda.atomic.max(out, 1, x[i])
        cuda.atomic.min(out, 2, x[i])


@cuda.jit
def warp(out):
    t = cuda.threadIdx.x
    out[0, t] = cuda.shfl_down_sync(0xffffffff, t, 3)
    out[1, t] = cuda.shfl_xor_sync(0xffffffff, t, 5)
    out[2, t] = cuda.shfl_sync(0xffffffff, t, 7)
    out[3, t] = cuda.ballot_sync(0xffffffff, t % 3 == 0) & 0x7fffffff
    out[4, t] = cuda.all_sync(0xffffffff, t < 32) * 2 + cuda.any_sync(0xffffffff, t == 40)
    out[5, t] = cuda.match_any_sync(0xffffffff, t // 16) & 0x7fffffff


@cuda.jit
def matrix(a, b, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        out[i, j] = total


@cuda.jit
def locals_(out):
    kept = cuda.local.array(8, int32)
    t = cuda.threadIdx.x
    for i in range(8):
        kept[i] = i * t
    total = 0
    for i in range(8):
        total += kept[(i + t) % 8]
    out[t] = total


@cuda.jit(device=True)
def helper(x, n):
    return x if n == 0 else x * 2 + n


@cuda.jit
def calls(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = helper(x[i], i % 3)


@vectorize(["float32(float32, float32)"], target="cuda")
def ufunc(x, y):
    return x * x - y


@cuda.jit
def randoms(states, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = xoroshiro128p_uniform_float32(states, i)


@cuda.reduce
def largest(a, b):
    return max(a, b)


def warp_check():
    ballot = sum(1 << t for t in range(0, 31, 3)) & 0x7fffffff
    halves = np.where(LANES < 16, 0xffff, 0x7fff0000)
    want = np.array([np.where(LANES + 3 < 32, LANES + 3, LANES), LANES ^ 5, np.full(32, 7), np.full(32, ballot), np.full(32, 2), halves])
    return launch(warp, 32, np.zeros((6, 32), np.int32)), want, 0


def records():
    kind = np.dtype([("a", np.int32), ("b", np.float32)])

    @cuda.jit
    def double(x, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i].a = x[i].a * 2
            out[i].b = x[i].b + 1
    x = np.zeros(50, kind)
    x["a"], x["b"] = np.arange(50), 0.5
    got = launch(double, 64, np.zeros(50, kind), x)
    return (got["a"], got["b"]), (x["a"] * 2, x["b"] + 1), 0


def streams():
    stream = cuda.stream()
    device = cuda.to_device(X, stream=stream)
    out = cuda.device_array_like(device)
    add[8, 128, stream](device, device, out)
    got = out.copy_to_host(stream=stream)
    stream.synchronize()
    return got, X + X, 0


def random_check():
    states = create_xoroshiro128p_states(2048, seed=1)
    got = launch(randoms, 256, np.zeros(2048, np.float32), states, blocks=8)
    return (got.mean(), float(got.min() >= 0), float(got.max() < 1)), (0.5, 1.0, 1.0), 0.05


def calls_want():
    n = np.arange(X.size) % 3
    return np.where(n == 0, X, X * 2 + n)


A = rng.standard_normal((20, 17)).astype(np.float32)
B = rng.standard_normal((17, 23)).astype(np.float32)
ERF = np.array([math.erf(x) for x in X])

CHECKS = [
    ("add", lambda: (launch(add, 128, np.zeros_like(X), X, Y, blocks=8), X + Y, 0)),
    ("maths", lambda: (launch(maths, 128, np.zeros_like(X), X, blocks=8),
                       np.sin(X) * np.exp(-X) + np.sqrt(np.abs(X)) + ERF, 1e-4)),
    ("fastmath", lambda: (launch(fast, 128, np.zeros_like(X), X, blocks=8), np.cos(X) / (1 + X * X), 1e-5)),
    ("shared_memory", lambda: (launch(block_sum, 128, np.zeros(1, np.float32), X[:128]), np.array([X[:128].sum()]), 1e-4)),
    ("atomics", lambda: (launch(atomics, 128, np.zeros(3, np.float32), X, blocks=8), np.array([X.size, X.max(), X.min()]), 0)),
    ("warp", warp_check),
    ("matrix", lambda: (launch(matrix, (8, 8), np.zeros((20, 23), np.float32), A, B, blocks=(3, 3)), A @ B, 1e-4)),
    ("local_memory", lambda: (launch(locals_, 32, np.zeros(32, np.int32)), LANES * 28, 0)),
    ("device_functions", lambda: (launch(calls, 128, np.zeros_like(X), X, blocks=8), calls_want(), 1e-5)),
    ("ufunc", lambda: (ufunc(X, Y), X * X - Y, 1e-5)),
    ("reduce", lambda: (largest(X), X.max(), 0)),
    ("records", records),
    ("streams", streams),
    ("random", random_check),
]

sys.exit(harness.main(CHECKS))
