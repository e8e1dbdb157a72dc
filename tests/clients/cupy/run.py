#!/usr/bin/env python3
"""CuPy on Heddle, compared with NumPy:  heddle run PYTHON tests/clients/cupy/run.py [NAME...]

PYTHON has cupy-cuda13x or cupy-cuda12x. Prints a line of JSON per check (../harness.py)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

import cupy  # noqa: E402
import numpy as np  # noqa: E402

rng = np.random.default_rng(7)
X = rng.standard_normal((64, 33)).astype(np.float32)
Y = rng.standard_normal((64, 33)).astype(np.float32)
N = rng.integers(0, 100, 1000)
HALF = X.astype(np.float16)


def same(function, *arrays, tolerance=0.0):
    """The function of arrays, by CuPy and by NumPy: it takes the module first."""
    def check():
        got = function(cupy, *[cupy.asarray(a) for a in arrays])
        got = tuple(cupy.asnumpy(g) for g in got) if isinstance(got, (tuple, list)) else cupy.asnumpy(got)
        return got, function(np, *arrays), tolerance
    return check


def raw_kernel():
    kernel = cupy.RawKernel(r"""extern "C" __global__ void axpy(float a, const float *x, float *y, int n)
        { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }""", "axpy")
    x, y = cupy.asarray(X.ravel()), cupy.asarray(Y.ravel())
    kernel((X.size // 128 + 1,), (128,), (np.float32(2), x, y, np.int32(X.size)))
    return cupy.asnumpy(y), 2 * X.ravel() + Y.ravel(), 1e-6


def raw_module():
    module = cupy.RawModule(code=r"""template <class T, int N> __global__ void fill(T *out)
        { out[threadIdx.x] = T(threadIdx.x * N); }""", name_expressions=["fill<double, 3>", "fill<int, 5>"])
    a, b = cupy.zeros(32), cupy.zeros(32, np.int32)
    module.get_function("fill<double, 3>")((1,), (32,), (a,))
    module.get_function("fill<int, 5>")((1,), (32,), (b,))
    return (cupy.asnumpy(a), cupy.asnumpy(b)), (np.arange(32) * 3.0, np.arange(32) * 5), 0


def elementwise_kernel():
    kernel = cupy.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = x > y ? x * x : y", "choose")
    return cupy.asnumpy(kernel(cupy.asarray(X), cupy.asarray(Y))), np.where(X > Y, X * X, Y), 1e-6


def reduction_kernel():
    kernel = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    return cupy.asnumpy(kernel(cupy.asarray(X), axis=1)), np.sqrt((X * X).sum(1)), 1e-5


def fused():
    @cupy.fuse()
    def f(x, y):
        return cupy.sin(x) * y + cupy.exp(-x * x)
    return cupy.asnumpy(f(cupy.asarray(X), cupy.asarray(Y))), np.sin(X) * Y + np.exp(-X * X), 1e-6


def jit_kernel():
    from cupyx import jit

    @jit.rawkernel()
    def scale(x, y, n):
        i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
        if i < n:
            y[i] = x[i] * 3
    x, y = cupy.asarray(X.ravel()), cupy.zeros(X.size, np.float32)
    scale[X.size // 64 + 1, 64](x, y, np.int32(X.size))
    return cupy.asnumpy(y), X.ravel() * 3, 1e-6


def streams():
    results = []
    for _ in range(4):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            results.append((cupy.asarray(X) * 2).sum())
            event = stream.record()
        event.synchronize()
    return np.array([float(r) for r in results]), np.full(4, (X * 2).sum()), 1e-2


def graphs():
    x = cupy.asarray(X)
    y = cupy.empty_like(x)
    cupy.add(x, 1, out=y)  # compiled before it is captured
    cupy.cuda.Device().synchronize()  # the other stream writes there, too
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        cupy.add(x, 1, out=y)
        cupy.add(y, y, out=y)
        graph = stream.end_capture()
    graph.launch(stream)
    graph.launch(stream)
    stream.synchronize()
    return cupy.asnumpy(y), (X + 1) * 2, 1e-6


def pinned_and_pools():
    memory = cupy.cuda.alloc_pinned_memory(X.nbytes)
    host = np.frombuffer(memory, np.float32, X.size).reshape(X.shape)
    host[...] = X
    x = cupy.empty(X.shape, np.float32)
    x.set(host)
    with cupy.cuda.using_allocator(cupy.cuda.MemoryAsyncPool().malloc):
        y = x + 1
        got = cupy.asnumpy(y)
        del y
    return got, X + 1, 1e-6


CHECKS = [
    ("arange_sum", lambda: (float(cupy.arange(10).sum()), 45.0, 0)),
    ("elementwise", same(lambda m, x, y: m.tanh(x) * m.exp(y) + m.where(x > y, x, y), X, Y, tolerance=1e-5)),
    ("integers", same(lambda m, n: (n // 7, n % 7, n << 2, ~n, n ** 2), N)),
    ("half", same(lambda m, h: (h * 2 + 1).astype(np.float32), HALF, tolerance=2e-3)),
    ("complex", same(lambda m, x, y: m.abs(m.exp(x + 1j * y)), X, Y, tolerance=1e-4)),
    ("reductions", same(lambda m, x: (x.sum(0), x.max(1), x.mean(), x.argmin(1), x.var(0)), X, tolerance=1e-4)),
    ("cumulative", same(lambda m, x: (m.cumsum(x, 0), m.cumprod(x[:8], 1)), X, tolerance=1e-3)),
    ("sort", same(lambda m, x, n: (m.sort(x, 1), m.argsort(n, kind="stable"), m.unique(n)), X, N)),
    ("searching", same(lambda m, n: (m.searchsorted(m.sort(n), n), m.nonzero(n > 50)[0], m.bincount(n)), N)),
    ("indexing", same(lambda m, x: (x[::2, 3:7], x[x > 0], x[m.asarray([3, 1, 3])], m.take(x, m.asarray([1, 2]), 1)), X)),
    ("scatter", same(lambda m, n: m.histogram(n, 10)[0], N)),
    ("manipulation", same(lambda m, x, y: (m.concatenate([x, y]), m.tile(x.T, 2), m.roll(x, 5), m.flip(x, 0)), X, Y)),
    ("statistics", same(lambda m, x: (m.median(x), m.percentile(x, 30), m.std(x, 1)), X, tolerance=1e-4)),
    ("raw_kernel", raw_kernel),
    ("raw_module", raw_module),
    ("elementwise_kernel", elementwise_kernel),
    ("reduction_kernel", reduction_kernel),
    ("fuse", fused),
    ("jit", jit_kernel),
    ("streams", streams),
    ("graphs", graphs),
    ("pinned_and_pools", pinned_and_pools),
    ("einsum", same(lambda m, x, y: m.einsum("ij,ij->i", x, y), X, Y, tolerance=1e-4)),
    ("matmul", same(lambda m, x, y: x @ y.T, X, Y, tolerance=1e-3)),
    ("fft", same(lambda m, x: m.abs(m.fft.fft(x)), X, tolerance=1e-3)),
    ("random", lambda: (float(cupy.random.default_rng(1).standard_normal(10000).mean()), 0.0, 0.1)),
]

sys.exit(harness.main(CHECKS))
