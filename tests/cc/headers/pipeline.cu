/*
 * cuda_pipeline.h and cuda_awbarrier.h with their primitives: batches of asynchronous copies, zeros at their ends, barriers
 * that are arrived at and waited for apart, dropped and tested.
 */
#include <cuda_awbarrier.h>
#include <cuda_pipeline.h>
#include <stdio.h>

using nvcuda::experimental::awbarrier;
using nvcuda::experimental::pipeline;

static int failures;

static void expect(bool right, const char *what)
{
    printf("%s %s\n", right ? "ok" : "wrong:", what);
    failures += !right;
}

enum { N = 128, STAGES = 4, ROUNDS = 16 };

/* Sums of a stream that arrives STAGES batches ahead. */
static __global__ void stream(const float4 *in, float *out)
{
    __shared__ float4 tile[STAGES][N];
    float sum = 0;
    for (int i = 0; i < STAGES - 1; i++) {
        __pipeline_memcpy_async(&tile[i][threadIdx.x], &in[i * N + threadIdx.x], 16);
        __pipeline_commit();
    }
    for (int i = 0; i < ROUNDS; i++) {
        int ahead = i + STAGES - 1;
        if (ahead < ROUNDS)
            __pipeline_memcpy_async(&tile[ahead % STAGES][threadIdx.x], &in[ahead * N + threadIdx.x], 16);
        __pipeline_commit();
        __pipeline_wait_prior(STAGES - 1);
        __syncthreads();
        float4 v = tile[i % STAGES][(threadIdx.x + 1) % N];
        sum += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

/* Every size with every count of zeros. */
static __global__ void zeros(const unsigned char *in, unsigned char *out)
{
    __shared__ __align__(16) unsigned char to[3][16][16];
    int zfill = threadIdx.x;
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 16; i++)
            to[k][zfill][i] = 0xee;
        int size = 4 << k;
        if (zfill <= size)
            __pipeline_memcpy_async(to[k][zfill], in + 16 * zfill, size, zfill);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 16; i++)
            out[(k * 16 + zfill) * 16 + i] = to[k][zfill][i];
}

/* The class: numbers of batches, an array, and a barrier that copies arrive at. */
static __global__ void classes(const int4 *in, int *out)
{
    __shared__ int4 a[N], b[2 * N];
    __shared__ awbarrier barrier;
    if (threadIdx.x == 0)
        init(&barrier, N);
    __syncthreads();
    pipeline pipe;
    nvcuda::experimental::memcpy_async(a[threadIdx.x], in[threadIdx.x], pipe);
    size_t first = pipe.commit();
    nvcuda::experimental::memcpy_async(b[threadIdx.x], in[N + threadIdx.x], pipe);
    size_t second = pipe.commit();
    nvcuda::experimental::memcpy_async(b[N + threadIdx.x], in[2 * N + threadIdx.x], pipe);
    pipe.wait(first);
    int sum = a[threadIdx.x].x;
    pipe.arrive_on(barrier);
    barrier.arrive_and_wait();
    sum += b[threadIdx.x].y + b[N + (threadIdx.x + 7) % N].z;
    pipe.wait(second);
    pipe.commit_and_wait();
    out[threadIdx.x] = sum + (int)(second - first);
}

/* A ring of values between warps: full and empty barriers, as the programming guide has them. */
static __global__ void ring(int *out)
{
    __shared__ awbarrier full[2], empty[2];
    __shared__ int slot[2][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, sum = 0;
    if (threadIdx.x < 2) {
        init(&full[threadIdx.x], 64);
        init(&empty[threadIdx.x], 64);
    }
    __syncthreads();
    if (warp == 0) {
        for (int i = 0; i < 20; i++) {
            empty[i % 2].arrive_and_wait();
            slot[i % 2][lane] = 100 * i + lane;
            (void)full[i % 2].arrive();
        }
    } else {
        (void)empty[0].arrive();
        (void)empty[1].arrive();
        for (int i = 0; i < 20; i++) {
            full[i % 2].arrive_and_wait();
            sum += (i + 1) * slot[i % 2][31 - lane];
            if (i < 18)
                (void)empty[i % 2].arrive();
        }
        out[lane] = sum;
    }
}

/* Tokens, parities, counts, and threads that leave. */
static __global__ void states(unsigned int *out)
{
    __shared__ __mbarrier_t word;
    __shared__ awbarrier barrier;
    if (threadIdx.x == 0) {
        __mbarrier_init(&word, 3);
        unsigned int r = 0;
        __mbarrier_token_t a = __mbarrier_arrive(&word);
        r |= (__mbarrier_token_pending_count(a) == 3) << 0;
        r |= !__mbarrier_test_wait(&word, a) << 1;
        r |= !__mbarrier_test_wait_parity(&word, false) << 2;
        r |= __mbarrier_test_wait_parity(&word, true) << 3;
        __mbarrier_token_t b = __mbarrier_arrive_and_drop(&word);
        r |= (__mbarrier_token_pending_count(b) == 2) << 4;
        __mbarrier_token_t c = __mbarrier_arrive(&word);
        r |= (__mbarrier_test_wait(&word, a) && __mbarrier_test_wait(&word, c)) << 5;
        r |= __mbarrier_test_wait_parity(&word, false) << 6;
        a = __mbarrier_arrive(&word); /* two are left */
        r |= (__mbarrier_token_pending_count(a) == 2) << 7;
        a = __mbarrier_arrive(&word);
        r |= __mbarrier_test_wait(&word, a) << 8;
        r |= __mbarrier_test_wait_parity(&word, true) << 9;
        __mbarrier_inval(&word);
        init(&barrier, blockDim.x);
        out[0] = r;
    }
    __syncthreads();
    if (threadIdx.x >= 32) {
        (void)barrier.arrive_and_drop();
        return;
    }
    barrier.arrive_and_wait();
    barrier.arrive_and_wait(); /* of one warp now */
    atomicAdd(&out[1], 1u);
}

template <class T> static T *managed(int n)
{
    T *p = nullptr;
    expect(cudaMallocManaged(&p, n * sizeof(T)) == cudaSuccess, "memory");
    return p;
}

static void check_copies()
{
    float *in = managed<float>(4 * N * ROUNDS), *out = managed<float>(N);
    for (int i = 0; i < 4 * N * ROUNDS; i++)
        in[i] = (float)(i % 1009);
    stream<<<1, N>>>((const float4 *)in, out);
    bool right = cudaDeviceSynchronize() == cudaSuccess;
    for (int t = 0; t < N; t++) {
        float sum = 0;
        for (int i = 0; i < ROUNDS; i++)
            for (int k = 0; k < 4; k++)
                sum += (float)(k + 1) * in[(i * N + (t + 1) % N) * 4 + k];
        right = right && out[t] == sum;
    }
    expect(right, "a stream of batches");

    unsigned char *bytes = managed<unsigned char>(256), *got = managed<unsigned char>(768);
    for (int i = 0; i < 256; i++)
        bytes[i] = (unsigned char)(i + 1);
    zeros<<<1, 16>>>(bytes, got);
    right = cudaDeviceSynchronize() == cudaSuccess;
    for (int k = 0; k < 3; k++)
        for (int z = 0; z < 16; z++)
            for (int i = 0, size = 4 << k; i < 16; i++) {
                int want = i >= size || z > size ? 0xee : i < size - z ? bytes[16 * z + i] : 0;
                right = right && got[(k * 16 + z) * 16 + i] == want;
            }
    expect(right, "zeros at the end");
}

static void check_barriers()
{
    int4 *in = managed<int4>(3 * N);
    int *out = managed<int>(N);
    for (int i = 0; i < 3 * N; i++)
        in[i] = make_int4(i, 10 * i, 100 * i, 0);
    classes<<<1, N>>>(in, out);
    bool right = cudaDeviceSynchronize() == cudaSuccess;
    for (int t = 0; t < N; t++)
        right = right && out[t] == t + 10 * (N + t) + 100 * (2 * N + (t + 7) % N) + 1;
    expect(right, "pipeline and memcpy_async()");

    ring<<<1, 64>>>(out);
    right = cudaDeviceSynchronize() == cudaSuccess;
    for (int lane = 0; lane < 32; lane++) {
        int sum = 0;
        for (int i = 0; i < 20; i++)
            sum += (i + 1) * (100 * i + 31 - lane);
        right = right && out[lane] == sum;
    }
    expect(right, "a ring between two warps");

    unsigned int *bits = managed<unsigned int>(2);
    states<<<1, 96>>>(bits);
    right = cudaDeviceSynchronize() == cudaSuccess;
    expect(right && bits[0] == 0x3ff && bits[1] == 32, "states of a barrier");
    if (bits[0] != 0x3ff || bits[1] != 32)
        printf("%#x %u\n", bits[0], bits[1]);
}

int main()
{
    check_copies();
    check_barriers();
    printf(failures ? "%d wrong\n" : "all right\n", failures);
    return failures != 0;
}
