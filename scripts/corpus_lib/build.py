"""Programs compiled in a variant, each in a copy of its folder (of links) beside its neighbours' data."""
import functools
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import cuda_toolkit  # noqa: E402
import table  # noqa: E402

TIMEOUT_S = 1800  # nvcc takes ten minutes for some tests of Thrust, on one busy processor
HARNESS_TIMEOUT_S = 3600  # once for all programs of a kind
SOURCES = ("*.cu", "*.cpp", "*.cc", "*.c")


@functools.cache
def nvcc_home():
    nvcc = cuda_toolkit.find_nvcc()
    return nvcc and cuda_toolkit.home(nvcc)


def compiler(variant, heddle):
    return f"{heddle} cc" if variant.compiler == "heddle-cc" else os.path.join(nvcc_home() or "", "bin", "nvcc")


def toolkit(place, variant):
    """A folder like a toolkit's, whose nvcc is the stand-in: for builds that know only a toolkit's path."""
    top = os.path.join(place.top, "build", str(variant), "toolkit")
    os.makedirs(os.path.join(top, "bin"), exist_ok=True)
    links = {"bin/nvcc": os.path.join(HERE, "nvcc")}
    if nvcc_home():
        links.update({name: os.path.join(nvcc_home(), name) for name in ("include", "lib64")})
    for name, target in links.items():
        if not os.path.lexists(os.path.join(top, name)):
            os.symlink(target, os.path.join(top, name))
    return top


def environment(place, variant, program, heddle):
    path = os.path.join(toolkit(place, variant), "bin") + os.pathsep + os.environ.get("PATH", "")
    return dict(os.environ, PATH=path, CORPUS_COMPILER=compiler(variant, heddle), CORPUS_ARCH=variant.arch,
                CORPUS_CUDART=variant.cudart, CORPUS_OPT=variant.opt,
                CORPUS_FLAGS=place.expanded(program.options.get("flags", "").replace(",", " ")))


def own_folder(path):
    """Makes a folder; a link of that name, to a folder of the sources, gives way."""
    if os.path.islink(path):
        os.unlink(path)
    os.makedirs(path, exist_ok=True)


def link_neighbours(source, tree, folder):
    """Programs read `../other/data` and `../../Common`: what lies beside them lies beside the copy too."""
    at, to = source, tree
    for part in folder.split("/"):
        own_folder(to)
        for name in os.listdir(at):
            if name != part and name != ".git" and not os.path.lexists(os.path.join(to, name)):
                os.symlink(os.path.join(at, name), os.path.join(to, name))
        at, to = os.path.join(at, part), os.path.join(to, part)


def copy_links(source, target):
    """A tree of folders whose files are links: what the build and the program write stays in the copy."""
    for top, _, files in os.walk(source):
        into = os.path.join(target, os.path.relpath(top, source))
        os.makedirs(into, exist_ok=True)
        for name in files:
            os.symlink(os.path.join(top, name), os.path.join(into, name))


def prepare(place, variant, program):
    source = os.path.realpath(place.source(program.repo))
    tree = place.built_tree(variant, program.repo)
    target = os.path.join(tree, program.copy)
    if not os.path.isdir(os.path.join(source, program.folder)):
        raise FileNotFoundError(f"no folder {program.folder} in {source}: run scripts/corpus fetch")
    with place.lock(variant, program.repo):  # a neighbour's copy may be made at the same time
        link_neighbours(source, tree, program.folder)
        own_folder(target)
        shutil.rmtree(target)
        copy_links(os.path.join(source, program.folder), target)
    return target


def make_command(place, variant, program, target):
    """Builder make: the program's own Makefile. Options: var=NAME,.. that hold the compiler, target=.., dir=.."""
    stand_in = os.path.join(HERE, "nvcc")
    tool = toolkit(place, variant)
    variables = [f"{name}={stand_in}" for name in program.options.get("var", "CC").split(",") if name]
    variables += [f"{name}={tool}" for name in ("CUDA_DIR", "CUDA_HOME", "CUDA_PATH", "CUDA_INSTALL_PATH")]
    goals = program.options.get("target", "").split()
    return ["make", "-C", os.path.join(target, program.options.get("dir", ".")), *variables, *goals]


def lambdas(variant):
    """clang has lambdas in device code without being asked."""
    return ["--extended-lambda", "-Wno-deprecated-gpu-targets"] if variant.compiler == "nvcc" else []


def files_command(place, variant, program, target, flags, objects):
    """Builders cuda-dir and files: one call of the compiler. Options: files=a.cu,b.cpp  flags=..  libs=a,b  skip=.."""
    if program.builder == "files":
        sources = program.options["files"].split(",")
    else:
        skipped = program.options.get("skip", "").split(",")
        found = (glob.glob(os.path.join(target, pattern)) for pattern in SOURCES)
        sources = sorted(os.path.basename(path) for paths in found for path in paths)
        sources = [name for name in sources if name not in skipped]
    common = os.path.join(os.path.realpath(place.source(program.repo)), "Common")
    command = [os.path.join(HERE, "nvcc"), *flags, "-I.", f"-I{common}", "-o", "program"]
    libs = ["-l" + lib for lib in program.options.get("libs", "").split(",") if lib]
    return command + lambdas(variant) + sources + objects + libs


def run_step(command, target, env, timeout_s=TIMEOUT_S):
    try:
        done = subprocess.run(command, cwd=target, env=env, capture_output=True, text=True, errors="replace",
                              timeout=timeout_s, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "the build exceeds its time limit"
    except FileNotFoundError as error:
        return str(error)
    said = (done.stderr + done.stdout).strip().splitlines()
    lines = [line for line in said if re.search(r"error|fatal", line, re.I) and not line.startswith("make")] + said[-1:]
    return (lines or ["the build failed"])[0].strip()[:300] if done.returncode else None


def shared(place, variant, program, env):
    """([flags], [objects], what went wrong or None): what a program is built with besides its own sources. Its harness
    is compiled once for a variant."""
    flags, objects = ["-std=c++17"], []
    if "harness" not in program.options:
        return flags, objects, None
    harness = table.harnesses()[program.options["harness"]]
    flags += place.expanded(harness.flags).split()
    folder = os.path.join(place.top, "build", str(variant), "harness", harness.copy())
    os.makedirs(folder, exist_ok=True)
    with place.lock(variant, "harness", harness.name):
        for repo, source in harness.sources:
            objects.append(os.path.join(folder, source.replace("/", "_") + ".o"))
            if os.path.exists(objects[-1]):
                continue
            command = [os.path.join(HERE, "nvcc"), *lambdas(variant), *flags, *harness.source_flags.split(), "-c", "-o",
                       objects[-1] + ".new", os.path.join(os.path.realpath(place.source(repo)), source)]
            why = run_step(command, folder, dict(env, CORPUS_FLAGS=""), HARNESS_TIMEOUT_S)
            if why:
                return flags, objects, f"{source}: {why}"
            os.rename(objects[-1] + ".new", objects[-1])
    return flags, objects, None


def unit_command(place, variant, program, path, flags, objects):
    """Builder unit: one source, compiled with its harness."""
    source = os.path.join(os.path.realpath(place.source(program.repo)), program.folder)
    return [os.path.join(HERE, "nvcc"), *lambdas(variant), *flags, "-o", path, source, *objects]


def build(place, variant, program, heddle):
    """Returns what went wrong, or None."""
    env = environment(place, variant, program, heddle)
    flags, objects, why = shared(place, variant, program, env)
    if why:
        return why
    if program.builder == "unit":
        folder, path = executable(place, variant, program)
        os.makedirs(folder, exist_ok=True)
        return run_step(unit_command(place, variant, program, path, flags, objects), folder, env)
    try:
        target = prepare(place, variant, program)
    except OSError as error:
        return str(error)
    if program.builder == "make":
        command = make_command(place, variant, program, target)
    else:
        command = files_command(place, variant, program, target, flags, objects)
    why = run_step(command, target, env)
    for name in program.options.get("image", "").split(","):
        if name and not why:
            source, output = name.split(":")
            kind = "-" + output.rsplit(".", 1)[1]
            why = run_step([os.path.join(HERE, "nvcc"), kind, "-o", output, source], target, env)
    return why


def executable(place, variant, program):
    if program.builder == "unit":
        target = os.path.join(place.built_tree(variant, program.repo), "units", program.name)
        return target, os.path.join(target, "program")
    default = "main" if program.builder == "make" else "program"
    target = os.path.join(place.built_tree(variant, program.repo), program.copy)
    return target, os.path.join(target, program.options.get("program", default))
