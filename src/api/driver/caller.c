/* What exported functions do when their body fails: which call of the program it was, and why. */
#include <stdio.h>

#include "api/driver/caller.h"
#include "api/driver/error_log.h"

/* The message without the name of the call, which the log has anyway. */
static const char *without_name(const char *message, const char *symbol)
{
    size_t len = strlen(symbol);

    return !strncmp(message, symbol, len) && !strncmp(message + len, ": ", 2) ? message + len + 2
                                                                              : message;
}

/*
 * The thread's message is the reason of a driver call that has failed now: it is new, and not one
 * of another result. Each is a reason once.
 */
static bool take_message(struct heddle_caller *c, int result)
{
    uint32_t count = hd_error_count();

    if (count == c->notified)
        return false;
    c->notified = count;
    return *hd_error_message() && (count != c->result_count || c->result == result);
}

/* Why the current context has failed; NULL: it has not, or with another result. */
static const char *context_failure(int result)
{
    struct core_context *ctx = core_current();
    enum hd_status status = ctx ? core_context_status(ctx) : HD_OK;

    return status != HD_OK && (int)drv_result(status) == result ? core_context_failure(ctx) : NULL;
}

static void notify(struct heddle_caller *c, const char *source, const char *symbol, const char *why,
                   const char *name)
{
    unsigned outer = c->outer;
    char line[1152];

    snprintf(line, sizeof(line), "%s (%s)", without_name(why, symbol), name);
    c->outer = c->depth;
    error_log_add(CU_LOG_LEVEL_ERROR, source, symbol, line);
    c->outer = outer;
}

HD_EXPORT void heddle_driver_failed(const char *symbol, int result, const char *name,
                                    const char *text)
{
    struct heddle_caller *c = &drv_caller;
    const char *why;
    bool has_message;

    if (result == CUDA_ERROR_NOT_READY)
        return; /* an answer */
    has_message = take_message(c, result);
    if (c->depth > c->outer) {
        c->inner_result = result;
        c->inner_count = has_message ? c->notified : 0;
        return;
    }
    why = has_message ? hd_error_message() : context_failure(result);
    notify(c, "CUDA", symbol, why ? why : text, name);
}

HD_EXPORT void heddle_runtime_failed(const char *symbol, int result, const char *name,
                                     const char *text)
{
    struct heddle_caller *c = &drv_caller;
    const char *why = NULL;

    assert(c->depth > c->outer);
    if (result == CUDA_ERROR_NOT_READY || c->depth > c->outer + 1)
        return;
    if (c->inner_result == result && c->inner_count && c->inner_count == hd_error_count())
        why = hd_error_message();
    if (!why)
        why = context_failure(result);
    notify(c, "CUDART", symbol, why ? why : text, name);
}
