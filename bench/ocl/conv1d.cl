/* Convolution with 33 taps: input tile and halo in local memory, taps in constant memory. */
#define R 16

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
conv1d(__global const float *restrict in, __global float *restrict out,
       __constant float *restrict taps, int n)
{
    __local float s[256 + 2 * R];
    int t = get_local_id(0), i = get_group_id(0) * 256 + t;
    float a = 0;

    s[t + R] = i < n ? in[i] : 0.0f;
    if (t < R) {
        int j = i - R;

        s[t] = j >= 0 ? in[j] : 0.0f;
    }
    if (t >= 256 - R) {
        int j = i + R;

        s[t + 2 * R] = j < n ? in[j] : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 2 * R + 1; k++)
        a += taps[k] * s[t + k];
    if (i < n)
        out[i] = a;
}
