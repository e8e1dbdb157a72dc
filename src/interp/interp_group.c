/* Clusters of a launch of ours: memory for their CTAs, which start and end together. */
#include <sys/mman.h>

#include "base/mem.h"
#include "interp/interp_priv.h"

/* The CTAs of one lie one after the other among the residents. */
struct group {
    struct interp_cluster cluster;
    char *windows;
    size_t windows_B;
};

static struct group *group_create(const struct interp_run *run, uint32_t nctas)
{
    const uint32_t *block = run->launch->block;
    struct group *g = hd_new(struct group);
    if (!g)
        return NULL;
    interp_cluster_init(&g->cluster, nctas * block[0] * block[1] * block[2]);
    g->windows_B = (nctas - 1) * IR_CLUSTER_STRIDE_B + run->shared_B + 1;
    g->windows = mmap(NULL, g->windows_B, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (g->windows != MAP_FAILED)
        return g;
    hd_free(g);
    return NULL;
}

static void group_destroy(struct group *g)
{
    interp_cluster_fini(&g->cluster);
    munmap(g->windows, g->windows_B);
    hd_free(g);
}

/* CTAs run one after another here: any multiprocessor of the launch will do. */
static uint32_t smid_of(const struct interp_launch *launch, uint32_t index)
{
    return launch->sms ? launch->sms[index % launch->nused] : index % HD_MAX(launch->nsms, 1u);
}

/* CTA `rank` of cluster `index`; .x first, of clusters and in them. */
static struct interp_placement placement_of(const struct interp_run *run, uint64_t index,
                                            uint32_t rank)
{
    bool alone = interp_cluster_ctas(run) == 1;
    struct interp_placement placement = {.rank = rank};
    for (int i = 0; i < 3; i++) {
        uint32_t n = alone ? 1 : run->cluster[i], clusters = run->launch->grid[i] / n;
        placement.ctaid[i] = (uint32_t)(index % clusters) * n + rank % n;
        index /= clusters;
        rank /= n;
    }
    placement.smid = smid_of(run->launch, placement.ctaid[0]);
    return placement;
}

bool interp_cluster_start(struct interp_run *run, uint64_t index, struct interp_cta **out_ctas)
{
    uint32_t n = interp_cluster_ctas(run), made = 0;
    struct group *g = n > 1 ? group_create(run, n) : NULL;
    bool ok = g || n == 1;
    for (; ok && made < n; made += ok) {
        struct interp_placement placement = placement_of(run, index, made);
        if (g) {
            placement.windows = g->windows;
            placement.shared = g->windows + made * IR_CLUSTER_STRIDE_B;
            placement.cluster = &g->cluster;
        }
        out_ctas[made] = interp_cta_start(run, &placement);
        ok = out_ctas[made] != NULL;
    }
    if (ok)
        return true;
    while (made)
        interp_cta_end(out_ctas[--made]);
    if (g)
        group_destroy(g);
    return false;
}

void interp_cluster_end(struct interp_cta **ctas)
{
    const struct interp_run *run = ctas[0]->run;
    uint32_t n = interp_cluster_ctas(run);
    struct group *g = n > 1 ? HD_CONTAINER_OF(ctas[0]->cluster, struct group, cluster) : NULL;
    for (uint32_t r = 0; r < n; r++)
        interp_cta_end(ctas[r]);
    if (g)
        group_destroy(g);
}
