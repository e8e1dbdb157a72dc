#!/usr/bin/env python3
"""What schedcheck says of programs whose results depend on the order of blocks or warps, on both devices, and that
the program itself sees the usual result, once.

    test_order_programs.py HEDDLE (cc|nvcc)
"""
import json
import os
import re
import subprocess

from programs import HEDDLE, build, environment, main, ok

# case: what the program prints, errors and warnings, what the text has (regular expressions)
CASES = {
    "last": ("cudaSuccess 4", 1, 0, [
        r"Error: Result depends on the order of blocks \(2,0,0\) and \(3,0,0\)", r"in launch 1 of last\(int ?\*\), grid \(4,1,1\), block \(32,1,1\)",
        r"1 byte differs, the first at 0x[0-9a-f]+, offset 0 of the allocation at 0x[0-9a-f]+ of size 65536 bytes",
        r"First order, block \(2,0,0\) before block \(3,0,0\): 04 00 00 00 \(int 4, float [0-9.e-]+\)",
        r"Second order, block \(3,0,0\) before block \(2,0,0\): 03 00 00 00 \(int 3,", r"All others are in ascending order; found with blocks backwards",
        r"In the first order last written by thread \(0,0,0\) in block \(3,0,0\) at last\(int ?\*\)\+0x[0-9a-f]+ in order\.cu:19",
        r"In the second order last written by thread \(0,0,0\) in block \(2,0,0\)", r"Host Frame: main .* in order"]),
    "largest": ("cudaSuccess 4", 0, 0, []),
    "pair": ("cudaSuccess 8", 1, 0, [r"order of blocks \(5,0,0\) and \(11,0,0\)", r"Second order, block \(11,0,0\) before block \(5,0,0\): 01 00 00 00"]),
    "variable": ("cudaSuccess 4", 1, 0, [r"offset 0 of the variable variable of size 4 bytes"]),
    "heap": ("cudaSuccess 4", 1, 0, [r"offset 4 of the heap's block at 0x[0-9a-f]+ of size 16 bytes",
                                     r"Launches that were not run again: 1, which allocate or free memory in the kernel"]),
    "pointer": ("cudaSuccess 9", 1, 0, [r"First order, block \(0,0,0\) before block \(1,0,0\): no error",
                                        r"Second order, block \(1,0,0\) before block \(0,0,0\): illegal"]),
    "ticket": ("cudaSuccess 1", 0, 0, []),
    "cluster": ("cudaSuccess 7", 1, 0, [r"order of clusters \(2,0,0\) and \(3,0,0\)", r"Second order, .*: 05 00 00 00"]),
    "list": ("cudaSuccess 9", 0, 1, [r"Warning: Result depends on the order of blocks", r"The same words are there in another order"]),
    "lost": ("cudaSuccess 16", 1, 0, [r"depends on how warps are interleaved", r"First order, one after the other: 10 00 00 00",
                                      r"Second order, warps interleaved, seed [234]: "]),
    "print": ("block 0\nblock 1\nblock 2\ncudaSuccess 1", 0, 0, []),
    "clock": ("cudaSuccess 0", 0, 0, [r"Launches that were not run again: 1, which have another result each time"]),
    "mirror": ("cudaSuccess 256", 0, 0, []),
    "no_barrier": (r"cudaSuccess \d+", 1, 0, [r"order of warps 3 and 4 of block \([0-3],0,0\)"]),
    "one_without": (r"cudaSuccess 256", 1, 0, [r"order of warps 3 and 4 of block \(2,0,0\)"]),
    "sum": ("cudaSuccess 0", 0, 1, [r"Warning: Result depends on the order of blocks", r"by \d+ units in the last place of float at most: rounding"]),
    "grid": ("cudaSuccess 36", 0, 0, [r"1 launch was run again"]),
    "graph": ("cudaSuccess 4", 1, 0, [r"order of blocks \(2,0,0\) and \(3,0,0\)"]),
    "managed": ("cudaSuccess 4", 1, 0, [r"order of blocks \(2,0,0\) and \(3,0,0\)"]),
    "pinned": ("cudaSuccess 4", 1, 0, [r"order of blocks \(2,0,0\) and \(3,0,0\)"]),
    "host_flag": ("cudaSuccess 3", 0, 0, [r"Launches that were not run again: 1, which wait for something outside of the launch"]),
    "stream_flag": ("cudaSuccess 3", 0, 0, [r"1, which wait for something outside", r"1, which could not be alone"]),
    "threads": ("cudaSuccess 8", 0, 0, [r"\d+ launches were run again"]),
    "single": ("cudaSuccess 1", 0, 0, [r"0 launches were run again"]),
}


# The interpreter's clock counts instructions: it is the same each time.
NOT_ON_INTERP = {"clock"}


def check(program, name, device, *more, **env):
    """What the program printed, and what the checker did."""
    log = f"{program}-{name}-{device}.log"
    env = environment(device, **env)
    result = subprocess.run([HEDDLE, "check", "--tool", "schedcheck", "--log-file", log, *more, program, name], env=env, capture_output=True,
                            text=True, timeout=300, check=False)
    with open(log, encoding="utf-8") as file:
        return result.stdout, file.read(), result.returncode


def totals_of(text):
    found = re.search(r"SCHEDCHECK SUMMARY: \d+ results? that depends? on the order \((\d+) errors?, (\d+) warnings?\)", text)
    return (int(found[1]), int(found[2])) if found else None


def check_case(program, name, device):
    printed, errors, warnings, patterns = CASES[name]
    out, text, status = check(program, name, device, "--error-exitcode", "7")
    missing = [p for p in patterns if not re.search(p, text)]
    ok(totals_of(text) == (errors, warnings) and not missing and status == (7 if errors else 0), f"{name}, {device}",
       f"want {errors}, {warnings}; status {status}; missing {missing}\n{text}")
    ok(re.fullmatch(printed + "\n", out) is not None, f"{name}, {device}: the program sees the usual result, once", f"want {printed}\n{out}")


def check_repeats(program):
    """The same seed finds the same, to the letter but for addresses and process."""
    texts = [re.sub(r"0x[0-9a-f]{6,}", "", check(program, "lost", "cpu", "--seed", "5")[1]) for _ in range(2)]
    ok(texts[0] == texts[1] and re.search("seed [678]:", texts[0]), "a seed repeats what it found", "\n".join(texts))


def check_options(program, folder):
    page, data, xml = (os.path.join(folder, name) for name in ("found.html", "found.json", "found.xml"))
    _, text, _ = check(program, "last", "cpu", "--json", data, "--html", page, "--save", xml, "--xml")
    with open(data, encoding="utf-8") as file:
        found = json.load(file)
    cause = found["causes"][0]
    ok((found["totals"]["orders"], found["totals"]["order_errors"], cause["tool"], cause["kind"], cause["severity"], len(cause["threads"])) ==
       (1, 1, "schedcheck", "block-order", "error", 2), "JSON", json.dumps(found, indent=1))
    with open(page, encoding="utf-8") as file:
        ok("Result depends on the order of blocks (2,0,0) and (3,0,0)" in file.read(), "HTML", text)
    _, text, status = check(program, "last", "cpu", "--suppressions", xml, "--error-exitcode", "7")
    ok(totals_of(text) == (0, 0) and "SUPPRESSION SUMMARY: 1 error suppressed" in text and status == 0, "what XML says may be suppressed", text)
    _, text, _ = check(program, "last", "cpu", "--kernel-name", "kns=other")
    ok(totals_of(text) == (0, 0) and "0 launches were run again" in text, "kernels that the filter does not take", text)
    _, text, _ = check(program, "sum", "cpu", "--schedule-ulps", "0")
    ok(totals_of(text)[0] >= 1, "no rounding is small enough", text)
    _, text, _ = check(program, "lost", "cpu", "--interleave", "0")
    ok(totals_of(text) == (0, 0), "nothing is interleaved", text)
    _, text, _ = check(program, "last", "cpu", "--schedule-reruns", "0")
    ok(totals_of(text) == (1, 0) and "Second order, blocks backwards: " in text, "no runs to find the pair", text)
    out, text, _ = check(program, "stream_flag", "cpu", HEDDLE_THREADS="1")
    ok(out == "cudaSuccess 3\n", "kernels that wait for each other end with one worker", out + text)
    _, text, _ = check(program, "pair", "cpu", "--tool", "racecheck")
    ok(totals_of(text) == (1, 0) and re.search(r"RACECHECK SUMMARY: 1 hazard", text), "racecheck beside it sees one run", text)


def check_memory(folder, program):
    source = os.path.join(folder, "large.cu")
    with open(source, "w", encoding="utf-8") as file:
        file.write("__global__ void k(int *p) { p[blockIdx.x] = 1; }\n"
                   "int main() { int *p; cudaMalloc(&p, 3 << 20); k<<<4, 1>>>(p); return cudaDeviceSynchronize(); }\n")
    large = program + "-large"
    subprocess.run([HEDDLE, "cc", source, "-o", large], check=True)
    for limit_MiB, says in ((2, "1, which write to more memory than --schedule-memory says"), (3, "1 launch was run again")):
        _, text, _ = check(large, "", "cpu", "--schedule-memory", str(limit_MiB))
        ok(says in text, f"{limit_MiB} MiB may be written to", text)


def check_all(folder):
    program = build(folder, "order", 90, "-std=c++17")
    if program:
        for name in CASES:
            for device in ("cpu", "interp", "sim"):
                if device == "cpu" or name not in NOT_ON_INTERP:
                    check_case(program, name, device)
        check_repeats(program)
        check_options(program, folder)
        check_memory(folder, program)


main(check_all)
