/*
 * The table of entry points: what is missing gets an export that says so, and cuGetProcAddress()
 * finds symbols by name and version.
 */
#include "api/driver/driver.h"
#include "base/log.h"

CUresult drv_missing(const char *name, _Atomic bool *logged)
{
    if (!atomic_exchange(logged, true))
        hd_log("%s is not implemented", name);
    return drv_error(CUDA_ERROR_NOT_SUPPORTED, "%s is not implemented", name);
}

/* Entry points that are missing. Arguments are not looked at. */
#define ENTRY_YES(symbol)
#define ENTRY_NO(symbol)                                                                           \
    HD_EXPORT CUresult symbol(void);                                                               \
    HD_EXPORT CUresult symbol(void)                                                                \
    {                                                                                              \
        static _Atomic bool logged;                                                                \
        return drv_missing(#symbol, &logged);                                                      \
    }
#define X(symbol, name, since, streams, have) ENTRY_##have(symbol)
#include "api/driver.def"
#undef X

/* The _ptsz forms are not declared in cuda_abi.h; only their addresses matter here. */
#undef ENTRY_YES
#undef ENTRY_NO
#define ENTRY_ANY_YES(symbol)
#define ENTRY_ANY_NO(symbol)
#define ENTRY_PER_THREAD_YES(symbol) extern CUresult symbol();
#define ENTRY_PER_THREAD_NO(symbol)
#define X(symbol, name, since, streams, have) ENTRY_##streams##_##have(symbol)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#if defined(__clang__)
#pragma GCC diagnostic ignored "-Wdeprecated-non-prototype"
#endif
#include "api/driver.def"
#pragma GCC diagnostic pop
#undef X

enum streams { STREAMS_ANY, STREAMS_PER_THREAD };

struct entry {
    const char *name;
    int since;
    enum streams streams;
    void *func;
};

static const struct entry entries[] = {
#define X(symbol, name, since, streams, have) {#name, since, STREAMS_##streams, (void *)symbol},
#include "api/driver.def"
#undef X
};

struct found {
    void *func;
    int since;
    bool name_known;
};

/* The newest symbol of that name that the version knows, of one stream kind. */
static struct found entry_find(const char *name, int version, enum streams streams)
{
    struct found best = {0};

    for (size_t i = 0; i < HD_COUNT_OF(entries); i++) {
        const struct entry *e = &entries[i];

        if (strcmp(e->name, name) || e->streams != streams)
            continue;
        best.name_known = true;
        if (e->since <= version && e->since >= best.since) {
            best.func = e->func;
            best.since = e->since;
        }
    }
    return best;
}

HD_EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **func, int version,
                                       cuuint64_t flags, CUdriverProcAddressQueryResult *result)
{
    struct found common, per_thread = {0};

    API_CALL_ANY(cuGetProcAddress_v2);
    API_CHECK(symbol && func);
    API_CHECK(!(flags & ~(cuuint64_t)(CU_GET_PROC_ADDRESS_LEGACY_STREAM |
                                      CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)));
    common = entry_find(symbol, version, STREAMS_ANY);
    if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
        per_thread = entry_find(symbol, version, STREAMS_PER_THREAD);
    *func = per_thread.func ? per_thread.func : common.func;
    if (result)
        *result = *func               ? CU_GET_PROC_ADDRESS_SUCCESS
                  : common.name_known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                      : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    /* With a place for the reason, an unknown name is not an error of the call. */
    if (*func || result)
        return CUDA_SUCCESS;
    return drv_error(CUDA_ERROR_NOT_FOUND, "cuGetProcAddress: %s of version %d is not known",
                     symbol, version);
}

HD_EXPORT CUresult cuGetProcAddress(const char *symbol, void **func, int version, cuuint64_t flags)
{
    return cuGetProcAddress_v2(symbol, func, version, flags, NULL);
}
