/* Where units are live: backwards over each block, until the sets at their ends do not change. */
#include <string.h>

#include "base/mem.h"
#include "codegen/mc.h"

struct flow {
    struct mc_func *f;
    struct live *live;
    uint32_t words;                  /* of a set */
    uint64_t *in, *out, *gen, *kill; /* by block */
    uint32_t *end;                   /* of the segment that is open, by unit; 0: none is */
    uint32_t block, at;              /* what is looked at */
};

static uint64_t *set_of(const struct flow *w, uint64_t *sets, uint32_t block)
{
    return sets + (size_t)block * w->words;
}

static bool has(const uint64_t *set, uint64_t unit)
{
    return set[unit / 64] >> (unit % 64) & 1;
}

static void put(uint64_t *set, uint64_t unit)
{
    set[unit / 64] |= UINT64_C(1) << (unit % 64);
}

/* ---- what a block reads before it writes, and what it writes */

static void note_access(void *context, struct mc_insn *insn, enum mc_access access, int64_t *unit,
                        unsigned count, enum mc_class class)
{
    struct flow *w = context;
    uint64_t *gen = set_of(w, w->gen, w->block), *kill = set_of(w, w->kill, w->block);

    (void)insn;
    if (class != MC_REG && !mc_is_virtual(*unit))
        return;
    for (unsigned i = 0; i < count; i++) {
        uint64_t u = (uint64_t)*unit + i;

        if (access == MC_WRITE)
            put(kill, u);
        else if (!has(kill, u))
            put(gen, u);
    }
}

static void note_clobbers(struct flow *w, const struct mc_insn *insn)
{
    for (uint32_t u = 0; u < insn->clobbered; u++)
        put(set_of(w, w->kill, w->block), u);
}

static void look_at_block(struct flow *w, struct mc_block *b)
{
    w->block = b->id;
    for (size_t i = 0; i < b->insns.len; i++) {
        mc_visit(w->f, &b->insns.at[i], note_access, w);
        note_clobbers(w, &b->insns.at[i]);
    }
}

static bool flow_block(struct flow *w, const struct mc_block *b)
{
    uint64_t *in = set_of(w, w->in, b->id), *out = set_of(w, w->out, b->id);
    const uint64_t *gen = set_of(w, w->gen, b->id), *kill = set_of(w, w->kill, b->id);
    bool changed = false;

    for (uint32_t s = 0; s < b->nsuccs; s++) {
        const uint64_t *next = set_of(w, w->in, mc_succs(b)[s]->id);
        for (uint32_t i = 0; i < w->words; i++)
            out[i] |= next[i];
    }
    for (uint32_t i = 0; i < w->words; i++) {
        uint64_t now = gen[i] | (out[i] & ~kill[i]);
        changed |= now != in[i];
        in[i] = now;
    }
    return changed;
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

static void close_writes(void *context, struct mc_insn *insn, enum mc_access access, int64_t *unit,
                         unsigned count, enum mc_class class)
{
    struct flow *w = context;

    (void)insn;
    if (access != MC_WRITE || (class != MC_REG && !mc_is_virtual(*unit)))
        return;
    for (unsigned i = 0; i < count; i++) {
        uint32_t u = (uint32_t)*unit + i, end = w->end[u];

        add_segment(w, u, 2 * w->at + 1, end ? end : 2 * w->at + 2);
        w->end[u] = 0;
    }
}

static void open_reads(void *context, struct mc_insn *insn, enum mc_access access, int64_t *unit,
                       unsigned count, enum mc_class class)
{
    struct flow *w = context;

    (void)insn;
    if (access != MC_READ || (class != MC_REG && !mc_is_virtual(*unit)))
        return;
    for (unsigned i = 0; i < count; i++)
        if (!w->end[*unit + i])
            w->end[*unit + i] = 2 * w->at + 1;
}

static void close_clobbers(struct flow *w, const struct mc_insn *insn)
{
    for (uint32_t u = 0; u < insn->clobbered; u++) {
        add_segment(w, u, 2 * w->at + 1, w->end[u] ? w->end[u] : 2 * w->at + 2);
        w->end[u] = 0;
    }
}

static void segments_of_block(struct flow *w, struct mc_block *b)
{
    const uint64_t *out = set_of(w, w->out, b->id), *in = set_of(w, w->in, b->id);

    for (uint32_t i = 0; i < w->words; i++)
        for (uint64_t bits = out[i]; bits; bits &= bits - 1)
            w->end[i * 64 + (uint32_t)__builtin_ctzll(bits)] =
                2 * (b->first + (uint32_t)b->insns.len);
    for (size_t i = b->insns.len; i-- > 0;) {
        w->at = b->first + (uint32_t)i;
        close_clobbers(w, &b->insns.at[i]);
        mc_visit(w->f, &b->insns.at[i], close_writes, w);
        mc_visit(w->f, &b->insns.at[i], open_reads, w);
    }
    for (uint32_t i = 0; i < w->words; i++) {
        for (uint64_t bits = in[i]; bits; bits &= bits - 1) {
            uint32_t u = i * 64 + (uint32_t)__builtin_ctzll(bits);
            if (w->end[u] > 2 * b->first)
                add_segment(w, u, 2 * b->first, w->end[u]);
            w->end[u] = 0;
        }
    }
}

static void flow_fini(struct flow *w)
{
    hd_free(w->in);
    hd_free(w->out);
    hd_free(w->gen);
    hd_free(w->kill);
    hd_free(w->end);
}

enum hd_status live_compute(struct mc_func *f, struct live *out)
{
    struct flow w = {.f = f, .live = out};
    size_t nblocks = f->blocks.len, n;
    bool changed = true;

    mc_number(f);
    *out = (struct live){.nunits = MC_UNITS + (uint32_t)f->units.len};
    w.words = (out->nunits + 63) / 64;
    n = nblocks * w.words;
    w.in = hd_alloc_array(n, sizeof(*w.in));
    w.out = hd_alloc_array(n, sizeof(*w.out));
    w.gen = hd_alloc_array(n, sizeof(*w.gen));
    w.kill = hd_alloc_array(n, sizeof(*w.kill));
    w.end = hd_alloc_array(out->nunits, sizeof(*w.end));
    out->first = hd_alloc_array(out->nunits, sizeof(*out->first));
    if (!w.in || !w.out || !w.gen || !w.kill || !w.end || !out->first) {
        flow_fini(&w);
        live_fini(out);
        return hd_error(HD_NO_MEMORY, "function %s: no memory", f->ir->name);
    }
    for (size_t i = 0; i < nblocks; i++)
        look_at_block(&w, f->blocks.at[i]);
    while (changed) {
        changed = false;
        for (size_t i = nblocks; i-- > 0;)
            changed |= flow_block(&w, f->blocks.at[i]);
    }
    for (size_t i = nblocks; i-- > 0;)
        segments_of_block(&w, f->blocks.at[i]);
    flow_fini(&w);
    if (!f->failed)
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
    struct live_segment *all = live->segments.at;
    uint32_t x = live->first[a], y = live->first[b], *link = &live->first[a];

    while (x || y) {
        uint32_t next = !y || (x && all[x - 1].start < all[y - 1].start) ? x : y;

        *link = next;
        link = &all[next - 1].next;
        if (next == x)
            x = all[x - 1].next;
        else
            y = all[y - 1].next;
    }
    *link = 0;
    live->first[b] = 0;
}
