/*
 * Linked images: what cuLinkComplete() hands out. To programs it is a cubin, an ELF file of the
 * CUDA machine that they copy by its size and load; what it holds is the PTX of every module that
 * was linked, each in a container of its own (fatbin.h); the compiler links them when it is loaded.
 *
 *     +------------+----------------------+-----------+-------------------+
 *     | ELF header | .heddle.ptx          | .shstrtab | 3 section headers |
 *     +------------+----------------------+-----------+-------------------+
 *
 * With machine code of Heddle's own GPU (isa/image.h) there are more sections behind the first.
 *
 * e_ident says that it is one of ours, in bytes that the ELF specification leaves unused, so an
 * image given by bare pointer is recognised without trusting more than its header.
 */
#ifndef HD_OBJ_LINKED_H
#define HD_OBJ_LINKED_H

#include "obj/fatbin.h"

/* The target inside of an image: everything in it is wanted. */
#define OBJ_CC_OF_LINKED   UINT32_MAX
#define OBJ_LINKED_MACHINE 190 /* NVIDIA's, which programs look at */

/* ---- what link-time optimisation may take out of an image */

/* Patterns: `*` is any text, and anything may be before and behind. */
struct obj_names {
    const char *const *at;
    size_t count;
};

/* What the host uses of a program that nothing else is linked to. */
struct obj_used {
    struct obj_names kernels;   /* none: all */
    struct obj_names variables; /* beyond what code names */
    bool drops_variables;       /* the host uses no others */
};

/* How many definitions went away. */
struct obj_removed {
    unsigned kernels, functions, variables;
};

/* ---- images */

/* Appends the image to an empty buffer. HD_NO_MEMORY. */
enum hd_status obj_linked_write(const struct obj_ptx_list *list, unsigned arch, struct hd_buf *out)
    HD_MUST_CHECK;
/* Appends what section .heddle.ptx, the first, holds: a container for each module. */
enum hd_status obj_linked_modules(const struct obj_ptx_list *list, struct hd_buf *out)
    HD_MUST_CHECK;
/* The header of an image of `count` sections, whose table is at `sections_at`; the last one has
 * their names. */
#define OBJ_LINKED_HEAD_B 64
void obj_linked_head(unsigned arch, uint64_t sections_at, unsigned count,
                     uint8_t out_head[OBJ_LINKED_HEAD_B]);
/* Is this image of kind OBJ_IMAGE_CUBIN one of ours? At least 64 bytes are readable. */
bool obj_linked_is(const void *bytes, size_t size_B);
/* The bytes of an image, as its header says them; 0: they are not there, or it is damaged. */
size_t obj_linked_size(const void *bytes, size_t size_B);
/* Does it say that it has more sections than the PTX: machine code? */
bool obj_linked_has_code(const void *bytes);
/* Where its modules are, as containers. size_B may be OBJ_SIZE_UNKNOWN. HD_BAD_IMAGE. */
enum hd_status obj_linked_open(const void *bytes, size_t size_B, const void **out_modules,
                               size_t *out_size_B) HD_MUST_CHECK;

#endif
