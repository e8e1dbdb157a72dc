/* Launches of the kernel library's kernels. */
#include "api/lib_base/lib_compute.h"

#include <assert.h>
#include <cuda.h>
#include <dlfcn.h>
#include <library_types.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/str.h"
#include "klib/klib.h"

/* Work that is over before another thread has begun with it. */
#define SMALL_NS  20000
#define PTX_MAX_B (16u << 20)

/* ---- types of elements */

int lib_type(uint32_t type)
{
    switch (type) {
    case CUDA_R_32F:
        return KLIB_F32;
    case CUDA_R_64F:
        return KLIB_F64;
    case CUDA_C_32F:
        return KLIB_C32;
    case CUDA_C_64F:
        return KLIB_C64;
    case CUDA_R_16F:
        return KLIB_F16;
    case CUDA_R_16BF:
        return KLIB_BF16;
    case CUDA_R_8I:
        return KLIB_I8;
    case CUDA_R_32I:
        return KLIB_I32;
    case CUDA_R_8F_E4M3:
        return KLIB_E4M3;
    case CUDA_R_8F_E5M2:
        return KLIB_E5M2;
    case CUDA_R_4F_E2M1:
        return KLIB_E2M1;
    default:
        return -1;
    }
}

/* ---- the kernel library */

static struct {
    pthread_once_t once;
    const struct klib *klib;
    char folder[PATH_MAX]; /* where it is */
    char why[PATH_MAX + 128];
} engine = {.once = PTHREAD_ONCE_INIT};

static bool try_open(const char *folder, int folder_B, const char *below)
{
    char path[PATH_MAX];
    const struct klib *(*entry)(void) = NULL;
    int n = snprintf(path, sizeof(path), "%.*s%s/libheddle-klib.so", folder_B, folder, below);

    if (n < 0 || (size_t)n >= sizeof(path) || access(path, R_OK))
        return false;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle)
        *(void **)&entry = dlsym(handle, KLIB_ENTRY);
    if (!entry) {
        (void)snprintf(engine.why, sizeof(engine.why), "%s", dlerror());
        return false;
    }
    engine.klib = entry();
    (void)snprintf(engine.folder, sizeof(engine.folder), "%.*s%s", folder_B, folder, below);
    return true;
}

/* Beside this library, or where a build tree has it. */
static void open_engine(void)
{
    Dl_info info;
    const char *folder = hd_env("HEDDLE_LIBDIR");

    (void)snprintf(engine.why, sizeof(engine.why), "libheddle-klib.so is not beside this library");
    if (folder && try_open(folder, INT_MAX, ""))
        return;
    if (!dladdr((void *)&engine, &info) || !info.dli_fname)
        return;
    const char *slash = strrchr(info.dli_fname, '/');
    folder = slash ? info.dli_fname : ".";
    int folder_B = slash ? (int)(slash - info.dli_fname) : 1;
    (void)(try_open(folder, folder_B, "") || try_open(folder, folder_B, "/../../klib") ||
           try_open(folder, folder_B, "/../../../klib"));
}

const struct klib *lib_klib(const struct lib_info *info)
{
    pthread_once(&engine.once, open_engine);
    if (!engine.klib)
        lib_error(info, "nothing can be computed: %s", engine.why);
    return engine.klib;
}

unsigned lib_threads(void)
{
    static _Atomic unsigned known;
    unsigned n = atomic_load_explicit(&known, memory_order_relaxed);
    uint64_t value;
    cpu_set_t mask;

    if (n)
        return n;
    CPU_ZERO(&mask);
    value = sched_getaffinity(0, sizeof(mask), &mask) ? 1 : (uint64_t)CPU_COUNT(&mask);
    (void)hd_env_u64("HEDDLE_THREADS", &value);
    n = (unsigned)HD_MAX(value, 1);
    atomic_store_explicit(&known, n, memory_order_relaxed);
    return n;
}

/* ---- launches */

int lib_context(void)
{
    CUcontext context = NULL;
    CUdevice device;
    CUresult result = cuInit(0);

    if (!result)
        result = cuCtxGetCurrent(&context);
    if (result || context)
        return result;
    result = cuDeviceGet(&device, 0);
    if (!result)
        result = cuDevicePrimaryCtxRetain(&context, device);
    if (!result)
        result = cuCtxSetCurrent(context);
    return result;
}

static int probe(struct heddle_native_call *call)
{
    (void)call;
    return 0;
}

/* Do devices call functions of the host? Those of a process are of one kind. CUresult. */
static int device_calls(bool *out)
{
    static const struct heddle_native desc = {
        .size_B = sizeof(desc), .name = "probe", .function = probe};
    enum { UNKNOWN, YES, NO };
    static _Atomic int known;
    struct heddle_native_kernel *native;
    CUfunction function;
    int state = atomic_load_explicit(&known, memory_order_relaxed), result;

    if (HD_UNLIKELY(state == UNKNOWN)) {
        int was_quiet = heddle_native_quiet(1);
        result = heddle_native_register(&desc, &native);
        if (!result) {
            result = heddle_native_get_function(native, &function);
            if (!result)
                result = cuFuncLoad(function);
            (void)heddle_native_unregister(native);
        }
        (void)heddle_native_quiet(was_quiet);
        if (result && result != CUDA_ERROR_NOT_SUPPORTED)
            return result;
        state = result ? NO : YES;
        atomic_store_explicit(&known, state, memory_order_relaxed);
    }
    *out = state == YES;
    return CUDA_SUCCESS;
}

/* The kernel library's PTX, read once: beside it, or where a build tree has it. */
static struct {
    pthread_once_t once;
    struct hd_buf text;
    bool is_there;
} ptx = {.once = PTHREAD_ONCE_INIT};

static void read_ptx(void)
{
    static const char *const names[] = {"/heddle-klib.ptx", "/cuda/heddle-klib.ptx"};
    char path[PATH_MAX];

    assert(engine.klib); /* who launches has its functions */
    for (size_t i = 0; !ptx.is_there && i < HD_COUNT_OF(names); i++) {
        int n = snprintf(path, sizeof(path), "%s%s", engine.folder, names[i]);
        ptx.is_there = n > 0 && (size_t)n < sizeof(path) && !access(path, R_OK) &&
                       hd_file_read(path, PTX_MAX_B, &ptx.text) == HD_OK;
    }
}

enum { FOR_REST, FOR_SMALL, AS_PTX };

/* Two threads may register one kernel at once: the second takes the first one's. */
static int kernel_of(struct lib_kernel *kernel, int kind, const char *name,
                     heddle_native_fn *function, uint32_t params_B, CUkernel *out)
{
    struct heddle_native desc = {.size_B = sizeof(desc),
                                 .flags = HEDDLE_NATIVE_ANY_THREAD |
                                          (kind == FOR_SMALL ? HEDDLE_NATIVE_INLINE : 0),
                                 .name = name,
                                 .function = function,
                                 .params_B = kind == AS_PTX ? 0 : params_B};
    struct heddle_native_kernel *native, *first = NULL;

    native = atomic_load_explicit(&kernel->kernels[kind], memory_order_acquire);
    if (!native && kind == AS_PTX) {
        pthread_once(&ptx.once, read_ptx);
        if (!ptx.is_there)
            return CUDA_ERROR_NOT_SUPPORTED;
        desc.ptx = ptx.text.ptr;
        desc.entry = kernel->ptx;
    }
    if (HD_UNLIKELY(!native)) {
        int result = heddle_native_register(&desc, &native);
        if (result)
            return result;
        if (!atomic_compare_exchange_strong(&kernel->kernels[kind], &first, native)) {
            (void)heddle_native_unregister(native);
            native = first;
        }
    }
    return heddle_native_get_kernel(native, out);
}

int lib_launch(const struct lib_handle *handle, struct lib_kernel *kernel, const char *name,
               heddle_native_fn *function, const void *params, uint32_t params_B, uint64_t tiles,
               uint64_t work_ns)
{
    void *args[] = {(void *)params};
    CUkernel cuda;
    int kind = work_ns < SMALL_NS ? FOR_SMALL : FOR_REST, result = lib_context();
    bool calls = true;

    if (!result && kernel->ptx)
        result = device_calls(&calls);
    if (!calls)
        kind = AS_PTX;
    if (!result)
        result = kernel_of(kernel, kind, name, function, params_B, &cuda);
    if (result)
        return result;
    if (tiles > INT_MAX) /* a grid's edge */
        return CUDA_ERROR_INVALID_VALUE;
    return cuLaunchKernel((CUfunction)cuda, (uint32_t)tiles, 1, 1,
                          kind == AS_PTX ? kernel->threads : 1, 1, 1, 0, handle->stream, args,
                          NULL);
}

int lib_wait(const struct lib_handle *handle)
{
    return cuStreamSynchronize(handle->stream);
}
