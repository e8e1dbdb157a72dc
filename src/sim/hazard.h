/*
 * The hazard checker: whether the control fields of the code make each instruction wait for what it
 * reads and overwrites. Nothing in the hardware does.
 *
 * For each register, predicate and uniform register of a warp it knows who last wrote it, and from
 * which cycle on, or by which counter, the result can be read; and which counters say that
 * instructions of variable latency have read it. The clock of a group of lanes goes by stall
 * counts alone: whatever makes a warp wait longer in practice is no promise.
 */
#ifndef HD_SIM_HAZARD_H
#define HD_SIM_HAZARD_H

#include <stdbool.h>
#include <stdint.h>

struct sim_warp;
struct sim_op;
struct sim_hazards;

/* NULL: no memory. */
struct sim_hazards *sim_hazards_create(void);
void sim_hazards_destroy(struct sim_hazards *hazards);
/* False: a hazard, and the launch has failed. `mask` may be empty: the instruction is issued. */
bool sim_hazards_issue(struct sim_warp *w, const struct sim_op *op, uint32_t mask);

#endif
