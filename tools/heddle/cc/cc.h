/*
 * heddle cc: an nvcc-like driver around clang.
 *
 * One CUDA source goes through: clang for the device, once per architecture (PTX) -> one fat binary
 * -> clang for the host, which embeds it. Other sources go through clang as they are. Objects are
 * linked with Heddle's libcudart. docs/cc.md describes options and the relocatable-code scheme.
 *
 *     struct cc_job job;
 *     status = cc_parse(argc, argv, &job);    what to do
 *     cc_paths_find(&job.paths);              with which headers, libraries, compiler
 *     cc_run(&job);                           do it
 *
 * All strings live as long as the process (a compiler driver is short-lived): nothing is freed but
 * temporary files.
 */
#ifndef HEDDLE_TOOLS_CC_H
#define HEDDLE_TOOLS_CC_H

#include "base/status.h"
#include "base/str.h"
#include "base/vec.h"

/* A growing argument vector; `at` is NULL-terminated when cc_list_add() made it. */
struct cc_list {
    const char **at;
    size_t len;
    size_t cap;
};

void cc_list_add(struct cc_list *list, const char *text);
void cc_list_addf(struct cc_list *list, const char *fmt, ...) HD_PRINTF(2, 3);
void cc_list_add_all(struct cc_list *list, const struct cc_list *more);
/* Splits at any of the separators and adds the parts: "a,b,c" at ",". */
void cc_list_add_split(struct cc_list *list, const char *text, const char *separators);
/* The words of an option's value for another program (-Xcompiler), as of nvcc, which gives it to a
 * shell: commas and blanks separate, quotes and backslashes protect and go. An open quote ends with
 * the text. */
void cc_list_add_forwarded(struct cc_list *list, const char *text);
bool cc_is_one_of(const char *word, const char *const *words, size_t n);
/* printf into a string that lives as long as the process. */
const char *cc_format(const char *fmt, ...) HD_PRINTF(1, 2);

enum cc_lang {
    CC_LANG_BY_NAME,
    CC_LANG_CUDA,
    CC_LANG_CXX,
    CC_LANG_C,
    CC_LANG_ASM,
    CC_LANG_LINK, /* object, archive, shared library */
};

enum cc_mode {
    CC_MODE_LINK,
    CC_MODE_OBJECT,     /* -c, -dc */
    CC_MODE_PTX,        /* -ptx */
    CC_MODE_FATBIN,     /* -fatbin */
    CC_MODE_CUBIN,      /* -cubin */
    CC_MODE_PREPROCESS, /* -E */
    CC_MODE_DEPEND,     /* -M, -MM */
    CC_MODE_LIB,        /* -lib */
    CC_MODE_DLINK,      /* -dlink */
};

struct cc_input {
    const char *path;
    enum cc_lang lang;
};

/* A device architecture: what the user asked for and what clang can give. */
struct cc_arch {
    unsigned cc;  /* 120 */
    char variant; /* 'a', 'f' or 0 */
};

/* Where things are; see cc_paths.c for the search order. */
struct cc_paths {
    const char *clang;       /* clang++-19 */
    const char *include_dir; /* holds cuda_runtime.h */
    const char *libdevice;   /* heddle-libdevice.bc, or NULL */
    const char *libcudart;   /* libcudart.so.13, or NULL */
    const char *libcuda;     /* libcuda.so.1, or NULL */
    const char *toolkit;     /* the folder that looks like a CUDA toolkit, or NULL */
};

struct cc_job {
    enum cc_mode mode;
    HD_VEC(struct cc_input) inputs;
    HD_VEC(struct cc_arch) archs;
    const char *output;
    const char *output_dir;  /* -odir, for results that -o does not name */
    const char *depend_mode; /* "-M" or "-MM" */
    struct cc_list compile;  /* for every compilation */
    struct cc_list device;   /* for device passes */
    struct cc_list host;     /* for host passes, from -Xcompiler */
    struct cc_list ptxas;    /* for `heddle ptxas`, which -cubin starts */
    struct cc_list link;     /* in order, with the objects put in front */
    struct cc_list own;      /* Heddle's libraries that are asked for, by path */
    struct cc_list run_args; /* of the program, with -run */
    bool rdc, shared, debug_device, optimize_device, lineinfo, no_device_link, keep, dryrun,
        verbose, no_cudart, names_cudart;
    bool help, version, run, list_virtual, list_real, cubin, dlto;
    bool extended_lambda, relaxed_constexpr, extensible; /* they define macros */
    bool as_nvcc;          /* called by that name: build systems look for its output */
    bool forward_compiler; /* options that we do not know are the host compiler's */
    bool forward_linker;   /* or the linker's */
    const char *runtime;   /* -cudart, NULL: not given */
    bool launches_in_kernels;
    bool depend_beside;      /* -MD, -MMD */
    const char *depend_file; /* -MF, or NULL */
    const char *keep_dir;    /* NULL: the working folder */
    const char *time_file;   /* NULL: times are not wanted */
    char opt;                /* '0'..'3', 0 = not given */
    const char *doing;       /* what is shown while commands run that print nothing, or NULL */
    struct cc_paths paths;
    const char *temp_dir; /* created on demand */
    struct cc_list temps; /* files to remove */
};

/* Reads the command line into a job that is zero but for as_nvcc. CLI_OK, or CLI_USAGE after a
 * message. */
int cc_parse(int argc, char **argv, struct cc_job *out_job);
void cc_print_help(void);

/* nvcc's --version, and what -v begins with: CMake and others read both. */
void cc_nvcc_print_version(void);
void cc_nvcc_print_places(const struct cc_job *job);
/* The libraries that nvcc adds to every link. */
void cc_nvcc_add_runtime(const struct cc_job *job, struct cc_list *cmd);

/* The macros that nvcc defines: for every source, and all of those for CUDA's. */
void cc_add_macros(const struct cc_job *job, struct cc_list *cmd);
void cc_add_cuda_macros(const struct cc_job *job, struct cc_list *cmd);

/* Finds headers, libraries and the compiler. HD_NOT_FOUND names what is missing and how to point at
 * it. */
enum hd_status cc_paths_find(struct cc_paths *out_paths, bool need_cudart) HD_MUST_CHECK;

/* Prints words as a shell takes them, then a line's end. */
void cc_print_words(const struct cc_list *words);

/* Runs a command and waits; prints it first when verbose or dry. Returns its exit code, 128+n for a
 * signal. */
int cc_exec(const struct cc_job *job, const struct cc_list *command);
/* The same, with what it says (stderr) in a file. */
int cc_exec_logged(const struct cc_job *job, const struct cc_list *command, const char *log);

/* A path for an intermediate file: <dir>/<stem of source><suffix>; removed at the end unless
 * --keep. */
const char *cc_temp_path(struct cc_job *job, const char *source, const char *suffix);
void cc_temp_cleanup(struct cc_job *job);
/* "dir/kernel.cu" -> "kernel". */
const char *cc_stem(const char *path);
/* "dir/kernel.cu" -> the length of "dir/kernel". */
size_t cc_stem_len(const char *path);

/* The words for every compilation with its folders of headers, in the order of cc_include.c. */
void cc_add_includes(const struct cc_job *job, struct cc_list *cmd);
/* The folder of Thrust, CUB and libcu++ of an installed toolkit, if there is one. */
void cc_add_installed_cccl(struct cc_list *cmd);

/* Compiles one input: to job->output or to `object` when linking. Returns an exit code. */
int cc_compile(struct cc_job *job, const struct cc_input *input, const char *object);

/*
 * Writes the C source that registers relocatable device code for a link of these objects, when any
 * of them needs it; *out_source is NULL otherwise. See docs/cc.md, "Relocatable device code".
 */
enum hd_status cc_rdc_write_stub(struct cc_job *job, const struct cc_list *objects,
                                 const char **out_source) HD_MUST_CHECK;

/*
 * What a pass with these words compiles when kernels launch kernels: *source becomes a text of its
 * own, the words say so, and job->launches_in_kernels is set. Otherwise nothing changes. `object`:
 * what a rule of dependencies is for, or NULL. Returns an exit code.
 */
int cc_launches(struct cc_job *job, struct cc_list *words, const char *object, bool on_host,
                const char **source);

/*
 * A pass of clang: the words, `tail` and the source, to `to`. What clang refuses of NVIDIA's
 * dialect is changed and tried again (src/clang/dialect.c). Returns an exit code.
 */
int cc_pass(struct cc_job *job, const struct cc_list *words, const struct cc_list *tail,
            const char *source, const char *to);

/* Preprocesses with the words of a pass and these; what is said goes to a file, or NULL. */
int cc_preprocess(const struct cc_job *job, const struct cc_list *words, const char *more,
                  const char *source, const char *object, const char *to, const char *log);
/* Leaves out of a pass's words what preprocessing has done. */
void cc_drop_preprocessing(struct cc_list *words);

/* -dlink -cubin: the image of these objects' device code, to `output`. Returns an exit code. */
int cc_link_image(const struct cc_job *job, const struct cc_list *objects, const char *output);

/* Whether -Xcompiler asks the host compiler what it is, and its answer, on stdout. */
bool cc_host_is_asked(const struct cc_job *job);
int cc_host_answer(struct cc_job *job);
/* Leaves out of job->host what clang does not know. */
void cc_drop_foreign(struct cc_job *job);
/* Behind a failure: says so where the system has no headers of C++ or no linker. */
void cc_note_bare_host(struct cc_job *job);

/* What a module of PTX defines, and what it leaves to the link. */
typedef void cc_name_fn(void *user, struct hd_str name, bool is_defined);
void cc_ptx_names(const char *text, size_t len, cc_name_fn *report, void *user);

/* In relocatable PTX of clang: static variables have one name; see cc_statics.c. */
enum hd_status cc_statics_mend(struct hd_buf *ptx) HD_MUST_CHECK;

/* In an object of host code: what stands for kernels has their names; see cc_stubs.c. */
enum hd_status cc_stubs_rename(const char *path) HD_MUST_CHECK;

#endif
