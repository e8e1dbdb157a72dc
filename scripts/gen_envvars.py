#!/usr/bin/env python3
"""Writes docs/envvars.md from the tables in src/base/env.h, log.h and fault.h. --check only compares."""
import os
import re
import sys

from generated import settle

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
ENV = os.path.join(ROOT, "src/base/env.h")
SOURCE = os.path.join(ROOT, "src/base/log.h")
FAULTS = os.path.join(ROOT, "src/base/fault.h")
TARGET = os.path.join(ROOT, "docs/envvars.md")
STRING = r'"((?:\\.|[^"\\])*)"'


def table(text, name):
    """Rows of strings of the X-macro list `name`."""
    body = re.search(rf"#define {name}\(X\)((?:.*\\\n)*.*\n)", text).group(1).replace("\\\n", "\n")
    rows = re.findall(r"X\(((?:[^()\"]|\"(?:\\.|[^\"\\])*\")*)\)", body)
    return [[s.replace('\\"', '"') for s in re.findall(STRING, re.sub(r'"\s+"', "", row))] for row in rows]


def page(env, text, faults):
    lines = ["# Environment variables", "",
             "Generated from `src/base/env.h` by `scripts/gen_envvars.py`. A value that is not possible is an error that",
             "names it, a variable that is not listed a warning.", "",
             "| variable | possible | meaning |", "|---|---|---|"]
    lines += [f"| `{name}` | {possible} | {doc} |" for name, possible, doc in table(env, "HD_ENV_LIST")]
    lines += ["", "## Debug flags", "",
              "`HEDDLE_DEBUG` is a comma list of these; `HEDDLE_DEBUG=help` prints them.", "",
              "| flag | shows |", "|---|---|"]
    lines += [f"| `{name}` | {doc} |" for name, doc in table(text, "HD_DEBUG_FLAG_LIST")]
    lines += ["", "## Fault points", "",
              "`HEDDLE_FAULT` is a comma list of these: what is named fails each time it is tried, and the next",
              "slower way is taken. `alloc:N` fails the N-th allocation (debug builds).", "",
              "| point | what fails |", "|---|---|"]
    lines += [f"| `{name}` | {doc} |" for name, doc in table(faults, "HD_FAULT_LIST")]
    return "\n".join(lines) + "\n"


def main():
    with open(SOURCE, encoding="utf-8") as file:
        text = file.read()
    with open(ENV, encoding="utf-8") as file:
        env = file.read()
    with open(FAULTS, encoding="utf-8") as file:
        want = page(env, text, file.read())
    have = ""
    if os.path.exists(TARGET):
        with open(TARGET, encoding="utf-8") as file:
            have = file.read()
    return settle(TARGET, have, want, "gen_envvars.py")


sys.exit(main())
