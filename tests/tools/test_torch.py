#!/usr/bin/env python3
"""heddle torch, and when its layer is loaded, with libraries that stand for PyTorch's: test_torch.py HEDDLE

PyTorch itself is tried by tests/clients/torch.
"""
import json
import os
import subprocess
import sys
import tempfile

from support import Tap, clean_env, write

heddle = os.path.abspath(sys.argv[1])
tap = Tap()

# Opens libtorch_cuda.so as `import torch` does, and asks for devices twice.
PROGRAM = r"""
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int n = 0;
    if (argc > 2 && cudaGetDeviceCount(&n))
        return 1;
    if (!dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) {
        puts(dlerror());
        return 1;
    }
    puts("opened");
    fflush(stdout);
    for (int i = 0; i < 2; i++)
        if (cudaGetDeviceCount(&n) || n < 1)
            return 1;
    puts("asked");
    fflush(stdout);
    int (*shim)(int, double) = (int (*)(int, double))dlsym(dlopen(argv[1], RTLD_NOW), "torch_cuda_shim");
    if (argc > 2)
        printf("%d\n", shim(3, 0.5));
    return 0;
}
"""
# A layer, compiled in place of the real one. It redirects a function of PyTorch's that is there.
LAYER = r"""
#include <dlfcn.h>
#include <stdio.h>
static int own(int x, double y)
{
    return x * 100 + (int)(y * 10);
}
extern "C" __attribute__((visibility("default"))) const char *heddle_torch_start(bool (*redirect)(void *, void *))
{
    void *shim = dlsym(dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD), "torch_cuda_shim");
    if (shim && !redirect(shim, (void *)own))
        return "not redirected";
    puts("started");
    fflush(stdout);
    return %s;
}
"""


class Fake:
    """A folder like site-packages/torch, a tree of Heddle's tool with another layer, and a program."""

    def __init__(self, folder):
        self.folder = folder
        self.env = clean_env("CUDA_", "HEDDLE_TORCH")
        self.env["HEDDLE_CACHE"] = os.path.join(folder, "cache")
        self.root = os.path.join(folder, "site-packages/torch")
        self.library = os.path.join(self.root, "lib/libtorch_cuda.so")
        for below in ("lib", "include/torch/csrc/api/include"):
            os.makedirs(os.path.join(self.root, below))
        write(os.path.join(self.root, "version.py"), "from typing import Optional\n__version__ = '9.8.7+cu132'\n")
        for name in ("torch_cuda", "torch_cpu", "c10_cuda", "c10"):
            self.compile(f"int {name}_; int {name}_shim(int x, double y) {{ if (x > 1) __builtin_printf(\"machine code\\n\"); return (int)(x / y); }}", os.path.join(self.root, f"lib/lib{name}.so"), "c", "-shared", "-fPIC", f"-Wl,-soname,lib{name}.so")
        self.program = os.path.join(folder, "program")
        source = os.path.join(folder, "program.cu")
        write(source, PROGRAM)
        done = subprocess.run([heddle, "cc", source, "-o", self.program, "-cudart", "shared"], text=True, capture_output=True, timeout=100)
        tap.ok(done.returncode == 0, "the program builds", done.stderr)

    def compile(self, text, to, language, *options):
        subprocess.run(["c++" if language == "c++" else "cc", "-x", language, "-", "-o", to, *options], input=text, text=True, check=True, timeout=60)

    def layer(self, result):
        path = os.path.join(self.folder, "layer.so")
        self.compile(LAYER % result, path, "c++", "-shared", "-fPIC")
        return path

    def tool(self, script):
        """What `heddle run` would set HEDDLE_TOOL to."""
        path = os.path.join(self.folder, "tool")
        write(path, "#!/bin/sh\n" + script)
        os.chmod(path, 0o755)
        return path

    def torch(self, *args, tool=heddle, **env):
        return subprocess.run([tool, "torch", *args], capture_output=True, text=True, env={**self.env, **env}, timeout=100)

    def run(self, tool=None, *args, **env):
        """The program under `heddle run`; the hook's command is another one where `tool` says so."""
        command = [heddle, "run", "--no-check"]
        command += ["env", f"HEDDLE_TOOL={tool}"] if tool else []
        return subprocess.run([*command, self.program, self.library, *args], capture_output=True, text=True, env={**self.env, **env}, timeout=100)


def tool_with(fake, words, others):
    """A copy of the command whose compiler's flags are others, as a later version's may be."""
    folder = os.path.join(fake.folder, "other")
    os.makedirs(folder)
    for name in ("heddle-paths.conf", "torch-layer"):
        os.symlink(os.path.join(os.path.dirname(heddle), name), os.path.join(folder, name))
    with open(heddle, "rb") as file:
        code = file.read()
    tap.ok(code.count(words) == 1 and len(words) == len(others), "the command has its compiler's flags in one place")
    path = os.path.join(folder, "heddle")
    with open(path, "wb") as file:
        file.write(code.replace(words, others))
    os.chmod(path, 0o755)
    return path


def refused(fake, args, words, name, **env):
    done = fake.torch(*args, **env)
    tap.ok(done.returncode == 1 and words in done.stderr and not done.stdout, name, done.stdout + done.stderr)


def test_command(fake):
    tap.ok("usage: heddle torch" in fake.torch("--help").stdout, "it has a help")
    tap.eq(fake.torch().returncode, 2, "a command is wanted")
    tap.eq(fake.torch("biuld").returncode, 2, "one that there is")
    refused(fake, ["build", fake.folder + "/none"], "No such file", "a folder that is not there")
    refused(fake, ["build", fake.folder], "no lib/libtorch_cuda.so", "a folder without PyTorch")
    refused(fake, ["build", "--library", heddle], "not PyTorch's lib/libtorch_cuda.so", "another file")
    refused(fake, ["build", fake.root], "the cache is off", "no place to keep it", HEDDLE_CACHE="off")
    refused(fake, ["build", fake.root], "cannot run /nonexistent/clang: ", "no compiler", HEDDLE_CLANG="/nonexistent/clang")
    done = fake.torch("build", fake.root)
    tap.ok(done.returncode == 1 and "PyTorch 9.8.7+cu132 does not compile" in done.stderr and "error" in done.stderr,
           "headers that are not PyTorch's: the compiler's first errors", done.stderr)
    tap.eq(json.loads(fake.torch("list", "--json").stdout), {"builds": []}, "nothing was kept")
    os.rename(os.path.join(fake.root, "version.py"), os.path.join(fake.root, "moved.py"))
    refused(fake, ["build", fake.root], "no version.py with a version", "no version")
    os.rename(os.path.join(fake.root, "moved.py"), os.path.join(fake.root, "version.py"))


def test_builds(fake):
    """A compiler that makes what it is told to make."""
    compiler = os.path.join(fake.folder, "clang++")
    count = os.path.join(fake.folder, "count")
    write(compiler, f"""#!/bin/sh
echo x >> {count}
sleep 0.3
while [ "$1" != -o ]; do shift; done
cp {fake.layer("nullptr")} "$2"
""")
    os.chmod(compiler, 0o755)
    env = {"HEDDLE_CLANG": compiler}
    several = [subprocess.Popen([heddle, "torch", "build", fake.root], env={**fake.env, **env}, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    paths = {p.communicate(timeout=60)[0] for p in several}
    with open(count) as file:
        tap.ok(len(paths) == 1 and len(file.readlines()) == 1, "four processes at a time: one compiles", str(paths))
    path = paths.pop().strip()
    tap.ok("9.8.7+cu132" in path and os.path.exists(path), "what was made has PyTorch's version", path)
    tap.eq(fake.torch("list").stdout, path + "\n", "it is listed")
    tap.ok(not [name for name in os.listdir(os.path.dirname(path)) if not name.endswith((".so", ".log"))], "nothing else is left beside it")
    done = fake.run(None, **env)
    tap.eq(done.stdout, "opened\nstarted\nasked\n", "a program finds it, when it asks for devices, once")
    tap.eq(fake.torch("build", fake.root, **env).stdout.strip(), path, "it is found again")
    other = tool_with(fake, b"-std=c++20 -O2 ", b"-std=c++20 -O1 ")
    tap.ok(fake.torch("build", fake.root, tool=other, **env).stdout.strip() not in ("", path), "other flags of the compiler are another build")
    fake.compile("int changed;", fake.library, "c", "-shared", "-fPIC")
    tap.ok(fake.torch("build", fake.root, **env).stdout.strip() != path, "another build of PyTorch has another one")
    tap.eq(fake.torch("clear").stdout, "removed 3 builds\n", "they are removed")
    tap.eq(fake.torch("list").stdout, "", "and gone")


def test_hook(fake):
    good = fake.tool(f"""[ "$*" = "torch build --library {fake.library}" ] && echo {fake.layer("nullptr")}\n""")
    done = fake.run(good)
    tap.ok(done.stdout == "opened\nstarted\nasked\n" and not done.stderr, "the layer is started once, at the first question", done.stdout + done.stderr)
    done = fake.run(good, "before")
    tap.eq(done.stdout, "opened\nstarted\nasked\n305\n", "also when CUDA was used before PyTorch came; a function of PyTorch's is redirected")
    done = fake.run(good, "before", HEDDLE_TORCH="off")
    tap.eq(done.stdout, "opened\nasked\nmachine code\n6\n", "not with HEDDLE_TORCH=off")
    done = fake.run(good, HEDDLE_TORCH="off")
    tap.eq(done.stdout, "opened\nasked\n", "not with HEDDLE_TORCH=off")
    done = fake.run(fake.tool("exit 1\n"))
    tap.ok(done.stdout == "opened\nasked\n" and "operators on cuda will fail" in done.stderr, "no layer: it is said, and the program goes on", done.stderr)
    done = fake.run(fake.tool("echo /nonexistent/layer.so\n"))
    tap.ok(done.stdout == "opened\nasked\n" and "/nonexistent/layer.so" in done.stderr, "a layer that does not load", done.stderr)
    done = fake.run(fake.tool(f"echo {fake.layer(chr(34) + 'too old' + chr(34))}\n"))
    tap.ok(done.stdout == "opened\nstarted\nasked\n" and "too old" in done.stderr, "a layer that says why it cannot", done.stderr)


with tempfile.TemporaryDirectory() as folder:
    fake = Fake(os.path.realpath(folder))
    test_command(fake)
    test_hook(fake)
    test_builds(fake)
sys.exit(tap.done())
