/* In IR: reads of threadIdx and its kin are reads of special registers (builtin_vars.c). */
#ifndef HD_CLANG_BUILTIN_VARS_H
#define HD_CLANG_BUILTIN_VARS_H

#include <stdbool.h>

#include "base/str.h"

#define CLANG_BUILTIN_VARS 4

/* A line of a function that uses one of the variables; false: it does not, nothing is put. */
bool clang_builtin_var_put(struct hd_str line, struct hd_buf *out);
/* Puts what the function whose first line is at `ir` needs at its entry; where to go on. */
const char *clang_builtin_vars_enter(const char *ir, struct hd_buf *out);
/* Ends the module: declares what is called, and the variables no longer. */
void clang_builtin_vars_end(struct hd_buf *ir);

#endif
