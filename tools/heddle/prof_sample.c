/* See prof_sample.h. */
#include "prof_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "check.h"

/* ---- names */

bool prof_frames_add(struct prof_frames *frames, const struct prof_module *module, size_t most)
{
    uint32_t number = module->record.number;

    if (!number || number > most || module->len > module->record.size_B - sizeof(*module))
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

/* ---- the tree */

/* A function, called by its parent; functions that call themselves are one. */
struct node {
    int64_t symbol, module;
    int64_t total, self; /* of the samples' weights */
    int64_t samples;
    size_t child, next; /* index + 1; 0: none */
};

struct tree {
    HD_VEC(struct node) nodes; /* the root, which is no function, first */
    HD_VEC(struct node *) sorted;
    struct hd_map by_caller;
    sqlite3_stmt *insert;
    int64_t rows;
};

/* Index; 0, which is the root: no memory. */
static size_t child_of(struct tree *t, size_t parent, int64_t symbol, int64_t module)
{
    int64_t key[] = {(int64_t)parent, symbol, module};
    uint64_t hash = hd_hash(key, sizeof(key), 0);
    size_t at = (size_t)(uintptr_t)hd_map_get_u64(&t->by_caller, hash);

    if (at)
        return at;
    at = t->nodes.len;
    if (!hd_vec_push(&t->nodes,
                     ((struct node){
                         .symbol = symbol, .module = module, .next = t->nodes.at[parent].child})) ||
        !hd_map_put_u64(&t->by_caller, hash, (void *)(uintptr_t)at))
        return 0;
    t->nodes.at[parent].child = at;
    return at;
}

static int fill(struct tree *t, sqlite3_stmt *row)
{
    int64_t id = -1, weight = 0;
    size_t at = 0;
    int code;

    while ((code = sqlite3_step(row)) == SQLITE_ROW) {
        int64_t symbol = sqlite3_column_int64(row, 2), module = sqlite3_column_int64(row, 3);

        if (sqlite3_column_int64(row, 0) != id) {
            t->nodes.at[at].self += weight;
            id = sqlite3_column_int64(row, 0);
            weight = sqlite3_column_int64(row, 1);
            t->nodes.at[0].total += weight;
            t->nodes.at[0].samples++;
            at = 0;
        } else if (t->nodes.at[at].symbol == symbol && t->nodes.at[at].module == module) {
            continue;
        }
        at = child_of(t, at, symbol, module);
        if (!at)
            return SQLITE_NOMEM;
        t->nodes.at[at].total += weight;
        t->nodes.at[at].samples++;
    }
    t->nodes.at[at].self += weight;
    return code;
}

static int by_total(const void *a, const void *b)
{
    const struct node *x = *(struct node *const *)a, *y = *(struct node *const *)b;

    return x->total != y->total ? (x->total < y->total ? 1 : -1)
                                : (x->symbol > y->symbol) - (x->symbol < y->symbol);
}

static int put_node(struct tree *t, const struct node *n, int depth)
{
    const double whole = (double)t->nodes.at[0].total / 100;

    (void)sqlite3_bind_int64(t->insert, 1, ++t->rows);
    (void)sqlite3_bind_double(t->insert, 2, (double)n->total / whole);
    (void)sqlite3_bind_double(t->insert, 3, (double)n->self / whole);
    (void)sqlite3_bind_int64(t->insert, 4, n->samples);
    (void)sqlite3_bind_int(t->insert, 5, depth);
    (void)sqlite3_bind_int64(t->insert, 6, n->symbol);
    (void)sqlite3_bind_int64(t->insert, 7, n->module);
    int code = sqlite3_step(t->insert);
    (void)sqlite3_reset(t->insert);
    return code;
}

/* As deep as the recursion of stacks that were recorded: PROF_DEPTH_MAX at most, or a file's. */
static int put_children(struct tree *t, const struct node *parent, int depth)
{
    size_t first = t->sorted.len, n;
    int code = SQLITE_DONE;

    for (size_t at = parent->child; at; at = t->nodes.at[at].next)
        if ((double)t->nodes.at[at].total >= PROF_TREE_LEAST * (double)t->nodes.at[0].total &&
            !hd_vec_push(&t->sorted, &t->nodes.at[at]))
            return SQLITE_NOMEM;
    n = t->sorted.len - first;
    if (n)
        qsort(t->sorted.at + first, n, sizeof(t->sorted.at[0]), by_total);
    for (size_t i = 0; i < n && code == SQLITE_DONE; i++) {
        const struct node *node = t->sorted.at[first + i];
        code = put_node(t, node, depth);
        if (code == SQLITE_DONE && depth < 4096)
            code = put_children(t, node, depth + 1);
    }
    t->sorted.len = first;
    return code;
}

enum hd_status prof_sample_tree(sqlite3 *db, const char *path)
{
    struct tree t = {0};
    sqlite3_stmt *row = NULL;
    int code = sqlite3_exec(db,
                            "CREATE TEMP TABLE IF NOT EXISTS host_tree(row INTEGER PRIMARY KEY, "
                            "total REAL, self REAL, samples INTEGER, depth INTEGER, symbol "
                            "INTEGER, module INTEGER); DELETE FROM host_tree",
                            NULL, NULL, NULL);

    hd_map_init(&t.by_caller);
    if (!code)
        code = sqlite3_prepare_v2(db, "INSERT INTO host_tree VALUES(?,?,?,?,?,?,?)", -1, &t.insert,
                                  NULL);
    if (!code)
        code = sqlite3_prepare_v2(
            db,
            "SELECT e.id, coalesce(nullif(e.cpuCycles, 0), 1), c.symbol, c.module FROM "
            "COMPOSITE_EVENTS e JOIN SAMPLING_CALLCHAINS c ON c.id = e.id ORDER BY e.id, "
            "c.stackDepth DESC",
            -1, &row, NULL);
    if (!code && !hd_vec_push(&t.nodes, ((struct node){.symbol = -1, .module = -1})))
        code = SQLITE_NOMEM;
    if (!code)
        code = fill(&t, row);
    if (code == SQLITE_DONE && t.nodes.at[0].total)
        code = put_children(&t, &t.nodes.at[0], 0);
    enum hd_status status = code == SQLITE_DONE    ? HD_OK
                            : code == SQLITE_NOMEM ? hd_error(HD_NO_MEMORY, "%s: no memory", path)
                                                   : prof_db_error(db, path);
    sqlite3_finalize(row);
    sqlite3_finalize(t.insert);
    hd_map_fini(&t.by_caller);
    hd_vec_fini(&t.nodes);
    hd_vec_fini(&t.sorted);
    return status;
}
