"""What lanes of a warp tell each other; moves and selections."""
from kinds import COUNT32, I16, I32, I64, Kind, PRED
from suite import Row, WarpRow

ALL = Kind(32, [], lambda rng: 0xffffffff)
FEW = Kind(32, [], lambda rng: rng.randrange(4))
FEW64 = Kind(64, [], lambda rng: rng.randrange(3) << 32)
MOSTLY = {text: Kind(1, [], lambda rng, one=one: int(rng.random() < one)) for text, one in (("rarely", 0.01), ("often", 0.99))}


def shuffle(mode, clamp):
    """{d}: the value of the lane that is asked for, or the own one; {e}: was there such a lane? The segment mask is 0 or
    16: halves of a warp exchange among themselves."""
    def oracle(threads):
        out = []
        for lane, (_, b, segments) in enumerate(threads):
            b &= 31
            mask, limit = segments & 16, clamp
            top = lane & mask | limit & ~mask & 31
            bottom = lane & mask
            source = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": bottom | b & ~mask & 31}[mode]
            inside = source >= top if mode == "up" else source <= top
            out.append((threads[source if inside else lane][0], int(inside)))
        return out
    select = Kind(32, [], lambda rng: rng.choice((0, 16)))
    same = "mov.u32 r1w, {2}; shfl.sync.idx.b32 r1w, r1w, 0, 31, -1; shl.b32 r1w, r1w, 8; or.b32 r1w, r1w, " + str(clamp)
    return WarpRow(f".reg .b32 r1w; {same}; shfl.sync.{mode}.b32 {{d}}|{{e}}, {{0}}, {{1}}, r1w, -1", (32, 1),
                   [I32, COUNT32, select], lambda t: oracle([(a, b, t[0][2]) for a, b, _ in t]), each=True)


def vote(mode, kind):
    def oracle(threads):
        bits = [p for p, _ in threads]
        return {"all": int(all(bits)), "any": int(any(bits)), "uni": int(len(set(bits)) == 1),
                "ballot": sum(b << i for i, b in enumerate(bits))}[mode]
    result = "b32" if mode == "ballot" else "pred"
    return WarpRow(f"vote.sync.{mode}.{result} {{d}}, {{0}}, {{1}}", 32 if mode == "ballot" else 1, [kind, ALL], oracle)


def match(mode, bits):
    def oracle(threads):
        values = [v for v, _ in threads]
        lanes = [sum(int(v == w) << i for i, w in enumerate(values)) for v in values]
        if mode == "any":
            return lanes
        same = len(set(values)) == 1
        return [(0xffffffff * same, int(same))] * len(values)
    kind = {32: FEW, 64: FEW64}[bits]
    if mode == "all":
        kind = Kind(bits, [], lambda rng: int(rng.random() < 0.02))
    return WarpRow(f"match.{mode}.sync.b{bits} {{d}}{'|{e}' * (mode == 'all')}, {{0}}, {{1}}",
                   (32, 1) if mode == "all" else 32, [kind, ALL], oracle, each=True)


def elect():
    """The leader is the lowest lane."""
    return WarpRow("elect.sync {d}|{e}, {0}", (32, 1), [ALL], lambda t: [(0, int(i == 0)) for i in range(len(t))], each=True)


def move(bits, kind):
    return Row(f"mov.b{bits} {{d}}, {{0}}", bits, [kind], lambda a: a)


def rows():
    out = [shuffle(mode, 0 if mode == "up" else 31) for mode in ("up", "down", "bfly", "idx")]
    out += [vote(mode, kind) for mode in ("all", "any", "uni", "ballot") for kind in (PRED, *MOSTLY.values())]
    out += [match(mode, bits) for mode in ("any", "all") for bits in (32, 64)] + [elect()]
    out += [move(16, I16), move(32, I32), move(64, I64)]
    out += [Row("mov.b64 {d}, {{{0}, {1}}}", 64, [I32, I32], lambda a, b: b << 32 | a),
            Row("mov.b64 {{{d}, {e}}}, {0}", (32, 32), [I64], lambda a: (a, a >> 32)),
            Row("mov.b32 {{{d}, {e}}}, {0}", (16, 16), [I32], lambda a: (a, a >> 16)),
            Row("mov.b64 {d}, {{{0}, {1}, {2}, {3}}}", 64, [I16] * 4, lambda a, b, c, d: d << 48 | c << 32 | b << 16 | a),
            Row(".reg .b128 q; mov.b128 q, {{{0}, {1}}}; mov.b128 {{{d}, {e}}}, q", (64, 64), [I64, I64], lambda a, b: (a, b))]
    out += [Row(f"selp.b{b} {{d}}, {{0}}, {{1}}, {{2}}", b, [k, k, PRED], lambda a, b, p: a if p else b) for b, k in ((16, I16), (32, I32), (64, I64))]
    out += [Row(f"{op}.pred {{d}}, {{0}}, {{1}}", 1, [PRED, PRED], f)
            for op, f in (("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b))]
    out += [Row("not.pred {d}, {0}", 1, [PRED], lambda a: 1 - a),
            Row("slct.b64.s32 {d}, {0}, {1}, {2}", 64, [I64, I64, I32], lambda a, b, c: b if c >> 31 else a)]
    out += [Row("setp.eq.and.s32 {d}|{e}, {0}, {1}, !{2}", (1, 1), [FEW, FEW, PRED],
                lambda a, b, p: (int(a == b and not p), int(a != b and not p)))]
    return out


REFUSED = [
    ("match.any.sync.b32 %r1|%p1, %r2, -1", "second result"),
    ("vote.sync.ballot.pred %p1, %p2, -1", "needs .all|any|uni"),
    ("mov.b64 %l1, {%r1, %h2}", "together"),
]
