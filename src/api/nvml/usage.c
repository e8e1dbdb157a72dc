/*
 * What the user's processes do with a device (registry/registry.h): memory, utilisation, copies.
 *
 * Utilisation is the part of a time in which the device had a kernel to run. Of several processes
 * only their own parts are known, not when they overlapped: together they count as if each were
 * busy independently of the others.
 */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "api/nvml/ml.h"
#include "registry/registry.h"
#include "base/clock.h"

#define WINDOW_NS ((uint64_t)1000 * 1000 * 1000)
enum { SAMPLES = 10, PROCESSES_MAX = REG_SLOTS };

uint64_t ml_time_us(void)
{
    return hd_clock_ns(CLOCK_REALTIME) / 1000;
}

struct processes {
    unsigned count;
    struct reg_process at[PROCESSES_MAX];
};

/* Those that have a context of the device, or memory: a client that only looks has neither. */
static void usage_processes_read(unsigned index, uint64_t window_ns, struct processes *out)
{
    const struct reg_file *file = reg_open();
    CUuuid uuid;

    out->count = 0;
    if (!file)
        return;
    ml_uuid(index, &uuid);
    for (uint32_t slot = 0; slot < REG_SLOTS; slot++) {
        struct reg_process *p = &out->at[out->count];

        out->count += reg_process_read(file, slot, (const uint8_t *)uuid.bytes, window_ns, p) &&
                      (p->contexts || p->memory_B);
    }
}

/* Of a time, as a part of 1. */
static double part(uint64_t before_ns, uint64_t after_ns, uint64_t time_ns)
{
    if (!time_ns || after_ns <= before_ns)
        return 0;
    return after_ns - before_ns >= time_ns ? 1.0 : (double)(after_ns - before_ns) / (double)time_ns;
}

static unsigned usage_percent(double of_one)
{
    return (unsigned)(of_one * 100.0 + 0.5);
}

static uint64_t usage_rate(uint64_t before, uint64_t after, uint64_t time_ns)
{
    return after <= before ? 0 : (uint64_t)((double)(after - before) * 1e9 / (double)time_ns);
}

void ml_usage_get(unsigned index, struct ml_usage *out_usage)
{
    struct processes all;
    double no_kernel = 1, no_copy = 1;

    usage_processes_read(index, WINDOW_NS, &all);
    memset(out_usage, 0, sizeof(*out_usage));
    for (unsigned i = 0; i < all.count; i++) {
        const struct reg_process *p = &all.at[i];
        const struct reg_totals *a = &p->before, *b = &p->now;

        no_kernel *= 1 - part(a->kernel_ns, b->kernel_ns, WINDOW_NS);
        no_copy *= 1 - part(a->copy_ns, b->copy_ns, WINDOW_NS);
        out_usage->memory_B += p->memory_B;
        out_usage->to_device_B += b->to_device_B;
        out_usage->to_host_B += b->to_host_B;
        out_usage->to_device_Bps += usage_rate(a->to_device_B, b->to_device_B, WINDOW_NS);
        out_usage->to_host_Bps += usage_rate(a->to_host_B, b->to_host_B, WINDOW_NS);
    }
    out_usage->gpu_percent = usage_percent(1 - no_kernel);
    out_usage->copy_percent = usage_percent(1 - no_copy);
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device,
                                                     nvmlUtilization_t *utilization)
{
    unsigned index;
    struct ml_usage usage;

    ML_TRY(ml_index(device, &index));
    if (!utilization)
        return NVML_ERROR_INVALID_ARGUMENT;
    ml_usage_get(index, &usage);
    *utilization = (nvmlUtilization_t){usage.gpu_percent, usage.copy_percent};
    return NVML_SUCCESS;
}

/* There are no such engines. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t device,
                                                       unsigned int *utilization,
                                                       unsigned int *samplingPeriodUs)
{
    unsigned index;

    ML_TRY(ml_index(device, &index));
    if (!utilization || !samplingPeriodUs)
        return NVML_ERROR_INVALID_ARGUMENT;
    *utilization = 0;
    *samplingPeriodUs = WINDOW_NS / 1000u;
    return NVML_SUCCESS;
}
ML_ALIAS(nvmlDeviceGetDecoderUtilization, nvmlDeviceGetEncoderUtilization);
ML_ALIAS(nvmlDeviceGetJpgUtilization, nvmlDeviceGetEncoderUtilization);
ML_ALIAS(nvmlDeviceGetOfaUtilization, nvmlDeviceGetEncoderUtilization);

HD_EXPORT nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device,
                                                   nvmlPcieUtilCounter_t counter,
                                                   unsigned int *value)
{
    unsigned index;
    struct ml_usage usage;

    ML_TRY(ml_index(device, &index));
    if (!value || counter >= NVML_PCIE_UTIL_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    ml_usage_get(index, &usage);
    *value =
        (unsigned)((counter == NVML_PCIE_UTIL_TX_BYTES ? usage.to_host_Bps : usage.to_device_Bps) /
                   1024);
    return NVML_SUCCESS;
}

/* ---- processes */

/*
 * The manual's way of giving a list: *count is the room, and becomes how many there are; when these
 * do not fit, NVML_ERROR_INSUFFICIENT_SIZE.
 */
static nvmlReturn_t usage_room_check(unsigned *count, const void *out, unsigned there_are)
{
    unsigned room = *count;

    *count = there_are;
    if (room < there_are)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    return there_are && !out ? NVML_ERROR_INVALID_ARGUMENT : NVML_SUCCESS;
}

static nvmlReturn_t usage_processes_for(nvmlDevice_t device, unsigned *count, const void *infos,
                                        struct processes *all)
{
    unsigned index;

    ML_TRY(ml_index(device, &index));
    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    usage_processes_read(index, WINDOW_NS, all);
    return usage_room_check(count, infos, all->count);
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device,
                                                               unsigned int *infoCount,
                                                               nvmlProcessInfo_t *infos)
{
    struct processes all;

    ML_TRY(usage_processes_for(device, infoCount, infos, &all));
    for (unsigned i = 0; i < all.count; i++)
        infos[i] = (nvmlProcessInfo_t){(unsigned)all.at[i].pid, all.at[i].memory_B,
                                       NVML_NO_INSTANCE, NVML_NO_INSTANCE};
    return NVML_SUCCESS;
}
ML_ALIAS(nvmlDeviceGetComputeRunningProcesses_v2, nvmlDeviceGetComputeRunningProcesses_v3);

/* The first version's entries are smaller. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device,
                                                            unsigned int *infoCount,
                                                            nvmlProcessInfo_v1_t *infos);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *infoCount,
                                                  nvmlProcessInfo_v1_t *infos)
{
    struct processes all;

    ML_TRY(usage_processes_for(device, infoCount, infos, &all));
    for (unsigned i = 0; i < all.count; i++)
        infos[i] = (nvmlProcessInfo_v1_t){(unsigned)all.at[i].pid, all.at[i].memory_B};
    return NVML_SUCCESS;
}

/* None; whatever the version of its entries. */
HD_EXPORT nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device,
                                                                unsigned int *infoCount,
                                                                nvmlProcessInfo_t *infos)
{
    unsigned index;

    (void)infos;
    ML_TRY(ml_index(device, &index));
    if (!infoCount)
        return NVML_ERROR_INVALID_ARGUMENT;
    *infoCount = 0;
    return NVML_SUCCESS;
}
ML_ALIAS(nvmlDeviceGetGraphicsRunningProcesses, nvmlDeviceGetGraphicsRunningProcesses_v3);
ML_ALIAS(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlDeviceGetGraphicsRunningProcesses_v3);
ML_ALIAS(nvmlDeviceGetMPSComputeRunningProcesses, nvmlDeviceGetGraphicsRunningProcesses_v3);
ML_ALIAS(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlDeviceGetGraphicsRunningProcesses_v3);
ML_ALIAS(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlDeviceGetGraphicsRunningProcesses_v3);

HD_EXPORT nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device,
                                                             nvmlProcessDetailList_t *plist)
{
    struct processes all;

    ML_TRY(ml_ready());
    if (!plist || plist->mode > 2)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (plist->version != nvmlProcessDetailList_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (plist->mode)
        return nvmlDeviceGetGraphicsRunningProcesses_v3(device, &plist->numProcArrayEntries, NULL);
    ML_TRY(usage_processes_for(device, &plist->numProcArrayEntries, plist->procArray, &all));
    for (unsigned i = 0; i < all.count; i++)
        plist->procArray[i] = (nvmlProcessDetail_v1_t){(unsigned)all.at[i].pid, all.at[i].memory_B,
                                                       NVML_NO_INSTANCE, NVML_NO_INSTANCE, 0};
    return NVML_SUCCESS;
}

/* Since when, in ns before now: at most the window; all of it when nothing was seen yet. */
static uint64_t usage_window_since(unsigned long long seen_us, uint64_t time_us)
{
    uint64_t ago_ns = seen_us && seen_us < time_us ? (time_us - seen_us) * 1000u : WINDOW_NS;

    return HD_MIN(ago_ns, WINDOW_NS);
}

struct share {
    unsigned pid, sm, memory;
};

/*
 * Processes share the device's threads, and each is busy while it waits for its turn: what they
 * have of it together is no more than all of it.
 */
static unsigned usage_share_of(double part, double sum)
{
    return sum > 1 ? (unsigned)(part / sum * 100.0) : usage_percent(part);
}

/* NVML_ERROR_NOT_FOUND: nobody did anything. */
static nvmlReturn_t usage_shares_read(nvmlDevice_t device, unsigned long long seen_us,
                                      uint64_t *time_us, struct share shares[PROCESSES_MAX],
                                      unsigned *count)
{
    struct processes all;
    unsigned index;

    ML_TRY(ml_index(device, &index));
    *time_us = ml_time_us();
    uint64_t window_ns = usage_window_since(seen_us, *time_us);
    usage_processes_read(index, window_ns, &all);
    *count = all.count;
    double kernels = 0, copies = 0;
    for (unsigned i = 0; i < all.count; i++) {
        const struct reg_totals *a = &all.at[i].before, *b = &all.at[i].now;

        kernels += part(a->kernel_ns, b->kernel_ns, window_ns);
        copies += part(a->copy_ns, b->copy_ns, window_ns);
    }
    for (unsigned i = 0; i < all.count; i++) {
        const struct reg_totals *a = &all.at[i].before, *b = &all.at[i].now;

        shares[i] =
            (struct share){(unsigned)all.at[i].pid,
                           usage_share_of(part(a->kernel_ns, b->kernel_ns, window_ns), kernels),
                           usage_share_of(part(a->copy_ns, b->copy_ns, window_ns), copies)};
    }
    return all.count ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                                       nvmlProcessUtilizationSample_t *utilization,
                                                       unsigned int *processSamplesCount,
                                                       unsigned long long lastSeenTimeStamp)
{
    struct share shares[PROCESSES_MAX];
    uint64_t time_us;
    unsigned count = 0;

    if (!processSamplesCount)
        return NVML_ERROR_INVALID_ARGUMENT;
    ML_TRY(usage_shares_read(device, lastSeenTimeStamp, &time_us, shares, &count));
    ML_TRY(usage_room_check(processSamplesCount, utilization, count));
    for (unsigned i = 0; i < count; i++)
        utilization[i] = (nvmlProcessUtilizationSample_t){shares[i].pid,    time_us, shares[i].sm,
                                                          shares[i].memory, 0,       0};
    return NVML_SUCCESS;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(
    nvmlDevice_t device, nvmlProcessesUtilizationInfo_t *procesesUtilInfo)
{
    nvmlProcessesUtilizationInfo_t *out = procesesUtilInfo;
    struct share shares[PROCESSES_MAX];
    uint64_t time_us;
    unsigned count = 0;

    ML_TRY(ml_ready());
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != nvmlProcessesUtilizationInfo_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    ML_TRY(usage_shares_read(device, out->lastSeenTimeStamp, &time_us, shares, &count));
    ML_TRY(usage_room_check(&out->processSamplesCount, out->procUtilArray, count));
    for (unsigned i = 0; i < count; i++)
        out->procUtilArray[i] = (nvmlProcessUtilizationInfo_v1_t){
            time_us, shares[i].pid, shares[i].sm, shares[i].memory, 0, 0, 0, 0};
    return NVML_SUCCESS;
}

/* ---- samples and fields */

/* The device's utilisation in one of the parts of the window, the oldest first. */
static unsigned usage_sample_of(const struct reg_use *const *uses, const struct processes *all,
                                unsigned which, bool copies)
{
    double none = 1;

    for (unsigned i = 0; i < all->count; i++) {
        uint64_t end_ns = all->at[i].now.time_ns - (SAMPLES - 1 - which) * (WINDOW_NS / SAMPLES);
        struct reg_totals a, b;

        reg_totals_at(uses[i], end_ns - WINDOW_NS / SAMPLES, &all->at[i].now, &a);
        reg_totals_at(uses[i], end_ns, &all->at[i].now, &b);
        none *= 1 - part(copies ? a.copy_ns : a.kernel_ns, copies ? b.copy_ns : b.kernel_ns,
                         WINDOW_NS / SAMPLES);
    }
    return usage_percent(1 - none);
}

static nvmlReturn_t usage_give_samples(unsigned index, bool copies, unsigned first,
                                       uint64_t time_us, nvmlSample_t *samples)
{
    const struct reg_use *uses[PROCESSES_MAX];
    struct processes all;

    /* As usage_processes_read(), with where each counts. */
    struct processes *out = &all;
    const struct reg_file *file = reg_open();
    out->count = 0;
    if (file) {
        CUuuid uuid;
        ml_uuid(index, &uuid);
        for (uint32_t slot = 0; slot < REG_SLOTS; slot++) {
            uses[out->count] = &file->uses[slot];
            out->count += reg_process_read(file, slot, (const uint8_t *)uuid.bytes, WINDOW_NS,
                                           &out->at[out->count]);
        }
    }
    for (unsigned i = first; i < SAMPLES; i++) {
        samples[i - first].timeStamp = time_us - (SAMPLES - 1 - i) * (WINDOW_NS / SAMPLES / 1000u);
        samples[i - first].sampleValue =
            (nvmlValue_t){.uiVal = usage_sample_of(uses, &all, i, copies)};
    }
    return NVML_SUCCESS;
}

HD_EXPORT nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type,
                                            unsigned long long lastSeenTimeStamp,
                                            nvmlValueType_t *sampleValType,
                                            unsigned int *sampleCount, nvmlSample_t *samples)
{
    unsigned index;
    uint64_t time_us = ml_time_us(), step_us = WINDOW_NS / SAMPLES / 1000u;
    unsigned first = 0;

    ML_TRY(ml_index(device, &index));
    if (!sampleValType || !sampleCount || type >= NVML_SAMPLINGTYPE_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (type != NVML_GPU_UTILIZATION_SAMPLES && type != NVML_MEMORY_UTILIZATION_SAMPLES)
        return NVML_ERROR_NOT_SUPPORTED;
    *sampleValType = NVML_VALUE_TYPE_UNSIGNED_INT;
    while (first < SAMPLES && time_us - (SAMPLES - 1 - first) * step_us <= lastSeenTimeStamp)
        first++;
    if (!samples) { /* only asked for the room */
        *sampleCount = SAMPLES;
        return NVML_SUCCESS;
    }
    if (first == SAMPLES)
        return NVML_ERROR_NOT_FOUND;
    if (*sampleCount < SAMPLES - first)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    *sampleCount = SAMPLES - first;
    return usage_give_samples(index, type == NVML_MEMORY_UTILIZATION_SAMPLES, first, time_us,
                              samples);
}
