/*
 * The registry: how its file comes to be and what is refused, slots of processes that live, end,
 * are killed and fork, busy time, totals of the past. A child has its own state of the library, so
 * each case that needs a fresh one runs in a child.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "registry/registry.h"
#include "tap.h"

static const uint8_t first[16] = "first device ...", second[16] = "second device ..";
static char folder[] = "/tmp/heddle-registry-XXXXXX";
static char path[64], log_path[64];

enum { MS = 1000 * 1000 };

/* Runs it in a child with that log; its exit status, or 128 + the signal. */
static int in_child(int (*body)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        int log = open(log_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        (void)dup2(log, STDERR_FILENO); /* where the log goes */
        _exit(body());
    }
    int status = 0;
    (void)waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static unsigned owners(const struct reg_file *file)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < REG_SLOTS; i++)
        n += (uint32_t)atomic_load(&file->owners[i]) != 0;
    return n;
}

/* The processes with that device, as a reader sees them. */
static unsigned readers_count(const uint8_t uuid[16])
{
    const struct reg_file *file = reg_open();
    struct reg_process p;
    unsigned n = 0;

    for (uint32_t i = 0; file && i < REG_SLOTS; i++)
        n += reg_process_read(file, i, uuid, 1000 * MS, &p);
    return n;
}

/* ---- the file */

static int claims(void)
{
    return reg_claim(first) ? 0 : 1;
}

static int claims_none(void)
{
    return reg_claim(first) || reg_claim(first) ? 1 : 0;
}

static unsigned log_lines(void)
{
    struct hd_buf text;
    unsigned n = 0;

    hd_buf_init(&text);
    if (hd_file_read(log_path, 1 << 16, &text) == HD_OK)
        for (size_t i = 0; i < text.len; i++)
            n += text.ptr[i] == '\n';
    hd_buf_fini(&text);
    return n;
}

static void file_put(const void *bytes, size_t size_B, mode_t mode)
{
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, mode);
    ok(fd >= 0 && fchmod(fd, mode) == 0 && write(fd, bytes, size_B) == (ssize_t)size_B, "a file");
    close(fd);
}

static void refused(const char *what)
{
    eq_u64(in_child(claims_none), 0, "%s is not used", what);
    eq_u64(log_lines(), 1, "which is said once");
}

static void test_file(void)
{
    struct stat info;
    struct hd_buf good;

    unlink(path);
    ok(!reg_open(), "a reader makes none");
    eq_u64(in_child(claims), 0, "the first process makes it");
    eq_u64(log_lines(), 0, "without a word");
    ok(stat(path, &info) == 0 && (info.st_mode & 07777) == 0600, "nobody else may read it");
    eq_u64(info.st_size, sizeof(struct reg_file), "its size");
    ok((uint64_t)info.st_blocks * 512 >= (uint64_t)info.st_size, "its pages are there");
    hd_buf_init(&good);
    eq_u64(hd_file_read(path, 1 << 20, &good), HD_OK, "its bytes");
    eq_u64(reg_check(good.ptr, good.len), HD_OK, "are a registry's");
    eq_u64(reg_check(good.ptr, good.len - 1), HD_CORRUPT, "not without the last");
    good.ptr[8]++;
    eq_u64(reg_check(good.ptr, good.len), HD_BAD_VERSION, "not of another version");
    file_put(good.ptr, good.len, 0600);
    refused("another version");
    good.ptr[8]--;
    good.ptr[0]++;
    eq_u64(reg_check(good.ptr, good.len), HD_CORRUPT, "not with another beginning");
    file_put(good.ptr, good.len, 0600);
    refused("another kind of file");
    good.ptr[0]--;
    file_put(good.ptr, good.len / 2, 0600);
    refused("half a file");
    file_put(good.ptr, 0, 0600);
    refused("an empty file");
    file_put(good.ptr, good.len, 0666);
    refused("a file that others may write");
    unlink(path);
    ok(mkdir(path, 0700) == 0, "a folder");
    refused("a folder");
    rmdir(path);
    ok(symlink("/dev/null", path) == 0, "a link");
    refused("a link");
    unlink(path);
    ok(mkfifo(path, 0600) == 0, "a pipe");
    refused("a pipe");
    file_put(good.ptr, good.len, 0600);
    if (geteuid() == 0 && chown(path, 65534, 65534) == 0)
        refused("another user's file");
    unlink(path);
    hd_buf_fini(&good);
}

static int full_disk(void)
{
    setenv("HEDDLE_REGISTRY", "/dev/full/registry", 1);
    return claims_none();
}

static int is_off(void)
{
    setenv("HEDDLE_REGISTRY", "off", 1);
    return claims_none() || reg_open();
}

static void test_without(void)
{
    eq_u64(in_child(full_disk), 0, "where no file can be made, it works without");
    eq_u64(log_lines(), 1, "which is said once");
    eq_u64(in_child(is_off), 0, "switched off");
    eq_u64(log_lines(), 0, "is nothing to talk about");
}

/* Many at once: all find the same file. */
static void test_race(void)
{
    enum { MANY = 20 };
    pid_t pids[MANY];
    int go[2], status, failed = 0;

    unlink(path);
    ok(pipe(go) == 0, "a pipe");
    fflush(stdout);
    for (int i = 0; i < MANY; i++) {
        pids[i] = fork();
        if (!pids[i]) {
            char c;
            close(go[1]);
            (void)!read(go[0], &c, 1);
            if (!reg_claim(first))
                _exit(1);
            usleep(100 * 1000);
            _exit(owners(reg_open()) == MANY ? 0 : 2);
        }
    }
    close(go[1]);
    for (int i = 0; i < MANY; i++)
        failed += waitpid(pids[i], &status, 0) != pids[i] || status;
    close(go[0]);
    eq_u64(failed, 0, "processes that begin together have one file");
}

/* ---- slots */

static int leaves(void)
{
    struct reg_use *a = reg_claim(first), *b = reg_claim(second);

    if (!a || !b || a == b || reg_claim(first) != a)
        return 1;
    if (readers_count(first) != 1 || readers_count(second) != 1)
        return 2;
    reg_leave();
    return owners(reg_open());
}

static int takes_and_waits(void)
{
    if (!reg_claim(first))
        return 1;
    pause();
    return 2;
}

static void await_owners(unsigned n)
{
    for (int i = 0; i < 2000 && owners(reg_open()) != n; i++)
        usleep(1000);
}

static pid_t start(int (*body)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    if (!pid)
        _exit(body());
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

static void test_slots(void)
{
    unlink(path);
    eq_u64(in_child(leaves), 0, "a slot for each device, and none behind");
    ok(reg_open(), "the file stays");
    pid_t a = start(takes_and_waits), b = start(takes_and_waits);
    await_owners(2);
    eq_u64(readers_count(first), 2, "two processes");
    eq_u64(readers_count(second), 0, "that do not use the other device");
    end(a);
    eq_u64(readers_count(first), 1, "one was killed");
    eq_u64(owners(reg_open()), 2, "its slot has its name");
    end(b);
    eq_u64(readers_count(first), 0, "both");
    eq_u64(in_child(leaves), 2, "which is found out when the slots are needed");
}

/* To write into the reader's file, as some other process might. */
static struct reg_file *writable(void)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at = mmap(NULL, sizeof(struct reg_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    close(fd);
    assert(at != MAP_FAILED);
    return at;
}

static int finds_none(void)
{
    return reg_claim(first) ? 1 : 0;
}

static void test_full(void)
{
    struct reg_file *file = writable();
    pid_t living = getppid(), dead = start(takes_and_waits);

    end(dead);
    for (uint32_t i = 0; i < REG_SLOTS; i++) {
        file->uses[i] = file->uses[0];
        file->uses[i].claimed_ns = UINT64_MAX;
        atomic_store(&file->owners[i], (uint64_t)living);
    }
    eq_u64(in_child(finds_none), 0, "all slots are taken");
    eq_u64(log_lines(), 1, "which is said");
    atomic_store(&file->owners[77], (uint64_t)dead);
    eq_u64(in_child(claims), 0, "a dead process's slot is taken over");
    ok(file->owners[77] >> 32, "which makes the word another one");
    atomic_store(&file->owners[77], (uint64_t)living);
    atomic_store(&file->owners[99], (uint64_t)dead | REG_CLAIMING);
    eq_u64(in_child(claims), 0, "and that of one that died when it claimed it");
    atomic_store(&file->owners[99], (uint64_t)living | REG_CLAIMING);
    eq_u64(in_child(finds_none), 0, "not of one that lives");
    atomic_store(&file->uses[44].namespace_inode, 1); /* of a container, say */
    atomic_store(&file->owners[44], (uint64_t)dead);
    atomic_store(&file->owners[99], (uint64_t)living);
    eq_u64(in_child(finds_none), 0, "nor one of another namespace");
    file->uses[55].claimed_ns = 1; /* the process has begun since */
    eq_u64(in_child(claims), 0, "a number that another process has now");
    munmap(file, sizeof(*file));
    unlink(path);
}

/* As after exec: a slot of the same process, of a program that is no more. */
static int takes_afresh(void)
{
    struct reg_file *file = writable();

    atomic_store(&file->owners[9], (uint64_t)getpid());
    memcpy(file->uses[9].uuid, first, sizeof(first));
    file->uses[9].claimed_ns = UINT64_MAX;
    atomic_store(&file->uses[9].memory_B, 77);
    struct reg_use *use = reg_claim(first);
    return use && !atomic_load(&use->memory_B) && owners(file) == 1 ? 0 : 1;
}

static void test_exec(void)
{
    unlink(path);
    eq_u64(in_child(leaves), 0, "a file");
    eq_u64(in_child(takes_afresh), 0, "what a process did before exec is forgotten");
}

static void test_alive(void)
{
    ok(reg_is_alive(getpid(), UINT64_MAX), "this process lives");
    ok(!reg_is_alive(getpid(), 0), "and did not when the machine started");
    ok(!reg_is_alive(0x7fffffff, UINT64_MAX), "a number of nobody");
    ok(!reg_is_alive(0, UINT64_MAX) && !reg_is_alive(-1, UINT64_MAX), "a wrong number");
}

static int forks(void)
{
    struct reg_use *use = reg_claim(first);
    int status;

    if (!use)
        return 1;
    atomic_store(&use->memory_B, 1234);
    pid_t child = fork();
    if (!child) {
        atomic_store(&use->memory_B, 1);
        reg_begin(use, &use->kernel_busy, reg_now_ns());
        if (reg_claim(first))
            _exit(1);
        reg_leave();
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status)
        return 2;
    if (atomic_load(&use->memory_B) != 1234 || atomic_load(&use->kernel_busy))
        return 3;
    return owners(reg_open()) == 1 ? 0 : 4;
}

static void test_fork(void)
{
    unlink(path);
    eq_u64(in_child(forks), 0, "a child neither has a slot nor changes its parent's");
}

/* ---- what is counted */

static void test_busy(void)
{
    struct reg_use use = {0};

    reg_begin(&use, &use.kernel_busy, 1000);
    eq_u64(reg_busy_ns(use.kernel_busy, 1500), 500, "while one runs");
    reg_begin(&use, &use.kernel_busy, 1600);
    reg_end(&use, &use.kernel_busy, 1700);
    eq_u64(reg_busy_ns(use.kernel_busy, 1800), 800, "two at once count once");
    reg_end(&use, &use.kernel_busy, 2000);
    eq_u64(reg_busy_ns(use.kernel_busy, 9000), 1000, "none runs");
    reg_begin(&use, &use.kernel_busy, 10000);
    reg_end(&use, &use.kernel_busy, 10005);
    eq_u64(reg_busy_ns(use.kernel_busy, 11000), 1005, "again");
    reg_sampled(&use, 100, 12000);
    eq_u64(reg_busy_ns(use.kernel_busy, 12000), 1105, "short ones are added");
    reg_begin(&use, &use.kernel_busy, 13000);
    reg_sampled(&use, 100, 13500);
    eq_u64(reg_busy_ns(use.kernel_busy, 13500), 1605, "but not beside one that runs");
    eq_u64(reg_busy_ns(use.copy_busy, 13500), 0, "copies are counted apart");
}

struct worker {
    struct reg_use *use;
    pthread_t thread;
};

static void *work(void *arg)
{
    struct worker *w = arg;

    for (unsigned i = 0; i < 20000; i++) {
        reg_begin(w->use, &w->use->kernel_busy, reg_now_ns());
        reg_end(w->use, &w->use->kernel_busy, reg_now_ns());
    }
    return NULL;
}

static void test_threads(void)
{
    enum { MANY = 4 };
    struct reg_use use = {0};
    struct worker workers[MANY];
    uint64_t begin_ns = reg_now_ns();

    for (unsigned i = 0; i < MANY; i++) {
        workers[i].use = &use;
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (unsigned i = 0; i < MANY; i++)
        pthread_join(workers[i].thread, NULL);
    uint64_t wall_ns = reg_now_ns() - begin_ns;
    eq_u64(use.kernel_busy >> REG_BUSY_BITS, 0, "as many ends as begins");
    /* A thread that the system stops between the clock and the word counts others' time again. */
    ok(reg_busy_ns(use.kernel_busy, 0) <= MANY * wall_ns && use.kernel_busy, "busy %llu of %llu ns",
       (unsigned long long)use.kernel_busy, (unsigned long long)wall_ns);
}

static void test_past(void)
{
    struct reg_use use = {0};
    struct reg_totals now = {0}, then, points[REG_POINTS];
    uint64_t at = 1000000 * (uint64_t)MS;

    eq_u64(reg_points_read(&use, points), 0, "no points");
    for (unsigned i = 0; i < 40; i++, at += 100 * MS) { /* half of the time */
        reg_begin(&use, &use.kernel_busy, at);
        reg_end(&use, &use.kernel_busy, at + 50 * MS);
    }
    eq_u64(reg_points_read(&use, points), REG_POINTS, "as many points as there is room for");
    for (unsigned i = 1; i < REG_POINTS; i++)
        if (points[i].time_ns <= points[i - 1].time_ns)
            ok(false, "points in order");
    at -= 50 * MS;
    now.time_ns = at;
    now.kernel_ns = reg_busy_ns(use.kernel_busy, at);
    reg_totals_at(&use, at - 1000 * MS, &now, &then);
    eq_u64(then.time_ns, at - 1000 * MS, "a second before");
    ok(now.kernel_ns - then.kernel_ns >= 450 * MS && now.kernel_ns - then.kernel_ns <= 550 * MS,
       "half of it: %llu ms", (unsigned long long)(now.kernel_ns - then.kernel_ns) / MS);
    now.time_ns = at + 10000ull * MS;
    reg_totals_at(&use, at + 9000ull * MS, &now, &then);
    eq_u64(now.kernel_ns - then.kernel_ns, 0, "idle since, whatever was before");
    reg_totals_at(&use, 1, &now, &then);
    eq_u64(then.time_ns, points[0].time_ns, "before all that is known: the first point");
    reg_begin(&use, &use.kernel_busy, at + 10000ull * MS);
    now.time_ns = at + 20000ull * MS;
    now.kernel_ns = reg_busy_ns(use.kernel_busy, now.time_ns);
    reg_totals_at(&use, at + 19000ull * MS, &now, &then);
    eq_u64(now.kernel_ns - then.kernel_ns, 1000ull * MS, "a long one that runs");
}

static int notifies(void)
{
    if (!reg_claim(second))
        return 1;
    for (unsigned i = 0; i < REG_EVENTS + 3; i++)
        reg_notify_event(second, i);
    return 0;
}

static void test_events(void)
{
    uint8_t uuid[16];
    uint64_t code, pid;

    unlink(path);
    reg_notify_event(first, 1); /* of a process without a slot: nothing */
    eq_u64(in_child(notifies), 0, "a process tells of faults");
    const struct reg_file *file = writable();
    eq_u64(file->nevents, REG_EVENTS + 3, "all are counted");
    ok(!reg_event_read(file, 0, uuid, &code, &pid), "there is no event 0");
    ok(!reg_event_read(file, 1, uuid, &code, &pid), "the first is gone");
    ok(!reg_event_read(file, REG_EVENTS + 4, uuid, &code, &pid), "nor one that is to come");
    ok(reg_event_read(file, 4, uuid, &code, &pid), "the oldest that there is");
    eq_u64(code, 3, "its code");
    eq_mem(uuid, second, 16, "its device");
    ok(pid && pid != (uint64_t)getpid(), "its process");
    munmap((void *)(uintptr_t)file, sizeof(*file));
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof(path), "%s/registry", folder);
    snprintf(log_path, sizeof(log_path), "%s/log", folder);
    setenv("HEDDLE_REGISTRY", path, 1);
    test_busy();
    test_threads();
    test_past();
    test_alive();
    test_file();
    test_without();
    test_race();
    test_fork();
    test_exec();
    test_events();
    unlink(path);
    test_slots();
    test_full();
    unlink(log_path);
    rmdir(folder);
    return done();
}
