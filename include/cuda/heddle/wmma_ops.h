/*
 * What a warp does with fragments: load, store, multiply. Part of mma.h.
 *
 * Each function is one PTX instruction. A fragment's elements travel in arrays of the registers
 * that PTX asks for (__fd, __fa, __fb, __fc), and the macros write the lists of registers: NAMES is
 * the text, OUT and IN are the operands. Host compilers see the functions, but not the assembly.
 */
#ifndef HEDDLE_CUDA_WMMA_OPS_H
#define HEDDLE_CUDA_WMMA_OPS_H

#define HEDDLE_WMMA_NAMES_1(v) "{%[" #v "0]}"
#define HEDDLE_WMMA_NAMES_2(v) "{%[" #v "0],%[" #v "1]}"
#define HEDDLE_WMMA_NAMES_4(v) "{%[" #v "0],%[" #v "1],%[" #v "2],%[" #v "3]}"
#define HEDDLE_WMMA_NAMES_8(v)                                                                     \
    "{%[" #v "0],%[" #v "1],%[" #v "2],%[" #v "3],%[" #v "4],%[" #v "5],%[" #v "6],%[" #v "7]}"

#define HEDDLE_WMMA_OUT_1(v, c) [v##0] "=" c(v[0])
#define HEDDLE_WMMA_OUT_2(v, c) HEDDLE_WMMA_OUT_1(v, c), [v##1] "=" c(v[1])
#define HEDDLE_WMMA_OUT_4(v, c) HEDDLE_WMMA_OUT_2(v, c), [v##2] "=" c(v[2]), [v##3] "=" c(v[3])
#define HEDDLE_WMMA_OUT_8(v, c)                                                                    \
    HEDDLE_WMMA_OUT_4(v, c)                                                                        \
    , [v##4] "=" c(v[4]), [v##5] "=" c(v[5]), [v##6] "=" c(v[6]), [v##7] "=" c(v[7])

#define HEDDLE_WMMA_IN_1(v, c) [v##0] c(v[0])
#define HEDDLE_WMMA_IN_2(v, c) HEDDLE_WMMA_IN_1(v, c), [v##1] c(v[1])
#define HEDDLE_WMMA_IN_4(v, c) HEDDLE_WMMA_IN_2(v, c), [v##2] c(v[2]), [v##3] c(v[3])
#define HEDDLE_WMMA_IN_8(v, c)                                                                     \
    HEDDLE_WMMA_IN_4(v, c), [v##4] c(v[4]), [v##5] c(v[5]), [v##6] c(v[6]), [v##7] c(v[7])

/* How registers of a kind are declared and named to the compiler. */
#define HEDDLE_WMMA_C_b32    "r"
#define HEDDLE_WMMA_C_f32    "f"
#define HEDDLE_WMMA_C_f64    "d"
#define HEDDLE_WMMA_TYPE_b32 unsigned int
#define HEDDLE_WMMA_TYPE_f32 float
#define HEDDLE_WMMA_TYPE_f64 double

#if defined(__CUDA_ARCH__)
#define HEDDLE_WMMA_ASM(...) __asm__ volatile(__VA_ARGS__)
#else
#define HEDDLE_WMMA_ASM(...) ((void)0)
#endif

#define HEDDLE_WMMA_REGISTERS(v, kind, count) HEDDLE_WMMA_TYPE_##kind v[count] = {}
#define HEDDLE_WMMA_PUT(v, frag)                                                                   \
    static_assert(sizeof v == sizeof frag.x, "the fragment fills its registers");                  \
    __builtin_memcpy(v, frag.x, sizeof v)
#define HEDDLE_WMMA_GET(frag, v)                                                                   \
    static_assert(sizeof v == sizeof frag.x, "the fragment fills its registers");                  \
    __builtin_memcpy(frag.x, v, sizeof v)

#define HEDDLE_WMMA_LOAD_ASM(text, kind, count)                                                    \
    HEDDLE_WMMA_REGISTERS(__fd, kind, count);                                                      \
    HEDDLE_WMMA_ASM(                                                                               \
        "wmma.load." text                                                                          \
        " " HEDDLE_WMMA_NAMES_##count(__fd) ", [%[ptr]], %[ldm];" : HEDDLE_WMMA_OUT_##count(       \
            __fd, HEDDLE_WMMA_C_##kind) : [ptr] "l"(ptr),                                          \
        [ldm] "r"(ldm) : "memory");                                                                \
    HEDDLE_WMMA_GET(frag, __fd)

#define HEDDLE_WMMA_STORE_ASM(text, kind, count)                                                   \
    HEDDLE_WMMA_ASM("wmma.store.d.sync.aligned." text                                              \
                    " [%[ptr]], " HEDDLE_WMMA_NAMES_##count(__fd) ", %[ldm];" : : [ptr] "l"(ptr),  \
                    [ldm] "r"(ldm), HEDDLE_WMMA_IN_##count(__fd, HEDDLE_WMMA_C_##kind) : "memory")

#define HEDDLE_WMMA_MMA_ASM(text, kd, nd, kab, na, nb, kc, nc)                                                                         \
    HEDDLE_WMMA_ASM(                                                                                                                   \
        "wmma.mma." text                                                                                                               \
        " " HEDDLE_WMMA_NAMES_##nd(__fd) "," HEDDLE_WMMA_NAMES_##na(__fa) "," HEDDLE_WMMA_NAMES_##nb(__fb) "," HEDDLE_WMMA_NAMES_##nc( \
            __fc) ";" : HEDDLE_WMMA_OUT_##nd(__fd,                                                                                     \
                                             HEDDLE_WMMA_C_##kd) : HEDDLE_WMMA_IN_##na(__fa,                                           \
                                                                                       HEDDLE_WMMA_C_##kab),                           \
        HEDDLE_WMMA_IN_##nb(__fb, HEDDLE_WMMA_C_##kab),                                                                                \
        HEDDLE_WMMA_IN_##nc(__fc, HEDDLE_WMMA_C_##kc))

/* Declares and fills the registers of d = a * b + c. */
#define HEDDLE_WMMA_OPERANDS(kd, nd, kab, na, nb, kc, nc)                                          \
    HEDDLE_WMMA_REGISTERS(__fd, kd, nd);                                                           \
    HEDDLE_WMMA_REGISTERS(__fa, kab, na);                                                          \
    HEDDLE_WMMA_REGISTERS(__fb, kab, nb);                                                          \
    HEDDLE_WMMA_REGISTERS(__fc, kc, nc);                                                           \
    HEDDLE_WMMA_PUT(__fa, a);                                                                      \
    HEDDLE_WMMA_PUT(__fb, b);                                                                      \
    HEDDLE_WMMA_PUT(__fc, c)

namespace nvcuda {
namespace wmma {

namespace heddle {

/* What satf asks of floating point sums: infinities become the largest number, NaN zero. */
HEDDLE_WMMA float finite(float value)
{
    if (value != value)
        return 0.0f;
    return fminf(fmaxf(value, -3.402823466e+38f), 3.402823466e+38f);
}
HEDDLE_WMMA __half finite(__half value)
{
    return __float2half(fminf(fmaxf(finite(__half2float(value)), -65504.0f), 65504.0f));
}
template <typename _Frag> HEDDLE_WMMA void make_finite(_Frag &frag)
{
    for (int at = 0; at < frag.num_elements; at++)
        frag.x[at] = finite(frag.x[at]);
}

} // namespace heddle

#define HEDDLE_WMMA_LOAD(use, order, m, n, k, type, memory, ptx, kind, count)                      \
    HEDDLE_WMMA void load_matrix_sync(fragment<matrix_##use, m, n, k, type, order##_major> &frag,  \
                                      const memory *ptr, unsigned int ldm)                         \
    {                                                                                              \
        HEDDLE_WMMA_LOAD_ASM(#use ".sync.aligned." #order ".m" #m "n" #n "k" #k "." #ptx, kind,    \
                             count);                                                               \
    }
#define HEDDLE_WMMA_LOADS(m, n, k, type, memory, ptx, kind, count_a, count_b)                      \
    HEDDLE_WMMA_LOAD(a, row, m, n, k, type, memory, ptx, kind, count_a)                            \
    HEDDLE_WMMA_LOAD(a, col, m, n, k, type, memory, ptx, kind, count_a)                            \
    HEDDLE_WMMA_LOAD(b, row, m, n, k, type, memory, ptx, kind, count_b)                            \
    HEDDLE_WMMA_LOAD(b, col, m, n, k, type, memory, ptx, kind, count_b)

#define HEDDLE_WMMA_SUMS(m, n, k, type, ptx, kind, count)                                          \
    HEDDLE_WMMA void load_matrix_sync(fragment<accumulator, m, n, k, type> &frag, const type *ptr, \
                                      unsigned int ldm, layout_t layout)                           \
    {                                                                                              \
        if (layout == mem_row_major) {                                                             \
            HEDDLE_WMMA_LOAD_ASM("c.sync.aligned.row.m" #m "n" #n "k" #k "." #ptx, kind, count);   \
        } else {                                                                                   \
            HEDDLE_WMMA_LOAD_ASM("c.sync.aligned.col.m" #m "n" #n "k" #k "." #ptx, kind, count);   \
        }                                                                                          \
    }                                                                                              \
    HEDDLE_WMMA void store_matrix_sync(type *ptr,                                                  \
                                       const fragment<accumulator, m, n, k, type> &frag,           \
                                       unsigned int ldm, layout_t layout)                          \
    {                                                                                              \
        HEDDLE_WMMA_REGISTERS(__fd, kind, count);                                                  \
        HEDDLE_WMMA_PUT(__fd, frag);                                                               \
        if (layout == mem_row_major)                                                               \
            HEDDLE_WMMA_STORE_ASM("row.m" #m "n" #n "k" #k "." #ptx, kind, count);                 \
        else                                                                                       \
            HEDDLE_WMMA_STORE_ASM("col.m" #m "n" #n "k" #k "." #ptx, kind, count);                 \
    }

#define HEDDLE_WMMA_LOADS_16(m, n, na, nb)                                                         \
    HEDDLE_WMMA_LOADS(m, n, 16, __half, __half, f16, b32, 8, 8)                                    \
    HEDDLE_WMMA_LOADS(m, n, 16, signed char, signed char, s8, b32, na, nb)                         \
    HEDDLE_WMMA_LOADS(m, n, 16, unsigned char, unsigned char, u8, b32, na, nb)                     \
    HEDDLE_WMMA_SUMS(m, n, 16, __half, f16, b32, 4)                                                \
    HEDDLE_WMMA_SUMS(m, n, 16, float, f32, f32, 8)                                                 \
    HEDDLE_WMMA_SUMS(m, n, 16, int, s32, b32, 8)
HEDDLE_WMMA_LOADS_16(16, 16, 2, 2)
HEDDLE_WMMA_LOADS_16(8, 32, 1, 4)
HEDDLE_WMMA_LOADS_16(32, 8, 4, 1)
HEDDLE_WMMA_LOADS(16, 16, 16, __nv_bfloat16, __nv_bfloat16, bf16, b32, 4, 4)
HEDDLE_WMMA_LOADS(8, 32, 16, __nv_bfloat16, __nv_bfloat16, bf16, b32, 2, 8)
HEDDLE_WMMA_LOADS(32, 8, 16, __nv_bfloat16, __nv_bfloat16, bf16, b32, 8, 2)
HEDDLE_WMMA_LOADS(16, 16, 8, precision::tf32, float, tf32, b32, 4, 4)
HEDDLE_WMMA_SUMS(16, 16, 8, float, f32, f32, 8)
HEDDLE_WMMA_LOADS(8, 8, 4, double, double, f64, f64, 1, 1)
HEDDLE_WMMA_SUMS(8, 8, 4, double, f64, f64, 2)
HEDDLE_WMMA_LOAD(a, row, 8, 8, 32, experimental::precision::s4, void, s4, b32, 1)
HEDDLE_WMMA_LOAD(b, col, 8, 8, 32, experimental::precision::s4, void, s4, b32, 1)
HEDDLE_WMMA_LOAD(a, row, 8, 8, 32, experimental::precision::u4, void, u4, b32, 1)
HEDDLE_WMMA_LOAD(b, col, 8, 8, 32, experimental::precision::u4, void, u4, b32, 1)
HEDDLE_WMMA_SUMS(8, 8, 32, int, s32, b32, 2)
HEDDLE_WMMA_LOAD(a, row, 8, 8, 128, experimental::precision::b1, void, b1, b32, 1)
HEDDLE_WMMA_LOAD(b, col, 8, 8, 128, experimental::precision::b1, void, b1, b32, 1)
HEDDLE_WMMA_SUMS(8, 8, 128, int, s32, b32, 2)

/* d = a * b + c; body is what the function does, with the instruction's name made of the layouts. */
#define HEDDLE_WMMA_MMA(body, oa, ob, m, n, k, input, sum_d, sum_c, types, ...)                    \
    HEDDLE_WMMA void mma_sync(fragment<accumulator, m, n, k, sum_d> &d,                            \
                              const fragment<matrix_a, m, n, k, input, oa##_major> &a,             \
                              const fragment<matrix_b, m, n, k, input, ob##_major> &b,             \
                              const fragment<accumulator, m, n, k, sum_c> &c, bool satf = false)   \
    {                                                                                              \
        HEDDLE_WMMA_OPERANDS(__VA_ARGS__);                                                         \
        body("sync.aligned." #oa "." #ob ".m" #m "n" #n "k" #k types, __VA_ARGS__);                \
    }
#define HEDDLE_WMMA_FLOAT(text, ...)                                                               \
    HEDDLE_WMMA_MMA_ASM(text, __VA_ARGS__);                                                        \
    HEDDLE_WMMA_GET(d, __fd);                                                                      \
    if (satf)                                                                                      \
    heddle::make_finite(d)
#define HEDDLE_WMMA_DOUBLE(text, ...)                                                              \
    HEDDLE_WMMA_MMA_ASM(text, __VA_ARGS__);                                                        \
    HEDDLE_WMMA_GET(d, __fd);                                                                      \
    (void)satf
#define HEDDLE_WMMA_INT(text, ...)                                                                 \
    if (satf)                                                                                      \
        HEDDLE_WMMA_MMA_ASM(text ".satfinite", __VA_ARGS__);                                       \
    else                                                                                           \
        HEDDLE_WMMA_MMA_ASM(text, __VA_ARGS__);                                                    \
    HEDDLE_WMMA_GET(d, __fd)
#define HEDDLE_WMMA_ORDERS(body, ...)                                                              \
    HEDDLE_WMMA_MMA(body, row, row, __VA_ARGS__)                                                   \
    HEDDLE_WMMA_MMA(body, row, col, __VA_ARGS__)                                                   \
    HEDDLE_WMMA_MMA(body, col, row, __VA_ARGS__)                                                   \
    HEDDLE_WMMA_MMA(body, col, col, __VA_ARGS__)

#define HEDDLE_WMMA_HALVES(m, n)                                                                   \
    HEDDLE_WMMA_ORDERS(HEDDLE_WMMA_FLOAT, m, n, 16, __half, __half, __half, ".f16.f16", b32, 4,    \
                       b32, 8, 8, b32, 4)                                                          \
    HEDDLE_WMMA_ORDERS(HEDDLE_WMMA_FLOAT, m, n, 16, __half, float, __half, ".f32.f16", f32, 8,     \
                       b32, 8, 8, b32, 4)                                                          \
    HEDDLE_WMMA_ORDERS(HEDDLE_WMMA_FLOAT, m, n, 16, __half, __half, float, ".f16.f32", b32, 4,     \
                       b32, 8, 8, f32, 8)                                                          \
    HEDDLE_WMMA_ORDERS(HEDDLE_WMMA_FLOAT, m, n, 16, __half, float, float, ".f32.f32", f32, 8, b32, \
                       8, 8, f32, 8)
HEDDLE_WMMA_HALVES(16, 16)
HEDDLE_WMMA_HALVES(8, 32)
HEDDLE_WMMA_HALVES(32, 8)

#define HEDDLE_WMMA_BYTES(m, n, na, nb)                                                            \
    HEDDLE_WMMA_ORDERS(HEDDLE_WMMA_INT, m, n, 16, signed char, int, int, ".s32.s8.s8.s32", b32, 8, \
                       b32, na, nb, b32, 8)                                                        \
    HEDDLE_WMMA_ORDERS(HEDDLE_WMMA_INT, m, n, 16, unsigned char, int, int, ".s32.u8.u8.s32", b32,  \
                       8, b32, na, nb, b32, 8)
HEDDLE_WMMA_BYTES(16, 16, 2, 2)
HEDDLE_WMMA_BYTES(8, 32, 1, 4)
HEDDLE_WMMA_BYTES(32, 8, 4, 1)

#define HEDDLE_WMMA_BFLOATS(m, n, na, nb)                                                          \
    HEDDLE_WMMA_ORDERS(HEDDLE_WMMA_FLOAT, m, n, 16, __nv_bfloat16, float, float,                   \
                       ".f32.bf16.bf16.f32", f32, 8, b32, na, nb, f32, 8)
HEDDLE_WMMA_BFLOATS(16, 16, 4, 4)
HEDDLE_WMMA_BFLOATS(8, 32, 2, 8)
HEDDLE_WMMA_BFLOATS(32, 8, 8, 2)

HEDDLE_WMMA_ORDERS(HEDDLE_WMMA_FLOAT, 16, 16, 8, precision::tf32, float, float,
                   ".f32.tf32.tf32.f32", f32, 8, b32, 4, 4, f32, 8)
HEDDLE_WMMA_ORDERS(HEDDLE_WMMA_DOUBLE, 8, 8, 4, double, double, double, ".f64.f64.f64.f64", f64, 2,
                   f64, 1, 1, f64, 2)
HEDDLE_WMMA_MMA(HEDDLE_WMMA_INT, row, col, 8, 8, 32, experimental::precision::s4, int, int,
                ".s32.s4.s4.s32", b32, 2, b32, 1, 1, b32, 2)
HEDDLE_WMMA_MMA(HEDDLE_WMMA_INT, row, col, 8, 8, 32, experimental::precision::u4, int, int,
                ".s32.u4.u4.s32", b32, 2, b32, 1, 1, b32, 2)

#define HEDDLE_WMMA_BITS(op)                                                                       \
    HEDDLE_WMMA_MMA_ASM(op ".popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", b32, 2, b32, 1, 1, \
                        b32, 2)
/* XOR is there since compute capability 7.5, AND since 8.0. */
HEDDLE_WMMA void
bmma_sync(fragment<accumulator, 8, 8, 128, int> &d,
          const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major> &a,
          const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major> &b,
          const fragment<accumulator, 8, 8, 128, int> &c,
          experimental::bmmaBitOp op = experimental::bmmaBitOpXOR,
          experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC)
{
    HEDDLE_WMMA_OPERANDS(b32, 2, b32, 1, 1, b32, 2);
    if (op == experimental::bmmaBitOpXOR)
        HEDDLE_WMMA_BITS("xor");
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    else
        HEDDLE_WMMA_BITS("and");
#else
    else
        __builtin_trap();
#endif
    HEDDLE_WMMA_GET(d, __fd);
}

} // namespace wmma
} // namespace nvcuda

#undef HEDDLE_WMMA_BITS
#undef HEDDLE_WMMA_BFLOATS
#undef HEDDLE_WMMA_BYTES
#undef HEDDLE_WMMA_HALVES
#undef HEDDLE_WMMA_ORDERS
#undef HEDDLE_WMMA_INT
#undef HEDDLE_WMMA_DOUBLE
#undef HEDDLE_WMMA_FLOAT
#undef HEDDLE_WMMA_MMA
#undef HEDDLE_WMMA_LOADS_16
#undef HEDDLE_WMMA_SUMS
#undef HEDDLE_WMMA_LOADS
#undef HEDDLE_WMMA_LOAD
#undef HEDDLE_WMMA_OPERANDS
#undef HEDDLE_WMMA_MMA_ASM
#undef HEDDLE_WMMA_STORE_ASM
#undef HEDDLE_WMMA_LOAD_ASM
#undef HEDDLE_WMMA_GET
#undef HEDDLE_WMMA_PUT
#undef HEDDLE_WMMA_REGISTERS
#undef HEDDLE_WMMA_ASM

#endif
