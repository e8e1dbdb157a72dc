/*
 * Programs of libnvrtc: a source, headers that exist in memory only, and what compiling made.
 *
 *     nvrtc.c      the entry points: checks, copies results out
 *     options.c    words of the command line -> struct rtc_options
 *     build.c      a folder with the sources -> clang -> PTX, log and lowered names
 *     commas.c     commas that NVIDIA's front end takes and clang does not
 *     log.c        clang's messages in the words that programs look for
 *     kept.c       what is kept between programs: what stands in front of them, results
 *     places.c     where this library finds its headers and the device maths
 *
 * Threads: a program is used by one thread at a time, as the manual asks; different ones by any.
 */
#ifndef HD_API_NVRTC_PROGRAM_H
#define HD_API_NVRTC_PROGRAM_H

#include "base/str.h"
#include "base/vec.h"
#include "clang/clang.h"
#include "nvrtc.h"
#include "obj/cache.h"

struct rtc_header {
    char *name, *text;
};

struct rtc_expression {
    char *text, *lowered; /* lowered: NULL before it is compiled */
};

struct _nvrtcProgram {
    char *source, *name;
    HD_VEC(struct rtc_header) headers;
    HD_VEC(struct rtc_expression) expressions;
    struct hd_buf log, ptx, image; /* image: what is loaded in place of a cubin or of LTO-IR */
    bool compiled, is_lto, has_cubin;
    int (*flow)(void *, void *);
    void *flow_payload;
};

/* What the words of a command line ask for. */
struct rtc_options {
    struct clang_args clang; /* words for clang */
    struct hd_buf prologue;  /* lines in front of the source: macros, files to include */
    char target[16];         /* "sm_90a" */
    unsigned cc;             /* 90 */
    char variant;            /* 'a', 'f' or 0 */
    bool is_virtual;         /* compute_90: no cubin is made */
    bool lto, default_device, no_source_include, syntax_only;
};

/* False, with the reason in the log, when a word is not known or its value is not. */
bool rtc_options_read(struct rtc_options *o, int n, const char *const *words, struct hd_buf *log);
void rtc_options_fini(struct rtc_options *o);

/* Compiles; the program's log, PTX, image and lowered names are empty before. */
nvrtcResult rtc_build(struct _nvrtcProgram *program, const struct rtc_options *options);

/* Appends what clang wrote to a program's log. */
void rtc_log_put(struct hd_buf *log, const struct hd_buf *text);

/*
 * Takes the commas at the end of template arguments out of the file `name` where clang's log
 * complains of them. False: it does not.
 */
bool rtc_commas_drop(char *source, const char *name, const struct hd_buf *log);

/*
 * Writes heddle/rtc.h, as clang compiles it ahead for these words, to a file. False: it is not
 * worth it yet (unless it is wanted always), or cannot be done.
 */
bool rtc_front_get(const struct clang_args *words, bool always, const char *path);

/* A program with these words compiled without what rtc_front_get() wrote, and not with it. */
void rtc_front_refuse(const struct clang_args *words);

/* What clang wrote for words and a text that includes no file. False: nothing is kept. */
bool rtc_result_key(const struct clang_args *words, const char *text,
                    struct obj_cache_key *out_key);
bool rtc_result_get(struct obj_cache_key key, struct hd_buf *log, struct hd_buf *ptx);
void rtc_result_put(struct obj_cache_key key, const struct hd_buf *log, const struct hd_buf *ptx);

/* Paths kept for the process's life, or NULL: the folder of the CUDA headers, the device maths. */
const char *rtc_headers(void);
const char *rtc_libdevice(void);
/* The search path of the first. */
void rtc_put_headers(struct clang_args *args);

#endif
