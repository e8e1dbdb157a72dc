/* Statistics of a sample: median, deviation, and whether two samples differ by more than chance. */
#ifndef HD_REPORT_SAMPLE_H
#define HD_REPORT_SAMPLE_H

#include <stddef.h>

/* Of n > 0 numbers, which it reorders; of an even number the mean of the two in the middle. */
double report_median(double *values, size_t n);
/* The standard deviation of a sample (n - 1); 0 of fewer than two. */
double report_deviation(const double *values, size_t n);

#endif
