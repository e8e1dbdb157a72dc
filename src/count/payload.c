/*
 * What a lane does by itself: bulk and tensor copies, texels, products in tensor memory. It costs
 * the same whatever the other lanes do, so it is counted when it is told, also lane by lane: a map
 * may be another one later.
 */
#include <assert.h>

#include "count/private.h"
#include "model/multimem.h"
#include "ir/probe.h"
#include "model/tensor.h"
#include "model/tensor_copy.h"
#include "model/texture.h"

enum { SECTOR_B = 32, BLOCK_B = 16, CTAS = 0xffff, WORDS_MAX = IR_PROBE_OPERANDS_MAX };

struct lane {
    struct count_cta *cta;
    const struct ir_instr *probe;
    const struct ir_counted *counted;
    const uint64_t *const *operands;
    uint32_t instr, lane;
};

static uint64_t operand(const struct lane *l, uint32_t i)
{
    assert(i < WORDS_MAX && l->operands[i]);
    return l->operands[i][l->lane];
}

static uint64_t *words_of(const struct lane *l, enum ir_count_space space)
{
    const struct ir_module *m = count_module(l->cta->launch);

    assert(l->instr < m->counted.len && space < IR_COUNT_SPACES);
    return l->cta->slab->words + ir_count_access_word(m, l->instr, space);
}

/* ---- pieces of memory */

static void add_request(const struct lane *l, enum ir_count_space space)
{
    uint64_t *words = words_of(l, space);

    words[IR_COUNT_REQUESTS]++;
    words[IR_COUNT_LANES_IN]++;
}

static void add_bytes(const struct lane *l, enum ir_count_space space, uint64_t size_B)
{
    words_of(l, space)[IR_COUNT_BYTES] += size_B;
}

static void add_whole(const struct lane *l, enum ir_count_space space, uint64_t size_B)
{
    add_request(l, space);
    add_bytes(l, space, size_B);
}

/* Of which `size_B` lie in the stretch. */
static void add_stretch(const struct lane *l, enum ir_count_space space, uint64_t at,
                        uint64_t stretch_B, uint64_t size_B)
{
    uint64_t *words = words_of(l, space), sectors, packed = (size_B + SECTOR_B - 1) / SECTOR_B;

    if (!size_B)
        return;
    add_bytes(l, space, size_B);
    if (space != IR_COUNT_IN_GLOBAL)
        return;
    sectors = (at + stretch_B - 1) / SECTOR_B - at / SECTOR_B + 1;
    words[IR_COUNT_SECTORS] += sectors;
    words[IR_COUNT_IDEAL_SECTORS] += HD_MIN(sectors, packed);
}

/* ---- COPY, REDUCE, and MULTIMEM that copies */

/* Of each 16 bytes `each` are written, to so many CTAs. The source is a generic address. */
static void add_copy(const struct lane *l, uint64_t read_B, uint64_t written_B, uint32_t each,
                     uint32_t copies)
{
    enum ir_count_space from = count_space_of(l->cta, operand(l, 1)), to = IR_COUNT_IN_SHARED;

    if (!ir_space_is_shared(l->probe->mem.space))
        to = count_space_of(l->cta, operand(l, 0));
    else if (read_B && from == IR_COUNT_IN_SHARED)
        to = IR_COUNT_IN_CLUSTER;
    if (read_B) {
        add_request(l, from);
        add_stretch(l, from, operand(l, 1), read_B, read_B);
    }
    if (written_B)
        add_request(l, to);
    add_stretch(l, to, operand(l, 0), written_B, written_B / BLOCK_B * each * copies);
}

static void copy(const struct lane *l)
{
    uint32_t mask = (uint32_t)operand(l, 4), copies = 1;
    uint64_t written_B = operand(l, 3);

    if (l->counted->imm & IR_COPY_CASTS)
        copies = (uint32_t)__builtin_popcount(mask >> IR_COPY_RANKS_AT & CTAS);
    if (written_B % BLOCK_B) /* zeroes: a multiple of 8, all of them */
        add_whole(l, IR_COUNT_IN_SHARED, written_B);
    else
        add_copy(l, operand(l, 2), written_B, (uint32_t)__builtin_popcount(mask & 0xffff), copies);
}

static void multimem_copy(const struct lane *l)
{
    bool has_mask = l->operands[3] != NULL;
    uint32_t mask = has_mask ? (uint32_t)operand(l, 3) & 0xffff : 0xffff;

    add_copy(l, operand(l, 2), operand(l, 2), (uint32_t)__builtin_popcount(mask), 1);
}

/* ---- TENSORCOPY */

static void add_row(void *user, uint64_t va, uint64_t size_B, bool write)
{
    const struct lane *const *l = user;

    (void)write; /* the class of the instruction says so */
    add_stretch(*l, IR_COUNT_IN_GLOBAL, va, size_B, size_B);
}

static void tensor_copy(const struct lane *l)
{
    struct ir_tensor_map map;
    struct ir_tensor_copy c;
    uint32_t copies = 1;

    if (!ir_probed_map(operand(l, 1), &map) ||
        !ir_probed_copy(l->counted->imm, l->operands, l->lane, &map, &c))
        return;
    if (c.what.casts)
        copies = (uint32_t)__builtin_popcount((uint32_t)operand(l, 3) & CTAS);
    add_request(l, IR_COUNT_IN_GLOBAL);
    add_whole(l, IR_COUNT_IN_SHARED, c.bytes * copies);
    l->cta->no_memory |= !ir_tensor_copy_stretches(&c, add_row, &l);
}

/* ---- TEX */

struct texels {
    const struct lane *lane;
    uint32_t texel_B;
};

static void add_texel(void *user, uint64_t address)
{
    const struct texels *t = user;

    (void)address;
    add_bytes(t->lane, IR_COUNT_IN_TEXTURE, t->texel_B);
}

static void texels(const struct lane *l)
{
    const struct ir_probe_launch *about = &l->cta->launch->about;
    const struct ir_tex *op = &l->counted->what.tex;
    const struct ir_texture *object = ir_probed_object(about, operand(l, 0)), *sampler = object;
    bool has_sampler = op->flags >> IR_TEX_SAMPLER & 1;
    struct texels t = {.lane = l};
    const struct ir_texel_list list = {add_texel, &t};
    uint32_t words[WORDS_MAX];
    uint64_t address;

    if (!object || object->is_surface != ir_tex_is_surface(op))
        return;
    for (uint32_t i = 1 + has_sampler; l->operands[i]; i++)
        words[i - 1 - has_sampler] = (uint32_t)operand(l, i);
    if (has_sampler)
        sampler = ir_probed_object(about, operand(l, 1));
    t.texel_B = object->is_surface ? ir_surface_bytes(op, object) : object->texel_B;
    words_of(l, IR_COUNT_IN_TEXTURE)[IR_COUNT_LANES_IN]++;
    if (object->is_surface) {
        if (ir_surface_coord(op, object, words, &address) == HD_OK && address)
            add_texel(&t, address);
    } else if (sampler && !sampler->is_surface) {
        ir_texture_texels(op, object, sampler, words, &list);
    }
}

/* ---- TENSOR: what it reads of shared memory, each piece of 16 bytes once, and its operations */

enum { WINDOW_MAX_B = 1 << 18, PIECES = WINDOW_MAX_B / IR_MATRIX_PIECE_B };

struct pieces {
    uint64_t has[IR_TENSOR_BLOCKS][PIECES / 64];
    uint64_t n;
};

static void take_piece(void *user, unsigned block, uint32_t offset)
{
    struct pieces *p = user;
    uint32_t piece = offset / IR_MATRIX_PIECE_B;
    uint64_t bit = UINT64_C(1) << piece % 64;

    if (piece >= PIECES) /* outside: the device says so */
        return;
    assert(block < IR_TENSOR_BLOCKS);
    p->n += !(p->has[block][piece / 64] & bit);
    p->has[block][piece / 64] |= bit;
}

static void tensor(const struct lane *l)
{
    const struct ir_module *m = count_module(l->cta->launch);
    const struct ir_tensor *op = &l->counted->what.tensor;
    const struct ir_tensor_cta cta = {.nblocks = op->flags >> IR_TENSOR_PAIR & 1 ? 2 : 1};
    uint32_t src[IR_TENSOR_MMA_SOURCES * IR_COUNT_WARP] = {0};
    struct pieces pieces = {0};
    unsigned mnk[3];

    for (uint32_t i = 0; l->operands[i]; i++) {
        assert(i < IR_TENSOR_MMA_SOURCES);
        src[i * IR_COUNT_WARP] = (uint32_t)operand(l, i);
    }
    if (!ir_tensor_pieces(op, &cta, src, take_piece, &pieces))
        return;
    add_whole(l, IR_COUNT_IN_SHARED, pieces.n * IR_MATRIX_PIECE_B);
    if (op->op == IR_TENSOR_MMA && ir_tensor_shape(op, &cta, src, mnk))
        l->cta->slab->words[ir_count_instr_word(m, l->instr) + IR_COUNT_OPS] +=
            UINT64_C(2) * mnk[0] * mnk[1] * mnk[2];
}

/* ---- which */

typedef void count_lane(const struct lane *lane);

/* NULL: it is no such operation. */
static count_lane *of_lane(const struct ir_instr *probe, const struct ir_counted *counted)
{
    switch (ir_probe_op(probe)) {
    case IR_OP_COPY:
        return counted->classes & IR_COUNT_BULK ? copy : NULL;
    case IR_OP_REDUCE:
    case IR_OP_MULTIMEM:
        return counted->classes & IR_COUNT_BULK ? multimem_copy : NULL;
    case IR_OP_TENSORCOPY:
        return tensor_copy;
    case IR_OP_TEX:
        return texels;
    case IR_OP_TENSOR:
        return tensor;
    default:
        return NULL;
    }
}

bool count_by_lane(struct count_cta *cta, uint32_t lanes, const struct ir_instr *probe,
                   const uint64_t *const *operands)
{
    struct lane l = {
        .cta = cta, .probe = probe, .operands = operands, .instr = ir_probe_its_imm(probe)};
    count_lane *count;

    if (ir_probe_op(probe) == IR_OP_NOTE)
        return false;
    assert(lanes && l.instr < count_module(cta->launch)->counted.len);
    l.counted = &count_module(cta->launch)->counted.at[l.instr];
    count = of_lane(probe, l.counted);
    if (!count)
        return false;
    for (uint32_t left = lanes; left; left &= left - 1) {
        l.lane = (uint32_t)__builtin_ctz(left);
        count(&l);
    }
    return true;
}
