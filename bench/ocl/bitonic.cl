/* Bitonic sort: strides below 1024 in local memory, larger ones through global memory. */
#define CMPX(a, b, up)                                                                             \
    {                                                                                              \
        uint lo = min(a, b);                                                                       \
        uint hi = max(a, b);                                                                       \
        a = (up) ? lo : hi;                                                                        \
        b = (up) ? hi : lo;                                                                        \
    }

/* 512 threads sort 1024 keys. */
__kernel __attribute__((reqd_work_group_size(512, 1, 1))) void bitonic_sort_local(__global uint *k)
{
    __local uint s[1024];
    int t = get_local_id(0), base = get_group_id(0) * 1024;

    s[t] = k[base + t];
    s[t + 512] = k[base + t + 512];
    for (int size = 2; size <= 1024; size <<= 1)
        for (int st = size >> 1; st > 0; st >>= 1) {
            barrier(CLK_LOCAL_MEM_FENCE);
            int i = 2 * t - (t & (st - 1));

            CMPX(s[i], s[i + st], ((base + i) & size) == 0);
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    k[base + t] = s[t];
    k[base + t + 512] = s[t + 512];
}

/* The strides 512 to 1 of a larger merge. */
__kernel __attribute__((reqd_work_group_size(512, 1, 1))) void bitonic_merge_local(__global uint *k,
                                                                                   int size)
{
    __local uint s[1024];
    int t = get_local_id(0), base = get_group_id(0) * 1024;

    s[t] = k[base + t];
    s[t + 512] = k[base + t + 512];
    for (int st = 512; st > 0; st >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        int i = 2 * t - (t & (st - 1));

        CMPX(s[i], s[i + st], ((base + i) & size) == 0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    k[base + t] = s[t];
    k[base + t + 512] = s[t + 512];
}

/* One stride of at least 1024. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
bitonic_merge_global(__global uint *k, int size, int st)
{
    int t = get_global_id(0);
    int i = 2 * t - (t & (st - 1));
    uint a = k[i], b = k[i + st];

    CMPX(a, b, (i & size) == 0);
    k[i] = a;
    k[i + st] = b;
}
