/* Convolution of 3 x 3 as a matrix product that is never made (implicit GEMM): rows are pixels,
 * columns output channels, k goes over the nine places and their input channels. */
#include "tile64.h"

/* Four channels of the pixel that lies (r - 1, s - 1) from this one; zeros outside. */
static float4 pixel_load(__global const float *restrict x, int pixel, int pixels, int side, int ch,
                         int r, int s, int c)
{
    int row = pixel / side % side + r - 1, col = pixel % side + s - 1;

    if (pixel >= pixels || row < 0 || row >= side || col < 0 || col >= side)
        return (float4)(0);
    return vload4(0, &x[(pixel + (r - 1) * side + s - 1) * ch + c]);
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
conv2d(__global const float *restrict x, __global const float *restrict w,
       __global float *restrict y, int pixels, int side, int ch)
{
    __local struct tile_stage stage;
    int t = get_local_id(0), ar = t / 4, ak = t % 4 * 4, br = t / 16, bc = t % 16 * 4;
    int first = get_group_id(0) * TILE, out = get_group_id(1) * TILE;
    float acc[4][4] = {{0}};

    for (int place = 0; place < 9; place++)
        for (int c0 = 0; c0 < ch; c0 += DEPTH) {
            stage_put_a(&stage, ar, ak,
                        pixel_load(x, first + ar, pixels, side, ch, place / 3, place % 3, c0 + ak));
            vstore4(vload4(0, &w[(place * ch + c0 + br) * ch + out + bc]), 0, &stage.b[br][bc]);
            barrier(CLK_LOCAL_MEM_FENCE);
            stage_multiply(&stage, acc);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    tile_store(&y[first * ch + out], ch, pixels - first, acc);
}
