/* External memory and semaphores, by the descriptors that virtual memory and files give. */
#include "check.h"

#include <sys/eventfd.h>
#include <unistd.h>

enum { N = 1024 };

static __global__ void put(int *words, int value)
{
    words[threadIdx.x] = value + threadIdx.x;
}

static int exported(CUmemGenericAllocationHandle *handle, size_t *unit)
{
    CUmemAllocationProp prop = {};
    int fd = -1;

    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    OK(cuMemGetAllocationGranularity(unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemCreate(handle, *unit, &prop, 0));
    OK(cuMemExportToShareableHandle(&fd, *handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    TRUE(fd >= 0);
    return fd;
}

static void memory(void)
{
    CUmemGenericAllocationHandle handle = 0;
    size_t unit = 0;
    cudaExternalMemory_t external = NULL;
    cudaExternalMemoryHandleDesc desc = {};
    cudaExternalMemoryBufferDesc buffer = {};
    CUdeviceptr address = 0;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    int *words = NULL, host[N];

    desc.handle.fd = exported(&handle, &unit);
    desc.type = cudaExternalMemoryHandleTypeOpaqueFd;
    desc.size = unit;
    OK(cudaImportExternalMemory(&external, &desc)); /* the descriptor is the driver's now */
    buffer.offset = 4096;
    buffer.size = sizeof(host);
    OK(cudaExternalMemoryGetMappedBuffer((void **)&words, external, &buffer));
    put<<<1, N>>>(words, 3);
    OK(cudaDeviceSynchronize());

    /* The exporter sees it. */
    OK(cuMemAddressReserve(&address, unit, 0, 0, 0));
    OK(cuMemMap(address, unit, 0, handle, 0));
    OK(cuMemSetAccess(address, unit, &access, 1));
    OK(cuMemcpyDtoH(host, address + 4096, sizeof(host)));
    EQ(check_wrong(host, N, 3, 1), 0);
    OK(cuMemUnmap(address, unit));
    OK(cuMemAddressFree(address, unit));
    OK(cuMemRelease(handle));
    buffer.offset = unit;
    FAILS(cudaExternalMemoryGetMappedBuffer((void **)&words, external, &buffer),
          cudaErrorInvalidValue);
    OK(cudaFree(words));
    OK(cudaDestroyExternalMemory(external));
    TRUE(cudaDestroyExternalMemory(external) != cudaSuccess);

    desc.handle.fd = -1;
    TRUE(cudaImportExternalMemory(&external, &desc) != cudaSuccess);
    desc.handle.fd = 0;
    desc.size = 0;
    FAILS(cudaImportExternalMemory(&external, &desc), cudaErrorInvalidValue);
    desc.size = unit;
    desc.type = (cudaExternalMemoryHandleType)77;
    FAILS(cudaImportExternalMemory(&external, &desc), cudaErrorInvalidValue);
    cudaGetLastError();
}

/* By the driver's calls, with an array of levels on the memory. */
static void mipmap(void)
{
    CUmemGenericAllocationHandle handle = 0;
    size_t unit = 0;
    CUexternalMemory external = NULL;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc = {};
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC levels = {};
    CUmipmappedArray array = NULL;
    CUarray level = NULL;
    int row[16], back[16];

    desc.handle.fd = exported(&handle, &unit);
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.size = unit;
    OK(cuImportExternalMemory(&external, &desc));
    levels.arrayDesc.Width = 16;
    levels.arrayDesc.Height = 16;
    levels.arrayDesc.Format = CU_AD_FORMAT_SIGNED_INT32;
    levels.arrayDesc.NumChannels = 1;
    levels.numLevels = 2;
    OK(cuExternalMemoryGetMappedMipmappedArray(&array, external, &levels));
    OK(cuMipmappedArrayGetLevel(&level, array, 0));
    for (int i = 0; i < 16; i++)
        row[i] = i;
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = row;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = level;
    copy.dstY = 3;
    copy.WidthInBytes = sizeof(row);
    copy.Height = 1;
    OK(cuMemcpy2D(&copy));
    CUDA_MEMCPY2D out = {};
    out.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    out.srcArray = level;
    out.srcY = 3;
    out.dstMemoryType = CU_MEMORYTYPE_HOST;
    out.dstHost = back;
    out.WidthInBytes = sizeof(back);
    out.Height = 1;
    OK(cuMemcpy2D(&out));
    EQ(check_wrong(back, 16, 0, 1), 0);
    OK(cuMipmappedArrayDestroy(array));
    OK(cuDestroyExternalMemory(external));
    OK(cuMemRelease(handle));
}

static void semaphores(void)
{
    cudaExternalSemaphoreHandleDesc desc = {};
    cudaExternalSemaphore_t semaphore = NULL, same = NULL;
    cudaExternalSemaphoreSignalParams signal = {};
    cudaExternalSemaphoreWaitParams wait = {};
    cudaStream_t first = NULL, second = NULL;
    int *words = NULL, *host = NULL, fd = eventfd(0, 0), again = dup(fd);
    const size_t size_B = N * sizeof(int);

    OK(cudaMalloc(&words, size_B));
    OK(cudaMallocHost(&host, size_B)); /* to pageable memory the call would wait */
    OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    desc.type = cudaExternalSemaphoreHandleTypeOpaqueFd;
    desc.handle.fd = fd;
    OK(cudaImportExternalSemaphore(&semaphore, &desc));
    desc.handle.fd = again;
    OK(cudaImportExternalSemaphore(&same, &desc));

    /* The second stream waits for the first. */
    OK(cudaMemset(words, 0, size_B));
    OK(cudaDeviceSynchronize());
    OK(cudaWaitExternalSemaphoresAsync(&same, &wait, 1, second));
    OK(cudaMemcpyAsync(host, words, size_B, cudaMemcpyDeviceToHost, second));
    EQ(cudaStreamQuery(second), cudaErrorNotReady);
    put<<<1, N, 0, first>>>(words, 9);
    OK(cudaSignalExternalSemaphoresAsync(&semaphore, &signal, 1, first));
    OK(cudaStreamSynchronize(second));
    EQ(check_wrong(host, N, 9, 1), 0);

    /* The same in a graph. */
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t signals = NULL, waits = NULL;
    cudaExternalSemaphoreSignalNodeParams signal_node = {&semaphore, &signal, 1};
    cudaExternalSemaphoreWaitNodeParams wait_node = {&same, &wait, 1};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddExternalSemaphoresSignalNode(&signals, graph, NULL, 0, &signal_node));
    OK(cudaGraphAddExternalSemaphoresWaitNode(&waits, graph, &signals, 1, &wait_node));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, first));
    OK(cudaStreamSynchronize(first));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));

    wait.flags = 0x100;
    FAILS(cudaWaitExternalSemaphoresAsync(&same, &wait, 1, second), cudaErrorInvalidValue);
    OK(cudaDestroyExternalSemaphore(semaphore));
    OK(cudaDestroyExternalSemaphore(same));
    TRUE(cudaDestroyExternalSemaphore(same) != cudaSuccess);
    desc.handle.fd = -1;
    TRUE(cudaImportExternalSemaphore(&semaphore, &desc) != cudaSuccess);
    cudaGetLastError();
    OK(cudaStreamDestroy(first));
    OK(cudaStreamDestroy(second));
    OK(cudaFree(words));
    OK(cudaFreeHost(host));
}

int main(void)
{
    OK(cudaSetDevice(0));
    memory();
    mipmap();
    semaphores();
    return finish();
}
