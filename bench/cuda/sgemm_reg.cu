/* Matrix product with register blocking: a 64 x 64 tile of C per CTA of 256 threads, 4 x 4 per
 * thread, k in steps of 16. */
#include "gemm_main.h"

__global__ void __launch_bounds__(256)
    sgemm_reg(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C,
              int n)
{
    __shared__ float as[16][64], bs[16][64]; /* as is transposed: [k][row] */
    int t = threadIdx.x, tx = t & 15, ty = t >> 4;
    int bx = blockIdx.x * 64, by = blockIdx.y * 64;
    int ar = t >> 2, ak = (t & 3) * 4;  /* the four elements of A that this thread loads */
    int br = t >> 4, bc = (t & 15) * 4; /* and of B */
    float acc[4][4];

#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            acc[i][j] = 0.0f;
    for (int k0 = 0; k0 < n; k0 += 16) {
        float4 a = *(const float4 *)&A[(by + ar) * n + k0 + ak];
        float4 b = *(const float4 *)&B[(k0 + br) * n + bx + bc];

        as[ak][ar] = a.x;
        as[ak + 1][ar] = a.y;
        as[ak + 2][ar] = a.z;
        as[ak + 3][ar] = a.w;
        *(float4 *)&bs[br][bc] = b;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++) {
            float4 u = *(const float4 *)&as[k][ty * 4], v = *(const float4 *)&bs[k][tx * 4];
            float ua[4] = {u.x, u.y, u.z, u.w}, va[4] = {v.x, v.y, v.z, v.w};

#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    acc[i][j] += ua[i] * va[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        *(float4 *)&C[(by + ty * 4 + i) * n + bx + tx * 4] =
            make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}

int main(int argc, char **argv)
{
    return gemm_main("sgemm_reg", argc, argv, [](float *a, float *b, float *c, int n) {
        sgemm_reg<<<dim3(n / 64, n / 64), 256>>>(a, b, c, n);
    });
}
