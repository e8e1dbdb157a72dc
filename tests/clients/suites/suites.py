"""Running the clients' own test suites and telling what came out (scripts/clients --suites).

Records of tests are kept in ENVS/suites/NAME.jsonl, one line each, the last of a test counts: a run that was stopped
goes on with the files that it has nothing of. The summary is in summary.json beside this file.
"""
import collections
import fnmatch
import json
import os
import re
import subprocess
import sys

import runner
import table

HERE = os.path.dirname(os.path.abspath(__file__))
SUMMARY = os.path.join(HERE, "summary.json")
LIMIT_S = 600  # of a test
OURS = "Heddle's"


def call(command, **options):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **options)


def environment(suite, envs, checkout):
    folder = os.path.join(envs, "suite-" + suite["name"])
    python = os.path.join(folder, "bin/python")
    if not os.path.exists(python):
        call([sys.executable, "-m", "venv", folder])
        call([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pytest", "pytest-timeout", *suite["packages"],
              *([os.path.join(checkout, suite["also"])] if "also" in suite else [])])
    return python


def source(suite, envs):
    """A checkout of the suite's tag, made once."""
    repository, tag = suite["source"]
    folder = os.path.join(envs, "sources", repository.replace("/", "+") + "@" + tag)
    if not os.path.exists(folder):
        call(["git", "clone", "--quiet", "--depth", "1", "--branch", tag, f"https://github.com/{repository}", folder])
    return os.path.join(folder, suite["folder"])


def modules_of(python, package):
    """The test modules of an installed package."""
    code = (f"import pkgutil, {package} as p\n"
            "for m in pkgutil.walk_packages(p.__path__, p.__name__ + '.'):\n"
            "    if m.name.rpartition('.')[2].startswith('test_'): print(m.name)")
    out = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
    return out.split()


def files_of(suite, python, folder):
    if "modules" in suite:
        return modules_of(python, suite["modules"])
    if isinstance(suite["files"], list):
        return suite["files"]
    top, pattern = suite["files"].split("/**/")
    found = []
    for where, _, names in os.walk(os.path.join(folder, top)):
        found += [os.path.relpath(os.path.join(where, name), folder) for name in names if fnmatch.fnmatch(name, pattern)]
    return sorted(found)


def lines_path(name, envs):
    return os.path.join(envs, "suites", name + ".jsonl")


def read_records(path):
    """By file and test; the last one of each."""
    records = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                records[record["file"], record["test"]] = record
    return list(records.values())


def cause_of(suite, record):
    text = f"{record['file']} {record['test']}\n{record['message']}"
    return next((cause for cause, pattern in suite["causes"] if re.search(pattern, text, re.I)), OURS)


def summarise(suite, records):
    failed = [r for r in records if r["outcome"] == "failed"]
    causes = collections.Counter(cause_of(suite, r) for r in failed)
    outcomes = collections.Counter(r["outcome"] for r in records)
    return {"packages": suite["packages"][0], "files": len({r["file"] for r in records}), "outcomes": dict(outcomes), "causes": dict(causes),
            "ours": sorted(f"{r['file']} {r['test'].split('::', 1)[-1]}" for r in failed if cause_of(suite, r) == OURS)}


def run_suite(suite, heddle, envs, every):
    path = lines_path(suite["name"], envs)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    folder = source(suite, envs)
    python = environment(suite, envs, folder)
    have = {r["file"] for r in read_records(path)}
    env = dict(os.environ, HEDDLE_WATCHDOG=os.environ.get("HEDDLE_WATCHDOG", "120"), CLIENT_SUITE_EVERY=str(every),
               **{name: value.format(tools=os.path.dirname(heddle)) for name, value in suite["env"].items()})
    for file in files_of(suite, python, folder):
        if file in have:
            continue
        records = runner.run_file(runner.pytest_command(heddle, python, LIMIT_S), file, folder, env)
        with open(path, "a", encoding="utf-8") as out:
            out.writelines(json.dumps(dict(r, file=file)) + "\n" for r in records)
        print(f"  {file}: {dict(collections.Counter(r['outcome'] for r in records))}", file=sys.stderr, flush=True)


def run(names, heddle, envs, every=1):
    unknown = set(names) - {s["name"] for s in table.SUITES}
    if unknown:
        sys.exit(f"no such suites: {', '.join(sorted(unknown))}")
    for suite in table.SUITES:
        if names and suite["name"] not in names:
            continue
        run_suite(suite, os.path.abspath(heddle), envs, every)
        keep(suite, envs, every == 1)


def keep(suite, envs, whole):
    """Writes what is known of a suite into the summary; whole: all of its files ran."""
    summary = read_summary()
    summary[suite["name"]] = dict(summarise(suite, read_records(lines_path(suite["name"], envs))), whole=whole)
    with open(SUMMARY, "w", encoding="utf-8") as file:
        json.dump(summary, file, indent=1, sort_keys=True)
        file.write("\n")


def read_summary():
    if not os.path.exists(SUMMARY):
        return {}
    with open(SUMMARY, encoding="utf-8") as file:
        return json.load(file)


def row(suite, s):
    outcomes = s["outcomes"]
    passed, failed = outcomes.get("passed", 0) + outcomes.get("xfailed", 0), outcomes.get("failed", 0)
    ours = s["causes"].get(OURS, 0)
    library = s["causes"].get(table.LIBRARY, 0)
    share = 100.0 * passed / max(passed + failed - library, 1)
    causes = "; ".join(f"{n} {cause}" for cause, n in sorted(s["causes"].items(), key=lambda c: -c[1]) if cause != OURS)
    return (f"| {suite['title']} | {s['packages']} | {s['files']}{'' if s['whole'] else ', not all'} | {passed + failed} | {passed} | {outcomes.get('skipped', 0)} | "
            f"{ours} | {causes} | {share:.1f} % |")


ABSENT = [
    "**Warp**: the wheel (warp-lang 1.19.0) embeds a stripped runtime whose calls have no names (decision 0104): `wp.array(..., device=\"cuda:0\")` cannot allocate. Built from source with Heddle's toolkit folder it "
    "runs (1.17.0.dev4, 68 s): `python build_lib.py --cuda-path $CUDA_PATH --no-use-libmathdx --no-standalone --quick` in a `heddle shell`, first result after 1.4 s. Of 938 of its tests (33 files) 915 passed: 11 failed for shared variables with a constructor, which clang refuses under NVRTC (`tile_sum()` of matrices), 8 for Warp's own CPU "
    "compiler, which was not built, 2 for streams that are destroyed in a capture, 1 for text printed before a trap (mended since), 1 for its own path.",
    "",
]


def report():
    """The lines of docs/clients.md about suites."""
    summary = read_summary()
    if not summary:
        return []
    out = ["## Their own test suites", "",
           "Run by `scripts/clients --suites` with pytest under `heddle run`, each file in a process of its own. Skipped tests ask for other machines; a file that cannot be collected counts as one test. The share is of the tests "
           "that need no library of NVIDIA's. Failures are sorted by `tests/clients/suites/table.py`; what is left there is Heddle's, or was not looked at. "
           "The runs of CuPy and JAX are older than Heddle's cuBLAS, cuDNN, cuFFT, cuRAND, cuSOLVER and cuSPARSE: what needed a library then is counted so.", "",
           "| suite | version | files | run | passed | skipped | failed: Heddle's | failed for another reason | share |", "|---|---|---|---|---|---|---|---|---|"]
    known = [s for s in table.SUITES if s["name"] in summary]
    out += [row(s, summary[s["name"]]) for s in known] + [""]
    for suite in known:
        ours = summary[suite["name"]]["ours"]
        if ours:
            out += [f"{suite['title']}, Heddle's: {', '.join('`' + name + '`' for name in ours[:60])}{' ...' if len(ours) > 60 else ''}.", ""]
    return out + ABSENT
