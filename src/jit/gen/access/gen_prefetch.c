/*
 * Prefetches where the next access is known and the host does not see it coming.
 *
 * Loops whose threads jump: `for (i = id; i < n; i += gridDim.x * blockDim.x)`. A warp runs all its
 * iterations in a row, so its loads are a large, regular distance apart: too far for the host's
 * prefetchers, and an iteration with work in it is too long for the next load to start early. The
 * distance is read off the loop's induction.
 *
 * The first accesses of a CTA that has barriers: a worker takes CTAs in the order of their numbers,
 * and what the next ones load would only be asked for behind all that this one computes. The
 * distance is the address's derivative by the CTA's number, so often that it is some 12 KiB: what
 * takes CTAs less time than memory takes must be asked for earlier. The same for the row of each
 * CTA that a loop is the first to read or to store to: the host's own prefetchers see the streams
 * of the loop's iterations, but do not go beyond a page.
 *
 * A wrong guess costs time and nothing else, so no proof is asked for.
 */
#include "jit/gen/access/gen_access.h"

enum {
    NEAR_B = 2048,   /* constant distances below this are left to the host */
    CTA_NEAR_B = 16, /* those from a CTA to the next one */
    CTAS_AHEAD = 2,
    CTAS_AHEAD_MAX = 6,
    AHEAD_B = 12288,
    ROW_MAX_B = 16384, /* longer rows leave the cache before their CTA comes */
    ROOT_DEPTH = 12,
};

/* Is it one of the first accesses of a CTA whose warps wait for each other? */
static bool opens_cta(const struct gen *g)
{
    return g->body.by_region && g->shapes.loops.loop_of[g->nodes[g->cur].block->id] == IR_NO_BLOCK;
}

/* A multiple that the loop computes may not be there yet where what it is made from is. */
static struct gen_address_stride unscaled(const struct gen_address_stride *step)
{
    const struct ir_instr *in = step->value->instr;
    uint64_t k;
    if (!in || (in->op != IR_OP_SHL && in->op != IR_OP_MUL) || !ir_value_const(in->src[1], &k) ||
        k > (in->op == IR_OP_SHL ? 12 : 4096))
        return *step;
    int64_t scale = in->op == IR_OP_SHL ? (int64_t)1 << k : (int64_t)k;
    return (struct gen_address_stride){.value = in->src[0], .scale = step->scale * scale};
}

/* `times` steps in bytes (i64); NULL: not known here, or too near to matter. */
static LLVMValueRef distance_of(struct gen *g, const struct gen_address_stride *step,
                                int64_t nearest_B, int64_t times)
{
    if (!step->value)
        return step->constant >= nearest_B || step->constant <= -nearest_B
                   ? gen_i64(g, (uint64_t)(step->constant * times))
                   : NULL;
    struct gen_address_stride s = gen_value_available(g, step->value) ? *step : unscaled(step);
    if (!gen_value_available(g, s.value))
        return NULL;
    LLVMValueRef x = gen_scalar(g, s.value);
    if (LLVMTypeOf(x) == g->t->i32)
        x = LLVMBuildSExt(g->b, x, g->t->i64, "");
    return LLVMBuildMul(g->b, x, gen_i64(g, (uint64_t)(s.scale * times)), "");
}

/* Does the next iteration of the loop load from far away? */
static bool jumps(struct gen *g, const struct ir_instr *in, struct gen_address_stride *out)
{
    return in->op == IR_OP_LD && in->mem.space == IR_SPACE_GLOBAL &&
           gen_address_stride_of(g, in->src[0], GEN_BY_ITERATION, out);
}

bool gen_prefetch_jumps(struct gen *g, const struct ir_instr *in)
{
    struct gen_address_stride step;
    return jumps(g, in, &step) && step.value;
}

static const struct ir_value *root_within(const struct ir_value *v, unsigned depth)
{
    const struct ir_instr *in = v->instr;
    if (!in || depth == ROOT_DEPTH)
        return NULL;
    if (in->op == IR_OP_LD)
        return in->mem.space == IR_SPACE_PARAM ? v : NULL;
    if (in->op == IR_OP_PHI || in->op == IR_OP_CVTA_TO)
        return root_within(in->src[0], depth + 1);
    if (!ir_is_plain_add(in) || ir_type_bits(in->type) != 64)
        return NULL;
    const struct ir_value *root = root_within(in->src[0], depth + 1);
    return root ? root : root_within(in->src[1], depth + 1);
}

const struct ir_value *gen_root_of(const struct ir_value *v)
{
    return root_within(v, 0);
}

static bool is_global_access(const struct ir_instr *in)
{
    return (in->op == IR_OP_LD || in->op == IR_OP_ST) && in->mem.space == IR_SPACE_GLOBAL;
}

/* In layout order, is there no suspend point between the first access of what `in` accesses and
 * `in`? */
static bool touches_first(const struct gen *g, const struct ir_instr *in)
{
    const struct ir_value *root = gen_root_of(in->src[0]);
    bool touched = false, over = !root;
    for (uint32_t b = 0; b <= in->block->id && !over; b++) {
        ir_foreach_instr(at, g->func->blocks[b]) {
            if (at == in)
                return true;
            over |= at->op == IR_OP_BAR && touched;
            touched |= is_global_access(at) && gen_root_of(at->src[0]) == root;
        }
    }
    return false;
}

/* Is it an access in a loop of one region, to what no region before has touched? */
static bool opens_row(const struct gen *g, const struct ir_instr *in)
{
    uint32_t block = g->nodes[g->cur].block->id;
    return is_global_access(in) && g->body.by_region &&
           g->shapes.loops.loop_of[block] != IR_NO_BLOCK && touches_first(g, in);
}

/* To the row of the next CTA; for one that is too long, nowhere. */
static LLVMValueRef distance_of_row(struct gen *g, const struct gen_address_stride *step)
{
    LLVMValueRef x = distance_of(g, step, CTA_NEAR_B, 1);
    if (!x)
        return NULL;
    LLVMValueRef reach = LLVMBuildAdd(g->b, x, gen_i64(g, ROW_MAX_B), "");
    LLVMValueRef is_near = LLVMBuildICmp(g->b, LLVMIntULE, reach, gen_i64(g, 2 * ROW_MAX_B), "");
    return LLVMBuildSelect(g->b, is_near, x, gen_i64(g, 0), "");
}

/* Constant distances between the iterations of warps that wait for each other: these are few
 * streams. */
static bool is_left_to_host(const struct gen *g, const struct gen_address_stride *by_iteration)
{
    return g->body.by_region && !by_iteration->value;
}

static int64_t ctas_ahead(const struct gen_address_stride *by_cta)
{
    int64_t step_B = by_cta->constant < 0 ? -by_cta->constant : by_cta->constant;
    if (by_cta->value || step_B < NEAR_B / 2)
        return CTAS_AHEAD;
    return HD_MAX(CTAS_AHEAD, HD_MIN(CTAS_AHEAD_MAX, AHEAD_B / step_B));
}

/* What tuning chose, or what seems right. */
static int64_t ahead_or(const struct gen *g, int64_t usual)
{
    return g->unit->req->ahead ? g->unit->req->ahead : usual;
}

static LLVMValueRef distance(struct gen *g, const struct ir_instr *in)
{
    struct gen_address_stride step;
    if (jumps(g, in, &step) && !is_left_to_host(g, &step))
        return distance_of(g, &step, NEAR_B, ahead_or(g, 1));
    if (opens_row(g, in) && gen_address_stride_of(g, in->src[0], GEN_BY_CTA, &step))
        return distance_of_row(g, &step);
    if (opens_cta(g) && gen_address_stride_of(g, in->src[0], GEN_BY_CTA, &step))
        return distance_of(g, &step, CTA_NEAR_B, ahead_or(g, ctas_ahead(&step)));
    return NULL;
}

LLVMValueRef gen_prefetch_distance(struct gen *g, const struct ir_instr *in)
{
    struct gen_address_stride step;
    LLVMValueRef far = NULL;
    if (gen_does(g, GEN_PASS_PREFETCH) && g->unit->path != JIT_GENERIC && jumps(g, in, &step))
        far = distance_of(g, &step, 1, ahead_or(g, 1));
    if (far)
        gen_fired(g, GEN_PASS_PREFETCH);
    return far ? far : gen_i64(g, 0);
}

/* How far apart lanes are that access neighbours, in bytes. */
static int64_t in_a_row(const struct ir_instr *in)
{
    return (int64_t)(ir_type_bits(in->type) / 8 * HD_MAX(in->mem.vec, 1));
}

static void prefetch(struct gen *g, const struct ir_instr *in, LLVMValueRef at)
{
    LLVMValueRef p = LLVMBuildIntToPtr(g->b, at, g->t->ptr, "");
    LLVMValueRef args[] = {p, gen_i32(g, in->op == IR_OP_ST), gen_i32(g, 3), gen_i32(g, 1)};
    gen_intrinsic(g, "llvm.prefetch", &g->t->ptr, 1, args, 4);
}

void gen_prefetch_next(struct gen *g, const struct ir_instr *in, const struct gen_access *a)
{
    int64_t reach = a->stride == in_a_row(in) ? a->stride * GEN_LANES : GEN_LINE_B;
    LLVMValueRef far;
    if (!gen_does(g, GEN_PASS_PREFETCH) || in->mem.space != IR_SPACE_GLOBAL ||
        g->unit->path == JIT_GENERIC || !(far = distance(g, in)))
        return;
    gen_fired(g, GEN_PASS_PREFETCH);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef at = LLVMBuildAdd(g->b, a->base[h], far, "");
        for (int64_t line = 0; line < reach; line += GEN_LINE_B)
            prefetch(g, in, LLVMBuildAdd(g->b, at, gen_i64(g, (uint64_t)(a->offset + line)), ""));
    }
}
