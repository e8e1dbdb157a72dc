/* Compiling a program: its files go to a folder of their own, clang makes PTX of them. */
#include "api/nvrtc/program.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "obj/linked.h"

#define NAME_PREFIX "__heddle_name_"
#define LOG_MAX_B   (16u << 20)

struct build {
    struct _nvrtcProgram *program;
    const struct rtc_options *options;
    char folder[64];
    struct hd_buf text; /* what clang reads */
    size_t source_at;   /* where the program's source begins in it */
    size_t front_words; /* those that the front was compiled ahead with; 0: it was not */
};

/* ---- the folder */

static nvrtcResult build_internal(struct _nvrtcProgram *p, const char *what)
{
    hd_buf_printf(&p->log, "nvrtc: error: %s: %s\n", what, hd_error_message());
    return NVRTC_ERROR_INTERNAL_ERROR;
}

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
    (void)snprintf(b->folder, sizeof(b->folder), "%s/heddle-nvrtc-XXXXXX", base);
    if (mkdtemp(b->folder))
        return true;
    (void)!hd_error(HD_IO, "%s: %s", b->folder, strerror(errno));
    return false;
}

/* Is the name one below the folder? Others would leave it. */
static bool build_name_stays(const char *name)
{
    if (!*name || *name == '/' || strlen(name) > PATH_MAX / 2)
        return false;
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (!strncmp(part, "..", 2) && (!part[2] || part[2] == '/'))
            return false;
    return true;
}

static bool build_file_write(const struct build *b, const char *name, const char *text)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", b->folder, name);

    if (n < 0 || (size_t)n >= sizeof(path))
        return false;
    for (char *slash = path + strlen(b->folder) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    return hd_file_write(path, text, strlen(text)) == HD_OK;
}

static nvrtcResult build_headers_write(const struct build *b)
{
    struct _nvrtcProgram *p = b->program;

    for (size_t i = 0; i < p->headers.len; i++) {
        struct rtc_header *h = &p->headers.at[i];

        if (!build_name_stays(h->name)) {
            hd_buf_printf(&p->log,
                          "nvrtc: error: header name '%s' leads out of the program's folder\n",
                          h->name);
            return NVRTC_ERROR_INVALID_INPUT;
        }
        if (!build_file_write(b, h->name, h->text))
            return build_internal(p, h->name);
    }
    return NVRTC_SUCCESS;
}

/* ---- the source */

static void build_put_line_marker(struct hd_buf *out, const char *file)
{
    hd_buf_puts(out, "\n#line 1 \"");
    for (; *file; file++) {
        if (*file == '"' || *file == '\\')
            hd_buf_putc(out, '\\');
        hd_buf_putc(out, *file == '\n' ? ' ' : *file);
    }
    hd_buf_puts(out, "\"\n");
}

static bool build_text_make(struct build *b)
{
    struct _nvrtcProgram *p = b->program;
    struct hd_buf *text = &b->text;

    if (b->options->default_device)
        hd_buf_puts(text, "#pragma clang force_cuda_host_device begin\n");
    build_put_line_marker(text, "command line");
    if (b->options->prologue.len)
        hd_buf_append(text, b->options->prologue.ptr, b->options->prologue.len);
    hd_buf_puts(text, "#include \"heddle/rtc_assert.h\"");
    build_put_line_marker(text, p->name);
    b->source_at = text->len;
    hd_buf_puts(text, p->source);
    if (b->options->default_device)
        hd_buf_puts(text, "\n#pragma clang force_cuda_host_device end\n");
    /*
     * Taking an expression's address makes the compiler instantiate what it names and tells its
     * name: it is what the variable is initialised with.
     */
    if (p->expressions.len)
        build_put_line_marker(text, "name expression");
    for (size_t i = 0; i < p->expressions.len; i++)
        hd_buf_printf(text,
                      "extern \"C\" __device__ __attribute__((used)) const void *" NAME_PREFIX
                      "%zu = (const void *)(%s);\n",
                      i, p->expressions.at[i].text);
    return !text->failed && !b->options->prologue.failed;
}

/* ---- the command */

/* Does it say where files are? Then it does not change what stands in front. */
static bool build_is_of_files(const char *word)
{
    return !strncmp(word, "-I", 2);
}

/* The words that decide what every program begins with. */
static void build_put_front_words(const struct build *b, const char *clang, struct clang_args *args)
{
    clang_args_add(args, "%s", clang);
    clang_args_add_words(args, CLANG_CUDA_WORDS " " CLANG_DEVICE_WORDS);
    clang_args_add_words(args, "-O3 -nostdinc++ -nostdlibinc -D__CUDACC_RTC__=1");
    clang_args_add_words(args, "-fdiagnostics-format=msvc -fno-color-diagnostics");
    /* What nvcc warns of unasked; not that headers use what younger standards have, or replace what
     * NVRTC provides. */
    clang_args_add_words(args, "-Wunused-variable -Wno-c++17-extensions -Wno-c++20-extensions "
                               "-Wno-c++23-extensions -Wno-c++26-extensions "
                               "-Wno-macro-redefined");
    /* Suffixes of the standard's without an underscore, as in libcu++'s chrono. */
    clang_args_add_words(args, "-Wno-reserved-user-defined-literal");
    /* With modules, which C++20 has, clang takes the host's and the device's function of one name
     * out of a compiled header for the same. */
    clang_args_add_words(args, "-Xclang -fno-cxx-modules");
    struct hd_buf words;
    hd_buf_init(&words);
    clang_target_words(b->options->cc, b->options->variant, &words);
    clang_args_add_words(args, words.ptr ? words.ptr : "");
    args->failed |= words.failed;
    hd_buf_fini(&words);
    for (size_t i = 0; i < b->options->clang.len; i++)
        if (!build_is_of_files(b->options->clang.at[i]))
            clang_args_add(args, "%s", b->options->clang.at[i]);
}

static bool build_has_files(const struct build *b)
{
    for (size_t i = 0; i < b->options->clang.len; i++)
        if (build_is_of_files(b->options->clang.at[i]))
            return true;
    return b->program->headers.len != 0;
}

/* Is there all that compiling needs? */
static nvrtcResult build_places_check(const struct build *b, const char **out_clang)
{
    const char *headers = rtc_headers();

    if (!headers || !rtc_libdevice()) {
        (void)!hd_error(HD_NOT_FOUND, "%s not found: set %s",
                        headers ? "heddle-libdevice.bc" : "Heddle's CUDA headers",
                        headers ? "HEDDLE_LIBDIR" : "HEDDLE_INCLUDE");
        return build_internal(b->program, "installation");
    }
    return clang_find(out_clang) == HD_OK ? NVRTC_SUCCESS : build_internal(b->program, "compiler");
}

/* Ours come first: what the program's folders have of CUDA's headers is for another compiler. */
static void build_put_rest(struct build *b, struct clang_args *args)
{
    size_t words = args->len;
    char path[PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/front.pch", b->folder);
    if (!b->options->syntax_only && rtc_front_get(args, build_has_files(b), path)) {
        b->front_words = words;
        clang_args_add(args, "-include-pch");
        clang_args_add(args, "%s", path);
    } else {
        clang_args_add_words(args, "-include heddle/rtc.h");
    }
    clang_args_add_words(args, "-Xclang -mlink-builtin-bitcode -Xclang");
    clang_args_add(args, "%s", rtc_libdevice());
    clang_args_add(args, "-I%s/heddle/first",
                   rtc_headers()); /* before single headers of libraries */
    if (!b->options->no_source_include)
        clang_args_add(args, "-I%s", b->folder);
    rtc_put_headers(args);
    for (size_t i = 0; i < b->options->clang.len; i++)
        if (build_is_of_files(b->options->clang.at[i]))
            clang_args_add(args, "%s", b->options->clang.at[i]);
}

/* ---- results */

/* Cuts the variable of an expression out of the PTX and keeps what it is initialised with. */
static bool build_lowered_take(struct _nvrtcProgram *p, size_t i)
{
    char key[64];
    int key_B = snprintf(key, sizeof(key), NAME_PREFIX "%zu = ", i);
    char *at = strstr(p->ptx.ptr, key);

    if (!at)
        return false;
    char *value = at + key_B;
    if (!strncmp(value, "generic(", 8))
        value += 8;
    size_t len = strcspn(value, ");\n+");
    p->expressions.at[i].lowered = strndup(value, len);
    while (at > p->ptx.ptr && at[-1] != '\n')
        at--;
    char *next = strchr(value, '\n');
    next = next ? next + 1 : value + strlen(value);
    memmove(at, next, strlen(next) + 1);
    p->ptx.len -= (size_t)(next - at);
    return p->expressions.at[i].lowered != NULL;
}

static nvrtcResult build_image_make(struct _nvrtcProgram *p, const struct rtc_options *o)
{
    char none[] = "";
    struct obj_ptx ptx = {.text = p->ptx.ptr,
                          .len = p->ptx.len,
                          .arch = o->cc,
                          .variant = o->variant,
                          .source = p->name,
                          .options = none};
    struct obj_ptx_list list = {.at = &ptx, .len = 1, .cap = 1};

    if (o->is_virtual && !o->lto)
        return NVRTC_SUCCESS;
    if (obj_linked_write(&list, o->cc, &p->image) != HD_OK)
        return build_internal(p, "image");
    p->has_cubin = !o->lto;
    p->is_lto = o->lto;
    return NVRTC_SUCCESS;
}

/* To be linked with others, which may have variables of the same names. */
static bool build_is_relocatable(const struct build *b)
{
    for (size_t i = 0; i < b->options->clang.len; i++)
        if (!strcmp(b->options->clang.at[i], "-fgpu-rdc"))
            return true;
    return false;
}

/* Of the log and the PTX that clang wrote; empty PTX: it wrote none. */
static nvrtcResult build_results_take(const struct build *b, const struct hd_buf *log,
                                      struct hd_buf *ptx)
{
    struct _nvrtcProgram *p = b->program;

    rtc_log_put(&p->log, log);
    if (!ptx->len)
        return NVRTC_ERROR_COMPILATION;
    if (b->options->syntax_only)
        return NVRTC_SUCCESS;
    if (clang_ptx_finish(ptx, b->options->target) != HD_OK ||
        (!build_is_relocatable(b) && clang_statics_name(ptx) != HD_OK))
        return build_internal(p, "PTX");
    hd_buf_fini(&p->ptx);
    p->ptx = *ptx;
    hd_buf_init(ptx);
    for (size_t i = 0; i < p->expressions.len; i++)
        if (!build_lowered_take(p, i))
            return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
    return build_image_make(p, b->options);
}

/* ---- all of it */

/*
 * Does what clang writes depend on nothing but the text? Words in comments and strings cost the
 * cache, no more.
 */
static bool build_stands_alone(const struct build *b)
{
    static const char *const words[] = {"include", "embed", "import", "__TIME", "__DATE__"};

    if (b->program->headers.len)
        return false;
    for (size_t i = 0; i < HD_COUNT_OF(words); i++)
        if (strstr(b->program->source, words[i]) ||
            (b->options->prologue.len && strstr(b->options->prologue.ptr, words[i])))
            return false;
    return true;
}

/* Of a file in the folder. */
static void build_path_of(const struct build *b, const char *name, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/%s", b->folder, name);
}

/* Files of the program have the names that it gave them. */
static void build_put_without_folder(const struct build *b, const char *text, struct hd_buf *log)
{
    size_t len = strlen(b->folder);
    const char *at;

    for (; (at = strstr(text, b->folder)); text = at + len + (at[len] == '/'))
        hd_buf_append(log, text, (size_t)(at - text));
    hd_buf_puts(log, text);
}

/* One run, with what it says behind the log. Its output is `to`, when it worked. */
static nvrtcResult build_clang_step(const struct build *b, struct clang_args *args,
                                    const char *from, const char *to, struct hd_buf *log)
{
    char path[PATH_MAX];
    struct hd_buf said;

    clang_args_add(args, "%s/%s", b->folder, from);
    clang_args_add(args, "-o");
    clang_args_add(args, "%s/%s", b->folder, to);
    build_path_of(b, "log", path);
    if (clang_run(args, path) != HD_OK)
        return build_internal(b->program, "compiler");
    hd_buf_init(&said);
    bool worked = hd_file_read(path, LOG_MAX_B, &said) == HD_OK;
    if (worked && said.len)
        build_put_without_folder(b, said.ptr, log);
    hd_buf_fini(&said);
    return worked ? NVRTC_SUCCESS : build_internal(b->program, "what the compiler said");
}

static bool build_file_is_there(const struct build *b, const char *name, char path[PATH_MAX])
{
    build_path_of(b, name, path);
    return access(path, F_OK) == 0;
}

/*
 * Clients that find a program's headers by compiling it (Jitify: hundreds of times, with one header
 * more each time) have the next attempt only preprocessed until every header is there: that is a
 * fifth of the front end's work. One program at a time is remembered, by its text.
 */
static _Atomic uint64_t headers_wanted_by;

static uint64_t build_text_hash(const struct build *b)
{
    return hd_hash(b->text.ptr, b->text.len, 1);
}

static bool build_lacks_header(const struct hd_buf *log)
{
    return log->len && strstr(log->ptr, "' file not found");
}

/* Whether a header is missing, with what clang says of it in the log; else nothing is said. */
static nvrtcResult build_headers_try(const struct build *b, const struct clang_args *words,
                                     struct hd_buf *log, bool *out_missing)
{
    struct clang_args args = {0};

    *out_missing = false;
    if (atomic_load(&headers_wanted_by) != build_text_hash(b))
        return NVRTC_SUCCESS;
    clang_args_add_all(&args, words);
    clang_args_add(&args, "-E");
    nvrtcResult result = build_clang_step(b, &args, "heddle-input.cu", "out.i", log);
    *out_missing = !result && build_lacks_header(log);
    if (!*out_missing)
        hd_buf_clear(log);
    clang_args_fini(&args);
    return result;
}

/* The words without what they include in front of the source. */
static void build_put_without_front(const struct clang_args *words, struct clang_args *args)
{
    for (size_t i = 0; i < words->len; i++)
        if (!strncmp(words->at[i], "-include", strlen("-include")))
            i++;
        else
            clang_args_add(args, "%s", words->at[i]);
}

/*
 * Where kernels launch kernels: writes the text that is compiled in the source's place, to
 * "launches.cu" (clang/clang.h). What is wrong with the source, the front end's run says.
 */
static nvrtcResult build_launches_write(const struct build *b, const struct clang_args *words,
                                        bool *out_any)
{
    struct clang_args args = {0};
    struct hd_buf text, out, said;
    char path[PATH_MAX];

    build_put_without_front(words, &args);
    clang_args_add_words(&args, "-include heddle/rtc.h " CLANG_LAUNCHES_WORDS);
    hd_buf_init(&text);
    hd_buf_init(&out);
    hd_buf_init(&said);
    nvrtcResult result = build_clang_step(b, &args, "heddle-input.cu", "launches.cui", &said);
    if (!result && build_file_is_there(b, "launches.cui", path) &&
        (hd_file_read(path, OBJ_PAYLOAD_MAX_B, &text) != HD_OK || !text.len ||
         clang_launches_put(text.ptr, CLANG_DEVICE_SIDE, &out) != HD_OK ||
         (out.len && !build_file_write(b, "launches.cu", out.ptr))))
        result = build_internal(b->program, "the source's launches");
    *out_any = out.len != 0;
    hd_buf_fini(&text);
    hd_buf_fini(&out);
    hd_buf_fini(&said);
    clang_args_fini(&args);
    return result;
}

/* Reads a file of the folder; empty when it is not there. */
static void build_file_read(const struct build *b, const char *name, struct hd_buf *out)
{
    char path[PATH_MAX];

    hd_buf_init(out);
    if (build_file_is_there(b, name, path) && hd_file_read(path, OBJ_PAYLOAD_MAX_B, out) != HD_OK)
        hd_buf_clear(out);
}

/*
 * What clang has refused of NVIDIA's dialect is changed and compiled again (clang/dialect.c), and
 * what is said of it replaces the log. `from` is what was refused; nothing happens when there is
 * none of it.
 */
static nvrtcResult build_dialect_run(const struct build *b, const struct clang_args *words,
                                     const char *from, struct hd_buf *log)
{
    struct clang_args args = {0};
    struct hd_buf text, out, said;
    char path[PATH_MAX];
    nvrtcResult result;

    hd_buf_init(&said);
    build_put_without_front(words, &args);
    clang_args_add_words(&args,
                         strcmp(from, "launches.cu") ? "-include heddle/rtc.h -E -w" : "-E -w");
    result = build_clang_step(b, &args, from, "dialect.cui", &said);
    clang_args_fini(&args);
    build_file_read(b, "dialect.cui", &text);
    for (int i = 0;
         !result && text.len && i < CLANG_DIALECT_TRIES && !build_file_is_there(b, "out.ll", path);
         i++) {
        hd_buf_init(&out);
        bool changed = clang_dialect_put(text.ptr, log->ptr ? log->ptr : "", &out) == HD_OK &&
                       out.len && build_file_write(b, "dialect.cu", out.ptr);
        hd_buf_fini(&text);
        text = out;
        if (!changed)
            break;
        hd_buf_clear(log);
        args = (struct clang_args){0};
        build_put_without_front(words, &args);
        clang_args_add_words(&args, CLANG_FRONT_WORDS);
        result = build_clang_step(b, &args, "dialect.cu", "out.ll", log);
        clang_args_fini(&args);
    }
    hd_buf_fini(&text);
    hd_buf_fini(&said);
    return result;
}

static nvrtcResult build_front_run(const struct build *b, const struct clang_args *words,
                                   struct hd_buf *log)
{
    struct clang_args args = {0};
    char path[PATH_MAX];
    bool launches = false;
    nvrtcResult result =
        build_is_relocatable(b) ? build_launches_write(b, words, &launches) : NVRTC_SUCCESS;

    if (result)
        return result;
    if (launches)
        build_put_without_front(words, &args);
    else
        clang_args_add_all(&args, words);
    clang_args_add_words(&args, CLANG_FRONT_WORDS);
    const char *from = launches ? "launches.cu" : "heddle-input.cu";
    result = build_clang_step(b, &args, from, "out.ll", log);
    clang_args_fini(&args);
    if (!result && !build_file_is_there(b, "out.ll", path) && !build_lacks_header(log))
        result = build_dialect_run(b, words, from, log);
    return result;
}

static nvrtcResult build_back_run(const struct build *b, const struct clang_args *words,
                                  struct hd_buf *log)
{
    struct clang_args args = {0};

    clang_back_words(words, &args);
    nvrtcResult result = build_clang_step(b, &args, "out.ll", "out.ptx", log);
    clang_args_fini(&args);
    return result;
}

/* The last error is the program's: without PTX that is told. */
static nvrtcResult build_refuse(struct hd_buf *log, struct hd_buf *ptx)
{
    hd_buf_printf(log, "error: %s\n", hd_error_message());
    hd_buf_clear(ptx);
    return NVRTC_SUCCESS;
}

/* Without PTX the program has errors. */
static nvrtcResult build_clang_once(const struct build *b, const struct clang_args *words,
                                    struct hd_buf *log, struct hd_buf *ptx)
{
    char ir_path[PATH_MAX], path[PATH_MAX];

    if (!build_file_write(b, "heddle-input.cu", b->text.ptr))
        return build_internal(b->program, "the source");
    build_path_of(b, "out.ll", ir_path);
    (void)unlink(ir_path);
    bool missing;
    hd_buf_clear(log);
    nvrtcResult result = build_headers_try(b, words, log, &missing);
    if (result || missing)
        return result;
    result = build_front_run(b, words, log);
    atomic_store(&headers_wanted_by, build_lacks_header(log) ? build_text_hash(b) : 0);
    if (result || !build_file_is_there(b, "out.ll", ir_path))
        return result;
    enum hd_status mended = clang_ir_mend(ir_path, !build_is_relocatable(b));
    if (mended == HD_BAD_ARG || mended == HD_NOT_SUPPORTED)
        return build_refuse(log, ptx);
    if (mended != HD_OK)
        return build_internal(b->program, "IR");
    result = build_back_run(b, words, log);
    if (result || !build_file_is_there(b, "out.ptx", path))
        return result;
    if (hd_file_read(path, OBJ_PAYLOAD_MAX_B, ptx) != HD_OK)
        return build_internal(b->program, "what the compiler wrote");
    /*
     * Directives of clusters, if the program has any; what is wrong with them is an error of its.
     */
    struct hd_buf ir;
    hd_buf_init(&ir);
    enum hd_status status = hd_file_read(ir_path, OBJ_PAYLOAD_MAX_B, &ir);
    if (status == HD_OK)
        status = clang_clusters_add(&ir, b->options->cc, ptx);
    hd_buf_fini(&ir);
    if (status == HD_BAD_ARG || status == HD_NOT_SUPPORTED)
        return build_refuse(log, ptx);
    return status == HD_OK ? NVRTC_SUCCESS : build_internal(b->program, "clusters");
}

/*
 * With the front compiled ahead. What fails with it is tried without: whatever is wrong with it,
 * the program's errors are only those that it has without.
 */
static nvrtcResult build_clang_try(const struct build *b, const struct clang_args *words,
                                   struct hd_buf *log, struct hd_buf *ptx)
{
    const struct clang_args front = {.at = words->at, .len = b->front_words};
    struct clang_args args = {0};
    nvrtcResult result = build_clang_once(b, words, log, ptx);

    if (result || ptx->len || !b->front_words || build_lacks_header(log))
        return result;
    build_put_without_front(words, &args);
    clang_args_add_words(&args, "-include heddle/rtc.h");
    result = build_clang_once(b, &args, log, ptx);
    clang_args_fini(&args);
    if (!result && ptx->len)
        rtc_front_refuse(&front);
    return result;
}

/* Until there is nothing left that only clang refuses. */
static nvrtcResult clang_build(struct build *b, struct clang_args *args, struct hd_buf *log,
                               struct hd_buf *ptx)
{
    nvrtcResult result = build_headers_write(b);

    if (result)
        return result;
    build_put_rest(b, args);
    do
        result = build_clang_try(b, args, log, ptx);
    while (!result && !ptx->len &&
           rtc_commas_drop(b->text.ptr + b->source_at, b->program->name, log));
    return result;
}

/* The same, but for what is kept. */
static nvrtcResult kept_build(struct build *b, struct clang_args *args, struct hd_buf *log,
                              struct hd_buf *ptx)
{
    struct obj_cache_key key;
    bool keeps = build_stands_alone(b) && rtc_result_key(args, b->text.ptr, &key);

    if (keeps && rtc_result_get(key, log, ptx))
        return NVRTC_SUCCESS;
    nvrtcResult result = clang_build(b, args, log, ptx);
    if (!result && keeps && ptx->len && !b->options->syntax_only)
        rtc_result_put(key, log, ptx);
    return result;
}

static nvrtcResult build_run(struct build *b)
{
    struct clang_args args = {0};
    struct hd_buf log, ptx;
    const char *clang;
    nvrtcResult result = build_places_check(b, &clang);

    if (result)
        return result;
    hd_buf_init(&log);
    hd_buf_init(&ptx);
    build_put_front_words(b, clang, &args);
    result = build_text_make(b) ? kept_build(b, &args, &log, &ptx) : NVRTC_ERROR_OUT_OF_MEMORY;
    if (!result)
        result = build_results_take(b, &log, &ptx);
    hd_buf_fini(&log);
    hd_buf_fini(&ptx);
    clang_args_fini(&args);
    return result;
}

nvrtcResult rtc_build(struct _nvrtcProgram *program, const struct rtc_options *options)
{
    struct build b = {.program = program, .options = options};

    if (!build_folder_make(&b))
        return build_internal(program, "temporary folder");
    hd_buf_init(&b.text);
    nvrtcResult result = build_run(&b);
    hd_buf_fini(&b.text);
    (void)nftw(b.folder, build_remove_one, 8, FTW_DEPTH | FTW_PHYS);
    if (!result && (program->log.failed || program->ptx.failed))
        return NVRTC_ERROR_OUT_OF_MEMORY;
    return result;
}
