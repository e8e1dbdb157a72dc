#include "base/probe.h"

#include <stdatomic.h>

static _Atomic(hd_compile_probe) compile_probe;

void hd_compile_probe_set(hd_compile_probe probe)
{
    atomic_store(&compile_probe, probe);
}

void hd_compile_begin(struct hd_compile_note *note)
{
    hd_compile_probe probe = atomic_load_explicit(&compile_probe, memory_order_acquire);

    if (probe)
        probe(note);
}

void hd_compile_end(struct hd_compile_note *note, bool cache_hit, enum hd_status status)
{
    note->is_end = true;
    note->cache_hit = cache_hit;
    note->status = status;
    hd_compile_begin(note);
}
