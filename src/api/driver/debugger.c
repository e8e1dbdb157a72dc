/* A debugger that was asked for is waited for before the program begins. */
#include <unistd.h>

#include "api/driver/driver.h"
#include "base/log.h"
#include "core/debug/debug.h"

__attribute__((constructor)) static void debugger_wait(void)
{
    if (core_debug_start() == HD_OK)
        return;
    hd_log("%s", hd_error_message());
    _exit(1); /* nothing of the program has begun */
}
