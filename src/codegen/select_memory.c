/* Loads, stores, atomics, fences, addresses and the thread's stack. */
#include "codegen/select.h"

enum { OFFSET_MAX = (1 << 23) - 1 };

static bool is_wide(enum ir_space space)
{
    return !ir_space_is_window(space);
}

struct sel_address sel_address(struct sel *s, const struct ir_instr *in)
{
    const struct ir_value *v = in->src[0];
    int64_t offset = in->mem.offset;
    int64_t most = codegen_does(s->f->settings, CODEGEN_OFFSETS) ? OFFSET_MAX : 0;
    struct sel_address a = {.offset = offset, .wide = is_wide(in->mem.space)};
    uint64_t number;

    if (!a.wide && sel_is_number(s, v, &number)) {
        a.base = SEL_RZ;
        a.offset = (int32_t)((uint32_t)number + (uint32_t)offset);
        if (a.offset >= 0 && a.offset <= most)
            return a;
        a.base = sel_unit(sel_in_unit(s, sel_number((uint32_t)a.offset)));
        a.offset = 0;
        return a;
    }
    a.base = a.wide ? sel_pair(s, v) : sel_word(s, v, 0);
    if (offset < -most || offset > most) {
        uint32_t d = sel_new(s, a.wide ? 2 : 1), carry = sel_new_pred(s);
        EMIT(s, IADD3, D(d), PD(a.wide ? carry : ISA_PT), A(sel_half(a.base, 0)),
             B(sel_number((uint32_t)offset)));
        if (a.wide)
            EMIT(s, IADD3, D(d + 1), A(sel_half(a.base, 1)), B(sel_number((uint64_t)offset >> 32)),
                 PA(sel_p(carry)), MOD(X, X));
        a.base = sel_unit(d);
        a.offset = 0;
        return a;
    }
    a.base = sel_unit(a.wide ? sel_in_pair(s, a.base) : sel_in_unit(s, a.base));
    return a;
}

unsigned sel_sem(const struct ir_instr *in)
{
    switch (in->mem.sem) {
    case IR_SEM_RELAXED:
        return ISA_SEM_RELAXED;
    case IR_SEM_ACQUIRE:
        return ISA_SEM_ACQUIRE;
    case IR_SEM_RELEASE:
        return ISA_SEM_RELEASE;
    case IR_SEM_ACQ_REL:
        return ISA_SEM_ACQ_REL;
    case IR_SEM_SC:
        return ISA_SEM_SC;
    case IR_SEM_VOLATILE:
        return ISA_SEM_VOLATILE;
    default:
        return in->op == IR_OP_LD && (in->mem.space == IR_SPACE_CONST || ir_has(in, IR_MOD_NC))
                   ? ISA_SEM_CONSTANT
                   : ISA_SEM_DEFAULT;
    }
}

static unsigned evict_of(const struct ir_instr *in)
{
    if (ir_has(in, IR_MOD_L1_EVICT_FIRST) || in->mem.cache == IR_CACHE_CS)
        return ISA_EVICT_EF;
    if (ir_has(in, IR_MOD_L1_EVICT_LAST))
        return ISA_EVICT_EL;
    if (ir_has(in, IR_MOD_L1_EVICT_UNCHANGED))
        return ISA_EVICT_EU;
    if (ir_has(in, IR_MOD_L1_NO_ALLOCATE))
        return ISA_EVICT_NA;
    if (in->mem.cache == IR_CACHE_LU)
        return ISA_EVICT_LU;
    return in->mem.cache == IR_CACHE_WT ? ISA_EVICT_WT : ISA_EVICT_DEFAULT;
}

static unsigned size_code(unsigned bytes)
{
    switch (bytes) {
    case 1:
        return ISA_SZ_U8;
    case 2:
        return ISA_SZ_U16;
    case 4:
        return ISA_SZ_DEFAULT;
    case 8:
        return ISA_SZ_64;
    case 16:
        return ISA_SZ_128;
    default:
        assert(bytes == 32);
        return ISA_SZ_256;
    }
}

static unsigned element_bits(const struct ir_instr *in)
{
    return HD_MAX(ir_type_bits(in->type), 8u);
}

static unsigned elements(const struct ir_instr *in)
{
    return in->mem.vec ? in->mem.vec : 1;
}

/* ---- loads */

/* Part of `bits` at `at` of a word that was loaded whole. */
static void set_part(struct sel *s, const struct ir_value *d, uint32_t word, unsigned at,
                     unsigned bits, bool whole)
{
    uint32_t unit;

    if (whole) {
        sel_set_units(s, d, word);
        return;
    }
    unit = sel_new(s, 1);
    if (bits == 16)
        EMIT(s, PRMT, D(unit), A(sel_unit(word)), B(sel_number(at ? 0x4432 : 0x4410)), C(SEL_RZ));
    else
        EMIT(s, PRMT, D(unit), A(sel_unit(word)), B(sel_number(0x4440 + at / 8)), C(SEL_RZ));
    sel_set_units(s, d, unit);
}

static void set_loaded(struct sel *s, const struct ir_instr *in, uint32_t unit)
{
    unsigned bits = element_bits(in), n = elements(in);

    for (unsigned i = 0; i < n && i < in->ndst; i++) {
        if (bits >= 32)
            sel_set_units(s, in->dst[i], unit + i * (bits / 32));
        else
            set_part(s, in->dst[i], unit + i * bits / 32, i * bits % 32, bits, n == 1);
    }
}

#define LOAD(OP, ...)                                                                              \
    EMIT(s, OP, D(d), A(a.base), NUMBER(OFFSET, a.offset), MODV(SZ, size_code(bytes)), __VA_ARGS__)
#define ORDER                                                                                      \
    MODV(WIDE, 1), MODV(SEM, sel_sem(in)), MODV(SCOPE, in->mem.scope), MODV(EVICT, evict_of(in))

static void load(struct sel *s, const struct ir_instr *in, struct sel_address a, unsigned bytes,
                 uint32_t d)
{
    switch (in->mem.space) {
    case IR_SPACE_SHARED:
    case IR_SPACE_SHARED_CLUSTER:
        EMIT(s, LDS, D(d), A(a.base), NUMBER(OFFSET, a.offset), MODV(SZ, size_code(bytes)));
        return;
    case IR_SPACE_LOCAL:
        EMIT(s, LDL, D(d), A(a.base), NUMBER(OFFSET, a.offset), MODV(SZ, size_code(bytes)));
        return;
    case IR_SPACE_GENERIC:
        LOAD(LD, ORDER);
        return;
    case IR_SPACE_GLOBAL:
    case IR_SPACE_CONST:
        LOAD(LDG, ORDER);
        return;
    default:
        sel_refuse(s, "a space that is not loaded from");
        return;
    }
}

static void load_param(struct sel *s, const struct ir_instr *in)
{
    unsigned bits = element_bits(in), n = elements(in);
    uint64_t number;
    bool known = sel_is_number(s, in->src[0], &number);
    uint32_t at = ISA_LAUNCH_PARAMS + (uint32_t)in->mem.offset + (known ? (uint32_t)number : 0);
    uint32_t base = known ? ISA_RZ : sel_in_unit(s, sel_word(s, in->src[0], 0));

    for (unsigned i = 0; i < n && i < in->ndst; i++, at += bits / 8) {
        if (known && bits >= 32) {
            sel_set(s, in->dst[i], sel_constant(ISA_BANK_LAUNCH, at));
            continue;
        }
        s->values[in->dst[i]->id].kind = SEL_NONE;
        sel_load_bank(s, sel_def(s, i), ISA_BANK_LAUNCH, base, (int32_t)at, size_code(bits / 8));
    }
}

static void select_load(struct sel *s, const struct ir_instr *in)
{
    unsigned bytes = element_bits(in) / 8 * elements(in);
    struct vectorize_load *wide = NULL;
    uint32_t d;

    if (in->mem.space == IR_SPACE_PARAM) {
        load_param(s, in);
        return;
    }
    if (s->wide && in->ndst)
        wide = s->wide[in->dst[0]->id];
    if (wide) {
        if (wide->first == in) {
            struct ir_instr all = *in;

            all.mem.offset = wide->offset;
            wide->unit = sel_new(s, wide->bytes / 4);
            load(s, in, sel_address(s, &all), wide->bytes, wide->unit);
        }
        set_loaded(s, in, wide->unit + (uint32_t)(in->mem.offset - wide->offset) / 4);
        return;
    }
    d = sel_new(s, HD_MAX(bytes / 4, 1u));
    load(s, in, sel_address(s, in), bytes, d);
    set_loaded(s, in, d);
}

/* ---- stores */

static struct isa_operand joined(struct sel *s, struct isa_operand low, struct isa_operand high,
                                 unsigned how)
{
    uint32_t d = sel_new(s, 1);

    EMIT(s, PRMT, D(d), A(low), B(sel_number(how)), C(high));
    return sel_unit(d);
}

/* Word i of what is stored. */
static struct isa_operand stored_word(struct sel *s, const struct ir_instr *in, unsigned i)
{
    unsigned bits = element_bits(in), n = elements(in), each = 32 / HD_MIN(bits, 32u);
    struct isa_operand part[4];

    if (bits >= 32)
        return sel_word(s, in->src[1 + i / (bits / 32)], i % (bits / 32));
    for (unsigned k = 0; k < each; k++)
        part[k] = i * each + k < n ? sel_src(s, 1 + i * each + k) : SEL_RZ;
    if (n == 1)
        return part[0];
    if (bits == 16)
        return joined(s, part[0], part[1], 0x5410);
    part[0] = joined(s, part[0], part[1], 0x1140);
    return n == 2 ? part[0] : joined(s, part[0], joined(s, part[2], part[3], 0x1140), 0x5410);
}

static void select_store(struct sel *s, const struct ir_instr *in)
{
    unsigned bytes = element_bits(in) / 8 * elements(in), words = HD_MAX(bytes / 4, 1u);
    struct isa_operand word[8];
    struct sel_address a = sel_address(s, in);
    uint32_t b;

    for (unsigned i = 0; i < words; i++)
        word[i] = stored_word(s, in, i);
    b = sel_tuple(s, word, words);
#define STORE(OP, ...)                                                                             \
    EMIT(s, OP, A(a.base), NUMBER(OFFSET, a.offset), B(sel_unit(b)),                               \
         MODV(SZ, size_code(bytes)) __VA_OPT__(, ) __VA_ARGS__)
    switch (in->mem.space) {
    case IR_SPACE_SHARED:
    case IR_SPACE_SHARED_CLUSTER:
        STORE(STS);
        return;
    case IR_SPACE_LOCAL:
        STORE(STL);
        return;
    case IR_SPACE_GENERIC:
        STORE(ST, ORDER);
        return;
    case IR_SPACE_GLOBAL:
    case IR_SPACE_CONST:
        STORE(STG, ORDER);
        return;
    default:
        sel_refuse(s, "a space that is not stored to");
        return;
    }
}

/* ---- atomics */

int sel_atom_type(enum ir_type type)
{
    switch (type) {
    case IR_U32:
    case IR_B32:
        return ISA_ATOM_TYPE_U32;
    case IR_S32:
        return ISA_ATOM_TYPE_S32;
    case IR_U64:
    case IR_B64:
        return ISA_ATOM_TYPE_U64;
    case IR_S64:
        return ISA_ATOM_TYPE_S64;
    case IR_F32:
        return ISA_ATOM_TYPE_F32;
    case IR_F64:
        return ISA_ATOM_TYPE_F64;
    case IR_F16:
        return ISA_ATOM_TYPE_F16;
    case IR_BF16:
        return ISA_ATOM_TYPE_BF16;
    default:
        return -1;
    }
}

/* Of a register: also of packed halves, and of bits that are only compared and exchanged. */
static int atom_type(enum ir_type type)
{
    switch (type) {
    case IR_F16X2:
        return ISA_ATOM_TYPE_F16X2;
    case IR_BF16X2:
        return ISA_ATOM_TYPE_BF16X2;
    case IR_B128:
        return ISA_ATOM_TYPE_B128;
    case IR_B16:
    case IR_U16:
    case IR_S16:
        return ISA_ATOM_TYPE_F16;
    default:
        return sel_atom_type(type);
    }
}

static uint32_t value_tuple(struct sel *s, const struct ir_value *v)
{
    unsigned words = HD_MAX(ir_type_bits(v->type) / 32, 1u);
    struct isa_operand word[4];

    for (unsigned i = 0; i < words; i++)
        word[i] = sel_word(s, v, i);
    return sel_tuple(s, word, words);
}

static void select_atom(struct sel *s, const struct ir_instr *in)
{
    struct sel_address a = sel_address(s, in);
    bool cas = in->mem.atom == IR_ATOM_CAS;
    bool ftz = ir_type_is_float(in->type) && !ir_has(in, IR_MOD_NOFTZ);
    uint32_t b = value_tuple(s, in->src[1]), c = cas ? value_tuple(s, in->src[2]) : ISA_RZ;
    uint32_t d = in->ndst ? sel_def(s, 0) : ISA_RZ;
    int type = atom_type(in->type);
    unsigned op = in->mem.atom;

    if (type < 0) {
        sel_refuse(s, "an atomic operation of another type");
        return;
    }
#define KIND     MODV(ATOM_OP, op), MODV(ATOM_TYPE, type), MODV(ATOM_FTZ, ftz)
#define ATOMIC   KIND, MODV(SEM, sel_sem(in))
#define OPERANDS D(d), A(a.base), NUMBER(OFFSET, a.offset), B(sel_unit(b)), C(sel_unit(c)), ATOMIC
#define REDUCED  A(a.base), NUMBER(OFFSET, a.offset), B(sel_unit(b)), ATOMIC
#define GLOBALLY MODV(WIDE, 1), MODV(SCOPE, in->mem.scope)
    bool red = !in->ndst && !cas;
    switch (in->mem.space) {
    case IR_SPACE_SHARED:
    case IR_SPACE_SHARED_CLUSTER:
        red ? EMIT(s, REDS, REDUCED) : EMIT(s, ATOMS, OPERANDS);
        return;
    case IR_SPACE_GLOBAL:
        red ? EMIT(s, REDG, REDUCED, GLOBALLY) : EMIT(s, ATOMG, OPERANDS, GLOBALLY);
        return;
    case IR_SPACE_GENERIC:
        red ? EMIT(s, RED, REDUCED, GLOBALLY) : EMIT(s, ATOM, OPERANDS, GLOBALLY);
        return;
    default:
        sel_refuse(s, "a space without atomics");
        return;
    }
}

/* ---- addresses */

static unsigned space_code(enum ir_space space)
{
    return space == IR_SPACE_LOCAL    ? ISA_SPACE_LOCAL
           : space == IR_SPACE_PARAM  ? ISA_SPACE_CONST
           : space == IR_SPACE_GLOBAL ? ISA_SPACE_GLOBAL
                                      : ISA_SPACE_SHARED;
}

/* The address of a window as a pair. */
static uint32_t window_pair(struct sel *s, const struct ir_value *v)
{
    struct isa_operand word[2] = {sel_word(s, v, 0), SEL_RZ};

    if (v->type == IR_B64)
        word[1] = sel_word(s, v, 1);
    return sel_tuple(s, word, 2);
}

static void select_cvta(struct sel *s, const struct ir_instr *in)
{
    bool to = in->op == IR_OP_CVTA_TO;
    uint32_t a, d;

    if (is_wide(in->mem.space)) {
        s->values[in->dst[0]->id] = s->values[in->src[0]->id];
        return;
    }
    d = sel_def(s, 0);
    a = window_pair(s, in->src[0]);
    if (in->mem.space == IR_SPACE_PARAM && !to) {
        uint32_t sum = sel_new(s, 2);
        EMIT(s, IADD_64, D(sum), A(sel_unit(a)), B(sel_number(ISA_LAUNCH_PARAMS)));
        a = sum;
    }
    EMIT(s, CVTA, D(d), A(sel_unit(a)), MODV(SPACE, space_code(in->mem.space)),
         MODV(TO_WINDOW, to));
    if (in->mem.space == IR_SPACE_PARAM && to) {
        uint32_t sum = sel_new(s, 2);
        EMIT(s, IADD_64, D(sum), A(sel_unit(d)), B(sel_number(0 - (uint64_t)ISA_LAUNCH_PARAMS)));
        sel_set_units(s, in->dst[0], sum);
    }
}

static void select_isspace(struct sel *s, const struct ir_instr *in)
{
    uint32_t a = window_pair(s, in->src[0]);

    if (in->mem.space == IR_SPACE_SHARED_CLUSTER)
        sel_refuse(s, "isspacep of a cluster's memory");
    EMIT(s, QSPC, PD(sel_def(s, 0)), A(sel_unit(a)), MODV(SPACE, space_code(in->mem.space)));
}

/* Shared addresses of kernels that look beyond their CTA are counted from rank 0's window. */
static bool counts_from_rank0(const struct sel *s)
{
    return s->unit->clusters;
}

static void set_window_address(struct sel *s, const struct ir_value *v, uint32_t unit)
{
    sel_set_units(s, v, sel_tuple(s, (struct isa_operand[]){sel_unit(unit), SEL_RZ}, 2));
}

static void select_varaddr(struct sel *s, const struct ir_instr *in)
{
    const struct ir_var *var = in->var;
    uint64_t at = var->window_offset + in->imm;
    uint32_t unit = sel_new(s, 1), rank;

    switch (var->space) {
    case IR_SPACE_SHARED:
        if (!counts_from_rank0(s)) {
            sel_set(s, in->dst[0], sel_number(at));
            return;
        }
        rank = sel_new(s, 1);
        EMIT(s, S2R, D(rank), NUMBER(SR, sel_sreg(IR_SREG_CLUSTER_CTARANK)));
        EMIT(s, LEA, D(unit), A(sel_unit(rank)), B(sel_number(at)),
             NUMBER(SHIFT, IR_CLUSTER_SHIFT));
        set_window_address(s, in->dst[0], unit);
        return;
    case IR_SPACE_LOCAL:
        if (s->frame_base == MC_NO_UNIT) {
            sel_set(s, in->dst[0], sel_number(at));
            return;
        }
        EMIT(s, IADD3, D(unit), A(sel_unit(s->frame_base)), B(sel_number(at)));
        set_window_address(s, in->dst[0], unit);
        return;
    default:
        sel_set(s, in->dst[0],
                sel_constant(ISA_BANK_LITERALS, codegen_address_literal(s->unit, var, in->imm)));
        return;
    }
}

/* ---- the stack */

void sel_check_stack(struct sel *s)
{
    uint32_t p = sel_new_pred(s);

    EMIT(s, ISETP, PD(p), A(sel_unit(ISA_REG_STACK)),
         B(sel_constant(ISA_BANK_LAUNCH, ISA_LAUNCH_LOCAL_B)), MOD(CMP, GT), MOD(SIGN, U32));
    EMIT(s, BPT, GUARD(sel_p(p)), MOD(TRAP_KIND, STACK));
}

static void select_alloca(struct sel *s, const struct ir_instr *in)
{
    uint64_t frame = s->ir->module->frame_align_B, align = HD_MAX(in->imm, 16);
    uint32_t size = sel_in_unit(s, sel_word(s, in->src[0], 0)), base = sel_new(s, 1);
    uint32_t up = sel_new(s, 1), end = sel_new(s, 1), rounded = sel_new(s, 1);

    frame = HD_MAX(frame, 16);
    EMIT(s, IADD3, D(up), A(sel_unit(ISA_REG_STACK)), B(sel_number(align - 1)));
    EMIT(s, LOP3, D(base), A(sel_unit(up)), B(sel_number((uint32_t)(0 - align))),
         NUMBER(LUT, LUT_AND));
    EMIT(s, IADD3, D(end), A(sel_unit(base)), B(sel_unit(size)), C(sel_number(frame - 1)));
    EMIT(s, LOP3, D(rounded), A(sel_unit(end)), B(sel_number((uint32_t)(0 - frame))),
         NUMBER(LUT, LUT_AND));
    EMIT(s, MOV, D(ISA_REG_STACK), B(sel_unit(rounded)));
    sel_check_stack(s);
    set_window_address(s, in->dst[0], base);
}

static bool select_stack(struct sel *s, const struct ir_instr *in)
{
    uint32_t unit;

    switch (in->op) {
    case IR_OP_ALLOCA:
        select_alloca(s, in);
        return true;
    case IR_OP_STACKSAVE:
        unit = sel_new(s, 1);
        EMIT(s, MOV, D(unit), B(sel_unit(ISA_REG_STACK)));
        set_window_address(s, in->dst[0], unit);
        return true;
    case IR_OP_STACKRESTORE:
        EMIT(s, MOV, D(ISA_REG_STACK), B(sel_word(s, in->src[0], 0)));
        return true;
    default:
        return false;
    }
}

bool select_memory(struct sel *s, const struct ir_instr *in)
{
    switch (in->op) {
    case IR_OP_LD:
        select_load(s, in);
        return true;
    case IR_OP_ST:
        select_store(s, in);
        return true;
    case IR_OP_ATOM:
        select_atom(s, in);
        return true;
    case IR_OP_FENCE:
        EMIT(s, MEMBAR, MODV(SEM, sel_sem(in)), MODV(SCOPE, in->mem.scope));
        return true;
    case IR_OP_CVTA:
    case IR_OP_CVTA_TO:
        select_cvta(s, in);
        return true;
    case IR_OP_ISSPACEP:
        select_isspace(s, in);
        return true;
    case IR_OP_VARADDR:
        select_varaddr(s, in);
        return true;
    case IR_OP_PREFETCH: /* hints */
    case IR_OP_APPLYPRIORITY:
    case IR_OP_DISCARD:
        return true;
    case IR_OP_POLICY_FRACTIONAL:
    case IR_OP_POLICY_RANGE:
    case IR_OP_POLICY_CVT: /* nobody looks at them */
        sel_set(s, in->dst[0], sel_number(0));
        return true;
    default:
        return select_stack(s, in);
    }
}
