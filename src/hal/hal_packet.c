/* Packet names, layout and checks, semaphores, and the fault of a domain: from spec/packets.def. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/str.h"
#include "hal/hal.h"

/* ---- layout */

#define PIN_FIELD(type, name, offset, rule, doc)                                                   \
    _Static_assert(offsetof(self, name) == (offset), "wire format: " #name);
#define PIN_ARRAY(type, name, count, offset, rule, doc) PIN_FIELD(type, name, offset, rule, doc)
#define X(s, FIELDS, size_B)                                                                       \
    HD_UNUSED static void pin_##s(void)                                                            \
    {                                                                                              \
        typedef struct hal_##s self;                                                               \
        FIELDS(PIN_FIELD, PIN_ARRAY)                                                               \
        _Static_assert(sizeof(self) == (size_B), "wire format: size of " #s);                      \
    }
HAL_STRUCT_LIST(X)
#undef X
_Static_assert(offsetof(struct hal_dispatch, params) % 64 == 0, "parameters are 64-byte aligned");
_Static_assert(offsetof(struct hal_ring, packets) == sizeof(struct hal_ring), "slots follow");
_Static_assert(HAL_RING_PARAMS_B % 4096 == 0 && !(HAL_RING_SLOTS & (HAL_RING_SLOTS - 1)),
               "sizes of the rings are powers of two");

const char *hal_op_name(unsigned op)
{
    static const char *const names[] = {
#define X(name, text, packet, doc) text,
        HAL_OP_LIST(X)
#undef X
    };
    return op < HAL_OP_COUNT ? names[op] : "unknown";
}

/* ---- checks */

static enum hd_status packet_field_error(const char *packet, const char *field, unsigned i,
                                         uint64_t value)
{
    return hd_error(HD_BAD_ARG, "%s: field %s[%u] is %llu", packet, field, i,
                    (unsigned long long)value);
}

#define CHECK_ARRAY(type, name, count, offset, rule, doc)                                          \
    for (unsigned i = 0; i < (count); i++) {                                                       \
        uint64_t v = (uint64_t)((const type *)&p->name)[i];                                        \
        if (!(rule))                                                                               \
            return packet_field_error(text, #name, i, v);                                          \
        (void)v;                                                                                   \
    }
#define CHECK_FIELD(type, name, offset, rule, doc) CHECK_ARRAY(type, name, 1, offset, rule, doc)

#define X(s, FIELDS, size_B)                                                                       \
    HD_UNUSED static enum hd_status rows_check_##s(const struct hal_##s *p, const char *text)      \
    {                                                                                              \
        FIELDS(CHECK_FIELD, CHECK_ARRAY)                                                           \
        return HD_OK;                                                                              \
    }
HAL_STRUCT_LIST(X)
#undef X

/* What no row can say, because it looks at several fields. One function per kind of packet. */

static enum hd_status op_check_plain(const struct hal_plain *p)
{
    (void)p;
    return HD_OK;
}

static enum hd_status op_check_dispatch(const struct hal_dispatch *p)
{
    uint64_t need_B = p->params_B;

    if (p->head.flags & HAL_FLAG_EXTENSION)
        need_B += sizeof(struct hal_extension);
    if (!p->ring_B && need_B > HAL_INLINE_PARAMS_B)
        return hd_error(HD_BAD_ARG, "dispatch: %llu bytes of parameters do not fit the packet",
                        (unsigned long long)need_B);
    if (p->ring_B && (p->ring_B < need_B || p->ring_B > HAL_RING_PARAMS_B ||
                      p->ring_offset < HAL_RING_PARAMS_AT || p->ring_offset > HAL_RING_B ||
                      need_B > HAL_RING_B - p->ring_offset))
        return hd_error(HD_BAD_ARG, "dispatch: a block of %u bytes at %llu is not in the ring",
                        p->ring_B, (unsigned long long)p->ring_offset);
    if ((uint64_t)p->block[0] * p->block[1] * p->block[2] > UINT16_MAX)
        return hd_error(HD_BAD_ARG, "dispatch: a CTA of %u x %u x %u threads", p->block[0],
                        p->block[1], p->block[2]);
    /* All of its dimensions or none; they divide the grid. */
    const uint8_t *n = p->cluster;
    uint32_t ctas = (uint32_t)n[0] * n[1] * n[2];
    bool fits = ctas && ctas <= HAL_CLUSTER_MAX;
    if (!(n[0] | n[1] | n[2]))
        return HD_OK;
    for (int i = 0; i < 3 && fits; i++)
        fits = p->grid[i] % n[i] == 0;
    if (fits)
        return HD_OK;
    return hd_error(HD_BAD_ARG, "dispatch: clusters of %u x %u x %u in a grid of %u x %u x %u",
                    n[0], n[1], n[2], p->grid[0], p->grid[1], p->grid[2]);
}

static enum hd_status op_check_copy(const struct hal_copy *p)
{
    if (p->height > 1 && (p->dst_pitch_B < p->width_B || p->src_pitch_B < p->width_B))
        return hd_error(HD_BAD_ARG, "copy: pitch is below the width of %llu bytes",
                        (unsigned long long)p->width_B);
    return HD_OK;
}

static enum hd_status op_check_fill(const struct hal_fill *p)
{
    if (p->dst % p->elem_B || (p->height > 1 && p->pitch_B % p->elem_B))
        return hd_error(HD_BAD_ARG, "fill: destination is not aligned to %u bytes", p->elem_B);
    if (p->height > 1 && p->pitch_B / p->elem_B < p->width)
        return hd_error(HD_BAD_ARG, "fill: pitch is below the width");
    return HD_OK;
}

static enum hd_status op_check_sem(const struct hal_sem *p)
{
    unsigned size_B = p->is_32 ? 4 : 8;

    if ((!p->address && !p->region) || p->address % size_B)
        return hd_error(HD_BAD_ARG, "%s: address is 0 or not a multiple of %u",
                        hal_op_name(p->head.op), size_B);
    if (p->head.op == HAL_OP_TIMESTAMP && p->is_32)
        return hd_error(HD_BAD_ARG, "timestamp: needs 64 bits");
    return HD_OK;
}

static enum hd_status op_check_host_call(const struct hal_host_call *p)
{
    (void)p;
    return HD_OK;
}

/* Which operations may have which flags. */
static enum hd_status packet_head_check(const struct hal_head *head)
{
#define HAL_OPS_ALL 0xffffffffu
#define HAL_OPS(op) (1u << HAL_OP_##op)
    static const uint32_t ops[] = {
#define X(name, bit, mask, doc) [bit] = (mask),
        HAL_FLAG_LIST(X)
#undef X
    };

    HD_TRY(rows_check_head(head, hal_op_name(head->op)));
    for (unsigned bit = 0; bit < HD_COUNT_OF(ops); bit++)
        if (head->flags >> bit & 1 && !(ops[bit] >> head->op & 1))
            return hd_error(HD_BAD_ARG, "%s: flag %u is not for this operation",
                            hal_op_name(head->op), bit);
    return HD_OK;
}

enum hd_status hal_packet_check(const union hal_packet *packet)
{
    HD_TRY(packet_head_check(&packet->head));
    switch ((enum hal_op)packet->head.op) {
#define X(name, text, kind, doc)                                                                   \
    case HAL_OP_##name:                                                                            \
        HD_TRY(rows_check_##kind(&packet->kind, text));                                            \
        return op_check_##kind(&packet->kind);
        HAL_OP_LIST(X)
#undef X
    case HAL_OP_COUNT:
        break;
    }
    return hd_error(HD_INTERNAL, "packet: op %u", packet->head.op);
}

enum hd_status hal_extension_check(const struct hal_extension *extension)
{
    return rows_check_extension(extension, "extension");
}

enum hd_status hal_ring_check(const struct hal_ring *ring, size_t ring_B)
{
    if (ring_B < HAL_RING_B)
        return hd_error(HD_BAD_ARG, "ring: %zu bytes, needs %zu", ring_B, (size_t)HAL_RING_B);
    return rows_check_ring(ring, "ring");
}

/* ---- indirect dispatches */

void hal_dispatch_resolve(struct hal_ring *ring, union hal_packet *packet)
{
    struct hal_dispatch *p = &packet->dispatch;
    const struct hal_indirect *from;
    uint64_t address;

    assert(p->head.op == HAL_OP_DISPATCH && p->head.flags & HAL_FLAG_INDIRECT);
    assert(!(p->head.flags & HAL_FLAG_EXTENSION));
    memcpy(&address, p->params, sizeof(address));
    from = (const struct hal_indirect *)(uintptr_t)address;
    p->head.flags &= (uint16_t)~HAL_FLAG_INDIRECT;
    if (!from->enabled) {
        struct hal_head head = packet->head;

        if (packet->dispatch.ring_B)
            atomic_fetch_add(&ring->params_released, packet->dispatch.ring_B);
        head.op = HAL_OP_NOP;
        head.flags &= (uint16_t)~HAL_FLAG_COOPERATIVE;
        *packet = (union hal_packet){.head = head};
        return;
    }
    memcpy(p->grid, from->grid, sizeof(p->grid));
    memcpy(p->ring_B ? (char *)ring + p->ring_offset : (char *)p->params, from + 1, p->params_B);
}

/* ---- semaphores */

const char hal_sem_gone[] = "a memory operation of a stream on memory that was freed meanwhile";

static bool packet_compare(enum hal_compare how, uint64_t s, uint64_t v, unsigned bits)
{
    uint64_t mask = bits == 32 ? UINT32_MAX : UINT64_MAX;

    switch (how) {
    case HAL_COMPARE_GEQ:
        return s >= (v & mask);
    case HAL_COMPARE_EQ:
        return s == (v & mask);
    case HAL_COMPARE_AND:
        return (s & v) != 0;
    case HAL_COMPARE_NOR:
        return (~(s | v) & mask) != 0;
    case HAL_COMPARE_CYCLIC_GEQ:
        return !((s - v) >> (bits - 1) & 1);
    }
    return true; /* not in the table: refused by the check, and it must not hang */
}

HD_ATOMICS_MAY_FAULT bool hal_sem_holds(const struct hal_sem *wait, const void *at)
{
    unsigned bits = wait->is_32 ? 32 : 64;
    uint64_t s = wait->is_32 ? atomic_load((const _Atomic uint32_t *)at)
                             : atomic_load((const _Atomic uint64_t *)at);

    HD_SAY_ACQUIRE(at);
    return packet_compare(wait->compare, s, wait->value, bits);
}

HD_ATOMICS_MAY_FAULT void hal_sem_apply(const struct hal_sem *p, void *at,
                                        struct hal_device *device)
{
    uint64_t value = p->head.op == HAL_OP_TIMESTAMP ? hal_device_now(device) : p->value;
    _Atomic uint64_t *s64 = at;
    _Atomic uint32_t *s32 = at;

    HD_SAY_RELEASE(at);
    if (p->head.op == HAL_OP_TIMESTAMP)
        atomic_store(s64, value);
    else if (p->signal == HAL_SIGNAL_ADD && p->is_32)
        atomic_fetch_add(s32, (uint32_t)value);
    else if (p->signal == HAL_SIGNAL_ADD)
        atomic_fetch_add(s64, value);
    else if (p->is_32)
        atomic_store(s32, (uint32_t)value);
    else
        atomic_store(s64, value);
}

/* ---- faults */

/* What was there when nobody knows. */
static uint32_t packet_site_set(uint32_t to[3], const uint32_t from[3], uint32_t bit)
{
    if (from)
        memcpy(to, from, 3 * sizeof(*to));
    return from ? bit : 0;
}

static uint32_t packet_site_set_line(struct hal_fault *fault, const struct hal_fault_site *site)
{
    size_t len = site->file ? strlen(site->file) : 0, room = sizeof(fault->file) - 1;

    if (!site->file)
        return 0;
    fault->line = site->line;
    snprintf(fault->file, sizeof(fault->file), "%s", site->file + (len > room ? len - room : 0));
    return HAL_FAULT_HAS_LINE;
}

bool hal_fault_raise_at(struct hal_fault *fault, enum hd_status status, uint64_t address,
                        const struct hal_fault_site *site, const char *message)
{
    static struct hd_lock lock = HD_LOCK_INIT(LEAF, "fault");
    bool first;

    assert(status != HD_OK && message);
    hd_lock_acquire(&lock);
    first = atomic_load_explicit(&fault->status, memory_order_relaxed) == HD_OK;
    if (first) {
        fault->address = address;
        fault->known = packet_site_set(fault->block, site->block, HAL_FAULT_HAS_BLOCK) |
                       packet_site_set(fault->thread, site->thread, HAL_FAULT_HAS_THREAD) |
                       packet_site_set_line(fault, site);
        hd_text_fit(fault->message, sizeof(fault->message), message);
        atomic_store_explicit(&fault->status, status, memory_order_release);
    }
    hd_lock_release(&lock);
    /* With this flag whoever made the error has logged it. */
    if (first && status != HD_CANCELLED && !hd_debug(HD_DEBUG_ERROR))
        hd_log("%s", message);
    return first;
}

bool hal_fault_raise(struct hal_fault *fault, enum hd_status status, uint64_t address,
                     const char *message)
{
    return hal_fault_raise_at(fault, status, address, &(struct hal_fault_site){0}, message);
}
