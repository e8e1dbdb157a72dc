"""How tensor cores of a GPU add (docs/decisions/0157), in exact numbers of Python's. Shares no code with src/."""
import math

import numbers_exact as num

# Bits that are kept below the largest exponent, and bytes of a row of a whose products are added at once.
KEPT = {"sm_70": 23, "sm_75": 24, "sm_80": 24, "sm_89": 24, "sm_90": 25, "sm_100": 25, "sm_120": 25}
STEP = {"sm_70": 8, "sm_75": 16, "sm_80": 16, "sm_89": 16, "sm_90": 32, "sm_100": 32, "sm_120": 32}
LEAST = {"f16": -14, "e5m2": -14, "e4m3": -6, "ue4m3": -6, "e3m2": -2, "e2m3": 0, "e2m1": 0, "ue8m0": -127}
FP8 = ("e4m3", "e5m2")
ZERO = -126

arch = None  # HEDDLE_MMA; None: sums as docs/decisions/0090 has them


def exponent(dtype, x):
    return max(math.frexp(x)[1] - 1, LEAST.get(dtype, -126)) if x else ZERO


def add(terms, kept):
    """terms: (number, what it is aligned by)."""
    top = max(e for _, e in terms)
    return math.ldexp(sum(math.trunc(math.ldexp(x, kept - top)) for x, _ in terms), top - kept)


def cut(x, bits):
    """Towards zero, to a number of f32 with so many bits of fraction."""
    if x == 0:
        return 0.0
    unit = max(math.frexp(x)[1] - 1, -126) - bits
    x = math.ldexp(math.trunc(math.ldexp(x, -unit)), unit)
    return x if abs(x) < 2.0 ** 128 else math.copysign(math.inf, x)


def half(x):
    """To nearest even, to a number of f16."""
    if x == 0:
        return 0.0
    unit = max(math.frexp(x)[1] - 1, -14) - 10
    x = math.ldexp(round(math.ldexp(x, -unit)), unit)
    return x if abs(x) < 65536 else math.copysign(math.inf, x)


def total(factors, c, types, unit="mma", k=0, scales=None):
    """factors: (a, b, scale of a, scale of b) of each product, in order. types: of a, b, c, d and scales."""
    a_type, b_type, c_type, d_type, scale_type = types
    eight = a_type in FP8 and b_type in FP8 and not scales
    short = eight and (arch == "sm_89" or (arch == "sm_90" and unit == "wgmma"))
    grouped = scales and a_type == b_type == "e2m1" and k >= 64
    kept = 35 if grouped else 13 if short else KEPT[arch]
    step = STEP[arch] * 8 // (4 if grouped else max(num.WIDTH[a_type], 8))
    for at in range(0, len(factors), step):
        part, terms = factors[at:at + step], [(c, exponent(c_type, c))]
        if grouped:
            for i in range(0, len(part), 16):
                x, y = part[i][2:]
                terms.append((sum(f[0] * f[1] for f in part[i:i + 16]) * (x * y), exponent(scale_type, x) + exponent(scale_type, y)))
        else:
            for a, b, x, y in part:
                e = exponent(scale_type, x) + exponent(scale_type, y) if scales else 0
                terms.append((a * b * (x * y), exponent(a_type, a) + exponent(b_type, b) + e) if all(map(math.isfinite, (a, b, x, y))) else (a * b * (x * y), 0))
        plain = sum(x for x, _ in terms)
        if not math.isfinite(plain):
            c = plain
        else:
            c = half(add(terms, kept)) if d_type == "f16" else cut(add(terms, kept), 13 if short else 23)
        c_type = d_type
    return c
