#!/usr/bin/env python3
"""Checks every #include against the layer graph: the one place where its arrows are written down.

    scripts/lint_layers.py [ROOT]

A module is a folder under src/. A file may include its own module's headers, those of the modules in
its row of MODULES, anything in spec/, and system headers. The program prints every other include.
"""
import os
import re
import sys

# module: what it holds, and modules whose headers it may include; "base" is allowed for everybody.
# scripts/gen_layers.py makes the table in CONTRIBUTING.md of it.
MODULES = {
    "base": ("arena, status, log, settings, containers, locks, fault points", set()),
    "obj": ("fat binaries, ELF images, code cache", set()),
    "ptx": ("PTX lexer, parser, printer", set()),
    "ir": ("IR types, builder, printer, reader, validator, probes", set()),
    "tune": ("what tuning chose for the code of kernels, and what was measured", {"ir"}),
    "tcore": ("sums as tensor cores of GPUs make them: the rule, and vectors of sums", set()),
    "model": ("what operations compute: evaluation, matrices, tensors, textures", {"ir", "tcore"}),
    "analysis": ("analyses of the IR: liveness, loops that wait, shapes, conflicts", {"ir"}),
    "interp": ("the reference: a scalar interpreter of the IR", {"ir", "model", "analysis"}),
    "lower": ("PTX to IR", {"ptx", "ir", "model", "analysis"}),
    "opt": ("passes over IR", {"ir", "model", "analysis"}),
    "compile": ("module in, module out", {"ptx", "lower", "opt", "ir", "obj"}),
    "dbg": ("the debugger's half in the process: a server for GDB; core dumps", {"ptx", "ir", "interp", "compile"}),
    "linker": ("images and PTX in, one checked image out", {"compile", "obj"}),
    "isa": ("the ISA: words, text, images; assembler and disassembler", {"obj"}),
    "codegen": ("IR to words of the ISA", {"isa", "ir", "model", "obj", "analysis", "tune"}),
    "ptxas": ("PTX in, an image of PTX and code, and ptxas's messages out", {"compile", "obj", "ptx", "ir", "isa", "codegen", "tune"}),
    "sim": ("the simulated GPU: words of the ISA on 32 lanes", {"isa", "ir", "model", "interp"}),
    "jit": ("IR to host code through LLVM", {"ir", "model", "analysis", "obj", "tcore", "tune"}),
    "count": ("kernel counters: what launches executed", {"hal", "ir", "model", "analysis"}),
    "registry": ("who uses devices, and how much: shared memory of the user's processes", set()),
    "requests": ("what programs mark as requests: a listener, and histograms in shared memory", {"registry"}),
    "hal": ("the contract between API and devices: ops, packets, queue", {"ir", "registry"}),
    "tap": ("who listens to what happens, and how it is told", {"hal"}),
    "dev/cpu": ("the CPU device: workers, CTAs as host code", {"hal", "jit", "interp", "ir", "registry", "model", "analysis", "tune"}),
    "dev/interp": ("the reference device, slow", {"hal", "interp", "ir", "registry", "model", "analysis"}),
    "dev/sim": ("the simulated GPU as a device: the reference device with another engine", {"hal", "dev/interp", "interp", "sim", "isa", "codegen", "ir", "tune"}),
    "dev/remote": ("a device in a process of its own", {"hal", "ir", "model", "registry"}),
    "dev": ("the table of devices", {"hal", "dev/cpu", "dev/interp", "dev/sim", "dev/remote"}),
    "san": ("the checker: tools that watch kernels and calls", {"ir", "model", "analysis", "hal"}),
    "prof": ("the profiler's half in the process: a listener, and what it writes", {"hal"}),
    "report": ("what tools make of recordings: statistics, groups of launches, two side by side", set()),
    "advise": ("what a program could gain: a replay of its timeline, and rules", {"report"}),
    "core": ("contexts, memory, modules, streams, events", {"tap", "hal", "obj", "compile", "dbg", "linker", "ir", "registry", "san", "count", "model"}),
    "api/nvtx": ("NVTX's functions, as events; in libcuda", {"core", "tap"}),
    "api/driver": ("libcuda", {"core", "tap", "prof", "requests", "tune"}),
    "api/runtime": ("libcudart, on the driver API only", {"api/driver"}),
    "clang": ("running clang as a program, and its PTX", set()),
    "api/nvrtc": ("libnvrtc, over clang", {"clang", "obj"}),
    "api/nvjitlink": ("libnvJitLink", {"linker", "obj"}),
    "api/nvfatbin": ("libnvfatbin", {"linker", "obj"}),
    "api/nvvm": ("libnvvm, over clang", {"clang", "obj"}),
    "api/nvml": ("libnvidia-ml, on the driver API and the registry", {"api/driver", "registry"}),
    "api/cupti": ("libcupti, a listener of the taps", {"api/driver", "count"}),
    "klib": ("the kernel library: native kernels over OpenBLAS, in a library of their own", {"tcore"}),
    "api/lib_base": ("what libraries have in common: handles, statuses, errors, logs, launches of klib's kernels", {"klib"}),
    "api/cublas": ("libcublas, on klib's kernels", {"api/lib_base", "klib"}),
    "api/cufft": ("libcufft, on klib's kernels", {"api/lib_base", "klib"}),
    "api/cufftw": ("libcufftw: FFTW's interface, on libcufft's", set()),
    "api/cublaslt": ("libcublasLt, on klib's kernels; its handles are cuBLAS's", {"api/lib_base", "api/cublas", "klib"}),
    "api/cusparse": ("libcusparse, on klib's kernels", {"api/lib_base", "klib"}),
    "api/cusolver": ("libcusolver, on klib's kernels", {"api/lib_base", "klib"}),
    "api/curand": ("libcurand, on klib's kernels", {"api/lib_base", "klib"}),
    "api/absent": ("libraries that refuse every function by name", {"api/lib_base"}),
    "api/cudnn": ("libcudnn, on klib's kernels", {"api/lib_base", "klib"}),
    "api/nvptxcompiler": ("libnvptxcompiler", {"ptxas"}),
    "frameworks/onnx": ("ONNX Runtime: its execution provider for CUDA, a plug-in", set()),
    "frameworks/torch": ("PyTorch: its operators as native kernels; loaded by the preload", set()),
    "preload": ("redirects runtimes that programs and libraries embed", {"obj", "frameworks/torch"}),
    "libdevice": ("device maths, as bitcode for `heddle cc`; not even base", set()),
}
ARROWS = {module: uses for module, (_, uses) in MODULES.items()}
# Only these may be included from outside their module, whatever MODULES says: a module's front.
PUBLIC_FRONT = {"compile": {"compile.h"}}
# What a module must not even see, through whatever headers: what it wants of these, the modules that it
# may use have functions for.
HIDDEN = {
    "api/nvtx": {"hal", "ir", "compile", "obj", "jit", "interp", "dev/cpu"},
    "api/driver": {"hal", "ir", "compile", "obj", "jit", "interp", "dev/cpu"},
    "api/runtime": {"core", "hal", "ir", "compile", "obj", "jit", "interp", "dev/cpu"},
}
# The public headers (include/) are for the API layer, which implements them, and for programs.
USES_PUBLIC = {"api/driver", "api/nvtx", "api/runtime", "api/nvrtc", "api/nvjitlink", "api/nvfatbin", "api/nvptxcompiler", "api/nvvm",
               "api/nvml", "api/cupti", "api/lib_base", "api/cublas", "api/cublaslt", "api/cufft", "api/cufftw", "api/cusparse", "api/cusolver", "api/curand", "api/cudnn", "api/absent", "klib",
               "frameworks/onnx", "preload", "hal", "dev/cpu", "tap", "core", "san", "count", "prof", "requests", "tune"}
# Modules that are the tools' own logic, apart from their options and texts: no library has them.
OF_TOOLS = {"report", "advise"}
# Folders where everything may be included.
FREE = {"tests"}
PUBLIC_ONLY = {"examples", "bench"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)


def module_of(path):
    """The module of a path relative to ROOT, e.g. "src/dev/cpu/worker.c" -> "dev/cpu"."""
    parts = path.split("/")
    if parts[0] != "src":
        return parts[0]
    if len(parts) == 3 and os.path.splitext(parts[1])[1]:
        return os.path.splitext(parts[1])[0]
    two = "/".join(parts[1:3])
    if two in ARROWS:
        return two
    if len(parts) == 2:  # src/compile.h is the front of src/compile/
        return os.path.splitext(parts[1])[0]
    return parts[1]


def resolve(root, path, target):
    """The file an include names, relative to ROOT; None when it is outside the project."""
    folder = os.path.dirname(path)
    for base in (folder, "src", "spec", "include", "include/cuda", "", "tools/heddle", "tests", "tests/support", "bench"):
        candidate = os.path.normpath(os.path.join(base, target))
        if not candidate.startswith("..") and os.path.isfile(os.path.join(root, candidate)):
            return candidate
    return None


def allowed(path, found):
    """Whether the file `path` may include the file `found`; both relative to ROOT."""
    source, target = module_of(path), module_of(found)
    if source in FREE or source == target or target == "spec":
        return True
    if target == "base":
        return source not in {"include", "examples", "spec", "libdevice"}
    if source == "tools":
        return True  # counted per file by main()
    if target == "include":
        return source in USES_PUBLIC or source in PUBLIC_ONLY
    if target not in ARROWS.get(source, set()):
        return False
    front = PUBLIC_FRONT.get(target)
    return not front or os.path.basename(found) in front


def files_of(root):
    for top in ("src", "include", "spec", "tools", "tests", "examples", "bench"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def", ".inc", ".cu")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def includes(root, path, cache):
    """The project's files that a file includes directly, with the line."""
    if path not in cache:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            text = file.read()
        found = ((resolve(root, path, m.group(2)), text.count("\n", 0, m.start()) + 1) for m in INCLUDE.finditer(text))
        cache[path] = [(target, line) for target, line in found if target]
    return cache[path]


def hidden_seen(root, path, cache):
    """(line, the chain of headers) for each include that leads to something hidden."""
    hidden = HIDDEN.get(module_of(path), ())
    for first, line in includes(root, path, cache) if hidden else ():
        chains, seen = [[first]], {first}
        while chains:
            chain = chains.pop(0)
            if module_of(chain[-1]) in hidden:
                yield line, chain
                break
            for target, _ in includes(root, chain[-1], cache):
                if target not in seen:
                    seen.add(target)
                    chains.append(chain + [target])


def problems(root):
    cache = {}
    for path in sorted(files_of(root)):
        source = module_of(path)
        if source not in ARROWS and path.startswith("src/"):
            yield f"{path}: module '{source}' has no row in scripts/lint_layers.py"
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            text = file.read()
        shown = set()
        for match in INCLUDE.finditer(text):
            quote, target = match.groups()
            line = text.count("\n", 0, match.start()) + 1
            found = resolve(root, path, target)
            if not found:
                if quote == '"' and source not in {"include", "examples", "bench"}:
                    yield f'{path}:{line}: "{target}" is not in the project; write <{target}>'
                continue
            if quote == "<" and not found.startswith("include"):
                continue  # a system header that happens to share its name
            if not allowed(path, found):
                yield f"{path}:{line}: {source} may not include {found}"
            if source == "tools" and module_of(found) not in {"base", "spec", "include", "tools"} | OF_TOOLS:
                shown.add(module_of(found))
        for line, chain in hidden_seen(root, path, cache):
            if allowed(path, chain[0]):
                yield f"{path}:{line}: {source} must not see {chain[-1]}, through {' -> '.join(chain)}"
        if len(shown) > 1 and not shown <= {"ptx", "lower", "opt", "ir", "compile"}:
            yield f"{path}: a tool shows one module, this one includes {', '.join(sorted(shown))}"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..")
    count = 0
    for problem in problems(root):
        print(problem)
        count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
