/*
 * Matrices: rows of shared memory and registers, products in registers and of warpgroups. What they
 * compute is src/model's; here is what an instruction means to it, and where its registers are.
 */
#include <string.h>

#include "model/eval.h"
#include "model/matrix.h"
#include "sim/sim_private.h"

enum { ROW_B = 16, REGISTERS_MAX = 136 };

/* Registers of 32 lanes, of 4 or 8 bytes. */
struct warp_regs {
    _Alignas(64) uint32_t word[2 * REGISTERS_MAX * SIM_LANES];
    uint32_t n; /* words of 32 lanes that are in use */
};

static unsigned mod_of(const struct sim_op *op, enum isa_mod mod)
{
    return isa_mod_value(op->insn, mod);
}

/* Lanes that do not take part have zeros. */
static void regs_put(struct warp_regs *regs, const uint32_t *rows, unsigned n, uint32_t mask)
{
    assert(regs->n + n <= 2 * REGISTERS_MAX);
    for (unsigned i = 0; i < n * SIM_LANES; i++)
        regs->word[regs->n * SIM_LANES + i] = mask >> i % SIM_LANES & 1 ? rows[i] : 0;
    regs->n += n;
}

static void regs_put_alike(struct warp_regs *regs, uint32_t value)
{
    for (unsigned i = 0; i < SIM_LANES; i++)
        regs->word[regs->n * SIM_LANES + i] = value;
    regs->n++;
}

/* Pairs of rows to registers of 64 bits. */
static void regs_put_wide(struct warp_regs *regs, const uint32_t *rows, unsigned n, uint32_t mask)
{
    for (unsigned r = 0; r < n; r += 2)
        for (unsigned i = 0; i < SIM_LANES; i++) {
            uint32_t *to = &regs->word[regs->n * SIM_LANES + r * SIM_LANES + 2 * i];

            to[0] = mask >> i & 1 ? rows[r * SIM_LANES + i] : 0;
            to[1] = mask >> i & 1 ? rows[(r + 1) * SIM_LANES + i] : 0;
        }
    regs->n += n;
}

static const uint32_t *field_rows(struct sim_warp *w, const struct sim_op *op, enum isa_field field)
{
    return sim_reg_rows(w, (unsigned)sim_field(op->insn, field, ISA_RZ), false);
}

/* ---- rows */

enum sim_step sim_exec_ldsm(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_access access = {IR_SPACE_SHARED, ROW_B, false};
    unsigned n = op->nd, nrows = 8 * n;
    uint32_t with_rows = nrows < SIM_LANES ? mask & ((1u << nrows) - 1) : mask;
    uint8_t rows[SIM_LANES][ROW_B] = {{0}};
    uint64_t addresses[SIM_LANES];
    char *hosts[SIM_LANES];

    sim_addresses(w, op, access.space, addresses);
    if (with_rows && !sim_hosts(w, with_rows, &access, addresses, hosts))
        return SIM_STOP;
    SIM_FOR_LANES(lane, with_rows) memcpy(rows[lane], hosts[lane], ROW_B);
    ir_eval_ldmatrix((enum ir_tile)mod_of(op, ISA_MOD_MATRIX_KIND), n, (const uint8_t(*)[16])rows,
                     w->scratch);
    sim_blend(w, w->regs + op->d * SIM_LANES, w->scratch[0], n, mask);
    return SIM_NEXT;
}

enum sim_step sim_exec_stsm(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim_access access = {IR_SPACE_SHARED, ROW_B, true};
    unsigned n = op->src[1].n, nrows = 8 * n;
    uint32_t with_rows = nrows < SIM_LANES ? mask & ((1u << nrows) - 1) : mask;
    struct warp_regs regs = {.n = 0};
    uint8_t rows[SIM_LANES][ROW_B];
    uint64_t addresses[SIM_LANES];
    char *hosts[SIM_LANES];

    if (sim_shared_first(w))
        return SIM_STOP; /* and once more */
    sim_addresses(w, op, access.space, addresses);
    if (with_rows && !sim_hosts(w, with_rows, &access, addresses, hosts))
        return SIM_STOP;
    regs_put(&regs, sim_src_rows(w, op, 1), n, mask);
    ir_eval_stmatrix((enum ir_tile)mod_of(op, ISA_MOD_MATRIX_KIND), n,
                     (const uint32_t(*)[32])(const void *)regs.word, rows);
    SIM_FOR_LANES(lane, with_rows) memcpy(hosts[lane], rows[lane], ROW_B);
    return SIM_NEXT;
}

enum sim_step sim_exec_movm(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct warp_regs regs = {.n = 0};

    regs_put(&regs, sim_src_rows(w, op, 0), 1, mask);
    ir_eval_movmatrix(regs.word, w->scratch[0]);
    sim_blend(w, w->regs + op->d * SIM_LANES, w->scratch[0], 1, mask);
    return SIM_NEXT;
}

/* ---- products in registers */

static const uint8_t small_types[] = {IR_E4M3, IR_E5M2, IR_E2M3, IR_E3M2, IR_E2M1};

static void flag_set(struct ir_mma *mma, enum ir_mma_flag flag, bool on)
{
    mma->flags |= (uint16_t)((on ? 1u : 0u) << flag);
}

/* Columns of a: the bytes of a row hold them, or of sparse ones every other. */
static uint16_t depth_of(const struct sim_op *op, enum ir_type a, bool has_bytes)
{
    unsigned row_B = mod_of(op, ISA_MOD_MMA_DEPTH) ? 32 : 16;
    unsigned bits = has_bytes ? 8 : ir_type_bits(a);

    return (uint16_t)((row_B * 8 / bits) << mod_of(op, ISA_MOD_MMA_SPARSE));
}

static void scales_set(const struct sim_op *op, struct ir_mma *mma)
{
    static const uint8_t elements[] = {32, 16, 16};
    unsigned type = mod_of(op, ISA_MOD_MMA_SCALE_TYPE);

    mma->scale = type == 2 ? IR_UE4M3 : IR_UE8M0;
    mma->scales = (uint8_t)((mma->k >> mod_of(op, ISA_MOD_MMA_SPARSE)) / elements[type]);
}

static struct ir_mma mma_of(const struct sim_op *op)
{
    static const uint8_t halves[] = {IR_F16, IR_BF16, IR_TF32};
    static const uint8_t ints[] = {IR_S8, IR_U8, IR_S4, IR_U4};
    static const uint8_t double_m[] = {8, 16, 16, 16}, double_k[] = {4, 4, 8, 16};
    static const uint8_t rounds[] = {IR_RN, IR_RM, IR_RP, IR_RZ};
    enum { M16N8, M8N8, QUAD };
    unsigned shape = mod_of(op, ISA_MOD_MMA_SHAPE);
    struct ir_mma mma = {.m = shape == M16N8 ? 16 : 8,
                         .n = 8,
                         .selector = (uint8_t)mod_of(op, ISA_MOD_MMA_SPARSE_LANE)};

    mma.c = mma.d = mod_of(op, ISA_MOD_MMA_F_TO) ? IR_F16 : IR_F32;
    flag_set(&mma, IR_MMA_SPARSE, mod_of(op, ISA_MOD_MMA_SPARSE));
    flag_set(&mma, IR_MMA_ORDERED, mod_of(op, ISA_MOD_MMA_ORDERED));
    switch (op->insn->op) {
    case ISA_HMMA:
        mma.a = mma.b = (enum ir_type)halves[mod_of(op, ISA_MOD_MMA_F16)];
        mma.k = depth_of(op, mma.a, false);
        flag_set(&mma, IR_MMA_QUADS, shape == QUAD);
        if (shape == QUAD)
            mma.k = 4;
        flag_set(&mma, IR_MMA_A_COLUMNS, mod_of(op, ISA_MOD_QUAD_A_T));
        flag_set(&mma, IR_MMA_B_ROWS, mod_of(op, ISA_MOD_QUAD_B_T));
        if (mod_of(op, ISA_MOD_MMA_C))
            mma.c = mma.d == IR_F16 ? IR_F32 : IR_F16;
        break;
    case ISA_IMMA:
        mma.a = (enum ir_type)ints[mod_of(op, ISA_MOD_MMA_INT_A)];
        mma.b = (enum ir_type)ints[mod_of(op, ISA_MOD_MMA_INT_B)];
        mma.c = mma.d = IR_S32;
        mma.k = depth_of(op, mma.a, false);
        flag_set(&mma, IR_MMA_SAT, mod_of(op, ISA_MOD_MMA_INT_SAT));
        break;
    case ISA_BMMA:
        mma.a = mma.b = IR_B1;
        mma.c = mma.d = IR_S32;
        mma.k = depth_of(op, IR_B1, false);
        flag_set(&mma, mod_of(op, ISA_MOD_MMA_BIT_OP) ? IR_MMA_AND : IR_MMA_XOR, true);
        break;
    case ISA_DMMA:
        mma.a = mma.b = mma.c = mma.d = IR_F64;
        mma.m = double_m[mod_of(op, ISA_MOD_MMA_DOUBLE)];
        mma.k = double_k[mod_of(op, ISA_MOD_MMA_DOUBLE)];
        mma.rnd = (enum ir_rnd)rounds[mod_of(op, ISA_MOD_RND_MMA)];
        break;
    case ISA_OMMA_SF:
        mma.a = mma.b = IR_E2M1;
        mma.k = depth_of(op, IR_E2M1, false);
        scales_set(op, &mma);
        break;
    default:
        assert(op->insn->op == ISA_QMMA || op->insn->op == ISA_QMMA_SF);
        mma.a = (enum ir_type)small_types[mod_of(op, ISA_MOD_MMA_A8)];
        mma.b = (enum ir_type)small_types[mod_of(op, ISA_MOD_MMA_B8)];
        mma.k = depth_of(op, mma.a, true);
        flag_set(&mma, IR_MMA_BYTES, ir_type_bits(mma.a) < 8 || ir_type_bits(mma.b) < 8);
        if (op->insn->op == ISA_QMMA_SF)
            scales_set(op, &mma);
        break;
    }
    return mma;
}

/* Scales are in e of a, in f of b; the modifier says from which byte on, and in which lanes. */
static void scales_put(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                       struct warp_regs *src)
{
    unsigned a = mod_of(op, ISA_MOD_MMA_SCALE_A), b = mod_of(op, ISA_MOD_MMA_SCALE_B);

    regs_put(src, field_rows(w, op, ISA_FIELD_E), 1, mask);
    regs_put_alike(src, a);
    regs_put_alike(src, a);
    regs_put(src, field_rows(w, op, ISA_FIELD_F), 1, mask);
    regs_put_alike(src, b);
    regs_put_alike(src, b);
}

static enum sim_step product_of_doubles(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                                        const struct ir_mma *mma)
{
    struct warp_regs src = {.n = 0}, dst;

    for (unsigned i = 0; i < 3; i++)
        regs_put_wide(&src, sim_src_rows(w, op, i), op->src[i].n, mask);
    ir_eval_mma(mma, src.word, dst.word);
    for (unsigned r = 0; r < op->nd; r++)
        for (unsigned i = 0; i < SIM_LANES; i++)
            w->scratch[r][i] = dst.word[(r & ~1u) * SIM_LANES + 2 * i + (r & 1)];
    sim_blend(w, w->regs + op->d * SIM_LANES, w->scratch[0], op->nd, mask);
    return SIM_NEXT;
}

enum sim_step sim_exec_mma(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct ir_mma mma = mma_of(op);
    struct warp_regs src = {.n = 0};
    bool scaled = mma.scales != 0;

    if (op->insn->op == ISA_DMMA)
        return product_of_doubles(w, op, mask, &mma);
    for (unsigned i = 0; i < 3; i++)
        regs_put(&src, sim_src_rows(w, op, i), op->src[i].n, mask);
    if (mma.flags >> IR_MMA_SPARSE & 1)
        regs_put(&src, field_rows(w, op, scaled ? ISA_FIELD_G : ISA_FIELD_E), 1, mask);
    if (scaled)
        scales_put(w, op, mask, &src);
    if (src.n != ir_mma_registers(&mma, 's') || op->nd != ir_mma_registers(&mma, 'd'))
        return sim_fail(w, (unsigned)__builtin_ctz(mask), HD_ILLEGAL_INSTRUCTION,
                        "there is no product of this form");
    ir_eval_mma(&mma, src.word, w->scratch[0]);
    sim_blend(w, w->regs + op->d * SIM_LANES, w->scratch[0], op->nd, mask);
    return SIM_NEXT;
}

/* ---- products of a warpgroup: each warp makes its 16 rows */

static struct ir_mma gmma_of(const struct sim_op *op)
{
    static const struct {
        uint8_t a, b, k;
    } kinds[] = {{IR_F16, IR_F16, 16},   {IR_BF16, IR_BF16, 16}, {IR_TF32, IR_TF32, 8},
                 {IR_E4M3, IR_E4M3, 32}, {IR_E4M3, IR_E5M2, 32}, {IR_E5M2, IR_E4M3, 32},
                 {IR_E5M2, IR_E5M2, 32}, {IR_S8, IR_S8, 32},     {IR_S8, IR_U8, 32},
                 {IR_U8, IR_S8, 32},     {IR_U8, IR_U8, 32},     {IR_B1, IR_B1, 0}};
    unsigned kind = mod_of(op, ISA_MOD_GMMA_KIND), sparse = mod_of(op, ISA_MOD_GMMA_SPARSE);
    struct ir_mma mma = {.m = 16, .n = (uint16_t)(8 * (mod_of(op, ISA_MOD_GMMA_N) + 1))};

    mma.a = (enum ir_type)kinds[kind].a;
    mma.b = (enum ir_type)kinds[kind].b;
    mma.k = (uint16_t)((kinds[kind].k ? kinds[kind].k : 256u) << sparse);
    mma.c = mma.d = mod_of(op, ISA_MOD_MMA_F_TO) ? IR_F16 : IR_F32;
    if (kind >= 7)
        mma.c = mma.d = IR_S32;
    flag_set(&mma, IR_MMA_AND, mma.a == IR_B1);
    flag_set(&mma, IR_MMA_SPARSE, sparse);
    flag_set(&mma, IR_MMA_SAT, mod_of(op, ISA_MOD_GMMA_SAT));
    flag_set(&mma, IR_MMA_MINUS, mod_of(op, ISA_MOD_GMMA_NEG_A) != mod_of(op, ISA_MOD_GMMA_NEG_B));
    flag_set(&mma, IR_MMA_B_WINDOW, true);
    flag_set(&mma, IR_MMA_A_WINDOW, !mod_of(op, ISA_MOD_GMMA_A));
    flag_set(&mma, IR_MMA_A_COLUMNS, mod_of(op, ISA_MOD_GMMA_A_T));
    flag_set(&mma, IR_MMA_B_ROWS, mod_of(op, ISA_MOD_GMMA_B_T));
    return mma;
}

static void descriptor_put(struct sim_warp *w, const struct sim_op *op, enum isa_field field,
                           struct warp_regs *src)
{
    uint32_t reg = (uint32_t)sim_field(op->insn, field, ISA_URZ);

    for (unsigned k = 0; k < 2; k++)
        regs_put_alike(src, reg == ISA_URZ ? 0 : w->ureg[reg + k]);
}

enum sim_step sim_exec_gmma(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct ir_mma mma = gmma_of(op);
    unsigned lane = (unsigned)__builtin_ctz(mask);
    const struct ir_matrix_access at = {{w->cta->shared, w->run->shared_B}, w->index, lane};
    bool keep = (w->upred >> op->pa & 1) != op->pa_not;
    struct warp_regs src = {.n = 0};
    uint64_t bad_B;

    sim_mode(w->run, 0);
    if (mod_of(op, ISA_MOD_GMMA_A))
        regs_put(&src, sim_reg_rows(w, (unsigned)sim_field(op->insn, ISA_FIELD_A, ISA_RZ), false),
                 ir_mma_registers(&mma, 'a'), mask);
    else
        descriptor_put(w, op, ISA_FIELD_UC, &src);
    descriptor_put(w, op, ISA_FIELD_UB, &src);
    regs_put(&src, w->regs + op->d * SIM_LANES, op->nd, keep ? mask : 0);
    if (mma.flags >> IR_MMA_SPARSE & 1)
        regs_put(&src, field_rows(w, op, ISA_FIELD_F), 1, mask);
    if (op->nd != ir_mma_registers(&mma, 'd'))
        return sim_fail(w, lane, HD_ILLEGAL_INSTRUCTION, "there is no product of this form");
    if (!ir_eval_mma_window(&mma, &at, src.word, w->scratch[0], &bad_B))
        return sim_fail(w, lane, HD_ILLEGAL_ADDRESS,
                        "a matrix reaches offset %#llx of %llu bytes of shared memory",
                        (unsigned long long)bad_B, (unsigned long long)at.window.size_B);
    sim_blend(w, w->regs + op->d * SIM_LANES, w->scratch[0], op->nd, mask);
    return SIM_NEXT;
}
