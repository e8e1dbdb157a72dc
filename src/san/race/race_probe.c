/*
 * Probes by number. Shadow has the number of the probe that an access came from; which instruction
 * that is, is asked when there is a hazard to tell of.
 */
#include <assert.h>

#include "base/mem.h"
#include "san/race/race.h"

void race_probe_keep(struct race_launch *launch, const struct ir_instr *probe, uint32_t number)
{
    uint32_t i = number / RACE_PROBE_CHUNK;

    if (i >= RACE_PROBE_CHUNKS)
        return;
    const struct ir_instr **chunk = launch->probes[i], **none = NULL;
    if (!chunk) {
        chunk = hd_alloc_array(RACE_PROBE_CHUNK, sizeof *chunk);
        if (!chunk)
            return;
        if (!atomic_compare_exchange_strong(&launch->probes[i], &none, chunk)) {
            hd_free(chunk);
            chunk = none;
        }
    }
    const struct ir_instr **at = &chunk[number % RACE_PROBE_CHUNK];
    assert(probe && ir_is_probe(probe));
    __atomic_store_n(at, probe, __ATOMIC_RELEASE);
}

const struct ir_instr *race_probe(const struct race_launch *launch, uint32_t number)
{
    uint32_t i = number / RACE_PROBE_CHUNK;
    const struct ir_instr **chunk = i < RACE_PROBE_CHUNKS ? launch->probes[i] : NULL;

    return chunk ? __atomic_load_n(&chunk[number % RACE_PROBE_CHUNK], __ATOMIC_ACQUIRE) : NULL;
}
