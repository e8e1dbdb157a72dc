/*
 * Test Anything Protocol for C tests; one process per file.
 *
 *     int main(void)
 *     {
 *         ok(2 + 2 == 4, "arithmetic");
 *         eq_u64(f(3), 9, "f of %d", 3);
 *         return done();
 *     }
 *
 * Checks return whether they passed. tap_seed() prints the seed of random tests; HEDDLE_SEED=N sets
 * it. tap_oom_loop() calls a function with allocation 1, 2, 3 ... failing until none is left.
 */
#ifndef HD_TESTS_TAP_H
#define HD_TESTS_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/host.h"
#include "base/mem.h"

static unsigned tap_planned, tap_run, tap_failed;

static inline HD_PRINTF(1, 2) void diag(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("# ", stdout);
    vprintf(fmt, args);
    putchar('\n');
    va_end(args);
}

static inline HD_PRINTF(4, 5) bool tap_ok_(bool pass, const char *at, int at_line, const char *fmt,
                                           ...)
{
    va_list args;
    va_start(args, fmt);
    printf("%sok %u - ", pass ? "" : "not ", ++tap_run);
    vprintf(fmt, args);
    putchar('\n');
    va_end(args);
    if (!pass) {
        tap_failed++;
        diag("at %s:%d", at, at_line);
    }
    fflush(stdout); /* a crash in the next test keeps this line */
    return pass;
}

static inline bool tap_note_u64_(uint64_t got, uint64_t want)
{
    if (got != want)
        diag("got %#" PRIx64 " (%" PRIu64 "), want %#" PRIx64 " (%" PRIu64 ")", got, got, want,
             want);
    return got == want;
}
static inline bool tap_note_str_(const char *got, const char *want)
{
    bool pass = got && want ? !strcmp(got, want) : got == want;
    if (!pass)
        diag("got \"%s\", want \"%s\"", got ? got : "(null)", want ? want : "(null)");
    return pass;
}
static inline bool tap_note_mem_(const void *got, const void *want, size_t len)
{
    const unsigned char *a = got, *b = want;
    size_t i = 0;
    while (i < len && a[i] == b[i])
        i++;
    if (i < len)
        diag("byte %zu of %zu: got 0x%02x, want 0x%02x", i, len, a[i], b[i]);
    return i == len;
}
/* Each takes a printf-style name of the check last. */
#define ok(cond, ...)               tap_ok_((cond), __FILE__, __LINE__, __VA_ARGS__)
#define eq_u64(got, want, ...)      ok(tap_note_u64_((got), (want)), __VA_ARGS__)
#define eq_str(got, want, ...)      ok(tap_note_str_((got), (want)), __VA_ARGS__)
#define eq_mem(got, want, len, ...) ok(tap_note_mem_((got), (want), (len)), __VA_ARGS__)
/* One test that cannot run here; a whole file: return skip_all("no AVX-512"); */
#define skip(why)     printf("ok %u # SKIP %s\n", ++tap_run, (why))
#define skip_all(why) (printf("1..0 # SKIP %s\n", (why)), 0)
/* Does this host lack what `cpu`, a HEDDLE_CPU or NULL, asks for? Then: return skip_all(). */
static inline bool tap_lacks(const char *cpu)
{
    for (unsigned i = 0; cpu && i <= HD_HOST_AVX512; i++) {
        const char *name = hd_host_level_name((enum hd_host_level)i);
        if (strlen(name) == strcspn(cpu, ",") && !strncmp(cpu, name, strlen(name)))
            return !hd_host_has((enum hd_host_level)i);
    }
    return false;
}
/* A path where nothing is: that of a folder which is gone again. */
static inline const char *tap_missing_path(void)
{
    static char path[64];
    snprintf(path, sizeof(path), "/tmp/heddle-missing-XXXXXX");
    if (!mkdtemp(path) || rmdir(path))
        abort();
    return path;
}
/* Optional: states the number of checks first, so that a missing one is a failure. */
#define plan(n) printf("1..%u\n", tap_planned = (n))

/* Ends the test program: its exit status. */
static inline int done(void)
{
    if (!tap_planned)
        plan(tap_run);
    return tap_failed || tap_planned != tap_run;
}

static inline uint64_t tap_seed(void)
{
    const char *text = getenv("HEDDLE_SEED");
    uint64_t seed = text ? strtoull(text, NULL, 0) : 20240229;
    diag("HEDDLE_SEED=%" PRIu64, seed);
    return seed;
}
/* splitmix64 */
static inline uint64_t tap_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* func(arg) says whether it worked; only a failed allocation excuses it. Returns failures tried. */
static inline unsigned tap_oom_loop(bool (*func)(void *arg), void *arg, const char *name)
{
    for (unsigned n = 1;; n++) {
        hd_fault_set_alloc(n);
        bool worked = func(arg);
        bool injected = hd_fault_alloc_count() >= n;
        hd_fault_set_alloc(0);
        if (!injected) {
            ok(worked, "%s: works after %u allocation failures", name, n - 1);
            return n - 1;
        }
    }
}

#endif
