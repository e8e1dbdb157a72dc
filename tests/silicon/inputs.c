/* The inputs of each set: special values crossed with each other, then seeded random ones. */
#include "silicon.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* How many specials rows with two and three operands cross, and how many random vectors every
 * row gets. Chosen so
 * that a recording stays below 2 MB. The first special values matter most. */
struct amount {
    unsigned cross2, cross3, random1, random2, random3;
};
static const struct amount amount_full = {10, 5, 24, 24, 32};
static const struct amount amount_brief = {7, 4, 8, 8,
                                           8}; /* compares and atomics: many rows, simple answers */

static const uint64_t specials_u16[] = {0,      1,      0xffff, 0x7fff, 0x8000,
                                        2,      0x8001, 0x00ff, 0x0100, 0x1234,
                                        0x5555, 0xaaaa, 0xfffe, 0x0080, 0xff80};
static const uint64_t specials_u32[] = {
    0,          1,          0xffffffff, 0x80000000, 0x7fffffff, 2,          0xfffffffe,
    0x0000ffff, 0x00010000, 0x12345678, 0x00ffffff, 0x01000000, 0xff800001, 0x55555555,
    0xaaaaaaaa, 0x80000001, 31,         32,         33,         0x7f,       0x80,
    0xff,       0x100,      0x7fff,     0x8000,     0xffff8000};
static const uint64_t specials_u64[] = {0,
                                        1,
                                        UINT64_MAX,
                                        1ull << 63,
                                        INT64_MAX,
                                        2,
                                        0xffffffff,
                                        0x100000000,
                                        0x80000000,
                                        0x123456789abcdef0,
                                        0xffffffff80000000,
                                        0x7fffffff,
                                        0xfffffffffffffffe,
                                        0x5555555555555555,
                                        0x8000000000000001,
                                        63,
                                        64,
                                        65,
                                        1ull << 53,
                                        (1ull << 53) + 1,
                                        (1ull << 24) + 1,
                                        0x7fffff8000000000};
static const uint64_t specials_f32[] = {0x00000000, 0x80000000, 0x3f800000, 0x7f800000, 0x7fc00000,
                                        0x00000001, /* 0 -0 1 inf nan denorm */
                                        0xff800000, 0xbf800000, 0x7f7fffff, 0x00800000, 0x807fffff,
                                        0xffc12345, 0x7f812345, 0xff7fffff, 0x80000001, 0x007fffff,
                                        0x80800000, 0x3f000000, 0x40000000, 0xc0000000, 0x3fc00000,
                                        0x40490fdb, 0xc0490fdb, 0x3f7fffff, 0x3f800001, 0x4b000001,
                                        0x4b800000, 0xffa00001, 0x5f000000, 0x42fc0000, 0xc2fc0000,
                                        0x43000000, 0xc3150000, 0xc3160000, 0x42f80000, 0x7e800000,
                                        0x00ffffff, 0x34000000};
static const uint64_t specials_f32_cvt[] = {
    0x3f000000, 0xbf000000, 0x3f000001, 0x3effffff, 0x3fc00000, 0xbfc00000, 0x40200000, 0xc0200000,
    0x42fe0000, 0x42ff0000, 0x43000000, 0xc3000000, 0xc3008000, 0xc3010000, 0x437f0000, 0x437f8000,
    0x43800000, 0x46fffe00, 0x46ffff00, 0x47000000, 0xc7000000, 0xc7000100, 0x477fff00, 0x477fff80,
    0x47800000, 0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000, 0x5effffff,
    0x5f000000, 0xdf000000, 0xdf000001, 0x5f7fffff, 0x5f800000, 0x4b000000, 0x4affffff, 0x4b7fffff,
    0x477fe000, 0x477fefff, 0x477ff000, 0x38800000, 0x387fc000, 0x387fffff, 0x33800000, 0x33000000,
    0x33000001, 0x3f801000, 0x3f803000, 0x3f801001, 0x3f808000, 0x3f818000, 0x3f808001, 0x7f7f8000,
    0x7f7f7fff, 0x00008000, 0x00018000, 0x43e00000, 0x43e80000, 0x43f00000, 0x3b000000, 0x3a800000};
static const uint64_t tiny_f32[][2] = {
    {0x3f7fffff, 0x00800000}, {0x3f7ffffe, 0x00800001}, {0x3f7ffffd, 0x00800001},
    {0x3f7ffffe, 0x00800000}, {0xbf7fffff, 0x00800000}, {0x3f000001, 0x00ffffff},
    {0x3f000000, 0x00ffffff}, {0x3f800000, 0x007fffff},
};
static const uint64_t specials_f64[] = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0x7ff0000000000000,
    0x7ff8000000000000, 0x0000000000000001, 0xfff0000000000000, 0xbff0000000000000,
    0x7fefffffffffffff, 0x0010000000000000, 0x800fffffffffffff, 0xfff8123456789abc,
    0x7ff0000000000001, 0xffefffffffffffff, 0x8000000000000001, 0x000fffffffffffff,
    0x3fe0000000000000, 0x4000000000000000, 0x3ff8000000000000, 0x400921fb54442d18,
    0x3fefffffffffffff, 0x3ff0000000000001, 0x4340000000000001, 0x43e0000000000000,
    0x7fe0000000000000};
static const uint64_t specials_f64_cvt[] = {
    0x3fe0000000000000, 0xbfe0000000000000, 0x3fe0000000000001, 0x4004000000000000,
    0xc004000000000000, 0x41dfffffffc00000, 0x41dfffffffe00000, 0x41e0000000000000,
    0xc1e0000000000000, 0xc1e0000000200000, 0x41efffffffe00000, 0x41f0000000000000,
    0x43dfffffffffffff, 0x43e0000000000000, 0xc3e0000000000000, 0x43efffffffffffff,
    0x43f0000000000000, 0x4070000000000000, 0x40f0000000000000, 0x47efffffe0000000,
    0x47efffffefffffff, 0x47effffff0000000, 0x47f0000000000000, 0x3810000000000000,
    0x380fffffffffffff, 0x36a0000000000000, 0x3690000000000000, 0x3690000000000001,
    0x3ff0000010000000, 0x3ff0000030000000, 0x3ff0000010000001, 0x40effc0000000000,
    0x40effe0000000000, 0x3e70000000000000, 0x3e60000000000001};
static const uint64_t specials_f16[] = {0x0000, 0x8000, 0x3c00, 0x7c00, 0x7e00, 0x0001, 0xfc00,
                                        0xbc00, 0x7bff, 0x0400, 0x83ff, 0xfe12, 0x7d01, 0xfbff,
                                        0x8001, 0x03ff, 0x3800, 0x4000, 0x3e00, 0x4248, 0x3bff,
                                        0x3c01, 0x6400, 0x6401, 0x5bf8, 0x5c00, 0xdc04, 0x57f8};
static const uint64_t specials_bf16[] = {0x0000, 0x8000, 0x3f80, 0x7f80, 0x7fc0, 0x0001, 0xff80,
                                         0xbf80, 0x7f7f, 0x0080, 0x807f, 0xffc1, 0x7f81, 0xff7f,
                                         0x8001, 0x007f, 0x3f00, 0x4000, 0x3fc0, 0x4049, 0x3f7f,
                                         0x3f81, 0x4300, 0x4f00, 0x437f, 0xc300, 0x4700, 0x5f00};
static const uint64_t shifts[] = {0,  1,  5,  15, 16,  17,  31,         32,
                                  33, 63, 64, 65, 255, 256, 0x80000000, 0xffffffff};

static uint64_t rng;

/* splitmix64: any seed gives a good sequence. */
static uint64_t sil_random(void)
{
    uint64_t z = (rng += 0x9e3779b97f4a7c15ull);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* A random float of the given format: three times in four near 1, where rounding matters,
 * otherwise any bits. */
static uint64_t random_float(unsigned exp_bits, unsigned man_bits)
{
    unsigned width = 1 + exp_bits + man_bits;
    uint64_t bits = width == 64 ? sil_random() : sil_random() & ((1ull << width) - 1);
    uint64_t bias = (1ull << (exp_bits - 1)) - 1;
    uint64_t man = bits & ((1ull << man_bits) - 1);
    unsigned spread = exp_bits > 5 ? 16 : 8;

    if (sil_random() % 4 == 0)
        return bits;
    return (bits & (1ull << (width - 1))) |
           (bias - spread / 2 + sil_random() % spread) << man_bits | man;
}

static uint64_t random_value(enum sil_set set)
{
    switch (set) {
    case SIL_U16:
    case SIL_SHIFT16:
        return sil_random() & 0xffff;
    case SIL_F16:
        return random_float(5, 10);
    case SIL_BF16:
        return random_float(8, 7);
    case SIL_F16X2:
        return random_float(5, 10) << 16 | random_float(5, 10);
    case SIL_BF16X2:
        return random_float(8, 7) << 16 | random_float(8, 7);
    case SIL_F32:
    case SIL_F32_CVT:
        return random_float(8, 23);
    case SIL_F64:
    case SIL_F64_CVT:
        return random_float(11, 52);
    case SIL_U64:
    case SIL_SHIFT64:
        return sil_random() >> (sil_random() % 2 ? 0 : sil_random() % 64);
    default:
        return (sil_random() & 0xffffffff) >> (sil_random() % 2 ? 0 : sil_random() % 32);
    }
}

struct table {
    const uint64_t *v;
    size_t n;
};

static struct table specials_of(enum sil_set set)
{
    switch (set) {
    case SIL_U16:
    case SIL_SHIFT16:
        return (struct table){specials_u16, COUNT(specials_u16)};
    case SIL_U64:
    case SIL_SHIFT64:
        return (struct table){specials_u64, COUNT(specials_u64)};
    case SIL_F16:
    case SIL_F16X2:
        return (struct table){specials_f16, COUNT(specials_f16)};
    case SIL_BF16:
    case SIL_BF16X2:
        return (struct table){specials_bf16, COUNT(specials_bf16)};
    case SIL_F32:
    case SIL_F32_CVT:
        return (struct table){specials_f32, COUNT(specials_f32)};
    case SIL_F64:
    case SIL_F64_CVT:
        return (struct table){specials_f64, COUNT(specials_f64)};
    default:
        return (struct table){specials_u32, COUNT(specials_u32)};
    }
}

static struct table extras_of(enum sil_set set)
{
    if (set == SIL_F32_CVT)
        return (struct table){specials_f32_cvt, COUNT(specials_f32_cvt)};
    if (set == SIL_F64_CVT)
        return (struct table){specials_f64_cvt, COUNT(specials_f64_cvt)};
    return (struct table){NULL, 0};
}

/* The i-th special; packed pairs put different specials into their halves. */
static uint64_t special(enum sil_set set, struct table t, size_t i)
{
    if (set == SIL_F16X2 || set == SIL_BF16X2)
        return t.v[(i * 7 + 3) % t.n] << 16 | t.v[i % t.n];
    return t.v[i % t.n];
}

static bool is_shift(enum sil_set set)
{
    return set == SIL_SHIFT16 || set == SIL_SHIFT32 || set == SIL_SHIFT64;
}

static unsigned inputs_warp(unsigned nin, uint64_t in[][SIL_MAX_IN])
{
    unsigned n = 4 * 32;

    for (unsigned i = 0; i < n; i++) {
        in[i][0] = i < 32 ? i : i < 64 ? (i % 32) * 0x01010101u : sil_random() & 0xffffffff;
        in[i][1] = nin < 2 ? 0 : i < 64 ? (i * 7 + 3) % 32 : sil_random() % 40;
        in[i][2] = 0;
        in[i][3] = 0;
        if (i >= 96)
            in[i][0] &= 3; /* few distinct values: match and vote have something to find */
    }
    return n;
}

static unsigned inputs_unary(const struct amount *am, enum sil_set set, uint64_t in[][SIL_MAX_IN])
{
    struct table s = specials_of(set), x = extras_of(set);
    unsigned n = 0;

    for (size_t i = 0; i < s.n; i++)
        in[n++][0] = special(set, s, i);
    for (size_t i = 0; i < x.n; i++)
        in[n++][0] = x.v[i];
    for (unsigned i = 0; i < am->random1; i++)
        in[n++][0] = random_value(set);
    return n;
}

static unsigned inputs_binary(const struct amount *am, enum sil_set set, uint64_t in[][SIL_MAX_IN])
{
    struct table s = specials_of(set);
    unsigned n = 0;

    for (size_t i = 0; i < am->cross2; i++)
        for (size_t j = 0; j < am->cross2; j++) {
            in[n][0] = special(set, s, i);
            in[n++][1] = special(set, s, j);
        }
    for (unsigned i = 0; i < am->random2; i++) {
        in[n][0] = random_value(set);
        in[n++][1] = random_value(set);
    }
    /* Products within an ulp below the smallest normal number: what does .ftz call tiny? */
    for (size_t i = 0; set == SIL_F32 && i < COUNT(tiny_f32); i++) {
        in[n][0] = tiny_f32[i][0];
        in[n++][1] = tiny_f32[i][1];
    }
    return n;
}

static unsigned inputs_shift(const struct sil_row *row, unsigned nin, uint64_t in[][SIL_MAX_IN])
{
    struct table s = specials_of(row->set);
    unsigned n = 0;

    for (size_t i = 0; i < 7; i++)
        for (size_t j = 0; j < COUNT(shifts); j++) {
            in[n][0] = s.v[i % s.n];
            in[n][1] = nin == 2 ? shifts[j] : s.v[(i * 3 + 1) % s.n];
            in[n][2] = nin == 3 ? shifts[j] : shifts[(j * 5 + i) % COUNT(shifts)];
            in[n][3] = shifts[(j * 3 + i * 5) % COUNT(shifts)];
            n++;
        }
    for (unsigned i = 0; i < 24u; i++) {
        in[n][0] = random_value(row->set);
        in[n][1] = nin == 2 ? sil_random() % 70 : random_value(row->set);
        in[n][2] = sil_random() % 40;
        in[n++][3] = sil_random() % 40;
    }
    return n;
}

static unsigned inputs_ternary(const struct amount *am, enum sil_set set, uint64_t in[][SIL_MAX_IN])
{
    struct table s = specials_of(set);
    unsigned n = 0;

    for (size_t i = 0; i < am->cross3; i++)
        for (size_t j = 0; j < am->cross3; j++)
            for (size_t k = 0; k < am->cross3; k++) {
                in[n][0] = special(set, s, i);
                in[n][1] = special(set, s, j);
                in[n][2] = special(set, s, k);
                in[n++][3] = 0;
            }
    for (unsigned i = 0; i < am->random3; i++) {
        for (unsigned j = 0; j < SIL_MAX_IN; j++)
            in[n][j] = random_value(set);
        n++;
    }
    return n;
}

static bool is_brief(const char *name)
{
    static const char *const stems[] = {"setp.", "set.", "atom.", "testp.", "and.",
                                        "or.",   "xor.", "min.",  "max."};

    for (size_t i = 0; i < COUNT(stems); i++)
        if (!strncmp(name, stems[i], strlen(stems[i])))
            return true;
    return false;
}

unsigned sil_inputs(const struct sil_row *row, uint64_t in[SIL_MAX_VECTORS][SIL_MAX_IN])
{
    unsigned nin = sil_num_in(row->sig);
    const struct amount *am = is_brief(row->name) ? &amount_brief : &amount_full;

    rng = 0;
    for (const char *p = row->name; *p; p++)
        rng = rng * 131 + (unsigned char)*p;
    memset(in, 0, sizeof(uint64_t) * SIL_MAX_VECTORS * SIL_MAX_IN);
    if (row->set == SIL_WARP)
        return inputs_warp(nin, in);
    if (is_shift(row->set))
        return inputs_shift(row, nin, in);
    if (nin <= 1)
        return inputs_unary(am, row->set, in);
    return nin == 2 ? inputs_binary(am, row->set, in) : inputs_ternary(am, row->set, in);
}
