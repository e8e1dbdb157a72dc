/*
 * Where kernels spend their time: threads that execute CTAs are stopped for a moment at each period
 * and say which instruction they are at. With nobody who samples a launch costs one load and one
 * predicted branch.
 *
 *     static void told(void *user, const struct heddle_sample *s) { ... }
 *     if (!heddle_sample_start(100000, told, NULL)) ...
 *     heddle_sample_settle();
 *     heddle_sample_stop();
 *
 * Launches are sampled that are made after the start. Finding instructions compiles a kernel once
 * more, when it is first told of; code that cannot be made again has samples of no instruction.
 *
 * Threads: `told` runs on that of heddle_sample_settle() or _stop(), or on the one that unloads a
 * module; locks are held: it may not call the API.
 */
#ifndef HEDDLE_SAMPLE_H
#define HEDDLE_SAMPLE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of one instruction, since it was last told of. */
struct heddle_sample {
    uint32_t size_B;    /* of this struct: later versions add members at the end */
    uint32_t instr;     /* its number in the kernel as it was compiled; 0: not known */
    void *context;      /* CUcontext */
    const char *kernel; /* as PTX has it */
    const char *file;   /* of the source, or of the PTX; NULL: not known */
    uint32_t line;      /* in it; 0: not known */
    uint32_t in_code;   /* the thread executed the instruction itself */
    uint32_t
        in_call;   /* it was in a function that the instruction calls, or in none that is known */
    uint32_t lost; /* of the kernel, for want of room */
    uint8_t image[16]; /* identifies the module's content */
};

/*
 * The least period in nanoseconds that devices are asked at. A wanted period that is shorter becomes
 * this.
 */
#define HEDDLE_SAMPLE_LEAST_NS 50000u

/* Can the devices do it? Only the cpu device can. */
int heddle_sample_can(void);
/* 0: it goes. 1: somebody samples already, or a device cannot. */
int heddle_sample_start(uint64_t period_ns, void (*told)(void *, const struct heddle_sample *),
                        void *user);
/* Tells of all samples so far. */
void heddle_sample_settle(void);
/* The same, and ends it. */
void heddle_sample_stop(void);

#ifdef __cplusplus
}
#endif
#endif
