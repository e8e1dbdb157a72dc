/*
 * What tests of the kernel library share: arrays that host and device see, random numbers, and
 * checks in TAP. A bound is of each element: |got - want| <= bound, or <= bound * scale where a
 * sum's terms give a scale.
 */
#ifndef KLIB_CHECK_H
#define KLIB_CHECK_H

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

static unsigned tests_run, tests_failed;

inline void ok(bool is_right, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%sok %u - ", is_right ? "" : "not ", ++tests_run);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
    fflush(stdout);
    tests_failed += !is_right;
}

inline int done()
{
    printf("1..%u\n", tests_run);
    return tests_failed != 0;
}

/* All that was launched is over; the process ends where something went wrong. */
inline void finish(const char *what)
{
    cudaError_t error = cudaGetLastError();
    if (!error)
        error = cudaDeviceSynchronize();
    if (error) {
        ok(false, "%s: %s", what, cudaGetErrorString(error));
        exit(1);
    }
}

template <class T> struct array {
    T *at = nullptr;
    size_t n;

    explicit array(size_t n) : n(n)
    {
        if (cudaMallocManaged(&at, n * sizeof(T) + 1)) {
            printf("Bail out! no memory\n");
            exit(1);
        }
        memset((void *)at, 0, n * sizeof(T));
    }
    array(const array &) = delete;
    array &operator=(const array &) = delete;
    ~array()
    {
        cudaFree(at);
    }
    operator T *() const
    {
        return at;
    }
};

/* In [-1, 1), the same in each run. */
inline double random_number()
{
    static unsigned long long state = 12345;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(long long)(state >> 11) * 0x1p-52 - 1.0;
}
inline int random_below(int n)
{
    return (int)((random_number() + 1) / 2 * n);
}

template <class T> double value(T x)
{
    return (double)(float)x;
}
template <> inline double value(double x)
{
    return x;
}
template <> inline double value(int x)
{
    return x;
}
template <> inline double value(long long x)
{
    return (double)x;
}
template <> inline double value(__half x)
{
    return (double)__half2float(x);
}
template <> inline double value(__nv_bfloat16 x)
{
    return (double)__bfloat162float(x);
}
template <class T> T made(double x)
{
    return (T)(float)x;
}
template <> inline double made(double x)
{
    return x;
}
template <> inline int8_t made(double x)
{
    return (int8_t)lrint(x * 127);
}
template <> inline __half made(double x)
{
    return __float2half_rn((float)x);
}
template <> inline __nv_bfloat16 made(double x)
{
    return __float2bfloat16_rn((float)x);
}

template <class T> void fill(const array<T> &x)
{
    for (size_t i = 0; i < x.n; i++)
        x.at[i] = made<T>(random_number());
}

/* Of each element: its value, and the most that the result may be off. */
struct expected {
    double value, bound;
};

template <class T>
void check(const array<T> &got, const std::function<expected(size_t)> &want, const char *format,
           ...)
{
    char name[200];
    size_t wrong = 0, first = 0;
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    finish(name);
    for (size_t i = 0; i < got.n; i++) {
        expected w = want(i);
        double g = value(got.at[i]);
        if (g == w.value || (g != g && w.value != w.value) || fabs(g - w.value) <= w.bound)
            continue;
        if (!wrong++)
            first = i;
    }
    if (wrong) {
        expected w = want(first);
        printf("# %zu of %zu; [%zu] is %.9g, should be %.9g within %.3g\n", wrong, got.n, first,
               value(got.at[first]), w.value, w.bound);
    }
    ok(!wrong, "%s", name);
}

#endif
