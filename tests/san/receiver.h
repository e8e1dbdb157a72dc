/* The other end of the socket: what `heddle check` is to a process, in a test's own process. */
#ifndef HD_TESTS_SAN_RECEIVER_H
#define HD_TESTS_SAN_RECEIVER_H

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define RECEIVER_WAIT_MS 20000

struct receiver {
    int listens, fd;
    char name[64];
    char text[1 << 17]; /* the last record */
};

static inline bool receiver_init(struct receiver *r, const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    snprintf(r->name, sizeof(r->name), "heddle-test-%ld-%s", (long)getpid(), name);
    memcpy(at.sun_path + 1, r->name, strlen(r->name));
    r->fd = -1;
    r->listens = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    socklen_t at_B = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(r->name));
    return bind(r->listens, (struct sockaddr *)&at, at_B) == 0 && listen(r->listens, 8) == 0;
}

/* HEDDLE_CHECK for it, with more words behind. */
static inline void receiver_env(const struct receiver *r, const char *words)
{
    char line[256];

    snprintf(line, sizeof(line), "socket=%s %s", r->name, words);
    setenv("HEDDLE_CHECK", line, 1);
}

static inline bool receiver_wait(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};

    return poll(&one, 1, RECEIVER_WAIT_MS) == 1;
}

static inline bool receiver_accept(struct receiver *r)
{
    if (r->fd >= 0)
        close(r->fd);
    r->fd = receiver_wait(r->listens) ? accept4(r->listens, NULL, NULL, SOCK_CLOEXEC) : -1;
    return r->fd >= 0;
}

/* The next record's text; "" at the end of the connection, or when none comes. */
static inline const char *receiver_next(struct receiver *r)
{
    ssize_t n = receiver_wait(r->fd) ? recv(r->fd, r->text, sizeof(r->text) - 1, 0) : 0;

    r->text[n > 0 ? n : 0] = '\0';
    return r->text;
}

static inline void receiver_fini(struct receiver *r)
{
    if (r->fd >= 0)
        close(r->fd);
    close(r->listens);
}

#endif
