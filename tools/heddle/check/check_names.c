/*
 * Names: of kernels and functions as C++ writes them, of host frames by the symbol tables of their
 * modules.
 */
#include "check/check.h"

#include <assert.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/demangle.h"
#include "base/mem.h"
#include "obj/elf.h"

const char *check_demangle(const char *name, unsigned how)
{
    static struct hd_buf bufs[3];
    static unsigned next;
    struct hd_buf *out = &bufs[next++ % HD_COUNT_OF(bufs)];

    assert(how <= DEMANGLE_NO);
    hd_buf_clear(out);
    bool is =
        how != DEMANGLE_NO &&
        hd_demangle(name, how == DEMANGLE_SIMPLE ? HD_DEMANGLE_SIMPLE : HD_DEMANGLE_FULL, out);
    return is ? out->ptr : name;
}

const char *check_path(const struct check_options *options, const char *path)
{
    const char *slash = options->strip_paths ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path;
}

/* ---- functions of the host */

struct function {
    uint64_t begin, end;
    struct hd_str name;
};

struct module {
    struct obj_elf elf;
    bool is_open;
    HD_VEC(struct function) functions; /* by address */
    HD_VEC(uint64_t) starts;           /* likewise, of those that can be unwound */
};

static int by_address(const void *a, const void *b)
{
    const struct function *x = a, *y = b;

    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void add_functions(struct module *m, enum obj_elf_table which)
{
    struct obj_elf_symbols table;
    struct obj_elf_symbol symbol;

    if (!obj_elf_symbols(&m->elf, which, &table))
        return;
    for (size_t i = 0; i < table.len; i++) {
        if (!obj_elf_symbol(&table, i, &symbol) || symbol.type != STT_FUNC ||
            symbol.section == SHN_UNDEF || !symbol.size_B)
            continue;
        struct function f = {symbol.value, symbol.value + symbol.size_B, symbol.name};
        if (!hd_vec_push(&m->functions, f))
            return;
    }
}

/* .eh_frame_hdr has the beginnings of all functions, sorted, also of those without names. */
static void add_starts(struct module *m)
{
    static const uint8_t usual[] = {1, 0x1b, 3, 0x3b}; /* how compilers and linkers write it */
    struct obj_elf_section table;
    uint32_t n;

    if (!obj_elf_section_find(&m->elf, ".eh_frame_hdr", &table) || !table.bytes ||
        table.size_B < 12 || memcmp(table.bytes, usual, sizeof(usual)) != 0)
        return;
    memcpy(&n, table.bytes + 8, sizeof(n));
    for (size_t i = 0; i < n && i < (table.size_B - 12) / 8; i++) {
        int32_t start;
        memcpy(&start, table.bytes + 12 + i * 8, sizeof(start));
        if (!hd_vec_push(&m->starts, table.addr + (uint64_t)(int64_t)start))
            return;
    }
}

/* What the kernel puts into every process is a file in memory, whose sections end it. */
static enum hd_status open_vdso(struct obj_elf *out)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);

    return head ? obj_elf_open(head, head->e_shoff + (size_t)head->e_shnum * head->e_shentsize, out)
                : hd_error(HD_NOT_FOUND, "there is no vdso");
}

static struct module *module_open(const char *path)
{
    struct module *m = hd_new(struct module);

    if (!m || (strcmp(path, "linux-vdso.so.1") ? obj_elf_open_file(path, &m->elf)
                                               : open_vdso(&m->elf)) != HD_OK)
        return m;
    m->is_open = true;
    add_functions(m, OBJ_ELF_SYMTAB);
    if (!m->functions.len)
        add_functions(m, OBJ_ELF_DYNSYM);
    if (m->functions.len)
        qsort(m->functions.at, m->functions.len, sizeof(m->functions.at[0]), by_address);
    add_starts(m);
    return m;
}

static const struct function *module_find(const struct module *m, uint64_t pc)
{
    size_t low = 0, high = m->functions.len;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->functions.at[middle].begin <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    assert(!low || m->functions.at[low - 1].begin <= pc);
    return low && pc < m->functions.at[low - 1].end ? &m->functions.at[low - 1] : NULL;
}

/* Modules and names are kept for the life of the process: a program has few of them. */
static struct hd_arena kept;

/* NULL: no memory. */
static struct module *module_of(const char *path)
{
    static struct hd_map modules;
    static bool is_ready;

    if (!is_ready) {
        hd_map_init(&modules);
        hd_arena_init(&kept);
        is_ready = true;
    }
    struct module *m = hd_map_get(&modules, hd_str_from(path));
    if (!m) {
        m = module_open(path);
        char *key = hd_arena_strndup(&kept, path, strlen(path));
        if (!m || !hd_map_put(&modules, hd_str_from(key), m))
            return NULL;
    }
    return m;
}

const char *check_symbol(const char *path, uint64_t pc)
{
    const struct module *m = path[0] ? module_of(path) : NULL;
    const struct function *f = m ? module_find(m, pc) : NULL;

    return f ? hd_arena_strndup(&kept, f->name.ptr, f->name.len) : "";
}

uint64_t check_function_start(const char *path, uint64_t pc)
{
    const struct module *m = path[0] ? module_of(path) : NULL;
    size_t low = 0, high = m ? m->starts.len : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->starts.at[middle] <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    assert(!low || m->starts.at[low - 1] <= pc);
    return low ? m->starts.at[low - 1] : 0;
}

const char *check_frame_func(const struct check_frame *frame)
{
    /* The address is where the call returns to, which may be behind the function. */
    return frame->func[0] ? frame->func : check_symbol(frame->module, frame->pc - 1);
}

/* Is it one of the CUDA runtime, whoever's? */
static bool is_runtime(const struct check_frame *frame)
{
    const char *slash = strrchr(frame->module, '/');

    return strncmp(slash ? slash + 1 : frame->module, "libcudart", 9) == 0;
}

size_t check_stack_shown(const struct check_options *options, const struct check_stack *stack)
{
    size_t most = options->num_callers_host ? options->num_callers_host : SIZE_MAX, n = 0;

    while (n < stack->n && n < most) {
        bool is_main = strcmp(check_frame_func(&stack->frames[n]), "main") == 0;
        n++;
        if (options->backtrace_short && is_main)
            break;
    }
    return n;
}

bool check_frame_is_hidden(const struct check_options *options, const struct check_frame *frame)
{
    return options->backtrace_short && is_runtime(frame);
}
