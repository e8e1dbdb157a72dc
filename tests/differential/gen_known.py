"""Statements of gen_ptx.py with operands of which compilers know bits: constants, and what is made of thread numbers.

Undefined limits of a compiler's own operations hide there (a rotation by 0 made of shifts by 0 and by the width),
since it computes such operations itself. And idioms of integers: rotations made of shifts, overflows, range checks by
one comparison, loops whose counter wraps; and rounds of barriers, across which the state lives.
"""
LIMITS = [0, 1, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 255, -1, 0x7fffffff, -0x80000000, 0x8000, 0x7fff, 0x9e3779b9]
LIMITS_64 = [0, 1, 31, 32, 63, 64, -1, 0x7fffffffffffffff, -0x8000000000000000, 0x100000000, 0xffffffff, 0x9e3779b97f4a7c15]
COUNTS_B32 = [0, 1, 8, 15, 16, 31, 32, 33, 63, 64, 255, -1]
THREAD = ["%me", "%me", "%tid.x", "%laneid"]
TEMPORARIES = "    .reg .b32 %t<5>, %round<2>;\n    .reg .b64 %u<4>;\n    .reg .b16 %s<4>;\n"


def of_thread(g, t):
    """Statements that make register t of a thread's number."""
    r = g.rnd
    k, s = r.choice(LIMITS), r.randrange(1, 7)
    return f"mov.u32 {t}, {r.choice(THREAD)};" + r.choice([
        "", "", f" and.b32 {t}, {t}, {k};", f" sub.u32 {t}, {k}, {t};", f" shl.b32 {t}, {t}, {s};", f" xor.b32 {t}, {t}, {k};",
        f" mul.lo.u32 {t}, {t}, {k};", f" mad.lo.u32 {t}, {t}, {r.choice(LIMITS)}, {k};", f" shr.u32 {t}, {t}, {s};",
        f" neg.s32 {t}, {t};"])


def operand(g, cls, i):
    """(statements, operand) number i, of an integer class."""
    r = g.rnd
    kind = r.random()
    if cls not in "rlh" or kind < 0.2:
        return "", g.source(cls)
    t = f"%t{i}"
    if kind < 0.55:
        if cls == "l":
            return f"mov.u64 %u{i}, {r.choice(LIMITS_64)}; ", f"%u{i}"
        return ((f"mov.u32 {t}, {r.choice(LIMITS)}; ", t) if cls == "r" else
                (f"mov.u16 %s{i}, {r.choice([0, 1, -1, 15, 16, 32767, -32768, 255])}; ", f"%s{i}"))
    text = of_thread(g, t) + " "
    if cls == "l":
        return text + f"cvt.{r.choice(['u64.u32', 's64.s32'])} %u{i}, {t}; ", f"%u{i}"
    return (text, t) if cls == "r" else (text + f"cvt.u16.u32 %s{i}, {t}; ", f"%s{i}")


def arithmetic(g, name, dst, srcs):
    """A row of the generator's tables on such operands; two that follow each other are the same now and then."""
    text, ops = "", []
    for i, cls in enumerate(srcs):
        if i and cls == srcs[i - 1] and cls in "rlh" and g.rnd.random() < 0.25:
            ops.append(ops[-1])
            continue
        before, op = operand(g, cls, i)
        text += before
        ops.append(op)
    g.emit(f"{text}{name} {', '.join([dst] + ops)};")


def rotation(g):
    """By the instruction, or by two shifts of a register."""
    r = g.rnd
    before, n = operand(g, "r", 0) if r.random() < 0.7 else ("", str(r.choice(COUNTS_B32)))
    if r.random() < 0.4:
        more, x = operand(g, "r", 1)
        y = x if r.random() < 0.6 else g.reg("r")
        g.emit(f"{before}{more}shf.{r.choice('lr')}.{r.choice(['wrap', 'clamp'])}.b32 {g.reg('r')}, {x}, {y}, {n};")
        return
    cls, width = r.choice([("r", 32), ("r", 32), ("l", 64), ("h", 16)])
    more, x = operand(g, cls, 1)
    mine, rest = r.choice([("", f"sub.u32 %t3, {width}, %t2;"),
                           ("", f"neg.s32 %t3, %t2; and.b32 %t3, %t3, {width - 1};"),
                           (f"and.b32 %t2, %t2, {width - 1};", f"sub.u32 %t3, {width}, %t2;"),
                           (f"and.b32 %t2, %t2, {width - 1};", f"neg.s32 %t3, %t2; and.b32 %t3, %t3, {width - 1};")])
    high, low = {"r": ("%x0", "%x1"), "l": ("%y0", "%y1"), "h": ("%s2", "%s3")}[cls]
    a, b = r.choice([("shl.b", "shr.u"), ("shr.u", "shl.b")])
    g.emit(f"{before}{more}mov.u32 %t2, {n}; {mine} {rest} {a}{width} {high}, {x}, %t2; {b}{width} {low}, {x}, %t3; "
           f"or.b{width} {g.reg(cls)}, {high}, {low};")


def idiom(g):
    """Integers that wrap, and how programs find out."""
    r = g.rnd
    d, p = g.reg("r"), g.reg("p")
    (s0, a), (s1, b) = operand(g, "r", 0), operand(g, "r", 1)
    k = r.choice(LIMITS)
    unsigned = r.choice(["lo", "ls", "hi", "hs"])
    g.emit(s0 + s1 + r.choice([
        f"sub.u32 %x0, {a}, {b}; setp.{unsigned}.u32 {p}, %x0, {k};",                                     # a range by one comparison
        f"sub.u32 %x0, {a}, {k}; setp.{unsigned}.u32 {p}, %x0, {b};",
        f"add.u32 %x0, {a}, {b}; setp.lo.u32 {p}, %x0, {a}; mov.b32 {d}, %x0;",                           # a carry
        f"setp.lo.u32 {p}, {a}, {b}; sub.u32 %x0, {a}, {b}; selp.b32 {d}, 0, %x0, {p};",                  # a difference that saturates
        f"add.s32 %x0, {a}, {b}; xor.b32 %x1, %x0, {a}; xor.b32 %t2, %x0, {b}; and.b32 %x1, %x1, %t2; "
        f"setp.lt.s32 {p}, %x1, 0;",                                                                      # a signed overflow
        f"mul.hi.u32 %x0, {a}, {b}; setp.ne.u32 {p}, %x0, 0; mul.lo.u32 {d}, {a}, {b};",
        f"mul.wide.s32 %y0, {a}, {b}; mul.lo.s32 %x0, {a}, {b}; cvt.s64.s32 %y1, %x0; setp.ne.s64 {p}, %y0, %y1;",
        f"shr.s32 %x0, {a}, 31; xor.b32 %x1, {a}, %x0; sub.s32 {d}, %x1, %x0;",                           # |a|
        f"and.b32 %x0, {a}, {b}; xor.b32 %x1, {a}, {b}; shr.u32 %x1, %x1, 1; add.u32 {d}, %x0, %x1;",     # an average
        f"neg.s32 %x0, {a}; and.b32 %x0, %x0, {a}; clz.b32 {d}, %x0;",                                    # the lowest bit
        f"sub.u32 %x0, {a}, 1; and.b32 %x0, %x0, {a}; setp.eq.u32 {p}, %x0, 0;",
        f"brev.b32 %x0, {a}; clz.b32 {d}, %x0;",
        f"mov.u32 %x0, 1; shl.b32 %x0, %x0, {b}; sub.u32 %x0, %x0, 1; and.b32 {d}, {a}, %x0;",            # the low bits
        f"mov.u32 %x0, -1; shr.u32 %x0, %x0, {b}; and.b32 {d}, {a}, %x0;",
        f"setp.eq.u32 %z, {b}, 0; selp.b32 %x1, 1, {b}, %z; rem.u32 %x0, {a}, %x1; selp.b32 {d}, {a}, %x0, %z;",
        f"or.b32 %x1, {b}, 1; rem.{r.choice('us')}32 %x0, {a}, %x1; mad.lo.u32 {d}, %x0, 4, {a};",
        f"add.u32 %x0, {a}, 15; and.b32 {d}, %x0, -16;",                                                  # up to a multiple
        f"min.u32 %x0, {a}, {k}; max.s32 %x0, %x0, {b}; sub.u32 {d}, %x0, {a};",
        f"setp.lt.s32 {p}, {a}, 0; setp.{unsigned}.or.u32 {p}, {a}, {b}, {p};",
        f"cvt.s64.s32 %y0, {a}; add.s64 %y0, %y0, {r.choice(LIMITS_64)}; cvt.u32.u64 {d}, %y0;",
        f"cvt.rn.f32.{r.choice('us')}32 %x0, {a}; cvt.rzi.{r.choice('us')}32.f32 {d}, %x0;",
    ]))


def wrapping_loop(g):
    """As loop(), but the counter goes up to a limit, below which it may have wrapped."""
    r = g.rnd
    head, end, n = g.label(), g.label(), g.depth
    limit, test = r.choice([(0, "eq.u32"), (3, "eq.u32"), (3, "ge.s32"), (0x80000000, "hs.u32"), (0xffffffff, "eq.s32"), (5, "eq.u32")])
    g.emit(f"and.b32 %c{n}, {g.reg('r')}, 7; sub.u32 %c{n}, {limit}, %c{n};")
    g.lines.append(f"{head}:")
    g.emit(f"setp.{test} %q{n}, %c{n}, {limit};")
    g.emit(f"@%q{n} bra {end};")
    g.emit(f"add.u32 %c{n}, %c{n}, 1;")
    g.loops += 1
    g.statements(False)
    g.loops -= 1
    g.emit(f"bra {head};")
    g.lines.append(f"{end}:")


def rounds(g):
    """A loop of all threads around barriers; convergent code only."""
    r, n = g.rnd, g.round
    head = g.label()
    g.emit(r.choice([f"mov.u32 %round{n}, {r.randrange(1, 4)};",
                     f"mov.u32 %round{n}, %ctaid.x; add.u32 %round{n}, %round{n}, {r.randrange(1, 3)};"]))
    g.lines.append(f"{head}:")
    g.round += 1
    for _ in range(r.randrange(1, 4)):
        g.statement(True)
    g.exchange()
    if r.random() < 0.5:
        g.statement(True)
    g.round -= 1
    g.emit(f"sub.u32 %round{n}, %round{n}, 1;")
    g.emit(f"setp.ne.u32 %q3, %round{n}, 0;")
    g.emit(f"@%q3 bra {head};")
