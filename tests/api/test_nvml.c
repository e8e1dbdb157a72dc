/*
 * libnvidia-ml: every function, its results, and that it says what the driver says. Two
 * devices.
 */
#include <stddef.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/driver/cuda_abi.h"
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "nvml.h"
#include "tap.h"

/* Names of before versions, and a function that the public header does not offer. */
nvmlReturn_t nvmlInit(void);
nvmlReturn_t nvmlDeviceGetCount(unsigned int *deviceCount);
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *pciBusId, nvmlDevice_t *device);
nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci);
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci);

#define good(expr)        eq_u64((expr), NVML_SUCCESS, "%s", #expr)
#define bad(result, expr) eq_u64((expr), NVML_ERROR_##result, "%s: %s", #expr, #result)

static void test_before_init(void)
{
    unsigned count;
    int version = 0;
    char text[80];
    nvmlDevice_t device;

    bad(UNINITIALIZED, nvmlDeviceGetCount_v2(&count));
    bad(UNINITIALIZED, nvmlDeviceGetHandleByIndex_v2(0, &device));
    bad(UNINITIALIZED, nvmlDeviceGetHandleByUUID("GPU-", &device));
    bad(UNINITIALIZED, nvmlDeviceGetHandleByPciBusId_v2("0:0:0", &device));
    bad(UNINITIALIZED, nvmlSystemGetDriverVersion(text, sizeof(text)));
    bad(UNINITIALIZED, nvmlSystemGetNVMLVersion(text, sizeof(text)));
    bad(UNINITIALIZED, nvmlSystemGetProcessName(1, text, sizeof(text)));
    bad(UNINITIALIZED, nvmlShutdown());
    good(nvmlSystemGetCudaDriverVersion(&version));
    eq_u64(version, 13000, "the driver's version needs no initialisation");
    bad(INVALID_ARGUMENT, nvmlInitWithFlags(4));
}

static void test_counted(void)
{
    unsigned count;

    good(nvmlInit_v2());
    good(nvmlInit());
    good(nvmlInitWithFlags(3));
    good(nvmlShutdown());
    good(nvmlShutdown());
    good(nvmlDeviceGetCount(&count));
    good(nvmlShutdown());
    bad(UNINITIALIZED, nvmlDeviceGetCount(&count));
    bad(UNINITIALIZED, nvmlShutdown());
    good(nvmlInit_v2());
}

static void test_system(void)
{
    char text[80], small[9];
    unsigned a, b, c, many;

    eq_str(nvmlErrorString(NVML_SUCCESS), "Success", "text of success");
    eq_str(nvmlErrorString(NVML_ERROR_NOT_SUPPORTED), "Not Supported", "text of an error");
    eq_str(nvmlErrorString((nvmlReturn_t)500), "Unknown Error", "text of none");
    good(nvmlSystemGetDriverVersion(text, sizeof(text)));
    eq_u64(sscanf(text, "%u.%u.%u", &a, &b, &c), 3, "driver %s: three numbers", text);
    good(nvmlSystemGetNVMLVersion(text, sizeof(text)));
    eq_u64(sscanf(text, "%u.%u.%u.%u", &many, &a, &b, &c), 4, "NVML %s: four numbers", text);
    bad(INSUFFICIENT_SIZE, nvmlSystemGetDriverVersion(small, sizeof(small)));
    bad(INVALID_ARGUMENT, nvmlSystemGetDriverVersion(NULL, 80));
    bad(INVALID_ARGUMENT, nvmlSystemGetCudaDriverVersion_v2(NULL));
    good(nvmlSystemGetProcessName((unsigned)getpid(), text, sizeof(text)));
    ok(strstr(text, "/"), "this process is %s", text);
    bad(NOT_FOUND, nvmlSystemGetProcessName(0x7fffffff, text, sizeof(text)));
    bad(INVALID_ARGUMENT, nvmlSystemGetProcessName(1, text, 0));
}

static void test_handles(nvmlDevice_t devices[2])
{
    unsigned count = 0, index = 9;
    char uuid[80], bus[40];
    nvmlDevice_t found = NULL;

    good(nvmlDeviceGetCount_v2(&count));
    eq_u64(count, 2, "two devices");
    bad(INVALID_ARGUMENT, nvmlDeviceGetCount_v2(NULL));
    for (unsigned i = 0; i < 2; i++) {
        good(nvmlDeviceGetHandleByIndex_v2(i, &devices[i]));
        good(nvmlDeviceGetIndex(devices[i], &index));
        eq_u64(index, i, "index");
        good(nvmlDeviceGetMinorNumber(devices[i], &index));
        eq_u64(index, i, "minor number");
        good(nvmlDeviceGetUUID(devices[i], uuid, sizeof(uuid)));
        good(nvmlDeviceGetHandleByUUID(uuid, &found));
        ok(found == devices[i], "found by %s", uuid);
        eq_u64(cuDeviceGetPCIBusId(bus, sizeof(bus), (CUdevice)i), CUDA_SUCCESS, "the driver's id");
        good(nvmlDeviceGetHandleByPciBusId(bus, &found));
        ok(found == devices[i], "found by %s", bus);
    }
    good(nvmlDeviceGetHandleByIndex(1, &found));
    ok(found == devices[1], "the name without version is the same");
    bad(INVALID_ARGUMENT, nvmlDeviceGetHandleByIndex_v2(2, &found));
    bad(INVALID_ARGUMENT, nvmlDeviceGetHandleByIndex_v2(0, NULL));
    bad(NOT_FOUND, nvmlDeviceGetHandleByUUID("GPU-0", &found));
    bad(INVALID_ARGUMENT, nvmlDeviceGetHandleByUUID(NULL, &found));
    bad(NOT_FOUND, nvmlDeviceGetHandleByPciBusId_v2("00ff:ff:1f.0", &found));
    bad(NOT_FOUND, nvmlDeviceGetHandleByPciBusId_v2("nonsense", &found));
    good(nvmlDeviceGetHandleByPciBusId_v2("2:0", &found));
    ok(found == devices[1], "found by bus and device");
    good(nvmlDeviceGetHandleByPciBusId_v2("00000000:01:00.0", &found));
    ok(found == devices[0], "found by all digits");
    for (int i = 0; i < 6; i++) {
        static const char *const wrong[] = {"2", "2:0:", "0:2:0.1", "0:0:2:0", "2:0x", ""};
        bad(NOT_FOUND, nvmlDeviceGetHandleByPciBusId_v2(wrong[i], &found));
    }
    bad(INVALID_ARGUMENT, nvmlDeviceGetHandleByPciBusId_v2(NULL, &found));
    for (uintptr_t wrong = 0; wrong < 2; wrong++)
        bad(INVALID_ARGUMENT, nvmlDeviceGetIndex((nvmlDevice_t)(wrong * 8), &index));
    bad(INVALID_ARGUMENT, nvmlDeviceGetIndex((nvmlDevice_t)((char *)devices[1] + 1), &index));
    bad(INVALID_ARGUMENT, nvmlDeviceGetIndex(devices[0], NULL));
}

static void test_facts(nvmlDevice_t device)
{
    char name[96], of_driver[96], bus[40];
    int major, minor, attribute;
    nvmlDeviceArchitecture_t arch = 0;
    nvmlPciInfo_t pci, old;

    good(nvmlDeviceGetName(device, name, sizeof(name)));
    (void)cuDeviceGetName(of_driver, sizeof(of_driver), 1);
    eq_str(name, of_driver, "the name is the driver's");
    bad(INSUFFICIENT_SIZE, nvmlDeviceGetName(device, name, 3));
    bad(INSUFFICIENT_SIZE, nvmlDeviceGetUUID(device, name, 40));
    good(nvmlDeviceGetCudaComputeCapability(device, &major, &minor));
    (void)cuDeviceGetAttribute(&attribute, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1);
    eq_u64(major, attribute, "compute capability");
    bad(INVALID_ARGUMENT, nvmlDeviceGetCudaComputeCapability(device, &major, NULL));
    good(nvmlDeviceGetArchitecture(device, &arch));
    eq_u64(arch, major == 9 ? NVML_DEVICE_ARCH_HOPPER : NVML_DEVICE_ARCH_BLACKWELL, "architecture");
    bad(INVALID_ARGUMENT, nvmlDeviceGetArchitecture(device, NULL));
    memset(&old, 0x55, sizeof(old));
    good(nvmlDeviceGetPciInfo_v3(device, &pci));
    good(nvmlDeviceGetPciInfo(device, &old));
    eq_mem(&old, &pci, offsetof(nvmlPciInfo_t, busId), "both versions begin alike");
    eq_u64(old.busId[0], 0x55, "the old one ends earlier");
    good(nvmlDeviceGetPciInfo_v2(device, &old));
    (void)cuDeviceGetPCIBusId(bus, sizeof(bus), 1);
    ok(!strcasecmp(pci.busIdLegacy, bus), "%s is the driver's %s", pci.busIdLegacy, bus);
    ok(!strncmp(pci.busId, "0000", 4) && !strcmp(pci.busId + 4, pci.busIdLegacy), "%s", pci.busId);
    bad(INVALID_ARGUMENT, nvmlDeviceGetPciInfo_v3(device, NULL));
}

static void test_clocks(nvmlDevice_t device)
{
    unsigned clock = 0, max = 0;

    good(nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &clock));
    good(nvmlDeviceGetMaxClockInfo(device, NVML_CLOCK_SM, &max));
    ok(clock > 0 && clock <= max, "the clock of an SM: %u of %u MHz", clock, max);
    clock = 0;
    good(nvmlDeviceGetClockInfo(device, NVML_CLOCK_MEM, &clock));
    ok(clock > 0, "of memory: %u MHz", clock);
    bad(INVALID_ARGUMENT, nvmlDeviceGetClockInfo(device, NVML_CLOCK_COUNT, &clock));
    bad(INVALID_ARGUMENT, nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, NULL));
}

static void test_memory(nvmlDevice_t device)
{
    nvmlMemory_t m, before;
    nvmlMemory_v2_t m2 = {.version = nvmlMemory_v2};
    size_t total;
    CUcontext context;
    CUdeviceptr memory;
    int is_active;
    unsigned flags;

    good(nvmlDeviceGetMemoryInfo(device, &before));
    (void)cuDeviceTotalMem_v2(&total, 1);
    eq_u64(before.total, total, "the total is the driver's");
    eq_u64(before.used, 0, "nothing is used");
    (void)cuDevicePrimaryCtxGetState(1, &flags, &is_active);
    eq_u64(is_active, 0, "asking makes no context");
    (void)cuDevicePrimaryCtxRetain(&context, 1);
    (void)cuCtxPushCurrent_v2(context);
    eq_u64(cuMemAlloc_v2(&memory, 8u << 20), CUDA_SUCCESS, "8 MiB");
    (void)cuCtxPopCurrent_v2(&context);
    good(nvmlDeviceGetMemoryInfo(device, &m));
    ok(m.used >= 8u << 20 && m.used + m.free == m.total, "%llu bytes are used", m.used);
    good(nvmlDeviceGetMemoryInfo_v2(device, &m2));
    ok(m2.used == m.used && m2.free == m.free && m2.total == m.total && !m2.reserved,
       "version 2 says the same");
    m2.version = 1;
    bad(ARGUMENT_VERSION_MISMATCH, nvmlDeviceGetMemoryInfo_v2(device, &m2));
    bad(INVALID_ARGUMENT, nvmlDeviceGetMemoryInfo_v2(device, NULL));
    bad(INVALID_ARGUMENT, nvmlDeviceGetMemoryInfo(device, NULL));
    test_clocks(device);
    (void)cuDevicePrimaryCtxReset_v2(1);
}

/* Graphs are described; of what would run them there is nothing, and that is no error. */
/* Nothing but NVML was used so far: a child may use both. */
static void test_children(void)
{
    int status = -1;
    unsigned count = 0;
    CUdeviceptr va = 0;
    CUcontext ctx;
    uint32_t word = 0;

    good(nvmlInit_v2());
    /* ThreadSanitizer lets no child of a process with threads have threads. */
    if (HD_SANITIZES_THREADS)
        good(cuInit(0) == CUDA_SUCCESS ? NVML_SUCCESS : NVML_ERROR_UNKNOWN);
    for (int initialised = HD_SANITIZES_THREADS; initialised < 2; initialised++) {
        fflush(stdout);
        pid_t child = fork();
        if (!child) {
            alarm(60);
            bool fine = nvmlDeviceGetCount_v2(&count) == NVML_SUCCESS && count == 2;
            CUresult result = cuInit(0);
            if (initialised)
                _exit(!fine || result != CUDA_ERROR_NOT_INITIALIZED);
            fine = fine && !result && !cuDevicePrimaryCtxRetain(&ctx, 1) && !cuCtxSetCurrent(ctx) &&
                   !cuMemAlloc_v2(&va, 4096) && !cuMemsetD32_v2(va, 7, 1024) &&
                   !cuMemcpyDtoH_v2(&word, va + 4092, 4) && word == 7;
            exit(!fine);
        }
        waitpid(child, &status, 0);
        eq_u64((unsigned)status, 0, "a child of a program that has%s initialised CUDA",
               initialised ? "" : " not");
        if (!initialised)
            eq_u64(cuInit(0), CUDA_SUCCESS, "the parent initialises it");
    }
    good(nvmlShutdown());
}

int main(void)
{
    nvmlDevice_t devices[2] = {NULL};

    test_before_init();
    test_children();
    test_counted();
    test_system();
    test_handles(devices);
    test_facts(devices[1]);
    test_memory(devices[1]);
    return done();
}
