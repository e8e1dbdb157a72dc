/* The runtime API on the CPU device: registration, launches, copies, symbols, streams, errors. */
#include "runtime_fixture.h"

#include <pthread.h>

#define HEADER ".version 8.0\n.target sm_75\n.address_size 64\n"
static const char ptx[] =
    HEADER ".visible .global .align 4 .u32 counter = 7;\n"
           ".visible .const .align 4 .b8 table[16];\n"
           ".visible .global .attribute(.managed) .align 4 .u32 shared_word = 5;\n"
           ".visible .entry put(.param .u64 p, .param .u32 v) {\n"
           ".reg .b32 %r<8>; .reg .b64 %d<4>;\n"
           "ld.param.u64 %d1, [p]; cvta.to.global.u64 %d1, %d1;\n"
           "ld.param.u32 %r1, [v];\n"
           "mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;\n"
           "mad.lo.s32 %r5, %r3, %r4, %r2;\n"
           "mul.wide.u32 %d2, %r5, 4; add.s64 %d3, %d1, %d2;\n"
           "add.u32 %r6, %r1, %r5; st.global.u32 [%d3], %r6; ret; }\n"
           ".visible .entry bump() {\n"
           ".reg .b32 %r<4>;\n"
           "atom.global.add.u32 %r1, [counter], 1;\n"
           "atom.global.add.u32 %r2, [shared_word], 1; ret; }\n";

static char put, bump, unregistered; /* addresses stand for the stubs */
static char counter, table;
static unsigned *shared_word;
static void **handle;

static void register_all(void)
{
    handle = __cudaRegisterFatBinary(fixture_wrap(ptx));
    fixture_function(handle, &put, "put");
    fixture_function(handle, &bump, "bump");
    fixture_variable(handle, &counter, "counter", 4, 0);
    fixture_variable(handle, &table, "table", 16, 1);
    fixture_managed(handle, (void **)&shared_word, "shared_word", 4);
    __cudaRegisterFatBinaryEnd(handle);
}

static const dim3 one = {1, 1, 1};

static cudaError_t launch_put(unsigned *to, unsigned value, unsigned grid, unsigned block,
                              cudaStream_t stream)
{
    void *args[] = {&to, &value};
    return cudaLaunchKernel(&put, (dim3){grid, 1, 1}, (dim3){block, 1, 1}, args, 0, stream);
}

static void test_launch(void)
{
    unsigned *device, host[64];
    cudaKernel_t kernel, again;
    bool right = true;
    eq_error(cudaMalloc((void **)&device, sizeof(host)), cudaSuccess, "cudaMalloc");
    eq_error(launch_put(device, 100, 2, 32, NULL), cudaSuccess, "launch by host function");
    eq_error(cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost), cudaSuccess, "copy");
    for (unsigned i = 0; i < 64; i++)
        right &= host[i] == 100 + i;
    ok(right, "every thread stored its number");
    eq_error(__cudaGetKernel(&kernel, &put), cudaSuccess, "__cudaGetKernel");
    eq_error(cudaGetKernel(&again, kernel), cudaSuccess, "what compiled programs keep names it");
    eq_error(cudaGetKernel(&kernel, again), cudaSuccess, "a kernel is its own entry");
    ok(kernel == again, "the same handle");
    void *args[] = {&device, &(unsigned){7}};
    eq_error(__cudaLaunchKernel(kernel, one, one, args, 0, NULL), cudaSuccess, "launch by kernel");
    eq_error(cudaMemcpy(host, device, 4, cudaMemcpyDefault), cudaSuccess, "copy by pointers");
    eq_u64(host[0], 7, "its store");
    eq_error(cudaFree(device), cudaSuccess, "cudaFree");
    eq_error(cudaFree(NULL), cudaSuccess, "of NULL");
}

static void test_call_configuration(void)
{
    dim3 grid, block;
    size_t shared_B;
    cudaStream_t stream;
    __cudaPushCallConfiguration((dim3){1, 2, 3}, one, 4, (cudaStream_t)5);
    __cudaPushCallConfiguration((dim3){6, 7, 8}, one, 9, NULL);
    eq_error(__cudaPopCallConfiguration(&grid, &block, &shared_B, &stream), cudaSuccess, "pop");
    ok(grid.x == 6 && grid.z == 8 && shared_B == 9 && !stream, "the last one pushed");
    eq_error(__cudaPopCallConfiguration(&grid, &block, &shared_B, &stream), cudaSuccess, "pop");
    ok(grid.y == 2 && shared_B == 4 && stream == (cudaStream_t)5, "the one before");
    eq_error(__cudaPopCallConfiguration(&grid, &block, &shared_B, &stream),
             cudaErrorMissingConfiguration, "none left");
    (void)cudaGetLastError();
}

static void test_symbols(void)
{
    unsigned value = 0, words[4] = {1, 2, 3, 4};
    size_t size_B;
    void *ptr;
    eq_error(cudaMemcpyFromSymbol(&value, &counter, 4, 0, cudaMemcpyDeviceToHost), cudaSuccess,
             "read a variable");
    eq_u64(value, 7, "its initial value");
    eq_error(cudaMemcpyToSymbol(&table, words, 16, 0, cudaMemcpyHostToDevice), cudaSuccess,
             "write constant memory");
    eq_error(cudaMemcpyFromSymbol(&value, &table, 4, 8, cudaMemcpyDeviceToHost), cudaSuccess,
             "read it at an offset");
    eq_u64(value, 3, "the word there");
    eq_error(cudaGetSymbolSize(&size_B, &table), cudaSuccess, "cudaGetSymbolSize");
    eq_u64(size_B, 16, "in bytes");
    eq_error(cudaGetSymbolAddress(&ptr, &counter), cudaSuccess, "cudaGetSymbolAddress");
    eq_error(cudaMemcpyToSymbol(&table, words, 16, 4, cudaMemcpyHostToDevice),
             cudaErrorInvalidValue, "beyond the end");
    eq_error(cudaMemcpyToSymbol(&table, words, 4, 0, cudaMemcpyDeviceToHost),
             cudaErrorInvalidMemcpyDirection, "in the wrong direction");
    eq_error(cudaGetSymbolAddress(&ptr, &unregistered), cudaErrorInvalidSymbol, "no variable");
    eq_u64((uint64_t)__cudaInitModule(handle), 1, "__cudaInitModule");
    eq_u64(*shared_word, 5, "a managed variable is readable by the host");
    eq_error(cudaLaunchKernel(&bump, one, (dim3){32, 1, 1}, NULL, 0, NULL), cudaSuccess, "bump");
    eq_error(cudaDeviceSynchronize(), cudaSuccess, "synchronize");
    eq_u64(*shared_word, 5 + 32, "the kernel's changes are seen");
    (void)cudaGetLastError();
}

static void test_launch_errors(void)
{
    eq_error(launch_put(NULL, 0, 0, 1, NULL), cudaErrorInvalidConfiguration, "no block");
    eq_error(cudaPeekAtLastError(), cudaErrorInvalidConfiguration, "peek");
    eq_error(cudaGetLastError(), cudaErrorInvalidConfiguration, "get");
    eq_error(cudaGetLastError(), cudaSuccess, "clears");
    eq_error(launch_put(NULL, 0, 1, 1025, NULL), cudaErrorInvalidConfiguration, "1025 threads");
    eq_error(cudaLaunchKernel(&put, one, (dim3){1, 1, 65}, NULL, 0, NULL),
             cudaErrorInvalidConfiguration, "65 deep");
    eq_error(cudaLaunchKernel(&put, (dim3){1, 65536, 1}, one, NULL, 0, NULL),
             cudaErrorInvalidConfiguration, "65536 rows");
    void *args[] = {&(void *){NULL}, &(unsigned){0}};
    eq_error(cudaLaunchKernel(&put, one, one, args, 1 << 20, NULL), cudaErrorInvalidValue,
             "too much shared memory");
    eq_error(cudaLaunchKernel(&unregistered, one, one, NULL, 0, NULL),
             cudaErrorInvalidDeviceFunction, "not a kernel");
    eq_error(cudaMemcpy(NULL, NULL, 4, (enum cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection,
             "no such direction");
    eq_error(cudaSetDevice(99), cudaErrorInvalidDevice, "no such device");
    eq_error(cudaSetDevice(-1), cudaErrorInvalidDevice, "nor this");
    eq_error(cudaStreamDestroy(NULL), cudaErrorInvalidResourceHandle, "the default stream stays");
    eq_error(cudaMalloc(&(void *){NULL}, SIZE_MAX / 2), cudaErrorMemoryAllocation, "too much");
    (void)cudaGetLastError();
}

static void test_memory(void)
{
    struct cudaPointerAttributes a;
    void *device, *pinned, *managed;
    size_t pitch, free_B, total_B;
    int local;
    eq_error(cudaMalloc(&device, 0), cudaSuccess, "no bytes");
    ok(!device, "are nowhere");
    eq_error(cudaMallocPitch(&device, &pitch, 100, 4), cudaSuccess, "cudaMallocPitch");
    ok(pitch >= 100 && pitch % 32 == 0, "pitch");
    eq_error(cudaMemset2D(device, pitch, 0x5a, 100, 4), cudaSuccess, "cudaMemset2D");
    unsigned char rows[4][10];
    eq_error(cudaMemcpy2D(rows, 10, device, pitch, 10, 4, cudaMemcpyDeviceToHost), cudaSuccess,
             "cudaMemcpy2D");
    ok(rows[3][9] == 0x5a && rows[0][0] == 0x5a, "what was set");
    eq_error(cudaMemcpy2D(rows, 5, device, pitch, 10, 4, cudaMemcpyDeviceToHost),
             cudaErrorInvalidPitchValue, "wider than its pitch");
    eq_error(cudaPointerGetAttributes(&a, device), cudaSuccess, "of device memory");
    ok(a.type == cudaMemoryTypeDevice && a.device == 0 && a.devicePointer == device, "device");
    eq_error(cudaMallocHost(&pinned, 64), cudaSuccess, "cudaMallocHost");
    eq_error(cudaPointerGetAttributes(&a, pinned), cudaSuccess, "of pinned memory");
    ok(a.type == cudaMemoryTypeHost && a.hostPointer == pinned, "host");
    eq_error(cudaMallocManaged(&managed, 64, cudaMemAttachGlobal), cudaSuccess, "managed");
    eq_error(cudaPointerGetAttributes(&a, managed), cudaSuccess, "of managed memory");
    ok(a.type == cudaMemoryTypeManaged, "managed");
    eq_error(cudaPointerGetAttributes(&a, &local), cudaSuccess, "of a local variable");
    ok(a.type == cudaMemoryTypeUnregistered, "unregistered");
    eq_error(cudaMemGetInfo(&free_B, &total_B), cudaSuccess, "cudaMemGetInfo");
    ok(free_B < total_B, "some is in use");
    eq_error(cudaFree(device), cudaSuccess, "free");
    eq_error(cudaFree(device), cudaErrorInvalidValue, "twice");
    eq_error(cudaFreeHost(pinned), cudaSuccess, "cudaFreeHost");
    eq_error(cudaFree(managed), cudaSuccess, "free managed memory");
    (void)cudaGetLastError();
}

static void count_call(void *arg)
{
    ++*(int *)arg;
}

static void test_streams(void)
{
    cudaStream_t stream;
    cudaEvent_t start, end;
    unsigned *device, host[32];
    int calls = 0;
    float ms = -1;
    eq_error(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess, "stream");
    eq_error(cudaEventCreate(&start), cudaSuccess, "event");
    eq_error(cudaEventCreate(&end), cudaSuccess, "event");
    eq_error(cudaMallocAsync((void **)&device, sizeof(host), stream), cudaSuccess, "alloc async");
    eq_error(cudaEventRecord(start, stream), cudaSuccess, "record");
    eq_error(launch_put(device, 1, 1, 32, stream), cudaSuccess, "launch");
    eq_error(cudaMemcpyAsync(host, device, sizeof(host), cudaMemcpyDeviceToHost, stream),
             cudaSuccess, "copy async");
    eq_error(cudaLaunchHostFunc(stream, count_call, &calls), cudaSuccess, "host function");
    eq_error(cudaEventRecord(end, stream), cudaSuccess, "record");
    eq_error(cudaEventSynchronize(end), cudaSuccess, "wait");
    eq_error(cudaEventElapsedTime(&ms, start, end), cudaSuccess, "elapsed");
    ok(ms >= 0 && calls == 1 && host[31] == 32, "all happened in order");
    eq_error(cudaStreamQuery(stream), cudaSuccess, "idle");
    eq_error(cudaFreeAsync(device, stream), cudaSuccess, "free async");
    eq_error(cudaStreamDestroy(stream), cudaSuccess, "destroy");
    eq_error(cudaEventDestroy(start), cudaSuccess, "destroy");
    eq_error(cudaEventDestroy(end), cudaSuccess, "destroy");
}

static void test_functions(void)
{
    struct cudaFuncAttributes attr;
    const char *name;
    int blocks = 0;
    eq_error(cudaFuncGetAttributes(&attr, &put), cudaSuccess, "cudaFuncGetAttributes");
    ok(attr.maxThreadsPerBlock >= 256 && attr.ptxVersion == 75, "plausible");
    eq_error(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &put, 128, 0), cudaSuccess,
             "occupancy");
    ok(blocks > 0, "some blocks");
    eq_error(cudaFuncSetAttribute(&put, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536),
             cudaSuccess, "opt in to more shared memory");
    eq_error(cudaFuncGetName(&name, &put), cudaSuccess, "cudaFuncGetName");
    eq_str(name, "put", "name");
}

static void *other_thread(void *arg)
{
    unsigned *device = arg;
    (void)cudaGetLastError();
    return (void *)(uintptr_t)(cudaPeekAtLastError() || launch_put(device, 3, 1, 1, NULL) ||
                               cudaDeviceSynchronize());
}

static void test_threads(void)
{
    pthread_t threads[4];
    unsigned *device;
    void *bad;
    (void)cudaSetDevice(77);
    eq_error(cudaMalloc((void **)&device, 4), cudaSuccess, "one thread allocates");
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, other_thread, device))
            abort();
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &bad);
        ok(!bad, "thread %d uses it", i);
    }
    eq_error(cudaGetLastError(), cudaErrorInvalidDevice, "errors belong to their thread");
    cudaFree(device);
}

static void test_reset(void)
{
    unsigned value = 0;
    unsigned *device;
    eq_error(cudaDeviceReset(), cudaSuccess, "cudaDeviceReset");
    eq_error(cudaMalloc((void **)&device, 4), cudaSuccess, "works afterwards");
    eq_error(launch_put(device, 9, 1, 1, NULL), cudaSuccess, "kernels are loaded again");
    eq_error(cudaMemcpyFromSymbol(&value, &counter, 4, 0, cudaMemcpyDeviceToHost), cudaSuccess,
             "variables too");
    eq_u64(value, 7, "with their initial values");
    __cudaUnregisterFatBinary(handle);
    eq_error(launch_put(device, 9, 1, 1, NULL), cudaErrorInvalidDeviceFunction, "unregistered");
    __cudaUnregisterFatBinary(handle);
    __cudaUnregisterFatBinary(NULL);
    ok(true, "unregistering twice is harmless");
}

int main(void)
{
    register_all();
    test_call_configuration();
    test_launch();
    test_symbols();
    test_launch_errors();
    test_memory();
    test_streams();
    test_functions();
    test_threads();
    test_reset();
    return done();
}
