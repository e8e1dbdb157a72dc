/* Histogram of bytes: local memory atomics per work-group, then one global atomic per bin. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
histogram(__global const uint *restrict d, __global uint *restrict h, int n4)
{
    __local uint s[256];

    s[get_local_id(0)] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_group_id(0) * 256 + get_local_id(0); i < n4; i += get_num_groups(0) * 256) {
        uint v = d[i];

        atomic_inc(&s[v & 255]);
        atomic_inc(&s[(v >> 8) & 255]);
        atomic_inc(&s[(v >> 16) & 255]);
        atomic_inc(&s[v >> 24]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&h[get_local_id(0)], s[get_local_id(0)]);
}
