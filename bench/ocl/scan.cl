/* Exclusive prefix sum: work-efficient up and down sweep over 1024 elements per work-group,
 * work-group
 * sums scanned recursively. */
/* One padding word per 32 avoids local memory bank conflicts. */
#define P(i) ((i) + ((i) >> 5))

__kernel __attribute__((reqd_work_group_size(512, 1, 1))) void
scan_block(__global const uint *restrict in, __global uint *restrict out,
           __global uint *restrict sums, int n)
{
    __local uint s[1024 + 32];
    int t = get_local_id(0), base = get_group_id(0) * 1024;
    int off = 1;

    s[P(t)] = base + t < n ? in[base + t] : 0u;
    s[P(t + 512)] = base + t + 512 < n ? in[base + t + 512] : 0u;
    for (int d = 512; d > 0; d >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (t < d) {
            int i = P(off * (2 * t + 1) - 1), j = P(off * (2 * t + 2) - 1);

            s[j] += s[i];
        }
        off <<= 1;
    }
    if (t == 0) {
        sums[get_group_id(0)] = s[P(1023)];
        s[P(1023)] = 0;
    }
    for (int d = 1; d < 1024; d <<= 1) {
        off >>= 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (t < d) {
            int i = P(off * (2 * t + 1) - 1), j = P(off * (2 * t + 2) - 1);
            uint x = s[i];

            s[i] = s[j];
            s[j] += x;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (base + t < n)
        out[base + t] = s[P(t)];
    if (base + t + 512 < n)
        out[base + t + 512] = s[P(t + 512)];
}

__kernel __attribute__((reqd_work_group_size(512, 1, 1))) void
scan_add(__global uint *restrict out, __global const uint *restrict sums, int n)
{
    int i = get_group_id(0) * 1024 + get_local_id(0);
    uint a = sums[get_group_id(0)];

    if (i < n)
        out[i] += a;
    if (i + 512 < n)
        out[i + 512] += a;
}
