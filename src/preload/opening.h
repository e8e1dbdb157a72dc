/*
 * Libraries that the program opens while it runs: where Heddle has one of that name, it is opened
 * in place of the vendor's, wherever that lies (wheels open theirs by full path). All others are
 * the loader's, which is entered by a jump: it sees the program as the caller, whose DT_RUNPATH,
 * $ORIGIN and namespace count. docs/decisions/0102-libraries-opened-by-path.md
 */
#ifndef HD_PRELOAD_OPENING_H
#define HD_PRELOAD_OPENING_H

#include <limits.h>
#include <stdbool.h>

/* Our library `file` in an installation or a build tree; `self` is the preload's own path. */
void *opening_own(const char *self, const char *file);
/* From now on files are looked for beside `self`, which stays. */
void opening_start(const char *self);
/* After that: the path of our file of that name. False: this build has none. */
bool opening_find(const char *file, char out_path[PATH_MAX]);

#endif
