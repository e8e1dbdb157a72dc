/* heddle cc: the flow, from the parsed command line to the linked program. */
#include "cc/cc.h"

#include "cc/cc_arch.h"
#include "common/cli.h"
#include "obj/elf.h"

#include <assert.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The object of an input: its own path, or a temporary that compiling it makes. */
static int object_of(struct cc_job *job, const struct cc_input *input, struct cc_list *objects)
{
    if (input->lang == CC_LANG_LINK) {
        cc_list_add(objects, input->path);
        return 0;
    }
    const char *object = cc_temp_path(job, input->path, ".o");
    cc_list_add(objects, object);
    return cc_compile(job, input, object);
}

/*
 * Libraries in directories that the loader does not search are found through an rpath. It is
 * DT_RPATH, not DT_RUNPATH, which an LD_LIBRARY_PATH with the vendor's libcudart would beat.
 */
static void add_rpath(const char *library, struct cc_list *cmd)
{
    const char *slash = strrchr(library, '/');
    assert(slash); /* where_library() gives whole paths */
    if (strncmp(library, "/usr/lib/", 9) != 0)
        cc_list_addf(cmd, "-Wl,--disable-new-dtags,-rpath,%.*s", (int)(slash - library), library);
}

static void add_runtime(const struct cc_job *job, struct cc_list *cmd)
{
    bool by_name = job->as_nvcc && job->paths.toolkit;
    if (by_name)
        cc_nvcc_add_runtime(job, cmd);
    if (!job->no_cudart && job->paths.libcudart) {
        if (!by_name)
            cc_list_add(cmd, job->paths.libcudart);
        add_rpath(job->paths.libcudart, cmd);
    }
    for (size_t i = 0; i < job->own.len; i++) {
        cc_list_add(cmd, job->own.at[i]);
        add_rpath(job->own.at[i], cmd);
    }
    if (!job->no_cudart && job->paths.libcuda) {
        const char *slash = strrchr(job->paths.libcuda, '/');
        assert(slash); /* likewise */
        cc_list_addf(cmd, "-Wl,-rpath-link,%.*s", (int)(slash - job->paths.libcuda),
                     job->paths.libcuda);
    }
}

/* With relocatable device code, the source that registers all parts, compiled; NULL when not
 * needed. */
static int rdc_object(struct cc_job *job, const struct cc_list *objects, const char *path,
                      const char **out_object)
{
    const char *source;
    struct cc_list cmd = {0};
    *out_object = NULL;
    if (job->dryrun)
        return 0;
    if (cc_rdc_write_stub(job, objects, &source) != HD_OK)
        return cli_error("%s", hd_error_message());
    if (!source)
        return 0;
    *out_object = path ? path : cc_temp_path(job, "heddle-rdc.c", ".o");
    cc_list_add(&cmd, job->paths.clang);
    cc_list_add_split(&cmd, "-xc,-O1,-fPIC,-w,-c", ",");
    cc_list_add(&cmd, source);
    cc_list_add(&cmd, "-o");
    cc_list_add(&cmd, *out_object);
    return cc_exec(job, &cmd);
}

static int objects_of_all(struct cc_job *job, struct cc_list *objects)
{
    int rc = 0;
    for (size_t i = 0; i < job->inputs.len && !rc; i++)
        rc = object_of(job, &job->inputs.at[i], objects);
    return rc;
}

/* -run: through `heddle run`, as a user would start it. */
static int run_program(struct cc_job *job, const char *program)
{
    struct cc_list cmd = {0};
    cc_list_add(&cmd, "/proc/self/exe");
    cc_list_add(&cmd, "run");
    cc_list_add(&cmd, strchr(program, '/') ? program : cc_format("./%s", program));
    cc_list_add_all(&cmd, &job->run_args);
    return cc_exec(job, &cmd);
}

/* `nvcc -run program` is how Meson starts what was linked. */
static bool only_runs(const struct cc_job *job)
{
    assert(job->inputs.len);
    const char *path = job->inputs.at[0].path;
    struct obj_elf elf;
    if (!job->run || job->inputs.len != 1 || job->inputs.at[0].lang != CC_LANG_LINK ||
        access(path, X_OK) != 0 || obj_elf_open_file(path, &elf) != HD_OK)
        return false;
    bool linked = elf.type == ET_EXEC || elf.type == ET_DYN;
    obj_elf_close(&elf);
    return linked;
}

/*
 * nvcc links with what -Xcompiler says. Of that the link needs what code is generated for: a
 * runtime of -fopenmp or -fsanitize=, of which clang takes the latter for all passes.
 */
static void add_host_words(const struct cc_list *words, struct cc_list *cmd)
{
    static const char *const first[] = {"-f",          "-m",          "--coverage",
                                        "-static-lib", "-shared-lib", "-pthread"};
    for (size_t i = 0; i < words->len; i++)
        for (size_t k = 0; k < HD_COUNT_OF(first); k++)
            if (!strncmp(words->at[i], first[k], strlen(first[k])))
                cc_list_add(cmd, words->at[i]);
}

static void add_sanitizers(const struct cc_list *words, struct cc_list *cmd)
{
    for (size_t i = 0; i < words->len; i++)
        if (!strncmp(words->at[i], "-fsanitize", strlen("-fsanitize")) ||
            !strncmp(words->at[i], "-fno-sanitize", strlen("-fno-sanitize")))
            cc_list_add(cmd, words->at[i]);
}

static int link_all(struct cc_job *job)
{
    struct cc_list objects = {0}, cmd = {0};
    if (only_runs(job))
        return run_program(job, job->inputs.at[0].path);
    const char *registration = NULL, *output = job->output ? job->output : "a.out";
    int rc = objects_of_all(job, &objects);
    if (!rc && !job->no_device_link)
        rc = rdc_object(job, &objects, NULL, &registration);
    if (rc)
        return rc;
    cc_list_add(&cmd, job->paths.clang);
    if (job->shared)
        cc_list_add(&cmd, "-shared");
    if (registration)
        cc_list_add(&cmd, registration); /* refers to members of archives */
    cc_list_add_all(&cmd, &objects);
    cc_list_add(&cmd, "-o");
    cc_list_add(&cmd, output);
    cc_list_add(&cmd, "-Wno-unused-command-line-argument");
    add_sanitizers(&job->compile, &cmd);
    add_host_words(&job->host, &cmd);
    cc_list_add_all(&cmd, &job->link);
    add_runtime(job, &cmd);
    rc = cc_exec(job, &cmd);
    if (rc && cc_is_one_of("-fopenmp", job->host.at, job->host.len))
        cli_note("-fopenmp links clang's OpenMP library, libomp-19-dev on Debian");
    return rc || !job->run ? rc : run_program(job, output);
}

/* -dlink: the object that registers the others' device code, for a link by another compiler. */
static int device_link(struct cc_job *job)
{
    struct cc_list objects = {0};
    const char *made;
    assert(job->mode == CC_MODE_DLINK);
    int rc = objects_of_all(job, &objects);
    if (!rc && job->cubin)
        return cc_link_image(job, &objects, job->output ? job->output : "a_dlink.cubin");
    if (!rc)
        rc = rdc_object(job, &objects, job->output ? job->output : "a_dlink.o", &made);
    return rc;
}

/* -lib */
static int archive_all(struct cc_job *job)
{
    struct cc_list objects = {0}, cmd = {0};
    const char *output = job->output ? job->output : "a.a";
    assert(job->mode == CC_MODE_LIB);
    int rc = objects_of_all(job, &objects);
    if (rc)
        return rc;
    if (!job->dryrun)
        (void)unlink(output); /* ar adds to what is there */
    cc_list_add(&cmd, "ar");
    cc_list_add(&cmd, "rcs");
    cc_list_add(&cmd, output);
    cc_list_add_all(&cmd, &objects);
    return cc_exec(job, &cmd);
}

/* Where a result goes that is named for its source. */
static const char *default_output(const struct cc_job *job, const char *source)
{
    static const struct {
        enum cc_mode mode;
        const char *suffix;
    } suffixes[] = {{CC_MODE_OBJECT, ".o"},
                    {CC_MODE_PTX, ".ptx"},
                    {CC_MODE_FATBIN, ".fatbin"},
                    {CC_MODE_CUBIN, ".cubin"}};
    for (size_t i = 0; i < HD_COUNT_OF(suffixes); i++)
        if (suffixes[i].mode == job->mode)
            return cc_format("%s%s%s%s", job->output_dir ? job->output_dir : "",
                             job->output_dir ? "/" : "", cc_stem(source), suffixes[i].suffix);
    return NULL; /* to stdout */
}

static int compile_all(struct cc_job *job)
{
    for (size_t i = 0; i < job->inputs.len; i++) {
        const struct cc_input *input = &job->inputs.at[i];
        const char *object = job->output ? job->output : default_output(job, input->path);
        if (input->lang == CC_LANG_LINK) {
            cli_note("%s is not compiled and nothing is linked", input->path);
            continue;
        }
        int rc = cc_compile(job, input, object);
        if (rc)
            return rc;
    }
    return 0;
}

/* An option's value that was taken for a file, or a name with a mistake: clang would say so once
 * for each pass. */
static int check_inputs(const struct cc_job *job)
{
    for (size_t i = 0; i < job->inputs.len; i++)
        if (!job->dryrun && strcmp(job->inputs.at[i].path, "-") != 0 &&
            access(job->inputs.at[i].path, F_OK) != 0)
            return cli_error("%s: there is no such file", job->inputs.at[i].path);
    return 0;
}

static int run_job(struct cc_job *job)
{
    int rc = check_inputs(job);
    if (rc)
        return rc;
    switch (job->mode) {
    case CC_MODE_LINK:
        return link_all(job);
    case CC_MODE_LIB:
        return archive_all(job);
    case CC_MODE_DLINK:
        return device_link(job);
    default:
        return compile_all(job);
    }
}

static bool is_named_nvcc(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strcmp(name, "nvcc") == 0 || strcmp(name, "heddle-nvcc") == 0;
}

static void print_version(const struct cc_job *job)
{
    if (job->as_nvcc)
        cc_nvcc_print_version();
    else
        printf("heddle cc %s, with the interfaces of CUDA 13.0 and clang 19\n", cli_version());
}

int cmd_cc(int argc, char **argv)
{
    struct cc_job job = {.as_nvcc = is_named_nvcc(argv[0])};
    int rc = cc_parse(argc, argv, &job);
    if (rc != CLI_OK)
        return rc;
    if (job.help) {
        cc_print_help();
        return CLI_OK;
    }
    if (job.version) {
        print_version(&job);
        return CLI_OK;
    }
    if (job.list_virtual || job.list_real) {
        cc_arch_list(&job);
        return CLI_OK;
    }
    job.no_cudart &= !job.names_cudart;
    if (cc_paths_find(&job.paths, job.mode == CC_MODE_LINK && !job.no_cudart) != HD_OK)
        return cli_error("%s", hd_error_message());
    if (job.as_nvcc && job.verbose)
        cc_nvcc_print_places(&job);
    if (cc_host_is_asked(&job))
        return cc_host_answer(&job);
    cc_drop_foreign(&job);
    rc = run_job(&job);
    if (rc && !job.dryrun)
        cc_note_bare_host(&job);
    cc_temp_cleanup(&job);
    return rc;
}
