/* See advise.h: what rules ask of calls. */
#include <assert.h>
#include <string.h>

#include "advise/advise.h"

enum advise_call_kind advise_call_kind_of(const char *name)
{
    static const struct {
        const char *begins;
        enum advise_call_kind kind;
    } rows[] = {
        {"cudaGraphLaunch", ADVISE_CALL_GRAPH},  {"cuGraphLaunch", ADVISE_CALL_GRAPH},
        {"cudaLaunch", ADVISE_CALL_LAUNCH},      {"cuLaunch", ADVISE_CALL_LAUNCH},
        {"cudaMemcpy", ADVISE_CALL_COPY},        {"cuMemcpy", ADVISE_CALL_COPY},
        {"cudaMemset", ADVISE_CALL_FILL},        {"cuMemset", ADVISE_CALL_FILL},
        {"cudaMalloc", ADVISE_CALL_ALLOC},       {"cudaFree", ADVISE_CALL_ALLOC},
        {"cuMemAlloc", ADVISE_CALL_ALLOC},       {"cuMemFree", ADVISE_CALL_ALLOC},
        {"cudaHostAlloc", ADVISE_CALL_ALLOC},    {"cuMemHostAlloc", ADVISE_CALL_ALLOC},
        {"cudaHostRegister", ADVISE_CALL_ALLOC}, {"cudaHostUnregister", ADVISE_CALL_ALLOC},
        {"cuModuleLoad", ADVISE_CALL_MODULE},    {"cuLibraryLoad", ADVISE_CALL_MODULE},
        {"cudaLibraryLoad", ADVISE_CALL_MODULE},
    };

    if (strncmp(name, "__cuda", 6) == 0) /* as CUPTI calls what nvcc 13 writes for <<<>>> */
        name += 2;
    if (strstr(name, "Synchronize"))
        return ADVISE_CALL_SYNC;
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++)
        if (strncmp(name, rows[i].begins, strlen(rows[i].begins)) == 0)
            return strstr(name, "Async") && rows[i].kind == ADVISE_CALL_ALLOC ? ADVISE_CALL_OTHER
                                                                              : rows[i].kind;
    return ADVISE_CALL_OTHER;
}

const char *advise_call_name(const struct advise *a, const struct advise_call *call)
{
    assert(call->name < a->names.len);
    return a->names.at[call->name];
}

const struct advise_call *advise_next(const struct advise *a, const struct advise_call *call)
{
    assert(call->next == ADVISE_NONE || call->next < a->calls.len);
    return call->next == ADVISE_NONE ? NULL : &a->calls.at[call->next];
}

bool advise_submits(const struct advise_call *call)
{
    return call->kind == ADVISE_CALL_LAUNCH || call->kind == ADVISE_CALL_GRAPH ||
           call->kind == ADVISE_CALL_FILL || call->kind == ADVISE_CALL_COPY;
}
