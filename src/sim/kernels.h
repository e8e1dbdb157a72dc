/*
 * Frequent pure instructions as loops over lanes, which the compiler makes vectors of: kernels.c,
 * once for each level of the host's vector instructions. The results have the reference's bits.
 */
#ifndef HD_SIM_KERNELS_H
#define HD_SIM_KERNELS_H

#include "sim/loops.h"
#include "sim/rows.h"

#define SIM_KERNELS(X)                                                                             \
    X(iadd3)                                                                                       \
    X(iadd3_carry)                                                                                 \
    X(imad)                                                                                        \
    X(imad_hi)                                                                                     \
    X(imad_wide)                                                                                   \
    X(iabs)                                                                                        \
    X(imnmx)                                                                                       \
    X(isetp)                                                                                       \
    X(lea)                                                                                         \
    X(lea_hi)                                                                                      \
    X(lop3)                                                                                        \
    X(lop3_pred)                                                                                   \
    X(plop3)                                                                                       \
    X(shf_l)                                                                                       \
    X(shf_r)                                                                                       \
    X(prmt)                                                                                        \
    X(sel)                                                                                         \
    X(mov)                                                                                         \
    X(iadd_64)                                                                                     \
    X(popc)                                                                                        \
    X(fadd)                                                                                        \
    X(fmul)                                                                                        \
    X(ffma)                                                                                        \
    X(fmnmx)                                                                                       \
    X(fsetp)                                                                                       \
    X(fchk)                                                                                        \
    X(fsel)                                                                                        \
    X(dadd)                                                                                        \
    X(dmul)                                                                                        \
    X(dfma)                                                                                        \
    X(dsetp)                                                                                       \
    X(hadd2)                                                                                       \
    X(hmul2)                                                                                       \
    X(rcp)                                                                                         \
    X(rsq)                                                                                         \
    X(sqrt)                                                                                        \
    X(ex2)                                                                                         \
    X(lg2)                                                                                         \
    X(sin)                                                                                         \
    X(cos)                                                                                         \
    X(tanh)                                                                                        \
    X(i2f_s32)                                                                                     \
    X(i2f_u32)                                                                                     \
    X(i2d_s32)                                                                                     \
    X(i2d_u32)                                                                                     \
    X(f2i_s32)                                                                                     \
    X(f2i_u32)                                                                                     \
    X(f2i_s32_rz)                                                                                  \
    X(f2i_u32_rz)                                                                                  \
    X(d2i_s32_rz)                                                                                  \
    X(f2d)                                                                                         \
    X(d2f)                                                                                         \
    X(f16_to_f32)                                                                                  \
    X(f32_to_f16)

struct sim_kernels {
#define X(name) sim_rows *name;
    SIM_KERNELS(X)
#undef X
    struct sim_loops loops;
};

/* Those of the best level that the host has; NULL: it has none of them. */
const struct sim_kernels *sim_kernels_get(void);

#endif
