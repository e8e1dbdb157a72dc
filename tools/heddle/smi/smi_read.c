/* Snapshots through NVML. See smi.h. */
#include "smi/smi.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "common/cli.h"
#include "common/where.h"

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include "nvml.h"

/* name in NVML without its prefix, version, arguments */
#define FUNCTIONS(X)                                                                               \
    X(Init, _v2, (void))                                                                           \
    X(SystemGetDriverVersion, , (char *, unsigned))                                                \
    X(SystemGetCudaDriverVersion, _v2, (int *))                                                    \
    X(SystemGetProcessName, , (unsigned, char *, unsigned))                                        \
    X(DeviceGetCount, _v2, (unsigned *))                                                           \
    X(DeviceGetHandleByIndex, _v2, (unsigned, nvmlDevice_t *))                                     \
    X(DeviceGetHandleByUUID, , (const char *, nvmlDevice_t *))                                     \
    X(DeviceGetHandleByPciBusId, _v2, (const char *, nvmlDevice_t *))                              \
    X(DeviceGetIndex, , (nvmlDevice_t, unsigned *))                                                \
    X(DeviceGetName, , (nvmlDevice_t, char *, unsigned))                                           \
    X(DeviceGetUUID, , (nvmlDevice_t, char *, unsigned))                                           \
    X(DeviceGetPciInfo, _v3, (nvmlDevice_t, nvmlPciInfo_t *))                                      \
    X(DeviceGetCudaComputeCapability, , (nvmlDevice_t, int *, int *))                              \
    X(DeviceGetMemoryInfo, , (nvmlDevice_t, nvmlMemory_t *))                                       \
    X(DeviceGetUtilizationRates, , (nvmlDevice_t, nvmlUtilization_t *))                            \
    X(DeviceGetTemperature, , (nvmlDevice_t, nvmlTemperatureSensors_t, unsigned *))                \
    X(DeviceGetPowerUsage, , (nvmlDevice_t, unsigned *))                                           \
    X(DeviceGetEnforcedPowerLimit, , (nvmlDevice_t, unsigned *))                                   \
    X(DeviceGetTotalEnergyConsumption, , (nvmlDevice_t, unsigned long long *))                     \
    X(DeviceGetClockInfo, , (nvmlDevice_t, nvmlClockType_t, unsigned *))                           \
    X(DeviceGetMaxClockInfo, , (nvmlDevice_t, nvmlClockType_t, unsigned *))                        \
    X(DeviceGetPcieThroughput, , (nvmlDevice_t, nvmlPcieUtilCounter_t, unsigned *))                \
    X(DeviceGetCurrentClocksEventReasons, , (nvmlDevice_t, unsigned long long *))                  \
    X(DeviceGetComputeRunningProcesses, _v3, (nvmlDevice_t, unsigned *, nvmlProcessInfo_t *))      \
    X(DeviceGetProcessUtilization, ,                                                               \
      (nvmlDevice_t, nvmlProcessUtilizationSample_t *, unsigned *, unsigned long long))

static struct {
#define X(name, version, arguments) nvmlReturn_t(*name) arguments;
    FUNCTIONS(X)
#undef X
    const char *(*ErrorString)(nvmlReturn_t);
} nvml;

static unsigned chosen[SMI_DEVICES_MAX], nchosen;

static int fail(nvmlReturn_t result)
{
    cli_error("%s", nvml.ErrorString(result));
    return SMI_FAILED;
}

int smi_open(void)
{
    const struct where_symbol wanted[] = {
#define X(name, version, arguments) {"nvml" #name #version, &nvml.name},
        FUNCTIONS(X)
#undef X
            {"nvmlErrorString", &nvml.ErrorString},
    };

    if (where_load(WHERE_NVML, wanted, HD_COUNT_OF(wanted)) != CLI_OK)
        return SMI_NO_LIBRARY;
    nvmlReturn_t result = nvml.Init();
    return result == NVML_SUCCESS ? SMI_OK : fail(result);
}

static bool find(const char *name, nvmlDevice_t *device)
{
    uint64_t index;

    if (hd_str_to_u64(hd_str_from(name), 10, &index))
        return index < SMI_DEVICES_MAX &&
               nvml.DeviceGetHandleByIndex((unsigned)index, device) == NVML_SUCCESS;
    return nvml.DeviceGetHandleByUUID(name, device) == NVML_SUCCESS ||
           nvml.DeviceGetHandleByPciBusId(name, device) == NVML_SUCCESS;
}

int smi_choose(const char *name)
{
    nvmlDevice_t device;
    unsigned index;

    if (nchosen == SMI_DEVICES_MAX || !find(name, &device) ||
        nvml.DeviceGetIndex(device, &index) != NVML_SUCCESS) {
        cli_error("there is no device '%s'", name);
        return SMI_NOT_FOUND;
    }
    assert(nchosen < SMI_DEVICES_MAX);
    chosen[nchosen++] = index;
    return SMI_OK;
}

/* ---- one device */

static void make_printable(char *text)
{
    for (; *text; text++)
        *text = iscntrl((unsigned char)*text) ? '?' : *text;
}

static int64_t number(nvmlReturn_t result, uint64_t value)
{
    return result == NVML_SUCCESS ? (int64_t)value : SMI_NONE;
}

static void read_facts(nvmlDevice_t d, struct smi_gpu *g)
{
    nvmlPciInfo_t pci = {0};
    nvmlMemory_t memory = {0};

    (void)nvml.DeviceGetName(d, g->name, sizeof(g->name));
    (void)nvml.DeviceGetUUID(d, g->uuid, sizeof(g->uuid));
    (void)nvml.DeviceGetPciInfo(d, &pci);
    (void)nvml.DeviceGetCudaComputeCapability(d, &g->cc_major, &g->cc_minor);
    (void)nvml.DeviceGetMemoryInfo(d, &memory);
    snprintf(g->bus_id, sizeof(g->bus_id), "%s", pci.busId);
    g->domain = pci.domain;
    g->bus = pci.bus;
    g->device = pci.device;
    g->total_B = memory.total;
    g->used_B = memory.used;
    g->free_B = memory.free;
}

static void read_numbers(nvmlDevice_t d, struct smi_gpu *g)
{
    nvmlUtilization_t u = {0};
    unsigned value = 0;
    unsigned long long wide = 0;
    nvmlReturn_t result = nvml.DeviceGetUtilizationRates(d, &u);

    g->gpu = number(result, u.gpu);
    g->mem = number(result, u.memory);
#define GET(to, from, call) to = ((void)(result = (call)), number(result, from))
    GET(g->temperature_C, value, nvml.DeviceGetTemperature(d, NVML_TEMPERATURE_GPU, &value));
    GET(g->power_mW, value, nvml.DeviceGetPowerUsage(d, &value));
    GET(g->limit_mW, value, nvml.DeviceGetEnforcedPowerLimit(d, &value));
    GET(g->energy_mJ, wide, nvml.DeviceGetTotalEnergyConsumption(d, &wide));
    GET(g->sm_MHz, value, nvml.DeviceGetClockInfo(d, NVML_CLOCK_SM, &value));
    GET(g->mem_MHz, value, nvml.DeviceGetClockInfo(d, NVML_CLOCK_MEM, &value));
    GET(g->max_sm_MHz, value, nvml.DeviceGetMaxClockInfo(d, NVML_CLOCK_SM, &value));
    GET(g->max_mem_MHz, value, nvml.DeviceGetMaxClockInfo(d, NVML_CLOCK_MEM, &value));
    GET(g->rx_KBps, value, nvml.DeviceGetPcieThroughput(d, NVML_PCIE_UTIL_RX_BYTES, &value));
    GET(g->tx_KBps, value, nvml.DeviceGetPcieThroughput(d, NVML_PCIE_UTIL_TX_BYTES, &value));
    GET(g->is_idle, wide, nvml.DeviceGetCurrentClocksEventReasons(d, &wide));
#undef GET
}

static void read_shares(nvmlDevice_t d, struct smi_gpu *g)
{
    static nvmlProcessUtilizationSample_t shares[SMI_PROCESSES_MAX];
    unsigned n = SMI_PROCESSES_MAX;

    if (nvml.DeviceGetProcessUtilization(d, shares, &n, 0) != NVML_SUCCESS)
        return;
    assert(n <= SMI_PROCESSES_MAX && g->nprocesses <= SMI_PROCESSES_MAX);
    for (unsigned i = 0; i < g->nprocesses; i++)
        for (unsigned j = 0; j < n; j++)
            if (shares[j].pid == g->processes[i].pid) {
                g->processes[i].sm = shares[j].smUtil;
                g->processes[i].mem = shares[j].memUtil;
            }
}

static void read_processes(nvmlDevice_t d, struct smi_gpu *g)
{
    static nvmlProcessInfo_t infos[SMI_PROCESSES_MAX];
    unsigned n = SMI_PROCESSES_MAX;

    g->nprocesses = 0;
    if (nvml.DeviceGetComputeRunningProcesses(d, &n, infos) != NVML_SUCCESS)
        return;
    assert(n <= SMI_PROCESSES_MAX);
    for (unsigned i = 0; i < n; i++) {
        struct smi_process *p = &g->processes[g->nprocesses++];

        *p = (struct smi_process){infos[i].pid, infos[i].usedGpuMemory, SMI_NONE, SMI_NONE, ""};
        if (nvml.SystemGetProcessName(p->pid, p->name, sizeof(p->name)) != NVML_SUCCESS)
            snprintf(p->name, sizeof(p->name), "[Not Found]");
        make_printable(p->name);
    }
    read_shares(d, g);
}

static nvmlReturn_t read_gpu(unsigned index, struct smi_gpu *g)
{
    nvmlDevice_t device;
    nvmlReturn_t result = nvml.DeviceGetHandleByIndex(index, &device);

    if (result != NVML_SUCCESS)
        return result;
    g->index = index;
    read_facts(device, g);
    read_numbers(device, g);
    read_processes(device, g);
    return NVML_SUCCESS;
}

static void read_system(struct smi *out)
{
    struct timespec now;
    struct tm local;
    int cuda = 0;

    (void)nvml.SystemGetDriverVersion(out->driver, sizeof(out->driver));
    (void)nvml.SystemGetCudaDriverVersion(&cuda);
    snprintf(out->cuda, sizeof(out->cuda), "%d.%d", cuda / 1000, cuda % 1000 / 10);
    clock_gettime(CLOCK_REALTIME, &now);
    size_t len = strftime(out->time, sizeof(out->time), "%Y/%m/%d %H:%M:%S",
                          localtime_r(&now.tv_sec, &local));
    snprintf(out->time + len, sizeof(out->time) - len, ".%03ld", now.tv_nsec / 1000000);
}

int smi_read(struct smi *out)
{
    static struct smi_gpu *gpus;
    nvmlReturn_t result = nvml.DeviceGetCount(&out->count);

    if (result != NVML_SUCCESS)
        return fail(result);
    out->count = HD_MIN(out->count, (unsigned)SMI_DEVICES_MAX);
    out->ngpus = nchosen ? nchosen : out->count;
    assert(out->ngpus <= SMI_DEVICES_MAX);
    if (!gpus)
        gpus = hd_alloc_array(SMI_DEVICES_MAX, sizeof(*gpus));
    if (!gpus)
        return fail(NVML_ERROR_MEMORY);
    read_system(out);
    for (unsigned i = 0; i < out->ngpus; i++) {
        result = read_gpu(nchosen ? chosen[i] : i, &gpus[i]);
        if (result != NVML_SUCCESS)
            return fail(result);
    }
    out->gpus = gpus;
    if (out->ngpus)
        return SMI_OK;
    fputs("No devices were found\n", stdout);
    return SMI_NOT_FOUND;
}
