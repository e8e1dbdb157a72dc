/*
 * The server's state.
 *
 *     program's threads                         the server's thread (server.c, conversation.c)
 *     hooks.c: before each operation            packets.c: what GDB asks, while `stopped`
 *       a reason to stop? ── dbg_stop_locked() ──► reply, then commands
 *       wait ◄──────────────────────────────────── vCont: resume
 *
 * One lock, `dbg.lock`, is held by whoever executes a debuggable CTA and by whoever answers GDB,
 * and never while waiting. So one debuggable CTA executes at a time, and what GDB sees stands
 * still. It is outside of the ranks of base/lock.h: CTAs hold it while they call the device, and
 * what they call does not come back here, but for dbg_program_create(), which takes it first.
 */
#ifndef HD_DBG_PRIVATE_H
#define HD_DBG_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "dbg/dbg.h"
#include "dbg/dump/dump_file.h"
#include "dbg/exceptions.h"
#include "dbg/unit.h"
#include "interp/interp_debug.h"

#define DBG_HOST_TID    1
#define DBG_FIRST_TID   2
#define DBG_CTA_THREADS 1024 /* numbers of threads that a CTA takes */
#define DBG_WARPS       32
#define DBG_ANY_TID     0

struct dbg_global {
    char *name;
    uint64_t va;
    bool is_managed;
};

struct dbg_program {
    struct dbg_unit **units;
    size_t nunits;
    HD_VEC(const struct ir_module *) codes;
    HD_VEC(struct dbg_global) globals;
    _Atomic bool wanted; /* dbg_wants(), as it was when the program last went on */
};

/* A CTA between its begin and its end. */
struct dbg_cta {
    struct interp_cta *cta;
    struct dbg_program *program; /* NULL: it has gone */
    uint64_t serial;
    pid_t worker;               /* the thread that executes it, or did last */
    uint32_t kernel;            /* number of its launch */
    uint32_t passed[DBG_WARPS]; /* lanes whose place was reported: not again before they move on */
    uint32_t parted[DBG_WARPS]; /* passes in which only some of a warp's lanes moved */
};

struct dbg_breakpoint {
    uint64_t pc;
    HD_VEC(char *) conditions; /* agent expressions in hex; any of them */
};

struct dbg_watch {
    uint64_t address, size_B; /* as GDB said */
    char kind;                /* '2' write, '3' read, '4' access */
    uint64_t tid;             /* whose, of addresses on the stack; else 0 */
    /* history_find.c */
    uint64_t host;  /* where it is in the host's memory; 0: not known beforehand */
    uint64_t value; /* of a register, before what is executed now */
    bool is_known;
};

enum dbg_stop_kind {
    DBG_STOP_NONE,
    DBG_STOP_BREAK,
    DBG_STOP_STEP,
    DBG_STOP_WATCH,
    DBG_STOP_SIGNAL,
    DBG_STOP_LIBRARY,
    DBG_STOP_BEGIN, /* of the history: there is nothing before it */
};

struct dbg_stop {
    enum dbg_stop_kind kind;
    uint64_t tid;
    unsigned signal;
    uint64_t address; /* WATCH */
    char watch;
    unsigned exception; /* CUDA's number; 0: none */
    char text[400];     /* of an exception, or of a launch */
};

struct dbg_step {
    uint64_t tid;      /* 0: nobody steps */
    uint64_t from, to; /* goes on while it is there; from == to: one instruction */
    bool is_free;      /* goes on until something else stops it: only its warp may run */
    bool moved;
    bool is_lost; /* the thread has ended */
};

struct dbg {
    pthread_mutex_t lock;
    const struct dump_file *core; /* a core dump is looked at: nothing runs, nothing changes */
    pthread_cond_t changed;       /* `stopped` or `released` */
    _Atomic pid_t holder;         /* the thread that has the lock */
    pthread_t thread;
    int listener, peer; /* -1: none */
    int wake[2];        /* a pipe: the program has something to tell */
    bool attached, stopped, released, reported;
    bool ends_when_lost;       /* HEDDLE_GDB_LOST=end */
    dbg_notified_fn *notified; /* constant once the server runs; NULL: nobody */
    dbg_running_fn *running;
    bool interrupted; /* GDB asked for a stop */
    bool ends;        /* GDB asked for the program's end */
    bool break_on_launch;
    bool aside;         /* threads are shown one byte behind where they are... */
    uint64_t stepped;   /* this one, too: GDB believes that it has made a step */
    uint64_t not_aside; /* but for this one, whose stop GDB has still to show */
    bool non_stop;      /* stops are told as they come: notify.c */
    bool fault_shown;   /* of the access that is made now */
    struct dbg_stop stop;
    struct dbg_step step;
    uint64_t focus;  /* thread of the `g` and `m` packets */
    bool lldb;       /* the debugger is LLDB */
    uint64_t reader; /* thread of its `m` packets */
    uint64_t home;   /* the thread that the user looked at last: GDB steps over others in between */
    bool is_shown;   /* the user has seen the stop; GDB makes others for itself */
    uint64_t nctas_ever;
    uint32_t nunits_ever, nkernels;
    uint32_t kernels_seen; /* launches below this were shown */
    uint64_t last_grid;
    HD_VEC(struct dbg_cta *) ctas;
    HD_VEC(struct dbg_program *) programs;
    HD_VEC(struct dbg_breakpoint) breaks;
    HD_VEC(struct dbg_watch) watches;
    struct dbg_stop watched; /* a watchpoint that was hit and is not reported yet */
    struct hd_buf said;      /* for GDB's console */
    char folder[256];        /* of our files */
    char socket_path[128];   /* of a unix socket; else "" */
    pid_t pid;
};

extern struct dbg dbg;

/* ---- hooks.c */
extern const struct interp_debug dbg_hooks;
/* A warp before its lanes move. */
struct dbg_lane {
    struct interp_thread *t; /* NULL: it does not run */
    struct interp_spot spot;
    unsigned depth;
};
struct dbg_pass {
    struct dbg_cta *cta;
    uint32_t warp, nlanes, running;
    struct dbg_lane lanes[32];
};

/* ---- stop.c */
/* Stops the program with this reason and waits until it may go on. */
void dbg_stop_locked(const struct dbg_stop *stop);
/* While it is stopped. */
void dbg_wait_locked(void);
/* Wakes the server's thread. */
void dbg_wake(void);

/* ---- breaks.c */
const struct dbg_breakpoint *dbg_break_at(uint64_t pc); /* NULL: there is none */
/* Is one of these lanes at a breakpoint whose condition holds? */
bool dbg_breaks(const struct dbg_pass *p, uint32_t lanes, struct dbg_stop *out);

/* ---- history.c: the lock is held */
/* Records the CTA from here on; false: it cannot be. */
bool dbg_history_begin(struct dbg_cta *c);
void dbg_history_end(void);
bool dbg_history_is_on(void);
/* The program goes on from where it stands. */
void dbg_history_forward(void);
bool dbg_history_is_of(const struct dbg_cta *c);
/* A round of its warps begins. */
void dbg_history_round(const struct dbg_cta *c);
void dbg_history_pass(const struct dbg_pass *p, uint32_t lanes);
/* Keeps what memory holds before a write; false: it is not there. */
bool dbg_history_access(const struct interp_thread *t, const void *bytes, uint64_t size_B,
                        bool write);
/* In the last pass, a lane has written to the PTX register. */
void dbg_history_wrote(uint32_t reg);
/* A thread of the CTA has failed. True: nobody is to know, it goes on elsewhere in its history. */
bool dbg_history_fault(const struct dbg_cta *c);
/* A thread touches what is watched, in a pass that is executed again. */
void dbg_history_watch(struct dbg_watch *w, struct interp_thread *t);
/* To the thread's instruction before, or to the breakpoint or watched write before. False: there is
 * nothing. */
bool dbg_history_back(uint64_t tid, bool to_break);
bool dbg_history_replays(void);
/* A line: how many instructions of warps it has, and what it takes. */
void dbg_history_describe(struct hd_buf *out);
uint32_t dbg_history_again(struct dbg_pass *p, const struct interp_warp *warp,
                           struct dbg_stop *out_stop);

/* ---- apart.c */
/* As pthread_create(), but what runs is a process. */
int dbg_apart_create(pthread_t *out_thread, void *(*run)(void *));
/* dbg.lock, and waiting for dbg.changed. The process takes it from a thread that a debugger of the
 * host has stopped: nobody else moves then. */
void dbg_lock(void);
void dbg_unlock(void);
void dbg_wait(void);
/* Does this thread hold the lock? Who looks at a core dump is alone and needs none. */
bool dbg_is_locked(void);
/* Is the lock somebody's who stands still in the middle of what it protects? Then nothing that he
 * may look at is freed or moved, and blocks stay as they are. */
bool dbg_is_borrowing(void);
/* Has a debugger stopped this thread of the program? */
bool dbg_is_frozen(pid_t tid);
#define DBG_POINTS_MAX 4096 /* breakpoints and watchpoints that there is room for then */

/* ---- program.c */
/* What launches that begin now are to know. */
void dbg_wanted_set_locked(void);
/* Makes dbg.folder. HD_IO. */
enum hd_status dbg_folder_make(void) HD_MUST_CHECK;
/* What the files in dbg.folder are; nobody reads them any more. */
void dbg_files_remove_locked(void);

/* ---- threads.c: the lock is held */
struct dbg_cta *dbg_cta_of(const struct interp_thread *t);
/* NULL: no memory. */
struct dbg_cta *dbg_cta_add(struct interp_cta *cta, struct dbg_program *program, uint32_t kernel);
uint64_t dbg_tid(const struct interp_thread *t);
/* NULL: the host, or there is none of that number. */
struct interp_thread *dbg_thread(uint64_t tid);
struct interp_thread *dbg_thread_find(const uint32_t ctaid[3], const uint32_t tid[3],
                                      const struct dbg_cta *preferred);
/* The address of a thread's frame; 0: it has ended. */
uint64_t dbg_pc(const struct interp_thread *t, unsigned frame);
uint64_t dbg_sp(const struct interp_thread *t);
/* Whose the address in DBG_STACK is: `preferred`'s if that may be (it may be NULL). */
struct interp_thread *dbg_stack_owner(uint64_t address, struct interp_thread *preferred);
const struct dbg_unit *dbg_unit_of(uint64_t pc);
void dbg_describe(const struct interp_thread *t, struct hd_buf *out);
/* p->nlanes of the warp, as they are now. */
void dbg_pass_fill(struct dbg_pass *p, const struct interp_warp *warp);
/* The first live thread; NULL: there is none. */
struct interp_thread *dbg_any_thread(void);

/* ---- memory.c: the lock is held; as thread `t` (NULL: the host) sees it. How much was done. */
size_t dbg_read(struct interp_thread *t, uint64_t address, void *out, size_t size_B);
size_t dbg_write(struct interp_thread *t, uint64_t address, const void *bytes, size_t size_B);
/* Where bytes of the debugger's address are in the host's memory for the thread; 0: nowhere. */
uint64_t dbg_host_address(struct interp_thread *t, uint64_t address);

/* ---- dump_open.c */
/* HD_CORRUPT, HD_BAD_IMAGE, HD_BAD_VERSION, HD_BAD_PTX, HD_IO, HD_NO_MEMORY. Bytes and folder stay
 * until the end. */
enum hd_status dbg_core_open(const char *bytes, size_t size_B) HD_MUST_CHECK;
void dbg_core_close(void);
/* Why the dump was written. */
void dbg_core_stop(struct dbg_stop *out);

/* ---- registers.c */
#define DBG_REGS_XML_NAME "target.xml"
void dbg_regs_xml(struct hd_buf *out);
void dbg_regs_put(const struct interp_thread *t, struct hd_buf *out); /* in hex */
bool dbg_reg_get(const struct interp_thread *t, unsigned number, uint64_t *out_value);

/* ---- agent.c: true unless the expression is 0 or cannot be computed */
bool dbg_condition(struct interp_thread *t, const char *hex);
void dbg_break_fini(struct dbg_breakpoint *b);

/* ---- peer.c: is it of this user, or of root? Says so, once, if not */
bool dbg_peer_is_ours(int fd);

/* ---- conversation.c */
/* With the debugger at the other end, until it goes. */
void dbg_converse(int fd);
/* False: nobody is there. */
bool dbg_packet_send(int fd, const char *text, size_t len);
/* Does the protocol have this where no packet is? */
bool dbg_is_between_packets(char c);

/* ---- packets.c: answers a packet; false: the program goes on, the reply comes when it stops */
bool dbg_packet(const char *packet, size_t len, struct hd_buf *out_reply);
void dbg_resume_locked(void);
void dbg_forget_locked(void); /* breakpoints and the like: the debugger has gone */

/* ---- packet_query.c: dbg.stop, as GDB is told of it */
void dbg_stop_reply(struct hd_buf *out);

/* ---- notify.c: stops in GDB's non-stop mode; the lock is held */
bool dbg_is_apart(void);
bool dbg_is_alone(void);                 /* the program has ended */
void dbg_notify_stop(void);              /* dbg.stop has happened */
void dbg_notify_step(uint64_t tid);      /* it has made its step */
void dbg_notify_halt(uint64_t tid);      /* GDB wants the thread to stand still */
void dbg_notify_all(struct hd_buf *out); /* all that stand still, from the first one on */
void dbg_notify_next(struct hd_buf *out);
/* What is to be told without having been asked; false: nothing now. */
bool dbg_notify_take(struct hd_buf *out);
void dbg_notify_go_on(void); /* threads are no longer where GDB was told */
void dbg_notify_forget(void);

/* ---- monitor.c: commands of the Python side */
void dbg_monitor(const char *command, struct hd_buf *out_text);

#endif
