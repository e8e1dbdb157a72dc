/* NVTX ranges that are open, for choose.c: src/count/ranges.c. */
#ifndef HD_COUNT_RANGES_H
#define HD_COUNT_RANGES_H

#include "count/range_filter.h"

/* There are none, as at first. Before any launch. */
void count_ranges_clear(void);
/* HD_BAD_ARG: it is no expression, or there are too many. Before any launch. */
enum hd_status count_ranges_add(const char *text, size_t len, bool is_excluded) HD_MUST_CHECK;
/* Is a launch of this thread one that the expressions want? True without any. */
bool count_ranges_take(void);

#endif
