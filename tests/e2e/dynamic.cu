/* Kernels that launch kernels: order, nesting, limits and errors of the device runtime. */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(cond) do { if (!(cond)) { printf("FAIL line %d: %s\n", __LINE__, #cond); failed = 1; } } while (0)

static int failed;

struct big { int a[20]; };

__global__ void add(int *out, int k, big b)
{
    atomicAdd(&out[k], b.a[3] + threadIdx.x);
}

/* Every way to launch. Each thread adds 1766 to its word. */
__global__ void launch_all(int *out)
{
    big b;
    cudaStream_t s;
    cudaEvent_t e;
    int k = blockIdx.x * blockDim.x + threadIdx.x;

    for (int i = 0; i < 20; i++)
        b.a[i] = i;
    add<<<2, 32>>>(out, k, b);
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    add<<<dim3(2, 2), dim3(4, 8), 128, s>>>(out, k, b);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    cudaEventRecord(e, s);
    cudaStreamWaitEvent(s, e, 0);
    cudaEventDestroy(e);
    cudaStreamDestroy(s);
    add<<<1, 1, 0, cudaStreamTailLaunch>>>(out, k, b);
    add<<<1, 1, 0, cudaStreamFireAndForget>>>(out, k, b);
    if (cudaGetLastError() != cudaSuccess)
        out[k] = -1;
}

static void test_all(int *d)
{
    const int n = 40; /* two warps, the second half empty, in each of two blocks */
    static int h[2 * n];

    cudaMemset(d, 0, sizeof(h));
    launch_all<<<2, n>>>(d);
    CHECK(cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost) == cudaSuccess);
    for (int i = 0; i < 2 * n; i++)
        CHECK(h[i] == 1766);
}

/* Writes its number at the next free place. */
__global__ void note(int *log, int number)
{
    log[1 + atomicAdd(log, 1)] = number;
}

__global__ void middle(int *log)
{
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 4);
    note<<<1, 1>>>(log, 2);
    note<<<1, 1>>>(log, 3);
}

__global__ void ordered(int *log)
{
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 6);
    note<<<1, 1>>>(log, 1);
    middle<<<1, 1>>>(log);
    note<<<1, 1>>>(log, 5);
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 7);
}

static void test_order(int *d)
{
    int h[10];

    cudaMemset(d, 0, sizeof(h));
    ordered<<<1, 1>>>(d);
    note<<<1, 1>>>(d, 8); /* behind the whole family */
    cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
    CHECK(h[0] == 8);
    for (int i = 1; i <= 8; i++)
        CHECK(h[i] == i);
}

__global__ void descend(int *out, int depth)
{
    out[0] = depth;
    descend<<<1, 1>>>(out, depth + 1);
    if (cudaError_t error = cudaGetLastError())
        out[1] = error;
}

static void test_depth(int *d)
{
    int h[2];

    cudaMemset(d, 0, sizeof(h));
    descend<<<1, 1>>>(d, 0);
    CHECK(cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(h[0] == 24);
    CHECK(h[1] == cudaErrorLaunchMaxDepthExceeded);
}

/* out[0] counts children, out[1..] are errors. */
__global__ void count(int *out)
{
    atomicAdd(out, 1);
}

__global__ void too_many(int *out, int n)
{
    for (int i = 0; i < n; i++) {
        count<<<1, 1>>>(out);
        out[1 + i] = cudaGetLastError();
    }
}

static void test_pending(int *d)
{
    int h[2100];
    size_t limit = 0;

    CHECK(cudaDeviceGetLimit(&limit, cudaLimitDevRuntimePendingLaunchCount) == cudaSuccess);
    CHECK(limit == 2048);
    cudaMemset(d, 0, sizeof(h));
    too_many<<<1, 1>>>(d, 2048);
    cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
    CHECK(h[0] == 2048 && h[2048] == cudaSuccess);
    cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 3);
    for (int round = 0; round < 2; round++) {
        cudaMemset(d, 0, sizeof(h));
        too_many<<<1, 1>>>(d, 5);
        cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
        CHECK(h[0] == 3 && h[3] == cudaSuccess);
        CHECK(h[4] == cudaErrorLaunchPendingCountExceeded && h[5] == h[4]);
    }
    cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount, 2048);
}

__global__ void errors(int *out)
{
    cudaStream_t s;
    cudaEvent_t e;
    void *p;

    if (threadIdx.x) { /* what another thread does wrong is not ours */
        __syncthreads();
        out[8] = cudaGetLastError();
        return;
    }
    count<<<1, 2048>>>(out + 20);
    out[0] = cudaPeekAtLastError();
    out[1] = cudaGetLastError();
    out[2] = cudaGetLastError();
    __syncthreads();
    out[3] = cudaStreamCreateWithFlags(&s, cudaStreamDefault);
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamDestroy(s);
    count<<<1, 1, 0, s>>>(out + 20);
    out[4] = cudaGetLastError();
    out[5] = cudaEventCreateWithFlags(&e, cudaEventDefault);
    out[6] = cudaMemsetAsync(nullptr, 0, 4, 0);
    out[7] = cudaMalloc(&p, (size_t)1 << 40);
    cudaMalloc(&p, 16);
    *(int *)p = 5;
    out[9] = *(int *)p;
    out[10] = cudaFree(p);
}

static void test_errors(int *d)
{
    static const int want[] = {cudaErrorInvalidConfiguration, cudaErrorInvalidConfiguration, cudaSuccess,
                               cudaErrorInvalidValue, cudaErrorInvalidResourceHandle, cudaErrorInvalidValue,
                               cudaErrorInvalidValue, cudaErrorMemoryAllocation, cudaSuccess, 5, cudaSuccess};
    int h[21];

    cudaMemset(d, 0, sizeof(h));
    errors<<<1, 2>>>(d);
    CHECK(cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost) == cudaSuccess);
    for (int i = 0; i < 11; i++)
        if (h[i] != want[i])
            printf("FAIL error %d is %d, not %d\n", i, h[i], want[i]), failed = 1;
    CHECK(h[20] == 0);
}

/* 8 x 4 x 2 bytes of pattern into the middle of 16 x 8 x 4. */
__global__ void copies(char *to, char *from)
{
    cudaMemcpy3DParms p = {};

    cudaMemsetAsync(to, 9, 512, 0);
    cudaMemset3DAsync(cudaPitchedPtr{from, 8, 8, 4}, 1, cudaExtent{8, 4, 2}, 0);
    cudaMemset2DAsync(from, 8, 2, 4, 2, 0);
    p.srcPtr = cudaPitchedPtr{from, 8, 8, 4};
    p.dstPtr = cudaPitchedPtr{to, 16, 16, 8};
    p.dstPos = cudaPos{4, 2, 1};
    p.extent = cudaExtent{8, 4, 2};
    p.kind = cudaMemcpyDeviceToDevice;
    cudaMemcpy3DAsync(&p, 0);
    cudaMemcpy2DAsync(to, 16, from, 8, 3, 2, cudaMemcpyDeviceToDevice, 0);
    cudaMemcpyAsync(to + 500, from, 4, cudaMemcpyDeviceToDevice, 0);
}

static void test_copies(int *d)
{
    char h[512], want[512];

    memset(want, 9, sizeof(want));
    for (int z = 0; z < 2; z++)
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 8; x++)
                want[((z + 1) * 8 + y + 2) * 16 + x + 4] = !z && y < 2 && x < 4 ? 2 : 1;
    for (int y = 0; y < 2; y++)
        memset(want + 16 * y, 2, 3);
    memset(want + 500, 2, 4);
    copies<<<1, 1>>>((char *)d, (char *)d + 1024);
    CHECK(cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(!memcmp(h, want, sizeof(h)));
}

__global__ void ask(int *out)
{
    cudaFuncAttributes a;

    cudaGetDevice(&out[0]);
    cudaGetDeviceCount(&out[1]);
    cudaDeviceGetAttribute(&out[2], cudaDevAttrWarpSize, 0);
    out[3] = cudaDeviceGetAttribute(&out[4], cudaDevAttrWarpSize, 99);
    out[5] = cudaFuncGetAttributes(&a, count) == cudaSuccess && a.maxThreadsPerBlock == 1024;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&out[6], count, 64, 0);
    cudaRuntimeGetVersion(&out[7]);
    printf("%s, %s\n", cudaGetErrorName(cudaErrorInvalidValue), cudaGetErrorString(cudaSuccess));
}

static void test_questions(int *d)
{
    int h[8], blocks = 0, version = 0, devices = 0;

    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, count, 64, 0);
    cudaRuntimeGetVersion(&version);
    cudaGetDeviceCount(&devices);
    ask<<<1, 1>>>(d);
    cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
    CHECK(h[0] == 0 && h[1] == devices && h[2] == 32 && h[3] == cudaErrorInvalidDevice);
    CHECK(h[5] == 1 && h[6] == blocks && h[7] >= 12000 && version >= 12000);
}

/* ---- launches that their kernel does not take: the launching thread's error, and nobody else's */

__global__ void __launch_bounds__(64) narrow(int *p)
{
    p[16] = 1;
}

__global__ void roomy(int *p)
{
    extern __shared__ int words[];
    __shared__ int fixed[8192];
    fixed[threadIdx.x] = words[threadIdx.x] = p[16];
    __syncthreads();
    p[17] = fixed[0] + words[threadIdx.x];
}

__global__ void launch_refused(int *out)
{
    if (threadIdx.x == 1) {
        out[8] = cudaPeekAtLastError();
        return;
    }
    roomy<<<1, 1, 1 << 20>>>(out);
    out[0] = cudaGetLastError();
    out[1] = cudaGetLastError();
    narrow<<<1, 65>>>(out);
    out[2] = cudaGetLastError();
    roomy<<<1, 1, 40 << 10>>>(out); /* beside 32 KiB of its own */
    out[3] = cudaGetLastError();
    narrow<<<1, 1025>>>(out);
    out[4] = cudaGetLastError();
    narrow<<<1, 64>>>(out);
    out[5] = cudaGetLastError();
}

static void test_refused(int *d)
{
    const int want[6] = {cudaErrorInvalidValue,         cudaSuccess,
                         cudaErrorInvalidValue,         cudaErrorInvalidValue,
                         cudaErrorInvalidConfiguration, cudaSuccess};
    int h[32];

    cudaMemset(d, 0xff, sizeof(h));
    launch_refused<<<1, 2>>>(d);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost) == cudaSuccess);
    for (int i = 0; i < 6; i++)
        CHECK(h[i] == want[i]);
    CHECK(h[8] == cudaSuccess && h[16] == 1 && h[17] == -1);
}

__global__ void wild(int *p)
{
    *p = 1;
}

__global__ void launch_wild(int *out)
{
    wild<<<1, 1>>>((int *)16);
    count<<<1, 1>>>(out);
}

static void test_fault(int *d)
{
    launch_wild<<<1, 1>>>(d);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    CHECK(cudaMemset(d, 0, 4) == cudaErrorIllegalAddress);
}

int main()
{
    int *d;

    cudaMalloc(&d, 1 << 16);
    test_all(d);
    test_order(d);
    test_depth(d);
    test_pending(d);
    test_errors(d);
    test_copies(d);
    test_questions(d);
    test_refused(d);
    test_fault(d);
    puts(failed ? "FAIL" : "PASS");
    return failed;
}
