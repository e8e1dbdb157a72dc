/*
 * Resources and green contexts, on every device: how multiprocessors are split, what kernels of a
 * green context run on, its streams, events of all streams at once, and its end.
 *
 *     test_green    with HEDDLE_THREADS=16, or HEDDLE_MACHINE=h100
 */
#include <stdlib.h>

#include "api/driver/cuda_abi.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)
#define CTAS               64

static const char ptx[] =
    ".version 7.8\n.target sm_75\n.address_size 64\n"
    /* out[ctaid] = {smid, nsmid}
     * state = {CTAs that run, the most that ever did, what for, iterations of each} */
    ".visible .entry where(.param .u64 out, .param .u64 state)\n{\n"
    ".reg .u32 %r<12>;\n.reg .u64 %d<6>;\n.reg .pred %p;\n"
    "ld.param.u64 %d1, [out];\nld.param.u64 %d2, [state];\n"
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %smid;\nmov.u32 %r3, %nsmid;\n"
    "mad.wide.u32 %d3, %r1, 8, %d1;\nst.global.v2.u32 [%d3], {%r2, %r3};\n"
    "atom.global.add.u32 %r4, [%d2], 1;\nadd.u32 %r4, %r4, 1;\nred.global.max.u32 [%d2+4], %r4;\n"
    "mov.u32 %r5, 0;\n"
    "ld.global.u32 %r7, [%d2+12];\n"
    "L: mad.lo.u32 %r6, %r6, 1664525, %r5;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p, %r5, %r7;\n"
    "@%p bra L;\n"
    "red.global.add.u32 [%d2+8], %r6;\nred.global.add.u32 [%d2], -1;\nret;\n}\n"
    ".visible .entry bump(.param .u64 at)\n{\n.reg .u64 %d;\n"
    "ld.param.u64 %d, [at];\nred.global.add.u32 [%d], 1;\nret;\n}\n";

static CUfunction where, bump;
static CUdeviceptr gate; /* pinned; streams that wait for it are held */
static CUcontext primary;
static unsigned nsms;
static bool has_turns;      /* interpreted CTAs, four at a time; others run to their end */
static uint32_t iterations; /* enough for CTAs of several threads to meet */

#define gate32 (*(_Atomic uint32_t *)(uintptr_t)gate)

static CUdevResource device_resource(void)
{
    CUdevResource r;

    success(cuDeviceGetDevResource(0, &r, CU_DEV_RESOURCE_TYPE_SM), "resource of the device");
    return r;
}

static CUgreenCtx green_of(CUdevResource *parts, unsigned n)
{
    CUdevResourceDesc desc = NULL;
    CUgreenCtx green = NULL;

    success(cuDevResourceGenerateDesc(&desc, parts, n), "descriptor");
    success(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM), "green context");
    return green;
}

static CUcontext context_of(CUgreenCtx green)
{
    CUcontext ctx = NULL;

    success(cuCtxFromGreenCtx(&ctx, green), "as a context");
    return ctx;
}

static CUstream stream_of(CUgreenCtx green)
{
    CUstream stream = NULL;

    success(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0), "its stream");
    return stream;
}

/* ---- resources */

static void test_resource(void)
{
    CUdevResource r = device_resource(), of_ctx;
    int attribute = 0;

    success(cuDeviceGetAttribute(&attribute, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), "SMs");
    nsms = (unsigned)attribute;
    eq_u64(r.type, CU_DEV_RESOURCE_TYPE_SM, "multiprocessors");
    eq_u64(r.sm.smCount, nsms, "all of them");
    eq_u64(r.sm.minSmPartitionSize, 8, "parts of 8");
    eq_u64(r.sm.smCoscheduledAlignment, 8, "and multiples of it");
    success(cuCtxGetDevResource(primary, &of_ctx, CU_DEV_RESOURCE_TYPE_SM), "of the context");
    eq_u64(of_ctx.sm.smCount, nsms, "the same");
    eq_u64(cuDeviceGetDevResource(0, &r, CU_DEV_RESOURCE_TYPE_INVALID),
           CUDA_ERROR_INVALID_RESOURCE_TYPE, "no type");
    eq_u64(cuDeviceGetDevResource(0, NULL, CU_DEV_RESOURCE_TYPE_SM), CUDA_ERROR_INVALID_VALUE,
           "no place");
    eq_u64(cuDeviceGetDevResource(99, &r, CU_DEV_RESOURCE_TYPE_SM), CUDA_ERROR_INVALID_DEVICE,
           "no device");
    eq_u64(cuCtxGetDevResource(NULL, &r, CU_DEV_RESOURCE_TYPE_SM), CUDA_ERROR_INVALID_CONTEXT,
           "no context");
}

static unsigned groups(const CUdevResource *in, unsigned flags, unsigned min)
{
    unsigned n = 77;

    success(cuDevSmResourceSplitByCount(NULL, &n, in, NULL, flags, min), "how many parts of %u",
            min);
    return n;
}

static void test_split_sizes(void)
{
    const unsigned ignore = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
    const unsigned clusters = CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
    CUdevResource all = device_resource();

    eq_u64(groups(&all, 0, 0), nsms / 8, "parts of 8");
    eq_u64(groups(&all, 0, 1), nsms / 8, "rounded up");
    eq_u64(groups(&all, 0, 9), nsms / 16, "to 16");
    eq_u64(groups(&all, ignore, 1), nsms / 2, "parts of 2");
    eq_u64(groups(&all, ignore, 3), nsms / 4, "of 4");
    eq_u64(groups(&all, clusters, 1), nsms / 16, "for large clusters");
}

static void test_split_errors(void)
{
    CUdevResource all = device_resource(), parts[2], rest, bad = all;
    unsigned n = 2, none = 0;

    eq_u64(cuDevSmResourceSplitByCount(NULL, &n, &all, NULL, 0, nsms + 1), CUDA_ERROR_INVALID_VALUE,
           "more than there are");
    eq_u64(cuDevSmResourceSplitByCount(NULL, &n, &all, NULL, 3, 0), CUDA_ERROR_INVALID_VALUE,
           "flags that exclude each other");
    eq_u64(cuDevSmResourceSplitByCount(NULL, &n, &all, NULL, 4, 0), CUDA_ERROR_INVALID_VALUE,
           "unknown flags");
    eq_u64(cuDevSmResourceSplitByCount(NULL, NULL, &all, NULL, 0, 0), CUDA_ERROR_INVALID_VALUE,
           "no number");
    eq_u64(cuDevSmResourceSplitByCount(NULL, &n, NULL, NULL, 0, 0), CUDA_ERROR_INVALID_VALUE,
           "no input");
    eq_u64(cuDevSmResourceSplitByCount(parts, &none, &all, NULL, 0, 0), CUDA_ERROR_INVALID_VALUE,
           "no parts");
    bad.type = CU_DEV_RESOURCE_TYPE_INVALID;
    eq_u64(cuDevSmResourceSplitByCount(NULL, &n, &bad, NULL, 0, 0),
           CUDA_ERROR_INVALID_RESOURCE_TYPE, "not of multiprocessors");
    bad = all;
    bad.sm.smCount++;
    eq_u64(cuDevSmResourceSplitByCount(NULL, &n, &bad, NULL, 0, 0), CUDA_ERROR_INVALID_VALUE,
           "one that was changed");
    n = 1;
    success(cuDevSmResourceSplitByCount(parts, &n, &all, &rest, 0, 8), "one part");
    eq_u64(n, 1, "of several");
    eq_u64(parts[0].sm.smCount, 8, "8 multiprocessors");
    eq_u64(rest.sm.smCount, nsms - 8, "all others are left");
    eq_u64(cuDevSmResourceSplitByCount(NULL, &n, &parts[0], NULL, 0, 0),
           CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "parts are not split");
    eq_u64(cuDevSmResourceSplitByCount(NULL, &n, &rest, NULL, 0, 0),
           CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "nor what is left");
    n = 1;
    success(cuDevSmResourceSplitByCount(parts, &n, &all, &rest, 0, nsms / 8 * 8), "nearly all");
    eq_u64(rest.type, nsms % 8 ? CU_DEV_RESOURCE_TYPE_SM : CU_DEV_RESOURCE_TYPE_INVALID,
           "what is left, if anything");
}

static void test_descriptors(void)
{
    CUdevResource all = device_resource(), parts[2], others[2], twice[2], mixed[2];
    CUdevResourceDesc desc, same;
    CUgreenCtx green;
    unsigned n = 2;

    success(cuDevSmResourceSplitByCount(parts, &n, &all, NULL, 0, 8), "a split");
    success(cuDevSmResourceSplitByCount(others, &n, &all, NULL, 0, 8), "another one");
    success(cuDevResourceGenerateDesc(&desc, &all, 1), "of the device");
    success(cuDevResourceGenerateDesc(&desc, parts, 2), "of both parts");
    success(cuDevResourceGenerateDesc(&same, parts, 2), "again");
    ok(desc == same, "the same");
    twice[0] = twice[1] = parts[0];
    eq_u64(cuDevResourceGenerateDesc(&desc, twice, 2), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
           "one part twice");
    mixed[0] = parts[0];
    mixed[1] = others[1];
    eq_u64(cuDevResourceGenerateDesc(&desc, mixed, 2), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
           "parts of two splits");
    mixed[0] = mixed[1] = all;
    eq_u64(cuDevResourceGenerateDesc(&desc, mixed, 2), CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
           "the device twice");
    eq_u64(cuDevResourceGenerateDesc(&desc, parts, 0), CUDA_ERROR_INVALID_VALUE, "nothing");
    eq_u64(cuDevResourceGenerateDesc(NULL, parts, 1), CUDA_ERROR_INVALID_VALUE, "no place");
    eq_u64(cuDevResourceGenerateDesc(&desc, NULL, 1), CUDA_ERROR_INVALID_VALUE, "no resources");
    eq_u64(cuGreenCtxCreate(&green, same, 0, 0), CUDA_ERROR_INVALID_VALUE, "without its flag");
    eq_u64(cuGreenCtxCreate(&green, (CUdevResourceDesc)&n, 0, CU_GREEN_CTX_DEFAULT_STREAM),
           CUDA_ERROR_INVALID_VALUE, "no descriptor");
    eq_u64(cuGreenCtxCreate(&green, same, 9, CU_GREEN_CTX_DEFAULT_STREAM),
           CUDA_ERROR_INVALID_DEVICE, "no device");
    eq_u64(cuGreenCtxCreate(NULL, same, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_ERROR_INVALID_VALUE,
           "no place");
}

/* ---- what kernels run on */

static uint32_t places[CTAS][2];

/* Which multiprocessors ran CTAs, one bit each; *out_most: how many CTAs at once. */
static void run_where(CUstream stream, uint64_t seen[4], uint32_t *out_most)
{
    CUdeviceptr out, state;
    void *params[] = {&out, &state};
    uint32_t counts[4] = {0, 0, 0, iterations};

    success(cuMemAlloc_v2(&out, sizeof(places)), "memory");
    success(cuMemAlloc_v2(&state, sizeof(counts)), "memory");
    success(cuMemcpyHtoD_v2(state, counts, sizeof(counts)), "clear");
    success(cuCtxSynchronize(), "wait");
    success(cuLaunchKernel(where, CTAS, 1, 1, 1, 1, 1, 0, stream, params, NULL), "launch");
    success(cuStreamSynchronize(stream), "wait");
    success(cuMemcpyDtoH_v2(places, out, sizeof(places)), "copy");
    success(cuMemcpyDtoH_v2(counts, state, sizeof(counts)), "copy");
    success(cuMemFree_v2(out), "free");
    success(cuMemFree_v2(state), "free");
    memset(seen, 0, 32);
    for (int i = 0; i < CTAS; i++) {
        if (places[i][0] < 256)
            seen[places[i][0] / 64] |= (uint64_t)1 << (places[i][0] % 64);
        else
            ok(false, "a multiprocessor beyond all");
    }
    eq_u64(places[0][1], nsms, "%%nsmid is that of the device");
    *out_most = counts[1];
}

static unsigned bits_of(const uint64_t set[4])
{
    unsigned n = 0;

    for (int i = 0; i < 4; i++)
        n += (unsigned)__builtin_popcountll(set[i]);
    return n;
}

static void test_places(void)
{
    const unsigned ignore = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
    CUdevResource all = device_resource(), parts[2], rest;
    CUgreenCtx a, b, c;
    CUstream streams[3];
    uint64_t seen[3][4];
    uint32_t most[3], limit = has_turns ? 8 : 2;
    unsigned n = 2;

    success(cuDevSmResourceSplitByCount(parts, &n, &all, &rest, ignore, 2), "two small parts");
    a = green_of(&parts[0], 1);
    b = green_of(&parts[1], 1);
    c = green_of(&rest, 1);
    streams[0] = stream_of(a);
    streams[1] = stream_of(b);
    streams[2] = stream_of(c);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 3; i++)
            run_where(streams[i], seen[i], &most[i]);
        ok(bits_of(seen[0]) <= 2 && bits_of(seen[1]) <= 2, "two multiprocessors at most");
        ok(!(seen[0][0] & seen[1][0]) && !(seen[0][0] & seen[2][0]) && !(seen[1][0] & seen[2][0]),
           "no two parts have one in common");
        ok(!(seen[0][0] & ~(uint64_t)3) && !(seen[1][0] & ~(uint64_t)12), "the first ones");
        ok(most[0] <= limit && most[1] <= limit, "no more CTAs at once");
    }
    for (int i = 0; i < 3; i++)
        success(cuStreamDestroy_v2(streams[i]), "destroy");
    success(cuGreenCtxDestroy(a), "destroy");
    success(cuGreenCtxDestroy(b), "destroy");
    success(cuGreenCtxDestroy(c), "destroy");
}

/* Many launches, long and short, into several green contexts at the same time: nobody is left. */
static void test_many(void)
{
    CUdevResource all = device_resource(), parts[2];
    CUgreenCtx greens[2];
    CUstream streams[8];
    CUdeviceptr out, state, counter;
    void *params[] = {&out, &state}, *bumps[] = {&counter};
    uint32_t value = 0;
    unsigned n = 2;

    success(cuDevSmResourceSplitByCount(parts, &n, &all, NULL, 1, 2), "two parts");
    success(cuMemAlloc_v2(&out, sizeof(places)), "memory");
    success(cuMemAlloc_v2(&state, 64), "memory");
    success(cuMemAlloc_v2(&counter, 64), "memory");
    success(cuMemsetD8_v2(state, 0, 64), "clear");
    success(cuMemsetD32_v2(state + 12, iterations, 1), "iterations");
    success(cuMemsetD8_v2(counter, 0, 64), "clear");
    success(cuCtxSynchronize(), "wait");
    for (int i = 0; i < 2; i++)
        greens[i] = green_of(&parts[i], 1);
    for (int i = 0; i < 8; i++)
        streams[i] = stream_of(greens[i % 2]);
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < 8; i++) {
            (void)cuLaunchKernel(where, 8, 1, 1, 1, 1, 1, 0, streams[i], params, NULL);
            (void)cuLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, streams[i], bumps, NULL);
            (void)cuLaunchKernel(bump, 1, 1, 1, 1, 1, 1, 0, NULL, bumps, NULL);
        }
    success(cuCtxSynchronize(), "all is done");
    success(cuMemcpyDtoH_v2(&value, counter, 4), "copy");
    eq_u64(value, 320, "every launch ran");
    for (int i = 0; i < 8; i++)
        success(cuStreamDestroy_v2(streams[i]), "destroy");
    for (int i = 0; i < 2; i++)
        success(cuGreenCtxDestroy(greens[i]), "destroy");
    success(cuMemFree_v2(out), "free");
    success(cuMemFree_v2(state), "free");
    success(cuMemFree_v2(counter), "free");
}

/* Occupancy and cooperative launches count the multiprocessors of the green context. */
static void test_limits(void)
{
    CUdevResource all = device_resource(), part;
    int per_sm = 0, min_grid = 0, block = 0, all_grid = 0;
    CUdeviceptr counter;
    void *params[] = {&counter};
    CUgreenCtx green;
    CUstream stream;
    unsigned n = 1;

    success(cuDevSmResourceSplitByCount(&part, &n, &all, NULL, 0, 8), "8 multiprocessors");
    green = green_of(&part, 1);
    stream = stream_of(green);
    success(cuMemAlloc_v2(&counter, 4), "memory");
    success(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, bump, 1024, 0), "occupancy");
    success(
        cuLaunchCooperativeKernel(bump, (unsigned)per_sm * 8, 1, 1, 1024, 1, 1, 0, stream, params),
        "as many as fit");
    eq_u64(cuLaunchCooperativeKernel(bump, (unsigned)per_sm * 8 + 1, 1, 1, 1024, 1, 1, 0, stream,
                                     params),
           CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "one more");
    success(cuLaunchCooperativeKernel(bump, (unsigned)per_sm * 8 + 1, 1, 1, 1024, 1, 1, 0, NULL,
                                      params),
            "the whole device has room");
    success(cuCtxSynchronize(), "wait");
    success(cuOccupancyMaxPotentialBlockSize(&all_grid, &block, bump, NULL, 0, 0), "of the device");
    success(cuCtxPushCurrent_v2(context_of(green)), "make it current");
    success(cuOccupancyMaxPotentialBlockSize(&min_grid, &block, bump, NULL, 0, 0), "of its part");
    eq_u64((unsigned)min_grid * nsms, (unsigned)all_grid * 8, "as its share");
    success(cuCtxPopCurrent_v2(NULL), "pop");
    success(cuMemFree_v2(counter), "free");
    success(cuStreamDestroy_v2(stream), "destroy");
    success(cuGreenCtxDestroy(green), "destroy");
}

/* ---- as a context */

static void test_context(void)
{
    CUdevResource all = device_resource(), parts[2], got;
    unsigned long long id_a = 0, id_b = 0, id = 0;
    CUgreenCtx a, b, green;
    CUcontext ctx, now;
    CUdeviceptr p;
    CUstream stream, plain;
    uint64_t seen[4];
    uint32_t most;
    unsigned n = 2;

    success(cuDevSmResourceSplitByCount(parts, &n, &all, NULL, 1, 2), "two parts");
    a = green_of(&parts[0], 1);
    b = green_of(&parts[1], 1);
    success(cuGreenCtxGetId(a, &id_a), "id");
    success(cuGreenCtxGetId(b, &id_b), "id");
    ok(id_a != id_b, "each has its own");
    eq_u64(cuGreenCtxGetId(NULL, &id), CUDA_ERROR_INVALID_CONTEXT, "none is current");
    success(cuGreenCtxGetDevResource(b, &got, CU_DEV_RESOURCE_TYPE_SM), "its resource");
    eq_u64(got.sm.smCount, 2, "has its part");
    eq_u64(got.sm.minSmPartitionSize, 2, "which may be split as it was");
    eq_u64(cuCtxSetCurrent((CUcontext)a), CUDA_ERROR_INVALID_CONTEXT, "it is no context itself");
    ctx = context_of(b);
    ok(ctx != primary && ctx != (CUcontext)b, "its context is another one");
    success(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING), "a stream of all");
    success(cuCtxSetCurrent(ctx), "make it current");
    success(cuCtxGetCurrent(&now), "the current one");
    ok(now == ctx, "is it");
    success(cuGreenCtxGetId(NULL, &id), "the current one's id");
    eq_u64(id, id_b, "is its");
    success(cuCtxGetDevResource(ctx, &got, CU_DEV_RESOURCE_TYPE_SM), "resource of the context");
    eq_u64(got.sm.smCount, 2, "is that of the green context");
    success(cuMemAlloc_v2(&p, 64), "memory of it");
    success(cuStreamGetGreenCtx(NULL, &green), "of the default stream");
    ok(green == b, "is it");
    success(cuStreamCreate(&stream, 0), "a stream");
    success(cuStreamGetGreenCtx(stream, &green), "is in it");
    ok(green == b, "too");
    success(cuStreamGetCtx_v2(stream, &now, &green), "both");
    ok(now == primary && green == b, "are told");
    success(cuStreamGetCtx(stream, &now), "the context alone");
    ok(now == ctx, "is the green one");
    run_where(NULL, seen, &most);
    ok(!(seen[0] & ~(uint64_t)12) && !seen[1] && !seen[2] && !seen[3], "default stream: its SMs");
    run_where(stream, seen, &most);
    ok(!(seen[0] & ~(uint64_t)12), "the stream as well");
    run_where(CU_STREAM_PER_THREAD, seen, &most);
    ok(!(seen[0] & ~(uint64_t)12), "and the thread's");
    success(cuStreamGetGreenCtx(plain, &green), "the other stream");
    ok(!green, "is in none");
    success(cuCtxSetCurrent(primary), "back");
    success(cuStreamGetGreenCtx(NULL, &green), "the default stream");
    ok(!green, "is in none");
    success(cuMemFree_v2(p), "its memory is that of all");
    success(cuStreamDestroy_v2(plain), "destroy");
    success(cuStreamDestroy_v2(stream), "destroy");
    success(cuGreenCtxDestroy(a), "destroy");
    success(cuGreenCtxDestroy(b), "destroy");
    eq_u64(cuGreenCtxStreamCreate(&stream, b, CU_STREAM_NON_BLOCKING, 0),
           CUDA_ERROR_INVALID_CONTEXT, "it is gone");
}

static void hold(CUstream stream)
{
    gate32 = 0;
    success(cuStreamWaitValue32_v2(stream, gate, 1, CU_STREAM_WAIT_VALUE_EQ), "hold the stream");
}

/* Its default stream orders with its blocking streams, and with nobody else's. */
static void test_default_stream(void)
{
    CUdevResource all = device_resource(), part;
    CUstream blocking;
    CUgreenCtx green;
    unsigned n = 1;

    success(cuDevSmResourceSplitByCount(&part, &n, &all, NULL, 0, 8), "a part");
    green = green_of(&part, 1);
    success(cuCtxPushCurrent_v2(context_of(green)), "current");
    success(cuStreamCreate(&blocking, 0), "a blocking stream");
    hold(blocking);
    success(cuMemsetD32Async(gate + 64, 7, 1, NULL), "work of its default stream");
    eq_u64(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY, "waits for the blocking stream");
    success(cuCtxPushCurrent_v2(primary), "the primary context");
    success(cuStreamSynchronize(NULL), "does not wait");
    success(cuCtxPopCurrent_v2(NULL), "pop");
    gate32 = 1;
    success(cuCtxSynchronize(), "the green context's work");
    success(cuStreamQuery(NULL), "is done");
    success(cuStreamDestroy_v2(blocking), "destroy");
    success(cuCtxPopCurrent_v2(NULL), "pop");
    success(cuGreenCtxDestroy(green), "destroy");
}

/* ---- events */

static void test_record(void)
{
    CUdevResource all = device_resource(), parts[2];
    CUevent of_a, of_b, of_all;
    CUstream stream;
    CUgreenCtx a, b;
    unsigned n = 2;

    success(cuDevSmResourceSplitByCount(parts, &n, &all, NULL, 1, 2), "two parts");
    a = green_of(&parts[0], 1);
    b = green_of(&parts[1], 1);
    stream = stream_of(a);
    success(cuEventCreate(&of_a, 0), "event");
    success(cuEventCreate(&of_b, 0), "event");
    success(cuEventCreate(&of_all, 0), "event");
    hold(stream);
    success(cuGreenCtxRecordEvent(a, of_a), "what a does");
    success(cuCtxRecordEvent(context_of(b), of_b), "what b does");
    success(cuCtxRecordEvent(primary, of_all), "what all do");
    eq_u64(cuEventQuery(of_a), CUDA_ERROR_NOT_READY, "a is held");
    eq_u64(cuEventQuery(of_all), CUDA_ERROR_NOT_READY, "so all are");
    success(cuEventSynchronize(of_b), "b is not");
    gate32 = 1;
    success(cuEventSynchronize(of_a), "a is done");
    success(cuEventSynchronize(of_all), "all are");
    eq_u64(cuGreenCtxRecordEvent(NULL, of_a), CUDA_ERROR_INVALID_CONTEXT, "no green context");
    eq_u64(cuGreenCtxRecordEvent(a, NULL), CUDA_ERROR_INVALID_HANDLE, "no event");
    success(cuStreamDestroy_v2(stream), "destroy");
    success(cuEventDestroy_v2(of_a), "destroy");
    success(cuEventDestroy_v2(of_b), "destroy");
    success(cuEventDestroy_v2(of_all), "destroy");
    success(cuGreenCtxDestroy(a), "destroy");
    success(cuGreenCtxDestroy(b), "destroy");
}

/* Streams of a green context wait, those that are made later too; those of others do not. */
static void test_wait(void)
{
    CUdevResource all = device_resource(), parts[2];
    CUstream held, early, late, other;
    CUgreenCtx a, b;
    CUevent event;
    unsigned n = 2;

    success(cuDevSmResourceSplitByCount(parts, &n, &all, NULL, 1, 2), "two parts");
    a = green_of(&parts[0], 1);
    b = green_of(&parts[1], 1);
    early = stream_of(a);
    other = stream_of(b);
    success(cuStreamCreate(&held, CU_STREAM_NON_BLOCKING), "stream");
    success(cuEventCreate(&event, 0), "event");
    hold(held);
    success(cuEventRecord(event, held), "record");
    success(cuGreenCtxWaitEvent(a, event), "a waits");
    late = stream_of(a);
    eq_u64(cuStreamQuery(early), CUDA_ERROR_NOT_READY, "a stream of a");
    eq_u64(cuStreamQuery(late), CUDA_ERROR_NOT_READY, "a later one");
    success(cuStreamSynchronize(other), "one of b goes on");
    gate32 = 1;
    success(cuStreamSynchronize(early), "then they go on");
    success(cuStreamSynchronize(late), "too");
    hold(held);
    success(cuEventRecord(event, held), "record");
    success(cuCtxWaitEvent(primary, event), "all wait");
    eq_u64(cuStreamQuery(other), CUDA_ERROR_NOT_READY, "b as well");
    eq_u64(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY, "and the default stream");
    gate32 = 1;
    success(cuCtxSynchronize(), "all go on");
    eq_u64(cuCtxWaitEvent(primary, NULL), CUDA_ERROR_INVALID_HANDLE, "no event");
    eq_u64(cuCtxWaitEvent((CUcontext)&n, event), CUDA_ERROR_INVALID_CONTEXT, "no context");
    success(cuStreamDestroy_v2(held), "destroy");
    success(cuStreamDestroy_v2(early), "destroy");
    success(cuStreamDestroy_v2(late), "destroy");
    success(cuStreamDestroy_v2(other), "destroy");
    success(cuEventDestroy_v2(event), "destroy");
    success(cuGreenCtxDestroy(a), "destroy");
    success(cuGreenCtxDestroy(b), "destroy");
}

static void test_capture(void)
{
    CUdevResource all = device_resource();
    CUgreenCtx green = green_of(&all, 1);
    CUstream stream = stream_of(green);
    CUgraph graph;
    CUevent event;

    success(cuEventCreate(&event, 0), "event");
    success(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "capture");
    eq_u64(cuGreenCtxRecordEvent(green, event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "record");
    eq_u64(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
           "the capture has failed");
    success(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "capture");
    success(cuEventRecord(event, stream), "a captured recording");
    eq_u64(cuGreenCtxWaitEvent(green, event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "wait for it");
    eq_u64(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
           "the capture has failed");
    success(cuStreamDestroy_v2(stream), "destroy");
    success(cuEventDestroy_v2(event), "destroy");
    success(cuGreenCtxDestroy(green), "destroy");
}

/* ---- the end */

static void test_end(void)
{
    CUdevResource all = device_resource();
    CUgreenCtx green = green_of(&all, 1);
    CUstream stream = stream_of(green), made;
    CUcontext ctx = context_of(green), out;
    unsigned flags;
    int active = 0;

    success(cuCtxPushCurrent_v2(ctx), "current");
    success(cuGreenCtxDestroy(green), "destroy");
    eq_u64(cuGreenCtxDestroy(green), CUDA_ERROR_INVALID_CONTEXT, "twice");
    eq_u64(cuStreamSynchronize(stream), CUDA_ERROR_CONTEXT_IS_DESTROYED, "its stream");
    eq_u64(cuStreamDestroy_v2(stream), CUDA_ERROR_CONTEXT_IS_DESTROYED, "cannot even be destroyed");
    eq_u64(cuStreamSynchronize(NULL), CUDA_ERROR_CONTEXT_IS_DESTROYED, "its default stream");
    eq_u64(cuStreamCreate(&made, 0), CUDA_ERROR_CONTEXT_IS_DESTROYED, "a new one");
    success(cuCtxPopCurrent_v2(&out), "pop");
    ok(out == ctx, "what it was");
    eq_u64(cuCtxPushCurrent_v2(ctx), CUDA_ERROR_INVALID_CONTEXT, "it cannot be current again");
    green = green_of(&all, 1);
    ok(context_of(green) != ctx, "a new one has another context");
    success(cuDevicePrimaryCtxRelease_v2(0), "the program's own reference");
    success(cuDevicePrimaryCtxGetState(0, &flags, &active), "state");
    eq_u64(active, 1, "a green context keeps it active");
    success(cuDevicePrimaryCtxReset_v2(0), "reset");
    eq_u64(cuCtxFromGreenCtx(&ctx, green), CUDA_ERROR_CONTEXT_IS_DESTROYED, "after a reset");
    success(cuGreenCtxDestroy(green), "destroy");
    success(cuDevicePrimaryCtxGetState(0, &flags, &active), "state");
    eq_u64(active, 0, "nobody has it any more");
}

int main(void)
{
    CUmodule module;
    void *pinned;

    has_turns = getenv("HEDDLE_FAULT") || getenv("HEDDLE_DEVICE");
    iterations = has_turns ? 300 : 3000;
    success(cuInit(0), "init");
    success(cuDevicePrimaryCtxRetain(&primary, 0), "context");
    success(cuCtxSetCurrent(primary), "current");
    success(cuModuleLoadData(&module, ptx), "module");
    success(cuModuleGetFunction(&where, module, "where"), "kernel");
    success(cuModuleGetFunction(&bump, module, "bump"), "kernel");
    success(cuMemHostAlloc(&pinned, 256, 0), "pinned memory");
    gate = (uintptr_t)pinned;
    test_resource();
    test_split_sizes();
    test_split_errors();
    test_descriptors();
    test_places();
    test_many();
    test_limits();
    test_context();
    test_default_stream();
    test_record();
    test_wait();
    test_capture();
    success(cuMemFreeHost(pinned), "free");
    test_end();
    return done();
}
