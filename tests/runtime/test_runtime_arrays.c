/*
 * Arrays, pitched memory, textures and surfaces of the runtime: what is copied arrives, what is
 * asked for is told.
 */
#include "runtime_fixture.h"

enum { W = 8, H = 4, D = 3 };

static unsigned in[D][H][W], out[D][H][W];

static void fill(void)
{
    for (unsigned i = 0; i < W * H * D; i++)
        (&in[0][0][0])[i] = i * 3 + 1;
    memset(out, 0, sizeof(out));
}

static cudaArray_t array_make(unsigned w, unsigned h)
{
    struct cudaChannelFormatDesc desc =
        cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindUnsigned);
    cudaArray_t array = NULL;

    eq_error(cudaMallocArray(&array, &desc, w, h, 0), cudaSuccess, "array");
    return array;
}

static void test_info(void)
{
    struct cudaChannelFormatDesc desc =
                                     cudaCreateChannelDesc(8, 8, 0, 0, cudaChannelFormatKindSigned),
                                 got;
    struct cudaExtent extent = {W, H, D}, asked;
    cudaArray_t array;
    unsigned flags = 7;

    eq_error(cudaMalloc3DArray(&array, &desc, extent, cudaArraySurfaceLoadStore), cudaSuccess,
             "3D array");
    eq_error(cudaArrayGetInfo(&got, &asked, &flags, array), cudaSuccess, "ask");
    eq_mem(&got, &desc, sizeof(got), "its format");
    eq_mem(&asked, &extent, sizeof(asked), "its extent");
    eq_u64(flags, cudaArraySurfaceLoadStore, "its flags");
    memset(&got, 0, sizeof(got));
    eq_error(cudaGetChannelDesc(&got, array), cudaSuccess, "ask for the format");
    eq_mem(&got, &desc, sizeof(got), "the same");
    eq_error(cudaArrayGetInfo(NULL, NULL, &flags, array), cudaSuccess, "only the flags");
    eq_error(cudaFreeArray(array), cudaSuccess, "free");
    eq_error(cudaGetChannelDesc(&got, array), cudaErrorInvalidResourceHandle,
             "an array that is gone");
    eq_error(cudaArrayGetInfo(&got, &asked, &flags, array), cudaErrorInvalidResourceHandle,
             "the same");
    desc.x = 5;
    eq_error(cudaMalloc3DArray(&array, &desc, extent, 0), cudaErrorInvalidChannelDescriptor,
             "5 bits");
    (void)cudaGetLastError();
}

static void test_copies_2d(void)
{
    cudaArray_t a = array_make(W, H), b = array_make(W, H);
    cudaStream_t stream;

    fill();
    eq_error(cudaStreamCreate(&stream), cudaSuccess, "stream");
    eq_error(cudaMemcpy2DToArray(a, 0, 0, in, W * 4, W * 4, H, cudaMemcpyHostToDevice), cudaSuccess,
             "to the array");
    eq_error(cudaMemcpy2DFromArray(out, W * 4, a, 8, 1, 12, 2, cudaMemcpyDeviceToHost), cudaSuccess,
             "a part of it back");
    eq_mem(out[0][0], &in[0][1][2], 12, "its first row");
    eq_mem(out[0][1], &in[0][2][2], 12, "its second row");
    eq_u64(out[0][0][3], 0, "and nothing beside it");
    eq_error(cudaMemcpy2DArrayToArray(b, 4, 1, a, 0, 0, 8, 2, cudaMemcpyDeviceToDevice),
             cudaSuccess, "array to array");
    memset(out, 0, sizeof(out));
    eq_error(cudaMemcpy2DFromArrayAsync(out, W * 4, b, 4, 1, 8, 2, cudaMemcpyDeviceToHost, stream),
             cudaSuccess, "in a stream");
    eq_error(cudaStreamSynchronize(stream), cudaSuccess, "wait");
    ok(out[0][0][0] == in[0][0][0] && out[0][1][1] == in[0][1][1], "what was copied");
    eq_error(
        cudaMemcpy2DToArrayAsync(b, 0, 3, in[1], W * 4, W * 4, 1, cudaMemcpyHostToDevice, stream),
        cudaSuccess, "a row in a stream");
    eq_error(cudaStreamSynchronize(stream), cudaSuccess, "wait");
    eq_error(cudaMemcpy2DFromArray(out, W * 4, b, 0, 3, W * 4, 1, cudaMemcpyDeviceToHost),
             cudaSuccess, "back");
    eq_mem(out[0][0], in[1][0], W * 4, "the row");
    eq_error(cudaMemcpy2DFromArray(out, W * 4, b, 4, 0, W * 4, 1, cudaMemcpyDeviceToHost),
             cudaErrorInvalidValue, "beyond the row");
    eq_error(cudaMemcpy2DToArray(a, 0, H, in, W * 4, W * 4, 1, cudaMemcpyHostToDevice),
             cudaErrorInvalidValue, "beyond the last row");
    eq_error(cudaMemcpy2DToArray(NULL, 0, 0, in, W * 4, W * 4, 1, cudaMemcpyHostToDevice),
             cudaErrorInvalidResourceHandle, "no array");
    eq_error(cudaStreamDestroy(stream), cudaSuccess, "destroy");
    eq_error(cudaFreeArray(a), cudaSuccess, "free");
    eq_error(cudaFreeArray(b), cudaSuccess, "free");
    (void)cudaGetLastError();
}

/* As programs of old copy: so many bytes from a place on, row after row. */
static void test_copies_linear(void)
{
    cudaArray_t a = array_make(W, H), b = array_make(W, H);

    fill();
    eq_error(cudaMemcpyToArray(a, 0, 0, in, W * H * 4, cudaMemcpyHostToDevice), cudaSuccess,
             "all of it");
    eq_error(cudaMemcpyFromArray(out, a, 16, 1, W * 4, cudaMemcpyDeviceToHost), cudaSuccess,
             "from the middle of a row on");
    eq_mem(out, &in[0][1][4], W * 4, "over its end");
    eq_error(cudaMemcpyArrayToArray(b, 0, 0, a, 0, 2, W * 4, cudaMemcpyDeviceToDevice), cudaSuccess,
             "array to array");
    eq_error(cudaMemcpyFromArrayAsync(out, b, 0, 0, W * 4, cudaMemcpyDeviceToHost, NULL),
             cudaSuccess, "in a stream");
    eq_error(cudaDeviceSynchronize(), cudaSuccess, "wait");
    eq_mem(out, in[0][2], W * 4, "the third row");
    eq_error(cudaMemcpyToArrayAsync(b, 0, 1, in[2], W * 4, cudaMemcpyHostToDevice, NULL),
             cudaSuccess, "in a stream");
    eq_error(cudaMemcpyFromArray(out, b, 0, 1, W * 4, cudaMemcpyDeviceToHost), cudaSuccess, "back");
    eq_mem(out, in[2], W * 4, "what was copied");
    eq_error(cudaMemcpyFromArray(out, a, 0, 3, W * 4 + 4, cudaMemcpyDeviceToHost),
             cudaErrorInvalidValue, "beyond the end");
    eq_error(cudaFreeArray(a), cudaSuccess, "free");
    eq_error(cudaFreeArray(b), cudaSuccess, "free");
    (void)cudaGetLastError();
}

static void test_pitched(void)
{
    struct cudaExtent extent = {W * 4, H, D};
    struct cudaMemcpy3DParms to = {0}, from = {0};
    struct cudaPitchedPtr p;

    fill();
    eq_error(cudaMalloc3D(&p, extent), cudaSuccess, "pitched memory");
    ok(p.pitch >= W * 4 && p.xsize == W * 4 && p.ysize == H, "as wide as needed");
    eq_error(cudaMemset3D(p, 0x11, extent), cudaSuccess, "memset");
    to.srcPtr = (struct cudaPitchedPtr){in, W * 4, W, H};
    to.dstPtr = p;
    to.extent = (struct cudaExtent){8, 2, 2};
    to.srcPos = (struct cudaPos){4, 1, 1};
    to.dstPos = (struct cudaPos){0, 0, 1};
    to.kind = cudaMemcpyHostToDevice;
    eq_error(cudaMemcpy3D(&to), cudaSuccess, "a box");
    from.srcPtr = p;
    from.dstPtr = (struct cudaPitchedPtr){out, W * 4, W, H};
    from.extent = extent;
    from.kind = cudaMemcpyDeviceToHost;
    eq_error(cudaMemcpy3D(&from), cudaSuccess, "all back");
    ok(out[1][0][0] == in[1][1][1] && out[1][0][1] == in[1][1][2] && out[2][1][1] == in[2][2][2],
       "the box");
    ok(out[0][0][0] == 0x11111111 && out[1][0][2] == 0x11111111 && out[2][3][7] == 0x11111111,
       "and the rest as it was");
    from.srcPtr.pitch = from.dstPtr.pitch = 0;
    eq_error(cudaMemcpy3D(&from), cudaErrorInvalidPitchValue, "rows without a pitch");
    from.extent = (struct cudaExtent){W * 4, 1, 1};
    out[0][0][W - 1] = 0;
    eq_error(cudaMemcpy3D(&from), cudaSuccess, "one row needs none");
    eq_u64(out[0][0][W - 1], 0x11111111, "it came");
    from.dstArray = (cudaArray_t)&from;
    eq_error(cudaMemcpy3D(&from), cudaErrorInvalidValue, "two destinations");
    eq_error(cudaMemset3D(p, 0, (struct cudaExtent){W * 400, H, D}), cudaErrorInvalidValue,
             "too wide");
    eq_error(cudaMemset3D(p, 0, (struct cudaExtent){W, H + 1, D}), cudaErrorInvalidValue,
             "slices that overlap");
    eq_error(cudaMemset3D(p, 0, (struct cudaExtent){W, H, (size_t)1 << 62}), cudaErrorInvalidValue,
             "more slices than addresses");
    eq_error(cudaMemset3D(p, 0, (struct cudaExtent){W, H, 1 << 20}), cudaErrorInvalidValue,
             "more slices than memory");
    eq_error(cudaMemcpy3D(&(struct cudaMemcpy3DParms){.srcPtr = p,
                                                      .dstPtr = {out, W * 4, W, H},
                                                      .extent = extent,
                                                      .kind = cudaMemcpyDeviceToHost}),
             cudaSuccess, "all back");
    eq_u64(out[0][0][0], 0x11111111, "what cannot be filled completely is not filled at all");
    eq_error(cudaMemset3D(p, 0, (struct cudaExtent){W, 0, (size_t)1 << 62}), cudaSuccess,
             "nothing to fill");
    eq_error(cudaFree(p.ptr), cudaSuccess, "free");
    (void)cudaGetLastError();
}

static void test_mipmap(void)
{
    struct cudaChannelFormatDesc desc =
        cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    struct cudaExtent extent = {16, 8, 0}, got;
    cudaMipmappedArray_t mipmap;
    cudaArray_t level;

    eq_error(cudaMallocMipmappedArray(&mipmap, &desc, extent, 3, 0), cudaSuccess,
             "mipmapped array");
    eq_error(cudaGetMipmappedArrayLevel(&level, mipmap, 2), cudaSuccess, "its last level");
    eq_error(cudaArrayGetInfo(NULL, &got, NULL, level), cudaSuccess, "ask");
    ok(got.width == 4 && got.height == 2, "a quarter as large");
    eq_error(cudaGetMipmappedArrayLevel(&level, mipmap, 3), cudaErrorInvalidValue, "no such level");
    eq_error(cudaFreeMipmappedArray(mipmap), cudaSuccess, "free");
    eq_error(cudaGetMipmappedArrayLevel(&level, mipmap, 0), cudaErrorInvalidResourceHandle, "gone");
    (void)cudaGetLastError();
}

static void test_objects(void)
{
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray}, got_resource;
    struct cudaTextureDesc texture = {.addressMode = {cudaAddressModeWrap, cudaAddressModeClamp,
                                                      cudaAddressModeBorder},
                                      .filterMode = cudaFilterModePoint,
                                      .normalizedCoords = 1,
                                      .maxAnisotropy = 2},
                           got_texture;
    struct cudaResourceViewDesc view;
    cudaTextureObject_t object;
    cudaSurfaceObject_t surface;
    cudaArray_t array = array_make(W, H), plain = array;
    struct cudaChannelFormatDesc desc =
        cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindUnsigned);

    resource.res.array.array = array;
    eq_error(cudaCreateTextureObject(&object, &resource, &texture, NULL), cudaSuccess, "texture");
    eq_error(cudaGetTextureObjectResourceDesc(&got_resource, object), cudaSuccess, "its resource");
    ok(got_resource.resType == cudaResourceTypeArray && got_resource.res.array.array == array,
       "is the array");
    memset(&got_texture, 0, sizeof(got_texture));
    eq_error(cudaGetTextureObjectTextureDesc(&got_texture, object), cudaSuccess, "its settings");
    ok(got_texture.addressMode[0] == cudaAddressModeWrap && got_texture.normalizedCoords &&
           got_texture.maxAnisotropy == 2,
       "are those it was made with");
    eq_error(cudaGetTextureObjectResourceViewDesc(&view, object), cudaErrorInvalidValue,
             "it has no view");
    eq_error(cudaDestroyTextureObject(object), cudaSuccess, "destroy");
    eq_error(cudaGetTextureObjectResourceDesc(&got_resource, object),
             cudaErrorInvalidResourceHandle, "gone");
    texture.filterMode = cudaFilterModeLinear;
    eq_error(cudaCreateTextureObject(&object, &resource, &texture, NULL), cudaErrorInvalidValue,
             "integers are not filtered");
    eq_error(cudaMallocArray(&array, &desc, W, H, cudaArraySurfaceLoadStore), cudaSuccess,
             "array for surfaces");
    resource.res.array.array = array;
    eq_error(cudaCreateSurfaceObject(&surface, &resource), cudaSuccess, "surface");
    eq_error(cudaGetSurfaceObjectResourceDesc(&got_resource, surface), cudaSuccess, "its resource");
    ok(got_resource.res.array.array == array, "is the array");
    eq_error(cudaDestroySurfaceObject(surface), cudaSuccess, "destroy");
    resource.resType = cudaResourceTypeLinear;
    eq_error(cudaCreateSurfaceObject(&surface, &resource), cudaErrorInvalidChannelDescriptor,
             "memory is no surface");
    eq_error(cudaFreeArray(array), cudaSuccess, "free");
    eq_error(cudaFreeArray(plain), cudaSuccess, "free");
    (void)cudaGetLastError();
}

static void test_limits(void)
{
    struct cudaChannelFormatDesc desc =
        cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    size_t width = 0;

    eq_error(cudaDeviceGetTexture1DLinearMaxWidth(&width, &desc, 0), cudaSuccess,
             "texels of memory");
    ok(width >= 1u << 20, "are many: %zu", width);
    eq_error(cudaDeviceGetTexture1DLinearMaxWidth(&width, &desc, 9), cudaErrorInvalidDevice,
             "no device");
    (void)cudaGetLastError();
}

int main(void)
{
    test_info();
    test_copies_2d();
    test_copies_linear();
    test_pitched();
    test_mipmap();
    test_objects();
    test_limits();
    return done();
}
