/*
 * Bodies on demand (ptx_open) against the whole parse: what names mean in the midst of a text,
 * damaged extents, lack of memory, threads; and files: test_later DIRECTORY, or `-` and files.
 */
#include <dirent.h>
#include <pthread.h>

#include "tap.h"

#include "reopen.h"

#define HEAD ".version 9.0\n.target sm_120\n.address_size 64\n"

static void compare(const char *text, size_t len, const char *name, uint64_t seed)
{
    struct hd_arena arena;
    struct ptx_module *module;

    hd_arena_init(&arena);
    if (ptx_parse(&arena, text, len, "t", &module) == HD_OK) {
        const char *why = reopen_compare(text, len, module, seed);
        if (!ok(!why, "%s: bodies on demand are the same", name))
            diag("%s", why);
    } else {
        ok(false, "%s: %s", name, hd_error_message());
    }
    hd_arena_fini(&arena);
}

/* Each text means something else if a body saw all of the module, or none of it. */
static const struct {
    const char *name, *text;
} cases[] = {
    {"a label like a function that comes later",
     HEAD ".entry k() { bra f; f: ret; }\n.func f() { ret; }\n.entry l() { call f; ret; }"},
    {"a label like a variable that comes later",
     HEAD ".entry k() { .reg .u64 %r; bra v; mov.u64 %r, w; v: ret; }\n.global .u32 v, w;\n"
          ".entry l() { .reg .u64 %r; mov.u64 %r, v; ret; }"},
    {"functions and variables on one line", HEAD
     ".global .u32 a; .entry k() { .reg .u64 %r; mov.u64 %r, a; mov.u64 %r, b; ret; } "
     ".global .u32 b; .entry l() { .reg .u64 %r; bra c; c: mov.u64 %r, b; ret; } .global .u32 c;"},
    {"braces in comments and strings", HEAD
     ".entry k() { /* } */ .pragma \"nounroll\"; // }\n { } /* {\n{ */ ret; } .entry l() { ret; }"},
    {"a function that calls itself",
     HEAD ".func f() { call f; ret; }\n.entry k() { call f; call g; ret; }\n.func g() { ret; }"},
    {"a declaration before, a definition behind", HEAD
     ".func f(.param .b32 a); .extern .global .u32 v; .entry k() { .param .b32 p; .reg .u64 %r; "
     "call f, (p); mov.u64 %r, v; ret; } .func f(.param .b32 a) { ret; } .global .u32 v;"},
    {"registers of the module", HEAD ".reg .u32 %m<4>; .entry k() { .reg .u32 %r<4>; "
                                     "mov.u32 %r1, %m2; ret; } .reg .u32 %n;"},
    {"registers that are parameters",
     HEAD ".func (.reg .u32 o) f(.reg .u32 a, .reg .u32 b) { .reg .u32 c; add.u32 c, a, b; "
          "mov.u32 o, c; ret; }\n.func g(.reg .u32 a) { { .reg .u32 a; mov.u32 a, 1; } ret; }"},
    {"a local name hides the module's",
     HEAD ".global .u32 v; .entry k() { .shared .u32 v; .reg .u64 %r; mov.u64 %r, v; ret; }"},
    {"variables that outlive calls", HEAD
     ".entry k() { .global .u32 s = 3; .const .u32 c; .shared .u32 t; ret; } .entry l() { ret; }"},
    {"an initialiser in a body names what comes later",
     HEAD ".entry k() { .global .u64 s = w; ret; } .global .u32 w;"},
    {"lines of the source", HEAD ".file 1 \"a.cu\"\n.entry k() {\n.loc 1 2 3\nret;\n}\n"
                                 ".entry l() {\nret;\n.loc 1 7 1\n}\n"},
    {"no function", HEAD ".global .u32 v;"},
};

static void test_cases(void)
{
    for (size_t i = 0; i < HD_COUNT_OF(cases); i++)
        for (uint64_t seed = 0; seed < 4; seed++)
            compare(cases[i].text, strlen(cases[i].text), cases[i].name, seed);
}

/* ---- extents */

static const char three[] = HEAD ".entry a() {\nret; }\n.entry b() { { ret; } }\n"
                                 ".entry c() { .global .u32 s; ret; }\n";

/* Opens and reads; any end is right but a crash. */
static enum hd_status open_with(const struct ptx_extent *extents, size_t count)
{
    struct ptx_module *module;
    enum hd_status status = ptx_open(three, sizeof(three) - 1, "t", extents, count, &module);

    if (status != HD_OK)
        return status;
    for (const struct ptx_func *f = module->funcs; f && status == HD_OK; f = f->next_func)
        status = ptx_func_read(f);
    ptx_close(module);
    return status;
}

static void test_damage(void)
{
    struct hd_arena arena;
    struct ptx_module *module;
    struct reopen_funcs funcs = {0};
    uint64_t random = tap_seed();
    unsigned refused = 0;

    hd_arena_init(&arena);
    if (ok(ptx_parse(&arena, three, sizeof(three) - 1, "t", &module) == HD_OK &&
               reopen_collect(&funcs, module) && funcs.list.len == 3,
           "three bodies")) {
        struct ptx_extent *extents = funcs.extents.at;

        ok(!extents[0].outlives && !extents[1].outlives && extents[2].outlives, "what outlives");
        ok(three[extents[1].begin] == '{' && three[extents[1].end - 1] == '}' &&
               extents[1].line == 6 && three[extents[1].line_start] == '.',
           "where a body lies");
        ok(open_with(extents, 3) == HD_OK, "right extents");
        eq_u64(open_with(extents, 2), HD_NOT_FOUND, "one too few");
        eq_str(hd_error_message(), "t: what is known about its functions is about another text",
               "and why");
        eq_u64(open_with(extents + 1, 2), HD_NOT_FOUND, "of other functions");
        for (unsigned i = 0; i < 4000; i++) {
            struct ptx_extent bad[3];
            size_t byte = tap_random(&random) % sizeof(bad);

            memcpy(bad, extents, sizeof(bad));
            ((uint8_t *)bad)[byte] ^= (uint8_t)(1u << tap_random(&random) % 8);
            refused += open_with(bad, 3) != HD_OK;
        }
        ok(refused > 1000, "%u of 4000 damaged lists were refused, no crash", refused);
    }
    reopen_funcs_fini(&funcs);
    hd_arena_fini(&arena);
}

/* Kernels of 1, 2, 3 ... instructions; what all have together. */
#define FUNCS 64
static uint64_t many_kernels(struct hd_buf *text)
{
    uint64_t insns = 0;

    hd_buf_puts(text, HEAD);
    for (unsigned i = 0; i < FUNCS; i++) {
        hd_buf_printf(text, ".entry k%u() { .reg .u32 %%r<9>, %%s%u;\n", i, i);
        for (unsigned n = 0; n <= i; n++, insns++)
            hd_buf_printf(text, "add.u32 %%r%u, %%r%u, %u;\n", n % 9, i % 9, n);
        hd_buf_printf(text, "bra k%u; k%u: }\n", i + 1, i + 1);
        insns++;
    }
    return insns;
}

/* ---- memory */

struct opened {
    struct reopen_funcs whole;
    struct ptx_module *module;
};

static bool read_all(void *arg)
{
    struct opened *o = arg;
    for (const struct ptx_func *f = o->module->funcs; f; f = f->next_func)
        if (ptx_func_read(f) != HD_OK)
            return false;
    return true;
}

/* A body that failed for lack of memory is read again as if nothing had been. */
static void test_oom(void)
{
    struct hd_arena arena;
    struct ptx_module *module;
    struct hd_buf text = {0};
    struct opened o = {0};

    many_kernels(&text);
    hd_arena_init(&arena);
    if (ok(ptx_parse(&arena, text.ptr, text.len, "t", &module) == HD_OK &&
               reopen_collect(&o.whole, module) &&
               ptx_open(text.ptr, text.len, "t", o.whole.extents.at, o.whole.extents.len,
                        &o.module) == HD_OK,
           "opened")) {
        unsigned failures = tap_oom_loop(read_all, &o, "bodies without memory");
        const char *why = reopen_read(&o.whole, o.module, 0);

        ok(failures > 2 && !why, "the same after %u failures", failures);
    }
    ptx_close(o.module);
    hd_buf_fini(&text);
    reopen_funcs_fini(&o.whole);
    hd_arena_fini(&arena);
}

/* ---- threads */

#define THREADS 4

struct reader {
    const struct ptx_module *module;
    unsigned first;
    uint64_t insns;
};

/* Each starts elsewhere; what one has read the others look at. */
static void *reader_run(void *arg)
{
    struct reader *r = arg;
    for (unsigned i = 0; i < FUNCS; i++) {
        const struct ptx_func *f = r->module->funcs;
        for (unsigned n = (r->first + i * 7) % FUNCS; n; n--)
            f = f->next_func;
        if (ptx_func_read(f) != HD_OK)
            return NULL;
        for (const struct ptx_stmt *s = f->body; s; s = s->next)
            r->insns += s->kind == PTX_STMT_INSN;
    }
    return NULL;
}

static void test_threads(void)
{
    struct hd_arena arena;
    struct ptx_module *module, *later = NULL;
    struct reopen_funcs whole = {0};
    struct hd_buf text = {0};
    struct reader readers[THREADS];
    pthread_t threads[THREADS];
    uint64_t want = many_kernels(&text);

    hd_arena_init(&arena);
    if (ok(ptx_parse(&arena, text.ptr, text.len, "t", &module) == HD_OK &&
               reopen_collect(&whole, module) &&
               ptx_open(text.ptr, text.len, "t", whole.extents.at, whole.extents.len, &later) ==
                   HD_OK,
           "opened")) {
        for (unsigned i = 0; i < THREADS; i++) {
            readers[i] = (struct reader){.module = later, .first = i * 5};
            pthread_create(&threads[i], NULL, reader_run, &readers[i]);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            eq_u64(readers[i].insns, want, "thread %u saw every instruction", i);
        }
    }
    ptx_close(later);
    reopen_funcs_fini(&whole);
    hd_buf_fini(&text);
    hd_arena_fini(&arena);
}

/* ---- files */

static void compare_file(const char *path)
{
    struct hd_buf text = {0};

    if (ok(hd_file_read(path, 64u << 20, &text) == HD_OK, "%s: read", path))
        compare(text.ptr, text.len, path, text.len);
    hd_buf_fini(&text);
}

static void compare_dir(const char *dir)
{
    struct dirent *entry;
    DIR *d = opendir(dir);

    while (d && (entry = readdir(d))) {
        char path[4096];
        if (!strstr(entry->d_name, ".ptx"))
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        compare_file(path);
    }
    if (d)
        closedir(d);
}

int main(int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        compare_file(argv[i]);
    if (argc > 1 && !strcmp(argv[1], "-"))
        return done();
    test_cases();
    test_damage();
    test_oom();
    test_threads();
    if (argc > 1)
        compare_dir(argv[1]);
    return done();
}
