/*
 * Expressions that choose launches by the NVTX ranges they are in, as Nsight Compute's
 * --nvtx-include and --nvtx-exclude have them:
 *
 *     NAME             a range of nvtxRangeStart() and nvtxRangeEnd() of that name is open
 *     A,B              both are
 *     A/               a range of nvtxRangePush() of that name is on the thread's stack
 *     A/B              B directly on A
 *     A/(star)/B       B somewhere above A; (star) is an asterisk
 *     [A               A lies at the bottom of the stack;  A]  at its top
 *     DOMAIN@...       ranges of that domain; of the default one without it
 *
 * A backslash takes the meaning from the character behind it.
 */
#ifndef HD_COUNT_RANGE_FILTER_H
#define HD_COUNT_RANGE_FILTER_H

#include "base/status.h"

enum { COUNT_FILTER_B = 256, COUNT_FILTER_PARTS = 16 };

struct count_filter {
    char text[COUNT_FILTER_B];              /* what the rest points into */
    const char *domain[COUNT_FILTER_PARTS]; /* "": the default one */
    const char *name[COUNT_FILTER_PARTS];   /* NULL: any ranges, or none */
    unsigned n;
    bool is_nested; /* ranges of the thread's stack; else started ones */
    bool from_bottom, to_top;
};

/* HD_BAD_ARG: the expression is none. */
enum hd_status count_filter_read(const char *text, size_t len, struct count_filter *out)
    HD_MUST_CHECK;
/* Names of a stack's ranges, the bottom first, all of the filter's domain. */
bool count_filter_fits(const struct count_filter *filter, const char *const *stack, unsigned depth);

#endif
