/* Packets in and out of one connection, until it ends. Source: GDB manual, E.1. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dbg/packet.h"

enum {
    FRAME_MAX_B = PACKET_MAX_B + 16, /* of what comes before its packet is whole */
    HOST_PATIENCE_MS = 200,          /* for a kernel to take notice of an interrupt */
};

struct conversation {
    int fd;
    bool acks, open;
    struct hd_buf in;
};

/* ---- out */

static bool send_all(int fd, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

static bool framed_send(int fd, char first, const char *text, size_t len)
{
    struct hd_buf packet;
    unsigned sum = 0;
    bool sent;

    hd_buf_init(&packet);
    hd_buf_putc(&packet, first);
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == '#' || c == '$' || c == '}' || c == '*') {
            hd_buf_putc(&packet, '}');
            sum += '}';
            c ^= 0x20;
        }
        hd_buf_putc(&packet, c);
        sum += (unsigned char)c;
    }
    hd_buf_printf(&packet, "#%02x", sum & 0xff);
    sent = !packet.failed && send_all(fd, packet.ptr, packet.len);
    hd_buf_fini(&packet);
    return sent;
}

bool dbg_packet_send(int fd, const char *text, size_t len)
{
    return framed_send(fd, '$', text, len);
}

static void reply_send(struct conversation *c, const struct hd_buf *reply)
{
    c->open = c->open && !reply->failed &&
              dbg_packet_send(c->fd, reply->ptr ? reply->ptr : "", reply->len);
}

/* What is for the user's eyes: only while GDB waits for a stop. */
static void said_send_locked(struct conversation *c)
{
    struct hd_buf text;

    if (!dbg.said.len)
        return;
    hd_buf_init(&text);
    hd_buf_putc(&text, 'O');
    for (size_t i = 0; i < dbg.said.len && i < PACKET_MAX_B / 2 - 8; i++)
        hd_buf_printf(&text, "%02x", (unsigned char)dbg.said.ptr[i]);
    reply_send(c, &text);
    hd_buf_fini(&text);
    hd_buf_clear(&dbg.said);
}

static void stop_send_locked(struct conversation *c)
{
    struct hd_buf reply;

    assert(dbg.stopped && !dbg.reported);
    if (dbg.non_stop) {
        dbg_notify_stop();
        return;
    }
    said_send_locked(c);
    dbg.reported = true;
    dbg.focus = dbg.stop.tid ? dbg.stop.tid : DBG_HOST_TID;
    hd_buf_init(&reply);
    dbg_stop_reply(&reply);
    reply_send(c, &reply);
    hd_buf_fini(&reply);
}

static void notify_locked(struct conversation *c)
{
    struct hd_buf text;

    hd_buf_init(&text);
    if (dbg.non_stop && dbg_notify_take(&text))
        c->open = c->open && framed_send(c->fd, '%', text.ptr, text.len);
    hd_buf_fini(&text);
}

/* ---- in */

/* Undoes escapes, in place. */
static size_t unescape(char *text, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        text[n++] = text[i] == '}' && i + 1 < len ? (char)(text[++i] ^ 0x20) : text[i];
    return n;
}

static void packet_answer_locked(struct conversation *c, char *text, size_t len)
{
    struct hd_buf reply;

    len = unescape(text, len);
    hd_buf_init(&reply);
    /* GDB asks while the program is stopped only; others that do not get no answer. */
    if ((dbg.stopped || dbg.non_stop) && dbg_packet(text, len, &reply))
        reply_send(c, &reply);
    if (len >= 15 && memcmp(text, "QStartNoAckMode", 15) == 0)
        c->acks = false;
    if (!dbg.attached)
        c->open = false; /* detached */
    if (dbg.ends) {
        dbg_files_remove_locked();
        kill(dbg.pid, SIGKILL);
        if (dbg_is_apart())
            _exit(0);
    }
    hd_buf_fini(&reply);
}

static bool sum_is_right(const char *text, size_t len, const char *digits)
{
    char right[3];
    unsigned sum = 0;

    for (size_t i = 0; i < len; i++)
        sum += (unsigned char)text[i];
    snprintf(right, sizeof(right), "%02x", sum & 0xff);
    return strncasecmp(right, digits, 2) == 0;
}

bool dbg_is_between_packets(char c)
{
    return c == '$' || c == '+' || c == '-' || c == 0x03;
}

/*
 * One packet, or what stands between packets; how many bytes that were, 0: not all are there. Bytes
 * that have no place there end the conversation: a packet behind them may be in the text that a web
 * page has made a browser send.
 */
static size_t take_one_locked(struct conversation *c, char *at, size_t len)
{
    if (*at == 0x03) {
        dbg.interrupted = !dbg.stopped;
        return 1;
    }
    if (*at != '$') {
        c->open = c->open && dbg_is_between_packets(*at);
        return 1;
    }
    char *end = memchr(at, '#', len);
    if (!end || (size_t)(end - at) + 3 > len) {
        if (len > FRAME_MAX_B)
            c->open = false; /* no debugger */
        return 0;
    }
    bool right = sum_is_right(at + 1, (size_t)(end - at) - 1, end + 1);
    if (c->acks)
        c->open = c->open && send_all(c->fd, right ? "+" : "-", 1);
    if (right)
        packet_answer_locked(c, at + 1, (size_t)(end - at) - 1);
    return (size_t)(end - at) + 3;
}

static void input_take_locked(struct conversation *c)
{
    size_t done = 0;

    while (c->open && done < c->in.len) {
        size_t n = take_one_locked(c, c->in.ptr + done, c->in.len - done);
        if (!n)
            break;
        assert(n <= c->in.len - done);
        done += n;
    }
    memmove(c->in.ptr, c->in.ptr + done, c->in.len - done);
    c->in.len -= done;
}

static void input_read(struct conversation *c)
{
    char bytes[4096];
    ssize_t n = recv(c->fd, bytes, sizeof(bytes), 0);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    c->open = n > 0;
    if (c->open)
        hd_buf_append(&c->in, bytes, (size_t)n);
    c->open = c->open && !c->in.failed;
}

/* No kernel that could be shown has taken notice. */
static void host_stop_locked(const struct hd_buf *running)
{
    assert(dbg_is_locked() && dbg.interrupted && !dbg.stopped);
    dbg.interrupted = false;
    dbg.stopped = true;
    dbg.reported = false;
    if (!dbg.ctas.len && running->len)
        hd_buf_printf(&dbg.said,
                      "heddle: no kernel that can be stopped runs: these began before there was a "
                      "breakpoint, and are compiled code\n%.*s"
                      "heddle: with a breakpoint, launches that begin from now on can be stopped\n",
                      (int)running->len, running->ptr);
    else if (!dbg.ctas.len)
        hd_buf_puts(&dbg.said, "heddle: no kernel that can be shown runs: one that began before "
                               "there was a breakpoint is compiled code\n");
    dbg.stop = (struct dbg_stop){.kind = DBG_STOP_SIGNAL,
                                 .tid = dbg.non_stop && dbg.step.tid ? dbg.step.tid : DBG_HOST_TID,
                                 .signal = 2};
}

void dbg_converse(int fd)
{
    struct conversation whole = {.fd = fd, .acks = true, .open = true}, *c = &whole;

    hd_buf_init(&c->in);
    while (c->open) {
        struct pollfd fds[] = {{.fd = c->fd, .events = POLLIN},
                               {.fd = dbg.wake[0], .events = POLLIN}};
        dbg_lock();
        bool waits = dbg.interrupted && !dbg.stopped;
        dbg_unlock();
        int n = poll(fds, 2, waits || dbg_is_apart() ? HOST_PATIENCE_MS : -1);
        if (n < 0 && errno != EINTR)
            break;
        if (n > 0 && fds[0].revents)
            input_read(c);
        char drained[64];
        if (n > 0 && fds[1].revents)
            (void)!read(dbg.wake[0], drained, sizeof(drained));
        struct hd_buf running;
        hd_buf_init(&running);
        /* Where the host's debugger has stopped all threads, nobody would answer. */
        if (n == 0 && waits && dbg.running && !dbg_is_apart())
            dbg.running(&running);
        dbg_lock();
        if (n == 0 && dbg.interrupted && !dbg.stopped)
            host_stop_locked(&running);
        if (dbg_is_alone())
            dbg.ctas.len = 0;
        input_take_locked(c);
        if (c->open && dbg.stopped && !dbg.reported)
            stop_send_locked(c);
        else if (c->open && !dbg.stopped && !dbg.non_stop)
            said_send_locked(c);
        notify_locked(c);
        dbg_unlock();
        hd_buf_fini(&running);
    }
    hd_buf_fini(&c->in);
}
