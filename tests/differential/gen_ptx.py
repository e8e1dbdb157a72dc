#!/usr/bin/env python3
"""Random valid PTX kernels, reproducible from a seed: gen_ptx.py SEED prints one.

The kernel `fuzz(out, in)` keeps a small state of registers of every class. It is loaded from `in`,
changed by random instructions from all rows that have a defined result, under nested divergent
branches and loops, with shared, local and global memory, atomics whose order does not matter,
warp collectives and device function calls, and stored to `out` at the end: OUT_BYTES per thread. So
two correct devices give the same bytes. Instructions stand one per line and every register is
initialised: any line that is not control flow can be deleted and leaves a valid program, which is
how test_differential.py makes failures small.
"""
import random
import sys

THREADS = 96          # per block: three warps
BLOCKS = 2
IN_WORDS = 1024       # 32-bit words of input
COUNTS = {"r": 8, "l": 5, "h": 5, "f": 6, "d": 4, "p": 4}
CLASS_TYPE = {"r": ".b32", "l": ".b64", "h": ".b16", "f": ".f32", "d": ".f64"}
OUT_BYTES = 8 * (sum(COUNTS.values()))
ATOM_WORDS = 8        # at the end of out: sums by atomics
OUT_TOTAL = OUT_BYTES * THREADS * BLOCKS + 4 * ATOM_WORDS

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
                 (f"slct.{t}.s32", "r", "rrr"), (f"szext.clamp.{t}", "r", "rr"),
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


def cvt_rows():
    rows = []
    ints = [("r", "u32"), ("r", "s32"), ("l", "u64"), ("l", "s64"), ("h", "u16"), ("h", "s16")]
    small = [("r", "u8"), ("r", "s8")]
    floats = [("f", "f32"), ("d", "f64"), ("h", "f16")]
    for dc, dt in ints + small:
        for sc, st in ints + small:
            rows += [(f"cvt.{dt}.{st}", dc, sc), (f"cvt.sat.{dt}.{st}", dc, sc)]
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
    return rows


def move_rows():
    return [("mov.b32", "r", "f"), ("mov.b32", "f", "r"), ("mov.b64", "l", "d"),
            ("mov.b64", "d", "l"), ("mov.b32", "f", "C"), ("mov.b64", "d", "D"), ("mov.b32", "r", "K"),
            ("mov.b32", "r", "S")]


FAMILIES = [int_rows(), float_rows(), cvt_rows(), setp_rows(), move_rows()]
WEIGHTS = [10, 10, 5, 3, 2]
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
        self.labels = 0
        self.left = size
        self.skip = skip

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
        family = self.rnd.choices(FAMILIES, WEIGHTS)[0]
        while True:
            name, dst, srcs = self.rnd.choice(family)
            if name not in self.skip:
                break
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

    def guarded(self):
        self.arithmetic()
        line = self.lines.pop().strip()
        self.emit(f"@{self.rnd.choice(['', '!'])}{self.reg('p')} {line}")

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

    def atomic(self):
        op = self.rnd.choice(["add.u32", "xor.b32", "add.u32"])
        slot = self.rnd.randrange(ATOM_WORDS // 2) + (0 if op[0] == "a" else ATOM_WORDS // 2)
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
        self.block(False)
        self.emit(f"bra {end};")
        self.lines.append(f"{other}:")
        if self.rnd.random() < 0.6:
            self.block(False)
        self.lines.append(f"{end}:")

    def loop(self):
        head, end, n = self.label(), self.label(), self.depth
        self.emit(f"and.b32 %c{n}, {self.reg('r')}, 7;")
        self.lines.append(f"{head}:")
        self.emit(f"setp.eq.u32 %q{n}, %c{n}, 0;")
        self.emit(f"@%q{n} bra {end};")
        self.emit(f"sub.u32 %c{n}, %c{n}, 1;")
        self.block(False)
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
            self.block(False)
            self.emit(f"bra {end};")
        self.lines.append(f"{end}:")

    def exchange(self):
        """Through shared memory with barriers; convergent code only."""
        c = self.rnd.choice("rlfd")
        size = 8 if c in "ld" else 4
        self.emit(f"st.shared{CLASS_TYPE[c]} [%slot], {self.reg(c)}; bar.sync 0; "
                  f"add.u32 %x0, %me, {self.rnd.randrange(1, THREADS)}; rem.u32 %x0, %x0, {THREADS}; "
                  f"shl.b32 %x0, %x0, 3; mov.u32 %x1, slots; add.u32 %x0, %x0, %x1; "
                  f"ld.shared{CLASS_TYPE[c]} {self.reg(c)}, [%x0]; bar.sync 0;")
        assert size <= 8

    def collective(self):
        r, m = self.rnd, "0xffffffff"
        kind = r.randrange(6)
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
            self.switch()
        elif r < 0.20:
            self.guarded()
        elif r < 0.23:
            self.carry_chain()
        elif r < 0.27:
            self.local_memory()
        elif r < 0.31:
            self.global_load()
        elif r < 0.33:
            self.atomic()
        elif r < 0.35:
            self.call()
        elif r < 0.41 and convergent:
            self.exchange() if r < 0.38 else self.collective()
        else:
            self.arithmetic()

    def block(self, convergent):
        self.depth += not convergent
        for _ in range(self.rnd.randrange(2, 7)):
            self.statement(convergent)
        self.depth -= not convergent

    def kernel(self):
        while self.left > 0:
            self.statement(True)
        return "\n".join(self.lines)


HEAD = """.version 8.5
.target sm_90
.address_size 64

.func (.param .b32 ret) helper(.param .b32 a, .param .b32 b)
{
    .reg .b32 %r<4>;
    .reg .f32 %f<2>;
    .reg .pred %p;
    ld.param.b32 %r0, [a];
    ld.param.f32 %f0, [b];
    setp.lt.f32 %p, %f0, 0f3f800000;
    @%p bra $small;
    fma.rn.f32 %f0, %f0, 0f3f000000, 0f3f800000;
    mov.b32 %r1, %f0;
    xor.b32 %r0, %r0, %r1;
    st.param.b32 [ret], %r0;
    ret;
$small:
    mad.lo.u32 %r0, %r0, 1664525, 1013904223;
    st.param.b32 [ret], %r0;
    ret;
}
"""


def prologue():
    out = []
    for c, n in COUNTS.items():
        out.append(f"    .reg {'.pred' if c == 'p' else CLASS_TYPE[c]} %{c}<{n}>;")
    text = """    .reg .b32 %x<2>;
    .reg .b64 %y<2>;
    .reg .b32 %c<4>;
    .reg .pred %q<4>, %z;
    .reg .b32 %me, %id, %slot;
    .reg .b64 %out, %in, %atoms;
    .shared .align 8 .b8 slots[SLOTS_B];
    .shared .align 4 .b8 atoms[ATOMS_B];
    .local .align 8 .b8 loc[64];
    ld.param.u64 %out, [out];
    ld.param.u64 %in, [in];
    mov.u32 %me, %tid.x;
    mov.u32 %x0, %ctaid.x;
    mad.lo.u32 %id, %x0, THREADS, %me;
    add.u64 %atoms, %out, OUT_B;
    shl.b32 %slot, %me, 3;
    mov.u32 %x0, slots;
    add.u32 %slot, %slot, %x0;
    mov.u64 %y1, 0;
    st.shared.b64 [%slot], %y1;
    mov.u32 %x1, 0;
    mov.u32 %c0, 0; mov.u32 %c1, 0; mov.u32 %c2, 0; mov.u32 %c3, 0;
    mul.lo.u32 %x0, %id, 40;
    cvt.u64.u32 %y0, %x0;
    and.b64 %y0, %y0, 1016;
    add.u64 %y0, %y0, %in;"""
    values = {"SLOTS_B": 8 * THREADS, "ATOMS_B": 4 * ATOM_WORDS, "THREADS": THREADS,
              "OUT_B": OUT_BYTES * THREADS * BLOCKS}
    for name, value in values.items():
        text = text.replace(name, str(value))
    out.append(text)
    for i in range(8):
        out.append(f"    st.local.b64 [loc+{8 * i}], %y1;")
    at = 0
    for c, n in COUNTS.items():
        size = {"l": 8, "d": 8, "h": 2}.get(c, 4)
        for i in range(n):
            at = (at + size - 1) // size * size
            if c == "p":
                out.append(f"    ld.global.b32 %x0, [%y0+{at}]; and.b32 %x0, %x0, 1; "
                           f"setp.ne.u32 %p{i}, %x0, 0;")
            else:
                out.append(f"    ld.global{CLASS_TYPE[c]} %{c}{i}, [%y0+{at}];")
            at += size
    out.append(f"    setp.ge.u32 %q0, %me, {ATOM_WORDS};")
    out.append("    @%q0 bra $start; shl.b32 %x0, %me, 2; mov.u32 %x1, atoms; add.u32 %x0, %x0, %x1; "
               "mov.u32 %x1, 0; st.shared.u32 [%x0], %x1;")
    out.append("$start:\n    bar.sync 0;")
    return "\n".join(out)


def epilogue():
    out = ["    bar.sync 0;", f"    mul.wide.u32 %y0, %id, {OUT_BYTES};", "    add.u64 %y0, %y0, %out;"]
    at = 0
    for c, n in COUNTS.items():
        for i in range(n):
            if c == "p":
                out.append(f"    selp.u64 %y1, 1, 0, %p{i}; st.global.u64 [%y0+{at}], %y1;")
            else:
                out.append(f"    st.global{CLASS_TYPE[c]} [%y0+{at}], %{c}{i};")
            at += 8
    out.append(f"    setp.ge.u32 %q0, %me, {ATOM_WORDS};")
    out.append("    @%q0 bra $done;")
    out.append("    shl.b32 %x0, %me, 2; mov.u32 %x1, atoms; add.u32 %x0, %x0, %x1; "
               "ld.shared.u32 %x1, [%x0]; mul.wide.u32 %y0, %me, 4; add.u64 %y0, %y0, %atoms; "
               # each word by the operation that the kernel uses on it: sums and xors do not commute
               f"setp.lt.u32 %q1, %me, {ATOM_WORDS // 2}; @%q1 red.global.add.u32 [%y0], %x1; "
               "@!%q1 red.global.xor.b32 [%y0], %x1;")
    out.append("$done:\n    ret;")
    return "\n".join(out)


def generate(seed, size=60, skip=()):
    body = Generator(seed, size, skip).kernel()
    return (HEAD + "\n.visible .entry fuzz(.param .u64 out, .param .u64 in)\n{\n" + prologue() +
            "\n// ---- begin\n" + body + "\n// ---- end\n" + epilogue() + "\n}\n")


def input_bytes(seed):
    """Random words, a quarter of them special."""
    rnd = random.Random(seed * 7919 + 1)
    special = [0, 1, 0x80000000, 0x7fffffff, 0xffffffff, 0x3f800000, 0xbf800000, 0x7f800000,
               0x7fc00000, 0x00800000, 0x007fffff, 0x3c003c00, 0x7c007e00, 0x3ff00000, 0x40490fdb]
    words = [rnd.choice(special) if rnd.random() < 0.25 else
             rnd.getrandbits(32) if rnd.random() < 0.5 else
             (rnd.getrandbits(1) << 31 | rnd.randrange(118, 136) << 23 | rnd.getrandbits(23))
             for _ in range(IN_WORDS)]
    return b"".join(w.to_bytes(4, "little") for w in words)


if __name__ == "__main__":
    print(generate(int(sys.argv[1]) if len(sys.argv) > 1 else 1), end="")
