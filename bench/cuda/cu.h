/* CUDA side of the harness: checked calls, typed allocations and copies, event timing. */
#pragma once
#include "../common/refs.h"
#include <cuda_runtime.h>

#define CK(call)                                                                                   \
    do {                                                                                           \
        cudaError_t status_ = (call);                                                              \
        if (status_ != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_));       \
            exit(2);                                                                               \
        }                                                                                          \
    } while (0)

static inline int cdiv(long a, long b)
{
    return (int)((a + b - 1) / b);
}

template <class T> static T *halloc(size_t n)
{
    T *p = (T *)malloc(n * sizeof(T));

    if (!p)
        exit(3);
    return p;
}

template <class T> static T *dalloc(size_t n)
{
    T *p = 0;

    CK(cudaMalloc((void **)&p, n * sizeof(T)));
    return p;
}

template <class T> static void h2d(T *d, const T *h, size_t n)
{
    CK(cudaMemcpy(d, h, n * sizeof(T), cudaMemcpyHostToDevice));
}

template <class T> static void d2h(T *h, const T *d, size_t n)
{
    CK(cudaMemcpy(h, d, n * sizeof(T), cudaMemcpyDeviceToHost));
}

/* A device copy of a host array. */
template <class T> static T *dput(const T *h, size_t n)
{
    T *p = dalloc<T>(n);

    h2d(p, h, n);
    return p;
}

static void dsync(void)
{
    CK(cudaGetLastError());
    CK(cudaDeviceSynchronize());
}

/* ---- -e: time between two events on the default stream ---- */

#ifdef BENCH_EVENTS
static cudaEvent_t bench_event[2];

static void bench_event_begin(void)
{
    CK(cudaEventRecord(bench_event[0], 0));
}

static double bench_event_end(void)
{
    float ms;

    CK(cudaEventRecord(bench_event[1], 0));
    CK(cudaEventSynchronize(bench_event[1]));
    CK(cudaEventElapsedTime(&ms, bench_event[0], bench_event[1]));
    return ms;
}

static void bench_use_events(void)
{
    CK(cudaEventCreate(&bench_event[0]));
    CK(cudaEventCreate(&bench_event[1]));
    bench_begin = bench_event_begin;
    bench_end_ms = bench_event_end;
}
#else
static void bench_use_events(void)
{
    fprintf(stderr, "-e needs a build with -DBENCH_EVENTS\n");
    exit(2);
}
#endif

static inline bench_args bench_start(int argc, char **argv, long default0, long default1 = 0)
{
    bench_args a = bench_parse(argc, argv, default0, default1);

    if (a.events)
        bench_use_events();
    return a;
}

static inline int bench_end(int rc)
{
    printf("\n");
    return rc;
}
