#include "base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"

static _Atomic uint64_t fault_at;    /* allocation number that fails; 0 = none */
static _Atomic uint64_t fault_count; /* allocations since fault_at was set */

/* Counts one allocation; true when it is the one that has to fail. */
static bool mem_fault_hit(void)
{
    uint64_t number = atomic_fetch_add_explicit(&fault_count, 1, memory_order_relaxed) + 1;
    return HD_UNLIKELY(number == atomic_load_explicit(&fault_at, memory_order_relaxed));
}

void hd_fault_set_alloc(uint64_t n)
{
    atomic_store(&fault_count, 0);
    atomic_store(&fault_at, n);
}

uint64_t hd_fault_alloc_count(void)
{
    return atomic_load(&fault_count);
}

#ifndef NDEBUG
/* Runs after log.c has opened the log, so that a bad value can be reported. */
__attribute__((constructor(102))) static void mem_fault_from_env(void)
{
    struct hd_str spec = hd_str_from(hd_env("HEDDLE_FAULT"));
    uint64_t n;

    if (!spec.len)
        return;
    if (!hd_str_starts(spec, "alloc:") ||
        !hd_str_to_u64((struct hd_str){spec.ptr + 6, spec.len - 6}, 10, &n)) {
        hd_log("HEDDLE_FAULT=%s: expected alloc:N", spec.ptr);
        return;
    }
    hd_fault_set_alloc(n);
}
#endif

void *hd_alloc(size_t size_B)
{
    if (mem_fault_hit())
        return NULL;
    return calloc(1, size_B ? size_B : 1);
}

void *hd_alloc_array(size_t count, size_t elem_B)
{
    size_t size_B;

    if (__builtin_mul_overflow(count, elem_B, &size_B))
        return NULL;
    return hd_alloc(size_B);
}

void *hd_realloc(void *ptr, size_t size_B)
{
    if (mem_fault_hit())
        return NULL;
    return realloc(ptr, size_B ? size_B : 1);
}

char *hd_strdup(const char *text)
{
    size_t size_B = strlen(text) + 1;
    char *copy = hd_alloc(size_B);

    if (copy)
        memcpy(copy, text, size_B);
    return copy;
}

void hd_free(void *ptr)
{
    free(ptr);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEM_HAS_LSAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(MEM_HAS_LSAN)
#include <sanitizer/lsan_interface.h>
#endif

void hd_mem_root(const void *memory, size_t size_B)
{
#if defined(__SANITIZE_ADDRESS__) || defined(MEM_HAS_LSAN)
    __lsan_register_root_region(memory, size_B);
#else
    (void)memory;
    (void)size_B;
#endif
}

void hd_autofree_(void *ptr_to_ptr)
{
    void *ptr;

    memcpy(&ptr, ptr_to_ptr, sizeof(ptr));
    hd_free(ptr);
}
