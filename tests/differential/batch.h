/*
 * A batch: many generated kernels in one PTX module, run one after the other in one process. The
 * two runners, run_interp.c and run_driver.c, differ in how they run one.
 *
 *     RUNNER [OPTION] JOB PTX IN OUT FIRST
 *
 * JOB is text: bytes of output and of input of each kernel and the blocks of its grid in the first
 * line, then "NAME BX BY BZ" for each kernel. IN holds the inputs one after the other. To OUT one
 * record per kernel is appended, beginning with kernel FIRST: two 32-bit words (1 = ran, and how
 * many bytes follow), then its output or the text of its error. Records are written as they come:
 * after a crash they tell which kernel it was, and the rest can be run by another process.
 */
#ifndef TEST_BATCH_H
#define TEST_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batch {
    size_t out_B, in_B;
    uint32_t blocks;
    char *ptx; /* text, terminated */
    size_t ptx_B;
};

struct batch_kernel {
    char name[64];
    uint32_t block[3];
    const void *input; /* batch.in_B */
};

/* What a runner supplies: runs one kernel on zeroed `out` (batch.out_B); false with the reason. */
typedef bool batch_run_fn(void *ctx, const struct batch_kernel *kernel, void *out, char *why,
                          size_t why_cap);
/* Makes what the kernels of a batch share; false with the reason, which every kernel then gets. */
typedef bool batch_open_fn(void *ctx, const struct batch *batch, char *why, size_t why_cap);

/* args: JOB PTX IN OUT FIRST. Returns main()'s result: 0 when all has been written. */
int batch_main(char **args, batch_open_fn *open, batch_run_fn *run, void *ctx);

#endif
