"""What the tests of CUDA programs under the checker share: TEST HEDDLE (cc|nvcc)."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tools"))
from support import Tap, find_nvcc  # noqa: E402

HEDDLE, COMPILER = os.path.abspath(sys.argv[1]), sys.argv[2]
tap = Tap()
ok = tap.ok


def build(folder, name, arch, *more):
    """The program of NAME.cu, or None."""
    out = os.path.join(folder, name)
    compiler = [find_nvcc(), "-cudart", "shared"] if COMPILER == "nvcc" else [HEDDLE, "cc"]
    done = subprocess.run([*compiler, "-gencode", f"arch=compute_{arch},code=compute_{arch}", "-O2", "-lineinfo", os.path.join(HERE, name + ".cu"), "-o", out, *more],
                          capture_output=True, text=True, check=False)
    ok(done.returncode == 0, f"{COMPILER} builds {name}.cu", done.stdout + done.stderr)
    return out if done.returncode == 0 else None


def environment(device, **more):
    return dict(os.environ, HEDDLE_CACHE="off", HEDDLE_MEMORY="256M", HEDDLE_DEVICE=device, **more)


def main(check_all):
    """Runs check_all(folder), if the compiler is there."""
    if COMPILER == "nvcc" and not find_nvcc():
        tap.skip("no nvcc")
    else:
        with tempfile.TemporaryDirectory() as folder:
            check_all(folder)
    tap.done()
