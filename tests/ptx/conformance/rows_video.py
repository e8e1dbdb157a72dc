"""Video instructions and cvt.pack."""
from kinds import BYTES, COUNT32, HALVES, I32
from suite import Row

FIELDS = {"": (0, 32), **{f".b{i}": (8 * i, 8) for i in range(4)}, ".h0": (0, 16), ".h1": (16, 16)}
COMPARE = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
           "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}


def number(x, sign, bits=32):
    x &= (1 << bits) - 1
    return x - (1 << bits) if sign and x >> bits - 1 else x


def field(x, selector, sign):
    pos, bits = FIELDS[selector]
    return number(x >> pos, sign, bits)


def clamp(x, sign, bits):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if sign else (0, (1 << bits) - 1)
    return min(max(x, low), high)


def average(a, b):
    return (a + b + 1 if a + b >= 0 else a + b) >> 1


BINARY = {"vadd": lambda a, b: a + b, "vsub": lambda a, b: a - b, "vabsdiff": lambda a, b: abs(a - b), "vmin": min,
          "vmax": max, "vavrg": average}
SECOND = {"add": lambda t, c: t + c, "min": min, "max": max}


def merge(d, selector, c):
    pos, bits = FIELDS[selector]
    mask = (1 << bits) - 1
    return (c & ~(mask << pos)) | (d & mask) << pos


def finish(tmp, op2, dsel, c, sign):
    """The second operation takes 33 bits; the merge puts the low ones in their place."""
    if op2:
        tmp = SECOND[op2](number(tmp, True, 33), number(c, sign))
    return merge(tmp, dsel, c)


def scalar(op, types, asel="", bsel="", dsel="", sat=False, op2=""):
    sd, sa, sb = (t == "s32" for t in types)

    def oracle(a, b, c):
        tmp = BINARY[op](field(a, asel, sa), field(b, bsel, sb))
        if sat:
            tmp = clamp(tmp, sd, FIELDS[dsel][1])
        return finish(tmp, op2, dsel, c, sd)
    name = ".".join([op, *types]) + (".sat" if sat else "") + (f".{op2}" if op2 else "")
    return Row(f"{name} {{d}}{dsel}, {{0}}{asel}, {{1}}{bsel}, {{2}}", 32, [I32, I32, I32], oracle)


def shift(op, types, mode, asel="", bsel="", dsel="", sat=False, op2=""):
    sd, sa = (t == "s32" for t in types)

    def oracle(a, b, c):
        n = field(b, bsel, False)
        n = min(n, 32) if mode == "clamp" else n & 31
        tmp = field(a, asel, sa) << n if op == "vshl" else field(a, asel, sa) >> n
        if sat:
            tmp = clamp(tmp, sd, FIELDS[dsel][1])
        return finish(tmp, op2, dsel, c, sd)
    name = ".".join([op, *types, "u32"]) + (".sat" if sat else "") + f".{mode}" + (f".{op2}" if op2 else "")
    return Row(f"{name} {{d}}{dsel}, {{0}}{asel}, {{1}}{bsel}, {{2}}", 32, [I32, COUNT32, I32], oracle)


def vset(types, cmp, asel="", bsel="", dsel="", op2=""):
    sa, sb = (t == "s32" for t in types)

    def oracle(a, b, c):
        return finish(int(COMPARE[cmp](field(a, asel, sa), field(b, bsel, sb))), op2, dsel, c, False)
    name = ".".join(["vset", *types, cmp]) + (f".{op2}" if op2 else "")
    return Row(f"{name} {{d}}{dsel}, {{0}}{asel}, {{1}}{bsel}, {{2}}", 32, [I32, I32, I32], oracle)


def vmad(types, signs="   ", po=False, sat=False, scale=0, asel="", bsel=""):
    """signs: a minus before a, b, c. c is as wide as the manual's 128-bit sum has it: signed when the result is."""
    _, sa, sb = (t == "s32" for t in types)
    na, nb, nc = (s == "-" for s in signs)

    def oracle(a, b, c):
        signed = sa or sb or na != nb or nc
        c = number(~c if nc else c, signed)
        product = field(a, asel, sa) * field(b, bsel, sb)
        r = ((-product if na != nb else product) + c + int(po or nc)) >> scale
        return clamp(r, signed, 32) if sat else r
    name = ".".join(["vmad", *types]) + (".po" if po else "") + (".sat" if sat else "") + (f".shr{scale}" if scale else "")
    text = f"{name} {{d}}, {signs[0].strip()}{{0}}{asel}, {signs[1].strip()}{{1}}{bsel}, {signs[2].strip()}{{2}}"
    return Row(text, 32, [I32, I32, I32], oracle)


def packed(op, n, types, cmp="", asel=None, bsel=None, mask=None, sat=False, add=False):
    """asel, bsel, mask: digits as written, the highest element first."""
    width, letter = 32 // n, "h" if n == 2 else "b"
    sd, sa, sb = (False, *(t == "s32" for t in types)) if op == "vset" else (t == "s32" for t in types)
    from_a, from_b = ([int(x) for x in reversed(s)] if s else [first + i for i in range(n)] for s, first in ((asel, 0), (bsel, n)))
    lanes = [int(x) for x in mask] if mask else range(n)
    operation = (lambda a, b: int(COMPARE[cmp](a, b))) if op == "vset" else BINARY[op]

    def element(a, b, i, sign):
        return number((a, b)[i // n] >> i % n * width, sign, width)

    def oracle(a, b, c):
        d = c
        for i in lanes:
            t = operation(element(a, b, from_a[i], sa), element(a, b, from_b[i], sb))
            if sat:
                t = clamp(t, sd, width)
            ones = (1 << width) - 1
            d = d + t if add else d & ~(ones << i * width) | (t & ones) << i * width
        return d
    name = ".".join([f"{op}{n}", *types] + [cmp] * bool(cmp)) + (".sat" if sat else "") + (".add" if add else "")
    asel, bsel, mask = (f".{letter}{s}" if s else "" for s in (asel, bsel, mask))
    kind = HALVES if n == 2 else BYTES
    return Row(f"{name} {{d}}{mask}, {{0}}{asel}, {{1}}{bsel}, {{2}}", 32, [kind, kind, I32], oracle)


def cvt_pack(to):
    sign, bits = to[0] == "s", int(to[1:])
    tail, kinds = (".b32", [I32] * 3) if bits < 16 else ("", [I32] * 2)

    def oracle(a, b, c=0):
        ones = (1 << bits) - 1
        a, b = (clamp(number(x, True), sign, bits) & ones for x in (a, b))
        return (c << 2 * bits | a << bits | b) if bits < 16 else a << bits | b
    sources = ", ".join(f"{{{i}}}" for i in range(len(kinds)))
    return Row(f"cvt.pack.sat.{to}.s32{tail} {{d}}, {sources}", 32, kinds, oracle)


WORDS = ("u32", "s32")
SELECTORS = [".b0", ".b1", ".b2", ".b3", ".h0", ".h1"]


def rows():
    types3 = [(d, a, b) for d in WORDS for a in WORDS for b in WORDS]
    out = []
    for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
        for i, types in enumerate(types3):
            pick = [SELECTORS[(i + k) % 6] for k in range(3)]
            out += [scalar(op, types), scalar(op, types, sat=True), scalar(op, types, op2=("add", "min", "max")[i % 3]),
                    scalar(op, types, sat=i % 2 == 0, op2=("max", "min", "add")[i % 3]),
                    scalar(op, types, *pick, sat=True), scalar(op, types, pick[1], pick[2], pick[0])]
    for op in ("vshl", "vshr"):
        for i, types in enumerate((d, a) for d in WORDS for a in WORDS):
            for mode in ("clamp", "wrap"):
                out += [shift(op, types, mode), shift(op, types, mode, sat=True),
                        shift(op, types, mode, op2=("add", "min", "max")[i % 3]),
                        shift(op, types, mode, SELECTORS[i], SELECTORS[(i + 4) % 6], SELECTORS[(i + 2) % 6], sat=i % 2 == 0)]
    for i, types in enumerate((a, b) for a in WORDS for b in WORDS):
        for k, cmp in enumerate(COMPARE):
            out += [vset(types, cmp), vset(types, cmp, op2=("add", "min", "max")[(i + k) % 3]),
                    vset(types, cmp, *(SELECTORS[(i + k + j) % 6] for j in range(3)))]
    for types in types3:
        for scale in (0, 7, 15):
            for sat in (False, True):
                out += [vmad(types, sat=sat, scale=scale), vmad(types, po=True, sat=sat, scale=scale)]
                out += [vmad(types, signs, sat=sat, scale=scale) for signs in ("-  ", " - ", "  -", "---", "-- ")]
        out += [vmad(types, "-  ", asel=".h1", bsel=".b2"), vmad(types, "  -", sat=True, asel=".b0", bsel=".h0")]
    for n, swap, twice, masks in ((2, "12", "00", ("0", "1", "10")), (4, "2107", "5525", ("0", "2", "31", "210", "3210"))):
        for op in BINARY:
            for i, types in enumerate(types3):
                out += [packed(op, n, types), packed(op, n, types, sat=True), packed(op, n, types, add=True),
                        packed(op, n, types, "", swap, twice, masks[i % len(masks)], sat=i % 2 == 0),
                        packed(op, n, types, "", twice, swap, masks[(i + 1) % len(masks)], add=True)]
        for types in ((a, b) for a in WORDS for b in WORDS):
            for cmp in COMPARE:
                out += [packed("vset", n, types, cmp), packed("vset", n, types, cmp, add=True),
                        packed("vset", n, types, cmp, swap, twice, masks[1])]
    return out + [cvt_pack(s + b) for s in "us" for b in ("2", "4", "8", "16")]


REFUSED = [
    ("vadd.u32.u32 %r1, %r2, %r3", "needs .u32|s32"),
    ("vadd.u32.u32.u64 %r1, %r2, %r3", "needs .u32|s32"),
    ("vadd.u32.u32.u32 %r1.b0, %r2, %r3", "operand c is missing"),
    ("vadd.u32.u32.u32.max %r1.b0, %r2, %r3, %r4", "exclude each other"),
    ("vadd.u32.u32.u32 %r1, -%r2, %r3", "negated"),
    ("vadd.u32.u32.u32 %r1, %r2.b10, %r3", ".b0 to .b3"),
    ("vadd.u32.u32.u32.and %r1, %r2, %r3, %r4", "does not take '.and'"),
    ("vadd.u32.u32.u32 %l1, %r2, %r3", "32 bits"),
    ("vadd.u32.u32.u32.lt %r1, %r2, %r3", "does not take"),
    ("vset.u32.u32.sat.lt %r1, %r2, %r3", "does not take"),
    ("vset.u32.u32 %r1, %r2, %r3", "needs a comparison"),
    ("vset.u32.u32.lo %r1, %r2, %r3", "does not take"),
    ("vshl.u32.u32.u32 %r1, %r2, %r3", "needs .clamp|wrap"),
    ("vshl.u32.u32.s32.wrap %r1, %r2, %r3", "needs .u32"),
    ("vmad.s32.s32.s32 %r1, -%r2, %r3, -%r4", "negated"),
    ("vmad.s32.s32.s32.po %r1, -%r2, %r3, %r4", ".po"),
    ("vmad.s32.s32.s32 %r1.h0, %r2, %r3, %r4", "selectors"),
    ("vadd2.u32.u32.u32.sat.add %r1, %r2, %r3, %r4", "does not take '.add'"),
    ("vadd2.u32.u32.u32.max %r1, %r2, %r3, %r4", "does not take '.max'"),
    ("vadd2.u32.u32.u32 %r1, %r2.h0, %r3, %r4", "one source for each element"),
    ("vadd2.u32.u32.u32 %r1.h01, %r2, %r3, %r4", "falling order"),
    ("vadd4.u32.u32.u32 %r1.b00, %r2, %r3, %r4", "falling order"),
    ("vadd4.u32.u32.u32 %r1.h10, %r2, %r3, %r4", "falling order"),
    ("vadd4.u32.u32.u32 %r1, 5, %r3, %r4", "registers"),
    ("vset4.u32.u32.ne.max %r1, %r2, %r3, %r4", "variant"),
    ("cvt.pack.u16.s32 %r1, %r2, %r3", "needs .sat"),
    ("cvt.pack.sat.u16.u32 %r1, %r2, %r3", "needs .s32"),
    ("cvt.pack.sat.u16.s32.b32 %r1, %r2, %r3, %r4", "does not take '.b32'"),
    ("cvt.pack.sat.u8.s32 %r1, %r2, %r3", "needs .b32"),
]
