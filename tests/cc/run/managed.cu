/* __managed__ variables: values before the first use, host and device in turn, what the API says. */
#include <cstdio>
#include <cuda_runtime.h>

__device__ __managed__ int counter = 5;
static __managed__ float table[4] = {1, 2, 3, 4};
__managed__ int *to_counter = &counter;
extern __managed__ long later;

namespace names {
template <class T> struct pair {
    int a;
    T b;
};
__managed__ pair<double> both = {1, 2.5};
}
__managed__ long later = -1;
__device__ int plain = 3;

static int failures;

#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            std::printf("%d: %s\n", __LINE__, #what);                                              \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

__global__ void change(int *sum)
{
    atomicAdd(sum, counter);
    if (threadIdx.x < 4)
        table[threadIdx.x] *= 2;
    __syncthreads();
    if (threadIdx.x == 0) {
        names::both.b *= 2;
        *to_counter += plain;
        later--;
    }
}

static void check_api()
{
    cudaPointerAttributes a;
    void *at;
    size_t size;
    int value = 9;
    CHECK(cudaPointerGetAttributes(&a, &counter) == cudaSuccess && a.type == cudaMemoryTypeManaged);
    CHECK(a.devicePointer == &counter && a.hostPointer == &counter);
    CHECK(cudaGetSymbolAddress(&at, table) == cudaSuccess && at == table);
    CHECK(cudaGetSymbolSize(&size, table) == cudaSuccess && size == sizeof(table));
    CHECK(cudaMemcpyToSymbol(counter, &value, sizeof(value)) == cudaSuccess && counter == 9);
    CHECK(cudaPointerGetAttributes(&a, &failures) == cudaSuccess && a.type == cudaMemoryTypeUnregistered);
    CHECK(cudaFree(&counter) != cudaSuccess && cudaHostUnregister(&counter) != cudaSuccess);
    (void)cudaGetLastError();
}

int main()
{
    int *sum;
    CHECK(counter == 5 && table[3] == 4 && later == -1 && names::both.a == 1 && names::both.b == 2.5 && to_counter == &counter);
    counter = 6;
    CHECK(cudaMallocManaged(&sum, sizeof(*sum)) == cudaSuccess);
    *sum = 0;
    change<<<1, 64>>>(sum);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(*sum == 64 * 6 && counter == 9 && table[0] == 2 && table[3] == 8);
    CHECK(names::both.b == 5 && later == -2);
    check_api();
    counter = 1;
    CHECK(cudaDeviceReset() == cudaSuccess && counter == 1);
    CHECK(cudaMallocManaged(&sum, sizeof(*sum)) == cudaSuccess);
    *sum = 0;
    change<<<1, 64>>>(sum);
    CHECK(cudaDeviceSynchronize() == cudaSuccess && *sum == 64 && counter == 4);
    std::puts(failures ? "wrong" : "all right");
    return failures != 0;
}
