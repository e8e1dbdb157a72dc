/* Steps of cuDNN's operation graphs as native kernels; dnn_graph.h says what they are. */
#include "klib/dnn_graph.h"
#include "klib/room.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "klib/blas.h"
#include "klib/dnn_math.h"
#include "klib/halves.h"
#include "klib/onednn.h"
#include "klib/philox.h"
#include "klib/real_gemm.h"

/* A block of a product, and how much of k is made numbers of one type at once. */
enum { DNN_ROWS = 128, DNN_COLUMNS = 256, DNN_SLICE = 256 };
enum {
    DNN_SCRATCH_PANELS = (DNN_ROWS + DNN_COLUMNS) * DNN_SLICE + DNN_ROWS * DNN_COLUMNS,
    DNN_SCRATCH = DNN_SCRATCH_PANELS + 2 * DNN_ROWS * DNN_COLUMNS
};
#define GFLOPS     20.0 /* of a thread, about */
#define ELEMENT_NS 1.0  /* an instruction on an element, about */

struct scratch {
    void *at;
};

/* ---- places */

/* Elements [from, from + count) of what is at `at`, `step` apart. */
struct location {
    char *at;
    int64_t from, step, count;
};

static inline int64_t elements_of(const int64_t *dims)
{
    int64_t n = 1;

    for (int d = 0; d < DNN_DIMS; d++)
        n *= dims[d];
    return n;
}

/* The indices of element i of the first `ndims` dimensions; those after them are 0. */
static inline void index_of(const int64_t *dims, int ndims, int64_t i, int64_t *idx)
{
    for (int d = ndims; d < DNN_DIMS; d++)
        idx[d] = 0;
    for (int d = ndims - 1; d >= 0; d--) {
        idx[d] = i % dims[d];
        i /= dims[d];
    }
}

static inline bool has_blocks(const struct dnn_graph_tensor *t)
{
    return t->in_tiles || t->block[0] || (t->has_pages && t->row_dim == DNN_DIMS - 1);
}

static inline char *base_of(const struct dnn_graph_call *call, const struct dnn_graph_tensor *t)
{
    if (t->where == DNN_WORKSPACE)
        return call->workspace + t->offset;
    assert(t->slot < call->nslots);
    return call->slots[t->slot].address;
}

static int64_t whole_from(const char *at, enum dnn_type type, int64_t i)
{
    switch (type) {
    case DNN_I64:
        return ((const int64_t *)at)[i];
    case DNN_I32:
        return ((const int32_t *)at)[i];
    case DNN_U8:
    case DNN_BOOL:
        return ((const uint8_t *)at)[i];
    case DNN_I8:
        return ((const int8_t *)at)[i];
    default: {
        assert(type == DNN_F32);
        return (int64_t)((const float *)at)[i];
    }
    }
}

static double real_from(const char *at, enum dnn_type type)
{
    switch (type) {
    case DNN_F32:
        return (double)*(const float *)at;
    case DNN_F64:
        return *(const double *)at;
    case DNN_F16:
        return (double)klib_f32_of_f16(*(const uint16_t *)at);
    case DNN_BF16:
        return (double)klib_f32_of_bf16(*(const uint16_t *)at);
    case DNN_E4M3:
        return (double)klib_f32_of_e4m3(*(const uint8_t *)at);
    case DNN_E5M2:
        return (double)klib_f32_of_e5m2(*(const uint8_t *)at);
    case DNN_E8M0:
        return (double)klib_f32_of_ue8m0(*(const uint8_t *)at);
    default:
        return (double)whole_from(at, type, 0);
    }
}

static const char *bits_of(const struct dnn_graph_call *call, const struct dnn_graph_tensor *t)
{
    return t->where == DNN_CONSTANT ? (const char *)&t->offset
                                    : (const char *)&call->slots[t->slot];
}

/* A number of the call or the program, whose first bytes are of the tensor's type. */
static double number_of(const struct dnn_graph_call *call, const struct dnn_graph_tensor *t)
{
    return real_from(bits_of(call, t), t->type);
}

/* A tensor of one whole number. */
static int64_t whole_of(const struct dnn_graph_call *call, const struct dnn_graph_tensor *t)
{
    if (t->where == DNN_VALUE || t->where == DNN_CONSTANT)
        return whole_from(bits_of(call, t), t->type, 0);
    return whole_from(base_of(call, t), t->type, t->where == DNN_WORKSPACE ? 0 : t->offset);
}

static struct location place_of(const struct dnn_graph_call *call, const struct dnn_graph_tensor *t,
                                const int64_t *idx);

static int64_t whole_at(const struct dnn_graph_call *call, int tensor, const int64_t *idx)
{
    const struct dnn_graph_tensor *t = dnn_tensors(call->program) + tensor;

    if (t->where == DNN_VALUE || t->where == DNN_CONSTANT)
        return whole_of(call, t);
    struct location p = place_of(call, t, idx);
    return whole_from(p.at, t->type, p.from);
}

/*
 * Scales in tiles of 128 rows by 4 columns: rows of a tile are in four groups of 32, of which each
 * has a column of four bytes.
 */
static int64_t tiled(const struct dnn_graph_tensor *t, int64_t r, int64_t c)
{
    int64_t across = (t->dims[t->column_dim] + 3) / 4;

    return (r / 128 * across + c / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4;
}

/* Where the elements of a row from idx are. A dimension of 1 is the same for all indices. */
static struct location place_of(const struct dnn_graph_call *call, const struct dnn_graph_tensor *t,
                                const int64_t *idx)
{
    struct location p = {.at = base_of(call, t), .count = INT64_MAX};
    int64_t at[DNN_DIMS];

    if (t->where != DNN_WORKSPACE)
        p.from = t->offset;
    for (int d = 0; d < DNN_DIMS; d++) {
        at[d] = t->dims[d] == 1 ? 0 : t->block[d] > 1 ? idx[d] / t->block[d] : idx[d];
        bool is_apart = (t->in_tiles && (d == t->row_dim || d == t->column_dim)) ||
                        (t->ragged >= 0 && d == t->ragged_dim) ||
                        (t->has_pages && (d == t->row_dim || d == t->ragged_dim));
        if (!is_apart)
            p.from += at[d] * t->strides[d];
    }
    if (t->in_tiles)
        p.from += tiled(t, at[t->row_dim], at[t->column_dim]);
    if (t->has_pages) {
        int64_t table[DNN_DIMS] = {[4] = at[t->ragged_dim], [6] = at[t->row_dim] / t->page_rows};
        int64_t batch[DNN_DIMS] = {[4] = at[t->ragged_dim]};
        if (t->length >= 0 && at[t->row_dim] >= whole_at(call, t->length, batch))
            p.count = 0;
        else
            p.from += whole_at(call, t->table, table) * t->page_stride +
                      at[t->row_dim] % t->page_rows * t->strides[t->row_dim];
    }
    p.step = t->dims[DNN_DIMS - 1] == 1 ? 0 : t->strides[DNN_DIMS - 1];
    if (t->ragged >= 0) {
        /* What is behind the elements of this index is the next one's. */
        int64_t next[DNN_DIMS] = {0};
        memcpy(next, idx, sizeof(next));
        int64_t begin = whole_at(call, t->ragged, next);
        next[t->ragged_dim]++;
        p.count = whole_at(call, t->ragged, next) - begin - p.from;
        p.from += begin;
    }
    return p;
}

/* Of n elements those that are there. */
static inline int within(const struct location *p, int n)
{
    int64_t there = p->count <= 0 ? 0 : p->step ? (p->count - 1) / p->step + 1 : n;

    return (int)HD_MIN(there, n);
}

/* ---- what is masked */

/* Numbers of a block: all of them are from lo to hi, or NaN where these are infinite. */
struct interval {
    double lo, hi;
};

static struct interval interval_of(double lo, double hi)
{
    if (lo != lo || hi != hi)
        return (struct interval){-INFINITY, INFINITY};
    return (struct interval){lo, hi};
}

/* Of x `compare` y: 0, 1, or both. */
static struct interval compared(int op, struct interval x, struct interval y)
{
    bool never = false, always = false, is_known = isfinite(x.lo + x.hi + y.lo + y.hi);

    switch (op) {
    case DNN_CMP_LT:
        return compared(DNN_CMP_GT, y, x);
    case DNN_CMP_LE:
        return compared(DNN_CMP_GE, y, x);
    case DNN_CMP_GT:
        always = x.lo > y.hi;
        never = x.hi <= y.lo;
        break;
    case DNN_CMP_GE:
        always = x.lo >= y.hi;
        never = x.hi < y.lo;
        break;
    default:
        break;
    }
    return (struct interval){is_known && always, !is_known || !never};
}

/* A tensor's element that is the same for a whole block. */
static struct interval loaded(const struct dnn_graph_call *call, int tensor, const int64_t *idx)
{
    static const uint8_t size_B[DNN_TYPES] = {
#define X(name, size, cudnn) [DNN_##name] = size,
        DNN_TYPE_LIST(X)
#undef X
    };
    const struct dnn_graph_tensor *t = &dnn_tensors(call->program)[tensor];

    if (t->where == DNN_VALUE || t->where == DNN_CONSTANT) {
        double x = real_from(bits_of(call, t), t->type);
        return interval_of(x, x);
    }
    if (t->dims[6] != 1 || t->dims[7] != 1 || t->in_tiles || t->block[0] || t->ragged >= 0 ||
        t->has_pages || t->type == DNN_C32 || !size_B[t->type])
        return interval_of(-INFINITY, INFINITY);
    struct location p = place_of(call, t, idx);
    double x = real_from(p.at + p.from * size_B[t->type], t->type);
    return interval_of(x, x);
}

/*
 * Does code on scores make minus infinity of all h x w of them from idx on, whatever they are? By
 * intervals of what it computes of indices and of numbers that are the same in the block, as masks
 * of bands and of lengths do.
 */
static bool block_is_masked(const struct dnn_graph_call *call, struct dnn_range range,
                            const int64_t *idx, int64_t h, int64_t w)
{
    const struct dnn_code *c = dnn_code(call->program) + range.first, *end = c + range.count;
    const struct interval all = {-INFINITY, INFINITY};
    struct interval regs[DNN_REGISTERS], r = all;

    for (int i = 0; i < DNN_REGISTERS; i++)
        regs[i] = all;
    for (; c < end; c++) {
        struct interval a = regs[c->a], b = regs[c->b], t = regs[c->c];
        switch (c->op) {
        case DNN_STORE: /* what is stored is wanted */
            return false;
        case DNN_INDEX: {
            int64_t n = c->tensor == 6 ? h : c->tensor == 7 ? w : 1;
            r = interval_of((double)idx[c->tensor], (double)(idx[c->tensor] + n - 1));
            break;
        }
        case DNN_LOAD:
            r = loaded(call, c->tensor, idx);
            break;
        case DNN_CONST:
            r = interval_of(c->p[0], c->p[0]);
            break;
        case DNN_IDENTITY:
            r = a;
            break;
        case DNN_NEG:
            r = interval_of(-a.hi, -a.lo);
            break;
        case DNN_ADD:
            r = interval_of(a.lo + b.lo, a.hi + b.hi);
            break;
        case DNN_SUB:
            r = interval_of(a.lo - b.hi, a.hi - b.lo);
            break;
        case DNN_CMP_GT:
        case DNN_CMP_GE:
        case DNN_CMP_LT:
        case DNN_CMP_LE:
            r = compared(c->op, a, b);
            break;
        case DNN_LOGICAL_AND:
            r = interval_of(a.lo == 1 && b.lo == 1,
                            !(a.hi == 0 && a.lo == 0) && !(b.hi == 0 && b.lo == 0));
            break;
        case DNN_LOGICAL_OR:
            r = interval_of((a.lo == 1 && a.hi == 1) || (b.lo == 1 && b.hi == 1),
                            !(a.lo == 0 && a.hi == 0 && b.lo == 0 && b.hi == 0));
            break;
        case DNN_BINARY_SELECT:
            r = t.lo == 1 && t.hi == 1   ? a
                : t.lo == 0 && t.hi == 0 ? b
                                         : (struct interval){fmin(a.lo, b.lo), fmax(a.hi, b.hi)};
            break;
        default:
            r = all;
        }
        regs[c->r] = r;
    }
    return range.count && r.hi == -INFINITY;
}

/* ---- products: op(a) op(b) by columns, or c plus that */

static void gemm_f32(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                     const float *b, int64_t ldb, bool is_added, float *c, int64_t ldc)
{
    const float one = 1, beta = is_added ? 1 : 0;

    if (!klib_onednn_floats(ta, tb, m, n, k, a, lda, b, ldb, is_added, c, ldc))
        sgemm_(ta ? "T" : "N", tb ? "T" : "N", &m, &n, &k, &one, a, &lda, b, &ldb, &beta, c, &ldc);
}

static void gemm_f64(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const double *a,
                     int64_t lda, const double *b, int64_t ldb, bool is_added, double *c,
                     int64_t ldc)
{
    const double one = 1, beta = is_added ? 1 : 0;

    dgemm_(ta ? "T" : "N", tb ? "T" : "N", &m, &n, &k, &one, a, &lda, b, &ldb, &beta, c, &ldc);
}

/* ---- numbers */

/* The least power of two that is not less; 0 and less: the least there is. */
static uint8_t e8m0_of(float x)
{
    uint32_t bits = klib_bits_of(x);

    if (x != x)
        return 255;
    if (!(x > 0))
        return 0;
    uint32_t exponent = bits >> 23;
    if (bits & 0x7fffff)
        exponent++;
    return (uint8_t)HD_MIN(exponent, 254);
}

#define REAL     float
#define N(name)  name##_f32
#define F(name)  name##f
#define DNN_REAL DNN_F32
#include "klib/dnn_graph_code.inc"
#include "klib/dnn_graph_steps.inc"
#include "klib/dnn_graph_attention.inc"
#undef REAL
#undef N
#undef F
#undef DNN_REAL
#define REAL     double
#define N(name)  name##_f64
#define F(name)  name
#define DNN_REAL DNN_F64
#include "klib/dnn_graph_code.inc"
#include "klib/dnn_graph_steps.inc"
#include "klib/dnn_graph_attention.inc"

/* ---- kernels */

/* Numbers that a step keeps while it runs. */
static size_t scratch_of(const struct dnn_step *s)
{
    int64_t rows = s->numbers[0], d = s->operand_dims[0][7], dv = s->dims[7];
    int64_t keys = s->operand_dims[2][6];

    switch (s->kind) {
    case DNN_STEP_MATMUL:
    case DNN_STEP_GROUPED:
        return DNN_SCRATCH;
    case DNN_STEP_ATTENTION:
        return (size_t)(rows * (d + keys + dv + 1) + DNN_BLOCK * HD_MAX(d, dv) + keys / DNN_BLOCK +
                        1);
    default:
        return 0;
    }
}

static int run(struct heddle_native_call *native)
{
    const struct dnn_graph_call *call = native->params;
    const struct dnn_step *s = dnn_steps(call->program) + call->step;
    size_t real_B = s->is_wide ? sizeof(double) : sizeof(float);
    size_t regs = (size_t)DNN_REGISTERS * DNN_BLOCK;
    char *memory = klib_room_get((regs + scratch_of(s)) * real_B);
    struct scratch scratch = {memory + regs * real_B};

    if (!memory)
        return heddle_native_fail(native, 1, "no memory for a step of a graph");
    for (uint64_t tile = native->first; tile < native->last; tile++) {
#define STEP(name, ...)                                                                            \
    if (s->is_wide)                                                                                \
        name##_f64(call, s, tile, __VA_ARGS__(double *) memory);                                   \
    else                                                                                           \
        name##_f32(call, s, tile, __VA_ARGS__(float *) memory);                                    \
    break
#define SCRATCH &scratch,
        switch ((enum dnn_step_kind)s->kind) {
        case DNN_STEP_CODE:
            STEP(step_code, );
        case DNN_STEP_REDUCE:
            STEP(step_reduce, );
        case DNN_STEP_MATMUL:
            STEP(step_matmul, SCRATCH);
        case DNN_STEP_RESAMPLE:
            STEP(step_resample, );
        case DNN_STEP_RESAMPLE_BWD:
            STEP(step_resample_bwd, );
        case DNN_STEP_QUANTIZE:
            STEP(step_quantize, );
        case DNN_STEP_GROUPED:
            STEP(step_grouped, SCRATCH);
        case DNN_STEP_ATTENTION:
            STEP(step_attention, SCRATCH);
        case DNN_STEP_CONV:
            break;
        case DNN_STEP_KINDS:
            assert(!"a step");
        }
#undef STEP
#undef SCRATCH
    }
    klib_room_put(memory);
    atomic_fetch_add_explicit(&call->program->done, native->last - native->first,
                              memory_order_release);
    return 0;
}

/* Tiles of `count` pieces, `each` at a time; about that many nanoseconds a tile. */
static void tiles_of(struct dnn_step *s, int64_t count, double piece_ns)
{
    int64_t each = (int64_t)HD_MAX(20000 / HD_MAX(piece_ns, 0.1), 1);

    s->numbers[0] = HD_MIN(each, HD_MAX(count, 1));
    s->tiles = (uint64_t)((count + s->numbers[0] - 1) / s->numbers[0]);
    s->work_ns = (uint64_t)((double)count * piece_ns);
}

static double code_ns(const struct dnn_step *s, const struct dnn_range *r, int64_t elements)
{
    (void)s;
    return (double)elements * ELEMENT_NS * HD_MAX(r->count, 1);
}

static void plan(struct dnn_step *s, unsigned threads)
{
    const int64_t *dims = s->dims;
    int64_t last = dims[DNN_DIMS - 1], n = elements_of(dims);

    switch ((enum dnn_step_kind)s->kind) {
    case DNN_STEP_REDUCE: {
        const int64_t *of = s->operand_dims[0];
        int64_t all = elements_of(of), outputs = n;
        double ns = code_ns(s, &s->operands[0], all);
        if (s->numbers[2]) {
            int64_t segments = (of[DNN_DIMS - 1] + DNN_BLOCK - 1) / DNN_BLOCK;
            s->tiles = (uint64_t)(n / of[DNN_DIMS - 1] * segments);
            s->work_ns = (uint64_t)ns;
            break;
        }
        tiles_of(s, outputs, ns / (double)HD_MAX(outputs, 1));
        break;
    }
    case DNN_STEP_MATMUL: {
        int64_t m = dims[DNN_DIMS - 2], k = s->numbers[2], batch = n / m / last;
        int64_t rows = HD_MIN(m, DNN_ROWS), columns = HD_MIN(last, DNN_COLUMNS);
        while ((uint64_t)(batch * ((m + rows - 1) / rows) * ((last + columns - 1) / columns)) <
                   2 * (uint64_t)threads &&
               HD_MAX(rows, columns) > 32) {
            if (columns > rows)
                columns = (columns + 1) / 2;
            else
                rows = (rows + 1) / 2;
        }
        s->numbers[0] = rows;
        s->numbers[1] = columns;
        s->tiles = (uint64_t)(batch * ((m + rows - 1) / rows) * ((last + columns - 1) / columns));
        s->work_ns = (uint64_t)(2 * (double)n * (double)k / GFLOPS + code_ns(s, &s->code, n));
        break;
    }
    case DNN_STEP_ATTENTION: {
        int64_t m = dims[6], keys = s->operand_dims[2][6], d = s->operand_dims[0][7];
        int64_t rows = HD_MIN(m, DNN_ROWS / 2), batch = n / m / last;
        while (rows > 8 && batch * ((m + rows - 1) / rows) < 2 * (int64_t)threads)
            rows = (rows + 1) / 2;
        s->numbers[0] = rows;
        s->tiles = (uint64_t)(batch * ((m + rows - 1) / rows));
        s->work_ns = (uint64_t)((double)(batch * m * keys) *
                                (2 * (double)(d + last) / GFLOPS + 10 + s->scores.count));
        break;
    }
    case DNN_STEP_GROUPED:
        s->tiles = (uint64_t)(s->dims[5] * ((dims[6] + DNN_ROWS - 1) / DNN_ROWS) *
                              ((last + DNN_COLUMNS - 1) / DNN_COLUMNS));
        s->work_ns = (uint64_t)(2 * (double)n * (double)s->numbers[2] / GFLOPS);
        break;
    default: {
        int64_t segments = n / HD_MAX(last, 1) * ((last + DNN_BLOCK - 1) / DNN_BLOCK);
        double per = code_ns(s, &s->code, n) * (s->kind == DNN_STEP_CODE ? 1 : 20);
        tiles_of(s, segments, per / (double)HD_MAX(segments, 1));
    }
    }
}

const struct klib_dnn_graph klib_dnn_graph = {.run = run, .plan = plan};
