/*
 * Bodies on demand: what one kernel cannot do is its own affair, and whatever part of a program is
 * made, functions and variables keep their numbers.
 */
#include "compile.h"
#include "tap.h"

static const char text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n" /* 1-3 */
    ".visible .global .align 8 .u64 table[2] = {twice, thrice};\n"
    ".global .b32 counter;\n"
    ".tex .u64 picture;\n"
    ".visible .func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r; ld.param.u32 %r, [a]; "
    "shl.b32 %r, %r, 1; st.param.b32 [r], %r; ret; }\n"
    ".visible .func (.param .b32 r) thrice(.param .b32 a) { .reg .b32 %r; ld.param.u32 %r, [a]; "
    "mul.lo.u32 %r, %r, 3; st.param.b32 [r], %r; ret; }\n"
    ".func other(.param .b64 a) { ret; }\n"
    ".func broken() { .reg .b32 %r<4>;\n" /* 10 */
    "  ldmatrix.sync.aligned.m8n8.x1.shared.b8 {%r1}, [%r2];\nret; }\n"
    ".visible .entry plain() { .reg .b32 %r; ld.global.u32 %r, [counter]; add.u32 %r, %r, 1; "
    "st.global.u32 [counter], %r; ret; }\n"
    ".visible .entry bad() { call broken; ret; }\n"
    ".visible .entry worse() { .reg .b64 %d; mov.u64 %d, picture; st.global.u64 [counter], %d; "
    "ret; }\n"
    ".extern .func nowhere(); .extern .func cudaGraphCreate();\n"
    ".extern .func __cudaCDP2StreamDestroy(); .extern .func cudaDeviceSynchronize();\n"
    ".visible .entry unresolved() { call nowhere; ret; }\n"
    ".visible .entry launches() { call cudaGraphCreate; ret; }\n"
    ".visible .entry streams() { call __cudaCDP2StreamDestroy; ret; }\n"
    ".visible .entry old() { .reg .b64 %d; mov.u64 %d, cudaDeviceSynchronize; ret; }\n"
    ".visible .entry direct() { .reg .b32 %r; { .param .b32 a, r; st.param.b32 [a], 2; "
    "call (r), twice, (a); ld.param.b32 %r, [r]; } st.global.u32 [counter], %r; ret; }\n"
    ".visible .entry taken() { .reg .b64 %d; mov.u64 %d, broken; st.global.u64 [table], %d; ret; "
    "}\n"
    ".visible .entry indirect() { .reg .b64 %d; .reg .b32 %r; ld.global.u64 %d, [table]; "
    "{ .param .b32 a, r; proto: .callprototype (.param .b32 _) _ (.param .b32 _); "
    "st.param.b32 [a], 2; call (r), %d, (a), proto; ld.param.b32 %r, [r]; } "
    "st.global.u32 [counter], %r; ret; }\n";

static struct compile_program *program;

static uint32_t number_of(const char *name)
{
    const struct ir_func *func = ir_module_find_func(compile_program_decls(program), name);
    return func ? func->index : UINT32_MAX;
}

static struct ir_module *code_of(const char *name)
{
    struct ir_module *module = NULL;
    enum hd_status status = compile_kernel(program, number_of(name), OPT_TARGET_CPU, &module);
    if (!ok(status == HD_OK, "%s compiles", name))
        diag("%s", hd_error_message());
    return module;
}

static void fails(const char *name, enum hd_status want, const char *what)
{
    struct ir_module *module = NULL;
    eq_u64(compile_kernel(program, number_of(name), OPT_TARGET_CPU, &module), want, "%s fails",
           name);
    if (!ok(strstr(hd_error_message(), what), "%s: it names %s", name, what))
        diag("%s", hd_error_message());
}

static unsigned bodies(const struct ir_module *module)
{
    unsigned count = 0;
    ir_foreach_func(func, module)
        count += !func->is_declaration;
    return count;
}

/* Numbers in a kernel's module are those of the program. */
static bool numbers_agree(const struct ir_module *module)
{
    const struct ir_module *decls = compile_program_decls(program);
    ir_foreach_func(func, module) {
        const struct ir_func *decl = ir_module_find_func(decls, func->name);
        if (!decl || decl->index != func->index)
            return false;
    }
    for (const struct ir_var *var = module->vars; var; var = var->next) {
        const struct ir_var *decl = ir_module_find_var(decls, var->name);
        if (!decl || decl->index != var->index || var->init)
            return false;
    }
    return true;
}

static void test_good_ones(void)
{
    struct ir_module *module = code_of("plain");
    eq_u64(bodies(module), 1, "only the kernel itself");
    ok(module->vars && !module->vars->next, "and the variable that it names");
    ok(numbers_agree(module), "under their numbers");
    ir_module_destroy(module);
    module = code_of("direct");
    ok(!ir_module_find_func(module, "thrice"), "a direct call brings nobody else");
    ok(numbers_agree(module), "numbers stay after inlining");
    ir_module_destroy(module);
    module = code_of("taken");
    ok(module && ir_module_find_func(module, "broken") &&
           ir_module_find_func(module, "broken")->is_declaration,
       "an address needs no body");
    ir_module_destroy(module);
    module = code_of("indirect");
    ok(ir_module_find_func(module, "twice") && ir_module_find_func(module, "thrice"),
       "a call through a pointer brings whatever may be behind it");
    ok(!ir_module_find_func(module, "broken") && !ir_module_find_func(module, "other"),
       "but nothing of another signature");
    ok(numbers_agree(module), "under their numbers");
    ir_module_destroy(module);
}

/* What a device elsewhere would be sent says the same. */
static void test_text(void)
{
    struct ir_module *module = code_of("indirect"), *again = NULL;
    struct hd_buf first = {0}, second = {0};
    ir_print_module(module, &first);
    if (ok(ir_read_module(first.ptr, first.len, "t", &again) == HD_OK, "the text reads")) {
        ir_print_module(again, &second);
        eq_str(second.ptr, first.ptr, "and prints the same");
        ok(numbers_agree(again), "with the same numbers");
    }
    ir_module_destroy(again);
    ir_module_destroy(module);
    hd_buf_fini(&first);
    hd_buf_fini(&second);
}

static enum hd_status create(const char *ptx, unsigned max_arch)
{
    const struct compile_unit unit = {"t.ptx", ptx, strlen(ptx)};
    const struct compile_options options = {.max_arch = max_arch};
    struct compile_program *p = NULL;
    enum hd_status status = compile_program_create(&unit, 1, &options, &p);
    compile_program_destroy(p);
    return status;
}

static void test_targets(void)
{
    eq_u64(create(".version 8.8\n.target sm_999\n", 0), HD_BAD_PTX, "sm_999 does not exist");
    ok(strstr(hd_error_message(), "t.ptx:2:9") && strstr(hd_error_message(), "sm_999"),
       "it is named with its place");
    eq_u64(create(".version 8.8\n.target sm_80a\n", 0), HD_BAD_PTX, "sm_80 has no variant");
    eq_u64(create(".version 8.8\n.target sm_120a\n", 120), HD_OK, "sm_120a on sm_120");
    eq_u64(create(".version 8.8\n.target sm_121\n", 120), HD_NO_IMAGE, "sm_121 on sm_120");
    ok(strstr(hd_error_message(), "sm_121") && strstr(hd_error_message(), "sm_120"),
       "both are named");
}

/* One kernel of some text; its status. */
static enum hd_status compile_one(const char *ptx, struct ir_module **out_module)
{
    const struct compile_unit unit = {"t.ptx", ptx, strlen(ptx)};
    const struct compile_options options = {.no_opt = true};
    struct compile_program *p = NULL;
    enum hd_status status = compile_program_create(&unit, 1, &options, &p);
    const struct ir_func *kernel;
    if (status != HD_OK)
        return status;
    kernel = ir_module_find_func(compile_program_decls(p), "k");
    status = compile_kernel(p, kernel->index, OPT_TARGET_CPU, out_module);
    compile_program_destroy(p);
    return status;
}

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"

/* What Taichi writes. */
static void test_extern_shared(void)
{
    static const char ptx[] =
        HEAD ".extern .shared .align 8 .b8 a[512];\n.visible .entry k() { .reg .u32 %r;\n"
             "ld.shared.u32 %r, [a+508]; st.shared.u32 [a], %r; ret; }\n";
    const struct compile_unit unit = {"t.ptx", ptx, sizeof(ptx) - 1};
    const struct compile_options relocatable = {.relocatable = true};
    struct compile_program *p = NULL;
    struct ir_kernel_sizes sizes = {0};
    struct ir_module *module;
    struct hd_buf missing = {0};

    eq_u64(compile_program_create(&unit, 1, NULL, &p), HD_OK, "shared memory of somewhere else");
    ok(!compile_program_undefined(p, &missing), "is here in a whole program");
    eq_u64(compile_kernel_sizes(p, 0, &sizes), HD_OK, "which says what it needs:");
    eq_u64(sizes.shared_B, 512, "all of it");
    compile_program_destroy(p);
    eq_u64(compile_program_create(&unit, 1, &relocatable, &p), HD_OK, "a linker's program");
    ok(compile_program_undefined(p, &missing) && strstr(missing.ptr, "'a'"), "lacks it");
    eq_u64(compile_kernel(p, 0, OPT_TARGET_CPU, &module), HD_UNRESOLVED, "and has no kernel");
    compile_program_destroy(p);
    hd_buf_fini(&missing);
}

static void test_shared_limit(void)
{
    static const char *const bad[] = {
        HEAD ".shared .b8 big[10485760];\n.entry k() { .reg .b32 %r; ld.shared.u32 %r, [big]; "
             "st.shared.u32 [big+8], %r; ret; }\n",
        HEAD ".entry k() { .shared .b8 big[10485760];\n.reg .b32 %r; ld.shared.u32 %r, [big]; "
             "st.shared.u32 [big+8], %r; ret; }\n",
        HEAD ".shared .b8 a[40960];\n.shared .b8 b[40960];\n.entry k() { .reg .b32 %r; "
             "ld.shared.u32 %r, [a]; st.shared.u32 [b], %r; ret; }\n",
    };
    static const char *const say[] = {"t.ptx:5:", "t.ptx:4:", "81920"};
    struct ir_module *module;
    for (size_t i = 0; i < HD_COUNT_OF(bad); i++) {
        eq_u64(compile_one(bad[i], &module), HD_BAD_PTX, "too much shared memory (%zu)", i);
        if (!ok(strstr(hd_error_message(), say[i]), "the message says %s", say[i]))
            diag("%s", hd_error_message());
    }
    eq_u64(compile_one(HEAD ".shared .b8 a[49152];\n.entry k() { st.shared.u32 [a], 1; ret; }\n",
                       &module),
           HD_OK, "48 KiB are fine");
    ir_module_destroy(module);
}

static void test_skipped_passes(void)
{
    static const char *const bad[] = {"ir_opt_nonsense", "ir_opt_cse,ir_opt_ds", "ir_lower_inline"};
    static const char source[] = HEAD ".entry k() { ret; }\n";
    struct ir_module *module;

    for (size_t i = 0; i < HD_COUNT_OF(bad); i++) {
        setenv("HEDDLE_SKIP_PASS", bad[i], 1);
        eq_u64(compile_one(source, &module), HD_BAD_ARG, "HEDDLE_SKIP_PASS=%s", bad[i]);
        ok(strstr(hd_error_message(), strrchr(bad[i], '_')), "%s", hd_error_message());
    }
    setenv("HEDDLE_SKIP_PASS", "ir_opt_cse,ir_opt_dce", 1);
    eq_u64(compile_one(source, &module), HD_OK, "two that may be left out");
    ir_module_destroy(module);
    unsetenv("HEDDLE_SKIP_PASS");
}

static void test_clusters(void)
{
    struct ir_module *module = NULL;
    eq_u64(compile_one(HEAD ".visible .entry k() .reqnctapercluster 2, 4 .maxclusterrank 8 "
                            ".explicitcluster .reqntid 32 .blocksareclusters { ret; }\n",
                       &module),
           HD_OK, "a kernel with cluster directives");
    if (!module)
        return;
    const struct ir_func *k = ir_module_find_func(module, "k");
    ok(k->reqnctapercluster[0] == 2 && k->reqnctapercluster[1] == 4 && k->maxclusterrank == 8 &&
           k->explicitcluster && k->blocksareclusters,
       "the IR keeps them");
    ir_module_destroy(module);
}

/* Phis stand where writes meet: their number follows the writes, not registers times joins. */
static void test_phis(void)
{
    struct hd_buf ptx = {0};
    struct ir_module *module = NULL;
    unsigned joins = 400, registers = 50, phis = 0;
    hd_buf_puts(&ptx, HEAD ".entry k(.param .u64 p) { .reg .b32 %r<60>; .reg .b64 %d; "
                           ".reg .pred %q;\nld.param.u64 %d, [p];\nld.global.u32 %r0, [%d];\n");
    for (unsigned r = 1; r <= registers; r++)
        hd_buf_printf(&ptx, "ld.global.u32 %%r%u, [%%d+%u];\n", r, r * 4);
    for (unsigned i = 0; i < joins; i++)
        hd_buf_printf(&ptx,
                      "setp.eq.u32 %%q, %%r0, %u;\n@%%q bra L%u;\nadd.u32 %%r%u, %%r%u, 3;\nL%u:\n",
                      i, i, i % registers + 1, i % registers + 1, i);
    for (unsigned r = 1; r <= registers; r++)
        hd_buf_printf(&ptx, "st.global.u32 [%%d+%u], %%r%u;\n", r * 4, r);
    hd_buf_puts(&ptx, "ret; }\n");
    hd_buf_putc(&ptx, '\0');
    eq_u64(compile_one(ptx.ptr, &module), HD_OK, "a chain of %u joins", joins);
    hd_buf_fini(&ptx);
    if (!module)
        return;
    const struct ir_func *k = ir_module_find_func(module, "k");
    for (uint32_t b = 0; b < k->nblocks; b++)
        ir_foreach_instr(in, k->blocks[b])
            phis += in->op == IR_OP_PHI;
    ok(phis <= joins, "%u phis for %u writes behind branches", phis, joins);
    ir_module_destroy(module);
}

struct key {
    uint8_t bytes[16];
};

static struct key key_of(const struct compile_unit *units, size_t count,
                         const struct compile_options *options)
{
    struct key key;
    compile_key(units, count, options, key.bytes);
    return key;
}

static void differs(struct key a, struct key b, const char *what)
{
    ok(memcmp(&a, &b, sizeof(a)) != 0, "another key for another %s", what);
}

static void test_keys(void)
{
    struct compile_unit u[] = {{"a", "text", 4}, {"b", "more", 4}}, v[] = {u[1], u[0]}, w = u[0];
    struct compile_options options = {0};
    struct key key = key_of(u, 1, NULL);
    options = (struct compile_options){0};
    struct key again = key_of(u, 1, &options);
    ok(!memcmp(&key, &again, sizeof(key)), "no options are the default options");
    w.name = "c";
    differs(key, key_of(&w, 1, NULL), "name");
    w = (struct compile_unit){"a", "test", 4};
    differs(key, key_of(&w, 1, NULL), "text");
    differs(key, key_of(u, 2, NULL), "number of units");
    differs(key_of(u, 2, NULL), key_of(v, 2, NULL), "order");
#define X(type, name, doc)                                                                         \
    options = (struct compile_options){.name = 1};                                                 \
    differs(key, key_of(u, 1, &options), #name);
    COMPILE_OPTION_LIST(X)
#undef X
}

static unsigned phis(const struct ir_module *module)
{
    unsigned count = 0;

    ir_foreach_func(func, module)
        for (uint32_t i = 0; i < func->nblocks; i++)
            for (const struct ir_instr *in = func->blocks[i]->first; in; in = in->next)
                count += in->op == IR_OP_PHI;
    return count;
}

/* Passes for one kind of device are not run for another; closing loops is one of the CPU's. */
static void test_devices(void)
{
    static const char loop[] =
        HEAD ".global .u32 counter;\n.visible .entry k(.param .u32 n) {\n"
             ".reg .u32 %i, %n, %s; .reg .pred %p; ld.param.u32 %n, [n];\n"
             "mov.u32 %i, %tid.x; mov.u32 %s, 0;\n"
             "again: mad.lo.u32 %s, %s, %s, %i; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n;\n"
             "@%p bra again; st.global.u32 [counter], %s; ret; }\n";
    const struct compile_unit unit = {"loop", loop, sizeof(loop) - 1};
    const struct compile_options options = {.validate = true};
    struct compile_program *p = NULL;
    struct ir_module *common = NULL, *cpu = NULL;
    uint8_t common_key[16], cpu_key[16];
    enum opt_target target;

    if (!ok(compile_program_create(&unit, 1, &options, &p) == HD_OK &&
                compile_kernel(p, 0, OPT_TARGET_COMMON, &common) == HD_OK &&
                compile_kernel(p, 0, OPT_TARGET_CPU, &cpu) == HD_OK,
            "a loop compiles for two kinds of device")) {
        diag("%s", hd_error_message());
    } else {
        ok(phis(common) && phis(cpu) > phis(common), "the CPU's passes are for the CPU");
        compile_code_key(p, OPT_TARGET_COMMON, common_key);
        compile_code_key(p, OPT_TARGET_CPU, cpu_key);
        ok(memcmp(common_key, cpu_key, 16) != 0, "another key for another kind of device");
    }
    eq_u64(opt_target_find("cpu", &target), HD_OK, "a target has a name");
    eq_u64(target, OPT_TARGET_CPU, "and is found by it");
    eq_u64(opt_target_find("gpu", &target), HD_NOT_FOUND, "an unknown one is an error");
    ir_module_destroy(common);
    ir_module_destroy(cpu);
    compile_program_destroy(p);
}

int main(void)
{
    const struct compile_unit unit = {"p.ptx", text, sizeof(text) - 1};
    const struct compile_options options = {.validate = true};
    if (!ok(compile_program_create(&unit, 1, &options, &program) == HD_OK, "the program links")) {
        diag("%s", hd_error_message());
        return done();
    }
    test_good_ones();
    fails("bad", HD_NOT_SUPPORTED, "p.ptx:11:");
    fails("bad", HD_NOT_SUPPORTED, "ldmatrix");
    fails("worse", HD_NOT_SUPPORTED, "state space");
    fails("unresolved", HD_UNRESOLVED, "unresolved external function nowhere");
    fails("launches", HD_UNRESOLVED, "cudaGraphCreate: this function of the runtime in kernels");
    fails("streams", HD_BAD_PTX, "the function of the device runtime has another signature");
    fails("old", HD_UNRESOLVED, "cudaDeviceSynchronize: this function of the runtime in kernels");
    fails("twice", HD_NOT_FOUND, "not a kernel");
    test_text();
    test_targets();
    test_shared_limit();
    test_extern_shared();
    test_clusters();
    test_skipped_passes();
    test_phis();
    test_keys();
    test_devices();
    compile_program_destroy(program);
    return done();
}
