/*
 * Green contexts: some of the multiprocessors of a device, for the primary context.
 *
 * A green context is the primary context but for where kernels run: memory, modules, events and
 * faults are the primary context's. What it has are a set of multiprocessors, a default stream and
 * an id. A thread that makes it current has the primary context current, and notes the green one
 * beside it (thread.c); streams that are made then belong to it, and their queues are limited
 * to its set (hal_queue_sms_set()). (docs/decisions/0099)
 *
 * Owner: the program, until it destroys it, or the context is reset: its streams fail then. It
 * holds the primary context, as cuDevicePrimaryCtxRetain() does.
 *
 * The CUcontext of a green context is the number behind its handle. Handles end in four zero bits,
 * so it is no other object's, and the two are told apart wherever a program mixes them up.
 */
#ifndef HD_CORE_STREAM_GREEN_H
#define HD_CORE_STREAM_GREEN_H

#include "core/context.h"
#include "core/handle.h"

/* A set of multiprocessors, by %smid; what devices have as hal_sms. */
#define CORE_SMS_MAX 256u
struct core_sms {
    uint64_t bits[CORE_SMS_MAX / 64];
};

static inline bool core_sms_has(const struct core_sms *sms, uint32_t sm)
{
    return sms->bits[sm / 64] >> (sm % 64) & 1;
}
static inline void core_sms_add(struct core_sms *sms, uint32_t sm)
{
    sms->bits[sm / 64] |= (uint64_t)1 << (sm % 64);
}
uint32_t core_sms_count(const struct core_sms *sms);

struct core_green {
    struct core_object object;
    struct core_context *ctx;
    uint64_t ctx_id; /* what the context's was: another one after a reset */
    uint64_t id;
    struct core_sms sms; /* constant, as the next two */
    uint32_t nsms;
    uint32_t least, multiple; /* of parts of it: what was asked for when it was split off */
    void *default_stream;     /* its handle; NULL while it is made */
    struct core_gate gate;    /* ctx->lock */
};

/* Parts of the set are `least` multiprocessors at least, and a multiple of `multiple`. */
enum hd_status core_green_create(struct core_device *device, const struct core_sms *sms,
                                 uint32_t least, uint32_t multiple, struct core_green **out_green)
    HD_MUST_CHECK;
/* False: another thread was first. Its streams stay, and can only fail. */
bool core_green_destroy(struct core_green *green);
/* Neither destroyed nor the context reset since. */
bool core_green_is_usable(const struct core_green *green);
/* Waits for its streams. */
enum hd_status core_green_synchronize(struct core_green *green) HD_MUST_CHECK;

/* What a program has as CUcontext. */
void *core_green_context_handle(const struct core_green *green);
/*
 * The context of any CUcontext, with a reference; NULL: it is of none. *out_green, which may be
 * NULL: the green context, with a reference, or NULL.
 */
struct core_context *core_context_find(const void *handle, struct core_green **out_green);

/*
 * All the streams of a context, or of a green context alone when one is given: recording what they
 * were given so far, and making what they are given from now on wait, later streams included.
 * HD_CAPTURE_FORBIDS, HD_CAPTURED_EVENT, and the captures fail: a stream of the context, or the
 * event's recording, is captured.
 */
enum hd_status core_streams_record(struct core_context *ctx, struct core_green *green,
                                   struct core_event *event) HD_MUST_CHECK;
enum hd_status core_streams_wait(struct core_context *ctx, struct core_green *green,
                                 struct core_event *event) HD_MUST_CHECK;

#endif
