/* Around every exported function: which call of the program it belongs to, and why it failed. */
#include <stdio.h>

#include "api/driver/describe.h"
#include "api/driver/error_log.h"
#include "hal/hal.h"

struct heddle_caller {
    unsigned depth;   /* calls that the thread is in */
    unsigned outer;   /* as many of them are around a callback: the next one is the program's */
    uint32_t errors;  /* hd_error_count() when the program's call began */
    int inner_result; /* what a call inside it failed with last; 0: none has */
};

static HD_THREAD_LOCAL struct heddle_caller caller;

HD_EXPORT struct heddle_caller *heddle_call_enter(void)
{
    struct heddle_caller *c = &caller;

    if (c->depth++ == c->outer) {
        c->errors = hd_error_count();
        c->inner_result = 0;
    }
    return c;
}

HD_EXPORT void heddle_call_leave(struct heddle_caller *c)
{
    assert(c->depth > c->outer);
    c->depth--;
}

/* The message without the name of the call, which the log has anyway. */
static const char *without_name(const char *message, const char *symbol)
{
    size_t len = strlen(symbol);

    return !strncmp(message, symbol, len) && !strncmp(message + len, ": ", 2) ? message + len + 2
                                                                              : message;
}

/* Why the current context has failed; NULL: it has not, or with another result. */
static const char *context_failure(int result)
{
    struct core_context *ctx = core_current();
    enum hd_status status = ctx ? core_context_status(ctx) : HD_OK;

    return status != HD_OK && (int)drv_result(status) == result ? ctx->domain->fault->message
                                                                : NULL;
}

/*
 * The message of this call; what it, or a driver call that it failed for, has said last. A message
 * from before the call, or of a driver call whose failure the runtime has coped with, is none.
 */
static const char *reason(const struct heddle_caller *c, bool is_driver, int result)
{
    if (hd_error_count() != c->errors && (is_driver || c->inner_result == result))
        return hd_error_message();
    return context_failure(result);
}

static void tell(struct heddle_caller *c, const char *source, const char *symbol, const char *text)
{
    unsigned outer = c->outer;

    c->outer = c->depth;
    error_log_add(CU_LOG_LEVEL_ERROR, source, symbol, text);
    c->outer = outer;
}

HD_EXPORT void heddle_call_failed(struct heddle_caller *c, const char *source, const char *symbol,
                                  int result, const char *name, const char *text)
{
    const char *why;
    char line[1152];

    assert(result && c->depth > c->outer);
    if (result == CUDA_ERROR_NOT_READY)
        return; /* an answer */
    if (c->depth > c->outer + 1) {
        c->inner_result = result;
        return;
    }
    why = reason(c, !strcmp(source, "CUDA"), result);
    snprintf(line, sizeof(line), "%s (%s)", why && *why ? without_name(why, symbol) : text, name);
    tell(c, source, symbol, line);
}
