#!/usr/bin/env python3
"""PTX that nvcc makes of the kernels in bench/ and examples/ parses, checks and survives a round trip.

test_corpus.py SOURCE_ROOT ROUND_TRIP_PROGRAM [ARGUMENT...]; the files follow the arguments. Sources
alternate between an old architecture with full debug data and a new one with line information.
Skipped without nvcc. Speaks TAP.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

root, command_line = sys.argv[1], sys.argv[2:]
nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
if not nvcc:
    print("1..0 # SKIP no nvcc")
    sys.exit(0)

VARIANTS = [["-arch=compute_75", "-G"], ["-arch=compute_120", "-O3", "-lineinfo"]]
sources = sorted(glob.glob(os.path.join(root, "bench/cuda/*.cu")) + glob.glob(os.path.join(root, "examples/*.cu")))
made = []
with tempfile.TemporaryDirectory() as folder:
    for i, source in enumerate(sources):
        out = os.path.join(folder, os.path.basename(source)[:-3] + ".ptx")
        command = [nvcc, "-ptx", "-std=c++17", "-w", "-o", out, source] + VARIANTS[i % 2]
        for include in ("bench/cuda", "bench/common", "examples"):
            command.append("-I" + os.path.join(root, include))
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode == 0:
            made.append(out)
        else:
            print("# not compiled: %s: %s" % (source, result.stderr.strip().split("\n")[0]))
    if not made:
        print("1..0 # SKIP nvcc compiled nothing")
        sys.exit(0)
    sys.exit(subprocess.run(command_line + made).returncode)
