/*
 * Handles: what the API hands out for contexts, modules, streams, events ... A handle is a number,
 * not an address:
 *
 *       63  62   58 57          28 27        4 3    0
 *     +-----+-------+--------------+-----------+------+
 *     |  0  | kind  |  generation  |   index   |  0   |
 *     +-----+-------+--------------+-----------+------+
 *
 * `index` finds a cell in the kind's slab, whose memory is never unmapped; `generation` tells the
 * object that lives in the cell now from all that lived there before. So a stale, foreign, freed or
 * invented handle is refused without a lock and without touching memory that is not ours. No user
 * space address has a kind (bits 58 and up are 0 there): no pointer is ever taken for a handle. The
 * special values of streams (0, 1, 2) are none either.
 *
 * Objects are counted. The owner (the context's list, the library ...) holds one reference from
 * publish to retire; whoever uses an object meanwhile holds another:
 *
 *     struct core_event *event = core_event_lookup(handle);    NULL: not a live event
 *     ...                                                      another thread may destroy it
 *     core_event_unref(event);                                 the last one frees it
 *
 *     alloc ──► unpublished ──publish──► live ──retire──► retired ──last unref──► finalise, free
 *               even generation          odd              even
 *
 * Rules: a function that makes or looks up an object and returns it in an out_ parameter returns a
 * reference with it. An object holds references to what it points at (stream -> context). Dropping
 * a reference may finalise: hold no lock of rank CONTEXT or further in.
 *
 * Adding a kind: docs/recipes/add-handle-type.md.
 */
#ifndef HD_CORE_HANDLE_H
#define HD_CORE_HANDLE_H

#include <stdatomic.h>

#include "base/compiler.h"

/*
 * CORE_NAME, struct core_name, text. The kind's file defines void core_name_finalise(struct
 * core_name *), which runs when the last reference is gone, undoes what create did and ends with
 * core_handle_free().
 */
#define CORE_HANDLE_LIST(X)                                                                        \
    X(CONTEXT, context, "context")                                                                 \
    X(MODULE, module, "module")                                                                    \
    X(FUNCTION, function, "function")                                                              \
    X(LIBRARY, library, "library")                                                                 \
    X(KERNEL, kernel, "kernel")                                                                    \
    X(STREAM, stream, "stream")                                                                    \
    X(EVENT, event, "event")                                                                       \
    X(LINK, link, "link")                                                                          \
    X(GRAPH, graph, "graph")                                                                       \
    X(NODE, node, "graph node")                                                                    \
    X(EXEC, exec, "executable graph")                                                              \
    X(USER_OBJECT, user_object, "user object")                                                     \
    X(DEVICE_NODE, device_node, "device-updatable node")                                           \
    X(ARRAY, array, "array")                                                                       \
    X(TEXTURE, texture, "texture")                                                                 \
    X(TEXREF, texref, "texture reference")                                                         \
    X(MEMPOOL, mempool, "memory pool")                                                             \
    X(EXTMEM, extmem, "external memory")                                                           \
    X(EXTSEM, extsem, "external semaphore")                                                        \
    X(ALLOCATION, allocation, "memory allocation")                                                 \
    X(GREEN, green, "green context")

enum core_handle_kind {
#define X(NAME, name, text) CORE_##NAME,
    CORE_HANDLE_LIST(X)
#undef X
        CORE_HANDLE_COUNT
};

/* First member of everything that is handed out. Written by handle.c only. */
struct core_object {
    _Atomic uint64_t state; /* generation << 32 | references */
    uint32_t index;         /* in the kind's slab */
    uint32_t kind;
    struct core_object *next_free;
};

/* Zeroed, unpublished, with one reference: the owner's. NULL when memory is short. */
void *core_handle_alloc(enum core_handle_kind kind) HD_MUST_CHECK;
/* The end of a finaliser: the cell may be used again. Nobody has a reference any more. */
void core_handle_free(void *object);
/* From here on lookups find it. The caller has the only reference, or a lock keeps others away. */
void core_object_publish(struct core_object *object);
/*
 * From here on lookups do not find it. True for exactly one caller, who takes over the owner's
 * reference and drops it when the object is out of all lists.
 */
bool core_object_retire(struct core_object *object);
/* After core_object_retire(), by who has kept the owner's reference: its handle finds it again. */
void core_object_revive(struct core_object *object);
/* Published and not retired. Says nothing about the next moment unless the owner's lock is held. */
static inline bool core_object_is_live(const struct core_object *object)
{
    return atomic_load_explicit(&object->state, memory_order_acquire) >> 32 & 1;
}
/* For core_object_unref(): the last reference is gone. */
void core_object_finalise(struct core_object *object, uint64_t state_before);
/* The caller must be sure of a reference, its own or an owner's under the owner's lock. */
void core_object_ref(struct core_object *object);
/* If it is live: who has found it in a list may be beside the one who retires it. */
bool core_object_ref_live(struct core_object *object);
static inline void core_object_unref(struct core_object *object)
{
    uint64_t before = atomic_fetch_sub_explicit(&object->state, 1, memory_order_acq_rel);

    if (HD_UNLIKELY((uint32_t)before <= 1))
        core_object_finalise(object, before);
}
/* The same, unless that is the last reference: false then, and it stays. */
bool core_object_unref_but_last(struct core_object *object) HD_MUST_CHECK;
/* The handle of an object that the caller has a reference to; the same after it was retired. */
void *core_object_handle(const struct core_object *object);
/* With a reference; NULL when the handle is not that of a live object of the kind. */
void *core_handle_lookup(enum core_handle_kind kind, const void *handle);
/* Is this the handle of a live object of the kind? Any value may be asked. */
bool core_handle_is(enum core_handle_kind kind, const void *handle);
/* The live objects of a kind, one at a time, with references; NULL: no more. *at is 0 at first. */
void *core_handle_next(enum core_handle_kind kind, uint32_t *at);
/*
 * The same without a reference, for devices: NULL, or an object that may go at any time. Its memory
 * stays.
 */
const void *core_handle_peek(enum core_handle_kind kind, const void *handle);
/* "event" */
const char *core_handle_text(enum core_handle_kind kind);
/* Cells in use and cells ever used: tests see with them that nothing is left behind. */
struct core_handle_usage {
    uint64_t used, touched;
};
struct core_handle_usage core_handle_usage(enum core_handle_kind kind);

/* The same by kind: core_event_lookup(), core_event_handle(), core_event_ref() ... */
#define X(NAME, name, text)                                                                        \
    struct core_##name;                                                                            \
    void core_##name##_finalise(struct core_##name *name);                                         \
    static inline struct core_##name *core_##name##_lookup(const void *handle)                     \
    {                                                                                              \
        return (struct core_##name *)core_handle_lookup(CORE_##NAME, handle);                      \
    }                                                                                              \
    static inline void *core_##name##_handle(const struct core_##name *name)                       \
    {                                                                                              \
        return name ? core_object_handle((const struct core_object *)name) : NULL;                 \
    }                                                                                              \
    static inline bool core_##name##_is_live(const struct core_##name *name)                       \
    {                                                                                              \
        return core_object_is_live((const struct core_object *)name);                              \
    }                                                                                              \
    static inline struct core_##name *core_##name##_ref(struct core_##name *name)                  \
    {                                                                                              \
        core_object_ref((struct core_object *)name);                                               \
        return name;                                                                               \
    }                                                                                              \
    static inline bool core_##name##_ref_live(struct core_##name *name)                            \
    {                                                                                              \
        return core_object_ref_live((struct core_object *)name);                                   \
    }                                                                                              \
    static inline void core_##name##_unref(struct core_##name *name)                               \
    {                                                                                              \
        if (name)                                                                                  \
            core_object_unref((struct core_object *)name);                                         \
    }                                                                                              \
    static inline void core_##name##_unref_at(struct core_##name **at) /* cleanup attribute */     \
    {                                                                                              \
        core_##name##_unref(*at);                                                                  \
    }
CORE_HANDLE_LIST(X)
#undef X

#endif
