/*
 * Where the lanes of a load or store access memory, made from the shape of the address (gen_mem.c
 * lists the forms).
 */
#include "jit/gen/access/gen_access.h"
#include "jit/gen/flow/gen_flow.h"
#include "jit/gen/access/gen_line.h"

#include <assert.h>

static LLVMValueRef access_add64(struct gen *g, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildAdd(g->b, a, b, "");
}

/* Window addresses wrap at 32 bits when a constant offset is added: sign extension keeps that. */
static LLVMValueRef access_widen(struct gen *g, LLVMValueRef x)
{
    return LLVMTypeOf(x) == g->t->i32 ? LLVMBuildSExt(g->b, x, g->t->i64, "") : x;
}

static LLVMValueRef access_narrow_vec(struct gen *g, LLVMValueRef x)
{
    if (LLVMGetElementType(LLVMTypeOf(x)) == g->t->i32)
        return x;
    return LLVMBuildTrunc(g->b, x, gen_vec(g, g->t->i32), "");
}

/* Per lane windows: every address differs, so lanes are always indexed. */
static struct gen_access access_addr_local(struct gen *g, const struct ir_instr *in)
{
    struct gen_val v = gen_get(g, in->src[0]);
    struct gen_access a = {
        .kind = GEN_ACCESS_INDEX, .scale = 1, .index_signed = true, .offset = in->mem.offset};
    a.base[0] = gen_window_base(g, IR_SPACE_LOCAL);
    if (v.kind == IR_SHAPE_UNIFORM) {
        a.base[0] = access_add64(g, a.base[0], access_widen(g, v.c[0]));
        for (int h = 0; h < gen_halves(g); h++)
            a.index[h] = gen_local_lanes(g, h);
        return a;
    }
    LLVMValueRef x[GEN_HALVES];
    gen_vector_of(g, v, in->src[0]->type, x);
    for (int h = 0; h < gen_halves(g); h++)
        a.index[h] = LLVMBuildAdd(g->b, gen_local_lanes(g, h), access_narrow_vec(g, x[h]), "");
    return a;
}

/* Halves that an index is affine over. */
static unsigned access_halves_of_index(const struct gen *g, const struct ir_shape *index)
{
    return index->whole ? g->unit->halves : 1;
}

/* Can base + 15 * stride of the index wrap within 32 bits? Multiples of 16 * stride cannot. */
static bool access_index_may_wrap(const struct gen *g, const struct ir_shape *index)
{
    uint64_t span = (uint64_t)GEN_LANES * access_halves_of_index(g, index) *
                    (uint64_t)(index->stride < 0 ? -index->stride : index->stride);
    uint32_t align = index->whole ? index->warp_align : index->align;
    return index->stride && (!hd_is_pow2(span) || align < span);
}

static LLVMValueRef access_index_wraps(struct gen *g, const struct ir_shape *s,
                                       struct gen_val index)
{
    unsigned halves = access_halves_of_index(g, gen_shape(g, s->index));
    LLVMValueRef any = NULL;
    for (unsigned h = 0; h < g->unit->halves; h += halves) {
        LLVMValueRef w =
            gen_index_wraps(g, index.c[h], index.stride, s->index_signed, GEN_LANES * halves);
        any = any ? LLVMBuildOr(g->b, any, w, "") : w;
    }
    return any;
}

/* The address of half h, where the index is; `fits`: it does not wrap anywhere, or is not used. */
static LLVMValueRef access_half_base(struct gen *g, const struct gen_access *a,
                                     const struct ir_shape *s, struct gen_val index, int h,
                                     bool fits)
{
    LLVMValueRef scale = gen_i64(g, (uint64_t)s->scale);
    LLVMValueRef x = h && fits ? gen_half_apart(g, s->index, h, true) : NULL;

    if (h && gen_shape(g, s->index)->whole)
        return gen_whole_half(g, a->base[0], a->stride, h);
    if (x)
        return access_add64(g, a->base[0], LLVMBuildMul(g->b, x, scale, ""));
    x = s->index_signed ? LLVMBuildSExt(g->b, index.c[h], g->t->i64, "")
                        : LLVMBuildZExt(g->b, index.c[h], g->t->i64, "");
    return access_add64(g, a->alt_base, LLVMBuildMul(g->b, x, scale, ""));
}

static void access_addr_affine_index(struct gen *g, struct gen_access *a, const struct ir_shape *s,
                                     struct gen_val index)
{
    const struct ir_shape *is = gen_shape(g, s->index);
    bool may_wrap = access_index_may_wrap(g, is);
    LLVMValueRef fits = may_wrap ? gen_index_fits(g, s->index, s->index_signed,
                                                  g->unit->halves / access_halves_of_index(g, is))
                                 : NULL;
    a->kind = GEN_ACCESS_A;
    a->stride = index.stride * s->scale;
    for (int h = 0; h < gen_halves(g); h++)
        a->base[h] = access_half_base(g, a, s, index, h, fits != NULL);
    if (may_wrap)
        a->wraps = fits ? LLVMBuildNot(g->b, fits, "") : access_index_wraps(g, s, index);
}

static struct gen_access access_addr_indexed(struct gen *g, const struct ir_instr *in,
                                             struct gen_val v, LLVMValueRef window)
{
    assert(v.kind == IR_SHAPE_BASE_INDEX && LLVMTypeOf(v.c[0]) == g->t->i64);
    const struct ir_shape *s = v.shape;
    struct gen_access a = {.kind = GEN_ACCESS_INDEX,
                           .offset = in->mem.offset,
                           .scale = s->scale,
                           .index_signed = s->index_signed};
    LLVMValueRef base = window ? access_add64(g, window, v.c[0]) : v.c[0];
    struct gen_val index = gen_get(g, s->index);
    a.base[0] = a.alt_base = base;
    if (index.kind == IR_SHAPE_AFFINE)
        access_addr_affine_index(g, &a, s, index);
    else
        gen_vector_of(g, index, s->index->type, a.index);
    return a;
}

/* The lanes of an affine index; of rows apart, from the first one's. */
static void access_index_lanes(struct gen *g, const struct ir_value *index,
                               LLVMValueRef out[GEN_HALVES])
{
    struct gen_val v = gen_get(g, index);

    for (int h = 1; h < gen_halves(g) && v.kind == IR_SHAPE_AFFINE; h++) {
        LLVMValueRef more = gen_half_apart(g, index, h, true);
        if (more)
            v.c[h] = LLVMBuildAdd(g->b, v.c[0], LLVMBuildTrunc(g->b, more, g->t->i32, ""), "");
    }
    gen_vector_of(g, v, index->type, out);
}

/* Fills in the lanes' 32-bit indices of an address that was made from an affine one. */
void gen_access_to_index(struct gen *g, struct gen_access *a, const struct ir_instr *in)
{
    const struct ir_shape *s = gen_shape(g, in->src[0]);
    a->kind = a->alt_index[0] ? a->alt_kind : GEN_ACCESS_INDEX;
    a->base[0] = a->alt_base;
    if (!a->alt_index[0])
        access_index_lanes(g, s->index, a->index);
    a->wraps = NULL;
}

/* The value that a->index holds the lanes of. */
static const struct ir_value *access_indexing(struct gen *g, const struct ir_instr *in)
{
    const struct ir_shape *s = gen_shape(g, in->src[0]);
    return s->kind == IR_SHAPE_BASE_INDEX ? s->index : in->src[0];
}

/* Tests for neighbours; fills in the lanes' first indices. */
static void access_guess_in_line(struct gen *g, const struct ir_instr *in, struct gen_access *a,
                                 int64_t step, LLVMValueRef first[GEN_HALVES])
{
    const struct ir_value *v = access_indexing(g, in);
    bool is_index = a->kind == GEN_ACCESS_INDEX;
    if (!gen_line_strays(g, v, step, &a->wraps)) {
        a->wraps = gen_lanes_stray(g, a->index, first, step);
    } else {
        a->line = v;
        gen_line_first(g, v, first);
        for (int h = 0; h < gen_halves(g) && is_index; h++)
            first[h] = LLVMBuildTrunc(g->b, first[h], g->t->i32, "");
    }
    if (is_index)
        a->wraps = LLVMBuildOr(g->b, a->wraps, gen_lanes_wrap(g, first, step, a->index_signed), "");
}

/* Lane addresses that may turn out to be contiguous at run time (gen_guess.c). */
void gen_access_guess(struct gen *g, const struct ir_instr *in, struct gen_access *a,
                      uint64_t size_B)
{
    bool v = a->kind == GEN_ACCESS_V;
    if (!gen_does(g, GEN_PASS_GUESS) || (!v && a->kind != GEN_ACCESS_INDEX) ||
        in->mem.space == IR_SPACE_LOCAL || size_B % (uint64_t)(v ? 1 : a->scale) ||
        !gen_is_computed(g, in->src[0]) || gen_pattern_is_sparse(g, in->src[0], (int64_t)size_B))
        return;
    LLVMValueRef first[GEN_HALVES];
    gen_fired(g, GEN_PASS_GUESS);
    a->alt_kind = a->kind;
    a->alt_base = a->base[0];
    access_guess_in_line(g, in, a, (int64_t)size_B / (v ? 1 : a->scale), first);
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef x = first[h];
        a->alt_index[h] = a->index[h];
        if (!v) {
            x = a->index_signed ? LLVMBuildSExt(g->b, x, g->t->i64, "")
                                : LLVMBuildZExt(g->b, x, g->t->i64, "");
            x = LLVMBuildMul(g->b, x, gen_i64(g, (uint64_t)a->scale), "");
            x = access_add64(g, a->alt_base, x);
        }
        a->base[h] = x;
    }
    a->kind = GEN_ACCESS_A;
    a->stride = (int64_t)size_B;
}

static struct gen_access access_addr_varying(struct gen *g, const struct ir_instr *in,
                                             struct gen_val v, LLVMValueRef window)
{
    struct gen_access a = {.offset = in->mem.offset, .scale = 1, .index_signed = true};
    gen_vector_of(g, v, in->src[0]->type, a.index);
    if (window) {
        a.kind = GEN_ACCESS_INDEX;
        a.base[0] = window;
        for (int h = 0; h < gen_halves(g); h++)
            a.index[h] = access_narrow_vec(g, a.index[h]);
        return a;
    }
    a.kind = GEN_ACCESS_V;
    return a;
}

static struct gen_access access_of(struct gen *g, const struct ir_instr *in)
{
    if (in->mem.space == IR_SPACE_LOCAL)
        return access_addr_local(g, in);
    LLVMValueRef window = gen_window_base(g, in->mem.space);
    struct gen_val v = gen_get(g, in->src[0]);
    struct gen_access a = {.offset = in->mem.offset};
    switch (v.kind) {
    case IR_SHAPE_UNIFORM:
        a.kind = GEN_ACCESS_U;
        a.base[0] =
            window ? access_add64(g, window, access_widen(g, v.c[0])) : access_widen(g, v.c[0]);
        return a;
    case IR_SHAPE_AFFINE:
        a.kind = GEN_ACCESS_A;
        a.stride = v.stride;
        for (int h = 0; h < gen_halves(g); h++) {
            LLVMValueRef more = h ? gen_half_apart(g, in->src[0], h, false) : NULL;
            a.base[h] = more     ? access_add64(g, a.base[0], more)
                        : window ? access_add64(g, window, access_widen(g, v.c[h]))
                                 : access_widen(g, v.c[h]);
        }
        return a;
    case IR_SHAPE_BASE_INDEX:
        return access_addr_indexed(g, in, v, window);
    default:
        return access_addr_varying(g, in, v, window);
    }
}

struct gen_access gen_access_of(struct gen *g, const struct ir_instr *in)
{
    struct gen_access a = access_of(g, in);
    a.strong = in->mem.sem != IR_SEM_WEAK;
    return a;
}

/* ---- alignment: a misaligned access is an error on a GPU, so it is one here */

static LLVMValueRef access_misaligned(struct gen *g, LLVMValueRef base, int64_t offset,
                                      uint64_t size_B)
{
    assert(size_B && !(size_B & (size_B - 1)));
    LLVMValueRef x = base;
    if ((uint64_t)offset & (size_B - 1))
        x = access_add64(g, x, gen_i64(g, (uint64_t)offset));
    x = LLVMBuildAnd(g->b, x, gen_i64(g, size_B - 1), "");
    return LLVMBuildICmp(g->b, LLVMIntNE, x, gen_i64(g, 0), "");
}

LLVMValueRef gen_half_active(struct gen *g, int h)
{
    assert(h >= 0 && h < gen_halves(g));
    if (!g->mask[h])
        return gen_ci(g->t->i1, 1);
    return LLVMBuildICmp(g->b, LLVMIntNE, gen_mask_bits(g, h), gen_no_bits(g), "");
}

/* The running lanes of half h whose address is not aligned, as a mask. */
static LLVMValueRef access_vector_misaligned(struct gen *g, LLVMValueRef lanes, int h,
                                             uint64_t size_B)
{
    LLVMTypeRef elem = LLVMGetElementType(LLVMTypeOf(lanes));
    LLVMValueRef x = LLVMBuildAnd(g->b, lanes, gen_splat_const(g, elem, size_B - 1), "");
    x = LLVMBuildICmp(g->b, LLVMIntNE, x, gen_splat_const(g, elem, 0), "");
    return g->mask[h] ? LLVMBuildAnd(g->b, x, g->mask[h], "") : x;
}

void gen_access_addresses(struct gen *g, const struct gen_access *a, LLVMValueRef out[GEN_HALVES])
{
    for (int h = 0; h < gen_halves(g); h++)
        out[h] = LLVMBuildPtrToInt(g->b, gen_access_lanes(g, a, h, 0), gen_vec(g, g->t->i64), "");
}

/*
 * Which lanes are misaligned, and the address of the first, is found out by functions of the
 * runtime (jit_rt.c): there are many such blocks, and each takes LLVM its time. They are told
 * where the lanes of each half start and how far apart they are, or all addresses.
 */
static LLVMValueRef access_line_start(struct gen *g, const struct gen_access *a, int h)
{
    LLVMValueRef base = a->base[a->kind == GEN_ACCESS_A ? h : 0];
    return access_add64(g, base, gen_i64(g, (uint64_t)a->offset));
}

/* All addresses of a warp in memory that such blocks share. */
static LLVMValueRef access_addresses_stored(struct gen *g, const LLVMValueRef *of_halves)
{
    const uint64_t half_B = GEN_LANES * sizeof(uint64_t);
    if (!g->lane_addresses)
        g->lane_addresses = gen_alloca(g, LLVMArrayType2(g->t->i64, 2 * GEN_LANES), 64, "");
    for (unsigned i = 0; i < 2; i++) { /* of one half: whichever it is */
        LLVMValueRef place = gen_gep(g, g->lane_addresses, i * half_B);
        LLVMValueRef x = of_halves[gen_is_half(g) ? 0 : i];
        LLVMSetAlignment(LLVMBuildStore(g->b, x, place), 64);
    }
    return g->lane_addresses;
}

/* Ends the kernel if lanes of warp w that run are misaligned. */
static void access_find_in_warp(struct gen *g, const struct gen_access *a, int w, uint64_t size_B)
{
    LLVMValueRef x[GEN_HALVES], args[9] = {
                                    g->cta,
                                    g->warp,
                                    LLVMBuildAdd(g->b, g->warp_index, gen_i32(g, (uint64_t)w), ""),
                                    gen_mask_of_warp(g, w),
                                    gen_i32(g, gen_srcloc(g)),
                                    gen_i32(g, size_B),
                                };
    if (a->kind == GEN_ACCESS_U || a->kind == GEN_ACCESS_A) {
        args[6] = access_line_start(g, a, 2 * w);
        args[7] = gen_is_half(g) ? args[6] : access_line_start(g, a, 2 * w + 1);
        args[8] = gen_i64(g, a->kind == GEN_ACCESS_A ? (uint64_t)a->stride : 0);
        gen_call_rt_warp(g, "jit_rt_misaligned", g->t->void_, args, 9);
        return;
    }
    gen_access_addresses(g, a, x);
    args[6] = access_addresses_stored(g, x + 2 * w);
    gen_call_rt_warp(g, "jit_rt_misaligned_lanes", g->t->void_, args, 7);
}

/* Lanes that run are misaligned when `cond` (i1) holds: one test for all halves, as blocks are what
 * code is slow to compile for. */
static void access_fault_misaligned(struct gen *g, const struct gen_access *a, LLVMValueRef cond,
                                    uint64_t size_B)
{
    LLVMBasicBlockRef ok = gen_fault_begin(g, cond);
    if (!ok)
        return;
    for (int w = 0; w < (int)gen_warps(g); w++)
        access_find_in_warp(g, a, w, size_B);
    gen_fault_end(g, ok);
}

/*
 * i1: any of these lanes, as one integer for all halves. LLVM 19 does not come to an end where one
 * mask is the logic of others that were integers and of a comparison that is alike in all lanes.
 */
static LLVMValueRef access_any_of(struct gen *g, LLVMValueRef const mask[GEN_HALVES])
{
    return LLVMBuildICmp(g->b, LLVMIntNE, gen_bits_of_all(g, mask), gen_ci(g->t->all, 0), "");
}

/* Lanes at `start` (i64) + `steps` (<16 x i32> of half h), those that are misaligned; the low 32
 * bits suffice. */
static LLVMValueRef access_lanes_misaligned(struct gen *g, LLVMValueRef start, LLVMValueRef steps,
                                            int h, uint64_t size_B)
{
    start = gen_splat(g, LLVMBuildTrunc(g->b, start, g->t->i32, ""));
    return access_vector_misaligned(g, LLVMBuildAdd(g->b, start, steps, ""), h, size_B);
}

/* Base, offset and index may be aligned only together. */
static void access_check_index_align(struct gen *g, const struct gen_access *a, uint64_t size_B)
{
    if ((uint64_t)a->scale % size_B == 0) {
        access_fault_misaligned(g, a, access_misaligned(g, a->base[0], a->offset, size_B), size_B);
        return;
    }
    LLVMValueRef start = access_add64(g, a->base[0], gen_i64(g, (uint64_t)a->offset));
    LLVMValueRef scale = gen_splat_const(g, g->t->i32, (uint64_t)a->scale);
    LLVMValueRef lanes[GEN_HALVES];
    for (int h = 0; h < gen_halves(g); h++)
        lanes[h] = access_lanes_misaligned(g, start, LLVMBuildMul(g->b, a->index[h], scale, ""), h,
                                           size_B);
    access_fault_misaligned(g, a, access_any_of(g, lanes), size_B);
}

/* i1: a base is not aligned, of a half with lanes that run. */
static LLVMValueRef access_bases_misaligned(struct gen *g, const struct gen_access *a,
                                            uint64_t size_B)
{
    LLVMValueRef all = NULL, any = NULL;
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef x = a->base[h];
        if ((uint64_t)a->offset % size_B)
            x = access_add64(g, x, gen_i64(g, (uint64_t)a->offset));
        LLVMValueRef bad =
            LLVMBuildAnd(g->b, access_misaligned(g, x, 0, size_B), gen_half_active(g, h), "");
        any = any ? LLVMBuildOr(g->b, any, bad, "") : bad;
        all = all ? LLVMBuildOr(g->b, all, x, "") : x;
    }
    return g->mask[0] ? any : access_misaligned(g, all, 0, size_B);
}

/* With a step that is no multiple some lanes may be right, perhaps all that run. */
static void access_check_affine_align(struct gen *g, const struct gen_access *a, uint64_t size_B)
{
    LLVMValueRef lanes[GEN_HALVES] = {NULL};
    if ((uint64_t)a->stride % size_B == 0) {
        access_fault_misaligned(g, a, access_bases_misaligned(g, a, size_B), size_B);
        return;
    }
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef start = access_add64(g, a->base[h], gen_i64(g, (uint64_t)a->offset));
        lanes[h] = access_lanes_misaligned(g, start, gen_lanes(g, g->t->i32, a->stride), h, size_B);
    }
    access_fault_misaligned(g, a, access_any_of(g, lanes), size_B);
}

static void access_check_vector_align(struct gen *g, const struct gen_access *a, uint64_t size_B)
{
    LLVMValueRef lanes[GEN_HALVES];
    for (int h = 0; h < gen_halves(g); h++) {
        LLVMValueRef x = a->index[h];
        if ((uint64_t)a->offset & (size_B - 1))
            x = LLVMBuildAdd(g->b, x, gen_splat_const(g, g->t->i64, (uint64_t)a->offset), "");
        lanes[h] = access_vector_misaligned(g, x, h, size_B);
    }
    access_fault_misaligned(g, a, access_any_of(g, lanes), size_B);
}

static void access_check_align(struct gen *g, const struct ir_instr *in, const struct gen_access *a,
                               uint64_t size_B)
{
    const struct ir_shape *s = gen_shape(g, in->src[0]);
    bool offset_ok = !((uint64_t)in->mem.offset & (size_B - 1));
    bool window_ok = in->mem.space != IR_SPACE_LOCAL;
    switch (a->kind) {
    case GEN_ACCESS_U:
        if (!(offset_ok && s->align >= size_B && window_ok))
            access_fault_misaligned(g, a, access_misaligned(g, a->base[0], a->offset, size_B),
                                    size_B);
        return;
    case GEN_ACCESS_A:
        if (!(offset_ok && s->kind == IR_SHAPE_AFFINE && s->align >= size_B &&
              (uint64_t)a->stride % size_B == 0) &&
            !gen_pattern_is_aligned(g, in, size_B))
            access_check_affine_align(g, a, size_B);
        return;
    case GEN_ACCESS_INDEX:
        if (!gen_pattern_is_aligned(g, in, size_B))
            access_check_index_align(g, a, size_B);
        return;
    case GEN_ACCESS_V:
        if (!gen_pattern_is_aligned(g, in, size_B))
            access_check_vector_align(g, a, size_B);
        return;
    }
}

/*
 * Lanes in line are aligned when the first one is. When it is not, this side of the test is left,
 * and lanes are looked at one by one on the other.
 */
static bool access_is_checked_in_line(const struct gen_access *a)
{
    return a->line && a->alt_kind == GEN_ACCESS_V;
}

void gen_access_check(struct gen *g, const struct ir_instr *in, struct gen_access *a,
                      uint64_t size_B)
{
    assert(size_B && hd_is_pow2(size_B));
    struct gen_access lanes = *a;
    if (a->alt_index[0])
        gen_access_to_index(g, &lanes, in);
    if (size_B > 1 && access_is_checked_in_line(a)) {
        LLVMValueRef bad = gen_line_misaligned(g, a->line, (uint64_t)a->offset, size_B);
        a->wraps = LLVMBuildOr(g->b, a->wraps, bad, "");
    } else if (size_B > 1) {
        access_check_align(g, in, &lanes, size_B);
    }
    if (g->unit->req->strict)
        gen_strict_check(g, in, &lanes, size_B);
}

void gen_access_stray(struct gen *g, struct gen_access *a, uint64_t size_B)
{
    if (!a->line)
        return;
    gen_line_vector(g, a->line, a->index);
    if (a->kind == GEN_ACCESS_V && size_B > 1)
        access_check_vector_align(g, a, size_B);
    for (int h = 0; h < gen_halves(g) && a->kind == GEN_ACCESS_INDEX; h++)
        a->index[h] = access_narrow_vec(g, a->index[h]);
}

/* ---- lane addresses */

/* <16 x ptr> of half h, `more` bytes further. */
LLVMValueRef gen_access_lanes(struct gen *g, const struct gen_access *a, int h, int64_t more)
{
    LLVMTypeRef v64 = gen_vec(g, g->t->i64);
    int64_t offset = a->offset + more;
    if (a->kind == GEN_ACCESS_V) {
        LLVMValueRef x = a->index[h];
        if (offset)
            x = LLVMBuildAdd(g->b, x, gen_splat_const(g, g->t->i64, (uint64_t)offset), "");
        return LLVMBuildIntToPtr(g->b, x, gen_vec(g, g->t->ptr), "");
    }
    if (a->kind == GEN_ACCESS_U || a->kind == GEN_ACCESS_A) {
        LLVMValueRef base =
            gen_ptr_at(g, a->kind == GEN_ACCESS_U ? a->base[0] : a->base[h], offset);
        LLVMValueRef steps = gen_lanes(g, g->t->i64, a->kind == GEN_ACCESS_U ? 0 : a->stride);
        return LLVMBuildGEP2(g->b, g->t->i8, base, &steps, 1, "");
    }
    LLVMTypeRef unit = a->scale == 1   ? g->t->i8
                       : a->scale == 2 ? g->t->i16
                       : a->scale == 4 ? g->t->i32
                       : a->scale == 8 ? g->t->i64
                                       : NULL;
    LLVMValueRef base = a->base[0];
    LLVMValueRef index = a->index[h];
    if (unit && !a->index_signed) {
        /* zext(i) = sext(i ^ 2^31) + 2^31: keeps the 32-bit index form */
        base = access_add64(g, base, gen_i64(g, (uint64_t)a->scale << 31));
        index = LLVMBuildXor(g->b, index, gen_splat_const(g, g->t->i32, 0x80000000u), "");
    }
    LLVMValueRef p = gen_ptr_at(g, base, offset);
    if (unit)
        return LLVMBuildGEP2(g->b, unit, p, &index, 1, "");
    index =
        a->index_signed ? LLVMBuildSExt(g->b, index, v64, "") : LLVMBuildZExt(g->b, index, v64, "");
    index = LLVMBuildMul(g->b, index, gen_splat_const(g, g->t->i64, (uint64_t)a->scale), "");
    return LLVMBuildGEP2(g->b, g->t->i8, p, &index, 1, "");
}

/* The lanes' addresses as i64 vectors, for atomics. */
void gen_lane_addresses(struct gen *g, const struct ir_instr *in, LLVMValueRef out[GEN_HALVES])
{
    struct gen_access a = gen_access_of(g, in);
    if (a.wraps)
        gen_access_to_index(g, &a, in);
    uint64_t size_B = ir_type_bits(in->type) / 8;
    gen_access_check(g, in, &a, size_B * (in->mem.vec ? in->mem.vec : 1));
    gen_access_addresses(g, &a, out);
}
