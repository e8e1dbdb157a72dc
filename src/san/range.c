#include "san/range.h"

#include <assert.h>

#include "san/options.h"

bool san_ranges_allowed(void)
{
    unsigned tools = san_options()->tools;

    return tools == 1u << SAN_MEMCHECK || tools == 1u << SAN_INITCHECK ||
           tools == 1u << SAN_RACECHECK || tools == 1u << SAN_SCHEDCHECK;
}

/* Of one site several threads may be the first. */
static atomic_flag range_locks[64];

static void range_store(struct ir_probe_range *range, uint64_t va, uint64_t size_B)
{
    assert(size_B); /* else it would stand for none */
    atomic_flag *lock = &range_locks[(uintptr_t)range / sizeof(*range) % HD_COUNT_OF(range_locks)];

    if (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
        return;
    if (!atomic_load_explicit(&range->size_B, memory_order_relaxed)) {
        range->va = va;
        atomic_store_explicit(&range->size_B, size_B, memory_order_release);
    }
    atomic_flag_clear_explicit(lock, memory_order_release);
}

bool san_range_is_open(const struct san_cta *cta, const struct san_access *a)
{
    const struct ir_probe_range *ranges = cta->launch->about.ranges;

    /*
     * Only of what has one address, in whose terms the range is. Of windows: those that the
     * instruction names, because generic addresses of them differ between CTAs.
     */
    if (!ranges || atomic_load_explicit(&ranges[a->number].size_B, memory_order_relaxed) ||
        !san_ranges_allowed())
        return false;
    enum ir_op op = ir_probe_op(a->probe);
    enum ir_space space = a->probe->mem.space;
    const uint32_t *cluster = cta->launch->about.cluster;
    if (op != IR_OP_LD && op != IR_OP_ST && op != IR_OP_ATOM)
        return false;
    if (a->space == IR_SPACE_GLOBAL || a->space == IR_SPACE_CONST)
        return true;
    return space == a->space &&
           (space != IR_SPACE_SHARED || (!a->peer && cluster[0] * cluster[1] * cluster[2] <= 1));
}

void san_range_set(const struct san_cta *cta, const struct san_access *a, uint64_t base,
                   uint64_t size_B)
{
    if (san_range_is_open(cta, a))
        range_store(&cta->launch->about.ranges[a->number], base - (uint64_t)a->probe->mem.offset,
                    size_B);
}
