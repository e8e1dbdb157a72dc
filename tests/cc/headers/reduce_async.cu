/*
 * Cooperative groups: reductions into an atomic, a reference to one, and memory.
 * targets: 75 90
 */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <stdio.h>
#if __has_include(<cuda/atomic>)
#include <cuda/atomic>
#else
namespace cuda {
enum thread_scope { thread_scope_device };
template <class T, thread_scope> struct atomic {
    T held;
    __device__ T load() const
    {
        return *(const volatile T *)&held;
    }
    __device__ void store(T value)
    {
        *(volatile T *)&held = value;
    }
    __device__ bool compare_exchange_weak(T &seen, T wanted)
    {
        unsigned before = __float_as_uint(seen);
        unsigned found = atomicCAS((unsigned *)&held, before, __float_as_uint(wanted));
        seen = __uint_as_float(found);
        return found == before;
    }
};
template <class T, thread_scope Scope> struct atomic_ref {
    atomic<T, Scope> &of;
    __device__ atomic_ref(T &value) : of((atomic<T, Scope> &)value)
    {
    }
    __device__ T load() const
    {
        return of.load();
    }
    __device__ void store(T value) const
    {
        of.store(value);
    }
    __device__ bool compare_exchange_weak(T &seen, T wanted) const
    {
        return of.compare_exchange_weak(seen, wanted);
    }
};
}
#endif

namespace cg = cooperative_groups;
using atomic_float = cuda::atomic<float, cuda::thread_scope_device>;

struct results {
    atomic_float sum, last;
    float largest, stored, even;
};

static __global__ void kernel(results *r)
{
    cg::thread_block block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto eight = cg::tiled_partition<8>(block);
    float value = (float)(blockIdx.x * blockDim.x + threadIdx.x);

    cg::reduce_update_async(warp, r->sum, value, cg::plus<float>());
    cg::reduce_update_async(eight, cuda::atomic_ref<float, cuda::thread_scope_device>(r->largest), value,
                            cg::greater<float>());
    if (threadIdx.x < 8)
        cg::reduce_store_async(eight, r->last, 1.0f, cg::plus<float>());
    if (blockIdx.x == 0 && threadIdx.x < 32) {
        cg::reduce_store_async(warp, &r->stored, value, cg::plus<float>());
        if (threadIdx.x % 2 == 0)
            cg::reduce_store_async(cg::coalesced_threads(), &r->even, value, cg::plus<float>());
    }
}

int main()
{
    results *r;
    cudaMallocManaged(&r, sizeof(*r));
    cudaMemset(r, 0, sizeof(*r));
    kernel<<<4, 256>>>(r);
    cudaError_t error = cudaDeviceSynchronize();
    float *held = (float *)r; /* sum, last, largest, stored, even */
    bool worked = error == cudaSuccess && held[0] == 1023 * 512 && held[1] == 8 && r->largest == 1023 && r->stored == 496 &&
                  r->even == 240;
    if (!worked)
        printf("%s: %g %g %g %g %g\n", cudaGetErrorString(error), held[0], held[1], r->largest, r->stored, r->even);
    printf(worked ? "all right\n" : "wrong\n");
    return !worked;
}
