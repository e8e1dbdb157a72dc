/* The hook table. HEDDLE_DEBUG=api is a listener like any other. */
#include "base/log.h"
#include "core/core.h"

_Atomic(const struct core_tap *) core_tap;

void core_tap_set(const struct core_tap *tap)
{
    atomic_store(&core_tap, tap);
}

static void log_api(const char *name, uint64_t correlation)
{
    hd_log_debug(HD_DEBUG_API, "%s #%llu", name, (unsigned long long)correlation);
}

static const struct core_tap log_tap = {.api_begin = log_api};

__attribute__((constructor)) static void tap_init(void)
{
    if (hd_debug(HD_DEBUG_API))
        core_tap_set(&log_tap);
}
