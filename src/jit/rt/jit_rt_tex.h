/* Texture fetches of a warp with vectors, where that is done (jit_rt_tex_vec.c). */
#ifndef HD_JIT_RT_JIT_RT_TEX_H
#define HD_JIT_RT_JIT_RT_TEX_H

#include "model/texture.h"
#include "jit/jit_private.h"

/*
 * The same bits as ir_texture_read() for all 32 lanes, those that do not take part included: their
 * coordinates may be anything. False: not this one. MXCSR is the default.
 */
bool jit_tex_vectors(const struct ir_tex *op, const struct ir_texture *texture, enum jit_path path,
                     const uint32_t (*words)[32], uint32_t (*out)[32]);

/* jit_rt_tex_fetch.c, for each level: what jit_tex_vectors() lets pass. */
typedef void jit_tex_fetch_fn(const struct ir_tex *op, const struct ir_texture *texture,
                              const uint32_t (*words)[32], uint32_t (*out)[32]);
jit_tex_fetch_fn jit_tex_fetch_generic, jit_tex_fetch_avx2, jit_tex_fetch_avx512;

#endif
