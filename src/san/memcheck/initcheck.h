/*
 * initcheck, inside: reads of memory that nobody wrote.
 *
 *     initcheck.c         accesses of kernels
 *     initcheck_host.c    copies and fills of the host; memory that was never written
 *     shadow.h            a bit for each byte
 *
 * What is checked: device memory that the program allocated, with a shadow in its block of the map
 * (memory.h), made when it is first touched; and shared memory, with a shadow of the CTA. All other
 * memory counts as initialised: the host can write it, or it shows memory of elsewhere.
 */
#ifndef HD_SAN_MEMCHECK_INITCHECK_H
#define HD_SAN_MEMCHECK_INITCHECK_H

#include "san/memory.h"
#include "san/shadow.h"
#include "san/tool.h"

enum { INITCHECK_NEAR = 1024 };

struct initcheck_launch {
    struct san_memory *memory;
    bool checks_shared;
    bool is_late; /* as struct san_memory_launch: what it reads may be of a block that is gone */
    _Atomic uint32_t unused_reports;
    _Atomic(struct san_block *) near[INITCHECK_NEAR]; /* as memcheck's */
};

static inline struct initcheck_launch *initcheck_launch_of(const struct san_cta *cta)
{
    return cta->launch->own[SAN_INITCHECK];
}

/* Whether the block is checked at all, and its shadow; NULL: it is not, or there is no memory. */
bool initcheck_has_shadow(const struct san_block *block);
struct san_shadow *initcheck_shadow(struct san_block *block);
/* Everything there is counts as initialised. */
void initcheck_forget(const struct san_memory *memory);

/* ---- initcheck_host.c */

void initcheck_host(const struct heddle_event *event);
void initcheck_gone(struct san_block *block, bool with_context);
void initcheck_finish(void);
/* Of shared memory, when a CTA ends. */
void initcheck_unused_shared(const struct san_cta *cta, const struct san_shadow *shadow);

#endif
