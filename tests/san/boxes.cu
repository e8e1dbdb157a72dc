/* Tensor copies, right and wrong, one by name: test_race_programs.py knows what the tools say. */
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

enum { W = 64, H = 64, TILE = 32 };

static CUtensorMap encode(void *at, unsigned h)
{
    CUtensorMap map;
    cuuint64_t dim[] = {W, h}, stride[] = {W * sizeof(int)};
    cuuint32_t box[] = {TILE, TILE}, step[] = {1, 1};
    CUresult r = cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, at, dim, stride, box, step,
                                        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (r)
        printf("cuTensorMapEncodeTiled: %d\n", (int)r);
    return map;
}

/* `waits`: for the box; `stops`: between reading it and the next box. */
template <bool waits, bool stops> __global__ void sums(const __grid_constant__ CUtensorMap map, int *out, int y)
{
    __shared__ __align__(128) int tile[TILE * TILE];
    __shared__ unsigned long long barrier;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier), sum = 0;

    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(bar) : "memory");
    __syncthreads();
    for (int i = 0; i < 2; i++) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "n"(sizeof tile) : "memory");
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                         "[%0], [%1, {%2, %3}], [%4];" ::"r"((unsigned)__cvta_generic_to_shared(tile)),
                         "l"(&map), "r"(i * TILE), "r"(y), "r"(bar)
                         : "memory");
        }
        for (unsigned done = !waits; !done;)
            asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}"
                         : "=r"(done)
                         : "r"(bar), "r"(i)
                         : "memory");
        sum += tile[threadIdx.x * 7 % (TILE * TILE)];
        if (stops)
            __syncthreads();
    }
    out[threadIdx.x] = sum;
}

/* Two warps store a matrix to one place: the same, or each its own. */
template <bool same, bool transposed> __global__ void matrices(int *out)
{
    __shared__ __align__(16) unsigned rows[8][4];
    unsigned lane = threadIdx.x % 32, value = lane * 65537 + (same ? 0 : threadIdx.x / 32);
    unsigned at = (unsigned)__cvta_generic_to_shared(rows[lane % 8]);

    if (transposed)
        asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(at), "r"(value) : "memory");
    else
        asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(at), "r"(value) : "memory");
    __syncthreads();
    out[threadIdx.x] = rows[lane % 8][lane / 8];
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int *in, *out;

    cudaFree(0);
    cudaMalloc(&out, 128 * sizeof *out);
    cudaMalloc(&in, W * H * sizeof *in); /* the last: nothing is behind it */
    if (strcmp(name, "unwritten"))
        cudaMemset(in, 1, W * H * sizeof *in);
    CUtensorMap map = encode(in, H), tall = encode(in, 2 * H);
    if (!strcmp(name, "early"))
        sums<false, true><<<1, 128>>>(map, out, 0);
    else if (!strcmp(name, "same_matrix"))
        matrices<true, false><<<1, 64>>>(out);
    else if (!strcmp(name, "same_transposed"))
        matrices<true, true><<<1, 64>>>(out);
    else if (!strcmp(name, "own_matrix"))
        matrices<false, false><<<1, 64>>>(out);
    else if (!strcmp(name, "own_transposed"))
        matrices<false, true><<<1, 64>>>(out);
    else if (!strcmp(name, "again"))
        sums<true, false><<<1, 128>>>(map, out, 0);
    else if (!strcmp(name, "beyond"))
        sums<true, true><<<1, 128>>>(tall, out, H - 8);
    else if (!strcmp(name, "edge"))
        sums<true, true><<<1, 128>>>(map, out, H - 8);
    else
        sums<true, true><<<1, 128>>>(map, out, 0);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    return 0;
}
