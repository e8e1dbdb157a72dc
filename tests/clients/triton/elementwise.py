"""Kernels without matrices, and what NumPy says to them."""
import device
import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice

rng = np.random.default_rng(1)


def numbers(*shape):
    return rng.standard_normal(shape).astype(np.float32)


# ---- vector_add

@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def vector_add():
    n = 98432
    x, y, out = numbers(n), numbers(n), device.empty((n,), "float32")
    add_kernel[(triton.cdiv(n, 1024),)](device.to_device(x), device.to_device(y), out, n, BLOCK=1024)
    return out.numpy(), x + y, 0


# ---- softmax

@triton.jit
def softmax_kernel(out, x, row_stride, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        values = tl.load(x + row * row_stride + at, mask=at < columns, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * row_stride + at, powers / tl.sum(powers, axis=0), mask=at < columns)


def softmax():
    x = numbers(200, 781)
    out = device.empty(x.shape, "float32")
    softmax_kernel[(8,)](out, device.to_device(x), x.shape[1], *x.shape, BLOCK=1024, STAGES=2, num_warps=8)
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return out.numpy(), powers / powers.sum(axis=1, keepdims=True), 1e-6


# ---- dropout

@triton.jit
def dropout_kernel(x, out, kept, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    random = tl.rand(seed, at)
    keep = random > p
    values = tl.load(x + at, mask=at < n)
    tl.store(out + at, tl.where(keep, values / (1 - p), 0.0), mask=at < n)
    tl.store(kept + at, random, mask=at < n)


def philox(seed, counter):
    """The first word of Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3")."""
    words = [counter.astype(np.uint64)] + [np.zeros(len(counter), np.uint64) for _ in range(3)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        low = np.uint64(0xFFFFFFFF)
        words = [(second >> np.uint64(32)) ^ words[1] ^ np.uint64(key[0]), second & low,
                 (first >> np.uint64(32)) ^ words[3] ^ np.uint64(key[1]), first & low]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return words[0].astype(np.uint32)


def dropout():
    n, p, seed = 10000, 0.3, 1234
    x, out, drawn = numbers(n), device.empty((n,), "float32"), device.empty((n,), "float32")
    dropout_kernel[(triton.cdiv(n, 512),)](device.to_device(x), out, drawn, n, p, seed, BLOCK=512)
    bits = philox(seed, np.arange(n)).view(np.int32).astype(np.int64)
    uniform = (np.where(bits < 0, -bits - 1, bits) * 4.6566127342e-10).astype(np.float32)
    want = np.where(uniform > np.float32(p), x / np.float32(1 - p), 0)
    return np.stack([out.numpy(), drawn.numpy()]), np.stack([want, uniform]), 1e-6


# ---- layer_norm

@triton.jit
def norm_kernel(x, y, weight, bias, mean, rstd, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < n
    values = tl.load(x + row * stride + at, mask=inside, other=0.0)
    average = tl.sum(values, axis=0) / n
    centred = tl.where(inside, values - average, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + eps)
    tl.store(mean + row, average)
    tl.store(rstd + row, scale)
    out = centred * scale * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
    tl.store(y + row * stride + at, out, mask=inside)


@triton.jit
def norm_back_kernel(dx, dy, dw, db, x, weight, mean, rstd, locks, stride, n, GROUP: tl.constexpr,
                     BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < n
    scale = tl.load(rstd + row)
    hat = (tl.load(x + row * stride + at, mask=inside, other=0) - tl.load(mean + row)) * scale
    hat = tl.where(inside, hat, 0.0)
    grad = tl.load(dy + row * stride + at, mask=inside, other=0)
    weighted = tl.load(weight + at, mask=inside, other=0) * grad
    first = tl.sum(hat * weighted, axis=0) / n
    second = tl.sum(weighted, axis=0) / n
    tl.store(dx + row * stride + at, (weighted - (hat * first + second)) * scale, mask=inside)
    # A lock per group of rows, and a count that says whether its sums have begun.
    group = row % GROUP
    while tl.atomic_cas(locks + group, 0, 1) == 1:
        pass
    begun = tl.load(locks + GROUP + group)
    part_w, part_b = grad * hat, grad
    if begun == 0:
        tl.atomic_xchg(locks + GROUP + group, 1)
    else:
        part_w += tl.load(dw + group * n + at, mask=inside)
        part_b += tl.load(db + group * n + at, mask=inside)
    tl.store(dw + group * n + at, part_w, mask=inside)
    tl.store(db + group * n + at, part_b, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(locks + group, 0)


def layer_norm():
    rows, n, group = 151, 1000, 4
    x, dy, weight, bias = numbers(rows, n), numbers(rows, n), numbers(n), numbers(n)
    xd, wd = device.to_device(x), device.to_device(weight)
    y, dx = device.empty(x.shape, "float32"), device.empty(x.shape, "float32")
    mean, rstd = device.empty((rows,), "float32"), device.empty((rows,), "float32")
    norm_kernel[(rows,)](xd, y, wd, device.to_device(bias), mean, rstd, n, n, 1e-5, BLOCK=1024)
    dw, db = device.empty((group, n), "float32"), device.empty((group, n), "float32")
    norm_back_kernel[(rows,)](dx, device.to_device(dy), dw, db, xd, wd, mean, rstd,
                              device.empty((2 * group,), "int32"), n, n, GROUP=group, BLOCK=1024)
    x64 = x.astype(np.float64)
    scale = 1 / np.sqrt(x64.var(axis=1, keepdims=True) + 1e-5)
    hat = (x64 - x64.mean(axis=1, keepdims=True)) * scale
    weighted = weight * dy.astype(np.float64)
    want_dx = scale * (weighted - hat * (hat * weighted).mean(axis=1, keepdims=True) -
                       weighted.mean(axis=1, keepdims=True))
    got = [y.numpy().ravel(), dx.numpy().ravel(), dw.numpy().sum(axis=0), db.numpy().sum(axis=0)]
    want = [(hat * weight + bias).ravel(), want_dx.ravel(), (dy * hat).sum(axis=0), dy.sum(axis=0)]
    return np.concatenate(got), np.concatenate(want), 2e-4


# ---- reductions, scans, sorts, atomics

@triton.jit
def larger(a_value, a_at, b_value, b_at):
    take = (a_value > b_value) | ((a_value == b_value) & (a_at < b_at))
    return tl.where(take, a_value, b_value), tl.where(take, a_at, b_at)


@triton.jit
def reduce_kernel(x, sums, tops, tops_at, scans, ordered, N: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, N)
    values = tl.load(x + row * N + at)
    top, top_at = tl.reduce((values, at), 0, larger)
    tl.store(sums + row, tl.sum(values))
    tl.store(tops + row, top)
    tl.store(tops_at + row, top_at)
    tl.store(scans + row * N + at, tl.cumsum(values, axis=0))
    tl.store(ordered + row * N + at, tl.sort(values))


def reductions():
    x = rng.integers(-100, 100, (37, 256)).astype(np.int32)
    outs = [device.empty(s, "int32") for s in ((37,), (37,), (37,), x.shape, x.shape)]
    reduce_kernel[(37,)](device.to_device(x), *outs, N=256)
    want = [x.sum(axis=1), x.max(axis=1), x.argmax(axis=1), x.cumsum(axis=1), np.sort(x, axis=1)]
    return np.concatenate([o.numpy().ravel() for o in outs]), np.concatenate([w.ravel() for w in want]), 0


@triton.jit
def histogram_kernel(x, bins, total, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=0)
    counts = tl.histogram(values, BINS, mask=at < n)
    tl.atomic_add(bins + tl.arange(0, BINS), counts)
    tl.atomic_max(total, tl.max(values))


def histogram():
    x = rng.integers(0, 60, 5000).astype(np.int32)
    bins, most = device.empty((64,), "int32"), device.empty((1,), "int32")
    histogram_kernel[(triton.cdiv(5000, 512),)](device.to_device(x), bins, most, 5000, BLOCK=512, BINS=64)
    want = np.append(np.bincount(x, minlength=64), x.max())
    return np.append(bins.numpy(), most.numpy()), want, 0


# ---- libdevice

@triton.jit
def math_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n)
    tl.store(out + at, libdevice.asin(values), mask=at < n)
    tl.store(out + n + at, libdevice.tanh(values) + tl.erf(values), mask=at < n)
    tl.store(out + 2 * n + at, libdevice.pow(tl.abs(values) + 0.5, 1.7), mask=at < n)


def math_functions():
    from math import erf
    n = 3000
    x = rng.uniform(-1, 1, n).astype(np.float32)
    out = device.empty((3, n), "float32")
    math_kernel[(triton.cdiv(n, 256),)](device.to_device(x), out, n, BLOCK=256)
    x = x.astype(np.float64)
    return out.numpy(), np.stack([np.arcsin(x), np.tanh(x) + np.vectorize(erf)(x), (np.abs(x) + 0.5) ** 1.7]), 2e-6


# ---- programmatic dependent launch

@triton.jit
def dependent_kernel(x, y, out, n, BLOCK: tl.constexpr):
    tl.extra.cuda.gdc_wait()
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(out + at, values, mask=at < n)


def dependent_launch():
    n = 20000
    x, y = device.to_device(numbers(n)), device.to_device(numbers(n))
    out = [device.empty((n,), "float32") for _ in range(3)]
    for step, to in enumerate(out):
        dependent_kernel[(triton.cdiv(n, 512),)](out[step - 1] if step else x, y, to, n, BLOCK=512, launch_pdl=True)
    want = x.numpy()
    for _ in out:
        want = want + y.numpy()
    return out[-1].numpy(), want, 0


# name, what runs it, the least capability
CASES = [
    ("vector_add", vector_add, 0),
    ("softmax", softmax, 0),
    ("dropout", dropout, 0),
    ("layer_norm", layer_norm, 0),
    ("reductions", reductions, 0),
    ("histogram", histogram, 0),
    ("math_functions", math_functions, 0),
    ("dependent_launch", dependent_launch, 90),
]
