/*
 * What has no instruction: how many operations its sequence has, which are those that profiles of a
 * GPU show, and its bits where they are hardest to get right.
 */
#include <math.h>

#include "codegen/both.h"

enum { BLOCK = 256, MOST = 1 << 18 };

static float a[MOST], b[MOST], out[2 * MOST];
static struct sim_counts counts;

static bool check(void *ctx, uint64_t address, uint64_t size_B, bool write)
{
    return true;
}
static bool range(void *ctx, uint64_t address, bool write, uint64_t *out_start,
                  uint64_t *out_size_B)
{
    *out_start = 4096;
    *out_size_B = UINT64_MAX - 4096;
    return true;
}
static const struct interp_ops services = {.check = check, .range = range};

/* What `body` makes d of x and y, in each of n threads; a double is two floats. False: it fails. */
static bool run(const char *body, const char *type, unsigned n)
{
    const uint64_t params[] = {(uintptr_t)out, (uintptr_t)a, (uintptr_t)b};
    struct interp_launch launch = {
        .grid = {n / BLOCK, 1, 1}, .block = {BLOCK, 1, 1}, .params = params, .ops = &services};
    struct sim_program *program = NULL;
    struct sim_kernel described;
    struct isa_code code = {0};
    struct ir_module *module;
    struct hd_buf text;
    enum hd_status status;

    hd_buf_init(&text);
    hd_buf_printf(&text,
                  ".version 8.0\n.target sm_80\n.address_size 64\n"
                  ".visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b) {\n"
                  ".reg .b64 p, q, r, t; .reg .b32 i, c; .reg .%s x, y, z, d; .reg .pred w;\n"
                  "ld.param.u64 p, [out];\nld.param.u64 q, [a];\nld.param.u64 r, [b];\n"
                  "mov.u32 i, %%tid.x;\nmov.u32 c, %%ctaid.x;\nmad.lo.u32 i, c, %u, i;\n"
                  "mul.wide.u32 t, i, %u;\nadd.u64 p, p, t;\nadd.u64 q, q, t;\n"
                  "add.u64 r, r, t;\nld.global.%s x, [q];\nld.global.%s y, [r];\n"
                  "%s;\nst.global.%s [p], d;\nret;\n}\n",
                  type, (unsigned)BLOCK, type[1] == '6' ? 8 : 4, type, type, body, type);
    module = both_module(text.ptr);
    hd_buf_fini(&text);
    if (!module)
        return false;
    launch.kernel = module->funcs;
    status = sim_kernel_of(module->funcs, &described);
    described.counts = true;
    if (status == HD_OK)
        status = codegen_kernel(module->funcs, &(struct codegen_options){.checks = true}, &code);
    if (status == HD_OK)
        status = sim_program_create(&code, &described, &program);
    isa_code_fini(&code);
    if (status == HD_OK)
        status = sim_launch(program, &launch, NULL, &counts);
    sim_program_destroy(program);
    ir_module_destroy(module);
    return status == HD_OK;
}

static void test_counts(void)
{
    static const struct {
        const char *body, *type;
        unsigned f32, f64;
    } rows[] = {
        {"div.rn.f32 d, x, y", "f32", 10, 0},   {"rcp.rn.f32 d, x", "f32", 5, 0},
        {"sqrt.rn.f32 d, x", "f32", 6, 0},      {"rcp.approx.ftz.f32 d, x", "f32", 0, 0},
        {"rsqrt.approx.f32 d, x", "f32", 0, 0}, {"ex2.approx.ftz.f32 d, x", "f32", 0, 0},
        {"div.rn.f64 d, x, y", "f64", 2, 15},   {"rcp.rn.f64 d, x", "f64", 0, 10},
    };

    for (unsigned i = 0; i < MOST; i++)
        a[i] = b[i] = 1.5f;
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        ok(run(rows[i].body, rows[i].type, BLOCK), "%s runs", rows[i].body);
        eq_u64(sim_counts_f32(&counts), (uint64_t)BLOCK * rows[i].f32, "operations of f32");
        eq_u64(sim_counts_f64(&counts), (uint64_t)BLOCK * rows[i].f64, "operations of f64");
    }
}

/* Lanes that do not want an operation do not execute it; nor those that a routine serves. */
static void test_lanes(void)
{
    static const char chosen[] =
        "and.b32 c, i, 3;\nsetp.eq.u32 w, c, 1;\nsub.f32 z, 0f00000000, x;\n"
        "selp.f32 d, z, x, w";
    static const char scaled[] =
        "and.b32 c, i, 3;\nsetp.ne.u32 w, c, 1;\nmov.f32 d, x;\n@w bra to;\n"
        "mul.f32 d, x, y;\nto:\nadd.f32 d, d, 0f3f800000";
    static const char special[] = "and.b32 c, i, 3;\nsetp.eq.u32 w, c, 1;\nfma.rn.f32 z, x, y, x;\n"
                                  "mul.f32 d, x, y;\nselp.f32 d, z, d, w";
    unsigned wrong = 0;

    for (unsigned i = 0; i < BLOCK; i++) {
        a[i] = i % 4 == 1 ? 3.0f : 1.0f;
        b[i] = 2.0f;
    }
    ok(run(chosen, "f32", BLOCK), "a sign is chosen");
    eq_u64(counts.by_kind[SIM_COUNT_FADD], BLOCK / 4, "by the lanes that change it");
    for (unsigned i = 0; i < BLOCK; i++)
        wrong += out[i] != (i % 4 == 1 ? -3.0f : 1.0f);
    ok(run(special, "f32", BLOCK), "a special result");
    eq_u64(counts.by_kind[SIM_COUNT_FFMA], BLOCK / 4, "where it is needed");
    for (unsigned i = 0; i < BLOCK; i++)
        wrong += out[i] != (i % 4 == 1 ? 9.0f : 2.0f);
    ok(run(scaled, "f32", BLOCK), "a product behind a branch");
    eq_u64(counts.by_kind[SIM_COUNT_FMUL], BLOCK / 4, "of the lanes that do not jump");
    for (unsigned i = 0; i < BLOCK; i++)
        wrong += out[i] != (i % 4 == 1 ? 7.0f : 2.0f);
    eq_u64(wrong, 0, "all are right");
    ok(run("setp.gt.f32 w, x, y;\nsub.f32 z, 0f00000000, x;\nselp.f32 d, z, x, w", "f32", BLOCK),
       "a sign is chosen by a comparison that is late");
    eq_u64(counts.by_kind[SIM_COUNT_FADD], BLOCK, "nobody waits for it");
    for (unsigned i = 0; i < BLOCK; i++)
        a[i] = i % 4 ? 1.5f : 0.0f;
    ok(run("rcp.rn.f32 d, x", "f32", BLOCK), "reciprocals, some of zero");
    eq_u64(sim_counts_f32(&counts), BLOCK / 4 * 3 * 5, "have no operation there");
    ok(run("sqrt.rn.f32 d, x", "f32", BLOCK), "roots, some of zero");
    eq_u64(sim_counts_f32(&counts), BLOCK / 4 * 3 * 6, "likewise");
    ok(run("sqrt.approx.f32 d, x", "f32", BLOCK), "approximate roots, some of zero");
    eq_u64(sim_counts_f32(&counts), BLOCK / 4 * 2, "which are scaled");
}

/* The inverse modulo 2^64 of an odd number. */
static uint64_t inverse(uint64_t x)
{
    uint64_t y = x;

    for (int i = 0; i < 6; i++)
        y *= 2 - x * y;
    return y;
}

static unsigned wrong_quotients(unsigned n)
{
    unsigned wrong = 0;

    if (!run("div.rn.f32 d, x, y", "f32", MOST))
        return n;
    for (unsigned i = 0; i < n; i++)
        wrong += out[i] != a[i] / b[i];
    return wrong;
}

/*
 * With a reciprocal y to the last bit, a quotient q that is 3/2 ulp off at most, and a / b - q made
 * good by y, what is rounded is 3/2 ulp * 2^-24 off: not enough to pass the middle m between two
 * numbers where 2^k a - b m, of integers, is more than 3. These are the others: for each b of 24
 * bits and each rest there is one m modulo 2^k.
 */
static void test_quotients(uint64_t step)
{
    unsigned n = 0, wrong = 0, total = 0;

    for (uint64_t x = 1 << 23; x < 1 << 24; x += step) {
        unsigned twos = (unsigned)__builtin_ctzll(x);

        for (unsigned k = 24; k <= 25; k++)
            for (int64_t rest = -3; rest <= 3; rest++) {
                uint64_t modulus = UINT64_C(1) << (k - HD_MIN(twos, 2u)), odd = x >> twos, m;

                if (!rest || twos > 1 || rest % (1 << twos))
                    continue;
                m = (0 - (uint64_t)(rest >> twos)) * inverse(odd) & (modulus - 1);
                for (; m < 1 << 25; m += modulus) {
                    uint64_t numerator = (odd * m + (uint64_t)(rest >> twos)) / modulus;

                    if (m < 1 << 24 || !(m & 1) || numerator < 1 << 23 || numerator >= 1 << 24)
                        continue;
                    a[n] = (float)numerator;
                    b[n++] = (float)x;
                    if (n < MOST)
                        continue;
                    wrong += wrong_quotients(n);
                    total += n;
                    n = 0;
                }
            }
    }
    wrong += wrong_quotients(n);
    total += n;
    ok(total > 1000, "%u quotients near the middle between two numbers", total);
    eq_u64(wrong, 0, "are all correctly rounded");
}

/* Fractions, each with some exponent; with step 1 all of them. */
static void test_reciprocals(uint32_t step)
{
    unsigned wrong = 0;

    for (uint32_t first = 0; first < 1 << 23; first += step * MOST) {
        for (uint32_t i = 0; i < MOST; i++) {
            uint32_t bits = (first + i) | (i * 2654435761u >> 24) << 23;

            memcpy(&a[i], &bits, 4);
        }
        if (!run("rcp.rn.f32 d, x", "f32", MOST))
            wrong++;
        for (uint32_t i = 0; i < MOST; i++)
            wrong += out[i] != 1.0f / a[i] && !isnan(a[i]);
    }
    eq_u64(wrong, 0, "reciprocals are correctly rounded");
}

int main(int argc, char **argv)
{
    test_counts();
    test_lanes();
    test_quotients(argc > 1 ? 1 : 61);
    test_reciprocals(argc > 1 ? 1 : 8);
    return done();
}
