#!/usr/bin/env python3
"""Reports assertions that run, per thousand lines of each module; it judges nothing."""
import collections
import os
import re

from lint_layers import files_of, module_of

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
ASSERT = re.compile(r"^\s*(?:assert|hd_lock_assert_held|HD_ASSERT)\s*\(", re.M)


def main():
    lines, asserts = collections.Counter(), collections.Counter()
    for path in files_of(ROOT):
        if path.startswith("src/libdevice/"):
            continue  # device code, as bitcode: a failed assertion has nowhere to go
        if not path.startswith("src/") or not path.endswith((".c", ".h")):
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text = file.read()
        lines[module_of(path)] += text.count("\n")
        asserts[module_of(path)] += len(ASSERT.findall(text))
    rates = sorted((1000 * asserts[m] / n, m) for m, n in lines.items())
    total = 1000 * sum(asserts.values()) / sum(lines.values())
    print(f"lint: asserts per 1,000 lines: {total:.1f}; " + ", ".join(f"{m} {r:.1f}" for r, m in rates))


main()
