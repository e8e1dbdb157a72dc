/* What the functions of a kernel share: literals, routines, and which functions there are. */
#include <pthread.h>
#include <stdatomic.h>
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
    assert(codegen_is_callable(func));
    for (size_t i = 0; i < unit->wanted.len; i++)
        if (unit->wanted.at[i] == func)
            return true;
    return hd_vec_push(&unit->wanted, func);
}

/* ---- routines */

static const char routines_text[] = {
#include <codegen_routines.inc>
};
static _Atomic(struct ir_module *) routines;

/* Read when they are first wanted; without memory, again the next time. */
static const struct ir_module *read_routines(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct ir_module *made = atomic_load(&routines);

    if (made)
        return made;
    pthread_mutex_lock(&lock);
    made = atomic_load(&routines);
    if (!made &&
        ir_read_module(routines_text, sizeof(routines_text) - 1, "routines", &made) != HD_OK)
        made = NULL;
    atomic_store(&routines, made);
    pthread_mutex_unlock(&lock);
    return made;
}

const struct ir_func *codegen_routine(const char *name)
{
    const struct ir_module *module = read_routines();

    if (!module)
        return NULL;
    ir_foreach_func(func, module)
        if (!strcmp(func->name, name))
            return func;
    assert(!"a routine of routines.ptx");
    return NULL;
}

bool codegen_is_routine(const struct ir_func *func)
{
    const struct ir_module *module = atomic_load(&routines);

    return module && func->module == module;
}
