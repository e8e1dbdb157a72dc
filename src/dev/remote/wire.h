/* What goes over the socket: a request, its answer, each with at most one descriptor. */
#ifndef HD_DEV_REMOTE_WIRE_H
#define HD_DEV_REMOTE_WIRE_H

#include "hal/hal.h"

enum remote_op {
    REMOTE_HELLO,          /* text: backend; fd: table of textures. Back: info; fd: attributes */
    REMOTE_MODULE_LOAD,    /* text: name; a: nfuncs, b: nvars; fd: addresses of variables, key */
    REMOTE_MODULE_UNLOAD,  /* id */
    REMOTE_KERNEL_GET,     /* id: module; b: index; fd: IR, `a` bytes. Back: id, b: number */
    REMOTE_KERNEL_PREPARE, /* id; grid, block */
    REMOTE_DOMAIN_CREATE,  /* a: multiprocessors that are reported. Back: id; fd: fault */
    REMOTE_DOMAIN_DESTROY, /* id */
    REMOTE_DOMAIN_RESET,   /* id */
    REMOTE_DOMAIN_CANCEL,  /* id */
    REMOTE_DOMAIN_FLUSH,   /* id */
    REMOTE_DOMAIN_LIMIT,   /* id, a: limit, b: value */
    REMOTE_QUEUE_CREATE,   /* id: domain, a: priority; fd: ring. Back: id */
    REMOTE_QUEUE_SMS,      /* id; a: limited to `sms`? No grid of it runs */
    REMOTE_QUEUE_DESTROY,  /* id */
    REMOTE_MEM_ADD,        /* fd: memory file. Back: id */
    REMOTE_MEM_REMOVE,     /* id */
    REMOTE_MEM_MAP,        /* id; a: address, b: offset, c: size, d: enum hal_prot */
    REMOTE_MEM_UNMAP,      /* id; a: address, c: size */
    REMOTE_OPS
};

struct remote_message {
    uint32_t op;     /* of the request */
    uint32_t status; /* of the answer */
    uint64_t id, a, b, c, d;
    uint32_t grid[3], block[3];
    union {
        char text[512]; /* or why it failed */
        struct hal_kernel_info kernel;
        struct hal_sms sms;
        struct {
            char description[96];
            char target[32]; /* hal_device_info.target */
            uint32_t units;
            int32_t priority_greatest;
        } device;
    };
};

/* `fd` -1: none. False: the other side is gone. */
bool remote_send(int socket, const struct remote_message *message, int fd) HD_MUST_CHECK;
/* *out_fd is the caller's, or -1. */
bool remote_receive(int socket, struct remote_message *out_message, int *out_fd) HD_MUST_CHECK;
/* Bytes as a memory file that cannot shrink. */
enum hd_status remote_file_make(const void *bytes, size_t size_B, int *out_fd) HD_MUST_CHECK;
/* The first size_B bytes of one, to read; unmap them. HD_BAD_ARG. */
enum hd_status remote_file_map(int fd, size_t size_B, const void **out_at) HD_MUST_CHECK;

#endif
