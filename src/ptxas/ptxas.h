/*
 * PTX in, a checked image out, with the options and messages of ptxas: what `heddle ptxas` and
 * libnvptxcompiler have in common.
 *
 *     ptxas_options_read()   the words of a command line
 *     ptxas_input_add()      PTX text, under a name that stands in messages
 *     ptxas_assemble()       parses, checks, links and lowers all of it; makes the image
 *
 * The image (isa/image.h) holds the PTX itself and, of each kernel, code for Heddle's own GPU. What
 * passes here loads: every kernel was lowered. Numbers of registers and spills are those of the
 * code; a kernel that has none in Heddle's ISA is told of and remains PTX.
 *
 * Messages have the form that build systems and clients know from ptxas, each a line:
 *
 *     ptxas FILE, line 7; error   : text
 *     ptxas fatal   : Ptx assembly aborted due to errors
 *
 * Owner: the caller, of the structure; what is handed to it is copied. Threads: a structure belongs
 * to one at a time. Source: the manuals of nvcc ("ptxas options") and of the PTX Compiler API.
 */
#ifndef HD_PTXAS_PTXAS_H
#define HD_PTXAS_PTXAS_H

#include "base/arena.h"
#include "base/vec.h"

/* Registers that a thread can have. */
#define PTXAS_REGISTERS_MAX 255
/* Fewer are not enough for calls; an option that asks for fewer gets these. */
#define PTXAS_REGISTERS_MIN 16u

struct ptxas_target {
    const char *name; /* "sm_90a" */
    unsigned cc;      /* 90 */
    char variant;     /* 0, 'a', 'f' */
    bool is_virtual;  /* compute_90, lto_90: the input is checked, and there is no image */
};

struct ptxas_options {
    struct ptxas_target target;
    const char *output;  /* file */
    const char *profile; /* file; NULL: HEDDLE_PROFILE_USE */
    bool help, version, list_versions;
    bool compile_only, whole_extensible; /* undefined names are left to a linker */
    bool debug, line_info, no_debug_info;
    bool verbose, no_warnings, warnings_are_errors;
    bool warn_spills, warn_local, warn_double;
    bool override_directives; /* max_registers comes before bounds that a kernel has */
    unsigned max_registers;   /* 0: what the architecture has */
};

struct ptxas_input {
    const char *name;
    const char *text; /* NUL-terminated */
    size_t len;
};

struct ir_profile;
struct ptxas {
    struct hd_arena arena; /* what was copied */
    struct ptxas_options options;
    HD_VEC(struct ptxas_input) inputs;
    HD_VEC(const char *) files;   /* inputs that are still to be read */
    HD_VEC(const char *) entries; /* -e: the kernels that are wanted; none: all */
    struct hd_buf error;          /* errors and what is fatal */
    struct hd_buf info;           /* statistics and warnings */
    struct hd_buf image;
    const struct ir_profile *profile; /* while it assembles; NULL: there is none */
    bool failed;                      /* an error was told */
    /* May be NULL. Asked between the phases; other than 0 ends the work with HD_CANCELLED. */
    int (*flow)(void *payload, void *reserved);
    void *flow_payload;
};

/* What the words stand for. */
enum ptxas_caller {
    PTXAS_TOOL, /* a command line: words without a dash are files, options may come from files */
    PTXAS_API,  /* options only */
};

void ptxas_init(struct ptxas *p);
void ptxas_fini(struct ptxas *p);
/* False after a message. */
bool ptxas_options_read(struct ptxas *p, enum ptxas_caller caller, size_t count,
                        const char *const *words) HD_MUST_CHECK;
/* HD_NO_MEMORY. */
enum hd_status ptxas_input_add(struct ptxas *p, const char *name, const char *text, size_t len)
    HD_MUST_CHECK;
/*
 * HD_OK, and the image is there unless the target is virtual; else messages say why:
 * HD_BAD_VERSION (of the PTX), HD_CANCELLED, HD_NO_MEMORY, HD_BAD_PTX and others.
 */
enum hd_status ptxas_assemble(struct ptxas *p) HD_MUST_CHECK;

/* Calls for each option that does something, or for each of the others: its names and value, and
 * what it means ("" for the others). */
void ptxas_help(bool has_effect, void (*row)(const char *names, const char *doc));
/* Appends the versions of PTX. */
void ptxas_list_versions(struct hd_buf *out);
/* Is this version of PTX known? */
bool ptxas_version_known(unsigned major, unsigned minor);
/* Versions of PTX (major, minor) and architectures (90), how many and which, in rising order. The
 * arrays may be NULL. */
size_t ptxas_versions(int (*out_versions)[2]);
size_t ptxas_architectures(int *out_ccs);
/* "sm_90a", "compute_90"; false for what is none. */
bool ptxas_target_read(const char *name, struct ptxas_target *out_target);

/* ---- messages */

enum ptxas_severity { PTXAS_INFO, PTXAS_WARNING, PTXAS_ERROR, PTXAS_FATAL };

void ptxas_say(struct ptxas *p, enum ptxas_severity severity, const char *fmt, ...) HD_PRINTF(3, 4);
/* The calling thread's last error, whose text begins with the input's name and maybe a line. */
void ptxas_say_status(struct ptxas *p, enum hd_status status);

#endif
