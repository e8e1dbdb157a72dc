"""Integer arithmetic, bits and integer conversions."""
from kinds import COUNT32, I8, I16, I32, I64, PRED, Kind, packed, small
from suite import Row, WarpRow

WIDTH = {16: I16, 32: I32, 64: I64}
TYPES = [f"{s}{w}" for w in (16, 32, 64) for s in "us"]
JOIN = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


def bits_of(t):
    return int(t[1:])


def value(t, x):
    bits = bits_of(t)
    x &= (1 << bits) - 1
    return x - (1 << bits) if t[0] == "s" and x >> bits - 1 else x


def saturate(t, x):
    bits = bits_of(t)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if t[0] == "s" else (0, (1 << bits) - 1)
    return min(max(x, low), high)


def simple(text, t, n, f, bits=None):
    """{d} and n sources of one type; f gets numbers of its sign."""
    sources = ", ".join(f"{{{i}}}" for i in range(n))
    return Row(f"{text}.{t} {{d}}, {sources}", bits or bits_of(t), [WIDTH[bits_of(t)]] * n, lambda *xs: f(*(value(t, x) for x in xs)))


def quotient(a, b):
    q = abs(a) // abs(b) if b else 0
    return -1 if not b else -q if (a < 0) != (b < 0) else q


def remainder(a, b):
    return a if not b else a - quotient(a, b) * b


def mul24(t, a, b):
    def cut(x):
        x &= 0xffffff
        return x - (1 << 24) if t[0] == "s" and x >> 23 else x
    return cut(a) * cut(b)


def bfind(t, x, amount):
    w = bits_of(t)
    x = ~x if x < 0 else x
    return 0xffffffff if not x else (w - x.bit_length() if amount else x.bit_length() - 1)


def bfe(t):
    w = bits_of(t)

    def oracle(a, pos, length):
        pos, length = pos & 255, length & 255
        sign = a >> min(pos + length - 1, w - 1) & 1 if t[0] == "s" and length else 0
        r = sum((a >> pos + i & 1 if i < length and pos + i < w else sign) << i for i in range(w))
        return r
    return Row(f"bfe.{t} {{d}}, {{0}}, {{1}}, {{2}}", w, [WIDTH[w], small(32, w), small(32, w)], oracle)


def bfi(w):
    def oracle(a, b, pos, length):
        pos, length = pos & 255, length & 255
        mask = (1 << length) - 1 << pos
        return b & ~mask | a << pos & mask
    return Row(f"bfi.b{w} {{d}}, {{0}}, {{1}}, {{2}}, {{3}}", w, [WIDTH[w]] * 2 + [small(32, w)] * 2, oracle)


def shift(op, t):
    w = bits_of(t)

    def oracle(a, n):
        a = value(t, a)
        return a << n if op == "shl" and n < w else 0 if op == "shl" else a >> min(n, w)
    return Row(f"{op}.{t} {{d}}, {{0}}, {{1}}", w, [WIDTH[w], small(32, w)], oracle)


def funnel(side, mode):
    def oracle(a, b, c):
        n = c & 31 if mode == "wrap" else min(c, 32)
        both = b << 32 | a
        return both << n >> 32 if side == "l" else both >> n
    return Row(f"shf.{side}.{mode}.b32 {{d}}, {{0}}, {{1}}, {{2}}", 32, [I32, I32, COUNT32], oracle)


def prmt_bytes(mode, c):
    """(byte, is it the sign of the byte?) of each byte of the result."""
    n = c & 3
    return {"": [(c >> 4 * i & 7, c >> 4 * i & 8) for i in range(4)],
            ".f4e": [(n + i, 0) for i in range(4)], ".b4e": [(n - i & 7, 0) for i in range(4)],
            ".rc8": [(n, 0)] * 4, ".ecl": [(max(i, n), 0) for i in range(4)],
            ".ecr": [(min(i, n), 0) for i in range(4)], ".rc16": [((n & 1) * 2 + (i & 1), 0) for i in range(4)]}[mode]


def prmt(mode):
    def oracle(a, b, c):
        both, r = b << 32 | a, 0
        for i, (byte, sign) in enumerate(prmt_bytes(mode, c)):
            x = both >> 8 * byte & 255
            r |= (255 * (x >> 7) if sign else x) << 8 * i
        return r
    return Row(f"prmt.b32{mode} {{d}}, {{0}}, {{1}}, {{2}}", 32, [packed(I8, 4)] * 2 + [I32], oracle)


def lop3(lut):
    def oracle(a, b, c):
        return sum((lut >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i for i in range(32))
    return Row(f"lop3.b32 {{d}}, {{0}}, {{1}}, {{2}}, {lut}", 32, [I32] * 3, oracle)


def lop3_with(boolean, lut):
    logic = lop3(lut).oracle

    def oracle(a, b, c, q):
        d = logic(a, b, c)
        return d, JOIN[boolean](int(d != 0), q)
    return Row(f"lop3.{boolean}.b32 {{d}}|{{e}}, {{0}}, {{1}}, {{2}}, {lut}, {{3}}", (32, 1), [packed(small(8, 8), 4)] * 3 + [PRED], oracle)


def szext(mode, t):
    def oracle(a, b):
        n = b & 31 if mode == "wrap" else min(b, 32)
        x = a & (1 << n) - 1
        return x - (1 << n) if t == "s32" and n and x >> n - 1 else x
    return Row(f"szext.{mode}.{t} {{d}}, {{0}}, {{1}}", 32, [I32, COUNT32], oracle)


def bmsk(mode):
    def oracle(a, b):
        a, b = (a & 31, b & 31) if mode == "wrap" else (min(a, 32), min(b, 32))
        return (1 << b) - 1 << a
    return Row(f"bmsk.{mode}.b32 {{d}}, {{0}}, {{1}}", 32, [COUNT32, COUNT32], oracle)


def fns():
    def oracle(mask, base, n):
        n = value("s32", n)
        if base > 31:
            return 0xffffffff
        if not n:
            return base if mask >> base & 1 else 0xffffffff
        order = range(base, 32) if n > 0 else range(base, -1, -1)
        found = [i for i in order if mask >> i & 1]
        return found[abs(n) - 1] if len(found) >= abs(n) else 0xffffffff
    near = Kind(32, [0, 1, 0xffffffff, 31, 32], lambda rng: rng.randrange(-8, 9) & 0xffffffff)
    return Row("fns.b32 {d}, {0}, {1}, {2}", 32, [I32, COUNT32, near], oracle)


def dot(n, half, ta, tb):
    """Bytes of a by bytes of b, or halves of a by the low or high bytes of b."""
    def oracle(a, b, c):
        wa, first = (8, 0) if n == 4 else (16, 2 * (half == "hi"))
        pieces = ((value(f"{ta[0]}{wa}", a >> wa * i), value(f"{tb[0]}8", b >> 8 * (first + i))) for i in range(n))
        return value("s32" if "s32" in (ta, tb) else "u32", c) + sum(x * y for x, y in pieces)
    words = f"dp{n}a" + f".{half}" * bool(half)
    return Row(f"{words}.{ta}.{tb} {{d}}, {{0}}, {{1}}, {{2}}", 32, [packed(I8, 4), packed(I8, 4), I32], oracle)


def product(op, half, t, sat=False):
    w = bits_of(t)
    out = 2 * w if half == "wide" else w

    def oracle(a, b, c=0):
        p = value(t, a) * value(t, b) >> (w if half == "hi" else 0)
        return saturate(t, p + value(t, c)) if sat else p + c
    kinds = [WIDTH[w]] * 2 + [WIDTH[out]] * (op == "mad")
    return Row(f"{op}.{half}{'.sat' * sat}.{t} {{d}}, {', '.join(f'{{{i}}}' for i in range(len(kinds)))}", out, kinds, oracle)


def product24(op, half, t, sat=False):
    def oracle(a, b, c=0):
        p = mul24(t, a, b) >> (16 if half == "hi" else 0)
        p = value(t, p)
        return saturate(t, p + value(t, c)) if sat else p + c
    n = 3 if op == "mad24" else 2
    return Row(f"{op}.{half}{'.sat' * sat}.{t} {{d}}, {', '.join(f'{{{i}}}' for i in range(n))}", 32, [I32] * n, oracle)


def carry(t, op):
    """Two words, the second with what the first left."""
    w, minus = bits_of(t), op == "sub"

    def oracle(a, b, c, d):
        x, y = (b << w | a, d << w | c)
        r = x - y if minus else x + y
        return r, r >> w
    text = f"{op}.cc.{t} {{d}}, {{0}}, {{2}}; {op}c.{t} {{e}}, {{1}}, {{3}}"
    return Row(text, (w, w), [WIDTH[w]] * 4, oracle)


def carry_mixed(t, first, second):
    """
    One flag serves both: the carry of a + b, and of a + ~b + 1 for differences. subc takes its absence for a borrow. So
    hardware does: add.cc 0, 0 and subc 0, 0 give -1 there, and addc after sub.cc of a smaller number 0.
    """
    w = bits_of(t)

    def oracle(a, b, c, d):
        flag = int(a >= b) if first == "sub" else a + b >> w
        return c + d + flag if second == "add" else c - d - (1 - flag)
    return Row(f"{{{{ .reg .b{w} x; {first}.cc.{t} x, {{0}}, {{1}}; {second}c.{t} {{d}}, {{2}}, {{3}}; }}}}", w, [WIDTH[w]] * 4, oracle)


def carry_16(op):
    """16 bits take the carry of 32."""
    minus = op == "sub"

    def oracle(a, b, c, d):
        first = a - b if minus else a + b
        flag = first >> 32 & 1
        return first, c - d - flag if minus else c + d + flag
    return Row(f"{op}.cc.u32 {{r0}}, {{0}}, {{1}}; {op}c.u16 {{r1}}, {{2}}, {{3}}", (32, 16), [I32, I32, I16, I16], oracle)


def carry_product_16(half):
    shift_by = 16 if half == "hi" else 0

    def oracle(a, b, c, d, e):
        return a + b, (c * d >> shift_by & 0xffff) + e + (a + b >> 32)
    return Row(f"add.cc.u32 {{r0}}, {{0}}, {{1}}; madc.{half}.u16 {{r1}}, {{2}}, {{3}}, {{4}}", (32, 16), [I32, I32, I16, I16, I16], oracle)


def vectors():
    swap = Row("mov.v2.b32 {{{r0}, {r1}}}, {{{1}, {0}}}", (32, 32), [I32, I32], lambda a, b: (b, a))
    parts = Row("{{ .reg .v4 .b32 v; .reg .v2 .b64 w; mov.v4.b32 v, {{{0}, {1}, {0}, 7}}; add.u32 v.y, v.y, v.w; mov.v2.b64 w, {{{2}, 1}}; "
                "mov.b32 {r0}, v.y; add.u64 {r1}, w.x, w.g; }}", (32, 64), [I32, I32, I64], lambda a, b, c: (b + 7, c + 1))
    whole = Row("{{ .reg .v2 .b32 v; mov.b64 v, {2}; xor.b32 v.x, v.x, {0}; mov.b64 {r0}, v; or.b32 {r1}, v.y+9, {1}; }}", (64, 32), [I32, I32, I64],
                lambda a, b, c: (c ^ a, (c >> 32) + 9 & 0xffffffff | b))
    return [swap, parts, whole]


def carry_product(t, half):
    w = bits_of(t)
    shift_by = w if half == "hi" else 0

    def oracle(a, b, c, d):
        r = (value(t, a) * value(t, b) >> shift_by & (1 << w) - 1) + c
        return r, d + (value(t, a) * value(t, b) >> w) + (r >> w)
    text = f"mad.{half}.cc.{t} {{d}}, {{0}}, {{1}}, {{2}}; madc.hi.{t} {{e}}, {{0}}, {{1}}, {{3}}"
    return Row(text, (w, w), [WIDTH[w]] * 4, oracle)


def compare(cmp, t):
    unsigned = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
    as_type = t if t[0] != "b" else "u" + t[1:]
    order = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
             "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}[unsigned.get(cmp, cmp)]
    return Row(f"setp.{cmp}.{t} {{d}}, {{0}}, {{1}}", 1, [WIDTH[bits_of(t)]] * 2,
               lambda a, b: int(order(value(as_type, a), value(as_type, b))))


def convert(to, source, sat):
    bits = {8: I8, 16: I16, 32: I32, 64: I64}
    w = bits_of(to)
    out = 16 if w == 8 else w  # a result of 8 bits is in a register of 16

    def oracle(a):
        x = value(source, a)
        x = saturate(to, x) if sat else value(to, x)
        return x
    kind = bits[bits_of(source)] if bits_of(source) > 8 else I16
    return Row(f"cvt{'.sat' * sat}.{to}.{source} {{d}}, {{0}}", out, [kind], oracle)


def merged(bits, kept):
    """Three operands' logic, or one of them: what becomes masked instructions, which compilers have got wrong."""
    ones, out, b = (1 << bits) - 1, [], f"b{bits}"
    for mask in (0x5aa5 * (ones // 0xffff), 1 << bits - 1):
        text = "; ".join((f".reg .{b} m, k", f"and.{b} m, {{0}}, {mask}", f"and.{b} k, {{1}}, {ones ^ mask}", f"or.{b} k, k, m",
                          f"selp.{b} {{d}}, k, {{{kept}}}, {{2}}"))
        out.append(Row(text, bits, [WIDTH[bits]] * 2 + [PRED],
                       lambda a, b, p, mask=mask: a & mask | b & (ones ^ mask) if p else (a, b)[kept]))
    return out


def limits(t):
    return saturate(t, -1 << 70), saturate(t, 1 << 70)


def packed_op(op, t, relu=False):
    f = {"add": lambda a, b: a + b, "min": min, "max": max}[op]

    def lane(a, b):
        r = f(value(t, a), value(t, b))
        return (max(r, 0) if relu else r) & 0xffff
    return Row(f"{op}{'.relu' * relu}.{t}x2 {{d}}, {{0}}, {{1}}", 32, [packed(I16, 2)] * 2,
               lambda a, b: lane(a >> 16, b >> 16) << 16 | lane(a & 0xffff, b & 0xffff))


def redux(op, t):
    f = {"add": sum, "min": min, "max": max}.get(op)

    def oracle(threads):
        xs = [value(t, x) if t[0] != "b" else x for x, _ in threads]
        if f:
            return f(xs)
        r = xs[0]
        for x in xs[1:]:
            r = JOIN[op](r, x)
        return r
    return WarpRow(f"redux.sync.{op}.{t} {{d}}, {{0}}, {{1}}", 32, [I32, Kind(32, [], lambda rng: 0xffffffff)], oracle)


def rows():
    out = []
    for t in TYPES:
        w = bits_of(t)
        out += [simple("add", t, 2, lambda a, b: a + b), simple("sub", t, 2, lambda a, b: a - b), simple("min", t, 2, min),
                simple("max", t, 2, max), simple("div", t, 2, quotient), simple("rem", t, 2, remainder),
                simple("sad", t, 3, lambda a, b, c: c + abs(a - b)), shift("shr", t)]
        out += [product(op, half, t) for op in ("mul", "mad") for half in ("lo", "hi") + ("wide",) * (w < 64)]
        out += [compare(c, t) for c in ("eq", "ne", "lt", "le", "gt", "ge") + ("lo", "ls", "hi", "hs") * (t[0] == "u")]
        if t[0] == "s":
            out += [simple("abs", t, 1, abs), simple("neg", t, 1, lambda a: -a)]
        if w > 16:
            out += [simple("bfind", t, 1, lambda a, t=t: bfind(t, a, False), 32),
                    simple("bfind.shiftamt", t, 1, lambda a, t=t: bfind(t, a, True), 32), bfe(t), carry(t, "add"), carry(t, "sub"),
                    carry_mixed(t, "add", "sub"), carry_mixed(t, "sub", "add"),
                    carry_product(t, "lo"), carry_product(t, "hi")]
    out += [carry_16("add"), carry_16("sub"), carry_product_16("lo"), carry_product_16("hi"), *vectors()]
    out += [row for bits in (32, 64) for kept in (0, 1) for row in merged(bits, kept)]
    out += [Row("sub.u32 {d}, {0}+5, {1}", 32, [I32, I32], lambda a, b: a + 5 - b)]
    for w in (16, 32, 64):
        t = f"b{w}"
        out += [simple(op, t, 2, f) for op, f in JOIN.items()] + [shift("shl", t), compare("eq", t), compare("ne", t)]
        out += [simple("not", t, 1, lambda a: ~a), simple("cnot", t, 1, lambda a: int(a == 0))]
        if w > 16:
            out += [simple("popc", t, 1, lambda a: bin(a).count("1"), 32), bfi(w),
                    simple("clz", t, 1, lambda a, w=w: w - a.bit_length(), 32),
                    simple("brev", t, 1, lambda a, w=w: int(f"{a:0{w}b}"[::-1], 2))]
    out += [simple("add.sat", "s32", 2, lambda a, b: saturate("s32", a + b)), simple("sub.sat", "s32", 2, lambda a, b: saturate("s32", a - b)),
            simple("min.relu", "s32", 2, lambda a, b: max(min(a, b), 0)), simple("max.relu", "s32", 2, lambda a, b: max(a, b, 0)),
            product("mad", "hi", "s32", True), fns()]
    out += [product24(op, half, t) for op in ("mul24", "mad24") for half in ("lo", "hi") for t in ("u32", "s32")]
    out += [product24("mad24", "hi", "s32", True)]
    out += [funnel(s, m) for s in "lr" for m in ("wrap", "clamp")] + [szext(m, t) for m in ("wrap", "clamp") for t in ("u32", "s32")]
    out += [bmsk(m) for m in ("wrap", "clamp")] + [prmt(m) for m in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16")]
    out += [lop3(lut) for lut in (0, 0x80, 0x96, 0xe8, 0x1b, 0xca, 0xff)] + [lop3_with(b, lut) for b in ("and", "or") for lut in (0x80, 0x1b)]
    out += [dot(4, "", a, b) for a in ("u32", "s32") for b in ("u32", "s32")]
    out += [dot(2, h, a, b) for h in ("lo", "hi") for a in ("u32", "s32") for b in ("u32", "s32")]
    out += [packed_op("add", t) for t in ("u16", "s16")]
    out += [packed_op(op, t) for op in ("min", "max") for t in ("u16", "s16")] + [packed_op(op, "s16", True) for op in ("min", "max")]
    out += [redux(op, t) for op in ("add", "min", "max") for t in ("u32", "s32")] + [redux(op, "b32") for op in JOIN]
    every = [f"{s}{w}" for w in (8, 16, 32, 64) for s in "us"]
    out += [convert(a, b, False) for a in every for b in every]
    return out + [convert(a, b, True) for a in every for b in every if any(saturate(a, x) != x for x in limits(b))]


REFUSED = [
    ("add.sat.u32 %r1, %r2, %r3", "does not take '.sat'"),
    ("mul.wide.u64 %l1, %l2, %l3", "needs .lo|hi"),
    ("lop3.xor.b32 %r1|%p1, %r2, %r3, %r4, 0x80, %p2", "does not take '.xor'"),
    ("lop3.b32 %r1|%p1, %r2, %r3, %r4, 0x80, %p2", "does not have a form of 6 operands"),
    ("bfe.u16 %h1, %h2, %r3, %r4", "needs .u32|u64|s32|s64"),
]
