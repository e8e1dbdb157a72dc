#!/usr/bin/env python3
"""Extensions of PyTorch, built from source with Heddle's compiler or from PyPI, and their own tests.

    tests/clients/extensions.py --python PYTHON --source FOLDER torch_scatter    builds it there, and runs its tests
    tests/clients/extensions.py --python PYTHON --source FOLDER --no-build ...   runs its tests
    tests/clients/extensions.py --list

FOLDER is a checkout of the project with its submodules, in the version of extensions.json or another; without --source
it is cloned. PYTHON has a PyTorch of the version that the table names, and what the tests import, which --list tells.
--every N runs every N-th test of each file. What came out is kept in extensions.json beside this file: the lines of
docs/clients.md (scripts/clients --report). Exit status: 0 when no test failed for a reason of Heddle's.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "suites"))
import runner  # noqa: E402  (beside the suites)
from extension_table import EXTENSIONS, UNBUILT  # noqa: E402

RESULTS = os.path.join(HERE, "extensions.json")
OURS = "Heddle's"


def read_results():
    if not os.path.exists(RESULTS):
        return {}
    with open(RESULTS, encoding="utf-8") as file:
        return json.load(file)


# ---- building and testing


def one_architecture(folder, nvcc):
    """A compiler that makes code for one architecture, for projects that list all in their setup.py."""
    path = os.path.join(folder, "nvcc")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""#!/bin/bash
args=()
while [ $# -gt 0 ]; do
    case $1 in
    -gencode | --generate-code | --threads) shift ;;
    -gencode=* | --generate-code=* | -arch=*) ;;
    *) args+=("$1") ;;
    esac
    shift
done
exec {nvcc} -arch=sm_120 "${{args[@]}}"
""")
    os.chmod(path, 0o755)
    return path


def environment(extension, tools, python, folder):
    env = dict(os.environ, CUDA_HOME=os.path.join(tools, "cuda"), TORCH_CUDA_ARCH_LIST="12.0")
    env.update((name, value.format(here=HERE)) for name, value in extension.get("env", {}).items())
    env["PATH"] = os.path.dirname(os.path.abspath(python)) + os.pathsep + env["PATH"]  # ninja and cmake of pip
    env["PYTORCH_NVCC"] = one_architecture(folder, os.path.join(tools, "heddle-nvcc"))
    env.setdefault("MAX_JOBS", "1")
    env.setdefault("OMP_NUM_THREADS", "1")
    env.setdefault("HEDDLE_WATCHDOG", "120")
    return env


def build(extension, heddle, python, source, env):
    command = extension.get("build", "{python} -m pip install --no-build-isolation --no-deps -v {folder}")
    command = command.format(python=python, folder=os.path.join(source, extension.get("folder", ".")), tools=os.path.dirname(heddle))
    print(f"{heddle} run {command}", flush=True)
    return subprocess.run([heddle, "run", "bash", "-c", command], cwd=source, env=env, stdin=subprocess.DEVNULL).returncode


def clone(extension, folder):
    subprocess.run(["git", "clone", "--quiet", "--recursive", f"https://github.com/{extension['project']}", folder], check=True)
    subprocess.run(["git", "-C", folder, "checkout", "--quiet", "--recurse-submodules", extension["version"]], check=True)


def run_script(heddle, python, script, cwd, env):
    """A test that is a program of its own: right when it ends with status 0."""
    command = [heddle, "run", python, *(a.format(here=HERE) for a in script["arguments"])]
    done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    tail = (done.stdout + done.stderr)[-3000:]
    return {"test": script["name"], "outcome": "passed" if done.returncode == 0 else "failed", "message": tail if done.returncode else "", "seconds": 0.0}


def note(records, log):
    """Adds to the file of outcomes, if there is to be one."""
    if log:
        with open(log, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(r) + "\n" for r in records)


def run_tests(extension, heddle, python, source, env, log):
    cwd = os.path.join(source, extension.get("tests_in", "."))
    records = [run_script(heddle, python, script, cwd, env) for script in extension.get("scripts", [])]
    note(records, log)
    for file, *selection in extension.get("tests", []):
        command = runner.pytest_command(heddle, python, 600, selection)
        found = runner.run_file(command, file, cwd, env, silent_s=900)
        print(f"  {file}: {dict(collections.Counter(r['outcome'] for r in found))}", flush=True)
        records += found
        note(found, log)
    return records


def cause_of(extension, record):
    text = f"{record['test']}\n{record['message']}"
    return next((cause for cause, pattern in extension.get("causes", []) if re.search(pattern, text)), OURS)


def summarise(extension, records, every):
    failed = [r for r in records if r["outcome"] == "failed"]
    outcomes = collections.Counter(r["outcome"] for r in records)
    causes = collections.Counter(cause_of(extension, r) for r in failed)
    return {"outcomes": dict(outcomes), "causes": dict(causes), "every": every, "ours": sorted(r["test"] for r in failed if cause_of(extension, r) == OURS)}


def check(extension, options):
    heddle = os.path.abspath(os.path.join(options.build, "tools/heddle/heddle"))
    with tempfile.TemporaryDirectory() as folder:
        env = dict(environment(extension, os.path.dirname(heddle), options.python, folder), CLIENT_SUITE_EVERY=str(options.every))
        source = options.source and os.path.abspath(options.source)
        if not source:
            source = os.path.join(folder, "source")
            clone(extension, source)
        if not options.no_build:
            status = build(extension, heddle, os.path.abspath(options.python), source, env)
            if status != 0:
                sys.exit(f"{extension['name']} does not build: status {status}")
        records = run_tests(extension, heddle, os.path.abspath(options.python), source, env, options.log)
    summary = summarise(extension, records, options.every)
    results = dict(read_results(), **{extension["name"]: summary})
    with open(RESULTS, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1, sort_keys=True)
        file.write("\n")
    print(json.dumps(summary, indent=1))
    return len(summary["ours"])


# ---- docs/clients.md


def row(extension, result):
    outcomes = result["outcomes"]
    passed, failed = outcomes.get("passed", 0) + outcomes.get("xfailed", 0), outcomes.get("failed", 0)
    causes = [f"{n} {cause}" for cause, n in sorted(result["causes"].items(), key=lambda c: -c[1])]
    remark = extension.get("remark")
    selection = extension.get("selection", "all") + (f", one of {result['every']}" if result["every"] > 1 else "")
    return (f"| [{extension['name']}](https://github.com/{extension['project']}) | {extension['version']} | {extension['torch']} | {extension['built']} | {selection} | "
            f"{passed} | {failed} | {outcomes.get('skipped', 0)} | {'; '.join(causes + ([remark] if remark else []))} |")


def report():
    """The lines of docs/clients.md about extensions."""
    results = read_results()
    known = [e for e in EXTENSIONS if e["name"] in results]
    out = ["## Extensions of PyTorch", "",
           "Unedited sources, compiled for one architecture by `heddle-nvcc`, and their own tests, by `tests/clients/extensions.py`, one command for each. "
           "A wheel of PyPI's runs as it is where its fat binaries hold PTX, as `heddle objdump` tells. "
           "`CUDA_HOME` is the folder `cuda` beside the tools, which `heddle run` names. PyTorch 2.15 refuses `-std=c++17`, with any compiler: projects that ask for it take 2.12.", "",
           "| project | version | PyTorch | built | tests | right | failed | skipped | causes of failures; remarks |", "|---|---|---|---|---|---|---|---|---|"]
    out += [row(e, results[e["name"]]) for e in known] + [""]
    for extension in known:
        ours = results[extension["name"]]["ours"]
        if ours:
            out += [f"{extension['name']}, Heddle's: {', '.join('`' + name + '`' for name in ours[:40])}{' ...' if len(ours) > 40 else ''}.", ""]
    out += ["What a user types, each time in a shell whose Python has PyTorch, setuptools, wheel and ninja:", "", "```"]
    for extension in known:
        out += [f"# {extension['name']}", *extension["typed"]]
    out += ["```", "", "Others that were tried:", "", "| project | version | PyTorch | what was tried | what is missing |", "|---|---|---|---|---|"]
    return out + [f"| {' | '.join(line)} |" for line in UNBUILT] + [""]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0], formatter_class=argparse.RawDescriptionHelpFormatter, epilog=__doc__.split("\n", 1)[1])
    parser.add_argument("name", nargs="?")
    parser.add_argument("--python", default=sys.executable, help="a Python with PyTorch (the one that runs this)")
    parser.add_argument("--source", help="a checkout; default: cloned")
    parser.add_argument("--build", default=os.path.join(HERE, "../../build"), help="Heddle's build folder (build)")
    parser.add_argument("--no-build", action="store_true", help="it is installed already")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every N-th test of each file")
    parser.add_argument("--log", help="a file to which the outcome of each test is added, a line of JSON")
    parser.add_argument("--list", action="store_true", help="names, versions and what their tests import")
    options = parser.parse_args()
    if options.list:
        for extension in EXTENSIONS:
            print(f"{extension['name']:28} {extension['version']:10} PyTorch {extension['torch']}; pytest pytest-timeout {' '.join(extension.get('requires', []))}")
        return 0
    extension = next((e for e in EXTENSIONS if e["name"] == options.name), None)
    if not extension:
        parser.error(f"which extension? {' '.join(e['name'] for e in EXTENSIONS)}")
    return check(extension, options) != 0


if __name__ == "__main__":
    sys.exit(main())
