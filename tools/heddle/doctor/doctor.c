/* heddle doctor: what a program needs and what of it Heddle lacks, before running it. */
#include "common/cli.h"
#include "doctor/doctor.h"

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "common/where.h"

static const char help[] =
    "usage: heddle doctor [--cc N] [--json] [-v] PROGRAM|FOLDER|WHEEL...\n"
    "\n"
    "Examines programs, libraries or device images (.ptx, .fatbin, .cubin) without running them:\n"
    "how they use the CUDA runtime, every entry point of runtime and driver that they import, the\n"
    "CUDA libraries that they need, the device code inside, and every PTX instruction that Heddle\n"
    "does not take.\n"
    "\n"
    "options:\n"
    "  --cc N          check for compute capability N, e.g. 12.0 (default) or 9.0\n"
    "  --json          machine-readable output: one object, or an array for several programs\n"
    "  -v, --verbose   list everything, not only what is missing\n"
    "  --help          this text\n"
    "\n"
    "A program with NVIDIA's static runtime imports nothing: its code is looked through for "
    "direct\n"
    "calls of the runtime's entry points. One that is called through a pointer is not seen.\n"
    "\n"
    "Of a folder (a project, a Python environment) or an archive (a wheel, a zip or tar file)\n"
    "every program and library that uses CUDA is examined, grouped by Python distribution. It is\n"
    "told which of them have no PTX, and what to install instead; which libraries of NVIDIA's\n"
    "Heddle's take the place of, and which it does not have.\n"
    "\n"
    "exit status: 0 every program should run, 1 something is missing, 2 wrong usage or no such "
    "file\n";

#define CC_DEFAULT 120

static void push_text(struct doctor_report *report, bool problem, const char *fmt, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof(text), fmt, args);
    const char *kept = hd_arena_strndup(&report->arena, text, strlen(text));
    (void)(problem ? hd_vec_push(&report->problems, kept) : hd_vec_push(&report->notes, kept));
}

void doctor_problem(struct doctor_report *report, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    push_text(report, true, fmt, args);
    va_end(args);
}

void doctor_note(struct doctor_report *report, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    push_text(report, false, fmt, args);
    va_end(args);
}

const char *doctor_state_text(enum doctor_state state)
{
    static const char *const texts[] = {"supported", "not supported yet", "missing", "unknown"};
    return texts[state];
}

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
                hd_str_starts(symbol.name, vendor->functions) &&
                !hd_map_get(&exports.names, symbol.name))
                doctor_problem(r, "%.*s: Heddle's %s does not have it", (int)symbol.name.len,
                               symbol.name.ptr, where_library_file(own));
    exports_free(&exports);
}

static void judge_library(struct doctor_report *r, const struct doctor_library *library)
{
    if (library->called)
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
    if (!r->program.images.len || program_count_usable(&r->program, r->cc))
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

void doctor_report_fini(struct doctor_report *r)
{
    hd_vec_fini(&r->entries);
    hd_vec_fini(&r->libraries);
    hd_vec_fini(&r->forms);
    hd_vec_fini(&r->parsed);
    hd_vec_fini(&r->problems);
    hd_vec_fini(&r->notes);
    hd_arena_fini(&r->arena);
    program_close(&r->program);
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

static int examine_file(const char *path, const struct doctor_args *args)
{
    struct doctor_report r;
    enum hd_status status = doctor_examine(path, args->cc, &r);
    if (status != HD_OK) {
        int code = status == HD_BAD_IMAGE ? doctor_archive(path, args) : -1;
        if (code < 0)
            cli_error("%s", hd_error_message());
        return code < 0 ? CLI_USAGE : code;
    }
    if (args->as_json)
        doctor_print_json(&r);
    else
        doctor_print_text(&r, args->verbose);
    int code = r.problems.len ? CLI_FAILED : CLI_OK;
    doctor_report_fini(&r);
    return code;
}

/* Exit code for one program, folder or archive. */
static int examine(const char *path, const struct doctor_args *args)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return doctor_folder(path, path, args);
    return examine_file(path, args);
}

/* "12.0" or "120"; 0 when malformed. */
static unsigned parse_cc(const char *text)
{
    char digits[8];
    size_t len = 0;
    const char *dot = strchr(text, '.');
    if (dot && (dot == text || !dot[1] || dot[2]))
        return 0;
    for (; *text && len < sizeof(digits); text++)
        if (text != dot)
            digits[len++] = *text;
    uint64_t cc;
    bool good =
        !*text && hd_str_to_u64((struct hd_str){digits, len}, 10, &cc) && cc >= 10 && cc < 1000;
    return good ? (unsigned)cc : 0;
}

/* Options may stand anywhere; programs are moved to the front of argv. -1 to go on. */
static int parse_args(int argc, char **argv, struct doctor_args *args)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json")) {
            args->as_json = true;
        } else if (!strcmp(argv[i], "-v") || !strcmp(argv[i], "--verbose")) {
            args->verbose = true;
        } else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(help, stdout);
            return CLI_OK;
        } else if (!strcmp(argv[i], "--cc") && i + 1 < argc) {
            args->cc = parse_cc(argv[++i]);
        } else if (argv[i][0] == '-') {
            cli_error("doctor: unknown option '%s' (see `heddle doctor --help`)", argv[i]);
            return CLI_USAGE;
        } else {
            argv[args->programs++] = argv[i];
        }
    }
    if (args->cc && args->programs)
        return -1;
    cli_error(args->cc ? "doctor: which program? (see `heddle doctor --help`)"
                       : "doctor: --cc takes a compute capability such as 12.0");
    return CLI_USAGE;
}

int cmd_doctor(int argc, char **argv)
{
    struct doctor_args args = {.cc = CC_DEFAULT, .as_json = cli_json()};
    int code = parse_args(argc, argv, &args);
    if (code >= 0)
        return code;
    bool array = args.as_json && args.programs > 1;
    code = CLI_OK;
    for (size_t i = 0; i < args.programs; i++) {
        if (array)
            fputs(i ? "," : "[", stdout);
        int one = examine(argv[i], &args);
        code = HD_MAX(code, one);
    }
    if (array)
        puts("]");
    return code;
}
