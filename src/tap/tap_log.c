/*
 * HEDDLE_DEBUG=api, mem, and the times of launch: listeners like any other, which write to the log.
 *
 *     cuMemAlloc_v2(dptr=0x7ffc1a40, bytesize=1024) #3
 *     cuMemAlloc_v2 = 0 CUDA_SUCCESS, *dptr=0x7f0000000000 #3
 *
 * The number is the correlation: driver calls inside a runtime call show that one's.
 */
#include "base/log.h"
#include "base/str.h"
#include "hal/packet.h"
#include "tap/tap.h"

#define STRING_MAX 64

static const char *result_name(enum heddle_event_kind kind, int64_t result)
{
    if (kind == HEDDLE_EVENT_DRIVER) {
        switch (result) {
#define X(name, value, text)                                                                       \
    case value:                                                                                    \
        return #name;
#include "api/cuda_errors.def"
#undef X
        }
    } else {
        switch (result) {
#define X(name, value, text)                                                                       \
    case value:                                                                                    \
        return #name;
#include "api/cudart_errors.def"
#undef X
        }
    }
    return "";
}

static void put_string(struct hd_buf *buf, const char *text)
{
    size_t n = text ? strnlen(text, STRING_MAX) : 0;

    if (!text)
        hd_buf_puts(buf, "null");
    else
        hd_buf_printf(buf, "\"%.*s\"%s", (int)n, text, n == STRING_MAX ? "..." : "");
}

static void put_value(struct hd_buf *buf, enum heddle_arg_kind kind, size_t size_B, const void *at)
{
    int64_t i = 0;
    uint64_t u = 0;
    double f = 0;
    const void *p;

    switch (kind) {
    case HEDDLE_ARG_POINTER:
        memcpy(&p, at, sizeof(p));
        hd_buf_printf(buf, "%p", p);
        return;
    case HEDDLE_ARG_STRING:
        memcpy(&p, at, sizeof(p));
        put_string(buf, p);
        return;
    case HEDDLE_ARG_INT:
        i = size_B == 1   ? *(const int8_t *)at
            : size_B == 2 ? *(const int16_t *)at
            : size_B == 4 ? *(const int32_t *)at
                          : *(const int64_t *)at;
        hd_buf_printf(buf, "%lld", (long long)i);
        return;
    case HEDDLE_ARG_UINT:
        memcpy(&u, at, HD_MIN(size_B, sizeof(u))); /* little endian */
        hd_buf_printf(buf, u >> 32 ? "0x%llx" : "%llu", (unsigned long long)u);
        return;
    case HEDDLE_ARG_FLOAT:
        f = size_B == sizeof(float) ? (double)*(const float *)at : *(const double *)at;
        hd_buf_printf(buf, "%g", f);
        return;
    case HEDDLE_ARG_STRUCT:
        hd_buf_printf(buf, "{%zu bytes}", size_B);
        return;
    }
}

/* What a successful call wrote. */
static void put_results(struct hd_buf *buf, const struct heddle_entry *entry, const void *args)
{
    for (uint32_t i = 0; i < entry->nargs; i++) {
        const struct heddle_arg *a = &entry->args[i];
        const void *target;

        if (a->direction == HEDDLE_ARG_IN || !a->target_B)
            continue;
        memcpy(&target, (const char *)args + a->offset_B, sizeof(target));
        if (!target || a->target_kind == HEDDLE_ARG_STRUCT)
            continue;
        hd_buf_printf(buf, ", *%s=", a->name);
        put_value(buf, (enum heddle_arg_kind)a->target_kind, a->target_B, target);
    }
}

static void log_call(void *user, const struct heddle_event *e)
{
    struct hd_buf buf;

    (void)user;
    hd_buf_init(&buf);
    hd_buf_puts(&buf, e->call.entry->name);
    if (e->phase == HEDDLE_PHASE_BEGIN) {
        hd_buf_puts(&buf, "(");
        for (uint32_t i = 0; i < e->call.entry->nargs; i++) {
            const struct heddle_arg *a = &e->call.entry->args[i];
            hd_buf_printf(&buf, "%s%s=", i ? ", " : "", a->name);
            put_value(&buf, (enum heddle_arg_kind)a->kind, a->size_B,
                      (const char *)e->call.args + a->offset_B);
        }
        hd_buf_puts(&buf, ")");
    } else {
        hd_buf_printf(&buf, " = %lld %s", (long long)e->call.result,
                      result_name((enum heddle_event_kind)e->kind, e->call.result));
        if (!e->call.result)
            put_results(&buf, e->call.entry, e->call.args);
    }
    hd_log_debug(HD_DEBUG_API, "%s #%llu", buf.ptr ? buf.ptr : "",
                 (unsigned long long)e->correlation);
    hd_buf_fini(&buf);
}

static void log_memory(void *user, const struct heddle_event *e)
{
    (void)user;
    hd_log_debug(HD_DEBUG_MEM, "%s %llu bytes at 0x%llx #%llu",
                 e->memory.is_freed ? "free" : "alloc", (unsigned long long)e->memory.size_B,
                 (unsigned long long)e->memory.va, (unsigned long long)e->correlation);
}

static void log_retired(void *user, const struct heddle_event *e)
{
    (void)user;
    if (e->packet.op == HAL_OP_DISPATCH)
        hd_log_debug(HD_DEBUG_LAUNCH, "launch took %.3f us #%llu",
                     (double)(e->packet.end_ns - e->packet.start_ns) * 1e-3,
                     (unsigned long long)e->correlation);
}

void tap_log_init(void)
{
    if (hd_debug(HD_DEBUG_LAUNCH))
        (void)heddle_tap_subscribe(HEDDLE_KIND(RETIRED), log_retired, NULL);
    if (hd_debug(HD_DEBUG_MEM))
        (void)heddle_tap_subscribe(HEDDLE_KIND(MEMORY), log_memory, NULL);
    if (hd_debug(HD_DEBUG_API))
        (void)heddle_tap_subscribe(HEDDLE_KIND(DRIVER) | HEDDLE_KIND(RUNTIME), log_call, NULL);
}
