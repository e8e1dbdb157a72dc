"""Rows of the conformance suite and how they are run.

A row is one instruction with what goes in and an oracle: exact arithmetic on Python's integers, which shares no
code with src/. Every row runs with random and boundary values, once with operands that differ among threads and once
with operands that are the same in the whole block, which generated code keeps in scalar registers.
"""
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "differential"))
import engine  # noqa: E402

THREADS = 64
WARP = 32
GROUP = 8      # rows in one kernel
KERNELS = 24   # kernels in one module
HEAD = """.version 9.0
.target sm_100a
.address_size 64
.func (.reg .v4 .b32 to, .reg .b64 sum) turn(.reg .v4 .b32 from, .reg .v2 .b64 pair)
{
  mov.b32 to.x, from.y; mov.b32 to.y, from.z; mov.b32 to.z, from.w; mov.b32 to.w, from.x;
  add.u64 sum, pair.x, pair.y; ret;
}
"""
REGISTER = {1: ".pred", 8: ".b8", 16: ".b16", 32: ".b32", 64: ".b64"}


class Row:
    """text: the instruction, {d} and {e} its results, or {r0} {r1} .., and {0} {1} .. its sources. [%mem] is 64 bytes of
    global memory of the thread's own, [%own] of shared memory. outs: bits of each result; kinds: what
    each source is (kinds.py); oracle(*sources): the result, or a tuple of results."""

    def __init__(self, text, outs, kinds, oracle):
        self.text, self.kinds, self.oracle = text, kinds, oracle
        self.outs = outs if isinstance(outs, tuple) else (outs,)

    def inputs(self, count, seed):
        """[(source, ..)]: the same for the same seed, whatever other rows there are."""
        rng = random.Random(f"{self.text} {seed}")
        return [tuple(kind.draw(rng) for kind in self.kinds) for _ in range(count)]

    def cut(self, want):
        want = want if isinstance(want, tuple) else (want,)
        return tuple(w & ((1 << bits) - 1) for w, bits in zip(want, self.outs))

    def expected(self, threads):
        """The results of threads that follow each other, whole warps, whose sources are these."""
        return [self.cut(self.oracle(*values)) for values in threads]


class WarpRow(Row):
    """An instruction in which a warp takes part: oracle([sources of a lane, ..]) gives what every lane gets, or, with
    `each`, a list of that."""

    def __init__(self, text, outs, kinds, oracle, each=False):
        super().__init__(text, outs, kinds, oracle)
        self.each = each

    def expected(self, threads):
        out = []
        for i in range(0, len(threads), WARP):
            want = self.oracle(threads[i:i + WARP])
            out += [self.cut(w) for w in want] if self.each else [self.cut(want)] * WARP
        return out


def load(kind, register, address):
    if kind.bits == 1:
        return f"ld.global.b32 %w, [{address}]; setp.ne.b32 {register}, %w, 0;"
    return f"ld.global.b{kind.bits} {register}, [{address}];"


def store(bits, register, address):
    if bits == 1:
        return f"selp.b32 %w, 1, 0, {register}; st.global.b32 [{address}], %w;"
    return f"st.global.b{bits} [{address}], {register};"


def body(row, number, count, slots, uniform):
    """One run of the instruction; {number}: of the row in its kernel."""
    base = "%uni" if uniform else "%var"
    decls = [f".reg {REGISTER[k.bits]} a{i};" for i, k in enumerate(row.kinds)]
    decls += [f".reg {REGISTER[bits]} r{i};" for i, bits in enumerate(row.outs)]
    loads = [load(k, f"a{i}", f"{base}+{8 * count * (number * slots[0] + i)}") for i, k in enumerate(row.kinds)]
    names = {str(i): f"a{i}" for i in range(len(row.kinds))}
    results = {f"r{i}": f"r{i}" for i in range(len(row.outs))}
    instr = row.text.format(*(names[str(i)] for i in range(len(row.kinds))), d="r0", e="r1", **results)
    at = 2 * number * slots[1] + (slots[1] if uniform else 0)
    stores = [store(bits, f"r{i}", f"%out+{8 * count * (at + i)}") for i, bits in enumerate(row.outs)]
    return "{ " + " ".join(decls + loads) + f"\n  {instr};\n  " + " ".join(stores) + " }\n"


def results_B(count, slots):
    """Bytes of output, before the threads' own memory."""
    return 8 * count * GROUP * 2 * slots[1]


def entry(name, rows, count, slots):
    """A kernel that runs each of its rows twice."""
    text = f""".visible .entry {name}(.param .u64 out, .param .u64 in)
{{
  .reg .b64 %var, %uni, %out, %at, %mem; .reg .b32 %w, %t, %c, %own;
  .shared .align 16 .b8 own[{64 * THREADS}];
  ld.param.u64 %out, [out]; ld.param.u64 %uni, [in];
  mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x;
  mov.u32 %own, own; mad.lo.u32 %own, %t, 64, %own;
  mad.lo.u32 %t, %c, {THREADS}, %t;
  mad.wide.u32 %mem, %t, 64, %out; add.u64 %mem, %mem, {results_B(count, slots)};
  mul.wide.u32 %at, %t, 8; add.u64 %var, %uni, %at; add.u64 %out, %out, %at;
  mul.wide.u32 %at, %c, 8; add.u64 %uni, %uni, %at;
"""
    for i, row in enumerate(rows):
        text += body(row, i, count, slots, False) + body(row, i, count, slots, True)
    return text + "  ret;\n}\n"


class Batch:
    """Rows that share a module: written once, run on every device."""

    def __init__(self, rows, count, seed):
        self.groups = [rows[i:i + GROUP] for i in range(0, len(rows), GROUP)]
        self.count = count
        self.slots = (max(len(r.kinds) for r in rows), max(len(r.outs) for r in rows))
        self.inputs = {r.text: r.inputs(count, seed) for r in rows}
        self.expected = {r.text: (r.expected(self.inputs[r.text]), self.expected_uniform(r)) for r in rows}

    def expected_uniform(self, row):
        """All threads of block i have the sources of vector i."""
        blocks = self.inputs[row.text][:self.count // THREADS]
        return row.expected([v for v in blocks for _ in range(THREADS)])

    def write(self, where):
        os.makedirs(where, exist_ok=True)
        with open(f"{where}/ptx", "w", encoding="ascii") as file:
            file.write(HEAD + "".join(entry(f"g{i}", g, self.count, self.slots) for i, g in enumerate(self.groups)))
        out_B, in_B = results_B(self.count, self.slots) + 64 * self.count, 8 * self.count * GROUP * self.slots[0]
        with open(f"{where}/job", "w", encoding="ascii") as file:
            file.write(f"{out_B} {in_B} {self.count // THREADS}\n")
            file.writelines(f"g{i} {THREADS} 1 1\n" for i in range(len(self.groups)))
        with open(f"{where}/in", "wb") as file:
            for group in self.groups:
                file.write(b"".join(self.input_bytes(row) for row in group).ljust(in_B, b"\0"))

    def input_bytes(self, row):
        columns = [[v[k] for v in self.inputs[row.text]] for k in range(len(row.kinds))]
        columns += [[0] * self.count] * (self.slots[0] - len(columns))
        return b"".join(struct.pack(f"<{self.count}Q", *c) for c in columns)

    def check(self, out, number, row):
        """What is wrong with one row's output; None when nothing."""
        for uniform in (False, True):
            for o, bits in enumerate(row.outs):
                at = 2 * number * self.slots[1] + (self.slots[1] if uniform else 0) + o
                have = struct.unpack_from(f"<{self.count}Q", out, 8 * self.count * at)
                for i, value in enumerate(have):
                    want = self.expected[row.text][uniform][i][o]
                    if value & ((1 << max(bits, 8)) - 1) != want:
                        return self.complain(row, i // THREADS if uniform else i, o, value, want, uniform)
        return None

    def complain(self, row, i, o, value, want, uniform):
        sources = ", ".join(f"{v:#x}" for v in self.inputs[row.text][i])
        shape = "uniform " if uniform else ""
        return f"{row.text}: {shape}{sources}: result {o} is {value:#x}, the oracle says {want:#x}"

    def run(self, where, device):
        """{text: what is wrong} of the rows that fail."""
        trouble = {}
        for i, (out, why) in enumerate(device.run(where, len(self.groups))):
            for number, row in enumerate(self.groups[i]):
                what = self.check(out, number, row) if out is not None else f"{row.text}: {why}"
                if what:
                    trouble[row.text] = what
        return trouble


def run_rows(where, rows, count, seed, devices):
    """{device: {text: what is wrong}}. count: vectors of each row, a multiple of THREADS."""
    trouble = {d.name: {} for d in devices}
    for i in range(0, len(rows), GROUP * KERNELS):
        batch = Batch(rows[i:i + GROUP * KERNELS], count, seed)
        batch.write(where)
        for device in devices:
            trouble[device.name].update(batch.run(where, device))
    return trouble


def refusal_text(text):
    regs = "".join(f".reg {t} %{p}<8>;" for t, p in ((".pred", "p"), (".b8", "b"), (".b16", "h"), (".b32", "r"),
                                                    (".b64", "l"), (".b128", "q"), (".f32", "f"), (".f64", "d")))
    return f"{HEAD}.visible .entry g0(.param .u64 out, .param .u64 in) {{ {regs}\n{text};\nret; }}\n"


def refusal(where, device, text):
    """What is said of a kernel with this instruction; None when it runs."""
    with open(f"{where}/ptx", "w", encoding="ascii") as file:
        file.write(refusal_text(text))
    with open(f"{where}/job", "w", encoding="ascii") as file:
        file.write(f"8 8 1\ng0 {THREADS} 1 1\n")
    with open(f"{where}/in", "wb") as file:
        file.write(bytes(8))
    return device.run(where, 1)[0][1]
