#!/usr/bin/env python3
"""A program with raised privileges does not do what the environment of whoever runs it says.

    test_secure.py PROGRAM TOOL
"""
import os
import shutil
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from support import Tap  # noqa: E402

PROGRAM, TOOL = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
NOBODY = 65534
tap = Tap()


def variables(folder):
    """Each variable, and the file or folder that shows that it was obeyed."""
    path = lambda name: os.path.join(folder, name)  # noqa: E731
    return {
        "HEDDLE_LOG": (path("a.log"), path("a.log")),
        "CUDA_LOG_FILE": (path("cuda.log"), path("cuda.log")),
        "CUDA_INJECTION64_PATH": (TOOL, path("tool")),
        "HEDDLE_CACHE": (path("cache"), path("cache")),
        "HEDDLE_REGISTRY": (path("registry"), path("registry")),
        "XDG_CACHE_HOME": (path("xdg"), path("xdg")),
        "HOME": (path("home"), path("home/.cache")),
    }


def run(program, user, folder, names):
    env = {"HEDDLE_DEBUG": "api", "HEDDLE_MEMORY": "64M", "TOOL_MARK": os.path.join(folder, "tool")}
    env.update({name: value for name, (value, _) in variables(folder).items() if name in names})
    return subprocess.run(["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", program], env=env,
                          capture_output=True, text=True, check=False, timeout=60)


def reachable(path):
    """May everybody go there?"""
    while path != "/":
        path = os.path.dirname(path)
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
    return True


def main():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        print("1..0 # SKIP needs root and setpriv")
        return
    if not reachable(PROGRAM) or not reachable(TOOL):
        print("1..0 # SKIP other users may not read the build folder")
        return
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        raised = os.path.join(top, "raised")
        shutil.copy(PROGRAM, raised)
        os.chmod(raised, 0o4755)
        plain = os.path.join(top, "plain")
        shutil.copy(PROGRAM, plain)
        names = list(variables(top))
        for kind, program in (("plain", plain), ("raised", raised)):
            for name in names:
                folder = os.path.join(top, f"{kind}-{name}")
                os.makedirs(os.path.join(folder, "home"))
                for made in (folder, os.path.join(folder, "home")):
                    os.chown(made, NOBODY, NOBODY)
                result = run(program, NOBODY, folder, [name])
                secure, _, word = result.stdout.partition(" ")
                if kind == "raised" and secure != "1":
                    tap.skip("the file system ignores setuid")
                    continue
                tap.eq((word, result.returncode), ("4711\n", 0), f"{kind}, {name}: the kernel runs")
                mark = variables(folder)[name][1]
                tap.eq(os.path.exists(mark), kind == "plain", f"{kind}, {name}: whether it is obeyed")
    tap.done()


if __name__ == "__main__":
    main()
