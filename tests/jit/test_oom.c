/*
 * Every allocation of the code generator and of the linker behind it fails once while kernels are
 * compiled: HD_NO_MEMORY or code, never a crash or a leak. (LLVM's own allocations do not go
 * through base/mem.h; it ends the process when memory is short.)
 */
#include "compile.h"
#include "jit/gen/codegen.h"
#include "jit/jit_private.h"
#include "tap.h"

#define HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"

static const char *const programs[] = {
    HEADER ".entry k(.param .u64 p) { .reg .b64 %d<4>; .reg .f32 %f<4>; .reg .b32 %r<4>;\n"
           "ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4;\n"
           "add.u64 %d3, %d1, %d2; ld.global.f32 %f1, [%d3]; mul.f32 %f2, %f1, %f1;\n"
           "st.global.f32 [%d3], %f2; ret; }\n",
    HEADER ".entry k(.param .u64 p) { .reg .b64 %d<4>; .reg .b32 %r<6>; .reg .pred %p;\n"
           ".shared .align 4 .b8 sm[128]; ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x;\n"
           "L: shl.b32 %r2, %r1, 2; and.b32 %r2, %r2, 127; atom.shared.add.u32 %r3, [%r2], 1;\n"
           "bar.sync 0; setp.lt.u32 %p, %r3, 5; add.u32 %r1, %r1, 7; @%p bra L;\n"
           "st.global.u32 [%d1], %r3; ret; }\n",
    HEADER ".func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<4>; .reg .pred %p;\n"
           ".param .b32 x, y; ld.param.b32 %r1, [a]; setp.eq.u32 %p, %r1, 0; @%p ret;\n"
           "sub.u32 %r2, %r1, 1; st.param.b32 [x], %r2; call (y), f, (x);\n"
           "ld.param.b32 %r3, [y]; st.param.b32 [r], %r3; ret; }\n"
           ".entry k() { .param .b32 x, y; .reg .b32 %r; mov.u32 %r, %laneid;\n"
           "st.param.b32 [x], %r; call (y), f, (x); ret; }\n",
};

static const struct ir_func *kernel;

static bool compile_once(void *unused)
{
    struct gen_request req = {.kernel = kernel,
                              .path = JIT_GENERIC,
                              .features = jit_features(JIT_GENERIC),
                              .cls = JIT_CLASS_OTHER};
    struct gen_result result = {0};
    struct jit_image image = {0};
    enum hd_status status = heddle_codegen_compile(&req, &result);

    if (status == HD_OK)
        status = jit_link(result.object, result.object_B, &image);
    if (status != HD_OK && status != HD_NO_MEMORY)
        ok(false, "%s", result.error[0] ? result.error : hd_error_message());
    jit_image_fini(&image);
    free(result.object);
    free(result.llvm_text);
    free(result.asm_text);
    return status == HD_OK;
}

int main(void)
{
    for (size_t i = 0; i < HD_COUNT_OF(programs); i++) {
        struct compile_unit unit = {"oom", programs[i], strlen(programs[i])};
        struct ir_module *module;

        if (!ok(compile_ptx(&unit, 1, NULL, OPT_TARGET_CPU, &module) == HD_OK, "program %zu", i)) {
            diag("%s", hd_error_message());
            continue;
        }
        kernel = ir_module_find_func(module, "k");
        diag("%u failures", tap_oom_loop(compile_once, NULL, "code generator"));
        ir_module_destroy(module);
    }
    return done();
}
