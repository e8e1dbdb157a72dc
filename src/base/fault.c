#include "base/fault.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"

_Atomic uint32_t hd_fault_points;

_Atomic uint64_t hd_fault_alloc_at, hd_fault_alloc_number;

_Static_assert(HD_FAULT_COUNT <= 32, "hd_fault_points is one word");

static const char *const fault_texts[] = {
#define X(name, text, doc) text,
    HD_FAULT_LIST(X)
#undef X
};

void hd_fault_set(uint32_t points, bool fail)
{
    assert(!((uint64_t)points >> HD_FAULT_COUNT));
    if (fail)
        atomic_fetch_or(&hd_fault_points, points);
    else
        atomic_fetch_and(&hd_fault_points, ~points);
}

enum hd_fault hd_fault_find(const char *text, size_t len)
{
    for (unsigned i = 0; i < HD_COUNT_OF(fault_texts); i++) {
        if (strlen(fault_texts[i]) == len && !memcmp(fault_texts[i], text, len))
            return (enum hd_fault)(1u << i);
    }
    return (enum hd_fault)0;
}

void hd_fault_set_alloc(uint64_t n)
{
    atomic_store(&hd_fault_alloc_number, 0);
    atomic_store(&hd_fault_alloc_at, n);
}

uint64_t hd_fault_alloc_count(void)
{
    return atomic_load(&hd_fault_alloc_number);
}

/* False: not alloc:N, or a build in which allocations do not fail on request. */
static bool set_alloc(struct hd_str item)
{
#ifndef NDEBUG
    uint64_t n;
    if (hd_str_starts(item, "alloc:") &&
        hd_str_to_u64((struct hd_str){item.ptr + 6, item.len - 6}, 10, &n)) {
        hd_fault_set_alloc(n);
        return true;
    }
#endif
    (void)item;
    return false;
}

static void set_item(struct hd_str item)
{
    enum hd_fault point = hd_fault_find(item.ptr, item.len);

    if (point)
        hd_fault_set(point, true);
    else if (!set_alloc(item))
        hd_log("HEDDLE_FAULT: %.*s is no fault point: expected alloc:N (debug builds)%s",
               (int)item.len, item.ptr,
#define X(name, text, doc) ", " text
               "" HD_FAULT_LIST(X)
#undef X
        );
}

/* Runs after log.c has opened the log, so that a bad value can be reported. */
__attribute__((constructor(102))) static void fault_from_env(void)
{
    const char *at = hd_env("HEDDLE_FAULT");

    while (at && *at) {
        size_t len = strcspn(at, ",");
        set_item((struct hd_str){at, len});
        at += len + (at[len] == ',');
    }
}
