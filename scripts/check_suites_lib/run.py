"""Runs programs under a tool, each with a time limit and a log of its own, and says whether the tool reported anything."""
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import programs
import truth

REPORTED_STATUS = 42
KEPT_B = 4000
ENDING_S = 5  # how long a checker may take to end
LIVELOCK_S = 3  # a program that is known not to end
SUMMARY = re.compile(r"(?:ERROR|RACECHECK|SCHEDCHECK) SUMMARY: (\d+) (?:error|hazard|result)")
TROUBLE = re.compile(r"CUDA error|not implemented|unresolved|internal error|differs from serial|ERROR:", re.I)


def results_path(folder, tool, compiler):
    return os.path.join(folder, "results", f"{tool}-{compiler}.json")


def load_results(folder, tool, compiler):
    try:
        with open(results_path(folder, tool, compiler), encoding="utf-8") as file:
            return json.load(file)
    except OSError:
        return {}


def save_results(folder, tool, compiler, results):
    path = results_path(folder, tool, compiler)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1, sort_keys=True)
    os.replace(path + ".part", path)


def text_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def command(program, tool, log, options):
    if tool == "none":
        return [options.heddle, "run", program.exe, *program.args]
    flags = ["--tool", tool, "--error-exitcode", str(REPORTED_STATUS), "--log-file", log, *options.option]
    return [options.heddle, "check", *flags, program.exe, *program.args]


def execute(words, program, limit_s):
    """(status, or None when stopped at the limit; what it printed)."""
    with open(program.stdin, "rb") as given:
        process = subprocess.Popen(words, cwd=program.folder, env=program.env, stdin=given, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True)
    try:
        out = process.communicate(timeout=limit_s)[0]
        return process.returncode, out.decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        return None, stop(process).decode("utf-8", "replace")


def stop(process):
    """Programs that go on for ever behind an error are common: a checker that is asked to end still sums up what it found."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        return process.communicate(timeout=ENDING_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]


def outcome(tool, status, out, log_text):
    """One word: reported or quiet; timeout; failed when the checker itself did not do its work."""
    if tool == "none":
        if status is None:
            return "timeout"
        return "trouble" if status or TROUBLE.search(out) else "ran"
    counts = [int(count) for count in SUMMARY.findall(log_text)]
    if status == REPORTED_STATUS or any(counts):
        return "reported"
    if status is None:
        return "timeout"
    return "quiet" if counts else "failed"


def run_one(program, tool, options):
    log = os.path.join(program.folder, "results", "logs", f"{tool}-{options.compiler}", program.full_name.replace("/", ".") + ".log")
    os.makedirs(os.path.dirname(log), exist_ok=True)
    if os.path.exists(log):
        os.unlink(log)
    limit_s = min(options.timeout, LIVELOCK_S) if "livelock" in program.truth.bugs else options.timeout
    start = time.monotonic()
    status, out = execute(command(program, tool, log, options), program, limit_s)
    took_s = time.monotonic() - start
    return {"outcome": outcome(tool, status, out, text_of(log)), "status": status, "time_s": round(took_s, 2), "out": out[-KEPT_B:]}


def wanted(program, tool, options, results):
    if options.new and program.full_name in results:
        return False
    if not options.judged or tool == "none":
        return True
    kinds = program.truth.bugs
    return tool in program.truth.clean or any(tool in truth.KINDS[kind] for kind in kinds)


def run_tool(tool, chosen, options):
    """Runs all that are wanted under one tool. Returns how many could not be judged."""
    folder = os.path.abspath(options.dir)
    results = load_results(folder, tool, options.compiler)
    todo = [program for program in chosen if wanted(program, tool, options, results)]
    lock, start = threading.Lock(), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(run_one, program, tool, options): program for program in todo}
        for done, job in enumerate(concurrent.futures.as_completed(jobs), 1):
            with lock:
                results[jobs[job].full_name] = job.result()
                if done % 100 == 0 or done == len(jobs):
                    save_results(folder, tool, options.compiler, results)
                    if sys.stderr.isatty():
                        print(f"\r{tool}: {done} of {len(jobs)}", end="", file=sys.stderr)
    outcomes = [results[program.full_name]["outcome"] for program in todo]
    counts = ", ".join(f"{outcomes.count(word)} {word}" for word in sorted(set(outcomes)))
    print(f"{tool}: {len(todo)} programs in {time.monotonic() - start:.0f} s: {counts or 'nothing to do'}")
    return outcomes.count("failed")


def run_all(options):
    tools = options.tool.split(",")
    for tool in tools:
        if tool != "none" and tool not in truth.TOOLS:
            raise programs.Problem(f"no tool '{tool}'; there are {', '.join(truth.TOOLS)}, and none")
    if not shutil.which(options.heddle):
        raise programs.Problem(f"{options.heddle}: not found; --heddle PATH names it")
    options.heddle = os.path.abspath(shutil.which(options.heddle))
    if options.jobs < 1 or options.timeout <= 0:
        raise programs.Problem("--jobs and --timeout are greater than 0")
    chosen = programs.choose(options)
    return 1 if sum(run_tool(tool, chosen, options) for tool in tools) else 0
