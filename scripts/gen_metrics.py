#!/usr/bin/env python3
"""Writes docs/metrics.md from spec/metrics.def. --check only compares."""
import os
import re
import sys

from generated import settle

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TABLE = os.path.join(ROOT, "spec/metrics.def")
TARGET = os.path.join(ROOT, "docs/metrics.md")
STRING = r'"((?:[^"\\]|\\.)*)"'


def sections(text):
    return dict(re.findall(rf"X\((\w+), {STRING}\)", text))


def metrics(text):
    """(kind, name, unit, section, label, formula, doc) of each row."""
    row = re.compile(rf"^METRIC\((\w+), {STRING}, {STRING}, (\w+), {STRING}, (.*), {STRING}\)$", re.M)
    return row.findall(text)


def formula_text(kind, formula):
    if kind in ("RATIO", "RATE"):
        parts = [part.strip().strip('"') for part in formula.strip("()").split(",")]
        by = parts[1] if kind == "RATIO" else "seconds"
        factor = parts[-1].replace(" ", "")
        return f"`{parts[0]}` / {f'`{by}`' if kind == 'RATIO' else by}" + (f" * {factor}" if factor != "1" else "")
    if kind in ("MADE", "TIMED"):
        return formula.strip('"')
    return {"SUM": f"sum of `{formula}`", "LAUNCH": f"`{formula}`", "TOTAL": f"`{formula}`"}.get(kind, "")


def page(text):
    titles, rows = sections(text), metrics(text)
    assert len(rows) == len(re.findall(r"^METRIC\(", text, re.M)), "a row of spec/metrics.def is not understood"
    lines = ["# Metrics of kernels", "",
             "Generated from `spec/metrics.def` by `scripts/gen_metrics.py`. `heddle prof --kernel` prints these, and its report has them in",
             "`HEDDLE_METRICS`, those with a sum per line in `HEDDLE_SOURCE_METRICS` (docs/prof.md). Names and units are Nsight Compute's where the",
             "definition does not depend on the chip (`scripts/compare_metrics` compares them); what begins with `heddle__` is Heddle's own.", "",
             "**What is counted is the PTX**: each of its instructions as often as a warp comes to it, before anything is optimised. An assembler makes",
             "other, mostly fewer, machine instructions of it (moves vanish, a division becomes a sequence), so names with `inst_executed` and `sass` agree",
             "with a GPU's values in their meaning, not in each digit. Accesses, sectors and conflicts are those of the instructions that access memory.", "",
             "In formulas `i` is an instruction: `i->issued` are the warps that executed it, `i->lanes` their lanes, `i->on` those for which its guard held,",
             "`i->divergent` the times at which lanes parted. `OF(CLASS)` is 1 for instructions of a class (`src/ir/count.h`), `IN(SPACE, WORD)` what its",
             "accesses to a space cost; `READS`, `WRITES`: it loads, or copies from there, or stores; `LANES`: each lane for itself, from or to registers; `LOADS`",
             "without cp.async; `TMA`: bulk and tensor copies and reductions; `PLAIN`: it is not atomic. Memory of other CTAs of the cluster is `CLUSTER`, texels are",
             "`TEXTURE`. A vector is one access: of 8 bytes a lane half warps pass over the banks, of 16 (and ldmatrix: a matrix) quarters.",
             "`CONFLICTS` are wavefronts of shared memory beyond the ideal ones. `n/a`: there is never a value, for that reason; a ratio has none either while what it is divided",
             "by is 0. What depends on time is of the launch with counters, but for rows that begin with `heddle__roofline_` and `heddle__host_`: these are of the",
             "host that ran the program (docs/prof.md), and beside times and rates the only ones that differ between hosts and runs."]
    for section, title in titles.items():
        lines += ["", f"## {title} (`{section}`)", "", "| metric | unit | what | formula |", "|---|---|---|---|"]
        for kind, name, unit, of, label, formula, doc in rows:
            if of == section:
                what = f"n/a: {doc}" if kind == "NEVER" else doc or label.lower()
                lines.append(f"| `{name}` | {unit} | {what} | {formula_text(kind, formula)} |")
    return "\n".join(lines) + "\n"


def main():
    with open(TABLE, encoding="utf-8") as file:
        want = page(file.read())
    have = open(TARGET, encoding="utf-8").read() if os.path.exists(TARGET) else ""
    return settle(TARGET, have, want, "gen_metrics.py")


if __name__ == "__main__":
    sys.exit(main())
