/*
 * What a tensor copy does, one bit after the other, written from the formulas and tables of the
 * manual (PTX ISA 5.5) and without a look at how it is made.
 */
#ifndef HD_TESTS_TENSOR_MODEL_H
#define HD_TESTS_TENSOR_MODEL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum way { LOAD, STORE, REDUCE };
enum mode { TILE, ROWS4, PIXELS, WIDE, WIDE128 };
enum swizzle { S0, S32, S64, S128, S128_32, S128_FLIP, S128_64 };

struct tensor_case {
    enum way way;
    enum mode mode;
    int type; /* CUtensorMapDataType */
    unsigned rank, swizzle, interleave, atom;
    bool nan;
    uint64_t dim[5], stride_B[4];
    unsigned box[5], step[5], channels, pixels;
    int lower[3], upper[3];
    int at[5];
    unsigned info[3];
    unsigned shared_at;
};

static unsigned type_bits(int type)
{
    static const unsigned bits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
    return bits[type];
}

static bool is_padded(const struct tensor_case *c)
{
    return c->type >= 14;
}

static unsigned slice_bits(const struct tensor_case *c)
{
    return c->interleave ? 128u * c->interleave : type_bits(c->type);
}

/* The tables of 5.5.7: which 16 bytes are in which place of a line of 128. */
static unsigned swizzled_atom(unsigned swizzle, unsigned line, unsigned atom)
{
    static const char *const rows[][8] = {
        [S0] = {"01234567"},
        [S32] = {"01234567", "10325476"},
        [S64] = {"01234567", "10325476", "23016745", "32107654"},
        [S128] = {"01234567", "10325476", "23016745", "32107654", "45670123", "54761032",
                  "67452301", "76543210"},
        [S128_32] = {"01234567", "23016745", "45670123", "67452301"},
        [S128_FLIP] = {"01234567", "23016745", "45670123", "67452301"},
        [S128_64] = {"01234567", "45670123"},
    };
    static const unsigned nrows[] = {1, 2, 4, 8, 4, 4, 2};
    const char *row = rows[swizzle][line % nrows[swizzle]];
    return (unsigned)(strchr(row, (int)('0' + atom)) - row);
}

static unsigned swizzled_byte(const struct tensor_case *c, unsigned byte)
{
    unsigned line = byte / 128;
    unsigned to = line * 128 + swizzled_atom(c->swizzle, line, byte / 16 % 8) * 16 + byte % 16;
    return c->swizzle == S128_FLIP && line % 2 ? to ^ 8 : to;
}

/* Bytes between rows in shared memory. */
static unsigned pitch_of(const struct tensor_case *c, unsigned inner)
{
    static const unsigned widths[] = {0, 32, 64, 128, 128, 128, 128};
    unsigned row_B = is_padded(c) ? inner : inner * slice_bits(c) / 8;
    return row_B > widths[c->swizzle] ? row_B : widths[c->swizzle];
}

/* Step number p from `at` within lower..upper, and how often it began anew at lower. */
static long long stepped(long long at, long long lower, long long upper, unsigned step, long long p,
                         long long *out_carry)
{
    long long first = (upper - at + step - 1) / step, all = (upper - lower + step - 1) / step;
    *out_carry = p < first ? 0 : 1 + (p - first) / all;
    return p < first ? at + p * step : lower + (p - first) % all * step;
}

/* Where pixel p of a column is. */
static void pixel_place(const struct tensor_case *c, long long p, long long *out)
{
    unsigned first = c->interleave ? 0 : 1, n = c->mode == PIXELS ? c->rank - 2 : 1;
    for (unsigned i = 0; i < c->rank; i++)
        out[i] = c->at[i];
    for (unsigned i = 0; i < n; i++) {
        unsigned d = first + i;
        long long shift = c->mode == PIXELS ? 0 : c->info[1];
        out[d] = stepped(c->at[d] + shift, c->lower[i] + shift,
                         (long long)c->dim[d] + c->upper[i] + shift, c->step[d], p, &p);
    }
    out[c->rank - 1] += p * c->step[c->rank - 1];
    for (unsigned i = 0; c->mode == PIXELS && i < n; i++)
        out[first + i] += c->info[i];
}

static unsigned count_of(const struct tensor_case *c, unsigned d)
{
    if (c->interleave && d == c->rank - 2)
        return 1;
    return (c->box[d] + c->step[d] - 1) / c->step[d];
}

static unsigned inner_of(const struct tensor_case *c)
{
    if (c->interleave && c->mode >= PIXELS)
        return 1;
    if (c->mode >= PIXELS)
        return c->channels;
    return c->interleave ? count_of(c, 0) : c->box[0];
}

static unsigned rows_of(const struct tensor_case *c)
{
    unsigned n = 1;
    for (unsigned d = 1; d < c->rank; d++)
        n *= count_of(c, d);
    switch (c->mode) {
    case TILE:
        return n;
    case ROWS4:
        return 4;
    case PIXELS:
        return c->pixels;
    case WIDE:
        return c->pixels + c->info[0];
    default:
        return 128 + 4 * c->info[0];
    }
}

/* Coordinates of element `i` of row `row` in shared memory. */
static void place_of(const struct tensor_case *c, unsigned row, unsigned i, long long *out)
{
    unsigned main = c->mode == WIDE128 ? 128 : c->pixels, rest = row;
    if (c->mode == TILE) {
        for (unsigned d = 1; d < c->rank; d++) {
            out[d] = c->at[d] + (long long)(rest % count_of(c, d)) * c->step[d];
            rest /= count_of(c, d);
        }
        out[0] = c->at[0];
    } else if (c->mode == ROWS4) {
        out[0] = c->at[0];
        out[1] = c->at[1 + row];
    } else if (c->mode == WIDE128 && row >= main) {
        /* the halo of group g follows its 32 pixels; those of all groups come in turn */
        pixel_place(c, (row - main) % 4 * 32 + 32 + (row - main) / 4, out);
    } else {
        pixel_place(c, row, out);
    }
    if (c->mode < PIXELS)
        out[0] += (long long)i * (c->interleave ? c->step[0] : 1);
    else if (!c->interleave)
        out[0] += i;
}

static bool is_inside(const struct tensor_case *c, const long long *at)
{
    for (unsigned d = 0; d < c->rank; d++) {
        if (at[d] < 0 || (unsigned long long)at[d] >= c->dim[d])
            return false;
    }
    return true;
}

static unsigned long long global_bit(const struct tensor_case *c, const long long *at)
{
    unsigned long long bit = (unsigned long long)at[0] * slice_bits(c);
    for (unsigned d = 1; d < c->rank; d++)
        bit += (unsigned long long)at[d] * c->stride_B[d - 1] * 8;
    return bit;
}

static bool bit_get(const unsigned char *p, unsigned long long bit)
{
    return p[bit / 8] >> bit % 8 & 1;
}

static void bit_set(unsigned char *p, unsigned long long bit, bool value)
{
    p[bit / 8] = (unsigned char)((p[bit / 8] & ~(1u << bit % 8)) | (unsigned)value << bit % 8);
}

/* Bits of element i in its row, as it lies in shared memory before swizzling. */
static unsigned long long row_bit(const struct tensor_case *c, unsigned i)
{
    if (!is_padded(c))
        return (unsigned long long)i * slice_bits(c);
    return (unsigned long long)(i / 16) * 128 +
           i % 16 * (c->type == 15 && c->way != LOAD ? 8 : type_bits(c->type));
}

static unsigned long long shared_bit(const struct tensor_case *c, unsigned row, unsigned i,
                                     unsigned bit)
{
    unsigned long long in_row = row_bit(c, i) + bit;
    unsigned byte = c->shared_at + row * pitch_of(c, inner_of(c)) + (unsigned)(in_row / 8);
    return 8ull * swizzled_byte(c, byte) + in_row % 8;
}

static float tf32(float x)
{
    if (isnan(x)) {
        uint32_t bits = 0x7fffe000;
        memcpy(&x, &bits, 4);
        return x;
    }
    if (isinf(x) || x == 0)
        return x;
    int e = ilogb(x) < -126 ? -126 : ilogb(x);
    return (float)copysign(ldexp(rint(ldexp(fabs(x), 10 - e)), e - 10), x);
}

static uint64_t combine_bits(const struct tensor_case *c, uint64_t old, uint64_t x);

static void element_load(const struct tensor_case *c, const unsigned char *global,
                         unsigned char *shared, unsigned row, unsigned i)
{
    static const unsigned char nan_bytes[2] = {0xf7, 0x7f};
    unsigned char element[32] = {0};
    unsigned bits = slice_bits(c);
    long long at[5];

    place_of(c, row, i, at);
    bool inside = is_inside(c, at);
    for (unsigned b = 0; b < bits; b++)
        bit_set(element, b,
                inside ? bit_get(global, global_bit(c, at) + b)
                       : c->nan && bit_get(nan_bytes, b % 16));
    for (unsigned b = 0; inside && (c->type == 11 || c->type == 12) && b < bits; b += 32) {
        float x;
        memcpy(&x, element + b / 8, 4);
        x = tf32(x);
        memcpy(element + b / 8, &x, 4);
    }
    for (unsigned b = 0; b < bits; b++)
        bit_set(shared, shared_bit(c, row, i, b), bit_get(element, b));
}

static void element_store(const struct tensor_case *c, unsigned char *global,
                          const unsigned char *shared, unsigned row, unsigned i)
{
    unsigned bits = slice_bits(c), piece = type_bits(c->type);
    long long at[5];

    place_of(c, row, i, at);
    for (unsigned first = 0; is_inside(c, at) && first < bits; first += piece) {
        uint64_t x = 0, old = 0;
        for (unsigned b = 0; b < piece; b++) {
            x |= (uint64_t)bit_get(shared, shared_bit(c, row, i, first + b)) << b;
            old |= (uint64_t)bit_get(global, global_bit(c, at) + first + b) << b;
        }
        if (c->way == REDUCE)
            x = combine_bits(c, old, x);
        for (unsigned b = 0; b < piece; b++)
            bit_set(global, global_bit(c, at) + first + b, x >> b & 1);
    }
}

/* The whole copy; gives the bytes that its mbarrier is told. */
static unsigned model(const struct tensor_case *c, unsigned char *global, unsigned char *shared)
{
    unsigned rows = rows_of(c), inner = inner_of(c);

    for (unsigned row = 0; row < rows; row++) {
        for (unsigned i = 0; i < inner; i++) {
            if (c->way == LOAD)
                element_load(c, global, shared, row, i);
            else
                element_store(c, global, shared, row, i);
        }
    }
    return rows * inner * slice_bits(c) / 8;
}

/* ---- reductions */

enum { ADD, MIN, MAX, INC, DEC, AND, OR, XOR };

static float half_value(const struct tensor_case *c, uint64_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float f;
    memcpy(&f, &word, 4);
    if (c->type == 9)
        return f;
    int e = (int)(bits >> 10 & 31), m = (int)(bits & 1023);
    return (float)ldexp(e ? 1024 + m : m, (e ? e : 1) - 25) * (bits >> 15 ? -1 : 1);
}

/* For sums that f16 and bf16 have exactly: the tests' numbers are small. */
static uint64_t half_bits(const struct tensor_case *c, float f)
{
    uint32_t word;
    memcpy(&word, &f, 4);
    if (c->type == 9)
        return word >> 16;
    if (f == 0)
        return word >> 16 & 0x8000;
    return (word >> 16 & 0x8000) | ((word >> 23 & 255) - 112) << 10 | (word >> 13 & 1023);
}

static uint64_t combine_half(const struct tensor_case *c, uint64_t old, uint64_t x)
{
    float a = half_value(c, old), b = half_value(c, x);
    if (c->atom == ADD)
        return half_bits(c, a + b);
    return (c->atom == MIN) == (a < b) ? old : x;
}

static uint64_t combine_f32(const struct tensor_case *c, uint64_t old, uint64_t x)
{
    uint32_t a = (uint32_t)old, b = (uint32_t)x;
    float f, g;
    if (c->type == 10) { /* .ftz */
        a = a & 0x7f800000 ? a : a & 0x80000000;
        b = b & 0x7f800000 ? b : b & 0x80000000;
    }
    memcpy(&f, &a, 4);
    memcpy(&g, &b, 4);
    f += g;
    memcpy(&a, &f, 4);
    return c->type == 10 && !(a & 0x7f800000) ? a & 0x80000000 : a;
}

static uint64_t combine_int(const struct tensor_case *c, uint64_t old, uint64_t x)
{
    bool is_signed = c->type == 3 || c->type == 5;
    unsigned cut = 64 - type_bits(c->type);
    int64_t a = (int64_t)(old << cut) >> cut, b = (int64_t)(x << cut) >> cut;
    bool less = is_signed ? a < b : old < x;

    switch (c->atom) {
    case ADD:
        return old + x;
    case MIN:
        return less ? old : x;
    case MAX:
        return less ? x : old;
    case INC:
        return old >= x ? 0 : old + 1;
    case DEC:
        return old == 0 || old > x ? x : old - 1;
    case AND:
        return old & x;
    case OR:
        return old | x;
    default:
        return old ^ x;
    }
}

static uint64_t combine_bits(const struct tensor_case *c, uint64_t old, uint64_t x)
{
    if (c->atom < AND && (c->type == 6 || c->type == 9))
        return combine_half(c, old, x);
    if (c->atom < AND && (c->type == 7 || c->type == 10))
        return combine_f32(c, old, x);
    return combine_int(c, old, x);
}

#endif
