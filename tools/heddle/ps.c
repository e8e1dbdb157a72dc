/*
 * heddle ps: the user's processes that run on Heddle, what runs in them, and who waits for whom.
 * They are asked as `heddle checkpoint` asks them, through libcuda (core/debug/report.h).
 */
#include "common/cli.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/json.h"
#include "base/mem.h"
#include "check/check.h"
#include "common/json_read.h"
#include "common/where.h"

static const char help[] =
    "usage: heddle ps [--json]\n"
    "       heddle ps [--json] PID\n"
    "\n"
    "Lists your processes that run on Heddle: their memory of devices, and the kernels that run,\n"
    "since when. With PID, what the blocks of these kernels wait for, where the source says so:\n"
    "barriers with how many of how many threads, and loops that poll something. The process goes\n"
    "on; it is only looked at.\n"
    "\n"
    "options:\n"
    "  --json      machine-readable output\n"
    "  -h, --help  this text\n"
    "\n"
    "exit status: 0 done, 1 the process cannot be asked, 2 wrong usage\n";

enum { REPORT_B = 1 << 16, PROGRAM_B = 1024 };

static struct {
    int (*report)(int pid, char *text, size_t text_B);
    const char *(*message)(void);
} driver;

static int ps_driver_load(void)
{
    const struct where_symbol wanted[] = {
        {"heddle_process_report", &driver.report},
        {"heddle_error_message", &driver.message},
    };

    return where_load(WHERE_CUDA, wanted, HD_COUNT_OF(wanted));
}

/* ---- one process */

struct process {
    int pid;
    char program[PROGRAM_B]; /* with its arguments */
    char text[REPORT_B];
    struct hd_arena arena;
    const struct json_value *report; /* NULL: it does not answer */
};

/* What others have written goes to a terminal. */
static void ps_make_printable(char *text)
{
    for (; *text; text++)
        *text = iscntrl((unsigned char)*text) ? '?' : *text;
}

static void ps_program_read(struct process *p)
{
    char path[40];

    snprintf(path, sizeof(path), "/proc/%d/cmdline", p->pid);
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(p->program, 1, sizeof(p->program) - 1, file) : 0;
    if (file)
        fclose(file);
    while (n && !p->program[n - 1])
        n--;
    for (size_t i = 0; i < n; i++)
        p->program[i] = p->program[i] ? p->program[i] : ' ';
    p->program[n] = '\0';
    ps_make_printable(p->program);
}

/* An enum hd_status. */
static int ps_process_ask(struct process *p, int pid)
{
    assert(driver.report && pid > 0);
    hd_arena_init(&p->arena);
    p->pid = pid;
    p->report = NULL;
    int status = driver.report(pid, p->text, sizeof(p->text));
    if (status != HD_OK)
        return status;
    ps_program_read(p);
    return json_read(&p->arena, p->text, strlen(p->text), &p->report);
}

static uint64_t ps_memory_B(const struct process *p)
{
    uint64_t sum_B = 0;

    json_foreach(device, json_get(p->report, "devices")) sum_B +=
        json_number(json_get(device, "memory_B"), 0);
    return sum_B;
}

/* ---- text */

static void ps_print_triple(const struct json_value *triple)
{
    const char *before = "(";

    json_foreach(n, triple)
    {
        printf("%s%llu", before, (unsigned long long)json_number(n, 0));
        before = ",";
    }
    putchar(')');
}

static void ps_print_text(const struct json_value *value)
{
    HD_AUTOFREE char *copy = hd_strdup(json_text(value, "?"));

    if (copy)
        ps_make_printable(copy);
    fputs(copy ? copy : "?", stdout);
}

static void ps_print_kernel(const struct json_value *device, const struct json_value *k)
{
    HD_AUTOFREE char *name =
        hd_strdup(check_demangle(json_text(json_get(k, "kernel"), "?"), DEMANGLE_SIMPLE));

    if (name)
        ps_make_printable(name);
    printf("           kernel %s<<<", name ? name : "?");
    ps_print_triple(json_get(k, "grid"));
    putchar(',');
    ps_print_triple(json_get(k, "block"));
    printf(">>> on device %llu for %.1f s, %llu of %llu blocks have begun\n",
           (unsigned long long)json_number(json_get(device, "device"), 0),
           (double)json_number(json_get(k, "running_ns"), 0) * 1e-9,
           (unsigned long long)json_number(json_get(k, "begun"), 0),
           (unsigned long long)json_number(json_get(k, "blocks"), 0));
}

static void ps_print_waits(const struct json_value *k)
{
    json_foreach(w, json_get(k, "waits"))
    {
        uint64_t blocks = json_number(json_get(w, "blocks"), 1);
        fputs("             block ", stdout);
        ps_print_triple(json_get(w, "index"));
        if (blocks > 1)
            printf(" and %llu more", (unsigned long long)blocks - 1);
        fputs(": ", stdout);
        ps_print_text(json_get(w, "what"));
        putchar('\n');
    }
    if (!json_get(k, "waits") || !json_get(k, "waits")->len)
        puts("             its blocks wait for nothing: they compute, or have not begun");
}

static void ps_print_process(const struct process *p, bool has_waits)
{
    assert(p->report);
    printf("%8d %9.1f  %s\n", p->pid, (double)ps_memory_B(p) / (1 << 20), p->program);
    json_foreach(device, json_get(p->report, "devices"))
    {
        json_foreach(k, json_get(device, "kernels"))
        {
            ps_print_kernel(device, k);
            if (has_waits)
                ps_print_waits(k);
        }
    }
}

static void ps_print_heading(void)
{
    puts("     PID       MiB  PROGRAM");
}

/* ---- JSON: the report as it came, which has been read */

static void ps_write_process(struct hd_json *j, const struct process *p)
{
    assert(p->report); /* so its text is JSON */
    hd_json_open(j, NULL, '{');
    hd_json_u64(j, "pid", (uint64_t)p->pid);
    hd_json_str(j, "program", p->program);
    hd_buf_printf(&j->buf, ", \"report\": %s", p->text);
    hd_json_close(j, '}');
}

/* ---- all processes */

static bool ps_is_ours(const char *name)
{
    char path[300];
    struct stat info;

    snprintf(path, sizeof(path), "/proc/%s", name);
    return isdigit((unsigned char)name[0]) && stat(path, &info) == 0 && info.st_uid == getuid() &&
           strtol(name, NULL, 10) != getpid();
}

/* Some have ended meanwhile, most do not use CUDA. */
static void ps_list_one(struct process *p, const char *name, struct hd_json *j, unsigned *count)
{
    int status = ps_process_ask(p, (int)strtol(name, NULL, 10));

    if (status == HD_OK) {
        if (!j && !*count)
            ps_print_heading();
        if (j)
            ps_write_process(j, p);
        else
            ps_print_process(p, false);
        ++*count;
    } else if (status != HD_NOT_FOUND && status != HD_BAD_ARG && status != HD_IO) {
        cli_error("%s", driver.message());
    }
    hd_arena_fini(&p->arena);
}

static int ps_list(struct process *p, bool as_json)
{
    struct hd_json j;
    struct dirent *entry;
    unsigned count = 0;
    DIR *dir = opendir("/proc");

    if (!dir)
        return cli_error("there is no /proc");
    hd_json_init(&j);
    j.on_line = true;
    hd_json_open(&j, NULL, '{');
    hd_json_open(&j, "processes", '[');
    while ((entry = readdir(dir)))
        if (ps_is_ours(entry->d_name))
            ps_list_one(p, entry->d_name, as_json ? &j : NULL, &count);
    closedir(dir);
    hd_json_close(&j, ']');
    hd_json_close(&j, '}');
    if (as_json)
        return hd_json_print(&j) ? CLI_OK : CLI_FAILED;
    hd_buf_fini(&j.buf);
    if (!count && isatty(STDOUT_FILENO))
        puts("No process of yours runs on Heddle.");
    return CLI_OK;
}

static int ps_show(struct process *p, int pid, bool as_json)
{
    struct hd_json j;
    int status = ps_process_ask(p, pid);

    if (status != HD_OK) {
        hd_arena_fini(&p->arena);
        return cli_error("%s", driver.message());
    }
    if (as_json) {
        hd_json_init(&j);
        j.on_line = true;
        ps_write_process(&j, p);
    } else {
        ps_print_heading();
        ps_print_process(p, true);
    }
    hd_arena_fini(&p->arena);
    return !as_json || hd_json_print(&j) ? CLI_OK : CLI_FAILED;
}

/* ---- the command line */

static int ps_usage(const char *what, const char *text)
{
    return cli_usage("%s '%s'", what, text);
}

int cmd_ps(int argc, char **argv)
{
    bool as_json = cli_json();
    uint64_t pid = 0;

    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return cli_help(help);
        if (!strcmp(argv[i], "--json"))
            as_json = true;
        else if (argv[i][0] == '-')
            return ps_usage("unknown option", argv[i]);
        else if (pid)
            return ps_usage("a second process:", argv[i]);
        else if (!hd_str_to_u64(hd_str_from(argv[i]), 10, &pid) || !pid || pid > INT32_MAX)
            return ps_usage("no number of a process:", argv[i]);
    }
    if (ps_driver_load() != CLI_OK)
        return CLI_FAILED;
    struct process *p = hd_new(struct process);
    if (!p)
        return cli_error("out of memory");
    int code = pid ? ps_show(p, (int)pid, as_json) : ps_list(p, as_json);
    hd_free(p);
    return code;
}
