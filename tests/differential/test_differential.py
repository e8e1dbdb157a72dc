#!/usr/bin/env python3
"""Random kernels must give the same bytes on every device (TAP).

    test_differential.py [--interp RUN_INTERP] [--driver LIBCUDA] [--devices cpu,interp]
                         [--seeds FIRST:COUNT] [--size N] [--keep DIR] [--reduce]

The first device is the reference: the interpreter on unoptimised IR when --interp is given. A
failing seed is printed with the first differing register; --reduce deletes lines of the program while
the devices still disagree and leaves DIR/SEED.min.ptx.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gen_ptx  # noqa: E402

# Lines that reduction keeps: labels, branches and loop counters.
CONTROL = re.compile(r"\s*(\$L\d+:|@!?%q|bra|brx|@!?%p\d bra|sub\.u32 %c|and\.b32 %c|setp\.eq\.u32 %q)")

HERE = os.path.dirname(os.path.abspath(__file__))


class Device:
    def __init__(self, tag, command, env=None):
        self.tag, self.command, self.env = tag, command, env or {}

    def run(self, where, seeds):
        args = self.command + [where, self.tag, str(gen_ptx.OUT_TOTAL), str(gen_ptx.BLOCKS),
                               str(gen_ptx.THREADS)] + [str(s) for s in seeds]
        env = dict(os.environ, **self.env)
        try:
            p = subprocess.run(args, env=env, capture_output=True, timeout=300)
            return "" if p.returncode == 0 else f"exit {p.returncode}: {p.stderr.decode()[-300:]}"
        except subprocess.TimeoutExpired:
            return "timeout"

    def answer(self, where, seed):
        """(output, None) or (None, why there is none)"""
        for kind in ("out", "err"):
            path = f"{where}/{seed}.{self.tag}.{kind}"
            if os.path.exists(path):
                with open(path, "rb") as f:
                    data = f.read()
                return (data, None) if kind == "out" else (None, data.decode(errors="replace"))
        return None, "no answer (crashed?)"

    def forget(self, where, seed):
        for kind in ("out", "err"):
            try:
                os.unlink(f"{where}/{seed}.{self.tag}.{kind}")
            except FileNotFoundError:
                pass


def write_program(where, seed, ptx):
    with open(f"{where}/{seed}.ptx", "w") as f:
        f.write(ptx)
    with open(f"{where}/{seed}.in", "wb") as f:
        f.write(gen_ptx.input_bytes(int(str(seed).split("-")[0])))


def first_difference(a, b):
    """Names the first register that differs."""
    names = [f"%{c}{i}" for c, n in gen_ptx.COUNTS.items() for i in range(n)]
    per_thread = gen_ptx.OUT_BYTES
    for at in range(0, len(a), 8):
        if a[at:at + 8] == b[at:at + 8]:
            continue
        va, vb = (int.from_bytes(v[at:at + 8], "little") for v in (a, b))
        if at >= per_thread * gen_ptx.THREADS * gen_ptx.BLOCKS:
            return f"atomics at byte {at}: {va:#x} and {vb:#x}"
        thread, reg = at // per_thread, names[at % per_thread // 8]
        return f"thread {thread} register {reg}: {va:#x} and {vb:#x}"
    return "nothing"


def compare(devices, where, seed):
    """None when all agree, else what differs."""
    reference, why = devices[0].answer(where, seed)
    for device in devices[1:]:
        data, why_not = device.answer(where, seed)
        if data is None and reference is None:
            continue
        if data is None or reference is None:
            return f"{devices[0].tag}: {why or 'runs'}; {device.tag}: {why_not or 'runs'}"
        if data != reference:
            return f"{devices[0].tag} and {device.tag}: {first_difference(reference, data)}"
    return None if reference is not None else f"{devices[0].tag}: {why}"


def disagree(devices, where, name, ptx):
    write_program(where, name, ptx)
    for d in devices:
        d.forget(where, name)
        d.run(where, [name])
    answers = [d.answer(where, name)[0] for d in devices]
    return all(a is not None for a in answers) and any(a != answers[0] for a in answers)


def reduce(devices, where, seed):
    with open(f"{where}/{seed}.ptx") as f:
        head, body, tail = re.split(r"// ---- (?:begin|end)\n", f.read())
    lines = body.splitlines()
    chunk = max(len(lines) // 4, 1)
    while chunk:
        at = 0
        while at < len(lines):
            piece = lines[at:at + chunk]
            keep = [s for s in piece if CONTROL.match(s)]
            less = lines[:at] + keep + lines[at + chunk:]
            text = head + "// ---- begin\n" + "\n".join(less) + "\n// ---- end\n" + tail
            if len(less) < len(lines) and disagree(devices, where, f"{seed}-r", text):
                lines = less
                with open(f"{where}/{seed}.min.ptx", "w") as f:
                    f.write(text)
            else:
                at += chunk
        chunk //= 2
    print("# reduced to:")
    for s in lines:
        print(f"#   {s}")


def sanitizer_environment():
    """Python is not built with a sanitizer: its runtime must be there before the driver library."""
    runtime = os.environ.get("HEDDLE_SANITIZER_RUNTIME")
    if not runtime:
        return {}
    return {"LD_PRELOAD": runtime, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def make_devices(args):
    devices = []
    if args.interp:
        devices.append(Device("noopt", [args.interp, "noopt"]))
        devices.append(Device("opt", [args.interp, "opt"]))
    for name in filter(None, args.devices.split(",")) if args.driver else []:
        devices.append(Device(name, [sys.executable, os.path.join(HERE, "run_driver.py"), args.driver],
                              {"HEDDLE_DEVICE": name} | sanitizer_environment()))
    return devices


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--interp")
    p.add_argument("--driver")
    p.add_argument("--devices", default="interp,cpu")
    p.add_argument("--seeds", default="1:20")
    p.add_argument("--size", type=int, default=60)
    p.add_argument("--keep")
    p.add_argument("--reduce", action="store_true")
    args = p.parse_args()
    devices = make_devices(args)
    if len(devices) < 2:
        print("1..0 # SKIP fewer than two devices to compare")
        return 0
    where = args.keep or tempfile.mkdtemp(prefix="differential-")
    os.makedirs(where, exist_ok=True)
    first, count = (int(n) for n in args.seeds.split(":"))
    seeds = list(range(first, first + count))
    for seed in seeds:
        write_program(where, seed, gen_ptx.generate(seed, args.size))
    for d in devices:
        for seed in seeds:
            d.forget(where, seed)
        trouble = d.run(where, seeds)
        if trouble:
            print(f"# {d.tag}: {trouble}")
    failed = 0
    print(f"1..{len(seeds)}")
    for i, seed in enumerate(seeds):
        what = compare(devices, where, seed)
        print(f"{'not ' if what else ''}ok {i + 1} - seed {seed}")
        if what:
            failed += 1
            print(f"# {what}")
            if args.reduce and disagree(devices, where, f"{seed}-r", open(f"{where}/{seed}.ptx").read()):
                reduce(devices, where, seed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
