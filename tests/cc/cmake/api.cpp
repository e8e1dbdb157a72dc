#include <cstdio>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nvrtc.h>

int main()
{
    int driver = 0, runtime = 0, major = 0, minor = 0;
    bool right = cudaFree(nullptr) == cudaSuccess && cuDriverGetVersion(&driver) == CUDA_SUCCESS &&
                 cudaRuntimeGetVersion(&runtime) == cudaSuccess && nvrtcVersion(&major, &minor) == NVRTC_SUCCESS;
    right = right && driver == CUDA_VERSION && runtime == CUDART_VERSION && major == 13;
    std::printf("%d %d %d.%d: %s\n", driver, runtime, major, minor, right ? "right" : "wrong");
    return right ? 0 : 1;
}
