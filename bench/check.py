#!/usr/bin/env python3
"""Checks the kernels of bench/ on the CPU device, as TAP.

    bench/check.py                      a slice that takes a minute or two: what CI runs
    bench/check.py --whole              compute_75, 80, 90, 120 x every runtime and compiler x every level of CPU code
    bench/check.py --arch 75,120 --flavours cuda-heddle --levels avx2 --opt G --kernels scan,md5

For each cell (target, flavour, options, level) and kernel two checks. At a small size the program has to print PASS.
At a very small size its results have to be those of the same program on the reference interpreter
(HEDDLE_DEVICE=interp), bit for bit. What the host cannot execute or build is skipped, and said.

Flavours: cuda (nvcc, shared runtime), cuda-static (nvcc, static runtime), cuda-heddle (heddle cc).
Levels: values of HEDDLE_CPU, separated by commas; write features with a plus: avx512+-vbmi.
Options: O3; O0 (device code without optimisation); G (-G).
"""
import argparse
import itertools
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import kernels
from kernels import BENCH, NAMES, Setup, result_line, run

ARCHS = ["75", "80", "90", "120"]
FLAVOURS = ["cuda", "cuda-static", "cuda-heddle"]
LEVELS = ["avx512", "avx2", "generic"]
OPTIONS = {"O3": {}, "O0": {"nvcc": "-Xcicc -O0", "heddle": "-O0"}, "G": {"nvcc": "-G", "heddle": "-G"}}
ONCE = ["-r", "1", "-w", "1"]
TIMEOUT_S = 600  # a busy machine is no failure


class Cell:
    """One column of the matrix: programs built one way, run on one level."""

    def __init__(self, arch, flavour, opt, level, out):
        self.arch, self.flavour, self.opt, self.level = arch, flavour, opt, level
        self.dir = os.path.join(out, f"{arch}-{opt}")
        self.label = f"compute_{arch} {opt} {flavour} {level}"

    def compiler(self):
        return "heddle" if self.flavour == "cuda-heddle" else "nvcc"

    def build(self, setup, jobs):
        """None, or why there is nothing to run."""
        env = {"OUT": self.dir, "HEDDLE": setup.heddle, "PROGRAMS": "cuda", "JOBS": str(jobs), "ARCH": f"compute_{self.arch}",
               "HEDDLE_ARCH": f"sm_{self.arch}", "DEVICE_FLAGS": OPTIONS[self.opt].get(self.compiler(), "")}
        status, _, err = run([BENCH + "/build.sh", self.flavour], env, 7200)
        return None if status == 0 else (err.strip().splitlines() or ["failed"])[-1]


def cells_wanted(args, out):
    """Every cell, or of the slice: each flavour at the first level, the first flavour at every level."""
    every = [Cell(a, f, o, level, out)
             for a, o, f, level in itertools.product(args.arch, args.opt, args.flavours, args.levels)]
    if not args.slice:
        return every
    return [c for c in every if c.level == args.levels[0] or c.flavour == args.flavours[0]]


def level_env(level):
    """The environment of a level of --levels: one of HEDDLE_CPU, or `sim`, the simulated GPU."""
    return {"HEDDLE_DEVICE": "sim", "HEDDLE_SIM": "hazards"} if level == "sim" else {"HEDDLE_CPU": level}


class Check:
    """Runs kernels of cells; the reference's results are made once per program."""

    def __init__(self, heddle_build, tmp):
        self.build, self.tmp = heddle_build, tmp
        self.env = {"HEDDLE_CACHE": os.path.join(tmp, "cache"), "HEDDLE_MEMORY": "1G"}

    def command(self, cell, name, args):
        return Setup(self.build, cell.dir).cuda(cell.flavour, name) + args + ONCE

    def dump(self, cell, name, env, tag):
        """(results, None) or (None, why there are none)"""
        path = os.path.join(self.tmp, f"{tag}.{cell.arch}.{cell.opt}.{cell.flavour}.{name}")
        command = self.command(cell, name, kernels.tiny_args(name) + ["-dump", path])
        status, out, err = run(command, dict(self.env, **env), TIMEOUT_S)
        if not os.path.exists(path):
            return None, f"status {status}: {last_line(err or out)}"
        with open(path, "rb") as file:
            bytes_ = file.read()
        os.unlink(path)
        return bytes_, None

    def passes(self, cell, name):
        command = self.command(cell, name, kernels.small_args(name))
        status, out, err = run(command, dict(self.env, **level_env(cell.level)), TIMEOUT_S)
        fields = result_line(name, out)
        good = bool(fields) and fields[3] == "PASS" and status == 0 and "form, which is slower" not in err
        return None if good else f"status {status}: {last_line(err or out)}"

    def kernel(self, cells, name):
        """[(cell, what, None or why not)] of the cells of one build."""
        reference, why_ref = self.dump(cells[0], name, {"HEDDLE_DEVICE": "interp"}, "interp")
        results = []
        for cell in cells:
            results.append((f"{cell.label}: {name} passes", self.passes(cell, name)))
            got, why = self.dump(cell, name, level_env(cell.level), cell.level)
            if reference is None or got is None:
                why = f"interp: {why_ref}" if reference is None else why
            elif got != reference:
                why = difference(got, reference)
            results.append((f"{cell.label}: {name} = interp", why))
        return results


def last_line(text):
    return (text.strip().splitlines() or ["no output"])[-1]


def difference(got, reference):
    if len(got) != len(reference):
        return f"{len(got)} bytes, interp {len(reference)}"
    words = [i for i in range(0, len(got), 4) if got[i:i + 4] != reference[i:i + 4]]
    at = words[0]
    return (f"{len(words)} of {len(got) // 4} words differ, first at {at // 4}: "
            f"cpu {got[at:at + 4][::-1].hex()} interp {reference[at:at + 4][::-1].hex()}")


def level_refused(check, cell, name):
    """What Heddle says when this host cannot execute the cell's level. A level that does not exist ends this."""
    _, out, err = run(check.command(cell, name, kernels.tiny_args(name)), dict(check.env, **level_env(cell.level)), TIMEOUT_S)
    said = [line for line in (out + err).splitlines() if "HEDDLE_CPU=" in line]
    if said and "lacks" not in said[0]:
        sys.exit(said[0].strip())
    return said[0].strip() if said else None


class Tap:
    """TAP on stdout; how far it is on a terminal's stderr."""

    def __init__(self, total):
        self.total, self.count, self.failed, self.start = total, 0, 0, time.time()
        print(f"1..{total}", flush=True)

    def result(self, what, why, skip=None):
        self.count += 1
        self.failed += why is not None
        print(f"{'ok' if why is None else 'not ok'} {self.count} - {what}{f' # SKIP {skip}' if skip else ''}"
              + (f"\n# {why}" if why else ""), flush=True)
        if sys.stderr.isatty():
            left = (time.time() - self.start) / self.count * (self.total - self.count)
            print(f"\r{self.count} of {self.total}, {self.failed} failed, {left / 60:.0f} min left \r", end="", file=sys.stderr)


def build_all(setup, cells, jobs):
    """([cells of one build, ...], [(what, why)] of builds that failed)"""
    builds, broken = {}, []
    for cell in cells:
        builds.setdefault((cell.arch, cell.opt, cell.flavour), []).append(cell)
    for key, group in list(builds.items()):
        why = group[0].build(setup, jobs)
        if why:
            broken.append((f"build {' '.join(key)}", why))
            del builds[key]
    return list(builds.values()), broken


def arguments():
    words = lambda text: text.split(",")  # noqa: E731
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog="See the head of the file.")
    p.add_argument("--build", default=os.path.join(kernels.ROOT, "build"))
    p.add_argument("--out", help="where programs are built and kept (default: BUILD/bench-out)")
    p.add_argument("--whole", action="store_true", help="the whole matrix instead of a slice")
    p.add_argument("--arch", type=words, help=f"default: {','.join(ARCHS)} of the whole, 120 of the slice")
    p.add_argument("--flavours", type=words, default=FLAVOURS)
    p.add_argument("--levels", type=words, default=LEVELS)
    p.add_argument("--opt", type=words, default=["O3"])
    p.add_argument("--kernels", type=words, default=NAMES)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    args = p.parse_args()
    args.slice = not args.whole and not args.arch
    args.arch = args.arch or (ARCHS if args.whole else ["120"])
    args.levels = [level.replace("+", ",") for level in args.levels]
    for what, known in (("flavours", FLAVOURS), ("opt", list(OPTIONS)), ("kernels", NAMES)):
        unknown = [w for w in getattr(args, what) if w not in known]
        if unknown:
            p.error(f"--{what}: '{unknown[0]}' is not one of {', '.join(known)}")
    return args


def main():
    args = arguments()
    setup = Setup(args.build)
    if not os.path.exists(setup.heddle):
        print("1..0 # SKIP no heddle tool")
        return 0
    if not shutil.which(os.environ.get("NVCC", "nvcc")):
        print("# no nvcc here: heddle cc alone")
        args.flavours = [f for f in args.flavours if f == "cuda-heddle"]
    out = args.out or os.environ.get("OUT") or os.path.join(os.path.abspath(args.build), "bench-out")
    groups, broken = build_all(setup, cells_wanted(args, out), args.jobs)
    with tempfile.TemporaryDirectory() as tmp, ThreadPoolExecutor(args.jobs) as pool:
        check = Check(args.build, tmp)
        cells = {cell.level: cell for group in groups for cell in group}
        refused = {level: level_refused(check, cell, args.kernels[0]) for level, cell in cells.items()}
        groups = [here for group in groups if (here := [c for c in group if not refused[c.level]])]
        skipped = [(level, why) for level, why in refused.items() if why]
        tap = Tap(2 * len(args.kernels) * sum(map(len, groups)) + len(broken) + len(skipped))
        for level, why in skipped:
            tap.result(level, None, why)
        for what, why in broken:
            tap.result(what, why)
        for done in [pool.submit(check.kernel, group, name) for group in groups for name in args.kernels]:
            for what, why in done.result():
                tap.result(what, why)
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
