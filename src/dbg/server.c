/*
 * Debuggers come and go, one at a time; conversation.c talks to one.
 *
 * When the debugger goes away without a word the program goes on without it, and another one may
 * connect.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "dbg/dump/dump_file.h"
#include "dbg/private.h"

enum {
    PATIENCE_MS = 200, /* between looks whether the program is still there */
    COMING_MS = 60000, /* for a debugger to come, where it is waited for no longer */
    FIRST_MS = 10000,  /* for the first byte of one that has connected */
};

/* ---- a debugger comes and goes */

/* The debugger was killed, or never came: nobody would end the program. */
static void server_end_lost(void)
{
    dbg_files_remove_locked();
    if (!dbg.core)
        kill(dbg.pid, SIGKILL);
}

/* Debuggers speak first. Whoever does not, or says something else, has never been there. */
static bool server_is_debugger(int fd)
{
    struct pollfd peer = {.fd = fd, .events = POLLIN};
    char first;

    if (!dbg_peer_is_ours(fd))
        return false;
    for (int ms = 0; ms < FIRST_MS && !dbg_is_alone(); ms += PATIENCE_MS)
        if (poll(&peer, 1, PATIENCE_MS) > 0)
            return recv(fd, &first, 1, MSG_PEEK) == 1 && dbg_is_between_packets(first);
    return false;
}

static void server_peer_set(int fd)
{
    dbg_lock();
    dbg.peer = fd;
    dbg_unlock();
}

/* -1: none will come any more. */
static int server_peer_accept(void)
{
    int wait_ms = dbg.ends_when_lost ? COMING_MS : dbg_is_apart() ? PATIENCE_MS : -1;

    for (;;) {
        struct pollfd listener = {.fd = dbg.listener, .events = POLLIN};
        int n = poll(&listener, 1, wait_ms);
        if (dbg_is_alone()) {
            dbg_files_remove_locked(); /* of a program that was killed */
            _exit(0);
        }
        if (n == 0 && dbg.ends_when_lost)
            return -1;
        int fd = n > 0 ? accept4(dbg.listener, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (fd < 0 && n != 0 && errno != EINTR && errno != ECONNABORTED)
            return -1;
        if (fd < 0)
            continue;
        server_peer_set(fd);
        if (server_is_debugger(fd))
            return fd;
        server_peer_set(-1);
        close(fd);
    }
}

static void server_serve(int fd)
{
    dbg_lock();
    assert(dbg.peer == fd && !dbg.attached);
    dbg.attached = dbg.stopped = dbg.reported = true;
    dbg.stop = (struct dbg_stop){0};
    if (dbg.core)
        dbg_core_stop(&dbg.stop);
    dbg.focus = dbg.stop.tid ? dbg.stop.tid : DBG_HOST_TID;
    dbg_unlock();
    dbg_converse(fd);
    dbg_lock();
    dbg.peer = -1;
    if (dbg.attached && dbg.ends_when_lost)
        server_end_lost();
    dbg.non_stop = false;
    dbg_notify_forget();
    dbg_forget_locked();
    dbg_unlock();
    close(fd);
}

static void *server_main(void *unused)
{
    (void)unused;
    for (int fd; (fd = server_peer_accept()) >= 0;)
        server_serve(fd);
    dbg_lock();
    if (dbg.ends_when_lost && !dbg.attached && !dbg.released)
        server_end_lost();
    dbg_unlock();
    return NULL;
}

/* ---- the start */

/* It gets its name when it can be connected to: whoever started us looks for that. */
static enum hd_status server_listen_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s~", path);

    if (n >= (int)sizeof(address.sun_path) || n >= (int)sizeof(dbg.socket_path))
        return hd_error(HD_BAD_ARG, "debugger: '%s' is too long for the path of a socket", path);
    dbg.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (dbg.listener < 0 || bind(dbg.listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(dbg.listener, 1) < 0 || rename(address.sun_path, path) < 0)
        return hd_error(HD_IO, "debugger: %s: %s", path, strerror(errno));
    snprintf(dbg.socket_path, sizeof(dbg.socket_path), "%s", path);
    return HD_OK;
}

static enum hd_status server_listen_tcp(const char *where)
{
    const char *colon = strrchr(where, ':');
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_INET}, *found;
    char host[128];
    int one = 1;

    if (!colon || !colon[1] || (size_t)(colon - where) >= sizeof(host))
        return hd_error(HD_BAD_ARG, "debugger: '%s' is neither :PORT, HOST:PORT nor unix:PATH",
                        where);
    snprintf(host, sizeof(host), "%.*s", (int)(colon - where), where);
    if (getaddrinfo(*host ? host : "127.0.0.1", colon + 1, &hints, &found) != 0)
        return hd_error(HD_BAD_ARG, "debugger: '%s' is no address", where);
    dbg.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (dbg.listener >= 0)
        setsockopt(dbg.listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    bool bound = dbg.listener >= 0 && bind(dbg.listener, found->ai_addr, found->ai_addrlen) == 0;
    freeaddrinfo(found);
    if (bound && listen(dbg.listener, 1) == 0) /* who starts us waits for this line */
        hd_log("waits for a debugger at %s", where);
    return bound ? HD_OK : hd_error(HD_IO, "debugger: %s: %s", where, strerror(errno));
}

/*
 * The debugger is told how the program ended, and our files go. What the program printed comes
 * first; that the debugger goes is no reason any more to end the program, which still ends itself.
 */
static void server_on_exit(int code, void *unused)
{
    char reply[16];

    (void)unused;
    if (getpid() != dbg.pid)
        return;
    fflush(stdout);
    dbg_lock();
    while (dbg.stopped)
        dbg_wait();
    dbg.ends_when_lost = false;
    dbg_files_remove_locked();
    snprintf(reply, sizeof(reply), "W%02x", (unsigned)code & 0xff);
    if (dbg.attached && dbg.peer >= 0 && !dbg.non_stop) /* else the host's debugger knows */
        dbg_packet_send(dbg.peer, reply, strlen(reply));
    dbg_unlock();
}

static _Atomic bool active;

/* A child has no thread that would answer. */
static void server_on_fork(void)
{
    atomic_store(&active, false);
    dbg.attached = dbg.stopped = false;
    pthread_mutex_init(&dbg.lock, NULL);
    if (dbg.listener >= 0)
        close(dbg.listener);
    if (dbg.peer >= 0)
        close(dbg.peer);
    dbg.listener = dbg.peer = -1;
}

static enum hd_status server_listen(const char *where)
{
    HD_TRY(strncmp(where, "unix:", 5) == 0 ? server_listen_unix(where + 5)
                                           : server_listen_tcp(where));
    if (listen(dbg.listener, 1) < 0 || pipe2(dbg.wake, O_CLOEXEC | O_NONBLOCK) < 0)
        return hd_error(HD_IO, "debugger: %s: %s", where, strerror(errno));
    hd_buf_init(&dbg.said);
    return HD_OK;
}

/* Is there a debugger of the host program? */
static bool server_is_traced(void)
{
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    text[HD_MAX(n, 0)] = '\0';
    const char *tracer = strstr(text, "\nTracerPid:\t");
    return tracer && tracer[12] != '0';
}

static enum hd_status server_start(const char *where)
{
    bool apart = strncmp(where, "apart:", 6) == 0;
    where += apart ? 6 : 0;
    if (apart && !server_is_traced())
        return hd_error(HD_BAD_ARG, "debugger: %s: no debugger of the host program is there",
                        where);
    dbg.ends_when_lost &= !apart; /* the system ends what a killed debugger traced */
    HD_TRY(dbg_folder_make());
    HD_TRY(server_listen(where));
    dbg.pid = getpid();
    dbg.focus = DBG_HOST_TID;
    pthread_atfork(NULL, NULL, server_on_fork);
    on_exit(server_on_exit, NULL);
    interp_debug_use(&dbg_hooks);
    if (!hd_vec_reserve(&dbg.breaks, DBG_POINTS_MAX) ||
        !hd_vec_reserve(&dbg.watches, DBG_POINTS_MAX))
        return hd_error(HD_NO_MEMORY, "debugger");
    int error = apart ? dbg_apart_create(&dbg.thread, server_main)
                      : hd_thread_create(&dbg.thread, NULL, server_main, NULL);
    if (apart && !error)
        raise(SIGTRAP); /* it connects */
    return error ? hd_error(HD_NO_MEMORY, "debugger: %s", strerror(error)) : HD_OK;
}

bool dbg_is_active(void)
{
    return atomic_load_explicit(&active, memory_order_relaxed);
}

enum hd_status dbg_start(const char *where, dbg_notified_fn *notified, dbg_running_fn *running)
{
    const char *lost = hd_env("HEDDLE_GDB_LOST");

    assert(!dbg_is_active());
    dbg.notified = notified;
    dbg.running = running;
    dbg.ends_when_lost = lost && strcmp(lost, "end") == 0;
    HD_TRY(server_start(where));
    atomic_store(&active, true);
    dbg_lock();
    while (!dbg.released)
        dbg_wait();
    dbg_unlock();
    return HD_OK;
}

/* ---- core dumps: no program, one debugger */

static enum hd_status server_core_serve(const char *where)
{
    const char *lost = hd_env("HEDDLE_GDB_LOST");
    int fd;

    dbg.ends_when_lost = lost && strcmp(lost, "end") == 0;
    HD_TRY(server_listen(where));
    fd = server_peer_accept();
    if (fd < 0)
        return hd_error(HD_IO, "debugger: nobody has come to %s", where);
    server_serve(fd);
    hd_buf_fini(&dbg.said);
    return HD_OK;
}

static enum hd_status server_core_map(const char *path, const char **out_bytes, size_t *out_size_B)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *at = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &info) == 0 && !S_ISREG(info.st_mode)) {
        close(fd);
        return hd_error(HD_BAD_IMAGE, "it is no file");
    }
    *out_size_B = fd >= 0 ? (size_t)info.st_size : 0;
    if (*out_size_B)
        at = mmap(NULL, *out_size_B, PROT_READ, MAP_PRIVATE, fd, 0);
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !*out_size_B)
        return hd_error(HD_BAD_IMAGE, "it is empty");
    *out_bytes = at;
    return at == MAP_FAILED ? hd_error(HD_IO, "%s", strerror(error)) : HD_OK;
}

enum hd_status dbg_core_serve(const char *path, const char *where)
{
    const char *bytes;
    size_t size_B;

    dbg.pid = getpid();
    HD_TRY(server_core_map(path, &bytes, &size_B));
    enum hd_status status = dbg_core_open(bytes, size_B);
    if (status == HD_OK)
        status = server_core_serve(where);
    dbg_core_close();
    munmap((void *)(uintptr_t)bytes, size_B);
    return status;
}

enum hd_status dbg_core_check(const char *path)
{
    const char *bytes;
    size_t size_B;
    struct dump_file file;

    HD_TRY(server_core_map(path, &bytes, &size_B));
    enum hd_status status = dump_file_open(bytes, size_B, &file);
    if (status == HD_OK)
        dump_file_close(&file);
    munmap((void *)(uintptr_t)bytes, size_B);
    return status;
}
