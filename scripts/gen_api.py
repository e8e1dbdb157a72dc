#!/usr/bin/env python3
"""Makes what derives from spec/api/runtime.def.

    gen_api.py                docs/api-runtime.md; --check only compares
    gen_api.py map DEF OUT    the linker's version script of libcudart
"""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SOURCE = os.path.join(ROOT, "spec/api/runtime.def")
TARGET = os.path.join(ROOT, "docs/api-runtime.md")
NODES = {"12": ("BOTH", "SPLIT", "V12"), "13": ("BOTH", "SPLIT", "V13")}
VERSIONS = {"BOTH": "12, 13", "SPLIT": "12, 13 (differ)", "V12": "12", "V13": "13"}


def rows(path):
    with open(path, encoding="utf-8") as file:
        return re.findall(r"^X\((\w+), (\w+), (YES|NO)\)$", file.read(), re.M)


def version_script(table):
    lines = []
    for version, wanted in NODES.items():
        lines.append(f"libcudart.so.{version} {{\n    global:")
        lines += [f"        {symbol};" for symbol, nodes, _ in table if nodes in wanted]
        lines.append("    local: *;\n};" if version == "12" else "} libcudart.so.12;")
    return "\n".join(lines) + "\n"


def page(table):
    have = [row for row in table if row[2] == "YES"]
    lines = ["# Runtime API: entry points", "",
             "Generated from `spec/api/runtime.def` by `scripts/gen_api.py`. Of the "
             f"{len(table)} entry points of `libcudart.so.12` and `.13`, {len(have)} are implemented; the "
             "others exist, return `cudaErrorNotSupported` and log their name once.", ""]
    for title, answer in (("Implemented", "YES"), ("Missing", "NO")):
        lines += [f"## {title}", "", "| entry point | versions |", "|---|---|"]
        lines += [f"| `{symbol}` | {VERSIONS[nodes]} |" for symbol, nodes, h in table if h == answer]
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def write_docs(check):
    want = page(rows(SOURCE))
    have = ""
    if os.path.exists(TARGET):
        with open(TARGET, encoding="utf-8") as file:
            have = file.read()
    if have == want:
        return 0
    if check:
        print("docs/api-runtime.md is stale: run scripts/gen_api.py")
        return 1
    with open(TARGET, "w", encoding="utf-8") as file:
        file.write(want)
    return 0


def main():
    if len(sys.argv) == 1 or sys.argv[1:] == ["--check"]:
        return write_docs(len(sys.argv) == 2)
    if len(sys.argv) != 4 or sys.argv[1] != "map":
        sys.exit(__doc__)
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write(version_script(rows(sys.argv[2])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
