/* Attention, forward, backward and decoding, against its definition. */
#include <attention.cuh>
#include <attention_decode.cuh>

#include "check.h"

using namespace klib;

template <class T> constexpr double roundoff = 0x1p-24;
template <> constexpr double roundoff<__half> = 0x1p-11;
template <> constexpr double roundoff<__nv_bfloat16> = 0x1p-8;

/* The definition, in doubles. Tensors are [batch][tokens][heads][size]. */
struct model {
    attention_shape s;
    int batch, size;
    std::vector<double> q, k, v, dout, out, dq, dk, dv;

    size_t query(int b, int h, int i) const
    {
        return (((size_t)b * s.queries + i) * s.heads + h) * size;
    }
    size_t key(int b, int h, int j) const
    {
        return (((size_t)b * s.keys + j) * s.kv_heads + h / (s.heads / s.kv_heads)) * size;
    }
    bool sees(int b, int i, int j) const
    {
        int n = s.lengths ? s.lengths[b] : s.keys;
        return j < n && (!s.causal || j <= i + n - s.queries) && (!s.window || j > i + n - s.queries - s.window);
    }
    void run()
    {
        out.assign(q.size(), 0);
        dq.assign(q.size(), 0);
        dk.assign(k.size(), 0);
        dv.assign(k.size(), 0);
        std::vector<double> p(s.keys), dp(s.keys);
        for (int b = 0; b < batch; b++)
            for (int h = 0; h < s.heads; h++)
                for (int i = 0; i < s.queries; i++) {
                    double sum = 0, delta = 0;
                    size_t at = query(b, h, i);
                    for (int j = 0; j < s.keys; j++) {
                        double x = 0, d = 0;
                        for (int e = 0; e < size; e++) {
                            x += q[at + e] * k[key(b, h, j) + e];
                            d += dout[at + e] * v[key(b, h, j) + e];
                        }
                        x = x * s.scale + (s.bias ? s.bias[h * s.bias_head + i * s.keys + j] : 0);
                        sum += p[j] = sees(b, i, j) ? exp(x) : 0;
                        dp[j] = d;
                    }
                    for (int j = 0; j < s.keys; j++) {
                        p[j] = sum ? p[j] / sum : 0;
                        delta += p[j] * dp[j];
                        for (int e = 0; e < size; e++) {
                            out[at + e] += p[j] * v[key(b, h, j) + e];
                            dv[key(b, h, j) + e] += p[j] * dout[at + e];
                        }
                    }
                    for (int j = 0; j < s.keys; j++)
                        for (int e = 0; e < size; e++) {
                            dq[at + e] += s.scale * p[j] * (dp[j] - delta) * k[key(b, h, j) + e];
                            dk[key(b, h, j) + e] += s.scale * p[j] * (dp[j] - delta) * q[at + e];
                        }
                }
    }
};

template <class T> static std::vector<double> doubles(const array<T> &x)
{
    std::vector<double> y;
    for (size_t i = 0; i < x.n; i++)
        y.push_back(value(x[i]));
    return y;
}

template <int SIZE, bool BACKWARD, class T> static void one(const char *name, int batch, attention_shape s)
{
    size_t nq = (size_t)batch * s.queries * s.heads * SIZE, nk = (size_t)batch * s.keys * s.kv_heads * SIZE;
    array<T> q(nq), k(nk), v(nk), dout(nq), out(nq), dq(nq), dk(nk), dv(nk);
    array<float> log_sums((size_t)batch * s.heads * s.queries), deltas((size_t)batch * s.heads * s.queries);
    fill(q);
    fill(k);
    fill(v);
    fill(dout);
    s.scale = 1 / sqrtf(SIZE);
    model m = {s, batch, SIZE, doubles(q), doubles(k), doubles(v), doubles(dout), {}, {}, {}, {}};
    m.run();
    auto queries = [&](const array<T> &x) { return head_view<T>{x.at, (i64)s.queries * s.heads * SIZE, SIZE, s.heads * SIZE}; };
    auto keys = [&](const array<T> &x) { return head_view<T>{x.at, (i64)s.keys * s.kv_heads * SIZE, SIZE, s.kv_heads * SIZE}; };
    auto in = [](head_view<T> x) { return head_view<const T>{x.at, x.batch, x.head, x.token}; };
    dim3 grid((unsigned)ceil_div(s.queries, attention_rows<T>), s.heads, batch);
    attention<SIZE><<<grid, ATTENTION_THREADS>>>(s, in(queries(q)), in(keys(k)), in(keys(v)), queries(out), log_sums.at);
    double v_bound = 3 * roundoff<T> * (sizeof(T) == 2), u = (4.0 * s.keys + 2 * SIZE + 50) * 0x1p-24;
    check(out, [&](size_t i) { return expected{m.out[i], u + v_bound}; }, "%s", name);
    if constexpr (BACKWARD) {
        grid.x = (unsigned)ceil_div(s.queries, 4);
        attention_deltas<SIZE><<<grid, ATTENTION_THREADS>>>(s, in(queries(out)), in(queries(dout)), deltas.at);
        grid.x = (unsigned)ceil_div(s.queries, 32);
        attention_backward_queries<SIZE><<<grid, ATTENTION_THREADS>>>(s, in(queries(q)), in(keys(k)), in(keys(v)), in(queries(dout)), log_sums.at, deltas.at,
                                                                    queries(dq));
        dim3 grid_k((unsigned)ceil_div(s.keys, 32), s.kv_heads, batch);
        attention_backward_keys<SIZE><<<grid_k, ATTENTION_THREADS>>>(s, in(queries(q)), in(keys(k)), in(keys(v)), in(queries(dout)), log_sums.at, deltas.at,
                                                                   keys(dk), keys(dv));
        double more = 16 * (u + v_bound);
        check(dq, [&](size_t i) { return expected{m.dq[i], more + roundoff<T> * fabs(m.dq[i])}; }, "%s: dQ", name);
        check(dk, [&](size_t i) { return expected{m.dk[i], more + roundoff<T> * fabs(m.dk[i])}; }, "%s: dK", name);
        check(dv, [&](size_t i) { return expected{m.dv[i], more + roundoff<T> * fabs(m.dv[i])}; }, "%s: dV", name);
    }
}

template <int SIZE, class T> static void decoding(const char *name, bool is_paged)
{
    const int batch = 3, heads = 4, kv_heads = 2, capacity = 48, page = 16, splits = 3;
    array<T> q(batch * heads * SIZE), k(batch * kv_heads * capacity * SIZE), v(k.n), out(q.n);
    array<int> lengths(batch), pages(batch * capacity / page);
    array<decode_part> parts(batch * heads * splits);
    array<float> values(parts.n * SIZE);
    const int wanted[] = {48, 17, 0};
    fill(q);
    fill(k);
    fill(v);
    for (int b = 0; b < batch; b++)
        lengths.at[b] = wanted[b];
    for (int i = 0; i < (int)pages.n; i++)
        pages.at[i] = (i * 4 + 1) % (int)pages.n;
    i64 step = is_paged ? page * kv_heads * SIZE : capacity * kv_heads * SIZE;
    kv_cache<T> keys = {k, step, SIZE, kv_heads * SIZE, is_paged ? pages.at : nullptr, capacity / page, page}, vals = keys;
    vals.at = v;
    attention_decode<SIZE><<<dim3(splits, heads, batch), DECODE_THREADS>>>(q.at, keys, vals, lengths.at, heads, kv_heads, 0.3f, parts.at, values.at);
    attention_decode_join<SIZE><<<dim3(heads, batch), DECODE_THREADS>>>(parts.at, values.at, splits, out.at);
    finish(name);
    auto token = [&](int b, int t) { return is_paged ? pages[b * capacity / page + t / page] * page + t % page : b * capacity + t; };
    check(out, [&](size_t at) {
        int b = (int)at / SIZE / heads, kv = (int)at / SIZE % heads / 2;
        double sum = 0, result = 0;
        for (int t = 0; t < lengths[b]; t++) {
            size_t row = ((size_t)token(b, t) * kv_heads + kv) * SIZE;
            double x = 0;
            for (int e = 0; e < SIZE; e++)
                x += value(q[at / SIZE * SIZE + e]) * value(k[row + e]);
            sum += exp(0.3 * x);
            result += exp(0.3 * x) * value(v[row + at % SIZE]);
        }
        result = sum ? result / sum : 0;
        return expected{result, 200 * 0x1p-24 + 1.01 * roundoff<T> * fabs(result)};
    }, "decoding, %s", name);
}

int main()
{
    array<int> lengths(2);
    array<float> bias(3 * 40 * 70);
    lengths.at[0] = 50;
    lengths.at[1] = 13;
    fill(bias);
    one<32, true, float>("f32", 2, {1, 1, 40, 50, 0, 0, 0, nullptr, nullptr, 0, 0});
    one<64, true, float>("f32, causal, two heads of queries to one", 1, {4, 2, 45, 45, 0, 1, 0, nullptr, nullptr, 0, 0});
    one<32, true, float>("f32, causal in a window, lengths", 2, {1, 1, 13, 60, 0, 1, 9, lengths.at, nullptr, 0, 0});
    one<32, true, float>("f32, a bias", 1, {3, 1, 40, 70, 0, 0, 0, nullptr, bias.at, 0, 40 * 70});
    one<64, true, __half>("f16, causal", 1, {2, 1, 70, 90, 0, 1, 0, nullptr, nullptr, 0, 0});
    one<128, true, __nv_bfloat16>("bf16", 1, {1, 1, 33, 65, 0, 0, 0, nullptr, nullptr, 0, 0});
    one<128, false, float>("f32, size 128", 1, {1, 1, 5, 33, 0, 0, 0, nullptr, nullptr, 0, 0});
    decoding<64, float>("f32", false);
    decoding<64, __half>("f16, paged", true);
    return done();
}
