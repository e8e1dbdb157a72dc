/*
 * Between the files of src/jit outside gen/: none of these touch LLVM.
 */
#ifndef HD_JIT_JIT_PRIVATE_H
#define HD_JIT_JIT_PRIVATE_H

#include "jit/gen/codegen.h"
#include "jit/jit.h"

/* jit_target.c */
const char *jit_features(enum jit_path path); /* LLVM feature string of this host on that path */

/* jit_link.c: an ELF object made executable. */
struct jit_image {
    uint8_t *base;
    size_t size_B;
};
/* HD_JIT for anything in the object that it does not understand; HD_NO_MEMORY. */
enum hd_status jit_link(const uint8_t *object, size_t size_B, struct jit_image *out_image)
    HD_MUST_CHECK;
void jit_image_fini(struct jit_image *image);
/* Address of a defined global function; NULL when the object has none of that name. */
void *jit_image_symbol(const uint8_t *object, size_t size_B, const struct jit_image *image,
                       const char *name);

/* jit_rt*.c: the functions that generated code may name; NULL when unknown. */
void *jit_rt_lookup(const char *name);

/* jit_llvm.c: opens the code generator on first use. */
enum hd_status jit_codegen(const struct gen_request *req, struct gen_result *out) HD_MUST_CHECK;

#endif
