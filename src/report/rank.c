/* See sample.h: the Mann-Whitney test. */
#include "report/sample.h"

#include <assert.h>
#include <math.h>

struct ranks {
    double
        sum_b;   /* of the ranks of B's instances, from 1 on; equal ones share the mean of theirs */
    double ties; /* sum of t^3 - t over groups of t equal ones */
};

/* Walks both samples as one. */
static struct ranks rank(const double *a, size_t n, const double *b, size_t m)
{
    struct ranks ranks = {0};

    for (size_t i = 0, j = 0; i < n || j < m;) {
        double value = j >= m || (i < n && a[i] <= b[j]) ? a[i] : b[j];
        size_t first = i + j, in_b = j;
        while (i < n && a[i] == value)
            i++;
        while (j < m && b[j] == value)
            j++;
        double t = (double)(i + j - first);
        ranks.sum_b += (double)(j - in_b) * ((double)first + (t + 1) / 2);
        ranks.ties += t * t * t - t;
    }
    return ranks;
}

double report_mann_whitney(const double *a, size_t n, const double *b, size_t m,
                           double *out_superior)
{
    struct ranks ranks = rank(a, n, b, m);
    double na = (double)n, nb = (double)m, all = na + nb;
    double pairs = na * nb, u = ranks.sum_b - nb * (nb + 1) / 2;

    *out_superior = n && m ? u / pairs : 0.5;
    assert(*out_superior >= 0 && *out_superior <= 1);
    double variance = pairs / 12 * (all + 1 - ranks.ties / (all * (all - 1)));
    if (n < REPORT_SAMPLE_MIN || m < REPORT_SAMPLE_MIN || !(variance > 0))
        return 1;
    double z = fmax(fabs(u - pairs / 2) - 0.5, 0) / sqrt(variance);
    return erfc(z / sqrt(2));
}
