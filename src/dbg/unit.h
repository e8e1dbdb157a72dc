/*
 * A unit of PTX as a debugger sees it: its instructions by number, its functions, its variables
 * with the addresses that GDB knows them by (layout.h).
 *
 * Owners: a unit owns its text and everything below. Threads: read-only once made.
 */
#ifndef HD_DBG_UNIT_H
#define HD_DBG_UNIT_H

#include <assert.h>

#include "base/map.h"
#include "base/vec.h"
#include "dbg/dbg.h"
#include "dbg/layout.h"
#include "ptx/ptx.h"

struct dbg_func {
    const struct ptx_func *ptx;
    const char *name;
    uint32_t first, count; /* of its instructions */
    uint64_t locals_B;     /* what its variables take of a frame */
};

struct dbg_insn {
    const struct ptx_insn *ptx;
    const struct dbg_func *func;
};

enum dbg_var_kind { DBG_VAR_LOCAL, DBG_VAR_SHARED, DBG_VAR_GLOBAL };

struct dbg_var {
    const struct ptx_var *ptx;
    const char *name;
    const struct dbg_func *func; /* NULL: the module's */
    enum dbg_var_kind kind;
    uint64_t at; /* LOCAL: from DBG_LOCALS of the frame; else the address */
    uint64_t size_B;
};

struct dbg_unit {
    const char *name;
    uint64_t base; /* address of the first instruction */
    struct hd_arena arena;
    const struct ptx_module *ptx;
    struct dbg_insn *insns;
    uint32_t ninsns;
    struct dbg_func *funcs; /* with bodies, in the order of the text */
    uint32_t nfuncs;
    HD_VEC(struct dbg_var) vars;
    struct hd_map srclocs; /* u64 key column << 32 | line -> number of the instruction + 1 */
    struct hd_map labels;  /* name -> where it is */
    char *path;            /* of its ELF file, once it is written; else NULL */
    char *source;          /* a file with its text, where that is its source; else NULL */
};

/* `number`: unlike that of any other. HD_BAD_PTX, HD_NO_MEMORY. */
enum hd_status dbg_unit_create(const struct dbg_text *text, uint32_t number,
                               struct dbg_unit **out_unit) HD_MUST_CHECK;
/* Removes its files, too. */
void dbg_unit_destroy(struct dbg_unit *unit);
void dbg_unit_forget_files(struct dbg_unit *unit);

/* The address of instruction number `index`; of the end for ninsns. */
static inline uint64_t dbg_unit_pc(const struct dbg_unit *unit, uint32_t index)
{
    assert(index <= unit->ninsns);
    return unit->base + (uint64_t)index * DBG_INSN_B;
}
/* NULL: there is none at the address. */
const struct dbg_insn *dbg_unit_insn(const struct dbg_unit *unit, uint64_t pc);
/* The instruction at a place of the text, in the function of that name; 0: there is none. */
uint64_t dbg_unit_find(const struct dbg_unit *unit, const char *func, uint32_t line, uint32_t col);
/* The address of a label or function; false: no such name. */
bool dbg_unit_label(const struct dbg_unit *unit, struct hd_str name, uint64_t *out_pc,
                    const struct dbg_func **out_func);
/* A variable that code of `func` (or NULL) knows by this name. */
const struct dbg_var *dbg_unit_var(const struct dbg_unit *unit, const struct dbg_func *func,
                                   struct hd_str name);
/* The variable around an address that is not on the stack. */
const struct dbg_var *dbg_unit_var_at(const struct dbg_unit *unit, uint64_t address);
/* Number of a register by its name ("%r1"); false: the function has none. */
bool dbg_func_reg(const struct dbg_func *func, struct hd_str name, uint32_t *out_reg,
                  const struct ptx_reg_decl **out_decl);

/* elf.c: the file for GDB, in the folder. HD_IO, HD_NO_MEMORY. */
enum hd_status dbg_elf_write(struct dbg_unit *unit, const char *folder) HD_MUST_CHECK;
/* The file that says what threadIdx and the others are. */
enum hd_status dbg_elf_write_builtins(const char *path) HD_MUST_CHECK;

#endif
