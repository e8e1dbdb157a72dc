/*
 * What a thread has (thread.c): a stack of contexts, whose top is the current one, and its default
 * streams. Both hold references, which go when the thread ends.
 */
#ifndef HD_CORE_CURRENT_H
#define HD_CORE_CURRENT_H

#include "base/status.h"
#include "core/handle.h"

/* The top of the calling thread's stack of contexts; borrowed, NULL when empty. Maybe not live. */
struct core_context *core_current(void);
/* The green context as which it was made current; borrowed, NULL: as itself. */
struct core_green *core_current_green(void);
/*
 * Replaces the top, NULL drops it. The caller has a reference. `green`: as this green context of
 * it, or NULL. HD_NO_MEMORY.
 */
enum hd_status core_current_set_green(struct core_context *ctx, struct core_green *green)
    HD_MUST_CHECK;
enum hd_status core_current_push_green(struct core_context *ctx, struct core_green *green)
    HD_MUST_CHECK;
static inline HD_MUST_CHECK enum hd_status core_current_set(struct core_context *ctx)
{
    return core_current_set_green(ctx, NULL);
}
static inline HD_MUST_CHECK enum hd_status core_current_push(struct core_context *ctx)
{
    return core_current_push_green(ctx, NULL);
}
/* NULL when the stack is empty; else with a reference. */
struct core_context *core_current_pop(void);
/*
 * The calling thread's default stream of the context, or the green context, made on first use,
 * destroyed with the thread. Borrowed: the thread has a reference.
 */
enum hd_status core_stream_per_thread(struct core_context *ctx, struct core_stream **out_stream)
    HD_MUST_CHECK;
/* Drops the calling thread's references to default streams that were destroyed with a context. */
void core_thread_prune(void);

#endif
