/* Device memory: allocation, copies and fills in one to three dimensions, what pointers are. */
#include "check.h"

enum { WIDTH = 13, HEIGHT = 7, DEPTH = 3 };

static void linear(void)
{
    int host[64], back[64], *a = NULL, *b = NULL;
    CUdeviceptr base = 0;
    size_t size_B = 0, free_B = 0, total_B = 0, driver_free_B = 0;

    for (int i = 0; i < 64; i++)
        host[i] = i;
    OK(cudaMalloc(&a, sizeof(host)));
    OK(cudaMalloc(&b, sizeof(host)));
    EQ((uintptr_t)a % 256, 0);
    OK(cudaMemcpy(a, host, sizeof(host), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(b, a, sizeof(host), cudaMemcpyDeviceToDevice));
    OK(cudaMemset(a, 0xff, 16));
    OK(cuMemsetD32((CUdeviceptr)(b + 4), 77, 2));
    OK(cuMemsetD16((CUdeviceptr)b, 0x1234, 2));
    OK(cuMemsetD8((CUdeviceptr)(b + 1), 9, 1));
    OK(cudaMemcpy(back, a, sizeof(back), cudaMemcpyDefault));
    EQ(back[3], -1);
    EQ(back[4], 4);
    OK(cuMemcpyDtoH(back, (CUdeviceptr)b, sizeof(back)));
    EQ(back[0], 0x12341234);
    EQ(back[1], 9);
    EQ(back[2], 2);
    EQ(back[4], 77);
    EQ(back[5], 77);
    EQ(back[6], 6);
    OK(cudaMemcpyAsync(a, b, sizeof(host), cudaMemcpyDeviceToDevice, cudaStreamPerThread));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    OK(cuMemcpy((CUdeviceptr)back, (CUdeviceptr)a, sizeof(back)));
    EQ(back[5], 77);
    OK(cuMemGetAddressRange(&base, &size_B, (CUdeviceptr)(a + 10)));
    EQ(base, (CUdeviceptr)a);
    EQ(size_B, sizeof(host));
    OK(cudaMemGetInfo(&free_B, &total_B));
    OK(cuMemGetInfo(&driver_free_B, &total_B));
    TRUE(free_B < total_B && driver_free_B <= total_B);

    FAILS(cudaMemcpy(a, host, sizeof(host), (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    FAILS(cudaMemcpy(NULL, host, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    OK(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));
    FAILS(cudaMemcpy(a, host, 1 << 20, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    FAILS(cudaMemset(a, 0, 1 << 20), cudaErrorInvalidValue);
    FAILS(cuMemsetD32((CUdeviceptr)a + 1, 0, 1), CUDA_ERROR_INVALID_VALUE); /* not aligned */
    FAILS(cuMemAlloc(&base, 0), CUDA_ERROR_INVALID_VALUE);
    void *none = (void *)1;
    OK(cudaMalloc(&none, 0));
    TRUE(!none);
    OK(cudaFree(NULL));
    FAILS(cuMemGetAddressRange(&base, &size_B, 16), CUDA_ERROR_NOT_FOUND);
    OK(cudaFree(a));
    FAILS(cudaFree(a), cudaErrorInvalidValue);
    FAILS(cuMemFree((CUdeviceptr)b + 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree((CUdeviceptr)b));
}

static void two_dimensions(void)
{
    int host[HEIGHT][WIDTH], back[HEIGHT][WIDTH], *pitched = NULL;
    size_t pitch = 0;
    CUdeviceptr other = 0;

    for (int i = 0; i < HEIGHT * WIDTH; i++)
        host[0][i] = i;
    OK(cudaMallocPitch(&pitched, &pitch, WIDTH * 4, HEIGHT));
    TRUE(pitch >= WIDTH * 4 && pitch % 32 == 0);
    OK(cudaMemset2D(pitched, pitch, 0x11, WIDTH * 4, HEIGHT));
    OK(cudaMemcpy2D(pitched, pitch, host, WIDTH * 4, 5 * 4, HEIGHT, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(back, WIDTH * 4, pitched, pitch, WIDTH * 4, HEIGHT, cudaMemcpyDeviceToHost));
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            EQ(back[y][x], x < 5 ? host[y][x] : 0x11111111);
    FAILS(cudaMemcpy2D(pitched, 8, host, WIDTH * 4, 12, HEIGHT, cudaMemcpyHostToDevice),
          cudaErrorInvalidPitchValue);
    FAILS(cudaMemset2D(pitched, 8, 0, 12, HEIGHT), cudaErrorInvalidValue);

    OK(cuMemAllocPitch(&other, &pitch, WIDTH * 4, HEIGHT, 4));
    OK(cuMemsetD2D32(other, pitch, 5, WIDTH, HEIGHT));
    OK(cuMemsetD2D16(other, pitch, 6, 1, HEIGHT));
    OK(cuMemsetD2D8(other + 4, pitch, 7, 1, 1));
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = other;
    copy.srcPitch = pitch;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = back;
    copy.dstPitch = WIDTH * 4;
    copy.dstXInBytes = 4;
    copy.dstY = 1;
    copy.WidthInBytes = 8;
    copy.Height = 2;
    OK(cuMemcpy2D(&copy));
    EQ(back[1][1], 6);
    EQ(back[1][2], 7);
    EQ(back[2][1], 6);
    EQ(back[2][2], 5);
    EQ(back[3][1], host[3][1]);
    OK(cuMemcpy2DUnaligned(&copy));
    OK(cuMemcpy2DAsync(&copy, NULL));
    OK(cuCtxSynchronize());
    copy.WidthInBytes = WIDTH * 4 + 1;
    FAILS(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAllocPitch(&other, &pitch, WIDTH * 4, HEIGHT, 3), CUDA_ERROR_INVALID_VALUE);
    OK(cudaFree(pitched));
    OK(cuMemFree(other));
}

static void three_dimensions(void)
{
    static int host[DEPTH][HEIGHT][WIDTH], back[DEPTH][HEIGHT][WIDTH];
    cudaPitchedPtr volume;
    cudaExtent extent = make_cudaExtent(WIDTH * 4, HEIGHT, DEPTH);
    int wrong = 0;

    for (int i = 0; i < DEPTH * HEIGHT * WIDTH; i++)
        host[0][0][i] = i;
    OK(cudaMalloc3D(&volume, extent));
    EQ(volume.xsize, WIDTH * 4);
    EQ(volume.ysize, HEIGHT);
    OK(cudaMemset3D(volume, 0x22, extent));
    cudaMemcpy3DParms params = {};
    params.srcPtr = make_cudaPitchedPtr(host, WIDTH * 4, WIDTH, HEIGHT);
    params.srcPos = make_cudaPos(4, 1, 1);
    params.dstPtr = volume;
    params.dstPos = make_cudaPos(8, 2, 0);
    params.extent = make_cudaExtent(20, 3, 2);
    params.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&params));
    cudaMemcpy3DParms all = {};
    all.srcPtr = volume;
    all.dstPtr = make_cudaPitchedPtr(back, WIDTH * 4, WIDTH, HEIGHT);
    all.extent = extent;
    all.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3DAsync(&all, 0));
    OK(cudaStreamSynchronize(0));
    for (int z = 0; z < DEPTH; z++)
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++) {
                bool in = x >= 2 && x < 7 && y >= 2 && y < 5 && z < 2;
                wrong += back[z][y][x] != (in ? host[z + 1][y - 1][x - 1] : 0x22222222);
            }
    EQ(wrong, 0);
    all.extent.width = WIDTH * 4 + 4;
    FAILS(cudaMemcpy3D(&all), cudaErrorInvalidPitchValue);
    CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = (CUdeviceptr)volume.ptr;
    copy.srcPitch = volume.pitch;
    copy.srcHeight = HEIGHT;
    copy.srcXInBytes = 8;
    copy.srcY = 2;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = back;
    copy.WidthInBytes = 20;
    copy.Height = 1;
    copy.Depth = 2;
    copy.dstPitch = 20;
    copy.dstHeight = 1;
    OK(cuMemcpy3D(&copy));
    EQ(back[0][0][0], host[1][1][1]);
    EQ((&back[0][0][0])[5], host[2][1][1]);
    OK(cudaFree(volume.ptr));
}

static void pointers(void)
{
    int *device = NULL, *pinned = NULL, plain = 0;
    cudaPointerAttributes attributes;
    CUmemorytype type;
    unsigned long long first = 0, second = 0;
    int ordinal = -1, flag = -1;
    size_t size_B = 0;

    OK(cudaMalloc(&device, 100));
    OK(cudaMallocHost(&pinned, 100));
    OK(cudaPointerGetAttributes(&attributes, device + 3));
    EQ(attributes.type, cudaMemoryTypeDevice);
    TRUE(attributes.devicePointer == device + 3);
    EQ(attributes.device, 0);
    OK(cudaPointerGetAttributes(&attributes, pinned));
    EQ(attributes.type, cudaMemoryTypeHost);
    TRUE(attributes.hostPointer == pinned);
    OK(cudaPointerGetAttributes(&attributes, &plain));
    EQ(attributes.type, cudaMemoryTypeUnregistered);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)device));
    EQ(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&first, CU_POINTER_ATTRIBUTE_BUFFER_ID, (CUdeviceptr)device));
    OK(cuPointerGetAttribute(&second, CU_POINTER_ATTRIBUTE_BUFFER_ID, (CUdeviceptr)pinned));
    TRUE(first != second);
    OK(cuPointerGetAttribute(&size_B, CU_POINTER_ATTRIBUTE_RANGE_SIZE, (CUdeviceptr)device));
    EQ(size_B, 100);
    CUpointer_attribute list[] = {CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                  CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *into[] = {&ordinal, &flag};
    OK(cuPointerGetAttributes(2, list, into, (CUdeviceptr)device));
    EQ(ordinal, 0);
    EQ(flag, 0);
    flag = 1;
    OK(cuPointerSetAttribute(&flag, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, (CUdeviceptr)device));
    FAILS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&plain),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuPointerSetAttribute(&flag, CU_POINTER_ATTRIBUTE_BUFFER_ID, (CUdeviceptr)device),
          CUDA_ERROR_INVALID_VALUE);
    OK(cudaFreeHost(pinned));
    OK(cudaFree(device));
    FAILS(cudaPointerGetAttributes(NULL, &plain), cudaErrorInvalidValue);
}

int main(void)
{
    OK(cudaSetDevice(0));
    linear();
    two_dimensions();
    three_dimensions();
    pointers();
    return finish();
}
