/*
 * Generated code for perf (HEDDLE_DEBUG=perf): a dump of what is linked, in the format that `perf
 * inject --jit` reads (Linux, tools/perf/Documentation/jitdump-specification.txt). perf finds the
 * file by a mapping of its first page that must be executable, and orders it by CLOCK_MONOTONIC.
 *
 *     HEDDLE_DEBUG=perf perf record -k mono heddle run program
 *     perf inject --jit -i perf.data -o perf.jit.data
 *     perf report -i perf.jit.data; perf annotate -i perf.jit.data
 */
#include "jit/jit_private.h"

#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"

enum { MAGIC = 0x4A695444, VERSION = 1, CODE_LOAD = 0 };

struct dump_head {
    uint32_t magic, version, total_B, machine, pad, pid;
    uint64_t time_ns, flags;
};

struct code_load {
    uint32_t id, total_B;
    uint64_t time_ns;
    uint32_t pid, tid;
    uint64_t vma, address, size_B, index;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
HD_FORK_MUTEX(lock, lock);
static FILE *dump; /* guarded by lock */
static pid_t owner;
static uint64_t count;

static uint64_t now_ns(void)
{
    return hd_clock_ns(CLOCK_MONOTONIC);
}

/* perf looks for the mapping only: it stays until the process ends. */
static bool mark(FILE *f)
{
    size_t page_B = (size_t)sysconf(_SC_PAGESIZE);
    return mmap(NULL, page_B, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) != MAP_FAILED;
}

static FILE *dump_open_locked(void)
{
    const struct dump_head head = {.magic = MAGIC,
                                   .version = VERSION,
                                   .total_B = sizeof(head),
                                   .machine = EM_X86_64,
                                   .pid = (uint32_t)getpid(),
                                   .time_ns = now_ns()};
    char path[64];
    if (dump && owner == getpid())
        return dump;
    owner = getpid(); /* a child writes a dump of its own */
    snprintf(path, sizeof(path), "jit-%d.dump", (int)owner);
    dump = fopen(path, "w+e");
    if (!dump || fwrite(&head, sizeof(head), 1, dump) != 1 || fflush(dump) || !mark(dump))
        hd_log_debug(HD_DEBUG_PERF, "cannot write %s", path);
    return dump;
}

void jit_perf_note(const char *name, const struct jit_image *image)
{
    struct code_load record = {.id = CODE_LOAD,
                               .pid = (uint32_t)getpid(),
                               .tid = (uint32_t)syscall(SYS_gettid),
                               .vma = (uintptr_t)image->base,
                               .address = (uintptr_t)image->base,
                               .size_B = image->size_B};
    if (!hd_debug(HD_DEBUG_PERF))
        return;
    record.total_B = (uint32_t)(sizeof(record) + strlen(name) + 1 + image->size_B);
    pthread_mutex_lock(&lock);
    FILE *f = dump_open_locked();
    record.index = count++;
    record.time_ns = now_ns();
    if (f) {
        fwrite(&record, sizeof(record), 1, f);
        fwrite(name, strlen(name) + 1, 1, f);
        fwrite(image->base, image->size_B, 1, f);
        fflush(f);
    }
    pthread_mutex_unlock(&lock);
}
