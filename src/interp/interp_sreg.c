/* Special registers. */
#include "interp/interp_priv.h"
#include "interp/interp_shared.h"

#include <assert.h>
#include <time.h>

#include "base/clock.h"

static uint64_t now_ns(void)
{
    return hd_clock_ns(CLOCK_REALTIME);
}

/* Sizes of clusters divide those of the grid. */
static uint64_t cluster_value(const struct interp_thread_ids *p, enum ir_sreg sreg)
{
    unsigned axis = (sreg - IR_SREG_CLUSTERID_X) % 3;
    uint32_t size = p->cluster[axis];
    if (sreg <= IR_SREG_CLUSTERID_Z)
        return p->ctaid[axis] / size;
    if (sreg <= IR_SREG_NCLUSTERID_Z)
        return p->launch->grid[axis] / size;
    if (sreg <= IR_SREG_CLUSTER_CTAID_Z)
        return p->ctaid[axis] % size;
    if (sreg <= IR_SREG_CLUSTER_NCTAID_Z)
        return size;
    if (sreg == IR_SREG_CLUSTER_CTARANK)
        return p->rank;
    if (sreg == IR_SREG_CLUSTER_NCTARANK)
        return (uint64_t)p->cluster[0] * p->cluster[1] * p->cluster[2];
    assert(sreg == IR_SREG_IS_EXPLICIT_CLUSTER);
    return p->launch->cluster[0] != 0;
}

uint64_t interp_sreg_at(const struct interp_thread_ids *p, enum ir_sreg sreg)
{
    const struct interp_launch *l = p->launch;
    uint32_t eq = 1u << p->lane;
    switch (sreg) {
    case IR_SREG_TID_X:
    case IR_SREG_TID_Y:
    case IR_SREG_TID_Z:
        return p->tid[sreg - IR_SREG_TID_X];
    case IR_SREG_NTID_X:
    case IR_SREG_NTID_Y:
    case IR_SREG_NTID_Z:
        return l->block[sreg - IR_SREG_NTID_X];
    case IR_SREG_CTAID_X:
    case IR_SREG_CTAID_Y:
    case IR_SREG_CTAID_Z:
        return p->ctaid[sreg - IR_SREG_CTAID_X];
    case IR_SREG_NCTAID_X:
    case IR_SREG_NCTAID_Y:
    case IR_SREG_NCTAID_Z:
        return l->grid[sreg - IR_SREG_NCTAID_X];
    case IR_SREG_LANEID:
        return p->lane;
    case IR_SREG_WARPID:
        return p->warp;
    case IR_SREG_NWARPID:
        return p->nwarps;
    case IR_SREG_SMID:
        return p->smid;
    case IR_SREG_NSMID:
        return l->nsms ? l->nsms : 1;
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
    case IR_SREG_CLOCK64:
        return p->steps;
    case IR_SREG_CLOCK_HI:
        return p->steps >> 32;
    case IR_SREG_GLOBALTIMER:
    case IR_SREG_GLOBALTIMER_LO:
        return now_ns();
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
        return cluster_value(p, sreg);
    case IR_SREG_DYNAMIC_SMEM_SIZE:
        return l->dynamic_shared_B;
    case IR_SREG_TOTAL_SMEM_SIZE:
        return p->shared_B;
    case IR_SREG_COUNT:
        break;
    }
    assert(!"a special register");
    return 0;
}

uint64_t interp_sreg(const struct interp_thread *t, enum ir_sreg sreg)
{
    const struct interp_cta *cta = t->cta;
    const struct interp_run *run = cta->run;
    const struct interp_thread_ids ids = {.launch = run->launch,
                                          .cluster = run->cluster,
                                          .ctaid = cta->id,
                                          .tid = t->tid,
                                          .lane = t->lane,
                                          .warp = t->warp->index,
                                          .nwarps = cta->nwarps,
                                          .smid = cta->smid,
                                          .rank = cta->rank,
                                          .steps = run->steps,
                                          .shared_B = run->shared_B};
    uint64_t v = interp_sreg_at(&ids, sreg);
    return ir_sreg_type(sreg) == IR_B64 ? v : (uint32_t)v;
}
