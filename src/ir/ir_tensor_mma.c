/*
 * Products in tensor memory: what the instruction descriptor says, matrices as f32, and sums as
 * ir_eval_mma.c makes them.
 */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "ir/ir_mma.h"
#include "ir/ir_tensor.h"

enum { WARP = 32, SCALES_MAX = 4, PIECE_MAX = 32, HALF = 16, PARTS_MAX = 4 };

static unsigned field(uint32_t word, unsigned at, unsigned n)
{
    return word >> at & ((1u << n) - 1);
}

/* ---- kinds */

static const struct kind {
    uint8_t k;      /* of dense products */
    uint8_t padded; /* elements below 8 bits have, in shared memory, 16 to a piece */
    uint8_t box;    /* bits of an element in tensor memory; 0: its own */
    bool scaled;
    enum ir_type types[6]; /* by number */
    enum ir_type sums[3];
} kinds[] = {
    [IR_TENSOR_KIND_F16] = {16, 0, 0, false, {IR_F16, IR_BF16}, {IR_F16, IR_F32}},
    [IR_TENSOR_KIND_TF32] = {8, 0, 0, false, {IR_VOID, IR_VOID, IR_TF32}, {IR_VOID, IR_F32}},
    [IR_TENSOR_KIND_F8F6F4] =
        {32, 1, 8, false, {IR_E4M3, IR_E5M2, IR_VOID, IR_E2M3, IR_E3M2, IR_E2M1}, {IR_F16, IR_F32}},
    [IR_TENSOR_KIND_I8] = {32, 0, 0, false, {IR_U8, IR_S8}, {IR_VOID, IR_VOID, IR_S32}},
    [IR_TENSOR_KIND_MXF8F6F4] =
        {32, 1, 8, true, {IR_E4M3, IR_E5M2, IR_VOID, IR_E2M3, IR_E3M2, IR_E2M1}, {IR_VOID}},
    [IR_TENSOR_KIND_MXF4] = {64, 0, 0, true, {IR_VOID, IR_E2M1}, {IR_VOID}},
    [IR_TENSOR_KIND_MXF4NVF4] = {64, 0, 0, true, {IR_VOID, IR_E2M1}, {IR_VOID}},
};

/* How rows of d lie in lanes. */
enum layout { WHOLE, SCATTERED, FOLDED };

struct product {
    const struct ir_tensor *op;
    const struct ir_tensor_cta *cta;
    const uint32_t *src;
    struct ir_tensor_error *error;
    const struct kind *kind;
    unsigned m, n, k, stored_k;
    unsigned parts; /* of n, that lie below each other; more than one: FOLDED */
    enum layout layout;
    enum ir_type a, b, d;
    bool minus, trans_a, trans_b, saturates, sparse;
    unsigned selector, scale_id_a, scale_id_b;
    enum ir_type scale;
    struct ir_tensor_place at; /* of d */
    bool folded_scales;        /* the matrices are scaled */
    float scale_a[IR_TENSOR_M_MAX][SCALES_MAX], scale_b[IR_TENSOR_N_MAX][SCALES_MAX];
};

static bool refuse(const struct product *p, const char *why)
{
    return ir_tensor_refuse(p->error, HD_TRAP, p->src[IR_TENSOR_IDESC * WARP + p->cta->lane], why);
}

static enum ir_type type_of(const struct kind *kind, unsigned number)
{
    return number < HD_COUNT_OF(kind->types) ? kind->types[number] : IR_VOID;
}

/* ---- the instruction descriptor */

static bool shape_is_legal(const struct product *p)
{
    unsigned step = p->m == 128 && !p->kind->scaled ? 16 : 8;

    if (ir_tensor_has(p->op, IR_TENSOR_WS))
        return (p->m == 32 || p->m == 64 || p->m == 128) &&
               (p->n == 64 || p->n == 128 || p->n == 256);
    return (p->m == 128 || (p->m == 64 && !p->kind->scaled)) && p->n >= step && p->n <= 256 &&
           p->n % step == 0;
}

static void types_read(struct product *p, uint32_t idesc)
{
    p->a = type_of(p->kind, field(idesc, 7, 3));
    p->b =
        type_of(p->kind, field(idesc, 10, p->kind->types[0] == IR_VOID && p->kind->scaled ? 2 : 3));
    if (p->kind->scaled)
        p->d = IR_F32;
    else
        p->d = field(idesc, 4, 2) < 3 ? p->kind->sums[field(idesc, 4, 2)] : IR_VOID;
}

static void scales_describe(struct product *p, uint32_t idesc)
{
    p->scale = field(idesc, 23, 1) ? IR_UE8M0 : IR_UE4M3;
    p->scale_id_a = field(idesc, 29, 2);
    p->scale_id_b = field(idesc, 4, 2);
}

static bool scales_are_legal(const struct product *p)
{
    unsigned n = p->op->scales, ids = p->scale_id_a | p->scale_id_b;

    if (p->scale == IR_UE4M3 && (p->op->kind != IR_TENSOR_KIND_MXF4NVF4 || n != 4))
        return false;
    return ids % n == 0; /* one of four bytes, one of two halves, all */
}

static bool describe(struct product *p)
{
    uint32_t idesc = p->src[IR_TENSOR_IDESC * WARP + p->cta->lane];
    bool ws = ir_tensor_has(p->op, IR_TENSOR_WS);

    types_read(p, idesc);
    p->m = field(idesc, 24, 5) << 4;
    p->n = field(idesc, 17, 6) << 3;
    p->sparse = field(idesc, 2, 1);
    p->selector = field(idesc, 0, 2);
    p->k = (unsigned)p->kind->k << p->sparse;
    p->stored_k = p->kind->k;
    p->saturates = p->op->kind == IR_TENSOR_KIND_I8 && field(idesc, 3, 1);
    p->minus = field(idesc, 13, 1) != field(idesc, 14, 1);
    p->trans_a = field(idesc, 15, 1);
    p->trans_b = field(idesc, 16, 1);
    p->parts = ws ? 128 / HD_MAX(p->m, 32u) : 1;
    p->layout = p->m == 128 ? WHOLE : ws ? FOLDED : SCATTERED;
    if (p->kind->scaled)
        scales_describe(p, idesc);
    if (p->a == IR_VOID || p->b == IR_VOID || p->d == IR_VOID ||
        (p->op->kind == IR_TENSOR_KIND_F16 && p->a != p->b))
        return refuse(p, "an instruction descriptor with types that this kind does not have");
    if (!shape_is_legal(p))
        return refuse(p, "an instruction descriptor with a shape that this kind does not have");
    if (p->sparse != ir_tensor_has(p->op, IR_TENSOR_SPARSE))
        return refuse(p, "an instruction descriptor that is sparse with a dense instruction, or "
                         "the other way round");
    if (p->sparse && p->layout == SCATTERED)
        return refuse(p, "sparse products of 64 rows are not supported");
    if (p->kind->scaled && field(idesc, 31, 1))
        return refuse(p, "products of k 96 are not supported");
    if (p->kind->scaled && !scales_are_legal(p))
        return refuse(p, "an instruction descriptor with scales that this kind does not have");
    return true;
}

/* ---- elements */

static unsigned element_bits(enum ir_type type)
{
    return type == IR_E2M3 || type == IR_E3M2 ? 6 : ir_type_bits(type);
}

static float decode(const struct product *p, enum ir_type type, uint32_t bits)
{
    return p->d == IR_S32 ? (float)ir_mma_integer(type, bits) : ir_mma_float(type, bits);
}

/* Elements of a piece of shared memory; how many there are. */
static unsigned piece_elements(const struct product *p, enum ir_type type)
{
    unsigned bits = element_bits(type);
    return p->kind->padded && bits < 8 ? 16 : IR_MATRIX_PIECE_B * 8 / bits;
}

static uint32_t piece_bits(const char *piece, unsigned at, unsigned bits)
{
    uint8_t byte[IR_MATRIX_PIECE_B + 4] = {0};
    uint32_t word, next;

    memcpy(byte, piece, IR_MATRIX_PIECE_B);
    memcpy(&word, byte + at / 8, sizeof(word));
    next = word >> at % 8;
    return bits == 32 ? next : next & ((1u << bits) - 1);
}

static void piece_decode(const struct product *p, enum ir_type type, const char *piece, float *out)
{
    unsigned bits = element_bits(type), n = piece_elements(p, type);

    for (unsigned i = 0; i < n; i++)
        out[i] = decode(p, type, piece_bits(piece, i * bits, bits));
}

/* ---- matrices */

struct target {
    enum ir_type type;
    unsigned outer, inner;           /* rows of a or columns of b; along k */
    unsigned outer_stride, k_stride; /* in `out` */
    float *out;
};

static bool fast_read(const struct product *p, struct ir_matrix from, const struct target *t)
{
    const struct ir_matrix_panel panel = {.from = from,
                                          .window = p->cta->window,
                                          .type = t->type,
                                          .outer = t->outer,
                                          .inner = t->inner,
                                          .outer_stride = t->outer_stride,
                                          .k_stride = t->k_stride,
                                          .out = t->out};
    return p->cta->fast->read(&panel);
}

static bool window_read(const struct product *p, struct ir_matrix from, const struct target *t)
{
    unsigned per = piece_elements(p, t->type);
    unsigned lines = from.trans ? t->inner : t->outer, along = from.trans ? t->outer : t->inner;
    unsigned line_stride = from.trans ? t->k_stride : t->outer_stride;
    unsigned along_stride = from.trans ? t->outer_stride : t->k_stride;
    float elements[PIECE_MAX];

    if (p->cta->fast && fast_read(p, from, t))
        return true;
    for (unsigned line = 0; line < lines; line++) {
        for (unsigned at = 0; at < along; at += per) {
            uint32_t offset = ir_matrix_piece(&from, line, at / per);
            const char *piece = ir_matrix_at(&p->cta->window, offset);
            float *to = t->out + line * line_stride + at * along_stride;
            if (!piece)
                return ir_tensor_refuse(p->error, HD_ILLEGAL_ADDRESS, offset,
                                        "a matrix reaches outside of shared memory");
            piece_decode(p, t->type, piece, elements);
            for (unsigned i = 0; i < HD_MIN(per, along - at); i++)
                to[i * along_stride] = elements[i];
        }
    }
    return true;
}

static unsigned lane_of(const struct product *p, unsigned row)
{
    return p->layout == SCATTERED ? row / HALF * WARP + row % HALF : row;
}

/* Lanes from the first to the last one. */
static unsigned lanes_spanned(const struct product *p)
{
    return p->layout == FOLDED ? p->m : lane_of(p, p->m - 1) + 1;
}

static bool tensor_read(const struct product *p, const struct target *t)
{
    unsigned bits = element_bits(t->type), box = p->kind->box ? p->kind->box : bits;
    unsigned shift = box == 8 && bits == 4 ? 2 : 0, per = 32 / box;
    uint32_t address = p->src[IR_TENSOR_A * WARP + p->cta->lane];
    struct ir_tensor_place at;

    if (!ir_tensor_place(p->cta, address, lanes_spanned(p), t->inner / per, &at, p->error))
        return false;
    for (unsigned row = 0; row < t->outer; row++) {
        const uint32_t *cells = &p->cta->memory->cell[at.lane + lane_of(p, row)][at.column];
        for (unsigned i = 0; i < t->inner; i++) {
            uint32_t word = cells[i / per] >> (i % per * box + shift);
            uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
            t->out[row * t->outer_stride + i * t->k_stride] = decode(p, t->type, word & mask);
        }
    }
    return true;
}

static bool matrices_read(const struct product *p)
{
    struct ir_tensor_memory *memory = p->cta->memory;
    const struct target a = {p->a, p->m, p->stored_k, p->stored_k, 1, memory->a};
    const struct target b = {p->b, p->n, p->k, 1, p->n, memory->b};
    uint64_t b_descriptor = ir_tensor_pair(p->cta, p->src, IR_TENSOR_B);
    uint64_t a_descriptor = ir_tensor_pair(p->cta, p->src, IR_TENSOR_A);
    bool ok = ir_tensor_has(p->op, IR_TENSOR_A_TENSOR)
                  ? tensor_read(p, &a)
                  : window_read(p, ir_matrix_of(a_descriptor, p->trans_a), &a);

    if (!ok || !window_read(p, ir_matrix_of(b_descriptor, p->trans_b), &b))
        return false;
    for (unsigned i = 0; p->minus && i < p->m * p->stored_k; i++)
        memory->a[i] = -memory->a[i];
    return true;
}

/* ---- sparsity: the column of a that its stored element `j` of a row is */

static unsigned metadata_bits(const struct product *p, struct ir_tensor_place at, unsigned row,
                              unsigned bit)
{
    const struct ir_tensor_memory *memory = p->cta->memory;

    if (element_bits(p->a) >= 16) { /* 16 bits of a row, and of the row 8 below it */
        unsigned lane = row / 16 * 16 + bit / 16 * 8 + row % 8;
        return memory->cell[at.lane + lane][at.column] >> (row % 16 / 8 * 16 + bit % 16) & 3;
    }
    return memory->cell[at.lane + row][at.column + bit / 32] >> bit % 32 & 3;
}

static unsigned column_of(const struct product *p, struct ir_tensor_place at, unsigned row,
                          unsigned j)
{
    if (!p->sparse)
        return j;
    if (p->a == IR_TF32)
        return 2 * j + metadata_bits(p, at, row, 4 * j) / 2;
    if (p->kind->k == 64) /* pairs of elements of 4 bits */
        return j / 4 * 8 + 2 * metadata_bits(p, at, row, j / 2 * 2) + j % 2;
    return j / 2 * 4 + metadata_bits(p, at, row, 2 * j);
}

/* ---- scales */

static bool scales_read(const struct product *p, unsigned source, unsigned n, unsigned id,
                        bool is_a, float out[][SCALES_MAX])
{
    uint32_t address = p->src[source * WARP + p->cta->lane] & 0x3fffffffu;
    unsigned columns = (n + WARP - 1) / WARP;
    struct ir_tensor_place at;

    if (!ir_tensor_place(p->cta, address, WARP, columns, &at, p->error))
        return false;
    for (unsigned i = 0; i < n; i++) {
        /* Each quarter of the lanes has a copy; that of a row is the row's own. */
        unsigned lane = (at.lane + (is_a ? i / WARP * WARP : 0)) % IR_TENSOR_LANES + i % WARP;
        uint32_t word = p->cta->memory->cell[lane][at.column + i / WARP];
        for (unsigned s = 0; s < p->op->scales; s++)
            out[i][s] = ir_mma_scale(p->scale, word >> (id + s) * 8 & 0xff);
    }
    return true;
}

/* Are they so far from the ends of f32's range that elements, times two of them, are inside? */
static bool scales_are_tame(const struct product *p, unsigned n, float scales[][SCALES_MAX])
{
    for (unsigned i = 0; i < n * p->op->scales; i++) {
        float x = scales[i / p->op->scales][i % p->op->scales];
        if (!(x == 0 || (x >= 0x1p-40f && x <= 0x1p40f)))
            return false;
    }
    return true;
}

static bool are_finite(const float *x, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/*
 * Scales the elements where their products are then what scaled products would be, which are
 * exact: elements have 4 bits, scales too, and elements lie between 2^-16 and 2^16.
 */
static bool scales_fold(struct product *p)
{
    struct ir_tensor_memory *memory = p->cta->memory;
    unsigned block = p->k / p->op->scales, na = p->m * p->stored_k, nb = p->k * p->n;

    if (p->sparse || !scales_are_tame(p, p->m, p->scale_a) ||
        !scales_are_tame(p, p->n, p->scale_b) || !are_finite(memory->a, na) ||
        !are_finite(memory->b, nb))
        return false;
    for (unsigned i = 0; i < na; i++)
        memory->a[i] *= p->scale_a[i / p->k][i % p->k / block];
    for (unsigned i = 0; i < nb; i++)
        memory->b[i] *= p->scale_b[i % p->n][i / p->n / block];
    return true;
}

static bool scaling_read(struct product *p)
{
    if (!p->kind->scaled)
        return true;
    if (!scales_read(p, IR_TENSOR_SCALE_A, p->m, p->scale_id_a, true, p->scale_a) ||
        !scales_read(p, IR_TENSOR_SCALE_B, p->n, p->scale_id_b, false, p->scale_b))
        return false;
    p->folded_scales = scales_fold(p);
    return true;
}

/* ---- sums */

struct row {
    const float *a;
    unsigned number;
    unsigned column[IR_TENSOR_K_MAX]; /* of the row's elements */
};

/* Element `col` of b's columns. */
static float sum_float(const struct product *p, const struct row *r, unsigned col, float sum)
{
    const float *b = p->cta->memory->b + col;
    unsigned block = p->kind->scaled ? p->k / p->op->scales : 1;

    for (unsigned j = 0; j < p->stored_k; j++) {
        float x = r->a[j], y = b[r->column[j] * p->n];
        if (p->kind->scaled && !p->folded_scales) {
            unsigned s = r->column[j] / block;
            sum += (float)((double)x * y * p->scale_a[r->number][s] * p->scale_b[col][s]);
        } else
            sum = fmaf(x, y, sum);
    }
    return sum;
}

static uint32_t sum_integer(const struct product *p, const struct row *r, unsigned col, uint32_t c)
{
    const float *b = p->cta->memory->b + col;
    int64_t sum = (int32_t)c;

    for (unsigned j = 0; j < p->stored_k; j++)
        sum += (int64_t)r->a[j] * (int64_t)b[r->column[j] * p->n];
    if (p->saturates)
        sum = HD_MAX(HD_MIN(sum, INT32_MAX), INT32_MIN);
    return (uint32_t)sum;
}

static float old_sum(const struct product *p, uint32_t cell)
{
    float c = ir_mma_float(p->d, cell);
    return p->op->scale_d ? c * ldexpf(1.0f, -(int)p->op->scale_d) : c;
}

static void row_sum(const struct product *p, const struct row *r, unsigned first, unsigned n,
                    uint32_t *cells)
{
    bool has_c = p->src[IR_TENSOR_ENABLE_D * WARP + p->cta->lane] != 0;

    for (unsigned i = 0; i < n; i++) {
        if (p->d == IR_S32)
            cells[i] = sum_integer(p, r, first + i, has_c ? cells[i] : 0);
        else
            cells[i] = ir_mma_narrow(
                p->d, sum_float(p, r, first + i, has_c ? old_sum(p, cells[i]) : 0.0f));
    }
}

static bool lane_is_off(const struct product *p, unsigned lane)
{
    return p->src[(IR_TENSOR_OFF + lane / WARP) * WARP + p->cta->lane] >> lane % WARP & 1;
}

/* Where a row of a part of d is; NULL: it is not to be written. */
static uint32_t *row_cells(const struct product *p, unsigned part, unsigned row)
{
    unsigned lane = p->at.lane + lane_of(p, row) + part * p->m;

    if (lane_is_off(p, lane))
        return NULL;
    return &p->cta->memory->cell[lane][p->at.column];
}

static void model_product(const struct product *p, struct ir_tensor_place metadata)
{
    unsigned n = p->n / p->parts;
    struct row r;

    for (unsigned row = 0; row < p->m; row++) {
        r.a = p->cta->memory->a + row * p->stored_k;
        r.number = row;
        for (unsigned j = 0; j < p->stored_k; j++)
            r.column[j] = column_of(p, metadata, row, j);
        for (unsigned part = 0; part < p->parts; part++) {
            uint32_t *cells = row_cells(p, part, row);
            if (cells)
                row_sum(p, &r, part * n, n, cells);
        }
    }
}

/* ---- sums of a device that does them faster */

static void cells_prepare(const struct product *p, unsigned n, uint32_t *cells)
{
    bool has_c = p->src[IR_TENSOR_ENABLE_D * WARP + p->cta->lane] != 0;

    if (!has_c)
        memset(cells, 0, n * sizeof(*cells));
    for (unsigned i = 0; has_c && p->op->scale_d && i < n; i++) {
        float c = old_sum(p, cells[i]);
        memcpy(&cells[i], &c, sizeof(c));
    }
}

/* d is f32, and lies where its sums are made. */
static void fast_product(const struct product *p)
{
    struct ir_tensor_product q = {
        .n = p->n / p->parts, .k = p->k, .ldb = p->n, .b = p->cta->memory->b};

    for (unsigned part = 0; part < p->parts; part++, q.b += q.n) {
        q.m = 0;
        for (unsigned row = 0; row < p->m; row++) {
            uint32_t *cells = row_cells(p, part, row);
            if (!cells)
                continue;
            cells_prepare(p, q.n, cells);
            q.a[q.m] = p->cta->memory->a + row * p->stored_k;
            q.d[q.m++] = (float *)(void *)cells;
        }
        p->cta->fast->product(&q);
    }
}

/* ---- the whole */

static bool d_find(struct product *p)
{
    uint32_t address = p->src[IR_TENSOR_D * WARP + p->cta->lane];
    unsigned lanes = p->layout == FOLDED ? 128 : lanes_spanned(p);

    return ir_tensor_place(p->cta, address, lanes, p->n / p->parts, &p->at, p->error);
}

static bool metadata_find(const struct product *p, struct ir_tensor_place *out)
{
    uint32_t address = p->src[IR_TENSOR_METADATA * WARP + p->cta->lane];
    unsigned columns = element_bits(p->a) >= 16 ? 1 : 2;

    *out = (struct ir_tensor_place){0, 0};
    return !p->sparse ||
           ir_tensor_place(p->cta, address + p->selector, p->m, columns, out, p->error);
}

static bool multiply(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                     const uint32_t *src, struct ir_tensor_error *error)
{
    struct product p; /* large: what is used is written first */
    struct ir_tensor_place metadata;

    p.op = op;
    p.cta = cta;
    p.src = src;
    p.error = error;
    p.kind = &kinds[op->kind];
    p.folded_scales = false;
    if (!describe(&p) || !d_find(&p) || !metadata_find(&p, &metadata) || !matrices_read(&p) ||
        !scaling_read(&p))
        return false;
    if (cta->fast && !p.sparse && p.d == IR_F32 && (!p.kind->scaled || p.folded_scales))
        fast_product(&p);
    else
        model_product(&p, metadata);
    return true;
}

/* Called through memory: the arithmetic must stay between the two changes of environment. */
static bool (*volatile const multiply_call)(const struct ir_tensor *, const struct ir_tensor_cta *,
                                            const uint32_t *, struct ir_tensor_error *) = multiply;

bool ir_tensor_mma(const struct ir_tensor *op, const struct ir_tensor_cta *cta, const uint32_t *src,
                   struct ir_tensor_error *error)
{
    bool ok;
    fenv_t env;
    fegetenv(&env);
    fesetenv(FE_DFL_ENV);
    ok = multiply_call(op, cta, src, error);
    fesetenv(&env);
    return ok;
}
