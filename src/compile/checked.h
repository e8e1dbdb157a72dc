/*
 * Texts that were parsed and checked before. The code cache remembers of each where the bodies of
 * its functions lie, so the next load passes over them and reads only those that are used. Texts
 * that nobody knows are parsed and checked as a whole: what is wrong in a body that nobody uses is
 * found at the first load, and no text with an error is ever remembered.
 *
 * An entry that is missing, damaged or another text's costs time and nothing else. Any thread.
 */
#ifndef HD_COMPILE_CHECKED_H
#define HD_COMPILE_CHECKED_H

#include "compile.h"
#include "obj/cache.h"
#include "ptx/ptx.h"

/* Of the bytes, for compile_checked_open(). */
struct obj_cache_key compile_text_key(const struct compile_unit *unit);

/* Parses and checks everything. `arena` owns the module; 0 takes every architecture. HD_BAD_PTX,
 * HD_NO_IMAGE, HD_NO_MEMORY. */
enum hd_status compile_parse_whole(const struct compile_unit *unit, unsigned max_arch,
                                   struct hd_arena *arena, struct ptx_module **out_module)
    HD_MUST_CHECK;

/* Below this, parsing costs less than the look into the cache. */
#define COMPILE_CHECKED_MIN_B (32u << 10)

/*
 * Parses and checks what the cache does not know, and opens the text for ptx_func_read(): see
 * ptx_open() for what it asks of the text, and ptx_close(). Bodies that the linker needs are read.
 * Errors as above.
 */
enum hd_status compile_checked_open(const struct compile_unit *unit, struct obj_cache_key text,
                                    unsigned max_arch, struct ptx_module **out_module)
    HD_MUST_CHECK;

#endif
