/*
 * The chain of forms: fast, plain, simple, interpreted. What goes wrong in one leads to the next.
 */
#include "analysis/analysis.h"
#include "jit/jit_private.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"

#define MXCSR_DEFAULT 0x1f80u

/* A launch in quick code is a long one when it takes as long as the best code does to make, at most
 * this. */
#define IMPROVE_MAX_NS 20000000u

static const char *const form_names[] = {
#define X(name, text, doc) [JIT_##name] = text,
    JIT_FORM_LIST(X)
#undef X
};

static const enum hd_fault form_faults[] = {
#define X(name, text, doc) [JIT_##name] = HD_FAULT_JIT_##name,
    JIT_GENERATED_FORM_LIST(X)
#undef X
};
_Static_assert(HD_COUNT_OF(form_faults) == JIT_INTERP, "the generated forms come first");

const char *jit_form_name(enum jit_form form)
{
    assert(form < JIT_FORM_COUNT);
    return form_names[form];
}

/* ---- from an object to code */

enum hd_status jit_build_link(const struct jit_job *job, enum jit_form form,
                              const struct gen_facts *facts, const uint8_t *object, size_t object_B,
                              struct jit_build *build)
{
    const char *name = facts->has_run_cta ? "heddle_run_cta" : "heddle_kernel";

    assert(form < JIT_INTERP && !build->image.base);
    HD_TRY(jit_link(object, object_B, &build->image));
    void *entry = jit_image_symbol(object, object_B, &build->image, name);
    if (!entry) {
        jit_image_fini(&build->image);
        return hd_error(HD_JIT, "kernel object of %s: no entry point", job->kernel->name);
    }
    jit_perf_note(job->kernel->name, &build->image);
    build->code = (struct jit_code){
        .form = form,
        .frame_B = facts->frame_B,
        .mxcsr = facts->mxcsr,
        .has_barrier = facts->has_barrier && (!facts->has_run_cta || facts->has_votes),
        .simple_barriers = facts->simple_barriers,
        .may_spin = facts->may_spin,
        .may_wait = facts->may_spin,
        .in_order = facts->in_order,
        .waits_in_calls = facts->waits_in_calls,
        .max_threads = UINT64_MAX,
        .min_rounds = facts->many ? JIT_MANY_ROUNDS : 0,
        .cost_ops = facts->cost_ops,
        .improve_ns = HD_MIN(facts->best_us * UINT64_C(1000), IMPROVE_MAX_NS),
        .base = (uintptr_t)build->image.base,
        .size_B = build->image.size_B,
    };
    if (facts->has_run_cta)
        memcpy(&build->code.run_cta, &entry, sizeof(entry));
    else
        memcpy(&build->code.run, &entry, sizeof(entry));
    build->quick = facts->quick;
    build->best_us = facts->best_us;
    assert(build->code.frame_B % 64 == 0 && !build->code.run != !build->code.run_cta);
    return HD_OK;
}

/* It may wait for anything, so workers keep its CTAs resident and go on with other work. */
void jit_build_interpret(const struct jit_job *job, struct jit_build *build)
{
    build->code = (struct jit_code){.form = JIT_INTERP,
                                    .mxcsr = MXCSR_DEFAULT,
                                    .may_spin = true,
                                    .may_wait = ir_may_wait(job->kernel->module),
                                    .max_threads = UINT64_MAX,
                                    .cost_ops = UINT64_MAX,
                                    .improve_ns = IMPROVE_MAX_NS};
}

/* ---- one form */

uint64_t jit_now_us(void)
{
    return hd_clock_ns(CLOCK_MONOTONIC) / 1000;
}

/* Names of passes, the former ones behind all others. */
static const struct {
    const char *name;
    enum gen_pass pass;
} pass_names[] = {
#define X(NAME, text, ...) {text, GEN_PASS_##NAME},
#include "gen_passes.def"
#define OLD(text, NAME) {text, GEN_PASS_##NAME},
#include "gen_passes.def"
};

static uint32_t form_passes_to_skip(void)
{
    struct hd_str list = hd_str_from(hd_env("HEDDLE_SKIP_PASS"));
    uint32_t skip = 0;

    for (unsigned i = 0; i < HD_COUNT_OF(pass_names); i++)
        skip |= (uint32_t)hd_str_lists(list, pass_names[i].name) << pass_names[i].pass;
    return skip;
}

void jit_passes_print(uint32_t passes, struct hd_buf *out)
{
    const char *comma = "";

    assert(!(passes >> 1 >> (GEN_PASS_COUNT - 1)));
    for (unsigned i = 0; i < GEN_PASS_COUNT; i++) {
        assert(pass_names[i].pass == i);
        if (!(passes >> i & 1))
            continue;
        hd_buf_printf(out, "%s%s", comma, pass_names[i].name);
        comma = ",";
    }
}

struct gen_request jit_request(const struct jit_job *job, enum jit_form form)
{
    const struct tune_point *tuning = &job->tuning;
    uint32_t lanes = tune_number(tuning, TUNE_LANES), warps = lanes / 32;
    uint32_t skip = form_passes_to_skip() | tune_skipped(tuning, TUNE_CPU);

    assert(form < JIT_INTERP);
    if (lanes && warps <= 1)
        skip |= 1u << GEN_PASS_COARSEN;
    if (lanes && warps >= 1)
        skip |= 1u << GEN_PASS_HALVES;
    return (struct gen_request){
        .kernel = job->kernel,
        .cls = job->cls,
        .path = job->path,
        .form = (enum gen_form)form,
        .effort = job->effort,
        .features = job->features,
        .skip = skip,
        .warps = warps,
        .ahead = tune_number(tuning, TUNE_AHEAD),
        .unrolled = tune_number(tuning, TUNE_UNROLLED),
        .strict = job->strict,
        .alone = job->alone,
        .verify = hd_debug(HD_DEBUG_VALIDATE),
        .coarsen = warps > 1 || hd_fault(HD_FAULT_JIT_SINGLY),
        .halves = (lanes && !warps) || hd_fault(HD_FAULT_JIT_WHOLE),
        .break_llvm = form == JIT_FAST && hd_fault(HD_FAULT_JIT_LLVM),
        .crash = form == JIT_FAST && hd_fault(HD_FAULT_JIT_CRASH),
        .shallow = form == JIT_FAST && hd_fault(HD_FAULT_JIT_STACK),
        .hang = form == JIT_FAST && hd_fault(HD_FAULT_JIT_HANG),
    };
}

static enum hd_status form_generate(const struct jit_job *job, enum jit_form form,
                                    struct jit_build *build)
{
    const struct gen_request req = jit_request(job, form);
    struct gen_result *result = &build->result;
    char pending[JIT_REPORT_PATH_B];
    uint64_t start = jit_now_us();

    jit_report_begin(job, pending);
    enum hd_status status = jit_codegen(&req, result);
    jit_report_end(pending);

    if (result->llvm_text)
        hd_log_dump(HD_DEBUG_LLVM, job->kernel->name, result->llvm_text);
    if (result->post_text)
        hd_log_dump(HD_DEBUG_POST, job->kernel->name, result->post_text);
    if (result->asm_text)
        hd_log_dump(HD_DEBUG_ASM, job->kernel->name, result->asm_text);
    if (status == HD_OK)
        status = jit_build_link(job, form, &result->facts, result->object, result->object_B, build);
    struct hd_buf fired;
    hd_buf_init(&fired);
    jit_passes_print(result->facts.fired, &fired);
    hd_log_debug(HD_DEBUG_JIT,
                 "%s %s for %s (%s, %s, warps at once: %u%s): %llu us, %zu bytes, frame %llu; "
                 "passes: %s",
                 status == HD_OK ? "compiled" : "could not compile", job->kernel->name,
                 jit_launch_class_name(job->cls), jit_path_name(job->path), jit_form_name(form),
                 result->facts.warps, result->facts.quick ? ", quick" : "",
                 (unsigned long long)(jit_now_us() - start), result->object_B,
                 (unsigned long long)result->facts.frame_B, fired.ptr ? fired.ptr : "");
    hd_buf_fini(&fired);
    if (status != HD_OK)
        jit_result_fini(result);
    return status;
}

static enum hd_status try_form(const struct jit_job *job, enum jit_form form,
                               struct jit_build *build)
{
    assert(!build->image.base); /* nothing is left of a form that failed */
    if (form == JIT_INTERP) {
        jit_build_interpret(job, build);
        return HD_OK;
    }
    if (hd_fault(form_faults[form])) {
        build->lasting = false;
        return hd_error(HD_JIT, "told to fail by HEDDLE_FAULT");
    }
    enum hd_status status = form_generate(job, form, build);
    if (status == HD_NOT_FOUND) /* an installation may be repaired */
        build->lasting = false;
    return status;
}

/* ---- the chain */

static struct jit_build *form_build_create(const struct jit_job *job)
{
    struct jit_build *build = hd_new(struct jit_build);

    if (build)
        build->lasting = true;
    else
        (void)!hd_error(HD_NO_MEMORY, "kernel %s", job->kernel->name);
    return build;
}

enum hd_status jit_build_form(const struct jit_job *job, enum jit_form form,
                              struct jit_build **out_build)
{
    struct jit_build *build = form_build_create(job);
    enum hd_status status = build ? try_form(job, form, build) : HD_NO_MEMORY;

    *out_build = build;
    if (status == HD_OK)
        return HD_OK;
    jit_build_destroy(build);
    *out_build = NULL;
    return status;
}

enum hd_status jit_build_make(const struct jit_job *job, struct jit_build **out_build)
{
    struct jit_build *build = form_build_create(job);
    enum hd_status status = build ? HD_OK : HD_NO_MEMORY;

    *out_build = NULL;
    assert(job->form <= job->last && job->last < JIT_FORM_COUNT);
    for (enum jit_form form = job->form; build && form <= job->last; form++) {
        status = try_form(job, form, build);
        if (status == HD_OK || status == HD_NO_MEMORY || status == HD_CANCELLED)
            break;
        size_t len = strlen(build->reason);
        snprintf(build->reason + len, sizeof(build->reason) - len, "%s%s: %s", len ? "; " : "",
                 jit_form_name(form), hd_error_message());
        if (hd_fault(HD_FAULT_JIT_NEXT))
            break;
    }
    if (status != HD_OK) {
        jit_build_destroy(build);
        return status;
    }
    assert(build->code.form >= job->form && (build->code.form == job->form) == !build->reason[0]);
    *out_build = build;
    return HD_OK;
}

void jit_build_announce(const struct jit_job *job, const struct jit_build *build)
{
    enum jit_form form = build->code.form;
    char path[JIT_REPORT_PATH_B];

    if (!build->reason[0])
        return;
    bool reported = jit_report_failure(job, build, path);
    hd_log("kernel %s (%s, %s) runs in its %s form, which is slower: %s%s%s", job->kernel->name,
           jit_launch_class_name(job->cls), jit_path_name(job->path), jit_form_name(form),
           build->reason,
           reported                  ? "; `heddle replay` takes "
           : hd_env("HEDDLE_REPORT") ? ""
                                     : "; with HEDDLE_REPORT=dir you get a file to report it with",
           reported ? path : "");
}

void jit_build_strip(struct jit_build *build)
{
    jit_result_fini(&build->result);
}

void jit_build_destroy(struct jit_build *build)
{
    if (!build)
        return;
    jit_image_fini(&build->image);
    jit_result_fini(&build->result);
    hd_free(build);
}
