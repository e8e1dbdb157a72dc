#!/usr/bin/env python3
"""Writes docs/envvars.md from the tables in src/base/env.h, log.h and fault.h. --check only compares, and fails when
nobody reads a variable."""
import os
import re
import subprocess
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


def words(pattern, *folders):
    """What the pattern finds in the files of these folders, but for the table."""
    files = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = set()
    for path in set(files.split()) - {os.path.relpath(ENV, ROOT)}:
        full = os.path.join(ROOT, path)
        if os.path.isfile(full):
            with open(full, encoding="utf-8", errors="replace") as file:
                found.update(re.findall(pattern, file.read()))
    return found


def check_readers(env):
    """0 when somebody reads each variable: the libraries or tools, or else tests and scripts."""
    unread = {row[0] for row in table(env, "HD_ENV_LIST")} - words(r'"(\w+)"', "src", "tools")
    unread |= {row[0] for row in table(env, "HD_ENV_TOOL_LIST")} - words(r"HEDDLE_\w+", "tests", "scripts", "bench")
    for name in sorted(unread):
        print(f"src/base/env.h: nobody reads {name}")
    return bool(unread)


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
    stale = settle(TARGET, have, want, "gen_envvars.py")
    return stale or ("--check" in sys.argv and check_readers(env))


sys.exit(main())
