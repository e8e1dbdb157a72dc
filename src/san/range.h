/*
 * Ranges of probes (struct ir_probe_range): what generated code need not ask again, for memcheck,
 * initcheck and racecheck.
 */
#ifndef HD_SAN_RANGE_H
#define HD_SAN_RANGE_H

#include "san/tool.h"

/*
 * Every access of this probe within [base, base + size_B), in the terms of san_access.address, is
 * fine to the end of the launch. Only the first range of a probe counts. Nothing, where somebody
 * else wants to see all accesses, or the instruction's addresses mean something else in other CTAs.
 * Threads: any.
 */
void san_range_set(const struct san_cta *cta, const struct san_access *access, uint64_t base,
                   uint64_t size_B);
/* Has the probe none yet, and can it have one? */
bool san_range_is_open(const struct san_cta *cta, const struct san_access *access);

#endif
