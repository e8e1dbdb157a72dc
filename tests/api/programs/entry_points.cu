/* Functions by name and version; profilers, core dumps, logs, handles of ranges, remote writes. */
#include "check.h"

#include <cudaProfiler.h>
#include <cuda_profiler_api.h>
#include <unistd.h>

static void by_version(void)
{
    CUresult (*get_version)(int *) = NULL;
    void *old = NULL, *now = NULL, *same = NULL, *thread_stream = NULL;
    CUdriverProcAddressQueryResult status;
    int version = 0;

    OK(cuGetProcAddress("cuDriverGetVersion", (void **)&get_version, CUDA_VERSION,
                        CU_GET_PROC_ADDRESS_DEFAULT, &status));
    EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
    OK(get_version(&version));
    TRUE(version >= CUDA_VERSION);
    OK(cuGetProcAddress("cuMemAlloc", &old, 2000, 0, &status));
    OK(cuGetProcAddress("cuMemAlloc", &now, 12000, 0, &status));
    TRUE(old && now && old != now);
    OK(cuGetProcAddress("cuStreamSynchronize", &same, 12000,
                        CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status));
    OK(cuGetProcAddress("cuStreamSynchronize", &thread_stream, 12000,
                        CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
    TRUE(same && thread_stream && same != thread_stream);

    /* The status tells why there is none. */
    OK(cuGetProcAddress("cuNoSuchCall", &now, 12000, 0, &status));
    EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    TRUE(!now);
    OK(cuGetProcAddress("cuGraphCreate", &now, 5000, 0, &status));
    EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    FAILS(cuGetProcAddress(NULL, &now, 12000, 0, &status), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGetProcAddress("cuInit", &now, 12000, 0x80, &status), CUDA_ERROR_INVALID_VALUE);
}

static void by_the_runtime(void)
{
    cudaDriverEntryPointQueryResult status;
    CUresult (*alloc)(CUdeviceptr *, size_t) = NULL;
    CUdeviceptr memory = 0;
    void *none = (void *)1, *now = NULL;

    OK(cudaGetDriverEntryPointByVersion("cuMemAlloc", (void **)&alloc, 12000, cudaEnableDefault,
                                        &status));
    EQ(status, cudaDriverEntryPointSuccess);
    OK(alloc(&memory, 64));
    OK(cudaFree((void *)memory));
    OK(cudaGetDriverEntryPointByVersion("cuNoSuchCall", &none, 12000, cudaEnableDefault, &status));
    EQ(status, cudaDriverEntryPointSymbolNotFound);
    TRUE(!none);
    OK(cudaGetDriverEntryPointByVersion("cuGraphCreate", &none, 5000, cudaEnableDefault, &status));
    EQ(status, cudaDriverEntryPointVersionNotSufficent);
    OK(cudaGetDriverEntryPointByVersion("cuStreamSynchronize", &now, 12000,
                                        cudaEnablePerThreadDefaultStream, &status));
    TRUE(now);
    FAILS(cudaGetDriverEntryPointByVersion(NULL, &now, 12000, cudaEnableDefault, &status),
          cudaErrorInvalidValue);
    FAILS(cudaGetDriverEntryPointByVersion("cuInit", &now, 12000, 0x80, &status),
          cudaErrorInvalidValue);
}

static void profilers(void)
{
    OK(cuProfilerStart());
    OK(cuProfilerStop());
    OK(cudaProfilerStart());
    OK(cudaProfilerStop());
    FAILS(cuProfilerInitialize("config", "output", CU_OUT_KEY_VALUE_PAIR),
          CUDA_ERROR_NOT_SUPPORTED); /* gone since CUDA 11.0 */
}

/* They are off, and can be asked for, of one context or of the process. */
static void core_dumps(void)
{
    bool off = false, on = true, got = true;
    int flags = 0;
    size_t size_B = sizeof(got);
    char name[64] = "x", file[] = "/tmp/heddle-dump-%h-%p";

    OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &got, &size_B));
    EQ(size_B, sizeof(bool));
    EQ(got, false);
    got = true;
    OK(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &got, &size_B));
    EQ(got, false);
    OK(cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &off, &size_B));
    OK(cuCoredumpSetAttributeGlobal(CU_COREDUMP_TRIGGER_HOST, &off, &size_B));
    OK(cuCoredumpSetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size_B));
    OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &got, &size_B));
    EQ(got, true);
    OK(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &got, &size_B));
    EQ(got, false); /* the context's own */
    OK(cuCoredumpSetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &off, &size_B));
    OK(cuCoredumpSetAttribute(CU_COREDUMP_LIGHTWEIGHT, &on, &size_B));
    size_B = sizeof(flags);
    OK(cuCoredumpGetAttribute(CU_COREDUMP_GENERATION_FLAGS, &flags, &size_B));
    EQ(flags, CU_COREDUMP_LIGHTWEIGHT_FLAGS);
    flags = 1 << 20;
    FAILS(cuCoredumpSetAttribute(CU_COREDUMP_GENERATION_FLAGS, &flags, &size_B),
          CUDA_ERROR_INVALID_VALUE);
    size_B = 0;
    OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, NULL, &size_B)); /* asks how long */
    TRUE(size_B > 1 && size_B <= sizeof(name));
    size_B = sizeof(file);
    OK(cuCoredumpSetAttributeGlobal(CU_COREDUMP_FILE, file, &size_B));
    OK(cuCoredumpSetAttributeGlobal(CU_COREDUMP_PIPE, file, &size_B));
    FAILS(cuCoredumpSetAttribute(CU_COREDUMP_PIPE, file, &size_B), CUDA_ERROR_NOT_PERMITTED);
    size_B = sizeof(name);
    OK(cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, name, &size_B));
    EQ(size_B, sizeof(file));
    EQ(strcmp(name, file), 0);
    size_B = 0;
    FAILS(cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, name, &size_B), CUDA_ERROR_INVALID_VALUE);
    size_B = sizeof(on);
    FAILS(cuCoredumpSetAttributeGlobal((CUcoredumpSettings)99, &off, &size_B),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, NULL, &size_B),
          CUDA_ERROR_INVALID_VALUE);
}

static int heard;

static void hear(void *user, CUlogLevel level, char *message, size_t length)
{
    heard += user == (void *)&heard && level == CU_LOG_LEVEL_ERROR && message && length > 0;
}

static void logs(void)
{
    CUlogsCallbackHandle handle = NULL;
    CUlogIterator from = 0;
    char text[4096] = "", path[] = "/tmp/heddle-log-XXXXXX";
    size_t size_B = sizeof(text);
    void *memory = NULL;

    OK(cuLogsCurrent(&from, 0));
    OK(cuLogsRegisterCallback(hear, &heard, &handle));
    FAILS(cuMemFree(0x1234), CUDA_ERROR_INVALID_VALUE);
    EQ(heard, 1);
    FAILS(cudaMalloc(&memory, (size_t)1 << 60), cudaErrorMemoryAllocation);
    TRUE(heard >= 2);
    OK(cuLogsUnregisterCallback(handle));
    FAILS(cuLogsUnregisterCallback(handle), CUDA_ERROR_INVALID_VALUE);
    int before = heard;
    FAILS(cuMemFree(0x1234), CUDA_ERROR_INVALID_VALUE);
    EQ(heard, before);
    CUlogIterator again = from;
    OK(cuLogsDumpToMemory(&again, text, &size_B, 0));
    TRUE(size_B > 0 && strstr(text, "cuMemFree"));
    close(mkstemp(path));
    OK(cuLogsDumpToFile(&from, path, 0));
    FILE *file = fopen(path, "r");
    memset(text, 0, sizeof(text));
    TRUE(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    remove(path);
    TRUE(strstr(text, "cuMemFree") != NULL);
    FAILS(cuLogsRegisterCallback(NULL, NULL, &handle), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLogsCurrent(&from, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLogsDumpToFile(&from, "/nowhere/log", 0), CUDA_ERROR_INVALID_VALUE);
}

/* What the device says it cannot do is refused. */
static void refused(void)
{
    int has = -1, fd = -1;
    CUdeviceptr memory = 0;

    OK(cuMemAlloc(&memory, 2 << 20));
    OK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0));
    if (!has)
        FAILS(cuMemGetHandleForAddressRange(&fd, memory, 2 << 20,
                                            CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
              CUDA_ERROR_NOT_SUPPORTED);
    FAILS(cuMemGetHandleForAddressRange(NULL, memory, 2 << 20, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
                                        0),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 0));
    if (!has) {
        FAILS(cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                         CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER),
              CUDA_ERROR_NOT_SUPPORTED);
        FAILS(cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                                 cudaFlushGPUDirectRDMAWritesToOwner),
              cudaErrorNotSupported);
    }
    FAILS(cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)9,
                                     CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(memory));
}

/* This process keeps itself from calling, and lets itself call again; memory stays. */
static void checkpoints()
{
    CUcheckpointLockArgs limit = {};
    CUprocessState state = CU_PROCESS_STATE_FAILED;
    unsigned seen = 0;
    CUdeviceptr memory;

    OK(cuMemAlloc(&memory, 64));
    OK(cuMemsetD32(memory, 0xabcd, 16));
    limit.timeoutMs = 10000;
    OK(cuCheckpointProcessGetState(getpid(), &state));
    TRUE(state == CU_PROCESS_STATE_RUNNING);
    OK(cuCheckpointProcessLock(getpid(), &limit));
    OK(cuCheckpointProcessCheckpoint(getpid(), NULL));
    OK(cuCheckpointProcessGetState(getpid(), &state));
    TRUE(state == CU_PROCESS_STATE_CHECKPOINTED);
    FAILS(cuCheckpointProcessUnlock(getpid(), NULL), CUDA_ERROR_ILLEGAL_STATE);
    OK(cuCheckpointProcessRestore(getpid(), NULL));
    OK(cuCheckpointProcessUnlock(getpid(), NULL));
    OK(cuMemcpyDtoH(&seen, memory + 60, 4));
    TRUE(seen == 0xabcd);
    OK(cuMemFree(memory));
}

int main(void)
{
    OK(cuInit(0));
    FAILS(cuCoredumpGetAttribute(CU_COREDUMP_FILE, NULL, NULL), CUDA_ERROR_INVALID_CONTEXT);
    OK(cudaFree(0));
    core_dumps();
    by_version();
    by_the_runtime();
    profilers();
    checkpoints();
    logs();
    refused();
    return finish();
}
