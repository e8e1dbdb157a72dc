/*
 * The recorder of `heddle prof`: a listener of the taps (include/heddle/tap.h) in the process that
 * is looked at. It writes what happens to a spool (format.h); all else is done by who reads that.
 *
 * HEDDLE_PROF says where and what, as words that end with ';', the folder last:
 *
 *     capture=WHEN   always; api: between cudaProfilerStart() and cudaProfilerStop(); nvtx: inside
 *                    the range `range`
 *     range=TEXT     of nvtx, `TEXT@DOMAIN` in a domain
 *     once           only the first range of api and nvtx
 *     delay=MS       nothing before so many milliseconds of the process
 *     duration=MS    and nothing when so many more have passed
 *     skip=N         nothing before the N-th launch, and
 *     count=N        nothing behind so many launches
 *     limit=BYTES    of the file
 *     sample=HZ      samples of host code, per second of each thread's processor time
 *     depth=N        frames of a sample's stack, at most
 *     dir=FOLDER     the rest of the text
 */
#ifndef HD_PROF_PROF_H
#define HD_PROF_PROF_H

#include "base/status.h"
#include "prof/format.h"

#define PROF_DEVICE_NAME_B 128
/* Fills what a device is, but for `device` and `name`, whose text comes beside it. */
typedef void prof_device_fn(uint32_t ordinal, struct prof_device *out,
                            char text[PROF_DEVICE_NAME_B]);

/*
 * As HEDDLE_PROF says, if it is set. HD_BAD_ARG; that no file can be made is only logged. Before
 * main(); fork()ed children follow, each with a file of its own.
 */
enum hd_status prof_start(prof_device_fn *describe) HD_MUST_CHECK;

/* ---- the settings, for `heddle prof` too */

enum prof_capture { PROF_CAPTURE_ALWAYS, PROF_CAPTURE_API, PROF_CAPTURE_NVTX };

struct prof_settings {
    enum prof_capture capture;
    char range[256], domain[256];   /* domain "": the default one */
    uint64_t delay_ms, duration_ms; /* duration 0: no end */
    uint64_t skip, count;           /* count 0: no end */
    uint64_t limit_B;
    uint64_t sample_Hz, depth; /* 0: no samples */
    bool once;
    const char *folder; /* in the text that was read */
};

#define PROF_SAMPLE_HZ_MAX 10000u
#define PROF_DEPTH         256u

enum hd_status prof_settings_read(const char *text, struct prof_settings *out) HD_MUST_CHECK;

#endif
