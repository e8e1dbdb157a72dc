/* What tests/tools/test_each_tool.py looks at with each tool: each.cu [wild | wait] */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <nvtx3/nvToolsExt.h>

enum { N = 1 << 12, LAUNCHES = 6 };

__global__ void add(int *x, int n, int by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += by;
}

__managed__ int managed = 5;
__device__ int table[4] = {1, 2, 3, 4};

__global__ void gather(int *x)
{
    x[threadIdx.x] += table[threadIdx.x % 4] + managed;
}

static void graph_of(int *x, cudaStream_t stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    add<<<N / 128, 128, 0, stream>>>(x, N, 1);
    cudaMemsetAsync(x, 0, 16, stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    for (int i = 0; i < 2; i++)
        cudaGraphLaunch(exec, stream);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int blocks = strcmp(mode, "wild") ? 1 : 2;
    int *x, *host = (int *)calloc(N, sizeof(int)), n = N, two = 2;
    void *args[] = {&x, &n, &two};
    cudaStream_t stream;
    char line[8];

    managed++;
    cudaStreamCreate(&stream);
    cudaMalloc(&x, N * sizeof(int));
    cudaMemset(x, 0, N * sizeof(int));
    if (!strcmp(mode, "wait")) {
        printf("waits\n");
        fflush(stdout);
        if (!fgets(line, sizeof(line), stdin))
            return 1;
    }
    nvtxRangePushA("launches");
    for (int i = 0; i < LAUNCHES; i++)
        add<<<N / 128 * blocks, 128>>>(x, N * blocks, 1);
    cudaDeviceSynchronize();
    nvtxRangePop();
    cudaLaunchKernel((const void *)add, dim3(N / 128), dim3(128), args, 0, stream);
    gather<<<1, 64, 0, stream>>>(x);
    graph_of(x, stream);
    cudaStreamSynchronize(stream);
    cudaMemcpyAsync(host, x, N * sizeof(int), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    printf("%d %d %s\n", host[8], host[100], cudaGetErrorName(cudaGetLastError()));
    return 0;
}
