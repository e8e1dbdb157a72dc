/*
 * Runs generated kernels on the interpreter without runtime and driver:
 *
 *     run_interp opt|noopt DIR TAG OUT_BYTES BLOCKS THREADS SEED...
 *
 * reads DIR/SEED.ptx and DIR/SEED.in, writes DIR/SEED.TAG.out, or DIR/SEED.TAG.err with the
 * message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compile.h"
#include "interp/interp.h"

struct job {
    bool opt;
    const char *dir, *tag;
    size_t out_B;
    uint32_t blocks, threads;
};

static enum hd_status run_module(const struct job *job, struct ir_module *module,
                                 struct hd_buf *input, char *out)
{
    const void *params[2] = {out, input->ptr};
    struct interp_launch launch = {.kernel = ir_module_find_func(module, "fuzz"),
                                   .grid = {job->blocks, 1, 1},
                                   .block = {job->threads, 1, 1},
                                   .params = params};
    if (!launch.kernel)
        return hd_error(HD_NOT_FOUND, "no kernel fuzz");
    return interp_launch(&launch, NULL);
}

static enum hd_status run_seed(const struct job *job, const char *seed, char *out)
{
    char path[512];
    struct hd_buf ptx, input;
    struct ir_module *module = NULL;
    struct compile_options options = {.validate = true, .no_opt = !job->opt};
    hd_buf_init(&ptx);
    hd_buf_init(&input);
    snprintf(path, sizeof path, "%s/%s.in", job->dir, seed);
    enum hd_status status = hd_file_read(path, 1 << 24, &input);
    snprintf(path, sizeof path, "%s/%s.ptx", job->dir, seed);
    if (status == HD_OK)
        status = hd_file_read(path, 1 << 24, &ptx);
    struct compile_unit unit = {seed, ptx.ptr, ptx.len};
    if (status == HD_OK)
        status = compile_ptx(&unit, 1, &options, &module);
    if (status == HD_OK)
        status = run_module(job, module, &input, out);
    if (module)
        ir_module_destroy(module);
    hd_buf_fini(&ptx);
    hd_buf_fini(&input);
    return status;
}

static bool report(const struct job *job, const char *seed, enum hd_status status, const char *out)
{
    char path[512];
    const char *message = hd_error_message();
    bool ok = status == HD_OK;
    snprintf(path, sizeof path, "%s/%s.%s.%s", job->dir, seed, job->tag, ok ? "out" : "err");
    return hd_file_write(path, ok ? out : message, ok ? job->out_B : strlen(message)) == HD_OK;
}

int main(int argc, char **argv)
{
    if (argc < 7)
        return 2;
    struct job job = {!strcmp(argv[1], "opt"),
                      argv[2],
                      argv[3],
                      strtoul(argv[4], NULL, 0),
                      (uint32_t)strtoul(argv[5], NULL, 0),
                      (uint32_t)strtoul(argv[6], NULL, 0)};
    char *out = hd_alloc(job.out_B);
    int failed = !out;
    for (int i = 7; i < argc && out; i++) {
        memset(out, 0, job.out_B);
        enum hd_status status = run_seed(&job, argv[i], out);
        failed |= !report(&job, argv[i], status, out);
    }
    hd_free(out);
    return failed;
}
