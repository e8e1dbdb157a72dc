/* Arrays in external memory, sparse ones and ones that are mapped later, by the runtime's names. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/driver/cuda_abi.h"
#include "runtime_fixture.h"

static const struct cudaChannelFormatDesc texel = {32, 0, 0, 0, cudaChannelFormatKindUnsigned};

static CUmemGenericAllocationHandle pool_make(void)
{
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                      .allocFlags = {.usage = CU_MEM_CREATE_USAGE_TILE_POOL}};
    CUmemGenericAllocationHandle pool = 0;

    eq_u64(cuMemCreate(&pool, 2u << 20, &prop, 0), CUDA_SUCCESS, "memory for tiles");
    return pool;
}

static void test_deferred(void)
{
    CUarrayMapInfo info = {.resourceType = CU_RESOURCE_TYPE_ARRAY,
                           .memOperationType = CU_MEM_OPERATION_TYPE_MAP,
                           .deviceBitMask = 1};
    uint32_t row[8] = {1, 2, 3, 4, 5, 6, 7, 8}, back[8] = {0};
    struct cudaArrayMemoryRequirements need;
    struct cudaArraySparseProperties sparse;
    cudaMipmappedArray_t mipmap;
    cudaArray_t array;

    eq_error(cudaMallocArray(&array, &texel, 8, 4, cudaArrayDeferredMapping), cudaSuccess, "array");
    eq_error(cudaArrayGetMemoryRequirements(&need, array, 0), cudaSuccess, "requirements");
    ok(need.size >= 128 && need.size % need.alignment == 0, "%zu bytes", need.size);
    eq_error(cudaArrayGetSparseProperties(&sparse, array), cudaErrorInvalidValue, "it is whole");
    info.resource.array = (CUarray)array;
    info.memHandle.memHandle = pool_make();
    eq_u64(cuMemMapArrayAsync_ptsz(&info, 1, NULL), CUDA_SUCCESS, "map, on the thread's stream");
    eq_u64(cuStreamSynchronize_ptsz(NULL), CUDA_SUCCESS, "synchronize");
    eq_error(cudaMemcpy2DToArray(array, 0, 3, row, 32, 32, 1, cudaMemcpyHostToDevice), cudaSuccess,
             "write");
    eq_error(cudaMemcpy2DFromArray(back, 32, array, 0, 3, 32, 1, cudaMemcpyDeviceToHost),
             cudaSuccess, "read");
    eq_mem(back, row, sizeof(row), "is there");
    eq_error(cudaFreeArray(array), cudaSuccess, "free");
    eq_u64(cuMemRelease(info.memHandle.memHandle), CUDA_SUCCESS, "release");
    eq_error(cudaMallocMipmappedArray(&mipmap, &texel, (struct cudaExtent){64, 64, 0}, 3,
                                      cudaArrayDeferredMapping),
             cudaSuccess, "mipmapped array");
    eq_error(cudaMipmappedArrayGetMemoryRequirements(&need, mipmap, 0), cudaSuccess,
             "requirements");
    ok(need.size >= 64 * 64 * 4, "%zu bytes", need.size);
    eq_error(cudaFreeMipmappedArray(mipmap), cudaSuccess, "free");
}

static void test_sparse(void)
{
    struct cudaArraySparseProperties p;
    cudaMipmappedArray_t mipmap;
    cudaArray_t array;
    unsigned flags = 0;

    eq_error(cudaMalloc3DArray(&array, &texel, (struct cudaExtent){4096, 64, 0}, cudaArraySparse),
             cudaSuccess, "sparse array");
    eq_error(cudaArrayGetSparseProperties(&p, array), cudaSuccess, "properties");
    eq_u64((uint64_t)p.tileExtent.width * p.tileExtent.height * p.tileExtent.depth, 16384,
           "a tile");
    eq_error(cudaArrayGetInfo(NULL, NULL, &flags, array), cudaSuccess, "info");
    eq_u64(flags, cudaArraySparse, "flags");
    eq_error(cudaFreeArray(array), cudaSuccess, "free");
    eq_error(cudaMallocMipmappedArray(&mipmap, &texel, (struct cudaExtent){4096, 4096, 0}, 12,
                                      cudaArraySparse),
             cudaSuccess, "sparse mipmapped array");
    eq_error(cudaMipmappedArrayGetSparseProperties(&p, mipmap), cudaSuccess, "properties");
    ok(p.miptailFirstLevel > 0 && p.flags == cudaArraySparsePropertiesSingleMipTail,
       "with a mip tail");
    eq_error(cudaFreeMipmappedArray(mipmap), cudaSuccess, "free");
    eq_error(cudaMallocArray(&array, &texel, 64, 0, cudaArraySparse), cudaErrorInvalidValue,
             "one dimension");
    (void)cudaGetLastError();
}

/* What stands behind the members that CUDA 12 has is not looked at. */
static void test_external(void)
{
    struct cudaExternalMemoryHandleDesc handle = {.type = cudaExternalMemoryHandleTypeOpaqueFd};
    struct cudaExternalMemoryMipmappedArrayDesc desc;
    int fd = memfd_create("external", MFD_CLOEXEC | MFD_ALLOW_SEALING), other = dup(fd);
    uint32_t row[4] = {9, 8, 7, 6}, seen[4] = {0};
    cudaMipmappedArray_t mipmap;
    cudaExternalMemory_t memory;
    cudaArray_t level;

    if (fd < 0 || ftruncate(fd, 8192) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
        abort();
    handle.handle.fd = fd;
    handle.size = 8192;
    eq_error(cudaImportExternalMemory(&memory, &handle), cudaSuccess, "import");
    memset(&desc, 0x55, sizeof(desc));
    desc.offset = 4096;
    desc.formatDesc = texel;
    desc.extent = (struct cudaExtent){4, 3, 0};
    desc.flags = cudaArraySurfaceLoadStore;
    desc.numLevels = 1;
    eq_error(cudaExternalMemoryGetMappedMipmappedArray(&mipmap, memory, &desc), cudaSuccess, "map");
    eq_error(cudaGetMipmappedArrayLevel(&level, mipmap, 0), cudaSuccess, "level");
    eq_error(cudaMemcpy2DToArray(level, 0, 2, row, 16, 16, 1, cudaMemcpyHostToDevice), cudaSuccess,
             "write");
    ok(pread(other, seen, sizeof(seen), 4096 + 2 * 64) == (ssize_t)sizeof(seen), "the file");
    eq_mem(seen, row, sizeof(row), "has it");
    desc.formatDesc.f = (enum cudaChannelFormatKind)99;
    eq_error(cudaExternalMemoryGetMappedMipmappedArray(&mipmap, memory, &desc),
             cudaErrorInvalidChannelDescriptor, "no format");
    eq_error(cudaExternalMemoryGetMappedMipmappedArray(&mipmap, memory, NULL),
             cudaErrorInvalidValue, "null");
    eq_error(cudaDestroyExternalMemory(memory), cudaSuccess, "destroy");
    eq_error(cudaFreeMipmappedArray(mipmap), cudaSuccess, "free");
    (void)cudaGetLastError();
    close(other);
}

int main(void)
{
    int value = 0;

    eq_error(cudaDeviceGetAttribute(&value, cudaDevAttrSparseCudaArraySupported, 0), cudaSuccess,
             "attribute");
    eq_u64((unsigned)value, 1, "sparse arrays");
    eq_error(cudaFree(NULL), cudaSuccess, "a context");
    test_deferred();
    test_sparse();
    test_external();
    return done();
}
