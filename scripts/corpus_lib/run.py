"""One program run on Heddle, with a cold cache, under a time limit."""
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

KEPT_B = 1 << 20
running = set()  # process groups
COMPILED = re.compile(r"compiled .*?: (\d+) us")


@dataclass
class Result:
    status: int
    out: str
    err: str
    log: str
    wall_s: float
    cpu_s: float
    timed_out: bool = False

    def compile_s(self):
        return sum(int(us) for us in COMPILED.findall(self.log)) / 1e6


def text_of(path):
    with open(path, "rb") as file:
        return file.read(KEPT_B).decode("utf-8", "replace")


def processor_s(group):
    """Processor seconds that the living processes of a group have used."""
    total, tick = 0, os.sysconf("SC_CLK_TCK")
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            total += int(fields[11]) + int(fields[12])
    return total / tick


def is_late(cpu_s, wall_s, limit_s):
    """
    Too much processor time, whatever else the machine does; or far too much time; or no work at all. Two processors
    may work for one program.
    """
    return cpu_s >= 2 * limit_s or wall_s >= 10 * limit_s or (wall_s >= limit_s and cpu_s < 0.02 * wall_s)


def wait(process, limit_s):
    """(status, processor seconds, stopped): at the limit the whole process group is killed."""
    start, stopped, cpu_s = time.monotonic(), False, 0
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.02)
        wall_s = time.monotonic() - start
        if not stopped and wall_s >= limit_s / 4:  # before that there is nothing to look at
            cpu_s = processor_s(process.pid)
            stopped = is_late(cpu_s, wall_s, limit_s)
            if stopped:
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.2)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, max(cpu_s, used.ru_utime + used.ru_stime), stopped


def stop_all(number, _frame):
    """Signal handler: what we run ends with us."""
    for group in list(running):
        os.killpg(group, signal.SIGKILL)
    os._exit(128 + number)


def execute(heddle, folder, command, timeout_s, env):
    """Runs `heddle run command` in its folder with an empty code cache; the log holds every error with its place."""
    scratch = tempfile.mkdtemp(prefix="heddle-corpus-")
    paths = {name: os.path.join(scratch, name) for name in ("out", "err", "log")}
    settings = {"HEDDLE_DEBUG": "error,jit,load", "HEDDLE_LOG": paths["log"], "HEDDLE_CACHE": os.path.join(scratch, "cache")}
    try:
        with open(paths["out"], "wb") as out, open(paths["err"], "wb") as err:
            start = time.monotonic()
            process = subprocess.Popen([heddle, "run", *command], cwd=folder, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err, env=dict(os.environ, **settings, **env), start_new_session=True,
                                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
            running.add(process.pid)
            status, cpu_s, late = wait(process, timeout_s)
            running.discard(process.pid)
            wall_s = time.monotonic() - start
        log = text_of(paths["log"]) if os.path.exists(paths["log"]) else ""
        return Result(status, text_of(paths["out"]), text_of(paths["err"]), log, wall_s, cpu_s, late)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
