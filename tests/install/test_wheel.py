#!/usr/bin/env python3
"""The Python wheel, as somebody has it who has nothing else: test_wheel.py SOURCE_ROOT BUILD [WHEEL]

Makes the wheel by `make wheel` (its build is BUILD-wheel), or takes the one that is given, and installs it into an environment of
its own. What runs there runs with an empty environment and, where namespaces of mounts can be had, without the source tree, the
build tree, and LLVM's and clang's folders of the system.
"""
import base64
import csv
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools"))
from support import Tap, write  # noqa: E402

tap = Tap()
root, build = map(os.path.abspath, sys.argv[1:3])

# What a Python program does through ctypes: compiles a kernel by NVRTC, loads and launches it.
CTYPES = """
import ctypes, heddle
rtc, cu = ctypes.CDLL("libnvrtc.so.12"), ctypes.CDLL("libcuda.so.1")
def call(function, *args):
    assert function(*args) == 0, function.__name__
program, context, module, function, memory = (ctypes.c_void_p() for _ in range(5))
size = ctypes.c_size_t()
ref = ctypes.byref
call(rtc.nvrtcCreateProgram, ref(program), b'extern "C" __global__ void k(int *p) { p[threadIdx.x] = 3 * threadIdx.x; }', b"k.cu", 0, None, None)
call(rtc.nvrtcCompileProgram, program, 0, None)
call(rtc.nvrtcGetPTXSize, program, ref(size))
ptx = ctypes.create_string_buffer(size.value)
call(rtc.nvrtcGetPTX, program, ptx)
call(cu.cuInit, 0)
call(cu.cuDevicePrimaryCtxRetain, ref(context), 0)
call(cu.cuCtxSetCurrent, context)
call(cu.cuModuleLoadData, ref(module), ptx)
call(cu.cuModuleGetFunction, ref(function), module, b"k")
call(cu.cuMemAlloc_v2, ref(memory), ctypes.c_size_t(128))
call(cu.cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, None, (ctypes.c_void_p * 1)(ctypes.addressof(memory)), None)
out = (ctypes.c_int * 32)()
call(cu.cuMemcpyDtoH_v2, out, memory, ctypes.c_size_t(128))
print("values", list(out) == [3 * i for i in range(32)])
for line in open("/proc/self/maps"):
    if "/" in line:
        print("maps", line.split()[-1])
"""

# Names by which programs open libraries, and each library once.
NAMES = """
import ctypes
for name in ("libcuda.so", "libcudart.so", "libnvrtc.so", "libnvJitLink.so", "libnvidia-ml.so", "libcudart.so.12", "libnvrtc.so.12",
             "libnvJitLink.so.12", "libcupti.so.12"):
    ctypes.CDLL(name)
version = ctypes.c_int()
assert ctypes.CDLL("libcudart.so.12").cudaRuntimeGetVersion(ctypes.byref(version)) == 0
print("runtimes", len({line.split()[-1] for line in open("/proc/self/maps") if "r-xp" in line and "libcudart.so.13" in line}))
"""

OLD_PROGRAM = """
int cudaRuntimeGetVersion(int *);
int main(void)
{
    int version = 0;
    return cudaRuntimeGetVersion(&version) || version < 12000;
}
"""


def hidden():
    """The command that runs another one where the folders of this project and of the compiler are empty; None: that cannot be done."""
    folders = [path for path in (root, build, build + "-wheel", "/usr/lib/llvm-19") if os.path.isdir(path)]
    script = "".join(f"mount -t tmpfs none '{path}' 2>/dev/null || [ ! -d '{path}' ] || exit 99; " for path in folders) + 'exec "$@"'
    for how in (["unshare", "-m"], ["unshare", "-rm"]):
        command = [*how, "sh", "-c", script, "sh"]
        if shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            return command
    return None


def user(*args, plain=False):
    """Runs a command as somebody with an empty environment."""
    env = {"PATH": "/usr/bin:/bin", "HOME": home}
    return subprocess.run([*([] if plain else hide or []), *args], env=env, cwd=home, capture_output=True, text=True, timeout=300, check=False)


def good(result, name, *texts):
    output = result.stdout + result.stderr
    tap.ok(result.returncode == 0 and all(t in output for t in texts), name, f"exit status {result.returncode}\n{output}")
    return result.returncode == 0


def make_wheel():
    done = subprocess.run(["make", "--no-print-directory", "-C", root, f"BUILD={build}", "wheel"], capture_output=True, text=True, check=False)
    path = (done.stdout.splitlines() or [""])[-1]
    tap.ok(done.returncode == 0 and os.path.exists(path), "make wheel", done.stdout + done.stderr)
    return path


def test_again(wheel):
    there = os.path.join(folder, "again")
    os.makedirs(there)
    done = subprocess.run([os.path.join(root, "scripts/wheel"), build + "-wheel", there], capture_output=True, text=True, check=False)
    files = os.listdir(there)
    with open(wheel, "rb") as one, open(os.path.join(there, files[0]) if files else os.devnull, "rb") as other:
        tap.ok(one.read() == other.read(), "the same build gives the same bytes", done.stderr)
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([os.path.join(root, "scripts/wheel"), build, out], capture_output=True, text=True, check=False)
        tap.ok(done.returncode != 0 and "-Dself_contained=true" in done.stderr and not os.listdir(out),
               "a build that needs libraries of the system is refused", done.stderr)


def test_archive(wheel):
    """The file by the rules of PEP 427 and PEP 600."""
    name = re.fullmatch(r"heddle-(.+)-py3-none-manylinux_2_(\d+)_x86_64\.whl", os.path.basename(wheel))
    tap.ok(name and int(name[2]) <= 36, "its tag is of the glibc of Debian bookworm, or an older one", wheel)
    with zipfile.ZipFile(wheel) as archive:
        items = archive.infolist()
        info = f"heddle-{name[1]}.dist-info"
        rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(f"{info}/RECORD").decode()))}
        tap.eq(sorted(rows), sorted(item.filename for item in items), "RECORD names all files")
        wrong = []
        for item in items:
            data = archive.read(item)
            digest = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            if item.filename != f"{info}/RECORD" and rows.get(item.filename) != [digest, str(len(data))]:
                wrong.append(item.filename)
        tap.eq(wrong, [], "with their digests and sizes")
        modes = {item.filename: item.external_attr >> 16 for item in items}
        tap.ok(all(mode & 0o170000 == 0o100000 for mode in modes.values()), "all are files, none a link")
        tap.ok(modes["heddle/bin/heddle"] & 0o111 and not modes["heddle/__init__.py"] & 0o111, "programs are executable")
        tap.eq({item.date_time for item in items}, {(1980, 1, 1, 0, 0, 0)}, "none has a time")
        licenses = [n for n in modes if n.startswith(f"{info}/licenses/")]
        tap.ok(f"{info}/licenses/LICENSE" in licenses and f"{info}/licenses/llvm-19-dev.txt" in licenses, "the terms of what is in it", licenses)
    return name[1]


def test_command(version):
    good(user(heddle, "--version"), "heddle", f"heddle {version}\n")
    good(user(python, "-m", "heddle", "--version"), "python -m heddle", f"heddle {version}\n")
    good(user(python, "-c", "import heddle; print(heddle.__version__, heddle.prefix())"), "heddle.prefix()", f"{version} {prefix}\n")
    good(user(os.path.join(venv, "bin/heddle-nvcc"), "--version"), "heddle-nvcc", f"nvcc: NVIDIA (R) Cuda compiler driver interface of Heddle {version}")
    info = json.loads(user(heddle, "info", "--json").stdout or "{}")
    tap.eq(len(info.get("devices", [])), 1, "there is one device")
    tap.eq([path for path in info.get("libraries", {"": ""}).values() if not (path or "").startswith(prefix + "/")], [], "all libraries are the wheel's")
    result = user(heddle, "run", "sh", "-c", 'nvcc --version && nvidia-smi -L && "$CUDA_PATH/bin/ptxas" --version && "$CUDA_PATH/profilers/nsys" --version')
    good(result, "a toolkit's commands in heddle run", f"interface of Heddle {version}", "GPU 0: ", "Heddle PTX assembler", "nsys")
    result = user(heddle, "run", "sh", "-c", "kill -PIPE $$; echo survived")
    tap.ok("survived" not in result.stdout, "signals that Python ignores are not ignored in what it starts", result.stdout)
    result = user(heddle, "run", "./absent")
    tap.eq(result.returncode, 127, "the exit status is heddle's")


def test_ctypes():
    result = user(heddle, "run", python, write(os.path.join(home, "launch.py"), CTYPES))
    good(result, "a kernel through ctypes, NVRTC and the driver", "values True")
    maps = set(re.findall(r"^maps (\S+)", result.stdout, re.M))
    foreign = [path for path in maps if re.search(r"(LLVM|clang|zstd|lz4|libz\.|stdc\+\+|sqlite|cuda|nvrtc|heddle)", path) and
               not path.startswith((prefix + "/", "/dev/shm/"))]
    tap.ok(len(maps) > 5 and not foreign, "what it loads of CUDA and of compilers is the wheel's", "\n".join(foreign))
    good(user(heddle, "run", python, write(os.path.join(home, "names.py"), NAMES)), "libraries by other names are the same ones", "runtimes 1")


def test_old_names():
    """Programs of other builds, which have a toolkit's folder in them."""
    source, program = write(os.path.join(home, "old.c"), OLD_PROGRAM), os.path.join(home, "old")
    lib64 = os.path.join(prefix, "lib/heddle/cuda/lib64")
    done = subprocess.run(["cc", source, "-o", program, f"-L{lib64}", "-lcudart", f"-Wl,-rpath,{lib64}"], capture_output=True, text=True, check=False)
    if good(done, "a program is linked with the toolkit's folder"):
        good(user(program), "and finds the runtime there")
        good(user(heddle, "run", program), "and in heddle run")


def test_cc():
    """Host code needs the system's headers of C++ and its linker; clang is the wheel's."""
    if not shutil.which("g++"):
        tap.skip("no g++")
        return
    shutil.copy(os.path.join(root, "examples/example.h"), home)
    for name in ("hello", "vecadd", "reduction"):
        source, program = shutil.copy(os.path.join(root, f"examples/{name}.cu"), home), os.path.join(home, name)
        if not good(user(heddle, "cc", "-O2", source, "-o", program), f"{name}: heddle cc"):
            continue
        good(user(heddle, "run", program), f"{name}: heddle run")
        good(user(program), f"{name}: by itself")
        good(user(heddle, "doctor", program), f"{name}: heddle doctor", "should run")
    result = user(heddle, "cc", "-v", "-c", os.path.join(home, "hello.cu"), "-o", os.path.join(home, "hello.o"))
    good(result, "the compiler is the wheel's", os.path.join(prefix, "lib/heddle/clang/bin/clang++"))
    good(user(heddle, "prof", "--stats", os.path.join(home, "vecadd")), "heddle prof", "cudaLaunchKernel")
    good(user(heddle, "check", os.path.join(home, "vecadd")), "heddle check", "ERROR SUMMARY: 0 errors")


def test_pip():
    good(user(pip, "check", plain=True), "pip check")
    there = os.path.join(folder, "moved")
    shutil.copytree(prefix, there)
    good(user(os.path.join(there, "bin/heddle"), "info"), "a moved installation", there)
    good(user(pip, "uninstall", "-y", "heddle", plain=True), "pip uninstall")
    tap.ok(not os.path.exists(prefix) and not os.path.exists(heddle), "leaves nothing")


def test_action(wheel):
    """What the GitHub action runs, as GitHub runs it, and that its file and the container's can be read."""
    temp, told = os.path.join(folder, "runner"), {name: os.path.join(folder, name) for name in ("GITHUB_PATH", "GITHUB_OUTPUT")}
    os.makedirs(temp)
    env = dict(os.environ, RUNNER_TEMP=temp, HEDDLE_WHEEL=wheel, HEDDLE_VERSION="", HEDDLE_REPOSITORY="", **told)
    done = subprocess.run(["bash", os.path.join(root, "packaging/github-action/install.sh")], env=env, capture_output=True, text=True, check=False)
    if not good(done, "the action installs the wheel", "device 0"):
        return
    with open(told["GITHUB_PATH"], encoding="utf-8") as file:
        path = file.read().strip()
    tap.eq(sorted(os.listdir(path)), ["heddle", "heddle-nvcc"], "the two commands are on the path")
    result = user("env", f"PATH={path}:/usr/bin:/bin", "heddle", "run", "sh", "-c", "echo $CUDA_PATH")
    with open(told["GITHUB_OUTPUT"], encoding="utf-8") as file:
        outputs = dict(line.strip().split("=", 1) for line in file)
    good(result, "they are found there", outputs.get("prefix", "no output prefix") + "/lib/heddle/cuda\n")
    with open(os.path.join(root, "packaging/devcontainer/devcontainer.json"), encoding="utf-8") as file:
        tap.ok(json.load(file)["build"]["dockerfile"] == "Dockerfile", "devcontainer.json is JSON")
    try:
        import yaml
    except ImportError:
        tap.skip("no PyYAML")
        return
    with open(os.path.join(root, "packaging/github-action/action.yml"), encoding="utf-8") as file:
        action = yaml.safe_load(file)
    used = set(re.findall(r"inputs\.([\w-]+)", json.dumps(action["runs"])))
    tap.eq(used, set(action["inputs"]), "action.yml uses the inputs that it has")


if len(sys.argv) < 4 and subprocess.run([os.path.join(root, "scripts/setup"), "--wheel", "--check"], capture_output=True, check=False).returncode:
    tap.skip("scripts/setup --wheel has not run: clang's archives are missing")
    tap.done()
with tempfile.TemporaryDirectory() as folder:
    folder = os.path.realpath(folder)
    home, venv = os.path.join(folder, "home"), os.path.join(folder, "venv")
    os.makedirs(home)
    the_wheel = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else make_wheel()
    if os.path.exists(the_wheel):
        the_version = test_archive(the_wheel)
        if len(sys.argv) < 4:
            test_again(the_wheel)
        hide = hidden()
        print("# the project's folders are hidden" if hide else "# the project's folders cannot be hidden here")
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        python, pip, heddle = (os.path.join(venv, "bin", name) for name in ("python", "pip", "heddle"))
        installed = good(user(pip, "install", "--no-index", the_wheel, plain=True), "pip install")
        prefix = user(python, "-c", "import heddle; print(heddle.prefix())").stdout.strip()
        if installed and prefix:
            test_command(the_version)
            test_ctypes()
            test_old_names()
            test_cc()
            test_action(the_wheel)
            test_pip()
tap.done()
