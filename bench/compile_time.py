#!/usr/bin/env python3
"""What compiling large kernels costs, by kind and size: a benchmark, nothing passes or fails.

    bench/compile_time.py [--build DIR] [--path avx512,avx2,generic] [--class 1d_full,other] [--form fast,..]
                          [--effort soon,best,quick] [KIND:N ..]
    bench/compile_time.py --targets             what has a target, beside it
    bench/compile_time.py --print KIND:N        the PTX itself

Kinds: straight (arithmetic on 32 live values), scatter (64-bit loads and stores at scattered places behind a
divergent branch), switch (brx.idx with N targets), switch_uniform, branches (N divergent ifs in a row), nested (ifs in
ifs), loops (N loops in a row), phis (N values around a loop), shared (accesses with barriers between), calls, bytes,
local (every variable in local memory, as compilers without optimisation leave it), results (a call with N results).
Seconds are CPU time; effort "soon" is what a first launch waits for, "best" what hot kernels get later.
"""
import argparse
import itertools
import os
import subprocess
import sys
import tempfile

HEAD = """.version 8.0
.target sm_80
.address_size 64
{functions}
.visible .entry {name}(.param .u64 a, .param .u64 b, .param .u32 n) {{
.reg .pred %p<{preds}>; .reg .b32 %r<{regs}>; .reg .b64 %d<{wide}>; .reg .b16 %h<4>; .shared .align 8 .b8 sm[4096];
{locals}
ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u32 %r2, [n]; mov.u32 %r1, %tid.x;
mad.lo.u32 %r1, %r1, 1, 0; mul.wide.u32 %d3, %r1, 8; add.u64 %d4, %d1, %d3; add.u64 %d5, %d2, %d3;
"""


def kernel(name, body, regs=64, wide=64, preds=8, functions="", locals_=""):
    return HEAD.format(name=name, regs=regs, wide=wide, preds=preds, functions=functions,
                       locals=locals_) + body + "\nst.global.u32 [%d4], %r1;\nret;\n}\n"


def straight(n):
    lines = [f"mad.lo.u32 %r{10 + i}, %r1, {2 * i + 3}, {i};" for i in range(32)]
    ops = ["add.u32", "xor.b32", "mul.lo.u32", "sub.u32", "max.u32"]
    lines += [f"{ops[i % 5]} %r{10 + i % 32}, %r{10 + (i + 1) % 32}, %r{10 + (i * 7 + 5) % 32};" for i in range(n)]
    lines += [f"add.u32 %r1, %r1, %r{10 + i};" for i in range(32)]
    return kernel("straight", "\n".join(lines))


def scatter(n):
    lines = ["brev.b32 %r3, %r1; shr.u32 %r3, %r3, 24; setp.gt.u32 %p1, %r1, %r3; @%p1 bra END;"]
    for i in range(n):
        lines.append(f"mad.lo.u32 %r4, %r2, {i}, %r1; mul.wide.u32 %d6, %r4, 8; add.u64 %d6, %d2, %d6;"
                     f"ld.global.u64 %d{100 + i}, [%d6];")
    for i in range(n):
        lines.append(f"mad.lo.u32 %r4, %r2, {i}, %r3; mul.wide.u32 %d6, %r4, 8; add.u64 %d7, %d2, %d6;"
                     f"ld.global.u64 %d8, [%d7]; mad.lo.u32 %r5, %r2, {i}, %r1; mul.wide.u32 %d9, %r5, 8;"
                     f"add.u64 %d9, %d1, %d9; st.global.u64 [%d9], %d8; add.u64 %d6, %d1, %d6;"
                     f"st.global.u64 [%d6], %d{100 + i};")
    return kernel("scatter", "\n".join(lines) + "\nEND:", wide=100 + n)


def switch(n, index="%r1"):
    names = ", ".join(f"T{i}" for i in range(n))
    lines = [f"rem.u32 %r3, {index}, {n};", f"ts: .branchtargets {names};", "brx.idx %r3, ts;"]
    for i in range(n):
        lines.append(f"T{i}: xor.b32 %r1, %r1, {i + 17}; mul.lo.u32 %r1, %r1, {2 * i + 1}; bra END;")
    return kernel("switch", "\n".join(lines) + "\nEND:")


def switch_uniform(n):
    return switch(n, "%r2")


def branches(n):
    lines = [f"and.b32 %r3, %r1, {i % 31 + 1}; setp.eq.u32 %p1, %r3, 0; @%p1 bra L{i};"
             f"mad.lo.u32 %r1, %r1, {i + 3}, {i}; L{i}:" for i in range(n)]
    return kernel("branches", "\n".join(lines))


def nested(n):
    lines = [f"and.b32 %r3, %r1, {i % 31 + 1}; setp.eq.u32 %p1, %r3, 0; @%p1 bra L{i}; add.u32 %r1, %r1, {i};"
             for i in range(n)]
    lines += [f"L{i}: xor.b32 %r1, %r1, {i};" for i in reversed(range(n))]
    return kernel("nested", "\n".join(lines))


def loops(n):
    lines = [f"mov.u32 %r3, 0; L{i}: mad.lo.u32 %r1, %r1, 3, %r3; add.u32 %r3, %r3, 1; and.b32 %r4, %r1, 15;"
             f"setp.lt.u32 %p1, %r3, %r4; @%p1 bra L{i};" for i in range(n)]
    return kernel("loops", "\n".join(lines))


def phis(n):
    lines = [f"add.u32 %r{100 + i}, %r1, {i};" for i in range(n)] + ["mov.u32 %r3, 0;", "L:"]
    lines += [f"mad.lo.u32 %r{100 + i}, %r{100 + i}, 5, %r{100 + (i + 1) % n};" for i in range(n)]
    lines += ["add.u32 %r3, %r3, 1; and.b32 %r4, %r1, 15; setp.lt.u32 %p1, %r3, %r4; @%p1 bra L;"]
    lines += [f"add.u32 %r1, %r1, %r{100 + i};" for i in range(n)]
    return kernel("phis", "\n".join(lines), regs=100 + n)


def shared(n):
    lines = ["shl.b32 %r3, %r1, 2; and.b32 %r3, %r3, 4092;"]
    for i in range(n):
        lines.append(f"xor.b32 %r4, %r3, {4 * (i % 63 + 1)}; st.shared.u32 [%r3], %r1; bar.sync 0;"
                     f"ld.shared.u32 %r{100 + i % 100}, [%r4]; add.u32 %r1, %r1, %r{100 + i % 100}; bar.sync 0;")
    return kernel("shared", "\n".join(lines), regs=200)


def calls(n):
    functions = (".func (.param .b32 r) f(.param .b32 x) { .reg .b32 %r<4>; .reg .pred %p; .param .b32 y, z;"
                 "ld.param.b32 %r1, [x]; setp.eq.u32 %p, %r1, 0; @%p bra E; shr.u32 %r1, %r1, 1;"
                 "st.param.b32 [y], %r1; call (z), f, (y); ld.param.b32 %r1, [z]; E: add.u32 %r1, %r1, 1;"
                 "st.param.b32 [r], %r1; ret; }")
    lines = ["{ .param .b32 u, v; st.param.b32 [u], %r1; call (v), f, (u); ld.param.b32 %r3, [v]; }"
             "add.u32 %r1, %r1, %r3;" for _ in range(n)]
    return kernel("calls", "\n".join(lines), functions=functions)


def bytes_(n):
    lines = ["brev.b32 %r3, %r1; shr.u32 %r3, %r3, 24; cvt.u64.u32 %d6, %r3; add.u64 %d6, %d2, %d6;"]
    lines += [f"ld.global.u8 %h1, [%d6+{i}]; add.u16 %h1, %h1, {i}; st.global.u8 [%d6+{i}], %h1;" for i in range(n)]
    return kernel("bytes", "\n".join(lines))


def local(n):
    lines = ["st.local.u32 [loc], %r1;"]
    lines += [f"ld.local.u32 %r3, [loc+{4 * i}]; add.u32 %r3, %r3, {i}; st.local.u32 [loc+{4 * i + 4}], %r3;"
              for i in range(n)]
    lines += [f"ld.local.u32 %r1, [loc+{4 * n}];"]
    return kernel("local", "\n".join(lines), locals_=f".local .align 4 .b8 loc[{4 * n + 8}];")


def results(n):
    z = ", ".join(f"z{i}" for i in range(n))
    call = f"{{ .param .b32 a, {z}; st.param.b32 [a], %r1; call ({z}), many, (a);"
    functions = (".func (" + ", ".join(f".param .b32 z{i}" for i in range(n)) + ") many(.param .b32 x) { .reg .b32 %r<4>;"
                 ".reg .pred %p; ld.param.b32 %r1, [x]; setp.eq.u32 %p, %r1, 0; @%p bra E; shr.u32 %r1, %r1, 1;"
                 f"{call} ld.param.b32 %r1, [z0]; }} E:"
                 + " ".join(f"add.u32 %r1, %r1, {i}; st.param.b32 [z{i}], %r1;" for i in range(n)) + " ret; }")
    lines = [call] + [f"ld.param.b32 %r3, [z{i}]; add.u32 %r1, %r1, %r3;" for i in range(n)] + ["}"]
    return kernel("results", "\n".join(lines), functions=functions)


KINDS = {"straight": straight, "scatter": scatter, "switch": switch, "switch_uniform": switch_uniform,
         "branches": branches, "nested": nested, "loops": loops, "phis": phis, "shared": shared, "calls": calls,
         "bytes": bytes_, "local": local, "results": results}
DEFAULT = ["straight:2000", "straight:8000", "scatter:16", "scatter:32", "scatter:64", "scatter:128", "switch:100",
           "switch:500", "switch_uniform:500", "branches:100", "branches:400", "nested:100", "nested:400", "loops:50",
           "loops:200", "phis:64", "phis:250", "shared:40", "shared:160", "calls:50", "calls:200", "bytes:50",
           "bytes:200", "local:200", "local:800", "results:30", "results:60"]
# Seconds until a first launch can run, on avx512: 30,000 LLVM instructions, and 500 targets.
TARGETS = {"straight:13900": 1.0, "switch:500": 0.5}


def ptx(what):
    kind, _, n = what.partition(":")
    return KINDS[kind](int(n or 100))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    p.add_argument("--build", default=os.path.join(root, "build"))
    p.add_argument("--path", default="avx512,avx2,generic")
    p.add_argument("--class", dest="cls", default="1d_full")
    p.add_argument("--form", default="fast")
    p.add_argument("--effort", default="soon")
    p.add_argument("--targets", action="store_true", help="only the kernels that have a target, on avx512")
    p.add_argument("--limit", type=int, default=60, help="seconds for one kernel")
    p.add_argument("--print", dest="print_one", metavar="KIND:N")
    p.add_argument("what", nargs="*", default=DEFAULT, metavar="KIND:N")
    args = p.parse_args()
    if args.print_one:
        sys.stdout.write(ptx(args.print_one))
        return 0
    if args.targets:
        args.what, args.path = list(TARGETS), "avx512"
    tool = os.path.join(args.build, "tests", "jit", "compile_ptx")
    effort = {"soon": [], "best": ["-b"], "quick": ["-q"]}
    with tempfile.TemporaryDirectory() as tmp:
        for what in args.what:
            file = os.path.join(tmp, "k.ptx")
            with open(file, "w") as out:
                out.write(ptx(what))
            for path in args.path.split(","):
                for cls in args.cls.split(","):
                    for form, e in itertools.product(args.form.split(","), args.effort.split(",")):
                        try:
                            r = subprocess.run([tool, "-p", path, "-c", cls, "-f", form, *effort[e], file],
                                               capture_output=True, text=True, timeout=args.limit, check=False)
                            line = r.stdout.strip().splitlines()[-1] if r.stdout else r.stderr.strip()
                        except subprocess.TimeoutExpired:
                            line = f"{path:8} {cls:8} {form:6} more than {args.limit} s"
                        if path == "avx512" and e == "soon" and what in TARGETS:
                            line += f", target {TARGETS[what]} s"
                        print(f"{what:20} {line}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
