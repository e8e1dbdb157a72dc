/*
 * Links modules that somebody hands over as bytes: what cuLinkAddData(), nvJitLinkAddData(), ptxas
 * and the like have in common.
 *
 * linker_read() reads, parses and checks one input; linker_image() decides which definition of each
 * name counts, says what is missing, and makes the image (obj/linked.h). The image holds the
 * modules themselves, so whatever loads it inlines across them; with link-time optimisation only
 * what the host or a kernel of it can use.
 *
 * Owner: the caller, of lists and buffers. Threads: no state.
 */
#ifndef HD_LINKER_LINKER_H
#define HD_LINKER_LINKER_H

#include "base/str.h"
#include "obj/fatbin.h"
#include "obj/linked.h"

enum linker_input {
    LINKER_CUBIN,
    LINKER_PTX,
    LINKER_FATBIN,
    LINKER_OBJECT,
    LINKER_LIBRARY,
    LINKER_LTOIR, /* no linked image of ours */
    LINKER_INPUT_COUNT
};

/* The kind of an input by its first bytes; LINKER_INPUT_COUNT for what is none. */
enum linker_input linker_input_detect(const void *bytes, size_t size_B);
/*
 * Adds the modules of an input to the list; the bytes are copied. `name` stands in messages. cc:
 * the architecture linked for (90), PTX of newer ones is refused. HD_BAD_ARG: another kind of
 * image; HD_BAD_PTX, HD_BAD_IMAGE, HD_NO_IMAGE, HD_NOT_SUPPORTED. After an error the list may hold
 * a part of it.
 */
enum hd_status linker_read(enum linker_input kind, const void *bytes, size_t size_B,
                           const char *name, unsigned cc, struct obj_ptx_list *list) HD_MUST_CHECK;
/*
 * Appends the image to an empty buffer. `used` (NULL: no link-time optimisation) says what the host
 * uses: all else that no kernel reaches is left out, out_removed (may be NULL) says how much.
 * HD_BAD_PTX (defined twice); HD_NOT_FOUND: `used` leaves nothing; HD_UNRESOLVED: out_missing gets
 * a line for each undefined name.
 */
enum hd_status linker_image(const struct obj_ptx_list *list, unsigned cc,
                            const struct obj_used *used, struct obj_removed *out_removed,
                            struct hd_buf *out_image, struct hd_buf *out_missing) HD_MUST_CHECK;

#endif
