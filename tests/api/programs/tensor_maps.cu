/* Tensor maps: the three kinds, what they refuse, and a kernel that copies by one. */
#include "check.h"

enum { WIDTH = 64, HEIGHT = 32, BOX_X = 8, BOX_Y = 4 };

/* Copies the box at (x, y) of the tensor into shared memory, and from there into `out`. */
static __global__ void copy_box(const __grid_constant__ CUtensorMap map, int x, int y, int *out)
{
#if __CUDA_ARCH__ >= 900
    __shared__ __align__(128) int box[BOX_Y * BOX_X];
    __shared__ __align__(8) unsigned long long barrier;
    unsigned into = (unsigned)__cvta_generic_to_shared(box),
             at = (unsigned)__cvta_generic_to_shared(&barrier);

    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at),
                     "r"((unsigned)sizeof(box))
                     : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];" ::"r"(into),
                     "l"(&map), "r"(x), "r"(y), "r"(at)
                     : "memory");
    }
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(at)
                 : "memory");
    out[threadIdx.x] = box[threadIdx.x];
#endif
}

static CUresult tiled(CUtensorMap *map, void *memory, cuuint64_t width, cuuint64_t stride,
                      cuuint32_t box, cuuint32_t step)
{
    cuuint64_t dims[] = {width, HEIGHT}, strides[] = {stride};
    cuuint32_t boxes[] = {box, BOX_Y}, steps[] = {1, step}; /* the first counts for nothing */

    return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, memory, dims, strides,
                                  boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static void copies(int *memory, int *other)
{
    CUtensorMap map;
    int *out = NULL;

    OK(cudaMallocManaged(&out, BOX_X * BOX_Y * 4));
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        memory[i] = i;
        other[i] = -i;
    }
    OK(tiled(&map, memory, WIDTH, WIDTH * 4, BOX_X, 1));
    copy_box<<<1, BOX_X * BOX_Y>>>(map, 16, 5, out);
    OK(cudaDeviceSynchronize());
    for (int row = 0; row < BOX_Y; row++)
        EQ(check_wrong(out + row * BOX_X, BOX_X, (5 + row) * WIDTH + 16, 1), 0);
    copy_box<<<1, BOX_X * BOX_Y>>>(map, WIDTH - 4, HEIGHT - 1, out); /* zeros beyond the edges */
    OK(cudaDeviceSynchronize());
    EQ(check_wrong(out, 4, HEIGHT * WIDTH - 4, 1), 0);
    EQ(check_wrong(out + 4, BOX_X * BOX_Y - 4, 0, 0), 0);
    copy_box<<<1, BOX_X * BOX_Y>>>(map, -2, 0, out);
    OK(cudaDeviceSynchronize());
    EQ(check_wrong(out, 2, 0, 0), 0);
    EQ(check_wrong(out + 2, BOX_X - 2, 0, 1), 0);
    OK(cuTensorMapReplaceAddress(&map, other));
    copy_box<<<1, BOX_X * BOX_Y>>>(map, 8, 0, out);
    OK(cudaDeviceSynchronize());
    EQ(check_wrong(out, BOX_X, -8, -1), 0);
    FAILS(cuTensorMapReplaceAddress(&map, (char *)other + 4), CUDA_ERROR_INVALID_VALUE);
    OK(cudaFree(out));
}

static void wrong(void *memory)
{
    CUtensorMap map;
    char misplaced[sizeof(map) + 64];
    CUtensorMap *odd = (CUtensorMap *)(((uintptr_t)misplaced | 63) - 15); /* not of 64 bytes */

    FAILS(tiled(NULL, memory, WIDTH, WIDTH * 4, BOX_X, 1), CUDA_ERROR_INVALID_VALUE);
    OK(tiled(odd, memory, WIDTH, WIDTH * 4, BOX_X, 1)); /* kernels ask for more */
    OK(tiled(&map, memory, WIDTH, WIDTH * 4, BOX_X, 1));
    EQ(memcmp(odd, &map, sizeof(map)), 0);
    FAILS(tiled(&map, (char *)memory + 8, WIDTH, WIDTH * 4, BOX_X, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(tiled(&map, memory, 0, WIDTH * 4, BOX_X, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(tiled(&map, memory, WIDTH, WIDTH * 4 + 4, BOX_X, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(tiled(&map, memory, WIDTH, WIDTH * 4, 257, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(tiled(&map, memory, WIDTH, WIDTH * 4, 0, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(tiled(&map, memory, WIDTH, WIDTH * 4, BOX_X, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(tiled(&map, memory, WIDTH, WIDTH * 4, BOX_X, 9), CUDA_ERROR_INVALID_VALUE);
    FAILS(tiled(&map, memory, WIDTH, WIDTH * 4, 2, 1), CUDA_ERROR_INVALID_VALUE); /* 8 bytes */

    cuuint64_t dims[] = {WIDTH, HEIGHT}, strides[] = {WIDTH * 4};
    cuuint32_t boxes[] = {BOX_X, BOX_Y}, steps[] = {1, 1};
    FAILS(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 6, memory, dims, strides,
                                 boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
          CUDA_ERROR_INVALID_VALUE);
    /* Filling with NaN is for floating point; swizzled rows have a largest size. */
    FAILS(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, memory, dims, strides,
                                 boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA),
          CUDA_ERROR_INVALID_VALUE);
    boxes[0] = 16;
    FAILS(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, memory, dims, strides,
                                 boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 CU_TENSOR_MAP_SWIZZLE_32B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
          CUDA_ERROR_INVALID_VALUE);
}

static void images(void *memory)
{
    CUtensorMap map;
    cuuint64_t dims[] = {16, 8, 8}, strides[] = {64, 512};
    int lower[] = {0}, upper[] = {0};
    cuuint32_t steps[] = {1, 1, 1};

    OK(cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, memory, dims, strides,
                               lower, upper, 16, 8, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                               CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    FAILS(cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, memory, dims, strides,
                                  lower, upper, 16, 8, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, memory, dims, strides,
                                  lower, upper, 257, 8, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuTensorMapEncodeIm2colWide(
        &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, memory, dims, strides, 0, 0, 64, 8, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W,
        CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

int main(void)
{
    int *memory = NULL, *other = NULL;

    OK(cudaMallocManaged(&memory, WIDTH * HEIGHT * 4));
    OK(cudaMallocManaged(&other, WIDTH * HEIGHT * 4));
    copies(memory, other);
    wrong(memory);
    images(memory);
    OK(cudaFree(memory));
    OK(cudaFree(other));
    return finish();
}
