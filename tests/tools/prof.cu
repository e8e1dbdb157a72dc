/* What tests/tools/test_prof.py looks for: prof.cu [MODE] */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <csignal>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

template <typename T> __global__ void add(T *x, const T *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += y[i];
}

__global__ void scale(float *x, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= by;
}

enum { N = 1 << 12, ROUNDS = 10 };

static void work()
{
    float *x, *y, *host = (float *)calloc(N, sizeof(float));
    cudaStream_t stream;

    cudaStreamCreate(&stream);
    cudaMalloc((void **)&x, N * sizeof(float));
    cudaMalloc((void **)&y, N * sizeof(float));
    cudaMemset(y, 0, N * sizeof(float));
    cudaMemcpy(x, host, N * sizeof(float), cudaMemcpyHostToDevice);
    nvtxRangePushA("rounds");
    for (int i = 0; i < ROUNDS; i++) {
        nvtxRangeId_t id = nvtxRangeStartA("round");
        if (i == 4)
            cudaProfilerStart();
        scale<<<N / 128, 128, 0, stream>>>(x, 2.0f, N);
        cudaStreamSynchronize(stream);
        if (i == 6)
            cudaProfilerStop();
        nvtxRangeEnd(id);
    }
    nvtxRangePop();
    nvtxMarkA("between");
    nvtxRangePushA("sums");
    add<float><<<dim3(N / 256, 1, 1), dim3(64, 4, 1), 512>>>(x, y, N / 4);
    cudaDeviceSynchronize();
    nvtxRangePop();
    cudaMemcpy(host, x, N * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(x);
    cudaFree(y);
    free(host);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static bool is_awake;

static void *wait_for_wake(void *)
{
    pthread_mutex_lock(&lock);
    while (!is_awake)
        pthread_cond_wait(&wake, &lock);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* A thread that waits for another, which sleeps meanwhile, and mutexes that are free. */
static void waits()
{
    pthread_t waiter;

    pthread_create(&waiter, NULL, wait_for_wake, NULL);
    pthread_setname_np(waiter, "waiter");
    usleep(20000);
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        is_awake = true;
        pthread_mutex_unlock(&lock);
    }
    pthread_cond_signal(&wake);
    pthread_join(waiter, NULL);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    if (!strcmp(mode, "fork")) { /* the child is a process of its own, with its own context */
        pid_t child = fork();
        if (!child) {
            work();
            return 0;
        }
        int status;
        waitpid(child, &status, 0);
    }
    if (!*mode)
        waits();
    work();
    if (!strcmp(mode, "kill"))
        kill(getpid(), SIGKILL);
    return !strcmp(mode, "fail") ? 3 : 0;
}
