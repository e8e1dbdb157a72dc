/* Special registers. */
#include "interp/interp_priv.h"

#include <assert.h>
#include <time.h>

#include "base/clock.h"

static uint64_t now_ns(void)
{
    return hd_clock_ns(CLOCK_REALTIME);
}

/* Sizes of clusters divide those of the grid. */
static uint64_t cluster_value(const struct interp_thread *t, enum ir_sreg sreg)
{
    const struct interp_run *run = t->cta->run;
    unsigned axis = (sreg - IR_SREG_CLUSTERID_X) % 3;
    uint32_t size = run->cluster[axis];
    if (sreg <= IR_SREG_CLUSTERID_Z)
        return t->cta->id[axis] / size;
    if (sreg <= IR_SREG_NCLUSTERID_Z)
        return run->launch->grid[axis] / size;
    if (sreg <= IR_SREG_CLUSTER_CTAID_Z)
        return t->cta->id[axis] % size;
    if (sreg <= IR_SREG_CLUSTER_NCTAID_Z)
        return size;
    if (sreg == IR_SREG_CLUSTER_CTARANK)
        return t->cta->rank;
    if (sreg == IR_SREG_CLUSTER_NCTARANK)
        return run->cluster_ctas;
    assert(sreg == IR_SREG_IS_EXPLICIT_CLUSTER);
    return run->launch->cluster[0] != 0;
}

static uint64_t sreg_value(const struct interp_thread *t, enum ir_sreg sreg)
{
    const struct interp_run *run = t->cta->run;
    const struct interp_launch *l = run->launch;
    uint32_t nsms = l->nsms ? l->nsms : 1, eq = 1u << t->lane;
    switch (sreg) {
    case IR_SREG_TID_X:
    case IR_SREG_TID_Y:
    case IR_SREG_TID_Z:
        return t->tid[sreg - IR_SREG_TID_X];
    case IR_SREG_NTID_X:
    case IR_SREG_NTID_Y:
    case IR_SREG_NTID_Z:
        return l->block[sreg - IR_SREG_NTID_X];
    case IR_SREG_CTAID_X:
    case IR_SREG_CTAID_Y:
    case IR_SREG_CTAID_Z:
        return t->cta->id[sreg - IR_SREG_CTAID_X];
    case IR_SREG_NCTAID_X:
    case IR_SREG_NCTAID_Y:
    case IR_SREG_NCTAID_Z:
        return l->grid[sreg - IR_SREG_NCTAID_X];
    case IR_SREG_LANEID:
        return t->lane;
    case IR_SREG_WARPID:
        return t->warp->index;
    case IR_SREG_NWARPID:
        return t->cta->nwarps;
    case IR_SREG_SMID:
        return t->cta->smid;
    case IR_SREG_NSMID:
        return nsms;
    case IR_SREG_GRIDID:
        return l->grid_id;
    case IR_SREG_LANEMASK_EQ:
        return eq;
    case IR_SREG_LANEMASK_LT:
        return eq - 1;
    case IR_SREG_LANEMASK_LE:
        return eq | (eq - 1);
    case IR_SREG_LANEMASK_GT:
        return ~(eq | (eq - 1));
    case IR_SREG_LANEMASK_GE:
        return ~(eq - 1);
    case IR_SREG_CLOCK:
        return (uint32_t)run->steps;
    case IR_SREG_CLOCK_HI:
        return run->steps >> 32;
    case IR_SREG_CLOCK64:
        return run->steps;
    case IR_SREG_GLOBALTIMER:
        return now_ns();
    case IR_SREG_GLOBALTIMER_LO:
        return (uint32_t)now_ns();
    case IR_SREG_GLOBALTIMER_HI:
        return now_ns() >> 32;
    case IR_SREG_ENVREG1:
        return l->envreg[0];
    case IR_SREG_ENVREG2:
        return l->envreg[1];
    case IR_SREG_CLUSTERID_X:
    case IR_SREG_CLUSTERID_Y:
    case IR_SREG_CLUSTERID_Z:
    case IR_SREG_NCLUSTERID_X:
    case IR_SREG_NCLUSTERID_Y:
    case IR_SREG_NCLUSTERID_Z:
    case IR_SREG_CLUSTER_CTAID_X:
    case IR_SREG_CLUSTER_CTAID_Y:
    case IR_SREG_CLUSTER_CTAID_Z:
    case IR_SREG_CLUSTER_NCTAID_X:
    case IR_SREG_CLUSTER_NCTAID_Y:
    case IR_SREG_CLUSTER_NCTAID_Z:
    case IR_SREG_CLUSTER_CTARANK:
    case IR_SREG_CLUSTER_NCTARANK:
    case IR_SREG_IS_EXPLICIT_CLUSTER:
        return cluster_value(t, sreg);
    case IR_SREG_DYNAMIC_SMEM_SIZE:
        return l->dynamic_shared_B;
    case IR_SREG_TOTAL_SMEM_SIZE:
        return run->shared_B;
    case IR_SREG_COUNT:
        break;
    }
    assert(!"a special register");
    return 0;
}

uint64_t interp_sreg(const struct interp_thread *t, enum ir_sreg sreg)
{
    uint64_t v = sreg_value(t, sreg);
    return ir_sreg_type(sreg) == IR_B64 ? v : (uint32_t)v;
}
