/* Textures: linear memory, arrays, mipmaps; filters, addresses, normalised reads and places. */
#include "check.h"

enum { WIDTH = 8, HEIGHT = 4 };

static __global__ void fetch(cudaTextureObject_t texture, int *out)
{
    out[threadIdx.x] = tex1Dfetch<int>(texture, threadIdx.x);
}

static __global__ void read_2d(cudaTextureObject_t texture, const float *x, const float *y,
                               float *out)
{
    out[threadIdx.x] = tex2D<float>(texture, x[threadIdx.x], y[threadIdx.x]);
}

static __global__ void read_level(cudaTextureObject_t texture, float level, float *out)
{
    out[threadIdx.x] = tex2DLod<float>(texture, 0.5f, 0.5f, level);
}

static float *managed_floats(int n)
{
    float *floats = NULL;
    OK(cudaMallocManaged(&floats, n * sizeof(float)));
    return floats;
}

static void linear(void)
{
    int *words = NULL, *out = NULL;
    cudaResourceDesc resource = {}, got = {};
    cudaTextureDesc how = {}, got_how = {};
    cudaTextureObject_t texture = 0;

    OK(cudaMallocManaged(&words, 64 * 4));
    OK(cudaMallocManaged(&out, 64 * 4));
    for (int i = 0; i < 64; i++)
        words[i] = i * 3;
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = words;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = 32 * 4;
    how.readMode = cudaReadModeElementType;
    OK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
    fetch<<<1, 64>>>(texture, out);
    OK(cudaDeviceSynchronize());
    EQ(check_wrong(out, 32, 0, 3), 0);
    EQ(check_wrong(out + 32, 32, 0, 0), 0); /* beyond the end: zero */
    OK(cudaGetTextureObjectResourceDesc(&got, texture));
    EQ(got.resType, cudaResourceTypeLinear);
    TRUE(got.res.linear.devPtr == words);
    OK(cudaGetTextureObjectTextureDesc(&got_how, texture));
    EQ(got_how.readMode, cudaReadModeElementType);
    OK(cudaDestroyTextureObject(texture));
    FAILS(cudaCreateTextureObject(&texture, NULL, &how, NULL), cudaErrorInvalidValue);
    how.readMode = cudaReadModeNormalizedFloat; /* 32-bit integers */
    OK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
    fetch<<<1, 32>>>(texture, out); /* stay what they are */
    OK(cudaDeviceSynchronize());
    EQ(check_wrong(out, 32, 0, 3), 0);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFree(words));
    OK(cudaFree(out));
}

static void filtered(void)
{
    float host[HEIGHT][WIDTH], *x = managed_floats(4), *y = managed_floats(4),
                               *out = managed_floats(4);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array = NULL;
    cudaResourceDesc resource = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t texture = 0;

    for (int i = 0; i < WIDTH * HEIGHT; i++)
        host[i / WIDTH][i % WIDTH] = (float)i;
    OK(cudaMallocArray(&array, &format, WIDTH, HEIGHT));
    OK(cudaMemcpy2DToArray(array, 0, 0, host, sizeof(host[0]), sizeof(host[0]), HEIGHT,
                           cudaMemcpyHostToDevice));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    how.filterMode = cudaFilterModeLinear;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    OK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
    const float at_x[] = {0.5f, 1.0f, 3.5f, 100.0f}, at_y[] = {0.5f, 0.5f, 2.0f, 1.5f};
    memcpy(x, at_x, sizeof(at_x));
    memcpy(y, at_y, sizeof(at_y));
    read_2d<<<1, 4>>>(texture, x, y, out);
    OK(cudaDeviceSynchronize());
    TRUE(out[0] == 0 && out[1] == 0.5f);
    TRUE(out[2] == 3 + WIDTH * 1.5f);
    TRUE(out[3] == 7 + WIDTH);
    OK(cudaDestroyTextureObject(texture));

    how.filterMode = cudaFilterModePoint;
    how.normalizedCoords = 1;
    how.addressMode[0] = cudaAddressModeWrap;
    how.addressMode[1] = cudaAddressModeMirror;
    OK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
    const float unit_x[] = {0.0625f, 1.0625f, -0.0625f, 0.9375f},
                unit_y[] = {0.125f, 0.125f, 1.125f, -0.125f};
    memcpy(x, unit_x, sizeof(unit_x));
    memcpy(y, unit_y, sizeof(unit_y));
    read_2d<<<1, 4>>>(texture, x, y, out);
    OK(cudaDeviceSynchronize());
    TRUE(out[0] == 0 && out[1] == 0);
    TRUE(out[2] == 7 + 3 * WIDTH); /* mirrored at the lower edge */
    TRUE(out[3] == 7);             /* and at the upper one */
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeArray(array));
    OK(cudaFree(x));
    OK(cudaFree(y));
    OK(cudaFree(out));
}

/* Bytes read as numbers from 0 to 1, by the driver's calls and from pitched memory. */
static void normalised(void)
{
    CUDA_RESOURCE_DESC resource = {}, got = {};
    CUDA_TEXTURE_DESC how = {};
    CUtexObject texture = 0;
    CUdeviceptr memory = 0;
    size_t pitch = 0;
    float *x = managed_floats(2), *y = managed_floats(2), *out = managed_floats(2);

    OK(cuMemAllocPitch(&memory, &pitch, WIDTH, HEIGHT, 4));
    OK(cuMemsetD2D8(memory, pitch, 51, WIDTH, HEIGHT));
    OK(cuMemsetD8(memory + pitch, 255, 1));
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = memory;
    resource.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT8;
    resource.res.pitch2D.numChannels = 1;
    resource.res.pitch2D.width = WIDTH;
    resource.res.pitch2D.height = HEIGHT;
    resource.res.pitch2D.pitchInBytes = pitch;
    how.addressMode[0] = how.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
    OK(cuTexObjectCreate(&texture, &resource, &how, NULL));
    x[0] = x[1] = 0.5f;
    y[0] = 0.5f;
    y[1] = 1.5f;
    read_2d<<<1, 2>>>(texture, x, y, out);
    OK(cudaDeviceSynchronize());
    TRUE(out[0] > 0.1999f && out[0] < 0.2001f);
    TRUE(out[1] == 1.0f);
    OK(cuTexObjectGetResourceDesc(&got, texture));
    EQ(got.res.pitch2D.devPtr, memory);
    OK(cuTexObjectGetTextureDesc(&how, texture));
    OK(cuTexObjectDestroy(texture));
    resource.res.pitch2D.numChannels = 3;
    FAILS(cuTexObjectCreate(&texture, &resource, &how, NULL), CUDA_ERROR_INVALID_VALUE);
    resource.res.pitch2D.numChannels = 1;
    resource.res.pitch2D.devPtr = memory + 1; /* not aligned */
    FAILS(cuTexObjectCreate(&texture, &resource, &how, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(memory));
    OK(cudaFree(x));
    OK(cudaFree(y));
    OK(cudaFree(out));
}

static void levels(void)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMipmappedArray_t mipmap = NULL;
    cudaResourceDesc resource = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t texture = 0;
    float *out = managed_floats(1), host[64];

    OK(cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(8, 8, 0), 3));
    for (unsigned level = 0; level < 3; level++) {
        cudaArray_t array = NULL;
        size_t side = 8 >> level;
        for (size_t i = 0; i < side * side; i++)
            host[i] = 10.0f * level;
        OK(cudaGetMipmappedArrayLevel(&array, mipmap, level));
        OK(cudaMemcpy2DToArray(array, 0, 0, host, side * 4, side * 4, side,
                               cudaMemcpyHostToDevice));
    }
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmap;
    how.normalizedCoords = 1;
    how.filterMode = how.mipmapFilterMode = cudaFilterModeLinear;
    how.maxMipmapLevelClamp = 2;
    OK(cudaCreateTextureObject(&texture, &resource, &how, NULL));
    const float level[] = {0, 1, 1.5f, 9}, want[] = {0, 10, 15, 20};
    for (int i = 0; i < 4; i++) {
        read_level<<<1, 1>>>(texture, level[i], out);
        OK(cudaDeviceSynchronize());
        TRUE(out[0] == want[i]);
    }
    OK(cudaDestroyTextureObject(texture));
    OK(cudaFreeMipmappedArray(mipmap));
    OK(cudaFree(out));
}

int main(void)
{
    linear();
    filtered();
    normalised();
    levels();
    return finish();
}
