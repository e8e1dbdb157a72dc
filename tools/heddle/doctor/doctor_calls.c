/*
 * Which entry points of its embedded runtime a program calls. Nothing is imported, so the code is
 * looked through for direct calls and jumps to them; those that the runtime's own functions make do
 * not count. A call through a pointer is not seen.
 */
#include "doctor/doctor.h"

#include <assert.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

struct function {
    uint64_t addr;
    struct doctor_entry *entry; /* an entry point of the runtime, or NULL */
    bool in_runtime;
};

struct functions {
    HD_VEC(struct function) list; /* by address */
};

static int by_addr(const void *a, const void *b)
{
    const struct function *fa = a, *fb = b;
    if (fa->addr != fb->addr)
        return fa->addr < fb->addr ? -1 : 1;
    return (fa->entry == NULL) - (fb->entry == NULL);
}

static struct doctor_entry *find_entry(struct doctor_report *r, struct hd_str name)
{
    for (size_t i = 0; i < r->entries.len; i++)
        if (!r->entries.at[i].is_driver && hd_str_is(name, r->entries.at[i].name))
            return &r->entries.at[i];
    return NULL;
}

static void collect(struct doctor_report *r, struct functions *functions)
{
    struct obj_elf_symbols table;
    struct obj_elf_symbol symbol;
    if (!obj_elf_symbols(&r->program.elf, OBJ_ELF_SYMTAB, &table))
        return;
    for (size_t i = 0; i < table.len; i++) {
        if (!obj_elf_symbol(&table, i, &symbol) || symbol.section == SHN_UNDEF ||
            symbol.type != STT_FUNC)
            continue;
        bool named = doctor_table_state(symbol.name.ptr, false) != DOCTOR_UNKNOWN;
        struct function f = {
            .addr = symbol.value,
            .entry = named ? find_entry(r, symbol.name) : NULL,
            .in_runtime = named || hd_str_starts(symbol.name, "libcudart_static_"),
        };
        if (!hd_vec_push(&functions->list, f))
            doctor_problem(r, "out of memory");
    }
    if (functions->list.len)
        qsort(functions->list.at, functions->list.len, sizeof(functions->list.at[0]), by_addr);
}

/* The function that an address lies in or, `exact`, begins. */
static const struct function *at_address(const struct functions *functions, uint64_t addr,
                                         bool exact)
{
    size_t low = 0, high = functions->list.len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (functions->list.at[middle].addr > addr)
            high = middle;
        else
            low = middle + 1;
    }
    while (low > 1 && functions->list.at[low - 2].addr == functions->list.at[low - 1].addr)
        low--; /* second names come behind the entry point's */
    assert(low <= functions->list.len);
    const struct function *found = low ? &functions->list.at[low - 1] : NULL;
    return found && (!exact || found->addr == addr) ? found : NULL;
}

/* The target of a direct call or jump at `code`; false when there is none. */
static bool direct_target(const struct obj_elf *elf, const uint8_t *code, size_t left_B,
                          uint64_t addr, uint64_t *out_target)
{
    int32_t word;
    if (elf->machine == EM_X86_64) { /* call rel32, jmp rel32 */
        if (left_B < 5 || (code[0] != 0xe8 && code[0] != 0xe9))
            return false;
        memcpy(&word, code + 1, sizeof(word));
        *out_target = addr + 5 + (uint64_t)(int64_t)word;
        return true;
    }
    if (elf->machine != EM_AARCH64 || left_B < 4 || addr % 4)
        return false;
    memcpy(&word, code, sizeof(word)); /* bl, b: 26 bits of words */
    *out_target = addr + (uint64_t)(((int64_t)((uint64_t)(uint32_t)word << 38)) >> 36);
    return ((uint32_t)word & 0x7c000000u) == 0x14000000u;
}

static void scan(struct doctor_report *r, const struct functions *functions,
                 const struct obj_elf_section *section)
{
    assert(section->bytes);
    for (size_t at = 0; at < section->size_B; at++) {
        uint64_t addr = section->addr + at, target;
        if (!direct_target(&r->program.elf, section->bytes + at, section->size_B - at, addr,
                           &target))
            continue;
        const struct function *callee = at_address(functions, target, true);
        if (!callee || !callee->entry || callee->entry->called)
            continue;
        const struct function *caller = at_address(functions, addr, false);
        callee->entry->called = !caller || !caller->in_runtime;
    }
}

void doctor_find_calls(struct doctor_report *r)
{
    struct functions functions = {0};
    struct obj_elf_section section;
    collect(r, &functions);
    for (size_t i = 0; obj_elf_section(&r->program.elf, i, &section); i++)
        if (section.type == SHT_PROGBITS && section.flags & SHF_EXECINSTR && section.bytes)
            scan(r, &functions, &section);
    hd_vec_fini(&functions.list);
}
