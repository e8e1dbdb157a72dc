/*
 * Two reports side by side: what takes longer in the second, what less, and whether chance explains
 * it.
 *
 * Instances of one name (kernel, call, copy, range) are two samples of durations, which the
 * Mann-Whitney test compares (sample.h). With many names some differ by chance: Holm's method
 * (S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979) keeps the probability
 * of one false verdict below REPORT_DIFF_ALPHA. Instances count as independent, which those of one
 * run are not wholly: what the machine did during a run is in all of them.
 *
 *     struct report_diff d = {.gate = -1};
 *     report_diff_add(&d, kind, name, is_b, duration_ns) ...
 *     report_diff_compare(&d);
 */
#ifndef HD_REPORT_DIFF_H
#define HD_REPORT_DIFF_H

#include "base/map.h"
#include "base/vec.h"

#define REPORT_DIFF_ALPHA 0.01

enum report_diff_kind {
    REPORT_DIFF_KERNEL,
    REPORT_DIFF_COPY,
    REPORT_DIFF_API,
    REPORT_DIFF_NVTX,
    REPORT_DIFF_KIND_COUNT
};
enum report_diff_verdict {
    REPORT_DIFF_SAME,
    REPORT_DIFF_SLOWER,
    REPORT_DIFF_FASTER,
    REPORT_DIFF_FEW,
    REPORT_DIFF_NEW,
    REPORT_DIFF_GONE
};

/* Of one report. Durations are sorted when the row is compared. */
struct report_diff_side {
    HD_VEC(double) durations_ns;
    double total_ns, median_ns;
};

struct report_diff_row {
    enum report_diff_kind kind;
    char *name;
    struct report_diff_side a, b;
    double p;        /* of the test; 1 when there is none */
    double superior; /* how often an instance of B takes longer than one of A: 0 to 1 */
    enum report_diff_verdict verdict;
};

/* Zeroes are empty, with a gate of 0 %. */
struct report_diff {
    const char *path_a, *path_b;
    HD_VEC(struct report_diff_row) rows; /* once compared: the largest change of a total first */
    struct hd_map names[REPORT_DIFF_KIND_COUNT]; /* name: its row + 1, until they are compared */
    double total_a_ns[REPORT_DIFF_KIND_COUNT], total_b_ns[REPORT_DIFF_KIND_COUNT];
    double gate;      /* percent that a row may grow by; negative: no gate */
    double min_share; /* percent of its kind that a row has to be for the gate */
    size_t failures;  /* rows that fail the gate */
};

/* An instance, of the second report if is_b. False: no memory. */
bool report_diff_add(struct report_diff *d, enum report_diff_kind kind, const char *name, bool is_b,
                     double duration_ns) HD_MUST_CHECK;
/* When all is added: medians, verdicts, the order, failures of the gate. */
void report_diff_compare(struct report_diff *d);
void report_diff_fini(struct report_diff *d);

/* (b - a) / a in percent; infinite when a is 0. */
double report_diff_percent(double a, double b);
bool report_diff_fails(const struct report_diff *d, const struct report_diff_row *row);

/* Ranges are often called by what counts them: "step 12" becomes "step #". */
void report_diff_without_numbers(const char *name, struct hd_buf *out);

#endif
