/* The command's driver: equal launches in groups, each group a page in the form that is wanted. */
#include "prof/kernel/kernel_show.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "prof/prof_db.h"
#include "report/groups.h"

/* Kernels whose names are told where none was counted. */
enum { SHOW_NAMES_MAX = 8 };

static void show_ask(struct show *s, const char *sql, char *out, size_t size)
{
    sqlite3_stmt *row;

    out[0] = '\0';
    if (sqlite3_prepare_v2(s->db, sql, -1, &row, NULL) != SQLITE_OK)
        return;
    if (sqlite3_step(row) == SQLITE_ROW && sqlite3_column_text(row, 0))
        (void)snprintf(out, size, "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
}

static enum hd_status show_launch(struct show *s, struct shown *launch)
{
    if (s->view->page == PROF_KERNEL_SOURCE)
        return kernel_source_page(s, launch);
    if (s->view->format == PROF_JSON)
        kernel_json_launch(s, launch, false);
    else if (s->view->format == PROF_CSV && s->view->page == PROF_KERNEL_RAW)
        kernel_csv_raw(s, launch);
    else if (s->view->format == PROF_CSV)
        kernel_csv_details(s, launch);
    else if (s->view->page == PROF_KERNEL_RAW)
        kernel_text_raw(s, launch);
    else
        kernel_text_details(s, launch);
    return HD_OK;
}

/* What is equal in launches of a group, but for a launch's name: grid, block, device, settings. */
static const char launches_sql[] =
    "SELECT launchId, globalPid, contextId, streamId, deviceId, demangledName, gridX, gridY, gridZ,"
    " blockX, blockY, blockZ, (SELECT group_concat(m.name || '=' || m.value) FROM HEDDLE_METRICS m"
    " WHERE m.launchId = l.launchId AND m.name GLOB 'launch__*') FROM HEDDLE_LAUNCHES l";

static enum hd_status show_groups_read(struct show *s, struct report_groups *out)
{
    bool is_together = s->view->format == PROF_TABLE && !s->view->is_each, good = true;
    struct hd_buf key = {0};
    sqlite3_stmt *row;

    HD_TRY(kernel_prepare(s->db, launches_sql, &row));
    while (good && sqlite3_step(row) == SQLITE_ROW) {
        hd_buf_clear(&key);
        if (!is_together)
            hd_buf_printf(&key, "%lld", (long long)sqlite3_column_int64(row, 0));
        for (int column = 4; is_together && column < sqlite3_column_count(row); column++)
            hd_buf_printf(&key, "%s\n", prof_db_text(row, column));
        good = !key.failed && report_groups_add(out, (struct hd_str){key.ptr, key.len},
                                                sqlite3_column_int64(row, 0));
    }
    hd_buf_fini(&key);
    sqlite3_finalize(row);
    return good ? HD_OK : kernel_no_memory();
}

/* Puts the launches of a group into temp.shown. */
static enum hd_status show_group_select(struct show *s, const struct report_groups *groups,
                                        const struct report_group *group)
{
    sqlite3_stmt *row;
    int code = SQLITE_DONE;

    assert(group->first < groups->members.len && group->last < groups->members.len);
    if (sqlite3_exec(s->db, "DELETE FROM temp.shown", NULL, NULL, NULL))
        return hd_error(HD_CORRUPT, "%s", sqlite3_errmsg(s->db));
    HD_TRY(kernel_prepare(s->db, "INSERT INTO temp.shown VALUES(?)", &row));
    for (size_t m = group->first; m != REPORT_NONE && code == SQLITE_DONE;
         m = groups->members.at[m].next) {
        (void)sqlite3_bind_int64(row, 1, groups->members.at[m].id);
        code = sqlite3_step(row);
        (void)sqlite3_reset(row);
    }
    sqlite3_finalize(row);
    return code == SQLITE_DONE ? HD_OK : hd_error(HD_CORRUPT, "%s", sqlite3_errmsg(s->db));
}

#define SHOWN "HEDDLE_LAUNCHES JOIN temp.shown USING (launchId)"
#define COUNT_OF(column)                                                                           \
    "(SELECT count(DISTINCT globalPid || ' ' || coalesce(" column ", '')) FROM " SHOWN ")"
/* clang-format off */
static const char group_sql[] =
    "SELECT launchId, globalPid, contextId, streamId, deviceId, demangledName, gridX, gridY, gridZ, "
    "blockX, blockY, blockZ, " COUNT_OF("contextId") ", " COUNT_OF("streamId") " FROM " SHOWN
    " ORDER BY abs((SELECT value FROM HEDDLE_METRICS m WHERE m.launchId = HEDDLE_LAUNCHES.launchId "
    "AND m.name = ?1) - ?2), launchId LIMIT 1";
/* clang-format on */
#undef SHOWN
#undef COUNT_OF

/* The launch whose time is the median, or next to it, stands for the group: its notes are shown. */
static enum hd_status show_group(struct show *s, struct shown *launch)
{
    static const char time[] = "gpu__time_duration.sum";
    const struct metric *duration = metric_find(time, strlen(time));
    enum hd_status status = HD_OK;
    sqlite3_stmt *row;

    assert(duration && launch->count);
    HD_TRY(kernel_values_read(s, launch));
    HD_TRY(kernel_prepare(s->db, group_sql, &row));
    (void)sqlite3_bind_text(row, 1, time, -1, SQLITE_STATIC);
    (void)sqlite3_bind_double(row, 2, launch->values[duration - metrics]);
    if (sqlite3_step(row) == SQLITE_ROW) {
        launch->id = sqlite3_column_int64(row, 0);
        launch->pid = sqlite3_column_int64(row, 1) >> 24 & 0xffffff;
        launch->context = sqlite3_column_int64(row, 2);
        launch->stream = sqlite3_column_int64(row, 3);
        launch->device = sqlite3_column_int64(row, 4);
        launch->name = prof_db_text(row, 5);
        for (int i = 0; i < 3; i++) {
            launch->grid[i] = sqlite3_column_int64(row, 6 + i);
            launch->block[i] = sqlite3_column_int64(row, 9 + i);
        }
        launch->contexts = (size_t)sqlite3_column_int64(row, 12);
        launch->streams = (size_t)sqlite3_column_int64(row, 13);
        status = show_launch(s, launch);
    }
    sqlite3_finalize(row);
    return status;
}

static enum hd_status show_all(struct show *s, struct shown *launch)
{
    struct report_groups groups = {0};
    enum hd_status status = show_groups_read(s, &groups);

    if (sqlite3_exec(s->db, "CREATE TEMP TABLE shown(launchId INTEGER PRIMARY KEY)", NULL, NULL,
                     NULL))
        status = hd_error(HD_CORRUPT, "%s", sqlite3_errmsg(s->db));
    if (status == HD_OK && s->view->format == PROF_TABLE)
        kernel_text_hints(s, groups.members.len > groups.at.len);
    for (size_t g = 0; g < groups.at.len && status == HD_OK; g++) {
        assert(groups.at.at[g].count && groups.at.at[g].first != REPORT_NONE);
        launch->count = groups.at.at[g].count;
        status = show_group_select(s, &groups, &groups.at.at[g]);
        if (status == HD_OK)
            status = show_group(s, launch);
    }
    report_groups_fini(&groups);
    return status;
}

static enum hd_status show_open(struct show *s)
{
    struct shown launch = {.values = hd_alloc_array(metrics_count, sizeof(double)),
                           .has = hd_alloc_array(metrics_count, sizeof(bool)),
                           .spreads = hd_alloc_array(metrics_count, sizeof(*launch.spreads))};
    enum hd_status status = HD_OK;

    show_ask(s, "SELECT value FROM META_DATA_CAPTURE WHERE name = 'PROCESS_0:COMMAND'", s->process,
             sizeof(s->process));
    show_ask(s, "SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name = 'Hostname'", s->host,
             sizeof(s->host));
    show_ask(s, "SELECT computeMajor || '.' || computeMinor FROM TARGET_INFO_GPU", s->cc,
             sizeof(s->cc));
    hd_json_init(&s->json);
    hd_json_open(&s->json, NULL, '[');
    if (s->view->format == PROF_CSV)
        kernel_csv_head(s);
    status =
        launch.values && launch.has && launch.spreads ? show_all(s, &launch) : kernel_no_memory();
    hd_json_close(&s->json, ']');
    if (status == HD_OK && s->view->format == PROF_JSON && !hd_json_print(&s->json))
        status = hd_error(HD_IO, "standard output");
    hd_free(launch.values);
    hd_free(launch.has);
    for (size_t m = 0; launch.spreads && m < metrics_count; m++)
        report_spread_fini(&launch.spreads[m]);
    hd_free(launch.spreads);
    return status;
}

/* Kernels that ran are told, as a name of --kernel-name may be wrong. */
static enum hd_status show_none(sqlite3 *db, const char *report)
{
    struct hd_buf names = {0};
    sqlite3_stmt *row = NULL;
    size_t n = 0;

    if (prof_db_has(db, "CUPTI_ACTIVITY_KIND_KERNEL"))
        (void)sqlite3_prepare_v2(db,
                                 "SELECT value, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN "
                                 "StringIds ON id = shortName GROUP BY value ORDER BY 2 DESC, 1",
                                 -1, &row, NULL);
    for (; row && sqlite3_step(row) == SQLITE_ROW; n++)
        if (n < SHOW_NAMES_MAX)
            hd_buf_printf(&names, "%s%s", n ? ", " : "", prof_db_text(row, 0));
    sqlite3_finalize(row);
    if (n > SHOW_NAMES_MAX)
        hd_buf_printf(&names, " and %zu more", n - SHOW_NAMES_MAX);
    enum hd_status status =
        names.len ? hd_error(HD_NOT_FOUND, "%s: no launch was counted; kernels that ran: %s",
                             report, names.ptr)
                  : hd_error(HD_NOT_FOUND, "%s: no launch was counted: no kernel ran", report);
    hd_buf_fini(&names);
    return status;
}

enum hd_status prof_kernel_show(const char *report, const struct prof_kernel_view *view, FILE *out)
{
    struct prof_kernel_view own = *view;
    struct show s = {.view = &own, .out = out};
    enum hd_status status;

    HD_TRY(prof_kernel_check(view));
    HD_TRY(prof_db_open(report, &s.db));
    own.absent = kernel_sections_absent(s.db);
    status = prof_db_has(s.db, "HEDDLE_LAUNCHES") && prof_db_has(s.db, "HEDDLE_METRICS")
                 ? show_open(&s)
                 : show_none(s.db, report);
    sqlite3_close(s.db);
    return status;
}
