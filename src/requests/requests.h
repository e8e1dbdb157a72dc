/*
 * What programs mark as requests: how often, and how long each took. libcuda counts the NVTX ranges
 * that HEDDLE_REQUESTS names in a file in shared memory, and `heddle serve` reads it.
 *
 * HEDDLE_REQUESTS is a comma list of NAME, NAME@DOMAIN or NAME*: ranges whose text is NAME, or
 * begins with it. `*` alone stands for all. Ranges of NAME count under their text, those of NAME*
 * together under that, because their texts may hold numbers; those of `*` under their text again.
 * Without the variable nothing listens.
 *
 * The file is the registry's with ".requests.1" (registry/shared.h): made when the first program
 * asks for it, never made smaller, and not emptied, so that its numbers only grow. It has
 * REQUESTS_SERIES places, each for a program, a domain and a name. A place is found by its name's
 * hash and then the next ones, taken by a compare and swap of its owner, and never given back; one
 * that is being filled by a process that was killed is taken by the next who comes by. Counting is
 * one atomic addition each, so nothing is half done.
 *
 * What is read is what any process of the user's may have written: none of it is trusted.
 */
#ifndef HD_REQUESTS_REQUESTS_H
#define HD_REQUESTS_REQUESTS_H

#include "base/status.h"
#include "requests/histogram.h"

#define REQUESTS_VERSION 1u
#define REQUESTS_SERIES  128u
#define REQUESTS_READY   UINT32_MAX

struct requests_name {
    char program[64], domain[64], range[128]; /* with NULs; the default domain is "" */
};

struct requests_series {
    _Atomic uint64_t owner; /* 0: free; REQUESTS_READY; else the process that fills it */
    struct requests_name name;
    _Atomic uint64_t sum_ns, max_ns;
    _Atomic uint64_t counts[REQUESTS_BUCKETS];
};

struct requests_file {
    uint8_t magic[8];
    uint32_t version, nseries;
    uint64_t size_B;
    _Atomic uint64_t lost; /* ranges that found no place, or no end */
    _Alignas(64) struct requests_series series[REQUESTS_SERIES];
};

/* ---- for programs; any thread */

/* Listens if HEDDLE_REQUESTS says so. HD_BAD_ARG, HD_BUSY; without its file it only logs. */
enum hd_status requests_start(void) HD_MUST_CHECK;

/* A list as above is well-formed. */
bool requests_list_check(const char *list);
/* The name under which a range counts: out_name's `range`. False: it is in no list. */
bool requests_list_find(const char *list, const char *domain, const char *text,
                        char out_range[128]);

/* The place of that name, taken if there is none; NULL: all are taken. */
struct requests_series *requests_place(struct requests_file *file,
                                       const struct requests_name *name);
void requests_count(struct requests_series *series, uint64_t ns);

/* ---- for who looks */

/* The file, to be read; NULL: there is none, or it is not to be used. Stays mapped. */
const struct requests_file *requests_open(void);
/* Of a file's bytes, whether they are such a file. HD_BAD_VERSION, HD_CORRUPT. */
enum hd_status requests_check(const void *bytes, size_t size_B) HD_MUST_CHECK;

struct requests_read {
    struct requests_name name;
    uint64_t sum_ns, max_ns;
    struct requests_counts counts;
};
/* False: nobody has that place. */
bool requests_read(const struct requests_file *file, uint32_t place, struct requests_read *out);

/* The same file, to be written; for requests_start() and tests. */
enum hd_status requests_make(struct requests_file **out_file) HD_MUST_CHECK;

#endif
