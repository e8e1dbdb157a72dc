/* Registers keep their values when the text has the blocks in another order than control flow. */
#include <string.h>

#include "compile.h"
#include "interp/interp.h"
#include "support/tap.h"

#define HEAD                                                                                       \
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"

/* The block "late" is entered only from "early", which stands behind it and redefines %r2. */
static const char behind[] = HEAD ".reg .pred %p;\n.reg .b32 %r<9>;\n.reg .b64 %rd<2>;\n"
                                  "ld.param.u64 %rd1, [out];\n"
                                  "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\n"
                                  "bra early;\n"
                                  "late:\n"
                                  "add.u32 %r3, %r3, %r2;\n"
                                  "bra join;\n"
                                  "early:\n"
                                  "add.u32 %r1, %r1, 1;\n"
                                  "mul.lo.u32 %r2, %r1, 10;\n"
                                  "setp.ne.u32 %p, %r1, 2;\n"
                                  "@%p bra late;\n"
                                  "join:\n"
                                  "setp.lt.u32 %p, %r1, 4;\n"
                                  "@%p bra early;\n"
                                  "st.global.u32 [%rd1], %r3;\n"
                                  "st.global.u32 [%rd1+4], %r2;\n"
                                  "ret;\n}\n";

/* Chains that run backwards through the text, and a block that nothing enters. */
static const char backwards[] = HEAD ".reg .b32 %r<9>;\n.reg .b64 %rd<2>;\n"
                                     "ld.param.u64 %rd1, [out];\n"
                                     "mov.u32 %r1, 1;\nbra a;\n"
                                     "d:\nst.global.u32 [%rd1], %r1;\n"
                                     "st.global.u32 [%rd1+4], %r2;\nret;\n"
                                     "dead:\nadd.u32 %r1, %r1, 1000;\nbra d;\n"
                                     "c:\nadd.u32 %r1, %r1, %r2;\nbra d;\n"
                                     "b:\nmul.lo.u32 %r2, %r1, 7;\nbra c;\n"
                                     "a:\nadd.u32 %r1, %r1, 2;\nbra b;\n}\n";

static bool run(const char *ptx, bool no_opt, uint32_t out[2])
{
    struct compile_unit unit = {"test", ptx, strlen(ptx)};
    struct compile_options options = {.validate = true, .no_opt = no_opt};
    struct ir_module *module = NULL;
    if (compile_ptx(&unit, 1, &options, OPT_TARGET_CPU, &module) != HD_OK)
        return false;
    const void *params[] = {out};
    struct interp_launch launch = {.kernel = ir_module_find_func(module, "k"),
                                   .grid = {1, 1, 1},
                                   .block = {1, 1, 1},
                                   .params = params};
    enum hd_status status = interp_launch(&launch, NULL);
    ir_module_destroy(module);
    return status == HD_OK;
}

static void check(const char *name, const char *ptx, uint32_t first, uint32_t second)
{
    for (int no_opt = 0; no_opt < 2; no_opt++) {
        uint32_t out[2] = {0};
        ok(run(ptx, no_opt, out), "%s runs%s", name, no_opt ? " unoptimised" : "");
        eq_u64(out[0], first, "%s: first result", name);
        eq_u64(out[1], second, "%s: second result", name);
    }
}

int main(void)
{
    check("a block before its only predecessor", behind, 80, 40);
    check("a chain that runs backwards", backwards, 24, 21);
    return done();
}
