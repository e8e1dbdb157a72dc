#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MEM_LARGE_B ((size_t)1 << 20)
#define MEM_PAGE_B  ((uintptr_t)4096)

/*
 * What is large may lie in pages of 2 MiB, where the system has them for who asks: page faults are
 * a fifth of the time in which a large kernel is compiled otherwise.
 */
static void *mem_in_large_pages(void *ptr, size_t size_B)
{
#ifdef MADV_HUGEPAGE
    /* All of its pages: a mapping with two kinds of pages would not grow by mremap(). */
    uintptr_t begin = (uintptr_t)ptr & ~(MEM_PAGE_B - 1);
    uintptr_t end = ((uintptr_t)ptr + size_B + MEM_PAGE_B - 1) & ~(MEM_PAGE_B - 1);

    if (ptr && size_B >= MEM_LARGE_B)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#endif
    return ptr;
}

void *hd_alloc(size_t size_B)
{
    if (hd_fault_alloc())
        return NULL;
    return mem_in_large_pages(calloc(1, size_B ? size_B : 1), size_B);
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
    return mem_in_large_pages(realloc(ptr, size_B ? size_B : 1), size_B);
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
