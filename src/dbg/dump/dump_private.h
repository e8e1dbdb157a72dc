/* Between dump.c, which stops what runs, and dump_write.c, which writes the file. */
#ifndef HD_DBG_DUMP_DUMP_PRIVATE_H
#define HD_DBG_DUMP_DUMP_PRIVATE_H

#include <pthread.h>

#include "dbg/dump/dump.h"
#include "interp/interp_debug.h"

/* A block between its begin and its end. */
struct dump_cta {
    struct interp_cta *cta;
    pthread_mutex_t turn;               /* held by whoever executes it, or writes it down */
    const struct dump_program *program; /* of its code, once it has been stopped */
    bool stands;                        /* it is in the file that is being written */
};

struct dump_program {
    const void *owner;
    const struct dbg_text *texts;
    size_t ntexts;
    HD_VEC(const struct ir_module *) codes;
    HD_VEC(struct dump_variable) variables;
};

/* What failed; `t` is NULL when nothing did. */
struct dump_fault {
    const struct interp_thread *t;
    unsigned exception, signal;
    char text[400];
};

struct dump_state {
    HD_VEC(struct dump_cta *) ctas;
    HD_VEC(struct dump_program *) programs;
    const struct dump_host *host;
};

/* Of the blocks that stand. HD_IO, HD_NO_MEMORY. */
enum hd_status dump_write(const struct dump_state *s, const struct dump_fault *fault,
                          const struct dump_wish *wish) HD_MUST_CHECK;

#endif
