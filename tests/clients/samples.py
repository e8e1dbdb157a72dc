#!/usr/bin/env python3
"""NVIDIA's samples of its libraries (CUDALibrarySamples), built by `heddle cc` and run.

    tests/clients/samples.py                          all of the selection below: fetches, builds, runs
    tests/clients/samples.py cuSPARSE cuBLAS/Level-1  folders of it
    tests/clients/samples.py --source FOLDER ...      of a checkout that is there

A program is right when it says that its own test passed, or prints what its README prints from a GPU: the same words, and numbers that
differ by less than a hundredth, or by as much of the largest number of a line. It is "run" when it ends with status 0 and its README has
no output, or other numbers. What came out is kept in samples.json beside this file: the lines of docs/clients.md (scripts/clients --report).
Exit status: 0 when no program failed.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RESULTS = os.path.join(HERE, "samples.json")
ORIGIN, COMMIT = "https://github.com/NVIDIA/CUDALibrarySamples", "34377293fb148e90aad16fd762fa2445f941be55"
LIMIT_S = 300
# Folders, what they are linked with.
SELECTION = {"cuBLAS/Level-1": "cublas", "cuBLAS/Level-2": "cublas", "cuBLAS/Level-3": "cublas", "cuBLAS/Extensions": "cublas",
             "cuFFT": "cufft", "cuRAND/Host": "curand", "cuSOLVER": "cusolver cublas cusparse", "cuSPARSE": "cusparse cublas cuda m"}
# Of these no device of Heddle's is one: several devices, code that is linked into a library, a toolkit of before.
LEFT_OUT = {"mgpu": "several devices", "Mg": "several devices", "lto_callback": "device code that is linked into the library",
            "cuda-10.2": "for CUDA 10.2"}
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


def read_results():
    if not os.path.exists(RESULTS):
        return {}
    with open(RESULTS, encoding="utf-8") as file:
        return json.load(file)


def programs(source):
    """(library, the file's path below `source`) for each program of the selection."""
    for folder in SELECTION:
        for path, folders, names in os.walk(os.path.join(source, folder)):
            folders.sort()
            for name in sorted(names):
                file = os.path.relpath(os.path.join(path, name), source)
                if name.endswith((".cu", ".c", ".cpp")) and not any(word in file for word in LEFT_OUT):
                    yield folder, file


def wanted_of(path):
    """The output that the README prints, of a program of this name if it has several; None: none."""
    readme = os.path.join(os.path.dirname(path), "README.md")
    if not os.path.exists(readme):
        return None
    with open(readme, encoding="utf-8") as file:
        text = file.read()
    if "utput" not in text:
        return None
    name = os.path.splitext(os.path.basename(path))[0]
    called = text.find("./" + name)  # of several programs: what comes behind the block with this one's call
    behind = text[text.index("```", called) + 3:] if called >= 0 and "```" in text[called:] else text
    blocks = [block for block in re.findall(r"```[^\n]*\n(.*?)```", behind, re.S) if "$" not in block]
    return blocks[0] if blocks else None


def agrees(got, want):
    """The same words, and numbers alike. Times, which differ, are no numbers."""
    def lines(text):
        return [line for line in (re.sub(r"\s+", " ", line).strip() for line in text.split("\n")) if line]
    got, want = lines(got), lines(want)
    if len(got) != len(want):
        return False
    for a, b in zip(got, want):
        if NUMBER.sub("#", a) != NUMBER.sub("#", b):
            return False
        x, y = ([float(n) for n in NUMBER.findall(line)] for line in (a, b))
        bound = 0.01 * max([1.0] + [abs(n) for n in y])
        if any(abs(p - q) > bound for p, q in zip(x, y)):
            return False
    return True


def judge(path, status, output):
    if status:
        return "failed: " + (output.strip().split("\n")[-1][:120] or f"status {status}")
    if re.search(r"\bFAILED\b|\bfailed\b|\bWRONG\b", output):
        return "failed: its own test"
    if re.search(r"\bPASSED\b", output):
        return "right"
    want = wanted_of(path)
    if want is None:
        return "run"
    return "right" if agrees(output, want) else "run"


def check(heddle, source, library, file):
    with tempfile.TemporaryDirectory() as folder:
        return check_in(folder, heddle, source, library, file)


def check_in(folder, heddle, source, library, file):
    path, program = os.path.join(source, file), os.path.join(folder, "program")
    includes = [f"-I{os.path.join(source, os.path.dirname(library) or library, 'utils')}", f"-I{os.path.join(source, library, 'utils')}",
                f"-I{os.path.join(source, os.path.dirname(file))}"]
    links = ["-l" + name for name in SELECTION[library].split()]
    if library == "cuFFT":  # kernels in C++ files, which the project's build files say
        path = shutil.copy(path, os.path.join(folder, "program.cu"))
    try:
        made = subprocess.run([heddle, "cc", path, *includes, *links, "-o", program], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False)
        if made.returncode:
            said = [line for line in made.stdout.split("\n") if "error" in line]
            return "not built: " + (said or made.stdout.strip().split("\n"))[0].split("error: ")[-1][:120]
        ran = subprocess.run([program], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=folder,
                             timeout=LIMIT_S, errors="replace", check=False)
    except subprocess.TimeoutExpired:
        return "failed: it took too long"
    return judge(os.path.join(source, file), ran.returncode, "\n".join(line for line in ran.stdout.split("\n") if not line.startswith("heddle: ")))


def report():
    """Lines of docs/clients.md."""
    results = read_results()
    if not results:
        return []
    out = ['<a id="samples"></a>', "", "## NVIDIA's samples of its libraries", "",
           f"`tests/clients/samples.py` fetches [CUDALibrarySamples]({ORIGIN}), builds each program of these folders with `heddle cc` and runs it. Right: its own test "
           "passes, or it prints what its README prints from a GPU. Run: it ends well, and its README has no output, or other numbers.", "",
           "| folder | programs | right | run | failed |", "|---|---|---|---|---|"]
    total = [0, 0, 0, 0]
    for folder in [f for f in SELECTION if f in results]:
        kinds = [(lambda v: 0 if v == "right" else 1 if v == "run" else 2)(v) for v in results[folder].values()]
        counts = [len(kinds), *(kinds.count(k) for k in range(3))]
        total = [a + b for a, b in zip(total, counts)]
        out.append(f"| {folder} | {' | '.join(map(str, counts))} |")
    out += [f"| all | {' | '.join(map(str, total))} |", ""]
    failed = [f"- {file}: {what}" for folder in SELECTION for file, what in sorted(results.get(folder, {}).items()) if what not in ("right", "run")]
    rest = [folder for folder in SELECTION if folder not in results]
    more = [f"Not counted yet: {', '.join(rest)}.", ""] if rest else []
    return out + failed + ([""] if failed else []) + more


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0], formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=__doc__.split("\n", 1)[1])
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="build folder (build)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="programs at once (as many as there are processors)")
    parser.add_argument("--source", help="a checkout of CUDALibrarySamples; else it is fetched into build/clients")
    options = parser.parse_args()
    source = options.source or os.path.join(options.build, "clients", "CUDALibrarySamples")
    if not os.path.exists(source):
        subprocess.run(["git", "clone", "--quiet", "--filter=blob:none", ORIGIN, source], check=True)
        subprocess.run(["git", "-C", source, "checkout", "--quiet", COMMIT], check=True)
    heddle, results, failed = os.path.join(options.build, "tools/heddle/heddle"), read_results(), 0
    wanted = [(library, file) for library, file in programs(source)
              if not options.folders or any(file.startswith(folder) for folder in options.folders)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        outcomes = pool.map(lambda pair: check(heddle, source, *pair), wanted)
        for (library, file), what in zip(wanted, outcomes):
            print(f"{what}: {file}", flush=True)
            failed += what not in ("right", "run")
            results.setdefault(library, {})[file] = what
            with open(RESULTS, "w", encoding="utf-8") as out:
                json.dump(results, out, indent=1, sort_keys=True)
                out.write("\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
