"""Atomic operations, each thread on memory of its own: what they read and what they leave."""
import floats
from floats import BF16, F16, F32, F64
from kinds import I16, I32, I64, number, packed
from suite import Row

FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
WIDTH = {16: I16, 32: I32, 64: I64}
LOGIC = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "exch": lambda a, b: b}
WRAPPING = {"inc": lambda a, b: 0 if a >= b else a + 1, "dec": lambda a, b: b if not a or a > b else a - 1}


def signed(t, x):
    bits = int(t[1:])
    return x - (1 << bits) if t[0] == "s" and x >> bits - 1 else x


def operation(op, t):
    """(what the operands are, the function of two of them) of an element."""
    if t in FORMATS:
        fmt = FORMATS[t]
        if op == "add":
            return number(fmt), lambda a, b: floats.operate(fmt, "add", (a, b))
        return number(fmt), lambda a, b: floats.min_max(fmt, (a, b), op == "max")
    if t.endswith("x2"):
        kind, f = operation(op, t[:-2])
        return packed(kind, 2), lambda a, b: f(a >> 16, b >> 16) << 16 | f(a & 0xffff, b & 0xffff)
    bits = int(t[1:])
    if op in LOGIC:
        return WIDTH[bits], LOGIC[op]
    if op in WRAPPING:
        return WIDTH[bits], WRAPPING[op]
    if op == "add":
        return WIDTH[bits], lambda a, b: (a + b) & (1 << bits) - 1
    pick = min if op == "min" else max
    return WIDTH[bits], lambda a, b: pick((a, b), key=lambda x: signed(t, x))


def where(space):
    return "%own" if space == "shared" else "%mem"


def listed(names):
    return names[0] if len(names) == 1 else "{{" + ", ".join(names) + "}}"


def transfer(verb, space, at, bits, names):
    """Loads or stores of up to four elements each."""
    out = []
    for i in range(0, len(names), 4):
        part = names[i:i + 4]
        vector, address = f".v{len(part)}" * (len(part) > 1), f"[{at}+{i * bits // 8}]"
        operands = (address, listed(part)) if verb == "st" else (listed(part), address)
        out.append(f"{verb}.{space or 'global'}{vector}.b{bits} " + ", ".join(operands))
    return "; ".join(out)


def update(opcode, op, t, space, n=1, words="", sem=""):
    """atom: the old values, then the new ones; red: the new ones."""
    kind, f = operation(op, t)
    at, reads = where(space), opcode == "atom"
    memory, operand = ([f"{{{i}}}" for i in r] for r in (range(n), range(n, 2 * n)))
    results = [f"{{r{i}}}" for i in range(2 * n)]
    new = results[n:] if reads else results[:n]
    name = ".".join(w for w in (opcode, sem, space, op, words, f"v{n}" * (n > 1), t) if w)
    text = "; ".join((transfer("st", space, at, kind.bits, memory),
                      f"{name} {listed(results[:n]) + ', ' if reads else ''}[{at}], {listed(operand)}",
                      transfer("ld", space, at, kind.bits, new)))

    def oracle(*xs):
        old = xs[:n]
        return *(old if reads else ()), *(f(a, b) for a, b in zip(old, xs[n:]))
    return Row(text, (kind.bits,) * (n + n * reads), [kind] * (2 * n), oracle)


def atom(*args, **words):
    return update("atom", *args, **words)


def red(*args, **words):
    return update("red", *args, **words)


def cas(t, space, equal):
    """equal: the memory holds what is compared with."""
    bits = int(t[1:])
    kind, at = WIDTH[bits], where(space)
    text = "; ".join((transfer("st", space, at, bits, ["{1}" if equal else "{0}"]),
                      f"atom{f'.{space}' * bool(space)}.cas.{t} {{d}}, [{at}], {{1}}, {{2}}",
                      transfer("ld", space, at, bits, ["{e}"])))

    def oracle(a, b, c):
        old = b if equal else a
        return old, c if old == b else old
    return Row(text, (bits, bits), [kind] * 3, oracle)


def swap_128(space, equal):
    """exch, and cas whose comparison succeeds or not: in pieces of 64 bits."""
    at = where(space)
    prefix = f".{space}" * bool(space)
    def both(names, first):
        return listed([f"{{{names}{first}}}", f"{{{names}{first + 1}}}"])
    text = "; ".join((".reg .b128 m, x, y, z", f"mov.b128 m, {both('', 0)}", f"mov.b128 x, {both('', 2)}", f"mov.b128 y, {both('', 4)}",
                      f"st.{space or 'global'}.v2.b64 [{at}], {both('', 2 * equal)}",
                      f"atom{prefix}.cas.b128 z, [{at}], x, y", f"mov.b128 {both('r', 0)}, z",
                      f"atom{prefix}.exch.b128 z, [{at}], m", f"mov.b128 {both('r', 2)}, z",
                      f"ld.{space or 'global'}.v2.b64 {both('r', 4)}, [{at}]"))

    def oracle(a, b, c, d, e, f):
        old = (c, d) if equal else (a, b)
        return *old, *((e, f) if old == (c, d) else old), a, b
    return Row(text, (64,) * 6, [I64] * 6, oracle)


def picked(register, first):
    """A word of four by arr[register+n], which begins at `first`."""
    words = "; ".join(f"st.local.b32 arr[{i}], {{{i}}}" for i in range(4))
    text = (f".local .b32 arr[4]; .reg .s32 i; .reg {register} at; {words}; and.b32 i, {{4}}, 3; add.s32 i, i, {first}; "
            f"cvt{register}.s32 at, i; ld.local.b32 {{d}}, arr[at+{-first}]")
    return Row(text, 32, [I32] * 5, lambda *xs: xs[xs[4] & 3])


def by_thread():
    """Elements of 8 bytes, and an element's address."""
    text = (".shared .v2 .b32 pairs[64]; .reg .b32 at, t; mov.u32 t, %tid.x; st.shared.v2.b32 pairs[t], {{{0}, {1}}}; "
            "mov.u32 at, pairs[t+1]; ld.shared.v2.b32 {{{e}, {d}}}, [at+-8]")
    return Row(text, (32, 32), [I32] * 2, lambda a, b: (b, a))


def turned():
    """Vector registers to and from a function."""
    text = (".reg .v4 .b32 v, w; .reg .v2 .b64 p; .reg .b64 s; mov.v4.b32 v, {{{0}, {1}, {2}, {3}}}; mov.v2.b64 p, {{{4}, {5}}}; "
            "call (w, {r4}), turn, (v, p); mov.v4.b32 {{{r0}, {r1}, {r2}, {r3}}}, w")
    return Row(text, (32, 32, 32, 32, 64), [I32] * 4 + [I64] * 2,
               lambda a, b, c, d, x, y: (b, c, d, a, (x + y) & (1 << 64) - 1))


HALF_VECTORS = [("f16", 2), ("f16", 4), ("f16", 8), ("bf16", 2), ("bf16", 4), ("bf16", 8), ("f16x2", 2), ("f16x2", 4),
                ("bf16x2", 2), ("bf16x2", 4)]


def rows():
    out = []
    for space in ("global", "shared", ""):
        for f in (atom, red):
            out += [f(op, f"b{w}", space) for op in ("and", "or", "xor") for w in (32, 64)]
            out += [f(op, "u32", space) for op in ("inc", "dec")]
            out += [f(op, t, space) for op in ("min", "max") for t in ("u32", "s32", "u64", "s64")]
            out += [f("add", t, space) for t in ("u32", "s32", "u64", "f32", "f64")]
            out += [f("add", t, space, words="noftz") for t in ("f16", "bf16", "f16x2", "bf16x2")]
        out += [atom("exch", f"b{w}", space) for w in (32, 64)]
        out += [swap_128(space, equal) for equal in (False, True)]
        out += [cas(f"b{w}", space, equal) for w in (16, 32, 64) for equal in (False, True)]
    for space in ("global", ""):
        for f in (atom, red):
            out += [f("add", "f32", space, n) for n in (2, 4)]
            out += [f(op, t, space, n, "noftz") for op in ("add", "min", "max") for t, n in HALF_VECTORS]
    out += [picked(r, first) for r in (".s16", ".s32", ".s64") for first in (0, 2, -5)]
    out += [picked(r, first) for r in (".u16", ".u32", ".u64") for first in (0, 2)] + [by_thread(), turned()]
    return out + [atom("add", "f32", "global", 4, sem="acq_rel.gpu"), atom("max", "bf16", "global", 2, "noftz", "relaxed.sys")]


REFUSED = [
    ("{ .reg .v2 .b32 v; .reg .b64 s; call (v, s), turn, (v, v); }", "a vector register of 4 elements"),
    ("{ .local .b32 a[4]; ld.local.b32 %r1, a[%f1]; }", "integer register as index"),
    ("atom.global.add.v8.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f0}, [%l1], {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f0}", "does not take '.v8'"),
    ("atom.global.max.v2.f32 {%f1, %f2}, [%l1], {%f3, %f4}", "needs .add"),
    ("atom.global.add.v2.f16 {%h1, %h2}, [%l1], {%h3, %h4}", "needs .noftz"),
    ("atom.shared.add.v2.f32 {%f1, %f2}, [%r1], {%f3, %f4}", "does not take '.v2'"),
    ("atom.global.add.v2.u32 {%r1, %r2}, [%l1], {%r3, %r4}", "does not take '.v2'"),
    ("atom.global.add.v2.f32 %f1, [%l1], {%f3, %f4}", "vectors"),
    ("atom.global.add.b128 %q1, [%l1], %q2", "needs .u32|s32|u64|f32|f64"),
    ("red.global.add.v2.f32 [%l1], {%f3, %f4, %f5}", "vector of 2 elements"),
]
