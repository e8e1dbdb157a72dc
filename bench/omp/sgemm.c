/* Matrix products in C + OpenMP. */
#include "kernels.h"
#include "wide.h"
#include <string.h>
#include <stdlib.h>

#define RS restrict

void k_sgemm_naive(const float *RS A, const float *RS B, float *RS C, long n)
{
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) {
        float *c = C + i * n;
        memset(c, 0, n * 4);
        for (long k = 0; k < n; k++) {
            float a = A[i * n + k];
            const float *b = B + k * n;
            for (long j = 0; j < n; j++)
                c[j] += a * b[j];
        }
    }
}

/* Same tiles as in CUDA: copies of the tiles in place of shared memory, [I] the tile of C in
 * registers. */
#define TS   16
#define RB   16
#define TILE tile16
#include "tile.h"
#undef TS
#undef RB
#undef TILE

#define TS   32
#define RB   8
#define TILE tile32
#include "tile.h"

void k_sgemm_tiled16(const float *RS A, const float *RS B, float *RS C, long n)
{
#pragma omp parallel for schedule(static)
    for (long y = 0; y < n; y += 16)
        for (long x = 0; x < n; x += 16)
            tile16(A, B, C, n, y, x);
}

void k_sgemm_tiled32(const float *RS A, const float *RS B, float *RS C, long n)
{
#pragma omp parallel for schedule(static)
    for (long y = 0; y < n; y += 32)
        for (long x = 0; x < n; x += 32)
            tile32(A, B, C, n, y, x);
}

/* [I] Packed panels and a 12 x 32 micro-kernel with depth 256 (Goto and van de Geijn, 2008). */
#define KC 256
#define MR 12
static void micro(long kc, const float *RS a, const float *RS b, float *RS C, long n, int rows,
                  int first)
{
    __m512 r[MR][2];

#pragma unroll
    for (int i = 0; i < MR; i++)
        r[i][0] = r[i][1] = _mm512_setzero_ps();
    for (long k = 0; k < kc; k++) {
        __m512 b0 = _mm512_load_ps(b + k * 32), b1 = _mm512_load_ps(b + k * 32 + 16);
        _mm_prefetch((const char *)(b + k * 32 + 512), _MM_HINT_T0);

#pragma unroll
        for (int i = 0; i < MR; i++) {
            __m512 v = _mm512_set1_ps(a[k * MR + i]);
            r[i][0] = _mm512_fmadd_ps(v, b0, r[i][0]);
            r[i][1] = _mm512_fmadd_ps(v, b1, r[i][1]);
        }
    }

#pragma unroll
    for (int i = 0; i < MR; i++)
        if (i < rows) {
            float *c = C + i * n;
            if (first) {
                _mm512_storeu_ps(c, r[i][0]);
                _mm512_storeu_ps(c + 16, r[i][1]);
            } else {
                _mm512_storeu_ps(c, _mm512_add_ps(_mm512_loadu_ps(c), r[i][0]));
                _mm512_storeu_ps(c + 16, _mm512_add_ps(_mm512_loadu_ps(c + 16), r[i][1]));
            }
        }
}

void k_sgemm_reg(const float *RS A, const float *RS B, float *RS C, long n)
{
    static float *bp;
    static long cap;
    if (cap < n) {
        free(bp);
        bp = aligned_alloc(64, (n * KC + 1024) * 4);
        cap = n;
    }
    for (long k0 = 0; k0 < n; k0 += KC) {
        long kc = n - k0 < KC ? n - k0 : KC;
#pragma omp parallel
        {
#pragma omp for schedule(static)
            for (long j = 0; j < n; j += 32)
                for (long k = 0; k < kc; k++)
                    memcpy(bp + j * kc + k * 32, B + (k0 + k) * n + j, 128);
            float *ap = aligned_alloc(64, KC * 120 * 4);
            long nb = (n + 119) / 120;
#pragma omp for schedule(static)
            for (long ib = 0; ib < nb; ib++) {
                long y = ib * 120, mc = n - y < 120 ? n - y : 120;
                for (long i = 0; i < mc; i += MR)
                    for (long k = 0; k < kc; k++)
                        for (int r = 0; r < MR; r++)
                            ap[i * kc + k * MR + r] =
                                i + r < mc ? A[(y + i + r) * n + k0 + k] : 0.0f;
                for (long j = 0; j < n; j += 32)
                    for (long i = 0; i < mc; i += MR)
                        micro(kc, ap + i * kc, bp + j * kc, C + (y + i) * n + j, n,
                              mc - i < MR ? mc - i : MR, k0 == 0);
            }
            free(ap);
        }
    }
}
