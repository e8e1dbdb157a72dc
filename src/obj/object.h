/*
 * Files that the host's compiler and archiver wrote: the PTX that nvcc put into objects
 * (`nvcc -dc`, `nvcc -c`) and into archives of them (`nvcc -lib`), for cuLinkAddFile().
 */
#ifndef HD_OBJ_OBJECT_H
#define HD_OBJ_OBJECT_H

#include "obj/fatbin.h"

/*
 * Adds the modules of an object to the list, one per fat binary. HD_BAD_IMAGE; HD_NO_IMAGE when it
 * has device code but no PTX that fits; an object without device code adds nothing.
 */
enum hd_status obj_object_load(const void *bytes, size_t size_B, struct obj_target target,
                               struct obj_ptx_list *list) HD_MUST_CHECK;
/* The same for every member of an archive; those that are no objects are passed over. */
enum hd_status obj_archive_load(const void *bytes, size_t size_B, struct obj_target target,
                                struct obj_ptx_list *list) HD_MUST_CHECK;

#endif
