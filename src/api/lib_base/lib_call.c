/* Arguments of the kernel library's routines. */
#include "api/lib_base/lib_call.h"

#include <assert.h>
#include <string.h>

static struct klib_arg *next(struct klib_call *call, enum klib_where where)
{
    assert(call->nargs < KLIB_ARGS);
    call->where[call->nargs] = (uint8_t)where;
    return &call->args[call->nargs++];
}

void lib_call_int(struct klib_call *call, int64_t value)
{
    next(call, KLIB_HERE)->v.number = value;
}

void lib_call_real(struct klib_call *call, double value)
{
    next(call, KLIB_HERE)->v.factor[0] = value;
}

void lib_call_char(struct klib_call *call, char letter)
{
    next(call, KLIB_HERE)->v.letter = letter;
}

void lib_call_pointer(struct klib_call *call, const void *address)
{
    next(call, KLIB_THERE)->v.address = (void *)address;
}

void lib_call_listed(struct klib_call *call, const void *addresses)
{
    next(call, KLIB_LISTED)->v.address = (void *)addresses;
}

void lib_call_stepped(struct klib_call *call, const void *address, int64_t step_B)
{
    struct klib_arg *arg = next(call, KLIB_STEPS);

    arg->v.address = (void *)address;
    arg->step = step_B;
}

void lib_call_value(struct klib_call *call, const void *value, size_t size_B)
{
    if (size_B <= sizeof(call->args[0].v)) {
        memcpy(&next(call, KLIB_HERE)->v, value, size_B);
    } else {
        assert(size_B <= sizeof(call->more));
        (void)next(call, KLIB_MORE);
        memcpy(call->more, value, size_B);
    }
}
