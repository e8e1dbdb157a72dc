#!/usr/bin/env python3
"""Makes the random calls of the API fuzzer from the tables of entry points: one C function per entry point, which draws
its arguments by their types and names, calls it, and keeps the handles that it answers.

    gen_calls.py SCRIPTS driver OUTPUT
"""
import os
import re
import sys

sys.path.insert(0, sys.argv[1])
import gen_api  # noqa: E402

# Types that are handles, and where they are kept (enum fuzz_pool).
POOLS = {
    "CUarray": "ARRAY", "CUcontext": "CONTEXT", "CUevent": "EVENT", "CUexternalMemory": "EXT_MEMORY",
    "CUexternalSemaphore": "EXT_SEMAPHORE", "CUfunction": "FUNCTION", "CUgraph": "GRAPH", "CUgraphExec": "EXEC",
    "CUgraphNode": "NODE", "CUgreenCtx": "GREEN", "CUkernel": "KERNEL", "CUlibrary": "LIBRARY", "CUlinkState": "LINK",
    "CUmemGenericAllocationHandle": "ALLOCATION", "CUmemoryPool": "MEMPOOL", "CUmipmappedArray": "MIPMAP",
    "CUmodule": "MODULE", "CUstream": "STREAM", "CUsurfObject": "SURFACE", "CUtexObject": "TEXTURE",
    "CUtexref": "TEXREF", "CUsurfref": "SURFREF", "CUuserObject": "USER", "CUdeviceptr": "MEMORY",
    "CUdeviceptr_v1": "MEMORY", "CUdevice": "DEVICE", "CUgraphConditionalHandle": "CONDITION",
    "CUgraphicsResource": "RESOURCE", "CUdevResourceDesc": "DESC", "CUasyncCallbackHandle": "ASYNC",
    "CUlogsCallbackHandle": "LOG",
}

# Structs that the callee reads: structs.c fills them.
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "structs.def"), encoding="utf-8") as listing:
    FILLED = set(re.findall(r"^FUZZ_FILL\((\w+)\)", listing.read(), re.M))

# Arguments whose names say more than their types: (function.argument, expression).
NAMED = [
    (r"\w+\.(kernelParams)", "fuzz_kernel_params(z, {i})"),
    (r"\w+\.extra", "NULL"),
    (r"\w+\.(image|fatCubin|code)", "fuzz_image(z)"),
    (r"cuLinkAddData.*\.data", "fuzz_image(z)"),
    (r"cuLinkAddData.*\.size", "fuzz_image_size()"),
    (r"cu(Library|Module|Link).*\.(fname|fileName|path)", "fuzz_path(z)"),
    (r"\w+\.(path|pathToFile|file_name|fileName)", "fuzz_path(z)"),
    (r"\w+\.(num(Jit|Library)?Options)", "fuzz_below(z, 2)"),
    (r"\w+\.(jitOptions|options)", "fuzz_options(z, {i})"),
    (r"\w+\.libraryOptions", "fuzz_library_options(z, {i})"),
    (r"\w+\.(jitOptionsValues|optionValues|libraryOptionValues)", "fuzz_option_values(z, {i})"),
    (r"cuPointerGetAttributes\.data|cuMemRangeGetAttributes\.data", "fuzz_pointers(z, {i})"),
    (r"cuMemRangeGetAttributes\.dataSizes", "fuzz_sizes(z, {i})"),
    (r"cuMemHostRegister(_v2)?\.p", "fuzz_arena(z)"),
    (r"cuMem(FreeHost|HostUnregister|HostGet\w+)\.p", "fuzz_take(z, FUZZ_HOST)"),
    (r"cuMem(ImportFromShareableHandle\.osHandle|PoolImportFromShareableHandle\.handle)", "fuzz_take(z, FUZZ_FD)"),
    # Seldom all bits: waits are for one that is not set (values.c).
    (r"cuStreamWriteValue.*\.value", "0x01010101 * fuzz_below(z, 128)"),
    (r"cuMemset.*\.(ui|us|uc)", "0x01010101 * fuzz_below(z, 128)"),
    (r"cuStreamWaitValue.*\.value", "0"),
    (r"cuStreamWaitValue.*\.flags", "fuzz_wait_flags(z)"),
    # A body that nobody ends would run for ever: bodies of loops are off from the start (values.c).
    (r"cuGraphConditionalHandleCreate\.defaultLaunchValue", "0"),
    (r"cuGraphConditionalHandleCreate\.flags", "1"),
    (r"\w+\.numDependencies", "fuzz_count(z)"),
    (r"\w+\.[fF]lags", "fuzz_flags(z)"),
    (r"cuMem(Map|Unmap|SetAccess|AddressFree)\.d?ptr", "fuzz_take(z, FUZZ_RANGE)"),
    (r"cu(Mem(Create|Map|Unmap|SetAccess|AddressReserve|AddressFree)|Multicast\w+)\.size", "fuzz_granules(z)"),
    (r"cu(Mem(Map|AddressReserve)|Multicast\w+)\.(\w*[oO]ffset|alignment|addr)", "fuzz_flags(z)"),
    (r"cuMemcpy(Async|Peer|PeerAsync)?\.(dst|src)(Device)?", "fuzz_memory(z)"),
    (r"cuMemcpyBatchAsync(_v2)?\.(dsts|srcs)", "fuzz_memories(z, {i})"),
    (r"\w+\.(srcHost)", "fuzz_source()"),
    (r"\w+\.(dstHost)", "fuzz_sink()"),
]

# Pointers through which handles come back though their type does not say so: (function.argument, pool).
KEPT = [(r"cuMemAddressReserve\.ptr", "RANGE"),
        (r"cuMem(AllocHost|HostAlloc)(_v2)?\.pp", "HOST"),
        (r"cuMem(ExportToShareableHandle\.shareableHandle|PoolExportToShareableHandle\.handle_out)", "FD")]

CALLBACKS = {"CUhostFn": "fuzz_host_fn", "CUstreamCallback": "fuzz_stream_fn", "CUoccupancyB2DSize": "fuzz_block_fn",
             "CUasyncCallback": "fuzz_async_fn", "CUlogsCallback": "fuzz_log_fn"}

# What makes a handle usable, before others see it: who maps a multicast object waits for all its devices.
AFTER = {"cuMulticastCreate": "cuMulticastAddDevice(*a0, 0)"}

# Not called: they stop the process on purpose, answer a table of functions, or are of graphics and always refuse.
SKIPPED = re.compile(r"cuCheckpoint\w*|cuGetExportTable|cu(EGL|GL|VDPAU)\w*|cuGraphics\w+Register\w*|cuEventCreateFromEGLSync")

OFTEN = re.compile(r"Create|Alloc|Add\w*Node|Launch|Memcpy|Memset|Record|WaitEvent|Instantiate|Capture|Map|Load|GetFunction")
SELDOM = re.compile(r"PrimaryCtxRe|CtxDestroy|CtxDetach|_ptsz|_ptds|Profiler|Coredump|cuInit|PushCurrent|PopCurrent|Logs")
ENDS = re.compile(r"Destroy|Free|Unload|Unregister|Release")


def weight(symbol):
    if re.search(r"PrimaryCtxRe(set|lease)|Ctx(Create|Destroy|Detach)", symbol):
        return 1
    if SELDOM.search(symbol):
        return 10
    return 60 if OFTEN.search(symbol) else 15 if ENDS.search(symbol) else 30


def bare(kind):
    return kind.replace("const ", "").replace("*", "").strip()


def most(entry):
    """The largest number that is safe: arrays have so many elements, buffers so many bytes, grids come to an end."""
    if entry.symbol.startswith("cuLaunch"):
        return "FUZZ_ELEMENTS"
    kinds = [(p, bare(p.type)) for p in entry.params if p.type.endswith("*") and "char **" not in p.type]
    if any(not p.out and (kind in POOLS or kind in FILLED or kind in ("int", "CUatomicOperation") or p.type == "void **"
                          or "32" in kind or "64" in kind or kind == "size_t" or kind.startswith("CU"))
           for p, kind in kinds):
        return "FUZZ_ELEMENTS"
    if any(kind in ("void", "char") or p.out and kind not in POOLS for p, kind in kinds) or \
            any(p.out and "num" in q.name.lower() for p, _ in kinds for q in entry.params):
        return "FUZZ_BYTES"
    return "0"


def named(entry, param, rules):
    for pattern, what in rules:
        if re.fullmatch(pattern, f"{entry.symbol}.{param.name}"):
            return what
    return None


def kept_in(entry, param):
    pool = named(entry, param, KEPT)
    if pool:
        return pool
    kind = bare(param.type)
    return POOLS.get(kind) if param.out and param.type.count("*") == 1 else None


def pointer(entry, param, i):
    """An expression for a pointer."""
    kind = bare(param.type)
    if param.out or named(entry, param, KEPT):
        return f"fuzz_out(z, {i}, {int(param.opt)})"
    if param.inout:
        return f"fuzz_structs(z, {i}, sizeof({kind}), fill_{kind})" if kind in FILLED else f"fuzz_inout(z, {i})"
    if kind in POOLS and param.type.count("*") == 1:
        return f"fuzz_handles(z, {i}, FUZZ_{POOLS[kind]})"
    if kind in FILLED:
        some = f"fuzz_structs(z, {i}, sizeof({kind}), fill_{kind})"
        return f"fuzz_one_in(z, 2) ? NULL : {some}" if param.opt else some
    if kind == "size_t":
        return f"fuzz_sizes(z, {i})"
    if kind == "char":
        return "fuzz_name(z)"
    if kind == "void":
        return f"fuzz_buffer(z, {i})"
    return f"fuzz_numbers(z, {i}, {8 if '64' in kind or 'long' in kind else 4})"


def value(entry, param, i):
    text = None if param.out or param.inout else named(entry, param, NAMED)
    if text:
        text = text.format(i=i)
        return f"({param.type})(uintptr_t){text}" if "fuzz_take" in text else text
    if param.type.endswith("*"):
        return pointer(entry, param, i)
    if param.type in POOLS:
        return f"({param.type})(uintptr_t)fuzz_take(z, FUZZ_{POOLS[param.type]})"
    if param.type in CALLBACKS:
        return CALLBACKS[param.type]
    if param.type == "float":
        return "(float)fuzz_below(z, 100) / 10"
    if param.type in FILLED or param.type.startswith("CUipc"):
        return f"*(const {param.type} *)" + (f"fuzz_structs(z, {i}, sizeof({param.type}), fill_{param.type})"
                                             if param.type in FILLED else f"fuzz_bytes(z, {i})")
    if param.type.startswith("CU"):  # an enumeration
        return f"({param.type})fuzz_enum(z)"
    return f"({param.type})fuzz_number(z, {most(entry)})"


def shown(param, i):
    """Of an argument, for the trace."""
    if param.type.startswith("CUipc") or param.type in FILLED and not param.type.endswith("*"):
        return "0"
    return f"(uint64_t){'(uintptr_t)' if param.type.endswith('*') or POOLS.get(param.type) else ''}a{i}"


def function(entry, symbol):
    out = [f"static CUresult call_{symbol}(struct fuzz *z)", "{"]
    for i, p in enumerate(entry.params):
        out.append(f"    {gen_api.declare(p._replace(name=f'a{i}'))} = {value(entry, p, i)};")
    for i, p in enumerate(entry.params):
        out.append(f"    fuzz_shows(z, {i}, {shown(p, i)});")
    out.append(f"    CUresult r = {symbol}({', '.join(f'a{i}' for i in range(len(entry.params)))});")
    if entry.symbol in AFTER:
        out += ["    if (r == CUDA_SUCCESS)", f"        {AFTER[entry.symbol]};"]
    for i, p in enumerate(entry.params):
        pool = kept_in(entry, p)
        if pool:
            of = "*(int *)" if pool == "FD" else "(uintptr_t)*(void **)" if pool == "HOST" else "(uintptr_t)*"
            out += [f"    if (r == CUDA_SUCCESS && a{i})", f"        fuzz_keep(z, FUZZ_{pool}, {of}a{i});"]
    return out + ["    return r;", "}", ""]


def main():
    table = [e for e in gen_api.READ[sys.argv[2]]() if not SKIPPED.fullmatch(e.symbol)]
    out = ["/* Made by gen_calls.py from spec/api. */", '#include "fuzz_api.h"', ""]
    rows = []
    for entry in table:
        for symbol, _ in gen_api.symbols(entry):
            out += function(entry, symbol)
            rows.append(f'    {{"{symbol}", call_{symbol}, {weight(symbol)}, {int(entry.have != "YES")}}},')
    out += ["const struct fuzz_entry fuzz_entries[] = {", *rows, "};",
            "const unsigned fuzz_entry_count = sizeof(fuzz_entries) / sizeof(fuzz_entries[0]);"]
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


main()
