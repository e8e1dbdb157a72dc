/* What the functions of a kernel share: literals, routines, and which functions there are. */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "codegen/mc.h"

/* ---- literals */

static uint32_t literal_append(struct codegen_unit *unit, uint64_t bits)
{
    struct isa_code *code = unit->code;
    uint32_t at = (uint32_t)code->literals.len;

    for (unsigned i = 0; i < 8; i++)
        if (!hd_vec_push(&code->literals, (uint8_t)(bits >> (8 * i))))
            unit->failed = true;
    return at;
}

static uint64_t literal_at(const struct isa_code *code, uint32_t at)
{
    uint64_t bits;

    memcpy(&bits, code->literals.at + at, sizeof(bits));
    return bits;
}

static bool is_address(const struct isa_code *code, uint32_t at)
{
    for (size_t i = 0; i < code->relocs.len; i++)
        if (code->relocs.at[i].offset_B == at)
            return true;
    return false;
}

uint32_t codegen_literal(struct codegen_unit *unit, uint64_t bits)
{
    const struct isa_code *code = unit->code;

    for (uint32_t at = 0; at + 8 <= code->literals.len; at += 8)
        if (literal_at(code, at) == bits && !is_address(code, at))
            return at;
    if (code->literals.len > INT16_MAX)
        return CODEGEN_NO_LITERAL;
    return literal_append(unit, bits);
}

uint32_t codegen_address_literal(struct codegen_unit *unit, const struct ir_var *var,
                                 uint64_t addend)
{
    struct isa_code *code = unit->code;
    uint32_t at;

    for (size_t i = 0; i < code->relocs.len; i++)
        if (code->relocs.at[i].var == var->index &&
            literal_at(code, code->relocs.at[i].offset_B) == addend)
            return code->relocs.at[i].offset_B;
    at = literal_append(unit, addend);
    if (!hd_vec_push(&code->relocs, (struct isa_reloc){at, var->index}))
        unit->failed = true;
    return at;
}

bool codegen_want(struct codegen_unit *unit, const struct ir_func *func)
{
    for (size_t i = 0; i < unit->wanted.len; i++)
        if (unit->wanted.at[i] == func)
            return true;
    return hd_vec_push(&unit->wanted, func);
}

/* ---- routines */

static const char routines_text[] = {
#include <codegen_routines.inc>
};
static struct ir_module *routines;

static void read_routines(void)
{
    if (ir_read_module(routines_text, sizeof(routines_text) - 1, "routines", &routines) != HD_OK)
        routines = NULL; /* for want of memory */
}

const struct ir_func *codegen_routine(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_routines);
    if (!routines)
        return NULL;
    ir_foreach_func(func, routines)
        if (!strcmp(func->name, name))
            return func;
    assert(!"a routine of routines.ptx");
    return NULL;
}

bool codegen_is_routine(const struct ir_func *func)
{
    return routines && func->module == routines;
}
