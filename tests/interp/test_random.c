/*
 * Random kernels: the text form, each pass alone and the whole pipeline must not change what they
 * do. With RANDOM_JIT also the JIT must agree, and with probes in the module each thread must tell
 * the same as in the interpreter. Arguments: FIRST COUNT SIZE; a SIZE of "limits" is operations at
 * their limits (random_ir.h). The JIT makes another form of code for each seed, so that four seeds
 * have all (4 * RANDOM_IR_LIMITS seeds all limits in all), or always the one that HEDDLE_FAULT says
 * (jit.best, jit.fast, ...).
 */
#include "base/fault.h"
#include "interp/interp.h"
#include "ir/probe.h"
#include "opt/opt.h"
#include "random_ir.h"
#include "tap.h"

#ifdef RANDOM_JIT
enum hd_status jit_harness_launch(const struct interp_launch *, struct interp_fault *);
#endif

typedef enum hd_status launch_func(const struct interp_launch *, struct interp_fault *);

static uint32_t input[RANDOM_IR_WORDS] HD_ALIGNED(16);
static uint64_t expected[RANDOM_IR_OUT_B / 8], got[RANDOM_IR_OUT_B / 8];
static const struct interp_ops ops;

static enum hd_status launch_with(launch_func *func, struct ir_module *module, uint64_t *out)
{
    const void *params[2] = {out, input};
    struct interp_launch launch = {.kernel = ir_module_find_func(module, "k"),
                                   .grid = {RANDOM_IR_CTAS, 1, 1},
                                   .block = {RANDOM_IR_THREADS, 1, 1},
                                   .params = params,
                                   .ops = &ops};
    memset(out, 0, RANDOM_IR_OUT_B);
    return func(&launch, NULL);
}

static struct ir_module *copy_module(const struct ir_module *module)
{
    struct hd_buf text;
    struct ir_module *copy = NULL;
    hd_buf_init(&text);
    ir_print_module(module, &text);
    if (ir_read_module(text.ptr, text.len, "copy", &copy) != HD_OK)
        copy = NULL;
    hd_buf_fini(&text);
    return copy;
}

/* Where outputs differ, in words: class.slot of a thread. */
/* The operation whose result goes to byte `offset` of a thread (programs of single ones). */
static void print_culprit(const struct ir_module *module, uint64_t offset, unsigned thread)
{
    const struct ir_func *kernel = ir_module_find_func(module, "k");
    struct hd_buf text;
    hd_buf_init(&text);
    ir_foreach_instr(in, kernel->blocks[0]) {
        if (in->op == IR_OP_ST && in->mem.space == IR_SPACE_GLOBAL &&
            (uint64_t)in->mem.offset == offset) {
            ir_print_instr(in->src[1]->instr, &text);
            for (uint32_t i = 0; i < in->src[1]->instr->nsrc; i++) {
                const struct ir_instr *src = in->src[1]->instr->src[i]->instr;
                hd_buf_puts(&text, "\n#     ");
                ir_print_instr(src, &text);
                if (src->op == IR_OP_LD) {
                    uint64_t v = 0;
                    unsigned at =
                        (thread * 8 & ((RANDOM_IR_WORDS - 64) * 4 - 8)) + (unsigned)src->mem.offset;
                    memcpy(&v, (const char *)input + at, ir_type_bits(src->type) / 8);
                    hd_buf_printf(&text, " = %#llx", (unsigned long long)v);
                }
            }
        }
    }
    diag("  %s", text.ptr ? text.ptr : "");
    hd_buf_fini(&text);
}

static bool same_output(const struct ir_module *module, bool singles, uint64_t seed,
                        const char *what)
{
    static const char *const classes[] = {"pred", "b16", "b32", "b64"};
    for (unsigned i = 0; i < RANDOM_IR_OUT_B / 8; i++) {
        if (got[i] == expected[i])
            continue;
        unsigned slot = i % RANDOM_IR_VALUES;
        diag("seed %llu, %s: thread %u %s %u: got %#llx, want %#llx", (unsigned long long)seed,
             what, i / RANDOM_IR_VALUES, classes[slot / (RANDOM_IR_VALUES / 4)],
             slot % (RANDOM_IR_VALUES / 4), (unsigned long long)got[i],
             (unsigned long long)expected[i]);
        if (singles)
            print_culprit(module, 8 * slot, i / RANDOM_IR_VALUES);
        return false;
    }
    return true;
}

#ifdef RANDOM_JIT
/* ---- forms of code */

/* What fails in each. The best code is the code there is with HEDDLE_DEBUG=sync; without, large
 * programs begin in quick code. */
static const struct {
    const char *name;
    uint32_t faults;
} forms[] = {{"best", HD_FAULT_JIT_NEXT},
             {"quick", HD_FAULT_JIT_NEXT | HD_FAULT_JIT_BEST},
             {"plain", HD_FAULT_JIT_FAST},
             {"simple", HD_FAULT_JIT_FAST | HD_FAULT_JIT_PLAIN}};
static bool form_given; /* by HEDDLE_FAULT */

static const char *set_form(uint64_t number)
{
    number %= HD_COUNT_OF(forms);
    if (form_given)
        return getenv("HEDDLE_FAULT");
    hd_fault_set((1u << HD_FAULT_COUNT) - 1, false);
    hd_fault_set(forms[number].faults, true);
    return forms[number].name;
}

/* ---- what threads tell */

enum { THREADS = RANDOM_IR_CTAS * RANDOM_IR_THREADS };
struct told {
    uint64_t probes, hash;
};
static struct told *telling;

static void *begin_launch(const struct ir_probe_launch *launch)
{
    return (void *)(uintptr_t)launch->kernel;
}
static void end_launch(void *launch)
{
}
static bool begin_cta(struct ir_probe_cta *cta)
{
    return true;
}
static void end_cta(struct ir_probe_cta *cta)
{
}

static uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static enum hd_status told(struct ir_probe_cta *cta, uint32_t warp, uint32_t lanes,
                           const struct ir_instr *probe, const uint64_t *const *operands)
{
    for (uint32_t l = 0; l < 32; l++) {
        struct told *t = &telling[cta->index * RANDOM_IR_THREADS + warp * 32 + l];
        if (!(lanes >> l & 1))
            continue;
        t->probes++;
        t->hash = mixed(t->hash, probe->imm);
        for (uint32_t i = 0; operands[i]; i++)
            t->hash = mixed(t->hash, operands[i][l]);
    }
    return HD_OK;
}

static const struct ir_observer observer = {.launch_begin = begin_launch,
                                            .launch_end = end_launch,
                                            .cta_begin = begin_cta,
                                            .cta_end = end_cta,
                                            .probe = told};

static bool launch_told(launch_func *func, struct ir_module *module, struct told out[THREADS])
{
    const void *params[2] = {got, input};
    struct interp_launch launch = {.kernel = ir_module_find_func(module, "k"),
                                   .grid = {RANDOM_IR_CTAS, 1, 1},
                                   .block = {RANDOM_IR_THREADS, 1, 1},
                                   .params = params,
                                   .ops = &ops,
                                   .observer = &observer};
    memset(out, 0, THREADS * sizeof(*out));
    memset(got, 0, RANDOM_IR_OUT_B);
    telling = out;
    return func(&launch, NULL) == HD_OK;
}

/* Which of two versions tells is then up to the device. */
static bool has_versions(const struct ir_module *module)
{
    ir_foreach_func(f, module)
        for (uint32_t b = 0; b < f->nblocks; b++)
            if (ir_block_has(f->blocks[b], IR_OP_AGREE))
                return true;
    return false;
}

/* Of threads that run alike; both outputs are `expected`. */
static bool tell_alike(struct ir_module *module, uint64_t seed)
{
    static struct told want[THREADS], are[THREADS];
    bool fine = ir_probe_insert(module, IR_PROBE_ALL) && ir_validate(module) == HD_OK &&
                launch_told(interp_launch, module, want);
    fine = fine && launch_told(jit_harness_launch, module, are);
    if (!fine)
        diag("seed %llu, probes: %s", (unsigned long long)seed, hd_error_message());
    fine = fine && same_output(module, false, seed, "jit with probes");
    for (unsigned t = 0; fine && t < THREADS; t++) {
        fine = want[t].probes && want[t].probes == are[t].probes &&
               (has_versions(module) || want[t].hash == are[t].hash);
        if (!fine)
            diag("seed %llu: thread %u tells %llu times, want %llu", (unsigned long long)seed, t,
                 (unsigned long long)are[t].probes, (unsigned long long)want[t].probes);
    }
    return fine;
}
#endif

#ifdef RANDOM_JIT
static bool check_jit(const struct ir_module *module, struct ir_module *copy, bool singles,
                      bool limits, uint64_t seed)
{
    char what[80];

    snprintf(what, sizeof(what), "%s code of the optimised module",
             set_form(limits ? seed + seed / RANDOM_IR_LIMITS : seed));
    if (launch_with(jit_harness_launch, copy, got) != HD_OK) {
        diag("seed %llu, %s: %s", (unsigned long long)seed, what, hd_error_message());
        return false;
    }
    return same_output(module, singles, seed, what) && (limits || tell_alike(copy, seed));
}
#endif

/* only NULL: the whole pipeline; "" nothing but the copy. */
static bool check_passes(struct ir_module *module, bool singles, bool limits, uint64_t seed,
                         const char *only)
{
    struct ir_module *copy = copy_module(module);
    struct opt_options options = {.validate = true, .only = only, .target = OPT_TARGET_CPU};
    const char *what = only ? (*only ? only : "text form") : "pipeline";
    bool fine = copy != NULL;
    if (fine && (!only || *only))
        fine = opt_run(copy, &options) == HD_OK;
    fine = fine && ir_layout_windows(copy) == HD_OK;
    fine = fine && launch_with(interp_launch, copy, got) == HD_OK;
    if (!fine)
        diag("seed %llu, %s: %s", (unsigned long long)seed, what, hd_error_message());
    fine = fine && same_output(module, singles, seed, what);
#ifdef RANDOM_JIT
    if (fine && !only)
        fine = check_jit(module, copy, singles, limits, seed);
#endif
    if (copy)
        ir_module_destroy(copy);
    return fine;
}

static bool check_seed(uint64_t seed, unsigned size, bool limits)
{
    const struct opt_pass_info *passes;
    size_t count = opt_passes(&passes);
    struct ir_module *module = limits ? random_ir_limits(seed) : random_ir_module(seed, size);
    bool fine = module != NULL;
    random_ir_input(seed, input);
    if (fine && launch_with(interp_launch, module, expected) != HD_OK) {
        diag("seed %llu: %s", (unsigned long long)seed, hd_error_message());
        fine = false;
    }
    fine = fine && check_passes(module, !size, limits, seed, "");
    for (size_t i = 0; fine && seed % 8 == 0 && i < count; i++)
        fine = check_passes(module, !size, limits, seed, passes[i].name);
    fine = fine && check_passes(module, !size, limits, seed, NULL);
    if (module)
        ir_module_destroy(module);
    return fine;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 10;
    bool limits = argc > 3 && !strcmp(argv[3], "limits");
    unsigned size = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 0) : 60;
#ifdef RANDOM_JIT
    form_given = getenv("HEDDLE_FAULT") && *getenv("HEDDLE_FAULT");
#endif
    for (uint64_t seed = first; seed < first + count; seed++)
        ok(check_seed(seed, size, limits), "seed %llu", (unsigned long long)seed);
    return done();
}
