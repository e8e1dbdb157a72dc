/*
 * libcupti's PC sampling: two loops in one kernel, one of which runs many times as long as the
 * other; samples say so, with the lines of the source. Built with our headers and, where they are
 * installed, with NVIDIA's. On the reference interpreter it is refused.
 */
#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_client.h"

/* Lines 10 and 30 of the file have the loops; the loop of line 30 turns so often as %r1 says. */
static const char ptx[] =
    ".version 7.5\n.target sm_75\n.address_size 64\n"
    ".visible .entry loops(.param .u64 p, .param .u32 n, .param .u32 m)\n{\n"
    ".reg .b64 %rd<4>;\n.reg .b32 %r<5>;\n.reg .f32 %f<2>;\n.reg .pred %p<2>;\n"
    ".loc 1 5 0\nld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nld.param.u32 %r4, [m];\n"
    "mov.u32 %r2, %tid.x;\nmul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd3, %rd1, %rd2;\n"
    "mov.u32 %r3, 0;\nld.global.f32 %f1, [%rd3];\n"
    "A:\n.loc 1 10 0\nfma.rn.f32 %f1, %f1, %f1, %f1;\nadd.u32 %r3, %r3, 1;\n"
    "setp.lt.u32 %p1, %r3, %r4;\n@%p1 bra A;\n.loc 1 20 0\nmov.u32 %r3, 0;\n"
    "B:\n.loc 1 30 0\nfma.rn.f32 %f1, %f1, %f1, %f1;\nadd.u32 %r3, %r3, 1;\n"
    "setp.lt.u32 %p1, %r3, %r1;\n@%p1 bra B;\n.loc 1 40 0\n"
    "st.global.f32 [%rd3], %f1;\nret;\n}\n"
    ".visible .entry short(.param .u64 p)\n{\nret;\n}\n"
    ".file 1 \"/src/two/loops.cu\"\n";

enum { PCS = 200, REASONS = 2 };

static CUcontext context;
static CUmodule module;
static CUfunction kernel;
static CUdeviceptr memory;

#define OF_CONTEXT(type, name) type name = {.size = type##Size, .ctx = context}

static void launch(unsigned n, unsigned m)
{
    void *args[] = {&memory, &n, &m};

    eq_u64(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL), 0, "launch");
}

/* Long enough for some samples, whatever the machine does. */
static void run(void)
{
    launch(40000000, 2000000);
    eq_u64(cuCtxSynchronize(), 0, "wait");
}

/* ---- data */

static CUpti_PCSamplingPCData pcs[PCS];
static CUpti_PCSamplingStallReason in_pcs[PCS][REASONS];
static CUpti_PCSamplingData taken;

static CUpti_PCSamplingData *fresh(size_t room)
{
    memset(pcs, 0, sizeof(pcs));
    for (int i = 0; i < PCS; i++) {
        pcs[i].size = sizeof(pcs[i]);
        pcs[i].stallReason = in_pcs[i];
    }
    taken = (CUpti_PCSamplingData){.size = sizeof(taken), .collectNumPcs = room, .pPcData = pcs};
    return &taken;
}

static void free_names(void)
{
    for (size_t i = 0; i < taken.totalNumPcs; i++)
        free(pcs[i].functionName);
}

static CUptiResult take(size_t room)
{
    OF_CONTEXT(CUpti_PCSamplingGetDataParams, p);

    p.pcSamplingData = fresh(room);
    return cuptiPCSamplingGetData(&p);
}

static uint64_t samples_of(const CUpti_PCSamplingPCData *pc)
{
    uint64_t n = 0;

    for (size_t r = 0; r < pc->stallReasonCount; r++)
        n += pc->stallReason[r].samples;
    return n;
}

/* ---- where modules are */

static const void *cubin;
static size_t cubin_B;

static void on_module(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                      const void *args)
{
    const CUpti_ResourceData *data = args;
    const CUpti_ModuleResourceData *m = data->resourceDescriptor;

    (void)user;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
        cubin = m->pCubin;
        cubin_B = m->cubinSize;
    }
}

static void load_module(void)
{
    CUpti_SubscriberHandle subscriber;

    OK(cuptiSubscribe(&subscriber, (CUpti_CallbackFunc)on_module, NULL));
    OK(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                           CUPTI_CBID_RESOURCE_MODULE_LOADED));
    eq_u64(cuModuleLoadData(&module, ptx), 0, "module");
    OK(cuptiUnsubscribe(subscriber));
    ok(cubin && cubin_B, "a module has something that stands for it");
    ok(!memcmp(cubin, "\177ELF", 4), "which looks like a file for the linker");
    eq_u64(cuModuleGetFunction(&kernel, module, "loops"), 0, "kernel");
}

/* The line of a program counter; 0: not known. */
static unsigned line_of(const CUpti_PCSamplingPCData *pc)
{
    CUpti_GetSassToSourceCorrelationParams p = {.size = CUpti_GetSassToSourceCorrelationParamsSize,
                                                .cubin = cubin,
                                                .cubinSize = cubin_B,
                                                .functionName = pc->functionName,
                                                .pcOffset = pc->pcOffset};
    bool is_file;

    if (cuptiGetSassToSourceCorrelation(&p) != CUPTI_SUCCESS)
        return 0;
    is_file = !strcmp(p.fileName, "loops.cu") && !strcmp(p.dirName, "/src/two");
    free(p.fileName);
    free(p.dirName);
    return is_file ? p.lineNumber : 0;
}

/* ---- tests */

static void test_reasons(void)
{
    size_t n = 0;
    OF_CONTEXT(CUpti_PCSamplingGetNumStallReasonsParams, count);
    OF_CONTEXT(CUpti_PCSamplingGetStallReasonsParams, get);
    uint32_t indexes[REASONS];
    char texts[REASONS][CUPTI_STALL_REASON_STRING_SIZE];
    char *names[REASONS] = {texts[0], texts[1]};

    count.numStallReasons = &n;
    OK(cuptiPCSamplingGetNumStallReasons(&count));
    eq_u64(n, REASONS, "two reasons");
    get.numStallReasons = n - 1;
    get.stallReasonIndex = indexes;
    get.stallReasons = names;
    FAILS(cuptiPCSamplingGetStallReasons(&get), CUPTI_ERROR_INVALID_PARAMETER);
    get.numStallReasons = n;
    OK(cuptiPCSamplingGetStallReasons(&get));
    eq_str(names[0], "smsp__pcsamp_warps_issue_stalled_selected", "it executes");
    eq_str(names[1], "heddle__pcsamp_warps_in_device_function", "or is in what it called");
}

static CUptiResult set_one(CUpti_PCSamplingConfigurationAttributeType type, uint32_t value,
                           CUptiResult *out_status)
{
    CUpti_PCSamplingConfigurationInfo info = {.attributeType = type};
    OF_CONTEXT(CUpti_PCSamplingConfigurationInfoParams, p);
    CUptiResult result;

    info.attributeData.samplingPeriodData.samplingPeriod = value;
    p.numAttributes = 1;
    p.pPCSamplingConfigurationInfo = &info;
    result = cuptiPCSamplingSetConfigurationAttribute(&p);
    *out_status = info.attributeStatus;
    return result;
}

static uint32_t period(void)
{
    CUpti_PCSamplingConfigurationInfo info = {
        .attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD};
    OF_CONTEXT(CUpti_PCSamplingConfigurationInfoParams, p);

    p.numAttributes = 1;
    p.pPCSamplingConfigurationInfo = &info;
    OK(cuptiPCSamplingGetConfigurationAttribute(&p));
    return info.attributeData.samplingPeriodData.samplingPeriod;
}

static void test_attributes(void)
{
    CUptiResult status;

    ok(set_one(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD, 32, &status) ==
               CUPTI_ERROR_INVALID_OPERATION &&
           status == CUPTI_ERROR_INVALID_OPERATION,
       "a period is 2^5 to 2^31 clocks");
    OK(set_one(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD, 5, &status));
    ok(period() > 5 && period() < 24, "one that is too short becomes the shortest: %u", period());
    OK(set_one(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD, 25, &status));
    eq_u64(period(), 25, "a long one stays");
    OK(set_one(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD, 18, &status));
    FAILS(set_one(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE,
                  CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED, &status),
          CUPTI_ERROR_INVALID_OPERATION);
    eq_u64(status, CUPTI_ERROR_NOT_SUPPORTED, "kernels run as they do");
    FAILS(set_one((CUpti_PCSamplingConfigurationAttributeType)77, 0, &status),
          CUPTI_ERROR_INVALID_OPERATION);
    eq_u64(status, CUPTI_ERROR_INVALID_PARAMETER, "no such attribute");
}

struct tally {
    uint64_t sum, first, second, other;
    size_t wrong;
};

static void tally_add(struct tally *t)
{
    for (size_t i = 0; i < taken.totalNumPcs; i++) {
        uint64_t n = samples_of(&pcs[i]);
        unsigned line = line_of(&pcs[i]);
        t->wrong += strcmp(pcs[i].functionName, "loops") != 0 || pcs[i].pcOffset % 16 ||
                    pcs[i].correlationId;
        t->sum += n;
        *(line == 10 ? &t->first : line == 30 ? &t->second : &t->other) += n;
    }
}

/* The second loop has twenty times as many turns. A busy machine asks seldom: until it has. */
static void test_lines(void)
{
    struct tally t = {0};

    for (int runs = 0; runs < 100 && t.sum < 100; runs++) {
        run();
        OK(take(PCS));
        tally_add(&t);
        free_names();
    }
    diag("%llu samples: line 10 %llu, line 30 %llu, others %llu", (unsigned long long)t.sum,
         (unsigned long long)t.first, (unsigned long long)t.second, (unsigned long long)t.other);
    eq_u64(t.wrong, 0, "all are of that kernel");
    eq_u64(taken.droppedSamples + taken.remainingNumPcs, 0, "none is lost or left");
    ok(t.second > 2 * t.first && t.second > 2 * t.other, "the long loop has most of them");
    OK(take(PCS));
    eq_u64(taken.totalNumPcs + taken.totalSamples, 0, "they are taken once");
}

/* Until there is a sample, which is left where it is. */
static void run_sampled(void)
{
    for (int runs = 0; runs < 100; runs++) {
        run();
        OK(take(0));
        if (taken.remainingNumPcs)
            return;
    }
    ok(false, "no sample in 100 runs");
}

static uint64_t crc_of(const void *bytes, size_t size_B)
{
    CUpti_GetCubinCrcParams p = {
        .size = CUpti_GetCubinCrcParamsSize, .cubin = bytes, .cubinSize = size_B};

    OK(cuptiGetCubinCrc(&p));
    return p.cubinCrc;
}

/* A few at a time: what does not fit stays. */
static void test_room(void)
{
    size_t n = 0, rounds = 0, wrong = 0;

    run_sampled();
    n = taken.remainingNumPcs;
    ok(n > 0 && !taken.totalNumPcs, "%zu program counters remain", n);
    do {
        OK(take(1));
        wrong += taken.totalNumPcs != 1 || pcs[0].cubinCrc != crc_of(cubin, cubin_B);
        free_names();
        rounds++;
    } while (taken.remainingNumPcs && rounds <= n);
    eq_u64(rounds, n, "each comes once");
    eq_u64(wrong, 0, "with the number of the module");
}

static void test_control(void)
{
    OF_CONTEXT(CUpti_PCSamplingStartParams, start);
    OF_CONTEXT(CUpti_PCSamplingStopParams, stop);
    CUptiResult status;
    uint64_t range;

    FAILS(cuptiPCSamplingStart(&start), CUPTI_ERROR_INVALID_OPERATION);
    OK(set_one(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL, 1, &status));
    FAILS(cuptiPCSamplingStop(&stop), CUPTI_ERROR_INVALID_OPERATION);
    run();
    OK(take(PCS));
    eq_u64(taken.totalSamples, 0, "not started: no samples");
    OK(cuptiPCSamplingStart(&start));
    FAILS(cuptiPCSamplingStart(&start), CUPTI_ERROR_INVALID_OPERATION);
    run_sampled();
    launch(40000000, 2000000); /* it is waited for */
    OK(cuptiPCSamplingStop(&stop));
    eq_u64(cuStreamQuery(NULL), 0, "nothing runs");
    OK(take(PCS));
    free_names();
    run();
    OK(take(PCS));
    eq_u64(taken.totalSamples, 0, "stopped: no samples");
    range = taken.rangeId;
    OK(cuptiPCSamplingStart(&start));
    OK(cuptiPCSamplingStop(&stop));
    OK(take(PCS));
    eq_u64(taken.rangeId, range + 1, "ranges are numbered");
}

static void own_crc(const void *bytes, size_t size_B, uint64_t *out_crc)
{
    *out_crc = size_B + ((const unsigned char *)bytes)[1];
}

/* A module goes before anybody has asked: its samples stay, in the buffer of the end. */
static void test_end(void)
{
    OF_CONTEXT(CUpti_PCSamplingEnableParams, enable);
    OF_CONTEXT(CUpti_PCSamplingDisableParams, disable);
    OF_CONTEXT(CUpti_PCSamplingConfigurationInfoParams, p);
    CUpti_PCSamplingConfigurationInfo info = {
        .attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER};

    OK(cuptiPCSamplingDisable(&disable));
    FAILS(cuptiPCSamplingDisable(&disable), CUPTI_ERROR_INVALID_OPERATION);
    FAILS(take(PCS), CUPTI_ERROR_INVALID_OPERATION);
    OK(cuptiRegisterComputeCrcCallback(own_crc));
    OK(cuptiPCSamplingEnable(&enable));
    FAILS(cuptiPCSamplingEnable(&enable), CUPTI_ERROR_INVALID_OPERATION);
    info.attributeData.samplingDataBufferData.samplingDataBuffer = fresh(PCS);
    p.numAttributes = 1;
    p.pPCSamplingConfigurationInfo = &info;
    OK(cuptiPCSamplingSetConfigurationAttribute(&p));
    run_sampled();
    (void)fresh(PCS);
    eq_u64(cuModuleUnload(module), 0, "the module goes");
    OK(cuptiPCSamplingDisable(&disable));
    ok(taken.totalNumPcs > 0, "%zu program counters in the end", taken.totalNumPcs);
    ok(taken.totalNumPcs && pcs[0].cubinCrc == cubin_B + 'E', "with the client's number");
    ok(taken.totalNumPcs && line_of(&pcs[0]) > 0, "and their lines");
    free_names();
    load_module();
    run();
}

static void test_mistakes(void)
{
    CUpti_GetSassToSourceCorrelationParams p = {.size = CUpti_GetSassToSourceCorrelationParamsSize,
                                                .cubin = ptx,
                                                .cubinSize = sizeof(ptx),
                                                .functionName = "loops",
                                                .pcOffset = 16};
    CUpti_PCSamplingEnableParams enable = {.size = 8, .ctx = context};

    FAILS(cuptiGetSassToSourceCorrelation(&p), CUPTI_ERROR_INVALID_MODULE);
    p.cubin = cubin;
    p.cubinSize = cubin_B;
    p.functionName = "no such kernel";
    FAILS(cuptiGetSassToSourceCorrelation(&p), CUPTI_ERROR_UNKNOWN);
    p.cubinSize = cubin_B - 1;
    FAILS(cuptiGetSassToSourceCorrelation(&p), CUPTI_ERROR_INVALID_MODULE);
    p.functionName = NULL;
    FAILS(cuptiGetSassToSourceCorrelation(&p), CUPTI_ERROR_INVALID_PARAMETER);
    FAILS(cuptiPCSamplingEnable(&enable), CUPTI_ERROR_INVALID_PARAMETER);
    enable.size = sizeof(enable);
    enable.ctx = (CUcontext)(uintptr_t)0x1230;
    FAILS(cuptiPCSamplingEnable(&enable), CUPTI_ERROR_INVALID_CONTEXT);
    ok(crc_of("a", 1) != crc_of("b", 1), "bytes have numbers");
}

static void test_refused(void)
{
    OF_CONTEXT(CUpti_PCSamplingEnableParams, enable);

    FAILS(cuptiPCSamplingEnable(&enable), CUPTI_ERROR_NOT_SUPPORTED);
}

int main(void)
{
    OF_CONTEXT(CUpti_PCSamplingEnableParams, enable);
    const char *device = getenv("HEDDLE_DEVICE");

    eq_u64(cuInit(0), 0, "cuInit");
    eq_u64(cuDevicePrimaryCtxRetain(&context, 0), 0, "context");
    eq_u64(cuCtxSetCurrent(context), 0, "current");
    load_module();
    enable.ctx = context;
    test_mistakes();
    if (device && !strcmp(device, "interp")) {
        test_refused();
        return done();
    }
    eq_u64(cuMemAlloc(&memory, 4096), 0, "memory");
    eq_u64(cuMemsetD32(memory, 0, 1024), 0, "zeroes");
    test_reasons();
    OK(cuptiPCSamplingEnable(&enable));
    test_attributes();
    test_lines();
    test_room();
    test_control();
    test_end();
    return done();
}
