#!/usr/bin/env python3
"""MLX on Heddle, compared with its own CPU:  heddle run PYTHON tests/clients/mlx/run.py [NAME...]

PYTHON has mlx[cuda13]. Prints a line of JSON per check (../harness.py)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

import mlx.core as mx  # noqa: E402
import mlx.nn as nn  # noqa: E402
import mlx.optimizers as optimizers  # noqa: E402
import numpy as np  # noqa: E402

rng = np.random.default_rng(0)


def normal(*shape):
    return mx.array(rng.standard_normal(shape).astype(np.float32))


A, B = normal(33, 65), normal(65, 17)
QUERIES, KEYS, VALUES = normal(2, 4, 20, 64), normal(2, 4, 20, 64), normal(2, 4, 20, 64)
IMAGE, FILTER = normal(2, 16, 16, 8), normal(4, 3, 3, 8)
VECTORS, PACKED = normal(5, 128), mx.quantize(normal(64, 128), group_size=64, bits=4)


def on(device, function):
    mx.set_default_device(device)
    mx.random.seed(0)
    results = function()
    return tuple(np.array(x) for x in (results if isinstance(results, tuple) else (results,)))


def same(function, tolerance=1e-4):
    return lambda: (on(mx.gpu, function), on(mx.cpu, function), tolerance)


def custom_kernel():
    kernel = mx.fast.cuda_kernel(name="twice", input_names=["x"], output_names=["y"],
                                 source="auto i = cooperative_groups::this_grid().thread_rank(); y[i] = 2 * x[i];")
    mx.set_default_device(mx.gpu)
    y = kernel(inputs=[A], grid=(A.size, 1, 1), threadgroup=(65, 1, 1), output_shapes=[A.shape], output_dtypes=[mx.float32])[0]
    return np.array(y), 2 * np.array(A), 0


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.encoder, self.head = nn.Embedding(32, 32), nn.TransformerEncoder(2, 32, 4), nn.Linear(32, 32)

    def __call__(self, x):
        return self.head(self.encoder(self.embedding(x), nn.MultiHeadAttention.create_additive_causal_mask(x.shape[1])))


def train():
    model, optimizer = Model(), optimizers.AdamW(3e-3)
    text = mx.array((np.arange(8)[:, None] * 3 + np.arange(17)[None] * 5) % 32)

    def loss(m):
        return nn.losses.cross_entropy(m(text[:, :-1]), text[:, 1:], reduction="mean")
    step, losses = nn.value_and_grad(model, loss), []
    for _ in range(20):
        value, gradients = step(model)
        optimizer.update(model, gradients)
        mx.eval(model.parameters(), optimizer.state)
        losses.append(value)
    return mx.stack(losses)


CHECKS = [
    ("pointwise", same(lambda: mx.exp(-A * A) + mx.sin(A))),
    ("compile", same(lambda: mx.compile(lambda x: mx.exp(-x * x) + mx.sin(x))(A))),
    ("reductions", same(lambda: (A.sum(axis=0), A.max(axis=1), A.mean(), mx.argmax(A, axis=1)))),
    ("softmax", same(lambda: (mx.softmax(A, axis=-1), mx.logsumexp(A, axis=1)))),
    ("norms", same(lambda: (mx.fast.rms_norm(A, mx.ones(65), 1e-5), mx.fast.layer_norm(A, mx.ones(65), mx.zeros(65), 1e-5)))),
    ("rope", same(lambda: mx.fast.rope(QUERIES, 64, traditional=False, base=10000, scale=1, offset=3))),
    ("sort", same(lambda: (mx.sort(A, axis=-1), mx.argsort(A, axis=0)))),
    ("cumsum", same(lambda: mx.cumsum(A, axis=1))),
    ("gather_scatter", same(lambda: (A[mx.array([3, 1, 2])], mx.zeros((5,)).at[mx.array([1, 1, 3])].add(mx.array([1.0, 2.0, 3.0]))))),
    ("random", same(lambda: (mx.random.normal((1000,)), mx.random.categorical(mx.zeros((10,)), num_samples=8)))),
    ("matmul", same(lambda: A @ B)),
    ("matmul_bf16", same(lambda: (A.astype(mx.bfloat16) @ B.astype(mx.bfloat16)).astype(mx.float32), 0.2)),
    ("quantized", same(lambda: (mx.quantized_matmul(VECTORS, *PACKED, transpose=True, group_size=64, bits=4),
                                mx.quantized_matmul(VECTORS[:1], *PACKED, transpose=True, group_size=64, bits=4)), 1e-3)),
    ("attention", same(lambda: mx.fast.scaled_dot_product_attention(QUERIES, KEYS, VALUES, scale=0.125, mask="causal"))),
    ("fft", same(lambda: mx.abs(mx.fft.fft(A)))),
    ("pooling", same(lambda: nn.MaxPool2d(2)(IMAGE))),
    ("custom_kernel", custom_kernel),
    ("transformer", same(train, 1e-3)),
    ("convolution", same(lambda: mx.conv2d(IMAGE, FILTER, padding=1))),
]

sys.exit(harness.main(CHECKS))
