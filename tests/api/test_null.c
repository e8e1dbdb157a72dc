/*
 * Every entry point of the table with nothing but zeros: before cuInit(), with a context and
 * without one. None crashes, and none succeeds whose table says that a pointer must not be null.
 */
#include "driver_fixture.h"
#include "core/notify.h"

extern const struct heddle_entry driver_entries[];

typedef CUresult (*any_call)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                             uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static const struct {
    any_call call;
    enum driver_entry entry;
} rows[] = {
#define X(symbol, ...) {(any_call)(void *)symbol, DRIVER_ENTRY_##symbol},
#include "api/driver.def"
#undef X
};

/* A typed pointer that the callee needs; whether it needs a void * depends on sizes. */
static const char *needed(const struct heddle_entry *entry)
{
    for (uint32_t i = 0; i < entry->nargs; i++) {
        const struct heddle_arg *a = &entry->args[i];
        size_t n = strlen(a->type);

        if (a->type[n - 1] == '*' && !strstr(a->type, "void *") && !a->may_be_null)
            return a->name;
    }
    return NULL;
}

static void call_all(CUcontext ctx, const char *when)
{
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        const struct heddle_entry *entry = &driver_entries[rows[i].entry];
        const char *name = needed(entry);
        CUresult result;

        if (ctx && cuCtxSetCurrent(ctx))
            abort();
        if (!ctx && !strcmp(entry->name, "cuInit"))
            continue;
        result = rows[i].call(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        if (name && result == CUDA_SUCCESS)
            ok(false, "%s: %s takes a null %s", when, entry->name, name);
        if (result == CUDA_ERROR_UNKNOWN)
            ok(false, "%s: %s does not know why", when, entry->name);
    }
    ok(true, "%s", when);
}

int main(void)
{
    CUcontext ctx;

    setenv("HEDDLE_MEMORY", "256M", 1);
    call_all(NULL, "before cuInit()");
    success(cuInit(0), "cuInit");
    call_all(NULL, "without a context");
    success(cuCtxCreate_v2(&ctx, 0, 0), "context");
    call_all(ctx, "with a context");
    success(cuCtxSetCurrent(ctx), "the context");
    success(cuCtxDestroy_v2(ctx), "is still there");
    return done();
}
