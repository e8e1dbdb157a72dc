#!/usr/bin/env python3
"""Profiles: what processes record together, which devices do, and what is refused with its reason.
test_profile.py HEDDLE LIBCUDA"""
import ctypes
import os
import re
import struct
import subprocess
import sys
import tempfile

from support import PTX, Tap, Tool, write

# A loop with an atomic that no round comes to.
MODULE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
    .reg .b64 %rd<3>; .reg .b32 %r<6>; .reg .pred %p<3>;
    ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];
    mov.u32 %r2, 0; mov.u32 %r3, 0;
loop:
    setp.ne.u32 %p1, %r2, 1000; @%p1 bra next;
    red.global.add.u32 [%rd1+4], %r3;
next:
    mad.lo.u32 %r3, %r3, 3, %r2;
    add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, %r1; @%p2 bra loop;
    st.global.u32 [%rd1], %r3;
    ret;
}
"""
ROUNDS, WARPS = 10, 2


def child(libcuda, path, how):
    """Runs the kernel: twice, or here and after a fork, whose child does nothing with it."""
    cuda = ctypes.CDLL(libcuda)
    context, module, func, memory = (ctypes.c_void_p() for _ in range(4))
    with open(path, "rb") as file:
        image = file.read() + b"\0"
    status = cuda.cuInit(0)
    if status:
        print(status)
        return
    steps = [
        lambda: cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
        lambda: cuda.cuCtxSetCurrent(context),
        lambda: cuda.cuModuleLoadData(ctypes.byref(module), image),
        lambda: cuda.cuModuleGetFunction(ctypes.byref(func), module, b"k"),
        lambda: cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(256)),
    ]
    for step in steps:
        assert step() == 0
    pointer, rounds, got = ctypes.c_uint64(memory.value), ctypes.c_uint32(ROUNDS), (ctypes.c_char * 4)()
    args = (ctypes.c_void_p * 2)(ctypes.addressof(pointer), ctypes.addressof(rounds))
    for _ in range(2 if how == "twice" else 1):
        assert cuda.cuLaunchKernel(func, 1, 1, 1, 32 * WARPS, 1, 1, 0, None, args, None) == 0
    assert cuda.cuMemcpyDtoH_v2(got, memory, ctypes.c_size_t(4)) == 0
    if how == "fork" and not os.fork():
        sys.exit(0)
    if how == "fork":
        os.wait()
    print(struct.unpack("<I", got)[0])


def start(image="k.ptx", how="once", device="sim", **more):
    return subprocess.Popen([sys.executable, os.path.abspath(__file__), "--child", libcuda, os.path.join(folder, image), how], text=True,
                            env=dict(env, HEDDLE_DEVICE=device, HEDDLE_CACHE="off", **more), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(*words, **more):
    done = start(*words, **more)
    out, err = done.communicate(timeout=120)
    return out.strip(), err


def at(name):
    return os.path.join(folder, name)


def counts(name):
    """The counts of the profile's only function, but those of 0."""
    with open(at(name), encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert lines[0] == "heddle-profile 1" and re.fullmatch(r"function [0-9a-f]{16} \d+ k", lines[1]), lines
    return [tuple(map(int, line.split())) for line in lines[2:] if line != "0 0"], lines


def ptxas(*words):
    return subprocess.run([heddle, "ptxas", "-arch=sm_90", *words], cwd=folder, env=env, capture_output=True, text=True, timeout=120)


def test_record():
    want, note = run()
    got, note = run(HEDDLE_PROFILE=at("once"))
    tap.ok(got == want and want, "code that records has the same results", f"{got} {want}\n{note}")
    once, lines = counts("once")
    tap.ok((WARPS, 32 * WARPS) in once and (WARPS * ROUNDS, 32 * WARPS * ROUNDS) in once, "and its counts are exact", lines)
    tap.ok("0 0" in lines, "a block that never ran is there, too", lines)
    run(how="twice", HEDDLE_PROFILE=at("twice"))
    tap.eq(counts("twice")[0], [(2 * w, 2 * n) for w, n in once], "launches of a process add up")
    run(how="fork", HEDDLE_PROFILE=at("fork"))
    tap.eq(counts("fork")[0], once, "a child of fork() adds nothing")
    for each in [start(HEDDLE_PROFILE=at("many")) for _ in range(6)]:
        tap.ok(each.communicate(timeout=120)[0].strip() == want, "one of several processes runs")
    tap.eq(counts("many")[0], [(6 * w, 6 * n) for w, n in once], "they add up in one file")
    tap.eq([n for n in os.listdir(folder) if n.endswith(".tmp")], [], "and leave nothing else")


def test_use():
    want, _ = run()
    got, note = run(HEDDLE_PROFILE_USE=at("once"), HEDDLE_SIM="hazards")
    tap.ok(got == want and "profile" not in note, "code by the profile has the same results", f"{got} {want}\n{note}")
    ptxas("-o", "loops.cubin", "k.ptx")
    made = ptxas("--profile", "once", "-o", "counts.cubin", "k.ptx")
    tap.ok(made.returncode == 0 and not made.stderr, "heddle ptxas takes it", made.stderr)
    listing = [subprocess.run([heddle, "dis", at(name)], env=env, capture_output=True, text=True).stdout for name in ("loops.cubin", "counts.cubin")]
    cold = [text.find("REDG") < text.find("EXIT") for text in listing]
    tap.eq(cold, [True, False], "what never ran comes last in its code")
    tap.ok(".profile" in listing[1] or "profile" in listing[1], "which says that it has one", listing[1])
    for image, use in (("counts.cubin", ""), ("counts.cubin", "once"), ("loops.cubin", "once"), ("counts.cubin", "many")):
        more = {"HEDDLE_PROFILE_USE": at(use)} if use else {}
        got, note = run(image, HEDDLE_DEBUG="counts", HEDDLE_SIM="hazards", **more)
        compiled = "words=" in note
        tap.ok(got.split()[-1:] == [want] and compiled == (bool(use) and (image, use) != ("counts.cubin", "once")),
               f"{image} with {use or 'no profile'} is {'compiled anew' if compiled else 'taken'}", f"{got} {want}\n{note}")


def test_refused():
    for device in ("cpu", "interp"):
        got, note = run(device=device, HEDDLE_PROFILE=at("nothing"))
        tap.ok(got.isdigit() and got != "0" and f"HEDDLE_PROFILE: the {device} device does not count blocks, HEDDLE_DEVICE=sim does" in note,
               f"{device} says that it does not record", f"{got}\n{note}")
    tap.ok(not os.path.exists(at("nothing")), "and writes nothing")
    write(at("bad"), "heddle-profile 1\nfunction 0123456789abcdef 2 k\n1 32\n")
    for name in ("HEDDLE_PROFILE", "HEDDLE_PROFILE_USE"):
        got, note = run(**{name: at("bad")})
        tap.ok("bad:3: the function ends" in note, f"{name}: a malformed file is refused with its line", f"{got}\n{note}")
    with open(at("bad"), encoding="utf-8") as file:
        tap.ok(len(file.read().splitlines()) == 3, "and stays as it is")
    got, note = run(HEDDLE_PROFILE_USE=at("absent"))
    tap.ok("absent: there is no such file" in note, "a file that is not there is told", f"{got}\n{note}")
    made = ptxas("--profile", "bad", "k.ptx")
    tap.ok(made.returncode == 255 and "the function ends" in made.stderr, "heddle ptxas says the same", made.stderr)
    write(at("other.ptx"), PTX.replace("copy", "k"))
    made = ptxas("--profile", "once", "other.ptx")
    tap.ok(made.returncode == 0 and "function k: the profile is of other code of that name and is not used" in made.stderr,
           "a profile of other code is told of", made.stderr)


if sys.argv[1] == "--child":
    child(*sys.argv[2:])
    sys.exit(0)
heddle, libcuda = map(os.path.abspath, sys.argv[1:3])
tap = Tap()
with tempfile.TemporaryDirectory() as folder:
    env = Tool(heddle, folder).env
    write(at("k.ptx"), MODULE)
    test_record()
    test_use()
    test_refused()
tap.done()
