/*
 * Probes: how modules below core say what its taps tell (include/heddle/tap.h). One function, set
 * once before threads exist; without one a probe costs a load and a branch.
 *
 *     struct hd_compile_note note = {.name = kernel->name, .form = "avx512"};
 *     hd_compile_begin(&note);
 *     ...
 *     hd_compile_end(&note, is_from_cache, status);
 *
 * The strings must live until the end. Locks may be held.
 */
#ifndef HD_BASE_PROBE_H
#define HD_BASE_PROBE_H

#include "base/compiler.h"
#include "base/status.h"

struct hd_compile_note {
    const char *name; /* of the kernel or image */
    const char *form; /* what it becomes: a stage or a code path */
    bool is_end;
    bool cache_hit; /* the rest: at the end */
    enum hd_status status;
    uint64_t begin_ns; /* the listener's: 0 when it did not want the beginning */
};

typedef void (*hd_compile_probe)(struct hd_compile_note *note);

void hd_compile_probe_set(hd_compile_probe probe);
void hd_compile_begin(struct hd_compile_note *note);
void hd_compile_end(struct hd_compile_note *note, bool cache_hit, enum hd_status status);

#endif
