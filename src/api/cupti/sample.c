/*
 * PC sampling: contexts that are sampled, and what of them waits to be taken.
 *
 * Devices are sampled once for everybody, at the shortest period that somebody wants; samples go
 * to their context if it is started. Everything is under one lock, which is not held when libcuda
 * is asked for samples, since it tells them meanwhile.
 */
#include <assert.h>
#include <cuda.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/cupti/profiler.h"
#include "api/cupti/sampler.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/vec.h"

/* Index, name, which member of a sample it counts. */
#define REASON_LIST(X)                                                                             \
    X(1, "smsp__pcsamp_warps_issue_stalled_selected", in_code)                                     \
    X(2, "heddle__pcsamp_warps_in_device_function", in_call)
enum { REASONS = 2, PERIOD_FIRST = 5, PERIOD_LAST = 31, PCS_MAX = 1 << 20 };

static const struct {
    uint32_t index;
    const char *name;
} reasons[REASONS] = {
#define X(index, name, member) {index, name},
    REASON_LIST(X)
#undef X
};

struct pc {
    uint8_t image[CUPTI_IMAGE_B];
    const char *kernel; /* stays */
    uint32_t instr;
    uint64_t count[REASONS];
};

struct sampler {
    struct sampler *next;
    CUcontext ctx;
    bool is_started;
    bool is_closing; /* what is told now still counts */
    uint32_t period; /* 2 to that power clocks */
    uint64_t period_ns;
    uint32_t is_controlled; /* by start and stop */
    uint32_t reasons;       /* a set of bits, by place in `reasons` */
    size_t scratch_B, hardware_B;
    uint32_t sleep_ms;
    CUpti_PCSamplingData *buffer; /* the client's; may be NULL */
    uint64_t range;
    uint64_t total, dropped; /* since they were last taken */
    HD_VEC(struct pc) pcs;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(lock, lock);
static struct sampler *samplers;
static bool is_sampling;

/* ---- contexts */

static struct sampler *sample_find_locked(const void *ctx)
{
    struct sampler *s = samplers;

    while (s && s->ctx != ctx)
        s = s->next;
    return s;
}

/* ---- what libcuda tells */

static struct pc *sample_pc_of_locked(struct sampler *s, const struct heddle_sample *notified)
{
    struct pc pc = {.instr = notified->instr, .kernel = cupti_name_keep(notified->kernel)};

    for (size_t i = 0; i < s->pcs.len; i++)
        if (s->pcs.at[i].instr == notified->instr && s->pcs.at[i].kernel == pc.kernel &&
            !memcmp(s->pcs.at[i].image, notified->image, CUPTI_IMAGE_B))
            return &s->pcs.at[i];
    memcpy(pc.image, notified->image, CUPTI_IMAGE_B);
    if (!pc.kernel || s->pcs.len == PCS_MAX || !hd_vec_push(&s->pcs, pc))
        return NULL;
    return &hd_vec_last(&s->pcs);
}

static void sample_notified(void *user, const struct heddle_sample *sample)
{
    struct sampler *s;

    (void)user;
    cupti_line_note(sample);
    pthread_mutex_lock(&lock);
    s = sample_find_locked(sample->context);
    if (s && (s->is_started || s->is_closing)) {
        const uint64_t n = (uint64_t)sample->in_code + sample->in_call;
        struct pc *pc = n ? sample_pc_of_locked(s, sample) : NULL;
        s->total += n + sample->lost;
        s->dropped += sample->lost + (pc ? 0 : n);
        assert(s->dropped <= s->total);
        if (pc) {
            for (int r = 0; r < REASONS; r++)
                pc->count[r] += r ? sample->in_call : sample->in_code;
        }
    }
    pthread_mutex_unlock(&lock);
}

/* ---- periods */

static uint64_t sample_clock_khz(CUcontext ctx)
{
    CUdevice device = (CUdevice)cupti_context_of(ctx).device;
    int khz = 0;

    if (cuDeviceGetAttribute(&khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device) != CUDA_SUCCESS)
        khz = 0;
    return khz > 0 ? (uint64_t)khz : 1000000;
}

static uint64_t sample_period_ns(uint32_t period, uint64_t khz)
{
    assert(period >= PERIOD_FIRST && period <= PERIOD_LAST && khz);
    return (UINT64_C(1) << period) * 1000000 / khz;
}

/* The shortest that is at least as long as the one that is wanted. */
static void sample_period_set(struct sampler *s, uint32_t period, uint64_t khz)
{
    while (period < PERIOD_LAST && sample_period_ns(period, khz) < HEDDLE_SAMPLE_LEAST_NS)
        period++;
    s->period = period;
    s->period_ns = sample_period_ns(period, khz);
}

/* ---- starting and stopping devices */

/* Makes it so that devices are sampled as is wanted now. False: they cannot be. */
static bool sample_apply(void)
{
    uint64_t ns;

    pthread_mutex_lock(&lock);
    ns = 0;
    for (const struct sampler *s = samplers; s; s = s->next)
        if (s->is_started && (!ns || s->period_ns < ns))
            ns = s->period_ns;
    pthread_mutex_unlock(&lock);
    if (is_sampling) /* tells what there is */
        heddle_sample_stop();
    is_sampling = ns && !heddle_sample_start(ns, sample_notified, NULL);
    return is_sampling || !ns;
}

/* One at a time, and sample_apply() with it. */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(changing, changing);

static CUptiResult sample_start(CUcontext ctx)
{
    struct sampler *s;

    pthread_mutex_lock(&lock);
    s = sample_find_locked(ctx);
    if (s) {
        s->is_started = true;
        s->range++;
    }
    pthread_mutex_unlock(&lock);
    return s && sample_apply() ? CUPTI_SUCCESS : CUPTI_ERROR_NOT_SUPPORTED;
}

/* What is on its way is still the context's. */
static void sample_stop(CUcontext ctx)
{
    struct sampler *s;

    pthread_mutex_lock(&lock);
    s = sample_find_locked(ctx);
    if (s) {
        s->is_closing = s->is_started;
        s->is_started = false;
    }
    pthread_mutex_unlock(&lock);
    (void)sample_apply();
    pthread_mutex_lock(&lock);
    s = sample_find_locked(ctx);
    if (s)
        s->is_closing = false;
    pthread_mutex_unlock(&lock);
}

/* ---- into the client's memory */

static uint32_t sample_function_number_locked(const struct sampler *s, const struct pc *pc)
{
    uint32_t n = 0;

    for (size_t i = 0; i < s->pcs.len && s->pcs.at[i].kernel != pc->kernel; i++)
        n++;
    assert(n < s->pcs.len);
    return n;
}

static bool sample_pc_fill_locked(const struct sampler *s, const struct pc *pc, size_t stride_B,
                                  CUpti_PCSamplingPCData *to)
{
    char *name = to->stallReason ? strdup(pc->kernel) : NULL; /* the client calls free() */

    if (!name)
        return false;
    to->cubinCrc = cupti_cubin_crc(pc->image);
    to->pcOffset = (uint64_t)pc->instr * CUPTI_INSTR_B;
    to->functionIndex = sample_function_number_locked(s, pc);
    to->functionName = name;
    to->stallReasonCount = 0;
    for (int r = 0; r < REASONS; r++)
        if (s->reasons >> r & 1 && pc->count[r])
            to->stallReason[to->stallReasonCount++] = (CUpti_PCSamplingStallReason){
                reasons[r].index, (uint32_t)HD_MIN(pc->count[r], (uint64_t)UINT32_MAX)};
    if (stride_B >= CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingPCData, correlationId))
        to->correlationId = 0;
    return true;
}

static void sample_data_fill_locked(struct sampler *s, CUpti_PCSamplingData *to)
{
    /* Older structs end before the last member. */
    const size_t least_B = CUPTI_PCSAMPLING_STRUCT_SIZE(CUpti_PCSamplingPCData, stallReason);
    const size_t size_B = to->collectNumPcs ? to->pPcData->size : 0;
    const size_t stride_B = size_B >= least_B ? size_B : sizeof(CUpti_PCSamplingPCData);
    size_t left = 0;

    to->totalNumPcs = 0;
    for (size_t i = 0; i < s->pcs.len; i++) {
        const struct pc *pc = &s->pcs.at[i];
        void *at = (char *)to->pPcData + to->totalNumPcs * stride_B;
        uint64_t n = 0;
        for (int r = 0; r < REASONS; r++)
            n += s->reasons >> r & 1 ? pc->count[r] : 0;
        if (n == 0)
            continue;
        if (to->totalNumPcs < to->collectNumPcs && sample_pc_fill_locked(s, pc, stride_B, at))
            to->totalNumPcs++;
        else
            s->pcs.at[left++] = *pc;
    }
    assert(left <= s->pcs.len);
    s->pcs.len = left;
    to->totalSamples = s->total;
    to->droppedSamples = s->dropped;
    to->remainingNumPcs = left;
    to->rangeId = s->range;
    to->nonUsrKernelsTotalSamples = 0;
    if (CUPTI_HAS_SIZE(to, hardwareBufferFull))
        to->hardwareBufferFull = 0;
    s->total = s->dropped = 0;
}

static bool sample_is_data(const CUpti_PCSamplingData *data)
{
    return CUPTI_HAS_SIZE(data, nonUsrKernelsTotalSamples) &&
           (!data->collectNumPcs || data->pPcData);
}

/* ---- the interface */

/* NULL: wrong parameters, or no context; *out_result says which. */
static CUcontext sample_checked(bool is_params, const void *priv, CUcontext ctx,
                                CUptiResult *out_result)
{
    CUcontext found = is_params && !priv ? cupti_profiled_context(ctx) : NULL;

    *out_result = !is_params || priv ? CUPTI_ERROR_INVALID_PARAMETER
                  : found            ? CUPTI_SUCCESS
                                     : CUPTI_ERROR_INVALID_CONTEXT;
    return found;
}
#define CHECKED(params, last, out_result)                                                          \
    (CUPTI_HAS_SIZE(params, last)                                                                  \
         ? sample_checked(true, (params)->pPriv, (params)->ctx, out_result)                        \
         : sample_checked(false, NULL, NULL, out_result))

static bool sample_is_enabled(CUcontext ctx)
{
    bool found;

    pthread_mutex_lock(&lock);
    found = sample_find_locked(ctx) != NULL;
    pthread_mutex_unlock(&lock);
    return found;
}

static CUptiResult sample_sampler_create(CUcontext ctx)
{
    assert(!sample_is_enabled(ctx));
    struct sampler *s = hd_new(struct sampler);

    if (!s)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    s->ctx = ctx;
    s->reasons = (1u << REASONS) - 1;
    s->scratch_B = 1 << 20;
    s->hardware_B = 512 << 20;
    s->sleep_ms = 100;
    sample_period_set(s, PERIOD_FIRST, sample_clock_khz(ctx));
    pthread_mutex_lock(&lock);
    s->next = samplers;
    samplers = s;
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

static void sample_sampler_destroy(CUcontext ctx)
{
    struct sampler **at = &samplers, *s;

    pthread_mutex_lock(&lock);
    while (*at && (*at)->ctx != ctx)
        at = &(*at)->next;
    s = *at;
    if (s)
        *at = s->next;
    pthread_mutex_unlock(&lock);
    if (s)
        hd_vec_fini(&s->pcs);
    hd_free(s);
}

static CUptiResult sample_enable(CUcontext ctx)
{
    CUptiResult result;

    if (sample_is_enabled(ctx))
        return CUPTI_ERROR_INVALID_OPERATION;
    if (!heddle_sample_can())
        return CUPTI_ERROR_NOT_SUPPORTED;
    result = sample_sampler_create(ctx);
    if (result == CUPTI_SUCCESS)
        result = sample_start(ctx);
    if (result != CUPTI_SUCCESS) {
        sample_stop(ctx);
        sample_sampler_destroy(ctx);
    }
    return result;
}

/* One change at a time; without a context, why: `result`. */
static CUptiResult sample_change(CUcontext ctx, CUptiResult result,
                                 CUptiResult (*how)(CUcontext ctx))
{
    if (ctx) {
        pthread_mutex_lock(&changing);
        result = how(ctx);
        pthread_mutex_unlock(&changing);
    }
    return cupti_result(result);
}

CUPTI_EXPORT(cuptiPCSamplingEnable)
CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *pParams)
{
    CUptiResult result;
    CUcontext ctx = CHECKED(pParams, ctx, &result);

    return sample_change(ctx, result, sample_enable);
}

/* What is left goes into the buffer that the client has set. */
static CUptiResult sample_disable(CUcontext ctx)
{
    struct sampler *s;

    if (!sample_is_enabled(ctx))
        return CUPTI_ERROR_INVALID_OPERATION;
    sample_stop(ctx);
    pthread_mutex_lock(&lock);
    s = sample_find_locked(ctx);
    if (s && s->buffer)
        sample_data_fill_locked(s, s->buffer);
    pthread_mutex_unlock(&lock);
    sample_sampler_destroy(ctx);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiPCSamplingDisable)
CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *pParams)
{
    CUptiResult result;
    CUcontext ctx = CHECKED(pParams, ctx, &result);

    return sample_change(ctx, result, sample_disable);
}

/* Is it controlled, and in that state? */
static bool sample_is_controlled(CUcontext ctx, bool started)
{
    const struct sampler *s;
    bool is;

    pthread_mutex_lock(&lock);
    s = sample_find_locked(ctx);
    is = s && s->is_controlled && s->is_started == started;
    pthread_mutex_unlock(&lock);
    return is;
}

static CUptiResult sample_control_start(CUcontext ctx)
{
    return sample_is_controlled(ctx, false) ? sample_start(ctx) : CUPTI_ERROR_INVALID_OPERATION;
}

CUPTI_EXPORT(cuptiPCSamplingStart)
CUptiResult cuptiPCSamplingStart(CUpti_PCSamplingStartParams *pParams)
{
    CUptiResult result;
    CUcontext ctx = CHECKED(pParams, ctx, &result);

    return sample_change(ctx, result, sample_control_start);
}

static CUptiResult sample_control_stop(CUcontext ctx)
{
    if (!sample_is_controlled(ctx, true))
        return CUPTI_ERROR_INVALID_OPERATION;
    sample_stop(ctx);
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiPCSamplingStop)
CUptiResult cuptiPCSamplingStop(CUpti_PCSamplingStopParams *pParams)
{
    CUptiResult result;
    CUcontext ctx = CHECKED(pParams, ctx, &result);

    if (ctx)
        cupti_context_wait(ctx);
    return sample_change(ctx, result, sample_control_stop);
}

CUPTI_EXPORT(cuptiPCSamplingGetData)
CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *pParams)
{
    CUptiResult result;
    CUcontext ctx = CHECKED(pParams, pcSamplingData, &result);
    struct sampler *s;

    if (!ctx)
        return cupti_result(result);
    if (!sample_is_data(pParams->pcSamplingData))
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    heddle_sample_settle();
    pthread_mutex_lock(&lock);
    s = sample_find_locked(ctx);
    if (s)
        sample_data_fill_locked(s, pParams->pcSamplingData);
    else
        result = CUPTI_ERROR_INVALID_OPERATION;
    pthread_mutex_unlock(&lock);
    return cupti_result(result);
}

void cupti_sample_stop(void)
{
    pthread_mutex_lock(&changing);
    while (samplers) {
        CUcontext ctx = samplers->ctx;
        sample_stop(ctx);
        sample_sampler_destroy(ctx);
    }
    pthread_mutex_unlock(&changing);
}

/* ---- attributes */

static CUptiResult sample_reasons_set(struct sampler *s, size_t n, const uint32_t *indexes)
{
    uint32_t set = 0;

    if (n && !indexes)
        return CUPTI_ERROR_INVALID_OPERATION;
    for (size_t i = 0; i < n; i++) {
        int r = 0;
        while (r < REASONS && reasons[r].index != indexes[i])
            r++;
        if (r == REASONS)
            return CUPTI_ERROR_INVALID_OPERATION;
        set |= 1u << r;
    }
    s->reasons = set;
    return CUPTI_SUCCESS;
}

static CUptiResult sample_mode_set(CUpti_PCSamplingCollectionMode mode)
{
    static _Atomic bool said;

    if (mode == CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED)
        return cupti_refuse("PC sampling of kernels one by one", &said);
    return mode == CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS ? CUPTI_SUCCESS
                                                                : CUPTI_ERROR_INVALID_OPERATION;
}

static CUptiResult sample_buffer_set(struct sampler *s, void *buffer)
{
    if (!sample_is_data(buffer))
        return CUPTI_ERROR_INVALID_OPERATION;
    s->buffer = buffer;
    return CUPTI_SUCCESS;
}

static CUptiResult sample_attribute_set(struct sampler *s,
                                        const CUpti_PCSamplingConfigurationInfo *a, uint64_t khz)
{
    switch ((int)a->attributeType) {
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD: {
        uint32_t period = a->attributeData.samplingPeriodData.samplingPeriod;
        if (period < PERIOD_FIRST || period > PERIOD_LAST)
            return CUPTI_ERROR_INVALID_OPERATION;
        sample_period_set(s, period, khz);
        return CUPTI_SUCCESS;
    }
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON:
        return sample_reasons_set(s, a->attributeData.stallReasonData.stallReasonCount,
                                  a->attributeData.stallReasonData.pStallReasonIndex);
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE:
        s->scratch_B = a->attributeData.scratchBufferSizeData.scratchBufferSize;
        return CUPTI_SUCCESS;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE:
        s->hardware_B = a->attributeData.hardwareBufferSizeData.hardwareBufferSize;
        return CUPTI_SUCCESS;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE:
        return sample_mode_set(a->attributeData.collectionModeData.collectionMode);
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL:
        s->is_controlled = a->attributeData.enableStartStopControlData.enableStartStopControl != 0;
        return CUPTI_SUCCESS;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_OUTPUT_DATA_FORMAT:
        return a->attributeData.outputDataFormatData.outputDataFormat ==
                       CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED
                   ? CUPTI_SUCCESS
                   : CUPTI_ERROR_INVALID_OPERATION;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER:
        return sample_buffer_set(s, a->attributeData.samplingDataBufferData.samplingDataBuffer);
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN:
        s->sleep_ms =
            a->attributeData.workerThreadPeriodicSleepSpanData.workerThreadPeriodicSleepSpan;
        return CUPTI_SUCCESS;
    }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

static CUptiResult sample_attribute_get(const struct sampler *s,
                                        CUpti_PCSamplingConfigurationInfo *a)
{
    switch ((int)a->attributeType) {
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD:
        a->attributeData.samplingPeriodData.samplingPeriod = s->period;
        return CUPTI_SUCCESS;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE:
        a->attributeData.scratchBufferSizeData.scratchBufferSize = s->scratch_B;
        return CUPTI_SUCCESS;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE:
        a->attributeData.hardwareBufferSizeData.hardwareBufferSize = s->hardware_B;
        return CUPTI_SUCCESS;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE:
        a->attributeData.collectionModeData.collectionMode =
            CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
        return CUPTI_SUCCESS;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL:
        a->attributeData.enableStartStopControlData.enableStartStopControl = s->is_controlled;
        return CUPTI_SUCCESS;
    case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN:
        a->attributeData.workerThreadPeriodicSleepSpanData.workerThreadPeriodicSleepSpan =
            s->sleep_ms;
        return CUPTI_SUCCESS;
    }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

/* Of all attributes; the worst result is the call's. */
static CUptiResult sample_attributes(struct sampler *s, CUpti_PCSamplingConfigurationInfoParams *p,
                                     bool is_set, uint64_t khz)
{
    CUptiResult result = CUPTI_SUCCESS;

    for (size_t i = 0; i < p->numAttributes; i++) {
        CUpti_PCSamplingConfigurationInfo *a = &p->pPCSamplingConfigurationInfo[i];
        a->attributeStatus = is_set ? sample_attribute_set(s, a, khz) : sample_attribute_get(s, a);
        if (a->attributeStatus != CUPTI_SUCCESS)
            result = CUPTI_ERROR_INVALID_OPERATION;
    }
    return result;
}

static CUptiResult sample_attributes_of(CUcontext ctx, CUpti_PCSamplingConfigurationInfoParams *p,
                                        bool is_set)
{
    CUptiResult result = CUPTI_ERROR_INVALID_OPERATION;
    const uint64_t khz = sample_clock_khz(ctx);
    struct sampler *s;

    pthread_mutex_lock(&lock);
    s = sample_find_locked(ctx);
    if (s)
        result = sample_attributes(s, p, is_set, khz);
    pthread_mutex_unlock(&lock);
    return result;
}

/* Who controls it has to start it; the period may be another one. */
static void sample_settings_apply(CUcontext ctx, bool was_controlled)
{
    if (sample_is_controlled(ctx, true) && !was_controlled)
        sample_stop(ctx);
    else
        (void)sample_apply();
}

CUPTI_EXPORT(cuptiPCSamplingSetConfigurationAttribute)
CUptiResult
cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *pParams)
{
    CUptiResult result;
    CUcontext ctx = CHECKED(pParams, pPCSamplingConfigurationInfo, &result);
    bool was_controlled;

    if (!ctx || (pParams->numAttributes && !pParams->pPCSamplingConfigurationInfo))
        return cupti_result(ctx ? CUPTI_ERROR_INVALID_PARAMETER : result);
    pthread_mutex_lock(&changing);
    was_controlled = sample_is_controlled(ctx, true);
    result = sample_attributes_of(ctx, pParams, true);
    sample_settings_apply(ctx, was_controlled);
    pthread_mutex_unlock(&changing);
    return cupti_result(result);
}

CUPTI_EXPORT(cuptiPCSamplingGetConfigurationAttribute)
CUptiResult
cuptiPCSamplingGetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams *pParams)
{
    CUptiResult result;
    CUcontext ctx = CHECKED(pParams, pPCSamplingConfigurationInfo, &result);

    if (!ctx || (pParams->numAttributes && !pParams->pPCSamplingConfigurationInfo))
        return cupti_result(ctx ? CUPTI_ERROR_INVALID_PARAMETER : result);
    return cupti_result(sample_attributes_of(ctx, pParams, false));
}

/* ---- reasons */

CUPTI_EXPORT(cuptiPCSamplingGetNumStallReasons)
CUptiResult cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams *pParams)
{
    CUptiResult result;

    if (!CHECKED(pParams, numStallReasons, &result))
        return cupti_result(result);
    if (!pParams->numStallReasons)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *pParams->numStallReasons = REASONS;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiPCSamplingGetStallReasons)
CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *pParams)
{
    CUptiResult result;

    if (!CHECKED(pParams, stallReasons, &result))
        return cupti_result(result);
    if (!pParams->stallReasonIndex || !pParams->stallReasons || pParams->numStallReasons < REASONS)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    for (int r = 0; r < REASONS; r++) {
        pParams->stallReasonIndex[r] = reasons[r].index;
        memcpy(pParams->stallReasons[r], reasons[r].name, strlen(reasons[r].name) + 1);
    }
    return CUPTI_SUCCESS;
}
