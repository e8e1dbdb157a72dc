/* Clusters: their barrier, and how many CTAs they have. */
#include "base/mem.h"
#include "interp/interp_priv.h"

void interp_cluster_init(struct interp_cluster *cluster, uint32_t live)
{
    *cluster = (struct interp_cluster){.live = live};
}

void interp_cluster_fini(struct interp_cluster *cluster)
{
    for (unsigned i = 0; i < HD_COUNT_OF(cluster->tensor); i++) {
        hd_free(cluster->tensor[i]);
        cluster->tensor[i] = NULL;
    }
}

/* ---- the barrier */

static void cluster_open_if_complete(struct interp_cta *cta)
{
    struct interp_cluster *c = cta->cluster;
    if (!c->arrived || c->arrived < c->live)
        return;
    c->arrived = 0;
    c->generation++;
    cta->run->effects++;
}

/* Is the round over that the thread arrived in? One that did not arrive waits for nothing. */
static bool cluster_is_open(const struct interp_thread *t)
{
    return !t->at_cluster || t->generation != t->cta->cluster->generation;
}

enum interp_step interp_cluster_bar(struct interp_thread *t)
{
    struct interp_cluster *c = t->cta->cluster;
    t->warp->has_waited = false;
    if (t->frame->pc->imm == IR_BAR_CLUSTER_ARRIVE) {
        c->arrived += cluster_is_open(t);
        t->at_cluster = true;
        t->generation = c->generation;
        cluster_open_if_complete(t->cta);
        return INTERP_NEXT;
    }
    if (cluster_is_open(t))
        return INTERP_NEXT;
    t->state = INTERP_WAIT_CLUSTER;
    return INTERP_BLOCKED;
}

void interp_settle_cluster(struct interp_warp *warp)
{
    for (uint32_t i = 0; i < warp->nlanes; i++) {
        struct interp_thread *t = &warp->lanes[i];
        if (t->state == INTERP_WAIT_CLUSTER && cluster_is_open(t))
            interp_release(t);
    }
}

/* Who has ended counts as arrived, once. */
void interp_cluster_leave(struct interp_thread *t)
{
    struct interp_cluster *c = t->cta->cluster;
    c->arrived -= !cluster_is_open(t);
    c->live--;
    cluster_open_if_complete(t->cta);
}

uint32_t interp_cluster_ctas(const struct interp_run *run)
{
    return run->window.clusters ? run->cluster_ctas : 1;
}
