/*
 * Integers of 128 bits on the device: to and from floating point, arithmetic, compared with the
 * host's, whose compiler's library has them all.
 */
#include <cstdio>
#include <cstring>

typedef __int128 i128;
typedef unsigned __int128 u128;

struct results {
    double from_signed, from_unsigned;
    float from_signed_f, from_unsigned_f;
    i128 to_signed, to_signed_f;
    u128 to_unsigned, to_unsigned_f;
    i128 quotient, rest, product, right;
    u128 uquotient, urest, left, uright;
    int compared;
};

__host__ __device__ static void compute(u128 a, u128 b, double x, results *r)
{
    int by = (int)(b & 127);
    float f = (float)x;
    double magnitude = x < 0 ? -x : x;
    float magnitude_f = f < 0 ? -f : f;

    r->from_signed = (double)(i128)a;
    r->from_unsigned = (double)a;
    r->from_signed_f = (float)(i128)a;
    r->from_unsigned_f = (float)a;
    r->to_signed = magnitude < 1.7e38 ? (i128)x : 0;
    r->to_signed_f = magnitude_f < 1.7e38f ? (i128)f : 0;
    r->to_unsigned = magnitude < 3.4e38 ? (u128)magnitude : 0;
    r->to_unsigned_f = magnitude_f < 3.4e38f ? (u128)magnitude_f : 0;
    r->quotient = b && (i128)b != -1 ? (i128)a / (i128)b : 0;
    r->rest = b && (i128)b != -1 ? (i128)a % (i128)b : 0;
    r->uquotient = b ? a / b : 0;
    r->urest = b ? a % b : 0;
    r->product = (i128)(a * b);
    r->right = (i128)a >> by;
    r->uright = a >> by;
    r->left = a << by;
    r->compared = ((i128)a < (i128)b) + 2 * (a < b) + 4 * (a == b);
}

__global__ void kernel(const u128 *a, const u128 *b, const double *x, results *r, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        compute(a[i], b[i], x[i], r + i);
}

/* What an integer cannot hold: nvcc saturates; what is no number is the highest bit. */
template <typename F> __global__ void limits(const F *x, i128 *s, u128 *u, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        s[i] = (i128)x[i];
        u[i] = (u128)x[i];
    }
}

__global__ void constant_limits(i128 *s, u128 *u)
{
    s[0] = (i128)1e300, u[0] = (u128)1e300;
    s[1] = (i128)(-3e38f * 0.9f), u[1] = (u128)-5.0f;
}

template <typename F> static int check_limits()
{
    const u128 top = (u128)1 << 127, all = ~(u128)0;
    const double two64 = 18446744073709551616.0, two127 = two64 * two64 / 2;
    const struct {
        double x;
        u128 s, u;
    } rows[] = {
        {two127, top - 1, top},         {-two127, top, 0},          {two127 * 2, top - 1, all},
        {-two127 * 2, top, 0},          {two127 * 4, top - 1, all}, {-1, all, 0},
        {-0.5, 0, 0},                   {-0.0, 0, 0},               {-two64, all << 64, 0},
        {__builtin_inf(), top - 1, all}, {-__builtin_inf(), top, 0}, {__builtin_nan(""), top, top},
        {two127 / 2, top / 2, top / 2}, {two127 + two127 / 2, top - 1, top + top / 2},
    };
    const int n = sizeof(rows) / sizeof(*rows);
    F *x;
    i128 *s;
    u128 *u;
    int wrong = 0;

    cudaMallocManaged(&x, n * sizeof(*x));
    cudaMallocManaged(&s, n * sizeof(*s));
    cudaMallocManaged(&u, n * sizeof(*u));
    for (int i = 0; i < n; i++)
        x[i] = (F)rows[i].x;
    limits<<<1, 32>>>(x, s, u, n);
    cudaDeviceSynchronize();
    for (int i = 0; i < n; i++)
        if ((u128)s[i] != rows[i].s || u[i] != rows[i].u)
            wrong += printf("limits of %zu bytes: %g\n", sizeof(F), rows[i].x) != 0;
    return wrong;
}

static int check_constant_limits()
{
    i128 *s;
    u128 *u;

    cudaMallocManaged(&s, 32);
    cudaMallocManaged(&u, 32);
    constant_limits<<<1, 1>>>(s, u);
    cudaDeviceSynchronize();
    return (u128)s[0] != ~(u128)0 >> 1 || u[0] != ~(u128)0 || (u128)s[1] != (u128)1 << 127 || u[1];
}

static unsigned long long seed = 42;
static unsigned long long next()
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* Of every width; runs of ones and ties between two neighbours of float and double. */
static u128 draw()
{
    u128 value = ((u128)next() << 64 | next()) >> next() % 128;
    if (next() % 4 == 0)
        value = ~(u128)0 >> next() % 128;
    if (next() % 4 == 0)
        value = (u128)(next() | 1ull << 63) << next() % 65;
    if (next() % 4 == 0) {
        int bits = next() % 2 ? 24 : 53, shift = 1 + (int)(next() % 70);
        value = (((u128)next() >> (64 - bits)) << shift | (u128)1 << (shift - 1)) + next() % 3 - 1;
    }
    return next() % 2 ? value : (u128)0 - value;
}

int main()
{
    const int n = 20000;
    u128 *a, *b;
    double *x;
    results *r, want;
    int wrong = 0;

    cudaMallocManaged(&a, n * sizeof(*a));
    cudaMallocManaged(&b, n * sizeof(*b));
    cudaMallocManaged(&x, n * sizeof(*x));
    cudaMallocManaged(&r, n * sizeof(*r));
    memset((void *)r, 0, n * sizeof(*r));
    for (int i = 0; i < n; i++) {
        unsigned long long bits = (next() % 140 + 1023 - 6) << 52 | next() >> 12 | next() << 63;
        a[i] = draw();
        b[i] = next() % 64 ? draw() : (u128)(next() % 5) - 2;
        memcpy(&x[i], &bits, sizeof(bits));
    }
    kernel<<<(n + 127) / 128, 128>>>(a, b, x, r, n);
    if (cudaDeviceSynchronize() != cudaSuccess)
        return std::puts(cudaGetErrorString(cudaGetLastError())), 1;
    for (int i = 0; i < n; i++) {
        memset((void *)&want, 0, sizeof(want));
        compute(a[i], b[i], x[i], &want);
        if (memcmp(&want, &r[i], sizeof(want)) && wrong++ < 5)
            printf("%d: %016llx%016llx gives %a %a %a %a instead of %a %a %a %a\n", i,
                   (unsigned long long)(a[i] >> 64), (unsigned long long)a[i], r[i].from_signed,
                   r[i].from_unsigned, r[i].from_signed_f, r[i].from_unsigned_f, want.from_signed,
                   want.from_unsigned, want.from_signed_f, want.from_unsigned_f);
    }
    wrong += check_limits<float>() + check_limits<double>() + check_constant_limits();
    std::puts(wrong ? "wrong" : "all right");
    return wrong != 0;
}
