/*
 * Products of matrices that cuBLAS and CUTLASS make: results of a wider type than the operands,
 * operands of 8 and 4 bits with scales. The operands are widened to float, then multiplied.
 */
#pragma once

#include <ATen/ops/_scaled_grouped_mm_v2.h>
#include <ATen/ops/_scaled_mm_v2.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

namespace heddle {

using at::IntArrayRef;
using at::Tensor;

/* ---- mm.dtype and so on */

inline void check_out_type(const char *name, const Tensor &t, c10::ScalarType out)
{
    TORCH_CHECK(out == t.scalar_type() ||
                    (out == c10::kFloat &&
                     (t.scalar_type() == c10::kHalf || t.scalar_type() == c10::kBFloat16)),
                name, ": out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs");
}

inline Tensor mm_dtype(const Tensor &self, const Tensor &mat2, c10::ScalarType out)
{
    Composition composition;
    check_out_type("mm", self, out);
    return at::mm(self.to(out), mat2.to(out));
}
inline Tensor bmm_dtype(const Tensor &self, const Tensor &mat2, c10::ScalarType out)
{
    Composition composition;
    check_out_type("bmm", self, out);
    return at::bmm(self.to(out), mat2.to(out));
}
inline Tensor addmm_dtype(const Tensor &self, const Tensor &mat1, const Tensor &mat2,
                          c10::ScalarType out, const at::Scalar &beta, const at::Scalar &alpha)
{
    Composition composition;
    check_out_type("addmm", mat1, out);
    return at::addmm(self.to(out), mat1.to(out), mat2.to(out), beta, alpha);
}
inline Tensor baddbmm_dtype(const Tensor &self, const Tensor &batch1, const Tensor &batch2,
                            c10::ScalarType out, const at::Scalar &beta, const at::Scalar &alpha)
{
    Composition composition;
    check_out_type("baddbmm", batch1, out);
    return at::baddbmm(self.to(out), batch1.to(out), batch2.to(out), beta, alpha);
}

inline Tensor &mm_dtype_out(const Tensor &self, const Tensor &mat2, c10::ScalarType type,
                            Tensor &out)
{
    auto r = mm_dtype(self, mat2, type);
    Composition composition;
    return give(out, r);
}
inline Tensor &bmm_dtype_out(const Tensor &self, const Tensor &mat2, c10::ScalarType type,
                             Tensor &out)
{
    auto r = bmm_dtype(self, mat2, type);
    Composition composition;
    return give(out, r);
}
inline Tensor &addmm_dtype_out(const Tensor &self, const Tensor &mat1, const Tensor &mat2,
                               c10::ScalarType type, const at::Scalar &beta,
                               const at::Scalar &alpha, Tensor &out)
{
    auto r = addmm_dtype(self, mat1, mat2, type, beta, alpha);
    Composition composition;
    return give(out, r);
}
inline Tensor &baddbmm_dtype_out(const Tensor &self, const Tensor &batch1, const Tensor &batch2,
                                 c10::ScalarType type, const at::Scalar &beta,
                                 const at::Scalar &alpha, Tensor &out)
{
    auto r = baddbmm_dtype(self, batch1, batch2, type, beta, alpha);
    Composition composition;
    return give(out, r);
}

/* ---- scaled products */

/* What one scale is for; the numbers are PyTorch's (torch.nn.functional.ScalingType). */
enum class Scaling { TENSOR, ROW, BLOCK_1X16, BLOCK_1X32, BLOCK_1X128, BLOCK_128X128 };

/* How many rows and columns of an operand one scale is for. Rows are those of [n, K]. */
struct Block {
    int64_t rows, columns;
    static Block of(Scaling s)
    {
        switch (s) {
        case Scaling::BLOCK_1X16:
            return {1, 16};
        case Scaling::BLOCK_1X32:
            return {1, 32};
        case Scaling::BLOCK_1X128:
            return {1, 128};
        case Scaling::BLOCK_128X128:
            return {128, 128};
        default:
            return {1, 0};
        }
    }
};

inline int64_t blocks(int64_t n, int64_t size)
{
    return (n + size - 1) / size;
}

/* [rows, K] as floats, also of two 4-bit numbers in a byte (the lower half is the first). */
inline Tensor widened(const Tensor &t)
{
    if (t.scalar_type() != c10::ScalarType::Float4_e2m1fn_x2)
        return t.to(c10::kFloat);
    auto bytes = t.view(c10::kByte).to(c10::kLong);
    auto codes = at::stack({bytes.bitwise_and(15), bytes.__rshift__(4)}, -1).flatten(-2);
    auto values = at::tensor({0.f, .5f, 1.f, 1.5f, 2.f, 3.f, 4.f, 6.f, -0.f, -.5f, -1.f, -1.5f,
                              -2.f, -3.f, -4.f, -6.f})
                      .to(t.device());
    return values.index_select(0, codes.flatten()).view(codes.sizes());
}

/* Scales that lie as tensor cores want them: tiles of 128 rows and 4 columns. */
inline Tensor unswizzled(const Tensor &scale, int64_t rows, int64_t columns)
{
    int64_t r = blocks(rows, 128), c = blocks(columns, 4);
    TORCH_CHECK(scale.numel() == r * c * 512, "Heddle: ", scale.numel(),
                " block scales, but 128 x 4 tiles of ", rows, " x ", columns, " have ",
                r * c * 512);
    return scale.reshape({r, c, 32, 4, 4})
        .permute({0, 3, 2, 1, 4})
        .reshape({r * 128, c * 4})
        .slice(0, 0, rows)
        .slice(1, 0, columns);
}

/* `t`, [rows, K] in floats, times its scales. Scales of blocks may lie transposed. */
inline Tensor scaled(const Tensor &t, const Tensor &scale, Scaling scaling, bool is_swizzled)
{
    auto s = scale.to(c10::kFloat);
    int64_t rows = t.size(0), columns = t.size(1);
    if (scaling == Scaling::TENSOR)
        return t * s.reshape({});
    if (scaling == Scaling::ROW)
        return t * s.reshape({rows, 1});
    Block b = Block::of(scaling);
    int64_t br = blocks(rows, b.rows), bc = blocks(columns, b.columns);
    if (is_swizzled)
        s = unswizzled(s, br, bc);
    else
        s = s.dim() == 2 && s.size(0) >= br && s.size(1) >= bc ? s.slice(0, 0, br).slice(1, 0, bc)
                                                               : s.reshape({br, bc});
    if (b.rows > 1)
        s = s.repeat_interleave(b.rows, 0).slice(0, 0, rows);
    return t * s.repeat_interleave(b.columns, 1).slice(1, 0, columns);
}

/* Results that do not fit an 8-bit type are its greatest numbers. */
inline Tensor narrowed(const Tensor &t, c10::ScalarType type)
{
    if (type == c10::ScalarType::Float8_e4m3fn)
        return t.clamp(-448, 448).to(type);
    if (type == c10::ScalarType::Float8_e5m2)
        return t.clamp(-57344, 57344).to(type);
    return t.to(type);
}

struct Scale {
    Tensor scale, second; /* second: for the whole tensor */
    Scaling scaling;
    bool is_swizzled;

    Tensor apply(const Tensor &t) const
    {
        auto r = scaled(widened(t), scale, scaling, is_swizzled);
        return second.defined() ? r * second.to(c10::kFloat).reshape({}) : r;
    }
};

/* As PyTorch reads it off type and shape of the scale of `t`, [rows, K]. */
inline Scale guessed(const Tensor &t, const Tensor &scale, const char *name)
{
    int64_t rows = t.size(0), k = t.size(1);
    if (scale.scalar_type() == c10::ScalarType::Float8_e8m0fnu)
        return {scale, {}, Scaling::BLOCK_1X32, true};
    if (scale.scalar_type() == c10::ScalarType::Float8_e4m3fn)
        return {scale, {}, Scaling::BLOCK_1X16, true};
    TORCH_CHECK(scale.scalar_type() == c10::kFloat, name, " must be float32 tensors, but got ",
                scale.scalar_type());
    if (scale.numel() == 1)
        return {scale, {}, Scaling::TENSOR, false};
    if (scale.dim() == 2 && scale.size(0) == rows && scale.size(1) == 1)
        return {scale, {}, Scaling::ROW, false};
    if (scale.dim() == 2 && scale.size(0) == rows && scale.size(1) == blocks(k, 128))
        return {scale, {}, Scaling::BLOCK_1X128, false};
    if (scale.dim() == 2 && scale.size(0) == blocks(rows, 128) && scale.size(1) == blocks(k, 128))
        return {scale, {}, Scaling::BLOCK_128X128, false};
    TORCH_CHECK(false, "Invalid scaling configuration: ", name, " has the shape ", scale.sizes(),
                " for an operand of ", rows, " rows of ", k);
}

/*
 * How an operator's C++ functions take lists of tensors: from one version of PyTorch to another it
 * is at::TensorList or at::ITensorListRef.
 */
template <class Function> struct Arguments;
template <class Result, class... A> struct Arguments<Result(A...)> {
    template <size_t i> using at = std::tuple_element_t<i, std::tuple<A...>>;
};
using List = Arguments<at::_ops::_scaled_mm_v2::schema>::at<2>;
using GroupList = Arguments<at::_ops::_scaled_grouped_mm_v2::schema>::at<2>;

template <class L> std::vector<Tensor> tensors(const L &list)
{
    std::vector<Tensor> v;
    for (const Tensor &t : list)
        v.push_back(t);
    return v;
}

inline Scale said(at::TensorList scales, IntArrayRef recipes, IntArrayRef swizzles)
{
    TORCH_CHECK(!scales.empty() && scales.size() == recipes.size() && scales.size() <= 2,
                "Heddle: a scaled product takes one or two scales for an operand, got ",
                scales.size(), " with ", recipes.size(), " recipes");
    Scale s{scales[0], {}, static_cast<Scaling>(recipes[0]), !swizzles.empty() && swizzles[0] != 0};
    if (scales.size() == 2) {
        TORCH_CHECK(static_cast<Scaling>(recipes[1]) == Scaling::TENSOR,
                    "Heddle: the second scale of an operand is for the whole tensor");
        s.second = scales[1];
    }
    return s;
}

inline void check_scaled(const Tensor &a, const Tensor &b)
{
    TORCH_CHECK(a.dim() == 2, "mat1 must be a matrix");
    TORCH_CHECK(b.dim() == 2, "mat2 must be a matrix");
    TORCH_CHECK(a.size(1) == b.size(0), "mat1 and mat2 shapes cannot be multiplied (", a.size(0),
                "x", a.size(1), " and ", b.size(0), "x", b.size(1), ")");
    TORCH_CHECK(a.size(1) % 16 == 0,
                "Expected trailing dimension of mat1 to be divisible by 16 but got mat1 shape: (",
                a.size(0), "x", a.size(1), ").");
    TORCH_CHECK(b.size(0) % 16 == 0 && b.size(1) % 16 == 0, "mat2 shape (", b.size(0), "x",
                b.size(1), ") must be divisible by 16");
    TORCH_CHECK(a.scalar_type() != c10::ScalarType::Float8_e5m2 ||
                    b.scalar_type() != c10::ScalarType::Float8_e5m2,
                "Multiplication of two Float8_e5m2 matrices is not supported");
}

inline Tensor scaled_product(const Tensor &a, const Tensor &b, const Scale &scale_a,
                             const Scale &scale_b)
{
    return at::mm(scale_a.apply(a), scale_b.apply(b.t()).t());
}

inline Tensor finished(Tensor r, const std::optional<Tensor> &bias,
                       const std::optional<Tensor> &scale_result, c10::ScalarType type)
{
    if (defined(bias))
        r = r + bias->to(c10::kFloat);
    if (defined(scale_result) && c10::isFloat8Type(type))
        r = r * scale_result->to(c10::kFloat);
    return narrowed(r, type);
}

inline Tensor scaled_mm(const Tensor &a, const Tensor &b, const Tensor &scale_a,
                        const Tensor &scale_b, const std::optional<Tensor> &bias,
                        const std::optional<Tensor> &scale_result,
                        std::optional<c10::ScalarType> type, bool)
{
    Composition composition;
    check_scaled(a, b);
    auto r = scaled_product(a, b, guessed(a, scale_a, "scale_a"),
                            guessed(b.t(), scale_b.dim() == 2 ? scale_b.t() : scale_b, "scale_b"));
    return finished(r, bias, scale_result, type.value_or(a.scalar_type()));
}
inline Tensor &scaled_mm_out(const Tensor &a, const Tensor &b, const Tensor &scale_a,
                             const Tensor &scale_b, const std::optional<Tensor> &bias,
                             const std::optional<Tensor> &scale_result,
                             std::optional<c10::ScalarType> type, bool fast, Tensor &out)
{
    auto r = scaled_mm(a, b, scale_a, scale_b, bias, scale_result, type, fast);
    Composition composition;
    return give(out, r);
}

/* Scales of b's blocks lie as those of its transpose do. */
inline Tensor scaled_mm_v2(const Tensor &a, const Tensor &b, List scale_a, IntArrayRef recipe_a,
                           IntArrayRef swizzle_a, List scale_b, IntArrayRef recipe_b,
                           IntArrayRef swizzle_b, const std::optional<Tensor> &bias,
                           std::optional<c10::ScalarType> type, IntArrayRef, bool)
{
    Composition composition;
    check_scaled(a, b);
    auto sa = said(tensors(scale_a), recipe_a, swizzle_a),
         sb = said(tensors(scale_b), recipe_b, swizzle_b);
    auto rows = blocks(b.size(1), Block::of(sb.scaling).rows);
    if (sb.scaling > Scaling::ROW && !sb.is_swizzled && sb.scale.dim() == 2 &&
        sb.scale.size(0) != rows && sb.scale.size(1) == rows)
        sb.scale = sb.scale.t();
    return finished(scaled_product(a, b, sa, sb), bias, std::nullopt,
                    type.value_or(a.scalar_type()));
}
inline Tensor &scaled_mm_v2_out(const Tensor &a, const Tensor &b, List scale_a,
                                IntArrayRef recipe_a, IntArrayRef swizzle_a, List scale_b,
                                IntArrayRef recipe_b, IntArrayRef swizzle_b,
                                const std::optional<Tensor> &bias,
                                std::optional<c10::ScalarType> type, IntArrayRef contraction,
                                bool fast, Tensor &out)
{
    auto r = scaled_mm_v2(a, b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, bias,
                          type, contraction, fast);
    Composition composition;
    return give(out, r);
}

inline Tensor &scaled_addmm_out(const Tensor &self, const Tensor &a, const Tensor &b, List scale_a,
                                IntArrayRef recipe_a, IntArrayRef swizzle_a, List scale_b,
                                IntArrayRef recipe_b, IntArrayRef swizzle_b,
                                IntArrayRef contraction, const at::Scalar &beta,
                                const at::Scalar &alpha, bool fast, Tensor &out)
{
    auto r = scaled_mm_v2(a, b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b,
                          std::nullopt, c10::kFloat, contraction, fast);
    Composition composition;
    r = r * alpha;
    if (beta.toDouble() != 0)
        r = r + self.to(c10::kFloat) * beta;
    return give(out, narrowed(r, self.scalar_type()));
}

/*
 * Groups: `offs` has the end of each along the rows of `a` (2-D by 3-D), the columns of `b` (3-D by
 * 2-D) or what is summed over (2-D by 2-D). Scales are by rows of `a` and columns of `b`.
 */
inline Tensor scaled_grouped_mm(const Tensor &a, const Tensor &b, const Tensor &scale_a,
                                const Tensor &scale_b, const std::optional<Tensor> &offs,
                                const std::optional<Tensor> &bias, const std::optional<Tensor> &,
                                std::optional<c10::ScalarType> type, bool)
{
    Composition composition;
    TORCH_CHECK(!defined(bias), "Bias not supported yet");
    TORCH_CHECK_NOT_IMPLEMENTED(scale_a.scalar_type() == c10::kFloat &&
                                    scale_b.scalar_type() == c10::kFloat,
                                "Heddle: aten::_scaled_grouped_mm takes scales of rows in float32; "
                                "scales of blocks are not supported");
    auto out = type.value_or(c10::kBFloat16);
    auto x = a.to(c10::kFloat), y = b.to(c10::kFloat);
    bool sums = a.dim() == 2 && b.dim() == 2;
    if (!sums) {
        x = x * scale_a.reshape([&] {
            auto s = a.sizes().vec();
            s.back() = 1;
            return s;
        }());
        y = y * scale_b.reshape([&] {
            auto s = b.sizes().vec();
            s[s.size() - 2] = 1;
            return s;
        }());
        if (!defined(offs))
            return at::bmm(x, y).to(out);
    }
    std::vector<Tensor> parts;
    int64_t first = 0, group = 0, m = a.size(-2), n = b.size(-1);
    for (int64_t end : on_host(*offs)) {
        int64_t size = end - first;
        if (sums)
            parts.push_back(at::mm(x.narrow(1, first, size), y.narrow(0, first, size)) *
                            scale_a.narrow(0, group * m, m).unsqueeze(1) *
                            scale_b.narrow(0, group * n, n).unsqueeze(0));
        else if (a.dim() == 2)
            parts.push_back(at::mm(x.narrow(0, first, size), y.select(0, group)));
        else
            parts.push_back(at::mm(x.select(0, group), y.narrow(1, first, size)));
        first = end;
        group++;
    }
    if (sums)
        return at::stack(parts).to(out);
    auto r = at::zeros({a.dim() == 2 ? a.size(0) : m, b.dim() == 2 ? b.size(1) : n},
                       a.options().dtype(out));
    r.narrow(a.dim() == 2 ? 0 : 1, 0, first).copy_(at::cat(parts, a.dim() == 2 ? 0 : 1));
    return r;
}
inline Tensor scaled_grouped_mm_v2(const Tensor &a, const Tensor &b, GroupList scale_a,
                                   IntArrayRef recipe_a, IntArrayRef, GroupList scale_b,
                                   IntArrayRef recipe_b, IntArrayRef,
                                   const std::optional<Tensor> &offs,
                                   const std::optional<Tensor> &bias,
                                   std::optional<c10::ScalarType> type, IntArrayRef, bool fast)
{
    auto sa = tensors(scale_a), sb = tensors(scale_b);
    auto by_rows = [](at::TensorList s, IntArrayRef r) {
        return s.size() == 1 && r.size() == 1 && static_cast<Scaling>(r[0]) == Scaling::ROW;
    };
    TORCH_CHECK_NOT_IMPLEMENTED(by_rows(sa, recipe_a) && by_rows(sb, recipe_b),
                                "Heddle: aten::_scaled_grouped_mm_v2 takes scales of rows; "
                                "scales of blocks are not supported");
    return scaled_grouped_mm(a, b, sa[0], sb[0], offs, bias, std::nullopt, type, fast);
}
inline Tensor &scaled_grouped_mm_v2_out(const Tensor &a, const Tensor &b, GroupList scale_a,
                                        IntArrayRef recipe_a, IntArrayRef swizzle_a,
                                        GroupList scale_b, IntArrayRef recipe_b,
                                        IntArrayRef swizzle_b, const std::optional<Tensor> &offs,
                                        const std::optional<Tensor> &bias,
                                        std::optional<c10::ScalarType> type,
                                        IntArrayRef contraction, bool fast, Tensor &out)
{
    auto r = scaled_grouped_mm_v2(a, b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b,
                                  offs, bias, type, contraction, fast);
    Composition composition;
    return give(out, r);
}

/* ---- weights of 4 bits */

/*
 * Packed: [N / 8, K / (inner * 16), 32, inner / 2] words of 8 weights, as lanes of a warp load them
 * for products of 16 x 8 x 16. Dimensions between: n / 8, k / (inner * 16), n % 8 and (k / 2) % 4
 * (the lane), pairs of tiles along K; in a word, as int4_shifts() says: tile of the pair,
 * (k / 8) % 2, k % 2.
 */
inline Tensor int4_shifts(const Tensor &like)
{
    return at::tensor({0L, 16L, 4L, 20L, 8L, 24L, 12L, 28L}).to(like.device()).view({2, 2, 2});
}

inline Tensor convert_weight_to_int4pack(const Tensor &self, int64_t inner)
{
    Composition composition;
    TORCH_CHECK(self.dim() == 2 && self.scalar_type() == c10::kByte,
                "_convert_weight_to_int4pack expects a 2-D tensor of uint8");
    TORCH_CHECK(inner == 2 || inner == 4 || inner == 8, "innerKTiles has to be 2, 4 or 8");
    int64_t n = self.size(0), k = self.size(1) * 2;
    TORCH_CHECK(n % 8 == 0 && k % (inner * 16) == 0, "expects N to be divisible by 8 and K by ",
                inner * 16, ", got ", n, " and ", k);
    auto bytes = self.to(c10::kLong);
    auto codes = at::stack({bytes.__rshift__(4), bytes.bitwise_and(15)}, -1);
    auto words = codes.reshape({n / 8, 8, k / (inner * 16), inner / 2, 2, 2, 4, 2})
                     .permute({0, 2, 1, 6, 3, 4, 5, 7});
    auto packed = words.__lshift__(int4_shifts(self)).sum({-3, -2, -1});
    /* Words of 32 bits: the lower halves. */
    return packed.reshape({-1}).view(c10::kInt).view({-1, 2}).select(1, 0).contiguous().view(
        {n / 8, k / (inner * 16), 32, inner / 2});
}

inline Tensor weight_int4pack_mm(const Tensor &self, const Tensor &packed, int64_t group,
                                 const Tensor &scales_and_zeros)
{
    Composition composition;
    TORCH_CHECK(packed.dim() == 4 && packed.scalar_type() == c10::kInt && packed.size(2) == 32,
                "_weight_int4pack_mm: weights are not those of _convert_weight_to_int4pack");
    int64_t inner = packed.size(3) * 2, n = packed.size(0) * 8, k = packed.size(1) * inner * 16;
    TORCH_CHECK(self.dim() == 2 && self.size(1) == k, "_weight_int4pack_mm: ", self.sizes(),
                " by weights of ", n, " x ", k);
    auto words = packed.to(c10::kLong).view({n / 8, k / (inner * 16), 8, 4, inner / 2, 1, 1, 1});
    auto codes = words.__rshift__(int4_shifts(packed))
                     .bitwise_and(15)
                     .permute({0, 2, 1, 4, 5, 6, 3, 7})
                     .reshape({n, k / group, group});
    auto table = scales_and_zeros.to(c10::kFloat).transpose(0, 1); /* [N, K / group, 2] */
    auto weights = (codes.to(c10::kFloat) - 8) * table.select(2, 0).unsqueeze(-1) +
                   table.select(2, 1).unsqueeze(-1);
    return at::mm(self.to(c10::kFloat), weights.view({n, k}).t()).to(self.scalar_type());
}

inline void matmul_register(Adapters &a)
{
    a.add("mm.dtype", &mm_dtype);
    a.add("mm.dtype_out", &mm_dtype_out);
    a.add("bmm.dtype", &bmm_dtype);
    a.add("bmm.dtype_out", &bmm_dtype_out);
    a.add("addmm.dtype", &addmm_dtype);
    a.add("addmm.dtype_out", &addmm_dtype_out);
    a.add("baddbmm.dtype", &baddbmm_dtype);
    a.add("baddbmm.dtype_out", &baddbmm_dtype_out);
    a.add("_scaled_mm", &scaled_mm);
    a.add("_scaled_mm.out", &scaled_mm_out);
    a.add("_scaled_mm_v2", &scaled_mm_v2);
    a.add("_scaled_mm_v2.out", &scaled_mm_v2_out);
    a.add("_scaled_addmm.out", &scaled_addmm_out);
    a.add("_scaled_grouped_mm", &scaled_grouped_mm);
    a.add("_scaled_grouped_mm_v2", &scaled_grouped_mm_v2);
    a.add("_scaled_grouped_mm_v2.out", &scaled_grouped_mm_v2_out);
    a.add("_convert_weight_to_int4pack", &convert_weight_to_int4pack);
    a.add("_weight_int4pack_mm", &weight_int4pack_mm);
}

} // namespace heddle
