/*
 * PTX to IR. One or several PTX modules (relocatable device code) become one linked IR module.
 */
#ifndef HD_LOWER_LOWER_H
#define HD_LOWER_LOWER_H

#include "ir/ir.h"
#include "ptx/ptx.h"

/*
 * Lowers and links. Duplicate strong symbols, unresolved externs (HD_UNRESOLVED) and instructions
 * outside the supported slice (HD_NOT_SUPPORTED) are errors that name symbol or instruction and
 * `file:line`. A module whose unsupported instruction sits in one kernel fails as a whole, as
 * loading does on a driver that lacks the instruction.
 */
enum hd_status lower_ptx(const struct ptx_module *const *modules, size_t count, const char *name,
                         struct ir_module **out_module) HD_MUST_CHECK;

/* Is this instruction inside the slice? For `heddle doctor`; *out_why (static text) when not. */
bool lower_supports(const struct ptx_insn *insn, const char **out_why);

#endif
