/*
 * Host allocation with fault injection: every allocation of Heddle goes through these, so tests
 * can make number N fail (tests/support/tap.h: tap_oom_loop). HEDDLE_FAULT=alloc:N does it from
 * outside (base/fault.h).
 */
#ifndef HD_BASE_MEM_H
#define HD_BASE_MEM_H

#include "base/compiler.h"
#include "base/fault.h"

/* Zeroed; NULL when memory is short. */
void *hd_alloc(size_t size_B) HD_MUST_CHECK;
/* Zeroed; NULL when memory is short or the product overflows. */
void *hd_alloc_array(size_t count, size_t elem_B) HD_MUST_CHECK;
/* Not zeroed; NULL leaves ptr valid. */
void *hd_realloc(void *ptr, size_t size_B) HD_MUST_CHECK;
char *hd_strdup(const char *text) HD_MUST_CHECK;
void hd_free(void *ptr);
/* Memory from elsewhere (mmap) that owns allocations: leak checkers look for pointers in it. */
void hd_mem_root(const void *memory, size_t size_B);
#define hd_new(type) ((type *)hd_alloc(sizeof(type)))

#endif
