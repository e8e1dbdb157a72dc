/* A pipeline: pieces of an array travel in, are processed and travel out in four streams, with
 * pinned memory so that
 * copies can overlap. Events measure the time and make one stream wait for another. */
#include "example.h"

#define STREAMS 4
#define PIECES  16
#define PIECE   (1 << 16) /* elements */

__global__ void process(float *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        p[i] = sqrtf(p[i]) + 1.0f;
}

__global__ void checksum(const float *p, int n, double *sum)
{
    double part = 0;

    for (int i = threadIdx.x; i < n; i += blockDim.x)
        part += p[i];
    atomicAdd(sum, part);
}

int main()
{
    const int n = PIECES * PIECE;
    const size_t piece_B = PIECE * sizeof(float);
    cudaStream_t streams[STREAMS];
    cudaEvent_t start, stop, done[STREAMS];
    float *host, *dev, ms;
    double *dev_sum, sum, want = 0;

    CHECK(cudaMallocHost(&host, n * sizeof(float))); /* pinned */
    CHECK(cudaMalloc(&dev, n * sizeof(float)));
    CHECK(cudaMalloc(&dev_sum, sizeof(double)));
    CHECK(cudaMemset(dev_sum, 0, sizeof(double)));
    for (int i = 0; i < n; i++) {
        host[i] = (float)((i % 1000) * (i % 1000)); /* squares: the roots are exact */
        want += i % 1000 + 1;
    }
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    for (int s = 0; s < STREAMS; s++) {
        CHECK(cudaStreamCreate(&streams[s]));
        CHECK(cudaEventCreateWithFlags(&done[s], cudaEventDisableTiming));
    }

    CHECK(cudaEventRecord(start, streams[0]));
    for (int p = 0; p < PIECES; p++) {
        cudaStream_t s = streams[p % STREAMS];
        float *h = host + p * PIECE, *d = dev + p * PIECE;

        CHECK(cudaMemcpyAsync(d, h, piece_B, cudaMemcpyHostToDevice, s));
        process<<<PIECE / 256, 256, 0, s>>>(d, PIECE);
        CHECK(cudaMemcpyAsync(h, d, piece_B, cudaMemcpyDeviceToHost, s));
    }
    /* Stream 0 goes on when all others have arrived. */
    for (int s = 1; s < STREAMS; s++) {
        CHECK(cudaEventRecord(done[s], streams[s]));
        CHECK(cudaStreamWaitEvent(streams[0], done[s], 0));
    }
    checksum<<<1, 256, 0, streams[0]>>>(dev, n, dev_sum);
    CHECK(cudaEventRecord(stop, streams[0]));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaGetLastError());
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    CHECK(cudaMemcpy(&sum, dev_sum, sizeof(sum), cudaMemcpyDeviceToHost));

    int wrong = 0;

    for (int i = 0; i < n; i++)
        wrong += host[i] != (float)(i % 1000 + 1);
    for (int s = 0; s < STREAMS; s++) {
        CHECK(cudaStreamDestroy(streams[s]));
        CHECK(cudaEventDestroy(done[s]));
    }
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(dev));
    CHECK(cudaFree(dev_sum));
    return verdict(wrong == 0 && sum == want && ms >= 0,
                   "streams: %d pieces in %d streams, %d wrong", PIECES, STREAMS, wrong);
}
