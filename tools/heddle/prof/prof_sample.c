/* See prof_sample.h. */
#include "prof/prof_sample.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "check/check.h"

/* ---- names */

bool prof_frames_add(struct prof_frames *frames, const struct prof_module *module)
{
    uint32_t number = module->record.number;

    if (!number || number > UINT16_MAX || module->len > module->record.size_B - sizeof(*module))
        return true;
    while (frames->modules.len < number)
        if (!hd_vec_push(&frames->modules, NULL))
            return false;
    frames->modules.at[number - 1] = module;
    return true;
}

void prof_frames_fini(struct prof_frames *frames)
{
    hd_vec_fini(&frames->modules);
    hd_vec_fini(&frames->names);
    hd_map_fini(&frames->by_frame);
}

/* The file behind its last slash. */
static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/*
 * Functions that are not named in their file are called by where they begin, so that samples of one
 * are samples of one function; code in no file by its address.
 */
static struct prof_frame_name name_of(struct prof_db *db, const struct prof_frames *frames,
                                      const char *program, uint64_t frame)
{
    uint64_t address = frame & PROF_FRAME_ADDRESS, number = frame >> 48;
    const struct prof_module *module =
        number && number <= frames->modules.len ? frames->modules.at[number - 1] : NULL;
    char text[PROF_RECORD_MAX_B + 32];

    if (!module) {
        (void)snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
        return (struct prof_frame_name){prof_db_string(db, text), prof_db_string(db, "[unknown]"),
                                        false};
    }
    (void)snprintf(text, sizeof(text), "%.*s", (int)module->len, module->name);
    if (module->is_kernel)
        return (struct prof_frame_name){prof_db_string(db, check_demangle(text, DEMANGLE_FULL)),
                                        prof_db_string(db, "[CUDA kernel]"), true};
    const char *path = text[0] ? text : program, *symbol = check_symbol(path, address);
    int64_t row = prof_db_string(db, path);
    char place[PROF_RECORD_MAX_B + 64];
    if (symbol[0]) {
        (void)snprintf(place, sizeof(place), "%.*s", (int)strcspn(symbol, "@"), symbol);
        return (struct prof_frame_name){prof_db_string(db, check_demangle(place, DEMANGLE_FULL)),
                                        row, true};
    }
    uint64_t start = check_function_start(path, address);
    (void)snprintf(place, sizeof(place), "%s+0x%llx", file_of(path),
                   (unsigned long long)(start ? start : address));
    return (struct prof_frame_name){prof_db_string(db, place), row, false};
}

static const struct prof_frame_name *name_at(struct prof_db *db, struct prof_frames *frames,
                                             const char *program, uint64_t frame)
{
    size_t at = (size_t)(uintptr_t)hd_map_get_u64(&frames->by_frame, frame);

    assert(at <= frames->names.len);
    if (at)
        return &frames->names.at[at - 1];
    if (!hd_vec_push(&frames->names, name_of(db, frames, program, frame)))
        return NULL;
    (void)!hd_map_put_u64(&frames->by_frame, frame, (void *)(uintptr_t)frames->names.len);
    return &hd_vec_last(&frames->names);
}

/* What is no frame, where the stack ends early. */
static void put_end(struct prof_db *db, const struct prof_sample *sample, int64_t id)
{
    char text[64];

    if (sample->end == PROF_STACK_WHOLE)
        return;
    if (sample->end == PROF_STACK_CUT)
        (void)snprintf(text, sizeof(text), "[truncated at %u frames]", sample->nframes);
    else
        (void)snprintf(text, sizeof(text), "[Broken backtraces]");
    int64_t row = prof_db_string(db, text);
    prof_db_row(db, TABLE_SAMPLING_CALLCHAINS, "iii iiii i n i", id, row, row, (int64_t)0,
                (int64_t)0, (int64_t)0, (int64_t)1, (int64_t)0, (int64_t)sample->nframes);
}

void prof_sample_put(struct prof_db *db, struct prof_frames *frames, const char *program,
                     const struct prof_sample *sample, int64_t id)
{
    for (uint32_t i = 0; i < sample->nframes; i++) {
        uint64_t frame = sample->frames[i];
        const struct prof_frame_name *name = name_at(db, frames, program, frame);
        if (!name)
            return;
        prof_db_row(db, TABLE_SAMPLING_CALLCHAINS, "iii iiii i n i", id, name->symbol, name->module,
                    (int64_t)0, (int64_t)0, (int64_t)!name->is_resolved, (int64_t)0,
                    (int64_t)(frame & PROF_FRAME_ADDRESS), (int64_t)i);
    }
    put_end(db, sample, id);
}

/* ---- calls */

/* Index; 0: no memory. */
static size_t call_of(struct prof_calls *c, size_t caller, int64_t symbol, int64_t module)
{
    int64_t key[] = {(int64_t)caller, symbol, module};
    uint64_t hash = hd_hash(key, sizeof(key), 0);
    size_t at = (size_t)(uintptr_t)hd_map_get_u64(&c->by_caller, hash);

    assert(caller < c->at.len && at < c->at.len);
    if (at)
        return at;
    at = c->at.len;
    if (!hd_vec_push(&c->at, ((struct prof_called){.symbol = symbol,
                                                   .module = module,
                                                   .caller = caller,
                                                   .next = c->at.at[caller].child})) ||
        !hd_map_put_u64(&c->by_caller, hash, (void *)(uintptr_t)at))
        return 0;
    c->at.at[caller].child = at;
    return at;
}

/* Rows are frames, the outermost of each sample first. */
static int read_calls(struct prof_calls *c, sqlite3_stmt *row, bool merged)
{
    int64_t id = -1, weight = 0;
    size_t at = 0;
    int code;

    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        int64_t symbol = sqlite3_column_int64(row, 2), module = sqlite3_column_int64(row, 3);

        assert(at < c->at.len);
        if (sqlite3_column_int64(row, 0) != id) {
            c->at.at[at].self += weight;
            if (id != -1)
                hd_vec_last(&c->leaves) = at;
            if (!hd_vec_push(&c->leaves, 0))
                return SQLITE_NOMEM;
            id = sqlite3_column_int64(row, 0);
            weight = sqlite3_column_int64(row, 1);
            c->at.at[0].total += weight;
            c->at.at[0].samples++;
            at = 0;
        } else if (merged && c->at.at[at].symbol == symbol && c->at.at[at].module == module) {
            continue;
        }
        if (sqlite3_column_type(row, 2) == SQLITE_NULL)
            continue;
        at = call_of(c, at, symbol, module);
        if (!at)
            return SQLITE_NOMEM;
        c->at.at[at].total += weight;
        c->at.at[at].samples++;
    }
    c->at.at[at].self += weight;
    if (id != -1)
        hd_vec_last(&c->leaves) = at;
    return code;
}

enum hd_status prof_calls_read(sqlite3 *db, const char *path, bool merged, struct prof_calls *out)
{
    sqlite3_stmt *row = NULL;
    int code = sqlite3_prepare_v2(
        db,
        "SELECT e.id, coalesce(nullif(e.cpuCycles, 0), 1), c.symbol, c.module FROM "
        "COMPOSITE_EVENTS e LEFT JOIN SAMPLING_CALLCHAINS c ON c.id = e.id ORDER BY e.id, "
        "c.stackDepth DESC",
        -1, &row, NULL);

    *out = (struct prof_calls){0};
    hd_map_init(&out->by_caller);
    if (!code && !hd_vec_push(&out->at, ((struct prof_called){.symbol = -1, .module = -1})))
        code = SQLITE_NOMEM;
    if (!code)
        code = read_calls(out, row, merged);
    enum hd_status status = code == SQLITE_DONE    ? HD_OK
                            : code == SQLITE_NOMEM ? hd_error(HD_NO_MEMORY, "%s: no memory", path)
                                                   : prof_db_error(db, path);
    sqlite3_finalize(row);
    if (status != HD_OK)
        prof_calls_fini(out);
    return status;
}

void prof_calls_fini(struct prof_calls *calls)
{
    hd_vec_fini(&calls->at);
    hd_vec_fini(&calls->leaves);
    hd_map_fini(&calls->by_caller);
}

/* ---- the tree */

struct tree {
    struct prof_calls calls;
    HD_VEC(const struct prof_called *) sorted;
    sqlite3_stmt *insert;
    int64_t rows;
};

static int by_total(const void *a, const void *b)
{
    const struct prof_called *x = *(const struct prof_called *const *)a,
                             *y = *(const struct prof_called *const *)b;

    return x->total != y->total ? (x->total < y->total ? 1 : -1)
                                : (x->symbol > y->symbol) - (x->symbol < y->symbol);
}

static int put_call(struct tree *t, const struct prof_called *call, int depth)
{
    const double percent = (double)t->calls.at.at[0].total / 100;

    (void)sqlite3_bind_int64(t->insert, 1, ++t->rows);
    (void)sqlite3_bind_double(t->insert, 2, (double)call->total / percent);
    (void)sqlite3_bind_double(t->insert, 3, (double)call->self / percent);
    (void)sqlite3_bind_int64(t->insert, 4, call->samples);
    (void)sqlite3_bind_int(t->insert, 5, depth);
    (void)sqlite3_bind_int64(t->insert, 6, call->symbol);
    (void)sqlite3_bind_int64(t->insert, 7, call->module);
    int code = sqlite3_step(t->insert);
    (void)sqlite3_reset(t->insert);
    return code;
}

/* No deeper than a stack that was recorded; a file from elsewhere may say anything. */
static int put_called(struct tree *t, const struct prof_called *by, int depth)
{
    const struct prof_called *calls = t->calls.at.at;
    size_t first = t->sorted.len, n;
    int code = SQLITE_DONE;

    assert(by >= calls && by < calls + t->calls.at.len); /* which does not grow meanwhile */
    for (size_t at = by->child; at; at = calls[at].next)
        if ((double)calls[at].total >= PROF_TREE_LEAST * (double)calls[0].total &&
            !hd_vec_push(&t->sorted, &calls[at]))
            return SQLITE_NOMEM;
    n = t->sorted.len - first;
    if (n)
        qsort(t->sorted.at + first, n, sizeof(t->sorted.at[0]), by_total);
    for (size_t i = 0; i < n && code == SQLITE_DONE; i++) {
        const struct prof_called *call = t->sorted.at[first + i];
        code = put_call(t, call, depth);
        if (code == SQLITE_DONE && depth < 4096)
            code = put_called(t, call, depth + 1);
    }
    t->sorted.len = first;
    return code;
}

enum hd_status prof_sample_tree(sqlite3 *db, const char *path)
{
    struct tree t = {0};

    HD_TRY(prof_calls_read(db, path, true, &t.calls));
    int code = sqlite3_exec(db,
                            "CREATE TEMP TABLE IF NOT EXISTS host_tree(row INTEGER PRIMARY KEY, "
                            "total REAL, self REAL, samples INTEGER, depth INTEGER, symbol "
                            "INTEGER, module INTEGER); DELETE FROM host_tree",
                            NULL, NULL, NULL);
    if (!code)
        code = sqlite3_prepare_v2(db, "INSERT INTO host_tree VALUES(?,?,?,?,?,?,?)", -1, &t.insert,
                                  NULL);
    if (!code)
        code = put_called(&t, &t.calls.at.at[0], 0);
    assert(code != SQLITE_DONE || !t.sorted.len); /* each level takes back what it put there */
    enum hd_status status = code == SQLITE_DONE    ? HD_OK
                            : code == SQLITE_NOMEM ? hd_error(HD_NO_MEMORY, "%s: no memory", path)
                                                   : prof_db_error(db, path);
    sqlite3_finalize(t.insert);
    prof_calls_fini(&t.calls);
    hd_vec_fini(&t.sorted);
    return status;
}
