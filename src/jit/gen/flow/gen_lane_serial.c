/*
 * Lane-serial (scalarised) regions: divergent loops that gather, one lane after the other.
 *
 * A loop whose lanes leave at different times and whose loads go to unrelated addresses gains
 * nothing from vectors: a gather costs as much as the loads it stands for, and lanes that have
 * left still take their share. Such a region (everything divergent up to one convergent block) is
 * generated a second way: a loop over its pending lanes around scalar code with real branches.
 * Values from outside are read lane by lane from arrays on the stack; what is needed after the
 * region is written to such arrays and picked up as vectors when all lanes are through.
 *
 * This is the order of execution that independent threads allow: the region has no operation at
 * which lanes meet, wait or communicate.
 */
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>

enum { FRONT_MIN = 16 }; /* operations */

/* A value on its way into or out of the region. */
struct carried {
    const struct ir_value *v;
    struct gen_val outside; /* in: its form for the whole warp */
    LLVMValueRef array;     /* per lane; in: NULL unless VARYING */
};

struct region {
    uint32_t conv;
    bool *inside;  /* by node */
    bool *defined; /* by value id: by an instruction of the region */
    bool *is_in;   /* by value id */
    bool *is_out;
    struct carried *in, *out;
    uint32_t nin, nout;
    bool *saved; /* by value id: shapes[] and slots[] hold what is to come back */
    struct ir_shape *shapes;
    struct gen_slot *slots;
    LLVMBasicBlockRef *body; /* scalar code; by node */
    LLVMBasicBlockRef next_lane;
    LLVMValueRef lane; /* slot: i32 */
};

/* ---- choice */

/* Has an emitter for scalars (gen_eval would compute 32 lanes for one). */
static bool serial_op_is_scalar(const struct ir_instr *in)
{
    bool f32 = in->type == IR_F32 && (in->rnd == IR_RND_NONE || in->rnd == IR_RN);
    switch (in->op) {
    case IR_OP_CONST:
    case IR_OP_UNDEF:
    case IR_OP_PHI:
    case IR_OP_SELECT:
    case IR_OP_MULWIDE:
    case IR_OP_AND:
    case IR_OP_OR:
    case IR_OP_XOR:
    case IR_OP_NOT:
    case IR_OP_SETP:
    case IR_OP_FSETP:
    case IR_OP_NEG:
    case IR_OP_MUL:
    case IR_OP_SHL:
    case IR_OP_SHR:
    case IR_OP_LOP3:
        return true;
    case IR_OP_ADD:
    case IR_OP_SUB:
    case IR_OP_MIN:
    case IR_OP_MAX:
        return !ir_has(in, IR_MOD_SAT) && ir_type_lanes(in->type) == 1;
    case IR_OP_FADD:
    case IR_OP_FSUB:
    case IR_OP_FMUL:
    case IR_OP_FMA:
        return f32 || (in->type == IR_F64 && (in->rnd == IR_RND_NONE || in->rnd == IR_RN));
    case IR_OP_FNEG:
    case IR_OP_FABS:
        return in->type == IR_F32 || in->type == IR_F64;
    case IR_OP_CVT:
        return !ir_type_is_float(in->type) && !ir_type_is_float(in->type2) &&
               !ir_has(in, IR_MOD_SAT);
    default:
        return false;
    }
}

static bool serial_instr_fits(struct gen *g, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_BR:
    case IR_OP_CBR:
        return true;
    case IR_OP_SREG:
        return gen_shape(g, in->dst[0])->kind == IR_SHAPE_UNIFORM;
    case IR_OP_LD:
    case IR_OP_ST:
        return in->mem.sem == IR_SEM_WEAK && in->mem.space != IR_SPACE_LOCAL;
    default:
        return ir_op_has(in->op, IR_F_HINT) || serial_op_is_scalar(in);
    }
}

/*
 * Do neighbours access neighbouring places, as far as one can see? gen_guess.c makes use of it; but
 * without AVX-512 its test of 64-bit lanes costs as much as the accesses themselves.
 */
static bool serial_is_in_line(struct gen *g, const struct ir_instr *in)
{
    struct gen_address_stride step;
    uint64_t size_B = ir_type_bits(in->type) / 8 * (in->mem.vec ? in->mem.vec : 1);
    return g->unit->avx512 && gen_address_stride_of(g, in->src[0], GEN_BY_THREAD, &step) &&
           !step.value && step.constant == (int64_t)size_B;
}

/* Rough cycles of one execution for the warp: as vectors, and lane by lane. */
static void serial_instr_cost(struct gen *g, const struct ir_instr *in, uint64_t *vector,
                              uint64_t *serial)
{
    if (in->op == IR_OP_CONST || ir_op_has(in->op, IR_F_HINT))
        return;
    if (in->op == IR_OP_LD || in->op == IR_OP_ST) {
        const struct ir_shape *s = gen_shape(g, in->src[0]);
        bool indexed =
            s->kind == IR_SHAPE_VARYING ||
            (s->kind == IR_SHAPE_BASE_INDEX && gen_shape(g, s->index)->kind == IR_SHAPE_VARYING);
        unsigned n = in->mem.vec ? in->mem.vec : 1;
        *vector += !indexed ? n * 3u : serial_is_in_line(g, in) ? n * 8u : n * 40u;
        *serial += n * 12u;
        return;
    }
    enum ir_shape_kind kind = in->ndst ? gen_shape(g, in->dst[0])->kind : IR_SHAPE_VARYING;
    *vector += kind == IR_SHAPE_VARYING ? 2 : 1;
    *serial += kind == IR_SHAPE_BASE_INDEX ? 4 : 10;
}

static unsigned serial_loop_depth(struct gen *g, const struct region *r, uint32_t block)
{
    const struct ir_loops *loops = &g->shapes.loops;
    unsigned depth = 0;
    for (uint32_t l = loops->loop_of[block]; l != IR_NO_BLOCK; l = loops->loops[l].parent)
        depth += r->inside[g->node_of_block[loops->loops[l].header]];
    return depth;
}

static bool serial_node_fits(struct gen *g, const struct region *r, const struct gen_node *node)
{
    const struct ir_block *block = node->block;
    ir_foreach_instr(in, block) {
        if (!serial_instr_fits(g, in))
            return false;
    }
    for (uint32_t s = 0; s < block->nsuccs; s++) {
        if (block->succs[s]->id != r->conv && !r->inside[g->node_of_block[block->succs[s]->id]])
            return false;
    }
    return true;
}

static bool serial_region_pays(struct gen *g, const struct region *r)
{
    uint64_t vector = 0, serial = 0;
    bool loops = false;
    for (uint32_t n = 0; n < g->nnodes; n++) {
        if (!r->inside[n])
            continue;
        if (!serial_node_fits(g, r, &g->nodes[n]))
            return false;
        uint32_t block = g->nodes[n].block->id, loop = g->shapes.loops.loop_of[block];
        unsigned depth = HD_MIN(serial_loop_depth(g, r, block), 4u);
        uint64_t v = 0, s = 0;
        ir_foreach_instr(in, g->nodes[n].block)
            serial_instr_cost(g, in, &v, &s);
        if (depth && g->shapes.divergent_loop[loop]) {
            v += v / 2; /* lanes that have left */
            loops = true;
        }
        vector += v << (3 * depth);
        serial += s << (3 * depth);
    }
    if (!g->unit->avx512)
        vector *= 2;
    return loops && serial < vector;
}

/* ---- what goes in and out */

static void serial_add_in(struct gen *g, struct region *r, const struct ir_value *v)
{
    if (r->is_in[v->id] || (v->instr && v->instr->op == IR_OP_CONST))
        return;
    r->is_in[v->id] = true;
    r->in[r->nin++].v = v;
    const struct ir_shape *s = gen_shape(g, v);
    if (s->kind == IR_SHAPE_BASE_INDEX && !r->defined[s->index->id])
        serial_add_in(g, r, s->index);
}

static void serial_add_out(struct region *r, const struct ir_value *v)
{
    if (!r->is_out[v->id])
        r->out[r->nout++].v = v;
    r->is_out[v->id] = true;
}

static bool serial_block_inside(struct gen *g, const struct region *r, const struct ir_block *block)
{
    return r->inside[g->node_of_block[block->id]];
}

/*
 * An instruction of the region reads what comes from outside; one elsewhere, what the region
 * made.
 */
static void serial_scan_uses(struct gen *g, struct region *r, const struct ir_instr *in)
{
    bool here = serial_block_inside(g, r, in->block);
    for (uint32_t s = 0; s < in->nsrc; s++) {
        const struct ir_value *v = in->src[s];
        bool at = in->op == IR_OP_PHI ? serial_block_inside(g, r, in->block->preds[s]) : here;
        if (at && !r->defined[v->id])
            serial_add_in(g, r, v);
        if (!at && r->defined[v->id])
            serial_add_out(r, v);
        if (at && !here && in->op == IR_OP_PHI)
            serial_add_out(r, in->dst[0]);
        if (!at && here && in->op == IR_OP_PHI)
            serial_add_in(g, r, in->dst[0]);
    }
}

static void serial_find_carried(struct gen *g, struct region *r)
{
    for (uint32_t n = 0; n < g->nnodes; n++) {
        if (!r->inside[n])
            continue;
        ir_foreach_instr(in, g->nodes[n].block) {
            for (uint32_t d = 0; d < in->ndst; d++)
                r->defined[in->dst[d]->id] = true;
        }
    }
    for (uint32_t b = 0; b < g->func->nblocks; b++) {
        ir_foreach_instr(in, g->func->blocks[b])
            serial_scan_uses(g, r, in);
    }
}

/* Results must be vectors already: a scalar that the lanes share would have to be put together. */
static bool serial_outs_are_vectors(struct gen *g, const struct region *r)
{
    for (uint32_t i = 0; i < r->nout; i++) {
        const struct ir_value *v = r->out[i].v;
        if (gen_shape(g, v)->kind != IR_SHAPE_VARYING || !g->slots[v->id].ptr[0])
            return false;
    }
    /* An index that the region computes would be needed for addresses formed after it. */
    for (uint32_t v = 0; v < g->func->nvalues; v++) {
        const struct ir_shape *s = &g->shapes.of[v];
        if (s->kind == IR_SHAPE_BASE_INDEX && r->defined[s->index->id] && !r->defined[v])
            return false;
    }
    return true;
}

/* Is it in a loop whose lanes may wait for each other, which one by one they must not? */
static bool serial_may_wait(const struct gen *g, const struct ir_block *block)
{
    const struct ir_loops *loops = &g->shapes.loops;
    uint32_t loop = loops->loop_of[block->id];
    while (loop != IR_NO_BLOCK && !loops->loops[loop].spin_suspect)
        loop = loops->loops[loop].parent;
    return loop != IR_NO_BLOCK;
}

/*
 * Is it nothing that a vector would do less well, run once for each lane, and more than the loads
 * and stores that hand its results over?
 */
static bool serial_is_front(struct gen *g, const struct region *r, uint32_t n)
{
    const struct ir_block *block = g->nodes[n].block;
    if (serial_loop_depth(g, r, block->id))
        return false;
    for (uint32_t p = 0; p < block->npreds; p++) {
        if (serial_block_inside(g, r, block->preds[p]))
            return false;
    }
    unsigned size = 0;
    ir_foreach_instr(in, block) {
        if (!ir_op_has(in->op, IR_F_TERM | IR_F_PURE | IR_F_HINT))
            return false;
        size += in->op != IR_OP_CONST;
    }
    return size >= FRONT_MIN;
}

/* What comes first, such as counts and addresses, is computed for all lanes together. */
static void serial_drop_front(struct gen *g, struct region *r)
{
    for (uint32_t n = 0; n < g->nnodes; n++) {
        if (!r->inside[n])
            continue;
        if (!serial_is_front(g, r, n))
            return;
        r->inside[n] = false;
        if (g->nodes[n].block->nsuccs != 1)
            return;
    }
}

static bool serial_region_init(struct gen *g, struct region *r, uint32_t conv)
{
    size_t nv = g->func->nvalues + 1;
    *r = (struct region){.conv = conv};
    r->inside = hd_arena_array(&g->arena, bool, g->nnodes + 1);
    r->defined = hd_arena_array(&g->arena, bool, nv);
    r->is_in = hd_arena_array(&g->arena, bool, nv);
    r->is_out = hd_arena_array(&g->arena, bool, nv);
    r->in = hd_arena_array(&g->arena, struct carried, nv);
    r->out = hd_arena_array(&g->arena, struct carried, nv);
    r->saved = hd_arena_array(&g->arena, bool, nv);
    r->shapes = hd_arena_array(&g->arena, struct ir_shape, nv);
    r->slots = hd_arena_array(&g->arena, struct gen_slot, nv);
    r->body = hd_arena_array(&g->arena, LLVMBasicBlockRef, g->nnodes + 1);
    if (hd_arena_status(&g->arena) != HD_OK)
        return false;
    for (uint32_t n = 0; n < g->nnodes; n++) {
        const struct gen_node *node = &g->nodes[n];
        r->inside[n] = node->divergent && !node->exit_only && node->conv == conv;
        if (r->inside[n] && serial_may_wait(g, node->block))
            return false;
    }
    serial_drop_front(g, r);
    return true;
}

/* May regions run lane by lane at all? In strict mode errors name their lanes. */
static bool serial_is_allowed(const struct gen *g)
{
    return !g->dispatch && gen_does(g, GEN_PASS_LANE_SERIAL) && !g->unit->req->strict;
}

bool gen_lane_serial_pays(struct gen *g, const struct ir_block *block)
{
    const struct gen_node *node = &g->nodes[g->node_of_block[block->id]];
    struct region *r = hd_arena_new(&g->arena, struct region);
    return serial_is_allowed(g) && node->divergent && !node->exit_only &&
           node->conv != IR_NO_BLOCK && r && serial_region_init(g, r, node->conv) &&
           r->inside[node - g->nodes] && serial_region_pays(g, r);
}

void gen_lane_serial_find(struct gen *g)
{
    uint32_t last = IR_NO_BLOCK;
    if (!serial_is_allowed(g) || !gen_is_warp(g))
        return;
    for (uint32_t n = 0; n < g->nnodes; n++) {
        const struct gen_node *node = &g->nodes[n];
        struct region *r = hd_arena_new(&g->arena, struct region);
        if (!node->divergent || node->exit_only || node->conv == IR_NO_BLOCK || node->region ||
            node->conv == last || !r)
            continue;
        last = node->conv;
        if (!serial_region_init(g, r, node->conv) || !serial_region_pays(g, r))
            continue;
        serial_find_carried(g, r);
        if (!serial_outs_are_vectors(g, r))
            continue;
        LLVMBasicBlockRef entry = gen_bb(g, "serial");
        gen_fired(g, GEN_PASS_LANE_SERIAL);
        for (uint32_t i = 0; i < g->nnodes; i++) {
            if (!r->inside[i])
                continue;
            g->nodes[i].region = r;
            g->nodes[i].test = entry;
        }
    }
}

/* ---- values lane by lane */

static LLVMValueRef serial_element_ptr(struct gen *g, const struct ir_value *v, LLVMValueRef array,
                                       LLVMValueRef lane)
{
    LLVMTypeRef elem = v->type == IR_PRED ? g->t->i8 : gen_scalar_type(g, v->type);
    LLVMValueRef at = LLVMBuildZExt(g->b, lane, g->t->i64, "");
    return LLVMBuildInBoundsGEP2(g->b, elem, array, &at, 1, "");
}

static LLVMValueRef serial_element_load(struct gen *g, const struct ir_value *v, LLVMValueRef array,
                                        LLVMValueRef lane)
{
    LLVMTypeRef elem = v->type == IR_PRED ? g->t->i8 : gen_scalar_type(g, v->type);
    LLVMValueRef x = LLVMBuildLoad2(g->b, elem, serial_element_ptr(g, v, array, lane), "");
    return v->type == IR_PRED ? LLVMBuildTrunc(g->b, x, g->t->i1, "") : x;
}

static void serial_element_store(struct gen *g, const struct carried *c, LLVMValueRef x,
                                 LLVMValueRef lane)
{
    if (c->v->type == IR_PRED)
        x = LLVMBuildZExt(g->b, x, g->t->i8, "");
    LLVMBuildStore(g->b, x, serial_element_ptr(g, c->v, c->array, lane));
}

static LLVMValueRef index_of_lane(struct gen *g, const struct region *r, const struct ir_value *v,
                                  LLVMValueRef lane);

static LLVMValueRef carried_lane(struct gen *g, const struct region *r, const struct carried *c,
                                 LLVMValueRef lane)
{
    const struct gen_val *val = &c->outside;
    if (val->kind == IR_SHAPE_UNIFORM)
        return val->c[0];
    if (val->kind == IR_SHAPE_VARYING)
        return serial_element_load(g, c->v, c->array, lane);
    if (val->kind == IR_SHAPE_AFFINE) {
        LLVMValueRef high = LLVMBuildICmp(g->b, LLVMIntUGE, lane, gen_i32(g, GEN_LANES), "");
        LLVMValueRef base = LLVMBuildSelect(g->b, high, val->c[1], val->c[0], "");
        if (!val->stride)
            return base;
        LLVMTypeRef type = LLVMTypeOf(base);
        LLVMValueRef step = LLVMBuildAnd(g->b, lane, gen_i32(g, GEN_LANES - 1), "");
        step = LLVMBuildIntCast2(g->b, step, type, false, "");
        step = LLVMBuildMul(g->b, step, gen_ci(type, (uint64_t)val->stride), "");
        return LLVMBuildAdd(g->b, base, step, "");
    }
    const struct ir_shape *s = &r->shapes[c->v->id]; /* val->shape is UNIFORM meanwhile */
    LLVMValueRef x = index_of_lane(g, r, s->index, lane);
    x = s->index_signed ? LLVMBuildSExt(g->b, x, g->t->i64, "")
                        : LLVMBuildZExt(g->b, x, g->t->i64, "");
    x = LLVMBuildMul(g->b, x, gen_i64(g, (uint64_t)s->scale), "");
    return LLVMBuildAdd(g->b, val->c[0], x, "");
}

static LLVMValueRef index_of_lane(struct gen *g, const struct region *r, const struct ir_value *v,
                                  LLVMValueRef lane)
{
    for (uint32_t i = 0; i < r->nin; i++) {
        if (r->in[i].v == v)
            return carried_lane(g, r, &r->in[i], lane);
    }
    return gen_get(g, v).c[0]; /* a constant */
}

/* ---- code */

/* A region has several entries; a value that dominates only some of them is read all the same, and
 * not used by the lanes that come in by others. */
static struct gen_val serial_outside_value(struct gen *g, const struct ir_value *v)
{
    if (gen_value_available(g, v))
        return gen_get(g, v);
    struct gen_val val = gen_slot_peek(g, v);
    for (unsigned i = 0; g->nan_raw[v->id] && i < gen_components(g, gen_shape(g, v)); i++)
        val.c[i] = gen_canonical(g, val.c[i]);
    return val;
}

/* What comes in, in its own form; vectors go to memory. What goes out keeps the other lanes. */
static void serial_arrays_fill(struct gen *g, struct region *r)
{
    for (uint32_t i = 0; i < r->nin; i++) {
        struct carried *c = &r->in[i];
        c->outside = serial_outside_value(g, c->v);
        if (c->outside.kind == IR_SHAPE_VARYING)
            c->array = gen_array_of(g, c->outside, c->v->type);
    }
    for (uint32_t i = 0; i < r->nout; i++) {
        const struct ir_value *v = r->out[i].v;
        r->out[i].array = gen_array_of(g, gen_slot_peek(g, v), v->type);
    }
}

static void serial_value_make_scalar(struct gen *g, struct region *r, const struct ir_value *v,
                                     bool slot)
{
    uint32_t id = v->id;
    r->saved[id] = true;
    r->shapes[id] = g->shapes.of[id];
    r->slots[id] = g->slots[id];
    g->shapes.of[id] = (struct ir_shape){.kind = IR_SHAPE_UNIFORM, .align = 1};
    g->slots[id] = (struct gen_slot){{NULL, NULL}};
    if (slot)
        g->slots[id].ptr[0] = gen_alloca(g, gen_scalar_type(g, v->type), 0, "");
}

static void serial_scalars_enter(struct gen *g, struct region *r)
{
    for (uint32_t i = 0; i < r->nin; i++)
        serial_value_make_scalar(g, r, r->in[i].v, true);
    for (uint32_t n = 0; n < g->nnodes; n++) {
        if (!r->inside[n])
            continue;
        ir_foreach_instr(in, g->nodes[n].block) {
            for (uint32_t d = 0; d < in->ndst; d++) {
                const struct ir_value *v = in->dst[d];
                if (in->op != IR_OP_CONST && !r->is_in[v->id])
                    serial_value_make_scalar(g, r, v, g->slots[v->id].ptr[0] != NULL);
            }
        }
    }
}

static void serial_scalars_leave(struct gen *g, struct region *r)
{
    for (uint32_t v = 0; v < g->func->nvalues; v++) {
        if (r->saved[v]) {
            g->shapes.of[v] = r->shapes[v];
            g->slots[v] = r->slots[v];
        }
    }
    g->epoch = g->epoch_next++;
}

static struct carried *serial_out_of(struct region *r, const struct ir_value *v)
{
    for (uint32_t i = 0; i < r->nout; i++) {
        if (r->out[i].v == v)
            return &r->out[i];
    }
    return NULL;
}

static struct gen_val serial_phi_operand(struct gen *g, const struct ir_instr *phi, uint32_t pred)
{
    const struct ir_value *v = phi->src[pred];
    return g->nan_raw[phi->dst[0]->id] ? gen_get_raw(g, v) : gen_get(g, v);
}

/* The lane takes edge number `succ`: phis, then the branch. */
static void serial_take_edge(struct gen *g, struct region *r, const struct ir_block *from,
                             uint32_t succ)
{
    const struct ir_block *to = from->succs[succ];
    uint32_t pred = gen_pred_of_edge(from, succ), nphis;
    bool stays = serial_block_inside(g, r, to);
    struct gen_val *vals = gen_phi_room(g, to, &nphis);
    const struct ir_instr *phi = to->first;
    for (uint32_t i = 0; vals && i < nphis; i++, phi = phi->next)
        vals[i] = serial_phi_operand(g, phi, pred);
    LLVMValueRef lane = stays ? NULL : LLVMBuildLoad2(g->b, g->t->i32, r->lane, "");
    phi = to->first;
    for (uint32_t i = 0; vals && i < nphis; i++, phi = phi->next) {
        if (stays)
            LLVMBuildStore(g->b, vals[i].c[0], g->slots[phi->dst[0]->id].ptr[0]);
        else
            serial_element_store(g, serial_out_of(r, phi->dst[0]), vals[i].c[0], lane);
    }
    for (uint32_t o = 0; o < r->nout && !stays; o++) {
        const struct ir_value *v = r->out[o].v;
        if (r->defined[v->id])
            serial_element_store(g, &r->out[o], gen_get_raw(g, v).c[0], lane);
    }
    LLVMBuildBr(g->b, stays ? r->body[g->node_of_block[to->id]] : r->next_lane);
}

/* What serial_take_edge() reads must be in the cache before a branch splits the block. */
static void serial_edge_read(struct gen *g, struct region *r, const struct ir_block *from,
                             uint32_t succ)
{
    const struct ir_block *to = from->succs[succ];
    uint32_t pred = gen_pred_of_edge(from, succ);
    ir_foreach_instr(phi, to) {
        if (phi->op != IR_OP_PHI)
            break;
        (void)gen_get_raw(g, phi->src[pred]);
    }
    for (uint32_t o = 0; o < r->nout && !serial_block_inside(g, r, to); o++) {
        if (r->defined[r->out[o].v->id])
            (void)gen_get_raw(g, r->out[o].v);
    }
}

static void serial_node_scalar(struct gen *g, struct region *r, uint32_t n)
{
    assert(g->nodes[n].region == r && g->nodes[n].divergent);
    const struct ir_block *block = g->nodes[n].block;
    LLVMPositionBuilderAtEnd(g->b, r->body[n]);
    g->cur = n;
    g->epoch = g->epoch_next++;
    ir_foreach_instr(in, block) {
        if (in->op != IR_OP_PHI && !ir_op_has(in->op, IR_F_TERM))
            gen_instr(g, in);
    }
    if (block->last->op == IR_OP_BR) {
        serial_take_edge(g, r, block, 0);
        return;
    }
    for (uint32_t s = 0; s < 2; s++)
        serial_edge_read(g, r, block, s);
    LLVMBasicBlockRef arm[2] = {gen_bb(g, "t"), gen_bb(g, "f")};
    LLVMBuildCondBr(g->b, gen_scalar(g, block->last->src[0]), arm[0], arm[1]);
    for (uint32_t s = 0; s < 2; s++) {
        LLVMPositionBuilderAtEnd(g->b, arm[s]);
        serial_take_edge(g, r, block, s);
    }
}

static bool serial_is_entry(struct gen *g, const struct region *r, uint32_t n)
{
    const struct ir_block *block = g->nodes[n].block;
    for (uint32_t p = 0; p < block->npreds; p++) {
        if (!serial_block_inside(g, r, block->preds[p]))
            return true;
    }
    return false;
}

static LLVMValueRef serial_pend_take(struct gen *g, struct gen_node *node)
{
    assert(node->region && node->pend[0]);
    LLVMValueRef bits[GEN_HALVES];
    for (int h = 0; h < gen_halves(g); h++) {
        bits[h] = LLVMBuildZExt(g->b, gen_bits_load(g, node->pend[h]), g->t->i32, "");
        gen_bits_store(g, gen_ci(g->t->i16, 0), node->pend[h]);
    }
    bits[1] = LLVMBuildShl(g->b, bits[1], gen_i32(g, GEN_LANES), "");
    return LLVMBuildOr(g->b, bits[0], bits[1], "");
}

/* From next_lane: the first lane that waits at entry `n` runs; when none does, goes on at the end
 * of the block that the builder is left in. */
static void serial_entry_loop(struct gen *g, struct region *r, LLVMValueRef left, uint32_t n)
{
    LLVMBasicBlockRef some = gen_bb(g, "lane"), none = gen_bb(g, "no_lane");
    LLVMValueRef bits = LLVMBuildLoad2(g->b, g->t->i32, left, "");
    LLVMValueRef empty = LLVMBuildICmp(g->b, LLVMIntEQ, bits, gen_i32(g, 0), "");
    LLVMBuildCondBr(g->b, empty, none, some);
    LLVMPositionBuilderAtEnd(g->b, some);
    LLVMValueRef args[] = {bits, gen_ci(g->t->i1, 1)};
    LLVMValueRef lane = gen_intrinsic(g, "llvm.cttz", &g->t->i32, 1, args, 2);
    LLVMValueRef rest = LLVMBuildSub(g->b, bits, gen_i32(g, 1), "");
    LLVMBuildStore(g->b, LLVMBuildAnd(g->b, bits, rest, ""), left);
    LLVMBuildStore(g->b, lane, r->lane);
    for (uint32_t i = 0; i < r->nin; i++) {
        LLVMValueRef x = carried_lane(g, r, &r->in[i], lane);
        LLVMBuildStore(g->b, x, g->slots[r->in[i].v->id].ptr[0]);
    }
    LLVMBuildBr(g->b, r->body[n]);
    LLVMPositionBuilderAtEnd(g->b, none);
}

static void serial_outs_collect(struct gen *g, struct region *r)
{
    for (uint32_t i = 0; i < r->nout; i++) {
        const struct ir_value *v = r->out[i].v;
        struct gen_val val = gen_from_array(g, r->out[i].array, v->type);
        LLVMValueRef none[GEN_HALVES] = {NULL, NULL};
        gen_store_phi(g, v, val, none, false);
    }
}

static void serial_region_emit(struct gen *g, struct region *r, uint32_t first)
{
    assert(g->nodes[first].region == r && !g->dispatch);
    LLVMValueRef *left = hd_arena_array(&g->arena, LLVMValueRef, g->nnodes + 1);
    uint32_t last = first;
    if (!left)
        return;
    LLVMPositionBuilderAtEnd(g->b, g->nodes[first].test);
    g->epoch = g->epoch_next++;
    g->mask[0] = g->mask[1] = NULL;
    serial_arrays_fill(g, r);
    r->lane = gen_alloca(g, g->t->i32, 0, "lane");
    r->next_lane = gen_bb(g, "next_lane");
    for (uint32_t n = first; n < g->nnodes; n++) {
        if (!r->inside[n])
            continue;
        last = n;
        r->body[n] = gen_bb(g, "s");
        if (!serial_is_entry(g, r, n))
            continue;
        left[n] = gen_alloca(g, g->t->i32, 0, "left");
        LLVMBuildStore(g->b, serial_pend_take(g, &g->nodes[n]), left[n]);
    }
    LLVMBuildBr(g->b, r->next_lane);
    LLVMPositionBuilderAtEnd(g->b, r->next_lane);
    serial_scalars_enter(g, r);
    for (uint32_t n = first; n < g->nnodes; n++) {
        if (left[n])
            serial_entry_loop(g, r, left[n], n);
    }
    LLVMBasicBlockRef finish = LLVMGetInsertBlock(g->b);
    for (uint32_t n = first; n < g->nnodes; n++) {
        if (r->inside[n])
            serial_node_scalar(g, r, n);
    }
    serial_scalars_leave(g, r);
    LLVMPositionBuilderAtEnd(g->b, finish);
    serial_outs_collect(g, r);
    LLVMBuildBr(g->b, gen_sweep_target(g, last + 1, r->conv));
}

bool gen_lane_serial_node(struct gen *g, uint32_t n)
{
    struct region *r = g->nodes[n].region;
    if (!r)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (r->inside[i])
            return true;
    }
    serial_region_emit(g, r, n);
    return true;
}
