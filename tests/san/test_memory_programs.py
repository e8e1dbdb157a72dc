#!/usr/bin/env python3
"""What memcheck and initcheck say of programs that misuse memory, on both devices.

    test_memory_programs.py HEDDLE (cc|nvcc)
"""
import re
import subprocess

from programs import HEDDLE, build, environment, main, ok

API = "Program hit cudaErrorIllegalAddress (error 700)"
# case: tool and options, errors in all, what the text has (regular expressions)
CASES = {
    "fine": ("memcheck", 0, []),
    "after": ("memcheck", 2, [r"Invalid __global__ write of size 4 bytes", r"by thread \(36,0,0\) in block \(1,0,0\)",
                              r"in memory\.cu:12", r"Access at 0x[0-9a-f]+190 is out of bounds",
                              r"and is 0 bytes after the nearest allocation at 0x[0-9a-f]+000 of size 400 bytes", re.escape(API)]),
    "before": ("memcheck", 2, [r"and is 4 bytes before the nearest allocation at 0x[0-9a-f]+000 of size 400 bytes"]),
    "crossing": ("memcheck", 3, [r"Invalid __global__ read of size (8|16) bytes", r"by thread \(24,0,0\)"]),
    "odd": ("memcheck", 3, [r"Access at 0x[0-9a-f]+1 is misaligned", r"and is inside the nearest allocation", r"\(error 716\)"]),
    "variable": ("memcheck", 2, [r"of size 40 bytes", r"which is the variable table"]),
    "constant": ("memcheck", 2, [r"Invalid __constant__ read of size 4 bytes|Invalid __global__ read", r"which is the variable constants"]),
    "shared": ("memcheck", 2, [r"Invalid __shared__ write of size 4 bytes", r"by thread \(3,0,0\)", r"Access at 0x10 is out of bounds"]),
    "wrapped": ("memcheck", 0, []),
    "wrapped_out": ("memcheck", 2, [r"Invalid __shared__ read of size 4 bytes", r"by thread \(3,0,0\)", r"Access at 0xfffffffc is out of bounds"]),
    "pageable": ("memcheck", 2, [r"and is host memory that is not registered or managed"]),
    "null": ("memcheck", 2, [r"Access at 0x0 is out of bounds", r"null pointer"]),
    "heap": ("memcheck", 3, [r"and is 0 bytes after the nearest allocation at 0x[0-9a-f]+ of size 16 bytes on the device heap"]),
    "invalid_free": ("memcheck", 2, [r"Malloc/Free error encountered : Invalid pointer to free", r"Address 0x[0-9a-f]+4\b"]),
    "double_free": ("memcheck", 2, [r"Malloc/Free error encountered : Double free", r"Address 0x[0-9a-f]+0\b"]),
    "heap_leak": ("memcheck --leak-check full", 4, [r"Leaked 16 bytes at 0x[0-9a-f]+ on the device heap", r"Leaked 400 bytes at 0x[0-9a-f]+\n",
                                                    r"LEAK SUMMARY: 944 bytes leaked in 4 allocations"]),
    "reset": ("memcheck --leak-check full", 2, [r"LEAK SUMMARY: 912 bytes leaked in 2 allocations"]),
    "trap": ("memcheck", 2, [r"Hardware exception: kernel executed a trap", r"\(error 719\)"]),
    "freed": ("memcheck", 2, [r"and is inside an allocation at 0x[0-9a-f]+ of size 400 bytes that was freed", r"at free time"]),
    "free_twice": ("memcheck", 1, [r"Program hit cudaErrorInvalidValue \(error 1\) due to \"invalid argument\" on CUDA API call to cudaFree\.",
                                   r"is the start of an allocation of size 400 bytes that was freed"]),
    "registered": ("memcheck", 0, []),
    "order": ("memcheck", 0, []),
    "early": ("memcheck", 2, [r"is used before its allocation", r"which another stream allocates"]),
    "awaited": ("memcheck", 0, []),
    "late": ("memcheck", 1, [r"Stream-ordered race: free of 0x[0-9a-f]+ of size 256 bytes|is used after its free"]),
    "part": ("initcheck", 48, [r"Uninitialized __global__ memory read of size 4 bytes", r"by thread \(16,0,0\) in block \(0,0,0\)",
                               r"Address 0x[0-9a-f]+40\n"]),
    "all": ("initcheck", 0, []),
    "atomic": ("initcheck", 2, [r"Uninitialized __global__ memory read of size 4 bytes"]),
    "to_host": ("initcheck --track-unused-memory", 3, [r"Host API memory access error at host access to 0x[0-9a-f]+ of size 256 bytes",
                                                       r"Uninitialized access at 0x[0-9a-f]+ on access by cudaMemcpy source\.",
                                                       r"Unused __global__ memory in allocation 0x[0-9a-f]+ of size 400 bytes", r"Not written any memory\."]),
    "half_shared": ("initcheck --initcheck-address-space all", 16, [r"Uninitialized __shared__ memory read of size 4 bytes", r"Address 0x40\n"]),
    "copied": ("initcheck", 32, [r"by thread \(32,0,0\)"]),
    "graph": ("initcheck", 0, []),
}

# The interpreter runs one thread at a time: the first error ends the block, the first write counts for the next.
INTERP = {"crossing": 2, "odd": 2, "heap": 2, "atomic": 1}


def check(program, name, device, *more):
    tool = (CASES[name][0] if name in CASES else "memcheck").split()
    env = environment(device)
    result = subprocess.run([HEDDLE, "check", "--tool", *tool, *more, program, name], env=env, capture_output=True,
                            text=True, timeout=60, check=False)
    return result.stdout


def check_faults(program):
    """What a tool that does not look for the error says of a kernel that failed."""
    env = environment("cpu")
    for name in ("null", "trap"):
        for tool, want in (("racecheck", "Run --tool memcheck first"), ("memcheck", "Mend that, then check again")):
            text = subprocess.run([HEDDLE, "check", "--tool", tool, program, name], env=env, capture_output=True, text=True, timeout=60, check=False).stdout
            last = text.splitlines()[-1]
            ok(re.search(r"Warning: Kernel \w+\(.*\) failed and ended its context", last) and want in last, f"{name}, {tool}: what was not checked", text)


def errors_of(text):
    found = re.search(r"ERROR SUMMARY: (\d+) error", text)
    return int(found[1]) if found else -1


def check_case(program, name, device):
    _, errors, patterns = CASES[name]
    errors = INTERP.get(name, errors) if device == "interp" else errors
    text = check(program, name, device)
    missing = [p for p in patterns if not re.search(p, text)]
    ok(errors_of(text) == errors and not missing, f"{name}, {device}",
       f"want {errors} errors; missing {missing}\n{text}")


def check_options(program):
    text = check(program, "odd", "cpu", "--report-api-errors", "no")
    ok(errors_of(text) == 2 and "Program hit" not in text, "API errors may be left out", text)
    text = check(program, "early", "cpu", "--track-stream-ordered-races", "use-after-free")
    ok(errors_of(text) == 0, "and one kind of races", text)
    text = check(program, "part", "cpu", "--kernel-name", "kns=other")
    ok(errors_of(text) == 0, "kernels that the filter does not take", text)
    text = check(program, "all", "cpu", "--kernel-name", "kns=other")
    ok(errors_of(text) == 0, "still write", text)


def check_all(folder):
    program = build(folder, "memory", 75)
    if program:
        for name in CASES:
            for device in ("cpu", "interp", "sim"):
                check_case(program, name, device)
        check_options(program)
        check_faults(program)


main(check_all)
