/*
 * tests/ptx/forms: one instance of every instruction form that the census met, accepted by the
 * vendor's assembler when the files were written. Each file parses, checks and survives a round
 * trip. More files may be named behind the folder (`-` for none): see test_corpus.py.
 */
#include <dirent.h>

#include "tap.h"

#include "ptx/ptx.h"

static unsigned forms_total;

/* Text -> module -> text -> module -> text; the two texts are the same. */
static void round_trip(const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    struct hd_arena arena;
    struct ptx_module *module, *again;
    struct hd_buf text = {0}, first = {0}, second = {0};

    hd_arena_init(&arena);
    if (!ok(hd_file_read(path, 64u << 20, &text) == HD_OK, "%s: read", name))
        return;
    if (ok(ptx_parse(&arena, text.ptr, text.len, name, &module) == HD_OK, "%s: parse", name) &&
        ok(ptx_check(module) == HD_OK, "%s: check", name)) {
        forms_total += module->nforms;
        ptx_print(module, &first);
        if (ok(ptx_parse(&arena, first.ptr, first.len, "printed", &again) == HD_OK,
               "%s: printed text parses", name)) {
            ptx_print(again, &second);
            ok(!strcmp(first.ptr, second.ptr), "%s: prints the same", name);
            eq_u64(again->nforms, module->nforms, "%s: forms", name);
        }
    }
    if (tap_failed)
        diag("%s", hd_error_message());
    hd_buf_fini(&text);
    hd_buf_fini(&first);
    hd_buf_fini(&second);
    hd_arena_fini(&arena);
}

static void round_trip_dir(const char *dir)
{
    struct dirent *entry;
    DIR *d = opendir(dir);

    while (d && (entry = readdir(d))) {
        char path[4096];
        if (!strstr(entry->d_name, ".ptx"))
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        round_trip(path);
    }
    if (d)
        closedir(d);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "-")) {
        round_trip_dir(argv[1]);
        ok(forms_total >= 1200, "%u forms seen", forms_total);
    }
    for (int i = 2; i < argc; i++)
        round_trip(argv[i]);
    return done();
}
