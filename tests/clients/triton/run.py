#!/usr/bin/env python3
"""Kernels in the manner of Triton's tutorials, compared with NumPy:

    heddle run PYTHON tests/clients/triton/run.py [NAME...]

PYTHON has triton and numpy, and no PyTorch is needed. Prints a line of JSON per kernel and exits with 0 when
all are right. A line tells the seconds from start to the first result.
"""
import os
import sys
import tempfile
import time

start = time.time()
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # silences a warning of Triton 3.9

import json  # noqa: E402
import signal  # noqa: E402
import subprocess  # noqa: E402
import traceback  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = 300
sys.path.insert(0, HERE)


def compare(name, case):
    """Runs a case; the line about it."""
    import device
    import numpy as np
    line = {"kernel": name, "ok": False}
    try:
        device.init()
        got, want, tolerance = case()
        if np.shape(got) == np.shape(want):
            error = float(np.max(np.abs(np.asarray(got, np.float64) - want)))
            line.update(ok=error <= tolerance, error=error, tolerance=tolerance)
        else:
            line["exception"] = f"the result has the shape {np.shape(got)}, not {np.shape(want)}"
    except Exception as e:
        line["exception"] = f"{type(e).__name__}: {e}"[:2000]
        traceback.print_exc()
    return line


def child(name, case, out):
    """What Triton prints goes to stderr, beside the lines."""
    os.dup2(2, 1)
    signal.alarm(LIMIT_S)
    begin = time.time()
    line = compare(name, case)
    line["seconds"] = round(time.time() - begin, 3)
    os.write(out, (json.dumps(line) + "\n").encode())
    os._exit(not line["ok"])


def run(name, case):
    """In a process of its own: the error of a kernel stays in its context."""
    sys.stdout.flush()
    into, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        child(name, case, out)
    os.close(out)
    with open(into, encoding="utf-8") as file:
        text = file.read()
    status = os.waitpid(pid, 0)[1]
    if not text:
        text = json.dumps({"kernel": name, "ok": False, "exception": f"the process ended, wait status {status}"}) + "\n"
    print(text, end="", flush=True)
    return status == 0


def main(wanted):
    import elementwise
    import gluon_kernels
    import language
    import matrix
    cases = elementwise.CASES + matrix.CASES + language.CASES + gluon_kernels.CASES
    unknown = set(wanted) - {name for name, *_ in cases}
    if unknown:
        sys.exit(f"no such kernels: {', '.join(sorted(unknown))}")
    capability = int(subprocess.run([sys.executable, "-c", "import device; device.init(); print(device.capability())"],
                                    cwd=HERE, capture_output=True, text=True, check=True).stdout)
    good = True
    first = True
    for name, case, least, *end in cases:
        if wanted and name not in wanted:
            continue
        if capability < least or (end and capability >= end[0]):
            needs = f"at least {least}" + (f" and below {end[0]}" if end else "")
            print(json.dumps({"kernel": name, "skip": f"needs {needs}, the device is {capability}"}), flush=True)
            continue
        good = run(name, case) and good
        if first:
            print(json.dumps({"first_result_seconds": round(time.time() - start, 3), "capability": capability}),
                  flush=True)
        first = False
    return not good


with tempfile.TemporaryDirectory() as cache:
    os.environ.setdefault("TRITON_CACHE_DIR", cache)  # every run compiles
    code = main(sys.argv[1:])
sys.exit(code)
