/*
 * A product of bf16 matrices by ldmatrix and mma.sync, as libraries do it, against the chain of
 * fused multiply-adds that defines it: bit for bit, with numbers whose sums round.
 */
#include <cmath>
#include <cstdio>
#include <cstring>

enum { N = 128, TILE = 64, DEPTH = 32, PITCH = DEPTH + 8 };

typedef unsigned short bf16;

__device__ unsigned shared_address(const void *p)
{
    unsigned long long at;

    asm("cvta.to.shared.u64 %0, %1;" : "=l"(at) : "l"(p));
    return (unsigned)at;
}

__device__ void rows_load(unsigned (&r)[4], const bf16 *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row)));
}

__device__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* c = a * b; b by columns. Four warps, 32 x 32 each. */
__global__ void gemm(const bf16 *a, const bf16 *b, float *c)
{
    __shared__ __align__(16) bf16 sa[TILE][PITCH], sb[TILE][PITCH];
    int lane = threadIdx.x % 32, top = threadIdx.x / 64 * 32, left = threadIdx.x / 32 % 2 * 32;
    float d[2][4][4] = {};

    for (int first = 0; first < N; first += DEPTH) {
        for (int i = threadIdx.x; i < TILE * DEPTH / 8; i += 128) {
            int row = i / 4, col = i % 4 * 8;
            *(uint4 *)&sa[row][col] = *(const uint4 *)&a[(blockIdx.y * TILE + row) * N + first + col];
            *(uint4 *)&sb[row][col] = *(const uint4 *)&b[(blockIdx.x * TILE + row) * N + first + col];
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; k += 16) {
            unsigned fa[2][4], fb[2][4];
            for (int i = 0; i < 2; i++) {
                rows_load(fa[i], &sa[top + 16 * i + lane % 16][k + lane / 16 * 8]);
                rows_load(fb[i], &sb[left + 16 * i + lane % 8 + lane / 16 * 8][k + lane / 8 % 2 * 8]);
            }
            for (int i = 0; i < 2; i++) {
                for (int j = 0; j < 4; j++)
                    multiply(d[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 4; j++) {
            for (int e = 0; e < 4; e++) {
                int row = blockIdx.y * TILE + top + 16 * i + lane / 4 + e / 2 * 8;
                c[row * N + blockIdx.x * TILE + left + 8 * j + lane % 4 * 2 + e % 2] = d[i][j][e];
            }
        }
    }
}

static float widen(bf16 x)
{
    unsigned bits = (unsigned)x << 16;
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

int main()
{
    bf16 *a, *b;
    float *c;
    unsigned seed = 1;
    int bad = 0;

    cudaMallocManaged(&a, N * N * sizeof(bf16));
    cudaMallocManaged(&b, N * N * sizeof(bf16));
    cudaMallocManaged(&c, N * N * sizeof(float));
    for (int i = 0; i < 2 * N * N; i++) {
        seed = seed * 1664525 + 1013904223;
        (i < N * N ? a : b - N * N)[i] = (bf16)((seed >> 31) << 15 | (120 + (seed >> 8) % 12) << 7 | (seed >> 16 & 127));
    }
    gemm<<<dim3(N / TILE, N / TILE), 128>>>(a, b, c);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < N; k++)
                sum = fmaf(widen(a[i * N + k]), widen(b[j * N + k]), sum);
            bad += memcmp(&sum, &c[i * N + j], sizeof(sum)) != 0;
        }
    }
    printf(bad ? "FAIL: %d wrong\n" : "PASS\n", bad);
    return bad != 0;
}
