"""Runs the files of a client's own test suite with pytest, each in a process of its own, under `heddle run`.

A test that ends or hangs its process is recorded as such, and the file goes on behind it in a new process.
"""
import json
import os
import signal
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SILENT_S = 300  # without a line: the process hangs


def read_lines(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def stop(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def wait(process, lines, silent_s):
    """Waits for the end, or for `silent_s` without a line. Returns whether it ended by itself."""
    seen, since = -1, time.monotonic()
    while process.poll() is None:
        size = os.path.getsize(lines) if os.path.exists(lines) else 0
        if size != seen:
            seen, since = size, time.monotonic()
        elif time.monotonic() - since > silent_s:
            stop(process)
            return False
        time.sleep(0.2)
    return True


def unfinished(lines):
    """The test that began last, if its end is missing."""
    ended = {line["test"] for line in lines if "test" in line}
    begun = [line["begin"] for line in lines if "begin" in line]
    return begun[-1] if begun and begun[-1] not in ended else None


def run_once(command, cwd, env, folder, silent_s):
    """One process. Returns (the lines it wrote, what became of it, the tail of what it printed)."""
    lines, output = os.path.join(folder, "lines"), os.path.join(folder, "output")
    if os.path.exists(lines):
        os.unlink(lines)
    with open(output, "wb") as out:
        process = subprocess.Popen(command, cwd=cwd, env=dict(env, CLIENT_SUITE_LINES=lines), stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        ended = wait(process, lines, silent_s)
    with open(output, "rb") as file:
        tail = file.read()[-3000:].decode("utf-8", "replace")
    return read_lines(lines), "exit %d" % process.returncode if ended else "hang", tail


def run_file(command, path, cwd, env, silent_s=SILENT_S):
    """The records of one test file, in order."""
    records = []
    with tempfile.TemporaryDirectory() as folder:
        done = os.path.join(folder, "done")
        env = dict(env, CLIENT_SUITE_DONE=done, PYTHONPATH=os.pathsep.join(filter(None, [HERE, env.get("PYTHONPATH")])))
        while True:
            lines, end, tail = run_once([*command, path], cwd, env, folder, silent_s)
            records += [line for line in lines if "test" in line]
            lost = unfinished(lines)
            if not lost:
                if not lines and end != "exit 5":  # 5: pytest found no test
                    records.append({"test": path, "outcome": "failed", "message": f"{end}\n{tail}", "seconds": 0.0, "collect": True})
                return records
            records.append({"test": lost, "outcome": "failed", "message": f"ended its process: {end}\n{tail}", "seconds": 0.0})
            with open(done, "a", encoding="utf-8") as file:
                file.writelines(line["test"] + "\n" for line in records[-len(lines) - 1:])


def pytest_command(heddle, python, timeout_s, extra=()):
    return [heddle, "run", python, "-m", "pytest", "-p", "recorder", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider",
            f"--timeout={timeout_s}", *extra]
