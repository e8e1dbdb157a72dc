/* Programs that were loaded, and the files that GDB reads of them. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/mem.h"
#include "dbg/dwarf.h"
#include "dbg/private.h"

static enum hd_status unit_add(struct dbg_program *program, const struct dbg_text *text)
{
    dbg_lock();
    uint32_t number = dbg.nunits_ever++;
    dbg_unlock();
    struct dbg_unit *unit;

    HD_TRY(dbg_unit_create(text, number, &unit));
    program->units[program->nunits++] = unit;
    /* The text itself is the source of what names no other. */
    if (!dbg_unit_has_lines(unit)) {
        char path[sizeof(dbg.folder) + 32];
        size_t len = text->len;
        while (len && !text->ptx[len - 1])
            len--;
        snprintf(path, sizeof(path), "%s/unit-%u.ptx", dbg.folder, number);
        HD_TRY(hd_file_write(path, text->ptx, len));
        unit->source = hd_strdup(path);
        HD_TRY(unit->source ? HD_OK : hd_error(HD_NO_MEMORY, "debugging %s", text->name));
    }
    return dbg_elf_write(unit, dbg.folder);
}

static enum hd_status units_add(struct dbg_program *program, const struct dbg_text *texts,
                                size_t count)
{
    program->units = hd_alloc_array(count + 1, sizeof(struct dbg_unit *));
    if (!program->units)
        return hd_error(HD_NO_MEMORY, "debugging a program");
    for (size_t i = 0; i < count; i++)
        HD_TRY(unit_add(program, &texts[i]));
    return HD_OK;
}

static void program_free(struct dbg_program *program)
{
    for (size_t i = 0; i < program->nunits; i++)
        dbg_unit_destroy(program->units[i]);
    for (size_t i = 0; i < program->globals.len; i++)
        hd_free(program->globals.at[i].name);
    hd_vec_fini(&program->globals);
    hd_vec_fini(&program->codes);
    hd_free(program->units);
    hd_free(program);
}

enum hd_status dbg_folder_make(void)
{
    const char *root = hd_env_of_system("TMPDIR");
    char path[sizeof(dbg.folder) + 16];

    assert(!dbg.folder[0]);
    snprintf(dbg.folder, sizeof(dbg.folder), "%s/heddle-gdb-XXXXXX", root ? root : "/tmp");
    if (!mkdtemp(dbg.folder))
        return hd_error(HD_IO, "debugger: %s: %s", dbg.folder, strerror(errno));
    snprintf(path, sizeof(path), "%s/cuda.elf", dbg.folder);
    return dbg_elf_write_builtins(path);
}

void dbg_files_remove_locked(void)
{
    char path[sizeof(dbg.folder) + 16];

    assert(dbg_is_locked() || dbg_is_alone());
    if (!dbg.folder[0])
        return;
    for (size_t i = 0; i < dbg.programs.len; i++)
        for (size_t k = 0; k < dbg.programs.at[i]->nunits; k++)
            dbg_unit_forget_files(dbg.programs.at[i]->units[k]);
    snprintf(path, sizeof(path), "%s/cuda.elf", dbg.folder);
    unlink(path);
    rmdir(dbg.folder);
    dbg.folder[0] = '\0';
    if (dbg.socket_path[0])
        unlink(dbg.socket_path);
}

/* GDB reads the libraries again and sets what was pending. */
static void libraries_changed_locked(void)
{
    struct dbg_stop stop = {.kind = DBG_STOP_LIBRARY, .tid = DBG_HOST_TID, .signal = 5};

    dbg_stop_locked(&stop);
}

struct dbg_program *dbg_program_create(const struct dbg_text *texts, size_t count)
{
    struct dbg_program *program = hd_new(struct dbg_program);
    enum hd_status status =
        program ? units_add(program, texts, count) : hd_error(HD_NO_MEMORY, "debugging a program");

    dbg_lock();
    if (status == HD_OK && !hd_vec_push(&dbg.programs, program))
        status = hd_error(HD_NO_MEMORY, "debugging a program");
    if (status == HD_OK)
        libraries_changed_locked();
    dbg_unlock();
    if (status == HD_OK)
        return program;
    dbg_say("heddle: a program cannot be debugged: %s", hd_error_message());
    if (program)
        program_free(program);
    return NULL;
}

void dbg_program_destroy(struct dbg_program *program)
{
    bool found = false;

    if (!program)
        return;
    dbg_lock();
    for (size_t i = 0; i < dbg.programs.len && !found; i++) {
        found = dbg.programs.at[i] == program;
        if (found)
            dbg.programs.at[i] = dbg.programs.at[--dbg.programs.len];
    }
    assert(found);
    for (size_t i = 0; i < dbg.ctas.len; i++)
        if (dbg.ctas.at[i]->program == program)
            dbg.ctas.at[i]->program = NULL;
    libraries_changed_locked();
    dbg_unlock();
    program_free(program);
}

static bool has_break(const struct dbg_program *program)
{
    for (size_t i = 0; i < dbg.breaks.len; i++)
        for (size_t k = 0; k < program->nunits; k++)
            if (dbg_unit_insn(program->units[k], dbg.breaks.at[i].pc))
                return true;
    return false;
}

static bool wants_locked(const struct dbg_program *program)
{
    assert(dbg_is_locked());
    return dbg.attached &&
           (dbg.break_on_launch || dbg.watches.len || dbg.step.tid || has_break(program));
}

void dbg_wanted_set_locked(void)
{
    for (size_t i = 0; i < dbg.programs.len; i++) {
        struct dbg_program *program = dbg.programs.at[i];
        bool wants = wants_locked(program);

        if (atomic_exchange(&program->wanted, wants) != wants && dbg.notified)
            dbg.notified(program);
    }
}

bool dbg_wanted(const struct dbg_program *program)
{
    return atomic_load(&program->wanted);
}

bool dbg_wants(const struct dbg_program *program)
{
    bool wants = false;

    if (!program)
        return false;
    dbg_lock();
    while (dbg.stopped)
        dbg_wait();
    wants = wants_locked(program);
    dbg_unlock();
    return wants;
}

bool dbg_program_code(struct dbg_program *program, const struct ir_module *code)
{
    dbg_lock();
    bool good = false;
    for (size_t i = 0; i < program->codes.len && !good; i++)
        good = program->codes.at[i] == code;
    good = good || hd_vec_push(&program->codes, code);
    dbg_unlock();
    return good;
}

void dbg_program_global(struct dbg_program *program, const char *name, uint64_t va, bool is_managed)
{
    struct dbg_global g = {hd_strdup(name), va, is_managed};

    dbg_lock();
    for (size_t i = 0; i < program->globals.len; i++) {
        if (g.name && strcmp(program->globals.at[i].name, name) == 0) {
            program->globals.at[i].va = va;
            program->globals.at[i].is_managed = is_managed;
            hd_free(g.name);
            g.name = NULL;
        }
    }
    if (g.name && !hd_vec_push(&program->globals, g))
        hd_free(g.name);
    dbg_unlock();
}
