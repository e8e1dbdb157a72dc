/*
 * The roofline model (Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009): how near a
 * kernel comes to what a machine can do, by its operations, the bytes that it asks for, and its
 * time. The roof over it is that of compute, or that of the memory or cache from which so many
 * bytes a second can come.
 *
 * Units: operations and bytes a second; a multiply-add is two operations.
 */
#ifndef HD_REPORT_ROOFLINE_H
#define HD_REPORT_ROOFLINE_H

#include <stdbool.h>

/* X(NAME, name, title): from where bytes come; memory first, then nearer ones. */
#define REPORT_LEVEL_LIST(X) X(DRAM, dram, "DRAM") X(L3, l3, "L3") X(L2, l2, "L2") X(L1, l1, "L1")

enum report_level {
#define X(NAME, name, title) REPORT_LEVEL_##NAME,
    REPORT_LEVEL_LIST(X)
#undef X
        REPORT_LEVEL_COUNT
};
extern const char *const report_level_titles[REPORT_LEVEL_COUNT];

/* The ceilings: of a host or a device. */
struct report_ceilings {
    double sp_per_s, dp_per_s;
    double bytes_per_s[REPORT_LEVEL_COUNT]; /* 0: not known */
};

/* A kernel. */
struct report_work {
    double sp, dp;    /* operations, those of f16 with f32 */
    double bytes;     /* that were asked for */
    bool has_tensors; /* whose operations are not known */
    double time_ns;   /* 0: not known */
};

/* Where it is below the roof; NAN: not known, or there is no such thing. */
struct report_roofline {
    double flop, flop_per_s, bytes_per_s;
    double intensity;                     /* operations for a byte */
    double attainable_per_s;              /* operations under the roof, at that intensity */
    double compute_percent, dram_percent; /* of these ceilings */
    double roof_percent;                  /* of the ceiling that is nearest */
    double memory_percent;                /* of that of `level`; 0: none */
    enum report_level level;              /* the first of memory and caches that gives so much */
    bool is_compute;                      /* the roof over it is that of compute */
};

/* Are operations on floating point numbers known, and are there some? */
bool report_work_has_flop(const struct report_work *work);
/* Peaks of compute are above 0. */
void report_roofline_place(const struct report_ceilings *peaks, const struct report_work *work,
                           struct report_roofline *out);

#endif
