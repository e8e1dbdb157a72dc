/*
 * Functions that are one device instruction each: arithmetic and conversions in a given rounding
 * mode, and the fast approximations. Only compiled for the device. CUDA's suffixes rn rz rd ru are
 * nearest, zero, down, up; NVVM's builtins call them rn rz rm rp.
 */
#include "ld.h"

#define MODES(X, ...)                                                                              \
    X(rn, rn, __VA_ARGS__) X(rz, rz, __VA_ARGS__) X(rd, rm, __VA_ARGS__) X(ru, rp, __VA_ARGS__)

/* Of float there is a form that flushes subnormals, of double none. */
#define LD_FORM_d(op, ...) __nvvm_##op##_d(__VA_ARGS__)
#define LD_FORM_f(op, ...)                                                                         \
    (LD_FTZ ? __nvvm_##op##_ftz_f(__VA_ARGS__) : __nvvm_##op##_f(__VA_ARGS__))

#define BINARY(cu, nv, name, op, type, t)                                                          \
    LD_FN(type, __nv_##name##_##cu, type x, type y)                                                \
    {                                                                                              \
        return LD_FORM_##t(op##_##nv, x, y);                                                       \
    }
MODES(BINARY, dadd, add, double, d)
MODES(BINARY, dmul, mul, double, d)
MODES(BINARY, ddiv, div, double, d)
MODES(BINARY, fadd, add, float, f)
MODES(BINARY, fmul, mul, float, f)
MODES(BINARY, fdiv, div, float, f)

#define SUBTRACT(cu, nv, name, type, t)                                                            \
    LD_FN(type, __nv_##name##_##cu, type x, type y)                                                \
    {                                                                                              \
        return LD_FORM_##t(add_##nv, x, -y);                                                       \
    }
MODES(SUBTRACT, dsub, double, d)
MODES(SUBTRACT, fsub, float, f)

#define UNARY(cu, nv, name, op, type, t)                                                           \
    LD_FN(type, __nv_##name##_##cu, type x)                                                        \
    {                                                                                              \
        return LD_FORM_##t(op##_##nv, x);                                                          \
    }
MODES(UNARY, drcp, rcp, double, d)
MODES(UNARY, dsqrt, sqrt, double, d)
MODES(UNARY, frcp, rcp, float, f)
MODES(UNARY, fsqrt, sqrt, float, f)

#define TERNARY(cu, nv, name, type, t)                                                             \
    LD_FN(type, __nv_##name##_##cu, type x, type y, type z)                                        \
    {                                                                                              \
        return LD_FORM_##t(fma_##nv, x, y, z);                                                     \
    }
MODES(TERNARY, fma, double, d)
MODES(TERNARY, fmaf, float, f)
/* By name this one never does. */
#define LD_FORM_ieee(op, ...) __nvvm_##op##_f(__VA_ARGS__)
MODES(TERNARY, fmaf_ieee, float, ieee)

/* Conversions: from, to (C types), the builtin's short names. */
#define CONVERT(cu, nv, name, op, from, to)                                                        \
    LD_FN(to, __nv_##name##_##cu, from x)                                                          \
    {                                                                                              \
        return (to)__nvvm_##op##_##nv(x);                                                          \
    }
MODES(CONVERT, double2float, d2f, double, float)
MODES(CONVERT, double2int, d2i, double, int)
MODES(CONVERT, double2uint, d2ui, double, ld_u32)
MODES(CONVERT, double2ll, d2ll, double, ld_i64)
MODES(CONVERT, double2ull, d2ull, double, ld_u64)
MODES(CONVERT, float2int, f2i, float, int)
MODES(CONVERT, float2uint, f2ui, float, ld_u32)
MODES(CONVERT, float2ll, f2ll, float, ld_i64)
MODES(CONVERT, float2ull, f2ull, float, ld_u64)
MODES(CONVERT, int2float, i2f, int, float)
MODES(CONVERT, uint2float, ui2f, ld_u32, float)
MODES(CONVERT, ll2float, ll2f, ld_i64, float)
MODES(CONVERT, ull2float, ull2f, ld_u64, float)
MODES(CONVERT, ll2double, ll2d, ld_i64, double)
MODES(CONVERT, ull2double, ull2d, ld_u64, double)

LD_FN(double, __nv_int2double_rn, int x)
{
    return (double)x;
}

LD_FN(double, __nv_uint2double_rn, ld_u32 x)
{
    return (double)x;
}

LD_FN(ld_i64, __nv_llrint, double x)
{
    return __nvvm_d2ll_rn(x);
}

LD_FN(ld_i64, __nv_llrintf, float x)
{
    return __nvvm_f2ll_rn(x);
}

double __nv_round(double x);
float __nv_roundf(float x);

LD_FN(ld_i64, __nv_llround, double x)
{
    return __nvvm_d2ll_rz(__nv_round(x));
}

LD_FN(ld_i64, __nv_llroundf, float x)
{
    return __nvvm_f2ll_rz(__nv_roundf(x));
}

LD_F2(fmaxf)
{
    return __nvvm_fmax_f(x, y);
}

LD_F2(fminf)
{
    return __nvvm_fmin_f(x, y);
}

LD_FN(unsigned short, __nv_float2half_rn, float x)
{
    return (unsigned short)__nvvm_f2h_rn(x);
}

LD_FN(float, __nv_half2float, unsigned short h)
{
    _Float16 v;
    __builtin_memcpy(&v, &h, sizeof v);
    return (float)v;
}

/* 1/x from the upper half of x, about 20 bits. */
LD_D1(rcp64h)
{
    return __nvvm_rcp_approx_ftz_d(x);
}

/* Fast versions: the hardware's approximations and what follows from them. */
LD_F1(fast_sinf)
{
    return LD_FORM_f(sin_approx, x);
}

LD_F1(fast_cosf)
{
    return LD_FORM_f(cos_approx, x);
}

LD_FN(void, __nv_fast_sincosf, float x, float *out_sin, float *out_cos)
{
    *out_sin = LD_FORM_f(sin_approx, x);
    *out_cos = LD_FORM_f(cos_approx, x);
}

LD_F2(fast_fdividef)
{
    return LD_FORM_f(div_approx, x, y);
}

LD_F1(fast_tanf)
{
    return LD_FORM_f(div_approx, LD_FORM_f(sin_approx, x), LD_FORM_f(cos_approx, x));
}

LD_F1(fast_expf)
{
    return LD_FORM_f(ex2_approx, x * 1.4426950216293335f);
}

LD_F1(fast_exp10f)
{
    return LD_FORM_f(ex2_approx, x * 3.3219280242919922f);
}

LD_F1(fast_log2f)
{
    return LD_FORM_f(lg2_approx, x);
}

LD_F1(fast_logf)
{
    return LD_FORM_f(lg2_approx, x) * 0.69314718246459961f;
}

LD_F1(fast_log10f)
{
    return LD_FORM_f(lg2_approx, x) * 0.30103000998497009f;
}

/* From sm_75 on. */
LD_F1(fast_tanhf)
{
    float y;
    __asm__("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

LD_F2(fast_powf)
{
    return LD_FORM_f(ex2_approx, y * LD_FORM_f(lg2_approx, x));
}

/* libcu++ declares it for host and device by itself; include/cuda/heddle/device.h says when. */
extern void __assertfail(const char *message, const char *file, ld_u32 line, const char *function,
                         ld_u64 char_B);
LD_FN(void, __assert_fail, const char *message, const char *file, ld_u32 line, const char *function)
{
    __assertfail(message, file, line, function, sizeof(char));
}
