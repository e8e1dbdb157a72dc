/* heddle cc: the flow, from the parsed command line to the linked program. */
#include "cc.h"
#include "cli.h"

#include <stdio.h>
#include <string.h>

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

/* Libraries in directories that the loader does not search are found through an rpath. */
static void add_runtime(const struct cc_job *job, struct cc_list *cmd)
{
    const char *libs[2] = {job->no_cudart ? NULL : job->paths.libcudart,
                           job->want_libcuda ? job->paths.libcuda : NULL};
    for (size_t i = 0; i < HD_COUNT_OF(libs); i++) {
        if (!libs[i])
            continue;
        cc_list_add(cmd, libs[i]);
        const char *slash = strrchr(libs[i], '/');
        int n = (int)(slash - libs[i]);
        if (strncmp(libs[i], "/usr/lib/", 9) != 0)
            cc_list_addf(cmd, "-Wl,-rpath,%.*s", n, libs[i]);
    }
    if (!job->no_cudart && job->paths.libcuda) {
        const char *slash = strrchr(job->paths.libcuda, '/');
        cc_list_addf(cmd, "-Wl,-rpath-link,%.*s", (int)(slash - job->paths.libcuda),
                     job->paths.libcuda);
    }
}

/* With relocatable device code, the source that registers all parts, compiled; NULL when not
 * needed. */
static int rdc_object(struct cc_job *job, const struct cc_list *objects, const char **out_object)
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
    *out_object = cc_temp_path(job, "heddle-rdc.c", ".o");
    cc_list_add(&cmd, job->paths.clang_c);
    cc_list_add_split(&cmd, "-xc,-O1,-fPIC,-c");
    cc_list_add(&cmd, source);
    cc_list_add(&cmd, "-o");
    cc_list_add(&cmd, *out_object);
    return cc_exec(job, &cmd);
}

static int link_all(struct cc_job *job)
{
    struct cc_list objects = {0}, cmd = {0};
    const char *registration;
    int rc;
    for (size_t i = 0; i < job->inputs.len; i++)
        if ((rc = object_of(job, &job->inputs.at[i], &objects)) != 0)
            return rc;
    if ((rc = rdc_object(job, &objects, &registration)) != 0)
        return rc;
    cc_list_add(&cmd, job->paths.clang);
    if (job->shared)
        cc_list_add(&cmd, "-shared");
    cc_list_add_all(&cmd, &objects);
    cc_list_add(&cmd, "-o");
    cc_list_add(&cmd, job->output ? job->output : "a.out");
    cc_list_add_all(&cmd, &job->link);
    if (registration)
        cc_list_add(&cmd, registration); /* last: its constructor must run after all others */
    add_runtime(job, &cmd);
    return cc_exec(job, &cmd);
}

static int compile_all(struct cc_job *job)
{
    for (size_t i = 0; i < job->inputs.len; i++) {
        const struct cc_input *input = &job->inputs.at[i];
        const char *object = job->output;
        if (input->lang == CC_LANG_LINK) {
            fprintf(stderr, "heddle cc: note: %s is not compiled and nothing is linked\n",
                    input->path);
            continue;
        }
        if (!object && job->mode == CC_MODE_OBJECT)
            object = cc_format("%s.o", cc_stem(input->path));
        int rc = cc_compile(job, input, object);
        if (rc)
            return rc;
    }
    return 0;
}

int cmd_cc(int argc, char **argv)
{
    struct cc_job job;
    int rc = cc_parse(argc, argv, &job);
    if (rc != CLI_OK)
        return rc;
    if (job.help) {
        cc_print_help();
        return CLI_OK;
    }
    if (cc_paths_find(&job.paths, job.mode == CC_MODE_LINK && !job.no_cudart) != HD_OK)
        return cli_error("%s", hd_error_message());
    rc = job.mode == CC_MODE_LINK ? link_all(&job) : compile_all(&job);
    cc_temp_cleanup(&job);
    return rc;
}
