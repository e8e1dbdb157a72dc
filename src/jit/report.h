/*
 * Reports: what somebody else needs to see the same failure of code generation.
 *
 * With HEDDLE_REPORT=dir, each kernel that does not get the form that was asked for (jit.h) leaves
 * one file there, and `heddle replay FILE` tries its forms again, on any machine. The file is text:
 * a line of version, the fields below, then the kernel's IR, exactly as code generation saw it, and
 * the PTX that it came from. It holds no data of the user's but what the compiler put into these:
 * names of functions, variables and source files, and initial values of variables.
 *
 * A file is written whole or not at all, and named by its content, so one failure leaves one file.
 * While a kernel is being compiled its report is there under the name *.crashed.heddle: what a
 * process leaves that ends inside LLVM.
 */
#ifndef HD_JIT_REPORT_H
#define HD_JIT_REPORT_H

#include "base/str.h"
#include "jit/jit.h"

/* name, doc; text of one line each */
#define JIT_REPORT_FIELD_LIST(X)                                                                   \
    X(version, "Heddle's")                                                                         \
    X(kernel, "name of the kernel")                                                                \
    X(launch_class, "what is known of the block (analysis/shape.h)")                               \
    X(path, "code path: avx512, avx2, generic")                                                    \
    X(features, "LLVM features beyond the path's")                                                 \
    X(strict, "1: code that checks what it touches, else 0")                                       \
    X(cpu, "model of the machine that wrote this")                                                 \
    X(llvm, "version of LLVM")                                                                     \
    X(settings, "environment variables of Heddle that were set")                                   \
    X(form, "the form that runs instead")                                                          \
    X(reason, "why the forms before it could not be made")

/* name, doc; text of any length */
#define JIT_REPORT_SECTION_LIST(X)                                                                 \
    X(ir, "the kernel and what it reaches")                                                        \
    X(ptx, "the program's PTX, all linked units; empty when it is not known")

struct jit_report {
    struct hd_buf text; /* owns what the views point to */
#define X(name, doc) struct hd_str name;
    JIT_REPORT_FIELD_LIST(X)
    JIT_REPORT_SECTION_LIST(X)
#undef X
};

/* HD_CORRUPT with the line, HD_BAD_VERSION; HD_NOT_FOUND and so on from reading. */
enum hd_status jit_report_read(const char *path, struct jit_report *out_report) HD_MUST_CHECK;
void jit_report_fini(struct jit_report *report);

/* How one form of a report's kernel fared. */
struct jit_replay {
    bool works;
    uint64_t time_us;
    uint64_t object_B;
    char reason[512];
};

/*
 * Compiles the report's kernel in one form, for `path` with `features` (any path: nothing is run).
 * An error is the report's: its IR cannot be read. A form that cannot be made is no error.
 */
enum hd_status jit_replay_form(const struct jit_report *report, enum jit_path path,
                               const char *features, enum jit_form form,
                               struct jit_replay *out_replay) HD_MUST_CHECK;
/* The report's kernel: its module is the caller's (ir_module_destroy). */
enum hd_status jit_report_kernel(const struct jit_report *report, struct ir_module **out_module,
                                 const struct ir_func **out_kernel) HD_MUST_CHECK;
/* JIT_CLASS_COUNT, JIT_GENERIC - 1: no such name. */
enum jit_launch_class jit_report_class(const struct jit_report *report);
bool jit_report_path(const struct jit_report *report, enum jit_path *out_path);

#endif
