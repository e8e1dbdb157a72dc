"""Element types of matrices as exact numbers, and the one sum that Heddle defines (docs/decisions/0090). Shares no code
with src/: numbers are Python's, which are f64, and one rounding to f32 is done in two exact steps."""
import functools
import math
import struct
import sys
from fractions import Fraction

NAN = float("nan")
F32, U32, F64, U64 = (struct.Struct(f"<{c}") for c in "fIdQ")


def f32_of(bits):
    return F32.unpack(U32.pack(bits & 0xffffffff))[0]


def f32_bits(x):
    if x != x:
        return 0x7fffffff
    try:
        return U32.unpack(F32.pack(x))[0]
    except OverflowError:
        return 0x7f800000 if x > 0 else 0xff800000


def round_f32(x):
    try:
        return F32.unpack(F32.pack(x))[0]
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def f64_of(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def f64_bits(x):
    return 0xfff8000000000000 if math.isnan(x) else struct.unpack("<Q", struct.pack("<d", x))[0]


def small(exp_bits, frac_bits, bias, inf, nans):
    """A decoder. inf: the largest exponent is for infinity and NaN; nans: magnitudes that are NaN."""
    @functools.cache
    def decode(bits):
        sign = -1.0 if bits >> (exp_bits + frac_bits) & 1 else 1.0
        magnitude = bits & (1 << exp_bits + frac_bits) - 1
        exp, frac = magnitude >> frac_bits, magnitude & (1 << frac_bits) - 1
        if magnitude in nans or (inf and exp == (1 << exp_bits) - 1 and frac):
            return NAN
        if inf and exp == (1 << exp_bits) - 1:
            return sign * math.inf
        return sign * math.ldexp(frac + ((1 << frac_bits) if exp else 0), max(exp, 1) - bias - frac_bits)
    return decode


def signed(bits):
    return lambda x: (x & (1 << bits) - 1) - ((x >> bits - 1 & 1) << bits)


E4M3 = small(4, 3, 7, False, (0x7f,))
DECODE = {
    "f16": small(5, 10, 15, True, ()), "bf16": lambda b: f32_of(b << 16), "tf32": lambda b: f32_of(b & ~0x1fff),
    "f32": f32_of, "f64": f64_of, "e5m2": small(5, 2, 15, True, ()), "e4m3": E4M3,
    "e3m2": small(3, 2, 3, False, ()), "e2m3": small(2, 3, 1, False, ()), "e2m1": small(2, 1, 1, False, ()),
    "ue8m0": lambda b: NAN if b == 255 else math.ldexp(1.0, b - 127), "ue4m3": lambda b: E4M3(b & 0x7f),
    "s8": signed(8), "u8": lambda b: b & 0xff, "s4": signed(4), "u4": lambda b: b & 15, "s32": signed(32), "b1": lambda b: b & 1,
}
WIDTH = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "e5m2": 8, "e4m3": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4,
         "s8": 8, "u8": 8, "s4": 4, "u4": 4, "s32": 32, "b1": 1}


def f16_bits(x):
    """Of a number that f32 has, to nearest even."""
    if math.isnan(x):
        return 0x7fff
    try:
        return struct.unpack("<H", struct.pack("<e", x))[0]
    except OverflowError:
        return 0x7c00 if x > 0 else 0xfc00


def add_f32(product, total):
    """product + total, rounded once to f32. Both are f64 that hold what they are exactly."""
    s = product + total
    if not math.isfinite(s):
        return s
    back = s - product
    error = (product - (s - back)) + (total - back)
    if error and not U64.unpack(F64.pack(s))[0] & 1:  # to odd: the second rounding cannot err
        s = math.nextafter(s, math.inf if error > 0 else -math.inf)
    return round_f32(s)


def round_f64(x, mode):
    """A fraction as f64 in a rounding direction."""
    try:
        near = x.numerator / x.denominator
    except OverflowError:
        infinite = mode in ("rn", "rp" if x > 0 else "rm")
        return (math.inf if infinite else sys.float_info.max) * (1 if x > 0 else -1)
    if Fraction(near) == x or mode == "rn":
        return near
    toward = {"rm": -math.inf, "rp": math.inf, "rz": -math.inf if x > 0 else math.inf}[mode]
    wrong = Fraction(near) > x if toward < 0 else Fraction(near) < x
    return math.nextafter(near, toward) if wrong else near


def fma_f64(a, b, c, mode):
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        return round_f64(exact, mode)
    zero = a * b + c  # of two zeros, or of what cancels
    cancels = a and b and c or math.copysign(1, a * b) != math.copysign(1, c)
    return (-0.0 if mode == "rm" else 0.0) if cancels else zero
