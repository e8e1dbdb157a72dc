/* heddle precompile: the command. See precompile.h. */
#include "precompile/precompile.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "common/child.h"
#include "common/cli.h"
#include "obj/cache.h"

static const char help[] =
    "usage: heddle precompile [OPTIONS] PATH...\n"
    "\n"
    "Compiles kernels before they are launched, so that the first start of a program does not\n"
    "wait for the compiler. A PATH is a program, whose libraries are compiled as well; a library;\n"
    "a file of PTX or a fat binary; or a folder, such as a Python environment or its\n"
    "site-packages, below which everything with device code is found. The code goes into the\n"
    "code cache (heddle cache), where programs find it. For a PyTorch in a folder its layer is\n"
    "built (heddle torch build).\n"
    "\n"
    "Code depends on the block that a kernel is launched with. Unless --block says otherwise, a\n"
    "kernel is compiled for the block that it requires; else for 256 threads in a row, or as\n"
    "many as its launch bounds allow, and, where it asks for its place in a second dimension,\n"
    "for 16 x 16 and 32 x 8 as well. Other blocks of the same form share this code: rows of a\n"
    "multiple of 128 threads do.\n"
    "\n"
    "options:\n"
    "  -d, --device LIST       cpu, sim, or both with a comma; default: HEDDLE_DEVICE, or cpu\n"
    "  -b, --block X[,Y[,Z]]   a block to compile for, in place of those; may be repeated\n"
    "  -j, --jobs N            processes; default: as many as there are CPUs\n"
    "      --json              machine-readable output\n"
    "  -h, --help              this text\n"
    "\n"
    "environment:\n"
    "  HEDDLE_CACHE       folder of the cache; it may be copied to where the same Heddle runs\n"
    "  HEDDLE_CACHE_SIZE  cap of its size: what was used longest ago goes above that\n"
    "  HEDDLE_CPU         the level of the machine where the code will run, if it is lower\n"
    "\n"
    "exit status: 0 done; 1 a kernel or an image does not compile, or nothing could be done;\n"
    "2 wrong usage.\n";

enum { DEVICES_MAX = 2 };

struct order {
    struct precompile p;
    const char *devices[DEVICES_MAX]; /* NULL: as the environment says */
    size_t ndevices;
    bool as_json;
};

/* ---- options */

static int take_block(struct order *o, const char *text)
{
    uint32_t *block = hd_arena_array(&o->p.arena, uint32_t, 3);
    const char *at = text;
    uint64_t threads = 1;

    if (!block)
        return cli_error("memory is short");
    block[0] = block[1] = block[2] = 1;
    for (int i = 0; i < 3 && at; i++) {
        char *end;
        unsigned long value = strtoul(at, &end, 10);

        if (end == at || *at < '0' || *at > '9' || !value || value > 1024 ||
            (*end && (*end != ',' || i == 2)))
            return cli_usage("--block=%s: X[,Y[,Z]], of 1 to 1024 each, is expected", text);
        block[i] = (uint32_t)value;
        threads *= value;
        at = *end ? end + 1 : NULL;
    }
    if (threads > 1024)
        return cli_usage("--block=%s: blocks have 1024 threads at most", text);
    return hd_vec_push(&o->p.blocks, block) ? CLI_OK : cli_error("memory is short");
}

/* -1: go on. */
static int take_options(struct order *o, int argc, char **argv)
{
    static const struct option options[] = {
        {"device", required_argument, NULL, 'd'}, {"block", required_argument, NULL, 'b'},
        {"jobs", required_argument, NULL, 'j'},   {"json", no_argument, NULL, 'J'},
        {"help", no_argument, NULL, 'h'},         {0}};
    const char *jobs = NULL;
    cpu_set_t set;
    char *devices = NULL, *end = NULL;
    int option, code = CLI_OK;

    while (code == CLI_OK && (option = cli_getopt(argc, argv, "d:b:j:h", options)) != -1) {
        if (option == 'h')
            return cli_help(help);
        if (option == '?')
            return CLI_USAGE;
        if (option == 'd')
            devices = optarg;
        else if (option == 'b')
            code = take_block(o, optarg);
        else if (option == 'j')
            jobs = optarg;
        else
            o->as_json = true;
    }
    if (code != CLI_OK)
        return code;
    if (optind == argc)
        return cli_usage("what? a program, a library, an image or a folder is expected");
    if (!sched_getaffinity(0, sizeof(set), &set))
        o->p.workers = (unsigned)CPU_COUNT(&set);
    if (jobs)
        o->p.workers = (unsigned)strtoul(jobs, &end, 10);
    if (jobs && (end == jobs || *end || o->p.workers - 1 >= 1024))
        return cli_usage("--jobs=%s: a number from 1 to 1024 is expected", jobs);
    for (char *name = devices ? strtok_r(devices, ",", &end) : NULL; name;
         name = strtok_r(NULL, ",", &end)) {
        if (strcmp(name, "cpu") != 0 && strcmp(name, "sim") != 0)
            return cli_usage("--device=%s: cpu and sim have code", name);
        if (o->ndevices == DEVICES_MAX)
            return cli_usage("--device: more than %d devices", DEVICES_MAX);
        o->devices[o->ndevices++] = name;
    }
    if (devices && !o->ndevices)
        return cli_usage("--device: which? cpu, sim or cpu,sim");
    o->ndevices += !devices; /* one, which has no name */
    return -1;
}

/* ---- PyTorch */

static int torch_build(void *library)
{
    char *argv[] = {(char[]){"torch"}, (char[]){"--library"}, library, (char[]){"build"}, NULL};

    (void)!freopen("/dev/null", "w", stdout); /* it prints the path */
    optind = 0;
    cli_set_name("torch", "heddle torch");
    return cmd_torch(4, argv);
}

static int build_torches(const struct precompile *p)
{
    const char *setting = hd_env("HEDDLE_TORCH");
    int code = CLI_OK;

    for (size_t i = 0; i < p->torches.len; i++) {
        int status = 0;

        if (setting && !strcmp(setting, "off"))
            continue;
        child_signals_hold();
        if (!child_run(torch_build, (void *)(uintptr_t)p->torches.at[i], false, &status))
            status = 1;
        child_signals_release();
        code = status ? CLI_FAILED : code;
    }
    return code;
}

/* ---- the report */

struct outcome {
    const struct precompile *p;
    struct obj_cache_stat before, after;
    uint64_t cap_B;
};

static size_t sum_kernels(const struct precompile *p)
{
    size_t sum = 0;

    for (size_t i = 0; i < p->files.len; i++)
        sum += p->files.at[i].kernels;
    return sum;
}

static void print_text(const struct outcome *o)
{
    const struct precompile *p = o->p;
    uint64_t grown = o->after.entries - HD_MIN(o->after.entries, o->before.entries);

    for (size_t i = 0; i < p->files.len; i++) {
        const struct precompile_file *file = &p->files.at[i];

        printf("  %s: ", file->path);
        if (file->kernels || !file->without_ptx)
            printf("%zu kernel%s", file->kernels, file->kernels == 1 ? "" : "s");
        if (file->without_ptx == file->images)
            printf("no PTX for this device");
        else if (file->without_ptx)
            printf(" (%zu of %zu images have no PTX for this device)", file->without_ptx,
                   file->images);
        if (file->failed)
            printf(", %zu failed", file->failed);
        putchar('\n');
    }
    for (size_t i = 0; i < p->failures.len; i++) {
        const struct precompile_failure *f = &p->failures.at[i];

        printf("  %s: %s%s%s: %s\n", p->files.at[f->file].path, f->kernel ? "kernel " : "",
               f->kernel ? f->kernel : "an image", f->kernel ? "" : " does not load", f->why);
    }
    printf("%s: %zu kernels of %zu files are compiled, %zu failed; %llu new entries, the cache has "
           "%.1f MB of %.0f\n",
           p->device_name ? p->device_name : "no device", sum_kernels(p), p->files.len,
           p->failures.len, (unsigned long long)grown, (double)o->after.size_B / 1e6,
           (double)o->cap_B / 1e6);
}

static void json_file(struct hd_json *j, const struct precompile *p, size_t index)
{
    const struct precompile_file *file = &p->files.at[index];

    hd_json_open(j, NULL, '{');
    hd_json_str(j, "file", file->path);
    hd_json_u64(j, "images", file->images);
    hd_json_u64(j, "without_ptx", file->without_ptx);
    hd_json_u64(j, "kernels", file->kernels);
    hd_json_open(j, "failures", '[');
    for (size_t i = 0; i < p->failures.len; i++) {
        if (p->failures.at[i].file != index)
            continue;
        hd_json_open(j, NULL, '{');
        hd_json_str(j, "kernel", p->failures.at[i].kernel);
        hd_json_str(j, "why", p->failures.at[i].why);
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
    hd_json_close(j, '}');
}

static void put_json(struct hd_json *j, const struct outcome *o)
{
    hd_json_open(j, NULL, '{');
    hd_json_str(j, "device", o->p->device_name);
    hd_json_u64(j, "kernels", sum_kernels(o->p));
    hd_json_u64(j, "failed", o->p->failures.len);
    hd_json_u64(j, "entries_before", o->before.entries);
    hd_json_u64(j, "entries", o->after.entries);
    hd_json_u64(j, "size_B", o->after.size_B);
    hd_json_u64(j, "cap_B", o->cap_B);
    hd_json_open(j, "files", '[');
    for (size_t i = 0; i < o->p->files.len; i++)
        json_file(j, o->p, i);
    hd_json_close(j, ']');
    hd_json_close(j, '}');
}

/* ---- the work */

static int compile_for(struct order *o, struct obj_cache *cache, const char *device,
                       struct hd_json *json)
{
    struct outcome outcome = {.p = &o->p, .cap_B = obj_cache_cap_B(cache)};
    int code;

    assert(cache && o->p.workers);
    o->p.device = device;
    if (obj_cache_stat(cache, &outcome.before) != HD_OK)
        return cli_error("%s", hd_error_message());
    code = precompile_run(&o->p);
    if (code != CLI_OK)
        return code;
    if (obj_cache_stat(cache, &outcome.after) != HD_OK)
        return cli_error("%s", hd_error_message());
    if (sum_kernels(&o->p) && access(obj_cache_dir(cache), W_OK))
        return cli_error("%s: the code was made, but cannot be kept: %s", obj_cache_dir(cache),
                         strerror(errno));
    if (json)
        put_json(json, &outcome);
    else
        print_text(&outcome);
    /* Soon the next kernel that somebody compiles pushes out what was made here. */
    if (outcome.after.size_B > outcome.cap_B / 4 * 3)
        cli_note("the cache is nearly full, and what was used longest ago goes when it is: set "
                 "HEDDLE_CACHE_SIZE, here and where programs run, above %.0f MB",
                 (double)outcome.cap_B / 1e6);
    return o->p.failures.len ? CLI_FAILED : CLI_OK;
}

static int compile_all(struct order *o, struct obj_cache *cache)
{
    struct hd_json json;
    int code = CLI_OK;

    if (o->as_json) {
        hd_json_init(&json);
        hd_json_open(&json, NULL, '{');
        hd_json_str(&json, "cache", obj_cache_dir(cache));
        hd_json_u64(&json, "examined", o->p.examined);
        hd_json_open(&json, "devices", '[');
    }
    for (size_t i = 0; o->p.images.len && i < o->ndevices; i++)
        if (compile_for(o, cache, o->devices[i], o->as_json ? &json : NULL) != CLI_OK)
            code = CLI_FAILED;
    if (o->as_json) {
        hd_json_close(&json, ']');
        hd_json_close(&json, '}');
    }
    if (o->as_json ? !hd_json_print(&json) : fflush(stdout) != 0)
        return cli_error("the report cannot be written");
    if (build_torches(&o->p) != CLI_OK)
        code = CLI_FAILED;
    return code;
}

static int precompile(struct order *o, char **paths)
{
    struct obj_cache *cache;
    int code = CLI_OK;

    if (obj_cache_open(NULL, 0, &cache) != HD_OK)
        return cli_error("%s", hd_error_message());
    if (!cache)
        return cli_error("the code cache is off, or there is no place for it; set HEDDLE_CACHE to "
                         "a folder");
    for (; *paths && code == CLI_OK; paths++)
        code = precompile_find(&o->p, *paths);
    if (code == CLI_OK && !o->p.images.len && !o->p.torches.len)
        code = cli_error("none of %zu files has device code", o->p.examined);
    if (code == CLI_OK)
        code = compile_all(o, cache);
    obj_cache_close(cache);
    return code;
}

int cmd_precompile(int argc, char **argv)
{
    struct order order = {.p.workers = 1, .as_json = cli_json()};
    int code;

    hd_arena_init(&order.p.arena);
    code = take_options(&order, argc, argv);
    if (code < 0)
        code = precompile(&order, argv + optind);
    precompile_fini(&order.p);
    return code;
}
