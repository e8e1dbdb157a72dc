/*
 * The compiler from IR to code of Heddle's ISA.
 *
 *     converge       where lanes of a warp meet again
 *     select         instructions on virtual registers (mc.h)
 *     coalesce       copies that are none
 *     assign, spill  machine registers
 *     finish         copies and branches of the machine, words
 *
 * Each step is a file. It never changes the IR. docs/abi.md is what the code relies on.
 */
#ifndef HD_CODEGEN_CODEGEN_H
#define HD_CODEGEN_CODEGEN_H

#include "ir/ir.h"
#include "isa/abi.h"
#include "isa/image.h"

struct codegen_options {
    uint32_t registers; /* of a thread at most; 0: as the kernel's bounds say */
    bool checks; /* registers and control fields are checked: HD_BAD_IR is a bug of the compiler */
};

/*
 * Compiles a kernel, and what it may call, of a module whose windows are laid out. HD_NOT_SUPPORTED
 * (the operation that has no form, with its place), HD_NO_MEMORY. isa_code_fini() frees the code.
 */
enum hd_status codegen_kernel(const struct ir_func *kernel, const struct codegen_options *options,
                              struct isa_code *out_code) HD_MUST_CHECK;

/* ---- code in images (image.c) */

/*
 * The validity key of code in an image: `program` says of what program it is (compile_image_key());
 * this compiler's own sources come in.
 */
void codegen_image_key(const uint8_t program[ISA_KEY_BYTES], uint8_t out_key[ISA_KEY_BYTES]);
/*
 * Adds a kernel's code with what it names, under the kernel's name. HD_NOT_SUPPORTED: an image
 * cannot hold it; HD_NO_MEMORY.
 */
enum hd_status codegen_image_add(struct isa_image *image, const struct ir_func *kernel,
                                 const struct isa_code *code) HD_MUST_CHECK;
/*
 * The way back, for a module of the same program. HD_UNRESOLVED: the module does not have what the
 * code names; HD_NO_MEMORY. isa_code_fini() frees the code.
 */
enum hd_status codegen_image_take(const struct isa_kernel *made, const struct ir_func *kernel,
                                  struct isa_code *out_code) HD_MUST_CHECK;

#endif
