// Programs with one fault each, and, as `advise RULE mended`, without it.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int n = 1 << 16;
static const size_t size = n * sizeof(float);
static float *device, *other, *pinned, *pageable;
static bool mended;

__global__ void work(float *a, int rounds)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float x = a[i];
        for (int k = 0; k < rounds; k++)
            x = x * 0.999f + 1;
        a[i] = x;
    }
}

static void launch(cudaStream_t stream = 0)
{
    work<<<64, 256, 0, stream>>>(device, 20);
}

// The host's own work of so many microseconds.
static void host(int us)
{
    timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1e6 + (now.tv_nsec - begin.tv_nsec) / 1e3 < us);
}

static void needless_sync()
{
    for (int i = 0; i < 200; i++) {
        launch();
        if (!mended)
            cudaDeviceSynchronize();
    }
}

static void alloc_in_loop()
{
    for (int i = 0; i < 30; i++) {
        float *scratch = other;
        if (!mended)
            cudaMalloc(&scratch, 8 << 20);
        work<<<64, 256>>>(scratch, 20);
        if (!mended)
            cudaFree(scratch);
    }
}

static void polling_copies()
{
    float one;
    for (int i = 0; i < 100; i++) {
        launch();
        if (!mended)
            cudaMemcpy(&one, device, sizeof(one), cudaMemcpyDeviceToHost);
    }
}

static void tiny_copies()
{
    for (int i = 0; i < 20; i++) {
        if (mended)
            cudaMemcpy(device, pinned, 50 * 64, cudaMemcpyHostToDevice);
        else
            for (int k = 0; k < 50; k++)
                cudaMemcpy(device + k * 16, pinned + k * 16, 64, cudaMemcpyHostToDevice);
        launch();
    }
}

static void host_gaps()
{
    for (int i = 0; i < 30; i++) {
        work<<<64, 256>>>(device, 400);
        if (!mended)
            cudaDeviceSynchronize();
        host(1000);
    }
}

static void round_trips()
{
    for (int i = 0; i < 20; i++) {
        launch();
        if (mended) {
            cudaMemcpy(other, device, size, cudaMemcpyDeviceToDevice);
        } else {
            cudaMemcpy(pinned, device, size, cudaMemcpyDeviceToHost);
            cudaMemcpy(other, pinned, size, cudaMemcpyHostToDevice);
        }
        launch();
    }
}

static void small_grid()
{
    for (int i = 0; i < 10; i++)
        work<<<mended ? 64 : 1, 256>>>(device, 50);
}

static void pageable_copies()
{
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (int i = 0; i < 20; i++) {
        cudaMemcpyAsync(other, mended ? pinned : pageable, size, cudaMemcpyHostToDevice, stream);
        launch();
    }
}

static void no_overlap()
{
    for (int i = 0; i < 20; i++) {
        if (!mended || !i)
            cudaMemcpy(device, pinned, size, cudaMemcpyHostToDevice);
        launch();
        if (!mended || i == 19)
            cudaMemcpy(pinned, device, size, cudaMemcpyDeviceToHost);
    }
}

__global__ void tiny(float *a)
{
    a[threadIdx.x] += 1;
}

// Thousands of kernels that do next to nothing, and a wait behind each; mended: some that do something.
static void tiny_launches()
{
    for (int i = 0; i < (mended ? 20 : 5000); i++) {
        if (mended)
            work<<<64, 256>>>(other, 400);
        else
            tiny<<<1, 64>>>(other);
        cudaDeviceSynchronize();
        if (mended)
            host(200);
    }
}

__global__ void sums(const float *a, float *o, int by_rows)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < 256; i++)
        sum += a[by_rows ? thread * 256 + i : i * 256 + thread];
    o[thread] = sum;
}

static void strided()
{
    for (int i = 0; i < 3; i++)
        sums<<<2, 128>>>(device, other, !mended);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
    } programs[] = {{"needless-sync", needless_sync}, {"alloc-in-loop", alloc_in_loop},     {"polling-copies", polling_copies},
                    {"tiny-copies", tiny_copies},     {"host-gaps", host_gaps},             {"round-trips", round_trips},
                    {"small-grid", small_grid},       {"pageable-copies", pageable_copies}, {"no-overlap", no_overlap},
                    {"tiny-launches", tiny_launches}, {"strided", strided}};

    mended = argc > 2;
    cudaMalloc(&device, size);
    cudaMalloc(&other, 8 << 20);
    cudaMallocHost(&pinned, size);
    pageable = (float *)calloc(1, size);
    cudaMemset(device, 0, size);
    launch();
    cudaDeviceSynchronize();
    host(100);
    for (const auto &program : programs)
        if (argc > 1 && !strcmp(argv[1], program.name))
            program.run();
    cudaDeviceSynchronize();
    return argc > 1 && !strcmp(argv[1], "fail") ? 5 : 0;
}
