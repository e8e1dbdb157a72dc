/*
 * Kernels of a module and their compiled variants, one per launch class.
 *
 * The lock guards the list of variants and their states, never a compilation: a variant that is
 * being made is MAKING, and threads that want it wait on `changed` while others make theirs.
 *
 * A variant of a kernel that LLVM needs long for gets better from build to build: interpreted, for
 * small launches; made quickly; the best. Each is put into the slot when it is there. Builds live
 * as long as the module, so who runs an older one is not disturbed.
 */
#include "jit/jit_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/probe.h"
#include "obj/cache.h"
#include "obj/fingerprint.h"

/*
 * LLVM takes about as long for one operation as the interpreter for running it this many times (0.1
 * ms, 40 ns), so up to this many threads a kernel without loops is done earlier when interpreted.
 * Smaller kernels are not worth the trouble.
 */
#define INTERP_MAX_THREADS 2048u
#define INTERP_MIN_INSTRS  2000u

/* Launches of quick code after which the best is made, unless one takes long before; of code with
 * loops, which may gain more by it. */
#define QUICK_LAUNCHES       4u
#define QUICK_LAUNCHES_LOOPS 2u

/* See module_waits_for_best_locked(). */
#define WAIT_FOR_BEST_PART 4

/* A cache entry: this, then why it is in that form, then the object. */
struct entry_head {
    struct gen_facts facts;
    uint64_t object_B;
    uint32_t form;
    uint32_t reason_B; /* with its end; 0 = the form that was asked for */
};

enum { VARIANT_SLOTS = 3 }; /* a class, and those of two and four warps at once */

struct jit_variant {
    struct jit_task task; /* first: in the background */
    struct jit_module *jit;
    struct jit_job job;
    bool making;                    /* somebody works on it: one thread at a time */
    struct jit_build *build;        /* the best so far, then older ones; NULL = none yet */
    jit_slot *slots[VARIANT_SLOTS]; /* where launches look; NULL = nobody does */
    uint32_t launches;              /* of quick code */
    uint64_t quick_since_ns;        /* of the process's CPU time: quick code is there */
    bool is_best;                   /* better code than the build could not be made */
    struct jit_variant *next;
};

struct jit_module {
    struct obj_cache *cache;
    struct obj_cache_key key; /* of the module's content */
    bool cacheable;
    bool strict;
    bool alone; /* jit_module_set_alone() */
    enum jit_path path;
    const char *ptx;     /* NULL = not known */
    struct hd_lock lock; /* variants and what is in them */
    pthread_cond_t changed;
    struct jit_variant *variants;
};

enum hd_status jit_module_create(const char *name, const uint8_t key[16],
                                 struct jit_module **out_jit)
{
    struct jit_module *jit = hd_new(struct jit_module);
    *out_jit = NULL;
    if (!jit)
        return hd_error(HD_NO_MEMORY, "module %s", name);
    enum hd_status status = jit_path_get(&jit->path);
    if (status != HD_OK) {
        hd_free(jit);
        return status;
    }
    jit->cacheable = key != NULL;
    if (key) {
        memcpy(&jit->key.low, key, 8);
        memcpy(&jit->key.high, key + 8, 8);
        if (obj_cache_open(NULL, 0, &jit->cache) != HD_OK)
            jit->cache = NULL; /* works without */
    }
    hd_lock_init(&jit->lock, HD_RANK_COMPILE, "jit module");
    pthread_cond_init(&jit->changed, NULL);
    *out_jit = jit;
    return HD_OK;
}

void jit_module_set_ptx(struct jit_module *jit, const char *ptx)
{
    assert(!jit->variants);
    jit->ptx = ptx;
}

void jit_module_set_strict(struct jit_module *jit, bool strict)
{
    assert(!jit->variants);
    jit->strict = strict;
}

void jit_module_set_alone(struct jit_module *jit, bool alone)
{
    assert(!jit->variants);
    jit->alone = alone;
}

void jit_module_destroy(struct jit_module *jit)
{
    if (!jit)
        return;
    jit_background_cancel(jit);
    while (jit->variants) {
        struct jit_variant *v = jit->variants;
        jit->variants = v->next;
        assert(!v->making);
        while (v->build) {
            struct jit_build *build = v->build;
            v->build = build->next;
            jit_build_destroy(build);
        }
        hd_free(v);
    }
    obj_cache_close(jit->cache);
    pthread_cond_destroy(&jit->changed);
    hd_lock_fini(&jit->lock);
    hd_free(jit);
}

/* ---- the cache */

static struct obj_cache_key module_variant_key(const struct jit_module *jit,
                                               const struct jit_job *job)
{
    struct obj_fingerprint print;
    struct hd_buf tuning;
    obj_fingerprint_init(&print, "object");
    print.program = jit->key;
    print.kernel = job->kernel->name;
    print.launch_class = job->cls;
    print.path = job->path;
    print.features = job->features;
    print.strict = job->strict;
    print.llvm = jit_llvm_identity();
    hd_buf_init(&tuning);
    print.tuning = tune_point_text(&job->tuning, &tuning);
    struct obj_cache_key key = obj_fingerprint_key(&print);
    hd_buf_fini(&tuning);
    return key;
}

static uint32_t module_fault_points(void)
{
    uint32_t points = HD_FAULT_JIT_LLVM | HD_FAULT_JIT_CRASH | HD_FAULT_JIT_HANG |
                      HD_FAULT_JIT_STACK | HD_FAULT_JIT_SINGLY |
                      HD_FAULT_JIT_BEST; /* not JIT_NEXT: see module_build_from_cache() */
#define X(name, text, doc) points |= HD_FAULT_JIT_##name;
    JIT_GENERATED_FORM_LIST(X)
#undef X
    return points;
}

/* What forced failures lead to must not be taken for what this kernel needs, nor the reverse. */
static bool module_uses_cache(const struct jit_module *jit)
{
    return jit->cacheable && jit->cache && !hd_fault((enum hd_fault)module_fault_points());
}

static bool module_entry_fits(const struct entry_head *head, size_t size_B)
{
    uint64_t rest_B = size_B - sizeof(*head);

    return head->form < JIT_FORM_COUNT && head->reason_B <= JIT_REASON_B &&
           head->reason_B <= rest_B && head->object_B == rest_B - head->reason_B;
}

static bool module_build_from_entry(const struct jit_job *job, const struct obj_cache_entry *entry,
                                    struct jit_build *build)
{
    const uint8_t *bytes = entry->bytes;
    struct entry_head head;

    if (entry->size_B < sizeof(head))
        return false;
    memcpy(&head, bytes, sizeof(head));
    if (!module_entry_fits(&head, entry->size_B))
        return false;
    bytes += sizeof(head);
    memcpy(build->reason, bytes, head.reason_B);
    build->reason[JIT_REASON_B - 1] = 0;
    build->result.facts = head.facts;
    if (head.form == JIT_INTERP) {
        jit_build_interpret(job, build);
        return true;
    }
    return jit_build_link(job, (enum jit_form)head.form, &head.facts, bytes + head.reason_B,
                          head.object_B, build) == HD_OK;
}

static struct jit_build *module_build_from_cache(struct jit_module *jit, const struct jit_job *job)
{
    struct obj_cache_entry entry;

    if (!module_uses_cache(jit) || !obj_cache_get(jit->cache, module_variant_key(jit, job), &entry))
        return NULL;
    struct jit_build *build = hd_new(struct jit_build);
    bool fits = build && module_build_from_entry(job, &entry, build);
    obj_cache_entry_release(&entry);
    if (fits && !(build->reason[0] && hd_fault(HD_FAULT_JIT_NEXT)))
        return build;
    jit_build_destroy(build);
    return NULL;
}

static void module_build_to_cache(struct jit_module *jit, const struct jit_job *job,
                                  const struct jit_build *build)
{
    size_t reason_B = build->reason[0] ? strlen(build->reason) + 1 : 0;
    struct entry_head head = {.facts = build->result.facts,
                              .object_B = build->result.object_B,
                              .form = build->code.form,
                              .reason_B = (uint32_t)reason_B};
    size_t size_B = sizeof(head) + reason_B + head.object_B;
    assert(build->code.form == JIT_INTERP || head.object_B);
    uint8_t *bytes = module_uses_cache(jit) && build->lasting ? hd_alloc(size_B) : NULL;

    if (!bytes)
        return;
    memcpy(bytes, &head, sizeof(head));
    memcpy(bytes + sizeof(head), build->reason, reason_B);
    if (head.object_B)
        memcpy(bytes + sizeof(head) + reason_B, build->result.object, head.object_B);
    if (obj_cache_put(jit->cache, module_variant_key(jit, job), bytes, size_B) != HD_OK)
        hd_log_debug(HD_DEBUG_CACHE, "not stored: %s", hd_error_message());
    hd_free(bytes);
}

/* ---- variants */

static void module_shape_dump(const struct jit_job *job)
{
    struct hd_arena arena;
    struct ir_shapes shapes;
    struct hd_buf text;
    if (!hd_debug(HD_DEBUG_SHAPE))
        return;
    hd_arena_init(&arena);
    hd_buf_init(&text);
    if (ir_shapes_compute(job->kernel, jit_launch_facts(job->cls), &arena, &shapes) == HD_OK) {
        ir_shapes_print(job->kernel, &shapes, &text);
        hd_log_dump(HD_DEBUG_SHAPE, job->kernel->name, text.ptr ? text.ptr : "");
    }
    hd_buf_fini(&text);
    hd_arena_fini(&arena);
}

/* As tuning files name the code path. */
static void module_device_name(enum jit_path path, char *name, size_t name_B)
{
    (void)snprintf(name, name_B, "cpu-%s", jit_path_name(path));
}

/* For `heddle tune`: which choices there are for this code. */
static void module_report_tuning(const struct jit_job *job, const struct jit_build *build)
{
    const uint32_t by_lanes = 1u << GEN_PASS_COARSEN | 1u << GEN_PASS_HALVES;
    struct tune_set applies = {0};
    uint32_t fired = build->result.facts.fired;
    char device[24];

    if (!tune_is_recorded() || build->code.form != JIT_FAST)
        return;
    tune_set_add_passes(&applies, TUNE_CPU, fired & ~by_lanes);
    if (job->path == JIT_AVX512 && !job->strict &&
        (jit_warps_fit(job->kernel) || jit_halves_fit(job->kernel)))
        tune_set_add(&applies, TUNE_LANES);
    if (fired >> GEN_PASS_PREFETCH & 1)
        tune_set_add(&applies, TUNE_AHEAD);
    if (fired >> GEN_PASS_UNROLL & 1)
        tune_set_add(&applies, TUNE_UNROLLED);
    module_device_name(job->path, device, sizeof(device));
    tune_compiled(job->kernel, device, &job->tuning, &applies);
}

/* Holds no lock. `build` is what the cache had, or NULL. */
static enum hd_status module_build_get(struct jit_module *jit, const struct jit_job *job,
                                       struct jit_build *build, struct jit_build **out_build)
{
    struct hd_compile_note note = {.name = job->kernel->name, .form = jit_path_name(job->path)};
    enum hd_status status = HD_OK;

    hd_compile_begin(&note);
    *out_build = build;
    if (build) {
        hd_log_debug(HD_DEBUG_JIT, "loaded %s for %s from the cache", job->kernel->name,
                     jit_launch_class_name(job->cls));
    } else {
        module_shape_dump(job);
        status = jit_build_make(job, out_build);
        if (status == HD_OK)
            module_build_to_cache(jit, job, *out_build);
    }
    hd_compile_end(&note, build != NULL, status);
    HD_TRY(status);
    module_report_tuning(job, *out_build);
    jit_build_announce(job, *out_build);
    jit_build_strip(*out_build);
    return HD_OK;
}

/* NULL: no memory. */
static struct jit_variant *module_variant_find_locked(struct jit_module *jit,
                                                      const struct ir_func *kernel,
                                                      enum jit_launch_class cls)
{
    struct jit_variant *v = jit->variants;
    char device[24];

    assert(hd_lock_held(&jit->lock));
    while (v && (v->job.kernel != kernel || v->job.cls != cls))
        v = v->next;
    if (v)
        return v;
    v = hd_new(struct jit_variant);
    if (!v)
        return NULL;
    v->jit = jit;
    v->job = (struct jit_job){.kernel = kernel,
                              .cls = cls,
                              .path = jit->path,
                              .features = jit_features(jit->path),
                              .form = kernel->module->has_notes ? JIT_INTERP : JIT_FAST,
                              .last = JIT_INTERP,
                              .ptx = jit->ptx,
                              .strict = jit->strict,
                              .alone = jit->alone};
    module_device_name(jit->path, device, sizeof(device));
    if (tune_find(kernel, device, &v->job.tuning) != HD_OK) /* its file was read before */
        hd_log("kernel %s is compiled without tuning: %s", kernel->name, hd_error_message());
    v->next = jit->variants;
    jit->variants = v;
    return v;
}

/* One of better code over worse; `v` is being made, or somebody makes it better. */
static void module_build_add_locked(struct jit_variant *v, struct jit_build *build)
{
    const struct jit_build *old = v->build;

    assert(hd_lock_held(&v->jit->lock) && v->making && !build->next);
    assert(!old || (old->code.quick && old->code.form >= build->code.form));
    build->next = v->build;
    v->build = build;
    for (unsigned i = 0; i < VARIANT_SLOTS && v->slots[i]; i++)
        atomic_store_explicit(v->slots[i], &build->code, memory_order_release);
}

/* Would the same come of it next time? */
static bool module_is_final(enum hd_status status)
{
    return status != HD_OK && status != HD_NO_MEMORY && status != HD_CANCELLED;
}

/*
 * Nobody works on the variant any more; `build` is NULL when nothing came of it, because of
 * `status`. What cannot be made better stays as it is.
 */
static void module_variant_finish(struct jit_variant *v, struct jit_build *build,
                                  enum hd_status status)
{
    struct jit_module *jit = v->jit;

    hd_lock_acquire(&jit->lock);
    if (build) {
        build->code.quick = build->quick ? v : NULL;
        v->quick_since_ns = hd_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        module_build_add_locked(v, build);
    }
    v->is_best = v->build && module_is_final(status);
    v->making = false;
    pthread_cond_broadcast(&jit->changed);
    hd_lock_release(&jit->lock);
}

/* `cached`: what the cache has, or NULL. */
static enum hd_status module_variant_make(struct jit_variant *v, enum gen_effort effort,
                                          struct jit_build *cached)
{
    struct jit_build *build = cached;
    struct jit_job job = v->job;
    assert(v->making && (!v->build || v->build->code.quick == v));

    job.effort = hd_fault(HD_FAULT_JIT_BEST) ? GEN_QUICK : effort;
    if (v->build)
        job.last = v->build->code.form; /* a slower one would be no gain */
    enum hd_status status = module_build_get(v->jit, &job, cached, &build);
    if (status == HD_OK && v->build)
        hd_log_debug(HD_DEBUG_JIT, "%s for %s: better code is there", job.kernel->name,
                     jit_launch_class_name(job.cls));
    module_variant_finish(v, build, status);
    return status;
}

/* ---- quick builds */

/* No loops and no calls: what a thread runs is bounded by the size. 0 = not bounded. */
static uint64_t module_straight_size(const struct ir_func *kernel)
{
    uint64_t n = 0;

    for (uint32_t b = 0; b < kernel->nblocks; b++) {
        const struct ir_block *block = kernel->blocks[b];
        for (uint32_t s = 0; s < block->nsuccs; s++) {
            if (block->succs[s]->id <= block->id) /* blocks are in reverse postorder */
                return 0;
        }
        ir_foreach_instr(in, block) {
            if (in->op == IR_OP_CALL || in->op == IR_OP_CALLI)
                return 0;
            n++;
        }
    }
    return n;
}

static bool module_wants_interp(const struct jit_variant *v, struct jit_size size)
{
    return !v->build && !v->job.kernel->module->has_notes && size.threads <= INTERP_MAX_THREADS &&
           !hd_debug(HD_DEBUG_SYNC) && !hd_fault(HD_FAULT_JIT_BEST) &&
           module_straight_size(v->job.kernel) >= INTERP_MIN_INSTRS && jit_codegen_open();
}

/* For kernels that were interpreted first, quick code comes next. */
static void module_make_in_background(struct jit_task *task, bool cancelled)
{
    struct jit_variant *v = (struct jit_variant *)task;
    bool interpreted = v->build->code.form == JIT_INTERP;

    assert(v->making && v->build->code.quick == v);
    if (cancelled)
        module_variant_finish(v, NULL, HD_CANCELLED);
    else
        (void)!module_variant_make(v, interpreted ? GEN_SOON : GEN_BEST, NULL);
}

/* The caller has made it `making`. False: there is no background. */
static bool module_variant_push(struct jit_variant *v)
{
    assert(jit_codegen_is_open()); /* the background does not open it */
    v->task = (struct jit_task){.run = module_make_in_background,
                                .owner = v->jit,
                                .is_urgent = v->build->code.form == JIT_INTERP};
    return jit_background_push(&v->task);
}

/* True: the slot has code for the launch, and the variant is being made in the background. */
static bool module_interp_start(struct jit_variant *v, struct jit_size size)
{
    struct jit_build *build = module_wants_interp(v, size) ? hd_new(struct jit_build) : NULL;
    assert(v->making && v->slots[0]);

    if (!build)
        return false;
    jit_build_interpret(&v->job, build);
    build->code.max_threads = INTERP_MAX_THREADS;
    build->code.quick = v;
    hd_lock_acquire(&v->jit->lock);
    module_build_add_locked(v, build);
    hd_lock_release(&v->jit->lock);
    if (!module_variant_push(v))
        return false;
    hd_log_debug(HD_DEBUG_JIT, "%s for %s is interpreted until it is compiled", v->job.kernel->name,
                 jit_launch_class_name(v->job.cls));
    return true;
}

/* With the module's lock held, which is released meanwhile: has the best made in the background. */
static void module_improve_locked(struct jit_variant *v)
{
    assert(hd_lock_held(&v->jit->lock));
    if (v->making || v->is_best || !v->build->code.quick || hd_fault(HD_FAULT_JIT_BEST))
        return;
    v->making = true;
    hd_lock_release(&v->jit->lock);
    if (!module_variant_push(v))
        module_variant_finish(v, NULL, HD_CANCELLED);
    hd_lock_acquire(&v->jit->lock);
}

void jit_code_improve(const struct jit_code *code)
{
    struct jit_variant *v = code->quick;

    if (!v)
        return;
    hd_lock_acquire(&v->jit->lock);
    if (jit_codegen_is_open())
        module_improve_locked(v);
    else /* the code came from the cache: the next launch opens the code generator */
        v->launches = QUICK_LAUNCHES;
    hd_lock_release(&v->jit->lock);
}

/* With the module's lock held. */
static const struct jit_build *module_build_of_locked(const struct jit_variant *v,
                                                      const struct jit_code *code)
{
    assert(hd_lock_held(&v->jit->lock));
    for (const struct jit_build *build = v->build; build; build = build->next)
        if (&build->code == code)
            return build;
    return NULL;
}

bool jit_code_origin(struct jit_module *jit, const struct jit_code *code, struct jit_job *out_job,
                     const struct jit_image **out_image)
{
    const struct jit_build *build = NULL;

    hd_lock_acquire(&jit->lock);
    for (const struct jit_variant *v = jit->variants; v && !build; v = v->next) {
        build = module_build_of_locked(v, code);
        *out_job = v->job;
    }
    if (build) {
        out_job->effort = build->quick ? GEN_QUICK : GEN_BEST;
        *out_image = &build->image;
    }
    hd_lock_release(&jit->lock);
    return build && code->form < JIT_INTERP;
}

/* ---- asking for code */

/* Is the code for launches of that size? */
static bool module_code_fits(const struct jit_code *code, struct jit_size size)
{
    return size.threads <= code->max_threads && size.rounds >= code->min_rounds;
}

/*
 * The caller has made the variant `making`. Afterwards it serves the launch, or an error is
 * returned. has_slot: somebody looks for better code later.
 */
static enum hd_status module_variant_start(struct jit_variant *v, struct jit_size size,
                                           bool has_slot)
{
    bool soon = has_slot && jit_background_usable() && !hd_debug(HD_DEBUG_SYNC);
    enum gen_effort effort = size.rounds >= JIT_MANY_ROUNDS ? GEN_MANY : GEN_SOON;
    struct jit_build *cached = v->build ? NULL : module_build_from_cache(v->jit, &v->job);

    if (cached && cached->quick && (!soon || !module_code_fits(&cached->code, size))) {
        jit_build_destroy(cached);
        cached = NULL;
    }
    if (!cached && soon && module_interp_start(v, size))
        return HD_OK;
    return module_variant_make(v, soon ? effort : GEN_BEST, cached);
}

/* Is there code for such launches, or the best if nobody would look for better? */
static bool module_variant_serves(const struct jit_variant *v, struct jit_size size, bool has_slot)
{
    assert(hd_lock_held(&v->jit->lock));
    if (!v->build)
        return false;
    if (!module_code_fits(&v->build->code, size) && !v->is_best)
        return false;
    return has_slot || v->is_best || !v->build->code.quick || hd_fault(HD_FAULT_JIT_BEST);
}

static bool module_codegen_open_locked(struct jit_module *jit)
{
    assert(hd_lock_held(&jit->lock));
    if (jit_codegen_is_open())
        return true;
    hd_lock_release(&jit->lock);
    bool open = jit_codegen_open();
    hd_lock_acquire(&jit->lock);
    return open;
}

/*
 * With one CPU the best code takes twice as long to make while quick code runs, which is several
 * times slower. Once the program has run for a part of what it takes, more launches are likely, and
 * the next one waits.
 */
static bool module_waits_for_best_locked(const struct jit_variant *v)
{
    const struct jit_build *build = v->build;
    uint64_t ran_ns;

    assert(hd_lock_held(&v->jit->lock));
    if (!v->jit->alone || !v->making || !build->quick || !jit_background_usable())
        return false;
    ran_ns = hd_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - v->quick_since_ns;
    return ran_ns > build->best_us * UINT64_C(1000) / WAIT_FOR_BEST_PART;
}

/* With the module's lock held, which is released meanwhile: until the variant serves the launch. */
static enum hd_status module_variant_want_locked(struct jit_variant *v, struct jit_size size,
                                                 bool has_slot)
{
    struct jit_module *jit = v->jit;

    while (!module_variant_serves(v, size, has_slot)) {
        if (v->making && !jit_background_take(&v->task)) {
            hd_lock_wait(&jit->lock, &jit->changed);
            continue;
        }
        v->making = true;
        hd_lock_release(&jit->lock);
        enum hd_status status = module_variant_start(v, size, has_slot);
        hd_lock_acquire(&jit->lock);
        if (status != HD_OK && !module_variant_serves(v, size, has_slot))
            return status;
    }
    if (v->build->code.quick &&
        ++v->launches >= (v->build->code.min_rounds ? QUICK_LAUNCHES_LOOPS : QUICK_LAUNCHES) &&
        module_codegen_open_locked(jit))
        module_improve_locked(v);
    while (module_waits_for_best_locked(v))
        hd_lock_wait(&jit->lock, &jit->changed);
    return HD_OK;
}

/* The class that code is made for: kernels whose warps must be run one by one have one for all. */
static enum jit_launch_class module_class_for(const struct jit_module *jit,
                                              const struct ir_func *kernel,
                                              enum jit_launch_class cls)
{
    bool warps = jit_launch_class_warps(cls) > 1 && jit->path == JIT_AVX512 && !jit->strict &&
                 jit_warps_fit(kernel);
    return warps ? cls : jit_launch_class_single(cls);
}

static enum hd_status module_variant_get(struct jit_module *jit, const struct ir_func *kernel,
                                         enum jit_launch_class cls, struct jit_size size,
                                         jit_slot *slot, const struct jit_code **out_code)
{
    enum hd_status status;

    *out_code = NULL;
    assert(kernel->is_kernel && !kernel->is_declaration && cls < JIT_CLASS_COUNT);
    hd_lock_acquire(&jit->lock);
    struct jit_variant *v =
        module_variant_find_locked(jit, kernel, module_class_for(jit, kernel, cls));
    if (v && slot) {
        /*
         * What whoever makes the variant better stores to as well. A slot stays once it is there,
         * so the maker may look at the first one without the lock.
         */
        unsigned i = 0;

        assert(hd_lock_held(&v->jit->lock));
        while (i + 1 < VARIANT_SLOTS && v->slots[i] && v->slots[i] != slot)
            i++;
        assert(!v->slots[i] || v->slots[i] == slot);
        if (!v->slots[i])
            v->slots[i] = slot;
    }
    status = v ? module_variant_want_locked(v, size, slot != NULL)
               : hd_error(HD_NO_MEMORY, "%s", kernel->name);
    if (status == HD_OK) {
        *out_code = &v->build->code;
        if (slot)
            atomic_store_explicit(slot, &v->build->code, memory_order_release);
    }
    hd_lock_release(&jit->lock);
    return status;
}

enum hd_status jit_kernel_get(struct jit_module *jit, const struct ir_func *kernel,
                              enum jit_launch_class cls, const struct jit_code **out_code)
{
    const struct jit_size any = {.threads = UINT64_MAX};

    return module_variant_get(jit, kernel, cls, any, NULL, out_code);
}

enum hd_status jit_kernel_start(struct jit_module *jit, const struct ir_func *kernel,
                                enum jit_launch_class cls, struct jit_size size, jit_slot *slot)
{
    const struct jit_code *code;

    assert(slot);
    return module_variant_get(jit, kernel, cls, size, slot, &code);
}
