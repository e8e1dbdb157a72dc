/*
 * The work that code generation makes is bounded: counted in LLVM instructions, the same on every
 * machine. Kernels of one kind at two sizes: twice the kernel must not be much more than twice the
 * code, and no IR instruction may cost more than a constant.
 */
#include "compile.h"
#include "jit/jit_private.h"
#include "tap.h"

#define TOP ".version 8.0\n.target sm_80\n.address_size 64\n"
#define ENTRY                                                                                      \
    ".entry k(.param .u64 a, .param .u64 b, .param .u32 n) { .reg .pred %p<8>;\n"                  \
    ".reg .b32 %r<64>, %v<300>; .reg .b64 %d<300>; .reg .b16 %h<4>; .shared .align 4 .b8 "         \
    "sm[2048];\n"                                                                                  \
    "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u32 %r2, [n]; mov.u32 %r1, %tid.x;\n"  \
    "brev.b32 %r3, %r1; shr.u32 %r3, %r3, 24; setp.gt.u32 %p1, %r1, %r3;\n"
/* Lanes part for all that follows. */
#define DIVERGE "@%p1 bra END;\n"

typedef void write_fn(struct hd_buf *text, unsigned i, unsigned n);

/* 64-bit loads and stores at places that depend on the lane. */
static void write_scatter(struct hd_buf *text, unsigned i, unsigned n)
{
    hd_buf_printf(text,
                  "mad.lo.u32 %%r4, %%r2, %u, %%r3; mul.wide.u32 %%d6, %%r4, 8;\n"
                  "add.u64 %%d7, %%d2, %%d6; ld.global.u64 %%d%u, [%%d7];\n"
                  "add.u64 %%d8, %%d1, %%d6; st.global.u64 [%%d8], %%d%u;\n",
                  i, 20 + i, 20 + (i + n / 2) % n);
}

static void write_bytes(struct hd_buf *text, unsigned i, unsigned n)
{
    hd_buf_printf(
        text,
        "cvt.u64.u32 %%d6, %%r3; add.u64 %%d6, %%d2, %%d6; ld.global.u8 %%h1, [%%d6+%u];\n"
        "st.global.u8 [%%d6+%u], %%h1;\n",
        i, i + n);
}

/* Every if but the last one's code is inside the one before. */
static void write_nested(struct hd_buf *text, unsigned i, unsigned n)
{
    hd_buf_printf(text,
                  "and.b32 %%r4, %%r1, %u; setp.eq.u32 %%p2, %%r4, 0; @%%p2 bra END;\n"
                  "add.u32 %%r1, %%r1, %u;\n",
                  i % 31 + 1, n);
}

static void write_branches(struct hd_buf *text, unsigned i, unsigned n)
{
    hd_buf_printf(text,
                  "and.b32 %%r4, %%r1, %u; setp.eq.u32 %%p2, %%r4, 0; @%%p2 bra L%u;\n"
                  "st.global.u32 [%%d1+%u], %%r4; L%u:\n",
                  i % 31 + 1, i, 4 * i, i);
}

/* A brx.idx with n targets, written as a whole with the first. */
static void write_switch(struct hd_buf *text, unsigned i, unsigned n)
{
    if (i)
        return;
    hd_buf_printf(text, "rem.u32 %%r4, %%r1, %u;\nts: .branchtargets T0", n);
    for (unsigned t = 1; t < n; t++)
        hd_buf_printf(text, ", T%u", t);
    hd_buf_puts(text, ";\nbrx.idx %r4, ts;\n");
    for (unsigned t = 0; t < n; t++)
        hd_buf_printf(text, "T%u: xor.b32 %%r1, %%r1, %u; bra END;\n", t, t + 17);
}

/* Barriers, and addresses that are used again many barriers later. */
static void write_barriers(struct hd_buf *text, unsigned i, unsigned n)
{
    hd_buf_printf(text,
                  "xor.b32 %%r5, %%r3, %u; st.shared.u32 [%%r3], %%r1; bar.sync 0;\n"
                  "ld.shared.u32 %%r6, [%%r5]; add.u32 %%r1, %%r1, %%r6; bar.sync 0;\n",
                  4 * (i % (n / 4) + 1));
}

/* Each value is read again n barriers later. */
static void write_carried(struct hd_buf *text, unsigned i, unsigned n)
{
    hd_buf_printf(text, "ld.global.u32 %%v%u, [%%d4+%u]; bar.sync 0;\n", i, 4 * i);
    for (unsigned v = 0; i + 1 == n && v < n; v++)
        hd_buf_printf(text, "xor.b32 %%r1, %%r1, %%v%u;\n", v);
}

static void write_results(struct hd_buf *text, unsigned i, unsigned n)
{
    if (i)
        return;
    hd_buf_puts(text, "{ .param .b32 a; .param .b32 z0");
    for (unsigned v = 1; v < n / 2; v++)
        hd_buf_printf(text, ", z%u", v);
    hd_buf_puts(text, "; st.param.b32 [a], %r1; call (z0");
    for (unsigned v = 1; v < n / 2; v++)
        hd_buf_printf(text, ", z%u", v);
    hd_buf_printf(text, "), many%u, (a);\n", n / 2);
    for (unsigned v = 0; v < n / 2; v++)
        hd_buf_printf(text, "ld.param.b32 %%r6, [z%u]; add.u32 %%r1, %%r1, %%r6;\n", v);
    hd_buf_puts(text, "}\n");
}

static const struct {
    const char *name;
    write_fn *write;
    unsigned most; /* LLVM instructions for one of the IR */
    const char *before;
} kinds[] = {
    {"scatter", write_scatter, 100, DIVERGE},
    {"bytes", write_bytes, 140, DIVERGE},
    {"nested", write_nested, 40, DIVERGE},
    {"branches", write_branches, 40, DIVERGE},
    {"switch", write_switch, 40, DIVERGE},
    {"barriers", write_barriers, 80, "shl.b32 %r3, %r3, 2;\n"},
    {"carried", write_carried, 100, "cvt.u64.u32 %d3, %r3; add.u64 %d4, %d1, %d3;\n"},
    {"carried by the CTA", write_carried, 100, "mov.u64 %d4, %d1;\n"},
    {"results", write_results, 60, ""},
};

/* A function that stays a call, for write_results(). */
static void write_many(struct hd_buf *text, unsigned n)
{
    hd_buf_puts(text, ".func (.param .b32 z0");
    for (unsigned v = 1; v < n; v++)
        hd_buf_printf(text, ", .param .b32 z%u", v);
    hd_buf_printf(text,
                  ") many%u(.param .b32 x) { .reg .b32 %%r<8>; .reg .pred %%p;\n"
                  "ld.param.b32 %%r1, [x]; setp.eq.u32 %%p, %%r1, 0; @%%p bra END;\n",
                  n);
    for (unsigned v = 0; v < n; v++)
        hd_buf_printf(text, "add.u32 %%r1, %%r1, %u; st.param.b32 [z%u], %%r1;\n", v, v);
    write_results(text, 0, 2 * n); /* itself */
    hd_buf_puts(text, "END: ret; }\n");
}

static void write_kernel(struct hd_buf *text, size_t kind, unsigned n)
{
    hd_buf_puts(text, TOP);
    if (kinds[kind].write == write_results)
        write_many(text, n / 2);
    hd_buf_printf(text, "%s%s", ENTRY, kinds[kind].before);
    for (unsigned i = 0; i < n; i++)
        kinds[kind].write(text, i, n);
    hd_buf_puts(text, "END: st.global.u32 [%d1], %r1; ret; }\n");
}

static struct gen_work work_of(size_t kind, unsigned n, enum jit_path path, enum gen_form form)
{
    struct hd_buf text;
    struct ir_module *module = NULL;
    struct gen_result r = {0};
    hd_buf_init(&text);
    write_kernel(&text, kind, n);
    struct compile_unit unit = {"bounded", text.ptr, text.len};
    enum hd_status status = compile_ptx(&unit, 1, NULL, OPT_TARGET_CPU, &module);
    if (status == HD_OK) {
        struct gen_request req = {.kernel = ir_module_find_func(module, "k"),
                                  .cls = JIT_CLASS_1D_FULL,
                                  .path = path,
                                  .form = form,
                                  .count_only = true,
                                  .features = jit_features(path)};
        status = jit_codegen(&req, &r);
    }
    if (status != HD_OK)
        diag("%s", hd_error_message());
    free(r.object);
    ir_module_destroy(module);
    hd_buf_fini(&text);
    return r.work;
}

static void check(size_t kind, enum jit_path path, enum gen_form form)
{
    enum { N = 60 };
    struct gen_work one = work_of(kind, N, path, form);
    struct gen_work two = work_of(kind, 2 * N, path, form);
    const char *where = jit_path_name(path);
    ok(one.llvm_instrs && two.llvm_instrs * 10 <= one.llvm_instrs * 23,
       "%s %s form %d: %llu, then %llu instructions", kinds[kind].name, where, form,
       (unsigned long long)one.llvm_instrs, (unsigned long long)two.llvm_instrs);
    ok(two.llvm_blocks * 10 <= one.llvm_blocks * 23, "%s %s form %d: %llu, then %llu blocks",
       kinds[kind].name, where, form, (unsigned long long)one.llvm_blocks,
       (unsigned long long)two.llvm_blocks);
    ok(two.llvm_instrs <= kinds[kind].most * two.ir_instrs,
       "%s %s form %d: %llu instructions for %llu of the IR", kinds[kind].name, where, form,
       (unsigned long long)two.llvm_instrs, (unsigned long long)two.ir_instrs);
}

int main(void)
{
    for (size_t k = 0; k < HD_COUNT_OF(kinds); k++) {
        for (int path = JIT_GENERIC; path <= JIT_AVX512; path++) {
            for (int form = GEN_FAST; form <= GEN_PLAIN; form++)
                check(k, (enum jit_path)path, (enum gen_form)form);
        }
    }
    return done();
}
