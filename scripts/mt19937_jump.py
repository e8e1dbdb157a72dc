#!/usr/bin/env python3
"""Writes src/klib/curand_mt19937.inc: how far the generators of cuRAND's MT19937 are apart.

    scripts/mt19937_jump.py [--check]

MT19937 is a linear map A of 19937 bits. Its minimal polynomial P, found from a generator's own bits by Berlekamp and
Massey's algorithm, has as many, so A^n = r(A) for r = x^n mod P. The file has P and r for n = 2^2048: cuRAND's generator i
is i 2^2048 steps ahead (its documentation says 2^1000; the numbers that NVIDIA publishes with its samples are those of
2^2048). Takes ten seconds, so neither lint nor `make docs` runs it.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import generated  # noqa: E402

TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src/klib/curand_mt19937.inc")
DEGREE, WORDS, LOG2_STEPS = 19937, 624, 2048
SPREAD = [int("".join("0" + bit for bit in format(i, "08b")), 2).to_bytes(2, "little") for i in range(256)]


def sequence(count):
    """The lowest bit of each word."""
    words = [5489]
    for i in range(1, WORDS):
        words.append((1812433253 * (words[-1] ^ (words[-1] >> 30)) + i) & 0xffffffff)
    for i in range(count):
        y = (words[i] & 0x80000000) | (words[i + 1] & 0x7fffffff)
        words.append(words[i + 397] ^ (y >> 1) ^ (0x9908b0df if y & 1 else 0))
    return [word & 1 for word in words[WORDS:]]


def minimal_polynomial(bits):
    """Berlekamp-Massey over GF(2); polynomials are integers, bit i for x^i."""
    c, b, length, since, past = 1, 1, 0, 1, 0
    for n, bit in enumerate(bits):
        past = (past << 1 | bit) & ((1 << (DEGREE + 2)) - 1)
        if bin(c & past).count("1") & 1:
            before = c
            c ^= b << since
            if 2 * length <= n:
                length, b, since = n + 1 - length, before, 0
        since += 1
    assert length == DEGREE, length
    return int(bin(c)[2:].zfill(length + 1)[::-1], 2)


def squared(poly, exponents):
    poly = int.from_bytes(b"".join(SPREAD[byte] for byte in poly.to_bytes((DEGREE + 7) // 8, "little")), "little")
    while poly >> DEGREE:
        high, poly = poly >> DEGREE, poly & ((1 << DEGREE) - 1)
        for e in exponents:
            poly ^= high << e
    return poly


def rows(numbers, form, per_row):
    return "\n".join("    " + " ".join(form % n + "," for n in numbers[i:i + per_row]) for i in range(0, len(numbers), per_row))


def text():
    p = minimal_polynomial(sequence(2 * DEGREE + 64))
    exponents = [e for e in range(DEGREE) if p >> e & 1]
    r = 1 << (1 << 14)
    for _ in range(14, LOG2_STEPS):
        r = squared(r, exponents)
    words = [r >> 32 * i & 0xffffffff for i in range(WORDS)]
    return f"""/*
 * MT19937: exponents of its minimal polynomial but the highest, and x^(2^{LOG2_STEPS}) modulo that, lowest coefficient first.
 * Made by scripts/mt19937_jump.py, which explains it.
 */
/* clang-format off */
static const uint16_t mt_exponents[{len(exponents)}] = {{
{rows(exponents, "%d", 16)}
}};
static const uint32_t mt_first_jump[MT_WORDS] = {{
{rows(words, "0x%08x", 8)}
}};
/* clang-format on */
"""


def main():
    have = open(TARGET, encoding="utf-8").read() if os.path.exists(TARGET) else ""
    return generated.settle(TARGET, have, text(), "mt19937_jump.py")


if __name__ == "__main__":
    sys.exit(main())
