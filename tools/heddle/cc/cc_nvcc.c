/*
 * heddle cc by the name of nvcc: what build systems read of its output. CMake finds the toolkit by
 * "#$ TOP=" and takes default libraries from the command of the link that has the text of
 * "#$ LIBRARIES=" in it; its modules CMakeDetermineCUDACompiler and FindCUDAToolkit say all.
 */
#include "cc/cc.h"
#include "common/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cc/cc_arch.h"

void cc_nvcc_print_version(void)
{
    printf("nvcc: NVIDIA (R) Cuda compiler driver interface of Heddle %s, with clang 19\n"
           "Cuda compilation tools, release 13.0, V13.0.0\n",
           cli_version());
}

static void add_library_folders(const struct cc_job *job, struct cc_list *words)
{
    if (!job->paths.toolkit)
        return;
    cc_list_addf(words, "-L%s/lib64/stubs", job->paths.toolkit);
    cc_list_addf(words, "-L%s/lib64", job->paths.toolkit);
}

static void print_variable(const char *name, const struct cc_list *words)
{
    fprintf(stderr, "#$ %s=", name);
    cc_print_words(words);
}

void cc_nvcc_print_places(const struct cc_job *job)
{
    const char *top = job->paths.toolkit ? job->paths.toolkit : "", *path = getenv("PATH");
    struct cc_list includes = {0}, system = {0}, libraries = {0}, targets = {0};
    cc_list_addf(&includes, "-I%s/include", top);
    cc_add_installed_cccl(&system);
    add_library_folders(job, &libraries);
    for (size_t i = 0; i < job->archs.len; i++)
        cc_list_addf(&targets, "-arch compute_%u%.1s", job->archs.at[i].cc,
                     (char[2]){job->archs.at[i].variant, 0});
    fprintf(stderr, "#$ _HEDDLE_=%s\n#$ TOP=%s\n#$ NVVMIR_LIBRARY_DIR=%s/nvvm/libdevice\n",
            cli_version(), top, top);
    fprintf(stderr, "#$ PATH=%s/bin:%s\n", top, path ? path : "");
    print_variable("INCLUDES", &includes);
    print_variable("SYSTEM_INCLUDES", &system);
    print_variable("LIBRARIES", &libraries);
    /* The words that nvcc gives to its compiler of device code, which tell its default target. */
    fputs("#$ _TARGETS_=", stderr);
    for (size_t i = 0; i < targets.len; i++)
        fprintf(stderr, "%s%s", i ? " " : "", targets.at[i]);
    fputc('\n', stderr);
}

void cc_nvcc_add_runtime(const struct cc_job *job, struct cc_list *cmd)
{
    bool shared = job->runtime && strcmp(job->runtime, "shared") == 0;
    add_library_folders(job, cmd);
    if (job->no_cudart)
        return;
    cc_list_add_split(
        cmd, shared ? "-lcudadevrt -lcudart" : "-lcudadevrt -lcudart_static -lrt -lpthread -ldl",
        " ");
}
