#!/usr/bin/env python3
"""Random valid PTX kernels, reproducible from a seed: gen_ptx.py SEED prints one.

The kernel `fuzz_SEED(out, in)` keeps a small state of registers of every class. It is loaded from `in`,
changed by random instructions from all rows that have a defined result, under nested divergent
branches and loops, with shared, local and global memory, atomics whose order does not matter,
warp collectives and device function calls, and stored to `out` at the end, one row per register. So
two correct devices give the same bytes. The seed also draws the block, one of BLOCKS_OF_CLASS.
The frame around the statements is gen_frame.py's. Instructions stand one per line and every register is
initialised: any line that is not control flow can be deleted and leaves a valid program, which is
how test_differential.py makes failures small.
"""
import random
import sys

import gen_frame
import gen_known
import gen_units
from gen_frame import ATOM_WORDS, CLASS_TYPE, COUNTS, HEAD, IN_WORDS, THREADS, block_of

INT = {"r": ["u32", "s32"], "l": ["u64", "s64"], "h": ["u16", "s16"]}
ROUND = ["rn", "rz", "rm", "rp"]


def int_rows():
    rows = []
    for c, types in INT.items():
        b = {"r": "b32", "l": "b64", "h": "b16"}[c]
        for t in types:
            rows += [(f"{op}.{t}", c, c + c) for op in
                     ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max")]
            rows += [(f"mad.lo.{t}", c, c * 3), (f"sad.{t}", c, c * 3), (f"shr.{t}", c, c + "r")]
        s = types[1]
        rows += [(f"abs.{s}", c, c), (f"neg.{s}", c, c)]
        rows += [(f"{op}.{b}", c, c + c) for op in ("and", "or", "xor")]
        rows += [(f"not.{b}", c, c), (f"cnot.{b}", c, c), (f"shl.{b}", c, c + "r"),
                 (f"shr.{b}", c, c + "r"), (f"selp.{b}", c, c + c + "p")]
    for c in "rl":
        b = {"r": "b32", "l": "b64"}[c]
        rows += [(f"popc.{b}", "r", c), (f"clz.{b}", "r", c), (f"brev.{b}", c, c),
                 (f"bfi.{b}", c, c + c + "rr")]
        for t in INT[c]:
            rows += [(f"bfe.{t}", c, c + "rr"), (f"bfind.{t}", "r", c),
                     (f"bfind.shiftamt.{t}", "r", c), (f"mad.hi.{t}", c, c * 3)]
    for t in INT["r"]:
        rows += [(f"mul.wide.{t}", "l", "rr"), (f"mad.wide.{t}", "l", "rrl"),
                 (f"mul24.lo.{t}", "r", "rr"), (f"mul24.hi.{t}", "r", "rr"),
                 (f"mad24.lo.{t}", "r", "rrr"), (f"mad24.hi.{t}", "r", "rrr"), (f"slct.{t}.s32", "r", "rrr"), (f"szext.clamp.{t}", "r", "rr"),
                 (f"szext.wrap.{t}", "r", "rr")]
        for t2 in INT["r"]:
            rows += [(f"dp4a.{t}.{t2}", "r", "rrr"), (f"dp2a.lo.{t}.{t2}", "r", "rrr"),
                     (f"dp2a.hi.{t}.{t2}", "r", "rrr")]
    for t in INT["h"]:
        rows += [(f"mul.wide.{t}", "r", "hh"), (f"mad.wide.{t}", "r", "hhr")]
    rows += [("add.sat.s32", "r", "rr"), ("sub.sat.s32", "r", "rr"), ("mad.hi.sat.s32", "r", "rrr"),
             ("bmsk.clamp.b32", "r", "rr"), ("bmsk.wrap.b32", "r", "rr"),
             ("lop3.b32", "r", "rrrI"), ("min.s16x2", "r", "rr"), ("max.u16x2", "r", "rr"),
             ("add.u16x2", "r", "rr")]
    rows += [(f"shf.{d}.{m}.b32", "r", "rrr") for d in "lr" for m in ("wrap", "clamp")]
    rows += [(f"prmt.b32{m}", "r", "rrr") for m in
             ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16")]
    return rows


def float_rows():
    rows = []
    for ftz in ("", ".ftz"):
        for rnd in ROUND:
            rows += [(f"{op}.{rnd}{ftz}.f32", "f", "ff") for op in ("add", "sub", "mul", "div")]
            rows += [(f"fma.{rnd}{ftz}.f32", "f", "fff"), (f"rcp.{rnd}{ftz}.f32", "f", "f"),
                     (f"sqrt.{rnd}{ftz}.f32", "f", "f")]
        rows += [(f"{op}{ftz}.sat.f32", "f", "ff") for op in ("add", "sub", "mul")]
        rows += [(f"{op}.approx{ftz}.f32", "f", "f") for op in
                 ("rcp", "rsqrt", "sqrt", "ex2", "lg2", "sin", "cos")]
        rows += [(f"div.approx{ftz}.f32", "f", "ff"), (f"div.full{ftz}.f32", "f", "ff")]
        for op in ("min", "max"):
            rows += [(f"{op}{ftz}{nan}{xor}.f32", "f", "ff") for nan in ("", ".NaN")
                     for xor in ("", ".xorsign.abs")]
        rows += [(f"abs{ftz}.f32", "f", "f"), (f"neg{ftz}.f32", "f", "f")]
    rows += [("tanh.approx.f32", "f", "f"), ("copysign.f32", "f", "ff"),
             ("selp.f32", "f", "ffp")]
    for rnd in ROUND:
        rows += [(f"{op}.{rnd}.f64", "d", "dd") for op in ("add", "sub", "mul", "div")]
        rows += [(f"fma.{rnd}.f64", "d", "ddd"), (f"rcp.{rnd}.f64", "d", "d"),
                 (f"sqrt.{rnd}.f64", "d", "d")]
    rows += [("min.f64", "d", "dd"), ("max.f64", "d", "dd"), ("abs.f64", "d", "d"),
             ("neg.f64", "d", "d"), ("copysign.f64", "d", "dd"), ("rcp.approx.ftz.f64", "d", "d"),
             ("rsqrt.approx.ftz.f64", "d", "d"), ("selp.f64", "d", "ddp")]
    for t, c in (("f16", "h"), ("f16x2", "r"), ("bf16", "h"), ("bf16x2", "r")):
        rows += [(f"fma.rn.{t}", c, c * 3), (f"fma.rn.relu.{t}", c, c * 3)]
        rows += [(f"{op}.rn.{t}", c, c + c) for op in ("add", "sub", "mul")]
        rows += [(f"{op}{nan}.{t}", c, c + c) for op in ("min", "max") for nan in ("", ".NaN")]
        rows += [(f"neg.{t}", c, c), (f"abs.{t}", c, c), (f"tanh.approx.{t}", c, c)]
        ex2 = "ex2.approx" if t[0] == "f" else "ex2.approx.ftz"
        rows += [(f"{ex2}.{t}", c, c)]
    rows += [(f"{op}.ftz.f16", "h", "hh") for op in ("add", "mul")]
    rows += [(f"{op}.sat.f16x2", "r", "rr") for op in ("add", "mul")]
    return rows


# By its lowest and highest value.
RANGE = {"u8": (0, 255), "s8": (-128, 127), "u16": (0, 65535), "s16": (-2**15, 2**15 - 1), "u32": (0, 2**32 - 1),
         "s32": (-2**31, 2**31 - 1), "u64": (0, 2**64 - 1), "s64": (-2**63, 2**63 - 1)}


def saturates(to, source):
    """Does cvt.sat.TO.SOURCE exist, that is, has the source values that the result lacks?"""
    return RANGE[source][0] < RANGE[to][0] or RANGE[source][1] > RANGE[to][1]


def cvt_rows():
    rows = []
    ints = [("r", "u32"), ("r", "s32"), ("l", "u64"), ("l", "s64"), ("h", "u16"), ("h", "s16")]
    small = [("r", "u8"), ("r", "s8")]
    floats = [("f", "f32"), ("d", "f64"), ("h", "f16")]
    for dc, dt in ints + small:
        for sc, st in ints + small:
            rows += [(f"cvt.{dt}.{st}", dc, sc)] + [(f"cvt.sat.{dt}.{st}", dc, sc)] * saturates(dt, st)
    for ic, it in ints:
        for fc, ft in floats:
            rows += [(f"cvt.{r}.{ft}.{it}", fc, ic) for r in ROUND]
            rows += [(f"cvt.{r}i.{it}.{ft}", ic, fc) for r in ROUND]
    rows += [(f"cvt.{r}.f32.f64", "f", "d") for r in ROUND]
    rows += [("cvt.f64.f32", "d", "f"), ("cvt.f32.f16", "f", "h"), ("cvt.f64.f16", "d", "h"),
             ("cvt.rn.f16.f32", "h", "f"), ("cvt.rz.f16.f32", "h", "f"), ("cvt.rn.f16.f64", "h", "d"),
             ("cvt.rn.bf16.f32", "h", "f"), ("cvt.rz.bf16.f32", "h", "f"), ("cvt.f32.bf16", "f", "h"),
             ("cvt.rn.f16x2.f32", "r", "ff"), ("cvt.rn.relu.bf16x2.f32", "r", "ff"),
             ("cvt.rz.bf16x2.f32", "r", "ff"),
             ("cvt.sat.f32.f32", "f", "f"), ("cvt.ftz.f32.f32", "f", "f")]
    rows += [(f"cvt.{r}i.f32.f32", "f", "f") for r in ROUND]
    rows += [(f"cvt.{r}i.ftz.f32.f32", "f", "f") for r in ROUND]
    rows += [(f"cvt.{r}i.f64.f64", "d", "d") for r in ROUND]
    rows += [(f"cvt.{r}i.f16.f16", "h", "h") for r in ROUND]
    return rows


def setp_rows():
    rows = []
    for c, types in INT.items():
        rows += [(f"setp.{op}.{t}", "p", c + c) for t in types
                 for op in ("eq", "ne", "lt", "le", "gt", "ge")]
    rows += [(f"setp.{op}{ftz}.{t}", "p", c + c)
             for c, t, ftz in (("f", "f32", ""), ("f", "f32", ".ftz"), ("d", "f64", ""),
                               ("h", "f16", ""), ("h", "bf16", ""))
             for op in ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu",
                        "geu", "num", "nan")]
    rows += [(f"testp.{k}.{t}", "p", c) for k in
             ("finite", "infinite", "number", "notanumber", "normal", "subnormal")
             for c, t in (("f", "f32"), ("d", "f64"))]
    rows += [(f"{op}.pred", "p", "pp") for op in ("and", "or", "xor")] + [("not.pred", "p", "p")]
    rows += [("set.lt.u32.s32", "r", "rr"), ("set.hi.s32.u32", "r", "rr"), ("set.eq.and.u32.u64", "r", "llp"),
             ("set.gtu.f32.f32", "f", "ff"), ("set.le.or.s32.f64", "r", "ddp"), ("set.num.f32.f32", "f", "ff")]
    return rows


def move_rows():
    return [("mov.b32", "r", "f"), ("mov.b32", "f", "r"), ("mov.b64", "l", "d"),
            ("mov.b64", "d", "l"), ("mov.b32", "f", "C"), ("mov.b64", "d", "D"), ("mov.b32", "r", "K"),
            ("mov.b32", "r", "S")]


FAMILIES = [int_rows(), float_rows(), cvt_rows(), setp_rows(), move_rows(), gen_units.video_rows(), gen_units.small_rows()]
WEIGHTS = [10, 10, 5, 3, 2, 2, 2]
F32_CONSTS = ["3f800000", "80000000", "7f800000", "7fc00000", "00000001", "807fffff", "40490fdb",
              "4b000001", "7f7fffff", "ff800000", "42fc0000", "3f7fffff"]
F64_CONSTS = ["3FF0000000000000", "8000000000000000", "7FF0000000000000", "0000000000000001",
              "400921FB54442D18", "41DFFFFFFFC00000", "7FEFFFFFFFFFFFFF"]
INT_CONSTS = [0, 1, -1, 31, 32, 33, 255, 0x7fffffff, -0x80000000, 0x8000, 16, 0x3c00]
SREGS = ["%laneid", "%tid.x", "%ctaid.x", "%ntid.x", "%nctaid.x", "%warpid", "%lanemask_lt"]


class Generator:
    def __init__(self, seed, size=60, skip=()):
        self.rnd = random.Random(seed)
        self.lines = []
        self.depth = 0
        self.loops = 0
        self.labels = 0
        self.left = size
        self.skip = skip
        self.ended = False  # some lanes may have
        self.round = 0      # loops around barriers that this is in
        self.block = block_of(seed)
        self.threads = self.block[0] * self.block[1] * self.block[2]

    def reg(self, cls):
        return f"%{cls}{self.rnd.randrange(COUNTS[cls])}"

    def emit(self, text):
        self.lines.append("    " * (self.depth + 1) + text)

    def label(self):
        self.labels += 1
        return f"$L{self.labels}"

    def source(self, cls):
        r = self.rnd
        if cls == "I":
            return str(r.randrange(256))
        if cls == "C":
            return "0f" + r.choice(F32_CONSTS)
        if cls == "D":
            return "0d" + r.choice(F64_CONSTS)
        if cls == "K":
            return str(r.choice(INT_CONSTS))
        if cls == "S":
            return r.choice(SREGS)
        return self.reg(cls)

    def arithmetic(self):
        kind = self.rnd.random()
        if kind < 0.1:
            (gen_known.rotation if kind < 0.04 else gen_known.idiom)(self)
            return
        family = self.rnd.choices(FAMILIES, WEIGHTS)[0]
        while True:
            name, dst, srcs = self.rnd.choice(family)
            if name not in self.skip:
                break
        if kind < 0.35 and any(c in "rlh" for c in srcs) and dst != "d":
            gen_known.arithmetic(self, name, self.reg(dst), srcs)
            return
        ops = [self.reg(dst)] + [self.source(c) for c in srcs]
        self.emit(f"{name} {', '.join(ops)};")
        if dst == "d" and name.split(".")[0] not in ("mov", "selp", "neg", "abs", "copysign"):
            # PTX does not say which NaN f64 arithmetic gives
            self.lines[-1] += (f" testp.notanumber.f64 %z, {ops[0]}; "
                               f"selp.f64 {ops[0]}, 0d7FF8000000000000, {ops[0]}, %z;")

    def carry_chain(self):
        a = [self.reg("r") for _ in range(8)]
        op, opc = self.rnd.choice([("add.cc.u32", "addc"), ("sub.cc.u32", "subc")])
        # one line: the parts must stay together
        self.emit(f"{op} %x0, {a[0]}, {a[1]}; {opc}.cc.u32 {a[2]}, {a[3]}, {a[4]}; "
                  f"{opc}.u32 {a[5]}, {a[6]}, {a[7]}; mov.b32 {a[0]}, %x0;")

    def wide_product(self):
        a = [self.reg("r") for _ in range(6)]
        self.emit(f"mad.lo.cc.u32 %x0, {a[0]}, {a[1]}, {a[2]}; madc.hi.cc.u32 %x1, {a[0]}, {a[1]}, {a[3]}; "
                  f"addc.u32 {a[4]}, {a[5]}, 0; mov.b32 {a[2]}, %x0; mov.b32 {a[3]}, %x1;")

    def pack(self):
        r, other = self.reg, self.rnd.sample(range(COUNTS["r"]), 2)
        half = self.rnd.sample(range(COUNTS["h"]), 2)
        self.emit(self.rnd.choice([
            f"mov.b64 {r('l')}, {{{r('r')}, {r('r')}}};", f"mov.b64 {{%r{other[0]}, %r{other[1]}}}, {r('l')};",
            f"mov.b32 {r('r')}, {{{r('h')}, {r('h')}}};", f"mov.b32 {{%h{half[0]}, %h{half[1]}}}, {r('r')};",
            f"mov.b64 {r('d')}, {{{r('r')}, {r('f')}}};"]))

    def one_word(self):
        """Atomics whose old value is known: nobody else has this word."""
        op = self.rnd.choice(["add.u32", "exch.b32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32", "inc.u32", "dec.u32",
                              "cas.b32", "add.f32", "add.u64", "max.s64", "exch.b64", "cas.b64"])
        c = "l" if op.endswith("64") else "f" if op.endswith("f32") else "r"
        third = f", {self.reg(c)}" if op[:3] == "cas" else ""
        self.emit(f"atom{self.rnd.choice(['', '.relaxed.cta', '.acq_rel.gpu'])}.shared.{op} {self.reg(c)}, [%slot], "
                  f"{self.reg(c)}{third};")

    def places(self):
        """Constants by index, and addresses that change their space."""
        r = self.reg
        self.emit(self.rnd.choice([
            f"and.b32 %x0, {r('r')}, 60; cvt.u64.u32 %y0, %x0; mov.u64 %y1, numbers; add.u64 %y0, %y0, %y1; "
            f"ld.const.u32 {r('r')}, [%y0];",
            f"ld.const.v2.u32 {{%r0, %r1}}, [numbers+{8 * self.rnd.randrange(8)}];",
            f"cvt.u64.u32 %y0, %slot; cvta.shared.u64 %y0, %y0; st.b32 [%y0], {r('r')}; ld.b32 {r('f')}, [%y0];",
            f"cvt.u64.u32 %y0, %slot; cvta.shared.u64 %y0, %y0; isspacep.shared {r('p')}, %y0; isspacep.local {r('p')}, %in;",
            f"fence.acq_rel.cta; membar.gl; ldu.global.u32 {r('r')}, [%in+{4 * self.rnd.randrange(99)}];",
            f"and.b32 %x0, {r('r')}, 31; fns.b32 {r('r')}, {r('r')}, %x0, {self.rnd.randrange(-3, 4)};"]))

    def tangle(self):
        """A loop that is entered at two places: no sweep in layout order covers it."""
        n, first, second = self.depth, self.label(), self.label()
        self.emit(f"and.b32 %c{n}, {self.reg('r')}, 3;")
        self.emit(f"@{self.reg('p')} bra {second};")
        self.lines.append(f"{first}:")
        self.statements(False)
        self.lines.append(f"{second}:")
        self.statements(False)
        self.emit(f"setp.eq.u32 %q{n}, %c{n}, 0; sub.u32 %c{n}, %c{n}, 1;")
        self.emit(f"@!%q{n} bra {first};")

    def critical(self):
        """A lock that every lane takes in turn: a sum without atomics."""
        again, slot = self.label(), 4 * (ATOM_WORDS // 2 - 1)  # no atomic() goes there, which would not wait for the lock
        self.emit(f"{again}: atom.shared.cas.b32 %x0, [lock], 0, 1; setp.ne.u32 %z, %x0, 0; @%z bra {again}; membar.cta; "
                  f"ld.volatile.shared.u32 %x0, [atoms+{slot}]; add.u32 %x0, %x0, {self.reg('r')}; "
                  f"st.volatile.shared.u32 [atoms+{slot}], %x0; membar.cta; atom.shared.exch.b32 %x0, [lock], 0;")

    def rare(self):
        self.rnd.choice([self.wide_product, self.pack, self.pack, self.one_word, self.one_word, self.places, self.places,
                         self.unit, self.unit, self.unit,
                         self.critical if self.depth < 2 and not self.loops else self.pack])()

    def unit(self):
        self.rnd.choice(gen_units.PLACES)(self)

    def guarded(self):
        self.arithmetic()
        before, _, last = self.lines.pop().strip()[:-1].rpartition("; ")
        self.emit(f"{before}{';' * bool(before)} @{self.rnd.choice(['', '!'])}{self.reg('p')} {last};")

    def local_memory(self):
        c = self.rnd.choice("rlfdh")
        size = {"r": 4, "l": 8, "f": 4, "d": 8, "h": 2}[c]
        base = f"and.b32 %x0, {self.reg('r')}, {64 - size}; mov.u32 %x1, loc; add.u32 %x0, %x0, %x1;"
        if self.rnd.random() < 0.5:
            self.emit(f"{base} st.local{CLASS_TYPE[c]} [%x0], {self.reg(c)};")
        else:
            self.emit(f"{base} ld.local{CLASS_TYPE[c]} {self.reg(c)}, [%x0];")

    def global_load(self):
        kind = self.rnd.choice(["u8", "s8", "u16", "s16", "u32", "f32", "b64", "f64", "v2.u32",
                                "v4.f32"])
        size = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "u32": 4, "f32": 4, "b64": 8, "f64": 8,
                "v2.u32": 8, "v4.f32": 16}[kind]
        cls = {"b64": "l", "f64": "d", "f32": "f", "v4.f32": "f"}.get(kind, "r")
        nc = self.rnd.choice([".global", ".global.nc", ""])
        mask = IN_WORDS * 4 - size
        dst = self.reg(cls)
        if kind[0] == "v":
            n = int(kind[1])
            dst = "{" + ", ".join(f"%{cls}{i}" for i in self.rnd.sample(range(COUNTS[cls]), n)) + "}"
        self.emit(f"and.b32 %x0, {self.reg('r')}, {mask}; cvt.u64.u32 %y0, %x0; "
                  f"add.u64 %y0, %y0, %in; ld{nc}.{kind} {dst}, [%y0];")

    def hint(self):
        """Nothing of this may be seen, whatever the address."""
        self.emit(f"and.b32 %x0, {self.reg('r')}, {IN_WORDS * 4 - 4}; cvt.u64.u32 %y0, %x0; add.u64 %y0, %y0, %in;")
        self.emit(self.rnd.choice([
            f"prefetch.global.L2 [{self.reg('l')}];",
            f"@{self.reg('p')} prefetch.L1 [{self.reg('l')}];",
            f"prefetch.global.L2::evict_last [{self.reg('l')}+8];",
            "prefetch.local.L1 [loc];",
            f"createpolicy.fractional.L2::evict_last.b64 %y1, {self.reg('f')}; "
            f"ld.global.L1::evict_first.L2::cache_hint.b32 {self.reg('r')}, [%y0], %y1;",
            f"createpolicy.range.L2::evict_last.L2::evict_first.b64 %y1, [{self.reg('l')}], {self.reg('r')}, 64; "
            f"st.local.b32 [loc], {self.reg('r')}; ld.global.L1::no_allocate.L2::128B.b32 {self.reg('r')}, [%y0];",
            f"createpolicy.cvt.L2.b64 %y1, {self.reg('l')}; "
            f"red.global.add.L2::cache_hint.u32 [%atoms], {self.reg('r')}, %y1;",
            "pmevent 3;",
        ]))

    def atomic(self):
        op = self.rnd.choice(["add.u32", "xor.b32", "add.u32"])
        slot = self.rnd.randrange(ATOM_WORDS // 2 - 1) + (0 if op[0] == "a" else ATOM_WORDS // 2)
        if self.rnd.random() < 0.5:
            self.emit(f"red.shared.{op} [atoms+{4 * slot}], {self.reg('r')};")
        else:
            self.emit(f"red.global.{op} [%atoms+{4 * slot}], {self.reg('r')};")

    def call(self):
        a, b, d = self.reg("r"), self.reg("f"), self.reg("r")
        self.emit(f"{{ .param .b32 pa; .param .b32 pb; .param .b32 pr; st.param.b32 [pa], {a}; "
                  f"st.param.f32 [pb], {b}; call.uni (pr), helper, (pa, pb); ld.param.b32 {d}, [pr]; }}")

    def branch(self):
        other, end = self.label(), self.label()
        self.emit(f"@{self.rnd.choice(['', '!'])}{self.reg('p')} bra {other};")
        self.statements(False)
        self.emit(f"bra {end};")
        self.lines.append(f"{other}:")
        if self.rnd.random() < 0.6:
            self.statements(False)
        self.lines.append(f"{end}:")

    def loop(self):
        if self.rnd.random() < 0.2:
            gen_known.wrapping_loop(self)
            return
        head, end, n = self.label(), self.label(), self.depth
        self.emit(f"and.b32 %c{n}, {self.reg('r')}, 7;")
        self.lines.append(f"{head}:")
        self.emit(f"setp.eq.u32 %q{n}, %c{n}, 0;")
        self.emit(f"@%q{n} bra {end};")
        self.emit(f"sub.u32 %c{n}, %c{n}, 1;")
        self.loops += 1
        self.statements(False)
        self.loops -= 1
        if self.rnd.random() < 0.3:
            self.emit(f"@{self.reg('p')} bra {end};")
        self.emit(f"bra {head};")
        self.lines.append(f"{end}:")

    def walk(self):
        """A divergent loop around loads from anywhere: the JIT may run it lane by lane."""
        head, end, n, r = self.label(), self.label(), self.depth, self.rnd
        self.emit(f"and.b32 %c{n}, {self.reg('r')}, {r.choice([3, 15])};")
        self.lines.append(f"{head}:")
        self.emit(f"setp.eq.u32 %q{n}, %c{n}, 0;")
        self.emit(f"@%q{n} bra {end};")
        self.emit(f"sub.u32 %c{n}, %c{n}, 1;")
        for _ in range(r.randrange(1, 5)):
            c = r.choice("rrf")
            self.emit(f"and.b32 %x0, {self.reg('r')}, {IN_WORDS * 4 - 4}; cvt.u64.u32 %y0, %x0; "
                      f"add.u64 %y0, %y0, %in; ld.global{CLASS_TYPE[c]} {self.reg(c)}, [%y0];")
            other = self.label()
            if r.random() < 0.3:
                self.emit(f"@{self.reg('p')} bra {other};")
            for _ in range(r.randrange(3)):
                self.emit(r.choice([
                    f"add.u32 {self.reg('r')}, {self.reg('r')}, {self.reg('r')};",
                    f"xor.b32 {self.reg('r')}, {self.reg('r')}, {self.reg('r')};",
                    f"setp.lt.u32 {self.reg('p')}, {self.reg('r')}, {self.reg('r')};",
                    f"fma.rn.f32 {self.reg('f')}, {self.reg('f')}, {self.reg('f')}, {self.reg('f')};"]))
            self.lines.append(f"{other}:")
        if r.random() < 0.3:
            self.emit(f"@{self.reg('p')} bra {end};")
        self.emit(f"bra {head};")
        self.lines.append(f"{end}:")

    def switch(self):
        n = self.rnd.randrange(2, 5)
        targets, end = [self.label() for _ in range(n)], self.label()
        table = self.label()
        self.emit(f"rem.u32 %x0, {self.reg('r')}, {n};")
        self.lines.append(f"{table}: .branchtargets {', '.join(targets)};")
        self.emit(f"brx.idx %x0, {table};")
        for t in targets:
            self.lines.append(f"{t}:")
            self.statements(False)
            self.emit(f"bra {end};")
        self.lines.append(f"{end}:")

    def exchange(self):
        """Through shared memory with barriers; convergent code only."""
        c = self.rnd.choice("rlfd")
        size = 8 if c in "ld" else 4
        meet = self.rnd.choice(["bar.sync 0;", "bar.sync 0;", "barrier.sync 2;", "barrier.cta.sync 3;", "bar.cta.sync 1;"])
        self.emit(f"st.shared{CLASS_TYPE[c]} [%slot], {self.reg(c)}; {meet} "
                  f"add.u32 %x0, %me, {self.rnd.randrange(1, self.threads)}; rem.u32 %x0, %x0, {self.threads}; "
                  f"shl.b32 %x0, %x0, 3; mov.u32 %x1, slots; add.u32 %x0, %x0, %x1; "
                  f"ld.shared{CLASS_TYPE[c]} {self.reg(c)}, [%x0]; bar.sync 0;")
        assert size <= 8

    def collective(self):
        r, m = self.rnd, "%members" if self.threads % 32 else "0xffffffff"
        full = not (self.threads % 32 or self.ended)
        if full and r.random() < 0.4:
            gen_units.matrix(self, COUNTS)
            return
        kind = r.randrange(0 if full else 1, 7)  # shfl would read lanes that do not exist
        if kind == 0:
            mode = r.choice(["up", "down", "bfly", "idx"])
            width = r.choice([32, 16, 8])
            c = (32 - width) << 8 | (0 if mode == "up" else 31)
            lane = r.choice([str(r.randrange(32)), self.reg("r")])
            self.emit(f"shfl.sync.{mode}.b32 {self.reg('r')}|{self.reg('p')}, {self.reg('r')}, "
                      f"{lane}, {c}, {m};")
        elif kind == 1:
            self.emit(f"vote.sync.ballot.b32 {self.reg('r')}, {self.reg('p')}, {m};")
        elif kind == 2:
            self.emit(f"vote.sync.{r.choice(['all', 'any', 'uni'])}.pred {self.reg('p')}, "
                      f"{self.reg('p')}, {m};")
        elif kind == 3:
            self.emit(f"and.b32 %x0, {self.reg('r')}, 3; match.any.sync.b32 {self.reg('r')}, %x0, {m};")
        elif kind == 6:
            self.emit(f"bar.warp.sync {m}; elect.sync {self.reg('r')}|{self.reg('p')}, {m};")
        elif kind == 4:
            op = r.choice(["add.u32", "min.s32", "max.u32", "min.u32", "max.s32", "and.b32", "or.b32",
                           "xor.b32"])
            self.emit(f"redux.sync.{op} {self.reg('r')}, {self.reg('r')}, {m};")
        else:
            op = r.choice(["popc.u32", "and.pred", "or.pred"])
            d = self.reg("r" if op[2] == "p" and op[0] == "p" else "p")
            self.emit(f"barrier.cta.red.{op} {d}, 1, {self.reg('p')};")

    def statement(self, convergent):
        r = self.rnd.random()
        self.left -= 1
        if r < 0.08 and self.depth < 3:
            self.branch()
        elif r < 0.12 and self.depth < 3:
            self.loop()
        elif r < 0.135 and self.depth < 3:
            self.walk()
        elif r < 0.145 and self.depth < 2:
            self.switch() if r < 0.142 else self.tangle()
        elif r < 0.165:
            self.rare()
        elif r < 0.18:
            self.unit()
        elif r < 0.20:
            self.guarded()
        elif r < 0.23:
            self.carry_chain()
        elif r < 0.27:
            self.local_memory()
        elif r < 0.31:
            self.global_load()
        elif r < 0.325:
            self.atomic()
        elif r < 0.33:
            self.hint()
        elif r < 0.35:
            self.call()
        elif r < 0.41 and convergent:
            self.exchange() if r < 0.38 else self.collective()
        elif r < 0.425 and convergent and self.round < 2:
            gen_known.rounds(self)
        else:
            self.arithmetic()

    def statements(self, convergent):
        self.depth += not convergent
        for _ in range(self.rnd.randrange(2, 7)):
            self.statement(convergent)
        self.depth -= not convergent

    def kernel(self):
        while self.left > 0:
            self.statement(True)
        return "\n".join(self.lines)


class Alone(Generator):
    """Threads that meet at barriers only: what code for pairs of warps is made for."""

    def source(self, cls):
        return self.rnd.choice([s for s in SREGS if s != "%warpid"]) if cls == "S" else super().source(cls)

    def statement(self, convergent):
        r = self.rnd.random()
        self.left -= 1
        if r < 0.10 and self.depth < 3:
            self.branch()
        elif r < 0.16 and self.depth < 3:
            self.loop()
        elif r < 0.17 and self.depth < 2:
            self.switch()
        elif r < 0.20:
            self.pack()
        elif r < 0.23:
            self.guarded()
        elif r < 0.26:
            self.carry_chain()
        elif r < 0.36:
            self.global_load()
        elif r < 0.42 and convergent:
            self.exchange()
        elif r < 0.45 and convergent and self.round < 2:
            gen_known.rounds(self)
        else:
            self.arithmetic()


def entry_alone(seed, size=60, skip=()):
    return gen_frame.frame(seed, Alone(seed, size, skip).kernel())


def entry(seed, size=60, skip=()):
    """One kernel; HEAD goes before the first one of a module."""
    return gen_frame.frame(seed, Generator(seed, size, skip).kernel())


if __name__ == "__main__":
    print(HEAD + entry(int(sys.argv[1]) if len(sys.argv) > 1 else 1), end="")
