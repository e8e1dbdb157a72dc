/*
 * Fragments of matrices that a warp holds together. Part of mma.h.
 *
 * x[] is this thread's part in the order of the registers of PTX's wmma instructions. Types below a
 * byte are packed: num_elements counts the matrix's elements, num_storage_elements those of x[].
 * A combination of use, shape and type that PTX does not have is an incomplete type.
 */
#ifndef HEDDLE_CUDA_WMMA_FRAGMENT_H
#define HEDDLE_CUDA_WMMA_FRAGMENT_H

#define HEDDLE_WMMA static __device__ __forceinline__

namespace nvcuda {
namespace wmma {

enum layout_t { mem_row_major, mem_col_major };

struct row_major {};
struct col_major {};
struct matrix_a {};
struct matrix_b {};
struct accumulator {};

namespace precision {
struct tf32 {};
} // namespace precision

namespace experimental {
namespace precision {
struct u4 {};
struct s4 {};
struct b1 {};
} // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
} // namespace experimental

namespace heddle {

/* _Pack elements of the matrix are in each of the _Count elements of x[]. */
template <typename _Element, typename _Storage, int _Count, int _Pack = 1> struct part {
    using element_type = _Element;
    using storage_element_type = _Storage;
    enum { num_elements = _Count * _Pack, num_storage_elements = _Count };
    _Storage x[_Count];
};

} // namespace heddle

template <typename _Use, int _Mp, int _Np, int _Kp, typename _Tp, typename _Layout = void>
class fragment;

#define HEDDLE_WMMA_INPUT(use, m, n, k, type, ...)                                                 \
    template <>                                                                                    \
    class fragment<use, m, n, k, type, row_major> : public heddle::part<type, __VA_ARGS__> {};     \
    template <>                                                                                    \
    class fragment<use, m, n, k, type, col_major> : public heddle::part<type, __VA_ARGS__> {};
#define HEDDLE_WMMA_SUM(m, n, k, type, count)                                                      \
    template <>                                                                                    \
    class fragment<accumulator, m, n, k, type> : public heddle::part<type, type, count> {};
/* Sub-byte matrices have one layout each. */
#define HEDDLE_WMMA_PACKED(k, type, storage, pack)                                                 \
    template <>                                                                                    \
    class fragment<matrix_a, 8, 8, k, experimental::precision::type, row_major>                    \
        : public heddle::part<experimental::precision::type, storage, 1, pack> {};                 \
    template <>                                                                                    \
    class fragment<matrix_b, 8, 8, k, experimental::precision::type, col_major>                    \
        : public heddle::part<experimental::precision::type, storage, 1, pack> {};

#define HEDDLE_WMMA_FRAGMENTS(m, n, bytes_a, bytes_b)                                              \
    HEDDLE_WMMA_INPUT(matrix_a, m, n, 16, __half, __half, 16)                                      \
    HEDDLE_WMMA_INPUT(matrix_b, m, n, 16, __half, __half, 16)                                      \
    HEDDLE_WMMA_INPUT(matrix_a, m, n, 16, signed char, signed char, bytes_a)                       \
    HEDDLE_WMMA_INPUT(matrix_b, m, n, 16, signed char, signed char, bytes_b)                       \
    HEDDLE_WMMA_INPUT(matrix_a, m, n, 16, unsigned char, unsigned char, bytes_a)                   \
    HEDDLE_WMMA_INPUT(matrix_b, m, n, 16, unsigned char, unsigned char, bytes_b)                   \
    HEDDLE_WMMA_INPUT(matrix_a, m, n, 16, __nv_bfloat16, __nv_bfloat16, bytes_a)                   \
    HEDDLE_WMMA_INPUT(matrix_b, m, n, 16, __nv_bfloat16, __nv_bfloat16, bytes_b)                   \
    HEDDLE_WMMA_SUM(m, n, 16, __half, 8)                                                           \
    HEDDLE_WMMA_SUM(m, n, 16, float, 8)                                                            \
    HEDDLE_WMMA_SUM(m, n, 16, int, 8)

HEDDLE_WMMA_FRAGMENTS(16, 16, 8, 8)
HEDDLE_WMMA_FRAGMENTS(8, 32, 4, 16)
HEDDLE_WMMA_FRAGMENTS(32, 8, 16, 4)
HEDDLE_WMMA_INPUT(matrix_a, 16, 16, 8, precision::tf32, float, 4)
HEDDLE_WMMA_INPUT(matrix_b, 16, 16, 8, precision::tf32, float, 4)
HEDDLE_WMMA_SUM(16, 16, 8, float, 8)
HEDDLE_WMMA_INPUT(matrix_a, 8, 8, 4, double, double, 1)
HEDDLE_WMMA_INPUT(matrix_b, 8, 8, 4, double, double, 1)
HEDDLE_WMMA_SUM(8, 8, 4, double, 2)
HEDDLE_WMMA_PACKED(32, s4, int, 8)
HEDDLE_WMMA_PACKED(32, u4, unsigned int, 8)
HEDDLE_WMMA_PACKED(128, b1, unsigned int, 32)
HEDDLE_WMMA_SUM(8, 8, 32, int, 2)
HEDDLE_WMMA_SUM(8, 8, 128, int, 2)

#undef HEDDLE_WMMA_FRAGMENTS
#undef HEDDLE_WMMA_PACKED
#undef HEDDLE_WMMA_SUM
#undef HEDDLE_WMMA_INPUT

template <typename _Use, int _Mp, int _Np, int _Kp, typename _Tp, typename _Layout>
HEDDLE_WMMA void fill_fragment(
    fragment<_Use, _Mp, _Np, _Kp, _Tp, _Layout> &frag,
    const typename fragment<_Use, _Mp, _Np, _Kp, _Tp, _Layout>::storage_element_type &value)
{
    for (int at = 0; at < frag.num_storage_elements; at++)
        frag.x[at] = value;
}

HEDDLE_WMMA float __float_to_tf32(float value)
{
    float tf32 = value;
#if defined(__CUDA_ARCH__)
    unsigned int bits;
    __asm__("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    __builtin_memcpy(&tf32, &bits, sizeof tf32);
#endif
    return tf32;
}

} // namespace wmma
} // namespace nvcuda

#endif
