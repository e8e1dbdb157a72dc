/*
 * heddle doctor of a folder: a project, an installation, a Python environment. Every ELF file below
 * it that has to do with CUDA is examined as if it had been named; files that a Python distribution
 * installed (RECORD of its .dist-info) are told under its name.
 */
#include "common/cli.h"
#include "doctor/doctor.h"

#include <assert.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/text/json.h"
#include "common/where.h"

#define RECORD_MAX_B ((size_t)64 << 20)

/* A Python distribution, or what belongs to none. */
struct package {
    const char *name, *version;
};

/* What a file is. */
enum role {
    ROLE_OTHER,   /* nothing of CUDA */
    ROLE_RUNS,    /* uses it, nothing is missing */
    ROLE_LACKS,   /* something is missing */
    ROLE_OURS,    /* a library of NVIDIA's that Heddle's takes the place of */
    ROLE_LIBRARY, /* one that Heddle has no counterpart of */
};

struct file {
    const char *path; /* below the folder */
    const struct package *package;
    enum role role;
    bool no_ptx;
    const char *what;              /* "cuBLAS": a library */
    HD_VEC(const char *) problems; /* in the arena */
};

struct folder {
    const char *label, *path;
    struct hd_arena arena;
    HD_VEC(struct file) files;
    HD_VEC(const char *) records; /* paths of RECORDs */
    struct hd_map owners;         /* path below the folder -> struct package */
    struct hd_json json;          /* of the files that have to do with CUDA */
    unsigned cc;
    size_t n_elf;
};

/* ---- finding */

static bool folder_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && !strcmp(text + n - m, end);
}

static bool folder_add_file(struct folder *f, const char *path)
{
    assert(!strncmp(path, f->path, strlen(f->path)));
    const char *below = path + strlen(f->path) + 1;
    struct file file = {.path = hd_arena_strndup(&f->arena, below, strlen(below))};

    if (folder_ends_with(below, ".dist-info/RECORD"))
        return hd_vec_push(&f->records, file.path);
    return !program_is_elf(path) || hd_vec_push(&f->files, file);
}

static int folder_by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool folder_find_files(struct folder *f)
{
    char *paths[] = {(char *)(uintptr_t)f->path, NULL};
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, folder_by_name);
    bool worked = walk;

    for (FTSENT *e; worked && (e = fts_read(walk));)
        if (e->fts_info == FTS_F)
            worked = folder_add_file(f, e->fts_path);
    if (walk)
        fts_close(walk);
    return worked;
}

/* ---- who installed what */

/* "folder/name-1.2.dist-info/RECORD" */
static const struct package *folder_package_of(struct folder *f, const char *record)
{
    assert(folder_ends_with(record, ".dist-info/RECORD"));
    struct package *package = hd_arena_new(&f->arena, struct package);
    const char *end = record + strlen(record) - strlen(".dist-info/RECORD"), *name = end;

    while (name > record && name[-1] != '/')
        name--;
    size_t name_B = strcspn(name, "-");
    package->name = hd_arena_strndup(&f->arena, name, HD_MIN(name_B, (size_t)(end - name)));
    package->version = "";
    if (name + name_B < end)
        package->version =
            hd_arena_strndup(&f->arena, name + name_B + 1, (size_t)(end - name) - name_B - 1);
    return package;
}

/* Lines "path,hash,size"; a path that has a comma is in quotes, and is no library of anybody's. */
static void folder_own_lines(struct folder *f, const char *record, char *text)
{
    const struct package *package = folder_package_of(f, record);
    const char *slash = strrchr(record, '/');

    assert(slash);
    while (slash > record && slash[-1] != '/')
        slash--;
    for (char *line = text; line && *line;) {
        char *next = strchr(line, '\n');
        size_t len = strcspn(line, ",\n");
        const char *path =
            hd_arena_printf(&f->arena, "%.*s%.*s", (int)(slash - record), record, (int)len, line);

        if (strstr(path, ".so") &&
            !hd_map_put(&f->owners, hd_str_from(path), (void *)(uintptr_t)package))
            return;
        line = next ? next + 1 : NULL;
    }
}

static void folder_find_owners(struct folder *f)
{
    for (size_t i = 0; i < f->records.len; i++) {
        char path[PATH_MAX];
        struct hd_buf text;

        hd_buf_init(&text);
        (void)snprintf(path, sizeof(path), "%s/%s", f->path, f->records.at[i]);
        if (hd_file_read_kept(path, RECORD_MAX_B, &text) == HD_OK && text.len)
            folder_own_lines(f, f->records.at[i], text.ptr);
        hd_buf_fini(&text);
    }
    for (size_t i = 0; i < f->files.len; i++)
        f->files.at[i].package = hd_map_get(&f->owners, hd_str_from(f->files.at[i].path));
}

/* ---- what they are */

static void folder_take_report(struct folder *f, struct file *file, const struct doctor_report *r)
{
    bool uses = r->program.images.len || r->program.runtime != OBJ_RUNTIME_NONE ||
                r->libraries.len || r->entries.len;

    if (!uses)
        return;
    file->role = r->problems.len ? ROLE_LACKS : ROLE_RUNS;
    file->no_ptx = program_has_code(&r->program) && !program_count_usable(&r->program, r->cc);
    for (size_t i = 0; i < r->problems.len; i++) {
        const char *text = r->problems.at[i];

        (void)hd_vec_push(&file->problems, hd_arena_strndup(&f->arena, text, strlen(text)));
    }
    doctor_put_json(&f->json, file->path, file->package ? file->package->name : NULL, r);
}

static void folder_examine_file(struct folder *f, struct file *file)
{
    const char *slash = strrchr(file->path, '/'), *name = slash ? slash + 1 : file->path;
    const struct obj_vendor_library *library = obj_vendor_library(hd_str_from(name));
    struct doctor_report report;
    enum where_library own;
    char path[PATH_MAX];

    if (where_replaces(hd_str_from(name), &own)) {
        file->role = ROLE_OURS;
    } else if (library) {
        file->role = ROLE_LIBRARY;
        file->what = library->what;
    } else {
        (void)snprintf(path, sizeof(path), "%s/%s", f->path, file->path);
        if (doctor_examine(path, f->cc, &report) != HD_OK)
            return; /* cut off, or for another machine */
        folder_take_report(f, file, &report);
        doctor_report_fini(&report);
    }
}

static void folder_examine_files(struct folder *f)
{
    for (size_t i = 0; i < f->files.len; i++) {
        cli_progress("file %zu of %zu: %s", i + 1, f->files.len, f->files.at[i].path);
        folder_examine_file(f, &f->files.at[i]);
    }
    cli_progress_end();
}

/* ---- what is said */

/* Distributions whose builds on PyPI have no PTX, and what to do about it. */
static const struct {
    const char *package, *instead;
} remedies[] = {
    {"torch", "nothing: under `heddle run` PyTorch's operators run on Heddle, from 2.12 on"},
    {"torchvision", "nothing, as of torch"},
    {"torchaudio", "nothing, as of torch"},
    {"onnxruntime_gpu",
     "nothing, in Python: under `heddle run` Heddle's execution provider takes its place"},
};

static const char *folder_remedy_of(const struct package *package)
{
    for (size_t i = 0; package && i < HD_COUNT_OF(remedies); i++)
        if (!strcmp(package->name, remedies[i].package))
            return remedies[i].instead;
    return "a build with PTX in it: nvcc -gencode arch=compute_80,code=compute_80";
}

struct counts {
    size_t n[ROLE_LIBRARY + 1];
    bool no_ptx;
};

static struct counts folder_count(const struct folder *f, const struct package *package)
{
    struct counts c = {{0}, false};

    for (size_t i = 0; i < f->files.len; i++)
        if (f->files.at[i].package == package) {
            assert(f->files.at[i].role < HD_COUNT_OF(c.n));
            c.n[f->files.at[i].role]++;
            c.no_ptx |= f->files.at[i].no_ptx;
        }
    return c;
}

static void folder_print_file(const struct file *file, bool verbose)
{
    if (file->role == ROLE_LACKS)
        printf("  problem        %s\n", file->path);
    else if (verbose && file->role == ROLE_RUNS)
        printf("  should run     %s\n", file->path);
    else if (file->role == ROLE_LIBRARY)
        printf("  library        %s: Heddle has no %s yet\n", file->path, file->what);
    else if (file->role == ROLE_OURS)
        printf("  library        %s: Heddle's is used instead\n", file->path);
    for (size_t i = 0; i < file->problems.len; i++)
        printf("                 %s\n", file->problems.at[i]);
}

/* Nothing for one that has nothing to do with CUDA. */
static void folder_print_package(const struct folder *f, const struct package *package,
                                 bool verbose)
{
    struct counts c = folder_count(f, package);
    size_t programs = c.n[ROLE_RUNS] + c.n[ROLE_LACKS];

    if (!programs && !c.n[ROLE_OURS] && !c.n[ROLE_LIBRARY])
        return;
    if (package)
        printf("%s %s", package->name, package->version);
    else
        printf("%s", f->label);
    if (programs)
        printf(": %zu of %zu files that use CUDA should run", c.n[ROLE_RUNS], programs);
    putchar('\n');
    for (size_t i = 0; i < f->files.len; i++)
        if (f->files.at[i].package == package)
            folder_print_file(&f->files.at[i], verbose);
    if (c.no_ptx)
        printf("  instead        %s\n", folder_remedy_of(package));
}

/* Is it the first file of its package? */
static bool folder_is_first(const struct folder *f, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (f->files.at[k].package == f->files.at[i].package)
            return false;
    return true;
}

static size_t folder_lacking(const struct folder *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->files.len; i++)
        n += f->files.at[i].role == ROLE_LACKS;
    return n;
}

static void folder_print_text(const struct folder *f, bool verbose)
{
    for (size_t i = 0; i < f->files.len; i++)
        if (folder_is_first(f, i))
            folder_print_package(f, f->files.at[i].package, verbose);
    printf("%s: %zu programs and libraries, %zu of them lack something\n", f->label, f->files.len,
           folder_lacking(f));
}

static void folder_json_libraries(struct hd_json *j, const struct folder *f, const char *key,
                                  enum role role)
{
    hd_json_open(j, key, '[');
    for (size_t i = 0; i < f->files.len; i++) {
        const struct file *file = &f->files.at[i];

        if (file->role != role)
            continue;
        hd_json_open(j, NULL, '{');
        hd_json_str(j, "path", file->path);
        hd_json_str(j, "package", file->package ? file->package->name : NULL);
        if (file->what)
            hd_json_str(j, "what", file->what);
        hd_json_close(j, '}');
    }
    hd_json_close(j, ']');
}

static void folder_print_json(struct folder *f)
{
    struct hd_json *j = &f->json;

    hd_json_close(j, ']');
    folder_json_libraries(j, f, "replaced", ROLE_OURS);
    folder_json_libraries(j, f, "missing_libraries", ROLE_LIBRARY);
    hd_json_u64(j, "examined", f->files.len);
    hd_json_bool(j, "should_run", folder_lacking(f) == 0);
    hd_json_close(j, '}');
    hd_json_print(j);
}

static void folder_fini(struct folder *f)
{
    for (size_t i = 0; i < f->files.len; i++)
        hd_vec_fini(&f->files.at[i].problems);
    hd_vec_fini(&f->files);
    hd_vec_fini(&f->records);
    hd_map_fini(&f->owners);
    hd_arena_fini(&f->arena);
}

int doctor_folder(const char *label, const char *path, const struct doctor_args *args)
{
    struct folder f = {.label = label, .path = path, .cc = args->cc};
    int code = CLI_FAILED;

    hd_arena_init(&f.arena);
    hd_map_init(&f.owners);
    hd_json_init(&f.json);
    hd_json_open(&f.json, NULL, '{');
    hd_json_str(&f.json, "path", label);
    hd_json_open(&f.json, "files", '[');
    if (folder_find_files(&f)) {
        folder_find_owners(&f);
        folder_examine_files(&f);
        if (args->as_json)
            folder_print_json(&f);
        else
            folder_print_text(&f, args->verbose);
        code = folder_lacking(&f) ? CLI_FAILED : CLI_OK;
    } else {
        cli_error("%s cannot be read", label);
    }
    hd_buf_fini(&f.json.buf);
    folder_fini(&f);
    return code;
}
