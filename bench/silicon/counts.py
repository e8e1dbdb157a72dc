#!/usr/bin/env python3
"""Operations that our own instruction set executes beside those of an RTX 3080: makes docs/isa-counts.md.

    bench/silicon/counts.py toolkit --wheels FOLDER [--cuda FOLDER] --work FOLDER
    bench/silicon/counts.py build   --data CLONE --work FOLDER [--most INSTRUCTIONS] [PROGRAM ..]
    bench/silicon/counts.py run     --data CLONE --work FOLDER [--most INSTRUCTIONS] [--limit S] [--again] [PROGRAM ..]
    bench/silicon/counts.py table   --data CLONE --work FOLDER [--most INSTRUCTIONS] [--out FILE]

CLONE: gpuFLOPBench, https://github.com/Scientific-Computing-Lab/gpuFLOPBench, commit 4738733b (MIT): HeCBench's programs, how
they were compiled, and what Nsight Compute counted of the first two launches of each kernel. They were compiled by clang 18
with CUDA 12.6, which `build` does with clang 19, or what --clang says: the PTX stays, and `run` executes it on the simulated GPU
(HEDDLE_DEVICE=sim, HEDDLE_SIM=counts) until every kernel has had its launches, or S seconds are over. Clang 18 makes other PTX of
some programs. Nothing fetched is part of this repository.

`toolkit` makes a folder that clang takes for CUDA 12.6 of unpacked wheels from PyPI (nvidia-cuda-runtime-cu12, nvidia-cuda-nvcc-cu12,
nvidia-cuda-cccl-cu12, 12.6) and an installed toolkit, for fatbinary and headers of libraries.

Without PROGRAM: those with operations of f32 that need about --most instructions of warps or less, small ones first.
"""
import argparse
import collections
import csv
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
CLOCK_GHZ = 1.44  # of the profiled GPU
F32, F64 = ("fadd", "fmul", "ffma"), ("dadd", "dmul", "dfma")
# Operations in a cycle below which the rounding of the profile to hundredths, of each of three counters, is over 1 %, 3 % at most.
LEAST_RATE = 0.5
# What is known of launches that differ by more than 2 %; programs.
CAUSES = {
    "affine-cuda": "sines and cosines of constants: our compiler folds them, the vendor's assembler computes them in each thread",
    "ldpc-cuda": "magnitudes that are kept (`fabsf`): a sum with zero there, an operation on bits here",
    "haccmk-cuda": "one operation less in each round of the loop: not known which",
    "mrc-cuda": "clang 19 rewrites a comparison; with the PTX of clang 18 the ratio is 1.000",
    "s3d-cuda": "one kernel of 21 is off: not known why",
    "softmax-fused-cuda": "one operation less in each exponential: not known which",
    "tsne-cuda": "logarithms of zero: the special function unit there wants it scaled, a product and a sum; ours takes it as it is",
}


# ---- the data set

def rows_of(args):
    """Rows of the profile by program."""
    rows = collections.defaultdict(list)
    with open(os.path.join(args.data, "cuda-profiling/profiling-data.csv"), encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["targetName"].endswith("-cuda"):
                ns = float(row["xtime"])
                row.update(f32=float(row["spPerf"]) * ns * 1e-9, f64=float(row["dpPerf"]) * ns * 1e-9, int=float(row["intops"]), ns=ns)
                rows[row["targetName"]].append(row)
    return rows


def size_of(rows):
    """About as many instructions of warps."""
    return sum(r["int"] + 0.8 * (r["f32"] + r["f64"]) for r in rows) * 1.5 / 32


def programs_of(args, rows):
    if args.program:
        return args.program
    some = [p for p in rows if any(r["f32"] for r in rows[p]) and size_of(rows[p]) <= args.most]
    return sorted(some, key=lambda p: size_of(rows[p]))


# ---- building

FATBINARY = r"""#!/bin/bash
# As clang calls it, for today's fatbinary; without machine code.
words=()
for word in "$@"; do
    case $word in
        *image=profile=sm_*) ;;
        *image=profile=compute_*) arch=${word#*profile=compute_}; words+=("--image3=kind=ptx,sm=${arch%%,*},${arch#*,}");;
        *) words+=("$word");;
    esac
done
exec @CUDA@/bin/fatbinary "${words[@]}"
"""
PTXAS = """#!/bin/sh
# Only PTX is wanted.
while [ $# -gt 0 ]; do [ "$1" = --output-file ] && : > "$2"; shift; done
"""


def toolkit(args):
    root = os.path.join(args.work, "cuda")
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("bin", "include", "nvvm/libdevice", "lib64"):
        os.makedirs(os.path.join(root, folder))
    for folder in glob.glob(os.path.join(args.wheels, "nvidia/*/include")):
        shutil.copytree(folder, os.path.join(root, "include"), dirs_exist_ok=True)
    for pattern in ("cublas", "cufft", "curand", "cusolver", "cusparse", "nvml", "cuda_profiler", "cudaProf"):
        for path in glob.glob(os.path.join(args.cuda, "include", pattern + "*")):
            if not os.path.exists(os.path.join(root, "include", os.path.basename(path))):
                shutil.copy(path, os.path.join(root, "include"))
    shutil.copy(os.path.join(args.wheels, "nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc"), os.path.join(root, "nvvm/libdevice"))
    with open(os.path.join(root, "version.txt"), "w", encoding="utf-8") as file:
        file.write("CUDA Version 12.6.0\n")
    for name, text in (("ptxas", PTXAS), ("fatbinary", FATBINARY.replace("@CUDA@", args.cuda))):
        path = os.path.join(root, "bin", name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)


def commands_of(args):
    """By program: (words, source) as they were compiled."""
    with open(os.path.join(args.data, "cuda-profiling/compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    found = collections.defaultdict(list)
    for entry in entries:
        program = re.search(r"CMakeFiles/([^ /]+-cuda)\.dir", entry["output"])
        if not program:
            continue

        def here(text, folder=entry["directory"]):
            return text.replace(os.path.dirname(folder), args.data).replace("/usr/local/cuda-12.6", os.path.join(args.work, "cuda"))

        words = [here(word) for word in shlex.split(entry["command"])]
        found[program[1]].append((shlex.split(args.clang) + (words[1:] if "clang" in words[0] else words), here(entry["file"])))
    return found


def build_program(args, program, commands):
    """Nothing, or what went wrong."""
    objects, libraries = [], sorted({os.path.dirname(p) for p in glob.glob(args.build + "/src/api/*/*.so") if "/absent/" not in p})
    for words, source in commands:
        objects.append(os.path.join(args.work, "obj", f"{program}.{len(objects)}.o"))
        if not os.path.exists(source):
            return f"{os.path.basename(source)} is not there"
        words[words.index("-o") + 1] = objects[-1]
        done = subprocess.run(words + ["--cuda-include-ptx=all", "-w"] if "--cuda-gpu-arch=sm_86" in words else words + ["-w"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            return next((line for line in done.stderr.splitlines() if "error" in line), "clang fails")
    words = ["g++"] + objects + ["-o", os.path.join(args.work, "bin", program)] + ["-L" + d for d in libraries]
    words += ["-Wl,--as-needed", "-Wl,--unresolved-symbols=ignore-in-shared-libs"]
    words += ["-lcudart", "-lcublas", "-lcublasLt", "-lcurand", "-lcufft", "-lcusparse", "-lcusolver", "-lcuda", "-lpthread", "-ldl", "-lrt", "-lm", "-lgomp", "-lz"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return next((line for line in done.stderr.splitlines() if "undefined" in line or "error" in line), "ld fails") if done.returncode else ""


def build(args):
    rows, commands = rows_of(args), commands_of(args)
    for folder in ("obj", "bin"):
        os.makedirs(os.path.join(args.work, folder), exist_ok=True)
    for program in programs_of(args, rows):
        if args.again or not os.path.exists(os.path.join(args.work, "bin", program)):
            print(program, build_program(args, program, commands[program]) or "ok", flush=True)


# ---- running

def base_name(name):
    """Of a function: without its type, scopes, template's arguments and parameters."""
    out, depth = "", 0
    for c in name.replace("(anonymous namespace)", "_"):
        if c == "(" and not depth:
            break
        depth += (c == "<") - (c == ">")
        out += c if not depth and c != ">" else ""
    return out.split("::")[-1].split(" ")[-1]


class Reader:
    """The log's lines of counts, as they come: of names that Nsight Compute was asked for, the first two launches."""

    def __init__(self, path, wanted):
        self.path, self.wanted, self.at, self.names, self.found = path, wanted, 0, {}, {w: [] for w in wanted}

    def read(self):
        if not os.path.exists(self.path):
            return
        with open(self.path, "rb") as file:
            file.seek(self.at)
            data = file.read()
        end = data.rfind(b"\n") + 1
        self.at += end
        lines = [line for line in data[:end].decode(errors="replace").splitlines() if line.startswith("heddle: counts:")]
        new = sorted({line.split(" kernel=", 1)[1] for line in lines} - set(self.names))
        if new:
            out = subprocess.run(["c++filt"], input="\n".join(new) + "\n", capture_output=True, text=True, check=True).stdout
            self.names.update(zip(new, map(base_name, out.splitlines())))
        for line in lines:
            head, kernel = line.split(" kernel=", 1)
            for wanted in self.wanted:
                if wanted in self.names[kernel] and len(self.found[wanted]) < 2:
                    self.found[wanted].append(dict((w.split("=") for w in head.split()[2:]), kernel=self.names[kernel]))

    def is_complete(self, rows):
        return all(len(self.found[w]) >= sum(r["kernelName"] == w for r in rows) for w in self.wanted)


def run_program(args, program, rows):
    log, output = (os.path.join(args.work, "log", program + end) for end in (".counts", ".out"))
    reader = Reader(log, sorted({r["kernelName"] for r in rows}))
    env = dict(os.environ, HEDDLE_DEVICE="sim", HEDDLE_SIM="counts", HEDDLE_LOG=log, HEDDLE_MACHINE="rtx3090", HEDDLE_CACHE="off")
    if os.path.exists(log):
        os.remove(log)
    start, why = time.time(), "ended"
    with open(output, "wb") as out:
        words = [args.heddle, "run", os.path.join(args.work, "bin", program)] + shlex.split(rows[0]["exeArgs"])
        process = subprocess.Popen(words, cwd=os.path.join(args.data, "src", program), env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        while process.poll() is None:
            time.sleep(0.1)
            reader.read()
            if reader.is_complete(rows) or time.time() - start > args.limit:
                why = "complete" if reader.is_complete(rows) else "time"
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    reader.read()
    if os.path.exists(log):
        os.remove(log)
    return {"why": "complete" if reader.is_complete(rows) else why, "launches": reader.found}


def run(args):
    rows = rows_of(args)
    for folder in ("log", "res"):
        os.makedirs(os.path.join(args.work, folder), exist_ok=True)
    for program in programs_of(args, rows):
        path = os.path.join(args.work, "res", program + ".json")
        if not os.path.exists(os.path.join(args.work, "bin", program)) or (os.path.exists(path) and not args.again):
            continue
        result = run_program(args, program, rows[program])
        print(program, result["why"], sum(map(len, result["launches"].values())), flush=True)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


# ---- the table

def operations(counts, kinds):
    return int(counts[kinds[0]]) + int(counts[kinds[1]]) + 2 * int(counts[kinds[2]])


def dims(text):
    return [int(n) for n in re.findall(r"\d+", text)]


def compared(args, rows):
    """Launches that ran here with the same grid and block, and programs by what became of them."""
    launches, fate = [], collections.Counter()
    for program in sorted(p for p in rows if any(r["f32"] for r in rows[p])):
        path = os.path.join(args.work, "res", program + ".json")
        if size_of(rows[program]) > args.most:
            fate["large"] += 1
            continue
        if not os.path.exists(path):
            fate["unbuilt"] += 1
            continue
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        found = []
        for wanted, here in result["launches"].items():
            for row, ours in zip([r for r in rows[program] if r["kernelName"] == wanted], here):
                if ours["kernel"] == base_name(row["Kernel Name"]) and dims(ours["grid"]) == dims(row["Grid Size"]) and dims(ours["block"]) == dims(row["Block Size"]):
                    found.append({"program": program, "row": row, "kernel": ours["kernel"], "f32": operations(ours, F32), "f64": operations(ours, F64), "int": int(ours["integer"])})
        with_f32 = [x for x in found if x["row"]["f32"]]
        fate["ran" if with_f32 else "time" if result["why"] == "time" else "failed"] += 1
        launches += found
    return launches, fate


def ratio(launch, what):
    return launch[what] / launch["row"][what] if launch["row"][what] else None


def is_exact(launch):
    return launch["row"]["f32"] / (launch["row"]["ns"] * CLOCK_GHZ) >= LEAST_RATE


def share(values, bound):
    return f"{100 * sum(abs(v - 1) <= bound for v in values) / len(values):.1f} %" if values else "-"


def shares(name, values):
    if not values:
        return f"| {name} | 0 | - | - | - | - |"
    worst = max(values, key=lambda v: abs(v - 1))
    middle = sorted(values)[len(values) // 2]
    return f"| {name} | {len(values)} | {share(values, 0.02)} | {share(values, 0.1)} | {middle:.3f} | {worst:.2f} |"


def number(n):
    return f"{n:,.0f}"


def table_lines(launches):
    groups = collections.OrderedDict()
    for x in launches:
        key = (x["program"], x["kernel"], number(x["f32"]), x["row"]["Grid Size"])
        groups.setdefault(key, []).append(x)
    for (program, kernel, _, _), same in groups.items():
        mean = sum(x["row"]["f32"] for x in same) / len(same)
        f32 = same[0]["f32"]
        cells = [program[:-5], f"`{kernel}`", str(len(same)), number(mean), number(f32), f"{f32 / mean:.3f}" if mean else "-"]
        cells += [f"{ratio(same[0], what):.2f}" if same[0]["row"][what] else "-" for what in ("f64", "int")]
        yield "| " + " | ".join(cells) + ("" if is_exact(same[0]) else " rounded") + " |"


def table(args):
    rows = rows_of(args)
    launches, fate = compared(args, rows)
    with_f32 = [x for x in launches if x["row"]["f32"]]
    exact = [x for x in with_f32 if is_exact(x)]
    worst = collections.defaultdict(list)
    for x in exact:
        worst[x["program"]].append(ratio(x, "f32"))
    programs = [max(v, key=lambda r: abs(r - 1)) for v in worst.values()]
    left = sorted({x["program"] for x in exact if abs(ratio(x, "f32") - 1) > 0.02})
    with open(os.path.join(HERE, "isa-counts.in.md"), encoding="utf-8") as file:
        text = file.read()
    parts = {
        "FATE": " ".join(f"{fate[k]} {words}." for k, words in (
            ("ran", "ran"), ("large", f"need more than {args.most:.1e} instructions of warps and were not tried"),
            ("time", "did not come to a launch with such operations in 25 to 60 seconds on a busy machine"),
            ("failed", "want files that are not in the data set, or end without such a launch"), ("unbuilt", "were not built")) if fate[k]),
        "SHARES": "\n".join(["| what | number | within 2 % | within 10 % | median of ours / measured | worst |", "|---|---|---|---|---|---|",
                             shares("fp32, launches", [ratio(x, "f32") for x in exact]), shares("fp32, programs by their worst launch", programs),
                             shares("fp64, launches", [ratio(x, "f64") for x in launches if x["row"]["f64"] / (x["row"]["ns"] * CLOCK_GHZ) >= LEAST_RATE]),
                             shares("integer, launches", [ratio(x, "int") for x in launches if x["row"]["int"]])]),
        "ROUNDED": str(len(with_f32) - len(exact)),
        "CAUSES": "\n".join(["| program | worst | why |", "|---|---|---|"] + [
            f"| {p[:-5]} | {max(worst[p], key=lambda r: abs(r - 1)):.3f} | {CAUSES.get(p, 'not known')} |" for p in left]),
        "TABLE": "\n".join(["| program | kernel | launches | measured fp32 | ours | ours / measured | fp64 | integer |", "|---|---|---|---|---|---|---|---|"] + list(table_lines(with_f32))),
    }
    for name, value in parts.items():
        text = text.replace(f"@{name}@", value)
    with open(args.out, "w", encoding="utf-8") as file:
        file.write(text)
    print(parts["FATE"] + "\n" + parts["SHARES"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("step", choices=("toolkit", "build", "run", "table"))
    p.add_argument("--data", help="the clone of gpuFLOPBench")
    p.add_argument("--work", required=True, help="where everything goes that is made")
    p.add_argument("--wheels", help="unpacked wheels of CUDA 12.6")
    p.add_argument("--cuda", default="/usr/local/cuda", help="an installed toolkit")
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--clang", default="clang++-19", help="the compiler and options of its own")
    p.add_argument("--heddle", help="default: the build's")
    p.add_argument("--most", type=float, default=1.4e9, help="instructions of warps that a program may need, about")
    p.add_argument("--limit", type=float, default=60, help="seconds for a program")
    p.add_argument("--again", action="store_true", help="also what is there")
    p.add_argument("--out", default=os.path.join(ROOT, "docs/isa-counts.md"))
    p.add_argument("program", nargs="*")
    args = p.parse_intermixed_args()
    args.heddle = args.heddle or os.path.join(args.build, "tools/heddle/heddle")
    for name in ("data", "work", "wheels", "build", "heddle"):
        setattr(args, name, getattr(args, name) and os.path.abspath(getattr(args, name)))
    if args.step != "toolkit" and not args.data:
        p.error("--data names the clone of gpuFLOPBench")
    if args.step == "toolkit" and not args.wheels:
        p.error("--wheels names the unpacked wheels")
    {"toolkit": toolkit, "build": build, "run": run, "table": table}[args.step](args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
