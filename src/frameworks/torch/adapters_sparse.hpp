/*
 * Matrices of which two of four neighbours are kept (SparseSemiStructuredTensor): they are made
 * dense again for each product. And small operators with nothing in common.
 */
#pragma once

#include <ATen/ops/_linalg_svd.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace heddle {

using at::Tensor;

/* ---- cuSPARSELt: rows of the kept numbers, behind them where they were, in 4 bits for four */

inline Tensor cslt_compress(const Tensor &dense)
{
    Composition composition;
    int64_t item_B = dense.element_size(), m = dense.size(0), k = dense.size(1);
    TORCH_CHECK(dense.dim() == 2 && k % (8 * item_B) == 0,
                "_cslt_compress: rows have to be a multiple of ", 8 * item_B, " long, got ", k);
    auto four = dense.contiguous().view({m, k / 4, 4});
    auto kept = std::get<0>(std::get<1>(four.to(c10::kFloat)
                                            .ne(0)
                                            .to(c10::kByte)
                                            .sort(/* stable */ true, -1, /* descending */ true))
                                .slice(-1, 0, 2)
                                .sort(-1));
    auto values = four.view(c10::kByte)
                      .view({m, k / 4, 4, item_B})
                      .gather(2, kept.unsqueeze(-1).expand({m, k / 4, 2, item_B}))
                      .reshape({m, k / 2 * item_B});
    auto places = (kept.select(-1, 0) + kept.select(-1, 1) * 4).view({m, k / 8, 2});
    auto bytes = (places.select(-1, 0) + places.select(-1, 1) * 16).to(c10::kByte);
    return at::cat({values, bytes}, 1).contiguous().view(dense.scalar_type());
}

inline Tensor cslt_dense(const Tensor &compressed, int64_t k)
{
    int64_t item_B = compressed.element_size(), m = compressed.size(0);
    auto all = compressed.contiguous().view(c10::kByte);
    TORCH_CHECK(all.dim() == 2 && all.size(1) == k / 2 * item_B + k / 8,
                "_cslt_sparse_mm: a compressed matrix ", compressed.sizes(), " by one of ", k,
                " rows");
    auto bytes = all.slice(1, k / 2 * item_B).to(c10::kLong);
    auto places = at::stack({bytes.bitwise_and(15), bytes.__rshift__(4)}, -1).view({m, k / 4});
    auto kept = at::stack({places.bitwise_and(3), places.__rshift__(2)}, -1);
    return at::zeros({m, k / 4, 4, item_B}, all.options())
        .scatter(2, kept.unsqueeze(-1).expand({m, k / 4, 2, item_B}),
                 all.slice(1, 0, k / 2 * item_B).reshape({m, k / 4, 2, item_B}))
        .view({m, k * item_B})
        .view(compressed.scalar_type());
}

/* Exact for 8-bit integers: their sums are below 2^53. */
inline Tensor product_of(const Tensor &a, const Tensor &b)
{
    if (!c10::isIntegralType(a.scalar_type(), false))
        return at::mm(a.to(c10::kFloat), b.to(c10::kFloat));
    return at::mm(a.to(c10::kDouble), b.to(c10::kDouble)).to(c10::kInt);
}

inline Tensor cslt_sparse_mm(const Tensor &compressed, const Tensor &b,
                             const std::optional<Tensor> &bias, const std::optional<Tensor> &alpha,
                             std::optional<c10::ScalarType> type, bool transpose, int64_t, int64_t,
                             int64_t)
{
    Composition composition;
    auto r = product_of(cslt_dense(compressed, b.size(0)), b);
    if (defined(alpha) || defined(bias))
        r = r.to(c10::kFloat);
    if (defined(alpha))
        r = r * (alpha->numel() == 1 ? alpha->reshape({}) : alpha->unsqueeze(1));
    if (defined(bias))
        r = r + bias->to(c10::kFloat).unsqueeze(1);
    auto out = type.value_or(b.scalar_type());
    if (out == c10::kChar)
        r = r.clamp(-128, 127);
    r = narrowed(r, out);
    return transpose ? r.t().contiguous() : r;
}

/* There is one way to do it. */
inline int64_t cslt_sparse_mm_search(const Tensor &, const Tensor &, const std::optional<Tensor> &,
                                     const std::optional<Tensor> &, std::optional<c10::ScalarType>,
                                     bool)
{
    return 0;
}

/* ---- CUTLASS: kept numbers, and words of 16 or 32 bits of their places, reordered */

/* Where CUTLASS has word (row, column) of the places: column-major pairs, rows interleaved. */
inline Tensor reordered_places(int64_t m, int64_t columns, int64_t word_B, const Tensor &like)
{
    auto longs = like.options().dtype(c10::kLong);
    int64_t group = word_B == 2 ? 32 : 16, interweave = word_B == 2 ? 4 : 2;
    auto row = at::arange(m, longs).unsqueeze(1).expand({m, columns});
    auto column = at::arange(columns, longs).unsqueeze(0).expand({m, columns});
    row = row - row.remainder(group) + row.remainder(8) * interweave +
          row.remainder(group).div(8, "floor");
    /* Corners of 2 x 2 words change places. */
    auto swap = column.remainder(2) - row.remainder(2);
    row = row + swap;
    column = column - swap;
    return (column.div(2, "floor") * (2 * m) + row * 2 + column.remainder(2)).reshape({-1});
}

inline Tensor semi_structured_dense(const Tensor &kept, const Tensor &meta)
{
    int64_t m = kept.size(0), k = kept.size(1) * 2, word_B = meta.element_size();
    TORCH_CHECK_NOT_IMPLEMENTED(kept.scalar_type() != c10::kFloat,
                                "Heddle: semi-structured matrices of float32 are not supported");
    TORCH_CHECK(meta.dim() == 2 && meta.size(0) == m && meta.size(1) * word_B * 8 == k,
                "semi-structured sparse: ", kept.sizes(), " numbers with places ", meta.sizes());
    auto words = meta.reshape({-1}).gather(0, reordered_places(m, meta.size(1), word_B, meta));
    auto shifts = at::arange(word_B * 4, meta.options().dtype(c10::kLong)) * 2;
    auto places = words.to(c10::kLong).unsqueeze(1).__rshift__(shifts).bitwise_and(3);
    return at::zeros({m, k / 4, 4}, kept.options())
        .scatter(2, places.view({m, k / 4, 2}), kept.reshape({m, k / 4, 2}))
        .view({m, k});
}

inline Tensor semi_structured_mm(const Tensor &kept, const Tensor &meta, const Tensor &b,
                                 std::optional<c10::ScalarType> type)
{
    Composition composition;
    return product_of(semi_structured_dense(kept, meta), b).to(type.value_or(b.scalar_type()));
}

inline Tensor semi_structured_addmm(const Tensor &input, const Tensor &kept, const Tensor &meta,
                                    const Tensor &b, const at::Scalar &alpha,
                                    const at::Scalar &beta, std::optional<c10::ScalarType> type)
{
    Composition composition;
    auto r = product_of(semi_structured_dense(kept, meta), b) * alpha;
    return (r + input.unsqueeze(1) * beta).to(type.value_or(b.scalar_type()));
}

inline Tensor semi_structured_linear(const Tensor &input, const Tensor &weight, const Tensor &meta,
                                     const std::optional<Tensor> &bias,
                                     std::optional<std::string_view> activation,
                                     std::optional<c10::ScalarType> type)
{
    Composition composition;
    auto r = product_of(semi_structured_dense(weight, meta), input.flatten(0, -2).t());
    if (defined(bias))
        r = r + bias->unsqueeze(1);
    if (activation == "relu")
        r = r.relu();
    else if (activation == "silu")
        r = r.to(c10::kFloat).sigmoid() * r;
    else
        TORCH_CHECK(!activation || activation->empty() || activation == "none",
                    "_sparse_semi_structured_linear: Unknown activation ", *activation);
    auto sizes = input.sizes().vec();
    sizes.back() = weight.size(0);
    return r.to(type.value_or(input.scalar_type())).t().view(sizes);
}

/* ---- the rest */

inline Tensor masked_scale(const Tensor &self, const Tensor &mask, double scale)
{
    Composition composition;
    return (self * mask * scale).to(self.scalar_type());
}

/* Products of several compressed matrices: PyTorch's CPU has them for one. */
inline Tensor dense(const Tensor &t)
{
    return t.layout() == c10::kStrided ? t : t.to_dense();
}
inline Tensor &compressed_bmm_out(const Tensor &self, const Tensor &mat2, Tensor &out)
{
    Composition composition;
    return give(out, at::bmm(dense(self), dense(mat2)));
}
inline Tensor &compressed_baddbmm_out(const Tensor &self, const Tensor &batch1,
                                      const Tensor &batch2, const at::Scalar &beta,
                                      const at::Scalar &alpha, Tensor &out)
{
    Composition composition;
    return give(out, at::baddbmm(self, dense(batch1), dense(batch2), beta, alpha));
}

/* ---- which of cuSOLVER's algorithms is to be used: there is one */

inline void check_svd_driver(std::optional<std::string_view> driver)
{
    TORCH_CHECK(!driver || *driver == "gesvd" || *driver == "gesvdj" || *driver == "gesvda",
                "torch.linalg.svd: unknown svd driver ", driver.value_or(""),
                " in svd_cusolver computation. ");
}
inline std::tuple<Tensor, Tensor, Tensor> svd(const Tensor &a, bool full, bool vectors,
                                              std::optional<std::string_view> driver)
{
    static const Inner<at::_ops::_linalg_svd> inner;
    check_svd_driver(driver);
    return inner(a, full, vectors, std::nullopt);
}
inline std::tuple<Tensor &, Tensor &, Tensor &> svd_out(const Tensor &a, bool full, bool vectors,
                                                        std::optional<std::string_view> driver,
                                                        Tensor &u, Tensor &s, Tensor &vh)
{
    static const Inner<at::_ops::_linalg_svd_U> inner;
    check_svd_driver(driver);
    return inner(a, full, vectors, std::nullopt, u, s, vh);
}

inline void sparse_register(Adapters &a)
{
    a.add("_cslt_compress", &cslt_compress);
    a.add("_cslt_sparse_mm", &cslt_sparse_mm);
    a.add("_cslt_sparse_mm_search", &cslt_sparse_mm_search);
    a.add("_sparse_semi_structured_mm", &semi_structured_mm);
    a.add("_sparse_semi_structured_addmm", &semi_structured_addmm);
    a.add("_sparse_semi_structured_linear", &semi_structured_linear);
    a.add("_masked_scale", &masked_scale);
    a.add("_linalg_svd", &svd);
    a.add("_linalg_svd.U", &svd_out);
    a.add_compressed("bmm.out", &compressed_bmm_out);
    a.add_compressed("baddbmm.out", &compressed_baddbmm_out);
}

} // namespace heddle
