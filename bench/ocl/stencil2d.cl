/* Five-point stencil on a square grid; the border is copied. */
__kernel __attribute__((reqd_work_group_size(32, 8, 1))) void
stencil2d(__global const float *restrict in, __global float *restrict out, int n)
{
    int x = get_global_id(0), y = get_global_id(1);

    if (x >= n || y >= n)
        return;
    int i = y * n + x;
    float c = in[i];

    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        c = 0.5f * c + 0.125f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
    out[i] = c;
}
