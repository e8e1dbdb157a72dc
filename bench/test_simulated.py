#!/usr/bin/env python3
"""The tools that measure the simulated GPU run, on one program, and tell what is so: TAP.

    bench/test_simulated.py --build DIR
"""
import argparse
import json
import os
import sys
import tempfile

import kernels
import simulated
from kernels import BENCH, Setup

checks = []


def ok(passed, name):
    checks.append(passed)
    print(f"{'ok' if passed else 'not ok'} {len(checks)} - {name}", flush=True)


def tool(setup, name, *args):
    """(exit status, what --json has)"""
    path = os.path.join(setup.out, "values.json")
    status, out, err = kernels.run([sys.executable, os.path.join(BENCH, name), "--build", setup.build, "--flavour", "cuda-heddle",
                                    "--no-build", "--only", "saxpy", "--json", path, *args], {"OUT": setup.out})
    if status:
        print("\n".join("# " + line for line in (out + err).splitlines()))
        return status, {}
    with open(path, encoding="utf-8") as file:
        return status, json.load(file)


def test_told(setup):
    command = setup.cuda("cuda-heddle", "saxpy") + ["1000"] + simulated.ONCE
    told = simulated.told(command, debug="counts,code")
    ok(not told.error and len(told.kernels) == 1 and len({launch[2] for launch in told.launches}) == 1,
       "one kernel, whose launches are all alike")
    code = told.code[0]["blocks"]
    words = sum(len(block["instructions"]) for block in code)
    ok(words == next(iter(told.kernels.values()))["words"], "its code has as many words as are told")
    ok(told.instructions() > 0, "instructions were counted")
    again = simulated.told(command, device="interp")
    ok(not again.error and again.launches and not again.instructions(), "the interpreter tells of launches, and counts nothing")


def test_passes(setup):
    status, values = tool(setup, "passes.py", "--passes", "isa_fold,isa_reuse")
    ok(status == 0, "passes.py")
    ok(values and values["passes"]["isa_fold"]["instructions"] > 1.1, "without isa_fold there are more instructions")
    ok(values and values["passes"]["isa_reuse"]["instructions"] == 1, "without isa_reuse as many")


def test_speed(setup):
    status, values = tool(setup, "sim.py", "--rounds", "1", "--quick")
    ok(status == 0 and values["kernels"]["saxpy"]["per_s"] > 0, "sim.py")


def test_rationale(setup):
    status, values = tool(setup, "isa_rationale.py", "--no-examples")
    ok(status == 0, "isa_rationale.py")
    ok(values and values["kernels"] == 1 and values["less"]["counters=1"]["cycles"] >= 1, "fewer counters make nothing faster")
    ok(values and sum(values["counters"].values()) > 0.999, "each instruction has some number of counters that are up")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--build", required=True)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        setup = Setup(args.build, folder)
        setup.build = args.build
        os.mkdir(os.path.join(folder, "cuda-heddle"))
        status, _, err = kernels.run([setup.heddle, "cc", "-O3", BENCH + "/cuda/saxpy.cu", "-o", setup.program("cuda-heddle", "saxpy")])
        ok(status == 0, "a program is built")
        if status:
            print("# " + err.strip())
        else:
            test_told(setup)
            test_passes(setup)
            test_speed(setup)
            test_rationale(setup)
    print(f"1..{len(checks)}")
    return 0 if all(checks) else 1


if __name__ == "__main__":
    sys.exit(main())
