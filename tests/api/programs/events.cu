/* Events: what they mark, times, flags, waits between streams. */
#include "check.h"

static __global__ void hold(volatile int *go)
{
    while (!*go)
        ;
}

static __global__ void add(int *where, int value)
{
    *where = *where * 10 + value;
}

static void states(void)
{
    cudaEvent_t event = NULL;
    cudaStream_t stream = NULL;
    int *go = NULL;

    OK(cudaMallocHost(&go, 4));
    *go = 0;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));
    OK(cudaEventQuery(event)); /* never recorded: nothing to wait for */
    OK(cudaEventSynchronize(event));
    hold<<<1, 1, 0, stream>>>(go);
    OK(cudaEventRecord(event, stream));
    EQ(cudaEventQuery(event), cudaErrorNotReady);
    EQ(cudaStreamQuery(stream), cudaErrorNotReady);
    EQ(cudaGetLastError(), cudaSuccess); /* that was an answer */
    EQ(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    *(volatile int *)go = 1;
    OK(cudaEventSynchronize(event));
    OK(cuEventQuery(event));
    OK(cudaEventRecord(event, stream)); /* again: the last one counts */
    OK(cuEventSynchronize(event));
    OK(cudaStreamSynchronize(stream));
    OK(cudaEventDestroy(event));
    FAILS(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuEventRecord(event, stream), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cudaEventCreateWithFlags(&event, 0x40), cudaErrorInvalidValue);
    FAILS(cudaEventCreate(NULL), cudaErrorInvalidValue);
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeHost(go));
}

static void times(void)
{
    cudaEvent_t start = NULL, stop = NULL, plain = NULL, fresh = NULL;
    float ms = -1;

    OK(cudaEventCreateWithFlags(&start, cudaEventBlockingSync));
    OK(cudaEventCreate(&stop));
    OK(cudaEventCreate(&fresh));
    OK(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
    OK(cudaEventRecordWithFlags(start, 0, cudaEventRecordDefault));
    OK(cudaEventRecord(stop, 0));
    OK(cudaEventRecord(plain, 0));
    OK(cudaEventSynchronize(plain));
    OK(cudaEventElapsedTime(&ms, start, stop));
    TRUE(ms >= 0);
    OK(cuEventElapsedTime(&ms, start, stop));
    TRUE(ms >= 0);
    FAILS(cudaEventElapsedTime(&ms, start, plain), cudaErrorInvalidResourceHandle);
    FAILS(cuEventElapsedTime(&ms, start, fresh), CUDA_ERROR_INVALID_HANDLE); /* not recorded */
    FAILS(cuEventElapsedTime(NULL, start, stop), CUDA_ERROR_INVALID_VALUE);
    FAILS(cudaEventRecordWithFlags(start, 0, 0x40), cudaErrorInvalidValue);
    OK(cudaEventDestroy(start));
    OK(cudaEventDestroy(stop));
    OK(cudaEventDestroy(plain));
    OK(cudaEventDestroy(fresh));
}

/* Three streams in an order that only events make. */
static void across(void)
{
    cudaStream_t streams[3];
    cudaEvent_t events[3];
    int *go = NULL, *where = NULL, value = 0;

    OK(cudaMallocHost(&go, 4));
    OK(cudaMalloc(&where, 4));
    OK(cudaMemset(where, 0, 4));
    for (int round = 0; round < 5; round++) {
        *go = 0;
        OK(cudaMemset(where, 0, 4));
        OK(cudaDeviceSynchronize());
        for (int i = 0; i < 3; i++) {
            OK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
            OK(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
        }
        hold<<<1, 1, 0, streams[0]>>>(go);
        add<<<1, 1, 0, streams[0]>>>(where, 1);
        OK(cudaEventRecord(events[0], streams[0]));
        OK(cudaStreamWaitEvent(streams[1], events[0], 0));
        add<<<1, 1, 0, streams[1]>>>(where, 2);
        OK(cuEventRecord(events[1], streams[1]));
        OK(cuStreamWaitEvent(streams[2], events[1], CU_EVENT_WAIT_DEFAULT));
        add<<<1, 1, 0, streams[2]>>>(where, 3);
        OK(cudaEventRecord(events[2], streams[2]));
        OK(cudaEventDestroy(events[0])); /* whoever waits goes on waiting */
        OK(cudaStreamWaitEvent(streams[0], events[2]));
        add<<<1, 1, 0, streams[0]>>>(where, 4);
        EQ(cudaStreamQuery(streams[2]), cudaErrorNotReady);
        *(volatile int *)go = 1;
        OK(cudaStreamSynchronize(streams[0]));
        OK(cudaMemcpy(&value, where, 4, cudaMemcpyDeviceToHost));
        EQ(value, 1234);
        for (int i = 0; i < 3; i++)
            OK(cudaStreamDestroy(streams[i]));
        OK(cudaEventDestroy(events[1]));
        OK(cudaEventDestroy(events[2]));
    }
    FAILS(cudaStreamWaitEvent(0, events[1], 0), cudaErrorInvalidResourceHandle);
    OK(cudaEventCreate(&events[0]));
    FAILS(cudaStreamWaitEvent(0, events[0], 0x40), cudaErrorInvalidValue);
    OK(cudaEventDestroy(events[0]));
    OK(cudaFreeHost(go));
    OK(cudaFree(where));
}

/* Between processes an event has no times, and cannot be of both kinds. */
static void interprocess(void)
{
    cudaEvent_t event = NULL;
    cudaIpcEventHandle_t handle;
    CUevent same = NULL;
    float ms = 0;

    OK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    OK(cudaIpcGetEventHandle(&handle, event));
    OK(cudaEventRecord(event, 0));
    OK(cudaEventSynchronize(event));
    FAILS(cudaEventElapsedTime(&ms, event, event), cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(event));
    FAILS(cuEventCreate(&same, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
    states();
    times();
    across();
    interprocess();
    return finish();
}
