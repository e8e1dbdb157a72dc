/*
 * Linked images: what cuLinkComplete() hands out. To programs it is a cubin, an ELF file of the
 * CUDA machine that they copy by its size and load; what it holds is the PTX of every module that
 * was linked, each in a container of its own (fatbin.h); the compiler links them when it is loaded.
 *
 *     +------------+----------------------+-----------+-------------------+
 *     | ELF header | .heddle.ptx          | .shstrtab | 3 section headers |
 *     +------------+----------------------+-----------+-------------------+
 *
 * e_ident says that it is one of ours, in bytes that the ELF specification leaves unused, so an
 * image given by bare pointer is recognised without trusting more than its header.
 */
#ifndef HD_OBJ_LINKED_H
#define HD_OBJ_LINKED_H

#include "obj/fatbin.h"

/* The target inside of an image: everything in it is wanted. */
#define OBJ_CC_OF_LINKED UINT32_MAX

/* Appends the image to an empty buffer. HD_NO_MEMORY. */
enum hd_status obj_linked_write(const struct obj_ptx_list *list, unsigned arch, struct hd_buf *out)
    HD_MUST_CHECK;
/* Is this image of kind OBJ_IMAGE_CUBIN one of ours? At least 64 bytes are readable. */
bool obj_linked_is(const void *bytes, size_t size_B);
/* Where its modules are, as containers. size_B may be OBJ_SIZE_UNKNOWN. HD_BAD_IMAGE. */
enum hd_status obj_linked_open(const void *bytes, size_t size_B, const void **out_modules,
                               size_t *out_size_B) HD_MUST_CHECK;

#endif
