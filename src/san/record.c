/*
 * Records on their way out: one connection of this process, counts of what is not sent, and what
 * happens when nobody listens, or not in time. See record.h.
 */
#include "san/record.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/env.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "san/extent.h"
#include "san/finding.h"
#include "san/options.h"
#include "san/process.h"
#include "san/stack.h"

enum {
    SEND_WAIT_S = 10, /* for a receiver that does not receive; afterwards nobody waits for it */
    CAUSES_MAX = 4096,
    CAUSE_SLOTS = 2 * CAUSES_MAX, /* a power of two */
};

/* The same again: by san_finding_cause(). */
struct cause {
    uint64_t hash;            /* 0: the slot is free */
    uint64_t kept;            /* findings that were not sent */
    uint64_t kept_count;      /* what they stand for */
    uint64_t reported;        /* how many of `kept` a record has told of */
    struct san_extent extent; /* of `kept` */
};

static struct {
    struct hd_lock lock;
    struct san_options options;
    _Atomic bool is_on;
    int fd;              /* -1: nobody receives */
    pid_t pid;           /* whose connection it is */
    bool is_slow;        /* the last record was lost */
    uint64_t sent, lost; /* findings; records since the last that was not */
    uint64_t number;     /* of the next finding */
    bool has_unreported; /* a cause's `kept` is more than was told */
    size_t ncauses;
    struct cause causes[CAUSE_SLOTS];
    struct cause others; /* of causes beyond the table */
} state = {.lock = HD_LOCK_INIT(RECORD, "records"), .fd = -1};

static pthread_once_t defaults_once = PTHREAD_ONCE_INIT;

static void record_set_defaults(void)
{
    san_options_init(&state.options);
}

const struct san_options *san_options(void)
{
    pthread_once(&defaults_once, record_set_defaults);
    return &state.options;
}

bool san_record_is_on(void)
{
    return atomic_load_explicit(&state.is_on, memory_order_relaxed);
}

/* ---- the connection */

static int record_connect_to(const char *name)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct timeval wait = {.tv_sec = SEND_WAIT_S};
    size_t len = strlen(name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0 || len + 1 > sizeof(to.sun_path)) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    memcpy(to.sun_path + 1, name, len); /* the first byte is 0: an abstract name */
    (void)!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
    socklen_t to_B = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
    while (connect(fd, (struct sockaddr *)&to, to_B))
        if (errno != EINTR) {
            close(fd);
            return -1;
        }
    return fd;
}

/* Where the program took our number for a file of its own, nothing may be written. */
static bool record_is_socket(int fd)
{
    int type = 0;
    socklen_t type_B = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_B) == 0 && type == SOCK_SEQPACKET;
}

enum outcome { SENT, TOO_LONG, LOST };

static enum outcome record_send_locked(const struct hd_buf *text)
{
    assert(hd_lock_held(&state.lock));
    if (state.fd < 0 || text->failed)
        return LOST;
    if (!record_is_socket(state.fd)) { /* the program closed it */
        state.fd = record_connect_to(state.options.socket);
        if (state.fd < 0)
            return LOST;
    }
    int flags = MSG_NOSIGNAL | (state.is_slow ? MSG_DONTWAIT : 0);
    ssize_t n;
    do
        n = send(state.fd, text->ptr, text->len, flags);
    while (n < 0 && errno == EINTR);
    if (n >= 0)
        return SENT;
    if (errno == EMSGSIZE)
        return TOO_LONG;
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS) {
        close(state.fd);
        state.fd = -1;
    }
    return LOST;
}

/* ---- records */

static void record_begin(struct hd_json *j, const char *record)
{
    hd_json_init(j);
    j->on_line = true;
    hd_json_open(j, NULL, '{');
    hd_json_str(j, "record", record);
    hd_json_u64(j, "pid", (uint64_t)state.pid);
}

static enum outcome record_end(struct hd_json *j)
{
    hd_json_close(j, '}');
    enum outcome outcome = record_send_locked(&j->buf);
    hd_buf_fini(&j->buf);
    return outcome;
}

static void record_count(enum outcome outcome)
{
    assert(hd_lock_held(&state.lock));
    state.is_slow = outcome != SENT;
    if (outcome == SENT) {
        if (state.lost) {
            struct hd_json j;
            record_begin(&j, "lost");
            hd_json_u64(&j, "count", state.lost);
            if (record_end(&j) == SENT)
                state.lost = 0;
        }
    } else
        state.lost++;
}

static void record_report_process(const char *event)
{
    struct hd_json j;

    record_begin(&j, "process");
    hd_json_str(&j, "event", event);
    if (strcmp(event, "begin") == 0)
        san_process_write(&j);
    else
        hd_json_u64(&j, "lost", state.lost);
    record_count(record_end(&j));
}

/* What of a cause was found beyond what was sent, in all; of several records the last one counts.
 */
static void record_report_kept(struct cause *cause)
{
    struct hd_json j;

    assert(cause->reported <= cause->kept && cause->kept <= cause->kept_count);
    record_begin(&j, "more");
    hd_json_hex(&j, "cause", cause->hash);
    hd_json_u64(&j, "findings", cause->kept);
    hd_json_u64(&j, "count", cause->kept_count);
    san_finding_write_extent(&j, &cause->extent);
    enum outcome outcome = record_end(&j);
    if (outcome == SENT)
        cause->reported = cause->kept;
    else
        state.has_unreported = true;
    record_count(outcome);
}

static void record_report_rest(void)
{
    if (!state.has_unreported)
        return;
    state.has_unreported = false;
    for (size_t i = 0; i < CAUSE_SLOTS; i++)
        if (state.causes[i].kept != state.causes[i].reported)
            record_report_kept(&state.causes[i]);
    if (state.others.kept != state.others.reported)
        record_report_kept(&state.others);
}

/* ---- causes */

/* The cause's slot; state.others when the table is full. */
static struct cause *record_cause_of(uint64_t hash, bool *out_first)
{
    assert(hd_lock_held(&state.lock) && hash && state.ncauses <= CAUSES_MAX);
    for (size_t i = hash;; i++) {
        struct cause *cause = &state.causes[i & (CAUSE_SLOTS - 1)];
        *out_first = !cause->hash && state.ncauses < CAUSES_MAX;
        if (cause->hash == hash)
            return cause;
        if (cause->hash)
            continue;
        if (!*out_first)
            return &state.others;
        cause->hash = hash;
        state.ncauses++;
        return cause;
    }
}

/* A child that was forked tells of itself before anything else. */
static bool record_is_ready_locked(void)
{
    assert(hd_lock_held(&state.lock));
    if (state.fd >= 0 && state.pid == getpid())
        return true;
    if (!san_record_is_on() || state.pid == getpid())
        return false; /* nobody receives any more */
    state.pid = getpid();
    state.fd = record_connect_to(state.options.socket);
    if (state.fd < 0)
        return false;
    record_report_process("begin");
    return true;
}

static void record_keep_locked(struct cause *cause, const struct san_finding *finding)
{
    assert(hd_lock_held(&state.lock));
    cause->kept++;
    cause->kept_count += finding->count ? finding->count : 1;
    san_finding_extend(finding, &cause->extent);
    state.has_unreported = true;
    if (hd_is_pow2(cause->kept)) /* a process that is killed has told of half of them */
        record_report_kept(cause);
}

/* Whether it is to be sent; else it is counted. */
static bool record_admit(const struct san_finding *finding, uint64_t hash, uint64_t *out_number)
{
    bool first, sends = false;
    uint64_t limit = state.options.record_limit;

    hd_lock_acquire(&state.lock);
    if (record_is_ready_locked()) {
        struct cause *cause = record_cause_of(hash, &first);
        *out_number = ++state.number;
        sends = first || !limit || state.sent < limit;
        state.sent += sends;
        if (!sends)
            record_keep_locked(cause, finding);
    }
    hd_lock_release(&state.lock);
    return sends;
}

/* Built without the lock: names of a stack are asked from the loader, which has locks of its own.
 */
static enum outcome record_send_finding(const struct san_finding *finding, uint64_t hash,
                                        uint64_t number, bool stacks)
{
    struct hd_json j;
    bool unused;

    record_begin(&j, "finding");
    hd_json_u64(&j, "number", number);
    hd_json_hex(&j, "cause", hash);
    san_finding_write(&j, finding, san_process_exe(), stacks);
    hd_json_close(&j, '}');
    hd_lock_acquire(&state.lock);
    enum outcome outcome = record_send_locked(&j.buf);
    if (outcome != TOO_LONG || !stacks)
        record_count(outcome);
    if (outcome == LOST || (outcome == TOO_LONG && !stacks))
        record_keep_locked(record_cause_of(hash, &unused), finding);
    hd_lock_release(&state.lock);
    hd_buf_fini(&j.buf);
    return outcome;
}

void san_report(const struct san_finding *finding)
{
    uint64_t number;

    assert(finding->tool && finding->kind && finding->severity < SAN_SEVERITY_COUNT);
    assert(finding->nactors + finding->nsides <= HD_COUNT_OF(finding->actors));
    if (!san_record_is_on())
        return;
    uint64_t hash = san_finding_cause(finding);
    hash += !hash;
    if (record_admit(finding, hash, &number) &&
        record_send_finding(finding, hash, number, true) == TOO_LONG)
        (void)record_send_finding(finding, hash, number, false);
}

void san_summary(const char *tool, const char *name, uint64_t value)
{
    struct hd_json j;

    if (!san_record_is_on())
        return;
    hd_lock_acquire(&state.lock);
    if (record_is_ready_locked()) {
        record_begin(&j, "summary");
        hd_json_str(&j, "tool", tool);
        hd_json_str(&j, "name", name);
        hd_json_u64(&j, "value", value);
        record_count(record_end(&j));
    }
    hd_lock_release(&state.lock);
}

void san_record_settle(void)
{
    if (!san_record_is_on())
        return;
    hd_lock_acquire(&state.lock);
    if (state.fd >= 0 && state.pid == getpid() && !state.is_slow)
        record_report_rest();
    hd_lock_release(&state.lock);
}

/* ---- life */

/* Handlers of others, which run later, take locks of any rank: this one is beside the ranks. */
static void record_before_fork(void)
{
    pthread_mutex_lock(&state.lock.mutex);
}

static void record_after_fork(void)
{
    pthread_mutex_unlock(&state.lock.mutex);
}

/* The connection is the parent's; so are its counts. */
static void record_in_child(void)
{
    bool wanted = state.options.target_processes == SAN_TARGETS_ALL;

    if (state.fd >= 0 && record_is_socket(state.fd))
        close(state.fd);
    state.fd = -1;
    state.sent = state.lost = state.number = 0;
    state.is_slow = false;
    if (state.ncauses)
        memset(state.causes, 0, sizeof(state.causes));
    state.ncauses = 0;
    state.has_unreported = false;
    state.others = (struct cause){0};
    if (!wanted)
        atomic_store(&state.is_on, false);
    record_after_fork();
}

static enum hd_status record_start_locked(const char *line)
{
    bool wanted;

    assert(hd_lock_held(&state.lock));
    HD_TRY(san_options_parse(&state.options, line));
    if (!state.options.socket)
        return hd_error(HD_BAD_ARG, "HEDDLE_CHECK names no socket");
    HD_TRY(san_process_is_wanted(&state.options, &wanted));
    if (!wanted)
        return HD_OK;
    state.fd = record_connect_to(state.options.socket);
    if (state.fd < 0)
        return hd_error(HD_BAD_ARG, "HEDDLE_CHECK: nobody receives findings at '%s': %s",
                        state.options.socket, strerror(errno));
    state.pid = getpid();
    record_report_process("begin");
    int error = pthread_atfork(record_before_fork, record_after_fork, record_in_child);
    if (error)
        return hd_error(HD_NO_MEMORY, "pthread_atfork: %s", strerror(error));
    atomic_store(&state.is_on, true);
    return HD_OK;
}

enum hd_status san_record_start(void)
{
    const char *line = hd_env("HEDDLE_CHECK");

    san_options();
    if (!line || san_record_is_on())
        return HD_OK;
    san_stack_start();
    hd_lock_acquire(&state.lock);
    enum hd_status status = record_start_locked(line);
    hd_lock_release(&state.lock);
    return status;
}

void san_record_stop(void)
{
    if (!san_record_is_on())
        return;
    hd_lock_acquire(&state.lock);
    atomic_store(&state.is_on, false);
    if (state.fd >= 0 && state.pid == getpid()) {
        state.is_slow = false; /* the last chance: wait once more */
        record_report_rest();
        record_report_process("end");
        if (record_is_socket(state.fd))
            close(state.fd);
    }
    state.fd = -1;
    hd_lock_release(&state.lock);
}
