/*
 * Devices in processes of their own, beside one in this: kernels, copies from each to each, events,
 * textures, each one's memory in grids of each, what is refused by name; and a process that dies:
 * an error, and nobody waits.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/driver/cuda_abi.h"
#include "heddle/tap.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)

enum { DEVICES = 3, WORDS = 1 << 16 };

static const char text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .global .align 4 .u32 base = 3;\n"
    /* p[i] += n + base */
    ".visible .entry add(.param .u64 p, .param .u32 n)\n{\n"
    " .reg .b32 %r<9>;\n .reg .b64 %d<4>;\n"
    " ld.param.u64 %d1, [p];\n ld.param.u32 %r1, [n];\n"
    " mov.u32 %r2, %ctaid.x;\n mov.u32 %r3, %ntid.x;\n mov.u32 %r4, %tid.x;\n"
    " mad.lo.u32 %r5, %r2, %r3, %r4;\n mul.wide.u32 %d2, %r5, 4;\n add.u64 %d3, %d1, %d2;\n"
    " ld.global.u32 %r6, [%d3];\n add.u32 %r7, %r6, %r1;\n ld.global.u32 %r8, [base];\n"
    " add.u32 %r7, %r7, %r8;\n st.global.u32 [%d3], %r7;\n ret;\n}\n"
    /* p[i] = texel i */
    ".visible .entry fetch(.param .u64 p, .param .u64 t)\n{\n"
    " .reg .b32 %r<6>;\n .reg .b64 %d<5>;\n"
    " ld.param.u64 %d1, [p];\n ld.param.u64 %d4, [t];\n mov.u32 %r1, %tid.x;\n"
    " tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d4, {%r1}];\n"
    " mul.wide.u32 %d2, %r1, 4;\n add.u64 %d3, %d1, %d2;\n st.global.u32 [%d3], %r2;\n ret;\n}\n"
    /* for ever */
    ".visible .entry spin(.param .u64 p)\n{\n .reg .b32 %r<2>;\n .reg .b64 %d<2>;\n"
    " .reg .pred %p<2>;\n ld.param.u64 %d1, [p];\n"
    "again:\n ld.volatile.global.u32 %r1, [%d1];\n setp.ne.u32 %p1, %r1, 77;\n"
    " @%p1 bra again;\n ret;\n}\n";

static struct one {
    CUcontext context;
    CUmodule module;
    CUdeviceptr memory;
    CUevent event;
    CUstream stream;
} ones[DEVICES];
static uint32_t host[WORDS];

static void open_one(struct one *d, int ordinal)
{
    success(cuDevicePrimaryCtxRetain(&d->context, ordinal), "context %d", ordinal);
    success(cuCtxSetCurrent(d->context), "is current");
    success(cuModuleLoadData(&d->module, text), "module");
    success(cuMemAlloc_v2(&d->memory, sizeof(host)), "memory");
    success(cuEventCreate(&d->event, 0), "event");
    success(cuStreamCreate(&d->stream, CU_STREAM_NON_BLOCKING), "stream");
}

static CUresult launch(struct one *d, const char *name, CUdeviceptr memory, uint64_t n,
                       unsigned grid, unsigned block)
{
    void *params[] = {&memory, &n};
    CUfunction function;
    CUresult result = cuModuleGetFunction(&function, d->module, name);

    return result ? result
                  : cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, d->stream, params, NULL);
}

/* Grids that listeners are told of by name, with times. */
static _Atomic unsigned notified;

static void on_done(void *user, const struct heddle_event *e)
{
    const struct heddle_work *work = e->packet.work;

    if (work && work->kernel && !strcmp(work->kernel->name, "add") && work->grid[0] == WORDS / 256)
        notified += e->packet.start_ns && e->packet.end_ns >= e->packet.start_ns;
}

static void test_chain(void)
{
    unsigned wrong = 0;
    float ms;

    uint32_t listener = heddle_tap_subscribe(HEDDLE_KIND(DONE), on_done, NULL);

    ok(listener, "a listener");

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
        success(launch(d, "add", d->memory, 1u << i, WORDS / 256, 256), "launch");
        success(cuEventRecord(d->event, d->stream), "record");
    }
    success(cuEventSynchronize(ones[DEVICES - 1].event), "the last one");
    success(cuMemcpyDtoH_v2(host, ones[DEVICES - 1].memory, sizeof(host)), "to pageable memory");
    for (int i = 0; i < WORDS; i++)
        wrong += host[i] != (1u << 2 * DEVICES) - 1 + 3 * 2 * DEVICES;
    eq_u64(wrong, 0, "all have added");
    heddle_tap_settle();
    eq_u64(notified, 2 * DEVICES, "each grid is told with its kernel's name and times");
    heddle_tap_unsubscribe(listener);
    success(cuEventElapsedTime(&ms, ones[DEVICES - 1].event, ones[DEVICES - 1].event), "times");
}

enum place { SMALL, LARGE, PINNED, MANAGED, POOLED, MAPPED, PLACES };
static const char *const place_names[PLACES] = {"a small block",    "a large block",
                                                "pinned memory",    "managed memory",
                                                "memory of a pool", "a mapping"};
enum { LARGE_B = 3 << 20 };

/* Memory of cuMemCreate(), which all devices may use. */
static CUdeviceptr map(int ordinal)
{
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal}};
    CUmemAccessDesc access[DEVICES];
    CUmemGenericAllocationHandle handle;
    CUdeviceptr va = 0;

    for (int i = 0; i < DEVICES; i++)
        access[i] =
            (CUmemAccessDesc){{CU_MEM_LOCATION_TYPE_DEVICE, i}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    success(cuMemCreate(&handle, 4 << 20, &prop, 0), "create");
    success(cuMemAddressReserve(&va, 4 << 20, 0, 0, 0), "reserve");
    success(cuMemMap(va, 4 << 20, 0, handle, 0), "map");
    success(cuMemSetAccess(va, 4 << 20, access, DEVICES), "access");
    success(cuMemRelease(handle), "release");
    return va;
}

static CUdeviceptr place(struct one *owner, enum place which, CUmemoryPool *out_pool)
{
    int ordinal = (int)(owner - ones);
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal}};
    CUdeviceptr va = 0;
    void *pinned = NULL;

    switch (which) {
    case SMALL:
    case LARGE:
        success(cuMemAlloc_v2(&va, which == SMALL ? 1024 : LARGE_B), "block");
        break;
    case PINNED:
        success(cuMemAllocHost_v2(&pinned, LARGE_B), "pinned");
        va = (CUdeviceptr)(uintptr_t)pinned;
        break;
    case MANAGED:
        success(cuMemAllocManaged(&va, LARGE_B, CU_MEM_ATTACH_GLOBAL), "managed");
        break;
    case POOLED:
        success(cuMemPoolCreate(out_pool, &props), "pool");
        success(cuMemAllocFromPoolAsync(&va, LARGE_B, *out_pool, owner->stream), "from it");
        success(cuStreamSynchronize(owner->stream), "wait");
        break;
    case MAPPED:
        va = map(ordinal);
        break;
    case PLACES:
        break;
    }
    return va;
}

static void take_away(struct one *owner, enum place which, CUdeviceptr va, CUmemoryPool pool)
{
    switch (which) {
    case SMALL:
    case LARGE:
    case MANAGED:
        success(cuMemFree_v2(va), "free");
        break;
    case PINNED:
        success(cuMemFreeHost((void *)(uintptr_t)va), "free");
        break;
    case POOLED:
        success(cuMemFreeAsync(va, owner->stream), "free");
        success(cuStreamSynchronize(owner->stream), "wait");
        success(cuMemPoolDestroy(pool), "pool");
        break;
    case MAPPED:
        success(cuMemUnmap(va, 4 << 20), "unmap");
        success(cuMemAddressFree(va, 4 << 20), "addresses");
        break;
    case PLACES:
        break;
    }
}

/* What one device has, grids of all write, whichever of them are elsewhere. */
static void test_each_in_each(void)
{
    for (int o = 0; o < DEVICES; o++)
        for (enum place which = 0; which < PLACES; which++) {
            CUmemoryPool pool = NULL;
            CUdeviceptr va;

            success(cuCtxSetCurrent(ones[o].context), "device %d", o);
            va = place(&ones[o], which, &pool);
            success(cuMemsetD32_v2(va, 100, 32), "words");
            success(cuCtxSynchronize(), "wait");
            for (int i = 0; i < DEVICES; i++) {
                success(cuCtxSetCurrent(ones[i].context), "device %d", i);
                success(launch(&ones[i], "add", va, 4, 1, 32), "launch");
                success(cuStreamSynchronize(ones[i].stream), "wait");
            }
            success(cuCtxSetCurrent(ones[o].context), "device %d", o);
            success(cuMemcpyDtoH_v2(host, va, 128), "copy");
            ok(host[0] == 121 && host[31] == 121, "%s of device %d in grids of all",
               place_names[which], o);
            take_away(&ones[o], which, va, pool);
        }
}

static void test_peers(void)
{
    int can = 0;

    for (int a = 0; a < DEVICES; a++)
        for (int b = 0; b < DEVICES; b++) {
            success(cuDeviceCanAccessPeer(&can, a, b), "%d, %d", a, b);
            eq_u64(can, a != b, "others are peers, wherever they are");
        }
    success(cuCtxSetCurrent(ones[0].context), "device 0");
    success(cuCtxEnablePeerAccess(ones[1].context, 0), "enable");
    success(cuCtxDisablePeerAccess(ones[1].context), "disable");
}

/* After memory that devices shared was given back: what is there is not seen any more. */
static void test_freed(void)
{
    CUdeviceptr va;

    success(cuCtxSetCurrent(ones[0].context), "device 0");
    va = map(0);
    success(cuMemUnmap(va, 4 << 20), "unmap");
    success(cuCtxSetCurrent(ones[1].context), "device 1");
    success(launch(&ones[1], "add", va, 4, 1, 32), "launch");
    eq_u64(cuStreamSynchronize(ones[1].stream), CUDA_ERROR_ILLEGAL_ADDRESS,
           "a device elsewhere does not reach what was unmapped");
    success(cuMemAddressFree(va, 4 << 20), "addresses");
    success(cuDevicePrimaryCtxReset_v2(1), "reset");
    open_one(&ones[1], 1);
}

static void test_texture(void)
{
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_LINEAR};
    CUDA_TEXTURE_DESC sampler = {.flags = CU_TRSF_READ_AS_INTEGER};
    CUtexObject object;

    success(cuCtxSetCurrent(ones[1].context), "device 1");
    for (uint32_t i = 0; i < 64; i++)
        host[i] = 1000 + i;
    success(cuMemcpyHtoD_v2(ones[1].memory, host, 256), "texels");
    resource.res.linear.devPtr = ones[1].memory;
    resource.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
    resource.res.linear.numChannels = 1;
    resource.res.linear.sizeInBytes = 256;
    success(cuTexObjectCreate(&object, &resource, &sampler, NULL), "texture");
    success(launch(&ones[1], "fetch", ones[1].memory + 4096, object, 1, 32), "launch");
    success(cuStreamSynchronize(ones[1].stream), "wait");
    success(cuMemcpyDtoH_v2(host, ones[1].memory + 4096, 128), "copy");
    ok(host[0] == 1000 && host[31] == 1031, "a device elsewhere finds the object");
    success(cuTexObjectDestroy(object), "gone");
}

/* Has the process the device's program? A sanitizer's symbolizer is a child as well. */
static bool is_device(int pid)
{
    char path[32], name[32] = "";
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    FILE *file = fopen(path, "re");

    if (file && !fgets(name, sizeof(name), file))
        name[0] = '\0';
    if (file)
        fclose(file);
    return !strcmp(name, "heddle-device\n");
}

/* Processes of devices. A child of a thread that ends meanwhile may be read twice. */
static unsigned children(pid_t *out_pids, unsigned max)
{
    char path[64];
    unsigned n = 0;
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;

    while (tasks && (task = readdir(tasks))) {
        snprintf(path, sizeof(path), "/proc/self/task/%.20s/children", task->d_name);
        FILE *file = fopen(path, "re");
        int pid;

        while (file && n < max && fscanf(file, "%d", &pid) == 1) {
            unsigned i = 0;
            while (i < n && out_pids[i] != pid)
                i++;
            if (i == n && is_device(pid))
                out_pids[n++] = pid;
        }
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return n;
}

/* What runs, what waits and what comes fail; the device of this process goes on. */
static void test_death(void)
{
    pid_t pids[8];
    unsigned n;

    success(cuCtxSetCurrent(ones[1].context), "device 1");
    success(cuMemsetD32_v2(ones[1].memory, 0, 1), "zero");
    success(cuCtxSynchronize(), "wait");
    success(launch(&ones[1], "spin", ones[1].memory, 0, 1, 1), "a kernel that does not end");
    n = children(pids, 8);
    eq_u64(n, 2, "two devices have processes");
    for (unsigned i = 0; i < n; i++)
        kill(pids[i], SIGKILL);
    ok(cuStreamSynchronize(ones[1].stream) != CUDA_SUCCESS, "its process dies: an error");
    ok(launch(&ones[1], "add", ones[1].memory, 1, 1, 32) != CUDA_SUCCESS, "no more launches");
    success(cuCtxSetCurrent(ones[2].context), "device 2");
    ok(launch(&ones[2], "add", ones[2].memory, 1, 1, 32) != CUDA_SUCCESS ||
           cuStreamSynchronize(ones[2].stream) != CUDA_SUCCESS,
       "idle or not");
    success(cuCtxSetCurrent(ones[0].context), "device 0");
    success(launch(&ones[0], "add", ones[0].memory, 1, 1, 32), "launch");
    success(cuStreamSynchronize(ones[0].stream), "goes on");
}

/* The reader of a pipe that the program had open when the devices began. */
static void test_descriptors(const int ends[2])
{
    char byte;

    close(ends[1]);
    ok(read(ends[0], &byte, 1) == 0, "a pipe ends with the program's own end");
    close(ends[0]);
}

static CUresult init_in_child(const char *variable, const char *value)
{
    CUresult result = CUDA_ERROR_UNKNOWN;
    int ends[2];
    pid_t child;

    if (pipe(ends))
        abort();
    child = fork();
    if (!child) {
        setenv(variable, value, 1);
        result = cuInit(0);
        _exit(write(ends[1], &result, sizeof(result)) != sizeof(result));
    }
    close(ends[1]);
    ok(read(ends[0], &result, sizeof(result)) == sizeof(result), "a child answers");
    close(ends[0]);
    waitpid(child, NULL, 0);
    return result;
}

/* ---- a device that refuses what a grid needs */

static CUresult limit_set(void)
{
    return cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096);
}

/* A green context with some of the device's multiprocessors becomes the current one. */
static CUresult sms_set(void)
{
    CUdevResource all, part[1], rest;
    unsigned n = 1;
    CUdevResourceDesc desc;
    CUgreenCtx green;
    CUcontext context;
    CUresult result = cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM);

    if (!result)
        result = cuDevSmResourceSplitByCount(part, &n, &all, &rest, 0, 1);
    if (!result)
        result = cuDevResourceGenerateDesc(&desc, part, 1);
    if (!result)
        result = cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM);
    if (!result)
        result = cuCtxFromGreenCtx(&context, green);
    return result ? result : cuCtxSetCurrent(context);
}

/* How a launch ends in a process of its own; what it prints comes to `out_text`. */
static CUresult launch_in_child(CUresult (*set)(void), const char *fault, char *out_text,
                                size_t text_B)
{
    CUresult results[3] = {CUDA_ERROR_UNKNOWN, CUDA_ERROR_UNKNOWN, CUDA_ERROR_UNKNOWN};
    int ends[2], error_ends[2];
    size_t text_len = 0;
    ssize_t n;

    if (pipe(ends) || pipe(error_ends))
        abort();
    pid_t child = fork();
    if (!child) {
        struct one d = {0};

        dup2(error_ends[1], STDERR_FILENO);
        close(error_ends[1]);
        setenv("HEDDLE_DEVICES", "remote-cpu", 1);
        setenv("HEDDLE_THREADS", "16", 1); /* multiprocessors to choose among */
        setenv("HEDDLE_FAULT", fault, 1);
        results[0] = cuInit(0);
        if (!results[0])
            results[0] = cuDevicePrimaryCtxRetain(&d.context, 0);
        if (!results[0])
            results[0] = cuCtxSetCurrent(d.context);
        if (!results[0])
            results[0] = set();
        if (!results[0])
            results[0] = cuModuleLoadData(&d.module, text);
        if (!results[0])
            results[0] = cuMemAlloc_v2(&d.memory, 4096);
        results[1] = launch(&d, "add", d.memory, 1, 1, 32);
        results[2] = cuCtxSynchronize();
        _exit(write(ends[1], results, sizeof(results)) != sizeof(results));
    }
    close(ends[1]);
    close(error_ends[1]);
    while (text_len < text_B - 1 &&
           (n = read(error_ends[0], out_text + text_len, text_B - 1 - text_len)) > 0)
        text_len += (size_t)n;
    out_text[text_len] = '\0';
    ok(read(ends[0], results, sizeof(results)) == sizeof(results), "a child answers");
    close(ends[0]);
    close(error_ends[0]);
    waitpid(child, NULL, 0);
    success(results[0], "it has a device");
    success(results[1], "a launch");
    return results[2];
}

static void test_refusal(void)
{
    static const struct {
        CUresult (*set)(void);
        const char *why;
    } cases[] = {
        {limit_set, "limits are refused (HEDDLE_FAULT)"},
        {sms_set, "sets of multiprocessors are refused (HEDDLE_FAULT)"},
    };

    for (size_t i = 0; i < HD_COUNT_OF(cases); i++) {
        char said[4096];

        eq_u64(launch_in_child(cases[i].set, "jit.next", said, sizeof(said)), CUDA_SUCCESS,
               "case %zu: what is not refused runs", i);
        eq_u64(launch_in_child(cases[i].set, "jit.next,remote.limits", said, sizeof(said)),
               CUDA_ERROR_NOT_SUPPORTED, "case %zu: the error is the device's", i);
        ok(strstr(said, cases[i].why), "case %zu: so is the message", i);
        ok(!strstr(said, "is gone"), "case %zu: its process is there", i);
        diag("%s", said);
    }
}

int main(void)
{
    int ends[2];

    setenv("HEDDLE_DEVICES", "cpu,remote-cpu,remote-interp", 1);
    setenv("HEDDLE_MEMORY", "64M", 1);
    eq_u64(init_in_child("HEDDLE_STRICT", "1"), CUDA_ERROR_NOT_SUPPORTED,
           "HEDDLE_STRICT is refused");
    test_refusal();
    if (pipe(ends) || fcntl(ends[0], F_SETFL, O_NONBLOCK))
        abort();
    success(cuInit(0), "cuInit");
    for (int i = 0; i < DEVICES; i++)
        open_one(&ones[i], i);
    test_descriptors(ends);
    test_chain();
    test_peers();
    test_each_in_each();
    test_freed();
    test_texture();
    test_death();
    return done();
}
