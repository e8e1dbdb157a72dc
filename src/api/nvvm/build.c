/*
 * Compiling a program by clang. Each module is first made into checked bitcode; the first is then
 * compiled with the others linked to it, of the lazy ones what is needed.
 */
#include "api/nvvm/program.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <unistd.h>

#include "base/mem.h"
#include "clang/clang.h"
#include "obj/linked.h"

#define LOG_MAX_B (16u << 20)
#define TARGET                                                                                     \
    "--target=nvptx64-nvidia-cuda -x ir -Wno-override-module -Wno-linker-warnings "                \
    "-fno-color-diagnostics"

struct build {
    struct _nvvmProgram *program;
    char folder[64];
};

static nvvmResult internal(struct _nvvmProgram *p, const char *what, nvvmResult result)
{
    hd_buf_printf(&p->log, "libnvvm : error: %s: %s\n", what, hd_error_message());
    return result;
}

/* ---- files */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)remove(path);
    return 0;
}

static bool folder_make(struct build *b)
{
    const char *base = getenv("TMPDIR");

    if (!base || !*base || strlen(base) > 30)
        base = "/tmp";
    (void)snprintf(b->folder, sizeof(b->folder), "%s/heddle-nvvm-XXXXXX", base);
    if (mkdtemp(b->folder))
        return true;
    (void)!hd_error(HD_IO, "%s: %s", b->folder, strerror(errno));
    return false;
}

static void path_of(const struct build *b, size_t i, const char *suffix, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/%zu.%s", b->folder, i, suffix);
}

/* What clang said, with the module's name where it names our file. */
static void log_read(const struct build *b, const char *file, const char *name)
{
    char path[PATH_MAX];
    struct hd_buf text, *log = &b->program->log;

    hd_buf_init(&text);
    (void)snprintf(path, sizeof(path), "%s/log", b->folder);
    if (hd_file_read(path, LOG_MAX_B, &text) != HD_OK)
        hd_buf_printf(log, "libnvvm : error: %s\n", hd_error_message());
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
static bool module_write(const struct build *b, size_t i)
{
    struct nv_module *m = &b->program->modules.at[i];
    char path[PATH_MAX];
    struct hd_buf text;

    if (nv_is_bitcode(m->bytes.ptr, m->bytes.len)) {
        path_of(b, i, m->lazy ? "bc" : "in", path);
        return hd_file_write(path, m->bytes.ptr, m->bytes.len) == HD_OK;
    }
    hd_buf_init(&text);
    nv_dialect_convert(m->bytes.ptr, m->bytes.len, &text);
    path_of(b, i, "in", path);
    bool worked = !text.failed && hd_file_write(path, text.ptr ? text.ptr : "", text.len) == HD_OK;
    hd_buf_fini(&text);
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
        return internal(b->program, "compiler", NVVM_ERROR_COMPILATION);
    log_read(b, file, name);
    return access(out, F_OK) == 0 ? NVVM_SUCCESS : NVVM_ERROR_COMPILATION;
}

/* File i becomes bitcode. */
static nvvmResult bitcode_make(const struct build *b, const char *clang, size_t i, const char *name)
{
    struct clang_args args = {0};
    char in[PATH_MAX], out[PATH_MAX];

    path_of(b, i, "in", in);
    path_of(b, i, "bc", out);
    clang_args_add(&args, "%s", clang);
    clang_args_add_words(&args, TARGET " -c -emit-llvm -Xclang -disable-llvm-passes");
    clang_args_add(&args, "%s", in);
    clang_args_add(&args, "-o");
    clang_args_add(&args, "%s", out);
    return run(b, &args, in, name, out);
}

/* Reads and checks module i: its bitcode is written. */
static nvvmResult module_check(const struct build *b, const char *clang, size_t i)
{
    const struct nv_module *m = &b->program->modules.at[i];

    if (!module_write(b, i))
        return internal(b->program, m->name, NVVM_ERROR_OUT_OF_MEMORY);
    if (m->lazy && nv_is_bitcode(m->bytes.ptr, m->bytes.len))
        return NVVM_SUCCESS;
    return bitcode_make(b, clang, i, m->name) ? NVVM_ERROR_INVALID_IR : NVVM_SUCCESS;
}

static nvvmResult modules_check(const struct build *b, const char *clang)
{
    nvvmResult result = NVVM_SUCCESS;

    for (size_t i = 0; i < b->program->modules.len && !result; i++)
        result = module_check(b, clang, i);
    return result;
}

/* ---- the program */

/* A module that says what __nvvm_reflect("__CUDA_FTZ") of the device maths answers. */
static bool flags_write(const struct build *b, const struct nv_options *o)
{
    char path[PATH_MAX], text[128];

    path_of(b, b->program->modules.len, "in", path);
    int n = snprintf(text, sizeof(text),
                     "!llvm.module.flags = !{!0}\n!0 = !{i32 4, !\"nvvm-reflect-ftz\", i32 %d}\n",
                     o->ftz);
    return hd_file_write(path, text, (size_t)n) == HD_OK;
}

static void put_options(struct clang_args *args, const struct nv_options *o)
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
    clang_args_add_words(args,
                         o->no_fma ? "-mllvm -nvptx-fma-level=0" : "-mllvm -nvptx-fma-level=2");
}

/* The first module that is not lazy: the others are linked to it. */
static size_t main_module(const struct _nvvmProgram *p)
{
    size_t i = 0;

    while (i < p->modules.len && p->modules.at[i].lazy)
        i++;
    return i < p->modules.len ? i : 0;
}

static nvvmResult compile(const struct build *b, const char *clang, const struct nv_options *o,
                          char out[PATH_MAX])
{
    struct _nvvmProgram *p = b->program;
    struct clang_args args = {0};
    size_t first = main_module(p);
    char path[PATH_MAX];

    clang_args_add(&args, "%s", clang);
    put_options(&args, o);
    for (size_t i = 0; i <= p->modules.len; i++) { /* the last one: flags */
        if (i == first)
            continue;
        path_of(b, i, "bc", path);
        clang_args_add_words(&args, i < p->modules.len && p->modules.at[i].lazy
                                        ? "-Xclang -mlink-builtin-bitcode -Xclang"
                                        : "-Xclang -mlink-bitcode-file -Xclang");
        clang_args_add(&args, "%s", path);
    }
    path_of(b, first, "bc", path);
    clang_args_add(&args, "%s", path);
    (void)snprintf(out, PATH_MAX, "%s/out.ptx", b->folder);
    clang_args_add(&args, "-o");
    clang_args_add(&args, "%s", out);
    return run(b, &args, path, p->modules.at[first].name, out);
}

static nvvmResult image_make(struct _nvvmProgram *p, const struct nv_options *o, struct hd_buf *ptx)
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
               : internal(p, "image", NVVM_ERROR_OUT_OF_MEMORY);
}

static nvvmResult result_read(struct _nvvmProgram *p, const struct nv_options *o, const char *path)
{
    struct hd_buf ptx;
    nvvmResult result = NVVM_SUCCESS;

    hd_buf_init(&ptx);
    if (hd_file_read(path, OBJ_PAYLOAD_MAX_B, &ptx) != HD_OK ||
        clang_ptx_finish(&ptx, o->target) != HD_OK)
        result = internal(p, "PTX", NVVM_ERROR_COMPILATION);
    else if (o->lto)
        result = image_make(p, o, &ptx);
    else
        hd_buf_append(&p->result, ptx.ptr, ptx.len + 1);
    hd_buf_fini(&ptx);
    return result;
}

static nvvmResult build_run(const struct build *b, const struct nv_options *o)
{
    const char *clang;
    char out[PATH_MAX];

    if (clang_find(&clang) != HD_OK)
        return internal(b->program, "compiler", NVVM_ERROR_COMPILATION);
    nvvmResult result = modules_check(b, clang);
    if (result || !o)
        return result;
    if (!flags_write(b, o))
        return internal(b->program, "flags", NVVM_ERROR_COMPILATION);
    result = bitcode_make(b, clang, b->program->modules.len, "flags");
    result = result ? result : compile(b, clang, o, out);
    return result ? result : result_read(b->program, o, out);
}

static nvvmResult build(struct _nvvmProgram *program, const struct nv_options *o)
{
    struct build b = {.program = program};

    if (!folder_make(&b))
        return internal(program, "temporary folder", NVVM_ERROR_COMPILATION);
    nvvmResult result = build_run(&b, o);
    (void)nftw(b.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
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
