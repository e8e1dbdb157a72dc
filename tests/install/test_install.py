#!/usr/bin/env python3
"""An installed Heddle, as a user without rights meets it: test_install.py SOURCE_ROOT BUILD [PREFIX]

Installs BUILD into an empty folder with DESTDIR, or takes what is installed at PREFIX; then compiles and
runs examples from there with nothing in the environment but PATH, as nobody when it may become nobody.
Everything that a program loads must come from the installation: the build tree is not looked into.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from support import Tap, write  # noqa: E402

NOBODY = 65534
tap = Tap()
root, build = map(os.path.abspath, sys.argv[1:3])


def as_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def user(*args, env=None):
    """Runs a command as the user, who starts with an empty environment."""
    env = dict({"PATH": "/usr/bin:/bin"}, **(env or {}))
    return subprocess.run(args, env=env, cwd=home, capture_output=True, text=True, timeout=120,
                          preexec_fn=as_nobody if os.getuid() == 0 else None)


def install(destdir):
    done = subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", destdir],
                          capture_output=True, text=True)
    tap.ok(done.returncode == 0, "meson install --destdir", done.stdout + done.stderr)
    with open(os.path.join(build, "meson-info/intro-buildoptions.json"), encoding="utf-8") as file:
        options = {o["name"]: o["value"] for o in json.load(file)}
    return destdir + options["prefix"]


def good(result, name, *texts):
    output = result.stdout + result.stderr
    tap.ok(result.returncode == 0 and all(t in output for t in texts), name,
           f"exit status {result.returncode}\n{output}")


def test_info():
    result = user(heddle, "info", "--json")
    good(result, "heddle info finds a device")
    info = json.loads(result.stdout or "{}")
    tap.ok(len(info.get("devices", [])) == 1, "there is one device", result.stdout)
    for name, path in info.get("libraries", {}).items():
        tap.ok(path and path.startswith(os.path.realpath(prefix) + "/"), f"{name} is the installed one", path)


def test_ptxas():
    good(user(os.path.join(os.path.dirname(heddle), "ptxas"), "--version"), "ptxas is installed", "Heddle", "release 13")


def test_examples():
    for name in ("hello", "vecadd", "reduction"):
        source = shutil.copy(os.path.join(root, f"examples/{name}.cu"), home)
        shutil.copy(os.path.join(root, "examples/example.h"), home)
        program = os.path.join(home, name)
        good(user(heddle, "cc", "-O2", source, "-o", program), f"{name}: heddle cc")
        if not os.path.exists(program):
            continue
        good(user(heddle, "run", program), f"{name}: heddle run")
        good(user(program), f"{name}: by itself")
        good(user(heddle, "doctor", program), f"{name}: heddle doctor", "should run")


def test_documents():
    """README's program does what README says; man pages and completion are where they are looked for."""
    with open(os.path.join(root, "README.md"), encoding="utf-8") as file:
        source = re.search(r"```c\+\+\n(.*?)```", file.read(), re.S).group(1)
    write(os.path.join(home, "vecadd.cu"), source)
    good(user(heddle, "cc", "vecadd.cu", "-o", "readme"), "README: heddle cc")
    good(user(heddle, "run", "./readme"), "README: heddle run", "no error: 1000 + 2000 = 3000")
    for page in ("heddle", "heddle-cc", "heddle-run", "heddle-doctor", "heddle-info", "heddle-cache"):
        tap.ok(os.path.exists(os.path.join(prefix, f"share/man/man1/{page}.1")), f"{page}(1)")
    for name in ("prometheus.yml", "rules.yml", "alerts.yml"):
        tap.ok(os.path.exists(os.path.join(prefix, "share/heddle/prometheus", name)), name)
    tap.ok(not os.path.exists(os.path.join(prefix, "share/doc/heddle/man")), "their sources are not installed")
    for name in ("bash-completion/completions/heddle", "zsh/site-functions/_heddle"):
        tap.ok(os.path.exists(os.path.join(prefix, "share", name)), name)


def test_linking():
    """A program finds its Heddle whatever LD_LIBRARY_PATH says."""
    hello = os.path.join(home, "hello")
    if not os.path.exists(hello):
        return
    other = os.path.join(home, "other")
    os.makedirs(other)
    empty = write(os.path.join(home, "empty.c"), "int nothing;\n")
    for name in ("libcudart.so.13", "libcuda.so.1"):
        subprocess.run(["cc", "-shared", "-fPIC", empty, "-o", os.path.join(other, name), f"-Wl,-soname,{name}"],
                       check=True)
    good(user(hello, env={"LD_LIBRARY_PATH": other}), "LD_LIBRARY_PATH with another libcudart and libcuda")
    maps = user(heddle, "run", "cat", "/proc/self/maps").stdout
    loaded = set(re.findall(r" (/\S*(?:heddle|libcuda)\S*)", maps))
    tap.ok(len(loaded) >= 3 and all(p.startswith(os.path.realpath(prefix) + "/") for p in loaded),
           "what a program gets is installed", "\n".join(sorted(loaded)))


def test_settings():
    """A setting that is not possible is named by the program itself, not only by `heddle run`."""
    hello = os.path.join(home, "hello")
    for name, value in (("HEDDLE_MEMORY", "lots"), ("HEDDLE_MACHINE", "abacus"), ("HEDDLE_CPU", "quantum")):
        result = user(hello, env={name: value})
        tap.ok(result.returncode != 0 and result.stderr.count(f"no device: {name}={value} is not possible") == 1,
               f"{name}={value}", result.stderr)
    result = user(hello, env={"HEDDLE_MACHIN": "h100"})
    tap.ok(result.returncode == 0 and result.stderr.count("the nearest is HEDDLE_MACHINE") == 1,
           "an unknown variable is named once", result.stderr)


def test_moved():
    """Tools and libraries find each other relative to themselves."""
    moved = os.path.join(folder, "moved")
    shutil.copytree(prefix, moved, symlinks=True)
    good(user(os.path.join(moved, "bin/heddle"), "info"), "a moved installation", moved)


def test_deb():
    """The Debian package, unpacked somewhere."""
    if not shutil.which("dpkg-shlibdeps"):
        tap.skip("no dpkg-shlibdeps")
        return
    made = subprocess.run([os.path.join(root, "scripts/deb"), build, folder], capture_output=True, text=True)
    deb = made.stdout.strip()
    tap.ok(made.returncode == 0 and deb.endswith(".deb") and os.path.exists(deb), "scripts/deb makes a package",
           made.stdout + made.stderr)
    control = subprocess.run(["dpkg-deb", "-f", deb], capture_output=True, text=True).stdout
    tap.ok("Package: heddle\n" in control and all(name in control for name in ("libc6", "libzstd1", "libarchive13")),
           "what it depends on", control)
    files = subprocess.run(["dpkg-deb", "-c", deb], capture_output=True, text=True).stdout
    tap.ok(all(name + "\n" in files for name in ("/usr/share/man/man1/heddle-run.1.gz", "/usr/lib/heddle/bin/ptxas -> heddle",
                                                 "/usr/share/doc/heddle/copyright")) and "/usr/bin/ptxas" not in files,
           "where its files lie", files)
    there = os.path.join(folder, "deb")
    subprocess.run(["dpkg-deb", "-x", deb, there], check=True)
    command = os.path.join(there, "usr/bin/heddle")
    good(user(command, "info"), "heddle info of the package", os.path.join(there, "usr/lib/heddle"))
    program = os.path.join(home, "from_deb")
    good(user(command, "cc", os.path.join(root, "examples/hello.cu"), "-o", program), "its heddle cc compiles")
    good(user(command, "run", program), "and what it compiled runs")


with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o755)
    home = os.path.join(folder, "home")
    os.makedirs(home)
    os.chmod(home, 0o777)
    prefix = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else install(os.path.join(folder, "dest"))
    heddle = os.path.join(prefix, "bin/heddle")
    test_info()
    test_ptxas()
    test_examples()
    test_documents()
    test_linking()
    test_settings()
    test_moved()
    test_deb()
tap.done()
