/* What making and destroying an object costs, in microseconds: medians over batches of create and
 * destroy.
 * usage: objects [-q]      output: name,us */
#include "../cuda/cu.h"

#include <cuda.h>
#include <dlfcn.h>

static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                          ".visible .entry k(.param .u64 p)\n{\n ret;\n}\n";

/* The driver's function, without linking to the driver. */
template <class F> static F driver(const char *name)
{
    static void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    F f = lib ? (F)dlsym(lib, name) : nullptr;

    if (!f) {
        fprintf(stderr, "libcuda has no %s\n", name);
        exit(1);
    }
    return f;
}
static int batches = 100;

template <class F> static void report(const char *name, int batch, F once)
{
    static double us[1000];

    once(); /* the first one fills pools */
    for (int i = 0; i < batches; i++) {
        double t0 = now_ms();
        for (int k = 0; k < batch; k++)
            once();
        us[i] = (now_ms() - t0) * 1e3 / batch;
    }
    qsort(us, batches, sizeof(us[0]), bench_compare_double);
    printf("%s,%.3f\n", name, us[batches / 2]);
}

static void CU(CUresult result)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "error %d\n", (int)result);
        exit(1);
    }
}

static void contexts()
{
    auto create = driver<CUresult (*)(CUcontext *, unsigned, CUdevice)>("cuCtxCreate_v2");
    auto destroy = driver<CUresult (*)(CUcontext)>("cuCtxDestroy_v2");

    report("context", 4, [&] {
        CUcontext ctx;
        CU(create(&ctx, 0, 0));
        CU(destroy(ctx));
    });
}

static void modules()
{
    auto load = driver<decltype(&cuModuleLoadData)>("cuModuleLoadData");
    auto unload = driver<decltype(&cuModuleUnload)>("cuModuleUnload");
    auto function = driver<decltype(&cuModuleGetFunction)>("cuModuleGetFunction");

    report("module", 4, [&] {
        CUmodule module;
        CUfunction func;
        CU(load(&module, ptx));
        CU(function(&func, module, "k"));
        CU(unload(module));
    });
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "-q"))
        batches = 10;
    CK(cudaFree(0));
    report("stream", 16, [] {
        cudaStream_t s;
        CK(cudaStreamCreate(&s));
        CK(cudaStreamDestroy(s));
    });
    report("8 streams", 4, [] {
        cudaStream_t s[8];
        for (auto &i : s)
            CK(cudaStreamCreate(&i));
        for (auto i : s)
            CK(cudaStreamDestroy(i));
    });
    report("event", 64, [] {
        cudaEvent_t e;
        CK(cudaEventCreate(&e));
        CK(cudaEventDestroy(e));
    });
    report("memory 1 KiB", 64, [] {
        void *p;
        CK(cudaMalloc(&p, 1024));
        CK(cudaFree(p));
    });
    report("memory 1 MiB", 16, [] {
        void *p;
        CK(cudaMalloc(&p, 1 << 20));
        CK(cudaFree(p));
    });
    report("pinned 64 KiB", 16, [] {
        void *p;
        CK(cudaMallocHost(&p, 1 << 16));
        CK(cudaFreeHost(p));
    });
    modules();
    contexts();
    return 0;
}
