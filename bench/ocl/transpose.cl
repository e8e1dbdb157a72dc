/* Matrix transpose through a padded 32 x 32 tile in local memory, 32 x 8 threads. */
__kernel __attribute__((reqd_work_group_size(32, 8, 1))) void
transpose(__global const float *restrict in, __global float *restrict out, int n)
{
    __local float t[32][33];
    int x = get_group_id(0) * 32 + get_local_id(0), y = get_group_id(1) * 32 + get_local_id(1);

    for (int j = 0; j < 32; j += 8)
        if (x < n && y + j < n)
            t[get_local_id(1) + j][get_local_id(0)] = in[(y + j) * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * 32 + get_local_id(0);
    y = get_group_id(0) * 32 + get_local_id(1);
    for (int j = 0; j < 32; j += 8)
        if (x < n && y + j < n)
            out[(y + j) * n + x] = t[get_local_id(0)][get_local_id(1) + j];
}
