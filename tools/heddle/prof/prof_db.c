/* See prof_db.h. */
#include "prof/prof_db.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define TEMPORARY ".part"

static const struct {
    const char *name, *columns;
} tables[TABLE_COUNT] = {
#define T(NAME, columns) {#NAME, columns},
#include "prof/prof_tables.def"
#undef T
};

static const char enumerations[] =
#define R(id, name, label) "INSERT INTO enumeration VALUES(" #id ", '" name "', '" label "');"
#define E(NAME, rows)                                                                              \
    "CREATE TABLE enumeration(id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);" rows       \
    "ALTER TABLE enumeration RENAME TO " #NAME ";"
#include "prof/prof_tables.def"
#undef E
#undef R
    ;

static bool db_failed(struct prof_db *db, int code)
{
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE)
        return db->error != SQLITE_OK;
    if (!db->error) {
        db->error = code;
        (void)snprintf(db->message, sizeof(db->message), "%s",
                       db->db ? sqlite3_errmsg(db->db) : sqlite3_errstr(code));
    }
    return true;
}

static void db_run(struct prof_db *db, const char *sql)
{
    if (!db->error)
        (void)db_failed(db, sqlite3_exec(db->db, sql, NULL, NULL, NULL));
}

static char *db_temporary(const char *path)
{
    size_t size_B = strlen(path) + sizeof(TEMPORARY);
    char *name = hd_alloc(size_B);

    if (name)
        (void)snprintf(name, size_B, "%s" TEMPORARY, path);
    return name;
}

static enum hd_status db_error(const struct prof_db *db, const char *path)
{
    return hd_error(db->error == SQLITE_NOMEM ? HD_NO_MEMORY : HD_IO, "%s: %s", path, db->message);
}

/* A crash loses the file as a whole: it takes its name when it is complete. */
enum hd_status prof_db_create(const char *path, struct prof_db *out)
{
    HD_AUTOFREE char *name = db_temporary(path);

    *out = (struct prof_db){0};
    hd_map_init(&out->strings);
    if (!name)
        return hd_error(HD_NO_MEMORY, "no memory");
    if (unlink(name) && errno != ENOENT)
        return hd_error(HD_IO, "%s: %s", name, strerror(errno));
    (void)db_failed(out, sqlite3_open(name, &out->db));
    db_run(out, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; "
                "PRAGMA page_size=16384; BEGIN;");
    db_run(out, enumerations);
    return out->error ? db_error(out, name) : HD_OK;
}

static void close_db(struct prof_db *db)
{
    struct hd_map_iter it = {0};

    for (size_t i = 0; i < TABLE_COUNT; i++)
        sqlite3_finalize(db->insert[i]);
    (void)db_failed(db, sqlite3_close(db->db));
    while (hd_map_next(&db->strings, &it))
        hd_free((char *)it.key.ptr);
    hd_map_fini(&db->strings);
}

enum hd_status prof_db_finish(struct prof_db *db, const char *path)
{
    HD_AUTOFREE char *name = db_temporary(path);

    assert(db->db); /* prof_db_create() made it */
    db_run(db, "COMMIT;");
    close_db(db);
    if (!name || db->error) {
        if (name)
            (void)unlink(name);
        return db_error(db, path);
    }
    if (rename(name, path))
        return hd_error(HD_IO, "%s: %s", path, strerror(errno));
    return HD_OK;
}

/* ---- rows */

static size_t db_columns_of(const char *columns)
{
    size_t n = 1;

    for (; *columns; columns++)
        n += *columns == ',';
    return n;
}

static void db_make_table(struct prof_db *db, enum prof_table table)
{
    assert(!db->insert[table] && !db->error);
    size_t n = db_columns_of(tables[table].columns);
    struct hd_buf sql = {0};

    hd_buf_printf(&sql, "CREATE TABLE %s(%s)", tables[table].name, tables[table].columns);
    if (sql.ptr)
        db_run(db, sql.ptr);
    hd_buf_clear(&sql);
    hd_buf_printf(&sql, "INSERT INTO %s VALUES(?", tables[table].name);
    while (--n)
        hd_buf_puts(&sql, ",?");
    hd_buf_puts(&sql, ")");
    if (sql.failed)
        (void)db_failed(db, SQLITE_NOMEM);
    else if (!db->error)
        (void)db_failed(db, sqlite3_prepare_v2(db->db, sql.ptr, -1, &db->insert[table], NULL));
    hd_buf_fini(&sql);
}

static void db_bind(sqlite3_stmt *row, int at, char form, va_list *args)
{
    const char *text;
    assert(at >= 1 && at <= sqlite3_bind_parameter_count(row));
    bool is_there = form == 'o' || form == 'O' ? va_arg(*args, int) : true;

    switch (form) {
    case 'o':
    case 'i':
        (void)sqlite3_bind_int64(row, at, va_arg(*args, int64_t));
        break;
    case 'O':
    case 'd':
        (void)sqlite3_bind_double(row, at, va_arg(*args, double));
        break;
    case 's':
        text = va_arg(*args, const char *);
        (void)sqlite3_bind_text(row, at, text, -1, SQLITE_STATIC);
        break;
    default:
        assert(form == 'n');
        break;
    }
    if (!is_there || form == 'n')
        (void)sqlite3_bind_null(row, at);
}

void prof_db_row(struct prof_db *db, enum prof_table table, const char *form, ...)
{
    va_list args;
    int at = 0;

    assert(db->db && table < TABLE_COUNT);
    if (!db->insert[table] && !db->error)
        db_make_table(db, table);
    if (db->error)
        return;
    va_start(args, form);
    for (; *form; form++)
        if (*form != ' ')
            db_bind(db->insert[table], ++at, *form, &args);
    va_end(args);
    assert(at == sqlite3_bind_parameter_count(db->insert[table]));
    (void)db_failed(db, sqlite3_step(db->insert[table]));
    (void)sqlite3_reset(db->insert[table]);
}

int64_t prof_db_string(struct prof_db *db, const char *text)
{
    size_t len = strlen(text);
    void *found;

    if (hd_map_find(&db->strings, (struct hd_str){text, len}, &found))
        return (int64_t)(intptr_t)found;
    int64_t id = (int64_t)db->strings.len;
    char *copy = hd_alloc(len + 1);
    if (copy)
        memcpy(copy, text, len + 1);
    if (!copy || !hd_map_put(&db->strings, (struct hd_str){copy, len}, (void *)(intptr_t)id)) {
        hd_free(copy);
        (void)db_failed(db, SQLITE_NOMEM);
        return 0;
    }
    prof_db_row(db, TABLE_StringIds, "is", id, copy);
    return id;
}

/* ---- reading */

static void db_display_name(sqlite3_context *context, int n, sqlite3_value **args)
{
    const char *name = (const char *)sqlite3_value_text(args[0]);

    if (name && strncmp(name, "__cuda", 6) == 0) /* what nvcc 13 writes for <<<>>> */
        name += 2;
    const char *version = name ? strrchr(name, '_') : NULL;
    bool has = version && version[1] == 'v' && version[2] &&
               strspn(version + 2, "0123456789") == strlen(version + 2) &&
               strncmp(name, "cuda", 4) == 0;

    assert(n == 1);
    if (name)
        sqlite3_result_text(context, name, has ? (int)(version - name) : -1, SQLITE_TRANSIENT);
}

char *prof_db_path(const char *name)
{
    struct hd_buf path = {0};

    hd_buf_printf(&path, "%s.sqlite", name);
    if (!path.failed && (access(name, F_OK) == 0 || access(path.ptr, F_OK) != 0)) {
        hd_buf_clear(&path);
        hd_buf_puts(&path, name);
    }
    return hd_buf_take(&path);
}

enum hd_status prof_db_open(const char *path, sqlite3 **out)
{
    HD_AUTOFREE char *file = prof_db_path(path);
    int code = sqlite3_open_v2(file ? file : path, out, SQLITE_OPEN_READONLY, NULL);

    /* what a schema from elsewhere may do is little, and damaged pages are found early */
    if (code == SQLITE_OK)
        code = sqlite3_exec(*out,
                            "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;"
                            "SELECT count(*) FROM sqlite_master",
                            NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_create_function(*out, "display_name", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                       NULL, db_display_name, NULL, NULL);
    if (code == SQLITE_OK)
        return HD_OK;
    enum hd_status status = hd_error(code == SQLITE_CANTOPEN ? HD_IO : HD_CORRUPT, "%s: %s", path,
                                     *out ? sqlite3_errmsg(*out) : sqlite3_errstr(code));
    sqlite3_close(*out);
    *out = NULL;
    return status;
}

bool prof_db_has(sqlite3 *db, const char *table)
{
    sqlite3_stmt *row;
    bool has = false;

    if (sqlite3_prepare_v2(db, "SELECT 1 FROM sqlite_master WHERE name = ?", -1, &row, NULL))
        return false;
    if (!sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC))
        has = sqlite3_step(row) == SQLITE_ROW;
    sqlite3_finalize(row);
    return has;
}

bool prof_db_has_rows(sqlite3 *db, const char *sql, const char *value)
{
    sqlite3_stmt *row;

    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL))
        return false; /* there is no such table */
    (void)sqlite3_bind_text(row, 1, value, -1, SQLITE_STATIC);
    bool has = sqlite3_step(row) == SQLITE_ROW;
    sqlite3_finalize(row);
    return has;
}

enum hd_status prof_db_error(sqlite3 *db, const char *path)
{
    return hd_error(sqlite3_errcode(db) == SQLITE_NOMEM ? HD_NO_MEMORY : HD_CORRUPT, "%s: %s", path,
                    sqlite3_errmsg(db));
}

const char *prof_db_text(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text ? text : "";
}

/* Tables of what was recorded: any file of SQLite may have one that is called PROCESSES. */
static bool db_is_report(sqlite3 *db)
{
    return prof_db_has(db, "StringIds") || prof_db_has(db, "NVTX_EVENTS") ||
           prof_db_has(db, "META_DATA_EXPORT") || prof_db_has(db, "ANALYSIS_DETAILS");
}

/* Without these a row says nothing: that they are missing is told by the query that wants them. */
static bool db_is_essential(struct hd_str column)
{
    static const char *const names[] = {"start", "end",           "id",        "name",
                                        "value", "demangledName", "shortName", "nameId"};

    for (size_t i = 0; i < HD_COUNT_OF(names); i++)
        if (hd_str_is(column, names[i]))
            return true;
    return false;
}

static bool db_has_column(sqlite3 *db, const char *table, struct hd_str column)
{
    sqlite3_stmt *row;
    bool has = true; /* where it cannot be told */

    if (sqlite3_prepare_v2(db, "SELECT count(*) FROM pragma_table_info(?, 'main') WHERE name = ?",
                           -1, &row, NULL))
        return true;
    if (!sqlite3_bind_text(row, 1, table, -1, SQLITE_STATIC) &&
        !sqlite3_bind_text(row, 2, column.ptr, (int)column.len, SQLITE_STATIC) &&
        sqlite3_step(row) == SQLITE_ROW)
        has = sqlite3_column_int(row, 0) > 0;
    sqlite3_finalize(row);
    return has;
}

/* Older versions have fewer columns: a view has them too, without values. */
static enum hd_status db_make_columns(sqlite3 *db, const char *path, const char *table,
                                      const char *columns)
{
    struct hd_buf sql = {0};
    bool misses = false;

    hd_buf_printf(&sql, "CREATE TEMP VIEW %s AS SELECT *", table);
    while (*columns) {
        struct hd_str column = {columns, strcspn(columns, " ")};
        assert(column.len); /* each has a name and a type */
        if (!db_is_essential(column) && !db_has_column(db, table, column)) {
            hd_buf_printf(&sql, ", NULL AS %.*s", (int)column.len, column.ptr);
            misses = true;
        }
        columns += strcspn(columns, ",");
        columns += strspn(columns, ", ");
    }
    hd_buf_printf(&sql, " FROM main.%s", table);
    enum hd_status status = sql.failed ? hd_error(HD_NO_MEMORY, "%s: out of memory", path)
                            : misses && sqlite3_exec(db, sql.ptr, NULL, NULL, NULL)
                                ? prof_db_error(db, path)
                                : HD_OK;
    hd_buf_fini(&sql);
    return status;
}

static enum hd_status db_make_missing(sqlite3 *db, const char *path)
{
    static const char *const enums[][2] = {
#define E(NAME, rows) {#NAME, "CREATE TEMP TABLE " #NAME "(id INTEGER, name TEXT, label TEXT)"},
#include "prof/prof_tables.def"
#undef E
    };
    for (size_t i = 0; i < HD_COUNT_OF(enums); i++)
        if (!prof_db_has(db, enums[i][0]) && sqlite3_exec(db, enums[i][1], NULL, NULL, NULL))
            return prof_db_error(db, path);
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        char sql[4096];
        int n = snprintf(sql, sizeof(sql), "CREATE TEMP TABLE %s(%s)", tables[i].name,
                         tables[i].columns);
        assert(n > 0 && (size_t)n < sizeof(sql));
        if (prof_db_has(db, tables[i].name))
            HD_TRY(db_make_columns(db, path, tables[i].name, tables[i].columns));
        else if (sqlite3_exec(db, sql, NULL, NULL, NULL))
            return prof_db_error(db, path);
    }
    return HD_OK;
}

enum hd_status prof_db_open_report(const char *path, sqlite3 **out)
{
    HD_TRY(prof_db_open(path, out));
    enum hd_status status = db_is_report(*out)
                                ? db_make_missing(*out, path)
                                : hd_error(HD_CORRUPT, "%s: it has no tables of a report", path);
    if (status == HD_OK)
        return HD_OK;
    sqlite3_close(*out);
    *out = NULL;
    return status;
}
