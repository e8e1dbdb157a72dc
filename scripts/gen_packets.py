#!/usr/bin/env python3
"""Writes the tables of docs/launch-protocol.md from spec/packets.def. --check only compares.

A table goes between <!-- table NAME --> and <!-- end -->; NAME is a list of the .def file.
"""
import os
import re
import sys

from generated import settle

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SOURCE = os.path.join(ROOT, "spec/packets.def")
TARGET = os.path.join(ROOT, "docs/launch-protocol.md")
COLUMNS = {  # by list: heading, and the row's columns in that order
    "HAL_OP_LIST": ("op", ["NUMBER", 1, 2, 3]),
    "HAL_FLAG_LIST": ("bit", [1, 0, 2, 3]),
    "HAL_EXTENSION_LIST": ("bit", [1, 0, 2]),
    None: ("value", [1, 0, 2]),
}
HEADS = {
    "HAL_OP_LIST": ["op", "name", "fields", "does"],
    "HAL_FLAG_LIST": ["bit", "flag", "operations", "meaning"],
    "HAL_EXTENSION_LIST": ["bit", "attribute", "meaning"],
    None: ["value", "name", "meaning"],
}


def split(row):
    """The arguments of a row; commas inside brackets and strings do not count."""
    parts, depth, quoted, part = [], 0, False, ""
    for at, c in enumerate(row):
        if c == '"' and (at == 0 or row[at - 1] != "\\"):
            quoted = not quoted
        if not quoted:
            depth += c in "(["
            depth -= c in ")]"
        if c == "," and not quoted and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return [clean(p) for p in parts + [part.strip()]]


def clean(text):
    if text.startswith('"'):
        return text[1:-1].replace('\\"', '"')
    text = re.sub(r"HAL_OPS\((\w+)\)", lambda m: m.group(1).lower(), text)
    return text.replace("HAL_OPS_ALL", "all")


def rows(text, name):
    body = re.search(rf"#define {name}\([XFA, ]+\) *\\\n((?:.*\\\n)*.*\n)", text)
    if not body:
        sys.exit(f"{SOURCE}: there is no list {name}")
    lines = body.group(1).replace("\\\n", "\n").splitlines()
    return [(line.strip()[0], split(line.strip()[2:-1])) for line in lines if line.strip()]


def c_type(text):
    return text.replace("_Atomic ", "").replace("uint", "u").replace("int", "i").replace("_t", "")


def field_table(name, text):
    lines = ["| offset | type | field | rule | meaning |", "|---|---|---|---|---|"]
    for kind, row in rows(text, name):
        if kind == "F":
            ctype, field, offset, rule, doc = row
        else:
            ctype, field, count, offset, rule, doc = row
            field += f"[{count.replace('HAL_INLINE_PARAMS_B', '64')}]"
        rule = "" if rule == "true" else f"`{rule}`"
        if field.startswith("reserved"):
            field, doc = "reserved", doc or "0"
        lines.append(f"| {offset} | {c_type(ctype)} | {field} | {rule} | {doc} |".replace("||", "\\|\\|"))
    return lines


def list_table(name, text):
    _, columns = COLUMNS.get(name, COLUMNS[None])
    heads = HEADS.get(name, HEADS[None])
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for number, (_, row) in enumerate(rows(text, name)):
        cells = [str(number) if c == "NUMBER" else row[c] for c in columns]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def page(have, text):
    def table(match):
        name = match.group(1)
        make = field_table if name.endswith("_FIELDS") else list_table
        return "\n".join([f"<!-- table {name} -->", *make(name, text), "<!-- end -->"])

    return re.sub(r"<!-- table (\w+) -->\n(?:.*\n)*?<!-- end -->", table, have)


def main():
    with open(SOURCE, encoding="utf-8") as file:
        text = file.read()
    with open(TARGET, encoding="utf-8") as file:
        have = file.read()
    want = page(have, text)
    return settle(TARGET, have, want, "gen_packets.py")


if __name__ == "__main__":
    sys.exit(main())
