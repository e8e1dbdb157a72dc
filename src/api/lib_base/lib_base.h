/*
 * What the libraries that Heddle brings beside the driver have in common (libcudnn, and those that
 * compute with native kernels): a handle with a stream and a workspace, modes, a log, the thread's
 * last error, versions and the texts of statuses.
 *
 * A library describes itself once, as constant data; a handle begins with a lib_handle:
 *
 *     static const struct lib_info info = {.name = "cuDNN", .version = {9, 28, 0}, ...};
 *     struct cudnnContext { struct lib_handle base; };
 *     lib_handle_init(&handle->base, &info);
 *
 * Threads: a handle belongs to one thread at a time, as with NVIDIA's libraries; everything else is
 * for any thread.
 */
#ifndef HD_API_LIB_BASE_LIB_BASE_H
#define HD_API_LIB_BASE_LIB_BASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct lib_status {
    int value;
    const char *name; /* as it is spelled: "CUDNN_STATUS_SUCCESS" */
};

/* What the log says at most. */
enum lib_level { LIB_LEVEL_OFF, LIB_LEVEL_ERROR, LIB_LEVEL_WARNING, LIB_LEVEL_INFO, LIB_LEVELS };

/* Where it goes beside the log: `user` is the caller's. */
typedef void lib_callback(void *user, enum lib_level level, const char *message);

struct lib_info {
    const char *name; /* "cuDNN" */
    int version[3];   /* major, minor, patch level */
    int cudart;       /* of the runtime that it is for, 13000 */
    const struct lib_status *statuses;
    size_t nstatuses;
    const char *unknown; /* the name of a status that there is not */
    /* Environment variables of NVIDIA's library, or NULL: 0 to 3 as enum lib_level; "stdout",
     * "stderr" or a file. */
    const char *level_variable, *destination_variable;
};

/* Modes are the library's own numbers; each has the name of what NVIDIA's libraries call so. */
struct lib_handle {
    const struct lib_info *info;
    void *stream; /* cudaStream_t */
    void *workspace;
    size_t workspace_B;
    int math_mode;
    int pointer_mode; /* 0: scalars are in host memory */
};

void lib_handle_init(struct lib_handle *handle, const struct lib_info *info);

/* ---- versions and statuses */

/* `property`: libraryPropertyType. False: there is no such one. */
bool lib_property(const struct lib_info *info, int property, int *out_value) HD_MUST_CHECK;
const char *lib_status_name(const struct lib_info *info, int status);

/* ---- errors and the log */

/* Notes the calling thread's last error, one line, and tells the log. */
void lib_error(const struct lib_info *info, const char *fmt, ...) HD_PRINTF(2, 3);
/* The calling thread's last error, which is forgotten; "": none. Cut at size_B, ends with 0. */
void lib_error_take(char *text, size_t size_B);
/* Logs a line. Costs a load and a branch where nobody listens. */
void lib_log(const struct lib_info *info, enum lib_level level, const char *fmt, ...)
    HD_PRINTF(3, 4);
bool lib_log_wants(const struct lib_info *info, enum lib_level level);
/* What the environment would say: up to `level`, to "stdout", "stderr" or a file. False: none such. */
bool lib_log_configure(const struct lib_info *info, enum lib_level level, const char *to);
/* One callback for the process's library, told of all up to `level`; NULL: none. */
void lib_callback_set(lib_callback *callback, void *user, enum lib_level level);
/*
 * A function that there is not: the error names it, and the program's log says so once. *said
 * belongs to the function, false to begin with.
 */
void lib_refuse(const struct lib_info *info, const char *function, _Atomic bool *said);
/* Such a function, whatever its arguments are: they are not looked at. */
#define LIB_REFUSED(type, name, info, status)                                                      \
    HD_EXPORT type name(void);                                                                     \
    type name(void)                                                                                \
    {                                                                                              \
        static _Atomic bool said;                                                                  \
        lib_refuse(info, #name, &said);                                                            \
        return status;                                                                             \
    }

#endif
