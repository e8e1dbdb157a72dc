/*
 * Devices of several kinds in one process, and two that share one: HEDDLE_DEVICES=cpu,interp,cpu/2.
 * Kernels, copies from each to each, events over kinds, multiprocessors, memory, identities.
 */
#include "api/driver/cuda_abi.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)

enum { DEVICES = 4, WORDS = 1 << 16, BLOCKS = 256 };

static const char text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    /* p[ctaid] = %smid + n << 8 */
    ".visible .entry where(.param .u64 p, .param .u32 n)\n{\n"
    " .reg .b32 %r<6>;\n .reg .b64 %d<4>;\n"
    " ld.param.u64 %d1, [p];\n ld.param.u32 %r1, [n];\n"
    " mov.u32 %r2, %ctaid.x;\n mov.u32 %r3, %smid;\n"
    " shl.b32 %r4, %r1, 8;\n add.u32 %r5, %r4, %r3;\n"
    " mul.wide.u32 %d2, %r2, 4;\n add.u64 %d3, %d1, %d2;\n"
    " st.global.u32 [%d3], %r5;\n ret;\n}\n"
    /* p[i] += n */
    ".visible .entry add(.param .u64 p, .param .u32 n)\n{\n"
    " .reg .b32 %r<8>;\n .reg .b64 %d<4>;\n"
    " ld.param.u64 %d1, [p];\n ld.param.u32 %r1, [n];\n"
    " mov.u32 %r2, %ctaid.x;\n mov.u32 %r3, %ntid.x;\n mov.u32 %r4, %tid.x;\n"
    " mad.lo.u32 %r5, %r2, %r3, %r4;\n mul.wide.u32 %d2, %r5, 4;\n"
    " add.u64 %d3, %d1, %d2;\n ld.global.u32 %r6, [%d3];\n"
    " add.u32 %r7, %r6, %r1;\n st.global.u32 [%d3], %r7;\n ret;\n}\n";

static struct one {
    CUcontext context;
    CUmodule module;
    CUfunction where, add;
    CUdeviceptr memory;
    CUevent event;
    CUstream stream;
    int units;
} ones[DEVICES];
static uint32_t host[WORDS];

static void open_one(struct one *d, int ordinal)
{
    success(cuDevicePrimaryCtxRetain(&d->context, ordinal), "context %d", ordinal);
    success(cuCtxSetCurrent(d->context), "is current");
    success(cuModuleLoadData(&d->module, text), "module");
    success(cuModuleGetFunction(&d->where, d->module, "where"), "kernel");
    success(cuModuleGetFunction(&d->add, d->module, "add"), "kernel");
    success(cuMemAlloc_v2(&d->memory, sizeof(host)), "memory");
    success(cuMemsetD32_v2(d->memory, (unsigned)ordinal, WORDS), "filled");
    success(cuEventCreate(&d->event, 0), "event");
    success(cuStreamCreate(&d->stream, CU_STREAM_NON_BLOCKING), "stream");
    success(cuDeviceGetAttribute(&d->units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, ordinal),
            "multiprocessors");
}

static void launch(struct one *d, CUfunction function, CUdeviceptr memory, uint32_t n,
                   unsigned grid, unsigned block)
{
    void *params[] = {&memory, &n};

    success(cuCtxSetCurrent(d->context), "current");
    success(cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, d->stream, params, NULL),
            "launch");
}

static void test_identity(void)
{
    CUuuid ids[DEVICES];
    char name[128];
    int n, can;

    success(cuDeviceGetCount(&n), "count");
    eq_u64(n, DEVICES, "cpu, interp and two parts of a cpu");
    for (int i = 0; i < DEVICES; i++) {
        success(cuDeviceGetUuid_v2(&ids[i], i), "UUID");
        success(cuDeviceGetName(name, sizeof(name), i), "name");
        ok((strstr(name, "interpreter") != NULL) == (i == 1), "%s", name);
        ok((strstr(name, ", part ") != NULL) == (i >= 2), "a part says so");
        for (int k = 0; k < i; k++) {
            ok(memcmp(&ids[i], &ids[k], sizeof(ids[i])), "UUIDs %d and %d differ", i, k);
            ok(!cuDeviceCanAccessPeer(&can, i, k) && can, "they are peers");
        }
    }
    eq_u64(ones[2].units + ones[3].units, ones[0].units, "the parts have all multiprocessors");
}

static void test_memory(void)
{
    size_t before, after, total;

    success(cuCtxSetCurrent(ones[3].context), "part 2");
    success(cuMemGetInfo_v2(&before, &total), "its memory");
    success(cuCtxSetCurrent(ones[2].context), "part 1");
    CUdeviceptr large;
    success(cuMemAlloc_v2(&large, 16u << 20), "memory of part 1");
    success(cuCtxSetCurrent(ones[3].context), "part 2");
    success(cuMemGetInfo_v2(&after, &total), "its memory");
    ok(total == (64u << 20) && before == after, "each has its own budget");
    success(cuMemFree_v2(large), "free");
}

/* Which multiprocessors a device's blocks run on. */
static void test_multiprocessors(void)
{
    uint64_t used[DEVICES] = {0};

    for (int i = 0; i < DEVICES; i++) {
        launch(&ones[i], ones[i].where, ones[i].memory, 1, BLOCKS, 32);
        success(cuMemcpyDtoHAsync_v2(host, ones[i].memory, BLOCKS * 4, ones[i].stream), "copy");
        success(cuStreamSynchronize(ones[i].stream), "wait");
        for (int b = 0; b < BLOCKS; b++) {
            if (host[b] >> 8 != 1 || (host[b] & 255) >= 64)
                ok(false, "block %d ran: %x", b, host[b]);
            used[i] |= 1ull << (host[b] & 63);
        }
        ok(__builtin_popcountll(used[i]) <= ones[i].units, "device %d: no more than it has", i);
    }
    ok(!(used[2] & used[3]), "the parts have none in common");
}

/* A chain over all: each waits for the one before, takes its words and adds to them. */
static void test_chain(void)
{
    unsigned wrong = 0;

    success(cuCtxSetCurrent(ones[0].context), "device 0");
    success(cuMemsetD32Async(ones[0].memory, 0, WORDS, ones[0].stream), "zeroes");
    for (int i = 0; i < 2 * DEVICES; i++) {
        struct one *d = &ones[i % DEVICES], *last = &ones[(i + DEVICES - 1) % DEVICES];

        success(cuCtxSetCurrent(d->context), "device %d", i % DEVICES);
        if (i) {
            success(cuStreamWaitEvent(d->stream, last->event, 0), "waits for the one before");
            success(cuMemcpyPeerAsync(d->memory, d->context, last->memory, last->context,
                                      sizeof(host), d->stream),
                    "takes its words");
        }
        launch(d, d->add, d->memory, 1u << i, WORDS / 256, 256);
        success(cuEventRecord(d->event, d->stream), "record");
    }
    success(cuEventSynchronize(ones[DEVICES - 1].event), "the last one");
    success(cuMemcpyDtoH_v2(host, ones[DEVICES - 1].memory, sizeof(host)), "copy");
    for (int i = 0; i < WORDS; i++)
        wrong += host[i] != (1u << 2 * DEVICES) - 1;
    eq_u64(wrong, 0, "all have added");
}

/* A kernel of one kind works on memory of another. */
static void test_peers(void)
{
    for (int i = 0; i < DEVICES; i++) {
        struct one *peer = &ones[(i + 1) % DEVICES];

        success(cuCtxSetCurrent(ones[i].context), "device %d", i);
        success(cuCtxEnablePeerAccess(peer->context, 0), "peer access");
        success(cuMemsetD32_v2(peer->memory, 5, 32), "the peer's memory");
        success(cuCtxSynchronize(), "is set");
        launch(&ones[i], ones[i].add, peer->memory, 2, 1, 32);
        success(cuStreamSynchronize(ones[i].stream), "wait");
        success(cuMemcpyDtoH_v2(host, peer->memory, 128), "copy");
        ok(host[0] == 7 && host[31] == 7, "has added");
        success(cuCtxDisablePeerAccess(peer->context), "no more");
    }
}

/* A fault of one part is not the other's. */
static void test_faults(void)
{
    launch(&ones[3], ones[3].add, 16, 1, 1, 32);
    eq_u64(cuStreamSynchronize(ones[3].stream), CUDA_ERROR_ILLEGAL_ADDRESS, "part 2 faults");
    success(cuCtxSetCurrent(ones[2].context), "part 1");
    launch(&ones[2], ones[2].add, ones[2].memory, 1, 1, 32);
    success(cuStreamSynchronize(ones[2].stream), "goes on");
}

int main(void)
{
    setenv("HEDDLE_DEVICES", "cpu,interp,cpu/2", 1);
    setenv("HEDDLE_THREADS", "4", 1);
    setenv("HEDDLE_MEMORY", "64M", 1);
    success(cuInit(0), "cuInit");
    for (int i = 0; i < DEVICES; i++)
        open_one(&ones[i], i);
    test_identity();
    test_memory();
    test_multiprocessors();
    test_chain();
    test_peers();
    test_faults();
    return done();
}
