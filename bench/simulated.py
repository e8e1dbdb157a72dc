"""Programs on the simulated GPU, and what it tells of them: shared by passes.py, sim.py and isa_rationale.py."""
import argparse
import glob
import json
import os
import re
import shutil

import kernels
from tables.common import progress

# One launch of each kernel, as the program's harness understands it.
ONCE = ["-r", "1", "-w", "0"]


def default_flavour():
    """nvcc's programs where there is an nvcc, ours otherwise."""
    return "cuda" if shutil.which(os.environ.get("NVCC", "nvcc")) else "cuda-heddle"


def arguments(description, page):
    """A parser of what passes.py and isa_rationale.py have in common."""
    p = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(kernels.ROOT, "build"), help="Heddle's build folder")
    p.add_argument("--flavour", default=default_flavour(), help="cuda: nvcc's programs; cuda-heddle: heddle cc's")
    p.add_argument("--only", default=",".join(kernels.NAMES), help="names of kernels, a comma list")
    p.add_argument("--jobs", type=int, default=1, help="programs at a time")
    p.add_argument("--no-build", action="store_true", help="the programs of bench/cuda are there")
    p.add_argument("--json", help="writes all numbers to this file")
    p.add_argument("--write", action="store_true", help=f"writes {page}")
    return p


def build(setup, flavour):
    """Builds the programs of bench/cuda."""
    progress("building the programs")
    status, _, err = kernels.run([kernels.BENCH + "/build.sh", flavour],
                                 {"HEDDLE": setup.heddle, "OUT": setup.out, "PROGRAMS": "cuda"}, timeout_s=3600)
    progress("")
    if status:
        raise SystemExit(err.strip()[-500:] or "the programs cannot be built")


def examples(setup):
    """{name: command} of examples/, compiled by heddle cc."""
    out = os.path.join(setup.out, "examples")
    os.makedirs(out, exist_ok=True)
    made = {}
    for source in sorted(glob.glob(os.path.join(kernels.ROOT, "examples/*.cu"))):
        name = os.path.basename(source)[:-3]
        program = os.path.join(out, name)
        if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
            progress(f"building example {name}")
            status, _, err = kernels.run([setup.heddle, "cc", "-O2", source, "-o", program])
            if status:
                raise SystemExit(f"example {name}: {err.strip()[-500:]}")
        made["example " + name] = [setup.heddle, "run", program]
    progress("")
    return made


def corpus(setup, flavour, names, args_of, with_examples=False):
    """{name: command} of the kernels of bench/cuda at sizes that args_of(name) gives, then of the examples."""
    programs = {n: setup.cuda(flavour, n) + args_of(n) for n in names}
    return {**programs, **(examples(setup) if with_examples else {})}


class Told:
    """What one run told: `kernels` {name: {word: number}} of code, `launches` [(name, ns, instructions)], `code`
    [one object for each function, HEDDLE_DEBUG=code], `error`: None or why it is of no use."""

    def __init__(self, status, out, err):
        self.kernels, self.launches, self.code = {}, [], []
        for line in err.splitlines():
            if line.startswith('{"function": '):
                self.code.append(json.loads(line))
            elif line.startswith("heddle[counts]: "):
                words = dict(w.split("=", 1) for w in line.split()[1:])
                if "kernel" in words:
                    name = words.pop("kernel")
                    self.kernels[name] = {k: int(v) for k, v in words.items()}
                else:
                    self.launches.append((words["launch"], int(words["ns"]), int(words["instructions"])))
        said = [line for line in err.splitlines() if not re.match(r"heddle\[|\{", line)]
        self.error = None
        if status or "FAIL" in out:
            self.error = (said or out.strip().splitlines() or [f"status {status}"])[-1]

    def instructions(self):
        return sum(launch[2] for launch in self.launches)


def told(command, env=None, debug="counts", device="sim", timeout_s=600):
    env = {"HEDDLE_DEVICE": device, "HEDDLE_DEBUG": debug, "HEDDLE_CACHE": "off", **(env or {})}
    return Told(*kernels.run(command, env, timeout_s))
