/* Every DPX function on the device and on the host, against what its documentation says. */
#include <cstdio>

typedef unsigned int u32;
enum { N = 9, FUNCTIONS = 60 };
__device__ __constant__ u32 values[N] = {0xffffffffu, 0x7fffffffu, 0x80000000u, 0u,         1u,
                                         0x8000ffffu, 0x7fff8000u, 0x00018001u, 0x12345678u};
static const u32 host_values[N] = {0xffffffffu, 0x7fffffffu, 0x80000000u, 0u,         1u,
                                   0x8000ffffu, 0x7fff8000u, 0x00018001u, 0x12345678u};

__host__ __device__ static int all(u32 a, u32 b, u32 c, u32 *out)
{
    int n = 0, x = (int)a, y = (int)b, z = (int)c;
    bool hi, lo;
#define THREE(T, suffix, p, q, r)                                                                  \
    out[n++] = (u32)__vimax3_##suffix(p, q, r);                                                    \
    out[n++] = (u32)__vimin3_##suffix(p, q, r);                                                    \
    out[n++] = (u32)__viaddmax_##suffix(p, q, r);                                                  \
    out[n++] = (u32)__viaddmin_##suffix(p, q, r);
#define RELU(suffix, p, q, r)                                                                      \
    out[n++] = (u32)__vimax_##suffix##_relu(p, q);                                                 \
    out[n++] = (u32)__vimin_##suffix##_relu(p, q);                                                 \
    out[n++] = (u32)__vimax3_##suffix##_relu(p, q, r);                                             \
    out[n++] = (u32)__vimin3_##suffix##_relu(p, q, r);                                             \
    out[n++] = (u32)__viaddmax_##suffix##_relu(p, q, r);                                           \
    out[n++] = (u32)__viaddmin_##suffix##_relu(p, q, r);
#define FIRST(suffix, p, q)                                                                        \
    out[n++] = (u32)__vibmax_##suffix(p, q, &lo);                                                  \
    out[n++] = lo;                                                                                 \
    out[n++] = (u32)__vibmin_##suffix(p, q, &lo);                                                  \
    out[n++] = lo;
#define FIRST2(suffix)                                                                             \
    out[n++] = __vibmax_##suffix(a, b, &hi, &lo);                                                  \
    out[n++] = hi * 2 + lo;                                                                        \
    out[n++] = __vibmin_##suffix(a, b, &hi, &lo);                                                  \
    out[n++] = hi * 2 + lo;
    THREE(int, s32, x, y, z)
    THREE(u32, u32, a, b, c)
    THREE(u32, s16x2, a, b, c)
    THREE(u32, u16x2, a, b, c)
    RELU(s32, x, y, z)
    RELU(s16x2, a, b, c)
    FIRST(s32, x, y)
    FIRST(u32, a, b)
    FIRST2(s16x2)
    FIRST2(u16x2)
    return n;
}

/* The same of 64-bit integers: a value of `bits` bits at `at`, signed or not. */
static long long part(u32 word, int at, int bits, bool is_signed)
{
    long long value = word >> at & (bits == 32 ? 0xffffffffu : 0xffffu), half = 1ll << (bits - 1);
    return is_signed && value >= half ? value - 2 * half : value;
}
static long long smaller(long long a, long long b)
{
    return a < b ? a : b;
}
static long long larger(long long a, long long b)
{
    return a < b ? b : a;
}
static u32 want(int what, int bits, bool is_signed, bool relu, u32 a, u32 b, u32 c)
{
    u32 result = 0;
    for (int at = 0; at < 32; at += bits) {
        long long x = part(a, at, bits, is_signed), y = part(b, at, bits, is_signed);
        long long z = part(c, at, bits, is_signed), sum = part((u32)(x + y), 0, bits, is_signed);
        long long all[] = {larger(larger(x, y), z), smaller(smaller(x, y), z), larger(sum, z),
                           smaller(sum, z),         larger(x, y),              smaller(x, y)};
        long long r = relu ? larger(all[what], 0) : all[what];
        result |= (u32)((unsigned long long)r & (bits == 32 ? 0xffffffffu : 0xffffu)) << at;
    }
    return result;
}
static u32 want_first(bool is_max, int bits, bool is_signed, u32 a, u32 b)
{
    u32 result = 0;
    for (int at = 0; at < 32; at += bits) {
        long long x = part(a, at, bits, is_signed), y = part(b, at, bits, is_signed);
        result |= (u32)(is_max ? x >= y : x <= y) << at / bits;
    }
    return result;
}
static int all_wanted(u32 a, u32 b, u32 c, u32 *out)
{
    static const int relu_order[] = {4, 5, 0, 1, 2, 3};
    int n = 0;
    for (int bits = 32; bits >= 16; bits -= 16)
        for (int is_signed = 1; is_signed >= 0; is_signed--)
            for (int what = 0; what < 4; what++)
                out[n++] = want(what, bits, is_signed, false, a, b, c);
    for (int bits = 32; bits >= 16; bits -= 16)
        for (int i = 0; i < 6; i++)
            out[n++] = want(relu_order[i], bits, true, true, a, b, c);
    for (int bits = 32; bits >= 16; bits -= 16)
        for (int is_signed = 1; is_signed >= 0; is_signed--)
            for (int is_max = 1; is_max >= 0; is_max--) {
                out[n++] = want(is_max ? 4 : 5, bits, is_signed, false, a, b, c);
                out[n++] = want_first(is_max, bits, is_signed, a, b);
            }
    return n;
}

__global__ void kernel(u32 *out)
{
    u32 at = (threadIdx.x * N + threadIdx.y) * N + threadIdx.z;
    all(values[threadIdx.x], values[threadIdx.y], values[threadIdx.z], out + at * FUNCTIONS);
}

int main()
{
    u32 *out, wanted[FUNCTIONS], on_host[FUNCTIONS];
    int wrong = 0;
    cudaMallocManaged(&out, N * N * N * FUNCTIONS * sizeof(*out));
    kernel<<<1, dim3(N, N, N)>>>(out);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return std::puts("the launch failed"), 1;
    for (int i = 0; i < N * N * N; i++) {
        u32 a = host_values[i / N / N], b = host_values[i / N % N], c = host_values[i % N];
        int n = all_wanted(a, b, c, wanted);
        if (all(a, b, c, on_host) != n)
            return std::puts("not the same functions"), 1;
        for (int f = 0; f < n; f++)
            if ((out[i * FUNCTIONS + f] != wanted[f] || on_host[f] != wanted[f]) && wrong++ < 9)
                printf("%d of %x %x %x: %x on the device, %x on the host instead of %x\n", f, a, b,
                       c, out[i * FUNCTIONS + f], on_host[f], wanted[f]);
    }
    std::puts(wrong ? "wrong" : "all right");
    return wrong != 0;
}
