/*
 * Costs of accesses with vectors against those of the rules, ir_count_access(): lines, strides,
 * swizzles, few and many different addresses, near and far, aligned and not, of any lanes.
 */
#include "ir/count.h"
#include "jit/jit.h"
#include "jit/rt/jit_rt_count.h"
#include "tap.h"

enum { LANES = IR_COUNT_WARP, ROUNDS = 100000 };

static uint64_t state;

static uint64_t below(uint64_t n)
{
    return tap_random(&state) % n;
}

struct sample {
    uint32_t space, is_atomic, lanes;
    uint64_t size_B, address[LANES];
};

static uint64_t address_any(uint32_t form, uint32_t lane, uint64_t step, uint64_t size_B)
{
    switch (form) {
    case 0:
        return lane * step;
    case 1:
        return (LANES - lane) * step;
    case 2:
        return (lane ^ (step & 31)) * size_B;
    case 3:
        return below(1 + step) * size_B;
    case 4:
        return (2 * lane - (lane & (step & 31))) * size_B;
    default:
        return below(UINT64_C(1) << (step % 45)) & -size_B;
    }
}

static struct sample sample_any(void)
{
    const uint64_t step = below(below(2) ? 9 : 600);
    const uint32_t form = (uint32_t)below(6), space = (uint32_t)below(IR_COUNT_SPACES);
    struct sample s = {.space = space, .is_atomic = !below(4), .size_B = UINT64_C(1) << below(6)};
    uint64_t base = space == IR_COUNT_IN_GLOBAL ? below(UINT64_C(1) << 46) : below(1 << 16);

    if (below(8)) /* else misaligned */
        base &= ~(s.size_B - 1);
    if (!below(50))
        s.size_B = 12;
    s.lanes = below(2) ? ~0u : (uint32_t)tap_random(&state);
    if (!below(4)) /* the first ones, of 32 at most */
        s.lanes = (uint32_t)((UINT64_C(1) << below(33)) - 1);
    for (uint32_t l = 0; l < LANES; l++)
        s.address[l] = base + address_any(form, l, below(2) ? step : step & -s.size_B, s.size_B);
    return s;
}

static void expected(const struct sample *s, uint64_t *words)
{
    const struct ir_count_access access = {.words = words,
                                           .space = (enum ir_count_space)s->space,
                                           .is_atomic = s->is_atomic,
                                           .lanes = s->lanes,
                                           .size_B = s->size_B,
                                           .address = s->address};

    if (s->lanes)
        ir_count_access(&access);
}

static bool agrees(jit_count_fn *count, const struct sample *s)
{
    uint64_t want[IR_COUNT_ACCESS_WORDS] = {5, 6, 7}, got[IR_COUNT_ACCESS_WORDS] = {5, 6, 7};

    expected(s, want);
    count(got, s->space, s->is_atomic, s->lanes, s->size_B, s->address);
    return !memcmp(want, got, sizeof(want));
}

static void check(enum jit_path path, jit_count_fn *count)
{
    uint32_t wrong = 0;

    if (!jit_path_runs_here(path)) {
        skip("the host lacks the level");
        return;
    }
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct sample s = sample_any();
        wrong += !agrees(count, &s);
    }
    ok(!wrong, "%s: %u of %u accesses cost something else", jit_path_name(path), wrong, ROUNDS);
}

int main(void)
{
    state = tap_seed();
    check(JIT_GENERIC, jit_rt_count_generic);
#if defined(__x86_64__)
    check(JIT_AVX2, jit_rt_count_avx2);
    check(JIT_AVX512, jit_rt_count_avx512);
#endif
    return done();
}
