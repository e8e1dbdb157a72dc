/*
 * The emitting side of include/heddle/tap.h, which is the contract. Code in core tells what
 * happens with one of the functions below, each behind core_tap_wants(): nobody listening costs a
 * load and a predicted branch.
 *
 *     if (core_tap_wants(HEDDLE_KIND(MEMORY)))
 *         core_tap_memory(ctx, va, size_B, kind, false);
 *
 * Calls and PACKET are told without a lock of ours, because their listeners may call the API. The
 * other kinds may be told with locks held, and tap.h forbids API calls there.
 */
#ifndef HD_CORE_TAP_H
#define HD_CORE_TAP_H

#include "base/compiler.h"
#include "core/core.h"
#include "heddle/tap.h"

static inline bool core_tap_wants(uint32_t kinds)
{
    return HD_UNLIKELY(heddle_tap_kinds_wanted() & kinds);
}

/* Gives the event its thread, time and correlation, where these are 0, and tells it. */
void core_tap_emit(struct heddle_event *event);
/* Of the API call that the thread is in; 0 outside or when nobody listens. */
uint64_t core_tap_correlation(void);
/* When that call began; 0: nobody asked. */
uint64_t core_tap_begin_ns(void);
/* Never 0; for packets. */
uint64_t core_tap_packet_id(void);

/* Life of a context, stream, event or module; `kind` says which and where the event is told. */
void core_tap_object(enum core_handle_kind kind, struct core_context *ctx, void *handle,
                     bool is_destroyed);
/* A stream that exists now; `flags`: enum heddle_stream_flag. */
void core_tap_stream(struct core_context *ctx, void *handle, uint32_t flags);
/* `stream`: memory that is allocated or freed in its order; NULL: at once. */
void core_tap_memory(const struct core_block *block, struct core_stream *stream, bool is_freed);
/* A module that was loaded, with its variables. */
void core_tap_module(struct core_module *module);
/* hal_client_ops.failed */
struct hal_fault_place;
void core_tap_fault(struct hal_domain *domain, const struct hal_fault_place *place);
/* Subscribes what HEDDLE_DEBUG asks for (tap_log.c). */
void core_tap_log_init(void);

#endif
