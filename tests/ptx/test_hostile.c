/* Text cut anywhere, damaged bytes, no memory: an error or success, never a crash. */
#include "tap.h"

#include "ptx/ptx.h"

static struct hd_buf sample;

static void parse_bytes(const char *text, size_t len)
{
    struct hd_arena arena;
    struct ptx_module *module;
    struct hd_buf out = {0};

    hd_arena_init(&arena);
    if (ptx_parse(&arena, text, len, "t", &module) == HD_OK && ptx_check(module) == HD_OK)
        ptx_print(module, &out);
    hd_buf_fini(&out);
    hd_arena_fini(&arena);
}

/* Each prefix lies at the end of its own allocation, so that ASan sees a read behind it. */
static void test_truncation(void)
{
    for (size_t len = 0; len < sample.len; len += 1 + len / 1500) {
        char *copy = malloc(len + 1);
        memcpy(copy, sample.ptr, len);
        parse_bytes(copy, len);
        free(copy);
    }
    ok(true, "%zu bytes cut short", sample.len);
}

static void test_damage(void)
{
    static const char bytes[] = ";,{}[]()@.%\"/*-+09x\0\n\x80_";
    uint64_t seed = tap_seed();
    char *copy = malloc(sample.len + 1);

    for (unsigned i = 0; i < 1500; i++) {
        memcpy(copy, sample.ptr, sample.len);
        for (unsigned n = 1 + tap_random(&seed) % 3; n; n--)
            copy[tap_random(&seed) % sample.len] = bytes[tap_random(&seed) % sizeof(bytes)];
        parse_bytes(copy, sample.len);
    }
    free(copy);
    ok(true, "damaged bytes");
}

static bool parse_small(void *arg)
{
    const char *text = arg;
    struct hd_arena arena;
    struct ptx_module *module;
    struct hd_buf out = {0};

    hd_arena_init(&arena);
    enum hd_status status = ptx_parse(&arena, text, strlen(text), "t", &module);
    if (status == HD_OK)
        status = ptx_check(module);
    if (status == HD_OK)
        ptx_print(module, &out);
    bool worked = status == HD_OK && !out.failed;
    hd_buf_fini(&out);
    hd_arena_fini(&arena);
    return worked;
}

/* Enough text for several arena blocks, growing tables and both stacks. */
static void test_oom(void)
{
    struct hd_buf text = {0};
    hd_buf_puts(&text, ".version 9.0 .target sm_90 .global .u32 v[] = {1, 2, 3};\n.func f() {\n"
                       ".reg .b32 %r<9>; .shared .b8 s[8];\n");
    for (unsigned i = 0; i < 2200; i++)
        hd_buf_printf(&text, "L%u: mov.b64 {%%r1, %%r2}, {%%r3, %%r4}; bra M%u; M%u:\n", i, i, i);
    hd_buf_puts(&text, "ret; }\n");
    unsigned tried = tap_oom_loop(parse_small, text.ptr, "parse");
    diag("%u allocations failed one by one", tried);
    hd_buf_fini(&text);
}

int main(int argc, char **argv)
{
    if (argc > 1 && hd_file_read(argv[1], 1u << 20, &sample) == HD_OK && sample.len > 2) {
        memcpy(sample.ptr, "//", 2); /* the golden file's mode line */
        test_truncation();
        test_damage();
    }
    test_oom();
    hd_buf_fini(&sample);
    return done();
}
