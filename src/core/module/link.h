/*
 * Links: modules that the program hands over one by one and gets back as one image (cuLinkCreate).
 *
 * Every input is read, parsed and checked when it is added; core_link_complete() decides which
 * definition of each name counts and what is missing. The image (obj/linked.h) holds the modules
 * themselves, so whatever loads it inlines across them.
 *
 * Owner: the program; no context. Threads: one lock.
 */
#ifndef HD_CORE_MODULE_LINK_H
#define HD_CORE_MODULE_LINK_H

#include "base/lock.h"
#include "base/str.h"
#include "core/handle.h"

struct obj_ptx_list;

/* What an input is, in the order of CUjitInputType. */
enum core_link_input {
    CORE_LINK_CUBIN,
    CORE_LINK_PTX,
    CORE_LINK_FATBIN,
    CORE_LINK_OBJECT,
    CORE_LINK_LIBRARY,
    CORE_LINK_NVVM,
    CORE_LINK_INPUT_COUNT
};

/* Of link-time optimisation: what the program says it uses (obj/linked.h). */
struct core_link_used {
    const char *const *kernels, *const *variables;
    unsigned nkernels, nvariables;
    bool drops_variables;
};

struct core_link {
    struct core_object object;
    struct hd_lock lock;         /* all below */
    struct obj_ptx_list *inputs; /* until it is complete */
    bool complete;
    char *image; /* once it is complete */
    size_t image_B;
    void *options; /* the API's, from core_link_create() */
};

/* A link without inputs. `options`, which hd_free() frees, is the link's then. HD_NO_MEMORY. */
enum hd_status core_link_create(void *options, struct core_link **out_link) HD_MUST_CHECK;
bool core_link_destroy(struct core_link *link);
/*
 * Adds what the bytes hold; they are copied. `name` stands in messages. HD_BAD_ARG: another kind of
 * image, or the link is complete; HD_BAD_PTX, HD_BAD_IMAGE, HD_NO_IMAGE, HD_NOT_SUPPORTED.
 */
enum hd_status core_link_add(struct core_link *link, enum core_link_input kind, const void *bytes,
                             size_t size_B, const char *name) HD_MUST_CHECK;
/*
 * The image, which lives as long as the link. `used`: NULL without LTO. HD_BAD_PTX (defined
 * twice); HD_NOT_FOUND; HD_UNRESOLVED: out_missing gets a line for each undefined name. Complete
 * links answer the same again.
 */
enum hd_status core_link_complete(struct core_link *link, const struct core_link_used *used,
                                  const void **out_image, size_t *out_B, struct hd_buf *out_missing)
    HD_MUST_CHECK;

#endif
