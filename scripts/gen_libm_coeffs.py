#!/usr/bin/env python3
"""Writes src/libdevice/ld_coeffs.h: polynomial coefficients of the device maths library.

    scripts/gen_libm_coeffs.py [--check]

Each row is a function on an interval, fitted at Chebyshev nodes in 60 digits and written as an inline
Horner evaluation with fused multiply-adds. The relative shape (division by x, by x*x, leading terms
taken out) is chosen so that the fit's absolute error is the wanted relative error of the result.
--check compares with the file that is there; without mpmath it says so and passes.
"""
import os
import sys

try:
    import mpmath as mp
    from mpmath import mpf
except ImportError:
    mp = None

TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src/libdevice/ld_coeffs.h")


def fit(fn, lo, hi, count):
    """Coefficients, lowest first, of the degree count-1 interpolant at Chebyshev nodes."""
    seen = {}  # chebyfit asks for every node once per coefficient

    def once(x):
        if x not in seen:
            seen[x] = fn(x)
        return seen[x]
    return list(reversed(mp.chebyfit(once, [mpf(lo), mpf(hi)], count)))


def no_zero(fn, limit):
    """fn with its removable singularity at 0 filled in."""
    return lambda x: fn(x) if x != 0 else mpf(limit)


def sq(fn, limit):
    """A function of z = x*x given as a function of x."""
    return no_zero(lambda z: fn(mp.sqrt(z)), limit)


def signed_sqrt_sinc(z):
    return mp.sin(mp.sqrt(z)) / mp.sqrt(z)


def erfcx_shape(t, k):
    """(1 + 2x) exp(x^2) erfc(x) with x = k (1 + t) / (1 - t): smooth on t in [-1, 1]."""
    if t >= 1 - mpf(10) ** -30:
        return 2 / mp.sqrt(mp.pi)
    x = k * (1 + t) / (1 - t)
    if x > 200:
        s = sum((-1) ** n * mp.fac2(2 * n - 1) / (2 * x * x) ** n if n else mpf(1) for n in range(12))
        return (1 + 2 * x) * s / (x * mp.sqrt(mp.pi))
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def stirling(w):
    """x * (lgamma(x) - (x - 1/2) log x + x - log(2 pi)/2) as a function of w = 1/x^2."""
    if w < mpf(10) ** -12:
        return mpf(1) / 12 - w / 360
    x = 1 / mp.sqrt(w)
    return x * (mp.loggamma(x) - (x - mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def rows():
    """name, type, function, from, to, number of coefficients."""
    ln2h = mp.log(2) / 2 * mpf("1.01")
    pio4 = mp.pi / 4 * mpf("1.01")
    r2 = mp.sqrt(2)
    yield "expf", "f", no_zero(lambda r: (mp.exp(r) - 1 - r) / r**2, 0.5), -ln2h, ln2h, 5
    yield "exp", "d", no_zero(lambda r: (mp.exp(r) - 1 - r - r * r / 2) / r**3, mpf(1) / 6), -ln2h, ln2h, 10
    yield "exp2f", "f", no_zero(lambda r: (mp.power(2, r) - 1) / r, mp.log(2)), -0.505, 0.505, 6
    yield "sinf", "f", sq(lambda x: (mp.sin(x) / x - 1) / x**2, mpf(-1) / 6), 0, pio4**2, 3
    yield "cosf", "f", sq(lambda x: (mp.cos(x) - 1 + x * x / 2) / x**4, mpf(1) / 24), 0, pio4**2, 3
    yield "sin", "d", sq(lambda x: (mp.sin(x) / x - 1) / x**2, mpf(-1) / 6), 0, pio4**2, 6
    yield "cos", "d", sq(lambda x: (mp.cos(x) - 1 + x * x / 2) / x**4, mpf(1) / 24), 0, pio4**2, 6
    # log((1+s)/(1-s)) = 2s + s^3 * atanh2(s^2), |s| <= (sqrt2-1)/(sqrt2+1)
    smax = ((r2 - 1) / (r2 + 1)) * mpf("1.02")
    yield "atanh2", "d", sq(lambda s: (2 * mp.atanh(s) - 2 * s) / s**3, mpf(2) / 3), 0, smax**2, 8
    yield "atanh2p", "d", sq(lambda s: (2 * mp.atanh(s) - 2 * s - 2 * s**3 / 3) / s**5, mpf(2) / 5), 0, smax**2, 8
    lo, hi = 1 / r2 - 1 - mpf("0.003"), r2 - 1 + mpf("0.003")
    yield "logf", "f", no_zero(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, mpf(1) / 3), lo, hi, 9
    yield "atan", "d", sq(lambda x: (mp.atan(x) - x) / x**3, mpf(-1) / 3), 0, mpf("0.2"), 13
    yield "atanf", "f", sq(lambda x: (mp.atan(x) - x) / x**3, mpf(-1) / 3), 0, 1, 10
    yield "asin", "d", sq(lambda x: (mp.asin(x) - x) / x**3, mpf(1) / 6), 0, mpf("0.2505"), 14
    yield "cbrt", "d", lambda m: mp.cbrt(m), mpf("0.5"), 1, 5
    yield "erf", "d", sq(lambda x: mp.erf(x) / x - 2 / mp.sqrt(mp.pi), 0), 0, 1, 14
    yield "erfcx", "d", lambda t: erfcx_shape(t, mpf(4)), -1, 1, 28
    yield "lgamma1", "d", no_zero(lambda t: mp.loggamma(1 + t) / t, -mp.euler), -0.51, 0.31, 26
    yield "lgamma2", "d", no_zero(lambda u: mp.loggamma(2 + u) / u, 1 - mp.euler), mpf("-0.72"), mpf("0.52"), 26
    yield "stirling", "d", stirling, 0, mpf(1) / 81, 9
    yield "expm1", "d", no_zero(lambda r: (mp.expm1(r) - r - r * r / 2) / r**3, mpf(1) / 6), -0.36, 0.36, 11
    yield from bessel_rows()


def hankel(order, which):
    """P or Q of J = sqrt(2/(pi x)) (P cos(chi) - Q sin(chi)) as functions of w = 64/x^2."""
    mu = 4 * order * order

    def term(k, x):
        r = mpf(1)
        for j in range(1, k + 1):
            r *= (mu - (2 * j - 1) ** 2) / (j * 8 * x)
        return r

    def value(w):
        if w < mpf(10) ** -6:
            x = 8 / mp.sqrt(w) if w > 0 else mpf(10) ** 30
            p = sum((-1) ** k * term(2 * k, x) for k in range(6))
            q = sum((-1) ** k * term(2 * k + 1, x) for k in range(6))
        else:
            x = 8 / mp.sqrt(w)
            chi = x - (2 * order + 1) * mp.pi / 4
            j, y = mp.besselj(order, x), mp.bessely(order, x)
            scale = mp.sqrt(mp.pi * x / 2)
            p = scale * (j * mp.cos(chi) + y * mp.sin(chi))
            q = scale * (y * mp.cos(chi) - j * mp.sin(chi))
        return p if which == "p" else q * x / 8
    return value


def bessel_rows():
    for order in (0, 1):
        zeros = [mp.besseljzero(order, k) for k in (1, 2, 3)]

        # in t = z/32 - 1: centred, the terms of the polynomial hardly cancel
        def inside(t, order=order, zeros=zeros):
            z = 32 * (1 + t)
            x = mp.sqrt(z)
            lead = mp.besselj(order, x) if order == 0 else (mp.besselj(1, x) / x if x else mpf(1) / 2)
            return lead / mp.fprod(z - zero**2 for zero in zeros)

        yield f"j{order}", "d", inside, mpf("1e-25") - 1, 1, 20

        # y0 = 2/pi log(x) j0(x) + f(x^2); y1 = 2/pi (log(x) j1(x) - 1/x) + x f(x^2)
        def weber(t, order=order):
            z = 32 * (1 + t)
            x = mp.sqrt(z)
            y = mp.bessely(order, x) - 2 / mp.pi * mp.log(x) * mp.besselj(order, x)
            return y if order == 0 else (y + 2 / (mp.pi * x)) / x

        yield f"y{order}", "d", weber, mpf("1e-16") - 1, 1, 22
        for which in "pq":
            yield f"hankel_{which}{order}", "d", hankel(order, which), 0, 1, 14

        def modified(z, order=order):
            x = mp.sqrt(z)
            return mp.besseli(order, x) if order == 0 else mp.besseli(1, x) / x

        yield f"i{order}", "d", modified, mpf("1e-20"), 64, 24

        def far(w, order=order):
            if w == 0:
                return 1 / mp.sqrt(2 * mp.pi)
            x = 8 / w
            if x > 3000:
                mu, t, s = 4 * order * order, mpf(1), mpf(1)
                for k in range(1, 12):
                    t *= -(mu - (2 * k - 1) ** 2) / (k * 8 * x)
                    s += t
                return s / mp.sqrt(2 * mp.pi)
            return mp.besseli(order, x) * mp.exp(-x) * mp.sqrt(x)

        yield f"i{order}_far", "d", far, 0, 1, 22


def emit(name, kind, coeffs):
    c_type, suffix, fma = ("float", "f", "ld_fmaf") if kind == "f" else ("double", "", "ld_fma")

    def literal(c):
        return (mp.nstr(c, 10) if kind == "f" else mp.nstr(c, 18)) + suffix
    text = f"static inline {c_type} ld_poly_{name}({c_type} x)\n{{\n"
    text += f"    {c_type} p = {literal(coeffs[-1])};\n"
    for c in reversed(coeffs[:-1]):
        text += f"    p = {fma}(p, x, {literal(c)});\n"
    return text + "    return p;\n}\n\n"


def two_over_pi_words():
    """2/pi as 32-bit words after the binary point, for the reduction of huge arguments."""
    mp.mp.prec = 1400
    bits = int(mp.floor(2 / mp.pi * mpf(2) ** 1248))
    words = [(bits >> (1248 - 32 * (i + 1))) & 0xFFFFFFFF for i in range(39)]
    lines = []
    for i in range(0, 39, 6):
        lines.append("    " + ", ".join(f"0x{w:08x}u" for w in words[i:i + 6]) + ",")
    return ("/* 2/pi after the binary point, 32 bits a word. */\n#define LD_TWO_OVER_PI_WORDS 39\n"
            "static const unsigned int ld_two_over_pi[LD_TWO_OVER_PI_WORDS] = {\n" + "\n".join(lines) + "\n};\n\n")


def split_constants():
    """Constants as sums of doubles or floats whose leading parts multiply exactly or are complete."""
    mp.mp.prec = 400
    text = ""

    def f32(v):
        import struct
        return mpf(struct.unpack("f", struct.pack("f", float(v)))[0])

    for name, value in (("PIO2", mp.pi / 2), ("LN2", mp.log(2)), ("LOG2E", 1 / mp.log(2)), ("LN10", mp.log(10)),
                        ("LOG10_2", mp.log(2) / mp.log(10)), ("LOG10E", 1 / mp.log(10)), ("PI", mp.pi),
                        ("LOG2_10", mp.log(10) / mp.log(2)), ("HALF_LOG_2PI", mp.log(2 * mp.pi) / 2),
                        ("J0_Z1", mp.besseljzero(0, 1)), ("J0_Z2", mp.besseljzero(0, 2)),
                        ("J0_Z3", mp.besseljzero(0, 3)),
                        ("J1_Z1", mp.besseljzero(1, 1)), ("J1_Z2", mp.besseljzero(1, 2)),
                        ("J1_Z3", mp.besseljzero(1, 3))):
        rest = value
        for part in ("HI", "MID", "LO"):
            d = mpf(float(rest))
            text += f"#define LD_{name}_{part} {mp.nstr(d, 18)}\n"
            rest -= d
        rest = value
        for part in ("HI", "MID", "LO"):
            d = f32(rest)
            text += f"#define LD_{name}F_{part} {mp.nstr(d, 10)}f\n"
            rest -= d
    # ln 2 with 21 zero bits at the end: n * LD_LN2_SHORT is exact for |n| < 2^20
    short = mp.floor(mp.log(2) * mpf(2) ** 32) / mpf(2) ** 32
    text += f"#define LD_LN2_SHORT {mp.nstr(short, 25)}\n#define LD_LN2_REST {mp.nstr(mp.log(2) - short, 18)}\n\n"
    return text


def build():
    mp.mp.prec = 200
    text = ("/* Generated by scripts/gen_libm_coeffs.py; regenerate, do not edit. */\n"
            "/* clang-format off */\n#ifndef HD_LIBDEVICE_LD_COEFFS_H\n#define HD_LIBDEVICE_LD_COEFFS_H\n\n"
            "#include \"ld.h\"\n\n")
    body = ""
    for name, kind, fn, lo, hi, count in rows():
        mp.mp.prec = 130
        body += emit(name, kind, fit(fn, lo, hi, count))
    return text + split_constants() + two_over_pi_words() + body + "#endif\n"


def main():
    check = "--check" in sys.argv[1:]
    if mp is None:
        print("gen_libm_coeffs: mpmath is not installed (apt-get install python3-mpmath); not checked")
        return 0 if check else 1
    text = build()
    if check:
        with open(TARGET, encoding="utf-8") as f:
            same = f.read() == text
        if not same:
            print("gen_libm_coeffs: src/libdevice/ld_coeffs.h is stale")
        return 0 if same else 1
    with open(TARGET, "w", encoding="utf-8") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
