/*
 * Libraries and their kernels (library.c): images without a context. Each context that uses one
 * gets a module of it. Threads: any.
 */
#ifndef HD_CORE_MODULE_LIBRARY_H
#define HD_CORE_MODULE_LIBRARY_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/status.h"
#include "base/vec.h"
#include "core/handle.h"

struct core_entry;
struct core_image;

struct core_kernel {
    struct core_object object;
    struct core_library *library;
    const struct core_entry *entry;
    _Atomic int max_dynamic_B; /* set before a context's function existed; -1 = not set */
    _Atomic int carveout;
};

/* A managed variable that is where the program has it; the first module gives it its value. */
struct core_placed {
    const char *name; /* the caller's, for the library's life */
    uint64_t va;
    uint64_t size_B;
    bool has_value;
};

struct core_library {
    struct core_object object;
    const void *bytes; /* lazily loaded image, NULL once loaded */
    size_t size_B;
    struct hd_lock lock; /* all below */
    bool closing;        /* nothing is added any more */
    struct core_image *image;
    enum hd_status failed;                /* of the lazy load */
    struct core_kernel **kernels;         /* by position of the entry; NULL = not asked for yet */
    HD_VEC(struct core_module *) modules; /* one per context that used it; they have references */
    uint64_t managed_va; /* memory of its managed variables, of a user's context; 0 = none */
    HD_VEC(struct core_module *) managed_users;
    HD_VEC(struct core_placed) placed; /* before the first module is made; only then no lock */
};

/* `preserved`: the image stays mapped, so loading can wait. */
enum hd_status core_library_create(const void *image, size_t size_B, bool preserved,
                                   struct core_library **out_library) HD_MUST_CHECK;
/* Of a native kernel's image, whose reference goes to it. */
enum hd_status core_library_create_of(struct core_image *image, struct core_library **out_library)
    HD_MUST_CHECK;
bool core_library_destroy(struct core_library *library);
/* HD_BUSY: a module has been made, so the variable is elsewhere. */
enum hd_status core_library_place(struct core_library *library, const char *name, uint64_t va,
                                  uint64_t size_B) HD_MUST_CHECK;
enum hd_status core_library_image(struct core_library *library, struct core_image **out_image)
    HD_MUST_CHECK;
enum hd_status core_library_kernel(struct core_library *library, const char *name,
                                   struct core_kernel **out_kernel) HD_MUST_CHECK;
/* The same by position of its entry, below core_image_count(). */
enum hd_status core_library_kernel_at(struct core_library *library, uint32_t position,
                                      struct core_kernel **out_kernel) HD_MUST_CHECK;
enum hd_status core_library_module(struct core_library *library, struct core_context *ctx,
                                   struct core_module **out_module) HD_MUST_CHECK;
enum hd_status core_kernel_function(struct core_kernel *kernel, struct core_context *ctx,
                                    struct core_function **out_function) HD_MUST_CHECK;

#endif
