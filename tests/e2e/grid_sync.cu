/* grid.sync() of cooperative groups: neighbours exchange values; too large a grid is refused. */
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>

namespace cg = cooperative_groups;

__global__ void exchange(int *a, int *out, int turns)
{
    cg::grid_group grid = cg::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;

    for (int t = 0; t < turns; t++) {
        a[i] = i + t;
        grid.sync();
        out[i] += a[(i + blockDim.x + 1) % n];
        grid.sync();
    }
    if (i == 0)
        out[n] = grid.is_valid() && grid.size() == n;
}

int main()
{
    const int block = 96;
    int turns = 7, bad = 0, fit = 0, units = 0;

    cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, 0);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, exchange, block, 0);
    const int blocks = units * fit < 24 ? units * fit : 24, n = blocks * block;
    int *a, *out, *h = (int *)malloc((n + 1) * sizeof(int));

    cudaMalloc(&a, n * sizeof(int));
    cudaMalloc(&out, (n + 1) * sizeof(int));
    void *args[] = {&a, &out, &turns};
    for (int round = 0; round < 3; round++) {
        cudaMemset(out, 0, (n + 1) * sizeof(int));
        cudaError_t e = cudaLaunchCooperativeKernel((void *)exchange, dim3(blocks), dim3(block), args, 0, 0);
        if (e == cudaSuccess)
            e = cudaMemcpy(h, out, (n + 1) * sizeof(int), cudaMemcpyDeviceToHost);
        if (e != cudaSuccess) {
            printf("FAIL %s\n", cudaGetErrorString(e));
            return 1;
        }
        bad += h[n] != 1;
        for (int i = 0; i < n; i++) {
            int want = 0;
            for (int t = 0; t < turns; t++)
                want += (i + block + 1) % n + t;
            bad += h[i] != want;
        }
    }
    cudaError_t e =
        cudaLaunchCooperativeKernel((void *)exchange, dim3(units * fit + 1), dim3(block), args, 0, 0);
    bad += e != cudaErrorCooperativeLaunchTooLarge;
    printf("%s\n", bad ? "FAIL" : "PASS");
    return bad != 0;
}
