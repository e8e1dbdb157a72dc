#!/usr/bin/env python3
"""Writes the core dump that tests/fuzz/corpus/core holds: mkcore.py FILE

By src/dbg/dump/dump_file.h alone: what the debugger reads is checked against a second pair of hands."""
import struct
import sys

PTX = """.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 counter = 5;
.func (.param .b32 result) twice(.param .b32 x)
{
    .reg .b32 %r<3>;
    ld.param.u32 %r1, [x];
    add.u32 %r2, %r1, %r1;
    st.param.b32 [result], %r2;
    ret;
}
.visible .entry kern(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    .shared .align 4 .b8 tile[64];
    .local .align 4 .b8 mine[16];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    st.shared.u32 [tile], %r1;
    st.local.u32 [mine], %r1;
    {
        .param .b32 a;
        .param .b32 b;
        st.param.b32 [a], %r1;
        call.uni (b), twice, (a);
        ld.param.b32 %r2, [b];
    }
    st.global.u32 [%rd1], %r2;
    bar.sync 0;
    ret;
}
""".encode()
SHARED, LOCAL, GLOBAL = 0x7f0000001000, 0x7f0000002000, 0x7f0000000000
SHARED_B, LOCAL_B, THREADS = 64, 64, 4


def u32(*values):
    return struct.pack("<%dI" % len(values), *values)


def u64(*values):
    return struct.pack("<%dQ" % len(values), *values)


def text(data):
    data = data.encode() if isinstance(data, str) else data
    return u32(len(data)) + data


def note(kind, body):
    return u32(7, len(body), kind) + b"Heddle\0\0" + body + b"\0" * (-len(body) % 4)


def place(words):
    """Line and column of an instruction of the text, from 1."""
    at = PTX.index(words.encode())
    return PTX.count(b"\n", 0, at) + 1, at - PTX.rfind(b"\n", 0, at)


def frame(func, words, base, registers):
    return text(func) + u32(*place(words)) + u64(base) + u32(len(registers)) + b"".join(u32(r) + u64(v, 0) for r, v in registers)


def thread(i):
    frames = [frame("kern", "call.uni", 0, [(1, i), (5, GLOBAL)])]
    if i == 1:
        frames.append(frame("twice", "add.u32", 16, [(1, i)]))
    if i == 3:
        return u32(3) + u64(LOCAL + i * LOCAL_B) + text("") + u32(0)
    return u32(i % 2) + u64(LOCAL + i * LOCAL_B) + text(u32(2 * i)) + u32(len(frames)) + b"".join(frames)


def notes():
    yield note(1, u32(2) + text("0.1.0") + u64(0) + u32(7) + text("/bin/program") + u32(0, 14, 11) + text("Warp Illegal Address: x") + u32(0, 1))
    yield note(2, u32(1) + text("kernel.ptx") + text(PTX) + u32(1) + text("counter") + u64(GLOBAL) + u32(1))
    yield note(3, u32(0) + text("kern") + u64(9) + u32(1, 1, 1, THREADS, 1, 1, 0, 0, 0, 0) + u64(LOCAL_B) + u32(2) + text(u64(GLOBAL)))
    yield note(4, u32(0, 0, 0, 0, 1) + u64(SHARED, SHARED_B) + b"".join(thread(i) for i in range(THREADS)))


def core():
    body = b"".join(notes())
    memory = [(GLOBAL, u32(41, 42, 43, 44)), (SHARED, bytes(range(SHARED_B))), (LOCAL, bytes(LOCAL_B * THREADS))]
    offset = 64 + 56 * (1 + len(memory))
    heads = struct.pack("<IIQQQQQQ", 4, 0, offset, 0, 0, len(body), 0, 4)
    offset += len(body)
    for va, data in memory:
        heads += struct.pack("<IIQQQQQQ", 1, 6, offset, va, 0, len(data), len(data), 1)
        offset += len(data)
    header = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 4, 190, 1, 0, 64, 0, 0, 64, 56, 1 + len(memory), 64, 0, 0)
    return header + heads + body + b"".join(data for _, data in memory)


if __name__ == "__main__":
    with open(sys.argv[1], "wb") as file:
        file.write(core())
