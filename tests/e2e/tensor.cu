/* mma.h: products of tiles with a bias and a factor per element, in f16, s8 and f64. */
#include <cstdio>
#include <cuda_fp16.h>
#include <mma.h>
#include <type_traits>

using namespace nvcuda;

enum { N = 64 };

template <int M, int COLS, int K, typename T, typename Sum, typename LayoutB>
__global__ void multiply(const T *a, const T *b, Sum *c)
{
    wmma::fragment<wmma::matrix_a, M, COLS, K, T, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, M, COLS, K, T, LayoutB> fb;
    wmma::fragment<wmma::accumulator, M, COLS, K, Sum> fc;
    int row = blockIdx.y * M, col = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * COLS;
    bool by_columns = std::is_same<LayoutB, wmma::col_major>::value;

    wmma::fill_fragment(fc, Sum(1));
    for (int k = 0; k < N; k += K) {
        wmma::load_matrix_sync(fa, a + row * N + k, N);
        wmma::load_matrix_sync(fb, by_columns ? b + col * N + k : b + k * N + col, N);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    for (int i = 0; i < fc.num_elements; i++)
        fc.x[i] = fc.x[i] * Sum(2);
    wmma::store_matrix_sync(c + row * N + col, fc, N, wmma::mem_row_major);
}

template <int M, int COLS, int K, typename T, typename Sum, typename LayoutB> int check(const char *name)
{
    T *a, *b;
    Sum *c;
    int bad = 0;
    bool by_columns = std::is_same<LayoutB, wmma::col_major>::value;

    cudaMallocManaged(&a, N * N * sizeof(T));
    cudaMallocManaged(&b, N * N * sizeof(T));
    cudaMallocManaged(&c, N * N * sizeof(Sum));
    for (int i = 0; i < N * N; i++) {
        a[i] = T((float)(i * 7 % 17 - 8));
        b[i] = T((float)(i * 5 % 13 - 6));
    }
    multiply<M, COLS, K, T, Sum, LayoutB><<<dim3(N / COLS / 2, N / M), 64>>>(a, b, c);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return printf("%s: %s\n", name, cudaGetErrorString(cudaGetLastError()));
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            float sum = 1;
            for (int k = 0; k < N; k++)
                sum += (float)a[i * N + k] * (float)(by_columns ? b[j * N + k] : b[k * N + j]);
            bad += (float)c[i * N + j] != 2 * sum;
        }
    }
    if (bad)
        printf("%s: %d wrong\n", name, bad);
    return bad;
}

int main()
{
    int bad = check<16, 16, 16, half, float, wmma::row_major>("f16 16x16x16");
    bad += check<8, 32, 16, half, float, wmma::col_major>("f16 8x32x16");
    bad += check<32, 8, 16, half, float, wmma::row_major>("f16 32x8x16");
    bad += check<16, 16, 16, signed char, int, wmma::col_major>("s8 16x16x16");
    bad += check<8, 32, 16, signed char, int, wmma::row_major>("s8 8x32x16");
    bad += check<8, 8, 4, double, double, wmma::row_major>("f64 8x8x4");
    printf(bad ? "FAIL\n" : "PASS\n");
    return bad != 0;
}
