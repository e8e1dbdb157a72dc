#!/usr/bin/env python3
"""Taichi on Heddle, compared with its own CPU:  heddle run PYTHON tests/clients/taichi/run.py [NAME...]

PYTHON has taichi and numpy. Prints a line of JSON per check (../harness.py)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import harness  # noqa: E402

import numpy as np  # noqa: E402
import taichi as ti  # noqa: E402

N = 1000


def on(arch, function):
    ti.init(arch=arch, random_seed=1, offline_cache=False, log_level=ti.ERROR)
    if ti.lang.impl.current_cfg().arch != arch:
        raise RuntimeError(f"Taichi took {ti.lang.impl.current_cfg().arch}")
    return function()


def same(function, tolerance=1e-4):
    return lambda: (on(ti.cuda, function), on(ti.cpu, function), tolerance)


def fields():
    x, y = ti.field(ti.f32, N), ti.field(ti.i32, N)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = ti.sin(i * 0.01) * 2 + ti.sqrt(ti.f32(i))
            y[i] = i * i % 97
    fill()
    return x.to_numpy(), y.to_numpy()


def atomics():
    bins, total = ti.field(ti.i32, 16), ti.field(ti.f32, ())

    @ti.kernel
    def count() -> ti.i32:
        largest = 0
        for i in range(N):
            bins[i * 7 % 16] += 1
            total[None] += ti.f32(i) / N
            ti.atomic_max(largest, i * 31 % N)
        return largest
    largest = count()
    return bins.to_numpy(), total.to_numpy(), np.array(largest)


def matrices():
    m, x = ti.Matrix.field(3, 3, ti.f32, N), ti.Vector.field(3, ti.f32, N)

    @ti.kernel
    def solve():
        for i in m:
            t = ti.f32(i) / N
            m[i] = ti.Matrix([[2 + t, t, 0], [t, 3, 1], [0, 1, 4 - t]])
            u, s, v = ti.svd(m[i])
            x[i] = m[i].inverse() @ ti.Vector([1.0, t, 2.0]) + ti.Vector([s[0, 0], s[1, 1], s[2, 2]])
    solve()
    return m.to_numpy(), x.to_numpy()


def sparse():
    x = ti.field(ti.f32)
    block = ti.root.pointer(ti.i, 64)
    block.dense(ti.i, 16).place(x)
    total, active = ti.field(ti.f32, ()), ti.field(ti.i32, ())

    @ti.kernel
    def activate():
        for i in range(20):
            x[i * 50] = i

    @ti.kernel
    def add():
        for i in x:
            total[None] += x[i]
            active[None] += 1
    activate()
    add()
    return total.to_numpy(), active.to_numpy()


def gradients():
    x, loss = ti.field(ti.f32, N, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def value():
        for i in x:
            loss[None] += ti.exp(-x[i] * x[i]) * i / N

    x.from_numpy(np.linspace(-2, 2, N, dtype=np.float32))
    with ti.ad.Tape(loss):
        value()
    return x.grad.to_numpy(), loss.to_numpy() / N


def arrays():
    @ti.kernel
    def add(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i, k in ti.ndrange(x.shape[0], x.shape[1]):
            y[i, k] = 2 * x[i, k] + k
    x, y = np.arange(600, dtype=np.float32).reshape(20, 30), np.zeros((20, 30), np.float32)
    add(x, y)
    return y


def shared():
    y = ti.field(ti.f32, N // 8 * 8)

    @ti.kernel
    def reverse():
        ti.loop_config(block_dim=128)
        for i in range(896):
            tile = ti.simt.block.SharedArray((128,), ti.f32)
            tile[i % 128] = i
            ti.simt.block.sync()
            y[i] = tile[127 - i % 128]
    reverse()
    return y.to_numpy()


def fluid():
    """A round of diffusion and one of advection on a grid, fifty times."""
    n = 64
    a, b = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (n, n))

    @ti.kernel
    def start():
        for i, k in a:
            a[i, k] = ti.exp(-((i - 20) ** 2 + (k - 30) ** 2) * 0.02)

    @ti.kernel
    def step(x: ti.template(), y: ti.template()):
        for i, k in x:
            y[i, k] = x[i, k] + 0.1 * (x[(i + 1) % n, k] + x[(i - 1) % n, k] + x[i, (k + 1) % n] + x[i, (k - 1) % n] - 4 * x[i, k]) \
                + 0.05 * (x[(i + n - 1) % n, k] - x[i, k])
    start()
    for _ in range(25):
        step(a, b)
        step(b, a)
    return a.to_numpy()


def randoms():
    x = ti.field(ti.f32, 20000)

    @ti.kernel
    def draw():
        for i in x:
            x[i] = ti.random()
    draw()
    values = x.to_numpy()
    return np.array([values.mean(), values.var()])


def on_device_only(function, want, tolerance):
    return lambda: (on(ti.cuda, function), want, tolerance)


CHECKS = [
    ("fields", same(fields)),
    ("atomics", same(atomics, 1e-2)),
    ("matrices", same(matrices, 1e-3)),
    ("sparse", same(sparse)),
    ("gradients", same(gradients)),
    ("arrays", same(arrays)),
    ("shared_memory", on_device_only(shared, np.concatenate([np.arange(896).reshape(7, 128)[:, ::-1].ravel(), np.zeros(104)]), 0)),
    ("grid", same(fluid)),
    ("random", on_device_only(randoms, np.array([0.5, 1 / 12]), 0.02)),
]

sys.exit(harness.main(CHECKS))
