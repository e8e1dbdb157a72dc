"""Random kernels on every device that there is: what test_differential.py and scripts/campaign share.

A program is (style, seed); test_cuda.py brings its own, made by compilers. Programs are run in batches: one PTX module, one process per device, run_interp or
run_driver (batch.h). A device is the interpreter on IR as it comes and optimised (noopt, opt), or a value of
HEDDLE_DEVICE through libcuda; cpu may be followed by a value of HEDDLE_CPU and by a form of code, or by passes
that are left out: cpu, cpu/avx2, cpu/avx512,-vbmi, cpu/generic:plain, cpu:-gen_full. The first device is the reference.
"""
import os
import re
import resource
import struct
import subprocess

import gen_compiled
import gen_frame
import gen_ptx


class Style:
    def __init__(self, head, entry, size):
        self.head, self.entry, self.size = head, entry, size


STYLES = {"drawn": Style(gen_frame.HEAD, gen_ptx.entry, 60), "compiled": Style(gen_compiled.HEAD, gen_compiled.entry, 40),
          "alone": Style(gen_frame.HEAD, gen_ptx.entry_alone, 60)}
# Form of code: what HEDDLE_FAULT has to make fail. jit.next: another form than this is an error.
FORMS = {"fast": "jit.next", "pairs": "jit.next,jit.singly", "halves": "jit.next,jit.whole", "quick": "jit.next,jit.best", "plain": "jit.fast", "simple": "jit.fast,jit.plain", "interpreted": "jit.fast,jit.plain,jit.simple"}
LEVELS = ["avx512", "avx2", "generic"]
MAIN_FORMS = ["fast", "quick", "plain", "simple"]
# Lines that reduction keeps: labels, branches and loop counters.
CONTROL = re.compile(r"\s*(\$L\d+:|@!?%q|bra|brx|@!?%p\d bra|(sub|add)\.u32 %(c|round)|and\.b32 %c|mov\.u32 %round|setp\.\w+\.[us]32 %q)")
CPU_S = 600  # of one process, however many kernels it has: a kernel that hangs ends there


class Device:
    def __init__(self, name, command, env=None, form="fast"):
        self.name, self.command, self.env, self.form = name, command, env or {}, form
        self.tag = re.sub(r"[^a-z0-9-]", "_", name)
        self.slower = []  # what the log says of kernels that lost this form

    def start(self, where, first):
        args = self.command + [f"{where}/{n}" for n in ("job", "ptx", "in", f"{self.tag}.out")] + [str(first)]
        try:
            p = subprocess.run(args, env=dict(os.environ, **self.env), capture_output=True, timeout=3600, check=False,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 5)))
        except subprocess.TimeoutExpired:
            return "hangs", ""
        return f"ended with {p.returncode}" if p.returncode else "", p.stderr.decode(errors="replace")

    def run(self, where, count):
        """[(output, None) or (None, why there is none)] of every kernel of the batch."""
        path = f"{where}/{self.tag}.out"
        open(path, "wb").close()
        answers = []
        while len(answers) < count:
            died, log = self.start(where, len(answers))
            mine = f"in its {self.form} form, which"
            self.slower += [s for s in log.splitlines() if "form, which is slower" in s and mine not in s]
            answers = read_records(path)
            if len(answers) >= count:
                break
            # This kernel ended the process; the next process goes on behind it.
            why = f"the process {died or 'stopped'}: {log.strip()[-300:]}"
            with open(path, "ab") as file:
                file.write(struct.pack("<II", 0, len(why.encode())) + why.encode())
            answers.append((None, why))
        os.unlink(path)
        return answers


def read_records(path):
    with open(path, "rb") as file:
        data = file.read()
    answers, at = [], 0
    while at + 8 <= len(data):
        ran, size = struct.unpack_from("<II", data, at)
        bytes_ = data[at + 8:at + 8 + size]
        if len(bytes_) < size:
            break
        answers.append((bytes_, None) if ran else (None, bytes_.decode(errors="replace")))
        at += 8 + size
    return answers


def device(name, interp, driver):
    """The device of a name, as the head of this file says."""
    if name in ("noopt", "opt"):
        return Device(name, [interp, name])
    path, _, form = name.partition(":")
    kind, _, level = path.partition("/")
    # Large kernels would start in the interpreter; sync makes the launch wait for the code.
    env = {"HEDDLE_DEVICE": kind, "HEDDLE_CACHE": "off", "HEDDLE_THREADS": "1", "HEDDLE_MEMORY": "256M", "HEDDLE_DEBUG": "sync"}
    if form.startswith("-"):
        env["HEDDLE_SKIP_PASS"], form = form[1:], "fast"
    if kind == "cpu":
        env["HEDDLE_FAULT"] = FORMS[form or "fast"]
    if level:
        env["HEDDLE_CPU"] = level
    return Device(name, [driver], env, form or "fast")


def level_forms():
    return [f"cpu/{level}:{form}" for form in MAIN_FORMS for level in LEVELS]


def passes(root):
    """Names of all passes that can be left out."""
    with open(os.path.join(root, "src/opt/passes.h"), encoding="utf-8") as file:
        names = re.findall(r"X\((ir_opt_\w+),", file.read())
    with open(os.path.join(root, "spec/gen_passes.def"), encoding="utf-8") as file:
        return names + re.findall(r'^X\(\w+, "(\w+)"', file.read(), re.M)


def levels_here(driver, wanted, where):
    """Those of HEDDLE_CPU's values that this host can execute; the others as [(level, what it says)]. A value that
    does not exist is an error."""
    good, refused = [], []
    write_batch(where, (gen_frame.HEAD + "\n.visible .entry nothing() { ret; }\n", []))
    for level in wanted:
        d = device(f"cpu/{level}", None, driver)
        said = [line for line in d.start(where, 0)[1].splitlines() if "HEDDLE_CPU=" in line]
        if said and "lacks" not in said[0]:
            raise SystemExit(said[0])
        (refused.append((level, said[0])) if said else good.append(level))
    return good, refused


def write_batch(where, programs):
    """programs: (their style's head, [(seed, entry)])."""
    head, entries = programs
    with open(f"{where}/ptx", "w", encoding="ascii") as f:
        f.write(head + "".join(text for _, text in entries))
    write_job(where, [seed for seed, _ in entries], gen_frame.OUT_TOTAL)


def write_job(where, seeds, out_B):
    with open(f"{where}/in", "wb") as f:
        for seed in seeds:
            f.write(gen_frame.input_bytes(seed))
    with open(f"{where}/job", "w", encoding="ascii") as f:
        f.write(f"{out_B} {4 * gen_frame.IN_WORDS} {gen_frame.BLOCKS}\n")
        for seed in seeds:
            f.write(f"fuzz_{seed} {' '.join(map(str, gen_frame.block_of(seed)))}\n")


def first_difference(a, b):
    """Names the first register that differs."""
    at = next(i for i in range(len(a)) if a[i] != b[i])
    for name, c, row in reversed(gen_frame.ROWS):
        if row <= at < gen_frame.STATE_B:
            size = gen_frame.CLASS_B[c]
            thread = (at - row) // size
            va, vb = (int.from_bytes(v[row + thread * size:row + thread * size + size], "little") for v in (a, b))
            return f"block {thread // gen_frame.THREADS} thread {thread % gen_frame.THREADS} register {name}: {va:#x} and {vb:#x}"
    va, vb = (int.from_bytes(v[at & ~3:(at & ~3) + 4], "little") for v in (a, b))
    return f"{'atomics' if at < gen_frame.STATE_B + 4 * gen_frame.ATOM_WORDS else 'scratch'} at byte {at & ~3}: {va:#x} and {vb:#x}"


def compare(reference, ref_answer, other, answer):
    """None when they agree, else what differs. The reference has an answer."""
    if answer[0] is None:
        return f"{reference.name}: runs; {other.name}: {answer[1]}"
    if answer[0] != ref_answer[0]:
        return f"{reference.name} and {other.name}: {first_difference(ref_answer[0], answer[0])}"
    return None


def run_batch(where, style, seeds, devices, size=None, skip=()):
    """{seed: [(device, what differs from the first device)]} of those that differ."""
    s = STYLES[style]
    entries = [(seed, s.entry(seed, size or s.size, skip)) for seed in seeds]
    return run_entries(where, s.head, entries, devices)


def run_entries(where, head, entries, devices):
    os.makedirs(where, exist_ok=True)
    write_batch(where, (head, entries))
    reference = devices[0].run(where, len(entries))
    trouble = {seed: [(devices[0], f"{devices[0].name}: {ref[1]}")] for (seed, _), ref in zip(entries, reference)
               if ref[0] is None}
    for other in devices[1:]:
        for (seed, _), ref, answer in zip(entries, reference, other.run(where, len(entries))):
            what = ref[0] is not None and compare(devices[0], ref, other, answer)
            if what:
                trouble.setdefault(seed, []).append((other, what))
    return trouble


class Reducer:
    """Deletes lines of a program while one device still disagrees with the reference."""

    def __init__(self, where, head, seed, entry, devices):
        self.where, self.head, self.seed, self.devices = where, head, seed, devices
        self.before, self.body, self.after = re.split(r"// ---- (?:begin|end)\n", entry)

    def entry(self, lines):
        return self.before + "// ---- begin\n" + "\n".join(lines) + "\n// ---- end\n" + self.after

    def disagree(self, lines):
        write_batch(self.where, (self.head, [(self.seed, self.entry(lines))]))
        answers = [d.run(self.where, 1)[0][0] for d in self.devices]
        return answers[0] is not None and answers[1] != answers[0]

    def run(self, progress=lambda lines: None):
        """The lines that are left, or None when the program agrees. `progress` gets their number as they get fewer."""
        lines = self.body.splitlines()
        if not self.disagree(lines):
            return None
        chunk = max(len(lines) // 2, 1)
        while chunk:
            at = 0
            while at < len(lines):
                progress(len(lines))
                piece = lines[at:at + chunk]
                less = lines[:at] + [s for s in piece if CONTROL.match(s)] + lines[at + chunk:]
                if len(less) < len(lines) and self.disagree(less):
                    lines = less
                else:
                    at += chunk
            chunk //= 2
        return lines


def reduce(where, style, seed, size, devices, progress=lambda lines: None):
    """Lines of the smallest program found; the whole of it lies in WHERE/SEED.min.ptx."""
    s = STYLES[style]
    os.makedirs(where, exist_ok=True)
    reducer = Reducer(where, s.head, seed, s.entry(seed, size or s.size), devices)
    lines = reducer.run(progress)
    if lines is not None:
        with open(f"{where}/{style}-{seed}.min.ptx", "w", encoding="ascii") as f:
            f.write(s.head + reducer.entry(lines))
    return lines
