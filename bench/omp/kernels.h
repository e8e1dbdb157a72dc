/* The kernels in C + OpenMP; same arguments as the CUDA versions, host arrays. */
#pragma once
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
/* nt: non-temporal stores (reported as vecadd_nt) */
void k_vecadd(const float *a, const float *b, float *c, long n, int nt);
void k_saxpy(long n, float al, const float *x, float *y);
float k_reduce(const float *x, long n);
void k_scan(const uint32_t *in, uint32_t *out, long n);
void k_transpose(const float *in, float *out, long n);
void k_sgemm_naive(const float *A, const float *B, float *C, long n);
void k_sgemm_tiled16(const float *A, const float *B, float *C, long n);
void k_sgemm_tiled32(const float *A, const float *B, float *C, long n);
void k_sgemm_reg(const float *A, const float *B, float *C, long n);
void k_stencil2d(const float *in, float *out, long n);
void k_conv1d(const float *in, const float *t, float *out, long n);
void k_nbody(const float *p, float *a, long n);
void k_mandelbrot(int *o, long w, int maxit);
void k_histogram(const uint8_t *d, long n, uint32_t *h);
void k_bitonic(uint32_t *k, long n);
void k_blackscholes(const float *S, const float *X, const float *T, float *C, float *P, long n,
                    float r, float v);
void k_spmv(long rows, const int *rp, const int *ci, const float *va, const float *x, float *y);
void k_softmax(const float *in, float *out, long r, long c);
void k_layernorm(const float *in, const float *g, const float *b, float *out, long r, long c);
uint32_t k_md5(uint32_t base, long n, const uint32_t t[4]);
/* keys[0] and vals[0] hold the pairs, before and after */
void k_radixsort(uint32_t *keys[2], uint32_t *vals[2], long n);
void k_topk(const float *in, float *vals, int *cols, long r, long c);
/* queue: room for all nodes */
void k_bfs(long nodes, const int *first, const int *edge, int *dist, int *queue);
void k_sptrsv(long rows, const int *rp, const int *ci, const float *va, const float *b, float *x,
              long levels, const int *level_ptr, const int *level_rows);
void k_fft(const float *in, float *out, const float *twiddles, long batch);
void k_philox(float *out, long n, uint32_t key0, uint32_t key1);
/* one group: C = A B, n a multiple of 32; to be called by all threads of a parallel region */
void k_gemm_group(const float *a, const float *b, float *c, long m, long n, long k);
/* NHWC, 3 x 3, zeros around; ch a multiple of 32 */
void k_conv2d(const float *x, const float *w, float *y, long images, long side, long ch);
/* [head][place][64]; n a multiple of 64 */
void k_attention(const float *q, const float *k, const float *v, float *o, long n, long heads);
/* [token][head][128] in bf16; table: per token 64 cosines and 64 sines */
void k_rmsnorm_rope(const uint16_t *x, const float *weight, const float *table, uint16_t *y,
                    long tokens, long heads, float eps);
/* 8 rows of a; w [n][k / 8]; scales [n][k / 128] */
void k_int4_gemm(const float *a, const uint32_t *w, const float *scales, float *c, long n, long k);
#ifdef __cplusplus
}
#endif
