/*
 * Four threads use one primary context at once: memory, streams, events, modules, launches. For
 * ThreadSanitizer above all; the sums must be right as well.
 */
#include <pthread.h>

#include "api/driver/cuda_abi.h"
#include "tap.h"

#define THREADS 4
#define ROUNDS  12
#define N       1024

static const char ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry add(.param .u64 p, .param .u32 v) {\n"
    ".reg .b32 %r<8>; .reg .b64 %d<4>;\n"
    "ld.param.u64 %d1, [p]; ld.param.u32 %r1, [v]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"
    "mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4; mul.wide.u32 %d2, %r5, 4;\n"
    "add.u64 %d3, %d1, %d2; ld.global.u32 %r6, [%d3]; add.u32 %r6, %r6, %r1;\n"
    "st.global.u32 [%d3], %r6; ret; }\n";

static CUcontext ctx;
static CUfunction shared_func;
static _Atomic unsigned called;

static void count_call(void *unused)
{
    called++;
}

struct job {
    CUstream stream;
    CUevent event;
    CUdeviceptr memory;
    unsigned wrong; /* failed calls and wrong sums */
};

#define TRY(call) (job->wrong += (call) != CUDA_SUCCESS)

static void launch_round(struct job *job, CUfunction func, unsigned round)
{
    static const unsigned ones = 1;
    unsigned sums[N], value = round;
    void *params[] = {&job->memory, (void *)&ones}, *more[] = {&job->memory, &value};

    TRY(cuMemsetD32Async(job->memory, 5, N, job->stream));
    for (unsigned i = 0; i < 5; i++)
        TRY(cuLaunchKernel(func, N / 128, 1, 1, 128, 1, 1, 0, job->stream, params, NULL));
    TRY(cuLaunchHostFunc(job->stream, count_call, NULL));
    TRY(cuEventRecord(job->event, job->stream));
    TRY(cuLaunchKernel(func, N / 128, 1, 1, 128, 1, 1, 0, job->stream, more, NULL));
    TRY(cuEventSynchronize(job->event));
    TRY(cuMemcpyDtoHAsync_v2(sums, job->memory, sizeof(sums), job->stream));
    TRY(cuStreamSynchronize(job->stream));
    for (unsigned i = 0; i < N; i++)
        job->wrong += sums[i] != 10 + round;
}

static void round_run(struct job *job, unsigned round)
{
    CUmodule module;
    CUfunction func = shared_func;

    TRY(cuStreamCreate(&job->stream, round % 2)); /* blocking and non-blocking ones */
    TRY(cuEventCreate(&job->event, 0));
    TRY(cuMemAlloc_v2(&job->memory, round % 3 ? N * sizeof(unsigned) : 3 << 20));
    if (round % 4 == 0) {
        TRY(cuModuleLoadData(&module, ptx));
        TRY(cuModuleGetFunction(&func, module, "add"));
    }
    launch_round(job, func, round);
    if (round % 4 == 0)
        TRY(cuModuleUnload(module));
    TRY(cuMemFree_v2(job->memory));
    TRY(cuEventDestroy_v2(job->event));
    TRY(cuStreamDestroy_v2(job->stream));
}

static void *thread_main(void *arg)
{
    struct job *job = arg;

    TRY(cuCtxSetCurrent(ctx));
    for (unsigned round = 0; round < ROUNDS; round++)
        round_run(job, round);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    struct job jobs[THREADS] = {0};
    CUmodule module;

    setenv("HEDDLE_MEMORY", "256M", 1);
    eq_u64(cuInit(0), CUDA_SUCCESS, "cuInit");
    eq_u64(cuDevicePrimaryCtxRetain(&ctx, 0), CUDA_SUCCESS, "context");
    eq_u64(cuCtxSetCurrent(ctx), CUDA_SUCCESS, "set");
    if (!ok(cuModuleLoadData(&module, ptx) == CUDA_SUCCESS &&
                cuModuleGetFunction(&shared_func, module, "add") == CUDA_SUCCESS,
            "module"))
        return done();
    for (unsigned i = 0; i < THREADS; i++)
        ok(!pthread_create(&threads[i], NULL, thread_main, &jobs[i]), "thread %u", i);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        eq_u64(jobs[i].wrong, 0, "thread %u saw no error and right sums", i);
    }
    eq_u64(called, THREADS * ROUNDS, "every host function ran once");
    eq_u64(cuCtxSynchronize(), CUDA_SUCCESS, "synchronize");
    eq_u64(cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS, "release");
    return done();
}
