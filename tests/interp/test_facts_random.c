/*
 * Value facts of whole random programs hold: behind every value stands code that asks whether it
 * lies in its range and is the sum that its form says, and at uses in branches whether it lies in
 * the range that holds there; values that threads of the grid or the CTA are said to share are
 * compared among them, and lanes of the first block with lane 0. Then the interpreter runs the
 * program, as it is and optimised. Arguments: FIRST COUNT SIZE; a SIZE of "limits" is operations at
 * their limits, of "loops" loops that count.
 */
#include "tap.h"

#include "analysis/facts.h"
#include "interp/interp.h"
#include "opt/opt.h"
#include "random_ir.h"

enum { VALUES_MAX = 1 << 16 };

static uint32_t input[RANDOM_IR_WORDS] HD_ALIGNED(16);
static uint64_t output[RANDOM_IR_OUT_B / 8];
/* What code that checks writes: 1 + the value's id, or nothing of interest. */
static uint32_t wrong, unused;
/* What the first thread had, plus 1; by CTA, 2: of the grid. */
static uint64_t shared_values[RANDOM_IR_CTAS + 1][VALUES_MAX];

/* By lane, of values that are asked. */
enum { OFFSETS_MAX = 4096 };
static uint32_t offsets[OFFSETS_MAX][32];

enum { PER_CTA = RANDOM_IR_CTAS };

struct checker {
    struct ir_builder b;
    struct facts f;
    struct ir_func *func;
    struct ir_value **iterations; /* by loop */
    uint64_t checks, forms, scopes;
    uint32_t noffsets;
};

static struct ir_value *konst(struct checker *c, uint64_t k)
{
    return ir_build_const(&c->b, IR_B64, k);
}

static struct ir_value *two(struct checker *c, enum ir_op op, struct ir_value *x,
                            struct ir_value *y)
{
    return ir_build2(&c->b, op, op == IR_OP_AND || op == IR_OP_OR ? IR_B64 : IR_U64, x, y);
}

static struct ir_value *either(struct checker *c, struct ir_value *p, struct ir_value *q)
{
    return p ? ir_build2(&c->b, IR_OP_OR, IR_PRED, p, q) : q;
}

static struct ir_value *wide(struct checker *c, struct ir_value *v, bool is_signed)
{
    switch (ir_type_bits(v->type)) {
    case 1:
        return ir_build3(&c->b, IR_OP_SELECT, IR_B64, v, konst(c, 1), konst(c, 0));
    case 8:
        return ir_build_cvt(&c->b, is_signed ? IR_S64 : IR_U64, is_signed ? IR_S8 : IR_U8,
                            IR_RND_NONE, v);
    case 16:
        return ir_build_cvt(&c->b, is_signed ? IR_S64 : IR_U64, is_signed ? IR_S16 : IR_U16,
                            IR_RND_NONE, v);
    case 32:
        return ir_build_cvt(&c->b, is_signed ? IR_S64 : IR_U64, is_signed ? IR_S32 : IR_U32,
                            IR_RND_NONE, v);
    default:
        return v;
    }
}

/* x is not between both, by one comparison of differences. */
static struct ir_value *outside(struct checker *c, struct ir_value *x, uint64_t least,
                                uint64_t most)
{
    return ir_build_setp(&c->b, IR_OP_SETP, IR_U64, IR_GT, two(c, IR_OP_SUB, x, konst(c, least)),
                         konst(c, most - least));
}

static struct ir_value *not_in(struct checker *c, struct ir_value *v, const struct facts_range *r)
{
    struct ir_value *x = wide(c, v, false);
    struct ir_value *bad = outside(c, x, r->least, r->most);
    bad = either(c, bad, outside(c, wide(c, v, true), (uint64_t)r->sleast, (uint64_t)r->smost));
    return either(c, bad,
                  ir_build_setp(&c->b, IR_OP_SETP, IR_U64, IR_NE,
                                two(c, IR_OP_AND, x, konst(c, r->zeros | r->ones)),
                                konst(c, r->ones)));
}

static struct ir_value *symbol_value(struct checker *c, uint32_t symbol)
{
    const struct facts_symbol y = facts_symbol(&c->f, symbol);
    struct ir_value *at;
    struct ir_instr *in;
    switch (y.kind) {
    case FACTS_SREG:
        return wide(c, ir_build_sreg(&c->b, (enum ir_sreg)y.index), false);
    case FACTS_ITERATION:
        return c->iterations[y.index];
    case FACTS_PARAM:
        at = konst(c, y.index);
        in = ir_build_instr(&c->b, IR_OP_LD, y.type, 1, &at, 1);
        in->mem.space = IR_SPACE_PARAM;
        return wide(c, in->dst[0], false);
    case FACTS_VAR:
        in = ir_build_instr(&c->b, IR_OP_VARADDR, IR_VOID, 0, NULL, 1);
        in->var = (struct ir_var *)y.var;
        return in->dst[0];
    case FACTS_VALUE:
        return wide(c, (struct ir_value *)y.value, false);
    }
    return NULL;
}

static struct ir_value *not_its_form(struct checker *c, struct ir_value *v)
{
    const struct facts_form form = facts_form(&c->f, v);
    const unsigned w = ir_type_bits(v->type);
    struct ir_value *sum = konst(c, form.constant);

    for (uint32_t i = 0; i < form.nterms; i++)
        sum = two(c, IR_OP_ADD, sum,
                  two(c, IR_OP_MUL, symbol_value(c, form.terms[i].symbol),
                      konst(c, (uint64_t)form.terms[i].coefficient)));
    if (w < 64)
        sum = two(c, IR_OP_AND, sum, konst(c, (UINT64_C(1) << w) - 1));
    return ir_build_setp(&c->b, IR_OP_SETP, IR_U64, IR_NE, sum, wide(c, v, false));
}

/* Other threads had another value in their first iterations. */
static struct ir_value *not_shared(struct checker *c, struct ir_value *v)
{
    const struct ir_loops *loops = &c->f.loops;
    struct ir_value *slot, *src[3], *first = NULL;

    if (facts_scope(&c->f, v, NULL) > FACTS_CTA || v->id >= VALUES_MAX)
        return NULL;
    slot = konst(c, (uintptr_t)&shared_values[PER_CTA][v->id]);
    if (facts_scope(&c->f, v, NULL) == FACTS_CTA)
        slot = two(c, IR_OP_ADD, konst(c, (uintptr_t)&shared_values[0][v->id]),
                   two(c, IR_OP_MUL, wide(c, ir_build_sreg(&c->b, IR_SREG_CTAID_X), false),
                       konst(c, sizeof(shared_values[0]))));
    for (uint32_t l = loops->loop_of[v->instr->block->id]; l != IR_NO_BLOCK;
         l = loops->loops[l].parent) {
        struct ir_value *later =
            ir_build_setp(&c->b, IR_OP_SETP, IR_U64, IR_NE, c->iterations[l], konst(c, 0));
        first = either(c, first, later);
    }
    if (first) /* that is: not the first */
        slot = ir_build3(&c->b, IR_OP_SELECT, IR_B64, first,
                         konst(c, (uintptr_t)&shared_values[0][0]), slot);
    src[0] = slot;
    src[1] = konst(c, 0);
    src[2] = two(c, IR_OP_ADD, wide(c, v, false), konst(c, 1));
    struct ir_instr *cas = ir_build_instr(&c->b, IR_OP_ATOM, IR_B64, 3, src, 1);
    cas->mem.space = IR_SPACE_GLOBAL;
    cas->mem.atom = IR_ATOM_CAS;
    cas->mem.sem = IR_SEM_RELAXED;
    cas->mem.scope = IR_SCOPE_GPU;
    struct ir_value *bad =
        ir_build2(&c->b, IR_OP_AND, IR_PRED,
                  ir_build_setp(&c->b, IR_OP_SETP, IR_U64, IR_NE, cas->dst[0], konst(c, 0)),
                  ir_build_setp(&c->b, IR_OP_SETP, IR_U64, IR_NE, cas->dst[0], src[2]));
    c->scopes++;
    if (first)
        bad =
            ir_build2(&c->b, IR_OP_AND, IR_PRED, bad, ir_build1(&c->b, IR_OP_NOT, IR_PRED, first));
    return bad;
}

/* In the first block, where warps are whole: more than lane 0 has by another number. */
static struct ir_value *not_its_offset(struct checker *c, struct ir_value *v)
{
    int64_t off[32];
    const unsigned w = ir_type_bits(v->type);

    if (v->instr->block->id || w < 32 || v->instr->op == IR_OP_PHI ||
        !facts_lane_offsets(&c->f, v, off) || c->noffsets == OFFSETS_MAX)
        return NULL;
    struct ir_value *low = w == 32 ? v : ir_build_cvt(&c->b, IR_U32, IR_U64, IR_RND_NONE, v);
    struct ir_value *src[] = {low, ir_build_const(&c->b, IR_B32, 0),
                              ir_build_const(&c->b, IR_B32, 31),
                              ir_build_const(&c->b, IR_B32, UINT32_MAX)};
    struct ir_instr *shfl = ir_build_instr(&c->b, IR_OP_SHFL, IR_B32, 4, src, 2);
    shfl->imm = IR_SHFL_IDX;
    struct ir_value *more = ir_build2(&c->b, IR_OP_SUB, IR_U32, low, shfl->dst[0]);
    struct ir_value *at = two(c, IR_OP_MUL, wide(c, ir_build_sreg(&c->b, IR_SREG_LANEID), false),
                              konst(c, sizeof(offsets[0][0])));
    for (unsigned l = 0; l < 32; l++)
        offsets[c->noffsets][l] = (uint32_t)off[l];
    at = two(c, IR_OP_ADD, at, konst(c, (uintptr_t)offsets[c->noffsets++]));
    struct ir_instr *ld = ir_build_instr(&c->b, IR_OP_LD, IR_U32, 1, &at, 1);
    ld->mem.space = IR_SPACE_GLOBAL;
    return ir_build_setp(&c->b, IR_OP_SETP, IR_U32, IR_NE, more, ld->dst[0]);
}

static void report(struct checker *c, struct ir_value *bad, const struct ir_value *v)
{
    struct ir_value *at = ir_build3(&c->b, IR_OP_SELECT, IR_B64, bad, konst(c, (uintptr_t)&wrong),
                                    konst(c, (uintptr_t)&unused));
    struct ir_value *src[] = {at, ir_build_const(&c->b, IR_B32, v->id + 1)};
    ir_build_instr(&c->b, IR_OP_ST, IR_U32, 2, src, 0)->mem.space = IR_SPACE_GLOBAL;
}

static bool is_checked(const struct ir_value *v)
{
    return ir_type_bits(v->type) <= 64;
}

static void check_value(struct checker *c, struct ir_value *v)
{
    const struct facts_range r = facts_range(&c->f, v);
    const struct facts_form form = facts_form(&c->f, v);
    struct ir_value *bad = not_in(c, v, &r), *shared, *offset;

    c->checks++;
    if (form.nterms != 1 || facts_symbol(&c->f, form.terms[0].symbol).value != v) {
        bad = either(c, bad, not_its_form(c, v));
        c->forms++;
    }
    shared = not_shared(c, v);
    if (shared)
        bad = either(c, bad, shared);
    offset = not_its_offset(c, v);
    if (offset)
        bad = either(c, bad, offset);
    report(c, bad, v);
}

/* Where more is known than at the definition. */
static void check_use(struct checker *c, struct ir_value *v, const struct ir_block *at)
{
    const struct facts_range r = facts_range_at(&c->f, v, at), whole = facts_range(&c->f, v);
    if (!memcmp(&r, &whole, sizeof(r)))
        return;
    c->checks++;
    report(c, not_in(c, v, &r), v);
}

/* Iteration counts: a phi of each header. */
static void count_iterations(struct checker *c, uint32_t loop)
{
    const struct ir_loop *l = &c->f.loops.loops[loop];
    struct ir_block *header = c->func->blocks[l->header];
    struct ir_instr *phi = ir_build_phi(header, IR_B64), *at = header->first;

    while (at->op == IR_OP_PHI)
        at = at->next;
    c->b = (struct ir_builder){.func = c->func, .block = header, .before = at};
    struct ir_value *next = two(c, IR_OP_ADD, phi->dst[0], konst(c, 1));
    for (uint32_t p = 0; p < header->npreds; p++) {
        const uint32_t from = header->preds[p]->id;
        const bool back = from >= l->header && from <= l->last;
        c->b = (struct ir_builder){
            .func = c->func, .block = header->preds[p], .before = header->preds[p]->last};
        phi->src[p] = back ? next : konst(c, 0);
    }
    c->iterations[loop] = phi->dst[0];
}

static void instrument(struct checker *c, struct hd_arena *arena)
{
    const uint32_t nvalues = c->f.nvalues;
    c->iterations = hd_arena_array(arena, struct ir_value *, c->f.loops.nloops + 1);
    for (uint32_t l = 0; l < c->f.loops.nloops; l++)
        count_iterations(c, l);
    for (uint32_t b = 0; b < c->func->nblocks; b++) {
        ir_foreach_instr_safe(in, c->func->blocks[b]) {
            const bool is_new = in->ndst && in->dst[0]->id >= nvalues;
            if (is_new || (!in->ndst && in->op == IR_OP_ST && in->src[1]->id >= nvalues))
                continue;
            c->b = (struct ir_builder){.func = c->func, .block = in->block, .before = in};
            for (uint32_t i = 0; in->op != IR_OP_PHI && i < in->nsrc; i++)
                if (in->src[i]->id < nvalues && is_checked(in->src[i]))
                    check_use(c, in->src[i], in->block);
            struct ir_instr *before = in->next;
            while (in->op == IR_OP_PHI && before->op == IR_OP_PHI)
                before = before->next;
            c->b.before = before;
            for (uint32_t d = 0; d < in->ndst; d++)
                if (is_checked(in->dst[d]))
                    check_value(c, in->dst[d]);
        }
    }
}

static bool run(struct ir_module *module, bool few)
{
    static const struct interp_ops ops;
    const void *params[2] = {output, input};
    struct interp_launch launch = {.kernel = ir_module_find_func(module, "k"),
                                   .grid = {few ? 1 : RANDOM_IR_CTAS, 1, 1},
                                   .block = {few ? 8 : RANDOM_IR_THREADS, 1, 1},
                                   .params = params,
                                   .ops = &ops};
    memset(output, 0, sizeof(output));
    memset(shared_values, 0, sizeof(shared_values));
    wrong = 0;
    return interp_launch(&launch, NULL) == HD_OK;
}

static void show(const struct checker *c, const char *listing)
{
    const struct ir_value *v = c->f.values[wrong - 1];
    struct hd_buf text;
    hd_buf_init(&text);
    if (v && v->instr)
        ir_print_instr(v->instr, &text);
    diag("%%%u is not of its facts: %s", wrong - 1, text.ptr ? text.ptr : "");
    if (getenv("HEDDLE_SHOW"))
        fprintf(stderr, "%s\n", listing);
    hd_buf_fini(&text);
}

/* What was asked. */
struct sums {
    uint64_t checks, forms, scopes, loops, offsets;
};

static bool check_module(struct ir_module *module, const struct ir_launch_facts *launch, bool few,
                         struct sums *sums)
{
    struct checker c = {0};
    struct hd_arena arena;
    struct hd_buf text;
    bool good = true;

    hd_arena_init(&arena);
    hd_buf_init(&text);
    ir_foreach_func(func, module) {
        if (func->is_declaration)
            continue;
        c.func = func;
        good = good && facts_compute(func, launch, &arena, &c.f) == HD_OK;
        if (func->is_kernel && getenv("HEDDLE_SHOW")) {
            ir_print_func(func, &text);
            facts_print(&c.f, &text);
        }
        /* Ids of another function mean nothing in messages: its kernel is what is told. */
        if (good && func->is_kernel)
            instrument(&c, &arena);
        if (func->is_kernel)
            break;
    }
    good = good && ir_validate(module) == HD_OK && ir_layout_windows(module) == HD_OK &&
           run(module, few);
    if (!good)
        diag("%s", hd_error_message());
    if (good && wrong) {
        show(&c, text.ptr ? text.ptr : "");
        good = false;
    }
    sums->checks += c.checks;
    sums->forms += c.forms;
    sums->scopes += c.scopes;
    sums->offsets += c.noffsets;
    for (uint32_t l = 0; l < c.f.loops.nloops; l++)
        sums->loops += c.f.counts[l].counted && c.f.counts[l].most < 1 << 20;
    hd_buf_fini(&text);
    hd_arena_fini(&arena);
    return good;
}

/* ---- loops that count: by any step, from any start, until any test; an unknown number of
 * iterations ends them, too */

struct loop_gen {
    struct ir_builder b;
    uint64_t seed;
    struct ir_value *tid, *data;
};

static unsigned below(struct loop_gen *g, unsigned n)
{
    return (unsigned)(tap_random(&g->seed) >> 33) % n;
}

/* A constant, often at an end of the type; what the thread number makes; or something unknown. */
static struct ir_value *start(struct loop_gen *g, enum ir_type type)
{
    static const uint64_t ends[] = {0,   1,          2,         7,         16,
                                    100, UINT64_MAX, INT64_MAX, INT32_MAX, INT16_MAX};
    const unsigned w = ir_type_bits(type);
    const uint64_t k = ends[below(g, HD_COUNT_OF(ends))] + below(g, 5) - 2;
    struct ir_value *x;
    if (below(g, 2))
        return ir_build_const(&g->b, type, w < 64 ? k & ((UINT64_C(1) << w) - 1) : k);
    x = below(g, 5) ? ir_build2(&g->b, IR_OP_AND, IR_B32, g->tid,
                                ir_build_const(&g->b, IR_B32, below(g, 64)))
                    : g->data;
    if (below(g, 3) == 0)
        x = ir_build2(&g->b, IR_OP_SUB, IR_U32, ir_build_const(&g->b, IR_B32, below(g, 64)), x);
    if (w == 32)
        return x;
    return ir_build_cvt(&g->b, w == 64 ? IR_U64 : IR_U16, below(g, 2) ? IR_U32 : IR_S32,
                        IR_RND_NONE, x);
}

struct counted {
    struct ir_value *init, *step, *end, *phi, *next;
    enum ir_type type; /* of the test */
};

static struct counted counted(struct loop_gen *g)
{
    static const enum ir_type types[] = {IR_U16, IR_S16, IR_U32, IR_S32, IR_U64, IR_S64};
    static const int64_t steps[] = {1, 1, 1, 2, 3, 4, 16, -1, -1, -2, -5, 1000, 0x7fff};
    const enum ir_type type = types[below(g, HD_COUNT_OF(types))], bits = ir_type_value(type);
    const unsigned w = ir_type_bits(type);
    const uint64_t step = (uint64_t)steps[below(g, HD_COUNT_OF(steps))];
    struct counted c = {.type = type, .init = start(g, bits), .end = start(g, bits)};
    c.step = ir_build_const(&g->b, bits, w < 64 ? step & ((UINT64_C(1) << w) - 1) : step);
    return c;
}

static struct ir_value *goes_on(struct loop_gen *g, const struct counted *c)
{
    struct ir_value *x = below(g, 2) ? c->phi : c->next, *y = c->end;
    const bool turned = below(g, 2);
    if (!below(g, 4)) /* an end that is found in the loop */
        y = ir_build2(&g->b, IR_OP_AND, y->type, y, ir_build_const(&g->b, y->type, below(g, 64)));
    return ir_build_setp(&g->b, IR_OP_SETP, c->type, (enum ir_cmp)(IR_NE + below(g, 5)),
                         turned ? y : x, turned ? x : y);
}

static struct ir_value *load32(struct ir_builder *b, uint64_t param, int64_t offset)
{
    struct ir_value *at = ir_build_const(b, IR_B64, param);
    struct ir_instr *p = ir_build_instr(b, IR_OP_LD, IR_B64, 1, &at, 1), *ld;
    p->mem.space = IR_SPACE_PARAM;
    ld = ir_build_instr(b, IR_OP_LD, IR_U32, 1, &p->dst[0], 1);
    ld->mem.space = IR_SPACE_GLOBAL;
    ld->mem.offset = offset;
    return ld->dst[0];
}

enum { COUNTERS = 3 };

static struct ir_module *loops_module(uint64_t seed)
{
    struct ir_module *module;
    struct loop_gen g = {.seed = seed};
    struct counted c[COUNTERS];
    struct ir_value *zero, *one, *most, *n, *n1;

    if (ir_module_create("loops", &module) != HD_OK)
        return NULL;
    struct ir_func *func = ir_func_create(module, "k");
    func->is_kernel = true;
    func->linkage = IR_LINK_VISIBLE;
    func->param_size_B = 16;
    struct ir_block *entry = ir_block_create(func), *header = ir_block_create(func);
    struct ir_block *body = ir_block_create(func), *exit = ir_block_create(func);
    g.b = (struct ir_builder){.func = func, .block = entry};
    most = load32(&g.b, 8, 0);
    g.data = load32(&g.b, 8, 4);
    g.tid = ir_build_sreg(&g.b, IR_SREG_TID_X);
    zero = ir_build_const(&g.b, IR_B32, 0);
    one = ir_build_const(&g.b, IR_B32, 1);
    for (unsigned i = 0; i < COUNTERS; i++)
        c[i] = counted(&g);
    ir_build_br(&g.b, header);
    const bool tested_first = below(&g, 2);
    g.b.block = header;
    struct ir_block *on[2] = {body, exit}, *back[2] = {header, exit};
    ir_block_set_succs(entry, 1, &header);
    ir_block_set_succs(header, tested_first ? 2 : 1, on);
    ir_block_set_succs(body, 2, back);
    ir_func_link_cfg(func);
    struct ir_instr *count = ir_build_phi(header, IR_B32);
    for (unsigned i = 0; i < COUNTERS; i++) {
        struct ir_instr *phi = ir_build_phi(header, ir_type_value(c[i].type));
        c[i].phi = phi->dst[0];
    }
    n = count->dst[0];
    g.b.block = tested_first && below(&g, 2) ? header : body;
    for (unsigned i = 0; i < COUNTERS; i++)
        c[i].next = ir_build2(&g.b, IR_OP_ADD, c[i].type, c[i].phi, c[i].step);
    const bool early = g.b.block == header;
    if (tested_first) {
        struct ir_value *p;
        g.b.block = header;
        const struct counted tested = {.phi = c[0].phi,
                                       .next = early ? c[0].next : c[0].phi,
                                       .end = c[0].end,
                                       .type = c[0].type};
        p = goes_on(&g, &tested);
        ir_build_instr(&g.b, IR_OP_CBR, IR_VOID, 1, &p, 0);
    } else {
        g.b.block = header;
        ir_build_instr(&g.b, IR_OP_BR, IR_VOID, 0, NULL, 0);
    }
    g.b.block = body;
    for (unsigned i = 0; i < COUNTERS; i++) /* what is made of counters */
        ir_build2(&g.b, IR_OP_MULWIDE, IR_S32,
                  ir_type_bits(c[i].type) == 32
                      ? c[i].next
                      : ir_build_cvt(&g.b, IR_U32, c[i].type, IR_RND_NONE, c[i].phi),
                  ir_build_const(&g.b, IR_B32, 4));
    n1 = ir_build2(&g.b, IR_OP_ADD, IR_U32, n, one);
    struct ir_value *p = ir_build_setp(&g.b, IR_OP_SETP, IR_U32, IR_LT, n1, most);
    if (!tested_first || below(&g, 2))
        p = ir_build2(&g.b, IR_OP_AND, IR_PRED, p, goes_on(&g, &c[1]));
    ir_build_instr(&g.b, IR_OP_CBR, IR_VOID, 1, &p, 0);
    for (uint32_t k = 0; k < header->npreds; k++) {
        const bool again = header->preds[k] == body;
        count->src[k] = again ? n1 : zero;
        for (unsigned i = 0; i < COUNTERS; i++)
            c[i].phi->instr->src[k] = again ? c[i].next : c[i].init;
    }
    g.b.block = exit;
    ir_build2(&g.b, IR_OP_ADD, c[0].type, c[0].phi, c[0].step);
    ir_build_instr(&g.b, IR_OP_RET, IR_VOID, 0, NULL, 0);
    ir_func_compact(func);
    return module;
}

static bool check_loops(uint64_t seed, struct sums *sums)
{
    struct ir_module *module = loops_module(seed);
    bool good = module && ir_validate(module) == HD_OK;

    if (!good)
        diag("%s", hd_error_message());
    random_ir_input(seed, input);
    input[0] = 40;
    good = good && check_module(module, NULL, true, sums);
    if (module)
        ir_module_destroy(module);
    return good;
}

static bool check_seed(uint64_t seed, unsigned size, bool limits, bool optimise, struct sums *sums)
{
    const struct opt_options options = {.validate = true, .target = OPT_TARGET_COMMON};
    const struct ir_launch_facts one_d = {
        .group = 32, .warps = 1, .extents = IR_BLOCK_1D, .full = true};
    struct ir_module *module = limits ? random_ir_limits(seed) : random_ir_module(seed, size);
    bool good = module != NULL;

    random_ir_input(seed, input);
    good = good && (!optimise || opt_run(module, &options) == HD_OK);
    good = good && check_module(module, seed % 2 ? &one_d : NULL, false, sums);
    if (module)
        ir_module_destroy(module);
    return good;
}

int main(int argc, char **argv)
{
    const uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    const uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 12;
    const bool limits = argc > 3 && !strcmp(argv[3], "limits");
    const unsigned size = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 0) : 60;
    struct sums sums = {0};

    if (argc > 3 && !strcmp(argv[3], "loops")) {
        uint64_t failed = 0;
        for (uint64_t seed = first; seed < first + count && failed < 3; seed++) {
            const bool good = check_loops(seed, &sums);
            failed += !good;
            if (!good)
                diag("seed %llu", (unsigned long long)seed);
        }
        ok(!failed, "%llu loops", (unsigned long long)count);
        ok(sums.loops > count / 5 && sums.loops < count, "%llu have an end that is near",
           (unsigned long long)sums.loops);
        return done();
    }
    for (uint64_t seed = first; seed < first + count; seed++) {
        ok(check_seed(seed, size, limits, false, &sums), "seed %llu", (unsigned long long)seed);
        ok(check_seed(seed, size, limits, true, &sums), "seed %llu, optimised",
           (unsigned long long)seed);
    }
    diag("%llu values and uses, %llu forms, %llu scopes, %llu offsets",
         (unsigned long long)sums.checks, (unsigned long long)sums.forms,
         (unsigned long long)sums.scopes, (unsigned long long)sums.offsets);
    ok(sums.checks && sums.forms && sums.scopes && sums.offsets, "there was something to check");
    return done();
}
