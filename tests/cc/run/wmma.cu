/*
 * Products of wmma fragments of every family against plain sums on the host. Inputs are small
 * integers, so that every type holds every product and sum exactly.
 */
#include <mma.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

using namespace nvcuda;

static int failures;

/* Element (row, col) of a matrix in memory of the given order. */
template <class Order> struct order_of;
template <> struct order_of<wmma::row_major> {
    static constexpr bool row = true;
};
template <> struct order_of<wmma::col_major> {
    static constexpr bool row = false;
};
static size_t place(bool row_major, int row, int col, int rows, int cols)
{
    return row_major ? (size_t)row * cols + col : (size_t)col * rows + row;
}

template <class Memory, class Value> Memory make(Value v) { return (Memory)v; }
template <> __half make<__half, int>(int v) { return __float2half((float)v); }
template <> __nv_bfloat16 make<__nv_bfloat16, int>(int v) { return __float2bfloat16((float)v); }
static double number(__half v) { return __half2float(v); }
template <class V> double number(V v) { return (double)v; }

template <int M, int N, int K, class In, class Memory, class C, class D, class OrderA, class OrderB>
__global__ void product(const Memory *a, const Memory *b, const C *c, D *d, bool rows, bool satf)
{
    wmma::fragment<wmma::matrix_a, M, N, K, In, OrderA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, In, OrderB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, C> fc;
    wmma::fragment<wmma::accumulator, M, N, K, D> fd;
    wmma::load_matrix_sync(fa, a, order_of<OrderA>::row ? K : M);
    wmma::load_matrix_sync(fb, b, order_of<OrderB>::row ? N : K);
    wmma::fill_fragment(fc, (C)1.0f);
    wmma::mma_sync(fd, fa, fb, fc, satf);
    wmma::store_matrix_sync(d, fd, rows ? N : M, rows ? wmma::mem_row_major : wmma::mem_col_major);
    /* And on top of c from memory, each element doubled through x[]. */
    wmma::load_matrix_sync(fc, c, rows ? N : M, rows ? wmma::mem_row_major : wmma::mem_col_major);
    for (int i = 0; i < fc.num_elements; i++)
        fc.x[i] = fc.x[i] + fc.x[i];
    wmma::mma_sync(fd, fa, fb, fc);
    wmma::store_matrix_sync(d + M * N, fd, rows ? N : M,
                            rows ? wmma::mem_row_major : wmma::mem_col_major);
}

template <int M, int N, int K, class In, class Memory, class C, class D, class OrderA, class OrderB>
void check(const char *name, int low, bool rows)
{
    Memory *a, *b;
    C *c;
    D *d;
    cudaMallocManaged(&a, M * K * sizeof *a);
    cudaMallocManaged(&b, K * N * sizeof *b);
    cudaMallocManaged(&c, M * N * sizeof *c);
    cudaMallocManaged(&d, 2 * M * N * sizeof *d);
    for (int i = 0; i < M * K; i++)
        a[i] = make<Memory>(low + (i * 7 + 3) % 6);
    for (int i = 0; i < K * N; i++)
        b[i] = make<Memory>(low + (i * 5 + 1) % 7);
    for (int i = 0; i < M * N; i++)
        c[i] = make<C>(i % 9);
    memset((void *)d, 0xff, 2 * M * N * sizeof *d);
    product<M, N, K, In, Memory, C, D, OrderA, OrderB><<<1, 32>>>(a, b, c, d, rows, rows);
    cudaError_t e = cudaDeviceSynchronize();
    int wrong = e != cudaSuccess;
    for (int row = 0; row < M; row++)
        for (int col = 0; col < N; col++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
                sum += number(a[place(order_of<OrderA>::row, row, k, M, K)]) *
                       number(b[place(order_of<OrderB>::row, k, col, K, N)]);
            size_t at = place(rows, row, col, M, N);
            wrong += number(d[at]) != sum + 1;
            wrong += number(d[M * N + at]) != sum + 2 * number(c[at]);
        }
    if (wrong)
        printf("%s m%dn%dk%d rows %d: %d wrong, %s\n", name, M, N, K, rows, wrong,
               cudaGetErrorString(e));
    failures += wrong != 0;
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    cudaFree(d);
}

template <int M, int N, int K, class In, class Memory, class C, class D>
void orders(const char *name, int low)
{
    check<M, N, K, In, Memory, C, D, wmma::row_major, wmma::row_major>(name, low, true);
    check<M, N, K, In, Memory, C, D, wmma::row_major, wmma::col_major>(name, low, false);
    check<M, N, K, In, Memory, C, D, wmma::col_major, wmma::row_major>(name, low, false);
    check<M, N, K, In, Memory, C, D, wmma::col_major, wmma::col_major>(name, low, true);
}

template <int M, int N> void shape(int capability)
{
    orders<M, N, 16, __half, __half, __half, __half>("f16 f16", -2);
    orders<M, N, 16, __half, __half, float, float>("f32 f32", -2);
    orders<M, N, 16, __half, __half, __half, float>("f32 f16", -2);
    orders<M, N, 16, __half, __half, float, __half>("f16 f32", -2);
    orders<M, N, 16, signed char, signed char, int, int>("s8", -3);
    orders<M, N, 16, unsigned char, unsigned char, int, int>("u8", 249);
#if !defined(OLD)
    if (capability >= 80)
        orders<M, N, 16, __nv_bfloat16, __nv_bfloat16, float, float>("bf16", -2);
#endif
}

/* Packed: element k of a row (a) or column (b) is at bit k * bits of its words. */
template <int K, class In>
__global__ void packed(const uint32_t *a, const uint32_t *b, int *d)
{
    wmma::fragment<wmma::matrix_a, 8, 8, K, In, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, K, In, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, K, int> fc;
    static_assert(fa.num_elements * 32 == 8 * K && fa.num_storage_elements == 1, "packed");
    wmma::load_matrix_sync(fa, a, K);
    wmma::load_matrix_sync(fb, b, K);
    wmma::fill_fragment(fc, 5);
    if constexpr (K == 32) {
        wmma::mma_sync(fc, fa, fb, fc);
        wmma::store_matrix_sync(d, fc, 8, wmma::mem_row_major);
    } else {
        wmma::fragment<wmma::accumulator, 8, 8, K, int> fd;
        wmma::bmma_sync(fd, fa, fb, fc);
        wmma::store_matrix_sync(d, fd, 8, wmma::mem_row_major);
#if !defined(OLD)
        wmma::bmma_sync(fd, fa, fb, fc, wmma::experimental::bmmaBitOpAND);
        wmma::store_matrix_sync(d + 64, fd, 8, wmma::mem_row_major);
#endif
    }
}

static int nibble(const uint32_t *words, int k, bool is_signed)
{
    int v = words[k / 8] >> k % 8 * 4 & 15;
    return is_signed && v > 7 ? v - 16 : v;
}

template <int K, class In> void check_packed(const char *name, bool is_signed)
{
    uint32_t *a, *b, word = 12345;
    int *d, wrong = 0, words = K == 32 ? 4 : 4;
    cudaMallocManaged(&a, 8 * words * 4);
    cudaMallocManaged(&b, 8 * words * 4);
    cudaMallocManaged(&d, 128 * sizeof *d);
    for (int i = 0; i < 8 * words; i++) {
        a[i] = word = word * 1664525u + 1013904223u;
        b[i] = word = word * 1664525u + 1013904223u;
    }
    packed<K, In><<<1, 32>>>(a, b, d);
    cudaError_t e = cudaDeviceSynchronize();
    for (int row = 0; row < 8; row++)
        for (int col = 0; col < 8; col++) {
            const uint32_t *wa = a + row * words, *wb = b + col * words;
            int sum = 5, both = 5;
            for (int k = 0; k < 32 && K == 32; k++)
                sum += nibble(wa, k, is_signed) * nibble(wb, k, is_signed);
            for (int k = 0; k < 4 && K == 128; k++) {
                sum += __builtin_popcount(wa[k] ^ wb[k]);
                both += __builtin_popcount(wa[k] & wb[k]);
            }
            wrong += d[row * 8 + col] != sum;
#if !defined(OLD)
            wrong += K == 128 && d[64 + row * 8 + col] != both;
#endif
            (void)both;
        }
    if (wrong || e)
        printf("%s: %d wrong, %s\n", name, wrong, cudaGetErrorString(e));
    failures += wrong || e;
    cudaFree(a);
    cudaFree(b);
    cudaFree(d);
}

#if !defined(OLD)
/* satf: an infinite sum becomes the largest number, NaN becomes zero. */
__global__ void saturate(float *out, int *sum, float tf32)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, __half> fc;
    wmma::fill_fragment(fa, __float2half(200.0f));
    wmma::fill_fragment(fb, __float2half(-200.0f));
    wmma::fill_fragment(fc, __float2half(0.0f));
    wmma::mma_sync(fc, fa, fb, fc, true);
    wmma::fragment<wmma::matrix_a, 16, 16, 16, unsigned char, wmma::row_major> ia;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, unsigned char, wmma::row_major> ib;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> ic;
    wmma::fill_fragment(ia, 255);
    wmma::fill_fragment(ib, 255);
    wmma::fill_fragment(ic, 0x7fffffff);
    wmma::mma_sync(ic, ia, ib, ic, true);
    if (threadIdx.x == 0) {
        out[0] = __half2float(fc.x[3]);
        out[1] = wmma::__float_to_tf32(tf32);
        sum[0] = ic.x[5];
    }
}
static void check_rest(void)
{
    float *out;
    int *sum;
    cudaMallocManaged(&out, 2 * sizeof *out);
    cudaMallocManaged(&sum, sizeof *sum);
    saturate<<<1, 32>>>(out, sum, 1.0f + 1.0f / 2048);
    if (cudaDeviceSynchronize() || out[0] != -65504.0f || out[1] != 1.0f + 1.0f / 1024 ||
        sum[0] != 0x7fffffff) {
        printf("saturation, tf32: %g %.9g %d\n", out[0], out[1], sum[0]);
        failures++;
    }
}
#endif

int main()
{
    shape<16, 16>(80);
    shape<8, 32>(80);
    shape<32, 8>(80);
    check_packed<32, wmma::experimental::precision::s4>("s4", true);
    check_packed<32, wmma::experimental::precision::u4>("u4", false);
    check_packed<128, wmma::experimental::precision::b1>("b1", false);
#if !defined(OLD)
    orders<16, 16, 8, wmma::precision::tf32, float, float, float>("tf32", -2);
    orders<8, 8, 4, double, double, double, double>("f64", -2);
    check_rest();
#endif
    printf(failures ? "%d failed\n" : "all right\n", failures);
    return failures != 0;
}
