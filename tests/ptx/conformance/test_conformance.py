#!/usr/bin/env python3
"""Instructions against exact oracles, bit for bit, on every device (TAP).

    test_conformance.py --interp RUN_INTERP --driver RUN_DRIVER [--devices "opt cpu cpu/avx2"] [--vectors N] [--seed N]
                        [--rows TEXT] [--every N] [--ptxas]

Devices as tests/differential/engine.py has them. --vectors: of each row, rounded up to whole blocks. --rows: only those
whose text has TEXT; --every: only each N-th of those. --ptxas: asks the vendor's assembler instead whether it takes what the rows say is valid, and
refuses the rest; wherever the toolkit is installed.
"""
import argparse
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import suite  # noqa: E402
from suite import engine  # noqa: E402
import rows_cvt  # noqa: E402
import rows_float  # noqa: E402
import rows_int  # noqa: E402
import rows_mem  # noqa: E402
import rows_video  # noqa: E402
import rows_warp  # noqa: E402

MODULES = (rows_int, rows_float, rows_cvt, rows_mem, rows_warp, rows_video)
ARCHES = ("sm_100a", "sm_120a", "sm_75")
SHOWN = 12


def devices_here(where, args):
    """Those of --devices that this host can be; a level of HEDDLE_CPU that it lacks is skipped."""
    names = args.devices.split()
    levels = {n: n.partition(":")[0].partition("/")[2] for n in names}
    _, lacking = engine.levels_here(args.driver, sorted(set(levels.values()) - {""}), where)
    for level, why in lacking:
        ok(True, f"{level} # SKIP {why}")
    lacking = {level for level, _ in lacking}
    return [engine.device(n, args.interp, args.driver) for n in names if levels[n] not in lacking]


def check_devices(where, rows, args):
    devices = devices_here(where, args)
    count = (args.vectors + suite.THREADS - 1) // suite.THREADS * suite.THREADS
    trouble = suite.run_rows(where, rows, count, args.seed, devices)
    for device in devices:
        bad = trouble[device.name]
        ok(not bad, f"{device.name}: {len(rows)} rows of {count} vectors", list(bad.values()))
        ok(not device.slower, f"{device.name}: every kernel runs in the form that was asked for", device.slower)


def check_refusals(where, cases, args):
    device = engine.device("noopt", args.interp, args.driver)
    for text, words in cases:
        said = suite.refusal(where, device, text)
        ok(said is not None and words in said, f"refused: {text}", [f"wanted: {words}", f"said: {said}"])


def assembles(where, text):
    path = f"{where}/one.ptx"
    for arch in ARCHES:
        with open(path, "w", encoding="ascii") as file:
            file.write(text.replace("sm_100a", arch))
        if not subprocess.run(["ptxas", "-arch", arch, "-O0", "-o", "/dev/null", path], capture_output=True, check=False).returncode:
            return True
    return False


def check_vendor(where, rows, cases):
    for row in rows:
        text = suite.HEAD + suite.entry("g0", [row], suite.THREADS, (len(row.kinds), len(row.outs)))
        ok(assembles(where, text), f"ptxas takes {row.text}")
    for text, _ in cases:
        ok(not assembles(where, suite.refusal_text(text)), f"ptxas refuses {text}")


count = failed = 0


def ok(passed, name, notes=()):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'' if passed else 'not '}ok {count} - {name}", flush=True)
    if not passed:
        for line in list(notes)[:SHOWN]:
            print("#", str(line)[:300])
        if len(notes) > SHOWN:
            print(f"# and {len(notes) - SHOWN} more")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--interp")
    p.add_argument("--driver")
    p.add_argument("--devices", default="opt cpu")
    p.add_argument("--vectors", type=int, default=suite.THREADS)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--rows", default="")
    p.add_argument("--every", type=int, default=1)
    p.add_argument("--ptxas", action="store_true")
    args = p.parse_args()
    rows = [r for m in MODULES for r in m.rows() if args.rows in r.text][args.seed % args.every::args.every]
    cases = [c for m in MODULES for c in m.REFUSED if args.rows in c[0]]
    with tempfile.TemporaryDirectory(prefix="conformance-") as where:
        if args.ptxas:
            check_vendor(where, rows, cases)
        else:
            check_devices(where, rows, args)
            check_refusals(where, cases, args)
    print(f"1..{count}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
