/* cuGetProcAddress(): symbols by name and version, from the table of entry points. */
#include "api/driver/driver.h"
#include "base/log.h"

CUresult drv_missing(const char *name, _Atomic bool *logged)
{
    assert(name && logged);
    if (!atomic_exchange(logged, true))
        hd_log("%s is not implemented", name);
    return drv_error(CUDA_ERROR_NOT_SUPPORTED, "%s is not implemented", name);
}

enum streams { STREAMS_ANY, STREAMS_PER_THREAD };

struct entry {
    const char *name;
    int since;
    enum streams streams;
    void *func;
};

/* Twins are younger than CUDA 7. */
#define TWIN_NONE(symbol, name, since)
#define TWIN_PTSZ(symbol, name, since)                                                             \
    {#name, HD_MAX(since, 7000), STREAMS_PER_THREAD, (void *)symbol##_ptsz},
#define TWIN_PTDS(symbol, name, since)                                                             \
    {#name, HD_MAX(since, 7000), STREAMS_PER_THREAD, (void *)symbol##_ptds},

static const struct entry entries[] = {
#define X(symbol, name, since, twin, ...)                                                          \
    {#name, since, STREAMS_ANY, (void *)symbol}, TWIN_##twin(symbol, name, since)
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

    assert(name && streams <= STREAMS_PER_THREAD);
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
    assert(!best.func || (best.name_known && best.since <= version));
    return best;
}

CUresult drv_cuGetProcAddress_v2(const char *symbol, void **func, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult *result)
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

/*
 * Private tables of the vendor's own runtime, which no documentation describes: a program that
 * embeds that runtime asks for them when it starts.
 */
CUresult drv_cuGetExportTable(const void **table, const CUuuid *id)
{
    static _Atomic bool logged;

    API_CALL_ANY(cuGetExportTable);
    API_CHECK(table && id);
    *table = NULL;
    if (!drv_is_quiet() && !atomic_exchange(&logged, true))
        hd_log("cuGetExportTable: the private tables of the vendor's runtime are not public; a "
               "program that embeds that runtime works under `heddle run`");
    return drv_error(CUDA_ERROR_NOT_SUPPORTED, "cuGetExportTable: private tables are not public");
}

CUresult drv_cuGetProcAddress(const char *symbol, void **func, int version, cuuint64_t flags)
{
    return drv_cuGetProcAddress_v2(symbol, func, version, flags, NULL);
}
