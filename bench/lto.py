#!/usr/bin/env python3
"""What link-time optimisation is worth to code for the simulated GPU: programs of two relocatable modules, with it and with modules kept apart.

    bench/lto.py [--build DIR] [--only a,b] [--jobs N] [--json FILE] [--write]

The programs are the 32 kernels of bench/cuda at their smallest sizes and those of examples/, each cut in two: one file has the kernels and the
host's code, with device functions declared only, the other one has these functions. heddle cc -rdc=true compiles the files one by one. Nothing
but the image's size depends on how they are linked then, so both columns are the same files:

    apart     HEDDLE_SKIP_PASS=ir_opt_inline_units: functions of one module are called from the other, as by linkers of machine code
    lto       functions of one module are inlined into the other

Instructions are those that warps executed, by the device's count; cycles are of the code, each block by the loops around it
(src/codegen/report.c); registers are the most of the program's kernels, spilled bytes and words are summed over them; the image is what
heddle cc -dlink -cubin makes, without and with -dlto. Nothing is measured in time, so that two runs give the same numbers. Ratios are apart
over lto: above 1 it gains. Each program checks its result each time. --write puts the table into docs/lto.md, behind the line that says so.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import sys
import tempfile

import kernels
import simulated
from kernels import Setup
from tables.common import Table, geomean, progress

PAGE = os.path.join(kernels.ROOT, "docs/lto.md")
MARK = "<!-- bench/lto.py --write makes what follows -->\n"
LEAST = 0.001  # programs that change less are not told of
APART = {"HEDDLE_SKIP_PASS": "ir_opt_inline_units"}
MEASURES = ("instructions", "cycles", "registers", "image")


def chunks(source):
    """The text in pieces of file scope: a function with its body is one, and so is what stands between two."""
    piece, open_body = [], False
    for line in source.splitlines(keepends=True):
        if line == "{\n" and not open_body:
            head = []
            while piece and piece[-1].strip() and not piece[-1].startswith(("#", "}", "/*", " *")) and not piece[-1].rstrip().endswith(("*/", ";")):
                head.insert(0, piece.pop())
            yield "text", "", "".join(piece)
            piece, open_body = head + [line], True
            continue
        piece.append(line)
        if open_body and line.startswith("}"):
            whole = "".join(piece)
            yield "function", whole[:whole.index("\n{\n")], whole
            piece, open_body = [], False
    yield "text", "", "".join(piece)


def cut(source):
    """(kernels and host, device functions, how many of these), or None where there are none that can be another file's."""
    first, second, count = [], [], 0
    for kind, head, text in chunks(source):
        moves = kind == "function" and "__device__" in head and not re.search(r"\b(__host__|template|constexpr)\b", head)
        if moves:
            outer = re.sub(r"\b(static|inline|__forceinline__)\s+", "", head)
            first.append(outer + ";\n")
            second.append(outer + text[len(head):])
            count += 1
        else:
            first.append(text)
            if kind == "text" or "__device__" in head:
                second.append(re.sub(r"^((?:static )?__(?:device|constant|managed)__ [^(]*?)(?: = .*)?;$", r"extern \1;", text, flags=re.M))
    # Functions of the second file that call each other find their declarations in its head.
    return ("".join(first), "".join(second), count) if count else None


class Program:
    """Its name, the command to run it, and the two image sizes; `error`: why it is not measured."""

    def __init__(self, name):
        self.name, self.command, self.sizes, self.functions, self.error = name, None, {}, 0, None


def build(setup, name, source, flags, folder):
    program = Program(name)
    with open(source, encoding="utf-8") as file:
        parts = cut(file.read())
    if not parts:
        program.error = "has no device functions of its own"
        return program
    program.functions = parts[2]
    objects = []
    for i, text in enumerate(parts[:2]):
        path = os.path.join(folder, f"{name.replace(' ', '-')}_{i}.cu")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        objects.append(path[:-2] + "o")
        status, _, err = kernels.run([setup.heddle, "cc", "-rdc=true", "-c", *flags, path, "-o", objects[-1]])
        if status:
            program.error = "cannot be cut in two: " + next((line for line in err.splitlines() if "error" in line), "status")[-160:]
            return program
    out = objects[0][:-4]
    for word, extra in (("without", []), ("with", ["-dlto"])):
        image = f"{out}.{word}.cubin"
        status, _, err = kernels.run([setup.heddle, "cc", "-dlink", "-cubin", *extra, *objects, "-o", image])
        if not status:
            program.sizes[word] = os.path.getsize(image)
    status, _, err = kernels.run([setup.heddle, "cc", "-rdc=true", *objects, "-o", out])
    if status or len(program.sizes) < 2:
        program.error = "cannot be linked: " + err.strip()[-160:]
    program.command = [setup.heddle, "run", out]
    return program


def numbers(told, image_B):
    code = told.kernels.values()
    return {"instructions": told.instructions(), "cycles": sum(k["cycles"] for k in code), "registers": max(k["registers"] for k in code),
            "spilled": sum(k["spilled_B"] for k in code), "words": sum(k["words"] for k in code), "image": image_B}


def measure(setup, name, source, flags, args, folder):
    program = build(setup, name, source, flags, folder)
    if program.error:
        return program, None
    told = {word: simulated.told(program.command + args, env) for word, env in (("without", APART), ("with", {}))}
    program.error = told["without"].error or told["with"].error
    if program.error:
        return program, None
    return program, {word: numbers(told[word], program.sizes[word]) for word in told}


def sources(names):
    """(name, file, flags, arguments) of everything."""
    flags = ["-O3", "-I", os.path.join(kernels.BENCH, "cuda"), "-I", os.path.join(kernels.BENCH, "common")]
    for name in names:
        if name in kernels.NAMES:
            yield name, os.path.join(kernels.BENCH, f"cuda/{name}.cu"), flags, kernels.tiny_args(name) + simulated.ONCE
    for path in sorted(glob.glob(os.path.join(kernels.ROOT, "examples/*.cu"))):
        name = "example " + os.path.basename(path)[:-3]
        if name in names or "examples" in names:
            yield name, path, ["-O2", "-I", os.path.dirname(path)], []


def table_of(results):
    table = Table("The programs", ["program", "functions", "instructions", "ratio", "cycles", "ratio", "registers", "lto", "spilled", "lto",
                                   "words", "lto", "image", "lto"])
    ratios = {word: {} for word in MEASURES}
    left_out = {}
    for program, values in results:
        if not values:
            left_out.setdefault(program.error, []).append(program.name)
            continue
        a, b = values["without"], values["with"]
        for word in MEASURES:
            ratios[word][program.name] = a[word] / b[word]
        table.values[program.name] = values
        table.add(program.name, str(program.functions), str(a["instructions"]), f"{a['instructions'] / b['instructions']:.3f}", str(a["cycles"]),
                  f"{a['cycles'] / b['cycles']:.3f}", str(a["registers"]), str(b["registers"]), str(a["spilled"]), str(b["spilled"]),
                  str(a["words"]), str(b["words"]), str(a["image"]), str(b["image"]))
    if table.values:
        mean = {word: f"{geomean(list(ratios[word].values())):.3f}" for word in MEASURES}
        table.add("geometric mean", "", "", mean["instructions"], "", mean["cycles"], "", mean["registers"], "", "", "", "", "", mean["image"])
    for word, those in ratios.items():
        lost = sorted((n for n in those if those[n] < 1 - LEAST), key=lambda n: those[n])
        table.notes.append(f"More {word} with it: " + (", ".join(f"{n} ({those[n]:.3f})" for n in lost) or "none") + ".")
    for why, those in sorted(left_out.items()):
        table.notes.append(f"Not in the table, {why}: {', '.join(those)}.")
    return table


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(kernels.ROOT, "build"), help="Heddle's build folder")
    p.add_argument("--only", default=",".join(kernels.NAMES) + ",examples", help="names of programs, a comma list")
    p.add_argument("--jobs", type=int, default=1, help="programs at a time")
    p.add_argument("--json", help="writes all numbers to this file")
    p.add_argument("--write", action="store_true", help="writes docs/lto.md")
    args = p.parse_args()
    setup = Setup(args.build)
    work = list(sources(args.only.split(",")))
    results = {}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = {pool.submit(measure, setup, *each, folder): each[0] for each in work}
        for i, run in enumerate(concurrent.futures.as_completed(runs)):
            results[runs[run]] = run.result()
            progress(f"{i + 1} of {len(work)}: {runs[run]}")
    progress("")
    table = table_of([results[each[0]] for each in work])
    print("\n".join(table.plain()))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(table.values, file, indent=1)
    if args.write:
        with open(PAGE, encoding="utf-8") as file:
            head = file.read().split(MARK)[0]
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(head + MARK + "\n" + "\n".join(table.markdown()).rstrip() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
