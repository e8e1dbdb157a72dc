/*
 * What the runtime is asked for, and settings that are told again: devices, peers, streams, memory,
 * symbols, functions, libraries.
 */
#include "runtime_fixture.h"

static const char ptx[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    ".visible .global .align 4 .b8 words[16];\n.visible .global .attribute(.managed) .align 4 .b8 "
    "shared[8];\n"
    ".visible .entry twice(.param .u64 out, .param .u32 n) { .reg .b32 v; .reg .b64 o;\n"
    "ld.param.u64 o, [out]; ld.param.u32 v, [n]; add.u32 v, v, v; st.global.u32 [o], v; ret; }\n";
static char twice, words, unknown;

static void test_devices(void)
{
    struct cudaDeviceProp properties, want = {0};
    enum cudaFuncCache cache;
    enum cudaSharedMemConfig banks;
    char bus[32] = "", small[4];
    unsigned flags = 0, atomics = 0;
    enum cudaAtomicOperation add = cudaAtomicOperationIntegerAdd;
    int device = -1, version = 0, can = -1, least = 9, most = 9, rank = -1;

    eq_error(cudaDriverGetVersion(&version), cudaSuccess, "version");
    ok(version >= 13000, "%d", version);
    eq_error(cudaDeviceGetPCIBusId(bus, sizeof(bus), 1), cudaSuccess, "bus of device 1");
    eq_error(cudaDeviceGetByPCIBusId(&device, bus), cudaSuccess, "device at %s", bus);
    eq_u64((unsigned)device, 1, "is device 1");
    unsigned number = (unsigned)strtoul(bus + 5, NULL, 16);
    static const char *const forms[] = {"0:%x:0.0", "0000:%02x:00", "%X:0.0", "%02x:00.0"};
    for (size_t i = 0; i < HD_COUNT_OF(forms); i++) {
        char id[32];
        device = -1;
        snprintf(id, sizeof(id), forms[i], number);
        eq_error(cudaDeviceGetByPCIBusId(&device, id), cudaSuccess, "device at %s", id);
        eq_u64((unsigned)device, 1, "the same");
    }
    static const char *const others[] = {"1:%x:0.0", "0:%x:1.0", "0:%x:0.1", "%x",
                                         "%x:0",     "",         ":%x:0.0"};
    for (size_t i = 0; i < HD_COUNT_OF(others); i++) {
        char id[32];
        snprintf(id, sizeof(id), others[i], number);
        eq_error(cudaDeviceGetByPCIBusId(&device, id), cudaErrorInvalidDevice, "none at %s", id);
    }
    eq_error(cudaDeviceGetByPCIBusId(&device, "ffff:ff:1f.7"), cudaErrorInvalidDevice,
             "nothing is there");
    eq_error(cudaDeviceGetPCIBusId(small, 0, 1), cudaErrorInvalidValue, "no room");
    eq_error(cudaGetDeviceProperties(&properties, 0), cudaSuccess, "properties");
    want.major = properties.major;
    eq_error(cudaChooseDevice(&device, &want), cudaSuccess, "one that can as much");
    eq_u64((unsigned)device, 0, "the first");
    eq_error(cudaDeviceSetCacheConfig(cudaFuncCachePreferShared), cudaSuccess, "cache");
    eq_error(cudaDeviceGetCacheConfig(&cache), cudaSuccess, "ask");
    eq_u64(cache, cudaFuncCachePreferShared, "as was said");
    eq_error(cudaDeviceSetCacheConfig((enum cudaFuncCache)9), cudaErrorInvalidValue, "none");
    eq_error(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeFourByte), cudaSuccess, "banks");
    eq_error(cudaDeviceGetSharedMemConfig(&banks), cudaSuccess, "ask");
    eq_u64(banks, cudaSharedMemBankSizeFourByte, "four bytes");
    eq_error(cudaSetDeviceFlags(cudaDeviceScheduleYield), cudaSuccess, "flags");
    eq_error(cudaGetDeviceFlags(&flags), cudaSuccess, "ask");
    ok((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleYield && flags & cudaDeviceMapHost,
       "as was said, and memory is mapped");
    eq_error(cudaSetDeviceFlags(0x4000), cudaErrorInvalidValue, "no flag");
    eq_error(cudaDeviceGetStreamPriorityRange(&least, &most), cudaSuccess, "priorities");
    ok(least == 0 && most < 0, "from 0 down");
    eq_error(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess, "peers?");
    eq_u64((unsigned)can, 1, "yes");
    eq_error(cudaDeviceCanAccessPeer(&can, 0, 0), cudaSuccess, "with itself?");
    eq_u64((unsigned)can, 0, "no");
    eq_error(cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrAccessSupported, 0, 1), cudaSuccess,
             "attribute");
    eq_u64((unsigned)rank, 1, "the same");
    eq_error(cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrAccessSupported, 0, 0),
             cudaErrorInvalidDevice, "with itself");
    eq_error(cudaDeviceGetHostAtomicCapabilities(&atomics, &add, 1, 0), cudaSuccess,
             "atomics with the host");
    ok(atomics != 0, "there are some");
    eq_error(cudaDeviceGetP2PAtomicCapabilities(&atomics, &add, 1, 0, 1), cudaSuccess,
             "with a peer");
    eq_error(cudaInitDevice(1, 0, 0), cudaSuccess, "make device 1 ready");
    eq_error(cudaInitDevice(7, 0, 0), cudaErrorInvalidDevice, "device 7");
    (void)cudaGetLastError();
}

static void test_peers(void)
{
    unsigned *here, *there, back[4] = {0}, words_[4] = {1, 2, 3, 4};

    eq_error(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess, "enable");
    eq_error(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled, "twice");
    eq_error(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice, "itself");
    eq_error(cudaMalloc((void **)&here, 16), cudaSuccess, "memory");
    eq_error(cudaSetDevice(1), cudaSuccess, "the other device");
    eq_error(cudaMalloc((void **)&there, 16), cudaSuccess, "memory");
    eq_error(cudaSetDevice(0), cudaSuccess, "back");
    eq_error(cudaMemcpy(here, words_, 16, cudaMemcpyHostToDevice), cudaSuccess, "to the device");
    eq_error(cudaMemcpyPeer(there, 1, here, 0, 16), cudaSuccess, "to the other");
    eq_error(cudaMemset(here, 0, 16), cudaSuccess, "erase");
    eq_error(cudaMemcpyPeerAsync(here, 0, there, 1, 8, NULL), cudaSuccess, "back in a stream");
    eq_error(cudaMemcpy(back, here, 16, cudaMemcpyDeviceToHost), cudaSuccess, "to the host");
    ok(back[0] == 1 && back[1] == 2 && !back[2], "half of it");
    eq_error(cudaMemcpyPeer(there, 7, here, 0, 16), cudaErrorInvalidDevice, "no device");
    eq_error(cudaDeviceDisablePeerAccess(1), cudaSuccess, "disable");
    eq_error(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled, "twice");
    eq_error(cudaFree(here), cudaSuccess, "free");
    eq_error(cudaFree(there), cudaSuccess, "free");
    (void)cudaGetLastError();
}

static unsigned called;

static void count_call(cudaStream_t stream, cudaError_t status, void *arg)
{
    called += status == cudaSuccess && arg == &called;
}

static void test_streams(void)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    unsigned long long id = 0, other = 0;
    unsigned flags = 9;
    int priority = 9, device = 9;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaEvent_t event;
    void *managed;

    eq_error(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -1), cudaSuccess,
             "stream");
    eq_error(cudaStreamGetFlags(stream, &flags), cudaSuccess, "flags");
    eq_u64(flags, cudaStreamNonBlocking, "as it was made");
    eq_error(cudaStreamGetPriority(stream, &priority), cudaSuccess, "priority");
    eq_u64((unsigned)priority, (unsigned)-1, "as it was made");
    eq_error(cudaStreamGetDevice(stream, &device), cudaSuccess, "device");
    eq_u64((unsigned)device, 0, "device 0");
    eq_error(cudaStreamGetId(stream, &id), cudaSuccess, "number");
    eq_error(cudaStreamGetId(NULL, &other), cudaSuccess, "of the default stream");
    ok(id != other, "are different");
    eq_error(cudaStreamAddCallback(stream, count_call, &called, 0), cudaSuccess, "callback");
    eq_error(cudaStreamSynchronize(stream), cudaSuccess, "wait");
    eq_u64(called, 1, "was called");
    eq_error(cudaStreamAddCallback(stream, NULL, NULL, 0), cudaErrorInvalidValue, "no function");
    eq_error(cudaEventCreate(&event), cudaSuccess, "event");
    eq_error(cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault), cudaSuccess,
             "record");
    eq_error(cudaEventSynchronize(event), cudaSuccess, "wait");
    eq_error(cudaEventRecordWithFlags(event, stream, 8), cudaErrorInvalidValue, "no flag");
    eq_error(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess, "mode of captures");
    eq_u64(mode, cudaStreamCaptureModeGlobal, "was global");
    eq_error(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess, "back");
    eq_u64(mode, cudaStreamCaptureModeRelaxed, "was relaxed");
    eq_error(cudaStreamIsCapturing(stream, &status), cudaSuccess, "capturing?");
    eq_u64(status, cudaStreamCaptureStatusNone, "no");
    eq_error(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess, "capture");
    eq_error(cudaStreamIsCapturing(stream, &status), cudaSuccess, "capturing?");
    eq_u64(status, cudaStreamCaptureStatusActive, "yes");
    eq_error(cudaStreamEndCapture(stream, &graph), cudaSuccess, "end");
    eq_error(cudaGraphDestroy(graph), cudaSuccess, "destroy");
    eq_error(cudaMallocManaged(&managed, 64, cudaMemAttachHost), cudaSuccess, "memory of the host");
    eq_error(cudaStreamAttachMemAsync(stream, managed, 0, cudaMemAttachSingle), cudaSuccess,
             "to the stream");
    eq_error(cudaStreamAttachMemAsync(stream, managed, 0, 77), cudaErrorInvalidValue, "to what?");
    eq_error(cudaStreamSynchronize(stream), cudaSuccess, "wait");
    eq_error(cudaFree(managed), cudaSuccess, "free");
    eq_error(cudaEventDestroy(event), cudaSuccess, "destroy");
    eq_error(cudaStreamDestroy(stream), cudaSuccess, "destroy");
    eq_error(cudaStreamGetFlags(stream, &flags), cudaErrorInvalidResourceHandle, "gone");
    (void)cudaGetLastError();
}

static void test_host_memory(void)
{
    static _Alignas(4096) char page[8192];
    unsigned flags = 0;
    void *pinned, *device;

    eq_error(cudaHostAlloc(&pinned, 64, cudaHostAllocPortable | cudaHostAllocMapped), cudaSuccess,
             "pinned memory");
    eq_error(cudaHostGetFlags(&flags, pinned), cudaSuccess, "its flags");
    ok(flags & cudaHostAllocPortable && flags & cudaHostAllocMapped, "as it was made");
    eq_error(cudaFreeHost(pinned), cudaSuccess, "free");
    eq_error(cudaHostGetFlags(&flags, pinned), cudaErrorInvalidValue, "gone");
    eq_error(cudaHostRegister(page, sizeof(page), cudaHostRegisterMapped), cudaSuccess, "register");
    eq_error(cudaHostRegister(page, sizeof(page), 0), cudaErrorHostMemoryAlreadyRegistered,
             "twice");
    eq_error(cudaHostGetDevicePointer(&device, page, 0), cudaSuccess, "its address");
    eq_error(cudaMemset(device, 0x5a, 16), cudaSuccess, "write to it");
    eq_error(cudaDeviceSynchronize(), cudaSuccess, "wait");
    ok(page[0] == 0x5a && page[15] == 0x5a && !page[16], "the host sees it");
    eq_error(cudaHostUnregister(page), cudaSuccess, "unregister");
    eq_error(cudaHostUnregister(page), cudaErrorHostMemoryNotRegistered, "twice");
    eq_error(cudaHostRegister(page, sizeof(page), 0x4000), cudaErrorInvalidValue, "no flag");
    (void)cudaGetLastError();
}

static void test_symbols_and_functions(void)
{
    void **handle = __cudaRegisterFatBinary(fixture_wrap(ptx));
    unsigned in[4] = {5, 6, 7, 8}, out[4] = {0}, *result, n = 21;
    size_t offset = 0, size_B = 0, smem_B = 0;
    int blocks = 0, with_flags = 0;
    cudaFunction_t function;
    void *args[] = {&result, &n}, *entry = NULL;
    cudaLaunchConfig_t config = {.gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}};
    enum cudaDriverEntryPointQueryResult found;

    fixture_function(handle, &twice, "twice");
    fixture_variable(handle, &words, "words", 16, 0);
    __cudaRegisterFatBinaryEnd(handle);
    eq_error(cudaMemcpyToSymbolAsync(&words, in, 8, 4, cudaMemcpyHostToDevice, NULL), cudaSuccess,
             "to a variable");
    eq_error(cudaMemcpyFromSymbolAsync(out, &words, 16, 0, cudaMemcpyDeviceToHost, NULL),
             cudaSuccess, "from it");
    eq_error(cudaDeviceSynchronize(), cudaSuccess, "wait");
    ok(!out[0] && out[1] == 5 && out[2] == 6 && !out[3], "two words behind the first");
    eq_error(cudaMemcpyToSymbolAsync(&words, in, 16, 4, cudaMemcpyHostToDevice, NULL),
             cudaErrorInvalidValue, "beyond the end");
    eq_error(cudaMemcpyToSymbolAsync(&unknown, in, 4, 0, cudaMemcpyHostToDevice, NULL),
             cudaErrorInvalidSymbol, "no variable");
    eq_error(cudaFuncGetParamInfo(&twice, 1, &offset, &size_B), cudaSuccess, "parameter");
    ok(offset == 8 && size_B == 4, "four bytes behind the address");
    eq_error(cudaFuncGetParamInfo(&twice, 2, &offset, &size_B), cudaErrorInvalidValue, "a third");
    eq_error(cudaFuncSetCacheConfig(&twice, cudaFuncCachePreferL1), cudaSuccess, "a hint");
    eq_error(cudaFuncSetSharedMemConfig(&twice, cudaSharedMemBankSizeDefault), cudaSuccess,
             "a hint");
    eq_error(cudaFuncSetCacheConfig(&unknown, cudaFuncCachePreferL1),
             cudaErrorInvalidDeviceFunction, "no function");
    eq_error(cudaGetFuncBySymbol(&function, &twice), cudaSuccess, "the driver's function");
    ok(function != NULL, "is there");
    eq_error(cudaGetFuncBySymbol(&function, &unknown), cudaErrorInvalidDeviceFunction,
             "no function");
    eq_error(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &twice, 64, 0), cudaSuccess,
             "blocks");
    eq_error(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&with_flags, &twice, 64, 0,
                                                                    cudaOccupancyDefault),
             cudaSuccess, "blocks");
    ok(blocks > 0 && blocks == with_flags, "%d", blocks);
    eq_error(cudaOccupancyAvailableDynamicSMemPerBlock(&smem_B, &twice, 1, 64), cudaSuccess,
             "shared memory");
    ok(smem_B >= 48 << 10, "%zu bytes", smem_B);
    eq_error(cudaOccupancyMaxActiveClusters(&blocks, &twice, &config), cudaSuccess, "clusters");
    ok(blocks > 0, "%d", blocks);
    eq_error(cudaMallocManaged((void **)&result, 4, cudaMemAttachGlobal), cudaSuccess, "memory");
    eq_error(cudaLaunchKernelExC(&config, &twice, args), cudaSuccess, "launch");
    eq_error(cudaDeviceSynchronize(), cudaSuccess, "wait");
    eq_u64(*result, 42, "twice 21");
    eq_error(cudaLaunchKernelExC(NULL, &twice, args), cudaErrorInvalidValue, "null");
    eq_error(cudaGetDriverEntryPoint("cuMemAlloc", &entry, cudaEnableDefault, &found), cudaSuccess,
             "a function of the driver");
    ok(entry && found == cudaDriverEntryPointSuccess, "is there");
    eq_error(cudaGetDriverEntryPoint("cuNothing", &entry, cudaEnableDefault, &found), cudaSuccess,
             "one that is not");
    eq_u64(found, cudaDriverEntryPointSymbolNotFound, "is not found");
    eq_error(cudaFree(result), cudaSuccess, "free");
    (void)cudaGetLastError();
}

static void test_library(void)
{
    cudaLibrary_t library;
    cudaKernel_t kernel, kernels[4];
    void *ptr = NULL;
    size_t size_B = 0;
    unsigned count = 0;

    eq_error(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0), cudaSuccess,
             "library");
    eq_error(cudaLibraryGetKernelCount(&count, library), cudaSuccess, "kernels");
    eq_u64(count, 1, "one");
    eq_error(cudaLibraryEnumerateKernels(kernels, 4, library), cudaSuccess, "all");
    eq_error(cudaLibraryGetKernel(&kernel, library, "twice"), cudaSuccess, "by name");
    ok(kernel == kernels[0], "is the one");
    eq_error(cudaLibraryGetKernel(&kernel, library, "thrice"), cudaErrorSymbolNotFound,
             "no such name");
    eq_error(cudaLibraryGetGlobal(&ptr, &size_B, library, "words"), cudaSuccess, "variable");
    eq_u64(size_B, 16, "of 16 bytes");
    eq_error(cudaLibraryGetManaged(&ptr, &size_B, library, "shared"), cudaSuccess,
             "managed variable");
    eq_u64(size_B, 8, "of 8 bytes");
    *(unsigned *)ptr = 5;
    eq_error(cudaLibraryGetManaged(&ptr, &size_B, library, "words"), cudaErrorSymbolNotFound,
             "is not managed");
    eq_error(cudaKernelSetAttributeForDevice(kernels[0],
                                             cudaFuncAttributeMaxDynamicSharedMemorySize, 1024, 0),
             cudaSuccess, "attribute");
    eq_error(cudaKernelSetAttributeForDevice(kernels[0],
                                             cudaFuncAttributeMaxDynamicSharedMemorySize, 1024, 9),
             cudaErrorInvalidDevice, "no device");
    eq_error(cudaLibraryLoadFromFile(&library, "/nowhere", NULL, NULL, 0, NULL, NULL, 0),
             cudaErrorFileNotFound, "no file");
    eq_error(cudaLibraryUnload(library), cudaSuccess, "unload");
    eq_error(cudaLibraryGetKernelCount(&count, library), cudaErrorInvalidResourceHandle, "gone");
    (void)cudaGetLastError();
}

int main(void)
{
    setenv("HEDDLE_DEVICES", "2", 1);
    setenv("HEDDLE_MEMORY", "64M", 1);
    test_devices();
    test_peers();
    test_streams();
    test_host_memory();
    test_symbols_and_functions();
    test_library();
    eq_error(cudaProfilerStart(), cudaSuccess, "profiling");
    eq_error(cudaProfilerStop(), cudaSuccess, "and not");
    return done();
}
