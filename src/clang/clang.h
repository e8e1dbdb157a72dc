/*
 * clang as a program: finding it, running it on CUDA sources, and its PTX.
 *
 *     clang_find(&path) ... clang_args_add(&args, ...) ... clang_run(&args, "/tmp/x/log")
 *
 * Threads: any, each with argument lists of its own.
 */
#ifndef HD_CLANG_CLANG_H
#define HD_CLANG_CLANG_H

#include <sys/types.h>

#include "base/status.h"
#include "base/str.h"
#include "base/vec.h"

/* A command's words, each owned; `at` ends with NULL once something was added. */
struct clang_args {
    char **at;
    size_t len, cap;
    bool failed; /* out of memory; clang_run() says so */
};

void clang_args_add(struct clang_args *args, const char *fmt, ...) HD_PRINTF(2, 3);
/* The words of a text that blanks separate. */
void clang_args_add_words(struct clang_args *args, const char *words);
void clang_args_add_all(struct clang_args *args, const struct clang_args *more);
void clang_args_fini(struct clang_args *args);

/* The C++ driver: HEDDLE_CLANG, or clang 19 where it usually is. HD_NOT_FOUND. */
enum hd_status clang_find(const char **out_path) HD_MUST_CHECK;

/*
 * What every CUDA compilation without an SDK begins with; device passes write PTX 8.5, the newest
 * that clang 19 knows.
 */
#define CLANG_CUDA_WORDS                                                                           \
    "-x cuda --cuda-path=/nonexistent -nocudainc -nocudalib -Wno-unknown-cuda-version "            \
    "-fno-crash-diagnostics -Xclang -target-sdk-version=12.5 -Xclang "                             \
    "-fcuda-allow-variadic-functions"
/*
 * In device code lanes may pass on what they never set, as to a shuffle that reads lane 0, so that
 * parameters are not noundef: LLVM would drop those lanes' branches.
 */
#define CLANG_DEVICE_WORDS                                                                         \
    "--cuda-device-only -S --cuda-feature=+ptx85 -fno-strict-float-cast-overflow "                 \
    "-Xclang -no-enable-noundef-analysis"

/* The newest of clang 19's architectures that `cc` (75, 120) can run; 0: none. */
unsigned clang_arch(unsigned cc);
/*
 * The words, blanks between them, by which a device pass is for a target of NVIDIA's, 120 and 'a':
 * clang's newest architecture below it, and the macros of the one that was asked for. The variant
 * is 'a', 'f' or 0.
 */
void clang_target_words(unsigned cc, char variant, struct hd_buf *out_words);

/*
 * A device pass takes two runs (why: device.c). The first is the command, up to its input, with
 * these words behind, and writes IR, which clang_ir_mend() changes in place; the second, whose
 * words clang_back_words() makes of the first's, compiles the IR to PTX.
 */
#define CLANG_FRONT_WORDS "-emit-llvm -Xclang -disable-llvm-passes"
void clang_back_words(const struct clang_args *front, struct clang_args *back);
/* `keeps_statics`: of a program that is a module by itself; clang_statics_name() ends it. */
enum hd_status clang_ir_mend(const char *path, bool keeps_statics) HD_MUST_CHECK;
/* A variable of the program's own scope, visible; false: the line is none, nothing is put. */
bool clang_static_put(struct hd_str line, struct hd_buf *out);
/* A conversion to an integer, as the device does it; `count` numbers them. False: as above. */
bool clang_conversion_put(struct hd_str line, unsigned *count, struct hd_buf *out);
/* Assembly with text as an operand (pasted.c), whose array is in `ir`. False: as above. */
bool clang_pasted_put(const char *ir, struct hd_str line, struct hd_buf *out);
/* What clang_conversion_put() calls, but for what the module declares. */
void clang_conversions_declare(const char *ir, struct hd_buf *out);
/* What clang_static_put() made visible is not, and has the name that the source gives it. */
enum hd_status clang_statics_name(struct hd_buf *ptx) HD_MUST_CHECK;

/*
 * Kernels that launch kernels, which clang 19 refuses: what a pass of clang gets instead of its
 * preprocessed source (launches.c). Nothing is put when no device code launches. The source comes
 * from the pass's own words and CLANG_LAUNCHES_WORDS; what was put is compiled with these words but
 * without -include. clang_ir_mend() does the rest, for whose sake CLANG_KERNEL_NOTE marks kernels.
 */
enum clang_side { CLANG_DEVICE_SIDE, CLANG_HOST_SIDE };
#define CLANG_LAUNCHES_WORDS "-E -D__HEDDLE_LAUNCHES_IN_KERNELS__"
#define CLANG_KERNEL_NOTE    "heddle.kernel"
#define CLANG_LAUNCHED       "__heddle_launched"
#define CLANG_UNLAUNCHED     "__heddle_unlaunched"
enum hd_status clang_launches_put(const char *source, enum clang_side side, struct hd_buf *out)
    HD_MUST_CHECK;
/* HD_BAD_ARG: a kernel is called without <<<>>>. HD_NOT_SUPPORTED: one is launched by a pointer. */
enum hd_status clang_launches_mend(struct hd_buf *ir) HD_MUST_CHECK;

/*
 * What NVIDIA's compiler takes and clang does not (dialect.c), in preprocessed source that clang
 * has refused with this log. Nothing is put when there is none of it. Errors of clang hide others,
 * and it ends after twenty: what was put may be refused again.
 */
#define CLANG_DIALECT_TRIES 6
enum hd_status clang_dialect_put(const char *text, const char *log, struct hd_buf *out)
    HD_MUST_CHECK;

/*
 * Runs the command with the log as stdout and stderr and waits. The preloaded libraries of this
 * process are not the compiler's. HD_NOT_FOUND, HD_FAILED when it cannot be started: how it ended
 * is seen by its output file, as programs may take the exit status of all their children.
 */
enum hd_status clang_run(const struct clang_args *args, const char *log_path) HD_MUST_CHECK;
/* Likewise, without waiting: the caller's waitpid() for *out_pid. */
enum hd_status clang_start(const struct clang_args *args, const char *log_path, pid_t *out_pid)
    HD_MUST_CHECK;

/*
 * Directives of kernels with __cluster_dims__ or __block_size__, of which clang 19 writes no PTX:
 * from the IR of the first run. `cc`: the compute capability, 90. HD_NOT_SUPPORTED, HD_BAD_ARG:
 * that kernel cannot have them.
 */
enum hd_status clang_clusters_add(const struct hd_buf *ir, unsigned cc, struct hd_buf *ptx)
    HD_MUST_CHECK;

/*
 * What clang writes, as the target that was asked for takes it, "sm_120a": the header is changed from
 * the newest that clang knows, so that inline PTX may use what the target has; and `.ftz` goes from
 * instructions of bf16, which do not have it (LLVM 19 writes it under flushing of denormals).
 * HD_BAD_ARG: this is no PTX.
 */
enum hd_status clang_ptx_finish(struct hd_buf *ptx, const char *target) HD_MUST_CHECK;

#endif
