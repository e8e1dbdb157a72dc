/* Reductions of a warp in one instruction, of all lanes and of some. */
#include <cstdio>

__global__ void reduce(int *out)
{
    int lane = threadIdx.x, minus = lane - 20;
    unsigned mask = lane < 8 ? 0xffu : 0xffffff00u;
    int got[] = {(int)__reduce_add_sync(~0u, lane + 1), __reduce_min_sync(~0u, minus), __reduce_max_sync(~0u, minus),
                 (int)__reduce_and_sync(~0u, lane | 64u), (int)__reduce_or_sync(~0u, lane | 64u),
                 (int)__reduce_xor_sync(~0u, lane == 5 ? 9u : 0u), (int)__reduce_min_sync(~0u, lane + 3u),
                 (int)__reduce_max_sync(~0u, lane + 3u), (int)__reduce_add_sync(mask, 1u)};
    for (int i = 0; i < 9; i++)
        out[9 * lane + i] = got[i];
}

int main()
{
    const int want[] = {528, -20, 11, 64, 95, 9, 3, 34};
    int *out, wrong = 0;
    if (cudaMallocManaged(&out, 32 * 9 * sizeof(int)) != cudaSuccess)
        return 2;
    reduce<<<1, 32>>>(out);
    wrong += cudaDeviceSynchronize() != cudaSuccess;
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < 8; i++)
            wrong += out[9 * lane + i] != want[i];
        wrong += out[9 * lane + 8] != (lane < 8 ? 8 : 24);
    }
    std::puts(wrong ? "wrong" : "all right");
    return wrong != 0;
}
