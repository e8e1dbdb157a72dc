/*
 * Device code that a program's linker put together (nvcc -rdc=true), read from the program's file.
 *
 * When such a program starts, each of its units registers a container, in the order in which they
 * were linked, and the list of them becomes a wrapper (obj/fatbin.h). In the file the list is
 * empty, but the units' own wrappers lie in .nvFatBinSegment in the same order, and their
 * containers in __nv_relfatbin.
 *
 *     size_t count = obj_registered_count(&elf);
 *     if (count)
 *         ...room for count + 1 pointers, and OBJ_WRAPPER_B bytes...
 *         obj_registered_wrap(&elf, parts, wrapper);
 *         obj_image_load_ptx(wrapper, ...)
 *
 * What does not fit is treated as absent, as in elf.h.
 */
#ifndef HD_OBJ_REGISTERED_H
#define HD_OBJ_REGISTERED_H

#include "obj/elf.h"

#define OBJ_WRAPPER_B 24u

/* Units that are linked together; 0: none, or it cannot be told which are. */
size_t obj_registered_count(const struct obj_elf *elf);
/*
 * Writes their wrapper and the list of their containers: what obj_image_open() takes, for as long
 * as file and list are there. `parts` has room for one more than obj_registered_count(), not 0.
 */
void obj_registered_wrap(const struct obj_elf *elf, const void **out_parts, void *out_wrapper);

#endif
