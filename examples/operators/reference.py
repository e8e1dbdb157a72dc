"""The operators in NumPy, in double precision and as their formulas say: what check.py compares with."""
import numpy as np


def angles(positions, dim, base):
    return positions[:, None, None] * base ** (-2.0 * np.arange(dim // 2) / dim)


def rotate(x, turn):
    """The halves of the last dimension are real and imaginary parts."""
    re, im = np.split(x, 2, axis=-1)
    return np.concatenate([re * np.cos(turn) - im * np.sin(turn), re * np.sin(turn) + im * np.cos(turn)], axis=-1)


def rmsnorm_rope(x, weight, positions, epsilon=1e-6, base=10000.0):
    x = x.astype(np.float64)
    norm = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + epsilon)
    return rotate(norm * weight, angles(positions, x.shape[-1], base))


def rmsnorm_rope_grad(x, weight, positions, d_y, epsilon=1e-6, base=10000.0):
    x = x.astype(np.float64)
    rms = np.sqrt((x * x).mean(axis=-1, keepdims=True) + epsilon)
    back = rotate(d_y.astype(np.float64), -angles(positions, x.shape[-1], base))
    d_norm = back * weight
    d_x = (d_norm - x / rms * (d_norm * x / rms).mean(axis=-1, keepdims=True)) / rms
    return d_x, (back * x / rms).sum(axis=(0, 1))


def matrix(weights, scales):
    """What the packed numbers mean: the lower half of a byte comes first."""
    numbers = np.stack([weights & 15, weights >> 4], axis=-1).reshape(len(weights), -1).astype(np.float64) - 8
    return numbers * np.repeat(scales, numbers.shape[1] // scales.shape[1], axis=1)


def int4_gemv(weights, scales, x):
    return matrix(weights, scales) @ x


def int4_gemv_grad(weights, scales, x, d_y):
    return d_y @ matrix(weights, scales)
