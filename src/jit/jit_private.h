/*
 * Between the files of src/jit outside gen/: none of these touch LLVM.
 */
#ifndef HD_JIT_JIT_PRIVATE_H
#define HD_JIT_JIT_PRIVATE_H

#include "base/vec.h"
#include "jit/gen/codegen.h"
#include "jit/jit.h"
#include "tune/tune.h"

/* jit_target.c */
/* LLVM's feature string of this host on that path, less what HEDDLE_CPU takes away. */
const char *jit_features(enum jit_path path);
/* Is this feature, as HEDDLE_CPU calls it, there and not to be left out? */
bool jit_uses(enum jit_path path, const char *feature);

/* jit_link.c: an ELF object made executable. */
struct jit_image {
    uint8_t *base;
    size_t size_B;
};
/* HD_JIT for anything in the object that it does not understand; HD_NO_MEMORY. */
enum hd_status jit_link(const uint8_t *object, size_t size_B, struct jit_image *out_image)
    HD_MUST_CHECK;
void jit_image_fini(struct jit_image *image);
/* Are the instructions of both images of one object, or of objects of one layout, the same? */
bool jit_image_same_code(const uint8_t *object, size_t size_B, const struct jit_image *a,
                         const struct jit_image *b);
/*
 * A copy of a section that is not loaded (hd_free), its addresses being offsets in the image.
 * HD_NOT_FOUND, HD_JIT, HD_NO_MEMORY.
 */
enum hd_status jit_object_section(const uint8_t *object, size_t size_B, const char *name,
                                  uint8_t **out_section, size_t *out_section_B) HD_MUST_CHECK;

/* jit_line.c: from an offset in an image on, until the next row, code has this number. */
struct jit_line {
    uint32_t offset, number; /* 0: of no instruction */
};
struct jit_lines {
    HD_VEC(struct jit_line) rows;
};
/* Adds the rows of a .debug_line section. HD_JIT, HD_NO_MEMORY. */
enum hd_status jit_lines_read(const uint8_t *section, size_t size_B, struct jit_lines *out)
    HD_MUST_CHECK;
/* jit_instr.c: the whole table of code that came from `jit`. HD_JIT when it cannot be trusted. */
enum hd_status jit_lines_of_code(struct jit_module *jit, const struct jit_code *code,
                                 struct jit_lines *out) HD_MUST_CHECK;
uint32_t jit_lines_find(const struct jit_lines *lines, uint32_t offset);

/* jit_perf.c: tells perf about a kernel's code, when that was asked for. */
void jit_perf_note(const char *name, const struct jit_image *image);

/* Address of a defined global function; NULL when the object has none of that name. */
void *jit_image_symbol(const uint8_t *object, size_t size_B, const struct jit_image *image,
                       const char *name);

/* jit_rt*.c: the functions that generated code may name; NULL when unknown. */
void *jit_rt_lookup(const char *name);
void *jit_rt_mma_lookup(const char *name);    /* those of jit_rt_mma.c */
void *jit_rt_pieces_lookup(const char *name); /* those of jit_rt_pieces.c */
void *jit_rt_tensor_lookup(const char *name); /* those of jit_rt_tensor.c */
void *jit_rt_tex_lookup(const char *name);    /* those of jit_rt_tex.c */

/* jit_form.c: one kernel for one launch class in the best form that can be made. */

#define JIT_REASON_B 512

struct jit_build {
    struct jit_code code;
    struct jit_image image;    /* empty when interpreted */
    struct gen_result result;  /* its object is kept until jit_build_strip() */
    bool quick;                /* generated, and better could be */
    uint32_t best_us;          /* about how long LLVM takes for that */
    bool lasting;              /* the same would come out next time: worth caching */
    char reason[JIT_REASON_B]; /* why it is not in the form that was asked for; "" = it is */
    struct jit_build *next;
};

/*
 * CTAs for each thread of the device from which on a launch is one of many: a thread's last one in
 * quick code, which takes five times as long at worst, is a sixth of its work then.
 */
#define JIT_MANY_ROUNDS 32u

struct jit_job {
    const struct ir_func *kernel;
    enum jit_launch_class cls;
    enum jit_path path;
    const char *features; /* of the CPU, beyond the path's */
    enum jit_form form;   /* the first one to try */
    enum jit_form last;   /* the last one */
    enum gen_effort effort;
    const char *ptx; /* that the kernel came from, for reports; NULL = not known */
    bool strict;     /* gen_request.strict */
    bool alone;      /* gen_request.alone */
    struct tune_point tuning;
};

/* What the code generator is asked for. */
struct gen_request jit_request(const struct jit_job *job, enum jit_form form);
/* Names of passes, bits of enum gen_pass, with commas between. */
void jit_passes_print(uint32_t passes, struct hd_buf *out);
/* jit_module.c: what the code was made from and where it lies; false: it is not code of `jit`. */
bool jit_code_origin(struct jit_module *jit, const struct jit_code *code, struct jit_job *out_job,
                     const struct jit_image **out_image);

/* In one form or not at all; *out_build is NULL then and the message says why. */
enum hd_status jit_build_form(const struct jit_job *job, enum jit_form form,
                              struct jit_build **out_build) HD_MUST_CHECK;
/* HD_NO_MEMORY; every other failure leads to another form. */
enum hd_status jit_build_make(const struct jit_job *job, struct jit_build **out_build)
    HD_MUST_CHECK;
/* From an object and its facts, or JIT_INTERP without any. HD_JIT when it does not link. */
enum hd_status jit_build_link(const struct jit_job *job, enum jit_form form,
                              const struct gen_facts *facts, const uint8_t *object, size_t object_B,
                              struct jit_build *build) HD_MUST_CHECK;
void jit_build_interpret(const struct jit_job *job, struct jit_build *build);
void jit_build_strip(struct jit_build *build);
void jit_build_destroy(struct jit_build *build);
/* Says once which form took over and why, and leaves a report. */
void jit_build_announce(const struct jit_job *job, const struct jit_build *build);

uint64_t jit_now_us(void);

/* jit_background.c: threads that make better code while programs run. */
struct jit_task {
    /* cancelled: it is not going to be done; called by whoever cancels it. */
    void (*run)(struct jit_task *task, bool cancelled);
    const void *owner;
    bool is_urgent; /* a kernel is interpreted meanwhile */
    struct jit_task *next;
};
/* Would a task be taken? */
bool jit_background_usable(void);
/* False: there is no such thread (at exit, after a fork); the task is the caller's again. */
bool jit_background_push(struct jit_task *task);
/* Has it not begun yet? Then it will not, and is the caller's again. */
bool jit_background_take(const struct jit_task *task);
/* Cancels the owner's tasks that have not begun and waits for one that has. */
void jit_background_cancel(const void *owner);

/* jit_report.c: see report.h. All do nothing without HEDDLE_REPORT. */
#define JIT_REPORT_PATH_B 4096
/* Around a compilation that may end the process. */
void jit_report_begin(const struct jit_job *job, char out_path[JIT_REPORT_PATH_B]);
void jit_report_end(const char *path);
/* True when it was written. */
bool jit_report_failure(const struct jit_job *job, const struct jit_build *build,
                        char out_path[JIT_REPORT_PATH_B]);

/*
 * jit_llvm.c: opens the code generator on first use; false: there is none. Not for threads of ours:
 * a thread of the program that is in here does not end the process meanwhile, which would run the
 * destructors of what LLVM is constructing (docs/decisions/0021).
 */
bool jit_codegen_open(void);
bool jit_codegen_is_open(void);
/* The process ends: calls of the code generator return HD_CANCELLED, also those that wait. */
void jit_codegen_end(void);
enum hd_status jit_codegen(const struct gen_request *req, struct gen_result *out) HD_MUST_CHECK;
void jit_result_fini(struct gen_result *result);
/* Version LLVM was built against and the library's size and time: other text, other code. */
const char *jit_llvm_identity(void);

#endif
