#!/usr/bin/env python3
"""Writes the tables of the code generators' passes: in docs/jit.md from spec/gen_passes.def, in docs/codegen.md from
spec/codegen_passes.def and src/codegen/codegen.h. --check only compares."""
import glob
import os
import re
import sys
from collections import namedtuple

from generated import settle

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TABLE = os.path.join(ROOT, "spec/gen_passes.def")
ISA_TABLE = os.path.join(ROOT, "spec/codegen_passes.def")
ISA_LIMITS = os.path.join(ROOT, "src/codegen/codegen.h")
ISA_TARGET = os.path.join(ROOT, "docs/codegen.md")
TARGET = os.path.join(ROOT, "docs/jit.md")
GEN = os.path.join(ROOT, "src/jit/gen")
STRING = r'"((?:[^"\\]|\\.)*)"'

Pass = namedtuple("Pass", "id name phase file requires excludes shows doc")
Rewriter = namedtuple("Rewriter", "function of code condition doc")
PHASES = {"FIND": "found", "EMIT": "emitted", "POST": "rewritten"}
PASS_HEAD = "| pass | when | file | what | requires | excludes | kernel that shows it |\n|---|---|---|---|---|---|---|\n"
POST_HEAD = "| rewriter | file | what | in which code | left out by |\n|---|---|---|---|---|\n"


def passes(text):
    rows = re.findall(rf"^X\((\w+), {STRING}, (\w+), {STRING}, {STRING}, {STRING}, {STRING}, {STRING}\)$", text, re.M)
    return [Pass(*row[:4], row[4].split(), row[5].split(), row[6].split(), row[7]) for row in rows]


def former_names(text):
    """[(former name, id)]"""
    return re.findall(rf"^OLD\({STRING}, (\w+)\)$", text, re.M)


def rewriters(text):
    return [Rewriter(*row) for row in re.findall(rf"^POST\((\w+), (\w+), (\w+), (.*), {STRING}\)$", text, re.M)]


def file_of(function):
    """The file that defines it, below src/jit/gen."""
    for path in sorted(glob.glob(os.path.join(GEN, "**/*.c"), recursive=True)):
        with open(path, encoding="utf-8") as file:
            if re.search(rf"^bool {function}\(", file.read(), re.M):
                return os.path.relpath(path, GEN)
    return ""


def wrong(text):
    """What the table says that cannot be."""
    all_passes, posts = passes(text), rewriters(text)
    known, ids = {p.name: p for p in all_passes}, {p.id: p for p in all_passes}
    if len(all_passes) + len(posts) + len(former_names(text)) != len(re.findall(r"^(?:X|POST|OLD)\(", text, re.M)):
        yield "a row is not understood"
    for p in all_passes:
        if p.phase not in PHASES or not os.path.isfile(os.path.join(GEN, p.file)):
            yield f"{p.name}: phase {p.phase}, file {p.file}"
        for other in p.requires + p.excludes:
            if other not in known or (other in p.excludes and p.name not in known[other].excludes):
                yield f"{p.name}: {other} is no pass, or does not exclude {p.name} as well"
    order = [list(PHASES).index(p.phase) for p in all_passes if p.phase in PHASES]
    if order != sorted(order):
        yield "the rows are not in the order of phases"
    for name, of in former_names(text):
        if of not in ids or name in known:
            yield f"{name}: no former name of a pass"
    for r in posts:
        if r.of not in {"ALWAYS", *ids} or r.code not in {"BEST", "QUICK", "ANY"} or not file_of(r.function):
            yield f"{r.function}: {r.of}, {r.code}"


def cell(items):
    return ", ".join(f"`{item}`" for item in items)


def pass_table(text):
    rows = "".join(f"| `{p.name}` | {PHASES[p.phase]} | `{p.file}` | {p.doc} | {cell(p.requires)} | {cell(p.excludes)} | `{p.shows[0]}` |\n"
                   for p in passes(text))
    return PASS_HEAD + rows


def post_table(text):
    names = {p.id: p.name for p in passes(text)}
    code = {"BEST": "best", "QUICK": "quick", "ANY": "all"}
    return POST_HEAD + "".join(f"| `{r.function}()` | `{file_of(r.function)}` | {r.doc} | {code[r.code]} | {cell([names[r.of]]) if r.of in names else ''} |\n"
                               for r in rewriters(text))


def isa_passes(text):
    """[(name, file, doc)]"""
    return re.findall(rf"^X\(\w+, {STRING}, {STRING}, {STRING}\)$", text, re.M)


def isa_limits(text):
    """[(name, least, most, doc)]"""
    body = re.search(r"#define CODEGEN_LIMIT_LIST\(X\)((?:.*\\\n)*.*\n)", text).group(1)
    return re.findall(rf"X\((\w+), (\d+), (\d+), {STRING}\)", body)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def settle_isa():
    have, rows = read(ISA_TARGET), isa_passes(read(ISA_TABLE))
    for name, path, _ in rows:
        if not os.path.isfile(os.path.join(ROOT, "src/codegen", path)):
            print(f"spec/codegen_passes.def: {name}: there is no file {path}")
            return 1
    table = "| pass | file | what |\n|---|---|---|\n" + "".join(f"| `{n}` | `{f}` | {doc} |\n" for n, f, doc in rows)
    limits = "| limit | possible | of |\n|---|---|---|\n" + "".join(
        f"| `{name}` | {least} to {most} | {doc} |\n" for name, least, most, doc in isa_limits(read(ISA_LIMITS)))
    want = re.sub(r"\| pass \| file .*?\n(?=\n)", lambda _: table, have, count=1, flags=re.S)
    want = re.sub(r"\| limit \| possible .*?\n(?=\n)", lambda _: limits, want, count=1, flags=re.S)
    return settle(ISA_TARGET, have, want, "gen_passes.py")


def main():
    with open(TABLE, encoding="utf-8") as file:
        text = file.read()
    problems = list(wrong(text))
    if problems:
        print("\n".join(f"spec/gen_passes.def: {problem}" for problem in problems))
        return 1
    with open(TARGET, encoding="utf-8") as file:
        have = file.read()
    want = re.sub(r"\| pass \| when .*?\n(?=\n)", lambda _: pass_table(text), have, count=1, flags=re.S)
    want = re.sub(r"\| rewriter \| file .*?\n(?=\n)", lambda _: post_table(text), want, count=1, flags=re.S)
    return settle(TARGET, have, want, "gen_passes.py") | settle_isa()


if __name__ == "__main__":
    sys.exit(main())
