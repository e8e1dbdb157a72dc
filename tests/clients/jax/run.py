#!/usr/bin/env python3
"""JAX on Heddle, compared with its own CPU:  heddle run PYTHON tests/clients/jax/run.py [NAME...]

PYTHON has jax[cuda13] or jax[cuda12]. Prints a line of JSON per check (../harness.py)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

rng = np.random.default_rng(0)
X = rng.standard_normal((64, 33)).astype(np.float32)
Y = rng.standard_normal((64, 33)).astype(np.float32)
CPU = jax.devices("cpu")[0]


def leaves(tree):
    return tuple(np.asarray(x).astype(np.float64) for x in jax.tree_util.tree_leaves(tree))


def same(function, *arrays, tolerance=1e-5):
    """The jitted function on the device and on the CPU."""
    def check():
        if jax.devices()[0].platform == "cpu":
            raise RuntimeError("JAX finds no device")
        got = leaves(jax.jit(function)(*arrays))
        with jax.default_device(CPU):
            want = leaves(jax.jit(function)(*[jax.device_put(a, CPU) for a in arrays]))
        return got, want, tolerance
    return check


def layers(parameters, x):
    for w, b in parameters[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = parameters[-1]
    return x @ w + b


def train():
    keys, sizes = jax.random.split(jax.random.key(0), 4), [8, 32, 32, 1]
    parameters = [(jax.random.normal(keys[i], (sizes[i], sizes[i + 1])) * 0.3, jnp.zeros(sizes[i + 1])) for i in range(3)]
    inputs = jax.random.normal(keys[3], (256, 8))
    goal = jnp.sin(inputs.sum(1, keepdims=True))

    def loss(p):
        return jnp.mean((layers(p, inputs) - goal) ** 2)
    step = jax.jit(lambda p: (loss(p), jax.tree.map(lambda w, g: w - 0.05 * g, p, jax.grad(loss)(p))))
    for _ in range(50):
        value, parameters = step(parameters)
    return float(value)


def perceptron():
    got = train()
    with jax.default_device(CPU):
        return got, train(), 2e-2


WIDTH, HEADS, WORDS = 32, 4, 29


def normed(x):
    x = x - x.mean(-1, keepdims=True)
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


def block(p, x):
    """A layer of a transformer: causal attention, and two products with a GELU between them."""
    steps = x.shape[1]
    q, k, v = (t.reshape(x.shape[0], steps, HEADS, -1).swapaxes(1, 2) for t in jnp.split(normed(x) @ p["qkv"], 3, -1))
    scores = jnp.where(jnp.tril(jnp.ones((steps, steps), bool)), q @ k.swapaxes(2, 3) / jnp.sqrt(q.shape[-1]), -1e9)
    x = x + (jax.nn.softmax(scores) @ v).swapaxes(1, 2).reshape(x.shape) @ p["out"]
    return x + jax.nn.gelu(normed(x) @ p["up"]) @ p["down"]


def train_transformer():
    """Forty steps of Adam on texts whose next word follows from the last two: the first and the last loss."""
    keys = iter(jax.random.split(jax.random.key(7), 20))

    def weight(*shape):
        return jax.random.normal(next(keys), shape) * shape[0] ** -0.5
    p = {"words": weight(WORDS, WIDTH), "places": weight(16, WIDTH) * 0.1, "head": weight(WIDTH, WORDS),
         "blocks": [{"qkv": weight(WIDTH, 3 * WIDTH), "out": weight(WIDTH, WIDTH), "up": weight(WIDTH, 4 * WIDTH), "down": weight(4 * WIDTH, WIDTH)} for _ in range(2)]}
    text = np.zeros((16, 17), np.int32)
    text[:, :2] = np.random.default_rng(1).integers(0, WORDS, (16, 2))
    for i in range(2, 17):
        text[:, i] = (text[:, i - 1] + 2 * text[:, i - 2] + 1) % WORDS

    def loss(p):
        x = p["words"][text[:, :-1]] + p["places"]
        for b in p["blocks"]:
            x = block(b, x)
        return -jnp.take_along_axis(jax.nn.log_softmax(normed(x) @ p["head"]), text[:, 1:, None], -1).mean()

    @jax.jit
    def step(p, m, v, t):
        value, g = jax.value_and_grad(loss)(p)
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b * b, v, g)
        p = jax.tree.map(lambda w, a, b: w - 0.01 * (a / (1 - 0.9 ** t)) / (jnp.sqrt(b / (1 - 0.99 ** t)) + 1e-8), p, m, v)
        return value, p, m, v
    m = v = jax.tree.map(jnp.zeros_like, p)
    losses = []
    for t in range(1, 41):
        value, p, m, v = step(p, m, v, float(t))
        losses.append(float(value))
    if losses[-1] > 0.7 * losses[0]:
        raise RuntimeError(f"it does not learn: {losses[0]}, {losses[-1]}")
    return losses[0], losses[-1]


def transformer():
    got = train_transformer()
    with jax.default_device(CPU):
        return got, train_transformer(), 2e-2


def scan(a):
    return jax.lax.scan(lambda c, t: (c * 0.5 + t, c.sum()), jnp.zeros(33), a)


def loops(a):
    once = jax.lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, c[1] * 1.1), (0, a))
    return once, jax.lax.cond(a.sum() > 0, lambda z: z + 1, lambda z: z - 1, a)


def randoms(a):
    return (jax.random.normal(jax.random.key(1), (100,)) + a[0, 0], jax.random.uniform(jax.random.key(2), (100,)),
            jax.random.randint(jax.random.key(3), (50,), 0, 100), jax.random.permutation(jax.random.key(4), 20))


CHECKS = [
    ("arange_sum", lambda: (float(jnp.arange(10.0).sum()), 45.0, 0)),
    ("elementwise", same(lambda a, b: jnp.sin(a) * jnp.exp(b) + jnp.tanh(a) + jnp.where(a > b, a, b), X, Y)),
    ("special", same(lambda a: jax.scipy.special.erf(a) + jnp.log1p(jnp.abs(a)) + jnp.abs(a) ** 1.5, X)),
    ("integers", same(lambda a: ((a * 100).astype(jnp.int32) // 7, (a * 100).astype(jnp.int32) << 2), X)),
    ("half", same(lambda a: ((a.astype(jnp.bfloat16) * 2).astype(jnp.float32), (a.astype(jnp.float16) + 1).astype(jnp.float32)), X)),
    ("reductions", same(lambda a: (a.sum(0), a.max(1), a.mean(), jnp.argmax(a, 1), jnp.prod(a[:4], 0)), X, tolerance=1e-4)),
    ("cumulative", same(lambda a: (jnp.cumsum(a, 0), jnp.cumprod(a[:8], 1)), X, tolerance=1e-4)),
    ("sort", same(lambda a: (jnp.sort(a, 1), jnp.argsort(a, 0)), X)),
    ("gather_scatter", same(lambda a: (a[jnp.array([3, 1, 2])], a.at[jnp.array([1, 1, 2])].add(2.0)), X)),
    ("shapes", same(lambda a: jnp.concatenate([a.T.reshape(-1), jnp.flip(a).ravel()]), X)),
    ("vmap", same(lambda a, b: jax.vmap(lambda u, v: jnp.sum(u * v) - u[0])(a, b), X, Y, tolerance=1e-4)),
    ("scan", same(scan, X, tolerance=1e-4)),
    ("loops", same(loops, X, tolerance=1e-4)),
    ("grad", same(lambda a: jax.grad(lambda z: jnp.sum(jnp.tanh(z) ** 2))(a), X)),
    ("random", same(randoms, X)),
    ("matmul", same(lambda a, b: a @ b.T, X, Y, tolerance=5e-2)),
    ("matmul_bf16", same(lambda a, b: (a.astype(jnp.bfloat16) @ b.astype(jnp.bfloat16).T).astype(jnp.float32), X, Y, tolerance=0.3)),
    ("perceptron", perceptron),
    ("transformer", transformer),
    ("convolution", same(lambda a: jax.lax.conv(a[None, None], jnp.ones((1, 1, 3, 3)), (1, 1), "SAME"), X, tolerance=1e-3)),
    ("fft", same(lambda a: jnp.abs(jnp.fft.fft(a)), X, tolerance=1e-3)),
]

sys.exit(harness.main(CHECKS))
