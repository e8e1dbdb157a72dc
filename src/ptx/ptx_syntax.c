/* What may stand together in an opcode: the rows of spec/ptx_forms.def. */
#include "ptx/ptx_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

struct row {
    uint16_t op;
    uint8_t operands;
    const char *text;
};

static const struct row rows[] = {
#define PTX_FORM(id, operands, text) {PTX_OP_##id, operands, text},
#include "ptx_forms.def"
#undef PTX_FORM
};

/* How far a row fits. */
struct fit {
    const struct row *row;
    const char *missing; /* the first term that the form lacks */
    uint32_t used;       /* modifiers that a term names, one bit each */
    unsigned nmissing;
};

static size_t term_len(const char *term)
{
    return strcspn(term, " ");
}

static bool term_is_optional(const char *term)
{
    return term[term_len(term) - 1] == '?';
}

static bool term_has(const char *term, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = term;; at++) {
        size_t part = strcspn(at, "|? ");
        if (part == len && !memcmp(at, name, len))
            return true;
        at += part;
        if (*at != '|')
            return false;
    }
}

static bool is_ordered(const struct ptx_mod_use *use)
{
    return use->id == PTX_MOD_TYPE || use->id == PTX_MOD_SPACE;
}

/* The modifier that a term names, PTX_FORM_MAX_MODS if none: of types and of spaces the next
 * one only. */
static unsigned find_named(const struct ptx_form *form, uint32_t used, const char *term)
{
    uint32_t passed = 0; /* kinds whose turn is another one's */
    char buf[32];
    for (unsigned i = 0; i < form->nmods; i++) {
        const struct ptx_mod_use *use = &form->mods[i];
        uint32_t kind = use->id == PTX_MOD_TYPE ? 1 : 2;
        if (used >> i & 1 || (is_ordered(use) && passed & kind))
            continue;
        if (term_has(term, ptx_mod_text(use, buf, sizeof(buf))))
            return i;
        passed |= is_ordered(use) ? kind : 0;
    }
    return PTX_FORM_MAX_MODS;
}

static struct fit fit_row(const struct ptx_form *form, const struct row *row)
{
    struct fit fit = {.row = row};
    _Static_assert(PTX_FORM_MAX_MODS < 32, "modifiers are bits of a word");
    for (const char *term = row->text; *term; term += term_len(term)) {
        term += strspn(term, " ");
        if (!*term)
            break;
        unsigned i = find_named(form, fit.used, term);
        if (i < PTX_FORM_MAX_MODS)
            fit.used |= 1u << i;
        else if (!term_is_optional(term) && !fit.nmissing++)
            fit.missing = term;
    }
    return fit;
}

static bool is_complete(const struct ptx_form *form, const struct fit *fit)
{
    return !fit->nmissing && fit->used == (1u << form->nmods) - 1;
}

static int closeness(const struct fit *fit)
{
    return 2 * __builtin_popcount(fit->used) - (int)fit->nmissing;
}

static void explain(const struct ptx_form *form, const struct fit *fit, char *why, size_t size)
{
    char buf[32];
    unsigned rest = (unsigned)__builtin_ctz(~fit->used);
    const char *found = rest < form->nmods ? ptx_mod_text(&form->mods[rest], buf, sizeof(buf)) : "";
    int len = fit->missing ? (int)term_len(fit->missing) : 0;
    if (!fit->missing)
        snprintf(why, size, "does not take '.%s' together with the rest", found);
    else if (!*found)
        snprintf(why, size, "needs .%.*s", len, fit->missing);
    else
        snprintf(why, size, "needs .%.*s where it has '.%s'", len, fit->missing, found);
}

uint32_t ptx_syntax_operands(const struct ptx_form *form, char *why, size_t size)
{
    struct fit best = {0};
    uint32_t operands = 0;
    bool known = false;
    for (size_t i = 0; i < HD_COUNT_OF(rows); i++) {
        if (rows[i].op != form->op)
            continue;
        struct fit fit = fit_row(form, &rows[i]);
        if (is_complete(form, &fit))
            operands |= 1u << rows[i].operands;
        if (!known || closeness(&fit) > closeness(&best))
            best = fit;
        known = true;
    }
    if (!known)
        return 1;
    if (!operands)
        explain(form, &best, why, size);
    return operands;
}
