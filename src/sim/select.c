/* Which function executes an instruction, and which loop computes it. */
#include "base/host.h"
#include "sim/kernels.h"
#include "sim/sim_private.h"

sim_exec *sim_exec_of(const struct isa_insn *insn)
{
    struct sim_sem unused;

    switch (insn->op) {
#define ROW(name, function)                                                                        \
    case ISA_##name:                                                                               \
        return sim_exec_##function;
#include "sim/execs.def"
#undef ROW
    default:
        break;
    }
    if (!sim_sem_of(insn, &unused))
        return NULL;
    return isa_row(insn->op)->pipe == ISA_PIPE_UNIFORM ? sim_exec_uniform : sim_exec_pure;
}

/* ---- levels of the host */

#ifdef SIM_HAS_AVX2
extern const struct sim_kernels sim_kernels_avx2;
#endif
#ifdef SIM_HAS_AVX512
extern const struct sim_kernels sim_kernels_avx512;
#endif

const struct sim_kernels *sim_kernels_get(void)
{
#ifdef SIM_HAS_AVX512
    if (hd_host_has(HD_HOST_AVX512))
        return &sim_kernels_avx512;
#endif
#ifdef SIM_HAS_AVX2
    if (hd_host_has(HD_HOST_AVX2) && __builtin_cpu_supports("bmi2"))
        return &sim_kernels_avx2;
#endif
    return NULL;
}

static uint64_t plain_find(const struct sim_window *window, uint32_t mask,
                           const uint64_t *addresses, char **hosts)
{
    return sim_loop_find(window, mask, addresses, hosts);
}

static void plain_wide(const uint32_t *a, uint64_t add, uint64_t *out)
{
    sim_loop_wide(a, add, out);
}

static void plain_narrow(const uint32_t *a, uint64_t add, uint64_t *out)
{
    sim_loop_narrow(a, add, out);
}

static void plain_blend(uint32_t *to, const uint32_t *from, unsigned nrows, uint32_t mask)
{
    sim_loop_blend(to, from, nrows, mask);
}

struct sim_loops sim_loops_get(void)
{
    const struct sim_kernels *k = sim_kernels_get();

    return k ? k->loops : (struct sim_loops){plain_find, plain_wide, plain_narrow, plain_blend};
}

/* ---- loops */

static uint32_t mode_of(unsigned round, bool ftz)
{
    return SIM_MODE_USUAL | round << SIM_MODE_ROUND_AT | (ftz ? SIM_MODE_FTZ : 0);
}

static sim_rows *select_integer(const struct sim_kernels *k, const struct sim_sem *s,
                                struct sim_op *op)
{
#define M(name) (s->mod[ISA_MOD_##name])
    bool x = M(X);

    op->is_signed = !M(SIGN);
    switch (s->op) {
    case ISA_IADD3:
        op->code = x;
        return x || op->pd != ISA_PT || op->pe != ISA_PT ? k->iadd3_carry : k->iadd3;
    case ISA_IMAD:
        return k->imad;
    case ISA_IMAD_HI:
        return k->imad_hi;
    case ISA_IMAD_WIDE:
        return x || op->pd != ISA_PT ? NULL : k->imad_wide;
    case ISA_IABS:
        return k->iabs;
    case ISA_IMNMX:
        return M(PACKED) ? NULL : k->imnmx;
    case ISA_ISETP:
        op->code = (uint8_t)(M(CMP) | x << 3);
        return k->isetp;
    case ISA_LEA:
        op->code = s->shift;
        return k->lea;
    case ISA_LEA_HI:
        op->code = s->shift;
        op->how = x;
        return s->na ? NULL : k->lea_hi;
    case ISA_LOP3:
        op->code = s->lut;
        return op->pd == ISA_PT ? k->lop3 : k->lop3_pred;
    case ISA_PLOP3:
        op->code = s->lut;
        op->how = s->plut;
        return k->plop3;
    case ISA_SHF:
        op->is_signed = !(M(SHF_TYPE) & 1);
        op->code = (uint8_t)(M(SHF_WRAP) | M(HI) << 1 | (M(SHF_TYPE) < 2) << 2);
        return M(SHF_DIR) ? k->shf_r : k->shf_l;
    case ISA_PRMT:
        return M(PRMT) ? NULL : k->prmt;
    case ISA_SEL:
        return k->sel;
    case ISA_MOV:
        return k->mov;
    case ISA_IADD_64:
        return k->iadd_64;
    case ISA_POPC:
        return k->popc;
    default:
        return NULL;
    }
}

static sim_rows *select_mufu(const struct sim_kernels *k, unsigned function)
{
    sim_rows *const of[] = {k->rcp, k->rsq, k->sqrt, k->ex2, k->lg2, k->sin, k->cos, k->tanh};

    return function < HD_COUNT_OF(of) ? of[function] : NULL;
}

static sim_rows *select_cvt(const struct sim_kernels *k, const struct sim_sem *s, struct sim_op *op)
{
    enum ir_type to = s->in.type, from = s->in.type2;
    unsigned round = M(CVT_RND);

    if (round > 3 || M(SAT) || M(BYTE))
        return NULL;
    op->mode = mode_of(round == 3 ? 3 : round, M(FTZ));
    if (s->op == ISA_I2F && to == IR_F32)
        return from == IR_S32 ? k->i2f_s32 : from == IR_U32 ? k->i2f_u32 : NULL;
    if (s->op == ISA_I2F && to == IR_F64)
        return from == IR_S32 ? k->i2d_s32 : from == IR_U32 ? k->i2d_u32 : NULL;
    if (s->op == ISA_F2I && from == IR_F64)
        return round == 3 && to == IR_S32 ? k->d2i_s32_rz : NULL;
    if (s->op == ISA_F2I && from == IR_F32 && to == IR_S32)
        return round == 3 ? k->f2i_s32_rz : k->f2i_s32;
    if (s->op == ISA_F2I && from == IR_F32 && to == IR_U32)
        return round == 3 ? k->f2i_u32_rz : k->f2i_u32;
    if (s->op == ISA_F2F && from == IR_F32 && to == IR_F64)
        return k->f2d;
    if (s->op == ISA_F2F && from == IR_F64 && to == IR_F32)
        return k->d2f;
    if (s->op == ISA_F2F && from == IR_F16 && to == IR_F32) {
        op->keep[1] &= op->keep[1] >> 16 | 0xffff0000;
        op->flip[1] >>= 16;
        return M(FTZ) ? NULL : k->f16_to_f32;
    }
    if (s->op == ISA_F2F && from == IR_F32 && to == IR_F16)
        return round || M(FTZ) ? NULL : k->f32_to_f16;
    return NULL;
}

static sim_rows *select_float(const struct sim_kernels *k, const struct sim_sem *s,
                              struct sim_op *op)
{
    op->mode = mode_of(M(RND), M(FTZ));
    op->sat = M(SAT);
    op->ftz = M(FTZ);
    switch (s->op) {
    case ISA_FADD:
        return k->fadd;
    case ISA_FMUL:
        return k->fmul;
    case ISA_FFMA:
        return k->ffma;
    case ISA_FMNMX:
        op->code = M(MINMAX_NAN);
        return M(XORSIGN) ? NULL : k->fmnmx;
    case ISA_FSETP:
        op->code = M(FCMP);
        return k->fsetp;
    case ISA_FSEL:
        return k->fsel;
    case ISA_FCHK:
        op->code = M(CHK);
        return k->fchk;
    case ISA_MUFU:
        return select_mufu(k, M(MUFU));
    case ISA_DADD:
        return k->dadd;
    case ISA_DMUL:
        return k->dmul;
    case ISA_DFMA:
        return k->dfma;
    case ISA_DSETP:
        op->code = M(FCMP);
        return k->dsetp;
    case ISA_HADD2:
    case ISA_HMUL2:
        if (M(HTYPE) || M(FTZ) || M(SAT) || M(HALF_A) || M(HALF_B))
            return NULL;
        for (unsigned i = 0; i < 2; i++) {
            op->keep[i] &= op->keep[i] >> 16 | 0xffff0000;
            op->flip[i] |= op->flip[i] >> 16;
        }
        return s->op == ISA_HADD2 ? k->hadd2 : k->hmul2;
    case ISA_F2F:
    case ISA_F2I:
    case ISA_I2F:
        return select_cvt(k, s, op);
    default:
        return NULL;
    }
#undef M
}

sim_rows *sim_rows_of(const struct isa_insn *insn, struct sim_op *op)
{
    const struct sim_kernels *k = sim_kernels_get();
    const struct sim_sem *s = op->sem;
    sim_rows *rows;

    op->neg[0] = s->na ? UINT32_MAX : 0;
    op->neg[1] = s->nb ? UINT32_MAX : 0;
    op->neg[2] = s->nc ? UINT32_MAX : 0;
    op->keep[0] = s->aa ? INT32_MAX : UINT32_MAX;
    op->keep[1] = s->ab ? INT32_MAX : UINT32_MAX;
    op->keep[2] = s->ac ? INT32_MAX : UINT32_MAX;
    for (unsigned i = 0; i < 3; i++)
        op->flip[i] = op->neg[i] & 1u << 31;
    op->how = s->mod[ISA_MOD_BOOL];
    op->code = 0;
    if (!k)
        return NULL;
    rows = select_integer(k, s, op);
    if (!rows)
        rows = select_float(k, s, op);
    else
        op->mode = 0;
    (void)insn;
    return rows;
}
