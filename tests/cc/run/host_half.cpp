/* Half precision, bfloat16 and the smaller types in a program without device code: the same bytes from every compiler. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <cstdio>
#include <cstring>

static unsigned long long sum = 14695981039346656037ull;

static void add(unsigned value)
{
    sum = (sum ^ value) * 1099511628211ull;
}

static unsigned bits(float f)
{
    unsigned u;
    memcpy(&u, &f, sizeof(u));
    return u;
}

static void values()
{
    for (unsigned i = 0; i < 0x10000; i++) {
        __half h = __ushort_as_half((unsigned short)i);
        __nv_bfloat16 b = __ushort_as_bfloat16((unsigned short)i);
        if (__hisnan(h) || __hisnan(b))
            continue;
        add(bits(h));
        add(bits(b));
        add(__half_as_ushort(h * h + __half(1)));
        add(__bfloat16_as_ushort(-b / __nv_bfloat16(3)));
        if (__half_as_ushort(__half((float)h)) != i || __bfloat16_as_ushort(__nv_bfloat16((float)b)) != i)
            printf("%x does not come back\n", i);
    }
}

static void conversions()
{
    unsigned r = 1;
    for (int i = 0; i < 1000000; i++) {
        r = r * 1664525u + 1013904223u;
        unsigned u = i % 2 ? r : (r & 0x87ffffff) + 0x33000000; /* every other one about as small as halves */
        float f;
        memcpy(&f, &u, sizeof(f));
        if (f != f)
            continue;
        double d = (double)f * (1 + (i % 7 - 3) * 1e-12);
        add(__half_as_ushort(__half(f)));
        add(__half_as_ushort(__half(d)));
        add(__half_as_ushort(__float2half_rz(f)));
        add(__half_as_ushort(__int2half_ru((int)r >> i % 31)));
        add(__bfloat16_as_ushort(__nv_bfloat16(d)));
        add(__nv_fp8_e4m3(f).__x | __nv_fp6_e3m2(f).__x << 8 | (unsigned)__nv_fp4_e2m1(f).__x << 16);
    }
}

int main()
{
    /* Ties go to even, also the one between the largest value and infinity. */
    const struct {
        double from;
        unsigned short to;
    } cases[] = {{1 + 1.0 / 2048, 0x3c00}, {1 + 3.0 / 2048, 0x3c02}, {65519.99, 0x7bff}, {65520, 0x7c00},
                 {1.0 / (1 << 25), 0},     {1.0000001 / (1 << 25), 1}, {-6.1e-5, 0x83ff},  {-0.0, 0x8000}};
    for (auto &c : cases)
        if (__half_as_ushort(__half(c.from)) != c.to)
            printf("%g is %x\n", c.from, __half_as_ushort(__half(c.from)));
    values();
    conversions();
    printf("%016llx\n", sum);
}
