/*
 * PTX: text -> module, and module -> text.
 *
 * ptx_parse() reads a whole translation unit of PTX ISA 1.0 .. 9.x into one arena-allocated
 * ptx_module; everything below hangs off that module and dies with the caller's arena. The text is
 * not referenced afterwards. After a successful parse every name is resolved: an operand points at
 * the declaration it uses, labels and functions included, also forward ones. ptx_check() then
 * applies the rules of the opcode table (modifiers, operand counts and kinds, register widths).
 * ptx_print() writes text that parses to an equal module.
 *
 * A module is a list of items; a function body is one flat list of statements in source order,
 * where nested scopes are BLOCK_BEGIN / BLOCK_END markers (names are resolved, so most users skip
 * those):
 *
 *     struct ptx_module *m;
 *     HD_TRY(ptx_parse(arena, text, len, "vecadd.ptx", &m));
 *     HD_TRY(ptx_check(m));
 *     for (struct ptx_func *f = m->funcs; f; f = f->next_func)
 *         for (struct ptx_stmt *s = f->body; s; s = s->next)
 *             if (s->kind == PTX_STMT_INSN)
 *                 visit((struct ptx_insn *)s);
 *
 * `add.ftz.f32 %f3, %f1, %f2` is an instruction whose form (op = PTX_OP_ADD, types[0] =
 * PTX_TYPE_F32, ftz = true) is shared by all instructions with the same dotted text in the module,
 * so a client may cache a decision per form (form->id is dense). Registers of a function are
 * numbered densely: ptx_operand_reg_idx() gives 0 .. func->nregs - 1.
 *
 * ptx_open() leaves out the bodies of a text that was accepted before until they are asked for.
 *
 * Errors: `NAME:LINE:COL: expected X, found 'tok'`, reported once through hd_error(HD_BAD_PTX);
 * lines and columns count from 1, columns in bytes. Threads: distinct modules are independent; a
 * parsed module is read-only for everybody in here but ptx_func_read(), which locks.
 *
 * Source: PTX ISA manual (public), sections 4 (syntax), 5 (state spaces and types), 9
 * (instructions), 10 (special registers), 11 (directives).
 */
#ifndef HD_PTX_PTX_H
#define HD_PTX_PTX_H

#include "base/arena.h"
#include "base/str.h"

/* ---- enumerations, all from tables in spec/ ---- */

enum ptx_type {
    PTX_TYPE_NONE,
#define PTX_TYPE(id, name, bits, class_) PTX_TYPE_##id,
#include "ptx_types.def"
#undef PTX_TYPE
    PTX_TYPE_COUNT
};

enum ptx_type_class {
    PTX_CLASS_NONE,
    PTX_CLASS_PRED,
    PTX_CLASS_BITS,
    PTX_CLASS_UINT,
    PTX_CLASS_SINT,
    PTX_CLASS_FLOAT,
    PTX_CLASS_OPAQUE,
};

/* id, "name" */
#define PTX_SPACE_LIST(X)                                                                          \
    X(REG, "reg")                                                                                  \
    X(SREG, "sreg")                                                                                \
    X(CONST, "const")                                                                              \
    X(GLOBAL, "global")                                                                            \
    X(LOCAL, "local")                                                                              \
    X(PARAM, "param")                                                                              \
    X(PARAM_ENTRY, "param::entry")                                                                 \
    X(PARAM_FUNC, "param::func")                                                                   \
    X(SHARED, "shared")                                                                            \
    X(SHARED_CTA, "shared::cta")                                                                   \
    X(SHARED_CLUSTER, "shared::cluster")                                                           \
    X(TEX, "tex")

enum ptx_space {
    PTX_SPACE_GENERIC, /* none written */
#define X(id, name) PTX_SPACE_##id,
    PTX_SPACE_LIST(X)
#undef X
        PTX_SPACE_COUNT
};

/* Modifiers: one id per row of ptx_mods.def, then the three that carry a payload. */
enum ptx_mod {
    PTX_MOD_NONE,
#define PTX_MOD(id, text, class_, lowering) PTX_MOD_##id,
#include "ptx_mods.def"
#undef PTX_MOD
    PTX_MOD_TYPE,  /* payload: enum ptx_type */
    PTX_MOD_SPACE, /* payload: enum ptx_space */
    PTX_MOD_SHAPE, /* payload: m, n, k (k = 0 for .m8n8) */
    PTX_MOD_COUNT
};

enum ptx_op {
    PTX_OP_NONE,
#define PTX_OP(id, name, min, max, sig, classes, own, ptx_ver, sm, doc, lowering, guard)           \
    PTX_OP_##id,
#include "ptx_ops.def"
#undef PTX_OP
    PTX_OP_COUNT
};

enum ptx_sreg {
    PTX_SREG_NONE,
#define PTX_SREG(id, name, type, comps, count, doc) PTX_SREG_##id,
#include "ptx_sregs.def"
#undef PTX_SREG
    PTX_SREG_COUNT
};

/* Decoded groups of modifiers. The zero value always means "not written". */
enum ptx_round {
    PTX_ROUND_NONE,
    PTX_ROUND_RN,
    PTX_ROUND_RZ,
    PTX_ROUND_RM,
    PTX_ROUND_RP,
    PTX_ROUND_RNA,
    PTX_ROUND_RS,  /* stochastic */
    PTX_ROUND_RNI, /* the four integer roundings of cvt */
    PTX_ROUND_RZI,
    PTX_ROUND_RMI,
    PTX_ROUND_RPI,
};

enum ptx_cmp {
    PTX_CMP_NONE,
    PTX_CMP_EQ,
    PTX_CMP_NE,
    PTX_CMP_LT,
    PTX_CMP_LE,
    PTX_CMP_GT,
    PTX_CMP_GE,
    PTX_CMP_LO, /* unsigned spellings */
    PTX_CMP_LS,
    PTX_CMP_HI,
    PTX_CMP_HS,
    PTX_CMP_EQU, /* unordered float compares: true when an operand is NaN */
    PTX_CMP_NEU,
    PTX_CMP_LTU,
    PTX_CMP_LEU,
    PTX_CMP_GTU,
    PTX_CMP_GEU,
    PTX_CMP_NUM, /* neither is NaN */
    PTX_CMP_NAN, /* one is NaN */
};

/* The operation inside set/setp (and, or, xor), atom, red, redux, bar.red, multimem, bulk
 * reduction. */
enum ptx_subop {
    PTX_SUBOP_NONE,
    PTX_SUBOP_AND,
    PTX_SUBOP_OR,
    PTX_SUBOP_XOR,
    PTX_SUBOP_ADD,
    PTX_SUBOP_INC,
    PTX_SUBOP_DEC,
    PTX_SUBOP_MIN,
    PTX_SUBOP_MAX,
    PTX_SUBOP_CAS,
    PTX_SUBOP_EXCH,
    PTX_SUBOP_POPC,
};

enum ptx_half {
    PTX_HALF_NONE,
    PTX_HALF_LO,
    PTX_HALF_HI,
    PTX_HALF_WIDE,
};

enum ptx_sem {
    PTX_SEM_NONE,
    PTX_SEM_WEAK,
    PTX_SEM_RELAXED,
    PTX_SEM_ACQUIRE,
    PTX_SEM_RELEASE,
    PTX_SEM_ACQ_REL,
    PTX_SEM_SC,
    PTX_SEM_VOLATILE,
    PTX_SEM_MMIO, /* .mmio.relaxed */
};

enum ptx_scope {
    PTX_SCOPE_NONE,
    PTX_SCOPE_CTA,
    PTX_SCOPE_CLUSTER,
    PTX_SCOPE_GPU, /* also membar.gl */
    PTX_SCOPE_SYS,
};

enum ptx_cache {
    PTX_CACHE_NONE,
    PTX_CACHE_CA,
    PTX_CACHE_CG,
    PTX_CACHE_CS,
    PTX_CACHE_LU,
    PTX_CACHE_CV,
    PTX_CACHE_WB,
    PTX_CACHE_WT,
};

/* ---- instruction form: the dotted opcode text, decoded once per distinct text ---- */

struct ptx_mod_use {
    uint16_t id;   /* enum ptx_mod */
    uint16_t m;    /* SHAPE: m;  TYPE: enum ptx_type;  SPACE: enum ptx_space */
    uint16_t n, k; /* SHAPE */
};

#define PTX_FORM_MAX_MODS   24
#define PTX_FORM_MAX_TYPES  6
#define PTX_FORM_MAX_SPACES 3

struct ptx_form {
    struct hd_str text; /* "ld.global.nc.v4.f32", canonical, without blanks */
    uint32_t id;        /* dense, module->nforms in all */
    uint16_t
        op; /* enum ptx_op: the longest table name that matches ("bar.sync", "cp.async.bulk") */
    uint8_t nmods, ntypes, nspaces;
    uint8_t types[PTX_FORM_MAX_TYPES]; /* enum ptx_type, in source order: cvt.f32.s32 -> F32, S32 */
    uint8_t
        spaces[PTX_FORM_MAX_SPACES]; /* enum ptx_space, in source order: cp.async.shared.global */
    uint8_t round;                   /* enum ptx_round */
    uint8_t round2;                  /* the second rounding of e.g. cvt.rn.rz...; else NONE */
    uint8_t cmp;                     /* enum ptx_cmp; set and setp only */
    uint8_t subop;                   /* enum ptx_subop */
    uint8_t half;  /* enum ptx_half; not for set/setp, where .lo/.hi are compares */
    uint8_t sem;   /* enum ptx_sem */
    uint8_t scope; /* enum ptx_scope */
    uint8_t cache; /* enum ptx_cache */
    uint8_t vec;   /* 1, 2, 4 or 8 */
    bool ftz, sat, satfinite, relu, approx, full, cc, uni, sync, aligned, nc, noftz;
    uint16_t
        mode; /* enum ptx_mod of vote (.all .any .uni .ballot), match, shfl, prmt, testp; else 0 */
    struct ptx_mod_use shape; /* first matrix shape; id 0 when there is none */
    struct ptx_mod_use mods[PTX_FORM_MAX_MODS];
};

/* The element type that most instructions mean: types[0]; NONE when untyped. */
static inline enum ptx_type ptx_form_type(const struct ptx_form *form)
{
    return (enum ptx_type)form->types[0];
}

/* The first state space; GENERIC when none is written. */
static inline enum ptx_space ptx_form_space(const struct ptx_form *form)
{
    return (enum ptx_space)form->spaces[0];
}

/* True when the modifier was written, in whatever position. */
static inline bool ptx_form_has(const struct ptx_form *form, enum ptx_mod mod)
{
    for (unsigned i = 0; i < form->nmods; i++)
        if (form->mods[i].id == mod)
            return true;
    return false;
}

/* ---- declarations ---- */

struct ptx_srcloc {
    uint32_t line, col;
};

enum ptx_sym_kind {
    PTX_SYM_REG,     /* struct ptx_reg_decl */
    PTX_SYM_VAR,     /* struct ptx_var: variables and parameters of every space but .reg */
    PTX_SYM_FUNC,    /* struct ptx_func */
    PTX_SYM_LABEL,   /* struct ptx_label */
    PTX_SYM_PROTO,   /* struct ptx_proto: .callprototype */
    PTX_SYM_TARGETS, /* struct ptx_targets: .calltargets, .branchtargets */
    PTX_SYM_ALIAS,   /* struct ptx_alias */
};

/* Head of everything that has a name. Cast to the struct that `kind` says. */
struct ptx_sym {
    struct hd_str name; /* a register range is known by its base: "%r" for %r<100> */
    uint8_t kind;       /* enum ptx_sym_kind */
    uint8_t is_range;
    uint16_t depth; /* 0 module, 1 function parameters, 2 function body, 3.. nested scopes */
    uint32_t hash;
    struct ptx_srcloc srcloc;
    struct ptx_sym *chain; /* parser's hash bucket */
};

/* `.reg .b32 %r<100>;` (count 100, is_range) or one name of `.reg .pred p, q;` (count 1). */
struct ptx_reg_decl {
    struct ptx_sym sym;
    uint8_t type; /* enum ptx_type */
    uint8_t vec;  /* 1, 2 or 4 */
    uint32_t count;
    uint32_t
        base;    /* dense number of register 0 in the function; 0 for the module's own registers */
    bool global; /* declared at module scope (allowed without an ABI) */
    bool is_param;             /* .reg parameter or return value of a .func */
    struct ptx_reg_decl *next; /* in declaration order: func->regs or module->regs */
};

enum ptx_linkage {
    PTX_LINK_NONE, /* internal */
    PTX_LINK_EXTERN,
    PTX_LINK_VISIBLE,
    PTX_LINK_WEAK,
    PTX_LINK_COMMON,
};

enum ptx_init_kind {
    PTX_INIT_INT,    /* u.bits */
    PTX_INIT_F32,    /* 0f literal: u.bits, low 32 bits */
    PTX_INIT_F64,    /* 0d or decimal literal: u.bits are the double's */
    PTX_INIT_SYM,    /* u.sym + offset; generic(sym) sets generic; mask(sym) sets mask */
    PTX_INIT_LIST,   /* u.list, count */
    PTX_INIT_STRING, /* u.text, count bytes, escapes decoded, no terminator added */
    PTX_INIT_NAME,   /* .section data: u.text is a section or label, + offset */
    PTX_INIT_DIFF,   /* .section data: label u.text minus label text2 */
    PTX_INIT_FIELD,  /* .samplerref: field u.text has value text2 */
};

struct ptx_init {
    uint8_t kind; /* enum ptx_init_kind */
    bool generic;
    bool is_unsigned; /* INT: U suffix, or above INT64_MAX */
    uint32_t count;
    union {
        uint64_t bits;
        struct ptx_sym *sym;
        struct ptx_init *list;
        const char *text;
    } u;
    int64_t offset;
    uint64_t mask;     /* 0xff(sym): 0xff; 0 when absent */
    const char *text2; /* DIFF, FIELD */
    struct ptx_srcloc srcloc;
};

#define PTX_MAX_DIMS 6

/* A variable or parameter in any space except .reg. */
struct ptx_var {
    struct ptx_sym sym;
    uint8_t space;   /* enum ptx_space: GLOBAL CONST SHARED LOCAL PARAM TEX, SHARED_CTA... */
    uint8_t linkage; /* enum ptx_linkage */
    uint8_t type;    /* enum ptx_type */
    uint8_t vec;     /* 1, 2, 4 or 8 */
    uint8_t ndims;
    bool is_array;      /* has brackets; dims[0] == 0 means [] */
    bool is_param;      /* parameter of a function (else a .param variable of a call sequence) */
    bool is_ret;        /* return parameter */
    bool is_ptr;        /* .ptr attribute */
    uint8_t ptr_space;  /* .ptr .global; GENERIC when none */
    uint32_t ptr_align; /* .ptr .align n; 0 when none */
    bool managed;       /* .attribute(.managed) */
    bool unified;       /* .attribute(.unified(uuid1, uuid2)) */
    uint64_t uuid[2];
    uint8_t const_bank; /* .const[n] of old PTX; 0 otherwise */
    uint32_t align;     /* effective, bytes */
    bool align_written;
    uint64_t dims[PTX_MAX_DIMS];
    uint64_t size_B; /* 0 for unsized arrays */
    uint32_t param_idx;
    struct ptx_init *init; /* NULL when not initialised */
    struct ptx_var *next;  /* module->vars, func->params, func->rets, or func->vars (locals) */
    struct ptx_var *def;   /* the declaration that defines storage; itself unless redeclared */
    struct ptx_func *func; /* enclosing function; NULL at module scope */
};

struct ptx_label {
    struct ptx_sym sym;
    struct ptx_stmt *stmt; /* the label's statement; its successor is the target */
    uint32_t idx;          /* dense in the function, 0 .. func->nlabels - 1 */
};

/* Signature of a call target: .callprototype, and the shape of a declaration. */
struct ptx_proto {
    struct ptx_sym sym;
    struct ptx_var *rets, *params; /* linked by next; .reg parameters appear with space REG */
    uint32_t nrets, nparams;
    bool noreturn;
    bool has_abi_preserve, has_abi_preserve_control;
    uint32_t abi_preserve, abi_preserve_control;
    struct ptx_proto *next; /* func->protos */
};

/* `name: .calltargets f, g;` or `name: .branchtargets L1, L2;` */
struct ptx_targets {
    struct ptx_sym sym;
    bool is_branch;
    uint32_t count;
    struct ptx_operand *items; /* SYM or LABEL operands */
};

struct ptx_alias {
    struct ptx_sym sym;
    struct ptx_func *target;
    struct ptx_func *decl; /* the prototype that the alias gives a body */
};

/* ---- operands ---- */

enum ptx_operand_kind {
    PTX_OPND_NONE,
    PTX_OPND_REG,   /* u.reg, index, comp, offset to be added; negate/invert flags */
    PTX_OPND_SREG,  /* index2 = enum ptx_sreg, index = number in its family, comp */
    PTX_OPND_INT,   /* u.bits; flag is_unsigned */
    PTX_OPND_F32,   /* 0f: low 32 of u.bits */
    PTX_OPND_F64,   /* 0d or decimal: u.bits are the double's; convert when the type is f32 */
    PTX_OPND_SYM,   /* address of u.sym (variable, parameter, function) + offset */
    PTX_OPND_LABEL, /* u.label */
    PTX_OPND_ADDR,  /* [base + offset, items...]: base in `base`, u.reg/u.sym/u.bits, index */
    PTX_OPND_VEC,   /* {a, b, ...}: items */
    PTX_OPND_TUPLE, /* (a, b, ...) of call: items, may be empty */
    PTX_OPND_PAIR,  /* a|b: items[0], items[1] */
    PTX_OPND_SINK,  /* _ */
};

/* Component and sub-word selectors. */
enum ptx_comp {
    PTX_COMP_NONE,
    PTX_COMP_X,
    PTX_COMP_Y,
    PTX_COMP_Z,
    PTX_COMP_W,
    PTX_COMP_R, /* .r .g .b .a spell x y z w and are kept for printing */
    PTX_COMP_G,
    PTX_COMP_B,
    PTX_COMP_A,
    PTX_COMP_B0, /* video sub-word selectors and their combinations */
    PTX_COMP_B1,
    PTX_COMP_B2,
    PTX_COMP_B3,
    PTX_COMP_H0,
    PTX_COMP_H1,
    PTX_COMP_MASK,    /* .b3210, .h10: digits packed in index2 */
    PTX_COMP_UNIFIED, /* [a].unified */
};

struct ptx_operand {
    uint8_t kind;         /* enum ptx_operand_kind */
    uint8_t base;         /* ADDR: REG, SYM or INT */
    uint8_t comp;         /* enum ptx_comp */
    bool invert : 1;      /* !p */
    bool negate : 1;      /* -r (video instructions) */
    bool is_unsigned : 1; /* INT: U suffix or too big for int64 */
    bool is_element : 1;  /* SYM: array[n], which is an address where one is expected */
    uint32_t index;       /* REG: number within the range; SREG: within the family */
    union {
        struct ptx_reg_decl *reg;
        struct ptx_sym *sym;
        struct ptx_label *label;
        uint64_t bits;
    } u;
    int64_t offset; /* SYM, ADDR, REG */
    struct ptx_operand *items;
    struct ptx_operand *subscript; /* array[register+n]: counts elements; NULL for array[n] */
    uint32_t nitems;
    uint32_t index2; /* SREG: enum ptx_sreg; comp MASK: digits, low nibble first, count in the top
                        byte */
    struct ptx_srcloc srcloc;
};

/* ---- statements ---- */

enum ptx_stmt_kind {
    PTX_STMT_INSN,        /* struct ptx_insn */
    PTX_STMT_LABEL,       /* struct ptx_stmt_decl, u.label */
    PTX_STMT_REG,         /* struct ptx_stmt_decl, u.reg */
    PTX_STMT_VAR,         /* struct ptx_stmt_decl, u.var */
    PTX_STMT_PROTO,       /* struct ptx_stmt_decl, u.proto */
    PTX_STMT_TARGETS,     /* struct ptx_stmt_decl, u.targets */
    PTX_STMT_PRAGMA,      /* struct ptx_stmt_decl, u.text */
    PTX_STMT_LOC,         /* struct ptx_stmt_decl, u.loc */
    PTX_STMT_BLOCK_BEGIN, /* plain struct ptx_stmt */
    PTX_STMT_BLOCK_END,
};

/* `.loc file line col, function_name L+off, inlined_at file line col` */
struct ptx_loc {
    uint32_t file, line, col;
    bool has_inlined;
    struct hd_str function_name; /* label in .debug_str; empty when absent */
    int64_t function_offset;
    uint32_t inlined_file, inlined_line, inlined_col;
};

struct ptx_stmt {
    uint8_t kind; /* enum ptx_stmt_kind */
    struct ptx_srcloc srcloc;
    struct ptx_stmt *next;
    const struct ptx_loc *loc; /* the .loc in force; NULL before the first */
};

struct ptx_stmt_decl {
    struct ptx_stmt stmt;
    union {
        struct ptx_label *label;
        struct ptx_reg_decl *reg;
        struct ptx_var *var;
        struct ptx_proto *proto;
        struct ptx_targets *targets;
        struct ptx_loc *loc;
        struct hd_str text;
    } u;
};

/*
 * A call always has four operands: TUPLE of returns, the target (SYM of a function or REG), TUPLE
 * of arguments, and the prototype or target list (kind NONE when absent).
 */
struct ptx_insn {
    struct ptx_stmt stmt;
    const struct ptx_form *form;
    struct ptx_operand guard; /* kind NONE, or a predicate REG with `invert` for @!p */
    uint32_t nops;
    struct ptx_operand ops[];
};

/* ---- functions and modules ---- */

/*
 * Where a body lies in the text of its module; offsets count from the text's beginning. `outlives`:
 * it declares variables that are the module's (.global, .const ... inside of a function), so the
 * linker needs it.
 */
struct ptx_extent {
    uint32_t begin, end;       /* of its '{'; behind its '}' */
    uint32_t line, line_start; /* at `end`: the line, and where that begins */
    uint32_t outlives;
};

struct ptx_func {
    struct ptx_sym sym;
    struct ptx_srcloc srcloc;
    bool is_entry;
    bool has_body;
    uint8_t linkage;
    bool unified;
    uint64_t uuid[2];
    struct ptx_var *rets, *params; /* linked by next; a .reg one has space REG and is in regs too */
    uint32_t nrets, nparams;
    /* Performance directives; 0 or false when absent. */
    uint32_t maxnreg, maxntid[3], reqntid[3], minnctapersm, maxnctapersm;
    uint32_t reqnctapercluster[3], maxclusterrank;
    bool noreturn, explicitcluster, blocksareclusters;
    bool has_reqnctapercluster; /* also `.reqnctapercluster` without dimensions */
    bool has_abi_preserve, has_abi_preserve_control;
    uint32_t abi_preserve, abi_preserve_control;
    uint32_t npragmas;
    struct hd_str *pragmas; /* those before the body */
    /* Body; of a module that ptx_open() made: once ptx_func_read() read it. */
    struct ptx_extent extent;
    struct ptx_unread *unread; /* ptx_open()'s */
    struct ptx_stmt *body;     /* flat list, source order */
    struct ptx_reg_decl *regs;
    struct ptx_var *vars; /* every local, shared, param... variable declared inside */
    uint32_t nregs, nlabels, ninsns;
    struct ptx_func *next_func; /* module->funcs: every declaration and definition */
    struct ptx_func *def;       /* the definition of this name, or the first declaration */
};

struct ptx_file {
    uint32_t idx;
    struct hd_str path;
    bool has_time;
    uint64_t mtime, size_B;
    struct ptx_file *next;
};

/* One line of a .section: a label, or `.b32 values`. */
struct ptx_dwarf_line {
    struct hd_str label; /* set for a label line */
    uint8_t type;
    uint32_t count;
    struct ptx_init *values;
    struct ptx_dwarf_line *next;
};

struct ptx_section {
    struct hd_str name; /* ".debug_info" */
    struct ptx_dwarf_line *lines;
};

enum ptx_item_kind {
    PTX_ITEM_FUNC,
    PTX_ITEM_VAR,
    PTX_ITEM_REG,
    PTX_ITEM_ALIAS,
    PTX_ITEM_FILE,
    PTX_ITEM_SECTION,
    PTX_ITEM_PRAGMA, /* u.text */
    PTX_ITEM_LOC,    /* .loc at module scope, in front of a function */
    PTX_ITEM_DWARF,  /* @@DWARF line of old PTX: u.text is the rest of the line */
};

struct ptx_item {
    uint8_t kind; /* enum ptx_item_kind */
    struct ptx_item *next;
    union {
        struct ptx_func *func;
        struct ptx_var *var;
        struct ptx_reg_decl *reg;
        struct ptx_alias *alias;
        struct ptx_file *file;
        struct ptx_section *section;
        struct ptx_loc *loc;
        struct hd_str text;
    } u;
};

/* One `.target` name: `sm_90a` -> arch 90, suffix 'a'. */
struct ptx_target {
    uint16_t arch; /* 0 for an option (texmode_unified, debug, ...) */
    char suffix;   /* 'a', 'f' or 0 */
    struct hd_str name;
};

#define PTX_MAX_TARGETS 8

/*
 * Of a version, major and minor. It is the vendor's text, from which programs (XLA) read the newest
 * version that they may write: CUDA 13.0's.
 */
#define PTX_UNSUPPORTED_VERSION "Unsupported .version %u.%u; current version is '9.0'"

struct ptx_module {
    struct hd_str name;
    uint16_t version_major, version_minor;
    uint16_t ntargets;
    struct ptx_target targets[PTX_MAX_TARGETS];
    uint16_t arch; /* of the first sm_ target */
    char arch_suffix;
    bool debug; /* .target ..., debug */
    bool texmode_independent;
    bool map_f64_to_f32;
    uint8_t address_size; /* 32 or 64 */
    bool address_size_written;
    struct ptx_item *items;    /* source order */
    struct ptx_func *funcs;    /* declarations and definitions, source order */
    struct ptx_var *vars;      /* module-scope variables, source order */
    struct ptx_reg_decl *regs; /* module-scope registers */
    struct ptx_file *files;
    uint32_t nforms;
    const struct ptx_form **forms; /* by id */
    uint32_t nregs;                /* module-scope registers */
    struct ptx_symtab *symtab;
    struct hd_arena *arena;
    struct ptx_later *later; /* of ptx_open(): what reads bodies; else NULL */
};

/* ---- API ---- */

/*
 * Parses `len` bytes (a trailing run of NULs is ignored) into *out_module, allocated from `arena`;
 * `name` stands in front of error messages. HD_BAD_PTX with the place, or HD_NO_MEMORY.
 */
enum hd_status ptx_parse(struct hd_arena *arena, const char *text, size_t len, const char *name,
                         struct ptx_module **out_module) HD_MUST_CHECK;

/*
 * Parses and checks a text without keeping it, in less time and memory than ptx_parse() and
 * ptx_check() take, and tells the extents of the bodies in their order. A NUL follows the text.
 * HD_BAD_PTX: something is wrong with it; ask those two for what they find first. HD_NO_MEMORY,
 * also when `found` returns false.
 */
typedef bool ptx_extent_fn(void *user, const struct ptx_extent *extent);
enum hd_status ptx_verify(const char *text, size_t len, const char *name, ptx_extent_fn *found,
                          void *user) HD_MUST_CHECK;

/*
 * Bodies on demand, for a text that ptx_parse() and ptx_check() accepted before, or ptx_verify().
 * `extents` has what func->extent of the functions with bodies was then, in their order. Everything
 * but bodies is parsed; a body comes when ptx_func_read() asks for it, and is the one that
 * ptx_parse() would have made (forms are numbered in another order).
 *
 * A NUL follows the text, which must outlive the module. The module has its own memory and goes
 * with ptx_close(). HD_NOT_FOUND: the extents are not this text's; HD_BAD_PTX, HD_NO_MEMORY.
 */
enum hd_status ptx_open(const char *text, size_t len, const char *name,
                        const struct ptx_extent *extents, size_t count,
                        struct ptx_module **out_module) HD_MUST_CHECK;
void ptx_close(struct ptx_module *module); /* nothing happens to those of ptx_parse() */
/*
 * The body with its registers, variables and counts is there afterwards; of a module of ptx_parse()
 * it always is. Any thread may ask; a function that was not asked for must not be looked into.
 * HD_NO_MEMORY: it may be asked for again.
 */
enum hd_status ptx_func_read(const struct ptx_func *func) HD_MUST_CHECK;

/* Applies the opcode table's rules to a parsed module. HD_BAD_PTX with the place of the first
 * fault. */
enum hd_status ptx_check(const struct ptx_module *module) HD_MUST_CHECK;

/* Appends canonical text; it parses to an equal module. */
void ptx_print(const struct ptx_module *module, struct hd_buf *buf);
/* Append one instruction, one operand, without a newline: for messages and dumps. */
void ptx_print_insn(const struct ptx_insn *insn, struct hd_buf *buf);
void ptx_print_operand(const struct ptx_operand *operand, struct hd_buf *buf);

/* Finds a module-scope name (function, variable, alias); NULL when absent. Functions: the
 * definition. */
struct ptx_sym *ptx_module_find(const struct ptx_module *module, struct hd_str name);

/*
 * Of a .texref or .samplerref variable the bytes are: three address modes (0 wrap, 1 clamp, 2
 * mirror, 3 border), linear filter, normalised coordinates, unnormalised by force; bits 0 to 2 for
 * the address modes that were given, 0. Fields that what is bound says for itself are passed over.
 *
 * Writes a variable's initial bytes into dst[size_B] (zeroed by the caller) and calls `reloc` for
 * each address in it: width bytes at `at` receive (address of sym + addend), as generic address
 * when `generic`; a nonzero mask selects and right-aligns one byte field of the address.
 */
typedef void (*ptx_reloc_fn)(void *ctx, uint64_t at, unsigned width_B, const struct ptx_sym *sym,
                             int64_t addend, bool generic, uint64_t mask);
enum hd_status ptx_var_image(const struct ptx_var *var, uint8_t *dst, uint64_t size_B,
                             ptx_reloc_fn reloc, void *ctx) HD_MUST_CHECK;

/* Which element of a vector a selector names: .x and .r are 0. */
static inline uint32_t ptx_comp_element(unsigned comp)
{
    return comp >= PTX_COMP_R && comp <= PTX_COMP_A   ? comp - PTX_COMP_R
           : comp >= PTX_COMP_X && comp <= PTX_COMP_W ? comp - PTX_COMP_X
                                                      : 0;
}

/* A vector register without a selector: it stands for its elements. */
static inline bool ptx_operand_is_vector(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPND_REG && operand->u.reg->vec > 1 && !operand->comp;
}

#define PTX_MAX_VECTOR 8

/* That operand as the list of its elements, {x.x, x.y}; they lie in `items`. */
static inline struct ptx_operand ptx_operand_elements(const struct ptx_operand *vector,
                                                      struct ptx_operand items[PTX_MAX_VECTOR])
{
    for (unsigned i = 0; i < vector->u.reg->vec; i++) {
        items[i] = *vector;
        items[i].comp = (uint8_t)(PTX_COMP_X + i);
    }
    return (struct ptx_operand){.kind = PTX_OPND_VEC,
                                .items = items,
                                .nitems = vector->u.reg->vec,
                                .srcloc = vector->srcloc};
}

/* Dense register number in the function; every element of a vector has its own. */
static inline uint32_t ptx_operand_reg_idx(const struct ptx_operand *operand)
{
    const struct ptx_reg_decl *reg = operand->u.reg;
    uint32_t element = reg->vec > 1 ? ptx_comp_element(operand->comp) : 0;
    return reg->base + operand->index * reg->vec + element;
}

/* ---- tables ---- */

struct ptx_op_info {
    const char *name;
    uint8_t min_ops, max_ops;
    uint8_t ptx_version; /* 10 * major + minor that introduced it */
    uint8_t sm;          /* lowest target */
    const char *sig;     /* operand roles, see ptx_ops.def */
    uint64_t classes;    /* allowed modifier classes, PTX_MC_x bits */
    const char *own;     /* further modifiers it allows, blank-separated */
    const char *doc;
};

struct ptx_sreg_info {
    const char *name;
    uint8_t type;
    uint8_t comps;
    uint8_t count;
    const char *doc;
};

const struct ptx_op_info *ptx_op_info(enum ptx_op op); /* valid for 1 .. PTX_OP_COUNT - 1 */
const char *ptx_opcode_name(enum ptx_op op);           /* "" for PTX_OP_NONE */
const char *ptx_mod_name(enum ptx_mod mod);            /* text after the dot */
const char *ptx_type_name(enum ptx_type type);
unsigned ptx_type_bits(enum ptx_type type);
enum ptx_type_class ptx_type_class(enum ptx_type type);

/* What array[1] is away from array[0]. */
static inline uint64_t ptx_var_element_B(const struct ptx_var *var)
{
    uint64_t size_B = (uint64_t)var->vec * ((ptx_type_bits((enum ptx_type)var->type) + 7) / 8);
    for (unsigned i = 1; i < var->ndims; i++)
        size_B *= var->dims[i];
    return size_B;
}

const char *ptx_space_name(enum ptx_space space);
const struct ptx_sreg_info *ptx_sreg_info(enum ptx_sreg sreg);
/* PTX_TYPE_NONE, PTX_OP_NONE when unknown. */
enum ptx_type ptx_type_from_name(struct hd_str name);
enum ptx_op ptx_op_from_name(struct hd_str name);

#endif
