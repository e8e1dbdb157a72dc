/* A thread's calls of system functions. */
#include "interp/interp_priv.h"
#include "interp/interp_shared.h"

static bool write(void *thread, uint64_t address, const void *bytes, size_t size_B)
{
    return interp_write(thread, address, bytes, size_B);
}

static void print(void *thread, bool is_error, const struct hd_buf *text)
{
    struct interp_cta *cta = ((struct interp_thread *)thread)->cta;

    if (cta->printed++ < cta->printed_ever) /* a debugger went back: it was seen before */
        return;
    cta->printed_ever = cta->printed;
    interp_print(cta->run->launch, is_error, text);
}

enum interp_step interp_builtin(struct interp_thread *t)
{
    const struct interp_launch *l = t->cta->run->launch;
    const struct ir_instr *in = t->frame->pc;
    struct interp_caller caller = {.launch = l,
                                   .thread = ir_cta_number(l->grid, t->cta->id) * t->cta->nthreads,
                                   .memory = t,
                                   .read = interp_read,
                                   .write = write,
                                   .print = print};
    uint64_t args[INTERP_SYSTEM_WORDS], result;
    enum hd_status status;
    const char *why;

    memcpy(caller.ctaid, t->cta->id, sizeof(caller.ctaid));
    memcpy(caller.tid, t->tid, sizeof(caller.tid));
    caller.thread += (t->tid[2] * l->block[1] + t->tid[1]) * l->block[0] + t->tid[0];
    for (unsigned i = 0; i < interp_system_words(in->imm); i++)
        args[i] = interp_src(t, i);
    why = interp_system_call(&caller, in->imm, args, &result, &status);
    if (why)
        return interp_fail(t, status, "%s", why);
    if (in->ndst)
        interp_set(t, 0, result);
    return INTERP_NEXT;
}
