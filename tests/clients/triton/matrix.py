"""Kernels that multiply matrices, and what NumPy says to them."""
import device
import numpy as np
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

rng = np.random.default_rng(2)


def numbers(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def half(*shape):
    return numbers(*shape).astype(np.float16)


def product(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


# ---- matmul

@triton.jit
def tile_of(tile, m, n, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """Row and column of a tile when GROUP rows of tiles go together."""
    across = GROUP * tl.cdiv(n, BN)
    first = tile // across * GROUP
    height = min(tl.cdiv(m, BM) - first, GROUP)
    return first + tile % across % height, tile % across // height


@triton.jit
def matmul_kernel(a, b, c, m, n, k, am, ak, bk, bn, cm, cn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                  GROUP: tl.constexpr, LEAKY: tl.constexpr, PRECISION: tl.constexpr):
    row, column = tile_of(tl.program_id(0), m, n, BM, BN, GROUP)
    rows = (row * BM + tl.arange(0, BM)) % m
    columns = (column * BN + tl.arange(0, BN)) % n
    inner = tl.arange(0, BK)
    a_at = a + rows[:, None] * am + inner[None, :] * ak
    b_at = b + inner[:, None] * bk + columns[None, :] * bn
    sums = tl.zeros((BM, BN), dtype=tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    for step in range(0, tl.cdiv(k, BK)):
        left = k - step * BK
        sums = tl.dot(tl.load(a_at, mask=inner[None, :] < left, other=0.0),
                      tl.load(b_at, mask=inner[:, None] < left, other=0.0), sums, input_precision=PRECISION,
                      out_dtype=sums.dtype)
        a_at += BK * ak
        b_at += BK * bk
    if LEAKY:
        sums = tl.where(sums >= 0, sums, 0.01 * sums)
    rows = row * BM + tl.arange(0, BM)
    columns = column * BN + tl.arange(0, BN)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * cm + columns[None, :] * cn, sums.to(c.dtype.element_ty), mask=inside)


def multiply(a, b, out, blocks=(64, 64, 32), leaky=False, precision="ieee", **options):
    (m, k), n = a.shape, b.shape[1]
    grid = (triton.cdiv(m, blocks[0]) * triton.cdiv(n, blocks[1]),)
    matmul_kernel[grid](a, b, out, m, n, k, *a.strides, *b.strides, *out.strides, *blocks, GROUP=4, LEAKY=leaky,
                        PRECISION=precision, **options)
    return out.numpy()


def matmul():
    a, b = half(200, 136), half(136, 168)
    got = multiply(device.to_device(a), device.to_device(b), device.empty((200, 168), "float16"), leaky=True,
                   num_stages=3, num_warps=4)
    want = product(a, b)
    return got, np.where(want >= 0, want, 0.01 * want), 2e-2


def matmul_bfloat16():
    a, b = device.to_device(numbers(128, 96), "bfloat16"), device.to_device(numbers(96, 192), "bfloat16")
    want = product(a.numpy(), b.numpy())
    return multiply(a, b, device.empty((128, 192), "bfloat16"), (128, 64, 32), num_warps=8), want, 2e-1


def matmul_float32():
    a, b = numbers(100, 80), numbers(80, 64)
    return multiply(device.to_device(a), device.to_device(b), device.empty((100, 64), "float32")), product(a, b), 1e-4


def matmul_tf32():
    a, b = numbers(100, 80), numbers(80, 64)
    got = multiply(device.to_device(a), device.to_device(b), device.empty((100, 64), "float32"), precision="tf32")
    return got, product(a, b), 5e-2


def matmul_int8():
    a, b = (rng.integers(-128, 128, s).astype(np.int8) for s in ((96, 128), (128, 64)))
    got = multiply(device.to_device(a), device.to_device(b), device.empty((96, 64), "int32"))
    return got, a.astype(np.int64) @ b.astype(np.int64), 0


def float8_value(bits):
    """e4m3fn."""
    bits = bits.astype(np.int32)
    exponent, mantissa = (bits >> 3) & 15, bits & 7
    value = np.where(exponent == 0, mantissa * 2.0 ** -9, (8 + mantissa) * 2.0 ** (exponent - 10))
    return np.where(bits & 128, -value, value)


def float8_bits(*shape):
    """Numbers of magnitude up to 3.75, of both signs."""
    return (rng.integers(0, 0x48, shape) | rng.integers(0, 2, shape) << 7).astype(np.uint8)


def matmul_float8():
    a, b = float8_bits(128, 128), float8_bits(128, 64)
    got = multiply(device.to_device(a, "float8_e4m3fn"), device.to_device(b, "float8_e4m3fn"),
                   device.empty((128, 64), "float32"), (64, 64, 64))
    return got, float8_value(a) @ float8_value(b), 1e-2


# ---- grouped_gemm

@triton.jit
def grouped_kernel(a_of, b_of, c_of, sizes, groups, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    begin = 0
    for g in range(groups):
        m, n, k = tl.load(sizes + 3 * g), tl.load(sizes + 3 * g + 1), tl.load(sizes + 3 * g + 2)
        across = tl.cdiv(n, BN)
        end = begin + tl.cdiv(m, BM) * across
        while tile >= begin and tile < end:
            a = tl.load(a_of + g).to(tl.pointer_type(tl.float16))
            b = tl.load(b_of + g).to(tl.pointer_type(tl.float16))
            c = tl.load(c_of + g).to(tl.pointer_type(tl.float16))
            rows = (tile - begin) // across * BM + tl.arange(0, BM)
            columns = (tile - begin) % across * BN + tl.arange(0, BN)
            inner = tl.arange(0, BK)
            sums = tl.zeros((BM, BN), dtype=tl.float32)
            for step in range(0, tl.cdiv(k, BK)):
                at = step * BK + inner
                sums = tl.dot(tl.load(a + rows[:, None] * k + at[None, :]), tl.load(b + at[:, None] * n + columns[None, :]),
                              sums)
            tl.store(c + rows[:, None] * n + columns[None, :], sums.to(tl.float16))
            tile += tl.num_programs(0)
        begin = end


def grouped_gemm():
    sizes = [(128, 64, 64), (64, 128, 32), (192, 64, 96)]
    a = [half(m, k) for m, n, k in sizes]
    b = [half(k, n) for m, n, k in sizes]
    arrays = [[device.to_device(x) for x in a], [device.to_device(x) for x in b],
              [device.empty((m, n), "float16") for m, n, k in sizes]]
    tables = [device.to_device(np.array([x.data_ptr() for x in xs], np.int64)) for xs in arrays]
    grouped_kernel[(3,)](*tables, device.to_device(np.array(sizes, np.int32)), 3, BM=64, BN=64, BK=32)
    return (np.concatenate([c.numpy().ravel() for c in arrays[2]]),
            np.concatenate([product(x, y).ravel() for x, y in zip(a, b)]), 5e-2)


# ---- persistent_matmul: tensor descriptors of the host and of the kernel

@triton.jit
def persistent_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr,
                      SPECIAL: tl.constexpr):
    tiles = tl.cdiv(m, BM) * tl.cdiv(n, BN)
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=True, warp_specialize=SPECIAL):
        row, column = tile_of(tile, m, n, BM, BN, 4)
        sums = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(tl.cdiv(k, BK)):
            sums = tl.dot(a.load([row * BM, step * BK]), b.load([column * BN, step * BK]).T, sums)
        c.store([row * BM, column * BN], sums.to(tl.float16))


def persistent(special):
    m, n, k, blocks = 200, 136, 96, (64, 64, 32)
    a, b, c = half(m, k), half(n, k), device.empty((m, n), "float16")
    describe = TensorDescriptor.from_tensor
    persistent_kernel[(3,)](describe(device.to_device(a), [blocks[0], blocks[2]]),
                            describe(device.to_device(b), [blocks[1], blocks[2]]),
                            describe(c, [blocks[0], blocks[1]]), m, n, k, *blocks, PROGRAMS=3, SPECIAL=special,
                            num_stages=3, num_warps=4)
    return c.numpy(), product(a, b.T), 5e-2


def persistent_matmul():
    return persistent(False)


def warp_specialized_matmul():
    return persistent(True)


@triton.jit
def described_kernel(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a_map = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
    b_map = tl.make_tensor_descriptor(b, shape=[k, n], strides=[n, 1], block_shape=[BK, BN])
    c_map = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(tl.cdiv(k, BK)):
        sums = tl.dot(a_map.load([row, step * BK]), b_map.load([step * BK, column]), sums)
    c_map.store([row, column], sums.to(tl.float16))


def described_matmul():
    a, b, c = half(192, 128), half(128, 136), device.empty((192, 136), "float16")
    triton.set_allocator(device.scratch)
    described_kernel[(3, 3)](device.to_device(a), device.to_device(b), c, 192, 136, 128, BM=64, BN=64, BK=64)
    return c.numpy(), product(a, b), 5e-2


# ---- attention

@triton.jit
def attention_kernel(q, k, v, out, scale, length, BM: tl.constexpr, BN: tl.constexpr, DIM: tl.constexpr,
                     CAUSAL: tl.constexpr):
    start = tl.program_id(0) * BM
    head = tl.program_id(1) * length * DIM
    rows, columns, dims = start + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, DIM)
    queries = tl.load(q + head + rows[:, None] * DIM + dims[None, :])
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    sums = tl.zeros((BM, DIM), tl.float32)
    for at in range(0, start + BM if CAUSAL else length, BN):
        keys = tl.load(k + head + (at + columns)[None, :] * DIM + dims[:, None])
        scores = tl.dot(queries, keys) * (scale * 1.44269504)
        if CAUSAL:
            scores = tl.where(rows[:, None] >= (at + columns)[None, :], scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        powers = tl.math.exp2(scores - higher[:, None])
        shrink = tl.math.exp2(top - higher)
        values = tl.load(v + head + (at + columns)[:, None] * DIM + dims[None, :])
        total = total * shrink + tl.sum(powers, 1)
        sums = tl.dot(powers.to(tl.float16), values, sums * shrink[:, None])
        top = higher
    tl.store(out + head + rows[:, None] * DIM + dims[None, :], (sums / total[:, None]).to(tl.float16))


def attend(causal):
    heads, length, dim, scale = 3, 256, 64, 0.125
    q, k, v = (half(heads, length, dim) for _ in range(3))
    out = device.empty(q.shape, "float16")
    attention_kernel[(length // 64, heads)](*map(device.to_device, (q, k, v)), out, scale, length, BM=64, BN=32, DIM=dim,
                                            CAUSAL=causal, num_stages=2)
    scores = scale * product(q, k.transpose(0, 2, 1))
    if causal:
        scores = np.where(np.tril(np.ones((length, length), bool)), scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=2, keepdims=True))
    return out.numpy(), (powers / powers.sum(axis=2, keepdims=True)) @ v.astype(np.float64), 1e-2


def attention():
    return attend(False)


def attention_causal():
    return attend(True)


# ---- block_scaled: a scale of two's power for every 32 elements

@triton.jit
def scaled_kernel(a, a_scale, b, b_scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, inner, scales = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    left = tl.load(a + rows[:, None] * K + inner[None, :])
    right = tl.load(b + inner[:, None] * N + columns[None, :])
    left_scale = tl.load(a_scale + rows[:, None] * (K // 32) + scales[None, :])
    right_scale = tl.load(b_scale + columns[:, None] * (K // 32) + scales[None, :])
    sums = tl.dot_scaled(left, left_scale, "e4m3", right, right_scale, "e4m3")
    tl.store(c + rows[:, None] * N + columns[None, :], sums)


def block_scaled():
    m, n, k = 128, 128, 256
    a, b = float8_bits(m, k), float8_bits(k, n)
    a_scale, b_scale = (rng.integers(124, 131, (s, k // 32)).astype(np.uint8) for s in (m, n))
    out = device.empty((m, n), "float32")
    scaled_kernel[(1,)](device.to_device(a, "float8_e4m3fn"), device.to_device(a_scale),
                        device.to_device(b, "float8_e4m3fn"), device.to_device(b_scale), out, m, n, k)
    powers = [np.repeat(2.0 ** (s.astype(np.float64) - 127), 32, axis=1) for s in (a_scale, b_scale)]
    return out.numpy(), (float8_value(a) * powers[0]) @ (float8_value(b) * powers[1].T), 1e-1


# name, what runs it, the least capability
CASES = [
    ("matmul", matmul, 0),
    ("matmul_bfloat16", matmul_bfloat16, 80),
    ("matmul_float32", matmul_float32, 0),
    ("matmul_tf32", matmul_tf32, 80),
    ("matmul_int8", matmul_int8, 80),
    ("matmul_float8", matmul_float8, 89),
    ("grouped_gemm", grouped_gemm, 0),
    ("described_matmul", described_matmul, 90),
    ("persistent_matmul", persistent_matmul, 90),
    ("warp_specialized_matmul", warp_specialized_matmul, 90),
    ("attention", attention, 0),
    ("attention_causal", attention_causal, 0),
    ("block_scaled", block_scaled, 90),
]
