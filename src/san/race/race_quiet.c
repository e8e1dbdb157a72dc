/*
 * Reads that nobody needs to look at, because no write of the launch can meet them: struct
 * ir_conflicts says so of the kernel, this of the launch and its memory.
 *
 * They are told once for each probe. From then on compiled code tests by itself that an address is
 * in the window or the allocation (san_range_set()).
 */
#include <assert.h>

#include "analysis/conflicts.h"
#include "base/mem.h"
#include "san/lanes.h"
#include "san/order.h"
#include "san/race/race.h"
#include "san/range.h"

enum { MEMORY_DEVICE = 1 }; /* san_block.memory */

struct race_quiet {
    const struct ir_conflicts *conflicts;
    struct san_memory *memory;      /* NULL: global memory is always looked at */
    uint64_t written[IR_ROOTS_MAX]; /* block->id */
    uint32_t nwritten;
    _Atomic uint8_t *asked; /* by number of the probe: no range was found for it */
};

/* ---- launches */

/* What a pointer had at the launch; 0: not known. */
static uint64_t value_of(const struct ir_probe_launch *about, const struct ir_root *root)
{
    uint64_t value = 0;

    if (root->kind == IR_ROOT_VAR)
        return about->vars[root->at];
    if (root->at <= about->kernel->param_size_B && about->kernel->param_size_B - root->at >= 8)
        memcpy(&value, (const char *)about->params + root->at, sizeof value);
    return value;
}

void race_quiet_begin(struct race_launch *launch)
{
    const struct ir_probe_launch *about = &launch->san->about;
    struct race_quiet *quiet;

    if (!about->conflicts || !about->ranges || !san_ranges_allowed())
        return;
    quiet = hd_new(struct race_quiet);
    if (!quiet)
        return;
    quiet->conflicts = about->conflicts;
    quiet->asked = hd_alloc_array(about->conflicts->nprobes, sizeof *quiet->asked);
    if (!quiet->asked) {
        hd_free(quiet);
        return;
    }
    if (about->conflicts->knows_writes && !san_memory_is_incomplete() && !san_order_has_several())
        quiet->memory = san_memory_of_launch(about->correlation).memory;
    if (quiet->memory)
        for (uint32_t i = 0; i < about->conflicts->nwritten; i++) {
            uint64_t va = value_of(about, &about->conflicts->written[i]);
            struct san_block *block = san_memory_find(quiet->memory, va);
            assert(quiet->nwritten < IR_ROOTS_MAX);
            if (block)
                quiet->written[quiet->nwritten++] = block->id;
        }
    launch->quiet = quiet;
}

void race_quiet_end(struct race_launch *launch)
{
    struct race_quiet *quiet = launch->quiet;

    if (!quiet)
        return;
    if (quiet->memory)
        san_memory_unref(quiet->memory);
    hd_free((void *)quiet->asked);
    hd_free(quiet);
}

/* ---- accesses */

static bool is_written(const struct race_quiet *quiet, const struct san_block *block)
{
    bool found = false;

    for (uint32_t i = 0; i < quiet->nwritten; i++)
        found |= quiet->written[i] == block->id;
    return found;
}

/* Where its reads meet nobody: *va, *size_B. */
static bool find(const struct race_cta *cta, const struct san_access *x, uint64_t *va,
                 uint64_t *size_B)
{
    const struct race_quiet *quiet = cta->launch->quiet;

    if (x->space == IR_SPACE_SHARED) {
        *va = 0;
        *size_B = cta->san->launch->about.shared_B;
        return quiet->conflicts->is_quiet && quiet->conflicts->is_quiet[x->number];
    }
    struct san_block *block =
        quiet->memory ? san_memory_find(quiet->memory, x->address[__builtin_ctz(x->lanes)]) : NULL;
    if (!block || block->memory != MEMORY_DEVICE || is_written(quiet, block))
        return false;
    *va = block->base;
    *size_B = block->size_B;
    return true;
}

bool race_is_quiet(struct race_cta *cta, const struct san_access *x)
{
    struct race_quiet *quiet = cta->launch->quiet;
    uint64_t va, size_B;

    if (!quiet || x->probe->mem.sem != IR_SEM_WEAK ||
        atomic_load_explicit(&quiet->asked[x->number], memory_order_relaxed))
        return false;
    if (!san_range_is_open(cta->san, x) || !find(cta, x, &va, &size_B) ||
        !san_lanes_are_in(x, va, size_B)) {
        atomic_store_explicit(&quiet->asked[x->number], 1, memory_order_relaxed);
        return false;
    }
    san_range_set(cta->san, x, va, size_B);
    return true;
}
