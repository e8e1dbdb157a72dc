#!/usr/bin/env python3
"""Makes what derives from the tables of entry points, spec/api/driver.def and runtime.def.

    gen_api.py                     the files that are kept: prototypes of include/cuda, docs/cuda-coverage.md;
                                   --check only compares
    gen_api.py header API OUT      at build time, API is driver or runtime: argument structs, ids,
                                   prototypes of what the tables say is implemented
    gen_api.py source API OUT      the exported functions: taps, stubs, twins, version aliases
    gen_api.py map OUT             the linker's version script of libcudart
"""
import collections
import os
import re
import sys
import textwrap

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
DRIVER = os.path.join(ROOT, "spec/api/driver.def")
RUNTIME = os.path.join(ROOT, "spec/api/runtime.def")
CAPTURE = os.path.join(ROOT, "spec/api/capture.def")
COMPILER = os.path.join(ROOT, "spec/api/compiler_calls.def")
NODES = {"12": ("BOTH", "V12"), "13": ("BOTH", "V13")}

Param = collections.namedtuple("Param", "out inout opt type name default")


# Work while a checkpoint keeps all other calls waiting.
ANYTIME = re.compile("cuCheckpoint")
# Need next to no stack.
SHALLOW = {"cudaGetErrorName", "cudaGetErrorString", "__cudaPushCallConfiguration"}
# What these return is the failure of another call.
NO_FAILURE = {"cudaGetLastError", "cudaPeekAtLastError"}


class Entry:
    """A row of either table."""

    def __init__(self, symbol, twin, have, result, params):
        self.symbol, self.twin, self.have, self.result, self.params = symbol, twin, have, result, params
        self.name, self.since, self.nodes = symbol, 0, "BOTH"
        self.impl = ""  # the function behind it
        self.has_split = False  # the symbol has a row for 12 and one for 13
        self.title = symbol  # what tools show
        self.is_plumbing = False  # no call of the program's
        self.is_unsafe = False  # spec/api/capture.def: UNSAFE

    def stream(self):
        """The parameter in which a PTSZ twin replaces 0, or None: the function takes one more."""
        streams = [p for p in self.params if p.type in ("CUstream", "cudaStream_t")]
        return streams[0] if self.twin == "PTSZ" and streams else None

    def has_null_stream(self):
        return self.twin != "NONE" and not self.stream()

    def tells(self):
        return self.result in ("CUresult", "cudaError_t")


def balanced(text, at):
    """The text between the parenthesis at `at` and its partner, and the place behind."""
    depth, end = 0, at
    while True:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
        if not depth:
            return text[at + 1:end - 1], end


def parse_param(text):
    match = re.fullmatch(r"(out |inout )?(opt )?(.*?)(\w+)(?: = (.+))?", text)
    direction, opt, kind, name, default = match.groups()
    return Param(direction == "out ", direction == "inout ", bool(opt), kind.strip(), name, default)


def rows(path):
    """Yields the columns of each row, the parameters as a list."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = text[text.index("*/"):]
    for match in re.finditer(r"^X\(", text, re.M):
        row, _ = balanced(text, match.end() - 1)
        head, params = row.split("(", 1)
        params = " ".join(params.rstrip()[:-1].split())
        columns = [column.strip() for column in head.split(",")][:-1]
        yield columns, [] if params == "void" else [parse_param(p.strip()) for p in params.split(",")]


def read_driver():
    table = []
    for (symbol, name, since, twin, have), params in rows(DRIVER):
        entry = Entry(symbol, twin, have, "CUresult", params)
        entry.name, entry.since, entry.impl = name, int(since), "drv_" + symbol
        table.append(entry)
    with open(CAPTURE, encoding="utf-8") as file:
        classes = re.findall(r"^X\((\w+), (\w+)\)$", file.read(), re.M)
    class_of = dict(classes)
    names = {entry.name for entry in table}
    for what, wrong in [("twice", {name for name, n in collections.Counter(name for name, _ in classes).items() if n > 1}),
                        ("not in driver.def", class_of.keys() - names), ("missing", names - class_of.keys()),
                        ("NONE is what REFUSES", {e.name for e in table
                                                  if e.name in class_of and (class_of[e.name] == "NONE") != (e.have == "REFUSES")})]:
        if wrong:
            sys.exit(f"gen_api.py: capture.def: {what}: {', '.join(sorted(wrong))}")
    for entry in table:
        entry.is_unsafe = class_of[entry.name] == "UNSAFE"
    return table


def read_runtime():
    table = []
    for (symbol, nodes, twin, have, result), params in rows(RUNTIME):
        entry = Entry(symbol, twin, have, result, params)
        entry.nodes, entry.impl = nodes, "rt_" + symbol
        table.append(entry)
    count = collections.Counter(entry.symbol for entry in table)
    for entry in table:
        entry.has_split = count[entry.symbol] > 1
        if entry.has_split and entry.nodes == "V12":
            entry.impl = "rt12_" + entry.symbol
    note_compiler_calls(table)
    return table


def read_compiler_calls():
    """symbol: (it is plumbing, its title)"""
    with open(COMPILER, encoding="utf-8") as file:
        found = re.findall(r"^X\((\w+), (CALL|PLUMBING), (\w+|-), \"", file.read(), re.M)
    return {symbol: (part == "PLUMBING", symbol if title == "-" else title) for symbol, part, title in found}


def note_compiler_calls(table):
    """What spec/api/compiler_calls.def says of the rows; it speaks of all that compilers write, and of nothing else."""
    calls = read_compiler_calls()
    for entry in table:
        if entry.symbol in calls:
            entry.is_plumbing, entry.title = calls[entry.symbol]
    wrong = {entry.symbol for entry in table if entry.symbol.startswith("__")} ^ set(calls)
    if wrong:
        sys.exit(f"gen_api.py: of runtime.def and compiler_calls.def only one has: {', '.join(sorted(wrong))}")
    names = {entry.symbol for entry in table}
    for entry in table:
        if entry.title not in names or entry.is_plumbing != (entry.symbol.startswith("__") and entry.title == entry.symbol):
            sys.exit(f"gen_api.py: compiler_calls.def: {entry.symbol}: a CALL has the title of a row of runtime.def, PLUMBING none")


READ = {"driver": read_driver, "runtime": read_runtime}


# ---- C text

def declare(param):
    return f"{param.type}{'' if param.type.endswith('*') else ' '}{param.name}"


def wrap(head, params, tail):
    """head(params)tail within 100 columns."""
    line = f"{head}({', '.join(params) or 'void'}){tail}"
    if len(line) <= 100:
        return line
    glued = ", ".join(p.replace(" ", "\0") for p in params)
    body = textwrap.wrap(glued, 95, break_long_words=False, break_on_hyphens=False)
    return f"{head}(\n    " + "\n    ".join(body).replace("\0", " ") + f"){tail}"


def implementation(entry):
    params = [declare(p) for p in entry.params]
    if entry.has_null_stream():
        params.append("CUstream null_stream")
    return wrap(f"{result_of(entry)}{entry.impl}", params, "")


def result_of(entry):
    return entry.result if entry.result.endswith("*") else entry.result + " "


def symbols(entry):
    """(symbol, is the twin) of what is exported for a row."""
    yield entry.symbol, False
    if entry.twin != "NONE":
        yield entry.symbol + "_" + entry.twin.lower(), True


def tag(entry, symbol):
    """Name of a row's structs and ids: a symbol that 12 has differently is another one there."""
    return symbol + ("_v12" if entry.has_split and entry.nodes == "V12" else "")


def c_header(api, table):
    guard = f"HD_API_{api.upper()}_ENTRIES_H"
    out = [f"/* Made by scripts/gen_api.py from spec/api/{api}.def. */", f"#ifndef {guard}",
           f"#define {guard}", "", *({"runtime": ['#include "api/runtime/interop.h"', ""], "driver": []}[api]),
           "/* The place of an entry in its table. */", f"enum {api}_entry {{"]
    out += [f"    {api.upper()}_ENTRY_{tag(e, s)}," for e in table for s, _ in symbols(e)]
    out += [f"    {api.upper()}_ENTRY_COUNT", "};", "",
            "/* What a tap's `args` points to: the arguments as they were passed. A twin has its base's. */"]
    for e in table:
        out.append(f"struct {tag(e, e.symbol)}_params {{")
        out += [f"    {declare(p)};" for p in e.params] or ["    char none;"]
        out.append("};")
    out += ["", "/* The functions behind what is exported. */"]
    out += [implementation(e) + ";" for e in table if e.have != "NO"]
    if api == "driver":
        out += ["", "/* What cuda.h does not declare. */"]
        public = {e.symbol for e in table if public_driver(e, newest(table))}
        out += [wrap("CUresult " + s, [declare(p) for p in e.params], ";")
                for e in table for s, twin in symbols(e) if twin or e.symbol not in public]
    return "\n".join(out) + "\n\n#endif\n"


def c_args(entry):
    """Rows of struct heddle_arg."""
    struct = f"struct {tag(entry, entry.symbol)}_params"
    for p in entry.params:
        direction = "INOUT" if p.inout else "OUT" if p.out else "IN"
        pointee = p.type[:-1].strip() if p.type.endswith("*") else ""
        head = f"{struct}, {p.type}, {p.name}, {direction}, {int(p.opt)}"
        if p.out and pointee and pointee not in ("void", "const void"):
            yield f"    ARG_TO({head}, {pointee}),"
        else:
            yield f"    ARG({head}),"


def c_call(entry, twin):
    """The call of the function behind it."""
    names = []
    for p in entry.params:
        names.append(f"PER_THREAD_STREAM({p.name})" if twin and p is entry.stream() else p.name)
    if entry.has_null_stream():
        names.append("CU_STREAM_PER_THREAD" if twin else "NULL")
    return f"{entry.impl}({', '.join(names)})"


def c_apart(api, entry, symbol):
    """The exported function once more, for hd_stack_call(): by a name that no other library can take."""
    name, struct = tag(entry, symbol), f"struct {tag(entry, entry.symbol)}_params"
    own = f"own_{symbol}" if api == "driver" else f"entry_{name}"
    if api == "driver":
        yield f'extern __typeof__({symbol}) {own} __attribute__((alias("{symbol}"), visibility("hidden")));'
    yield f"static void apart_{name}(const void *args, void *result)"
    yield "{"
    yield f"    const {struct} *a HD_UNUSED = args;"
    call = f"{own}({', '.join('a->' + p.name for p in entry.params)});"
    yield "    (void)result;" if entry.result == "void" else f"    *({result_of(entry)}*)result ="
    yield f"        {call}"
    yield "}"


def c_function(api, entry, symbol, twin):
    name = tag(entry, symbol)
    call = c_call(entry, twin)
    params = [declare(p) for p in entry.params]
    if entry.have == "NO":
        call = f"API_MISSING({symbol})"
        params = [p + " HD_UNUSED" for p in params]
    export = {"driver": "HD_EXPORT", "runtime": None}[api]
    if export:
        head, kind = wrap(f"HD_EXPORT CUresult {symbol}", params, ""), "DRIVER"
    else:
        yield wrap(f"{result_of(entry)}entry_{name}", params, ";")
        node = "SPLIT_" + entry.nodes if entry.has_split else entry.nodes
        yield f"RT_EXPORT_{node}(entry_{name}, {symbol})"
        head, kind = wrap(f"{result_of(entry)}entry_{name}", params, ""), "RUNTIME"
    values = ", ".join(p.name for p in entry.params) or "0"
    if entry.symbol not in SHALLOW:
        yield from c_apart(api, entry, symbol)
    yield head
    yield "{"
    apart = f"API_APART{'_VOID' if entry.result == 'void' else ''}({entry.result}, {name}, {tag(entry, entry.symbol)}, {values})"
    if entry.symbol in SHALLOW:
        yield f"    return {call};"
        yield "}"
        return
    runs = entry.tells() and symbol not in NO_FAILURE and not ANYTIME.match(entry.symbol)
    is_short = ["    if (HD_UNLIKELY(API_STACK_IS_SHORT()))", f"        return {apart};"]
    if entry.is_unsafe and entry.have != "NO":
        call = f"API_UNSAFE({call})"
    if runs:
        call = f"API_RUN({entry.symbol}, {call}, {apart})"
    elif entry.tells() and symbol not in NO_FAILURE:
        call = f"API_RUN_ANYTIME({entry.symbol}, {call})"
    if not runs:
        yield from is_short
    if entry.tells():
        yield "    if (HD_LIKELY(!heddle_tap_kinds_wanted()))"
        yield f"        return {call};"
        if runs:
            yield from is_short
        yield f"    const struct {tag(entry, entry.symbol)}_params tell_args_ = {{{values}}};"
        yield f"    TELL({kind}, &{api}_entries[{api.upper()}_ENTRY_{name}], &tell_args_, {call});"
    else:
        yield f"    {'' if entry.result == 'void' else 'return '}{call};"
    yield "}"


def c_source(api, table):
    out = [f"/* Made by scripts/gen_api.py from spec/api/{api}.def. */", f'#include "api/{api}/exports.h"',
           ""]
    index = []
    for e in table:
        base, args = tag(e, e.symbol), list(c_args(e))
        if args:
            out += [f"static const struct heddle_arg args_{base}[] = {{", *args, "};"]
        for s, _ in symbols(e):
            place = f"{api.upper()}_ENTRY_{tag(e, s)}"
            index.append(f'    [{place}] = {{{place}, {len(args)}, "{s}", {"args_" + base if args else "NULL"}, '
                         f'"{e.title + s[len(e.symbol):]}", {int(e.is_plumbing)}}},')
    out += ["", f"const struct heddle_entry {api}_entries[] = {{", *index, "};", ""]
    for e in table:
        for s, twin in symbols(e):
            out += c_function(api, e, s, twin)
    return "\n".join(out) + "\n"


# ---- what is kept

# Plain names that stand for another symbol than the newest one in CUDA 13's header.
PLAIN = {"cuCtxGetDevice": "cuCtxGetDevice", "cuCtxSynchronize": "cuCtxSynchronize",
         "cuStreamGetCtx": "cuStreamGetCtx", "cuGraphInstantiate": "cuGraphInstantiateWithFlags"}
# Newer symbols that no plain name stands for.
ALSO_PUBLIC = {"cuCtxGetDevice_v2", "cuCtxSynchronize_v2", "cuStreamGetCtx_v2"}
# Declared by headers of their own, which include the graphics libraries' headers; or by none.
NOT_PUBLIC = re.compile(r"GL[A-Z]|EGL|Egl|VDPAU|^__")
GRAPH = re.compile(r"Graph|External|Graphics|UserObject")
MEMORY = re.compile(r"Mem|Array|Ipc|Tex|Surf|Tensor|Malloc|Free|Multicast|Pointer|Symbol|HostAlloc|HostRegister"
                    r"|HostUnregister|HostGet|PeerAccess|ChannelDesc")
GROUPS = {
    "device": "devices, contexts, code, launches, streams, events",
    "memory": "memory, arrays, textures",
    "graph": "graphs, graphics and external objects",
}


def group_of(entry):
    return "graph" if GRAPH.search(entry.symbol) else "memory" if MEMORY.search(entry.symbol) else "device"


def newest(table):
    """Plain name -> the symbol it stands for."""
    best = {}
    for e in table:
        if e.name not in best or e.since >= best[e.name].since:
            best[e.name] = e
    return {name: PLAIN.get(name, e.symbol) for name, e in best.items()}


def public_driver(entry, names):
    return names[entry.name] == entry.symbol and not NOT_PUBLIC.search(entry.symbol) or \
        entry.symbol in PLAIN.values() or entry.symbol in ALSO_PUBLIC


def public_runtime(entry):
    return entry.nodes != "V12" and not NOT_PUBLIC.search(entry.symbol) or \
        entry.symbol.endswith("CallConfiguration")


def header_page(api, group, table, prelude):
    guard = f"HEDDLE_CUDA_{api.upper()}_API_{group.upper()}_H"
    front = "cuda.h" if api == "driver" else "cuda_runtime_api.h"
    out = ["/*", f" * Prototypes of the CUDA {api} API: {GROUPS[group]}.",
           f" * Included by {front}. Made by scripts/gen_api.py from spec/api/{api}.def.",
           " */", "/* clang-format off */", f"#ifndef {guard}", f"#define {guard}", "", *prelude]
    for e in table:
        call = "CUresult CUDAAPI " if api == "driver" else result_of(e)
        params = [declare(p) + (f" __dv({p.default})" if p.default else "") for p in e.params]
        # A program may have a macro of that name and no arguments (Jitify: cudaDeviceSynchronize), which (void) would not fit.
        name = e.symbol if params or api == "driver" else f"({e.symbol})"
        out.append(wrap(call + name, params, ";"))
    out += ["", "#if defined(__cplusplus)", "}", "#endif"]
    out += ["#undef __dv"] if api == "runtime" else []
    return "\n".join(out + ["/* clang-format on */", "", "#endif"]) + "\n"


DRIVER_PRELUDE = ["#if defined(__cplusplus)", 'extern "C" {', "#endif", ""]
RUNTIME_PRELUDE = ['#include "driver_types.h"', '#include "surface_types.h"', '#include "texture_types.h"', "",
                   "/* Default arguments exist in C++ only. */", "#if defined(__cplusplus)",
                   "#define __dv(v) = v", 'extern "C" {', "#else", "#define __dv(v)", "#endif", ""]


def names_page(table):
    pairs = sorted((n, s) for n, s in newest(table).items() if n != s and not NOT_PUBLIC.search(n))
    width = max(len(name) for name, _ in pairs)
    return "\n".join(
        ["/*", " * The versions that the plain names of the driver API stand for in CUDA 13.",
         " * Included by cuda.h; define __CUDA_API_VERSION_INTERNAL to see the plain names unmapped.",
         " * Made by scripts/gen_api.py from spec/api/driver.def.", " */", "/* clang-format off */",
         "#ifndef HEDDLE_CUDA_DRIVER_NAMES_H",
         "#define HEDDLE_CUDA_DRIVER_NAMES_H", ""]
        + [f"#define {name:{width}} {symbol}" for name, symbol in pairs]
        + ["/* clang-format on */", "", "#endif"]) + "\n"


def streams_page(api, table):
    pairs = [(e.symbol, s) for e in table for s, twin in symbols(e) if twin]
    width = max(len(symbol) for symbol, _ in pairs)
    front = "cuda.h" if api == "driver" else "cuda_runtime_api.h"
    guard = f"HEDDLE_CUDA_{api.upper()}_STREAMS_H"
    return "\n".join(
        ["/*", " * Names under which stream 0 is the calling thread's own: nvcc --default-stream per-thread.",
         f" * Included by {front} where CUDA_API_PER_THREAD_DEFAULT_STREAM is defined.",
         f" * Made by scripts/gen_api.py from spec/api/{api}.def.", " */", "/* clang-format off */",
         f"#ifndef {guard}", f"#define {guard}", ""]
        + [f"#define {symbol:{width}} {twin}" for symbol, twin in pairs]
        + ["/* clang-format on */", "", "#endif"]) + "\n"


# Types of CUDA before 3.2, which cuda.h does not have.
OLD_TYPE = re.compile(r"\b(CUdeviceptr|CUDA_ARRAY\w*|CUDA_MEMCPY\w*)_v1\b")


def typedefs_page(table):
    """PFN_name_vSINCE of every row, and PFN_name of the newest."""
    out = ["/*", " * Types of the driver API's functions, for what cuGetProcAddress() and cudaGetDriverEntryPoint() give:",
           " * PFN_cuInit_v2000 by the version that brought the function, PFN_cuInit for what the plain name stands for.",
           " * Made by scripts/gen_api.py from spec/api/driver.def.", " */", "/* clang-format off */",
           "#ifndef HEDDLE_CUDA_CUDATYPEDEFS_H", "#define HEDDLE_CUDA_CUDATYPEDEFS_H", "", '#include "cuda.h"', ""]
    made, names = {}, newest(table)
    for e in table:
        for symbol, is_twin in symbols(e):
            version = max(e.since, 7000) if is_twin else e.since
            name = f"PFN_{e.name}_v{version}" + (symbol[symbol.rfind("_pt"):] if is_twin else "")
            if NOT_PUBLIC.search(e.symbol) or any(OLD_TYPE.search(p.type) for p in e.params) or made.setdefault(name, e) is not e:
                continue
            out.append(wrap(f"typedef CUresult(CUDAAPI *{name})", [declare(p) for p in e.params], ";"))
            if symbol == names[e.name]:
                made["PFN_" + e.name] = name
    plain = sorted((name, of) for name, of in made.items() if isinstance(of, str))
    out += [""] + [f"typedef {of} {name};" for name, of in plain]
    return "\n".join(out + ["/* clang-format on */", "", "#endif"]) + "\n"


# ---- docs/cuda-coverage.md

COVERAGE = "docs/cuda-coverage.md"
# Tests that name or call everything say nothing about a function.
NAMES_ALL = {"test_null.c", "test_capture_table.c", "test_signatures.py", "test_runtime_exports.py"}
# Whose names are symbols; elsewhere a plain name stands for the newest version.
EXACT = re.compile(r"cuda_abi\.h|driver_fixture\.h|__CUDA_API_VERSION_INTERNAL")


def defined(path, macro):
    """[(first argument, the rest)] of the rows of a table."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return re.findall(rf"^{macro}\(([^,]+),\s*(.*?)\)$", file.read(), re.M | re.S)


def reason(entry, rows=[]):
    rows = rows or rows.extend(defined("spec/api/refused.def", "REFUSED")) or rows
    for pattern, text in rows:
        if re.search(pattern, entry.symbol):
            return text.strip('"')
    raise SystemExit(f"spec/api/refused.def: why is {entry.symbol} refused?")


def runtime_since():
    return {name: int(since) for since, names in defined("spec/api/runtime_since.def", "SINCE")
            for name in re.split(r",\s*", names)}


def test_files():
    """The files under tests, those of the APIs first."""
    found = []
    for folder, _, files in os.walk(os.path.join(ROOT, "tests")):
        if folder.startswith(os.path.join(ROOT, "tests", "corpus")):  # of other people's programs
            continue
        found += [os.path.relpath(os.path.join(folder, f), ROOT) for f in files
                  if f.endswith((".c", ".cu", ".h", ".py")) and f not in NAMES_ALL]
    first = ("tests/api/", "tests/runtime/", "tests/e2e/")
    return sorted(found, key=lambda path: (not path.startswith(first), path))


def tests_by_name(names):
    """{symbol: the first test that names it}"""
    tests = {}
    for path in test_files():
        with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
            text = file.read()
        exact = path.endswith(".py") or EXACT.search(text)
        for word in re.findall(r"\b(?:__)?cu[A-Za-z]\w+", text):
            base = re.sub(r"_pt[sd][sz]$", "", word)
            tests.setdefault(base if exact else names.get(base, base), path)
    return tests


def version_text(since, oldest):
    return f"{'≤ ' if since <= oldest else ''}{since // 1000}.{since % 1000 // 10}"


def coverage_row(entry, since, oldest, test):
    only = {"BOTH": "", "V12": ", as in 12" if entry.has_split else ", 12 only", "V13": ", as in 13" if entry.has_split else ""}[entry.nodes]
    twin = f", `_{entry.twin.lower()}`" if entry.twin != "NONE" else ""
    state = {"YES": "implemented", "NO": "**missing**"}.get(entry.have) or f"refused: {reason(entry)}"
    return f"| `{entry.symbol}`{twin} | {version_text(since, oldest)}{only} | {state} | {test or '-'} |"


def coverage_part(title, text, table, since, oldest, tests):
    count = collections.Counter(e.have for e in table)
    unseen = [e for e in table if e.have == "YES" and e.symbol not in tests]
    out = [f"## {title}", "", f"{text} Of {len(table)} functions {count['YES']} are implemented, "
           f"{count['REFUSES']} always refused and {count['NO']} missing. {len(unseen)} of the implemented ones "
           "are named by no test.", "", "| function | since | state | test |", "|---|---|---|---|"]
    return out + [coverage_row(e, since(e), oldest, tests.get(e.symbol)) for e in table] + [""]


def coverage_page(driver, runtime):
    tests, first = tests_by_name(newest(driver)), runtime_since()
    out = ["# The CUDA API: what is there", "",
           "Generated by `scripts/gen_api.py` from `spec/api/driver.def`, `runtime.def` and the tests. What is missing exists, "
           "returns `CUDA_ERROR_NOT_SUPPORTED` or `cudaErrorNotSupported` and logs its name once; what is refused checks its "
           "arguments first. `_ptsz` and `_ptds` are the variants for the thread's own default stream. The test is the first "
           "that names the function; tests that only call everything with zeros do not count.", ""]
    out += coverage_part("Driver", "`libcuda.so.1`, and what `cuGetProcAddress` gives.", driver, lambda e: e.since, 2000, tests)
    out += coverage_part("Runtime", "`libcudart.so.13`, which is `libcudart.so.12`, too.", runtime,
                         lambda e: first[e.symbol] if e.symbol in first else 13000, 3020, tests)
    return "\n".join(out[:-1]) + "\n"


# Enumerations of headers that are otherwise written by hand: header, its first line, table, prefix.
ENUMS = [
    ("driver_results.h", "typedef enum cudaError_enum {", "api/cuda_errors.def", ""),
    ("runtime_errors.h", "enum cudaError {", "api/cudart_errors.def", ""),
    ("driver_results.h", "typedef enum CUdevice_attribute_enum {", "device.def", "CU_DEVICE_ATTRIBUTE_"),
    ("driver_enums_device.h", "typedef enum CUlaunchAttributeID_enum {", "api/launch_attributes.def",
     "CU_LAUNCH_ATTRIBUTE_"),
]


def with_enum(text, first, table, prefix):
    """A header's text with the members of the enumeration as the table has them."""
    with open(os.path.join(ROOT, "spec", table), encoding="utf-8") as file:
        rows = re.findall(r"^(X|ALIAS|END)\((\w+)(?:, (\w+))?", file.read(), re.M)
    last = max(int(value) for kind, _, value in rows if kind == "X")
    members = [(name, {"X": value, "ALIAS": prefix + value, "END": str(last + 1)}[kind])
               for kind, name, value in rows]
    start = text.index(first) + len(first) + 1
    end = text.index("}", start)
    lines = [f"    {prefix}{name} = {value},\n" for name, value in members]
    lines = [line if len(line) <= 101 else line.replace(" = ", " =\n        ") for line in lines]
    return text[:start] + "".join(lines) + text[end:]


def kept():
    """Path -> text of the files that are in the repository."""
    driver, runtime = read_driver(), read_runtime()
    names = newest(driver)
    pages = {COVERAGE: coverage_page(driver, runtime),
             "include/cuda/cudaTypedefs.h": typedefs_page(driver),
             "include/cuda/heddle/driver_names.h": names_page(driver),
             "include/cuda/heddle/driver_streams.h": streams_page("driver", [
                 e for e in driver if public_driver(e, names)]),
             "include/cuda/heddle/runtime_streams.h": streams_page("runtime", [
                 e for e in runtime if public_runtime(e)])}
    for group in GROUPS:
        pages[f"include/cuda/heddle/driver_api_{group}.h"] = header_page(
            "driver", group, [e for e in driver if public_driver(e, names) and group_of(e) == group],
            DRIVER_PRELUDE)
        pages[f"include/cuda/heddle/runtime_api_{group}.h"] = header_page(
            "runtime", group, [e for e in runtime if public_runtime(e) and group_of(e) == group],
            RUNTIME_PRELUDE)
    for header, first, table, prefix in ENUMS:
        path = "include/cuda/heddle/" + header
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            pages[path] = with_enum(file.read(), first, table, prefix)
    return pages


def write_kept(check):
    stale = 0
    for path, want in kept().items():
        full = os.path.join(ROOT, path)
        have = ""
        if os.path.exists(full):
            with open(full, encoding="utf-8") as file:
                have = file.read()
        if have == want:
            continue
        stale += 1
        if check:
            print(f"{path} is stale: run scripts/gen_api.py")
        else:
            with open(full, "w", encoding="utf-8") as file:
                file.write(want)
    return 1 if check and stale else 0


def version_script(table):
    lines = []
    for version, wanted in NODES.items():
        lines.append(f"libcudart.so.{version} {{\n    global:")
        lines += [f"        {s};" for e in table if e.nodes in wanted for s, _ in symbols(e)]
        lines.append("    local: *;\n};" if version == "12" else "} libcudart.so.12;")
    return "\n".join(lines) + "\n"


def main():
    args = sys.argv[1:]
    if args in ([], ["--check"]):
        return write_kept(bool(args))
    if len(args) == 2 and args[0] == "map":
        text = version_script(read_runtime())
    elif len(args) == 3 and args[0] in ("header", "source") and args[1] in READ:
        text = {"header": c_header, "source": c_source}[args[0]](args[1], READ[args[1]]())
    else:
        sys.exit(__doc__)
    with open(args[-1], "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
