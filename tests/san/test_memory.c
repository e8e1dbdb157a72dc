/* The map of allocations: look-ups against a plain model, threads, and without memory. */
#include "san/memcheck/memcheck.h"
#include "world.h"

#define A UINT64_C(0x500000000000)

enum { BLOCKS = 300 };

static uint64_t place(unsigned i)
{
    return A + i * 0x1000;
}

static struct san_block *find_plainly(const struct san_memory *memory, uint64_t va)
{
    for (uint32_t i = 0; i < memory->n; i++)
        if (va >= memory->block[i]->base && va - memory->block[i]->base < memory->block[i]->size_B)
            return memory->block[i];
    return NULL;
}

static bool agrees(const struct san_memory *memory, uint64_t va)
{
    return san_memory_find(memory, va) == find_plainly(memory, va);
}

/* Random blocks come and go; every picture is right at their borders. */
static void test_model(void)
{
    static uint64_t size_B[BLOCKS];
    uint64_t seed = tap_seed();
    unsigned wrong = 0, live = 0;

    for (unsigned step = 0; step < 2000; step++) {
        unsigned i = tap_random(&seed) % BLOCKS;

        if (size_B[i])
            release(place(i), size_B[i]);
        size_B[i] = size_B[i] ? 0 : 1 + tap_random(&seed) % 0x1000;
        if (size_B[i])
            alloc(place(i), size_B[i]);
        if (step % 20)
            continue;
        struct san_memory *memory = san_memory_now();
        live = 0;
        for (unsigned k = 0; k < BLOCKS; k++) {
            live += size_B[k] != 0;
            wrong += !agrees(memory, place(k)) + !agrees(memory, place(k) - 1) +
                     !agrees(memory, place(k) + size_B[k]);
            wrong += (san_memory_find(memory, place(k)) != NULL) != (size_B[k] != 0);
        }
        wrong += live != memory->n;
        san_memory_unref(memory);
    }
    eq_u64(wrong, 0, "2,000 random steps");
    for (unsigned i = 0; i < BLOCKS; i++)
        if (size_B[i])
            release(place(i), size_B[i]);
}

static void test_edges(void)
{
    struct san_memory *memory = san_memory_now();

    ok(!memory->n && !san_memory_find(memory, A) && san_memory_index(memory, A) == -1, "nothing");
    san_memory_unref(memory);
    alloc(A, 0);
    alloc(UINT64_MAX - 3, 16);
    memory = san_memory_now();
    eq_u64(memory->n, 0, "no bytes, and a range that wraps around, are no allocations");
    san_memory_unref(memory);
    alloc(A, 16);
    alloc(A + 8, 16);
    memory = san_memory_now();
    ok(memory->n == 1 && memory->base[0] == A + 8,
       "what overlaps takes the place of what was there");
    struct san_memory *same = san_memory_now();
    ok(same == memory, "a picture is made once");
    release(A + 8, 16);
    ok(san_memory_find(memory, A + 8) && san_memory_find(memory, A + 8)->is_freed,
       "a picture does not change");
    san_memory_unref(same);
    san_memory_unref(memory);
    struct san_block *freed = san_memory_freed(A + 23);
    ok(freed && freed->base == A + 8 && !san_memory_live(A + 23), "freed blocks are remembered");
    san_block_unref(freed);
}

/* One thread allocates and frees, others look. */
static _Atomic bool is_over;
static _Atomic unsigned lost;

static void *look(void *unused)
{
    (void)unused;
    while (!atomic_load(&is_over)) {
        struct san_memory *memory = san_memory_now();
        struct san_block *live = san_memory_live(place(BLOCKS));

        if (!memory || !live || !san_memory_find(memory, place(BLOCKS) + 5))
            atomic_fetch_add(&lost, 1);
        san_block_unref(live);
        live = san_memory_freed(place(3));
        san_block_unref(live);
        san_memory_unref(memory);
    }
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[3];

    alloc(place(BLOCKS), 64);
    for (unsigned i = 0; i < HD_COUNT_OF(threads); i++)
        pthread_create(&threads[i], NULL, look, NULL);
    for (unsigned step = 0; step < 3000; step++) {
        alloc(place(step % BLOCKS), 64);
        submit(step + 1);
        report_memory(place(step % BLOCKS), 64, DEVICE, HEDDLE_MEMORY_PROGRAM, &streams[0], true);
    }
    atomic_store(&is_over, true);
    for (unsigned i = 0; i < HD_COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    eq_u64(lost, 0, "a block that stays is always found");
}

/* Some allocation fails on the way; then nothing is called wrong. */
static bool allocates(void *unused)
{
    struct san_memory *memory;
    bool works;

    (void)unused;
    san_memory_stop();
    the_tool->start();
    for (unsigned i = 0; i < 20; i++)
        alloc(place(i), 64);
    submit(1);
    memory = san_memory_of_launch(1).memory;
    works = memory && !san_memory_is_incomplete();
    if (works && memory->n != 20)
        ok(false, "all blocks are there");
    san_memory_unref(memory);
    return works;
}

static bool launches(void *unused)
{
    static struct world w;
    uint32_t n;

    (void)unused;
    allocates(NULL);
    w = (struct world){.kernel = {.name = "k"}};
    w.launch.about = (struct ir_probe_launch){.kernel = &w.kernel, .cluster = {1, 1, 1}};
    w.cta = (struct san_cta){.base = &w.base, .launch = &w.launch};
    if (!the_tool->launch_begin(&w.launch))
        return false;
    (void)shoot(&w,
                (struct shot){SAN_READ, IR_SPACE_GLOBAL, .lanes = 1, .va = 0x1000, .size_B = 4});
    n = reports_take();
    if (n != (san_memory_is_incomplete() ? 0 : 1))
        ok(false, "%u reports", n);
    the_tool->launch_end(&w.launch);
    return !san_memory_is_incomplete();
}

int main(void)
{
    world_init(&san_memcheck);
    test_edges();
    test_model();
    test_threads();
    tap_oom_loop(allocates, NULL, "a map");
    tap_oom_loop(launches, NULL, "a launch");
    san_memory_stop();
    san_options_fini(&options);
    return done();
}
