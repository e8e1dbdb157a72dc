#include "base/vec.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

#define VEC_MIN_CAP 8

/* `at` really is a T **: copying the pointer out and in keeps the aliasing rules. */
static void *vec_pointer_get(void **at)
{
    void *ptr;

    memcpy(&ptr, at, sizeof(ptr));
    return ptr;
}

bool hd_vec_grow_(void **at, size_t *cap, size_t want, size_t elem_B)
{
    size_t new_cap = *cap ? *cap : VEC_MIN_CAP;
    size_t size_B;
    void *ptr;

    assert(elem_B && want > *cap);
    while (new_cap < want) {
        if (__builtin_mul_overflow(new_cap, (size_t)2, &new_cap))
            return false;
    }
    if (__builtin_mul_overflow(new_cap, elem_B, &size_B))
        return false;
    ptr = hd_realloc(vec_pointer_get(at), size_B);
    if (!ptr)
        return false;
    memcpy(at, &ptr, sizeof(ptr));
    assert(new_cap >= want);
    *cap = new_cap;
    return true;
}

void hd_vec_free_(void **at)
{
    void *none = NULL;

    hd_free(vec_pointer_get(at));
    memcpy(at, &none, sizeof(none));
}
