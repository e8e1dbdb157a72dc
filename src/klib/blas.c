/* Routines of BLAS and LAPACK on packed arguments. */
#include "klib/blas.h"

#include <assert.h>

#include <klib_routines.c.inc>

void *klib_argument(const struct klib_call *call, uint32_t i, uint64_t problem)
{
    const struct klib_arg *arg = &call->args[i];

    switch ((enum klib_where)call->where[i]) {
    case KLIB_HERE:
        return (void *)&arg->v;
    case KLIB_MORE:
        return (void *)call->more;
    case KLIB_THERE:
        break;
    case KLIB_STEPS:
        return (char *)arg->v.address + (int64_t)problem * arg->step;
    case KLIB_LISTED:
        return ((void **)arg->v.address)[problem];
    }
    return arg->v.address;
}

int klib_blas(struct heddle_native_call *native)
{
    const struct klib_call *call = native->params;
    void *args[KLIB_ARGS];

    assert(call->routine < KLIB_ROUTINES && call->nargs <= KLIB_ARGS);
    for (uint64_t problem = native->first; problem < native->last; problem++) {
        for (uint32_t i = 0; i < call->nargs; i++)
            args[i] = klib_argument(call, i, problem);
        klib_routines[call->routine].run(args);
    }
    return 0;
}
