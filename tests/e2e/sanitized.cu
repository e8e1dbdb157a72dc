/*
 * A host program that is built with a sanitizer, whose own faults stay what they are: nothing,
 * "overflow" of the heap, a "leak", a "race", a "wild" read of the host, a kernel's "fault".
 */
#include <cuda_runtime.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__device__ int table[256];
__managed__ int counter;

__global__ void reverse(int *p, int n)
{
    __shared__ int s[256];

    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    p[threadIdx.x] = s[255 - threadIdx.x] + n + table[threadIdx.x];
    atomicAdd(&counter, 1);
}

__global__ void wild(int *p)
{
    *p = 1;
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        cudaError_t e = (call);                                                                    \
        if (e) {                                                                                   \
            printf("%s: %s\n", #call, cudaGetErrorName(e));                                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void called(void *flag)
{
    *(int *)flag = 1;
}

static void check(const int *p, int n)
{
    int out[256];

    TRY(cudaMemcpy(out, p, sizeof(out), cudaMemcpyDefault));
    for (int i = 0; i < 256; i++)
        if (out[i] != 255 - i + n + 2 * i)
            exit(printf("wrong at %d\n", i));
}

static void streams(int *p)
{
    cudaStream_t stream;
    cudaEvent_t event;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    static int flag;
    void *pool;

    TRY(cudaStreamCreate(&stream));
    TRY(cudaEventCreate(&event));
    reverse<<<1, 256, 0, stream>>>(p, 1);
    TRY(cudaEventRecord(event, stream));
    TRY(cudaLaunchHostFunc(stream, called, &flag));
    TRY(cudaMallocAsync(&pool, 4096, stream));
    TRY(cudaFreeAsync(pool, stream));
    TRY(cudaStreamSynchronize(stream));
    check(p, 1);
    TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    reverse<<<1, 256, 0, stream>>>(p, 2);
    TRY(cudaStreamEndCapture(stream, &graph));
    TRY(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        TRY(cudaGraphLaunch(exec, stream));
    TRY(cudaStreamSynchronize(stream));
    check(p, 2);
    TRY(cudaGraphExecDestroy(exec));
    TRY(cudaGraphDestroy(graph));
    TRY(cudaEventDestroy(event));
    TRY(cudaStreamDestroy(stream));
}

static void *thread_main(void *p)
{
    streams((int *)p);
    return NULL;
}

static int shared_value;

static void *racer(void *)
{
    for (int i = 0; i < 100000; i++)
        *(volatile int *)&shared_value += 1;
    return NULL;
}

static void host_fault(const char *kind, int *p)
{
    char *heap = (char *)malloc(10);
    pthread_t thread;

    if (!strcmp(kind, "overflow")) {
        ((volatile char *)heap)[10] = 1;
    } else if (!strcmp(kind, "race")) {
        pthread_create(&thread, NULL, racer, NULL);
        racer(NULL);
        pthread_join(thread, NULL);
    } else if (!strcmp(kind, "wild")) {
        *(volatile int *)(16 + (size_t)p % 2) = 1;
    } else if (!strcmp(kind, "undefined")) {
        volatile int one = 0x7fffffff;
        one = one + 1;
    } else if (!strcmp(kind, "leak")) {
        *(volatile char *)heap = 1;
        heap = NULL;
    }
    free(heap);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    int twice[256], *p;
    pthread_t thread;

    for (int i = 0; i < 256; i++)
        twice[i] = 2 * i;
    TRY(cudaMemcpyToSymbol(table, twice, sizeof(twice)));
    TRY(cudaMalloc(&p, 1024));
    streams(p);
    pthread_create(&thread, NULL, thread_main, p);
    pthread_join(thread, NULL);
    TRY(cudaDeviceSynchronize());
    if (counter != 8 * 256)
        return printf("counter %d\n", counter);
    if (!strcmp(kind, "fault")) {
        wild<<<1, 1>>>((int *)64);
        cudaError_t error = cudaDeviceSynchronize();
        if (error != cudaErrorIllegalAddress)
            return printf("fault: %s\n", cudaGetErrorName(error));
    } else {
        TRY(cudaFree(p));
        host_fault(kind, p);
    }
    puts("PASS");
    return 0;
}
