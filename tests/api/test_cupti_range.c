/*
 * libcupti's host metrics and range profiler, in the order in which NVIDIA's sample and frameworks
 * call them. What is counted was worked out by hand from the PTX below. Built with our headers and,
 * where they are installed, with NVIDIA's.
 */
#include <cuda.h>
#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_client.h"

/* 10 instructions, and 4 in each of n turns. */
static const char ptx[] =
    ".version 7.5\n.target sm_75\n.address_size 64\n"
    ".visible .entry work(.param .u64 p, .param .u32 n)\n{\n"
    ".reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n.reg .f32 %f<2>;\n.reg .pred %p<3>;\n"
    "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n"
    "mul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd3, %rd1, %rd2;\nmov.u32 %r3, 0;\n"
    "ld.global.f32 %f1, [%rd3];\n"
    "LOOP:\nfma.rn.f32 %f1, %f1, %f1, %f1;\nadd.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, %r1;\n"
    "@%p1 bra LOOP;\n"
    "setp.lt.u32 %p2, %r2, 16;\n@%p2 st.global.f32 [%rd3], %f1;\nret;\n}\n";

enum { BLOCKS = 2, THREADS = 64, WARPS = BLOCKS * THREADS / 32 };

static CUcontext context;
static CUmodule module;
static CUfunction kernel;
static CUdeviceptr memory;

#define PARAMS(type, name, ...)                                                                    \
    type name = {.structSize = type##_STRUCT_SIZE __VA_OPT__(, ) __VA_ARGS__}

static void launch(unsigned turns, CUstream stream)
{
    void *args[] = {&memory, &turns};

    eq_u64(cuLaunchKernel(kernel, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, args, NULL), 0, "launch");
}

/* ---- a client */

static const char *metric_names[] = {
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    "smsp__inst_executed_op_branch.sum",
    "sm__ctas_launched.sum",
    "smsp__warps_launched.sum",
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "gpu__time_duration.sum",
    "smsp__inst_executed.sum.per_second",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "heddle__atomic_contention.ratio",
};
enum { METRICS = sizeof(metric_names) / sizeof(metric_names[0]) };

struct client {
    CUpti_Profiler_Host_Object *host;
    CUpti_RangeProfiler_Object *target;
    uint8_t *config, *counters;
    size_t config_B, counters_B;
};

static void client_host(struct client *c)
{
    PARAMS(CUpti_Profiler_Initialize_Params, init);
    PARAMS(CUpti_Device_GetChipName_Params, chip);
    PARAMS(CUpti_Profiler_GetCounterAvailability_Params, available, .ctx = context);
    PARAMS(CUpti_Profiler_Host_Initialize_Params, host,
           .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER);
    uint8_t *image;

    OK(cuptiProfilerInitialize(&init));
    OK(cuptiDeviceGetChipName(&chip));
    OK(cuptiProfilerGetCounterAvailability(&available));
    image = malloc(available.counterAvailabilityImageSize);
    available.pCounterAvailabilityImage = image;
    OK(cuptiProfilerGetCounterAvailability(&available));
    host.pChipName = chip.pChipName;
    host.pCounterAvailabilityImage = image;
    OK(cuptiProfilerHostInitialize(&host));
    c->host = host.pHostObject;
    free(image);
}

static void client_config(struct client *c)
{
    PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add, .pHostObject = c->host,
           .ppMetricNames = metric_names, .numMetrics = METRICS);
    PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size, .pHostObject = c->host);
    PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, get, .pHostObject = c->host);
    PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes);

    OK(cuptiProfilerHostConfigAddMetrics(&add));
    OK(cuptiProfilerHostGetConfigImageSize(&size));
    c->config_B = size.configImageSize;
    c->config = malloc(c->config_B);
    get.configImageSize = c->config_B - 1;
    get.pConfigImage = c->config;
    FAILS(cuptiProfilerHostGetConfigImage(&get), CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
    get.configImageSize = c->config_B;
    OK(cuptiProfilerHostGetConfigImage(&get));
    passes.configImageSize = c->config_B;
    passes.pConfigImage = c->config;
    OK(cuptiProfilerHostGetNumOfPasses(&passes));
    eq_u64(passes.numOfPasses, 1, "one pass");
}

static void client_image(struct client *c, size_t ranges)
{
    PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size, .pRangeProfilerObject = c->target,
           .pMetricNames = metric_names, .numMetrics = METRICS, .maxNumOfRanges = ranges,
           .maxNumRangeTreeNodes = (uint32_t)ranges);
    PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, init,
           .pRangeProfilerObject = c->target);

    OK(cuptiRangeProfilerGetCounterDataSize(&size));
    c->counters_B = size.counterDataSize;
    c->counters = realloc(c->counters, c->counters_B);
    init.counterDataSize = c->counters_B - 1;
    init.pCounterData = c->counters;
    FAILS(cuptiRangeProfilerCounterDataImageInitialize(&init),
          CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
    init.counterDataSize = c->counters_B;
    OK(cuptiRangeProfilerCounterDataImageInitialize(&init));
}

static struct client client_open(void)
{
    PARAMS(CUpti_RangeProfiler_Enable_Params, enable, .ctx = context);
    struct client c = {0};

    client_host(&c);
    client_config(&c);
    OK(cuptiRangeProfilerEnable(&enable));
    c.target = enable.pRangeProfilerObject;
    return c;
}

static CUptiResult client_set(const struct client *c, CUpti_ProfilerRange mode,
                              CUpti_ProfilerReplayMode replay, size_t ranges, uint16_t levels,
                              uint16_t first)
{
    PARAMS(CUpti_RangeProfiler_SetConfig_Params, set, .pRangeProfilerObject = c->target,
           .configSize = c->config_B, .pConfig = c->config, .counterDataImageSize = c->counters_B,
           .pCounterDataImage = c->counters, .range = mode, .replayMode = replay,
           .maxRangesPerPass = ranges, .numNestingLevels = levels, .minNestingLevel = first,
           .targetNestingLevel = 1);

    return cuptiRangeProfilerSetConfig(&set);
}

static CUptiResult start(const struct client *c)
{
    PARAMS(CUpti_RangeProfiler_Start_Params, p, .pRangeProfilerObject = c->target);
    return cuptiRangeProfilerStart(&p);
}

static CUptiResult stop(const struct client *c)
{
    PARAMS(CUpti_RangeProfiler_Stop_Params, p, .pRangeProfilerObject = c->target);
    CUptiResult result = cuptiRangeProfilerStop(&p);

    if (result == CUPTI_SUCCESS)
        eq_u64(p.isAllPassSubmitted, 1, "that was the only pass");
    return result;
}

static CUptiResult push(const struct client *c, const char *name)
{
    PARAMS(CUpti_RangeProfiler_PushRange_Params, p, .pRangeProfilerObject = c->target,
           .pRangeName = name);
    return cuptiRangeProfilerPushRange(&p);
}

static CUptiResult pop(const struct client *c)
{
    PARAMS(CUpti_RangeProfiler_PopRange_Params, p, .pRangeProfilerObject = c->target);
    return cuptiRangeProfilerPopRange(&p);
}

static CUptiResult decode(const struct client *c, size_t *out_dropped)
{
    PARAMS(CUpti_RangeProfiler_DecodeData_Params, p, .pRangeProfilerObject = c->target);
    CUptiResult result = cuptiRangeProfilerDecodeData(&p);

    *out_dropped = p.numOfRangeDropped;
    return result;
}

static size_t count_ranges(const struct client *c)
{
    PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, p, .pCounterDataImage = c->counters,
           .counterDataImageSize = c->counters_B);

    OK(cuptiRangeProfilerGetCounterDataInfo(&p));
    return p.numTotalRanges;
}

static void is_named(const struct client *c, size_t range, const char *delimiter, const char *want)
{
    PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, info,
           .pCounterDataImage = c->counters, .counterDataImageSize = c->counters_B,
           .rangeIndex = range, .rangeDelimiter = delimiter);
    PARAMS(CUpti_Profiler_Host_GetRangeName_Params, name, .pCounterDataImage = c->counters,
           .counterDataImageSize = c->counters_B, .rangeIndex = range, .delimiter = delimiter);

    OK(cuptiRangeProfilerCounterDataGetRangeInfo(&info));
    eq_str(info.rangeName, want, "name of range %zu", range);
    OK(cuptiProfilerHostGetRangeName(&name));
    eq_str(name.pRangeName, want, "the same by the host interface");
    free((void *)(uintptr_t)name.pRangeName);
}

static void evaluate(const struct client *c, size_t range, double *values)
{
    PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, p, .pHostObject = c->host,
           .pCounterDataImage = c->counters, .counterDataImageSize = c->counters_B,
           .rangeIndex = range, .ppMetricNames = metric_names, .numMetrics = METRICS,
           .pMetricValues = values);

    OK(cuptiProfilerHostEvaluateToGpuValues(&p));
}

/* Of a range of launches with so many turns in all. */
static void is_counted(const struct client *c, size_t range, unsigned launches, unsigned turns)
{
    const double warps = WARPS * launches, inst = WARPS * (10.0 * launches + 4.0 * turns);
    const double want[] = {
        inst,
        inst * 32,
        turns * WARPS * 32.0,
        warps,
        warps * 4,             /* 32 lanes with 4 bytes each */
        BLOCKS * launches,     /* the first warp of each block */
        BLOCKS * launches * 2, /* its first 16 lanes */
        4,
        turns * WARPS,
        BLOCKS * launches,
        warps,
        32,
    };
    double values[METRICS];

    evaluate(c, range, values);
    for (size_t m = 0; m < sizeof(want) / sizeof(want[0]); m++)
        ok(values[m] == want[m], "range %zu: %s is %g, want %g", range, metric_names[m], values[m],
           want[m]);
    ok(values[12] > 0, "it took %g ns", values[12]);
    ok(fabs(values[13] / (inst / values[12] * 1e9) - 1) < 1e-9, "a rate is the sum in that time");
    ok(values[14] == 0, "no shared memory");
    ok(isnan(values[15]), "a ratio to nothing is none");
}

static void client_free(struct client *c)
{
    PARAMS(CUpti_Profiler_Host_Deinitialize_Params, end, .pHostObject = c->host);

    OK(cuptiProfilerHostDeinitialize(&end));
    free(c->config);
    free(c->counters);
}

static void client_close(struct client *c)
{
    PARAMS(CUpti_RangeProfiler_Disable_Params, disable, .pRangeProfilerObject = c->target);
    PARAMS(CUpti_Profiler_DeInitialize_Params, all);

    OK(cuptiRangeProfilerDisable(&disable));
    FAILS(cuptiRangeProfilerDisable(&disable), CUPTI_ERROR_INVALID_PARAMETER);
    client_free(c);
    OK(cuptiProfilerDeInitialize(&all));
}

/* ---- metrics */

static bool has_name(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* Each base name with each of what may follow can be configured. */
static void test_names(const struct client *c, CUpti_MetricType type)
{
    PARAMS(CUpti_Profiler_Host_GetBaseMetrics_Params, base, .pHostObject = c->host,
           .metricType = type);
    size_t subs = 0, bad = 0;

    OK(cuptiProfilerHostGetBaseMetrics(&base));
    for (size_t i = 0; i < base.numMetrics; i++) {
        PARAMS(CUpti_Profiler_Host_GetSubMetrics_Params, sub, .pHostObject = c->host,
               .metricType = type, .pMetricName = base.ppMetricNames[i]);
        bad += cuptiProfilerHostGetSubMetrics(&sub) != CUPTI_SUCCESS || !sub.numOfSubmetrics;
        for (size_t s = 0; s < sub.numOfSubmetrics; s++, subs++) {
            char text[256];
            const char *name = text;
            PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add, .pHostObject = c->host,
                   .ppMetricNames = &name, .numMetrics = 1);
            PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, properties,
                   .pHostObject = c->host, .pMetricName = text);
            (void)snprintf(text, sizeof(text), "%s%s", base.ppMetricNames[i], sub.ppSubMetrics[s]);
            bad += cuptiProfilerHostConfigAddMetrics(&add) != CUPTI_SUCCESS;
            bad += cuptiProfilerHostGetMetricProperties(&properties) != CUPTI_SUCCESS ||
                   !*properties.pDescription || properties.metricType != type;
        }
    }
    eq_u64(bad, 0, "all of %zu names of type %d in %zu forms are fine", base.numMetrics, (int)type,
           subs);
    if (type == CUPTI_METRIC_TYPE_COUNTER)
        ok(has_name(base.ppMetricNames, base.numMetrics, "smsp__inst_executed") && subs > 100,
           "instructions are a counter");
    if (type == CUPTI_METRIC_TYPE_RATIO)
        ok(has_name(base.ppMetricNames, base.numMetrics,
                    "smsp__thread_inst_executed_per_inst_executed"),
           "lanes of a warp are a ratio");
    if (type == CUPTI_METRIC_TYPE_THROUGHPUT)
        eq_u64(base.numMetrics, 0, "no throughputs");
}

static void test_properties(const struct client *c)
{
    PARAMS(CUpti_Profiler_Host_GetMetricProperties_Params, p, .pHostObject = c->host,
           .pMetricName = "smsp__inst_executed");
    PARAMS(CUpti_Profiler_Host_GetSubMetrics_Params, sub, .pHostObject = c->host,
           .metricType = CUPTI_METRIC_TYPE_COUNTER, .pMetricName = "smsp__inst_executed");

    OK(cuptiProfilerHostGetMetricProperties(&p));
    eq_str(p.pHwUnit, "smsp", "its unit of the chip");
    eq_str(p.pDimUnit, "inst", "its dimension");
    eq_u64(p.metricType, CUPTI_METRIC_TYPE_COUNTER, "a counter");
    OK(cuptiProfilerHostGetSubMetrics(&sub));
    ok(has_name(sub.ppSubMetrics, sub.numOfSubmetrics, ".sum") &&
           has_name(sub.ppSubMetrics, sub.numOfSubmetrics, ".sum.per_second"),
       "sums and rates");
    sub.metricType = CUPTI_METRIC_TYPE_RATIO;
    FAILS(cuptiProfilerHostGetSubMetrics(&sub), CUPTI_ERROR_INVALID_METRIC_NAME);
}

static void test_unknown(const struct client *c)
{
    static const char *const unknown[] = {
        "",
        ".sum",
        "smsp__inst_executed",     /* no roll-up */
        "smsp__inst_executed.avg", /* there are no units to average over */
        "smsp__inst_executed.sum.per_second.per_second",
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", /* n/a */
        "launch__block_size",
        "no_such_metric.sum",
        NULL,
    };

    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        const char *name = unknown[i];
        PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add, .pHostObject = c->host,
               .ppMetricNames = &name, .numMetrics = 1);
        eq_u64(cuptiProfilerHostConfigAddMetrics(&add), CUPTI_ERROR_INVALID_METRIC_NAME,
               "'%s' is no metric", name ? name : "NULL");
    }
}

static void test_host(void)
{
    PARAMS(CUpti_Profiler_Host_GetSupportedChips_Params, chips);
    PARAMS(CUpti_Profiler_Host_Initialize_Params, init, .pChipName = "GK110",
           .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER);
    PARAMS(CUpti_Profiler_Host_GetMaxNumHardwareMetricsPerPass_Params, most, .pChipName = "GH100",
           .profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER);
    PARAMS(CUpti_Profiler_Host_Deinitialize_Params, end);
    struct client c = {0};

    OK(cuptiProfilerHostGetSupportedChips(&chips));
    ok(has_name(chips.ppChipNames, chips.numChips, "GH100"), "%zu chips", chips.numChips);
    FAILS(cuptiProfilerHostInitialize(&init), CUPTI_ERROR_INVALID_CHIP_NAME);
    init.pChipName = "GH100";
    init.profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING;
    FAILS(cuptiProfilerHostInitialize(&init), CUPTI_ERROR_NOT_SUPPORTED);
    init.structSize = 16;
    FAILS(cuptiProfilerHostInitialize(&init), CUPTI_ERROR_INVALID_PARAMETER);
    OK(cuptiProfilerHostGetMaxNumHardwareMetricsPerPass(&most));
    ok(most.maxMetricsPerPass >= METRICS, "all at once");
    client_host(&c);
    for (int type = 0; type < CUPTI_METRIC_TYPE__COUNT; type++)
        test_names(&c, (CUpti_MetricType)type);
    test_properties(&c);
    test_unknown(&c);
    end.pHostObject = c.host;
    OK(cuptiProfilerHostDeinitialize(&end));
}

static void test_support(void)
{
    PARAMS(CUpti_Profiler_DeviceSupported_Params, p, .api = CUPTI_PROFILER_RANGE_PROFILING);

    OK(cuptiProfilerDeviceSupported(&p));
    eq_u64(p.isSupported, CUPTI_PROFILER_CONFIGURATION_SUPPORTED, "ranges");
    p.api = CUPTI_PROFILER_SASS_METRICS;
    OK(cuptiProfilerDeviceSupported(&p));
    eq_u64(p.isSupported, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED, "no SASS metrics");
    p.cuDevice = 77;
    FAILS(cuptiProfilerDeviceSupported(&p), CUPTI_ERROR_INVALID_DEVICE);
}

/* ---- ranges */

static void test_auto(void)
{
    struct client c = client_open();
    size_t dropped;

    client_image(&c, 8);
    OK(client_set(&c, CUPTI_AutoRange, CUPTI_KernelReplay, 8, 1, 1));
    launch(3, NULL); /* before it is started */
    OK(start(&c));
    OK(push(&c, "of no consequence here"));
    launch(5, NULL);
    launch(1, NULL);
    OK(pop(&c));
    OK(stop(&c));
    launch(9, NULL);
    OK(decode(&c, &dropped));
    eq_u64(dropped, 0, "none is lost");
    eq_u64(count_ranges(&c), 2, "a range for each kernel");
    is_named(&c, 0, "/", "0");
    is_named(&c, 1, NULL, "1");
    is_counted(&c, 0, 1, 5);
    is_counted(&c, 1, 1, 1);
    OK(start(&c)); /* once more, into the same image */
    launch(7, NULL);
    OK(stop(&c));
    OK(decode(&c, &dropped));
    eq_u64(count_ranges(&c), 3, "one more");
    is_named(&c, 2, "/", "2");
    is_counted(&c, 2, 1, 7);
    client_close(&c);
}

/* Each level by itself and together with what is inside. */
static void nested(const struct client *c)
{
    launch(1, NULL);
    OK(push(c, "outer"));
    launch(2, NULL);
    OK(push(c, "inner"));
    launch(3, NULL);
    launch(4, NULL);
    OK(pop(c));
    OK(push(c, "empty"));
    OK(pop(c));
    launch(5, NULL);
    OK(pop(c));
    FAILS(pop(c), CUPTI_ERROR_INVALID_OPERATION);
}

static void test_user(void)
{
    struct client c = client_open();
    size_t dropped;

    client_image(&c, 8);
    FAILS(client_set(&c, CUPTI_UserRange, CUPTI_KernelReplay, 8, 2, 1),
          CUPTI_ERROR_INVALID_PARAMETER);
    OK(client_set(&c, CUPTI_UserRange, CUPTI_UserReplay, 8, 2, 1));
    OK(start(&c));
    nested(&c);
    OK(stop(&c));
    OK(decode(&c, &dropped));
    eq_u64(dropped, 0, "none is lost");
    eq_u64(count_ranges(&c), 3, "three ranges");
    is_named(&c, 0, "/", "outer");
    is_named(&c, 1, " > ", "outer > inner");
    is_named(&c, 2, "/", "outer/empty");
    is_counted(&c, 0, 4, 2 + 3 + 4 + 5);
    is_counted(&c, 1, 2, 3 + 4);

    client_image(&c, 8);
    OK(client_set(&c, CUPTI_UserRange, CUPTI_UserReplay, 8, 1, 2));
    OK(start(&c));
    nested(&c);
    OK(stop(&c));
    OK(decode(&c, &dropped));
    eq_u64(count_ranges(&c), 2, "the second level only");
    is_counted(&c, 0, 2, 3 + 4);
    client_close(&c);
}

/* While it is started: what is over, once. */
static void test_between(void)
{
    struct client c = client_open();
    size_t dropped;

    client_image(&c, 4);
    OK(client_set(&c, CUPTI_UserRange, CUPTI_UserReplay, 2, 2, 1));
    OK(start(&c));
    OK(push(&c, "a"));
    launch(1, NULL);
    OK(push(&c, "b"));
    launch(2, NULL);
    OK(pop(&c));
    OK(decode(&c, &dropped));
    eq_u64(count_ranges(&c), 1, "the inner one is over");
    is_counted(&c, 0, 1, 2);
    launch(3, NULL);
    OK(pop(&c));
    OK(decode(&c, &dropped));
    eq_u64(count_ranges(&c), 2, "now the outer one as well");
    is_named(&c, 1, "/", "a");
    is_counted(&c, 1, 3, 1 + 2 + 3);
    OK(push(&c, "c"));
    launch(4, NULL);
    OK(pop(&c));
    OK(stop(&c));
    OK(decode(&c, &dropped));
    eq_u64(dropped, 0, "none is lost");
    eq_u64(count_ranges(&c), 3, "and the last one");
    is_counted(&c, 2, 1, 4);
    client_close(&c);
}

static void test_lost(void)
{
    struct client c = client_open();
    size_t dropped;

    client_image(&c, 3);
    OK(client_set(&c, CUPTI_AutoRange, CUPTI_UserReplay, 5, 1, 1));
    OK(start(&c));
    for (unsigned i = 1; i <= 7; i++)
        launch(i, NULL);
    OK(stop(&c));
    OK(decode(&c, &dropped));
    eq_u64(dropped, 4, "two beyond what is wanted, two beyond the image");
    eq_u64(count_ranges(&c), 3, "what the image holds");
    is_counted(&c, 2, 1, 3);
    client_close(&c);
}

/* Many launches in several streams: each range has its own. */
static void test_many(void)
{
    enum { N = 400 };
    struct client c = client_open();
    CUstream streams[3];
    size_t dropped, wrong = 0;
    double values[METRICS];

    for (int i = 0; i < 3; i++)
        eq_u64(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING), 0, "stream");
    client_image(&c, N);
    OK(client_set(&c, CUPTI_AutoRange, CUPTI_UserReplay, N, 1, 1));
    OK(start(&c));
    for (unsigned i = 0; i < N; i++) {
        unsigned turns = i + 1;
        void *args[] = {&memory, &turns};
        wrong += cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, streams[i % 3], args, NULL) != 0;
    }
    OK(stop(&c));
    OK(decode(&c, &dropped));
    eq_u64(dropped + wrong, 0, "none is lost");
    eq_u64(count_ranges(&c), N, "%d ranges", N);
    for (unsigned i = 0; i < N; i++) {
        evaluate(&c, i, values);
        wrong += values[0] != 10 + 4 * (i + 1);
    }
    eq_u64(wrong, 0, "each with its own turns");
    for (int i = 0; i < 3; i++)
        eq_u64(cuStreamDestroy(streams[i]), 0, "stream");
    client_close(&c);
}

static CUgraphExec graph_of(unsigned first, unsigned second)
{
    unsigned turns[] = {first, second};
    CUgraph graph;
    CUgraphNode nodes[2];
    CUgraphExec exec;

    eq_u64(cuGraphCreate(&graph, 0), 0, "graph");
    for (int i = 0; i < 2; i++) {
        void *args[] = {&memory, &turns[i]};
        CUDA_KERNEL_NODE_PARAMS p = {.func = kernel,
                                     .gridDimX = BLOCKS,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = THREADS,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = args};
        eq_u64(cuGraphAddKernelNode(&nodes[i], graph, nodes, (size_t)i, &p), 0, "node");
    }
    eq_u64(cuGraphInstantiate(&exec, graph, 0), 0, "executable graph");
    eq_u64(cuGraphDestroy(graph), 0, "graph");
    return exec;
}

static void test_graph(void)
{
    struct client c = client_open();
    CUgraphExec before = graph_of(1, 2), after;
    size_t dropped;

    client_image(&c, 8);
    OK(client_set(&c, CUPTI_AutoRange, CUPTI_UserReplay, 8, 1, 1));
    OK(start(&c));
    after = graph_of(3, 4);
    eq_u64(cuGraphLaunch(before, NULL), 0, "a graph that was made before");
    eq_u64(cuGraphLaunch(after, NULL), 0, "and one that was made since");
    OK(stop(&c));
    OK(decode(&c, &dropped));
    eq_u64(dropped, 2, "kernels of the first were not counted");
    eq_u64(count_ranges(&c), 2, "those of the second were");
    is_counted(&c, 0, 1, 3);
    is_counted(&c, 1, 1, 4);
    eq_u64(cuGraphLaunch(after, NULL), 0, "they are told to nobody now");
    eq_u64(cuCtxSynchronize(), 0, "wait");
    eq_u64(cuGraphExecDestroy(before), 0, "graph");
    eq_u64(cuGraphExecDestroy(after), 0, "graph");
    client_close(&c);
}

/* Two contexts at once; a third one is nobody's. */
static void test_contexts(void)
{
    struct client c = client_open(), other;
    CUcontext first = context, second;
    CUmodule other_module;
    CUfunction own = kernel;
    size_t dropped;

    client_image(&c, 4);
    OK(client_set(&c, CUPTI_AutoRange, CUPTI_UserReplay, 4, 1, 1));
    eq_u64(cuCtxCreate(&second, NULL, 0, 0), 0, "another context");
    context = second;
    other = client_open();
    client_image(&other, 4);
    OK(client_set(&other, CUPTI_AutoRange, CUPTI_UserReplay, 4, 1, 1));
    OK(start(&c));
    OK(start(&other));
    eq_u64(cuModuleLoadData(&other_module, ptx), 0, "module");
    eq_u64(cuModuleGetFunction(&kernel, other_module, "work"), 0, "kernel");
    launch(2, NULL);
    eq_u64(cuCtxSetCurrent(first), 0, "current");
    context = first;
    kernel = own;
    launch(6, NULL);
    OK(stop(&other));
    OK(stop(&c));
    OK(decode(&c, &dropped));
    OK(decode(&other, &dropped));
    eq_u64(count_ranges(&c), 1, "one kernel");
    eq_u64(count_ranges(&other), 1, "and one");
    is_counted(&c, 0, 1, 6);
    is_counted(&other, 0, 1, 2);
    client_close(&c);
    client_close(&other);
    eq_u64(cuCtxDestroy(second), 0, "context");
}

/* Started and stopped in the callbacks around each launch, as NVIDIA's sample does. */
static void on_launch(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                      const void *args)
{
    const struct client *c = user;
    const CUpti_CallbackData *data = args;
    size_t dropped;

    (void)domain;
    (void)cbid;
    if (data->callbackSite == CUPTI_API_ENTER) {
        OK(start(c));
        return;
    }
    OK(stop(c));
    OK(decode(c, &dropped));
}

static void test_callbacks(void)
{
    struct client c = client_open();
    CUpti_SubscriberHandle subscriber;

    client_image(&c, 4);
    OK(client_set(&c, CUPTI_AutoRange, CUPTI_KernelReplay, 4, 1, 1));
    OK(cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)on_launch, &c));
    OK(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                           CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
    for (unsigned i = 1; i <= 3; i++)
        launch(i, NULL);
    OK(cuptiUnsubscribe(subscriber));
    eq_u64(count_ranges(&c), 3, "a range for each launch");
    for (unsigned i = 0; i < 3; i++)
        is_counted(&c, i, 1, i + 1);
    client_close(&c);
}

/* ---- mistakes */

static void test_order(void)
{
    struct client c = client_open();
    PARAMS(CUpti_RangeProfiler_Enable_Params, again, .ctx = context);
    char name[300];
    size_t dropped;

    FAILS(cuptiRangeProfilerEnable(&again), CUPTI_ERROR_INVALID_OPERATION);
    FAILS(start(&c), CUPTI_ERROR_INVALID_OPERATION);
    FAILS(stop(&c), CUPTI_ERROR_INVALID_OPERATION);
    FAILS(client_set(&c, CUPTI_UserRange, CUPTI_UserReplay, 4, 1, 1),
          CUPTI_ERROR_INVALID_PARAMETER); /* no image */
    client_image(&c, 4);
    FAILS(decode(&c, &dropped), CUPTI_ERROR_INVALID_OPERATION);
    OK(client_set(&c, CUPTI_UserRange, CUPTI_UserReplay, 4, 1, 1));
    FAILS(push(&c, "not started"), CUPTI_ERROR_INVALID_OPERATION);
    OK(start(&c));
    FAILS(start(&c), CUPTI_ERROR_INVALID_OPERATION);
    FAILS(client_set(&c, CUPTI_UserRange, CUPTI_UserReplay, 4, 1, 1),
          CUPTI_ERROR_INVALID_OPERATION);
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    FAILS(push(&c, name), CUPTI_ERROR_INVALID_PARAMETER);
    OK(push(&c, "left open"));
    launch(2, NULL);
    OK(stop(&c));
    OK(decode(&c, &dropped));
    is_counted(&c, 0, 1, 2);
    client_close(&c);
}

/* Every byte of an image wrong in turn, and every shorter image: an answer, whatever it is. */
static void test_damage(void)
{
    struct client c = client_open();
    uint8_t *damaged;
    size_t dropped, refused = 0;
    double values[METRICS];

    client_image(&c, 2);
    OK(client_set(&c, CUPTI_AutoRange, CUPTI_UserReplay, 2, 1, 1));
    OK(start(&c));
    launch(2, NULL);
    OK(stop(&c));
    OK(decode(&c, &dropped));
    damaged = malloc(c.counters_B);
    for (size_t i = 0; i < 2 * c.counters_B; i++) {
        size_t size_B = i < c.counters_B ? c.counters_B : i - c.counters_B;
        PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, p, .pHostObject = c.host,
               .pCounterDataImage = damaged, .counterDataImageSize = size_B,
               .ppMetricNames = metric_names, .numMetrics = METRICS, .pMetricValues = values);
        PARAMS(CUpti_Profiler_Host_GetRangeName_Params, name, .pCounterDataImage = damaged,
               .counterDataImageSize = size_B);
        memcpy(damaged, c.counters, c.counters_B);
        if (i < c.counters_B)
            damaged[i] ^= 0x81;
        refused += cuptiProfilerHostEvaluateToGpuValues(&p) != CUPTI_SUCCESS;
        if (cuptiProfilerHostGetRangeName(&name) == CUPTI_SUCCESS)
            free((void *)(uintptr_t)name.pRangeName);
    }
    ok(refused >= c.counters_B + 40, "a damaged head and a part of an image are refused: %zu",
       refused);
    free(damaged);
    for (size_t i = 0; i < 24; i++) {
        PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes, .pConfigImage = c.config,
               .configImageSize = c.config_B);
        c.config[i] ^= 1;
        if (i < 18)
            FAILS(cuptiProfilerHostGetNumOfPasses(&passes), CUPTI_ERROR_INVALID_PARAMETER);
        c.config[i] ^= 1;
    }
    client_close(&c);
}

static void test_finalize(void)
{
    struct client c = client_open();

    client_image(&c, 2);
    OK(client_set(&c, CUPTI_AutoRange, CUPTI_UserReplay, 2, 1, 1));
    OK(start(&c));
    launch(2, NULL);
    OK(cuptiFinalize());
    launch(2, NULL);
    eq_u64(cuCtxSynchronize(), 0, "wait");
    FAILS(stop(&c), CUPTI_ERROR_INVALID_OPERATION);
    client_free(&c);
    test_auto();
}

static CUdevice created_on = -1;

static void on_context(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                       const void *args)
{
    (void)user, (void)domain, (void)cbid, (void)args;
    if (cuCtxGetDevice(&created_on) != CUDA_SUCCESS)
        created_on = -2;
}

/* A context is current while it is told that it was made, and only then. */
static void make_context(void)
{
    CUpti_SubscriberHandle subscriber;
    CUcontext current;

    OK(cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)on_context, NULL));
    OK(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                           CUPTI_CBID_RESOURCE_CONTEXT_CREATED));
    eq_u64(cuDevicePrimaryCtxRetain(&context, 0), 0, "context");
    eq_u64((uint64_t)created_on, 0, "its callback can ask for its device");
    ok(cuCtxGetCurrent(&current) == CUDA_SUCCESS && !current, "nothing is current afterwards");
    OK(cuptiUnsubscribe(subscriber));
}

int main(void)
{
    eq_u64(cuInit(0), 0, "cuInit");
    test_support();
    make_context();
    eq_u64(cuCtxSetCurrent(context), 0, "current");
    eq_u64(cuModuleLoadData(&module, ptx), 0, "module");
    eq_u64(cuModuleGetFunction(&kernel, module, "work"), 0, "kernel");
    eq_u64(cuMemAlloc(&memory, 4096), 0, "memory");
    eq_u64(cuMemsetD32(memory, 0, 1024), 0, "zeroes");
    test_host();
    test_auto();
    test_user();
    test_between();
    test_lost();
    test_many();
    test_graph();
    test_contexts();
    test_callbacks();
    test_order();
    test_damage();
    test_finalize();
    return done();
}
