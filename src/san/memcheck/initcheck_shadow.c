/* initcheck: shadows of blocks, which say what of them was written. */
#include "san/memcheck/initcheck.h"

enum { MEMORY_DEVICE = 1 }; /* heddle_event.memory.memory */

bool initcheck_has_shadow(const struct san_block *block)
{
    return block->memory == MEMORY_DEVICE &&
           (block->use == HEDDLE_MEMORY_PROGRAM || block->use == HEDDLE_MEMORY_ARRAY) &&
           !atomic_load_explicit(&block->is_initialised, memory_order_relaxed);
}

struct san_shadow *initcheck_shadow(struct san_block *block)
{
    struct san_shadow *shadow = atomic_load_explicit(&block->shadow, memory_order_acquire);
    struct san_shadow *other = NULL;

    if (!initcheck_has_shadow(block))
        return NULL;
    if (HD_LIKELY(shadow != NULL))
        return shadow;
    shadow = san_shadow_create(block->size_B);
    if (!shadow) {
        atomic_store(&block->is_initialised, true);
        return NULL;
    }
    if (atomic_compare_exchange_strong(&block->shadow, &other, shadow))
        return shadow;
    san_shadow_destroy(shadow);
    return other;
}

void initcheck_forget(const struct san_memory *memory)
{
    for (uint32_t i = 0; i < memory->n; i++)
        atomic_store(&memory->block[i]->is_initialised, true);
}
