"""More of Triton's language, and what NumPy says to it."""
import device
import matrix
import numpy as np
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

rng = np.random.default_rng(3)
describe = TensorDescriptor.from_tensor


# ---- scans, gathers, the largest

@triton.jit
def higher(a, b):
    return tl.maximum(a, b)


@triton.jit
def tile_kernel(x, rows, scanned, gathered, top, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * 32 + tl.arange(0, 32)[None, :]
    values = tl.load(x + at)
    tl.store(scanned + at, tl.associative_scan(values, 0, higher, reverse=True))
    tl.store(gathered + at, tl.gather(values, tl.load(rows + at), 0))
    tl.store(top + tl.arange(0, N)[:, None] * 8 + tl.arange(0, 8)[None, :], tl.topk(values, 8))


def tiles():
    x = rng.standard_normal((64, 32)).astype(np.float32)
    rows = rng.integers(0, 64, x.shape).astype(np.int32)
    outs = [device.empty(s, "float32") for s in (x.shape, x.shape, (64, 8))]
    tile_kernel[(1,)](device.to_device(x), device.to_device(rows), *outs, N=64)
    want = [np.maximum.accumulate(x[::-1], axis=0)[::-1], np.take_along_axis(x, rows, 0), -np.sort(-x, axis=1)[:, :8]]
    return np.concatenate([o.numpy().ravel() for o in outs]), np.concatenate([w.ravel() for w in want]), 0


# ---- atomics of all types, 64-bit integers

@triton.jit
def atomics_kernel(x, halves, brains, words, doubles, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at)
    tl.atomic_add(halves + at % 8, values.to(tl.float16))
    tl.atomic_add(brains + at % 8, values.to(tl.bfloat16))
    tl.atomic_min(words + at % 8, (values * 4).to(tl.int64))
    tl.atomic_add(doubles + at % 8, values.to(tl.float64))


def atomics():
    x = rng.integers(-8, 8, 256).astype(np.float32)
    outs = [device.empty((8,), t) for t in ("float16", "bfloat16", "int64", "float64")]
    atomics_kernel[(1,)](device.to_device(x), *outs, BLOCK=256)
    sums = x.reshape(-1, 8).sum(axis=0)
    least = np.minimum(4 * x.reshape(-1, 8).min(axis=0), 0)
    return np.stack([o.numpy() for o in outs]), np.stack([sums, sums, least, sums]), 0


@triton.jit
def integers_kernel(x, y, out, N: tl.constexpr):
    at = tl.arange(0, N)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(out + at, a // b)
    tl.store(out + N + at, a % b)
    tl.store(out + 2 * N + at, tl.umulhi(a.to(tl.uint64), b.to(tl.uint64)).to(tl.int64))


def integers():
    x, y = rng.integers(1, 2 ** 62, 64), rng.integers(1, 2 ** 31, 64)
    out = device.empty((3, 64), "int64")
    integers_kernel[(1,)](device.to_device(x), device.to_device(y), out, N=64)
    high = [int(a) * int(b) >> 64 for a, b in zip(x, y)]
    return out.numpy() - np.stack([x // y, x % y, high]), np.zeros((3, 64)), 0


# ---- blocks that wait for each other

@triton.jit
def cooperative_kernel(count, x, out, N: tl.constexpr, BLOCKS: tl.constexpr):
    block = tl.program_id(0)
    at = tl.arange(0, N)
    tl.store(x + block * N + at, block + at)
    tl.debug_barrier()
    tl.atomic_add(count, 1)
    while tl.atomic_add(count, 0) < BLOCKS:
        pass
    tl.store(out + block * N + at, tl.load(x + (block + 1) % BLOCKS * N + at, volatile=True))


def cooperative():
    x, out = device.empty((2, 128), "int32"), device.empty((2, 128), "int32")
    cooperative_kernel[(2,)](device.empty((1,), "int32"), x, out, N=128, BLOCKS=2, launch_cooperative_grid=True)
    return out.numpy(), np.arange(128) + np.array([[1], [0]]), 0


@triton.jit
def rows_kernel(x, out, rows, N: tl.constexpr):
    at = tl.arange(0, N)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        tl.store(out + row * N + at, tl.load(x + row * N + at) * 2)


def launch_control():
    x = rng.standard_normal((50, 128)).astype(np.float32)
    out = device.empty(x.shape, "float32")
    rows_kernel[(7,)](device.to_device(x), out, 50, N=128, clc=True)
    return out.numpy(), 2 * x, 0


# ---- tensor descriptors: rows by number, sums

@triton.jit
def gather_kernel(x, rows, out, N: tl.constexpr):
    values = x.gather(tl.load(rows + tl.arange(0, N)), 16)
    tl.store(out + tl.arange(0, N)[:, None] * 32 + tl.arange(0, 32)[None, :], values)


def descriptor_gather():
    x, rows = matrix.half(64, 128), rng.integers(0, 64, 16).astype(np.int32)
    out = device.empty((16, 32), "float16")
    gather_kernel[(1,)](describe(device.to_device(x), [1, 32]), device.to_device(rows), out, N=16)
    return out.numpy(), x[rows][:, 16:48], 0


@triton.jit
def sum_kernel(sums, x, M: tl.constexpr, N: tl.constexpr):
    sums.atomic_add([0, 0], tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]))


def descriptor_sum():
    x = rng.integers(-9, 9, (32, 64)).astype(np.float32)
    out = device.to_device(x)
    sum_kernel[(3,)](describe(out, [32, 64]), device.to_device(x), M=32, N=64)
    return out.numpy(), 4 * x, 0


# ---- products: doubles, batches, emulated precision, large tiles, clusters, four bits

@triton.jit
def batch_kernel(a, b, c, B: tl.constexpr, M: tl.constexpr):
    at = tl.arange(0, B)[:, None, None] * M * M + tl.arange(0, M)[None, :, None] * M + tl.arange(0, M)[None, None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


def batched_matmul():
    a, b, c = matrix.half(4, 32, 32), matrix.half(4, 32, 32), device.empty((4, 32, 32), "float32")
    batch_kernel[(1,)](device.to_device(a), device.to_device(b), c, B=4, M=32)
    return c.numpy(), matrix.product(a, b), 1e-4


@triton.jit
def double_kernel(a, b, c, M: tl.constexpr):
    at = tl.arange(0, M)[:, None] * M + tl.arange(0, M)[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at), out_dtype=tl.float64))


def matmul_float64():
    a, b, c = rng.standard_normal((64, 64)), rng.standard_normal((64, 64)), device.empty((64, 64), "float64")
    double_kernel[(1,)](device.to_device(a), device.to_device(b), c, M=64)
    return c.numpy(), a @ b, 1e-12


def matmul_large_tiles():
    a, b = matrix.half(256, 256), matrix.half(256, 256)
    got = matrix.multiply(device.to_device(a), device.to_device(b), device.empty((256, 256), "float16"), (128, 128, 64),
                          num_warps=8, num_stages=3)
    return got, matrix.product(a, b), 5e-2


def matmul_clusters():
    a, b = matrix.half(256, 128), matrix.half(128, 256)
    got = matrix.multiply(device.to_device(a), device.to_device(b), device.empty((256, 256), "float16"), (128, 128, 64),
                          num_ctas=2)
    return got, matrix.product(a, b), 5e-2


def matmul_tf32x3():
    a, b = matrix.numbers(128, 128), matrix.numbers(128, 128)
    got = matrix.multiply(device.to_device(a), device.to_device(b), device.empty((128, 128), "float32"),
                          precision="tf32x3")
    return got, matrix.product(a, b), 1e-4


@triton.jit
def four_bits_kernel(a, a_scale, b, b_scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, pairs, scales = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 2), tl.arange(0, K // 32)
    left = tl.load(a + rows[:, None] * (K // 2) + pairs[None, :])
    right = tl.load(b + pairs[:, None] + columns[None, :] * (K // 2))
    left_scale = tl.load(a_scale + rows[:, None] * (K // 32) + scales[None, :])
    right_scale = tl.load(b_scale + columns[:, None] * (K // 32) + scales[None, :])
    tl.store(c + rows[:, None] * N + columns[None, :],
             tl.dot_scaled(left, left_scale, "e2m1", right, right_scale, "e2m1"))


def four_bits_value(packed, scale):
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    table = np.concatenate([table, -table])
    values = np.stack([table[packed & 15], table[packed >> 4]], axis=-1).reshape(len(packed), -1)
    return values * np.repeat(2.0 ** (scale.astype(np.float64) - 127), 32, axis=1)


def block_scaled_four_bits():
    m, n, k = 128, 128, 128
    a, b = (rng.integers(0, 256, (s, k // 2)).astype(np.uint8) for s in (m, n))
    a_scale, b_scale = (rng.integers(125, 130, (s, k // 32)).astype(np.uint8) for s in (m, n))
    c = device.empty((m, n), "float32")
    four_bits_kernel[(1,)](*map(device.to_device, (a, a_scale, b, b_scale)), c, m, n, k)
    return c.numpy(), four_bits_value(a, a_scale) @ four_bits_value(b, b_scale).T, 1e-3


# name, what runs it, the least capability
CASES = [
    ("tiles", tiles, 0),
    ("atomics", atomics, 0),
    ("integers", integers, 0),
    ("cooperative", cooperative, 0),
    ("launch_control", launch_control, 100),
    ("descriptor_gather", descriptor_gather, 100),
    ("descriptor_sum", descriptor_sum, 90),
    ("batched_matmul", batched_matmul, 0),
    ("matmul_float64", matmul_float64, 80),
    ("matmul_large_tiles", matmul_large_tiles, 80),
    ("matmul_clusters", matmul_clusters, 90),
    ("matmul_tf32x3", matmul_tf32x3, 80),
    ("block_scaled_four_bits", block_scaled_four_bits, 90),
]
