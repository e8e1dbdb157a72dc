/*
 * A fault of one lane among many at places of their own names the instruction, in all code: also
 * where lanes access memory one by one in a function that all such places share.
 */
#include "api/driver/cuda_abi.h"
#include "base/str.h"
#include "tap.h"

#include <unistd.h>

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)

#define BLOCKS  256u
#define THREADS 256u

/* Many accesses of one kind: the one that faults is in the middle. */
#define LOADS                                                                                      \
    "ld.global.u32 %r3, [%d4+4];\nld.global.u32 %r4, [%d4+8];\n"                                   \
    "ld.global.u32 %r5, [%d5];\nld.global.u32 %r6, [%d4+16];\n"
static const char text[] =
    ".version 7.5\n.target sm_75\n.address_size 64\n"
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 store)\n"
    "{ .reg .b64 %d<8>; .reg .b32 %r<12>; .reg .pred %p;\n"
    "ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q];\n"
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r7, %ntid.x;\n"
    "mad.lo.u32 %r1, %r2, %r7, %r1; mul.wide.u32 %d3, %r1, 4;\n"
    "add.u64 %d3, %d1, %d3; ld.global.u32 %r8, [%d3];\n"
    "and.b32 %r9, %r8, 1023; mul.wide.u32 %d4, %r9, 32;\n"
    "add.u64 %d4, %d2, %d4; mul.wide.u32 %d5, %r8, 32;\n"
    "add.u64 %d5, %d2, %d5; ld.param.u32 %r10, [store];\n"
    "setp.ne.u32 %p, %r10, 0; @%p bra S;\n" LOADS "add.u32 %r3, %r3, %r4; add.u32 %r5, %r5, %r6;\n"
    "add.u32 %r3, %r3, %r5; st.global.u32 [%d4], %r3; ret;\n"
    "S: st.global.u32 [%d4+4], %r8;\n"
    "st.global.u32 [%d5+12], %r8;\n"
    "st.global.u32 [%d4+8], %r8; ret; }\n";

/* c[i] = a[i] + n - b[i]: loads that become operands of the sums, beside that of a parameter. */
static const char sums[] =
    ".version 7.5\n.target sm_75\n.address_size 64\n"
    ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n"
    "{ .reg .b64 %d<8>; .reg .b32 %r<12>;\n"
    "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [c];\n"
    "ld.param.u32 %r1, [n];\n"
    "mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;\n"
    "mad.lo.u32 %r2, %r3, %r4, %r2; mul.wide.u32 %d4, %r2, 4;\n"
    "add.u64 %d1, %d1, %d4; add.u64 %d2, %d2, %d4; add.u64 %d3, %d3, %d4;\n"
    "ld.global.u32 %r5, [%d1];\n"
    "add.u32 %r7, %r5, %r1;\n"
    "ld.global.u32 %r6, [%d2];\n"
    "sub.u32 %r7, %r7, %r6;\n"
    "st.global.u32 [%d3], %r7; ret; }\n";

/* Addresses that are computed, one for each thread, but not of neighbours: the side of a guess that
 * hardly ever runs. */
static const char computed[] =
    ".version 7.5\n.target sm_75\n.address_size 64\n"
    ".visible .entry k(.param .u64 p, .param .u64 q, .param .u32 what)\n"
    "{ .reg .b64 %d<8>; .reg .b32 %r<16>; .reg .pred %p<5>;\n"
    "ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q]; ld.param.u32 %r10, [what];\n"
    "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r7, %ntid.x;\n"
    "mad.lo.u32 %r1, %r2, %r7, %r1; setp.eq.u32 %p1, %r1, 51277;\n"
    "mul.lo.u32 %r3, %r1, 37; and.b32 %r3, %r3, 65535;\n"
    "selp.b32 %r4, 0x7fffffff, %r3, %p1;\n"
    "mul.wide.u32 %d3, %r3, 32; add.u64 %d3, %d2, %d3;\n"
    "mul.wide.u32 %d4, %r4, 32; add.u64 %d4, %d2, %d4;\n"
    "and.b32 %r11, %r10, 2; setp.ne.u32 %p2, %r11, 0;\n"
    "and.b32 %r11, %r10, 1; setp.ne.u32 %p3, %r11, 0;\n"
    "@%p2 bra V; @%p3 bra S;\n"
    "ld.global.u32 %r5, [%d3+4];\n"
    "ld.global.u32 %r6, [%d4];\n"
    "add.u32 %r5, %r5, %r6; st.global.u32 [%d3], %r5; ret;\n"
    "S: st.global.u32 [%d3+4], %r1;\n"
    "st.global.u32 [%d4], %r1; ret;\n"
    "V: @%p3 bra W;\n"
    "ld.global.v4.u32 {%r5, %r6, %r8, %r9}, [%d3+16];\n"
    "ld.global.v4.u32 {%r12, %r13, %r14, %r15}, [%d4];\n"
    "add.u32 %r5, %r5, %r12; add.u32 %r6, %r6, %r13; add.u32 %r8, %r8, %r14;\n"
    "add.u32 %r9, %r9, %r15; st.global.v4.u32 [%d3], {%r5, %r6, %r8, %r9}; ret;\n"
    "W: st.global.v4.u32 [%d3+16], {%r1, %r1, %r1, %r1};\n"
    "st.global.v4.u32 [%d4], {%r1, %r1, %r1, %r1}; ret; }\n";

/* Its result, and what is written to stderr meanwhile. */
static CUresult run(CUfunction func, void **params, char said[4096])
{
    FILE *file = tmpfile();
    int saved = dup(2);
    CUresult result;

    dup2(fileno(file), 2);
    result = cuLaunchKernel(func, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL);
    if (result == CUDA_SUCCESS) /* else the launching thread ran it */
        result = cuCtxSynchronize();
    dup2(saved, 2);
    close(saved);
    rewind(file);
    said[fread(said, 1, 4095, file)] = 0;
    fclose(file);
    return result;
}

static void test_fault(const char *ptx, unsigned what, unsigned at)
{
    const bool store = what & 1;
    static unsigned where[BLOCKS * THREADS];
    CUdeviceptr p, q;
    CUcontext ctx;
    CUmodule module;
    CUfunction func;
    void *params[] = {&p, &q, &what};
    char line[32], said[4096];

    for (unsigned i = 0; i < HD_COUNT_OF(where); i++)
        where[i] = i * 7919 % 1024;
    where[200 * THREADS + 77] = 0x7fffffff; /* 64 GiB away */
    success(cuDevicePrimaryCtxRetain(&ctx, 0), "context");
    success(cuCtxSetCurrent(ctx), "set");
    success(cuMemAlloc_v2(&p, sizeof(where)), "memory");
    success(cuMemAlloc_v2(&q, BLOCKS * THREADS * 32), "memory"); /* each thread's own */
    success(cuMemcpyHtoD_v2(p, where, sizeof(where)), "copy");
    success(cuModuleLoadData(&module, ptx), "load");
    success(cuModuleGetFunction(&func, module, "k"), "kernel");
    eq_u64(run(func, params, said), CUDA_ERROR_ILLEGAL_ADDRESS, "a wild %s",
           store ? "store" : "load");
    snprintf(line, sizeof(line), "ptx:%u", at);
    ok(strstr(said, store ? "st.global." : "ld.global.") && strstr(said, line),
       "the message has the instruction's line: %s", said);
    ok(strstr(said, "block (200,0,0), thread (77,0,0)"), "and the thread");
    (void)!cuDevicePrimaryCtxReset_v2(0);
}

/* The pointer that is wrong, 0 to 2, has the only access that can be at its address. */
static void test_operand(unsigned wrong)
{
    static const unsigned lines[] = {11, 13, 15};
    CUdeviceptr p[3];
    unsigned n = 5;
    CUcontext ctx;
    CUmodule module;
    CUfunction func;
    void *params[] = {&p[0], &p[1], &p[2], &n};
    char line[32], said[4096];

    success(cuDevicePrimaryCtxRetain(&ctx, 0), "context");
    success(cuCtxSetCurrent(ctx), "set");
    for (unsigned i = 0; i < 3; i++)
        success(cuMemAlloc_v2(&p[i], 1 << 20), "memory"); /* pages of its own */
    success(cuMemFree_v2(p[wrong]), "free");
    success(cuModuleLoadData(&module, sums), "load");
    success(cuModuleGetFunction(&func, module, "k"), "kernel");
    eq_u64(run(func, params, said), CUDA_ERROR_ILLEGAL_ADDRESS, "pointer %u is wrong", wrong);
    snprintf(line, sizeof(line), "ptx:%u:", lines[wrong]);
    ok(strstr(said, wrong == 2 ? "st.global.u32" : "ld.global.u32") && strstr(said, line),
       "the message has the line of its access, %u: %s", lines[wrong], said);
    ok(strstr(said, "block (") && strstr(said, "thread ("), "and a thread");
    (void)!cuDevicePrimaryCtxReset_v2(0);
}

int main(void)
{
    if (tap_lacks(getenv("HEDDLE_CPU")))
        return skip_all("this CPU lacks the level");
    setenv("HEDDLE_MEMORY", "64M", 1);
    success(cuInit(0), "cuInit");
    test_fault(text, 0, 16);
    test_fault(text, 1, 21);
    for (unsigned what = 0; what < 4; what++)
        test_fault(computed, what, (const unsigned[]){17, 20, 23, 27}[what]);
    for (unsigned wrong = 0; wrong < 3; wrong++)
        test_operand(wrong);
    return done();
}
