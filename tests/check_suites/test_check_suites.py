#!/usr/bin/env python3
"""scripts/check-suites: the rules about names, how a run is judged, and the table, with a checker made up here."""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
SCRIPT = os.path.join(ROOT, "scripts/check-suites")
sys.path.insert(0, os.path.join(ROOT, "scripts/check_suites_lib"))
import run  # noqa: E402
import truth  # noqa: E402

CLEAN = "clean"
PASS, FAIL = "//pass\n//--blockDim=64\n", "//xfail:NOT_ALL_VERIFIED\n//--blockDim=64\n"
LIT = "// CHECK-DAG: data race\n// CHECK-SYNC-NOT: data race\n"
# suite, name, facts, source: kinds of bugs, or `clean`, or nothing known
TRUTHS = [
    ("nvidia-samples", "Synccheck/divergent_threads", {}, "", ["sync"]),
    ("nvidia-samples", "Suppressions/suppressions_demo", {}, "", ["api"]),
    ("scor-micro", "race_interblock_blkatom", {}, "", ["race-global"]),
    ("scor-micro", "norace_interblock_atom", {}, "", CLEAN),
    ("scor-apps", "uts-racey", {}, "", ["race-global"]),
    ("indigo3", "BFS_CUDA_V_Topo_Push_Thread_NonPersist_ExcessThreadsBug_NoFieldBug", {}, "", ["bounds"]),
    ("indigo3", "BFS_CUDA_V_Topo_Push_Block_NonPersist_ExcessThreadsBug_NoFieldBug", {}, "", ["latent"]),
    ("indigo3", "SSSP_CUDA_V_Data_Push_Thread_Persist_BoundsBug_RaceBug", {}, "", ["race-global", "stale"]),
    ("indigo3", "CC_CUDA_E_Data_Persist_UninitializedBug", {"void": ["UninitializedBug"]}, "", CLEAN),
    ("indigo3", "TC_CUDA_V_Block_Persist_Reduction_SyncBug", {}, "", ["race-shared"]),
    ("indigo3", "PR_CUDA_Pull_Warp_Persist_GlobalAdd_SyncBug", {}, "", ["latent"]),
    ("indigo3", "CC_CUDA_E_Topo_NoRaceBug_NoFieldBug", {}, "", CLEAN),
    ("indigo", "pull_node_neighbors_block_boundsBug_syncBug", {}, "", ["bounds", "race-shared"]),
    ("indigo", "push_node_neighbor_last", {}, "", CLEAN),
    ("gpuverify", "pointertests/test1", {}, PASS, CLEAN),
    ("gpuverify", "pointertests/cast", {}, FAIL, ["race-shared"]),
    ("gpuverify", "misc/fail/miscfail8", {}, FAIL, ["logic"]),
    ("gpuverify", "warpsync/scan_warp", {}, PASS, []),
    ("cusan", "runtime/02_event", {"prefix": "CHECK"}, LIT, ["race-host"]),
    ("cusan", "runtime/02_event+CUSAN_SYNC", {"prefix": "CHECK-SYNC"}, LIT, CLEAN),
    ("cusan-tests", "cuda-only/_cudaMalloc_user_malloc__nok", {"prefix": "CHECK"}, "", ["race-host"]),
    ("cusan-tests", "cuda-only/_cudafree_user_malloc_w_", {"prefix": "CHECK"}, "", CLEAN),
]
# tool, exit status (None: stopped), log: outcome
OUTCOMES = [
    ("memcheck", 42, "========= ERROR SUMMARY: 3 errors\n", "reported"),
    ("memcheck", 0, "========= ERROR SUMMARY: 1 error\n", "reported"),
    ("memcheck", 0, "========= ERROR SUMMARY: 0 errors\n", "quiet"),
    ("racecheck", 0, "========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)\n", "reported"),
    ("racecheck", 1, "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n", "quiet"),
    ("racecheck", 2, "", "failed"),
    ("racecheck", None, "", "timeout"),
    ("racecheck", None, "========= RACECHECK SUMMARY: 2 hazards displayed\n", "reported"),
    ("none", 0, "", "ran"),
    ("none", 1, "", "trouble"),
    ("none", None, "", "timeout"),
]
# Reports what the program's own text says under the tool's name.
CHECKER = """#!/usr/bin/env python3
import sys, time
words = sys.argv[1:]
given = dict(zip(words[1:-1:2], words[2::2]))
said = open(words[-1]).read()
tool = given["--tool"]
if "hang" in said:
    time.sleep(60)
if "broken" in said:
    sys.exit(3)
count = said.count(tool)
with open(given["--log-file"], "w") as log:
    name = "RACECHECK SUMMARY: %d hazards displayed" if tool == "racecheck" else "ERROR SUMMARY: %d errors"
    log.write("========= " + name % count + "\\n")
sys.exit(int(given["--error-exitcode"]) if count else 0)
"""
# suite, name, what the checker finds in it
PROGRAMS = [
    ("scor-micro", "race_found", "racecheck"),
    ("scor-micro", "race_missed", ""),
    ("scor-micro", "race_hanging", "hang"),
    ("scor-micro", "norace_false", "racecheck racecheck"),
    ("scor-micro", "norace_quiet", ""),
    ("scor-micro", "norace_broken", "broken"),
    ("indigo3", "BFS_CUDA_V_Data_Thread_Persist_BoundsBug", "initcheck"),
    ("cusan", "runtime/race", "racecheck"),
]
number = 0


def ok(good, what):
    global number
    number += 1
    print(f"{'ok' if good else 'not ok'} {number} - {what}")


def check_rules():
    for suite, name, facts, source, wanted in TRUTHS:
        found = truth.of(suite, name, facts, source)
        good = bool(found.clean) and not found.bugs if wanted == CLEAN else list(found.bugs) == wanted and not found.clean
        ok(good, f"{suite}/{name}: {found.describe()}")
    rare = truth.of("indigo3", "PR_CUDA_Pull_Block_Persist_NoRaceBug_Reduction", {}, "")
    ok(rare.clean == {"memcheck", "initcheck"}, "PageRank's reduction is not called free of races")


def check_outcomes():
    for tool, status, log, wanted in OUTCOMES:
        ok(run.outcome(tool, status, "", log) == wanted, f"{tool}, status {status}, {log.strip() or 'no log'}: {wanted}")
    ok(run.outcome("none", 0, "result differs from serial code\n", "") == "trouble", "a wrong result is trouble")


def script(folder, *words):
    return subprocess.run([SCRIPT, words[0], "--dir", folder, *words[1:]], capture_output=True, text=True, check=False)


def make_folder(folder):
    rows = []
    for suite, name, says in PROGRAMS:
        path = os.path.join(folder, name.replace("/", "."))
        with open(path, "w", encoding="utf-8") as file:
            file.write(says)
        rows.append({"suite": suite, "name": name, "source": "lit.c", "facts": {"prefix": "CHECK"}, "exe": {"nvcc": os.path.basename(path)}})
    rows.append({"suite": "scor-micro", "name": "race_not_built", "exe": {}})
    with open(os.path.join(folder, "lit.c"), "w", encoding="utf-8") as file:
        file.write(LIT)
    with open(os.path.join(folder, "programs.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file)
    checker = os.path.join(folder, "checker")
    with open(checker, "w", encoding="utf-8") as file:
        file.write(CHECKER)
    os.chmod(checker, 0o755)
    return checker


def check_table(folder, checker):
    tools = "racecheck,initcheck,memcheck"
    made = script(folder, "run", "--tool", tools, "--heddle", checker, "--timeout", "1", "--jobs", "2")
    ok(made.returncode == 1 and "racecheck: 8 programs" in made.stdout, "a run with a broken checker says so by its status")
    out = os.path.join(folder, "table.json")
    shown = script(folder, "table", "--json", out, "--md", os.path.join(folder, "table.md"))
    with open(out, encoding="utf-8") as file:
        data = json.load(file)
    rows = {(row["suite"], row["tool"]): row for row in data["rows"]}
    row = rows["scor-micro", "racecheck"]
    ok((row["bugs"], row["free"]) == (3, 3), "programs with a bug, and free of bugs")
    ok(row["found"] == ["race_found"] and row["missed"] == ["race_missed", "race_hanging"], "found and missed")
    ok(row["false"] == ["norace_false"] and row["timeouts"] == ["race_hanging"], "a false report; a timeout")
    ok(row["failed"] == ["norace_broken"] and shown.returncode == 1, "a checker that fails is no quiet program")
    kinds = {(kind["suite"], kind["kind of bug"]): kind for kind in data["kinds"]}
    ok(kinds["indigo3", "stale"]["found"] == 1, "a report of one of several tools will do")
    ok(rows["cusan", "racecheck"]["found"] == ["runtime/race"], "a race with the host is racecheck's")
    ok("norace_false" in shown.stdout and os.path.getsize(os.path.join(folder, "table.md")) > 100, "text and Markdown")
    script(folder, "table", "--json", out, "--claim", "racecheck=-race-host")
    with open(out, encoding="utf-8") as file:
        rows = {(row["suite"], row["tool"]): row for row in json.load(file)["rows"]}
    ok(rows["cusan", "racecheck"]["not_judged"] == ["runtime/race"], "--claim takes a kind from a tool; what none claims is not judged")


def check_refusals(folder, checker):
    for words in (["run", "--tool", "nonsense"], ["run", "--tool", "memcheck", "--heddle", "/none"], ["list", "--suite", "nonsense"],
                  ["list", "--match", "("], ["table", "--claim", "memcheck=nonsense"], ["list", "--match", "^none$"],
                  ["run", "--tool", "memcheck", "--heddle", checker, "--jobs", "0"]):
        made = script(folder, *words)
        ok(made.returncode == 2 and made.stderr.startswith("check-suites: "), f"refused: {' '.join(words[:4])}")
    made = script(os.path.join(folder, "none"), "list")
    ok(made.returncode == 2 and "docs/check-suites.md" in made.stderr, "no programs.json: says where to read on")


def main():
    check_rules()
    check_outcomes()
    with tempfile.TemporaryDirectory() as folder:
        checker = make_folder(folder)
        check_table(folder, checker)
        check_refusals(folder, checker)
        listed = script(folder, "list", "--counts")
        ok(listed.returncode == 0 and "race-global" in listed.stdout, "list --counts")
    print(f"1..{number}")


main()
