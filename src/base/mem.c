#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void *hd_alloc(size_t size_B)
{
    if (hd_fault_alloc())
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
    if (hd_fault_alloc())
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

/* LeakSanitizer's, which the program may have been built with though we were not. */
extern void __lsan_register_root_region(const void *memory, size_t size_B) __attribute__((weak));

void hd_mem_root(const void *memory, size_t size_B)
{
    if (__lsan_register_root_region)
        __lsan_register_root_region(memory, size_B);
}

/*
 * ThreadSanitizer inside of a program (clang's) starts with the program's constructors, after those
 * of libraries, whose calls its half-made interceptors would take.
 */
extern void __tsan_init(void) __attribute__((weak));

static void start_sanitizer(void)
{
    if (__tsan_init)
        __tsan_init();
}

__attribute__((section(".init_array.00040"),
               used)) static void (*const sanitizer_first)(void) = start_sanitizer;

void hd_autofree_(void *ptr_to_ptr)
{
    void *ptr;

    memcpy(&ptr, ptr_to_ptr, sizeof(ptr));
    hd_free(ptr);
}
