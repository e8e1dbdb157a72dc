/*
 * Strict code (HEDDLE_STRICT=1): an access is made only where a discrete GPU could make it.
 *
 * What lies inside the device's reserved range is either mapped for kernels or not accessible at
 * all, so one comparison per address is enough there. Everything else is asked for out of line,
 * lane by lane: windows by generic addresses, registered memory, the device heap are allowed, the
 * rest of the process is not (services->check, dev/cpu/fault/strict.c). The range is read from the
 * launch: code does not depend on where it is.
 *
 * All lanes' addresses are compared, whatever the form of the access: strict code is for finding
 * errors, and one form is easily right.
 */
#include "jit/gen/access/gen_access.h"

static bool has_own_window(enum ir_space space)
{
    return ir_space_is_shared(space) || space == IR_SPACE_LOCAL || space == IR_SPACE_PARAM;
}

/* 32 addresses in memory; one array serves all checks of a function. */
static LLVMValueRef lanes_array(struct gen *g)
{
    if (!g->strict_lanes)
        g->strict_lanes = gen_new_array(g, IR_B64);
    return g->strict_lanes;
}

/* i16: the running lanes of half h that leave the range; `room_B`: its size less the access's. */
static LLVMValueRef lanes_outside(struct gen *g, LLVMValueRef x, int h, LLVMValueRef va,
                                  LLVMValueRef room_B)
{
    x = LLVMBuildSub(g->b, x, gen_splat(g, va), "");
    x = LLVMBuildICmp(g->b, LLVMIntUGT, x, gen_splat(g, room_B), "");
    return gen_bits(g, LLVMBuildAnd(g->b, x, gen_mask_or_full(g, h), ""));
}

void gen_strict_check(struct gen *g, const struct ir_instr *in, const struct gen_access *access,
                      uint64_t size_B)
{
    struct gen_access a = *access;
    LLVMValueRef x[GEN_HALVES], bits[GEN_HALVES];
    if (has_own_window(in->mem.space))
        return;
    if (a.wraps)
        gen_access_to_index(g, &a, in);
    gen_access_addresses(g, &a, x);
    LLVMValueRef va = gen_load_ctx(g, g->t->i64, g->launch, offsetof(struct jit_launch, space_va));
    LLVMValueRef room = gen_load_ctx(g, g->t->i64, g->launch, offsetof(struct jit_launch, space_B));
    room = LLVMBuildSub(g->b, room, gen_i64(g, size_B), "");
    for (int h = 0; h < gen_halves(g); h++)
        bits[h] = lanes_outside(g, x[h], h, va, room);
    LLVMValueRef lanes = gen_bits_of_warp(g, bits[0], bits[1]);
    LLVMValueRef some = LLVMBuildICmp(g->b, LLVMIntNE, lanes, gen_i32(g, 0), "");
    LLVMBasicBlockRef ask = gen_bb(g, "ask"), on = gen_bb(g, "allowed");
    gen_cond_br_cold(g, some, ask, on);
    LLVMPositionBuilderAtEnd(g->b, ask);
    LLVMValueRef array = lanes_array(g);
    for (int h = 0; h < gen_halves(g); h++)
        LLVMBuildStore(g->b, x[h], gen_gep(g, array, (uint64_t)h * 8 * GEN_LANES));
    LLVMValueRef args[] = {lanes, gen_i32(g, gen_srcloc(g)), array, gen_i32(g, size_B)};
    gen_service(g, offsetof(struct jit_services, check), g->t->void_, args, 4);
    LLVMBuildBr(g->b, on);
    LLVMPositionBuilderAtEnd(g->b, on);
}
