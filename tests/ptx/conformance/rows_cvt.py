"""cvt between floating-point formats: packed pairs, the small formats, tf32, stochastic rounding."""
from floats import BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, TF32
from kinds import I8, I32, Kind, numbers_near, packed
from suite import Row

SMALL = {"e4m3": E4M3, "e5m2": E5M2, "e2m3": E2M3, "e3m2": E3M2, "e2m1": E2M1}
HALVES = {"f16": F16, "bf16": BF16}
SLOT = {name: 4 if name == "e2m1" else 8 for name in SMALL}  # bits that an element takes


def convert(x, source, to, mode="rn", satfinite=False, relu=False, random=None):
    kind, sign, m, e = source.take(x)
    if kind == "nan":
        return to.nan
    if relu and sign:
        return 0
    r = to.sign * sign | to.infinity() if kind == "inf" else to.put(sign, m, e, mode, random)
    return r & to.sign | min(r & to.sign - 1, to.max) if satfinite else r


def scale(x, source, mode, satfinite):
    """ue8m0: the magnitude as a power of two, 2**-127 at least."""
    kind, _, m, e = source.take(x)
    if kind == "nan":
        return 0xff
    over = 0xfe if satfinite else 0xff
    if kind == "inf":
        return over
    if m == 0:
        return 0
    power = m.bit_length() - 1 + e + (mode == "rp" and m & m - 1 != 0)
    return over if power > 127 else max(power, -127) + 127


def words(mode, satfinite, relu):
    return f"cvt.{mode}" + ".satfinite" * satfinite + ".relu" * relu


def pair_from_f32(name, to, slot, mode, satfinite, relu):
    def oracle(a, b):
        return convert(a, F32, to, mode, satfinite, relu) << slot | convert(b, F32, to, mode, satfinite, relu)
    kind = numbers_near(F32, to)
    return Row(f"{words(mode, satfinite, relu)}.{name}x2.f32 {{d}}, {{0}}, {{1}}", 2 * slot, [kind, kind], oracle)


def pair_from_halves(name, source, relu):
    """From f16x2; from bf16x2, and e2m3x2 and e3m2x2 from either, since PTX 9.1."""
    to, slot, half = SMALL[name], SLOT[name], HALVES[source]

    def oracle(a):
        return convert(a >> 16, half, to, "rn", True, relu) << slot | convert(a & 0xffff, half, to, "rn", True, relu)
    return Row(f"{words('rn', True, relu)}.{name}x2.{source}x2 {{d}}, {{0}}", 2 * slot, [packed(numbers_near(half, to), 2)], oracle)


def halves_from_pair(name, relu):
    source, slot = SMALL[name], SLOT[name]

    def oracle(a):
        return convert(a >> slot, source, F16, relu=relu) << 16 | convert(a & (1 << slot) - 1, source, F16, relu=relu)
    element = Kind(slot, [], lambda rng: rng.getrandbits(source.bits))
    return Row(f"{words('rn', False, relu)}.f16x2.{name}x2 {{d}}, {{0}}", 32, [packed(element, 2)], oracle)


def scales(source, mode, satfinite):
    def from_f32(a, b):
        return scale(a, F32, mode, satfinite) << 8 | scale(b, F32, mode, satfinite)

    def from_bf16x2(a):
        return scale(a >> 16, BF16, mode, satfinite) << 8 | scale(a & 0xffff, BF16, mode, satfinite)
    text = f"{words(mode, satfinite, False)}.ue8m0x2.{source}"
    if source == "f32":
        kind = numbers_near(F32, BF16)
        return Row(f"{text} {{d}}, {{0}}, {{1}}", 16, [kind, kind], from_f32)
    return Row(f"{text} {{d}}, {{0}}", 16, [packed(numbers_near(BF16, BF16), 2)], from_bf16x2)


def from_scales(a):
    return sum((BF16.nan if x == 255 else BF16.put(0, 1, x - 127)) << 16 * i for i, x in enumerate((a & 255, a >> 8)))


def random_pair(name, satfinite, relu):
    """f16 has 13 random bits in each half of the register, bf16 has 16."""
    to, bits = HALVES[name], 23 - HALVES[name].frac_bits

    def oracle(a, b, r):
        a, b = (convert(x, F32, to, "rs", satfinite, relu, (n & (1 << bits) - 1, bits)) for x, n in ((a, r >> 16), (b, r & 0xffff)))
        return a << 16 | b
    kind = numbers_near(F32, to)
    return Row(f"{words('rs', satfinite, relu)}.{name}x2.f32 {{d}}, {{0}}, {{1}}, {{2}}", 32, [kind, kind, I32], oracle)


def random_four(name, relu):
    """16 random bits for each pair: a half of the register, or of e2m1 a byte of both halves."""
    to, slot = SMALL[name], SLOT[name]

    def shared(r):
        if name == "e2m1":
            return (r >> 24) << 8 | r >> 8 & 255, (r >> 16 & 255) << 8 | r & 255
        return r >> 16, r & 0xffff

    def oracle(a, b, e, f, r):
        upper, lower = shared(r)
        d = 0
        for x, n in ((a, upper), (b, upper), (e, lower), (f, lower)):
            d = d << slot | convert(x, F32, to, "rs", True, relu, (n, 16))
        return d
    kind = numbers_near(F32, to)
    text = f"{words('rs', True, relu)}.{name}x4.f32 {{d}}, {{{{{{0}}, {{1}}, {{2}}, {{3}}}}}}, {{4}}"
    return Row(text, 4 * slot, [kind] * 4 + [I32], oracle)


def tf32(mode, satfinite, relu):
    def oracle(a):
        if F32.take(a)[0] == "nan":
            return 0x7fffffff
        return convert(a, F32, TF32, mode, satfinite, relu) << 13
    return Row(f"{words(mode, satfinite, relu)}.tf32.f32 {{d}}, {{0}}", 32, [numbers_near(F32, TF32)], oracle)


def half_from_f32(name, mode, satfinite, relu):
    to = HALVES[name]
    return Row(f"{words(mode, satfinite, relu)}.{name}.f32 {{d}}, {{0}}", 16, [numbers_near(F32, to)],
               lambda a: convert(a, F32, to, mode, satfinite, relu))


def rows():
    both, out = (False, True), []
    for relu in both:
        out += [pair_from_f32(n, SMALL[n], SLOT[n], "rn", True, relu) for n in SMALL]
        out += [pair_from_halves(n, half, relu) for n in SMALL for half in HALVES] + [halves_from_pair(n, relu) for n in SMALL]
        out += [random_four(n, relu) for n in SMALL]
        for satfinite in both:
            out += [random_pair(n, satfinite, relu) for n in HALVES]
            for mode in ("rn", "rz"):
                out += [pair_from_f32(n, f, 16, mode, satfinite, relu) for n, f in HALVES.items()]
                out += [half_from_f32(n, mode, satfinite, relu) for n in HALVES] + [tf32(mode, satfinite, relu)]
    out += [scales(s, mode, f) for s in ("f32", "bf16x2") for mode in ("rz", "rp") for f in both]
    out += [tf32("rna", f, False) for f in both]
    return out + [Row("cvt.rn.bf16x2.ue8m0x2 {d}, {0}", 32, [packed(I8, 2)], from_scales)]


REFUSED = [
    ("cvt.rn.e4m3x2.f32 %h1, %f1, %f2", "needs .satfinite"),
    ("cvt.rz.satfinite.e4m3x2.f32 %h1, %f1, %f2", "needs .rn"),
    ("cvt.rn.satfinite.sat.e4m3x2.f32 %h1, %f1, %f2", "does not take '.sat'"),
    ("cvt.rn.satfinite.e4m3x2.f32 %h1, %f1", "does not have a form of 2 operands"),
    ("cvt.rn.satfinite.e4m3x2.f32 %b1, %f1, %f2", "at least 16 bits"),
    ("cvt.rz.satfinite.e4m3x2.bf16x2 %h1, %r1", "needs .rn"),
    ("cvt.rn.satfinite.s2f6x2.bf16x2 %h1, %r1", "s2f6x2"),
    ("cvt.rn.satfinite.f16x2.e4m3x2 %r1, %h1", "does not take '.satfinite'"),
    ("cvt.f16x2.e4m3x2 %r1, %h1", "needs .rn"),
    ("cvt.rn.bf16x2.e4m3x2 %r1, %h1", "needs .f32"),
    ("cvt.rn.relu.bf16x2.ue8m0x2 %r1, %h1", "does not take '.relu'"),
    ("cvt.rn.ue8m0x2.f32 %h1, %f1, %f2", "needs .rz|rp"),
    ("cvt.rn.f16.f16x2 %h1, %r1", "needs .u8|s8|u16|u32|u64|s16|s32|s64"),
    ("cvt.rs.f16x2.f32 %r1, %f1, %f2", "does not have a form of 3 operands"),
    ("cvt.rn.f16x2.f32 %r1, %f1, %f2, %r2", "does not have a form of 4 operands"),
    ("cvt.rs.f16.f32 %h1, %f1", "needs .rn|rz|rm|rp"),
    ("cvt.rs.e4m3x4.f32 %r1, {%f1, %f2, %f3, %f4}, %r2", "needs .satfinite"),
    ("cvt.rs.satfinite.e4m3x4.f32 %r1, {%f1, %f2}, %r2", "four sources"),
    ("cvt.tf32.f32 %r1, %f1", "needs .rna"),
    ("cvt.rp.tf32.f32 %r1, %f1", "needs .rna"),
    ("cvt.rna.relu.tf32.f32 %r1, %f1", "does not take '.relu'"),
    ("cvt.rna.f16.f32 %h1, %f1", "needs .rn|rz|rm|rp"),
    ("cvt.rn.tf32.f64 %r1, %d1", "needs .f32"),
    ("cvt.rn.satfinite.f16.f64 %h1, %d1", "does not take '.satfinite'"),
    ("cvt.rn.relu.f32.f64 %f1, %d1", "does not take '.relu'"),
    ("cvt.rn.u4.f32 %r1, %f1", "needs .f32"),
]
