/* Version, results, NVTX's way in, and what is refused by name. */
#include "api/cupti/cupti.h"
#include "base/log.h"

static HD_THREAD_LOCAL CUptiResult last_error;

CUptiResult cupti_result(CUptiResult result)
{
    if (result != CUPTI_SUCCESS)
        last_error = result;
    return result;
}

CUptiResult cupti_refuse(const char *name, _Atomic bool *said)
{
    if (!atomic_exchange(said, true))
        hd_log("%s: Heddle's CUPTI does not have it", name);
    return cupti_result(CUPTI_ERROR_NOT_SUPPORTED);
}

CUPTI_EXPORT(cuptiGetLastError)
CUptiResult cuptiGetLastError(void)
{
    CUptiResult result = last_error;

    last_error = CUPTI_SUCCESS;
    return result;
}

CUPTI_EXPORT(cuptiGetVersion)
CUptiResult cuptiGetVersion(uint32_t *version)
{
    if (!version)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiGetResultString)
CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
    if (!str)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    switch ((int)result) {
#define X(name, value, text)                                                                       \
    case value:                                                                                    \
        *str = "CUPTI_" #name;                                                                     \
        return CUPTI_SUCCESS;
        HEDDLE_CUPTI_RESULT_LIST(X)
#undef X
    }
    return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
}

CUPTI_EXPORT(cuptiGetErrorMessage)
CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **str)
{
    if (!str)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    switch ((int)result) {
#define X(name, value, text)                                                                       \
    case value:                                                                                    \
        *str = text;                                                                               \
        return CUPTI_SUCCESS;
        HEDDLE_CUPTI_RESULT_LIST(X)
#undef X
    }
    return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
}

/* ---- NVTX: libcuda is its tool; profilers name this library in NVTX_INJECTION64_PATH */

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id));
CUPTI_EXPORT(InitializeInjectionNvtx2)
int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id))
{
    return heddle_nvtx_initialize(get_table);
}

/* ---- what is refused; arguments are not looked at */

#define X(name)                                                                                    \
    CUptiResult name(void);                                                                        \
    CUPTI_EXPORT(name)                                                                             \
    CUptiResult name(void)                                                                         \
    {                                                                                              \
        static _Atomic bool said;                                                                  \
        return cupti_refuse(#name, &said);                                                         \
    }
#include "api/cupti_refused.def"
#undef X
