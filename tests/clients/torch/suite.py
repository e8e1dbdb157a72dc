#!/usr/bin/env python3
"""PyTorch's own test files on cuda:

    heddle run PYTHON suite.py CHECKOUT test_torch.py test_nn.py [-k WORD] [--out FILE] [--known suite_known.txt]

CHECKOUT is PyTorch's source in the version that PYTHON has, which needs pytest, expecttest and hypothesis. Selected are
the tests of classes for cuda, and those whose name or text mentions it. They run in processes of --group tests; one that
dies, hangs or loses its context (a device-side assert, as on a GPU) is replaced by another, which goes on behind
that test. A test that fails is tried in its form for the CPU, if it has one: what fails there as well says nothing of us.

Prints a table of counts and of causes. FILE gets a line of JSON for each test; a run that was ended goes on where it
was. suite_known.txt holds the tests that cannot pass here, by cause. Exits with 0 if no other fails.
"""
import argparse
import collections
import fnmatch
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# ---- in the process that runs tests: a plugin of pytest


class Plugin:
    """Takes the tests named in a file, and writes what happens as lines of JSON."""

    def __init__(self, events, wanted):
        self.events = open(events, "a", buffering=1)
        self.wanted = wanted
        self.reports = {}

    def tell(self, **event):
        self.events.write(json.dumps(event) + "\n")

    def pytest_collection_modifyitems(self, items):
        if self.wanted is None:
            for item in items:
                self.tell(test=item.nodeid, is_cuda=is_about_cuda(item))
            items.clear()
        else:
            items[:] = [i for i in items if i.nodeid in self.wanted]

    def pytest_runtest_logstart(self, nodeid):
        self.reports[nodeid] = []
        self.tell(test=nodeid, result="started")

    def pytest_runtest_logreport(self, report):
        self.reports[report.nodeid].append(report)

    def pytest_runtest_logfinish(self, nodeid):
        reports = self.reports.pop(nodeid)
        failed = [r for r in reports if r.failed]
        skipped = [r for r in reports if r.skipped]
        why, text = "", ""
        if failed:
            result, why, text = "failed", message(failed[0]), failed[0].longreprtext[-6000:]
        elif skipped:
            result, why = ("xfailed", "") if hasattr(skipped[0], "wasxfail") else ("skipped", reason(skipped[0]))
        else:
            result = "passed"
        self.tell(test=nodeid, result=result, why=why, text=text, time_s=sum(r.duration for r in reports))
        if failed and context_is_lost():
            self.tell(test=nodeid, result="ended")
            os._exit(0)


def is_about_cuda(item):
    if "cuda" in item.nodeid.lower():
        return True
    try:
        return "cuda" in inspect.getsource(item.function).lower()
    except (OSError, TypeError):
        return False


def message(report):
    crash = getattr(report.longrepr, "reprcrash", None)
    return crash.message if crash else report.longreprtext.strip().split("\n")[-1]


def reason(report):
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext


def context_is_lost():
    import torch
    try:
        torch.cuda.synchronize()
        return False
    except RuntimeError:
        return True


def run_plugin(events, wanted, arguments):
    import pytest
    names = None
    if wanted != "-":
        with open(wanted) as f:
            names = set(f.read().split("\n"))
    sys.path.insert(0, os.getcwd())
    sys.exit(pytest.main(["-q", "--noconftest", "--rootdir=.", "-p", "no:cacheprovider", "-p", "no:terminalreporter", *arguments],
                         plugins=[Plugin(events, names)]))


# ---- the runner


class Runner:
    def __init__(self, options):
        self.tests = os.path.join(options.checkout, "test")
        self.limit_s = options.timeout
        self.size = options.group
        self.log = open(os.path.join(options.log, "suite.log"), "a") if options.log else subprocess.DEVNULL

    def start(self, events, wanted, file, device):
        environment = dict(os.environ, PYTORCH_TESTING_DEVICE_ONLY_FOR=device, PYTHONDONTWRITEBYTECODE="1")
        # Tests of more memory than that are skipped, as on a small GPU.
        environment.setdefault("HEDDLE_MEMORY", "8G")
        environment.setdefault("OMP_NUM_THREADS", "1")
        return subprocess.Popen([sys.executable, os.path.abspath(__file__), "--in-process", events, wanted, file],
                                cwd=self.tests, env=environment, stdin=subprocess.DEVNULL, stdout=self.log,
                                stderr=self.log, start_new_session=True)

    def collect(self, file, device="cuda"):
        """The names of the file's tests, and whether they are about cuda."""
        with tempfile.TemporaryDirectory() as d:
            events = os.path.join(d, "events")
            open(events, "w").close()
            self.start(events, "-", file, device).wait()
            return {e["test"]: e["is_cuda"] for e in lines(events)}

    def run(self, file, names, note, device="cuda"):
        """Runs tests of one file; note() gets the outcome of each."""
        left = list(names)
        while left:
            with tempfile.TemporaryDirectory() as d:
                done = self.run_group(d, file, left[:self.size], note, device)
            if not done:
                note({"test": left[0], "result": "failed", "why": "the process did not start", "time_s": 0})
                done = {left[0]}
            left = [n for n in left if n not in done]

    def run_group(self, folder, file, names, note, device):
        events, wanted = os.path.join(folder, "events"), os.path.join(folder, "wanted")
        with open(wanted, "w") as f:
            f.write("\n".join(names))
        open(events, "w").close()
        process = self.start(events, wanted, file, device)
        done, current, since, at = set(), None, time.monotonic(), 0
        while True:
            is_over = process.poll() is not None
            with open(events) as f:
                f.seek(at)
                for line in iter(f.readline, ""):
                    if not line.endswith("\n"):
                        break
                    at = f.tell()
                    event = json.loads(line)
                    if event["result"] == "started":
                        current, since = event["test"], time.monotonic()
                    elif event["result"] != "ended":
                        current = None
                        done.add(event["test"])
                        note(event)
            if is_over:
                break
            if current and time.monotonic() - since > self.limit_s:
                os.killpg(process.pid, 9)
                process.wait()
                done.add(current)
                note({"test": current, "result": "failed", "why": f"no end after {self.limit_s} s",
                      "time_s": self.limit_s})
                return done
            time.sleep(0.2)
        if current:
            done.add(current)
            note({"test": current, "result": "failed", "why": f"the process died: {process.returncode}",
                  "time_s": time.monotonic() - since})
        return done


def lines(path):
    with open(path) as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


def twin(name):
    """The form for the CPU of a test that is made for each device, or None."""
    if "CUDA::" not in name:
        return None
    return name.replace("CUDA::", "CPU::").replace("_cuda", "_cpu")


class Known:
    """Tests that cannot pass here: "[cause] what it is", and below it patterns of names."""

    def __init__(self, path):
        self.rows, cause = [], None
        with open(path) as f:
            for line in f.read().split("\n"):
                if line.startswith("["):
                    cause = line[1:line.index("]")]
                elif line and not line.startswith("#"):
                    self.rows.append((line, cause))

    def cause(self, name):
        return next((c for pattern, c in self.rows if fnmatch.fnmatchcase(name, pattern)), None)


def kind(why):
    """A message without what differs from test to test."""
    text = " ".join(why.split("\n")[:2]).strip()
    text = re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?(e[-+]?\d+)?", "N", text)
    return re.sub(r"\s+", " ", text)[:150]


def table(results, known):
    """Prints counts; the number of failures that nobody has explained."""
    files = collections.defaultdict(collections.Counter)
    causes, skips = collections.defaultdict(list), collections.Counter()
    for r in results:
        file = r["test"].split("::")[0]
        result = r["result"]
        if result == "failed":
            expected = known.cause(r["test"])
            if expected:
                result, cause = "known", f"known: {expected}"
            elif r.get("on_cpu") == "failed":
                result, cause = "on cpu too", f"on cpu too: {kind(r['why'])}"
            else:
                cause = kind(r["why"])
            causes[cause].append(r["test"])
        elif result == "skipped":
            skips[kind(r["why"])] += 1
        files[file][result] += 1
    columns = ["passed", "xfailed", "skipped", "known", "on cpu too", "failed"]
    print(f"{'file':24}" + "".join(f"{c:>12}" for c in columns))
    for file, counts in files.items():
        print(f"{file:24}" + "".join(f"{counts[c]:12}" for c in columns))
    print("\nskipped:")
    for why, n in skips.most_common(25):
        print(f"{n:6} {why}")
    print("\nfailed:")
    for cause, names in sorted(causes.items(), key=lambda c: -len(c[1])):
        print(f"{len(names):6} {cause}\n       {names[0]}")
    return sum(c["failed"] for c in files.values())


def main():
    if sys.argv[1:2] == ["--in-process"]:
        run_plugin(sys.argv[2], sys.argv[3], sys.argv[4:])
    p = argparse.ArgumentParser()
    p.add_argument("checkout")
    p.add_argument("files", nargs="+")
    p.add_argument("-k", dest="words", help="names that contain one of these words, with commas between them")
    p.add_argument("--part", default="0/1", help="I/N: each N-th test, from I on")
    p.add_argument("--group", type=int, default=1000, help="tests of a process")
    p.add_argument("--timeout", type=int, default=300, help="seconds that a test may take")
    p.add_argument("--known", default=os.path.join(HERE, "suite_known.txt"))
    p.add_argument("--out", help="a line of JSON for each test")
    p.add_argument("--log", help="a folder for what tests print")
    p.add_argument("--again", action="store_true", help="run what failed in FILE again")
    p.add_argument("--count", action="store_true", help="run nothing: print what FILE has")
    o = p.parse_args()
    known = Known(o.known)
    before = lines(o.out) if o.out and os.path.exists(o.out) else []
    results = {r["test"]: r for r in before}
    out = open(o.out, "a", buffering=1) if o.out else None
    runner = Runner(o)

    def note(r):
        results[r["test"]] = r
        if out:
            out.write(json.dumps(r) + "\n")
        if r["result"] == "failed" and "on_cpu" not in r:
            print(f"# {r['test']}: {kind(r['why'])}", flush=True)

    part, parts = map(int, o.part.split("/"))
    for file in [] if o.count else o.files:
        names = [n for n, is_cuda in runner.collect(file).items() if is_cuda]
        if not names:
            sys.exit(f"suite.py: {file}: pytest finds no tests; run it with --log and look there")
        names = names[part::parts]
        if o.words:
            names = [n for n in names if any(w in n for w in o.words.split(","))]
        names = [n for n in names if n not in results or o.again and results[n]["result"] == "failed"]
        print(f"# {file}: {len(names)} tests", flush=True)
        runner.run(file, names, note)
        failed = {twin(n): n for n in names if results[n]["result"] == "failed" and twin(n)}
        if failed:
            there = runner.collect(file, "cpu")
            runner.run(file, [t for t in failed if t in there],
                       lambda r: note(dict(results[failed[r["test"]]], on_cpu=r["result"], why_on_cpu=r["why"])), "cpu")
    chosen = [r for n, r in results.items() if n.split("::")[0] in o.files]
    sys.exit(1 if table(chosen, known) else 0)


if __name__ == "__main__":
    main()
