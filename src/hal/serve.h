/*
 * Queues between processes: the submitter is elsewhere, the device is here.
 *
 *     submitter's process                         device's process
 *     hal_client ──► ring (memory file) ──► hal_server ──► checked copies ──► hal_queue
 *                ◄── retired, stamps    ◄──            ◄── retired, stamps ◄──
 *
 * The ring is the same as in one process (docs/launch-protocol.md). The server copies each packet
 * out of shared memory before it looks at it, so what it has checked cannot change afterwards, and
 * gives it to a queue of the device, position by position. What is wrong with a packet becomes the
 * fault of the domain, with the name of the field, and the packet is retired without effect.
 * Any device can be served: it sees nothing but its own queue.
 *
 * Addresses of data are device addresses, which both sides agree on with the memory objects that
 * they share (hal_mem, mem_export). Semaphores are offsets in numbered regions, and nothing else: a
 * submitter cannot make the device write into its own memory by a semaphore. Host calls are
 * refused. Kernels are trusted as they are in one process.
 *
 * How descriptors, kernel ids and addresses travel is not said here: a socket, an inheritance.
 *
 * Threads: a client is used by one thread at a time, but any may wait. A server has one thread.
 */
#ifndef HD_HAL_SERVE_H
#define HD_HAL_SERVE_H

#include "hal/hal.h"

/* ---- the submitter: needs no device */

struct hal_client {
    struct hal_ring *ring;
    int memfd;             /* of the ring: what the server is given */
    uint64_t params_taken; /* bytes of the parameter ring handed out */
};

/* Makes a ring. */
enum hd_status hal_client_init(struct hal_client *client) HD_MUST_CHECK;
/* Uses a ring made elsewhere; the descriptor stays the caller's. HD_BAD_ARG: it is none. */
enum hd_status hal_client_open(struct hal_client *client, int memfd) HD_MUST_CHECK;
void hal_client_fini(struct hal_client *client);
/* As hal_queue_ops.submit: HD_BUSY, without a message, when fewer than n slots are free. */
enum hd_status hal_client_submit(struct hal_client *client, const union hal_packet *packets,
                                 unsigned n) HD_MUST_CHECK;
/* As hal_queue_params(). */
void *hal_client_params(struct hal_client *client, struct hal_dispatch *p,
                        const struct hal_extension *extension, uint32_t size_B);
/* Blocks until the packet has retired. HD_TIMEOUT without a message. */
enum hd_status hal_client_wait(struct hal_client *client, uint64_t position, uint64_t timeout_ns)
    HD_MUST_CHECK;

/* ---- the device */

struct hal_server;

/*
 * Serves the ring behind `memfd`, which stays the caller's: its packets run and fault in `domain`,
 * which must outlive the server. Starts a thread. HD_BAD_ARG: not a ring.
 */
enum hd_status hal_server_create(struct hal_domain *domain, int priority, int memfd,
                                 struct hal_server **out_server) HD_MUST_CHECK;
/* As hal_queue_sms_set(). */
void hal_server_sms_set(struct hal_server *server, const struct hal_sms *sms);
/* Finishes what was submitted before, then ends the thread. */
void hal_server_destroy(struct hal_server *server);
/*
 * Makes a memory file, which stays the caller's, region `number` (from 1, below HAL_SERVER_REGIONS)
 * for semaphores. Before the first packet that names it.
 */
#define HAL_SERVER_REGIONS 16
enum hd_status hal_server_region(struct hal_server *server, uint32_t number, int memfd)
    HD_MUST_CHECK;

#endif
