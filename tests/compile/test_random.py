#!/usr/bin/env python3
"""Random programs, loaded as a whole and on demand: test_random.py GENERATORS PROGRAM [COUNT].

HEDDLE_SEED is the first seed. Speaks TAP, in the words of PROGRAM (test_checked.c).
"""
import os
import subprocess
import sys
import tempfile

generators, program = sys.argv[1:3]
count = int(sys.argv[3]) if len(sys.argv) > 3 else 12
first = int(os.environ.get("HEDDLE_SEED", "1"), 0)
print(f"# HEDDLE_SEED={first}")
with tempfile.TemporaryDirectory() as folder:
    made = []
    for seed in range(first, first + count):
        for generator in ("gen_ptx", "gen_compiled"):
            made.append(os.path.join(folder, f"{generator}_{seed}.ptx"))
            with open(made[-1], "w") as out:
                subprocess.run([sys.executable, os.path.join(generators, generator + ".py"), str(seed)],
                               stdout=out, check=True)
    sys.stdout.flush()
    sys.exit(subprocess.run([program] + made).returncode)
