/*
 * Open-addressing hash map from byte strings or 64-bit keys to pointers. Not thread-safe.
 *
 * String keys are borrowed: they must outlive the entry (arena strings do). Values may be NULL;
 * use hd_map_find() to tell a NULL value from a missing key. Iterate with hd_map_next():
 *
 *     struct hd_map_iter it = {0};
 *     while (hd_map_next(&map, &it))
 *         use(it.key, it.value);
 *
 * Iteration order is the order of insertion while nothing was removed.
 */
#ifndef HD_BASE_MAP_H
#define HD_BASE_MAP_H

#include "base/str.h"

struct hd_map_entry;

struct hd_map {
    struct hd_map_entry *entries; /* dense, insertion order */
    uint32_t *index;              /* hash slots: entry index + 1, 0 = empty */
    size_t len;                   /* live entries */
    size_t used;                  /* entries including removed ones */
    size_t cap;
    size_t slots; /* power of two */
};

struct hd_map_iter {
    struct hd_str key; /* key.ptr is NULL for u64 keys */
    uint64_t key_u64;
    void *value;
    size_t pos; /* private */
};

void hd_map_init(struct hd_map *map);
void hd_map_fini(struct hd_map *map);
/* Inserts or replaces. False when memory is short (map unchanged). */
bool hd_map_put(struct hd_map *map, struct hd_str key, void *value) HD_MUST_CHECK;
bool hd_map_put_u64(struct hd_map *map, uint64_t key, void *value) HD_MUST_CHECK;
/* The value, or NULL when absent. */
void *hd_map_get(const struct hd_map *map, struct hd_str key);
void *hd_map_get_u64(const struct hd_map *map, uint64_t key);
bool hd_map_find(const struct hd_map *map, struct hd_str key, void **out_value);
bool hd_map_find_u64(const struct hd_map *map, uint64_t key, void **out_value);
/* True when the key was there. */
bool hd_map_remove(struct hd_map *map, struct hd_str key);
bool hd_map_remove_u64(struct hd_map *map, uint64_t key);
bool hd_map_next(const struct hd_map *map, struct hd_map_iter *iter);

/* 64-bit hash of bytes (XXH3). Stable across runs and hosts: cache keys use it. */
uint64_t hd_hash(const void *bytes, size_t len, uint64_t seed);

#endif
