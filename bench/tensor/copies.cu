/*
 * Copies through shared memory, block by block: by cp.async, in bulk, and by tensor maps; and textures. Each beside a
 * loop of C on the host, which is one thread: run with HEDDLE_THREADS=1.
 * usage: copies [n] [-r reps -w warmups]      n: columns and rows, a multiple of 64; default 1024
 * output: name,GB/s,share of C's rate,PASS|FAIL
 */
#include "../cuda/cu.h"
#include <cuda.h>
#include <cuda_pipeline_primitives.h>

enum { TILE = 64, STRIP = 32, THREADS = 128 }; /* a tile of 64 rows of 32 floats: 128 bytes, as swizzles want it */

static __device__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

/* ---- cp.async */

__global__ void by_pieces(const float *from, float *to, int n)
{
    __shared__ alignas(128) float tile[TILE][STRIP];
    size_t at = ((size_t)blockIdx.y * TILE) * n + blockIdx.x * STRIP;

    for (int i = threadIdx.x; i < TILE * STRIP / 4; i += THREADS)
        __pipeline_memcpy_async(&tile[i / 8][i % 8 * 4], from + at + (size_t)(i / 8) * n + i % 8 * 4, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int i = threadIdx.x; i < TILE * STRIP / 4; i += THREADS)
        *(float4 *)(to + at + (size_t)(i / 8) * n + i % 8 * 4) = *(float4 *)&tile[i / 8][i % 8 * 4];
}

/* ---- bulk copies, counted by an mbarrier */

static __device__ void barrier_init(uint64_t *bar)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(bar)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ void barrier_expect(uint64_t *bar, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes) : "memory");
}

static __device__ void barrier_wait(uint64_t *bar)
{
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra again; }" ::"r"(shared_address(bar)) : "memory");
}

static __device__ void stores_wait(void)
{
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;" ::: "memory");
}

/* One thread copies; the bytes of a tile are one piece. */
__global__ void in_bulk(const float *from, float *to)
{
    __shared__ alignas(128) float tile[TILE * STRIP];
    __shared__ uint64_t bar;
    size_t at = (size_t)blockIdx.x * TILE * STRIP;

    if (threadIdx.x)
        return;
    barrier_init(&bar);
    barrier_expect(&bar, sizeof(tile));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared_address(tile)), "l"(from + at),
                 "r"((unsigned)sizeof(tile)), "r"(shared_address(&bar)) : "memory");
    barrier_wait(&bar);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to + at), "r"(shared_address(tile)), "r"((unsigned)sizeof(tile)) : "memory");
    stores_wait();
}

/* ---- tensor maps */

__global__ void by_map(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to)
{
    __shared__ alignas(1024) float tile[TILE * STRIP];
    __shared__ uint64_t bar;

    if (threadIdx.x)
        return;
    barrier_init(&bar);
    barrier_expect(&bar, sizeof(tile));
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(tile)),
                 "l"(&from), "r"(blockIdx.x * STRIP), "r"(blockIdx.y * TILE), "r"(shared_address(&bar)) : "memory");
    barrier_wait(&bar);
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&to), "r"(shared_address(tile)),
                 "r"(blockIdx.x * STRIP), "r"(blockIdx.y * TILE) : "memory");
    stores_wait();
}

static CUtensorMap map_of(float *p, int n, CUtensorMapSwizzle swizzle)
{
    typedef CUresult encode(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                            const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
    const cuuint64_t size[2] = {(cuuint64_t)n, (cuuint64_t)n}, row_B = n * sizeof(float);
    const cuuint32_t box[2] = {STRIP, TILE}, step[2] = {1, 1};
    cudaDriverEntryPointQueryResult found;
    CUtensorMap map;
    void *call;

    CK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &call, 12000, cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess ||
        ((encode *)call)(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, p, size, &row_B, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                         CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
        fprintf(stderr, "copies: no tensor map\n");
        exit(2);
    }
    return map;
}

/* ---- textures: the picture at half a pixel's distance */

__global__ void sampled(cudaTextureObject_t picture, float *to, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;

    to[(size_t)y * n + x] = tex2D<float>(picture, (float)x + 1.0f, (float)y + 1.0f);
}

static cudaTextureObject_t picture_of(const float *host, int n, cudaTextureFilterMode filter)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaResourceDesc resource = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t picture;
    cudaArray_t array;

    CK(cudaMallocArray(&array, &format, n, n));
    CK(cudaMemcpy2DToArray(array, 0, 0, host, n * sizeof(float), n * sizeof(float), n, cudaMemcpyHostToDevice));
    resource.resType = cudaResourceTypeArray, resource.res.array.array = array;
    how.filterMode = filter, how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    CK(cudaCreateTextureObject(&picture, &resource, &how, NULL));
    return picture;
}

/* ---- the same in C */

static void c_copy(const float *from, float *to, int n)
{
    for (int y = 0; y < n; y += TILE) {
        for (int x = 0; x < n; x += STRIP) {
            for (int i = 0; i < TILE; i++)
                memcpy(to + (size_t)(y + i) * n + x, from + (size_t)(y + i) * n + x, STRIP * sizeof(float));
        }
    }
}

/* What a texture does: coordinates are numbers like others, clamped to the picture; weights have 8 bits. */
static inline int clamped(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static inline float texel(const float *picture, int n, int x, int y)
{
    return picture[(size_t)clamped(y, n) * n + clamped(x, n)];
}

static void c_points(const float *from, float *to, int n)
{
    for (int y = 0; y < n; y++) {
        for (int x = 0; x < n; x++) {
            float u = (float)x + 1.0f, v = (float)y + 1.0f;
            to[(size_t)y * n + x] = texel(from, n, (int)floorf(u), (int)floorf(v));
        }
    }
}

static void c_filter(const float *from, float *to, int n)
{
    for (int y = 0; y < n; y++) {
        for (int x = 0; x < n; x++) {
            float u = (float)x + 0.5f, v = (float)y + 0.5f, left = floorf(u), top = floorf(v);
            float a = floorf((u - left) * 256) / 256, b = floorf((v - top) * 256) / 256;
            int i = (int)left, j = (int)top;
            to[(size_t)y * n + x] = (1 - a) * (1 - b) * texel(from, n, i, j) + a * (1 - b) * texel(from, n, i + 1, j) +
                                    (1 - a) * b * texel(from, n, i, j + 1) + a * b * texel(from, n, i + 1, j + 1);
        }
    }
}

/* ---- measuring */

struct images {
    int n;
    float *from, *to, *host, *want, *have; /* `from` and `to` are the device's */
};

template <class F> static double median_ms(const bench_args &args, F run)
{
    double time[BENCH_MAX_REPS];

    for (int i = 0; i < args.warmups; i++)
        run();
    for (int i = 0; i < args.reps; i++) {
        double start = now_ms();
        run();
        time[i] = now_ms() - start;
    }
    qsort(time, args.reps, sizeof(time[0]), bench_compare_double);
    return time[args.reps / 2];
}

template <class F> static int report(const char *name, const bench_args &args, const images &im, void (*c)(const float *, float *, int), F launch)
{
    size_t elements = (size_t)im.n * im.n, bytes = elements * sizeof(float);

    CK(cudaMemset(im.to, 0, bytes));
    double c_ms = median_ms(args, [&] { c(im.host, im.want, im.n); });
    double ms = median_ms(args, [&] {
        launch();
        dsync();
    });
    d2h(im.have, im.to, elements);
    int bad = memcmp(im.have, im.want, bytes) != 0;
    printf("%s,%.2f,%.2f,%s\n", name, 2.0 * bytes / ms * 1e-6, c_ms / ms, bad ? "FAIL" : "PASS");
    return bad;
}

int main(int argc, char **argv)
{
    bench_args args = bench_start(argc, argv, 1024);
    images im = {(int)args.size[0], NULL, NULL, NULL, NULL, NULL};
    int n = im.n;
    size_t elements = (size_t)n * n;

    if (n < TILE || n % TILE) {
        fprintf(stderr, "copies: n is a multiple of %d\n", TILE);
        return 2;
    }
    im.host = halloc<float>(elements), im.want = halloc<float>(elements), im.have = halloc<float>(elements);
    for (size_t i = 0; i < elements; i++)
        im.host[i] = (float)(i * 2654435761u >> 20 & 255); /* four of them add up exactly */
    im.from = dput(im.host, elements), im.to = dalloc<float>(elements);
    dim3 tiles(n / STRIP, n / TILE);
    int bad = report("cp.async", args, im, c_copy, [&] { by_pieces<<<tiles, THREADS>>>(im.from, im.to, n); });
    bad |= report("cp.async.bulk", args, im, c_copy, [&] { in_bulk<<<tiles.x * tiles.y, 32>>>(im.from, im.to); });
    CUtensorMap plain[2] = {map_of(im.from, n, CU_TENSOR_MAP_SWIZZLE_NONE), map_of(im.to, n, CU_TENSOR_MAP_SWIZZLE_NONE)};
    CUtensorMap swizzled[2] = {map_of(im.from, n, CU_TENSOR_MAP_SWIZZLE_128B), map_of(im.to, n, CU_TENSOR_MAP_SWIZZLE_128B)};
    bad |= report("cp.async.bulk.tensor", args, im, c_copy, [&] { by_map<<<tiles, 32>>>(plain[0], plain[1]); });
    bad |= report("cp.async.bulk.tensor, swizzled", args, im, c_copy, [&] { by_map<<<tiles, 32>>>(swizzled[0], swizzled[1]); });
    cudaTextureObject_t points = picture_of(im.host, n, cudaFilterModePoint), filtered = picture_of(im.host, n, cudaFilterModeLinear);
    dim3 lines(n / TILE, n);
    bad |= report("tex2D, points", args, im, c_points, [&] { sampled<<<lines, TILE>>>(points, im.to, n); });
    bad |= report("tex2D, filtered", args, im, c_filter, [&] { sampled<<<lines, TILE>>>(filtered, im.to, n); });
    return bad;
}
