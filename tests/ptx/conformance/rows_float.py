"""Floating-point arithmetic and comparisons that are exact: one rounding, or none."""
import floats
from floats import BF16, F16, F32, F64
from kinds import I32, Kind, PRED, number, packed
from suite import Row, WarpRow

FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
ROUNDS = ("rn", "rz", "rm", "rp")
ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
UNORDERED = ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


def kind_of(fmt):
    return number(fmt)


def lanes(oracle, fmt, count):
    """The oracle of a packed type: lane by lane."""
    ones = (1 << fmt.bits) - 1

    def run(*xs):
        return sum(oracle(*(x >> fmt.bits * i & ones for x in xs)) << fmt.bits * i for i in range(count))
    return run


def word(*parts):
    return ".".join(p for p in parts if p)


def places(count):
    return ", ".join(f"{{{i}}}" for i in range(count))


def arithmetic(op, n, name, mode="", ftz=False, sat=False, relu=False, count=1):
    fmt = FORMATS[name]
    text = f"{word(op, mode, 'ftz' * ftz, 'sat' * sat, 'relu' * relu, name + 'x2' * (count == 2))} {{d}}, {places(n)}"

    def oracle(*xs):
        return floats.operate(fmt, op, xs, mode or "rn", ftz, sat, relu)
    if count == 1:
        return Row(text, fmt.bits, [kind_of(fmt)] * n, oracle)
    return Row(text, 2 * fmt.bits, [packed(kind_of(fmt), 2)] * n, lanes(oracle, fmt, 2))


def with_constant(op, n, name, at, bits, ftz=False):
    """One source is a number that compilers like to calculate away: a zero, or plus or minus one."""
    fmt = FORMATS[name]
    sources = [f"{{{i}}}" for i in range(n - 1)]
    sources.insert(at, f"0f{bits:08X}" if name == "f32" else f"0d{bits:016X}")
    text = f"{word(op, 'rn', 'ftz' * ftz, name)} {{d}}, {', '.join(sources)}"

    def oracle(*xs):
        return floats.operate(fmt, op, xs[:at] + (bits,) + xs[at:], "rn", ftz)
    return Row(text, fmt.bits, [kind_of(fmt)] * (n - 1), oracle)


def identities():
    """Where the result is the other source, but for denormals that are flushed and NaNs that signal."""
    out = []
    for name, one, sign in (("f32", 0x3f800000, 1 << 31), ("f64", 0x3ff << 52, 1 << 63)):
        for ftz in (False, True) if name == "f32" else (False,):
            out += [with_constant(op, 2, name, at, zero, ftz) for op in ("add", "sub") for at in (0, 1) for zero in (0, sign)]
            out += [with_constant("mul", 2, name, at, x, ftz) for at in (0, 1) for x in (one, one | sign)]
            out += [with_constant("div", 2, name, 1, x, ftz) for x in (one, one | sign)]
            out += [with_constant("fma", 3, name, at, x, ftz) for at, x in ((0, one), (1, one | sign), (2, 0), (2, sign))]
    return out


def in_bounds(name, relu, count):
    """fma.oob: +0 where a or b is the NaN of elements outside a tensor."""
    fmt, outside = FORMATS[name], 0x7ff7

    def oracle(a, b, c):
        return 0 if outside in (a, b) else floats.operate(fmt, "fma", (a, b, c), "rn", relu=relu)
    text = f"{word('fma.rn.oob', 'relu' * relu, name + 'x2' * (count == 2))} {{d}}, {places(3)}"
    some = Kind(16, [outside, outside ^ 0x8000, outside + 1], kind_of(fmt).draw)
    kinds = [some] * 3
    if count == 1:
        return Row(text, 16, kinds, oracle)
    return Row(text, 32, [packed(k, 2) for k in kinds], lanes(oracle, fmt, 2))


def mixed(op, n, half, mode, sat):
    """All sources but the last are halves."""
    fmt = FORMATS[half]
    return Row(f"{word(op, mode, 'sat' * sat)}.f32.{half} {{d}}, {places(n)}", 32, [kind_of(fmt)] * (n - 1) + [kind_of(F32)],
               lambda *xs: floats.operate(fmt, op, xs, mode or "rn", sat=sat, to=F32))


def extreme(op, name, n=2, nan=False, xorsign=False, absolute=False, ftz=False, count=1):
    fmt = FORMATS[name]
    words = word(op, "ftz" * ftz, "NaN" * nan, "xorsign.abs" * xorsign, "abs" * absolute, name + "x2" * (count == 2))

    def oracle(*xs):
        return floats.min_max(fmt, xs, op == "max", nan, xorsign, absolute, ftz)
    if count == 1:
        return Row(f"{words} {{d}}, {places(n)}", fmt.bits, [kind_of(fmt)] * n, oracle)
    return Row(f"{words} {{d}}, {places(n)}", 32, [packed(kind_of(fmt), 2)] * n, lanes(oracle, fmt, 2))


def comparison(cmp, name, ftz=False):
    fmt = FORMATS[name]
    return Row(f"{word('setp', cmp, 'ftz' * ftz, name)} {{d}}, {{0}}, {{1}}", 1, [kind_of(fmt)] * 2,
               lambda a, b: int(floats.compare(fmt, cmp, a, b, ftz)))


def comparison_with(cmp, boolean, name):
    """d and e: the comparison and its opposite, each with the predicate."""
    fmt = FORMATS[name]
    join = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}[boolean]

    def oracle(a, b, c):
        t = int(floats.compare(fmt, cmp, a, b))
        return join(t, c), join(1 - t, c)
    return Row(f"setp.{cmp}.{boolean}.{name} {{d}}|{{e}}, {{0}}, {{1}}, {{2}}", (1, 1), [kind_of(fmt)] * 2 + [PRED], oracle)


def set_to(cmp, to, name):
    fmt, one = FORMATS[name], {"f32": 0x3f800000}.get(to, 0xffffffff)
    return Row(f"set.{cmp}.{to}.{name} {{d}}, {{0}}, {{1}}", 32, [kind_of(fmt)] * 2,
               lambda a, b: one if floats.compare(fmt, cmp, a, b) else 0)


def sign_bits(op, name, ftz=False, count=1):
    fmt = FORMATS[name]

    def oracle(a):
        if ftz and not a & fmt.inf:
            a &= fmt.sign
        return a ^ fmt.sign if op == "neg" else a & ~fmt.sign
    text = f"{word(op, 'ftz' * ftz, name + 'x2' * (count == 2))} {{d}}, {{0}}"
    if count == 1:
        return Row(text, fmt.bits, [kind_of(fmt)], oracle)
    return Row(text, 32, [packed(kind_of(fmt), 2)], lanes(oracle, fmt, 2))


def test(what, name):
    fmt = FORMATS[name]

    def oracle(a):
        kind, _, m, _ = fmt.take(a)
        normal = m >> fmt.frac_bits
        return int({"finite": kind == "num", "infinite": kind == "inf", "number": kind != "nan", "notanumber": kind == "nan",
                    "normal": kind == "num" and (normal or not m), "subnormal": kind == "num" and m and not normal}[what])
    return Row(f"testp.{what}.{name} {{d}}, {{0}}", 1, [kind_of(fmt)], oracle)


def copysign(name):
    fmt = FORMATS[name]
    return Row(f"copysign.{name} {{d}}, {{0}}, {{1}}", fmt.bits, [kind_of(fmt)] * 2,
               lambda a, b: a & fmt.sign | b & ~fmt.sign)


def redux(op, nan=False, absolute=False):
    """The least or the greatest of those lanes that the mask names: all of them, here."""
    full = Kind(32, [], lambda rng: 0xffffffff)

    def oracle(threads):
        return floats.min_max(F32, [t[0] for t in threads], op == "max", nan, absolute=absolute)
    return WarpRow(f"{word('redux.sync', op, 'abs' * absolute, 'NaN' * nan, 'f32')} {{d}}, {{0}}, {{1}}", 32,
                   [rare_nans(), full], oracle)


def rare_nans():
    """A NaN in some warps only, in some warps all."""
    draw = kind_of(F32).draw

    def one(rng):
        x = draw(rng)
        return x if F32.take(x)[0] != "nan" or rng.random() < 0.05 else x & ~(1 << 23)
    return Kind(32, [], one)


def slct(name):
    fmt = FORMATS[name]
    return Row("slct.b32.f32 {d}, {0}, {1}, {2}", 32, [I32, I32, kind_of(fmt)],
               lambda a, b, c: a if floats.compare(fmt, "ge", c, 0) else b)


def rows():
    both, out = (False, True), []
    for op, n in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
        modes = ROUNDS if op == "fma" else ("", *ROUNDS)
        out += [arithmetic(op, n, "f32", mode, ftz, sat) for mode in modes for ftz in both for sat in both]
        out += [arithmetic(op, n, "f64", mode) for mode in modes]
        out += [arithmetic(op, n, "f32", mode, ftz, count=2) for mode in modes for ftz in both]
        for name in ("f16", "bf16"):
            mode = "rn" if op == "fma" else ""
            out += [arithmetic(op, n, name, mode, count=c) for c in (1, 2)]
            if op == "fma":
                out += [arithmetic(op, n, name, "rn", relu=True, count=c) for c in (1, 2)]
                out += [in_bounds(name, relu, c) for relu in both for c in (1, 2)]
            if name == "f16":
                out += [arithmetic(op, n, name, mode, ftz, sat, count=c) for ftz in both for sat in both for c in (1, 2) if ftz or sat]
            if op != "mul":
                out += [mixed(op, n, name, mode, sat) for mode in modes for sat in both]
    for mode in ROUNDS:
        for op, n in (("div", 2), ("rcp", 1), ("sqrt", 1)):
            out += [arithmetic(op, n, "f32", mode, ftz) for ftz in both] + [arithmetic(op, n, "f64", mode)]
    for op in ("min", "max"):
        out += [extreme(op, "f64")] + [extreme(op, "f32", ftz=ftz, nan=nan, xorsign=x) for ftz in both for nan in both for x in both]
        out += [extreme(op, "f32", 3, nan, False, absolute, ftz) for ftz in both for nan in both for absolute in both]
        out += [extreme(op, h, nan=nan, xorsign=x, count=c) for h in ("f16", "bf16") for nan in both for x in both for c in (1, 2)]
        out += [redux(op, nan, absolute) for nan in both for absolute in both]
    for name in FORMATS:
        out += [comparison(c, name) for c in ORDERED + UNORDERED]
        if name in ("f32", "f64"):
            out += [comparison_with("ltu", b, name) for b in ("and", "or", "xor")]
        out += [sign_bits(op, name) for op in ("abs", "neg")]
    for cmp in ORDERED + UNORDERED:
        out += [comparison(cmp, "f32", True), set_to(cmp, "u32", "f32"), set_to(cmp, "f32", "f64")]
    out += [sign_bits(op, "f32", True) for op in ("abs", "neg")] + [sign_bits(op, h, count=2) for op in ("abs", "neg") for h in ("f16", "bf16")]
    out += [test(w, n) for n in ("f32", "f64") for w in ("finite", "infinite", "number", "notanumber", "normal", "subnormal")]
    return out + identities() + [copysign("f32"), copysign("f64"), slct("f32")]


REFUSED = [
    ("add.ftz.f32.f16 %f1, %h1, %f2", "does not take '.f16'"),
    ("add.f32.f16 %f1, %f2, %h1", "16 bits"),
    ("fma.rn.f32.bf16 %f1, %h1, %f2, %f3", "16 bits"),
    ("sub.f32.bf16 %f1, %h1, %h2", "32 bits"),
    ("mul.f32.f16 %f1, %f2, %f3", "does not take '.f16'"),
    ("add.f64.f32 %d1, %f1, %d2", "does not take '.f32'"),
    ("add.sat.f32x2 %l1, %l2, %l3", "does not take '.sat'"),
    ("div.rn.f32x2 %l1, %l2, %l3", "needs .f32"),
    ("max.relu.u32 %r1, %r2, %r3", "does not take '.relu'"),
    ("max.relu.f16 %h1, %h2, %h3", "does not take '.relu'"),
    ("max.abs.f32 %f1, %f2, %f3", "does not have a form of 3 operands"),
    ("max.xorsign.abs.f32 %f1, %f2, %f3, %f4", "does not have a form of 4 operands"),
    ("max.f64 %d1, %d2, %d3, %d4", "does not have a form of 4 operands"),
    ("redux.sync.add.f32 %f1, %f2, %r3", "needs .u32|s32"),
    ("redux.sync.min.NaN.u32 %r1, %r2, %r3", "does not take '.NaN'"),
    ("redux.sync.min.u64 %l1, %l2, %r3", "needs .u32|s32"),
    ("add.e4m3x2 %h1, %h2, %h3", "needs .u16|u32|u64|s16|s32|s64"),
]
