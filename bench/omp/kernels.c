/* What a hand-writer gets in plain C + OpenMP with the vectoriser of clang 19; AVX-512
 * intrinsics only where
 * marked [I]. The matrix products are in sgemm.c. */
#include "kernels.h"
#include "fmath.h"
#include "wide.h"
#include <math.h>
#include <string.h>
#include <stdlib.h>
#include <omp.h>

#define RS restrict

void k_vecadd(const float *RS a, const float *RS b, float *RS c, long n, int nt)
{
    if (nt && n % 16 == 0) {
#pragma omp parallel for schedule(static)
        for (long i = 0; i < n; i += 16)
            _mm512_stream_ps(c + i, _mm512_add_ps(_mm512_loadu_ps(a + i), _mm512_loadu_ps(b + i)));
    } else {
#pragma omp parallel for simd schedule(static)
        for (long i = 0; i < n; i++)
            c[i] = a[i] + b[i];
    }
}

void k_saxpy(long n, float al, const float *RS x, float *RS y)
{
#pragma omp parallel for simd schedule(static)
    for (long i = 0; i < n; i++)
        y[i] = al * x[i] + y[i];
}

float k_reduce(const float *RS x, long n)
{
    float s = 0;
#pragma omp parallel for simd reduction(+ : s) schedule(static)
    for (long i = 0; i < n; i++)
        s += x[i];
    return s;
}

void k_scan(const uint32_t *RS in, uint32_t *RS out, long n)
{
    int T = omp_get_max_threads();
    if (T == 1) {
        uint32_t s = 0;
        for (long i = 0; i < n; i++) {
            uint32_t x = in[i];
            out[i] = s;
            s += x;
        }
        return;
    }
    uint32_t part[257] = {0};
#pragma omp parallel num_threads(T)
    {
        int t = omp_get_thread_num();
        long a = n * t / T, b = n * (t + 1) / T;
        uint32_t s = 0;
        for (long i = a; i < b; i++)
            s += in[i];
        part[t + 1] = s;
#pragma omp barrier
        s = 0;
        for (int k = 0; k <= t; k++)
            s += part[k];
        for (long i = a; i < b; i++) {
            uint32_t x = in[i];
            out[i] = s;
            s += x;
        }
    }
}

/* [I] 16 x 16 transpose in registers with non-temporal stores: with plain ones, power-of-two row
 * strides
 * thrash the L1 sets (4 to 5 times slower). */
static inline void tr16(const float *RS s, long ss, float *RS d, long ds)
{
    __m512i r[16], t[16];
    for (int i = 0; i < 16; i++)
        r[i] = _mm512_loadu_si512(s + i * ss);
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(r[i + 8], r[i + 12], 0xdd);
    }
    for (int i = 0; i < 4; i++) {
        r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
        r[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
        r[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
    }
    for (int i = 0; i < 16; i++)
        _mm512_stream_si512((void *)(d + i * ds), r[i]);
}

void k_transpose(const float *RS in, float *RS out, long n)
{
    if (n % 64) {
        for (long y = 0; y < n; y++)
            for (long x = 0; x < n; x++)
                out[x * n + y] = in[y * n + x];
        return;
    }
#pragma omp parallel for schedule(static)
    for (long y = 0; y < n; y += 64)
        for (long x = 0; x < n; x += 64)
            for (long b = 0; b < 64; b += 16)
                for (long a = 0; a < 64; a += 16)
                    tr16(in + (y + a) * n + x + b, n, out + (x + b) * n + y + a, n);
}

void k_stencil2d(const float *RS in, float *RS out, long n)
{
#pragma omp parallel for schedule(static)
    for (long y = 0; y < n; y++) {
        const float *c = in + y * n;
        float *o = out + y * n;
        if (y == 0 || y == n - 1) {
            memcpy(o, c, n * 4);
            continue;
        }
        o[0] = c[0];
        o[n - 1] = c[n - 1];
#pragma omp simd
        for (long x = 1; x < n - 1; x++)
            o[x] = 0.5f * c[x] + 0.125f * (c[x - 1] + c[x + 1] + c[x - n] + c[x + n]);
    }
}

#define R 16
void k_conv1d(const float *RS in, const float *RS t, float *RS out, long n)
{
#pragma omp parallel for schedule(static)
    for (long i0 = 0; i0 < n; i0 += 128) {
        if (i0 < R || i0 + 128 + R > n) {
            for (long i = i0; i < i0 + 128 && i < n; i++) {
                float s = 0;
                for (int k = 0; k < 2 * R + 1; k++) {
                    long j = i + k - R;
                    if (j >= 0 && j < n)
                        s += t[k] * in[j];
                }
                out[i] = s;
            }
            continue;
        }
        float acc[128];
        for (int j = 0; j < 128; j++)
            acc[j] = 0;
        const float *p = in + i0 - R;
        for (int k = 0; k < 2 * R + 1; k++) {
            float tk = t[k];
            for (int j = 0; j < 128; j++)
                acc[j] += tk * p[j + k];
        }
        for (int j = 0; j < 128; j++)
            out[i0 + j] = acc[j];
    }
}

void k_nbody(const float *RS p, float *RS a, long n)
{
    float *s = aligned_alloc(64, n * 16);
    float *X = s, *Y = s + n, *Z = s + 2 * n, *M = s + 3 * n;
    for (long i = 0; i < n; i++) {
        X[i] = p[4 * i];
        Y[i] = p[4 * i + 1];
        Z[i] = p[4 * i + 2];
        M[i] = p[4 * i + 3];
    }
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i += 4) {
        float ax[4] = {0}, ay[4] = {0}, az[4] = {0}; /* 4 bodies at a time reuse the loads */

#pragma unroll
        for (int q = 0; q < 4; q++) {
            float x = X[i + q], y = Y[i + q], z = Z[i + q], sx = 0, sy = 0, sz = 0;
#pragma omp simd reduction(+ : sx, sy, sz)
            for (long j = 0; j < n; j++) {
                float dx = X[j] - x, dy = Y[j] - y, dz = Z[j] - z;
                float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
                float inv = 1.0f / sqrtf(r2);
                float f = M[j] * inv * inv * inv;
                sx += dx * f;
                sy += dy * f;
                sz += dz * f;
            }
            ax[q] = sx;
            ay[q] = sy;
            az[q] = sz;
        }
        for (int q = 0; q < 4; q++) {
            a[4 * (i + q)] = ax[q];
            a[4 * (i + q) + 1] = ay[q];
            a[4 * (i + q) + 2] = az[q];
            a[4 * (i + q) + 3] = 0;
        }
    }
    free(s);
}

/* [I] Four vectors of 16 pixels in flight hide the latency of the recurrence. */
void k_mandelbrot(int *RS o, long w, int maxit)
{
#pragma omp parallel for schedule(dynamic, 4)
    for (long py = 0; py < w; py++) {
        __m512 cy = _mm512_set1_ps(-1.5f + 3.0f * (float)py / (float)w),
               four = _mm512_set1_ps(4.0f);
        __m512i one = _mm512_set1_epi32(1);
        for (long px = 0; px < w; px += 64) {
            __m512 cx[4], x[4], y[4];
            __m512i it[4];
            __mmask16 m[4];

#pragma unroll
            for (int q = 0; q < 4; q++) {
                __m512i ix = _mm512_add_epi32(
                    _mm512_set1_epi32(px + q * 16),
                    _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
                cx[q] = _mm512_add_ps(
                    _mm512_set1_ps(-2.0f),
                    _mm512_div_ps(_mm512_mul_ps(_mm512_set1_ps(3.0f), _mm512_cvtepi32_ps(ix)),
                                  _mm512_set1_ps((float)w)));
                x[q] = y[q] = _mm512_setzero_ps();
                it[q] = _mm512_setzero_si512();
                m[q] = 0xffff;
            }
            for (int k = 0; k < maxit; k++) {

#pragma unroll
                for (int q = 0; q < 4; q++) {
                    __m512 xx = _mm512_mul_ps(x[q], x[q]), yy = _mm512_mul_ps(y[q], y[q]);
                    m[q] = _mm512_mask_cmp_ps_mask(m[q], _mm512_add_ps(xx, yy), four, _CMP_LE_OQ);
                    it[q] = _mm512_mask_add_epi32(it[q], m[q], it[q], one);
                    __m512 x2 = _mm512_add_ps(x[q], x[q]);
                    y[q] = _mm512_fmadd_ps(x2, y[q], cy);
                    x[q] = _mm512_add_ps(_mm512_sub_ps(xx, yy), cx[q]);
                }
                if (!(m[0] | m[1] | m[2] | m[3]))
                    break;
            }

#pragma unroll
            for (int q = 0; q < 4; q++)
                if (px + q * 16 < w)
                    _mm512_mask_storeu_epi32(
                        o + py * w + px + q * 16,
                        w - (px + q * 16) >= 16 ? 0xffff : (1 << (w - px - q * 16)) - 1, it[q]);
        }
    }
}

void k_histogram(const uint8_t *RS d, long n, uint32_t *RS h)
{
#pragma omp parallel
    {
        uint32_t s[8][256];
        memset(s, 0, sizeof s);
#pragma omp for schedule(static) nowait
        for (long i = 0; i < n / 8; i++) {
            uint64_t v;
            memcpy(&v, d + 8 * i, 8);
            s[0][v & 255]++;
            s[1][(v >> 8) & 255]++;
            s[2][(v >> 16) & 255]++;
            s[3][(v >> 24) & 255]++;
            s[4][(v >> 32) & 255]++;
            s[5][(v >> 40) & 255]++;
            s[6][(v >> 48) & 255]++;
            s[7][v >> 56]++;
        }
#pragma omp critical
        for (int i = 0; i < 256; i++)
            h[i] += s[0][i] + s[1][i] + s[2][i] + s[3][i] + s[4][i] + s[5][i] + s[6][i] + s[7][i];
    }
    for (long i = n & ~7l; i < n; i++)
        h[d[i]]++;
}

/* The same network as in CUDA; [I] strides below 16 inside registers. */
/* w: the partner lanes; lanes of hi take the maximum. */
static inline __m512i cx_in(__m512i v, __m512i w, __mmask16 hi)
{
    __m512i lo = _mm512_min_epu32(v, w);
    return _mm512_mask_max_epu32(lo, hi, v, w);
}

static inline __m512i bit_reg(__m512i v, int st, __mmask16 dirdown)
{
    __m512i w;
    __mmask16 up;
    switch (st) {
    case 8:
        w = _mm512_shuffle_i32x4(v, v, 0x4e);
        up = 0xff00;
        break;
    case 4:
        w = _mm512_shuffle_i32x4(v, v, 0xb1);
        up = 0xf0f0;
        break;
    case 2:
        w = _mm512_shuffle_epi32(v, 0x4e);
        up = 0xcccc;
        break;
    default:
        w = _mm512_shuffle_epi32(v, 0xb1);
        up = 0xaaaa;
    }
    return cx_in(v, w, up ^ dirdown);
}

static void bit_step(uint32_t *k, long base, long len, long size, long st)
{
    for (long b = base; b < base + len; b += 2 * st) {
        int down = (b & size) != 0;
        uint32_t *p = k + b, *q = k + b + st;
        if (!down)
            for (long j = 0; j < st; j += 16) {
                __m512i x = _mm512_loadu_si512(p + j), y = _mm512_loadu_si512(q + j);
                _mm512_storeu_si512(p + j, _mm512_min_epu32(x, y));
                _mm512_storeu_si512(q + j, _mm512_max_epu32(x, y));
            }
        else
            for (long j = 0; j < st; j += 16) {
                __m512i x = _mm512_loadu_si512(p + j), y = _mm512_loadu_si512(q + j);
                _mm512_storeu_si512(p + j, _mm512_max_epu32(x, y));
                _mm512_storeu_si512(q + j, _mm512_min_epu32(x, y));
            }
    }
}

static void bit_tail(uint32_t *k, long base, long len, long size)
{
    for (long b = base; b < base + len; b += 16) {
        __m512i v = _mm512_loadu_si512(k + b);
        __mmask16 dn;
        if (size >= 16)
            dn = (b & size) ? 0xffff : 0;
        else
            dn = size == 8 ? 0xff00 : size == 4 ? 0xf0f0 : 0xcccc;
        if (size >= 16)
            v = bit_reg(v, 8, dn);
        if (size >= 8)
            v = bit_reg(v, 4, dn);
        if (size >= 4)
            v = bit_reg(v, 2, dn);
        v = bit_reg(v, 1, dn);
        _mm512_storeu_si512(k + b, v);
    }
}

static void bit_local(uint32_t *k, long b, long L, long size, long st0)
{
    for (long st = st0; st >= 16; st >>= 1)
        bit_step(k, b, L, size, st);
    bit_tail(k, b, L, size);
}

void k_bitonic(uint32_t *k, long n)
{
    const long L = n < 8192 ? n : 8192; /* 32 KiB block in L1 */
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (long b = 0; b < n; b += L)
            for (long size = 2; size <= L; size <<= 1)
                bit_local(k, b, L, size, size / 2);
        for (long size = 2 * L; size <= n; size <<= 1) {
            for (long st = size / 2; st >= L; st >>= 1) {
#pragma omp for schedule(static)
                for (long c = 0; c < n / 2; c += 4096) {
                    long b = c / st * 2 * st + c % st;
                    long w = st < 4096 ? st : 4096;
                    for (long z = 0; z < 4096; z += w) {
                        int down = (b & size) != 0;
                        uint32_t *p = k + b, *q = k + b + st;
                        for (long j = 0; j < w; j += 16) {
                            __m512i x = _mm512_loadu_si512(p + j), y = _mm512_loadu_si512(q + j),
                                    lo = _mm512_min_epu32(x, y), hi = _mm512_max_epu32(x, y);
                            _mm512_storeu_si512(p + j, down ? hi : lo);
                            _mm512_storeu_si512(q + j, down ? lo : hi);
                        }
                    }
                }
            }
#pragma omp for schedule(static)
            for (long b = 0; b < n; b += L)
                bit_local(k, b, L, size, L / 2);
        }
    }
}

static inline float cnd(float d)
{
    const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f,
                A5 = 1.330274429f, RSQ = 0.39894228040143267793994605993438f;
    float K = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c = RSQ * fexp(-0.5f * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))));
    return d > 0 ? 1.0f - c : c;
}

void k_blackscholes(const float *RS S, const float *RS X, const float *RS T, float *RS C,
                    float *RS P, long n, float r, float v)
{
#pragma omp parallel for simd schedule(static) simdlen(64)
    for (long i = 0; i < n; i++) {
        float s = S[i], x = X[i], t = T[i];
        float sq = sqrtf(t);
        float d1 = (flog(s / x) + (r + 0.5f * v * v) * t) / (v * sq), d2 = d1 - v * sq;
        float n1 = cnd(d1), n2 = cnd(d2), e = fexp(-r * t);
        C[i] = s * n1 - x * e * n2;
        P[i] = x * e * (1.0f - n2) - s * (1.0f - n1);
    }
}

/* [I] One row at a time, 16 entries per masked gather. */
void k_spmv(long rows, const int *RS rp, const int *RS ci, const float *RS va, const float *RS x,
            float *RS y)
{
#pragma omp parallel for schedule(static)
    for (long i = 0; i < rows; i++) {
        int k = rp[i], e = rp[i + 1];
        __m512 s = _mm512_setzero_ps();
        for (; k < e; k += 16) {
            __mmask16 m = e - k >= 16 ? 0xffff : (__mmask16)((1u << (e - k)) - 1);
            __m512i c = _mm512_maskz_loadu_epi32(m, ci + k);
            s = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(m, va + k),
                                _mm512_mask_i32gather_ps(_mm512_setzero_ps(), m, c, x, 4), s);
        }
        y[i] = _mm512_reduce_add_ps(s);
    }
}

void k_softmax(const float *RS in, float *RS out, long r, long c)
{
#pragma omp parallel for schedule(static)
    for (long i = 0; i < r; i++) {
        const float *x = in + i * c;
        float *y = out + i * c;
        float m = -3e38f;
#pragma omp simd reduction(max : m)
        for (long j = 0; j < c; j++)
            m = x[j] > m ? x[j] : m;
        float s = 0;
#pragma omp simd reduction(+ : s)
        for (long j = 0; j < c; j++) {
            float e = fexp(x[j] - m);
            y[j] = e;
            s += e;
        }
        float q = 1.0f / s;
#pragma omp simd
        for (long j = 0; j < c; j++)
            y[j] *= q;
    }
}

void k_layernorm(const float *RS in, const float *RS g, const float *RS b, float *RS out, long r,
                 long c)
{
#pragma omp parallel for schedule(static)
    for (long i = 0; i < r; i++) {
        const float *x = in + i * c;
        float *y = out + i * c;
        float s = 0;
#pragma omp simd reduction(+ : s)
        for (long j = 0; j < c; j++)
            s += x[j];
        float m = s / c, v = 0;
#pragma omp simd reduction(+ : v)
        for (long j = 0; j < c; j++) {
            float d = x[j] - m;
            v += d * d;
        }
        float q = 1.0f / sqrtf(v / c + 1e-5f);
#pragma omp simd
        for (long j = 0; j < c; j++)
            y[j] = (x[j] - m) * q * g[j] + b[j];
    }
}

#define MD5_U         uint32_t
#define MD5_ROL(x, s) (((x) << (s)) | ((x) >> (32 - (s))))
#include "../common/md5_steps.h"
uint32_t k_md5(uint32_t base, long n, const uint32_t t[4])
{
    uint32_t f = 0, t0 = t[0], t1 = t[1], t2 = t[2], t3 = t[3];
#pragma omp parallel for simd reduction(| : f) schedule(static) simdlen(64)
    for (long i = 0; i < n; i++) {
        uint32_t key = base + (uint32_t)i, A, B, C, D;
        MD5_BODY(key, A, B, C, D);
        f |= ((A == t0) & (B == t1) & (C == t2) & (D == t3)) ? key : 0;
    }
    return f;
}
