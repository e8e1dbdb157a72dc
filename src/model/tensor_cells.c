/* Which cells of tensor memory a product reads and writes, for who observes it. See tensor.h. */
#include "model/tensor_mma.h"

struct visiting {
    const struct ir_tensor_mma *p;
    ir_tensor_visit *visit;
    void *user;
};

static struct ir_tensor_coord coord_of(const struct ir_tensor_mma *p, unsigned source,
                                       uint32_t more)
{
    uint32_t address = ir_tensor_mma_source(p, source) + more;

    return (struct ir_tensor_coord){address >> 16, address & 0xffff};
}

static void visit_row(const struct visiting *v, const char *of, unsigned block,
                      struct ir_tensor_coord at, unsigned columns)
{
    const struct ir_tensor_cells cells = {.use = IR_TENSOR_READS,
                                          .block = block,
                                          .lane = at.lane,
                                          .nlanes = 1,
                                          .column = at.column,
                                          .ncolumns = columns,
                                          .of = of};

    v->visit(v->user, &cells);
}

/* Of the block that has the row. */
static unsigned block_of(const struct ir_tensor_mma *p, unsigned row)
{
    return row / p->rows;
}

static void visit_d(const struct visiting *v)
{
    const struct ir_tensor_mma *p = v->p;
    bool reads = ir_tensor_mma_source(p, IR_TENSOR_ENABLE_D) != 0;

    for (unsigned i = 0; i < p->m * p->parts; i++) {
        unsigned row = i / p->parts, lane = ir_tensor_mma_d_lane(p, i % p->parts, row);
        struct ir_tensor_cells cells = {.block = block_of(p, row),
                                        .lane = lane,
                                        .nlanes = 1,
                                        .column = p->at.column,
                                        .ncolumns = p->n / p->parts,
                                        .of = "d"};
        if (lane < IR_TENSOR_LANES && ir_tensor_mma_is_off(p, row, lane))
            continue;
        if (reads)
            v->visit(v->user, &cells);
        cells.use = IR_TENSOR_WRITES;
        v->visit(v->user, &cells);
    }
}

/* Rows of a, or their metadata. */
static void visit_rows(const struct visiting *v, const char *of, struct ir_tensor_coord from,
                       unsigned columns, bool shifted)
{
    for (unsigned row = 0; row < v->p->m; row++) {
        struct ir_tensor_coord at = from;
        at.lane += ir_tensor_mma_lane(v->p, row);
        if (shifted)
            at.lane = ir_tensor_shifted(at.lane);
        visit_row(v, of, block_of(v->p, row), at, columns);
    }
}

static void visit_scales(const struct visiting *v)
{
    const struct ir_tensor_mma *p = v->p;
    struct ir_tensor_coord a = coord_of(p, IR_TENSOR_SCALE_A, 0);
    struct ir_tensor_coord b = coord_of(p, IR_TENSOR_SCALE_B, 0);

    a.lane &= IR_TENSOR_SCALE_ADDRESS_MASK >> 16;
    b.lane &= IR_TENSOR_SCALE_ADDRESS_MASK >> 16;
    for (unsigned row = 0; row < p->m; row++)
        visit_row(v, "the scales of a", block_of(p, row), ir_tensor_mma_a_scale(p, a, row), 1);
    for (unsigned i = 0; i < p->cta->nblocks * p->n; i++)
        visit_row(v, "the scales of b", i / p->n, ir_tensor_mma_b_scale(p, b, i % p->n), 1);
}

bool ir_tensor_mma_cells(const struct ir_tensor *op, const struct ir_tensor_cta *cta,
                         const uint32_t *src, ir_tensor_visit *visit, void *user,
                         struct ir_tensor_error *error)
{
    struct ir_tensor_mma p; /* large: what is used is written first */
    const struct visiting v = {&p, visit, user};

    p.op = op;
    p.cta = cta;
    p.src = src;
    p.error = error;
    if (!ir_tensor_mma_describe(&p))
        return false;
    p.at = coord_of(&p, IR_TENSOR_D, 0);
    visit_d(&v);
    if (ir_tensor_has(op, IR_TENSOR_A_TENSOR))
        visit_rows(&v, "a", coord_of(&p, IR_TENSOR_A, 0), ir_tensor_mma_a_columns(&p),
                   ir_tensor_has(op, IR_TENSOR_ASHIFT));
    if (p.sparse)
        visit_rows(&v, "the metadata", coord_of(&p, IR_TENSOR_METADATA, p.selector),
                   ir_tensor_mma_metadata_columns(&p), false);
    if (p.kind->scaled)
        visit_scales(&v);
    return true;
}
