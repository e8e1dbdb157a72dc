/*
 * The spread of one quantity over many launches: least, median and greatest value, in memory only
 * for what differs. Most counters of equal launches are equal; durations are not.
 */
#ifndef HD_REPORT_SPREAD_H
#define HD_REPORT_SPREAD_H

#include "base/vec.h"

/* Zeroes are no values. */
struct report_spread {
    uint64_t count;
    double min, max;
    HD_VEC(double) values; /* none while all are equal */
};

/* What is no number is no value. False: no memory, and it is as before. */
bool report_spread_add(struct report_spread *spread, double value) HD_MUST_CHECK;
bool report_spread_differs(const struct report_spread *spread);
/* There is a value. Of an even number the mean of the two in the middle. */
double report_spread_median(struct report_spread *spread);
/* As at first; memory is kept. */
void report_spread_clear(struct report_spread *spread);
void report_spread_fini(struct report_spread *spread);

#endif
