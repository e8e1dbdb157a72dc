/*
 * Two operators of language models, with gradients, in plain CUDA.
 *
 *     rmsnorm_rope    normalises the heads of queries or keys and rotates them by their positions:
 *                     one pass over memory where frameworks take several
 *     int4_gemv       a vector times a matrix of 4-bit numbers, as a decoder does for each token
 *
 * Kernels come first: what is above PLUGINS is all that NVRTC gets of this file (CuPy). Behind them
 * is the table by which frameworks call them; plugin.h says what is in it.
 */
#define WARP 32

static __device__ float warp_sum(float value)
{
    for (int distance = WARP / 2; distance; distance /= 2)
        value += __shfl_xor_sync(0xffffffff, value, distance);
    return value;
}

/* Blocks are of (32, n) threads: a warp takes a row. */
static __device__ int row_of_warp()
{
    return blockIdx.x * blockDim.y + threadIdx.y;
}

/* Columns i and i + dim / 2 are one complex number, which turns by this angle. */
static __device__ float angle(int position, int i, int dim, float base)
{
    return position * powf(base, -2.0f * i / dim);
}

static __device__ float inverse_rms(const float *row, int dim, float epsilon)
{
    float squares = 0;
    for (int i = threadIdx.x; i < dim; i += WARP)
        squares += row[i] * row[i];
    return rsqrtf(warp_sum(squares) / dim + epsilon);
}

/* A row is one head of one token. y = rotate(x / rms(x) * weight). */
extern "C" __global__ void rmsnorm_rope(float *y, const float *x, const float *weight,
                                        const int *positions, int rows, int heads, int dim,
                                        float epsilon, float base)
{
    int row = row_of_warp(), half = dim / 2;
    if (row >= rows)
        return;
    x += (size_t)row * dim;
    y += (size_t)row * dim;
    float r = inverse_rms(x, dim, epsilon);
    for (int i = threadIdx.x; i < half; i += WARP) {
        float re = x[i] * r * weight[i], im = x[i + half] * r * weight[i + half], sine, cosine;
        sincosf(angle(positions[row / heads], i, dim, base), &sine, &cosine);
        y[i] = re * cosine - im * sine;
        y[i + half] = re * sine + im * cosine;
    }
}

/*
 * With n = x / rms(x) and g the gradient of y, turned back: d_weight is the sum of g * n over rows,
 * of which this writes the terms; d_x = (g * weight - n * mean(g * weight * n)) / rms(x).
 */
extern "C" __global__ void rmsnorm_rope_grad(float *d_x, float *terms, const float *x,
                                             const float *weight, const int *positions,
                                             const float *d_y, int rows, int heads, int dim,
                                             float epsilon, float base)
{
    int row = row_of_warp(), half = dim / 2;
    if (row >= rows)
        return;
    x += (size_t)row * dim;
    d_x += (size_t)row * dim;
    d_y += (size_t)row * dim;
    terms += (size_t)row * dim;
    float r = inverse_rms(x, dim, epsilon), dot = 0;
    for (int i = threadIdx.x; i < half; i += WARP) {
        float sine, cosine;
        sincosf(angle(positions[row / heads], i, dim, base), &sine, &cosine);
        float g[2] = {d_y[i] * cosine + d_y[i + half] * sine,
                      d_y[i + half] * cosine - d_y[i] * sine};
        for (int k = 0; k < 2; k++) {
            int at = i + k * half;
            terms[at] = g[k] * x[at] * r;
            d_x[at] = g[k] * weight[at];
            dot += d_x[at] * x[at] * r;
        }
    }
    float mean = warp_sum(dot) / dim;
    for (int i = threadIdx.x; i < half; i += WARP)
        for (int at = i; at < dim; at += half) /* what this thread has written above */
            d_x[at] = r * (d_x[at] - x[at] * r * mean);
}

/* In a fixed order, so that the result is the same each time. */
extern "C" __global__ void sum_rows(float *sums, const float *terms, int rows, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (column >= columns)
        return;
    for (int row = 0; row < rows; row++)
        sum += terms[(size_t)row * columns + column];
    sums[column] = sum;
}

/* Eight weights of a word, the lowest bits first: numbers from -8 to 7, with 8 added. */
static __device__ int int4_at(unsigned word, int k)
{
    return (int)(word >> 4 * k & 15) - 8;
}

/* y[row] = sum of scale * weight * x; `group` weights of a row have one scale. */
extern "C" __global__ void int4_gemv(float *y, const unsigned *weights, const float *scales,
                                     const float *x, int rows, int columns, int group)
{
    int row = row_of_warp(), words = columns / 8;
    if (row >= rows)
        return;
    weights += (size_t)row * words;
    scales += (size_t)row * (columns / group);
    float sum = 0;
    for (int word = threadIdx.x; word < words; word += WARP) {
        float part = 0;
        for (int k = 0; k < 8; k++)
            part += int4_at(weights[word], k) * x[8 * word + k];
        sum += part * scales[8 * word / group];
    }
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        y[row] = sum;
}

/* d_x = transposed weights times d_y: a thread for the columns of a word. */
extern "C" __global__ void int4_gemv_grad(float *d_x, const unsigned *weights, const float *scales,
                                          const float *d_y, int rows, int columns, int group)
{
    int word = blockIdx.x * blockDim.x + threadIdx.x, words = columns / 8;
    float sums[8] = {0};
    if (word >= words)
        return;
    for (int row = 0; row < rows; row++) {
        float scaled = d_y[row] * scales[(size_t)row * (columns / group) + 8 * word / group];
        for (int k = 0; k < 8; k++)
            sums[k] += int4_at(weights[(size_t)row * words + word], k) * scaled;
    }
    for (int k = 0; k < 8; k++)
        d_x[8 * word + k] = sums[k];
}

#ifndef __CUDACC_RTC__ /* PLUGINS */
#include "plugin.h"

#include <cuda_runtime.h>

#define ROWS_PER_BLOCK 4

static unsigned blocks_of(int64_t n, int per_block)
{
    return (unsigned)((n + per_block - 1) / per_block);
}

/* What went wrong with the launches of this thread. */
static const char *launched()
{
    cudaError_t error = cudaGetLastError();
    return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

static bool is_vector(const plugin_tensor &tensor, int64_t length)
{
    return tensor.rank == 1 && tensor.dims[0] == length;
}

static void copy_shape(plugin_tensor &to, const plugin_tensor &from)
{
    void *at = to.at;
    to = from;
    to.at = at;
}

/* rmsnorm_rope: x [tokens, heads, dim], weight [dim], positions [tokens] */
enum { X, WEIGHT, POSITIONS, D_Y };
enum { EPSILON, BASE };

static const char *norm_shapes(plugin_call *call)
{
    const plugin_tensor &x = call->in[X];
    if (x.rank != 3 || x.dims[2] % 2)
        return "x must be [tokens, heads, dim], dim even";
    if (!is_vector(call->in[WEIGHT], x.dims[2]))
        return "weight must be [dim] of x";
    if (!is_vector(call->in[POSITIONS], x.dims[0]))
        return "positions must be [tokens] of x";
    copy_shape(call->out[0], x);
    return nullptr;
}

static const char *norm_enqueue(const plugin_call *call, cudaStream_t stream)
{
    const int64_t *dims = call->in[X].dims, rows = dims[0] * dims[1];
    if (rows * dims[2])
        rmsnorm_rope<<<blocks_of(rows, ROWS_PER_BLOCK), dim3(WARP, ROWS_PER_BLOCK), 0, stream>>>(
            (float *)call->out[0].at, (const float *)call->in[X].at,
            (const float *)call->in[WEIGHT].at, (const int *)call->in[POSITIONS].at, (int)rows,
            (int)dims[1], (int)dims[2], call->attributes[EPSILON], call->attributes[BASE]);
    return launched();
}

static const char *norm_grad_shapes(plugin_call *call)
{
    const char *wrong = norm_shapes(call);
    copy_shape(call->out[1], call->in[WEIGHT]);
    return wrong;
}

static size_t norm_grad_workspace_B(const plugin_call *call)
{
    const int64_t *dims = call->in[X].dims;
    return (size_t)(dims[0] * dims[1] * dims[2]) * sizeof(float);
}

static const char *norm_grad_enqueue(const plugin_call *call, cudaStream_t stream)
{
    const int64_t *dims = call->in[X].dims, rows = dims[0] * dims[1];
    float *terms = (float *)call->workspace;
    if (rows * dims[2])
        rmsnorm_rope_grad<<<blocks_of(rows, ROWS_PER_BLOCK), dim3(WARP, ROWS_PER_BLOCK), 0,
                            stream>>>(
            (float *)call->out[0].at, terms, (const float *)call->in[X].at,
            (const float *)call->in[WEIGHT].at, (const int *)call->in[POSITIONS].at,
            (const float *)call->in[D_Y].at, (int)rows, (int)dims[1], (int)dims[2],
            call->attributes[EPSILON], call->attributes[BASE]);
    if (dims[2])
        sum_rows<<<blocks_of(dims[2], 64), 64, 0, stream>>>((float *)call->out[1].at, terms,
                                                            (int)rows, (int)dims[2]);
    return launched();
}

/* int4_gemv: weights [rows, columns / 2], scales [rows, groups], x [columns] */
enum { WEIGHTS, SCALES, VECTOR, D_PRODUCT };

static const char *gemv_shapes(plugin_call *call)
{
    const plugin_tensor &weights = call->in[WEIGHTS], &scales = call->in[SCALES];
    int64_t columns = 2 * weights.dims[1], groups = scales.dims[1];
    if (weights.rank != 2 || columns % 8 || !columns)
        return "weights must be [rows, columns / 2], columns a multiple of 8";
    if (scales.rank != 2 || scales.dims[0] != weights.dims[0] || !groups || columns % (8 * groups))
        return "scales must be [rows, groups], groups of a multiple of 8 columns";
    if (!is_vector(call->in[VECTOR], columns))
        return "x must be [columns]";
    call->out[0].rank = 1;
    call->out[0].dims[0] = weights.dims[0];
    return nullptr;
}

static const char *gemv_enqueue(const plugin_call *call, cudaStream_t stream)
{
    int rows = (int)call->in[WEIGHTS].dims[0], columns = (int)call->in[VECTOR].dims[0];
    if (rows)
        int4_gemv<<<blocks_of(rows, ROWS_PER_BLOCK), dim3(WARP, ROWS_PER_BLOCK), 0, stream>>>(
            (float *)call->out[0].at, (const unsigned *)call->in[WEIGHTS].at,
            (const float *)call->in[SCALES].at, (const float *)call->in[VECTOR].at, rows, columns,
            columns / (int)call->in[SCALES].dims[1]);
    return launched();
}

static const char *gemv_grad_shapes(plugin_call *call)
{
    const char *wrong = gemv_shapes(call);
    copy_shape(call->out[0], call->in[VECTOR]);
    return wrong;
}

static const char *gemv_grad_enqueue(const plugin_call *call, cudaStream_t stream)
{
    int rows = (int)call->in[WEIGHTS].dims[0], columns = (int)call->in[VECTOR].dims[0];
    int4_gemv_grad<<<blocks_of(columns / 8, 64), 64, 0, stream>>>(
        (float *)call->out[0].at, (const unsigned *)call->in[WEIGHTS].at,
        (const float *)call->in[SCALES].at, (const float *)call->in[D_PRODUCT].at, rows, columns,
        columns / (int)call->in[SCALES].dims[1]);
    return launched();
}

static const plugin_op table[] = {
    {"rmsnorm_rope",
     {{"x", PLUGIN_F32}, {"weight", PLUGIN_F32}, {"positions", PLUGIN_I32}},
     {{"y", PLUGIN_F32}},
     {{"epsilon", 1e-6f}, {"base", 10000}},
     "rmsnorm_rope_grad",
     norm_shapes,
     nullptr,
     norm_enqueue},
    {"rmsnorm_rope_grad",
     {{"x", PLUGIN_F32}, {"weight", PLUGIN_F32}, {"positions", PLUGIN_I32}, {"d_y", PLUGIN_F32}},
     {{"d_x", PLUGIN_F32}, {"d_weight", PLUGIN_F32}},
     {{"epsilon", 1e-6f}, {"base", 10000}},
     nullptr,
     norm_grad_shapes,
     norm_grad_workspace_B,
     norm_grad_enqueue},
    {"int4_gemv",
     {{"weights", PLUGIN_U8}, {"scales", PLUGIN_F32}, {"x", PLUGIN_F32}},
     {{"y", PLUGIN_F32}},
     {},
     "int4_gemv_grad",
     gemv_shapes,
     nullptr,
     gemv_enqueue},
    {"int4_gemv_grad",
     {{"weights", PLUGIN_U8}, {"scales", PLUGIN_F32}, {"x", PLUGIN_F32}, {"d_y", PLUGIN_F32}},
     {{"d_x", PLUGIN_F32}},
     {},
     nullptr,
     gemv_grad_shapes,
     nullptr,
     gemv_grad_enqueue},
    {},
};

extern "C" const plugin_op *plugin_table()
{
    return table;
}
#endif
