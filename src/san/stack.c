/*
 * Host stacks: taken as addresses, named when they are sent.
 *
 * backtrace() unwinds by the tables that every x86-64 and AArch64 object has, without frame
 * pointers. It loads libgcc_s the first time, which san_stack_start() does early and on no thread
 * of a device.
 */
#include "san/stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

/* Frames of ours inside of a call: not all that backtrace() returns are the program's. */
enum { OWN_FRAMES_MAX = 32 };

static struct {
    uintptr_t begin, end; /* this library; begin 0: it is the program itself, as in tests */
} own;

static int find_own(struct dl_phdr_info *info, size_t size_B, void *unused)
{
    uintptr_t here = (uintptr_t)find_own, first = UINTPTR_MAX, last = 0;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        first = HD_MIN(first, begin);
        last = HD_MAX(last, begin + info->dlpi_phdr[i].p_memsz);
    }
    if (here < first || here >= last)
        return 0;
    if ((uintptr_t)info->dlpi_phdr != getauxval(AT_PHDR)) {
        own.begin = first;
        own.end = last;
    }
    return 1;
}

void san_stack_start(void)
{
    void *unused[2];

    dl_iterate_phdr(find_own, NULL);
    backtrace(unused, 2);
}

static bool is_own(uintptr_t pc)
{
    return pc - own.begin < own.end - own.begin;
}

void san_stack_take(struct san_stack *out)
{
    void *pcs[OWN_FRAMES_MAX + SAN_STACK_MAX];
    int n = backtrace(pcs, HD_COUNT_OF(pcs)), first = 1; /* 0 is this function */

    while (first < n && is_own((uintptr_t)pcs[first]))
        first++;
    out->n = 0;
    for (int i = first; i < n && out->n < SAN_STACK_MAX; i++)
        out->pc[out->n++] = (uintptr_t)pcs[i];
}

/* ---- names */

static const char *const library_files[] = {
#define X(NAME, text, file, folder, how) file,
#include "libraries.def"
#undef X
};

static bool is_ours(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    for (size_t i = 0; i < HD_COUNT_OF(library_files); i++)
        if (strcmp(name, library_files[i]) == 0)
            return true;
    return false;
}

/* The program's name in the link map is empty. */
static const char *module_path(const Dl_info *info, const struct link_map *map, const char *program)
{
    return map->l_name && map->l_name[0] ? map->l_name : program[0] ? program : info->dli_fname;
}

static void write_frame(struct hd_json *j, uintptr_t pc, const char *program)
{
    Dl_info info;
    struct link_map *map = NULL;
    /* A call that does not return may be a function's last instruction: look at the call itself. */
    bool known = dladdr1((void *)(pc - 1), &info, (void **)&map, RTLD_DL_LINKMAP) && map;

    if (known && (is_own(pc) || is_ours(module_path(&info, map, program))))
        return;
    hd_json_open(j, NULL, '{');
    hd_json_hex(j, "pc", known ? pc - map->l_addr : pc);
    if (known)
        hd_json_str(j, "module", module_path(&info, map, program));
    if (known && info.dli_sname) {
        hd_json_str(j, "func", info.dli_sname);
        hd_json_u64(j, "offset", pc - (uintptr_t)info.dli_saddr);
    }
    hd_json_close(j, '}');
}

void san_stack_write(struct hd_json *j, const char *key, const struct san_stack *stack,
                     const char *program)
{
    if (!stack || !stack->n)
        return;
    hd_json_open(j, key, '[');
    for (uint32_t i = 0; i < stack->n; i++)
        write_frame(j, stack->pc[i], program);
    hd_json_close(j, ']');
}
