/*
 * What cannot be generated: the first such thing is remembered, and generation goes on.
 */
#include "jit/gen/gen.h"

#include <stdarg.h>
#include <stdio.h>

void gen_error(struct gen_unit *u, const char *format, ...)
{
    va_list args;
    if (u->error[0])
        return;
    va_start(args, format);
    vsnprintf(u->error, sizeof(u->error), format, args);
    va_end(args);
}

void gen_unsupported(struct gen *g, const struct ir_instr *in, const char *why)
{
    gen_error(g->unit, "%s: %s%s%s", g->func->name, in ? ir_op_infos[in->op].name : "",
              in ? ": " : "", why);
}
