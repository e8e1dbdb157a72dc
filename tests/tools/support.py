"""What the tests of the heddle command share: TAP, running it, and files made for the purpose."""
import json
import os
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../scripts"), os.path.join(HERE, "../variants")]
import variants  # noqa: E402,F401 (the tests take it from here, and these)
from cuda_toolkit import find_nvcc, home  # noqa: E402,F401

PTX = """.version 8.0
.target sm_70
.address_size 64
.visible .entry copy(.param .u64 to, .param .u64 from)
{
    .reg .b64 %rd<5>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [from];
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    ld.global.u32 %r1, [%rd4];
    st.global.u32 [%rd3], %r1;
    ret;
}
"""


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def ok(self, passed, name, note=""):
        self.count += 1
        self.failed += not passed
        print(f"{'ok' if passed else 'not ok'} {self.count} - {name}", flush=True)
        if not passed:
            for line in str(note).splitlines()[-40:]:
                print("#", line)

    def eq(self, got, want, name):
        self.ok(got == want, name, f"got {got!r}\nwant {want!r}")

    def skip(self, why):
        self.count += 1
        print(f"ok {self.count} # SKIP {why}")

    def done(self):
        print(f"1..{self.count}")
        sys.exit(self.failed != 0)


def clean_env(*prefixes):
    """The environment without what tests set themselves; what the host is taken to have stays."""
    return {k: v for k, v in os.environ.items() if k == "HEDDLE_HOST_CPU" or not k.startswith(("HEDDLE_", "LD_", *prefixes))}


class Tool:
    """Runs the heddle command with the libraries of a folder and a cache of its own."""

    def __init__(self, heddle, folder, libdir=None):
        self.heddle = os.path.abspath(heddle)
        self.env = clean_env()
        self.env["HEDDLE_CACHE"] = os.path.join(folder, "cache")
        if libdir:
            self.env["HEDDLE_LIBDIR"] = libdir

    def __call__(self, *args, env=None):
        return subprocess.run([self.heddle, *args], env=dict(self.env, **(env or {})),
                              capture_output=True, text=True, timeout=120)

    def json(self, *args, env=None):
        result = self(*args, env=env)
        try:
            return json.loads(result.stdout)
        except ValueError:
            return {"not json": result.stdout + result.stderr}


class Bench:
    """A folder with a cache of its own, in which the heddle command runs and programs are built."""

    def __init__(self, heddle, tap, folder, **env):
        self.heddle, self.tap, self.folder = os.path.abspath(heddle), tap, folder
        self.env = clean_env("CUDA_", "NVTX_")
        self.variant = variants.current()
        self.env.update(HEDDLE_CACHE=os.path.join(folder, "cache"), HEDDLE_THREADS="2", **self.variant.env(), **env)

    def run(self, *args, timeout=200, **env):
        return subprocess.run([self.heddle, *args], capture_output=True, text=True, env={**self.env, **env}, timeout=timeout, cwd=self.folder)

    def lacks(self, level):
        """Why this host cannot run a level of HEDDLE_CPU; None when it can."""
        return variants.lacks(self.heddle, level)

    def build(self, source, *options):
        """The program that the row of this run makes of it."""
        program = os.path.join(self.folder, os.path.splitext(os.path.basename(source))[0])
        got = subprocess.run(self.variant.command(self.heddle, source, program, *options), capture_output=True, text=True, env=self.env, timeout=200)
        self.tap.ok(got.returncode == 0, "builds", got.stdout + got.stderr)
        return program


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def message(data):
    """{field: [values]} of a protobuf message."""
    at, fields = 0, {}
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = data[at:at + 8], at + 8
        else:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        fields.setdefault(key >> 3, []).append(value)
    return fields


def write(path, text):
    with open(path, "wb" if isinstance(text, bytes) else "w") as f:
        f.write(text)
    return path


def cubin(arch, *sections):
    """The header of a cubin of ABI version 8, and sections of these names without contents: tools look at no more."""
    ident = b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7)
    if not sections:
        return ident + struct.pack("<HHIQQQI", 2, 190, 1, 0, 0, 0, arch << 8) + bytes(12)
    names = b"\0" + b"".join(s.encode() + b"\0" for s in (".shstrtab", *sections))
    at = 64 + 64 * (2 + len(sections))
    head = ident + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64, arch << 8, 64, 0, 0, 64, 2 + len(sections), 1)
    rows = bytes(64) + struct.pack("<IIQQQQIIQQ", 1, 3, 0, 0, at, len(names), 0, 0, 1, 0)
    for s in sections:
        rows += struct.pack("<IIQQQQIIQQ", names.index(b"\0" + s.encode() + b"\0") + 1, 1, 0, 0, at, 0, 0, 0, 1, 0)
    return head + rows + names


def has_gdb():
    """Is there a GDB that `heddle gdb` can use?"""
    try:
        got = subprocess.run(["gdb", "-nx", "-batch", "-ex", "python import gdb.disassembler; print('python')"],
                             capture_output=True, text=True, timeout=60)
    except OSError:
        return False
    return "python" in got.stdout.split()
