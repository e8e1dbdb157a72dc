/* threadIdx and its kin are variables of CUDA's types: deduced, copied, bound, passed on. */
#include <cstdio>
#include <type_traits>

template <class T> __device__ int kind(const T &)
{
    return std::is_same<T, uint3>::value ? 1 : std::is_same<T, dim3>::value ? 2 : 3;
}
template <class T> __device__ T copy(T value)
{
    return value;
}
__device__ unsigned by_value(uint3 a, const dim3 &b)
{
    return a.x * 10 + b.x;
}
__device__ dim3 operator+(const uint3 &a, const uint3 &b)
{
    return dim3(a.x + b.x, a.y + b.y, a.z + b.z);
}
static_assert(std::is_same<decltype(threadIdx), const uint3>::value, "threadIdx");
static_assert(std::is_same<decltype(blockIdx), const uint3>::value, "blockIdx");
static_assert(std::is_same<decltype(blockDim), const dim3>::value, "blockDim");
static_assert(std::is_same<decltype(gridDim), const dim3>::value, "gridDim");
static_assert(std::is_same<decltype(threadIdx.x), unsigned>::value, "a member");
static_assert(sizeof(threadIdx) == 12, "size");

__global__ void k(unsigned *out)
{
    auto t = threadIdx;
    const auto &b = blockDim;
    dim3 d = blockDim;
    auto [x, y, z] = gridDim;
    const auto &either = t.x > 3 ? threadIdx : blockIdx;
    auto captured = [=] { return threadIdx.y * 100 + b.z + copy(blockIdx).y; };
    const unsigned *member = &blockDim.y;
    unsigned *to = out + 12 * (threadIdx.x + blockDim.x * (t.y + blockDim.y * blockIdx.x));
    to[0] = by_value(threadIdx, blockDim);
    to[1] = b.x + b.y * 10;
    to[2] = d.x * d.y * d.z;
    to[3] = x + 10 * y + 100 * z;
    to[4] = either.x;
    to[5] = captured();
    to[6] = kind(threadIdx) * 1000 + kind(blockIdx) * 100 + kind(blockDim) * 10 + kind(gridDim);
    to[7] = (threadIdx + blockIdx).x;
    to[8] = *member + warpSize;
    to[9] = uint3(gridDim).x + dim3(threadIdx).y;
    to[10] = copy(t).y + copy(blockDim).x;
    to[11] = threadIdx.z + blockIdx.z + gridDim.z;
}

int main()
{
    const unsigned nx = 5, ny = 2, blocks = 3;
    unsigned *out, wrong = 0;
    cudaMallocManaged(&out, 12 * nx * ny * blocks * sizeof(*out));
    k<<<blocks, dim3(nx, ny)>>>(out);
    cudaError_t error = cudaDeviceSynchronize();
    for (unsigned i = 0; i < nx * ny * blocks; i++) {
        unsigned x = i % nx, y = i / nx % ny, block = i / nx / ny;
        const unsigned want[12] = {x * 10 + nx, nx + 10 * ny, nx * ny, blocks + 110, x > 3 ? x : block,
                                   y * 100 + 1, 1122, x + block, ny + 32, blocks + y, y + nx, 1};
        for (unsigned j = 0; j < 12; j++)
            if (out[12 * i + j] != want[j] && ++wrong < 10)
                printf("thread %u: value %u is %u, not %u\n", i, j, out[12 * i + j], want[j]);
    }
    printf("%u wrong, %s\n", wrong, cudaGetErrorString(error));
    return wrong != 0 || error != cudaSuccess;
}
