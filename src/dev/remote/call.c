/* Requests of the other process, and whether it is there. */
#include <poll.h>

#include "dev/remote/private.h"

bool remote_is_gone(struct remote_device *dev)
{
    struct pollfd p = {.fd = dev->socket};

    if (!atomic_load(&dev->is_gone) && poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR))
        atomic_store(&dev->is_gone, true);
    return atomic_load(&dev->is_gone);
}

enum hd_status remote_call(struct remote_device *dev, struct remote_message *message, int fd,
                           int *out_fd)
{
    int got = -1;
    bool answered;

    hd_lock_acquire(&dev->lock);
    answered = !atomic_load(&dev->is_gone) && remote_send(dev->socket, message, fd) &&
               remote_receive(dev->socket, message, &got);
    if (!answered)
        atomic_store(&dev->is_gone, true);
    hd_lock_release(&dev->lock);
    if (out_fd)
        *out_fd = got;
    else
        hal_shared_destroy(got, NULL, 0);
    if (!answered)
        return hd_error(HD_INTERNAL, "the process of the device is gone");
    message->text[sizeof(message->text) - 1] = 0;
    return message->status ? hd_error((enum hd_status)message->status, "%s", message->text) : HD_OK;
}
