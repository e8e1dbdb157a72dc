/*
 * NVTX: how a tool comes in. Part of nvtx3/nvToolsExt.h. A loaded program or library has one state, whatever the number of
 * its files that include this: weak and hidden. Entries change during initialisation only; calls of other threads wait for
 * its end, calls of the tool from within it find what it has set so far.
 */
#ifndef HEDDLE_CUDA_NVTX_INJECT_H
#define HEDDLE_CUDA_NVTX_INJECT_H

#if !defined(NVTX_DISABLE)
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#endif

#if defined(__cplusplus)
extern "C" {
#endif

/* ---- a tool's interface */

typedef void (*NvtxFunctionPointer)(void);
typedef NvtxFunctionPointer **NvtxFunctionTable; /* [callback] -> the entry to set; [0] is none */

typedef enum NvtxCallbackModule {
    NVTX_CB_MODULE_INVALID = 0,
    NVTX_CB_MODULE_CORE = 1,
    NVTX_CB_MODULE_CUDA = 2,
    NVTX_CB_MODULE_OPENCL = 3,
    NVTX_CB_MODULE_CUDART = 4,
    NVTX_CB_MODULE_CORE2 = 5,
    NVTX_CB_MODULE_SYNC = 6,
    NVTX_CB_MODULE_SIZE,
} NvtxCallbackModule;

#define NVTX_ETID_INVALID     0
#define NVTX_ETID_CALLBACKS   1
#define NVTX_ETID_VERSIONINFO 3

typedef struct NvtxExportTableCallbacks {
    size_t struct_size;
    int (*GetModuleFunctionTable)(NvtxCallbackModule module, NvtxFunctionTable *out_table,
                                  unsigned int *out_size);
} NvtxExportTableCallbacks;

typedef struct NvtxExportTableVersionInfo {
    size_t struct_size;
    uint32_t version;
    uint32_t reserved0;
    void (*SetInjectionNvtxVersion)(uint32_t version);
} NvtxExportTableVersionInfo;

typedef const void *(*NvtxGetExportTableFunc_t)(uint32_t exportTableId);
typedef int (*NvtxInitializeInjectionNvtxFunc_t)(NvtxGetExportTableFunc_t getExportTable);

#if !defined(NVTX_DISABLE)

/* The tool of a program that has it inside; null without one. */
extern NvtxInitializeInjectionNvtxFunc_t InitializeInjectionNvtx2_fnptr __attribute__((weak));

enum { HEDDLE_NVTX_FRESH, HEDDLE_NVTX_BUSY, HEDDLE_NVTX_READY };
/* Callbacks of a module, with the unused first; OpenCL's 14 are the most. */
enum { HEDDLE_NVTX_ENTRIES = 16 };

struct heddle_nvtx {
    int phase;
    pthread_t by; /* who initialises, while BUSY */
    NvtxFunctionPointer entry[NVTX_CB_MODULE_SIZE][HEDDLE_NVTX_ENTRIES];
    NvtxFunctionPointer *places[NVTX_CB_MODULE_SIZE][HEDDLE_NVTX_ENTRIES];
};
__attribute__((weak, visibility("hidden"))) struct heddle_nvtx heddle_nvtx_state;

static inline int heddle_nvtx_table(NvtxCallbackModule module, NvtxFunctionTable *out_table,
                                    unsigned int *out_size)
{
    static const unsigned char sizes[NVTX_CB_MODULE_SIZE] = {0, 16, 9, 15, 7, 16, 7};
    if ((unsigned int)module >= NVTX_CB_MODULE_SIZE || !sizes[module])
        return 0;
    for (unsigned int i = 1; i < sizes[module]; i++)
        heddle_nvtx_state.places[module][i] = &heddle_nvtx_state.entry[module][i];
    if (out_table)
        *out_table = heddle_nvtx_state.places[module];
    if (out_size)
        *out_size = sizes[module];
    return 1;
}
static inline void heddle_nvtx_set_version(uint32_t version)
{
    (void)version;
}
static inline const void *heddle_nvtx_export(uint32_t id)
{
    static const NvtxExportTableCallbacks callbacks = {sizeof(callbacks), heddle_nvtx_table};
    static const NvtxExportTableVersionInfo version = {sizeof(version), NVTX_VERSION, 0,
                                                       heddle_nvtx_set_version};
    if (id == NVTX_ETID_CALLBACKS)
        return &callbacks;
    return id == NVTX_ETID_VERSIONINFO ? &version : NULL;
}

/* Lets the tool set its entries; one that fails leaves none. */
static inline void heddle_nvtx_load(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    NvtxInitializeInjectionNvtxFunc_t begin = NULL;
    void *library = path && *path ? dlopen(path, RTLD_LAZY) : NULL;

    if (library)
        *(void **)&begin = dlsym(library, "InitializeInjectionNvtx2");
    if (!begin && !(path && *path) && &InitializeInjectionNvtx2_fnptr)
        begin = InitializeInjectionNvtx2_fnptr;
    if (begin && begin(heddle_nvtx_export))
        return;
    for (unsigned int module = 0; module < NVTX_CB_MODULE_SIZE; module++)
        for (unsigned int i = 0; i < HEDDLE_NVTX_ENTRIES; i++)
            heddle_nvtx_state.entry[module][i] = NULL;
    if (library)
        (void)dlclose(library);
}
static inline void heddle_nvtx_begin(void)
{
    struct heddle_nvtx *state = &heddle_nvtx_state;
    int phase = HEDDLE_NVTX_FRESH;

    if (__atomic_compare_exchange_n(&state->phase, &phase, HEDDLE_NVTX_BUSY, 0, __ATOMIC_ACQUIRE,
                                    __ATOMIC_ACQUIRE)) {
        state->by = pthread_self();
        heddle_nvtx_load();
        __atomic_store_n(&state->phase, HEDDLE_NVTX_READY, __ATOMIC_RELEASE);
        return;
    }
    while (__atomic_load_n(&state->phase, __ATOMIC_ACQUIRE) == HEDDLE_NVTX_BUSY &&
           !pthread_equal(state->by, pthread_self()))
        (void)sched_yield();
}
static inline NvtxFunctionPointer heddle_nvtx_entry(NvtxCallbackModule module,
                                                    unsigned int callback)
{
    if (__atomic_load_n(&heddle_nvtx_state.phase, __ATOMIC_ACQUIRE) != HEDDLE_NVTX_READY)
        heddle_nvtx_begin();
    return heddle_nvtx_state.entry[module][callback];
}

#define HEDDLE_NVTX_FUNCTION(module, callback, name, result, without, params, args)                \
    static inline __attribute__((unused)) result name params                                       \
    {                                                                                              \
        NvtxFunctionPointer entry = heddle_nvtx_entry(module, callback);                           \
        if (entry)                                                                                 \
            return ((result(*) params)entry)args;                                                  \
        return without;                                                                            \
    }

#else

#define HEDDLE_NVTX_FUNCTION(module, callback, name, result, without, params, args)                \
    static inline __attribute__((unused)) result name params                                       \
    {                                                                                              \
        return without;                                                                            \
    }

#endif

#if defined(__cplusplus)
}
#endif

#endif
