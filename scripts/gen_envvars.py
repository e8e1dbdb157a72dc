#!/usr/bin/env python3
"""Writes docs/envvars.md from the tables in src/base/log.h. --check only compares."""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SOURCE = os.path.join(ROOT, "src/base/log.h")
TARGET = os.path.join(ROOT, "docs/envvars.md")
STRING = r'"((?:\\.|[^"\\])*)"'


def table(text, name):
    """Rows of strings of the X-macro list `name`."""
    body = re.search(rf"#define {name}\(X\)((?:.*\\\n)*.*\n)", text).group(1).replace("\\\n", "\n")
    rows = re.findall(r"X\(((?:[^()\"]|\"(?:\\.|[^\"\\])*\")*)\)", body)
    return [[s.replace('\\"', '"') for s in re.findall(STRING, re.sub(r'"\s*"', "", row))] for row in rows]


def page(text):
    lines = ["# Environment variables", "",
             "Generated from `src/base/log.h` by `scripts/gen_envvars.py`.", "",
             "| variable | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {doc} |" for name, doc in table(text, "HD_ENV_LIST")]
    lines += ["", "## Debug flags", "",
              "`HEDDLE_DEBUG` is a comma list of these; `HEDDLE_DEBUG=help` prints them.", "",
              "| flag | shows |", "|---|---|"]
    lines += [f"| `{name}` | {doc} |" for name, doc in table(text, "HD_DEBUG_FLAG_LIST")]
    return "\n".join(lines) + "\n"


def main():
    with open(SOURCE, encoding="utf-8") as file:
        want = page(file.read())
    have = ""
    if os.path.exists(TARGET):
        with open(TARGET, encoding="utf-8") as file:
            have = file.read()
    if have == want:
        return 0
    if "--check" in sys.argv:
        print("docs/envvars.md is stale: run scripts/gen_envvars.py")
        return 1
    with open(TARGET, "w", encoding="utf-8") as file:
        file.write(want)
    return 0


sys.exit(main())
