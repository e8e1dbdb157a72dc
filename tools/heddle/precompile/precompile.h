/*
 * heddle precompile: code of all kernels of programs and libraries, before anybody launches them.
 *
 *     precompile_find.c   files and folders to images
 *     precompile_pool.c   images to worker processes, and what they say
 *     precompile_work.c   a worker: a client of the driver
 *     precompile.c        the command, and the report
 *
 * Workers load images as programs do and ask the driver for code, which puts it into the code
 * cache: the keys are those that programs will look for, whatever they depend on.
 */
#ifndef HEDDLE_TOOLS_PRECOMPILE_H
#define HEDDLE_TOOLS_PRECOMPILE_H

#include "base/arena.h"
#include "common/program.h"

/* What one call of cuModuleLoadData() takes. */
struct precompile_image {
    const void *bytes; /* a container, a wrapper of several, or a bare image */
    size_t file;       /* that it is of */
    size_t size_B;     /* of its largest entry, decompressed: about how much work it is */
};

struct precompile_file {
    const char *path;
    struct program program; /* images lie in it */
    size_t images, without_ptx;
    size_t kernels, failed; /* made; not made */
};

struct precompile_failure {
    size_t file;
    const char *kernel; /* NULL: the image does not load */
    const char *why;
};

struct precompile {
    const char *device;              /* of HEDDLE_DEVICE; NULL: as the environment says */
    HD_VEC(const uint32_t *) blocks; /* of three numbers; none: those that are likely */
    unsigned workers;
    struct hd_arena arena;
    HD_VEC(struct precompile_file) files; /* those that have device code */
    HD_VEC(struct precompile_image) images;
    HD_VEC(const char *) torches; /* libtorch_cuda.so of PyTorch installations */
    size_t examined;
    /* of a device */
    HD_VEC(struct precompile_failure) failures;
    const char *device_name;
};

/* Everything that PATH names: a folder's files; a program with its libraries; an image. The exit
 * code, after a message. */
int precompile_find(struct precompile *p, const char *path);
void precompile_fini(struct precompile *p);

/* Has all images compiled for p->device. The exit code: what a kernel fails with is no failure of
 * it. */
int precompile_run(struct precompile *p);

/* ---- between the pool and its workers */

/* An image, or every n-th of its kernels: several workers share a large one. */
struct precompile_share {
    uint32_t image, first, step;
};

enum precompile_event_kind {
    EVENT_DEVICE, /* `name`: what the device is called */
    EVENT_LOAD,   /* begins to load the image */
    EVENT_NONE,   /* it has no PTX for the device */
    EVENT_IMAGE,  /* it does not load: why */
    EVENT_KERNEL, /* begins to compile kernel `position`, `name` */
    EVENT_MADE,   /* it is there */
    EVENT_FAILED, /* it is not: why */
    EVENT_FATAL,  /* the worker cannot work: why */
};

/* Written to a pipe as a whole: it is smaller than PIPE_BUF. */
struct precompile_event {
    uint32_t worker, kind, share, position;
    char name[512];
    char why[1024];
};

/* What a worker has. */
struct precompile_worker {
    const struct precompile *p;
    const struct precompile_share *shares;
    uint32_t nshares;
    _Atomic uint32_t *next; /* share that nobody has taken; shared memory */
    int events;             /* pipe */
    uint32_t number;
    /* Of one that takes over from a worker that has died: else nshares and 0. */
    uint32_t share, position;
};

/* The process's exit code. */
int precompile_work(const struct precompile_worker *worker);

#endif
