#!/usr/bin/env python3
"""Writes include/cuda/heddle/curand_jump.h: how far XORWOW jumps.

    scripts/gen_curand_jump.py [--check]

The five words of XORWOW (Marsaglia 2003, "Xorshift RNGs", without its Weyl counter) are a linear map A over GF(2). Its
minimal polynomial P, found from the generator's own bits by Berlekamp and Massey's algorithm, has degree 160, so
A^n = r(A) for r = x^n mod P: a jump by n steps is a sum of at most 160 successive states. A row holds r for n = 2^k.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import generated  # noqa: E402

TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "include/cuda/heddle/curand_jump.h")
DEGREE = 160
FIRST, LAST = 7, 130  # powers of two: fewer steps are taken one by one, 2^67 * 2^63 is the longest jump


def bits(count):
    """The lowest bit of the newest word after each step, from a state that is not special."""
    v = [123456789, 362436069, 521288629, 88675123, 5783321]
    for _ in range(count):
        t = v[0] ^ (v[0] >> 2)
        v = v[1:] + [(v[4] ^ (v[4] << 4) ^ t ^ (t << 1)) & 0xffffffff]
        yield v[4] & 1


def minimal_polynomial(sequence):
    """Berlekamp-Massey over GF(2); polynomials are integers, bit i for x^i. Returns it with its degree on top."""
    c, b, length, since = 1, 1, 0, 1
    past = 0  # bit i: the bit i steps ago
    for n, bit in enumerate(sequence):
        past = past << 1 | bit
        if bin(c & past).count("1") & 1:
            before = c
            c ^= b << since
            if 2 * length <= n:
                length, b, since = n + 1 - length, before, 0
        since += 1
    return int(bin(c)[2:].zfill(length + 1)[::-1], 2), length


def reduced(poly, modulus):
    while poly.bit_length() > DEGREE:
        poly ^= modulus << (poly.bit_length() - DEGREE - 1)
    return poly


def squared(poly, modulus):
    spread = sum(1 << 2 * i for i in range(DEGREE) if poly >> i & 1)
    return reduced(spread, modulus)


def text():
    modulus, degree = minimal_polynomial(bits(4 * DEGREE))
    assert degree == DEGREE, degree
    rows, poly = [], 2  # x
    for k in range(LAST + 1):
        if k >= FIRST:
            rows.append("    {" + ", ".join(f"0x{poly >> 32 * i & 0xffffffff:08x}" for i in range(5)) + "},")
        poly = squared(poly, modulus)
    return f"""/*
 * Jumps of XORWOW: row k - {FIRST} holds x^(2^k) modulo the minimal polynomial of its linear part, lowest coefficient first.
 * Made by scripts/gen_curand_jump.py, which explains it.
 */
#ifndef HEDDLE_CUDA_CURAND_JUMP_H
#define HEDDLE_CUDA_CURAND_JUMP_H

#define HEDDLE_XORWOW_JUMP_FIRST {FIRST}
#define HEDDLE_XORWOW_JUMP_LAST  {LAST}

/* clang-format off */
#if defined(__CUDA_ARCH__)
static __device__
#else
static
#endif
const unsigned int heddle_xorwow_jump[{LAST - FIRST + 1}][5] = {{
""" + "\n".join(rows) + """
};
/* clang-format on */

#endif
"""


def main():
    have = open(TARGET, encoding="utf-8").read() if os.path.exists(TARGET) else ""
    return generated.settle(TARGET, have, text(), "gen_curand_jump.py")


if __name__ == "__main__":
    sys.exit(main())
