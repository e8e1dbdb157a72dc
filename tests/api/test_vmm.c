/*
 * Virtual memory management with the real compiler: parts of an allocation, one allocation at two
 * places, neighbours as one range, access rights, lifetimes, sharing by descriptor, wrong calls.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/driver/cuda_abi.h"
#include "tap.h"

#define success(call, ...) eq_u64((call), CUDA_SUCCESS, __VA_ARGS__)
#define invalid(call, ...) eq_u64((call), CUDA_ERROR_INVALID_VALUE, __VA_ARGS__)
#define G                  ((size_t)2 << 20)

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry next(.param .u64 p, .param .u64 q)\n"
                          "{ .reg .b64 a, b; .reg .b32 v;\n"
                          "  ld.param.u64 a, [p]; ld.param.u64 b, [q];\n"
                          "  ld.global.u32 v, [a]; add.u32 v, v, 1; st.global.u32 [b], v; ret; }\n";

static const CUmemAllocationProp device_prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                .requestedHandleTypes =
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
static const CUmemAccessDesc may_write = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                          CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
static const CUmemAccessDesc may_read = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                         CU_MEM_ACCESS_FLAGS_PROT_READ};

static CUfunction next;

static CUresult launch_next(CUdeviceptr from, CUdeviceptr to)
{
    void *params[] = {&from, &to};
    CUresult result = cuLaunchKernel(next, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);

    return result ? result : cuCtxSynchronize();
}

static uint32_t word_at(CUdeviceptr va)
{
    uint32_t value = 0;

    success(cuMemcpyDtoH_v2(&value, va, 4), "read a word");
    return value;
}

static size_t free_B(void)
{
    size_t left = 0, total;

    success(cuMemGetInfo_v2(&left, &total), "how much memory there is");
    return left;
}

/* a: granules 0 and 1 of one allocation, at va + G and va; the second also at va + 2 G. */
static void test_maps(void)
{
    CUmemGenericAllocationHandle h;
    CUdeviceptr va;
    uint32_t value = 41;
    size_t before = free_B();

    success(cuMemAddressReserve(&va, 4 * G, 0, 0, 0), "reserve");
    success(cuMemCreate(&h, 2 * G, &device_prop, 0), "create");
    eq_u64(before - free_B(), 2 * G, "it counts");
    success(cuMemMap(va + G, G, 0, h, 0), "map the first part");
    success(cuMemMap(va, G, G, h, 0), "map the second in front");
    success(cuMemMap(va + 2 * G, G, G, h, 0), "and once more behind");
    success(cuMemSetAccess(va, 3 * G, &may_write, 1), "access to all three");
    success(cuMemcpyHtoD_v2(va + 8, &value, 4), "write through one");
    eq_u64(word_at(va + 2 * G + 8), 41, "read through the other");
    success(launch_next(va + 2 * G + 8, va + G - 4), "a kernel");
    eq_u64(word_at(va + 3 * G - 4), 42, "sees both");
    success(cuMemsetD8_v2(va, 7, 2 * G), "a fill across mappings");
    eq_u64(word_at(va + 2 * G - 4), 0x07070707, "reaches the end");
    eq_u64(word_at(va + 2 * G), 0x07070707, "and shows at the second place");
    invalid(cuMemsetD8_v2(va + 2 * G, 7, 2 * G), "a fill into what is not mapped");
    success(cuMemRelease(h), "release the handle");
    eq_u64(cuMemRelease(h), CUDA_ERROR_INVALID_VALUE, "twice");
    eq_u64(before - free_B(), 2 * G, "mappings keep the memory");
    success(cuMemRetainAllocationHandle(&h, (void *)(uintptr_t)(va + G + 5)), "a handle again");
    success(cuMemUnmap(va, 2 * G), "unmap two");
    success(cuMemUnmap(va + 2 * G, G), "and the third");
    eq_u64(before - free_B(), 2 * G, "the handle keeps the memory");
    success(cuMemMap(va + 3 * G, G, G, h, 0), "map it again");
    success(cuMemSetAccess(va + 3 * G, G, &may_read, 1), "for reading");
    eq_u64(word_at(va + 3 * G), 0x07070707, "the contents are still there");
    success(cuMemRelease(h), "release");
    invalid(cuMemAddressFree(va, 4 * G), "a reservation with a mapping");
    success(cuMemUnmap(va + 3 * G, G), "unmap");
    eq_u64(before, free_B(), "all is given back");
    eq_u64(cuMemRelease(h), CUDA_ERROR_INVALID_HANDLE, "the handle is stale");
    success(cuMemAddressFree(va, 4 * G), "free the addresses");
}

/* Addresses are no memory: there are many more of them, for programs that reserve ahead. */
static void test_many_addresses(void)
{
    const size_t size_B = (size_t)8 << 30;
    CUdeviceptr va[100];
    struct rlimit limit;
    unsigned n = 0;

    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur != RLIM_INFINITY) {
        skip("the process may not have so many");
        return;
    }
    while (n < HD_COUNT_OF(va) && !cuMemAddressReserve(&va[n], size_B, 0, 0, 0))
        n++;
    eq_u64(n, HD_COUNT_OF(va), "800 GiB of addresses");
    while (n--)
        success(cuMemAddressFree(va[n], size_B), "free");
}

static void test_queries(void)
{
    static const CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    const CUmemAccessDesc all[] = {may_read, {host, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
    CUmemGenericAllocationHandle h;
    CUmemAllocationProp prop;
    unsigned long long flags = 9;
    CUdeviceptr va, base;
    size_t granularity = 0, size_B;
    unsigned type;

    success(cuMemGetAllocationGranularity(&granularity, &device_prop, 0), "granularity");
    eq_u64(granularity, G, "is 2 MiB");
    success(cuMemAddressReserve(&va, 2 * G, 8 * G, 0, 0), "reserve, aligned");
    eq_u64(va % (8 * G), 0, "it is");
    success(cuMemCreate(&h, G, &device_prop, 0), "create");
    success(cuMemMap(va, G, 0, h, 0), "map");
    success(cuMemGetAccess(&flags, &may_read.location, va), "access");
    eq_u64(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE, "none at first");
    success(cuMemSetAccess(va, G, all, 2), "for the device and the host");
    success(cuMemGetAccess(&flags, &may_read.location, va + 100), "access of the device");
    eq_u64(flags, CU_MEM_ACCESS_FLAGS_PROT_READ, "reads");
    success(cuMemGetAccess(&flags, &host, va), "access of the host");
    eq_u64(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "writes");
    *(volatile int *)(uintptr_t)va = 3;
    eq_u64(word_at(va), 3, "so it can");
    success(cuMemGetAllocationPropertiesFromHandle(&prop, h), "properties");
    ok(!memcmp(&prop, &device_prop, sizeof(prop)), "are those it was made with");
    success(cuMemGetAddressRange_v2(&base, &size_B, va + 17), "its range");
    ok(base == va && size_B == G, "is the mapping");
    success(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, va), "its kind");
    eq_u64(type, CU_MEMORYTYPE_DEVICE, "is device memory");
    invalid(cuMemFree_v2(va), "not freed like other memory");
    success(cuMemUnmap(va, G), "unmap");
    invalid(cuMemGetAccess(&flags, &may_read.location, va), "access of nothing");
    success(cuMemRelease(h), "release");
    success(cuMemAddressFree(va, 2 * G), "free");
}

static void test_sharing(void)
{
    CUmemGenericAllocationHandle h, again;
    CUmemAllocationProp plain = device_prop;
    CUdeviceptr va;
    uint32_t value = 77;
    int fd = -1;

    success(cuMemAddressReserve(&va, 2 * G, 0, 0, 0), "reserve");
    success(cuMemCreate(&h, G, &device_prop, 0), "create");
    success(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            "export");
    success(cuMemImportFromShareableHandle(&again, (void *)(uintptr_t)(unsigned)fd,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            "import");
    close(fd);
    success(cuMemMap(va, G, 0, h, 0), "map");
    success(cuMemMap(va + G, G, 0, again, 0), "map what was imported");
    success(cuMemSetAccess(va, 2 * G, &may_write, 1), "access");
    success(cuMemcpyHtoD_v2(va, &value, 4), "write");
    eq_u64(word_at(va + G), 77, "it is the same memory");
    success(cuMemUnmap(va, 2 * G), "unmap");
    success(cuMemRelease(h), "release");
    success(cuMemRelease(again), "release");
    success(cuMemAddressFree(va, 2 * G), "free");
    plain.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    success(cuMemCreate(&h, G, &plain, 0), "create for nobody else");
    invalid(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            "cannot be exported");
    success(cuMemRelease(h), "release");
    fd = open("/dev/null", O_RDONLY);
    invalid(cuMemImportFromShareableHandle(&h, (void *)(uintptr_t)(unsigned)fd,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            "a descriptor of something else");
    close(fd);
}

static void test_wrong(void)
{
    CUmemAllocationProp prop = device_prop;
    CUmemAccessDesc desc = may_write;
    CUmemGenericAllocationHandle h, other, unheld;
    CUdeviceptr va, unused;

    invalid(cuMemAddressReserve(&va, G + 4096, 0, 0, 0), "reserve half a granule");
    invalid(cuMemAddressReserve(&va, G, 3 * G, 0, 0), "an alignment that is no power of two");
    invalid(cuMemAddressReserve(&va, G, 3, 0, 0), "a small one");
    invalid(cuMemAddressReserve(&va, 0, 0, 0, 0), "nothing");
    eq_u64(cuMemAddressReserve(&va, (size_t)1 << 62, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY,
           "more addresses than there are");
    invalid(cuMemCreate(&h, G / 2, &prop, 0), "half a granule of memory");
    eq_u64(cuMemCreate(&h, 64 * G, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY, "more than there is");
    prop.location.id = 99;
    eq_u64(cuMemCreate(&h, G, &prop, 0), CUDA_ERROR_INVALID_DEVICE, "of no device");
    prop = device_prop;
    prop.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    invalid(cuMemCreate(&h, G, &prop, 0), "of no type");
    prop = device_prop;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    eq_u64(cuMemCreate(&h, G, &prop, 0), CUDA_ERROR_NOT_SUPPORTED, "for a fabric");
    success(cuMemAddressReserve(&va, 4 * G, 0, 0, 0), "reserve");
    success(cuMemCreate(&h, 2 * G, &device_prop, 0), "create");
    success(cuMemCreate(&other, G, &device_prop, 0), "create");
    invalid(cuMemMap(va, 2 * G, G, h, 0), "map past the end of the memory");
    invalid(cuMemMap(va + 3 * G, 2 * G, 0, h, 0), "map past the end of the reservation");
    invalid(cuMemMap(va + 4096, G, 0, h, 0), "map at a page");
    eq_u64(cuMemMap(va, G, 0, 12345, 0), CUDA_ERROR_INVALID_HANDLE, "map an invented handle");
    success(cuMemMap(va + G, 2 * G, 0, h, 0), "map");
    invalid(cuMemMap(va + 2 * G, G, 0, other, 0), "map over it");
    invalid(cuMemUnmap(va + G, G), "unmap a part");
    invalid(cuMemUnmap(va, 3 * G), "unmap more than is mapped");
    invalid(cuMemSetAccess(va + G, G, &desc, 1), "access to a part");
    desc.flags = (CUmemAccess_flags)2;
    invalid(cuMemSetAccess(va + G, 2 * G, &desc, 1), "access of an unknown kind");
    desc = may_write;
    desc.location.id = 7;
    eq_u64(cuMemSetAccess(va + G, 2 * G, &desc, 1), CUDA_ERROR_INVALID_DEVICE, "for no device");
    success(cuMemAlloc_v2(&unused, 64), "ordinary memory");
    invalid(cuMemUnmap(unused, G), "is not unmapped");
    invalid(cuMemRetainAllocationHandle(&unheld, (void *)(uintptr_t)unused), "has no handle");
    success(cuMemFree_v2(unused), "free");
    success(cuMemUnmap(va + G, 2 * G), "unmap");
    invalid(cuMemAddressFree(va, 3 * G), "free a part of the reservation");
    success(cuMemAddressFree(va, 4 * G), "free the reservation");
    invalid(cuMemAddressFree(va, 4 * G), "twice");
    success(cuMemRelease(h), "release");
    success(cuMemRelease(other), "release");
}

/* Last: the context has failed afterwards. */
static void test_no_access(void)
{
    CUmemGenericAllocationHandle h;
    CUdeviceptr va;

    success(cuMemAddressReserve(&va, 2 * G, 0, 0, 0), "reserve");
    success(cuMemCreate(&h, G, &device_prop, 0), "create");
    success(cuMemMap(va, G, 0, h, 0), "map");
    success(cuMemSetAccess(va, G, &may_read, 1), "for reading");
    eq_u64(launch_next(va, va + 4), CUDA_ERROR_ILLEGAL_ADDRESS, "a kernel that writes fails");
    success(cuMemUnmap(va, G), "unmap");
    success(cuMemRelease(h), "release");
    success(cuMemAddressFree(va, 2 * G), "free");
}

int main(void)
{
    CUmodule module;
    CUcontext ctx;
    int supported = 0;

    success(cuInit(0), "init");
    success(cuDevicePrimaryCtxRetain(&ctx, 0), "context");
    success(cuCtxSetCurrent(ctx), "current");
    success(cuModuleLoadData(&module, ptx), "module");
    success(cuModuleGetFunction(&next, module, "next"), "function");
    success(cuDeviceGetAttribute(&supported,
                                 CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED, 0),
            "attribute");
    eq_u64((unsigned)supported, 1, "is supported");
    test_maps();
    test_many_addresses();
    test_queries();
    test_sharing();
    test_wrong();
    test_no_access();
    return done();
}
