/*
 * The barrier of a cluster: it counts threads, of one CTA that is launched by itself too.
 */
#include <string.h>

#include "dev/cpu/cta/cta.h"

static void open_if_complete(struct cpu_cluster *cluster)
{
    if (!cluster->arrived || cluster->arrived < cluster->live)
        return;
    cluster->arrived = 0;
    for (uint32_t r = 0; r < cluster->nctas; r++) {
        struct cpu_cta *cta = cluster->ctas[r];
        cta->cta.bars[JIT_CLUSTER_BARRIER].generation++;
        cta->cta.opened++;
        memset(cta->at_cluster, 0, sizeof(cta->at_cluster));
    }
}

void cpu_cluster_arrive(struct cpu_cta *cta, uint32_t w, uint32_t lanes)
{
    uint32_t fresh = lanes & ~cta->at_cluster[w];

    cta->at_cluster[w] |= fresh;
    cta->cluster->arrived += (uint32_t)__builtin_popcount(fresh);
    open_if_complete(cta->cluster);
}

/* Who has ended counts as arrived, once. */
void cpu_cluster_ended(struct cpu_cta *cta, uint32_t w, uint32_t lanes)
{
    uint32_t there = cta->at_cluster[w] & lanes;

    cta->at_cluster[w] &= ~there;
    cta->cluster->arrived -= (uint32_t)__builtin_popcount(there);
    cta->cluster->live -= (uint32_t)__builtin_popcount(lanes);
    open_if_complete(cta->cluster);
}
