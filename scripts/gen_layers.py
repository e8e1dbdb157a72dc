#!/usr/bin/env python3
"""Writes the table of modules in CONTRIBUTING.md and docs/architecture.svg from scripts/lint_layers.py. --check only compares."""
import os
import re
import sys

import layers_picture
from generated import settle
from lint_layers import MODULES

TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../CONTRIBUTING.md")
PICTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../docs/architecture.svg")
HEAD = "| folder | holds | may use, besides base |\n|---|---|---|\n"
OTHERS = [("spec/", "tables: operations, entry points, packets", "read by everybody"),
          ("tools/heddle", "the command, a folder per subcommand", "public headers and the module it shows")]


def main():
    with open(TARGET, encoding="utf-8") as file:
        have = file.read()
    rows = [(f"src/{name}", holds, ", ".join(sorted(uses)) or "nothing") for name, (holds, uses) in MODULES.items()]
    table = HEAD + "".join(f"| `{a}` | {b} | {c} |\n" for a, b, c in rows + OTHERS)
    want = re.sub(r"\| folder \|.*?\n(?=\n)", lambda _: table, have, count=1, flags=re.S)
    have_picture = ""
    if os.path.exists(PICTURE):
        with open(PICTURE, encoding="utf-8") as file:
            have_picture = file.read()
    stale = settle(PICTURE, have_picture, layers_picture.draw(MODULES), "gen_layers.py")
    return settle(TARGET, have, want, "gen_layers.py") or stale


sys.exit(main())
