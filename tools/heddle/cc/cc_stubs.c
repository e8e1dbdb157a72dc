/*
 * heddle cc: the functions that stand for kernels in host code, by their names.
 *
 * nvcc gives such a function the kernel's name, and files of another compiler rely on it: a C++
 * source declares `void fill(Params)` and hands its address to cudaLaunchKernel(). clang calls it
 * __device_stub__fill, which no such file finds:
 *
 *     _Z19__device_stub__fill6Params     becomes    _Z4fill6Params
 *
 * Names of an object only become shorter, so each is written where it was, to end at the same byte:
 * other symbols may be the tail of it.
 */
#include "cc/cc.h"

#include <assert.h>
#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "obj/elf.h"

#define STUB         "__device_stub__"
#define STUB_B       (sizeof(STUB) - 1)
#define OBJECT_MAX_B ((size_t)1 << 31)

/* By how much the name moves towards its end; 0: it is none of a stub, or not as clang makes it. */
static size_t rename_stub(char *name)
{
    char *stub = strstr(name, STUB), digits[24];
    if (!stub)
        return 0;
    if (stub == name)
        return STUB_B; /* extern "C" */
    char *number = stub;
    while (number > name && isdigit((unsigned char)number[-1]))
        number--;
    unsigned len = 0;
    if (sscanf(number, "%u__", &len) != 1 || len <= STUB_B || len > strlen(stub))
        return 0;
    size_t digits_B = (size_t)snprintf(digits, sizeof(digits), "%u", len - (unsigned)STUB_B);
    size_t front_B = (size_t)(number - name), old_B = (size_t)(stub - number) + STUB_B;
    assert(digits_B < old_B);
    size_t shift = old_B - digits_B;
    memmove(name + shift, name, front_B);
    memcpy(name + shift + front_B, digits, digits_B);
    return shift;
}

static bool rename_stubs(struct hd_buf *object, const struct obj_elf_symbols *table)
{
    char *entries = object->ptr + ((const char *)table->entries - object->ptr);
    char *names = object->ptr + (table->names - object->ptr);
    bool any = false;
    for (size_t i = 0; i < table->len; i++) {
        struct obj_elf_symbol symbol;
        Elf64_Sym raw;
        if (!obj_elf_symbol(table, i, &symbol))
            continue;
        memcpy(&raw, entries + i * sizeof(raw), sizeof(raw));
        size_t shift = rename_stub(names + raw.st_name);
        raw.st_name += (Elf64_Word)shift;
        memcpy(entries + i * sizeof(raw), &raw, sizeof(raw));
        any |= shift != 0;
    }
    return any;
}

enum hd_status cc_stubs_rename(const char *path)
{
    struct obj_elf_symbols table;
    struct obj_elf elf;
    struct hd_buf object;
    hd_buf_init(&object);
    enum hd_status status = hd_file_read(path, OBJECT_MAX_B, &object);
    /* With -flto it is LLVM's bitcode: all files are clang's then. */
    if (status == HD_OK && object.len && obj_elf_open(object.ptr, object.len, &elf) == HD_OK &&
        obj_elf_symbols(&elf, OBJ_ELF_SYMTAB, &table) && rename_stubs(&object, &table))
        status = hd_file_write(path, object.ptr, object.len);
    hd_buf_fini(&object);
    return status;
}
