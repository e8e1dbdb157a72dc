/*
 * A fault domain on the CPU device: what its kernels allocate and print.
 *
 * Owned by who created it (hal.h). The heap and the output have a lock each, rank LEAF; any thread
 * that runs CTAs of the domain uses them.
 */
#ifndef HD_DEV_CPU_DOMAIN_H
#define HD_DEV_CPU_DOMAIN_H

#include <assert.h>

#include "base/lock.h"
#include "base/map.h"
#include "base/str.h"
#include "hal/hal.h"

/* The heap of device malloc(): host memory, counted against the domain's limit. */
struct cpu_heap {
    struct hd_lock lock;
    struct hd_map blocks; /* address -> size */
    uint64_t used_B;
};

/* What kernels printed, in order of completion, until it is written out. */
struct cpu_output {
    _Atomic bool waiting; /* there is text; a look at it takes no lock */
    struct hd_lock lock;  /* text */
    struct hd_buf text;
};

struct cpu_domain {
    struct hal_domain base;
    struct cpu_heap heap;
    struct cpu_output output;
};

static inline struct cpu_domain *cpu_domain_of(struct hal_domain *domain)
{
    return (struct cpu_domain *)domain;
}

/* domain.c: the HAL's ops */
enum hd_status cpu_domain_create(struct hal_device *device, struct hal_domain **out_domain)
    HD_MUST_CHECK;
void cpu_domain_destroy(struct hal_domain *domain);
void cpu_domain_reset(struct hal_domain *domain);

/* heap.c */
void cpu_heap_init(struct cpu_heap *heap);
void cpu_heap_fini(struct cpu_heap *heap);
/* NULL when the blocks would exceed limit_B together. */
void *cpu_heap_alloc(struct cpu_heap *heap, uint64_t limit_B, uint64_t size_B);
/* False: not a live allocation. */
bool cpu_heap_free(struct cpu_heap *heap, void *ptr);
/* Do the bytes belong to a live allocation? O(allocations): for checks. */
bool cpu_heap_contains(struct cpu_heap *heap, uint64_t address, uint64_t size_B);

/* printf.c: formats what the lanes print; out_result[lane] is what printf() returns. */
void cpu_printf_nowhere(uint32_t lanes, const uint64_t *format, const uint64_t *args,
                        uint32_t *out_result);
void cpu_printf(struct cpu_domain *domain, uint32_t lanes, const uint64_t *format,
                const uint64_t *args, uint32_t *out_result);
/* The same for text that is made already. */
void cpu_printf_text(struct cpu_domain *domain, const char *text, size_t len);
void cpu_printf_flush(struct hal_domain *domain);

#endif
