#!/usr/bin/env python3
"""What heddle cc makes of nvcc's options, seen in the commands of --dryrun: test_cc_flags.py HEDDLE"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from support import Tap  # noqa: E402

HEDDLE = os.path.abspath(sys.argv[1])
tap = Tap()


def cc(*args):
    return subprocess.run([HEDDLE, "cc", *args], capture_output=True, text=True, timeout=60)


def commands(*args):
    """(device, host, last) command of compiling k.cu, each as a list of arguments; Nones when refused."""
    done = cc("--dryrun", *args, "k.cu")
    lines = [line.split() for line in done.stderr.splitlines() if "clang" in line or line.startswith("ar ") or " ptxas " in line]
    device = next((c for c in lines if "--cuda-device-only" in c), None)
    host = next((c for c in lines if "--cuda-host-only" in c), None)
    return device, host, lines[-1] if lines else None


def has(command, *words):
    text = " " + " ".join(command or []) + " "
    return all(f" {w} " in text for w in words)


def check(name, args, device=(), host=(), last=(), absent=()):
    found = commands(*args)
    good = all(has(f, *w) for f, w in zip(found, (device, host, last)))
    good = good and not any(has(f, w) for f in found for w in absent)
    tap.ok(good, name, "\n".join(map(str, found)))


check("-lib makes a static library", ["-lib", "-o", "libk.a"], last=["ar rcs libk.a"], absent=["-lib", "-l ib"])
check("-lib is not -l ib", ["-lib"], absent=["-lib", "-lb"])
check("-objtemp is no output file", ["-objtemp"], absent=["btemp", "bjtemp"])
check("-lm is a library", ["-lm"], last=["-lm"])
check("-l m", ["-l", "m"], last=["-lm"])
check("-Werror all-warnings", ["-Werror", "all-warnings"], device=["-Werror"], host=["-Werror", "k.cu"],
      absent=["all-warnings"])
check("-Werror=all-warnings", ["-Werror=all-warnings"], host=["-Werror"])
check("variables that are not used are told once, by the device pass", [], device=["-Wunused-variable"])
tap.ok(not has(commands()[1], "-Wunused-variable"), "the host pass does not repeat it")
DEVICE = commands("-w", "-Wno-unused-variable")[0] or []
tap.ok("-Wunused-variable" in DEVICE and DEVICE.index("-Wunused-variable") < min(map(DEVICE.index, ["-w", "-Wno-unused-variable"])),
       "what the user says of warnings comes behind", " ".join(DEVICE))
check("-Werror alone, before a file", ["-Werror"], host=["-Werror", "k.cu"])
check("-Werror reorder", ["-Werror", "reorder,default-stream-launch"], absent=["reorder", "-Werror"])
check("-Xcompiler with blanks", ["-Xcompiler", "-O3 -march=native,-Wall"], host=["-O3", "-march=native", "-Wall"],
      absent=["-O3 -march=native,-Wall"])
for text, words in (('"-O3"', ["-O3"]), ('-Wall,"-DA=1,2"', ["-Wall", "-DA=1,2"]), ("'-DA=1 2' -DB", ["'-DA=1 2'", "-DB"]), ("-DA=1\\,2", ["-DA=1,2"]),
                    ('-DA=\\\\\\"s\\\\\\"', ["'-DA=\"s\"'"]), ('-DA=\\"s\\"', ["-DA=s"]), ('"-DA=a\\\\\\"b"', ["'-DA=a\"b'"]), ('""', []), ('"-O3', ["-O3"])):
    check(f"-Xcompiler {text}", ["-Xcompiler", text], host=words)
check("-Xlinker with quotes", ["-Xlinker", '"-s"'], last=["-Wl,-s"])
tap.ok("libcudart.so" in " ".join(commands("-cudart", "none", "-lcudart")[2]), "-cudart none, and by name")
tap.ok("libcudart" not in " ".join(commands("-cudart", "none")[2]), "-cudart none")
check("options of Windows", ["-use-local-env", "-force-cl-env-setup", "-dp", "a", "--input-drive-prefix=b", "-ddp", "c"], device=["k.cu"], absent=["a", "b", "c"])
check("-Xcompiler: code generation is the link's, too", ["-Xcompiler", "-fopenmp,-Wall,-O3"], host=["-fopenmp", "-Wall"], last=["-fopenmp"])
tap.ok(not has(commands("-Xcompiler", "-fopenmp,-Wall,-O3")[2], "-Wall"), "warnings are not")
with tempfile.TemporaryDirectory() as FOLDER:
    SOURCE = os.path.join(FOLDER, "e.cu")
    with open(SOURCE, "w", encoding="utf-8") as FILE:
        FILE.write("#ifdef __CUDA_ARCH__\nint device_pass = __CUDA_ARCH__;\n#else\nint host_pass;\n#endif\n")
    TEXT = cc("-E", SOURCE, "-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=sm_90").stdout
    tap.ok("int device_pass = 800;" in TEXT and "host_pass" not in TEXT and "device_pass = 900" not in TEXT, "-E: the first device pass, as with nvcc", TEXT[-500:])
check("-fsanitize", ["-fsanitize=address"], host=["-fsanitize=address"], last=["-fsanitize=address"])
check("-Xlinker with commas", ["-Xlinker", "-rpath,/x"], last=["-Wl,-rpath -Wl,/x"])
check("-MD -MF: the host pass alone writes them", ["-c", "-o", "d/k.o", "-MD", "-MF", "k.dep", "-MT", "k"],
      host=["-MD -MF k.dep -MT k"])
tap.ok(not has(commands("-c", "-MD", "-MF", "k.dep")[0], "k.dep"), "the device pass does not")
check("-MD beside the object", ["-c", "-o", "d/k.o", "-MD"], host=["-MD", "-MF d/k.d"])
check("-MD of a link, beside nothing temporary", ["-MMD"], host=["-MMD", "-MF k.d"])
check("--include-path=d", ["--include-path=d", "-DA=1", "--define-macro", "B"], host=["-Id", "-DA=1", "-DB"])
check("-std=c++17 and --std c++17", ["-std=c++17"], device=["-std=c++17"])
check("-std c++17", ["--std", "c++17"], device=["-std=c++17"])
check("-lineinfo is not -l ineinfo", ["-lineinfo"], device=["-gline-tables-only"], absent=["-lineinfo"])
check("-O2, -O 2", ["-O", "2"], device=["-O2"])
check("--default-stream per-thread", ["--default-stream", "per-thread"],
      host=["-Xclang -fgpu-default-stream=per-thread", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1"])
check("-shared", ["-shared", "-Xcompiler", "-fPIC"], last=["-shared"])
check("the link has DT_RPATH", [], last=["-Wl,--disable-new-dtags,-rpath," + os.path.dirname(os.path.realpath(
    os.path.join(os.path.dirname(HEDDLE), "../../src/api/runtime/libcudart.so.13")))])
check("what nvcc lets pass is no error, unless it is asked for", ["-Wc++11-narrowing"],
      device=["-Wno-c++11-narrowing", "-Wc++11-narrowing"])
check("-noeh", ["-noeh"], host=["-fno-exceptions"])
check("lists", ["-I", "a,b", "-DX=f(1\\,2),Y", "-lm,dl", "-Lp,q", "-include", "one.h,two.h"], device=["-Ia -Ib", "-DY", "-include one.h -include two.h"],
      last=["-lm -ldl", "-Lp", "-Lq"])
check("a comma behind a backslash", ["-DX=1\\,2"], device=["-DX=1,2"])
check("commas in double quotes", ['-DX="a,b",Y="c', '-DZ=\\"d'], device=["'-DX=\"a,b\"'", "'-DY=\"c'", "'-DZ=\"d'"])
check("-G --dopt on", ["-G", "--dopt", "on"], device=["-gline-tables-only", "-O3"], absent=["-O0"])
check("-dw", ["-rdc=true", "-dw"], host=["-c"], absent=["-fgpu-rdc"])
check("-pg", ["-pg"], host=["-pg"], last=["-pg"])
for what, names in (("arch", "compute"), ("code", "sm")):
    listed = cc(f"--list-gpu-{what}").stdout.split()
    tap.ok(f"{names}_75" in listed and f"{names}_120" in listed and len(listed) > 10, f"--list-gpu-{what}", " ".join(listed))
check("options without meaning here", ["-t0", "-t", "2", "--threads=4", "--Ofast-compile", "max", "-lto", "--entries", "k", "--frandom-seed=x", "-reloc-ptx", "--jump-table-density=101",
      "-split-compile-extended", "2"], device=["k.cu"], absent=["max", "-frandom-seed=x"])
for name, why in (("-cuda", "-keep"), ("-r", "-lib"), ("-clean", "deleted")):
    done = cc(name, "k.cu")
    tap.ok(done.returncode == 2 and f"'{name}'" in done.stderr and why in done.stderr, f"{name} is refused", done.stderr)
check("options without meaning here", ["-dlto", "--display-error-number", "-extra-device-vectorization",
      "--forward-unknown-to-host-linker", "-forward-unknown-to-host-compiler"], device=["k.cu"],
      absent=["-dlto", "-err-no", "-forward-unknown-to-host-linker"])
check("-keep-dir", ["-keep", "-keep-dir", "kept"], host=["kept/k.fatbin"])
with tempfile.TemporaryDirectory() as folder:
    files = {name: os.path.join(folder, name) for name in ("a", "b", "loop")}
    for name, text in (("a", '-O2 -DX="a b"\n-optf ' + files["b"]), ("b", "-DY=\\\"t\\\" '-Iq r' -lm"),
                       ("loop", "-optf " + files["loop"])):
        with open(files[name], "w", encoding="utf-8") as f:
            f.write(text)
    done = cc("--dryrun", "--options-file", files["a"], "-DLAST", "k.cu")
    wanted = (" -O2 ", "'-DX=a b'", "'-DY=\"t\"'", "'-Iq r'", "-DLAST", " -lm")
    tap.ok(done.returncode == 0 and all(w in done.stderr for w in wanted),
           "--options-file: blanks, quotes, backslashes, a file in a file", done.stderr)
    done = cc("--dryrun", "-optf", files["b"] + "," + files["a"], "k.cu")
    tap.ok(done.returncode == 0 and " -O2 " in done.stderr, "a list of files", done.stderr)
    done = cc("--dryrun", "-optf", files["loop"], "k.cu")
    tap.ok(done.returncode == 2 and "each other" in done.stderr, "a file that names itself", done.stderr)
check("-odir", ["-odir", "d", "-c"], host=["-o d/k.o"])
check("-cubin", ["-cubin", "-arch=sm_80"], last=["ptxas -arch=sm_80", "-o k.cubin"])
check("options for ptxas", ["-cubin", "-Xptxas", "-v,-O3", "-maxrregcount", "24"], last=["ptxas -arch=sm_90 -v -O3 -maxrregcount=24"])
check("--resource-usage", ["-cubin", "-res-usage"], last=["ptxas -arch=sm_90 -v"])
check("they have nobody to go to without -cubin", ["-Xptxas", "-v,--frob", "-maxrregcount=24"], device=["k.cu"], absent=["--frob"])
check("-forward-unknown-to-host-compiler", ["-frobnicate", "--frobnicate=1", "-Wl,-z,now", "-rdynamic", "-forward-unknown-to-host-compiler"],
      host=["--frobnicate=1 -rdynamic"], last=["-Wl,-z,now", "--frobnicate=1", "-rdynamic"])
check("code generation that is forwarded is the host's", ["-forward-unknown-to-host-compiler", "-ffast-math", "-mavx2"],
      host=["-ffast-math", "-mavx2"], last=["-ffast-math"])
tap.ok(not has(commands("-forward-unknown-to-host-compiler", "-ffast-math")[0], "-ffast-math"), "device code stays as exact as it was")
check("-Xcompiler: what the preprocessor takes is for device code too", ["-Xcompiler=-DA,-Iq,-march=native"], device=["-DA -Iq"],
      host=["-march=native"])
check("nvcc's newer options", ["--diag-error=1", "-split-compile=0", "-Xcudafe=--diag_suppress=1", "-compress-mode=size",
      "-static-global-template-stub=false", "-Wmissing-launch-bounds"], device=["k.cu"])
for args, text in ((["-ltoir"], "form of NVIDIA's"), (["-optix-ir"], "form of NVIDIA's"),
                   (["-optf", "none"], "'none'"), (["-arch=sm_999999"], "architecture"), (["-arch=sm_"], "architecture"),
                   (["-frobnicate="], None), (["--frobnicate"], "--frobnicate"), (["-o"], None),
                   (["-c", "-run"], "-run"), (["--default-stream", "x"], "x"), (["-O7"], "7")):
    done = cc("--dryrun", *args, "k.cu") if text else None
    if done:
        tap.ok(done.returncode == 2 and text in done.stderr, f"{' '.join(args)} is refused", done.stderr)
tap.ok(cc("-o").returncode == 2, "a value is missing")
for word, guess in (("-linenfo", "-lineinfo"), ("--lineinf", "-lineinfo"), ("-arhc=sm_90", "-arch"), ("--compiler-option", "--compiler-options"),
                    ("-no-such-thing", None)):
    done = cc(word, "k.cu")
    tap.ok(done.returncode == 2 and f"unknown option: '{word}'" in done.stderr and (f"did you mean {guess}?" in done.stderr if guess else "did you mean" not in done.stderr),
           f"{word}: unknown, {'with a guess' if guess else 'without one'}", done.stderr)
for word in ("-lm", "-lcurandom", "-lineno", "-lineage", "-lstdc++", "-llib"):
    done = cc("--dryrun", word, "k.cu")
    tap.ok(done.returncode == 0 and f" {word}" in done.stderr, f"{word} is a library", done.stderr)
done = cc("nosuch.cu")
tap.ok(done.returncode == 1 and done.stderr == "heddle: cc: nosuch.cu: there is no such file\n", "a source that is not there is told once", done.stderr)
# By the name of nvcc it says what build systems look for.
NVCC = os.path.join(os.path.dirname(HEDDLE), "heddle-nvcc")
for flag in ("-V", "--version"):
    done = cc(flag)
    tap.ok(done.returncode == 0 and done.stdout.startswith("heddle cc "), flag, done.stdout + done.stderr)
    done = subprocess.run([NVCC, flag], capture_output=True, text=True, timeout=60)
    tap.ok("nvcc: NVIDIA (R) Cuda compiler driver" in done.stdout and "release 13.0, V13.0." in done.stdout, "nvcc " + flag, done.stdout)
done = subprocess.run([NVCC, "-v", "__cmake_determine_cuda"], capture_output=True, text=True, timeout=60)
says = dict(line[3:].split("=", 1) for line in done.stderr.splitlines() if line.startswith("#$ ") and "=" in line)
tap.ok(done.returncode == 1 and "there is no such file" in done.stderr, "a file that is not there", done.stderr)
TOP = says.get("TOP", "")
for name in ("bin/nvcc", "include/cuda_runtime.h", "lib64/libcudart.so", "lib64/libcudart_static.a", "lib64/libcudadevrt.a",
             "lib64/stubs/libcuda.so", "lib64/libnvrtc.so", "nvvm/libdevice/libdevice.10.bc", "version.json", "version.txt"):
    tap.ok(os.path.exists(os.path.join(TOP, name)), "the toolkit's " + name, TOP)
tap.eq(says.get("NVVMIR_LIBRARY_DIR"), TOP + "/nvvm/libdevice", "nvcc -v names the device library's folder")
tap.eq(says.get("INCLUDES"), f"-I{TOP}/include", "and its headers")
for kind, library in (("static", "-lcudart_static"), ("shared", "-lcudart"), ("none", "")):
    done = subprocess.run([NVCC, "--dryrun", "-cudart", kind, "k.cu"], capture_output=True, text=True, timeout=60)
    last = done.stderr.splitlines()[-1]
    words = last.split()
    tap.ok(last.startswith("#$ ") and says.get("LIBRARIES", "?") in last and (library in words or not library) and
           [w for w in words if w.startswith("-lcudart")] == [library] * bool(library) and "note" not in done.stderr,
           f"nvcc links -cudart {kind} by name", done.stderr)
done = cc("--help")
tap.ok(done.returncode == 0 and "--output-file FILE" in done.stdout and "-maxrregcount" in done.stdout,
       "--help lists every option", done.stdout)
# The headers use no name that programs are likely to define.
with tempfile.TemporaryDirectory() as folder:
    source = os.path.join(folder, "macros.cu")
    with open(source, "w", encoding="utf-8") as file:
        file.write("".join(f"#include <{h}>\n" for h in (
            "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "cuda_fp6.h", "cuda_fp4.h", "curand_kernel.h", "cooperative_groups.h", "cooperative_groups/reduce.h", "cooperative_groups/scan.h",
            "cooperative_groups/memcpy_async.h", "cuComplex.h", "cuda.h", "nvrtc.h")) + "__global__ void k(int *p) { *p = N; }\n")
    macros = [f"-D{name}=7" for name in "A B C D E H K M N P R S T U W X Y Z HD DEV Group Op Args Size SIZE WIDTH HEIGHT BLOCK_SIZE MAX MIN".split()]
    done = subprocess.run([HEDDLE, "cc", *macros, "-c", source, "-o", source + ".o"], capture_output=True, text=True, timeout=60)
    tap.ok(done.returncode == 0, "macros of the command line do not reach into headers", done.stderr)
# CCCL 3.3 takes a device of sm_100 to have __float128, unless this macro says no.
with tempfile.TemporaryDirectory() as folder:
    source = os.path.join(folder, "quad.cu")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#if !defined(CCCL_DISABLE_FLOAT128_SUPPORT) && __CUDA_ARCH__ >= 1000\n#error a __float128 is expected\n#endif\n")
    done = subprocess.run([NVCC, "-arch=sm_120", "-c", source, "-o", source + ".o"], capture_output=True, text=True, timeout=60)
    tap.ok(done.returncode == 0, "CCCL is told that devices have no __float128", done.stderr)
# Folders of toolkits lie behind Heddle's headers, whatever their place on the command line; Thrust is found in them.
with tempfile.TemporaryDirectory() as folder:
    for path in ("own", "tk/include/crt", "tk/include/cccl/thrust"):
        os.makedirs(os.path.join(folder, path))
    for name in ("cuda_runtime.h", "crt/host_runtime.h", "cccl/thrust/version.h"):
        with open(os.path.join(folder, "tk/include", name), "w", encoding="utf-8") as file:
            file.write("#error the toolkit's\n" if name == "cuda_runtime.h" else "")
    toolkit, own = os.path.join(folder, "tk/include"), os.path.join(folder, "own")
    for words in ([f"-I{toolkit}"], ["-isystem", toolkit]):
        device = commands(*words, f"-I{own}")[0]
        tap.ok(has(device, f"-isystem {toolkit} -isystem {toolkit}/cccl") and not has(device, f"-I{toolkit}") and
               device.index(f"-I{own}") < device.index(toolkit) - 2, f"{words[0][:8]} of a toolkit comes last", str(device))
    os.environ["CUDA_HOME"] = os.path.join(folder, "tk")
    tap.ok(has(commands()[0], f"-isystem {toolkit}/cccl"), "Thrust of CUDA_HOME is found", str(commands()[0]))
    tap.ok(not has(commands()[0], f"-isystem {toolkit}"), "and nothing else of it", str(commands()[0]))
    done = subprocess.run([NVCC, "--dryrun", "k.cu"], capture_output=True, text=True, timeout=60)
    tap.ok(f"#$ SYSTEM_INCLUDES=-isystem {toolkit}/cccl\n" in done.stderr, "and nvcc -v says where, for build systems", done.stderr)
# Wheels: PyTorch's headers lie beside the folders of NVIDIA's, which nobody names.
with tempfile.TemporaryDirectory() as folder:
    for layout, runtime, jpeg in (("13", "cu13", "cu13"), ("12", "cuda_runtime", "nvjpeg")):
        site = os.path.join(folder, layout)
        headers = os.path.join(site, "torch/include")
        wheels = [os.path.join(site, "nvidia", name, "include") for name in sorted({runtime, jpeg})]
        for path in (headers, os.path.join(wheels[0], "cccl/thrust"), *wheels):
            os.makedirs(path, exist_ok=True)
        for path, text in ((f"nvidia/{jpeg}/include/nvjpeg.h", "#define WHEEL 1\n"), (f"nvidia/{runtime}/include/cuda_runtime.h", "#error the wheel's\n"),
                           (f"nvidia/{runtime}/include/cuda_runtime_api.h", ""),
                           ("k.cu", "#include <nvjpeg.h>\n#if WHEEL != 1\n#error not the wheel's\n#endif\n__global__ void k() {}\n")):
            with open(os.path.join(site, path), "w", encoding="utf-8") as file:
                file.write(text)
        with open(os.path.join(wheels[0], "cccl/thrust/version.h"), "w", encoding="utf-8"):
            pass
        beside = " ".join("-isystem " + os.path.join(headers, "../../nvidia", os.path.relpath(w, os.path.join(site, "nvidia"))) for w in wheels)
        device = commands("-isystem", headers)[0]
        tap.ok(has(device, beside.split(" -isystem ")[0]) and sum("/nvidia/" in word and word.endswith("/include") for word in device) == len(wheels),
               f"wheels of CUDA {layout} beside PyTorch's headers are found", str(device))
        tap.ok(any(word.endswith("/cccl") and "/nvidia/" in word for word in device) and not any("/usr/local" in word for word in device),
               "and their Thrust, not an installed toolkit's", str(device))
        source = os.path.join(site, "k.cu")
        done = subprocess.run([NVCC, "-isystem", headers, "-c", source, "-o", source + ".o"], capture_output=True, text=True, timeout=60)
        tap.ok(done.returncode == 0, "a library's header is the wheel's, the runtime's is Heddle's", done.stderr)
# A system without a compiler of its own, as clang sees it.
with tempfile.TemporaryDirectory() as folder:
    bare, source, wrong = (os.path.join(folder, name) for name in ("clang", "k.cu", "wrong.cu"))
    with open(bare, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\nexec clang++-19 -nostdinc++ --sysroot=/nonexistent "$@"\n')
    os.chmod(bare, 0o755)
    for path, text in ((source, "__global__ void k() {}\n"), (wrong, "__global__ void k() { x; }\n")):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    for clang, path, noted in ((bare, source, True), ("clang++-19", wrong, False)):
        done = subprocess.run([HEDDLE, "cc", "-x", "cu", "-c", path, "-o", os.path.join(folder, "k.o")], capture_output=True, text=True,
                              timeout=60, env=dict(os.environ, HEDDLE_CLANG=clang))
        tap.ok(done.returncode != 0 and ("install g++" in done.stderr) == noted,
               "without headers of C++ it says what to install" if noted else "and not where something else is wrong", done.stderr)

tap.done()
