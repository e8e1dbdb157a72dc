#!/usr/bin/env python3
"""tinygrad's CUDA back end on Heddle, compared with NumPy:  heddle run PYTHON tests/clients/tinygrad/run.py [NAME...]

PYTHON has tinygrad and numpy. Prints a line of JSON per check (../harness.py)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

import numpy as np  # noqa: E402
from tinygrad import Tensor, TinyJit, dtypes  # noqa: E402

rng = np.random.default_rng(5)
X = rng.standard_normal((48, 33)).astype(np.float32)
Y = rng.standard_normal((48, 33)).astype(np.float32)
IMAGE = rng.standard_normal((2, 3, 12, 12)).astype(np.float32)
WEIGHT = rng.standard_normal((4, 3, 3, 3)).astype(np.float32)


def on(array):
    return Tensor(array, device="CUDA")


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def convolution():
    got = on(IMAGE).conv2d(on(WEIGHT), padding=1).numpy()
    padded = np.pad(IMAGE, ((0, 0), (0, 0), (1, 1), (1, 1)))
    want = sum(np.einsum("bchw,oc->bohw", padded[:, :, i:i + 12, j:j + 12], WEIGHT[:, :, i, j])
               for i in range(3) for j in range(3))
    return got, want, 1e-3


def gradient():
    x = on(X)
    got = (x.tanh() ** 2).sum().gradient(x)[0]
    t = np.tanh(X)
    return got.numpy(), 2 * t * (1 - t * t), 1e-5


def training():
    """A line through points, by gradient descent."""
    points = on(np.linspace(-1, 1, 64, dtype=np.float32))
    goal = points * 3 + 0.5
    a, b = on(np.zeros(1, np.float32)), on(np.zeros(1, np.float32))
    for _ in range(30):
        to_a, to_b = ((points * a + b - goal) ** 2).mean().gradient(a, b)
        a, b = (a - to_a * 0.5).realize(), (b - to_b * 0.5).realize()
    return (a.numpy()[0], b.numpy()[0]), (3.0, 0.5), 0.05


def jitted():
    @TinyJit
    def step(x):
        return (x * 2 + 1).relu().realize()
    results = [step(on(X + i)).numpy() for i in range(5)]  # the third call is captured
    return tuple(results), tuple(np.maximum((X + i) * 2 + 1, 0) for i in range(5)), 1e-5


CHECKS = [
    ("sum", lambda: ((on(np.array([1, 2, 3], np.float32)) * 2 + 1).sum().numpy(), 15.0, 0)),
    ("elementwise", lambda: ((on(X).sin() * on(Y).exp() + (on(X) > on(Y)).where(on(X), on(Y))).numpy(),
                             np.sin(X) * np.exp(Y) + np.where(X > Y, X, Y), 1e-4)),
    ("integers", lambda: ((on((X * 100).astype(np.int32)) * 7 % 13).numpy(), (X * 100).astype(np.int32) * 7 % 13, 0)),
    ("half", lambda: ((on(X).cast(dtypes.float16) * 2).cast(dtypes.float32).numpy(), X * 2, 1e-2)),
    ("bfloat16", lambda: ((on(X).cast(dtypes.bfloat16) * 2).cast(dtypes.float32).numpy(), X * 2, 5e-2)),
    ("reductions", lambda: ((on(X).sum(0).numpy(), on(X).max(1).numpy(), on(X).mean().numpy(), on(X).argmax(1).numpy()),
                            (X.sum(0), X.max(1), X.mean(), X.argmax(1)), 1e-4)),
    ("softmax", lambda: (on(X).softmax().numpy(), softmax(X), 1e-6)),
    ("matmul", lambda: ((on(X) @ on(Y).T).numpy(), X @ Y.T, 1e-3)),
    ("matmul_half", lambda: ((on(X[:, :32]).half() @ on(Y[:, :32]).half().T).float().numpy(), X[:, :32] @ Y[:, :32].T, 5e-2)),
    ("convolution", convolution),
    ("shapes", lambda: ((on(X).permute(1, 0).reshape(-1).numpy(), on(X).flip(0)[3:9, ::2].numpy(), on(X).cat(on(Y)).numpy()),
                        (X.T.reshape(-1), np.flip(X, 0)[3:9, ::2], np.concatenate([X, Y])), 0)),
    ("cumsum", lambda: (on(X).cumsum(1).numpy(), X.cumsum(1), 1e-4)),
    ("sort", lambda: (on(X).sort(1)[0].numpy(), np.sort(X, 1), 0)),
    ("gradient", gradient),
    ("training", training),
    ("jit", jitted),
    ("random", lambda: (Tensor.randn(10000, device="CUDA").mean().numpy(), 0.0, 0.1)),
]

sys.exit(harness.main(CHECKS))
