/* Copies and fills against plain loops, at all alignments, small, large and in rows. */
#include "device_fixture.h"

#include <sys/mman.h>

const struct fake_kernel fake_kernels[] = {{0}};

#define BIG_B (40u << 20) /* more than the L3 of a core that keeps copies in it (copy.c) */

static uint8_t *src, *dst, *want;

static void random_bytes(uint8_t *at, size_t size_B, uint64_t *seed)
{
    for (size_t i = 0; i + 8 <= size_B; i += 8) {
        uint64_t r = tap_random(seed);
        memcpy(at + i, &r, 8);
    }
}

static void run(struct hal_queue *q, const union hal_packet *p)
{
    fixture_submit(q, p);
    fixture_wait(q);
}

static bool copy_1d(struct hal_queue *q, size_t dst_at, size_t src_at, size_t size_B)
{
    union hal_packet p = {
        .copy = {.head.op = HAL_OP_COPY, .width_B = size_B, .height = 1, .depth = 1}};
    size_t check_B = HD_MIN(size_B + dst_at + 64, BIG_B);

    p.copy.dst = (uintptr_t)dst + dst_at;
    p.copy.src = (uintptr_t)src + src_at;
    memset(dst, 0x55, check_B);
    memset(want, 0x55, check_B);
    memcpy(want + dst_at, src + src_at, size_B);
    run(q, &p);
    return !memcmp(dst, want, check_B);
}

static void test_copy(struct hal_queue *q)
{
    static const size_t sizes[] = {
        0, 1, 7, 64, 255, 4096, 65537, (256 << 10) + 1, 1 << 20, (4 << 20) + 333, (17 << 20) + 333};
    unsigned wrong = 0;

    for (size_t i = 0; i < HD_COUNT_OF(sizes); i++)
        for (size_t a = 0; a < 3; a++)
            wrong += !copy_1d(q, a * 13, a * 5, sizes[i]);
    eq_u64(wrong, 0, "1D copies");
}

static void test_copy_3d(struct hal_queue *q)
{
    union hal_packet p = {.copy = {.head.op = HAL_OP_COPY,
                                   .width_B = 100,
                                   .height = 70,
                                   .depth = 5,
                                   .dst_pitch_B = 128,
                                   .src_pitch_B = 300,
                                   .dst_slice_B = 128 * 80,
                                   .src_slice_B = 300 * 90}};

    p.copy.dst = (uintptr_t)dst;
    p.copy.src = (uintptr_t)src;
    memset(dst, 0, 128 * 80 * 5);
    memset(want, 0, 128 * 80 * 5);
    for (int z = 0; z < 5; z++)
        for (int y = 0; y < 70; y++)
            memcpy(want + z * 128 * 80 + y * 128, src + z * 300 * 90 + y * 300, 100);
    run(q, &p);
    eq_mem(dst, want, 128 * 80 * 5, "3D copy leaves the padding alone");
}

static void test_fill(struct hal_queue *q, uint32_t elem_B, uint32_t value, size_t at, size_t count)
{
    union hal_packet p = {
        .fill = {
            .head.op = HAL_OP_FILL, .width = count, .height = 1, .value = value, .elem_B = elem_B}};

    size_t check_B = HD_MIN(at + count * elem_B + 64, BIG_B);

    memset(dst, 0x11, check_B);
    memset(want, 0x11, check_B);
    for (size_t i = 0; i < count; i++)
        memcpy(want + at + i * elem_B, &value, elem_B);
    p.fill.dst = (uintptr_t)dst + at;
    run(q, &p);
    eq_mem(dst, want, check_B, "fill of %zu elements of %u bytes at %zu", count, elem_B, at);
}

static void faults(struct fixture *f, struct hal_queue *q, const union hal_packet *p, uint64_t at,
                   const char *what)
{
    run(q, p);
    eq_u64(hal_domain_status(f->domain), HD_ILLEGAL_ADDRESS, "%s faults", what);
    eq_u64(f->domain->fault->address, at, "its address");
    fixture_heal(f);
}

/* In the middle of an access that takes long. */
static void test_end_of_memory(struct fixture *f, struct hal_queue *q)
{
    const size_t half_B = 512 << 10;
    uint8_t *at =
        mmap(NULL, 2 * half_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    union hal_packet copy = {
        .copy = {.head.op = HAL_OP_COPY, .width_B = 2 * half_B, .height = 1, .depth = 1}};
    union hal_packet fill = {
        .fill = {
            .head.op = HAL_OP_FILL, .value = 7, .width = 2 * half_B, .height = 1, .elem_B = 1}};

    munmap(at + half_B, half_B);
    copy.copy.src = (uintptr_t)at, copy.copy.dst = (uintptr_t)dst;
    faults(f, q, &copy, (uintptr_t)at + half_B, "a copy from behind the end");
    copy.copy.src = (uintptr_t)src, copy.copy.dst = (uintptr_t)at;
    faults(f, q, &copy, (uintptr_t)at + half_B, "a copy to behind the end");
    fill.fill.dst = (uintptr_t)at;
    faults(f, q, &fill, (uintptr_t)at + half_B, "a fill behind the end");
    munmap(at, half_B);
}

/*
 * The address is that of the first byte that is not there, wherever the C library begins: it loads
 * the end of a short copy first, and of a long one several pages at a time.
 */
static void test_first_byte(struct fixture *f, struct hal_queue *q)
{
    static const size_t behind_B[] = {1, 15, 16, 33, 64, 100, 300, 1000, 5000, 70000, 700000};
    static const size_t before_B[] = {0, 1, 31, 65, 500, 4097, 300001};
    const size_t room_B = 4 << 20;
    uint8_t *at = mmap(NULL, room_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *end = at + room_B / 2;

    munmap(end, room_B / 2);
    for (size_t i = 0; i < HD_COUNT_OF(behind_B); i++) {
        for (size_t k = 0; k < HD_COUNT_OF(before_B); k++) {
            size_t size_B = behind_B[i] + before_B[k];
            uint64_t bad = (uintptr_t)end - before_B[k];
            union hal_packet copy = {
                .copy = {.head.op = HAL_OP_COPY, .width_B = size_B, .height = 1, .depth = 1}};
            copy.copy.src = bad, copy.copy.dst = (uintptr_t)dst;
            faults(f, q, &copy, (uintptr_t)end, "a copy from there");
            copy.copy.src = (uintptr_t)src, copy.copy.dst = bad;
            faults(f, q, &copy, (uintptr_t)end, "a copy to there");
        }
    }
    mprotect(at, room_B / 2, PROT_READ);
    union hal_packet copy = {
        .copy = {.head.op = HAL_OP_COPY, .width_B = 5000, .height = 1, .depth = 1}};
    copy.copy.src = (uintptr_t)src, copy.copy.dst = (uintptr_t)at + 77;
    faults(f, q, &copy, (uintptr_t)at + 77, "a copy to what may only be read");
    munmap(at, room_B / 2);
}

/* In rows: the first row that is not all there. */
static void test_first_row(struct fixture *f, struct hal_queue *q)
{
    const size_t room_B = 8 << 20, pitch_B = 10000, width_B = 9000, gap_B = 1 << 20;
    uint8_t *at = mmap(NULL, room_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    union hal_packet copy = {.copy = {.head.op = HAL_OP_COPY,
                                      .width_B = width_B,
                                      .height = 350,
                                      .depth = 2,
                                      .src_pitch_B = pitch_B,
                                      .dst_pitch_B = width_B,
                                      .src_slice_B = 400 * pitch_B,
                                      .dst_slice_B = 350 * width_B}};
    size_t row = gap_B / pitch_B, in_row_B = gap_B % pitch_B;
    uint64_t first = in_row_B < width_B ? gap_B : (row + 1) * pitch_B;

    munmap(at + gap_B, room_B - gap_B);
    copy.copy.src = (uintptr_t)at, copy.copy.dst = (uintptr_t)dst;
    faults(f, q, &copy, (uintptr_t)at + first, "a copy of rows");
    copy.copy.width_B = 4000; /* the byte behind the end is between two rows */
    first = in_row_B < 4000 ? gap_B : (row + 1) * pitch_B;
    faults(f, q, &copy, (uintptr_t)at + first, "a copy of shorter rows");
    munmap(at, gap_B);
}

/* The signal of such an access does not say where it was. */
static void test_no_address_of_processes(struct fixture *f, struct hal_queue *q)
{
    uint64_t wild = 0x9d8df427d9f95500;
    union hal_packet copy = {.copy = {.head.op = HAL_OP_COPY,
                                      .src = wild,
                                      .dst = (uintptr_t)dst,
                                      .width_B = 64,
                                      .height = 1,
                                      .depth = 1}};
    union hal_packet fill = {
        .fill = {.head.op = HAL_OP_FILL, .dst = wild, .width = 64, .height = 1, .elem_B = 1}};

    faults(f, q, &copy, wild, "a copy from where no process has addresses");
    copy.copy.src = (uintptr_t)src, copy.copy.dst = wild;
    faults(f, q, &copy, wild, "a copy to there");
    faults(f, q, &fill, wild, "a fill there");
}

int main(void)
{
    uint64_t seed = tap_seed();
    struct hal_queue *q;
    struct fixture f;

    if (!ok(fixture_init(&f), "device"))
        return done();
    src = malloc(BIG_B), dst = malloc(BIG_B), want = malloc(BIG_B);
    random_bytes(src, BIG_B, &seed);
    q = fixture_queue(&f);
    test_copy(q);
    test_copy_3d(q);
    test_fill(q, 1, 0xab, 3, 1000);
    test_fill(q, 2, 0x1234, 6, 999);
    test_fill(q, 4, 0xdeadbeef, 12, 777);
    test_fill(q, 4, 0xdeadbeef, 4, 2000001);
    test_fill(q, 2, 0x4321, 2, 3000001);
    test_fill(q, 1, 0, 1, 5000001);
    test_fill(q, 4, 0x01020304, 8, 9000001);
    test_fill(q, 1, 0x77, 5, 300001);
    test_fill(q, 2, 0x7788, 2, 200001);
    test_end_of_memory(&f, q);
    test_first_byte(&f, q);
    test_first_row(&f, q);
    test_no_address_of_processes(&f, q);
    q->ops->destroy(q);
    free(src), free(dst), free(want);
    fixture_fini(&f);
    return done();
}
