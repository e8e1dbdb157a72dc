/*
 * Native kernels in a C++ program (heddle/native.h), which finds them in libcuda as a library that
 * also runs elsewhere would: native MODE, and what it prints is right in all but fault modes.
 *   fine       launches, inline ones, a graph, beside a compiled kernel
 *   throw      an exception leaves a function on a thread of the device
 *   throw_here the same inline, where the launch says so
 */
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stdexcept>
#include <string>
#include <vector>

#include <heddle/native.h>

#define CK(call)                                                                                   \
    do {                                                                                           \
        cudaError_t error_ = (call);                                                               \
        if (error_ != cudaSuccess) {                                                               \
            printf("%s: %s\n", #call, cudaGetErrorName(error_));                                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

enum { N = 4096, TILE = 64 };

__global__ void add_one(float *at, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        at[i] += 1.0f;
}

struct args {
    float *at;
    float by;
    int fails;
};

struct noisy {
    ~noisy()
    {
        printf("destroyed\n");
        fflush(stdout);
    }
};

static int scale(struct heddle_native_call *call)
{
    const args *p = static_cast<const args *>(call->params);

    if (p->fails) {
        noisy here;
        throw std::out_of_range("tile " + std::to_string(call->first));
    }
    for (uint64_t tile = call->first; tile < call->last; tile++)
        for (int i = 0; i < TILE; i++)
            p->at[tile * TILE + i] *= p->by;
    return 0;
}

template <typename F> static F *find(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    F *found = driver ? reinterpret_cast<F *>(dlsym(driver, name)) : nullptr;

    if (!found) {
        printf("libcuda has no %s\n", name);
        exit(1);
    }
    return found;
}

static void *make(const char *name, unsigned flags)
{
    heddle_native desc = {};
    heddle_native_kernel *kernel;
    CUkern_st *handle;

    desc.size_B = sizeof(desc);
    desc.flags = flags;
    desc.name = name;
    desc.function = scale;
    desc.params_B = sizeof(args);
    desc.describe = [](const void *params, void *, char *text, size_t size_B) {
        snprintf(text, size_B, "by=%g", static_cast<const args *>(params)->by);
    };
    desc.tile_ns = 50;
    if (find<decltype(heddle_native_register)>("heddle_native_register")(&desc, &kernel) ||
        find<decltype(heddle_native_get_kernel)>("heddle_native_get_kernel")(kernel, &handle)) {
        printf("not registered\n");
        exit(1);
    }
    return handle;
}

static cudaError_t launch(void *kernel, args a, cudaStream_t stream)
{
    void *params[] = {&a};

    return cudaLaunchKernel(kernel, dim3(N / TILE), dim3(1), params, 0, stream);
}

static void fine(float *memory)
{
    void *device = make("lib::scale", 0), *here = make("lib::scale_here", HEDDLE_NATIVE_INLINE);
    std::vector<float> host(N);
    cudaGraphExec_t exec;
    cudaStream_t stream;
    cudaGraph_t graph;
    int wrong = 0;

    CK(cudaStreamCreate(&stream));
    CK(cudaMemsetAsync(memory, 0, N * sizeof(float), stream));
    CK(cudaStreamSynchronize(stream));
    CK(launch(here, {memory, 0.0f, 0}, stream));
    add_one<<<N / 256, 256, 0, stream>>>(memory, N);
    CK(launch(device, {memory, 3.0f, 0}, stream));
    CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add_one<<<N / 256, 256, 0, stream>>>(memory, N);
    CK(launch(device, {memory, 2.0f, 0}, stream));
    CK(launch(here, {memory, 2.0f, 0}, stream));
    CK(cudaStreamEndCapture(stream, &graph));
    CK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++)
        CK(cudaGraphLaunch(exec, stream));
    CK(cudaMemcpyAsync(host.data(), memory, N * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CK(cudaStreamSynchronize(stream));
    for (float x : host)
        wrong += x != 68.0f; /* ((3 + 1) * 4 + 1) * 4 */
    printf("wrong %d\n", wrong);
    CK(cudaGraphExecDestroy(exec));
    CK(cudaGraphDestroy(graph));
    CK(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "fine";
    float *memory;

    CK(cudaMalloc(&memory, N * sizeof(float)));
    if (!strcmp(mode, "fine")) {
        fine(memory);
    } else {
        bool is_here = !strcmp(mode, "throw_here");
        void *kernel = make("lib::scale", is_here ? HEDDLE_NATIVE_INLINE : 0);

        printf("launch %s\n", cudaGetErrorName(launch(kernel, {memory, 1.0f, 1}, nullptr)));
        printf("wait %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
        return 0;
    }
    CK(cudaFree(memory));
    return 0;
}
