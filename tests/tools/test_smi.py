#!/usr/bin/env python3
"""heddle smi, alone and beside a program whose kernel runs: test_smi.py HEDDLE"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

from support import Tap, clean_env, variants

heddle = os.path.abspath(sys.argv[1])
tap = Tap()
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hang.cu")
PATIENCE_S = 100


class Bench:
    def __init__(self, folder):
        self.env = clean_env("CUDA_")
        self.env.update(HEDDLE_CACHE=os.path.join(folder, "cache"), HEDDLE_THREADS="2", HEDDLE_DEVICES="2", HEDDLE_MEMORY="1G",
                        HEDDLE_REGISTRY=os.path.join(folder, "registry"), **variants.current().env())
        self.program = os.path.join(folder, "hang")
        got = subprocess.run(variants.current().command(heddle, SOURCE, self.program), capture_output=True, text=True, env=self.env, timeout=200)
        tap.ok(got.returncode == 0, "builds", got.stdout + got.stderr)

    def smi(self, *args, code=0, program=(heddle, "smi"), **env):
        got = subprocess.run([*program, *args], capture_output=True, text=True, env={**self.env, **env}, timeout=PATIENCE_S)
        tap.eq(got.returncode, code, "smi %s" % " ".join(args))
        return got.stderr if code else got.stdout

    def fields(self, what, kind="gpu", form="csv,noheader,nounits", *args):
        out = self.smi(f"--query-{kind}={what}", f"--format={form}", *args)
        return [line.split(", ") for line in out.splitlines()]


def test_idle(bench):
    out = bench.smi()
    lines = out.splitlines()
    tap.eq({len(line) for line in lines[1:] if line}, {91}, "a table with straight borders")
    tap.ok(re.search(r"Driver Version: \d+\.\d+\.\d+ .*CUDA Version: 13\.0", out), "versions", out)
    tap.ok("No running processes found" in out, "no processes", out)
    tap.ok(re.fullmatch(r"(GPU [01]: Heddle CPU device, 2 threads \(UUID: GPU-[0-9a-f-]{36}\)\n){2}", bench.smi("-L")), "-L")
    tap.eq(bench.fields("index,memory.total,memory.used,utilization.gpu"), [["0", "1024", "0", "0"], ["1", "1024", "0", "0"]], "fields")
    tap.eq(bench.fields("index, memory.used,serial", "gpu", "csv"),
           [["index", "memory.used [MiB]", "serial"], ["0", "0 MiB", "[N/A]"], ["1", "0 MiB", "[N/A]"]], "with a heading and units")
    tap.eq(bench.fields("gpu_name,gpu_bus_id", "gpu", "csv,noheader", "-i", "1"), [["Heddle CPU device 2 threads", "00000000:02:00.0"]],
           "one device, fields by their other names")
    uuid = bench.fields("uuid")[1][0]
    tap.eq(bench.fields("index", "gpu", "csv,noheader", "-i", uuid), [["1"]], "by its UUID")
    tap.eq(bench.fields("index", "gpu", "csv,noheader", "-i", "00000000:02:00.0,0"), [["1"], ["0"]], "by its bus id, and another")
    tap.eq(bench.fields("pid", "compute-apps"), [], "no processes as fields")
    help_text = bench.smi("--help-query-gpu")
    names = re.findall(r'^  "([\w.]+)"', help_text, re.M)
    tap.ok(len(names) > 50, "%d fields" % len(names))
    tap.eq(len(bench.fields(",".join(names))[0]), len(names), "all of which can be asked for")


def test_forms(bench):
    root = xml.etree.ElementTree.fromstring(bench.smi("-q", "-x"))
    tap.eq(root.findtext("attached_gpus"), "2", "XML: how many")
    tap.eq([gpu.findtext("fb_memory_usage/total") for gpu in root.findall("gpu")], ["1024 MiB"] * 2, "XML: memory")
    out = bench.smi("-q")
    tap.ok(re.search(r"^    Product Name +: Heddle CPU device", out, re.M), "-q", out)
    out = bench.smi("-q", "-d", "MEMORY,UTILIZATION", "-i", "0")
    tap.ok("FB Memory Usage" in out and "Utilization" in out and "Product Name" not in out and "Clocks" not in out, "parts of it", out)
    told = json.loads(bench.smi("--json"))
    tap.eq([d["memory_total_B"] for d in told["devices"]], [1 << 30] * 2, "JSON")
    tap.eq(bench.smi("topo", "-m").splitlines()[1].split("\t")[:3], ["GPU0", " X ", "NODE"], "topo -m")
    out = bench.smi("dmon", "-c", "2", "-d", "1", "-s", "um", "-i", "0").splitlines()
    tap.eq([line.split() for line in out[2:]], [["0", "0", "0", "0", "0", "0", "0", "0", "0"]] * 2, "dmon")
    tap.ok(bench.smi("pmon", "-c", "1").splitlines()[2].split()[:3] == ["0", "-", "-"], "pmon")
    target = os.path.join(os.path.dirname(bench.program), "out")
    bench.smi("-L", "-f", target)
    with open(target) as file:
        tap.eq(len(file.readlines()), 2, "into a file")
    link = os.path.join(os.path.dirname(bench.program), "nvidia-smi")
    os.symlink(heddle, link)
    tap.eq(bench.smi("-L", program=[link]), bench.smi("-L"), "called nvidia-smi")
    got = bench.smi("-c", "command -v nvidia-smi && nvidia-smi -L", program=[heddle, "run", "bash"], PATH="/usr/bin:/bin")
    tap.ok(got.endswith(bench.smi("-L")), "as programs under `heddle run` find it", got)


def test_wrong(bench):
    for args, code, text in ((["--query-gpu=nonsense", "--format=csv"], 2, "there is no field 'nonsense'"),
                             (["--query-gpu=name"], 2, "--format is csv"),
                             (["--query-gpu=name", "--format=csv,foo"], 2, "--format is csv"),
                             (["--query-gpu=", "--format=csv"], 2, "which fields"),
                             (["-i", "2"], 6, "there is no device '2'"),
                             (["-i", "GPU-0"], 6, "there is no device"),
                             (["-q", "-d", "MEMORY,FOO"], 2, "no such part"),
                             (["-l", "0"], 2, "no number"),
                             (["dmon", "-s", "z"], 2, "no such columns"),
                             (["topo"], 2, "-m"),
                             (["more"], 2, "unknown argument 'more'"),
                             (["--foo"], 2, "foo")):
        error = bench.smi(*args, code=code)
        tap.ok(text in error, "says %s" % text, error)
    tap.eq(subprocess.run([heddle, "smi"], capture_output=True, text=True, env={**bench.env, "CUDA_VISIBLE_DEVICES": "-1"}, timeout=PATIENCE_S).returncode,
           6, "no devices at all")


def test_loop(bench):
    process = subprocess.Popen([heddle, "smi", "--query-gpu=index", "--format=csv", "-lms", "20", "-i", "0"], stdout=subprocess.PIPE, text=True,
                               env=bench.env, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    tap.eq([process.stdout.readline() for _ in range(4)], ["index\n", "0\n", "0\n", "0\n"], "again and again, with one heading")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE_S)
    tap.eq(process.returncode, 0, "until Ctrl-C")


def await_busy(bench):
    for _ in range(PATIENCE_S * 10):
        told = json.loads(bench.smi("--json"))
        if told["devices"][0]["gpu_percent"] >= 95:
            return told
        time.sleep(0.1)
    return told


def test_busy(bench):
    process = subprocess.Popen([heddle, "run", bench.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=bench.env)
    tap.eq(process.stdout.readline(), "runs\n", "a kernel runs")
    told = await_busy(bench)
    tap.eq((told["devices"][0]["gpu_percent"] >= 95, told["devices"][1]["gpu_percent"]), (True, 0), "the first device is busy")
    rows = told["devices"][0]["processes"]
    tap.eq([row["pid"] for row in rows], [process.pid], "by this process")
    tap.eq(rows and rows[0]["memory_B"], told["devices"][0]["memory_used_B"], "which has all the memory that is in use")
    tap.eq(told["devices"][1]["processes"], [], "the second has none")
    tap.eq(bench.fields("pid,process_name", "compute-apps", "csv,noheader"), [[str(process.pid), bench.program]], "as fields")
    out = bench.smi()
    tap.ok(re.search(r"^\|    0   N/A  N/A +%d      C   \S+ +\d+MiB \|$" % process.pid, out, re.M), "in the table", out)
    row = bench.smi("pmon", "-c", "1", "-i", "0").splitlines()[2].split()
    tap.ok(row[1] == str(process.pid) and int(row[3]) >= 90 and row[-1] == "hang", "in pmon", str(row))
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    tap.eq(bench.fields("pid", "compute-apps"), [], "killed, and gone")


def test_hidden(bench):
    """A program that sees one device only; others see all, and which it uses."""
    process = subprocess.Popen([heddle, "run", bench.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**bench.env, "CUDA_VISIBLE_DEVICES": "1"})
    tap.eq(process.stdout.readline(), "runs\n", "a kernel runs on the second device")
    tap.eq(bench.smi("-L", CUDA_VISIBLE_DEVICES="1"), bench.smi("-L"), "smi shows both devices")
    told = json.loads(bench.smi("--json", CUDA_VISIBLE_DEVICES="1"))
    tap.eq([[p["pid"] for p in d["processes"]] for d in told["devices"]], [[], [process.pid]], "and the process on its own")
    process.kill()
    process.communicate(timeout=PATIENCE_S)


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        test_idle(bench)
        test_forms(bench)
        test_wrong(bench)
        test_loop(bench)
        test_busy(bench)
        test_hidden(bench)
    return tap.done()


sys.exit(main())
