/*
 * Kernel counters: what a launch executed, exactly, of launches that somebody chose. The front of
 * src/count for core.
 *
 * `heddle prof --kernel` sets HEDDLE_COUNT, words that end with ';', the folder last:
 *
 *     name=TEXT      kernels of this name, as it is linked or without scopes and parameters;
 *     regex=TEXT     or in whose name that POSIX extended regular expression is found
 *     skip=N         not the first N launches of those, and
 *     count=N        not more than N
 *     include=RANGES launches in these NVTX ranges, and
 *     exclude=RANGES not those in these (range_filter.h); both more than once
 *     host           what threads of the host do is counted, too, for all launches (host.h)
 *     dir=FOLDER     where files with the counts go (file.h); the rest of the text
 *
 * A library of the process may be the one that chooses and is told instead (heddle/count.h).
 *
 * Code that counts is a kernel's second form (core/debug/counted.h); other launches are as they
 * were.
 * Inside: observe.c takes what probes tell, access.c adds what lanes of a warp do together and
 * payload.c what each does for itself, sweep.c makes warps of lanes that were told one by one,
 * choose.c chooses, tell.c makes a launch's counters those of its instructions, file.c writes them.
 * metrics.h makes values of them, elsewhere.
 */
#ifndef HD_COUNT_COUNT_H
#define HD_COUNT_COUNT_H

#include "heddle/count.h"
#include "heddle/tap.h"
#include "ir/probe.h"

struct count_settings {
    char name[256];
    bool is_regex;
    uint64_t skip, count; /* count 0: no end */
    bool host;
    const char *folder; /* in the text that was read */
};

enum hd_status count_settings_read(const char *text, struct count_settings *out) HD_MUST_CHECK;

/* HD_BAD_ARG: HEDDLE_COUNT is malformed. HD_OK without it. At each cuInit() until one succeeds. */
enum hd_status count_start(void) HD_MUST_CHECK;
/* NVTX ranges are noted from now on, where `settings`, HEDDLE_COUNT or NULL, chooses by them. */
enum hd_status count_ranges_start(const char *settings,
                                  uint32_t (*subscribe)(uint32_t kinds, heddle_listener listener,
                                                        void *user)) HD_MUST_CHECK;
/* Somebody counts: HEDDLE_COUNT says so, or there is a listener. */
bool count_is_on(void);
/* False: somebody else counts. The listener stays valid. */
bool count_listen(const struct heddle_count_listener *listener) HD_MUST_CHECK;
void count_unlisten(void);
bool count_has_host(void);
/* Is this launch of the kernel to be counted? Counts launches: ask once for each. */
bool count_takes(void *context, const char *kernel);
/* A launch that was taken runs as usual; `why` is a line. */
void count_fails(void *context, const char *kernel, const char *why);
/* For devices: of kernels that count. */
const struct ir_observer *count_observer(void);

#endif
