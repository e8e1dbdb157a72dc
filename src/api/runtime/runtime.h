/*
 * The CUDA runtime API on top of the driver API: what its files share.
 *
 * Objects and owners:
 *
 *     rt_fatbin* (by constructors) ─┬─ CUlibrary
 *                                   ├─ rt_kernel*: CUkernel ─ rt_binding per context: CUfunction
 *                                   └─ rt_var* ─ rt_binding per context: address
 *
 * A cudaKernel_t is a CUkernel. The library is loaded when a kernel or variable of the fat binary
 * is first used. Bindings are append-only lists that are read without a lock; a device reset
 * empties theirs (ctx = NULL) and they are never freed.
 *
 * Contexts: a call that finds no current context retains the primary context of the thread's device
 * and makes it current. Contexts that the program made current through the driver API are used.
 *
 * Errors: every failing call leaves its code in the thread (cudaGetLastError). rt_result() converts
 * and records; nothing else may return a CUresult's number to the program.
 *
 * Threads: all entry points may be called by any thread; rt.lock guards registration and loading.
 * rt.lock is held while the driver loads a module; no entry point takes it on its fast path.
 */
#ifndef HD_API_RUNTIME_RUNTIME_H
#define HD_API_RUNTIME_RUNTIME_H

#include <assert.h>
#include <stdatomic.h>

#include "base/compiler.h"
#include "base/lock.h"
#include "api/driver/describe.h"
#include "cuda_runtime_api.h"
#include <runtime_entries.h>

#define RT_MAX_DEVICES 64

/*
 * rt_cudaFoo() is what a row of spec/api/runtime.def names; rt12_cudaFoo() when the symbol has a
 * row of its own for version 12. The exported cudaFoo(), which tells the taps and calls it, is
 * generated (runtime_entries.c), and so are the _ptsz and _ptds twins. The function of a twin
 * without a stream parameter gets one more, `null_stream`: what stream 0 means, NULL for the
 * default stream. Inside the library call rt_cudaFoo(): the exported one looks like another call.
 */

/* ---- state (state.c) */

struct rt_call_config {
    dim3 grid, block;
    size_t shared_B;
    cudaStream_t stream;
};

struct rt_thread {
    bool has_device; /* it chose one */
    int device;
    cudaError_t last_error;
    unsigned unseen;   /* launches that failed since the program last asked for the error */
    unsigned nconfigs; /* pushed by <<<>>> and not popped yet */
    struct rt_call_config configs[16];
};

struct rt_limits {
    unsigned grid[3], block[3], threads;
};

struct rt_state {
    struct hd_lock lock;
    _Atomic bool exiting;
    _Atomic bool is_ready;   /* rt_init() is through */
    _Atomic unsigned unseen; /* of all threads */
    char unseen_first[256];  /* what failed first; written by whoever raised `unseen` from 0 */
    int device_count;
    _Atomic int first_device;                   /* of threads that did not choose one */
    _Atomic(CUcontext) primary[RT_MAX_DEVICES]; /* retained once, or NULL */
    struct rt_limits limits;                    /* of device 0, valid after rt_init() */
};

extern struct rt_state rt;
extern HD_THREAD_LOCAL struct rt_thread rt_thread;

/* Initialises the driver, once. Records and returns its error. */
cudaError_t rt_init(void);
/* The current context, made if need be. Records and returns errors. */
cudaError_t rt_context_slow(CUcontext *out_ctx);
/* The primary context of a device; rt.lock must not be held. */
cudaError_t rt_primary(int device, CUcontext *out_ctx);

/* The device that the calling thread works on, unless a context of the driver's is current. */
int rt_device(void);

/* Leaves a code for cudaGetLastError() and returns it. */
cudaError_t rt_fail(cudaError_t error);
cudaError_t rt_from_driver(CUresult result);

static inline cudaError_t rt_result(CUresult result)
{
    return HD_LIKELY(result == CUDA_SUCCESS) ? cudaSuccess : rt_fail(rt_from_driver(result));
}

/* A context of the driver's may be current though this is the first call of the runtime. */
static inline cudaError_t rt_context(CUcontext *out_ctx)
{
    if (HD_UNLIKELY(!atomic_load_explicit(&rt.is_ready, memory_order_acquire) ||
                    cuCtxGetCurrent(out_ctx) != CUDA_SUCCESS || !*out_ctx))
        return rt_context_slow(out_ctx);
    *out_ctx = heddle_context_base(*out_ctx);
    return cudaSuccess;
}

static inline cudaError_t rt_enter(void)
{
    CUcontext ctx;
    return rt_context(&ctx);
}

/* The whole body of most entry points: a context, one driver call, its result. */
#define RT_CALL(driver_call)                                                                       \
    do {                                                                                           \
        cudaError_t rt_error_ = rt_enter();                                                        \
        return rt_error_ ? rt_error_ : rt_result(driver_call);                                     \
    } while (0)
#define RT_TRY(runtime_call)                                                                       \
    do {                                                                                           \
        cudaError_t rt_error_ = (runtime_call);                                                    \
        if (HD_UNLIKELY(rt_error_))                                                                \
            return rt_error_;                                                                      \
    } while (0)

/*
 * Every launch ends with it. `kernel<<<>>>()` drops the result, so a failure that the program does
 * not ask for before it exits is said then: its results are not those of its kernels.
 */
cudaError_t rt_launched(const void *func, cudaError_t error);

/* An entry point that is not implemented: logs once per flag, records cudaErrorNotSupported. */
cudaError_t rt_missing(const char *name, _Atomic bool *logged);
/* One that cannot be there: logs once why, and records the same. */
cudaError_t rt_refused(const char *name, const char *why, _Atomic bool *logged);

/* ---- registered code (map.c, registry.c, bind.c) */

/* Pointer to pointer; readers need no lock, writers hold rt.lock. A zeroed map is empty. */
struct rt_map_table;
struct rt_map {
    _Atomic(struct rt_map_table *) table;
};
void *rt_map_get(const struct rt_map *map, const void *key);
/* value NULL removes. False when memory is short. */
bool rt_map_set(struct rt_map *map, const void *key, void *value);

struct rt_binding {
    _Atomic(CUcontext) ctx;
    CUfunction func;
    CUdeviceptr ptr;
    size_t size_B;
    struct rt_binding *next;
};

struct rt_kernel {
    const void *host_func;
    char *name;
    struct rt_fatbin *fatbin;
    CUkernel handle; /* rt.lock; NULL until it is asked for */
    _Atomic(struct rt_binding *) bindings;
    struct rt_kernel *next;
};

struct rt_var {
    const void *host_var;
    char *name;
    size_t size_B;
    void **managed; /* the program's pointer to a managed variable, else NULL */
    bool is_placed; /* managed, and host_var is where it is */
    struct rt_fatbin *fatbin;
    _Atomic(struct rt_binding *) bindings;
    struct rt_var *next;
};

struct rt_fatbin {
    const void *wrapper;
    struct rt_kernel *kernels;
    struct rt_var *vars;
    CUlibrary library; /* rt.lock, as the next; neither: it was not asked for yet */
    cudaError_t error; /* why it could not be loaded */
    bool has_managed;
    bool has_placed;
    struct rt_fatbin *next;
};

/* Where a program or library has managed variables of `heddle cc`. */
struct rt_range {
    const char *start, *stop;
    struct rt_range *next;
};

struct rt_registry {
    struct rt_map kernels; /* host functions, and handles that were asked for, to rt_kernel */
    struct rt_map vars;    /* host variables to rt_var */
    struct rt_fatbin *fatbins;
    struct rt_fatbin *gone; /* unregistered; another thread may be looking at them */
    struct rt_range *ranges;
};
extern struct rt_registry rt_registry;

/* The handle of a kernel by its host function or the handle; cudaErrorInvalidDeviceFunction. */
cudaError_t rt_kernel(const void *func, CUkernel *out_kernel);
/* Its function in the current context. */
cudaError_t rt_function(const void *func, CUfunction *out_func);
/* What the program calls a function of the driver's: its host function; else the same. */
const void *rt_function_host(CUfunction func);
/* Address and size of a device variable in the current context; cudaErrorInvalidSymbol. */
cudaError_t rt_symbol(const void *symbol, CUdeviceptr *out_ptr, size_t *out_size_B);
/* Gives the program the addresses of its managed variables. */
cudaError_t rt_managed_init(struct rt_fatbin *fatbin);
/* Forgets what was loaded into a context that is about to be reset. */
void rt_bindings_drop(CUcontext ctx);
void rt_fatbin_unload(struct rt_fatbin *fatbin);

/* ---- used by several files */

cudaError_t rt_copy(void *dst, const void *src, size_t size_B, enum cudaMemcpyKind kind);
cudaError_t rt_copy_async(void *dst, const void *src, size_t size_B, enum cudaMemcpyKind kind,
                          cudaStream_t stream);

/* The driver's form of a copy. */
cudaError_t rt_make_copy_3d(CUDA_MEMCPY3D *out_copy, const struct cudaMemcpy3DParms *p);
/* Address of `count` bytes at `offset` in a variable. */
cudaError_t rt_symbol_range(const void *symbol, size_t offset, size_t count, void **out_ptr);
/* What the driver would call an invalid value is an invalid configuration. */
cudaError_t rt_check_dims(dim3 grid, dim3 block, size_t shared_B);

cudaError_t rt_check_place(int device);

/* array.c: formats of texels in the driver's terms and back; the size of an array's texels. */
cudaError_t rt_channel_format(const struct cudaChannelFormatDesc *d, CUarray_format *out_format,
                              unsigned *out_channels);
struct cudaChannelFormatDesc rt_format_channels(CUarray_format format, unsigned channels);
cudaError_t rt_array_texel_B(cudaArray_const_t array, size_t *out_size_B);

/* A synchronous call in a program whose default stream is the thread's: then waits for that. */
static inline cudaError_t rt_wait(cudaError_t error, cudaStream_t stream)
{
    return error ? error : rt_cudaStreamSynchronize(stream);
}

static inline CUdeviceptr rt_va(const void *ptr)
{
    return (CUdeviceptr)(uintptr_t)ptr;
}

#endif
