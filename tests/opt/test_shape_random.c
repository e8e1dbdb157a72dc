/*
 * Random kernels, run four ways that must agree: the interpreter before and after the pipeline, and
 * for each launch class a model of a warp that believes every claim of the shape analysis.
 *
 * The model is as hostile as a backend may be: what is UNIFORM or AFFINE lives as scalars (and is
 * checked against all running lanes when it is written), writes that need not keep other lanes
 * fill them with rubbish, blocks said not to be divergent must be run by all living lanes. The
 * sweep over pending masks is the JIT's.
 */
#include "tap.h"

#include "interp/interp.h"
#include "model/eval.h"
#include "jit/launch_class.h"
#include "opt/opt.h"

#define NREGS     6
#define OUT_SLOTS 16
#define IN_WORDS  16384
#define THREADS   64
#define NCTAS     2

static uint64_t seed;

static unsigned rnd(unsigned n)
{
    return (unsigned)(tap_random(&seed) % n);
}

/* ---- generator: registers are local variables, so ir_opt_slots makes the SSA form */

struct gen {
    struct ir_builder b;
    struct ir_func *func;
    struct ir_value *in, *out; /* out: this thread's area */
    struct ir_var *regs[NREGS];
    struct ir_var *pointer;
    struct ir_value *specials[6];
    struct ir_block *loop_exit, *loop_next;
    unsigned depth, budget, stores, bumps;
    bool spin;
};

static struct ir_value *const32(struct gen *g, uint32_t v)
{
    return ir_build_const(&g->b, IR_B32, v);
}

static struct ir_value *var_address(struct gen *g, struct ir_var *var)
{
    struct ir_instr *addr = ir_build_instr(&g->b, IR_OP_VARADDR, IR_VOID, 0, NULL, 1);
    addr->var = var;
    return addr->dst[0];
}

static struct ir_value *load(struct gen *g, enum ir_type type, enum ir_space space,
                             struct ir_value *address)
{
    struct ir_instr *ld = ir_build_instr(&g->b, IR_OP_LD, type, 1, &address, 1);
    ld->mem.space = space;
    return ld->dst[0];
}

static void store(struct gen *g, enum ir_type type, enum ir_space space, struct ir_value *address,
                  struct ir_value *value, int64_t offset)
{
    struct ir_value *src[] = {address, value};
    struct ir_instr *st = ir_build_instr(&g->b, IR_OP_ST, type, 2, src, 0);
    st->mem.space = space;
    st->mem.offset = offset;
}

static struct ir_value *get_reg(struct gen *g, unsigned i)
{
    return load(g, IR_U32, IR_SPACE_LOCAL, var_address(g, g->regs[i]));
}

static void set_reg(struct gen *g, unsigned i, struct ir_value *value)
{
    store(g, IR_U32, IR_SPACE_LOCAL, var_address(g, g->regs[i]), value, 0);
}

static struct ir_value *operand(struct gen *g)
{
    static const uint32_t constants[] = {0, 1, 2, 3, 15, 16, 31, 32, 64, 0xffffffff, 0xfffffff0};
    switch (rnd(4)) {
    case 0:
        return g->specials[rnd(HD_COUNT_OF(g->specials))];
    case 1:
        return const32(g, constants[rnd(HD_COUNT_OF(constants))]);
    default:
        return get_reg(g, rnd(NREGS));
    }
}

static struct ir_value *expression(struct gen *g)
{
    static const enum ir_op ops[] = {IR_OP_ADD, IR_OP_SUB, IR_OP_ADD, IR_OP_MUL, IR_OP_AND,
                                     IR_OP_OR,  IR_OP_XOR, IR_OP_MIN, IR_OP_DIV, IR_OP_REM};
    static const uint32_t masks[] = {7,    15,    31,         63,         0x3c,
                                     0xf0, 0x1f0, 0xfffffff0, 0xffffffe0, 0xfffffffc};
    struct ir_value *a = operand(g);
    enum ir_type type = rnd(2) ? IR_U32 : IR_S32;

    switch (rnd(6)) {
    case 0:
        return ir_build2(&g->b, IR_OP_AND, type, a, const32(g, masks[rnd(HD_COUNT_OF(masks))]));
    case 1:
        return ir_build2(&g->b, rnd(2) ? IR_OP_SHL : IR_OP_SHR, type, a, const32(g, rnd(7)));
    case 2:
        return ir_build2(&g->b, IR_OP_MUL, type, a, const32(g, rnd(9)));
    case 3: {
        struct ir_value *p =
            ir_build_setp(&g->b, IR_OP_SETP, type, (enum ir_cmp)rnd(6), a, operand(g));
        struct ir_value *t = operand(g);
        return ir_build3(&g->b, IR_OP_SELECT, IR_B32, p, t, operand(g));
    }
    default:
        return ir_build2(&g->b, ops[rnd(HD_COUNT_OF(ops))], type, a, operand(g));
    }
}

static struct ir_value *input_pointer(struct gen *g)
{
    struct ir_value *index = ir_build2(&g->b, IR_OP_AND, IR_B32, operand(g), const32(g, 1023));
    struct ir_value *offset;

    if (rnd(2)) {
        offset = ir_build2(&g->b, IR_OP_MULWIDE, rnd(2) ? IR_S32 : IR_U32, index, const32(g, 4));
    } else {
        offset = ir_build_cvt(&g->b, rnd(2) ? IR_S64 : IR_U64, rnd(2) ? IR_S32 : IR_U32,
                              IR_RND_NONE, index);
        offset = ir_build2(&g->b, IR_OP_SHL, IR_B64, offset, const32(g, 2));
    }
    return ir_build2(&g->b, IR_OP_ADD, IR_S64, g->in, offset);
}

static struct ir_value *condition(struct gen *g)
{
    struct ir_value *a = operand(g);
    return ir_build_setp(&g->b, IR_OP_SETP, rnd(2) ? IR_U32 : IR_S32, (enum ir_cmp)rnd(6), a,
                         operand(g));
}

static void statements(struct gen *g, unsigned n);

static void open_block(struct gen *g, struct ir_block *block)
{
    g->b.block = block;
}

static void gen_if(struct gen *g)
{
    struct ir_block *t = ir_block_create(g->func), *f = ir_block_create(g->func);
    struct ir_block *join = rnd(2) ? ir_block_create(g->func) : f;

    ir_build_cbr(&g->b, condition(g), t, f);
    open_block(g, t);
    statements(g, 1 + rnd(3));
    ir_build_br(&g->b, join);
    if (join != f) {
        open_block(g, f);
        statements(g, 1 + rnd(3));
        ir_build_br(&g->b, join);
    }
    open_block(g, join);
}

static void gen_loop(struct gen *g)
{
    struct ir_var *counter = ir_var_create(g->func->module, g->func, "i", IR_SPACE_LOCAL);
    struct ir_block *body = ir_block_create(g->func), *next = ir_block_create(g->func);
    struct ir_block *exit = ir_block_create(g->func);
    struct ir_block *saved_exit = g->loop_exit, *saved_next = g->loop_next;
    struct ir_value *i, *bound;

    counter->size_B = 4;
    counter->align_B = 4;
    store(g, IR_U32, IR_SPACE_LOCAL, var_address(g, counter), const32(g, 0), 0);
    ir_build_br(&g->b, body);
    open_block(g, body);
    g->loop_exit = exit;
    g->loop_next = next;
    if (g->spin && rnd(2)) {
        struct ir_value *v = load(g, IR_U32, IR_SPACE_GLOBAL, g->in);
        v->instr->mem.sem = IR_SEM_VOLATILE;
        set_reg(g, rnd(NREGS), v);
    }
    statements(g, 1 + rnd(4));
    ir_build_br(&g->b, next);
    open_block(g, next);
    i = load(g, IR_U32, IR_SPACE_LOCAL, var_address(g, counter));
    if (rnd(2))
        set_reg(g, rnd(NREGS), i);
    i = ir_build2(&g->b, IR_OP_ADD, IR_U32, i, const32(g, 1));
    store(g, IR_U32, IR_SPACE_LOCAL, var_address(g, counter), i, 0);
    bound = ir_build2(&g->b, IR_OP_AND, IR_B32, operand(g), const32(g, 3));
    ir_build_cbr(&g->b, ir_build_setp(&g->b, IR_OP_SETP, IR_U32, IR_LE, i, bound), body, exit);
    g->loop_exit = saved_exit;
    g->loop_next = saved_next;
    open_block(g, exit);
}

/* A conditional jump away: out of the loop, to its next turn, or out of the kernel. */
static void gen_jump(struct gen *g)
{
    struct ir_block *away = ir_block_create(g->func), *on = ir_block_create(g->func);

    ir_build_cbr(&g->b, condition(g), away, on);
    open_block(g, away);
    if (rnd(2))
        statements(g, 1);
    if (!g->loop_exit || rnd(6) == 0) {
        if (rnd(2))
            store(g, IR_U32, IR_SPACE_GLOBAL, g->out, operand(g), 4 * (int)rnd(OUT_SLOTS));
        ir_build_instr(&g->b, IR_OP_RET, IR_VOID, 0, NULL, 0);
    } else {
        ir_build_br(&g->b, rnd(2) ? g->loop_exit : g->loop_next);
    }
    open_block(g, on);
}

static void statement(struct gen *g)
{
    struct ir_value *p;

    switch (rnd(g->depth < 4 && g->budget > 4 ? 13 : 8)) {
    case 0:
        set_reg(g, rnd(NREGS), load(g, IR_U32, IR_SPACE_GLOBAL, input_pointer(g)));
        return;
    case 1:
        store(g, IR_U32, IR_SPACE_GLOBAL, g->out, operand(g), 4 * (int)rnd(OUT_SLOTS));
        return;
    case 2:
        store(g, IR_B64, IR_SPACE_LOCAL, var_address(g, g->pointer), input_pointer(g), 0);
        return;
    case 3:
        p = load(g, IR_B64, IR_SPACE_LOCAL, var_address(g, g->pointer));
        set_reg(g, rnd(NREGS), load(g, IR_U32, IR_SPACE_GLOBAL, p));
        if (g->bumps++ < 6)
            store(g, IR_B64, IR_SPACE_LOCAL, var_address(g, g->pointer),
                  ir_build2(&g->b, IR_OP_ADD, IR_S64, p, ir_build_const(&g->b, IR_B64, 4)), 0);
        return;
    case 8:
    case 9:
        gen_if(g);
        return;
    case 10:
    case 11:
        gen_loop(g);
        return;
    case 12:
        gen_jump(g);
        return;
    default:
        set_reg(g, rnd(NREGS), expression(g));
    }
}

static void statements(struct gen *g, unsigned n)
{
    g->depth++;
    while (n-- && g->budget) {
        g->budget--;
        statement(g);
    }
    g->depth--;
}

static struct ir_var *reg_create(struct gen *g, const char *name, uint64_t size_B)
{
    struct ir_var *var = ir_var_create(g->func->module, g->func, name, IR_SPACE_LOCAL);
    var->size_B = size_B;
    var->align_B = (uint32_t)size_B;
    return var;
}

static void prologue(struct gen *g)
{
    struct ir_value *zero = ir_build_const(&g->b, IR_B64, 0), *out, *linear, *t;
    enum ir_sreg sregs[] = {IR_SREG_TID_X, IR_SREG_TID_Y, IR_SREG_NTID_X, IR_SREG_CTAID_X};

    g->in = load(g, IR_B64, IR_SPACE_PARAM, zero);
    out = load(g, IR_B64, IR_SPACE_PARAM, zero);
    out->instr->mem.offset = 8;
    for (unsigned i = 0; i < 4; i++)
        g->specials[i] = ir_build_sreg(&g->b, sregs[i]);
    t = ir_build2(&g->b, IR_OP_MUL, IR_U32, g->specials[1], g->specials[2]);
    linear = ir_build2(&g->b, IR_OP_ADD, IR_U32, t, g->specials[0]);
    t = ir_build2(&g->b, IR_OP_MUL, IR_U32, g->specials[3], const32(g, THREADS));
    linear = ir_build2(&g->b, IR_OP_ADD, IR_U32, linear, t);
    g->specials[4] = linear;
    g->specials[5] = ir_build_sreg(&g->b, IR_SREG_LANEID);
    t = ir_build2(&g->b, IR_OP_MULWIDE, IR_U32, linear, const32(g, 4 * OUT_SLOTS));
    g->out = ir_build2(&g->b, IR_OP_ADD, IR_U64, out, t);
    for (unsigned i = 0; i < NREGS; i++) {
        g->regs[i] = reg_create(g, "r", 4);
        set_reg(g, i, rnd(2) ? g->specials[rnd(6)] : const32(g, rnd(40)));
    }
    g->pointer = reg_create(g, "p", 8);
    store(g, IR_B64, IR_SPACE_LOCAL, var_address(g, g->pointer), g->in, 0);
}

static struct ir_module *generate(bool spin)
{
    struct ir_module *module = NULL;
    struct gen g = {.budget = 40, .spin = spin};

    if (ir_module_create("random", &module) != HD_OK)
        exit(1);
    g.func = ir_func_create(module, "k");
    g.func->is_kernel = true;
    g.func->linkage = IR_LINK_VISIBLE;
    g.func->param_size_B = 16;
    g.b.func = g.func;
    open_block(&g, ir_block_create(g.func));
    prologue(&g);
    while (g.budget)
        statements(&g, 3);
    for (unsigned i = 0; i < NREGS; i++)
        store(&g, IR_U32, IR_SPACE_GLOBAL, g.out, get_reg(&g, i), 4 * (int)(i + 2));
    ir_build_instr(&g.b, IR_OP_RET, IR_VOID, 0, NULL, 0);
    ir_func_link_cfg(g.func);
    ir_func_compact(g.func);
    return module;
}

/* ---- the hostile warp, or pair of warps; four are too many lanes for a word */

enum { LANES = 64, CLASSES = JIT_CLASS_1D_QUADS };

static const uint32_t dims[CLASSES][3] = {
    [JIT_CLASS_1D_FULL] = {64, 1, 1},  [JIT_CLASS_1D] = {50, 1, 1},
    [JIT_CLASS_X32] = {32, 2, 1},      [JIT_CLASS_X16_FULL] = {16, 4, 1},
    [JIT_CLASS_X16] = {16, 3, 1},      [JIT_CLASS_OTHER] = {8, 8, 1},
    [JIT_CLASS_1D_PAIRS] = {64, 1, 1}, [JIT_CLASS_X32_PAIRS] = {32, 2, 1},
    [JIT_CLASS_X16_PAIRS] = {16, 4, 1}};

static uint32_t in_words[IN_WORDS];
static uint32_t out_words[3][THREADS * NCTAS * OUT_SLOTS];

struct model {
    const struct ir_func *func;
    struct ir_shapes s;
    const uint32_t *block_dim;
    uint32_t ctaid, first; /* thread of lane 0 */
    unsigned group, width; /* lanes of a group, of all */
    uint64_t params[2];
    uint64_t (*val)[LANES]; /* by value id and lane; for BASE_INDEX val[id][0] is the base */
    uint64_t *pend;         /* by block */
    uint64_t alive;
    uint64_t lanes; /* that exist */
    char why[256];
};

static uint64_t type_mask(enum ir_type type)
{
    unsigned bits = ir_type_bits(type);
    return bits < 64 ? (1ull << bits) - 1 : UINT64_MAX;
}

static uint64_t read_lane(struct model *m, const struct ir_value *v, unsigned lane)
{
    const struct ir_shape *s = &m->s.of[v->id];
    uint64_t index;

    if (s->kind != IR_SHAPE_BASE_INDEX)
        return m->val[v->id][lane];
    index = read_lane(m, s->index, lane);
    if (s->index_signed)
        index = (uint64_t)(int64_t)(int32_t)index;
    return m->val[v->id][0] + index * (uint64_t)s->scale;
}

static void broken(struct model *m, const char *what, const struct ir_value *v)
{
    if (!m->why[0])
        snprintf(m->why, sizeof(m->why), "%s at %%%u", what, v ? v->id : 0);
}

static void write_scalars(struct model *m, const struct ir_value *v, const uint64_t *lane,
                          uint64_t mask)
{
    const struct ir_shape *s = &m->s.of[v->id];
    uint64_t ones = type_mask(v->type);
    bool wide = s->kind == IR_SHAPE_UNIFORM || s->whole;
    int64_t stride = s->kind == IR_SHAPE_AFFINE ? s->stride : 0;

    for (unsigned h = 0; h < (wide ? 1 : m->width / m->group); h++) {
        unsigned first = wide ? 0 : m->group * h, count = wide ? m->width : m->group;
        uint64_t members = wide ? mask : mask & (((1ull << m->group) - 1) << first);
        uint64_t base;
        if (!members)
            continue;
        base = lane[__builtin_ctzll(members)] -
               (uint64_t)stride * ((unsigned)__builtin_ctzll(members) - first);
        for (unsigned l = first; l < first + count; l++) {
            uint64_t x = (base + (uint64_t)stride * (l - first)) & ones;
            if ((members >> l & 1) && x != lane[l])
                broken(m, "not of its shape", v);
            m->val[v->id][l] = x;
        }
        base &= ones;
        if (s->align == 1u << 31 && s->kind == IR_SHAPE_UNIFORM && base)
            broken(m, "not zero", v);
        if ((base & (s->align - 1)) != 0)
            broken(m, "not aligned", v);
        if (s->whole && (base & (s->warp_align - 1)) != 0)
            broken(m, "not aligned as a warp", v);
    }
}

static void write_value(struct model *m, const struct ir_value *v, const uint64_t *lane,
                        uint64_t mask, bool keep)
{
    const struct ir_shape *s = &m->s.of[v->id];

    if (s->kind <= IR_SHAPE_AFFINE) {
        write_scalars(m, v, lane, mask);
        return;
    }
    if (s->kind == IR_SHAPE_BASE_INDEX) {
        bool first = true;
        for (unsigned l = 0; l < m->width; l++) {
            uint64_t base, index;
            if (!(mask >> l & 1))
                continue;
            index = read_lane(m, s->index, l);
            if (s->index_signed)
                index = (uint64_t)(int64_t)(int32_t)index;
            base = lane[l] - index * (uint64_t)s->scale;
            if (!first && base != m->val[v->id][0])
                broken(m, "base is not uniform", v);
            m->val[v->id][0] = base;
            first = false;
        }
        return;
    }
    for (unsigned l = 0; l < m->width; l++) {
        if (mask >> l & 1)
            m->val[v->id][l] = lane[l];
        else if (!keep)
            m->val[v->id][l] = 0xdeadbeefdeadbeefull & type_mask(v->type);
    }
}

static uint64_t model_sreg(const struct model *m, enum ir_sreg sreg, unsigned lane)
{
    uint32_t t = m->first + lane;
    switch (sreg) {
    case IR_SREG_TID_X:
        return t % m->block_dim[0];
    case IR_SREG_TID_Y:
        return t / m->block_dim[0] % m->block_dim[1];
    case IR_SREG_NTID_X:
        return m->block_dim[0];
    case IR_SREG_CTAID_X:
        return m->ctaid;
    default:
        return lane % 32;
    }
}

static uint64_t model_lane(struct model *m, const struct ir_instr *in, unsigned lane)
{
    struct ir_bits src[4] = {0}, out = {0};
    uint64_t address;

    for (uint32_t i = 0; i < in->nsrc && i < 4; i++)
        src[i].lo = read_lane(m, in->src[i], lane);
    switch (in->op) {
    case IR_OP_SREG:
        return model_sreg(m, (enum ir_sreg)in->imm, lane);
    case IR_OP_LD:
        address = src[0].lo + (uint64_t)in->mem.offset;
        if (in->mem.space == IR_SPACE_PARAM)
            return m->params[address / 8];
        if (address - (uintptr_t)in_words >= sizeof(in_words)) {
            broken(m, "wild load", in->dst[0]);
            return 0;
        }
        return *(uint32_t *)(uintptr_t)address;
    case IR_OP_ST:
        if (src[0].lo + (uint64_t)in->mem.offset - m->params[1] >= sizeof(out_words[0])) {
            broken(m, "wild store", in->src[0]);
            return 0;
        }
        *(uint32_t *)(uintptr_t)(src[0].lo + (uint64_t)in->mem.offset) = (uint32_t)src[1].lo;
        return 0;
    default:
        if (!ir_eval(in, src, &out))
            broken(m, "cannot evaluate", in->ndst ? in->dst[0] : NULL);
        return out.lo;
    }
}

/* What the phis behind one edge will hold. All edges of a branch are read before any is written. */
struct edge {
    struct ir_block *to;
    uint64_t mask;
    uint64_t lanes[64][LANES];
};

static void edge_read(struct model *m, const struct ir_block *from, uint32_t slot, uint64_t mask,
                      struct edge *e)
{
    uint32_t pred = 0, skip = 0, n = 0;

    e->to = from->succs[slot];
    e->mask = mask;
    for (uint32_t i = 0; i < slot; i++)
        skip += from->succs[i] == e->to;
    while (e->to->preds[pred] != from || skip--)
        pred++;
    for (struct ir_instr *phi = e->to->first; phi->op == IR_OP_PHI && n < 64; phi = phi->next, n++)
        for (unsigned l = 0; l < m->width; l++)
            e->lanes[n][l] = read_lane(m, phi->src[pred], l);
}

static void edge_write(struct model *m, const struct edge *e)
{
    uint32_t n = 0;

    if (!e->mask)
        return;
    for (struct ir_instr *phi = e->to->first; phi->op == IR_OP_PHI && n < 64; phi = phi->next, n++)
        write_value(m, phi->dst[0], e->lanes[n], e->mask,
                    m->s.needs_dispatch || m->s.divergent_join[e->to->id] ||
                        m->s.temporal[phi->dst[0]->id]);
    m->pend[e->to->id] |= e->mask;
}

static void model_terminator(struct model *m, const struct ir_block *block, uint64_t mask)
{
    static struct edge edges[2];
    const struct ir_instr *term = block->last;
    uint64_t taken = mask;

    if (term->op != IR_OP_BR && term->op != IR_OP_CBR) {
        m->alive &= ~mask;
        return;
    }
    for (unsigned l = 0; l < m->width && term->op == IR_OP_CBR; l++)
        if ((mask >> l & 1) && !read_lane(m, term->src[0], l))
            taken &= ~(1ull << l);
    if (taken && taken != mask && !m->s.divergent_branch[block->id])
        broken(m, "branch diverges", term->src[0]);
    for (uint32_t i = 0; i < block->nsuccs; i++)
        edge_read(m, block, i, i ? mask & ~taken : taken, &edges[i]);
    for (uint32_t i = 0; i < block->nsuccs; i++)
        edge_write(m, &edges[i]);
}

/* Lanes that run together answer as one. */
static void agree(uint64_t *lane, uint64_t mask)
{
    uint64_t all = 1;

    for (unsigned l = 0; l < LANES; l++)
        all &= mask >> l & 1 ? lane[l] : 1;
    for (unsigned l = 0; l < LANES; l++)
        lane[l] = all;
}

static void model_block(struct model *m, const struct ir_block *block)
{
    uint64_t mask = m->pend[block->id], elsewhere = 0;

    m->pend[block->id] = 0;
    if (!m->s.divergent[block->id]) {
        for (uint32_t b = 0; b < m->func->nblocks; b++)
            if (m->s.exit_only[b] || m->s.side_exit[b])
                elsewhere |= m->pend[b];
        if (!m->s.side_exit[block->id] && mask != (m->alive & ~elsewhere))
            broken(m, "not all lanes in a convergent block", NULL);
    }
    ir_foreach_instr(in, block) {
        uint64_t lane[LANES] = {0};
        if (in->op == IR_OP_PHI)
            continue;
        if (in == block->last)
            break;
        for (unsigned l = 0; l < m->width; l++)
            if (mask >> l & 1)
                lane[l] = model_lane(m, in, l);
        if (in->op == IR_OP_AGREE)
            agree(lane, mask);
        if (in->ndst)
            write_value(m, in->dst[0], lane, mask,
                        m->s.needs_dispatch || m->s.temporal[in->dst[0]->id]);
    }
    model_terminator(m, block, mask);
}

/* Back to the header of the innermost loop that ends here and has lanes waiting; else on. */
static uint32_t model_next(const struct model *m, uint32_t b)
{
    const struct ir_loops *loops = &m->s.loops;
    uint32_t loop = loops->loop_of[b];

    for (; loop != IR_NO_BLOCK; loop = loops->loops[loop].parent)
        if (loops->loops[loop].last == b && m->pend[loops->loops[loop].header])
            return loops->loops[loop].header;
    return b + 1;
}

static void model_run(struct model *m)
{
    unsigned steps = 0;

    m->pend[0] = m->alive = m->lanes;
    if (m->s.needs_dispatch) { /* any order */
        while (m->alive && !m->why[0] && steps++ < 100000) {
            uint32_t b = rnd(m->func->nblocks);
            for (uint32_t i = 0; !m->pend[b] && i < m->func->nblocks; i++)
                b = (b + 1) % m->func->nblocks;
            model_block(m, m->func->blocks[b]);
        }
    } else {
        for (uint32_t b = 0; b < m->func->nblocks && !m->why[0]; b = model_next(m, b))
            if (m->pend[b])
                model_block(m, m->func->blocks[b]);
    }
    if (m->alive && !m->why[0])
        broken(m, "lanes left over", NULL);
}

static bool model_launch(const struct ir_func *func, enum jit_launch_class cls, uint8_t group,
                         uint32_t *out, char *why, size_t why_len, bool *out_dispatch)
{
    uint32_t nthreads = dims[cls][0] * dims[cls][1];
    struct model m = {.func = func, .block_dim = dims[cls]};
    struct ir_launch_facts facts = jit_launch_facts(cls);
    facts.group = group;
    m.group = group;
    m.width = 32 * jit_launch_class_warps(cls);
    struct hd_arena arena;
    bool good;

    hd_arena_init(&arena);
    if (ir_shapes_compute(func, facts, &arena, &m.s) != HD_OK)
        return false;
    *out_dispatch = m.s.needs_dispatch;
    m.params[0] = (uintptr_t)in_words;
    m.params[1] = (uintptr_t)out;
    m.val = hd_arena_try_alloc_array(&arena, func->nvalues + 1u, sizeof(*m.val));
    m.pend = hd_arena_array(&arena, uint64_t, func->nblocks);
    for (m.ctaid = 0; m.ctaid < NCTAS; m.ctaid++) {
        for (m.first = 0; m.first < nthreads; m.first += m.width) {
            uint32_t n = HD_MIN(nthreads - m.first, m.width);
            m.lanes = n == 64 ? UINT64_MAX : (1ull << n) - 1;
            memset(m.pend, 0, func->nblocks * sizeof(*m.pend));
            model_run(&m);
        }
    }
    good = !m.why[0];
    snprintf(why, why_len, "%s", m.why);
    hd_arena_fini(&arena);
    return good;
}

static bool interp_run_class(const struct ir_func *func, enum jit_launch_class cls, uint32_t *out)
{
    uint64_t params[2] = {(uintptr_t)in_words, (uintptr_t)out};
    struct interp_launch launch = {.kernel = func,
                                   .grid = {NCTAS, 1, 1},
                                   .block = {dims[cls][0], dims[cls][1], dims[cls][2]},
                                   .params = params};

    return interp_launch(&launch, NULL) == HD_OK;
}

static void show(const struct ir_func *func, enum jit_launch_class cls)
{
    struct hd_arena arena;
    struct ir_shapes s;
    struct hd_buf text;

    hd_arena_init(&arena);
    hd_buf_init(&text);
    if (ir_shapes_compute(func, jit_launch_facts(cls), &arena, &s) == HD_OK)
        ir_shapes_print(func, &s, &text);
    fprintf(stderr, "%s\n", text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
    hd_arena_fini(&arena);
}

static bool check_class(struct ir_module *plain, struct ir_module *opt, enum jit_launch_class cls,
                        char *why, size_t why_len, bool *out_dispatch)
{
    memset(out_words, 0, sizeof(out_words));
    if (!interp_run_class(plain->funcs, cls, out_words[0]) ||
        !interp_run_class(opt->funcs, cls, out_words[1])) {
        snprintf(why, why_len, "interpreter: %s", hd_error_message());
        return false;
    }
    if (memcmp(out_words[0], out_words[1], sizeof(out_words[0])) != 0) {
        snprintf(why, why_len, "the pipeline changed the results");
        return false;
    }
    /* For a backend that holds half a warp side by side, and for one that holds all of it. */
    for (uint8_t group = 16; group <= 32; group *= 2) {
        if (!model_launch(opt->funcs, cls, group, out_words[2], why, why_len, out_dispatch))
            return false;
        if (memcmp(out_words[0], out_words[2], sizeof(out_words[0])) != 0) {
            snprintf(why, why_len, "the warp model has other results in groups of %u", group);
            return false;
        }
    }
    return true;
}

static bool one_kernel(uint64_t kernel_seed, bool spin, unsigned *dispatched)
{
    struct opt_options options = {.validate = true, .target = OPT_TARGET_CPU};
    struct ir_module *plain, *opt;
    char why[512] = "";
    bool good = true;

    seed = kernel_seed;
    plain = generate(spin);
    seed = kernel_seed;
    opt = generate(spin);
    good = ir_validate(plain) == HD_OK && opt_run(opt, &options) == HD_OK &&
           ir_layout_windows(plain) == HD_OK && ir_layout_windows(opt) == HD_OK;
    if (!good)
        diag("%s", hd_error_message());
    for (unsigned c = 0; good && c < CLASSES; c++) {
        bool dispatch = false;
        good = check_class(plain, opt, (enum jit_launch_class)c, why, sizeof(why), &dispatch);
        *dispatched += dispatch;
        if (good)
            continue;
        diag("kernel seed %" PRIu64 ", class %s: %s", kernel_seed,
             jit_launch_class_name((enum jit_launch_class)c), why);
        if (getenv("HEDDLE_SHOW"))
            show(opt->funcs, (enum jit_launch_class)c);
    }
    ir_module_destroy(plain);
    ir_module_destroy(opt);
    return good;
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 30;
    uint64_t first = tap_seed();
    unsigned dispatched = 0, failed = 0;

    for (unsigned i = 0; i < IN_WORDS; i++)
        in_words[i] = i * 2654435761u >> (i % 28);
    for (unsigned i = 0; i < count && failed < 3; i++)
        failed += !one_kernel(first + i, i % 4 == 3, &dispatched);
    ok(!failed, "%u random kernels agree in every launch class", count);
    diag("%u of %u analyses needed dispatch", dispatched, count * CLASSES);
    return done();
}
