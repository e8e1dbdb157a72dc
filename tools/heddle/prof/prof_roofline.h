/* The roofline of a report: what kernels that were counted reach of the host's peaks. */
#ifndef HEDDLE_TOOLS_PROF_ROOFLINE_H
#define HEDDLE_TOOLS_PROF_ROOFLINE_H

#include "prof/prof_db.h"

enum prof_roofline {
    PROF_ROOFLINE_KEPT,  /* measured when this host has not been */
    PROF_ROOFLINE_AGAIN, /* measured now */
    PROF_ROOFLINE_NONE,
};

/*
 * Adds metrics of kind MADE and TIMED, heddle__roofline_*, and notes to the launches of the report
 * that is being made, after prof_alike_make(). Peaks that cannot be measured are a note, too.
 */
enum hd_status prof_roofline_add(struct prof_db *db, enum prof_roofline when) HD_MUST_CHECK;

#endif
