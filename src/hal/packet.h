/*
 * What a device and its users share: packets, the ring that carries them, a domain's fault. The
 * fields are one table, spec/packets.def, where each has its offset, its rule and its text;
 * docs/launch-protocol.md says how they are used.
 *
 * Nothing here holds a host pointer but HOST_CALL, which only the device's own process may submit.
 * Addresses are device addresses, blocks in the parameter ring are offsets from the ring's start,
 * kernels are numbers in the device's table, semaphores may be offsets in a shared region.
 *
 * Threads: one thread at a time submits to a ring (the submitter); the device retires. Everybody
 * who maps the ring may read positions and wait for them.
 */
#ifndef HD_HAL_PACKET_H
#define HD_HAL_PACKET_H

#include <stdatomic.h>

#include "base/status.h"
#include "packets.def"

#define HAL_PACKET_B        128
#define HAL_INLINE_PARAMS_B 64

enum hal_op {
#define X(name, text, packet, doc) HAL_OP_##name,
    HAL_OP_LIST(X)
#undef X
        HAL_OP_COUNT
};
/* "dispatch"; "unknown" for a number outside the table. */
const char *hal_op_name(unsigned op);

enum hal_flag {
#define X(name, bit, ops, doc) HAL_FLAG_##name = 1 << (bit),
    HAL_FLAG_LIST(X)
#undef X
};

enum hal_compare {
#define X(name, value, doc) HAL_COMPARE_##name = (value),
    HAL_COMPARE_LIST(X)
#undef X
};

enum hal_signal {
#define X(name, value, doc) HAL_SIGNAL_##name = (value),
    HAL_SIGNAL_LIST(X)
#undef X
};

enum hal_extension_bit {
#define X(name, bit, doc) HAL_EXTENSION_##name = 1 << (bit),
    HAL_EXTENSION_LIST(X)
#undef X
};

enum {
#define X(...) +1
    HAL_FLAG_COUNT = 0 HAL_FLAG_LIST(X),
    HAL_COMPARE_COUNT = 0 HAL_COMPARE_LIST(X),
    HAL_SIGNAL_COUNT = 0 HAL_SIGNAL_LIST(X),
    HAL_EXTENSION_COUNT = 0 HAL_EXTENSION_LIST(X),
#undef X
};

/* ---- the structs */

#define HAL_FIELD_(type, name, offset, rule, doc)        type name;
#define HAL_ARRAY_(type, name, count, offset, rule, doc) type name[count];

struct hal_head {
    HAL_HEAD_FIELDS(HAL_FIELD_, HAL_ARRAY_)
};

#define X(packet, FIELDS)                                                                          \
    struct hal_##packet {                                                                          \
        struct hal_head head;                                                                      \
        FIELDS(HAL_FIELD_, HAL_ARRAY_)                                                             \
    };
HAL_PACKET_LIST(X)
#undef X

union hal_packet {
    struct hal_head head;
#define X(packet, FIELDS) struct hal_##packet packet;
    HAL_PACKET_LIST(X)
#undef X
    uint8_t bytes[HAL_PACKET_B];
};

/* In the parameter ring, when HAL_FLAG_EXTENSION is set; the parameters follow it. */
struct hal_extension {
    HAL_EXTENSION_FIELDS(HAL_FIELD_, HAL_ARRAY_)
};

/* What a dispatch with HAL_FLAG_INDIRECT runs; in memory of the submitter's. */
struct hal_indirect {
    HAL_INDIRECT_FIELDS(HAL_FIELD_, HAL_ARRAY_)
};

/* When a packet with HAL_FLAG_STAMP began and ended. */
struct hal_stamp {
    HAL_STAMP_FIELDS(HAL_FIELD_, HAL_ARRAY_)
};

/*
 * At the start of a queue's memory. The submitter writes `submitted`, the device `retired`; both
 * only grow. Packet n (from 1) is in slot (n - 1) % slots.
 */
struct hal_ring {
    HAL_RING_FIELDS(HAL_FIELD_, HAL_ARRAY_)
    _Alignas(HAL_PACKET_B) union hal_packet packets[];
};

/* What went wrong first in a fault domain; where it is shared, at the start of its memory. */
struct hal_fault {
    HAL_FAULT_FIELDS(HAL_FIELD_, HAL_ARRAY_)
};
#define HAL_FAULT_HAS_BLOCK  1u
#define HAL_FAULT_HAS_THREAD 2u
#define HAL_FAULT_HAS_LINE   4u

#undef HAL_FIELD_
#undef HAL_ARRAY_

#define HAL_RING_MAGIC     0x51524448u /* "HDRQ" */
#define HAL_RING_VERSION   2
#define HAL_RING_SLOTS     1024u
#define HAL_RING_PARAMS_B  (256u << 10)
#define HAL_RING_STAMPS_AT (sizeof(struct hal_ring) + HAL_RING_SLOTS * HAL_PACKET_B)
#define HAL_RING_PARAMS_AT                                                                         \
    ((HAL_RING_STAMPS_AT + HAL_RING_SLOTS * sizeof(struct hal_stamp) + 4095) & ~(uint64_t)4095)
#define HAL_RING_B (HAL_RING_PARAMS_AT + HAL_RING_PARAMS_B)

static inline union hal_packet *hal_ring_packet(struct hal_ring *ring, uint64_t position)
{
    return &ring->packets[(position - 1) & (HAL_RING_SLOTS - 1)];
}
static inline struct hal_stamp *hal_ring_stamp(struct hal_ring *ring, uint64_t position)
{
    struct hal_stamp *stamps = (struct hal_stamp *)((char *)ring + HAL_RING_STAMPS_AT);

    return &stamps[(position - 1) & (HAL_RING_SLOTS - 1)];
}
static inline uint64_t hal_ring_submitted(const struct hal_ring *ring)
{
    return atomic_load_explicit(&ring->submitted, memory_order_acquire);
}
static inline uint64_t hal_ring_retired(const struct hal_ring *ring)
{
    return atomic_load_explicit(&ring->retired, memory_order_acquire);
}

#define HAL_CLUSTER_MAX 16 /* CTAs of a cluster */

/* Does the dispatch ask for clusters of several CTAs? */
static inline bool hal_dispatch_has_clusters(const struct hal_dispatch *p)
{
    return p->cluster[0] > 1 || p->cluster[1] > 1 || p->cluster[2] > 1;
}
/* The dispatch's extension in the ring, or NULL. The packet has been checked or made by us. */
static inline const struct hal_extension *hal_dispatch_extension(const struct hal_ring *ring,
                                                                 const struct hal_dispatch *p)
{
    return p->head.flags & HAL_FLAG_EXTENSION
               ? (const struct hal_extension *)((const char *)ring + p->ring_offset)
               : NULL;
}
/* The dispatch's parameter block, in the packet or in the ring. */
static inline const void *hal_dispatch_params(const struct hal_ring *ring,
                                              const struct hal_dispatch *p)
{
    const char *block = (const char *)ring + p->ring_offset;

    if (!p->ring_B)
        return p->params;
    return p->head.flags & HAL_FLAG_EXTENSION ? block + sizeof(struct hal_extension) : block;
}

/*
 * For devices, when a dispatch with HAL_FLAG_INDIRECT begins: it becomes an ordinary one, in its
 * slot, as its block says now; a NOP when that is disabled.
 */
void hal_dispatch_resolve(struct hal_ring *ring, union hal_packet *packet);

/* What a domain's fault says when a guarded semaphore could not be accessed. */
extern const char hal_sem_gone[];
/* Does the semaphore at `at` satisfy a WAIT packet? */
bool hal_sem_holds(const struct hal_sem *wait, const void *at);
struct hal_device;
/* Does what a SIGNAL or TIMESTAMP packet says to the semaphore at `at`; `device` has the time. */
void hal_sem_apply(const struct hal_sem *signal, void *at, struct hal_device *device);

/*
 * Checks a packet that comes from elsewhere against its rows and the ring's bounds, so that any
 * device can execute it. HD_BAD_ARG names the field. What a device never sees unchecked: packets
 * of another process (serve.h); in one process core makes them.
 */
enum hd_status hal_packet_check(const union hal_packet *packet) HD_MUST_CHECK;
enum hd_status hal_extension_check(const struct hal_extension *extension) HD_MUST_CHECK;
/* Fills the header of a ring in zeroed memory of HAL_RING_B bytes. */
void hal_ring_init(struct hal_ring *ring);
/* Maps a ring that somebody else made, after checking it; unmap HAL_RING_B bytes. HD_BAD_ARG. */
enum hd_status hal_ring_map(int memfd, struct hal_ring **out_ring) HD_MUST_CHECK;
/* As hal_queue_params() says; *taken counts the bytes handed out. */
void *hal_ring_params(struct hal_ring *ring, uint64_t *taken, struct hal_dispatch *p,
                      const struct hal_extension *extension, uint32_t size_B);
/* Checks the header of a ring that somebody else made, in a mapping of ring_B bytes. */
enum hd_status hal_ring_check(const struct hal_ring *ring, size_t ring_B) HD_MUST_CHECK;

/*
 * Sets the domain's status unless it has one. Returns whether this was the first; then the message,
 * one line that says which kernel and where, is also logged: a program need not ask to be told.
 */
bool hal_fault_raise(struct hal_fault *fault, enum hd_status status, uint64_t address,
                     const char *message);
/* Where it happened, as far as it is known. */
struct hal_fault_site {
    const char *kernel;             /* NULL: not a kernel's */
    const uint32_t *block, *thread; /* three each; NULL: not known */
    const char *file;               /* NULL: not known */
    uint32_t line;
};
bool hal_fault_raise_at(struct hal_fault *fault, enum hd_status status, uint64_t address,
                        const struct hal_fault_site *site, const char *message);
static inline enum hd_status hal_fault_status(const struct hal_fault *fault)
{
    return (enum hd_status)atomic_load_explicit(&fault->status, memory_order_acquire);
}

#endif
