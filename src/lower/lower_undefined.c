/* What a linked program names and nobody defines. */
#include "lower/lower_priv.h"

struct search {
    struct lower_program *program;
    const struct lower_body *body;
    lower_undefined_fn *found;
    void *user;
};

/* Variables of functions and of state spaces that we lack are not the linker's. */
static bool var_is_defined(const struct lower_program *p, const struct ptx_var *var)
{
    const struct ir_var *decl = hd_map_get_u64(&p->vars, (uintptr_t)(var->def ? var->def : var));
    return !decl || lower_var_defined(decl);
}

static bool is_defined(const struct lower_program *p, const struct ptx_sym *sym)
{
    if (sym->kind == PTX_SYM_FUNC) {
        const struct ptx_func *func = (const struct ptx_func *)sym;
        const struct ir_func *decl = lower_func_decl(p, func);
        return (decl && lower_program_has_body(p, decl->index)) || lower_is_builtin(func->sym.name);
    }
    return sym->kind != PTX_SYM_VAR || var_is_defined(p, (const struct ptx_var *)sym);
}

static void search_operand(const struct search *s, const struct ptx_operand *op)
{
    bool names =
        op->kind == PTX_OPND_SYM || (op->kind == PTX_OPND_ADDR && op->base == PTX_OPND_SYM);
    if (names && !is_defined(s->program, op->u.sym))
        s->found(s->user, op->u.sym->name, s->body->module->name, op->srcloc.line);
    for (uint32_t i = 0; i < op->nitems; i++)
        search_operand(s, &op->items[i]);
}

static void search_body(const struct search *s)
{
    for (const struct ptx_stmt *stmt = s->body->ptx->body; stmt; stmt = stmt->next) {
        const struct ptx_insn *insn = (const struct ptx_insn *)stmt;
        for (uint32_t i = 0; stmt->kind == PTX_STMT_INSN && i < insn->nops; i++)
            search_operand(s, &insn->ops[i]);
    }
}

void lower_program_undefined(struct lower_program *program, lower_undefined_fn *found, void *user)
{
    struct search s = {.program = program, .found = found, .user = user};
    for (size_t i = 0; i < program->bodies.len; i++) {
        s.body = &program->bodies.at[i];
        if (s.body->ptx)
            search_body(&s);
    }
}
