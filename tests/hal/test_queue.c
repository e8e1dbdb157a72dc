/*
 * The queue's contract from the submitter's side, against a recorder: a device that runs nothing
 * and retires packets when told.
 */
#include "hal/hal.h"
#include "tap.h"

static unsigned recorded_ops[HAL_OP_COUNT];

static enum hd_status recorder_submit(struct hal_queue *queue, const union hal_packet *packets,
                                      unsigned n)
{
    struct hal_ring *ring = queue->ring;
    uint64_t submitted = hal_queue_submitted(queue);

    if (submitted + n - hal_queue_retired(queue) > HAL_RING_SLOTS)
        return HD_BUSY;
    for (unsigned i = 0; i < n; i++) {
        *hal_ring_packet(ring, submitted + 1 + i) = packets[i];
        recorded_ops[packets[i].head.op]++;
    }
    atomic_store_explicit(&ring->submitted, submitted + n, memory_order_release);
    return HD_OK;
}

static void recorder_retire(struct hal_queue *queue, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t position = hal_queue_retired(queue) + 1;
        union hal_packet *p = hal_ring_packet(queue->ring, position);

        if (p->head.op == HAL_OP_DISPATCH)
            atomic_fetch_add(&queue->ring->params_released, p->dispatch.ring_B);
        atomic_store(&queue->ring->retired, position);
    }
}

static const struct hal_queue_ops recorder_ops = {.submit = recorder_submit};

static void test_ring(struct hal_queue *q)
{
    union hal_packet packets[3] = {{.head.op = HAL_OP_NOP}, {.head.op = HAL_OP_BARRIER}};
    unsigned sent = 0;

    ok(hal_queue_is_idle(q), "new queue is idle");
    while (q->ops->submit(q, packets, 2) == HD_OK)
        sent += 2;
    eq_u64(sent, HAL_RING_SLOTS, "a full ring is busy, not blocking");
    recorder_retire(q, 1);
    eq_u64(q->ops->submit(q, packets, 2), HD_BUSY, "all or nothing");
    recorder_retire(q, 1);
    eq_u64(q->ops->submit(q, packets, 2), HD_OK, "two slots for two packets");
    recorder_retire(q, HAL_RING_SLOTS);
    ok(hal_queue_is_idle(q), "idle again");
    eq_u64(recorded_ops[HAL_OP_BARRIER], HAL_RING_SLOTS / 2 + 1, "all packets arrived");
}

static void test_params(struct hal_queue *q)
{
    union hal_packet p = {.dispatch = {.head.op = HAL_OP_DISPATCH}};
    unsigned blocks = 0;
    bool inside = true;

    for (;;) {
        char *at = hal_queue_params(q, &p.dispatch, NULL, 5000);
        if (!at)
            break;
        inside &= at == (char *)q->ring + p.dispatch.ring_offset;
        inside &= p.dispatch.ring_offset + 5000 <= HAL_RING_B;
        inside &= (uintptr_t)at % 64 == 0;
        memset(at, 0xaa, 5000);
        if (q->ops->submit(q, &p, 1) != HD_OK)
            break;
        blocks++;
    }
    ok(inside, "blocks lie in the ring's memory, aligned");
    eq_u64(blocks, HAL_RING_PARAMS_B / 5056, "parameter ring fills up");
    recorder_retire(q, 2);
    ok(hal_queue_params(q, &p.dispatch, NULL, 5000) != NULL,
       "retired packets give their block back");
    eq_u64(p.dispatch.ring_B, 5056 + HAL_RING_PARAMS_B % 5056,
           "the skipped end goes with the block");
    ok(!hal_queue_params(q, &p.dispatch, NULL, HAL_RING_PARAMS_B), "too large a block");
}

int main(void)
{
    struct hal_device device = {0};
    struct hal_domain domain;
    struct hal_queue q = {0};

    if (!ok(hal_domain_init(&domain, &device) == HD_OK &&
                hal_queue_init(&q, &recorder_ops, &domain, -3) == HD_OK,
            "init"))
        return done();
    eq_u64(hal_sms_hold(132, 64, 0), 132 * 32, "small CTAs: 32 on each multiprocessor");
    eq_u64(hal_sms_hold(132, 1024, 0), 132 * 2, "large ones by their threads");
    eq_u64(hal_sms_hold(3, 32, 100 << 10), 3 * 2, "or by their shared memory");
    eq_u64(hal_sms_hold(2, 1024, 512 << 10), 2, "one at least");
    eq_u64(q.ring->magic, HAL_RING_MAGIC, "magic");
    test_ring(&q);
    test_params(&q);
    eq_u64((unsigned)q.priority, 0, "a device with one level has no other");
    eq_u64(hal_ring_check(q.ring, HAL_RING_B), HD_OK, "header");
    q.ring->slots = 4;
    eq_u64(hal_ring_check(q.ring, HAL_RING_B), HD_BAD_ARG, "header of another ring");
    recorder_retire(&q, (unsigned)(hal_queue_submitted(&q) - hal_queue_retired(&q)));
    hal_queue_fini(&q);
    hal_domain_fini(&domain);
    return done();
}
