/*
 * Core dumps of kernels (dbg/dump/dump.h): what asks for them, and the settings.
 *
 * Settings are CUcoredumpSettings by number. Variables of the environment (base/env.h) give those
 * of the process, which cuCoredumpSetAttributeGlobal() changes; a context has the process's until
 * it is given its own. Launches that are submitted while dumps are wanted are interpreted.
 *
 * After a dump the process is aborted, as CUDA's does, unless DUMP_SKIP_ABORT is among the flags or
 * host dumps are off.
 *
 * Threads: any.
 */
#ifndef HD_CORE_DEBUG_COREDUMP_H
#define HD_CORE_DEBUG_COREDUMP_H

#include "base/compiler.h"

struct core_context;

struct core_module;
struct ir_module;

enum core_dump_setting { /* CUcoredumpSettings */
                         CORE_DUMP_ON_EXCEPTION = 1,
                         CORE_DUMP_TRIGGER_HOST,
                         CORE_DUMP_LIGHTWEIGHT,
                         CORE_DUMP_USER_TRIGGER,
                         CORE_DUMP_FILE,
                         CORE_DUMP_PIPE,
                         CORE_DUMP_FLAGS,
};
#define CORE_DUMP_TEXT_B 1024 /* of a name, with its NUL */

/* Reads the environment, once; and begins to listen where users trigger dumps. HD_BAD_ARG: flags
 * that are unknown; HD_IO: the pipe. */
enum hd_status core_dump_init(void) HD_MUST_CHECK;

/*
 * Of the context, or of the process (NULL). Numbers are as CUDA has them: bool in a byte, flags in
 * an int, names with a NUL. `*size_B` is what `value` has room for, and what it then holds; NULL
 * asks for that alone. HD_BAD_ARG: no such setting, or no room.
 */
enum hd_status core_dump_get(struct core_context *ctx, unsigned which, void *value, size_t *size_B)
    HD_MUST_CHECK;
/* HD_BAD_ARG; HD_BAD_STATE: of the pipe, which is the process's, when it is listened at;
 * HD_NO_MEMORY, HD_IO. */
enum hd_status core_dump_set(struct core_context *ctx, unsigned which, const void *value,
                             size_t size_B) HD_MUST_CHECK;
/* CU_CTX_COREDUMP_ENABLE and CU_CTX_USER_COREDUMP_ENABLE of a new context. HD_NO_MEMORY, HD_IO. */
enum hd_status core_dump_context(struct core_context *ctx, unsigned flags) HD_MUST_CHECK;

/* Are launches of the context to be debuggable? */
bool core_dump_wants(struct core_context *ctx);
/* A kernel's debuggable code. HD_NO_MEMORY. */
enum hd_status core_dump_code(struct core_module *module, const struct ir_module *code)
    HD_MUST_CHECK;

#endif
