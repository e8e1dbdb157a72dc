/*
 * What is alike in all warps of a CTA, and whether all of them come to its barriers along the same
 * way.
 *
 * A value is CTA-uniform if every thread that lives has the same: constants, parameters, block
 * numbers and sizes, results of bar.red, loads that are no synchronisation from a CTA-uniform
 * address (warps that could read different values there race), operations on such values, and phis
 * of them where control came along the same way in every warp. The analysis starts from
 * "everything" and strikes out.
 */
#ifndef HD_ANALYSIS_ALIKE_H
#define HD_ANALYSIS_ALIKE_H

#include "analysis/shape.h"

struct ir_alike {
    bool *same;  /* by value id: CTA-uniform */
    bool *bases; /* by value id: BASE_INDEX, whose base is */
    /*
     * Control between barriers depends only on what is CTA-uniform, but for lanes that leave for
     * good: in each interval between barriers all threads began at the same one.
     */
    bool stops;
    bool leaves_early; /* lanes may end before the last barrier */
};

/* Is it a barrier 0 at which all threads of the CTA meet? */
bool ir_bar_is_whole(const struct ir_instr *bar);

/* Of a kernel that calls nothing. Shapes are those of `launch`. */
enum hd_status ir_alike_compute(const struct ir_func *kernel, const struct ir_shapes *shapes,
                                struct ir_launch_facts launch, struct hd_arena *arena,
                                struct ir_alike *out) HD_MUST_CHECK;

#endif
