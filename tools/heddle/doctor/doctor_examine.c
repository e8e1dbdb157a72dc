/* Examining a program: its imports, libraries and device code. */
#include "doctor/doctor.h"

#include <assert.h>
#include <elf.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "common/where.h"

/* What one of our libraries exports: names to non-NULL. The file stays mapped. */
struct exports {
    struct obj_elf elf;
    struct hd_map names;
    bool loaded;
};

static void exports_load(struct exports *e, enum where_library library)
{
    struct obj_elf_symbols table;
    struct obj_elf_symbol symbol;
    const char *path = where_library(library);
    assert(!e->loaded);
    hd_map_init(&e->names);
    if (!path || obj_elf_open_file(path, &e->elf) != HD_OK ||
        !obj_elf_symbols(&e->elf, OBJ_ELF_DYNSYM, &table))
        return;
    e->loaded = true;
    for (size_t i = 0; i < table.len; i++)
        if (obj_elf_symbol(&table, i, &symbol) && symbol.section != SHN_UNDEF)
            e->loaded &= hd_map_put(&e->names, symbol.name, e);
}

static void exports_free(struct exports *e)
{
    hd_map_fini(&e->names);
    obj_elf_close(&e->elf);
}

static enum doctor_state entry_state(const struct exports *e, const char *name, bool is_driver)
{
    enum doctor_state state = doctor_table_state(name, is_driver);
    if (state != DOCTOR_UNKNOWN || !e->loaded)
        return state;
    return hd_map_get(&e->names, hd_str_from(name)) ? DOCTOR_SUPPORTED : DOCTOR_MISSING;
}

static void add_entry(struct doctor_report *r, const struct exports *e,
                      const struct obj_elf_symbol *symbol, bool is_driver)
{
    struct doctor_entry entry = {
        .name = hd_arena_strndup(&r->arena, symbol->name.ptr, symbol->name.len),
        .version = hd_arena_strndup(&r->arena, symbol->version.ptr, symbol->version.len),
        .is_driver = is_driver,
    };
    entry.state = entry_state(e, entry.name, is_driver);
    if (!hd_vec_push(&r->entries, entry))
        doctor_problem(r, "out of memory");
}

/* Imports of a dynamic program; all named entry points of an embedded runtime. */
static void check_entries(struct doctor_report *r)
{
    struct exports runtime = {0}, driver = {0};
    struct obj_elf_symbols table;
    struct obj_elf_symbol symbol;
    bool embedded = r->program.runtime == OBJ_RUNTIME_EMBEDDED;
    exports_load(&runtime, WHERE_CUDART);
    exports_load(&driver, WHERE_CUDA);
    if (obj_elf_symbols(&r->program.elf, OBJ_ELF_DYNSYM, &table))
        for (size_t i = 0; i < table.len; i++) {
            if (!obj_elf_symbol(&table, i, &symbol) || symbol.section != SHN_UNDEF)
                continue;
            if (obj_is_runtime_name(symbol.name))
                add_entry(r, &runtime, &symbol, false);
            else if (obj_is_driver_name(symbol.name) &&
                     obj_elf_needs(&r->program.elf, "libcuda.so"))
                add_entry(r, &driver, &symbol, true);
        }
    if (embedded && obj_elf_symbols(&r->program.elf, OBJ_ELF_SYMTAB, &table))
        for (size_t i = 0; i < table.len; i++)
            if (obj_elf_symbol(&table, i, &symbol) && symbol.section != SHN_UNDEF &&
                symbol.type == STT_FUNC &&
                doctor_table_state(symbol.name.ptr, false) != DOCTOR_UNKNOWN)
                add_entry(r, &runtime, &symbol, false);
    if (embedded)
        doctor_find_calls(r);
    if (r->entries.len && !runtime.loaded)
        doctor_problem(r, "Heddle's own %s is not installed: entry points cannot be checked",
                       where_library_file(WHERE_CUDART));
    exports_free(&runtime);
    exports_free(&driver);
}

/* Of an embedded runtime all entry points are there; those that the program calls are needed. */
static void judge_entries(struct doctor_report *r)
{
    bool embedded = r->program.runtime == OBJ_RUNTIME_EMBEDDED;
    size_t lacking = 0;
    for (size_t i = 0; i < r->entries.len; i++) {
        const struct doctor_entry *entry = &r->entries.at[i];
        if (entry->state != DOCTOR_MISSING && entry->state != DOCTOR_REFUSED)
            continue;
        if (embedded && !entry->is_driver && !entry->called)
            lacking++;
        else
            doctor_problem(r, "%s: %s", entry->name, doctor_state_text(entry->state));
    }
    if (lacking)
        doctor_note(r,
                    "%zu entry points of the embedded runtime are not supported; no direct call of "
                    "them was found (-v lists them)",
                    lacking);
}

/* True when the program imports a function whose name begins so. */
static bool imports(const struct program *p, const char *prefix)
{
    struct obj_elf_symbols table;
    struct obj_elf_symbol symbol;
    if (!obj_elf_symbols(&p->elf, OBJ_ELF_DYNSYM, &table))
        return false;
    for (size_t i = 0; i < table.len; i++)
        if (obj_elf_symbol(&table, i, &symbol) && symbol.section == SHN_UNDEF &&
            hd_str_starts(symbol.name, prefix))
            return true;
    return false;
}

/* A library of ours has what its clients were seen to need; others may need more of it. */
static void check_own_library(struct doctor_report *r, const struct obj_vendor_library *vendor,
                              enum where_library own)
{
    struct exports exports = {0};
    struct obj_elf_symbols table;
    struct obj_elf_symbol symbol;
    exports_load(&exports, own);
    if (!exports.loaded)
        doctor_problem(r, "Heddle's own %s is not installed", where_library_file(own));
    else if (obj_elf_symbols(&r->program.elf, OBJ_ELF_DYNSYM, &table))
        for (size_t i = 0; i < table.len; i++)
            if (obj_elf_symbol(&table, i, &symbol) && symbol.section == SHN_UNDEF &&
                obj_vendor_function(symbol.name) == vendor && /* not cublasLt's of cublas */
                !hd_map_get(&exports.names, symbol.name))
                doctor_problem(r, "%.*s: Heddle's %s does not have it", (int)symbol.name.len,
                               symbol.name.ptr, where_library_file(own));
    exports_free(&exports);
}

/*
 * Wheels of NVIDIA's have the library, in the site-packages that the program lies in: PyTorch loads
 * them before the packages that need them, as bitsandbytes does.
 */
static bool wheel_has(const char *program, const char *library)
{
    static const char folder[] = "/site-packages/";
    char *path = realpath(program, NULL), *end = NULL;
    bool found = false;
    struct hd_buf pattern;
    glob_t wheels;

    for (char *at = path; at && (at = strstr(at, folder)); at++)
        end = at;
    hd_buf_init(&pattern);
    if (end)
        hd_buf_printf(&pattern, "%.*s%snvidia/*/lib/%s", (int)(end - path), path, folder, library);
    if (end && !pattern.failed) {
        found = glob(pattern.ptr, 0, NULL, &wheels) == 0;
        globfree(&wheels);
    }
    hd_buf_fini(&pattern);
    free(path);
    return found;
}

static void judge_library(struct doctor_report *r, const struct doctor_library *library)
{
    assert(library->name && library->what);
    if (library->called && library->beside)
        doctor_note(r,
                    "%s is needed, and a wheel beside has NVIDIA's: it loads, Heddle has no %s "
                    "yet, and what calls it fails",
                    library->name, library->what);
    else if (library->called)
        doctor_problem(r, "%s is needed: Heddle has no %s yet", library->name, library->what);
    else
        doctor_note(r, "%s is linked, but the program imports nothing of it", library->name);
}

static void check_libraries(struct doctor_report *r)
{
    struct hd_str name;
    for (size_t n = 0; obj_elf_needed(&r->program.elf, n, &name); n++) {
        const struct obj_vendor_library *vendor = obj_vendor_library(name);
        enum where_library own;
        if (!vendor)
            continue;
        if (where_replaces(name, &own)) {
            check_own_library(r, vendor, own);
            continue;
        }
        struct doctor_library library = {
            .name = hd_arena_strndup(&r->arena, name.ptr, name.len),
            .what = vendor->what,
            .called = imports(&r->program, vendor->functions),
        };
        library.beside = library.name && wheel_has(r->program.path, library.name);
        if (hd_vec_push(&r->libraries, library))
            judge_library(r, &library);
    }
}

static void check_runtime(struct doctor_report *r)
{
    switch (r->program.runtime) {
    case OBJ_RUNTIME_STRIPPED:
        doctor_problem(r,
                       "the static CUDA runtime inside cannot be redirected, because the program "
                       "was stripped: do not strip it, or build with nvcc -cudart shared");
        break;
    case OBJ_RUNTIME_EMBEDDED:
        if (program_is_static(&r->program))
            doctor_problem(r,
                           "the program is linked statically, with the C library: nothing can be "
                           "redirected; link it without -static");
        else
            doctor_note(r, "the static CUDA runtime inside is redirected by `heddle run`");
        break;
    case OBJ_RUNTIME_NONE:
        if (r->program.kind == OBJ_IMAGE_HOST_ELF && !r->entries.len)
            doctor_note(r, "does not use CUDA by itself");
        break;
    case OBJ_RUNTIME_SHARED:
        break;
    }
    if (r->program.cuda_version && r->program.cuda_version < 12)
        doctor_problem(r, "it was built with CUDA %u; Heddle has the interfaces of 12 and 13",
                       r->program.cuda_version);
}

static void check_images(struct doctor_report *r)
{
    if (r->program.damaged)
        doctor_problem(r, "damaged device code: %s", hd_error_message());
    if (!program_has_code(&r->program) || program_count_usable(&r->program, r->cc))
        return;
    struct hd_buf found;
    hd_buf_init(&found);
    program_describe_images(&r->program, &found);
    doctor_problem(r,
                   "no PTX for compute capability %u.%u, only: %s; rebuild with nvcc -gencode "
                   "arch=compute_%u,code=compute_%u",
                   r->cc / 10, r->cc % 10, found.ptr ? found.ptr : "", r->cc, r->cc);
    hd_buf_fini(&found);
}

enum hd_status doctor_examine(const char *path, unsigned cc, struct doctor_report *r)
{
    *r = (struct doctor_report){.cc = cc};
    HD_TRY(program_open(path, &r->program));
    hd_arena_init(&r->arena);
    if (r->program.kind == OBJ_IMAGE_HOST_ELF) {
        check_libraries(r);
        doctor_find_opened(r);
        check_entries(r);
    }
    check_runtime(r);
    judge_entries(r);
    check_images(r);
    doctor_check_ptx(r);
    return HD_OK;
}
