/* Convolution of 3 x 3 as a matrix product that is never made (implicit GEMM): rows are pixels,
 * columns output channels, k goes over the nine places and their input channels. */
#include "tile64.h"

/* Four channels of the pixel that lies (r - 1, s - 1) from this one; zeros outside. */
static __device__ float4 pixel_load(const float *__restrict__ x, int pixel, int pixels, int side,
                                    int ch, int r, int s, int c)
{
    int row = pixel / side % side + r - 1, col = pixel % side + s - 1;

    if (pixel >= pixels || row < 0 || row >= side || col < 0 || col >= side)
        return make_float4(0, 0, 0, 0);
    return *(const float4 *)&x[(pixel + (r - 1) * side + s - 1) * ch + c];
}

__global__ void __launch_bounds__(TILE_THREADS)
    conv2d(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y,
           int pixels, int side, int ch)
{
    __shared__ __align__(16) tile_stage stage;
    int t = threadIdx.x, ar = t / 4, ak = t % 4 * 4, br = t / 16, bc = t % 16 * 4;
    int first = blockIdx.x * TILE, out = blockIdx.y * TILE;
    float acc[4][4] = {};

    for (int place = 0; place < 9; place++)
        for (int c0 = 0; c0 < ch; c0 += DEPTH) {
            stage_put_a(stage, ar, ak,
                        pixel_load(x, first + ar, pixels, side, ch, place / 3, place % 3, c0 + ak));
            *(float4 *)&stage.b[br][bc] =
                *(const float4 *)&w[(place * ch + c0 + br) * ch + out + bc];
            __syncthreads();
            stage_multiply(stage, acc);
            __syncthreads();
        }
    tile_store(&y[first * ch + out], ch, pixels - first, acc);
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, CV_SIDE, CV_CHANNELS);
    long side = args.size[0], ch = args.size[1], pixels = CV_IMAGES * side * side;

    if (ch % TILE) {
        fprintf(stderr, "channels must be a multiple of %d\n", TILE);
        return 2;
    }
    float *x = halloc<float>(pixels * ch), *w = halloc<float>(9 * ch * ch);
    float *y = halloc<float>(pixels * ch);

    fill_f(x, pixels * ch, 86, -1, 1);
    fill_f(w, 9 * ch * ch, 87, -1, 1);
    float *dx = dput(x, pixels * ch), *dw = dput(w, 9 * ch * ch), *dy = dalloc<float>(pixels * ch);

    auto run = [&] {
        conv2d<<<dim3(cdiv(pixels, TILE), ch / TILE), TILE_THREADS>>>(dx, dw, dy, pixels, side, ch);
        dsync();
    };
    auto check = [&] {
        d2h(y, dy, pixels * ch);
        return chk_conv2d(x, w, y, side, ch);
    };
    bench_result(y, pixels * ch);
    return bench_end(
        bench_run("conv2d", args, 18.0 * pixels * ch * ch, bench_no_reset, run, check));
}
