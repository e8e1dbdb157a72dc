#!/usr/bin/env python3
"""Images of heddle ptxas on the simulated GPU: their code is run where it fits, and their PTX compiled where not. Other devices only see PTX.
test_assembled.py HEDDLE LIBCUDA"""
import ctypes
import os
import re
import struct
import subprocess
import sys
import tempfile

from support import Tap, Tool, write

FACTOR = struct.pack("<d", 1.2)
MODULE = """.version 8.0
.target sm_80
.address_size 64
.global .align 8 .u32 total[4] = {1, 2, 3, 4};
.const .align 4 .u32 table[4] = {10, 20, 30, 40};
.file 1 "kernels of a test.cu"
.func (.param .b32 r) sum(.param .b32 n)
{
    .reg .b32 %r<4>; .reg .pred %p;
    .param .b32 a; .param .b32 b;
    ld.param.b32 %r1, [n];
    setp.eq.u32 %p, %r1, 0; @%p bra out;
    sub.u32 %r2, %r1, 1;
    st.param.b32 [a], %r2; call (b), sum, (a); ld.param.b32 %r3, [b];
    add.u32 %r1, %r1, %r3;
out: st.param.b32 [r], %r1; ret;
}
.func (.param .b32 r) triple(.param .b32 n)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [n]; mul.lo.u32 %r1, %r1, 3; st.param.b32 [r], %r1; ret;
}
.global .u64 chosen = triple;
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd<6>; .reg .b32 %r<12>; .reg .f64 %d<4>;
    .param .b32 a; .param .b32 b;
    .shared .align 4 .u32 tile[32];
    prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
    ld.param.u64 %rd1, [p];
    ld.global.f64 %d1, [%rd1];
    mul.f64 %d2, %d1, 0d3FF3333333333333;
    st.global.f64 [%rd1], %d2;
    mov.u64 %rd2, total;
    ld.global.u32 %r1, [%rd2+4];
    ld.const.u32 %r2, [table+8];
    st.param.b32 [a], %r2; call (b), sum, (a); ld.param.b32 %r3, [b];
    ld.global.u64 %rd3, [chosen];
    st.param.b32 [a], %r1; call (b), %rd3, (a), prototype; ld.param.b32 %r4, [b];
    mov.u32 %r5, %tid.x;
    shl.b32 %r6, %r5, 2;
    mov.u32 %r7, tile; add.u32 %r7, %r7, %r6;
    st.shared.u32 [%r7], %r3;
    bar.sync 0;
    ld.shared.u32 %r8, [%r7];
    st.global.u32 [%rd1+8], %r8;
    st.global.u32 [%rd1+12], %r4;
    ret;
}
.visible .entry many(.param .u64 p)
{
    .reg .b64 %rd<2>; .reg .f64 %d<40>;
    ld.param.u64 %rd1, [p];
LOADS
    bar.sync 0;
STORES
    ret;
}
.visible .entry wrong(.param .u64 p)
{
    .reg .b64 %rd<2>;
    mov.u64 %rd1, 8;
    .loc 1 77 3
    st.global.u64 [%rd1], %rd1;
    ret;
}
""".replace("LOADS", "".join(f"    ld.global.f64 %d{i}, [%rd1+{8 * i}];\n" for i in range(20))).replace(
    "STORES", "".join(f"    st.global.f64 [%rd1+{8 * i}], %d{19 - i};\n" for i in range(20)))
# More arguments than registers take: no code.
BAD = """.version 8.0
.target sm_80
.address_size 64
.func (.param .b64 r) deep(.param .align 8 .b8 a[320])
{
    .reg .u64 %r<41>; .reg .pred %p; .param .align 8 .b8 b[320]; .param .b64 c;
    ld.param.u64 %r0, [a];
LOADS
    setp.eq.u64 %p, %r0, 0; @%p bra out;
    sub.u64 %r40, %r0, 1; st.param.u64 [b], %r40;
STORES
    call (c), deep, (b); ld.param.u64 %r1, [c]; add.u64 %r1, %r1, %r0;
out: st.param.b64 [r], %r1; ret;
}
.visible .entry bad(.param .u64 p)
{
    .reg .u64 %r<40>; .reg .u64 %p; .param .align 8 .b8 b[320]; .param .b64 c;
    ld.param.u64 %p, [p];
    mov.u64 %r0, 5;
READS
    st.param.u64 [b], %r0;
STORES
    call (c), deep, (b); ld.param.u64 %r1, [c]; st.global.u64 [%p+8], %r1; ret;
}
.visible .entry good(.param .u64 p) { .reg .u64 %r<2>; ld.param.u64 %r1, [p]; st.global.u64 [%r1], %r1; ret; }
""".replace("LOADS", "".join(f"    ld.param.u64 %r{i}, [a+{8 * i}];\n" for i in range(1, 40))).replace(
    "READS", "".join(f"    ld.global.u64 %r{i}, [%p+{8 * (i % 32)}];\n" for i in range(1, 40))).replace(
    "STORES", "".join(f"    st.param.u64 [b+{8 * i}], %r{i % 39 + 1};\n" for i in range(1, 40)))


def child(libcuda, path, kernel):
    """Runs a kernel of an image: what it wrote, and its registers."""
    cuda = ctypes.CDLL(libcuda)
    context, module, func, memory = (ctypes.c_void_p() for _ in range(4))
    with open(path, "rb") as file:
        image = file.read() + b"\0"
    block = bytearray(256)
    block[:8] = struct.pack("<d", 3.0)
    got, registers, args = (ctypes.c_char * 256)(), ctypes.c_int(), (ctypes.c_void_p * 1)()
    steps = [
        lambda: cuda.cuInit(0),
        lambda: cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
        lambda: cuda.cuCtxSetCurrent(context),
        lambda: cuda.cuModuleLoadData(ctypes.byref(module), image),
        lambda: cuda.cuModuleGetFunction(ctypes.byref(func), module, kernel.encode()),
        lambda: cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(256)),
        lambda: cuda.cuMemcpyHtoD_v2(memory, bytes(block), ctypes.c_size_t(256)),
        lambda: cuda.cuFuncGetAttribute(ctypes.byref(registers), 4, func),
    ]
    for step in steps:
        assert step() == 0
    pointer = ctypes.c_uint64(memory.value)
    args[0] = ctypes.addressof(pointer)
    status = cuda.cuLaunchKernel(func, 1, 1, 1, 32 if kernel == "k" else 1, 1, 1, 0, None, args, None)
    status = status or cuda.cuMemcpyDtoH_v2(got, memory, ctypes.c_size_t(256))
    print(status, struct.unpack("<d", got[:8])[0] if kernel == "k" else "", *struct.unpack("<2I", got[8:16]), registers.value)


def run(image, kernel="k", device="sim", **more):
    """What the child says, its registers, and its messages."""
    done = subprocess.run([sys.executable, os.path.abspath(__file__), "--child", libcuda, os.path.join(folder, image), kernel],
                          env=dict(env, HEDDLE_DEVICE=device, HEDDLE_DEBUG="load", HEDDLE_CACHE="off", **more), capture_output=True, text=True,
                          timeout=120)
    words = done.stdout.split()
    return words[:-1], words[-1:], done.stderr


def ptxas(*words):
    return subprocess.run([heddle, "ptxas", "-arch=sm_90", *words], cwd=folder, env=env, capture_output=True, text=True, timeout=120)


def changed(name, *changes):
    """The image with bytes in the place of others, each of which is there once."""
    with open(os.path.join(folder, "k.cubin"), "rb") as file:
        image = file.read()
    for old, new in changes:
        assert image.count(old) == 1 and len(old) == len(new), (old, image.count(old))
        image = image.replace(old, new)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(image)
    return name


def test_devices():
    made = ptxas("-v", "-o", "k.cubin", "k.ptx")
    tap.ok(made.returncode == 0 and "No code" not in made.stderr, "an image with code of all kernels", made.stderr)
    said = dict(re.findall(r"properties for (\w+)\n.*\n.*Used (\d+) registers", made.stderr))
    for kernel in ("k", "many"):
        want, _, note = run("k.ptx", kernel, "interp")
        tap.ok(want[:1] == ["0"], f"{kernel} runs from PTX", note)
        for device in ("interp", "cpu", "sim"):
            got, registers, note = run("k.cubin", kernel, device, HEDDLE_SIM="hazards")
            tap.ok(got == want, f"the image's gives the same on {device}", f"{got} {want}\n{note}")
            taken = "code of 3 kernels in its image" in note and "not taken" not in note
            tap.eq(taken, device == "sim", f"{device} {'takes its code' if device == 'sim' else 'has no use for its code'}")
        tap.eq(registers, [said[kernel]], "the device says the registers that -v says")
        got, registers, note = run("k.ptx", kernel)
        tap.ok(got == want and "its image" not in note, "the simulated GPU compiles PTX", f"{got} {want}\n{note}")
        tap.eq(registers, [said[kernel]], "to the same registers")
    ptxas("-maxrregcount=24", "-o", "few.cubin", "k.ptx")
    want = run("k.cubin", "many")[0]
    got, registers, note = run("few.cubin", "many")
    tap.ok(got == want and int(registers[0]) <= 24, "code with fewer registers", f"{got} {registers} {note}")


def test_places():
    """An error has the line of the source, whoever compiled."""
    from_ptx, from_image = (re.sub(r"heddle\[load\].*\n", "", run(name, "wrong")[2]) for name in ("k.ptx", "k.cubin"))
    tap.ok("kernels of a test.cu:77" in from_image, "an error has its line", from_image)
    tap.eq(from_image, from_ptx, "as the compiler has it")


def test_changes():
    """Code with another number shows whose is run."""
    want, other = run("k.cubin")[0], struct.pack("<d", 2.0)
    number = changed("number.cubin", (FACTOR, other))
    got, _, note = run(number)
    tap.ok(got[:2] == ["0", "6.0"] and got[2:] == want[2:], "the image's code is what runs", f"{got} {want}\n{note}")
    tap.eq(run(number, device="interp")[0], want, "others do not look at it")
    with open(os.path.join(folder, "k.cubin"), "rb") as file:
        image = file.read()
    at = image.index(b"sm120") + 8
    key = image[at:at + 16]
    for what, changes in {
        "of another version or program": [(FACTOR, other), (key, bytes(16))],
        "for another machine": [(FACTOR, other), (b"sm120", b"sm999")],
        "with a word that is none": [(FACTOR, other), (first_word(image), b"\xff" * 16)],
        "without a variable's name": [(FACTOR, other), (b"total\0", b"totem\0")],
    }.items():
        got, _, note = run(changed("other.cubin", *changes))
        tap.ok(got == want, f"PTX is compiled in place of code {what}", f"{got} {want}\n{note}")
    got, _, note = run(changed("edited.cubin", (b"0d3FF3333333333333", b"0d4000000000000000")))
    tap.ok(got[:2] == ["0", "6.0"] and "not taken" in note, "and in place of code of other PTX", f"{got}\n{note}")


def first_word(image):
    """The first word of k."""
    sections, names = struct.unpack_from("<Q", image, 40)[0], struct.unpack_from("<H", image, 62)[0]
    strings = struct.unpack_from("<Q", image, sections + 64 * names + 24)[0]
    for i in range(names):
        name, at = struct.unpack_from("<I", image, sections + 64 * i)[0], struct.unpack_from("<Q", image, sections + 64 * i + 24)[0]
        if image[strings + name:].startswith(b".text.k\0"):
            return image[at:at + 16]
    raise AssertionError("no section .text.k")


def test_refused():
    made = ptxas("-o", "bad.cubin", "bad.ptx")
    tap.ok(made.returncode == 0 and "No code for Heddle's GPU of function 'bad'" in made.stderr and "240 bytes" in made.stderr,
           "a kernel without code is told of", made.stderr)
    got, _, note = run("bad.cubin", "good")
    tap.ok(got[:1] == ["0"] and "code of 1 kernels" in note, "the other one's is taken", f"{got}\n{note}")
    got, _, note = run("bad.cubin", "bad")
    tap.ok(got[:1] == ["801"] and "240 bytes" in note, "the simulated GPU says why it cannot", f"{got}\n{note}")
    tap.eq(run("bad.cubin", "bad", "interp")[0][:1], ["0"], "other devices can run it")
    ptxas("-c", "-o", "part.cubin", "k.ptx")
    got, _, note = run("part.cubin")
    tap.ok(got == run("k.cubin")[0] and "not taken" in note, "code that was to be linked is compiled as a whole", f"{got}\n{note}")


if sys.argv[1] == "--child":
    child(*sys.argv[2:])
    sys.exit(0)
heddle, libcuda = map(os.path.abspath, sys.argv[1:3])
tap = Tap()
with tempfile.TemporaryDirectory() as folder:
    env = Tool(heddle, folder).env
    write(os.path.join(folder, "k.ptx"), MODULE)
    write(os.path.join(folder, "bad.ptx"), BAD)
    test_devices()
    test_places()
    test_changes()
    test_refused()
tap.done()
