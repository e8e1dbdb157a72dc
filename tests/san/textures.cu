// Kernels that read and write arrays: what the tools say of textures and surfaces. textures CASE
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

enum { WIDTH = 64, HEIGHT = 8 };

__device__ float sum;

__global__ void fill(cudaSurfaceObject_t to)
{
    surf2Dwrite((float)threadIdx.x, to, threadIdx.x * 4, blockIdx.x);
}

// One column further than there are.
__global__ void fill_beyond(cudaSurfaceObject_t to)
{
    surf2Dwrite((float)threadIdx.x, to, (threadIdx.x + 1) * 4, blockIdx.x);
}

__global__ void fill_clamped(cudaSurfaceObject_t to)
{
    surf2Dwrite((float)threadIdx.x, to, (threadIdx.x + 1) * 4, blockIdx.x, cudaBoundaryModeClamp);
}

__global__ void fill_zero(cudaSurfaceObject_t to)
{
    surf2Dwrite((float)threadIdx.x, to, (threadIdx.x + 1) * 4, blockIdx.x, cudaBoundaryModeZero);
}

__global__ void read_misaligned(cudaSurfaceObject_t from)
{
    atomicAdd(&sum, surf2Dread<float>(from, threadIdx.x * 4 + 2, 0, cudaBoundaryModeZero));
}

__global__ void sample(cudaTextureObject_t from)
{
    atomicAdd(&sum, tex2D<float>(from, threadIdx.x + 0.5f, blockIdx.x + 0.5f));
}

// Between rows and columns: four texels each.
__global__ void sample_between(cudaTextureObject_t from)
{
    atomicAdd(&sum, tex2D<float>(from, threadIdx.x, blockIdx.x + 1.0f));
}

// Each thread's neighbour reads what it wrote; between them a barrier, or none.
template <bool MEET> __global__ void shift(cudaSurfaceObject_t at)
{
    surf2Dwrite((float)threadIdx.x, at, threadIdx.x * 4, blockIdx.x);
    if (MEET)
        __syncthreads();
    atomicAdd(&sum, surf2Dread<float>(at, (threadIdx.x + 33) % WIDTH * 4, blockIdx.x));
}

static cudaArray_t array;

static cudaSurfaceObject_t surface()
{
    cudaResourceDesc what = {};
    cudaSurfaceObject_t object = 0;
    what.resType = cudaResourceTypeArray;
    what.res.array.array = array;
    cudaCreateSurfaceObject(&object, &what);
    return object;
}

static cudaTextureObject_t texture(cudaTextureFilterMode filter)
{
    cudaResourceDesc what = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t object = 0;
    what.resType = cudaResourceTypeArray;
    what.res.array.array = array;
    how.filterMode = filter;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    cudaCreateTextureObject(&object, &what, &how, nullptr);
    return object;
}

// Rows of the array get values.
static void copy(size_t rows)
{
    static float data[HEIGHT][WIDTH];
    cudaMemcpy2DToArray(array, 0, 0, data, sizeof data[0], sizeof data[0], rows, cudaMemcpyHostToDevice);
}

static void run(const char *name)
{
    auto is = [&](const char *other) { return !strcmp(name, other); };
    cudaStream_t one, two;

    if (is("fill"))
        fill<<<HEIGHT, WIDTH>>>(surface());
    if (is("beyond"))
        fill_beyond<<<HEIGHT, WIDTH>>>(surface());
    if (is("clamped"))
        fill_clamped<<<HEIGHT, WIDTH>>>(surface());
    if (is("zero"))
        fill_zero<<<HEIGHT, WIDTH>>>(surface());
    if (is("misaligned"))
        read_misaligned<<<1, 32>>>(surface());
    if (is("copied") || is("unwritten") || is("half_copied") || is("freed")) {
        if (!is("unwritten"))
            copy(is("half_copied") ? HEIGHT / 2 : HEIGHT);
        cudaTextureObject_t from = texture(cudaFilterModePoint);
        if (is("freed"))
            cudaFreeArray(array);
        sample<<<HEIGHT, WIDTH>>>(from);
    }
    if (is("half_rows")) { // those that were copied
        copy(HEIGHT / 2);
        sample<<<HEIGHT / 2, WIDTH>>>(texture(cudaFilterModePoint));
    }
    if (is("half_between")) { // and one more
        copy(HEIGHT / 2);
        sample_between<<<HEIGHT / 2, WIDTH>>>(texture(cudaFilterModeLinear));
    }
    if (is("met"))
        shift<true><<<HEIGHT, WIDTH>>>(surface());
    if (is("unmet"))
        shift<false><<<HEIGHT, WIDTH>>>(surface());
    if (is("streams") || is("ordered")) {
        cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
        cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
        fill<<<HEIGHT, WIDTH, 0, one>>>(surface());
        if (is("ordered"))
            cudaStreamSynchronize(one);
        sample<<<HEIGHT, WIDTH, 0, two>>>(texture(cudaFilterModePoint));
    }
}

int main(int argc, char **argv)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    if (argc != 2 || cudaMallocArray(&array, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore) != cudaSuccess)
        return 1;
    run(argv[1]);
    puts(cudaGetErrorString(cudaDeviceSynchronize()));
}
