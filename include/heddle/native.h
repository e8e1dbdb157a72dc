/*
 * Native kernels: kernels whose code is a function of the host. A library that has a good host
 * routine for something (a product of matrices, an FFT, a framework's operator) registers it, and
 * gets a CUfunction. From there on it is a kernel: launches are in stream order, graphs capture,
 * replay and update it, tools name and time it.
 *
 *     static int scale(struct heddle_native_call *call)
 *     {
 *         const struct { float *at; float by; uint32_t n; } *p = call->params;
 *         for (uint64_t tile = call->first; tile < call->last; tile++)
 *             ...elements [tile * 1024, tile * 1024 + 1024)...
 *         return 0;
 *     }
 *     static const struct heddle_native desc = {.size_B = sizeof(desc), .name = "scale",
 *         .function = scale, .ptx = text, .entry = "scale", .tile_ns = 200};
 *     struct heddle_native_kernel *kernel;
 *     CUfunction f;
 *     if (!heddle_native_register(&desc, &kernel) && !heddle_native_get_function(kernel, &f))
 *         cuLaunchKernel(f, tiles, 1, 1, 1, 1, 1, 0, stream, params, NULL);
 *
 * The runtime takes the CUfunction, too: it is a cudaFunction_t, cudaLaunchKernel() launches it.
 * The functions here are in libcuda.so.1, return a CUresult, and may be called by any thread.
 *
 * Tiles. A launch has as many as its grid has blocks, numbered x first. Threads of the device take
 * ranges of them, how many at once follows from `tile_ns`, and call the function for each range:
 * concurrently, in no order, every tile once. Blocks have no meaning to the device; the function
 * sees the size that the launch gave. Memory of the device is host memory at the same addresses.
 *
 * Fallback. A device that cannot call functions of this process (HEDDLE_DEVICE=interp, a device of
 * another process) runs `entry` of `ptx` instead, with the same parameters, grid and blocks. The
 * PTX also says what the parameters are. Without PTX there is one parameter of params_B bytes, and
 * such a device refuses the kernel by its name.
 *
 * Where it runs. On the device's threads, by default only there, so the function may take locks of
 * the program. With these flags:
 *   ANY_THREAD  also on threads that wait for the device, and, when it is short, on the one that
 *               launches: as compiled kernels do. It takes no lock that may be held by who calls
 *               CUDA.
 *   INLINE      on the thread that launches, before the launch returns, if the stream has nothing
 *               else to do: one call for all tiles. Thread-local state is the caller's, and the
 *               launch returns what went wrong. A busy stream has it done by the device's threads.
 *   WAIT        with INLINE: always on the thread that launches, which waits for the stream first.
 *   RECOVERS    an error that the function reports inline is the launch's alone, unless it is an
 *               assertion.
 * Launches of graphs always use the device's threads. While a function runs inline it may call
 * CUDA: a wait for its own stream (or device) is for what was before it. A wait for what it put
 * behind itself into its own stream fails with CUDA_ERROR_NOT_SUPPORTED. On the device's threads it
 * must not call CUDA, as functions of cuLaunchHostFunc() must not.
 *
 * What goes wrong. `return code` or heddle_native_fail(): the launch ends with
 * CUDA_ERROR_LAUNCH_FAILED, and the context's log has code and text. A C++ exception that leaves
 * the function: the same, after its destructors have run; the text names its type. SIGSEGV, SIGBUS,
 * SIGFPE, SIGILL inside the function: as of a kernel, CUDA_ERROR_ILLEGAL_ADDRESS and so on. All of
 * these are sticky errors of the context, but for what RECOVERS says. After a signal the function
 * is left as it is: locks that it held stay locked, what it allocated stays allocated. Handlers that
 * the program has for these signals do not see those from inside. exit(), abort() and what else
 * ends the process end it.
 *
 * Standing in. A program may have kernels as machine code of GPUs only, which does not run here.
 * heddle_native_stand_in() gives a kernel, native or of a library, to be launched in their place.
 *
 * Nobody can stop a function midway: cancelling work (cuCtxDestroy, a reset) waits for it, the end
 * of the process does so for a while; tiles that have not begun are left out.
 *
 * Not for native kernels, refused by name: cooperative launches, clusters, launches by kernels and
 * graphs that kernels launch. `heddle check` and kernel counters do not look into them, a debugger
 * cannot stop in them; memcheck takes their accesses for the host's.
 */
#ifndef HEDDLE_NATIVE_H
#define HEDDLE_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUfunc_st;
struct CUkern_st;

/* name, bit, doc */
/* clang-format off */
#define HEDDLE_NATIVE_FLAG_LIST(X)                                                                 \
    X(ANY_THREAD, 0, "may run on threads that launch, or wait for, other work")                    \
    X(INLINE, 1, "on the launching thread if the stream is idle")                                  \
    X(WAIT, 2, "with INLINE: on the launching thread, which waits for the stream")                 \
    X(RECOVERS, 3, "with INLINE: a reported error leaves the context usable")
/* clang-format on */
enum heddle_native_flag {
#define X(name, bit, doc) HEDDLE_NATIVE_##name = 1 << (bit),
    HEDDLE_NATIVE_FLAG_LIST(X)
#undef X
        HEDDLE_NATIVE_FLAGS_END = 1 << 4
};

/* One call of the function. It, and what it points to, is valid during the call. */
struct heddle_native_call {
    uint32_t size_B;      /* of this struct: later versions add members at the end */
    uint32_t device;      /* ordinal */
    uint64_t first, last; /* its tiles: [first, last) */
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared_B; /* as the launch says; there is no such memory */
    uint32_t params_B;
    const void *params; /* the parameter block, as PTX lays it out; 64-byte aligned */
    void *user;
    /* Whose work it is, as taps have it (heddle/tap.h). */
    uint64_t context_id, stream_id;
    uint32_t grid_id;
    uint32_t is_inline; /* on the thread that launched */
    /* What heddle_native_fail() writes; code 0: fine. */
    int32_t code;
    char text[252];
};

/*
 * The code of an assertion of the kernel's: as assert() in device code, it is CUDA_ERROR_ASSERT, and
 * sticky also where the flags have RECOVERS.
 */
#define HEDDLE_NATIVE_ASSERTION INT32_MIN

/* 0, or a code of its own: it has failed. */
typedef int heddle_native_fn(struct heddle_native_call *call);

/*
 * Says in a line what a launch's parameters are (shapes of tensors, say), for tools that show it
 * beside the kernel's name: while one records, on the thread that launches, also a graph. Writes no
 * more than size_B, with the 0 at the end. It calls no CUDA.
 */
typedef void heddle_native_describe_fn(const void *params, void *user, char *text, size_t size_B);

struct heddle_native {
    uint32_t size_B; /* sizeof(struct heddle_native) */
    uint32_t flags;
    const char *name; /* what tools and messages say: any text */
    heddle_native_fn *function;
    void *user;
    const char *ptx;   /* or NULL */
    const char *entry; /* in it; NULL: name */
    uint64_t tile_ns;  /* about what a tile costs; 0: not known, tiles are taken one by one */
    uint32_t params_B; /* of the one parameter, when there is no PTX: 0 to 4096 */
    uint32_t reserved; /* 0 */
    /* Since then a caller's size_B may be less, and the rest is 0. */
    heddle_native_describe_fn *describe; /* or NULL */
};

struct heddle_native_kernel;

/*
 * Everything is copied but functions and user. CUDA_ERROR_INVALID_VALUE: flags that there are not,
 * no such entry; CUDA_ERROR_INVALID_PTX. The driver is initialised by it if need be.
 */
int heddle_native_register(const struct heddle_native *desc,
                           struct heddle_native_kernel **out_kernel);
/*
 * As a CUfunction of the current context, and as a CUkernel, which is of none. They stay valid
 * until the context is destroyed, and the kernel unregistered.
 */
int heddle_native_get_function(struct heddle_native_kernel *kernel,
                               struct CUfunc_st **out_function);
int heddle_native_get_kernel(struct heddle_native_kernel *kernel, struct CUkern_st **out_kernel);
/*
 * Waits for the work of all contexts that used it. When it returns the function is not called any
 * more, so its library may be unloaded. Graphs that have it as a node fail when they come to it.
 * Not from inside a native kernel, nor while other threads use `kernel`.
 */
int heddle_native_unregister(struct heddle_native_kernel *kernel);

/*
 * For a library that tries what may fail: while it is on, nothing is written to stderr about what
 * this thread's calls fail with. Results, CUDA's log of errors and tools are as ever. Returns what
 * was set before.
 */
int heddle_native_quiet(int is_on);

/*
 * Whenever CUDA's runtime has to find the device function `symbol` (a mangled name) for a program's
 * launch, it takes `kernel` instead of what the program brought; those that it has found stay as
 * they are. A `*` in `symbol` is any text, such as the number of an anonymous namespace. The
 * parameters are those of the program's kernel: a native one needs PTX that says what they are.
 * It is for the rest of the process, as `kernel` has to be; of two that match, the later one.
 */
int heddle_native_stand_in(const char *symbol, struct CUkern_st *kernel);

/*
 * Inside the function: notes code (not 0) and text, and returns the code. The first one counts.
 * Text is cut at the field's size.
 */
static inline int heddle_native_fail(struct heddle_native_call *call, int code, const char *text)
{
    size_t i = 0;

    if (call->code)
        return call->code;
    for (; text && text[i] && i + 1 < sizeof(call->text); i++)
        call->text[i] = text[i];
    call->text[i] = '\0';
    call->code = code;
    return code;
}

#ifdef __cplusplus
}
#endif
#endif
