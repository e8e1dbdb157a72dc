/*
 * Two reports side by side: what takes longer in the second, what less, and whether chance explains
 * it.
 *
 * Instances of one name (kernel, call, copy, range) are two samples of durations. They are compared
 * by the Mann-Whitney test (H. B. Mann, D. R. Whitney, "On a Test of Whether one of Two Random
 * Variables is Stochastically Larger than the Other", 1947), two-sided, by the normal approximation
 * with corrections for ties and continuity; it asks nothing of the shape of the distributions. With
 * many names some differ by chance: Holm's method (S. Holm, "A Simple Sequentially Rejective
 * Multiple Test Procedure", 1979) keeps the probability of one false verdict below DIFF_ALPHA.
 * Instances count as independent, which those of one run are not wholly: what the machine did
 * during a run is in all of them.
 */
#ifndef HEDDLE_TOOLS_PROF_DIFF_H
#define HEDDLE_TOOLS_PROF_DIFF_H

#include <stdio.h>

#include "base/status.h"
#include "base/str.h"
#include "base/vec.h"

#define DIFF_ALPHA 0.01

enum diff_kind { DIFF_KERNEL, DIFF_COPY, DIFF_API, DIFF_NVTX, DIFF_KIND_COUNT };
enum diff_verdict { DIFF_SAME, DIFF_SLOWER, DIFF_FASTER, DIFF_FEW, DIFF_NEW, DIFF_GONE };

/* Of one report. Durations are sorted when the row is compared. */
struct diff_side {
    HD_VEC(double) durations_ns;
    double total_ns, median_ns;
};

struct diff_row {
    enum diff_kind kind;
    char *name;
    struct diff_side a, b;
    double p;        /* of the test; 1 when there is none */
    double superior; /* how often an instance of B takes longer than one of A: 0 to 1 */
    enum diff_verdict verdict;
};

struct diff {
    const char *path_a, *path_b;
    HD_VEC(struct diff_row) rows; /* the largest change of a total first */
    double total_a_ns[DIFF_KIND_COUNT], total_b_ns[DIFF_KIND_COUNT];
    double gate;      /* percent that a row may grow by; negative: no gate */
    double min_share; /* percent of its kind that a row has to be for the gate */
    size_t failures;  /* rows that fail the gate */
};

extern const char *const diff_kind_words[DIFF_KIND_COUNT];
extern const char *const diff_verdict_words[];

/* Two-sided; 1 when a sample is too small (under 4). Samples are sorted. */
double diff_mann_whitney(const double *a, size_t n, const double *b, size_t m,
                         double *out_superior);

/* (b - a) / a in percent; infinite when a is 0. */
double diff_percent(double a, double b);
bool diff_fails(const struct diff *d, const struct diff_row *row);

void diff_print_table(const struct diff *d, size_t max_rows, FILE *out);
void diff_print_csv(const struct diff *d, FILE *out);
/* false: no memory. */
bool diff_print_json(const struct diff *d, FILE *out);
void diff_print_html(const struct diff *d, struct hd_buf *out);

/* `heddle prof diff ...`: argv[0] is "diff". */
int prof_diff(int argc, char **argv);

#endif
