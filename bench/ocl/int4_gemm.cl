/* Eight rows of activations in f16 times 4-bit weights with a scale per 128: 32 threads per column
 * of the result, 32 weights of it per thread and step; sums through local memory. */
#define ROWS  8
#define STEP  32
#define GROUP 128

/* The eight weights of a word in the order of k, less 8. */
static float8 dequantise(uint word)
{
    uint8 q = (uint8)(word) >> (uint8)(0, 16, 4, 20, 8, 24, 12, 28) & 15u;

    return convert_float8(q) - 8.0f;
}

static float dot8(float8 a, float8 b)
{
    return dot(a.lo, b.lo) + dot(a.hi, b.hi);
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
int4_gemm(__global const half *restrict a, __global const uint *restrict weights,
          __global const half *restrict scales, __global float *restrict c, int n, int k)
{
    __local float sums[ROWS][256];
    int t = get_local_id(0), lane = t % 32, column = get_group_id(0) * 8 + t / 32;
    int here = column < n ? column : n - 1; /* every thread has to reach the barriers */
    float acc[ROWS] = {0};

    for (int i = lane; i < k / STEP; i += 32) {
        float scale = vload_half(((size_t)here * k + i * STEP) / GROUP, scales);
        float8 w[STEP / 8];

        for (int j = 0; j < STEP / 8; j++)
            w[j] = dequantise(weights[((size_t)here * k + i * STEP) / 8 + j]);
        for (int m = 0; m < ROWS; m++) {
            float sum = 0;

            for (int j = 0; j < STEP / 8; j++)
                sum += dot8(vload_half8(0, a + m * k + i * STEP + 8 * j), w[j]);
            acc[m] += sum * scale;
        }
    }
    for (int m = 0; m < ROWS; m++)
        sums[m][t] = acc[m];
    for (int d = 16; d > 0; d >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < d)
            for (int m = 0; m < ROWS; m++)
                sums[m][t] += sums[m][t + d];
    }
    if (lane == 0 && column < n)
        for (int m = 0; m < ROWS; m++)
            c[m * n + column] = sums[m][t];
}
