/*
 * Where units are live: from each block that reads a unit before it writes it, back to those that
 * write it. What that costs grows with the blocks that units are live in, not with all blocks by
 * all units: most units live in one block.
 */
#include "base/mem.h"
#include "codegen/mc.h"

/* An element of a list. */
struct link {
    uint32_t of;   /* a block, of a unit's lists; a unit, of a block's */
    uint32_t next; /* index + 1; 0: the last */
};

/* Of a unit: the blocks that read it before they write it, and that write it; in falling order. */
struct blocks {
    uint32_t reads, writes;
};

/* What instruction `at` reads, then what it writes, then what it destroys. */
struct access {
    uint32_t at, unit, count;
    bool is_write;
};

struct flow {
    struct mc_func *f;
    struct live *live;
    struct blocks *blocks; /* by unit */
    uint32_t *entering;    /* by block: units that are live at its start */
    HD_VEC(struct link) links;
    HD_VEC(struct access) accesses; /* in the order of the code */
    size_t *first_access;           /* by block */
    uint32_t *end;                  /* of the segment that is open, by unit; 0: none is */
    uint32_t block, at;             /* what is looked at */
};

static void link_to(struct flow *w, uint32_t *list, uint32_t of)
{
    w->f->failed |= !hd_vec_push(&w->links, (struct link){of, *list});
    if (!w->f->failed)
        *list = (uint32_t)w->links.len;
}

/* ---- what a block reads before it writes, and what it writes */

static bool is_noted(const struct flow *w, uint32_t list)
{
    return list && w->links.at[list - 1].of == w->block;
}

static void note_units(struct flow *w, uint32_t unit, uint32_t count, bool is_write)
{
    w->f->failed |= !hd_vec_push(&w->accesses, (struct access){w->at, unit, count, is_write});
    for (uint32_t u = unit; u < unit + count; u++) {
        struct blocks *blocks = &w->blocks[u];

        if (is_noted(w, blocks->writes))
            continue;
        if (is_write)
            link_to(w, &blocks->writes, w->block);
        else if (!is_noted(w, blocks->reads))
            link_to(w, &blocks->reads, w->block);
    }
}

static void note_access(void *context, struct mc_insn *insn, enum mc_access access, int64_t *unit,
                        unsigned count, enum mc_class class)
{
    (void)insn;
    if (class == MC_REG || mc_is_virtual(*unit))
        note_units(context, (uint32_t)*unit, count, access == MC_WRITE);
}

static void look_at_block(struct flow *w, struct mc_block *b)
{
    w->block = b->id;
    w->first_access[b->id] = w->accesses.len;
    for (size_t i = 0; i < b->insns.len; i++) {
        w->at = b->first + (uint32_t)i;
        mc_visit(w->f, &b->insns.at[i], note_access, w);
        if (b->insns.at[i].clobbered)
            note_units(w, 0, b->insns.at[i].clobbered, true);
    }
}

/* ---- at the start of which blocks a unit is live */

struct walk {
    uint32_t *preds, *first_pred; /* of block b: from first_pred[b] to first_pred[b + 1] */
    uint32_t *writes, *in;        /* by block: the last unit + 1 that it writes, that is live */
    uint32_t *work, nwork;
};

static void find_preds(const struct mc_func *f, struct walk *k)
{
    size_t n = f->blocks.len;

    for (size_t i = 0; i < n; i++)
        for (uint32_t s = 0; s < f->blocks.at[i]->nsuccs; s++)
            k->first_pred[mc_succs(f->blocks.at[i])[s]->id + 1]++;
    for (size_t i = 0; i < n; i++)
        k->first_pred[i + 1] += k->first_pred[i];
    for (size_t i = 0; i < n; i++)
        for (uint32_t s = 0; s < f->blocks.at[i]->nsuccs; s++) {
            uint32_t to = mc_succs(f->blocks.at[i])[s]->id;

            k->preds[k->first_pred[to] + k->work[to]++] = (uint32_t)i;
        }
}

static void enter(struct flow *w, struct walk *k, uint32_t block, uint32_t unit)
{
    if (k->in[block] == unit + 1)
        return;
    k->in[block] = unit + 1;
    k->work[k->nwork++] = block;
    link_to(w, &w->entering[block], unit);
}

static void walk_back(struct flow *w, struct walk *k, uint32_t unit)
{
    for (uint32_t i = w->blocks[unit].writes; i; i = w->links.at[i - 1].next)
        k->writes[w->links.at[i - 1].of] = unit + 1;
    for (uint32_t i = w->blocks[unit].reads; i; i = w->links.at[i - 1].next)
        enter(w, k, w->links.at[i - 1].of, unit);
    while (k->nwork) {
        uint32_t b = k->work[--k->nwork];

        for (uint32_t i = k->first_pred[b]; i < k->first_pred[b + 1]; i++)
            if (k->writes[k->preds[i]] != unit + 1)
                enter(w, k, k->preds[i], unit);
    }
}

static bool walk_all(struct flow *w)
{
    size_t n = w->f->blocks.len, nedges = 0;
    struct walk k = {0};
    bool ok;

    for (size_t i = 0; i < n; i++)
        nedges += w->f->blocks.at[i]->nsuccs;
    k.preds = hd_alloc_array(nedges + 1, sizeof(*k.preds));
    k.first_pred = hd_alloc_array(n + 1, sizeof(*k.first_pred));
    k.writes = hd_alloc_array(n, sizeof(*k.writes));
    k.in = hd_alloc_array(n, sizeof(*k.in));
    k.work = hd_alloc_array(n, sizeof(*k.work));
    ok = k.preds && k.first_pred && k.writes && k.in && k.work;
    if (ok)
        find_preds(w->f, &k);
    for (uint32_t u = 0; u < w->live->nunits && ok; u++)
        if (w->blocks[u].reads)
            walk_back(w, &k, u);
    hd_free(k.preds);
    hd_free(k.first_pred);
    hd_free(k.writes);
    hd_free(k.in);
    hd_free(k.work);
    return ok;
}

/* ---- segments */

static void add_segment(struct flow *w, uint32_t unit, uint32_t start, uint32_t end)
{
    struct live *live = w->live;
    uint32_t first = live->first[unit];

    assert(start < end);
    if (first && live->segments.at[first - 1].start == end) {
        live->segments.at[first - 1].start = start;
        return;
    }
    w->f->failed |= !hd_vec_push(&live->segments, (struct live_segment){start, end, first});
    if (!w->f->failed)
        live->first[unit] = (uint32_t)live->segments.len;
}

static void close_write(struct flow *w, const struct access *a, uint32_t unit)
{
    uint32_t end = w->end[unit];

    add_segment(w, unit, 2 * a->at + 1, end ? end : 2 * a->at + 2);
    w->end[unit] = 0;
}

static void segments_of_block(struct flow *w, struct mc_block *b)
{
    for (uint32_t s = 0; s < b->nsuccs; s++)
        for (uint32_t i = w->entering[mc_succs(b)[s]->id]; i; i = w->links.at[i - 1].next)
            w->end[w->links.at[i - 1].of] = 2 * (b->first + (uint32_t)b->insns.len);
    for (; w->accesses.len > w->first_access[b->id]; w->accesses.len--) {
        const struct access *a = &hd_vec_last(&w->accesses);

        for (uint32_t u = a->unit; u < a->unit + a->count; u++) {
            if (a->is_write)
                close_write(w, a, u);
            else if (!w->end[u])
                w->end[u] = 2 * a->at + 1;
        }
    }
    for (uint32_t i = w->entering[b->id]; i; i = w->links.at[i - 1].next) {
        uint32_t u = w->links.at[i - 1].of;

        if (w->end[u] > 2 * b->first)
            add_segment(w, u, 2 * b->first, w->end[u]);
        w->end[u] = 0;
    }
}

enum hd_status live_compute(struct mc_func *f, struct live *out)
{
    struct flow w = {.f = f, .live = out};
    size_t nblocks = f->blocks.len;
    bool ok;

    mc_number(f);
    *out = (struct live){.nunits = MC_UNITS + (uint32_t)f->units.len};
    w.blocks = hd_alloc_array(out->nunits, sizeof(*w.blocks));
    w.entering = hd_alloc_array(nblocks, sizeof(*w.entering));
    w.first_access = hd_alloc_array(nblocks, sizeof(*w.first_access));
    w.end = hd_alloc_array(out->nunits, sizeof(*w.end));
    out->first = hd_alloc_array(out->nunits, sizeof(*out->first));
    ok = w.blocks && w.entering && w.first_access && w.end && out->first;
    for (size_t i = 0; i < nblocks && ok && !f->failed; i++)
        look_at_block(&w, f->blocks.at[i]);
    ok = ok && walk_all(&w);
    for (size_t i = nblocks; i-- > 0 && ok && !f->failed;)
        segments_of_block(&w, f->blocks.at[i]);
    hd_free(w.blocks);
    hd_free(w.entering);
    hd_free(w.first_access);
    hd_free(w.end);
    hd_vec_fini(&w.links);
    hd_vec_fini(&w.accesses);
    if (ok && !f->failed)
        return HD_OK;
    live_fini(out);
    return hd_error(HD_NO_MEMORY, "function %s: no memory", f->ir->name);
}

void live_fini(struct live *live)
{
    hd_vec_fini(&live->segments);
    hd_free(live->first);
    live->first = NULL;
}

bool live_overlap(const struct live *live, uint32_t a, uint32_t b)
{
    const struct live_segment *all = live->segments.at;
    uint32_t x = live->first[a], y = live->first[b];

    while (x && y) {
        const struct live_segment *p = &all[x - 1], *q = &all[y - 1];

        if (p->start < q->end && q->start < p->end)
            return true;
        if (p->end <= q->start)
            x = p->next;
        else
            y = q->next;
    }
    return false;
}

void live_join(struct live *live, uint32_t a, uint32_t b)
{
    struct live_segment *all = live->segments.at, *last = NULL;
    uint32_t x = live->first[a], y = live->first[b], *link = &live->first[a];

    while (x || y) {
        uint32_t next = !y || (x && all[x - 1].start < all[y - 1].start) ? x : y;

        *(next == x ? &x : &y) = all[next - 1].next;
        if (last && last->end == all[next - 1].start) {
            last->end = all[next - 1].end; /* a value and its copy are often one segment then */
            continue;
        }
        last = &all[next - 1];
        *link = next;
        link = &last->next;
    }
    *link = 0;
    live->first[b] = 0;
}
