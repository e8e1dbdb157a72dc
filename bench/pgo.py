#!/usr/bin/env python3
"""What a profile of a program is worth to its code for the simulated GPU: every program recorded, then compiled by loops and by counts.

    bench/pgo.py [--build DIR] [--flavour F] [--only a,b] [--jobs N] [--json FILE] [--write]

The programs are the 32 kernels of bench/cuda at their smallest sizes, and the examples; the run that is recorded is the one that is measured, so this is the
most that a profile can give. Nothing is measured in time, so that two runs give the same numbers:

    instructions   of warps that were executed, by the device's count
    cycles         of the code, each block as often as it was counted (src/codegen/report.c), of both codes by the same counts
    registers      of a thread, the most of the program's kernels
    spilled        bytes, summed over them

Ratios are those without the profile over those with it: above 1 the profile gains. Each program checks its result each time. --write puts
the table into docs/pgo.md, behind the line that says so.
"""
import concurrent.futures
import json
import os
import sys
import tempfile

import kernels
import simulated
from kernels import Setup
from tables.common import Table, geomean, progress

PAGE = os.path.join(kernels.ROOT, "docs/pgo.md")
MARK = "<!-- bench/pgo.py --write makes what follows -->\n"
LEAST = 0.001  # programs that change less are not told of


def measure(name, command, folder):
    """{"without": Told, "with": Told}: both are told by the counts of the recording."""
    profile = os.path.join(folder, name)
    recorded = simulated.told(command, {"HEDDLE_PROFILE": profile})
    if recorded.error:
        return {"without": recorded, "with": recorded}
    use = {"HEDDLE_PROFILE_USE": profile}
    return {"without": simulated.told(command, {**use, "HEDDLE_SKIP_PASS": "isa_profile"}), "with": simulated.told(command, use)}


def measure_all(programs, jobs):
    results = {}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = {pool.submit(measure, n, programs[n], folder): n for n in programs}
        for i, run in enumerate(concurrent.futures.as_completed(runs)):
            results[runs[run]] = run.result()
            progress(f"{i + 1} of {len(programs)}: {runs[run]}")
    progress("")
    return {n: results[n] for n in programs}


def numbers(told):
    code = told.kernels.values()
    return {"instructions": told.instructions(), "cycles": sum(k["cycles"] for k in code),
            "registers": max(k["registers"] for k in code), "spilled": sum(k["spilled_B"] for k in code)}


def table_of(results):
    table = Table("The 32 kernels and the examples", ["program", "instructions", "ratio", "cycles", "ratio", "registers", "with", "spilled", "with"])
    ratios = {"instructions": {}, "cycles": {}, "registers": {}}
    for name, told in results.items():
        error = told["without"].error or told["with"].error
        if error:
            table.notes.append(f"{name} does not run: {error}")
            continue
        a, b = numbers(told["without"]), numbers(told["with"])
        for word in ratios:
            ratios[word][name] = a[word] / b[word]
        table.values[name] = {"without": a, "with": b}
        table.add(name, str(a["instructions"]), f"{ratios['instructions'][name]:.3f}", str(a["cycles"]), f"{ratios['cycles'][name]:.3f}",
                  str(a["registers"]), str(b["registers"]), str(a["spilled"]), str(b["spilled"]))
    table.add("geometric mean", "", f"{geomean(list(ratios['instructions'].values())):.3f}", "",
              f"{geomean(list(ratios['cycles'].values())):.3f}", "", "", "", "")
    for word, those in ratios.items():
        lost = sorted((n for n in those if those[n] < 1 - LEAST), key=lambda n: those[n])
        table.notes.append(f"More {word} with the profile: " + (", ".join(f"{n} ({those[n]:.3f})" for n in lost) or "none") + ".")
    return table


def main():
    args = simulated.arguments(__doc__, "docs/pgo.md").parse_args()
    setup = Setup(args.build)
    if not args.no_build:
        simulated.build(setup, args.flavour)
    names = args.only.split(",")
    programs = simulated.corpus(setup, args.flavour, names, lambda n: kernels.tiny_args(n) + simulated.ONCE, len(names) == len(kernels.NAMES))
    results = measure_all(programs, args.jobs)
    table = table_of(results)
    print("\n".join(table.plain()))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"flavour": args.flavour, "programs": table.values}, file, indent=1)
    if args.write:
        with open(PAGE, encoding="utf-8") as file:
            head = file.read().split(MARK)[0]
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(head + MARK + "\n" + "\n".join(table.markdown()).rstrip() + "\n")
    return 1 if any(t.error for told in results.values() for t in told.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
