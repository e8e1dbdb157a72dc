/*
 * CUDA_INJECTION64_PATH: a tool that comes into the program with the first cuInit(). It is called
 * when the driver is ready, so that it may use it, and nobody waits for it but the thread that
 * initialises: a tool's own threads may call the driver, too.
 */
#include <dlfcn.h>

#include "api/driver/driver.h"
#include "base/env.h"
#include "base/log.h"

void drv_inject(void)
{
    const char *path = hd_env("CUDA_INJECTION64_PATH");
    int (*initialize)(void);
    void *library;

    if (!path || !*path)
        return;
    library = dlopen(path, RTLD_NOW);
    if (!library) {
        hd_log("CUDA_INJECTION64_PATH: %s", dlerror());
        return;
    }
    *(void **)&initialize = dlsym(library, "InitializeInjection");
    if (!initialize)
        hd_log("CUDA_INJECTION64_PATH: %s has no InitializeInjection()", path);
    else if (!initialize())
        hd_log("CUDA_INJECTION64_PATH: InitializeInjection() of %s has failed", path);
}
