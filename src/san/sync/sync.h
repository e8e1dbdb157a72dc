/*
 * synccheck, inside: barriers and collectives that are not used as they should be.
 *
 *     sync.c           the tool; barriers of the CTA and of the cluster
 *     sync_warp.c      __syncwarp(), shuffles, votes and their like
 *     sync_mbarrier.c  barriers in shared memory
 *
 * Compiled code comes with all lanes that run together, the interpreter with one at a time, and
 * neither order means anything: a lane is judged by where it is when it goes on or ends, never by
 * who came with it.
 *
 * Threads: those of a CTA belong to its worker; the mbarriers of clusters have a lock.
 */
#ifndef HD_SAN_SYNC_SYNC_H
#define HD_SAN_SYNC_SYNC_H

#include "base/lock.h"
#include "base/map.h"
#include "san/sync/bars.h"
#include "san/tool.h"

/* line behind "Barrier error detected. ", word of the finding, severity */
#define SYNC_ERROR_LIST(X)                                                                         \
    X(BLOCK, "Divergent thread(s) in block.", "divergent-block", SAN_ERROR)                        \
    X(WARP, "Divergent thread(s) in warp.", "divergent-warp", SAN_ERROR)                           \
    X(ARGUMENTS, "Invalid arguments.", "invalid-arguments", SAN_ERROR)                             \
    X(INIT, "Missing init.", "missing-init", SAN_ERROR)                                            \
    X(WAIT, "Missing wait.", "missing-wait", SAN_WARNING)                                          \
    X(IN_USE, "Initialized while in use.", "init-in-use", SAN_ERROR)                               \
    X(CLUSTER, "Arrive and wait do not alternate.", "cluster-order", SAN_ERROR)
enum sync_error {
#define X(name, line, word, severity) SYNC_##name,
    SYNC_ERROR_LIST(X)
#undef X
};

struct sync_mbar {
    bool parity; /* of the current phase */
    bool phased; /* one has ended since it was made */
    bool waited; /* somebody tested it since the last one ended */
};

struct sync_warp {
    uint32_t waiting;          /* lanes at a collective */
    uint32_t masks[SAN_LANES]; /* with these members */
    const struct ir_instr *at[SAN_LANES];
    uint32_t cluster;   /* lanes that arrived at the cluster's barrier */
    uint32_t took_part; /* lanes that were at a barrier of all threads */
};
struct sync_launch {
    bool sees_cluster;
    struct hd_lock lock; /* of the map */
    struct hd_map mbars; /* of all CTAs, when they see each other's */
};
struct sync_cta {
    struct san_cta *san;
    struct sync_launch *launch;
    struct san_bars bars;
    const struct ir_instr *bar_at[SAN_BARS][SAN_WARPS]; /* where a warp waits */
    struct sync_warp warps[SAN_WARPS];
    struct hd_map mbars; /* offset -> struct sync_mbar */
};

/* The first lane of `lanes` did it, and all of them. `detail`: printf of a line below, or NULL. */
void sync_report(const struct sync_cta *cta, enum sync_error error, const struct ir_instr *at,
                 uint32_t warp, uint32_t lanes, const char *detail, ...) HD_PRINTF(6, 7);

/* Some lanes come to a collective. */
void sync_collective(struct sync_cta *cta, const struct san_sync *sync);
/* Lanes do something: those that seemed to wait at a collective have left it. */
void sync_warp_go_on(struct sync_cta *cta, uint32_t warp, uint32_t lanes);
/* Lanes have ended: those that waited for them need not. */
void sync_warp_end(struct sync_cta *cta, uint32_t warp);
/* Who still waits when the CTA is over. */
void sync_warp_finish(struct sync_cta *cta);

/* HD_OK, or what the CTA fails with. */
enum hd_status sync_mbarrier(struct sync_cta *cta, const struct san_sync *sync);
void sync_mbars_fini(struct hd_map *mbars);

#endif
