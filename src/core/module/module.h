/*
 * Modules and their functions (module.c, module_vars.c, function.c): an image that is loaded into a
 * context, memory for its variables, and its kernels, which are compiled when somebody asks.
 *
 * A module belongs to its context, functions to their module. Threads: any; launches read a
 * function without a lock.
 */
#ifndef HD_CORE_MODULE_MODULE_H
#define HD_CORE_MODULE_MODULE_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/status.h"
#include "base/vec.h"
#include "core/handle.h"
#include "core/module/image.h"

struct core_setup;
struct core_texref;
struct dump_program;
struct hal_kernel;
struct hal_module;
struct hal_native;

/* What a kernel needs of a device. */
struct core_function_info {
    uint64_t shared_B;    /* static shared memory */
    uint64_t local_B;     /* per thread */
    uint32_t regs;        /* per thread; mostly an estimate: hal_device_info.knows_registers */
    uint32_t max_threads; /* per CTA: .maxntid, else the device's limit */
};

struct core_function {
    struct core_object object;
    struct core_module *module;
    const struct core_entry *entry;
    _Atomic(struct hal_kernel *) kernel; /* NULL until core_function_load() */
    struct core_function_info info;      /* set by core_function_describe() */
    _Atomic bool is_described;
    uint64_t calls; /* of the runtime: a set of ir/device_runtime.h; set before `kernel` */
    const struct hal_native *native; /* what its device runs; NULL: code. As calls */
    /* Limit of dynamic shared memory, opt-in; CORE_DYNAMIC_DEFAULT until set or described. */
    _Atomic uint32_t max_dynamic_B;
    /* Programs set these while other threads launch. */
    _Atomic int carveout;
    _Atomic int cache_config;
    _Atomic int cluster[3]; /* required, where the kernel does not say it; 0 = none */
    _Atomic int cluster_policy;
    _Atomic bool large_clusters; /* beyond CORE_CLUSTER_PORTABLE */
    struct core_setup *setup;    /* module->lock; NULL until something was said (launch_setup.c) */
    _Atomic bool was_named;      /* as a native kernel, to who looks into kernels */
};
#define CORE_DYNAMIC_DEFAULT UINT32_MAX

struct core_var {
    uint64_t va;
    uint64_t size_B;
    bool managed;
};

struct core_module {
    struct core_object object;
    struct core_context *ctx;
    struct core_image *image;
    struct hal_module *hal;
    struct hal_module *forms[CORE_FORM_COUNT]; /* lock; the others; NULL: none yet */
    struct dump_program *dump;                 /* lock; NULL: none yet (coredump.h) */
    struct core_library *library;              /* that it was made for, or NULL; a reference */
    uint64_t *var_va;                          /* by number (ir_var.index) */
    uint64_t const_B;
    HD_VEC(uint64_t) blocks;                /* memory behind the variables */
    struct hd_lock lock;                    /* functions, their loading, references, closing */
    bool closing;                           /* no function is added any more */
    struct core_function **functions;       /* by position of the entry; NULL = not asked for yet */
    struct core_texref *texrefs;            /* lock: those that were asked for (texref.h) */
    HD_VEC(struct core_texture *) samplers; /* of its variables */
    struct core_module *next, **link;       /* ctx->lock */
};

/* `library`: that it is made for, or NULL. */
enum hd_status core_module_create(struct core_context *ctx, struct core_image *image,
                                  struct core_library *library, struct core_module **out_module)
    HD_MUST_CHECK;
/* Waits for the context's work. */
bool core_module_destroy(struct core_module *module);
/* The handle; its code is not touched. HD_NOT_FOUND. */
enum hd_status core_module_function(struct core_module *module, const char *name,
                                    struct core_function **out_function) HD_MUST_CHECK;
/* The same by position of its entry, below core_image_count(). */
enum hd_status core_module_function_at(struct core_module *module, uint32_t position,
                                       struct core_function **out_function) HD_MUST_CHECK;
/*
 * Compiles the function and gives it to the device, unless that was done: then it costs one load.
 * Must have succeeded before `kernel` is looked at; describes the function, too. HD_NOT_SUPPORTED,
 * HD_UNRESOLVED, HD_BAD_PTX, HD_NO_MEMORY.
 */
enum hd_status core_function_load(struct core_function *function) HD_MUST_CHECK;
/*
 * Loads the function and makes the best code of it for launches with this block, or, NULL, with
 * those that are likely: heddle/prepare.h says which. HD_BAD_ARG: a block that it cannot be
 * launched with; errors as above (prepare.c).
 */
enum hd_status core_function_prepare(struct core_function *function, const uint32_t block[3])
    HD_MUST_CHECK;
/*
 * Finds out what the function needs, `info` and `max_dynamic_B`, from its PTX, unless that was
 * done. What looks as if it cannot be compiled, and native kernels, are loaded: the errors are
 * those. A kernel that is described may fail to load all the same; once it has, this fails as well.
 */
enum hd_status core_function_describe(struct core_function *function) HD_MUST_CHECK;
/* Of a block: what the PTX says, at most what the device takes. */
uint32_t core_function_threads(const struct core_function *function);
static inline bool core_function_is_described(const struct core_function *function)
{
    return atomic_load_explicit(&function->is_described, memory_order_acquire);
}
/*
 * The kernel in another form than the plain one, made when it is first asked for, and its code.
 * They live as long as the module, whose variables all forms share.
 */
enum hd_status core_function_form(struct core_function *function, enum core_form form,
                                  struct hal_kernel **out_kernel, const struct ir_module **out_code)
    HD_MUST_CHECK;
static inline bool core_function_is_loaded(const struct core_function *function)
{
    return atomic_load_explicit(&function->kernel, memory_order_acquire) != NULL;
}
enum hd_status core_module_var(struct core_module *module, const char *name,
                               struct core_var *out_var) HD_MUST_CHECK;
/* By its PTX, or placed in managed memory of the program. */
struct ir_var;
bool core_module_var_is_managed(const struct core_module *module, const struct ir_var *var);

#endif
