/*
 * Attention: softmax(scale Q K^T + masks) V for each head, forward and backward; with grouped heads
 * of keys (GQA), causal and sliding-window masks, lengths, and a bias.
 *
 * Algorithm: Dao, FlashAttention-2, 2023. A block has a tile of queries, goes through tiles of
 * keys, and keeps maximum and sum of each row; both products are gemm.cuh's, by mma.sync for
 * halves, and P is rounded to their type. Backward, scores are computed anew from the logarithms of
 * sums that forward leaves; a block has a tile of keys, or of queries, so that nothing is added
 * atomically and results are the same in each run. Error: of floats (4 n + 2 size + |score|max +
 * 40) u max|V|; halves add 2 v max|V|. Limits: size (of a head) a multiple of 16 for floats, of 32
 * for halves, up to 128; backward up to 64 for floats. Decoding: attention_decode.cuh.
 */
#ifndef KLIB_ATTENTION_CUH
#define KLIB_ATTENTION_CUH

#include "gemm.cuh"

namespace klib {

/* Rows of a tensor, in any order of dimensions: steps count elements, those of a row are
 * neighbours. */
template <class T> struct head_view {
    T *at;
    i64 batch, head, token;

    KLIB_DEVICE T *row(int b, int h, int t) const
    {
        return at + b * batch + h * head + t * token;
    }
};

struct attention_shape {
    int heads, kv_heads; /* head h reads h / (heads / kv_heads) */
    int queries, keys;
    float scale;
    int causal;         /* query i sees keys up to i + keys - queries */
    int window;         /* and the last `window` of these; 0: all */
    const int *lengths; /* keys of each problem of the batch; NULL: all */
    const float *bias;  /* added to scores: [queries][keys], or NULL */
    i64 bias_batch, bias_head;

    KLIB_DEVICE int keys_of(int b) const
    {
        return lengths ? lengths[b] : keys;
    }
    KLIB_DEVICE bool sees(int b, int query, int key) const
    {
        int n = keys_of(b), last = causal ? query + n - queries : n - 1;
        return query < queries && key < n && key <= last &&
               (!window || key > query + n - queries - window);
    }
    KLIB_DEVICE float score(int b, int h, int query, int key, float product) const
    {
        float more = bias ? bias[b * bias_batch + h * bias_head + (i64)query * keys + key] : 0.0f;
        return sees(b, query, key) ? fmaf(scale, product, more) : -INFINITY;
    }
    /* The keys that some query of [first, first + n) may see. */
    KLIB_DEVICE int first_key(int b, int first) const
    {
        return window ? most(0, first + keys_of(b) - queries - window + 1) : 0;
    }
    KLIB_DEVICE int end_key(int b, int first, int n) const
    {
        return causal ? least(keys_of(b), first + n + keys_of(b) - queries) : keys_of(b);
    }
};

constexpr int ATTENTION_THREADS = 128, ATTENTION_KEYS = 32;

/* Tiles of the two products: scores are ROWS x KEYS by SIZE, results ROWS x SIZE by KEYS. */
template <class T, int SIZE, int ROWS> struct attention_tiles {
    static constexpr bool IS_MMA = ARCH_HAS_MMA && mma_kind<T>::is_there;
    static constexpr int DOWN = IS_MMA ? ROWS / 16 : ROWS / WARP, ACROSS = 4 / DOWN;
    using score = product_of<tile<ROWS, ATTENTION_KEYS, SIZE, DOWN, ACROSS>, T, float>;
    using result = product_of<tile<ROWS, SIZE, ATTENTION_KEYS, DOWN, ACROSS>, T, float>;
};
template <class T> constexpr int attention_rows = mma_kind<T>::is_there ? 64 : 32;

/* n lines of SIZE elements become lines of an operand; those from `limit` on are zeros. */
template <int N, int SIZE, class T, class Put>
KLIB_DEVICE void put_lines(const head_view<const T> &x, int b, int h, int first, int limit,
                           const Put &put)
{
    for (int e = threadIdx.x; e < N * SIZE; e += ATTENTION_THREADS) {
        int line = e / SIZE, k = e % SIZE;
        put(line, k, first + line < limit ? x.row(b, h, first + line)[k] : T(0.0f));
    }
}

/*
 * log_sums, [batch][heads][queries], is for the backward pass; or NULL. A query that sees nothing
 * has zeros. Grid: ceil_div(queries, attention_rows<T>) x heads x batch.
 */
template <int SIZE, class T>
__global__ void __launch_bounds__(ATTENTION_THREADS)
    attention(attention_shape s, head_view<const T> q, head_view<const T> k, head_view<const T> v,
              head_view<T> out, float *log_sums)
{
    constexpr int ROWS = attention_rows<T>, KEYS = ATTENTION_KEYS;
    using tiles = attention_tiles<T, SIZE, ROWS>;
    using score = typename tiles::score;
    using result = typename tiles::result;
    union streamed {
        decltype(score::memory::b) keys;
        decltype(result::memory::b) values;
    };
    static_assert(KEYS == WARP, "a row of scores is a warp's");
    __shared__ __align__(16) decltype(score::memory::a) queries;
    __shared__ __align__(16) decltype(result::memory::a) weights;
    __shared__ __align__(16) streamed stream;
    __shared__ float scores[ROWS][KEYS + 1], maxima[ROWS], sums[ROWS], factors[ROWS];
    int b = blockIdx.z, h = blockIdx.y, kv = h / (s.heads / s.kv_heads);
    int first = (int)blockIdx.x * ROWS, lane = threadIdx.x % WARP;
    result o;

    put_lines<ROWS, SIZE>(q, b, h, first, s.queries,
                          [&](int row, int i, T x) { score::put_a(queries, row, i, x); });
    for (int row = threadIdx.x; row < ROWS; row += ATTENTION_THREADS) {
        maxima[row] = -INFINITY;
        sums[row] = 0.0f;
    }
    o.clear();
    for (int key = s.first_key(b, first) / KEYS * KEYS; key < s.end_key(b, first, ROWS);
         key += KEYS) {
        score p;
        p.clear();
        __syncthreads();
        put_lines<KEYS, SIZE>(k, b, kv, key, s.keys_of(b),
                              [&](int row, int i, T x) { score::put_b(stream.keys, row, i, x); });
        __syncthreads();
        p.multiply(queries, stream.keys);
        p.each([&](int row, int column, float &x) { scores[row][column] = x; });
        __syncthreads();
        put_lines<KEYS, SIZE>(v, b, kv, key, s.keys_of(b), [&](int row, int i, T x) {
            result::put_b(stream.values, i, row, x);
        });
        for (int row = threadIdx.x / WARP; row < ROWS; row += ATTENTION_THREADS / WARP) {
            float x = s.score(b, h, first + row, key + lane, scores[row][lane]);
            float before = maxima[row], max = fmaxf(before, warp_reduce(x, max_op<float>()));
            float weight = max == -INFINITY ? 0.0f : expf(x - max);
            float factor = max == -INFINITY ? 1.0f : expf(before - max);
            float sum = warp_reduce(weight, add_op<float>());
            result::put_a(weights, row, lane, narrow<T>(weight));
            __syncwarp(); /* all have read maxima[row] */
            if (lane == 0) {
                maxima[row] = max;
                sums[row] = sums[row] * factor + sum;
                factors[row] = factor;
            }
        }
        __syncthreads();
        o.each([&](int row, int, float &x) { x *= factors[row]; });
        o.multiply(weights, stream.values);
    }
    __syncthreads();
    o.each([&](int row, int i, float x) {
        if (first + row < s.queries)
            out.row(b, h, first + row)[i] = narrow<T>(sums[row] > 0.0f ? x / sums[row] : 0.0f);
    });
    for (int row = threadIdx.x; log_sums && row < ROWS; row += ATTENTION_THREADS)
        if (first + row < s.queries)
            log_sums[((i64)b * s.heads + h) * s.queries + first + row] =
                maxima[row] + logf(sums[row]);
}

/* ---- backward */

/* deltas[batch][heads][queries] = sum dO O. A warp has a row; grid: ceil_div(queries, 4) x heads x
 * batch. */
template <int SIZE, class T>
__global__ void __launch_bounds__(ATTENTION_THREADS)
    attention_deltas(attention_shape s, head_view<const T> out, head_view<const T> dout,
                     float *deltas)
{
    int b = blockIdx.z, h = blockIdx.y;
    int query = (int)(blockIdx.x * ATTENTION_THREADS + threadIdx.x) / WARP;
    float sum = 0.0f;

    if (query >= s.queries)
        return;
    for (int i = threadIdx.x % WARP; i < SIZE; i += WARP)
        sum += widen(out.row(b, h, query)[i]) * widen(dout.row(b, h, query)[i]);
    sum = warp_reduce(sum, add_op<float>());
    if (threadIdx.x % WARP == 0)
        deltas[((i64)b * s.heads + h) * s.queries + query] = sum;
}

/*
 * What both halves of the backward pass do: of `rows` of one side and a tile of the other, weights
 * P and their gradients dS, rows x tile. Of keys, rows are keys and tiles queries.
 */
template <int SIZE, bool OF_KEYS, class T> struct attention_gradient {
    static constexpr int ROWS = 32, TILE = ATTENTION_KEYS;
    using tiles = attention_tiles<T, SIZE, ROWS>;
    using score = typename tiles::score;
    using result = typename tiles::result;
    union streamed {
        decltype(score::memory::b) lines;   /* to multiply along SIZE */
        decltype(result::memory::b) values; /* along the tile */
    };
    struct memory {
        decltype(score::memory::a) first, second; /* K and V, or Q and dO */
        streamed stream;
        decltype(result::memory::a) weights;
        float products[2][ROWS][TILE + 1];
    };
    static_assert(sizeof(memory) <= 48 * 1024, "heads are too large for these elements");

    /* products[i] = operand (rows) x (lines of x from `at`)^T. */
    template <class A>
    static KLIB_DEVICE void multiply(memory &m, int i, const A &operand,
                                     const head_view<const T> &x, int b, int h, int at, int limit)
    {
        score p;
        p.clear();
        __syncthreads();
        put_lines<TILE, SIZE>(x, b, h, at, limit, [&](int line, int k, T value) {
            score::put_b(m.stream.lines, line, k, value);
        });
        __syncthreads();
        p.multiply(operand, m.stream.lines);
        p.each([&](int row, int column, float &sum) { m.products[i][row][column] = sum; });
    }
    /* to += f(row, column) x (lines of x from `at`). */
    template <class F>
    static KLIB_DEVICE void add(memory &m, result &to, const head_view<const T> &x, int b, int h,
                                int at, int limit, const F &f)
    {
        __syncthreads();
        put_lines<TILE, SIZE>(x, b, h, at, limit, [&](int line, int k, T value) {
            result::put_b(m.stream.values, k, line, value);
        });
        for (int e = threadIdx.x; e < ROWS * TILE; e += ATTENTION_THREADS)
            result::put_a(m.weights, e / TILE, e % TILE, narrow<T>(f(e / TILE, e % TILE)));
        __syncthreads();
        to.multiply(m.weights, m.stream.values);
    }
    /* Of one head and tile: P in products[0], dS in products[1]. */
    static KLIB_DEVICE void weigh(memory &m, const attention_shape &s, int b, int h, int row0,
                                  int column0, const float *log_sums, const float *deltas)
    {
        __syncthreads();
        for (int e = threadIdx.x; e < ROWS * TILE; e += ATTENTION_THREADS) {
            int row = e / TILE, column = e % TILE;
            int query = OF_KEYS ? column0 + column : row0 + row;
            int key = OF_KEYS ? row0 + row : column0 + column;
            float weight = 0.0f, gradient = 0.0f;
            if (s.sees(b, query, key)) {
                i64 at = ((i64)b * s.heads + h) * s.queries + query;
                float x = s.score(b, h, query, key, m.products[0][row][column]);
                weight = x == -INFINITY ? 0.0f : expf(x - log_sums[at]);
                gradient = weight * (m.products[1][row][column] - deltas[at]);
            }
            m.products[0][row][column] = weight;
            m.products[1][row][column] = gradient;
        }
    }
};

/* dQ. Grid: ceil_div(queries, 32) x heads x batch. */
template <int SIZE, class T>
__global__ void __launch_bounds__(ATTENTION_THREADS)
    attention_backward_queries(attention_shape s, head_view<const T> q, head_view<const T> k,
                               head_view<const T> v, head_view<const T> dout, const float *log_sums,
                               const float *deltas, head_view<T> dq)
{
    using half = attention_gradient<SIZE, false, T>;
    __shared__ __align__(16) typename half::memory m;
    int b = blockIdx.z, h = blockIdx.y, kv = h / (s.heads / s.kv_heads);
    int first = (int)blockIdx.x * half::ROWS;
    typename half::result sum;

    put_lines<half::ROWS, SIZE>(q, b, h, first, s.queries,
                                [&](int r, int i, T x) { half::score::put_a(m.first, r, i, x); });
    put_lines<half::ROWS, SIZE>(dout, b, h, first, s.queries,
                                [&](int r, int i, T x) { half::score::put_a(m.second, r, i, x); });
    sum.clear();
    for (int key = s.first_key(b, first) / half::TILE * half::TILE;
         key < s.end_key(b, first, half::ROWS); key += half::TILE) {
        int n = s.keys_of(b);
        half::multiply(m, 0, m.first, k, b, kv, key, n);
        half::multiply(m, 1, m.second, v, b, kv, key, n);
        half::weigh(m, s, b, h, first, key, log_sums, deltas);
        half::add(m, sum, k, b, kv, key, n,
                  [&](int row, int column) { return m.products[1][row][column]; });
    }
    sum.each([&](int row, int i, float x) {
        if (first + row < s.queries)
            dq.row(b, h, first + row)[i] = narrow<T>(x * s.scale);
    });
}

/* dK and dV, sums over the heads that read them. Grid: ceil_div(keys, 32) x kv_heads x batch. */
template <int SIZE, class T>
__global__ void __launch_bounds__(ATTENTION_THREADS)
    attention_backward_keys(attention_shape s, head_view<const T> q, head_view<const T> k,
                            head_view<const T> v, head_view<const T> dout, const float *log_sums,
                            const float *deltas, head_view<T> dk, head_view<T> dv)
{
    using half = attention_gradient<SIZE, true, T>;
    __shared__ __align__(16) typename half::memory m;
    int b = blockIdx.z, kv = blockIdx.y, group = s.heads / s.kv_heads;
    int first = (int)blockIdx.x * half::ROWS, n = s.keys_of(b);
    typename half::result sum_k, sum_v;

    put_lines<half::ROWS, SIZE>(k, b, kv, first, n,
                                [&](int r, int i, T x) { half::score::put_a(m.first, r, i, x); });
    put_lines<half::ROWS, SIZE>(v, b, kv, first, n,
                                [&](int r, int i, T x) { half::score::put_a(m.second, r, i, x); });
    sum_k.clear();
    sum_v.clear();
    for (int h = kv * group; h < (kv + 1) * group; h++) {
        for (int query = 0; query < s.queries; query += half::TILE) {
            if (s.end_key(b, query, half::TILE) <= first ||
                s.first_key(b, query) >= first + half::ROWS)
                continue;
            half::multiply(m, 0, m.first, q, b, h, query, s.queries);
            half::multiply(m, 1, m.second, dout, b, h, query, s.queries);
            half::weigh(m, s, b, h, first, query, log_sums, deltas);
            half::add(m, sum_v, dout, b, h, query, s.queries,
                      [&](int row, int column) { return m.products[0][row][column]; });
            half::add(m, sum_k, q, b, h, query, s.queries,
                      [&](int row, int column) { return m.products[1][row][column]; });
        }
    }
    sum_k.each([&](int row, int i, float x) {
        if (first + row < s.keys)
            dk.row(b, kv, first + row)[i] = narrow<T>(x * s.scale);
    });
    sum_v.each([&](int row, int i, float x) {
        if (first + row < s.keys)
            dv.row(b, kv, first + row)[i] = narrow<T>(x);
    });
}

} // namespace klib

#endif
