#!/usr/bin/env python3
"""Tests of `heddle cc` and include/cuda; speaks TAP.

    test_cc.py HEDDLE SOURCE_ROOT [quick|full]

quick: the driver's behaviour, every feature file to PTX, all headers together. full: every header alone
in the oldest and newest C++ standard, the programs of bench/cuda and examples.
"""
import glob
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile

HEDDLE, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
MODE = (sys.argv[3:] or ["quick"])[0]
HERE = os.path.join(ROOT, "tests/cc")
INCLUDE = os.path.join(ROOT, "include/cuda")
CUDA_ONLY = {"cooperative_groups.h", "mma.h"}  # need clang's CUDA mode
SYSTEM_CALLS = {"vprintf", "malloc", "free", "__assertfail"}  # what a device's system provides
count = 0
failed = 0


def ok(passed, name, detail=""):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'ok' if passed else 'not ok'} {count} - {name}", flush=True)
    if not passed:
        for line in detail.splitlines()[:20]:
            print("#", line)


def run(*args, cwd=None):
    return subprocess.run(args, capture_output=True, text=True, cwd=cwd, check=False)


def cc(*args, cwd=None):
    return run(HEDDLE, "cc", *args, cwd=cwd)


def headers():
    return sorted(os.path.relpath(path, INCLUDE) for pattern in ("*.h", "cooperative_groups/*.h")
                  for path in glob.glob(os.path.join(INCLUDE, pattern)))


def write(work, name, text):
    path = os.path.join(work, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def unresolved(ptx):
    """External functions that no loader supplies."""
    return sorted(set(re.findall(r"\.extern \.func[^;]*?\s(\w+)\s*[(;]", ptx)) - SYSTEM_CALLS)


def check_feature(work, source, *flags):
    name = os.path.basename(source)
    ptx_path = os.path.join(work, name + ".ptx")
    done = cc("-ptx", "-Wall", *flags, source, "-o", ptx_path)
    if done.returncode or done.stderr:
        ok(False, f"{name} compiles without warnings", done.stderr)
        return
    with open(ptx_path, encoding="utf-8") as f:
        ptx = f.read()
    with open(source, encoding="utf-8") as f:
        wanted = re.findall(r"^ \* expect: (.*)$", f.read(), re.M)
    missing = [w for w in wanted if not re.search(w, ptx)]
    ok(not missing and not unresolved(ptx), f"{name} {' '.join(flags)}: instructions, nothing unresolved",
       f"missing {missing}, unresolved {unresolved(ptx)}")


def test_features(work):
    for source in sorted(glob.glob(os.path.join(HERE, "features/*.cu"))):
        check_feature(work, source, "-std=c++17")
    check_feature(work, os.path.join(HERE, "features/maths.cu"), "-std=c++11", "-O0")
    source = os.path.join(HERE, "features/host_api.cu")
    done = cc("-c", "-Wall", "-std=c++11", source, "-o", os.path.join(work, "api.o"))
    ok(done.returncode == 0 and not done.stderr, "host_api.cu compiles for the host", done.stderr)
    fast = os.path.join(work, "fast.ptx")
    done = cc("-use_fast_math", "-ptx", os.path.join(HERE, "features/maths.cu"), "-o", fast)
    text = open(fast, encoding="utf-8").read() if done.returncode == 0 else ""
    ok("ex2.approx" in text and ".ftz" in text, "-use_fast_math gives approximations and ftz", done.stderr)


def test_headers_together(work):
    text = "".join(f"#include <{h}>\n" for h in headers()) + "int main() { return 0; }\n"
    source = write(work, "all.cu", text)
    for std in ("c++03", "gnu++98", "c++11", "c++14", "c++17", "c++20"):
        done = cc("-c", f"-std={std}", "-Wall", source, "-o", os.path.join(work, "all.o"))
        ok(done.returncode == 0 and not done.stderr, f"all headers together, {std}", done.stderr)
    plain = "".join(f"#include <{h}>\n" for h in headers()
                    if h not in CUDA_ONLY and not h.startswith("cooperative_groups/"))
    source = write(work, "all.c", plain + "int main(void) { return 0; }\n")
    done = cc("-c", "-std=c99", "-Wall", "-Wextra", source, "-o", os.path.join(work, "allc.o"))
    ok(done.returncode == 0 and not done.stderr, "C headers together in C99", done.stderr)
    done = cc("-c", os.path.join(HERE, "layout.c"), "-o", os.path.join(work, "layout.o"))
    ok(done.returncode == 0, "sizes and offsets of the API's structs", done.stderr)


def test_with_vendor(work):
    """Headers of the vendor's libraries, which bring the toolkit's by "", before and behind these; by g++, too."""
    folder = next((f for f in ("/usr/local/cuda/include", "/usr/local/include") if os.path.exists(os.path.join(f, "cublas_v2.h"))), None)
    if not folder:
        ok(True, "headers of the vendor's libraries # SKIP none is here")
        return
    own, theirs = ("cuda_runtime.h", "cuda.h", "cuComplex.h", "cuda_fp16.h"), ("cublas_v2.h", "cufft.h", "cusparse.h", "cusolverDn.h", "curand.h")
    compilers = {"cc -x cu": [HEDDLE, "cc", "-x", "cu", f"-I{folder}"], "cc -x c++": [HEDDLE, "cc", "-x", "c++", f"-I{folder}"],
                 "g++": ["g++", f"-I{INCLUDE}", f"-I{folder}"]}
    use = "int f(float4 a, cuComplex c, __half h, cudaStream_t s) { float *p; return cudaMalloc(&p, 4) + (int)(a.x + c.x) + (s != 0); }\n"
    for what, order in (("behind", own + theirs), ("before", theirs + own)):
        names = [h for h in order if h in own or os.path.exists(os.path.join(folder, h))]
        source = write(work, "mixed.cpp", "".join(f"#include <{h}>\n" for h in names) + use)
        for name, command in compilers.items():
            done = run(*command, "-std=c++17", "-c", source, "-o", os.path.join(work, "mixed.o"))
            ok(done.returncode == 0, f"headers of the vendor's libraries {what} Heddle's, {name}", done.stderr)


# What nvcc 13.0 defines by its options, on both sides or on the device's.
MACROS = {
    "-arch=sm_80 -G -dopt=on -use_fast_math -ftz=true -lineinfo": ["__CUDA_ARCH_LIST__=800"],
    "-arch=sm_80 --extended-lambda --expt-relaxed-constexpr -rdc=true -G -default-stream per-thread":
        ["__CUDACC_EXTENDED_LAMBDA__=1", "__CUDACC_RELAXED_CONSTEXPR__=1", "__CUDACC_RDC__=1", "__CUDACC_DEBUG__=1", "CUDA_API_PER_THREAD_DEFAULT_STREAM=1"],
    "-expt-extended-lambda -ewp -gencode arch=compute_90a,code=sm_90a -gencode arch=compute_80,code=[sm_80,compute_80]":
        ["__CUDACC_EXTENDED_LAMBDA__=1", "__CUDACC_EWP__=1", "__CUDA_ARCH_LIST__=800,900"],
}
ALWAYS = ["__NVCC_DIAG_PRAGMA_SUPPORT__=1", "__CUDACC_DEVICE_ATOMIC_BUILTINS__=1", "__CUDACC_VER_MAJOR__=13", "__CUDA_API_VER_MAJOR__=13"]


def test_macros(work):
    """Of both passes, in errors that the source makes of macros that are not as expected."""
    options = sorted({m.partition("=")[0] for macros in MACROS.values() for m in macros} - {"__CUDA_ARCH_LIST__"})
    for flags, macros in MACROS.items():
        text = "#define TEXT(...) #__VA_ARGS__\n#define IS(m, t) static_assert(__builtin_strcmp(TEXT m, t) == 0, t);\n"
        for macro in macros + ALWAYS:
            name, _, value = macro.partition("=")
            text += f"#if !defined({name})\n#error {name}\n#endif\nIS(({name}), \"{value}\")\n" if "," in value else f"#if {name} != {value}\n#error {name}\n#endif\n"
        for name in options:
            if name not in {m.partition("=")[0] for m in macros}:
                text += f"#ifdef {name}\n#error {name} is there\n#endif\n"
        text += "#if defined(__CUDA_ARCH__) != defined(CUDA_DOUBLE_MATH_FUNCTIONS)\n#error CUDA_DOUBLE_MATH_FUNCTIONS\n#endif\n"
        text = text.replace("TEXT m", "TEXT2 m").replace("#define IS", "#define TEXT2(...) TEXT(__VA_ARGS__)\n#define IS")
        done = cc("-Wall", "-c", *flags.split(), write(work, "macros.cu", text + "#pragma nv_diag_suppress 177\n"), "-o", os.path.join(work, "macros.o"))
        ok(done.returncode == 0 and not done.stderr, f"macros of {flags}", done.stderr)
    wheel = os.path.join(work, "wheel/nvidia/cuda_runtime/include")
    os.makedirs(wheel)
    for name, text in (("cuda_runtime.h", "#error a toolkit's\n"), ("cuda_runtime_api.h", "#error a toolkit's\n"), ("beside.h", "#define BESIDE 1\n")):
        write(wheel, name, text)
    source = write(work, "wheel.cu", "#include <cuda_runtime.h>\n#include <beside.h>\nint beside = BESIDE;\n")
    for how in ([f"-I{wheel}"], ["-isystem", wheel], ["-I", wheel]):
        done = cc("-E", *how, source)
        ok(done.returncode == 0, f"the include folder of a wheel, {how[0][:3]}", done.stderr)
    own = os.path.join(work, "own")
    os.makedirs(own)
    write(own, "cuda_runtime.h", "#define OWN 1\n")
    done = cc("-E", f"-I{own}", write(work, "own.cu", "#include <cuda_runtime.h>\nint own = OWN;\n"))
    ok(done.returncode == 0 and "int own = 1;" in done.stdout, "a program's own file of that name comes first", done.stderr)


def test_include(work):
    """Files that the command line includes see CUDA, as with nvcc; a program's own file of the name, too."""
    header = write(work, "pre.h", """#if !defined(__CUDACC__) || !defined(__CUDA_RUNTIME_H__) || defined(SEEN)
#error no CUDA
#endif
#define SEEN 1
static inline cudaError_t cudaMemAdvise(const void *p, size_t n, cudaMemoryAdvise a, int) { return cudaMemAdvise(p, n, a, cudaMemLocation()); }
__global__ void pre(float4 *x) { *x = make_float4(1, 2, 3, __cosf(threadIdx.x)); }
""")
    use = write(work, "use.cu", "int main() { pre<<<1, 1>>>(nullptr); return cudaMemAdvise(nullptr, 0, cudaMemAdviseSetReadMostly, 0) + !SEEN; }\n")
    second = write(work, "pre2.h", "#if !SEEN\n#error the first comes first\n#endif\n")
    for flags in (["-include", header], ["--pre-include", header], [f"-include={header}"], ["-include", header, "-include", second],
                  ["-rdc=true", "-include", header]):
        done = cc("-c", *flags, use, "-o", os.path.join(work, "use.o"))
        ok(done.returncode == 0, f"an included file of CUDA: {flags[0]} {len(flags)}", done.stderr)
    host = write(work, "host.cpp", "int main() { return COUNT - 3; }\n")
    done = cc("-c", "-include", write(work, "host.h", "#ifdef __CUDACC__\n#error CUDA\n#endif\n#define COUNT 3\n"), host, "-o", os.path.join(work, "host.o"))
    ok(done.returncode == 0, "an included file of C++", done.stderr)


def test_languages(work):
    """-x is of all sources, the last one counts; a standard of the other language is left out, as GCC leaves it out."""
    cuda = write(work, "lang.cc", "#ifndef __CUDACC__\n#error C++\n#endif\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n")
    header = write(work, "lang.cuh", "#ifndef __CUDACC__\n#error C++\n#endif\n__global__ void k() {}\n")
    plain_c = write(work, "lang.c", "#ifdef __cplusplus\n#error C++\n#endif\nint class;\n")
    cxx = write(work, "lang.cpp", "#if __cplusplus != STANDARD\n#error standard\n#endif\nint main() { return 0; }\n")
    for name, flags, source in (
            ("-x behind the source", ["-x", "cu"], cuda), ("a header with -x", ["-x", "cu"], header), ("the last -x", ["-x", "c++", "--x", "cu"], cuda), ("-x=cu", ["-x=cu"], cuda),
            ("C with a standard of C++", ["-std=c++14"], plain_c), ("C with GNU's", ["-Xcompiler", "-std=gnu++17,-std=c11"], plain_c),
            ("CUDA with a standard of C", ["-x", "cu", "-Xcompiler", "-std=gnu99"], cuda),
            ("C++ with a standard of C", ["-std=c++14", "-DSTANDARD=201402L", "-Xcompiler", "-std=gnu99"], cxx),
            ("C++ with its own", ["-std=c++20", "-DSTANDARD=202002L"], cxx)):
        done = cc("-c", source, *flags, "-o", os.path.join(work, "lang.o"))
        ok(done.returncode == 0 and os.path.exists(os.path.join(work, "lang.o")), name, done.stderr)
        if done.returncode == 0:
            os.replace(os.path.join(work, "lang.o"), os.path.join(work, "lang.was.o"))
    for wrong in ("WRONG_KERNEL", "WRONG_HOST"):
        done = cc("-c", f"-D{wrong}", os.path.join(HERE, "run/sides.cu"), "-o", os.path.join(work, "lang.o"))
        ok(done.returncode != 0 and "error" in done.stderr, f"a call of the other side: {wrong}", done.stderr)
    done = cc("-c", plain_c, "-Xcompiler", "-std=c89,-pedantic-errors", "-o", os.path.join(work, "lang.o"))
    ok(done.returncode == 0, "a standard of C for C", done.stderr)
    done = cc("-c", write(work, "new.c", "inline int f(void) { return 1; }\n"), "-Xcompiler", "-std=c89", "-o", os.path.join(work, "lang.o"))
    ok(done.returncode != 0, "which holds", done.stderr)


def test_own_libraries(work):
    """Libraries that Heddle has are Heddle's, by path, from any folder; the libraries of others keep their names."""
    nvml = "nvmlInit() == NVML_SUCCESS && nvmlDeviceGetCount(&n) == NVML_SUCCESS && n > 0"
    nvrtc = "nvrtcVersion(&n, &m) == NVRTC_SUCCESS && n >= 12"
    for header, call, flags in (("nvml.h", nvml, ["-lnvidia-ml"]), ("nvml.h", nvml, ["-l", "nvidia-ml,m", "-L/nonexistent"]),
                                ("nvml.h", nvml, ["-lnvidia-ml", "-lcuda"]), ("nvrtc.h", nvrtc, ["-lnvrtc"])):
        number = "unsigned" if header == "nvml.h" else "int"
        source = write(work, "own.cu", f"#include <{header}>\nint main() {{ {number} n = 0, m = 0; return !({call}) || m == 77; }}\n")
        program = os.path.join(work, "of_own")
        done = cc(source, *flags, "-o", program)
        if done.returncode == 0:
            done = run(program, cwd="/")
        ok(done.returncode == 0, "a library of Heddle's: " + " ".join(flags), done.stderr)
    done = cc("--dryrun", source, "-lcud", "-lheddle", "-lnvrtc12", "-o", program)
    ok(all(name in done.stderr for name in ("-lcud ", "-lheddle ", "-lnvrtc12")), "names that begin or end otherwise", done.stderr)


def test_driver(work):
    kernel = write(work, "k.cu", "__global__ void k(int *p) { *p = 1; }\nint main() { return 0; }\n")
    done = cc("--dryrun", kernel, "-o", "k", "-cudart", "none")
    ok(done.returncode == 0 and done.stderr.count("clang") >= 3, "--dryrun prints device, host and link steps")
    ok(cc("--no-such-option", kernel).returncode == 2, "an unknown option is wrong usage")
    ok(cc().returncode == 2, "no input is wrong usage")
    ok(cc("-arch=sm_20", kernel).returncode == 2, "an architecture older than sm_50 is refused")
    done = cc("-c", os.path.join(work, "missing.cu"))
    ok(done.returncode not in (0, 2), "a missing file fails")
    broken = write(work, "broken.cu", "__global__ void k( {}\n")
    done = cc("-c", broken, "-o", os.path.join(work, "broken.o"))
    ok(done.returncode != 0 and "error" in done.stderr, "a syntax error fails and is shown")
    done = cc("-ptx", "k.cu", cwd=work)
    ok(done.returncode == 0 and os.path.exists(os.path.join(work, "k.ptx")), "-ptx names its output k.ptx")
    arch = write(work, "arch.cu", """#include <cuda_bf16.h>
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 1200
#error __CUDA_ARCH__
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH_SPECIFIC__ != 1200
#error __CUDA_ARCH_SPECIFIC__
#endif
template <class T> __device__ int variadic(...);
__global__ void k(__nv_bfloat16 *a, int *b) { a[0] = __hmin(a[1], a[2]) + a[3]; b[0] = a[1] < a[2]; }
""")
    done = cc("-arch=sm_120a", "-ftz=true", "-ptx", arch, "-o", "-")
    ok(".target sm_120a" in done.stdout and "1200" not in done.stderr, "an architecture that clang does not know", done.stderr)
    ok(".ftz" not in done.stdout and ".bf16" in done.stdout, "bf16 has no .ftz", done.stdout)
    halves = write(work, "halves.cu", """#include <cuda_fp16.h>
__global__ void f(__half *p, __half2 *q, float *o, float s)
{
    o[0] = s * (float)p[0];
    p[1] = p[0] * p[2] + p[3];
    q[0] = __hadd2(q[1], q[2]);
    asm volatile("add.ftz.f16 %0, %1, %1;" : "=h"(*(short *)&p[4]) : "h"(*(short *)&p[5]));
}
""")
    done = cc("-use_fast_math", "-ptx", halves, "-o", "-")
    flushed = [line.strip() for line in done.stdout.split("\n") if ".ftz" in line and ".f16" in line]
    ok(len(flushed) == 1 and "add.ftz.f16" in flushed[0] and ".f16x2" in done.stdout and "mul.ftz.f32" in done.stdout,
       "halves have no .ftz where floats have, but for the program's own", done.stdout)
    statics = write(work, "statics.cu", "static __device__ int count = 1; static __global__ void k(int *p) { *p = count; }\n"
                    "int f(int *p) { k<<<1, 1>>>(p); return cudaMemcpyToSymbol(count, p, 4); }\n")
    text = cc("-rdc=true", "-ptx", statics, "-o", "-").stdout
    names = set(re.findall(r"_ZL5count\w*", text))
    module = cc("-ptx", write(work, "module.cu", "static __device__ int count = 3; static __constant__ float factor = 1;\n"
                              "__global__ void k(int *p) { *p = count * factor; }\n"), "-o", "-").stdout
    ok(all(line in module for line in ("\n.global .align 4 .u32 count = 3;", "\n.const .align 4 .f32 factor = ")),
       "a module keeps its static variables under their names", module)
    ok(len(names) == 1 and ".extern" not in text, "a static variable that the host uses has one name", text)
    ok(cc("-arch=sm_60", "-ptx", kernel, "-o", os.path.join(work, "k60.ptx")).returncode == 0, "an old one")
    done = cc("-gencode", "arch=compute_60,code=sm_60", "-gencode", "arch=compute_80,code=[sm_80,compute_80]",
              "-fatbin", kernel, "-o", os.path.join(work, "two.fatbin"))
    data = open(os.path.join(work, "two.fatbin"), "rb").read() if done.returncode == 0 else b""
    ok(data[:4] == b"\x50\xed\x55\xba" and len(data) > 200, "two -gencode make one fat binary", done.stderr)
    done = cc("-c", "-Xcompiler", "-fno-canonical-system-headers,-fno-gnu-unique,-fPIC", '-Xcompiler=-D__DATE__="x"', kernel, "-o", os.path.join(work, "gcc.o"))
    ok(done.returncode == 0 and "clang, which has no -fno-gnu-unique\n" in done.stderr and "-fPIC" not in done.stderr and "warning" not in done.stderr,
       "options of GCC alone are left out", done.stderr)
    done = cc(".c", "-Xcompiler", "--version")
    ok(done.returncode == 0 and re.search(r"clang version \d+\.\d+", done.stdout), "-Xcompiler --version is answered by the host compiler", done.stderr)
    done = cc(".c", "-Xcompiler", "-Wall -dumpversion")
    ok(done.returncode == 0 and re.fullmatch(r"\d+\.\d+\.\d+\n", done.stdout), "so is -dumpversion", done.stdout + done.stderr)
    whole = write(work, "whole.cu", "__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n")
    done = cc("-forward-unknown-to-host-compiler", "-fopt-info", whole, "-o", os.path.join(work, "forwarded"))
    ok(done.returncode == 0 and "clang, which has no -fopt-info\n" in done.stderr, "also those that are forwarded, to the linker, too", done.stderr)
    done = cc("-c", "k.cu", cwd=work)
    ok(done.returncode == 0 and os.path.exists(os.path.join(work, "k.o")), "-c names its output k.o")
    guards = write(work, "guards.cu", "#if !defined(__CUDA_RUNTIME_H__) || !defined(__DRIVER_TYPES_H__)\n#error guards\n#endif\n")
    done = cc("-c", guards, "-o", os.path.join(work, "guards.o"))
    ok(done.returncode == 0, "macros by which programs see what is included", done.stderr)
    test_macros(work)
    done = cc("-M", kernel)
    ok(done.returncode == 0 and "cuda_runtime.h" in done.stdout, "-M lists what is included")
    done = cc("-E", "-x", "cu", kernel)
    ok(done.returncode == 0 and "__global__" not in done.stdout.splitlines()[-3:], "-E preprocesses")


def test_launches(work):
    """Kernels that launch kernels: what is wrong with them, and what make is told."""
    child = "__global__ void child(int *p) { *p = 1; }\n"
    good = write(work, "launches.cu", child + "__global__ void k(int *p) { child<<<1, 1>>>(p); }\n")
    done = cc("-rdc=true", "-ptx", good, "-o", "-")
    ok(".entry _Z5childPi(" in done.stdout and "__cudaCDP2LaunchDevice" in done.stdout and "sample" not in done.stdout,
       "a kernel launches another", done.stdout + done.stderr)
    done = cc("-c", good, "-o", os.path.join(work, "launches.o"))
    ok(done.returncode == 1 and "need relocatable device code: -rdc=true" in done.stderr, "not without -rdc", done.stderr)
    for what, body, message in (("is called", "child(p)", "_Z5childPi is a kernel: a call of it must be configured"),
                                ("has a pointer", "auto c = child; c<<<1, 1>>>(p)", "launches a kernel by a pointer"),
                                ("has other parameters", "child<<<1, 1>>>(p, 1)", "bad.cu:2:"),
                                ("is not there", "other<<<1, 1>>>(p)", "bad.cu:2:")):
        bad = write(work, "bad.cu", child + f"__global__ void k(int *p) {{ child<<<1, 1>>>(p); {body}; }}\n")
        done = cc("-rdc=true", "-ptx", bad, "-o", "-")
        ok(done.returncode == 1 and message in done.stderr, f"a kernel that {what}", done.stderr)
    done = cc("-dc", "-ptx", good, "-o", "-")
    ok(".entry _Z5childPi(" in done.stdout, "-dc does not change what -ptx makes", done.stderr)
    parts = [write(work, "user.cu", "__device__ int twice(int);\nextern \"C\" __global__ void k(int *p) { *p = twice(21); }\n"),
             write(work, "part.cu", "__device__ int twice(int n) { return 2 * n; }\n")]
    objects = [part[:-3] + ".o" for part in parts]
    for part, target in zip(parts, objects):
        cc("-dc", part, "-o", target)
    image = os.path.join(work, "linked.cubin")
    done = cc("-cubin", "-dlink", *objects, "-o", image)
    what = run(HEDDLE, "doctor", image).stdout if done.returncode == 0 else ""
    ok("should run" in what, "-dlink -cubin links device code to an image", done.stderr + what)
    done = cc("-cubin", "-dlink", objects[0], "-o", image)
    ok(done.returncode == 1 and "Undefined reference to '_Z5twicei' in" in done.stderr, "and names what is missing", done.stderr)
    done = cc("-rdc=true", "-MD", "-c", "launches.cu", "-o", "out.o", cwd=work)
    rule = open(os.path.join(work, "out.d"), encoding="utf-8").read() if done.returncode == 0 else ""
    ok(rule.startswith("out.o:") and "launches.cu" in rule and "cuda_runtime.h" in rule and ".cui" not in rule,
       "the rule of dependencies is the source's", rule + done.stderr)


def test_executables(work):
    """Meson's way to start what it linked: nvcc -run, with the name in quotes."""
    program = os.path.join(work, "exits")
    write(work, "exits.c", "int main(int n, char **v) { return n > 1 ? *v[1] - '0' : 0; }\n")
    ok(cc(os.path.join(work, "exits.c"), "-o", program).returncode == 0, "a program of C")
    ok(cc("--run", f'"{program}"').returncode == 0 and cc("-run", program, "-run-args", "7").returncode == 7, "-run starts a program that is there")


def test_link(work):
    """Programs of one and of several files, against a runtime that prints what is registered."""
    fake = os.path.join(work, "libfake.so")
    done = cc("-shared", "-fPIC", "-cudart", "none", os.path.join(HERE, "fake_cudart.c"), "-o", fake)
    ok(done.returncode == 0, "a shared library links", done.stderr)
    one = write(work, "one.cu", "__device__ int v; __global__ void k() { v = 1; }\n"
                "int main() { k<<<1, 1>>>(); return 0; }\n")
    program = os.path.join(work, "one")
    done = cc(one, "-o", program, "-cudart", "none", fake, "-Xlinker", "-rpath," + work)
    out = run(program).stdout if done.returncode == 0 else done.stderr
    ok("version 1 parts 0" in out and "function _Z1kv 1" in out and "variable v" in out and "launch" in out
       and "end 1" in out, "a program registers its fat binary, kernel and variable", out)
    a = write(work, "a.cu", "extern __device__ int shared_value; __device__ int f(int);\n"
              "__global__ void ka(int *p) { *p = f(shared_value); }\n"
              "int main() { ka<<<1, 1>>>(0); return 0; }\n")
    b = write(work, "b.cu", "__device__ int shared_value = 3; __device__ int f(int x) { return x + 1; }\n"
              "__global__ void kb() {}\n")
    program = os.path.join(work, "two")
    done = cc("-rdc=true", a, b, "-o", program, "-cudart", "none", fake, "-Xlinker", "-rpath," + work)
    out = run(program).stdout if done.returncode == 0 else done.stderr
    ok("version 2 parts 2" in out and "function _Z2kaPi 1" in out and "function _Z2kbv 1" in out
       and out.count("end 1") == 1, "-rdc registers all parts once, as version 2", out)
    objects = [os.path.join(work, name) for name in ("a.o", "b.o")]
    rcs = [cc("-dc", source, "-o", obj).returncode for source, obj in zip((a, b), objects)]
    library = os.path.join(work, "libb.a")
    run("ar", "rcs", library, objects[1])
    done = cc(objects[0], library, "-o", program + "2", "-cudart", "none", fake, "-Xlinker", "-rpath," + work)
    out = run(program + "2").stdout if done.returncode == 0 else done.stderr
    ok(rcs == [0, 0] and "version 2" in out and "ka" in out, "-dc objects and an archive link", out)
    done = cc(objects[0], "-L" + work, "-lb", "-o", program + "3", "-cudart", "none", fake, "-Xlinker",
              "-rpath," + work)
    out = run(program + "3").stdout if done.returncode == 0 else done.stderr
    ok("version 2" in out and "ka" in out, "device code in an archive that -l names", out)
    done = cc("-dlink", *objects, "-o", os.path.join(work, "dlink.o"))
    ok(done.returncode == 0, "-dlink", done.stderr)
    done = run("g++", *objects, os.path.join(work, "dlink.o"), fake, "-Wl,-rpath," + work, "-o", program + "4")
    out = run(program + "4").stdout if done.returncode == 0 else done.stderr
    ok("version 2 parts 2" in out and out.count("end 1") == 1, "another compiler links what -dlink made", out)
    done = cc(*objects, os.path.join(work, "dlink.o"), "-o", program + "5", "-cudart", "none", fake, "-Xlinker",
              "-rpath," + work)
    out = run(program + "5").stdout if done.returncode == 0 else done.stderr
    ok("version 2 parts 2" in out and out.count("end 1") == 1, "and heddle cc", out)
    done = run("g++", os.path.join(work, "dlink.o"), objects[0], library, fake, "-Wl,-rpath," + work, "-o", program + "6")
    out = run(program + "6").stdout if done.returncode == 0 else done.stderr
    ok("version 2 parts 2" in out and out.count("end 1") == 1, "it may stand in front of the objects", out)
    done = cc("-dc", write(work, "c.cu", "__global__ void kc() {}\n"), "-o", os.path.join(work, "c.o"))
    run("ar", "rcs", library, os.path.join(work, "c.o"))
    rcs = [done.returncode, cc("-dlink", *objects, library, "-o", os.path.join(work, "dlink3.o")).returncode]
    done = run("g++", *objects, os.path.join(work, "dlink3.o"), library, fake, "-Wl,-rpath," + work, "-o", program + "7")
    out = run(program + "7").stdout if done.returncode == 0 else done.stderr
    ok(rcs == [0, 0] and "version 2 parts 2" in out and "kc" not in out, "a member that the linker leaves out is no part", out)
    done = cc("-dlink", fake, "-o", os.path.join(work, "no.o"))
    ok(done.returncode == 0 and os.path.exists(os.path.join(work, "no.o")), "-dlink without device code makes an empty object",
       done.stderr)
    folders = [os.path.join(work, name) for name in ("first", "second")]
    for folder in folders:
        os.mkdir(folder)
        write(folder, "same.cu", f"__global__ void k_{os.path.basename(folder)}() {{}}\n")
    rcs = [cc("-dc", "same.cu", cwd=folder).returncode for folder in folders] + [cc("-dc", write(
        work, "main.cu", "int main() { return 0; }\n"), "-o", os.path.join(work, "main.o")).returncode]
    done = cc(os.path.join(work, "main.o"), *(os.path.join(folder, "same.o") for folder in folders), "-o", program + "8", "-cudart",
              "none", fake, "-Xlinker", "-rpath," + work)
    out = run(program + "8").stdout if done.returncode == 0 else done.stderr
    ok(rcs == [0, 0, 0] and "k_first" in out and "k_second" in out, "two files of one name in different folders", out)
    done = cc("-lib", a, b, "-rdc=true", "-o", os.path.join(work, "liball.a"))
    out = run("ar", "t", os.path.join(work, "liball.a")).stdout
    ok(done.returncode == 0 and len(out.splitlines()) == 2, "-lib makes an archive", done.stderr + out)


def test_every_header(work):
    for header in headers():
        for std in ("c++11", "c++20"):
            source = write(work, "h.cu", f"#include <{header}>\n__global__ void k() {{}}\n")
            done = cc("-c", f"-std={std}", "-Wall", source, "-o", os.path.join(work, "h.o"))
            ok(done.returncode == 0 and not done.stderr, f"{header} alone, {std}", done.stderr)


def test_clusters(work):
    """Directives as nvcc writes them; what a kernel cannot have is an error."""
    header = write(work, "of.h", "template <int N> __global__ void __cluster_dims__(N, 1u) of(int *p) { *p = N; }\n")
    kernels = write(work, "c.cu", f"""#include "{os.path.basename(header)}"
template __global__ void of<4>(int *);
__global__ void __launch_bounds__(128) __cluster_dims__() any() {{}}
extern "C" __global__ void __block_size__((64, 2), (2)) blocks() {{}}
""")
    done = cc("-ptx", "-arch=compute_90", kernels, "-o", "-")
    ok(re.search(r"_Z2ofILi4EEvPi_param_0\n\)\n\.explicitcluster\n\.reqnctapercluster 4, 1, 1\n{", done.stdout) and
       re.search(r"\.maxntid 128.*\n\.explicitcluster\n{", done.stdout) and
       re.search(r"\n\.blocksareclusters\n\.reqntid 64, 2, 1\n\.reqnctapercluster 2, 1, 1\n{", done.stdout) and not done.stderr,
       "directives of clusters", done.stdout + done.stderr)
    for arch, args, said in (("80", "2", "k: __cluster_dims__ needs compute capability 9.0"),
                             ("90", "0", "k: __cluster_dims__ takes one to three sizes above 0"),
                             ("90", "1, 1, 1, 2", "k: __cluster_dims__ takes one to three sizes above 0")):
        source = write(work, "bad.cu", f'extern "C" __global__ void __cluster_dims__({args}) k() {{}}\n')
        done = cc("-ptx", f"-arch=compute_{arch}", source, "-o", "-")
        ok(done.returncode == 1 and said in done.stderr and not done.stdout, f"({args}) on {arch}: {said}", done.stdout + done.stderr)


def test_programs(work):
    for source in sorted(glob.glob(os.path.join(ROOT, "bench/cuda/*.cu")) +
                         glob.glob(os.path.join(ROOT, "examples/*.cu"))):
        ptx = os.path.join(work, "p.ptx")
        done = cc("-ptx", "-I", os.path.join(ROOT, "bench/common"), source, "-o", ptx)
        text = open(ptx, encoding="utf-8").read() if done.returncode == 0 else ""
        ok(done.returncode == 0 and not unresolved(text), os.path.relpath(source, ROOT), done.stderr or str(unresolved(text)))


def test_refused(work):
    """What nvcc refuses, too, in words that say what is wrong; once."""
    for text, words in (("__global__ void k(int *o) { __shared__ int w = 3; o[0] = w; }", "initialization is not supported for __shared__"),
                        ("struct T { int v = 0; }; __global__ void k(int *o) { __shared__ T w{}; o[0] = w.v; }", "initialization is not supported for __shared__"),
                        ("struct A { __device__ virtual ~A() {} }; struct B : A {}; __global__ void k(A *a, const void **o) { *o = dynamic_cast<B *>(a); }",
                         "the operator 'dynamic_cast' is not allowed in device code"),
                        ("#include <typeinfo>\nstruct A { __device__ virtual ~A() {} }; __global__ void k(A *a, const void **o) { *o = &typeid(*a); }",
                         "the operator 'typeid' is not allowed in device code"),
                        ("__global__ void k(int *o) { asm(\"mov.u32 %0, %laneid;\" : \"=r\"(*o)); undeclared = 3; }", "undeclared identifier 'undeclared'")):
        source = write(work, "refused.cu", text + "\n")
        done = cc("-c", source, "-o", os.path.join(work, "refused.o"))
        ok(done.returncode != 0 and done.stderr.count(words) == 1, f"refused: {words}", done.stderr)


def test_terminal(work):
    """On a terminal clang's log has colours."""
    for name in ("dialect", "refused"):
        terminal, end = pty.openpty()
        with subprocess.Popen([HEDDLE, "cc", "-std=c++17", "-ptx", os.path.join(HERE, f"run/{name}.cu"), "-o", os.path.join(work, name + ".ptx")],
                              stdin=subprocess.DEVNULL, stdout=end, stderr=end) as process:
            os.close(end)
            said = b""
            try:
                while part := os.read(terminal, 1 << 16):
                    said += part
            except OSError:  # it ends with EIO
                pass
        os.close(terminal)
        ok(process.returncode == 0, f"{name}.cu compiles where stderr is a terminal", said.decode())


def test_host_half(work):
    """The types of 16 bits and less where another compiler compiles host code: the same sum as from clang."""
    source, program = os.path.join(HERE, "run/host_half.cpp"), os.path.join(work, "host_half")
    done = cc(source, "-o", program)
    want = run(program).stdout if done.returncode == 0 else done.stderr
    ok(re.fullmatch("[0-9a-f]{16}\n", want), "host_half.cpp by heddle cc", want)
    compilers = [["g++", "-std=c++11"], ["g++", "-std=c++20", "-O2"], ["clang++-19"]]
    for words in (c for c in compilers if shutil.which(c[0])):
        done = run(*words, "-Wall", "-Wextra", "-Wshadow", "-pedantic", f"-I{INCLUDE}", source, "-o", program)
        got = run(program).stdout if done.returncode == 0 else ""
        ok(got == want and not done.stderr, f"the same by {' '.join(words)}, without warnings", got + done.stderr)
    source = write(work, "memory.cpp", """#include <cuda_runtime.h>
#include <memory>
#ifdef __CUDA__
static __noinline__ __device__ int one(int x) { return x + 1; }
__global__ void k(int *p) { *p = one(*p); }
#endif
__attribute__((__noinline__)) int two(int x) { return x + 2; }
int main() { return two(*std::make_shared<int>(-2)) * CHAR_BIT; }
""")
    for words in ([HEDDLE, "cc", "-x", "cu"], [HEDDLE, "cc"], *(c for c in compilers if shutil.which(c[0]))):
        done = run(*words, f"-I{INCLUDE}", "-c", source, "-o", program + ".o")
        ok(done.returncode == 0, f"__noinline__ is an attribute's name, too: {' '.join(words[:3])}", done.stderr)


def test_runs(work):
    """Programs of run/ check themselves; OLD leaves out what came after compute capability 7.5."""
    for flags in ([], ["-rdc=true"], ["-G", "-O0"]):
        program = os.path.join(work, "managed")
        done = cc("-std=c++17", *flags, os.path.join(HERE, "run/managed.cu"), "-o", program)
        ok(done.returncode == 0, f"managed.cu compiles {' '.join(flags)}", done.stderr)
        for env in ([], ["HEDDLE_STRICT=1"], ["HEDDLE_DEVICE=interp"], ["HEDDLE_CPU=generic"]):
            done = run("env", *env, program)
            ok(done.returncode == 0 and done.stdout == "all right\n", f"and is right {' '.join(env)}", done.stdout + done.stderr)
    for kind in ("half", "bfloat"):
        program = os.path.join(work, kind)
        done = cc(os.path.join(HERE, f"run/{kind}_integers.cu"), "-o", program)
        if done.returncode == 0:
            done = run(program)
        ok(done.returncode == 0 and done.stdout == "all right\n", f"integers to {kind}, rounded in every mode", done.stdout + done.stderr)
    without = [f"-D__CUDA_NO_{name}__" for name in ("HALF_OPERATORS", "HALF2_OPERATORS", "HALF_CONVERSIONS", "BFLOAT16_OPERATORS", "BFLOAT162_OPERATORS", "BFLOAT16_CONVERSIONS")]
    program = os.path.join(work, "half_without")
    done = cc("-std=c++17", "-arch=sm_80", *without, os.path.join(HERE, "run/half_without.cu"), "-o", program)
    if done.returncode == 0:
        done = run(program)
    ok(done.returncode == 0 and done.stdout == "device 0, host 0\n", "halves without conversions and operators", done.stdout + done.stderr)
    for name, what, *flags in (("redux", "reductions of a warp"), ("bools", "bytes that are neither 0 nor 1 read as bools"),
                               ("chars", "halves as chars"), ("dpx", "DPX functions"), ("dpx", "DPX functions, slow code", "-G", "-O0"),
                               ("int128", "integers of 128 bits"), ("int128", "integers of 128 bits, slow code", "-G", "-O0"),
                               ("bfloat_atomics", "additions of bfloat16 to memory without an instruction"),
                               ("bfloat_atomics", "and with one", "-arch=sm_90"),
                               ("thrown", "members of the C++ library that throw"), ("thrown", "the same in slow code", "-G", "-O0"),
                               ("atomic_builtins", "atomic builtins"),
                               ("atomic_builtins", "atomic builtins and 16 bytes", "-arch=sm_90", "-DWIDE"),
                               ("atomic_builtins", "the same in slow code", "-arch=sm_120", "-DWIDE", "-G", "-O0"),
                               ("flushed", "maths that flushes subnormals", "-ftz=true", "-DFLUSHED=1"), ("flushed", "maths that does not", "-DFLUSHED=0"),
                               ("flushed", "by -use_fast_math", "-use_fast_math", "-DFLUSHED=1"),
                               ("builtins", "builtins of the C library's maths"), ("cublas_overloads", "products that name the sums' type", "-lcublas"), ("unset_lanes", "lanes that pass on what they have not set"), ("host_maths", "device maths on the host")):
        program = os.path.join(work, name)
        done = cc("-std=c++17", *([] if any("-arch" in f for f in flags) else ["-arch=sm_80"]), *flags, os.path.join(HERE, f"run/{name}.cu"), "-o", program)
        if done.returncode == 0:
            done = run(program)
        ok(done.returncode == 0 and done.stdout == "all right\n", what, done.stdout + done.stderr)
    for name, flags, what in (("conversions", ["-O0"], "conversions saturate"), ("conversions", ["-O3"], "conversions saturate"),
                              ("conversions", ["-O1", "-ftz=true"], "conversions saturate"),
                              ("builtin_vars", ["-G"], "built-in variables as variables"),
                              ("builtin_vars", ["-rdc=true"], "built-in variables as variables"),
                              ("dialect", ["-arch=sm_80"], "what clang alone refuses"), ("dialect", ["-arch=sm_80", "-G", "-rdc=true"], "what clang alone refuses"),
                              ("refused", ["-arch=sm_80"], "names that clang alone refuses"), ("refused", ["-arch=sm_120", "-G", "-rdc=true"], "names that clang alone refuses"),
                              ("pragmas", ["-arch=sm_80"], "macros of pragmas"),
                              ("sides", [], "functions chosen by __CUDA_ARCH__"), ("sides", ["-G", "-rdc=true"], "functions chosen by __CUDA_ARCH__"),
                              ("asm_text", ["-O3"], "text as an operand"), ("spaces", ["-O3"], "spaces of addresses"), ("asm_text", ["-arch=sm_120", "-G", "-rdc=true"], "text as an operand")):
        program = os.path.join(work, name)
        done = cc("-std=c++17", *flags, os.path.join(HERE, f"run/{name}.cu"), "-o", program)
        if done.returncode == 0:
            done = run(program)
        ok(done.returncode == 0 and done.stdout == "0 wrong, no error\n", f"{what} {' '.join(flags)}", done.stdout + done.stderr)
    for flags in ([], ["-rdc=true"], ["-G", "-g", "-O0"], ["-Xcompiler", "-ffunction-sections"]):
        parts, program = [os.path.join(work, f"stub_names_{part}.o") for part in ("kernels", "main")], os.path.join(work, "stub_names")
        done = cc("-std=c++17", *flags, "-c", os.path.join(HERE, "run/stub_names.cu"), "-o", parts[0])
        if done.returncode == 0:
            done = run("g++", "-c", f"-I{INCLUDE}", os.path.join(HERE, "run/stub_names.cpp"), "-o", parts[1])
        if done.returncode == 0:
            done = cc(*flags, *parts, "-o", program)
        if done.returncode == 0:
            done = run(program)
        ok(done.returncode == 0 and done.stdout == "all right\n", f"kernels launched by their names, {' '.join(flags)}", done.stdout + done.stderr)
    test_refused(work)
    test_terminal(work)
    test_host_half(work)
    for flags in ([], ["-G", "-O0"], ["-arch=sm_120", "-std=c++20", "-lineinfo"]):
        program = os.path.join(work, "launches")
        done = cc("-std=c++17", "-rdc=true", *flags, *(os.path.join(HERE, f"run/{name}.cu") for name in ("launches", "launches_part")), "-o", program)
        ok(done.returncode == 0, f"launches in kernels compile {' '.join(flags)}", done.stderr)
        for device in ("cpu", "interp"):
            done = run("env", f"HEDDLE_DEVICE={device}", program)
            ok(done.returncode == 0 and done.stdout == "all right\n", f"and are right on {device}", done.stdout + done.stderr)
    program = os.path.join(work, "declared")
    done = run(os.path.join(os.path.dirname(HEDDLE), "heddle-nvcc"), "-O3", "-DNDEBUG", os.path.join(HERE, "run/assert_declared.cu"),
               "-o", program)
    if done.returncode == 0:
        done = run(HEDDLE, "run", program)
    ok(done.stdout == "all right\n" and "some.h" in done.stderr, "a failed assertion by a declaration of one's own", done.stdout + done.stderr)
    for flags in ([], ["-rdc=true"]):
        program = os.path.join(work, "clusters")
        done = cc("-arch=sm_90", *flags, os.path.join(HERE, "run/clusters.cu"), "-o", program)
        ok(done.returncode == 0, f"clusters.cu compiles {' '.join(flags)}", done.stderr)
        for device in ("cpu", "interp"):
            done = run("env", f"HEDDLE_DEVICE={device}", program)
            ok(done.returncode == 0 and done.stdout == "all right\n", f"clusters as declared on {device}", done.stdout + done.stderr)
    source = os.path.join(HERE, "run/wmma.cu")
    for arch, flags, machine, device in (("sm_75", ["-DOLD"], "t4", "cpu"), ("sm_80", [], "a100", "interp"),
                                         ("sm_90", [], "h100", "cpu"), ("sm_120", [], "rtx5090", "cpu")):
        program = os.path.join(work, "wmma")
        done = cc("-std=c++17", f"-arch={arch}", *flags, source, "-o", program)
        built = done.returncode == 0
        ok(built, f"wmma.cu compiles for {arch}", done.stderr)
        if built:
            done = run("env", f"HEDDLE_MACHINE={machine}", f"HEDDLE_DEVICE={device}", HEDDLE, "run", program)
        ok(done.returncode == 0 and done.stdout == "all right\n", f"and is right on {device} as {machine}",
           done.stdout + done.stderr)


def main():
    with tempfile.TemporaryDirectory() as work:
        if MODE == "quick":
            test_driver(work)
            test_include(work)
            test_languages(work)
            test_own_libraries(work)
            test_launches(work)
            test_executables(work)
            test_link(work)
            test_features(work)
            test_clusters(work)
            test_headers_together(work)
            test_with_vendor(work)
        elif MODE == "run":
            test_runs(work)
        else:
            test_every_header(work)
            test_programs(work)
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
