/*
 * CUDA_INJECTION64_PATH: a tool that comes into the program with the first cuInit(). It is called
 * when the driver is ready, so that it may use it, and nobody waits for it but the thread that
 * initialises: a tool's own threads may call the driver, too.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "api/driver/driver.h"
#include "base/env.h"
#include "base/log.h"

HD_EXPORT void heddle_devices_asked(void)
{
    static _Atomic(void *) known; /* the function, or this variable: there is none */
    void *found = atomic_load_explicit(&known, memory_order_acquire);
    void (*tell)(void);

    if (!found) {
        found = dlsym(RTLD_DEFAULT, "heddle_preload_devices");
        found = found ? found : (void *)&known;
        atomic_store_explicit(&known, found, memory_order_release);
    }
    if (found == (void *)&known)
        return;
    memcpy(&tell, &found, sizeof(tell));
    tell();
}

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
