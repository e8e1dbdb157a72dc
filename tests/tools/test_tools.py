#!/usr/bin/env python3
"""heddle run, doctor, info and cache: test_tools.py HEDDLE MKIMAGE CC PRELOAD FAKE_CUDART FAKE_CUDA
EMBEDDED DOCS"""
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from support import PTX, Tap, Tool, cubin, write

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
with open(os.path.join(root, "spec/libraries.def"), encoding="utf-8") as rows:
    # in their order: the runtime's two, the driver, those of NVIDIA's toolkit, the preload
    preloaded = re.findall(r'^X\(\w+, "[^"]*", "([^"]*)", "[^"]*", PRELOADED\)', rows.read(), re.M)
heddle, mkimage, cc, preload, cudart, cuda, embedded, docs = sys.argv[1:9]
tap = Tap()


def build(name, *flags, source="int main(void) { return 7; }\n", image=None):
    """A host program; with `image`, one that carries a fat binary as nvcc would embed it."""
    path = os.path.join(folder, name)
    if image:
        source = (f'__asm__(".section .nv_fatbin, \\"a\\"\\n.p2align 3\\n.incbin \\"{image}\\"\\n"\n'
                  '".section .nvFatBinSegment, \\"aw\\"\\n.quad 0,0,0\\n.text\\n");\n' + source)
    write(path + ".c", source)
    subprocess.run([cc, "-w", path + ".c", "-o", path, *flags], check=True)
    return path


def image(name, codec, *entries):
    path = os.path.join(folder, name)
    subprocess.run([mkimage, path, codec, *entries], check=True)
    return path


def test_help():
    result = tool("--help")
    for name in ("run", "shell", "cc", "doctor", "info", "replay", "cache", "checkpoint"):
        tap.ok(f"\n  {name} " in result.stdout, f"heddle --help lists {name}", result.stdout)
        sub = tool(name, "--help")
        tap.ok(sub.returncode == 0 and sub.stdout.startswith(f"usage: heddle {name}"),
               f"heddle {name} --help", sub.stdout + sub.stderr)
        page = os.path.join(docs, f"heddle-{name}.md")
        with open(page) as f:
            text = f.read()
        options = {word.strip("`,|().") for word in text.split() if word.strip("`").startswith("--")}
        lacking = sorted(o for o in options if o not in sub.stdout)
        tap.eq(lacking, [], f"every option in heddle-{name}.md is in --help")
        wrong = tool(name, "--frobnicate")
        tap.ok(wrong.returncode == 2 and wrong.stderr, f"heddle {name}: unknown option is exit 2",
               wrong.stderr)


def commands():
    """Names of all commands, as `heddle --help` has them."""
    listed = tool("--help").stdout.split("commands:\n")[1].split("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines()]


def test_style():
    """One style of help and of errors."""
    for name in commands():
        text = tool(name, "--help").stdout
        tap.eq(tool(name, "-h").stdout, text, f"heddle {name} -h")
        tap.ok(re.match(r"usage: (heddle |nsys|ncu)", text) and (name == "help" or "\n\nexit status: " in text), f"heddle {name}: help has its parts", text)
        tap.eq([line for line in text.splitlines() if len(line) > 100 or line != line.rstrip()], [], "in lines that fit")
        if name in ("gdb", "ptxas"):  # whose options are those of others, as are their errors
            continue
        wrong = tool(name, "--frobnicate")
        tap.ok(re.fullmatch(rf"heddle: {name}: .*\(see `heddle {name} --help`\)\n", wrong.stderr) and wrong.returncode == 2 and not wrong.stdout,
               f"heddle {name}: and an error that says where it is", wrong.stderr)
    for args, why in ((("prof", "--ouput", "x"), "unknown option '--ouput'; did you mean --output?"), (("prof", "--output"), "option '--output' needs a value"),
                      (("prof", "-o"), "option '-o' needs a value"), (("prof", "-Z"), "unknown option '-Z'"), (("run", "-vZ"), "unknown option '-Z'"),
                      (("serve", "--no-kernels=1"), "option '--no-kernels' takes no value"), (("prof", "--launch", "1"), "option '--launch' can be --launch-"),
                      (("run", "--verbose", "-Z"), "unknown option '-Z'"), (("run", "--zzzzzzzz"), "unknown option '--zzzzzzzz' ("),
                      (("prfo",), "unknown command 'prfo'; did you mean 'prof'?"), (("frobnicate",), "unknown command 'frobnicate' (")):
        got = tool(*args)
        tap.ok(why in got.stderr and got.returncode == 2, " ".join(args), got.stderr)
    got = tool("prof", "--html", "page.html", "./missing")
    tap.ok("did you mean --html=page.html?" in got.stderr and got.returncode == 2, "prof --html FILE", got.stderr)
    for args in (("run", "./missing"), ("check", "./missing"), ("prof", "./missing"), ("advise", "./missing"), ("ncu", "./missing"),
                 ("nsys", "profile", "./missing"), ("gdb", "./missing")):
        got = tool(*args)
        tap.ok(got.stderr.startswith(f"heddle: {args[0]}: ./missing: ") and got.returncode == 127, f"{args[0]}: no such program", got.stderr)


def on_terminal(*args, **env):
    """What is printed on a terminal."""
    master, slave = pty.openpty()
    with subprocess.Popen([tool.heddle, *args], stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm", **env}) as process:
        process.wait()
    os.close(slave)
    text = b""
    try:
        while piece := os.read(master, 65536):
            text += piece
    except OSError:  # the other end is closed
        pass
    os.close(master)
    return text.decode()


def test_colours():
    tap.ok("\033[1moptions:\033[0m" in on_terminal("info", "--help", NO_COLOR=""), "headings stand out on a terminal")
    tap.ok("\033[1mheddle:\033[0m " in on_terminal("frobnicate", NO_COLOR=""), "as does who complains")
    for env in ({"NO_COLOR": "1"}, {"NO_COLOR": "", "TERM": "dumb"}):
        tap.ok("\033" not in on_terminal("info", "--help", **env) + on_terminal("frobnicate", **env), f"not with {env}")
    tap.ok("\033" not in tool("info", "--help").stdout, "nor in a pipe")


def test_help_command():
    tap.eq(tool("help").stdout, tool("--help").stdout, "heddle help is the summary")
    tap.eq(tool("help", "run").stdout, tool("run", "--help").stdout, "heddle help run is run's")
    tap.eq(tool("help", "help").stdout, tool("--help").stdout, "heddle help help")
    tap.eq(tool("help", "run", env={"HEDDLE_CPU": "quantum"}).returncode, 0, "a bad setting does not hide it")
    result = tool("help", "me")
    tap.ok(result.returncode == 2 and "'me'" in result.stderr, "an unknown command", result.stderr)


def complete(*words):
    """What bash offers for the last of the words."""
    script = ("source scripts/completion/heddle.bash; COMP_WORDS=(%s); COMP_CWORD=%d; _heddle; "
              'echo "${COMPREPLY[@]}"' % (" ".join(f"'{w}'" for w in (tool.heddle, *words)), len(words)))
    done = subprocess.run(["bash", "-c", script], cwd=root, capture_output=True, text=True)
    return set(done.stdout.split())


def test_completion():
    if not shutil.which("bash"):
        tap.skip("no bash")
        return
    tap.eq(complete("d"), {"dis", "doctor"}, "completion of commands")
    tap.eq(complete("run", "--de"), {"--device", "--debug"}, "and of their options")
    tap.eq(complete("cc", "--gpu-a"), {"--gpu-architecture"}, "of cc's second spelling")
    tap.ok({"-o", "-arch", "-lineinfo"} <= complete("cc", "-"), "and of its first")
    tap.eq(complete("--v"), {"--version"}, "and of heddle itself")


def test_man():
    convert = [os.path.join(root, "scripts/md2man"), os.path.join(root, "tools/heddle/commands.def"), "1.2.3"]
    for name in sorted(os.listdir(docs)):
        page = os.path.join(folder, name.replace(".md", ".1"))
        done = subprocess.run([*convert, os.path.join(docs, name), page], capture_output=True, text=True)
        tap.eq((done.returncode, done.stderr), (0, ""), f"{name} becomes a man page")
        if shutil.which("groff") and done.returncode == 0:
            shown = subprocess.run(["groff", "-man", "-Tutf8", "-ww", page], capture_output=True, text=True)
            tap.ok(shown.stderr == "" and len(shown.stdout) > 500 and "`" not in shown.stdout,
                   f"{name}: groff has nothing to say against it", shown.stderr)
    bad = write(os.path.join(folder, "bad.md"), "# heddle-run(1)\n\n### Too deep\n")
    done = subprocess.run([*convert, bad, bad + ".1"], capture_output=True, text=True)
    tap.ok(done.returncode != 0 and not os.path.exists(bad + ".1"), "what it does not know is an error")


def test_run_ptxas():
    """Clients are told of a ptxas beside heddle, unless the user has said."""
    place = os.path.join(folder, "with ptxas")
    os.makedirs(place)
    copy = shutil.copy(heddle, place)
    ptxas = os.path.join(os.path.realpath(place), "ptxas")
    names = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH")
    env = {k: v for k, v in os.environ.items() if k not in names}
    env["HEDDLE_LIBDIR"] = libs

    def seen(**more):
        result = subprocess.run([copy, "run", "env"], env={**env, **more}, capture_output=True, text=True, timeout=60)
        pairs = dict(line.split("=", 1) for line in result.stdout.splitlines() if line.startswith("TRITON_PTXAS"))
        return [pairs.get(name) for name in names]

    tap.eq(seen(), [None, None], "without a ptxas nothing names one")
    write(ptxas, "#!/bin/sh\n")
    os.chmod(ptxas, 0o644)
    tap.eq(seen(), [None, None], "nor with a file that cannot be run")
    os.chmod(ptxas, 0o755)
    tap.eq(seen(), [ptxas, ptxas], "Triton is told of the ptxas beside heddle")
    tap.eq(seen(TRITON_PTXAS_PATH="/mine"), ["/mine", ptxas], "the user's own stays")


def test_run_toolkit():
    """Clients find headers of a toolkit, unless the user has one."""
    clean = {k: v for k, v in os.environ.items() if k not in ("CUDA_PATH", "CUDA_HOME")}
    empty = os.path.join(folder, "no nvcc")
    os.makedirs(empty)
    write(os.path.join(empty, "nvcc"), "#!/bin/sh\n")

    def seen(path="/usr/bin:/bin", **more):
        result = subprocess.run([heddle, "run", "env"], env={**clean, "PATH": path, **more}, capture_output=True, text=True,
                                timeout=60)
        return next((line.split("=", 1)[1] for line in result.stdout.splitlines() if line.startswith("CUDA_PATH=")), None)

    if shutil.which("nvcc", path="/usr/bin:/bin"):
        tap.skip("there is an nvcc in /usr/bin")
        return
    found = seen() or "none"
    tap.ok(os.path.exists(os.path.join(found, "include/cuda_fp16.h")), "CUDA_PATH/include has headers", found)
    tap.eq(seen(CUDA_PATH="/mine"), "/mine", "the user's own stays")
    tap.eq(seen(CUDA_HOME="/mine"), None, "CUDA_HOME is enough")
    os.chmod(os.path.join(empty, "nvcc"), 0o755)
    tap.eq(seen(path=empty + ":/usr/bin:/bin"), None, "and so is an nvcc on the path")


def test_run():
    seven = build("seven")
    tap.eq(tool("run", seven).returncode, 7, "the program's exit code is passed on")
    tap.eq(tool("run", "true").returncode, 0, "programs are found on PATH")
    tap.eq(tool("run", "no-such-program").returncode, 127, "not found is 127")
    tap.eq(tool("run", os.path.join(folder, "none")).returncode, 127, "so is a path")
    tap.eq(tool("run", write(os.path.join(folder, "plain"), "x")).returncode, 126,
           "a file that is not executable is 126")
    tap.eq(tool("run").returncode, 2, "no program is wrong usage")
    script = write(os.path.join(folder, "script"), "#!/bin/sh\necho $HEDDLE_CPU $1 $2\n")
    os.chmod(script, 0o755)
    result = tool("run", "--cpu", "avx2", script, "--cpu", "b")
    tap.eq(result.stdout, "avx2 --cpu b\n", "options end at the program; a script inherits them")
    result = tool("run", "--device", "interp", "--threads", "3", "--machine", "default", "--debug",
                  "load", "env")
    got = set(result.stdout.split("\n"))
    tap.ok({"HEDDLE_DEVICE=interp", "HEDDLE_THREADS=3", "HEDDLE_MACHINE=default",
            "HEDDLE_DEBUG=load"} <= got, "options become environment variables", result.stdout)
    want = ":".join(os.path.join(libs, n) for n in preloaded)
    tap.ok(f"LD_PRELOAD={want}" in got, "the libraries are preloaded by path", result.stdout)
    # the folders of what a build tree has besides may follow
    paths = next((line for line in got if line.startswith("LD_LIBRARY_PATH=")), "=").split("=", 1)[1]
    tap.eq(paths.split(":")[0], libs, "and found by name")
    test_run_ptxas()
    test_run_toolkit()
    result = tool("run", "env", env={"LD_PRELOAD": os.path.join(libs, "libcuda.so.1")})
    tap.ok(f"LD_PRELOAD={want}:{libs}/libcuda.so.1" in result.stdout, "LD_PRELOAD is kept",
           result.stdout)
    for option, value, possible in (("device", "gpu", "cpu, interp"), ("cpu", "mmx", "avx2"),
                                    ("threads", "0", "1 to 256"), ("threads", "x", "1 to 256"),
                                    ("machine", "abacus", "default"), ("machine", "nonsense", "default")):
        want = (f"HEDDLE_{option.upper()}={value}", possible)
        result = tool("run", "--" + option, value, seven)
        tap.ok(result.returncode == 2 and all(w in result.stderr for w in want),
               f"--{option} {value} is refused", result.stderr)
        for command in (["run", seven], ["info"]):
            result = tool(*command, env={want[0].split("=")[0]: value})
            tap.ok(result.returncode == 2 and all(w in result.stderr for w in want),
                   f"{want[0]} heddle {command[0]} is refused", result.stderr)
    result = tool("run", "-v", seven)
    tap.ok("LD_PRELOAD=" in result.stderr and seven in result.stderr, "-v prints the command",
           result.stderr)
    result = tool("run", embedded)
    tap.ok("constructor: 0 13000" in result.stdout, "an embedded runtime is redirected",
           result.stdout + result.stderr)
    missing = os.path.join(folder, "nothing here")
    os.makedirs(missing)
    shutil.copy(preload, os.path.join(missing, "libheddle_preload.so"))
    for name in ("libcudart.so.13", "libcuda.so.1"):
        shutil.copy(cudart, os.path.join(missing, name))
    result = tool("run", seven, env={"HEDDLE_LIBDIR": missing})
    tap.ok(result.returncode == 1 and "blanks" in result.stderr,
           "a folder that the loader cannot take is an error", result.stderr)


def shell(text, *options, **env):
    """Of heddle shell, which reads what to do from its standard input."""
    return subprocess.run([tool.heddle, "shell", *options], input=text, env={**tool.env, **env},
                          capture_output=True, text=True, timeout=60)


def test_shell():
    seven = build("seven")
    result = shell(f"{embedded}\n{seven}\n", SHELL="/bin/sh")
    tap.ok("constructor: 0 13000" in result.stdout, "programs of a shell are redirected", result.stdout + result.stderr)
    tap.eq(result.returncode, 7, "its exit status is that of the last")
    result = shell("echo $0 $HEDDLE_DEVICE\n", "--device", "interp", SHELL="")
    tap.eq((result.stdout, result.stderr), ("/bin/sh interp\n", ""), "without SHELL it is /bin/sh; options hold in it")
    result = shell(f"echo $LD_PRELOAD; {tool.heddle} shell\necho $LD_PRELOAD\n", SHELL="/bin/sh")
    lines = result.stdout.splitlines()
    tap.ok(len(lines) == 2 and lines[0] == lines[1], "a shell inside changes nothing", result.stdout)
    tap.eq(shell("", SHELL="/no/such/shell").returncode, 127, "a shell that is not there")
    result = tool("shell", seven)
    tap.ok(result.returncode == 2 and "heddle run" in result.stderr, "it takes no program", result.stderr)


def test_run_check():
    sass = build("sass", image=image("sass.fatbin", "raw", f"cubin:90:{cubin90}"),
                 source="int __cudaRegisterFatBinary(void *); int cudaRuntimeGetVersion(int *v)"
                        "{ return 0; } int main(void) { return 7; }\n")
    result = tool("run", sass)
    tap.ok(result.returncode == 1 and "cubin sm_90" in result.stderr and
           "code=compute_80" in result.stderr, "machine code alone is refused with the remedy",
           result.stderr)
    tap.eq(tool("run", "--no-check", sass).returncode, 7, "--no-check runs it")
    for name, refused in ((".note.nv.tkinfo", False), (".text.k", True)):  # nvcc's linker leaves a cubin without functions in programs without kernels
        code = write(os.path.join(folder, "sections.cubin"), cubin(75, ".symtab", name))
        program = build("sections", image=image("sections.fatbin", "raw", f"cubin:75:{code}"),
                        source="int __cudaRegisterFatBinary(void *); int cudaRuntimeGetVersion(int *v) { return 0; } int main(void) { return 7; }\n")
        tap.eq((tool("run", program).returncode, "no PTX for" in tool("doctor", program).stdout), (1 if refused else 7, refused), f"a cubin with {name}")
    stripped = build("stripped", "-s", image=good_fatbin)
    result = tool("run", stripped)
    tap.ok(result.returncode == 1 and "stripped" in result.stderr and
           "-cudart shared" in result.stderr, "a stripped static program is refused with the remedy",
           result.stderr)
    runtime = "int __cudaRegisterFatBinary(void *p) { return 0; } int cudaRuntimeGetVersion(int *v) { return 0; }\n" \
        "int main(void) { return 7; }\n"
    for flag in ("-static", "-static-pie"):
        program = build("all" + flag, flag, image=good_fatbin, source=runtime)
        result = tool("run", program)
        tap.ok(result.returncode == 1 and "without -static" in result.stderr, f"{flag} is refused with the remedy",
               result.stderr)
        result = tool("doctor", program)
        tap.ok(result.returncode == 1 and "without -static" in result.stdout, f"{flag}: doctor agrees", result.stdout)


def test_doctor_images():
    for codec in ("raw", "lz4", "zstd"):
        path = image(codec + ".fatbin", codec, f"cubin:75:{cubin75}", f"ptx:75:{ptx}",
                     f"ptx:90a:{ptx}", f"ptx:121:{ptx}")
        got = tool.json("doctor", "--json", path)
        shape = [(i["kind"], i["arch"], i["compression"]) for i in got.get("images", [])]
        tap.eq(shape, [("cubin", "75", codec), ("ptx", "75", codec), ("ptx", "90a", codec),
                       ("ptx", "121", codec)], f"{codec}: the entries are listed")
        tap.ok(got.get("should_run") is True and got["ptx"]["modules"] == 1,
               f"{codec}: one module is looked at", got)
    result = tool("doctor", image("old.fatbin", "raw", f"cubin:75:{cubin75}"))
    tap.ok(result.returncode == 1 and "cubin sm_75" in result.stdout and
           "code=compute_120" in result.stdout, "no PTX is a problem with a remedy", result.stdout)
    tap.ok("1 image in 1 fat binary, 0 with PTX that this device runs" in result.stdout, "what of the images is of use", result.stdout)
    result = tool("doctor", "--cc", "9.0", image("new.fatbin", "raw", f"ptx:100:{ptx}"))
    tap.ok(result.returncode == 1 and "compute capability 9.0" in result.stdout,
           "PTX that is too new is a problem", result.stdout)
    tap.eq(tool("doctor", ptx).returncode, 0, "a bare PTX file")
    tap.eq(tool("doctor", cubin90).returncode, 1, "a bare cubin")
    with open(good_fatbin, "rb") as f:
        cut = f.read()[:-9]
    result = tool("doctor", write(os.path.join(folder, "cut.fatbin"), cut))
    tap.ok(result.returncode == 2 and "does not fit" in result.stderr, "a cut file", result.stderr)
    result = tool("doctor", os.path.join(folder, "nothing"))
    tap.ok(result.returncode == 2 and "No such file" in result.stderr, "no file", result.stderr)
    result = tool("doctor", write(os.path.join(folder, "text"), "hello"))
    tap.ok(result.returncode == 2, "a text file", result.stderr)
    tap.eq(tool("doctor", "--cc", "x", ptx).returncode, 2, "--cc x")


def test_doctor_programs():
    got = tool.json("doctor", "--json", embedded)
    tap.eq((got.get("runtime"), got.get("cuda_version"), got.get("should_run")),
           ("embedded", 13, True), "an embedded runtime")
    states = {e["name"]: e["state"] for e in got.get("entry_points", [])}
    tap.eq((states.get("cudaMalloc"), states.get("cudaCheckMine")), ("supported", None),
           "its entry points")
    tap.ok(any("not supported" in n for n in got.get("notes", [])), "what is missing is a note", got)
    shared = build("shared", os.path.join(libs, "libcudart.so.13"), "-Wl,-rpath," + libs,
                   image=good_fatbin,
                   source="int cudaMalloc(void **, unsigned long); int main(void)"
                          "{ void *p; return cudaMalloc(&p, 4); }\n")
    got = tool.json("doctor", "--json", shared)
    tap.eq((got.get("runtime"), [e["name"] for e in got.get("entry_points", [])],
            got.get("should_run")), ("shared", ["cudaMalloc"], True), "a shared runtime")
    tap.eq(tool("run", shared).returncode, 0, "which runs")
    both = tool.json("doctor", "--json", shared, embedded)
    tap.eq(len(both), 2, "two programs give an array")
    write(os.path.join(folder, "jpeg.c"), "int nvjpegCreateSimple(void *h) { return 0; }\n")
    jpeg = os.path.join(folder, "libnvjpeg.so.13")
    subprocess.run([cc, "-w", "-shared", "-fPIC", os.path.join(folder, "jpeg.c"), "-o", jpeg,
                    "-Wl,-soname,libnvjpeg.so.13"], check=True)
    needs = build("needs", jpeg, source="int nvjpegCreateSimple(void *); int main(void)"
                                        "{ return nvjpegCreateSimple(0); }\n")
    result = tool("doctor", needs)
    tap.ok(result.returncode == 1 and "nvJPEG" in result.stdout, "a missing library is a problem",
           result.stdout)
    site = os.path.join(folder, "venv/lib/site-packages")
    os.makedirs(os.path.join(site, "package"))
    os.makedirs(os.path.join(site, "nvidia/cu13/lib"))
    needs = shutil.copy(needs, os.path.join(site, "package/needs.so"))
    tap.eq(tool("doctor", needs).returncode, 1, "a wheel's, where none has the library")
    shutil.copy(jpeg, os.path.join(site, "nvidia/cu13/lib"))
    result = tool("doctor", needs)
    tap.ok(result.returncode == 0 and "a wheel beside has NVIDIA's" in result.stdout and
           "but for what needs nvJPEG" in result.stdout, "a wheel's, where a wheel beside has it", result.stdout)
    linked = build("linked", "-Wl,--no-as-needed", jpeg)
    result = tool("doctor", linked)
    tap.ok(result.returncode == 0 and "imports nothing of it" in result.stdout,
           "a library of which nothing is called is a note", result.stdout)
    for library, function in (("cublas", "cublasCreate_v2"), ("cublasLt", "cublasLtCreate")):
        source = os.path.join(folder, library + ".c")
        write(source, f"int {function}(void) {{ return 0; }}\n")
        subprocess.run([cc, "-shared", "-fPIC", "-w", source, "-o", os.path.join(folder, f"lib{library}.so.13"), f"-Wl,-soname,lib{library}.so.13"], check=True)
    both = build("both.so", "-shared", "-fPIC", *(os.path.join(folder, f"lib{library}.so.13") for library in ("cublas", "cublasLt")),
                 source="int call(void) { return cublasCreate_v2() + cublasLtCreate(); }\n")
    text = tool("doctor", both).stdout  # the libraries here have none of these
    tap.ok("cublasCreate_v2: Heddle's libcublas.so.13" in text and "cublasLtCreate: Heddle's libcublasLt.so.13" in text and text.count("does not have it") == 2,
           "functions are looked for in the library of their prefix", text)
    opens = build("opens", source='#include <stdio.h>\nint main(void) { const char *n[] = {"libnvjpeg.so.13", "ncclCommInitRank", "ncclCommDestroy", '
                                  '"ncclAllReduce", "ncclBroadcast", "cuFileRead", "libnppc.so: not a name"};'
                                  ' for (int i = 0; i < 7; i++) puts(n[i]); return 0; }\n')
    result = tool("doctor", opens)
    tap.ok(result.returncode == 0 and "opens libnvjpeg.so by name" in result.stdout and "opens libnccl.so by name" in result.stdout
           and "cuFile" not in result.stdout and "NPP" not in result.stdout and "but for what needs " in result.stdout,
           "libraries that are opened by name", result.stdout)
    tap.eq([lib["opened"] for lib in tool.json("doctor", "--json", opens)["libraries"]], [True, True], "in JSON")
    result = tool("doctor", "-v", build("nothing"))
    tap.ok(result.returncode == 0 and "does not use CUDA" in result.stdout, "a plain program",
           result.stdout)
    result = tool("doctor", build("stripped2", "-s", image=good_fatbin))
    tap.ok(result.returncode == 1 and "stripped" in result.stdout, "a stripped program",
           result.stdout)


def python_environment():
    """A folder like one of pip's: a distribution without PTX, libraries of NVIDIA's, a program of nobody's."""
    env = os.path.join(folder, "env")
    site = os.path.join(env, "lib", "site-packages")
    for name in ("torch/lib", "torch-2.0.dist-info", "nvidia/lib", "nvidia_parts-1.0.dist-info", "own"):
        os.makedirs(os.path.join(site, name))
    sass = build("sass3", image=image("sass3.fatbin", "raw", f"cubin:90:{cubin90}"),
                 source="int cudaGetDevice(int *d) { return 0; } int main(void) { return 7; }\n")
    shutil.copy(sass, os.path.join(site, "torch/lib/libtorch.so"))
    for name in ("libnvjpeg.so.13", "libnvrtc.so.13.0.88"):
        shutil.copy(os.path.join(folder, "libnvjpeg.so.13"), os.path.join(site, "nvidia/lib", name))
    shutil.copy(embedded, os.path.join(site, "own/embedded"))
    shutil.copy(build("plain_program"), os.path.join(site, "own/plain"))
    write(os.path.join(site, "own/notes.so"), "no library\n")
    write(os.path.join(site, "own/cut.so"), "\177ELF")
    os.symlink("libtorch.so", os.path.join(site, "torch/lib/again.so"))
    write(os.path.join(site, "torch-2.0.dist-info/RECORD"), "torch/lib/libtorch.so,sha256=x,1\ntorch/__init__.py,,\n")
    write(os.path.join(site, "nvidia_parts-1.0.dist-info/RECORD"),
          "nvidia/lib/libnvjpeg.so.13,,\nnvidia/lib/libnvrtc.so.13.0.88,,\n")
    return env


def check_environment(name, *args):
    result = tool("doctor", *args)
    text = result.stdout
    tap.ok(result.returncode == 1 and "torch 2.0: 0 of 1" in text and "libtorch.so" in text and "no PTX" in text and
           "PyTorch's operators run on Heddle" in text, f"{name}: a distribution without PTX, and what to use instead", text + result.stderr)
    tap.ok("nvidia_parts 1.0\n" in text and "libnvjpeg.so.13: Heddle has no nvJPEG yet" in text and
           "libnvrtc.so.13.0.88: Heddle's is used instead" in text, f"{name}: libraries of NVIDIA's", text)
    tap.ok(": 1 of 1 files that use CUDA should run" in text and "plain" not in text and "again.so" not in text,
           f"{name}: what belongs to no distribution", text)
    got = tool.json("doctor", "--json", *args)
    files = {f["path"].split("/")[-1]: f for f in got.get("files", [])}
    tap.eq(({n: (f["package"], f["should_run"]) for n, f in files.items()}, got.get("should_run")),
           ({"libtorch.so": ("torch", False), "embedded": (None, True)}, False), f"{name}: as JSON")
    tap.eq(([e["what"] for e in got.get("missing_libraries", [])], [e["package"] for e in got.get("replaced", [])]),
           (["nvJPEG"], ["nvidia_parts"]), f"{name}: its libraries")


def test_doctor_folders():
    env = python_environment()
    check_environment("folder", env)
    wheel = os.path.join(folder, "torch-2.0-py3-none-any.whl")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for base, _, names in os.walk(env):
            for name in sorted(names):
                if name != "again.so":
                    archive.write(os.path.join(base, name), os.path.relpath(os.path.join(base, name), env))
        archive.write(embedded, "../../escaped")
    check_environment("wheel", wheel)
    tap.ok(not os.path.exists(os.path.join(folder, "escaped")), "nothing leaves the folder")
    tar = os.path.join(folder, "env.tar.gz")
    subprocess.run(["tar", "-C", env, "-czf", tar, "lib"], check=True)
    check_environment("tar file", tar)
    left = os.path.join(folder, "tmp")
    os.makedirs(left)
    tool("doctor", wheel, env={"TMPDIR": left})
    tap.eq(os.listdir(left), [], "what was unpacked is removed")
    with open(wheel, "r+b") as file:
        file.truncate(os.path.getsize(wheel) // 3)
    result = tool("doctor", wheel, env={"TMPDIR": left})
    tap.ok(result.returncode == 1 and "cannot be unpacked" in result.stderr, "a wheel that is cut off", result.stderr)
    tap.eq(os.listdir(left), [], "and that, too, is removed")
    result = tool("doctor", os.path.join(env, "lib", "site-packages", "own"))
    tap.eq(result.returncode, 0, "a folder in which everything should run")
    result = tool("doctor", wheel, env={"TMPDIR": os.path.join(folder, "none")})
    tap.ok(result.returncode == 1 and "no temporary folder" in result.stderr, "no place to unpack it", result.stderr)


# An embedded runtime. The entry point is one that Heddle does not have.
EMBEDDED = """
#define KEPT __attribute__((noinline, used)) int
KEPT cudaRuntimeGetVersion(int *v) { *v = 1; return 0; }
KEPT cudaDeviceGetNvSciSyncAttributes(void) { __asm__ volatile(""); return 801; }
KEPT cudaGetDevice(int *d) { return %s; }
int main(void) { int d; return cudaGetDevice(&d) + %s; }
"""
CALL = "cudaDeviceGetNvSciSyncAttributes()"
# Device code that the link would have to complete, as a graph launch in a kernel makes it.
PTX_HEAD = ".version 8.0\n.target sm_70\n.address_size 64\n"
EXTERN = """.version 8.0
.target sm_70
.address_size 64
.extern .func (.param .b32 r) cudaGraphCreate(.param .b64 a);
.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
.extern .global .align 4 .u32 elsewhere;
.visible .entry parent(.param .u64 p)
{
    .reg .b64 %%rd<4>;
    .reg .b32 %%r<4>;
    ld.param.u64 %%rd1, [p];
    { .param .b64 a; .param .b32 r;
      st.param.b64 [a], %%rd1;
      call.uni (r), cudaGraphCreate, (a);
      call.uni (r), cudaGraphCreate, (a);
    }
    { .param .b64 a; .param .b64 b; .param .b32 r;
      st.param.b64 [a], %%rd1;
      st.param.b64 [b], %%rd1;
      call.uni (r), vprintf, (a, b);
    }
    ld.global.u32 %%r1, [elsewhere];
    ret;
}
""".replace("%%", "%")


NARROW = """.visible .entry k() { .reg .b32 %r<3>;
    mapa.u32 %r0, %r1, %r2;
    mapa.u32 %r1, %r0, %r2;
    ret; }
"""


def test_doctor_calls():
    static = ["-O1", "-no-pie"]
    result = tool("doctor", build("calls", *static, source=EMBEDDED % ("0", CALL)))
    tap.ok(result.returncode == 1 and "cudaDeviceGetNvSciSyncAttributes: not supported" in result.stdout,
           "what a static program calls and Heddle lacks is a problem", result.stdout)
    result = tool("doctor", build("inside", *static, source=EMBEDDED % (CALL, "0")))
    tap.ok(result.returncode == 0 and "1 entry points of the embedded runtime are not" in result.stdout,
           "what only the runtime calls is a note", result.stdout)
    result = tool("doctor", write(os.path.join(folder, "extern.ptx"), EXTERN))
    tap.ok(result.returncode == 1 and result.stdout.count("problem") == 2 and
           "cudaGraphCreate (parent line 14), which is not defined: this function of the runtime" in result.stdout
           and "uses elsewhere (parent line 22)" in result.stdout,
           "what device code uses and does not define, but not what the device supplies", result.stdout)
    result = tool("doctor", write(os.path.join(folder, "narrow.ptx"), PTX_HEAD + NARROW))
    tap.ok(result.returncode == 1 and result.stdout.count("problem") == 1 and
           "problem        instruction mapa.u32 (k line 5): generic addresses have 64 bits" in result.stdout and
           "2 uses" in result.stdout, "what lowering refuses of an instruction that it has", result.stdout)
    a, b = (write(os.path.join(folder, n), PTX_HEAD + text) for n, text in (
        ("a.ptx", ".extern .func there();\n.visible .entry k() { call there, (); ret; }\n"),
        ("b.ptx", ".visible .func there() { ret; }\n")))
    both = image("both.fatbin", "raw", f"ptx:70:{a}"), image("b.fatbin", "raw", f"ptx:70:{b}")
    asm = "".join(f'__asm__(".section __nv_relfatbin, \\"a\\"\\n.p2align 3\\n.incbin \\"{f}\\"\\n.text\\n");\n'
                  for f in both)
    plain = "int main(void) { return 0; }\n"
    result = tool("doctor", build("linked_device_code", source=asm + plain))
    tap.ok(result.returncode == 0 and "2 modules" in result.stdout, "relocatable modules complete each other",
           result.stdout)
    result = tool("doctor", a)
    tap.ok(result.returncode == 1 and "uses there" in result.stdout, "one alone does not", result.stdout)


def test_info():
    got = tool.json("info", "--json")
    tap.eq(got.get("driver_version"), 13000, "driver version")
    device = (got.get("devices") or [{}])[0]
    tap.eq((device.get("name"), device.get("compute_capability"), device.get("memory_B"),
            device.get("warp_size"), device.get("shared_memory_per_block_optin")),
           ('Stand-in "quoted"', "12.0", 1 << 30, 10, None), "device as the driver reports it")
    tap.ok(got["cpu"]["path"] in ("avx512", "avx2", "generic"), "code path", got)
    tap.ok(got["cpu"]["level"].split()[0] == got["cpu"]["path"], "its level", got)
    less = tool.json("info", "--json", env={"HEDDLE_CPU": "generic"})["cpu"]
    tap.eq(less["level"].split()[0], "generic", "a lower level, and what of the host it uses")
    tap.eq(tool.json("info", "--json", env={"HEDDLE_CPU": "generic"})["cpu"]["path"], "generic",
           "HEDDLE_CPU chooses it")
    result = tool("info")
    tap.ok(result.returncode == 0 and "compute capability 12.0" in result.stdout,
           "text", result.stdout)


def test_cache():
    where = tool("cache", "dir").stdout.strip()
    tap.eq(where, os.path.join(folder, "cache"), "heddle cache dir")
    os.makedirs(where)
    write(os.path.join(where, "0" * 32 + ".code"), b"x" * 1000)
    write(os.path.join(where, "mine.txt"), b"x")
    got = tool.json("cache", "--json")
    tap.eq((got.get("entries"), got.get("size_B")), (1, 1000), "heddle cache stat")
    got = tool.json("--json", "cache", "clear")
    tap.eq((got.get("removed"), got.get("entries")), (1, 0), "heddle cache clear")
    tap.eq(os.listdir(where), ["mine.txt"], "other files stay")
    tap.ok("off" in tool("cache", env={"HEDDLE_CACHE": "off"}).stdout, "the cache is off")
    tap.ok("8 MB" in tool("cache", env={"HEDDLE_CACHE_SIZE": "8M"}).stdout, "HEDDLE_CACHE_SIZE")


with tempfile.TemporaryDirectory() as folder:
    libs = os.path.join(folder, "libs")
    os.makedirs(libs)
    for source, name in ((cudart, "libcudart.so.13"), (cuda, "libcuda.so.1"),
                         (preload, "libheddle_preload.so")):
        shutil.copy(source, os.path.join(libs, name))
    os.symlink("libcudart.so.13", os.path.join(libs, "libcudart.so.12"))
    for name in preloaded[3:-1]:  # something that can be loaded
        os.symlink("libcuda.so.1", os.path.join(libs, name))
    tool = Tool(heddle, folder, libs)
    ptx = write(os.path.join(folder, "copy.ptx"), PTX)
    cubin75 = write(os.path.join(folder, "75.cubin"), cubin(75))
    cubin90 = write(os.path.join(folder, "90.cubin"), cubin(90))
    good_fatbin = image("good.fatbin", "zstd", f"ptx:75:{ptx}")
    test_help()
    test_help_command()
    test_style()
    test_colours()
    test_completion()
    test_man()
    test_run()
    test_shell()
    test_run_check()
    test_doctor_images()
    test_doctor_programs()
    test_doctor_calls()
    test_doctor_folders()
    test_info()
    test_cache()
tap.done()
