/*
 * Tensor memory (model/tensor.h): made when a CTA first uses it. All is done where it is issued.
 *
 * Operands that the manual leaves open. UTCMMA: uc has the instruction's descriptor and a's scales'
 * address; from ubase on are the address of b's scales, the address of metadata, which columns
 * of b are zero (two), and where upb is false the lanes that are not written (four or eight). LDTM
 * and STTM of 16x32bx2: behind the address in ubase are the columns to the other half.
 */
#include <string.h>

#include "base/mem.h"
#include "model/mbarrier.h"
#include "model/tensor.h"
#include "sim/sim_private.h"

static unsigned mod_of(const struct sim_op *op, enum isa_mod mod)
{
    return isa_mod_value(op->insn, mod);
}

static uint32_t ureg_of(const struct sim_warp *w, const struct sim_op *op, enum isa_field field,
                        unsigned k)
{
    uint32_t reg = (uint32_t)sim_field(op->insn, field, ISA_URZ);

    return reg == ISA_URZ || reg + k >= ISA_URZ ? 0 : w->ureg[reg + k];
}

/* Of the CTA of this rank in the cluster. */
static struct ir_tensor_memory *memory_of(struct sim_warp *w, unsigned lane, uint32_t rank)
{
    struct ir_tensor_memory **at = &w->cta->cluster->tensor[rank];

    if (!*at)
        *at = hd_new(struct ir_tensor_memory);
    if (!*at)
        sim_fail(w, lane, HD_NO_MEMORY, "no memory for tensor memory");
    return *at;
}

/* The CTA, or where it needs a pair, the two; a cluster may lack one. */
static bool blocks_find(struct sim_warp *w, const struct ir_tensor *op, struct ir_tensor_cta *out)
{
    const struct sim_run *run = w->run;
    uint32_t own = w->cta->rank, even = own & ~1u;
    bool paired = op->flags >> IR_TENSOR_PAIR & 1 && even + 1 < run->cluster_ctas;

    out->nblocks = paired ? IR_TENSOR_BLOCKS : 1;
    out->own = paired ? own & 1 : 0;
    for (uint32_t i = 0; i < out->nblocks; i++) {
        uint32_t rank = paired ? even + i : own;
        char *shared = w->cta->shared + ((int64_t)rank - own) * (int64_t)IR_CLUSTER_STRIDE_B;

        out->block[i] =
            (struct ir_tensor_block){memory_of(w, out->lane, rank), {shared, run->shared_B}};
        if (!out->block[i].memory)
            return false;
    }
    return true;
}

static bool tensor_do(struct sim_warp *w, const struct ir_tensor *op, unsigned lane,
                      const uint32_t *src, uint32_t *dst)
{
    struct ir_tensor_cta cta = {.warp = w->index, .lane = lane};
    struct ir_tensor_error error;

    sim_mode(w->run, 0);
    if (!blocks_find(w, op, &cta))
        return false;
    w->run->effects++;
    if (ir_tensor_do(op, &cta, src, dst, &error))
        return true;
    sim_fail(w, lane, error.status, "%s: %#llx", error.why, (unsigned long long)error.at);
    return false;
}

static uint16_t pair_flag(const struct sim_op *op)
{
    return (uint16_t)(mod_of(op, ISA_MOD_TC_PAIR) << IR_TENSOR_PAIR);
}

enum sim_step sim_exec_utcalloc(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    enum { ALLOC, FREE, RELINQUISH };
    static const uint8_t ops[] = {IR_TENSOR_ALLOC, IR_TENSOR_DEALLOC, IR_TENSOR_RELINQUISH};
    unsigned what = mod_of(op, ISA_MOD_TC_ALLOC), lane = (unsigned)__builtin_ctz(mask);
    const struct ir_tensor tensor = {.op = ops[what], .flags = pair_flag(op)};
    uint32_t columns = ureg_of(w, op, ISA_FIELD_UA, 0), dst[SIM_LANES] = {0};
    uint32_t src[2][SIM_LANES];

    for (unsigned i = 0; i < SIM_LANES; i++) {
        src[0][i] = what == FREE ? ureg_of(w, op, ISA_FIELD_UD, 0) : columns;
        src[1][i] = columns;
    }
    if (!tensor_do(w, &tensor, lane, src[0], dst))
        return SIM_STOP;
    if (what == ALLOC) {
        bool has = dst[lane] != (uint32_t)IR_TENSOR_WAIT;

        if (op->d != ISA_URZ)
            w->ureg[op->d] = dst[lane];
        if (op->pd != ISA_PT)
            w->upred = (uint8_t)((w->upred & ~(1u << op->pd)) | (unsigned)has << op->pd);
    }
    sim_group_of(w)->polled = sim_group_of(w)->pc + 1;
    return SIM_NEXT;
}

enum sim_step sim_exec_utccp(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    bool shifts = op->insn->op == ISA_UTCSHIFT;
    unsigned format = mod_of(op, ISA_MOD_TC_CP_FORMAT);
    struct ir_tensor tensor = {.op = shifts ? IR_TENSOR_SHIFT : IR_TENSOR_CP,
                               .flags = pair_flag(op)};
    uint32_t src[3][SIM_LANES] = {{0}};

    if (!shifts)
        tensor.shape = (uint8_t)(IR_TENSOR_CP_128X256B + mod_of(op, ISA_MOD_TC_CP_SHAPE));
    if (format)
        tensor.flags |= (uint16_t)(1u << (format == 1 ? IR_TENSOR_B6 : IR_TENSOR_B4));
    src[0][0] = ureg_of(w, op, ISA_FIELD_UD, 0);
    src[1][0] = ureg_of(w, op, ISA_FIELD_UA, 0);
    src[2][0] = ureg_of(w, op, ISA_FIELD_UA, 1);
    (void)mask;
    return tensor_do(w, &tensor, 0, src[0], NULL) ? SIM_NEXT : SIM_STOP;
}

static struct ir_tensor mma_of(const struct sim_op *op)
{
    static const uint8_t scales[] = {
        [IR_TENSOR_KIND_MXF8F6F4] = 1, [IR_TENSOR_KIND_MXF4] = 2, [IR_TENSOR_KIND_MXF4NVF4] = 4};
    unsigned kind = mod_of(op, ISA_MOD_TC_KIND);

    return (struct ir_tensor){
        .op = IR_TENSOR_MMA,
        .kind = (uint8_t)kind,
        .scales = (uint8_t)(scales[kind] >> mod_of(op, ISA_MOD_TC_SCALES)),
        .scale_d = (uint8_t)mod_of(op, ISA_MOD_TC_SCALE_D),
        .flags = (uint16_t)(pair_flag(op) | mod_of(op, ISA_MOD_TC_A) << IR_TENSOR_A_TENSOR |
                            mod_of(op, ISA_MOD_TC_SPARSE) << IR_TENSOR_SPARSE |
                            mod_of(op, ISA_MOD_TC_ASHIFT) << IR_TENSOR_ASHIFT |
                            mod_of(op, ISA_MOD_TC_WS) << IR_TENSOR_WS)};
}

enum sim_step sim_exec_utcmma(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct ir_tensor tensor = mma_of(op);
    uint32_t src[IR_TENSOR_MMA_SOURCES][SIM_LANES] = {{0}};
    bool writes_all = (w->upred >> op->pb & 1) != op->pb_not;

    src[IR_TENSOR_D][0] = ureg_of(w, op, ISA_FIELD_UD, 0);
    for (unsigned k = 0; k < 2; k++) {
        src[IR_TENSOR_A + k][0] = ureg_of(w, op, ISA_FIELD_UA, k);
        src[IR_TENSOR_B + k][0] = ureg_of(w, op, ISA_FIELD_UB, k);
        src[IR_TENSOR_ZEROS + k][0] = ureg_of(w, op, ISA_FIELD_UBASE, 2 + k);
    }
    src[IR_TENSOR_IDESC][0] = ureg_of(w, op, ISA_FIELD_UC, 0);
    src[IR_TENSOR_SCALE_A][0] = ureg_of(w, op, ISA_FIELD_UC, 1);
    src[IR_TENSOR_SCALE_B][0] = ureg_of(w, op, ISA_FIELD_UBASE, 0);
    src[IR_TENSOR_METADATA][0] = ureg_of(w, op, ISA_FIELD_UBASE, 1);
    src[IR_TENSOR_ENABLE_D][0] = (w->upred >> op->pa & 1) != op->pa_not;
    for (unsigned k = 0; k < 8 && !writes_all; k++)
        src[IR_TENSOR_OFF + k][0] = ureg_of(w, op, ISA_FIELD_UBASE, 4 + k);
    (void)mask;
    return tensor_do(w, &tensor, 0, src[0], NULL) ? SIM_NEXT : SIM_STOP;
}

/* One arrival at the mbarrier, or of a multicast at those of the CTAs that ub names. */
enum sim_step sim_exec_utcbar(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    uint64_t address = ureg_of(w, op, ISA_FIELD_UA, 0);
    uint32_t ranks = ureg_of(w, op, ISA_FIELD_UB, 0) & 0xffff;
    bool casts = mod_of(op, ISA_MOD_MULTICAST);
    unsigned lane = (unsigned)__builtin_ctz(mask);

    SIM_FOR_LANES(rank, casts ? ranks : 1)
    {
        uint64_t there = casts ? ir_cluster_address(address, rank) : address;
        void *at = sim_host(w, lane, IR_SPACE_SHARED, there, IR_MBARRIER_B, IR_MBARRIER_B, true);

        if (!at)
            return SIM_STOP;
        ir_mbarrier_do(IR_MBARRIER_ARRIVE, at, 1);
    }
    return SIM_NEXT;
}

/* ---- loads and stores */

static struct ir_tensor movement_of(const struct sim_warp *w, const struct sim_op *op)
{
    enum { NONE, MIN, MAX, MIN_ABS, MAX_ABS, MIN_NAN, MAX_NAN, MIN_ABS_NAN, MAX_ABS_NAN };
    static const uint8_t types[] = {IR_F32, IR_U32, IR_S32};
    unsigned reduce = mod_of(op, ISA_MOD_TM_REDUCE);
    struct ir_tensor tensor = {.op = op->insn->op == ISA_LDTM ? IR_TENSOR_LD : IR_TENSOR_ST,
                               .shape = (uint8_t)mod_of(op, ISA_MOD_TM_SHAPE),
                               .num = (uint8_t)(1u << mod_of(op, ISA_MOD_TM_COUNT)),
                               .offset = ureg_of(w, op, ISA_FIELD_UBASE, 1)};

    tensor.flags = (uint16_t)(mod_of(op, ISA_MOD_TM_PACK) << IR_TENSOR_PACK);
    if (reduce == NONE)
        return tensor;
    tensor.type = (enum ir_type)types[mod_of(op, ISA_MOD_TM_TYPE)];
    if (reduce % 2) /* MIN and its kinds */
        tensor.flags |= 1u << IR_TENSOR_MIN;
    if (reduce == MIN_ABS || reduce == MAX_ABS || reduce >= MIN_ABS_NAN)
        tensor.flags |= 1u << IR_TENSOR_ABS;
    if (reduce >= MIN_NAN)
        tensor.flags |= (uint16_t)(1u << IR_TENSOR_NAN);
    return tensor;
}

enum sim_step sim_exec_ldtm(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct ir_tensor tensor = movement_of(w, op);
    unsigned lane = (unsigned)__builtin_ctz(mask), n = ir_tensor_registers(&tensor);
    uint32_t address[SIM_LANES];

    for (unsigned i = 0; i < SIM_LANES; i++)
        address[i] = ureg_of(w, op, ISA_FIELD_UBASE, 0);
    if (!tensor_do(w, &tensor, lane, address, w->scratch[0]))
        return SIM_STOP;
    sim_blend(w, w->regs + op->d * SIM_LANES, w->scratch[0], n, mask);
    if (tensor.type != IR_VOID)
        sim_blend(w, sim_reg_rows(w, (unsigned)sim_field(op->insn, ISA_FIELD_E, ISA_RZ), true),
                  w->scratch[n], 1, mask);
    return SIM_NEXT;
}

enum sim_step sim_exec_sttm(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    const struct ir_tensor tensor = movement_of(w, op);
    const uint32_t *b = sim_src_rows(w, op, 1);

    for (unsigned i = 0; i < SIM_LANES; i++)
        w->scratch[0][i] = ureg_of(w, op, ISA_FIELD_UBASE, 0);
    memset(w->scratch[1], 0, sizeof(uint32_t[SIM_LANES]) * op->src[1].n);
    sim_blend(w, w->scratch[1], b, op->src[1].n, mask);
    return tensor_do(w, &tensor, (unsigned)__builtin_ctz(mask), w->scratch[0], NULL) ? SIM_NEXT
                                                                                     : SIM_STOP;
}
