#!/usr/bin/env python3
"""Makes the random calls of the API fuzzer from the tables of entry points: one C function per entry point, which draws
its arguments by their types and names, calls it, and keeps the handles that it answers.

    gen_calls.py SCRIPTS (driver|runtime) OUTPUT
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
    # The runtime's: the same handles, but for kernels.
    "cudaArray_t": "ARRAY", "cudaArray_const_t": "ARRAY", "cudaEvent_t": "EVENT", "cudaExternalMemory_t": "EXT_MEMORY",
    "cudaExternalSemaphore_t": "EXT_SEMAPHORE", "cudaFunction_t": "FUNCTION", "cudaGraph_t": "GRAPH",
    "cudaGraphExec_t": "EXEC", "cudaGraphNode_t": "NODE", "cudaKernel_t": "RUNTIME_KERNEL", "cudaLibrary_t": "LIBRARY",
    "cudaMemPool_t": "MEMPOOL", "cudaMipmappedArray_t": "MIPMAP", "cudaMipmappedArray_const_t": "MIPMAP",
    "cudaStream_t": "STREAM", "cudaSurfaceObject_t": "SURFACE", "cudaTextureObject_t": "TEXTURE",
    "cudaUserObject_t": "USER", "cudaGraphConditionalHandle": "CONDITION", "cudaGraphicsResource_t": "RESOURCE",
    "cudaAsyncCallbackHandle_t": "ASYNC", "cudaLogsCallbackHandle": "LOG",
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
    # Bodies are off from the start.
    (r"cu(da)?GraphConditionalHandleCreate\.defaultLaunchValue", "0"),
    (r"cu(da)?GraphConditionalHandleCreate\.flags", "1"),
    (r"cuCoredumpSetAttribute(Global)?\.attrib", "fuzz_dump_setting(z)"),
    (r"cuCoredumpSetAttribute(Global)?\.value", "fuzz_dump_value(z, {i})"),
    (r"\w+\.numDependencies", "fuzz_count(z)"),
    (r"\w+\.[fF]lags", "fuzz_flags(z)"),
    (r"cuMem(Map|Unmap|SetAccess|AddressFree)\.d?ptr", "fuzz_take(z, FUZZ_RANGE)"),
    (r"cu(Mem(Create|Map|Unmap|SetAccess|AddressReserve|AddressFree)|Multicast\w+)\.size", "fuzz_granules(z)"),
    (r"cu(Mem(Map|AddressReserve)|Multicast\w+)\.(\w*[oO]ffset|alignment|addr)", "fuzz_flags(z)"),
    (r"cuMemcpy(Async|Peer|PeerAsync)?\.(dst|src)(Device)?", "fuzz_memory(z)"),
    (r"cuMemcpyBatchAsync(_v2)?\.(dsts|srcs)", "fuzz_memories(z, {i})"),
    (r"\w+\.(srcHost)", "fuzz_source()"),
    (r"\w+\.(dstHost)", "fuzz_sink()"),
    # ---- of the runtime
    (r"cudaMemcpyPeer(Async)?\.(dst|src)", "(void *)(uintptr_t)fuzz_memory(z)"),
    (r"cudaMemcpyBatchAsync\.(dsts|srcs)|cudaMem\w+BatchAsync\.dptrs", "fuzz_memories(z, {i})"),
    (r"cuda\w*Memcpy\w*\.src", "fuzz_from(z)"),
    (r"cuda\w*Memcpy\w*\.dst", "fuzz_to(z)"),
    (r"cuda\w*Memcpy2D\w*\.(\w?pitch|width)", "fuzz_below(z, 129)"),  # what the host's memory holds
    (r"cuda\w*Memcpy2D\w*\.height", "fuzz_below(z, 9)"),
    (r"cuda\w+\.kind", "fuzz_kind(z)"),
    (r"cuda(?!GetDriver|Library)\w+\.symbol", "fuzz_symbol(z)"),
    (r"(__)?cuda\w+\.(func|host_func|entryFuncAddr|symbolPtr)", "fuzz_func(z)"),
    (r"(__)?cuda\w+\.args", "fuzz_kernel_params(z, {i})"),
    (r"cudaMemset\w*\.value", "fuzz_below(z, 128)"),
    (r"cuda(Host(Alloc|Register)|Malloc)\w*\.(size|width|height)", "fuzz_below(z, 2) ? fuzz_below(z, 4096) : fuzz_number(z, 0)"),
    (r"cudaHostRegister\.ptr", "fuzz_arena(z)"),
    (r"cuda(FreeHost|HostUnregister|HostGet\w+)\.(ptr|pHost)", "fuzz_take(z, FUZZ_HOST)"),
    (r"cudaMemPoolImportFromShareableHandle\.shareableHandle", "fuzz_take(z, FUZZ_FD)"),
    (r"cudaMemRangeGetAttributes\.data", "fuzz_pointers(z, {i})"),
    (r"cudaMemRangeGetAttributes\.dataSizes", "fuzz_sizes(z, {i})"),
    (r"cudaUserObjectCreate\.ptr", "NULL"),
    (r"cuda\w+\.(devPtr|ptr|dptr)", "fuzz_take(z, FUZZ_MEMORY)"),
    (r"cuda\w+SemaphoresAsync(_v2)?\.numExtSems", "fuzz_below(z, FUZZ_ELEMENTS + 1)"),
]

# Pointers through which handles come back though their type does not say so: (function.argument, pool).
KEPT = [(r"cuMemAddressReserve\.ptr", "RANGE"),
        (r"cuMem(AllocHost|HostAlloc)(_v2)?\.pp", "HOST"),
        (r"cuMem(ExportToShareableHandle\.shareableHandle|PoolExportToShareableHandle\.handle_out)", "FD"),
        (r"cudaMemPoolExportToShareableHandle\.shareableHandle", "FD"),
        (r"cuda(MallocHost|HostAlloc)\.(ptr|pHost)", "HOST"),
        (r"cuda(Malloc\w*|ExternalMemoryGetMappedBuffer|IpcOpenMemHandle|GetSymbolAddress|LibraryGet\w+|MemPoolImportPointer)"
         r"\.(devPtr|dptr|ptr)", "POINTER")]

KEPT_HOW = {"FD": "*(int *)", "HOST": "(uintptr_t)*(void **)", "POINTER": "(uintptr_t)*(void **)"}
KEPT_AS = {"POINTER": "MEMORY"}

CALLBACKS = {"CUhostFn": "fuzz_host_fn", "CUstreamCallback": "fuzz_stream_fn", "CUoccupancyB2DSize": "fuzz_block_fn",
             "CUasyncCallback": "fuzz_async_fn", "CUlogsCallback": "fuzz_log_fn", "cudaHostFn_t": "fuzz_host_fn",
             "cudaStreamCallback_t": "(cudaStreamCallback_t)fuzz_stream_fn",
             "cudaAsyncCallback": "(cudaAsyncCallback)fuzz_async_fn", "cudaLogsCallback_t": "(cudaLogsCallback_t)fuzz_log_fn"}

# What makes a handle usable, before others see it: who maps a multicast object waits for all its devices.
AFTER = {"cuMulticastCreate": "cuMulticastAddDevice(*a0, 0)"}

# Not called: they stop the process on purpose, answer a table of functions, are of graphics and always refuse, or belong to
# the constructors that compilers make.
SKIPPED = re.compile(r"cuCheckpoint\w*|cu(da)?GetExportTable|cu(da)?(EGL|GL|VDPAU)\w*|cu(da)?Graphics\w+Register\w*|"
                     r"cu(da)?EventCreateFromEGLSync|__cuda(Register|Unregister|Init)\w*")

OFTEN = re.compile(r"Create|Alloc|Add\w*Node|Launch|Memcpy|Memset|Record|WaitEvent|Instantiate|Capture|Map|Load|GetFunction")
SELDOM = re.compile(r"PrimaryCtxRe|CtxDestroy|CtxDetach|_ptsz|_ptds|Profiler|Coredump|cuInit|PushCurrent|PopCurrent|Logs|"
                    r"SetDevice|SetValidDevices|_v\d$")
ENDS = re.compile(r"Destroy|Free|Unload|Unregister|Release")


def weight(symbol):
    if re.search(r"PrimaryCtxRe(set|lease)|Ctx(Create|Destroy|Detach)|DeviceReset|ThreadExit", symbol):
        return 1
    if SELDOM.search(symbol):
        return 10
    return 60 if OFTEN.search(symbol) else 15 if ENDS.search(symbol) else 30


def bare(kind):
    """Of a type, the name that structs.def and the tables above know."""
    return re.sub(r"const |struct |enum |\*", "", kind).strip()


def pointed(kind):
    """Of a pointer's type, what C calls the thing that it points to."""
    return kind.replace("const ", "").replace("*", "").strip()


def is_enum(kind):
    return kind.startswith("enum ") or kind in ("cudaLaunchAttributeID", "cudaError_t") or re.match("CU[a-z]", kind)


def most(entry):
    """The largest number that is safe: arrays have so many elements, buffers so many bytes, grids come to an end."""
    if entry.symbol.startswith("cuLaunch"):
        return "FUZZ_ELEMENTS"
    kinds = [(p, bare(p.type)) for p in entry.params if p.type.endswith("*") and "char **" not in p.type]
    if any(not p.out and (kind in POOLS or kind in FILLED or kind in ("int", "CUatomicOperation") or p.type == "void **"
                          or "32" in kind or "64" in kind or kind == "size_t" or kind.startswith("CU") or
                          p.type.startswith("const enum") or "paramsArray" in p.name)
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
    if entry.symbol == "__cudaGetKernel":  # a place in this program
        return None
    pool = named(entry, param, KEPT)
    if pool:
        return pool
    kind = bare(param.type)
    return POOLS.get(kind) if param.out and param.type.count("*") == 1 else None


def structs(kind, i):
    return f"fuzz_structs(z, {i}, sizeof({pointed(kind)}), fill_{bare(kind)})"


def pointer(entry, param, i):
    """An expression for a pointer."""
    kind = bare(param.type)
    if param.out or named(entry, param, KEPT):
        return f"fuzz_out(z, {i}, {int(param.opt)})"
    if param.inout:
        return structs(param.type, i) if kind in FILLED else f"fuzz_inout(z, {i})"
    if kind in POOLS and param.type.count("*") == 1:
        return f"fuzz_handles(z, {i}, FUZZ_{POOLS[kind]})"
    if kind in FILLED:
        some = structs(param.type, i)
        return f"fuzz_one_in(z, 2) ? NULL : {some}" if param.opt else some
    if kind == "size_t":
        return f"fuzz_sizes(z, {i})"
    if kind == "char":
        return "fuzz_name(z)"
    if kind == "void" and param.name == "paramsArray":  # of semaphores: waits for 0
        return f"fuzz_zeroes(z, {i})"
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
    if is_struct(param):
        return f"*(const {param.type} *)" + (structs(param.type, i) if bare(param.type) in FILLED else f"fuzz_bytes(z, {i})")
    if is_enum(param.type):
        return f"({param.type})fuzz_enum(z)"
    return f"({param.type})fuzz_number(z, {most(entry)})"


def is_struct(param):
    """Passed by value."""
    return not param.type.endswith("*") and (bare(param.type) in FILLED or re.match(r"(CU|cuda)[iI]pc", param.type))


def shown(param, i):
    """Of an argument, for the trace."""
    if is_struct(param):
        return "0"
    return f"(uint64_t){'(uintptr_t)' if param.type.endswith('*') or POOLS.get(param.type) else ''}a{i}"


def called(entry, symbol):
    """What the file calls it: libcudart.so.12 has another function of some names."""
    return f"v12_{symbol}" if getattr(entry, "nodes", "") == "V12" else symbol


def prototype(entry, symbol):
    """The driver's are in its header; the runtime's has neither twins nor what only version 12 has."""
    if not hasattr(entry, "nodes"):
        return []
    name = called(entry, symbol)
    out = [gen_api.wrap(f"{gen_api.result_of(entry)}{name}", [gen_api.declare(p) for p in entry.params], ";")]
    return out + ([f'__asm__(".symver {name}, {symbol}@libcudart.so.12");'] if name != symbol else [])


def function(entry, symbol):
    out = [*prototype(entry, symbol), f"static int call_{called(entry, symbol)}(struct fuzz *z)", "{"]
    for i, p in enumerate(entry.params):
        out.append(f"    {gen_api.declare(p._replace(name=f'a{i}'))} = {value(entry, p, i)};")
    for i, p in enumerate(entry.params):
        out.append(f"    fuzz_shows(z, {i}, {shown(p, i)});")
    tells = entry.tells()
    out.append(f"    {'int r = (int)' if tells else ''}{called(entry, symbol)}({', '.join(f'a{i}' for i in range(len(entry.params)))});")
    if not tells:
        return out + ["    return 0;", "}", ""]
    if entry.symbol in AFTER:
        out += ["    if (!r)", f"        {AFTER[entry.symbol]};"]
    for i, p in enumerate(entry.params):
        pool = kept_in(entry, p)
        if pool:
            out += [f"    if (!r && a{i})", f"        fuzz_keep(z, FUZZ_{KEPT_AS.get(pool, pool)}, {KEPT_HOW.get(pool, '(uintptr_t)*')}a{i});"]
    return out + ["    return r;", "}", ""]


def main():
    api = sys.argv[2]
    table = [e for e in gen_api.READ[api]() if not SKIPPED.fullmatch(e.symbol)]
    out = ["/* Made by gen_calls.py from spec/api. */", '#include "fuzz_api.h"',
           *(['#include "fuzz_runtime.h"'] if api == "runtime" else []), ""]
    rows = []
    for entry in table:
        for symbol, _ in gen_api.symbols(entry):
            out += function(entry, symbol)
            name = called(entry, symbol)
            rows.append(f'    {{"{name}", call_{name}, {weight(symbol)}, {int(entry.have != "YES")}}},')
    out += [f"const struct fuzz_entry fuzz_{api}_entries[] = {{", *rows, "};",
            f"const unsigned fuzz_{api}_entry_count = sizeof(fuzz_{api}_entries) / sizeof(fuzz_{api}_entries[0]);"]
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


main()
