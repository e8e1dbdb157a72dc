/*
 * What happens to core's objects, told to those who listen (tap/tap.h), each behind tap_wants():
 *
 *     if (tap_wants(HEDDLE_KIND(MEMORY)))
 *         core_notify_memory(block, NULL, false);
 */
#ifndef HD_CORE_NOTIFY_H
#define HD_CORE_NOTIFY_H

#include "core/handle.h"
#include "tap/tap.h"

struct hal_domain;

struct core_block;

/* Life of a context, stream, event or module; `kind` says which and where the event is told. */
void core_notify_object(enum core_handle_kind kind, struct core_context *ctx, void *handle,
                        bool is_destroyed);
/* A stream that exists now; `flags`: enum heddle_stream_flag. */
void core_notify_stream(struct core_context *ctx, void *handle, uint32_t flags);
/* `stream`: memory that is allocated or freed in its order; NULL: at once. */
void core_notify_memory(const struct core_block *block, struct core_stream *stream, bool is_freed);
/* A module that was loaded, with its variables. */
void core_notify_module(struct core_module *module);
/* hal_client_ops.failed */
struct hal_fault_site;
void core_notify_fault(struct hal_domain *domain, const struct hal_fault_site *site);

#endif
