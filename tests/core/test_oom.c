/*
 * Every allocation of a whole session with the driver API fails once (code is fake, see
 * tests/dev/fake_jit.h): the call that met the failure says CUDA_ERROR_OUT_OF_MEMORY, everything
 * can be destroyed, no device memory is lost, and the same session works afterwards. Leaks of host
 * memory are AddressSanitizer's business.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "../api/driver_fixture.h"

#define N 1000

/* cuInit() is once per process: a child each. */
static void test_init(void)
{
    unsigned n, failed = 0;
    int status = 0;

    for (n = 1; n < 200; n++) {
        pid_t child = fork();
        if (!child) {
            hd_fault_set_alloc(n);
            CUresult result = cuInit(0);
            bool injected = hd_fault_alloc_count() >= n;
            hd_fault_set_alloc(0);
            _exit(result == CUDA_SUCCESS               ? (injected ? 1 : 0)
                  : result == CUDA_ERROR_OUT_OF_MEMORY ? 2
                                                       : 3);
        }
        waitpid(child, &status, 0);
        failed += !WIFEXITED(status) || WEXITSTATUS(status) == 3;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            break;
    }
    eq_u64(failed, 0, "cuInit after %u failures", n - 1);
}

struct session {
    CUcontext ctx;
    CUmodule module;
    CUfunction add;
    CUdeviceptr memory[3], large;
    void *pinned;
    CUstream stream;
    CUevent event;
    CUlibrary library;
    unsigned unexpected; /* errors other than the one we made */
};

static bool good(struct session *s, CUresult result)
{
    s->unexpected += result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY)
        diag("error %d", (int)result);
    return result == CUDA_SUCCESS;
}

static bool session_open(struct session *s)
{
    if (!good(s, cuCtxCreate_v2(&s->ctx, 0, 0)) ||
        !good(s, cuModuleLoadData(&s->module, driver_ptx)) ||
        !good(s, cuModuleGetFunction(&s->add, s->module, "add")) ||
        !good(s, cuLibraryLoadData(&s->library, driver_ptx, NULL, NULL, 0, NULL, NULL, 0)))
        return false;
    for (unsigned i = 0; i < 3; i++) {
        if (!good(s, cuMemAlloc_v2(&s->memory[i], N * sizeof(float))))
            return false;
    }
    return good(s, cuMemAlloc_v2(&s->large, 3 << 20)) &&
           good(s, cuMemHostAlloc(&s->pinned, 4096, 0)) && good(s, cuStreamCreate(&s->stream, 1)) &&
           good(s, cuEventCreate(&s->event, 0));
}

static bool session_work(struct session *s)
{
    static float data[N], sums[N];
    struct add_params p = {(float *)(uintptr_t)s->memory[0], (float *)(uintptr_t)s->memory[1],
                           (float *)(uintptr_t)s->memory[2], N};
    void *params[] = {&p.a, &p.b, &p.c, &p.n};
    CUkernel kernel;
    CUfunction func;

    for (unsigned i = 0; i < N; i++)
        data[i] = (float)i;
    if (!good(s, cuMemcpyHtoD_v2(s->memory[0], data, sizeof(data))) ||
        !good(s, cuMemcpyHtoDAsync_v2(s->memory[1], data, sizeof(data), s->stream)) ||
        !good(s, cuMemsetD32Async(s->large, 7, 1000, NULL)) ||
        !good(s, driver_launch(s->add, 4, 256, s->stream, params)) ||
        !good(s, cuEventRecord(s->event, s->stream)) ||
        !good(s, cuLibraryGetKernel(&kernel, s->library, "add")) ||
        !good(s, cuKernelGetFunction(&func, kernel)) ||
        !good(s, driver_launch(func, 4, 256, NULL, params)) ||
        !good(s, cuStreamWaitEvent(NULL, s->event, 0)) || !good(s, cuCtxSynchronize()) ||
        !good(s, cuMemcpyDtoH_v2(sums, s->memory[2], sizeof(sums))))
        return false;
    for (unsigned i = 0; i < N; i++)
        s->unexpected += sums[i] != (float)(2 * i);
    return true;
}

/* Whatever came into being; a failure may hit here as well. */
static bool session_close(struct session *s)
{
    bool all = true;

    if (s->event)
        all &= good(s, cuEventDestroy_v2(s->event));
    if (s->stream)
        all &= good(s, cuStreamDestroy_v2(s->stream));
    if (s->pinned)
        all &= good(s, cuMemFreeHost(s->pinned));
    if (s->large)
        all &= good(s, cuMemFree_v2(s->large));
    if (s->library)
        all &= good(s, cuLibraryUnload(s->library));
    if (s->ctx)
        all &= good(s, cuCtxDestroy_v2(s->ctx));
    return all;
}

static bool session_run(void *unused)
{
    struct session s = {0};
    bool worked = session_open(&s) && session_work(&s);

    worked &= session_close(&s);
    if (s.unexpected)
        ok(false, "another error or wrong sums after %lu allocations",
           (unsigned long)hd_fault_alloc_count());
    return worked;
}

static bool primary_run(void *unused)
{
    struct session s = {0};
    CUdeviceptr p;
    bool worked = good(&s, cuDevicePrimaryCtxRetain(&s.ctx, 0));

    if (worked) {
        worked = good(&s, cuCtxSetCurrent(s.ctx)) && good(&s, cuMemAlloc_v2(&p, 64)) &&
                 good(&s, cuMemcpyHtoD_v2(p, "text", 4)) &&
                 good(&s, cuDevicePrimaryCtxReset_v2(0)) && good(&s, cuMemAlloc_v2(&p, 64)) &&
                 good(&s, cuMemcpyHtoD_v2(p, "text", 4));
        worked &= good(&s, cuDevicePrimaryCtxRelease_v2(0));
    }
    if (s.unexpected)
        ok(false, "another error after %lu allocations", (unsigned long)hd_fault_alloc_count());
    return worked;
}

static size_t memory_left(void)
{
    CUcontext ctx;
    size_t unused = 0, total;

    if (cuCtxCreate_v2(&ctx, 0, 0) == CUDA_SUCCESS) {
        (void)cuMemGetInfo_v2(&unused, &total);
        (void)cuCtxDestroy_v2(ctx);
    }
    return unused;
}

int main(void)
{
    setenv("HEDDLE_MEMORY", "64M", 1);
    test_init();
    success(cuInit(0), "cuInit");
    if (!ok(session_run(NULL), "the session works"))
        return done();
    size_t before = memory_left();
    tap_oom_loop(session_run, NULL, "session");
    tap_oom_loop(primary_run, NULL, "primary context");
    eq_u64(memory_left(), before, "no device memory is lost");
    return done();
}
