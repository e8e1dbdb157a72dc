/* Escape times of the Mandelbrot set: a loop whose length differs from lane to lane. */
#include "cu.h"

__global__ void mandelbrot(int *__restrict__ out, int w, int max_it)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;

    if (px >= w || py >= w)
        return;
    float cx = -2.0f + 3.0f * (float)px / (float)w, cy = -1.5f + 3.0f * (float)py / (float)w;
    float x = 0, y = 0;
    int it = 0;

    while (it < max_it) {
        float xx = x * x, yy = y * y;

        if (xx + yy > 4.0f)
            break;
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
        it++;
    }
    out[py * w + px] = it;
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, MB_W, MB_IT);
    long w = args.size[0];
    int max_it = args.size[1];
    int *out = halloc<int>(w * w), *d = dalloc<int>(w * w);
    dim3 block(16, 16), grid(cdiv(w, 16), cdiv(w, 16));

    mb_prepare(w, max_it);
    auto run = [&] {
        mandelbrot<<<grid, block>>>(d, w, max_it);
        dsync();
    };
    auto check = [&] {
        d2h(out, d, w * w);
        return chk_mandel(out, w);
    };
    bench_result(out, w * w);
    return bench_end(bench_run("mandelbrot", args, mb_work, bench_no_reset, run, check));
}
