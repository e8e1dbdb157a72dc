/* heddle cc: one input through clang; for CUDA the device passes, the fat binary, the host pass. */
#include "cc/cc.h"
#include "common/cli.h"

#include "cc/cc_arch.h"

#include "base/map.h"
#include "obj/fatbin.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PTX_MAJOR 9
#define PTX_MINOR 0

/* Of what nvcc lets pass clang makes errors: they go, unless the user asks for them. Names of
 * warnings that clang does not know are gcc's and nvcc's. */
#define LENIENT                                                                                    \
    "-Wno-unknown-warning-option -Wno-c++11-narrowing -Wno-register "                              \
    "-Wno-enum-constexpr-conversion -Wno-builtin-macro-redefined "                                 \
    "-Wno-missing-template-arg-list-after-template-kw"

static void compile_add_common(const struct cc_job *job, struct cc_list *cmd)
{
    if (job->opt)
        cc_list_addf(cmd, "-O%c", job->opt);
    else
        cc_list_add(cmd, "-O3");
    cc_list_add_split(cmd, LENIENT, " ");
    cc_add_includes(job, cmd);
}

/*
 * The name by which clang gets a source. From it come the names of relocatable parts, and of their
 * static variables, which have to be the program's only ones: then it is the whole path, and what
 * __FILE__ says is mended.
 */
static const char *compile_unique_source(const struct cc_job *job, const char *source)
{
    char *whole = job->rdc ? realpath(source, NULL) : NULL;
    return whole ? whole : source;
}

static void compile_add_unique_words(const char *source, struct cc_list *cmd)
{
    const char *whole = realpath(source, NULL);
    if (!whole)
        return; /* clang says that there is no such file */
    /* The driver would make another one for each pass. */
    cc_list_add_split(cmd, "-fuse-cuid=none -Xclang", " ");
    cc_list_addf(cmd, "-cuid=%016llx", (unsigned long long)hd_hash(whole, strlen(whole), 0));
    if (strcmp(whole, source) != 0)
        cc_list_addf(cmd, "-fmacro-prefix-map=%s=%s", whole, source);
}

/* The headers of CUDA C++ are C++11. */
static void compile_raise_standard(struct cc_list *cmd)
{
    static const char *const old[] = {"-std=c++98", "-std=c++03", "-std=gnu++98", "-std=gnu++03"};

    for (size_t i = 0; i < cmd->len; i++)
        for (size_t k = 0; k < HD_COUNT_OF(old); k++)
            if (!strcmp(cmd->at[i], old[k]))
                cmd->at[i] = strstr(old[k], "gnu") ? "-std=gnu++11" : "-std=c++11";
}

/* CUDA mode without an SDK: our headers come in through -include, as nvcc does with its own. */
static void compile_add_cuda_mode(const struct cc_job *job, const char *source, struct cc_list *cmd)
{
    cc_add_cuda_words(cmd);
    if (job->rdc) {
        cc_list_add(cmd, "-fgpu-rdc");
        compile_add_unique_words(source, cmd);
    }
    cc_add_cuda_macros(job, cmd);
    /* In front of the user's: those files may be of CUDA, too. */
    cc_list_add_split(cmd, "-include,cuda_runtime.h", ",");
    compile_add_common(job, cmd);
    compile_raise_standard(cmd);
    /* Pragmas of nvcc are none of clang's; programs ask by macros whether they may use them. */
    cc_list_add(cmd, "-Wno-unknown-pragmas");
    /* Loops that cannot be unrolled as their pragma asks are none of nvcc's warnings. */
    cc_list_add(cmd, "-Wno-pass-failed");
}

static void compile_add_device_debug(const struct cc_job *job, struct cc_list *cmd)
{
    if (job->debug_device && !job->optimize_device) {
        cc_list_add(cmd, "-g");
        cc_list_add(cmd, "-O0");
    } else if (job->debug_device || job->lineinfo) {
        cc_list_add(cmd, "-gline-tables-only");
    }
}

/* The words of a device pass in front of its input. */
static void compile_add_device_pass(struct cc_job *job, const char *source, struct cc_arch arch,
                                    struct cc_list *cmd)
{
    cc_list_add(cmd, job->paths.clang);
    /* What nvcc warns of unasked; the host pass does not repeat it. */
    cc_list_add(cmd, "-Wunused-variable");
    compile_add_cuda_mode(job, source, cmd);
    cc_add_device_words(cmd, arch);
    cc_list_add(cmd, "-DCUDA_DOUBLE_MATH_FUNCTIONS=1");
    if (job->paths.libdevice) {
        cc_list_add_split(cmd, "-Xclang,-mlink-builtin-bitcode,-Xclang", ",");
        cc_list_add(cmd, job->paths.libdevice);
    }
    compile_add_device_debug(job, cmd);
    cc_list_add_all(cmd, &job->device);
}

static int compile_run_step(const struct cc_job *job, struct cc_list *cmd, const char *from,
                            const char *to)
{
    cc_list_add(cmd, from);
    cc_list_add(cmd, "-o");
    cc_list_add(cmd, to);
    return cc_exec(job, cmd);
}

/* The front end's run. */
static int compile_ir(struct cc_job *job, struct cc_list *front, const char *source, const char *ir)
{
    struct cc_list plain = {0}, tail = {0};
    const char *input = compile_unique_source(job, source);
    int rc = job->rdc ? cc_launches(job, front, NULL, false, &input) : 0;
    if (rc)
        return rc;
    cc_list_add_all(&plain, front);
    cc_add_front_words(&tail);
    rc = cc_pass(job, front, &tail, input, ir);
    if (rc && !job->rdc && !job->dryrun && cc_launches(job, &plain, NULL, false, &input) == 0 &&
        job->launches_in_kernels)
        cli_error("%s: kernels that launch kernels need relocatable device code: -rdc=true",
                  source);
    return rc;
}

static int compile_ptx(struct cc_job *job, const char *source, struct cc_arch arch, const char *ptx)
{
    struct cc_list front = {0}, back = {0};
    const char *file = strcmp(ptx, "-") ? ptx : cc_temp_path(job, source, ".ptx");
    const char *ir = cc_temp_path(
        job, source, cc_format(".compute_%u%.1s.ll", arch.cc, (char[2]){arch.variant, 0}));
    compile_add_device_pass(job, source, arch, &front);
    cc_add_back_words(&front, &back);
    job->doing = cc_format("%s, device code for compute_%u%.1s", source, arch.cc,
                           (char[2]){arch.variant, 0});
    int rc = compile_ir(job, &front, source, ir);
    rc = rc || job->dryrun ? rc : cc_mend_ir(job, ir);
    rc = rc ? rc : compile_run_step(job, &back, ir, file);
    job->doing = NULL;
    return rc || job->dryrun ? rc : cc_finish_ptx(job, file, ir, ptx, arch);
}

/* Adds the text of one PTX file to the sources of a fat binary; the buffer must outlive them. */
static enum hd_status compile_add_entry(const char *path, struct cc_arch arch,
                                        const struct cc_job *job, struct hd_buf *text,
                                        struct obj_fatbin_source *out_source)
{
    HD_TRY(hd_file_read(path, OBJ_PAYLOAD_MAX_B, text));
    *out_source = (struct obj_fatbin_source){
        .kind = OBJ_ENTRY_PTX,
        .arch = arch.cc,
        .variant = arch.variant,
        .version_major = PTX_MAJOR,
        .version_minor = PTX_MINOR,
        .flags = job->debug_device ? OBJ_FLAG_DEBUG : 0,
        .payload = text->ptr,
        .size_B = text->len,
    };
    return HD_OK;
}

static enum hd_status compile_write_fatbin(const struct cc_job *job, const struct cc_list *ptx,
                                           const char *path)
{
    struct obj_fatbin_source sources[32];
    struct hd_buf texts[32], out;
    size_t n = ptx->len;
    if (n > HD_COUNT_OF(sources))
        return hd_error(HD_BAD_ARG, "more than %zu architectures", HD_COUNT_OF(sources));
    assert(n && n <= job->archs.len);
    for (size_t i = 0; i < n; i++) {
        hd_buf_init(&texts[i]);
        HD_TRY(compile_add_entry(ptx->at[i], job->archs.at[i], job, &texts[i], &sources[i]));
    }
    hd_buf_init(&out);
    HD_TRY(obj_fatbin_write(sources, n, OBJ_CODEC_ZSTD, &out));
    return hd_file_write(path, out.ptr, out.len);
}

/* All device passes of a source; with one architecture `only_ptx` may name the output itself. */
static int compile_device(struct cc_job *job, const char *source, const char *only_ptx,
                          struct cc_list *out_ptx)
{
    for (size_t i = 0; i < job->archs.len; i++) {
        struct cc_arch arch = job->archs.at[i];
        const char *ptx = only_ptx;
        if (!ptx)
            ptx = cc_temp_path(
                job, source, cc_format(".compute_%u%.1s.ptx", arch.cc, (char[2]){arch.variant, 0}));
        int rc = compile_ptx(job, source, arch, ptx);
        if (rc)
            return rc;
        cc_list_add(out_ptx, ptx);
        if (only_ptx)
            break;
    }
    return 0;
}

static int compile_make_fatbin(struct cc_job *job, const char *source, const char *fatbin)
{
    struct cc_list ptx = {0};
    int rc = compile_device(job, source, NULL, &ptx);
    if (rc || job->dryrun)
        return rc;
    if (compile_write_fatbin(job, &ptx, fatbin) != HD_OK) {
        cli_error("%s", hd_error_message());
        return 1;
    }
    return 0;
}

/* A standard of the other language: nvcc keeps its own from C, and GCC ignores one that it gets
 * by -Xcompiler; clang refuses it. */
static void compile_drop_other_standards(struct cc_list *cmd, bool is_c)
{
    size_t kept = 0;
    for (size_t i = 0; i < cmd->len; i++) {
        const char *word = cmd->at[i];
        bool is_standard = strncmp(word, "-std=", 5) == 0;
        bool is_cxx = is_standard && strstr(word, "++");
        if (!is_standard || is_cxx != is_c)
            cmd->at[kept++] = word;
    }
    assert(kept && kept <= cmd->len); /* the compiler's name, at least */
    cmd->len = kept;
    cmd->at[kept] = NULL;
}

/* Host options; the file that -MD writes lies beside the result, as with nvcc, not beside a
 * temporary object. */
static void compile_add_host(const struct cc_job *job, const char *source, const char *object,
                             struct cc_list *cmd)
{
    bool links = job->mode == CC_MODE_LINK || job->mode == CC_MODE_LIB;
    cc_list_add_all(cmd, &job->host);
    if (job->forward_compiler) /* a build system's options are for links, too */
        cc_list_add(cmd, "-Qunused-arguments");
    if (!job->depend_beside || job->depend_file)
        return;
    cc_list_add(cmd, "-MF");
    if (links || !object)
        cc_list_addf(cmd, "%s.d", cc_stem(source));
    else
        cc_list_addf(cmd, "%.*s.d", (int)cc_stem_len(object), object);
}

static int compile_host_cuda(struct cc_job *job, const char *source, const char *fatbin,
                             const char *object)
{
    struct cc_list cmd = {0}, tail = {0};
    assert(job->archs.len);
    cc_list_add(&cmd, job->paths.clang);
    compile_add_cuda_mode(job, source, &cmd);
    cc_list_add(&cmd, "--cuda-host-only");
    if (fatbin) {
        cc_list_add_split(&cmd, "-Xclang,-fcuda-include-gpubinary,-Xclang", ",");
        cc_list_add(&cmd, fatbin);
    }
    /* The device pass has reported the warnings of shared code; the arch is only a name. */
    cc_add_host_words(&cmd, job->archs.at[0]);
    compile_add_host(job, source, object, &cmd);
    compile_drop_other_standards(&cmd, false);
    const char *input = compile_unique_source(job, source);
    int rc = job->launches_in_kernels ? cc_launches(job, &cmd, object, true, &input) : 0;
    if (rc)
        return rc;
    if (job->mode == CC_MODE_DEPEND) {
        cc_list_add(&cmd, job->depend_mode);
        cc_list_add(&cmd, input);
        if (object) {
            cc_list_add(&cmd, "-o");
            cc_list_add(&cmd, object);
        }
        return cc_exec(job, &cmd);
    }
    cc_list_add(&tail, "-c");
    job->doing = cc_format("%s, host code", source);
    rc = cc_pass(job, &cmd, &tail, input, object);
    job->doing = NULL;
    bool in_file = object && strcmp(object, "-") != 0;
    if (!rc && !job->dryrun && in_file && cc_stubs_rename(object) != HD_OK)
        return cli_error("%s", hd_error_message());
    return rc;
}

/* -cubin: the PTX of the first target through `heddle ptxas`. */
static int compile_make_cubin(struct cc_job *job, const char *source, const char *cubin)
{
    struct cc_list ptx = {0}, cmd = {0};
    const char *text = cc_temp_path(job, source, ".ptx");
    assert(job->archs.len && cubin);
    int rc = compile_device(job, source, text, &ptx);
    if (rc)
        return rc;
    cc_list_add(&cmd, "/proc/self/exe");
    cc_list_add(&cmd, "ptxas");
    cc_list_addf(&cmd, "-arch=sm_%u%.1s", job->archs.at[0].cc,
                 (char[2]){job->archs.at[0].variant, 0});
    if (job->rdc)
        cc_list_add(&cmd, "-c");
    for (size_t i = 0; i < job->ptxas.len; i++)
        cc_list_add(&cmd, job->ptxas.at[i]);
    cc_list_add(&cmd, text);
    cc_list_add(&cmd, "-o");
    cc_list_add(&cmd, cubin);
    return cc_exec(job, &cmd);
}

/* -E: what the device code of the first target is made from, as nvcc prints it. */
static int compile_preprocess(struct cc_job *job, const char *source)
{
    struct cc_list cmd = {0};
    assert(job->archs.len);
    compile_add_device_pass(job, source, job->archs.at[0], &cmd);
    cc_list_add(&cmd, "-Qunused-arguments");
    cc_list_add(&cmd, "-E");
    cc_list_add(&cmd, compile_unique_source(job, source));
    if (job->output) {
        cc_list_add(&cmd, "-o");
        cc_list_add(&cmd, job->output);
    }
    return cc_exec(job, &cmd);
}

static int compile_cuda(struct cc_job *job, const char *source, const char *object)
{
    struct cc_list ptx = {0};
    if (job->mode == CC_MODE_PREPROCESS)
        return compile_preprocess(job, source);
    if (job->mode == CC_MODE_DEPEND)
        return compile_host_cuda(job, source, NULL, job->output);
    if (job->mode == CC_MODE_PTX)
        return compile_device(job, source, object, &ptx);
    if (job->mode == CC_MODE_CUBIN)
        return compile_make_cubin(job, source, object);
    if (job->mode == CC_MODE_FATBIN)
        return compile_make_fatbin(job, source, object);
    assert(job->mode == CC_MODE_LINK || job->mode == CC_MODE_OBJECT || job->mode == CC_MODE_LIB ||
           job->mode == CC_MODE_DLINK);
    const char *fatbin = cc_temp_path(job, source, ".fatbin");
    int rc = compile_make_fatbin(job, source, fatbin);
    return rc ? rc : compile_host_cuda(job, source, fatbin, object);
}

static int compile_plain(struct cc_job *job, const struct cc_input *input, const char *object)
{
    struct cc_list cmd = {0};
    bool is_c = input->lang == CC_LANG_C || input->lang == CC_LANG_ASM;
    cc_list_add(&cmd, job->paths.clang);
    if (input->lang != CC_LANG_ASM)
        cc_list_addf(&cmd, "-x%s", is_c ? "c" : "c++");
    if (input->lang == CC_LANG_CXX)
        cc_add_macros(job, &cmd);
    compile_add_common(job, &cmd);
    compile_add_host(job, input->path, object, &cmd);
    compile_drop_other_standards(&cmd, is_c);
    if (job->mode == CC_MODE_PREPROCESS)
        cc_list_add(&cmd, "-E");
    else if (job->mode == CC_MODE_DEPEND)
        cc_list_add(&cmd, job->depend_mode);
    else
        cc_list_add(&cmd, "-c");
    cc_list_add(&cmd, input->path);
    if (object) {
        cc_list_add(&cmd, "-o");
        cc_list_add(&cmd, object);
    }
    return cc_exec(job, &cmd);
}

int cc_compile(struct cc_job *job, const struct cc_input *input, const char *object)
{
    if (input->lang == CC_LANG_CUDA)
        return compile_cuda(job, input->path, object);
    if (job->mode == CC_MODE_PTX || job->mode == CC_MODE_FATBIN || job->mode == CC_MODE_CUBIN) {
        cli_error("%s is not a CUDA source", input->path);
        return 1;
    }
    return compile_plain(job, input, object);
}
