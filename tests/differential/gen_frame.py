"""What random kernels have around their statements: registers, the block, input, output, and what they share.

Threads read and write neighbouring words, and what a kernel does not use is left out, so that the frame costs little
to compile: a campaign compiles tens of thousands of kernels.
"""
import random
import re

import gen_known

THREADS = 96          # per block at most: three warps
BLOCKS = 2
# Blocks for each class of launches that code is made for (src/analysis/shape.h); what costs more to compile is rarer.
BLOCKS_OF_CLASS = ([(96, 1, 1)] * 6 + [(64, 1, 1)] * 6 + [(32, 3, 1)] * 2 + [(32, 2, 1)] * 3 + [(16, 4, 1)] * 3 + [(16, 6, 1)] * 2 + [(80, 1, 1), (16, 5, 1)] +
                   [(8, 4, 3)] * 2 + [(5, 3, 5)])
IN_WORDS = 1024       # 32-bit words of input
COUNTS = {"r": 6, "l": 3, "h": 3, "f": 4, "d": 3, "p": 3}
CLASS_TYPE = {"r": ".b32", "l": ".b64", "h": ".b16", "f": ".f32", "d": ".f64"}
CLASS_B = {"r": 4, "l": 8, "h": 2, "f": 4, "d": 8, "p": 4}
# (register, its class, where its row begins in out)
ROWS = []
for _c, _n in COUNTS.items():
    for _i in range(_n):
        ROWS.append((f"%{_c}{_i}", _c, ROWS[-1][2] + CLASS_B[ROWS[-1][1]] * THREADS * BLOCKS if ROWS else 0))
STATE_B = ROWS[-1][2] + CLASS_B[ROWS[-1][1]] * THREADS * BLOCKS
ATOM_WORDS = 8        # behind the rows: sums by atomics
SCRATCH_ROWS = 16     # behind them: words that only their thread writes (gen_compiled.py)
SCRATCH_B = 4 * SCRATCH_ROWS * THREADS * BLOCKS
OUT_TOTAL = STATE_B + 4 * ATOM_WORDS + SCRATCH_B

def block_of(seed):
    """The block that a seed's kernel is launched with."""
    return random.Random(seed * 104729 + 7).choice(BLOCKS_OF_CLASS)



HEAD = """.version 8.5
.target sm_90
.address_size 64

.const .align 8 .b32 numbers[16] = {1, 0x80000000, 7, 0x3f800000, 31, 0xffffffff, 12345, 0, 255, 0x7f800000, 2, 64, 0x0badcafe, 3, 8, 99};

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


THREAD_NUMBER = """    mov.u32 %me, %tid.z;
    mov.u32 %x0, %ntid.y;
    mov.u32 %x1, %tid.y;
    mad.lo.u32 %me, %me, %x0, %x1;
    mov.u32 %x0, %ntid.x;
    mov.u32 %x1, %tid.x;
    mad.lo.u32 %me, %me, %x0, %x1;
"""
LANE_NUMBER = "    mov.u32 %x0, %warpid;\n    mov.u32 %me, %laneid;\n    mad.lo.u32 %me, %x0, 32, %me;\n"
# The members of a last warp that is not full.
MEMBERS = """    .reg .b32 %members;
    mov.u32 %members, -1;
    setp.ge.u32 %q0, %me, {full};
    @%q0 mov.u32 %members, {mask};
"""
PROLOGUE = """    .reg .b32 %x<2>;
    .reg .b64 %y<2>;
    .reg .b32 %c<4>;
    .reg .pred %q<4>, %z;
{temporaries}    .reg .b32 %me, %id, %slot;
    .reg .b64 %out, %in, %atoms, %wide2, %wide4, %wide8;
{own}    ld.param.u64 %out, [out];
    ld.param.u64 %in, [in];
{number}    mov.u32 %x0, %ctaid.x;
    mad.lo.u32 %id, %x0, {threads}, %me;
{members}    add.u64 %atoms, %out, {state_B};
    mov.u32 %c0, 0; mov.u32 %c1, 0; mov.u32 %c2, 0; mov.u32 %c3, 0;
    mul.wide.u32 %wide2, %id, 2;
    mul.wide.u32 %wide4, %id, 4;
    mul.wide.u32 %wide8, %id, 8;"""

# What only some kernels use: (expression for its name in their statements, declaration, start, end).
SLOTS = ("slot", f"    .shared .align 8 .b8 slots[{8 * THREADS}];\n",
         "    shl.b32 %slot, %me, 3;\n    mov.u32 %x0, slots;\n    add.u32 %slot, %slot, %x0;\n    mov.u64 %y1, 0;\n"
         "    st.shared.b64 [%slot], %y1;\n", "")
LOCAL = (r"\bloc\b", "    .local .align 8 .b8 loc[64];\n",
         "    mov.u64 %y1, 0;\n" + "".join(f"    st.local.b64 [loc+{8 * i}], %y1;\n" for i in range(8)), "")
ATOMS = ("atoms", f"    .shared .align 4 .b8 atoms[{4 * ATOM_WORDS}];\n",
         f"    setp.ge.u32 %q0, %me, {ATOM_WORDS};\n    @%q0 bra $start;\n    shl.b32 %x0, %me, 2; mov.u32 %x1, atoms; "
         "add.u32 %x0, %x0, %x1; mov.u32 %x1, 0; st.shared.u32 [%x0], %x1;\n$start:\n",
         f"    setp.ge.u32 %q0, %me, {ATOM_WORDS};\n    @%q0 bra $done;\n"
         "    shl.b32 %x0, %me, 2; mov.u32 %x1, atoms; add.u32 %x0, %x0, %x1; "
         "ld.shared.u32 %x1, [%x0]; mul.wide.u32 %y0, %me, 4; add.u64 %y0, %y0, %atoms; "
         # each word by the operation that the kernel uses on it: sums and xors do not commute
         f"setp.lt.u32 %q1, %me, {ATOM_WORDS // 2}; @%q1 red.global.add.u32 [%y0], %x1; "
         "@!%q1 red.global.xor.b32 [%y0], %x1;\n")
LOCK = (r"\block\b", "    .shared .align 4 .b32 lock;\n", "    mov.u32 %x1, 0;\n    st.shared.u32 [lock], %x1;\n", "")
# 16 bytes of each thread.
OWN = (r"\bown\b", f"    .shared .align 16 .b8 own[{16 * THREADS}];\n",
       "    shl.b32 %x1, %me, 4; mov.u32 %x0, own; add.u32 %x1, %x1, %x0; mov.u64 %y1, 0;\n"
       "    st.shared.b64 [%x1], %y1; st.shared.b64 [%x1+8], %y1;\n", "")
OPTIONAL = [SLOTS, LOCAL, ATOMS, LOCK, OWN]


def prologue(block, used, rows):
    out = []
    for c, n in COUNTS.items():
        out.append(f"    .reg {'.pred' if c == 'p' else CLASS_TYPE[c]} %{c}<{n}>;")
    threads = block[0] * block[1] * block[2]
    partial = MEMBERS.format(full=threads // 32 * 32, mask=(1 << threads % 32) - 1) if threads % 32 else ""
    # Without a multiple of 16 threads in x, thread numbers are known from the lane alone, or not at all.
    number = ("    mov.u32 %me, %tid.x;\n" if block[1] == block[2] == 1 else
              LANE_NUMBER if block[0] == 8 else THREAD_NUMBER)
    out.append(PROLOGUE.format(threads=THREADS, state_B=STATE_B, number=number, members=partial, temporaries=gen_known.TEMPORARIES,
                               own="".join(o[1] for o in used)))
    out.append("".join(o[2] for o in used))
    out += [f"    add.u64 %wide{n}, %wide{n}, %in;" for n in (2, 4, 8)]
    for row in rows:
        reg, c, i = row[0], row[1], ROWS.index(row)
        where = f"[%wide{CLASS_B[c]}+{i * 64 % (4 * IN_WORDS - 8 * THREADS * BLOCKS)}]"
        if c == "p":
            out.append(f"    ld.global.b32 %x0, {where}; and.b32 %x0, %x0, 1; setp.ne.u32 {reg}, %x0, 0;")
        else:
            out.append(f"    ld.global{CLASS_TYPE[c]} {reg}, {where};")
    out.append("    bar.sync 0;")
    return "\n".join(out)


def epilogue(used, rows):
    out = ["    bar.sync 0;"]
    out += [f"    mul.wide.u32 %wide{n}, %id, {n}; add.u64 %wide{n}, %wide{n}, %out;" for n in (2, 4, 8)]
    for reg, c, at in rows:
        where = f"[%wide{CLASS_B[c]}+{at}]"
        if c == "p":
            out.append(f"    selp.u32 %x0, 1, 0, {reg}; st.global.u32 {where}, %x0;")
        else:
            out.append(f"    st.global{CLASS_TYPE[c]} {where}, {reg};")
    out.append("".join(o[3] for o in used) + "$done:\n    ret;")
    return "\n".join(out)


def frame(seed, body, declarations=""):
    """The whole entry around the statements."""
    used = [o for o in OPTIONAL if re.search(o[0], body + declarations)]
    rows = [row for row in ROWS if re.search(row[0] + r"\b", body + declarations)]
    return (f"\n.visible .entry fuzz_{seed}(.param .u64 out, .param .u64 in)\n{{\n" + prologue(block_of(seed), used, rows) +
            declarations + "\n// ---- begin\n" + body + "\n// ---- end\n" + epilogue(used, rows) + "\n}\n")


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
