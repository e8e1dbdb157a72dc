/*
 * Allocation 1, 2, 3 ... fails while the seeds of the fuzz target go through the compiler:
 * HD_NO_MEMORY or the usual result, never a crash, a leak or another message.
 */
#include <dirent.h>

#include "base/str.h"
#include "compile.h"
#include "tap.h"

struct job {
    struct compile_unit unit;
    enum hd_status want;
};

static bool compile_once(void *arg)
{
    struct job *job = arg;
    struct compile_options options = {.validate = true};
    struct ir_module *module = NULL;
    enum hd_status status = compile_ptx(&job->unit, 1, &options, OPT_TARGET_CPU, &module);

    if (status == HD_OK)
        ir_module_destroy(module);
    if (status != job->want && status != HD_NO_MEMORY)
        ok(false, "%s: %s", job->unit.name, hd_error_message());
    return status == job->want;
}

static void compile_file(const char *folder, const char *name)
{
    struct hd_buf path = {0}, text = {0};
    struct ir_module *module = NULL;
    struct job job = {0};

    hd_buf_printf(&path, "%s/%s", folder, name);
    if (!ok(hd_file_read(path.ptr, 1 << 20, &text) == HD_OK, "%s", name))
        return;
    job.unit = (struct compile_unit){name, text.ptr, text.len};
    job.want = compile_ptx(&job.unit, 1, NULL, OPT_TARGET_CPU, &module);
    if (job.want == HD_OK)
        ir_module_destroy(module);
    tap_oom_loop(compile_once, &job, name);
    hd_buf_fini(&text);
    hd_buf_fini(&path);
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    struct dirent *entry;

    if (!folder)
        return skip_all("no programs");
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] != '.')
            compile_file(argv[1], entry->d_name);
    }
    closedir(folder);
    return done();
}
