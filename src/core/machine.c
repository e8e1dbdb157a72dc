/* Machines that a device identifies as: HEDDLE_MACHINE and spec/machines.def. */
#include <assert.h>
#include <string.h>

#include "base/env.h"
#include "core/device.h"

#define MACHINE_ATTRIBUTES_MAX 16

static const struct core_machine {
    const char *name, *product;
    struct {
        int number, value;
    } attributes[MACHINE_ATTRIBUTES_MAX]; /* up to number 0 */
} machines[] = {
#define A(name, value)               {CORE_ATTRIBUTE_##name, (value)},
#define M(name, product, attributes) {#name, (product), {attributes}},
#include "machines.def"
#undef M
#undef A
};

const struct core_machine *core_machine(void)
{
    const char *name = hd_env("HEDDLE_MACHINE");

    for (size_t i = 0; name && i < HD_COUNT_OF(machines); i++)
        if (!strcmp(machines[i].name, name))
            return &machines[i];
    assert(!name || !strcmp(name, "default")); /* as the variable's row says */
    return NULL;
}

/* From compute capability 9.0 on. */
static const int of_sm_90[] = {CORE_ATTRIBUTE_CLUSTER_LAUNCH,
                               CORE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED};

const char *core_machine_apply(const struct core_machine *machine, int32_t *attributes)
{
    for (int i = 0; i < MACHINE_ATTRIBUTES_MAX && machine->attributes[i].number; i++)
        attributes[machine->attributes[i].number] = machine->attributes[i].value;
    for (size_t i = 0; i < HD_COUNT_OF(of_sm_90); i++)
        if (attributes[CORE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] < 9)
            attributes[of_sm_90[i]] = 0;
    return machine->product;
}
