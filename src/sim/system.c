/* System functions: printf, assertions, the device heap, the device runtime. */
#include "base/text/devprintf.h"
#include "ir/device_runtime.h"
#include "sim/sim_private.h"

#include <string.h>

enum { MOST_WORDS = 4 };

struct caller {
    struct sim_warp *w;
    unsigned lane;
    uint64_t args[MOST_WORDS];
};

static bool read_for(void *context, uint64_t address, void *out, size_t size_B)
{
    struct caller *c = context;

    return sim_read(c->w, c->lane, address, out, size_B);
}

static void print(const struct caller *c, bool is_error, const struct hd_buf *text)
{
    const struct interp_launch *l = c->w->run->launch;

    if (l->ops && l->ops->print && text->len)
        l->ops->print(l->ctx, is_error, text->ptr, text->len);
}

static enum sim_step do_vprintf(struct caller *c, uint64_t *out_result)
{
    struct hd_devprintf_memory memory = {read_for, c};
    struct hd_buf text;
    int n;

    hd_buf_init(&text);
    n = hd_devprintf(&text, &memory, c->args[0], c->args[1]);
    print(c, false, &text);
    hd_buf_fini(&text);
    if (n == -2)
        return sim_fail(c->w, c->lane, HD_ILLEGAL_ADDRESS, "printf reads an illegal address");
    *out_result = (uint32_t)n;
    return SIM_NEXT;
}

static void append_string(struct caller *c, struct hd_buf *out, uint64_t address)
{
    char ch;

    for (; read_for(c, address, &ch, 1) && ch; address++)
        hd_buf_putc(out, ch);
}

static void thread_id(const struct caller *c, uint32_t tid[3])
{
    ir_thread_index(c->w->run->launch->block, c->w->index * SIM_LANES + c->lane, tid);
}

/* The text that the CUDA runtime prints. */
static enum sim_step do_assert(struct caller *c)
{
    const uint32_t *b = c->w->cta->id;
    struct hd_buf text;
    uint32_t id[3];

    thread_id(c, id);
    hd_buf_init(&text);
    append_string(c, &text, c->args[1]);
    hd_buf_printf(&text, ":%u: ", (uint32_t)c->args[2]);
    append_string(c, &text, c->args[3]);
    hd_buf_printf(&text, ": block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `", b[0], b[1], b[2],
                  id[0], id[1], id[2]);
    append_string(c, &text, c->args[0]);
    hd_buf_puts(&text, "` failed.\n");
    print(c, true, &text);
    hd_buf_fini(&text);
    return sim_fail(c->w, c->lane, HD_ASSERT, "assertion failed");
}

static bool runtime_read(struct ir_runtime_io *io, uint64_t va, void *to, uint32_t size_B)
{
    io->has_failed |= !read_for(io->reader, va, to, size_B);
    return !io->has_failed;
}

static enum sim_step do_runtime(struct caller *c, uint64_t *out_result)
{
    struct sim_warp *w = c->w;
    const struct interp_launch *l = w->run->launch;
    struct ir_runtime_io io = {.call = (enum ir_runtime_call)c->args[0],
                               .grid_id = (uint32_t)l->grid_id,
                               .read = runtime_read,
                               .reader = c,
                               .thread = ir_cta_number(l->grid, w->cta->id) * w->cta->nthreads +
                                         w->index * SIM_LANES + c->lane};

    if (!l->ops || !l->ops->runtime)
        return sim_fail(w, c->lane, HD_NOT_SUPPORTED, "there is no runtime for kernels here");
    if (runtime_read(&io, c->args[1], io.args, sizeof(io.args)))
        l->ops->runtime(l->ctx, &io);
    if (io.has_failed)
        return sim_fail(w, c->lane, HD_ILLEGAL_ADDRESS, "a runtime call reads an illegal address");
    if (io.out_B && !sim_write(w, c->lane, io.out_va, io.out, io.out_B))
        return sim_fail(w, c->lane, HD_ILLEGAL_ADDRESS, "a runtime call writes an illegal address");
    *out_result = io.result;
    return SIM_NEXT;
}

static enum sim_step call_one(struct caller *c, enum ir_builtin what, uint64_t *out_result)
{
    const struct interp_launch *l = c->w->run->launch;

    switch (what) {
    case IR_BUILTIN_VPRINTF:
        return do_vprintf(c, out_result);
    case IR_BUILTIN_ASSERTFAIL:
        return do_assert(c);
    case IR_BUILTIN_MALLOC:
        *out_result = l->ops && l->ops->malloc_ ? l->ops->malloc_(l->ctx, c->args[0]) : 0;
        return SIM_NEXT;
    case IR_BUILTIN_FREE:
        if (l->ops && l->ops->free_ && c->args[0] && !l->ops->free_(l->ctx, c->args[0]))
            return sim_fail(c->w, c->lane, HD_ILLEGAL_ADDRESS,
                            "free of no block of the device heap");
        return SIM_NEXT;
    case IR_BUILTIN_RUNTIME:
        return do_runtime(c, out_result);
    }
    return sim_fail(c->w, c->lane, HD_NOT_SUPPORTED, "system function %u", (unsigned)what);
}

static unsigned words_of(enum ir_builtin what)
{
    return what == IR_BUILTIN_MALLOC || what == IR_BUILTIN_FREE ? 1
           : what == IR_BUILTIN_ASSERTFAIL                      ? 4
                                                                : 2;
}

enum sim_step sim_exec_syscall(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    enum ir_builtin what = (enum ir_builtin)sim_field(op->insn, ISA_FIELD_IMM16, 0);
    const uint32_t *a = sim_src_rows(w, op, 0);
    uint32_t *d = w->regs + op->d * SIM_LANES;

    sim_mode(w->run, 0);
    w->run->effects++;
    SIM_FOR_LANES(lane, mask)
    {
        struct caller c = {.w = w, .lane = lane};
        uint64_t result = 0;
        unsigned size_B = 8 * words_of(what);
        void *args = sim_host(w, lane, IR_SPACE_LOCAL, sim_pair(a, lane), size_B, 8, false);

        if (!args)
            return SIM_STOP;
        memcpy(c.args, args, size_B);
        if (call_one(&c, what, &result) != SIM_NEXT)
            return SIM_STOP;
        d[lane] = (uint32_t)result;
        d[SIM_LANES + lane] = (uint32_t)(result >> 32);
    }
    return SIM_NEXT;
}
