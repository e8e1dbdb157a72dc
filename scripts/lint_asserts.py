#!/usr/bin/env python3
"""Reports assertions that run, per thousand lines of each module. Commands have a least number; modules are not judged."""
import collections
import os
import re
import sys

from lint_layers import files_of, module_of

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
COMMANDS = "tools/heddle/"
LEAST = 8  # of each folder of a command, and of the files above them
ASSERT = re.compile(r"^\s*(?:assert|hd_lock_assert_held|HD_ASSERT)\s*\(", re.M)


def command_of(path):
    """tools/heddle/prof of what lies in it, tools/heddle of what lies above; None of a module."""
    if not path.startswith(COMMANDS):
        return None
    return COMMANDS + path[len(COMMANDS):].split("/")[0] if "/" in path[len(COMMANDS):] else COMMANDS.rstrip("/")


def main():
    lines, asserts = collections.Counter(), collections.Counter()
    for path in files_of(ROOT):
        # Device code, as bitcode: a failed assertion has nowhere to go; and a library that is empty.
        if path.startswith(("src/libdevice/", COMMANDS + "toolkit/")):
            continue
        if not path.startswith(("src/", COMMANDS)) or not path.endswith((".c", ".h")):
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text = file.read()
        folder = command_of(path) or module_of(path)
        lines[folder] += text.count("\n")
        asserts[folder] += len(ASSERT.findall(text))
    rates = sorted((1000 * asserts[m] / n, m) for m, n in lines.items())
    total = 1000 * sum(asserts.values()) / sum(lines.values())
    few = [f"{m} {r:.1f}" for r, m in rates if m.startswith(COMMANDS.rstrip("/")) and r < LEAST]
    print(f"lint: asserts per 1,000 lines: {total:.1f}; " + ", ".join(f"{m} {r:.1f}" for r, m in rates))
    if few:
        print(f"lint: fewer than {LEAST} asserts per 1,000 lines: {', '.join(few)}; state that can go wrong has invariants")
    return bool(few)


sys.exit(main())
