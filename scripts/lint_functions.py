#!/usr/bin/env python3
"""Reports lengths of functions and files; tells, does not judge. --list N names the N longest."""
import glob
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*\(")


def functions(path):
    """(lines of the body, name, line) of each function; its braces stand alone in column 0."""
    start, name, head = None, None, ""
    with open(path, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if start is None and line.startswith("{"):
                start, name = number, NAME.search(head)
            elif start is not None and line.startswith("}"):
                if name and line.rstrip() == "}":
                    yield number - start - 1, name.group(1), start
                start, head = None, ""
            elif start is None:
                # The head may take several lines; anything that ends a declaration starts afresh.
                head = head + line if line.strip() and not line.rstrip().endswith((";", "*/")) else ""


def main():
    found, sizes = [], []
    for top in ("src", "tools"):
        for path in glob.glob(os.path.join(ROOT, top, "**", "*.c"), recursive=True):
            with open(path, encoding="utf-8", errors="replace") as file:
                sizes.append((sum(1 for _ in file), os.path.relpath(path, ROOT)))
            found += [(n, name, os.path.relpath(path, ROOT), line) for n, name, line in functions(path)]
    if not found:
        return
    found.sort()
    sizes.sort()
    pick = lambda rows, share: rows[min(len(rows) - 1, int(len(rows) * share))][0]
    print(f"lint: {len(found)} functions: median {pick(found, .5)} lines, p95 {pick(found, .95)}, "
          f"longest {found[-1][0]} ({found[-1][1]}); {len(sizes)} files: median {pick(sizes, .5)}, "
          f"longest {sizes[-1][0]} ({sizes[-1][1]})")
    if "--list" in sys.argv:
        for n, name, path, line in reversed(found[-int(sys.argv[sys.argv.index("--list") + 1]):]):
            print(f"{n:5} {name}  {path}:{line}")


main()
