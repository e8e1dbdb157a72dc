/*
 * The user's processes that use devices, and what they do with them: a file in shared memory that
 * libcuda writes, and NVML and `heddle smi` read. Nobody serves it.
 *
 * The file is /dev/shm/heddle-UID.VERSION, or HEDDLE_REGISTRY. Who comes first makes it, complete,
 * under another name, and links it; its size never changes and its pages are allocated, so that a
 * full disk is found out then. What is not a file of the user's own, that others cannot write, of
 * that size and version, is not used: everything works without it, and the log says so once.
 *
 * It has REG_SLOTS slots, each for a process with a device. An owner's word says whose a slot is:
 * the process's number, REG_CLAIMING while it is filled, and a count in the high half that makes
 * each claim another word. Who finds no free slot takes one whose process has ended: there is no
 * such number, or it is that of a process that began after the slot was claimed. So nothing has to
 * be put right when a process is killed.
 *
 * A forked child goes on with private memory in place of the file, and has no slot; a program that
 * it executes has its own.
 *
 * What is read is what any process of the user's may have written: numbers, of which none is
 * trusted.
 */
#ifndef HD_REGISTRY_REGISTRY_H
#define HD_REGISTRY_REGISTRY_H

#include <stddef.h>
#include <sys/types.h>

#include "base/status.h"
#include "registry/use.h"

#define REG_VERSION  1u
#define REG_SLOTS    256u
#define REG_EVENTS   64u
#define REG_CLAIMING ((uint64_t)1 << 31)

/* A kernel failed. `number` is its place in all of them, from 1, and 0 while it is written. */
struct reg_event {
    _Atomic uint64_t number;
    _Atomic uint64_t uuid[2]; /* of the device */
    _Atomic uint64_t code;    /* what NVIDIA's driver calls it: an Xid */
    _Atomic uint64_t pid;
};

struct reg_file {
    uint8_t magic[8];
    uint32_t version, nslots;
    uint64_t size_B;
    _Atomic uint64_t nevents; /* ever */
    _Alignas(64) struct reg_event events[REG_EVENTS];
    _Alignas(64) _Atomic uint64_t owners[REG_SLOTS];
    _Alignas(64) struct reg_use uses[REG_SLOTS];
};

/* ---- for who uses devices; any thread */

/*
 * A slot of this process for that device, or NULL: there is none, and the log has said why. The
 * same for each call with that device. Until reg_leave() it is this process's.
 */
struct reg_use *reg_claim(const uint8_t uuid[16]);
/* The process is about to end: its slots are free, nothing is written any more. */
void reg_leave(void);
/* A kernel of this process failed on that device. */
void reg_notify_event(const uint8_t uuid[16], uint64_t code);

/* ---- for who looks */

/* One process and what it did until `time_ns`. */
struct reg_totals {
    uint64_t time_ns;
    uint64_t kernel_ns, copy_ns, to_device_B, to_host_B;
};
struct reg_process {
    pid_t pid;
    uint64_t memory_B, contexts, launches;
    struct reg_totals now;
    struct reg_totals before; /* as near to the time that was asked for as is known */
};

/*
 * The file, to be read: mapped by the first call that finds it. NULL: there is none, or it is not
 * to be used. Stays mapped.
 */
const struct reg_file *reg_open(void);
/* Of a file's bytes, whether they are a registry's. HD_BAD_VERSION, HD_CORRUPT. */
enum hd_status reg_check(const void *bytes, size_t size_B) HD_MUST_CHECK;
/*
 * The slot's process if it uses the device with that uuid and is alive, with its totals now and
 * `window_ns` before. False: nobody.
 */
bool reg_process_read(const struct reg_file *file, uint32_t slot, const uint8_t uuid[16],
                      uint64_t window_ns, struct reg_process *out_process);
/* Totals at a time of CLOCK_MONOTONIC that is not after *now; between two points by proportion. */
void reg_totals_at(const struct reg_use *use, uint64_t time_ns, const struct reg_totals *now,
                   struct reg_totals *out_totals);
/* All of the totals that are kept, the oldest first; how many. */
unsigned reg_points_read(const struct reg_use *use, struct reg_totals out_points[REG_POINTS]);
/* Event `number`, of 1 to nevents. False: it is not there any more, or not yet. */
bool reg_event_read(const struct reg_file *file, uint64_t number, uint8_t out_uuid[16],
                    uint64_t *out_code, uint64_t *out_pid);
/* Did that process begin before that time of CLOCK_BOOTTIME, and is it there? */
bool reg_is_alive(pid_t pid, uint64_t claimed_ns);
/* What tells the namespace of this process's numbers apart from others; 0: not known. */
uint64_t reg_namespace_inode(void);
/* CLOCK_MONOTONIC. */
uint64_t reg_now_ns(void);

#endif
