/*
 * Whose is a connection? Who debugs a program rules it, so only its own user and root may. A socket
 * in the file system knows; of a TCP connection within this machine the system's table of sockets
 * says whose the other end is.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "dbg/private.h"

enum { ESTABLISHED = 1 };

/* An address as the table has it: hexadecimal, of IPv4 in IPv6 the last eight digits. */
static bool is_address(const char *digits, unsigned port, const struct sockaddr_in *wanted)
{
    static const char mapped[] = "0000000000000000FFFF0000";
    size_t len = strlen(digits);
    unsigned ip;

    if (len == 32 && memcmp(digits, mapped, sizeof(mapped) - 1) != 0)
        return false;
    return (len == 8 || len == 32) && sscanf(digits + len - 8, "%8x", &ip) == 1 &&
           ip == wanted->sin_addr.s_addr && port == ntohs(wanted->sin_port);
}

/*
 * The owner of the socket that is bound to `near` and connected to `far`. One that its process has
 * closed is in the table, too, as root's, but is not established.
 */
static bool owner_find(const char *table, const struct sockaddr_in *near,
                       const struct sockaddr_in *far, uid_t *out_uid)
{
    char line[256], local[33], remote[33];
    unsigned local_port, remote_port, state, uid;
    FILE *file = fopen(table, "re");
    bool found = false;

    while (file && !found && fgets(line, sizeof(line), file))
        found = sscanf(line, " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*s %*s %*s %u", local,
                       &local_port, remote, &remote_port, &state, &uid) == 6 &&
                state == ESTABLISHED && is_address(local, local_port, near) &&
                is_address(remote, remote_port, far);
    if (file)
        fclose(file);
    if (found)
        *out_uid = uid;
    return found;
}

static bool owner_of(int fd, uid_t *out_uid)
{
    struct sockaddr_in own = {0}, peer = {0};
    socklen_t own_B = sizeof(own), peer_B = sizeof(peer), unix_B = sizeof(struct ucred);
    struct ucred unix_peer;

    if (getsockname(fd, (struct sockaddr *)&own, &own_B) < 0 ||
        getpeername(fd, (struct sockaddr *)&peer, &peer_B) < 0)
        return false;
    if (own.sin_family == AF_INET)
        return owner_find("/proc/net/tcp", &peer, &own, out_uid) ||
               owner_find("/proc/net/tcp6", &peer, &own, out_uid);
    if (own.sin_family != AF_UNIX ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &unix_peer, &unix_B) < 0)
        return false;
    *out_uid = unix_peer.uid;
    return true;
}

bool dbg_peer_is_ours(int fd)
{
    static bool notified; /* once: who tries again and again shall not fill the log */
    uid_t uid;
    bool known = owner_of(fd, &uid);

    if (known && (uid == getuid() || uid == 0))
        return true;
    if (!notified && known)
        hd_log("debugger: a connection of user %u is refused: the program is user %u's",
               (unsigned)uid, (unsigned)getuid());
    else if (!notified)
        hd_log("debugger: a connection is refused: it is not from this machine, or has ended; from "
               "another one, `ssh -L PORT:localhost:PORT` brings it here");
    notified = true;
    return false;
}
