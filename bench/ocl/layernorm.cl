/* Layer normalisation of the rows of a matrix, one work-group per row: mean, variance, scaling with
 * gain and bias. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
layernorm(__global const float *restrict in, __global const float *restrict g,
          __global const float *restrict b, __global float *restrict out, int c)
{
    __local float s[256];
    int t = get_local_id(0);
    __global const float *x = in + (size_t)get_group_id(0) * c;
    __global float *y = out + (size_t)get_group_id(0) * c;
    float a = 0;

    for (int j = t; j < c; j += 256)
        a += x[j];
    s[t] = a;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    float m = s[0] / c;

    barrier(CLK_LOCAL_MEM_FENCE);
    a = 0;
    for (int j = t; j < c; j += 256) {
        float d = x[j] - m;

        a += d * d;
    }
    s[t] = a;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    float r = rsqrt(s[0] / c + 1e-5f);

    for (int j = t; j < c; j += 256)
        y[j] = (x[j] - m) * r * g[j] + b[j];
}
