/*
 * What `heddle doctor` finds out about a program. Gathered by doctor.c and doctor_ptx.c, printed by
 * doctor_report.c. Everything hangs off one report and dies with it.
 */
#ifndef HEDDLE_TOOLS_DOCTOR_H
#define HEDDLE_TOOLS_DOCTOR_H

#include "base/arena.h"
#include "common/program.h"
#include "ptx/ptx.h"

enum doctor_state {
    DOCTOR_SUPPORTED,
    DOCTOR_REFUSED, /* exists and answers "not supported" */
    DOCTOR_MISSING,
    DOCTOR_UNKNOWN, /* our library is not there to look */
};

const char *doctor_state_text(enum doctor_state state);

struct doctor_entry {
    const char *name;
    const char *version; /* "libcudart.so.13", or "" */
    bool is_driver;
    bool called; /* by the program; known of an embedded runtime's only */
    enum doctor_state state;
};

struct doctor_library {
    const char *name; /* "libcublas.so.13" */
    const char *what; /* "cuBLAS" */
    bool called;      /* the program imports functions of it */
    bool opened;      /* it is not linked, the program's text has its name */
    bool beside;      /* a wheel in the same site-packages has it, so that the program loads */
};

/* A PTX module that would be loaded. */
struct doctor_module {
    const struct ptx_module *ptx;
    bool relocatable;
};

/* One instruction form that would fail to load. */
struct doctor_form {
    const char *text; /* "tcgen05.mma.cta_group::1.kind::f16" */
    const char *why;
    const char *place; /* "kernel: line 12" of its first use */
    unsigned uses;
};

struct doctor_report {
    struct program program;
    struct hd_arena arena;
    HD_VEC(struct doctor_entry) entries;
    HD_VEC(struct doctor_library) libraries;
    HD_VEC(struct doctor_form) forms;
    HD_VEC(struct doctor_module) parsed;
    HD_VEC(const char *) problems; /* each makes the exit code 1 */
    HD_VEC(const char *) notes;
    unsigned cc; /* of the device that the check is for, * 10 */
    size_t modules;
    size_t kernels;
};

struct doctor_args {
    unsigned cc;
    bool as_json, verbose;
    size_t programs;
};

/* Finds out all there is about a file; release with doctor_report_fini() on success only. */
enum hd_status doctor_examine(const char *path, unsigned cc, struct doctor_report *out_report)
    HD_MUST_CHECK;
void doctor_report_fini(struct doctor_report *report);

/* Everything below a folder, told as `label`. Prints; returns the exit code. */
int doctor_folder(const char *label, const char *path, const struct doctor_args *args);
/*
 * The same of what an archive holds (a wheel, zip or tar file), which is unpacked in TMPDIR. -1: it
 * is none.
 */
int doctor_archive(const char *path, const struct doctor_args *args);

/* Appends "printf"-ed text to problems or notes. */
void doctor_problem(struct doctor_report *report, const char *fmt, ...) HD_PRINTF(2, 3);
void doctor_note(struct doctor_report *report, const char *fmt, ...) HD_PRINTF(2, 3);

/* What the API table says of an entry point; UNKNOWN when it has no row. */
enum doctor_state doctor_table_state(const char *symbol, bool is_driver);

/* Parses every PTX module that would be loaded and looks for what lowering does not take. */
void doctor_check_ptx(struct doctor_report *report);

/* Which functions and variables those modules use and do not define; then what lowering says. */
void doctor_check_links(struct doctor_report *report);
/* Modules that are linked together: what lowering refuses. */
void doctor_check_program(struct doctor_report *report, const struct ptx_module *const *modules,
                          size_t len);

/* Libraries that Heddle does not have and that the program may open by name. */
void doctor_find_opened(struct doctor_report *report);

/* Sets `called` of the entry points of an embedded runtime. */
void doctor_find_calls(struct doctor_report *report);

void doctor_print_text(const struct doctor_report *report, bool verbose);
void doctor_print_json(const struct doctor_report *report);
/* As one object of an array; the package is that of the file, or NULL. */
struct hd_json;
void doctor_put_json(struct hd_json *j, const char *path, const char *package,
                     const struct doctor_report *report);

#endif
