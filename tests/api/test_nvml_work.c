/*
 * NVML's values that work causes: two processes with contexts and memory, one with a kernel that
 * runs until it is told to end, one whose kernel faults. Both are forked before anything is
 * initialised. And what a host's sensors say, from files of our own.
 */
#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/driver/cuda_abi.h"
#include "api/nvml/sensors.h"
#include "base/str.h"
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "nvml.h"
#include "tap.h"

#define good(expr)        eq_u64((expr), NVML_SUCCESS, "%s", #expr)
#define bad(result, expr) eq_u64((expr), NVML_ERROR_##result, "%s: %s", #expr, #result)

enum { MIB = 1 << 20, PATIENCE_MS = 60000 };

static char folder[] = "/tmp/heddle-nvml-XXXXXX";

static const char ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry hold(.param .u64 at)\n{\n .reg .u64 %a;\n .reg .u32 %v;\n .reg .pred %p;\n"
    " ld.param.u64 %a, [at];\nagain:\n ld.volatile.global.u32 %v, [%a];\n"
    " setp.eq.u32 %p, %v, 0;\n @%p bra again;\n ret;\n}\n"
    ".visible .entry wild()\n{\n .reg .u64 %a;\n mov.u64 %a, 16;\n st.global.u32 [%a], 1;\n"
    " ret;\n}\n";

/* ---- a process that works: it does what each letter says, and answers with it */

struct worker {
    pid_t pid;
    int to, from;
};

struct work {
    CUfunction hold, wild;
    CUdeviceptr memory, flag;
    uint32_t *host_flag;
};

static bool works(CUresult result)
{
    return result == CUDA_SUCCESS;
}

static bool work_begin(struct work *w)
{
    CUcontext context;
    CUmodule module;

    return works(cuInit(0)) && works(cuDevicePrimaryCtxRetain(&context, 0)) &&
           works(cuCtxPushCurrent_v2(context)) && works(cuModuleLoadData(&module, ptx)) &&
           works(cuModuleGetFunction(&w->hold, module, "hold")) &&
           works(cuModuleGetFunction(&w->wild, module, "wild")) &&
           works(cuMemHostAlloc((void **)&w->host_flag, 4, 0)) &&
           works(cuMemHostGetDevicePointer_v2(&w->flag, w->host_flag, 0));
}

static bool launch(CUfunction function, void **arguments)
{
    return works(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
}

/* 256 rows of 1 KiB to an array, and half of them back. */
static bool copy_array(void)
{
    static char bytes[256 * 1024];
    const CUDA_ARRAY_DESCRIPTOR desc = {256, 256, CU_AD_FORMAT_FLOAT, 1};
    CUarray array;
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = bytes,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .WidthInBytes = 1024,
                          .Height = 256};
    CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = bytes,
                          .WidthInBytes = 1024,
                          .Height = 128};

    if (!works(cuArrayCreate_v2(&array, &desc)))
        return false;
    copy.dstArray = back.srcArray = array;
    return works(cuMemcpy2D_v2(&copy)) && works(cuMemcpy2D_v2(&back)) &&
           works(cuArrayDestroy(array));
}

/* A graph with 1 MiB to the device, a quarter back and some inside, three times. */
static bool copy_graph(const struct work *w)
{
    CUgraphExec exec;
    CUgraph graph;
    CUstream stream;
    char *host;
    bool good = works(cuMemHostAlloc((void **)&host, MIB, 0)) &&
                works(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) &&
                works(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED)) &&
                works(cuMemcpyHtoDAsync_v2(w->memory, host, MIB, stream)) &&
                works(cuMemcpyDtoDAsync_v2(w->memory + MIB, w->memory, MIB, stream)) &&
                works(cuMemcpyDtoHAsync_v2(host, w->memory, MIB / 4, stream)) &&
                works(cuStreamEndCapture(stream, &graph)) &&
                works(cuGraphInstantiateWithFlags(&exec, graph, 0));

    for (int i = 0; i < 3; i++)
        good = good && works(cuGraphLaunch(exec, stream));
    return good && works(cuStreamSynchronize(stream)) && works(cuGraphExecDestroy(exec)) &&
           works(cuGraphDestroy(graph)) && works(cuStreamDestroy_v2(stream)) &&
           works(cuMemFreeHost(host));
}

static bool work_do(struct work *w, char what)
{
    static char bytes[4 * MIB];
    void *arguments[] = {&w->flag};

    switch (what) {
    case 'b':
        return work_begin(w);
    case 'm':
        return works(cuMemAlloc_v2(&w->memory, 8 * MIB));
    case 'c':
        return works(cuMemcpyHtoD_v2(w->memory, bytes, sizeof(bytes)));
    case 'a':
        return copy_array();
    case 'g':
        return copy_graph(w);
    case 'f':
        return works(cuMemFree_v2(w->memory));
    case 'k':
        *(volatile uint32_t *)w->host_flag = 0;
        return launch(w->hold, arguments);
    case 'e':
        *(volatile uint32_t *)w->host_flag = 1;
        return works(cuCtxSynchronize());
    case 'w':
        return launch(w->wild, NULL) && cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS;
    default:
        return false;
    }
}

static void work_main(int from, int to)
{
    struct work w = {0};
    char what;

    while (read(from, &what, 1) == 1) {
        if (!work_do(&w, what))
            what = '!';
        if (write(to, &what, 1) != 1)
            break;
    }
    exit(0);
}

static struct worker worker_start(void)
{
    int to[2], from[2];
    struct worker w = {0};

    if (pipe(to) || pipe(from))
        return w;
    fflush(stdout);
    w.pid = fork();
    if (!w.pid) {
        close(to[1]);
        close(from[0]);
        work_main(to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    w.to = to[1];
    w.from = from[0];
    return w;
}

static void answers(const struct worker *w, char what)
{
    char got = 0;

    eq_u64(read(w->from, &got, 1) == 1 ? got : 0, (uint64_t)what, "process %d does '%c'",
           (int)w->pid, what);
}

static void notify(const struct worker *w, char what)
{
    ok(write(w->to, &what, 1) == 1, "tell it");
    answers(w, what);
}

static void worker_end(struct worker *w, bool kills)
{
    int status;

    if (kills)
        kill(w->pid, SIGKILL);
    close(w->to);
    ok(waitpid(w->pid, &status, 0) == w->pid, "it has ended");
    close(w->from);
}

/* ---- what NVML says */

/* Until the device's utilisation is in this range. */
static void await_gpu(nvmlDevice_t device, unsigned least, unsigned most)
{
    nvmlUtilization_t u = {999, 999};

    for (int ms = 0; ms < PATIENCE_MS; ms += 10) {
        if (nvmlDeviceGetUtilizationRates(device, &u) == NVML_SUCCESS && u.gpu >= least &&
            u.gpu <= most)
            break;
        usleep(10000);
    }
    ok(u.gpu >= least && u.gpu <= most, "utilisation %u is in %u to %u", u.gpu, least, most);
}

static unsigned long long used_B(nvmlDevice_t device)
{
    nvmlMemory_t m = {0};

    good(nvmlDeviceGetMemoryInfo(device, &m));
    eq_u64(m.used + m.free, m.total, "all memory is used or free");
    return m.used;
}

static void test_idle(nvmlDevice_t device)
{
    nvmlProcessUtilizationSample_t sample;
    nvmlUtilization_t u = {9, 9};
    unsigned count = 1, value = 7;

    good(nvmlDeviceGetUtilizationRates(device, &u));
    eq_u64(u.gpu | u.memory, 0, "nobody works");
    good(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, NULL));
    eq_u64(count, 0, "nor is there");
    eq_u64(used_B(device), 0, "or has memory");
    count = 1;
    bad(NOT_FOUND, nvmlDeviceGetProcessUtilization(device, &sample, &count, 0));
    good(nvmlDeviceGetPcieThroughput(device, NVML_PCIE_UTIL_RX_BYTES, &value));
    eq_u64(value, 0, "nothing is copied");
    bad(INVALID_ARGUMENT, nvmlDeviceGetUtilizationRates(device, NULL));
    bad(INVALID_ARGUMENT, nvmlDeviceGetPcieThroughput(device, NVML_PCIE_UTIL_COUNT, &value));
}

static void test_processes(nvmlDevice_t device, const struct worker *a, const struct worker *b)
{
    nvmlProcessInfo_t infos[2];
    nvmlProcessDetail_v1_t details[2];
    nvmlProcessDetailList_t list = {
        .version = nvmlProcessDetailList_v1, .numProcArrayEntries = 2, .procArray = details};
    unsigned count = 1;

    bad(INSUFFICIENT_SIZE, nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos));
    eq_u64(count, 2, "two processes");
    good(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos));
    ok((infos[0].pid == (unsigned)a->pid && infos[1].pid == (unsigned)b->pid) ||
           (infos[1].pid == (unsigned)a->pid && infos[0].pid == (unsigned)b->pid),
       "they are %u and %u", infos[0].pid, infos[1].pid);
    for (int i = 0; i < 2; i++)
        ok(infos[i].usedGpuMemory >= (infos[i].pid == (unsigned)a->pid ? 8 * MIB : 0) &&
               infos[i].gpuInstanceId == NVML_NO_INSTANCE,
           "process %u has %llu bytes", infos[i].pid, infos[i].usedGpuMemory);
    eq_u64(infos[0].usedGpuMemory + infos[1].usedGpuMemory, used_B(device),
           "together what is in use");
    good(nvmlDeviceGetRunningProcessDetailList(device, &list));
    eq_u64(list.numProcArrayEntries, 2, "details of both");
    eq_u64(details[1].usedGpuMemory, infos[1].usedGpuMemory, "the same memory");
    list.mode = 1;
    good(nvmlDeviceGetRunningProcessDetailList(device, &list));
    eq_u64(list.numProcArrayEntries, 0, "no graphics");
    list.version++;
    bad(ARGUMENT_VERSION_MISMATCH, nvmlDeviceGetRunningProcessDetailList(device, &list));
    count = 2;
    good(nvmlDeviceGetGraphicsRunningProcesses_v3(device, &count, infos));
    eq_u64(count, 0, "none either");
}

static void test_shares(nvmlDevice_t device, const struct worker *busy)
{
    nvmlProcessUtilizationSample_t shares[2];
    nvmlProcessUtilizationInfo_v1_t infos[2];
    nvmlProcessesUtilizationInfo_t all = {.version = nvmlProcessesUtilizationInfo_v1,
                                          .processSamplesCount = 2,
                                          .procUtilArray = infos};
    unsigned count = 0;

    bad(INSUFFICIENT_SIZE, nvmlDeviceGetProcessUtilization(device, NULL, &count, 0));
    eq_u64(count, 2, "of two processes");
    good(nvmlDeviceGetProcessUtilization(device, shares, &count, 0));
    good(nvmlDeviceGetProcessesUtilizationInfo(device, &all));
    for (int i = 0; i < 2; i++) {
        bool is_busy = shares[i].pid == (unsigned)busy->pid;
        ok(is_busy ? shares[i].smUtil >= 90 : !shares[i].smUtil, "process %u has %u %%",
           shares[i].pid, shares[i].smUtil);
        ok(infos[i].pid != (unsigned)busy->pid ? !infos[i].smUtil : infos[i].smUtil >= 90,
           "the other call says %u", infos[i].smUtil);
    }
}

/* Two that are busy all the time have half of the device each. */
static void test_both_busy(nvmlDevice_t device, const struct worker *b)
{
    nvmlProcessUtilizationSample_t s[2] = {{0}};
    unsigned count = 2, most = 0;

    notify(b, 'k');
    for (unsigned i = 0; i < 1000 && (s[0].smUtil < 45 || s[1].smUtil < 45); i++) {
        if (nvmlDeviceGetProcessUtilization(device, s, &count, 0) != NVML_SUCCESS || count != 2)
            break;
        most = HD_MAX(most, s[0].smUtil + s[1].smUtil);
        usleep(10000);
    }
    ok(s[0].smUtil >= 45 && s[1].smUtil >= 45, "%u and %u %%", s[0].smUtil, s[1].smUtil);
    ok(most <= 100, "together never more than the device: %u %%", most);
    notify(b, 'e');
}

static void test_samples(nvmlDevice_t device)
{
    nvmlSample_t samples[32];
    nvmlValueType_t type;
    unsigned count = 0, sum = 0, room = 1;

    good(nvmlDeviceGetSamples(device, NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &count, NULL));
    ok(count > 1 && count <= 32, "%u samples", count);
    bad(INSUFFICIENT_SIZE,
        nvmlDeviceGetSamples(device, NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &room, samples));
    good(nvmlDeviceGetSamples(device, NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &count, samples));
    eq_u64(type, NVML_VALUE_TYPE_UNSIGNED_INT, "their type");
    for (unsigned i = 0; i < count; i++) {
        sum += samples[i].sampleValue.uiVal;
        if (i && samples[i].timeStamp <= samples[i - 1].timeStamp)
            ok(false, "in order of time");
    }
    ok(sum >= 90 * count, "a mean of %u", sum / count);
    unsigned long long last = samples[count - 1].timeStamp + 10000000;
    bad(NOT_FOUND,
        nvmlDeviceGetSamples(device, NVML_GPU_UTILIZATION_SAMPLES, last, &type, &count, samples));
    bad(NOT_SUPPORTED,
        nvmlDeviceGetSamples(device, NVML_ENC_UTILIZATION_SAMPLES, 0, &type, &count, samples));
}

static void test_copies(nvmlDevice_t device, const struct worker *w)
{
    nvmlFieldValue_t fields[3] = {{.fieldId = NVML_FI_DEV_PCIE_COUNT_RX_BYTES},
                                  {.fieldId = NVML_FI_DEV_PCIE_COUNT_TX_BYTES},
                                  {.fieldId = 1}};
    unsigned value = 0;

    notify(w, 'c');
    good(nvmlDeviceGetFieldValues(device, 3, fields));
    eq_u64(fields[0].nvmlReturn, NVML_SUCCESS, "bytes to the device");
    eq_u64(fields[0].value.ullVal, 4 * MIB, "are those that were copied");
    eq_u64(fields[1].value.ullVal, 0, "and none to the host");
    eq_u64(fields[2].nvmlReturn, NVML_ERROR_NOT_SUPPORTED, "a field that does not exist here");
    good(nvmlDeviceGetPcieThroughput(device, NVML_PCIE_UTIL_TX_BYTES, &value));
    eq_u64(value, 0, "nothing to the host");
    bad(INVALID_ARGUMENT, nvmlDeviceGetFieldValues(device, 0, fields));
    notify(w, 'a');
    good(nvmlDeviceGetFieldValues(device, 2, fields));
    eq_u64(fields[0].value.ullVal, 4 * MIB + MIB / 4, "bytes to an array");
    eq_u64(fields[1].value.ullVal, MIB / 8, "and from one");
    notify(w, 'g');
    good(nvmlDeviceGetFieldValues(device, 2, fields));
    eq_u64(fields[0].value.ullVal, 7 * MIB + MIB / 4, "bytes that graphs copy, each time");
    eq_u64(fields[1].value.ullVal, MIB / 8 + 3 * MIB / 4, "both ways, and nothing inside");
}

static void test_fault(nvmlDevice_t device, const struct worker *w)
{
    nvmlEventSet_t set = NULL;
    nvmlEventData_t data = {0};
    unsigned long long types = 0;

    good(nvmlDeviceGetSupportedEventTypes(device, &types));
    eq_u64(types, nvmlEventTypeXidCriticalError, "Xids");
    good(nvmlEventSetCreate(&set));
    bad(NOT_SUPPORTED, nvmlDeviceRegisterEvents(device, 1, set));
    good(nvmlDeviceRegisterEvents(device, types, set));
    bad(TIMEOUT, nvmlEventSetWait_v2(set, &data, 0));
    bad(TIMEOUT, nvmlEventSetWait_v2(set, &data, 10));
    notify(w, 'w');
    good(nvmlEventSetWait_v2(set, &data, PATIENCE_MS));
    ok(data.device == device, "the device");
    eq_u64(data.eventType, nvmlEventTypeXidCriticalError, "the type");
    eq_u64(data.eventData, 31, "the Xid of a wild store");
    bad(TIMEOUT, nvmlEventSetWait_v2(set, &data, 0));
    good(nvmlEventSetFree(set));
    bad(INVALID_ARGUMENT, nvmlEventSetFree(set));
    bad(INVALID_ARGUMENT, nvmlEventSetWait_v2(set, &data, 0));
    bad(INVALID_ARGUMENT, nvmlDeviceRegisterEvents(device, types, NULL));
}

static void test_work(nvmlDevice_t device, struct worker a, struct worker b)
{
    unsigned long long reasons = 0;
    unsigned count = 0;

    notify(&a, 'b');
    notify(&b, 'b');
    unsigned long long before_B = used_B(device);
    notify(&a, 'm');
    eq_u64(used_B(device), before_B + 8 * MIB, "8 MiB more");
    test_processes(device, &a, &b);
    test_copies(device, &a);
    notify(&a, 'k');
    await_gpu(device, 95, 100);
    test_shares(device, &a);
    test_samples(device);
    good(nvmlDeviceGetCurrentClocksEventReasons(device, &reasons));
    eq_u64(reasons, nvmlClocksEventReasonNone, "not idle");
    test_both_busy(device, &b);
    notify(&a, 'e');
    await_gpu(device, 0, 0);
    good(nvmlDeviceGetCurrentClocksEventReasons(device, &reasons));
    eq_u64(reasons, nvmlClocksEventReasonGpuIdle, "idle");
    notify(&a, 'f');
    eq_u64(used_B(device), before_B, "8 MiB less");
    test_fault(device, &b);
    worker_end(&b, false);
    bad(INSUFFICIENT_SIZE, nvmlDeviceGetComputeRunningProcesses_v3(device, &count, NULL));
    eq_u64(count, 1, "one has ended");
    notify(&a, 'k');
    worker_end(&a, true);
    count = 0;
    good(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, NULL));
    eq_u64(count, 0, "the other was killed");
    nvmlUtilization_t u = {9, 9};
    good(nvmlDeviceGetUtilizationRates(device, &u));
    eq_u64(u.gpu, 0, "with the kernel that ran");
}

/* ---- every function */

#define HAVE    0
#define REFUSED 1
static const struct {
    const char *name;
    int state;
} functions[] = {
#define X(name, state, text) {#name, state},
#include "api/nvml.def"
#undef X
};

static void test_all(bool initialised)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_NOLOAD);
    unsigned missing = 0, wrong = 0;

    for (size_t i = 0; i < HD_COUNT_OF(functions); i++) {
        nvmlReturn_t (*function)(void *) =
            (nvmlReturn_t(*)(void *))dlsym(library, functions[i].name);

        if (!function) {
            diag("%s", functions[i].name);
            missing++;
        } else if (functions[i].state == REFUSED) {
            wrong += function(NULL) !=
                     (initialised ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_UNINITIALIZED);
        }
    }
    eq_u64(missing, 0, "all of %zu functions are there", HD_COUNT_OF(functions));
    eq_u64(wrong, 0, "those that are refused say so");
}

/* ---- sensors */

static void put(const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    if (hd_file_write(path, text, strlen(text)) != HD_OK)
        ok(false, "cannot write %s", path);
}

static void test_sensors(void)
{
    unsigned MHz;
    uint64_t value;
    int temperature;

    ok(!sensors_clock_MHz(folder, &MHz) && !sensors_max_clock_MHz(folder, &MHz), "no clock");
    ok(!sensors_temperature_C(folder, &temperature), "no temperature");
    ok(!sensors_energy_uJ(folder, &value) && !sensors_power_limit_mW(folder, &value), "no power");
    put("proc/cpuinfo", "processor : 0\ncpu MHz\t\t: 1000.5\nprocessor : 1\ncpu MHz\t\t: 3000.5\n");
    ok(sensors_clock_MHz(folder, &MHz) && MHz == 2000, "the mean of /proc/cpuinfo");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2500000\n");
    put("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3500000\n");
    put("sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "4100000\n");
    ok(sensors_clock_MHz(folder, &MHz) && MHz == 3000, "of cpufreq");
    ok(sensors_max_clock_MHz(folder, &MHz) && MHz == 4100, "the most");
    put("sys/class/thermal/thermal_zone0/type", "acpitz\n");
    put("sys/class/thermal/thermal_zone0/temp", "99000\n");
    put("sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
    put("sys/class/thermal/thermal_zone1/temp", "45500\n");
    ok(sensors_temperature_C(folder, &temperature) && temperature == 45, "of the CPU's zone");
    put("sys/class/hwmon/hwmon0/name", "nvme\n");
    put("sys/class/hwmon/hwmon0/temp1_input", "90000\n");
    put("sys/class/hwmon/hwmon3/name", "k10temp\n");
    put("sys/class/hwmon/hwmon3/temp1_input", "61250\n");
    ok(sensors_temperature_C(folder, &temperature) && temperature == 61, "of the CPU's chip");
    put("sys/class/powercap/intel-rapl:0/name", "package-0\n");
    put("sys/class/powercap/intel-rapl:0/energy_uj", "5000000\n");
    put("sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw", "65000000\n");
    put("sys/class/powercap/intel-rapl:0:0/name", "core\n");
    put("sys/class/powercap/intel-rapl:0:0/energy_uj", "1000000\n");
    put("sys/class/powercap/intel-rapl:1/name", "package-1\n");
    put("sys/class/powercap/intel-rapl:1/energy_uj", "7000000\n");
    ok(sensors_energy_uJ(folder, &value) && value == 12000000, "of both packages");
    ok(sensors_power_limit_mW(folder, &value) && value == 65000, "the limit of the one that says");
    put("sys/class/powercap/intel-rapl:0/energy_uj", "nonsense\n");
    ok(sensors_energy_uJ(folder, &value) && value == 7000000, "what is no number does not count");
}

int main(void)
{
    nvmlDevice_t device = NULL;
    char path[64];

    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof(path), "%s/registry", folder);
    setenv("HEDDLE_REGISTRY", path, 1);
    test_sensors();
    struct worker a = worker_start(), b = worker_start();
    test_all(false);
    good(nvmlInit_v2());
    test_all(true);
    good(nvmlDeviceGetHandleByIndex_v2(0, &device));
    test_idle(device);
    test_work(device, a, b);
    good(nvmlShutdown());
    char command[96];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) ? 1 : done();
}
