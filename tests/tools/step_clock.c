/*
 * What tests/tools/test_clock.py preloads: CLOCK_REALTIME, and what is made of it, leaps forth and
 * back by an hour every 3 ms. CLOCK_MONOTONIC is the system's.
 */
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { EVERY_NS = 3000000, LEAP_S = 3600 };

static void step(struct timespec *out)
{
    struct timespec monotonic;

    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &monotonic);
    syscall(SYS_clock_gettime, CLOCK_REALTIME, out);
    if (monotonic.tv_nsec / EVERY_NS % 2)
        out->tv_sec += LEAP_S;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
        return (int)syscall(SYS_clock_gettime, clock, out);
    step(out);
    return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;

    (void)zone;
    step(&now);
    *out = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;

    step(&now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
