/* The C++ face of the runtime API.
 * expect: \.entry
 */
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

__constant__ float table[4];
__device__ int variable;

template <class T> __global__ void kernel(T *p, int n)
{
    p[threadIdx.x] = (T)(n + variable + (int)table[0]);
}

int main()
{
    float *p = nullptr, host[4] = {0};
    void *address;
    size_t size;
    int blocks, grid, block;
    cudaDeviceProp prop;
    cudaFuncAttributes attr;
    cudaStream_t stream;
    cudaEvent_t event;
    cudaMalloc(&p, 64);
    cudaMallocHost(&p, 64);
    cudaMallocManaged(&p, 64);
    cudaMallocAsync(&p, 64, 0);
    cudaMemcpyToSymbol(table, host, sizeof host);
    cudaMemcpyFromSymbol(host, table, sizeof host);
    cudaGetSymbolAddress(&address, variable);
    cudaGetSymbolSize(&size, table);
    cudaGetDeviceProperties(&prop, 0);
    cudaFuncGetAttributes(&attr, kernel<float>);
    cudaFuncSetAttribute(kernel<float>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel<float>, 128, 0);
    cudaOccupancyMaxPotentialBlockSize(&grid, &block, kernel<float>);
    cudaStreamCreate(&stream);
    cudaEventCreate(&event);
    cudaEventRecord(event, stream);
    kernel<<<1, 32>>>(p, 1);
    kernel<float><<<dim3(2, 2), 32, 1024, stream>>>(p, 1);
    void *args[] = {&p, &blocks};
    cudaLaunchKernel(kernel<float>, dim3(1), dim3(32), args);
    cudaLaunchCooperativeKernel(kernel<float>, dim3(1), dim3(32), args);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    cudaLaunchKernelEx(&config, kernel<float>, p, 3);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
    cudaGraphExecUpdateResult updated;
    cudaGraphExecUpdate(exec, graph, nullptr, &updated);
    cudaGraphLaunch(exec, stream);
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float4>();
    cudaProfilerStop();
    return cudaDeviceSynchronize() != cudaSuccess || desc.x == 0 || cudaPeekAtLastError() != cudaSuccess;
}
