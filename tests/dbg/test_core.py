#!/usr/bin/env python3
"""Core dumps of kernels: test_core.py HEDDLE

Programs whose kernels fail write them, GDB and a plain client look at them, and files that are damaged are refused."""
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "../tools"))
from rsp import Client, Closed  # noqa: E402
from support import Tap, find_nvcc, has_gdb, variants  # noqa: E402

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
SOURCE = os.path.join(FOLDER, "programs/core.cu")
PATIENCE_S = 100
with open(SOURCE) as file:
    LINES = file.read().splitlines()


def line(mark):
    return next(i + 1 for i, text in enumerate(LINES) if "mark: %s */" % mark in text)


def has(text, pattern, name):
    tap.ok(re.search(pattern, text, re.M), name, "no %r in\n%s" % (pattern, text))


def wait_until(found, what):
    """The first true answer of `found`; None after a long time."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        got = found()
        if got:
            return got
        time.sleep(0.01)
    tap.ok(False, "waited for " + what)
    return None


class Bench:
    """A folder with a program, which fails, and what it writes."""

    def __init__(self, folder):
        self.folder = folder
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "CUDA_", "HEDDLE_"))}
        self.env.update(HEDDLE_THREADS="2", TMPDIR=folder, HEDDLE_CACHE=os.path.join(folder, "cache"), HOME=folder, **variants.current().env())
        self.programs = {}

    def build(self, name, *command):
        path = os.path.join(self.folder, name)
        got = subprocess.run([*command, SOURCE, "-o", path], capture_output=True, text=True, env=self.env, timeout=200)
        tap.ok(got.returncode == 0, "builds " + name, got.stdout + got.stderr)
        self.programs[name] = path

    def run(self, name, *args, **env):
        env = {**self.env, "CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "1", **env}
        return subprocess.run([heddle, "run", self.programs[name], *args], capture_output=True, text=True, env=env, cwd=self.folder,
                              timeout=PATIENCE_S)

    def dump(self, name, what, **env):
        """The dump of a program that fails."""
        path = os.path.join(self.folder, "%s-%s.core" % (name, what))
        got = self.run(name, what, CUDA_COREDUMP_FILE=path, **env)
        tap.ok(os.path.exists(path), "%s: %s writes a core dump" % (name, what), got.stderr)
        return path, got

    def gdb(self, path, commands, before=()):
        options = [part for command in commands for part in ("-ex", command)]
        got = subprocess.run([heddle, "gdb", "-batch", "-ex", "set width 0", *options, *before, "--core", path], capture_output=True,
                             text=True, env=self.env, timeout=PATIENCE_S)
        return got.stdout + got.stderr

    def serve(self, path):
        """A server of the dump, without GDB, and a client of it."""
        socket = os.path.join(self.folder, "socket-%d" % time.monotonic_ns())
        process = subprocess.Popen([heddle, "gdb", "--core", path, "--gdbserver", "unix:" + socket], env=self.env,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: os.path.exists(socket) or process.poll() is not None, "the server")
        return process, Client(socket)


def test_sight(bench, name):
    """Everything that a debugger shows of a kernel, of one that wrote to a wild address."""
    path, ran = bench.dump(name, "wild")
    tap.eq(ran.returncode, -signal.SIGABRT, f"{name}: the program is aborted, as CUDA does")
    has(ran.stderr, r"^heddle: core dump of kernels: %s " % re.escape(path), f"{name}: and told of the file")
    got = bench.gdb(path, ["bt", "info locals", "print *p", "up", "info args", "info locals", "print tile[5]", "print table",
                           "print counter", "print out[255]", "print $ptx(\"%r1\") != 0", "print threadIdx", "print gridDim.x",
                           "info cuda kernels", "info cuda threads", "info cuda blocks", "info cuda warps", "info cuda lanes",
                           "cuda thread (40,0,0)", "print i", "print p.a", "x/1dw &tile[40]", "x/1dw $shared(160)"])
    has(got, r"^CUDA Exception: Warp Illegal Address: illegal device address at 0x12345678a000: write of 4 bytes", f"{name}: the exception")
    has(got, r"^CUDA thread received signal CUDA_EXCEPTION_14, Warp Illegal Address\.$", f"{name}: its number")
    has(got, r"block \(1,0,0\), thread \(5,0,0\), device 0, sm \d+, warp 0, lane 5\]$", f"{name}: the thread")
    has(got, r"^#0 +put \(to=0x12345678a000.*value=72, p=0x.*core.cu:%d$" % line("put"), f"{name}: where it is")
    has(got, r"^#1 .*kern \(out=0x.*n=69\) at .*core.cu:%d$" % line("call"), f"{name}: its caller")
    has(got, r"^doubled = 144$", f"{name}: a local variable")
    has(got, r"= \{a = 144, b = \{0\.5, 1\.5\}\}$", f"{name}: local memory through a pointer")
    has(got, r"^n = 69$", f"{name}: an argument")
    has(got, r"^i = 69$", f"{name}: a variable of the caller")
    has(got, r"^\$2 = 105$", f"{name}: shared memory")
    has(got, r"^\$3 = \{2, 3, 5, 7\}$", f"{name}: constant memory")
    has(got, r"^\$4 = 41$", f"{name}: a variable of the device")
    has(got, r"^\$5 = \d+$", f"{name}: global memory")
    has(got, r"^\$6 = true$", f"{name}: a register of PTX")
    has(got, r"^\$7 = \{x = 5, y = 0, z = 0\}$", f"{name}: threadIdx")
    has(got, r"^\$8 = 4$", f"{name}: gridDim")
    has(got, r"^\* +0 .* \(4,1,1\) \(64,1,1\) kern$", f"{name}: info cuda kernels")
    has(got, r"^\* \(1,0,0\) +\(5,0,0\) +\(5,0,0\) +1 0x[0-9a-f]+ core.cu:%d$" % line("put"), f"{name}: info cuda threads")
    has(got, r"^  \(1,0,0\) +\(32,0,0\) .*core.cu:%d$" % line("wait"), f"{name}: other warps are elsewhere")
    has(got, r"^\* \(1,0,0\) 0 \d+ running$", f"{name}: info cuda blocks")
    has(got, r"^\* +5 active +0x[0-9a-f]+ \(5,0,0\)$", f"{name}: info cuda lanes")
    has(got, r"^\$9 = 104$", f"{name}: a variable of another thread")
    has(got, r"^\$10 = 104$", f"{name}: in its local memory")
    has(got, r"^0x[0-9a-f]+.*:\t140$", f"{name}: raw shared memory")
    has(got, r"^0x68[0-9a-f]+:\t140$", f"{name}: by its offset")
    return path


def test_still(bench, path):
    """A core dump is looked at, and nothing else."""
    got = bench.gdb(path, ["continue", "set var value = 3", "print value", "stepi", "run", "reverse-step", "print doubled"])
    tap.eq(len(re.findall("can be looked at, but does not run", got)), 4, "what would run does not")
    has(got, r"^\$\d+ = 144$", "and all is as it was")
    tap.ok(not re.search(r"^\$1 = 3$", got, re.M), "variables cannot be set", got)


def test_exceptions(bench, name):
    for what, number, at in (("misaligned", 6, "put"), ("assert", 12, "assert")):
        path, _ = bench.dump(name, what)
        got = bench.gdb(path, ["bt"])
        has(got, r"received signal CUDA_EXCEPTION_%d, " % number, f"{what}: the number")
        has(got, r"core.cu:%d$" % line(at), f"{what}: the place")
    path, _ = bench.dump(name, "trap")
    has(bench.gdb(path, ["bt"], before=[bench.programs[name]]), r"core.cu:%d$" % line("trap"), "PROGRAM --core FILE")


def pieces(path):
    """Of memory, in a core dump."""
    with open(path, "rb") as file:
        return int.from_bytes(file.read(64)[56:58], "little") - 1


def test_light(bench, name):
    tap.ok(pieces(os.path.join(bench.folder, name + "-wild.core")) > 2, "a core dump has memory")
    path, _ = bench.dump(name, "wild", CUDA_ENABLE_LIGHTWEIGHT_COREDUMP="1")
    tap.eq(pieces(path), 0, "a lightweight one has none")
    if not has_gdb():
        return
    got = bench.gdb(path, ["bt", "up", "print tile", "print *out", "print table", "print p", "print n"])
    has(got, r"^#1 .*kern .*core.cu:%d$" % line("call"), "lightweight: frames are there")
    tap.eq(len(re.findall(r"^Cannot access memory", got, re.M)) >= 3, True, "lightweight: memory is not")
    path, _ = bench.dump(name, "wild", CUDA_COREDUMP_GENERATION_FLAGS="skip_global_memory,skip_shared_memory")
    got = bench.gdb(path, ["up", "print tile", "print *out", "print table", "print p.b"])
    has(got, r"^\$\d+ = \{2, 3, 5, 7\}$", "skip_global_memory: constants are there")
    has(got, r"^\$\d+ = \{0\.5, 1\.5\}$", "and local memory")
    tap.eq(len(re.findall(r"^Cannot access memory", got, re.M)), 2, "and no more")


def test_reference(bench, name):
    """The other device, where blocks take turns on one thread."""
    path, ran = bench.dump(name, "wild", HEDDLE_DEVICE="interp")
    tap.eq(ran.returncode, -signal.SIGABRT, "reference device: the program is aborted")
    if has_gdb():
        got = bench.gdb(path, ["up", "print i", "print tile[5]", "print *out@1"])
        has(got, r"^\$1 = 69$", "reference device: a variable")
        has(got, r"^\$2 = 105$", "reference device: shared memory")
        has(got, r"^\$3 = \{\d+\}$", "reference device: global memory")


def test_names(bench, name):
    got = bench.run(name, "wild", CUDA_COREDUMP_FILE="a.%p.%t.%h.core", CUDA_COREDUMP_SHOW_PROGRESS="1",
                    CUDA_COREDUMP_GENERATION_FLAGS="skip_abort")
    tap.eq(len(glob.glob(os.path.join(bench.folder, "a.[0-9]*.[0-9]*.?*.core"))), 1, "%p, %t and %h of names")
    has(got.stderr, r"^heddle: writing a core dump", "its progress is told")
    has(got.stdout, r"^wild: an illegal memory access", "skip_abort: the program goes on")
    got = bench.run(name, "wild", CUDA_ENABLE_CPU_COREDUMP_ON_EXCEPTION="0")
    tap.eq(got.returncode, 0, "no host dump: the program goes on, too")
    tap.eq(len(glob.glob(os.path.join(bench.folder, "core_[0-9]*_*_*.nvcudmp"))), 1, "the name without a name")
    got = bench.run(name, "wild", CUDA_COREDUMP_FILE=os.path.join(bench.folder, "no", "where"))
    has(got.stderr, r"no core dump: .*No such file", "a file that cannot be written")
    has(got.stdout, r"^wild: an illegal memory access", "is no reason to abort")
    got = bench.run(name, "fine", CUDA_COREDUMP_FILE=os.path.join(bench.folder, "fine.core"))
    tap.ok(not os.path.exists(os.path.join(bench.folder, "fine.core")), "a program that does not fail writes none")
    plain = subprocess.run([heddle, "run", bench.programs[name], "fine"], capture_output=True, text=True, env=bench.env, timeout=PATIENCE_S)
    tap.eq(got.stdout, plain.stdout, "and computes the same")
    got = bench.run(name, "fine", CUDA_COREDUMP_GENERATION_FLAGS="skip_everything")
    has(got.stdout + got.stderr, r"what is 'skip_everything'\?", "flags that nobody knows")


def test_trigger(bench, name):
    """A program that hangs, and a byte in a pipe."""
    pipe, path = os.path.join(bench.folder, "pipe.%p"), os.path.join(bench.folder, "spin.core")
    env = {**bench.env, "CUDA_ENABLE_USER_TRIGGERED_COREDUMP": "1", "CUDA_COREDUMP_PIPE": pipe, "CUDA_COREDUMP_FILE": path}
    process = subprocess.Popen([heddle, "run", bench.programs[name], "spin"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=env)
    try:
        tap.eq(process.stdout.readline(), "runs\n", "a kernel spins")
        with open(pipe.replace("%p", str(process.pid)), "w") as file:
            file.write("x")
        process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    tap.eq(process.returncode, -signal.SIGABRT, "a byte in the pipe ends it")
    tap.eq(os.path.exists(path), True, "with a core dump")
    tap.eq(glob.glob(os.path.join(bench.folder, "pipe.*")), [], "and the pipe goes")
    if has_gdb() and os.path.exists(path):
        got = bench.gdb(path, ["info cuda threads", "cuda block (1,0,0) thread (7,0,0)", "print mine", "print flag[1]"])
        tap.eq(len(re.findall(r"^. \([01],0,0\) .*core.cu:\d+$", got, re.M)) >= 2, True, "which has both blocks")
        has(got, r"^\$1 = 17$", "and their variables")
        has(got, r"^\$2 = 64$", "and managed memory")


def test_check(bench, name):
    """heddle check: an error that no device finds."""
    path = os.path.join(bench.folder, "check.core")
    got = subprocess.run([heddle, "check", "--generate-coredump", "yes", "--coredump-name", path, bench.programs[name], "beyond"],
                         capture_output=True, text=True, env=bench.env, timeout=PATIENCE_S)
    has(got.stdout, r"Invalid __global__ write of size 4 bytes", "heddle check tells of the error")
    has(got.stdout, r"ERROR SUMMARY: 1 error$", "and of no other")
    tap.ok(os.path.exists(path), "and writes a core dump", got.stderr)
    if has_gdb():
        has(bench.gdb(path, ["bt"]), r"^#1 .*kern .*core.cu:%d$" % line("call"), "where the error was")
    got = subprocess.run([heddle, "check", "--coredump-name", path, "true"], capture_output=True, text=True, env=bench.env, timeout=PATIENCE_S)
    tap.eq((got.returncode, "--generate-coredump asks for one" in got.stderr), (2, True), "a name alone is refused")


def test_server(bench, path):
    """Without GDB: what a front end asks."""
    process, client = bench.serve(path)
    tap.ok(client.ask("?").startswith("T0b"), "server: the signal")
    tid = client.ask("qC")[2:]
    tap.ok("(5,0,0)" in client.transfer(("threads", "")), "server: its threads")
    sp = client.ask("g")[7 * 16:8 * 16]
    tap.ok(client.ask("Hg" + tid) == "OK" and client.ask("T" + tid) == "OK", "server: the thread that failed")
    address = "%x" % int.from_bytes(bytes.fromhex(sp), "little")
    tap.eq(client.ask("M%s,1:00" % address), "E01", "server: nothing is written")
    tap.eq(client.ask("Z0,%s,1" % address), "E01", "server: no breakpoints")
    tap.eq(client.ask("Z2,%s,4" % address), "", "server: no watchpoints")
    tap.ok(client.go("vCont;c").startswith("T0b"), "server: it does not go on")
    tap.ok(client.go("bc").startswith("T0b"), "server: nor back")
    tap.eq(client.ask("qAttached"), "1", "server: leaving it ends nothing")
    tap.eq(client.ask("vKill;1"), "OK", "server: is told to end")
    tap.eq(process.wait(PATIENCE_S), 0, "server: and ends")
    process, client = bench.serve(path)
    client.ask("?")
    client.close()
    tap.eq(process.wait(PATIENCE_S), 0, "server: ends when its debugger goes")
    try:
        client.ask("?")
        tap.ok(False, "a closed connection answers")
    except (Closed, OSError):
        pass


def test_damaged(bench, path):
    with open(path, "rb") as file:
        whole = file.read()
    changes = {"empty": b"", "a byte": whole[:1], "a header": whole[:64], "its half": whole[:len(whole) // 2],
               "all but a byte": whole[:-1], "text": b"#!/bin/sh\n", "no core dump": whole[:16] + b"\2" + whole[17:],
               "another machine": whole[:18] + b"\x3e" + whole[19:], "no notes": whole[:0xa0] + b"\0" * 0x40 + whole[0xe0:]}
    for what, data in changes.items():
        cut = os.path.join(bench.folder, "cut.core")
        with open(cut, "wb") as file:
            file.write(data)
        got = subprocess.run([heddle, "gdb", "--core", cut, "--gdbserver", "unix:" + os.path.join(bench.folder, "s")], capture_output=True,
                             text=True, env=bench.env, timeout=PATIENCE_S)
        tap.ok(got.returncode == 1 and re.match(r"heddle: gdb: .*cut\.core: ", got.stderr), f"damaged: {what}", got.stderr)
    for args, why in (([], "which program"), (["--core"], "needs a value"), (["--gdbserver", ":1", "true"], "is for --core"),
                      (["--core", os.path.join(bench.folder, "missing")], "No such file"), (["--core", bench.folder], "it is no file")):
        got = subprocess.run([heddle, "gdb", *args], capture_output=True, text=True, env=bench.env, timeout=PATIENCE_S)
        tap.ok(got.returncode in (1, 2) and why in got.stderr, "refused: " + why, got.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        row = variants.current()
        bench.build("clang-G", *row.compiler(heddle, "cc"), *row.options("-G"))
        if find_nvcc():
            bench.build("nvcc-G", *row.compiler(heddle, "nvcc"), *row.options("-G"))
        else:
            tap.skip("no nvcc")
        if has_gdb():
            for name in bench.programs:
                path = test_sight(bench, name)
            test_still(bench, path)
            test_exceptions(bench, "clang-G")
        else:
            tap.skip("no gdb 13 with Python")
        path, _ = bench.dump("clang-G", "wild")
        test_server(bench, path)
        test_damaged(bench, path)
        test_light(bench, "clang-G")
        test_names(bench, "clang-G")
        test_reference(bench, "clang-G")
        test_trigger(bench, "clang-G")
        test_check(bench, "clang-G")
        tap.eq([name for name in os.listdir(folder) if name.startswith("heddle-gdb-")], [], "no files are left")
    tap.done()


main()
