/*
 * Typed growing array:  HD_VEC(struct token) tokens = {0};  hd_vec_push(&tokens, tok);
 *
 * Elements move when the array grows: keep indices, not pointers. hd_vec_push() and
 * hd_vec_reserve() evaluate to false when memory is short and leave the array unchanged.
 */
#ifndef HD_BASE_VEC_H
#define HD_BASE_VEC_H

#include "base/compiler.h"

#define HD_VEC(type)                                                                               \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t len;                                                                                \
        size_t cap;                                                                                \
    }

bool hd_vec_grow_(void **at, size_t *cap, size_t want, size_t elem_B) HD_MUST_CHECK;

#define hd_vec_reserve(vec, want)                                                                  \
    ((want) <= (vec)->cap ||                                                                       \
     hd_vec_grow_((void **)&(vec)->at, &(vec)->cap, (want), sizeof(*(vec)->at)))
#define hd_vec_push(vec, ...)                                                                      \
    (hd_vec_reserve((vec), (vec)->len + 1)                                                         \
         ? ((vec)->at[(vec)->len] = (__VA_ARGS__), (vec)->len++, true)                             \
         : false)
#define hd_vec_pop(vec)  ((vec)->at[--(vec)->len])
#define hd_vec_last(vec) ((vec)->at[(vec)->len - 1])
#define hd_vec_fini(vec) (hd_vec_free_((void **)&(vec)->at), (vec)->len = (vec)->cap = 0)
void hd_vec_free_(void **at);

#endif
