/*
 * A code generator for tests: "kernels" are C functions with the interface of generated code. Link
 * a test with this header instead of src/jit. The kernel of an ir_func is found by its name.
 */
#ifndef HD_TESTS_FAKE_JIT_H
#define HD_TESTS_FAKE_JIT_H

#include <stdatomic.h>

#include "jit/launch_class.h"
#include "jit/jit.h"

struct fake_kernel {
    const char *name;
    struct jit_code code;
};

/* Where the kernel that was prepared last looks for its code. */
static jit_slot *fake_slot;

/* Ends with a NULL name; defined by the test. */
extern const struct fake_kernel fake_kernels[];

/* Fake kernels are the same for all classes. */
__attribute__((weak)) enum jit_launch_class jit_launch_class_of(const uint32_t block[3])
{
    (void)block;
    return JIT_CLASS_OTHER;
}

enum hd_status jit_path_get(enum jit_path *out_path)
{
    *out_path = JIT_GENERIC;
    return HD_OK;
}

enum hd_status jit_module_create(const char *name, const uint8_t key[16],
                                 struct jit_module **out_jit)
{
    (void)key;
    *out_jit = (struct jit_module *)(uintptr_t)name;
    return HD_OK;
}

void jit_module_set_ptx(struct jit_module *jit, const char *ptx)
{
    (void)jit, (void)ptx;
}

void jit_module_set_alone(struct jit_module *jit, bool alone)
{
    (void)jit, (void)alone;
}

void jit_module_set_strict(struct jit_module *jit, bool strict)
{
    (void)jit, (void)strict;
}

uint32_t jit_instr_find(struct jit_module *jit, const struct jit_code *code, uintptr_t pc)
{
    (void)jit, (void)code, (void)pc;
    return 0;
}

void jit_instrs_find(struct jit_module *jit, const struct jit_code *code, const uintptr_t *pcs,
                     uint32_t *numbers, uint32_t n)
{
    (void)jit, (void)code, (void)pcs;
    memset(numbers, 0, n * sizeof(*numbers));
}

void jit_module_destroy(struct jit_module *jit)
{
    (void)jit;
}

enum hd_status jit_kernel_get(struct jit_module *jit, const struct ir_func *kernel,
                              enum jit_launch_class cls, const struct jit_code **out_code)
{
    (void)jit, (void)cls;
    for (const struct fake_kernel *k = fake_kernels; k->name; k++) {
        if (!strcmp(k->name, kernel->name)) {
            *out_code = &k->code;
            return HD_OK;
        }
    }
    return hd_error(HD_JIT, "no fake kernel %s", kernel->name);
}

enum hd_status jit_kernel_start(struct jit_module *jit, const struct ir_func *kernel,
                                enum jit_launch_class cls, struct jit_size size, jit_slot *slot)
{
    const struct jit_code *code = NULL;
    enum hd_status status = jit_kernel_get(jit, kernel, cls, &code);

    (void)size;
    fake_slot = slot;
    atomic_store(slot, code);
    return status;
}

bool jit_crash_take(int sig)
{
    (void)sig;
    return false;
}

void jit_code_improve(const struct jit_code *code)
{
    (void)code;
}

#endif
