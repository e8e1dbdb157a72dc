/* Softmax of the rows of a matrix, one work-group of 256 threads per row: maximum, sum of
 * exponentials, scaling. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
softmax(__global const float *restrict in, __global float *restrict out, int c)
{
    __local float s[256];
    int t = get_local_id(0);
    __global const float *x = in + (size_t)get_group_id(0) * c;
    __global float *y = out + (size_t)get_group_id(0) * c;
    float m = -INFINITY;

    for (int j = t; j < c; j += 256)
        m = fmax(m, x[j]);
    s[t] = m;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k)
            s[t] = fmax(s[t], s[t + k]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    m = s[0];
    barrier(CLK_LOCAL_MEM_FENCE);

    float a = 0;

    for (int j = t; j < c; j += 256) {
        float e = exp(x[j] - m);

        y[j] = e;
        a += e;
    }
    s[t] = a;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 128; k > 0; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    float r = 1.0f / s[0];

    for (int j = t; j < c; j += 256)
        y[j] *= r;
}
