/* See interrupted.h. */
#include "hal/interrupted.h"

#include <stdatomic.h>
#include <stddef.h>

static _Atomic(hal_interrupted_fn *) serving;

bool hal_interrupted_get(struct hal_interrupted *out)
{
    hal_interrupted_fn *fn = atomic_load_explicit(&serving, memory_order_acquire);

    return fn && fn(out);
}

void hal_interrupted_serve(hal_interrupted_fn *fn)
{
    atomic_store_explicit(&serving, fn, memory_order_release);
}
