/* The Mandelbrot set: every pixel iterates z = z^2 + c until it escapes, so the lanes of a warp
 * leave the loop at
 * different times. `mandelbrot out.ppm` writes the picture. */
#include "example.h"

#define WIDTH  480
#define HEIGHT 320
#define LIMIT  256

/* Compiled for both sides; the host is the reference. */
__host__ __device__ inline int escape_time(double cx, double cy)
{
    double x = 0, y = 0;
    int it = 0;

    for (; it < LIMIT; it++) {
        double xx = x * x, yy = y * y;

        if (xx + yy > 4.0)
            break;
        y = 2.0 * x * y + cy;
        x = xx - yy + cx;
    }
    return it;
}

__host__ __device__ inline int pixel(int px, int py)
{
    return escape_time(-2.2 + px * (1.0 / 160), -1.0 + py * (1.0 / 160));
}

__global__ void mandelbrot(int *out)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;

    if (px < WIDTH && py < HEIGHT)
        out[py * WIDTH + px] = pixel(px, py);
}

static void write_ppm(const char *path, const int *it)
{
    FILE *f = fopen(path, "wb");

    if (!f) {
        perror(path);
        exit(2);
    }
    fprintf(f, "P6\n%d %d\n255\n", WIDTH, HEIGHT);
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        int shade = it[i] == LIMIT ? 0 : 255 - it[i] % 256;

        fputc(shade, f);
        fputc(shade * shade / 255, f);
        fputc(255 - shade / 2, f);
    }
    fclose(f);
}

int main(int argc, char **argv)
{
    static int it[WIDTH * HEIGHT];
    int *dev_it, differing = 0, inside = 0;
    dim3 block(16, 16), grid((WIDTH + 15) / 16, (HEIGHT + 15) / 16);

    CHECK(cudaMalloc(&dev_it, sizeof(it)));
    mandelbrot<<<grid, block>>>(dev_it);
    CHECK_KERNEL();
    CHECK(cudaMemcpy(it, dev_it, sizeof(it), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(dev_it));
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        differing += it[i] != pixel(i % WIDTH, i / WIDTH);
        inside += it[i] == LIMIT;
    }
    if (argc > 1)
        write_ppm(argv[1], it);
    /* The device contracts a * b + c to a fused operation, the host may not: border pixels move. */
    return verdict(differing < WIDTH * HEIGHT / 200,
                   "mandelbrot: %d pixels inside, %d differ from the host", inside, differing);
}
