/*
 * PTX text through the whole compiler to object code, with LLVM's verifier on: whatever the front
 * half accepts, the code generator compiles or refuses. The bytes pick path and class.
 */
#include <stdio.h>
#include <stdlib.h>

#include "compile.h"
#include "fuzz/fuzz.h"
#include "fuzz/ptx_mutate.h"
#include "jit/gen/codegen.h"
#include "jit/jit_private.h"

#define INSTRS_MAX 400 /* LLVM takes its time */

static size_t count_instrs(const struct ir_module *module)
{
    size_t n = 0;
    ir_foreach_func(func, module) {
        for (uint32_t b = 0; b < func->nblocks; b++) {
            ir_foreach_instr(instr, func->blocks[b])
                n++;
        }
    }
    return n;
}

static void generate(const struct ir_func *kernel, unsigned pick)
{
    static const enum jit_path paths[] = {JIT_AVX512, JIT_AVX2, JIT_GENERIC};
    enum jit_path path = paths[pick % HD_COUNT_OF(paths)];
    struct gen_request req = {.kernel = kernel,
                              .path = path,
                              .cls = (enum jit_launch_class)(pick / 3 % JIT_CLASS_COUNT),
                              .features = jit_features(path),
                              .verify = true};
    struct gen_result result;
    if (heddle_codegen_compile(&req, &result) == HD_JIT) {
        fprintf(stderr, "%s\n", result.error);
        abort();
    }
    free(result.object);
    free(result.llvm_text);
    free(result.asm_text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    struct compile_unit unit = {"fuzz", (const char *)bytes, size_B};
    struct ir_module *module;
    unsigned pick = 0;
    for (size_t i = 0; i < size_B; i++)
        pick = pick * 31 + bytes[i];
    if (compile_ptx(&unit, 1, NULL, OPT_TARGET_CPU, &module) != HD_OK)
        return 0;
    if (count_instrs(module) < INSTRS_MAX) {
        ir_foreach_func(func, module) {
            if (func->is_kernel && !func->is_declaration)
                generate(func, pick);
        }
    }
    ir_module_destroy(module);
    return 0;
}
