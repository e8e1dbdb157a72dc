/* Errors of threads, and their place. */
#include "interp/interp_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/demangle.h"
#include "interp/interp_debug.h"

enum interp_step interp_fail(struct interp_thread *t, enum hd_status status, const char *fmt, ...)
{
    struct interp_run *run = t->cta->run;
    const struct ir_instr *pc = t->frame ? t->frame->pc : NULL;
    struct interp_fault *f = &run->fault;
    char what[384];
    struct hd_buf where, kernel;
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    memcpy(f->ctaid, t->cta->id, sizeof f->ctaid);
    memcpy(f->tid, t->tid, sizeof f->tid);
    f->instr = pc;
    if (pc && pc->srcloc.file && pc->srcloc.file <= run->module->files.len) {
        f->file = run->module->files.at[pc->srcloc.file - 1];
        f->line = pc->srcloc.line;
    }
    hd_buf_init(&where);
    if (f->file)
        ir_print_source(run->module, &pc->srcloc, &where);
    hd_buf_init(&kernel);
    if (run->launch->observer) /* beside findings, which have names as people write them */
        hd_demangle_or_name(run->launch->kernel->name, HD_DEMANGLE_FULL, &kernel);
    run->status =
        hd_error(status, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u), %s: %s",
                 kernel.ptr ? kernel.ptr : run->launch->kernel->name, f->ctaid[0], f->ctaid[1],
                 f->ctaid[2], f->tid[0], f->tid[1], f->tid[2], where.ptr ? where.ptr : "?:0", what);
    hd_buf_fini(&where);
    hd_buf_fini(&kernel);
    if (t->cta->debug)
        t->cta->debug->fault(t, status, what);
    return INTERP_FAULTED;
}
