// Multicast objects over the memory of two devices (compute_90): multimem.ld_reduce, st and red. multimem CASE
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>

enum { DEVICES = 2, THREADS = 64, WORDS = 1024 };

static __device__ void store(uint32_t *to, uint32_t value)
{
    asm volatile("multimem.st.weak.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

static __device__ void add(uint32_t *to, uint32_t value)
{
    asm volatile("multimem.red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

static __device__ uint32_t sum(const uint32_t *from)
{
    uint32_t value;

    asm volatile("multimem.ld_reduce.weak.global.add.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

// `all` is the multicast object, `own` the memory of this device.
__global__ void added(uint32_t *all, uint32_t *out)
{
    add(all, 1);
    __syncthreads();
    out[threadIdx.x] = sum(all);
}

__global__ void added_early(uint32_t *all, uint32_t *out)
{
    add(all, 1);
    out[threadIdx.x] = sum(all);
}

__global__ void stored(uint32_t *all)
{
    store(all + threadIdx.x, threadIdx.x);
}

// Both warps write the same words, which are not the same.
__global__ void stored_twice(uint32_t *all)
{
    store(all + threadIdx.x % 32, threadIdx.x);
}

// What another warp has stored for all devices is read from the memory of this one.
__global__ void read_own(uint32_t *all, const volatile uint32_t *own, uint32_t *out, bool meets)
{
    store(all + threadIdx.x, threadIdx.x);
    if (meets)
        __syncthreads();
    out[threadIdx.x] = ((const uint32_t *)own)[threadIdx.x ^ 32];
}

// Two words at the place of one.
__global__ void askew(uint32_t *all)
{
    asm volatile("multimem.st.weak.global.v2.f32 [%0], {%1, %1};" ::"l"(all + 1), "f"(1.0f) : "memory");
}

__global__ void copy(const uint32_t *from, uint32_t *to)
{
    to[threadIdx.x] = from[threadIdx.x];
}

static void check(CUresult result, const char *what)
{
    const char *text = "?";

    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorString(result, &text);
    printf("%s: %s\n", what, text);
    exit(3);
}
#define CALL(call) check(call, #call)

// Two pieces of address space, of which the second has memory of the first device alone.
struct Object {
    size_t piece_B;
    uint32_t *all, *own[DEVICES];
};

static CUmemAccessDesc access_of(int device)
{
    CUmemAccessDesc access = {};

    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return access;
}

static uint32_t *map(CUmemGenericAllocationHandle handle, size_t size_B)
{
    CUmemAccessDesc access[DEVICES] = {access_of(0), access_of(1)};
    CUdeviceptr va;

    CALL(cuMemAddressReserve(&va, size_B, 0, 0, 0));
    CALL(cuMemMap(va, size_B, 0, handle, 0));
    CALL(cuMemSetAccess(va, size_B, access, DEVICES));
    return (uint32_t *)va;
}

static void bind_own(Object &o, CUmemGenericAllocationHandle object, int device)
{
    CUmemAllocationProp prop = {};
    CUmemGenericAllocationHandle memory;
    size_t pieces = device ? 1 : 2;

    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    CALL(cuMemCreate(&memory, pieces * o.piece_B, &prop, 0));
    o.own[device] = map(memory, pieces * o.piece_B);
    CALL(cuMulticastBindMem(object, 0, memory, 0, pieces * o.piece_B, 0));
}

// Memory whose bytes initcheck follows.
static void bind_allocated(Object &o, CUmemGenericAllocationHandle object, int device)
{
    cudaSetDevice(device);
    cudaMalloc(&o.own[device], o.piece_B);
    CALL(cuMulticastBindAddr(object, 0, (CUdeviceptr)o.own[device], o.piece_B, 0));
}

static Object make(bool allocated)
{
    CUmulticastObjectProp prop = {};
    CUmemGenericAllocationHandle object;
    Object o = {};

    prop.numDevices = DEVICES;
    prop.size = 1;
    CALL(cuMulticastGetGranularity(&o.piece_B, &prop, CU_MULTICAST_GRANULARITY_RECOMMENDED));
    prop.size = 2 * o.piece_B;
    CALL(cuMulticastCreate(&object, &prop));
    for (int device = 0; device < DEVICES; device++)
        CALL(cuMulticastAddDevice(object, device));
    for (int device = 0; device < DEVICES; device++)
        allocated ? bind_allocated(o, object, device) : bind_own(o, object, device);
    o.all = map(object, 2 * o.piece_B);
    cudaSetDevice(0);
    return o;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    uint32_t *out;
    auto is = [name](const char *other) { return !strcmp(name, other); };

    cudaSetDevice(1);
    cudaFree(0);
    cudaSetDevice(0);
    cudaMalloc(&out, WORDS * sizeof *out);
    Object o = make(is("written") || is("unwritten") || is("unwritten_sum"));
    size_t piece = o.piece_B / sizeof *o.all;
    if (is("added"))
        added<<<1, THREADS>>>(o.all, out);
    else if (is("added_early"))
        added_early<<<1, THREADS>>>(o.all, out);
    else if (is("stored"))
        stored<<<1, THREADS>>>(o.all);
    else if (is("stored_twice"))
        stored_twice<<<1, THREADS>>>(o.all);
    else if (is("read") || is("read_early"))
        read_own<<<1, THREADS>>>(o.all, o.own[1], out, is("read"));
    else if (is("beyond"))
        stored<<<1, THREADS>>>(o.all + 2 * piece - 32);
    else if (is("unbound"))
        stored<<<1, THREADS>>>(o.all + piece - 32);
    else if (is("misaligned"))
        askew<<<1, 1>>>(o.all);
    else if (is("unmapped"))
        stored<<<1, THREADS>>>(out);
    else if (is("plain"))
        copy<<<1, THREADS>>>(o.all, out);
    else if (is("unwritten_sum"))
        added<<<1, THREADS>>>(o.all, out);
    else if (is("written") || is("unwritten")) {
        stored<<<1, THREADS>>>(o.all);
        copy<<<1, THREADS>>>(o.own[1] + (is("unwritten") ? 32 : 0), out);
    }
    puts(cudaGetErrorString(cudaDeviceSynchronize()));
}
