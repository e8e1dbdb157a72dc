/*
 * Results that come as late as the machine may bring them: what is read before an instruction's
 * latency is over, or without a wait for its counter, is the old value. For tests of the hazard
 * checker, by other means: nothing is checked, results are only written later.
 *
 * Sources are read when an instruction is issued; that one of variable latency may read them later
 * is not done.
 */
#ifndef HD_SIM_LATE_H
#define HD_SIM_LATE_H

#include <stdbool.h>
#include <stdint.h>

struct sim_warp;
struct sim_op;
struct sim_late;

/* NULL: no memory. */
struct sim_late *sim_late_create(void);
void sim_late_destroy(struct sim_late *late);
/* Before an operation is executed: results that are due are written. */
void sim_late_begin(struct sim_warp *w, const struct sim_op *op);
/* Behind it: its own are taken back for now, in the lanes of the mask. */
void sim_late_end(struct sim_warp *w, const struct sim_op *op, uint32_t mask);
/* The group's clock goes on; false: no memory. */
bool sim_late_pass(struct sim_warp *w, const struct sim_op *op);

#endif
