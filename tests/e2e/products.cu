/* Sums of matrix products in loops of all kinds. What a loop makes is hashed: the devices have to agree. */
#include <cstdint>
#include <cstdio>
#include <cstring>

enum { THREADS = 80, BLOCKS = 2, TURNS = 7, WORDS = 8 };

struct fragments {
    uint32_t a[4], b[2];
};

__device__ void multiply(float *d, const fragments &f)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(f.a[0]), "r"(f.a[1]), "r"(f.a[2]), "r"(f.a[3]), "r"(f.b[0]), "r"(f.b[1]));
}

/* Numbers from 1 to 2, with all signs. */
__device__ uint32_t number(uint32_t seed)
{
    seed = seed * 1664525 + 1013904223;
    seed ^= seed >> 15;
    return (seed & 0x807f807f) | 0x3f803f80;
}

__device__ fragments draw(uint32_t seed)
{
    fragments f;
    for (uint32_t i = 0; i < 4; i++)
        f.a[i] = number(seed * 31 + i + threadIdx.x * 977);
    for (uint32_t i = 0; i < 2; i++)
        f.b[i] = number(seed * 37 + i + threadIdx.x * 1009);
    return f;
}

__device__ void put(uint32_t *out, const float *d, const float *e)
{
    out += (blockIdx.x * THREADS + threadIdx.x) * WORDS;
    for (int i = 0; i < 4; i++)
        out[i] = __float_as_uint(d[i]), out[i + 4] = __float_as_uint(e[i]);
}

/* One warp at least has lanes that do not exist. */
__global__ void plain(uint32_t *out, int turns)
{
    float d[4] = {1, 2, 3, 4}, e[4] = {};
#pragma unroll 1
    for (int k = 0; k < turns; k++)
        multiply(d, draw(k));
    put(out, d, e);
}

__global__ void with_barriers(uint32_t *out, int turns)
{
    __shared__ fragments tile[THREADS];
    float d[4] = {}, e[4] = {};
#pragma unroll 1
    for (int k = 0; k < turns; k++) {
        tile[threadIdx.x] = draw(k);
        __syncthreads();
        fragments f = tile[(threadIdx.x + 32) % THREADS];
        multiply(d, f);
        multiply(e, tile[threadIdx.x]);
        multiply(d, tile[threadIdx.x]);
        __syncthreads();
    }
    put(out, d, e);
}

/* As many turns as the warp's number says, in each turn of another loop. */
__global__ void nested(uint32_t *out, int turns)
{
    float e[4] = {}, d[4] = {};
#pragma unroll 1
    for (int k = 0; k < turns; k++) {
        for (int i = 0; i < 4; i++)
            d[i] = (float)(k + i);
#pragma unroll 1
        for (int j = 0; j < (int)threadIdx.x / 32 + k % 3; j++)
            multiply(d, draw(k + j));
        for (int i = 0; i < 4; i++)
            e[i] += d[i];
    }
    put(out, d, e);
}

__global__ void change_places(uint32_t *out, int turns)
{
    float d[4] = {1, 1, 1, 1}, e[4] = {2, 2, 2, 2};
#pragma unroll 1
    for (int k = 0; k < turns; k++) {
        float f[4];
        memcpy(f, d, sizeof(f));
        memcpy(d, e, sizeof(f));
        memcpy(e, f, sizeof(f));
        multiply(d, draw(k));
        multiply(e, draw(k + 1));
    }
    put(out, d, e);
}

/* Sums that are read in the loop: before a product, and behind it. */
__global__ void watched(uint32_t *out, int turns)
{
    float d[4] = {}, e[4] = {}, before = 0, behind = 0;
#pragma unroll 1
    for (int k = 0; k < turns; k++) {
        before += e[0];
        multiply(d, draw(k));
        multiply(e, draw(2 * k));
        if (k % 3 == 1)
            behind += d[3];
    }
    d[0] += before, e[0] += behind;
    put(out, d, e);
}

/* What is made of sums on one side of a barrier is read on the other, where the sums are needed as well. */
__global__ void kept_at_barriers(uint32_t *out, int turns)
{
    __shared__ float near[THREADS];
    float d[4] = {1, 2, 3, 4}, e[4] = {};
#pragma unroll 1
    for (int k = 0; k < turns; k++) {
        bool low = d[1] < 3;
        near[threadIdx.x] = d[0];
        __syncthreads();
        float other = near[(threadIdx.x + 32) % THREADS];
        multiply(d, draw(k));
        e[0] += low ? other : 1;
        float twice = d[2] + d[2];
        __syncthreads();
        multiply(e, draw(2 * k));
        e[1] += twice;
        __syncthreads();
    }
    put(out, d, e);
}

/* Who has enough leaves; others of the block go on. */
__global__ void leaving(uint32_t *out, int turns)
{
    float d[4] = {}, e[4] = {};
#pragma unroll 1
    for (int k = 0; k < turns; k++) {
        multiply(d, draw(k));
        if (k == (int)threadIdx.x / 32 * 2)
            break;
        multiply(e, draw(k));
    }
    put(out, d, e);
}

/* More sums than a warp has in a tile of 128 x 64. */
__global__ void many(uint32_t *out, int turns)
{
    float d[72][4] = {}, e[4] = {};
#pragma unroll 1
    for (int k = 0; k < turns; k++) {
        fragments f = draw(k);
#pragma unroll
        for (int i = 0; i < 72; i++)
            multiply(d[i], f);
    }
#pragma unroll
    for (int i = 0; i < 72; i++) {
        for (int j = 0; j < 4; j++)
            e[j] += d[i][j] * (float)(i % 4);
    }
    put(out, d[0], e);
}

static uint32_t hash(const uint32_t *x, int n)
{
    uint32_t h = 2166136261u;
    for (int i = 0; i < n; i++)
        h = (h ^ x[i]) * 16777619u;
    return h;
}

int main()
{
    static void (*const kernels[])(uint32_t *, int) = {plain, with_barriers, nested, change_places, watched, kept_at_barriers, leaving, many};
    const int n = BLOCKS * THREADS * WORDS;
    static uint32_t out[BLOCKS * THREADS * WORDS];
    uint32_t *d;
    if (cudaMalloc(&d, sizeof(out)) != cudaSuccess)
        return 1;
    for (int k = 0; k < 8; k++) {
        for (int turns = 0; turns <= TURNS; turns += TURNS) {
            kernels[k]<<<BLOCKS, THREADS>>>(d, turns);
            cudaError_t status = cudaMemcpy(out, d, sizeof(out), cudaMemcpyDeviceToHost);
            printf("%d %d %s %08x\n", k, turns, cudaGetErrorName(status), hash(out, n));
        }
    }
}
