/*
 * What the payloads and immediates of instructions mean to the IR itself: how many operands they
 * have, how they are packed, what of them is wrong. For the validator, for who builds instructions
 * and for who puts probes in front of them. What the instructions compute is src/model's.
 */
#ifndef HD_IR_PAYLOAD_H
#define HD_IR_PAYLOAD_H

#include "ir/ir.h"

/* ---- textures and surfaces (model/texture.h) */

/*
 * Sources of an instruction (IR_OP_TEX): the handle, b64; that of the sampler, b64, when it is one
 * of its own; then words, b32, in this order:
 *   layer, sample or face number, if the geometry has one, first; coordinates
 *   level of detail; or the gradients by x, then those by y
 *   offsets, one per coordinate of the image
 *   value to compare with
 *   what is stored: words; of 64 bits lower and upper half; of 8 and 16 bits a word each
 * Results are words likewise.
 */

/* How many words: sources behind the handles, results, and of these what is stored. */
unsigned ir_tex_source_words(const struct ir_tex *op);
unsigned ir_tex_result_words(const struct ir_tex *op);
unsigned ir_tex_data_words(const struct ir_tex *op);
/* Coordinates of the image: 1 to 3; words in front of them: layer, sample; and both. */
unsigned ir_tex_dimensions(const struct ir_tex *op);
unsigned ir_tex_leading_words(const struct ir_tex *op);
unsigned ir_tex_coordinates(const struct ir_tex *op);
/* What the payload says is wrong, or NULL. */
const char *ir_tex_check(const struct ir_tex *op);
static inline bool ir_tex_has(const struct ir_tex *op, enum ir_tex_flag flag)
{
    return (op->flags >> flag & 1) != 0;
}
static inline bool ir_tex_is_cube(const struct ir_tex *op)
{
    return op->geometry == IR_TEX_CUBE || op->geometry == IR_TEX_ACUBE;
}
static inline bool ir_tex_is_surface(const struct ir_tex *op)
{
    return op->what >= IR_TEX_SULD;
}

/* Does it access texels? A surface is written unless it is loaded. */
static inline bool ir_tex_has_texels(const struct ir_tex *op)
{
    return op->what == IR_TEX_FETCH || op->what == IR_TEX_GATHER || op->what == IR_TEX_SULD ||
           ir_tex_data_words(op);
}

/* ---- mbarriers (model/mbarrier.h) */

static inline bool ir_mbarrier_tests(enum ir_mbarrier op)
{
    return op == IR_MBARRIER_TEST || op == IR_MBARRIER_TEST_PARITY;
}

/* What is done at each barrier of a cast; others are themselves. */
static inline enum ir_mbarrier ir_mbarrier_of_cast(enum ir_mbarrier op)
{
    return op == IR_MBARRIER_CAST_TX       ? IR_MBARRIER_COMPLETE_TX
           : op == IR_MBARRIER_CAST_ARRIVE ? IR_MBARRIER_ARRIVE
                                           : op;
}

/* The word is another one then, whatever it was. */
static inline bool ir_mbarrier_begins(enum ir_mbarrier op)
{
    return op == IR_MBARRIER_INIT || op == IR_MBARRIER_INVAL;
}

static inline bool ir_mbarrier_arrives(enum ir_mbarrier op)
{
    return op == IR_MBARRIER_ARRIVE || op == IR_MBARRIER_DROP;
}

/* ---- multimem (model/multimem.h) */

/*
 * Sources (IR_OP_MULTIMEM), behind the address: of a store or reduction the registers; of a copy
 * the generic address of the source, in shared memory, the bytes, b64, and which of each 16 bytes
 * are written, b32, which reductions have not. Results are those of loads, registers likewise.
 */
enum ir_multimem_verb {
    IR_MULTIMEM_LOAD,  /* what the operation makes of all replicas */
    IR_MULTIMEM_STORE, /* to each replica */
    IR_MULTIMEM_RED,
    IR_MULTIMEM_COPY, /* blocks of 16 bytes */
    IR_MULTIMEM_COPY_RED,
    IR_MULTIMEM_VERBS
};

/* What generated code hands over as a word. */
struct ir_multimem {
    uint8_t verb;       /* enum ir_multimem_verb */
    uint8_t type;       /* enum ir_type of the elements */
    uint8_t atom;       /* enum ir_atom: what is done with them */
    uint8_t register_B; /* of one register: 1 to 8; maybe several elements */
    uint8_t registers;  /* together 4, 8 or 16 bytes */
    bool wide;          /* sums of f16 and bf16 are f32, those of e4m3 and e5m2 f16 */
    uint8_t unused[2];
};

enum { IR_MULTIMEM_REGISTERS = 8 };

/* The immediate of IR_OP_MULTIMEM. */
uint64_t ir_multimem_imm(enum ir_multimem_verb verb, unsigned register_B, bool wide);
struct ir_multimem ir_multimem_of(const struct ir_instr *in);
/* What is wrong with the instruction's operands and fields, or NULL. */
const char *ir_multimem_check(const struct ir_instr *in);
static inline bool ir_multimem_copies(const struct ir_multimem *m)
{
    return m->verb >= IR_MULTIMEM_COPY;
}

/* ---- tensor copies (model/tensor_copy.h) */

enum { IR_TENSOR_RANK_MAX = 5 }; /* dimensions of a tensor map */

enum ir_tensor_way { IR_TENSOR_LOAD, IR_TENSOR_STORE, IR_TENSOR_REDUCE, IR_TENSOR_WAYS };

enum ir_tensor_mode {
    IR_TENSOR_TILE,
    IR_TENSOR_ROWS4,  /* tile::gather4, tile::scatter4 */
    IR_TENSOR_PIXELS, /* im2col; with im2col_no_offs all offsets are 0 */
    IR_TENSOR_PIXELS_W,
    IR_TENSOR_PIXELS_W_128,
    IR_TENSOR_MODES
};

/* The immediate of IR_OP_TENSORCOPY. */
struct ir_tensor_what {
    enum ir_tensor_way way;
    enum ir_tensor_mode mode;
    unsigned rank;
    enum ir_atom atom; /* of REDUCE */
    bool casts;        /* LOAD: into all CTAs of the cluster that a mask names */
    bool pairs; /* cta_group::2: those of the pair that is like the barrier's CTA hear of it */
};
static inline uint64_t ir_tensor_pack(struct ir_tensor_what w)
{
    return (uint64_t)w.way | (uint64_t)w.mode << 4 | (uint64_t)w.rank << 8 |
           (uint64_t)w.atom << 12 | (uint64_t)w.casts << 16 | (uint64_t)w.pairs << 17;
}
static inline struct ir_tensor_what ir_tensor_unpack(uint64_t imm)
{
    return (struct ir_tensor_what){(enum ir_tensor_way)(imm & 15),
                                   (enum ir_tensor_mode)(imm >> 4 & 15),
                                   (unsigned)(imm >> 8 & 15),
                                   (enum ir_atom)(imm >> 12 & 15),
                                   imm >> 16 & 1,
                                   imm >> 17 & 1};
}
/* The CTA whose barrier hears of what CTA `target` got; `at` is where the operand's barrier is. */
static inline uint32_t ir_tensor_hearer(const struct ir_tensor_what *w, uint32_t target,
                                        uint32_t at)
{
    return w->pairs ? (target & ~1u) | (at & 1) : target;
}
enum { IR_TENSOR_OPERAND_0 = 4 }; /* of IR_OP_TENSORCOPY: the first coordinate */
/* How many coordinates the instruction has, and how many im2col offsets behind them. */
unsigned ir_tensor_coordinates(const struct ir_tensor_what *what);
unsigned ir_tensor_infos(const struct ir_tensor_what *what);

/* ---- tensor memory (model/tensor.h) */

/* Of a MMA, where its sources are. */
enum {
    IR_TENSOR_D,
    IR_TENSOR_A, /* a descriptor's halves, or an address */
    IR_TENSOR_B = 3,
    IR_TENSOR_IDESC = 5,
    IR_TENSOR_ENABLE_D, /* 0: c is zero */
    IR_TENSOR_OFF,      /* four registers for each block: lanes that are not written */
    IR_TENSOR_METADATA = 15,
    IR_TENSOR_SCALE_A,
    IR_TENSOR_SCALE_B,
    IR_TENSOR_ZEROS, /* two: which columns of b are zero; 0: none */
    IR_TENSOR_MMA_SOURCES = 20
};

static inline bool ir_tensor_has(const struct ir_tensor *op, enum ir_tensor_flag flag)
{
    return (op->flags >> flag & 1) != 0;
}

/* How many registers an operation reads and writes, addresses and the like included. */
unsigned ir_tensor_sources(const struct ir_tensor *op);
unsigned ir_tensor_results(const struct ir_tensor *op);
/* Of these, the data of a load or store. */
unsigned ir_tensor_registers(const struct ir_tensor *op);

#endif
