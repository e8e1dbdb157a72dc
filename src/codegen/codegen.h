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

#endif
