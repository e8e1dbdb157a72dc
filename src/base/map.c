/*
 * Entries lie densely in order of insertion; `index` is a linear-probing table of entry numbers. A
 * removed entry stays in both as a tombstone until the next rebuild, so removal moves nothing.
 */
#include "base/map.h"

#include <assert.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"

#define MAP_MIN_CAP 8

struct hd_map_entry {
    struct hd_str key; /* ptr NULL: the key is key_u64 */
    uint64_t key_u64;
    uint64_t hash;
    void *value;
    bool live;
};

uint64_t hd_hash(const void *bytes, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, len, seed);
}

void hd_map_init(struct hd_map *map)
{
    *map = (struct hd_map){0};
}

void hd_map_fini(struct hd_map *map)
{
    hd_free(map->entries);
    hd_free(map->index);
    hd_map_init(map);
}

static struct hd_map_entry map_key_str(struct hd_str key)
{
    /* NULL means "64-bit key", so an empty view gets an address. */
    if (!key.ptr)
        key.ptr = "";
    return (struct hd_map_entry){.key = key, .hash = hd_hash(key.ptr, key.len, 0), .live = true};
}

static struct hd_map_entry map_key_u64(uint64_t key)
{
    return (struct hd_map_entry){
        .key_u64 = key, .hash = hd_hash(&key, sizeof(key), 0), .live = true};
}

static bool map_entry_matches(const struct hd_map_entry *entry, const struct hd_map_entry *key)
{
    if (!entry->live || entry->hash != key->hash || !entry->key.ptr != !key->key.ptr)
        return false;
    return key->key.ptr ? hd_str_eq(entry->key, key->key) : entry->key_u64 == key->key_u64;
}

static struct hd_map_entry *map_lookup(const struct hd_map *map, struct hd_map_entry key)
{
    size_t mask = map->slots - 1;

    if (!map->slots)
        return NULL;
    for (size_t slot = key.hash & mask; map->index[slot]; slot = (slot + 1) & mask) {
        struct hd_map_entry *entry = &map->entries[map->index[slot] - 1];
        if (map_entry_matches(entry, &key))
            return entry;
    }
    return NULL;
}

static void map_index_add(struct hd_map *map, size_t entry_idx)
{
    size_t mask = map->slots - 1;
    size_t slot = map->entries[entry_idx].hash & mask;

    assert(map->used < map->slots && entry_idx < map->cap); /* a free slot ends every probe */
    while (map->index[slot])
        slot = (slot + 1) & mask;
    map->index[slot] = (uint32_t)(entry_idx + 1);
}

/* Drops the tombstones and makes room for at least one more entry. */
static bool map_rebuild(struct hd_map *map)
{
    size_t cap = MAP_MIN_CAP;
    struct hd_map fresh = {0};

    while (cap < map->len + map->len / 2 + 1)
        cap *= 2;
    if (cap > UINT32_MAX / 2)
        return false;
    fresh.entries = hd_alloc_array(cap, sizeof(*fresh.entries));
    fresh.index = hd_alloc_array(cap * 2, sizeof(*fresh.index));
    if (!fresh.entries || !fresh.index) {
        hd_map_fini(&fresh);
        return false;
    }
    fresh.cap = cap;
    fresh.slots = cap * 2;
    for (size_t i = 0; i < map->used; i++) {
        if (!map->entries[i].live)
            continue;
        fresh.entries[fresh.used] = map->entries[i];
        map_index_add(&fresh, fresh.used++);
    }
    assert(fresh.used == map->len && fresh.used < fresh.cap);
    fresh.len = fresh.used;
    hd_map_fini(map);
    *map = fresh;
    return true;
}

static bool map_put(struct hd_map *map, struct hd_map_entry key, void *value)
{
    struct hd_map_entry *entry = map_lookup(map, key);

    if (entry) {
        entry->value = value;
        return true;
    }
    if (map->used == map->cap && !map_rebuild(map))
        return false;
    key.value = value;
    assert(map->used < map->cap);
    map->entries[map->used] = key;
    map_index_add(map, map->used++);
    map->len++;
    return true;
}

static bool map_find(const struct hd_map *map, struct hd_map_entry key, void **out_value)
{
    struct hd_map_entry *entry = map_lookup(map, key);

    if (!entry)
        return false;
    *out_value = entry->value;
    return true;
}

static bool map_remove(struct hd_map *map, struct hd_map_entry key)
{
    struct hd_map_entry *entry = map_lookup(map, key);

    if (!entry)
        return false;
    assert(entry->live && map->len);
    entry->live = false;
    map->len--;
    return true;
}

bool hd_map_put(struct hd_map *map, struct hd_str key, void *value)
{
    return map_put(map, map_key_str(key), value);
}

bool hd_map_put_u64(struct hd_map *map, uint64_t key, void *value)
{
    return map_put(map, map_key_u64(key), value);
}

void *hd_map_get(const struct hd_map *map, struct hd_str key)
{
    void *value = NULL;

    map_find(map, map_key_str(key), &value);
    return value;
}

void *hd_map_get_u64(const struct hd_map *map, uint64_t key)
{
    void *value = NULL;

    map_find(map, map_key_u64(key), &value);
    return value;
}

bool hd_map_find(const struct hd_map *map, struct hd_str key, void **out_value)
{
    return map_find(map, map_key_str(key), out_value);
}

bool hd_map_find_u64(const struct hd_map *map, uint64_t key, void **out_value)
{
    return map_find(map, map_key_u64(key), out_value);
}

bool hd_map_remove(struct hd_map *map, struct hd_str key)
{
    return map_remove(map, map_key_str(key));
}

bool hd_map_remove_u64(struct hd_map *map, uint64_t key)
{
    return map_remove(map, map_key_u64(key));
}

bool hd_map_next(const struct hd_map *map, struct hd_map_iter *iter)
{
    assert(map->len <= map->used);
    while (iter->pos < map->used) {
        const struct hd_map_entry *entry = &map->entries[iter->pos++];
        if (!entry->live)
            continue;
        iter->key = entry->key;
        iter->key_u64 = entry->key_u64;
        iter->value = entry->value;
        return true;
    }
    return false;
}
