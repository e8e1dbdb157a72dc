#!/usr/bin/env python3
"""heddle tune: what it finds on both devices, what it keeps, how programs use it, and what is refused with its reason.
test_tune.py HEDDLE"""
import json
import os
import re
import subprocess
import sys
import tempfile

from support import Tap, Tool, variants, write

# Two kernels, one of which has a loop with work for all lanes; the result is checked by the program's status.
SOURCE = r"""
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <sys/wait.h>
__global__ void sums(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; k++)
        s = s * EXTRA + x[(i + k) % 1024];
    y[i] = s;
}
__global__ void twice(float *y) { y[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
int main(int argc, char **argv)
{
    float *x, *y, total = 0;
    int fail = argc > 1 ? atoi(argv[1]) : 0;
    cudaMallocManaged(&x, 4096);
    cudaMallocManaged(&y, 4096);
    for (int i = 0; i < 1024; i++)
        x[i] = i;
    for (int r = 0; r < 4; r++)
        sums<<<8, 128>>>(x, y, 100);
    twice<<<8, 128>>>(y);
    if (cudaDeviceSynchronize())
        return 3;
    for (int i = 0; i < 1024; i++)
        total += y[i];
    printf("%.9g\n", total);
    return fail;
}
"""


def tune(*words, **more):
    return subprocess.run([heddle, "tune", *words], cwd=folder, env=dict(env, **more), capture_output=True, text=True, timeout=300)


def found(*words, **more):
    """{name of a kernel: what --json says of it}, and the whole."""
    made = tune("--json", *words, **more)
    if made.returncode:
        tap.ok(False, "heddle tune " + " ".join(words), made.stderr)
        return {}, {}
    whole = json.loads(made.stdout)
    return {re.sub(r"^_Z\d+|P.*", "", k["name"]): k for k in whole["kernels"]}, whole


def run(program="./k", **more):
    return subprocess.run([heddle, "run", program], cwd=folder, env=dict(env, **more), capture_output=True, text=True, timeout=120)


def text_of(name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def test_cpu():
    kernels, whole = found("-o", "cpu", "-r", "1", "-p", "12", "./k")
    tap.eq(sorted(kernels), ["sums", "twice"], "both kernels are found")
    tap.ok(all(k["state"] == "searched" and k["points"] >= 1 and k["before"] for k in kernels.values()), "searched and measured", whole)
    text = text_of("cpu")
    tap.ok(text.count("measured time") >= sum(k["points"] for k in kernels.values()) and text.count("chosen ") == 2,
           "each measurement is in the file, and a choice for each", text)
    runs = whole["runs"]
    kernels, whole = found("-o", "cpu", "-r", "1", "./k")
    tap.ok(all(k["state"] == "pinned" for k in kernels.values()) and whole["runs"] < runs, "a choice stays", whole)
    kernels, _ = found("-o", "cpu", "-r", "1", "-p", "2", "-k", next(k["name"] for n, k in kernels.items() if n == "sums"), "--again", "./k")
    tap.eq({n: k["state"] for n, k in kernels.items()}, {"sums": "searched"}, "but for those that are searched again")
    before = text_of("cpu")
    kernels, whole = found("--replay", "-o", "cpu", "-r", "1", "-p", "12")
    tap.ok(whole["runs"] == 0 and text_of("cpu") == before and all(k["points"] for k in kernels.values()), "a strategy is followed on what is stored", whole)
    kernels, _ = found("--replay", "-s", "exhaustive", "-o", "cpu", "-r", "1")
    tap.ok(any("next" in k and k["next"] != "auto" for k in kernels.values()), "another one says what it would measure next", kernels)


def test_use():
    want = run()
    name = re.search(r"^kernel (\S+) (cpu-\S+) (\S*sums\S*)\napplies (.*)$", text_of("cpu"), re.M)
    choice = re.search(r"gen_\w+", name[4])[0]
    write(os.path.join(folder, "mine"), f"heddle-tuning 1\nkernel {name[1]} {name[2]} {name[3]}\nchosen {choice}=off\n")
    for flag in ("mine", None, "mine"):
        more = {"HEDDLE_TUNING": flag} if flag else {}
        got = run(HEDDLE_DEBUG="jit,sync", **more)
        tap.eq(got.stdout, want.stdout, f"results with {flag or 'no choice'} are the same")
    made = [line for line in run(HEDDLE_DEBUG="jit,sync", HEDDLE_TUNING="mine", HEDDLE_CACHE="off").stderr.splitlines() if "compiled" in line]
    plain = [line for line in run(HEDDLE_DEBUG="jit,sync", HEDDLE_CACHE="off").stderr.splitlines() if "compiled" in line]
    chosen, free = (" ".join(line for line in lines if "sums" in line) for lines in (made, plain))
    tap.ok(choice in free and chosen and choice not in chosen, f"{choice} that is off is left out", f"{free}\n{chosen}")
    chosen, free = (" ".join(re.sub(r"\d+ us", "", line) for line in lines if "twice" in line) for lines in (made, plain))
    tap.eq(chosen, free, "the other kernel is as it was")
    other = run("./other", HEDDLE_DEBUG="jit,sync", HEDDLE_TUNING="mine", HEDDLE_CACHE="off")
    tap.ok(any("sums" in line and choice in line for line in other.stderr.splitlines()), "a choice is not used for other code of that name", other.stderr)


def test_sim():
    kernels, whole = found("-d", "sim", "-o", "sim", "./k")
    tap.ok(sorted(kernels) == ["sums", "twice"] and whole["unit"] == "cycles", "both kernels on the simulated GPU", whole)
    tap.ok(all(k["points"] > 15 and k["after"] <= k["before"] for k in kernels.values()), "no choice makes an estimate worse", whole)
    again, _ = found("-d", "sim", "-o", "sim2", "./k")
    tap.eq([(k["before"], k["after"], k["chosen"]) for k in again.values()], [(k["before"], k["after"], k["chosen"]) for k in kernels.values()],
           "estimates are the same in each run")
    kernels, whole = found("-d", "sim", "-e", "instructions", "-o", "sim3", "-s", "random", "--seed", "3", "-p", "9", "./k")
    tap.ok(whole["unit"] == "warp instructions" and all(k["points"] == 9 for k in kernels.values()), "another evaluator, another strategy", whole)
    drawn, _ = found("--replay", "-d", "sim", "-e", "instructions", "-o", "sim3", "-s", "random", "--seed", "3", "-p", "9")
    tap.eq({n: k["chosen"] for n, k in drawn.items()}, {n: k["chosen"] for n, k in kernels.items()}, "what is drawn can be followed again")
    name = re.search(r"^kernel (\S+) (isa-\S+) (\S*sums\S*)$", text_of("sim"), re.M)
    write(os.path.join(folder, "worse"), f"heddle-tuning 1\nkernel {name[1]} {name[2]} {name[3]}\nchosen isa_fold=off\n")
    counts = {}
    for use in ("", "worse"):
        more = {"HEDDLE_TUNING": use} if use else {}
        got = run(HEDDLE_DEVICE="sim", HEDDLE_SIM="hazards", HEDDLE_DEBUG="counts", **more)
        tap.eq(got.stdout, run().stdout, f"{use or 'no choice'}: the results are those of cpu")
        counts[use] = sum(int(n) for n in re.findall(r"launch=\S*sums\S* .*instructions=(\d+)", got.stderr))
    tap.ok(0 < counts[""] < counts["worse"], "and the choice is what ran", counts)


def test_processes():
    write(os.path.join(folder, "pair.sh"), "#!/bin/sh\n./k & ./k; wait\n")
    os.chmod(os.path.join(folder, "pair.sh"), 0o755)
    one, _ = found("-d", "sim", "-e", "instructions", "-o", "one", "-p", "1", "./k")
    two, _ = found("-d", "sim", "-e", "instructions", "-o", "two", "-p", "1", "./pair.sh")
    tap.eq({n: k["before"] for n, k in two.items()}, {n: 2 * k["before"] for n, k in one.items()}, "processes of a run add up")


def test_refused():
    for words, status, why in (
            ((), 2, "which program?"), (("./absent",), 127, "absent"), (("-d", "interp", "./k"), 2, "the interp device makes no code"),
            (("-e", "cycles", "./k"), 2, "'cycles' is measured on the sim device: -d sim"), (("-e", "watts", "./k"), 2, "there are time, cycles"),
            (("-s", "luck", "./k"), 2, "there are descent, random"), (("-p", "0", "./k"), 2, "a number from 1"), (("--margin", "x", "./k"), 2, "a number from 0"),
            (("--replay", "./k"), 2, "--replay runs nothing"), (("--replay", "-o", "nowhere"), 1, "nowhere"), (("-o", "bad", "./k"), 1, "bad:2: here a line"),
            (("-o", "new", "./k", "5"), 1, "ended with status 5 in run 1; nothing is chosen"), (("-o", "new", "-k", "nobody", "./k"), 1, "nobody"),
            (("-o", "new", "true"), 1, "no kernel of the program was compiled")):
        got = tune(*words)
        tap.ok(got.returncode == status and why in got.stderr and not got.stdout, f"tune {' '.join(words)}: {why}", f"{got.returncode}\n{got.stderr}")
    tap.eq(text_of("bad"), "heddle-tuning 1\nbad\n", "a file that cannot be read stays as it is")
    for device in ("cpu", "sim"):
        for file, why in (("nowhere", "nowhere: there is no such file"), ("bad", "bad:2: here a line")):
            got = run(HEDDLE_TUNING=file, HEDDLE_DEVICE=device)
            tap.ok(got.returncode != 0 and why in got.stderr, f"HEDDLE_TUNING={file} on {device}: {why}", got.stderr)
    got = tune("--list")
    tap.ok(got.returncode == 0 and "lanes" in got.stdout and "isa_fold" in got.stdout, "--list says what may be chosen", got.stdout)
    parameters = json.loads(tune("--list", "--json").stdout)
    tap.ok({"name": "lanes", "device": "cpu", "values": ["auto", "16", "32", "64", "128"]} in parameters["parameters"], "--list --json, too", parameters)


heddle = os.path.abspath(sys.argv[1])
tap = Tap()
with tempfile.TemporaryDirectory() as folder:
    env = {**Tool(heddle, folder).env, **variants.current().env()}
    write(os.path.join(folder, "k.cu"), SOURCE)
    write(os.path.join(folder, "bad"), "heddle-tuning 1\nbad\n")
    for program, extra in (("k", "0.5f"), ("other", "0.25f")):
        subprocess.run(variants.current().command(heddle, "k.cu", program, "-DEXTRA=" + extra), cwd=folder, env=env, check=True)
    test_cpu()
    test_use()
    test_sim()
    test_processes()
    test_refused()
tap.done()
