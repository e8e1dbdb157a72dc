/*
 * The compiler from IR to code of Heddle's ISA.
 *
 *     converge       where lanes of a warp meet again
 *     select         instructions on virtual registers (mc.h)
 *     coalesce       copies that are none
 *     assign, spill  machine registers
 *     finish         copies and branches of the machine, words
 *
 * Each step is a file. It never changes the IR. docs/abi.md is what the code relies on.
 */
#ifndef HD_CODEGEN_CODEGEN_H
#define HD_CODEGEN_CODEGEN_H

#include "ir/ir.h"
#include "ir/profile.h"
#include "isa/abi.h"
#include "isa/image.h"
#include "isa/machine.h"
#include "tune/tune.h"

/* Passes that can be left out: spec/codegen_passes.def. */
enum codegen_pass {
#define X(NAME, ...) CODEGEN_##NAME,
#include "codegen_passes.def"
    CODEGEN_PASSES
};

/*
 * What code may use, so that one can measure what less of it costs: HEDDLE_CODEGEN=counters=5,...
 * Name, least, most (which is what there is), doc.
 */
#define CODEGEN_LIMIT_LIST(X)                                                                      \
    X(counters, 1, 6, "dependence counters")                                                       \
    X(predicates, 2, 7, "predicates")                                                              \
    X(registers, 16, 255, "registers of a thread; a kernel that says less has less")

struct codegen_settings {
    uint32_t skipped; /* a bit for each enum codegen_pass */
#define X(name, least, most, doc) uint32_t name;
    CODEGEN_LIMIT_LIST(X)
#undef X
    uint32_t order; /* TUNE_ORDER; 0: as the schedule judges */
};

/* What the environment says: HD_BAD_ARG, with what is possible. */
enum hd_status codegen_settings_read(struct codegen_settings *out) HD_MUST_CHECK;
/* And what was chosen for a kernel. */
void codegen_settings_tune(struct codegen_settings *settings, const struct tune_point *tuning);

static inline bool codegen_does(const struct codegen_settings *settings, enum codegen_pass pass)
{
    return !(settings->skipped >> pass & 1);
}

/*
 * What code that records counts: the first word of each block of the IR that it is made of is a
 * NOP, which is executed as often as the block.
 */
struct codegen_mark {
    uint32_t word;
    uint32_t func, block; /* of codegen_record.funcs */
};
struct codegen_record {
    struct ir_profile funcs; /* without counts */
    HD_VEC(struct codegen_mark) marks;
};
void codegen_record_fini(struct codegen_record *record);

struct codegen_options {
    uint32_t registers; /* of a thread at most; 0: as the kernel's bounds say */
    bool checks; /* registers and control fields are checked: HD_BAD_IR is a bug of the compiler */
    const struct ir_profile *profile; /* how often blocks run; NULL: by the loops around them */
    struct codegen_record *record;    /* zero; the code is to record; NULL: it is not */
    const struct tune_point *tuning;  /* what was chosen for the kernel; NULL: nothing was */
};
/* As tuning files name the machine that code is made for. */
#define CODEGEN_DEVICE "isa-" ISA_MACHINE
/* Of the profile, as images have it; 0: NULL. */
uint32_t codegen_profile_hash(const struct ir_profile *profile);
/* HEDDLE_PROFILE_USE, read once; NULL: it is not set. */
enum hd_status codegen_profile_get(const struct ir_profile **out_profile) HD_MUST_CHECK;

/*
 * Compiles a kernel, and what it may call, of a module whose windows are laid out. HD_NOT_SUPPORTED
 * (the operation that has no form, with its place), HD_NO_MEMORY. isa_code_fini() frees the code.
 */
enum hd_status codegen_kernel(const struct ir_func *kernel, const struct codegen_options *options,
                              struct isa_code *out_code) HD_MUST_CHECK;

/* ---- code in images (image.c) */

/*
 * The validity key of code in an image: `program` says of what program it is (compile_image_key());
 * this compiler's own sources come in.
 */
void codegen_image_key(const uint8_t program[ISA_KEY_BYTES], uint8_t out_key[ISA_KEY_BYTES]);
/*
 * Adds a kernel's code with what it names, under the kernel's name. HD_NOT_SUPPORTED: an image
 * cannot hold it; HD_NO_MEMORY.
 */
enum hd_status codegen_image_add(struct isa_image *image, const struct ir_func *kernel,
                                 const struct isa_code *code) HD_MUST_CHECK;
/*
 * The way back, for a module of the same program. HD_UNRESOLVED: the module does not have what the
 * code names; HD_NO_MEMORY. isa_code_fini() frees the code.
 */
enum hd_status codegen_image_take(const struct isa_kernel *made, const struct ir_func *kernel,
                                  struct isa_code *out_code) HD_MUST_CHECK;

/* ---- code in the code cache (cached.c) */

/*
 * As codegen_kernel(), or what the cache has of it; what it has not is put there. `program`: 16
 * bytes that identify what the module was compiled of and how (compile_code_key()). The options
 * have no `record`. *out_hit: it came from the cache.
 */
enum hd_status codegen_kernel_cached(const struct ir_func *kernel,
                                     const uint8_t program[ISA_KEY_BYTES],
                                     const struct codegen_options *options,
                                     struct isa_code *out_code, bool *out_hit) HD_MUST_CHECK;

#endif
