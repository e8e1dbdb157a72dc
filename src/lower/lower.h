/*
 * PTX to IR: linking first, bodies on demand.
 *
 * lower_program_create() links PTX modules (relocatable device code): it decides which definition
 * of a name counts, gives functions and variables their numbers, and makes the variables' initial
 * images. No instruction is looked at. lower_kernel() then makes a module of its own for one kernel
 * and what that reaches: functions it calls, those whose address is taken anywhere when it calls
 * through a pointer, and the variables they name (without images: those are the program's).
 * Numbers (ir_func.index, ir_var.index) are the program's in both.
 *
 * So an instruction outside of what is supported costs the kernels that reach it, and no others.
 *
 * Owners: a program borrows its PTX modules, which must outlive it; modules made by lower_kernel()
 * live on their own. Threads: after its creation a program may be used by any number of them.
 */
#ifndef HD_LOWER_LOWER_H
#define HD_LOWER_LOWER_H

#include "ir/ir.h"
#include "ptx/ptx.h"

/* Static shared memory of a kernel: PTX assemblers take no more, whatever the architecture. */
#define LOWER_SHARED_MAX_B 49152u
/* Constant memory of a file, likewise: 64 KiB (CUDA C++ Programming Guide, technical data). */
#define LOWER_CONST_MAX_B 65536u
/* On top of it, what %reserved_smem_offset_* name, in kernels that name them. */
#define LOWER_RESERVED_SMEM_B 1024u

struct lower_program;

/*
 * HD_BAD_PTX (a name defined twice, in two state spaces, ...) and HD_UNRESOLVED (an initial image
 * names what nobody defines) with `file:line`.
 */
enum hd_status lower_program_create(const struct ptx_module *const *modules, size_t count,
                                    const char *name, struct lower_program **out_program)
    HD_MUST_CHECK;
/* Nothing is linked to it any more: shared memory of a known size that is said to be elsewhere is
 * here, as PTX assemblers have it ("ignoring extern qualifier"). Before the first kernel. */
void lower_program_is_whole(struct lower_program *program);
/* Instructions that no .loc speaks of come from a line of the PTX. Before the first kernel. */
void lower_program_keep_ptx_lines(struct lower_program *program);
/* Functions tell debuggers of their PTX (IR_OP_NOTE). Before the first kernel. */
void lower_program_keep_notes(struct lower_program *program);
/* Functions count what they execute (ir/count.h). Before the first kernel; not with notes. */
void lower_program_keep_counts(struct lower_program *program);
/* And checkers of asynchronous copies and of who waits for them (IR_OP_ASYNC). Likewise. */
void lower_program_keep_asyncs(struct lower_program *program);
void lower_program_destroy(struct lower_program *program);
/*
 * All functions, as declarations with parameters and launch bounds, and all module-scope variables
 * with their images. Lives as long as the program.
 */
const struct ir_module *lower_program_decls(const struct lower_program *program);
/* Is function number `index` a kernel that some module defines? */
bool lower_program_is_kernel(const struct lower_program *program, uint32_t index);

/*
 * The module of kernel number `index`. HD_NOT_SUPPORTED (the instruction, register or parameter),
 * HD_UNRESOLVED, HD_BAD_PTX with `file:line`, HD_NO_MEMORY.
 */
enum hd_status lower_kernel(struct lower_program *program, uint32_t index,
                            struct ir_module **out_module) HD_MUST_CHECK;
/*
 * Those of kernel number `index`, from what it and the functions that it reaches declare and name:
 * bodies are parsed, nothing is lowered. HD_BAD_PTX (a body that is read late), HD_NO_MEMORY.
 */
enum hd_status lower_kernel_sizes(struct lower_program *program, uint32_t index,
                                  struct ir_kernel_sizes *out_sizes) HD_MUST_CHECK;
/* Every function and variable in one module, as far as the first error. */
enum hd_status lower_all(struct lower_program *program, struct ir_module **out_module)
    HD_MUST_CHECK;
/* The same in one step. */
enum hd_status lower_ptx(const struct ptx_module *const *modules, size_t count, const char *name,
                         struct ir_module **out_module) HD_MUST_CHECK;

/* A function or variable that `module` names in this line and nobody defines. */
typedef void lower_undefined_fn(void *user, struct hd_str name, struct hd_str module,
                                uint32_t line);
/* Tells every use of what is undefined, in the order of functions; for linkers. */
void lower_program_undefined(struct lower_program *program, lower_undefined_fn *found, void *user);

/* What lowering refuses. */
struct lower_refusal {
    const struct ptx_func *func;
    const struct ptx_insn *insn; /* NULL: the function as a whole */
    bool is_form;                /* whatever its operands are */
    enum hd_status status;
    const char *why; /* of the function as a whole: with its place */
};
typedef void lower_refused_fn(void *user, const struct lower_refusal *refusal);
/*
 * Lowers every body, goes on behind what is refused and tells it all, for `heddle doctor`: `why` is
 * valid during the call. HD_NO_MEMORY.
 */
enum hd_status lower_survey(struct lower_program *program, lower_refused_fn *refused, void *user)
    HD_MUST_CHECK;

/* Does the device itself supply an external function of this name, as it does vprintf()? */
bool lower_is_builtin(struct hd_str name);
/* What of CUDA a function that Heddle lacks belongs to, by its name, for messages; or NULL. */
const char *lower_unresolved_meaning(struct hd_str name);

#endif
