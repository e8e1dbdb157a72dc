/* Copies in batches: lists of ranges, boxes between memory and arrays, prefetches, discards. */
#include "check.h"

enum { N = 64, PARTS = 3 };

static void ranges(cudaStream_t stream)
{
    int host[PARTS][N], back[PARTS][N], *device = NULL;
    const void *from[PARTS];
    void *to[PARTS];
    size_t sizes[PARTS], first[] = {0, 2};
    cudaMemcpyAttributes attributes[2] = {};

    OK(cudaMalloc(&device, sizeof(host)));
    for (int i = 0; i < PARTS; i++) {
        for (int k = 0; k < N; k++)
            host[i][k] = 1000 * i + k;
        from[i] = host[i];
        to[i] = device + (PARTS - 1 - i) * N;
        sizes[i] = (N - i) * 4;
    }
    memset(back, 0, sizeof(back));
    OK(cudaMemset(device, 0xff, sizeof(host)));
    attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    attributes[1].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
    OK(cudaMemcpyBatchAsync(to, from, sizes, PARTS, attributes, first, 2, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(back, device, sizeof(back), cudaMemcpyDeviceToHost));
    EQ(check_wrong(back[2], N, 0, 1), 0);
    EQ(check_wrong(back[1], N - 1, 1000, 1), 0);
    EQ(back[1][N - 1], -1);
    EQ(check_wrong(back[0], N - 2, 2000, 1), 0);

    CUdeviceptr driver_from[] = {(CUdeviceptr)device, (CUdeviceptr)(device + N)},
                driver_to[] = {(CUdeviceptr)back[1], (CUdeviceptr)back[0]};
    size_t both[] = {16, 16}, zero = 0;
    CUmemcpyAttributes one = {};
    one.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    OK(cuMemcpyBatchAsync(driver_to, driver_from, both, 2, &one, &zero, 1, stream));
    OK(cuStreamSynchronize(stream));
    EQ(check_wrong(back[1], 4, 2000, 1), 0);
    EQ(check_wrong(back[0], 4, 1000, 1), 0);

    FAILS(cudaMemcpyBatchAsync(to, from, sizes, 0, attributes, first, 2, stream),
          cudaErrorInvalidValue);
    FAILS(cudaMemcpyBatchAsync(to, from, sizes, PARTS, attributes, first, 0, stream),
          cudaErrorInvalidValue);
    first[0] = 1; /* has to begin with the first copy */
    FAILS(cudaMemcpyBatchAsync(to, from, sizes, PARTS, attributes, first, 2, stream),
          cudaErrorInvalidValue);
    first[0] = 0;
    first[1] = 0; /* and to rise */
    FAILS(cudaMemcpyBatchAsync(to, from, sizes, PARTS, attributes, first, 2, stream),
          cudaErrorInvalidValue);
    attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    FAILS(cudaMemcpyBatchAsync(to, from, sizes, PARTS, attributes, first, 1, stream),
          cudaErrorInvalidValue);
    attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    FAILS(cudaMemcpyBatchAsync(to, from, sizes, PARTS, attributes, first, 1, NULL),
          cudaErrorInvalidValue); /* the legacy stream takes no batches */
    OK(cudaFree(device));
}

static void boxes(cudaStream_t stream)
{
    enum { WIDTH = 8, HEIGHT = 4 };
    int host[HEIGHT][WIDTH], back[2][2] = {}, *device = NULL;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaArray_t array = NULL;
    cudaMemcpy3DBatchOp ops[2] = {};

    for (int i = 0; i < WIDTH * HEIGHT; i++)
        host[i / WIDTH][i % WIDTH] = i;
    OK(cudaMalloc(&device, sizeof(host)));
    OK(cudaMallocArray(&array, &format, WIDTH, HEIGHT));
    ops[0].src.type = cudaMemcpyOperandTypePointer;
    ops[0].src.op.ptr.ptr = host;
    ops[0].dst.type = cudaMemcpyOperandTypeArray;
    ops[0].dst.op.array.array = array;
    ops[0].extent = make_cudaExtent(WIDTH, HEIGHT, 1);
    ops[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    ops[1].src.type = ops[1].dst.type = cudaMemcpyOperandTypePointer;
    ops[1].src.op.ptr.ptr = host;
    ops[1].src.op.ptr.locHint.type = cudaMemLocationTypeHost;
    ops[1].dst.op.ptr.ptr = device;
    ops[1].dst.op.ptr.locHint.type = cudaMemLocationTypeDevice;
    ops[1].extent = make_cudaExtent(sizeof(host), 1, 1); /* bytes, where there is no array */
    ops[1].srcAccessOrder = cudaMemcpySrcAccessOrderAny;
    OK(cudaMemcpy3DBatchAsync(2, ops, 0, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy2DFromArray(back, 8, array, 12, 2, 8, 2, cudaMemcpyDeviceToHost));
    EQ(back[0][0], 2 * WIDTH + 3);
    EQ(back[1][1], 3 * WIDTH + 4);
    OK(cudaMemcpy(back, device + WIDTH, 16, cudaMemcpyDeviceToHost));
    EQ(check_wrong(back[0], 4, WIDTH, 1), 0);

    ops[1].srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    FAILS(cudaMemcpy3DBatchAsync(2, ops, 0, stream), cudaErrorInvalidValue);
    ops[1].srcAccessOrder = cudaMemcpySrcAccessOrderAny;
    FAILS(cudaMemcpy3DBatchAsync(2, ops, 1, stream), cudaErrorInvalidValue);
    FAILS(cudaMemcpy3DBatchAsync(0, ops, 0, stream), cudaErrorInvalidValue);
    FAILS(cudaMemcpy3DBatchAsync(2, NULL, 0, stream), cudaErrorInvalidValue);
    OK(cudaFreeArray(array));
    OK(cudaFree(device));
}

static void prefetches(cudaStream_t stream)
{
    int *a = NULL, *b = NULL, location = -9;
    size_t sizes[] = {1 << 16, 1 << 16}, index = 0;
    cudaMemLocation device = {cudaMemLocationTypeDevice, 0};

    OK(cudaMallocManaged(&a, 1 << 16));
    OK(cudaMallocManaged(&b, 1 << 16));
    a[0] = 5;
    b[1] = 6;
    void *list[] = {a, b};
    OK(cudaMemPrefetchBatchAsync(list, sizes, 2, &device, &index, 1, 0, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemRangeGetAttribute(&location, 4, cudaMemRangeAttributeLastPrefetchLocation, b,
                                1 << 16));
    EQ(location, 0);
    EQ(a[0], 5);
    EQ(b[1], 6);
    OK(cudaMemDiscardBatchAsync(list, sizes, 1, 0, stream)); /* whatever is in a */
    OK(cudaMemDiscardAndPrefetchBatchAsync(list, sizes, 1, &device, &index, 1, 0, stream));
    OK(cudaStreamSynchronize(stream));
    a[0] = 7;
    EQ(a[0], 7);
    EQ(b[1], 6);
    FAILS(cudaMemPrefetchBatchAsync(list, sizes, 0, &device, &index, 1, 0, stream),
          cudaErrorInvalidValue);
    FAILS(cudaMemDiscardBatchAsync(list, sizes, 2, 1, stream), cudaErrorInvalidValue);
    OK(cudaFree(a));
    OK(cudaFree(b));
}

int main(void)
{
    cudaStream_t stream;

    OK(cudaStreamCreate(&stream));
    ranges(stream);
    boxes(stream);
    prefetches(stream);
    OK(cudaStreamDestroy(stream));
    return finish();
}
