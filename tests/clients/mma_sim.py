#!/usr/bin/env python3
"""Tensor cores' sums beside MMA-Sim, the model of Microsoft Research that was compared with the GPUs (TAP):

    mma_sim.py CHECKOUT [--dots N] [--seed N]

CHECKOUT: of github.com/microsoft/MMA-Sim; it needs Python with PyTorch. What is compared is the model that tests/ptx/matrix tests
every device with (cores.py), for each kind of product of each architecture: N sums of random and of awkward numbers.
"""
import argparse
import itertools
import os
import random
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../ptx/matrix"))
import cores  # noqa: E402
import numbers_exact as num  # noqa: E402

NAMES = {"sm_70": "Volta", "sm_75": "Turing", "sm_80": "Ampere", "sm_89": "Ada Lovelace", "sm_90": "Hopper", "sm_100": "Blackwell", "sm_120": "RTX Blackwell"}
BITS = {"f16": torch.int16, "bf16": torch.int16, "f32": torch.int32, "tf32": torch.int32, "e4m3": torch.uint8, "e5m2": torch.uint8, "ue8m0": torch.uint8, "ue4m3": torch.uint8}
SIDE = 4  # of the result
FP8 = ("e4m3", "e5m2")


def kinds(sim, arch):
    """(object, unit, types of a, b, c, d, scale, k, block) of all that MMA-Sim has and that does not take bytes for e2m1."""
    name, isa = NAMES[arch], sys.modules["mmasim.isa.nv_ptx.nv_mma"]
    for q in isa.arch_mma_qualifiers[name]:
        shape, d, a, b, c = q.split(".")
        if a != "f64" and "e2m1" not in (a, b):
            yield q, sim.mma(name, q), "mma", (a, b, c, d, None), 0
    for q in isa.arch_mma_block_scale_qualifiers.get(name, ()):
        shape, block, d, a, b, c, s = q.split(".")
        if shape.endswith("k64") or "e2m1" not in (a, b):
            yield q, sim.mma_block_scale(name, q), "mma", (a, b, c, d, s), int(block[5:])
    if arch == "sm_90":
        for d, a, b, k in [("f32", "f16", "f16", 16), ("f16", "f16", "f16", 16), ("f32", "bf16", "bf16", 16), ("f32", "tf32", "tf32", 8)] + \
                [(d, a, b, 32) for d in ("f16", "f32") for a in FP8 for b in FP8]:
            q = f"m64n8k{k}.{d}.{a}.{b}"
            yield "wgmma " + q, sim.wgmma(name, q), "wgmma", (a, b, d, d, None), 0
    if arch == "sm_100":
        for d, a, b, k in [("f32", "f16", "f16", 16), ("f16", "f16", "f16", 16), ("f32", "bf16", "bf16", 16), ("f32", "tf32", "tf32", 8)] + \
                [(d, a, b, 32) for d in ("f16", "f32") for a in FP8 for b in FP8]:
            q = f"m64n8k{k}.{d}.{a}.{b}"
            yield "tcgen05 " + q, sim.tcgen05mma(name, q), "tcgen05", (a, b, d, d, None), 0
        for k, block, a, b, s in [(32, 32, a, b, "ue8m0") for a in FP8 for b in FP8] + [(64, 32, "e2m1", "e2m1", "ue8m0"), (64, 16, "e2m1", "e2m1", "ue8m0"), (64, 16, "e2m1", "e2m1", "ue4m3")]:
            q = f"m128n8k{k}.block{block}.f32.{a}.{b}.{s}"
            yield "tcgen05 " + q, sim.tcgen05mma_block_scale("Blackwell", q), "tcgen05", (a, b, "f32", "f32", s), block


def draw(rng, dtype, awkward):
    """The bits of an element."""
    width = num.WIDTH.get(dtype, 8)
    if dtype in ("f16", "bf16", "tf32", "f32") and not awkward:
        x = rng.gauss(0, 1) * 2.0 ** rng.choice((0, 0, 0, rng.randrange(-12, 13)))
        bits = num.f16_bits(num.round_f32(x)) if dtype == "f16" else num.f32_bits(x) >> (16 if dtype == "bf16" else 0)
        return bits
    bits = rng.getrandbits(width)
    if dtype == "ue8m0":
        return bits if awkward else rng.randrange(110, 144)
    while not awkward and num.DECODE[dtype](bits) - num.DECODE[dtype](bits) != 0:  # neither NaN nor infinite
        bits = rng.getrandbits(width)
    return bits


def tensor(rows, dtype):
    import mmasim.isa.common as common
    if dtype == "e2m1":
        return torch.tensor([[x | y << 4 for x, y in zip(r[::2], r[1::2])] for r in rows], dtype=torch.uint8)
    kind = BITS[dtype]
    limit = 1 << 8 * torch.empty(0, dtype=kind).element_size()
    values = [[x - limit if kind != torch.uint8 and x >= limit // 2 else x for x in r] for r in rows]
    return torch.tensor(values, dtype=kind).view(common.nv_torch_dtype[dtype])


def compare(what, unit, types, block, dots, rng):
    a_type, b_type, c_type, d_type, s_type = types
    what.m = what.n = SIDE
    wrong, said = 0, []
    encode = num.f16_bits if d_type == "f16" else num.f32_bits
    for turn in range(dots // SIDE ** 2):
        awkward = turn % 4 == 3
        rare = lambda: awkward and rng.random() < 0.3  # noqa: E731
        a, b = ([[draw(rng, t, rare()) for _ in range(what.k)] for _ in range(SIDE)] for t in (a_type, b_type))
        c = [[draw(rng, c_type, rare()) for _ in range(SIDE)] for _ in range(SIDE)]
        operands, scales = [tensor(a, a_type), tensor(b, b_type).T, tensor(c, c_type)], None
        if block:
            scales = [[[draw(rng, s_type, rare() and rng.random() < 0.1) & (0x7f if s_type == "ue4m3" else 0xff) for _ in range(what.k // block)] for _ in range(SIDE)] for _ in "ab"]
            operands += [tensor(scales[0], s_type), tensor(scales[1], s_type).T]
        try:
            d = what(*operands)
        except OverflowError:  # of its integers, for an infinite c
            continue
        bits = d.view(BITS[d_type])
        for i, j in itertools.product(range(SIDE), repeat=2):
            factors = [(num.DECODE[a_type](a[i][k]), num.DECODE[b_type](b[j][k]),
                        *((num.DECODE[s_type](scales[0][i][k // block]), num.DECODE[s_type](scales[1][j][k // block])) if block else (1.0, 1.0))) for k in range(what.k)]
            mine = encode(cores.total(factors, num.DECODE[c_type](c[i][j]), types, unit, what.k, bool(block)))
            theirs = int(bits[i][j]) & (0xffff if d_type == "f16" else 0xffffffff)
            if mine != theirs:
                wrong += 1
                said.append(f"# {mine:#x}, MMA-Sim {theirs:#x}: c {num.DECODE[c_type](c[i][j])} factors {factors}")
    return wrong, said


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout")
    parser.add_argument("--dots", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sys.path.insert(0, options.checkout)
    import mmasim.simulator.nv_ptx as sim
    number = failed = 0
    for arch in NAMES:
        cores.arch = arch
        for name, what, unit, types, block in kinds(sim, arch):
            number += 1
            wrong, said = compare(what, unit, types, block, options.dots, random.Random(f"{options.seed} {arch} {name}"))
            failed += wrong > 0
            print(f"{'not ' if wrong else ''}ok {number} - {arch} {name}: {options.dots} sums, {wrong} differ", *said[:2], sep="\n", flush=True)
    print(f"1..{number}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
