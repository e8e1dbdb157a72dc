#include "base/arena.h"
#include "tap.h"

static bool is_zero(const void *ptr, size_t len)
{
    const char *bytes = ptr;

    for (size_t i = 0; i < len; i++) {
        if (bytes[i])
            return false;
    }
    return true;
}

static void test_random_sizes(void)
{
    struct hd_arena arena;
    uint64_t seed = tap_seed();
    char *previous = NULL;
    size_t previous_B = 0, bad = 0;

    hd_arena_init(&arena);
    for (unsigned i = 0; i < 2000; i++) {
        size_t size_B = tap_random(&seed) % (i % 50 ? 200 : 65536);
        char *ptr = hd_arena_alloc(&arena, size_B);
        bad += (uintptr_t)ptr % 16 != 0 || !is_zero(ptr, size_B) || ptr == previous;
        bad += previous_B && previous[previous_B - 1] != (char)0xa5;
        memset(ptr, 0xa5, size_B);
        previous = ptr;
        previous_B = size_B;
    }
    eq_u64(bad, 0, "2000 allocations are aligned, zeroed and apart");
    eq_u64(hd_arena_status(&arena), HD_OK, "status is ok");
    hd_arena_fini(&arena);
    ok(!arena.blocks, "fini leaves an empty arena");
}

static void test_text(void)
{
    struct hd_arena arena;
    char wide[300];

    memset(wide, 'x', sizeof(wide) - 1);
    wide[sizeof(wide) - 1] = '\0';
    hd_arena_init(&arena);
    eq_str(hd_arena_strndup(&arena, "heddle", 3), "hed", "strndup cuts and terminates");
    eq_str(hd_arena_strndup(&arena, "", 0), "", "strndup of nothing");
    eq_str(hd_arena_printf(&arena, "%s-%d", "a", 7), "a-7", "printf");
    eq_str(hd_arena_printf(&arena, "%s", wide), wide, "printf of a long text");
    eq_str(hd_arena_printf(&arena, "%s", ""), "", "printf of nothing");
    hd_arena_fini(&arena);
}

static void test_large(void)
{
    struct hd_arena arena;
    uint64_t *array;
    char *before, *after;

    hd_arena_init(&arena);
    before = hd_arena_alloc(&arena, 16);
    array = hd_arena_array(&arena, uint64_t, 1 << 20);
    after = hd_arena_alloc(&arena, 16);
    ok(array && is_zero(array, 8 << 20), "a large array is zeroed");
    ok(after == before + 16, "a large array does not waste the current block");
    ok(!hd_arena_array(&arena, uint64_t, SIZE_MAX / 4), "an overflowing array fails");
    eq_u64(hd_arena_status(&arena), HD_NO_MEMORY, "and the arena says so");
    hd_arena_fini(&arena);
}

static void test_failure(void)
{
    struct hd_arena arena;
    char *ptr;

    hd_arena_init(&arena);
    hd_fault_set_alloc(1);
    ptr = hd_arena_alloc(&arena, 100);
    ok(ptr && is_zero(ptr, 100), "a failed allocation hands out zeroed scratch memory");
    eq_u64(hd_arena_status(&arena), HD_NO_MEMORY, "the failure sticks");
    ptr = hd_arena_alloc(&arena, 100);
    ok(ptr != NULL, "later allocations go on");
    eq_u64(hd_arena_status(&arena), HD_NO_MEMORY, "the failure still sticks");
    hd_arena_fini(&arena);
}

/* What is built while memory is short stays apart, until the reserve is spent. */
static void test_reserve(void)
{
    struct hd_arena arena;
    char *first, *second, *large;

    hd_arena_init(&arena);
    hd_fault_set_alloc(1);
    first = hd_arena_alloc(&arena, 5000);
    hd_fault_set_alloc(1);
    second = hd_arena_alloc(&arena, 5000);
    hd_fault_set_alloc(1);
    large = hd_arena_try_alloc(&arena, 900 << 10);
    ok(first && second && large && first + 5000 <= second, "two objects from the reserve");
    memset(first, 1, 5000);
    hd_fault_set_alloc(1);
    ok(!hd_arena_try_alloc(&arena, 900 << 10), "the reserve has an end");
    hd_fault_set_alloc(0);
    hd_arena_fini(&arena);
    hd_arena_init(&arena);
    hd_fault_set_alloc(1);
    ok(is_zero(hd_arena_alloc(&arena, 5000), 5000), "and is clean again afterwards");
    hd_fault_set_alloc(0);
    hd_arena_fini(&arena);
}

int main(void)
{
    test_random_sizes();
    test_text();
    test_large();
    test_failure();
    test_reserve();
    return done();
}
