"""Results as JSON, as a table in Markdown, and compared with an earlier report."""
import fcntl
import json
import os
import platform

from judge import BAD, OUTCOMES


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


def save(path, results):
    """Whole or not at all: an interrupted run keeps what it had."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1, sort_keys=True)
    os.replace(path + ".tmp", path)


def update(path, name, entry):
    """Changes one program's entry (None removes it) of what is on disk now, and returns all of it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        results = load(path)
        results.pop(name, None)
        if entry:
            results[name] = entry
        save(path, results)
    return results


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def counts(results):
    return {outcome: sum(r["outcome"] == outcome for r in results.values()) for outcome in OUTCOMES}


def summary_table(variants):
    lines = ["| variant | programs | " + " | ".join(OUTCOMES) + " |", "|---" * (len(OUTCOMES) + 2) + "|"]
    for variant, results in variants.items():
        numbers = counts(results)
        lines.append(f"| {variant} | {len(results)} | " + " | ".join(str(numbers[o]) for o in OUTCOMES) + " |")
    return lines


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def program_table(variants):
    names = sorted({name for results in variants.values() for name in results})
    lines = ["| program | " + " | ".join(variants) + " | compile s | run s | reason |", "|---" * (len(variants) + 4) + "|"]
    for name in names:
        runs = [results.get(name) for results in variants.values()]
        worst = max((r for r in runs if r), key=lambda r: OUTCOMES.index(r["outcome"]))
        times = [max((r.get(key, 0) for r in runs if r), default=0) for key in ("compile_s", "wall_s")]
        lines.append(f"| {name} | " + " | ".join(r["outcome"] if r else "" for r in runs) +
                     f" | {times[0]:.1f} | {times[1]:.1f} | {cell(worst['reason'])} |")
    return lines


def markdown(variants, note="", table_of_programs=True):
    lines = ["# Programs that others wrote", "",
             "Made by `scripts/corpus report`; `tests/corpus/` lists the programs, their arguments and how each is judged.",
             f"Processor of this report: {cpu_name()}. Times are those of the slowest variant, with a cold cache.", note, "",
             "- right: the program checked its own result, or printed what the reference interpreter prints",
             "- no verdict: it ran to its end and says nothing that could be judged",
             "- refused: it needs what Heddle does not have yet; the reason names it",
             "- slow: stopped at the time limit while it was computing (hang: while it was not)", ""]
    lines += summary_table(variants)
    if table_of_programs:
        lines += ["", *program_table(variants)]
    return "\n".join(lines) + "\n"


def changes(old, new):
    """[(name, before, after)] of what is now worse, and of what is better."""
    worse, better = [], []
    for variant, results in new.items():
        for name, result in results.items():
            before = old.get(variant, {}).get(name)
            if before and before["outcome"] != result["outcome"]:
                rank = OUTCOMES.index(result["outcome"]) - OUTCOMES.index(before["outcome"])
                (worse if rank > 0 else better).append((f"{variant} {name}", before["outcome"], result["outcome"]))
    return worse, better


def bad(variants):
    return [(f"{variant} {name}", r) for variant, results in variants.items() for name, r in sorted(results.items())
            if r["outcome"] in BAD]
