#!/usr/bin/env python3
"""A kernel that loads always runs: each form of code that HEDDLE_FAULT leaves gives the same bytes, and
the log says once per kernel which form it is and why.

    test_forms.py RUN_FORMS HEDDLE [LEVEL...]

With levels (values of HEDDLE_CPU) only what depends on them is tested; one that this CPU lacks is skipped.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

RUN, HEDDLE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LEVELS = sys.argv[3:] or [None]
PTX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "forms.ptx")
# What HEDDLE_FAULT makes fail: what is left.
CHAIN = {
    "jit.fast": "plain",
    "jit.fast,jit.plain": "simple",
    "jit.fast,jit.plain,jit.simple": "interpreted",
}
FAULTS = {"null_store": 700, "far_load": 700, "misaligned": 716, "traps": 719, "asserts": 710, "overflows": 714}
# Where: what the line of the PTX (or .loc) contains, the thread, what it does there.
PLACES = {
    "null_store": ("st.global.u32 [%d1], %r2; ret; // null_store", "(40,0,0)", "write of 4 bytes (st.global.u32)"),
    "far_load": ("mov.u64 %d1, 0x123456789000", "(0,0,0)", "read of 4 bytes (ld.global.u32)"),
    "far_gather": ("// far_gather", "(77,0,0)", "read of 2 bytes (ld.global.u16)"),
    "far_vector": ("// far_vector", "(64,0,0)", "write of 16 bytes (st.global.v4.u32)"),
    "far_atomic": ("// far_atomic", "(33,0,0)", "atomic operation on 4 bytes (atom.global.b32)"),
    "far_copy": ("// far_copy", "(64,0,0)", "read of 16 bytes (ld.global.v2.b64)"),
    "far_copy_part": ("// in part", "(47,0,0)", None),
    "misaligned_copy": ("// misaligned", "(77,0,0)", None),
    "misaligned": ("add.u64 %d1, %d2, 2; ld.global.u32", "(0,0,0)", "read of 4 bytes (ld.global.u32)"),
    "misaligned_index": ("// misaligned_index", "(77,0,0)", "write of 8 bytes (st.global.u64)"),
    "misaligned_step": ("// misaligned_step", "(1,0,0)", "write of 16 bytes (st.global.v4.u32)"),
    "traps": ("trap;", "(70,0,0)", None),
    "asserts": ("call __assertfail, (m, f, l, n, c);", "(70,0,0)", None),
    "overflows": ("st.param.b32 [x], %r2; call (y), endless", "(0,0,0)", None),
    "with_lines": ("lines.cu:12, in callee() inlined at lines.cu:30", "(95,0,0)", "write of 4 bytes (st.global.u32)"),
}
# The test suite's HEDDLE_FAULT=jit.next would forbid what is tested here.
ENVIRON = {name: value for name, value in os.environ.items() if name != "HEDDLE_FAULT"}
SANITIZED = os.environ.get("ASAN_OPTIONS", "") if os.environ.get("HEDDLE_SANITIZER_RUNTIME") else ""
count = failed = 0


def ok(passed, name, note=""):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'' if passed else 'not '}ok {count} - {name}", flush=True)
    for line in note.splitlines() if not passed else ():
        print("#", line[:300])


def run(*args, cache="off", ptx=PTX, **env):
    full = dict(ENVIRON, HEDDLE_CACHE=cache, HEDDLE_MEMORY="256M", **{k: v for k, v in env.items() if v})
    try:
        return subprocess.run([RUN, ptx, *args], env=full, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess([], -1, "it hangs\n", str(late.stderr))


def lines(text):
    """Blocks print in any order."""
    return sorted(text.splitlines())


def fallbacks(result):
    return [line for line in result.stderr.splitlines() if line.startswith("heddle: kernel ")]


def check_results(level):
    want = run(HEDDLE_DEVICE="interp")
    ok(want.returncode == 0 and len(want.stdout.splitlines()) == 27, "the reference", want.stdout[-300:] + want.stderr)
    got = run(HEDDLE_CPU=level)
    ok(lines(got.stdout) == lines(want.stdout) and not fallbacks(got), f"fast, {level}", got.stderr)
    got = run(HEDDLE_CPU=level, HEDDLE_FAULT="jit.singly")
    ok(lines(got.stdout) == lines(want.stdout) and not fallbacks(got), f"pairs of warps, {level}", got.stderr)
    got = run(HEDDLE_CPU=level, HEDDLE_FAULT="jit.singly,jit.whole")
    ok(lines(got.stdout) == lines(want.stdout) and not fallbacks(got), f"halves of warps, {level}", got.stderr)
    for fault, form in CHAIN.items():
        for threads in ("1", "3"):
            got = run(HEDDLE_CPU=level, HEDDLE_FAULT=fault, HEDDLE_THREADS=threads)
            differ = [w.split()[0] for w in want.stdout.splitlines() if w not in got.stdout.splitlines()]
            ok(lines(got.stdout) == lines(want.stdout), f"{form}, {level}, {threads} threads",
               f"differ: {differ}\n" + got.stderr)
        said = fallbacks(got)
        names = {line.split()[2] for line in said}
        ok(len(said) == len(names) == 24 and all(form in line and "HEDDLE_FAULT" in line for line in said),
           f"{form}: said once per kernel, with the reason", got.stderr)


def check_srcloc(kernel, form, result):
    where, thread, access = PLACES[kernel]
    if ".cu" not in where:
        with open(PTX, encoding="utf-8") as file:
            where = f"ptx:{next(n for n, line in enumerate(file, 1) if where in line)}"
    said = next((line for line in result.stderr.splitlines() if "block (" in line), "nothing")
    said_access = access is None or access in said or form == "interpreted" and access.split(" (")[0] in said
    ok(where in said and f"thread {thread}" in said and kernel in said and said_access and "HEDDLE_DEVICE" not in said,
       f"{kernel}, {form}: thread, line and access are named", f"want {where}, {thread}, {access}\n{said}")


def check_faults(level):
    for kernel, error in FAULTS.items():
        for fault, form in CHAIN.items():
            got = run(kernel, HEDDLE_CPU=level, HEDDLE_FAULT=fault)
            ok(got.stdout == f"{error}\n", f"{kernel}, {form}", got.stdout + got.stderr)
    for kernel in PLACES:
        for fault, form in dict(CHAIN, none="fast", **{"jit.singly": "pairs", "jit.whole": "halves"}).items():
            check_srcloc(kernel, form, run(kernel, HEDDLE_CPU=level, HEDDLE_FAULT=fault if form != "fast" else None))
    got = run("null_store", HEDDLE_FAULT="jit.fast,jit.plain,jit.simple", HEDDLE_DEBUG="error")
    ok("kernel null_store, block (" in got.stderr and "thread (40,0,0)" in got.stderr,
       "a fault of an interpreted kernel names block and thread", got.stderr)
    got = run("far_load", HEDDLE_FAULT="jit.fast,jit.plain,jit.simple", HEDDLE_DEBUG="error")
    ok("kernel far_load, block (" in got.stderr and "thread (" in got.stderr and "0x123456789000" in got.stderr,
       "also when a signal says so", got.stderr)


def check_next():
    got = run(HEDDLE_FAULT="jit.fast,jit.next")
    ok(got.returncode and "diverge: error" in got.stdout, "jit.next: no fast form is an error", got.stdout + got.stderr)


def check_cache():
    """What a forced failure made is not what the next process finds, and the reverse."""
    with tempfile.TemporaryDirectory() as cache:
        run(cache=cache, HEDDLE_FAULT="jit.fast")
        got = run(cache=cache, HEDDLE_DEBUG="jit")
        ok("compiled diverge" in got.stderr, "forced forms are not cached", got.stderr)
        got = run(cache=cache, HEDDLE_FAULT="jit.fast")
        ok(len(fallbacks(got)) == 24, "and cached ones do not hide a forced failure", got.stderr)
        got = run(cache=cache, HEDDLE_DEBUG="jit")
        ok("loaded diverge" in got.stderr, "the fast form is cached", got.stderr)


def check_interpreted():
    """What no form of code can do: each says so, and the interpreter runs the kernel."""
    want, got = run("waits_inside", "2", HEDDLE_DEVICE="interp"), run("waits_inside", "2")
    ok(got.stdout == want.stdout and len(want.stdout) > 1000, "a barrier in a function that stays a call",
       want.stdout[-200:] + got.stdout[-200:] + got.stderr)
    said = " ".join(fallbacks(got))
    ok("interpreted" in said and said.count("barrier inside a function") == 3, "and why, form by form", got.stderr)


def check_llvm():
    """LLVM meets a fatal error: the process lives, and so do the other kernels."""
    # What LLVM held when it gave up is lost.
    leaks = {"ASAN_OPTIONS": SANITIZED + ":detect_leaks=0"} if SANITIZED else {}
    want, got = run(), run(HEDDLE_FAULT="jit.llvm", **leaks)
    ok(lines(got.stdout) == lines(want.stdout) and got.returncode == 0, "a fatal error of LLVM is survived",
       got.stdout[-200:] + got.stderr)
    ok(len(fallbacks(got)) == 24 and all("plain" in l and "LLVM: Cannot select" in l for l in fallbacks(got)),
       "and is the reason for the plain form", got.stderr)


def check_hang():
    """A loop without end inside the code generator is given up, and the next form takes over."""
    leaks = {"ASAN_OPTIONS": SANITIZED + ":detect_leaks=0"} if SANITIZED else {}
    want, got = run("diverge"), run("diverge", HEDDLE_FAULT="jit.hang", **leaks)
    ok(got.stdout and got.stdout == want.stdout and got.returncode == 0, "an endless compilation is given up",
       got.stdout[-200:] + got.stderr)
    ok(len(fallbacks(got)) == 1 and "plain" in fallbacks(got)[0] and "does not come to an end" in fallbacks(got)[0],
       "and is the reason for the plain form", got.stderr)


def check_crash():
    """A crash inside the code generator is survived likewise; its thread stays, with what it held."""
    leaks = {"ASAN_OPTIONS": SANITIZED + ":detect_leaks=0"} if SANITIZED else {}
    want, got = run(), run(HEDDLE_FAULT="jit.crash", **leaks)
    ok(lines(got.stdout) == lines(want.stdout) and got.returncode == 0, "a crash in the code generator is survived",
       got.stdout[-200:] + got.stderr)
    ok(len(fallbacks(got)) == 24 and all("plain" in l and "LLVM crashed" in l for l in fallbacks(got)),
       "and is the reason for the plain form", got.stderr)


def check_stack():
    """Code that needs more stack than threads have is not used; quick code gives way to the best first."""
    want, got = run(), run(HEDDLE_FAULT="jit.stack")
    ok(lines(got.stdout) == lines(want.stdout) and got.returncode == 0, "code that needs too much stack is not used",
       got.stdout[-200:] + got.stderr)
    ok(fallbacks(got) and all("plain" in l and "more stack than threads have" in l for l in fallbacks(got)),
       "and that is the reason for the plain form", got.stderr)


def big_ptx(path, loop):
    """A kernel without loops, or with one, that LLVM needs a while for. All blocks write the same."""
    body = "".join(f"mad.lo.u32 %r{i % 4 + 3}, %r{(i + 1) % 4 + 3}, {i * 2654435761 % 4093 + 2}, %r{i % 4 + 3};\n"
                   f"xor.b32 %r{i % 4 + 3}, %r{i % 4 + 3}, %r{(i + 2) % 4 + 3};\n" for i in range(1500))
    with open(path, "w", encoding="utf-8") as file:
        file.write(""".version 8.0
.target sm_80
.address_size 64
.visible .entry big(.param .u64 out) { .reg .b32 %r<16>; .reg .b64 %d<4>; .reg .pred %p;
ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 16; add.u64 %d3, %d1, %d2;
""" + "".join(f"add.u32 %r{i}, %r1, {i};\n" for i in range(3, 11)) + "mov.u32 %r2, 0;\nL:\n" + body +
                   ("add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, 2; @%p bra L;\n" if loop else "") +
                   "st.global.v4.u32 [%d3], {%r3, %r4, %r5, %r6}; ret; }\n")


def check_background():
    """A large kernel starts interpreted while it is compiled; launches that are large wait."""
    early, there = "is interpreted until it is compiled", "better code is there"
    with tempfile.TemporaryDirectory() as folder:
        straight, loop = os.path.join(folder, "straight.ptx"), os.path.join(folder, "loop.ptx")
        big_ptx(straight, False)
        big_ptx(loop, True)
        got = run("big", "2", "1", "40", "2", ptx=straight, HEDDLE_DEBUG="jit")
        ok(got.returncode == 0 and len(set(lines(got.stdout))) == 1 and len(lines(got.stdout)) == 4,
           "all launches of a large kernel give the same bytes", got.stdout[:200] + got.stderr)
        ok(early in got.stderr and there in got.stderr, "it started early and was replaced", got.stderr)
        want = run("big", "2", ptx=straight, HEDDLE_DEVICE="interp")
        ok(lines(want.stdout)[:1] == lines(got.stdout)[:1], "which are the reference's")
        for what, args, ptx, flags in (("that is large", ("40",), straight, "jit"), ("with a loop", ("1",), loop, "jit"),
                                       ("with HEDDLE_DEBUG=sync", ("1",), straight, "jit,sync")):
            got = run("big", *args, ptx=ptx, HEDDLE_DEBUG=flags)
            ok(got.returncode == 0 and early not in got.stderr, f"a launch {what} waits", got.stderr)
        got = run("big", "1", ptx=straight)
        ok(got.returncode == 0 and len(lines(got.stdout)) == 1, "a process that ends meanwhile ends well", got.stderr)
        got = run("big", "1", "40", ptx=straight, HEDDLE_FAULT="jit.fast,jit.plain,jit.simple")
        ok(len(set(lines(got.stdout))) == 1 and len(fallbacks(got)) == 1, "forms fail in the background as well", got.stderr)


def replay(*args, **env):
    return subprocess.run([HEDDLE, "replay", *args], env=dict(ENVIRON, **env), capture_output=True, text=True,
                          timeout=300, check=False)


def check_perf():
    """A dump in the format of Linux's tools/perf/Documentation/jitdump-specification.txt."""
    with tempfile.TemporaryDirectory() as folder:
        env = dict(ENVIRON, HEDDLE_CACHE="off", HEDDLE_MEMORY="256M", HEDDLE_DEBUG="perf")
        subprocess.run([RUN, PTX, "diverge"], env=env, cwd=folder, capture_output=True, timeout=120, check=False)
        data, = [open(os.path.join(folder, name), "rb").read() for name in os.listdir(folder)] or [b"\0" * 48]
        magic, version, head_B, machine = struct.unpack_from("<IIII", data)
        ok((magic, version, machine) == (0x4A695444, 1, 62), "perf: a dump", f"{magic:#x} {version} {machine}")
        id_, size, _, _, _, vma, address, code_B, _ = struct.unpack_from("<IIQIIQQQQ", data, head_B)
        name, _, code = data[head_B + 56:head_B + size].partition(b"\0")
        ok(id_ == 0 and vma == address and name == b"diverge" and len(code) == code_B > 0 and head_B + size == len(data),
           "perf: the kernel, its name and all of its code", f"{id_} {size} {name} {len(code)} {code_B} {len(data)}")


def check_reports():
    with tempfile.TemporaryDirectory() as top:
        folder = os.path.join(top, "reports")
        run(HEDDLE_REPORT=folder)
        ok(os.listdir(folder) == [], "kernels in their fast form leave no report")
        run(HEDDLE_REPORT=folder, HEDDLE_FAULT="jit.fast")
        got = run(HEDDLE_REPORT=folder, HEDDLE_FAULT="jit.fast")
        files = sorted(os.listdir(folder))
        ok(len(files) == 24 and not any("crashed" in f for f in files), "the others one each, however often",
           "\n".join(files))
        lanes = os.path.join(folder, next((f for f in files if f.startswith("lanes")), "none"))
        ok(lanes in got.stderr, "the log names the file", got.stderr)
        check_replay(lanes)
        check_damaged(lanes, os.path.join(top, "damaged"))
    got = run("null_store", HEDDLE_REPORT="/proc/no/such", HEDDLE_FAULT="jit.fast")
    ok(got.stdout == "700\n" and "HEDDLE_REPORT" in got.stderr, "no folder costs the report, not the program", got.stderr)


def check_replay(report):
    got = replay(report)
    ok(got.returncode == 0 and "kernel   lanes, 1d_full" in got.stdout, "replay: all forms work here", got.stdout)
    got = replay("--cpu", "generic", report, HEDDLE_FAULT="jit.plain")
    ok(got.returncode == 1 and "told to fail" in got.stdout, "replay: a form that fails is exit 1", got.stdout)
    # The tool starts a process that is told which libcuda to open: a sanitizer's runtime would come too late.
    got = replay("--run", report) if not SANITIZED else None
    ok(not got or got.returncode == 0 and got.stdout.count("runs: yes") == 5, "replay --run: all forms give the same",
       got and got.stdout)
    got = replay("--json", "--cpu", "avx2", report)
    forms = {f["form"]: f for f in json.loads(got.stdout)["forms"]}
    ok(all(forms[f]["compiles"] == "yes" and forms[f]["object_B"] for f in ("fast", "plain", "simple")),
       "replay --json, for a path that the report is not from", got.stdout)


def check_damaged(report, path):
    with open(report, "rb") as file:
        whole = file.read()
    cases = {"empty": b"", "no report": b"hello\n", "cut": whole[:len(whole) // 2], "cut at the start": whole[:40],
             "no kernel": whole.replace(b"kernel: lanes", b"kernel: other"),
             "no such class": whole.replace(b"launch_class: 1d_full", b"launch_class: 4d"),
             "broken IR": whole.replace(b" = sreg", b" = serg")}
    for name, text in cases.items():
        with open(path, "wb") as file:
            file.write(text)
        got = replay(path)
        ok(got.returncode == 1 and "report" in got.stdout + got.stderr, f"replay refuses a report: {name}",
           f"{got.returncode}\n{got.stdout}{got.stderr}")
    ok(replay(path + "-none").returncode == 1, "replay: no such file")


def lacking(level):
    """What is said when this CPU cannot execute the level; a level that does not exist is no reason to skip."""
    got = run(HEDDLE_CPU=level)
    return next((line for line in got.stderr.splitlines() if "HEDDLE_CPU=" in line and "lacks" in line), None)


def main():
    global count
    for level in LEVELS:
        if lacking(level):
            count += 1
            print(f"ok {count} - {level} # SKIP {lacking(level)}")
            continue
        check_results(level)
        check_faults(level)
    if LEVELS == [None]:
        check_once()
    print(f"1..{count}")
    return failed != 0


def check_once():
    check_cache()
    check_next()
    check_interpreted()
    check_llvm()
    check_crash()
    check_hang()
    check_stack()
    check_background()
    check_reports()
    check_perf()


sys.exit(main())
