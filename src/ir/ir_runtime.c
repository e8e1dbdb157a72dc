/* What a program's kernels may ask of the CUDA runtime. */
#include <assert.h>

#include "ir/device_runtime.h"
#include "ir/ir.h"

static uint64_t func_calls(const struct ir_func *func)
{
    uint64_t calls = 0, number;

    for (uint32_t b = 0; b < func->nblocks; b++)
        ir_foreach_instr(in, func->blocks[b])
            if (in->op == IR_OP_BUILTIN && in->imm == IR_BUILTIN_RUNTIME) {
                bool known = ir_value_const(in->src[0], &number);

                assert((!known || number < IR_RUNTIME_COUNT) && "lower_runtime.c makes them");
                calls |= known ? IR_RUNTIME_BIT(number) : UINT64_MAX;
            }
    return calls;
}

uint64_t ir_module_runtime_calls(const struct ir_module *module)
{
    uint64_t calls = 0;

    ir_foreach_func(func, module)
        calls |= func_calls(func);
    return calls;
}
