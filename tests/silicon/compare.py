#!/usr/bin/env python3
"""Compares two outputs of `silicon_vectors`: a recording of hardware and another device.

    compare.py RECORDED OTHER [-v] [--tap]

Rows must agree bit for bit, except that approximate instructions may differ within the error that PTX
documents, and rows that one side refused are listed. -v shows the first differing vectors of each row.
--tap: one test per group of rows (the part of the name before the first dot).
"""
import argparse
import collections
import math
import struct
import sys

# Relative or absolute error allowed to the approximate instructions (PTX ISA, each instruction's table).
# Specials (0, inf, NaN) still have to agree exactly.
BOUNDS = {"rcp.approx": 2 ** -22, "sqrt.approx": 2 ** -22, "rsqrt.approx": 2 ** -21, "ex2.approx": 2 ** -21,
          "lg2.approx": 2 ** -21, "sin.approx": 2 ** -20, "cos.approx": 2 ** -20, "tanh.approx": 2 ** -10,
          "div.approx": 2 ** -21, "div.full": 2 ** -21}


def read(path):
    """{row name: (signature, {inputs: outputs})}, {refused row: reason}"""
    rows, refused, current = collections.OrderedDict(), {}, None
    with open(path, encoding="ascii", errors="replace") as file:
        for line in file:
            line = line.rstrip("\n")
            if line.startswith("# REFUSED ") or line.startswith("# FAILED "):
                name, _, reason = line.split(" ", 2)[2].partition(": ")
                refused[name] = reason
            elif line.startswith("@"):
                name, sig = line[1:].rsplit("|", 1)
                current = {}
                rows[name] = (sig, current)
            elif "|" in line and current is not None:
                inputs, outputs = line.split("|")
                current[inputs] = outputs
    return rows, refused


def to_float(text, name):
    bits = int(text, 16)
    kind = name.rsplit(".", 1)[-1].split(" ")[0]
    if kind == "f64":
        return struct.unpack("<d", struct.pack("<Q", bits))[0]
    if kind == "f16":
        return struct.unpack("<e", struct.pack("<H", bits))[0]
    if kind == "bf16":
        bits <<= 16
    return struct.unpack("<f", struct.pack("<I", bits & 0xffffffff))[0]


def close(a, b, bound):
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b) or a == 0 or b == 0:
        return False  # equal bits were accepted before
    return abs(a - b) <= bound * max(abs(a), abs(b)) or abs(a - b) <= bound * 2 ** -2


def agrees(name, want, got):
    if want == got:
        return True
    bound = BOUNDS.get(".".join(name.split(".")[:2]))
    if bound is None:
        return False
    if "x2" in name:
        halves = [(int(want, 16) >> s & 0xffff, int(got, 16) >> s & 0xffff) for s in (0, 16)]
        kind = "x.bf16" if "bf16" in name else "x.f16"
        return all(w == g or close(to_float(f"{w:x}", kind), to_float(f"{g:x}", kind), 2 ** -7) for w, g in halves)
    if name.endswith("f16"):
        bound = max(bound, 2 ** -7 if "bf16" in name else 2 ** -9)
    return close(to_float(want, name), to_float(got, name), bound)


def compare_row(name, want, got):
    """(number of differing vectors, first ones as text)"""
    different = [(i, o, got.get(i, "missing")) for i, o in want.items() if i not in got or not agrees(name, o, got[i])]
    return len(different), [f"{i} -> recorded {o}, got {g}" for i, o, g in different[:4]]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("recorded")
    p.add_argument("other")
    p.add_argument("-v", action="store_true")
    p.add_argument("--tap", action="store_true")
    args = p.parse_args()
    recorded, _ = read(args.recorded)
    other, refused = read(args.other)
    groups = collections.OrderedDict()
    bad_rows = missing = vectors = 0
    for name, (_, want) in recorded.items():
        group = groups.setdefault(name.split(".")[0].split(" ")[0], [])
        if name not in other:
            missing += 1
            if args.v:
                print(f"# not run: {name}: {refused.get(name, 'absent')}")
            continue
        vectors += len(want)
        count, examples = compare_row(name, want, other[name][1])
        if count:
            bad_rows += 1
            group.append(f"{name}: {count} of {len(want)} vectors differ; {examples[0]}")
            if args.v or not args.tap:
                print(f"# {name}: {count} of {len(want)} differ")
                for line in examples if args.v else examples[:1]:
                    print(f"#    {line}")
    if args.tap:
        print(f"1..{len(groups)}")
        for number, (group, problems) in enumerate(groups.items(), 1):
            print(f"{'not ok' if problems else 'ok'} {number} - {group}")
            for problem in problems:
                print(f"# {problem}")
    print(f"# {len(recorded)} rows recorded, {missing} not run, {bad_rows} differ; {vectors} vectors compared")
    return 1 if bad_rows else 0


sys.exit(main())
