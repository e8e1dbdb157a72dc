/*
 * Texture and surface instructions: operands go to memory as they lie in vectors, 32 lanes each,
 * and a function of the runtime does the work for the warp (jit_rt_tex.c).
 */
#include "jit/gen/gen_access.h"

#include <assert.h>
#include <string.h>

#include "ir/texture.h"

enum { HANDLES = 2 * 8 * GEN_LANES, WORD = 2 * 4 * GEN_LANES }; /* bytes of 32 lanes */

void gen_tex(struct gen *g, const struct ir_instr *in)
{
    const struct ir_tex *tex = ir_ext_tex(in);
    bool sampler = (tex->flags >> IR_TEX_SAMPLER & 1) != 0;
    uint32_t first = sampler ? 2 : 1;
    LLVMValueRef room = gen_registers_room(g, GEN_OPERANDS, in->nsrc);
    LLVMValueRef out = gen_registers_room(g, GEN_RESULTS, HD_MAX(in->ndst, 1u));
    LLVMValueRef words = gen_gep(g, room, (uint64_t)first * HANDLES);
    uint64_t what;
    memcpy(&what, tex, sizeof(what));
    gen_registers_store(g, in, 0, first, IR_B64, room);
    gen_registers_store(g, in, first, in->nsrc, IR_B32, words);
    LLVMValueRef args[] = {gen_i64(g, what),
                           gen_i32(g, g->unit->path),
                           room,
                           sampler ? gen_gep(g, room, HANDLES) : LLVMConstNull(g->t->ptr),
                           words,
                           out};
    gen_call_here(g, "jit_rt_tex", args, HD_COUNT_OF(args));
    gen_registers_load(g, in, IR_B32, out);
}
