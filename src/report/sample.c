/* See sample.h. */
#include "report/sample.h"

#include <assert.h>
#include <math.h>

#include "base/compiler.h"

/*
 * The value that sorting would put there (Hoare's selection, the pivot from the middle); those
 * before it are not greater, those behind it not less.
 */
static double sample_nth(double *at, size_t n, size_t nth)
{
    size_t from = 0, to = n;

    assert(nth < n);
    while (to - from > 1) {
        double pivot = at[from + (to - from - 1) / 2]; /* never the last: both sides get some */
        size_t i = from, j = to - 1;

        for (;; i++, j--) {
            while (at[i] < pivot)
                i++;
            while (at[j] > pivot)
                j--;
            if (i >= j)
                break;
            double value = at[i];
            at[i] = at[j];
            at[j] = value;
        }
        if (nth <= j)
            to = j + 1;
        else
            from = j + 1;
    }
    return at[nth];
}

double report_median(double *at, size_t n)
{
    assert(n);
    double upper = sample_nth(at, n, n / 2), lower;

    if (n % 2)
        return upper;
    lower = at[0];
    for (size_t i = 1; i < n / 2; i++)
        lower = HD_MAX(lower, at[i]);
    return (lower + upper) / 2;
}

double report_deviation(const double *values, size_t n)
{
    double mean = 0, sum = 0;

    for (size_t i = 0; i < n; i++)
        mean += values[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return n > 1 ? sqrt(sum / (double)(n - 1)) : 0;
}
