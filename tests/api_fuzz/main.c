/*
 * The API fuzzer, of the driver and the runtime API in one process:
 *
 *     api_fuzz [--threads N] [--seconds S] [--calls N] [--seed N] [--rounds N]
 *              [--without REGEX] [--coverage]
 *
 * FUZZ_SECONDS in the environment is the time whatever the arguments say (make fuzz-api).
 *
 * Each round is a process with the next seed; --threads 1 with a seed repeats itself. --without: no
 * entry points that match the regular expression. A round that
 * dies, hangs or finds something prints what its threads did last and its seed, and ends the run.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz_runtime.h"

enum { THREADS_MAX = 64, ENTRIES_MAX = 2048, HANG_S = 120 };

/* That two copies meet in one place is the doing of this program. */
const char *__tsan_default_suppressions(void);
__attribute__((visibility("default"), used)) const char *__tsan_default_suppressions(void)
{
    return "race:copy_body\nrace:fill_body\nrace:copy_row\nrace:fill_row\nrace:hal_sem_apply\n"
           "race:hal_sem_holds\nrace:interp_step\nrace:contents_copy\n";
}

/* What the parent sees of a round. */
struct shared {
    struct fuzz_trace traces[THREADS_MAX];
    _Atomic unsigned called[ENTRIES_MAX], succeeded[ENTRIES_MAX];
    _Atomic unsigned wrong;
};

static struct shared *shared;
static struct fuzz_entry entries[ENTRIES_MAX];
static unsigned entry_count;
static unsigned threads = 4, calls = 4000;
static bool resets; /* is cuDevicePrimaryCtxReset() called? */
static unsigned total_weight, weights[ENTRIES_MAX];

static void wrong(const struct fuzz_call *call, const char *what)
{
    fprintf(stderr, "%s: %s\n", call->symbol, what);
    shared->wrong++;
}

static const struct fuzz_entry *choose(struct fuzz *z)
{
    unsigned at = (unsigned)fuzz_below(z, total_weight), i = 0;

    while (at >= weights[i])
        at -= weights[i++];
    return &entries[i];
}

static void call(struct fuzz *z, const struct fuzz_entry *entry, unsigned number)
{
    size_t index = (size_t)(entry - entries);

    z->call = &z->trace->calls[z->trace->next++ % FUZZ_TRACE];
    memset(z->call, 0, sizeof(*z->call));
    z->call->symbol = entry->symbol;
    z->call->number = number;
    z->call->result = -1;
    int result = entry->call(z);
    z->call->result = result;
    shared->called[index]++;
    shared->succeeded[index] += result == CUDA_SUCCESS;
    if (result == CUDA_ERROR_UNKNOWN)
        wrong(z->call, "an unknown error");
    if (result == CUDA_SUCCESS && entry->is_refused)
        wrong(z->call, "it succeeds although its row says that it cannot");
}

/*
 * Contexts end, also by faults; each thread sees to it that it mostly has one that works. A reset
 * beside other threads' work is an error of the program's, and ThreadSanitizer tells of it.
 */
static void freshen(struct fuzz *z)
{
    CUcontext context;
    CUdevice device = (CUdevice)fuzz_below(z, 2);

    if (cuCtxSynchronize() >= CUDA_ERROR_ILLEGAL_ADDRESS && resets && fuzz_one_in(z, 2))
        cuDevicePrimaryCtxReset_v2(device);
    if (cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS) {
        cuCtxSetCurrent(context);
        fuzz_keep(z, FUZZ_CONTEXT, (uintptr_t)context);
    }
}

/* Nobody but the thread that has locked the process unlocks it, so nothing else can fail. */
static CUresult checkpoint(void)
{
    CUcheckpointLockArgs limit = {.timeoutMs = 5};
    int pid = getpid();
    CUresult result = cuCheckpointProcessLock(pid, &limit);

    if (result == CUDA_ERROR_NOT_READY || result == CUDA_ERROR_ILLEGAL_STATE)
        return CUDA_SUCCESS; /* work that takes longer; another thread's turn */
    if (result == CUDA_SUCCESS)
        result = cuCheckpointProcessCheckpoint(pid, NULL);
    if (result == CUDA_SUCCESS)
        result = cuCheckpointProcessRestore(pid, NULL);
    return result == CUDA_SUCCESS ? cuCheckpointProcessUnlock(pid, NULL) : result;
}

static void checkpoint_beside_calls(struct fuzz *z, unsigned number)
{
    z->call = &z->trace->calls[z->trace->next++ % FUZZ_TRACE];
    *z->call = (struct fuzz_call){.symbol = "a checkpoint", .number = number, .result = -1};
    z->call->result = checkpoint();
    if (z->call->result != CUDA_SUCCESS)
        wrong(z->call, "of a process that was locked");
}

static void *thread_main(void *arg)
{
    struct fuzz *z = arg;

    for (unsigned i = 0; i < calls; i++) {
        if (i % 64 == 0)
            freshen(z);
        if (i % 512 == 511)
            checkpoint_beside_calls(z, i);
        call(z, choose(z), i);
    }
    return NULL;
}

static int round_run(uint64_t seed)
{
    static struct fuzz all[THREADS_MAX];
    pthread_t ids[THREADS_MAX];

    cuInit(0);
    fuzz_register();
    for (unsigned t = 0; t < threads; t++) {
        all[t].random = seed * THREADS_MAX + t;
        all[t].trace = &shared->traces[t];
        for (unsigned i = 0; i < FUZZ_ARGS; i++)
            if (!(all[t].scratch[i] = calloc(1, FUZZ_SCRATCH_B)))
                abort();
        if (pthread_create(&ids[t], NULL, thread_main, &all[t]))
            abort();
    }
    for (unsigned t = 0; t < threads; t++)
        pthread_join(ids[t], NULL);
    for (unsigned t = 0; t < threads; t++) /* host functions and copies may still be under way */
        for (unsigned i = 0; i < FUZZ_ARGS; i++)
            free(all[t].scratch[i]);
    for (CUdevice device = 0; device < 2; device++)
        cuDevicePrimaryCtxReset_v2(device);
    return shared->wrong != 0;
}

static void print_traces(void)
{
    for (unsigned t = 0; t < threads; t++) {
        const struct fuzz_trace *trace = &shared->traces[t];
        unsigned n = trace->next < FUZZ_TRACE ? trace->next : FUZZ_TRACE;

        fprintf(stderr, "thread %u:\n", t);
        for (unsigned i = trace->next - n; i < trace->next; i++) {
            const struct fuzz_call *c = &trace->calls[i % FUZZ_TRACE];
            fprintf(stderr, "  %6u %s(", c->number, c->symbol);
            for (unsigned k = 0; k < 8; k++)
                fprintf(stderr, "%s%llx", k ? ", " : "", (unsigned long long)c->args[k]);
            fprintf(stderr, c->result < 0 ? ") has not returned\n" : ") = %d\n", c->result);
        }
    }
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Does the child end by itself? status: as of waitpid(). */
static int wait_for(pid_t child, int *status)
{
    double end = now_s() + HANG_S;

    while (now_s() < end) {
        if (waitpid(child, status, WNOHANG) == child)
            return 1;
        usleep(5000);
    }
    return 0;
}

/* Where its threads are, if there is a debugger. */
static void print_stacks(pid_t child)
{
    char command[128];

    snprintf(command, sizeof(command),
             "timeout 60 gdb -batch -nx -p %d -ex 'thread apply all bt 16' >&2 2>/dev/null",
             (int)child);
    fflush(stderr);
    (void)!system(command);
}

/* 0: nothing was found. */
static int round_watched(uint64_t seed)
{
    int status = 0;
    pid_t child = fork();

    if (child < 0)
        return perror("fork"), 1;
    if (!child)
        exit(round_run(seed));
    if (!wait_for(child, &status)) {
        fprintf(stderr, "seed %llu hangs\n", (unsigned long long)seed);
        print_traces();
        print_stacks(child);
        if (getenv("FUZZ_KEEP")) /* for a debugger */
            pause();
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return 1;
    }
    if (WIFEXITED(status) && !WEXITSTATUS(status))
        return 0;
    print_traces();
    fprintf(stderr, "seed %llu: status %d, signal %d\n", (unsigned long long)seed,
            WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return 1;
}

static void print_coverage(void)
{
    unsigned never = 0;

    for (unsigned i = 0; i < entry_count; i++)
        if (!entries[i].is_refused && !shared->succeeded[i]) {
            printf("never succeeded: %s (%u calls)\n", entries[i].symbol, shared->called[i]);
            never++;
        }
    printf("%u of %u never succeeded\n", never, entry_count);
}

/* A folder for what entry points write by name. */
static void enter_folder(void)
{
    static char folder[] = "/tmp/api-fuzz-XXXXXX";
    FILE *file;

    if (!mkdtemp(folder) || chdir(folder))
        exit(2);
    file = fopen("image.ptx", "w");
    if (!file || fputs(fuzz_ptx, file) < 0 || fclose(file))
        exit(2);
}

static void leave_folder(void)
{
    char folder[4096];
    DIR *files = opendir(".");
    const struct dirent *file;

    while (files && (file = readdir(files)) != NULL)
        (void)!unlink(file->d_name);
    if (files)
        closedir(files);
    if (getcwd(folder, sizeof(folder)) && !chdir("/"))
        (void)!rmdir(folder);
}

static bool entries_add(const struct fuzz_entry *some, unsigned n)
{
    if (n > ENTRIES_MAX - entry_count)
        return false;
    memcpy(&entries[entry_count], some, n * sizeof(*some));
    entry_count += n;
    return true;
}

static bool weigh(const char *without)
{
    regex_t pattern;

    if (without && regcomp(&pattern, without, REG_EXTENDED | REG_NOSUB))
        return false;
    for (unsigned i = 0; i < entry_count; i++) {
        bool is_left_out = without && !regexec(&pattern, entries[i].symbol, 0, NULL, 0);
        weights[i] = is_left_out ? 0 : entries[i].weight;
        total_weight += weights[i];
        resets |= weights[i] && !strcmp(entries[i].symbol, "cuDevicePrimaryCtxReset_v2");
    }
    if (without)
        regfree(&pattern);
    return total_weight != 0;
}

struct options {
    uint64_t seed, rounds;
    double seconds;
    const char *without;
    bool coverage;
};

static bool options_read(int argc, char **argv, struct options *o)
{
    static const struct option names[] = {
        {"threads", required_argument, NULL, 't'}, {"seconds", required_argument, NULL, 's'},
        {"calls", required_argument, NULL, 'c'},   {"seed", required_argument, NULL, 'r'},
        {"rounds", required_argument, NULL, 'n'},  {"without", required_argument, NULL, 'w'},
        {"coverage", no_argument, NULL, 'v'},      {0}};
    int which;

    *o = (struct options){.seed = 1};
    while ((which = getopt_long(argc, argv, "", names, NULL)) != -1)
        switch (which) {
        case 't':
            threads = (unsigned)strtoul(optarg, NULL, 0);
            break;
        case 's':
            o->seconds = strtod(optarg, NULL);
            break;
        case 'c':
            calls = (unsigned)strtoul(optarg, NULL, 0);
            break;
        case 'r':
            o->seed = strtoull(optarg, NULL, 0);
            break;
        case 'n':
            o->rounds = strtoull(optarg, NULL, 0);
            break;
        case 'w':
            o->without = optarg;
            break;
        case 'v':
            o->coverage = true;
            break;
        default:
            return false;
        }
    if (getenv("FUZZ_SECONDS")) {
        o->seconds = strtod(getenv("FUZZ_SECONDS"), NULL);
        o->rounds = 0;
    }
    return threads && threads <= THREADS_MAX;
}

/* Until something is found, or rounds or time are up; 0: nothing was. */
static int rounds_run(const struct options *o)
{
    double start = now_s();
    uint64_t n = 0;
    int found;

    do {
        memset(shared->traces, 0, sizeof(shared->traces));
        found = round_watched(o->seed + n++);
    } while (!found && (o->rounds ? n < o->rounds : now_s() - start < o->seconds));
    printf("api fuzz: %llu rounds of %u threads with %u calls each, %s\n", (unsigned long long)n,
           threads, calls, found ? "FAILED" : "nothing found");
    return found;
}

int main(int argc, char **argv)
{
    struct options o;
    int found;

    if (!options_read(argc, argv, &o) ||
        !entries_add(fuzz_driver_entries, fuzz_driver_entry_count) ||
        !entries_add(fuzz_runtime_entries, fuzz_runtime_entry_count) || !weigh(o.without))
        return 2;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 2;
    setenv("HEDDLE_DEVICES", "2", 0);
    setenv("HEDDLE_MEMORY", "64M", 0);
    setenv("CUDA_COREDUMP_GENERATION_FLAGS", "skip_abort", 1);
    enter_folder();
    found = rounds_run(&o);
    leave_folder();
    if (o.coverage)
        print_coverage();
    return found;
}
