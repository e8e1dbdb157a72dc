/* See precompile.h: which files have device code, and what of it is loaded as a whole. */
#include <assert.h>
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cli.h"
#include "common/where.h"
#include "obj/registered.h"
#include "precompile/precompile.h"

#define LOADER "/lib64/ld-linux-x86-64.so.2" /* of files that name none */

static bool find_add_image(struct precompile *p, const void *bytes, size_t size_B)
{
    const struct precompile_image image = {bytes, p->files.len, size_B};

    return hd_vec_push(&p->images, image);
}

/*
 * Containers that stand for themselves, a bare image as its only entry; and the wrapper, as it will
 * lie in memory, of code that a linker put together.
 */
static bool find_images(struct precompile *p, const struct program *program)
{
    size_t units = program->kind == OBJ_IMAGE_HOST_ELF ? obj_registered_count(&program->elf) : 0;
    const void **parts;
    void *wrapper;

    for (size_t i = 0; i < program->images.len; i++) {
        const struct program_image *image = &program->images.at[i];
        const void *bytes = image->fatbin.bytes ? image->fatbin.bytes : image->entry.payload;

        if (!strcmp(image->section, "__nv_relfatbin")) /* units of the other */
            continue;
        if (i && image->fatbin.bytes && program->images.at[i - 1].container == image->container)
            hd_vec_last(&p->images).size_B =
                HD_MAX(hd_vec_last(&p->images).size_B, image->entry.raw_B);
        else if (!find_add_image(p, bytes, image->entry.raw_B))
            return false;
    }
    if (!units)
        return true;
    parts = hd_arena_array(&p->arena, const void *, units + 1);
    wrapper = hd_arena_alloc(&p->arena, OBJ_WRAPPER_B);
    if (!parts || !wrapper)
        return false;
    obj_registered_wrap(&program->elf, parts, wrapper);
    return find_add_image(p, wrapper, SIZE_MAX);
}

/* The program is the files' then. */
static int find_add_program(struct precompile *p, const char *path, struct program *program)
{
    size_t images = p->images.len;
    struct precompile_file file = {.path = hd_arena_strndup(&p->arena, path, strlen(path)),
                                   .program = *program};
    bool good = find_images(p, program);

    if (good && p->images.len == images) {
        program_close(program);
        return CLI_OK;
    }
    assert(p->images.len >= images);
    file.images = p->images.len - images;
    file.program.path = file.path; /* the other is the caller's */
    if (!good || !hd_vec_push(&p->files, file)) {
        program_close(program);
        p->images.len = images;
        return cli_error("%s: memory is short", path);
    }
    return CLI_OK;
}

/*
 * A file that a folder or a program brings along: what is no program is passed over, and so are
 * NVIDIA's libraries, most of which Heddle's take the place of.
 */
static int find_in_passing(struct precompile *p, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    enum where_library ours;
    struct program program;

    if (where_replaces(hd_str_from(name), &ours) || obj_vendor_library(hd_str_from(name)))
        return CLI_OK;
    if (!strcmp(name, "libtorch_cuda.so")) {
        const char *kept = hd_arena_strndup(&p->arena, path, strlen(path));

        return hd_vec_push(&p->torches, kept) ? CLI_OK : cli_error("%s: memory is short", path);
    }
    if (program_open(path, &program) != HD_OK)
        return CLI_OK;
    return find_add_program(p, path, &program);
}

/* ---- folders */

static int find_by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int find_folder(struct precompile *p, const char *path)
{
    char *paths[] = {(char *)(uintptr_t)path, NULL};
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, find_by_name);
    const char *dot;
    int code = CLI_OK;

    if (!walk)
        return cli_error("%s: %s", path, strerror(errno));
    for (FTSENT *e; code == CLI_OK && (e = fts_read(walk));) {
        if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR)
            code = cli_error("%s: %s", e->fts_path, strerror(e->fts_errno));
        if (e->fts_info != FTS_F)
            continue;
        p->examined++;
        cli_progress("%zu files, %zu with device code: %s", p->examined, p->files.len, e->fts_path);
        dot = strrchr(e->fts_name, '.');
        if ((dot && hd_str_lists(HD_STR("ptx,cubin,fatbin"), dot + 1)) ||
            program_is_elf(e->fts_path))
            code = find_in_passing(p, e->fts_path);
    }
    fts_close(walk);
    cli_progress_end();
    return code;
}

/* ---- programs */

/* The libraries that the dynamic loader would load, a line each: "NAME => PATH (0x...)", or only
 * "PATH (0x...)". */
static FILE *find_list_libraries(const struct program *program, pid_t *out_child)
{
    struct obj_elf_section section;
    const char *loader = LOADER;
    int ends[2];

    if (obj_elf_section_find(&program->elf, ".interp", &section) && section.size_B &&
        !section.bytes[section.size_B - 1])
        loader = (const char *)section.bytes;
    if (pipe(ends))
        return NULL;
    fflush(NULL);
    *out_child = fork();
    if (!*out_child) {
        if (dup2(ends[1], STDOUT_FILENO) < 0)
            _exit(CLI_FAILED);
        close(ends[0]);
        close(ends[1]);
        execl(loader, loader, "--list", program->path, (char *)NULL);
        _exit(CLI_FAILED);
    }
    close(ends[1]);
    FILE *lines = *out_child > 0 ? fdopen(ends[0], "r") : NULL;
    if (!lines)
        close(ends[0]);
    return lines;
}

static int find_libraries(struct precompile *p, const struct program *program)
{
    char *line = NULL;
    size_t line_B = 0;
    pid_t child = 0;
    int code = CLI_OK, status;
    FILE *lines = find_list_libraries(program, &child);

    if (!lines)
        return cli_error("%s: its libraries: %s", program->path, strerror(errno));
    while (getline(&line, &line_B, lines) > 0) {
        char *arrow = strstr(line, " => "), *path = arrow ? arrow + 4 : line + strspn(line, "\t ");
        char *end = strstr(path, " (0x");

        if (!end || *path != '/')
            continue;
        *end = '\0';
        p->examined++;
        if (code == CLI_OK)
            code = find_in_passing(p, path);
    }
    free(line);
    fclose(lines);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return code;
}

static int find_program(struct precompile *p, const char *path)
{
    struct program program;
    struct hd_str needed;
    int code = CLI_OK;

    if (program_open(path, &program) != HD_OK)
        return cli_error("%s: %s; name a program, a library, a device image or a folder", path,
                         hd_error_message());
    p->examined++;
    if (program.kind == OBJ_IMAGE_HOST_ELF && obj_elf_needed(&program.elf, 0, &needed))
        code = find_libraries(p, &program);
    if (code != CLI_OK) {
        program_close(&program);
        return code;
    }
    return find_add_program(p, path, &program);
}

int precompile_find(struct precompile *p, const char *path)
{
    struct stat stat_of;

    if (stat(path, &stat_of))
        return cli_error("%s: %s", path, strerror(errno));
    return S_ISDIR(stat_of.st_mode) ? find_folder(p, path) : find_program(p, path);
}

void precompile_fini(struct precompile *p)
{
    for (size_t i = 0; i < p->files.len; i++)
        program_close(&p->files.at[i].program);
    hd_vec_fini(&p->files);
    hd_vec_fini(&p->images);
    hd_vec_fini(&p->torches);
    hd_vec_fini(&p->failures);
    hd_vec_fini(&p->blocks);
    hd_arena_fini(&p->arena);
}
