/*
 * Variants of kernels under threads: who makes one, who waits, what the background does, and what
 * is left when a module goes. For ThreadSanitizer as well.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/str.h"
#include "compile.h"
#include "jit/jit.h"
#include "tap.h"

#define NTHREADS 8
#define NKERNELS 3
#define LOOPS    0 /* kernels: small with a loop, small without, large without */
#define STRAIGHT 1
#define LONG     NKERNELS /* and two that take even longer */
#define HUGE     (NKERNELS + 1)
/* Launches that may start interpreted, that may not, and that have many CTAs as well. */
#define SMALL ((struct jit_size){.threads = 64})
#define LARGE ((struct jit_size){.threads = 1u << 20})
#define MANY  ((struct jit_size){.threads = 1u << 20, .rounds = 1000})

static struct ir_module *program;
static const struct ir_func *kernels[HUGE + 1];

/* How much less there may be of what takes as long as with AVX-512. */
static int level_weight(void)
{
    enum jit_path path;

    if (jit_path_get(&path) != HD_OK)
        abort();
    return path == JIT_AVX512 ? 1 : path == JIT_AVX2 ? 2 : 10;
}

static bool program_make(void)
{
    struct compile_unit unit = {.name = "variants"};
    const int weight = level_weight();
    const int of_long = 1900 / weight, of_huge = weight > 2 ? 1900 : 4500;
    struct hd_buf text;

    hd_buf_init(&text);
    hd_buf_puts(&text, ".version 8.0\n.target sm_80\n.address_size 64\n");
    for (int k = 0; k <= HUGE; k++) {
        hd_buf_printf(&text,
                      ".visible .entry k%d(.param .u64 p) { .reg .b64 %%d<2>; .reg .b32 %%r<5>; "
                      ".reg .pred %%p;\n"
                      "ld.param.u64 %%d1, [p]; mov.u32 %%r0, %%tid.x; mov.u32 %%r1, %%ctaid.x;\n"
                      "mov.u32 %%r2, %%warpid;\n",
                      k);
        for (int i = 0; i < (k == HUGE           ? of_huge
                             : k == LONG         ? of_long
                             : k == NKERNELS - 1 ? 1100
                                                 : 3 + k);
             i++)
            hd_buf_printf(&text,
                          "mad.lo.u32 %%r%d, %%r%d, %d, %%r%d; xor.b32 %%r%d, %%r%d, %%r2;\n",
                          i % 2, (i + 1) % 2, i * 7919 % 4093 + 3, i % 2, i % 2, i % 2);
        if (k == LOOPS)
            hd_buf_puts(&text, "L: add.u32 %r1, %r1, %r0; setp.lt.u32 %p, %r1, %r2; @%p bra L;\n");
        hd_buf_puts(&text, "st.global.v2.u32 [%d1], {%r0, %r1}; ret; }\n");
    }
    unit.ptx = text.ptr;
    unit.len = text.len;
    bool fine = !text.failed && compile_ptx(&unit, 1, NULL, OPT_TARGET_CPU, &program) == HD_OK;
    hd_buf_fini(&text);
    for (int k = 0; fine && k <= HUGE; k++) {
        char name[8];
        snprintf(name, sizeof(name), "k%d", k);
        kernels[k] = ir_module_find_func(program, name);
        fine = kernels[k] != NULL;
    }
    return fine;
}

static struct jit_module *module_make(void)
{
    struct jit_module *jit;

    if (jit_module_create("variants", NULL, &jit) != HD_OK)
        abort();
    return jit;
}

/* ---- all threads get the same code */

struct seen {
    struct jit_module *jit;
    jit_slot *slots;
    const struct jit_code *code[NKERNELS][2];
    unsigned failed;
    pthread_t thread;
    unsigned index;
};

static void *ask_all(void *arg)
{
    struct seen *s = arg;

    for (unsigned i = 0; i < NKERNELS * 2; i++) {
        unsigned k = (i + s->index) % NKERNELS, c = (i + s->index) / NKERNELS % 2;
        enum jit_launch_class cls = c ? JIT_CLASS_OTHER : JIT_CLASS_1D_FULL;
        s->failed += jit_kernel_get(s->jit, kernels[k], cls, &s->code[k][c]) != HD_OK;
    }
    return NULL;
}

static void *start_large_kernel(void *arg)
{
    struct seen *s = arg;
    struct jit_size size = s->index % 2 ? SMALL : LARGE;
    const struct ir_func *kernel = kernels[NKERNELS - 1];

    s->failed += jit_kernel_start(s->jit, kernel, JIT_CLASS_1D, size, s->slots) != HD_OK;
    const struct jit_code *code = atomic_load(s->slots);
    s->failed += !code || code->max_threads < size.threads;
    return NULL;
}

static unsigned run_threads(struct seen seen[NTHREADS], struct jit_module *jit, jit_slot *slot,
                            void *(*body)(void *))
{
    unsigned failed = 0;

    for (unsigned t = 0; t < NTHREADS; t++) {
        seen[t] = (struct seen){.jit = jit, .slots = slot, .index = t};
        if (pthread_create(&seen[t].thread, NULL, body, &seen[t]))
            abort();
    }
    for (unsigned t = 0; t < NTHREADS; t++) {
        pthread_join(seen[t].thread, NULL);
        failed += seen[t].failed;
    }
    return failed;
}

static void test_threads(void)
{
    struct jit_module *jit = module_make();
    struct seen seen[NTHREADS];
    unsigned differ = 0;

    eq_u64(run_threads(seen, jit, NULL, ask_all), 0, "many threads ask for all variants");
    for (unsigned t = 0; t < NTHREADS; t++)
        differ += memcmp(seen[t].code, seen[0].code, sizeof(seen[0].code)) != 0;
    eq_u64(differ, 0, "and get the same code");
    ok(seen[0].code[0][0] != seen[0].code[0][1] && seen[0].code[0][0] != seen[0].code[1][0],
       "another one per kernel and class");
    jit_module_destroy(jit);
}

/* ---- the background */

/* Quick code serves all launches; who has no slot gets the best, and so do launches after that. */
static void test_start(void)
{
    const struct ir_func *large = kernels[NKERNELS - 1];
    struct jit_module *jit = module_make();
    const struct jit_code *best;
    jit_slot slot = NULL, loops = NULL, straight = NULL;

    ok(jit_kernel_start(jit, kernels[LOOPS], JIT_CLASS_1D, SMALL, &loops) == HD_OK &&
           atomic_load(&loops)->form == JIT_FAST && !atomic_load(&loops)->quick,
       "the best code of a small kernel is made at once");
    ok(jit_kernel_start(jit, kernels[STRAIGHT], JIT_CLASS_1D, SMALL, &straight) == HD_OK &&
           atomic_load(&straight)->form == JIT_FAST && atomic_load(&straight)->quick &&
           atomic_load(&straight)->improve_ns,
       "without loops it starts in quick code");
    ok(jit_kernel_start(jit, large, JIT_CLASS_1D, SMALL, &slot) == HD_OK, "a large one starts");
    const struct jit_code *first = atomic_load(&slot);
    ok(first->form == JIT_INTERP && first->quick && first->max_threads >= SMALL.threads &&
           first->max_threads < LARGE.threads,
       "interpreted, for small launches");
    ok(jit_kernel_start(jit, large, JIT_CLASS_1D, LARGE, &slot) == HD_OK, "a large launch waits");
    const struct jit_code *quick = atomic_load(&slot);
    ok(quick->form == JIT_FAST && quick->quick && quick->max_threads == UINT64_MAX,
       "for quick code");
    ok(jit_kernel_get(jit, large, JIT_CLASS_1D, &best) == HD_OK && !best->quick && best != quick,
       "the best code");
    ok(atomic_load(&slot) == best, "then serves all");
    ok(jit_kernel_start(jit, large, JIT_CLASS_1D, SMALL, &slot) == HD_OK &&
           atomic_load(&slot) == best,
       "and stays");
    jit_code_improve(best);
    ok(best->mxcsr == quick->mxcsr && best->may_spin == quick->may_spin,
       "it can take over in the middle of a launch");
    ok(first->form == JIT_INTERP && quick->quick, "what ran before is still there");
    jit_module_destroy(jit);
}

/* Until the slot has the best code. */
static bool best_comes(const jit_slot *slot)
{
    for (unsigned i = 0; i < 60000 && atomic_load(slot)->quick; i++)
        usleep(1000);
    return !atomic_load(slot)->quick;
}

static void test_improve(void)
{
    const struct ir_func *large = kernels[NKERNELS - 1];
    struct jit_module *jit = module_make();
    jit_slot often = NULL, slow = NULL;

    ok(jit_kernel_start(jit, large, JIT_CLASS_1D, LARGE, &slow) == HD_OK &&
           atomic_load(&slow)->quick,
       "a large launch of a large kernel gets quick code");
    jit_code_improve(atomic_load(&slow));
    ok(best_comes(&slow), "and the best when it takes long");
    for (unsigned i = 0; i < 10; i++)
        if (jit_kernel_start(jit, large, JIT_CLASS_1D_FULL, LARGE, &often) != HD_OK)
            abort();
    ok(best_comes(&often), "or is launched often");
    jit_module_destroy(jit);
}

/* A launch of many CTAs starts in quick code, loops or not; one of few waits for the best. */
static void test_many(void)
{
    struct jit_module *jit = module_make();
    jit_slot slot = NULL, often = NULL;

    ok(jit_kernel_start(jit, kernels[LOOPS], JIT_CLASS_1D, MANY, &slot) == HD_OK &&
           atomic_load(&slot)->quick && atomic_load(&slot)->min_rounds <= MANY.rounds &&
           atomic_load(&slot)->improve_ns,
       "many CTAs start in quick code, loops or not");
    ok(jit_kernel_start(jit, kernels[LOOPS], JIT_CLASS_1D, LARGE, &slot) == HD_OK &&
           !atomic_load(&slot)->quick && !atomic_load(&slot)->min_rounds,
       "few wait for the best");
    for (unsigned i = 0; i < 3; i++)
        if (jit_kernel_start(jit, kernels[LOOPS], JIT_CLASS_1D_FULL, MANY, &often) != HD_OK)
            abort();
    ok(best_comes(&often), "which comes to the others when they are launched again");
    jit_module_destroy(jit);
}

/* With one CPU: the best at once where that does not take long, also of what is quick elsewhere. */
static void test_alone(void)
{
    struct jit_module *jit = module_make();
    jit_slot slot = NULL;

    jit_module_set_alone(jit, true);
    ok(jit_kernel_start(jit, kernels[LOOPS], JIT_CLASS_1D, MANY, &slot) == HD_OK &&
           !atomic_load(&slot)->quick,
       "with one CPU many CTAs start in the best code");
    slot = NULL;
    ok(jit_kernel_start(jit, kernels[LONG], JIT_CLASS_1D, LARGE, &slot) == HD_OK &&
           !atomic_load(&slot)->quick,
       "and so does what takes less than half a second");
    jit_module_destroy(jit);
}

static uint64_t spent_ns(void)
{
    return hd_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* ... and of what does, a launch waits for it once the program has run for a part of that. */
static void test_alone_long(void)
{
    struct jit_module *jit = module_make();
    uint64_t quick_ns = spent_ns();
    jit_slot slot = NULL;

    jit_module_set_alone(jit, true);
    ok(jit_kernel_start(jit, kernels[HUGE], JIT_CLASS_1D, LARGE, &slot) == HD_OK &&
           atomic_load(&slot)->quick,
       "what takes long starts in quick code");
    quick_ns = spent_ns() - quick_ns;
    jit_code_improve(atomic_load(&slot));
    for (uint64_t from_ns = spent_ns(); spent_ns() - from_ns < 2 * quick_ns;)
        ;
    ok(jit_kernel_start(jit, kernels[HUGE], JIT_CLASS_1D, LARGE, &slot) == HD_OK &&
           !atomic_load(&slot)->quick,
       "a later launch waits for the best");
    jit_module_destroy(jit);
}

/* Who needs better code than there is does not wait until it is the turn of its task. */
static void test_overtake(void)
{
    const struct ir_func *large = kernels[NKERNELS - 1];
    struct jit_module *jit = module_make();
    jit_slot first = NULL, second = NULL;

    ok(jit_kernel_start(jit, large, JIT_CLASS_1D, LARGE, &first) == HD_OK &&
           jit_kernel_start(jit, kernels[LOOPS], JIT_CLASS_1D, MANY, &second) == HD_OK,
       "two kernels in quick code");
    jit_code_improve(atomic_load(&first));
    jit_code_improve(atomic_load(&second));
    ok(jit_kernel_start(jit, kernels[LOOPS], JIT_CLASS_1D, LARGE, &second) == HD_OK &&
           !atomic_load(&second)->quick,
       "the best of the second for a launch of few CTAs");
    ok(best_comes(&first), "and that of the first");
    jit_module_destroy(jit);
}

/* The fault point: every kernel stays with what can be made quickly. */
static void test_quick_only(void)
{
    struct jit_module *jit = module_make();
    const struct jit_code *code;
    jit_slot slot = NULL;
    bool fine = true;

    hd_fault_set(HD_FAULT_JIT_BEST, true);
    for (unsigned i = 0; i < 10; i++)
        fine &= jit_kernel_start(jit, kernels[0], JIT_CLASS_1D, SMALL, &slot) == HD_OK;
    jit_code_improve(atomic_load(&slot));
    fine &= jit_kernel_get(jit, kernels[0], JIT_CLASS_1D, &code) == HD_OK;
    ok(fine && code->quick && atomic_load(&slot) == code, "HEDDLE_FAULT=jit.best: quick code only");
    hd_fault_set(HD_FAULT_JIT_BEST, false);
    ok(jit_kernel_get(jit, kernels[0], JIT_CLASS_1D, &code) == HD_OK && !code->quick,
       "without it the best can be had again");
    jit_module_destroy(jit);
}

/* What is for one warp serves launches of any number of warps, and so does what is better. */
static void test_classes(void)
{
    static const enum jit_launch_class classes[] = {JIT_CLASS_1D_FULL, JIT_CLASS_1D_PAIRS,
                                                    JIT_CLASS_1D_QUADS};
    const struct ir_func *large = kernels[NKERNELS - 1];
    struct jit_module *jit = module_make();
    jit_slot slots[HD_COUNT_OF(classes)] = {NULL};
    bool fine = true, best = true;

    for (unsigned i = 0; i < HD_COUNT_OF(classes); i++)
        fine &= jit_kernel_start(jit, large, classes[i], LARGE, &slots[i]) == HD_OK &&
                atomic_load(&slots[i]) == atomic_load(&slots[0]);
    ok(fine, "one code for launches of one, two and four warps");
    jit_code_improve(atomic_load(&slots[0]));
    for (unsigned i = 0; i < HD_COUNT_OF(classes); i++)
        best &= best_comes(&slots[i]);
    ok(best, "the best comes to all of them");
    jit_module_destroy(jit);
}

static void test_start_threads(void)
{
    struct jit_module *jit = module_make();
    struct seen seen[NTHREADS];
    jit_slot slot = NULL;

    eq_u64(run_threads(seen, jit, &slot, start_large_kernel), 0,
           "small and large launches at once");
    jit_module_destroy(jit);
}

static void test_unload(void)
{
    const struct ir_func *large = kernels[NKERNELS - 1];
    unsigned failed = 0;

    for (unsigned i = 0; i < 3; i++) {
        struct jit_module *jit[2] = {module_make(), module_make()};
        jit_slot slots[2] = {NULL, NULL};
        for (int m = 0; m < 2; m++)
            failed += jit_kernel_start(jit[m], large, JIT_CLASS_1D, SMALL, &slots[m]) != HD_OK;
        jit_module_destroy(jit[1]); /* its task waits behind the other's, or runs */
        jit_module_destroy(jit[0]);
    }
    eq_u64(failed, 0, "modules go while their kernels are compiled");
}

/* A child has no background thread: it compiles by itself, and ends. */
static void test_fork(void)
{
#if HD_SANITIZES_THREADS
    skip("fork() with threads under ThreadSanitizer");
#else
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct jit_module *jit = module_make();
        jit_slot slot = NULL;
        enum hd_status got =
            jit_kernel_start(jit, kernels[NKERNELS - 1], JIT_CLASS_1D, SMALL, &slot);
        bool fine = got == HD_OK && atomic_load(&slot)->form == JIT_FAST;
        jit_module_destroy(jit);
        exit(fine ? 0 : 1);
    }
    waitpid(child, &status, 0);
    eq_u64((uint64_t)status, 0, "a child compiles by itself and ends");
#endif
}

int main(void)
{
    if (!ok(program_make(), "program"))
        return done();
    test_threads();
    test_start();
    test_improve();
    test_many();
    test_overtake();
    test_alone();
    test_alone_long();
    test_quick_only();
    test_classes();
    test_start_threads();
    test_unload();
    test_fork();
    ir_module_destroy(program);
    return done();
}
