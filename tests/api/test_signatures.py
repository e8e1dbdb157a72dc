#!/usr/bin/env python3
"""The signatures of spec/api agree with the toolkit's headers, where one is installed: each row is
declared again behind the header, and the compiler compares. What the headers declare has a row, and
the versions are those of the headers' function types.

    test_signatures.py SCRIPTS
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
import cuda_toolkit  # noqa: E402
import gen_api  # noqa: E402

# Types behind the graphics libraries' headers; and the functions of 12 whose names 13 gave to others.
SKIPPED = re.compile(r"GL[A-Z]|EGL|Egl|VDPAU|NvSci|^__")
# What the toolkit of this machine must be for the comparison to mean anything.
VERSION = 13000


def toolkit():
    nvcc = cuda_toolkit.find_nvcc()
    if not nvcc:
        return None
    include = os.path.join(cuda_toolkit.home(nvcc) or "", "include")
    try:
        with open(os.path.join(include, "cuda.h"), encoding="latin-1") as file:
            version = int(re.search(r"#define CUDA_VERSION (\d+)", file.read()).group(1))
    except (OSError, AttributeError):
        return None
    return include if version == VERSION else None


def declarations(table):
    for entry in table:
        if SKIPPED.search(entry.symbol) or (entry.nodes == "V12" and entry.has_split):
            continue
        params = ", ".join(gen_api.declare(p) for p in entry.params) or "void"
        yield f"extern {gen_api.result_of(entry)}{entry.symbol}({params});"


def declared(include, call, headers):
    """Names that the headers declare for the host."""
    names = set()
    for header in headers:
        with open(os.path.join(include, header), encoding="latin-1") as file:
            names |= set(re.findall(rf"\b{call}\s+(cu\w+)\s*\(", file.read()))
    return {name for name in names if "WGL" not in name}


def missing(include, api, table):
    call, headers = {"driver": ("CUDAAPI", ["cuda.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h", "cudaProfiler.h"]),
                     "runtime": ("CUDARTAPI", ["cuda_runtime_api.h", "cuda_gl_interop.h", "cuda_egl_interop.h",
                                               "cuda_vdpau_interop.h", "cuda_profiler_api.h"])}[api]
    have = {symbol for entry in table for symbol, _ in gen_api.symbols(entry)}
    return sorted(declared(include, call, headers) - have)


def versions(include):
    """{name: versions} of what cuGetProcAddress() is asked for, from the types of the functions."""
    found = {}
    for header in ("cudaTypedefs.h", "cudaGLTypedefs.h", "cudaEGLTypedefs.h", "cudaVDPAUTypedefs.h", "cudaProfilerTypedefs.h"):
        with open(os.path.join(include, header), encoding="latin-1") as file:
            for name, version in re.findall(r"\*PFN_(cu\w+?)_v(\d+)\)", file.read()):
                found.setdefault(name, set()).add(int(version))
    return found


def wrong_versions(include, table):
    have = {}
    for entry in table:
        have.setdefault(entry.name, set()).add(entry.since)
    return [f"{name}: {sorted(have.get(name, ()))} instead of {sorted(want)}"
            for name, want in sorted(versions(include).items())
            if "WGL" not in name and have.get(name) != want]


def compare(include, front, table):
    """(declared, what the compiler says)"""
    lines = list(declarations(table))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "compare.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(front + "\n".join(lines) + "\n")
        done = subprocess.run(["gcc", "-fsyntax-only", "-w", "-fmax-errors=0", "-I", include, path],
                              capture_output=True, text=True)
    return len(lines), [line for line in done.stderr.splitlines() if "error:" in line]


def tell(number, what, wrong):
    print(f"{'not ' if wrong else ''}ok {number} - {what}")
    for line in wrong[:40]:
        print("#", line)
    return bool(wrong)


def main():
    include = toolkit()
    if not include:
        print(f"1..0 # SKIP no toolkit of version {VERSION}")
        return 0
    failed = 0
    fronts = {"driver": "#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n",
              "runtime": "#include <cuda.h>\n#include <cuda_runtime_api.h>\n"}
    print("1..5")
    for number, (api, front) in enumerate(fronts.items(), 1):
        count, errors = compare(include, front, gen_api.READ[api]())
        failed += bool(errors)
        print(f"{'not ' if errors else ''}ok {number} - {count} signatures of the {api} API")
        for line in errors[:40]:
            print("#", line.split(": ", 1)[1])
    for number, (api, _) in enumerate(fronts.items(), 3):
        failed += tell(number, f"every function of the {api} API has a row", missing(include, api, gen_api.READ[api]()))
    failed += tell(5, "versions of the driver's functions", wrong_versions(include, gen_api.read_driver()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
