/*
 * Host threads with little stack: born with it, deep in a recursion, in a coroutine, in a signal's
 * handler on a stack of its own. Each makes calls, first ones of the process among them, and runs a
 * kernel that is compiled for it. The one argument says which.
 */
#include <cuda_runtime.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

template <int N> __global__ void reverse(int *p, int n)
{
    __shared__ int s[256];

    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (int i = 0; i < N; i++)
        n += __shfl_xor_sync(~0u, i, 1);
    p[threadIdx.x] = s[255 - threadIdx.x] + n;
}

static int out[256];
static const char *failed;

template <int N> static void work()
{
    int *p;

    failed = "cudaMalloc";
    if (cudaMalloc(&p, sizeof(out)))
        return;
    failed = "launch";
    reverse<N><<<1, 256>>>(p, 3);
    if (cudaGetLastError())
        return;
    failed = "copy";
    memset(out, 0, sizeof(out));
    if (cudaMemcpy(out, p, sizeof(out), cudaMemcpyDeviceToHost) || cudaFree(p))
        return;
    failed = "values";
    for (int i = 0; i < 256; i++)
        if (out[i] != 255 - i + 3 + N * (N - 1) / 2)
            return;
    /* An error keeps its message and its code. */
    failed = "error";
    if (cudaMalloc(&p, (size_t)1 << 60) != cudaErrorMemoryAllocation ||
        cudaGetLastError() != cudaErrorMemoryAllocation || cudaGetLastError())
        return;
    failed = NULL;
}

static void *thread_main(void *)
{
    work<1>();
    if (!failed)
        work<2>();
    return NULL;
}

static bool thread_run(size_t size_B)
{
    pthread_attr_t attr;
    pthread_t thread;

    failed = "thread";
    pthread_attr_init(&attr);
    if (pthread_attr_setstacksize(&attr, size_B) || pthread_create(&thread, &attr, thread_main, NULL))
        return false;
    pthread_join(thread, NULL);
    return !failed;
}

static volatile char sink;

/* Until 40 KiB are left of 2 MiB. */
static void dig(char *limit)
{
    char frame[2048];

    memset(frame, 1, sizeof(frame));
    if (frame - limit > 40 * 1024)
        dig(limit);
    else
        thread_main(NULL);
    sink = frame[100];
}

static void *digger(void *)
{
    pthread_attr_t attr;
    void *low;
    size_t size_B;

    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &low, &size_B);
    pthread_attr_destroy(&attr);
    dig((char *)low);
    return NULL;
}

static ucontext_t outer, inner;

static void coroutine_main()
{
    work<3>();
    swapcontext(&inner, &outer);
    if (!failed)
        work<4>();
}

static bool coroutine_run()
{
    static char stack[48 * 1024] __attribute__((aligned(16)));

    work<5>();
    if (failed)
        return false;
    getcontext(&inner);
    inner.uc_stack.ss_sp = stack;
    inner.uc_stack.ss_size = sizeof(stack);
    inner.uc_link = &outer;
    makecontext(&inner, coroutine_main, 0);
    swapcontext(&outer, &inner);
    if (!failed)
        work<6>();
    if (!failed)
        swapcontext(&outer, &inner);
    return !failed;
}

static void on_signal(int)
{
    work<7>();
}

static bool signal_run()
{
    static char stack[48 * 1024];
    stack_t own = {};
    struct sigaction action = {};

    own.ss_sp = stack;
    own.ss_size = sizeof(stack);
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    failed = "signal";
    if (sigaltstack(&own, NULL) || sigaction(SIGUSR1, &action, NULL) || raise(SIGUSR1))
        return false;
    return !failed;
}

static bool main_run(const char *which)
{
    pthread_t thread;

    if (!strcmp(which, "main")) {
        thread_main(NULL);
        return !failed;
    }
    if (!strcmp(which, "deep")) {
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, 2 << 20);
        failed = "thread";
        if (!pthread_create(&thread, &attr, digger, NULL))
            pthread_join(thread, NULL);
        return !failed;
    }
    if (!strcmp(which, "coroutine"))
        return coroutine_run();
    if (!strcmp(which, "signal"))
        return signal_run();
    if (!strcmp(which, "many")) { /* one after the other: what a thread had goes with it */
        for (int i = 0; i < 3000; i++)
            if (!thread_run(32 * 1024))
                return false;
        return true;
    }
    return thread_run((size_t)atoi(which) * 1024);
}

int main(int argc, char **argv)
{
    bool fine = argc == 2 && main_run(argv[1]);

    puts(fine ? "PASS" : failed ? failed : "FAIL");
    return !fine;
}
