/*
 * Copies and fills among the accesses of launches: see race_streams.h. An operation is a list of
 * rows; what is told of a pair is its first place, and how many bytes.
 */
#include "san/race/race_streams.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "hal/packet.h"
#include "san/memory.h"
#include "san/stack.h"

enum { OPS = 1024 };

static struct {
    struct race_op **at; /* a ring of OPS; the streams' lock */
    uint64_t n;
} ops;

bool race_ops_start(void)
{
    if (!ops.at)
        ops.at = hd_alloc_array(OPS, sizeof(struct race_op *));
    return ops.at;
}

void race_op_unref(struct race_op *op)
{
    uint32_t before = op ? atomic_fetch_sub(&op->refs, 1) : UINT32_MAX;

    assert(before > 0);
    if (before == 1)
        hd_free(op);
}

static struct race_op *ops_ref(struct race_op *op)
{
    uint32_t before = atomic_fetch_add(&op->refs, 1);

    assert(before > 0);
    (void)before;
    return op;
}

/* ---- rows */

/* Rows and slices without gaps become one. */
static struct race_span ops_tighten(struct race_span s)
{
    if (s.height > 1 && s.pitch_B == s.width_B) {
        s.width_B *= s.height;
        s.height = 1;
    }
    if (s.depth > 1 && s.height == 1 && s.slice_B == s.width_B) {
        s.width_B *= s.depth;
        s.depth = 1;
    }
    return s;
}

static uint64_t ops_row_va(const struct race_span *s, uint64_t z, uint64_t y)
{
    return s->va + z * s->slice_B + y * s->pitch_B;
}

/* The first byte of a row that is in [va, end); 0: none is. */
static uint64_t ops_first_in_slice(const struct race_span *s, uint64_t z, uint64_t va, uint64_t end)
{
    uint64_t base = ops_row_va(s, z, 0), y = 0, at;

    if (va >= base + s->width_B)
        y = s->pitch_B ? (va - base - s->width_B) / s->pitch_B + 1 : s->height;
    if (y >= s->height)
        return 0;
    at = HD_MAX(ops_row_va(s, z, y), va);
    return at < end ? at : 0;
}

static uint64_t ops_first_in(const struct race_span *s, uint64_t va, uint64_t end)
{
    uint64_t at = 0;

    for (uint64_t z = 0; z < s->depth && !at; z++)
        at = ops_first_in_slice(s, z, va, end);
    return at;
}

/* One that both have; 0: none. */
static uint64_t ops_common_byte(const struct race_span *a, const struct race_span *b)
{
    uint64_t at = 0;

    for (uint64_t z = 0; z < a->depth && !at && b->width_B; z++)
        for (uint64_t y = 0; y < a->height && !at; y++) {
            uint64_t va = ops_row_va(a, z, y);
            at = ops_first_in(b, va, va + a->width_B);
        }
    return at;
}

/* ---- copies against copies */

static uint64_t ops_size_of(const struct race_span *s)
{
    return s->width_B * s->height * s->depth;
}

static void ops_meet_spans(struct race_op *before, const struct race_span *b, struct race_op *now,
                           const struct race_span *n)
{
    uint64_t at = 0;

    if (b->writes || n->writes)
        at = ops_size_of(b) < ops_size_of(n) ? ops_common_byte(b, n) : ops_common_byte(n, b);
    if (!at || race_is_renewed(at, before->position.op, now->position.op))
        return;
    race_between_report(&(struct race_between){
        .op = {before, now},
        .info = {b->writes ? 0 : RACE_READS, n->writes ? 0 : RACE_READS},
        .address = at,
        .count = HD_MIN(ops_size_of(b), ops_size_of(n)),
    });
}

static void ops_meet_op(struct race_op *before, struct race_op *now)
{
    assert(before != now);
    for (unsigned i = 0; i < RACE_SPANS; i++)
        for (unsigned k = 0; k < RACE_SPANS; k++)
            if (before->span[i].width_B && now->span[k].width_B)
                ops_meet_spans(before, &before->span[i], now, &now->span[k]);
}

/* ---- copies against launches */

struct scan {
    struct race_op *op;
    const struct race_span *span;
    race_pasts *pasts; /* launches that have ended */
    HD_VEC(struct race_between) found;
};

/* Of a pair of an instruction and the operation the first address, and how many bytes. */
static void ops_note(struct scan *scan, struct race_past *past, uint64_t epoch, uint32_t info,
                     uint64_t address, uint64_t size_B)
{
    for (size_t i = 0; i < scan->found.len; i++) {
        struct race_between *have = &scan->found.at[i];
        if (have->past[0] == past && have->info[0] >> 8 == info >> 8) {
            have->count += size_B;
            return;
        }
    }
    (void)!hd_vec_push(&scan->found,
                       (struct race_between){.past = {past},
                                             .op = {NULL, scan->op},
                                             .epoch = {epoch},
                                             .info = {info, scan->span->writes ? 0 : RACE_READS},
                                             .address = address,
                                             .count = size_B});
}

/* Kernels and copies tell each other of progress by volatile and strong accesses. */
static void ops_look_at(struct scan *scan, uint64_t epoch, uint32_t info, uint64_t address,
                        uint64_t size_B)
{
    struct race_past *past = epoch ? race_pasts_find(scan->pasts, race_serial(epoch)) : NULL;

    if (past && !(info & (RACE_STRONG | RACE_VOLATILE)) &&
        !race_is_renewed(address, past->position.op, scan->op->position.op))
        ops_note(scan, past, epoch, info, address, size_B);
}

static void ops_scan_page(struct scan *scan, struct race_page *page, uint64_t va, uint64_t end)
{
    uint64_t base = va & ~(uint64_t)(RACE_PAGE_B - 1), unit_B = UINT64_C(1) << page->shift;

    assert(va < end && end - base <= RACE_PAGE_B);
    for (uint64_t u = (va - base) >> page->shift; base + u * unit_B < end; u++) {
        uint64_t at = base + u * unit_B;
        ops_look_at(scan, page->writer[u], page->writer_is[u], at, unit_B);
        if (!scan->span->writes)
            continue;
        ops_look_at(scan, page->reader[u], page->reader_is[u], at, unit_B);
        if (page->second)
            ops_look_at(scan, page->second[u], page->second_is[u], at, unit_B);
    }
}

static void ops_scan_row(struct scan *scan, uint64_t va, uint64_t end)
{
    while (va < end) {
        struct race_page *page = race_map_find(race_global(), va);
        uint64_t next = HD_MIN(end, (va | (RACE_PAGE_B - 1)) + 1);
        if (page) {
            race_page_lock(page);
            ops_scan_page(scan, page, va, next);
            race_page_unlock(page);
        }
        va = next;
    }
}

static void ops_scan_span(struct race_op *op, const struct race_span *span, race_pasts *pasts)
{
    struct scan scan = {.op = op, .span = span, .pasts = pasts};

    for (uint64_t z = 0; z < span->depth; z++)
        for (uint64_t y = 0; y < span->height; y++)
            ops_scan_row(&scan, ops_row_va(span, z, y), ops_row_va(span, z, y) + span->width_B);
    for (size_t i = 0; i < scan.found.len; i++)
        race_between_report(&scan.found.at[i]);
    hd_vec_fini(&scan.found);
}

static void ops_meet_pasts(struct race_op *op, race_pasts *pasts)
{
    for (unsigned i = 0; i < RACE_SPANS && pasts->len; i++)
        if (op->span[i].width_B)
            ops_scan_span(op, &op->span[i], pasts);
}

/* ---- both come in */

static void ops_collect_locked(const struct san_order_position *position, race_ops *out)
{
    assert(race_streams_are_locked());
    for (uint64_t i = 0; i < OPS; i++) {
        struct race_op *op = ops.at[i];
        if (op && !san_order_is_ordered(&op->position, position) && hd_vec_push(out, op))
            ops_ref(op);
    }
}

void race_ops_fini(race_ops *list)
{
    for (size_t i = 0; i < list->len; i++)
        race_op_unref(list->at[i]);
    hd_vec_fini(list);
}

static bool ops_accesses(const struct race_op *op, uint64_t va, bool write)
{
    for (unsigned i = 0; i < RACE_SPANS; i++)
        if (op->span[i].width_B && (write || op->span[i].writes) &&
            ops_first_in(&op->span[i], va, va + 1))
            return true;
    return false;
}

bool race_op_writes(const struct race_op *op, uint64_t va)
{
    return ops_accesses(op, va, false);
}

void race_ops_at(uint64_t va, bool write, const struct san_order_clock *clock, race_ops *out)
{
    race_streams_lock();
    for (uint64_t i = 0; i < OPS; i++) {
        struct race_op *op = ops.at[i];
        if (op && !san_order_is_before(op->position.op, clock) && ops_accesses(op, va, write) &&
            hd_vec_push(out, op))
            ops_ref(op);
    }
    race_streams_unlock();
}

void race_ops_fresh(const struct san_order_clock *clock, race_ops *out)
{
    race_streams_lock();
    for (uint64_t i = 0; i < OPS; i++) {
        struct race_op *op = ops.at[i];
        if (!op || op->is_looked_at)
            continue;
        op->is_looked_at = true;
        if (!san_order_is_before(op->position.op, clock) && hd_vec_push(out, op))
            ops_ref(op);
    }
    race_streams_unlock();
}

void race_ops_launch_end(struct race_past *past)
{
    race_pasts one = {0};
    race_ops list = {0};

    race_streams_lock();
    ops_collect_locked(&past->position, &list);
    race_streams_unlock();
    if (list.len && hd_vec_push(&one, past))
        for (size_t i = 0; i < list.len; i++)
            ops_meet_pasts(list.at[i], &one);
    hd_vec_fini(&one);
    race_ops_fini(&list);
}

static void ops_enter(struct race_op *op)
{
    struct race_op *old;
    race_ops list = {0};
    race_pasts pasts = {0};

    race_streams_lock();
    ops_collect_locked(&op->position, &list);
    race_pasts_collect_locked(&op->position, &pasts);
    old = ops.at[ops.n % OPS];
    ops.at[ops.n++ % OPS] = ops_ref(op);
    race_streams_unlock();
    race_op_unref(old);
    for (size_t i = 0; i < list.len; i++)
        ops_meet_op(list.at[i], op);
    ops_meet_pasts(op, &pasts);
    race_ops_fini(&list);
    race_pasts_fini(&pasts);
}

/* ---- packets */

/* Pageable memory is read, at the latest, when the call returns: the host's own affair. */
static bool ops_is_pageable(uint64_t va)
{
    struct san_block *block = san_memory_live(va);

    san_block_unref(block);
    return !block;
}

void race_ops_submit(const struct heddle_event *e, const char *call)
{
    const union hal_packet *p = e->packet.packet;
    const struct hal_fill *f = &p->fill;
    struct race_op *op = hd_new(struct race_op);

    if (!op)
        return; /* it counts as ordered */
    op->refs = 1;
    (void)san_order_packet(e, &op->position);
    san_call_name(call, op->name, sizeof(op->name));
    san_stack_take(&op->stack);
    if (e->packet.op == HAL_OP_COPY) {
        const struct hal_copy *c = &p->copy;
        op->span[0] = ops_tighten((struct race_span){c->dst, c->width_B, c->height, c->dst_pitch_B,
                                                     c->depth, c->dst_slice_B, true});
        if (!ops_is_pageable(c->src))
            op->span[1] = ops_tighten((struct race_span){
                c->src, c->width_B, c->height, c->src_pitch_B, c->depth, c->src_slice_B, false});
    } else
        op->span[0] = ops_tighten(
            (struct race_span){f->dst, f->width * f->elem_B, f->height, f->pitch_B, 1, 0, true});
    ops_enter(op);
    race_op_unref(op);
}
