"""Forms of ldmatrix, stmatrix and movmatrix. Rows of matrices lie scattered in shared memory. And of cp.async."""
from products import Form

SHARED = ".shared .align 16 .b8 rows[1024];\n"


def place(row):
    """Where row number `row` lies: not where its neighbours would have it."""
    return (row * 5 + 3) % 32 * 32


# How programs put together which of 32 rows is the lane's (%w), and what all lanes add to its address.
SCATTERED = "mad.lo.u32 %w, %t, 5, 3; and.b32 %w, %w, 31; "
SWIZZLED = "and.b32 %c, %t, 31; shr.u32 %w, %c, 2; and.b32 %w, %w, 7; xor.b32 %w, %w, %c; "
BACKWARDS = "and.b32 %w, %t, 31; sub.u32 %w, 31, %w; "
FIELDS = "shr.u32 %w, %t, 4; bfi.b32 %w, %t, %w, 1, 4; and.b32 %w, %w, 31; "
SQUARES = "and.b32 %w, %t, 31; mul.lo.u32 %w, %w, %w; add.u32 %w, %w, %t; shr.u32 %w, %w, 1; and.b32 %w, %w, 31; "  # no rule for it
# Rows of two registers are neighbours: lanes t and t + 16, either first, or t and t + 8.
BESIDE = ("and.b32 %w, %t, 15; shl.b32 %w, %w, 1; shr.u32 %c, %t, 4; and.b32 %c, %c, 1; or.b32 %w, %w, %c; "
          "shr.u32 %c, %t, 1; and.b32 %c, %c, 1; xor.b32 %w, %w, %c; ")
NEXT = ("and.b32 %w, %t, 7; shl.b32 %w, %w, 1; bfe.u32 %c, %t, 3, 1; or.b32 %w, %w, %c; bfe.u32 %c, %t, 4, 1; shl.b32 %c, %c, 4; "
        "or.b32 %w, %w, %c; ")
MORE = "mov.u32 %c, %ctaid.x; and.b32 %c, %c, 1; shl.b32 %c, %c, 4; or.b32 %w, %w, %c; "


def put_rows(row=SCATTERED, more="", shift=5):
    """The lane's four input words become the row that it has the address of; %w: that address."""
    return (f"{row}shl.b32 %w, %w, {shift}; {more}mov.u32 %c, rows; add.u32 %w, %w, %c; "
            "st.shared.v4.b32 [%w], {r0, r1, r2, r3}; bar.warp.sync -1;")


def row_bytes(regs, row):
    return b"".join(regs[f"r{i}"][row].to_bytes(4, "little") for i in range(4))


def expand(row, bits):
    whole = int.from_bytes(row, "little")
    return bytes(whole >> bits * i & (1 << bits) - 1 for i in range(16)) if bits < 8 else row


def draw(names):
    return lambda rng: {n: [rng.getrandbits(32) for _ in range(32)] for n in names}


def word(parts):
    return int.from_bytes(bytes(parts), "little")


def loaded(rows, shape, trans, reg, lane):
    """What a lane has in register `reg`, from rows of sixteen bytes."""
    group, thread = lane >> 2, lane % 4
    if not trans:
        return word(rows[8 * reg + group][4 * thread:4 * thread + 4])
    if shape == "m8n8":
        a, b = (rows[8 * reg + 2 * thread + i][2 * group:2 * group + 2] for i in range(2))
        return word(a + b)
    # Measured by others on sm_120a: four rows of a column in each register. CUTLASS permutes the bytes of two registers behind it.
    first = 16 * (reg // 2) + 4 * thread
    return word([rows[first + i][group + 8 * (reg % 2)] for i in range(4)])


def load(shape, times, trans, types, bits=8, setup=None):
    count = times * (2 if shape == "m16n16" else 1)
    inputs = [f"r{i}" for i in range(4)]

    def oracle(regs):
        rows = [expand(row_bytes(regs, i), bits) for i in range(32)]
        return [[loaded(rows, shape, trans, reg, lane) for lane in range(32)] for reg in range(count)]
    out = "{{" + ", ".join(f"{{d{i}}}" for i in range(count)) + "}}"
    text = f"ldmatrix.sync.aligned.{shape}.x{times}{'.trans' if trans else ''}.shared.{types} {out}, [%w]"
    return Form(text, [(n, 32) for n in inputs], [32] * count, draw(inputs), oracle, setup or put_rows())


def stored(regs, shape, trans, count):
    """{(row, byte)} of what is stored."""
    out = {}
    for reg in range(count):
        for lane in range(32):
            group, thread = lane >> 2, lane % 4
            for i, byte in enumerate(regs[f"r{reg}"][lane].to_bytes(4, "little")):
                if not trans:
                    where = (8 * reg + group, 4 * thread + i)
                elif shape == "m8n8":
                    where = (8 * reg + 2 * thread + i // 2, 2 * group + i % 2)
                else:  # m16n8: columns 2t and 2t + 1 of row g, then of row g + 8; stored by columns
                    where = (8 * reg + 2 * thread + i % 2, group + 8 * (i // 2))
                out[where] = byte
    return out


def store(shape, times, trans, dtype):
    """Behind it each lane reads its row back; rows that are not stored stay zero."""
    inputs = [f"r{i}" for i in range(times)]

    def oracle(regs):
        bytes_ = stored(regs, shape, trans, times)
        return [[word(bytes_.get((lane, 4 * i + j), 0) for j in range(4)) for lane in range(32)] for i in range(4)]
    setup = put_rows().replace("{r0, r1, r2, r3}", "{z, z, z, z}")
    src = "{{" + ", ".join(f"{{r{i}}}" for i in range(times)) + "}}"
    text = (f"stmatrix.sync.aligned.{shape}.x{times}{'.trans' if trans else ''}.shared.{dtype} [%w], {src}; bar.warp.sync -1; "
            "ld.shared.v4.b32 {{ {d0}, {d1}, {d2}, {d3} }}, [%w]")
    return Form(text, [(n, 32) for n in inputs], [32] * 4, draw(inputs), oracle, ".reg .b32 z; mov.b32 z, 0; " + setup)


def move():
    def oracle(regs):
        halves = [[regs["r0"][4 * row + col // 2] >> 16 * (col % 2) & 0xffff for col in range(8)] for row in range(8)]
        return [[halves[2 * (lane % 4)][lane >> 2] | halves[2 * (lane % 4) + 1][lane >> 2] << 16 for lane in range(32)]]
    return Form("movmatrix.sync.aligned.m8n8.trans.b16 {d0}, {r0}", [("r0", 32)], [32], draw(["r0"]), oracle)


# Which of 32 pieces of 16 bytes a lane copies, and where to: as numbers, and as text that makes %w of %t. %ntid.x is 32.
STRIDE = "mov.u32 %c, %ntid.x; shr.u32 %c, %c, 5; mul.lo.u32 %c, %c, 3; "
SOURCES = {
    "in a row": (lambda t: t, "mov.u32 %w, %t; "),
    "rows of four": (lambda t: t // 4 * 3 % 8 * 4 + t % 4, STRIDE + "shr.u32 %w, %t, 2; mul.lo.u32 %w, %w, %c; and.b32 %w, %w, 7; "
                     "shl.b32 %w, %w, 2; and.b32 %c, %t, 3; add.u32 %w, %w, %c; "),
    "pairs": (lambda t: t ^ 2, "xor.b32 %w, %t, 2; "),
}
PLACES = {
    "as it is": (lambda t: t, "mov.u32 %w, %t; "),
    "swizzled": (lambda t: t ^ t // 8, "shr.u32 %w, %t, 3; xor.b32 %w, %w, %t; "),
    "halves exchanged": (lambda t: t ^ t // 8 ^ 4, "mov.u32 %c, %ntid.x; shr.u32 %c, %c, 3; and.b32 %c, %c, 4; shr.u32 %w, %t, 3; "
                         "xor.b32 %w, %w, %t; xor.b32 %w, %w, %c; "),
    "pairs exchanged": (lambda t: t ^ t // 8 ^ 2, "mov.u32 %c, %ntid.x; shr.u32 %c, %c, 4; and.b32 %c, %c, 2; shr.u32 %w, %t, 3; "
                        "xor.b32 %w, %w, %t; xor.b32 %w, %w, %c; "),
    "apart": (lambda t: t // 4 + t % 4 * 8, "shr.u32 %w, %t, 2; bfi.b32 %w, %t, %w, 3, 2; "),
    "no rule": (lambda t: (t * t + t) // 2 % 32, SQUARES),
}


def copied(source, where):
    """The two registers of each lane are 32 pieces of global memory; each lane reads row t, whoever has copied it."""
    (from_, from_text), (to, to_text) = SOURCES[source], PLACES[where]

    def oracle(regs):
        pieces = [regs[f"l{i // 16}"][i % 16 * 2:i % 16 * 2 + 2] for i in range(32)]
        rows = {to(t): pieces[from_(t)] for t in range(32)}
        return [[rows[t][i // 2] >> 32 * (i % 2) & 0xffffffff for t in range(32)] for i in range(4)]
    setup = (f"mul.wide.u32 %at, %t, 8; sub.u64 %in, %in, %at; {from_text}mul.wide.u32 %at, %w, 16; add.u64 %in, %in, %at; "
             f"{to_text}shl.b32 %w, %w, 4; mov.u32 %c, rows; add.u32 %w, %w, %c;")
    text = ("cp.async.cg.shared.global [%w], [%in], 16; cp.async.wait_all; bar.warp.sync -1; shl.b32 %w, %t, 4; add.u32 %w, %w, %c; "
            "ld.shared.v4.b32 {{ {d0}, {d1}, {d2}, {d3} }}, [%w]")
    return Form(text, [("l0", 64), ("l1", 64)], [32] * 4, lambda rng: {n: [rng.getrandbits(64) for _ in range(32)] for n in ("l0", "l1")},
                oracle, setup)


# How a lane stores its two words, as text.
PAIRS = ("st.global.b32 [%at], w0; st.global.b32 [%at+4], w1", "st.global.v2.b32 [%at], {{w0, w1}}", "st.global.b64 [%at], x0",
         "st.global.b32 [%at+4], w1; st.global.b32 [%at], w0")


def row_stored(text):
    """Four lanes have a row of global memory; rows are as far apart as the block is large, in bytes, the last one first."""
    def oracle(regs):
        return [[regs["l0"][28 - lane // 4 * 4 + lane % 4] for lane in range(32)]]
    setup = ("{{ .reg .b64 x<2>; .reg .b32 w<2>; ld.global.b64 x0, [%in]; mov.b64 {{w0, w1}}, x0; mul.wide.u32 x1, %t, 8; sub.u64 %out, %out, x1; "
             "shr.u32 %w, %t, 2; sub.u32 %w, 7, %w; mov.u32 %c, %ntid.x; mul.wide.u32 %at, %w, %c; and.b32 %w, %t, 3; mul.wide.u32 x1, %w, 8; "
             "add.u64 %at, %at, %out; add.u64 %at, %at, x1; ")
    form = Form(setup + text + "; }}", [("l0", 64)], [64], lambda rng: {"l0": [rng.getrandbits(64) for _ in range(32)]}, oracle)
    form.raw = True
    return form


def forms():
    out = [load("m8n8", n, trans, "b16") for n in (1, 2, 4) for trans in (False, True)]
    out += [load("m8n8", n, trans, "b16", setup=put_rows(row, more)) for n in (1, 4) for trans in (False, True)
            for row in (SWIZZLED, BACKWARDS, FIELDS, SQUARES) for more in ("", MORE)]
    out += [load("m8n8", n, trans, "b16", setup=put_rows(row, shift=4)) for n in (2, 4) for trans in (False, True) for row in (BESIDE, NEXT)]
    out += [load("m8n16", n, False, f"b8x16.{src}", bits) for n in (1, 2, 4) for src, bits in (("b6x16_p32", 6), ("b4x16_p64", 4))]
    out += [load("m16n16", n, True, types, bits) for n in (1, 2)
            for types, bits in (("b8", 8), ("b8x16.b6x16_p32", 6), ("b8x16.b4x16_p64", 4))]
    out += [store("m8n8", n, trans, "b16") for n in (1, 2, 4) for trans in (False, True)]
    out += [store("m16n8", n, True, "b8") for n in (1, 2, 4)]
    out += [copied(source, where) for source in SOURCES for where in PLACES]
    out += [row_stored(text) for text in PAIRS]
    return out + [move()]
