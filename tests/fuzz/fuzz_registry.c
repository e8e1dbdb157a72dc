/*
 * A registry's file whose contents some other process has damaged: whatever is in its slots, a
 * reader gets numbers. The first slot is this process's, so that its reading goes all the way.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "registry/registry.h"

/* The bytes again and again, over all that follows the head. */
static void fill(struct reg_file *file, const uint8_t *bytes, size_t size_B)
{
    uint8_t *at = (uint8_t *)file;

    for (size_t i = offsetof(struct reg_file, nevents); size_B && i < sizeof(*file); i++)
        at[i] = bytes[i % size_B];
}

static void read_slot(const struct reg_file *file, uint32_t slot)
{
    struct reg_totals points[REG_POINTS];
    struct reg_process p;
    uint8_t uuid[16];

    memcpy(uuid, file->uses[slot].uuid, sizeof(uuid));
    if (reg_process_read(file, slot, uuid, 1000000000u, &p)) {
        assert(p.pid > 0 && p.now.kernel_ns <= REG_BUSY_MASK);
        assert(p.before.time_ns <= p.now.time_ns || !p.now.time_ns);
    }
    assert(reg_points_read(&file->uses[slot], points) <= REG_POINTS);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_B)
{
    struct reg_file *file = aligned_alloc(64, sizeof(*file));
    uint64_t code, pid;
    uint8_t uuid[16];

    if (!file)
        return 0;
    memset(file, 0, sizeof(*file));
    (void)!reg_check(bytes, size_B);
    fill(file, bytes, size_B);
    atomic_store(&file->owners[0], (uint64_t)getpid());
    file->uses[0].claimed_ns = UINT64_MAX;
    for (uint32_t slot = 0; slot < 4; slot++)
        read_slot(file, slot);
    for (uint64_t i = 0; i < REG_EVENTS; i++)
        (void)reg_event_read(file, atomic_load(&file->nevents) - i, uuid, &code, &pid);
    free(file);
    return 0;
}
