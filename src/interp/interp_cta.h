/*
 * One CTA in the hands of another device.
 *
 * A device that has no code for a kernel runs its CTAs here, each as if generated code did: in the
 * device's memory, on its worker, between its other work. The device owns shared and local windows;
 * what the interpreter keeps per thread it allocates itself.
 *
 *     HD_TRY(interp_cta_create(&launch, &place, &cta));
 *     while ((status = interp_cta_turn(cta, &over)) == HD_OK && !over)
 *         ...other work...
 *     interp_cta_destroy(cta);
 *
 * A turn is bounded: each warp advances by a few instructions per lane, so a kernel that polls
 * never keeps its caller from other work. Results are those of interp_launch(), to the bit; CTAs of
 * one launch may run on different threads at once, each on one at a time.
 *
 * `launch` is borrowed until interp_cta_destroy(). When launch->ops->check is NULL every address is
 * taken for good, and the caller catches the signal that a wild one raises: it leaves the turn by a
 * long jump and calls interp_cta_fault() for the place. The CTA can only be destroyed then.
 */
#ifndef HD_INTERP_INTERP_CTA_H
#define HD_INTERP_INTERP_CTA_H

#include "interp/interp.h"

struct interp_cta;

/*
 * What the CTAs of a cluster share: its barrier, and what one of a pair may ask for in the other.
 * The device has one for them, with all their threads in `live`, before the first turn of the
 * first; they take their turns on one thread.
 */
struct interp_cluster {
    uint32_t live;       /* threads that have not ended */
    uint32_t arrived;    /* of these, since the barrier last opened */
    uint64_t generation; /* counts openings */
    /* By rank, NULL until it is used: interp_cluster_fini(). */
    struct ir_tensor_memory *tensor[IR_CLUSTER_MAX_CTAS];
};
void interp_cluster_init(struct interp_cluster *cluster, uint32_t live);
void interp_cluster_fini(struct interp_cluster *cluster);

struct interp_placement {
    uint32_t ctaid[3];
    uint32_t smid;
    char *shared;      /* the shared window */
    uint64_t shared_B; /* at least what kernel and launch ask for */
    char *local;       /* thread t's window is t * local_B further */
    uint64_t local_B;
    /* A CTA of a cluster; else 0. */
    uint32_t rank;
    char *windows; /* shared window of rank 0: struct ir_window */
    struct interp_cluster *cluster;
};

/* HD_NO_MEMORY. */
enum hd_status interp_cta_create(const struct interp_launch *launch,
                                 const struct interp_placement *placement,
                                 struct interp_cta **out_cta) HD_MUST_CHECK;
void interp_cta_destroy(struct interp_cta *cta);
/* A few instructions of every thread; *out_over: all have ended. Errors are interp_launch()'s.
 * When nobody can go on that is one, but not in a cluster. */
enum hd_status interp_cta_turn(struct interp_cta *cta, bool *out_over) HD_MUST_CHECK;
/* Counts what the CTA does that others can see: as long as it stays the same, threads only wait. */
uint64_t interp_cta_effects(const struct interp_cta *cta);
/* They have waited for too long: HD_TIMEOUT, with who waits where. */
enum hd_status interp_cta_stuck(struct interp_cta *cta);
/* "2 threads of warp 0 wait at barrier 1, ...; ...", between two turns. */
void interp_cta_print_waiters(const struct interp_cta *cta, struct hd_buf *out);
/* A signal came in a turn: the error, with the thread's place in its message. */
enum hd_status interp_cta_fault(struct interp_cta *cta, enum hd_status status, uint64_t address);
/* Place of the error that a turn or interp_cta_fault() returned. */
const struct interp_fault *interp_cta_fault_srcloc(const struct interp_cta *cta);

#endif
