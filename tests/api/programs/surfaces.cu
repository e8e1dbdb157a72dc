/* Surfaces: what kernels write into arrays, and the modes at their borders. */
#include "check.h"

enum { WIDTH = 16, HEIGHT = 4, DEPTH = 3 };

static __global__ void write_2d(cudaSurfaceObject_t surface)
{
    int x = threadIdx.x, y = threadIdx.y;
    surf2Dwrite<int>(x + 100 * y, surface, x * 4, y);
}

static __global__ void read_borders(cudaSurfaceObject_t surface, int *out)
{
    surf2Dread<int>(&out[0], surface, -4, 0, cudaBoundaryModeZero);
    surf2Dread<int>(&out[1], surface, 1000, 1, cudaBoundaryModeClamp);
    surf2Dread<int>(&out[2], surface, 8, 2, cudaBoundaryModeTrap);
    surf2Dwrite<int>(77, surface, WIDTH * 4, 0, cudaBoundaryModeZero); /* goes nowhere */
}

static __global__ void write_3d(cudaSurfaceObject_t surface)
{
    uchar4 value = make_uchar4(threadIdx.x, threadIdx.y, threadIdx.z, 9);
    surf3Dwrite(value, surface, threadIdx.x * 4, threadIdx.y, threadIdx.z);
}

static __global__ void write_1d(cudaSurfaceObject_t surface, float scale)
{
    surf1Dwrite(threadIdx.x * scale, surface, threadIdx.x * 4);
}

static void two_dimensions(void)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaArray_t array = NULL, plain = NULL;
    cudaResourceDesc resource = {}, got = {};
    cudaSurfaceObject_t surface = 0;
    int host[HEIGHT][WIDTH], *out = NULL;

    OK(cudaMallocManaged(&out, 64));
    OK(cudaMallocArray(&array, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    OK(cudaCreateSurfaceObject(&surface, &resource));
    write_2d<<<1, dim3(WIDTH, HEIGHT)>>>(surface);
    OK(cudaDeviceSynchronize());
    read_borders<<<1, 1>>>(surface, out);
    OK(cudaDeviceSynchronize());
    EQ(out[0], 0);
    EQ(out[1], 115);
    EQ(out[2], 202);
    OK(cudaMemcpy2DFromArray(host, sizeof(host[0]), array, 0, 0, sizeof(host[0]), HEIGHT,
                             cudaMemcpyDeviceToHost));
    for (int y = 0; y < HEIGHT; y++)
        EQ(check_wrong(host[y], WIDTH, 100 * y, 1), 0);
    OK(cudaGetSurfaceObjectResourceDesc(&got, surface));
    TRUE(got.res.array.array == array);
    OK(cudaDestroySurfaceObject(surface));

    OK(cudaMallocArray(&plain, &format, WIDTH, HEIGHT)); /* not made for surfaces */
    resource.res.array.array = plain;
    TRUE(cudaCreateSurfaceObject(&surface, &resource) != cudaSuccess);
    FAILS(cudaCreateSurfaceObject(&surface, NULL), cudaErrorInvalidValue);
    resource.resType = cudaResourceTypeLinear;
    TRUE(cudaCreateSurfaceObject(&surface, &resource) != cudaSuccess);
    cudaGetLastError();
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(plain));
    OK(cudaFree(out));
}

static void by_the_driver(void)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = {};
    CUDA_RESOURCE_DESC resource = {}, got = {};
    CUarray array = NULL;
    CUsurfObject surface = 0;
    static uchar4 host[DEPTH][HEIGHT][WIDTH];
    CUDA_MEMCPY3D copy = {};
    int wrong = 0;

    desc.Width = WIDTH;
    desc.Height = HEIGHT;
    desc.Depth = DEPTH;
    desc.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    desc.NumChannels = 4;
    desc.Flags = CUDA_ARRAY3D_SURFACE_LDST;
    OK(cuArray3DCreate(&array, &desc));
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    OK(cuSurfObjectCreate(&surface, &resource));
    write_3d<<<1, dim3(WIDTH, HEIGHT, DEPTH)>>>(surface);
    OK(cudaDeviceSynchronize());
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = host;
    copy.WidthInBytes = copy.dstPitch = sizeof(host[0][0]);
    copy.Height = copy.dstHeight = HEIGHT;
    copy.Depth = DEPTH;
    OK(cuMemcpy3D(&copy));
    for (int z = 0; z < DEPTH; z++)
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) {
                uchar4 p = host[z][y][x];
                wrong += p.x != x || p.y != y || p.z != z || p.w != 9;
            }
    EQ(wrong, 0);
    OK(cuSurfObjectGetResourceDesc(&got, surface));
    TRUE(got.res.array.hArray == array);
    OK(cuSurfObjectDestroy(surface));
    OK(cuArrayDestroy(array));
}

static void one_dimension(void)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array = NULL;
    cudaResourceDesc resource = {};
    cudaSurfaceObject_t surface = 0;
    float host[WIDTH];

    OK(cudaMallocArray(&array, &format, WIDTH, 0, cudaArraySurfaceLoadStore));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    OK(cudaCreateSurfaceObject(&surface, &resource));
    write_1d<<<1, WIDTH>>>(surface, 0.5f);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy2DFromArray(host, sizeof(host), array, 0, 0, sizeof(host), 1,
                             cudaMemcpyDeviceToHost));
    for (int i = 0; i < WIDTH; i++)
        TRUE(host[i] == 0.5f * i);
    OK(cudaDestroySurfaceObject(surface));
    OK(cudaFreeArray(array));
}

int main(void)
{
    two_dimensions();
    by_the_driver();
    one_dimension();
    return finish();
}
