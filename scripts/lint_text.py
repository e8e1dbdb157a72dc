#!/usr/bin/env python3
"""Checks what neither the compiler nor clang-format does.

Tabs, trailing blanks, lines over 100 columns, // comments and include guards of C files; reminders left
in the text; merge markers; executable bits of scripts. Banned calls are compile errors (base/banned.h).
"""
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
C_ENDINGS = (".c", ".h")
TEXT_ENDINGS = C_ENDINGS + (".def", ".inc", ".cu", ".py", ".md", ".build", ".sh")
COLUMNS = 100
REMINDER = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
# src/ reads the environment through base/env.h, which knows about raised privileges.
ENVIRONMENT = re.compile(r"\b(secure_)?getenv\s*\(|\benviron\b")
READS_ENVIRONMENT = {"src/base/env.c", "src/base/env_check.c", "src/preload/preload.c"}
LITERAL = re.compile(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])*\'')


def tracked():
    out = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, text=True, check=True).stdout
    return [path for path in out.splitlines() if os.path.isfile(os.path.join(ROOT, path))]


def unformatted(lines):
    """Numbers of the lines between clang-format off and on: tables may be wider there."""
    off, numbers = False, set()
    for number, line in enumerate(lines, 1):
        if "clang-format off" in line:
            off = True
        if off:
            numbers.add(number)
        if "clang-format on" in line:
            off = False
    return numbers


def check_c(path, lines):
    wide = unformatted(lines)
    in_comment = False
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS and number not in wide and '"' not in line:
            yield number, f"{len(line)} columns, limit {COLUMNS}"
        code = LITERAL.sub('""', line)
        if in_comment:
            if "*/" not in code:
                continue
            code = code[code.index("*/") + 2:]
            in_comment = False
        code = re.sub(r"/\*.*?\*/", "", code)
        if "/*" in code:
            in_comment = True
            code = code[:code.index("/*")]
        if "//" in code:
            yield number, "// comment; write /* */"
        if path.startswith("src/") and path not in READS_ENVIRONMENT and ENVIRONMENT.search(code):
            yield number, "environment; use hd_env() or hd_env_of_system()"
    if path.endswith(".h") and path.startswith("src/"):
        guard = "HD_" + re.sub(r"[^A-Za-z0-9]", "_", path[len("src/"):]).upper()
        if not any(line.startswith(f"#ifndef {guard}") or f"defined({guard})" in line for line in lines):
            yield 1, f"include guard {guard} is missing"


def check(path):
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text = file.read()
    except UnicodeDecodeError:
        yield 1, "not UTF-8"
        return
    lines = text.split("\n")
    if text and not text.endswith("\n"):
        yield len(lines), "no newline at the end"
    for number, line in enumerate(lines, 1):
        if line.rstrip() != line:
            yield number, "trailing blank"
        if "\t" in line:
            yield number, "tab"
        if REMINDER.search(line):
            yield number, "reminder left in the text; make it an issue"
        if re.match(r"(<{7}|>{7}) ", line):
            yield number, "merge marker"
    if path.endswith(C_ENDINGS) and not path.startswith("include/"):
        yield from check_c(path, lines)


def main():
    count = 0
    for path in tracked():
        if not path.endswith(TEXT_ENDINGS) or "/corpus/" in path:
            continue
        for number, problem in check(path):
            print(f"{path}:{number}: {problem}")
            count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
