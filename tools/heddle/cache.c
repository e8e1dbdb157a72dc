/* heddle cache: the on-disk code cache. */
#include "common/cli.h"

#include <stdio.h>
#include <string.h>

#include "base/text/json.h"
#include "obj/cache.h"

static const char help[] =
    "usage: heddle cache [stat|clear|trim|dir] [--json]\n"
    "\n"
    "Shows or clears the cache of compiled kernels. Entries are made when a kernel is first\n"
    "launched and found again by everything that went into them, so clearing costs compile time\n"
    "and nothing else; programs that run meanwhile are not disturbed.\n"
    "\n"
    "commands:\n"
    "  stat     folder, entries, size and cap (the default)\n"
    "  clear    remove all entries\n"
    "  trim     remove the entries used longest ago when the cache is above its cap\n"
    "  dir      print the folder\n"
    "\n"
    "options:\n"
    "  --json      machine-readable output\n"
    "  -h, --help  this text\n"
    "\n"
    "environment:\n"
    "  HEDDLE_CACHE       folder, or `off`; default $XDG_CACHE_HOME/heddle or ~/.cache/heddle\n"
    "  HEDDLE_CACHE_SIZE  cap, e.g. 512M; default 1G\n"
    "\n"
    "exit status: 0 done, 1 the folder cannot be read or cleared, 2 wrong usage\n";

struct cache_report {
    const char *command;
    const char *dir;
    struct obj_cache_stat stat;
    uint64_t cap_B;
    uint64_t removed_B;
    uint64_t removed;
};

static void print_report(const struct cache_report *r, bool as_json)
{
    if (as_json) {
        struct hd_json j;
        hd_json_init(&j);
        hd_json_open(&j, NULL, '{');
        hd_json_str(&j, "dir", r->dir);
        hd_json_u64(&j, "entries", r->stat.entries);
        hd_json_u64(&j, "size_B", r->stat.size_B);
        hd_json_u64(&j, "cap_B", r->cap_B);
        hd_json_u64(&j, "removed", r->removed);
        hd_json_u64(&j, "removed_B", r->removed_B);
        hd_json_close(&j, '}');
        hd_json_print(&j);
    } else if (!strcmp(r->command, "dir")) {
        puts(r->dir ? r->dir : "off");
    } else if (!r->dir) {
        puts("the cache is off");
    } else if (!strcmp(r->command, "stat")) {
        printf("folder   %s\nentries  %llu\nsize     %.1f MB of %.0f MB\n", r->dir,
               (unsigned long long)r->stat.entries, (double)r->stat.size_B / 1e6,
               (double)r->cap_B / 1e6);
    } else {
        printf("removed %llu entries, %.1f MB, from %s\n", (unsigned long long)r->removed,
               (double)r->removed_B / 1e6, r->dir);
    }
}

static enum hd_status run_command(struct obj_cache *cache, struct cache_report *r)
{
    struct obj_cache_stat before;
    HD_TRY(obj_cache_stat(cache, &before));
    if (!strcmp(r->command, "clear"))
        HD_TRY(obj_cache_clear(cache, &r->stat));
    else if (!strcmp(r->command, "trim"))
        obj_cache_trim(cache);
    HD_TRY(obj_cache_stat(cache, &r->stat));
    r->removed = before.entries - HD_MIN(before.entries, r->stat.entries);
    r->removed_B = before.size_B - HD_MIN(before.size_B, r->stat.size_B);
    return HD_OK;
}

int cmd_cache(int argc, char **argv)
{
    static const char *const commands[] = {"stat", "clear", "trim", "dir"};
    struct cache_report r = {.command = "stat"};
    bool as_json = cli_json();
    for (int i = 1; i < argc; i++) {
        bool known = false;
        for (size_t k = 0; k < HD_COUNT_OF(commands); k++)
            known |= !strcmp(argv[i], commands[k]);
        if (known) {
            r.command = argv[i];
        } else if (!strcmp(argv[i], "--json")) {
            as_json = true;
        } else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            return cli_help(help);
        } else {
            return cli_usage("unknown argument '%s'", argv[i]);
        }
    }
    struct obj_cache *cache;
    if (obj_cache_open(NULL, 0, &cache) != HD_OK)
        return cli_error("%s", hd_error_message());
    r.dir = obj_cache_dir(cache);
    r.cap_B = obj_cache_cap_B(cache);
    bool worked = run_command(cache, &r) == HD_OK;
    if (worked)
        print_report(&r, as_json);
    obj_cache_close(cache);
    return worked ? CLI_OK : cli_error("%s", hd_error_message());
}
