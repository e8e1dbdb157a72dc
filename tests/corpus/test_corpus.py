#!/usr/bin/env python3
"""scripts/corpus: its tables are sound, its judges judge, and a small corpus goes through every step."""
import collections
import json
import os
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, os.path.join(ROOT, "scripts/corpus_lib"))
import data  # noqa: E402
import judge  # noqa: E402
import reason  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402
import table  # noqa: E402

# judge, output, errors, exit status, seconds of processor time when it was stopped, outcome
RUNS = [
    ("pass", "PASS\n", "", 0, None, "right"),
    ("pass", "1 of 2 tests PASSED\n1 FAILED\n", "", 0, None, "wrong"),
    ("pass", "all PASSED, 0 mismatches\n", "", 0, None, "right"),
    ("pass", "done\n", "", 0, None, "no verdict"),
    ("pass", "done\n", "usage: a b", 2, None, "error"),
    ("exit", "done\n", "", 0, None, "right"),
    ("exit", "", "", -11, None, "crash"),
    ("pass", "FAIL\n", "heddle: cudaMallocAsync is not implemented", 1, None, "refused"),
    ("exit", "Waiving the sample\n", "", 2, None, "refused"),
    ("pass", "PASS\n", "heddle: internal: value without a slot", 0, None, "internal"),
    ("pass", "", "", -9, 59.0, "slow"),
    ("pass", "CUDA Error: operation not supported (801)", "", -9, 59.0, "refused"),
    ("pass", "", "", -9, 0.1, "hang"),
    ("/x = 4$/", "x = 4\n", "", 0, None, "right"),
    ("/x = 4$/", "x = 5\n", "", 0, None, "wrong"),
    ("interp", "sum 7\ntime 3 ms\n", "", 0, None, "right"),
    ("interp", "Heddle CPU device, 2 threads\n2 SMs enabled\nsum 7\n", "", 0, None, "right"),
    ("interp", "sum 8\ntime 3 ms\n", "", 0, None, "wrong"),
]
# log, errors, output: the reason of the refusal
CUBIN = "the image is machine code (cubin) for sm_120 without PTX"
REASONS = [
    (f"heddle[error]: NO_IMAGE: {CUBIN}\n", "error 0209 no kernel image is available\n", "", CUBIN),
    ("", "heddle: cudaMallocAsync is not implemented\n", "not supported\n", "cudaMallocAsync is not implemented"),
    ("heddle: cuGetExportTable is not there\n", "no kernel image\n", "", "no kernel image"),
    ("", "", "Device does not support Memory Pools\n", "Device does not support Memory Pools"),
]
LONG_NAME = ("_ZN3cub18CUB_300001_SM_12006detail10merge_sort30DeviceMergeSortBlockSortKernelINS2_10policy_hubIN6thrust24"
             "THRUST_300001_SM_1200_NS12zip_iteratorIN4cuda3std3__45tupleIJNS6_10device_ptrIjEESD_EEEEEEEEvv")
KERNELS = [("kernel", "kernel"), ("_Z6kernelPf", "kernel"), ("_ZN2ab6kernelEv", "kernel"), ("_Z6kernelILi128EEvPi", "kernel"),
           (LONG_NAME, "DeviceMergeSortBlockSortKernel"), ("_Z", "_Z"), ("_Z99short", "short")]
# what the log says, what is shown
PLAIN = [
    (f"heddle[error]: NOT_SUPPORTED: ptx:32306:1: in {LONG_NAME}: instruction `tex.1d.v4.u32.s32 {{%r1, %r2, %r3, %r4}}, "
     "[%rd31, {%r5}];`: the instruction is not supported",
     "instruction `tex.1d.v4.u32.s32 {%r1, %r2, %r3, %r4}, [%rd31, {%r5}];`: the instruction is not supported "
     "(in DeviceMergeSortBlockSortKernel, ptx:32306:1)"),
    ("heddle[error]: NOT_SUPPORTED: ptx:1:2: in k: instruction `wmma.load.c {%f2, %f3, %f4, %f5, %f6, %f7, %f8, %f9, %f10}, "
     "[%r5], %r109;`: the instruction is not supported",
     "instruction `wmma.load.c ...`: the instruction is not supported (in k, ptx:1:2)"),
    ("heddle: cudaMallocArray is not implemented", "cudaMallocArray is not implemented"),
]
REFERENCE = run.Result(0, "sum 7\ntime 99 ms\n", "", "", 1, 1)
BAD_TABLES = [
    ("a\tf\tcargo\t\tpass\t", "builder 'cargo' is none of: make"),
    ("a\tf\tmake static\t\tpass\t", "build option 'static' is not name=value"),
    ("a\tf\tmake env=A=1,B\t\tpass\t", "env: 'B' is not NAME=value"),
    ("a\tf\tmake\t\tguess\t", "judge 'guess' is none of: pass"),
]
# what a build calls nvcc with, what the compiler is called with
OURS = "-DX -arch=compute_80 -cudart=shared -O3"
STAND_IN = [
    ("-arch sm_35 -O2 -c a.cu", f"-c a.cu {OURS}"),
    ("-Xcompiler -O3 -arch=sm_35 -std=c++14 -c a.cu", f"-Xcompiler -O3 -std=c++14 -c a.cu {OURS}"),
]
PROGRAM = """
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#ifndef ADDED
#define ADDED 41
#endif
__global__ void add(int *x) { x[threadIdx.x] += ADDED; }
int main(int argc, char **argv) {
    int h[32] = {}, *d;
    int devices;
    cudaGetDeviceCount(&devices);
    cudaMalloc(&d, sizeof(h));
    cudaMemset(d, 0, sizeof(h));
    add<<<1, 32>>>(d);
    cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
    printf("%s\\n", h[31] == 41 && devices == (argc > 1 ? atoi(argv[1]) : 1) ? "PASS" : "FAIL");
}
"""
READER = """
#include <cstdio>
#include <help.h>
#include <less.h>
int main(int, char **argv) {
    char line[20] = {};
    FILE *file = fopen(argv[1], "r");
    if (value() - LESS != 2 || !file || !fgets(line, sizeof line, file))
        return 1;
    fputs(line, stdout);
}
"""
number = 0


def ok(passed, what, why=""):
    global number
    number += 1
    print(f"{'ok' if passed else 'not ok'} {number} - {what}" + ("" if passed else f"\n# {why}"), flush=True)


def judged(rule, out, err, status, late_cpu_s):
    program = table.Program("r/p", "r", "p", "make", judge=rule)
    late = late_cpu_s is not None
    return judge.judge_run(program, run.Result(status, out, err, "", 60, late_cpu_s or 1, late), REFERENCE)[0]


def message_of(line):
    try:
        table.program("t.tsv", 3, "r", line.split("\t"))
    except table.TableError as error:
        return str(error)
    return "no error"


def corpus(top, *args):
    command = [os.path.join(ROOT, "scripts/corpus"), "--dir", top, "--heddle", os.path.realpath(sys.argv[1]), *args]
    env = {k: v for k, v in os.environ.items() if k != "HEDDLE_CORPUS"}
    return subprocess.run(command, capture_output=True, text=True, env=dict(env, HEDDLE_CORPUS_TABLES=top + "/tables"))


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def passed_on(*args):
    """What the compiler is called with by a build that calls the stand-in for nvcc with args."""
    env = dict(os.environ, CORPUS_COMPILER="echo", CORPUS_ARCH="80", CORPUS_CUDART="shared", CORPUS_OPT="O3", CORPUS_FLAGS="-DX")
    return subprocess.run([os.path.join(ROOT, "scripts/corpus_lib/nvcc"), *args], capture_output=True, text=True, env=env).stdout.strip()


def test_data():
    """The generated input: the same every time, in the shapes that its readers expect."""
    made = data.files()
    ok(made == data.files(), "data: the same every time")
    rng = data.random.Random(1)
    graph = data.random_graph(rng, 50, 200)
    ok(all(graph.weights[b, a] == weight and a != b for (a, b), weight in graph.weights.items()), "data: an undirected graph")
    lines = data.dimacs(graph).decode().splitlines()
    ok(lines[0] == f"p s 50 {len(graph.weights)}" and len(lines) == 1 + len(graph.weights), "data: DIMACS", lines[0])
    ok({line.split()[1] for line in lines[1:]} == {str(node) for node in range(1, 51)}, "data: edges leave every node")
    neighbours = [list(map(int, line.split())) for line in data.metis(graph).decode().splitlines()[1:]]
    ok([(a, b - 1) for a, all_b in enumerate(neighbours) for b in all_b] == list(graph.weights), "data: METIS")
    directed = data.random_graph(rng, 7, 21, directed=True)
    packed = data.galois(directed)
    head = struct.unpack("<4Q7Q21I", packed[:172])
    ends, targets = head[4:11], head[11:]
    edges = [(node, target) for node in range(7) for target in targets[(ends[node - 1] if node else 0):ends[node]]]
    ok(head[:4] == (1, 4, 7, 21) and edges == list(directed.weights) and packed[172:176] == bytes(4) and
       struct.unpack("<21I", packed[176:]) == tuple(directed.weights.values()), "data: Galois' binary graphs")
    mesh = data.grid_mesh(rng, 12, 0)
    data.make_delaunay(mesh)
    corners = [[mesh.points[i] for i in triangle] for triangle in mesh.triangles]
    areas = [data.orientation(*three) / 2 for three in corners]
    ok(min(areas) > 0 and abs(sum(areas) - 121) < 1e-9, "data: the mesh covers its square once", str(sum(areas)))
    ok(not any(data.in_circle(*three, p) for three in corners for p in mesh.points), "data: the mesh is Delaunay's")
    sides = collections.Counter(frozenset((t[i], t[i - 1])) for t in mesh.triangles for i in range(3))
    ok({side for side, count in sides.items() if count == 1} == set(map(frozenset, mesh.segments)) and
       max(sides.values()) == 2, "data: the mesh's border")
    clauses = [list(map(int, line.split())) for line in data.formula(rng, 9, 30).decode().splitlines()[1:]]
    ok(len(clauses) == 30 and all(len({abs(v) for v in c[:3]}) == 3 and c[3:] == [0] and max(map(abs, c)) <= 9
                                  for c in clauses), "data: a formula")


def steps(top):
    """A repository of a program that is right where there are as many devices as it is told."""
    write(top + "/tables/repositories.tsv", "mine\thttps://example.org/mine.git\t0\n")
    write(top + "/tables/mine.tsv", "good\tprogs/one\tcuda-dir\t\npoor\tprogs/two\tcuda-dir\t2\tpass\n"
          "both\tprogs/two\tcuda-dir env=HEDDLE_DEVICES=2\t2\n"
          "other\tprogs/two\tcuda-dir flags=-DADDED=40\t\t/^FAIL$/\n"
          "none\tprogs/three\tcuda-dir\n"
          "unit\tprogs/unit.cu\tunit harness=own\t\texit\n"
          "shared\tprogs/four\tfiles harness=own files=main.cu flags=-I{tables}/own\t{data}/formula.cnf\t/^p cnf/\n")
    harness = "own\tmine:progs/help/help.cpp\t-I{mine}/progs/help -DWANTED=3\t-x cu\n"
    write(top + "/tables/harnesses.tsv", harness)
    write(top + "/mine/progs/help/help.h", "int value();\n")
    write(top + "/mine/progs/help/help.cpp", "#include <help.h>\n__global__ void kernel() {}\nint value() { return WANTED; }\n")
    write(top + "/mine/progs/unit.cu", "#include <help.h>\nint main() { return value() - WANTED; }\n")
    write(top + "/tables/own/less.h", "#define LESS 1\n")
    write(top + "/mine/progs/four/main.cu", READER)
    for name in ("one", "two"):
        write(f"{top}/mine/progs/{name}/main.cu", PROGRAM)
    choice = ("--compiler", "heddle-cc", "--arch", "80")
    ok("mine: ready" in corpus(top, "fetch", "--repo", "mine", "--local", top + "/mine").stdout, "fetch links a folder")
    built = corpus(top, "build", "--jobs", "2", *choice)
    ok("build: 6 built, 1 not built" in built.stdout, "build", built.stdout + built.stderr)
    ran = corpus(top, "run", *choice)
    ok(ran.returncode == 1 and "run: 5 right, 1 wrong" in ran.stdout, "run", ran.stdout + ran.stderr)
    sources = os.listdir(top + "/mine/progs/one")
    ok(sources == ["main.cu"], "the sources stay as they were", str(sources))
    copies = [name for name in os.listdir(top + "/build/80-shared-heddle-cc-O3/mine/progs") if name.startswith("two~")]
    ok(len(copies) == 2, "a copy for each build of a folder", str(copies))
    first = corpus(top, "report", "--json").stdout
    outcomes = {name: entry["outcome"] for name, entry in json.loads(first)["80-shared-heddle-cc-O3"].items()}
    ok(outcomes == {"mine/good": "right", "mine/both": "right", "mine/poor": "wrong", "mine/none": "not built",
                     "mine/unit": "right", "mine/other": "right", "mine/shared": "right"}, "report", str(outcomes))
    ok("| mine/poor | wrong |" in corpus(top, "report").stdout, "report in Markdown")
    write(top + "/old.json", first.replace('"wrong"', '"right"'))
    compared = corpus(top, "report", "--against", top + "/old.json")
    ok(compared.returncode == 1 and "worse: 80-shared-heddle-cc-O3 mine/poor: right -> wrong" in compared.stderr,
       "report --against", compared.stderr)
    write(top + "/tables/harnesses.tsv", harness.replace("WANTED=3", "WANTED=4"))
    corpus(top, "build", "--again", *choice, "mine/unit")
    ran = corpus(top, "run", "--again", *choice, "mine/unit")
    ok("run: 1 right" in ran.stdout, "a harness with other flags is built again", ran.stdout + ran.stderr)


def main():
    print(f"1..{len(RUNS) + len(REASONS) + len(KERNELS) + len(PLAIN) + len(BAD_TABLES) + len(STAND_IN) + 22}")
    for rule, out, err, status, late, expected in RUNS:
        found = judged(rule, out, err, status, late)
        ok(found == expected, f"{rule}: {out.strip()!r} is {expected}", found)
    for log, err, out, expected in REASONS:
        found = reason.refusal_of(run.Result(1, out, err, log, 1, 1))
        ok(found == expected, f"reason: {expected}", found)
    for symbol, expected in KERNELS:
        ok(reason.kernel_name(symbol) == expected, f"the kernel's name: {expected}", reason.kernel_name(symbol))
    for line, expected in PLAIN:
        ok(reason.plain(line) == expected, f"shown: {expected}", reason.plain(line))
    for line, expected in BAD_TABLES:
        found = message_of(line)
        ok(found.startswith("t.tsv:3: ") and expected in found, expected, found)
    names = [program.name for program in table.programs()]
    ok(len(names) > 400, "the tables are read", str(len(names)))
    ok(len(table.programs(["^hecbench/adam$"])) == 1, "programs are chosen by pattern")
    old = {"v": {"a": {"outcome": "right"}, "b": {"outcome": "wrong"}}}
    new = {"v": {"a": {"outcome": "slow"}, "b": {"outcome": "right"}, "c": {"outcome": "crash"}}}
    worse, better = report.changes(old, new)
    ok([w[1:] for w in worse] == [("right", "slow")] and [b[1:] for b in better] == [("wrong", "right")],
       "what changed is found")
    for args, expected in STAND_IN:
        found = passed_on(*args.split())
        ok(found == expected, f"stand-in: {args}", found)
    test_data()
    with tempfile.TemporaryDirectory() as top:
        steps(top)


main()
