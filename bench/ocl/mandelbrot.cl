/* Escape times of the Mandelbrot set: a loop whose length differs from lane to lane. */
__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void
mandelbrot(__global int *restrict out, int w, int max_it)
{
    int px = get_global_id(0), py = get_global_id(1);

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
