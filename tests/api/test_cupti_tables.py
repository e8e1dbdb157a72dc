#!/usr/bin/env python3
"""CUPTI's records and numbers against the vendor's headers, where they are installed.

    test_cupti_tables.py SOURCE_ROOT VENDOR_INCLUDE

Sizes and offsets of every record of ours, of those of CUPTI 12 (which have to be the first bytes of ours), the values of
all enumerators, and the layout of every argument struct.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT, VENDOR = sys.argv[1:3]
OWN = os.path.join(ROOT, "include/cuda")
CC = os.environ.get("CC", "cc").split()
# Records of CUPTI 12.0 to 12.9 that ours have to begin with.
OLDER = {"Memcpy6": ["Memcpy5"], "MemcpyPtoP4": ["MemcpyPtoP3"], "Memset4": ["Memset3"], "Memory4": ["Memory3", "Memory2"],
         "MemoryPool3": ["MemoryPool2", "MemoryPool"], "Device5": ["Device4"], "Context3": ["Context2", "Context"],
         "Kernel10": ["Kernel9", "Kernel8"], "Marker2": [], "MarkerData2": ["MarkerData"],
         "Overhead3": ["Overhead2", "Overhead"], "Jit2": ["Jit"], "CudaEvent2": ["CudaEvent"],
         "Synchronization2": ["Synchronization"], "GraphTrace2": ["GraphTrace"]}
COUNT = 0
FAILED = 0


def check(passed, name):
    global COUNT, FAILED
    COUNT += 1
    FAILED += not passed
    print(f"{'ok' if passed else 'not ok'} {COUNT} - {name}")


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read(), flags=re.S)


def members(body):
    """Names of a struct's direct members."""
    body = re.sub(r"#\s*(if|endif).*", "", body)
    flat = None
    while flat != body:
        flat, body = body, re.sub(r"(?:union|struct)[^;{}]*\{[^{}]*\}\s*(\w+)\s*;", r"int \1;", body)
    found = re.findall(r"(\w+)\s*(?:\[\w+\])?\s*;", body)
    return [name for name in found if not re.match(r"pad|reserved", name)]


def structs(text):
    """{name: members} of the structs that a header defines."""
    pattern = r"typedef struct[^;{]*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}\s*(\w+);"
    return {m[2]: members(m[1]) for m in re.finditer(pattern, text)}


# Of the profilers.
PROFILERS = ["cupti_target.h", "cupti_profiler_target.h", "cupti_profiler_host.h", "cupti_range_profiler.h",
             "cupti_pcsampling.h"]
# What the vendor's argument structs need of the vendor's cuda.h.
INTERNAL = "-D__CUDA_API_VERSION_INTERNAL"


def preprocessed(header):
    """The structs of one of our headers that makes them by macros."""
    done = subprocess.run([*CC, "-w", "-E", "-P", "-I", OWN, os.path.join(OWN, header)], capture_output=True, text=True,
                          check=True, timeout=60)
    return structs(done.stdout)


def values(include, headers, expressions):
    """What a program that is compiled with these headers prints."""
    flags = [INTERNAL] if include == VENDOR and headers == ["generated_cuda_meta.h"] else []
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "string"), "w", encoding="utf-8"):
            pass  # a header of the vendor's includes C++'s, and uses nothing of it
        source = os.path.join(folder, "p.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write("#include <stddef.h>\n#include <stdio.h>\n")
            file.write("".join(f"#include <{header}>\n" for header in headers))
            file.write("int main(void)\n{\n")
            file.write("".join(f'printf("%lld\\n", (long long)({e}));\n' for e in expressions) + "return 0;\n}\n")
        program = os.path.join(folder, "p")
        done = subprocess.run([*CC, "-w", "-O0", *flags, "-I", include, "-I", folder, source, "-o", program], capture_output=True, text=True,
                              timeout=300)
        if done.returncode:
            print("# " + "\n# ".join(done.stderr.splitlines()[:20]))
            return None
        return subprocess.run([program], capture_output=True, text=True, check=True, timeout=60).stdout.split()


def compare(name, headers, expressions, theirs=None):
    ours = values(OWN, headers, expressions)
    other = values(VENDOR, headers, theirs or expressions)
    for e, a, b in zip(expressions, ours or [], other or []):
        if a != b:
            print(f"# {e}: {a}, the vendor's {b}")
    check(ours is not None and ours == other, f"{name}: {len(expressions)} values")


def layout(prefix, found):
    for name, names in found.items():
        yield f"sizeof({prefix}{name})"
        for member in names:
            yield f"offsetof({prefix}{name}, {member})"


def test_records():
    found = structs(text_of(os.path.join(OWN, "cupti_activity.h")))
    found.update(structs(text_of(os.path.join(OWN, "cupti_callbacks.h"))))
    compare("records", ["cupti.h"], list(layout("", found)))


def test_profilers():
    """Structs by member, and the sizes that clients say they have."""
    found, sizes, names = {}, [], []
    for header in PROFILERS:
        text = text_of(os.path.join(OWN, header))
        found.update(structs(text))
        sizes += re.findall(r"#define (CUpti_\w+(?:_STRUCT_SIZE|ParamsSize))\b", text)
        names += re.findall(r"^ +(CUPTI_\w+)\s*(?:= *\w+)?,?$", text, re.M)
    structs_and_macros = set(found) | set(sizes)
    names = [n for n in dict.fromkeys(names) if n not in structs_and_macros]
    compare("structs of the profilers", PROFILERS, list(layout("", found)) + sizes)
    compare("enumerators of the profilers", PROFILERS, names)


def test_older():
    old = structs(text_of(os.path.join(VENDOR, "cupti_activity_deprecated.h")))
    ours, theirs = [], []
    for new, names in OLDER.items():
        for name in names:
            for member in old["CUpti_Activity" + name]:
                ours.append(f"offsetof(CUpti_Activity{new}, {member})")
                theirs.append(f"offsetof(CUpti_Activity{name}, {member})")
    compare("records of CUPTI 12 begin ours", ["cupti.h"], ours, theirs)


def test_numbers():
    names = []
    for header in ("cupti_result.h", "cupti_activity.h", "cupti_callbacks.h", "cupti_driver_cbid.h", "cupti_runtime_cbid.h",
                   "cupti_nvtx_cbid.h"):
        names += re.findall(r"\b(CUPTI_\w+)\s*(?:=|,|\n?\s*\})", text_of(os.path.join(OWN, header)))
        lists = re.findall(r"^\s*X\((\w+), \d+", text_of(os.path.join(OWN, header)), re.M)
        prefix = {"cupti_result.h": "CUPTI_", "cupti_activity.h": "CUPTI_ACTIVITY_KIND_",
                  "cupti_callbacks.h": "CUPTI_CBID_RESOURCE_"}.get(header, "")
        names += [prefix + name for name in lists]
    names = [n for n in dict.fromkeys(names) if not n.endswith("_") and n != "CUPTI_API_VERSION"]
    compare("enumerators", ["cupti.h"], names)


def test_vendor_numbers():
    """Nothing of the vendor's is missing from our tables of callback ids."""
    for header in ("cupti_driver_cbid.h", "cupti_runtime_cbid.h", "cupti_nvtx_cbid.h"):
        want = set(re.findall(r"\b(CUPTI_\w+)\s*=\s*\d+", text_of(os.path.join(VENDOR, header))))
        have = set(re.findall(r"\b(CUPTI_\w+)\s*=\s*\d+", text_of(os.path.join(OWN, header))))
        missing = sorted(want - have)
        if missing:
            print("# missing: " + " ".join(missing[:20]))
        check(not missing, header)


def test_params():
    """By place and size: names of parameters are each header's own."""
    for header in ("generated_cuda_meta.h", "generated_cuda_runtime_api_meta.h", "generated_nvtx_meta.h"):
        own = preprocessed(header)
        theirs = structs(text_of(os.path.join(VENDOR, header)))
        names = [n for n in own if n in theirs and len(own[n]) == len(theirs[n])]
        ours, other = [], []
        for name in names:
            ours.append(f"sizeof({name})")
            other.append(f"sizeof({name})")
            for a, b in zip(own[name], theirs[name]):
                if a != "none":
                    ours.append(f"offsetof({name}, {a})")
                    other.append(f"offsetof({name}, {b})")
        compare(header, [header], ours, other)
        print(f"# {len(names)} of the vendor's {len(theirs)} structs")


def main():
    if not os.path.exists(os.path.join(VENDOR, "cupti.h")):
        print("1..0 # SKIP the vendor's headers are not installed")
        return 0
    test_records()
    test_profilers()
    test_older()
    test_numbers()
    test_vendor_numbers()
    test_params()
    print(f"1..{COUNT}")
    return FAILED != 0


sys.exit(main())
