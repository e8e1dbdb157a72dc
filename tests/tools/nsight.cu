/* What tests/tools/test_nsight.py looks at: kernels inside and outside of NVTX ranges, some of another thread. */
#include <cstdio>
#include <cstdlib>
#include <pthread.h>

#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

__global__ void first(int *x)
{
    x[threadIdx.x]++;
}

__global__ void second(int *x)
{
    x[threadIdx.x] += 2;
}

static int *memory;

static void *beside(void *)
{
    nvtxRangePushA("outer"); /* of this thread, with nothing in it */
    second<<<1, 32>>>(memory);
    cudaDeviceSynchronize();
    nvtxRangePop();
    return NULL;
}

int main()
{
    pthread_t thread;

    nvtxRangePushA("early"); /* before the first call of CUDA */
    cudaMalloc(&memory, 128);
    first<<<1, 32>>>(memory);
    nvtxRangePop();
    nvtxRangePushA("outer");
    first<<<1, 32>>>(memory);
    nvtxRangePushA("inner");
    second<<<1, 32>>>(memory);
    nvtxRangePop();
    nvtxRangeId_t id = nvtxRangeStartA("started");
    pthread_create(&thread, NULL, beside, NULL);
    pthread_join(thread, NULL);
    nvtxRangeEnd(id);
    nvtxRangePop();
    nvtxDomainHandle_t domain = nvtxDomainCreateA("mine");
    nvtxEventAttributes_t a = {};
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = "outer";
    nvtxDomainRangePushEx(domain, &a);
    second<<<1, 32>>>(memory);
    nvtxDomainRangePop(domain);
    for (int i = 0; i < 2; i++) {
        cudaProfilerStart();
        first<<<1, 32>>>(memory);
        cudaProfilerStop();
    }
    cudaDeviceSynchronize();
    printf("%s %s\n", cudaGetErrorName(cudaGetLastError()), getenv("COLOUR") ? getenv("COLOUR") : "");
    return 4;
}
