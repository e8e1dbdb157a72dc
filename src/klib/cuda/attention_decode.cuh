/*
 * Attention of one query for each sequence, over a cache of keys and values that may be in pages.
 *
 * Algorithm: the keys are split, each part is a block's, and a second kernel joins the parts by
 * their maxima and sums: Dao et al., Flash-Decoding, 2023. Pages: Kwon et al., Efficient memory
 * management for large language model serving with PagedAttention, 2023.
 * Error: (2 n / 4 + 2 size + |score|max + 40) u max|V| + v.
 * Limits: size a multiple of 32, up to 256.
 */
#ifndef KLIB_ATTENTION_DECODE_CUH
#define KLIB_ATTENTION_DECODE_CUH

#include "base.cuh"

namespace klib {

constexpr int DECODE_THREADS = 128;

/*
 * Keys or values of sequences. Without pages token t of sequence b is at b * batch + t * token;
 * with pages at pages[b * pages_each + t / page_tokens] * batch + t % page_tokens * token, where
 * `batch` is the step of pages. Each head has its step. Steps count elements.
 */
template <class T> struct kv_cache {
    const T *at;
    i64 batch, head, token;
    const int *pages; /* or NULL */
    int pages_each, page_tokens;

    KLIB_DEVICE const T *row(int b, int h, int t) const
    {
        const T *of_head = at + h * head;
        if (!pages)
            return of_head + b * batch + t * token;
        return of_head + pages[(i64)b * pages_each + t / page_tokens] * batch +
               t % page_tokens * token;
    }
};

/* What a part of the keys gives: the sums of weighted values follow in memory. */
struct decode_part {
    float max, sum;
};

/*
 * q is [batch][heads][SIZE]; the parts' results go to `parts` and `values`, [batch][heads][splits]
 * and [...][SIZE]. lengths[b] are the sequence's keys. Grid: splits x heads x batch.
 */
template <int SIZE, class T>
__global__ void __launch_bounds__(DECODE_THREADS)
    attention_decode(const T *q, kv_cache<T> keys, kv_cache<T> values, const int *lengths,
                     int heads, int kv_heads, float scale, decode_part *parts, float *part_values)
{
    constexpr int WARPS = DECODE_THREADS / WARP, EACH = SIZE / WARP;
    static_assert(SIZE % WARP == 0, "a lane has whole elements");
    __shared__ float sums[WARPS][SIZE];
    __shared__ decode_part warps[WARPS];
    int b = blockIdx.z, h = blockIdx.y, kv = h / (heads / kv_heads), lane = threadIdx.x % WARP;
    int warp = threadIdx.x / WARP, n = lengths[b];
    int each = (int)ceil_div(n, gridDim.x), first = (int)blockIdx.x * each;
    float query[EACH], sum[EACH] = {}, max = -INFINITY, weights = 0.0f;

    for (int i = 0; i < EACH; i++)
        query[i] = scale * widen(q[((i64)b * heads + h) * SIZE + lane + i * WARP]);
    for (int key = first + warp; key < least(n, first + each); key += WARPS) {
        const T *k = keys.row(b, kv, key), *v = values.row(b, kv, key);
        float score = 0.0f;
        for (int i = 0; i < EACH; i++)
            score = fmaf(query[i], widen(k[lane + i * WARP]), score);
        score = warp_reduce(score, add_op<float>());
        float larger = fmaxf(max, score), factor = expf(max - larger);
        float weight = expf(score - larger);
        for (int i = 0; i < EACH; i++)
            sum[i] = fmaf(weight, widen(v[lane + i * WARP]), sum[i] * factor);
        weights = weights * factor + weight;
        max = larger;
    }
    for (int i = 0; i < EACH; i++)
        sums[warp][lane + i * WARP] = sum[i];
    if (lane == 0)
        warps[warp] = {max, weights};
    __syncthreads();
    i64 at = ((i64)b * heads + h) * gridDim.x + blockIdx.x;
    float largest = -INFINITY, all = 0.0f;
    for (int w = 0; w < WARPS; w++)
        largest = fmaxf(largest, warps[w].max);
    for (int w = 0; w < WARPS; w++)
        all += warps[w].sum > 0.0f ? warps[w].sum * expf(warps[w].max - largest) : 0.0f;
    for (int i = threadIdx.x; i < SIZE; i += DECODE_THREADS) {
        float x = 0.0f;
        for (int w = 0; w < WARPS; w++)
            x += warps[w].sum > 0.0f ? sums[w][i] * expf(warps[w].max - largest) : 0.0f;
        part_values[at * SIZE + i] = x;
    }
    if (threadIdx.x == 0)
        parts[at] = {largest, all};
}

/* out is [batch][heads][SIZE]: zeros of a sequence without keys. Grid: heads x batch. */
template <int SIZE, class T>
__global__ void __launch_bounds__(DECODE_THREADS)
    attention_decode_join(const decode_part *parts, const float *part_values, int splits, T *out)
{
    i64 at = (i64)blockIdx.y * gridDim.x + blockIdx.x;
    float largest = -INFINITY, all = 0.0f;

    for (int p = 0; p < splits; p++)
        largest = fmaxf(largest, parts[at * splits + p].max);
    for (int p = 0; p < splits; p++) {
        decode_part part = parts[at * splits + p];
        all += part.sum > 0.0f ? part.sum * expf(part.max - largest) : 0.0f;
    }
    for (int i = threadIdx.x; i < SIZE; i += DECODE_THREADS) {
        float x = 0.0f;
        for (int p = 0; p < splits; p++) {
            decode_part part = parts[at * splits + p];
            if (part.sum > 0.0f)
                x += part_values[(at * splits + p) * SIZE + i] * expf(part.max - largest);
        }
        out[at * SIZE + i] = narrow<T>(all > 0.0f ? x / all : 0.0f);
    }
}

} // namespace klib

#endif
