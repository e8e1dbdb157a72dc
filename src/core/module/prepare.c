/* Code of a function before somebody launches it. */
#include <assert.h>
#include <string.h>

#include "core/context.h"
#include "core/device.h"
#include "core/module/module.h"
#include "hal/hal.h"
#include "ir/ir.h"

/* Threads of a block, where nothing says it. */
#define USUAL_THREADS 256u

static enum hd_status function_prepare_for(struct core_function *f, const uint32_t block[3])
{
    struct hal_kernel *kernel = atomic_load_explicit(&f->kernel, memory_order_acquire);
    const uint32_t no_grid[3] = {0};

    return f->module->ctx->device->hal->ops->kernel_prepare(kernel, no_grid, block);
}

static bool function_has_required(const struct core_function *f, uint32_t out_block[3])
{
    for (unsigned i = 0; i < 3; i++)
        out_block[i] = HD_MAX(f->entry->reqntid[i], 1u);
    return f->entry->reqntid[0];
}

/* One row; and planes, where the code asks for a thread's place in a second dimension. */
static enum hd_status function_prepare_usual(struct core_function *f)
{
    uint32_t threads = HD_MIN(f->info.max_threads, USUAL_THREADS), required[3];
    const struct ir_module *code;
    bool is_of_planes = false;

    if (function_has_required(f, required))
        return function_prepare_for(f, required);
    HD_TRY(function_prepare_for(f, (uint32_t[3]){threads, 1, 1}));
    HD_TRY(core_image_code(f->module->image, f->entry, f->module->ctx->device, &code));
    ir_foreach_func(func, code) {
        for (uint32_t b = 0; b < func->nblocks; b++)
            ir_foreach_instr(in, func->blocks[b])
                is_of_planes |=
                    in->op == IR_OP_SREG && (in->imm == IR_SREG_TID_Y || in->imm == IR_SREG_NTID_Y);
    }
    for (uint32_t width = 16; is_of_planes && width <= 32; width *= 2)
        if (threads >= 2 * width)
            HD_TRY(function_prepare_for(f, (uint32_t[3]){width, threads / width, 1}));
    return HD_OK;
}

enum hd_status core_function_prepare(struct core_function *f, const uint32_t block[3])
{
    uint64_t threads = block ? (uint64_t)block[0] * block[1] : 1;
    uint32_t required[3];

    HD_TRY(core_function_load(f));
    assert(core_function_is_loaded(f) && core_function_is_described(f));
    if (block &&
        (!threads || !block[2] || threads > UINT32_MAX || threads * block[2] > f->info.max_threads))
        return hd_error(HD_BAD_ARG, "kernel %s: blocks of %u x %u x %u, of %u threads at most",
                        f->entry->name, block[0], block[1], block[2], f->info.max_threads);
    if (block && function_has_required(f, required) &&
        memcmp(block, required, sizeof(required)) != 0)
        return hd_error(HD_BAD_ARG, "kernel %s: blocks of %u x %u x %u; it requires %u x %u x %u",
                        f->entry->name, block[0], block[1], block[2], required[0], required[1],
                        required[2]);
    if (f->native)
        return HD_OK;
    return block ? function_prepare_for(f, block) : function_prepare_usual(f);
}
