/*
 * Blocks that poll a flag between barriers, by one thread that tells the others through shared
 * memory, with fewer host threads than blocks: the block that sets the flag gets its turn. And a
 * barrier of the program's own, for as many blocks as the multiprocessors hold.
 */
#include "api/driver/cuda_abi.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)

enum { BLOCKS = 6, THREADS = 64, MOST_BLOCKS = 2048 };

static const char ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    /* The last block sets *flag; all wait for it, then p[i] = 1. */
    ".visible .entry poll(.param .u64 p, .param .u64 flag)\n{\n"
    " .shared .align 4 .u32 seen;\n"
    " .reg .b32 %r<9>;\n .reg .b64 %d<5>;\n .reg .pred %q<5>;\n"
    " ld.param.u64 %d1, [p];\n ld.param.u64 %d2, [flag];\n"
    " mov.u32 %r1, %ctaid.x;\n mov.u32 %r2, %nctaid.x;\n mov.u32 %r3, %tid.x;\n"
    " mov.u32 %r4, %ntid.x;\n mad.lo.u32 %r5, %r1, %r4, %r3;\n"
    " add.u32 %r6, %r1, 1;\n setp.eq.u32 %q1, %r6, %r2;\n"
    " @%q1 st.volatile.global.u32 [%d2], 1;\n"
    " setp.ne.u32 %q2, %r3, 0;\n"
    "again:\n @%q2 bra others;\n"
    " ld.volatile.global.u32 %r7, [%d2];\n st.shared.u32 [seen], %r7;\n"
    "others:\n bar.sync 0;\n ld.shared.u32 %r8, [seen];\n bar.sync 0;\n"
    " setp.eq.u32 %q3, %r8, 0;\n @%q3 bra again;\n"
    " mul.wide.u32 %d3, %r5, 4;\n add.u64 %d4, %d1, %d3;\n st.global.u32 [%d4], 1;\n ret;\n}\n"
    /* The first thread of each block counts itself and polls until all have; then p[i] = 1. */
    ".visible .entry meet(.param .u64 p, .param .u64 count)\n{\n"
    " .reg .b32 %r<7>;\n .reg .b64 %d<5>;\n .reg .pred %q<3>;\n"
    " ld.param.u64 %d1, [p];\n ld.param.u64 %d2, [count];\n"
    " mov.u32 %r1, %ctaid.x;\n mov.u32 %r2, %nctaid.x;\n mov.u32 %r3, %tid.x;\n"
    " mov.u32 %r4, %ntid.x;\n mad.lo.u32 %r5, %r1, %r4, %r3;\n"
    " setp.ne.u32 %q1, %r3, 0;\n @%q1 bra others;\n red.global.add.u32 [%d2], 1;\n"
    "again:\n ld.volatile.global.u32 %r6, [%d2];\n"
    " setp.lo.u32 %q2, %r6, %r2;\n @%q2 bra again;\n"
    "others:\n bar.sync 0;\n"
    " mul.wide.u32 %d3, %r5, 4;\n add.u64 %d4, %d1, %d3;\n st.global.u32 [%d4], 1;\n ret;\n}\n";

/* Launches it thrice; each of the threads writes 1 once all blocks have got so far. */
static void blocks_wait(CUfunction kernel, const char *name, unsigned blocks)
{
    static uint32_t host[MOST_BLOCKS * THREADS];
    CUdeviceptr p, word;
    void *params[] = {&p, &word};
    unsigned wrong = 0, threads = blocks * THREADS;

    if (!ok(blocks && blocks <= MOST_BLOCKS, "%s: %u blocks", name, blocks))
        return;
    success(cuMemAlloc_v2(&p, 4 * threads), "memory");
    success(cuMemAlloc_v2(&word, 4), "a word");
    for (int launch = 0; launch < 3; launch++) {
        success(cuMemsetD32_v2(word, 0, 1), "not yet");
        success(cuMemsetD32_v2(p, 0, threads), "zeroes");
        success(cuLaunchKernel(kernel, blocks, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL),
                "launch");
        success(cuMemcpyDtoH_v2(host, p, 4 * threads), "it ends");
        for (unsigned i = 0; i < threads; i++)
            wrong += host[i] != 1;
    }
    eq_u64(wrong, 0, "%s: all blocks went on", name);
}

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction poll, meet;
    int sms = 0, each = 0;

    success(cuInit(0), "cuInit");
    success(cuCtxCreate_v2(&context, 0, 0), "context");
    success(cuModuleLoadData(&module, ptx), "module");
    success(cuModuleGetFunction(&poll, module, "poll"), "kernel");
    success(cuModuleGetFunction(&meet, module, "meet"), "kernel");
    success(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0), "SMs");
    success(cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, meet, THREADS, 0), "blocks of each");
    blocks_wait(poll, "poll", BLOCKS);
    blocks_wait(meet, "meet", (unsigned)(sms * each));
    return done();
}
