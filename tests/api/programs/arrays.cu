/* Arrays and mipmapped arrays: what they are, and copies from and to them. */
#include "check.h"

enum { WIDTH = 16, HEIGHT = 8, DEPTH = 4 };

static int host[DEPTH][HEIGHT][WIDTH], back[DEPTH][HEIGHT][WIDTH];

static void runtime(void)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>(), got;
    cudaArray_t array = NULL, other = NULL;
    cudaExtent extent;
    unsigned int flags = 99;
    size_t pitch = WIDTH * 4;
    CUDA_ARRAY_DESCRIPTOR desc;

    EQ(format.x, 32);
    EQ(format.f, cudaChannelFormatKindSigned);
    OK(cudaMallocArray(&array, &format, WIDTH, HEIGHT));
    OK(cudaMallocArray(&other, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
    OK(cudaArrayGetInfo(&got, &extent, &flags, other));
    EQ(got.x, 32);
    EQ(got.y, 0);
    EQ(extent.width, WIDTH);
    EQ(extent.height, HEIGHT);
    EQ(extent.depth, 0);
    EQ(flags, cudaArraySurfaceLoadStore);
    OK(cudaGetChannelDesc(&got, array));
    EQ(got.f, cudaChannelFormatKindSigned);
    OK(cuArrayGetDescriptor(&desc, (CUarray)array)); /* one object of two APIs */
    EQ(desc.Width, WIDTH);
    EQ(desc.Format, CU_AD_FORMAT_SIGNED_INT32);
    EQ(desc.NumChannels, 1);

    OK(cudaMemcpy2DToArray(array, 0, 0, host, pitch, pitch, HEIGHT, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DArrayToArray(other, 8, 1, array, 4, 2, 16, 3, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy2DFromArray(back, 16, other, 8, 1, 16, 3, cudaMemcpyDeviceToHost));
    EQ(((int *)back)[0], host[0][2][1]);
    EQ(((int *)back)[4 * 2 + 3], host[0][4][4]);
    OK(cudaMemcpy2DFromArrayAsync(back, pitch, array, 0, 0, pitch, HEIGHT, cudaMemcpyDefault, 0));
    OK(cudaStreamSynchronize(0));
    EQ(memcmp(back[0], host[0], sizeof(back[0])), 0);
    FAILS(cudaMemcpy2DToArray(array, 4, 0, host, pitch, pitch, HEIGHT, cudaMemcpyHostToDevice),
          cudaErrorInvalidValue);
    FAILS(cudaMemcpy2DFromArray(back, 4, array, 0, 0, pitch, 2, cudaMemcpyDeviceToHost),
          cudaErrorInvalidPitchValue);
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(other));
    TRUE(cudaFreeArray(array) != cudaSuccess);
    cudaGetLastError();
    OK(cudaFreeArray(NULL));
    format.x = 7;
    FAILS(cudaMallocArray(&array, &format, WIDTH, HEIGHT), cudaErrorInvalidChannelDescriptor);
}

static void three_dimensions(void)
{
    CUDA_ARRAY3D_DESCRIPTOR desc = {}, got = {};
    CUarray array = NULL;
    cudaMemcpy3DParms params = {};
    CUDA_MEMCPY3D copy = {};

    desc.Width = WIDTH;
    desc.Height = HEIGHT;
    desc.Depth = DEPTH;
    desc.Format = CU_AD_FORMAT_UNSIGNED_INT16;
    desc.NumChannels = 2;
    OK(cuArray3DCreate(&array, &desc));
    OK(cuArray3DGetDescriptor(&got, array));
    EQ(got.Depth, DEPTH);
    EQ(got.NumChannels, 2);
    params.srcPtr = make_cudaPitchedPtr(host, WIDTH * 4, WIDTH, HEIGHT);
    params.dstArray = (cudaArray_t)array;
    params.extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH); /* elements, where an array is meant */
    params.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&params));
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.srcXInBytes = 4;
    copy.srcY = 1;
    copy.srcZ = 2;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = back;
    copy.dstPitch = 8;
    copy.dstHeight = 2;
    copy.WidthInBytes = 8;
    copy.Height = 2;
    copy.Depth = 2;
    OK(cuMemcpy3D(&copy));
    EQ(((int *)back)[0], host[2][1][1]);
    EQ(((int *)back)[3], host[2][2][2]);
    EQ(((int *)back)[7], host[3][2][2]);
    copy.Depth = 3;
    FAILS(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
    OK(cuArrayDestroy(array));
    FAILS(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);

    desc.NumChannels = 3;
    FAILS(cuArray3DCreate(&array, &desc), CUDA_ERROR_INVALID_VALUE);
    desc.NumChannels = 4;
    desc.Flags = CUDA_ARRAY3D_CUBEMAP; /* six square sides */
    FAILS(cuArray3DCreate(&array, &desc), CUDA_ERROR_INVALID_VALUE);
    desc.Height = WIDTH;
    desc.Depth = 6;
    OK(cuArray3DCreate(&array, &desc));
    OK(cuArrayDestroy(array));
    desc.Flags = CUDA_ARRAY3D_LAYERED;
    desc.Depth = 5;
    OK(cuArray3DCreate(&array, &desc));
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs = {};
    CUresult result = cuArrayGetMemoryRequirements(&needs, array, 0);
    TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_VALUE);
    OK(cuArrayDestroy(array));
}

/* One row, from and to linear memory. */
static void rows(void)
{
    CUDA_ARRAY_DESCRIPTOR desc = {64, 0, CU_AD_FORMAT_FLOAT, 1};
    CUarray array = NULL, twin = NULL;
    CUdeviceptr linear = 0;

    OK(cuArrayCreate(&array, &desc));
    OK(cuArrayCreate(&twin, &desc));
    OK(cuMemAlloc(&linear, 256));
    OK(cuMemcpyHtoA(array, 0, host, 256));
    OK(cuMemcpyAtoA(twin, 16, array, 0, 64));
    OK(cuMemcpyAtoD(linear, twin, 16, 64));
    OK(cuMemcpyDtoA(array, 128, linear, 64));
    OK(cuMemcpyAtoH(back, array, 128, 64));
    EQ(memcmp(back, host, 64), 0);
    FAILS(cuMemcpyHtoA(array, 128, host, 256), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(linear));
    OK(cuArrayDestroy(array));
    OK(cuArrayDestroy(twin));
}

static void mipmaps(void)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaMipmappedArray_t mipmap = NULL;
    cudaArray_t level = NULL;
    cudaExtent extent;
    CUarray driver_level = NULL;

    OK(cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(WIDTH, HEIGHT, 0), 3));
    for (unsigned i = 0; i < 3; i++) {
        OK(cudaGetMipmappedArrayLevel(&level, mipmap, i));
        OK(cudaArrayGetInfo(NULL, &extent, NULL, level));
        EQ(extent.width, WIDTH >> i);
        EQ(extent.height, HEIGHT >> i);
        OK(cudaMemcpy2DToArray(level, 0, 0, host[i], WIDTH * 4, extent.width * 4, extent.height,
                               cudaMemcpyHostToDevice));
    }
    OK(cudaGetMipmappedArrayLevel(&level, mipmap, 1));
    OK(cudaMemcpy2DFromArray(back, 32, level, 0, 0, 32, 4, cudaMemcpyDeviceToHost));
    EQ(((int *)back)[8 * 3 + 7], host[1][3][7]);
    OK(cuMipmappedArrayGetLevel(&driver_level, (CUmipmappedArray)mipmap, 2));
    FAILS(cudaGetMipmappedArrayLevel(&level, mipmap, 3), cudaErrorInvalidValue);
    OK(cudaFreeMipmappedArray(mipmap));
    CUDA_ARRAY3D_DESCRIPTOR desc = {};
    CUmipmappedArray driver = NULL;
    desc.Width = desc.Height = 32;
    desc.Format = CU_AD_FORMAT_HALF;
    desc.NumChannels = 4;
    OK(cuMipmappedArrayCreate(&driver, &desc, 6));
    OK(cuMipmappedArrayDestroy(driver));
    FAILS(cuMipmappedArrayDestroy(driver), CUDA_ERROR_INVALID_HANDLE);
}

int main(void)
{
    for (int i = 0; i < DEPTH * HEIGHT * WIDTH; i++)
        host[0][0][i] = i * 3 + 1;
    OK(cudaSetDevice(0));
    runtime();
    three_dimensions();
    rows();
    mipmaps();
    return finish();
}
