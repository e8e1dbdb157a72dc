/*
 * Control fields that the compiler set, changed at random. Where results come as late as they may
 * (sim/late.h) a change may alter what a kernel computes: the hazard checker must have found it.
 */
#include "codegen/codegen.h"
#include "lower/lower.h"
#include "opt/opt.h"
#include "ptx/ptx.h"
#include "sim/sim.h"
#include "support/tap.h"

enum { THREADS = 64, WORDS = 1024, MUTATIONS = 1500 };

/* Loads, a loop, a guarded branch, division, shared memory and a shuffle. */
static const char ptx_text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 data) .maxntid 64, 1, 1 {\n"
    ".shared .align 8 .b8 buf[512];\n"
    ".reg .pred p<4>; .reg .b32 r<20>; .reg .b64 d<8>; .reg .f32 f<12>; .reg .f64 g<6>;\n"
    "ld.param.u64 d0, [data];\n cvta.to.global.u64 d0, d0;\n mov.u32 r0, %tid.x;\n"
    "mul.wide.u32 d1, r0, 4;\n add.u64 d1, d0, d1;\n"
    "ld.global.u32 r1, [d1];\n ld.global.u32 r2, [d1+256];\n mov.u32 r3, 0;\n mov.f32 f0, "
    "0f3f800000;\n"
    "LOOP:\n"
    "ld.global.f32 f1, [d1+512];\n fma.rn.f32 f0, f0, f1, f1;\n"
    "mad.lo.u32 r1, r1, 1664525, r2;\n shr.u32 r4, r1, 7;\n xor.b32 r2, r2, r4;\n"
    "st.global.u32 [d1+1024], r2;\n add.u32 r2, r2, r3;\n"
    "and.b32 r5, r1, 1;\n setp.eq.u32 p0, r5, 0;\n"
    "@p0 bra EVEN;\n popc.b32 r6, r1;\n add.u32 r2, r2, r6;\n bra JOIN;\n"
    "EVEN:\n clz.b32 r6, r2;\n sub.u32 r1, r1, r6;\n"
    "JOIN:\n add.u32 r3, r3, 1;\n setp.lt.u32 p1, r3, 5;\n @p1 bra LOOP;\n"
    "mov.u32 r7, buf;\n shl.b32 r8, r0, 2;\n add.u32 r8, r7, r8;\n st.shared.u32 [r8], r1;\n"
    "bar.sync 0;\n xor.b32 r9, r0, 33;\n shl.b32 r9, r9, 2;\n add.u32 r9, r7, r9;\n ld.shared.u32 "
    "r10, [r9];\n"
    "shfl.sync.bfly.b32 r11|p2, r10, 5, 31, -1;\n selp.u32 r12, r11, r10, p2;\n"
    "cvt.rn.f32.u32 f2, r12;\n add.f32 f3, f0, 0f3fc00000;\n div.rn.f32 f4, f2, f3;\n "
    "sqrt.approx.f32 f5, f2;\n"
    "add.f32 f4, f4, f5;\n cvt.f64.f32 g0, f4;\n fma.rn.f64 g1, g0, g0, g0;\n cvt.rn.f32.f64 f6, "
    "g1;\n"
    "min.u32 r13, r1, r10;\n prmt.b32 r13, r13, r2, 0x3514;\n add.u32 r13, r13, r12;\n"
    "st.global.u32 [d1+1280], r13;\n st.global.f32 [d1+1536], f6;\n st.global.u32 [d1+1792], r2;\n "
    "ret;\n}\n";

static uint32_t data[WORDS];
static uint64_t dice;

static uint32_t rnd_below(uint32_t n)
{
    return (uint32_t)(tap_random(&dice) >> 32) % n;
}

static bool check(void *ctx, uint64_t address, uint64_t size_B, bool write)
{
    return address >= (uintptr_t)data && address + size_B <= (uintptr_t)(data + WORDS);
}
static bool gives_up(void *ctx, uint64_t effects)
{
    return true;
}
static const struct interp_ops ops = {.check = check, .gives_up = gives_up};

/* Runs the code; its status, and what is in memory then. */
static enum hd_status run(const struct isa_code *code, struct sim_kernel kernel, uint32_t *out)
{
    uint64_t params = (uintptr_t)data;
    struct interp_launch launch = {
        .grid = {1, 1, 1}, .block = {THREADS, 1, 1}, .params = &params, .ops = &ops};
    struct sim_program *program = NULL;
    enum hd_status status;

    for (uint32_t i = 0; i < WORDS; i++)
        data[i] = i >= 128 && i < 192 ? 0x3f000000 + i * 4096 : i * UINT32_C(2654435761);
    status = sim_program_create(code, &kernel, &program);
    if (status == HD_OK)
        status = sim_launch(program, &launch, NULL, NULL);
    sim_program_destroy(program);
    memcpy(out, data, sizeof(data));
    return status;
}

/* One field of one word; false: nothing changed. */
static bool mutate(struct isa_word *word)
{
    struct isa_word was = *word;
    struct isa_insn insn;
    const char *why = isa_decode(*word, &insn);
    struct isa_control *control = &insn.control;

    if (why)
        return false;
    switch (rnd_below(5)) {
    case 0:
        control->stall = (uint8_t)rnd_below(control->stall + 1u);
        break;
    case 1:
        control->wait &= (uint8_t)rnd_below(64);
        break;
    case 2:
        control->write_sb = rnd_below(2) ? ISA_NO_SB : (uint8_t)rnd_below(6);
        break;
    case 3:
        control->read_sb = rnd_below(2) ? ISA_NO_SB : (uint8_t)rnd_below(6);
        break;
    default:
        control->stall = 1;
        control->wait = 0;
        break;
    }
    if (isa_encode(&insn, word))
        *word = was;
    return memcmp(&was, word, sizeof(was)) != 0;
}

static struct ir_module *lowered(void)
{
    struct ptx_module *parsed;
    struct ir_module *module = NULL;
    struct hd_arena arena;

    hd_arena_init(&arena);
    if (ptx_parse(&arena, ptx_text, sizeof(ptx_text) - 1, "k", &parsed) != HD_OK ||
        ptx_check(parsed) != HD_OK ||
        lower_ptx((const struct ptx_module *[]){parsed}, 1, "k", &module) != HD_OK)
        module = NULL;
    if (module && (opt_run(module, &(struct opt_options){.validate = true}) != HD_OK ||
                   ir_layout_windows(module) != HD_OK)) {
        ir_module_destroy(module);
        module = NULL;
    }
    hd_arena_fini(&arena);
    return module;
}

int main(void)
{
    static uint32_t expected[WORDS], got[WORDS];
    const struct codegen_options options = {.checks = true};
    unsigned changed = 0, caught = 0, found = 0, runs = 0;
    struct ir_module *module = lowered();
    struct sim_kernel plain, checked, late;
    const struct ir_func *kernel = NULL;
    struct isa_code code;

    dice = tap_seed();
    ok(module != NULL, "PTX becomes IR: %s", module ? "" : hd_error_message());
    if (!module)
        return done();
    ir_foreach_func(func, module)
        kernel = func->is_kernel ? func : kernel;
    eq_u64(codegen_kernel(kernel, &options, &code), HD_OK, "and words, which the checkers accept");
    eq_u64(sim_kernel_of(kernel, &plain), HD_OK, "a kernel");
    checked = late = plain;
    checked.checks_hazards = late.late_results = true;
    eq_u64(run(&code, plain, expected), HD_OK, "it runs");
    eq_u64(run(&code, checked, got), HD_OK, "without a hazard");
    eq_u64(run(&code, late, got), HD_OK, "and with late results");
    eq_mem(got, expected, sizeof(got), "which are the same");

    for (unsigned i = 0; i < MUTATIONS; i++) {
        uint32_t at = rnd_below((uint32_t)code.words.len);
        struct isa_word was = code.words.at[at];
        bool hazard, differs;

        if (!mutate(&code.words.at[at]))
            continue;
        runs++;
        hazard = run(&code, checked, got) != HD_OK;
        differs = run(&code, late, got) != HD_OK || memcmp(got, expected, sizeof(got)) != 0;
        changed += differs;
        found += hazard;
        caught += differs && hazard;
        if (differs && !hazard)
            diag("word %u: not found", at);
        code.words.at[at] = was;
    }
    diag("%u mutations, %u hazards found; %u results changed, %u of them found", runs, found,
         changed, caught);
    ok(changed >= 50, "enough of them change a result: %u", changed);
    ok(caught * 100 >= changed * 99, "the checker finds 99 in 100");
    isa_code_fini(&code);
    ir_module_destroy(module);
    return done();
}
