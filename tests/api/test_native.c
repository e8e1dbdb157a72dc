/*
 * Native kernels (heddle/native.h): launches in stream order, chunks, inline ones, graphs, what
 * goes wrong and how it is told; where the device cannot call functions, the PTX that stands in.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/driver/cuda_abi.h"
#include "heddle/native.h"
#include "heddle/tap.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)
#define GRID               1000u

struct params {
    uint32_t *out;
    uint32_t by, what;
};

/* The same for a device that compiles: a thread per tile. */
static const char ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry add_by(.param .u64 out, .param .u32 by, .param .u32 what) {\n"
    ".reg .b32 %r<4>; .reg .b64 %d<4>;\n"
    "ld.param.u64 %d0, [out]; ld.param.u32 %r0, [by]; mov.u32 %r1, %ctaid.x;\n"
    "mul.wide.u32 %d1, %r1, 4; add.u64 %d0, %d0, %d1;\n"
    "red.global.add.u32 [%d0], %r0; ret; }\n"
    ".visible .entry twice(.param .u64 out) {\n"
    ".reg .b32 %r<4>; .reg .b64 %d<4>;\n"
    "ld.param.u64 %d0, [out]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d1, %r1, 4;\n"
    "add.u64 %d0, %d0, %d1; ld.global.u32 %r0, [%d0]; add.u32 %r0, %r0, %r0;\n"
    "st.global.u32 [%d0], %r0; ret; }\n";

static bool is_native; /* the device calls functions */
static CUcontext ctx;
static CUmodule module;
static CUfunction twice;
static CUdeviceptr memory;
static uint32_t host[GRID];

/* ---- functions */

static pthread_t main_thread;
static _Atomic unsigned calls, on_main, inlines;
static _Atomic uint64_t streams_seen;

static void note(const struct heddle_native_call *call)
{
    atomic_fetch_add(&calls, 1);
    atomic_fetch_add(&on_main, pthread_equal(pthread_self(), main_thread) != 0);
    atomic_fetch_add(&inlines, call->is_inline);
    atomic_store(&streams_seen, call->stream_id);
}

static void notes_clear(void)
{
    atomic_store(&calls, 0);
    atomic_store(&on_main, 0);
    atomic_store(&inlines, 0);
}

static int add_by(struct heddle_native_call *call)
{
    const struct params *p = call->params;

    note(call);
    for (uint64_t tile = call->first; tile < call->last; tile++)
        __atomic_fetch_add(&p->out[tile], p->by, __ATOMIC_RELAXED);
    return 0;
}

static _Atomic bool gate_open;

static int add_behind_gate(struct heddle_native_call *call)
{
    while (!atomic_load(&gate_open))
        usleep(100);
    return add_by(call);
}

static _Atomic unsigned cleaned;

static void clean(int *unused)
{
    (void)unused;
    atomic_fetch_add(&cleaned, 1);
}

static void throw_now(const char *text)
{
    void *cxx = dlopen("libstdc++.so.6", RTLD_NOW);
    void (*throw_error)(const char *) = NULL;

    if (cxx)
        *(void **)&throw_error = dlsym(cxx, "_ZSt21__throw_runtime_errorPKc");
    if (throw_error)
        throw_error(text);
}

enum failure {
    FAIL_NOT,
    FAIL_CODE,
    FAIL_TEXT,
    FAIL_ASSERTION,
    FAIL_SEGV,
    FAIL_FPE,
    FAIL_ILL,
    FAIL_BUS,
    FAIL_THROW,
    FAIL_EXIT
};

/* What it does wrong is meant. */
__attribute__((no_sanitize("undefined"))) static int fail(struct heddle_native_call *call)
{
    const struct params *p = call->params;
    int guard __attribute__((cleanup(clean))) = 0;
    volatile int *volatile wild = (volatile int *)(uintptr_t)16;
    volatile int zero = 0;

    (void)guard;
    note(call);
    switch ((enum failure)p->what) {
    case FAIL_NOT:
        return add_by(call);
    case FAIL_CODE:
        return 42;
    case FAIL_TEXT:
        return heddle_native_fail(call, 7, "no such shape");
    case FAIL_ASSERTION:
        return heddle_native_fail(call, HEDDLE_NATIVE_ASSERTION, "i < n");
    case FAIL_SEGV:
        *wild = 1;
        break;
    case FAIL_FPE:
        return 5 / zero;
    case FAIL_ILL:
        __builtin_trap();
    case FAIL_BUS:
        break;
    case FAIL_THROW:
        throw_now("no workspace");
        break;
    case FAIL_EXIT:
        pthread_exit(NULL);
    }
    return 0;
}

/* ---- helpers */

static struct heddle_native_kernel *kernel_make(const char *name, heddle_native_fn *function,
                                                uint32_t flags, uint64_t tile_ns)
{
    const struct heddle_native desc = {.size_B = sizeof(desc),
                                       .flags = flags,
                                       .name = name,
                                       .function = function,
                                       .ptx = ptx,
                                       .entry = "add_by",
                                       .tile_ns = tile_ns};
    struct heddle_native_kernel *kernel = NULL;

    if (heddle_native_register(&desc, &kernel))
        abort();
    return kernel;
}

static CUfunction function_of(struct heddle_native_kernel *kernel)
{
    CUfunction f = NULL;

    if (heddle_native_get_function(kernel, &f))
        abort();
    return f;
}

static CUresult launch(CUfunction f, unsigned grid, CUstream stream, uint32_t by, uint32_t what)
{
    void *params[] = {&memory, &by, &what};

    return cuLaunchKernel(f, grid, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static CUresult launch_twice(CUstream stream)
{
    void *params[] = {&memory};

    return cuLaunchKernel(twice, GRID, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

static void clear(void)
{
    success(cuMemsetD8_v2(memory, 0, sizeof(host)), "memory cleared");
    success(cuCtxSynchronize(), "before anything in a stream that does not wait");
    notes_clear();
}

static unsigned wrong(uint32_t want)
{
    unsigned n = 0;

    success(cuMemcpyDtoH_v2(host, memory, sizeof(host)), "read back");
    for (unsigned i = 0; i < GRID; i++)
        n += host[i] != want;
    return n;
}

static void context_make(void)
{
    if (cuCtxCreate_v2(&ctx, 0, 0) || cuModuleLoadData(&module, ptx) ||
        cuModuleGetFunction(&twice, module, "twice") || cuMemAlloc_v2(&memory, sizeof(host)))
        abort();
}

/* ---- launches */

static void test_register(void)
{
    struct heddle_native desc = {
        .size_B = sizeof(desc), .name = "bad", .function = add_by, .ptx = ptx, .entry = "add_by"};
    struct heddle_native_kernel *kernel = NULL;

    eq_u64(heddle_native_register(NULL, &kernel), CUDA_ERROR_INVALID_VALUE, "no description");
    desc.flags = 1u << 20;
    eq_u64(heddle_native_register(&desc, &kernel), CUDA_ERROR_INVALID_VALUE, "an unknown flag");
    desc.flags = HEDDLE_NATIVE_WAIT;
    eq_u64(heddle_native_register(&desc, &kernel), CUDA_ERROR_INVALID_VALUE, "WAIT, not INLINE");
    desc.flags = 0;
    desc.entry = "nobody";
    eq_u64(heddle_native_register(&desc, &kernel), CUDA_ERROR_INVALID_VALUE, "no such entry");
    desc.ptx = ".version 7.0\n.target sm_52\n.entry add_by( {";
    eq_u64(heddle_native_register(&desc, &kernel), CUDA_ERROR_INVALID_PTX, "malformed PTX");
    ok(!kernel, "nothing was registered");
}

/* How much is written to stderr when text that nobody has seen before is refused. */
static ssize_t said_of(const char *bad_ptx)
{
    const struct heddle_native desc = {
        .size_B = sizeof(desc), .name = "n", .function = add_by, .ptx = bad_ptx};
    struct heddle_native_kernel *kernel;
    int ends[2], was = dup(STDERR_FILENO);
    char text[512];
    ssize_t n;

    ok(was >= 0 && !pipe(ends) && dup2(ends[1], STDERR_FILENO) >= 0, "stderr is a pipe");
    int result = heddle_native_register(&desc, &kernel);
    ok(dup2(was, STDERR_FILENO) >= 0, "stderr is back");
    close(was);
    close(ends[1]);
    n = read(ends[0], text, sizeof(text));
    close(ends[0]);
    eq_u64(result, CUDA_ERROR_INVALID_IMAGE, "refused");
    return n;
}

static void test_quiet(void)
{
    ok(said_of("this is no PTX") > 0, "what fails is said");
    eq_u64(heddle_native_quiet(1), 0, "not quiet at first");
    eq_u64(said_of("nor is this") > 0, 0, "and is not when that is asked for");
    eq_u64(heddle_native_quiet(0), 1, "it was quiet");
    ok(said_of("nor that") > 0, "what fails is said again");
}

static void test_order(uint32_t flags, uint64_t tile_ns)
{
    struct heddle_native_kernel *kernel = kernel_make("lib::add_by", add_by, flags, tile_ns);
    CUfunction f = function_of(kernel);
    CUstream stream;

    diag("flags %u, %llu ns a tile", flags, (unsigned long long)tile_ns);
    success(cuStreamCreate(&stream, 1), "stream");
    clear();
    for (unsigned i = 0; i < 3; i++) {
        success(launch(f, GRID, stream, 1, 0), "native");
        success(launch_twice(stream), "compiled behind it");
    }
    success(cuStreamSynchronize(stream), "all of it");
    eq_u64(wrong(14), 0, "((1 * 2 + 1) * 2 + 1) * 2 in each");
    if (is_native && !flags)
        eq_u64(atomic_load(&on_main), 0, "nothing on the launching thread");
    if (is_native && tile_ns)
        ok(atomic_load(&calls) < 3 * GRID, "tiles came in ranges: %u calls", atomic_load(&calls));
    success(cuStreamDestroy_v2(stream), "stream destroyed");
    success(heddle_native_unregister(kernel), "unregistered");
}

static void test_kernel_handle(void)
{
    struct heddle_native_kernel *kernel = kernel_make("lib::add_by", add_by, 0, 10);
    const char *name = NULL;
    size_t offset, size_B;
    CUkernel handle;
    int blocks = 0;

    success(heddle_native_get_kernel(kernel, &handle), "as a CUkernel");
    clear();
    success(launch((CUfunction)handle, GRID, NULL, 5, 0), "launched by it");
    eq_u64(wrong(5), 0, "ran");
    success(cuFuncGetName(&name, function_of(kernel)), "its name");
    eq_str(name, "lib::add_by", "is the registered one");
    success(cuFuncGetParamInfo(function_of(kernel), 1, &offset, &size_B), "its parameters");
    ok(offset == 8 && size_B == 4, "as the PTX has them");
    success(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function_of(kernel), 128, 0),
            "occupancy");
    ok(blocks > 0, "of %d blocks", blocks);
    success(heddle_native_unregister(kernel), "unregistered");
}

static void test_refused(void)
{
    struct heddle_native_kernel *kernel = kernel_make("lib::add_by", add_by, 0, 10);
    uint32_t by = 1, what = 0;
    void *params[] = {&memory, &by, &what};

    if (is_native)
        eq_u64(cuLaunchCooperativeKernel(function_of(kernel), 1, 1, 1, 1, 1, 1, 0, NULL, params),
               CUDA_ERROR_NOT_SUPPORTED, "a cooperative launch");
    else
        success(cuLaunchCooperativeKernel(function_of(kernel), 1, 1, 1, 1, 1, 1, 0, NULL, params),
                "a cooperative launch of the PTX");
    success(cuCtxSynchronize(), "the context is fine");
    success(heddle_native_unregister(kernel), "unregistered");
}

static void test_only_native(void)
{
    struct heddle_native desc = {.size_B = sizeof(desc),
                                 .name = "aten::add",
                                 .function = add_by,
                                 .params_B = sizeof(struct params)};
    struct params block = {.out = (uint32_t *)(uintptr_t)memory, .by = 3};
    void *params[] = {&block};
    struct heddle_native_kernel *kernel;
    CUfunction f;

    success(heddle_native_register(&desc, &kernel), "without PTX");
    success(heddle_native_get_function(kernel, &f), "as a function");
    clear();
    eq_u64(cuLaunchKernel(f, GRID, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
           is_native ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED, "launched, where it can be");
    eq_u64(wrong(is_native ? 3 : 0), 0, "and run");
    success(heddle_native_unregister(kernel), "unregistered");
}

/* ---- what tools are told of a launch's parameters */

static char told[4][64]; /* by PACKET events of kernels, in order */
static unsigned ntold;

static void describe(const void *params, void *user, char *text, size_t size_B)
{
    const struct params *p = params;

    (void)snprintf(text, size_B, "%s %u", (const char *)user, p->by);
}

static void on_packet(void *user, const struct heddle_event *e)
{
    if (e->packet.work->kernel && ntold < HD_COUNT_OF(told))
        (void)snprintf(told[ntold++], sizeof(told[0]), "%s",
                       e->packet.work->arguments ? e->packet.work->arguments : "nothing");
}

static void on_done(void *user, const struct heddle_event *e)
{
    if (e->packet.work->arguments)
        atomic_fetch_add((_Atomic unsigned *)user, 1);
}

static void test_describe(void)
{
    char by[] = "by";
    struct heddle_native desc = {.size_B = sizeof(desc),
                                 .name = "described",
                                 .function = add_by,
                                 .user = by,
                                 .ptx = ptx,
                                 .entry = "add_by",
                                 .describe = describe};
    struct heddle_native_kernel *kernel, *older;
    _Atomic unsigned late = 0;
    uint32_t first, second;
    CUgraphExec exec;
    CUgraph graph;
    CUstream stream;

    success(heddle_native_register(&desc, &kernel), "a kernel that says what its parameters are");
    desc.size_B = offsetof(struct heddle_native, describe);
    success(heddle_native_register(&desc, &older), "one of a library built with an older header");
    success(cuStreamCreate(&stream, 1), "stream");
    clear();
    first = heddle_tap_subscribe(HEDDLE_KIND(PACKET), on_packet, NULL);
    success(launch(function_of(kernel), 1, stream, 1, 0), "launched");
    ok(ntold == 1 && !strcmp(told[0], "nothing"), "a listener that does not ask is not told: %s",
       told[0]);
    heddle_tap_unsubscribe(first);
    ntold = 0;
    first = heddle_tap_subscribe(HEDDLE_KIND(PACKET) | HEDDLE_ARGUMENTS, on_packet, NULL);
    second = heddle_tap_subscribe(HEDDLE_KIND(DONE), on_done, &late);
    success(launch(function_of(kernel), 1, stream, 5, 0), "launched");
    success(launch(function_of(older), 1, stream, 6, 0), "launched");
    success(cuStreamBeginCapture_v2(stream, 0), "capture");
    success(launch(function_of(kernel), 1, stream, 7, 0), "captured");
    success(cuStreamEndCapture(stream, &graph), "captured");
    success(cuGraphInstantiateWithFlags(&exec, graph, 0), "instantiated");
    success(cuGraphLaunch(exec, stream), "launched");
    success(cuStreamSynchronize(stream), "all of it");
    heddle_tap_settle();
    heddle_tap_unsubscribe(first);
    heddle_tap_unsubscribe(second);
    eq_u64(ntold, 3, "three kernels");
    eq_str(told[0], is_native ? "by 5" : "nothing", "of a launch");
    eq_str(told[1], "nothing", "of one that says nothing");
    eq_str(told[2], is_native ? "by 7" : "nothing", "of a node of a graph");
    eq_u64(late, 0, "not when the work is done");
    success(cuGraphExecDestroy(exec), "destroyed");
    success(cuGraphDestroy(graph), "destroyed");
    success(cuStreamDestroy_v2(stream), "stream destroyed");
    success(heddle_native_unregister(kernel), "unregistered");
    success(heddle_native_unregister(older), "unregistered");
}

/* ---- inline */

static void test_inline(void)
{
    struct heddle_native_kernel *kernel = kernel_make("inline", add_by, HEDDLE_NATIVE_INLINE, 1000);
    struct heddle_native_kernel *gate = kernel_make("gate", add_behind_gate, 0, 1000);
    CUfunction f = function_of(kernel);
    CUstream stream;

    success(cuStreamCreate(&stream, 1), "stream");
    clear();
    success(launch(f, GRID, stream, 1, 0), "inline");
    eq_u64(atomic_load(&calls), 1, "one call, before the launch returns");
    ok(atomic_load(&on_main) == 1 && atomic_load(&inlines) == 1, "on this thread");
    eq_u64(*(volatile uint32_t *)(uintptr_t)memory, 1, "whose result is there");
    atomic_store(&gate_open, false);
    notes_clear();
    success(launch(function_of(gate), 1, stream, 0, 0), "the stream is busy");
    success(launch(f, GRID, stream, 1, 0), "the next one");
    eq_u64(atomic_load(&calls), 0, "is left to the device");
    atomic_store(&gate_open, true);
    success(cuStreamSynchronize(stream), "all of it");
    eq_u64(atomic_load(&on_main), 0, "which ran it");
    eq_u64(wrong(2), 0, "once");
    success(cuStreamDestroy_v2(stream), "stream destroyed");
    success(heddle_native_unregister(kernel), "unregistered");
    success(heddle_native_unregister(gate), "unregistered");
}

static void *open_gate(void *arg)
{
    (void)arg;
    usleep(20000);
    atomic_store(&gate_open, true);
    return NULL;
}

static void test_wait(void)
{
    struct heddle_native_kernel *kernel =
        kernel_make("inline", add_by, HEDDLE_NATIVE_INLINE | HEDDLE_NATIVE_WAIT, 1000);
    struct heddle_native_kernel *gate = kernel_make("gate", add_behind_gate, 0, 1000);
    pthread_t opener;
    CUstream stream;

    success(cuStreamCreate(&stream, 0), "stream");
    clear();
    atomic_store(&gate_open, false);
    pthread_create(&opener, NULL, open_gate, NULL);
    success(launch(function_of(gate), 1, NULL, 0, 0), "the legacy stream is busy");
    success(launch(function_of(kernel), GRID, stream, 1, 0), "a blocking stream waits for it");
    eq_u64(atomic_load(&on_main), 1, "and then it is run here");
    pthread_join(opener, NULL);
    success(cuStreamSynchronize(stream), "all of it");
    eq_u64(wrong(1), 0, "once");
    success(cuStreamDestroy_v2(stream), "stream destroyed");
    success(heddle_native_unregister(kernel), "unregistered");
    success(heddle_native_unregister(gate), "unregistered");
}

#define THREADS 4
#define ROUNDS  200

static void *launch_often(void *arg)
{
    CUstream stream = NULL;

    if (cuCtxSetCurrent(ctx))
        return "no context";
    for (unsigned i = 0; i < ROUNDS; i++)
        if (launch(arg, 8, stream, 1, 0) || (i % 8 == 0 && launch(twice, 0, stream, 0, 0) == 0))
            return "launch failed";
    return NULL;
}

/* All of them into one stream, each runs its own. */
static void test_threads(uint32_t flags)
{
    struct heddle_native_kernel *kernel = kernel_make("inline", add_by, flags, 100);
    pthread_t threads[THREADS];
    void *why, *first = NULL;

    clear();
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, launch_often, function_of(kernel));
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &why);
        first = first ? first : why;
    }
    ok(!first, "%s", first ? (const char *)first : "threads launched");
    success(cuCtxSynchronize(), "all of it");
    success(cuMemcpyDtoH_v2(host, memory, sizeof(host)), "read back");
    eq_u64(host[7], THREADS * ROUNDS, "every launch ran once");
    success(heddle_native_unregister(kernel), "unregistered");
}

static CUstream own_stream, other_stream;
static CUresult nested[8];

static int nest(struct heddle_native_call *call)
{
    uint32_t value = 0;

    note(call);
    nested[0] = cuMemcpyDtoH_v2(&value, memory, 4); /* in the legacy stream */
    nested[1] = launch_twice(other_stream);
    nested[2] = cuStreamSynchronize(other_stream);
    nested[3] = cuStreamSynchronize(own_stream);
    nested[4] = cuCtxSynchronize();
    nested[5] = launch_twice(own_stream);
    nested[6] = cuStreamSynchronize(own_stream);
    nested[7] = value == 3 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
    return add_by(call);
}

static void test_nested(void)
{
    static const char *const what[] = {"a copy in the legacy stream",
                                       "a launch in another stream",
                                       "a wait for that",
                                       "a wait for its own stream",
                                       "a wait for the context",
                                       "a launch behind itself",
                                       "a wait for that",
                                       "the copy copied"};
    struct heddle_native_kernel *kernel =
        kernel_make("nest", nest, HEDDLE_NATIVE_INLINE | HEDDLE_NATIVE_WAIT, 1000);

    success(cuStreamCreate(&own_stream, 0), "its stream");
    success(cuStreamCreate(&other_stream, 0), "another one");
    clear();
    for (unsigned i = 0; i < GRID; i++)
        host[i] = 3;
    success(cuMemcpyHtoD_v2(memory, host, sizeof(host)), "threes");
    success(launch(function_of(kernel), GRID, own_stream, 1, 0), "inline");
    for (unsigned i = 0; i < 8; i++)
        eq_u64(nested[i], i == 6 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS, "inside: %s", what[i]);
    success(cuCtxSynchronize(), "the context is fine");
    eq_u64(wrong(14), 0, "(3 * 2 + 1) * 2 in each");
    success(cuStreamDestroy_v2(own_stream), "stream destroyed");
    success(cuStreamDestroy_v2(other_stream), "stream destroyed");
    success(heddle_native_unregister(kernel), "unregistered");
}

/* ---- graphs */

static void test_graph(uint32_t flags)
{
    struct heddle_native_kernel *kernel = kernel_make("in a graph", add_by, flags, 10);
    uint32_t by = 10, what = 0;
    void *changed[] = {&memory, &by, &what};
    CUDA_KERNEL_NODE_PARAMS params = {0};
    CUgraph graph, clone;
    CUgraphNode nodes[2];
    CUgraphExec exec, exec2;
    size_t n = 2;
    CUstream stream;

    diag("graphs, flags %u", flags);
    success(cuStreamCreate(&stream, 1), "stream");
    clear();
    success(cuStreamBeginCapture_v2(stream, 0), "capture");
    success(launch(function_of(kernel), GRID, stream, 1, 0), "captured");
    success(launch_twice(stream), "a compiled one behind it");
    success(cuStreamEndCapture(stream, &graph), "captured");
    eq_u64(atomic_load(&calls), 0, "nothing ran");
    success(cuGraphGetNodes(graph, nodes, &n), "nodes");
    eq_u64(n, 2, "two");
    success(cuGraphClone(&clone, graph), "clone");
    success(cuGraphInstantiateWithFlags(&exec, graph, 0), "instantiated");
    success(cuGraphInstantiateWithFlags(&exec2, clone, 0), "the clone, too");
    success(cuGraphLaunch(exec, stream), "launched");
    success(cuGraphLaunch(exec2, stream), "launched");
    success(cuStreamSynchronize(stream), "all of it");
    eq_u64(wrong(6), 0, "(1 * 2 + 1) * 2 in each");
    if (is_native)
        eq_u64(atomic_load(&on_main), 0, "by the device's threads");
    success(cuGraphKernelNodeGetParams_v2(nodes[0], &params), "parameters");
    eq_u64(*(uint32_t *)params.kernelParams[1], 1, "as captured");
    params.kernelParams = changed;
    success(cuGraphExecKernelNodeSetParams_v2(exec, nodes[0], &params), "changed");
    success(cuGraphLaunch(exec, stream), "launched");
    success(cuStreamSynchronize(stream), "all of it");
    eq_u64(wrong(32), 0, "(6 + 10) * 2 in each");
    success(heddle_native_unregister(kernel), "unregistered while graphs have it");
    notes_clear();
    if (is_native) {
        success(cuGraphLaunch(exec, stream), "launched again");
        eq_u64(cuStreamSynchronize(stream), CUDA_ERROR_LAUNCH_FAILED, "which fails");
        eq_u64(atomic_load(&calls), 0, "and calls nothing");
        (void)cuCtxDestroy_v2(ctx);
        context_make();
        return;
    }
    success(cuGraphExecDestroy(exec), "destroyed");
    success(cuGraphExecDestroy(exec2), "destroyed");
    success(cuGraphDestroy(graph), "destroyed");
    success(cuGraphDestroy(clone), "destroyed");
    success(cuStreamDestroy_v2(stream), "stream destroyed");
}

/* The body of a conditional node, three times. */
static void test_conditional(void)
{
    static const char loop_ptx[] =
        ".version 8.6\n.target sm_52\n.address_size 64\n"
        ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n"
        ".visible .entry less(.param .u64 handle, .param .u64 count) {\n"
        ".reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p<2>;\n"
        "ld.param.u64 %d0, [handle]; ld.param.u64 %d1, [count];\n"
        "ld.global.u32 %r0, [%d1]; sub.u32 %r0, %r0, 1; st.global.u32 [%d1], %r0;\n"
        "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %d0; st.param.b32 [b], %r0;\n"
        "call.uni cudaGraphSetConditional, (a, b); } ret; }\n";
    struct heddle_native_kernel *kernel = kernel_make("in a loop", add_by, 0, 10);
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
    CUDA_KERNEL_NODE_PARAMS node_params = {.gridDimX = GRID,
                                           .gridDimY = 1,
                                           .gridDimZ = 1,
                                           .blockDimX = 1,
                                           .blockDimY = 1,
                                           .blockDimZ = 1};
    uint32_t by = 5, what = 0, three = 3;
    void *add_params[] = {&memory, &by, &what};
    CUgraphConditionalHandle handle;
    CUdeviceptr count;
    void *less_params[] = {&handle, &count};
    CUmodule loop_module;
    CUgraphNode node, add;
    CUgraph graph;
    CUgraphExec exec;
    CUfunction less;

    clear();
    success(cuModuleLoadData(&loop_module, loop_ptx), "a module");
    success(cuModuleGetFunction(&less, loop_module, "less"), "that counts down");
    success(cuMemAlloc_v2(&count, 4), "a counter");
    success(cuMemcpyHtoD_v2(count, &three, 4), "of three");
    success(cuGraphCreate(&graph, 0), "graph");
    success(cuGraphConditionalHandleCreate(&handle, graph, ctx, 1, 1), "condition");
    params.conditional.handle = handle;
    params.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    params.conditional.size = 1;
    params.conditional.ctx = ctx;
    success(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &params), "a loop");
    node_params.func = function_of(kernel);
    node_params.kernelParams = add_params;
    success(cuGraphAddKernelNode_v2(&add, params.conditional.phGraph_out[0], NULL, 0, &node_params),
            "a native kernel in its body");
    node_params.func = less;
    node_params.gridDimX = 1;
    node_params.kernelParams = less_params;
    success(
        cuGraphAddKernelNode_v2(&node, params.conditional.phGraph_out[0], &add, 1, &node_params),
        "and one that counts");
    success(cuGraphInstantiateWithFlags(&exec, graph, 0), "instantiated");
    success(cuGraphLaunch(exec, NULL), "launched");
    eq_u64(wrong(15), 0, "three times 5");
    success(cuGraphExecDestroy(exec), "destroyed");
    success(cuGraphDestroy(graph), "destroyed");
    success(cuMemFree_v2(count), "freed");
    success(cuModuleUnload(loop_module), "unloaded");
    success(heddle_native_unregister(kernel), "unregistered");
}

/* Graphs that kernels launch. */
static void test_device_graph(void)
{
    struct heddle_native_kernel *kernel = kernel_make("by a kernel", add_by, 0, 10);
    CUstream stream;
    CUgraphExec exec = NULL;
    CUgraph graph;

    success(cuStreamCreate(&stream, 1), "stream");
    success(cuStreamBeginCapture_v2(stream, 0), "capture");
    success(launch(function_of(kernel), GRID, stream, 1, 0), "captured");
    success(cuStreamEndCapture(stream, &graph), "captured");
    eq_u64(cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH),
           is_native ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS, "for launches by kernels");
    if (exec)
        success(cuGraphExecDestroy(exec), "destroyed");
    success(cuGraphDestroy(graph), "destroyed");
    success(cuStreamDestroy_v2(stream), "stream destroyed");
    success(heddle_native_unregister(kernel), "unregistered");
}

/* ---- what goes wrong */

static bool log_has(const char *text)
{
    static char log[65536];
    size_t size = sizeof(log);

    return cuLogsDumpToMemory(NULL, log, &size, 0) == CUDA_SUCCESS && strstr(log, text);
}

static const struct {
    enum failure what;
    CUresult result;
    const char *text;
} failures[] = {
    {FAIL_CODE, CUDA_ERROR_LAUNCH_FAILED, "error 42"},
    {FAIL_TEXT, CUDA_ERROR_LAUNCH_FAILED, "error 7: no such shape"},
    {FAIL_ASSERTION, CUDA_ERROR_ASSERT, "assertion failed: i < n"},
    {FAIL_SEGV, CUDA_ERROR_ILLEGAL_ADDRESS, "SIGSEGV: illegal device address 0x10"},
    {FAIL_FPE, CUDA_ERROR_LAUNCH_FAILED, "SIGFPE"},
    {FAIL_ILL, CUDA_ERROR_ILLEGAL_INSTRUCTION, "SIGILL"},
    {FAIL_THROW, CUDA_ERROR_LAUNCH_FAILED,
     "an exception left the function: std::runtime_error: no workspace"},
    {FAIL_EXIT, CUDA_ERROR_LAUNCH_FAILED, "the function wanted to end its thread"},
};

static void test_failure(unsigned i, uint32_t flags)
{
    struct heddle_native_kernel *kernel = kernel_make("lib::fails", fail, flags, 1000000);
    bool is_inline = (flags & HEDDLE_NATIVE_INLINE) != 0;
    bool recovers = flags & HEDDLE_NATIVE_RECOVERS && failures[i].what <= FAIL_TEXT;
    CUresult result;

    diag("failure %d, flags %u", failures[i].what, flags);
    notes_clear();
    atomic_store(&cleaned, 0);
    result = launch(function_of(kernel), is_inline ? 1 : 4, NULL, 1, failures[i].what);
    eq_u64(result, is_inline ? failures[i].result : CUDA_SUCCESS, "the launch says so inline");
    if (!is_inline)
        eq_u64(cuCtxSynchronize(), failures[i].result, "the wait says so");
    eq_u64(cuCtxSynchronize(), recovers ? CUDA_SUCCESS : failures[i].result, "and all after it");
    ok(log_has("lib::fails") && log_has(failures[i].text), "the log: %s", failures[i].text);
    if (failures[i].what == FAIL_THROW)
        eq_u64(atomic_load(&cleaned), atomic_load(&calls), "its frames were cleaned up");
    success(cuCtxDestroy_v2(ctx), "the context ends");
    success(heddle_native_unregister(kernel), "unregistered");
    context_make();
    kernel = kernel_make("lib::fine", fail, flags, 1000000);
    clear();
    success(launch(function_of(kernel), GRID, NULL, 1, FAIL_NOT), "threads go on");
    eq_u64(wrong(1), 0, "and run every tile");
    success(heddle_native_unregister(kernel), "unregistered");
}

/* ---- the end of a process */

static void count_call(void *calls_made)
{
    atomic_fetch_add((_Atomic unsigned *)calls_made, 1);
}

/* Host calls had threads, which a child does not have; it ends, and the parent goes on. */
static void test_fork(void)
{
    static _Atomic unsigned made;
    CUstream streams[4];
    int status = -1;
    pid_t child;

    for (unsigned i = 0; i < 4; i++) {
        success(cuStreamCreate(&streams[i], 1), "stream");
        success(cuLaunchHostFunc(streams[i], count_call, &made), "a host call");
    }
    success(cuCtxSynchronize(), "of each");
    eq_u64(atomic_load(&made), 4, "were made");
    fflush(NULL);
    child = fork();
    if (!child) {
        alarm(60);
        exit(7);
    }
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 7, "a child ends by exit()");
    success(cuLaunchHostFunc(streams[0], count_call, &made), "a host call");
    success(cuStreamSynchronize(streams[0]), "of the parent");
    eq_u64(atomic_load(&made), 5, "is made");
    for (unsigned i = 0; i < 4; i++)
        success(cuStreamDestroy_v2(streams[i]), "stream destroyed");
}

int main(void)
{
    const char *device = getenv("HEDDLE_DEVICE");

    is_native = !device || strcmp(device, "interp") != 0;
    main_thread = pthread_self();
    success(cuInit(0), "init");
    context_make();
    test_register();
    test_quiet();
    for (unsigned flags = 0; flags < 4; flags++) {
        test_order(flags, 0);
        test_order(flags, 20);
    }
    test_order(HEDDLE_NATIVE_ANY_THREAD, 4);
    test_kernel_handle();
    test_refused();
    test_only_native();
    test_graph(0);
    test_graph(HEDDLE_NATIVE_INLINE | HEDDLE_NATIVE_WAIT);
    test_conditional();
    test_device_graph();
    test_threads(0);
    test_threads(HEDDLE_NATIVE_INLINE);
    test_threads(HEDDLE_NATIVE_INLINE | HEDDLE_NATIVE_WAIT);
    if (is_native) {
        test_inline();
        test_wait();
        test_nested();
        for (unsigned i = 0; i < HD_COUNT_OF(failures); i++) {
            if (HD_SANITIZES_ADDRESSES && failures[i].what == FAIL_THROW) {
                skip("exceptions: AddressSanitizer wants libstdc++ from the start");
                continue;
            }
            test_failure(i, 0);
            test_failure(i, HEDDLE_NATIVE_INLINE);
            test_failure(i, HEDDLE_NATIVE_INLINE | HEDDLE_NATIVE_RECOVERS);
        }
    }
    test_fork();
    test_describe(); /* a child forgets what it listens with */
    (void)cuCtxDestroy_v2(ctx);
    return done();
}
