/* Dotted opcodes: "ld.global.nc.f32" -> struct ptx_form, decoded once per distinct text. */
#include "ptx/ptx_parse.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

/* Parses m16n8k16 or m8n8. */
static bool form_parse_shape(const char *text, size_t len, struct ptx_mod_use *out_use)
{
    uint16_t *fields[3] = {&out_use->m, &out_use->n, &out_use->k};
    size_t at = 0;
    unsigned field = 0;
    for (; field < 3 && at < len; field++) {
        unsigned value = 0;
        if (text[at] != "mnk"[field])
            return false;
        size_t first = ++at;
        for (; at < len && text[at] >= '0' && text[at] <= '9' && value < 6000; at++)
            value = value * 10 + (unsigned)(text[at] - '0');
        if (at == first)
            return false;
        *fields[field] = (uint16_t)value;
    }
    out_use->id = PTX_MOD_SHAPE;
    return field >= 2 && at == len;
}

static bool parse_mod(const char *text, size_t len, struct ptx_mod_use *out_use)
{
    *out_use = (struct ptx_mod_use){0};
    const struct ptx_word *word = ptx_word_find(text, len);
    if (word && word->type) {
        out_use->id = PTX_MOD_TYPE;
        out_use->m = word->type;
    } else if (word && word->space) {
        out_use->id = PTX_MOD_SPACE;
        out_use->m = word->space;
    } else if (word && word->mod) {
        out_use->id = word->mod;
    } else {
        return form_parse_shape(text, len, out_use);
    }
    return true;
}

static bool form_is_compare(enum ptx_op op)
{
    return op == PTX_OP_SET || op == PTX_OP_SETP || op == PTX_OP_VSET || op == PTX_OP_VSET2 ||
           op == PTX_OP_VSET4;
}

/* A modifier that sets one field to one value. */
struct mod_effect {
    uint16_t mod;
    uint8_t field; /* offset in struct ptx_form */
    uint8_t value;
};

#define EFFECT(mod, field, value) {PTX_MOD_##mod, offsetof(struct ptx_form, field), value}
static const struct mod_effect effects[] = {
    EFFECT(EQ, cmp, PTX_CMP_EQ),
    EFFECT(NE, cmp, PTX_CMP_NE),
    EFFECT(LT, cmp, PTX_CMP_LT),
    EFFECT(LE, cmp, PTX_CMP_LE),
    EFFECT(GT, cmp, PTX_CMP_GT),
    EFFECT(GE, cmp, PTX_CMP_GE),
    EFFECT(LS, cmp, PTX_CMP_LS),
    EFFECT(HS, cmp, PTX_CMP_HS),
    EFFECT(EQU, cmp, PTX_CMP_EQU),
    EFFECT(NEU, cmp, PTX_CMP_NEU),
    EFFECT(LTU, cmp, PTX_CMP_LTU),
    EFFECT(LEU, cmp, PTX_CMP_LEU),
    EFFECT(GTU, cmp, PTX_CMP_GTU),
    EFFECT(GEU, cmp, PTX_CMP_GEU),
    EFFECT(NUM, cmp, PTX_CMP_NUM),
    EFFECT(NAN, cmp, PTX_CMP_NAN),
    EFFECT(AND, subop, PTX_SUBOP_AND),
    EFFECT(OR, subop, PTX_SUBOP_OR),
    EFFECT(XOR, subop, PTX_SUBOP_XOR),
    EFFECT(ADD, subop, PTX_SUBOP_ADD),
    EFFECT(INC, subop, PTX_SUBOP_INC),
    EFFECT(DEC, subop, PTX_SUBOP_DEC),
    EFFECT(MIN, subop, PTX_SUBOP_MIN),
    EFFECT(MAX, subop, PTX_SUBOP_MAX),
    EFFECT(CAS, subop, PTX_SUBOP_CAS),
    EFFECT(EXCH, subop, PTX_SUBOP_EXCH),
    EFFECT(POPC, subop, PTX_SUBOP_POPC),
    EFFECT(WIDE, half, PTX_HALF_WIDE),
    EFFECT(WEAK, sem, PTX_SEM_WEAK),
    EFFECT(RELAXED, sem, PTX_SEM_RELAXED),
    EFFECT(ACQUIRE, sem, PTX_SEM_ACQUIRE),
    EFFECT(RELEASE, sem, PTX_SEM_RELEASE),
    EFFECT(ACQ_REL, sem, PTX_SEM_ACQ_REL),
    EFFECT(SC, sem, PTX_SEM_SC),
    EFFECT(VOLATILE, sem, PTX_SEM_VOLATILE),
    EFFECT(MMIO, sem, PTX_SEM_MMIO),
    EFFECT(CTA, scope, PTX_SCOPE_CTA),
    EFFECT(CLUSTER, scope, PTX_SCOPE_CLUSTER),
    EFFECT(GPU, scope, PTX_SCOPE_GPU),
    EFFECT(GL, scope, PTX_SCOPE_GPU),
    EFFECT(SYS, scope, PTX_SCOPE_SYS),
    EFFECT(CA, cache, PTX_CACHE_CA),
    EFFECT(CG, cache, PTX_CACHE_CG),
    EFFECT(CS, cache, PTX_CACHE_CS),
    EFFECT(LU, cache, PTX_CACHE_LU),
    EFFECT(CV, cache, PTX_CACHE_CV),
    EFFECT(WB, cache, PTX_CACHE_WB),
    EFFECT(WT, cache, PTX_CACHE_WT),
    EFFECT(V2, vec, 2),
    EFFECT(V4, vec, 4),
    EFFECT(V8, vec, 8),
    EFFECT(FTZ, ftz, 1),
    EFFECT(SAT, sat, 1),
    EFFECT(SATFINITE, satfinite, 1),
    EFFECT(RELU, relu, 1),
    EFFECT(APPROX, approx, 1),
    EFFECT(FULL, full, 1),
    EFFECT(CC, cc, 1),
    EFFECT(SYNC, sync, 1),
    EFFECT(ALIGNED, aligned, 1),
    EFFECT(NC, nc, 1),
    EFFECT(NOFTZ, noftz, 1),
};
_Static_assert(offsetof(struct ptx_form, noftz) < 256, "mod_effect.field is a byte");

static const struct {
    uint16_t mod;
    uint8_t round;
} rounds[] = {
    {PTX_MOD_RN, PTX_ROUND_RN},   {PTX_MOD_RZ, PTX_ROUND_RZ},   {PTX_MOD_RM, PTX_ROUND_RM},
    {PTX_MOD_RP, PTX_ROUND_RP},   {PTX_MOD_RNA, PTX_ROUND_RNA}, {PTX_MOD_RS, PTX_ROUND_RS},
    {PTX_MOD_RNI, PTX_ROUND_RNI}, {PTX_MOD_RZI, PTX_ROUND_RZI}, {PTX_MOD_RMI, PTX_ROUND_RMI},
    {PTX_MOD_RPI, PTX_ROUND_RPI},
};

/* Modifiers whose meaning depends on the opcode. True when handled. */
static bool form_apply_special(struct ptx_form *form, uint16_t mod)
{
    bool compare = form_is_compare((enum ptx_op)form->op);
    switch (mod) {
    case PTX_MOD_LO:
        form->cmp = compare ? PTX_CMP_LO : form->cmp;
        form->half = compare ? form->half : PTX_HALF_LO;
        return true;
    case PTX_MOD_HI:
        form->cmp = compare ? PTX_CMP_HI : form->cmp;
        form->half = compare ? form->half : PTX_HALF_HI;
        return true;
    case PTX_MOD_UNI:
        form->uni = true;
        form->mode = form->op == PTX_OP_VOTE ? PTX_MOD_UNI : form->mode;
        return true;
    case PTX_MOD_RELAXED:
        form->sem = form->sem == PTX_SEM_MMIO ? PTX_SEM_MMIO : PTX_SEM_RELAXED;
        return true;
    default:
        return false;
    }
}

static void apply_mod(struct ptx_form *form, const struct ptx_mod_use *use)
{
    enum ptx_mod_class mod_class = ptx_mod_class((enum ptx_mod)use->id);
    assert(form->nmods && form->nmods <= PTX_FORM_MAX_MODS);
    if (mod_class == PTX_MC_TYPE && form->ntypes < PTX_FORM_MAX_TYPES)
        form->types[form->ntypes++] = (uint8_t)use->m;
    if (mod_class == PTX_MC_SPACE && form->nspaces < PTX_FORM_MAX_SPACES)
        form->spaces[form->nspaces++] = (uint8_t)use->m;
    if (mod_class == PTX_MC_SHAPE && !form->shape.id)
        form->shape = *use;
    if (mod_class == PTX_MC_VOTE || mod_class == PTX_MC_SHFL || mod_class == PTX_MC_PRMT ||
        mod_class == PTX_MC_TESTP)
        form->mode = use->id;
    for (unsigned i = 0; i < HD_COUNT_OF(rounds); i++)
        if (rounds[i].mod == use->id) {
            const enum ptx_round round = (enum ptx_round)rounds[i].round;
            if (form->round == PTX_ROUND_NONE)
                form->round = (uint8_t)round;
            else
                form->round2 = (uint8_t)round;
        }
    if (form_apply_special(form, use->id))
        return;
    for (unsigned i = 0; i < HD_COUNT_OF(effects); i++) {
        uint8_t *field = (uint8_t *)form + effects[i].field;
        if (effects[i].mod == use->id &&
            (!*field || effects[i].field == offsetof(struct ptx_form, vec)))
            *field = effects[i].value;
    }
}

/* Longest opcode name; returns the offset of the first modifier, 0 when there is no such opcode. */
static size_t form_match_opcode(const char *text, size_t len, enum ptx_op *out_op)
{
    unsigned node = 0;
    size_t at = 0, after = 0;
    *out_op = PTX_OP_NONE;
    while (at < len) {
        const char *dot = memchr(text + at, '.', len - at);
        size_t part = dot ? (size_t)(dot - text) - at : len - at;
        node = ptx_op_node_child(node, text + at, part);
        if (!node)
            break;
        at += part + 1;
        if (ptx_op_node_op(node)) {
            *out_op = ptx_op_node_op(node);
            after = at;
        }
    }
    return after;
}

static enum hd_status form_decode(struct ptx_parser *p, struct ptx_form *form,
                                  struct ptx_srcloc srcloc)
{
    const char *text = form->text.ptr;
    size_t len = form->text.len;
    enum ptx_op op;
    size_t at = form_match_opcode(text, len, &op);
    if (!op)
        return ptx_fail(p, srcloc, "expected an opcode, found '%.*s'", (int)HD_MIN(len, 80u), text);
    assert(at && at <= len + 1);
    form->op = (uint16_t)op;
    form->vec = 1;
    while (at < len) {
        const char *dot = memchr(text + at, '.', len - at);
        size_t part = dot ? (size_t)(dot - text) - at : len - at;
        struct ptx_mod_use use;
        if (!parse_mod(text + at, part, &use))
            return ptx_fail(p, srcloc, "expected a modifier of '%s', found '.%.*s'",
                            ptx_opcode_name(op), (int)HD_MIN(part, 80u), text + at);
        if (form->nmods == PTX_FORM_MAX_MODS)
            return ptx_fail(p, srcloc, "too many modifiers in '%.*s'", (int)HD_MIN(len, 80u), text);
        form->mods[form->nmods++] = use;
        apply_mod(form, &use);
        at += part + 1;
    }
    return HD_OK;
}

static struct ptx_form **form_slot(struct ptx_form **slots, uint32_t cap, const char *text,
                                   size_t len, uint32_t hash)
{
    assert(hd_is_pow2(cap));
    uint32_t slot = ptx_hash_slot(hash) & (cap - 1);
    while (slots[slot] &&
           (slots[slot]->text.len != len || memcmp(slots[slot]->text.ptr, text, len) != 0))
        slot = (slot + 1) & (cap - 1);
    return &slots[slot];
}

static enum hd_status form_grow_slots(struct ptx_parser *p)
{
    uint32_t cap = p->form_cap ? p->form_cap * 2 : 512;
    struct ptx_form **slots = hd_alloc_array(cap, sizeof(struct ptx_form *));
    if (!slots)
        return HD_NO_MEMORY;
    for (uint32_t i = 0; i < p->form_cap; i++) {
        struct ptx_form *form = p->form_slots[i];
        if (form) {
            uint32_t hash = ptx_hash_bytes(PTX_HASH_SEED, form->text.ptr, form->text.len);
            *form_slot(slots, cap, form->text.ptr, form->text.len, hash) = form;
        }
    }
    hd_free(p->form_slots);
    p->form_slots = slots;
    p->form_cap = cap;
    return HD_OK;
}

/* The module's, wherever the rest of a body goes. */
static struct ptx_form *form_new(struct ptx_parser *p, const char *text, size_t len)
{
    struct ptx_form *form = hd_arena_try_alloc(p->module->arena, sizeof(*form) + len + 1);
    if (!form)
        return NULL;
    char *copy = (char *)(form + 1);
    memcpy(copy, text, len);
    form->text = (struct hd_str){copy, len};
    form->id = (uint32_t)p->forms.len;
    return form;
}

enum hd_status ptx_form_get(struct ptx_parser *p, const char *text, size_t len, uint32_t hash,
                            struct ptx_srcloc srcloc, const struct ptx_form **out_form)
{
    if (HD_UNLIKELY(2 * p->forms.len >= p->form_cap))
        HD_TRY(form_grow_slots(p));
    struct ptx_form **slot = form_slot(p->form_slots, p->form_cap, text, len, hash);
    if (HD_LIKELY(*slot != NULL)) {
        *out_form = *slot;
        return HD_OK;
    }
    struct ptx_form *form = form_new(p, text, len);
    if (!form || !hd_vec_push(&p->forms, form))
        return HD_NO_MEMORY;
    assert(p->forms.at[form->id] == form);
    HD_TRY(form_decode(p, form, srcloc));
    *slot = form;
    *out_form = form;
    return HD_OK;
}
