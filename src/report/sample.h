/* Statistics of a sample: median, deviation, and whether two samples differ by more than chance. */
#ifndef HD_REPORT_SAMPLE_H
#define HD_REPORT_SAMPLE_H

#include <stddef.h>

/* Of n > 0 numbers, which it reorders; of an even number the mean of the two in the middle. */
double report_median(double *values, size_t n);
/* The standard deviation of a sample (n - 1); 0 of fewer than two. */
double report_deviation(const double *values, size_t n);

/*
 * Does one of two samples tend to greater values? The Mann-Whitney test (H. B. Mann, D. R. Whitney,
 * "On a Test of Whether one of Two Random Variables is Stochastically Larger than the Other", 1947),
 * two-sided, by the normal approximation with corrections for ties and continuity; it asks nothing
 * of the shape of the distributions. Returns the probability of such samples by chance, 1 when one
 * is too small. out_superior: how often a value of `b` is greater than one of `a`, 0 to 1.
 *
 * Samples are sorted, and numbers all of them.
 */
#define REPORT_SAMPLE_MIN 4
double report_mann_whitney(const double *a, size_t n, const double *b, size_t m,
                           double *out_superior);

#endif
