/*
 * A launch that tools see and that never runs: tests make the accesses and the synchronisation that
 * a device would tell of, thread by thread, in any order. Findings are kept here instead of being
 * sent.
 *
 *     world_begin(&w, &san_racecheck, (struct world_shape){.ctas = 2, .threads = 64});
 *     world_access(&w, 0, 0, 1, w.write, 0x1000);      // CTA 0, thread 0 and one lane
 *     world_access(&w, 1, 0, 1, w.read, 0x1000);
 *     world_end(&w);                                   // what was found is in w.found
 */
#ifndef HD_TESTS_SAN_EVENTS_H
#define HD_TESTS_SAN_EVENTS_H

#include <stdlib.h>

#include "model/mbarrier.h"
#include "san/options.h"
#include "san/tool.h"
#include "tap.h"

enum { WORLD_CTAS = 16, WORLD_WINDOW_B = 8192, WORLD_FOUND = 4096 };

struct world_found {
    char kind[24];
    char title[SAN_DETAIL_B];
    char detail[SAN_DETAIL_B]; /* the last */
    enum san_severity severity;
    uint64_t count, address;
    uint32_t lines[2];
    char verbs[2][16];
    uint32_t blocks[2], threads[2];
};

struct world_shape {
    uint32_t ctas, threads, cluster;
};

struct world {
    const struct san_tool *tool;
    struct ir_module *module;
    struct ir_builder b;
    struct ir_value *zero;
    uint32_t lines;
    struct san_launch launch;
    struct ir_probe_cta base[WORLD_CTAS];
    struct san_cta cta[WORLD_CTAS];
    bool ended[WORLD_CTAS];
    char *shared;          /* windows side by side, WORLD_WINDOW_B each */
    enum hd_status status; /* the last that a tool gave */
};

static struct san_options world_options;
static struct world_found world_found[WORLD_FOUND];
static uint32_t world_nfound;

const struct san_options *san_options(void)
{
    return &world_options;
}

void san_report(const struct san_finding *f)
{
    struct world_found *o = &world_found[world_nfound < WORLD_FOUND ? world_nfound++ : 0];

    *o = (struct world_found){.severity = f->severity, .count = f->count, .address = f->address};
    snprintf(o->kind, sizeof(o->kind), "%s", f->kind);
    snprintf(o->title, sizeof(o->title), "%s", f->title);
    if (f->ndetails)
        snprintf(o->detail, sizeof(o->detail), "%s", f->details[f->ndetails - 1]);
    for (uint32_t i = 0; i < f->nactors; i++) {
        o->lines[i] = f->actors[i].at->srcloc.line;
        o->blocks[i] = f->actors[i].cta->base->ctaid[0];
        o->threads[i] = f->actors[i].warp * 32 + f->actors[i].lane;
        if (f->actors[i].verb)
            snprintf(o->verbs[i], sizeof(o->verbs[i]), "%s", f->actors[i].verb);
    }
}

void san_thread(const struct san_cta *cta, uint32_t warp, uint32_t lane, uint32_t out[3])
{
    (void)cta;
    out[0] = warp * 32 + lane;
    out[1] = out[2] = 0;
}

/* ---- probes, each on a line of its own */

static inline struct ir_instr *world_probe(struct world *w, enum ir_op op, uint64_t imm,
                                           bool is_access, uint32_t nsrc)
{
    struct ir_value *src[6] = {w->zero, w->zero, w->zero, w->zero, w->zero, w->zero};
    struct ir_instr *p = ir_build_instr(&w->b, is_access ? IR_OP_PROBE_ACCESS : IR_OP_PROBE,
                                        is_access ? IR_B32 : IR_VOID, nsrc, src, 0);

    p->srcloc.line = ++w->lines;
    p->imm = ir_probe_imm(op, false, imm) | (uint64_t)p->srcloc.line << 32;
    return p;
}

static inline struct ir_instr *world_mem(struct world *w, enum ir_op op, enum ir_space space,
                                         enum ir_sem sem, enum ir_scope scope, enum ir_atom atom)
{
    struct ir_instr *p = world_probe(w, op, 0, true, op == IR_OP_ST ? 2 : 1);

    p->mem.space = space;
    p->mem.sem = sem;
    p->mem.scope = scope;
    p->mem.atom = atom;
    return p;
}

static inline struct ir_instr *world_bar(struct world *w, enum ir_bar bar)
{
    return world_probe(w, IR_OP_BAR, (uint64_t)bar, false, ir_bar_is_cluster(bar) ? 0 : 2);
}

static inline struct ir_instr *world_fence(struct world *w, enum ir_scope scope)
{
    return world_probe(w, IR_OP_FENCE, (uint64_t)scope, false, 0);
}

static inline struct ir_instr *world_mbarrier(struct world *w, enum ir_mbarrier op)
{
    struct ir_instr *p = world_probe(w, IR_OP_MBARRIER, (uint64_t)op, true, 2);

    p->mem.space = IR_SPACE_SHARED;
    return p;
}

/* A module of its own, from text, with probes; its only kernel is that of launches to come. */
static inline void world_text(struct world *w, const char *text)
{
    *w = (struct world){0};
    if (ir_read_module(text, strlen(text), "world", &w->module) != HD_OK ||
        !ir_probe_insert(w->module, IR_PROBE_ALL & ~IR_PROBE_VALUES))
        abort();
    w->launch.about.kernel = w->module->funcs;
}

/* The first probe of an instruction on that line. */
static inline const struct ir_instr *world_at(const struct world *w, uint32_t line)
{
    const struct ir_func *kernel = w->module->funcs;

    for (uint32_t i = 0; i < kernel->nblocks; i++)
        ir_foreach_instr(in, kernel->blocks[i])
            if (ir_is_probe(in) && in->srcloc.line == line)
                return in;
    abort();
}

/* ---- launches */

static inline void world_module(struct world *w)
{
    *w = (struct world){0};
    if (ir_module_create("world", &w->module) != HD_OK)
        abort();
    struct ir_func *kernel = ir_func_create(w->module, "kernel");
    kernel->is_kernel = true;
    w->b = (struct ir_builder){.func = kernel, .block = ir_block_create(kernel)};
    w->zero = ir_build_const(&w->b, IR_B64, 0);
    w->launch.about.kernel = kernel;
}

static inline void world_begin(struct world *w, const struct san_tool *tool,
                               struct world_shape shape)
{
    struct ir_probe_launch *about = &w->launch.about;

    w->tool = tool;
    world_nfound = 0;
    for (int i = 0; i < 3; i++)
        about->grid[i] = about->block[i] = about->cluster[i] = 1;
    about->grid[0] = shape.ctas;
    about->block[0] = w->launch.nthreads = shape.threads;
    about->cluster[0] = shape.cluster ? shape.cluster : 1;
    about->shared_B = WORLD_WINDOW_B;
    w->shared = calloc(WORLD_CTAS, WORLD_WINDOW_B);
    if (tool->launch_begin && !tool->launch_begin(&w->launch))
        abort();
    for (uint32_t i = 0; i < shape.ctas; i++) {
        w->base[i] = (struct ir_probe_cta){.launch = &w->launch,
                                           .ctaid = {i},
                                           .index = i,
                                           .shared = w->shared + i * WORLD_WINDOW_B};
        w->cta[i] = (struct san_cta){
            .base = &w->base[i], .launch = &w->launch, .rank = i % about->cluster[0]};
        w->ended[i] = false;
        if (!tool->cta_begin(&w->cta[i]))
            abort();
    }
}

static inline void world_cta_end(struct world *w, uint32_t cta)
{
    if (!w->ended[cta] && w->tool->cta_end)
        w->tool->cta_end(&w->cta[cta]);
    w->ended[cta] = true;
}

/* Findings stay. */
static inline void world_end(struct world *w)
{
    for (uint32_t i = 0; i < w->launch.about.grid[0]; i++)
        world_cta_end(w, i);
    if (w->tool->launch_end)
        w->tool->launch_end(&w->launch);
    free(w->shared);
}

static inline void world_fini(struct world *w)
{
    ir_module_destroy(w->module);
}

/* ---- events: `n` lanes from `thread` on, in one warp */

static inline uint32_t world_lanes(uint32_t thread, uint32_t n)
{
    return n >= 32 ? UINT32_MAX : ((1u << n) - 1) << thread % 32;
}

/* Lane i accesses address + i * stride_B; stores: what they store, if that is known. */
static inline void world_store(struct world *w, uint32_t cta, uint32_t thread, uint32_t n,
                               const struct ir_instr *probe, uint64_t address, uint64_t stride_B,
                               uint64_t size_B, const uint64_t *values)
{
    uint64_t at[32] = {0};
    const uint64_t *operands[] = {at, values, NULL};
    enum ir_op op = ir_probe_op(probe);
    struct san_access a = {
        .probe = probe,
        .number = ir_probe_number(probe),
        .warp = thread / 32,
        .lanes = world_lanes(thread, n),
        .what = op == IR_OP_LD   ? SAN_READ
                : op == IR_OP_ST ? SAN_WRITE
                                 : SAN_ATOMIC,
        .space = probe->mem.space,
        .size_B = size_B,
        .align_B = size_B,
        .address = at,
        .operands = values ? operands : NULL,
    };

    for (uint32_t i = 0; i < n; i++)
        at[thread % 32 + i] = address + i * stride_B;
    w->status = w->tool->access(&w->cta[cta], &a);
}

static inline void world_strided(struct world *w, uint32_t cta, uint32_t thread, uint32_t n,
                                 const struct ir_instr *probe, uint64_t address, uint64_t stride_B,
                                 uint64_t size_B)
{
    world_store(w, cta, thread, n, probe, address, stride_B, size_B, NULL);
}

static inline void world_access(struct world *w, uint32_t cta, uint32_t thread, uint32_t n,
                                const struct ir_instr *probe, uint64_t address)
{
    world_strided(w, cta, thread, n, probe, address, 4, 4);
}

/* All lanes have these operands. */
static inline void world_sync(struct world *w, uint32_t cta, uint32_t thread, uint32_t n,
                              const struct ir_instr *probe, uint64_t a, uint64_t b)
{
    uint64_t words[2][32];
    const uint64_t *operands[] = {words[0], words[1], NULL};
    struct san_sync s = {.probe = probe,
                         .number = ir_probe_number(probe),
                         .warp = thread / 32,
                         .lanes = world_lanes(thread, n),
                         .operands = operands};

    for (uint32_t i = 0; i < 32; i++) {
        words[0][i] = a;
        words[1][i] = b;
    }
    w->status = w->tool->sync(&w->cta[cta], &s);
}

static inline void *world_word(struct world *w, uint32_t cta, uint64_t offset)
{
    return w->shared + cta * WORLD_WINDOW_B + offset;
}

/* An operation on an mbarrier of that CTA: told, then done. What a test says. */
static inline uint64_t world_mbar(struct world *w, uint32_t cta, uint32_t thread,
                                  const struct ir_instr *probe, uint64_t offset, uint64_t value)
{
    world_sync(w, cta, thread, 1, probe, offset, value);
    return ir_mbarrier_do((enum ir_mbarrier)ir_probe_its_imm(probe), world_word(w, cta, offset),
                          value);
}

#endif
