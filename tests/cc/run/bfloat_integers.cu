/* Integers to bfloat16 in all modes: beside what lies between two of them, and at both ends. */
#include <climits>
#include <cstdio>
#include <cuda_bf16.h>

static int wrong;

static int rank(__nv_bfloat16 h)
{
    __nv_bfloat16_raw raw = h;
    return raw.x & 0x8000 ? -(raw.x & 0x7fff) : raw.x;
}

/* long double holds every integer exactly. */
static void check(const char *name, long double v, __nv_bfloat16 down, __nv_bfloat16 up, __nv_bfloat16 zero,
                  __nv_bfloat16 nearest)
{
    long double d = __bfloat162float(down), u = __bfloat162float(up), n = __bfloat162float(nearest);
    bool tight = d == u || rank(up) - rank(down) == 1;
    bool even = (rank(nearest) & 1) == 0;
    bool near = n == d ? v - d < u - v || (v - d == u - v && even) || d == u
                       : n == u && (u - v < v - d || (v - d == u - v && even));
    if (d <= v && v <= u && tight && near && rank(zero) == rank(v < 0 ? up : down))
        return;
    if (wrong++ < 10)
        std::printf("%s of %.0Lf: %.0Lf %.0Lf %.0Lf\n", name, v, d, n, u);
}

#define CHECK(name, v)                                                                             \
    check(#name, (long double)(v), __##name##2bfloat16_rd(v), __##name##2bfloat16_ru(v),           \
          __##name##2bfloat16_rz(v), __##name##2bfloat16_rn(v))

/* What threads get is what the host gets. */
__global__ void round_all(unsigned long long start, __nv_bfloat16 *out)
{
    unsigned long long v = start + threadIdx.x;
    __nv_bfloat16 *at = out + 8 * threadIdx.x;
    at[0] = __ull2bfloat16_rn(v);
    at[1] = __ull2bfloat16_rd(v);
    at[2] = __ull2bfloat16_ru(v);
    at[3] = __ull2bfloat16_rz(v);
    at[4] = __ll2bfloat16_rn(-(long long)(v >> 1));
    at[5] = __ll2bfloat16_rd(-(long long)(v >> 1));
    at[6] = __ll2bfloat16_ru(-(long long)(v >> 1));
    at[7] = __ll2bfloat16_rz(-(long long)(v >> 1));
}

static void check_device(unsigned long long start, __nv_bfloat16 *out)
{
    round_all<<<1, 7>>>(start, out);
    if (cudaDeviceSynchronize() != cudaSuccess)
        wrong++;
    for (int i = 0; i < 7; i++) {
        unsigned long long v = start + i;
        long long minus = -(long long)(v >> 1);
        const __nv_bfloat16 want[] = {__ull2bfloat16_rn(v),    __ull2bfloat16_rd(v),    __ull2bfloat16_ru(v),
                                      __ull2bfloat16_rz(v),    __ll2bfloat16_rn(minus), __ll2bfloat16_rd(minus),
                                      __ll2bfloat16_ru(minus), __ll2bfloat16_rz(minus)};
        for (int k = 0; k < 8; k++)
            wrong += rank(want[k]) != rank(out[8 * i + k]);
    }
}

int main()
{
    __nv_bfloat16 *out;
    if (cudaMallocManaged(&out, 7 * 8 * sizeof(*out)) != cudaSuccess)
        return 2;
    for (int v = -70000; v <= 70000; v++) {
        CHECK(int, v);
        if (v >= SHRT_MIN && v <= SHRT_MAX)
            CHECK(short, (short)v);
        if (v >= 0 && v <= USHRT_MAX)
            CHECK(ushort, (unsigned short)v);
    }
    for (int bit = 0; bit < 64; bit++) {
        for (int below = 0; below < bit; below++) {
            check_device((1ull << bit) + (1ull << below) - 3, out);
            for (int near = -3; near <= 3; near++) {
                unsigned long long v = (1ull << bit) + (1ull << below) + near;
                CHECK(ull, v);
                CHECK(ll, (long long)v);
                CHECK(ll, -(long long)(v >> 1));
                CHECK(uint, (unsigned)v);
                CHECK(int, (int)v);
            }
        }
    }
    CHECK(ll, LLONG_MIN);
    CHECK(ll, LLONG_MAX);
    CHECK(ull, ULLONG_MAX);
    std::puts(wrong ? "wrong" : "all right");
    return wrong != 0;
}
