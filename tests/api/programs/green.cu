/* Green contexts: shares of the SMs, streams in them, events, what is left of the resource. */
#include "check.h"

enum { N = 128 };

static __global__ void put(int *words, int value)
{
    words[threadIdx.x] = value;
}

int main(void)
{
    CUdevResource all = {}, groups[2] = {}, rest = {}, got = {};
    CUdevResourceDesc desc = NULL;
    CUgreenCtx green = NULL, of_stream = NULL;
    CUcontext primary = NULL, as_context = NULL, current = NULL, of = NULL;
    CUstream stream = NULL;
    CUevent event = NULL;
    CUdevice device = 0;
    unsigned int n = 2;
    unsigned long long id = 0, context_id = 0;
    int *words = NULL, to[N];

    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cudaMalloc(&words, sizeof(to)));
    OK(cuCtxGetCurrent(&primary));
    OK(cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM));
    EQ(all.type, CU_DEV_RESOURCE_TYPE_SM);
    TRUE(all.sm.smCount >= 4);
    unsigned int least = all.sm.smCount / 2 < 8 ? 2 : 8;
    OK(cuDevSmResourceSplitByCount(NULL, &n, &all, NULL, 0, least)); /* asks how many */
    TRUE(n >= 1);
    n = 1;
    OK(cuDevSmResourceSplitByCount(groups, &n, &all, &rest, 0, least));
    EQ(n, 1);
    TRUE(groups[0].sm.smCount >= least);
    EQ(groups[0].sm.smCount + rest.sm.smCount, all.sm.smCount);

    OK(cuDevResourceGenerateDesc(&desc, groups, 1));
    FAILS(cuGreenCtxCreate(&green, desc, device, 0), CUDA_ERROR_INVALID_VALUE); /* a flag must be */
    OK(cuGreenCtxCreate(&green, desc, device, CU_GREEN_CTX_DEFAULT_STREAM));
    OK(cuGreenCtxGetDevResource(green, &got, CU_DEV_RESOURCE_TYPE_SM));
    EQ(got.sm.smCount, groups[0].sm.smCount);
    OK(cuCtxFromGreenCtx(&as_context, green));
    OK(cuCtxGetDevResource(as_context, &got, CU_DEV_RESOURCE_TYPE_SM));
    EQ(got.sm.smCount, groups[0].sm.smCount);
    OK(cuGreenCtxGetId(green, &id));
    OK(cuCtxGetId(as_context, &context_id));
    EQ(id, context_id);

    /* A stream of its own, made from outside. */
    OK(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0));
    OK(cuStreamGetGreenCtx(stream, &of_stream));
    TRUE(of_stream == green);
    OK(cuStreamGetCtx_v2(stream, &of, &of_stream));
    TRUE(of_stream == green);
    put<<<1, N, 0, stream>>>(words, 5);
    OK(cudaGetLastError());
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuGreenCtxRecordEvent(green, event)); /* after all work of the green context */
    OK(cuEventSynchronize(event));
    OK(cuMemcpyDtoH(to, (CUdeviceptr)words, sizeof(to)));
    EQ(check_wrong(to, N, 5, 0), 0);
    OK(cuEventRecord(event, NULL));
    OK(cuGreenCtxWaitEvent(green, event));
    OK(cuStreamSynchronize(stream));

    /* Or as the thread's context: memory is the device's. */
    OK(cuCtxSetCurrent(as_context));
    OK(cuCtxGetCurrent(&current));
    TRUE(current == as_context);
    put<<<1, N>>>(words, 6);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(to, words, sizeof(to), cudaMemcpyDeviceToHost));
    EQ(check_wrong(to, N, 6, 0), 0);
    OK(cuCtxSetCurrent(primary));
    OK(cuStreamGetGreenCtx(NULL, &of_stream));
    TRUE(!of_stream);

    FAILS(cuDevSmResourceSplitByCount(groups, NULL, &all, NULL, 0, 2), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuDeviceGetDevResource(device, &got, CU_DEV_RESOURCE_TYPE_INVALID),
          CUDA_ERROR_INVALID_RESOURCE_TYPE);
    FAILS(cuDevResourceGenerateDesc(&desc, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_DEFAULT, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamDestroy(stream));
    OK(cuEventDestroy(event));
    OK(cuGreenCtxDestroy(green));
    TRUE(cuGreenCtxGetDevResource(green, &got, CU_DEV_RESOURCE_TYPE_SM) != CUDA_SUCCESS);
    OK(cudaFree(words));
    return finish();
}
