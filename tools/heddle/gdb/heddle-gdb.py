"""cuda-gdb's commands for GDB, over Heddle's server in the program (`heddle run --gdbserver`).

`heddle gdb PROGRAM` loads this file, starts the program and connects. Elsewhere:

    (gdb) source heddle-gdb.py
    (gdb) target remote :1234

docs/debugging.md says what there is.
"""
import contextlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time

import gdb
import gdb.disassembler

INSN_B = 8  # of an instruction: src/dbg/layout.h
TEXT = 4  # what addresses of PTX begin with, in their highest four bits
SHARED_WINDOW = 0x6800000000000000  # likewise
START_S = 60  # for the program to open its socket


def device():
    """The inferior that kernels are in; without a session of both it is the only one."""
    return session.device if session.device is not None else gdb.selected_inferior()


def monitor(command):
    """The answer of the server, for the selected thread, or None where there is none."""
    thread, kernels = gdb.selected_thread(), device()
    if not kernels.pid:
        return None
    is_host = thread is None or not thread.is_valid() or thread.inferior.num != kernels.num
    try:
        if is_host and kernels.threads():
            kernels.threads()[-1].switch()
        elif not is_host:
            command = "as %d %s" % (max(thread.ptid[1:]), command)
        return gdb.execute("monitor " + command, to_string=True)
    except gdb.error:
        return None
    finally:
        if is_host and thread is not None and thread.is_valid():
            thread.switch()


def focus():
    """What describes the focused CUDA thread; None: the host has the focus, or nothing runs."""
    if gdb.selected_inferior().num != device().num:
        return None
    text = (monitor("focus") or "none").strip()
    return None if text == "none" else text


class Session:
    """The program that was started for this debugger, or the server of a core dump."""

    def __init__(self):
        text = os.environ.pop("HEDDLE_GDB_COMMAND", "")
        quiet("unset environment HEDDLE_GDB_COMMAND")
        quiet("unset environment HEDDLE_GDB_HOST")
        self.command = text.split("\x1f") if text else []
        self.core = os.environ.pop("HEDDLE_GDB_CORE", None)
        self.process = None
        self.folder = None
        self.fresh = False  # nothing of the program has run yet
        self.has_host = os.environ.pop("HEDDLE_GDB_HOST", "") == "1"
        self.device = None  # the inferior of kernels, beside the host's

    def start(self):
        self.folder = tempfile.mkdtemp(prefix="heddle-gdb-")
        path = os.path.join(self.folder, "socket")
        if self.has_host:
            self.start_both(path)
            return
        command = self.command[:1] + ["run", "--gdbserver", "unix:" + path] + self.command[1:]
        if self.core:
            command = self.command[:1] + ["gdb", "--core", self.core, "--gdbserver", "unix:" + path]
        # A session of its own: what the terminal sends at Ctrl-C is for the debugger. It does not survive us.
        self.process = subprocess.Popen(command, start_new_session=True, env={**os.environ, "HEDDLE_GDB_LOST": "end"})
        deadline = time.monotonic() + START_S
        while not os.path.exists(path):
            if self.process.poll() is not None:
                raise gdb.GdbError("the core dump cannot be shown" if self.core else
                                   "the program ended before it could be debugged")
            if time.monotonic() > deadline:
                self.process.kill()
                raise gdb.GdbError("the program does not load Heddle's libcuda")
            time.sleep(0.01)
        self.connect(path)
        self.fresh = True

    def connect(self, path):
        if self.core:  # its stop is shown when its files are known
            quietly("set suppress-cli-notifications on")
        gdb.execute("target remote " + path, to_string=True)
        on_connect()
        if self.core:
            quietly("set suppress-cli-notifications off")
            on_stop(None)
            gdb.execute("frame")

    def start_both(self, path):
        """The program as an inferior of its own, stopped where the server in it is ready, and the kernels beside it."""
        quiet("inferior 1")
        quiet("set exec-wrapper %s run --gdbserver apart:unix:%s" % (shlex.quote(self.command[0]), path))
        quiet("starti")  # `run` is ours
        quiet("set auto-load python-scripts off")  # GDB will load them when it has started
        with silence():
            self.connect_both(path)
            apply_settings()
        quiet("set auto-load python-scripts on")
        self.fresh = True

    def connect_both(self, path):
        quiet("continue")
        if not os.path.exists(path):
            raise gdb.GdbError("the program does not load Heddle's libcuda, or cannot be started")
        if self.device is None:
            quiet("add-inferior -no-connection")
            self.device = gdb.inferiors()[-1]
        quiet("inferior %d" % self.device.num)
        quiet("set osabi none")
        quiet("target remote " + path)
        quiet("sharedlibrary cuda.elf")
        quiet("set osabi auto")
        quiet("inferior 1")

    def prepare_both(self):
        for setting in ("maint set target-non-stop on", "set schedule-multiple on", "set print inferior-events off",
                        "set osabi auto"):
            quiet(setting)
        program = shutil.which(self.command[1]) or self.command[1]
        quiet("file " + program)
        quiet("set args " + " ".join(shlex.quote(word) for word in self.command[2:]))

    def end(self):
        if self.device is not None:
            for inferior in (self.device, gdb.inferiors()[0]):
                if inferior.pid:
                    try:
                        quiet("kill inferiors %d" % inferior.num)
                    except gdb.error:
                        pass
        if self.process and self.process.poll() is None:
            try:
                gdb.execute("kill", to_string=True)
                self.process.wait(5)  # it tidies up
            except (gdb.error, subprocess.TimeoutExpired):
                self.process.kill()
                self.process.wait()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.process = self.folder = None


def quietly(command):
    """What this GDB may not know."""
    try:
        gdb.execute(command, to_string=True)
    except gdb.error:
        pass


@contextlib.contextmanager
def silence():
    """GDB tells of stops and switches whatever a command's output is for. What the program prints is not touched."""
    gdb.flush()
    kept = [os.dup(fd) for fd in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for fd in (1, 2):
        os.dup2(nowhere, fd)
    try:
        yield
    finally:
        gdb.flush()
        gdb.flush(gdb.STDERR)
        for fd, old in zip((1, 2), kept):
            os.dup2(old, fd)
            os.close(old)
        os.close(nowhere)


def quiet(command):
    return gdb.execute(command, to_string=True)


session = Session()


def on_connect():
    """Settings that GDB takes from a target only."""
    gdb.execute("sharedlibrary", to_string=True)
    gdb.execute("set scheduler-locking step", to_string=True)
    apply_settings()


class Run(gdb.Command):
    """Run the program: go on from its beginning, or start it again."""

    def __init__(self):
        super().__init__("run", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        if argument.strip():
            raise gdb.GdbError("arguments are given to `heddle gdb PROGRAM ARGUMENTS`")
        if session.core:
            raise gdb.GdbError("a core dump can be looked at, but does not run")
        if not session.fresh:
            session.end()
            session.start()
        session.fresh = False
        gdb.execute("continue")


# ---- stops

shown = None  # the focus that was last told


def aside():
    """GDB shall not step over breakpoints of kernels: the server does, and the host program has to move for it."""
    thread = gdb.selected_thread()
    if session.device is None or not session.device.pid or len(session.device.threads()) < 2:
        return
    shows = thread is not None and thread.is_valid() and thread.inferior.num == session.device.num
    if monitor("aside %d" % (max(thread.ptid[1:]) if shows else 0)) is not None:
        quiet("maint flush register-cache")
    if thread is not None and thread.is_valid():
        thread.switch()


def on_stop(event):
    tell_stop(event)
    aside()


def tell_stop(event):
    global shown
    if not gdb.selected_inferior().pid or (session.core and event):
        return
    now = focus()
    if now and now != shown:
        print("[Switching focus to CUDA %s]" % now)
    shown = now
    if not now:
        return
    number, _, text = (monitor("stop") or "0 ").strip().partition(" ")
    if number != "0":
        name = text.split(":")[0]
        print("CUDA Exception: %s" % text)
        print("CUDA thread received signal CUDA_EXCEPTION_%s, %s." % (number, name))
    elif text:
        print("CUDA: %s" % text)
    elif isinstance(event, gdb.BreakpointEvent):
        point, launch = event.breakpoints[0], (monitor("launch") or "").strip()
        kind = "Breakpoint" if point.type in (gdb.BP_BREAKPOINT, gdb.BP_HARDWARE_BREAKPOINT) else "Watchpoint"
        print("CUDA thread hit %s %d, %s" % (kind, point.number, launch))


def name_of(place):
    return (place.function or "").split("(")[0]


def is_stub(place, kernels):
    """It has a kernel's name: clang's own name for it is in the debug information. nvcc's names its parameters so."""
    if "__device_stub__" in (place.function or "") or place.address >> 60 != TEXT and name_of(place) in kernels:
        return True
    block = gdb.block_for_pc(place.address) if place.address >> 60 != TEXT else None
    while block is not None and block.function is None:
        block = block.superblock
    return block is not None and any(symbol.is_argument and symbol.name.startswith("__cuda_") for symbol in block)


def on_breakpoint(point):
    """The host has a function in place of each kernel, with the kernel's lines: nobody means that."""
    if session.device is None or point.type != gdb.BP_BREAKPOINT or not hasattr(point, "locations"):
        return
    kernels = {name_of(place) for place in point.locations if place.function and place.address >> 60 == TEXT}
    for place in point.locations:
        if place.enabled and is_stub(place, kernels):
            place.enabled = False


def on_exit(event):
    session.fresh = False
    if session.process:
        session.process.wait()


# ---- info cuda ...

class Prefix(gdb.Command):
    def __init__(self, name, kind, doc):
        self.__doc__ = doc
        super().__init__(name, kind, prefix=True)


class Table(gdb.Command):
    def __init__(self, name, doc):
        self.__doc__ = doc
        self.name = name
        super().__init__("info cuda " + name, gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        text = monitor(self.name)
        if text is None:
            raise gdb.GdbError("no program is being debugged")
        if len(text.splitlines()) < 2:
            print("No CUDA %s." % self.name)
        else:
            print(text, end="")


class Threads(gdb.Command):
    """CUDA threads: runs of them that are at the same place."""

    def __init__(self):
        super().__init__("info cuda threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        lines = (monitor("threads") or "").splitlines()
        if not lines:
            print("No CUDA threads.")
            return
        print("  %-12s %-12s %-12s %5s %-18s %s" %
              ("BlockIdx", "ThreadIdx", "To ThreadIdx", "Count", "PC", "Filename:Line"))
        for line in lines:
            block, first, last, count, pc = line[2:].split()
            place = gdb.find_pc_line(int(pc, 16))
            where = "%s:%d" % (os.path.basename(place.symtab.filename), place.line) if place.symtab else "?"
            print("%s %-12s %-12s %-12s %5s %-18s %s" % (line[0], block, first, last, count, pc, where))


class Managed(gdb.Command):
    """Managed variables of the program, with their values."""

    def __init__(self):
        super().__init__("info cuda managed", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        names = sorted(set((monitor("managed") or "").split()))
        if not names:
            print("No CUDA managed variables.")
            return
        print("Static managed variables are:")
        for name in names:
            plain = gdb.execute("demangle -- " + name, to_string=True).strip() if name.startswith("_Z") else name
            value = self.value(name, plain)
            print("%s = %s" % (plain, value) if value else "%s has no type: print a cast of it" % plain)

    @staticmethod
    def value(name, plain):
        """nvcc's variables in namespaces have the mangled name for a name, which GDB's expressions cannot say."""
        try:
            block = gdb.selected_frame().block()
            for scope in (block.static_block, block.global_block):
                for symbol in scope or ():
                    if name in (symbol.name, symbol.linkage_name) and symbol.is_variable:
                        return symbol.value().format_string()
            return gdb.parse_and_eval(plain).format_string()
        except (gdb.error, RuntimeError):  # no frame has symbols, or they have no type
            return None


# ---- cuda ...

COORDINATES = re.compile(r"\(?\s*(\d+)\s*(?:,\s*(\d+)\s*)?(?:,\s*(\d+)\s*)?\)?")


def switch_to(tid):
    for thread in device().threads():
        if tid in thread.ptid[1:]:
            thread.switch()
            return True
    return False


class Cuda(gdb.Command):
    """Show or switch the focus: cuda block (x,y,z) thread (x,y,z), cuda warp W lane L.

Without coordinates the focus is shown. What is not named stays as it is."""

    def __init__(self):
        super().__init__("cuda", gdb.COMMAND_RUNNING, prefix=True)

    def parse(self, argument):
        """Names with their coordinates, as a dictionary; missing axes are 0."""
        found, at = {}, 0
        argument = argument.strip()
        while at < len(argument):
            word = re.compile(r"(kernel|grid|block|thread|device|sm|warp|lane)\b\s*").match(argument, at)
            if not word:
                raise gdb.GdbError("cuda: what is '%s'?" % argument[at:])
            at = word.end()
            numbers = COORDINATES.match(argument, at)
            found[word.group(1)] = tuple(int(n or 0) for n in numbers.groups()) if numbers else None
            at = numbers.end() if numbers else at
            while at < len(argument) and argument[at] in " \t":
                at += 1
        return found

    def invoke(self, argument, from_tty):
        global shown
        now = focus()
        if not now:
            raise gdb.GdbError("Focus not set on any active CUDA kernel.")
        wanted = self.parse(argument)
        if not any(wanted.values()):
            parts = dict(re.findall(r"(\w+) (\([\d,]+\)|\d+)", now))
            print(", ".join("%s %s" % (name, parts[name]) for name in wanted if name in parts) or now)
            return
        block = wanted.get("block") or self.triple(now, "block")
        thread = wanted.get("thread") or self.triple(now, "thread")
        if wanted.get("warp") or wanted.get("lane"):
            thread = self.lane(now, wanted)
        tid = int((monitor("find %d %d %d %d %d %d" % (block + thread)) or "0").strip())
        if not tid or not switch_to(tid):
            raise gdb.GdbError("Request cannot be satisfied. CUDA focus unchanged.")
        shown = focus()
        print("[Switching focus to CUDA %s]" % shown)
        gdb.execute("frame 0")

    @staticmethod
    def triple(text, name):
        return tuple(int(n) for n in re.search(name + r" \((\d+),(\d+),(\d+)\)", text).groups())

    @staticmethod
    def lane(now, wanted):
        parts = dict(re.findall(r"(warp|lane) (\d+)", now))
        warp = wanted["warp"][0] if wanted.get("warp") else int(parts["warp"])
        lane = wanted["lane"][0] if wanted.get("lane") else int(parts["lane"])
        size = tuple(int(gdb.parse_and_eval("$blockDim_" + axis)) for axis in "xyz")
        index = warp * 32 + lane
        return (index % size[0], index // size[0] % size[1], index // size[0] // size[1])


# ---- set cuda ...

class BreakOnLaunch(gdb.Parameter):
    """Stop where kernels begin: none, or application, system or all, which are the same here."""

    set_doc = show_doc = "Stop where kernels begin."

    def __init__(self):
        super().__init__("cuda break_on_launch", gdb.COMMAND_RUNNING, gdb.PARAM_ENUM,
                         ["none", "application", "system", "all"])
        self.value = "none"

    def get_set_string(self):
        apply_settings()
        return ""

    def get_show_string(self, value):
        return "Break on every kernel launch is '%s'." % value


class Record(gdb.Command):
    """Keep the history of the focused block: cuda record [on|off].

Then reverse-step, reverse-next, reverse-continue and the like work in it. Other blocks wait until recording ends."""

    def __init__(self):
        super().__init__("cuda record", gdb.COMMAND_RUNNING)

    def invoke(self, argument, from_tty):
        word = argument.strip() or "on"
        if word not in ("on", "off"):
            raise gdb.GdbError("cuda record: on or off")
        text = monitor("record " + word)
        if text is None or text.strip():
            raise gdb.GdbError((text or "no program is being debugged").strip())


def apply_settings():
    """What the server has to know; before it is there, nothing."""
    monitor("break_on_launch " + break_on_launch.value)


# ---- PTX

def frame_number():
    number, frame = 0, gdb.selected_frame()
    while frame.newer() is not None:
        frame = frame.newer()
        number += frame.type() != gdb.INLINE_FRAME
    return number


class PtxRegisters(gdb.Command):
    """Registers of PTX in the selected frame that have a value: info ptx [NAME]."""

    def __init__(self):
        super().__init__("info ptx", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        text = monitor("registers %d %s" % (frame_number(), argument.strip()))
        print(text if text and text.strip() else "No registers of PTX have a value here.", end="" if text else "\n")


class PtxFunction(gdb.Function):
    """$ptx("%r1"): the bits of a register of PTX in the selected frame."""

    def __init__(self):
        super().__init__("ptx")

    def invoke(self, name):
        text = (monitor("registers %d %s" % (frame_number(), name.string())) or "").split()
        if len(text) < 2:
            raise gdb.GdbError("%s has no value here" % name.string())
        return int(text[1], 0)


class Shared(gdb.Function):
    """$shared(0x20): the address of a byte of the focused block's shared memory, counted as PTX and cuda-gdb's @shared do."""

    def __init__(self):
        super().__init__("shared")

    def invoke(self, offset=0):
        return SHARED_WINDOW + int(offset)


class Ptx(gdb.disassembler.Disassembler):
    def __init__(self):
        super().__init__("heddle")

    def __call__(self, info):
        if info.address >> 60 != TEXT:
            return None
        text = monitor("ptx %x" % info.address)
        if not text or not text.strip():
            return None
        return gdb.disassembler.DisassemblerResult(INSN_B, text.strip())


for setting in ("set breakpoint pending on", "set sysroot /", "set print thread-events off", "set osabi none",
                "set debuginfod enabled off", "set confirm off",
                "skip -gfile */__clang_cuda_builtin_vars.h"):  # what threadIdx is made of
    quietly(setting)

Prefix("info cuda", gdb.COMMAND_STATUS, "What runs on CUDA devices.")
for name, doc in (("devices", "CUDA devices."), ("sms", "Multiprocessors that hold blocks."),
                  ("kernels", "Kernels that run."), ("blocks", "Blocks that run."),
                  ("warps", "Warps of the blocks that run."), ("lanes", "Lanes of the focused warp."),
                  ("barriers", "Who waits at barriers.")):
    Table(name, doc)
Threads()
Managed()
Cuda()
Record()
Prefix("set cuda", gdb.COMMAND_RUNNING, "Settings for CUDA.")
Prefix("show cuda", gdb.COMMAND_RUNNING, "Settings for CUDA.")
break_on_launch = BreakOnLaunch()
PtxRegisters()
PtxFunction()
Shared()
gdb.disassembler.register_disassembler(Ptx(), None)
gdb.events.stop.connect(on_stop)
gdb.events.exited.connect(on_exit)
if session.command:
    Run()
    if session.has_host:
        session.prepare_both()
        gdb.events.breakpoint_created.connect(on_breakpoint)
        gdb.events.breakpoint_modified.connect(on_breakpoint)
    if hasattr(gdb.events, "gdb_exiting"):
        gdb.events.gdb_exiting.connect(lambda event: session.end())
    try:
        session.start()
    except gdb.GdbError as error:
        print("heddle: gdb: %s" % error)
        session.end()
        gdb.execute("quit 1")
