"""What the checks of Python clients share: running them, and saying what went wrong.

A check is a name and a function that returns (got, want, tolerance): arrays, or tuples of them. One line of JSON is
printed for each:

    {"check": "sort", "ok": true, "error": 0.0, "tolerance": 0, "seconds": 0.41}
    {"check": "fft", "ok": false, "library": "cuFFT", "exception": "...", "seconds": 0.02}

`library` names the library of NVIDIA's that the check needs and Heddle does not have: such a check does not count as
failed. Before the first one, {"first_result_seconds": ...} tells the time from the start of Python to its result.
"""
import json
import os
import re
import sys
import time
import traceback

LIBRARIES = "cuBLASLt cuBLAS cuDNN cuFFT cuRAND cuSOLVER cuSPARSE NCCL".split()
start = time.time() - time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)


def library_in(text):
    """The library that a message speaks of, or None."""
    return next((lib for lib in LIBRARIES if re.search(rf"\b(lib)?{lib}\b|{lib}_|{lib}(Create|Get|Error)", text, re.I)), None)


def flat(values):
    import numpy as np
    values = values if isinstance(values, (tuple, list)) else (values,)
    return [np.asarray(v) for v in values]


def compare(name, check):
    import numpy as np
    line, begin = {"check": name, "ok": False}, time.time()
    try:
        got, want, tolerance = check()
        got, want = flat(got), flat(want)
        shapes = [x.shape for x in got], [x.shape for x in want]
        if shapes[0] == shapes[1]:
            error = max((float(np.max(np.abs(g.astype(np.float64) - w))) if g.size else 0.0) for g, w in zip(got, want))
            line.update(ok=error <= tolerance, error=error, tolerance=tolerance)
        else:
            line["exception"] = f"shapes {shapes[0]}, not {shapes[1]}"
    except Exception as e:  # a client's own classes
        line["exception"] = f"{type(e).__name__}: {e}"[:2000]
        library = library_in(line["exception"])
        if library:
            line["library"] = library
        else:
            traceback.print_exc()
    line["seconds"] = round(time.time() - begin, 3)
    return line


def main(checks):
    """Runs those that the command line names, or all. Returns the exit status: 0 when none failed."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what clients print goes to stderr, beside the lines
    wanted = sys.argv[1:]
    unknown = set(wanted) - {name for name, _ in checks}
    if unknown:
        sys.exit(f"no such checks: {', '.join(sorted(unknown))}")
    failed = 0
    for number, (name, check) in enumerate(c for c in checks if not wanted or c[0] in wanted):
        line = compare(name, check)
        if number == 0:
            print(json.dumps({"first_result_seconds": round(time.time() - start, 3)}), file=out, flush=True)
        print(json.dumps(line), file=out, flush=True)
        failed += not line["ok"] and "library" not in line
    return failed != 0
