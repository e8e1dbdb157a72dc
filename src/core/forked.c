#include "core/forked.h"
#include "tap/tap.h"

#include <pthread.h>

_Atomic bool core_forked;
static _Atomic bool is_begun;

void core_fork_mark(void)
{
    atomic_store(&is_begun, true);
}

static void in_child(void)
{
    if (atomic_load(&is_begun))
        atomic_store(&core_forked, true);
    core_control_in_child();
    core_retire_in_child();
    tap_in_child();
    core_device_in_child();
}

__attribute__((constructor)) static void fork_init(void)
{
    (void)pthread_atfork(NULL, NULL, in_child);
}
