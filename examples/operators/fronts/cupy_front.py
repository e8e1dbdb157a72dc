"""The kernels themselves in CuPy: their source goes to NVRTC, and the program says grids and sizes.

    from cupy_front import rmsnorm_rope
    y = rmsnorm_rope(x, weight, positions)

This front knows what it calls; plugins.py would do for a general one, as in torch_front.py.
"""
import os

import cupy
import numpy as np

SOURCE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "operators.cu")
WARP, ROWS_PER_BLOCK, THREADS = 32, 4, 64

with open(SOURCE, encoding="utf-8") as file:
    kernels = cupy.RawModule(code=file.read(), options=("--std=c++17",))


def launch(name, n, block, *args):
    per_block = block[-1]
    if n:
        kernels.get_function(name)(((n + per_block - 1) // per_block,), block, args)


def rows_of(x):
    tokens, heads, dim = x.shape
    return np.int32(tokens * heads), np.int32(heads), np.int32(dim)


def rmsnorm_rope(x, weight, positions, epsilon=1e-6, base=10000):
    y, sizes = cupy.empty_like(x), rows_of(x)
    launch("rmsnorm_rope", int(sizes[0]), (WARP, ROWS_PER_BLOCK), y, x, weight, positions, *sizes, np.float32(epsilon), np.float32(base))
    return y


def rmsnorm_rope_grad(x, weight, positions, d_y, epsilon=1e-6, base=10000):
    d_x, terms, d_weight, sizes = cupy.empty_like(x), cupy.empty_like(x), cupy.empty_like(weight), rows_of(x)
    launch("rmsnorm_rope_grad", int(sizes[0]), (WARP, ROWS_PER_BLOCK), d_x, terms, x, weight, positions, d_y, *sizes, np.float32(epsilon), np.float32(base))
    launch("sum_rows", int(sizes[2]), (THREADS,), d_weight, terms, sizes[0], sizes[2])
    return d_x, d_weight


def matrix_of(weights, scales):
    rows, columns = weights.shape[0], 2 * weights.shape[1]
    return np.int32(rows), np.int32(columns), np.int32(columns // scales.shape[1])


def int4_gemv(weights, scales, x):
    sizes = matrix_of(weights, scales)
    y = cupy.empty(int(sizes[0]), cupy.float32)
    launch("int4_gemv", int(sizes[0]), (WARP, ROWS_PER_BLOCK), y, weights, scales, x, *sizes)
    return y


def int4_gemv_grad(weights, scales, x, d_y):
    sizes = matrix_of(weights, scales)
    d_x = cupy.empty_like(x)
    launch("int4_gemv_grad", int(sizes[1]) // 8, (THREADS,), d_x, weights, scales, d_y, *sizes)
    return d_x
