#!/usr/bin/env python3
"""Sessions of real GDB: test_gdb.py HEDDLE

Each session is a list of GDB's commands, run in batch mode; what it prints is looked at. One worker thread, so that blocks come
in order."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gdb_bench import Bench, compilers, has, heddle, lacks, main, Source, tap, variants  # noqa: E402

SOURCE = Source("program.cu")
line = SOURCE.line


def test_variables(bench, name):
    """-G: breakpoints by function and line, conditions, steps, frames, variables of all kinds."""
    at = line("call")
    got = bench.gdb(name, ["break kern", "run", "info args", "print threadIdx", "print blockDim.x", "delete",
                           f"break program.cu:{at} if threadIdx.x == 5 && blockIdx.x == 1", "continue", "bt", "info locals",
                           "print i", "print p.b[1]", "print tile[5]", "print *in@2", "print $threadIdx_x",
                           "step", "bt", "info args", "print p->a", "next", "finish", "delete", "continue"])
    has(got, r"hit Breakpoint 1, kern \(out=0x[0-9a-f]+, in=0x[0-9a-f]+, n=64\) at .*program.cu:%d$" % line("first"),
        f"{name}: a breakpoint by function, behind the prologue")
    has(got, r"^\[Switching focus to CUDA kernel 0, grid \d+, block \(0,0,0\), thread \(0,0,0\), device 0, sm 0, warp 0, lane 0\]$",
        f"{name}: the banner")
    has(got, r"^CUDA thread hit Breakpoint 1, kern<<<\(2,1,1\),\(32,1,1\)>>>$", f"{name}: the launch")
    has(got, r"^n = 64$", f"{name}: an argument")
    has(got, r"= \{x = 0, y = 0, z = 0\}$", f"{name}: threadIdx")
    has(got, r"hit Breakpoint 2, kern .*program.cu:%d$" % at, f"{name}: a breakpoint by line, with a condition")
    has(got, r"block \(1,0,0\), thread \(5,0,0\), .*warp 0, lane 5\]$", f"{name}: stops in the lane that it holds for")
    tap.eq(len(re.findall(r"^CUDA thread hit Breakpoint 2,", got, re.M)), 1, f"{name}: and in no other")
    has(got, r"^\$3 = 37$", f"{name}: a local variable")
    has(got, r"^\$4 = 1\.5$", f"{name}: an element of a struct")
    has(got, r"^\$5 = 37$", f"{name}: shared memory")
    has(got, r"^\$6 = \{0, 1\}$", f"{name}: global memory through a pointer")
    has(got, r"^\$7 = 5$", f"{name}: a register of the thread")
    has(got, r"^helper \(x=37, p=0x[0-9a-f]+\) at .*program.cu:%d$" % line("helper"), f"{name}: step goes into a function")
    has(got, r"^#1 .* kern \(.*n=64\) at .*program.cu:%d$" % at, f"{name}: the frame of its caller")
    has(got, r"^\$8 = 37$", f"{name}: through a generic pointer to local memory")
    has(got, r"^Value returned is \$9 = 112$", f"{name}: finish, and what the function returned")
    has(got, r"exited normally", f"{name}: the program ends")
    has(got, r"%s$" % bench.plain(name).strip(), f"{name}: with the same results")


def test_addresses(bench, name):
    """Of variables, with their names."""
    got = bench.gdb(name, [f"break program.cu:{line('call')}", "run", "print &counter", "print &tile", "print &threadIdx", "info symbol &counter",
                           "output/x *&counter", "x/dw &counter", "print *(float *) $shared(20)", "print *(float *) $shared(1 << 20)"])
    has(got, r"^\$1 = \(int \*\) 0x7[0-9a-f]+ <counter>$", f"{name}: a global variable's address")
    has(got, r"^\$2 = \(float \(\*\)\[128\]\) 0x6[0-9a-f]+ <.*tile.*>$", f"{name}: a shared one's")
    has(got, r"^\$3 = .* 0x3", f"{name}: threadIdx's")
    has(got, r"^counter in section .global", f"{name}: and back")
    has(got, r"^0x0?0x7[0-9a-f]+ <counter>:\t0$", f"{name}: what is there")
    has(got, r"^\$4 = 5$", f"{name}: shared memory by its offset")
    has(got, r"^Cannot access memory at address 0x6", f"{name}: and its end")
    lacks(got, r"nternal error|warning|not in symtab", f"{name}: GDB has nothing to complain of")


def test_inlined(bench, name):
    at = line("twice")
    got = bench.gdb(name, [f"break program.cu:{at}", "run", "bt", "up", "info frame"])
    has(got, r"program.cu:%d$" % at, f"{name}: a breakpoint in an inlined function")
    has(got, r"^#0 .*twice", f"{name}: which is a frame")
    has(got, r"^#1 .*kern .*program.cu:%d$" % line("inlined"), f"{name}: of the line that calls it")


def test_lines(bench, name):
    """-lineinfo: lines, parameters by PTX's names."""
    got = bench.gdb(name, [f"break program.cu:{line('call')}", "run", "info args", "info ptx %r1", "delete", "continue"])
    has(got, r"hit Breakpoint 1, .*kern \(kern_param_0=.*program.cu:%d$" % line("call"), f"{name}: a breakpoint by line")
    has(got, r"^kern_param_2 = 64$", f"{name}: parameters")
    has(got, r"^%r1 +0x[0-9a-f]+ -?\d+$", f"{name}: a register of PTX")
    has(got, r"exited normally", f"{name}: the program ends")


def test_ptx(bench, name):
    """Nothing at all: the PTX is the source."""
    got = bench.gdb(name, ["break kern", "run", "stepi", "x/2i $pc", "info source", "delete", "continue"])
    has(got, r"hit Breakpoint 1, kern \(kern_param_0=\d+, .*\.ptx:\d+$", f"{name}: a breakpoint by function")
    has(got, r"^=> 0x4[0-9a-f]+ <kern\+8>:\s+[a-z0-9.]+ %", f"{name}: instructions of PTX")
    has(got, r"exited normally", f"{name}: the program ends")


def test_cuda_commands(bench, name):
    got = bench.gdb(name, [f"break program.cu:{line('call')}", "run", "info cuda kernels", "info cuda blocks",
                           "info cuda threads", "info cuda warps", "info cuda lanes", "info cuda sms", "info cuda devices",
                           "info cuda barriers", "cuda", "cuda thread (7,0,0)", "print i", "cuda block thread",
                           "cuda lane 9", "print i", "cuda thread 99", "info threads", "show cuda break_on_launch"])
    has(got, r"^\* +0 +- +0 +\d+ Active \(2,1,1\) \(32,1,1\) kern$", f"{name}: info cuda kernels")
    has(got, r"^\* \(0,0,0\) 0 0 running$", f"{name}: info cuda blocks")
    has(got, r"^\* \(0,0,0\) +\(0,0,0\) +\(31,0,0\) +32 0x4[0-9a-f]+ +program.cu:%d$" % line("call"),
        f"{name}: info cuda threads")
    has(got, r"^\* +0 0xffffffff 0x00000000 +0x4[0-9a-f]+ 0 \(0,0,0\)$", f"{name}: info cuda warps")
    has(got, r"^\* +0 active +0x4[0-9a-f]+ \(0,0,0\)$", f"{name}: info cuda lanes")
    has(got, r"^kernel 0, grid \d+, block \(0,0,0\), thread \(0,0,0\), device 0, sm 0, warp 0, lane 0$", f"{name}: cuda")
    has(got, r"^\[Switching focus to CUDA .*thread \(7,0,0\)", f"{name}: cuda thread")
    has(got, r"^\$1 = 7$", f"{name}: variables of that thread")
    has(got, r"^block \(0,0,0\), thread \(7,0,0\)$", f"{name}: asks for two coordinates")
    has(got, r"^\$2 = 9$", f"{name}: cuda lane")
    has(got, r"Request cannot be satisfied. CUDA focus unchanged.", f"{name}: a thread that is not there")
    has(got, r'^\* \d+ +Thread \d+ "\(0,0,0\)/\(9,0,0\)" ', f"{name}: info threads")
    has(got, r"Break on every kernel launch is 'none'", f"{name}: show cuda break_on_launch")


def test_managed(bench, name):
    got = bench.gdb(name, ["info cuda managed", "break kern", "run", "info cuda managed", "print *(@shared int *) 0"])
    has(got, r"^No CUDA managed variables\.$", f"{name}: before the program has begun there are no managed variables")
    has(got, r'^Unknown address space specifier: "shared"$', f"{name}: casts to address spaces are refused")
    has(got, r"^many = \{1, 20, 3\}$", f"{name}: info cuda managed shows what the host wrote")
    has(got, r"^space::both = \{a = 7, b = \{0\.5, 1\.5\}\}$", f"{name}: also in a namespace")
    lacks(got, r"^counter = ", f"{name}: and no others")


def test_divergence(bench, name):
    """Lanes part and meet: behind the `if` all 32 are there at once."""
    got = bench.gdb(name, [f"break program.cu:{line('odd')}", "run", "info cuda warps", "delete",
                           f"break program.cu:{line('together')}", "continue", "info cuda warps", "print total", "delete",
                           "continue"], "count")
    has(got, r"hit Breakpoint 1, .*program.cu:%d$" % line("odd"), f"{name}: a breakpoint that half of a warp reaches")
    has(got, r"thread \((1|33),0,0\), .*lane 1\]$", f"{name}: its first lane")
    has(got, r"^\* +\d 0x55555555 0xaaaaaaaa ", f"{name}: lanes that have parted")
    has(got, r"hit Breakpoint 2, .*program.cu:%d$" % line("together"), f"{name}: a breakpoint behind the branch")
    has(got, r"^\* +\d 0xffffffff 0x00000000 ", f"{name}: where the warp is together again")
    has(got, r"^\$1 = 1024$", f"{name}: what they added up")
    has(got, r"count 1024 1024$", f"{name}: results")


def test_watch(bench, name):
    got = bench.gdb(name, ["break count", "run", "watch counter", "delete 1", "continue", "bt", "continue", "delete",
                           "continue"], "count", "3")
    has(got, r"hit Hardware watchpoint 2: counter$", f"{name}: a watchpoint on a global variable")
    has(got, r"^Old value = 0$\s^New value = 16$", f"{name}: old and new value, of a warp's atomics")
    has(got, r"count \(out=0x[0-9a-f]+\) at .*program.cu:%d" % line("even"), f"{name}: where")
    has(got, r"^Old value = 16$\s^New value = 32$", f"{name}: the next warp")
    has(got, r"exited with code 03", f"{name}: the program's exit code")
    got = bench.gdb(name, ["break kern", "run", "rwatch *in", "watch p.b[0]", "delete 1", "continue", "continue", "delete",
                           "continue"], "kern")
    has(got, r"hit Hardware watchpoint 3: p\.b\[0\]$", f"{name}: a watchpoint on a local variable")
    has(got, r"hit Hardware read watchpoint 2: \*in$", f"{name}: a watchpoint on reads")


def test_exception(bench, name):
    got = bench.gdb(name, ["break wild", "run", "continue", "print threadIdx.x", "bt", "continue"], "wild")
    has(got, r"received signal CUDA_EXCEPTION_14, Warp Illegal Address\.$", f"{name}: the exception")
    has(got, r"received signal SIGSEGV", f"{name}: as a signal")
    has(got, r"program.cu:%d$" % line("wild"), f"{name}: where")
    has(got, r"wild an illegal memory access was encountered$", f"{name}: the program gets the error")


def test_returned(bench, name):
    got = bench.gdb(name, ["break half_of if threadIdx.x == 4", "break make if threadIdx.x == 4", "run", "finish", "continue", "finish",
                           "delete", "continue"], "returns")
    has(got, r"^Value returned is \$1 = 2\.5$", f"{name}: finish shows a float")
    has(got, r"^Value returned is \$2 = \{a = 2\.5, b = 5, c = 7\.5\}$", f"{name}: and a struct")
    has(got, r"returns 48$", f"{name}: the result")


def test_write(bench, name):
    """Variables in registers and in memory are changed, for one thread."""
    got = bench.gdb(name, [f"break program.cu:{line('pair')}", "run", "cuda thread 3", "set var i = 60", "print i", "delete",
                           f"break program.cu:{line('store')}", "continue", "print i", "set var h = 1000", "set var p.a = 7",
                           "set var tile[3] = 500", "delete", "continue"])
    has(got, r"^\$1 = 60$", f"{name}: a variable that was changed")
    has(got, r"^\$2 = 60$", f"{name}: and stays so")
    words = re.search(r"kern ([\d -]+)$", got, re.M)
    values = words.group(1).split() if words else []
    plain = bench.plain(name).split()[1:]
    want = plain[:3] + ["0"] + plain[4:60] + [plain[60]] + plain[61:]
    tap.eq(values[:3] + values[4:60], want[:3] + want[4:60], f"{name}: what other threads store is the same")
    tap.ok(len(values) > 60 and values[60] in ("1507", plain[60]), f"{name}: it stores elsewhere, another sum", got)
    tap.ok(len(values) > 3 and values[3] != plain[3], f"{name}: and nothing where it would have", got)


def test_reverse(bench, name):
    """The history of a block: back over statements and calls, to breakpoints and from a fault; memory is what it was."""
    got = bench.gdb(name, ["break kern", "run", "cuda thread 5", "cuda record", "delete", f"break program.cu:{line('store')}",
                           "continue", "print h", "print p.a", "reverse-next", f"tbreak program.cu:{line('call')}",
                           "reverse-continue", "print p.a", "step", "next", "bt",
                           "reverse-finish", "print p.a", "delete", f"tbreak program.cu:{line('pair')}",
                           "reverse-continue", "print i", "reverse-continue", "cuda record off", "continue"])
    has(got, r"^\$1 = 48$", f"{name}: a variable before going back")
    has(got, r"^\$2 = 20$", f"{name}: memory")
    has(got, r"^%d\s.*mark: inlined" % line("inlined"), f"{name}: reverse-next")
    has(got, r"^\$3 = 5$", f"{name}: memory is what it was")
    has(got, r"^#1 .* kern \(", f"{name}: forwards again, into a function")
    has(got, r"^%d\s.*mark: call" % line("call"), f"{name}: reverse-finish")
    has(got, r"^\$4 = 5$", f"{name}: back from a function")
    has(got, r"hit Temporary breakpoint \d+, .*program.cu:%d$" % line("pair"), f"{name}: reverse-continue to a breakpoint")
    has(got, r"No more reverse-execution history", f"{name}: the beginning of the history")
    has(got, r"%s$" % bench.plain(name).strip(), f"{name}: the same results")
    got = bench.gdb(name, ["break wild", "run", "cuda record", "continue", "reverse-stepi", "bt", "stepi", "continue"], "wild")
    has(got, r"CUDA_EXCEPTION_14", f"{name}: a fault while there is a history")
    tap.ok(got.count("CUDA_EXCEPTION_14") == 2, f"{name}: happens again after going back", got)
    has(got, r"wild an illegal memory access was encountered$", f"{name}: the program gets the error")


def test_launches(bench, name):
    got = bench.gdb(name, ["set cuda break_on_launch all", "run", "bt", "set cuda break_on_launch none", "continue"])
    has(got, r"^#0 +kern \(", f"{name}: break_on_launch")
    has(got, r"exited normally", f"{name}: and goes on")


def test_rerun(bench, name):
    got = bench.gdb(name, ["break kern", "run", "run", "bt", "delete", "continue"])
    tap.eq(len(re.findall(r"^CUDA thread hit Breakpoint 1, kern", got, re.M)), 2, f"{name}: run starts the program again")
    has(got, r"exited normally", f"{name}: which ends")


def test_interrupt(bench, name):
    """Ctrl-C in a kernel that never ends, which a breakpoint has made debuggable."""
    command = bench.command(name, ["break spin", "run", "delete", "continue", "bt", "set var *flag = 1", "continue"], "spin")
    got = bench.interrupted(command, ["CUDA thread hit Breakpoint 1"], 2) # the kernel goes on and is in its loop
    has(got, r"received signal SIGINT", f"{name}: an interrupt stops a running kernel")
    has(got, r"^#0 .*spin .*program.cu:\d+$", f"{name}: in it")
    has(got, r"spin 1 7$", f"{name}: memory that was changed is seen by the kernel")


def test_running(bench, name):
    """A kernel that runs in compiled code cannot be stopped, but shown: by Ctrl-C, and by its process."""
    where = r"block \(0,0,0\): .*warp 0 .*in a loop with ld, .*program.cu:(%d|%d)\b" % (line("spin"), line("spin") + 1)
    # Several times: workers that the system does not let run do not answer in time.
    got = bench.interrupted(bench.command(name, ["run", *["continue"] * 3, "info cuda kernels"], "spinning"), ["spinning", *["SIGINT"] * 3], 0.5)
    has(got, r"^heddle: no kernel that can be stopped runs: ", f"{name}: Ctrl-C without a breakpoint")
    has(got, r"^heddle: kernel spin<<<\(1,1,1\),\(32,1,1\)>>> has run for \d", f"{name}: names the kernel that runs")
    has(got, r"^heddle: +" + where, f"{name}: and says where")
    has(got, r"received signal SIGINT", f"{name}: the program is stopped")
    has(got, r"^No CUDA kernels\.$", f"{name}: and none of its kernels")
    process = subprocess.Popen([heddle, "run", bench.programs[name], "spinning"], stdout=subprocess.PIPE, text=True, env=bench.env)
    process.stdout.readline()
    for _ in range(60):
        shown = subprocess.run([heddle, "gdb", "-p", str(process.pid)], capture_output=True, text=True, env=bench.env, timeout=100)
        if re.search(where, shown.stdout, re.M):
            break
        time.sleep(1)
    has(shown.stdout, where, f"{name}: -p shows where its blocks are")
    has(shown.stderr, r"^heddle: gdb: kernels of a process .* cannot be stopped: `heddle gdb PROGRAM`", f"{name}: and what to do to stop them")
    tap.eq(shown.returncode, 0, f"{name}: which is a success")
    process.kill()
    process.communicate()


def test_process(bench):
    """-p with what is no process of ours, and where it makes no sense."""
    for arguments, code, why in ((["-p", "4194305"], 1, "4194305"), (["--pid=x"], 2, "no number of a process"), (["-p"], 2, "needs a value"),
                                 (["-p", "1", "program"], 2, "stands alone"), (["--host", "--pid", "1"], 2, "stands alone")):
        got = subprocess.run([heddle, "gdb", *arguments], capture_output=True, text=True, env=bench.env, timeout=100)
        tap.ok((got.returncode, why in got.stderr) == (code, True), f"heddle gdb {' '.join(arguments)}", (got.returncode, got.stderr))


NAME = "_Z6triplei"
LOADED = """
import ctypes, os
cuda = ctypes.CDLL("libcuda.so.1")
def call(name, *arguments):
    assert getattr(cuda, name)(*arguments) == 0, name
device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
out, answer = ctypes.c_uint64(), ctypes.c_int()
call("cuInit", 0)
call("cuDeviceGet", ctypes.byref(device), 0)
call("cuCtxCreate_v2", ctypes.byref(context), 0, device)
call("cuModuleLoadData", ctypes.byref(module), open(os.environ["TEST_PTX"], "rb").read() + bytes(1))
call("cuModuleGetFunction", ctypes.byref(function), module, b"lines")
call("cuMemAlloc_v2", ctypes.byref(out), 4)
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(out))
call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, parameters, None)
call("cuMemcpyDtoH_v2", ctypes.byref(answer), out, 4)
print("answer", answer.value, flush=True)
"""
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry lines(.param .u64 out)
{
    .reg .b32 %%r<5>;
    .reg .b64 %%rd<3>;
    .loc 1 10 1
    ld.param.u64 %%rd1, [out];
    cvta.to.global.u64 %%rd2, %%rd1;
    mov.u32 %%r1, %%tid.x;
    .loc 1 3 5, function_name $L__info_string0, inlined_at 1 11 9
    mad.lo.s32 %%r2, %%r1, 3, 5;
    add.s32 %%r3, %%r2, 1;
    .loc 1 12 1
    st.global.u32 [%%rd2], %%r3;
    ret;
}
.file 1 "/nowhere/lines.cu"
.section .debug_str
{
$L__info_string0:
.b8 %s,0
}
""" % ",".join(str(ord(c)) for c in NAME)


def test_inlined_lines(bench):
    """inlined_at of .loc, in a module that a Python program loads."""
    ptx, script = os.path.join(bench.folder, "lines.ptx"), os.path.join(bench.folder, "load.py")
    for path, text in ((ptx, PTX), (script, LOADED)):
        with open(path, "w") as file:
            file.write(text)
    bench.env["TEST_PTX"] = ptx
    bench.programs["python"] = os.path.realpath(sys.executable)
    got = bench.gdb("python", ["break lines.cu:3", "run", "bt", "print $ptx(\"%rd2\") != 0", "stepi", "print $ptx(\"%r2\")",
                               "print $ptx(\"%r3\")", "delete", "continue"], script)
    has(got, r"^#0 +triple \(\) at /nowhere/lines.cu:3$", "lines: an inlined function is a frame")
    has(got, r"^#1 +lines \(out=\d+\) at /nowhere/lines.cu:11$", "lines: of the line that calls it")
    has(got, r"^\$1 = true$", "lines: a register")
    has(got, r"^\$2 = 5$", "lines: another one, after a step of one instruction")
    has(got, r"%r3 has no value here", "lines: one that was not written yet")
    has(got, r"answer 6$", "lines: the program ends")


def test_leftovers(bench):
    left = [name for name in os.listdir(bench.folder) if name.startswith("heddle-gdb-")]
    tap.eq(left, [], "no files are left")


def sessions(folder):
    bench = Bench(folder, SOURCE)
    for name, *command in compilers() + [("clang-plain", *variants.current().compiler(heddle, "cc"))]:
        bench.build(name, *command)
    full = [name for name in ("clang-G", "nvcc-G") if name in bench.programs]
    for name in full:
        test_variables(bench, name)
        test_divergence(bench, name)
    for name in full:
        for test in (test_addresses, test_managed, test_write, test_inlined, test_cuda_commands, test_watch, test_exception, test_returned, test_reverse,
                     test_launches, test_rerun, test_interrupt, test_running):
            test(bench, name)
    if "nvcc-lineinfo" in bench.programs:
        test_lines(bench, "nvcc-lineinfo")
    test_process(bench)
    test_ptx(bench, "clang-plain")
    test_inlined_lines(bench)
    test_leftovers(bench)


main(sessions)
