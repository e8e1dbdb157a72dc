#!/usr/bin/env python3
"""heddle prof --kernel: accesses of many forms count the same in compiled code of each level as on the interpreter: test_prof_forms.py HEDDLE"""
import glob
import os
import sys
import tempfile

from support import Bench, Tap, variants

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
HERE = os.path.dirname(os.path.abspath(__file__))

# What makes %r9, a number of elements, of %r1 (x), %r2 (y), %r3 (the thread): name, instructions.
INDICES = {
    "line": "mov.u32 %r9, %r3;",
    "back": "sub.s32 %r9, 255, %r3;",
    "behind": "add.s32 %r9, %r3, 3;",
    "pairs": "shl.b32 %r9, %r3, 1;",
    "fives": "mul.lo.s32 %r9, %r3, 5;",
    "wide": "mul.lo.s32 %r9, %r3, 33;",
    "row": "mad.lo.s32 %r9, %r2, 40, %r1;",
    "column": "mad.lo.s32 %r9, %r1, 16, %r2;",
    "same": "mov.u32 %r9, 7;",
    "of_row": "mul.lo.s32 %r9, %r2, 9;",
    "eights": "and.b32 %r9, %r3, -8;",
    "tree": "and.b32 %r8, %r3, 7; shl.b32 %r9, %r3, 1; sub.s32 %r9, %r9, %r8;",
    "padded": "shr.u32 %r9, %r3, 5; add.s32 %r9, %r9, %r3;",
    "crossed": "xor.b32 %r9, %r3, 13;",
    "swizzled": "shr.u32 %r8, %r3, 3; xor.b32 %r9, %r3, %r8;",
    "hashed": "mul.lo.s32 %r9, %r3, 40503; shr.u32 %r9, %r9, 3; and.b32 %r9, %r9, 255;",
    "loaded": "mul.wide.u32 %rd3, %r3, 4; add.s64 %rd3, %rd1, %rd3; ld.global.u32 %r9, [%rd3]; add.s32 %r9, %r9, %r3;",
}
# When lanes access: %p1.
GUARDS = {
    "all": "setp.ge.u32 %p1, %r3, 0;",
    "few": "setp.lt.u32 %p1, %r3, 11;",
    "late": "setp.gt.u32 %p1, %r3, 20;",
    "odd": "and.b32 %r8, %r3, 1; setp.eq.u32 %p1, %r8, 1;",
    "rows": "and.b32 %r8, %r3, 16; setp.eq.u32 %p1, %r8, 0;",
}
TYPES = {1: ("u8", "%r7"), 2: ("u16", "%h1"), 4: ("u32", "%r7"), 8: ("u64", "%rd7"), 16: ("v4.u32", "{%r4, %r5, %r6, %r7}")}
BLOCKS = ("64", "40", "16x6", "32x3", "8x8", "128")

KERNEL = """
.visible .entry {name}(.param .u64 p)
{{
    .reg .b64 %rd<8>;
    .reg .b32 %r<12>;
    .reg .b16 %h<2>;
    .reg .pred %p<3>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %tid.y;
    mov.u32 %r3, %ntid.x;
    mad.lo.s32 %r3, %r2, %r3, %r1;
    mov.u32 %r10, 0;
    {guard}
    {index}
    and.b32 %r9, %r9, 1023;
TURN:
    @!%p1 bra ON;
    mul.wide.u32 %rd2, %r9, {size};
    add.s64 %rd2, %rd1, %rd2;
    mul.lo.s32 %r11, %r9, {size};
    mov.u32 %r8, window;
    add.s32 %r11, %r11, %r8;
    {access}
ON:
    add.s32 %r10, %r10, 1;
    setp.lt.u32 %p2, %r10, 3;
    @%p2 bra TURN;
    ret;
}}
"""


def kernel(index, guard, size):
    type_of, register = TYPES[size]
    lines = [f"ld.shared.{type_of} {register}, [%r11];", f"st.shared.{type_of} [%r11+{size}], {register};",
             f"ld.global.{type_of} {register}, [%rd2];", f"st.global.{type_of} [%rd2+{16384 + 2 * size}], {register};"]
    return KERNEL.format(name=f"{index}_{guard}_{size}", guard=GUARDS[guard], index=INDICES[index], size=size, access="\n    ".join(lines))


def program_text(names):
    return ".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 16 .b8 window[24576];\n" + "".join(kernel(*name) for name in names)


class Forms(Bench):
    def counts(self, program, ptx, launches, **env):
        """What each instruction of each launch counts, without times."""
        folder = tempfile.mkdtemp(dir=self.folder)
        got = self.run("run", program, ptx, *launches, HEDDLE_COUNT=f"dir={folder}", **env)
        tap.ok(got.returncode == 0, f"{env}: it ran", got.stderr)
        lines = []
        for path in glob.glob(os.path.join(folder, "*.counts")):
            with open(path, encoding="utf-8") as file:
                lines += [line.rstrip("\n").split("\t") for line in file]
        return got, [line[6:] if line[0] == "L" else line for line in lines]


def test_forms(bench):
    guards = list(GUARDS)
    names = [(index, guards[(i + t) % len(guards)], size) for i, index in enumerate(INDICES) for t, size in enumerate(TYPES)]
    ptx = os.path.join(bench.folder, "forms.ptx")
    with open(ptx, "w", encoding="utf-8") as file:
        file.write(program_text(names))
    program = bench.build(os.path.join(HERE, "counters.cu"), "-lcuda")
    launches = [f"{'_'.join(map(str, name))}:2:{BLOCKS[(i * 5 + i // 7) % len(BLOCKS)]}" for i, name in enumerate(names)]
    _, want = bench.counts(program, ptx, launches, HEDDLE_DEVICE="interp")
    tap.ok(len(want) > 20 * len(launches), "there are counts")
    for level in variants.levels(bench.heddle):
        why = bench.lacks(level)
        if why:
            tap.skip(why)
            continue
        _, got = bench.counts(program, ptx, launches, HEDDLE_DEVICE="cpu", HEDDLE_CPU=level, HEDDLE_DEBUG="sync")
        wrong = [(a, b) for a, b in zip(want, got) if a != b]
        tap.eq((len(got), wrong[:3]), (len(want), []), f"{level} counts the same")


with tempfile.TemporaryDirectory() as top:
    test_forms(Forms(heddle, tap, top))
tap.done()
