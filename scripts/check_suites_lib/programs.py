"""The programs of a folder: what `programs.json` says of each, and the truth about it."""
import json
import os
import re

import truth


class Problem(Exception):
    """What the user has to put right."""


class Program:
    """One built program. `exe` and `source` are absolute paths; `args` are relative to the folder it runs in."""

    def __init__(self, row, folder, compiler):
        self.suite, self.name, self.args = row["suite"], row["name"], row.get("args", [])
        self.full_name = f"{self.suite}/{self.name}"
        self.folder = folder
        exe = row.get("exe", {}).get(compiler)
        self.exe = os.path.join(folder, exe) if exe else None
        self.left_out = row.get("left_out")
        self.stdin = os.path.join(folder, row["stdin"]) if "stdin" in row else os.devnull
        self.env = dict(os.environ, **row.get("env", {}))
        self.truth = truth.of(self.suite, self.name, row.get("facts", {}), self.source_text(row))

    def source_text(self, row):
        path = os.path.join(self.folder, row.get("source", ""))
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()


def load(folder):
    path = os.path.join(folder, "programs.json")
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise Problem(f"{path}: {error.strerror}; --dir names a folder of built suites, see docs/check-suites.md") from error
    except ValueError as error:
        raise Problem(f"{path}: {error}") from error


def choose(options, built_only=True):
    """The programs that --suite, --match and --compiler leave, in the order of the file."""
    suites = [suite for suite in options.suite.split(",") if suite]
    for suite in suites:
        if suite not in truth.RULES:
            raise Problem(f"no rule for a suite '{suite}'; there are {', '.join(sorted(truth.RULES))}")
    try:
        wanted = re.compile(options.match)
    except re.error as error:
        raise Problem(f"--match: {error}") from error
    folder = os.path.abspath(options.dir)
    rows = [row for row in load(folder) if not suites or row["suite"] in suites]
    found = [Program(row, folder, options.compiler) for row in rows if wanted.search(f"{row['suite']}/{row['name']}")]
    found = [program for program in found if program.exe or not built_only]
    if not found:
        raise Problem("no program is left; `check-suites list` without --suite and --match shows all")
    return found
