/* Counters (ir/count.h): what compiled code adds to those of its CTA, which is on one thread. */
#include <string.h>

#include "ir/count.h"
#include "ir/probe.h"
#include "jit/gen/gen_access.h"

static LLVMValueRef counters(struct gen *g)
{
    return gen_load_ctx(g, g->t->ptr, g->cta, offsetof(struct jit_cta, counts));
}

static void add(struct gen *g, LLVMValueRef to, size_t word, LLVMValueRef n)
{
    LLVMValueRef at = gen_gep(g, to, word * sizeof(uint64_t));
    LLVMValueRef sum = LLVMBuildAdd(g->b, LLVMBuildLoad2(g->b, g->t->i64, at, ""), n, "");
    LLVMBuildStore(g->b, sum, at);
}

static LLVMValueRef lanes_of(struct gen *g, LLVMValueRef mask32)
{
    LLVMValueRef n = gen_intrinsic(g, "llvm.ctpop", &g->t->i32, 1, &mask32, 1);
    return LLVMBuildZExt(g->b, n, g->t->i64, "");
}

static LLVMValueRef one_if(struct gen *g, LLVMValueRef is)
{
    return LLVMBuildZExt(g->b, is, g->t->i64, "");
}

static LLVMValueRef is_any(struct gen *g, LLVMValueRef mask32)
{
    return LLVMBuildICmp(g->b, LLVMIntNE, mask32, gen_i32(g, 0), "");
}

static void count_group(struct gen *g, uint32_t group)
{
    LLVMValueRef to = counters(g), lanes = gen_mask32(g);
    size_t word = ir_count_group_word(group);
    add(g, to, word + IR_COUNT_WARPS, one_if(g, is_any(g, lanes)));
    add(g, to, word + IR_COUNT_LANES, lanes_of(g, lanes));
}

/* The lanes of the warp for which it holds, as i32. */
static LLVMValueRef holds(struct gen *g, const struct ir_value *p)
{
    LLVMValueRef x[GEN_HALVES], all = gen_i32(g, 0);
    gen_vector(g, p, x);
    for (int h = 0; h < gen_halves(g) && h < 2; h++) {
        LLVMValueRef bits = LLVMBuildZExt(g->b, gen_bits(g, x[h]), g->t->i32, "");
        bits = LLVMBuildShl(g->b, bits, gen_i32(g, (uint64_t)h * GEN_LANES), "");
        all = LLVMBuildOr(g->b, all, bits, "");
    }
    return all;
}

static void count_branch(struct gen *g, const struct ir_instr *probe, uint32_t instr)
{
    size_t word = ir_count_instr_word(g->func->module, instr);
    LLVMValueRef to = counters(g), lanes = gen_mask32(g);
    LLVMValueRef taken = LLVMBuildAnd(g->b, holds(g, probe->src[0]), lanes, "");
    LLVMValueRef parts = LLVMBuildICmp(g->b, LLVMIntNE, taken, lanes, "");
    parts = LLVMBuildAnd(g->b, parts, is_any(g, taken), "");
    add(g, to, word + IR_COUNT_TAKEN, lanes_of(g, taken));
    add(g, to, word + IR_COUNT_DIVERGENT, one_if(g, parts));
}

/* ---- accesses whose lanes are in line */

/* What 32 lanes in line cost, by the rules for any: what does not depend on where they begin. */
static void line_costs(enum ir_count_space space, uint64_t size_B, int64_t stride,
                       uint64_t out[IR_COUNT_ACCESS_WORDS])
{
    uint64_t address[IR_COUNT_WARP];
    const struct ir_count_access access = {
        .words = out, .space = space, .lanes = ~0u, .size_B = size_B, .address = address};
    memset(out, 0, IR_COUNT_ACCESS_WORDS * sizeof(*out));
    for (int64_t l = 0; l < IR_COUNT_WARP; l++)
        address[l] = (UINT64_C(1) << 40) + (uint64_t)(l * stride);
    ir_count_access(&access);
}

enum { SECTOR_B = 32 };

/* First and last sector of the lanes of a half, as i64. */
static void sectors_of(struct gen *g, const struct gen_val *val, int h, int64_t offset,
                       uint64_t size_B, LLVMValueRef out[2])
{
    int64_t span = val->kind == IR_SHAPE_AFFINE ? val->stride * (GEN_LANES - 1) : 0;
    LLVMValueRef x = val->c[val->kind == IR_SHAPE_AFFINE ? h : 0];
    int64_t first = offset + HD_MIN(span, 0);
    int64_t last = offset + HD_MAX(span, 0) + (int64_t)size_B - 1;
    out[0] = LLVMBuildLShr(g->b, LLVMBuildAdd(g->b, x, gen_i64(g, (uint64_t)first), ""),
                           gen_i64(g, 5), "");
    out[1] = LLVMBuildLShr(g->b, LLVMBuildAdd(g->b, x, gen_i64(g, (uint64_t)last), ""),
                           gen_i64(g, 5), "");
}

static LLVMValueRef extreme(struct gen *g, const char *which, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef args[] = {a, b};
    return gen_intrinsic(g, which, &g->t->i64, 1, args, 2);
}

/* Both halves touch every sector between their ends: the size of the union. */
static LLVMValueRef sectors_between(struct gen *g, const struct ir_instr *probe,
                                    const struct gen_val *val, uint64_t size_B)
{
    LLVMValueRef a[2], b[2], one = gen_i64(g, 1);
    sectors_of(g, val, 0, probe->mem.offset, size_B, a);
    LLVMValueRef n = LLVMBuildAdd(g->b, LLVMBuildSub(g->b, a[1], a[0], ""), one, "");
    if (val->kind == IR_SHAPE_UNIFORM)
        return n;
    sectors_of(g, val, 1, probe->mem.offset, size_B, b);
    n = LLVMBuildAdd(g->b, n, LLVMBuildAdd(g->b, LLVMBuildSub(g->b, b[1], b[0], ""), one, ""), "");
    LLVMValueRef both = LLVMBuildSub(g->b, extreme(g, "llvm.smin", a[1], b[1]),
                                     extreme(g, "llvm.smax", a[0], b[0]), "");
    both = extreme(g, "llvm.smax", LLVMBuildAdd(g->b, both, one, ""), gen_i64(g, 0));
    return LLVMBuildSub(g->b, n, both, "");
}

/* i1: the second half goes on where the first one ends. */
static LLVMValueRef halves_go_on(struct gen *g, const struct gen_val *val)
{
    LLVMTypeRef type = LLVMTypeOf(val->c[0]);
    LLVMValueRef step = LLVMConstInt(type, (uint64_t)(val->stride * GEN_LANES), true);
    return LLVMBuildICmp(g->b, LLVMIntEQ, val->c[1], LLVMBuildAdd(g->b, val->c[0], step, ""), "");
}

static LLVMValueRef words_apart(struct gen *g, const struct gen_val *val)
{
    LLVMTypeRef type = LLVMTypeOf(val->c[0]);
    LLVMValueRef d = LLVMBuildSub(g->b, val->c[1], val->c[0], "");
    return LLVMBuildAShr(g->b, d, LLVMConstInt(type, 2, false), "");
}

static LLVMValueRef is_const(struct gen *g, LLVMValueRef x, uint64_t k)
{
    return LLVMBuildICmp(g->b, LLVMIntEQ, x, LLVMConstInt(LLVMTypeOf(x), k, true), "");
}

/*
 * i1: two runs of `n` words (1, or 16 side by side), one per half, want different words of a bank.
 * Both cases are the rules of ir_count_access() for them.
 */
static LLVMValueRef halves_conflict(struct gen *g, const struct gen_val *val, unsigned n)
{
    LLVMValueRef d = words_apart(g, val);
    LLVMTypeRef type = LLVMTypeOf(d);
    LLVMValueRef bank = LLVMBuildAnd(g->b, d, LLVMConstInt(type, 31, false), "");
    if (n == 1)
        return LLVMBuildAnd(g->b, is_const(g, bank, 0), LLVMBuildNot(g->b, is_const(g, d, 0), ""),
                            "");
    LLVMValueRef shifted = LLVMBuildAdd(g->b, d, LLVMConstInt(type, 16, false), "");
    LLVMValueRef near = LLVMBuildICmp(g->b, LLVMIntULE, shifted, LLVMConstInt(type, 32, false), "");
    return LLVMBuildNot(g->b, LLVMBuildOr(g->b, near, is_const(g, bank, 16), ""), "");
}

struct line {
    struct gen_val val;
    uint64_t size_B;
    enum ir_count_space space;
    uint64_t costs[IR_COUNT_ACCESS_WORDS];
    LLVMValueRef fits; /* i1: the lanes are as `costs` and what follows take them; all run */
    LLVMValueRef sectors, wavefronts;
};

static bool global_line(struct gen *g, const struct ir_instr *probe, struct line *line)
{
    bool dense = line->val.kind == IR_SHAPE_UNIFORM ||
                 (line->val.stride >= -SECTOR_B && line->val.stride <= SECTOR_B);
    if (LLVMTypeOf(line->val.c[0]) != g->t->i64)
        return false;
    line->sectors = dense ? sectors_between(g, probe, &line->val, line->size_B)
                          : gen_i64(g, line->costs[IR_COUNT_SECTORS]);
    if (!dense)
        line->fits = LLVMBuildAnd(g->b, line->fits, halves_go_on(g, &line->val), "");
    line->wavefronts = gen_i64(g, 0);
    return true;
}

static bool shared_line(struct gen *g, struct line *line)
{
    const struct gen_val *val = &line->val;
    LLVMValueRef passes = gen_i64(g, line->costs[IR_COUNT_WAVEFRONTS]);
    line->sectors = gen_i64(g, 0);
    line->wavefronts = passes;
    if (val->kind == IR_SHAPE_UNIFORM || line->size_B > 4) /* lanes of one pass are of one half */
        return true;
    if (line->size_B == 4 && (!val->stride || val->stride == 4)) {
        LLVMValueRef two = halves_conflict(g, val, val->stride ? 16 : 1);
        line->wavefronts = LLVMBuildAdd(g->b, one_if(g, two), gen_i64(g, 1), "");
        return true;
    }
    line->fits = LLVMBuildAnd(g->b, line->fits, halves_go_on(g, val), "");
    return true;
}

/* Addresses of another form, taken for neighbours: `fits` says at run time whether they are. */
static void guess_line(struct gen *g, const struct ir_value *v, struct line *line)
{
    LLVMValueRef x[GEN_HALVES];
    gen_vector(g, v, x);
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(x[0]));
    line->val = (struct gen_val){.kind = IR_SHAPE_AFFINE, .stride = (int64_t)line->size_B};
    for (int h = 0; h < gen_halves(g) && h < 2; h++) {
        LLVMValueRef first = LLVMBuildExtractElement(g->b, x[h], gen_i32(g, 0), "");
        LLVMValueRef want = gen_lanes(g, type, line->val.stride);
        want = LLVMBuildAdd(g->b, want, gen_splat(g, first), "");
        LLVMValueRef other = gen_bits(g, LLVMBuildICmp(g->b, LLVMIntNE, x[h], want, ""));
        LLVMValueRef none = LLVMBuildICmp(g->b, LLVMIntEQ, other, gen_no_bits(g), "");
        line->fits = LLVMBuildAnd(g->b, line->fits, none, "");
        line->val.c[h] = first;
    }
}

static bool line_of(struct gen *g, const struct ir_instr *probe, struct line *line)
{
    enum ir_op op = ir_probe_op(probe);
    bool is_shared = probe->mem.space == IR_SPACE_SHARED;
    if ((op != IR_OP_LD && op != IR_OP_ST) || (!is_shared && probe->mem.space != IR_SPACE_GLOBAL))
        return false;
    if (gen_singly(g))
        return false;
    line->val = gen_get(g, probe->src[0]);
    line->size_B = ir_probe_size_B(probe);
    line->fits = LLVMBuildICmp(g->b, LLVMIntEQ, gen_mask32(g), gen_i32(g, UINT32_MAX), "");
    if (line->val.kind != IR_SHAPE_UNIFORM && line->val.kind != IR_SHAPE_AFFINE)
        guess_line(g, probe->src[0], line);
    line->space = is_shared ? IR_COUNT_IN_SHARED : IR_COUNT_IN_GLOBAL;
    line_costs(line->space, line->size_B, line->val.kind == IR_SHAPE_AFFINE ? line->val.stride : 0,
               line->costs);
    return is_shared ? shared_line(g, line) : global_line(g, probe, line);
}

/* What any access by all lanes adds is added when the launch is over: ir_count_settle(). */
static void line_add(struct gen *g, const struct ir_instr *probe, const struct line *line)
{
    const struct ir_module *m = g->func->module;
    const uint32_t instr = ir_probe_its_imm(probe);
    size_t word = ir_count_access_word(m, instr, line->space);
    LLVMValueRef to = counters(g);
    add(g, to, ir_count_instr_word(m, instr) + IR_COUNT_WHOLE_WARPS, gen_i64(g, 1));
    if (line->space == IR_COUNT_IN_SHARED) {
        LLVMValueRef ideal = gen_i64(g, line->costs[IR_COUNT_IDEAL_WAVEFRONTS]);
        LLVMValueRef more = LLVMBuildSub(g->b, line->wavefronts, ideal, "");
        if (!LLVMIsConstant(more) || LLVMConstIntGetZExtValue(more))
            add(g, to, word + IR_COUNT_WAVEFRONTS, more);
        return;
    }
    const uint64_t bytes = line->size_B * IR_COUNT_WARP;
    LLVMValueRef packed = gen_i64(g, (bytes + SECTOR_B - 1) / SECTOR_B);
    add(g, to, word + IR_COUNT_SECTORS, line->sectors);
    add(g, to, word + IR_COUNT_IDEAL_SECTORS, extreme(g, "llvm.umin", line->sectors, packed));
}

LLVMBasicBlockRef gen_count_line(struct gen *g, const struct ir_instr *probe)
{
    struct line line;
    if (!line_of(g, probe, &line))
        return NULL;
    LLVMBasicBlockRef in_line = gen_bb(g, "in_line"), other = gen_bb(g, "count");
    LLVMBasicBlockRef on = gen_bb(g, "counted");
    LLVMBuildCondBr(g->b, line.fits, in_line, other);
    LLVMPositionBuilderAtEnd(g->b, in_line);
    line_add(g, probe, &line);
    LLVMBuildBr(g->b, on);
    LLVMPositionBuilderAtEnd(g->b, other);
    return on;
}

static bool is_simple(const struct ir_instr *probe)
{
    enum ir_op op = ir_probe_op(probe);
    return (op == IR_OP_LD || op == IR_OP_ST || op == IR_OP_ATOM) &&
           (probe->mem.space == IR_SPACE_SHARED || probe->mem.space == IR_SPACE_GLOBAL ||
            probe->mem.space == IR_SPACE_LOCAL);
}

static const char *count_of_level(enum jit_path path)
{
    return path == JIT_AVX512 ? "jit_rt_count_avx512"
           : path == JIT_AVX2 ? "jit_rt_count_avx2"
                              : "jit_rt_count_generic";
}

bool gen_count_lanes(struct gen *g, const struct ir_instr *probe, LLVMValueRef addresses)
{
    enum ir_space space = probe->mem.space;
    enum ir_count_space in = space == IR_SPACE_SHARED  ? IR_COUNT_IN_SHARED
                             : space == IR_SPACE_LOCAL ? IR_COUNT_IN_LOCAL
                                                       : IR_COUNT_IN_GLOBAL;
    if (!g->func->module->has_counts || !is_simple(probe))
        return false;
    size_t word = ir_count_access_word(g->func->module, ir_probe_its_imm(probe), in);
    LLVMValueRef args[] = {
        gen_gep(g, counters(g), word * sizeof(uint64_t)),
        gen_i32(g, in),
        gen_i32(g, ir_probe_op(probe) == IR_OP_ATOM),
        gen_mask32(g),
        gen_i64(g, ir_probe_size_B(probe)),
        addresses,
    };
    gen_call_rt(g, count_of_level(g->unit->req->path), g->t->void_, args, HD_COUNT_OF(args));
    return true;
}

bool gen_count(struct gen *g, const struct ir_instr *probe)
{
    if (!g->func->module->has_counts)
        return false;
    switch (ir_probe_op(probe)) {
    case IR_OP_NOTE:
        count_group(g, ir_probe_its_imm(probe));
        return true;
    case IR_OP_CBR:
        count_branch(g, probe, ir_probe_its_imm(probe));
        return true;
    default:
        return false;
    }
}
