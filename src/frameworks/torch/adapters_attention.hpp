/*
 * Attention: what PyTorch's flash, memory-efficient and cuDNN kernels compute.
 *
 * PyTorch's own functions around them stay (KEEP rows of spec/torch.def): they choose the backend,
 * and bring dense and nested tensors into the form that the kernels take. The kernels are PyTorch's
 * flash attention for the CPU where that can do it, else products and a softmax.
 *
 * Dropout. A forward kernel draws a seed from the device's generator, and returns it as PyTorch's
 * kernels do; what is dropped is a function of that seed and an element's index, so that the
 * backward kernel finds the same. The numbers are not those of a GPU.
 */
#pragma once

#include <ATen/Parallel.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <cmath>
#include <limits>

namespace heddle {

using at::Tensor;

/* ---- heddle::uniform: numbers of [0, 1) that are functions of seed, offset and index */

inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

inline Tensor uniform_host(const Tensor &seed, const Tensor &offset, at::IntArrayRef size,
                           int64_t first)
{
    auto out = at::empty(size, seed.options().dtype(c10::kFloat));
    uint64_t key = mix(mix(*static_cast<const uint64_t *>(seed.const_data_ptr())) ^
                       *static_cast<const uint64_t *>(offset.const_data_ptr()));
    float *to = out.mutable_data_ptr<float>();
    at::parallel_for(0, out.numel(), 16384, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            uint64_t x = mix(key ^ mix(static_cast<uint64_t>(first + i)));
            to[i] = static_cast<float>(x >> 40) * 0x1p-24f;
        }
    });
    return out;
}

inline Tensor uniform_meta(const Tensor &seed, const Tensor &, at::IntArrayRef size, int64_t)
{
    return at::empty(size, seed.options().dtype(c10::kFloat));
}

/* ---- one kernel for all */

/* What scores are changed by, beside a bias. */
struct Form {
    double scale = 1;
    bool causal = false;
    bool from_end = false; /* the last query sees the last key, else the first sees the first */
    int64_t left = -1, right = -1; /* keys that a query sees on each side; -1: all */
    std::optional<Tensor> slopes;  /* ALiBi's: [heads] or [batch, heads] */
    double dropout = 0;
    Tensor seed, offset; /* of dropout */
    int64_t first = 0;   /* index of the first element, for dropout */

    bool is_plain_causal(int64_t nq, int64_t nk) const
    {
        return causal && left < 0 && right < 0 && !slopes && (nq == nk || !from_end);
    }
    bool has_mask() const
    {
        return causal || left >= 0 || right >= 0 || slopes;
    }
};

inline double scale_of(std::optional<double> scale, const Tensor &q)
{
    return scale ? *scale : 1 / std::sqrt(static_cast<double>(q.size(-1)));
}

/* What is added to the scores of [batch, heads, nq, nk]; nothing if that is nothing. */
inline std::optional<Tensor> bias_of(const Form &form, const std::optional<Tensor> &bias,
                                     int64_t nq, int64_t nk, const Tensor &like)
{
    auto type = sum_type(like);
    if (!form.has_mask())
        return bias;
    auto positions = like.options().dtype(c10::kLong);
    /* Key minus the query's place among the keys. */
    auto distance = at::arange(nk, positions).unsqueeze(0) -
                    (at::arange(nq, positions).unsqueeze(1) + (form.from_end ? nk - nq : 0));
    int64_t right = form.causal ? 0 : form.right;
    auto sum = at::zeros({nq, nk}, like.options().dtype(type));
    if (right >= 0)
        sum = sum.masked_fill(distance > right, -INFINITY);
    if (form.left >= 0)
        sum = sum.masked_fill(distance < -form.left, -INFINITY);
    if (form.slopes)
        sum = sum - form.slopes->to(type).unsqueeze(-1).unsqueeze(-1) * distance.abs();
    return bias ? sum + *bias : sum;
}

/* Heads of keys and values that several heads of the queries share. */
inline Tensor repeated(const Tensor &t, int64_t heads)
{
    int64_t own = t.size(1);
    return own == heads || !own ? t : t.repeat_interleave(heads / own, 1);
}
inline Tensor summed(const Tensor &grad, int64_t heads)
{
    if (grad.size(1) == heads || !heads)
        return grad;
    return grad.unflatten(1, {heads, grad.size(1) / heads}).sum(2);
}

/* [batch, heads, n, width] tensors. `bias` can be broadcast to [batch, heads, nq, nk]. */
class Attention {
  public:
    Attention(const Tensor &q, const Tensor &k, const Tensor &v, const std::optional<Tensor> &bias,
              const Form &form)
        : form(form), q(q), k(repeated(k, q.size(1))), v(repeated(v, q.size(1))),
          kv_heads(k.size(1)), given(bias)
    {
        int64_t nq = q.size(2), nk = k.size(2);
        is_causal = !bias && form.is_plain_causal(nq, nk);
        added = is_causal ? std::nullopt : bias_of(form, bias, nq, nk, q);
        is_flash = form.dropout == 0 && q.size(3) == v.size(3) && q.numel() && k.numel();
    }

    /* The sums of exponents, [batch, heads, nq], are infinite for queries that see no key. */
    std::tuple<Tensor, Tensor> forward() const
    {
        if (is_flash) {
            auto [out, lse] = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0, is_causal,
                                                                              mask(), form.scale);
            return {out, lse};
        }
        auto s = scores();
        auto lse = s.logsumexp(-1);
        auto p = weights(s, lse);
        if (form.dropout > 0)
            p = p * kept();
        return {p.matmul(v.to(s.scalar_type())).to(q.scalar_type()), lse};
    }

    struct Gradients {
        Tensor q, k, v, bias;
    };
    Gradients backward(const Tensor &grad, const Tensor &out, const Tensor &lse, bool of_bias) const
    {
        if (is_flash && !of_bias) {
            auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
                grad, q, k, v, out, lse.transpose(1, 2).contiguous().transpose(1, 2), 0, is_causal,
                mask(), form.scale);
            return {dq, summed(dk, kv_heads), summed(dv, kv_heads), {}};
        }
        auto s = scores();
        auto type = s.scalar_type();
        auto p = weights(s, lse.to(type)), g = grad.to(type), w = v.to(type);
        auto dp = g.matmul(w.transpose(-1, -2));
        Tensor dropped = p;
        if (form.dropout > 0) {
            auto keep = kept();
            dropped = p * keep;
            dp = dp * keep;
        }
        auto delta = (g * out.to(type)).sum(-1, true);
        auto ds = p * (dp - delta);
        Gradients r;
        r.v = summed(dropped.transpose(-1, -2).matmul(g), kv_heads).to(v.scalar_type());
        r.q = (ds.matmul(k.to(type)) * form.scale).to(q.scalar_type());
        r.k = summed(ds.transpose(-1, -2).matmul(q.to(type)) * form.scale, kv_heads)
                  .to(k.scalar_type());
        if (of_bias && given)
            r.bias = ds.sum_to_size(given->sizes()).to(given->scalar_type());
        return r;
    }

    /* Weights as they meet the values; those that were dropped are negative. */
    Tensor debug_mask() const
    {
        auto s = scores();
        auto p = weights(s, s.logsumexp(-1));
        return (form.dropout > 0 ? at::where(kept() > 0, p, -p) : p).to(q.scalar_type());
    }

  private:
    const Form &form;
    Tensor q, k, v;
    int64_t kv_heads;
    std::optional<Tensor> given, added;
    bool is_causal, is_flash;

    std::optional<Tensor> mask() const
    {
        if (!added)
            return added;
        auto m = added->expand({q.size(0), q.size(1), q.size(2), k.size(2)});
        return m.scalar_type() == q.scalar_type() || m.scalar_type() == sum_type(q)
                   ? m
                   : m.to(sum_type(q));
    }
    Tensor scores() const
    {
        auto type = sum_type(q);
        auto s = q.to(type).matmul(k.to(type).transpose(-1, -2)) * form.scale;
        if (is_causal) {
            Form f = form;
            return s + *bias_of(f, std::nullopt, q.size(2), k.size(2), q);
        }
        return added ? s + *added : s;
    }
    static Tensor weights(const Tensor &s, const Tensor &lse)
    {
        auto sum = lse.unsqueeze(-1);
        return at::where(sum.isinf(), at::zeros({}, s.options()), (s - sum).exp());
    }
    /* 0 where dropped, else what the rest is scaled by. */
    Tensor kept() const
    {
        static const auto uniform =
            c10::Dispatcher::singleton()
                .findSchemaOrThrow("heddle::uniform", "")
                .typed<Tensor(const Tensor &, const Tensor &, at::IntArrayRef, int64_t)>();
        auto u = uniform.call(form.seed, form.offset, {q.size(0), q.size(1), q.size(2), k.size(2)},
                              form.first);
        return (u >= form.dropout).to(sum_type(q)) / (1 - form.dropout);
    }
};

/* ---- several sequences in one tensor */

/* Numbers of the device that shapes depend on: lengths, offsets. */
inline std::vector<int64_t> on_host(const Tensor &t)
{
    auto host = t.to(c10::kCPU, c10::kLong).contiguous();
    auto *p = host.const_data_ptr<int64_t>();
    return {p, p + host.numel()};
}

/* Where each sequence is: [first, first + n) of `total` rows, or row i of a batch. */
class Sequences {
  public:
    /* `t`: [total, heads, width] with offsets, else [batch, n, heads, width]. */
    Sequences(const Tensor &t, const std::optional<Tensor> &offsets,
              const std::optional<Tensor> &used, const std::optional<Tensor> &pages)
    {
        if (offsets && !pages)
            first = on_host(*offsets);
        if (used)
            length = on_host(*used);
        page_of = pages;
        this->t = t;
        if (first.empty())
            count = page_of ? page_of->size(0) : t.size(0);
        else
            count = static_cast<int64_t>(first.size()) - 1;
    }
    int64_t count;

    /* Sequence i of `from`, which is laid out as the tensor is: [1, heads, n, width]. */
    Tensor at(const Tensor &from, int64_t i) const
    {
        Tensor s;
        if (page_of)
            s = from.index_select(0, page_of->select(0, i).clamp_min(0)).flatten(0, 1);
        else if (first.empty())
            s = from.select(0, i);
        else
            s = from.narrow(0, first[i], first[i + 1] - first[i]);
        if (!length.empty())
            s = s.narrow(0, 0, std::min(length[i], s.size(0)));
        return s.transpose(0, 1).unsqueeze(0);
    }
    Tensor at(int64_t i) const
    {
        return at(t, i);
    }
    void put(const Tensor &to, int64_t i, const Tensor &what) const
    {
        at(to, i).copy_(what);
    }

  private:
    Tensor t;
    std::vector<int64_t> first, length;
    std::optional<Tensor> page_of;
};

/* A seed from the device's generator if there is dropout. */
inline Tensor new_seed(double dropout, const Tensor &like)
{
    auto seed = at::zeros({2}, like.options().dtype(c10::kLong));
    if (dropout > 0)
        seed.random_();
    return seed;
}

inline void set_seed(Form &form, const Tensor &seed, const Tensor &offset)
{
    auto number = [](const Tensor &t, const Tensor &like) {
        auto n = t.scalar_type() == c10::kUInt64 ? t.view(c10::kLong) : t;
        return n.to(like.device()).contiguous();
    };
    form.seed = number(seed, seed);
    form.offset = number(offset, form.seed);
}

inline Tensor empty_with_layout(const Tensor &like, int64_t width)
{
    if (like.size(-1) == width)
        return at::empty_like(like);
    auto sizes = like.sizes().vec();
    sizes.back() = width;
    return at::empty(sizes, like.options());
}

/* ---- aten::_flash_attention_*: [batch, n, heads, width], or [total, heads, width] with offsets */

struct Flash {
    Form form;
    bool is_packed;

    Flash(const Tensor &q, const std::optional<Tensor> &offsets, double dropout, bool causal,
          std::optional<double> scale, std::optional<int64_t> left, std::optional<int64_t> right)
    {
        form.scale = scale_of(scale, q);
        form.causal = causal;
        form.from_end = true;
        form.left = left.value_or(-1);
        form.right = right.value_or(-1);
        form.dropout = dropout;
        is_packed = offsets.has_value();
    }
    /* The form for sequence i. */
    Form of(int64_t i) const
    {
        Form f = form;
        f.first = i << 40;
        if (f.slopes && f.slopes->dim() == 2)
            f.slopes = f.slopes->select(0, i);
        return f;
    }
};

inline std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>
flash_forward(const Tensor &q, const Tensor &k, const Tensor &v,
              const std::optional<Tensor> &offsets_q, const std::optional<Tensor> &offsets_k,
              int64_t, int64_t, double dropout, bool causal, bool wants_mask,
              std::optional<double> scale, std::optional<int64_t> left,
              std::optional<int64_t> right, const std::optional<Tensor> &used_k,
              const std::optional<Tensor> &slopes, const std::optional<Tensor> &pages)
{
    Composition composition;
    Flash flash(q, defined(offsets_q), dropout, causal, scale, left, right);
    auto seed = new_seed(dropout, q);
    set_seed(flash.form, seed.select(0, 0), seed.select(0, 1));
    flash.form.slopes = defined(slopes);
    auto state = seed.view(c10::kUInt64), unused = at::empty({}, state.options());
    auto debug = at::empty({0}, q.options());

    if (!flash.is_packed && !defined(used_k) && !defined(pages)) {
        Attention a(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), std::nullopt,
                    flash.form);
        auto [o, lse] = a.forward();
        auto out = empty_with_layout(q, v.size(-1)).copy_(o.transpose(1, 2));
        if (wants_mask)
            debug = a.debug_mask();
        return {out, lse.to(c10::kFloat).contiguous(), state, unused, debug};
    }
    TORCH_CHECK_NOT_IMPLEMENTED(!wants_mask,
                                "Heddle: flash attention gives no mask of several sequences");
    Sequences sq(q, defined(offsets_q), std::nullopt, std::nullopt);
    Sequences sk(k, defined(offsets_k), defined(used_k), defined(pages));
    auto out = empty_with_layout(q, v.size(-1));
    auto floats = q.options().dtype(c10::kFloat);
    auto lse = flash.is_packed ? at::empty({q.size(1), q.size(0)}, floats)
                               : at::empty({q.size(0), q.size(2), q.size(1)}, floats);
    for (int64_t i = 0, row = 0; i < sq.count; i++) {
        auto qi = sq.at(i), ki = sk.at(i);
        Form form = flash.of(i);
        auto [o, l] = Attention(qi, ki, sk.at(v, i), std::nullopt, form).forward();
        sq.put(out, i, o);
        int64_t n = qi.size(2);
        (flash.is_packed ? lse.narrow(1, row, n) : lse.select(0, i)).copy_(l.squeeze(0));
        row += n;
    }
    return {out, lse, state, unused, debug};
}

inline std::tuple<Tensor, Tensor, Tensor>
flash_backward(const Tensor &grad, const Tensor &q, const Tensor &k, const Tensor &v,
               const Tensor &out, const Tensor &lse, const Tensor &offsets_q,
               const Tensor &offsets_k, int64_t, int64_t, double dropout, bool causal,
               const Tensor &state, const Tensor &, std::optional<double> scale,
               std::optional<int64_t> left, std::optional<int64_t> right)
{
    Composition composition;
    auto oq = defined(offsets_q), ok = defined(offsets_k);
    Flash flash(q, oq, dropout, causal, scale, left, right);
    if (dropout > 0)
        set_seed(flash.form, state.view(c10::kLong).select(0, 0),
                 state.view(c10::kLong).select(0, 1));
    auto dq = at::empty_like(q), dk = at::empty_like(k), dv = at::empty_like(v);
    if (!flash.is_packed) {
        auto r = Attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), std::nullopt,
                           flash.form)
                     .backward(grad.transpose(1, 2), out.transpose(1, 2), lse, false);
        dq.copy_(r.q.transpose(1, 2));
        dk.copy_(r.k.transpose(1, 2));
        dv.copy_(r.v.transpose(1, 2));
        return {dq, dk, dv};
    }
    Sequences sq(q, oq, std::nullopt, std::nullopt), sk(k, ok, std::nullopt, std::nullopt);
    for (int64_t i = 0, row = 0; i < sq.count; i++) {
        auto qi = sq.at(i), ki = sk.at(i);
        Form form = flash.of(i);
        auto r = Attention(qi, ki, sk.at(v, i), std::nullopt, form)
                     .backward(sq.at(grad, i), sq.at(out, i),
                               lse.narrow(1, row, qi.size(2)).unsqueeze(0), false);
        sq.put(dq, i, r.q);
        sk.put(dk, i, r.k);
        sk.put(dv, i, r.v);
        row += qi.size(2);
    }
    return {dq, dk, dv};
}

/* Later versions of PyTorch have one argument more. */
inline std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> flash_forward_splits(
    const Tensor &q, const Tensor &k, const Tensor &v, const std::optional<Tensor> &offsets_q,
    const std::optional<Tensor> &offsets_k, int64_t max_q, int64_t max_k, double dropout,
    bool causal, bool wants_mask, std::optional<double> scale, std::optional<int64_t> left,
    std::optional<int64_t> right, const std::optional<Tensor> &used_k,
    const std::optional<Tensor> &slopes, const std::optional<Tensor> &pages, std::optional<int64_t>)
{
    return flash_forward(q, k, v, offsets_q, offsets_k, max_q, max_k, dropout, causal, wants_mask,
                         scale, left, right, used_k, slopes, pages);
}
inline std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>
flash_forward_no_pages(const Tensor &q, const Tensor &k, const Tensor &v,
                       const std::optional<Tensor> &offsets_q,
                       const std::optional<Tensor> &offsets_k, int64_t max_q, int64_t max_k,
                       double dropout, bool causal, bool wants_mask, std::optional<double> scale,
                       std::optional<int64_t> left, std::optional<int64_t> right,
                       const std::optional<Tensor> &used_k, const std::optional<Tensor> &slopes)
{
    return flash_forward(q, k, v, offsets_q, offsets_k, max_q, max_k, dropout, causal, wants_mask,
                         scale, left, right, used_k, slopes, std::nullopt);
}
inline Tensor flash_forward_inplace(
    Tensor &out, const Tensor &q, const Tensor &k, const Tensor &v,
    const std::optional<Tensor> &offsets_q, const std::optional<Tensor> &offsets_k, int64_t max_q,
    int64_t max_k, double dropout, bool causal, bool wants_mask, std::optional<double> scale,
    std::optional<int64_t> left, std::optional<int64_t> right, const std::optional<Tensor> &used_k,
    const std::optional<Tensor> &slopes, const std::optional<Tensor> &pages, std::optional<int64_t>)
{
    auto r = flash_forward(q, k, v, offsets_q, offsets_k, max_q, max_k, dropout, causal, wants_mask,
                           scale, left, right, used_k, slopes, pages);
    Composition composition;
    out.copy_(std::get<0>(r));
    return std::get<1>(r);
}

/* ---- aten::_efficient_attention_*: [batch, n, heads, width], or [1, total, heads, width] */

struct Efficient {
    Form form;
    std::optional<Tensor> bias, offsets_q, offsets_k, used_k;

    Efficient(const Tensor &q, const std::optional<Tensor> &bias,
              const std::optional<Tensor> &offsets_q, const std::optional<Tensor> &offsets_k,
              double dropout, int64_t mask, std::optional<double> scale,
              std::optional<int64_t> window, const std::optional<Tensor> &used_k)
        : bias(defined(bias)), offsets_q(defined(offsets_q)), offsets_k(defined(offsets_k)),
          used_k(defined(used_k))
    {
        form.scale = scale_of(scale, q);
        form.causal = mask != 0;
        form.from_end = mask == 2; /* 1: the first query sees the first key */
        form.dropout = dropout;
        if (window && *window > 0)
            form.left = *window - 1;
    }
    bool is_dense() const
    {
        return !offsets_q && !used_k;
    }
    Form of(int64_t i) const
    {
        Form f = form;
        f.first = i << 40;
        return f;
    }
    std::optional<Tensor> bias_at(int64_t i, int64_t nq, int64_t nk) const
    {
        if (!bias)
            return bias;
        auto b = bias->size(0) == 1 ? *bias : bias->narrow(0, i, 1);
        return b.slice(2, 0, nq).slice(3, 0, nk);
    }
};

/* [.., heads, n] as the kernel gives it: rows of a multiple of 32, infinite behind the end. */
inline Tensor padded(const Tensor &lse, int64_t rows)
{
    return at::full({lse.size(0), lse.size(1), (rows + 31) / 32 * 32}, INFINITY,
                    lse.options().dtype(c10::kFloat));
}

inline std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt>
efficient_forward(const Tensor &q, const Tensor &k, const Tensor &v,
                  const std::optional<Tensor> &bias, const std::optional<Tensor> &offsets_q,
                  const std::optional<Tensor> &offsets_k, std::optional<int64_t> max_q,
                  std::optional<int64_t> max_k, double dropout, int64_t mask, bool wants_lse,
                  std::optional<double> scale, const std::optional<Tensor> &used_k,
                  std::optional<int64_t> window)
{
    Composition composition;
    Efficient e(q, bias, offsets_q, offsets_k, dropout, mask, scale, window, used_k);
    int64_t rows = e.offsets_q ? max_q.value_or(q.size(1)) : q.size(1);
    int64_t keys = max_k.value_or(k.size(1));
    auto seeds = new_seed(dropout, q);
    auto seed = seeds.select(0, 0).clone(), offset = seeds.select(0, 1).clone();
    set_seed(e.form, seed, offset);
    auto out = at::empty({q.size(0), q.size(1), q.size(2), v.size(3)}, q.options());
    Tensor all;

    if (e.is_dense()) {
        auto [o, lse] =
            Attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), e.bias, e.form)
                .forward();
        out.copy_(o.transpose(1, 2));
        all = padded(lse, wants_lse ? rows : 0);
        if (wants_lse)
            all.slice(2, 0, rows).copy_(lse);
        return {out, all, seed, offset, rows, keys};
    }
    bool packed = e.offsets_q.has_value();
    auto at_rows = [&](const Tensor &t) { return packed ? t.squeeze(0) : t; };
    Sequences sq(at_rows(q), e.offsets_q, std::nullopt, std::nullopt);
    Sequences sk(at_rows(k), e.offsets_k, e.used_k, std::nullopt);
    all = padded(at::empty({sq.count, q.size(2), 0}, q.options()), wants_lse ? rows : 0);
    for (int64_t i = 0; i < sq.count; i++) {
        auto qi = sq.at(i), ki = sk.at(i);
        Form form = e.of(i);
        auto [o, lse] =
            Attention(qi, ki, sk.at(at_rows(v), i), e.bias_at(i, qi.size(2), ki.size(2)), form)
                .forward();
        sq.put(at_rows(out), i, o);
        if (wants_lse)
            all.select(0, i).slice(1, 0, qi.size(2)).copy_(lse.squeeze(0));
    }
    return {out, all, seed, offset, rows, keys};
}

/* The kernel's gradient of a bias has rows of a multiple of 16. */
inline Tensor new_bias_gradient(const Tensor &bias)
{
    auto sizes = bias.sizes().vec();
    int64_t width = sizes.back();
    sizes.back() = (width + 15) / 16 * 16;
    return at::zeros(sizes, bias.options()).slice(-1, 0, width);
}

inline std::tuple<Tensor, Tensor, Tensor, Tensor>
efficient_backward(const Tensor &grad, const Tensor &q, const Tensor &k, const Tensor &v,
                   const std::optional<Tensor> &bias, const Tensor &out,
                   const std::optional<Tensor> &offsets_q, const std::optional<Tensor> &offsets_k,
                   int64_t, int64_t, const Tensor &lse, double dropout, const Tensor &seed,
                   const Tensor &offset, int64_t mask, bool of_bias, std::optional<double> scale,
                   std::optional<int64_t>, std::optional<int64_t> window, bool shares_storage)
{
    Composition composition;
    Efficient e(q, bias, offsets_q, offsets_k, dropout, mask, scale, window, std::nullopt);
    if (dropout > 0)
        set_seed(e.form, seed, offset);
    Tensor dq, dk, dv;
    if (shares_storage) {
        auto chunk = at::empty({q.size(0), q.size(1), 3, q.size(2), q.size(3)}, q.options());
        dq = chunk.select(2, 0);
        dk = chunk.select(2, 1);
        dv = chunk.select(2, 2);
    } else {
        dq = at::empty(q.sizes(), q.options());
        dk = at::empty(k.sizes(), k.options());
        dv = at::empty(v.sizes(), v.options());
    }
    of_bias = of_bias && e.bias;
    auto dbias = of_bias ? new_bias_gradient(*e.bias) : Tensor();
    if (e.is_dense()) {
        auto r = Attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), e.bias, e.form)
                     .backward(grad.transpose(1, 2), out.transpose(1, 2),
                               lse.slice(2, 0, q.size(1)), of_bias);
        dq.copy_(r.q.transpose(1, 2));
        dk.copy_(r.k.transpose(1, 2));
        dv.copy_(r.v.transpose(1, 2));
        if (of_bias)
            dbias.copy_(r.bias);
        return {dq, dk, dv, dbias};
    }
    Sequences sq(q.squeeze(0), e.offsets_q, std::nullopt, std::nullopt);
    Sequences sk(k.squeeze(0), e.offsets_k, std::nullopt, std::nullopt);
    for (int64_t i = 0; i < sq.count; i++) {
        auto qi = sq.at(i), ki = sk.at(i);
        auto own = e.bias_at(i, qi.size(2), ki.size(2));
        Form form = e.of(i);
        auto r = Attention(qi, ki, sk.at(v.squeeze(0), i), own, form)
                     .backward(sq.at(grad.squeeze(0), i), sq.at(out.squeeze(0), i),
                               lse.narrow(0, i, 1).slice(2, 0, qi.size(2)), of_bias);
        sq.put(dq.squeeze(0), i, r.q);
        sk.put(dk.squeeze(0), i, r.k);
        sk.put(dv.squeeze(0), i, r.v);
        if (of_bias) {
            auto to = dbias.size(0) == 1 ? dbias : dbias.narrow(0, i, 1);
            to.slice(2, 0, qi.size(2)).slice(3, 0, ki.size(2)).add_(r.bias);
        }
    }
    return {dq, dk, dv, dbias};
}

/* ---- aten::_cudnn_attention_*: [batch, heads, n, width], or [total, heads, width] with offsets */

using CudnnForward =
    std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>;

inline CudnnForward cudnn_forward(const Tensor &q, const Tensor &k, const Tensor &v,
                                  const std::optional<Tensor> &bias,
                                  const std::optional<Tensor> &offsets_q,
                                  const std::optional<Tensor> &offsets_k, int64_t max_q,
                                  int64_t max_k, bool wants_lse, double dropout, bool causal, bool,
                                  std::optional<double> scale, const std::optional<Tensor> &used_k,
                                  const std::optional<Tensor> &pages)
{
    Composition composition;
    Form form;
    form.scale = scale_of(scale, q);
    form.causal = causal;
    form.dropout = dropout;
    auto seeds = new_seed(dropout, q);
    auto seed = seeds.select(0, 0).clone(), offset = seeds.select(0, 1).clone();
    set_seed(form, seed, offset);
    Tensor out = empty_with_layout(q, v.size(-1)), sums;
    if (!defined(offsets_q)) {
        TORCH_CHECK_NOT_IMPLEMENTED(!defined(used_k) && !defined(pages),
                                    "Heddle: cuDNN attention without offsets takes no lengths");
        auto [o, lse] = Attention(q, k, v, defined(bias), form).forward();
        out.copy_(o);
        sums = lse.to(c10::kFloat).contiguous().unsqueeze(-1);
    } else {
        TORCH_CHECK_NOT_IMPLEMENTED(!defined(bias),
                                    "Heddle: cuDNN attention of several sequences takes no bias");
        Sequences sq(q, offsets_q, std::nullopt, std::nullopt);
        Sequences sk(k, defined(offsets_k), defined(used_k), defined(pages));
        sums = at::empty({q.size(0), q.size(1), 1}, q.options().dtype(c10::kFloat));
        for (int64_t i = 0; i < sq.count; i++) {
            Form f = form;
            f.first = i << 40;
            auto [o, lse] = Attention(sq.at(i), sk.at(i), sk.at(v, i), std::nullopt, f).forward();
            sq.put(out, i, o);
            sq.put(sums, i, lse.unsqueeze(-1));
        }
    }
    return {out,
            wants_lse ? sums : Tensor(),
            offsets_q.value_or(Tensor()),
            offsets_k.value_or(Tensor()),
            max_q,
            max_k,
            seed,
            offset,
            Tensor()};
}

/* Without the last two arguments, as PyTorch 2.12 has it. */
inline CudnnForward cudnn_forward_without_pages(const Tensor &q, const Tensor &k, const Tensor &v,
                                                const std::optional<Tensor> &bias,
                                                const std::optional<Tensor> &offsets_q,
                                                const std::optional<Tensor> &offsets_k,
                                                int64_t max_q, int64_t max_k, bool wants_lse,
                                                double dropout, bool causal, bool debug,
                                                std::optional<double> scale)
{
    return cudnn_forward(q, k, v, bias, offsets_q, offsets_k, max_q, max_k, wants_lse, dropout,
                         causal, debug, scale, std::nullopt, std::nullopt);
}

inline Tensor cudnn_forward_inplace(Tensor &out, const Tensor &q, const Tensor &k, const Tensor &v,
                                    const Tensor &offsets_q, const std::optional<Tensor> &offsets_k,
                                    int64_t max_q, int64_t max_k, bool causal,
                                    std::optional<double> scale,
                                    const std::optional<Tensor> &used_k,
                                    const std::optional<Tensor> &pages)
{
    auto r = cudnn_forward(q, k, v, std::nullopt, offsets_q, offsets_k, max_q, max_k, true, 0,
                           causal, false, scale, used_k, pages);
    Composition composition;
    out.copy_(std::get<0>(r));
    return std::get<1>(r);
}

inline std::tuple<Tensor, Tensor, Tensor>
cudnn_backward(const Tensor &grad, const Tensor &q, const Tensor &k, const Tensor &v,
               const Tensor &out, const Tensor &lse, const Tensor &seed, const Tensor &offset,
               const Tensor &bias, const Tensor &offsets_q, const Tensor &offsets_k, int64_t,
               int64_t, double dropout, bool causal, std::optional<double> scale)
{
    Composition composition;
    Form form;
    form.scale = scale_of(scale, q);
    form.causal = causal;
    form.dropout = dropout;
    if (dropout > 0)
        set_seed(form, seed, offset);
    auto dq = at::empty_like(q), dk = at::empty_like(k), dv = at::empty_like(v);
    if (!offsets_q.defined()) {
        auto r =
            Attention(q, k, v, defined(bias), form).backward(grad, out, lse.squeeze(-1), false);
        return {dq.copy_(r.q), dk.copy_(r.k), dv.copy_(r.v)};
    }
    Sequences sq(q, offsets_q, std::nullopt, std::nullopt);
    Sequences sk(k, offsets_k, std::nullopt, std::nullopt);
    for (int64_t i = 0; i < sq.count; i++) {
        Form f = form;
        f.first = i << 40;
        auto r = Attention(sq.at(i), sk.at(i), sk.at(v, i), std::nullopt, f)
                     .backward(sq.at(grad, i), sq.at(out, i), sq.at(lse, i).squeeze(-1), false);
        sq.put(dq, i, r.q);
        sk.put(dk, i, r.k);
        sk.put(dv, i, r.v);
    }
    return {dq, dk, dv};
}

/* What the memory-efficient kernel takes for dropout: kept where it is greater than p. */
inline Tensor &fill_dropout_mask(Tensor &self, double, int64_t seed, int64_t offset)
{
    Composition composition;
    static const auto uniform =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow("heddle::uniform", "")
            .typed<Tensor(const Tensor &, const Tensor &, at::IntArrayRef, int64_t)>();
    auto number = [&](int64_t n) { return at::full({}, n, self.options().dtype(c10::kLong)); };
    return self.copy_(uniform.call(number(seed), number(offset), self.sizes(), 0));
}

inline void attention_register(Adapters &a)
{
    using c10::DispatchKey;
    static auto *own =
        new torch::Library(torch::Library::FRAGMENT, "heddle", std::nullopt, __FILE__, __LINE__);
    static auto *cuda =
        new torch::Library(torch::Library::IMPL, "heddle", DispatchKey::CUDA, __FILE__, __LINE__);
    own->def("uniform(Tensor seed, Tensor offset, int[] size, int first) -> Tensor");
    own->impl("uniform", torch::dispatch(DispatchKey::CPU, &uniform_host));
    own->impl("uniform", torch::dispatch(DispatchKey::Meta, &uniform_meta));
    auto handle = c10::Dispatcher::singleton().findSchemaOrThrow("heddle::uniform", "");
    cuda->impl("uniform", torch::CppFunction::makeFromBoxedKernel(
                              c10::BoxedKernel::makeFromFunctor(std::make_unique<Bridge>(
                                  handle, "heddle::uniform", DispatchKey::CPU, nullptr))));

    a.add("_flash_attention_forward", &flash_forward_no_pages);
    a.add("_flash_attention_forward", &flash_forward_splits);
    a.add("_flash_attention_forward_no_dropout_inplace", &flash_forward_inplace);
    a.add("_flash_attention_backward", &flash_backward);
    a.add("_efficient_attention_forward", &efficient_forward);
    a.add("_efficient_attention_backward", &efficient_backward);
    a.add("_cudnn_attention_forward", &cudnn_forward);
    a.add("_cudnn_attention_forward", &cudnn_forward_without_pages);
    a.add("_cudnn_attention_forward_no_dropout_inplace", &cudnn_forward_inplace);
    a.add("_cudnn_attention_backward", &cudnn_backward);
    a.add("_fill_mem_eff_dropout_mask_", &fill_dropout_mask);
}

} // namespace heddle
