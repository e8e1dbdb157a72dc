/*
 * Launches (launch.c): checked and packed (launch_check.c, cluster.c), set up call by call
 * (launch_setup.c), on several devices at once (mdc.c).
 */
#ifndef HD_CORE_STREAM_LAUNCH_H
#define HD_CORE_STREAM_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/module/module.h"

struct core_device;
struct core_stream;
union hal_packet;

struct core_launch {
    uint32_t grid[3], block[3];
    uint32_t dynamic_smem_B;
    uint32_t cluster[3]; /* CTAs; 0: as the kernel says */
    bool cooperative;
    uint16_t mdc;       /* of several devices (mdc.c), or 0 */
    void **params;      /* one pointer per parameter, or NULL */
    const void *buffer; /* packed parameter block instead */
    size_t buffer_B;
    bool for_graphs; /* it can only become a node of one */
    /* Kernels may change the node that it becomes, by the handle that is written here; or NULL. */
    void **out_device_node;
};
/* Of a launch or a graph that was just submitted: waits for its end if the checker runs launches
 * again; not for ever. */
void core_launch_settle(struct core_stream *stream);

/*
 * HD_BAD_ARG for dimensions and sizes outside the limits; HD_LAUNCH_LIMIT for a cooperative grid
 * that cannot be resident; HD_BAD_CLUSTER.
 */
enum hd_status core_launch(struct core_function *function, struct core_stream *stream,
                           const struct core_launch *launch) HD_MUST_CHECK;
/*
 * Launches of the first version are set up call by call: the function keeps what was said, from one
 * launch to the next (launch_setup.c). HD_BAD_ARG: bytes outside of its parameters.
 */
struct core_setup {
    uint32_t block[3]; /* zeros until said */
    uint32_t dynamic_smem_B;
    uint32_t params_B; /* as said */
    uint8_t params[];  /* as many as the function has */
};
enum hd_status core_setup_block(struct core_function *function, const uint32_t block[3])
    HD_MUST_CHECK;
enum hd_status core_setup_smem(struct core_function *function, uint32_t size_B) HD_MUST_CHECK;
enum hd_status core_setup_params(struct core_function *function, uint32_t size_B) HD_MUST_CHECK;
enum hd_status core_setup_param(struct core_function *function, uint32_t offset_B,
                                const void *bytes, uint32_t size_B) HD_MUST_CHECK;
/* What was said so far; the caller frees it with hd_free(). NULL: no memory. */
struct core_setup *core_setup_copy(struct core_function *function);
/*
 * One grid of the same kernel on each of several devices, which can wait for each other (mdc.c):
 * streams of contexts of different devices. `flags`: CORE_MDC_*. HD_BAD_ARG: not the same kernel
 * or dimensions, two on one device; else as core_launch().
 */
struct core_mdc_grid {
    struct core_function *function;
    struct core_stream *stream;
    struct core_launch launch;
};
enum core_mdc_flag {
    CORE_MDC_NO_PRE_SYNC = 1,  /* a grid waits for its own stream only */
    CORE_MDC_NO_POST_SYNC = 2, /* what follows waits for the grid of its own stream only */
};
enum hd_status core_launch_mdc(const struct core_mdc_grid *grids, unsigned n, unsigned flags)
    HD_MUST_CHECK;
/* Its parts: for graphs, which launch later what is given now. Compiles the function. */
#define CORE_PARAMS_MAX_B 32764u
enum hd_status core_launch_check(struct core_function *function, const struct core_launch *launch)
    HD_MUST_CHECK;
/* Could some kernel be launched like this? */
bool core_launch_fits(const struct core_device *device, const struct core_launch *launch);
/* Packs the parameters into entry->params_B bytes at `block`. */
enum hd_status core_launch_pack(const struct core_entry *entry, const struct core_launch *launch,
                                uint8_t *block) HD_MUST_CHECK;
/* All of the packet but its parameters and the grid's number. */
void core_launch_packet(const struct core_function *function, const struct core_launch *launch,
                        union hal_packet *out_packet);
/*
 * Clusters (cluster.c). Is one of a size that kernel, program or launch names? Then resolving it
 * makes the launch's cluster that size, and counts its grid in CTAs.
 */
enum { CORE_CLUSTER_PORTABLE = 8 };
static inline bool core_cluster_is_named(const struct core_function *f, const struct core_launch *l)
{
    return l->cluster[0] | l->cluster[1] | l->cluster[2] | f->entry->cluster[0] |
           (uint32_t)(f->cluster[0] | f->cluster[1] | f->cluster[2]) | f->entry->explicit_cluster;
}
enum hd_status core_cluster_resolve(const struct core_function *function,
                                    struct core_launch *launch) HD_MUST_CHECK;
/* Is `preferred`, which may be used instead, a multiple that divides the grid? */
enum hd_status core_cluster_check_preferred(const struct core_function *function,
                                            const struct core_launch *launch,
                                            const uint32_t preferred[3]) HD_MUST_CHECK;
/* The most CTAs that a cluster of the function may have. */
uint32_t core_cluster_max(const struct core_function *function);
/* The size that the function requires; out[0] is 0 when it does not. */
void core_cluster_required(const struct core_function *function, uint32_t out[3]);
/* CTAs of this size that fit a multiprocessor; 0 when none does. */
int core_occupancy(const struct core_function *function, int threads, uint64_t dynamic_smem_B);
/* Dynamic shared memory one CTA may use so that `ctas` fit. */
uint64_t core_occupancy_smem(const struct core_function *function, int ctas, int threads);

/* ---- between launch.c and launch_check.c */

/* Whether all blocks are resident at the same time on so many multiprocessors: HD_LAUNCH_LIMIT. */
enum hd_status core_launch_check_cooperative(const struct core_function *f,
                                             const struct core_launch *l, uint32_t sms)
    HD_MUST_CHECK;

#endif
