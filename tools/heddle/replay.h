/*
 * Between replay.c (forms of a report's kernel, compiled) and replay_run.c (launched). Each attempt
 * is a process of its own with a time limit: what it shows may well crash or hang.
 */
#ifndef HEDDLE_TOOLS_REPLAY_H
#define HEDDLE_TOOLS_REPLAY_H

#include "jit/report.h"

/* name, text */
#define REPLAY_END_LIST(X)                                                                         \
    X(FINE, "yes")                                                                                 \
    X(FAILED, "no")                                                                                \
    X(CRASHED, "crashes")                                                                          \
    X(LATE, "takes too long")

enum replay_end {
#define X(name, text) REPLAY_##name,
    REPLAY_END_LIST(X)
#undef X
};

/* Runs work(arg, out) in a child process; what it wrote to `out` (size_B bytes) is in the caller's
 * `out` when the end is FINE. */
enum replay_end replay_apart(void (*work)(void *arg, void *out), void *arg, void *out,
                             size_t size_B, unsigned limit_s);

/* A launch on a small grid with made-up arguments. */
struct replay_launch {
    bool worked;
    uint64_t hash; /* of all memory that the kernel was given */
    char reason[256];
};

/*
 * In this process, for good (environment, libcuda): call it through replay_apart(). `form` is the
 * first one that may be made; JIT_FORM_COUNT runs on the reference device.
 */
void replay_launch(const struct jit_report *report, enum jit_path path, enum jit_form form,
                   struct replay_launch *out);

#endif
