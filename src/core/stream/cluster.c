/*
 * Cluster sizes: the kernel may require one (.reqnctapercluster), or that launches name one
 * (.explicitcluster); the program may require one for it; a launch may name one.
 */
#include <assert.h>
#include <string.h>

#include "core/stream/launch.h"
#include "ir/ir.h"

void core_cluster_required(const struct core_function *f, uint32_t out[3])
{
    const uint32_t *own = f->entry->cluster;

    for (int i = 0; i < 3; i++)
        out[i] = own[0] ? HD_MAX(own[i], 1u) : (uint32_t)f->cluster[i];
}

uint32_t core_cluster_max(const struct core_function *f)
{
    uint32_t max = f->large_clusters ? IR_CLUSTER_MAX_CTAS : CORE_CLUSTER_PORTABLE;

    return f->entry->max_cluster ? HD_MIN(max, f->entry->max_cluster) : max;
}

static bool has_zero(const uint32_t n[3])
{
    return !n[0] || !n[1] || !n[2];
}

/* The size, of what the kernel and the program require and the launch names. */
static enum hd_status find_size(const struct core_function *f, struct core_launch *l)
{
    const char *name = f->entry->name;
    bool given = l->cluster[0] | l->cluster[1] | l->cluster[2];
    uint32_t need[3];

    core_cluster_required(f, need);
    if ((given && has_zero(l->cluster)) || ((need[0] | need[1] | need[2]) && has_zero(need)))
        return hd_error(HD_BAD_CLUSTER, "%s: a cluster with a dimension of 0", name);
    if (!given && !need[0])
        return hd_error(HD_BAD_CLUSTER, "%s: the kernel must be launched with a cluster size",
                        name);
    if (given && need[0] && memcmp(need, l->cluster, sizeof(need)))
        return hd_error(HD_BAD_CLUSTER, "%s: the kernel requires clusters of (%u,%u,%u)", name,
                        need[0], need[1], need[2]);
    if (!given)
        memcpy(l->cluster, need, sizeof(need));
    return HD_OK;
}

static enum hd_status check_size(const struct core_function *f, const uint32_t n[3])
{
    uint32_t max = core_cluster_max(f);

    if (n[0] > max || n[1] > max || n[2] > max || (uint64_t)n[0] * n[1] * n[2] > max)
        return hd_error(HD_BAD_CLUSTER,
                        "%s: a cluster of (%u,%u,%u) blocks, the limit is %u blocks",
                        f->entry->name, n[0], n[1], n[2], max);
    return HD_OK;
}

/* A kernel whose blocks are clusters: the grid counts those, and blocks have the kernel's size. */
static enum hd_status count_ctas(const struct core_function *f, struct core_launch *l)
{
    const uint32_t *req = f->entry->reqntid;

    for (int i = 0; i < 3; i++) {
        uint64_t ctas = (uint64_t)l->grid[i] * l->cluster[i];
        if (ctas > INT32_MAX)
            return hd_error(HD_BAD_ARG, "%s: %llu blocks in a dimension of the grid",
                            f->entry->name, (unsigned long long)ctas);
        l->grid[i] = (uint32_t)ctas;
    }
    if (req[0] && l->block[0] == 1 && l->block[1] == 1 && l->block[2] == 1)
        for (int i = 0; i < 3; i++)
            l->block[i] = HD_MAX(req[i], 1u);
    return HD_OK;
}

static enum hd_status check_grid(const struct core_function *f, const uint32_t grid[3],
                                 const uint32_t n[3])
{
    for (int i = 0; i < 3; i++)
        if (grid[i] % n[i])
            return hd_error(HD_BAD_CLUSTER,
                            "%s: a grid of (%u,%u,%u) is no multiple of clusters of (%u,%u,%u)",
                            f->entry->name, grid[0], grid[1], grid[2], n[0], n[1], n[2]);
    return HD_OK;
}

enum hd_status core_cluster_resolve(const struct core_function *f, struct core_launch *l)
{
    assert(core_cluster_is_named(f, l));
    HD_TRY(find_size(f, l));
    HD_TRY(check_size(f, l->cluster));
    if (f->entry->blocks_are_clusters)
        HD_TRY(count_ctas(f, l));
    return check_grid(f, l->grid, l->cluster);
}

enum hd_status core_cluster_check_preferred(const struct core_function *f,
                                            const struct core_launch *l,
                                            const uint32_t preferred[3])
{
    struct core_launch whole = *l;

    if (has_zero(preferred))
        return hd_error(HD_BAD_CLUSTER, "%s: a preferred cluster with a dimension of 0",
                        f->entry->name);
    if (!core_cluster_is_named(f, l))
        return hd_error(HD_BAD_CLUSTER, "%s: a preferred cluster without a cluster",
                        f->entry->name);
    HD_TRY(core_cluster_resolve(f, &whole));
    HD_TRY(check_size(f, preferred));
    for (int i = 0; i < 3; i++)
        if (preferred[i] % whole.cluster[i])
            return hd_error(HD_BAD_CLUSTER,
                            "%s: a preferred cluster of (%u,%u,%u) is no multiple of (%u,%u,%u)",
                            f->entry->name, preferred[0], preferred[1], preferred[2],
                            whole.cluster[0], whole.cluster[1], whole.cluster[2]);
    return check_grid(f, whole.grid, preferred);
}
