/*
 * Counters of kernels while the program runs: what launches executed, exactly, instruction by
 * instruction of their PTX (docs/metrics.md). libcuda tells one listener; with none, a launch costs
 * one load and one predicted branch, and its kernel is the usual one.
 *
 *     static int takes(void *user, void *context, const char *kernel) { return 1; }
 *     static void told(void *user, const struct heddle_counted *launch) { ... }
 *     static const struct heddle_count_listener listener = {takes, told, NULL};
 *     if (!heddle_count_start(&listener)) ...
 *     heddle_count_stop();
 *
 * Which launch. A listener of the taps gets a PACKET event with the same correlation and grid id
 * before the launch is told here (heddle/tap.h): the pair names the launch. Without such a listener
 * correlation is 0.
 *
 * Graphs. Whether a node is counted is asked when the graph is instantiated, and stays.
 *
 * Threads. takes() runs on the thread that launches; told() on one of the device's, before a wait
 * for the launch returns, and on several at the same time. Neither may call the API.
 */
#ifndef HEDDLE_COUNT_H
#define HEDDLE_COUNT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HEDDLE_COUNT_SPACES = 5, HEDDLE_COUNT_ACCESS_WORDS = 7 };

/* An instruction of the PTX that a warp came to. Sets and words are those of src/ir/count.h. */
struct heddle_counted_instr {
    uint64_t classes; /* a set of IR_COUNT_CLASS_LIST */
    uint32_t ptx_line;
    uint32_t line;             /* of the source; 0: not known */
    uint64_t issued, lanes;    /* warps that executed it, and their lanes */
    uint64_t on;               /* lanes for which its guard held */
    uint64_t taken, divergent; /* of a branch: lanes that took it; warps whose lanes parted */
    uint64_t ops;              /* of products of matrices */
    uint64_t window_B;         /* of matrices that wgmma reads from shared memory */
    /* By enum ir_count_space: IR_COUNT_ACCESS_LIST. */
    uint64_t in[HEDDLE_COUNT_SPACES][HEDDLE_COUNT_ACCESS_WORDS];
    const char *form;     /* its opcode */
    const char *function; /* that it is in */
    const char *file;     /* of the source; "": not known */
};

/* A launch that is over. It and its strings are valid during the call. */
struct heddle_counted {
    uint32_t size_B; /* of this struct: later versions add members at the end */
    uint32_t grid_id;
    uint64_t correlation;
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; of the launch with counters */
    uint32_t grid[3], block[3], cluster[3];
    uint32_t ninstrs;
    uint64_t static_shared_B, dynamic_shared_B;
    const char *kernel; /* as PTX has it */
    const struct heddle_counted_instr *instrs;
};

struct heddle_count_listener {
    /* Is this launch to be counted? `context` is the CUcontext, `kernel` its name as PTX has it. */
    int (*takes)(void *user, void *context, const char *kernel);
    void (*told)(void *user, const struct heddle_counted *launch);
    /* A launch that was taken runs without counters; `why` is a line. */
    void (*failed)(void *user, void *context, const char *kernel, const char *why);
    void *user;
};

/*
 * 0: `listener`, which has to stay, is asked from now on. 1: somebody else counts (HEDDLE_COUNT, or
 * another listener), or kernels are checked (HEDDLE_CHECK).
 */
int heddle_count_start(const struct heddle_count_listener *listener);
/* No launch is asked for any more. Launches that were taken may still be told. */
void heddle_count_stop(void);

#ifdef __cplusplus
}
#endif
#endif
