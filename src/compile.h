/*
 * The compiler's front door: PTX text in, IR out.
 *
 *     compile_program_create()  parses, checks and links; says what there is: kernels, variables
 *     compile_kernel()          lowers and optimises one kernel, when somebody asks for it
 *     compile_ptx()             everything in one module, for tools and tests
 *
 * A kernel's module holds that kernel and whatever it reaches, so what it cannot do is its own
 * affair: other kernels of the file do not notice. Devices turn the module into their own code
 * (hal.h: kernel_get).
 *
 * Threads: a program is immutable once created; any number of threads may compile kernels of it.
 */
#ifndef HD_COMPILE_H
#define HD_COMPILE_H

#include "ir/ir.h"
#include "opt/opt.h"

struct compile_unit {
    const char *name; /* for messages: source or kernel file */
    const char *ptx;
    size_t len;
};

/* type, name, doc; all are part of compile_key(). */
#define COMPILE_OPTION_LIST(X)                                                                     \
    X(bool, validate, "validate the IR after every pass")                                          \
    X(bool, no_opt, "only the required passes: the reference interpreter's view of the program")   \
    X(bool, debug, "for a debugger: no pass at all, and NOTEs that tell PTX and its registers")    \
    X(unsigned, max_arch, "refuse PTX for newer architectures, e.g. 120; 0 = take all")            \
    X(bool, counts,                                                                                \
      "kernels count what they execute, by the instructions of the PTX (ir/count.h)")              \
    X(unsigned, probes, "what kernels are to tell: a set of IR_PROBE_* (ir/probe.h)")              \
    X(bool, relocatable, "names may be defined elsewhere, as for linkers: no whole program")       \
    X(bool, on_demand,                                                                             \
      "read bodies when kernels need them, of texts that were checked before; a NUL"               \
      " follows each text")

struct compile_options {
#define X(type, name, doc) type name;
    COMPILE_OPTION_LIST(X)
#undef X
};

/* ---- link-time optimisation of texts */

struct obj_used;
struct obj_removed;

/*
 * The texts without what neither the host uses nor a kernel reaches, into out_texts[count], empty
 * buffers: a text of which nothing is left has none, one that keeps everything stays as it is.
 * Sound with any use of addresses: a name that code or an initial value mentions is used. Modules
 * without a kernel among them are a library and stay whole, and so does a text whose debug
 * information names its code. HD_BAD_PTX, HD_NO_MEMORY.
 */
enum hd_status compile_reduce(const struct compile_unit *units, size_t count,
                              const struct obj_used *used, struct hd_buf *out_texts,
                              struct obj_removed *out_counts) HD_MUST_CHECK;

struct compile_program;

/* Parses and checks a unit that is to be linked later. HD_BAD_PTX, HD_NO_IMAGE, HD_NO_MEMORY. */
enum hd_status compile_unit_check(const struct compile_unit *unit,
                                  const struct compile_options *options) HD_MUST_CHECK;
/* Copies nothing: the text of the units must outlive the program. HD_BAD_PTX, HD_UNRESOLVED,
 * HD_NO_MEMORY; the message has the place. */
enum hd_status compile_program_create(const struct compile_unit *units, size_t count,
                                      const struct compile_options *options,
                                      struct compile_program **out_program) HD_MUST_CHECK;
void compile_program_destroy(struct compile_program *program);
/* Functions (declarations) and variables (with initial images), by number. Lives as long as the
 * program. */
const struct ir_module *compile_program_decls(const struct compile_program *program);
/* Appends a line for every name that the program uses and nobody defines; true when there are. */
bool compile_program_undefined(struct compile_program *program, struct hd_buf *out_text);
/*
 * Lowers every body and tells each thing that is refused, with its place in hd_error_message(), for
 * assemblers: kernels fail one by one when they are loaded. HD_NO_MEMORY.
 */
typedef void compile_refused_fn(void *user, enum hd_status status);
enum hd_status compile_program_survey(struct compile_program *program, compile_refused_fn *refused,
                                      void *user) HD_MUST_CHECK;
/* Is function number `index` a kernel with a body? */
bool compile_program_is_kernel(const struct compile_program *program, uint32_t index);
/* 16 bytes: compile_key() of what the program was made of. */
const uint8_t *compile_program_key(const struct compile_program *program);
/* 16 bytes: the same of its code for a target, for a device's own caches. */
void compile_code_key(const struct compile_program *program, enum opt_target target,
                      uint8_t out_key[16]);
/*
 * 16 bytes: of what program, how compiled, code in an image is, for who finds it there. Unlike the
 * others the same for assemblers and loaders: what only says when work is done takes no part.
 */
void compile_image_key(const struct compile_program *program, enum opt_target target,
                       uint8_t out_key[16]);
/*
 * What kernel number `index` needs, without compiling anything: see lower_kernel_sizes().
 * HD_BAD_PTX, HD_NO_MEMORY.
 */
enum hd_status compile_kernel_sizes(struct compile_program *program, uint32_t index,
                                    struct ir_kernel_sizes *out_sizes) HD_MUST_CHECK;
/*
 * Kernel number `index` and what it reaches, optimised for a target, with laid out windows. The
 * caller owns the module (ir_module_destroy); it does not refer to the program. HD_NOT_SUPPORTED,
 * HD_UNRESOLVED, HD_BAD_PTX, HD_NO_MEMORY; the message has the place.
 */
enum hd_status compile_kernel(struct compile_program *program, uint32_t index,
                              enum opt_target target, struct ir_module **out_module) HD_MUST_CHECK;

/*
 * HD_BAD_PTX, HD_NOT_SUPPORTED, HD_UNRESOLVED, HD_NO_MEMORY; the message has the place.
 * The caller owns the module (ir_module_destroy). Windows are laid out.
 */
enum hd_status compile_ptx(const struct compile_unit *units, size_t count,
                           const struct compile_options *options, enum opt_target target,
                           struct ir_module **out_module) HD_MUST_CHECK;

/*
 * Identifies what compile_ptx() makes of these units, for caches: their text, names and order, the
 * options, HEDDLE_SKIP_PASS and Heddle's own sources (obj/fingerprint.h).
 */
void compile_key(const struct compile_unit *units, size_t count,
                 const struct compile_options *options, uint8_t out_key[16]);

#endif
