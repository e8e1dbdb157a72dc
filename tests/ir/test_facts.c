/*
 * Rules of spec/ir_facts.def against ir_eval(): every result of random sources lies in the range
 * that follows from ranges of the sources. And that rules are worth something: figures that are
 * exact, of small functions in text form.
 */
#include "tap.h"

#include "analysis/facts.h"
#include "model/eval.h"

static uint64_t seed;

static uint64_t rnd(uint64_t n)
{
    return (tap_random(&seed) >> 11) % n;
}

static uint64_t mask_of(unsigned w)
{
    return w < 64 ? (UINT64_C(1) << w) - 1 : UINT64_MAX;
}

static int64_t extended(uint64_t x, unsigned w)
{
    return w == 1 ? (int64_t)x : (int64_t)(x << (64 - w)) >> (64 - w);
}

/* Numbers at which operations change, and others. */
static uint64_t number(unsigned w)
{
    const uint64_t all = mask_of(w), x = tap_random(&seed);
    switch (rnd(6)) {
    case 0:
        return rnd(70) & all;
    case 1:
        return (0 - rnd(70)) & all;
    case 2:
        return ((UINT64_C(1) << rnd(w)) - rnd(3)) & all;
    case 3:
        return x >> rnd(64) & all;
    case 4:
        return x << rnd(64) & all;
    default:
        return x & all;
    }
}

static bool lies_in(const struct facts_range *r, uint64_t x, unsigned w)
{
    const int64_t s = extended(x, w);
    return x >= r->least && x <= r->most && s >= r->sleast && s <= r->smost && !(x & r->zeros) &&
           !(~x & r->ones);
}

/* Some range that has x: what two or more numbers have in common, or part of that. */
static struct facts_range around(enum ir_type type, uint64_t x)
{
    const unsigned w = ir_type_bits(type);
    struct facts_range r = facts_exactly(type, x);
    const struct facts_range any = facts_any(type);
    for (uint64_t n = rnd(4); n; n--) {
        const uint64_t near = rnd(2) ? number(w) : (x + rnd(9) - 4) & mask_of(w);
        const struct facts_range y = facts_exactly(type, near);
        r.least = HD_MIN(r.least, y.least);
        r.most = HD_MAX(r.most, y.most);
        r.sleast = HD_MIN(r.sleast, y.sleast);
        r.smost = HD_MAX(r.smost, y.smost);
        r.zeros &= y.zeros;
        r.ones &= y.ones;
    }
    switch (rnd(5)) {
    case 0:
        r.least = any.least;
        r.most = any.most;
        break;
    case 1:
        r.sleast = any.sleast;
        r.smost = any.smost;
        break;
    case 2:
        r.zeros = any.zeros;
        r.ones = any.ones;
        break;
    case 3:
        r = any;
        break;
    default:
        break;
    }
    return r;
}

/* ---- instructions without operands */

static bool is_tried(enum ir_op op)
{
    return ir_op_has(op, IR_F_PURE) && op != IR_OP_PHI && op != IR_OP_CONST &&
           op != IR_OP_VARADDR && op != IR_OP_FUNCADDR && op != IR_OP_CVTA && op != IR_OP_CVTA_TO &&
           op != IR_OP_ISSPACEP && op != IR_OP_CVTPACK && op != IR_OP_CVTUNPACK &&
           op != IR_OP_UNPACK && op != IR_OP_PACK;
}

static void draw_instr(struct ir_instr *in, enum ir_op op)
{
    static const enum ir_type ints[] = {IR_U8,  IR_S8,  IR_U16, IR_S16,
                                        IR_U32, IR_S32, IR_U64, IR_S64};
    *in = (struct ir_instr){.op = op};
    do
        in->type =
            op == IR_OP_CVT ? ints[rnd(HD_COUNT_OF(ints))] : (enum ir_type)rnd(IR_TYPE_COUNT);
    while (!ir_op_takes(op, in->type) || ir_type_bits(in->type) > 64);
    if (op == IR_OP_CVT)
        in->type2 = ints[rnd(HD_COUNT_OF(ints))];
    if (op == IR_OP_DP4A || op == IR_OP_DP2A)
        in->type2 = rnd(2) ? IR_S32 : IR_U32;
    if (op == IR_OP_LOP3)
        in->imm = rnd(256);
    if (op == IR_OP_PRMT)
        in->imm = rnd(3) ? IR_PRMT_IDX : rnd(7);
    if (op == IR_OP_FTESTP)
        in->imm = rnd(6);
    if (op == IR_OP_SETP)
        in->cmp = (enum ir_cmp)rnd(in->type == IR_PRED ? 2 : 6);
    if (op == IR_OP_FSETP)
        in->cmp = (enum ir_cmp)rnd(14);
    if (ir_op_has(op, IR_F_RND))
        in->rnd = op == IR_OP_CVT ? IR_RND_NONE : IR_RN;
    const bool sat = op == IR_OP_CVT || in->type == IR_S32;
    if ((ir_op_infos[op].mods & IR_MOD_SAT) && sat && !rnd(3))
        ir_set_mod(in, IR_MOD_SAT, true);
    for (unsigned bit = 0; bit < IR_MOD_COUNT; bit++)
        if ((1u << bit & (IR_MOD_WRAP | IR_MOD_SHIFTAMT | IR_MOD_HI)) & ir_op_infos[op].mods)
            ir_set_mod(in, (enum ir_mod)(1u << bit), rnd(2));
}

static void describe(const struct ir_instr *in, const struct ir_bits *src,
                     const struct facts_range *ranges, uint64_t got, const struct facts_range *r)
{
    diag("%s.%s imm %llu mods %x: %llx is not in [%llx, %llx] s[%lld, %lld] zeros %llx ones %llx",
         ir_op_infos[in->op].name, ir_type_name(in->type), (unsigned long long)in->imm, in->mods,
         (unsigned long long)got, (unsigned long long)r->least, (unsigned long long)r->most,
         (long long)r->sleast, (long long)r->smost, (unsigned long long)r->zeros,
         (unsigned long long)r->ones);
    for (uint32_t i = 0; i < in->nsrc; i++)
        diag("  src %llx in [%llx, %llx] s[%lld, %lld] zeros %llx ones %llx",
             (unsigned long long)src[i].lo, (unsigned long long)ranges[i].least,
             (unsigned long long)ranges[i].most, (long long)ranges[i].sleast,
             (long long)ranges[i].smost, (unsigned long long)ranges[i].zeros,
             (unsigned long long)ranges[i].ones);
}

static bool try_op(enum ir_op op, unsigned times, uint64_t *exact)
{
    struct ir_bits src[4], out;
    struct facts_range ranges[4];
    struct ir_instr in;

    while (times--) {
        draw_instr(&in, op);
        in.nsrc = ir_operands_min(ir_op_infos[op].src);
        for (uint32_t i = 0; i < in.nsrc; i++) {
            const enum ir_type t = ir_src_type(&in, i);
            const unsigned w = ir_type_bits(t);
            src[i] = (struct ir_bits){number(w), 0};
            ranges[i] = around(t, src[i].lo);
        }
        if (!ir_eval(&in, src, &out)) {
            diag("%s cannot be evaluated", ir_op_infos[op].name);
            return false;
        }
        const struct facts_range r = facts_eval(&in, ranges);
        *exact += r.least == r.most;
        if (!lies_in(&r, out.lo, ir_eval_result_bits(&in))) {
            describe(&in, src, ranges, out.lo, &r);
            return false;
        }
    }
    return true;
}

static void test_rules(void)
{
    for (unsigned op = 0; op < IR_OP_COUNT; op++) {
        uint64_t exact = 0;
        if (is_tried((enum ir_op)op))
            ok(try_op((enum ir_op)op, 6000, &exact), "%s: results lie in their range",
               ir_op_infos[op].name);
    }
}

/* A constant of constants: rules of integers lose nothing. */
static void test_exact(void)
{
    static const enum ir_op ops[] = {
        IR_OP_ADD,  IR_OP_SUB, IR_OP_MUL,  IR_OP_MULWIDE, IR_OP_NEG,   IR_OP_ABS,  IR_OP_MIN,
        IR_OP_MAX,  IR_OP_AND, IR_OP_OR,   IR_OP_XOR,     IR_OP_NOT,   IR_OP_CNOT, IR_OP_SHL,
        IR_OP_SHR,  IR_OP_CLZ, IR_OP_POPC, IR_OP_BREV,    IR_OP_SETP,  IR_OP_CVT,  IR_OP_LOP3,
        IR_OP_ADDC, IR_OP_BFE, IR_OP_BFI,  IR_OP_SZEXT,   IR_OP_CARRY, IR_OP_SUBC, IR_OP_BORROW};
    for (size_t k = 0; k < HD_COUNT_OF(ops); k++) {
        bool good = true;
        for (unsigned n = 0; n < 500 && good; n++) {
            struct ir_bits src[4], out;
            struct facts_range ranges[4];
            struct ir_instr in;
            draw_instr(&in, ops[k]);
            in.nsrc = ir_operands_min(ir_op_infos[ops[k]].src);
            for (uint32_t i = 0; i < in.nsrc; i++) {
                const enum ir_type t = ir_src_type(&in, i);
                src[i] = (struct ir_bits){number(ir_type_bits(t)), 0};
                ranges[i] = facts_exactly(t, src[i].lo);
            }
            if (ir_type_lanes(in.type) > 1)
                continue;
            const struct facts_range r = facts_eval(&in, ranges);
            good = ir_eval(&in, src, &out) && r.least == r.most && r.least == out.lo;
            if (!good)
                describe(&in, src, ranges, out.lo, &r);
        }
        ok(good, "%s of constants is a constant", ir_op_infos[ops[k]].name);
    }
}

/* ---- questions */

/* Values have the numbers that tests name; stores and loads are asked in their order. */
static const char kernel_text[] = "module \"m\" sm 80\n"
                                  "var @s shared internal align 16 size 16384\n"
                                  "var @t shared internal align 16 size 64\n"
                                  "var @g global internal align 256 size 65536\n"
                                  "kernel @k visible {\n  params 32\nbb0:\n"
                                  "  %0:b64 = const.b64 0x0\n"
                                  "  %1:b64 = ld.b64.param [%0]\n"
                                  "  %2:b64 = ld.b64.param [%0+8]\n"
                                  "  %3:b32 = ld.b32.param [%0+16]\n"
                                  "  %4:b32 = sreg.b32 tid.x\n"
                                  "  %5:b64 = varaddr @s\n"
                                  "  %6:b64 = varaddr @g\n"
                                  "  %7:b32 = const.b32 0x4\n"
                                  "  %8:b32 = const.b32 0x8\n"
                                  "  %9:b32 = const.b32 0x80\n"
                                  "  %10:b32 = const.b32 0x84\n"
                                  "  %11:b64 = mulwide.u32 %4, %7\n"
                                  "  %12:b64 = mulwide.u32 %4, %8\n"
                                  "  %13:b64 = mulwide.u32 %4, %9\n"
                                  "  %14:b64 = mulwide.u32 %4, %10\n"
                                  "  %15:b64 = add.s64 %5, %11\n"
                                  "  %16:b64 = add.s64 %5, %12\n"
                                  "  %17:b64 = add.s64 %5, %13\n"
                                  "  %18:b64 = add.s64 %5, %14\n"
                                  "  %19:b64 = add.s64 %6, %11\n"
                                  "  %20:b64 = add.s64 %1, %11\n"
                                  "  %21:b64 = add.s64 %6, %13\n"
                                  "  st.b32.shared [%15], %4\n"
                                  "  st.b32.shared [%16], %4\n"
                                  "  st.b32.shared [%17], %4\n"
                                  "  st.b32.shared [%18+4], %4\n"
                                  "  st.v2.b32.shared [%16], %4, %4\n"
                                  "  st.b32.shared [%5], %4\n"
                                  "  st.b32.global [%19], %4\n"
                                  "  st.b32.global [%20], %4\n"
                                  "  st.b32.global [%21], %4\n"
                                  "  st.b32.global [%6+16], %4\n"
                                  "  st.b32.global [%19+4], %4\n"
                                  "  %22:b64 = varaddr @t\n"
                                  "  %23:b32 = add.s32 %4, %9\n"
                                  "  %24:b32 = add.s32 %3, %9\n"
                                  "  %25:pred = setp.s32.lt %3, %9\n"
                                  "  cbr %25, bb1, bb2\n"
                                  "bb1:\n"
                                  "  %26:b32 = add.s32 %3, %9\n"
                                  "  br bb3\n"
                                  "bb3:\n"
                                  "  %27:b32 = phi.b32 [bb1: %7], [bb3: %29]\n"
                                  "  %28:b64 = mulwide.u32 %27, %8\n"
                                  "  %29:b32 = add.s32 %27, %7\n"
                                  "  %30:pred = setp.u32.lt %29, %9\n"
                                  "  cbr %30, bb3, bb2\n"
                                  "bb2:\n"
                                  "  %31:b32 = const.b32 0x7\n"
                                  "  %32:b32 = and.b32 %4, %31\n"
                                  "  %33:b32 = const.b32 0x3\n"
                                  "  %34:b32 = shr.u32 %4, %33\n"
                                  "  %35:b32 = and.b32 %34, %33\n"
                                  "  %36:b32 = shl.b32 %32, %31\n"
                                  "  %37:b32 = const.b32 0x2\n"
                                  "  %38:b32 = shl.b32 %35, %37\n"
                                  "  %39:b32 = add.s32 %36, %38\n"
                                  "  st.b32.shared [%39], %4\n"
                                  "  %40:b32 = xor.b32 %32, %35\n"
                                  "  %41:b32 = shl.b32 %40, %37\n"
                                  "  %42:b32 = add.s32 %36, %41\n"
                                  "  st.b32.shared [%42], %4\n"
                                  "  ret\n}\n";

static const struct ir_value *value(const struct facts *f, uint32_t id)
{
    return f->values[id];
}

/* Bank conflicts of each shared store, sectors of each global one. */
static void ask_accesses(const struct facts *f)
{
    static const uint32_t degrees[] = {1, 2, 32, 1, 1, 1};
    static const uint32_t sectors[][2] = {{4, 4}, {4, 5}, {32, 32}, {1, 1}, {5, 5}};
    unsigned ns = 0, ng = 0;
    ir_foreach_instr(in, f->func->blocks[0]) {
        uint32_t least = 0, most = 0;
        if (in->op != IR_OP_ST)
            continue;
        if (in->mem.space == IR_SPACE_SHARED) {
            eq_u64(facts_bank_conflicts(f, in), degrees[ns], "shared store %u", ns);
            ns++;
        } else {
            ok(facts_segments(f, in, &least, &most) && least == sectors[ng][0] &&
                   most == sectors[ng][1],
               "global store %u: %u to %u sectors", ng, least, most);
            ng++;
        }
    }
    const struct ir_instr *a = f->values[19]->instr;
    int64_t apart = 0;
    while (a->op != IR_OP_ST || a->src[0]->id != 19)
        a = a->next;
    const struct ir_instr *b = a->next;
    while (b->op != IR_OP_ST || b->src[0]->id != 19)
        b = b->next;
    ok(facts_access_distance(f, a, b, &apart) && apart == 4, "two stores side by side");
    ok(!facts_access_distance(f, a, a->next, &apart), "and two by different pointers");
    ok(ns == HD_COUNT_OF(degrees) && ng == HD_COUNT_OF(sectors), "all were asked");
}

/* Rows of eight threads below each other, and the same with a swizzle. */
static void ask_tiles(const struct facts *f)
{
    static const uint32_t degrees[] = {8, 4};
    unsigned n = 0;
    ir_foreach_instr(in, f->func->blocks[f->func->nblocks - 1])
        if (in->op == IR_OP_ST && n < HD_COUNT_OF(degrees))
            eq_u64(facts_bank_conflicts(f, in), degrees[n++], "store of a tile");
    ok(n == HD_COUNT_OF(degrees), "both were asked");
}

static void ask_values(const struct facts *f)
{
    int64_t n = 0;
    ok(facts_lane_step(f, value(f, 14), &n) && n == 132, "a stride of 132 bytes");
    ok(facts_difference(f, value(f, 29), value(f, 27), &n) && n == 4, "4 apart");
    ok(!facts_difference(f, value(f, 15), value(f, 16), &n), "not a constant apart");
    ok(facts_loop_step(f, value(f, 28), 0, &n) && n == 32, "32 bytes more in each iteration");
    ok(facts_loop_step(f, value(f, 15), 0, &n) && n == 0, "the same in all");
    ok(facts_uniform(f, value(f, 3)) && !facts_uniform(f, value(f, 4)), "uniform, and not");
    ok(facts_scope(f, value(f, 27), NULL) == FACTS_GRID, "a counter of all threads");
    ok(facts_no_wrap(f, value(f, 23)->instr, false) && facts_no_wrap(f, value(f, 23)->instr, true),
       "a sum of small numbers does not wrap");
    ok(!facts_no_wrap(f, value(f, 24)->instr, true), "of a parameter it may");
    ok(facts_no_wrap(f, value(f, 26)->instr, true), "but not where the parameter is small");
    ok(!facts_no_wrap(f, value(f, 26)->instr, false), "read as an unsigned number it may");
    ok(facts_is_zero_extended(f, value(f, 15), f->func->blocks[0]), "an offset of a window");
    ok(!facts_is_zero_extended(f, value(f, 20), f->func->blocks[0]), "an address is wide");
    eq_u64(facts_alignment(f, value(f, 5)), 16, "as the variable");
    eq_u64(facts_alignment(f, value(f, 16)), 8, "as the index");
    eq_u64(facts_range(f, value(f, 27)).most, 124, "a counter ends at its test");
    eq_u64(facts_range_at(f, value(f, 3), f->func->blocks[1]).smost, 127, "a guard of a block");
    eq_u64(f->counts[0].most, 30, "31 iterations");
}

static void ask_roots(const struct facts *f)
{
    ok(facts_root(f, value(f, 20)).kind == FACTS_ROOT_PARAM, "a parameter");
    ok(facts_root(f, value(f, 19)).kind == FACTS_ROOT_VAR, "a variable");
    ok(facts_root(f, value(f, 11)).kind == FACTS_ROOT_UNKNOWN, "an index is no pointer");
    ok(!facts_may_alias(f, value(f, 15), value(f, 22)), "two variables do not meet");
    ok(facts_may_alias(f, value(f, 15), value(f, 16)), "two places of one may");
    ok(facts_may_alias(f, value(f, 1), value(f, 2)), "two parameters may");
    ok(facts_may_alias(f, value(f, 1), value(f, 6)), "and what they point to be a variable");
    ok(!facts_may_alias(f, value(f, 1), value(f, 5)), "but none in shared memory");
    ok(facts_may_alias(f, value(f, 11), value(f, 5)), "a number may be any address");
}

static void test_questions(void)
{
    const struct ir_launch_facts launch = {
        .group = 32, .warps = 1, .extents = IR_BLOCK_1D, .full = true};
    struct ir_module *module = NULL;
    struct hd_arena arena;
    struct facts f;

    hd_arena_init(&arena);
    if (!ok(ir_read_module(kernel_text, strlen(kernel_text), "t", &module) == HD_OK &&
                ir_validate(module) == HD_OK,
            "is IR")) {
        diag("%s", hd_error_message());
    } else {
        struct ir_func *kernel = ir_module_find_func(module, "k");
        ir_func_compact(kernel);
        if (ok(facts_compute(kernel, &launch, &arena, &f) == HD_OK, "has facts")) {
            ask_accesses(&f);
            ask_tiles(&f);
            ask_values(&f);
            ask_roots(&f);
        }
    }
    ir_module_destroy(module);
    hd_arena_fini(&arena);
}

static bool compute_once(void *kernel)
{
    struct hd_arena arena;
    struct facts f;
    hd_arena_init(&arena);
    const enum hd_status status = facts_compute(kernel, NULL, &arena, &f);
    hd_arena_fini(&arena);
    return status == HD_OK;
}

static void test_memory(void)
{
    struct ir_module *module = NULL;
    if (ir_read_module(kernel_text, strlen(kernel_text), "t", &module) != HD_OK)
        exit(1);
    struct ir_func *kernel = ir_module_find_func(module, "k");
    ir_func_compact(kernel);
    ok(tap_oom_loop(compute_once, kernel, "facts") > 10, "memory is short in many places");
    ir_module_destroy(module);
}

int main(void)
{
    seed = tap_seed();
    test_rules();
    test_exact();
    test_questions();
    test_memory();
    return done();
}
