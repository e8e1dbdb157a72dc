/*
 * The machine under the CUDA APIs: contexts, memory, modules, streams, events and launches, turned
 * into HAL packets. Everything CUDA-specific that is not decoding of arguments lives here.
 *
 * Objects and owners:
 *
 *     core_device* ────── core_context* ──┬── core_module* ── core_function*
 *                                          ├── core_stream* ── hal_queue
 *                                          ├── core_event*
 *                                          ├── core_array*, core_texture*
 *                                          └── device memory blocks
 *     core_library* (no context) ── core_kernel* ; a core_module per context that uses it
 *
 * Each object has a header of its own; this one is for callers outside of core, and includes them.
 *
 * Handles, references and the life of objects: core/handle.h. What a function returns in an out_
 * parameter comes with a reference; the caller drops it. x_destroy() takes an object out of its
 * owner's lists and makes its handle invalid; the memory goes with the last reference. It returns
 * false when another thread was first. Destroying a context destroys all it owns.
 *
 * Errors: enum hd_status. A fault of a kernel is sticky: core_context_status() returns it for the
 * rest of the context's life (the primary context's until it is reset).
 *
 * Threads: all functions may be called by any thread. Locks, outermost first: context->lock,
 * stream->lock, then the device's and the memory's own.
 */
#ifndef HD_CORE_CORE_H
#define HD_CORE_CORE_H

#include "core/context.h"
#include "core/current.h"
#include "core/device.h"
#include "core/handle.h"
#include "core/mem/memory.h"
#include "core/mem/mempool.h"
#include "core/module/image.h"
#include "core/module/library.h"
#include "core/module/module.h"
#include "core/stream/copy.h"
#include "core/stream/event.h"
#include "core/stream/launch.h"
#include "core/stream/mem_op.h"
#include "core/stream/stream.h"
#include "core/texture/array.h"
#include "core/texture/texture_object.h"

#endif
