/* initcheck on accesses, copies and fills that are made by hand; shadows against a plain model. */
#include "san/memcheck/initcheck.h"
#include "world.h"

static struct world w;

#define G IR_SPACE_GLOBAL
#define S IR_SPACE_SHARED
#define A UINT64_C(0x500000000000)

static uint64_t next_packet = 1;

/* A packet that is submitted and complete. */
static void run(union hal_packet p)
{
    uint64_t id = next_packet++;

    report_packet(HEDDLE_EVENT_PACKET, id, 0, &p);
    report_packet(HEDDLE_EVENT_RETIRED, id, 0, &p);
}

static union hal_packet copy(uint64_t dst, uint64_t src, uint64_t size_B)
{
    return (union hal_packet){.copy = {.head.op = HAL_OP_COPY,
                                       .dst = dst,
                                       .src = src,
                                       .width_B = size_B,
                                       .height = 1,
                                       .depth = 1}};
}

/* A launch that was submitted just now. */
static void launch(void)
{
    static uint64_t correlation;

    submit(++correlation);
    world_launch(&w, correlation);
}

static unsigned reads(uint64_t va, uint64_t size_B)
{
    ok(shoot(&w, (struct shot){SAN_READ, G, .lanes = 1, .va = va, .size_B = size_B}) == HD_OK,
       "a read goes on");
    return reports.n;
}

/* Which bytes are written of a struct or array, from a text: '.' is a byte that is not. */
static unsigned copied_out(uint64_t va, const char *bytes, uint64_t times)
{
    uint64_t size_B = strlen(bytes);

    alloc(va, size_B * times);
    for (uint64_t i = 0; i < size_B * times; i++)
        if (bytes[i % size_B] != '.')
            run(copy(va + i, 0x700000, 1));
    run(copy(0x700000, va, size_B * times));
    unsigned n = reports.n;
    reports_take();
    release(va, size_B * times);
    return n;
}

static void test_padding(void)
{
    static const struct {
        const char *bytes;
        uint64_t times;
        unsigned reports;
        const char *what;
    } rows[] = {
        {"c.......llllllll", 1, 0, "char, long"},
        {"iiii....llllllll", 1, 0, "int, long"},
        {"c.ssiiii", 1, 0, "char, short, int"},
        {"c...iiii", 100, 0, "an array of char, int"},
        {"llllllllc.......llllllllllllllll", 1, 0, "a struct in a struct"},
        {"llllllll........llllllll", 1, 1, "a whole long"},
        {"iiii....iiiiiiii", 100, 0, "an array of int, long"},
        {"........llllllll", 1, 1, "the beginning"},
        {"llllllll........", 1, 1, "the end"},
        {"llllllllc.......", 1, 1, "behind the last member: as if a text were too short"},
        {"iiii....iiii....", 1, 1, "every second int"},
        {"cccc.cccc", 1, 1, "a char that no alignment explains"},
        {"c.......llll....", 1, 1, "padding, and half of a long"},
        {"iiii....iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii", 1, 1,
         "one int of twenty"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        eq_u64(copied_out(A + 0x100000 + i * 0x10000, rows[i].bytes, rows[i].times),
               rows[i].reports, "%s", rows[i].what);
}

static void test_kernels(void)
{
    alloc(A, 4096);
    launch();
    ok(shoot(&w, (struct shot){SAN_READ, G, .va = A, .stride = 4, .size_B = 4}) == HD_OK, "a read");
    eq_u64(reports.n, 32, "each thread is told of");
    ok(says(31, "Uninitialized __global__ memory read of size 4 bytes") &&
           says(31, "Address 0x50000000007c") && reports.at[31].actors[0].lane == 31,
       "title");
    eq_str(reports.at[0].kind, "uninitialized-read", "kind");
    reports_take();
    (void)shoot(&w, (struct shot){SAN_WRITE, G, .va = A, .stride = 4, .size_B = 4});
    (void)shoot(&w, (struct shot){SAN_READ, G, .va = A, .stride = 4, .size_B = 4});
    eq_u64(reports.n, 0, "what was written");
    (void)shoot(&w, (struct shot){SAN_READ, G, .va = A + 4, .stride = 4, .size_B = 4});
    eq_u64(reports.n, 1, "one further");
    ok(reports.at[0].actors[0].lane == 31, "is the last thread's");
    reports_take();
    (void)shoot(&w, (struct shot){SAN_ATOMIC, G, .lanes = 3, .va = A + 200, .size_B = 4});
    eq_u64(reports.n, 2, "atomics read");
    reports_take();
    eq_u64(reads(A + 200, 4), 0, "and write");
    (void)shoot(&w, (struct shot){SAN_WRITE, G, .va = A + 512, .stride = 16, .size_B = 4});
    eq_u64(reads(A + 512 + 31 * 16, 4), 0, "strided writes");
    eq_u64(reads(A + 512 + 12, 4), 1, "do not write between");
    reports_take();
    world_end(&w);
}

static void test_partial(void)
{
    launch();
    (void)shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = A + 1025, .size_B = 1});
    eq_u64(reads(A + 1024, 4), 1, "a byte of a word");
    ok(says(0, "3 of 4 bytes are not initialised, the first at 0x500000000400"),
       "which are missing");
    reports_take();
    (void)shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = A + 1024, .size_B = 1});
    (void)shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = A + 1026, .size_B = 2});
    eq_u64(reads(A + 1024, 4), 0, "all of it");
    (void)shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = A + 1150, .size_B = 4});
    eq_u64(reads(A + 1150, 4), 0, "over the border of a word of the shadow");
    eq_u64(reads(A + 1149, 1) + reads(A + 1154, 1), 3, "no byte more");
    reports_take();
    eq_u64(reads(A + 2000, 200), 1, "a large read");
    reports_take();
    (void)shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = A + 2000, .size_B = 200});
    eq_u64(reads(A + 2000, 200), 0, "written at once");
    eq_u64(reads(A + 4094, 4), 0, "what leaves the allocation is not initcheck's");
    world_end(&w);
}

static void test_host(void)
{
    uint64_t b = A + 0x10000, h = 0x700000;

    alloc(b, 256);
    run(copy(b, h, 10));
    launch();
    eq_u64(reads(b + 8, 2), 0, "what the host copied");
    eq_u64(reads(b + 8, 4), 1, "and what it did not");
    reports_take();
    run((union hal_packet){.fill = {.head.op = HAL_OP_FILL,
                                    .dst = b + 64,
                                    .width = 2,
                                    .height = 3,
                                    .pitch_B = 16,
                                    .elem_B = 4}});
    eq_u64(reads(b + 64, 8) + reads(b + 96, 8), 0, "rows that were filled");
    eq_u64(reads(b + 72, 8), 1, "not between them");
    reports_take();
    run(copy(b + 128, b, 32));
    eq_u64(reports.n, 0, "a copy in the device");
    eq_u64(reads(b + 128, 8), 0, "takes along what is initialised");
    eq_u64(reads(b + 136, 8), 1, "and what is not");
    reports_take();
    run(copy(b + 64, b + 200, 8));
    eq_u64(reads(b + 64, 8), 1, "which it may have been before");
    reports_take();
    run(copy(h, b, 10));
    eq_u64(reports.n, 0, "a copy to the host");
    run(copy(h, b + 4, 10));
    ok(says(0, "Host API memory access error at host access to 0x500000010004 of size 10 bytes") &&
           says(0, "Uninitialized access at 0x50000001000a on access by cudaMemcpy source.") &&
           reports.at[0].stack && reports.at[0].allocated,
       "one of uninitialised memory");
    reports_take();
    options.check_api_memory_access = false;
    run(copy(h, b + 4, 10));
    eq_u64(reports.n, 0, "which may be left out");
    options.check_api_memory_access = true;
    run((union hal_packet){.sem = {.head.op = HAL_OP_SIGNAL, .address = b + 240, .is_32 = 1}});
    eq_u64(reads(b + 240, 4), 0, "a value that a stream writes");
    world_end(&w);
}

static void test_box(void)
{
    union hal_packet p = copy(A + 0x20000, 0x700000, 8);

    alloc(A + 0x20000, 1024);
    p.copy.height = p.copy.depth = 2;
    p.copy.dst_pitch_B = p.copy.src_pitch_B = 32;
    p.copy.dst_slice_B = p.copy.src_slice_B = 128;
    run(p);
    launch();
    for (unsigned i = 0; i < 4; i++) {
        uint64_t va = A + 0x20000 + i / 2 * 128 + i % 2 * 32;

        eq_u64(reads(va, 8), 0, "row %u of a box", i);
        eq_u64(reads(va + 8, 1), 1, "behind it");
        reports_take();
    }
    world_end(&w);
}

/* Copies change memory when they are complete, and that of the block they were submitted for. */
static void test_order(void)
{
    uint64_t c = A + 0x30000;
    union hal_packet p = copy(c, 0x700000, 16);

    report_memory(c, 16, DEVICE, HEDDLE_MEMORY_PROGRAM, &streams[0], false);
    report_packet(HEDDLE_EVENT_PACKET, 900, 0, &p);
    launch();
    eq_u64(reads(c, 4), 1, "before the copy is complete");
    reports_take();
    report_memory(c, 16, DEVICE, HEDDLE_MEMORY_PROGRAM, &streams[0], true);
    report_memory(c, 16, DEVICE, HEDDLE_MEMORY_PROGRAM, &streams[0], false);
    report_packet(HEDDLE_EVENT_RETIRED, 900, 0, &p);
    eq_u64(reads(c, 4), 0, "afterwards");
    world_end(&w);
    launch();
    eq_u64(reads(c, 4), 1, "the next allocation there has its own");
    reports_take();
    world_end(&w);
}

/* Where everything is initialised, generated code need not ask. */
static void test_ranges(void)
{
    uint64_t e = A + 0x44000;
    struct shot s = {SAN_READ,    G,           .number = 1, .va = e + 64,
                     .stride = 4, .size_B = 4, .offset = 64};

    alloc(e, 0x4000);
    launch();
    (void)shoot(&w, s);
    eq_u64(w.ranges[1].size_B, 0, "nothing is initialised");
    reports_take();
    s.what = SAN_WRITE;
    s.number = 2;
    (void)shoot(&w, s);
    eq_u64(w.ranges[2].size_B, 0, "next to nothing");
    world_end(&w);
    run(copy(e + 16, 0x700000, 0x2000));
    launch();
    (void)shoot(&w, s);
    ok(w.ranges[2].va == e + 16 - 64 && w.ranges[2].size_B == 0x2000, "a part");
    world_end(&w);
    run(copy(e, 0x700000, 0x4000));
    launch();
    s.what = SAN_READ;
    (void)shoot(&w, s);
    ok(w.ranges[2].va == e - 64 && w.ranges[2].size_B == 0x4000, "all of it");
    options.tools |= 1u << SAN_SYNCCHECK;
    s.number = 3;
    (void)shoot(&w, s);
    eq_u64(w.ranges[3].size_B, 0, "none where other tools look");
    options.tools = 1u << SAN_INITCHECK;
    world_end(&w);
}

static void test_unchecked(void)
{
    /* Memory of streams was there before: launches that are not known are late. */
    report_memory(A + 0x43000, 64, DEVICE, HEDDLE_MEMORY_PROGRAM, NULL, false);
    world_launch(&w, 0);
    eq_u64(reads(A + 0x43000, 4), 0, "a launch that may have seen another allocation there");
    world_end(&w);

    report_memory(A + 0x40000, 64, MANAGED, HEDDLE_MEMORY_PROGRAM, NULL, false);
    report_memory(A + 0x41000, 64, DEVICE, HEDDLE_MEMORY_MODULE, NULL, false);
    report_memory(A + 0x42000, 64, DEVICE, HEDDLE_MEMORY_MAPPED, NULL, false);
    launch();
    eq_u64(reads(A + 0x40000, 4) + reads(A + 0x41000, 4) + reads(A + 0x42000, 4), 0,
           "memory that others write");
    eq_u64(reads(0x10, 4), 0, "no memory at all");
    w.launch.is_quiet = true;
    eq_u64(reads(A + 3000, 4), 0, "a launch that the filters do not take");
    (void)shoot(&w, (struct shot){SAN_WRITE, G, .lanes = 1, .va = A + 3000, .size_B = 4});
    w.launch.is_quiet = false;
    eq_u64(reads(A + 3000, 4), 0, "but what it writes is seen");
    world_end(&w);
}

static void test_shared(void)
{
    struct shot s = {SAN_READ, S, .lanes = 1, .va = 0, .size_B = 4};

    launch();
    (void)shoot(&w, s);
    eq_u64(reports.n, 0, "shared memory is not asked for");
    world_end(&w);
    options.initcheck_space = SAN_INIT_SPACE_SHARED;
    launch();
    (void)shoot(&w, s);
    ok(reports.n == 1 && says(0, "Uninitialized __shared__ memory read of size 4 bytes") &&
           says(0, "Address 0x0"),
       "shared memory");
    reports_take();
    s.what = SAN_WRITE;
    (void)shoot(&w, s);
    s.what = SAN_READ;
    (void)shoot(&w, s);
    eq_u64(reports.n, 0, "written");
    eq_u64(reads(A + 3500, 4), 0, "global memory is not asked for");
    world_end(&w);
    launch();
    (void)shoot(&w, s);
    eq_u64(reports_take(), 1, "every CTA has its own");
    world_end(&w);
    options.track_unused_memory = true;
    launch();
    (void)shoot(&w,
                (struct shot){SAN_WRITE, S, .va = 0, .stride = 8, .size_B = 8, .lanes = 0x1ffffff});
    world_end(&w);
    ok(says(0, "Unused __shared__ memory in allocation of size 1000 bytes in block (0,0,0)") &&
           says(0, "Not written 800 bytes at offset 0xc8 (0xc8)") &&
           says(0, "These unused bytes represent 80% of the shared memory."),
       "unused shared memory");
    reports_take();
    options.initcheck_space = SAN_INIT_SPACE_GLOBAL;
}

static void test_unused(void)
{
    uint64_t d = A + 0x50000;

    for (unsigned i = 0; i < 4; i++)
        alloc(d + i * 0x1000, 100);
    run(copy(d, 0x700000, 100));
    run(copy(d + 0x1000, 0x700000, 20));
    run(copy(d + 0x2000 + 50, 0x700000, 25));
    for (unsigned i = 0; i < 4; i++)
        release(d + i * 0x1000, 100);
    eq_u64(reports.n, 3, "three of four are not used whole");
    ok(says(0, "Unused __global__ memory in allocation 0x500000051000 of size 100 bytes") &&
           says(0, "Not written 80 bytes at offset 0x14 (0x500000051014)") &&
           says(0, "80% of allocation were unused.") && reports.at[0].allocated,
       "the end");
    ok(says(1, "Not written 75 bytes between offset 0x0 (0x500000052000) and offset 0x63") &&
           says(1, "75% of allocation were unused."),
       "both sides");
    ok(says(2, "Not written any memory.") && says(2, "100% of allocation were unused."),
       "all of it");
    reports_take();
    options.unused_threshold = 81;
    alloc(d, 100);
    run(copy(d, 0x700000, 20));
    release(d, 100);
    eq_u64(reports_take(), 0, "below the threshold");
    options.unused_threshold = 0;
    alloc(d, 100);
    the_tool->finish();
    eq_u64(reports_take(), 1, "what is left when the process ends");
}

/* ---- shadows */

enum { BYTES = 700 };

static void model_check(const struct san_shadow *shadow, const uint8_t *model, uint64_t at,
                        uint64_t n)
{
    uint64_t clear = at, set = at, count = 0, mask = 0;

    uint64_t begin = at;

    while (begin && model[at] && model[begin - 1])
        begin--;
    while (clear < at + n && model[clear])
        clear++;
    while (set < at + n && !model[set])
        set++;
    for (uint64_t i = at; i < at + n; i++)
        count += model[i];
    for (unsigned i = 0; i < HD_MIN(n, 64u); i++)
        mask |= (uint64_t)!model[at + i] << i;
    if (san_shadow_is_full((struct san_shadow *)shadow) != !memchr(model, 0, BYTES))
        ok(false, "full or not");
    if (san_shadow_first_clear(shadow, at, n) != clear ||
        san_shadow_first_set(shadow, at, n) != set || san_shadow_count(shadow, at, n) != count ||
        (n && model[at] && san_shadow_run_begin(shadow, at) != begin) ||
        (n && san_shadow_missing(shadow, at, (unsigned)HD_MIN(n, 64u)) != mask))
        ok(false, "%u bytes at %u as the model has them", (unsigned)n, (unsigned)at);
}

static void test_model(void)
{
    struct san_shadow *shadow = san_shadow_create(BYTES), *other = san_shadow_create(BYTES);
    uint8_t model[BYTES] = {0}, others[BYTES] = {0};
    uint64_t seed = tap_seed();
    unsigned before = tap_failed;

    for (unsigned i = 0; i < 20000; i++) {
        uint64_t at = tap_random(&seed) % BYTES, to = tap_random(&seed) % BYTES;
        uint64_t n = tap_random(&seed) % (i % 3 ? 20 : 200);

        n = HD_MIN(n, BYTES - HD_MAX(at, to));
        switch (tap_random(&seed) % 5) {
        case 0:
            san_shadow_set(shadow, at, n);
            memset(model + at, 1, n);
            break;
        case 1:
            san_shadow_clear(shadow, at, n);
            memset(model + at, 0, n);
            break;
        case 2:
            san_shadow_copy(shadow, to, shadow, at, n);
            memmove(model + to, model + at, n);
            break;
        case 3:
            san_shadow_copy(other, to, shadow, at, n);
            memcpy(others + to, model + at, n);
            break;
        default:
            san_shadow_copy(shadow, to, other, at, n);
            memcpy(model + to, others + at, n);
        }
        model_check(shadow, model, at, n);
        model_check(other, others, to, n);
    }
    ok(tap_failed == before, "20,000 random steps");
    san_shadow_destroy(shadow);
    san_shadow_destroy(other);
}

static bool shadow_works(void *arg)
{
    struct san_shadow *shadow = san_shadow_create(*(uint64_t *)arg);

    if (!shadow)
        return false;
    san_shadow_set(shadow, *(uint64_t *)arg - 3, 3);
    san_shadow_destroy(shadow);
    return true;
}

/* Without memory for a shadow the block counts as initialised. */
static void test_no_memory(void)
{
    uint64_t sizes[] = {100, 8 << 20}, va = A + 0x60000;

    for (size_t i = 0; i < HD_COUNT_OF(sizes); i++)
        tap_oom_loop(shadow_works, &sizes[i], "a shadow");
    alloc(va, 100);
    launch();
    hd_fault_set_alloc(1);
    eq_u64(reads(va, 4), 0, "a block without a shadow");
    hd_fault_set_alloc(0);
    eq_u64(reads(va, 4), 0, "has none later");
    alloc(va + 0x1000, 100);
    world_end(&w);
    launch();
    union hal_packet p = copy(va + 0x1000, 0x700000, 100);
    hd_fault_set_alloc(1);
    report_packet(HEDDLE_EVENT_PACKET, 5000, 0, &p);
    hd_fault_set_alloc(0);
    report_packet(HEDDLE_EVENT_RETIRED, 5000, 0, &p);
    eq_u64(reads(va + 0x1000, 4), 0, "a copy that there was no memory for");
    world_end(&w);
}

/* Many threads write and read one range. */
static struct san_shadow *shared_shadow;

static void *write_all(void *arg)
{
    for (uint64_t at = (uintptr_t)arg; at < 1 << 16; at += 4)
        san_shadow_set(shared_shadow, at, 1);
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[4];

    shared_shadow = san_shadow_create(1 << 16);
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, write_all, (void *)i);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    eq_u64(san_shadow_count(shared_shadow, 0, 1 << 16), 1 << 16, "no bit is lost");
    san_shadow_destroy(shared_shadow);
}

int main(void)
{
    world_init(&san_initcheck);
    options.tools = 1u << SAN_INITCHECK;
    test_kernels();
    test_partial();
    test_host();
    test_padding();
    test_box();
    test_order();
    test_ranges();
    test_unchecked();
    test_shared();
    test_no_memory();
    test_model();
    test_threads();
    test_unused();
    san_memory_stop();
    san_options_fini(&options);
    return done();
}
