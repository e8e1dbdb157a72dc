/*
 * Texts that were checked before (src/compile/checked.h): errors are found at every load, and what
 * is loaded by what the cache remembers is what the whole parse makes, kernel by kernel, with a
 * damaged entry, too, and from several threads at once. test_checked [FILE.ptx ...]
 */
#include <dirent.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compile.h"
#include "compile/checked.h"
#include "obj/fingerprint.h"
#include "tap.h"

static char cache_dir[64];

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

/* Everything that links need of bodies: see what each of them says about itself. */
static const char text[] = HEAD
    ".visible .global .align 8 .u64 table[2] = {twice, 0};\n"
    ".visible .func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r; ld.param.u32 %r, [a]; "
    "shl.b32 %r, %r, 1; st.param.b32 [r], %r; ret; }\n"
    ".func (.param .b32 r) thrice(.param .b32 a) { .reg .b32 %r; ld.param.u32 %r, [a]; "
    "mul.lo.u32 %r, %r, 3; st.param.b32 [r], %r; ret; }\n"
    ".func counts() { .global .u32 calls = 7; .const .u32 step = 2; .reg .b32 %r<2>; "
    "ld.global.u32 %r0, [calls]; ld.const.u32 %r1, [step]; add.u32 %r0, %r0, %r1; "
    "st.global.u32 [calls], %r0; ret; }\n"
    ".func other() { .global .u64 where = late; ret; }\n"
    ".visible .entry plain(.param .u64 p) { .reg .b64 %d; .shared .b32 s[32]; ld.param.u64 %d, "
    "[p]; "
    "call counts; bra late; late: st.global.u32 [%d], 1; ret; }\n"
    ".visible .entry takes() { .reg .b64 %d; mov.u64 %d, thrice; st.global.u64 [table+8], %d; ret; "
    "}\n"
    ".visible .entry indirect() { .reg .b64 %d; .reg .b32 %r; ld.global.u64 %d, [table]; "
    "{ .param .b32 a, r; proto: .callprototype (.param .b32 _) _ (.param .b32 _); "
    "st.param.b32 [a], 2; call (r), %d, (a), proto; ld.param.b32 %r, [r]; } "
    "st.global.u32 [table], %r; ret; }\n"
    ".extern .func nowhere();\n"
    ".visible .entry unresolved() { call nowhere; ret; }\n"
    ".visible .entry refused() { .reg .b32 %r<4>; ldmatrix.sync.aligned.m8n8.x1.shared.b8 {%r1}, "
    "[%r2]; ret; }\n"
    ".func named(.param .b32 a);\n"
    ".func target(.param .b32 a) { .reg .b32 %r; ld.param.u32 %r, [a]; st.global.u32 [table], %r; "
    "ret; }\n"
    ".alias named, target;\n"
    ".visible .entry aliased() { .param .b32 a; st.param.b32 [a], 3; call named, (a); ret; }\n"
    ".global .u32 late;\n"
    ".visible .entry last() .maxntid 64 { .reg .b64 %d; mov.u64 %d, late; st.global.u64 [table], "
    "%d; "
    "ret; }\n";

static const char more[] = HEAD ".extern .global .u64 table; .visible .func nowhere() { .reg .u64 "
                                "%d; ld.global.u64 %d, [table]; "
                                "ret; }\n.visible .entry more() { call nowhere; ret; }\n";

/* Longer than what is parsed as a whole at once. */
static void pad(struct hd_buf *out, const char *ptx, size_t len)
{
    hd_buf_append(out, ptx, len);
    while (out->len < COMPILE_CHECKED_MIN_B)
        hd_buf_puts(out, "\n// nothing of interest, but for its length { \" /*");
}

static struct compile_unit unit_of(const struct hd_buf *buf)
{
    return (struct compile_unit){.name = "t.ptx", .ptx = buf->ptr, .len = buf->len};
}

static unsigned cache_entries(void)
{
    struct obj_cache *cache;
    struct obj_cache_stat stat = {0};

    if (obj_cache_open(NULL, 0, &cache) == HD_OK)
        (void)!obj_cache_stat(cache, &stat);
    obj_cache_close(cache);
    return (unsigned)stat.entries;
}

static void cache_clear(void)
{
    struct obj_cache *cache;
    struct obj_cache_stat stat;

    if (obj_cache_open(NULL, 0, &cache) == HD_OK)
        (void)!obj_cache_clear(cache, &stat);
    obj_cache_close(cache);
}

/* ---- a program as text: declarations, then each kernel or why there is none */

static void describe_kernel(struct compile_program *program, const struct ir_func *func,
                            struct hd_buf *out)
{
    struct ir_module *module = NULL;
    enum hd_status status = compile_kernel(program, func->index, OPT_TARGET_COMMON, &module);

    hd_buf_printf(out, "kernel %u %s:\n", func->index, func->name);
    if (status == HD_OK) {
        ir_print_module(module, out);
        ir_module_destroy(module);
    } else {
        hd_buf_printf(out, "%s: %s\n", hd_status_name(status), hd_error_message());
    }
}

static enum hd_status describe(const struct compile_unit *units, size_t count, bool on_demand,
                               struct hd_buf *out)
{
    const struct compile_options options = {.max_arch = 120, .on_demand = on_demand};
    struct compile_program *program = NULL;
    enum hd_status status = compile_program_create(units, count, &options, &program);

    out->len = 0;
    if (status != HD_OK) {
        hd_buf_printf(out, "%s: %s\n", hd_status_name(status), hd_error_message());
        return status;
    }
    ir_print_module(compile_program_decls(program), out);
    ir_foreach_func(func, compile_program_decls(program))
        if (compile_program_is_kernel(program, func->index))
            describe_kernel(program, func, out);
    compile_program_destroy(program);
    return HD_OK;
}

/* As a whole, for the first time, by what the cache knows then. */
static void compare(const struct compile_unit *units, size_t count, const char *name)
{
    struct hd_buf whole = {0}, first = {0}, again = {0};

    (void)!describe(units, count, false, &whole);
    (void)!describe(units, count, true, &first);
    (void)!describe(units, count, true, &again);
    eq_str(first.ptr, whole.ptr, "%s: the first load on demand gives what the whole one gives",
           name);
    eq_str(again.ptr, whole.ptr, "%s: and so does the second", name);
    hd_buf_fini(&whole);
    hd_buf_fini(&first);
    hd_buf_fini(&again);
}

static void test_same(void)
{
    struct hd_buf a = {0}, b = {0};
    unsigned before = cache_entries();

    pad(&a, text, sizeof(text) - 1);
    pad(&b, more, sizeof(more) - 1);
    const struct compile_unit units[] = {unit_of(&a), unit_of(&b)};
    compare(units, 1, "one unit");
    eq_u64(cache_entries(), before + 1, "one text is remembered");
    compare(units, 2, "two units");
    eq_u64(cache_entries(), before + 2, "and another one");
    hd_buf_fini(&a);
    hd_buf_fini(&b);
}

/* ---- errors */

static const struct {
    const char *ptx, *why;
    enum hd_status status;
} wrong[] = {
    {HEAD ".entry used() { ret; }\n.entry unused() {\n  nonsense.u32 %r1;\n}\n",
     "t.ptx:6:", HD_BAD_PTX},
    {HEAD ".entry used() { ret; }\n.entry unused() {\n  .reg .u32 %r;\n  add.f32 %r, %r;\n}\n",
     "t.ptx:7:", HD_BAD_PTX},
    {HEAD ".entry used() { ret; }\n.entry unused() {\n  bra nowhere;\n}\n", "t.ptx:6:", HD_BAD_PTX},
    {HEAD ".entry used() { ret; }\n.entry unused() {\n  { ret;\n}\n", "the end of the text",
     HD_BAD_PTX},
    {".version 9.0\n.target sm_121\n.address_size 64\n.entry k() { ret; }",
     "newer than this device", HD_NO_IMAGE},
};

static void test_errors(void)
{
    unsigned before = cache_entries();

    for (size_t i = 0; i < HD_COUNT_OF(wrong); i++) {
        struct hd_buf buf = {0}, out = {0};

        pad(&buf, wrong[i].ptx, strlen(wrong[i].ptx));
        const struct compile_unit unit = unit_of(&buf);
        for (unsigned load = 0; load < 3; load++) {
            eq_u64(describe(&unit, 1, true, &out), wrong[i].status, "error %zu, load %u", i, load);
            ok(strstr(out.ptr, wrong[i].why) != NULL, "%s", out.ptr);
        }
        compare(&unit, 1, "a wrong text");
        hd_buf_fini(&buf);
        hd_buf_fini(&out);
    }
    eq_u64(cache_entries(), before, "nothing is remembered of them");
}

/* ---- damage */

/* Flips a bit in, or cuts, every file of the cache. */
static void damage_files(uint64_t random, bool cut)
{
    struct dirent *entry;
    DIR *dir = opendir(cache_dir);

    while (dir && (entry = readdir(dir))) {
        char path[512];
        struct stat st;
        FILE *file;

        snprintf(path, sizeof(path), "%s/%s", cache_dir, entry->d_name);
        if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || !st.st_size)
            continue;
        if (cut && truncate(path, (off_t)(random % (uint64_t)st.st_size)) != 0)
            ok(false, "cannot cut %s", path);
        if (cut || !(file = fopen(path, "r+b")))
            continue;
        fseek(file, (long)(random % (uint64_t)st.st_size), SEEK_SET);
        int byte = fgetc(file);
        fseek(file, -1, SEEK_CUR);
        fputc(byte ^ 1 << random % 8, file);
        fclose(file);
    }
    if (dir)
        closedir(dir);
}

/* As src/compile makes it. */
static struct obj_cache_key key_of(const struct hd_buf *buf)
{
    struct obj_cache_hash hash;
    struct obj_fingerprint print;

    obj_cache_hash_init(&hash);
    obj_cache_hash_bytes(&hash, buf->ptr, buf->len);
    obj_fingerprint_init(&print, "checked");
    print.program = obj_cache_hash_final(&hash);
    return obj_fingerprint_key(&print);
}

static void replace_entry(struct obj_cache_key key, const void *bytes, size_t size_B)
{
    struct obj_cache *cache;

    if (obj_cache_open(NULL, 0, &cache) == HD_OK)
        ok(obj_cache_put(cache, key, bytes, size_B) == HD_OK, "an entry of ours is replaced");
    obj_cache_close(cache);
}

/* Entries that are whole and wrong. */
static void test_foreign_entries(const struct hd_buf *buf, const char *want)
{
    const struct compile_unit unit = unit_of(buf);
    uint8_t bytes[400];
    struct hd_buf out = {0};

    for (size_t size_B = 0; size_B <= sizeof(bytes); size_B += 50) {
        memset(bytes, (int)size_B, sizeof(bytes));
        replace_entry(key_of(buf), bytes, size_B);
        (void)!describe(&unit, 1, true, &out);
        eq_str(out.ptr, want, "an entry of %zu wrong bytes", size_B);
        (void)!describe(&unit, 1, true, &out);
        eq_str(out.ptr, want, "and the one that took its place");
    }
    hd_buf_fini(&out);
}

static void test_damage(void)
{
    struct hd_buf buf = {0}, whole = {0}, out = {0};
    uint64_t random = tap_seed();
    unsigned same = 0;

    pad(&buf, text, sizeof(text) - 1);
    const struct compile_unit unit = unit_of(&buf);
    (void)!describe(&unit, 1, false, &whole);
    for (unsigned i = 0; i < 40; i++) {
        (void)!describe(&unit, 1, true, &out); /* writes it again */
        damage_files(tap_random(&random), i & 1);
        (void)!describe(&unit, 1, true, &out);
        same += !strcmp(out.ptr, whole.ptr);
    }
    eq_u64(same, 40, "the same with damaged files");
    test_foreign_entries(&buf, whole.ptr);
    hd_buf_fini(&buf);
    hd_buf_fini(&whole);
    hd_buf_fini(&out);
}

static void test_no_cache(void)
{
    struct hd_buf buf = {0};

    pad(&buf, text, sizeof(text) - 1);
    const struct compile_unit unit = unit_of(&buf);
    setenv("HEDDLE_CACHE", "off", 1);
    compare(&unit, 1, "without a cache");
    setenv("HEDDLE_CACHE", "/proc/nowhere", 1);
    compare(&unit, 1, "where nothing can be written");
    setenv("HEDDLE_CACHE", cache_dir, 1);
    hd_buf_fini(&buf);
}

/* ---- threads: different kernels of one program, which call the same functions */

#define THREADS 4
#define KERNELS 24

struct compiler {
    pthread_t thread;
    struct compile_program *program;
    unsigned first, made;
};

static void *compiler_run(void *arg)
{
    struct compiler *c = arg;

    for (unsigned i = 0; i < KERNELS; i++) {
        struct ir_module *module = NULL;
        char name[16];

        snprintf(name, sizeof(name), "k%u", (c->first + i * 5) % KERNELS);
        const struct ir_func *f = ir_module_find_func(compile_program_decls(c->program), name);
        if (f && compile_kernel(c->program, f->index, OPT_TARGET_COMMON, &module) == HD_OK) {
            ir_module_destroy(module);
            c->made++;
        }
    }
    return NULL;
}

static void many_kernels(struct hd_buf *buf)
{
    struct hd_buf ptx = {0};

    hd_buf_puts(&ptx, HEAD ".global .u32 sum; .func shared_by_all() { .reg .b32 %r; "
                           "ld.global.u32 %r, [sum]; st.global.u32 [sum], %r; ret; }\n");
    for (unsigned i = 0; i < KERNELS; i++)
        hd_buf_printf(
            &ptx,
            ".visible .entry k%u() { .reg .b64 %%d; .reg .b32 %%r; call shared_by_all; "
            "mov.u64 %%d, f%u; p: .callprototype _; call %%d, p; mov.u32 %%r, %u; "
            "st.global.u32 [sum], %%r; ret; }\n.func f%u() { call shared_by_all; ret; }\n",
            i, i, i, i);
    pad(buf, ptx.ptr, ptx.len);
    hd_buf_fini(&ptx);
}

static void test_threads(void)
{
    const struct compile_options options = {.on_demand = true};
    struct compiler compilers[THREADS];
    struct compile_program *program;
    struct hd_buf buf = {0};

    many_kernels(&buf);
    const struct compile_unit unit = unit_of(&buf);
    compare(&unit, 1, "many kernels");
    if (!ok(compile_program_create(&unit, 1, &options, &program) == HD_OK, "the program links"))
        return;
    for (unsigned i = 0; i < THREADS; i++) {
        compilers[i] = (struct compiler){.program = program, .first = i * 6};
        pthread_create(&compilers[i].thread, NULL, compiler_run, &compilers[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(compilers[i].thread, NULL);
        eq_u64(compilers[i].made, KERNELS, "thread %u compiled every kernel", i);
    }
    compile_program_destroy(program);
    hd_buf_fini(&buf);
}

/* ---- memory */

static bool load_known(void *arg)
{
    const struct compile_options options = {.on_demand = true};
    struct compile_program *program;
    struct ir_module *module = NULL;
    bool made = false;

    if (compile_program_create(arg, 1, &options, &program) == HD_OK) {
        const struct ir_func *f = ir_module_find_func(compile_program_decls(program), "indirect");
        made = f && compile_kernel(program, f->index, OPT_TARGET_COMMON, &module) == HD_OK;
        if (made)
            ir_module_destroy(module);
        compile_program_destroy(program);
    }
    return made;
}

static void test_oom(void)
{
    struct hd_buf buf = {0};

    pad(&buf, text, sizeof(text) - 1);
    struct compile_unit unit = unit_of(&buf);
    load_known(&unit);
    tap_oom_loop(load_known, &unit, "a known text");
    cache_clear();
    tap_oom_loop(load_known, &unit, "an unknown text");
    hd_buf_fini(&buf);
}

/* ---- files */

static void compare_file(const char *path)
{
    struct hd_buf raw = {0}, buf = {0};

    if (ok(hd_file_read(path, 64u << 20, &raw) == HD_OK, "%s: read", path)) {
        pad(&buf, raw.ptr, raw.len);
        const struct compile_unit unit = unit_of(&buf);
        compare(&unit, 1, path);
    }
    hd_buf_fini(&raw);
    hd_buf_fini(&buf);
}

int main(int argc, char **argv)
{
    snprintf(cache_dir, sizeof(cache_dir), "/tmp/hd_checked_XXXXXX");
    if (!mkdtemp(cache_dir))
        return 1;
    setenv("HEDDLE_CACHE", cache_dir, 1);
    for (int i = 1; i < argc; i++)
        compare_file(argv[i]);
    if (argc == 1) {
        test_same();
        test_errors();
        test_damage();
        test_no_cache();
        test_threads();
        test_oom();
    }
    cache_clear();
    rmdir(cache_dir);
    return done();
}
