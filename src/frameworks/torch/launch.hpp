/*
 * Work of a stream that is a function of the host: kernels that libcuda launches, orders, captures
 * and shows to tools as any others (heddle/native.h).
 *
 * A kernel runs on the thread that calls the operator, after the work that its stream has: a
 * framework's kernels need that thread's state, and throw. In a graph it runs on threads of the
 * device at each launch of the graph.
 */
#pragma once

#include <array>
#include <atomic>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGraphsC10Utils.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda.h>
#include <dlfcn.h>
#include <exception>
#include <heddle/native.h>
#include <heddle/tap.h>
#include <string>

#include "tensors.hpp"

namespace heddle {

/* What is called of libcuda; the process has Heddle's. */
struct Driver {
    decltype(&heddle_native_register) native_register;
    decltype(&heddle_native_get_kernel) native_get_kernel;
    decltype(&heddle_native_quiet) native_quiet;
    decltype(&heddle_native_stand_in) native_stand_in;
    decltype(&cuStreamGetCaptureInfo_v3) capture_info;
    decltype(&cuUserObjectCreate) user_object_create;
    decltype(&cuGraphRetainUserObject) graph_retain;
    decltype(&cuDeviceGetAttribute) device_attribute;
    decltype(&cuLibraryLoadData) library_load;
    decltype(&cuLibraryGetKernel) library_get_kernel;
    decltype(&cuCtxGetCurrent) current;
    decltype(&cuStreamIsCapturing) is_capturing;
    decltype(&cuKernelGetFunction) kernel_get_function;
    decltype(&cuLaunchKernel) launch_kernel;
    const uint32_t *tap_kinds; /* heddle_tap_kinds */

    static const Driver &get()
    {
        static const Driver driver;
        return driver;
    }

  private:
    void *libcuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

    Driver()
    {
        TORCH_CHECK(libcuda, "Heddle: libcuda.so.1 is not loaded");
        find(native_register, "heddle_native_register");
        find(native_get_kernel, "heddle_native_get_kernel");
        find(native_quiet, "heddle_native_quiet");
        find(native_stand_in, "heddle_native_stand_in");
        find(capture_info, "cuStreamGetCaptureInfo_v3");
        find(user_object_create, "cuUserObjectCreate");
        find(graph_retain, "cuGraphRetainUserObject");
        find(device_attribute, "cuDeviceGetAttribute");
        find(library_load, "cuLibraryLoadData");
        find(library_get_kernel, "cuLibraryGetKernel");
        find(current, "cuCtxGetCurrent");
        find(is_capturing, "cuStreamIsCapturing");
        find(kernel_get_function, "cuKernelGetFunction");
        find(launch_kernel, "cuLaunchKernel");
        find(tap_kinds, "heddle_tap_kinds");
    }
    template <class F> void find(F &symbol, const char *name)
    {
        symbol = reinterpret_cast<F>(dlsym(libcuda, name));
        TORCH_CHECK(symbol, "Heddle: libcuda.so.1 is not Heddle's, or an older one: it has no ",
                    name);
    }
};

/*
 * What an operator asks of CUDA before it runs is asked of the driver, without the runtime and
 * PyTorch's own checks between: an operator that comes when the caches are full of tensors takes
 * most of its time for fetching code.
 */
constexpr size_t DEVICES_MAX = 64;

/*
 * While it lives, `device` is the current one. PyTorch's guard is for when it is not yet. Which
 * context is a device's is learnt from that guard; a context's handle is never another's later.
 */
class OnDevice {
  public:
    explicit OnDevice(c10::DeviceIndex device)
    {
        static std::array<std::atomic<CUcontext>, DEVICES_MAX> contexts;
        auto &of_device = contexts.at(static_cast<size_t>(device));

        (void)Driver::get().current(&context);
        if (C10_LIKELY(context && context == of_device.load(std::memory_order_relaxed)))
            return;
        guard.set_index(device);
        (void)Driver::get().current(&context);
        of_device.store(context, std::memory_order_relaxed);
    }
    CUcontext context = nullptr; /* the current one */

  private:
    c10::cuda::OptionalCUDAGuard guard;
};

/* Is the stream of the current device captured? Throws what PyTorch throws of captures. */
inline bool is_capturing(const c10::cuda::CUDAStream &stream)
{
    CUstreamCaptureStatus status;

    if (C10_LIKELY(!Driver::get().is_capturing(stream.stream(), &status)))
        return status != CU_STREAM_CAPTURE_STATUS_NONE;
    return c10::cuda::currentStreamCaptureStatusMayInitCtx() != c10::cuda::CaptureStatus::None;
}

/* What a launch has for its one parameter. */
class Task {
  public:
    virtual int run(heddle_native_call *call) = 0;
    /* For tools, in a line of at most size_B bytes with its end. */
    virtual void describe(char *text, size_t size_B) const
    {
    }

  protected:
    ~Task() = default;
};

/* A native kernel, for the rest of the process. */
inline CUkern_st *register_native(heddle_native desc)
{
    heddle_native_kernel *native;
    CUkern_st *kernel = nullptr;

    desc.size_B = sizeof(desc);
    int error = Driver::get().native_register(&desc, &native);
    if (!error)
        error = Driver::get().native_get_kernel(native, &kernel);
    TORCH_CHECK(!error, "Heddle: no kernel for ", desc.name, ": CUDA error ", error);
    return kernel;
}

/* A kernel by the name that tools and messages say. Registered at its first launch. */
class Kernel {
  public:
    explicit Kernel(std::string name) : name(std::move(name))
    {
    }

    /*
     * Tools are to see the call that a CUDA program makes, the runtime's. Without tools it is the
     * driver's, with a function that need not be looked up. `current`: the context, or NULL.
     */
    void launch(cudaStream_t stream, Task *task, CUcontext current = nullptr)
    {
        void *params[] = {&task};
        const Driver &driver = Driver::get();
        CUfunction function =
            __atomic_load_n(driver.tap_kinds, __ATOMIC_RELAXED) ? nullptr : in_context(current);
        cudaError_t error =
            C10_LIKELY(function != nullptr)
                ? static_cast<cudaError_t>(
                      driver.launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr))
                : cudaLaunchKernel(registered(), dim3(1), dim3(1), params, 0, stream);
        if (C10_UNLIKELY(error != cudaSuccess))
            C10_CUDA_CHECK(error);
    }
    const std::string name;

  private:
    /* Never freed, nor changed once it is in the list: there are few contexts. */
    struct InContext {
        CUcontext context;
        CUfunction function;
        const InContext *next;
    };
    std::once_flag once;
    CUkern_st *kernel = nullptr;
    std::atomic<const InContext *> functions{nullptr};

    /* NULL: the runtime knows better. */
    CUfunction in_context(CUcontext current)
    {
        CUfunction function;

        for (auto *f = functions.load(std::memory_order_acquire); f; f = f->next)
            if (f->context == current)
                return f->function;
        if (!current || Driver::get().kernel_get_function(&function, registered()))
            return nullptr;
        auto *f = new InContext{current, function, functions.load(std::memory_order_relaxed)};
        while (!functions.compare_exchange_weak(f->next, f, std::memory_order_release))
            ;
        return function;
    }

    static int enter(heddle_native_call *call)
    {
        return (*static_cast<Task *const *>(call->params))->run(call);
    }
    static void describe(const void *params, void *, char *text, size_t size_B)
    {
        (*static_cast<Task *const *>(params))->describe(text, size_B);
    }
    CUkern_st *registered()
    {
        std::call_once(once, [this] {
            heddle_native desc{};
            desc.flags = HEDDLE_NATIVE_INLINE | HEDDLE_NATIVE_WAIT | HEDDLE_NATIVE_RECOVERS;
            desc.name = name.c_str();
            desc.function = enter;
            desc.params_B = sizeof(Task *);
            desc.describe = describe;
            kernel = register_native(desc);
        });
        return kernel;
    }
};

/*
 * `task` belongs to the graph that `stream` is captured into, and to what is instantiated from it.
 * By the driver's interface: the runtime's differs between CUDA 12 and 13.
 */
template <class T> void give_to_graph(cudaStream_t stream, T *task)
{
    const Driver &driver = Driver::get();
    CUstreamCaptureStatus status;
    CUgraph graph = nullptr;
    CUuserObject object;
    CUresult result =
        driver.capture_info(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr);

    if (!result)
        result = driver.user_object_create(
            &object, task, [](void *t) { delete static_cast<T *>(t); }, 1,
            CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    if (!result)
        result = driver.graph_retain(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
    TORCH_CHECK(!result, "Heddle: the graph takes no kernel: CUDA error ",
                static_cast<int>(result));
}

/* Does an error say one of these? */
inline bool says(const c10::Error &e, std::initializer_list<const char *> words)
{
    std::string_view text = e.what_without_backtrace();
    for (auto word : words)
        if (text.find(word) != text.npos)
            return true;
    return false;
}

/*
 * Indices in tensors that are too large: a GPU's kernels trap, and the context is lost; the CPU's
 * throw. "Dimension out of range" and the like are said before any kernel runs, on GPUs as well.
 */
inline bool is_assertion(const c10::Error &e)
{
    return says(e, {"is out of bounds", "index out of range", "index out of bounds"});
}

/* What a GPU's kernel prints; PyTorch itself says no more than that there was an assertion. */
inline int fail_assertion(heddle_native_call *call, const Kernel &kernel, const c10::Error &e)
{
    std::string text = e.what_without_backtrace();
    text = text.substr(0, text.find('\n'));
    fprintf(stderr, "%s: block: [0,0,0], thread: [0,0,0] Assertion `%s` failed.\n",
            kernel.name.c_str(), text.c_str());
    return heddle_native_fail(call, HEDDLE_NATIVE_ASSERTION, text.c_str());
}

/* What a task of a graph does: nobody is there to catch what `body` throws, the launch fails. */
template <class Body> int run_reported(heddle_native_call *call, const Kernel &kernel, Body &&body)
{
    try {
        body();
        return 0;
    } catch (const c10::Error &e) {
        return is_assertion(e) ? fail_assertion(call, kernel, e)
                               : heddle_native_fail(call, 1, e.what_without_backtrace());
    } catch (const std::exception &e) {
        return heddle_native_fail(call, 1, e.what());
    }
}

/*
 * Runs `body` in the stream, on this thread, and returns when it has run; throws what it throws.
 * `args`: the operator's, for tools. `current`: the context, or NULL.
 */
template <class Body>
void run_in_stream(Kernel &kernel, cudaStream_t stream, Body &&body,
                   c10::ArrayRef<c10::IValue> args = {}, CUcontext current = nullptr)
{
    struct Eager final : Task {
        Eager(const Kernel &kernel, Body &body, c10::ArrayRef<c10::IValue> args)
            : kernel(kernel), body(body), args(args)
        {
        }
        const Kernel &kernel;
        Body &body;
        const c10::ArrayRef<c10::IValue> args;
        std::exception_ptr thrown;

        int run(heddle_native_call *call) override
        {
            try {
                body();
            } catch (const c10::Error &e) {
                if (is_assertion(e))
                    return fail_assertion(call, kernel, e);
                thrown = std::current_exception();
            } catch (...) {
                thrown = std::current_exception();
            }
            return 0;
        }
        void describe(char *text, size_t size_B) const override
        {
            describe_values(args, text, size_B);
        }
    } task(kernel, body, args);
    kernel.launch(stream, &task, current);
    if (C10_UNLIKELY(task.thrown))
        std::rethrow_exception(task.thrown);
}

} // namespace heddle
