"""What a run says: right, wrong, refused, slow, crash, internal, error, or no verdict."""
import re
import signal

from reason import first_line, refusal_of, waiver_of

# Outcomes, from good to bad: the order in which reports list them and comparisons rank them.
OUTCOMES = ("right", "no verdict", "refused", "not built", "slow", "error", "hang", "crash", "wrong", "internal")
BAD = ("error", "hang", "crash", "wrong", "internal")

PASS = re.compile(r"\bPASS(ED)?\b|\bpassed\b|\bTest successful\b|\bSUCCESS\b", re.I)
FAIL = re.compile(r"\bFAIL(ED|URE)?\b|\bmismatch|\bincorrect\b|\bwrong\b|\bverification error", re.I)
NOTHING_FAILED = re.compile(r"\b(0|no) (fail|mismatch|error|incorrect)\w*|(fail|mismatch|error)\w*\s*[:=]\s*0\b", re.I)
# What changes from run to run, or with the device: lines about time, speed and the device's name are left out of comparisons.
TIMING = re.compile(r"time|\d s\b|sec\b|seconds|\bms\b|\bus\b|[GMT]B/s|[GMT]?flops?|speed|throughput|bandwidth|elapsed|device \d|"
                    r"\bHeddle\b|\bSMs?\b|multi-?processors", re.I)
INTERNAL = re.compile(r"\binternal:|Assertion `.*src/|LLVM ERROR|Sanitizer", re.I)


def verdict_of_text(judge, text):
    """True, False, or None when the output says nothing."""
    if judge.startswith("/"):
        return re.search(judge[1:-1], text, re.M) is not None
    failed = any(FAIL.search(line) and not NOTHING_FAILED.search(line) for line in text.splitlines())
    if judge == "pass":
        return False if failed else True if PASS.search(text) else None
    return False if failed else None


def comparable(text):
    return [line for line in text.splitlines() if not TIMING.search(line)]


def judge_run(program, run, reference=None):
    """(outcome, reason). `run` and `reference` are run.Result; the reference is the interpreter's run."""
    internal = first_line(INTERNAL, run.log, run.err)
    refusal = refusal_of(run)
    if internal:
        return "internal", internal
    if run.timed_out and refusal:
        return "refused", refusal
    if run.timed_out:
        return ("hang" if run.cpu_s < 0.02 * run.wall_s else "slow"), f"{run.cpu_s:.0f} s of processor time"
    verdict = verdict_of_text(program.judge, run.out + run.err)
    if run.status < 0:
        return ("refused", refusal) if refusal else ("crash", signal.Signals(-run.status).name)
    if verdict is not True and refusal:
        return "refused", refusal
    waived = waiver_of(run)
    if run.status != 0 and waived:
        return "refused", waived
    if verdict is False:
        return "wrong", first_line(FAIL, run.out, run.err)
    if run.status != 0 and verdict is not True:
        last = [line for line in (run.err or run.out).splitlines() if line.strip()]
        return "error", f"exit status {run.status}: {(last or ['no output'])[-1][:200]}"
    if program.judge == "interp" and reference is not None and reference.timed_out:
        return "no verdict", "the interpreter exceeds the time limit"
    if program.judge == "interp" and reference is not None:
        same = comparable(run.out) == comparable(reference.out)
        return ("right", "same output as the interpreter") if same else ("wrong", "other output than the interpreter")
    if verdict is True or (program.judge == "exit" and run.status == 0):
        return "right", ""
    return "no verdict", ""
