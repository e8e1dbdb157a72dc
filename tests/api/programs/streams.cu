/* Streams: order, priorities, the two default ones, functions of the host, words waited for. */
#include "check.h"

#include <pthread.h>

static __global__ void put(int *where, int value)
{
    *where = value;
}

/* Waits until the host says go on. */
static __global__ void hold(volatile int *go, int *where, int value)
{
    while (!*go)
        ;
    *where = value;
}

static void make(void)
{
    int least = 9, most = 9, priority = 99;
    unsigned int flags = 99;
    unsigned long long a = 0, b = 0;
    cudaStream_t stream = NULL, other = NULL;
    CUcontext context = NULL, of = NULL;

    OK(cudaDeviceGetStreamPriorityRange(&least, &most));
    TRUE(most <= least);
    OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, most));
    OK(cudaStreamGetPriority(stream, &priority));
    EQ(priority, most);
    OK(cudaStreamGetFlags(stream, &flags));
    EQ(flags, cudaStreamNonBlocking);
    OK(cuStreamCreateWithPriority(&other, CU_STREAM_DEFAULT, most - 100)); /* cut to the range */
    OK(cuStreamGetPriority(other, &priority));
    EQ(priority, most);
    OK(cudaStreamGetId(stream, &a));
    OK(cuStreamGetId(other, &b));
    TRUE(a != b);
    OK(cuStreamGetCtx(stream, &of));
    OK(cuCtxGetCurrent(&context));
    TRUE(of == context);
    int device = -1;
    OK(cudaStreamGetDevice(stream, &device));
    EQ(device, 0);
    FAILS(cudaStreamCreateWithFlags(&stream, 0x80), cudaErrorInvalidValue);
    FAILS(cudaStreamCreate(NULL), cudaErrorInvalidValue);
    OK(cudaStreamDestroy(stream));
    OK(cuStreamDestroy(other));
    FAILS(cuStreamSynchronize(other), CUDA_ERROR_INVALID_HANDLE);
    TRUE(cudaStreamDestroy(0) != cudaSuccess);
    cudaGetLastError();
}

static void attributes(void)
{
    cudaStream_t stream = NULL, twin = NULL;
    cudaStreamAttrValue value = {}, got = {};
    CUstreamAttrValue driver = {};

    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreate(&twin));
    value.syncPolicy = cudaSyncPolicyYield;
    OK(cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value));
    OK(cudaStreamGetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &got));
    EQ(got.syncPolicy, cudaSyncPolicyYield);
    OK(cudaStreamCopyAttributes(twin, stream));
    OK(cuStreamGetAttribute(twin, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &driver));
    EQ(driver.syncPolicy, CU_SYNC_POLICY_YIELD);
    value.memSyncDomain = cudaLaunchMemSyncDomainRemote;
    OK(cudaStreamSetAttribute(stream, cudaStreamAttributeMemSyncDomain, &value));
    OK(cudaStreamGetAttribute(stream, cudaStreamAttributeMemSyncDomain, &got));
    EQ(got.memSyncDomain, cudaLaunchMemSyncDomainRemote);
    OK(cuStreamGetAttribute(stream, CU_STREAM_ATTRIBUTE_PRIORITY, &driver));
    EQ(driver.priority, 0);
    FAILS(cudaStreamGetAttribute(stream, (cudaStreamAttrID)77, &got), cudaErrorInvalidValue);
    FAILS(cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &driver),
          CUDA_ERROR_INVALID_VALUE);
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(twin));
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int journal[8], entries;

static void CUDART_CB note(void *number)
{
    pthread_mutex_lock(&lock);
    journal[entries++] = (int)(intptr_t)number;
    pthread_mutex_unlock(&lock);
}

static void CUDART_CB note_status(cudaStream_t, cudaError_t status, void *number)
{
    EQ(status, cudaSuccess);
    note(number);
}

/* Work and functions of the host come in the stream's order. */
static void host_functions(int *device)
{
    cudaStream_t stream = NULL;
    int value = 0;

    OK(cudaStreamCreate(&stream));
    put<<<1, 1, 0, stream>>>(device, 1);
    OK(cudaLaunchHostFunc(stream, note, (void *)1));
    OK(cuLaunchHostFunc(stream, note, (void *)2));
    OK(cudaStreamAddCallback(stream, note_status, (void *)3, 0));
    put<<<1, 1, 0, stream>>>(device, 2);
    OK(cudaStreamSynchronize(stream));
    EQ(entries, 3);
    EQ(check_wrong(journal, 3, 1, 1), 0);
    OK(cudaMemcpy(&value, device, 4, cudaMemcpyDeviceToHost));
    EQ(value, 2);
    FAILS(cudaStreamAddCallback(stream, note_status, NULL, 1), cudaErrorInvalidValue);
    FAILS(cuLaunchHostFunc(stream, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cudaStreamDestroy(stream));
}

/* The legacy default stream waits for the others, but not for those that do not block. */
static void default_streams(int *device)
{
    cudaStream_t blocking = NULL, free_one = NULL;
    int *go = NULL, value = 0;

    OK(cudaHostAlloc(&go, 4, cudaHostAllocMapped));
    *go = 0;
    OK(cudaStreamCreate(&blocking));
    OK(cudaStreamCreateWithFlags(&free_one, cudaStreamNonBlocking));
    OK(cudaMemset(device, 0, 16));
    OK(cudaDeviceSynchronize());
    hold<<<1, 1, 0, blocking>>>(go, device, 5);
    put<<<1, 1, 0, free_one>>>(device + 1, 6);
    OK(cudaStreamSynchronize(free_one)); /* ends although the other one waits */
    put<<<1, 1, 0, cudaStreamLegacy>>>(device, 7);
    EQ(cudaStreamQuery(blocking), cudaErrorNotReady);
    EQ(cuStreamQuery(CU_STREAM_LEGACY), CUDA_ERROR_NOT_READY);
    cudaGetLastError(); /* keeps that, too */
    *(volatile int *)go = 1;
    OK(cudaStreamSynchronize(cudaStreamLegacy));
    OK(cudaStreamQuery(blocking));
    OK(cudaMemcpy(&value, device, 4, cudaMemcpyDeviceToHost));
    EQ(value, 7); /* after what was held */
    put<<<1, 1, 0, cudaStreamPerThread>>>(device, 8);
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    OK(cudaMemcpy(&value, device, 4, cudaMemcpyDeviceToHost));
    EQ(value, 8);
    OK(cudaStreamDestroy(blocking));
    OK(cudaStreamDestroy(free_one));
    OK(cudaFreeHost(go));
}

static void words(int *device)
{
    CUstream waiting = NULL, writing = NULL;
    CUdeviceptr flag = (CUdeviceptr)(device + 2);
    int value = 0;

    OK(cuStreamCreate(&waiting, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&writing, CU_STREAM_NON_BLOCKING));
    OK(cuMemsetD32(flag, 0, 2));
    OK(cuMemsetD32((CUdeviceptr)device, 0, 1));
    OK(cuCtxSynchronize()); /* fills are asynchronous, and these streams wait for none */
    OK(cuStreamWaitValue32(waiting, flag, 3, CU_STREAM_WAIT_VALUE_GEQ));
    put<<<1, 1, 0, waiting>>>(device, 11);
    EQ(cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
    OK(cuStreamWriteValue32(writing, flag, 4, CU_STREAM_WRITE_VALUE_DEFAULT));
    OK(cuStreamSynchronize(waiting));
    OK(cuMemcpyDtoH(&value, (CUdeviceptr)device, 4));
    EQ(value, 11);
    CUstreamBatchMemOpParams list[2] = {};
    list[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    list[0].writeValue.address = flag;
    list[0].writeValue.value64 = 0x100000002ull;
    list[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
    list[1].waitValue.address = flag;
    list[1].waitValue.value64 = 0x100000002ull;
    list[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    OK(cuStreamBatchMemOp(writing, 2, list, 0));
    OK(cuStreamSynchronize(writing));
    OK(cuMemcpyDtoH(&value, flag + 4, 4));
    EQ(value, 1);
    FAILS(cuStreamWriteValue32(writing, flag + 2, 1, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamWaitValue32(writing, flag, 1, 0x50), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamDestroy(waiting));
    OK(cuStreamDestroy(writing));
}

int main(void)
{
    int *device = NULL;

    OK(cudaMalloc(&device, 256));
    make();
    attributes();
    host_functions(device);
    default_streams(device);
    words(device);
    OK(cudaFree(device));
    return finish();
}
