/* Every container, with allocation 1, 2, 3 ... failing: no crash, no leak, then success. */
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "tap.h"

static bool use_vec(void *unused)
{
    HD_VEC(unsigned) numbers = {0};
    bool worked = true;

    for (unsigned i = 0; i < 100 && worked; i++)
        worked = hd_vec_push(&numbers, i);
    for (unsigned i = 0; i < numbers.len; i++)
        worked = worked && numbers.at[i] == i;
    hd_vec_fini(&numbers);
    return worked;
}

static bool use_map(void *unused)
{
    struct hd_map map;
    bool worked = true;

    hd_map_init(&map);
    for (uint64_t i = 0; i < 200 && worked; i++)
        worked = hd_map_put_u64(&map, i, &map);
    for (uint64_t i = 0; i < map.len; i++)
        worked = worked && hd_map_get_u64(&map, i) == &map;
    hd_map_fini(&map);
    return worked;
}

static bool use_buf(void *unused)
{
    struct hd_buf buf = {0};
    char *text;
    bool worked;

    for (int i = 0; i < 300; i++)
        hd_buf_printf(&buf, "%d,", i);
    text = hd_buf_take(&buf);
    worked = text && strlen(text) == 1090;
    hd_free(text);
    return worked;
}

static bool use_arena(void *unused)
{
    struct hd_arena arena;
    enum hd_status status;

    hd_arena_init(&arena);
    for (size_t i = 0; i < 500; i++)
        memset(hd_arena_alloc(&arena, i * 7), 0x5a, i * 7);
    hd_arena_printf(&arena, "%s", "text");
    hd_arena_try_alloc(&arena, 200000);
    status = hd_arena_status(&arena);
    hd_arena_fini(&arena);
    return status == HD_OK;
}

static bool use_file(void *unused)
{
    struct hd_buf buf = {0};
    bool worked = hd_file_read("/proc/self/maps", 1 << 20, &buf) == HD_OK && buf.len;

    hd_buf_fini(&buf);
    return worked;
}

int main(void)
{
    ok(tap_oom_loop(use_vec, NULL, "vec") >= 4, "vec met failures");
    ok(tap_oom_loop(use_map, NULL, "map") >= 8, "map met failures");
    ok(tap_oom_loop(use_buf, NULL, "buf") >= 5, "buf met failures");
    ok(tap_oom_loop(use_arena, NULL, "arena") >= 8, "arena met failures");
    ok(tap_oom_loop(use_file, NULL, "file") >= 2, "file met failures");
    return done();
}
