/*
 * cuda_fp8.h, cuda_fp6.h, cuda_fp4.h: every conversion on the host and in a kernel, of all halves, all bfloat16s and of
 * doubles around every boundary. The nearest value is also searched for among all values of the type. What is printed
 * is the same with other headers of these names.
 */
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <vector>

static int failures;

#define BOTH static __host__ __device__

struct bits {
    uint64_t hash;
};
BOTH void add(bits &b, uint64_t x)
{
    b.hash = (b.hash ^ x) * 0x9e3779b97f4a7c15ull;
    b.hash ^= b.hash >> 29;
}
BOTH void add(bits &b, float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    add(b, f != f ? (uint64_t)1 << 40 : (uint64_t)u);
}

template <class T> BOTH void of_code(bits &b, unsigned code)
{
    T x;
    x.__x = (decltype(x.__x))code;
    add(b, (float)x);
    add(b, (float)(__half)x);
    add(b, (float)(__nv_bfloat16)x);
    add(b, (float)(double)x);
    add(b, (uint64_t)(signed char)x);
    add(b, (uint64_t)(unsigned char)x);
    add(b, (uint64_t)(short)x);
    add(b, (uint64_t)(unsigned short)x);
    add(b, (uint64_t)(int)x);
    add(b, (uint64_t)(unsigned)x);
    if ((float)x == (float)x) {
        add(b, (uint64_t)(long long)x);
        add(b, (uint64_t)(unsigned long long)x);
    }
    add(b, (uint64_t)(bool)x);
}
template <class T> BOTH void of_value(bits &b, double d)
{
    float f = (float)d;
    if (d != d) { /* the sign and kind of a NaN are nobody's promise */
        add(b, (float)T(d));
        add(b, (float)T(f));
        add(b, (float)T(__half(f)));
        add(b, (float)T(__nv_bfloat16(f)));
        return;
    }
    add(b, (uint64_t)T(d).__x);
    add(b, (uint64_t)T(f).__x);
    add(b, (uint64_t)T(__half(f)).__x);
    add(b, (uint64_t)T(__nv_bfloat16(f)).__x);
    if (d == d && fabs(d) < 30000.0) {
        add(b, (uint64_t)T((short)d).__x);
        add(b, (uint64_t)T((unsigned short)fabs(d)).__x);
        add(b, (uint64_t)T((int)d * 65537).__x);
        add(b, (uint64_t)T((unsigned)fabs(d) * 65537u).__x);
        add(b, (uint64_t)T((long long)d * 1234567).__x);
        add(b, (uint64_t)T((unsigned long long)fabs(d) * 1234567u).__x);
    }
}
template <class T2, class T4> BOTH void of_many(bits &b, double d)
{
    if (d != d)
        return;
    float f = (float)d, g = -0.75f * f, h = f * 3.0f, i = 1.0f;
    __half2 hs(__half{f}, __half{g});
    __nv_bfloat162 bs(__nv_bfloat16{f}, __nv_bfloat16{g});
    T2 x(make_float2(f, g)), y(hs), z(bs);
    T4 u(make_float4(f, g, h, i));
    add(b, (uint64_t)x.__x);
    add(b, (uint64_t)y.__x);
    add(b, (uint64_t)z.__x);
    add(b, (uint64_t)u.__x);
    add(b, (uint64_t)T2(make_double2(d, g)).__x);
    float2 v = (float2)x;
    float4 w = (float4)u;
    __half2 p = (__half2)x;
    add(b, v.x);
    add(b, v.y);
    add(b, w.x);
    add(b, w.y);
    add(b, w.z);
    add(b, w.w);
    add(b, __low2float(p));
    add(b, __high2float(p));
}
BOTH void of_functions(bits &b, double d)
{
    const __nv_saturation_t sat[] = {__NV_NOSAT, __NV_SATFINITE};
    const __nv_fp8_interpretation_t kind8[] = {__NV_E4M3, __NV_E5M2};
    const __nv_fp6_interpretation_t kind6[] = {__NV_E2M3, __NV_E3M2};
    const cudaRoundMode modes[] = {cudaRoundNearest, cudaRoundZero, cudaRoundPosInf, cudaRoundMinInf};
    float f = (float)d;
    if (d != d)
        return;
    for (int s = 0; s < 2; s++)
        for (int k = 0; k < 2; k++) {
            add(b, (uint64_t)__nv_cvt_double_to_fp8(d, sat[s], kind8[k]));
            add(b, (uint64_t)__nv_cvt_float_to_fp8(f, sat[s], kind8[k]));
            add(b, (uint64_t)__nv_cvt_halfraw_to_fp8(__half(f), sat[s], kind8[k]));
            add(b, (uint64_t)__nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16(f), sat[s], kind8[k]));
            add(b, (uint64_t)__nv_cvt_float2_to_fp8x2(make_float2(f, -f), sat[s], kind8[k]));
        }
    for (int s = 0; s < 2; s++)
        for (int m = 1; m < 3; m++) {
            add(b, (uint64_t)__nv_cvt_double_to_e8m0(d, sat[s], modes[m]));
            add(b, (uint64_t)__nv_cvt_float_to_e8m0(f, sat[s], modes[m]));
            add(b, (uint64_t)__nv_cvt_bfloat16raw_to_e8m0(__nv_bfloat16(f), sat[s], modes[m]));
        }
    add(b, (uint64_t)__nv_cvt_double_to_fp6(d, kind6[0], cudaRoundNearest));
    add(b, (uint64_t)__nv_cvt_float_to_fp6(f, kind6[1], cudaRoundNearest));
    add(b, (uint64_t)__nv_cvt_halfraw_to_fp6(__half(f), kind6[0], cudaRoundNearest));
    add(b, (uint64_t)__nv_cvt_double_to_fp4(d, __NV_E2M1, cudaRoundNearest));
    add(b, (uint64_t)__nv_cvt_bfloat16raw_to_fp4(__nv_bfloat16(f), __NV_E2M1, cudaRoundNearest));
}

enum { ROWS = 12 };
static const char *const names[ROWS] = {"e4m3", "e5m2", "e8m0", "e2m3", "e3m2", "e2m1", "e4m3 x2 x4", "e5m2 x2 x4",
                                        "e2m3 x2 x4", "e3m2 x2 x4", "e2m1 x2 x4", "functions"};

/* Item i of a row: a code for the first half of the items of a type, then values. */
BOTH void item(bits &b, int row, double d, unsigned code)
{
    switch (row) {
    case 0: of_code<__nv_fp8_e4m3>(b, code & 255); of_value<__nv_fp8_e4m3>(b, d); break;
    case 1: of_code<__nv_fp8_e5m2>(b, code & 255); of_value<__nv_fp8_e5m2>(b, d); break;
    case 2: of_code<__nv_fp8_e8m0>(b, code & 255); of_value<__nv_fp8_e8m0>(b, d); break;
    case 3: of_code<__nv_fp6_e2m3>(b, code & 63); of_value<__nv_fp6_e2m3>(b, d); break;
    case 4: of_code<__nv_fp6_e3m2>(b, code & 63); of_value<__nv_fp6_e3m2>(b, d); break;
    case 5: of_code<__nv_fp4_e2m1>(b, code & 15); of_value<__nv_fp4_e2m1>(b, d); break;
    case 6: of_many<__nv_fp8x2_e4m3, __nv_fp8x4_e4m3>(b, d); break;
    case 7: of_many<__nv_fp8x2_e5m2, __nv_fp8x4_e5m2>(b, d); break;
    case 8: of_many<__nv_fp6x2_e2m3, __nv_fp6x4_e2m3>(b, d); break;
    case 9: of_many<__nv_fp6x2_e3m2, __nv_fp6x4_e3m2>(b, d); break;
    case 10: of_many<__nv_fp4x2_e2m1, __nv_fp4x4_e2m1>(b, d); break;
    case 11: of_functions(b, d); break;
    }
}
static __global__ void items(uint64_t *out, const double *values, int count, int row)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bits b = {1};
    if (i < count) {
        item(b, row, values[i], i);
        out[i] = b.hash;
    }
}

/* All bfloat16s, all halves, and the neighbours, in double, of halfway points of the small types. */
static std::vector<double> make_values()
{
    std::vector<double> v;
    for (unsigned i = 0; i < 65536; i++) {
        uint32_t u = i << 16;
        float f;
        memcpy(&f, &u, 4);
        v.push_back(f);
    }
    for (int exponent = -20; exponent < 18; exponent++)
        for (int m = 0; m < 64; m++) {
            double d = ldexp(64 + m, exponent - 6);
            const double near[] = {d, nextafter(d, 0.0), nextafter(d, 1e9), -d};
            v.insert(v.end(), near, near + 4);
        }
    return v;
}

/* The nearest value of all, the even code of two: what rounding means. */
template <class T> static void check_nearest(const char *name, unsigned codes, unsigned sign, double largest,
                                             const std::vector<double> &values)
{
    for (double d : values) {
        if (d != d || fabs(d) > largest)
            continue;
        unsigned best = 0;
        for (unsigned c = 0; c < sign && c < codes; c++) {
            T x, y;
            x.__x = (decltype(x.__x))c;
            y.__x = (decltype(y.__x))best;
            double distance = fabs((double)(float)x - fabs(d)), before = fabs((double)(float)y - fabs(d));
            if (distance < before || (distance == before && c % 2 == 0))
                best = c;
        }
        unsigned got = T(d).__x;
        if (got != (best | (signbit(d) ? sign : 0))) {
            if (failures++ < 20)
                printf("%s of %.17g is %#x, not %#x\n", name, d, got, best);
        }
    }
}

int main()
{
    std::vector<double> values = make_values();
    int count = (int)values.size();
    double *values_d;
    uint64_t *out_d;
    std::vector<uint64_t> out(count);
    cudaMalloc(&values_d, count * sizeof(double));
    cudaMalloc(&out_d, count * sizeof(uint64_t));
    cudaMemcpy(values_d, values.data(), count * sizeof(double), cudaMemcpyHostToDevice);
    for (int row = 0; row < ROWS; row++) {
        items<<<(count + 255) / 256, 256>>>(out_d, values_d, count, row);
        if (cudaMemcpy(out.data(), out_d, count * sizeof(uint64_t), cudaMemcpyDeviceToHost) != cudaSuccess)
            failures++;
        bits all = {1};
        int shown = 0;
        for (int i = 0; i < count; i++) {
            bits b = {1};
            item(b, row, values[i], i);
            add(all, b.hash);
            if (b.hash != out[i] && shown++ < 3) {
                printf("%s: host and device differ at %d, %.17g\n", names[row], i, values[i]);
                failures++;
            }
        }
        printf("%s %016llx\n", names[row], (unsigned long long)all.hash);
    }
    check_nearest<__nv_fp8_e4m3>("e4m3", 127, 128, 448, values);
    check_nearest<__nv_fp8_e5m2>("e5m2", 124, 128, 57344, values);
    check_nearest<__nv_fp6_e2m3>("e2m3", 32, 32, 7.5, values);
    check_nearest<__nv_fp6_e3m2>("e3m2", 32, 32, 28, values);
    check_nearest<__nv_fp4_e2m1>("e2m1", 8, 8, 6, values);
    printf(failures ? "%d wrong\n" : "all right\n", failures);
    return failures != 0;
}
