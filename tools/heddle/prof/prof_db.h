/*
 * A report: an SQLite file with the tables of prof_tables.def. Errors stay: after the first nothing
 * is written any more, and prof_db_finish() tells it.
 */
#ifndef HEDDLE_TOOLS_PROF_DB_H
#define HEDDLE_TOOLS_PROF_DB_H

#include <sqlite3.h>

#include "base/map.h"
#include "base/status.h"

enum prof_table {
#define T(NAME, columns) TABLE_##NAME,
#include "prof/prof_tables.def"
#undef T
    TABLE_COUNT
};

struct prof_db {
    sqlite3 *db;
    sqlite3_stmt *insert[TABLE_COUNT]; /* NULL: the table does not exist yet */
    struct hd_map strings;             /* text: its id + 1 */
    int error;                         /* of SQLite, the first */
    char message[512];
};

/* A new file in one transaction; what is at `path` is replaced when prof_db_finish() succeeds. */
enum hd_status prof_db_create(const char *path, struct prof_db *out) HD_MUST_CHECK;
enum hd_status prof_db_finish(struct prof_db *db, const char *path) HD_MUST_CHECK;

/*
 * A row. `form` has a letter for each column, blanks do not count: i an int64_t, d a double, s a
 * const char *, n nothing (NULL); o and O are i and d behind an int that says whether there is one.
 */
void prof_db_row(struct prof_db *db, enum prof_table table, const char *form, ...);
/* The row of StringIds with this text. */
int64_t prof_db_string(struct prof_db *db, const char *text);

/* The file of a report that `-o NAME` named: NAME.sqlite, unless there is a NAME or no such file.
 * The caller's to hd_free(); NULL: no memory. */
char *prof_db_path(const char *name);
/*
 * An existing file, for reading, with the function display_name(), which takes the version off a
 * runtime function's name. `path` is as prof_db_path() takes it.
 * HD_IO, HD_CORRUPT: it is no database.
 */
enum hd_status prof_db_open(const char *path, sqlite3 **out) HD_MUST_CHECK;
/*
 * The same of a report, ours or one of Nsight Systems: tables of prof_tables.def that are not in
 * the file are there, and empty; columns that are not, but what a row is nothing without, are NULL.
 * HD_CORRUPT, too: there is no table of a report in it.
 */
enum hd_status prof_db_open_report(const char *path, sqlite3 **out) HD_MUST_CHECK;
bool prof_db_has(sqlite3 *db, const char *table);
/* Of a query with a parameter; false, too: there is no such table. */
bool prof_db_has_rows(sqlite3 *db, const char *sql, const char *value);
/* What SQLite has to say of the last call that failed, as HD_CORRUPT. */
enum hd_status prof_db_error(sqlite3 *db, const char *path) HD_MUST_CHECK;
/* Of a column: "" for NULL. Valid until the next step of `row`. */
const char *prof_db_text(sqlite3_stmt *row, int column);

#endif
