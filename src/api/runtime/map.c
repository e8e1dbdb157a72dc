/* Pointer-to-pointer hash map with lock-free readers: a launch looks its kernel up here. */
#include "runtime.h"

#include <assert.h>
#include <stdlib.h>

struct rt_map_slot {
    _Atomic(const void *) key;
    _Atomic(void *) value;
};

struct rt_map_table {
    size_t mask;
    size_t used;
    struct rt_map_table *older; /* readers may still be in it: kept for the life of the process */
    struct rt_map_slot slots[];
};

static size_t slot_of(const void *key, size_t mask)
{
    return (size_t)(((uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u) >> 20) & mask;
}

void *rt_map_get(const struct rt_map *map, const void *key)
{
    const struct rt_map_table *table = atomic_load_explicit(&map->table, memory_order_acquire);
    if (!table || !key)
        return NULL;
    for (size_t i = slot_of(key, table->mask);; i = (i + 1) & table->mask) {
        const struct rt_map_slot *slot = &table->slots[i];
        const void *at = atomic_load_explicit(&slot->key, memory_order_acquire);
        if (at == key)
            return atomic_load_explicit(&slot->value, memory_order_acquire);
        if (!at)
            return NULL;
    }
}

static void table_put(struct rt_map_table *table, const void *key, void *value)
{
    size_t i = slot_of(key, table->mask);
    const void *at;
    assert(key && table->used < table->mask);
    while ((at = atomic_load_explicit(&table->slots[i].key, memory_order_relaxed)) && at != key)
        i = (i + 1) & table->mask;
    atomic_store_explicit(&table->slots[i].value, value, memory_order_release);
    if (at)
        return;
    /* The key last: who sees it sees the value. */
    atomic_store_explicit(&table->slots[i].key, key, memory_order_release);
    table->used++;
}

static bool grow(struct rt_map *map, struct rt_map_table *old)
{
    size_t slots = old ? 2 * (old->mask + 1) : 64;
    struct rt_map_table *table = calloc(1, sizeof(*table) + slots * sizeof(table->slots[0]));
    if (!table)
        return false;
    table->mask = slots - 1;
    assert((slots & table->mask) == 0);
    table->older = old;
    for (size_t i = 0; old && i <= old->mask; i++) {
        void *value = atomic_load(&old->slots[i].value);
        if (value)
            table_put(table, atomic_load(&old->slots[i].key), value);
    }
    assert(!old || (table->used <= old->used && table->mask > old->mask));
    atomic_store_explicit(&map->table, table, memory_order_release);
    return true;
}

bool rt_map_set(struct rt_map *map, const void *key, void *value)
{
    struct rt_map_table *table = atomic_load(&map->table);
    assert(hd_lock_held(&rt.lock) && key);
    if (!value && !rt_map_get(map, key))
        return true;
    if ((!table || 2 * table->used >= table->mask) && !grow(map, table))
        return false;
    table_put(atomic_load(&map->table), key, value);
    return true;
}
