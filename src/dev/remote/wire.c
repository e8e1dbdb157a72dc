#include "dev/remote/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

bool remote_send(int socket, const struct remote_message *message, int fd)
{
    struct iovec body = {(void *)(uintptr_t)message, sizeof(*message)};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr header = {.msg_iov = &body, .msg_iovlen = 1};
    ssize_t sent_B;

    if (fd >= 0) {
        header.msg_control = control;
        header.msg_controllen = sizeof(control);
        struct cmsghdr *c = CMSG_FIRSTHDR(&header);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    }
    while ((sent_B = sendmsg(socket, &header, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    return sent_B == (ssize_t)sizeof(*message);
}

bool remote_receive(int socket, struct remote_message *out_message, int *out_fd)
{
    struct iovec body = {out_message, sizeof(*out_message)};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct msghdr header = {.msg_iov = &body,
                            .msg_iovlen = 1,
                            .msg_control = control,
                            .msg_controllen = sizeof(control)};
    ssize_t got_B;

    *out_fd = -1;
    while ((got_B = recvmsg(socket, &header, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    if (got_B < 0)
        return false;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            memcpy(out_fd, CMSG_DATA(c), sizeof(*out_fd));
    if (got_B == (ssize_t)sizeof(*out_message))
        return true;
    hal_shared_destroy(*out_fd, NULL, 0);
    *out_fd = -1;
    return false;
}

enum hd_status remote_file_make(const void *bytes, size_t size_B, int *out_fd)
{
    void *at;

    HD_TRY(hal_shared_create("heddle-message", size_B ? size_B : 1, out_fd, &at));
    if (size_B)
        memcpy(at, bytes, size_B);
    munmap(at, size_B ? size_B : 1);
    return HD_OK;
}

enum hd_status remote_file_map(int fd, size_t size_B, const void **out_at)
{
    void *at = MAP_FAILED;

    if (size_B && hal_shared_size(fd) >= size_B)
        at = mmap(NULL, size_B, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return hd_error(HD_BAD_ARG, "descriptor %d does not hold %zu bytes", fd, size_B);
    *out_at = at;
    return HD_OK;
}
