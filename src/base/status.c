#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "base/stack.h"
#include "base/str.h"

#define ERROR_MESSAGE_B 1024

static HD_THREAD_LOCAL void *error_message; /* ERROR_MESSAGE_B; NULL: none so far, or no memory */
static HD_THREAD_LOCAL uint32_t error_count;

const char *hd_status_text(enum hd_status status)
{
    switch (status) {
#define X(name, value, text)                                                                       \
    case HD_##name:                                                                                \
        return text;
        HD_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}

const char *hd_status_name(enum hd_status status)
{
    switch (status) {
#define X(name, value, text)                                                                       \
    case HD_##name:                                                                                \
        return #name;
        HD_STATUS_LIST(X)
#undef X
    }
    return "UNKNOWN";
}

enum hd_status hd_error(enum hd_status status, const char *fmt, ...)
{
    /* The arguments may point into the old message: format aside, then replace it. */
    char message[4 * ERROR_MESSAGE_B];
    va_list args;
    char *kept;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    kept = hd_thread_block(&error_message, ERROR_MESSAGE_B);
    if (kept)
        hd_text_fit(kept, ERROR_MESSAGE_B, message);
    error_count++;
    if (hd_debug(HD_DEBUG_ERROR))
        hd_log_debug(HD_DEBUG_ERROR, "%s: %s", hd_status_name(status), message);
    return status;
}

const char *hd_error_message(void)
{
    return error_message ? error_message : "";
}

void hd_error_clear(void)
{
    if (error_message)
        *(char *)error_message = '\0';
}

uint32_t hd_error_count(void)
{
    return error_count;
}
