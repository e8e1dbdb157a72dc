// Blocks of a cluster: a histogram that lies in all of their shared memory, a ring of values, what a block does between
// arriving and waiting, what it leaves behind when it ends.
#include <cooperative_groups.h>
#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

// The programming guide's: bin b is in block b / bins_per_block of the cluster.
extern __shared__ int smem[];
__global__ void histogram(int *bins, int nbins, int bins_per_block, const int *input, size_t n)
{
    cg::cluster_group cluster = cg::this_cluster();
    unsigned size = cluster.dim_blocks().x;
    size_t first = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x)
        smem[i] = 0;
    cluster.sync();
    for (size_t i = first; i < n; i += (size_t)blockDim.x * gridDim.x) {
        int bin = input[i] < 0 ? 0 : input[i] >= nbins ? nbins - 1 : input[i];
        int *there = cluster.map_shared_rank(smem, bin / bins_per_block);
        atomicAdd(there + bin % bins_per_block, 1);
    }
    cluster.sync();
    int *mine = bins + cluster.block_rank() * bins_per_block;
    for (int i = threadIdx.x; i < bins_per_block && cluster.block_rank() * bins_per_block + i < nbins; i += blockDim.x)
        atomicAdd(&mine[i], smem[i]);
    (void)size;
}

// Values go round the cluster; the next block reads while this one works between arriving and waiting.
__global__ void ring(unsigned *out, int rounds)
{
    __shared__ unsigned cell[2][64];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), n = cluster.num_blocks(), t = threadIdx.x, own = blockIdx.x * 1000 + t, busy = 0;
    cell[0][t] = own;
    for (int r = 0; r < rounds; r++) {
        cluster.barrier_arrive();
        for (unsigned i = 0; i < t % 7; i++)
            busy += i * own;
        cluster.barrier_wait();
        const unsigned *from = cluster.map_shared_rank(cell[r & 1], (int)((rank + 1) % n));
        cell[(r + 1) & 1][t] = from[(t + 1) % blockDim.x] + 1;
        if (cluster.query_shared_rank(from) != (rank + 1) % n)
            cell[(r + 1) & 1][t] = 0;
    }
    cluster.sync();
    out[blockIdx.x * blockDim.x + t] = cell[rounds & 1][t];
    if (busy == 12345)
        out[0] = 0;
}

// The last rank reads from blocks that have nothing left to do.
__global__ void leavings(unsigned *out)
{
    __shared__ unsigned kept[32];
    cg::cluster_group cluster = cg::this_cluster();
    kept[threadIdx.x] = blockIdx.x * 100 + threadIdx.x;
    cluster.barrier_arrive();
    if (cluster.block_rank() + 1 < cluster.num_blocks())
        return;
    cluster.barrier_wait();
    unsigned sum = 0;
    for (unsigned r = 0; r < cluster.num_blocks(); r++)
        sum += *cluster.map_shared_rank(&kept[threadIdx.x], (int)r);
    out[blockIdx.x / cluster.num_blocks() * 32 + threadIdx.x] = sum;
}

static int bad;
static void check(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) {
        printf("%s: %s\n", what, cudaGetErrorName(e));
        bad++;
    }
}

template <class... P, class... A> static void launch(void (*kernel)(P...), unsigned grid, unsigned block, unsigned cluster, size_t shared, A... args)
{
    cudaLaunchAttribute size = {};
    cudaLaunchConfig_t config = {};
    size.id = cudaLaunchAttributeClusterDimension;
    size.val.clusterDim.x = cluster;
    size.val.clusterDim.y = size.val.clusterDim.z = 1;
    config.gridDim = dim3(grid);
    config.blockDim = dim3(block);
    config.dynamicSmemBytes = shared;
    config.attrs = &size;
    config.numAttrs = 1;
    check(cudaLaunchKernelEx(&config, kernel, P(args)...), "launch");
    check(cudaDeviceSynchronize(), "run");
}

static void test_histogram(unsigned cluster)
{
    const int nbins = 4000, per_block = (nbins + cluster - 1) / cluster;
    const size_t n = 100000;
    std::vector<int> want(nbins), got(nbins), in(n);
    unsigned seed = 1;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        in[i] = (int)(seed >> 19);
        want[in[i] >= nbins ? nbins - 1 : in[i]]++;
    }
    int *bins, *input;
    check(cudaMalloc(&bins, nbins * sizeof(int)), "malloc");
    check(cudaMalloc(&input, n * sizeof(int)), "malloc");
    check(cudaMemset(bins, 0, nbins * sizeof(int)), "memset");
    check(cudaMemcpy(input, in.data(), n * sizeof(int), cudaMemcpyHostToDevice), "copy");
    launch(histogram, 4 * cluster, 128, cluster, per_block * sizeof(int), bins, nbins, per_block, input, n);
    check(cudaMemcpy(got.data(), bins, nbins * sizeof(int), cudaMemcpyDeviceToHost), "copy");
    if (got != want) {
        printf("histogram over %u blocks is wrong\n", cluster);
        bad++;
    }
}

static void test_ring(unsigned cluster, unsigned threads, int rounds)
{
    unsigned blocks = 3 * cluster, *out, wrong = 0;
    std::vector<unsigned> got(blocks * threads);
    check(cudaMalloc(&out, got.size() * 4), "malloc");
    launch(ring, blocks, threads, cluster, 0, out, rounds);
    check(cudaMemcpy(got.data(), out, got.size() * 4, cudaMemcpyDeviceToHost), "copy");
    for (unsigned b = 0; b < blocks; b++) {
        for (unsigned t = 0; t < threads; t++) {
            unsigned from = b / cluster * cluster + (b % cluster + (unsigned)rounds) % cluster;
            wrong += got[b * threads + t] != from * 1000 + (t + (unsigned)rounds) % threads + (unsigned)rounds;
        }
    }
    if (wrong) {
        printf("ring of %u blocks of %u: %u wrong\n", cluster, threads, wrong);
        bad++;
    }
}

static void test_leavings(unsigned cluster)
{
    unsigned clusters = 5, *out, wrong = 0;
    std::vector<unsigned> got(clusters * 32);
    check(cudaMalloc(&out, got.size() * 4), "malloc");
    launch(leavings, clusters * cluster, 32, cluster, 0, out);
    check(cudaMemcpy(got.data(), out, got.size() * 4, cudaMemcpyDeviceToHost), "copy");
    for (unsigned c = 0; c < clusters; c++) {
        for (unsigned t = 0; t < 32; t++) {
            unsigned want = 0;
            for (unsigned r = 0; r < cluster; r++)
                want += (c * cluster + r) * 100 + t;
            wrong += got[c * 32 + t] != want;
        }
    }
    if (wrong) {
        printf("leavings of %u blocks: %u wrong\n", cluster, wrong);
        bad++;
    }
}

int main()
{
    for (unsigned cluster : {1u, 2u, 3u, 8u}) {
        test_histogram(cluster);
        test_ring(cluster, 64, 5);
        test_ring(cluster, 33, 8);
        test_leavings(cluster);
    }
    int largest = 0;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(8);
    config.blockDim = dim3(64);
    check(cudaOccupancyMaxPotentialClusterSize(&largest, ring, &config), "largest cluster");
    if (largest != 8) {
        printf("largest cluster: %d\n", largest);
        bad++;
    }
    printf(bad ? "FAIL\n" : "PASS\n");
    return bad != 0;
}
