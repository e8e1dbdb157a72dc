/*
 * ir_tensor_cells() against what the model does, for random operations: memory that differs only in
 * cells that are said not to be read gives the same results, cells that are said to be written
 * depend on nothing else, and all others stay as they are.
 */
#include "ir/ir.h"
#include "model/tensor.h"
#include "tap.h"

enum { WARP = 32, ROUNDS = 1500, WINDOW_B = 1 << 16, RESULTS = IR_TENSOR_REGISTERS_MAX * WARP };

static char windows[IR_TENSOR_BLOCKS][WINDOW_B];
static struct ir_tensor_memory memory[2][IR_TENSOR_BLOCKS]; /* two runs */
static uint32_t before[2][IR_TENSOR_BLOCKS][IR_TENSOR_LANES][IR_TENSOR_COLUMNS];

struct use {
    bool read, written, moved;
};
static struct use uses[IR_TENSOR_BLOCKS][IR_TENSOR_LANES][IR_TENSOR_COLUMNS];
static bool is_beyond;

struct operation {
    struct ir_tensor op;
    struct ir_tensor_cta cta;
    uint32_t src[IR_TENSOR_REGISTERS_MAX * WARP];
};

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    return (uint32_t)(tap_random(&seed) % n);
}

static bool often(void)
{
    return below(4) != 0;
}

/* ---- operations */

static void move(struct operation *x, enum ir_tensor_op what)
{
    static const uint8_t registers[] = {1, 1, 2, 4, 1};

    x->op.op = (uint8_t)what;
    x->op.shape = (uint8_t)below(IR_TENSOR_16X32BX2 + 1);
    x->op.num = (uint8_t)(1u << below(registers[x->op.shape] == 1 ? 8 : 6));
    x->op.flags = (uint16_t)(below(2) << IR_TENSOR_PACK);
    x->op.offset = (uint16_t)(x->op.shape == IR_TENSOR_16X32BX2 ? below(64) : 0);
    x->cta.warp = below(8);
    uint32_t lane = often() ? x->cta.warp % 4 * 32 : below(144);
    if (x->op.shape != IR_TENSOR_32X32B && often())
        lane += 16 * below(2);
    x->src[0] = lane << 16 | below(often() ? 256 : 520);
}

static uint64_t descriptor(void)
{
    uint64_t at = below(often() ? 64 : 600) * 128u;

    return (at >> 4 & 0x3fff) | UINT64_C(8) << 16 | UINT64_C(16) << 32;
}

static void put_descriptor(struct operation *x, unsigned at)
{
    uint64_t d = descriptor();

    x->src[at * WARP] = (uint32_t)d;
    x->src[(at + 1) * WARP] = (uint32_t)(d >> 32);
}

static void pair(struct operation *x)
{
    x->op.flags |= 1u << IR_TENSOR_PAIR;
    x->cta.nblocks = 2;
    x->cta.own = below(2);
}

static void copy(struct operation *x)
{
    x->op.op = IR_TENSOR_CP;
    x->op.shape = (uint8_t)(IR_TENSOR_CP_128X256B +
                            below((IR_TENSOR_CP_32X128B + 1) - IR_TENSOR_CP_128X256B));
    x->op.flags = (uint16_t)(below(3) == 0 ? 1u << IR_TENSOR_B4 : 0);
    if (below(3) == 0)
        pair(x);
    x->src[0] = (often() ? 0 : below(130)) << 16 | below(often() ? 504 : 520);
    put_descriptor(x, 1);
}

static void shift(struct operation *x)
{
    x->op.op = IR_TENSOR_SHIFT;
    if (below(2))
        pair(x);
    x->src[0] = (often() ? 32 * below(5) : below(140)) << 16 | below(often() ? 504 : 520);
}

/* Tensor memory that most products fit into. */
static uint32_t some_columns(void)
{
    return (often() ? 0 : below(128)) << 16 | below(often() ? 200 : 512);
}

static uint32_t describe(struct operation *x)
{
    static const uint8_t widths[] = {8, 16, 32, 64, 128};
    bool ws = x->op.flags >> IR_TENSOR_WS & 1, is_pair = x->cta.nblocks > 1;
    bool scaled = x->op.scales != 0;
    uint32_t m = is_pair ? 128 << below(2) : ws ? 32 << below(3) : scaled ? 128 : 64 << below(2);
    uint32_t n = ws ? 64 : widths[below(5)];
    uint32_t sums = scaled || x->op.kind == IR_TENSOR_KIND_I8 ? 0 : 1;

    if (x->op.kind == IR_TENSOR_KIND_I8)
        sums = 2;
    return (uint32_t)(x->op.flags >> IR_TENSOR_SPARSE & 1) << 2 | sums << 4 | n / 8 << 17 |
           (uint32_t)scaled << 23 | m / 16 << 24 | below(2) * (x->op.flags >> IR_TENSOR_SPARSE & 1);
}

static void product(struct operation *x)
{
    static const enum ir_tensor_kind kinds[] = {IR_TENSOR_KIND_F16, IR_TENSOR_KIND_F8F6F4,
                                                IR_TENSOR_KIND_I8, IR_TENSOR_KIND_MXF8F6F4};

    x->op.op = IR_TENSOR_MMA;
    x->op.kind = (uint8_t)kinds[below(4)];
    x->op.scales = x->op.kind == IR_TENSOR_KIND_MXF8F6F4;
    if (below(3) == 0)
        pair(x);
    else if (!x->op.scales && below(3) == 0)
        x->op.flags |= 1u << IR_TENSOR_WS;
    x->op.flags |= (uint16_t)(below(2) << IR_TENSOR_A_TENSOR);
    x->op.flags |= (uint16_t)((below(4) == 0) << IR_TENSOR_SPARSE);
    if (x->op.flags >> IR_TENSOR_A_TENSOR & 1 && !x->op.scales &&
        !(x->op.flags >> IR_TENSOR_WS & 1))
        x->op.flags |= (uint16_t)(below(2) << IR_TENSOR_ASHIFT);
    x->src[IR_TENSOR_D * WARP] = some_columns();
    put_descriptor(x, IR_TENSOR_A);
    if (x->op.flags >> IR_TENSOR_A_TENSOR & 1)
        x->src[IR_TENSOR_A * WARP] = some_columns();
    put_descriptor(x, IR_TENSOR_B);
    x->src[IR_TENSOR_IDESC * WARP] = describe(x);
    x->src[IR_TENSOR_ENABLE_D * WARP] = below(2);
    for (unsigned i = 0; i < 8 && below(2); i++)
        x->src[(IR_TENSOR_OFF + i) * WARP] = (uint32_t)tap_random(&seed);
    for (unsigned i = IR_TENSOR_METADATA; i <= IR_TENSOR_SCALE_B; i++)
        x->src[i * WARP] = some_columns();
}

static void draw(struct operation *x)
{
    memset(x, 0, sizeof *x);
    x->cta.nblocks = 1;
    x->op.type = IR_VOID;
    for (unsigned i = 1; i < 129 * WARP / WARP; i++) /* data of stores */
        for (unsigned t = 0; t < WARP; t++)
            x->src[i * WARP + t] = (uint32_t)tap_random(&seed);
    switch (below(6)) {
    case 0:
        move(x, IR_TENSOR_LD);
        break;
    case 1:
        move(x, IR_TENSOR_ST);
        break;
    case 2:
        copy(x);
        break;
    case 3:
        shift(x);
        break;
    default:
        memset(x->src, 0, sizeof x->src);
        product(x);
    }
}

/* ---- what is said of them */

static void note(void *user, const struct ir_tensor_cells *c)
{
    (void)user;
    if (c->lane + c->nlanes > IR_TENSOR_LANES || c->column + c->ncolumns > IR_TENSOR_COLUMNS) {
        is_beyond = true;
        return;
    }
    for (unsigned lane = c->lane; lane < c->lane + c->nlanes; lane++)
        for (unsigned col = c->column; col < c->column + c->ncolumns; col++) {
            struct use *u = &uses[c->block][lane][col];
            u->read |= c->use == IR_TENSOR_READS;
            u->written |= c->use == IR_TENSOR_WRITES;
            u->moved |= c->use == IR_TENSOR_MOVES;
        }
}

/* ---- and what they do */

/* Small numbers of f16 and bytes, so that nothing is infinite. */
static uint32_t some_bits(void)
{
    return (uint32_t)tap_random(&seed) & 0x3b3b3b3bu;
}

static void memories_fill(void)
{
    for (unsigned b = 0; b < IR_TENSOR_BLOCKS; b++)
        for (unsigned i = 0; i < IR_TENSOR_LANES * IR_TENSOR_COLUMNS; i++) {
            const struct use *u = &uses[b][0][0] + i;
            uint32_t bits = some_bits();
            (&before[0][b][0][0])[i] = bits;
            (&before[1][b][0][0])[i] = u->read || u->moved ? bits : some_bits();
        }
}

static bool run(struct operation *x, unsigned which, uint32_t *dst, struct ir_tensor_error *error)
{
    for (unsigned b = 0; b < IR_TENSOR_BLOCKS; b++) {
        memcpy(memory[which][b].cell, before[which][b], sizeof before[which][b]);
        memory[which][b].allocated = 0xffff;
        memory[which][b].first = 1;
        x->cta.block[b] =
            (struct ir_tensor_block){&memory[which][b], {windows[b], sizeof windows[b]}};
    }
    return ir_tensor_do(&x->op, &x->cta, x->src, dst, error);
}

/* What is wrong; NULL: nothing. */
static const char *compare(const struct operation *x, const uint32_t *dst)
{
    if (x->op.op == IR_TENSOR_LD && memcmp(dst, dst + RESULTS, RESULTS * sizeof *dst))
        return "a load depends on cells that it is not said to read";
    for (unsigned b = 0; b < IR_TENSOR_BLOCKS; b++)
        for (unsigned i = 0; i < IR_TENSOR_LANES * IR_TENSOR_COLUMNS; i++) {
            const struct use *u = &uses[b][0][0] + i;
            uint32_t now[2] = {(&memory[0][b].cell[0][0])[i], (&memory[1][b].cell[0][0])[i]};
            if ((u->written || u->moved) && now[0] != now[1])
                return "a cell is not written, or depends on others";
            for (unsigned k = 0; k < 2 && !u->written && !u->moved; k++)
                if (now[k] != (&before[k][b][0][0])[i])
                    return "a cell is written that is not said to be";
        }
    return NULL;
}

static const char *check(struct operation *x, unsigned *ndone)
{
    static uint32_t dst[2 * RESULTS];
    struct ir_tensor_error said, error;

    memset(uses, 0, sizeof uses);
    memset(dst, 0, sizeof dst);
    is_beyond = false;
    bool legal = ir_tensor_cells(&x->op, &x->cta, x->src, note, NULL, &said);
    memories_fill();
    bool ran = run(x, 0, dst, &error);
    if (ran != run(x, 1, dst + RESULTS, &error))
        return "it depends on what is in memory whether it is done";
    if (!legal)
        return ran ? "it is done, though it is said to be refused" : NULL;
    if (ran && is_beyond)
        return "it is done, though it is said to reach beyond";
    *ndone += ran;
    return ran ? compare(x, dst) : NULL;
}

int main(void)
{
    struct operation x;
    unsigned times[IR_TENSOR_MMA + 1] = {0};
    unsigned wrong = 0;

    seed = tap_seed();
    for (unsigned i = 0; i < sizeof windows / sizeof(uint32_t); i++) {
        uint32_t bits = some_bits();
        memcpy((char *)windows + i * sizeof bits, &bits, sizeof bits);
    }
    for (unsigned i = 0; i < ROUNDS && wrong < 10; i++) {
        draw(&x);
        const char *why = check(&x, &times[x.op.op]);
        if (!why)
            continue;
        wrong++;
        diag("round %u, operation %u, shape %u, kind %u, flags %#x: %s", i, x.op.op, x.op.shape,
             x.op.kind, x.op.flags, why);
    }
    eq_u64(wrong, 0, "cells are what the model reads and writes");
    for (unsigned op = IR_TENSOR_LD; op < IR_TENSOR_MMA + 1; op++)
        ok(times[op] >= 30, "operation %u was done %u times", op, times[op]);
    return done();
}
