/* See jit.h. */
#include "api/driver/module/jit.h"
#include "base/clock.h"
#include "base/mem.h"

#include <string.h>
#include <time.h>

/* What a value may be. */
enum jit_kind {
    JIT_ANY,     /* a hint */
    JIT_BELOW,   /* a hint, a number below `limit` */
    JIT_TARGET,  /* a compute capability */
    JIT_ANSWER,  /* taken by drv_jit_begin() itself */
    JIT_LINK,    /* of link-time optimisation, likewise */
    JIT_REFUSED, /* has an effect, which is missing */
};

struct jit_row {
    const char *name;
    enum jit_kind kind;
    uintptr_t limit;
};

static const struct jit_row rows[CU_JIT_NUM_OPTIONS] = {
#define ROW(option, ...) [option] = {#option, __VA_ARGS__}
    ROW(CU_JIT_MAX_REGISTERS, JIT_ANY, 0),
    ROW(CU_JIT_THREADS_PER_BLOCK, JIT_ANY, 0),
    ROW(CU_JIT_WALL_TIME, JIT_ANSWER, 0),
    ROW(CU_JIT_INFO_LOG_BUFFER, JIT_ANSWER, 0),
    ROW(CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, JIT_ANSWER, 0),
    ROW(CU_JIT_ERROR_LOG_BUFFER, JIT_ANSWER, 0),
    ROW(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, JIT_ANSWER, 0),
    ROW(CU_JIT_OPTIMIZATION_LEVEL, JIT_BELOW, 5),
    ROW(CU_JIT_TARGET_FROM_CUCONTEXT, JIT_ANY, 0),
    ROW(CU_JIT_TARGET, JIT_TARGET, 0),
    ROW(CU_JIT_FALLBACK_STRATEGY, JIT_BELOW, 2),
    ROW(CU_JIT_GENERATE_DEBUG_INFO, JIT_ANY, 0),
    ROW(CU_JIT_LOG_VERBOSE, JIT_ANY, 0),
    ROW(CU_JIT_GENERATE_LINE_INFO, JIT_ANY, 0),
    ROW(CU_JIT_CACHE_MODE, JIT_BELOW, 3),
    ROW(CU_JIT_NEW_SM3X_OPT, JIT_ANY, 0),
    ROW(CU_JIT_FAST_COMPILE, JIT_ANY, 0),
    ROW(CU_JIT_GLOBAL_SYMBOL_NAMES, JIT_REFUSED, 0),
    ROW(CU_JIT_GLOBAL_SYMBOL_ADDRESSES, JIT_REFUSED, 0),
    ROW(CU_JIT_GLOBAL_SYMBOL_COUNT, JIT_REFUSED, 0),
    ROW(CU_JIT_LTO, JIT_LINK, 0),
    ROW(CU_JIT_FTZ, JIT_ANY, 0),
    ROW(CU_JIT_PREC_DIV, JIT_ANY, 0),
    ROW(CU_JIT_PREC_SQRT, JIT_ANY, 0),
    ROW(CU_JIT_FMA, JIT_ANY, 0),
    ROW(CU_JIT_REFERENCED_KERNEL_NAMES, JIT_LINK, 0),
    ROW(CU_JIT_REFERENCED_KERNEL_COUNT, JIT_LINK, 0),
    ROW(CU_JIT_REFERENCED_VARIABLE_NAMES, JIT_LINK, 0),
    ROW(CU_JIT_REFERENCED_VARIABLE_COUNT, JIT_LINK, 0),
    ROW(CU_JIT_OPTIMIZE_UNUSED_DEVICE_VARIABLES, JIT_LINK, 0),
    ROW(CU_JIT_POSITION_INDEPENDENT_CODE, JIT_ANY, 0),
    ROW(CU_JIT_MIN_CTA_PER_SM, JIT_ANY, 0),
    ROW(CU_JIT_MAX_THREADS_PER_BLOCK, JIT_ANY, 0),
    ROW(CU_JIT_OVERRIDE_DIRECTIVE_VALUES, JIT_ANY, 0),
    ROW(CU_JIT_SPLIT_COMPILE, JIT_ANY, 0),
#undef ROW
};

static uint64_t now_ns(void)
{
    return hd_clock_ns(CLOCK_MONOTONIC);
}

/* 90, or 65626 for 90a: the variant is in the upper half. */
static CUresult target_check(uintptr_t value)
{
    const struct core_device *d = core_device_at(0);
    unsigned cc = (unsigned)(d->cc_major * 10 + d->cc_minor), target = value & 0xffff;

    if (target < CU_TARGET_COMPUTE_30 || value >> 16 > 2)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "CU_JIT_TARGET: %llu is no target",
                         (unsigned long long)value);
    if (target > cc)
        return drv_error(CUDA_ERROR_NO_BINARY_FOR_GPU, "CU_JIT_TARGET: sm_%u, the device is sm_%u",
                         target, cc);
    return CUDA_SUCCESS;
}

static CUresult option_check(CUjit_option option, void *value)
{
    const struct jit_row *row = &rows[option];

    switch (row->kind) {
    case JIT_ANY:
    case JIT_ANSWER:
    case JIT_LINK:
        return CUDA_SUCCESS;
    case JIT_BELOW:
        if ((uintptr_t)value < row->limit)
            return CUDA_SUCCESS;
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%s: %llu is not below %llu", row->name,
                         (unsigned long long)(uintptr_t)value, (unsigned long long)row->limit);
    case JIT_TARGET:
        return target_check((uintptr_t)value);
    case JIT_REFUSED:
        break;
    }
    return drv_error(CUDA_ERROR_NOT_SUPPORTED, "%s is not implemented", row->name);
}

/* False for what is no answer. */
static bool answer_take(struct drv_jit *jit, CUjit_option option, void **value)
{
    switch ((int)option) {
    case CU_JIT_WALL_TIME:
        jit->out_time = value;
        return true;
    case CU_JIT_INFO_LOG_BUFFER:
        jit->info.text = *value;
        return true;
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        jit->info.size_B = (uint32_t)(uintptr_t)*value;
        jit->info.out_B = value;
        return true;
    case CU_JIT_ERROR_LOG_BUFFER:
        jit->error.text = *value;
        return true;
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        jit->error.size_B = (uint32_t)(uintptr_t)*value;
        jit->error.out_B = value;
        return true;
    default:
        return false;
    }
}

/* False for what does not speak of link-time optimisation. */
static bool lto_take(struct drv_jit *jit, CUjit_option option, void *value)
{
    switch ((int)option) {
    case CU_JIT_LTO:
        jit->lto = (uintptr_t)value;
        return true;
    case CU_JIT_OPTIMIZE_UNUSED_DEVICE_VARIABLES:
        jit->drops_variables = (uintptr_t)value;
        return true;
    case CU_JIT_REFERENCED_KERNEL_NAMES:
        jit->kernels.at = value;
        return true;
    case CU_JIT_REFERENCED_KERNEL_COUNT:
        jit->kernels.count = (uint32_t)(uintptr_t)value;
        return true;
    case CU_JIT_REFERENCED_VARIABLE_NAMES:
        jit->variables.at = value;
        return true;
    case CU_JIT_REFERENCED_VARIABLE_COUNT:
        jit->variables.count = (uint32_t)(uintptr_t)value;
        return true;
    default:
        return false;
    }
}

static CUresult names_check(const struct drv_jit_names *names, const char *option)
{
    if (names->count && !names->at)
        return drv_error(CUDA_ERROR_INVALID_VALUE, "CU_JIT_REFERENCED_%s_COUNT is %u without names",
                         option, names->count);
    for (unsigned i = 0; i < names->count; i++)
        if (!names->at[i])
            return drv_error(CUDA_ERROR_INVALID_VALUE,
                             "CU_JIT_REFERENCED_%s_NAMES: name %u is a null pointer", option, i);
    return CUDA_SUCCESS;
}

CUresult drv_jit_begin(struct drv_jit *jit, unsigned count, const CUjit_option *options,
                       void **values)
{
    *jit = (struct drv_jit){.start_ns = now_ns()};
    if (count && (!options || !values))
        return drv_error(CUDA_ERROR_INVALID_VALUE, "%u options, but no array of them", count);
    for (unsigned i = 0; i < count; i++) {
        CUresult result;

        if ((unsigned)options[i] >= CU_JIT_NUM_OPTIONS)
            return drv_error(CUDA_ERROR_INVALID_VALUE, "there is no JIT option %d",
                             (int)options[i]);
        if (answer_take(jit, options[i], &values[i]) || lto_take(jit, options[i], values[i]))
            continue;
        result = option_check(options[i], values[i]);
        if (result != CUDA_SUCCESS)
            return result;
    }
    CUresult result = names_check(&jit->kernels, "KERNEL");

    return result == CUDA_SUCCESS ? names_check(&jit->variables, "VARIABLE") : result;
}

static size_t names_size_B(const struct drv_jit_names *names)
{
    size_t size_B = names->count * sizeof(*names->at);

    for (unsigned i = 0; i < names->count; i++)
        size_B += strlen(names->at[i]) + 1;
    return hd_align_up(size_B, sizeof(*names->at));
}

/* Into `room`, of names_size_B(). */
static void names_copy(struct drv_jit_names *names, char *room)
{
    const char **at = (void *)room;
    char *text = room + names->count * sizeof(*at);

    for (unsigned i = 0; i < names->count; i++) {
        size_t size_B = strlen(names->at[i]) + 1;

        at[i] = memcpy(text, names->at[i], size_B);
        text += size_B;
    }
    names->at = at;
}

struct drv_jit *drv_jit_keep(const struct drv_jit *jit)
{
    size_t kernels_B = names_size_B(&jit->kernels);
    struct drv_jit *kept = hd_alloc(sizeof(*kept) + kernels_B + names_size_B(&jit->variables));

    if (!kept)
        return NULL;
    *kept = *jit;
    names_copy(&kept->kernels, (char *)(kept + 1));
    names_copy(&kept->variables, (char *)(kept + 1) + kernels_B);
    return kept;
}

void drv_jit_resume(struct drv_jit *jit)
{
    jit->start_ns = now_ns();
}

/* How much of the buffer is filled, with the NUL, goes where its size came from. */
static void log_write(const struct drv_jit_log *log, const char *text)
{
    size_t filled_B = 0;

    if (log->text && log->size_B) {
        filled_B = HD_MIN(strlen(text), log->size_B - 1);
        memcpy(log->text, text, filled_B);
        log->text[filled_B] = '\0';
        filled_B += filled_B > 0;
    }
    if (log->out_B)
        *log->out_B = (void *)(uintptr_t)filled_B;
}

CUresult drv_jit_end(struct drv_jit *jit, const char *name, enum hd_status status,
                     const char *error)
{
    bool logged = jit->error.text && jit->error.size_B;
    const char *text = status == HD_OK ? "" : error ? error : hd_error_message();
    float time_ms;

    jit->spent_ns += now_ns() - jit->start_ns;
    time_ms = (float)jit->spent_ns / 1e6f;
    log_write(&jit->error, text);
    log_write(&jit->info, "");
    if (jit->out_time)
        memcpy(jit->out_time, &time_ms, sizeof(time_ms));
    return logged ? drv_result(status) : drv_code_result(name, status);
}
