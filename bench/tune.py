#!/usr/bin/env python3
"""What `heddle tune` gains: every program tuned, then run as it was and as it was tuned, by turns.

    bench/tune.py [--build DIR] [--flavour F] [--only a,b] [--rounds N] [--skip cpu|sim] [--json FILE] [--write]

Two tables:

    cpu   the 32 kernels of bench/cuda at their quick sizes, by the time that launches take. Before and after are medians of runs of their
          own, behind the search: what only seemed better is seen there. Programs for which nothing was chosen are run as well: how far
          they differ from themselves is the noise of the machine.
    sim   the 32 at their smallest sizes, and the examples, by the estimated cycles of their code, which are the same in each run.

Ratios are before over after: above 1 tuning gained. --write puts the tables into docs/tuning.md, behind the line that says so; one that
was left out stays as it is there.
"""
import json
import os
import sys
import tempfile

import kernels
import simulated
from kernels import Setup
from tables.common import Table, geomean, median, progress

PAGE = os.path.join(kernels.ROOT, "docs/tuning.md")
MARK = "<!-- bench/tune.py --write makes what follows -->\n"


def tuned(setup, command, file, *options):
    """What heddle tune --json says of the program, or why it failed."""
    # The command is `heddle run PROGRAM ...`, and heddle tune runs programs in the same way.
    status, out, err = kernels.run([setup.heddle, "tune", "--json", "-o", file, *options, *command[2:]], timeout_s=3600)
    if status:
        return None, (err.strip().splitlines() or [f"status {status}"])[-1]
    return json.loads(out), None


def sums(told):
    """(before, after) of all kernels of the program."""
    known = [k for k in told["kernels"] if "before" in k]
    return sum(k["before"] for k in known), sum(k["after"] for k in known)


def choices(told):
    """What was chosen, kernel by kernel; "" where it is nothing."""
    return "; ".join(sorted({k["chosen"] for k in told["kernels"] if k["chosen"] != "auto"}))


def measured_ms(name, command, env):
    status, out, _ = kernels.run(command, env)
    fields = None if status else kernels.result_line(name, out)
    return float(fields[1]) if fields and fields[3] == "PASS" else None


def cpu_row(setup, flavour, name, rounds, folder):
    command, file = setup.cuda(flavour, name) + kernels.quick_args(name), os.path.join(folder, name)
    told, error = tuned(setup, command, file)
    if error:
        return {"error": error}
    runs = {"": [], file: []}
    for _ in range(rounds):
        for use, values in runs.items():
            ms = measured_ms(name, command, {"HEDDLE_TUNING": use} if use else {})
            if ms is None:
                return {"error": "it does not run as it was tuned" if use else "it does not run"}
            values.append(ms)
    return {"before": median(runs[""]), "after": median(runs[file]), "points": sum(k["points"] for k in told["kernels"]), "runs": told["runs"],
            "chosen": choices(told)}


def sim_row(setup, command, folder):
    told, error = tuned(setup, command, os.path.join(folder, "sim"), "-d", "sim")
    if error:
        return {"error": error}
    before, after = sums(told)
    return {"before": before, "after": after, "points": sum(k["points"] for k in told["kernels"]), "runs": told["runs"], "chosen": choices(told)}


def table_of(title, rows, unit):
    table = Table(title, ["program", f"{unit} before", "after", "ratio", "points", "runs", "chosen"])
    ratios, noise = {}, {}
    for name, row in rows.items():
        table.values[name] = row
        if "error" in row:
            table.notes.append(f"{name} is not tuned: {row['error']}")
            continue
        ratio = row["before"] / row["after"] if row["after"] else 1
        (ratios if row["chosen"] else noise)[name] = ratio
        table.add(name, f"{row['before']:.6g}", f"{row['after']:.6g}", f"{ratio:.3f}" if row["chosen"] else "-", str(row["points"]), str(row["runs"]),
                  row["chosen"] or "nothing")
    if ratios or noise:
        table.add("geometric mean", "", "", f"{geomean(list(ratios.values()) + [1] * len(noise)):.3f}", "", "", "")
    table.notes.append(noise_of(noise))
    lost = sorted((n for n in ratios if ratios[n] < 1), key=lambda n: ratios[n])
    table.notes.append("Worse as they were tuned: " + (", ".join(f"{n} ({ratios[n]:.3f})" for n in lost) or "none") + ".")
    return table


def noise_of(noise):
    """A sentence of how code that nothing was chosen for compares with itself; the mean counts it as 1."""
    if not noise or all(ratio == 1 for ratio in noise.values()):
        return f"Nothing was chosen for {len(noise)} programs."
    return f"Nothing was chosen for {len(noise)} programs, whose two medians differ by {min(noise.values()):.3f} to {max(noise.values()):.3f}: that much is noise."


def write(page, tables):
    """Behind the mark, each under its heading; what is there under others stays."""
    with open(page, encoding="utf-8") as file:
        head, tail = file.read().split(MARK)
    sections = {part.split("\n", 1)[0]: "## " + part.strip() for part in tail.split("## ")[1:]}
    sections.update({table.title: "\n".join(table.markdown()).strip() for table in tables})
    with open(page, "w", encoding="utf-8") as file:
        file.write(head + MARK + "\n" + "\n\n".join(sections.values()) + "\n")


def main():
    p = simulated.arguments(__doc__, "docs/tuning.md")
    p.add_argument("--rounds", type=int, default=5, help="runs of each, behind the search, on cpu")
    p.add_argument("--skip", choices=["cpu", "sim"], help="leaves out a table")
    args = p.parse_args()
    setup = Setup(args.build)
    if not args.no_build:
        simulated.build(setup, args.flavour)
    names, tables = args.only.split(","), []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HEDDLE_CACHE"] = os.path.join(folder, "cache")
        if args.skip != "cpu":
            rows = {}
            for i, name in enumerate(names):
                progress(f"cpu, {i + 1} of {len(names)}: {name}")
                rows[name] = cpu_row(setup, args.flavour, name, args.rounds, folder)
            tables.append(table_of("The 32 kernels on the CPU device", rows, "ms"))
        if args.skip != "sim":
            rows = {}
            programs = simulated.corpus(setup, args.flavour, names, lambda n: kernels.tiny_args(n) + simulated.ONCE, len(names) == len(kernels.NAMES))
            for i, name in enumerate(programs):
                progress(f"sim, {i + 1} of {len(programs)}: {name}")
                rows[name] = sim_row(setup, programs[name], folder)
            tables.append(table_of("The 32 kernels and the examples on the simulated GPU", rows, "cycles"))
        progress("")
    for table in tables:
        print("\n".join(table.plain()) + "\n")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"flavour": args.flavour, "tables": {t.title: t.values for t in tables}}, file, indent=1)
    if args.write:
        write(PAGE, tables)
    return 1 if any("error" in row for t in tables for row in t.values.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
