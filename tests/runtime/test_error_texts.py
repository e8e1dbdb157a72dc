#!/usr/bin/env python3
"""Names and texts of errors are those of the vendor's runtime 13.0, where one is installed.

    test_error_texts.py LIBCUDART LIBCUDA
"""
import ctypes
import glob
import os
import subprocess
import sys

CODES = [*range(-1, 1100), 9999, 10000]
ASK = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for function in ("cudaGetErrorName", "cudaGetErrorString"):
    getattr(library, function).restype = ctypes.c_char_p
for code in map(int, sys.argv[2:]):
    print(code, library.cudaGetErrorName(code).decode(), library.cudaGetErrorString(code).decode(), sep="\\t")
"""


def vendors():
    """The vendor's libraries of CUDA 13; ours answer heddle_ symbols' library beside them."""
    roots = [os.environ.get("CUDA_HOME"), "/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-13*"))]
    for root in filter(None, roots):
        for path in glob.glob(os.path.join(root, "lib*", "libcudart.so.13")):
            with open(path, "rb") as file:
                if b"heddle" not in file.read():
                    yield os.path.realpath(path)


def texts(library):
    """In a process of its own: two runtimes have the same name."""
    out = subprocess.run([sys.executable, "-c", ASK, library, *map(str, CODES)], capture_output=True, text=True, check=True)
    return dict(line.split("\t", 1) for line in out.stdout.splitlines())


def main():
    own, driver = map(os.path.abspath, sys.argv[1:])
    vendor = next(vendors(), None)
    if not vendor:
        print("1..0 # SKIP no runtime of the vendor's")
        return 0
    want, got = texts(vendor), texts(own)
    wrong = [f"# {code}: got {got.get(code)}, want {want[code]}" for code in want if got.get(code) != want[code]]
    print(f"{'not ok' if wrong else 'ok'} 1 - {len(want)} names and texts of the runtime", *wrong, sep="\n")
    library = ctypes.CDLL(driver)
    differs = []
    for code, text in want.items():
        said = ctypes.c_char_p()
        if text.startswith("unrecognized"):
            continue
        if library.cuGetErrorString(int(code), ctypes.byref(said)) == 0 and said.value.decode() != text.split("\t")[1]:
            differs.append(f"# {code}: got {said.value.decode()}, want {text}")
    print(f"{'not ok' if differs else 'ok'} 2 - what the driver has of them has the same text", *differs, sep="\n")
    print("1..2")
    return 1 if wrong or differs else 0


if __name__ == "__main__":
    sys.exit(main())
