/*
 * One kernel on several devices (cuLaunchCooperativeKernelMultiDevice): its grids meet, streams
 * wait for each other unless they need not, and what does not go together is refused.
 */
#include <stdatomic.h>
#include <unistd.h>

#include "api/driver/cuda_abi.h"
#include "tap.h"

enum { DEVICES = 3, BLOCKS = 4, THREADS = 48, ALL = DEVICES * BLOCKS * THREADS, TURNS = 5 };
enum {
    NO_PRE = CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC,
    NO_POST = CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC
};

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)

/*
 * meet: all threads of all grids write, meet, and read what another grid's thread wrote.
 * ask: handles of both scopes, and what they answer. alone, plain: meetings of one grid.
 */
static const char ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle (.param .b32 a);\n"
    ".extern .func (.param .b32 r) cudaCGSynchronize (.param .b64 a, .param .b32 b);\n"
    ".extern .func (.param .b32 r) cudaCGSynchronizeGrid (.param .b64 a, .param .b32 b);\n"
    ".extern .func (.param .b32 r) cudaCGGetSize (.param .b64 a, .param .b64 b, .param .b64 c);\n"
    ".extern .func (.param .b32 r) cudaCGGetRank (.param .b64 a, .param .b64 b, .param .b64 c);\n"
#define BODY                                                                                       \
    "{ .reg .pred p; .reg .b32 n, g, me, t, turns, v, sum, e; .reg .b64 h, slots, out, at, l;\n"   \
    ".local .align 4 .b32 said[2]; .param .b64 rh, a, b, c; .param .b32 s, f, re;\n"               \
    "ld.param.u64 slots, [slots_]; ld.param.u64 out, [out_]; ld.param.u32 turns, [turns_];\n"      \
    "mov.u64 l, said; cvta.local.u64 l, l;\n"
#define PARAMS "(.param .u64 slots_, .param .u64 out_, .param .u32 turns_)\n"
#define HANDLE(scope)                                                                              \
    "st.param.b32 [s], " scope "; call (rh), cudaCGGetIntrinsicHandle, (s);\n"                     \
    "ld.param.b64 h, [rh];\n"
/* The thread's and the grid's number, or the numbers of all. */
#define ASK(what)                                                                                  \
    "st.param.b64 [a], l; add.u64 at, l, 4; st.param.b64 [b], at; st.param.b64 [c], h;\n"          \
    "call (re), " what ", (a, b, c); ld.param.b32 e, [re];\n"
#define MEET(how)                                                                                  \
    "st.param.b64 [a], h; st.param.b32 [f], 0; call (re), " how ", (a, f);\n"                      \
    "ld.param.b32 e, [re];\n"
#define EXCHANGE(how)                                                                              \
    ASK("cudaCGGetSize")                                                                           \
    "ld.u32 n, [l];\n" ASK(                                                                        \
        "cudaCGGetRank") "ld.u32 me, [l]; mov.u32 t, 0; mov.u32 sum, 0;\n"                         \
                         "again: mul.wide.u32 at, me, 4; add.u64 at, at, slots; mad.lo.u32 v, t, " \
                         "1000, me;\n"                                                             \
                         "st.volatile.global.u32 [at], v;\n" MEET(                                 \
                             how) "add.u32 v, me, 192; rem.u32 v, v, n; mul.wide.u32 at, v, 4; "   \
                                  "add.u64 at, at, slots;\n"                                       \
                                  "ld.volatile.global.u32 v, [at]; add.u32 sum, sum, v; add.u32 "  \
                                  "sum, sum, e;\n" MEET(                                           \
                                      how) "add.u32 t, t, 1; setp.lt.u32 p, t, turns; @p bra "     \
                                           "again;\n"                                              \
                                           "mul.wide.u32 at, me, 4; add.u64 at, at, out; "         \
                                           "st.global.u32 [at], sum; ret; }\n"
    ".visible .entry meet" PARAMS BODY HANDLE("2")
        EXCHANGE("cudaCGSynchronize") ".visible .entry alone" PARAMS BODY HANDLE("1")
            EXCHANGE("cudaCGSynchr"
                     "onizeGrid") ".visible .entry plain" PARAMS BODY HANDLE("1")
                EXCHANGE("cudaCGSynchronize") ".visible .entry ask" PARAMS BODY HANDLE(
                    "turns") "setp.ne.u64 p, h, 0; selp.u32 v, 1, 0, p; st.global.u32 [out], "
                             "v;\n" ASK(
                                 "cudaCGGetSize") "st.global.u32 [out+4], e; ld.u32 n, [l]; "
                                                  "ld.u32 g, [l+4];\n"
                                                  "st.global.u32 [out+8], n; st.global.u32 "
                                                  "[out+12], g;\n" ASK(
                                                      "cudaCGGetRank") "ld.u32 g, [l+4]; "
                                                                       "st.global.u32 "
                                                                       "[out+16], "
                                                                       "g;\n" MEET(
                                                                           "cudaCGSynchroniz"
                                                                           "e") "st.global."
                                                                                "u32 "
                                                                                "[out+20], "
                                                                                "e;\n" MEET(
                                                                                    "cud"
                                                                                    "aCG"
                                                                                    "Syn"
                                                                                    "chr"
                                                                                    "oni"
                                                                                    "zeG"
                                                                                    "ri"
                                                                                    "d") "st."
                                                                                         "glo"
                                                                                         "bal"
                                                                                         ".u3"
                                                                                         "2 "
                                                                                         "[ou"
                                                                                         "t+"
                                                                                         "24]"
                                                                                         ", "
                                                                                         "e; "
                                                                                         "ret"
                                                                                         "; "
                                                                                         "}\n"
                                                                                         ".vi"
                                                                                         "sib"
                                                                                         "le "
                                                                                         ".en"
                                                                                         "try"
                                                                                         " ot"
                                                                                         "he"
                                                                                         "r" PARAMS
                                                                                         "{ "
                                                                                         "ret"
                                                                                         "; "
                                                                                         "}"
                                                                                         "\n";

static CUcontext ctx[DEVICES];
static CUmodule module[DEVICES];
static CUstream stream[DEVICES];
static CUdeviceptr slots, out;
static unsigned turns;
static void *params[] = {&slots, &out, &turns};

static void devices_open(void)
{
    for (int d = 0; d < DEVICES; d++) {
        success(cuCtxCreate(&ctx[d], 0, d), "context of device %d", d);
        success(cuModuleLoadData(&module[d], ptx), "module");
        success(cuStreamCreate(&stream[d], CU_STREAM_NON_BLOCKING), "stream");
    }
    success(cuMemAllocManaged(&slots, ALL * 4, CU_MEM_ATTACH_GLOBAL), "memory");
    success(cuMemAllocManaged(&out, ALL * 4, CU_MEM_ATTACH_GLOBAL), "memory");
}

static void lists_make(CUDA_LAUNCH_PARAMS list[DEVICES], const char *name)
{
    for (int d = 0; d < DEVICES; d++) {
        list[d] = (CUDA_LAUNCH_PARAMS){.gridDimX = BLOCKS,
                                       .gridDimY = 1,
                                       .gridDimZ = 1,
                                       .blockDimX = THREADS,
                                       .blockDimY = 1,
                                       .blockDimZ = 1,
                                       .hStream = stream[d],
                                       .kernelParams = params};
        if (cuModuleGetFunction(&list[d].function, module[d], name))
            abort();
    }
}

static void wait_all(void)
{
    for (int d = 0; d < DEVICES; d++)
        success(cuStreamSynchronize(stream[d]), "wait for device %d", d);
}

static unsigned *words(CUdeviceptr ptr)
{
    return (unsigned *)(uintptr_t)ptr;
}

static unsigned wrong_sums(unsigned n, unsigned distance)
{
    unsigned wrong = 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned want = 0;

        for (unsigned t = 0; t < turns; t++)
            want += t * 1000 + (i + distance) % n;
        wrong += words(out)[i] != want;
    }
    return wrong;
}

static void test_meet(void)
{
    CUDA_LAUNCH_PARAMS list[DEVICES];
    int has = 0;

    success(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH, 0),
            "attribute");
    eq_u64((unsigned)has, 1, "devices launch together");
    turns = TURNS;
    lists_make(list, "meet");
    for (unsigned flags = 0; flags <= (NO_PRE | NO_POST); flags++) {
        memset(words(out), 0xff, ALL * 4);
        success(cuLaunchCooperativeKernelMultiDevice(list, DEVICES, flags), "flags %u", flags);
        wait_all();
        eq_u64(wrong_sums(ALL, BLOCKS * THREADS), 0, "all grids met, flags %u", flags);
    }
    for (int i = 0; i < 3; i++)
        success(cuLaunchCooperativeKernelMultiDevice(list, DEVICES, NO_POST), "one after another");
    wait_all();
    eq_u64(wrong_sums(ALL, BLOCKS * THREADS), 0, "all grids met each time");
    success(cuLaunchCooperativeKernelMultiDevice(list, 1, 0), "one device");
    success(cuStreamSynchronize(stream[0]), "wait");
    eq_u64(wrong_sums(BLOCKS * THREADS, 0), 0, "its threads met");
}

static void test_alone(const char *kernel)
{
    CUDA_LAUNCH_PARAMS list[DEVICES];

    turns = TURNS;
    lists_make(list, kernel);
    success(cuCtxSetCurrent(ctx[1]), "current");
    memset(words(out), 0xff, ALL * 4);
    success(cuLaunchCooperativeKernel(list[1].function, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream[1],
                                      params),
            "a cooperative grid");
    wait_all();
    eq_u64(wrong_sums(BLOCKS * THREADS, 0), 0, "%s: its threads met", kernel);
}

/* What `ask` leaves: is there a handle; error, threads, grids; grid; errors of both meetings. */
static void asked(unsigned valid, unsigned error, unsigned threads, unsigned grids, unsigned grid,
                  const char *what)
{
    const unsigned *got = words(out);

    ok(got[0] == valid && got[1] == error, "%s: handle %u, error %u", what, got[0], got[1]);
    if (valid)
        ok(got[2] == threads && got[3] == grids && got[4] == grid, "%s: %u threads, %u grids, %u",
           what, got[2], got[3], got[4]);
    else
        ok(got[5] == 1 && got[6] == 1, "%s: no meeting", what);
}

static void test_ask(void)
{
    CUDA_LAUNCH_PARAMS list[DEVICES];
    CUdeviceptr other, third, first = out;
    void *others[] = {&slots, &other, &turns}, *thirds[] = {&slots, &third, &turns};

    lists_make(list, "ask");
    success(cuCtxSetCurrent(ctx[0]), "current");
    turns = 2;
    success(cuLaunchKernel(list[0].function, 1, 1, 1, 1, 1, 1, 0, stream[0], params, NULL),
            "an ordinary grid");
    wait_all();
    asked(0, 1, 0, 0, 0, "no such launch");
    turns = 7;
    success(cuLaunchKernel(list[0].function, 1, 1, 1, 1, 1, 1, 0, stream[0], params, NULL),
            "an ordinary grid");
    wait_all();
    asked(0, 1, 0, 0, 0, "a scope that is none");
    turns = 1;
    success(cuLaunchCooperativeKernel(list[0].function, 1, 1, 1, 1, 1, 1, 0, stream[0], params),
            "a cooperative grid");
    wait_all();
    asked(1, 0, 1, 1, 0, "a grid");
    eq_u64(words(out)[5], 0, "meets with itself");
    eq_u64(words(out)[6], 0, "by either function");
    turns = 2;
    other = out + 64;
    third = out + 128;
    list[1].kernelParams = others;
    list[2].kernelParams = thirds;
    for (int d = 0; d < DEVICES; d++)
        list[d].gridDimX = list[d].blockDimX = 1;
    success(cuLaunchCooperativeKernelMultiDevice(list, DEVICES, 0), "three devices");
    wait_all();
    for (unsigned d = 0; d < DEVICES; d++, out += 64) {
        asked(1, 0, DEVICES, DEVICES, d, "one");
        ok(!words(out)[5] && words(out)[6] == 1, "which meets, but is no grid");
    }
    out = first;
}

/* ---- order of streams */

static void wait_at_gate(void *gate)
{
    while (!atomic_load((atomic_bool *)gate))
        usleep(100);
}

/* Is device 1 held up by what device 0's stream waits for? */
static void held(unsigned flags, bool is_held, const char *what)
{
    CUDA_LAUNCH_PARAMS list[DEVICES];
    atomic_bool gate = false;

    lists_make(list, "other");
    success(cuCtxSetCurrent(ctx[0]), "current");
    success(cuLaunchHostFunc(stream[0], wait_at_gate, &gate), "device 0 waits");
    success(cuLaunchCooperativeKernelMultiDevice(list, 2, flags), "%s", what);
    success(cuCtxSetCurrent(ctx[1]), "current");
    if (!is_held) {
        success(cuStreamSynchronize(stream[1]), "%s: device 1 does not wait", what);
    } else {
        usleep(20000);
        eq_u64(cuStreamQuery(stream[1]), CUDA_ERROR_NOT_READY, "%s: device 1 waits", what);
    }
    atomic_store(&gate, true);
    wait_all();
}

static void test_order(void)
{
    held(0, true, "all wait");
    held(NO_PRE, true, "what follows waits for all grids");
    held(NO_POST, true, "a grid waits for what is before all grids");
    held(NO_PRE | NO_POST, false, "each stream by itself");
}

/*
 * Work that waits for another device begins by itself, though no thread asks for its own: here the
 * thread that made a host call finds that the queue has to wait, and all workers sleep.
 */
static void test_by_itself(void)
{
    static atomic_bool gates[2];
    volatile unsigned *word = words(slots);
    CUevent event;

    *word = 0;
    success(cuCtxSetCurrent(ctx[0]), "current");
    success(cuLaunchHostFunc(stream[0], wait_at_gate, &gates[0]), "device 0 waits");
    success(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "event");
    success(cuEventRecord(event, stream[0]), "record");
    success(cuCtxSetCurrent(ctx[1]), "current");
    success(cuLaunchHostFunc(stream[1], wait_at_gate, &gates[1]), "device 1 waits");
    success(cuStreamWaitEvent(stream[1], event, 0), "then for device 0");
    success(cuMemsetD32Async(slots, 77, 1, stream[1]), "and then writes");
    usleep(50000);
    atomic_store(&gates[1], true);
    usleep(20000);
    eq_u64(*word, 0, "not yet");
    atomic_store(&gates[0], true);
    for (int i = 0; i < 10000 && *word != 77; i++)
        usleep(1000);
    eq_u64(*word, 77, "it does");
    success(cuEventDestroy(event), "destroy");
    wait_all();
}

/* ---- what is wrong */

#define refused(result, ...)                                                                       \
    eq_u64(cuLaunchCooperativeKernelMultiDevice(list, DEVICES, 0), (result), __VA_ARGS__)

static void test_wrong(void)
{
    CUDA_LAUNCH_PARAMS list[DEVICES], good[DEVICES];
    CUfunction function;
    CUstream second;
    CUgraph graph;

    turns = TURNS;
    lists_make(good, "meet");
    memcpy(list, good, sizeof(list));
    eq_u64(cuLaunchCooperativeKernelMultiDevice(NULL, 1, 0), CUDA_ERROR_INVALID_VALUE, "null");
    eq_u64(cuLaunchCooperativeKernelMultiDevice(list, 0, 0), CUDA_ERROR_INVALID_VALUE, "none");
    eq_u64(cuLaunchCooperativeKernelMultiDevice(list, 9, 0), CUDA_ERROR_INVALID_VALUE, "nine");
    eq_u64(cuLaunchCooperativeKernelMultiDevice(list, DEVICES, 4), CUDA_ERROR_INVALID_VALUE,
           "a flag that is none");
    list[1].hStream = NULL;
    refused(CUDA_ERROR_INVALID_HANDLE, "the default stream");
    list[1].hStream = CU_STREAM_PER_THREAD;
    refused(CUDA_ERROR_INVALID_HANDLE, "the thread's stream");
    list[1].hStream = stream[2];
    refused(CUDA_ERROR_INVALID_HANDLE, "a stream of another device");
    success(cuCtxSetCurrent(ctx[0]), "current");
    success(cuStreamCreate(&second, 0), "another stream");
    list[1] = list[0];
    list[1].hStream = second;
    refused(CUDA_ERROR_INVALID_VALUE, "twice on one device");
    memcpy(list, good, sizeof(list));
    list[2].gridDimX++;
    refused(CUDA_ERROR_INVALID_VALUE, "another grid");
    memcpy(list, good, sizeof(list));
    list[2].blockDimY++;
    refused(CUDA_ERROR_INVALID_VALUE, "another block");
    memcpy(list, good, sizeof(list));
    list[2].sharedMemBytes = 16;
    refused(CUDA_ERROR_INVALID_VALUE, "other shared memory");
    memcpy(list, good, sizeof(list));
    success(cuModuleGetFunction(&list[2].function, module[2], "other"), "another kernel");
    refused(CUDA_ERROR_INVALID_VALUE, "another kernel");
    memcpy(list, good, sizeof(list));
    list[2].function = (CUfunction)&function;
    refused(CUDA_ERROR_INVALID_HANDLE, "no kernel");
    memcpy(list, good, sizeof(list));
    list[2].kernelParams = NULL;
    refused(CUDA_ERROR_INVALID_VALUE, "no parameters");
    memcpy(list, good, sizeof(list));
    for (int d = 0; d < DEVICES; d++)
        list[d].gridDimX = 1u << 20;
    refused(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks");
    memcpy(list, good, sizeof(list));
    list[1].hStream = stream[1];
    success(cuStreamBeginCapture_v2(stream[1], CU_STREAM_CAPTURE_MODE_RELAXED), "capture");
    refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "a stream that captures");
    (void)cuStreamEndCapture(stream[1], &graph);
    wait_all();
    memset(words(out), 0xff, ALL * 4);
    success(cuLaunchCooperativeKernelMultiDevice(good, DEVICES, 0), "and then a good one");
    wait_all();
    eq_u64(wrong_sums(ALL, BLOCKS * THREADS), 0, "all grids met");
}

int main(void)
{
    if (tap_lacks(getenv("HEDDLE_CPU")))
        return skip_all("this CPU lacks the level");
    setenv("HEDDLE_DEVICES", "3", 1);
    setenv("HEDDLE_MEMORY", "64M", 1);
    success(cuInit(0), "cuInit");
    devices_open();
    test_by_itself();
    test_meet();
    test_alone("alone"); /* by the function for grids */
    test_alone("plain"); /* by the one for handles of either kind */
    test_ask();
    test_order();
    test_wrong();
    for (int d = 0; d < DEVICES; d++)
        success(cuCtxDestroy(ctx[d]), "destroy");
    return done();
}
