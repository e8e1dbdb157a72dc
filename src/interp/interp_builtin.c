/* System functions: printf, assertions, the device heap. */
#include "base/text/devprintf.h"
#include "interp/interp_priv.h"
#include "ir/device_runtime.h"

static void print(struct interp_thread *t, bool is_error, const struct hd_buf *text)
{
    const struct interp_launch *l = t->cta->run->launch;
    struct interp_cta *cta = t->cta;
    if (cta->printed++ < cta->printed_ever) /* a debugger went back: it was seen before */
        return;
    cta->printed_ever = cta->printed;
    if (l->ops && l->ops->print && text->len)
        l->ops->print(l->ctx, is_error, text->ptr, text->len);
}

static enum interp_step do_vprintf(struct interp_thread *t)
{
    struct hd_devprintf_memory memory = {interp_read, t};
    struct hd_buf text;
    hd_buf_init(&text);
    int n = hd_devprintf(&text, &memory, interp_src(t, 0), interp_src(t, 1));
    print(t, false, &text);
    hd_buf_fini(&text);
    if (n == -2)
        return interp_fail(t, HD_ILLEGAL_ADDRESS, "printf reads an illegal address");
    if (t->frame->pc->ndst)
        interp_set(t, 0, (uint32_t)n);
    return INTERP_NEXT;
}

static void append_string(struct interp_thread *t, struct hd_buf *out, uint64_t address)
{
    char c;
    for (; interp_read(t, address, &c, 1) && c; address++)
        hd_buf_putc(out, c);
}

/* The text that the CUDA runtime prints. */
static enum interp_step do_assert(struct interp_thread *t)
{
    const uint32_t *b = t->cta->id, *id = t->tid;
    struct hd_buf text;
    hd_buf_init(&text);
    append_string(t, &text, interp_src(t, 1));
    hd_buf_printf(&text, ":%u: ", (uint32_t)interp_src(t, 2));
    append_string(t, &text, interp_src(t, 3));
    hd_buf_printf(&text, ": block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `", b[0], b[1], b[2],
                  id[0], id[1], id[2]);
    append_string(t, &text, interp_src(t, 0));
    hd_buf_puts(&text, "` failed.\n");
    print(t, true, &text);
    hd_buf_fini(&text);
    return interp_fail(t, HD_ASSERT, "assertion failed");
}

static uint64_t thread_number(const struct interp_thread *t)
{
    const uint32_t *grid = t->cta->run->launch->grid, *block = t->cta->run->launch->block;
    const uint32_t *b = t->cta->id, *id = t->tid;
    uint64_t cta = ((uint64_t)b[2] * grid[1] + b[1]) * grid[0] + b[0];
    return cta * t->cta->nthreads + (id[2] * block[1] + id[1]) * block[0] + id[0];
}

static bool runtime_read(struct ir_runtime_io *io, uint64_t va, void *to, uint32_t size_B)
{
    struct interp_thread *t = io->reader;
    io->has_failed |= !interp_read(t, va, to, size_B);
    return !io->has_failed;
}

static enum interp_step do_runtime(struct interp_thread *t)
{
    const struct interp_launch *l = t->cta->run->launch;
    struct ir_runtime_io io = {.call = (enum ir_runtime_call)interp_src(t, 0),
                               .grid_id = l->grid_id,
                               .read = runtime_read,
                               .reader = t,
                               .thread = thread_number(t)};
    if (!l->ops || !l->ops->runtime)
        return interp_fail(t, HD_NOT_SUPPORTED, "there is no runtime for kernels here");
    if (runtime_read(&io, interp_src(t, 1), io.args, sizeof(io.args)))
        l->ops->runtime(l->ctx, &io);
    if (io.has_failed)
        return interp_fail(t, HD_ILLEGAL_ADDRESS, "a runtime call reads an illegal address");
    if (io.out_B && !interp_write(t, io.out_va, io.out, io.out_B))
        return interp_fail(t, HD_ILLEGAL_ADDRESS, "a runtime call writes an illegal address");
    interp_set(t, 0, io.result);
    return INTERP_NEXT;
}

enum interp_step interp_builtin(struct interp_thread *t)
{
    const struct interp_launch *l = t->cta->run->launch;
    const struct ir_instr *in = t->frame->pc;
    switch ((enum ir_builtin)in->imm) {
    case IR_BUILTIN_VPRINTF:
        return do_vprintf(t);
    case IR_BUILTIN_ASSERTFAIL:
        return do_assert(t);
    case IR_BUILTIN_MALLOC:
        interp_set(t, 0, l->ops && l->ops->malloc_ ? l->ops->malloc_(l->ctx, interp_src(t, 0)) : 0);
        return INTERP_NEXT;
    case IR_BUILTIN_FREE:
        if (l->ops && l->ops->free_ && interp_src(t, 0) && !l->ops->free_(l->ctx, interp_src(t, 0)))
            return interp_fail(t, HD_ILLEGAL_ADDRESS, "free of no block of the device heap");
        return INTERP_NEXT;
    case IR_BUILTIN_RUNTIME:
        return do_runtime(t);
    }
    return interp_fail(t, HD_NOT_SUPPORTED, "system function %u", (unsigned)in->imm);
}
