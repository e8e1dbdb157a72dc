"""Random kernels as real compilers write them: gen_compiled.py SEED prints one.

gen_ptx.py draws instructions; this draws the shapes that nvcc and clang give to loops over arrays: pointers or
indices that step through memory in 64 bits, the step at any place of the body and computed before or inside the
loop, trip counts that are constant, uniform or differ between lanes, unrolling by two or four with a remainder,
rotated loops behind a guard, several exits that meet in one block, nested divergence, switches whose arms meet,
tiles in shared memory between barriers, work lists that warps share out and add up by compare-and-swap, lanes that
end early on a path of their own, and calls inside all of it. Same frame as gen_ptx.py: one statement a
line, fresh registers as compilers use them, the state is stored at the end.

Addresses stay inside the input by construction, as in a right program: nothing is masked.
"""
import sys

import gen_frame
from gen_frame import BLOCKS, IN_WORDS, OUT_TOTAL, SCRATCH_B, SCRATCH_ROWS, THREADS
from gen_ptx import Generator

MAX_TRIPS = 16
# element type, register class, bytes
ELEMENTS = [("f32", "f", 4), ("f32", "f", 4), ("u32", "r", 4), ("s32", "r", 4), ("b64", "l", 8), ("u8", "r", 1),
            ("s16", "r", 2), ("v2.f32", "f", 8), ("v4.u32", "r", 16)]
TYPES = {"w": ".b32", "v": ".b64", "k": ".pred", "g": ".f32"}  # fresh registers


class Stream:
    """One array that a loop steps through."""

    def __init__(self, kind, cls, size_B, step, form):
        self.kind, self.cls, self.size_B, self.step, self.form = kind, cls, size_B, step, form
        self.reg = self.step_reg = None


class Compiled(Generator):
    def __init__(self, seed, size=60, skip=()):
        super().__init__(seed, size, skip)
        self.count = dict.fromkeys(TYPES, 0)

    def fresh(self, kind):
        self.count[kind] += 1
        return f"%{kind}{self.count[kind] - 1}"

    def at(self, label):
        self.lines.append(f"{label}:")

    def declarations(self):
        return "\n".join(f"    .reg {TYPES[k]} %{k}<{n + 1}>;" for k, n in self.count.items())

    # ---- values that loops are made of

    def word_uniform(self, limit):
        """A number below limit (a power of two) that all lanes share, which the compiler does not know."""
        w = self.fresh("w")
        self.emit(f"ld.global.u32 {w}, [%in+{4 * self.rnd.randrange(IN_WORDS)}];")
        self.emit(f"and.b32 {w}, {w}, {limit - 1};")
        return w

    def trips(self, convergent):
        r, w = self.rnd, self.fresh("w")
        kind = r.choice(["constant", "uniform", "launch"] + ["lane", "state"] * (not convergent))
        if kind == "launch":  # the same in the whole grid, as a parameter, and without a bound that can be seen
            self.emit(f"mov.u32 {w}, %nctaid.x; mul.lo.u32 {w}, {w}, {r.randrange(1, MAX_TRIPS // BLOCKS + 1)};")
            return w
        if kind == "constant":
            self.emit(f"mov.u32 {w}, {r.choice([0, 1, 2, 3, 4, 5, 7, 8, 13, MAX_TRIPS])};")
            return w
        if kind == "uniform":
            return self.word_uniform(MAX_TRIPS)
        self.emit(f"and.b32 {w}, {'%me' if kind == 'lane' else self.reg('r')}, {MAX_TRIPS - 1};")
        return w

    def first_word(self, stream):
        """Index of the stream's first element: affine in the thread."""
        r, w = self.rnd, self.fresh("w")
        unit = max(stream.size_B // 4, 1)
        scale = r.choice([0, 1, 1, 2, 4]) if unit == 1 else unit * r.choice([0, 1])
        self.emit(f"mad.lo.s32 {w}, %me, {scale}, {unit * r.randrange(8)};")
        if r.random() < 0.3:
            block = self.fresh("w")
            self.emit(f"mov.u32 {block}, %ctaid.x; mad.lo.s32 {w}, {block}, {unit * 4}, {w};")
        return w

    # ---- streams

    def stream(self):
        r = self.rnd
        kind, cls, size_B = r.choice(ELEMENTS)
        step = r.choice([1, 1, 1, 2, 3, 4, 8, 32 if size_B <= 4 else 2]) * max(size_B // 4, 1)
        form = r.choice(["pointer", "pointer", "index", "mad", "offset", "shift"])
        return Stream(kind, cls, size_B, min(step, 32), form)

    def open_stream(self, s):
        word = self.first_word(s)
        if s.form in ("index", "mad", "shift"):
            s.reg = word
        else:
            s.reg = self.fresh("v")
            self.emit(f"mul.wide.u32 {s.reg}, {word}, 4;")
            if s.form == "pointer":
                self.emit(f"add.s64 {s.reg}, %in, {s.reg};")
        s.place = self.rnd.choice(["immediate", "immediate", "before", "first", "last"])
        if s.place == "before":
            self.make_step(s)

    def make_step(self, s):
        """The step in a register, from a value that does not change in the loop."""
        wide = s.form in ("pointer", "offset")
        bytes_ = s.step * 4 if wide else s.step
        w = self.fresh("w")
        one = self.rnd.choice(["%ntid.y", "%nctaid.y"] if self.block[1] == 1 else ["%nctaid.y"])
        self.emit(f"mov.u32 {w}, {one}; mul.lo.u32 {w}, {w}, {bytes_};")
        s.step_reg = w
        if wide:
            s.step_reg = self.fresh("v")
            self.emit(f"cvt.u64.u32 {s.step_reg}, {w};")

    def address(self, s, ahead):
        """Register and byte offset of the element `ahead` iterations on."""
        if s.form == "pointer":
            return s.reg, s.step * 4 * ahead
        v = self.fresh("v")
        if s.form == "offset":
            self.emit(f"add.s64 {v}, %in, {s.reg};")
        elif s.form == "mad":
            self.emit(f"mad.wide.u32 {v}, {s.reg}, 4, %in;")
        elif s.form == "index":
            self.emit(f"mul.wide.s32 {v}, {s.reg}, 4;")
            self.emit(f"add.s64 {v}, %in, {v};")
        else:
            self.emit(f"cvt.s64.s32 {v}, {s.reg};")
            self.emit(f"shl.b64 {v}, {v}, 2;")
            self.emit(f"add.s64 {v}, {v}, %in;")
        return v, s.step * 4 * ahead

    def advance(self, s, times):
        kind = "s64" if s.form in ("pointer", "offset") else "s32"
        if s.step_reg:
            for _ in range(times):
                self.emit(f"add.{kind} {s.reg}, {s.reg}, {s.step_reg};")
        else:
            amount = s.step * times * (4 if kind == "s64" else 1)
            self.emit(f"add.{kind} {s.reg}, {s.reg}, {amount};")

    def load(self, s, ahead):
        reg, offset = self.address(s, ahead)
        space = self.rnd.choice([".global", ".global.nc", ".global", ""])
        n = int(s.kind[1]) if s.kind[0] == "v" else 0
        kind = "g" if s.cls == "f" else "w" if s.cls == "r" else "v"
        regs = [self.fresh(kind) for _ in range(max(n, 1))]
        target = "{" + ", ".join(regs) + "}" if n else regs[0]
        self.emit(f"ld{space}.{s.kind} {target}, [{reg}+{offset}];")
        return regs

    def accumulate(self, s, regs):
        for x in regs:
            a = self.reg(s.cls)
            self.emit(self.rnd.choice({
                "f": [f"add.f32 {a}, {a}, {x};", f"fma.rn.f32 {a}, {x}, {self.reg('f')}, {a};", f"max.f32 {a}, {a}, {x};"],
                "r": [f"add.s32 {a}, {a}, {x};", f"xor.b32 {a}, {a}, {x};", f"mad.lo.s32 {a}, {a}, 31, {x};",
                      f"min.u32 {a}, {a}, {x};"],
                "l": [f"add.s64 {a}, {a}, {x};", f"xor.b64 {a}, {a}, {x};"]}[s.cls]))

    # ---- loops

    def element(self, streams, ahead, exits, counter):
        """One iteration of the source loop."""
        r = self.rnd
        for s in streams:
            if s.place == "first" and not s.step_reg:
                self.make_step(s)
            regs = self.load(s, ahead)
            skip = self.label()
            guarded = r.random() < 0.25
            if guarded:
                k = self.fresh("k")
                self.emit(f"setp.{r.choice(['lt', 'ne', 'gt'])}.s32 {k}, {self.reg('r')}, {self.reg('r')};")
                self.emit(f"@{k} bra {skip};")
            self.accumulate(s, regs)
            if guarded:
                self.at(skip)
        if r.random() < 0.3:
            self.extra(counter)
        if r.random() < 0.2 and len(exits) < 3:
            exits.append(self.label())
            self.emit(f"@{r.choice(['', '!'])}{self.reg('p')} bra {exits[-1]};")

    def extra(self, counter):
        r = self.rnd
        choice = r.randrange(5)
        if choice == 0:
            self.scratch(counter)
        elif choice == 1:
            self.call()
        elif choice == 2 and self.depth < 4:
            self.branch()
        elif choice == 3:
            self.emit(f"setp.lt.s32 {self.reg('p')}, {self.reg('r')}, {self.reg('r')};")
        else:
            self.arithmetic()

    def scratch(self, counter):
        """Own cells of the output, rows apart: affine when the counter is."""
        row, v = self.fresh("w"), self.fresh("v")
        self.emit(f"and.b32 {row}, {counter}, {SCRATCH_ROWS - 1}; mad.lo.u32 {row}, {row}, {THREADS * BLOCKS}, %id; "
                  f"mul.wide.u32 {v}, {row}, 4; add.s64 {v}, %scratch, {v};")
        a = self.reg(self.rnd.choice("rf"))
        self.emit(f"st.global.b32 [{v}], {a};")
        if self.rnd.random() < 0.3:
            self.emit(f"ld.global.b32 {a}, [{v}];")

    def step_all(self, streams, times):
        for s in streams:
            if s.place == "last" and not s.step_reg:
                self.make_step(s)
            self.advance(s, times)

    def rounds(self, streams, unroll, counter, limit, exits):
        """A loop of `unroll` iterations a round while they fit: rotated behind a guard, or tested at the top."""
        r = self.rnd
        head, end, k = self.label(), self.label(), self.fresh("k")
        ahead = self.fresh("w")
        test = f"add.s32 {ahead}, {counter}, {unroll - 1}; setp.ge.s32 {k}, {ahead}, {limit};"
        rotated = r.random() < 0.7
        if rotated:
            self.emit(test)
            self.emit(f"@{k} bra {end};")
        self.at(head)
        if not rotated:
            self.emit(test)
            self.emit(f"@{k} bra {end};")
        self.depth += 1
        early = r.random() < 0.3
        if early:
            self.emit(f"add.s32 {counter}, {counter}, {unroll};")
        for i in range(unroll):
            self.element(streams, i, exits, counter)
        self.step_all(streams, unroll)
        if not early:
            self.emit(f"add.s32 {counter}, {counter}, {unroll};")
        if self.depth < 3 and self.left > 0 and r.random() < 0.15:
            self.array_loop(False)
        self.depth -= 1
        if rotated:
            self.emit(test.replace("setp.ge", "setp.lt"))
            self.emit(f"@{k} bra {head};")
        else:
            self.emit(f"bra {head};")
        self.at(end)

    def in_two(self, streams, unroll, limit, exits):
        """As nvcc does it: rounds up to a multiple of `unroll`, and halves of one for the rest, from 0 or there."""
        first, half = {}, unroll // 2
        base, counter, k, rest = self.fresh("w"), self.fresh("w"), self.fresh("k"), self.label()
        for s in streams:
            if s.form in ("index", "mad", "shift"):
                first[s] = self.fresh("w")
                self.emit(f"mov.u32 {first[s]}, {s.reg};")
        self.emit(f"mov.u32 {base}, 0; mov.u32 {counter}, 0; setp.lt.u32 {k}, {limit}, {unroll};")
        self.emit(f"@{k} bra {rest};")
        self.emit(f"and.b32 {base}, {limit}, {0x80000000 - unroll};")
        self.rounds(streams, unroll, counter, base, exits)
        self.at(rest)
        while half:
            bit, k, rest = self.fresh("w"), self.fresh("k"), self.label()
            self.emit(f"and.b32 {bit}, {limit}, {half}; setp.eq.u32 {k}, {bit}, 0;")
            self.emit(f"@{k} bra {rest};")
            for s, word in first.items():
                self.emit(f"mad.lo.s32 {s.reg}, {base}, {s.step}, {word};")
            self.depth += 1
            for i in range(half):
                self.element(streams, i, exits, base)
            self.step_all(streams, half)
            self.depth -= 1
            self.emit(f"add.s32 {base}, {base}, {half};")
            self.at(rest)
            half //= 2

    def array_loop(self, convergent):
        r = self.rnd
        streams = [self.stream() for _ in range(r.choice([1, 1, 2, 3]))]
        limit, counter, exits = self.trips(False), self.fresh("w"), []
        for s in streams:
            self.open_stream(s)
        self.emit(f"mov.u32 {counter}, 0;")
        unroll = r.choice([1, 1, 2, 4])
        if unroll > 1 and r.random() < 0.5:
            self.in_two(streams, unroll, limit, exits)
        else:
            if unroll > 1:
                self.rounds(streams, unroll, counter, limit, exits)
            self.rounds(streams, 1, counter, limit, exits)
        self.join(exits)

    def join(self, exits):
        """Every exit leaves other values behind, and all meet in one block."""
        if not exits:
            return
        end = self.label()
        a, b = self.reg("r"), self.reg("f")
        self.emit(f"bra {end};")
        for i, label in enumerate(exits):
            self.at(label)
            self.emit(f"add.s32 {a}, {self.reg('r')}, {i + 1};")
            self.emit(f"mov.f32 {b}, {self.reg('f')};")
            if i + 1 < len(exits):
                self.emit(f"bra {end};")
        self.at(end)

    # ---- other shapes

    def chain(self):
        """if, else if, ...: one block with a source per arm."""
        r, end = self.rnd, self.label()
        a, b, c = self.reg("r"), self.reg("l"), self.reg("f")
        for i in range(r.randrange(2, 7)):
            k, other = self.fresh("k"), self.label()
            self.emit(f"setp.{r.choice(['eq', 'lt', 'gt'])}.s32 {k}, {self.reg('r')}, {r.choice([0, 1, 5, -3])};")
            self.emit(f"@{k} bra {other};")
            self.emit(f"add.s32 {a}, {self.reg('r')}, {i};")
            self.emit(f"mad.wide.s32 {b}, {self.reg('r')}, {i + 3}, {self.reg('l')};")
            if r.random() < 0.5:
                self.emit(f"mov.f32 {c}, {self.reg('f')};")
            self.emit(f"bra {end};")
            self.at(other)
        self.emit(f"not.b32 {a}, {a};")
        self.at(end)

    def tile(self):
        """Rounds over a tile in shared memory; convergent code only."""
        r = self.rnd
        limit, counter, k = self.trips(True), self.fresh("w"), self.fresh("k")
        head, end = self.label(), self.label()
        self.emit(f"mov.u32 {counter}, 0; setp.eq.u32 {k}, {limit}, 0;")
        self.emit(f"@{k} bra {end};")
        self.at(head)
        self.emit(f"st.shared.f32 [%slot], {self.reg('f')}; bar.sync 0;")
        for i in range(r.choice([1, 4, 8])):
            g, w = self.fresh("g"), self.fresh("w")
            # me ^ i is a thread that exists when whole groups of eight do
            near = i if self.threads % 8 == 0 else 0
            where = r.choice([f"add.u32 {w}, %tile, {8 * i};", f"add.u32 {w}, %slot, 0;",
                              f"xor.b32 {w}, %me, {near}; shl.b32 {w}, {w}, 3; add.u32 {w}, {w}, %tile;"])
            self.emit(f"{where} ld.shared.f32 {g}, [{w}];")
            a = self.reg("f")
            self.emit(f"fma.rn.f32 {a}, {g}, {self.reg('f')}, {a};")
        self.emit(f"bar.sync 0; add.u32 {counter}, {counter}, 1; setp.lt.u32 {k}, {counter}, {limit};")
        self.emit(f"@{k} bra {head};")
        self.at(end)

    def sum_call(self):
        """A call of a function with a loop and a pointer."""
        v, w = self.fresh("v"), self.fresh("w")
        self.emit(f"and.b32 {w}, {self.reg('r')}, 7; mad.wide.u32 {v}, %me, 4, %in;")
        self.emit(f"{{ .param .b64 pa; .param .b32 pb; .param .b32 pr; st.param.b64 [pa], {v}; st.param.b32 [pb], {w}; "
                  f"call.uni (pr), sum, (pa, pb); ld.param.b32 {w}, [pr]; }}")
        self.emit(f"xor.b32 {self.reg('r')}, {self.reg('r')}, {w};")

    def swap_loop(self, word, amount):
        """Adds by compare-and-swap, as code does whose operation the hardware has no atomic for."""
        v, old, new, got, k = self.fresh("v"), self.fresh("w"), self.fresh("w"), self.fresh("w"), self.fresh("k")
        again, done = self.label(), self.label()
        self.emit(f"mad.wide.u32 {v}, {word}, 4, %atoms; {self.rnd.choice(['ld.volatile', 'ld.relaxed.gpu'])}.global.u32 {old}, [{v}];")
        self.at(again)
        self.emit(f"add.u32 {new}, {old}, {amount}; atom.global.cas.b32 {got}, [{v}], {old}, {new};")
        self.emit(f"setp.eq.u32 {k}, {got}, {old}; mov.u32 {old}, {got};")
        if self.rnd.random() < 0.5:
            self.emit(f"@!{k} bra {again};")
        else:  # not rotated
            self.emit(f"@{k} bra {done};")
            self.emit(f"bra {again};")
        self.at(done)

    def work_list(self):
        """Lanes have lists of different lengths; the warp goes on while one has work, and tells what the first one has."""
        r, members = self.rnd, "%members" if self.threads % 32 else "0xffffffff"
        left, lane, x, word = self.trips(False), self.fresh("w"), self.fresh("w"), self.fresh("w")
        mine, any_, k = self.fresh("k"), self.fresh("k"), self.fresh("k")
        head, skip, end = self.label(), self.label(), self.label()
        self.at(head)
        self.emit(f"setp.ne.u32 {mine}, {left}, 0; vote.sync.any.pred {any_}, {mine}, {members};")
        self.emit(f"@!{any_} bra {end};")
        self.emit(f"vote.sync.ballot.b32 {lane}, {mine}, {members}; brev.b32 {lane}, {lane}; clz.b32 {lane}, {lane};")
        self.emit(f"shfl.sync.idx.b32 {x}|{k}, {self.reg('r')}, {lane}, 31, {members};")
        self.emit(f"@!{mine} bra {skip};")
        self.depth += 1
        self.emit(f"and.b32 {word}, {x}, {r.choice([0, 1, 3])}; xor.b32 {x}, {x}, {left}; sub.u32 {left}, {left}, 1;")
        if r.random() < 0.4:
            self.emit(f"@{self.reg('p')} bra {skip};")
        self.swap_loop(word, x)
        if r.random() < 0.4:
            self.statements(False)
        self.depth -= 1
        self.at(skip)
        self.emit(f"add.u32 {self.reg('r')}, {self.reg('r')}, {x};")
        self.emit(f"bra {head};")
        self.at(end)

    def early_end(self):
        """Some lanes leave for an end of their own, out of what the others go on through."""
        r, early, over, meet = self.rnd, self.label(), self.label(), self.label()
        keys = [self.fresh("k") for _ in range(r.choice([1, 1, 2]))]
        self.emit(f"@{r.choice(['', '!'])}{self.reg('p')} bra {meet};")
        for k in keys:
            self.statements(False)
            self.emit(f"setp.{r.choice(['lt', 'gt', 'eq'])}.s32 {k}, {self.reg('r')}, {self.reg('r')};")
            self.emit(f"@{k} bra {early};")
        if r.random() < 0.5:
            self.statements(False)
        self.at(meet)
        if r.random() < 0.3:
            self.emit(f"@{self.reg('p')} bra {early};")
        self.emit(f"bra {over};")
        self.at(early)
        self.depth += 1
        if r.random() < 0.5:
            self.statements(False)
        counter = self.fresh("w")
        self.emit(f"mov.u32 {counter}, {r.randrange(SCRATCH_ROWS)};")
        self.scratch(counter)
        self.emit(r.choice(["ret;", "exit;"]))
        self.depth -= 1
        self.at(over)
        self.ended = True

    def statement(self, convergent):
        r = self.rnd.random()
        if r > 0.97 and convergent:
            self.left -= 4
            self.work_list()
        elif r > 0.94 and convergent and not self.ended:
            self.left -= 4
            self.early_end()
        elif r < 0.22 and self.depth < 3:
            self.left -= 4
            self.array_loop(convergent)
        elif r < 0.28:
            self.left -= 2
            self.chain()
        elif r < 0.32 and convergent:
            self.left -= 2
            self.tile()
        elif r < 0.36:
            self.left -= 1
            self.sum_call()
        else:
            super().statement(convergent)


SUM = """
.func (.param .b32 ret) sum(.param .b64 from, .param .b32 count)
{
    .reg .b64 %v;
    .reg .b32 %w<4>;
    .reg .pred %p;
    ld.param.u64 %v, [from];
    ld.param.u32 %w0, [count];
    mov.u32 %w1, 0;
    setp.eq.u32 %p, %w0, 0;
    @%p bra $end;
$next:
    ld.global.u32 %w2, [%v];
    mad.lo.u32 %w1, %w1, 33, %w2;
    add.s64 %v, %v, 4;
    sub.u32 %w0, %w0, 1;
    setp.ne.u32 %p, %w0, 0;
    @%p bra $next;
$end:
    st.param.b32 [ret], %w1;
    ret;
}
"""


HEAD = gen_frame.HEAD + SUM


def entry(seed, size=60, skip=()):
    kernel = Compiled(seed, size, skip)
    body = kernel.kernel()
    own = (f"\n{kernel.declarations()}\n    .reg .b64 %scratch;\n    .reg .b32 %tile;\n"
           f"    add.u64 %scratch, %out, {OUT_TOTAL - SCRATCH_B};" + ("\n    mov.u32 %tile, slots;" if "%tile" in body else ""))
    return gen_frame.frame(seed, body, own)


if __name__ == "__main__":
    print(HEAD + entry(int(sys.argv[1]) if len(sys.argv) > 1 else 1), end="")
