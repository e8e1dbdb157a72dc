/*
 * heddle check: runs a program, receives what the checker in its processes finds (src/san), and
 * shows it as compute-sanitizer does.
 *
 *     check.c           the command: options, program, records, summaries, exit status
 *     check_options.c   the command line (check_options.def and src/san/options.def)
 *     check_receive.c   starting the program, the socket, a queue of records
 *     check_record.c    a record's text to the structures below
 *     check_session.c   what was found so far: counts, causes, suppressed, what is printed
 *     check_group.c     causes that are shown as one
 *     check_text.c      a finding, or a group, as lines
 *     check_xml.c, check_json.c, check_html.c   the other forms
 *     check_suppress.c  suppressions; xml_read.c reads them
 *     check_names.c     C++ names, functions of host frames
 *
 * Single-threaded but for check_receive.c. Records own themselves: an arena each.
 */
#ifndef HEDDLE_TOOLS_CHECK_H
#define HEDDLE_TOOLS_CHECK_H

#include <stdio.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "san/extent.h"
#include "san/options.h"
#include "san/record.h"

/* ---- records (check_record.c); texts are of the record's arena, never NULL where not said */

struct check_frame {
    uint64_t pc;        /* in the module's file */
    const char *module; /* "": not known */
    const char *func;   /* as the linker knows it; "": not known */
};

struct check_stack {
    size_t n;
    struct check_frame *frames; /* innermost first */
};

struct check_srcloc {
    const char *func;
    const char *file; /* "": not known */
    uint32_t line, column;
};

struct check_actor {
    uint32_t thread[3], block[3];
    const char *verb; /* "" */
    uint64_t pc;
    size_t nplaces; /* at least 1 */
    struct check_srcloc *srclocs;
};

enum { CHECK_ACTORS_MAX = 2 };
struct check_finding {
    const char *tool, *kind, *title;
    enum san_severity severity;
    uint64_t cause, count;
    uint64_t address;
    bool has_address;
    const char *space, *direction; /* "" */
    uint64_t size_B;               /* 0: not known */
    bool has_launch;
    uint64_t launch;
    const char *kernel; /* "" */
    uint32_t grid[3], block[3];
    size_t nsides; /* behind the actors of a race: what is no thread */
    struct {
        const char *verb, *name;
    } sides[CHECK_ACTORS_MAX];
    const char *call, *error, *message; /* of a call that failed; call is "" else */
    int64_t code;
    size_t nactors;
    struct check_actor actors[CHECK_ACTORS_MAX];
    size_t ndetails;
    const char *details[SAN_DETAILS_MAX];
    struct check_stack launched, host, other, allocated, freed;
};

/* word in the record */
#define CHECK_RECORD_LIST(X)                                                                       \
    X(PROCESS, "process")                                                                          \
    X(FINDING, "finding")                                                                          \
    X(MORE, "more")                                                                                \
    X(SUMMARY, "summary")                                                                          \
    X(LOST, "lost")                                                                                \
    X(SESSION, "session") /* of a saved file: what was asked for; how the program ended */
enum check_record_kind {
#define X(name, word) CHECK_##name,
    CHECK_RECORD_LIST(X)
#undef X
        CHECK_RECORD_COUNT
};

struct check_record {
    struct hd_arena arena;
    enum check_record_kind kind;
    uint64_t pid;
    struct check_finding finding;
    struct {
        bool begins;
        uint64_t parent;
        const char *exe;
        size_t narguments;
        const char **arguments;
    } process;
    uint64_t cause, findings, count; /* MORE; LOST: count */
    struct san_extent extent;        /* MORE */
    const char *tool, *name;         /* SUMMARY */
    uint64_t value;
    struct {
        const char *tools; /* NULL: this one tells the end */
        bool leak_check;
        int status; /* as waitpid() has it */
    } session;
};

/* HD_CORRUPT: what is wrong; nothing is to be freed then. */
enum hd_status check_record_read(const char *text, size_t len, struct check_record *out)
    HD_MUST_CHECK;
void check_record_fini(struct check_record *record);

/* ---- options (check_options.c) */

struct check_options {
    struct san_options san;
    struct hd_buf line; /* of HEDDLE_CHECK, as far as the command line says it */
#define FLAG(member, name, letter, doc)                  bool member;
#define CHECK_YESNO(member, name, def, doc)              bool member;
#define CHECK_COUNT(member, name, letter, max, def, doc) uint64_t member;
#define CHECK_CHOICE(member, name, words, def, doc)      unsigned member;
#define CHECK_TEXT(member, name, arg, doc)               const char *member;
#include "check/check_options.def"
    char **command;  /* the program and its arguments; command[0] NULL: none */
    const char *as;  /* "check", or "compute-sanitizer" */
    bool tool_named; /* by the user */
};
enum { DESTROY_CONTEXT, DESTROY_KERNEL };
enum { DEMANGLE_FULL, DEMANGLE_SIMPLE, DEMANGLE_NO };
enum { LEVEL_AUTO, LEVEL_INFO, LEVEL_WARN, LEVEL_ERROR, LEVEL_FATAL };

/* -1 to go on, or the exit code. */
int check_options_parse(int argc, char **argv, struct check_options *out);
void check_options_fini(struct check_options *options);
/* "%p", "%q{NAME}", "%%" of a file name; NULL, with a message: it is malformed. hd_free() it. */
char *check_file_name(const char *option, const char *pattern);

/* ---- names (check_names.c) */

/* A demangled name, or the name itself; valid until the third next call. */
const char *check_demangle(const char *name, unsigned how);
/* The function at an address of a module's file; "" when it is not known. Kept. */
const char *check_symbol(const char *module, uint64_t pc);
/* Where the function begins that has the address, in a file without names too; 0: not known. */
uint64_t check_function_start(const char *path, uint64_t pc);
/* The part behind the last slash, unless paths are wanted. */
const char *check_path(const struct check_options *options, const char *path);
/* How many frames of a stack are shown, and which of these are not; the function of one: as above.
 */
size_t check_stack_shown(const struct check_options *options, const struct check_stack *stack);
bool check_frame_is_hidden(const struct check_options *options, const struct check_frame *frame);
const char *check_frame_func(const struct check_frame *frame);

/* ---- a finding as text (check_text.c): lines without the prefix, each with its line feed */

struct check_group;
/* `group`: with how often, by whom and where; NULL: the finding alone. */
void check_text_finding(const struct check_options *options, const struct check_finding *f,
                        const struct check_group *group, struct hd_buf *out);
/* On one line, without its end: "Invalid __global__ write of size 4 bytes at k(int *)+0x90". */
void check_text_short(const struct check_options *options, const struct check_finding *f,
                      struct hd_buf *out);
/* "(0-31,0,0)", of the least and the greatest of each dimension. */
void check_text_range(const struct check_options *options, const uint32_t range[2][3],
                      struct hd_buf *out);
/* "24 times, by threads (232-255,0,0) in block (3,0,0)"; nothing when it is only once. */
void check_text_times(const struct check_options *options, const struct check_group *group,
                      struct hd_buf *out);
/* "0x7f00, 0x7f04, 0x7f08, all from 0x7f00 to 0x7f7c"; nothing when there are no two. */
void check_text_addresses(const struct check_group *group, struct hd_buf *out);
/* "kernel(int *)+0x90 in file.cu:41" */
void check_text_srcloc(const struct check_options *options, const struct check_actor *actor,
                       struct hd_buf *out);

/* ---- suppressions (check_suppress.c) */

struct check_rules;
/* NULL, with a message: the file cannot be read. */
struct check_rules *check_rules_read(const char *path);
/* The same of a text; `name` is in front of errors, which hd_error_message() has. */
enum hd_status check_rules_parse(const char *text, size_t len, const char *name,
                                 struct check_rules **out) HD_MUST_CHECK;
void check_rules_free(struct check_rules *rules);
/* `rules` may be NULL. */
bool check_rules_match(const struct check_rules *rules, const struct check_finding *f);
/* The stack that XML has: of the call, else of the launch, else of the allocation. */
const struct check_stack *check_host_stack(const struct check_finding *f);

/* The call that it is about; of a race that of its first side that is one; "": none. */
const char *check_api(const struct check_finding *f);

/* The words of XML, which suppressions compare. */
const char *check_xml_kind(const struct check_finding *f);
const char *check_xml_level(const struct check_finding *f);

/* ---- the session (check_session.c) */

/* What a process counted of a cause without sending it: the last MORE. */
struct check_more {
    uint64_t pid, findings, count;
    struct san_extent extent;
};

/* A root cause: what was found at one place, of one kind. */
struct check_cause {
    struct check_record *first; /* the finding that stands for all; owned. NULL: only counted */
    uint64_t findings, count;   /* shown or counted; complete after check_session_total() */
    struct san_extent extent;   /* likewise */
    size_t group;               /* index in groups + 1; 0: none */
    HD_VEC(struct check_more) more;
    bool suppressed, hidden; /* `first` is: by a rule; below print-level */
};

/* What is shown as one (check_group.c). */
enum { CHECK_ADDRESSES_MAX = 3 };
struct check_group {
    const struct check_finding *first;
    enum san_severity severity; /* the worst */
    bool suppressed;
    /* By check_group_sum(). */
    uint64_t findings, count, causes;
    struct san_extent extent;
    size_t naddresses;
    uint64_t addresses[CHECK_ADDRESSES_MAX]; /* the first, each once */
    /* Text: when findings came; whether, and of how many, it was printed. */
    uint64_t first_ns, last_ns, printed_findings, printed_count;
    bool is_printed, is_beyond_limit;
    bool is_aftermath; /* calls that fail because a kernel did, as one that is shown says */
};

struct check_totals {
    uint64_t errors;     /* of memcheck, initcheck, synccheck */
    uint64_t printed;    /* findings */
    uint64_t unprinted;  /* beyond print-limit; as errors */
    uint64_t suppressed; /* as errors */
    uint64_t hazards, hazard_errors, hazard_warnings;
    uint64_t orders, order_errors; /* of schedcheck, with warnings */
    uint64_t launches, runs, unfinished;
    uint64_t leaked_B, leaked_allocations;
    uint64_t lost;
    uint64_t processes;
    uint64_t aftermath; /* of errors: those of groups that are */
    uint64_t faults;    /* contexts that a failed kernel, or copy, ended */
};

/* Launches that schedcheck left alone, and why. */
struct check_note {
    uint64_t value;
    char text[80];
};

struct check_session {
    const struct check_options *options;
    FILE *out;                 /* of text */
    FILE *xml, *save;          /* NULL: not wanted */
    struct check_rules *rules; /* NULL: none */
    unsigned tools;            /* bits; of the options, or of a saved file */
    bool leak_check;
    struct hd_map by_hash; /* cause -> index in causes + 1 */
    HD_VEC(struct check_cause) causes;
    HD_VEC(struct check_note) notes;
    HD_VEC(struct check_group) groups; /* complete after check_session_total() */
    struct hd_map by_key;              /* of what groups have in common -> index in groups + 1 */
    struct hd_arena keys;
    struct check_totals totals;
    bool colors;                         /* of titles, on a terminal */
    const struct check_finding *lasting; /* the first call that told of a failed kernel; or NULL */
    bool has_ptx;                        /* a place that was printed is a line of the PTX */
    struct {
        bool leaks;
        uint64_t leaked_B, leaked_allocations;
    } reported; /* by SUMMARY */
    struct {
        const char *kernel; /* mangled; "": it was no kernel's */
        bool is_reported;   /* a finding says where */
    } fault;                /* the first of totals.faults */
    bool failed;            /* a file could not be written, or memory was short */
    int status;             /* of the program, as waitpid() has it; -1: not known */
};

void check_session_init(struct check_session *s, const struct check_options *options);
void check_session_fini(struct check_session *s);
/* A record's text, from a process or a saved file. HD_CORRUPT: it is none. */
enum hd_status check_session_take(struct check_session *s, const char *text, size_t len)
    HD_MUST_CHECK;
/* A line of the output, with the prefix. */
void check_line(struct check_session *s, const char *fmt, ...) HD_PRINTF(2, 3);
/*
 * Prints groups of which nothing has come for a moment, so that each is printed once and with all
 * its threads. Returns when there may be the next, or UINT64_MAX: nothing is waiting.
 */
uint64_t check_session_print_quiet(struct check_session *s, uint64_t now_ns);
/* Totals and groups, which the other forms need; once, at the end. Prints groups that are left. */
void check_session_total(struct check_session *s);
bool check_is_leak(const struct check_finding *f);
bool check_is_race(const struct check_finding *f);
/* Is its place a line of the PTX, because the program was built without -lineinfo? */
bool check_is_in_ptx(const struct check_finding *f);
void check_session_print_summary(struct check_session *s);
/* Which kernel failed, that what came behind it was not checked, and what to do, on one line;
 * nothing when no context was ended. */
void check_session_unchecked(const struct check_session *s, struct hd_buf *out);

/* ---- groups (check_group.c) */

/* The cause's by its first finding, which is not hidden; NULL: no memory. */
struct check_group *check_group_join(struct check_session *s, struct check_cause *cause);
/* NULL: it is in none. */
struct check_group *check_group_of(struct check_session *s, const struct check_cause *cause);
void check_group_note_address(struct check_group *group, const struct check_finding *f);
/* How often and by whom, of each, as far as it is known. */
void check_group_sum(struct check_session *s);
/* Drops groups that their causes have left; check_group_of() has none afterwards. */
void check_group_drop_empty(struct check_session *s);

/* Text between tags; what XML has no place for is left out. */
void check_xml_text(FILE *out, const char *text);
void check_xml_begin(FILE *out);
void check_xml_finding(const struct check_options *options, const struct check_finding *f,
                       FILE *out);
void check_xml_end(FILE *out);
/* HD_IO, with a message. */
enum hd_status check_json_write(const struct check_session *s, const char *path) HD_MUST_CHECK;
enum hd_status check_html_write(const struct check_session *s, const char *path) HD_MUST_CHECK;

/* ---- running (check_receive.c) */

struct check_run; /* the program and its processes */
/* NULL, with a message. */
struct check_run *check_run_start(const struct check_options *options);
/* The next record, hd_free() it; NULL: all have ended, or *out_timed_out. Waits until then;
 * UINT64_MAX: for ever. */
char *check_run_next(struct check_run *run, uint64_t until_ns, size_t *out_len,
                     bool *out_timed_out);
/* Ends the program. */
void check_run_kill(struct check_run *run);
/* As waitpid() has it; frees everything. */
int check_run_finish(struct check_run *run);

/* ---- if heddle check is killed (check_guard.c) */

/* In the child: it ends with its parent. */
void check_guard_child(pid_t parent);
/* Before the program is started, and before we are a subreaper: its children end with us, too,
 * unless check_guard_end() comes first. -1: that cannot be. */
int check_guard_start(const char *socket);
void check_guard_end(int fd);

#endif
