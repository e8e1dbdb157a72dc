/*
 * Private to select*.c: the selection of instructions for one function.
 *
 * A value of the IR is a number, a constant in a bank, or units: one per 32 bits, narrower values
 * are zero-extended. Numbers and constants stay what they are until an instruction has no place for
 * them; sel_emit() brings them into registers then.
 */
#ifndef HD_CODEGEN_SELECT_H
#define HD_CODEGEN_SELECT_H

#include "codegen/mc.h"
#include "codegen/vectorize.h"

enum sel_kind { SEL_NONE, SEL_UNITS, SEL_NUMBER, SEL_CONSTANT };
struct sel_value {
    uint8_t kind; /* enum sel_kind */
    uint8_t bank;
    uint32_t unit; /* the first; or the offset in the bank */
    uint64_t lo, hi;
};

/* Copies side by side that were made in a block, to be read again: by a hash of what they are. */
enum { SEL_TUPLES = 64, SEL_TUPLE_WORDS = 8 };
struct sel_tuples {
    const struct mc_block *b;
    struct sel_made_tuple {
        uint32_t unit, n, words[SEL_TUPLE_WORDS];
    } at[SEL_TUPLES];
};

struct sel {
    struct codegen_unit *unit;
    struct mc_func *f;
    const struct ir_func *ir;
    const struct ir_instr *at;
    struct converge meets;
    struct sel_tuples tuples;
    struct sel_value *values;     /* by id */
    struct vectorize_load **wide; /* by id of a load's first result; NULL: none are */
    struct mc_block **begin;      /* by block of the IR: where it begins */
    struct mc_block **entries;    /* by header: block on all edges into the loop; NULL: none */
    uint32_t *barriers;           /* by point of `meets`: unit */
    struct mc_block *b;           /* being written */
    uint32_t frame_base;          /* unit that holds it; MC_NO_UNIT: it is constant */
    uint32_t return_to;           /* pair that says where a function returns to */
    bool allocates;               /* stack, besides its frame */
    bool has_probes;              /* `probe_at` is where their operands go, one after the other */
    uint32_t probe_at;
    enum hd_status status;
};

/* ---- operands */

static inline struct isa_operand sel_unit(uint32_t unit)
{
    return (struct isa_operand){.kind = ISA_KIND_REG, .value = unit};
}
static inline struct isa_operand sel_number(uint64_t bits)
{
    return (struct isa_operand){.kind = ISA_KIND_IMMEDIATE, .value = (int64_t)bits};
}
static inline struct isa_operand sel_constant(unsigned bank, uint32_t offset)
{
    return (struct isa_operand){
        .kind = ISA_KIND_CONSTANT, .bank = (uint8_t)bank, .value = offset, .ureg = ISA_URZ};
}
static inline struct isa_operand sel_p(uint32_t unit)
{
    return (struct isa_operand){.kind = ISA_KIND_PRED, .value = unit};
}
static inline struct isa_operand sel_not(struct isa_operand o)
{
    o.negate = !o.negate;
    return o;
}
static inline struct isa_operand sel_abs(struct isa_operand o)
{
    o.absolute = true;
    o.negate = false;
    return o;
}
static inline struct isa_operand sel_barrier(uint32_t unit)
{
    return (struct isa_operand){.kind = ISA_KIND_BARRIER, .value = unit};
}
/* A fixed one: what is there is read by the instructions that follow at once. */
static inline struct isa_operand sel_ureg(uint32_t reg)
{
    return (struct isa_operand){.kind = ISA_KIND_UREG, .value = reg};
}
/* LOP3 and PLOP3: bit (a << 2 | b << 1 | c) is the result. */
enum {
    LUT_A = 0xf0,
    LUT_B = 0xcc,
    LUT_C = 0xaa,
    LUT_AND = LUT_A & LUT_B,
    LUT_OR = LUT_A | LUT_B,
    LUT_XOR = LUT_A ^ LUT_B,
    LUT_NOT = 0xff & ~LUT_A,
    LUT_NOT_B = 0xff & ~LUT_B,
    LUT_CHOOSE = 0xca, /* a ? b : c */
    LUT_BY_B = 0xe2,   /* b ? a : c */
};
#define SEL_TRUE  sel_p(ISA_PT)
#define SEL_FALSE sel_not(sel_p(ISA_PT))
#define SEL_RZ    sel_unit(ISA_RZ)

/* Word `i` of a value; a value of 64 bits (a number has all its bits, then); a predicate. */
struct isa_operand sel_word(struct sel *s, const struct ir_value *v, unsigned i);
struct isa_operand sel_pair(struct sel *s, const struct ir_value *v);
struct isa_operand sel_pred(struct sel *s, const struct ir_value *v);
/* Sources of the instruction that is being selected. */
struct isa_operand sel_src(struct sel *s, unsigned i);   /* of at most 32 bits */
struct isa_operand sel_src64(struct sel *s, unsigned i); /* of 64 */
struct isa_operand sel_srcp(struct sel *s, unsigned i);
bool sel_is_number(const struct sel *s, const struct ir_value *v, uint64_t *out);
/* The same in registers; a pair may be RZ, unless its halves are to be named. */
uint32_t sel_in_unit(struct sel *s, struct isa_operand o);
uint32_t sel_in_pair(struct sel *s, struct isa_operand o);
uint32_t sel_in_whole_pair(struct sel *s, struct isa_operand o);
/* From a bank, behind the unit `base`; `size` as the modifier SZ has it. */
void sel_load_bank(struct sel *s, uint32_t d, unsigned bank, uint32_t base, int32_t offset,
                   unsigned size);
/* Units that hold the words side by side, aligned: copies where they do not already. */
uint32_t sel_tuple(struct sel *s, const struct isa_operand *words, unsigned n);
/* Parts of `bits`, 8 or 16, in one register, lowest first; and part i of such registers. */
struct isa_operand sel_packed(struct sel *s, const struct isa_operand *part, unsigned n,
                              unsigned bits);
uint32_t sel_part_of(struct sel *s, uint32_t unit, unsigned i, unsigned bits);
/* Word i of a pair: of a register, number or constant. */
struct isa_operand sel_half(struct isa_operand pair, unsigned i);

/* Registers of a value of this type. */
static inline unsigned sel_words(enum ir_type type)
{
    return HD_MAX(ir_type_bits(type) / 32, 1u);
}
/* New registers; of a result, which is noted. */
uint32_t sel_new(struct sel *s, unsigned width);
uint32_t sel_new_pred(struct sel *s);
uint32_t sel_def(struct sel *s, unsigned i);
/* The result is these units, or this operand, of at most 32 bits or a pair. */
void sel_set_units(struct sel *s, const struct ir_value *v, uint32_t unit);
void sel_set(struct sel *s, const struct ir_value *v, struct isa_operand o);

/* ---- instructions */

struct sel_arg {
    uint8_t kind; /* 0: the end; 1: operand, 2: modifier, 3: guard */
    uint8_t which;
    uint16_t value;
    struct isa_operand operand;
};
#define OPERAND(field, o)                                                                          \
    (struct sel_arg)                                                                               \
    {                                                                                              \
        .kind = 1, .which = ISA_FIELD_##field, .operand = (o)                                      \
    }
#define D(unit)  OPERAND(D, sel_unit(unit))
#define A(o)     OPERAND(A, o)
#define B(o)     OPERAND(B, o)
#define C(o)     OPERAND(C, o)
#define PD(unit) OPERAND(PD, sel_p(unit))
#define PE(unit) OPERAND(PE, sel_p(unit))
#define PA(o)    OPERAND(PA, o)
#define PB(o)    OPERAND(PB, o)
#define PC(o)    OPERAND(PC, o)
#define NUMBER(field, n)                                                                           \
    (struct sel_arg)                                                                               \
    {                                                                                              \
        .kind = 1, .which = ISA_FIELD_##field, .operand = {                                        \
            .kind = ISA_KIND_UINT,                                                                 \
            .value = (int64_t)(n)                                                                  \
        }                                                                                          \
    }
#define MODV(mod, v)                                                                               \
    (struct sel_arg)                                                                               \
    {                                                                                              \
        .kind = 2, .which = ISA_MOD_##mod, .value = (uint16_t)(v)                                  \
    }
#define MOD(mod, name) MODV(mod, ISA_##mod##_##name)
#define GUARD(p)                                                                                   \
    (struct sel_arg)                                                                               \
    {                                                                                              \
        .kind = 3, .operand = (p)                                                                  \
    }
#define EMIT(s, OP, ...)                                                                           \
    sel_emit((s), ISA_##OP, (const struct sel_arg[]){__VA_ARGS__ __VA_OPT__(, ){0}})
struct mc_insn *sel_push(struct sel *s, struct mc_insn insn);
struct mc_insn *sel_emit(struct sel *s, enum isa_op op, const struct sel_arg *args);

void sel_copy(struct sel *s, uint32_t to, struct isa_operand from);
/* New blocks in the middle of one of the IR. */
struct mc_block *sel_block(struct sel *s);
void sel_branch(struct sel *s, struct isa_operand pred, struct mc_block *to, struct mc_block *next);
void sel_jump(struct sel *s, struct mc_block *to);

/* All lanes are meant to be here. */
void sel_come_together(struct sel *s);
/* Lanes of the block may part here, and meet at the start of `at`, where the selection goes on. */
uint32_t sel_part(struct sel *s, struct mc_block *at);
void sel_meet(struct sel *s, struct mc_block *at, uint32_t barrier);

/* The operation has no form: the function cannot be compiled. */
void sel_refuse(struct sel *s, const char *what);

/* ---- what selects what; false: not theirs */

bool select_int(struct sel *s, const struct ir_instr *in);
bool select_float(struct sel *s, const struct ir_instr *in);
bool select_convert(struct sel *s, const struct ir_instr *in);
bool select_memory(struct sel *s, const struct ir_instr *in);
bool select_warp(struct sel *s, const struct ir_instr *in);
bool select_divide(struct sel *s, const struct ir_instr *in);
bool select_call(struct sel *s, const struct ir_instr *in);
bool select_matrix(struct sel *s, const struct ir_instr *in);
bool select_tensor(struct sel *s, const struct ir_instr *in);
bool select_async(struct sel *s, const struct ir_instr *in);
bool select_texture(struct sel *s, const struct ir_instr *in);

/* Where a memory operation is: what the word has room for of its offset is in the word. */
struct sel_address {
    struct isa_operand base; /* a unit, or a pair */
    int64_t offset;
    bool wide;
};
struct sel_address sel_address(struct sel *s, const struct ir_instr *in);
/* The ordering of a memory operation, as the modifier SEM has it. */
unsigned sel_sem(const struct ir_instr *in);
/* A scalar type, as the modifier ATOM_TYPE has it; -1: it has not. */
int sel_atom_type(enum ir_type type);
/* The number of a special register, as S2R and CS2R have it. */
unsigned sel_sreg(enum ir_sreg sreg);
/* Products of 64 bits: the lower half, in the pair d, and the upper half, unsigned. */
void sel_product64(struct sel *s, uint32_t d, struct isa_operand a, struct isa_operand b);
uint32_t sel_high_product64(struct sel *s, struct isa_operand a, struct isa_operand b);
/* A stack that has grown beyond its lane's local memory stops the launch. */
void sel_check_stack(struct sel *s);
/* The low bits of a register, with zeros or copies of the sign above. */
uint32_t sel_masked(struct sel *s, uint32_t unit, unsigned bits, bool is_signed);
/* Words of a type among arguments begin at a register that suits it; which one, and the next. */
uint32_t sel_place(enum ir_type type, uint32_t *next);
/* Calls a routine with words as arguments; the words of its result. */
void sel_routine(struct sel *s, const char *name, const struct isa_operand *args, unsigned nargs,
                 uint32_t result, unsigned nresults);
void select_arguments(struct sel *s);
void select_return(struct sel *s, const struct ir_instr *in);
/* Local memory of the frame: bytes, and their offset. */
uint32_t sel_frame(struct sel *s, uint32_t size_B, uint32_t align_B);

#endif
