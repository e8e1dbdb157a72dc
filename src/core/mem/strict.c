/* HEDDLE_STRICT, and numbers of blocks: what all parts of memory ask for. */
#include <stdatomic.h>
#include <string.h>

#include "base/env.h"
#include "core/mem/memory_parts.h"

bool core_strict(void)
{
    static _Atomic int known; /* 0: not yet, 1: no, 2: yes */
    int value = atomic_load_explicit(&known, memory_order_relaxed);

    if (HD_UNLIKELY(!value)) {
        const char *text = hd_env("HEDDLE_STRICT");

        value = text && strcmp(text, "0") ? 2 : 1;
        atomic_store(&known, value);
    }
    return value == 2;
}

uint64_t core_memory_next_id(void)
{
    static _Atomic uint64_t next_id;

    return atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed) + 1;
}
