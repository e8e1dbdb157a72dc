/* The file: making it, taking slots, reading them. See registry.h. */
#include "registry/registry.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/str.h"
#include "registry/shared.h"

#define PID_MASK   (REG_CLAIMING - 1)
#define COUNT_ONE  ((uint64_t)1 << 32)
#define COUNT_MASK (~(COUNT_ONE - 1))

_Static_assert(sizeof(struct reg_use) % 64 == 0, "slots on lines of their own");
_Static_assert(sizeof(struct reg_file) == 217664, "what is in shared memory");
_Static_assert(sizeof(struct reg_shared_head) == offsetof(struct reg_file, nevents), "one layout");

static const struct reg_shared kind = {
    .suffix = "", .head = {"HDLreg\r\n", REG_VERSION, REG_SLOTS, sizeof(struct reg_file)}};

static struct {
    struct hd_lock lock;
    struct reg_file *file;  /* to be written; NULL: not yet */
    bool is_given_up;       /* the log has said why */
    _Atomic bool is_full;   /* likewise; this and is_forked are looked at without the lock */
    _Atomic bool is_forked; /* a child's, with private memory in the file's place */
} own = {.lock = HD_LOCK_INIT(LEAF, "registry")};

/* ---- the file */

uint64_t reg_now_ns(void)
{
    return hd_clock_ns(CLOCK_MONOTONIC);
}

enum hd_status reg_check(const void *bytes, size_t size_B)
{
    return reg_shared_check(&kind, bytes, size_B);
}

/* The counters go on somewhere where nobody sees them. */
static void registry_fork_child(void)
{
    if (!own.file)
        return;
    if (mmap(own.file, sizeof(*own.file), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        _exit(127); /* the pages would still be the parent's */
    own.is_forked = true;
}

static pid_t registry_pid_of(uint64_t owner)
{
    return (pid_t)(owner & PID_MASK);
}

/* Those of this process. */
static void registry_slots_free(struct reg_file *file)
{
    pid_t self = getpid(); /* a system call: not in the loop */

    for (uint32_t i = 0; i < REG_SLOTS; i++) {
        uint64_t owner = atomic_load(&file->owners[i]);

        if (registry_pid_of(owner) == self)
            (void)atomic_compare_exchange_strong(&file->owners[i], &owner, owner & COUNT_MASK);
    }
}

static struct reg_file *registry_file_locked(void)
{
    char path[256];
    enum hd_status status;

    assert(hd_lock_held(&own.lock));
    if (own.file || own.is_given_up)
        return own.file;
    own.is_given_up = true;
    if (!reg_shared_path(&kind, path, sizeof(path)))
        return NULL;
    void *file = NULL;
    status = reg_shared_make(&kind, path, &file);
    own.file = file;
    if (status != HD_OK) {
        hd_log("%s: %s; other processes do not see what this one does", path, hd_error_message());
        return NULL;
    }
    own.is_given_up = pthread_atfork(NULL, NULL, registry_fork_child) != 0;
    if (own.is_given_up) {
        munmap(own.file, sizeof(*own.file));
        own.file = NULL;
        return NULL;
    }
    registry_slots_free(own.file); /* of a program that this process ran before, by exec */
    return own.file;
}

/* ---- slots */

/* Field 22 of /proc/PID/stat, in ticks; the second, in brackets, may hold anything. */
static bool registry_start_read(pid_t pid, uint64_t *out_ticks)
{
    char path[40], text[1024];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[len > 0 ? len : 0] = '\0';
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    *out_ticks = at ? strtoull(at + 1, NULL, 10) : 0;
    return at != NULL;
}

bool reg_is_alive(pid_t pid, uint64_t claimed_ns)
{
    uint64_t ticks, per_s = (uint64_t)sysconf(_SC_CLK_TCK);

    if (pid <= 0 || (kill(pid, 0) && errno == ESRCH))
        return false;
    if (!registry_start_read(pid, &ticks)) /* it ended just now, or there is no /proc */
        return access("/proc/self/stat", R_OK) != 0;
    return ticks / per_s * 1000000000u + ticks % per_s * (1000000000u / per_s) <= claimed_ns;
}

/* Its process's number is another namespace's. */
static bool registry_is_foreign(const struct reg_use *use)
{
    uint64_t inode = atomic_load_explicit(&use->namespace_inode, memory_order_relaxed);

    return inode && inode != reg_namespace_inode();
}

/*
 * Has the process that a slot belongs to ended? One that was killed while it filled the slot left
 * no time: then only its number tells. Of other namespaces nothing is known.
 */
static bool registry_slot_is_dead(const struct reg_file *file, uint32_t slot, uint64_t owner)
{
    const struct reg_use *use = &file->uses[slot];

    if (owner & REG_CLAIMING)
        return kill(registry_pid_of(owner), 0) && errno == ESRCH;
    return !registry_is_foreign(use) && !reg_is_alive(registry_pid_of(owner), use->claimed_ns);
}

/* The first slot that is free, or is a dead process's; filled, then published. */
static struct reg_use *registry_slot_take(struct reg_file *file, const uint8_t uuid[16],
                                          bool from_dead)
{
    uint64_t self = (uint64_t)getpid(); /* a system call: not in the loop */

    for (uint32_t i = 0; i < REG_SLOTS; i++) {
        uint64_t owner = atomic_load_explicit(&file->owners[i], memory_order_relaxed);
        uint64_t mine = ((owner & COUNT_MASK) + COUNT_ONE) | self;

        if (registry_pid_of(owner) && !(from_dead && registry_slot_is_dead(file, i, owner)))
            continue;
        if (!atomic_compare_exchange_strong(&file->owners[i], &owner, mine | REG_CLAIMING))
            continue;
        struct reg_use *use = &file->uses[i];
        memset(use, 0, sizeof(*use));
        memcpy(use->uuid, uuid, sizeof(use->uuid));
        use->claimed_ns = hd_clock_ns(CLOCK_BOOTTIME);
        atomic_store(&file->owners[i], mine);
        return use;
    }
    return NULL;
}

static struct reg_use *registry_slot_find(struct reg_file *file, const uint8_t uuid[16])
{
    pid_t self = getpid();

    for (uint32_t i = 0; i < REG_SLOTS; i++) {
        uint64_t owner = atomic_load(&file->owners[i]);

        if (registry_pid_of(owner) == self && !(owner & REG_CLAIMING) &&
            !memcmp(file->uses[i].uuid, uuid, sizeof(file->uses[i].uuid)) &&
            !registry_slot_is_dead(file, i, owner))
            return &file->uses[i];
    }
    return NULL;
}

struct reg_use *reg_claim(const uint8_t uuid[16])
{
    struct reg_use *use = NULL;

    if (own.is_forked || own.is_full)
        return NULL;
    hd_lock_acquire(&own.lock);
    struct reg_file *file = registry_file_locked();
    if (file) {
        use = registry_slot_find(file, uuid);
        if (!use)
            use = registry_slot_take(file, uuid, false);
        if (!use)
            use = registry_slot_take(file, uuid, true);
        if (!use) {
            own.is_full = true;
            hd_log("more than %u processes use devices; others do not see what this one does",
                   REG_SLOTS);
        }
    }
    hd_lock_release(&own.lock);
    return use;
}

void reg_leave(void)
{
    if (!own.is_forked && own.file)
        registry_slots_free(own.file);
}

void reg_notify_event(const uint8_t uuid[16], uint64_t code)
{
    uint64_t words[2];

    if (own.is_forked || !own.file)
        return;
    memcpy(words, uuid, sizeof(words));
    uint64_t number = atomic_fetch_add(&own.file->nevents, 1) + 1;
    struct reg_event *event = &own.file->events[number % REG_EVENTS];
    atomic_store(&event->number, 0);
    atomic_store(&event->uuid[0], words[0]);
    atomic_store(&event->uuid[1], words[1]);
    atomic_store(&event->code, code);
    atomic_store(&event->pid, (uint64_t)getpid());
    atomic_store(&event->number, number);
}

/* ---- reading */

const struct reg_file *reg_open(void)
{
    static _Atomic(void *) opened;

    return reg_shared_opened(&kind, &opened);
}

static uint64_t registry_get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

bool reg_process_read(const struct reg_file *file, uint32_t slot, const uint8_t uuid[16],
                      uint64_t window_ns, struct reg_process *out_process)
{
    const struct reg_use *use = &file->uses[slot];
    uint64_t owner = atomic_load(&file->owners[slot]);

    if (!registry_pid_of(owner) || owner & REG_CLAIMING ||
        memcmp(use->uuid, uuid, sizeof(use->uuid)) != 0 || registry_is_foreign(use) ||
        registry_slot_is_dead(file, slot, owner))
        return false;
    out_process->pid = registry_pid_of(owner);
    out_process->memory_B = registry_get(&use->memory_B);
    out_process->contexts = registry_get(&use->contexts);
    out_process->launches = registry_get(&use->launches);
    struct reg_totals *out = &out_process->now;
    out->time_ns = reg_now_ns();
    out->kernel_ns = reg_busy_ns(registry_get(&use->kernel_busy), out->time_ns);
    out->copy_ns = reg_busy_ns(registry_get(&use->copy_busy), out->time_ns);
    out->to_device_B = registry_get(&use->to_device_B);
    out->to_host_B = registry_get(&use->to_host_B);
    reg_totals_at(use, out_process->now.time_ns - HD_MIN(window_ns, out_process->now.time_ns),
                  &out_process->now, &out_process->before);
    return atomic_load(&file->owners[slot]) == owner;
}

bool reg_event_read(const struct reg_file *file, uint64_t number, uint8_t out_uuid[16],
                    uint64_t *out_code, uint64_t *out_pid)
{
    const struct reg_event *event = &file->events[number % REG_EVENTS];
    uint64_t words[2] = {atomic_load(&event->uuid[0]), atomic_load(&event->uuid[1])};

    if (!number || atomic_load(&event->number) != number)
        return false;
    memcpy(out_uuid, words, sizeof(words));
    *out_code = atomic_load(&event->code);
    *out_pid = atomic_load(&event->pid);
    return atomic_load(&event->number) == number;
}
