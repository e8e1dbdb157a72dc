/*
 * heddle cc: where headers are looked for. The user's folders come first, as with nvcc (but for
 * what stands in for single headers of libraries, heddle/first), then Heddle's. A folder that
 * holds a toolkit's CUDA headers (build systems name it with -I) comes behind Heddle's: those
 * headers are written for nvcc's own front end. So do the folders of wheels that lie beside a
 * package with headers: PyTorch's extensions need no toolkit then. Last are Thrust, CUB and libcu++
 * of an installed toolkit, which nvcc finds without being told.
 */
#include "cc/cc.h"

#include "base/env.h"

#include <glob.h>
#include <string.h>
#include <unistd.h>

static bool holds(const char *folder, const char *file)
{
    return access(cc_format("%s/%s", folder, file), R_OK) == 0;
}

/* A toolkit's own, or of a wheel, where crt/ is in another one. */
static bool is_toolkits(const char *folder)
{
    return holds(folder, "cuda_runtime.h") &&
           (holds(folder, "crt/host_runtime.h") || holds(folder, "cuda_runtime_api.h"));
}

/* The folder that the word at `*at` names, stepping to its value; NULL when the word is another. */
static const char *folder_at(const struct cc_list *words, size_t *at)
{
    const char *word = words->at[*at];
    if (strncmp(word, "-I", 2) == 0 && word[2])
        return word + 2;
    if (strcmp(word, "-isystem") == 0 && *at + 1 < words->len)
        return words->at[++*at];
    return NULL;
}

/* <site-packages>/torch/include has <site-packages>/nvidia/cu13/include beside it. */
static void find_wheels(const char *folder, struct cc_list *out_wheels)
{
    glob_t found;
    bool has_runtime = false;
    if (out_wheels->len ||
        glob(cc_format("%s/../../nvidia/*/include", folder), 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        has_runtime |= is_toolkits(found.gl_pathv[i]);
    for (size_t i = 0; has_runtime && i < found.gl_pathc; i++)
        cc_list_add(out_wheels, cc_format("%s", found.gl_pathv[i]));
    globfree(&found);
}

/*
 * The words but for folders of toolkits, which go to `out_toolkits`; those of wheels, which no word
 * names, go to `out_wheels`.
 */
static void add_but_toolkits(const struct cc_job *job, struct cc_list *cmd,
                             struct cc_list *out_toolkits, struct cc_list *out_wheels)
{
    for (size_t i = 0; i < job->compile.len; i++) {
        size_t first = i;
        const char *folder = folder_at(&job->compile, &i);
        if (folder && is_toolkits(folder)) {
            cc_list_add(out_toolkits, folder);
            continue;
        }
        if (folder)
            find_wheels(folder, out_wheels);
        for (; first <= i; first++)
            cc_list_add(cmd, job->compile.at[first]);
    }
}

/* Adds <folder>/cccl when Thrust is in it. */
static bool add_cccl(const char *folder, struct cc_list *cmd)
{
    const char *cccl = cc_format("%s/cccl", folder);
    if (!holds(cccl, "thrust/version.h"))
        return false;
    cc_list_add(cmd, "-isystem");
    cc_list_add(cmd, cccl);
    return true;
}

void cc_add_installed_cccl(struct cc_list *cmd)
{
    static const char *const names[] = {"CUDA_HOME", "CUDA_PATH"};
    for (size_t i = 0; i < HD_COUNT_OF(names); i++) {
        const char *home = getenv(names[i]);
        if (home && *home && add_cccl(cc_format("%s/include", home), cmd))
            return;
    }
    (void)add_cccl("/usr/local/cuda/include", cmd);
}

void cc_add_includes(const struct cc_job *job, struct cc_list *cmd)
{
    struct cc_list toolkits = {0}, wheels = {0};
    bool found = false;
    /* Headers of Heddle's that stand before a library's of the same name, and include it. */
    cc_list_addf(cmd, "-I%s/heddle/first", job->paths.include_dir);
    add_but_toolkits(job, cmd, &toolkits, &wheels);
    for (size_t i = 0; i < wheels.len; i++)
        cc_list_add(&toolkits, wheels.at[i]);
    cc_list_add(cmd, "-isystem");
    cc_list_add(cmd, job->paths.include_dir);
    for (size_t i = 0; i < toolkits.len; i++) {
        cc_list_add(cmd, "-isystem");
        cc_list_add(cmd, toolkits.at[i]);
        found = found || add_cccl(toolkits.at[i], cmd);
    }
    if (!found)
        cc_add_installed_cccl(cmd);
}
