#!/usr/bin/env python3
"""heddle ptxas: options, messages, images; what NVIDIA's ptxas accepts and refuses, where there is one.
test_ptxas.py HEDDLE LIBCUDA DOCS"""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile

from support import PTX, Tap, Tool, write

heddle, libcuda, docs = sys.argv[1:4]
tap = Tap()
OK, FAILED = 0, 255
CU_JIT_INPUT_CUBIN = 0
ABORTED = "ptxas fatal   : Ptx assembly aborted due to errors"

CALLS = """.version 8.0
.target sm_70
.address_size 64
.extern .func helper(.param .b32 x);
.visible .entry run(.param .u64 out)
{
    .param .b32 a;
    st.param.b32 [a], 1;
    call helper, (a);
    ret;
}
"""
HELPER = """.version 8.0
.target sm_70
.address_size 64
.visible .func helper(.param .b32 x) { ret; }
"""
LOCAL = """.version 8.0
.target sm_70
.address_size 64
.const .b8 table[12];
.global .b8 room[100];
.visible .entry wide(.param .u64 p)
{
    .reg .f64 %d<40>;
    .reg .u64 %rd<3>;
    .local .align 16 .b8 stack[64];
    .shared .align 8 .b8 sh[256];
    ld.param.u64 %rd1, [p];
    cvta.to.global.u64 %rd2, %rd1;
LOADS    st.shared.f64 [sh], %d1;
    bar.sync 2;
STORES    ret;
}
""".replace("LOADS", "".join(f"    ld.global.f64 %d{i}, [%rd2+{8 * i}];\n" for i in range(20))).replace(
    "STORES", "".join(f"    st.global.f64 [%rd2+{8 * i}], %d{19 - i};\n" for i in range(20)))


GROUPS = """.version 8.7
.target sm_100a
.address_size 64
.func two() { tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned; ret; }
.visible .entry both() { tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; call two; ret; }
"""


def target(text, name, version="8.0"):
    return text.replace("sm_70", name).replace("8.0", version, 1)


FILES = {
    "good.ptx": PTX,
    "calls.ptx": CALLS,
    "helper.ptx": HELPER,
    "local.ptx": LOCAL,
    "newer.ptx": target(PTX, "sm_90"),
    "exact.ptx": target(PTX, "sm_90a"),
    "family.ptx": target(PTX, "sm_100f", "8.8"),
    "unknown.ptx": PTX.replace("ld.global.u32 %r1", "frob.u32 %r1"),
    "undeclared.ptx": PTX.replace("ld.global.u32 %r1", "ld.global.u32 %r77"),
    "mismatch.ptx": PTX.replace("ld.global.u32 %r1", "ld.global.u64 %r1"),
    "groups.ptx": GROUPS,
    "apart.ptx": GROUPS.replace("call two; ", ""),
    "nobody.ptx": "hello\n",
    "empty.ptx": "",
    "future.ptx": PTX.replace("8.0", "9.9", 1),
    "shared.ptx": LOCAL.replace("sh[256]", "sh[65536]"),
    "options": "-v -arch=sm_80\n",
    "loop": "-optf loop\n",
}

# words, exit status, a part of what is said
COMMANDS = [
    ("good.ptx", OK, ""),
    ("-arch=sm_90 good.ptx", OK, ""),
    ("-arch sm_121a good.ptx", OK, ""),
    ("--gpu-name=sm_100f good.ptx", OK, ""),
    ("-arch=sm_42 good.ptx", FAILED, "ptxas fatal   : Value 'sm_42' is not defined for option 'gpu-name'"),
    ("-arch=sm_75a good.ptx", FAILED, "Value 'sm_75a' is not defined for option 'gpu-name'"),
    ("-arch= good.ptx", FAILED, "Value '' is not defined for option 'gpu-name'"),
    ("-gpu-name sm_80 good.ptx", FAILED, "ptxas fatal   : Unknown option 'gpu-name'"),
    ("--arch sm_80 good.ptx", FAILED, "ptxas fatal   : Unknown option '-arch'"),
    ("-frob good.ptx", FAILED, "ptxas fatal   : Unknown option 'frob'"),
    ("--frob=7 good.ptx", FAILED, "ptxas fatal   : Unknown option '-frob"),
    ("-o", FAILED, "ptxas fatal   : argument expected after '-o'"),
    ("-v=1 good.ptx", FAILED, "ptxas fatal   : no argument expected after '-v'"),
    ("--compile-only=true good.ptx", FAILED, "no argument expected after '--compile-only'"),
    ("nosuch.ptx", FAILED, "ptxas fatal   : Input file 'nosuch.ptx' could not be opened"),
    ("-o nosuch/elf.o good.ptx", FAILED, "ptxas fatal   : Output file 'nosuch/elf.o' could not be opened"),
    ("-O3 good.ptx", OK, ""), ("-O good.ptx", OK, ""), ("-O=2 good.ptx", OK, ""), ("--opt-level 0 good.ptx", OK, ""),
    ("-O3x good.ptx", FAILED, "ptxas fatal   : '3x': expected a number"),
    ("-m64 good.ptx", OK, ""), ("-m 32 good.ptx", FAILED, "Value '32' is not defined for option 'machine'"),
    ("-fmad false good.ptx", OK, ""), ("--fmad=true good.ptx", OK, ""),
    ("--fmad=maybe good.ptx", FAILED, "ptxas fatal   : 'maybe': expected true or false"),
    ("-maxrregcount archmax good.ptx", OK, ""), ("-maxrregcount=64 good.ptx", OK, ""),
    ("-maxrregcount x good.ptx", FAILED, "ptxas fatal   : Invalid value 'x' for option 'maxrregcount'"),
    ("-maxrregcount 999 good.ptx", OK, "ptxas warning : Too big maxrregcount value specified 999, will be ignored"),
    ("-Ofc=max good.ptx", OK, ""), ("-Ofc=most good.ptx", FAILED, ""),
    ("-regUsageLevel=7 good.ptx", OK, ""), ("-regUsageLevel=x good.ptx", FAILED, "'x': expected a number"),
    ("--regAllocOptLevel=2 good.ptx", OK, ""), ("-split-compile=0 good.ptx", OK, ""),
    ("-maxntid 1,2,3 good.ptx", OK, ""), ("-minnctapersm x good.ptx", FAILED, ""),
    ("-dlcm ca good.ptx", OK, ""), ("-dscm=wb good.ptx", OK, ""), ("-dlcm zz good.ptx", FAILED, ""),
    ("-suppress-debug-info good.ptx", OK, "ptxas warning : Option suppress-debug-info requires"),
    ("-lineinfo -suppress-debug-info good.ptx", OK, ""),
    ("-g good.ptx", OK, ""), ("-Werror -g -lineinfo good.ptx", FAILED, "ptxas error   : Conflicting options"),
    ("-w -Werror -g -lineinfo good.ptx", OK, ""),
    ("-o one.o -o two.o good.ptx", OK, "ptxas warning : incompatible redefinition for option 'output-file'"),
    ("-optf options good.ptx", OK, "for 'sm_80'"),
    ("-optf nosuch good.ptx", FAILED, "ptxas fatal   : Could not open options file 'nosuch'"),
    ("-arch=compute_90 good.ptx", OK, ""), ("-arch=lto_90 good.ptx", OK, ""),
    ("-e copy good.ptx", OK, ""), ("-e nope good.ptx", FAILED, "ptxas fatal   : Unknown function nope"),
    ("-arch=sm_100a groups.ptx", FAILED, "cta_group"), ("-arch=sm_100a apart.ptx", OK, ""),
    ("newer.ptx", FAILED, "ptxas fatal   : SM version specified by .target is higher"),
    ("-arch=sm_120 newer.ptx", OK, ""),
    ("-arch=sm_90a exact.ptx", OK, ""),
    ("-arch=sm_90 exact.ptx", FAILED, "PTX with .target 'sm_90a' cannot be compiled for architecture 'sm_90'"),
    ("-arch=sm_100a exact.ptx", FAILED, ".target 'sm_90a' cannot be compiled"),
    ("-arch=sm_100 family.ptx", OK, ""), ("-arch=sm_103a family.ptx", OK, ""),
    ("-arch=sm_120 family.ptx", FAILED, "cannot be compiled to different SM-family architecture"),
    ("unknown.ptx", FAILED, "ptxas unknown.ptx, line 12; error   : "),
    ("undeclared.ptx", FAILED, "ptxas undeclared.ptx, line 12; error   : "),
    ("mismatch.ptx", FAILED, "ptxas mismatch.ptx, line 12; error   : "),
    ("good.ptx unknown.ptx", FAILED, "ptxas unknown.ptx, line 12; error   : "),
    ("nobody.ptx", FAILED, "ptxas nobody.ptx, line 1; "), ("empty.ptx", FAILED, "ptxas empty.ptx, line 1; "),
    ("future.ptx", FAILED, "ptxas future.ptx, line 1; fatal   : Unsupported .version 9.9; current version is '9.0'"),
    ("good.ptx good.ptx", FAILED, "ptxas good.ptx, line 4; error   : "),
    ("calls.ptx", FAILED, "'helper'"), ("-c calls.ptx", OK, ""), ("-ewp calls.ptx", OK, ""),
    ("-arch=sm_80 shared.ptx", FAILED, ""),
    ("-warn-lmem-usage local.ptx", OK, "ptxas warning : Local memory used for function 'wide', size of stack frame: 64"),
    ("-warn-double-usage local.ptx", OK, "'wide'"),
]
# What differs, and should: words, our exit status, a part of what is said
OWN = [
    ("calls.ptx helper.ptx", OK, ""),
    ("", FAILED, "No input file"),
    ("-arch=sm_52 -c helper.ptx", FAILED, "higher than default SM version assumed"),
    ("-sanitize memcheck good.ptx", FAILED, "Option 'sanitize' is not implemented"),
    ("-astoolspatch good.ptx", FAILED, "Option 'compile-as-tools-patch' is not implemented"),
    ("-optf loop good.ptx", FAILED, "Options files name each other"),
]


def run(tool, *words, text=None):
    return subprocess.run([tool, *words], cwd=folder, env=env, input=text, capture_output=True, text=True,
                          timeout=60)


def test_commands(vendor):
    for line, status, says in COMMANDS + OWN:
        got = run(ptxas, *line.split())
        tap.ok(got.returncode == status and says in got.stderr and not got.stdout,
               f"ptxas {line}", f"{got.returncode}\n{got.stderr}")
        if status == FAILED and ".ptx, line" in got.stderr:
            tap.ok(got.stderr.endswith(ABORTED + "\n"), "it ends with ptxas's last line", got.stderr)
        if vendor and (line, status, says) in COMMANDS:
            theirs = run(vendor, *line.split())
            tap.eq(theirs.returncode, status, f"NVIDIA's ptxas agrees about {line}")


def test_names():
    link = run(ptxas, "--version")
    tap.eq(link.returncode, OK, "--version")
    tap.eq(bool(re.search(r"release (\d+\.\d+)", link.stdout)), True, "a release as Triton reads it")
    tap.eq(bool(re.search(r"\bV\d+\.\d+\.\d+\b", link.stdout)), True, "a version as XLA reads it")
    tap.eq(run(heddle, "ptxas", "--version").stdout, link.stdout, "`ptxas` is `heddle ptxas`")
    versions = run(ptxas, "--list-version").stdout.split()
    tap.ok(versions[0] == "1.0" and "8.8" in versions and "9.0" in versions, "--list-version", versions)
    text = run(ptxas, "-h").stdout
    with open(os.path.join(docs, "heddle-ptxas.md"), encoding="utf-8") as file:
        options = set(re.findall(r"--[a-z][a-z-]+", file.read()))
    tap.eq(sorted(o for o in options if o not in text), [], "every option of the man page is in --help")
    tap.ok(text.startswith("usage: heddle ptxas"), "--help")


def test_verbose():
    lines = run(ptxas, "-v", "-arch=sm_90", "local.ptx").stderr
    for want in ("ptxas info    : 100 bytes gmem, 12 bytes cmem[3]",
                 "ptxas info    : Compiling entry function 'wide' for 'sm_90'",
                 "ptxas info    : Function properties for wide",
                 "    64 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
                 "used 3 barriers, 64 bytes cumulative stack size, 256 bytes smem, 264 bytes cmem[0]",
                 "are those of code for Heddle's own GPU"):
        tap.ok(want in lines, f"-v says {want.strip()}", lines)
    used = int(re.search(r"Used (\d+) registers", lines).group(1))
    tap.ok(40 <= used <= 56, "twenty doubles that are alive together take 40 registers", used)
    limited = run(ptxas, "-v", "-warn-spills", "-maxrregcount=32", "local.ptx").stderr
    stores, loads = map(int, re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", limited).groups())
    tap.ok(stores >= 4 * (40 - 32) and loads >= 4 * (40 - 32) and "Used 32 registers" in limited and
           "ptxas warning : Registers are spilled to local memory in function 'wide'" in limited, "spills", limited)
    tap.eq("wide" in run(ptxas, "-v", "-e", "copy", "good.ptx", "local.ptx").stderr, False, "-e leaves others out")


def test_inputs():
    tap.eq(run(ptxas, "-o", "stdin.o", "-", text=PTX).returncode, OK, "- is standard input")
    tap.eq(run(ptxas, "-o", "string.o", "-ias", PTX).returncode, OK, "-ias is PTX itself")
    bad = run(ptxas, "-ias", "frob")
    tap.ok("ptxas application ptx input, line 1; " in bad.stderr, "and has a name in messages", bad.stderr)
    tap.eq(all(os.path.exists(os.path.join(folder, f)) for f in ("stdin.o", "string.o")), True, "both are written")
    for name in ("elf.o", "virtual.o", "bad.o"):
        if os.path.exists(os.path.join(folder, name)):
            os.remove(os.path.join(folder, name))
    run(ptxas, "good.ptx")
    tap.ok(os.path.exists(os.path.join(folder, "elf.o")), "elf.o is the default")
    run(ptxas, "-arch=compute_80", "-o", "virtual.o", "good.ptx")
    run(ptxas, "-o", "bad.o", "unknown.ptx")
    tap.eq([n for n in ("virtual.o", "bad.o") if os.path.exists(os.path.join(folder, n))], [],
           "nothing is written for compute_80, nor after an error")


def test_load():
    """An image of two files runs."""
    tap.eq(run(ptxas, "-arch=sm_90", "-o", "k.cubin", "good.ptx", "local.ptx").returncode, OK, "two files are one image")
    with open(os.path.join(folder, "k.cubin"), "rb") as file:
        image = file.read()
    tap.eq((image[:4], image[18] + 256 * image[19], image[49]), (b"\x7fELF", 190, 90), "an ELF file for sm_90")
    cuda = ctypes.CDLL(libcuda)
    context, module, func, memory = (ctypes.c_void_p() for _ in range(4))
    got = (ctypes.c_uint32 * 2)(0, 0)
    steps = [
        lambda: cuda.cuInit(0),
        lambda: cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
        lambda: cuda.cuCtxSetCurrent(context),
        lambda: cuda.cuModuleLoadData(ctypes.byref(module), image),
        lambda: cuda.cuModuleGetFunction(ctypes.byref(func), module, b"wide"),
        lambda: cuda.cuModuleGetFunction(ctypes.byref(func), module, b"copy"),
        lambda: cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(8)),
        lambda: cuda.cuMemsetD32_v2(memory, 0x12345678, ctypes.c_size_t(1)),
    ]
    tap.eq([step() for step in steps], [0] * len(steps), "it loads")
    to, source = ctypes.c_uint64(memory.value + 4), ctypes.c_uint64(memory.value)
    args = (ctypes.c_void_p * 2)(ctypes.addressof(to), ctypes.addressof(source))
    tap.eq(cuda.cuLaunchKernel(func, 1, 1, 1, 1, 1, 1, 0, None, args, None), 0, "its kernel is launched")
    tap.eq(cuda.cuMemcpyDtoH_v2(got, memory, ctypes.c_size_t(8)), 0, "and done")
    tap.eq(list(got), [0x12345678] * 2, "right")
    test_link(cuda)


def test_link(cuda):
    """What -c leaves to a linker, cuLink finds; and it is a library."""
    images = []
    for name in ("calls", "helper"):
        tap.eq(run(ptxas, "-c", "-o", f"{name}.o", f"{name}.ptx").returncode, OK, f"-c {name}.ptx")
        with open(os.path.join(folder, f"{name}.o"), "rb") as file:
            images.append(file.read())
    library, link, cubin, kernel, size = (ctypes.c_void_p() for _ in range(5))
    tap.ok(cuda.cuLibraryLoadData(ctypes.byref(library), images[0], None, None, 0, None, None, 0) != 0 or
           cuda.cuLibraryGetKernel(ctypes.byref(kernel), library, b"run") != 0 or
           cuda.cuKernelGetFunction(ctypes.byref(kernel), kernel) != 0, "one alone lacks a name")
    tap.eq(cuda.cuLinkCreate_v2(0, None, None, ctypes.byref(link)), 0, "a linker")
    for image in images:
        tap.eq(cuda.cuLinkAddData_v2(link, CU_JIT_INPUT_CUBIN, image, ctypes.c_size_t(len(image)), b"x", 0, None, None),
               0, "takes it")
    tap.eq(cuda.cuLinkComplete(link, ctypes.byref(cubin), ctypes.byref(size)), 0, "links both")
    tap.eq(cuda.cuLibraryLoadData(ctypes.byref(library), cubin, None, None, 0, None, None, 0), 0, "a library")
    tap.eq(cuda.cuLibraryGetKernel(ctypes.byref(kernel), library, b"run"), 0, "with the kernel")
    cuda.cuLinkDestroy(link)


with tempfile.TemporaryDirectory() as folder:
    env = Tool(heddle, folder).env
    os.environ.update(HEDDLE_DEVICE="interp", HEDDLE_CACHE=env["HEDDLE_CACHE"])
    ptxas = os.path.join(folder, "ptxas")
    os.symlink(os.path.abspath(heddle), ptxas)
    heddle = os.path.abspath(heddle)
    for name, text in FILES.items():
        write(os.path.join(folder, name), text)
    nvidia = next((p for p in (shutil.which("ptxas"), "/usr/local/cuda/bin/ptxas")
                   if p and os.access(p, os.X_OK) and "NVIDIA" in run(p, "--version").stdout), None)
    test_commands(nvidia)
    test_names()
    test_verbose()
    test_inputs()
    test_load()
tap.done()
