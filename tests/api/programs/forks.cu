/*
 * fork() while other threads are in every kind of call. CUDA is not initialised in the child of a
 * process that has used it: its calls say so, none waits for a thread that is not there, and it ends
 * by exit() and by _exit().
 */
#include "check.h"
#include <atomic>
#include <pthread.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

__global__ void fill(int *p, int n)
{
    p[threadIdx.x] = n;
}
__global__ void say(int n)
{
    if (n < 0)
        printf("%d\n", n);
}

static std::atomic<bool> stop;
static std::atomic<unsigned> rounds[10];
static int *shared_words;

static void launches()
{
    fill<<<4, 64>>>(shared_words, 1);
    say<<<1, 32>>>(1);
    cudaGetLastError();
}
static void allocations()
{
    int *p = NULL;
    void *host = NULL;
    cudaMalloc(&p, 4096);
    cudaMallocHost(&host, 4096);
    cudaFree(p);
    cudaFreeHost(host);
}
static void copies()
{
    static thread_local int words[1024];
    cudaMemcpy(shared_words, words, sizeof(words), cudaMemcpyHostToDevice);
    cudaMemcpy(words, shared_words, sizeof(words), cudaMemcpyDeviceToHost);
}
static void modules()
{
    static thread_local int number;
    char text[512];
    CUmodule module;
    CUfunction function;
    snprintf(text, sizeof(text),
             ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { .reg .b32 %%r<2>; "
             "mov.u32 %%r1, %d; bar.sync 0; ret; }\n", number++);
    cudaFree(0);
    if (!cuModuleLoadData(&module, text)) {
        if (!cuModuleGetFunction(&function, module, "k"))
            cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
        cuModuleUnload(module);
    }
}
static void waits()
{
    cudaStream_t s;
    cudaEvent_t e;
    cudaStreamCreate(&s);
    cudaEventCreate(&e);
    fill<<<2, 64, 0, s>>>(shared_words, 3);
    cudaEventRecord(e, s);
    cudaEventSynchronize(e);
    cudaStreamSynchronize(s);
    cudaDeviceSynchronize();
    cudaEventDestroy(e);
    cudaStreamDestroy(s);
}
static void graphs()
{
    cudaStream_t s;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking); /* others use the legacy stream */
    cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
    fill<<<1, 32, 0, s>>>(shared_words, 4);
    cudaMemsetAsync(shared_words, 0, 64, s);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(s);
}
static void pools()
{
    void *p = NULL;
    cudaMallocAsync(&p, 1 << 16, 0);
    cudaFreeAsync(p, 0);
    cudaDeviceSynchronize();
}
static void logs()
{
    static thread_local char text[4096];
    size_t size = sizeof(text);
    cuMemFree(3); /* fails: a line of the error log */
    cuLogsDumpToMemory(NULL, text, &size, 0);
    cudaGetErrorString(cudaGetLastError());
}
static void host_functions()
{
    cudaLaunchHostFunc(
        0, [](void *) {}, NULL);
    cudaStreamSynchronize(0);
}
static void fork_children();

static void (*const works[])() = {launches, allocations, copies,         modules, waits,
                                  graphs,   pools,       logs, host_functions};
enum { WORKS = sizeof(works) / sizeof(works[0]) };

/* 0, or the number of the first call that answers something else. */
static int child_calls()
{
    static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n";
    const cudaError_t none = cudaErrorInitializationError;
    CUmodule module;
    CUdeviceptr va;
    CUcontext ctx;
    CUstream stream;
    int *p, count, version = 0;
    void *q;
    const char *name = NULL;
    char text[4096];
    size_t size = sizeof(text);

    if (cuInit(0) != CUDA_ERROR_NOT_INITIALIZED)
        return 1;
    if (cuDeviceGetCount(&count) != CUDA_ERROR_NOT_INITIALIZED || cuCtxGetCurrent(&ctx) != CUDA_ERROR_NOT_INITIALIZED)
        return 2;
    if (cuMemAlloc(&va, 64) != CUDA_ERROR_NOT_INITIALIZED || cuCtxSynchronize() != CUDA_ERROR_NOT_INITIALIZED)
        return 3;
    if (cuModuleLoadData(&module, ptx) != CUDA_ERROR_NOT_INITIALIZED ||
        cuStreamCreate(&stream, 0) != CUDA_ERROR_NOT_INITIALIZED)
        return 4;
    if (cudaMalloc(&p, 64) != none || cudaDeviceSynchronize() != none || cudaGetDeviceCount(&count) != none)
        return 5;
    if (cudaMemcpy(&count, shared_words, 4, cudaMemcpyDeviceToHost) != none || cudaFree(shared_words) != none)
        return 6;
    if (cudaMallocAsync(&q, 64, 0) != none || cudaStreamSynchronize(0) != none || cudaMallocHost(&q, 64) != none)
        return 7;
    cudaGetLastError();
    fill<<<1, 1>>>(shared_words, 1);
    if (cudaGetLastError() != none || cudaGetLastError() != cudaSuccess)
        return 8;
    cudaFuncAttributes attributes;
    if (cudaFuncGetAttributes(&attributes, fill) != none || cudaSetDevice(0) != none)
        return 9;
    if (cuDriverGetVersion(&version) != CUDA_SUCCESS || !version || cuGetErrorName(CUDA_SUCCESS, &name) || !name)
        return 10;
    if (strcmp(cudaGetErrorName(none), "cudaErrorInitializationError") || cudaRuntimeGetVersion(&version))
        return 11;
    if (cuLogsDumpToMemory(NULL, text, &size, 0) != CUDA_SUCCESS)
        return 12;
    return 0;
}

static std::atomic<unsigned> wrong, hung;

static void one_fork(unsigned number)
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        alarm(60); /* whoever waits for nobody ends by it */
        int place = child_calls();
        if (!place && number % 3 == 0) {
            int inner = 99;
            std::thread other([&] { inner = child_calls(); });
            other.join();
            place = inner;
        }
        if (number % 2)
            _exit(place);
        exit(place);
    }
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status)) {
        printf("child %u ends by signal %d\n", number, WTERMSIG(status));
        hung++;
    } else if (WEXITSTATUS(status)) {
        printf("child %u: call %d\n", number, WEXITSTATUS(status));
        wrong++;
    }
}

static void fork_children()
{
    static std::atomic<unsigned> number;
    for (int i = 0; i < 30; i++)
        one_fork(number++);
}

int main()
{
    std::vector<std::thread> threads;

    OK(cudaMalloc(&shared_words, 1 << 16));
    for (int i = 0; i < WORKS; i++)
        works[i]();
    for (int i = 0; i < WORKS; i++)
        threads.emplace_back([i] {
            while (!stop) {
                works[i]();
                rounds[i]++;
            }
        });
    std::thread others[2] = {std::thread(fork_children), std::thread(fork_children)};
    fork_children();
    for (auto &t : others)
        t.join();
    stop = true;
    for (auto &t : threads)
        t.join();
    EQ(wrong.load(), 0u);
    EQ(hung.load(), 0u);
    for (int i = 0; i < WORKS; i++)
        TRUE(rounds[i] > 0);
    OK(cudaDeviceSynchronize()); /* the parent goes on */
    OK(cudaFree(shared_words));
    return finish();
}
