/* Numbers of instructions: how code outside of the IR says which instruction it came from. */
#include "ir/ir.h"

static uint32_t block_size(const struct ir_block *block)
{
    uint32_t n = 0;

    ir_foreach_instr(in, block)
        n++;
    return n;
}

static uint32_t func_size(const struct ir_func *func)
{
    uint32_t n = 0;

    for (uint32_t b = 0; b < func->nblocks; b++)
        n += block_size(func->blocks[b]);
    return n;
}

uint32_t ir_func_first_number(const struct ir_func *func)
{
    uint32_t n = 1;

    for (const struct ir_func *f = func->module->funcs; f != func; f = f->next) {
        assert(f && "the function is one of its module's");
        n += func_size(f);
    }
    return n;
}

void ir_func_block_numbers(const struct ir_func *func, uint32_t *out_first)
{
    uint32_t n = ir_func_first_number(func);

    for (uint32_t b = 0; b < func->nblocks; b++) {
        out_first[b] = n;
        n += block_size(func->blocks[b]);
    }
}

uint32_t ir_module_size(const struct ir_module *module)
{
    uint32_t n = 0;

    ir_foreach_func(func, module)
        n += func_size(func);
    return n;
}

static const struct ir_instr *instr_in_func(const struct ir_func *func, uint32_t left)
{
    for (uint32_t b = 0; b < func->nblocks; b++) {
        ir_foreach_instr(in, func->blocks[b]) {
            if (!left--)
                return in;
        }
    }
    return NULL;
}

const struct ir_instr *ir_module_instr_at(const struct ir_module *module, uint32_t number)
{
    uint32_t left = number - 1;

    for (const struct ir_func *f = module->funcs; f && number; f = f->next) {
        uint32_t n = func_size(f);

        if (left < n)
            return instr_in_func(f, left);
        left -= n;
    }
    return NULL;
}
