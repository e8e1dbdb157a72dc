/* The order of instructions: what the scheduler moves, and what it must leave where it is. */
#include "codegen/both.h"

enum { MOST = 512 };

struct code {
    enum isa_op ops[MOST];
    size_t n;
    uint32_t registers, spilled_B;
};

/* Compiles the body of a kernel; d0 and d1: pointers of the lane; r0: its number. */
static struct code compile(const char *directives, const char *body)
{
    struct code out = {0};
    struct ir_module *module;
    struct isa_code code;
    struct hd_buf text;

    hd_buf_init(&text);
    hd_buf_printf(&text,
                  ".version 8.0\n.target sm_80\n.address_size 64\n"
                  ".visible .entry k(.param .u64 a, .param .u64 b) %s {\n"
                  ".shared .align 16 .b8 buf[1024];\n"
                  ".reg .b32 r<40>; .reg .f32 f<40>; .reg .b64 d<40>; .reg .pred p<4>;\n"
                  "ld.param.u64 d0, [a]; ld.param.u64 d1, [b];\n"
                  "cvta.to.global.u64 d0, d0; cvta.to.global.u64 d1, d1; mov.u32 r0, %%tid.x;\n"
                  "mul.wide.u32 d2, r0, 4; add.u64 d0, d0, d2; add.u64 d1, d1, d2;\n"
                  "%s\nret;\n}\n",
                  directives, body);
    module = both_module(text.ptr);
    hd_buf_fini(&text);
    if (!module ||
        codegen_kernel(module->funcs, &(struct codegen_options){.checks = true}, &code) != HD_OK) {
        diag("%s", hd_error_message());
        ir_module_destroy(module);
        return out;
    }
    for (size_t i = 0; i < code.words.len && i < MOST; i++) {
        struct isa_insn insn;

        if (!isa_decode(code.words.at[i], &insn))
            out.ops[out.n++] = insn.op;
    }
    out.registers = code.registers;
    out.spilled_B = code.spilled_B;
    isa_code_fini(&code);
    ir_module_destroy(module);
    return out;
}

/* Where the instruction stands for the nth time, from 0; MOST: nowhere. */
static size_t place(const struct code *code, enum isa_op op, unsigned nth)
{
    for (size_t i = 0; i < code->n; i++)
        if (code->ops[i] == op && !nth--)
            return i;
    return MOST;
}

static size_t count(const struct code *code, enum isa_op op)
{
    size_t n = 0;

    for (size_t i = 0; i < code->n; i++)
        n += code->ops[i] == op;
    return n;
}

static void test_loads(void)
{
    struct code code = compile("", "ld.global.f32 f0, [d0];    fma.rn.f32 f8, f0, f0, f0;\n"
                                   "ld.global.f32 f1, [d0+4];  fma.rn.f32 f8, f1, f8, f8;\n"
                                   "ld.global.f32 f2, [d0+8];  fma.rn.f32 f8, f2, f8, f8;\n"
                                   "ld.global.f32 f3, [d0+12]; fma.rn.f32 f8, f3, f8, f8;\n"
                                   "st.global.f32 [d1], f8;");

    ok(count(&code, ISA_LDG) == 4 && place(&code, ISA_LDG, 3) < place(&code, ISA_FFMA, 0),
       "loads come before the first use of any");
    ok(place(&code, ISA_STG, 0) < MOST, "and the store behind");
}

static void test_memory(void)
{
    struct code code;

    code = compile("", "st.global.u32 [d0], r0; ld.global.u32 r1, [d1]; add.u32 r1, r1, 1;\n"
                       "st.global.u32 [d1+4], r1;");
    ok(place(&code, ISA_STG, 0) < place(&code, ISA_LDG, 0),
       "a load does not pass a store that may be to its address");
    code = compile("", "ld.global.u32 r2, [d1+64]; mul.lo.u32 r3, r2, r2; mul.lo.u32 r3, r3, r3;\n"
                       "st.global.u32 [d0], r3; ld.global.u32 r1, [d0+4]; add.u32 r1, r1, 1;\n"
                       "st.global.u32 [d1+4], r1;");
    ok(place(&code, ISA_LDG, 1) < place(&code, ISA_STG, 0),
       "it passes one to another place behind the same pointer");
    code = compile("", "ld.global.u32 r2, [d1+64]; mul.lo.u32 r3, r2, r2; mul.lo.u32 r3, r3, r3;\n"
                       "st.global.u32 [d0], r3; ld.global.nc.u32 r1, [d1]; add.u32 r1, r1, 1;\n"
                       "st.global.u32 [d1+4], r1;");
    ok(place(&code, ISA_LDG, 1) < place(&code, ISA_STG, 0),
       "and any, if nobody writes what it reads");
    code = compile("", "ld.global.u32 r2, [d1+64]; mul.lo.u32 r3, r2, r2; mul.lo.u32 r3, r3, r3;\n"
                       "st.global.u32 [d0], r3; ld.volatile.global.u32 r1, [d0+4];\n"
                       "add.u32 r1, r1, 1; st.global.u32 [d1+4], r1;");
    ok(place(&code, ISA_STG, 0) < place(&code, ISA_LDG, 1), "a volatile one passes nothing");
    code = compile("", "mov.u32 r4, buf; shl.b32 r5, r0, 2; add.u32 r4, r4, r5;\n"
                       "st.shared.u32 [r4], r0; bar.sync 0; ld.shared.u32 r1, [r4+4];\n"
                       "st.global.u32 [d1], r1;");
    ok(place(&code, ISA_STS, 0) < place(&code, ISA_BAR, 0) &&
           place(&code, ISA_BAR, 0) < place(&code, ISA_LDS, 0),
       "nothing passes a barrier");
}

static void test_clocks(void)
{
    struct code code = compile("", "mov.u32 r1, %clock; ld.global.f32 f1, [d0];\n"
                                   "mul.f32 f2, f1, f1; mul.f32 f2, f2, f2;\n"
                                   "mov.u32 r2, %clock; sub.u32 r3, r2, r1;\n"
                                   "st.global.u32 [d1], r3; st.global.f32 [d1+4], f2;");
    size_t first = MOST, last = 0;

    for (size_t i = 0; i < code.n; i++)
        if (code.ops[i] == ISA_CS2R || code.ops[i] == ISA_S2R) {
            first = HD_MIN(first, i);
            last = i;
        }
    ok(first < place(&code, ISA_FMUL, 0) && place(&code, ISA_FMUL, 1) < last && last < MOST,
       "what stands between two readings of the clock stays there");
}

/* Sums of forty loads: all at once need as many registers. */
static struct code many_loads(const char *directives)
{
    struct hd_buf body;
    struct code code;

    hd_buf_init(&body);
    hd_buf_puts(&body, "mov.f32 f0, 0f00000000;\n");
    for (unsigned i = 1; i < 40; i++)
        hd_buf_printf(&body, "ld.global.f32 f%u, [d0+%u]; fma.rn.f32 f0, f%u, f%u, f0;\n", i, 4 * i,
                      i, i);
    hd_buf_puts(&body, "st.global.f32 [d1], f0;");
    code = compile(directives, body.ptr);
    hd_buf_fini(&body);
    return code;
}

static void test_registers(void)
{
    struct code code = many_loads("");

    ok(code.n && !code.spilled_B, "without a limit nothing is spilled");
    ok(place(&code, ISA_LDG, 7) < place(&code, ISA_FFMA, 0), "and many loads are on their way");
    code = many_loads(".maxnreg 16");
    ok(code.n && code.registers <= 16, "a limit holds");
    ok(!code.spilled_B, "and moving loads to the front spills nothing");
    ok(place(&code, ISA_LDG, 3) < place(&code, ISA_FFMA, 0), "but some are on their way");
}

/* A product whose result a loop reads at once: nothing stands between, and no branch. */
static void test_end_of_block(void)
{
    struct code code =
        compile("", "ld.global.u32 r1, [d0]; mov.f32 f0, 0f00000000; mov.u32 r2, 4;\n"
                    "shl.b32 r3, r0, 2; mov.u32 r4, buf; add.u32 r4, r4, r3;\n"
                    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {f0, f1, f2, f3},\n"
                    "{r1, r1, r1, r1}, {r1, r1}, {f0, f0, f0, f0};\n"
                    "L: st.shared.f32 [r4], f1; bar.sync 0; sub.u32 r2, r2, 1;\n"
                    "setp.ne.u32 p1, r2, 0; @p1 bra L;\n"
                    "st.global.f32 [d1], f0;");

    ok(code.n && place(&code, ISA_HMMA, 0) < place(&code, ISA_STS, 0),
       "a block that ends with a product waits for it");
}

int main(void)
{
    test_end_of_block();
    test_loads();
    test_memory();
    test_clocks();
    test_registers();
    return done();
}
