/* __cluster_dims__ and __block_size__: the sizes come from constants and templates, kernels see them, write into
 * each other's shared memory, and launches that do not fit are refused. */
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

constexpr int PAIR = 2, THREADS = 32;
template <int N> struct size {
    enum { value = N };
};
static int failed;

struct seen {
    unsigned dim[3], rank, got;
};

__device__ void exchange(seen *out)
{
    __shared__ unsigned box[THREADS];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned blocks = cluster.num_blocks(), rank = cluster.block_rank(), t = threadIdx.x;
    unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
    cluster.sync();
    cluster.map_shared_rank(box, (rank + 1) % blocks)[t] = 100 * block + t;
    cluster.sync();
    dim3 dim = cluster.dim_blocks();
    out[block * THREADS + t] = {{dim.x, dim.y, dim.z}, rank, box[t]};
    cluster.sync();
}

__global__ void __cluster_dims__(PAIR, 1, 1) pairs(seen *out)
{
    exchange(out);
}

__global__ void __cluster_dims__(1, 2u) columns(seen *out);
__global__ void columns(seen *out)
{
    exchange(out);
}

template <int N> __global__ void __launch_bounds__(THREADS) __cluster_dims__(size<N>::value) many(seen *out)
{
    exchange(out);
}

namespace {
__cluster_dims__() __global__ void any(seen *out)
{
    exchange(out);
}
}

__global__ void __block_size__((THREADS, 1, 1), (2, 1, 1)) blocks(seen *out)
{
    exchange(out);
}

__global__ void __block_size__((THREADS)) single(seen *out)
{
    exchange(out);
}

static void check(bool good, const char *what)
{
    if (!good)
        printf("failed: %s\n", what);
    failed += !good;
}

static cudaError_t launch(void (*kernel)(seen *), dim3 grid, seen *out, dim3 cluster)
{
    cudaLaunchAttribute size = {};
    cudaLaunchConfig_t config = {};
    size.id = cudaLaunchAttributeClusterDimension;
    size.val.clusterDim = {cluster.x, cluster.y, cluster.z};
    config.gridDim = grid;
    config.blockDim = THREADS;
    config.attrs = &size;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, out);
}

/* `width` blocks in a row, clusters of x * y of them. */
static void results(const char *what, seen *out, unsigned width, unsigned height, unsigned x, unsigned y)
{
    check(cudaDeviceSynchronize() == cudaSuccess, what);
    for (unsigned b = 0; b < width * height; b++)
        for (unsigned t = 0; t < THREADS; t++) {
            unsigned bx = b % width, by = b / width, rank = bx % x + x * (by % y);
            unsigned from = (rank + x * y - 1) % (x * y), fx = bx - bx % x + from % x, fy = by - by % y + from / x;
            const seen &s = out[b * THREADS + t];
            if (s.dim[0] != x || s.dim[1] != y || s.dim[2] != 1 || s.rank != rank ||
                s.got != 100 * (fx + width * fy) + t) {
                check(false, what);
                return;
            }
        }
}

int main()
{
    seen *out;
    cudaFuncAttributes attributes;
    cudaMallocManaged(&out, 64 * THREADS * sizeof(*out));

    pairs<<<6, THREADS>>>(out);
    results("pairs", out, 6, 1, 2, 1);
    columns<<<dim3(3, 4), THREADS>>>(out);
    results("columns", out, 3, 4, 1, 2);
    many<4><<<8, THREADS>>>(out);
    results("a template", out, 8, 1, 4, 1);
    check(launch(any, 6, out, 3) == cudaSuccess, "a size of the launch");
    results("a size of the launch", out, 6, 1, 3, 1);
    blocks<<<3, 1>>>(out);
    results("blocks that are clusters", out, 6, 1, 2, 1);
    single<<<3, 1>>>(out);
    results("clusters of one", out, 3, 1, 1, 1);

    pairs<<<5, THREADS>>>(out);
    check(cudaGetLastError() != cudaSuccess, "no multiple");
    any<<<6, THREADS>>>(out);
    check(cudaGetLastError() != cudaSuccess, "no size");
    check(launch(pairs, 6, out, 3) != cudaSuccess, "another size than the kernel's");
    cudaGetLastError();
    check(cudaFuncGetAttributes(&attributes, many<4>) == cudaSuccess && attributes.requiredClusterWidth == 4 &&
              attributes.requiredClusterHeight == 1 && attributes.maxThreadsPerBlock == THREADS,
          "attributes");
    printf(failed ? "FAILED\n" : "all right\n");
    return failed != 0;
}
