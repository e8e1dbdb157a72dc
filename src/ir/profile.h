/*
 * Profiles: how often each block of a function ran, for whoever compiles it the next time.
 *
 * A profile is a text file with any number of functions, of any number of programs:
 *
 *     heddle-profile 1
 *     function HASH BLOCKS NAME
 *     WARPS LANES
 *     ...
 *
 * HASH (16 hexadecimal digits) is ir_profile_hash(), so that counts are those of this IR and of no
 * other. A line for each block follows, in the order of their numbers: how often a warp came to it,
 * and the lanes that did. A function has an entry for each HASH that was recorded.
 *
 * Recording: a device adds what each launch counted to the process's profile, which is added to the
 * file when the process ends. Processes take turns by a lock on the file's folder and replace the
 * file whole. A child of fork() begins with nothing. What ends by _exit() or a signal adds nothing.
 *
 * Threads: ir_profile_record() any; a profile belongs to one at a time.
 */
#ifndef HD_IR_PROFILE_H
#define HD_IR_PROFILE_H

#include "base/map.h"
#include "base/vec.h"
#include "ir/ir.h"

#define IR_PROFILE_MOST (UINT64_C(1) << 53) /* a count is no larger */

struct ir_profile_count {
    uint64_t warps, lanes;
};

struct ir_profile_func {
    char *name;
    uint64_t hash;
    HD_VEC(struct ir_profile_count) blocks;
};

struct ir_profile {
    HD_VEC(struct ir_profile_func) funcs;
    struct hd_map by_key; /* of name and hash: index + 1 */
    uint64_t hash;        /* of the text that was read */
};

void ir_profile_init(struct ir_profile *profile);
void ir_profile_fini(struct ir_profile *profile);

/* Of a function with a body as it is now, whatever its source lines are. False: no memory. */
bool ir_profile_hash(const struct ir_func *func, uint64_t *out_hash) HD_MUST_CHECK;
/* NULL: it is not there. */
const struct ir_profile_func *ir_profile_find(const struct ir_profile *profile, const char *name,
                                              uint64_t hash);
/* Is there a function of this name, whatever its hash? */
bool ir_profile_names(const struct ir_profile *profile, const char *name);
/* The function; added, with counts of 0, where it is not there. NULL: no memory. Functions move. */
struct ir_profile_func *ir_profile_add(struct ir_profile *profile, struct hd_str name,
                                       uint64_t hash, size_t nblocks);
/* Adds all counts of `from`. HD_BAD_ARG: a function has other blocks there. HD_NO_MEMORY. */
enum hd_status ir_profile_merge(struct ir_profile *into, const struct ir_profile *from)
    HD_MUST_CHECK;

/* `name` is the file's in messages. HD_BAD_ARG with the line and the reason; HD_NO_MEMORY. */
enum hd_status ir_profile_parse(struct hd_str text, const char *name,
                                struct ir_profile *out_profile) HD_MUST_CHECK;
/* The same, HD_NOT_FOUND and HD_IO. On success ir_profile_fini() frees it. */
enum hd_status ir_profile_read(const char *path, struct ir_profile *out_profile) HD_MUST_CHECK;
void ir_profile_print(const struct ir_profile *profile, struct hd_buf *out);
/* Adds the counts to the file, which need not be there: all of them or, after an error, none. */
enum hd_status ir_profile_write(const struct ir_profile *profile, const char *path) HD_MUST_CHECK;

/* ---- recording */

/* Is HEDDLE_PROFILE set? Then HD_OK when counts can be added to that file. */
bool ir_profile_is_recorded(void);
enum hd_status ir_profile_record_start(void) HD_MUST_CHECK;
/* Adds what a launch counted to what the process will write. Failures are logged. */
void ir_profile_record(const struct ir_profile *counted);

#endif
