/*
 * Compiling a program by clang. Each module is first made into checked bitcode; the first is then
 * compiled with the others linked to it, of the lazy ones what is needed.
 */
#include "api/nvvm/program.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <unistd.h>

#include "base/env.h"
#include "base/mem.h"
#include "clang/clang.h"
#include "obj/linked.h"

#define LOG_MAX_B (16u << 20)
#define TARGET                                                                                     \
    "--target=nvptx64-nvidia-cuda -x ir -Wno-override-module -Wno-linker-warnings "                \
    "-fno-color-diagnostics"

struct build {
    struct _nvvmProgram *program;
    bool needs_intrinsics;
    char folder[64];
};

/* Files behind those of the modules. */
enum { FILE_FLAGS, FILE_INTRINSICS };

static nvvmResult build_internal(struct _nvvmProgram *p, const char *what, nvvmResult result)
{
    hd_buf_printf(&p->log, "libnvvm : error: %s: %s\n", what, hd_error_message());
    return result;
}

/* ---- files */

static int build_remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)remove(path);
    return 0;
}

static bool build_folder_make(struct build *b)
{
    const char *base = hd_env_of_system("TMPDIR");

    if (!base || !*base || strlen(base) > 30)
        base = "/tmp";
    (void)snprintf(b->folder, sizeof(b->folder), "%s/heddle-nvvm-XXXXXX", base);
    if (mkdtemp(b->folder))
        return true;
    (void)!hd_error(HD_IO, "%s: %s", b->folder, strerror(errno));
    return false;
}

static void build_path_of(const struct build *b, size_t i, const char *suffix, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/%zu.%s", b->folder, i, suffix);
}

/*
 * The device maths has a layout and a name of the target of its own, which is as it should be;
 * clang has no option for these warnings. An empty line follows each.
 */
static void build_drop_known_warnings(char *text)
{
    static const char known[] = "warning: Linking two modules of different ";
    char *at = text;

    while ((at = strstr(at, known))) {
        size_t n = strcspn(at, "\n");

        n += strspn(at + n, "\n");
        memmove(at, at + n, strlen(at + n) + 1);
    }
}

/* What clang said, with the module's name where it names our file. */
static void build_log_read(const struct build *b, const char *file, const char *name)
{
    char path[PATH_MAX];
    struct hd_buf text, *log = &b->program->log;

    hd_buf_init(&text);
    (void)snprintf(path, sizeof(path), "%s/log", b->folder);
    if (hd_file_read(path, LOG_MAX_B, &text) != HD_OK)
        hd_buf_printf(log, "libnvvm : error: %s\n", hd_error_message());
    if (text.ptr)
        build_drop_known_warnings(text.ptr);
    for (const char *at = text.ptr; at && *at;) {
        const char *found = file ? strstr(at, file) : NULL;

        hd_buf_append(log, at, found ? (size_t)(found - at) : strlen(at));
        if (found)
            hd_buf_puts(log, name);
        at = found ? found + strlen(file) : NULL;
    }
    hd_buf_fini(&text);
}

/* ---- modules */

/* The file of module i for clang: converted text, or the bitcode as it is. */
static bool build_module_write(struct build *b, size_t i)
{
    const struct nv_module *m = &b->program->modules.at[i];
    bool is_bitcode = nv_is_bitcode(m->bytes.ptr, m->bytes.len);
    char path[PATH_MAX];
    struct hd_buf bytes;

    hd_buf_init(&bytes);
    if (is_bitcode)
        hd_buf_append(&bytes, m->bytes.ptr, m->bytes.len);
    else
        nv_dialect_convert(m->bytes.ptr, m->bytes.len, &bytes);
    if (bytes.len && nv_intrinsics_rename(bytes.ptr, bytes.len))
        b->needs_intrinsics = true;
    build_path_of(b, i, is_bitcode && m->lazy ? "bc" : "in", path);
    bool worked =
        !bytes.failed && hd_file_write(path, bytes.ptr ? bytes.ptr : "", bytes.len) == HD_OK;
    hd_buf_fini(&bytes);
    return worked;
}

static nvvmResult run(const struct build *b, struct clang_args *args, const char *file,
                      const char *name, const char *out)
{
    char log_path[PATH_MAX];

    (void)snprintf(log_path, sizeof(log_path), "%s/log", b->folder);
    enum hd_status status = clang_run(args, log_path);
    clang_args_fini(args);
    if (status != HD_OK)
        return build_internal(b->program, "compiler", NVVM_ERROR_COMPILATION);
    build_log_read(b, file, name);
    return access(out, F_OK) == 0 ? NVVM_SUCCESS : NVVM_ERROR_COMPILATION;
}

/* File i becomes what the words say. */
static nvvmResult build_convert(const struct build *b, const char *clang, size_t i,
                                const char *name, const char *from, const char *to,
                                const char *words)
{
    struct clang_args args = {0};
    char in[PATH_MAX], out[PATH_MAX];

    build_path_of(b, i, from, in);
    build_path_of(b, i, to, out);
    clang_args_add(&args, "%s", clang);
    clang_args_add_words(&args, TARGET " -emit-llvm -Xclang -disable-llvm-passes");
    clang_args_add_words(&args, words);
    clang_args_add(&args, "%s", in);
    clang_args_add(&args, "-o");
    clang_args_add(&args, "%s", out);
    return run(b, &args, in, name, out);
}

static nvvmResult build_bitcode_make(const struct build *b, const char *clang, size_t i,
                                     const char *name)
{
    return build_convert(b, clang, i, name, "in", "bc", "-c");
}

/* Reads and checks module i: its bitcode is written. */
static nvvmResult build_module_check(struct build *b, const char *clang, size_t i)
{
    const struct nv_module *m = &b->program->modules.at[i];

    if (!build_module_write(b, i))
        return build_internal(b->program, m->name, NVVM_ERROR_OUT_OF_MEMORY);
    if (m->lazy && nv_is_bitcode(m->bytes.ptr, m->bytes.len))
        return NVVM_SUCCESS;
    return build_bitcode_make(b, clang, i, m->name) ? NVVM_ERROR_INVALID_IR : NVVM_SUCCESS;
}

/* The text of module i, from its bitcode, with its functions marked. */
static bool build_marked_write(const struct build *b, size_t i)
{
    struct hd_buf text, marked;
    char path[PATH_MAX];

    hd_buf_init(&text);
    hd_buf_init(&marked);
    build_path_of(b, i, "ll", path);
    bool worked = hd_file_read(path, OBJ_PAYLOAD_MAX_B, &text) == HD_OK;
    if (worked)
        nv_flush_mark(text.ptr, text.len, &marked);
    build_path_of(b, i, "in", path);
    worked = worked && !marked.failed && hd_file_write(path, marked.ptr, marked.len) == HD_OK;
    hd_buf_fini(&text);
    hd_buf_fini(&marked);
    return worked;
}

/* ---- the program */

/* A module of ours, behind those of the program. */
static nvvmResult build_own_make(const struct build *b, const char *clang, size_t which,
                                 const char *text)
{
    size_t i = b->program->modules.len + which;
    char path[PATH_MAX];

    build_path_of(b, i, "in", path);
    if (hd_file_write(path, text, strlen(text)) != HD_OK)
        return build_internal(b->program, path, NVVM_ERROR_COMPILATION);
    return build_bitcode_make(b, clang, i, "libnvvm");
}

/* What __nvvm_reflect("__CUDA_FTZ") of the device maths answers, and the intrinsics. */
static nvvmResult build_own_modules_make(const struct build *b, const char *clang,
                                         const struct nv_options *o)
{
    char text[128];

    (void)snprintf(text, sizeof(text),
                   "!llvm.module.flags = !{!0}\n!0 = !{i32 4, !\"nvvm-reflect-ftz\", i32 %d}\n",
                   o->ftz);
    nvvmResult result = build_own_make(b, clang, FILE_FLAGS, text);
    if (!result && b->needs_intrinsics)
        result = build_own_make(b, clang, FILE_INTRINSICS, nv_intrinsics);
    return result;
}

static void build_put_options(struct clang_args *args, const struct nv_options *o)
{
    unsigned known = clang_arch(o->cc);

    clang_args_add_words(args, TARGET " -S -Xclang -target-feature -Xclang +ptx85 -Xclang "
                                      "-target-cpu -Xclang");
    clang_args_add(args, "sm_%u%s", known, known == 90 && o->variant == 'a' ? "a" : "");
    clang_args_add(args, o->plain ? "-O0" : "-O3");
    if (o->fast_sqrt)
        clang_args_add_words(args, "-mllvm -nvptx-prec-sqrtf32=0");
    if (o->fast_div)
        clang_args_add_words(args, "-mllvm -nvptx-prec-divf32=1");
    clang_args_add_words(args, o->no_fma || o->plain ? "-mllvm -nvptx-fma-level=0"
                                                     : "-mllvm -nvptx-fma-level=2");
}

static void build_link_file(struct clang_args *args, const struct build *b, size_t i, bool lazy)
{
    char path[PATH_MAX];

    build_path_of(b, i, "bc", path);
    clang_args_add_words(args, lazy ? "-Xclang -mlink-builtin-bitcode -Xclang"
                                    : "-Xclang -mlink-bitcode-file -Xclang");
    clang_args_add(args, "%s", path);
}

static nvvmResult build_compile(const struct build *b, const char *clang,
                                const struct nv_options *o, char out[PATH_MAX])
{
    struct _nvvmProgram *p = b->program;
    struct clang_args args = {0};
    /* The first module that is not lazy: the others are linked to it. */
    size_t i = 0;
    while (i < p->modules.len && p->modules.at[i].lazy)
        i++;
    size_t first = i < p->modules.len ? i : 0;
    char path[PATH_MAX];

    clang_args_add(&args, "%s", clang);
    build_put_options(&args, o);
    for (size_t k = 0; k < p->modules.len; k++)
        if (k != first)
            build_link_file(&args, b, k, p->modules.at[k].lazy);
    build_link_file(&args, b, p->modules.len + FILE_FLAGS, false);
    if (b->needs_intrinsics)
        build_link_file(&args, b, p->modules.len + FILE_INTRINSICS, true);
    build_path_of(b, first, "bc", path);
    clang_args_add(&args, "%s", path);
    (void)snprintf(out, PATH_MAX, "%s/out.ptx", b->folder);
    clang_args_add(&args, "-o");
    clang_args_add(&args, "%s", out);
    return run(b, &args, path, p->modules.at[first].name, out);
}

static nvvmResult build_image_make(struct _nvvmProgram *p, const struct nv_options *o,
                                   struct hd_buf *ptx)
{
    char none[] = "";
    struct obj_ptx one = {.text = ptx->ptr,
                          .len = ptx->len,
                          .arch = o->cc,
                          .variant = o->variant,
                          .source = p->modules.at[0].name,
                          .options = none};
    struct obj_ptx_list list = {.at = &one, .len = 1, .cap = 1};

    return obj_linked_write(&list, o->cc, &p->result) == HD_OK
               ? NVVM_SUCCESS
               : build_internal(p, "image", NVVM_ERROR_OUT_OF_MEMORY);
}

static nvvmResult build_result_read(struct _nvvmProgram *p, const struct nv_options *o,
                                    const char *path)
{
    struct hd_buf ptx;
    nvvmResult result = NVVM_SUCCESS;

    hd_buf_init(&ptx);
    if (hd_file_read(path, OBJ_PAYLOAD_MAX_B, &ptx) != HD_OK ||
        clang_ptx_finish(&ptx, o->target) != HD_OK)
        result = build_internal(p, "PTX", NVVM_ERROR_COMPILATION);
    else if (o->lto)
        result = build_image_make(p, o, &ptx);
    else
        hd_buf_append(&p->result, ptx.ptr, ptx.len + 1);
    hd_buf_fini(&ptx);
    return result;
}

static nvvmResult build_run(struct build *b, const struct nv_options *o)
{
    const char *clang;
    char out[PATH_MAX];

    if (clang_find(&clang) != HD_OK)
        return build_internal(b->program, "compiler", NVVM_ERROR_COMPILATION);
    nvvmResult result = NVVM_SUCCESS;
    for (size_t i = 0; i < b->program->modules.len && !result; i++)
        result = build_module_check(b, clang, i);
    if (result || !o)
        return result;
    result = build_own_modules_make(b, clang, o);
    if (!result && o->ftz) {
        result = NVVM_SUCCESS;
        for (size_t i = 0; i < b->program->modules.len && !result; i++) {
            const char *name = b->program->modules.at[i].name;

            result = build_convert(b, clang, i, name, "bc", "ll", "-S");
            if (!result && !build_marked_write(b, i))
                result = build_internal(b->program, name, NVVM_ERROR_COMPILATION);
            result = result ? result : build_bitcode_make(b, clang, i, name);
        }
    }
    result = result ? result : build_compile(b, clang, o, out);
    return result ? result : build_result_read(b->program, o, out);
}

static nvvmResult build(struct _nvvmProgram *program, const struct nv_options *o)
{
    struct build b = {.program = program};

    if (!build_folder_make(&b))
        return build_internal(program, "temporary folder", NVVM_ERROR_COMPILATION);
    nvvmResult result = build_run(&b, o);
    (void)nftw(b.folder, build_remove_one, 8, FTW_DEPTH | FTW_PHYS);
    if (!result && (program->log.failed || program->result.failed))
        return NVVM_ERROR_OUT_OF_MEMORY;
    return result;
}

nvvmResult nv_verify(struct _nvvmProgram *program)
{
    return build(program, NULL);
}

nvvmResult nv_build(struct _nvvmProgram *program, const struct nv_options *options)
{
    return build(program, options);
}
