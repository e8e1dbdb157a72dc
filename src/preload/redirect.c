/* Finding the embedded runtime's entry points and patching them: see redirect.h. */
#include "preload/redirect.h"

#include <assert.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "obj/program.h"
#include "preload/near.h"
#include "preload/patch.h"

/* Where the jump must fit when nothing follows within reach. */
#define ROOM_MAX_B 64

struct entry_point {
    const char *name; /* in the mapped file */
    uintptr_t addr;   /* in memory */
    void *target;     /* in our library; NULL when it lacks the name */
};

struct redirection {
    struct obj_elf elf;
    uintptr_t base;
    void *library;
    HD_VEC(struct entry_point) points; /* sorted by address, one per address */
    HD_VEC(uintptr_t) starts;          /* of all functions, sorted */
    unsigned cuda_version;
};

/* The functions whose stream 0 is the thread's have a name of their own. */
#define TWIN_NONE(symbol)
#define TWIN_PTSZ(symbol) #symbol "_ptsz",
#define TWIN_PTDS(symbol) #symbol "_ptds",

static const char *const runtime_names[] = {
#define X(symbol, nodes, twin, ...) #symbol, TWIN_##twin(symbol)
#include "api/runtime.def"
#undef X
};

static int by_name(const void *a, const void *b)
{
    const char *const *na = a, *const *nb = b;
    return strcmp(*na, *nb);
}

/* The runtime's entry points by name; nothing else of a program is touched. */
static bool is_entry_point(struct hd_str name)
{
    static const char *sorted[HD_COUNT_OF(runtime_names)];
    if (!sorted[0]) {
        memcpy(sorted, runtime_names, sizeof(sorted));
        qsort(sorted, HD_COUNT_OF(sorted), sizeof(sorted[0]), by_name);
    }
    assert(!name.ptr[name.len]); /* symbol tables end their names */
    return bsearch(&name.ptr, sorted, HD_COUNT_OF(sorted), sizeof(sorted[0]), by_name) != NULL;
}

static bool is_function(const struct obj_elf_symbol *symbol)
{
    return symbol->type == STT_FUNC && symbol->section != SHN_UNDEF && symbol->value;
}

static enum hd_status collect_symbol(struct redirection *r, const struct obj_elf_symbol *symbol)
{
    uintptr_t addr = r->base + (uintptr_t)symbol->value;
    struct entry_point point = {.name = symbol->name.ptr, .addr = addr};
    if (!hd_vec_push(&r->starts, addr) ||
        (is_entry_point(symbol->name) && !hd_vec_push(&r->points, point)))
        return hd_error(HD_NO_MEMORY, "no memory for the symbols of a program");
    return HD_OK;
}

static enum hd_status collect(struct redirection *r)
{
    struct obj_elf_symbols table;
    struct obj_elf_symbol symbol;
    if (!obj_elf_symbols(&r->elf, OBJ_ELF_SYMTAB, &table))
        return HD_OK;
    for (size_t i = 0; i < table.len; i++)
        if (obj_elf_symbol(&table, i, &symbol) && is_function(&symbol))
            HD_TRY(collect_symbol(r, &symbol));
    return HD_OK;
}

static int by_addr(const void *a, const void *b)
{
    const struct entry_point *pa = a, *pb = b;
    return (pa->addr > pb->addr) - (pa->addr < pb->addr);
}

static int by_value(const void *a, const void *b)
{
    uintptr_t ua = *(const uintptr_t *)a, ub = *(const uintptr_t *)b;
    return (ua > ub) - (ua < ub);
}

/* Drops second names of one function. */
static void keep_one_per_address(struct redirection *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->points.len; i++)
        if (!kept || r->points.at[kept - 1].addr != r->points.at[i].addr)
            r->points.at[kept++] = r->points.at[i];
    for (size_t i = 1; i < kept; i++)
        assert(r->points.at[i - 1].addr < r->points.at[i].addr);
    r->points.len = kept;
}

/* Up to the next function; what lies between is padding. */
static size_t room_at(const struct redirection *r, uintptr_t addr)
{
    size_t low = 0, high = r->starts.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->starts.at[middle] > addr)
            high = middle;
        else
            low = middle + 1;
    }
    return low < r->starts.len ? HD_MIN(r->starts.at[low] - addr, (uintptr_t)ROOM_MAX_B)
                               : ROOM_MAX_B;
}

static bool patch_point(const struct redirection *r, const struct entry_point *point)
{
    uintptr_t target = (uintptr_t)point->target;
    size_t room_B = room_at(r, point->addr);
    assert(target && target != point->addr); /* or it would jump to itself for ever */
    assert(room_B);
    uint8_t *code = (uint8_t *)point->addr;
    size_t len = patch_write_jump(code, room_B, target);
    if (!len) {
        uintptr_t near = near_jump(hd_vec_last(&r->points).addr, target);
        len = near ? patch_write_near_jump(code, room_B, point->addr, near) : 0;
    }
    if (len)
        __builtin___clear_cache((char *)code, (char *)code + len);
    return len != 0;
}

/*
 * Makes the executable segments that hold entry points writable, never both at once, unless what
 * writes needs them: a program with a sanitizer inside has functions of the C library there.
 */
static enum hd_status set_protection(const struct redirection *r, bool writable)
{
    assert(r->points.len);
    uintptr_t page_B = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = r->points.at[0].addr;
    uintptr_t last = r->points.at[r->points.len - 1].addr + ROOM_MAX_B;
    struct obj_elf_segment segment;
    for (size_t i = 0; obj_elf_segment(&r->elf, i, &segment); i++) {
        if (segment.type != PT_LOAD || !(segment.flags & PF_X))
            continue;
        uintptr_t low = (r->base + (uintptr_t)segment.addr) & ~(page_B - 1);
        uintptr_t high = r->base + (uintptr_t)(segment.addr + segment.mem_B);
        if (high <= first || low >= last)
            continue;
        bool is_needed = (uintptr_t)mprotect - low < high - low;
        int usual = PROT_READ | PROT_EXEC | (segment.flags & PF_W ? PROT_WRITE : 0);
        int changing = PROT_READ | PROT_WRITE | (is_needed ? PROT_EXEC : 0);
        if (mprotect((void *)low, high - low, writable ? changing : usual) != 0)
            return hd_error(
                HD_NOT_SUPPORTED,
                "the system does not let the embedded CUDA runtime be redirected (mprotect); "
                "rebuild with `nvcc -cudart shared`");
    }
    return HD_OK;
}

static enum hd_status redirect_collected(struct redirection *r, struct redirect_result *out_result)
{
    for (size_t i = 0; i < r->points.len; i++) {
        /*
         * The clashing functions have one implementation per version; all others are the same in
         * both.
         */
        void *target = dlvsym(r->library, r->points.at[i].name,
                              r->cuda_version < 13 ? "libcudart.so.12" : "libcudart.so.13");
        r->points.at[i].target = target ? target : dlsym(r->library, r->points.at[i].name);
    }
    qsort(r->points.at, r->points.len, sizeof(r->points.at[0]), by_addr);
    qsort(r->starts.at, r->starts.len, sizeof(r->starts.at[0]), by_value);
    keep_one_per_address(r);
    if (!r->points.len)
        return HD_OK;
    out_result->cuda_version = r->cuda_version;
    HD_TRY(set_protection(r, true));
    /*
     * A function without a target belongs to a runtime that our library is too old for, or the
     * library is damaged: it stays as it is and fails in the driver, which does not answer its
     * private calls.
     */
    for (size_t i = 0; i < r->points.len; i++) {
        const struct entry_point *p = &r->points.at[i];
        if (p->target && patch_point(r, p)) {
            out_result->redirected++;
        } else {
            hd_log("%s of the embedded CUDA runtime cannot be redirected", p->name);
            out_result->failed++;
        }
    }
    near_seal();
    return set_protection(r, false);
}

static enum hd_status redirect_embedded(struct redirection *r, struct redirect_result *out_result)
{
    r->cuda_version = obj_program_cuda_version(&r->elf);
    enum hd_status status = collect(r);
    if (status == HD_OK)
        status = redirect_collected(r, out_result);
    hd_vec_fini(&r->points);
    hd_vec_fini(&r->starts);
    return status;
}

enum hd_status redirect_object(const char *path, uintptr_t base, redirect_library library,
                               void *arg, struct redirect_result *out_result)
{
    struct redirection r = {.base = base};
    *out_result = (struct redirect_result){0};
    HD_TRY(obj_elf_open_file(path, &r.elf));
    enum hd_status status = HD_OK;
    enum obj_runtime runtime = obj_program_embedded(&r.elf);
    out_result->stripped = runtime == OBJ_RUNTIME_STRIPPED;
    if (runtime == OBJ_RUNTIME_EMBEDDED) {
        r.library = library(arg);
        status = r.library ? redirect_embedded(&r, out_result)
                           : hd_error(HD_NOT_FOUND, "our libcudart.so.13 cannot be loaded");
    }
    obj_elf_close(&r.elf);
    return status;
}

bool redirect_function(void *from, void *to)
{
    uintptr_t page_B = (uintptr_t)sysconf(_SC_PAGESIZE), low = (uintptr_t)from & ~(page_B - 1);
    size_t size_B = (uintptr_t)from + PATCH_JUMP_MAX_B - low;
    assert(from != to); /* or it would jump to itself for ever */

    /* Threads may run in these pages. */
    if (mprotect((void *)low, size_B, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    size_t len = patch_write_jump(from, PATCH_JUMP_MAX_B, (uintptr_t)to);
    __builtin___clear_cache(from, (char *)from + len);
    (void)mprotect((void *)low, size_B, PROT_READ | PROT_EXEC);
    return len != 0;
}
