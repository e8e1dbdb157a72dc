/* Counters of a launch become those of its instructions, which whoever counts is told. */
#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "count/private.h"

_Static_assert(sizeof(((struct heddle_counted_instr *)0)->in) ==
                   sizeof(uint64_t) * IR_COUNT_SPACES * IR_COUNT_ACCESS_WORDS,
               "heddle/count.h has the words of ir/count.h");

/* How often instructions were executed, of all groups that have them. */
static void executed_add(const struct ir_module *m, const uint64_t *words,
                         struct heddle_counted_instr *out)
{
    for (uint32_t g = 0; g < m->count_groups.len; g++) {
        const struct ir_count_group *group = &m->count_groups.at[g];
        const uint64_t *own = words + ir_count_group_word(g);
        for (uint32_t i = 0; i < group->count; i++) {
            uint32_t item = m->count_items.at[group->first + i];
            assert(ir_count_instr(item) < m->counted.len);
            struct heddle_counted_instr *e = &out[ir_count_instr(item)];
            if (ir_count_kind(item) != IR_COUNT_ON) {
                e->issued += own[IR_COUNT_WARPS];
                e->lanes += own[IR_COUNT_LANES];
            }
            if (ir_count_kind(item) != IR_COUNT_ISSUE)
                e->on += own[IR_COUNT_LANES];
        }
    }
}

/* The rest of what is known of an instruction. */
static void instr_fill(const struct ir_module *m, uint32_t i, const uint64_t *words,
                       struct heddle_counted_instr *out)
{
    const struct ir_counted *in = &m->counted.at[i];
    bool is_guarded_branch = in->classes & IR_COUNT_BRANCH && out->on < out->lanes;

    assert(in->srcloc.file <= m->files.len);
    out->classes = in->classes;
    out->ptx_line = in->ptx_line;
    out->line = in->srcloc.line;
    out->taken = words[IR_COUNT_TAKEN];
    out->divergent = words[IR_COUNT_DIVERGENT];
    /* Products: whose shape the instruction says, and others. */
    out->ops = in->ops * out->on + words[IR_COUNT_OPS];
    out->window_B = in->window_B * out->on;
    if (is_guarded_branch)
        out->on = out->taken;
    memcpy(out->in, words + IR_COUNT_ACCESSES, sizeof(out->in));
    out->form = in->form ? in->form : "";
    out->function = in->function ? in->function : "";
    out->file = in->srcloc.file ? m->files.at[in->srcloc.file - 1] : "";
}

/* Those that a warp came to, at the beginning. */
static uint32_t instrs_make(const struct ir_module *m, const uint64_t *words,
                            struct heddle_counted_instr *instrs)
{
    uint32_t n = 0;

    executed_add(m, words, instrs);
    for (uint32_t i = 0; i < m->counted.len; i++) {
        if (!instrs[i].issued)
            continue;
        instr_fill(m, i, words + ir_count_instr_word(m, i), &instrs[i]);
        instrs[n++] = instrs[i];
    }
    return n;
}

static struct heddle_counted launch_of(const struct count_launch *launch)
{
    const struct ir_probe_launch *l = &launch->about;

    return (struct heddle_counted){
        .size_B = sizeof(struct heddle_counted),
        .grid_id = (uint32_t)l->grid_id,
        .correlation = l->correlation,
        .begin_ns = launch->begin_ns,
        .end_ns = hd_clock_ns(CLOCK_MONOTONIC),
        .grid = {l->grid[0], l->grid[1], l->grid[2]},
        .block = {l->block[0], l->block[1], l->block[2]},
        .cluster = {l->cluster[0], l->cluster[1], l->cluster[2]},
        .static_shared_B = l->shared_B - HD_MIN(l->shared_B, l->dynamic_shared_B),
        .dynamic_shared_B = l->dynamic_shared_B,
        .kernel = l->kernel->name,
    };
}

void count_report(const struct count_launch *launch, const uint64_t *words)
{
    const struct ir_module *m = count_module(launch);
    const struct heddle_count_listener *listener = count_listener();
    struct heddle_counted reported = launch_of(launch);
    struct heddle_counted_instr *instrs = hd_alloc_array(m->counted.len + 1, sizeof(*instrs));

    if (!instrs) {
        hd_log("no memory for the counters of a launch");
        return;
    }
    reported.ninstrs = instrs_make(m, words, instrs);
    reported.instrs = instrs;
    if (count_file_is_open())
        count_file_write(&reported);
    if (listener)
        listener->told(listener->user, &reported);
    hd_free(instrs);
}
