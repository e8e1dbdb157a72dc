/* atomicAdd() of bfloat16 and pairs, which compute capability 8.0 has without an instruction for it. */
#include <cstdio>
#include <cuda_bf16.h>

__global__ void add(__nv_bfloat16 *one, __nv_bfloat162 *pair, int *wrong)
{
    /* Whole numbers up to 256 are exact. */
    float old = __bfloat162float(atomicAdd(one + threadIdx.x % 2, __float2bfloat16(1.0f)));
    float2 both = __bfloat1622float2(atomicAdd(pair, __floats2bfloat162_rn(1.0f, 0.5f)));
    if (!(old >= 0.0f && old < 64.0f) || both.y != 0.5f * both.x)
        atomicAdd(wrong, 1);
}

int main()
{
    struct {
        __nv_bfloat162 pair;
        __nv_bfloat16 one[2];
        int wrong;
    } *d, h;
    cudaMalloc(&d, sizeof(*d));
    cudaMemset(d, 0, sizeof(*d));
    add<<<4, 32>>>(d->one, &d->pair, &d->wrong);
    cudaMemcpy(&h, d, sizeof(h), cudaMemcpyDeviceToHost);
    float2 pair = __bfloat1622float2(h.pair);
    bool right = __bfloat162float(h.one[0]) == 64.0f && __bfloat162float(h.one[1]) == 64.0f &&
                 pair.x == 128.0f && pair.y == 64.0f && !h.wrong;
    printf("%s", right ? "all right\n" : "wrong\n");
    return !right;
}
