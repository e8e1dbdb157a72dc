#include "base/arena.h"
#include "base/map.h"
#include "tap.h"

#define KEYS 5000

static void test_strings(void)
{
    struct hd_map map;
    struct hd_arena arena;
    size_t bad = 0;

    hd_map_init(&map);
    hd_arena_init(&arena);
    for (unsigned i = 0; i < KEYS; i++) {
        struct hd_str key = hd_str_from(hd_arena_printf(&arena, "key%u", i));
        bad += !hd_map_put(&map, key, (void *)(uintptr_t)i);
    }
    for (unsigned i = 0; i < KEYS; i++) {
        void *value = NULL;
        struct hd_str key = hd_str_from(hd_arena_printf(&arena, "key%u", i));
        bad += !hd_map_find(&map, key, &value) || value != (void *)(uintptr_t)i;
    }
    eq_u64(bad, 0, "%u strings go in and come out", KEYS);
    eq_u64(map.len, KEYS, "length");
    ok(!hd_map_get(&map, HD_STR("key5000")), "a missing key gives NULL");
    ok(hd_map_put(&map, HD_STR("key7"), &map), "replace");
    ok(hd_map_get(&map, HD_STR("key7")) == &map && map.len == KEYS, "replaced, not added");
    ok(hd_map_put(&map, hd_str_from(NULL), &arena), "the empty key");
    ok(hd_map_get(&map, HD_STR("")) == &arena, "is one key however it is written");
    ok(!hd_map_get_u64(&map, 0), "and is not the number 0");
    hd_map_fini(&map);
    hd_arena_fini(&arena);
}

static void test_order(void)
{
    struct hd_map map;
    struct hd_map_iter it = {0};
    uint64_t expect = 0;
    size_t bad = 0;

    hd_map_init(&map);
    for (uint64_t i = 0; i < 100; i++)
        bad += !hd_map_put_u64(&map, i * 0x10001, NULL);
    while (hd_map_next(&map, &it))
        bad += it.key_u64 != expect++ * 0x10001 || it.key.ptr;
    eq_u64(bad, 0, "iteration follows insertion");
    eq_u64(expect, 100, "and sees every entry");
    hd_map_fini(&map);
}

/* Compared with a plain array of flags. */
static void test_random(void)
{
    struct hd_map map;
    struct hd_map_iter it = {0};
    static bool present[512];
    uint64_t seed = tap_seed();
    size_t bad = 0, len = 0;

    hd_map_init(&map);
    for (unsigned i = 0; i < 50000; i++) {
        uint64_t key = tap_random(&seed) % 512;
        if (tap_random(&seed) & 1) {
            bad += !hd_map_put_u64(&map, key, &present[key]);
            len += !present[key];
            present[key] = true;
        } else {
            bad += hd_map_remove_u64(&map, key) != present[key];
            len -= present[key];
            present[key] = false;
        }
        bad += map.len != len;
    }
    while (hd_map_next(&map, &it))
        bad += !present[it.key_u64] || it.value != &present[it.key_u64];
    for (uint64_t key = 0; key < 512; key++)
        bad += (hd_map_get_u64(&map, key) != NULL) != present[key];
    eq_u64(bad, 0, "50000 random puts and removes agree with an array");
    ok(map.cap <= 2048, "tombstones are dropped (capacity %zu)", map.cap);
    hd_map_fini(&map);
}

int main(void)
{
    struct hd_map empty = {0};

    ok(!hd_map_get(&empty, HD_STR("x")) && !hd_map_remove(&empty, HD_STR("x")), "an empty map");
    test_strings();
    test_order();
    test_random();
    eq_u64(hd_hash("heddle", 6, 0), hd_hash("heddle", 6, 0), "hash repeats");
    eq_u64(hd_hash("", 0, 0), 0x2d06800538d394c2u, "hash of nothing is XXH3's published value");
    return done();
}
