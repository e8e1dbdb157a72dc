/* Several devices: which ones a program sees, their contexts, memory and work. Code is fake. */
#include <sys/wait.h>
#include <unistd.h>

#include "../api/driver_fixture.h"
#include "core/core.h"

/* ---- CUDA_VISIBLE_DEVICES */

static const uint8_t uuids[4][16] = {{0x48, 1}, {0x48, 2}, {0x49}, {0x4a}};

static void test_visible(void)
{
    /* Of four devices; want is the indices as text. */
    static const struct {
        const char *list, *want;
    } rows[] = {
        {"0", "0"},
        {"3,1", "31"},
        {"0,1,2,3", "0123"},
        {" 2 , 0 ", "20"},
        {"", ""},
        {"-1", ""},
        {"0,2,-1,1", "02"},
        {"1,4,0", "1"},
        {"1,,0", "1"},
        {"NoDevFiles", ""},
        {"0,0", "0"},
        {"00", "0"},
        {"1x", ""},
        {"99999999999999999999", ""},
        {"GPU-49000000-0000-0000-0000-000000000000", "2"},
        {"GPU-49", "2"},
        {"gpu-4A,GPU-49", "32"},
        {"GPU-48", ""}, /* of two devices */
        {"GPU-4802,0", "10"},
        {"GPU-", ""},
        {"GPU-5", ""},
        {"GPU-49000000-0000-0000-0000-0000000000000", ""},
        {"MIG-GPU-49000000-0000-0000-0000-000000000000/1/0", ""},
    };
    char text[CORE_UUID_TEXT_B];

    for (unsigned i = 0; i < HD_COUNT_OF(rows); i++) {
        unsigned order[4], n = core_visible_parse(rows[i].list, uuids, 4, order);
        char got[8] = "";

        for (unsigned k = 0; k < n; k++)
            got[k] = (char)('0' + order[k]);
        eq_str(got, rows[i].want, "CUDA_VISIBLE_DEVICES=%s", rows[i].list);
    }
    core_uuid_text(uuids[1], text);
    eq_str(text, "GPU-48020000-0000-0000-0000-000000000000", "a UUID as text");
}

/* What cuInit() says and how many devices there are then, in a process of its own. */
static int count_in_child(const char *devices, const char *visible)
{
    int status, count = 0;
    pid_t child = fork();

    if (!child) {
        setenv("HEDDLE_DEVICES", devices, 1);
        visible ? setenv("CUDA_VISIBLE_DEVICES", visible, 1) : unsetenv("CUDA_VISIBLE_DEVICES");
        CUresult result = cuInit(0);

        _exit(result ? (int)result : cuDeviceGetCount(&count) ? 99 : count);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_environment(void)
{
    eq_u64(count_in_child("2", NULL), 2, "HEDDLE_DEVICES=2");
    eq_u64(count_in_child("4", "1,3"), 2, "two of four are visible");
    eq_u64(count_in_child("1", "-1"), CUDA_ERROR_NO_DEVICE, "none is visible");
    eq_u64(count_in_child("1", ""), CUDA_ERROR_NO_DEVICE, "an empty list");
    eq_u64(count_in_child("0", NULL), CUDA_ERROR_NO_DEVICE, "HEDDLE_DEVICES=0 is refused");
    eq_u64(count_in_child("many", NULL), CUDA_ERROR_NO_DEVICE, "HEDDLE_DEVICES=many too");
    eq_u64(count_in_child("65", NULL), CUDA_ERROR_NO_DEVICE, "and 65");
}

/* After a checkpoint a device takes the place of another one of its kind only. */
static enum hd_status replace_in_child(unsigned a, unsigned b)
{
    int status, bus;
    pid_t child = fork();

    if (!child) {
        struct core_device_pair pairs[3];

        setenv("HEDDLE_DEVICES", "cpu,cpu,interp", 1);
        if (core_init() != HD_OK)
            _exit(99);
        for (unsigned i = 0; i < 3; i++) {
            (void)core_device_identity(i, pairs[i].old_uuid, &bus);
            (void)core_device_identity(i == a ? b : i == b ? a : i, pairs[i].new_uuid, &bus);
        }
        _exit((int)core_devices_replace(pairs, 3));
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? (enum hd_status)WEXITSTATUS(status) : HD_INTERNAL;
}

static void test_kinds(void)
{
    eq_u64(count_in_child("cpu,interp", NULL), 2, "a device of each kind");
    eq_u64(count_in_child("interp,cpu/2", "2,0"), 2, "one and a part of the other");
    eq_u64(count_in_child("interp/2", NULL), CUDA_ERROR_NO_DEVICE, "no part has nothing");
    eq_u64(replace_in_child(0, 1), HD_OK, "a device in the place of its like");
    eq_u64(replace_in_child(0, 2), HD_NOT_SUPPORTED, "but not of another kind");
}

/* ---- three of four devices, the last one first */

enum { DEVICES = 3, MEMORY_B = 64 << 20 };

static CUcontext contexts[DEVICES];

static void test_identity(void)
{
    CUuuid ids[DEVICES];
    char pci[DEVICES][16], name[64];
    int count, dev, can;
    size_t total;

    success(cuDeviceGetCount(&count), "count");
    eq_u64(count, DEVICES, "three devices");
    for (int i = 0; i < DEVICES; i++) {
        success(cuDeviceGet(&dev, i), "device %d", i);
        eq_u64(dev, i, "is its ordinal");
        success(cuDeviceGetUuid_v2(&ids[i], i), "its UUID");
        success(cuDeviceGetPCIBusId(pci[i], 16, i), "its bus id");
        success(cuDeviceGetByPCIBusId(&dev, pci[i]), "is found by it");
        eq_u64(dev, i, "again");
        ok(cuDeviceTotalMem_v2(&total, i) == 0 && total == MEMORY_B, "its memory");
    }
    eq_str(pci[0], "0000:04:00.0", "the last device is first");
    ok(memcmp(&ids[0], &ids[1], 16) && memcmp(&ids[1], &ids[2], 16), "UUIDs differ");
    eq_u64(cuDeviceGetName(name, 64, DEVICES), CUDA_ERROR_INVALID_DEVICE, "there is no fourth");
    eq_u64(cuDeviceGetName(name, 64, -1), CUDA_ERROR_INVALID_DEVICE, "nor a negative one");
    ok(cuDeviceCanAccessPeer(&can, 0, 1) == 0 && can == 1, "they are peers");
    ok(cuDeviceCanAccessPeer(&can, 1, 1) == 0 && can == 0, "not of themselves");
    ok(cuDeviceGetP2PAttribute(&can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 2) == 0 && can,
       "attribute of the pair");
}

static void test_contexts(void)
{
    CUcontext again;
    int dev, active;
    unsigned flags;

    for (int i = 0; i < DEVICES; i++) {
        success(cuDevicePrimaryCtxRetain(&contexts[i], i), "primary context of device %d", i);
        success(cuCtxSetCurrent(contexts[i]), "current");
        ok(cuCtxGetDevice(&dev) == 0 && dev == i, "is on its device");
    }
    ok(contexts[0] != contexts[1] && contexts[1] != contexts[2], "they differ");
    ok(cuDevicePrimaryCtxRetain(&again, 1) == 0 && again == contexts[1], "one per device");
    success(cuDevicePrimaryCtxRelease_v2(1), "release");
    success(cuCtxSetCurrent(contexts[0]), "device 0");
    success(cuCtxEnablePeerAccess(contexts[1], 0), "peer access");
    eq_u64(cuCtxEnablePeerAccess(contexts[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "twice");
    eq_u64(cuCtxEnablePeerAccess(contexts[0], 0), CUDA_ERROR_INVALID_DEVICE, "to itself");
    eq_u64(cuCtxDisablePeerAccess(contexts[2]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
           "never enabled");
    success(cuCtxDisablePeerAccess(contexts[1]), "ends");
    eq_u64(cuCtxDisablePeerAccess(contexts[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "once");
    ok(cuDevicePrimaryCtxGetState(2, &flags, &active) == 0 && active, "device 2 is active");
}

static void test_memory(void)
{
    CUdeviceptr all[DEVICES], more;
    int dev = -1;
    size_t unused, total;

    for (int i = 0; i < DEVICES; i++) {
        success(cuCtxSetCurrent(contexts[i]), "device %d", i);
        success(cuMemAlloc_v2(&all[i], MEMORY_B), "all of its memory");
        eq_u64(cuMemAlloc_v2(&more, 1), CUDA_ERROR_OUT_OF_MEMORY, "is all");
        success(cuPointerGetAttribute(&dev, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, all[i]), "whose");
        eq_u64(dev, i, "its own");
    }
    success(cuMemFree_v2(all[0]), "freed from another device");
    ok(cuMemGetInfo_v2(&unused, &total) == 0 && unused == 0, "which gains nothing");
    success(cuCtxSetCurrent(contexts[0]), "device 0");
    ok(cuMemGetInfo_v2(&unused, &total) == 0 && unused == MEMORY_B, "has its memory back");
    for (int i = 1; i < DEVICES; i++)
        success(cuMemFree_v2(all[i]), "free");
}

/* A kernel on device 0, a copy to device 1 behind its event, a kernel there, back to the host. */
static void test_work(void)
{
    enum { N = 256 };
    float data[N], want[N], got[N];
    CUdeviceptr at[2], sum[2];
    CUmodule modules[2];
    CUstream streams[2];
    CUevent event;

    for (unsigned i = 0; i < N; i++)
        data[i] = (float)i, want[i] = 4 * (float)i;
    for (int i = 0; i < 2; i++) {
        success(cuCtxSetCurrent(contexts[i]), "device %d", i);
        success(cuModuleLoadData(&modules[i], driver_ptx), "module");
        success(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING), "stream");
        ok(!cuMemAlloc_v2(&at[i], sizeof(data)) && !cuMemAlloc_v2(&sum[i], sizeof(data)), "memory");
    }
    success(cuCtxSetCurrent(contexts[0]), "device 0");
    success(cuEventCreate(&event, 0), "event");
    success(cuMemcpyHtoD_v2(at[0], data, sizeof(data)), "data");
    for (int i = 0; i < 2; i++) {
        struct add_params p = {(float *)(uintptr_t)at[i], (float *)(uintptr_t)at[i],
                               (float *)(uintptr_t)sum[i], N};
        void *params[] = {&p.a, &p.b, &p.c, &p.n};

        success(cuCtxSetCurrent(contexts[i]), "device %d", i);
        success(driver_launch(driver_function(modules[i], "add"), 2, 128, streams[i], params),
                "add");
        if (i == 1)
            break;
        success(cuEventRecord(event, streams[0]), "record");
        success(cuCtxSetCurrent(contexts[1]), "device 1");
        success(cuStreamWaitEvent(streams[1], event, 0), "waits for device 0");
        success(
            cuMemcpyPeerAsync(at[1], contexts[1], sum[0], contexts[0], sizeof(data), streams[1]),
            "copy between devices");
    }
    success(cuStreamSynchronize(streams[1]), "wait");
    success(cuMemcpyDtoH_v2(got, sum[1], sizeof(got)), "result");
    eq_mem(got, want, sizeof(want), "went through both devices");
}

/* What is of one context is refused where it would be used in another. */
static void test_mixed_contexts(void)
{
    CUmodule modules[2];
    CUstream streams[2];
    CUevent events[2];
    CUfunction func;
    float ms;
    struct add_params none = {0};
    void *params[] = {&none.a, &none.b, &none.c, &none.n};

    for (int i = 0; i < 2; i++)
        ok(!cuCtxSetCurrent(contexts[i]) && !cuModuleLoadData(&modules[i], driver_ptx) &&
               !cuStreamCreate(&streams[i], 0) && !cuEventCreate(&events[i], 0),
           "module, stream and event of device %d", i);
    func = driver_function(modules[0], "add"); /* device 1 is current */
    eq_u64(driver_launch(func, 1, 32, NULL, params), CUDA_ERROR_INVALID_HANDLE,
           "a kernel of device 0 in the default stream of device 1");
    eq_u64(driver_launch(func, 1, 32, streams[1], params), CUDA_ERROR_INVALID_HANDLE,
           "in a stream of device 1");
    success(driver_launch(func, 1, 32, streams[0], params), "in one of its own");
    eq_u64(cuEventRecord(events[0], streams[1]), CUDA_ERROR_INVALID_HANDLE,
           "an event of device 0 in a stream of device 1");
    eq_u64(cuEventRecord(events[0], NULL), CUDA_ERROR_INVALID_HANDLE, "in its default stream");
    success(cuEventRecord(events[0], streams[0]), "in one of its own");
    success(cuEventRecord(events[1], streams[1]), "and the other way round");
    success(cuStreamWaitEvent(streams[1], events[0], 0), "streams wait for any event");
    ok(!cuStreamSynchronize(streams[0]) && !cuStreamSynchronize(streams[1]), "both are done");
    success(cuEventElapsedTime(&ms, events[0], events[1]), "time between two devices");
    for (int i = 0; i < 2; i++)
        ok(!cuStreamDestroy_v2(streams[i]) && !cuEventDestroy_v2(events[i]),
           "destroyed from anywhere");
}

static void wait_for_flag(void *arg)
{
    while (!atomic_load((_Atomic int *)arg))
        usleep(100);
}

/* Work of one device that waits for another's goes on although no thread of the program waits. */
static void test_wakeup(void)
{
    static _Atomic int flag;
    CUstream streams[2];
    CUevent event;
    unsigned polls = 0;

    for (int i = 0; i < 2; i++)
        ok(!cuCtxSetCurrent(contexts[i]) && !cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING),
           "a stream of device %d", i);
    success(cuCtxSetCurrent(contexts[0]), "device 0");
    success(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "event");
    success(cuLaunchHostFunc(streams[0], wait_for_flag, &flag), "busy");
    success(cuEventRecord(event, streams[0]), "record");
    success(cuStreamWaitEvent(streams[1], event, 0), "device 1 waits");
    usleep(20000); /* its threads go to sleep */
    eq_u64(cuStreamQuery(streams[1]), CUDA_ERROR_NOT_READY, "still");
    atomic_store(&flag, 1);
    while (cuStreamQuery(streams[1]) == CUDA_ERROR_NOT_READY && polls++ < 20000)
        usleep(500);
    success(cuStreamQuery(streams[1]), "goes on by itself");
}

/* A fault or a reset of one device leaves the others alone. */
static void test_isolation(void)
{
    CUmodule module;
    uint64_t wild = 8;
    void *params[] = {&wild};

    success(cuCtxSetCurrent(contexts[2]), "device 2");
    success(cuModuleLoadData(&module, driver_ptx), "module");
    success(driver_launch(driver_function(module, "wild"), 1, 1, NULL, params), "a wild kernel");
    eq_u64(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS, "faults");
    success(cuCtxSetCurrent(contexts[0]), "device 0");
    success(cuCtxSynchronize(), "is well");
    success(cuDevicePrimaryCtxReset_v2(2), "reset device 2");
    success(cuCtxSetCurrent(contexts[2]), "device 2");
    success(cuCtxSynchronize(), "is well again");
    success(cuCtxSetCurrent(contexts[1]), "device 1");
    success(cuCtxSynchronize(), "never noticed");
}

int main(void)
{
    setenv("HEDDLE_MEMORY", "64M", 1);
    test_visible();
    test_environment();
    test_kinds();
    setenv("HEDDLE_DEVICES", "4", 1);
    setenv("CUDA_VISIBLE_DEVICES", "3,0,1,-1", 1);
    success(cuInit(0), "cuInit");
    test_identity();
    test_contexts();
    test_memory();
    test_work();
    test_mixed_contexts();
    test_wakeup();
    test_isolation();
    for (int i = 0; i < DEVICES; i++)
        success(cuDevicePrimaryCtxRelease_v2(i), "release");
    return done();
}
