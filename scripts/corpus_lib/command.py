"""The command line of scripts/corpus."""
import argparse
import itertools
import json
import os
import shutil
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import build
import data
import fetch
import judge
import report
import run
import table
from place import Place, Progress


def variants_of(args):
    lists = (args.arch, args.cudart, args.compiler, args.opt)
    return [table.Variant(*choice) for choice in itertools.product(*(value.split(",") for value in lists))]


def do_fetch(args, place):
    failed = 0
    for repo in table.repositories().values():
        if args.repo and repo.name not in args.repo:
            continue
        folder = place.source(repo.name)
        why = fetch.link_local(folder, args.local) if args.local else fetch.fetch_one(repo, folder)
        print(f"{repo.name}: {why or 'ready'}")
        failed += bool(why)
    data.write(place.data())
    return 1 if failed else 0


class Results:
    """What is known of each variant, on disk after every program: others may build or run at the same time."""

    def __init__(self, args, place):
        self.place, self.lock = place, threading.Lock()
        self.of = {variant: report.load(place.results(variant)) for variant in variants_of(args)}

    def set(self, variant, name, entry):
        with self.lock:
            self.of[variant] = report.update(self.place.results(variant), name, entry)


def each(args, what, jobs, work):
    """Runs work(*job) for all jobs; names of jobs are shown. work returns the outcome to count."""
    progress = Progress(what, len(jobs))
    with ThreadPoolExecutor(args.jobs) as pool:
        futures = [pool.submit(lambda job=job: progress.step(str(job[1].name), work(*job))) for job in jobs]
        for future in futures:
            future.result()
    progress.end()


def do_build(args, place):
    results = Results(args, place)

    def one(variant, program):
        with place.lock(variant, program.repo, program.copy):  # several programs may be of one build
            done = not args.again and os.path.exists(build.executable(place, variant, program)[1])
            why = None if done else build.build(place, variant, program, args.heddle)
        why = why and place.shortened(why, program.repo)
        results.set(variant, program.name, {"outcome": "not built", "reason": why} if why else None)
        return "not built" if why else "built"

    jobs = [(v, p) for v in results.of for p in table.programs(args.programs)
            if args.again or not os.path.exists(build.executable(place, v, p)[1])]
    each(args, "build", jobs, one)
    return 0


def run_one(args, place, variant, program):
    folder, path = build.executable(place, variant, program)
    folder = os.path.join(folder, place.expanded(program.options.get("cwd", ".")))
    args_of_program = [place.expanded(word) for word in program.args]
    read = [a for a in args_of_program if "/" in a and not a.startswith("-")] + program.options.get("data", "").split(",")
    absent = [name for name in read if not os.path.exists(os.path.join(folder, name))]
    if absent:
        return {"outcome": "not built", "reason": f"its data is not in the repository: {absent[0]}"}
    needed = program.options.get("needs")
    if needed and not shutil.which(needed):
        return {"outcome": "not built", "reason": f"it starts {needed}, which is not installed"}
    command, env = [path, *args_of_program], program.environment()
    result = run.execute(args.heddle, folder, command, args.timeout, env)
    reference = None
    if program.judge == "interp" and result.status == 0:
        reference = run.execute(args.heddle, folder, command, 4 * args.timeout, dict(env, HEDDLE_DEVICE="interp"))
    outcome, reason = judge.judge_run(program, result, reference)
    return {"outcome": outcome, "reason": place.shortened(reason, program.repo), "wall_s": round(result.wall_s, 2), "cpu_s": round(result.cpu_s, 2),
            "compile_s": round(result.compile_s(), 2)}


def do_run(args, place):
    results = Results(args, place)

    def one(variant, program):
        with place.lock(variant, program.repo, program.copy):  # they may write the same files
            entry = run_one(args, place, variant, program)
        results.set(variant, program.name, entry)
        return entry["outcome"]

    jobs = [(v, p) for v in results.of for p in table.programs(args.programs)
            if os.path.exists(build.executable(place, v, p)[1]) and (args.again or p.name not in results.of[v])]
    each(args, "run", jobs, one)
    failures = report.bad(results.of)
    for name, result in failures:
        print(f"{name}: {result['outcome']}: {result['reason']}")
    return 1 if failures else 0


def do_report(args, place):
    folder = os.path.join(place.top, "results")
    names = sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".json")) if os.path.isdir(folder) else []
    variants = {name: report.load(os.path.join(folder, name + ".json")) for name in names}
    text = json.dumps(variants, indent=1, sort_keys=True) + "\n" if args.json else report.markdown(variants, args.note)
    if args.output:
        with open(args.output, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)
    worse, better = report.changes(report.load(args.against), variants) if args.against else ([], [])
    for word, changes in (("worse", worse), ("better", better)):
        for name, before, after in changes:
            print(f"{word}: {name}: {before} -> {after}", file=sys.stderr)
    return 1 if worse else 0


def add_variants(parser):
    parser.add_argument("--arch", default="120", help="targets: 75,80,90,120 (default: %(default)s)")
    parser.add_argument("--cudart", default="shared", help="shared,static (default: %(default)s)")
    parser.add_argument("--compiler", default="nvcc", help="nvcc,heddle-cc (default: %(default)s)")
    parser.add_argument("--opt", default="O3", help="O3,O0-G (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="programs at the same time (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="repeat what was done already")
    parser.add_argument("programs", nargs="*", help="regular expressions of names; default: all")


def parser_of(doc):
    parser = argparse.ArgumentParser(prog="corpus", description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", help="folder of sources, programs and results")
    parser.add_argument("--heddle", default=os.path.join(table.ROOT, "build/tools/heddle/heddle"), help="the tool to try")
    steps = parser.add_subparsers(dest="step", required=True)
    p = steps.add_parser("fetch", help="clone the repositories, or link a local folder")
    p.add_argument("--repo", action="append", help="only this repository")
    p.add_argument("--local", help="use this folder as the repository (with --repo)")
    p.set_defaults(work=do_fetch)
    p = steps.add_parser("build", help="compile the programs")
    add_variants(p)
    p.set_defaults(work=do_build)
    p = steps.add_parser("run", help="run and judge the programs")
    add_variants(p)
    p.add_argument("--timeout", type=float, default=60, help="seconds for one program on two idle processors (default: %(default)s)")
    p.set_defaults(work=do_run)
    p = steps.add_parser("report", help="what came out")
    p.add_argument("--json", action="store_true", help="all results as JSON")
    p.add_argument("--output", help="file to write")
    p.add_argument("--note", default="", help="a sentence about this report, for its head")
    p.add_argument("--against", help="JSON of an earlier report: says what changed")
    p.set_defaults(work=do_report)
    return parser


def main(doc):
    parser = parser_of(doc)
    args = parser.parse_args()
    args.heddle = os.path.abspath(args.heddle)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, run.stop_all)
    if args.step == "fetch" and args.local and len(args.repo or []) != 1:
        parser.error("--local needs exactly one --repo")
    try:
        return args.work(args, Place(args.dir))
    except table.TableError as error:
        print(f"corpus: {error}", file=sys.stderr)
        return 2
