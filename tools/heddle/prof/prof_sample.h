/*
 * Samples of host code: what their frames are called, when a report is made, and the tree of calls,
 * when one is shown.
 */
#ifndef HEDDLE_TOOLS_PROF_SAMPLE_H
#define HEDDLE_TOOLS_PROF_SAMPLE_H

#include "base/vec.h"
#include "prof/format.h"
#include "prof/prof_db.h"

struct prof_frame_name {
    int64_t symbol, module; /* rows of StringIds */
    bool is_resolved;
};

/* What the frames of a process's recording are in. Zeroes are empty. */
struct prof_frames {
    HD_VEC(const struct prof_module *) modules; /* by number - 1; NULL: damaged */
    HD_VEC(struct prof_frame_name) names;
    struct hd_map by_frame; /* index in `names` + 1 */
};

/* False: no memory. What is damaged is no module. */
bool prof_frames_add(struct prof_frames *frames, const struct prof_module *module);
void prof_frames_fini(struct prof_frames *frames);
/* Rows of SAMPLING_CALLCHAINS for the sample of that id; `program` is the process's file. */
void prof_sample_put(struct prof_db *db, struct prof_frames *frames, const char *program,
                     const struct prof_sample *sample, int64_t id);

/* A function and who called it. */
struct prof_called {
    int64_t symbol, module;     /* rows of StringIds */
    size_t caller, child, next; /* indices; child: one of those it calls, next: of its caller */
    int64_t total, self;        /* of the samples' weights */
    int64_t samples;
};

/* Calls of samples, which share what they have in common from the outermost on. */
struct prof_calls {
    HD_VEC(struct prof_called) at; /* the first is nobody, whom index 0 stands for */
    HD_VEC(size_t) leaves; /* of samples, by their ids: where each was; 0: it has no stack */
    struct hd_map by_caller;
};
/* Of a report that is open. With `merged` a function that calls itself is one. */
enum hd_status prof_calls_read(sqlite3 *db, const char *path, bool merged, struct prof_calls *out)
    HD_MUST_CHECK;
void prof_calls_fini(struct prof_calls *calls);

/*
 * Makes the table host_tree in a report that is open: a row for each function called from there
 * that at least PROF_TREE_LEAST of the samples' time was in, in the order in which they are shown.
 */
#define PROF_TREE_LEAST 0.005
enum hd_status prof_sample_tree(sqlite3 *db, const char *path) HD_MUST_CHECK;

#endif
