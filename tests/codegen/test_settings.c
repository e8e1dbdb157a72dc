/*
 * HEDDLE_SKIP_PASS and HEDDLE_CODEGEN: each pass does something, limits are kept, mistakes told.
 * What a MOV makes is used at once as a rule, so that no kernel this small shows isa_rematerialize;
 * isa_profile is nothing without one (test_profile.c).
 */
#include <stdlib.h>

#include "codegen/both.h"

/* Something for each pass: loads of neighbours, a sum in a loop, numbers, a jump to another. */
static const char text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u32 "
    "n) {\n"
    ".reg .b64 x, i, y; .reg .b32 t, s, n, a<32>; .reg .pred p, q;\n"
    "ld.param.u64 x, [out];\nld.param.u32 n, [n];\nmov.u32 t, %tid.x;\nmul.wide.u32 i, t, 4;\n"
    "and.b64 y, x, -16;\nadd.u64 x, x, i;\nld.global.u32 s, [y];\nld.global.u32 t, [y+4];\n"
    "add.u32 s, s, t;\n"
    "loop:\nld.global.v4.u32 {a0, a1, a2, a3}, [x+128];\n"
    "ld.global.v4.u32 {a4, a5, a6, a7}, [x+256];\nld.global.v4.u32 {a8, a9, a10, a11}, [x+384];\n"
    "ld.global.v4.u32 {a12, a13, a14, a15}, [x+512];\n"
    "fma.rn.f32 s, a0, a1, s;\nfma.rn.f32 s, a0, a2, s;\nfma.rn.f32 s, a3, a4, s;\n"
    "fma.rn.f32 s, a8, a9, s;\nfma.rn.f32 s, a10, a12, s;\nfma.rn.f32 s, a13, a15, s;\n"
    "fma.rn.f32 s, a5, a6, s;\nfma.rn.f32 s, a7, 0f40400000, s;\n"
    "fma.rn.f32 s, a0, a3, s;\nfma.rn.f32 s, a0, a4, s;\n"
    "setp.gt.u32 q, n, 7;\nadd.f32 a0, s, a6;\nselp.f32 s, a0, s, q;\n"
    "setp.eq.u32 q, a1, a2;\n@q bra skip;\nst.global.u32 [x+4096], s;\nbra.uni next;\n"
    "skip:\nst.global.u32 [x+8192], s;\n"
    "next:\nsub.u32 n, n, 1;\nsetp.ne.u32 p, n, 0;\n@p bra loop;\n"
    "st.global.u32 [x], s;\nret;\n}\n";

static struct ir_module *module;

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static enum hd_status compile(const char *skip, const char *limits, struct isa_code *code)
{
    set("HEDDLE_SKIP_PASS", skip);
    set("HEDDLE_CODEGEN", limits);
    return codegen_kernel(module->funcs, &(struct codegen_options){.checks = true}, code);
}

static bool is_same(const struct isa_code *a, const struct isa_code *b)
{
    return a->words.len == b->words.len &&
           !memcmp(a->words.at, b->words.at, a->words.len * sizeof(*a->words.at));
}

static unsigned counters_of(const struct isa_code *code)
{
    unsigned most = 0;

    for (size_t i = 0; i < code->words.len; i++) {
        struct isa_insn insn;
        const char *why = isa_decode(code->words.at[i], &insn);

        ok(!why, "word %zu is an instruction", i);
        if (insn.control.write_sb != ISA_NO_SB)
            most = HD_MAX(most, insn.control.write_sb + 1u);
        if (insn.control.read_sb != ISA_NO_SB)
            most = HD_MAX(most, insn.control.read_sb + 1u);
    }
    return most;
}

static void test_pass(const char *pass)
{
    struct isa_code with = {0}, without = {0};

    eq_u64(compile(NULL, NULL, &with), HD_OK, "compiles");
    eq_u64(compile(pass, NULL, &without), HD_OK, "compiles without %s", pass);
    ok(!is_same(&with, &without), "%s does something", pass);
    isa_code_fini(&with);
    isa_code_fini(&without);
}

static void test_limits(void)
{
    struct isa_code code = {0};

    eq_u64(compile(NULL, NULL, &code), HD_OK, "compiles with all that there is");
    ok(counters_of(&code) > 2, "uses several counters");
    ok(code.registers > 16, "and more than 16 registers");
    isa_code_fini(&code);
    eq_u64(compile(NULL, "counters=2,registers=16", &code), HD_OK, "compiles with little");
    eq_u64(counters_of(&code), 2, "uses two counters");
    ok(code.registers <= 16, "and 16 registers at most");
    isa_code_fini(&code);
}

static void test_mistakes(void)
{
    static const char *const bad[] = {"counters=7", "counters=0", "counters", "counter=3",
                                      "predicates=6x"};
    struct isa_code code;

    for (size_t i = 0; i < HD_COUNT_OF(bad); i++) {
        eq_u64(compile(NULL, bad[i], &code), HD_BAD_ARG, "HEDDLE_CODEGEN=%s is refused", bad[i]);
        ok(strstr(hd_error_message(), bad[i]), "%s", hd_error_message());
    }
}

int main(void)
{
    set("HEDDLE_SKIP_PASS", NULL);
    module = both_module(text);
    if (!module) {
        ok(false, "the kernel: %s", hd_error_message());
        return done();
    }
#define X(NAME, pass, ...)                                                                         \
    if (CODEGEN_##NAME != CODEGEN_REMATERIALIZE && CODEGEN_##NAME != CODEGEN_PROFILE)              \
        test_pass(pass);
#include "codegen_passes.def"
    test_limits();
    test_mistakes();
    ir_module_destroy(module);
    return done();
}
