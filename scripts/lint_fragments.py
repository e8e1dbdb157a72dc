#!/usr/bin/env python3
"""Counts functions that are split off where nothing asks for it: static, at most SHORT lines, and called at one place.

    lint_fragments.py [FOLDER]         a folder's files without limits, not those that git knows: for its test
    lint_fragments.py --list MODULE    its fragments: lines of the body, name, the caller and its lines, file
    lint_fragments.py --limits         the limits as they would be now, for the table below

Not each of them is wrong: a piece stands alone where it has a name in the field or can be tested alone. But a reader who has to jump for
two lines that are needed once is better off with the two lines. So the limits below are what there is: a module that has more fails, and
one that has fewer gets a lower limit. Functions whose address is taken, as callbacks and in tables, are no fragments.
"""
import collections
import os
import re
import sys

from lint_calls import COMMENT_OR_STRING, DEFINITION, NAME, module_of
from lint_files import paths_of
from lint_text import ROOT

SHORT = 12  # lines of a body

# Modules that are not here have none.
LIMITS = {
    "src/advise": 24, "src/analysis": 66, "src/api/cublaslt": 4, "src/api/cudnn": 17, "src/api/cufft": 4, "src/api/cupti": 52,
    "src/api/curand": 2, "src/api/cusolver": 2, "src/api/driver": 51, "src/api/nvfatbin": 5, "src/api/nvjitlink": 7,
    "src/api/nvml": 7, "src/api/nvptxcompiler": 1, "src/api/nvrtc": 23, "src/api/nvtx": 3, "src/api/nvvm": 17, "src/api/runtime": 17,
    "src/base": 22, "src/clang": 55, "src/codegen": 118, "src/compile": 14, "src/core": 206, "src/count": 17, "src/dbg": 71,
    "src/dev/cpu": 92, "src/dev/interp": 22, "src/dev/remote": 12, "src/frameworks": 11, "src/hal": 8, "src/interp": 56, "src/ir": 79,
    "src/isa": 9, "src/jit": 591, "src/klib": 27, "src/libdevice": 5, "src/linker": 1, "src/lower": 145, "src/model": 99,
    "src/obj": 18, "src/opt": 102, "src/preload": 26, "src/prof": 39, "src/ptx": 72, "src/ptxas": 9, "src/registry": 5,
    "src/report": 4, "src/requests": 6, "src/san": 184, "src/sim": 54, "src/tap": 5, "src/tcore": 2, "tools/heddle": 39,
    "tools/heddle/advise": 19, "tools/heddle/cc": 51, "tools/heddle/check": 67, "tools/heddle/common": 14, "tools/heddle/doctor": 47,
    "tools/heddle/prof": 110, "tools/heddle/serve": 61, "tools/heddle/smi": 14, "tools/heddle/torch": 7, "tools/routines": 2,
}


def functions(text):
    """(name, is static, where the head begins, where the body begins and ends) of a file without comments and texts."""
    for match in DEFINITION.finditer(text):
        name, end = NAME.search(match[1]), text.find("\n}", match.end() - 1)
        if name and end >= 0:
            yield name[1], re.search(r"\bstatic\b", match[1]) is not None, match.start(1), match.end(), end


def fragments(text):
    """(lines, name, caller, lines of the caller) of each."""
    text = COMMENT_OR_STRING.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    all_of_them = list(functions(text))
    named = collections.Counter(row[0] for row in all_of_them)
    uses = collections.defaultdict(list)
    for match in re.finditer(r"[A-Za-z_]\w*", text):
        if match[0] in named:
            uses[match[0]].append(match)

    def lines(start, end):
        return text[start:end].count("\n") + 1 if end > start else 0

    for name, is_static, head, start, end in all_of_them:
        if not is_static or named[name] > 1 or lines(start, end) > SHORT:
            continue
        elsewhere = [m for m in uses[name] if not head <= m.start() < start]
        inside = [(m, row) for m in elsewhere for row in all_of_them if row[3] <= m.start() < row[4]]
        # The others are declarations or initialisers of tables, which end in `;` without a bracket or not.
        tables = [m for m in elsewhere if all(m is not other for other, _ in inside) and text[m.end()] != "("]
        if len(inside) == 1 and not tables and inside[0][1][0] != name and text[inside[0][0].end()] == "(":
            caller = inside[0][1]
            yield lines(start, end), name, caller[0], lines(caller[3], caller[4])


def modules(root, paths):
    found = collections.defaultdict(list)
    for path in sorted(paths):
        if path.startswith(("src/", "tools/")) and path.endswith(".c") and os.path.exists(os.path.join(root, path)):
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                found[module_of(path)] += [(*row, path) for row in fragments(file.read())]
    return found


def check(found, limits):
    for module, rows in sorted(found.items()):
        count, limit = len(rows), limits.get(module, 0)
        if count > limit:
            yield (f"{module}: {count} short functions that are called once, {limit} are allowed: join one with its caller, "
                   f"scripts/lint_fragments.py --list {module}")
        elif count < limit:
            yield f"{module}: {count} short functions that are called once, no longer {limit}: LIMITS of scripts/lint_fragments.py says so"


def main():
    args = sys.argv[1:]
    root = args[0] if args and not args[0].startswith("--") else ROOT
    found = modules(root, paths_of(root))
    if args[:1] == ["--list"]:
        for row in sorted(found[args[1]], reverse=True):
            print("{:3} {} <- {} ({})  {}".format(*row))
    elif args[:1] == ["--limits"]:
        print("\n".join(f'    "{module}": {len(rows)},' for module, rows in sorted(found.items()) if rows))
    else:
        wrong = list(check(found, LIMITS if root == ROOT else {}))
        print("\n".join(wrong), end="\n" if wrong else "")
        return 1 if wrong else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
