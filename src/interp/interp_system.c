/* System functions: printf, assertions, the device heap, the device runtime. */
#include "base/text/devprintf.h"
#include "interp/interp_shared.h"
#include "ir/device_runtime.h"

unsigned interp_system_words(uint64_t function)
{
    switch ((enum ir_builtin)function) {
    case IR_BUILTIN_MALLOC:
    case IR_BUILTIN_FREE:
        return 1;
    case IR_BUILTIN_VPRINTF:
    case IR_BUILTIN_RUNTIME:
        return 2;
    case IR_BUILTIN_ASSERTFAIL:
        return 4;
    }
    return 0;
}

void interp_print(const struct interp_launch *launch, bool is_error, const struct hd_buf *text)
{
    if (launch->ops && launch->ops->print && text->len)
        launch->ops->print(launch->ctx, is_error, text->ptr, text->len);
}

static void print(const struct interp_caller *c, bool is_error, const struct hd_buf *text)
{
    if (c->print)
        c->print(c->memory, is_error, text);
    else
        interp_print(c->launch, is_error, text);
}

static const char *do_vprintf(const struct interp_caller *c, const uint64_t *args,
                              uint64_t *out_result, enum hd_status *out_status)
{
    struct hd_devprintf_memory memory = {c->read, c->memory};
    struct hd_buf text;
    int n;

    hd_buf_init(&text);
    n = hd_devprintf(&text, &memory, args[0], args[1]);
    print(c, false, &text);
    hd_buf_fini(&text);
    *out_result = (uint32_t)n;
    *out_status = HD_ILLEGAL_ADDRESS;
    return n == -2 ? "printf reads an illegal address" : NULL;
}

static void append_string(const struct interp_caller *c, struct hd_buf *out, uint64_t address)
{
    char ch;

    for (; c->read(c->memory, address, &ch, 1) && ch; address++)
        hd_buf_putc(out, ch);
}

/* The text that the CUDA runtime prints. */
static const char *do_assert(const struct interp_caller *c, const uint64_t *args,
                             enum hd_status *out_status)
{
    struct hd_buf text;

    hd_buf_init(&text);
    append_string(c, &text, args[1]);
    hd_buf_printf(&text, ":%u: ", (uint32_t)args[2]);
    append_string(c, &text, args[3]);
    hd_buf_printf(&text, ": block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `", c->ctaid[0],
                  c->ctaid[1], c->ctaid[2], c->tid[0], c->tid[1], c->tid[2]);
    append_string(c, &text, args[0]);
    hd_buf_puts(&text, "` failed.\n");
    print(c, true, &text);
    hd_buf_fini(&text);
    *out_status = HD_ASSERT;
    return "assertion failed";
}

static bool runtime_read(struct ir_runtime_io *io, uint64_t va, void *to, uint32_t size_B)
{
    const struct interp_caller *c = io->reader;

    io->has_failed |= !c->read(c->memory, va, to, size_B);
    return !io->has_failed;
}

static const char *do_runtime(const struct interp_caller *c, const uint64_t *args,
                              uint64_t *out_result, enum hd_status *out_status)
{
    const struct interp_launch *l = c->launch;
    struct ir_runtime_io io = {.call = (enum ir_runtime_call)args[0],
                               .grid_id = (uint32_t)l->grid_id,
                               .read = runtime_read,
                               .reader = (void *)(uintptr_t)c,
                               .thread = c->thread};

    *out_status = HD_NOT_SUPPORTED;
    if (!l->ops || !l->ops->runtime)
        return "there is no runtime for kernels here";
    if (runtime_read(&io, args[1], io.args, sizeof(io.args)))
        l->ops->runtime(l->ctx, &io);
    *out_status = HD_ILLEGAL_ADDRESS;
    if (io.has_failed)
        return "a runtime call reads an illegal address";
    if (io.out_B && !c->write(c->memory, io.out_va, io.out, io.out_B))
        return "a runtime call writes an illegal address";
    *out_result = io.result;
    return NULL;
}

const char *interp_system_call(const struct interp_caller *caller, uint64_t function,
                               const uint64_t *args, uint64_t *out_result,
                               enum hd_status *out_status)
{
    const struct interp_launch *l = caller->launch;

    *out_result = 0;
    switch ((enum ir_builtin)function) {
    case IR_BUILTIN_VPRINTF:
        return do_vprintf(caller, args, out_result, out_status);
    case IR_BUILTIN_ASSERTFAIL:
        return do_assert(caller, args, out_status);
    case IR_BUILTIN_MALLOC:
        *out_result = l->ops && l->ops->malloc_ ? l->ops->malloc_(l->ctx, args[0]) : 0;
        return NULL;
    case IR_BUILTIN_FREE:
        *out_status = HD_ILLEGAL_ADDRESS;
        return l->ops && l->ops->free_ && args[0] && !l->ops->free_(l->ctx, args[0])
                   ? "free of no block of the device heap"
                   : NULL;
    case IR_BUILTIN_RUNTIME:
        return do_runtime(caller, args, out_result, out_status);
    }
    *out_status = HD_NOT_SUPPORTED;
    return "there is no system function of that number";
}
