/*
 * Tensor memory: who wrote and read its cells last, by operations (tcgen05).
 *
 * A load or store is one of its warp, and over when the warp has waited for it; who comes later
 * must know of some lane what that did when it had waited. Copies, shifts and products are their
 * thread's, and over with the next commit of it: a release, at the mbarrier, of an agent beside the
 * thread, which barriers of threads say nothing of. Of one thread they come in order, and a warp's
 * loads and stores too.
 *
 * Soft where that is needed for programs that are taken for right: fences (tcgen05.fence) are not
 * asked for. Of a pair the memory of the block that issues is looked at. Of several readers of a
 * cell the last is kept.
 */
#include <assert.h>

#include "base/mem.h"
#include "model/tensor.h"
#include "san/race/race.h"

enum { OPS_MAX = 1 << 20 }; /* a CTA with more is not looked at from there on */

enum kind { LOAD, STORE, ISSUED };

struct op {
    uint32_t number; /* of the probe */
    uint16_t thread; /* the warp's first, or who issued it */
    uint8_t kind;
    uint32_t over; /* ISSUED: commits before it; else number of the wait + 1; 0: none yet */
};

struct wait { /* of a warp */
    uint32_t nops;
    uint32_t lanes; /* that have waited */
    uint32_t clock[SAN_LANES];
};

struct cell { /* numbers of operations + 1 */
    uint32_t writer, reader;
};

struct race_tensor {
    struct cell cell[IR_TENSOR_LANES][IR_TENSOR_COLUMNS];
    HD_VEC(struct op) ops;
    HD_VEC(struct wait) waits;
    HD_VEC(uint32_t) pending[SAN_WARPS]; /* loads and stores that were not waited for */
    uint32_t nops[SAN_WARPS];
    uint32_t last_wait[SAN_WARPS][2]; /* number + 1; by kind */
    uint32_t commits[RACE_THREADS_MAX];
    uint32_t committing[SAN_WARPS]; /* lanes whose next arrival is a commit */
};

static struct race_tensor *tensor_get(struct race_cta *cta)
{
    if (!cta->tensor)
        cta->tensor = hd_new(struct race_tensor);
    return cta->tensor;
}

void race_tensor_end(struct race_cta *cta)
{
    if (cta->tensor) {
        struct race_tensor *t = cta->tensor;
        memset(t->cell, 0, sizeof t->cell);
        t->ops.len = t->waits.len = 0;
        for (unsigned w = 0; w < SAN_WARPS; w++)
            t->pending[w].len = 0;
        memset(t->nops, 0, sizeof t->nops);
        memset(t->last_wait, 0, sizeof t->last_wait);
        memset(t->commits, 0, sizeof t->commits);
        memset(t->committing, 0, sizeof t->committing);
    }
}

void race_tensor_free(struct race_cta *cta)
{
    if (!cta->tensor)
        return;
    hd_vec_fini(&cta->tensor->ops);
    hd_vec_fini(&cta->tensor->waits);
    for (unsigned w = 0; w < SAN_WARPS; w++)
        hd_vec_fini(&cta->tensor->pending[w]);
    hd_free(cta->tensor);
}

/* ---- waits and commits */

static uint64_t tensor_agent(const struct race_cta *cta, uint32_t thread)
{
    return race_who_thread(cta->serial, RACE_THREADS_MAX + thread);
}

/* Lanes come by themselves, but their warp does nothing to tensor memory meanwhile. */
static void tensor_wait_lanes(struct race_cta *cta, uint32_t warp, uint32_t lanes, enum kind kind)
{
    struct race_tensor *t = tensor_get(cta);
    uint32_t *last = t ? &t->last_wait[warp][kind] : NULL;

    if (!t)
        return;
    assert(*last <= t->waits.len);
    if (!*last || t->waits.at[*last - 1].nops != t->nops[warp]) {
        cta->blind |= !hd_vec_push(&t->waits, (struct wait){.nops = t->nops[warp]});
        if (cta->blind)
            return;
        *last = (uint32_t)t->waits.len;
    }
    struct wait *wait = &t->waits.at[*last - 1];
    wait->lanes |= lanes;
    san_foreach_lane(lane, lanes)
        wait->clock[lane] = race_clock(cta->epoch[warp * SAN_LANES + lane]);
    size_t n = 0;
    for (size_t i = 0; i < t->pending[warp].len; i++) {
        struct op *op = &t->ops.at[t->pending[warp].at[i]];
        if (op->kind == kind)
            op->over = *last;
        else
            t->pending[warp].at[n++] = t->pending[warp].at[i];
    }
    t->pending[warp].len = n;
}

void race_tensor_async(struct race_cta *cta, const struct san_sync *sync, enum ir_async what)
{
    struct race_tensor *t = tensor_get(cta);

    if (what != IR_ASYNC_TENSOR_COMMIT)
        tensor_wait_lanes(cta, sync->warp, sync->lanes,
                          what == IR_ASYNC_TENSOR_WAIT_LD ? LOAD : STORE);
    else if (t)
        t->committing[sync->warp] |= sync->lanes;
}

static bool tensor_is_committing(const struct race_cta *cta, uint32_t thread)
{
    return cta->tensor && cta->tensor->committing[thread / SAN_LANES] >> thread % SAN_LANES & 1;
}

void race_tensor_publish(struct race_cta *cta, uint32_t thread, struct race_where at)
{
    const struct race_release how = {cta->serial, true};

    if (!tensor_is_committing(cta, thread))
        return;
    hd_lock_acquire(&cta->launch->syncvars_lock);
    struct race_syncvar *syncvar = race_syncvar_get(race_syncvars_of(cta, at.local), at.key);
    if (syncvar)
        race_syncvar_point(syncvar, &how, tensor_agent(cta, thread),
                           cta->tensor->commits[thread] + 1);
    hd_lock_release(&cta->launch->syncvars_lock);
}

void race_tensor_committed(struct race_cta *cta, uint32_t thread)
{
    if (!tensor_is_committing(cta, thread))
        return;
    cta->tensor->committing[thread / SAN_LANES] &= ~(1u << thread % SAN_LANES);
    cta->tensor->commits[thread]++;
}

/* ---- is it over, for one of these lanes? */

static bool tensor_knows_wait(struct race_cta *cta, uint32_t thread, const struct op *op)
{
    assert(op->kind != ISSUED && op->over && op->over <= cta->tensor->waits.len);
    const struct wait *wait = &cta->tensor->waits.at[op->over - 1];

    san_foreach_lane(lane, wait->lanes) {
        uint64_t epoch = race_epoch(cta->serial, op->thread + lane, wait->clock[lane]);
        if (race_ordered(cta, thread, epoch, UINT64_MAX) != RACE_NOT_ORDERED)
            return true;
    }
    return false;
}

static bool tensor_is_over(struct race_cta *cta, uint32_t warp, uint32_t lanes, const struct op *op)
{
    if (op->kind != ISSUED && !op->over)
        return false;
    san_foreach_lane(lane, lanes) {
        uint32_t thread = warp * SAN_LANES + lane;
        if (op->kind == ISSUED ? race_knows(cta, thread, tensor_agent(cta, op->thread), op->over)
                               : tensor_knows_wait(cta, thread, op))
            return true;
    }
    return false;
}

/* ---- cells */

struct access {
    struct race_cta *cta;
    const struct san_sync *at;
    uint32_t lanes; /* of the warp, that do it */
    struct op now;
    uint32_t id;       /* of it + 1 */
    unsigned own;      /* the block whose memory is looked at */
    uint32_t known[2]; /* operations that are over, or were told; the last ones */
    bool reads;        /* this pass */
};

/* A warp's loads and stores, and what a thread issues. */
static bool tensor_is_in_order(const struct op *before, const struct op *now)
{
    return before->thread == now->thread && (before->kind == ISSUED) == (now->kind == ISSUED);
}

static const char *tensor_why(const struct op *before)
{
    if (before->kind == ISSUED)
        return "Nothing says that the product or copy is complete: a commit of its thread, and a "
               "wait at that mbarrier";
    if (before->over)
        return "The load or store was waited for, but nothing makes the other one come later";
    return before->kind == LOAD ? "The load was not waited for by tcgen05.wait::ld"
                                : "The store was not waited for by tcgen05.wait::st";
}

static void tensor_note(struct access *a, const struct op *before, bool before_reads,
                        uint64_t address)
{
    uint64_t addresses[SAN_LANES] = {0};
    const struct san_access access = {.probe = a->at->probe,
                                      .number = a->at->number,
                                      .warp = a->at->warp,
                                      .lanes = a->lanes,
                                      .what = a->reads ? SAN_READ : SAN_WRITE,
                                      .space = IR_SPACE_TENSOR,
                                      .size_B = 4,
                                      .address = addresses};
    const struct race_hazard hazard = {
        .before = race_in_flight(a->cta->serial, before->thread),
        .before_is = race_info(before->number, before_reads ? RACE_READS : 0),
        .now_is = race_info(a->at->number, a->reads ? RACE_READS : 0),
        .thread = a->now.thread,
        .access = &access,
        .address = address,
        .why = tensor_why(before)};

    race_note(a->cta, &hazard);
}

static void tensor_against(struct access *a, uint32_t id, bool before_reads, uint64_t address)
{
    const struct op *before = id ? &a->cta->tensor->ops.at[id - 1] : NULL;

    assert(id <= a->cta->tensor->ops.len);
    if (!before || id == a->id || id == a->known[before_reads] ||
        tensor_is_in_order(before, &a->now))
        return;
    a->known[before_reads] = id;
    if (!tensor_is_over(a->cta, a->at->warp, a->lanes, before))
        tensor_note(a, before, before_reads, address);
}

static void tensor_visit(void *user, const struct ir_tensor_cells *c)
{
    struct access *a = user;

    if (c->block != a->own || a->reads != (c->use == IR_TENSOR_READS) ||
        c->lane + c->nlanes > IR_TENSOR_LANES || c->column + c->ncolumns > IR_TENSOR_COLUMNS)
        return;
    for (unsigned lane = c->lane; lane < c->lane + c->nlanes; lane++)
        for (unsigned col = c->column; col < c->column + c->ncolumns; col++) {
            struct cell *cell = &a->cta->tensor->cell[lane][col];
            uint64_t address = (uint64_t)lane << 16 | col;
            tensor_against(a, cell->writer, false, address);
            if (a->reads) {
                cell->reader = a->id;
                continue;
            }
            tensor_against(a, cell->reader, true, address);
            *cell = (struct cell){.writer = a->id};
        }
}

/* ---- operations */

static bool tensor_is_pair(const struct race_cta *cta, const struct ir_tensor *op)
{
    return op->flags >> IR_TENSOR_PAIR & 1 && (cta->san->rank | 1) < cta->launch->cluster;
}

static void tensor_do_access(struct access *a, const struct ir_tensor *op)
{
    struct race_tensor *t = a->cta->tensor;
    struct ir_tensor_cta blocks = {.nblocks = 1, .warp = a->at->warp};
    uint32_t src[IR_TENSOR_MMA_SOURCES * SAN_LANES] = {0};
    uint32_t lane = (uint32_t)__builtin_ctz(a->lanes);
    struct ir_tensor_error unused;

    a->cta->blind |= t->ops.len >= OPS_MAX || !hd_vec_push(&t->ops, a->now);
    if (a->cta->blind)
        return;
    a->id = (uint32_t)t->ops.len;
    if (tensor_is_pair(a->cta, op)) {
        blocks.nblocks = 2;
        blocks.own = a->own = a->cta->san->rank & 1;
    }
    for (unsigned i = 0; i < IR_TENSOR_MMA_SOURCES && a->at->operands[i]; i++)
        src[i * SAN_LANES] = (uint32_t)a->at->operands[i][lane];
    for (unsigned pass = 0; pass < 2; pass++) {
        a->reads = !pass;
        a->known[0] = a->known[1] = 0;
        if (!ir_tensor_cells(op, &blocks, src, tensor_visit, a, &unused))
            return; /* the device says so */
    }
}

static void tensor_access_warp(struct race_cta *cta, const struct san_sync *at,
                               const struct ir_tensor *op)
{
    struct race_tensor *t = cta->tensor;
    struct access a = {.cta = cta, .at = at, .lanes = at->lanes};

    a.now = (struct op){.number = at->number,
                        .thread = (uint16_t)(at->warp * SAN_LANES),
                        .kind = op->op == IR_TENSOR_LD ? LOAD : STORE};
    tensor_do_access(&a, op);
    t->nops[at->warp]++;
    if (a.id)
        cta->blind |= !hd_vec_push(&t->pending[at->warp], a.id - 1);
}

static void tensor_access_threads(struct race_cta *cta, const struct san_sync *at,
                                  const struct ir_tensor *op)
{
    san_foreach_lane(lane, at->lanes) {
        uint32_t thread = at->warp * SAN_LANES + lane;
        struct access a = {.cta = cta, .at = at, .lanes = 1u << lane};

        a.now = (struct op){.number = at->number,
                            .thread = (uint16_t)thread,
                            .kind = ISSUED,
                            .over = cta->tensor->commits[thread]};
        tensor_do_access(&a, op);
    }
}

enum hd_status race_tensor(struct san_cta *san, const struct san_sync *at)
{
    struct race_cta *cta = san->own[SAN_RACECHECK];

    if (!cta || cta->blind || !tensor_get(cta) || !race_threads(cta))
        return HD_OK;
    race_go_on(cta, at->warp, at->lanes);
    race_remember(cta->launch, at->probe, at->number);
    if (ir_probe_is_after(at->probe)) {
        /* Nobody has used what is allocated now. */
        uint32_t lane = (uint32_t)__builtin_ctz(at->lanes);
        uint32_t columns = (uint32_t)at->operands[0][lane], first = (uint32_t)at->operands[1][lane];
        if (first != (uint32_t)IR_TENSOR_WAIT && at->lanes & 1) {
            assert(first < IR_TENSOR_COLUMNS && columns <= IR_TENSOR_COLUMNS - first);
            for (unsigned i = 0; i < IR_TENSOR_LANES; i++)
                memset(&cta->tensor->cell[i][first], 0, columns * sizeof(struct cell));
        }
        return HD_OK;
    }
    const struct ir_instr *in = ir_probed(at->probe);
    if (in->op == IR_OP_TENSOR)
        tensor_access_threads(cta, at, ir_ext_tensor(in));
    else if (ir_ext_tensor_warp(in)->op == IR_TENSOR_LD ||
             ir_ext_tensor_warp(in)->op == IR_TENSOR_ST)
        tensor_access_warp(cta, at, ir_ext_tensor_warp(in));
    return HD_OK;
}
