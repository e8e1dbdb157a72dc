/*
 * The device runtime (CDP, "CUDA Dynamic Parallelism"): what one grid asked of the CUDA runtime
 * from its kernel.
 *
 * CUDA never promises that a child runs beside its parent, so nothing of it does: a call only
 * writes down what is wanted, and when the grid is over (hal_runtime.submit) it goes in that order
 * into a queue that nobody else uses. So every order that streams and events can ask for holds, and
 * streams and events are only numbers. Launches into cudaStreamTailLaunch come last. A child's
 * packet retires when its own children have, so a grid that has retired has no descendants left.
 * (docs/decisions/0095)
 *
 *     parent's queue:  ... [grid ──────────── WAIT children's queue] ...
 *     children's queue:          [child][copy][child ─ WAIT][tail child]
 *
 * Owners: a struct core_cdp belongs to its grid's job, from the first call that leaves something
 * until core_cdp_submit(). Threads: any thread of the grid, under one lock.
 */
#ifndef HD_CORE_CDP_CDP_H
#define HD_CORE_CDP_CDP_H

#include "base/lock.h"
#include "base/map.h"
#include "core/stream/launch.h"
#include "hal/hal.h"
#include "ir/device_runtime.h"

/* The programming guide: maximum nesting depth. */
#define CORE_CDP_DEPTH 24u

/* A launch whose parameters the kernel is writing, or has written. */
struct core_cdp_launch {
    const struct core_entry *entry; /* NULL: not known before the launch (GetParameterBuffer) */
    struct core_launch launch;
    uint64_t buffer_va; /* of the parameters: device memory */
    uint64_t buffer_B;
    bool launched; /* the buffer is used up */
};

/* What is submitted. */
struct core_cdp_command {
    struct core_cdp_launch *launch; /* NULL: the packet */
    bool tail;
    union hal_packet packet; /* COPY, FILL */
};

struct core_cdp {
    struct core_context *ctx;   /* borrowed: outlives the grid */
    struct core_module *module; /* of the grid's kernel; the same */
    unsigned depth;             /* of the children: 1 below a launch by the host */
    struct hd_lock lock;        /* all below */
    struct hd_map launches;     /* buffer_va -> struct core_cdp_launch, owned */
    HD_VEC(struct core_cdp_command) commands;
    HD_VEC(uint8_t) objects; /* streams and events by number: enum core_cdp_object */
    struct hd_map errors;    /* thread -> its last error */
    HD_VEC(uint64_t) texts;  /* device memory: what error texts were copied to */
};

enum core_cdp_object { CORE_CDP_GONE, CORE_CDP_STREAM, CORE_CDP_EVENT };

/* What a grid is called with, and answers of the calls below. */
struct core_cdp_call {
    struct core_context *ctx;
    struct core_module *module;
    struct hal_queue *queue;
    _Atomic(void *) *children;
    struct ir_runtime_io *io;
};

extern const struct hal_runtime core_cdp_runtime; /* cdp_calls.c */

/* The grid's, made now if need be. NULL: no memory. */
struct core_cdp *core_cdp_get(const struct core_cdp_call *call);
/* The grid's, or NULL when it has asked for nothing. */
struct core_cdp *core_cdp_look(const struct core_cdp_call *call);
/* Frees what was not submitted, and the rest. */
void core_cdp_destroy(struct core_cdp *cdp);
/* Adds to what is submitted. False: no memory. */
bool core_cdp_add(struct core_cdp *cdp, const struct core_cdp_command *command);

/* The kernel behind a function's address, or NULL. */
const struct core_entry *core_cdp_entry(const struct core_cdp_call *call, uint64_t func);
/* The grid is over: hal_runtime.submit. */
void core_cdp_submit(struct hal_queue *parent, void *children, union hal_packet *out_wait);

#endif
