/* Tensor copies, row by row: see tensor_copy.h. */
#include <assert.h>

#include "model/eval.h"
#include "model/tensor_walk.h"

enum { ATOM_B = 16, FLIP_B = 8, UNIT_ELEMENTS = 16, LINE_B = 128 };

struct run {
    const struct ir_tensor_copy *c;
    char *shared;
    uint64_t shared_at;
    const struct ir_tensor_global *memory;
    uint32_t twist_mask, twist_shift; /* of the swizzle: address bits 7 and up, moved down */
    bool flips;
    bool is_plain; /* a row is one piece in global memory, with nothing to convert */
    bool is_line;  /* and a line in shared memory, of atoms that stay whole */
};

/* ---- shared memory: the swizzle is an exchange of atoms inside each line of 128 bytes */

static void copy_swizzle_init(struct run *r)
{
    static const uint8_t atoms[IR_TENSOR_ATOMS] = {4, 5, 5, 6}; /* as powers of two */
    const struct ir_tensor_map *m = &r->c->map;
    uint32_t span_B = ir_tensor_span_B(m);

    r->twist_shift = span_B == LINE_B ? atoms[m->atom] : 4;
    r->twist_mask = span_B == 96 ? 1 : span_B ? (span_B >> r->twist_shift) - 1 : 0;
    r->flips = span_B == LINE_B && m->atom == IR_TENSOR_ATOM_32B_FLIP_8B;
    r->is_line = !r->flips && r->c->pitch_B == LINE_B && r->c->row_B == LINE_B;
}

/* What is added, bit by bit, to addresses of the line that `at` is in. */
static inline uint32_t copy_twist_of(const struct run *r, uint64_t at)
{
    uint32_t line = (uint32_t)(at / LINE_B);
    return (line & r->twist_mask) << r->twist_shift | (r->flips && line & 1 ? FLIP_B : 0);
}

/* One atom, or the part of it that is not a gap, between shared memory and a flat row. */
static inline __attribute__((always_inline)) void copy_atom_move(char *shared, char *flat,
                                                                 unsigned unit_B, bool to_shared)
{
    if (to_shared)
        memcpy(shared, flat, unit_B);
    else
        memcpy(flat, shared, unit_B);
}

/* A whole row: unit_B bytes of each atom, atom_B apart. Inlined for each pair of these. */
static inline __attribute__((always_inline)) void copy_row_move(const struct run *r, uint32_t row,
                                                                char *flat, unsigned unit_B,
                                                                unsigned atom_B, bool to_shared)
{
    uint64_t at = r->shared_at + (uint64_t)row * r->c->pitch_B, end = at + r->c->padded_row_B;

    while (at < end) {
        uint32_t twist = copy_twist_of(r, at);
        uint64_t line = at & ~(uint64_t)(LINE_B - 1), stop = HD_MIN(end, line + LINE_B);
        char *p = r->shared + (line - r->shared_at);
        for (uint32_t i = (uint32_t)(at - line); i < stop - line; i += atom_B, flat += unit_B)
            copy_atom_move(p + (i ^ twist), flat, unit_B, to_shared);
        at = stop;
    }
}

/* A row that is a whole line, in atoms of 16 bytes or more: what most programs have. */
static inline __attribute__((always_inline)) void copy_line_move(const struct run *r, uint32_t row,
                                                                 char *flat, bool to_shared)
{
    uint32_t twist = copy_twist_of(r, r->shared_at + (uint64_t)row * LINE_B);
    char *line = r->shared + (uint64_t)row * LINE_B;

    if (!twist) {
        copy_atom_move(line, flat, LINE_B, to_shared);
        return;
    }
#pragma GCC unroll 8
    for (uint32_t i = 0; i < LINE_B; i += ATOM_B)
        copy_atom_move(line + (i ^ twist), flat + i, ATOM_B, to_shared);
}

static void copy_shared_put(const struct run *r, uint32_t row, char *flat)
{
    enum ir_tensor_type type = (enum ir_tensor_type)r->c->map.type;

    if (r->is_line)
        copy_line_move(r, row, flat, true);
    else if (ir_tensor_type_is_padded(type) && type == IR_TENSOR_B4X16_P64)
        copy_row_move(r, row, flat, 8, ATOM_B, true);
    else if (ir_tensor_type_is_padded(type))
        copy_row_move(r, row, flat, 12, ATOM_B, true);
    else if (!r->twist_mask)
        memcpy(r->shared + (uint64_t)row * r->c->pitch_B, flat, r->c->row_B);
    else if (r->flips)
        copy_row_move(r, row, flat, FLIP_B, FLIP_B, true);
    else
        copy_row_move(r, row, flat, ATOM_B, ATOM_B, true);
}

/* Sixteen bytes with six bits each become twelve. */
static void copy_pack_6(char *to, const char *from, uint32_t n)
{
    const unsigned char *x = (const unsigned char *)from;

    for (uint32_t i = 0; i < n; i += 4, to += 3) {
        uint32_t word =
            (x[i] & 63u) | (x[i + 1] & 63u) << 6 | (x[i + 2] & 63u) << 12 | (x[i + 3] & 63u) << 18;
        to[0] = (char)word;
        to[1] = (char)(word >> 8);
        to[2] = (char)(word >> 16);
    }
}

/* The row as it goes to global memory: where it is, or in `flat`. */
static char *copy_shared_take(const struct run *r, uint32_t row, char *flat)
{
    if (!r->twist_mask && r->c->padded_row_B == r->c->row_B)
        return r->shared + (uint64_t)row * r->c->pitch_B;
    if (r->is_line)
        copy_line_move(r, row, flat, false);
    else
        copy_row_move(r, row, flat, ATOM_B, ATOM_B, false);
    if (r->c->padded_row_B != r->c->row_B)
        copy_pack_6(flat, flat, r->c->inner);
    return flat;
}

/* ---- global memory */

static bool copy_global_move(const struct run *r, uint64_t address, char *flat, uint64_t size_B,
                             bool write)
{
    const struct ir_tensor_global *m = r->memory;

    for (uint64_t n; size_B; address += n, flat += n, size_B -= n) {
        n = m ? HD_MIN(size_B, m->piece_B - address % m->piece_B) : size_B;
        char *p = m ? m->translate(m->user, address, n, write) : (char *)(uintptr_t)address;
        if (!p)
            return false;
        memcpy(write ? p : flat, write ? flat : p, n);
    }
    return true;
}

/* Is it, in all dimensions but that of the row? */
static bool copy_is_inside(const struct ir_tensor_copy *c, const int64_t *at)
{
    bool slices = c->what.mode >= IR_TENSOR_PIXELS && c->map.interleave;

    for (unsigned d = slices ? 0 : 1; d <= c->map.last; d++) {
        if (at[d] < 0 || (uint64_t)at[d] >= c->map.dim[d])
            return false;
    }
    return true;
}

/* Of element `i` of the row, which is inside. */
static uint64_t copy_address_of(const struct ir_tensor_copy *c, const int64_t *at, uint32_t i)
{
    uint64_t x = (uint64_t)(at[0] + (int64_t)i * c->map.step[0]);
    uint64_t address = c->map.address + x * c->element_bits / 8;

    for (unsigned d = 1; d <= c->map.last; d++)
        address += (uint64_t)at[d] * c->map.stride_B[d - 1];
    return address;
}

/* Elements first to end: in one piece, but where dimension 0 has steps. */
static bool copy_inside_move(const struct run *r, const int64_t *at, char *flat, bool write)
{
    const struct ir_tensor_copy *c = r->c;
    uint32_t step = c->map.step[0], n = step == 1 ? c->end - c->first : 1;

    for (uint32_t i = c->first; i < c->end; i += n) {
        if (!copy_global_move(r, copy_address_of(c, at, i),
                              flat + (uint64_t)i * c->element_bits / 8,
                              (uint64_t)n * c->element_bits / 8, write))
            return false;
    }
    return true;
}

/* ---- loads */

static bool copy_is_tf32(const struct ir_tensor_copy *c)
{
    return c->map.type == IR_TENSOR_TF32 || c->map.type == IR_TENSOR_TF32_FTZ;
}

static uint32_t copy_round_tf32(uint32_t bits)
{
    if ((bits & 0x7fffffff) > 0x7f800000)
        return 0x7fffe000;
    if ((bits & 0x7fffffff) == 0x7f800000)
        return bits;
    return (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
}

static bool copy_load(void *user, uint32_t row, const int64_t *at)
{
    const struct run *r = user;
    const struct ir_tensor_copy *c = r->c;
    char flat[IR_TENSOR_ROW_MAX_B];
    bool inside = c->first < c->end && copy_is_inside(c, at);

    if (inside && r->is_plain) {
        copy_shared_put(r, row, (char *)(uintptr_t)copy_address_of(c, at, 0));
        return true;
    }
    if (!inside || c->first > 0 || c->end < c->inner) {
        const uint16_t nan = IR_TENSOR_OOB_NAN;

        if (c->map.fill == IR_TENSOR_FILL_ZERO)
            memset(flat, 0, c->row_B);
        for (uint32_t i = 0; c->map.fill == IR_TENSOR_FILL_NAN && i < c->row_B; i += sizeof(nan))
            memcpy(flat + i, &nan, sizeof(nan));
    }
    if (inside && !copy_inside_move(r, at, flat, false))
        return false;
    if (inside) {
        /* What came from the tensor; the fill stays as it is. */
        uint32_t bits, B = c->element_bits / 8;

        for (uint32_t i = c->first * B; copy_is_tf32(c) && i < c->end * B; i += sizeof(bits)) {
            memcpy(&bits, flat + i, sizeof(bits));
            bits = copy_round_tf32(bits);
            memcpy(flat + i, &bits, sizeof(bits));
        }
    }
    copy_shared_put(r, row, flat);
    return true;
}

/* One row after the other along dimension 1, whose first one has coordinates `at`. */
static void copy_load_plane(const struct run *r, uint32_t row, uint32_t n, const int64_t *at)
{
    const struct ir_tensor_copy *c = r->c;
    int64_t place[IR_TENSOR_RANK_MAX];
    uint64_t step_B = c->map.step[1] * c->map.stride_B[0], address;

    memcpy(place, at, sizeof(place));
    place[1] = 0; /* the others decide for all rows */
    bool inside = copy_is_inside(c, place);
    place[1] = at[1];
    address = copy_address_of(c, place, 0);
    for (uint32_t i = 0; i < n; i++, address += step_B, place[1] += c->map.step[1]) {
        if (inside && place[1] >= 0 && (uint64_t)place[1] < c->map.dim[1])
            copy_shared_put(r, row + i, (char *)(uintptr_t)address);
        else
            copy_load((void *)(uintptr_t)r, row + i, place);
    }
}

/* A tile of two dimensions or more, whose rows are plain: most copies, by far. */
static void copy_load_planes(const struct run *r)
{
    const struct ir_tensor_copy *c = r->c;
    uint32_t n = ir_tensor_count(c, 1);
    int64_t at[IR_TENSOR_RANK_MAX];

    for (uint32_t row = 0; row < c->nrows; row += n) {
        uint32_t rest = row / n;
        memcpy(at, c->at, sizeof(at));
        for (unsigned d = 2; d <= c->map.last; d++) {
            uint32_t count = ir_tensor_count(c, d);
            at[d] += (int64_t)(rest % count) * c->map.step[d];
            rest /= count;
        }
        copy_load_plane(r, row, n, at);
    }
}

/* ---- stores and reductions: what is outside stays away */

static bool copy_store(void *user, uint32_t row, const int64_t *at)
{
    const struct run *r = user;
    char flat[IR_TENSOR_ROW_MAX_B];

    if (r->c->first >= r->c->end || !copy_is_inside(r->c, at))
        return true;
    return copy_inside_move(r, at, copy_shared_take(r, row, flat), true);
}

static uint64_t copy_flushed(uint64_t f32)
{
    return f32 & 0x7f800000 ? f32 : f32 & 0x80000000;
}

/* What the atomic leaves of an element. */
static uint64_t copy_combined(const struct ir_tensor_copy *c, enum ir_type type, uint64_t old,
                              uint64_t x)
{
    if (c->map.type == IR_TENSOR_F32_FTZ && type == IR_F32)
        return copy_flushed(
            ir_eval_atom(c->what.atom, type, false, copy_flushed(old), copy_flushed(x), 0));
    return ir_eval_atom(c->what.atom, type, true, old, x, 0);
}

/* One element, atomic, in the word that it is in. */
static void copy_combine(const struct ir_tensor_copy *c, enum ir_type type, char *p, uint64_t x)
{
    unsigned size_B = ir_type_bits(type) / 8, shift = size_B == 2 ? ((uintptr_t)p & 2) * 8 : 0;

    if (size_B == 8) {
        uint64_t old = __atomic_load_n((uint64_t *)(void *)p, __ATOMIC_RELAXED), want;
        do
            want = copy_combined(c, type, old, x);
        while (!__atomic_compare_exchange_n((uint64_t *)(void *)p, &old, want, false,
                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
        return;
    }
    uint32_t *word = (uint32_t *)(void *)(p - shift / 8);
    uint32_t mask = (size_B == 2 ? 0xffffu : ~0u) << shift, want;
    uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    do {
        uint64_t sum = copy_combined(c, type, (old & mask) >> shift, x);
        want = (old & ~mask) | ((uint32_t)sum << shift & mask);
    } while (
        !__atomic_compare_exchange_n(word, &old, want, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
}

/* Bits are combined as bits, whatever the type makes of them. */
static enum ir_type copy_reduced_type(const struct ir_tensor_copy *c)
{
    enum ir_type type = ir_tensor_type_reduced((enum ir_tensor_type)c->map.type);

    if (c->what.atom >= IR_ATOM_AND && c->what.atom <= IR_ATOM_XOR)
        return ir_tensor_type_bits((enum ir_tensor_type)c->map.type) == 64 ? IR_B64 : IR_B32;
    return type;
}

static bool copy_reduce_some(const struct run *r, uint64_t address, const char *flat,
                             uint64_t size_B)
{
    enum ir_type type = copy_reduced_type(r->c);
    unsigned element_B = ir_type_bits(type) / 8;

    for (uint64_t i = 0; i < size_B; i += element_B) {
        const struct ir_tensor_global *m = r->memory;
        uint64_t x = 0;
        char *p = m ? m->translate(m->user, address + i, element_B, true)
                    : (char *)(uintptr_t)(address + i);
        if (!p)
            return false;
        memcpy(&x, flat + i, element_B);
        copy_combine(r->c, type, p, x);
    }
    return true;
}

static bool copy_reduce(void *user, uint32_t row, const int64_t *at)
{
    const struct run *r = user;
    const struct ir_tensor_copy *c = r->c;
    uint32_t B = c->element_bits / 8;
    char flat[IR_TENSOR_ROW_MAX_B];

    if (c->first >= c->end || !copy_is_inside(c, at))
        return true;
    const char *from = copy_shared_take(r, row, flat);
    for (uint32_t i = c->first; i < c->end; i++) {
        if (!copy_reduce_some(r, copy_address_of(c, at, i), from + (uint64_t)i * B, B))
            return false;
    }
    return true;
}

bool ir_tensor_copy_run(const struct ir_tensor_copy *c, char *shared, uint64_t shared_at,
                        const struct ir_tensor_global *memory)
{
    static ir_tensor_visit *const ways[IR_TENSOR_WAYS] = {copy_load, copy_store, copy_reduce};
    struct run r = {.c = c, .shared = shared, .shared_at = shared_at, .memory = memory};

    assert(shared_at % IR_TENSOR_SHARED_ALIGN_B == 0);
    copy_swizzle_init(&r);
    r.is_plain =
        !memory && !copy_is_tf32(c) && c->map.step[0] == 1 && !c->first && c->end == c->inner;
    if (r.is_plain && c->what.way == IR_TENSOR_LOAD && c->what.mode == IR_TENSOR_TILE &&
        c->map.last > 0) {
        copy_load_planes(&r);
        return true;
    }
    return ir_tensor_walk(c, ways[c->what.way], &r);
}
