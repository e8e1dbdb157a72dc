/* Sum of an array: tree in local memory, then the same kernel over the partial sums until one
 * is left. */
#define BS 256

__kernel __attribute__((reqd_work_group_size(BS, 1, 1))) void
reduce(__global const float *restrict in, __global float *restrict out, int n)
{
    __local float s[BS];
    int t = get_local_id(0);
    int i = get_group_id(0) * (BS * 2) + t;
    float v = 0.0f;

    if (i < n)
        v = in[i];
    if (i + BS < n)
        v += in[i + BS];
    s[t] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = BS / 2; k > 0; k >>= 1) {
        if (t < k)
            s[t] += s[t + k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0)
        out[get_group_id(0)] = s[0];
}
