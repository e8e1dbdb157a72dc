#!/usr/bin/env python3
"""What each pass is worth on the simulated GPU: every program with all passes, and without one of them.

    bench/passes.py [--build DIR] [--flavour F] [--passes isa_reuse,ir_opt_cse] [--only a,b] [--examples] [--jobs N]
                    [--json FILE] [--write]

The programs are the 32 kernels of bench/cuda at their smallest sizes, --examples: those of examples/ as well. Nothing
is measured in time, so that two runs give the same numbers:

    instructions   of warps that were executed, by the device's count
    registers      of a thread
    stalls         cycles of the code's stall counts, a block ten times for each loop around it
    cycles         the same with waits for dependence counters, of usual latencies (src/codegen/report.c)
    reused         sources that come out of the operand cache, weighted likewise
    spilled        bytes, summed

The table has geometric means of without over with: above 1 the pass gains. Registers, stalls, cycles and bytes are
those of kernels, instructions those of programs. Each program checks its result each time. --write puts the table
into docs/passes-isa.md.
"""
import concurrent.futures
import json
import os
import re
import sys

import kernels
import simulated
from kernels import NAMES, Setup
from tables.common import Table, geomean, progress

PAGE = os.path.join(kernels.ROOT, "docs/passes-isa.md")
RATIOS = ("registers", "stalls", "cycles")
LEAST = 0.02  # programs that a pass moves less are not named

HEAD = """# What passes of the compiler to our instruction set are worth

Each row leaves out one pass (`HEDDLE_SKIP_PASS`) and compares with code that has all of them, over {programs}. Numbers are geometric means of *without over with*: above 1 the pass gains, 1.000 is no difference. `ir_opt_*` work on
the [IR](ir.md), `isa_*` on [machine code](codegen.md#settings).

- *Instructions* are those of warps that the simulated GPU executed, by program.
- *Registers* are a thread's, by kernel.
- *Stalls* are the cycles of the code's stall counts. A block counts ten times for each loop around it.
- *Cycles* have the waits for dependence counters besides, for results of usual latency (`TYPICAL` in `spec/isa/sm120.def`).
- *Reused* are sources that come out of the operand cache, not out of the register file (a mean, which can be 0).
- *Spilled* are bytes of local memory in place of registers, summed over all kernels; {spilled} with all passes.

The last column names the programs whose executed instructions change most. `bench/passes.py --write` makes this page; nothing in it depends on the machine's speed.

"""


def read(path):
    with open(os.path.join(kernels.ROOT, path), encoding="utf-8") as file:
        return file.read()


def passes():
    """Those that the device's code has: the common ones that may be left out, then those of the code generator, but for
    what goes by profiles, which are not there (pgo.py)."""
    pipeline = read("src/opt/pipeline.c")
    common = pipeline[pipeline.index("common[]"):pipeline.index("targets[")]
    names = dict.fromkeys(re.findall(r"OPT_PASS_(ir_opt_\w+)", common))
    return list(names) + [n for n in re.findall(r'^X\(\w+, "(\w+)"', read("spec/codegen_passes.def"), re.M) if n != "isa_profile"]


def measure(programs, left_out, jobs):
    """{pass, "" for none: {program: Told}}"""
    wanted = [(p, n) for n in programs for p in [""] + left_out]
    results = {p: {} for p in [""] + left_out}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = {pool.submit(simulated.told, programs[n], {"HEDDLE_SKIP_PASS": p}): (p, n) for p, n in wanted}
        for i, run in enumerate(concurrent.futures.as_completed(runs)):
            p, n = runs[run]
            results[p][n] = run.result()
            progress(f"{i + 1} of {len(wanted)}: {n} {p and 'without ' + p}")
    progress("")
    return results


def ratios(having, lacking, word):
    """{kernel: without over with} of a number that every kernel has."""
    return {(n, k): lacking[n].kernels[k][word] / having[n].kernels[k][word]
            for n in having for k in having[n].kernels if k in lacking[n].kernels and having[n].kernels[k][word]}


def mean_of(by_kernel):
    return sum(by_kernel.values()) / len(by_kernel) if by_kernel else 1.0


def spilled(told):
    return sum(k["spilled_B"] for t in told.values() for k in t.kernels.values())


def row_of(having, lacking):
    """The numbers of a row; programs that do not run without the pass are told and left out."""
    good = {n for n in having if not lacking[n].error and lacking[n].instructions() and having[n].instructions()}
    having, lacking = ({n: t[n] for n in having if n in good} for t in (having, lacking))
    run = {n: lacking[n].instructions() / having[n].instructions() for n in good}
    return {"instructions": geomean(list(run.values())), "programs": run,
            **{w: geomean(list(ratios(having, lacking, w).values())) for w in RATIOS},
            "reused": mean_of(ratios(having, lacking, "reused")),
            "spilled_B": spilled(lacking) - spilled(having)}


def table_of(results, left_out):
    having = {n: t for n, t in results[""].items() if not t.error}
    table = Table("Passes", ["left out", "instructions", *RATIOS, "reused", "spilled", "most in"])
    table.notes += [f"{n} does not run: {t.error}" for n, t in results[""].items() if t.error]
    for p in left_out:
        row = row_of(having, results[p])
        moved = sorted((n for n in row["programs"] if abs(row["programs"][n] - 1) >= LEAST),
                       key=lambda n: -abs(row["programs"][n] - 1))
        table.add(f"`{p}`", *[f"{row[w]:.3f}" for w in ("instructions", *RATIOS, "reused")], f"{row['spilled_B']:+d}",
                  ", ".join(f"{n} {row['programs'][n]:.2f}" for n in moved[:3]))
        table.values[p] = row
        table.notes += [f"{n} does not run without {p}: {t.error}" for n, t in results[p].items() if n in having and t.error]
    return table, spilled(having)


def page(table, with_examples, spilled_B):
    programs = "the 32 kernels of `bench/cuda` at their smallest sizes" + (" and the programs of `examples`" if with_examples else "")
    lines = table.markdown()[2:]
    return HEAD.format(programs=programs, spilled=f"{spilled_B} bytes" if spilled_B else "none") + "\n".join(lines).rstrip() + "\n"


def main():
    p = simulated.arguments(__doc__, "docs/passes-isa.md")
    p.add_argument("--passes", default=",".join(passes()), help="which to leave out, a comma list; default: each")
    p.add_argument("--examples", action="store_true", help="the programs of examples/ as well")
    args = p.parse_args()
    left_out = args.passes.split(",")
    unknown = [name for name in left_out if name not in passes()]
    if unknown:
        raise SystemExit(f"no such pass: {', '.join(unknown)} (there are {', '.join(passes())})")
    setup = Setup(args.build)
    if not args.no_build:
        simulated.build(setup, args.flavour)
    programs = simulated.corpus(setup, args.flavour, args.only.split(","), lambda n: kernels.tiny_args(n) + simulated.ONCE, args.examples)
    results = measure(programs, left_out, args.jobs)
    table, spilled_B = table_of(results, left_out)
    print("\n".join(table.plain()))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"flavour": args.flavour, "passes": table.values,
                       "programs": {n: {"instructions": t.instructions(), "kernels": t.kernels} for n, t in results[""].items()}}, file, indent=1)
    if args.write:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page(table, args.examples, spilled_B))
    return 1 if any(t.error for told in results.values() for t in told.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
