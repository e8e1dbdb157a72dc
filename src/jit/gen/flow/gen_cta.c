/*
 * Entry points of a kernel: they call its body, which runs one warp from a state to the next
 * suspend point.
 *
 * heddle_run_cta runs a whole CTA: the warps one after the other when the kernel never stops;
 * region after region, each in a loop over the warps, when all warps run through its suspend
 * points alike (gen_regions.c). The body is inlined once per region, with a constant state, so the
 * copy holds no more than that region. CTA-uniform values go from region to region through two
 * small areas: every warp reads what the last region left and writes what the next one reads. Both
 * become registers.
 *
 * heddle_kernel runs one warp from its state to the next suspend point, for all other kernels.
 */
#include "jit/gen/flow/gen_flow.h"

#include <assert.h>
#include <string.h>

enum body_param {
    BODY_CTA,
    BODY_WARP,
    BODY_STATE,
    BODY_INDEX,
    BODY_ALIVE,
    BODY_FRAME,
    BODY_CTA_IN,
    BODY_CTA_OUT,
    BODY_ONCE,
    BODY_TIDS, /* x, y, z of lane 0 of each half, where rows are multiples of 16 threads */
    BODY_NPARAMS = BODY_TIDS + 3 * GEN_HALVES
};

LLVMTypeRef gen_body_type(struct gen_unit *u)
{
    LLVMTypeRef params[BODY_NPARAMS] = {u->types.ptr, u->types.ptr, u->types.i32,
                                        u->types.i32, u->types.all, u->types.ptr,
                                        u->types.ptr, u->types.ptr, u->types.ptr};
    for (unsigned i = BODY_TIDS; i < BODY_NPARAMS; i++)
        params[i] = u->types.i32;
    return LLVMFunctionType(u->types.i32, params, BODY_NPARAMS, false);
}

void gen_body_values(struct gen *g)
{
    g->state = LLVMGetParam(g->fn, BODY_STATE);
    g->warp_index = LLVMGetParam(g->fn, BODY_INDEX);
    if (gen_is_half(g)) {
        g->half_index = g->warp_index;
        g->warp_index = LLVMBuildLShr(g->b, g->half_index, gen_i32(g, 1), "");
    }
    g->alive_at_start = LLVMGetParam(g->fn, BODY_ALIVE);
    g->frame = LLVMGetParam(g->fn, BODY_FRAME);
    g->cta_in = LLVMGetParam(g->fn, BODY_CTA_IN);
    g->cta_out = LLVMGetParam(g->fn, BODY_CTA_OUT);
    g->once = LLVMGetParam(g->fn, BODY_ONCE);
    for (unsigned i = 0; i < 3 * g->unit->halves; i++)
        g->tid[i / 3][i % 3] = LLVMGetParam(g->fn, BODY_TIDS + i);
}

static bool cta_has_rows(const struct gen *g)
{
    enum jit_launch_class cls = jit_launch_class_single(g->unit->cls);
    return cls == JIT_CLASS_X32 || cls == JIT_CLASS_X16 || cls == JIT_CLASS_X16_FULL;
}

static LLVMValueRef cta_load_field(struct gen *g, LLVMTypeRef type, LLVMValueRef base,
                                   uint64_t offset)
{
    return LLVMBuildLoad2(g->b, type, gen_gep(g, base, offset), "");
}

static void cta_store_field(struct gen *g, LLVMValueRef base, uint64_t offset, LLVMValueRef x)
{
    LLVMBuildStore(g->b, x, gen_gep(g, base, offset));
}

static LLVMValueRef cta_body_call(struct gen *g, LLVMValueRef *args)
{
    return LLVMBuildCall2(g->b, gen_body_type(g->unit), g->unit->kernel, args, BODY_NPARAMS, "");
}

/* An entry point is a function without IR. */
static struct gen cta_entry_begin(struct gen_unit *u, const char *name, LLVMTypeRef type)
{
    struct gen g = {.unit = u,
                    .t = &u->types,
                    .fn = LLVMAddFunction(u->mod, name, type),
                    .b = LLVMCreateBuilderInContext(u->ctx)};
    gen_function_attributes(u, g.fn);
    LLVMPositionBuilderAtEnd(g.b, gen_bb(&g, "entry"));
    return g;
}

static void cta_tids_start(struct gen *g, LLVMValueRef w, LLVMValueRef *out)
{
    for (unsigned i = 0; i < 3 * g->unit->halves; i++)
        out[i] = gen_tid_start(g, w, (int)i / 3, i % 3);
}

void gen_run_warp(struct gen_unit *u)
{
    LLVMTypeRef params[] = {u->types.ptr, u->types.ptr};
    LLVMTypeRef type = LLVMFunctionType(u->types.i32, params, 2, false);
    struct gen entry = cta_entry_begin(u, "heddle_kernel", type), *g = &entry;
    LLVMValueRef cta = LLVMGetParam(g->fn, 0), warp = LLVMGetParam(g->fn, 1);
    LLVMValueRef none = LLVMConstNull(g->t->ptr);
    LLVMValueRef args[BODY_NPARAMS] = {
        [BODY_CTA] = cta,
        [BODY_WARP] = warp,
        [BODY_STATE] = cta_load_field(g, g->t->i32, warp, offsetof(struct jit_warp, state)),
        [BODY_INDEX] = gen_load_ctx(g, g->t->i32, warp, offsetof(struct jit_warp, index)),
        [BODY_ALIVE] = cta_load_field(g, g->t->i32, warp, offsetof(struct jit_warp, alive)),
        [BODY_FRAME] = gen_load_ctx(g, g->t->ptr, warp, offsetof(struct jit_warp, frame)),
        [BODY_CTA_IN] = none,
        [BODY_CTA_OUT] = none,
        [BODY_ONCE] = none,
    };
    g->launch = gen_load_ctx(g, g->t->ptr, cta, offsetof(struct jit_cta, launch));
    for (unsigned i = BODY_TIDS; i < BODY_NPARAMS; i++)
        args[i] = gen_i32(g, 0);
    if (cta_has_rows(g))
        cta_tids_start(g, args[BODY_INDEX], args + BODY_TIDS);
    LLVMBuildRet(g->b, cta_body_call(g, args));
    LLVMDisposeBuilder(g->b);
}

/* ---- whole CTAs */

struct cta_run {
    LLVMValueRef warp, frames, in, out, once, threads, block[3];
    LLVMValueRef runs;        /* warps, or halves of them */
    LLVMBasicBlockRef *heads; /* by region */
    LLVMBasicBlockRef end;
};

static void cta_block_sizes(struct gen *g, struct cta_run *run)
{
    run->threads = gen_i32(g, 1);
    for (unsigned a = 0; a < 3; a++) {
        uint64_t at = offsetof(struct jit_launch, block) + 4 * a;
        run->block[a] = gen_load_ctx(g, g->t->i32, g->launch, at);
        run->threads = LLVMBuildMul(g->b, run->threads, run->block[a], "");
    }
}

/* Goes on by `step` threads, which do not reach beyond the row: no division. */
static void cta_tid_advance(struct gen *g, const struct cta_run *run, LLVMValueRef tid[3],
                            uint64_t step)
{
    LLVMValueRef zero = gen_i32(g, 0);
    LLVMValueRef more = gen_i32(g, step);
    for (unsigned a = 0; a < 2; a++) {
        LLVMValueRef next = LLVMBuildAdd(g->b, tid[a], more, "");
        LLVMValueRef wraps = LLVMBuildICmp(g->b, LLVMIntEQ, next, run->block[a], "");
        tid[a] = LLVMBuildSelect(g->b, wraps, zero, next, "");
        more = LLVMBuildZExt(g->b, wraps, g->t->i32, "");
    }
    tid[2] = LLVMBuildAdd(g->b, tid[2], more, "");
}

/* Several warps are some rows of one z, and x is the lane (gen_warp.c). */
static void cta_tids_of_rows(struct gen *g, const struct cta_run *run, LLVMValueRef tid[3],
                             LLVMValueRef *out)
{
    unsigned halves = g->unit->halves;
    unsigned in_row = jit_launch_class_single(g->unit->cls) == JIT_CLASS_X16_FULL ? 1 : 2;
    assert(gen_is_coarse(g));
    for (unsigned h = 0; h < halves; h++) {
        out[3 * h] = tid[0];
        out[3 * h + 1] = LLVMBuildAdd(g->b, tid[1], gen_i32(g, h / in_row), "");
        out[3 * h + 2] = tid[2];
    }
    LLVMValueRef next = LLVMBuildAdd(g->b, tid[1], gen_i32(g, halves / in_row), "");
    LLVMValueRef wraps = LLVMBuildICmp(g->b, LLVMIntEQ, next, run->block[1], "");
    tid[1] = LLVMBuildSelect(g->b, wraps, gen_i32(g, 0), next, "");
    tid[2] = LLVMBuildAdd(g->b, tid[2], LLVMBuildZExt(g->b, wraps, g->t->i32, ""), "");
}

/* Thread numbers of all halves from `tid`, which moves on to the warps that follow. */
static void cta_tids_of_warp(struct gen *g, const struct cta_run *run, LLVMValueRef tid[3],
                             LLVMValueRef *out)
{
    assert(cta_has_rows(g));
    if (gen_is_coarse(g)) {
        cta_tids_of_rows(g, run, tid, out);
        return;
    }
    memcpy(out, tid, 3 * sizeof(*tid));
    if (gen_is_half(g)) {
        cta_tid_advance(g, run, tid, GEN_LANES);
        return;
    }
    if (g->unit->cls == JIT_CLASS_X32) {
        memcpy(out + 3, tid, 3 * sizeof(*tid));
        out[3] = LLVMBuildAdd(g->b, tid[0], gen_i32(g, GEN_LANES), "");
        cta_tid_advance(g, run, tid, 2 * GEN_LANES);
        return;
    }
    cta_tid_advance(g, run, tid, GEN_LANES);
    memcpy(out + 3, tid, 3 * sizeof(*tid));
    cta_tid_advance(g, run, tid, GEN_LANES);
}

/* Lanes of warp w that exist. */
static LLVMValueRef cta_warp_alive(struct gen *g, const struct cta_run *run, LLVMValueRef w)
{
    LLVMValueRef all = LLVMConstAllOnes(g->t->all), one = gen_i32(g, 1);
    if (jit_launch_class_is_full(g->unit->cls))
        return all;
    LLVMValueRef left =
        LLVMBuildSub(g->b, run->threads, LLVMBuildShl(g->b, w, gen_i32(g, 5), ""), "");
    LLVMValueRef full = LLVMBuildICmp(g->b, LLVMIntUGE, left, gen_i32(g, 32), "");
    LLVMValueRef n = LLVMBuildAnd(g->b, left, gen_i32(g, 31), "");
    LLVMValueRef part = LLVMBuildSub(g->b, LLVMBuildShl(g->b, one, n, ""), one, "");
    return LLVMBuildSelect(g->b, full, all, part, "");
}

static LLVMValueRef cta_area(struct gen *g, uint64_t size_B)
{
    LLVMTypeRef type = LLVMArrayType2(g->t->i64, (size_B + 7) / 8);
    LLVMValueRef a = LLVMBuildAlloca(g->b, type, "");
    LLVMSetAlignment(a, 16);
    return a;
}

static struct cta_run cta_run_begin(struct gen *g)
{
    const struct gen_body *body = &g->unit->body;
    struct cta_run run = {.end = gen_bb(g, "end")};
    g->cta = LLVMGetParam(g->fn, 0);
    run.warp = cta_area(g, sizeof(struct jit_warp));
    run.in = cta_area(g, HD_MAX(body->cta_area_B, 8));
    run.out = cta_area(g, HD_MAX(body->cta_area_B, 8));
    run.once = cta_area(g, HD_MAX(body->once_B, 8));
    g->launch = gen_load_ctx(g, g->t->ptr, g->cta, offsetof(struct jit_cta, launch));
    run.runs = gen_load_ctx(g, g->t->i32, g->launch, offsetof(struct jit_launch, nwarps));
    if (gen_is_half(g))
        run.runs = LLVMBuildShl(g->b, run.runs, gen_i32(g, 1), "");
    cta_block_sizes(g, &run);
    run.frames = LLVMConstNull(g->t->ptr);
    if (g->unit->facts.frame_B)
        run.frames = gen_load_ctx(g, g->t->ptr, g->cta, offsetof(struct jit_cta, frames));
    run.heads = hd_arena_array(&g->unit->arena, LLVMBasicBlockRef, body->nresume + 1);
    for (uint32_t r = 0; run.heads && r <= body->nresume; r++)
        run.heads[r] = gen_bb(g, "region");
    return run;
}

static LLVMValueRef cta_state_of(struct gen *g, uint32_t region)
{
    return gen_i32(g, region ? region << 2 | JIT_BARRIER : 0);
}

static LLVMValueRef cta_frame_of(struct gen *g, const struct cta_run *run, LLVMValueRef w)
{
    assert(g->unit->facts.frame_B % 64 == 0);
    if (!g->unit->facts.frame_B)
        return run->frames;
    LLVMValueRef at = LLVMBuildZExt(g->b, w, g->t->i64, "");
    uint64_t frame_B = g->unit->facts.frame_B / (gen_is_half(g) ? 2 : 1);
    at = LLVMBuildMul(g->b, at, gen_i64(g, frame_B), ""); /* several have as many */
    return LLVMBuildGEP2(g->b, g->t->i8, run->frames, &at, 1, "");
}

static bool cta_descends(const struct gen *g, uint32_t region)
{
    return g->unit->body.by_region && g->unit->body.regions.descends[region];
}

static LLVMValueRef cta_run_warp_in(struct gen *g, struct cta_run *run, uint32_t region,
                                    LLVMValueRef w, LLVMValueRef alive, LLVMValueRef tid[3])
{
    LLVMValueRef frame = cta_frame_of(g, run, w);
    if (g->unit->body.alive_in_memory) { /* device functions read it */
        cta_store_field(g, run->warp, offsetof(struct jit_warp, index), w);
        cta_store_field(g, run->warp, offsetof(struct jit_warp, alive), alive);
        cta_store_field(g, run->warp, offsetof(struct jit_warp, frame), frame);
    }
    LLVMValueRef args[BODY_NPARAMS] = {
        g->cta, run->warp, cta_state_of(g, region), w, alive, frame, run->in, run->out, run->once};
    for (unsigned i = BODY_TIDS; i < BODY_NPARAMS; i++)
        args[i] = gen_i32(g, 0);
    if (cta_has_rows(g) && cta_descends(g, region))
        cta_tids_start(g, w, args + BODY_TIDS);
    else if (cta_has_rows(g))
        cta_tids_of_warp(g, run, tid, args + BODY_TIDS);
    return cta_body_call(g, args);
}

/* What the opening of a barrier with votes does; without votes nobody looks at it. */
static void cta_publish_votes(struct gen *g)
{
    static const uint64_t from[] = {offsetof(struct jit_barrier, votes),
                                    offsetof(struct jit_barrier, arrived)};
    static const uint64_t to[] = {offsetof(struct jit_barrier, result_votes),
                                  offsetof(struct jit_barrier, result_arrived)};
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef at = gen_barrier_field(g, gen_i32(g, 0), from[i]);
        LLVMValueRef x = LLVMBuildLoad2(g->b, g->t->i32, at, "");
        LLVMBuildStore(g->b, x, gen_barrier_field(g, gen_i32(g, 0), to[i]));
        LLVMBuildStore(g->b, gen_i32(g, 0), at);
    }
}

/* A warp that has ended takes no part; the state is that of those that have not. */
static LLVMValueRef cta_run_warp_alive(struct gen *g, struct cta_run *run, uint32_t region,
                                       LLVMValueRef w, LLVMValueRef tid[3], LLVMValueRef state)
{
    assert(g->unit->body.leaves_early && g->unit->body.by_region);
    LLVMBasicBlockRef from = LLVMGetInsertBlock(g->b);
    LLVMBasicBlockRef runs = gen_bb(g, "runs"), next = gen_bb(g, "next");
    LLVMValueRef alive =
        region ? cta_load_field(g, g->t->all, cta_frame_of(g, run, w), g->unit->body.alive_at)
               : cta_warp_alive(g, run, w);
    LLVMValueRef gone = LLVMBuildICmp(g->b, LLVMIntEQ, alive, LLVMConstNull(g->t->all), "");
    LLVMValueRef at[3] = {tid[0], tid[1], tid[2]}, unused[3 * GEN_HALVES];
    if (cta_has_rows(g))
        cta_tids_of_warp(g, run, tid, unused);
    LLVMBuildCondBr(g->b, gone, next, runs);
    LLVMPositionBuilderAtEnd(g->b, runs);
    LLVMValueRef own = LLVMBuildOr(g->b, cta_run_warp_in(g, run, region, w, alive, at), state, "");
    LLVMBuildBr(g->b, next);
    LLVMPositionBuilderAtEnd(g->b, next);
    LLVMValueRef all = LLVMBuildPhi(g->b, g->t->i32, "");
    LLVMAddIncoming(all, (LLVMValueRef[]){state, own}, (LLVMBasicBlockRef[]){from, runs}, 2);
    return all;
}

/* To the region after the suspend point that the warps have come to, or to the end. */
static void cta_region_leave(struct gen *g, struct cta_run *run, uint32_t region,
                             LLVMValueRef state)
{
    const struct gen_regions *regions = &g->unit->body.regions;
    uint32_t first = g->unit->body.by_region ? regions->first[region] : 0;
    uint32_t last = g->unit->body.by_region ? regions->first[region + 1] : 0;
    LLVMValueRef sw = LLVMBuildSwitch(g->b, state, run->end, last - first);

    for (uint32_t i = first; i < last; i++) {
        uint32_t next = regions->to[i] + 1;
        assert(next && next <= g->unit->body.nresume);
        LLVMAddCase(sw, cta_state_of(g, next), run->heads[next]);
    }
}

/* The warp that is number `n` to run. */
static LLVMValueRef cta_warp_at(struct gen *g, const struct cta_run *run, uint32_t region,
                                LLVMValueRef n)
{
    if (!cta_descends(g, region))
        return n;
    LLVMValueRef last = LLVMBuildSub(g->b, run->runs, gen_i32(g, gen_warps(g)), "");
    return LLVMBuildSub(g->b, last, n, "");
}

/* A region in which only the first warp has anything to do: no loop. */
static LLVMValueRef cta_run_first(struct gen *g, struct cta_run *run, uint32_t region)
{
    LLVMValueRef zero = gen_i32(g, 0), tid[3] = {zero, zero, zero};
    return cta_run_warp_in(g, run, region, zero, cta_warp_alive(g, run, zero), tid);
}

/* i1 */
static LLVMValueRef cta_more_warps(struct gen *g, const struct cta_run *run, uint32_t region,
                                   LLVMValueRef next, LLVMValueRef state)
{
    LLVMValueRef more = LLVMBuildICmp(g->b, LLVMIntULT, next, run->runs, "");
    if (!g->unit->body.bounded || cta_descends(g, region))
        return more;
    LLVMValueRef noted = LLVMBuildAnd(g->b, state, gen_i32(g, GEN_BOUND), "");
    LLVMValueRef works = LLVMBuildICmp(g->b, LLVMIntEQ, noted, gen_i32(g, 0), "");
    return LLVMBuildAnd(g->b, more, works, "");
}

static LLVMValueRef cta_state_alone(struct gen *g, LLVMValueRef state)
{
    return LLVMBuildAnd(g->b, state, gen_i32(g, ~GEN_BOUND), "");
}

/* All warps, in a loop; returns the state that they have come to. */
static LLVMValueRef cta_run_warps(struct gen *g, struct cta_run *run, uint32_t region)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b);
    LLVMBasicBlockRef loop = gen_bb(g, "warp"), after = gen_bb(g, "after");
    LLVMBuildBr(g->b, loop);
    LLVMPositionBuilderAtEnd(g->b, loop);
    LLVMValueRef phis[5], at[5], state; /* thread number; warps that have run; state */
    for (unsigned i = 0; i < 5; i++)
        at[i] = phis[i] = LLVMBuildPhi(g->b, g->t->i32, "");
    LLVMValueRef w = cta_warp_at(g, run, region, phis[3]);
    if (g->unit->body.leaves_early)
        state = cta_run_warp_alive(g, run, region, w, at, phis[4]);
    else
        state = cta_run_warp_in(g, run, region, w, cta_warp_alive(g, run, w), at);
    LLVMValueRef next = at[3] = LLVMBuildAdd(g->b, phis[3], gen_i32(g, gen_warps(g)), "");
    at[4] = state;
    LLVMBasicBlockRef blocks[] = {before, LLVMGetInsertBlock(g->b)};
    for (unsigned i = 0; i < 5; i++)
        LLVMAddIncoming(phis[i], (LLVMValueRef[]){gen_i32(g, 0), at[i]}, blocks, 2);
    LLVMBuildCondBr(g->b, cta_more_warps(g, run, region, next, state), loop, after);
    LLVMPositionBuilderAtEnd(g->b, after);
    return state;
}

static void cta_region_enter(struct gen *g, struct cta_run *run)
{
    uint64_t once_B = g->unit->body.once_B;
    if (once_B)
        LLVMBuildMemSet(g->b, run->once, LLVMConstNull(g->t->i8), gen_i64(g, once_B), 16);
}

static void cta_area_pass_on(struct gen *g, struct cta_run *run)
{
    uint64_t size_B = g->unit->body.cta_area_B;
    if (size_B)
        LLVMBuildMemCpy(g->b, run->in, 16, run->out, 16, gen_i64(g, size_B));
}

/* All warps that have anything to do, whose numbers are constants. */
static void cta_run_unrolled(struct gen *g, struct cta_run *run, uint32_t region)
{
    uint32_t n = g->unit->body.regions.warps[region];
    cta_region_enter(g, run);
    for (uint32_t i = 0; i < n; i++) {
        LLVMValueRef zero = gen_i32(g, 0), tid[3] = {zero, zero, zero};
        LLVMValueRef w = gen_i32(g, cta_descends(g, region) ? n - 1 - i : i);
        cta_run_warp_in(g, run, region, w, LLVMConstAllOnes(g->t->all), tid);
    }
    cta_area_pass_on(g, run);
}

/* A run of regions without loops (gen_unroll.c), for CTAs with as many warps; others go on. */
static void cta_run_together(struct gen *g, struct cta_run *run, uint32_t first)
{
    const struct gen_regions *regions = &g->unit->body.regions;
    uint32_t last = regions->unrolled_to[first], most = 0;
    for (uint32_t r = first; r <= last; r++)
        most = HD_MAX(most, regions->warps[r]);
    LLVMBasicBlockRef all = gen_bb(g, "unrolled"), others = gen_bb(g, "others");
    LLVMValueRef threads = gen_i32(g, most * 32);
    LLVMValueRef enough = LLVMBuildICmp(g->b, LLVMIntUGE, run->threads, threads, "");
    LLVMBuildCondBr(g->b, enough, all, others);
    LLVMPositionBuilderAtEnd(g->b, all);
    for (uint32_t r = first; r <= last; r++)
        cta_run_unrolled(g, run, r);
    LLVMBuildBr(g->b, run->heads[regions->to[regions->first[last]] + 1]);
    LLVMPositionBuilderAtEnd(g->b, others);
}

static void cta_run_region(struct gen *g, struct cta_run *run, uint32_t region)
{
    const struct gen_body *body = &g->unit->body;
    LLVMPositionBuilderAtEnd(g->b, run->heads[region]);
    if (body->by_region && body->regions.unrolled_to[region])
        cta_run_together(g, run, region);
    cta_region_enter(g, run);
    LLVMValueRef state = body->bounded && body->regions.first_only[region]
                             ? cta_run_first(g, run, region)
                             : cta_run_warps(g, run, region);
    cta_area_pass_on(g, run);
    if (g->unit->facts.has_votes)
        cta_publish_votes(g);
    cta_region_leave(g, run, region, cta_state_alone(g, state));
}

void gen_run_cta(struct gen_unit *u)
{
    LLVMTypeRef type = LLVMFunctionType(u->types.void_, &u->types.ptr, 1, false);
    assert(u->body.by_region || (!u->body.nresume && !u->facts.frame_B));
    struct gen g = cta_entry_begin(u, "heddle_run_cta", type);
    struct cta_run run = cta_run_begin(&g);
    LLVMBuildBr(g.b, run.heads ? run.heads[0] : run.end);
    for (uint32_t r = 0; run.heads && r <= u->body.nresume; r++)
        cta_run_region(&g, &run, r);
    LLVMPositionBuilderAtEnd(g.b, run.end);
    LLVMBuildRetVoid(g.b);
    LLVMDisposeBuilder(g.b);
    u->facts.has_run_cta = true;
}
