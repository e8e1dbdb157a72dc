/* OpenCL side of the harness: one context and queue, checked calls, typed buffers, launches. */
#pragma once
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include "../common/refs.h"

#define CK(call)                                                                                   \
    do {                                                                                           \
        cl_int status_ = (call);                                                                   \
        if (status_ != CL_SUCCESS) {                                                               \
            fprintf(stderr, "%s:%d: cl error %d\n", __FILE__, __LINE__, status_);                  \
            exit(2);                                                                               \
        }                                                                                          \
    } while (0)

static cl_context ctx;
static cl_command_queue queue;
static cl_device_id dev;
static cl_program prog;
static double build_ms;

static inline long cdiv(long a, long b)
{
    return (a + b - 1) / b;
}

template <class T> static T *halloc(size_t n)
{
    T *p = (T *)malloc(n * sizeof(T));

    if (!p)
        exit(3);
    return p;
}

template <class T> static cl_mem dalloc(size_t n)
{
    cl_int e;
    cl_mem m = clCreateBuffer(ctx, CL_MEM_READ_WRITE, n * sizeof(T), 0, &e);

    CK(e);
    return m;
}

template <class T> static void h2d(cl_mem d, const T *h, size_t n)
{
    CK(clEnqueueWriteBuffer(queue, d, CL_TRUE, 0, n * sizeof(T), h, 0, 0, 0));
}

template <class T> static void d2h(T *h, cl_mem d, size_t n)
{
    CK(clEnqueueReadBuffer(queue, d, CL_TRUE, 0, n * sizeof(T), h, 0, 0, 0));
}

template <class T> static cl_mem dput(const T *h, size_t n)
{
    cl_mem m = dalloc<T>(n);

    h2d(m, h, n);
    return m;
}

static void dsync(void)
{
    CK(clFinish(queue));
}

static void cl_open(void)
{
    cl_platform_id platform;
    cl_int e;

    CK(clGetPlatformIDs(1, &platform, 0));
    CK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &dev, 0));
    ctx = clCreateContext(0, 1, &dev, 0, 0, &e);
    CK(e);
    queue = clCreateCommandQueue(ctx, dev, 0, &e);
    CK(e);
}

/* Builds NAME.cl of the folder CLDIR (default: .). What it includes is found through -I. */
static void cl_build(const char *name)
{
    static char src[1 << 17], log[1 << 16];
    const char *dir = getenv("CLDIR") ? getenv("CLDIR") : ".", *text = src;
    char path[600], options[1300];
    size_t n;
    cl_int e;
    double t0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s.cl", dir, name);
    snprintf(options, sizeof(options), "-cl-std=CL1.2 -I%s -I%s/../common", dir, dir);
    f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(2);
    }
    n = fread(src, 1, sizeof(src) - 1, f);
    fclose(f);
    prog = clCreateProgramWithSource(ctx, 1, &text, &n, &e);
    CK(e);
    t0 = now_ms();
    e = clBuildProgram(prog, 1, &dev, options, 0, 0);
    build_ms = now_ms() - t0;
    if (e) {
        clGetProgramBuildInfo(prog, dev, CL_PROGRAM_BUILD_LOG, sizeof(log), log, 0);
        fprintf(stderr, "%s\n", log);
        exit(2);
    }
}

static cl_kernel kernel(const char *name)
{
    cl_int e;
    double t0 = now_ms();
    cl_kernel k = clCreateKernel(prog, name, &e);

    CK(e);
    build_ms += now_ms() - t0;
    return k;
}

/* ---- launches: arguments in order, groups and local size as in CUDA ---- */

static void set_args(cl_kernel, cl_uint)
{
}

template <class T, class... Rest>
static void set_args(cl_kernel k, cl_uint index, const T &first, const Rest &...rest)
{
    CK(clSetKernelArg(k, index, sizeof(T), &first));
    set_args(k, index + 1, rest...);
}

template <class... Args>
static void launch1(cl_kernel k, size_t groups, size_t local, const Args &...args)
{
    size_t global = groups * local;

    set_args(k, 0, args...);
    CK(clEnqueueNDRangeKernel(queue, k, 1, 0, &global, &local, 0, 0, 0));
}

template <class... Args>
static void launch2(cl_kernel k, size_t gx, size_t gy, size_t lx, size_t ly, const Args &...args)
{
    size_t global[2] = {gx * lx, gy * ly}, local[2] = {lx, ly};

    set_args(k, 0, args...);
    CK(clEnqueueNDRangeKernel(queue, k, 2, 0, global, local, 0, 0, 0));
}
