/* The program's own memory that it registered: disjoint ranges, sorted by address. */
#include <assert.h>

#include "base/lock.h"
#include "base/vec.h"
#include "core/context.h"
#include "core/mem/memory_parts.h"
#include "core/notify.h"

static HD_VEC(struct core_block) registered; /* core_memory_lock */
static _Atomic bool any;                     /* is one registered? Written under the lock */

bool core_registered_any(void)
{
    return atomic_load_explicit(&any, memory_order_acquire);
}

/* The first range that ends behind va: the only one that may contain it. */
static size_t find_locked(uint64_t va)
{
    size_t low = 0, high = registered.len;

    assert(hd_lock_held(&core_memory_lock));
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (registered.at[middle].base + registered.at[middle].size_B <= va)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct core_block *core_registered_find_locked(uint64_t va)
{
    size_t i = find_locked(va);

    return i < registered.len && registered.at[i].base <= va ? &registered.at[i] : NULL;
}

static enum hd_status insert_locked(const struct core_block *block)
{
    size_t i = find_locked(block->base);

    if (i < registered.len && registered.at[i].base < block->base + block->size_B)
        return HD_BUSY;
    if (!hd_vec_reserve(&registered, registered.len + 1))
        return HD_NO_MEMORY;
    memmove(&registered.at[i + 1], &registered.at[i],
            (registered.len - i) * sizeof(registered.at[0]));
    registered.at[i] = *block;
    registered.len++;
    atomic_store_explicit(&any, true, memory_order_release);
    assert(i == 0 || registered.at[i - 1].base + registered.at[i - 1].size_B <= block->base);
    return HD_OK;
}

static void remove_locked(size_t i)
{
    assert(hd_lock_held(&core_memory_lock) && i < registered.len);
    memmove(&registered.at[i], &registered.at[i + 1],
            (registered.len - i - 1) * sizeof(registered.at[0]));
    registered.len--;
    atomic_store_explicit(&any, registered.len > 0, memory_order_release);
}

void core_registered_release_locked(const struct core_context *ctx)
{
    for (size_t i = registered.len; i--;)
        if (registered.at[i].ctx == ctx)
            remove_locked(i);
}

enum hd_status core_memory_register(struct core_context *ctx, uint64_t va, uint64_t size_B,
                                    enum core_mem_kind kind, unsigned flags)
{
    struct core_block block = {.base = va,
                               .size_B = size_B,
                               .kind = kind,
                               .use = kind == CORE_MEM_REGISTERED ? HEDDLE_MEMORY_PROGRAM
                                                                  : HEDDLE_MEMORY_MODULE,
                               .flags = flags,
                               .ctx = ctx,
                               .device = ctx->device,
                               .id = core_memory_next_id()};
    enum hd_status status;

    if (!va || !size_B || va + size_B < va)
        return hd_error(HD_BAD_ARG, "cannot register %llu bytes at 0x%llx",
                        (unsigned long long)size_B, (unsigned long long)va);
    hd_lock_acquire(&core_memory_lock);
    status = insert_locked(&block);
    hd_lock_release(&core_memory_lock);
    if (status == HD_BUSY)
        return hd_error(HD_BUSY, "memory at 0x%llx is registered already", (unsigned long long)va);
    if (status != HD_OK)
        return hd_error(status, "registered memory");
    if (tap_wants(HEDDLE_KIND(MEMORY)))
        core_notify_memory(&block, NULL, false);
    return HD_OK;
}

enum hd_status core_memory_unregister(uint64_t va)
{
    struct core_block freed = {0};
    bool found, inside;
    size_t i;

    hd_lock_acquire(&core_memory_lock);
    i = find_locked(va);
    inside = i < registered.len && registered.at[i].base <= va &&
             registered.at[i].kind == CORE_MEM_REGISTERED;
    found = inside && registered.at[i].base == va;
    if (found) {
        freed = registered.at[i];
        remove_locked(i);
    }
    hd_lock_release(&core_memory_lock);
    if (inside && !found)
        return hd_error(HD_BAD_ARG, "0x%llx is inside of what is registered",
                        (unsigned long long)va);
    if (!found)
        return hd_error(HD_NOT_FOUND, "0x%llx is not registered", (unsigned long long)va);
    if (tap_wants(HEDDLE_KIND(MEMORY)))
        core_notify_memory(&freed, NULL, true);
    return HD_OK;
}
